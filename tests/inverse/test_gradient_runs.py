"""Gradients are those of `craton.run`: its data, its differences, for each law of a medium in each kind of waves."""

import numpy as np
import pytest
from inversecase import (
    BLAST,
    CENTRAL,
    DEEP,
    PML,
    ROCK,
    SIX,
    SPEEDS,
    WATER,
    central,
    elements,
    explosion,
    force,
    layers,
    place,
    scenario,
    station,
)

import craton
from craton.model.media.cells import stiffness

SAME = 1e-13
# stay, so that steps, layers and mechanisms do; far from all else
EXTREMES = [
    {"vp": 3300, "vs": 1900, "rho": 2500, "qp": 200, "qs": 100},
    {"vp": 1900, "vs": 900, "rho": 1700, "qp": 45, "qs": 20},
]
Q, BAND = {"qp": 60, "qs": 30}, {"attenuation": {"band": [5, 50]}}
VTI, VTI_OF_LENS = {"epsilon": 0.12, "delta": 0.05, "gamma": 0.08}, {"epsilon": 0.1, "delta": 0.03, "gamma": 0.05}
LAWS = {"": {}, "Q": Q, "VTI": VTI, "VTI Q": Q | VTI}
LENS = {"vp": 2650, "vs": 1450, "rho": 2150}
LENSES = {"": LENS, "Q": LENS | {"qp": 70, "qs": 35}, "VTI": LENS | VTI_OF_LENS}
LENSES["VTI Q"] = LENSES["Q"] | VTI_OF_LENS
GROUND = {"topography": {"x": [0, 100, 180, 270], "z": [-30, -42, -25, -41]}}
LAKE = {"water": {"level": -32, "vp": 1480, "rho": 1000}}
RATE = {"vp": 10, "rho": 12, "epsilon": 0.004, "qp": 0.5, "qs": 0.4}


def lens_of(law, change, key, scale):
    """Properties of the lens: scaled, one of them changed."""
    lens = {k: v * scale for k, v in LENSES[law].items()}
    return lens | {key: lens[key] + change * RATE[key]}


def model_of(law, lens, bodies, floor=None):
    """A solid with a lens of other properties and bodies that stay, under water down to a floor where there is one."""
    solid = ROCK | LAWS[law]
    of_floor = layers(WATER | (Q if "Q" in law else {}), solid | {"top": floor})
    extremes = [
        {k: v for k, v in one.items() if "Q" in law or k in ROCK} | where for one, where in zip(EXTREMES, bodies)
    ]
    table = {"kind": "homogeneous"} | solid if floor is None else of_floor
    return table | (BAND if "Q" in law else {}) | {"anomalies": [*extremes, lens]}


def box(x, z, y=(-1e4, 1e4)):
    """The shape of a body."""
    return {"shape": "box", "min": [x[0], y[0], z[0]], "max": [x[1], y[1], z[1]]}


def of_grid(law, dimensions=2, floor=None, ground=None, acoustic=False, **tables):
    """The function of a change of a property of the lens that gives the scenario of a grid."""
    across = (-1e4, 1e4) if dimensions == 2 else (65.0, 125.0)
    parts = ((25.0, 45.0), (-165.0, -145.0)), ((55.0, 75.0), (-165.0, -145.0)), ((95.0, 155.0), (-145.0, -95.0))
    *bodies, where = (box(x, z, across) for x, z in parts)  # between edges of cells
    y = (0.5,) * (dimensions - 2)
    blast, push = explosion(0.6, *y, 0.3), force(0.6, *y, 0.6, components=(1e9, 2e9, 3e9)[:dimensions])
    given = {
        "source": [blast] if acoustic else [blast, push],
        "receivers": [station("A", 0.3, *y, 0.3), station("B", 0.65, *y, 0.52)],
        "time": {"step": 0.0013},
        "output": {"waveforms": ["velocity", "pressure"]},
    }

    def changed(change=0.0, key="vp", scale=1.0):
        model = model_of(law, lens_of(law, change, key, scale) | where, bodies, floor) | (ground or {})
        for part in (model, *model["anomalies"]) if acoustic else ():
            part["vs"] = 0
        return scenario(dimensions, 50 if dimensions == 2 else 30, model=model, **given | tables)

    return changed


IN_TIME = {"step": 0.002}  # of elements, s


def of_mesh(law, floor=None, **tables):
    """The same of elements."""
    bodies, where = [box((81.0, 161.0), (-161.0, -81.0), (-1e4, 1e4))], box((0, 79), (-161, -81), (0, 141))

    def changed(change=0.0, key="vp", scale=1.0):
        model = model_of(law, lens_of(law, change, key, scale) | where, bodies, floor)
        return elements(model=model, time=IN_TIME, **tables)

    return changed


def of_constants(change=0.0, key="vp", scale=1.0):
    """The same of a layer whose stiffness is not transversely isotropic."""
    lens = lens_of("Q", change, key, scale)
    c11, c13, c33, c44, c66 = stiffness(*(lens[k] for k in SPEEDS), *VTI_OF_LENS.values())
    named = {"c11": c11, "c22": 1.1 * c11, "c33": c33, "c13": c13, "c23": c13, "c44": c44}
    named |= {"c12": c11 - 2 * c66, "c55": 0.9 * c44, "c66": c66}
    odd = {"rho": 2150, "stiffness": {name: float(value) for name, value in named.items()}, "top": -80}
    return elements(model=layers(ROCK | Q | {"top": 0}, odd | {"qp": 70, "qs": 35}, **BAND), time=IN_TIME)


