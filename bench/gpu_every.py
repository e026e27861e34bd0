"""Every finite-difference operator once on a GPU, at a small size, against the same steps on the CPU. One line a case, JSON with --out.

usage: PYTHONPATH=src python3 bench/gpu_every.py [--out FILE.json] [--only NAME ...] [--steps 80] [--device cuda] [--list]
       compute-sanitizer --tool memcheck python3 bench/gpu_every.py --steps 4 --gpu-only

Compared are all fields after the last step and all that was recorded: for velocities, for stresses and for each recorded quantity the root
mean square of the difference over that of the values. Rows of 40 points: a GPU takes its own variants of kernels from 33 on.
"""
import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from parity import difference

from craton import api
from craton.backends import backend
from craton.benchmark import provenance
from craton.comm.halos import exchange
from craton.comm.local import Alone, spawn
from craton.driver.checkpoint import Checkpoints, latest
from craton.driver.march import march
from craton.driver.waves import commit
from craton.methods.shared.ranks import plan_of_rank
from craton.scenario import Scenario

LIMITS = {"float32": 1e-5, "float64": 1e-12}  # of the normalised root mean square; rounding grows with the square root of the steps
RUPTURE = Path(__file__).parents[1] / "tests" / "data" / "sources" / "rupture_v2.srf"
UPPER, LOWER = {"vp": 3000, "vs": 1700, "rho": 2100}, {"vp": 4200, "vs": 2400, "rho": 2500}
TOPS = (0, -330, -1230)  # the second interface cuts cells below a free surface, the third cells of the plain step
WAVELET = {"kind": "gaussian", "tau": 0.03, "delay": 0.03}
SPACE, PLANE, FLUID = ["velocity", "pressure", "strain_rate", "rotation_rate"], ["velocity", "strain_rate"], ["velocity", "pressure"]


def layers(**more):
    """A model of three layers, with more properties of each."""
    return {"kind": "layers", "layers": [{"top": top, **medium, **more} for top, medium in zip(TOPS, (UPPER, LOWER, UPPER))]}


def faces(top="free", others="cpml", **more):
    """Boundaries with thin layers."""
    return {"top": top, "others": others, "cpml": {"thickness": 5, "kappa_max": 2}, "sponge": {"thickness": 4}, **more}


def space(model=None, boundaries=None, sources=(), receivers=(), output=SPACE, domain=None, **run):
    """40 x 28 x 26 points, a moment tensor, a force, receivers from the top down."""
    return Scenario(
        domain={"origin": [0, 0, -2500], "size": [3900, 2700, 2500], "spacing": 100, **(domain or {})}, model=model or layers(),
        time={"duration": 1.0, "start": 0}, boundaries=boundaries or faces(), output={"waveforms": output}, run=run,
        source=[{"kind": "moment_tensor", "at": [1630, 1180, -640], "wavelet": WAVELET,
                 "tensor": {"xx": 1e12, "yy": 4e11, "zz": -2e12, "xy": 5e11, "xz": -7e11, "yz": 3e11}},
                {"kind": "force", "at": [1900, 1500, -900], "force": [1e8, 2e8, -1e8], "wavelet": WAVELET}, *sources],
        receivers=[{"name": "R", "line": {"from": [1300, 900, -300], "to": [2350, 1700, -1250], "count": 4}}, *receivers])  # fmt: skip


def plane(waves, model=None, boundaries=None, output=PLANE, domain=None, **run):
    """40 x 26 points in the (x, z) plane, three shots side by side."""
    force = [0, 1e8, 0] if waves == "SH" else [1e8, 0, 2e8]
    shots = {"from": [1500, -640], "to": [2300, -700], "count": 3}
    return Scenario(
        domain={"origin": [0, -2500], "size": [3900, 2500], "spacing": 100, "waves": waves, **(domain or {})}, run=run,
        model=model or layers(), time={"duration": 1.0, "start": 0}, boundaries=boundaries or faces(), output={"waveforms": output},
        source=[{"kind": "force", "shots": shots, "force": force, "wavelet": WAVELET}],
        receivers=[{"name": "R", "line": {"from": [1300, -300], "to": [2350, -1250], "count": 5}}])  # fmt: skip


