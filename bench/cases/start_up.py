"""From the start of a process to the end of its first step: seconds and peak memory of each stage.

usage: python3 -m bench start_up [grids elements] --device cpu [--only CASE ...] [--threads 1] [--set name=NAME] [--out FILE.json]
       python3 -m bench start_up large [--only CASE ...]                   (the cases for a GPU, with all cores of its computer)
       PYTHONPATH=src python3 bench/cases/start_up.py CASE 1 cpu profile   (one case, with a profile of its functions on standard error)

Each case has a process of its own. Kernels come from the cache of compiled ones: run twice.
"cpu" are seconds of all threads, "wall" those of the clock, "peak" the resident
memory of the process. A row is kept in the JSON under "name", beside those of earlier calls (before, after). Large cases are linear in
points and elements: "us_per_item" times their number.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

THOMSEN = {"epsilon": 0.2, "delta": 0.1, "gamma": 0.15}
LOSS = {"qp": 80, "qs": 40}
SPACING = 20.0  # m
GRIDS = (  # points along an edge, medium: of two layers, of a file, below a mountain of a file
    (192, "isotropic"),
    (192, "attenuation"),
    (192, "VTI"),
    (192, "file"),
    (192, "attenuation, file"),
    (192, "VTI, file"),
    (192, "topography"),
    (192, "attenuation, topography"),
    (192, "VTI, topography"),
    (256, "isotropic"),
)
BOXES = (
    (36, 36, 36, "46,656 irregular"),
    (58, 58, 60, "201,840 irregular"),
    (36, 36, 36, "46,656 cubes"),
    (58, 58, 60, "201,840 cubes"),
)
CHUNKS = {"chunk of 64": (64, 1), "slice of 256, 1 of 4": (256, 4)}  # elements at the surface along a side, ranks
LARGE_GRIDS = ((512, "isotropic"), (384, "attenuation"), (384, "VTI"), (512, "topography"))
LARGE_BOXES = ((96, 96, 36, "331,776 irregular"),)
LARGE_CHUNKS = {"chunk of 256": (256, 1)}  # that of examples/bolivia_1994.toml


# --- scenarios --------------------------------------------------------------------------------


def grid_tables(n, kind, folder):
    """A cube of n^3 points with a free top or a mountain, and CPML of 10 points."""
    extent, hill = SPACING * (n - 1), "topography" in kind
    top = 24 * SPACING if hill else 0.0
    middle, ricker = [extent / 2, extent / 2, -extent / 2], {"kind": "ricker", "frequency": 5}
    ends = ([part * extent, extent / 2, -0.3 * extent] for part in (0.3, 0.7))
    line = dict(zip(("from", "to"), ends)) | {"count": 20}
    medium = (LOSS if "attenuation" in kind else {}) | (THOMSEN if "VTI" in kind else {})
    if "file" in kind:
        model = {"kind": "file", "file": str(model_file(folder, extent, medium))}
    else:
        layers = [
            {"top": top, "vp": 3000, "vs": 1700, "rho": 2000} | medium,
            {"top": -0.4 * extent - 3.0, "vp": 4000, "vs": 2300, "rho": 2400} | medium,
        ]
        model = {"kind": "layers", "layers": layers}
    if "attenuation" in kind:
        model["attenuation"] = {"band": [0.5, 10]}
    if hill:
        model["topography"] = {"file": str(ground_file(folder, extent))}
    return {
        "title": f"{n}^3, {kind}",
        "domain": {"origin": [0, 0, top - extent], "size": [extent] * 3, "spacing": SPACING},
        "model": model,
        "boundaries": {"top": "rigid" if hill else "free", "others": "cpml"},
        "time": {"duration": 1.0},
        "source": [{"kind": "explosion", "at": middle, "moment": 1e13, "wavelet": ricker}],
        "receivers": [{"name": "R", "line": line}],
    }


def model_file(folder, extent, medium):
    """A model file with points of 2.5 spacings."""
    import xarray

    count = int(extent / (2.5 * SPACING)) + 2
    x = np.linspace(0, extent, count)
    z = -x[::-1]
    wave = np.sin(x / 300)[None, :] * np.cos(x / 500)[:, None]
    vs = 2000 + 300 * wave[None] - 0.1 * z[:, None, None]
    fields = {"vp": 1.8 * vs, "vs": vs, "rho": 1500 + 0.4 * vs}
    fields |= {name: np.full(vs.shape, value) for name, value in medium.items()}
    path = folder / "model.nc"
    xarray.Dataset(
        {name: (("z", "y", "x"), values.astype(np.float32)) for name, values in fields.items()},
        {"x": x, "y": x, "z": z},
    ).to_netcdf(path)
    return path


def ground_file(folder, extent):
    """A mountain of 20 spacings, sampled every two spacings."""
    import xarray

    x = np.linspace(0, extent, int(extent / (2 * SPACING)) + 1)
    distance = np.hypot(x - extent / 2, x[:, None] - extent / 2)
    hill = np.cos(np.pi * distance / (0.7 * extent)) ** 2
    z = 20 * SPACING * np.where(distance < 0.35 * extent, hill, 0)
    path = folder / "ground.nc"
    xarray.Dataset({"elevation": (("y", "x"), z)}, {"x": x, "y": x}).to_netcdf(path)
    return path


def box_scenario(nx, ny, nz):
    """Two layers in a box of elements of 100 m."""
    from craton.methods.spectral_element.bench import VARYING, Box

    return Box("box", (nx, ny, nz), VARYING)


# --- stages of one case -----------------------------------------------------------------------


class Stages:
    """Seconds, CPU seconds and peak memory up to the end of each stage."""

    def __init__(self):
        self.rows, self.cpu = {}, 0.0
        self.wall = time.perf_counter() - time.process_time()  # of the interpreter

    def end(self, name):
        """End a stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.rows[name] = {"wall": wall - self.wall, "cpu": cpu - self.cpu, "peak": peak()}
        self.wall, self.cpu = wall, cpu


