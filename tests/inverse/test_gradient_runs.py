"""Gradients are those of `craton.run`: its data, its differences, for each law of a medium in each kind of waves."""

import numpy as np
import pytest
from inversecase import RICKER, place, scenario
from test_sem_gradients import LAYERS
from test_sem_gradients import scenario as of_elements

import craton

SAME, CENTRAL = 1e-13, 1e-8
ROCK = {"vp": 2500, "vs": 1400, "rho": 2200}
LENS = {"vp": 2650, "vs": 1450, "rho": 2150}
# stay, so that steps, layers and mechanisms do; far from all else
EXTREMES = [
    {"vp": 3300, "vs": 1900, "rho": 2500, "qp": 200, "qs": 100},
    {"vp": 1900, "vs": 900, "rho": 1700, "qp": 45, "qs": 20},
]
Q, OF_LENS = {"qp": 60, "qs": 30}, {"qp": 70, "qs": 35}
THOMSEN, OF_ODD_LENS = ({"epsilon": 0.12, "delta": 0.05, "gamma": 0.08}, {"epsilon": 0.1, "delta": 0.03, "gamma": 0.05})
BAND = {"attenuation": {"band": [5, 50]}}
SEA = {"top": 0, "vp": 1500, "vs": 0, "rho": 1000}
GROUND = {"topography": {"x": [0, 100, 180, 270], "z": [-30, -42, -25, -41]}}
LAKE = {"water": {"level": -32, "vp": 1480, "rho": 1000}}
LAWS = {"": {}, "Q": Q, "VTI": THOMSEN, "VTI Q": Q | THOMSEN}
IN_LENS = {"": {}, "Q": OF_LENS, "VTI": OF_ODD_LENS, "VTI Q": OF_LENS | OF_ODD_LENS}
STEP = {"step": 0.002}  # of elements, s
RATE = {"vp": 10, "rho": 12, "epsilon": 0.004, "qp": 0.5, "qs": 0.4}
SPEEDS, SIX = ("vp", "vs", "rho"), ("vp", "vs", *THOMSEN, "rho")


def model_of(law, lens, bodies, above=None, more=None):
    """A solid with a lens of other properties and bodies that stay, under water where it is `above`."""
    solid = ROCK | LAWS[law]
    table = {"kind": "homogeneous", **solid}
    if above:
        below = solid | {"top": above["bottom"]}
        top = {k: v for k, v in above.items() if k != "bottom"}
        table = {"kind": "layers", "layers": [top | (Q if "Q" in law else {}), below]}
    table |= BAND if "Q" in law else {}
    extremes = [
        {k: v for k, v in EXTREMES[n].items() if "Q" in law or k in ROCK} | where for n, where in enumerate(bodies)
    ]
    return table | (more or {}) | {"anomalies": [*extremes, {"shape": "box"} | lens]}


def boxes(dimensions, *parts):
    """Boxes between edges of cells, m along x and z."""
    y = [[-1e4, 1e4]] if dimensions == 2 else [[65.0, 125.0]]
    return [{"shape": "box", **dict(zip(("min", "max"), map(list, zip(x, *y, z))))} for x, z in parts]


def of_grid(law, dimensions=2, above=None, more=None, acoustic=False, depth=0.6, **tables):
    """The function of a change of a property of the lens that gives the scenario of a grid."""
    *bodies, where = boxes(
        dimensions, ([25.0, 45.0], [-165.0, -145.0]), ([55.0, 75.0], [-165.0, -145.0]), ([95.0, 155.0], [-145.0, -95.0])
    )

    def changed(change=0.0, key="vp", scale=1.0):
        lens = {k: v * scale for k, v in (LENS | IN_LENS[law]).items()} | where
        lens[key] += change * RATE[key]
        model = model_of(law, lens, bodies, above, more)
        if acoustic:
            model["vs"] = 0
            for body in model["anomalies"]:
                body["vs"] = 0
        y = (0.5,) * (dimensions - 2)
        explosion = {"kind": "explosion", "at": place(dimensions, 0.6, *y, 0.3), "moment": 1e12}
        force = {"kind": "force", "at": place(dimensions, 0.6, *y, depth)}
        force["force"] = [1e9, 2e9, 3e9][:dimensions]
        stations = [place(dimensions, 0.3, *y, 0.3), place(dimensions, 0.65, *y, 0.52)]
        given = {
            "source": [explosion] if acoustic else [explosion, force],
            "receivers": [{"name": n, "at": at} for n, at in zip("AB", stations)],
            "time": {"step": 0.0013},
        }
        return scenario(dimensions, 50 if dimensions == 2 else 30, model=model, **given | tables)

    return changed


