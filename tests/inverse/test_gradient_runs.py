"""Data and misfit of a problem are those of `craton.run`, for the scenario's model and another one: as gradients are those of the
problem's misfit (test_gradients.py), they are those of runs.
"""

import inversecase as small
import pytest
from common import misfit, tiers
from inversecase import BAND, CASES, CENTRAL, LOSSES, PARAMETERS, ROCK, SPEEDS, THOMSEN, elements, layers, scenario

import craton

SAME = 1e-13
ALL = tuple(f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)) + ("rho",)
# lowest and highest corner of bodies, between edges of cells and of elements
IN_SPACE = [((25, 65, -165), (45, 125, -145)), ((55, 65, -165), (75, 125, -145)), ((95, 65, -165), (155, 125, -125))]
IN_PLANE = [((x, -1e3, low), (end, 1e3, top)) for (x, _, low), (end, _, top) in IN_SPACE]
IN_ELEMENTS = [((81, -1, -161), (161, 69, -81)), ((81, 71, -161), (161, 141, -81)), ((-1, -1, -161), (79, 141, -81))]
STAY = (0.8, 1.2)  # so that steps, absorbing layers and mechanisms do
ORTHORHOMBIC = {"c11": 14e9, "c22": 15e9, "c33": 13e9, "c12": 5e9, "c13": 4.6e9, "c23": 4.5e9}
ORTHORHOMBIC |= {"c44": 4e9, "c55": 3.6e9, "c66": 4.4e9}  # Pa
ODD = layers(ROCK | LOSSES | {"top": 0}, {"rho": 2150, "stiffness": ORTHORHOMBIC, "top": -80} | LOSSES, **BAND)
SHALE = layers(small.WATER | LOSSES, ROCK | LOSSES | THOMSEN | {"top": -85}, **BAND)
# case: what makes its scenario, tables, what is inverted for: one of each medium in each kind of waves
MEDIA = {
    name: (make, tables, ALL if "21" in name else PARAMETERS.get(name, SPEEDS))
    for name, (make, tables, _) in CASES.items()
    if {"model", "waves", "dimensions"} & {*tables} and not {"across", "along"} & {*name.split()}
}
MEDIA |= {
    "sea floor, anisotropy with attenuation": (scenario, CASES["sea floor"][1] | {"model": SHALE}, small.SIX),
    "9 of 21 constants that relax": (elements, {"model": ODD}, ALL),
    "plain elements": (elements, {}, SPEEDS),
    "relaxing elements": (*CASES["relaxing elements"][:2], small.WITH_Q),
}
QUICK = ("sea floor", "cut cells", "plain elements", "a sea over 21 constants that relax")


def with_bodies(name, share):
    """The scenario of a case with bodies, of which the last has a share of the solid's properties that are inverted for."""
    make, tables, parameters = MEDIA[name]
    model = tables.get("model", small.SOLID)
    *above, solid = model.get("layers", [model])
    if "stiffness" in solid:  # allows no bodies
        stiffness = {key: share * value for key, value in solid["stiffness"].items()}
        model = model | {"layers": [*above, solid | {"stiffness": stiffness}]}
    else:
        of_solid = {key: solid[key] for key in (*ROCK, *THOMSEN, "qp", "qs") if key in solid}
        fixed = set() if "inverse_qs" in parameters else {"qp", "qs"}
        # absorbing layers of elements keep their density, and Q of constants
        fixed |= {*of_solid} - {"vp"} if parameters is ALL or "boundaries" in tables else set()
        model = model | {"anomalies": []}
        space = IN_SPACE if tables.get("dimensions") == 3 else IN_PLANE
        for (low, high), part in zip(space if make is scenario else IN_ELEMENTS, (*STAY, share)):
            values = {key: v * (1 if key in fixed and part == share else part) for key, v in of_solid.items()}
            model["anomalies"].append({"shape": "box", "min": low, "max": high} | values)
    return make(**tables | {"model": model, "time": {"step": 0.0013 if make is scenario else 0.002}})


@pytest.mark.parametrize("name", tiers(MEDIA, *QUICK))
def test_data_and_misfit_are_those_of_runs(name):
    start, changed = (with_bodies(name, share) for share in (1.05, 1.08))
    runs = [craton.run(here, progress=False).dataset.fillna(0.0) for here in (start, changed)]
    problem, other = (craton.Problem(here, runs[1], parameters=MEDIA[name][2]) for here in (start, changed))
    data = [problem.data(m).fillna(0.0) for m in (problem.m0, other.m0)]
    for quantity in runs[0].data_vars:
        (first, second), (run, of_changed) = ([d[quantity].values for d in pair] for pair in (data, runs))
        assert misfit(first, run) < SAME and misfit(second, of_changed) < SAME, quantity
        assert misfit(second - first, of_changed - run) < CENTRAL, quantity
    squares = sum(float(((runs[1] - runs[0])[quantity] ** 2).sum()) for quantity in runs[0].data_vars)
    interval = float(runs[0].time[1] - runs[0].time[0])
    assert problem.fun(problem.m0) == pytest.approx(0.5 * interval * squares, rel=1e-9) and squares > 0
