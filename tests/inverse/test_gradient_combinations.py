"""Transposes of random combinations: medium, faces, dimension, sources and receivers, by dot products.

`COMBINATIONS=500 pytest tests/inverse/test_gradient_combinations.py` draws so many, others each time.
"""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from inversecase import (
    BAND,
    EXACT,
    GROUND,
    LAKE,
    LOSSES,
    ROCK,
    SEA,
    SOIL,
    SOLID,
    SPEEDS,
    THOMSEN,
    WATER,
    WITH_Q,
    Case,
    explosion,
    force,
    layers,
    place,
    scenario,
    station,
)

from craton.errors import ScenarioError

COUNT = int(os.environ.get("COMBINATIONS", 0))
ORDERS = (2, 4) if COUNT else (4,)  # in the suite texts that other tests have compiled
DRAWN = 14  # in the suite, the same ones each time

PAIRED = {"attenuation": {"band": [5, 50], "storage": "paired"}}
HILLS = {2: GROUND["topography"]}
HILLS[3] = {"x": [0, 100, 210], "y": [0, 190], "z": [[-30, -42, -25], [-31, -51, -30]]}
# properties of the solid; of the model
LAWS = {
    "elastic": ({}, {}),
    "attenuation": (LOSSES, BAND),
    "pairs of mechanisms": (LOSSES, PAIRED),
    "anisotropy": (THOMSEN, {}),
    "anisotropy with attenuation": (LOSSES | THOMSEN, BAND),
}
# what is above the solid, down to where: half-way between points; within cells, which have Backus averages there
TOP_LAYERS = {"water": (WATER, -85), "soil": (SOIL | {"vp": 1700, "vs": 900}, -90)}
HILLY = ("topography", "lake")
SIDES, TOPS = ("cpml", "sponge", "rigid", "periodic"), ("free", "cpml", "sponge", "rigid")
SOURCES = ("force", "force on top", "explosion", "explosion on top", "tensor", "double couple")
RECEIVERS = ("inside", "on top", "fibre")
MOTION = ("velocity", "displacement", "acceleration")
QUANTITIES = (*MOTION, "pressure", "strain_rate", "rotation_rate")
WAVES = 3 * ("P-SV",) + ("SH", "elastic", "acoustic", "acoustic in space")

# what is refused, by words of the message; docs/gradients.md has them, or the forward run has
REFUSED = (
    "a force on points of a CPML layer, or next to one",
    "a moment with shear on points of a fluid, or next to one",
)


def medium(law, above, dimensions, waves):
    """The table of a model."""
    if "acoustic" in waves:
        return SEA
    of_solid, of_all = LAWS[law]
    if above in TOP_LAYERS:
        top, depth = TOP_LAYERS[above]
        return layers(top | (LOSSES if "qp" in of_solid else {}), ROCK | of_solid | {"top": depth}, **of_all)
    ground = {"topography": HILLS[dimensions]} if above in HILLY else {}
    return SOLID | of_solid | of_all | ground | (LAKE if above == "lake" else {})


def source(kind, waves, at):
    """The table of a source."""
    across = len(at) == 3 or waves == "SH"
    if kind.startswith("force"):
        return force(*at, components=[1e9, 3e9, 2e9] if across else [1e9, 2e9])
    if kind.startswith("explosion"):
        return explosion(*at)
    moment = {"kind": "moment_tensor", "at": place(len(at), *at)}
    if kind == "double couple":
        return moment | {"strike": 30, "dip": 70, "rake": 20, "moment": 1e12}
    return moment | {"tensor": {"xx": 1e12, "zz": -3e12, "xz": 2e12} | ({"xy": 1e12, "yz": 4e12} if across else {})}


def receiver(kind, low, y):
    """The table of a receiver; matter is everywhere from a part `low` of the depth on."""
    if kind == "fibre":
        line = [place(2 + len(y), x, *y, low + z) for x, z in ((0.25, 0.1), (0.75, 0.02))]
        return {"name": "F", "das": {"along": line, "spacing": 20, "gauge": 40}}
    return station(kind, 0.52, *y, low if kind == "on top" else 0.45)