def fluid(asked):
    """The same in a fluid, as acoustic waves, with an explosion."""
    values = asked.model_dump(by_alias=True, exclude_none=True)
    stack = [{"top": top, **medium, "vs": 0} for top, medium in zip(TOPS, (UPPER, LOWER, UPPER))]
    place = {key: values["source"][0][key] for key in ("at", "shots") if key in values["source"][0]}
    source = {"kind": "explosion", "moment": 1e12, "wavelet": WAVELET, **place}
    changes = {"model": {"kind": "layers", "layers": stack}, "source": [source], "domain": values["domain"] | {"waves": "acoustic"}}
    return Scenario(**values | changes)


def hill(level, height):
    """A model with a hill or a trough on a flat ground; water where `level` is given."""
    x = np.arange(0, 3901, 100.0)
    z = -200 + height * np.exp(-(((x - 1900) / 400) ** 2)) * (abs(x - 1900) < 900)
    return {"kind": "homogeneous", **UPPER, "topography": {"x": x, "z": z.round(1)}} | ({"water": {"level": level}} if level else {})


def lossy(storage):
    """Attenuation."""
    return layers(qp=50, qs=30) | {"attenuation": {"band": [0.5, 10], "mechanisms": 4, "storage": storage}}


PERIODIC = {"west": "periodic", "east": "periodic", "south": "periodic", "north": "periodic", "bottom": "cpml"}
VERTICALLY = {"top": "periodic", "bottom": "periodic", "west": "rigid", "east": "rigid", "south": "rigid", "north": "rigid"}
VTI = {"epsilon": 0.15, "delta": 0.07, "gamma": 0.1}
AIRY = faces("rigid")
STORAGES = ("coarse", "mixed", "paired", "full")
FIBRE = {"name": "D", "das": {"along": [[900, 900, -200], [2600, 1500, -700]], "spacing": 200, "gauge": 400}}
FAULT = {"kind": "srf", "coordinates": "metres", "file": str(RUPTURE), "name": "F"}
RAISED = {"origin": [0, 0, -2300]}  # 200 m of air, or of water, over the flat ground


def cases():
    """Name -> (what makes the scenario, how it is run: ranks along x, y, z, "plain" for no variants, "resumed" from a checkpoint)."""
    made = {
        "cpml": space, "sponge": lambda: space(boundaries=faces("sponge", "sponge")), "a1": lambda: space(boundaries=faces("a1", "a1")),
        "cpml above": lambda: space(boundaries=faces("cpml")), "rigid": lambda: space(boundaries=faces("rigid", "rigid")),
        "periodic": lambda: space(boundaries=faces(**PERIODIC)), "periodic along z": lambda: space(boundaries=faces(**VERTICALLY)),
        "float64": lambda: space(precision="float64"),
    }  # fmt: skip
    made |= {f"order {order}": lambda order=order: space(order=order) for order in (2, 6, 8, 10, 12, 14, 16)}
    made |= {f"holberg {order}": lambda order=order: space(order=order, weights="holberg") for order in (4, 8)}
    made |= {f"{kind} {order}": lambda kind=kind, order=order: space(boundaries=faces(surface=kind), order=order)
             for kind in ("imaging", "imaging-2") for order in (4, 8)}  # fmt: skip
    made |= {f"Q {storage}": lambda storage=storage: space(lossy(storage)) for storage in STORAGES}
    made |= {
        "vti": lambda: space(layers(**VTI)), "fault and fibre": lambda: space(sources=[FAULT], receivers=[FIBRE]),
        "acoustic": lambda: fluid(space(output=FLUID)), "acoustic a1": lambda: fluid(space(boundaries=faces("a1", "a1"), output=FLUID)),
        "topography": lambda: space(hill(None, 300), AIRY, domain=RAISED),
        "sea floor": lambda: space(hill(50, -300), AIRY, domain=RAISED),
        "sea floor 8": lambda: space(hill(50, -300), AIRY, domain=RAISED, order=8),
    }  # fmt: skip
    for waves in ("P-SV", "SH"):
        made |= {f"{waves} {name}": lambda waves=waves, given=given: plane(waves, **given) for name, given in plane_cases(waves).items()}
    made |= {"P-SV acoustic": lambda: fluid(plane("P-SV", output=FLUID)),
             "P-SV acoustic a1": lambda: fluid(plane("P-SV", boundaries=faces("a1", "a1"), output=FLUID))}  # fmt: skip
    chosen = {name: (make, "") for name, make in made.items()}
    chosen |= {f"{name}, plain bodies": (made[name], "plain") for name in ("cpml", "order 8", "Q coarse", "Q paired", "Q full")}
    chosen["Q paired, resumed"] = (made["Q paired"], "resumed")
    grids = {"x": (2, 1, 1), "y": (1, 2, 1), "z": (1, 1, 2)}
    cut = [("cpml", "x"), ("cpml", "y"), ("cpml", "z"), ("Q paired", "y"), ("sea floor", "y"), ("P-SV cpml", "x"), ("SH cpml", "z")]
    return chosen | {f"{name}, 2 ranks along {axis}": (made[name], grids[axis]) for name, axis in cut}


