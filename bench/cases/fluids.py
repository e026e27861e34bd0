"""Random scenarios with fluids: both methods agree within what the plan states, and nothing grows.

`agree`: seas over a level floor and over hills in space, by finite differences and by spectral elements; source and six of eight receivers
within three cells of the floor, 12 points per wavelength at f95. A row is the largest relative L2 of velocity of a receiver, below the sum
of what both plans state; moment tensors beside a floor in steps, of which the plan warns, are measured alone. `rest`: seas, lakes, cavities
and slopes, in the plane and in space, with a source within three cells of the contact; a row is the largest velocity of the last quarter
over the peak, and over that of the quarter before.

usage: python3 -m bench fluids [agree rest] [--set agree=60 rest=140 first=0] [--out bench/results/fluids_h100.json]
"""

import re
import warnings

import numpy as np

import craton

SPACING, ELEMENT, POINTS = 20.0, 70.0, 12.0
NEAR = 3 * SPACING  # of the contact
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1020.0}
F95 = 1.9767  # of a Ricker wavelet over its peak frequency
STEPS = 4000  # of `rest`
# late over peak, over the quarter before: one of them; a linear rise has 4/3
SETTLED, FALLING = 1e-3, 1.2


def rock_of(rng):
    """A solid."""
    vs = float(rng.uniform(900, 2800))
    vp = vs * float(rng.uniform(1.6, 2.2))
    return {"vp": vp, "vs": vs, "rho": float(rng.uniform(1900, 2800))}


def moment_of(rng):
    """Components of a random moment tensor."""
    m = rng.standard_normal((3, 3)) * 1e12
    return {a + b: (m + m.T)[n, k] for n, a in enumerate("xyz") for k, b in enumerate("xyz") if n <= k}


def hilly(rng):
    """Elevation of a sea floor of three waves, level far from the middle."""
    depth = -float(rng.uniform(300, 550))
    waves = list(zip(*(rng.uniform(a, b, 3) for a, b in ((20, 60), (400, 1200), (0, 6.3), (0, 3.1)))))

    def floor(x, y):
        r4 = ((np.asarray(x) ** 2 + np.asarray(y) ** 2) / 650**2) ** 4
        phases = (
            (height, 2 * np.pi * (x * np.cos(t) + y * np.sin(t)) / length + at) for height, length, at, t in waves
        )
        return depth + np.exp(-r4) * sum(height * np.cos(phase) for height, phase in phases)

    return floor


def sea(seed):
    """A sea in space for both methods: name, tables of finite differences, tables of elements."""
    rng = np.random.default_rng(seed)
    level, rock = bool(rng.random() < 0.7), rock_of(rng)
    slow = min(WATER["vp"], rock["vs"])
    peak = slow / (POINTS * SPACING) / F95
    depth = -float(rng.uniform(150, 600))
    floor = (lambda x, y: depth + 0.0 * (x + y)) if level else hilly(rng)
    model = {"kind": "layers", "layers": [{"top": 0.0, **WATER}, {"top": depth, **rock}]}
    if not level:
        water = {"level": 0.0, "vp": WATER["vp"], "rho": WATER["rho"]}
        model = {"kind": "homogeneous", **rock, "topography": floor, "water": water}
    x, y = (float(v) for v in rng.uniform(-150, 150, 2))
    off, in_rock = float(rng.uniform(0.3, 1) * NEAR), bool(rng.random() < 0.6)
    source = {"at": [x, y, float(floor(x, y)) + (-off if in_rock else off)]}
    source |= {"kind": "moment_tensor", "tensor": moment_of(rng)} if in_rock else {"kind": "explosion", "moment": 1e12}
    receivers = []
    for n in range(8):
        angle, distance = rng.uniform(0, 2 * np.pi), rng.uniform(120, 420)
        at = np.clip([x + distance * np.cos(angle), y + distance * np.sin(angle)], -600, 600)
        above = float(rng.uniform(0.1, 1) * NEAR if n < 6 else 6 * SPACING) * (1 if n % 2 else -1)
        receivers.append({"name": f"R{n}", "at": [*map(float, at), float(floor(*at)) + above]})
    top = 0.0 if level else 2 * SPACING
    box = {"origin": [-1000.0, -1000.0, -1400.0], "size": [2000.0, 2000.0, 1400.0 + top]}
    tables = {
        "model": model,
        "source": [source | {"wavelet": {"kind": "ricker", "frequency": peak}}],
        "receivers": receivers,
        "time": {"start": -1.6 / peak, "duration": 1.92 / peak + 500 / slow + 0.3},
    }
    name = f"{'level' if level else 'hills'}, source in {'rock' if in_rock else 'water'}"
    elements = {"method": "sem", "domain": box | {"element_size": ELEMENT}, "boundaries": {"others": "pml"}}
    return name, tables | {"domain": box | {"spacing": SPACING}}, tables | elements


def stated(planned) -> float:
    """Return the errors that a plan states of fluid beside solid, and of layers of elements."""
    notes = [
        text
        for rows in planned.notes.values()
        for name, text in rows
        if name in ("fluid beside solid", "expected error")
    ]
    return sum(float(v) for text in notes for v in re.findall(r"about ([\d.]+) ?%", text)) / 100