def of_mesh(law, above=None, stiffness=False, **tables):
    """The same of elements."""
    where = {"min": [0, 0, -161], "max": [79, 141, -81]}

    def changed(change=0.0, key="vp", scale=1.0):
        lens = {k: v * scale for k, v in (LENS | IN_LENS[law]).items()} | where
        lens[key] += change * RATE[key]
        bodies = boxes(3, ([81.0, 161.0], [-161.0, -81.0]))
        model = model_of(law, lens, bodies, above)
        if stiffness:  # of a layer, nothing else
            layers = [ROCK | Q | {"top": 0}, {"rho": 2150, "stiffness": constants(lens)} | OF_LENS]
            layers[1]["top"] = -80
            model = {"kind": "layers", "layers": layers} | BAND
        return of_elements(model=model, time=STEP, **tables)

    return changed


def constants(lens):
    """A stiffness that is not transversely isotropic."""
    from craton.model.media.cells import stiffness

    c11, c13, c33, c44, c66 = stiffness(*(lens[k] for k in SPEEDS), *(OF_ODD_LENS[k] for k in THOMSEN))
    named = {"c11": c11, "c22": 1.1 * c11, "c33": c33, "c13": c13, "c23": c13, "c44": c44}
    named |= {"c12": c11 - 2 * c66, "c55": 0.9 * c44, "c66": c66}
    return {name: float(value) for name, value in named.items()}


BOTH = {"output": {"waveforms": ["velocity", "pressure"]}}
SH = {"source": [{"kind": "force", "at": place(2, 0.6, 0.5), "force": [0, 1e9, 0]}], "waves": "SH"}
ALONG_GROUND = {"more": GROUND, "receivers": [{"name": "B", "at": [170, -55]}]}
FLOOR = SEA | {"bottom": -55}
DEEP = SEA | {"bottom": -80}
STATION = [{"name": "B", "at": [121, 92, -100]}]
ALL = tuple(f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)) + ("rho",)
# what makes a scenario of a change; parameters; properties that change
CASES = {
    "elastic": (of_grid("", **BOTH), SPEEDS, ("vp",)),
    "Q": (of_grid("Q", **BOTH), SPEEDS, ("vp",)),
    "by Q": (of_grid("Q", **BOTH), ("vp", "vs", "qp", "qs", "rho"), ("qp", "qs")),
    "VTI": (of_grid("VTI", **BOTH), SIX, ("epsilon",)),
    "VTI Q": (of_grid("VTI Q", **BOTH), SIX, ("vp", "epsilon")),
    "VTI Q by constants": (of_grid("VTI Q"), ("c11", "c13", "c33", "c44", "c66", "rho"), ("vp",)),
    "SH": (of_grid("", **SH), ("vs", "rho"), ("rho",)),
    "SH, VTI Q": (of_grid("VTI Q", **SH), SIX, ("rho",)),
    "ground, Q": (of_grid("Q", **ALONG_GROUND), SPEEDS, ("vp",)),
    "ground, VTI": (of_grid("VTI", **ALONG_GROUND), SIX, ("vp",)),
    "ground with a lake, VTI Q": (of_grid("VTI Q", **ALONG_GROUND | {"more": GROUND | LAKE}), SIX, ("vp",)),
    "sea floor": (of_grid("", above=FLOOR, **BOTH), SPEEDS, ("vp",)),
    "sea floor, Q": (of_grid("Q", above=FLOOR, **BOTH), SPEEDS, ("vp",)),
    "sea floor, VTI Q": (of_grid("VTI Q", above=FLOOR, **BOTH), SIX, ("vp",)),
    "acoustic": (
        of_grid("", acoustic=True, waves="acoustic", output={"waveforms": ["pressure"]}),
        ("vp", "rho"),
        ("vp",),
    ),
    "space": (of_grid("", dimensions=3, **BOTH), SPEEDS, ("vp",)),
    "space, VTI Q": (of_grid("VTI Q", dimensions=3, **BOTH), SIX, ("vp",)),
    "elements": (of_mesh(""), SPEEDS, ("vp",)),
    "elements, Q": (of_mesh("Q"), SPEEDS, ("vp",)),
    "elements, by Q": (of_mesh("Q"), ("vp", "vs", "qp", "qs", "rho"), ("qp", "qs")),
    "elements, VTI": (of_mesh("VTI"), ALL, ("vp",)),
    "elements, VTI Q": (of_mesh("VTI Q", boundaries=LAYERS), ALL, ("vp",)),
    "elements, 21 constants Q": (of_mesh("Q", stiffness=True), ALL, ("vp",)),
    "elements, sea over VTI Q": (of_mesh("VTI Q", above=DEEP, receivers=STATION), ALL, ("vp",)),
    "elements, acoustic": (
        lambda change=0.0, key="vp", scale=1.0: of_elements(
            model={"kind": "homogeneous", "vp": scale * 1500 + 10 * change, "vs": 0, "rho": 1000},
            source=[{"kind": "explosion", "at": [61, 52, -30], "moment": 1e12, "wavelet": RICKER}],
            waveforms=["pressure"],
            time=STEP,
        ),
        ("vp", "rho"),
        ("vp",),
    ),
}


