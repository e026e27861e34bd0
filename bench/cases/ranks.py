"""Several GPUs: scaling of finite differences and of spectral elements, shared gravity; parity with one GPU.

usage: PYTHONPATH=src mpirun -n 4 python3 -m bench ranks [PART ...] --out FILE.json     each rank has a GPU
       python3 -m bench ranks gravity --gpus 4                                          GPUs as threads of one process
       python3 -m bench ranks --device cpu --gpus 2 --small                             to try it

One start with 4 ranks measures 1, 2 and 4 GPUs (the first ranks of the world work, the others wait); threads measure 1 and all, and their
Python takes turns: small cases suffer. Seconds are wall clock of whole steps between two barriers, of the slowest rank; fields are random;
median of --repeats.

Finite differences (scaling_h200): parity, weak, laden, strong512, strong1024, cuts, overlap, okamoto.
Spectral elements (sem_ranks_h200): elements_parity, elements (material at each node), laws (of each element): boxes of about 400,000
irregular elements a GPU (--set elements=N partition=slices), 100 m, degree 4, float32, Stacey faces, a free surface. Tests as in Komatitsch
et al. (2010): "overlap", outer elements first and the exchange behind the inner ones; "waits", the same, but inner elements wait for it;
"after", all elements, then the exchange; "none", all elements and no exchange.
ranks_h200: gravity (threads only; --set prisms=250000 points=60000): wall clock of whole calls, best of three after a first one.
"""

import gc
import json
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np

import craton.gravity
from bench.cases.gravity import random_ensemble
from bench.harness import Report, difference, median_seconds, run, tables
from craton.comm import Together, halos, mpi, ranks
from craton.comm.local import Alone, spawn
from craton.comm.placement import machine, place, planner
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.march import march
from craton.driver.run import plan_of_rank
from craton.methods.spectral_element import bench as boxes
from craton.methods.spectral_element.build import MeshDomain
from craton.methods.waves.problem import build
from craton.scenario import Scenario

COUNTS = (1, 2, 4, 8)
PLAIN, LADEN = ("rigid", "rigid"), ("free", "cpml")  # top, others
GRIDS = {  # cuts of a cube by number of GPUs
    2: ((1, 1, 2), (1, 2, 1), (2, 1, 1)),
    4: ((1, 1, 4), (1, 2, 2), (2, 2, 1), (2, 1, 2), (1, 4, 1), (4, 1, 1)),
    8: ((2, 2, 2),),
}
OKAMOTO = (1920, 3072, 1152)
WAYS = ("overlap", "waits", "after", "none")
LAWS = {
    "material of each element": {},
    "21 constants of each element": boxes.THOMSEN,
    "attenuation of each element": boxes.LOSS,
}


# --- what both methods share ------------------------------------------------------------------


def randomise(program):
    """Small random numbers everywhere, the same plane again and again: zeros can run faster than real data do."""
    rng, backend = np.random.default_rng(1), program.backend
    sizes = {"displacement": 1e-9, "velocity": 1e-7}  # of spectral elements
    on_grid = not hasattr(program.plan.grid, "elements")
    for name, spec in program.plan.arrays.items():
        if spec.part_of == "state" and name in sizes:
            values = np.resize(sizes[name] * rng.standard_normal(1 << 20), spec.shape)
            backend.fill(program.arrays[name], values.astype(spec.dtype))
        elif spec.part_of == "state" and on_grid:
            field = program.grid(name)
            plane = rng.standard_normal((1, *field.shape[1:]))
            plane *= 1e-12 if name.startswith("v") else 1e-6
            field[...] = backend.asarray(plane.astype(spec.dtype))
    backend.finish()


class Watched:
    """An exchange whose waits are timed; without overlap inner points wait for it as well."""

    def __init__(self, program, overlap):
        self.exchange, self.machine, self.overlap = program.exchange, program.backend, overlap
        self.on_device, self.pairs = not program.backend.shares_host_memory, []

    def start(self, shared):
        self.exchange.start(shared)
        if not self.overlap:
            self.wait(shared)

    def finish(self, shared):
        if self.overlap:
            self.wait(shared)

    def wait(self, shared):
        if shared and self.on_device:
            begin, end = (self.machine.cupy.cuda.Event() for _ in range(2))
            begin.record(self.machine.stream)
            self.exchange.finish(shared)
            end.record(self.machine.stream)
            self.pairs.append((begin, end))
        else:
            self.exchange.finish(shared)

    def seconds(self):
        """Seconds of all waits so far."""
        self.machine.finish()
        between = self.machine.cupy.cuda.get_elapsed_time if self.on_device else None
        return sum(between(*pair) for pair in self.pairs) / 1e3 if self.on_device else self.exchange.waited


