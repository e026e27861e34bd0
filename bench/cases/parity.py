"""Waveforms of whole runs on a GPU against the CPU.

usage: python3 -m bench parity [PART ...] [--out FILE.json] [--only NAME ...]
       compute-sanitizer python3 -m bench parity layers --small

A row has, over all kinds of what was recorded, the largest difference over the largest value and the relative L2 of the difference; of the
latter also the worst component and the worst waveform. `--small` runs four steps of each case alone. Parts and their files in results:
fd and full: fd_h200_checks; layers: layers_sem_h200; plane: nakata_h200; terrain: terrain_h200; rheology: rheology_h200; okamoto:
okamoto_h200; assembly: sem_assembly_h200; earth: earth_machines_h200.
"""

import time
from functools import partial

import numpy as np

from bench.cases import builders
from bench.cases.every import FEW, outcome
from bench.harness import difference, scenarios
from craton.driver import run as driver
from craton.methods.finite_difference import bench as differences
from craton.methods.spectral_element import bench as elements
from craton.scenario import Scenario
from craton.validation.compare import CASES, merged

LIMITS = {"float32": 1e-4, "float64": 1e-12}  # of the largest difference
OKAMOTO = 1e-5  # of the L2: Okamoto et al. (2010) report 2e-6 to 9e-6
EARTH = 1 / 3000  # of the largest difference: Komatitsch et al. (2010) amplify it by 3000 to see it
PRECISIONS = ("float32", "float64")


# --- cases: name -> function that makes the scenario ------------------------------------------


def layers():
    """Every kernel of absorbing layers, both methods."""
    return scenarios("layers_fd") | scenarios("layers_sem")


def terrain():
    """Grounds in small cubes."""
    kinds = (("rigid", "float32"), ("cpml", "float32"), ("cpml", "float64"))
    return {
        f"{ground}, {others}, {precision}": partial(builders.terrain, 80, ground, others, 0.5, precision)
        for ground in builders.GROUNDS[1:]
        for others, precision in kinds
    }


def rheology():
    """Attenuation in all storages, VTI."""
    return {
        f"{kind}, {precision}": partial(builders.rheology_small, kind, precision)
        for precision in PRECISIONS
        for kind in builders.RHEOLOGIES
    }


def full():
    """The two layers of Michea & Komatitsch (2010) at full size, with the stations of the reference."""
    kept, places = differences.tables("two_layers"), ((10000, 10000), (5000, 4000), (2000, 9000))
    stations = [{"name": f"S{n}", "at": [x, y, 0]} for n, (x, y) in enumerate(places)]
    return {
        f"full size, {precision}": partial(Scenario, **kept | {"receivers": stations, "run": {"precision": precision}})
        for precision in PRECISIONS
    }


def okamoto(size=None, steps=None):
    """512 x 512 x 256 points, 1500 steps."""
    shape = tuple(size or (512, 512, 256))
    return {"okamoto": partial(builders.okamoto, shape, steps or 1500)}


def earth_force(steps=None, step=0.2):
    """An upward force at 150 km depth in a chunk of PREM, about 5,000 elements, 10,000 steps."""
    places = [np.radians((far, azimuth)) for far in (2, 4, 6, 8) for azimuth in (20, 110)]
    north = [np.degrees(np.arcsin(np.sin(d) * np.cos(a))) for d, a in places]
    east = [np.degrees(np.arctan2(np.sin(d) * np.sin(a), np.cos(d))) for d, a in places]
    stations = [{"longitude": float(x), "latitude": float(y)} for x, y in zip(east, north)]
    changes = {
        "domain": {"chunk": {"width": [22, 22], "period": 44}},
        "time": {"duration": (steps or 10_000) * step, "step": step},
        "receivers": [{"name": f"S{n}", "at": at} for n, at in enumerate(stations)],
    }
    return {"machines": partial(Scenario, **merged(CASES["earth-force"]["scenario"], changes))}


def assembly(kind, duration=2.0):
    """1,920 irregular elements with material at each node: colours, or atomic adds ("fast")."""
    box = elements.Box("assembly", (16, 12, 10), elements.VARYING)
    line = {"from": [310, 420, -120], "to": [1330, 910, -770], "count": 8}
    return box.scenario(
        time={"duration": duration},
        run={"assembly": kind},
        receivers=[{"name": "R", "line": line}],
        output={"waveforms": ["velocity", "displacement"]},
    )


# --- comparisons ------------------------------------------------------------------------------


