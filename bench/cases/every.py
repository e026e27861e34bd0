"""Every finite-difference operator once on a GPU, at a small size, against the same steps on the CPU.

usage: python3 -m bench every [--out FILE.json] [--only NAME ...] [--steps 80] [--list]
       compute-sanitizer --tool memcheck python3 -m bench every --small

Compared are all fields after the last step and all that was recorded: for velocities, for stresses and for each recorded quantity the root
mean square of the difference over that of the values. The scenarios are the groups "every" of scenarios.toml.
The sums of stored series, of queries of Green's functions, are compared on random numbers.
"""

import time
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np

from bench.harness import difference, expanded, merged, tables
from craton.backends import backend
from craton.comm.halos import connect
from craton.comm.local import spawn
from craton.driver import run as driver
from craton.driver.checkpoint import Checkpoints
from craton.driver.job import Job
from craton.driver.march import march
from craton.driver.observers.record import Record
from craton.driver.saved import latest
from craton.driver.waves import commit
from craton.methods.waves import greens
from craton.methods.waves.ranks import plan_of_rank
from craton.scenario import Scenario

LIMITS = {"float32": 1e-5, "float64": 1e-12}  # of the relative L2; rounding grows with the square root of the steps
STEPS, FEW = 80, 4
PLAIN = ("cpml", "order 8", "Q coarse", "Q paired", "Q full")  # once more without variants of kernels
SERIES = {"sums of series": "float32", "sums of series in 16 bits": "int16"}
GRIDS = {"x": (2, 1, 1), "y": (1, 2, 1), "z": (1, 1, 2)}
CUT = (("cpml", "xyz"), ("peaks", "y"), ("Q paired", "y"), ("sea floor", "xyz"), ("P-SV cpml", "x"), ("SH cpml", "z"))


def cases():
    """Name -> (function that makes the scenario, how it runs).

    It runs on ranks along x, y, z, "plain" without variants of kernels, or "resumed" from a checkpoint.
    """
    models, plane = {"models": tables("every_models")}, tables("every_plane")
    chosen = expanded(tables("every") | models)
    for waves, changes in plane["waves"].items():
        group = expanded(plane | models | {"base": merged(plane["base"], changes)})
        chosen |= {f"{waves} {name}": scenario for name, scenario in group.items()}
    for name in ("acoustic", "acoustic a1"):
        del chosen[f"SH {name}"]
    makers = {name: partial(Scenario, **scenario) for name, scenario in chosen.items()}
    out = {name: (make, "") for name, make in makers.items()}
    out |= {f"{name}, plain bodies": (makers[name], "plain") for name in PLAIN}
    out["Q paired, resumed"] = (makers["Q paired"], "resumed")
    for name, axes in CUT:
        out |= {f"{name}, 2 ranks along {a}": (makers[name], GRIDS[a]) for a in axes}
    return out


# --- runs -------------------------------------------------------------------------------------


def outcome(scenario, plan, machine, steps):
    """Fields and record after some steps on one machine."""
    program = commit(scenario, plan, machine)
    march(program, (), steps)
    return fields(program) | measured(program), recorded(program, steps)


def resumed(scenario, plan, machine, steps):
    """The same by two programs, the second of which goes on from the first one's checkpoint."""
    with TemporaryDirectory() as folder:
        first, half = commit(scenario, plan, machine), steps // 2
        march(first, (), half)
        job = Job(scenario, plan, machine, out=folder)
        Checkpoints(job, first, Record(job, first), (), lambda step: None).see(half, first)
        second, saved = commit(scenario, plan, machine), latest(folder)
        saved.restore(second, 0)
        march(second, (), steps, half)
        record = np.concatenate([saved.record, recorded(second, steps)[half:]])
        return fields(second), record


def fields(program):
    """Every field that is computed, at the grid's points."""
    state = (name for name, array in program.plan.arrays.items() if array.part_of == "state")
    return {name: program.host(name) for name in state}


def measured(program):
    """Everything that maps of peaks hold."""
    arrays = program.plan.arrays.items()
    return {name: program.host(name) for name, array in arrays if array.kind == "peaks"}


def recorded(program, steps):
    """The record's rows, (steps, columns)."""
    if "record" not in program.arrays:
        return np.empty((steps, 0), program.plan.precision)
    return program.host("record")[:steps]


def by_ranks(scenario, plan, make, grid, steps):
    """The same of two ranks, threads that each have a machine; several may be one GPU's."""

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, grid)
        program = commit(scenario, local, make())
        connect(program, comm)
        march(program, (), steps)
        blocks = comm.collect(recorded(program, steps))
        record = local.gathering.join_columns(blocks, program.backend) if blocks else None
        return local.subdomain.box, fields(program), record

    parts = spawn(int(np.prod(grid)), rank)
    whole = {name: np.full((*plan.layout.shape,), np.nan, plan.precision) for name in parts[0][1]}
    for box, own, _ in parts:
        region = tuple(slice(a, b) for a, b in zip(box[::2], box[1::2]))
        for name, values in own.items():
            whole[name][region] = values
    return whole, parts[0][2]


