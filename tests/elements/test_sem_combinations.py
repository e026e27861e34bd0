"""Transposes of random combinations of spectral elements: medium, faces, sources and receivers, by dot products.

`COMBINATIONS=200 pytest tests/elements/test_sem_combinations.py` draws so many.
"""

import os
from random import Random

import pytest
from inversecase import RICKER, Case

from craton.scenario import Scenario

EXACT = 1e-13

ROCK, WATER = {"vp": 2500, "vs": 1400, "rho": 2200}, {"vp": 1500, "vs": 0, "rho": 1000}
LOSSES, THOMSEN = {"qp": 80, "qs": 40}, {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
LAWS = {"elastic": {}, "attenuation": LOSSES, "constants": THOMSEN, "constants with attenuation": THOMSEN | LOSSES}
QUANTITIES = ("velocity", "displacement", "acceleration", "strain_rate", "rotation_rate")
TENSOR = {"xx": 1e12, "zz": -3e12, "xz": 2e12}
SOURCES = [
    {"kind": "explosion", "moment": 1e12},
    {"kind": "force", "force": [1e9, 2e9, 3e9]},
    {"kind": "moment_tensor", "tensor": TENSOR},
    {"kind": "moment_tensor", "strike": 30, "dip": 70, "rake": 20, "moment": 1e12},
]


def model(medium, law):
    """The table of a model."""
    rock, losses = ROCK | LAWS[law], LOSSES if medium != "water" and "attenuation" in law else {}
    band = {"attenuation": {"band": [1, 20]}} if losses else {}
    if medium == "sea":
        return {"kind": "layers", "layers": [{"top": 0} | WATER | losses, {"top": -80} | rock]} | band
    return {"kind": "homogeneous"} | (WATER if medium == "water" else rock) | band


def receivers(rng, medium):
    """Tables of receivers, all in one medium, and what they record."""
    if medium == "water" or (medium == "sea" and rng.random() < 0.5):
        return [{"name": "W", "at": [51, 72, -30]}], ["pressure"]
    low = -100 if medium == "sea" else rng.choice((-30, -100))
    fibre = {"along": [[30, 60, low], [120, 80, low - 10]], "spacing": 20, "gauge": 40}
    chosen = rng.choice(({"name": "F", "das": fibre}, {"name": "A", "at": [51, 72, low]}))
    return [chosen], rng.sample(QUANTITIES, rng.choice((1, 2)))


def combination(rng):
    """A scenario of 2 x 2 x 2 elements of degree 2 and some 20 steps, parameters, and options of its gradient."""
    medium, law = rng.choice(("rock", "rock", "sea", "water")), rng.choice(list(LAWS))
    side = rng.choice(("stacey", "rigid", "free", "pml"))
    sides = {"others": side, "east": "stacey"}
    if side == "pml":
        sides = {"west": "pml", "others": "stacey", "pml": {"thickness": 1, "friction": 0.3}}
    listed, waveforms = receivers(rng, medium)
    places = rng.sample([([61, 52, -30], medium != "rock"), ([91, 82, -110], medium == "water")], rng.choice((1, 2)))
    sources = [rng.choice(SOURCES[: 1 if fluid else None]) | {"at": at, "wavelet": RICKER} for at, fluid in places]
    by = [("vp", "vs", "rho"), ("kappa", "mu", "rho")]
    if medium != "water" and "attenuation" in law:
        by.append(("vp", "vs", "inverse_qp", "inverse_qs", "rho"))
    if medium != "water" and "constants" in law:
        by = [("c11", "c13", "c33", "c44", "c66", "rho")]
    scenario = Scenario(
        method="sem",
        domain={"origin": [0, 0, -160], "size": [160, 140, 160], "element_size": 80},
        model=model(medium, law),
        time={"duration": 0.08, "start": 0.0},
        boundaries={"top": rng.choice(("free", "stacey", "rigid"))} | sides,
        source=sources,
        receivers=listed,
        output={"waveforms": waveforms},
        run={"precision": "float64", "threads": 1, "degree": 2},
    )
    return Case(scenario, rng.choice(by), storage=rng.choice(("auto", "checkpoints")))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(int(os.environ.get("COMBINATIONS", 8))))
def test_transposes_of_combinations(seed):
    case = combination(Random(seed))
    assert case.problem.data(case.m).to_array().any()
    assert case.of_medium() < EXACT and case.of_sources() < EXACT