def peak():
    """Peak of resident memory, bytes."""
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def plan_of(case, folder, stages, machine):
    """The scenario and the plan of a case, and how many points or elements it has."""
    from craton.comm.placement import planner
    from craton.driver import run as driver
    from craton.scenario import Scenario, loads

    stages.end("import")
    chunks = CHUNKS | LARGE_CHUNKS
    if case in chunks:
        from bench.cases.chunk_build import TEXT, Copies
        from craton.methods.spectral_element.build import MeshDomain
        from craton.methods.waves.problem import build

        surface, ranks = chunks[case]
        scenario = loads(TEXT.replace("SURFACE", str(surface)))
        stages.end("scenario")
        team = Copies(ranks) if ranks > 1 else None
        plan = build(MeshDomain(scenario, team=team, machine=planner()))
        return scenario, plan, plan.subdomain.elements if team else plan.grid.elements
    for nx, ny, nz, name in (*BOXES, *LARGE_BOXES):
        if case == name:
            box = box_scenario(nx, ny, nz)
            scenario = box.scenario()
            stages.end("scenario")
            plan = box.plan(planner()) if "irregular" in case else driver.plan(scenario)
            return scenario, plan, plan.grid.elements
    n, kind = next(pair for pair in (*GRIDS, *LARGE_GRIDS) if name_of(*pair) == case)
    tables = grid_tables(n, kind, folder)
    stages.end("files")
    scenario = Scenario(**tables)
    stages.end("scenario")
    plan = driver.plan(scenario)
    return scenario, plan, plan.points


def measured(case, threads, device, folder):
    """Stages of a case in this process."""
    stages = Stages()
    from craton.backends import backend
    from craton.driver import waves

    machine = backend(device, threads=threads)
    scenario, plan, items = plan_of(case, folder, stages, machine)
    stages.end("plan")
    alone = "slice" not in case  # of a slice without its neighbours nothing is run
    program = waves.commit(scenario, plan, machine) if alone else None
    stages.end("commit")
    for phase in program.phases if alone else ():
        phase.outer(0)
        phase.inner(0)
    machine.finish()
    stages.end("first step")
    del stages.rows["files" if "files" in stages.rows else "import"]["peak"]
    rows = stages.rows
    made = {name: row for name, row in rows.items() if name != "files"}
    total = {key: sum(row[key] for row in made.values()) for key in ("wall", "cpu")}
    about = {"case": case, "items": items, "device": device, "threads": threads}
    return about | total | {"us_per_item": 1e6 * total["cpu"] / items, "peak": peak(), "stages": rows}


# --- processes --------------------------------------------------------------------------------


def name_of(n, kind):
    """Name of a grid."""
    return f"{n}^3 {kind}"


def measure(report, part, cases):
    """A row for each case, each in a process of its own."""
    name, out = report.setting("name", "today"), report.options.out
    kept = json.loads(out.read_text()) if out and out.exists() else {}
    for other in PARTS:
        report.parts.setdefault(other, kept.get(other, []))
    before = report.parts[part]
    for case in filter(report.wants, cases):
        words = [
            sys.executable,
            "-m",
            "bench.cases.start_up",
            case,
            str(report.options.threads or (1 if report.options.device == "cpu" else 0)),
            report.options.device,
        ]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        row = {"name": name} | json.loads(done.stdout.splitlines()[-1])
        before = [old for old in before if (old["name"], old["case"]) != (name, case)] + [row]
        report.say(json.dumps({k: v for k, v in row.items() if k != "stages"}))
        report.keep(part, before)


def grids(report):
    """Grids of finite differences."""
    measure(report, "grids", [name_of(*pair) for pair in GRIDS])


def elements(report):
    """Boxes of elements, chunks of the Earth."""
    measure(report, "elements", [*(name for *_, name in BOXES), *CHUNKS])


def large(report):
    """Grids, a box and the whole chunk of 256 for a GPU; nothing on a CPU."""
    if report.options.device != "cpu":
        boxes = [name for *_, name in LARGE_BOXES]
        grid_names = [name_of(*pair) for pair in LARGE_GRIDS]
        measure(report, "large", [*grid_names, *boxes, *LARGE_CHUNKS])


PARTS = {"grids": grids, "elements": elements, "large": large}


def main(case, threads="1", device="cpu", profile=""):
    """Measure a case in this process; by "profile" say where its time goes. 0 threads: those of the
    machine.
    """
    how = case, int(threads) or None, device
    with tempfile.TemporaryDirectory() as folder:
        if not profile:
            print(json.dumps(measured(*how, Path(folder))))
            return
        import cProfile
        import pstats

        profiler = cProfile.Profile(time.process_time)
        row = profiler.runcall(measured, *how, Path(folder))
        stats = pstats.Stats(profiler, stream=sys.stderr)
        stats.sort_stats("cumulative").print_stats(r"craton|numpy", 90)
        stats.sort_stats("tottime").print_stats(40)
        print(json.dumps(row))


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    main(*sys.argv[1:])