def combination(rng):
    """What a scenario is made of, by name; the same for a generator of the same state."""
    waves = rng.choice(WAVES)
    acoustic = "acoustic" in waves
    law = "elastic" if acoustic else rng.choice(list(LAWS))
    above = "flat" if acoustic else rng.choice(("flat", *TOP_LAYERS, *HILLY))
    sources = [name for name in SOURCES if not acoustic or name == "explosion"]
    if above == "water":  # nothing moves then
        sources.remove("explosion on top")
    if waves == "SH":  # none in the water
        sources = ["force", "tensor"] + ["force on top"] * (above != "water")
    quantities = [n for n in QUANTITIES if waves != "SH" or n != "pressure"]
    quantities = [n for n in quantities if not acoustic or n in (*MOTION, "pressure")]
    return {
        "waves": waves,
        "law": law,
        "above": above,
        "top": "free" if above in HILLY else rng.choice(TOPS),
        "sides": rng.choice(SIDES),
        "source": rng.choice(sources),
        "depth": rng.choice((0.3, 0.38)),
        "receivers": rng.sample(RECEIVERS[:2] if waves == "SH" else RECEIVERS, rng.choice((1, 2))),
        "quantities": rng.sample(quantities, min(len(quantities), rng.choice((1, 2)))),
        "order": rng.choice(ORDERS),
        "by": rng.choice(("speeds", "moduli", "Q")),
        "every": rng.choice((1, 3)),
    }


def parameters(c):
    """Names of what is inverted for."""
    if "anisotropy" in c["law"]:
        return ("c11", "c13", "c33", "c44", "c66", "rho") if c["by"] == "moduli" else ("vp", "vs", *THOMSEN, "rho")
    if c["by"] == "Q" and LAWS[c["law"]][1]:
        return WITH_Q
    return ("kappa", "mu", "rho") if c["by"] == "moduli" else SPEEDS


def scenario_of(c):
    """The scenario of a combination, of few steps."""
    waves, dimensions = c["waves"], 3 if c["waves"] in ("elastic", "acoustic in space") else 2
    sides = {"others": c["sides"], "top": c["top"]} | ({"bottom": "cpml"} if c["sides"] == "periodic" else {})
    y, low = (0.52,) * (dimensions - 2), 0.28 if c["above"] in HILLY else 0.0
    at = (0.43, *(0.46 for _ in y), low if "top" in c["source"] else c["depth"])
    return scenario(
        dimensions,
        60 if dimensions == 2 else 40,
        model=medium(c["law"], c["above"], dimensions, waves),
        source=[source(c["source"], waves, at)],
        receivers=[receiver(kind, low, y) for kind in c["receivers"]],
        boundaries=sides | {"cpml": {"thickness": 4}, "sponge": {"thickness": 4, "strength": 0.1}},
        output={"waveforms": c["quantities"]},
        run={"order": c["order"]},
        **{} if waves in ("elastic", "P-SV") else {"waves": waves.split()[0]},
    )


def refusal(make):
    """Return what a function returns, and the words by which it is refused, or ""."""
    try:
        return make(), ""
    except ScenarioError as error:
        words = [known for known in REFUSED if known in str(error)]
        assert words, str(error)
        event(words[0])
        return None, words[0]


def mismatches(c):
    """Both dot products of a combination; none of what is refused, or where nothing moves."""
    case, refused = refusal(lambda: Case(scenario_of(c), parameters(c), every=c["every"]))
    if refused or not case.problem.data(case.m).to_array().any():
        return []
    return [value for value, words in map(refusal, (case.of_medium, case.of_sources)) if not words]


# uniform, unlike the choices of Hypothesis itself, which would draw some kinds hardly ever
COMBINATIONS = st.integers(0, 2**63 - 1).map(lambda seed: combination(Random(seed)))
REPEATED = {"derandomize": not COUNT, "deadline": None, "database": None}


@pytest.mark.long
@settings(max_examples=COUNT or DRAWN, suppress_health_check=list(HealthCheck), **REPEATED)
@given(COMBINATIONS)
def test_transposes_of_combinations(c):
    assert all(value < EXACT for value in mismatches(c))
