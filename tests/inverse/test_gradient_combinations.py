"""Transposes of random combinations: medium, faces, dimension, sources and receivers, by dot products.

`COMBINATIONS=500 pytest tests/inverse/test_gradient_combinations.py` draws so many, others each time.
"""

import os
from random import Random

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from inversecase import SOLID, Case, place, scenario

from craton.errors import ScenarioError

EXACT = 1e-13
COUNT = int(os.environ.get("COMBINATIONS", 0))
ORDERS = (2, 4) if COUNT else (4,)  # in the suite texts that other tests have compiled
DRAWN = 14  # in the suite, the same ones each time

LOSSES, BAND = {"qp": 40, "qs": 25}, {"attenuation": {"band": [5, 50]}}
PAIRED = {"attenuation": {"band": [5, 50], "storage": "paired"}}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.08}
HILLS = {2: {"x": [0, 100, 180, 270], "z": [-30, -42, -25, -61]}}
HILLS[3] = {"x": [0, 100, 210], "y": [0, 190], "z": [[-30, -42, -25], [-31, -51, -30]]}
LAKE = {"water": {"level": -35, "vp": 1480, "rho": 1000}}
# solid, its law
LAWS = {
    "elastic": {},
    "attenuation": LOSSES | BAND,
    "pairs of mechanisms": LOSSES | PAIRED,
    "anisotropy": THOMSEN,
    "anisotropy with attenuation": LOSSES | THOMSEN | BAND,
}
HILLY = ("topography", "lake")
ABOVE = ("flat", "water", "soil", "topography", "lake")
SIDES, TOPS = ("cpml", "sponge", "rigid", "periodic"), ("free", "cpml", "sponge", "rigid")
SOURCES = ("force", "force on top", "explosion", "explosion on top", "tensor", "double couple")
RECEIVERS = ("inside", "on top", "fibre")
QUANTITIES = ("velocity", "displacement", "acceleration", "pressure", "strain_rate", "rotation_rate")
WAVES = 3 * ("P-SV",) + ("SH", "elastic", "acoustic", "acoustic in space")

# what is refused, by words of the message; docs/gradients.md has them, or the forward run has
REFUSED = (
    "a force on points of a CPML layer, or next to one",
    "a moment with shear on points of a fluid, or next to one",
)


def medium(law, above, dimensions, waves):
    """The table of a model."""
    if "acoustic" in waves:
        return {"kind": "homogeneous", "vp": 2000, "vs": 0, "rho": 1000}
    solid = SOLID | LAWS[law]
    if above in HILLY:
        return solid | {"topography": HILLS[dimensions]} | (LAKE if above == "lake" else {})
    if above == "flat":
        return solid
    of_all = {key: solid.pop(key) for key in ("kind", "attenuation") if key in solid}
    speeds = {"water": (1500, 0, 1000), "soil": (1700, 900, 1800)}[above]
    top = dict(zip(("vp", "vs", "rho"), speeds)) | (LOSSES if "qp" in solid else {})
    # half-way between points; within cells, which have Backus averages there
    depth = {"water": -85, "soil": -90}[above]
    layers = [top | {"top": 0}, solid | {"top": depth}]
    return of_all | {"kind": "layers", "layers": layers}


def source(kind, dimensions, waves, depth, top):
    """The table of a source."""
    at = place(dimensions, 0.43, *(0.46,) * (dimensions - 2), top if "top" in kind else depth)
    if kind.startswith("force"):
        return {"kind": "force", "at": at, "force": [1e9, 3e9, 2e9] if dimensions == 3 or waves == "SH" else [1e9, 2e9]}
    if kind.startswith("explosion"):
        return {"kind": "explosion", "at": at, "moment": 1e12}
    if kind == "double couple":
        return {"kind": "moment_tensor", "at": at, "strike": 30, "dip": 70, "rake": 20, "moment": 1e12}
    tensor = {"xx": 1e12, "zz": -3e12, "xz": 2e12} | (
        {"xy": 1e12, "yz": 4e12} if dimensions == 3 or waves == "SH" else {}
    )
    return {"kind": "moment_tensor", "at": at, "tensor": tensor}


def top_of(above):
    """Part of the depth at which matter is everywhere."""
    return 0.28 if above in HILLY else 0.0


def receiver(kind, dimensions, above):
    """The table of a receiver."""
    low, y = top_of(above), (0.52,) * (dimensions - 2)
    if kind == "fibre":
        line = [place(dimensions, x, *y, low + z) for x, z in ((0.25, 0.1), (0.75, 0.02))]
        return {"name": "F", "das": {"along": line, "spacing": 20, "gauge": 40}}
    return {"name": kind, "at": place(dimensions, 0.52, *y, low if kind == "on top" else 0.45)}


def combination(rng):
    """What a scenario is made of, by name; the same for a generator of the same state."""
    waves = rng.choice(WAVES)
    acoustic = "acoustic" in waves
    law = "elastic" if acoustic else rng.choice(list(LAWS))
    above = "flat" if acoustic else rng.choice(ABOVE)
    sources = [name for name in SOURCES if not acoustic or name == "explosion"]
    if above == "water":  # nothing moves then
        sources.remove("explosion on top")
    if waves == "SH":  # none in the water
        sources = ["force", "tensor"] + ["force on top"] * (above != "water")
    quantities = [name for name in QUANTITIES if has_quantity(name, waves)]
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


def has_quantity(name, waves):
    """Whether these waves have a quantity of receivers."""
    if name == "pressure":
        return waves != "SH"
    return "acoustic" not in waves or name in ("velocity", "displacement", "acceleration")


def parameters(c):
    """Names of what is inverted for."""
    if "anisotropy" in c["law"]:
        moduli = ("c11", "c13", "c33", "c44", "c66", "rho")
        return moduli if c["by"] == "moduli" else ("vp", "vs", *THOMSEN, "rho")
    if c["by"] == "Q" and "attenuation" in LAWS[c["law"]]:
        return ("vp", "vs", "inverse_qp", "inverse_qs", "rho")
    return ("kappa", "mu", "rho") if c["by"] == "moduli" else ("vp", "vs", "rho")


def scenario_of(c):
    """The scenario of a combination, of few steps."""
    waves, dimensions = c["waves"], 3 if c["waves"] in ("elastic", "acoustic in space") else 2
    sides = {"others": c["sides"], "top": c["top"]}
    if c["sides"] == "periodic":
        sides["bottom"] = "cpml"
    wave_of = {} if waves in ("elastic", "P-SV") else {"waves": waves.split()[0]}
    return scenario(
        dimensions,
        60 if dimensions == 2 else 40,
        model=medium(c["law"], c["above"], dimensions, waves),
        source=[source(c["source"], dimensions, waves, c["depth"], top_of(c["above"]))],
        receivers=[receiver(kind, dimensions, c["above"]) for kind in c["receivers"]],
        boundaries=sides | {"cpml": {"thickness": 4}, "sponge": {"thickness": 4, "strength": 0.1}},
        output={"waveforms": c["quantities"]},
        run={"order": c["order"]},
        **wave_of,
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


@settings(
    max_examples=COUNT or DRAWN,
    derandomize=not COUNT,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(COMBINATIONS)
def test_transposes_of_combinations(c):
    assert all(value < EXACT for value in mismatches(c))
