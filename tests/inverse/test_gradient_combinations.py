"""Transposes of random combinations: medium, faces, dimension, sources and receivers, by dot products.

`COMBINATIONS=500 pytest tests/inverse/test_gradient_combinations.py` draws so many, others each time.
"""

import os
from random import Random

import inversecase as small
import pytest
from inversecase import LOSSES, ROCK, SOLID, THOMSEN, Case, explosion, force, layers, place, scenario, station

from craton.errors import ScenarioError

COUNT = int(os.environ.get("COMBINATIONS", 0))
ORDERS = (2, 4) if COUNT else (4,)  # in the suite texts that other tests have compiled
SEEDS = range(10)  # in the suite, the same ones each time

HILLS = {"x": [0, 100, 210], "y": [0, 190], "z": [[-30, -42, -25], [-31, -51, -30]]}  # in space
# properties of the solid; of the model; what is inverted for
BY_SPEEDS = (small.SPEEDS, ("kappa", "mu", "rho"))
BY_SIX = (small.SIX, ("c11", "c13", "c33", "c44", "c66", "rho"))
PAIRED = {"attenuation": {"band": [5, 50], "storage": "paired"}}
LAWS = [
    ({}, {}, BY_SPEEDS),
    (LOSSES, small.BAND, (*BY_SPEEDS, small.WITH_Q)),
    (LOSSES, PAIRED, (*BY_SPEEDS, small.WITH_Q)),
    (THOMSEN, {}, BY_SIX),
    (LOSSES | THOMSEN, small.BAND, BY_SIX),
]
# what is above the solid, down to where: half-way between points; within cells, which have Backus averages there
TOP_LAYERS = {"water": (small.WATER, -85), "soil": (small.SOIL | {"vp": 1700, "vs": 900}, -90)}
SIDES, TOPS = ("cpml", "sponge", "rigid", "periodic"), ("free", "cpml", "sponge", "rigid")
MOTION = ("velocity", "displacement", "acceleration")
# of waves: sources; recorded quantities
SOUND = (("explosion",), (*MOTION, "pressure"))
ROTATED = (*MOTION, "strain_rate", "rotation_rate")
ELASTIC = (
    ("force", "force on top", "explosion", "explosion on top", "tensor", "double couple"),
    (*ROTATED, "pressure"),
)
WAVES = {
    "P-SV": ELASTIC,
    "elastic": ELASTIC,
    "SH": (("force", "force on top", "tensor"), ROTATED),
    "acoustic": SOUND,
    "acoustic in space": SOUND,
}

# what is refused, by words of the message; docs/gradients.md has them, or the forward run has
REFUSED = (
    "a force on points of a CPML layer, or next to one",
    "a moment with shear on points of a fluid, or next to one",
)


def drawn(rng):
    """A scenario and options of its problem; the same for a generator of the same state."""
    waves = rng.choice(("P-SV", "P-SV", *WAVES))
    space, sh, acoustic = waves in ("elastic", "acoustic in space"), waves == "SH", "acoustic" in waves
    of_solid, of_all, parameters = LAWS[0] if acoustic else rng.choice(LAWS)
    above = "flat" if acoustic else rng.choice(("flat", *TOP_LAYERS, "hills", "lake"))
    hilly = above in ("hills", "lake")
    y, ground = (0.52,) * space, 0.28 if hilly else 0.0  # matter is everywhere from this part of the depth on
    if above in TOP_LAYERS:
        top, depth = TOP_LAYERS[above]
        model = layers(top | (LOSSES if "qp" in of_solid else {}), ROCK | of_solid | {"top": depth}, **of_all)
    else:
        model = small.SEA if acoustic else SOLID | of_solid | of_all
        model |= ({"topography": HILLS} if space else small.GROUND) if hilly else {}
        model |= small.LAKE if above == "lake" else {}
    kinds, quantities = WAVES[waves]
    # in the water nothing moves by an explosion on top, nor SH waves by any force there
    kind = rng.choice([k for k in kinds if above != "water" or k != ("force on top" if sh else "explosion on top")])
    at = (0.43, *(0.46 for _ in y), ground if "top" in kind else rng.choice((0.3, 0.38)))
    across, moment = space or sh, {"kind": "moment_tensor", "at": place(len(at), *at)}
    tensor = {"xx": 1e12, "zz": -3e12, "xz": 2e12} | ({"xy": 1e12, "yz": 4e12} if across else {})
    source = {
        "force": force(*at, components=[1e9, 3e9, 2e9] if across else [1e9, 2e9]),
        "explosion": explosion(*at),
        "tensor": moment | {"tensor": tensor},
        "double": moment | {"strike": 30, "dip": 70, "rake": 20, "moment": 1e12},
    }[kind.split()[0]]
    line = [place(2 + space, x, *y, ground + z) for x, z in ((0.25, 0.1), (0.75, 0.02))]
    fibre = {"name": "F", "das": {"along": line, "spacing": 20, "gauge": 40}}
    stations = [station("A", 0.52, *y, 0.45), station("B", 0.52, *y, ground), *([] if sh else [fibre])]
    faces = {"others": rng.choice(SIDES), "top": "free" if hilly else rng.choice(TOPS)}
    faces |= {"bottom": "cpml"} if faces["others"] == "periodic" else {}
    here = scenario(
        2 + space,
        25 if space else 40,
        model=model,
        source=[source],
        receivers=rng.sample(stations, rng.choice((1, 2))),
        boundaries=faces | {"cpml": {"thickness": 4}, "sponge": {"thickness": 4, "strength": 0.1}},
        output={"waveforms": rng.sample(quantities, rng.choice((1, 2)))},
        run={"order": rng.choice(ORDERS)},
        **{} if waves in ("elastic", "P-SV") else {"waves": waves.split()[0]},
    )
    return here, {"parameters": rng.choice(parameters), "every": rng.choice((1, 3))}


def refusal(function, *arguments, **options):
    """What a function returns, and whether it is refused by known words."""
    try:
        return function(*arguments, **options), False
    except ScenarioError as error:
        assert any(words in str(error) for words in REFUSED), str(error)
        return None, True


@pytest.mark.long
def test_transposes_of_combinations():
    wrong = []
    for seed in (Random().getrandbits(63) for _ in range(COUNT)) if COUNT else SEEDS:
        here, options = drawn(Random(seed))
        case, refused = refusal(Case, here, **options)
        if refused or not case.problem.data(case.m).to_array().any():  # nothing moves
            continue
        values = [value for value, refused in map(refusal, (case.of_medium, case.of_sources)) if not refused]
        wrong += [(seed, here, options, value) for value in values if not value < small.EXACT]
    assert not wrong
