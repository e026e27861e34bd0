"""Waves over several GPUs: weak and strong scaling, cuts in one to three axes, overlap, waiting, parity with one GPU. JSON with --out.

usage: PYTHONPATH=src mpirun -n 4 python3 bench/gpu_scaling.py --out bench/results/scaling_h200.json [--parts weak,strong,...] [--seconds 1]
Parts: weak, laden, strong512, strong1024, cuts, overlap, okamoto, graph, parity. One start with 4 ranks measures 1, 2 and 4 GPUs (the first
ranks of the world work, the others wait). Without MPI: --threads 4 (ranks are threads of one process: their Python takes turns, small cases
suffer). To try the script without a GPU: --device cpu --small. Seconds are wall clock of whole steps between two barriers, the slowest
rank; the wavefield is random; median of --repeats.
"""
import argparse
import gc
import json
import sys
import time

import numpy as np

from craton import api, benchmark
from craton.comm import halos, ranks
from craton.comm.local import Alone, spawn
from craton.comm.placement import machine, place
from craton.driver import waves
from craton.driver.march import march
from craton.driver.run import plan_of_rank
from craton.scenario import loads

PARTS = ("parity", "weak", "laden", "strong512", "strong1024", "cuts", "overlap", "okamoto", "graph")
TEXT = """
title = "{title}"
[domain]
origin = [0, 0, {bottom}]
size = {size}
spacing = 10
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1732, rho = 2000 }}, {{ top = {middle}, vp = 4000, vs = 2309, rho = 2400 }}]
[time]
duration = {duration}
[boundaries]
top = "{top}"
others = "{others}"
[[source]]
kind = "explosion"
at = {centre}
moment = 1e12
wavelet = {{ kind = "ricker", frequency = 8 }}
[[receivers]]
name = "R"
line = {{ from = {first}, to = {centre}, count = 7 }}
[run]
order = {order}
device = "{device}"
{grid}
"""


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, help="ranks as threads of this process, without MPI")
    parser.add_argument("--seconds", type=float, default=0.7, help="of each repeat, about")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="one eighth of the points along every axis")
    return parser.parse_args(arguments)


def scenario(shape, faces, grid=None, duration=20, order=4, device="cuda", title="case"):
    """Scenario of shape (nx, ny, nz); faces: ("rigid", "rigid") or ("free", "cpml"), top and others."""
    size = [10 * (n - 1) for n in shape]
    return loads(TEXT.format(
        title=title, size=size, bottom=-size[2], middle=-size[2] / 2, centre=[size[0] / 2 + 5, size[1] / 2 + 5, -size[2] / 2 + 5],
        first=[size[0] / 4, size[1] / 4, -size[2] / 4], top=faces[0], others=faces[1], duration=duration, order=order, device=device,
        grid=f"grid = {list(grid)}" if grid else "",
    ))  # fmt: skip


class Blind:
    """A recorder that looks at nothing."""

    def sample(self, step):
        """Nothing."""


def randomise(program):
    """Small random numbers everywhere, the same plane again and again: zeros can run faster than real data do."""
    rng = np.random.default_rng(1)
    for name, spec in program.plan.arrays.items():
        if spec.part_of == "state":
            field = program.grid(name)
            plane = rng.standard_normal((1, *field.shape[1:])) * (1e-12 if name.startswith("v") else 1e-6)
            field[...] = program.backend.asarray(plane.astype(spec.dtype))


