"""Transposes of random combinations of spectral elements: medium, faces, sources and receivers, by dot products.

`COMBINATIONS=200 pytest tests/elements/test_sem_combinations.py` draws so many, others each time.
"""

import os
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inversecase import RICKER, Case
from test_sem_gradients import ROCK, WATER, scenario

EXACT = 1e-13
COUNT = int(os.environ.get("COMBINATIONS", 0))
DRAWN = 5  # in the suite, the same ones each time

LOSSES, BAND = {"qp": 80, "qs": 40}, {"attenuation": {"band": [1, 20]}}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
LAWS = {"elastic": {}, "attenuation": LOSSES, "constants": THOMSEN, "constants with attenuation": THOMSEN | LOSSES}
MEDIA = ("rock", "rock", "sea", "water")
TOPS, SIDES = ("free", "stacey", "rigid"), ("stacey", "rigid", "free", "pml")
QUANTITIES = ("velocity", "displacement", "acceleration", "strain_rate", "rotation_rate")
SHALLOW, DEEP = [61, 52, -30], [91, 82, -110]
CONSTANTS = ("c11", "c13", "c33", "c44", "c66", "rho")


def model(medium, law):
    """The table of a model."""
    if medium == "water":
        return {"kind": "homogeneous"} | WATER
    rock = ROCK | LAWS[law]
    rock.pop("kind")
    lossy = "qp" in rock
    if medium == "rock":
        return {"kind": "homogeneous"} | rock | (BAND if lossy else {})
    sea = {"top": 0} | WATER | (LOSSES if lossy else {})
    return {"kind": "layers", "layers": [sea, {"top": -80} | rock]} | (BAND if lossy else {})


def source(rng, at, fluid):
    """The table of a source at a place in a fluid or a solid."""
    kinds = {
        "explosion": {"kind": "explosion", "moment": 1e12},
        "force": {"kind": "force", "force": [1e9, 2e9, 3e9]},
        "tensor": {"kind": "moment_tensor", "tensor": {"xx": 1e12, "zz": -3e12, "xz": 2e12}},
        "double couple": {"kind": "moment_tensor", "strike": 30, "dip": 70, "rake": 20, "moment": 1e12},
    }
    kind = "explosion" if fluid else rng.choice(list(kinds))
    return kinds[kind] | {"at": at, "wavelet": RICKER}


def receivers(rng, medium):
    """Tables of receivers, all in one medium, and what they record."""
    wet = medium == "water" or (medium == "sea" and rng.random() < 0.5)
    if wet:
        return [{"name": "W", "at": [51, 72, -30]}], ["pressure"]
    low = -100 if medium == "sea" else rng.choice((-30, -100))
    fibre = {"along": [[30, 60, low], [120, 80, low - 10]], "spacing": 20, "gauge": 40}
    chosen = rng.choice(({"name": "F", "das": fibre}, {"name": "A", "at": [51, 72, low]}))
    return [chosen], rng.sample(QUANTITIES, rng.choice((1, 2)))


def combination(rng):
    """What a scenario is made of, parameters, and options of its gradient."""
    medium, law, side = rng.choice(MEDIA), rng.choice(list(LAWS)), rng.choice(SIDES)
    places = [(SHALLOW, medium != "rock"), (DEEP, medium == "water")]
    listed, waveforms = receivers(rng, medium)
    sides = {"west": "pml", "pml": {"thickness": 1, "friction": 0.3}}
    tables = {
        "model": model(medium, law),
        "boundaries": {"top": rng.choice(TOPS)} | (sides if side == "pml" else {"others": side, "east": "stacey"}),
        "source": [source(rng, at, fluid) for at, fluid in rng.sample(places, rng.choice((1, 2)))],
        "receivers": listed,
        "waveforms": waveforms,
    }
    by = [("vp", "vs", "rho"), ("kappa", "mu", "rho")]
    if medium != "water" and "attenuation" in law:
        by.append(("vp", "vs", "inverse_qp", "inverse_qs", "rho"))
    if medium != "water" and "constants" in law:
        by = [CONSTANTS]
    return tables, rng.choice(by), {"storage": rng.choice(("auto", "checkpoints"))}


# uniform, see test_gradient_combinations.py
COMBINATIONS = st.integers(0, 2**63 - 1).map(lambda seed: combination(Random(seed)))


@settings(
    max_examples=COUNT or DRAWN,
    derandomize=not COUNT,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(COMBINATIONS)
def test_transposes_of_combinations(c):
    tables, parameters, options = c
    case = Case(scenario(**tables), parameters, **options)
    assert case.problem.data(case.m).to_array().any()
    assert case.of_medium() < EXACT
    assert case.of_sources() < EXACT