def connect(program, comm, overlap=True):
    """Let the program exchange, with or without overlap."""

    def note(text):
        if comm.rank == 0:
            print(f"note: {text}", file=sys.stderr)

    halos.connect(program, comm, note)
    if comm.size > 1:
        program.exchange = Watched(program, overlap)


def repeats(comm, options, program):
    """Seconds a step of several repeats, the slowest rank: median and spread."""

    def steps(count):
        program.backend.finish()
        comm.barrier()
        begin = time.perf_counter()
        march(program, (), count)
        program.backend.finish()
        return max(comm.gather(time.perf_counter() - begin)) / count

    steps(3)
    count = min(comm.gather(max(4, int(options.seconds / steps(5)))))
    seconds = [steps(count) for _ in range(options.repeats)]
    median = float(np.median(seconds))
    return {"seconds_per_step": median, "spread": float((max(seconds) - min(seconds)) / median)}


def waiting_of(comm, program, count=20):
    """Fraction of the step that a rank's kernels wait for halos, mean over the ranks, by events around each wait."""
    program.backend.finish()
    comm.barrier()
    before, begin = program.exchange.seconds(), time.perf_counter()
    march(program, (), count)
    program.backend.finish()
    spent = time.perf_counter() - begin
    return float(np.mean(comm.gather((program.exchange.seconds() - before) / spent)))


def name_of(exchange):
    """How halos go."""
    return exchange.exchange.name if exchange else "none"


def give_back(exchange, here):
    """Give communicators and the device's memory back."""
    here.finish()
    if exchange and exchange.on_device:
        exchange.exchange.close()
    gc.collect()
    if hasattr(here, "cupy"):
        here.cupy.get_default_memory_pool().free_all_blocks()


def machine_of(comm, options):
    """The machine of a rank."""
    threads = options.threads or (1 if options.device == "cpu" else None)
    return machine(options.device, comm, place(comm), threads)


def traffic(comm, planned):
    """Memory and messages of the largest rank, bytes."""
    arrays = planned.arrays
    out = [arrays[m.out] for phase in planned.phases for m in phase.messages]
    sent = sum(int(np.prod(a.shape)) * np.dtype(a.dtype).itemsize for a in out)
    largest = {"nbytes_largest_rank": planned.nbytes, "bytes_sent_largest_rank": sent}
    return {name: max(comm.gather(value)) for name, value in largest.items()}


def team_of(comm, count, options):
    """The communicator of the first `count` ranks for these, None for the others."""
    if options.gpus:
        alone = Alone() if count == 1 and comm.rank == 0 else None
        return comm if comm.size == count else alone
    apart = int(comm.rank >= count)
    split = comm.communicator.Split(apart, comm.rank)
    return None if apart else (Alone() if count == 1 else ranks(split))


def by_teams(report, part, rows_of, unit):
    """Rows of a part on 1, 2, 4 .. GPUs, and how efficient each is: its rate over that of one GPU times their number."""
    alone = {}
    for count in (n for n in COUNTS if n <= report.comm.size):
        team = team_of(report.comm, count, report.options)
        rows = list(rows_of(team, count)) if team is not None else []
        for row in report.comm.gather(rows)[0]:
            key = row.get("law", tuple(row.get("faces", ())))
            if count == 1:
                alone[key] = row[unit]
            if alone.get(key):
                row["efficiency"] = row[unit] / count / alone[key]
            report.add(part, {"part": part, **row})


def compared(report, part, make):
    """Differences of all GPUs from one, of the scenarios that `make` gives by name."""
    comm, row = report.comm, {"gpus": report.comm.size}
    for name, scenario in make.items() if comm.size > 1 else ():
        many = driver.run(scenario, progress=False, comm=comm)
        if comm.rank == 0:
            one = driver.run(scenario, progress=False, comm=Alone())
            sums = [np.cumsum(result.samples.astype(float), 0) for result in (many, one)]
            row[name] = {"steps": len(one.samples), **difference(many.samples, one.samples)}
            row[name]["displacement_l2"] = difference(*sums)["l2"]
    row = comm.gather(row)[0]
    report.add(part, row, json.dumps(row))


# --- finite differences -----------------------------------------------------------------------


def cube(shape, faces, grid=None, duration=20, device="cuda"):
    """Two layers of (nx, ny, nz) points; faces: top and others."""
    base, (x, y, z) = tables("scaling"), (10.0 * (n - 1) for n in shape)
    line = {"from": [x / 4, y / 4, -z / 4], "to": [x / 2 + 5, y / 2 + 5, 5 - z / 2], "count": 7}
    base["model"]["layers"][1]["top"] = -z / 2
    base["source"][0]["at"] = line["to"]
    changes = {
        "domain": {"origin": [0, 0, -z], "size": [x, y, z], "spacing": 10},
        "boundaries": dict(zip(("top", "others"), faces)),
        "receivers": [{"name": "R", "line": line}],
        "time": {"duration": duration},
        "run": {"order": 4, "device": device} | ({"grid": list(grid)} if grid else {}),
    }
    return Scenario(**base | changes)