def measure(comm, options, shape, faces, grid=None, order=4, overlap=True, graph=False, waiting=False):
    """One case on the ranks of `comm`: a row, the same on all of them."""
    begin = time.perf_counter()
    asked = scenario(shape, faces, grid, order=order, device=options.device)
    planned = plan_of_rank(asked, api.plan(asked), comm)
    here = machine(options.device, comm, place(comm), 1 if options.device == "cpu" else None)
    program = waves.commit(asked, planned, here)
    exchange = comm if comm.size == 1 else exchange_of(program, comm, overlap)
    randomise(program)
    if comm.size > 1:
        halos.fill(program, exchange)
    here.finish()
    ready = time.perf_counter() - begin
    running, how = program, "graphs"
    if graph and comm.size > 1:
        from craton.comm.device import one_graph

        running, how = one_graph(program, exchange), "one graph"
    seconds = repeats(comm, options, running, exchange, here)
    waited = waiting_of(comm, running, exchange, here) if waiting and comm.size > 1 and not graph else None
    points = int(np.prod(shape, dtype=np.int64))
    row = {
        "shape_xyz": list(shape), "points": points, "gpus": comm.size, "grid_xyz": list(planned.subdomain.ranks[::-1]),
        "faces": list(faces), "order": order, "overlap": overlap, "how": how, "exchange": getattr(exchange, "name", "none"),
        "seconds_per_step": float(np.median(seconds)), "spread": float((max(seconds) - min(seconds)) / np.median(seconds)),
        "gpoint_steps_per_second": points / float(np.median(seconds)) / 1e9, "ready_seconds": ready,
        "nbytes_largest_rank": max(comm.gather(planned.nbytes)),
        "reals_per_point": max(comm.gather(planned.nbytes / 4 / planned.points)), "waiting_fraction": waited,
        "bytes_sent_largest_rank": max(comm.gather(sum(planned.arrays[m.out].nbytes for p in planned.phases for m in p.messages))),
    }  # fmt: skip
    finish(exchange, here)
    del program, running, exchange, planned
    free(here)
    return row


def exchange_of(program, comm, overlap):
    """The exchange, with or without overlap."""
    if not hasattr(program.backend, "stream"):
        return halos.exchange(program, comm)
    from craton.comm.device import on_device

    return on_device(program, comm, lambda text: print(f"note: {text}", file=sys.stderr) if comm.rank == 0 else None, overlap)


def repeats(comm, options, program, exchange, here):
    """Seconds a step of several repeats, the slowest rank."""

    def steps(count):
        here.finish()
        comm.barrier()
        begin = time.perf_counter()
        march(program, exchange, Blind(), count)
        here.finish()
        return max(comm.gather(time.perf_counter() - begin)) / count

    steps(3)
    count = max(4, int(options.seconds / steps(5)))
    count = min(comm.gather(count))
    return [steps(count) for _ in range(options.repeats)]


def waiting_of(comm, program, exchange, here, count=20):
    """Fraction of the step that a rank's kernels wait for halos, mean over the ranks, by events around each wait."""
    here.finish()
    comm.barrier()
    exchange.timing, begin = True, time.perf_counter()
    before = exchange.waited
    march(program, exchange, Blind(), count)
    here.finish()
    spent = time.perf_counter() - begin
    exchange.timing = False
    waited = exchange.seconds_waited() if hasattr(exchange, "seconds_waited") else exchange.waited - before
    return float(np.mean(comm.gather(waited / spent)))


def finish(exchange, here):
    """Give communicators back."""
    here.finish()
    if hasattr(exchange, "group"):
        exchange.group.close()


def free(here):
    """Give the device's memory back."""
    gc.collect()
    if hasattr(here, "cupy"):
        here.cupy.get_default_memory_pool().free_all_blocks()


def parity(comm, options):
    """Normalised RMS difference of waveforms of all GPUs against one, and the greatest."""
    n = 48 if options.small else 192
    asked = scenario((n, n, n), ("free", "cpml"), duration=0.5 if options.small else 1.0, device=options.device)
    many = api.run(asked, progress=False, comm=comm)
    result = {}
    if comm.rank == 0:
        one = api.run(asked, progress=False, comm=Alone())
        a, b = many.samples.astype(float), one.samples.astype(float)
        result = {"gpus": comm.size, "steps": len(a), "normalised_rms": float(np.sqrt(((a - b) ** 2).sum() / (b**2).sum())),
                  "largest_over_peak": float(np.abs(a - b).max() / np.abs(b).max())}  # fmt: skip
    return comm.gather(result)[0]


PLAIN, LADEN = ("rigid", "rigid"), ("free", "cpml")