def sums_of_series(stored, machine, sums=64, places=2000, samples=600, rows=500):
    """Weighted sums of random series of one machine, {"sums": [array]}."""
    rng, columns = np.random.default_rng(5), range(3)
    plan = greens.sum_plan(list(columns), places, samples, stored, sums, sums * rows)
    size = plan.arrays["values_0"].shape
    values = {f"values_{n}": (1e3 * rng.standard_normal(size)).astype(stored) for n in columns}
    if stored == "int16":
        values |= {f"scale_{n}": rng.random(places).astype(np.float32) for n in columns}
    ready = {name: machine.asarray(array) for name, array in values.items()}
    program = machine.commit(plan, arrays=ready)
    given = {
        "row": rng.integers(0, places, sums * rows),
        "first": rows * np.arange(sums + 1, dtype=np.int32),
        "weight": rng.standard_normal(sums * rows).astype(np.float32),
    }
    for name, array in given.items():
        machine.fill(program.arrays[name], array)
    program.phases[0].inner(0)
    return {"sums": [machine.to_host(program.arrays["sums"])]}


def row_of_series(name, stored, options):
    """`row_of` of sums of series."""
    begin, make = time.perf_counter(), partial(backend, threads=options.threads)
    parts = sums_of_series(stored, make(options.device))
    row = {"case": name, "steps": 1, "precision": "float32"}
    row |= {"operators": [greens.sum_operator(stored).name], "peaks": largest(parts)}
    row["passed"] = bool(np.isfinite(parts["sums"][0]).all())
    if not (options.alone or options.small):
        row = compared(row, parts, sums_of_series(stored, make("cpu")))
    return row | {"seconds": time.perf_counter() - begin}


def largest(parts):
    """Largest magnitude of each part."""
    return {key: max(float(np.abs(v).max()) for v in values) for key, values in parts.items()}


def compared(row, parts, reference):
    """The row with its differences from a reference."""
    l2 = {key: difference(values, reference[key])["l2"] for key, values in parts.items()}
    worst = max(l2, key=lambda key: np.nan_to_num(l2[key], nan=np.inf))
    row |= {"l2": l2, "worst": l2[worst], "where": worst, "limit": LIMITS[row["precision"]]}
    return row | {"passed": bool(row["passed"] and l2[worst] <= row["limit"])}


def kinds(plan, result):
    """Fields and record by what is measured as one: velocities, stresses, each quantity that was recorded."""
    state, record = result
    out = {"velocities": [], "stresses": []}
    for name, values in state.items():
        if plan.arrays[name].kind == "peaks":
            out[name] = [values]
        else:
            out["velocities" if name in plan.watched else "stresses"].append(values)
    for kind in sorted({channel.quantity for channel in plan.channels}):
        out[f"recorded {kind}"] = [record[:, [c.quantity == kind for c in plan.channels]]]
    return {name: values for name, values in out.items() if values}


def row_of(name, scenario, how, options):
    """One row: worst measure, how long it took, whether it is within the limit."""
    begin, plan = time.perf_counter(), driver.plan(scenario)
    alone = options.alone or options.small
    steps = min(options.steps or (FEW if options.small else STEPS), plan.steps, plan.slots)
    choice = {"variants": False} if how == "plain" and options.device == "cuda" else {}
    make = partial(backend, options.device, threads=options.threads, **choice)
    if isinstance(how, tuple):
        result = by_ranks(scenario, plan, make, how, steps)
    else:
        result = (resumed if how == "resumed" else outcome)(scenario, plan, make(), steps)
    parts = kinds(plan, result)
    peaks = largest(parts)
    row = {"case": name, "steps": steps, "precision": plan.precision}
    row |= {"operators": sorted(plan.operators), "peaks": peaks}
    row["passed"] = bool(np.isfinite(list(peaks.values())).all())
    if not alone:
        host = backend("cpu", threads=options.threads)
        row = compared(row, parts, kinds(plan, outcome(scenario, plan, host, steps)))
    return row | {"seconds": time.perf_counter() - begin}


def line(row):
    """A row in words."""
    measure = f"peak {next(iter(row['peaks'].values())):.2e}"
    if "worst" in row:
        measure = f"normalised RMS {row['worst']:.1e} ({row['where']})"
    verdict = "ok" if row["passed"] else "FAILED"
    duration = f"{row['steps']} steps, {row['seconds']:.1f} s"
    return f"{row['case']:<28} {verdict:<7} {measure:<48} {duration}"


def every(report):
    """All cases."""
    chosen = {name: case for name, case in cases().items() if report.wants(name)}
    sums = {name: stored for name, stored in SERIES.items() if report.wants(name)}
    if report.options.list:
        report.say("\n".join([*chosen, *sums]))
        return
    for name, (make, how) in chosen.items():
        with report.guarded("cases", name):
            row = row_of(name, make(), how, report.options)
            report.add("cases", row, line(row))
    for name, stored in sums.items():
        with report.guarded("cases", name):
            row = row_of_series(name, stored, report.options)
            report.add("cases", row, line(row))


PARTS = {"every": every}
