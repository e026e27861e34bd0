"""Cases of `craton bench fd` and `craton bench nakata`: cubes, two layers, Lamb's half-space."""

import tomllib
from pathlib import Path

from craton.methods.finite_difference.build import GridDomain
from craton.methods.finite_difference.options import FiniteDifferenceScenario
from craton.methods.protocol import BenchCase
from craton.methods.waves.problem import build

SIZES, LARGE = {"cpu": (150, 220)}, (384, 512, 768)  # points along an edge of a cube
PLANES, CUBES, SHOTS = (480, 960, 1440, 1920), (96, 144, 192, 288, 384), (1, 64)


def tables(name):
    """Return a table of bench.toml."""
    return tomllib.loads(Path(__file__).with_name("bench.toml").read_text("utf-8"))[name]


def cases(name, device):
    """Return the cases of a benchmark for a machine of that name."""
    if name == "nakata":
        return [case_of(scenario, thousand_steps) for scenario in nakata(device)]
    sizes = SIZES.get(device, LARGE)
    faces = (("rigid", "rigid"), ("cpml", "cpml"), ("free", "cpml"))
    scenarios = [cube(n, *pair) for n in sizes for pair in faces]
    scenarios += [cube(sizes[1], order=order) for order in (2, 6, 8)]
    scenarios += [cube(sizes[0], precision="float64")]
    large = []
    if device not in SIZES:
        layers = cube(sizes[1], "free", "cpml", order=8)
        large = [FiniteDifferenceScenario(**tables("two_layers")), layers]
    return [case_of(scenario) for scenario in large + scenarios]


def case_of(scenario, *figures):
    """Return the case of a scenario."""
    return BenchCase(scenario, lambda machine: build(GridDomain(scenario)), *figures)


def thousand_steps(plan, seconds):
    """Return what Nakata et al. (2011) give: seconds of 1000 steps."""
    return {"seconds_of_1000_steps": 1000 * seconds}


def cube(n, top="rigid", others="rigid", order=4, precision="float32", medium=None, **model):
    """Return a cube of n^3 points and two layers, with a source and a receiver in its middle.

    Parameters
    ----------
    n : int
    top, others : str
        Boundaries.
    order : int
    precision : str
    medium : dict, optional
        Further properties of both layers.
    **model
        Further keys of the model, such as ``attenuation``.
    """
    extent, case = 10.0 * (n - 1), tables("cube")
    middle = [extent / 2, extent / 2, -extent / 2]
    layers = [layer | (medium or {}) for layer in case["model"]["layers"]]
    layers[1]["top"] = middle[2]
    free = ", free top" if top == "free" else ""
    changes = {
        "title": f"{n}^3 {others}{free}, order {order}, {precision}",
        "domain": {"origin": [0, 0, -extent], "size": [extent] * 3, "spacing": 10},
        "model": case["model"] | {"layers": layers} | model,
        "boundaries": {"top": top, "others": others},
        "source": [case["source"][0] | {"at": middle}],
        "receivers": [case["receivers"][0] | {"at": middle}],
        "run": {"order": order, "precision": precision},
    }
    return FiniteDifferenceScenario(**case | changes)


def nakata(device):
    """Planes with one shot, and with a batch but on the CPU, and cubes that take a minute at most."""
    few = device == "cpu"
    planes = [half_space(2, n, count) for n in PLANES for count in SHOTS[: 1 if few else None]]
    return planes + [half_space(3, n) for n in CUBES[: 3 if few else None]]


def half_space(dimensions, n, shots=1, others="sponge"):
    """Return a vertical force on the free surface of a half-space of n points along each axis."""
    extent, case = 10.0 * (n - 1), tables("nakata")
    middle = [extent / 2] * (dimensions - 1)
    force = [0, -1e6] if dimensions == 2 else [0, 0, -1e9]
    line = {"from": [0.3 * extent, 0.0], "to": [0.7 * extent, 0.0], "count": shots}
    place = {"shots": line} if shots > 1 else {"at": [*middle, 0.0]}
    parts = [f"{dimensions}-D {n}^{dimensions}", f"{shots} shots" * (shots > 1), others]
    domain = {"origin": [0.0] * (dimensions - 1) + [-extent], "size": [extent] * dimensions}
    changes = {
        "title": ", ".join(part for part in parts if part not in ("", "sponge")),
        "domain": domain | {"spacing": 10},
        "boundaries": {"top": "free", "others": others},
        "source": [case["source"][0] | place | {"force": force}],
        "receivers": [{"name": "R", "at": [*middle[:-1], 0.6 * extent, 0.0]}],
    }
    return FiniteDifferenceScenario(**case | changes)