def cases(part, n, most, small):
    """Keyword arguments of the cases of a part on n of at most `most` GPUs."""
    k = 8 if small else 1
    cube, large = 512 // k, 1024 // k
    if part in ("weak", "laden"):
        return [{"shape": (cube, cube, cube * n), "faces": PLAIN if part == "weak" else LADEN, "grid": (1, 1, n), "waiting": True}]
    if part in ("strong512", "strong1024"):
        side = cube if part == "strong512" else large
        return [{"shape": (side, side, side), "faces": PLAIN, "waiting": True}]
    if part == "cuts":
        grids = {2: [(1, 1, 2), (1, 2, 1), (2, 1, 1)], 8: [(2, 2, 2)]}
        grids[4] = [(1, 1, 4), (1, 2, 2), (2, 2, 1), (2, 1, 2), (1, 4, 1), (4, 1, 1)]
        return [{"shape": (cube,) * 3, "faces": PLAIN, "grid": grid} for grid in grids.get(n, [])]
    if part == "overlap" and n > 1:
        return [{"shape": (side,) * 3, "faces": PLAIN, "overlap": o, "waiting": True} for side in (cube, large) for o in (True, False)]
    if part == "graph" and n > 1:
        return [{"shape": (cube, cube, cube), "faces": PLAIN, "graph": g} for g in (False, True)]
    if part == "okamoto" and n == most and n >= 4:
        return [{"shape": tuple(v // k for v in (1920, 3072, 1152)), "faces": faces} for faces in (PLAIN, LADEN)]
    return []


def some(comm, count, threads):
    """The communicator of the first `count` ranks for these, None for the others."""
    if threads:
        return comm if comm.size == count else (Alone() if count == 1 and comm.rank == 0 else None)
    color = 0 if comm.rank < count else 1
    split = comm.communicator.Split(color, comm.rank)
    return None if color else (Alone() if count == 1 else ranks(split))


def work(comm, options):
    """What every rank does."""
    results = {"argv": sys.argv[1:], "rows": [], "parity": None}
    counts = [n for n in (1, 2, 4, 8) if n <= comm.size]
    wanted = options.parts.split(",")
    if "parity" in wanted and comm.size > 1:
        results["parity"] = parity(comm, options)
        show(comm, results["parity"])
    for part in [p for p in wanted if p != "parity"]:
        for count in counts:
            team = some(comm, count, options.threads)
            for case in cases(part, count, comm.size, options.small):
                row = one(part, team, options, case) if team is not None else None
                row = comm.gather(row)[0]
                if row is None:  # threads: one and all only
                    continue
                results["rows"].append({"part": part, **row})
                show(comm, results["rows"][-1])
                if comm.rank == 0 and options.out:
                    with open(options.out, "w") as file:
                        json.dump(results | {"efficiency": efficiencies(results["rows"])}, file, indent=1)
    if comm.rank == 0:
        print(json.dumps(efficiencies(results["rows"]), indent=1), flush=True)


def one(part, team, options, case):
    """A row; what a graph with NCCL in it fails with is told, not raised."""
    try:
        return measure(team, options, **case)
    except Exception as error:
        if part != "graph" or not case.get("graph"):
            raise
        return {"gpus": team.size, "skipped": f"{type(error).__name__}: {error}", "gpoint_steps_per_second": 0.0}


def efficiencies(rows):
    """Weak: rate of n GPUs over n times that of one; strong: the same of one size."""
    out = {}
    for part in ("weak", "laden", "strong512", "strong1024"):
        of_part = {r["gpus"]: r["gpoint_steps_per_second"] for r in rows if r["part"] == part}
        out[part] = {n: rate / of_part[1] / n for n, rate in of_part.items() if 1 in of_part}
    return out


def show(comm, row):
    """A line."""
    if comm.rank == 0:
        print(json.dumps(row), flush=True)


def main():
    options = options_of(None)
    if options.threads:
        spawn(options.threads, lambda comm: work(comm, options))
        return
    from craton.comm import mpi

    comm = mpi.world()
    if comm.rank == 0:
        print(json.dumps({"ranks": comm.size, "commit": benchmark.commit()}), flush=True)
    work(comm, options)


if __name__ == "__main__":
    main()