def measure(comm, options, shape, faces, grid=None, overlap=True, waiting=False):
    """One case on the ranks of `comm`: a row, the same on all of them."""
    begin, asked = time.perf_counter(), cube(shape, faces, grid, device=options.device)
    planned, here = plan_of_rank(asked, driver.plan(asked), comm), machine_of(comm, options)
    program = waves.commit(asked, planned, here)
    connect(program, comm, overlap)
    randomise(program)
    if comm.size > 1:
        halos.fill(program)
    here.finish()
    ready = time.perf_counter() - begin
    times = repeats(comm, options, program)
    waited = waiting_of(comm, program) if waiting and comm.size > 1 else None
    points, parts = int(np.prod(shape, dtype=np.int64)), planned.partition
    row = {"shape_xyz": list(shape), "points": points, "gpus": comm.size, "faces": list(faces)}
    row |= {"grid_xyz": list(parts[0].ranks[::-1]) if parts else [1, 1, 1], "order": 4}
    row |= {"overlap": overlap, "how": "graphs", "exchange": name_of(program.exchange), "ready_seconds": ready} | times
    row |= {"gpoint_steps_per_second": points / times["seconds_per_step"] / 1e9}
    row |= traffic(comm, planned) | {"waiting_fraction": waited}
    row["reals_per_point"] = max(comm.gather(planned.nbytes / 4 / planned.points))
    exchange = program.exchange
    del program
    give_back(exchange, here)
    return row