def plane_cases(waves):
    """What `plane` is to be given, by name."""
    found = {"cpml": {}, "sponge": {"boundaries": faces("sponge", "sponge")}, "a1": {"boundaries": faces("a1", "a1")},
             "periodic": {"boundaries": faces(west="periodic", east="periodic")},
             "rigid 8": {"boundaries": faces("rigid", "rigid"), "order": 8},
             "vti": {"model": layers(**VTI)}, "order 12": {"order": 12}}  # fmt: skip
    found |= {f"Q {storage}": {"model": lossy(storage)} for storage in STORAGES if storage != "mixed"}
    raised = {"boundaries": AIRY, "domain": {"origin": [0, -2300]}}
    found["topography"] = {"model": hill(None, 300), **raised}
    return found | ({"sea floor": {"model": hill(50, -300), **raised}} if waves == "P-SV" else {})


# --- runs -------------------------------------------------------------------------------------------------------------------------------


class Blind:
    """A recorder that looks at nothing."""

    def sample(self, step):
        """Nothing."""


def outcome(asked, plan, machine, steps):
    """Fields and record after some steps on one machine."""
    program = commit(asked, plan, machine)
    march(program, Alone(), Blind(), steps)
    return fields(program), recorded(program, steps)


def resumed(asked, plan, machine, steps):
    """The same by two programs, the second of which goes on from the first one's checkpoint."""
    with TemporaryDirectory() as out:
        first, half = commit(asked, plan, machine), steps // 2
        march(first, Alone(), Blind(), half)
        Checkpoints(out, first, Alone(), "").save(half, recorded(first, half))
        second, saved = commit(asked, plan, machine), latest(out)
        saved.restore(second, 0)
        march(second, Alone(), Blind(), steps, half)
        return fields(second), np.concatenate([saved.record, recorded(second, steps)[half:]])


def fields(program):
    """Every field that is computed, at the grid's points."""
    return {name: program.host(name) for name, a in program.plan.arrays.items() if a.part_of == "state"}


def recorded(program, steps):
    """The record's rows, (steps, columns)."""
    return program.host("record")[:steps] if "record" in program.arrays else np.empty((steps, 0), program.plan.precision)


def together(asked, plan, make, grid, steps):
    """The same of two ranks, threads that each have a machine; several may be one GPU's."""

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, grid)
        program = commit(asked, local, make())
        march(program, exchange(program, comm), Blind(), steps)
        blocks = comm.collect(recorded(program, steps))
        return local.subdomain, fields(program), local.gathering.join_columns(blocks, program.backend) if blocks else None

    found = spawn(int(np.prod(grid)), rank)
    whole = {name: np.full((*plan.layout.shape,), np.nan, plan.precision) for name in found[0][1]}
    for part, some, _ in found:
        for name, values in some.items():
            whole[name][tuple(slice(a, b) for a, b in zip(part.box[::2], part.box[1::2]))] = values
    return whole, found[0][2]