def of_water(change=0.0, key="vp", scale=1.0):
    """The same of elements of water."""
    water = {"kind": "homogeneous", "vp": scale * 1500 + 10 * change, "vs": 0, "rho": 1000}
    return elements(model=water, source=[BLAST], waveforms=["pressure"], time=IN_TIME)


SH = {"source": [{"kind": "force", "at": place(2, 0.6, 0.5), "force": [0, 1e9, 0]}], "waves": "SH"}
VELOCITY, PRESSURE = ({"output": {"waveforms": [name]}} for name in ("velocity", "pressure"))
ON_GROUND = VELOCITY | {"receivers": [{"name": "B", "at": [170, -55]}]}
ALL = tuple(f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)) + ("rho",)
BY_Q = (("vp", "vs", "qp", "qs", "rho"), ("qp", "qs"))
BY_VP, BY_RHO = (SPEEDS, ("vp",)), (("vs", "rho"), ("rho",))
# what makes a scenario of a change; parameters; properties that change
CASES = {
    "elastic": (of_grid(""), *BY_VP),
    "Q": (of_grid("Q"), *BY_VP),
    "by Q": (of_grid("Q"), *BY_Q),
    "VTI": (of_grid("VTI"), SIX, ("epsilon",)),
    "VTI Q": (of_grid("VTI Q"), SIX, ("vp", "epsilon")),
    "VTI Q by constants": (of_grid("VTI Q", **VELOCITY), ("c11", "c13", "c33", "c44", "c66", "rho"), ("vp",)),
    "SH": (of_grid("", **SH | VELOCITY), *BY_RHO),
    "SH, VTI Q": (of_grid("VTI Q", **SH | VELOCITY), SIX, ("rho",)),
    "ground, Q": (of_grid("Q", ground=GROUND, **ON_GROUND), *BY_VP),
    "ground, VTI": (of_grid("VTI", ground=GROUND, **ON_GROUND), SIX, ("vp",)),
    "ground with a lake, VTI Q": (of_grid("VTI Q", ground=GROUND | LAKE, **ON_GROUND), SIX, ("vp",)),
    "sea floor": (of_grid("", floor=-55), *BY_VP),
    "sea floor, Q": (of_grid("Q", floor=-55), *BY_VP),
    "sea floor, VTI Q": (of_grid("VTI Q", floor=-55), SIX, ("vp",)),
    "acoustic": (of_grid("", acoustic=True, waves="acoustic", **PRESSURE), ("vp", "rho"), ("vp",)),
    "space": (of_grid("", dimensions=3), *BY_VP),
    "space, VTI Q": (of_grid("VTI Q", dimensions=3), SIX, ("vp",)),
    "elements": (of_mesh(""), *BY_VP),
    "elements, Q": (of_mesh("Q"), *BY_VP),
    "elements, by Q": (of_mesh("Q"), *BY_Q),
    "elements, VTI": (of_mesh("VTI"), ALL, ("vp",)),
    "elements, VTI Q": (of_mesh("VTI Q", boundaries=PML), ALL, ("vp",)),
    "elements, 21 constants Q": (of_constants, ALL, ("vp",)),
    "elements, sea over VTI Q": (of_mesh("VTI Q", floor=-80, receivers=[DEEP]), ALL, ("vp",)),
    "elements, acoustic": (of_water, ("vp", "rho"), ("vp",)),
    # at a flat sea floor, taken back from what is kept beside absorbing layers
    "taken back, sea floor": (of_grid("", floor=-55), *BY_VP),
    "taken back, sea floor, SH": (of_grid("", floor=-55, **SH | VELOCITY), *BY_RHO),
    "taken back, sea floor in space": (of_grid("", floor=-55, dimensions=3), *BY_VP),
}
QUICK = ("sea floor",)


def run(made):
    """Data of a run, one vector, and as a Dataset."""
    data = craton.run(made, progress=False).dataset
    return np.concatenate([np.nan_to_num(v.values).ravel() for v in data.data_vars.values()]), data


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in CASES])
def test_the_gradient_is_that_of_runs(name):
    made, parameters, keys = CASES[name]
    seen, data = run(made())
    wanted, observed = run(made(scale=1.02))
    storage = "boundaries" if "taken back" in name else "auto"
    problem = craton.Problem(made(), observed, parameters=parameters, storage=storage)
    out = problem.data(problem.m0)
    here = np.concatenate([np.nan_to_num(out[v].values).ravel() for v in data.data_vars])
    assert np.linalg.norm(here - seen) < SAME * np.linalg.norm(seen)
    slope, step = problem.jac(problem.m0), float(data.time[1] - data.time[0])
    for key in keys:

        def model(change, key=key):
            return craton.Problem(made(change, key), parameters=parameters).m0

        def misfit(change, key=key):
            return 0.5 * step * ((run(made(change, key))[0] - wanted) ** 2).sum()

        along, expected = slope @ central(model, 0.125), central(misfit, 0.125)
        assert abs(along - expected) < CENTRAL * abs(expected), (key, along / expected - 1)