def run(made):
    """Data of a run, one vector, and as a Dataset."""
    data = craton.run(made, progress=False).dataset
    return np.concatenate([np.nan_to_num(v.values).ravel() for v in data.data_vars.values()]), data


def fourth_order(function, key):
    """Derivative of a function of a change at 0 by central differences."""
    near, far = (function(h, key) - function(-h, key) for h in (0.125, 0.25))
    return (8 * near - far) / (12 * 0.125)


# at a flat sea floor, taken back from what is kept beside absorbing layers
MARINE = {
    "sea floor": CASES["sea floor"],
    "sea floor, SH": (of_grid("", above=FLOOR, **SH), ("vs", "rho"), ("rho",)),
    "sea floor in space": (of_grid("", above=FLOOR, dimensions=3, **BOTH), SPEEDS, ("vp",)),
}
ASKED = [(name, *case, "auto") for name, case in CASES.items()]
ASKED += [(f"{name}, taken back", *case, "boundaries") for name, case in MARINE.items()]


@pytest.mark.parametrize("made, parameters, keys, storage", [row[1:] for row in ASKED], ids=[row[0] for row in ASKED])
def test_the_gradient_is_that_of_runs(made, parameters, keys, storage):
    seen, data = run(made())
    wanted, observed = run(made(scale=1.02))
    problem = craton.Problem(made(), observed, parameters=parameters, storage=storage)
    out = problem.data(problem.m0)
    here = np.concatenate([np.nan_to_num(out[v].values).ravel() for v in data.data_vars])
    assert np.linalg.norm(here - seen) < SAME * np.linalg.norm(seen)
    slope, step = problem.jac(problem.m0), float(data.time[1] - data.time[0])

    def misfit(change, key):
        return 0.5 * step * ((run(made(change, key))[0] - wanted) ** 2).sum()

    def model(change, key):
        return craton.Problem(made(change, key), parameters=parameters).m0

    for key in keys:
        along = slope @ fourth_order(model, key)
        expected = fourth_order(misfit, key)
        assert abs(along - expected) < CENTRAL * abs(expected), (key, along / expected - 1)
