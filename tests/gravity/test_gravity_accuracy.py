"""How exact gravity is, and whether it says so: against sums of corner terms in extended precision, another formula than the kernels'.

The reference, `exact` of bench/cases/gravity_l2.py, is good to about 1e-19 (r / l)^3 of the field: tests stay within a hundred prism sizes.
"""

import json
from dataclasses import replace

import benchscript
import numpy as np
import pytest
from gravitycase import between, ensemble, grid, mesh
from paths import DATA, ROOT

import craton
from craton import gravity
from craton.backends import backend
from craton.driver.sums import solve
from craton.methods.gravity import accuracy, direct
from craton.methods.gravity.fields import FIELDS, order, scale
from craton.methods.gravity.problem import RTOL, problem
from craton.methods.gravity.tiles import Runner

L2 = benchscript.load("cases.gravity_l2")


def cubes(count, layers, signs):
    """A block of cubes of 100 m below z = 0."""
    edges = 100.0 * np.arange(count + 1)
    return mesh(edges, edges, 100.0 * np.arange(-layers, 1), -500 if signs else 100, empty=0, seed=2)


def over(count, spacing, height, first):
    """Points of a square grid."""
    at = first + spacing * np.arange(count)
    return grid(at, at, height)


def stated(out, reference):
    """What is stated over the greatest error, of every field."""
    return np.array([out.error[name] / np.abs(out[name] - exact).max() for name, exact in zip(FIELDS, reference)])


def test_reference_is_that_of_eighty_digits():
    """At points off all singular lines, of cases.json: to the 16 digits that stand there. It is as independent as they are."""
    data = json.loads((DATA / "gravity_cases.json").read_text())
    for case in data["cases"][:2]:
        point = np.array(case["point"], float)[:, None]
        values = L2.exact(np.array([data["prism"]]), np.array([float(data["density"])]), point, FIELDS)[:, 0]
        assert values.astype(float) == pytest.approx([case["expected"][name] for name in FIELDS], rel=1e-15)


# --- stated errors ----------------------------------------------------------------------------------------------------------------------


OTHERS = [(True, 50), (False, 1000), (True, 1000)]


@pytest.mark.parametrize("cases", [[(False, 50)], pytest.param(OTHERS, marks=pytest.mark.long)], ids=["one", "others"])
def test_rounding_stays_below_what_is_stated(cases):
    """Of `direct`, `vertex`, `fft`: bounded, and by no more than 200 times; densities of one sign and of both, at two heights."""
    for signs, height in cases:
        points = over(5, 300.0, height, 50.0)
        for cells, methods in (
            (ensemble(300, signs)[:2], ("direct",)),
            (cubes(10, 3, signs), ("direct", "vertex", "fft")),
        ):
            reference = L2.exact(*cells, np.reshape(points, (3, -1)), FIELDS).astype(float).reshape(-1, 5, 5)
            for method in methods:
                ratio = stated(gravity.forward(*cells, points, FIELDS, "cpu", method=method), reference)
                assert (ratio >= 1).all() and (ratio < 200).all(), (method, signs, height, ratio)


def boxes(rng, count, low, high, sides):
    """Prisms in a box with sides between two powers of ten, each axis its own."""
    corner = rng.uniform(low, high, (count, 3))
    return between(corner, corner + 10 ** rng.uniform(*sides, (count, 3)))


def above(rng, count, width, height):
    """Points in a square about the origin, at heights between two powers of ten."""
    return np.array([*rng.uniform(-width, width, (2, count)), 10 ** rng.uniform(*height, count)])


HARD = {  # prisms, points
    "thin, far and near": lambda rng: (
        boxes(rng, 200, [-1e4, -1e4, -6e3], [1e4, 1e4, -700], (0.3, 2.8)),
        above(rng, 60, 4e3 * 10 ** rng.uniform(0, 1.2), (0.3, 3.5)),
    ),
    "among large and thin": lambda rng: (
        boxes(rng, 50, [-1e3, -1e3, -500], [1e3, 1e3, -10], (-0.3, 3)),
        rng.uniform([[-1e3], [-1e3], [-300]], [[1e3], [1e3], [200]], (3, 100)),
    ),
    "far below": lambda rng: (boxes(rng, 50, [-1e3] * 3, [1e3] * 3, (1.5, 2.5)), above(rng, 30, 1e4, (3.5, 4))),
    "one": lambda rng: (boxes(rng, 1, [-50] * 3, [50] * 3, (0, 2)), above(rng, 200, 200, (2.2, 2.7))),
}