def cases(part, n, most, small):
    """Keyword arguments of the cases of a part on n of at most `most` GPUs."""
    share = 8 if small else 1
    side, large = 512 // share, 1024 // share
    weak = {"shape": (side, side, side * n), "grid": (1, 1, n), "waiting": True}
    both = [{"shape": (n,) * 3, "overlap": o} for n in (side, large) for o in (True, False)]
    shape = tuple(v // share for v in OKAMOTO)
    plain = {"shape": (side,) * 3, "faces": PLAIN}
    return {
        "weak": [weak | {"faces": PLAIN}],
        "laden": [weak | {"faces": LADEN}],
        "strong512": [plain | {"waiting": True}],
        "strong1024": [plain | {"shape": (large,) * 3, "waiting": True}],
        "cuts": [plain | {"grid": grid} for grid in GRIDS.get(n, ())],
        "overlap": [plain | case | {"waiting": True} for case in both] * (n > 1),
        "okamoto": [{"shape": shape, "faces": f} for f in (PLAIN, LADEN)] * (n == most and n >= 4),
    }[part]


def scaling(part):
    """A function of the report that measures a part."""

    def rows_of(report, team, count):
        for case in cases(part, count, report.comm.size, report.options.small):
            yield measure(team, report.options, **case)

    def work(report):
        unit = "gpoint_steps_per_second"
        by_teams(report, part, lambda team, count: rows_of(report, team, count), unit)

    return work


def parity(report):
    """Waveforms of a cube of 192^3 points."""
    small, device = report.options.small, report.options.device
    n, duration = (48, 0.5) if small else (192, 1.0)
    compared(report, "parity", {"waves": cube((n, n, n), LADEN, duration=duration, device=device)})


# --- spectral elements ------------------------------------------------------------------------


def elements_parity(report):
    """Colouring mode, both precisions."""
    line = {"from": [310, 420, -120], "to": [1330, 910, -770], "count": 8}
    box, run_table = boxes.Box("parity", (16, 12, 10), boxes.VARYING), {"assembly": "colour"}
    run_table |= {"device": report.options.device, "partition": report.setting("partition", "slices")}
    shared = {"time": {"duration": 2.0}, "receivers": [{"name": "R", "line": line}]}
    made = {p: box.scenario(**shared, run=run_table | {"precision": p}) for p in ("float32", "float64")}
    compared(report, "elements_parity", made)


def measure_elements(report, law, medium, ways, comm, count):
    """Rows of a law, one for each way, the same on all ranks."""
    options, begin = report.options, time.perf_counter()
    each = 500 if options.small else report.setting("elements", 400_000)
    side, partition = round(each ** (1 / 3)), report.setting("partition", "slices")
    shape = (side * comm.size, side, max(1, round(each / side**2)))
    run_table = {"device": options.device, "partition": partition}
    scenario = boxes.Box(law, shape, medium).scenario(run=run_table)
    team = Together(comm) if comm.size > 1 else None
    planned = build(MeshDomain(scenario, boxes.irregular(scenario), team, planner()))
    built, here, parts = (time.perf_counter() - begin, machine_of(comm, options), planned.partition)
    sizes = [part.elements for part in parts] if parts else [planned.grid.elements]
    shared = [part.neighbours for part in parts or ()]
    common = {"law": law, "gpus": comm.size, "elements": sum(sizes), "elements_of_ranks": sizes}
    common |= {"partition": partition, "neighbours": [len(part) for part in shared]}
    common |= {"outer_share": [part.outer / part.elements for part in parts] if parts else [0.0]}
    common |= {"shared_points": [sum(n.shared for n in part) for part in shared]} | traffic(comm, planned)
    common["built_seconds"] = max(comm.gather(built))
    for way in ways if comm.size > 1 else ("none",):
        begin = time.perf_counter()
        program = waves.commit(scenario, all_first(planned) if way == "after" else planned, here)
        if way != "none":
            connect(program, comm, way != "waits")
        randomise(program)
        ready = time.perf_counter() - begin
        times = repeats(comm, options, program)
        rate = common["elements"] / times["seconds_per_step"]
        waited = waiting_of(comm, program) if way != "none" else 0.0
        row = common | {"way": way, "exchange": name_of(program.exchange)} | times
        row |= {"elements_per_second": rate, "waiting_fraction": waited}
        yield row | {"ready_seconds": ready}
        exchange = program.exchange
        del program
        give_back(exchange, here)


def all_first(plan):
    """The plan with all elements before its exchanges."""

    def outer(phase):
        return replace(phase, launches=tuple(replace(one, outer=True) for one in phase.launches))

    return replace(plan, phases=[outer(phase) for phase in plan.phases])


def laws(part, media, ways):
    """A function of the report that measures some laws."""

    def work(report):
        for law, medium in media.items():
            rows_of = partial(measure_elements, report, law, medium, ways)
            by_teams(report, part, rows_of, "elements_per_second")

    return work


GRAVITY = [("direct", precision, ("g_z",)) for precision in ("float64", "float32")]
GRAVITY += [("direct", "float64", ("g_z", "g_zz", "g_en")), ("far", "float64", ("g_z",))]

# --- NCCL and gravity: threads of one process -------------------------------------------------


def gravity(report):
    """Seconds of a whole call by number of GPUs, and how far the results are from those of one."""
    options = report.options
    share = 100 if options.small else 1
    prisms = report.setting("prisms", 250_000) // share
    points = np.random.default_rng(5).uniform(0, 20e3, (3, report.setting("points", 60_000) // share))
    points[2] = 100.0
    arrays = (*random_ensemble(prisms), tuple(points))
    for method, precision, fields in GRAVITY:
        alone, device = None, options.device
        for count in (n for n in COUNTS if n <= (options.gpus or 4)):
            call = partial(craton.gravity.forward, *arrays, fields, device, precision, method)
            out = call(devices=count)
            _, seconds = median_seconds(lambda c=call, n=count: c(devices=n), lambda: None, 2)
            best, alone = min(seconds), alone or (out, min(seconds) * count)
            off = max(difference(out[name], alone[0][name])["largest"] for name in fields)
            row = {"case": f"{method} {precision} {len(fields)} fields", "gpus": count}
            row |= {"seconds": best, "pairs_per_second": prisms * points.shape[1] / best}
            efficiency = alone[1] / (best * count)
            report.add("gravity", row | {"difference": off, "efficiency": efficiency})


WAVES = ("weak", "laden", "strong512", "strong1024", "cuts", "overlap", "okamoto")
THREADS = {"gravity": gravity}  # start ranks of their own
PARTS = {"parity": parity} | {part: scaling(part) for part in WAVES}
PARTS |= {"elements_parity": elements_parity, "laws": laws("laws", LAWS, ("overlap", "none"))}
PARTS |= {"elements": laws("elements", {"material at each node": boxes.VARYING}, WAYS)} | THREADS


def launch(options):
    """Start the ranks: those of MPI, or --gpus threads; gravity starts ranks of its own."""
    this = sys.modules[__name__]
    if set(options.parts) & set(THREADS):
        if set(options.parts) - set(THREADS):
            sys.exit(f"{' and '.join(THREADS)} are measured by themselves")
        return run(Report(options), this)
    options.parts = options.parts or [part for part in PARTS if part not in THREADS]
    if options.gpus:
        return max(spawn(options.gpus, lambda comm: run(Report(options, comm), this)))
    return run(Report(options, ranks(mpi.world())), this)