def parts(plan, result):
    """Fields and record by what is measured as one: velocities, stresses, each quantity that was recorded."""
    fields_, record = result
    found = {"velocities": [v for name, v in fields_.items() if name in plan.watched],
             "stresses": [v for name, v in fields_.items() if name not in plan.watched]}  # fmt: skip
    kinds = sorted({c.quantity for c in plan.channels})
    return found | {f"recorded {kind}": [record[:, [c.quantity == kind for c in plan.channels]]] for kind in kinds}


def peaks(plan, result):
    """Largest value of each part."""
    return {name: max(float(np.abs(v).max()) for v in some) for name, some in parts(plan, result).items()}


def case(name, asked, how, options):
    """One row: worst measure, how long it took, whether it is within the limit."""
    begin = time.perf_counter()
    plan = api.plan(asked)
    steps = min(options.steps, plan.steps, plan.slots)
    choice = {"variants": False} if how == "plain" and options.device == "cuda" else {}

    def make():
        return backend(options.device, threads=options.threads, **choice)

    if isinstance(how, tuple):
        found = together(asked, plan, make, how, steps)
    else:
        found = (resumed if how == "resumed" else outcome)(asked, plan, make(), steps)
    row = {"case": name, "steps": steps, "precision": plan.precision, "operators": sorted(plan.operators), "peaks": peaks(plan, found)}
    row["passed"] = bool(all(np.isfinite(v) for v in row["peaks"].values()))
    if not options.gpu_only:
        wanted = outcome(asked, plan, backend("cpu", threads=options.threads), steps)
        measured = {key: difference(a, b)["l2"] for (key, a), b in zip(parts(plan, found).items(), parts(plan, wanted).values())}
        worst = max(measured, key=lambda key: measured[key] if measured[key] == measured[key] else np.inf)
        row |= {"l2": measured, "worst": measured[worst], "where": worst, "limit": LIMITS[plan.precision]}
        row["passed"] = bool(row["passed"] and measured[worst] <= row["limit"])
    return row | {"seconds": time.perf_counter() - begin}


def line(row):
    """A row in words."""
    if "failed" in row:
        return f"{row['case']:<28} FAILED: {row['failed']}"
    measure = f"normalised RMS {row['worst']:.1e} ({row['where']})" if "worst" in row else f"peak {row['peaks']['velocities']:.2e}"
    return f"{row['case']:<28} {'ok' if row['passed'] else 'FAILED':<7} {measure:<48} {row['steps']} steps, {row['seconds']:.1f} s"


def arguments(words=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose names begin so")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--gpu-only", action="store_true", help="no comparison: for compute-sanitizer")
    parser.add_argument("--list", action="store_true", help="print the names")
    return parser.parse_args(words)


def main(words=None):
    """All cases; exit code 1 where one is not within its limit."""
    options = arguments(words)
    chosen = {name: one for name, one in cases().items() if not options.only or name.startswith(tuple(options.only))}
    if options.list:
        print("\n".join(chosen))
        return 0
    result = {"bench": "gpu_every", **provenance(backend(options.device)), "gpu_only": options.gpu_only, "cases": []}
    for name, (make, how) in chosen.items():
        try:
            row = case(name, make(), how, options)
        except Exception as error:  # the other cases are still worth a line
            row = {"case": name, "passed": False, "failed": f"{type(error).__name__}: {error}"}
        result["cases"].append(row)
        print(line(row), flush=True)
        if options.out:
            Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    failed = [row["case"] for row in result["cases"] if not row["passed"]]
    print(f"{len(chosen) - len(failed)} of {len(chosen)} cases passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