def agree(report):
    """Finite differences against elements."""
    first = report.setting("first", 0)
    for seed in range(first, first + report.setting("agree", 60)):
        name, *both = sea(seed)
        with report.guarded("agree", f"{seed}, {name}"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [craton.run(scenario_of(report, tables), progress=False) for tables in both]
            data = [result.dataset.velocity for result in results]
            times = data[1].time.values[20:-20]
            grid, mesh = (
                np.array([[np.interp(times, v.time.values, trace) for trace in row] for row in v.values]) for v in data
            )
            misfit = np.linalg.norm(grid - mesh, axis=(1, 2)) / np.linalg.norm(mesh, axis=(1, 2))
            bound = sum(stated(result.plan) for result in results)
            row = {
                "case": f"{seed}, {name}",
                "worst": float(misfit.max()),
                "median": float(np.median(misfit)),
                "stated": bound,
            }
            warned = any("that has steps" in text for text in results[0].plan.warnings)
            report.add("agree", row | {"warned": warned, "passed": warned or bool(misfit.max() <= bound)})


def scenario_of(report, tables):
    """The scenario on the report's machine."""
    run = {"device": report.options.device} | ({"threads": report.options.threads} if report.options.threads else {})
    return craton.Scenario(**tables, run=run)


def basin(seed):
    """A sea, lake, cavity or slope with a source within three cells of the contact: name, tables."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["sea", "lake", "cavity", "slope"]))
    planar, h = bool(rng.random() < 0.7), SPACING
    vs = float(10 ** rng.uniform(np.log10(250), np.log10(3000)))
    rock = {"vp": vs * float(rng.uniform(1.6, 3)), "vs": vs, "rho": float(rng.uniform(1700, 2800))}
    width, depth, off = (2000.0 if planar else 1000.0), 1000.0, float(rng.uniform(0.2, 1) * NEAR)
    x, z, top = float(rng.uniform(-80, 80)), -float(rng.uniform(100, 300)), 0.0
    model = {"kind": "homogeneous", **rock}
    if kind == "sea":
        model = {"kind": "layers", "layers": [{"top": 0.0, **WATER}, {"top": z, **rock}]}
        at = [x, z - off]
    elif kind == "lake":
        half = float(rng.uniform(100, 200))
        body = {"shape": "box", "min": [-half, -half, z], "max": [half, half, 0.0], **WATER}
        model["anomalies"], at = [body], [half + off, z / 2] if rng.random() < 0.5 else [x, z - off]
    elif kind == "cavity":
        radius, angle = float(rng.uniform(60, 150)), rng.uniform(0, 2 * np.pi)
        model["anomalies"] = [{"shape": "sphere", "center": [0.0, 0.0, -450.0], "radius": radius, **WATER}]
        at = [float((radius + off) * np.cos(angle)), float(-450 + (radius + off) * np.sin(angle))]
    else:
        a, b, top = float(rng.uniform(40, 150)), float(rng.uniform(250, 400)), 2 * h
        x0 = [-width / 2, -250.0, 250.0, width / 2]
        model |= {"topography": {"x": x0, "z": [-a, -a, -b, -b]}, "water": {"level": 0.0, "vp": 1500.0, "rho": 1020.0}}
        at = [x, float(np.interp(x, x0, [-a, -a, -b, -b])) - off]
    low, size = [-width / 2, -depth], [width, depth + top]
    if not planar:
        low, size, at = [low[0], *low], [size[0], *size], [at[0], 10.0, at[1]]
    fastest = max(rock["vp"], WATER["vp"])
    tau = 3 * h / min(max(vs, 300.0), 1500.0)
    tensor = {k: v for k, v in moment_of(rng).items() if not planar or "y" not in k}
    grid = [
        [X, Z] if planar else [X, 20.0, Z] for X in (0.0, 60.0, 260.0) for Z in (-60.0, -160.0, -300.0, -450.0, -600.0)
    ]
    return f"{kind}, {'plane' if planar else 'space'}, vs {vs:.0f}", {
        "domain": {"origin": low, "size": size, "spacing": h} | ({"waves": "P-SV"} if planar else {}),
        "model": model,
        "time": {"duration": STEPS * 0.42 * h / fastest},
        "source": [{"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": {"kind": "gaussian", "tau": tau}}],
        "receivers": [{"name": f"R{n}", "at": position} for n, position in enumerate(grid)],
    }


def rest(report):
    """Waves leave, and the water comes to rest; where waves along steps beat, over three times as many steps."""
    first = report.setting("first", 0)
    for seed in range(first, first + report.setting("rest", 140)):
        name, tables = basin(seed)
        with report.guarded("rest", f"{seed}, {name}"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = late(report, tables)
            if not row["passed"]:
                longer = {"duration": 3 * tables["time"]["duration"]}
                row = late(report, tables | {"time": longer})
            report.add("rest", {"case": f"{seed}, {name}"} | row)


def late(report, tables):
    """The largest velocity of the last quarter of a run."""
    data = craton.run(scenario_of(report, tables), progress=False).dataset
    velocity = np.abs(data.velocity.values)
    *_, third, last = (float(part.max()) for part in np.array_split(velocity, 4, axis=-1))
    over = last / float(velocity.max())
    passed = over < SETTLED or last < FALLING * third
    return {"steps": velocity.shape[-1], "late": over, "over the third quarter": last / third, "passed": passed}


PARTS = {"agree": agree, "rest": rest}