@pytest.mark.parametrize("seeds", [[0], pytest.param([1, 2], marks=pytest.mark.long)], ids=["one", "others"])
@pytest.mark.parametrize("name", HARD)
def test_direct_errs_by_no_more_than_it_says(name, seeds):
    """All ten fields, in double and single precision; the reference errs by 1/2000 as much in double."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        prisms, points = HARD[name](rng)
        density = rng.uniform(-500, 500, len(prisms))
        reference = L2.exact(prisms, density, points, FIELDS)
        for precision in ("float64", "float32"):
            out = gravity.forward(prisms, density, tuple(points), FIELDS, "cpu", precision, method="direct")
            ratio = stated(out, reference)  # nan where a field is
            assert (ratio >= 1).all() and (ratio < 600).all(), (seed, precision, ratio)


@pytest.mark.parametrize("seeds", [range(9), pytest.param(range(9, 30), marks=pytest.mark.long)], ids=["some", "many"])
def test_rounding_of_each_prism_at_each_point_is_bounded(seeds):
    """Needles, plates and cubes, from a thousandth of a side to a hundred sides away from faces, edges and vertices."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        prism = boxes(rng, 1, [-2e3] * 3, [2e3] * 3, [(0, 3.5), (1, 1.2), (0, 0.5)][seed % 3])
        low, high = prism[0, ::2, None], prism[0, 1::2, None]
        side = high - low
        away = 10 ** rng.uniform(-3, 2, 60) * rng.choice(side[:, 0], 60)
        turn = rng.standard_normal((3, 60))
        start = low + side * rng.choice([0, 0.5, 1, 0.3], (3, 60))
        points = start + away * turn / np.linalg.norm(turn, axis=0)
        points = points[:, ((points < low) | (points > high)).any(axis=0)]
        reference = L2.exact(prism, np.ones(1), points, FIELDS)
        out = gravity.forward(prism, 1.0, tuple(points), FIELDS, "cpu", method="direct")
        bound = accuracy.rounding_bounds(prism, points)
        terms = 2.0**-63 * np.linalg.norm(points - start.mean(axis=1)[:, None], axis=0)
        for name, exact, unit in zip(FIELDS, reference, scale(FIELDS)):
            slack = 100 * terms ** (2 - order(name)) if order(name) < 2 else 100 * 2.0**-63
            error = np.abs(out[name] - exact).astype(float)
            assert (error <= unit * (bound[name][:, 0] + slack)).all(), (name, seed)


PRISMS = {"cells": (12, 4), "scattered": (3000, (5, 60)), "few": (300, (5, 150))}
SURVEY, LOW = over(50, 90.0, 50, 3.0), over(50, 90.0, 2, 3.0)
CASES = [  # prisms, of both signs, points, rtol, precision, method, most pessimistic
    ("cells", False, SURVEY, None, "float64", "far", 30),  # measured
    ("few", True, SURVEY, None, "float32", "direct", 30),
    ("cells", False, SURVEY, None, "float32", "far", 30),
]
MORE = [
    *(("cells", True, SURVEY, None, *method, 30) for method in (("float64", "far"), ("float32", "far"))),
    *(("scattered", signs, LOW, None, "float64", "far", 30) for signs in (False, True)),
    *(("scattered", signs, over(20, 200.0, 50, 3.0), 1e-3, "float64", "far", 1e5) for signs in (False, True)),  # bound
    *(("cells", signs, SURVEY, None, "float32", "direct", 30) for signs in (False, True)),
    ("few", False, SURVEY, None, "float32", "direct", 30),
]


@pytest.mark.parametrize("cases", [CASES, pytest.param(MORE, marks=pytest.mark.long)], ids=["some", "more"])
def test_stated_errors_hold(cases):
    """Against `direct` in double at every point, for densities of one sign and of both."""
    for kind, signs, points, rtol, precision, method, most in cases:
        size, more = PRISMS[kind]
        prisms, density = cubes(size, more, signs) if kind == "cells" else ensemble(size, signs, more)[:2]
        exact = gravity.forward(prisms, density, points, FIELDS, "cpu", method="direct").values()
        ratio = stated(gravity.forward(prisms, density, points, FIELDS, "cpu", precision, method, rtol), exact)
        assert (ratio >= 1).all() and (ratio < most).all(), (kind, signs, precision, method, ratio)


def test_a_large_body_of_points_is_thinned_to_those_that_tell():
    """Half of the sample points stand near the ensemble, whichever of the many these are."""
    asked = problem([[0, 100, 0, 100, -100, 0]], 1.0, (np.linspace(-1e6, 1e6, 400_001), 50.0, 10.0))
    chosen = asked.points[0, accuracy.telling(asked)]
    assert len(chosen) <= accuracy.SAMPLES and np.count_nonzero(np.abs(chosen) < 200) >= 5


class Counting(Runner):
    """A runner that counts the pairs that it computes."""

    pairs = 0

    def sweep(self, plan):
        self.pairs += plan.work
        return super().sweep(plan)


def test_estimate_of_the_error_is_cheap():
    """Pairs computed for the estimate: none for nodes and transforms, less than a tenth of the walk for the tree."""
    for method in ("vertex", "fft", "direct", "far"):
        asked, runner = problem(*cubes(12, 4, True), over(26, 75.0, 50, 25.0), FIELDS), Counting(backend("cpu"))
        values, report = solve(asked, "cpu", method)
        error = accuracy.stated(asked, values, method, runner)
        if method == "far":
            assert 0 < runner.pairs <= 64 * len(asked.prisms) <= 0.1 * asked.pairs
        else:
            assert error == report["error"] and runner.pairs == 0


# --- the paper's tables -----------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_norms_of_the_paper_on_coarser_cells():
    """Eq. 12 without its 1/N, scaled to the 15,000 points of the paper, every field: cells of 126 x 126 x 160 m at 150 points."""
    sets = ("prisms.shape=[175, 175, 50]", "points.x=[0, 22000, 15]", "points.y=[0, 22000, 10]")
    double = craton.plan(craton.load(ROOT / "examples" / "seven_spheres.toml", sets)).problem
    reference = L2.exact(double.prisms, double.density, double.points[:, ::15], FIELDS)
    for precision, goal in (("float64", 1e-10), ("float32", 1e-4)):
        asked = replace(double, precision=precision, rtol=RTOL[precision])
        for values in (solve(asked, "cpu")[0], direct.solve(asked, Runner(backend("cpu")))):
            for name, norms in L2.compared(values[:, ::15], reference, FIELDS, 15_000).items():
                if name != "potential":
                    assert norms["L2"] < goal, (precision, name, norms)
                    assert norms["L2"] == pytest.approx(norms["rms"] * np.sqrt(15_000))
                    assert norms["greatest"] < norms["L2"]