def ran(scenario, device):
    """Result of a run, and its figures."""
    begin = time.perf_counter()
    result = driver.run(scenario, device=device, progress=False)
    rate = result.report["point_steps_per_second"]
    figures = {"device": result.report["device"], "seconds": time.perf_counter() - begin}
    figures |= {"point_steps_per_second": rate}
    if hasattr(result.plan.grid, "elements"):
        elements = result.plan.grid.elements
        per_second = rate * elements / result.plan.points
        figures |= {"elements": elements, "elements_per_second": per_second}
    return result, figures


def measures(a, b):
    """Differences of the records of two runs: the worst over the recorded kinds, over components and over waveforms."""
    channels = b.plan.channels
    x, y = (result.samples.astype(float) for result in (a, b))

    def over(key):
        groups = {}
        for n, channel in enumerate(channels):
            groups.setdefault(key(n, channel), []).append(n)
        return [difference(x[:, columns], y[:, columns]) for columns in groups.values()]

    kinds = over(lambda n, channel: channel.quantity)
    out = {name: max(kind[name] for kind in kinds) for name in ("largest", "l2")}
    component = over(lambda n, channel: (channel.quantity, channel.component))
    waveform = over(lambda n, channel: n)
    out["worst_component"] = max(one["l2"] for one in component)
    return out | {"worst_waveform": max(one["l2"] for one in waveform)}


def compared(report, part, name, make, limit=None, by="largest", other=None):
    """A row: one scenario on the device and on the CPU, or two of them (`other`: scenario and device)."""
    options, scenario = report.options, make()
    if options.small:
        return few_steps(report, part, name, scenario)
    result, figures = ran(scenario, options.device)
    reference, device = other or (scenario, "cpu")
    reference, others = ran(reference, device)
    precision = result.plan.precision
    row = {"case": name, "precision": precision, "steps": len(result.samples)}
    row |= measures(result, reference) | {"peak": float(np.abs(reference.samples).max())}
    limit = LIMITS[precision] if limit is None else limit
    row |= {"measure": by, "limit": limit, "passed": bool(row[by] <= limit)}
    runs = {options.device: figures} | ({device: others} if device != options.device else {})
    text = f"{name:<44} largest {row['largest']:.1e}  L2 {row['l2']:.1e}  limit of {by} {limit:.1e}"
    return report.add(part, row | runs, text)


def few_steps(report, part, name, scenario):
    """A row of a few steps alone: all values are finite."""
    plan = driver.plan(scenario)
    state, record = outcome(scenario, plan, report.machine, report.options.steps or FEW)
    finite = all(np.isfinite(values).all() for values in (*state.values(), record))
    return report.add(part, {"case": name, "precision": plan.precision, "passed": bool(finite)})


def group(report, part, cases, **more):
    """Rows of some cases."""
    for name, make in cases.items():
        if report.wants(name):
            with report.guarded(part, name):
                compared(report, part, name, make, **more)


def okamoto_part(report):
    """The set-up of Okamoto et al. (2010); --size 48 48 56 --steps 100 on a CPU."""
    options = report.options
    small = (48, 48, 56) if options.small else options.size
    group(report, "okamoto", okamoto(small, options.steps), limit=OKAMOTO, by="l2")


def assembly_part(report):
    """The same bits twice by colours, atomic adds against colours, and the CPU."""
    device = report.options.device
    pairs = {
        "colour twice": ("colour", ("colour", device), 0.0),
        "atomic against colour": ("fast", ("colour", device), LIMITS["float32"]),
        "GPU against CPU, colour": ("colour", ("colour", "cpu"), LIMITS["float32"]),
    }
    for name, (kind, (reference, machine), limit) in pairs.items():
        other = (assembly(reference), machine)
        make = partial(assembly, kind)
        compared(report, "assembly", name, make, limit=limit, other=other)


def earth_part(report):
    """A chunk of PREM over 10,000 steps."""
    group(report, "machines", earth_force(report.options.steps), limit=EARTH)


PARTS = {
    "fd": lambda report: group(report, "fd", scenarios("fd")),
    "layers": lambda report: group(report, "layers", layers()),
    "plane": lambda report: group(report, "plane", scenarios("plane")),
    "terrain": lambda report: group(report, "terrain", terrain()),
    "rheology": lambda report: group(report, "rheology", rheology()),
    "full": lambda report: group(report, "full", full()),
    "okamoto": okamoto_part,
    "assembly": assembly_part,
    "earth": earth_part,
}
