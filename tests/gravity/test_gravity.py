"""Gravity of prisms by the direct sum and through the tree: reference values, laws of potential theory, symmetries, limits, bad input.

Norms: the vector of the three accelerations and the tensor of the six gradients (off-diagonal ones once); a difference is relative to the
reference's norm at the same point, or where said so over all points of a survey.
"""

import ctypes
import json
from functools import cache, partial

import numpy as np
import pytest
from common import misfit, refused
from gravitycase import GRADIENTS, GROUPS, SEED, between, ensemble, forward, relative, volumes
from paths import DATA

from craton import gravity
from craton.backends import backend
from craton.core.operator import REALS, inlined
from craton.host import compile as host
from craton.methods.gravity import choose, direct, far, operators, tree
from craton.methods.gravity.fields import FIELDS, G, order
from craton.methods.gravity.problem import problem
from craton.methods.gravity.tiles import Runner


@cache
def reference():
    """Prism, density, names, points (3, n) and expected values (n, 10), nan where there is no limit."""
    data = json.loads((DATA / "gravity_cases.json").read_text())
    points = np.array([case["point"] for case in data["cases"]]).T
    expected = np.array([[case["expected"][f] for f in FIELDS] for case in data["cases"]], float)
    return np.array(data["prism"], float), data["density"], [case["name"] for case in data["cases"]], points, expected


def by_series(prisms, density, points):
    """Fields by the series of a single prism."""
    plan = direct.plan(problem(prisms, density, points, FIELDS), 64, direct.series(6, 1e-13, 1e-13, (0, 1, 2)))
    return Runner(backend("cpu")).sweep(plan)


UTM = np.array([500_000.0, 4_502_000.0, 1000.0])
WAYS = {  # how it is computed, where, greatest error near and 1,250 km away
    "double": (forward, 0 * UTM, 1e-12, 1e-9),
    "single": (partial(forward, precision="float32"), UTM, 2e-6, 2e-6),
    "tree": (partial(forward, method="far"), 0 * UTM, 1e-7, 1e-7),
    "tree, 12 digits": (partial(forward, method="far", rtol=1e-12), 0 * UTM, 1e-11, 1e-11),
    "series": (by_series, 0 * UTM, np.inf, 1e-14),
}


# --- reference values -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.long if "12" in way else ()) for way in WAYS])
def test_every_kind_of_point(way):
    """In single precision at UTM coordinates, which alone would fill all digits of a float; measured there 6e-7 = 5 eps."""
    prism, density, names, points, expected = reference()
    fields_by, shift, near, away = WAYS[way]
    fields = fields_by([prism + np.repeat(shift, 2)], density, points + shift[:, None])
    assert (np.isnan(fields.T) == np.isnan(expected)).all()
    for n, name in enumerate(names):
        for rows in GROUPS.values():
            if np.isfinite(expected[n, rows]).any():
                off = relative(fields[rows, n], expected[n, rows])
                assert off < (away if name == "very_far_1250km" else near), (name, rows, off)


def test_elementary_functions_err_by_few_ulp():
    """Of logarithm and angle: 2.5 and 3."""
    for real in ("float64", "float32"):
        text = f"typedef {REALS[real]} real;\n#define LANES 64\n" + inlined(operators.HERE / "elementary.h")
        text += """extern "C" void both(const real* a, const real* b, real* l, real* t, int n)
            { for (int i = 0; i < n; ++i) l[i] = log_quotient(a[i], b[i], a[i] - b[i]), t[i] = angle(a[i], b[i]); }\n"""
        rng = np.random.default_rng(SEED)
        a, b = np.exp(rng.uniform(-12, 12, (2, 100_000))).astype(real)
        b[::2] = (a[::2] * (1 + rng.uniform(-0.3, 0.3, 50_000))).astype(real)  # quotients near 1
        signed = np.where(rng.random(a.size) < 0.5, -b, b).astype(real)
        aw, bw = a.astype(np.longdouble), b.astype(np.longdouble)
        logarithm = np.where(np.abs(aw - bw) < 0.5 * bw, np.log1p((aw - bw) / bw), np.log(aw / bw))
        angle = np.arctan2(aw, signed.astype(bw.dtype))
        for n, divisor, exact, most in ((0, b, logarithm, 2.5), (1, signed, angle, 3)):
            values = np.empty((2, a.size), real)
            host.library(text).both(*(ctypes.c_void_p(v.ctypes.data) for v in (a, divisor, *values)), a.size)
            assert (np.abs(values[n] - exact) / np.spacing(np.abs(exact).astype(real))).max() < most, real


# --- laws -------------------------------------------------------------------------------------------------------------------------------


def test_face_between_two_prisms_is_an_open_slit():
    """Each prism gives its limit from outside, as in choclo and Harmonica: the normal gradient on the face is above that within one prism
    by 4 pi G rho of the other (so that the trace is 0), everything else is as within the mass.
    """
    side_by_side, at = [[0, 700, 0, 500, -900, -100], [700, 1500, 0, 500, -900, -100]], (700.0, 210.0, -430.0)
    on, within = forward(side_by_side, 300.0, at), forward([[0, 1500, 0, 500, -900, -100]], 300.0, at)
    excess = dict(zip(FIELDS, on - within))
    assert excess.pop("g_ee") == pytest.approx(4e9 * np.pi * G * 300, rel=1e-12)
    assert max(map(abs, excess.values())) < 1e-12 * np.abs(on[GROUPS["gradient"]]).max()


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_translation_changes_nothing(precision):
    prisms, density, points = ensemble(40)
    prisms, points = np.round(prisms * 16) / 16, np.round(points * 16) / 16  # exact also after the shift
    shift = np.array([2.0**19, 2.0**22, -(2.0**12)])
    here = forward(prisms, density, points, precision=precision)
    there = forward(prisms + np.repeat(shift, 2), density, points + shift[:, None], precision=precision)
    assert np.array_equal(here, there)


SUBSETS = {"float64": [("g_e", "g_nz")], "float32": [("potential",)]}
MORE = {  # what is wanted is chosen by one text for both precisions; the series of single precision chooses apart
    "float64": [("potential",), ("g_z",), ("g_zz",), ("g_en",), ("g_n", "g_z"), GRADIENTS, FIELDS[1:4]],
    "float32": [("g_z",), ("g_e", "g_nz"), GRADIENTS, FIELDS[1:4]],
}


@pytest.mark.parametrize("subsets", [SUBSETS, pytest.param(MORE, marks=pytest.mark.long)], ids=["some", "more"])
def test_any_subset_gives_the_same_values(subsets):
    prisms, density, points = ensemble(100)
    for precision, most in (("float64", 1e-13), ("float32", 3e-6)):
        every = dict(zip(FIELDS, forward(prisms, density, points, precision=precision)))
        for names in subsets[precision]:
            for name, row in zip(names, forward(prisms, density, points, names, precision=precision)):
                assert relative(row, every[name]) < most, (precision, names, name)


# --- single precision -------------------------------------------------------------------------------------------------------------------


def test_single_precision_over_a_survey():
    """Half a metre above eight layers of cells with relief: 1e-5 of the norm of each group of fields, and errors as stated."""
    rng = np.random.default_rng(SEED)
    steps = np.arange(32) * 40.0
    x, y = (v.ravel() for v in np.meshgrid(steps, steps))
    top = np.stack([x, y, 60 * np.sin(x / 300) * np.cos(y / 400)], axis=1)
    prisms = np.concatenate([between(top - [0, 0, 50 * k + 50], top + [40, 40, -50 * k]) for k in range(8)])
    density, points = rng.uniform(1800, 3200, len(prisms)), (rng.choice(top, 64, replace=False) + [20, 20, 0.5]).T
    fields = gravity.forward(prisms, density, points, FIELDS, precision="float32", method="direct", device="cpu")
    single, double = np.array([fields[name] for name in FIELDS]), forward(prisms, density, points)
    assert all(misfit(single[rows], double[rows]) < 1e-5 for rows in GROUPS.values())
    stated = np.array([fields.error[name] for name in FIELDS]) / np.abs(single - double).max(axis=1)
    assert (stated > 1).all() and (stated < 30).all(), stated


def test_sums_of_many_terms_keep_their_digits_in_single_precision():
    """In one part: without batches g_z and g_zz would err by 5e-7."""
    rng = np.random.default_rng(SEED)
    corner = rng.uniform([0, 0, -3000], [9000, 9000, -2000], (10_000, 3))
    points = rng.uniform([0, 0, 0], [9000, 9000, 100], (64, 3)).T
    asked = (problem(between(corner, corner + 30), 100.0, points, FIELDS, precision) for precision in REALS)
    single, double = (Runner(backend("cpu")).sweep(direct.plan(survey, 1))[[3, 6]] for survey in asked)
    assert relative(single, double) < 1e-7


# --- the tree ---------------------------------------------------------------------------------------------------------------------------


def sums_of_magnitudes(prisms, density, points):
    """What the stated bound is relative to, per field."""
    mass, half = np.abs(density) * volumes(prisms), 0.5 * np.linalg.norm(prisms[:, 1::2] - prisms[:, ::2], axis=1)
    r = np.linalg.norm(0.5 * (prisms[:, ::2] + prisms[:, 1::2])[:, :, None] - points, axis=1)
    r = np.maximum(r, half[:, None])
    return np.array([G * (1.0, 1e5, 2e9)[k] * (mass[:, None] / r ** (k + 1)).sum(axis=0) for k in map(order, FIELDS)])


SOME = [("float64", 1e-8), ("float32", 1e-6)]
OTHERS = [("float64", 1e-3), ("float64", 1e-6), ("float64", 1e-12), ("float32", 1e-5)]


@pytest.mark.parametrize("asked", [SOME, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["some", "others"])
def test_tree_keeps_its_bound(asked):
    """For each degree of the expansions: 10, 8, then 4, 8, 12, 6."""
    prisms, density, points = ensemble(6000, signs=True)
    exact, bound = forward(prisms, density, points), sums_of_magnitudes(prisms, density, points)
    for precision, rtol in asked:
        fields = forward(prisms, density, points, method="far", rtol=rtol, precision=precision)
        assert (np.abs(fields - exact) < max(rtol, 2e-13) * bound).all(), (precision, rtol)


def test_tree_s_work_grows_much_slower_than_the_number_of_prisms():
    """Clusters and prisms that the walk of clusters.h meets for the first group, from the plan's data."""
    walked = []
    for n in (3_000, 24_000):
        rng = np.random.default_rng(SEED)
        corner, side = rng.uniform([0, 0, -2000], [4000, 4000, -200], (n, 3)), 1500 / n ** (1 / 3)
        points = tuple(rng.uniform([1900, 1900, 50], [2100, 2100, 60], (64, 3)).T)
        asked = problem(between(corner, corner + side), np.ones(n), points, ("g_z",), "float64", 1e-6)
        plan = far.plan(asked, asked.prisms, asked.density, Runner(backend("cpu")))
        nodes, links, sphere = plan.arrays["nodes"].data, plan.arrays["links"].data, plan.tiles[0].load()["groups"][0]
        met, node = 0, 0
        while node < len(links):
            begin, end, after = links[node][:3]
            gap = np.linalg.norm(nodes[node, :3] - sphere[:3]) - sphere[3]
            if gap >= nodes[node, -1] and end - begin > 2:
                met, node = met + 1, after
            else:
                met += end - begin if after == node + 1 else 0
                node += 1
        walked.append(met)
    assert walked[1] < 2.5 * walked[0]  # eight times the prisms


def test_tree_divides_what_it_holds():
    for kind in ("random", "clustered", "one place", "few"):
        rng = np.random.default_rng(SEED)
        low = rng.uniform(-1, 1, (5 if kind == "few" else 3000, 3)) ** (9 if kind == "clustered" else 1)
        low[: 900 if kind == "one place" else 0] = 0.25
        prisms = between(low, low + 1e-4)
        grown = tree.build(prisms, 20)
        assert np.array_equal(np.sort(grown.order), np.arange(len(prisms)))
        assert np.array_equal(grown.prisms, prisms[grown.order])
        length, leaf = grown.stop - grown.start, grown.leaf
        assert (length[~leaf] > 20).all() and length[leaf].sum() == len(prisms)
        assert length[leaf].max() <= 20 or kind == "one place"  # what lies in one place cannot be divided
        for node in range(len(leaf)):
            children = np.flatnonzero(grown.parent == node)
            assert leaf[node] == (len(children) == 0)
            assert leaf[node] or (2 <= len(children) <= 8 and length[children].sum() == length[node])
            assert (grown.depth[children] == grown.depth[node] + 1).all()
            within = grown.prisms[grown.start[node] : grown.stop[node]].reshape(-1, 3, 2)
            low, high = within[:, :, 0].min(axis=0), within[:, :, 1].max(axis=0)
            assert np.allclose(grown.centre[node], 0.5 * (low + high), rtol=0, atol=1e-15)
            assert np.isclose(grown.radius[node], 0.5 * np.linalg.norm(high - low), rtol=1e-14)


# --- threads, machines, shapes ----------------------------------------------------------------------------------------------------------


def test_threads_and_hostile_machines_give_the_same_bits():
    prisms, density, points = ensemble(900)
    for method in ("direct", "far"):
        single, three = (forward(prisms, density, points, method=method, threads=n) for n in (1, 3))
        assert np.array_equal(single, three), method
    asked = problem(*ensemble(200), FIELDS)
    plain, hostile = (direct.solve(asked, Runner(backend(name))) for name in ("cpu", "hostile"))
    assert np.array_equal(plain, hostile)


def test_auto_takes_the_quickest_and_says_why():
    alone = gravity.forward([[0, 1, 0, 1, 0, 1]], 1000, (0.0, 0.0, 3.0), device="cpu")
    assert alone.method == "direct" and "pairs" in alone.report["why"]
    many = problem(np.tile([0.0, 1, 0, 1, -2, -1], (300_000, 1)), 1.0, tuple(np.zeros((3, 100_000))))
    assert choose(many, backend("cpu"))[0].method != "direct"


def test_shapes_orders_and_names():
    x, y = np.meshgrid(np.arange(3.0), np.arange(4.0))
    prisms, names = np.array([[0, 1, 0, 1, -1, 0]]), FIELDS[::-1]
    on_cpu = partial(gravity.forward, device="cpu")
    fields = on_cpu(prisms, 1000, (x, y, 5.0), names)
    assert list(fields) == list(names) and fields["potential"].shape == (4, 3) and fields["potential"].min() > 0
    strided = on_cpu(np.repeat(prisms, 2, axis=0)[::2], [1000], (x.T, y.T, 5.0), FIELDS)
    assert all(np.array_equal(strided[name], fields[name].T) for name in names)
    assert list(on_cpu(prisms, 1000, (x, y, 5.0), "g_z")) == ["g_z"]
    assert on_cpu(np.zeros((0, 6)), [], (x, y, 0.0))["g_z"].tolist() == np.zeros((4, 3)).tolist()
    assert on_cpu(prisms, 1, ([], [], []))["g_z"].shape == (0,)


def test_prisms_without_volume_attract_nothing():
    prism, density, _, points, _ = reference()
    flat = [prism, [0, 0, 0, 1, 0, 1], [0, 1, 5, 5, 0, 1], [0, 1, 0, 1, 2, 2]]
    assert np.array_equal(forward(flat, [density] * 4, points), forward([prism], density, points), equal_nan=True)
    assert not forward(flat[1:], 1e4, points).any()


# --- bad input --------------------------------------------------------------------------------------------------------------------------

UNIT, INF = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0], np.inf
HUGE = [1.7e308 * s for s in (-1, 1) * 3]
BAD = [  # prisms, density, points, options, what is said
    ([UNIT, [2, 1, 0, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is reversed: west = 2 > east = 1"),
    ([UNIT, [0, 1, 3, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is reversed: south"),
    ([UNIT, UNIT, [0, 1, 0, 1, 9, 1]], 1, (0, 0, 0), {}, "prism 2 is reversed: bottom"),
    ([UNIT, [0, 1, 0, np.nan, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is not finite"),
    ([UNIT, [-INF, INF, 0, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is not finite"),
    ([HUGE, HUGE, [0, 1, 0, 1, 0, INF]], 1, (0, 0, 0), {}, "prism 2 is not finite"),
    ([UNIT, UNIT], [1, np.nan], (0, 0, 0), {}, "prism 1 is not finite: [0.0, 1.0, 0.0, 1.0, 0.0, 1.0], density nan"),
    ([UNIT], [1, 2], (0, 0, 0), {}, "1 prisms but 2 densities"),
    ([UNIT[:5]], 1, (0, 0, 0), {}, "shape"),
    ([UNIT], 1, (0, [0, INF], 0), {}, "point 1 is not finite"),
    ([UNIT], 1, (0, [0, 1], [1, 2, 3]), {}, "one shape"),
    ([UNIT], 1, (0, 0), {}, "three arrays"),
    ([UNIT], 1, (0, 0, 0), {"fields": ("g_zzz",)}, "did you mean 'g_zz'"),
    ([UNIT], 1, (0, 0, 0), {"fields": ()}, "no field"),
    ([UNIT], 1, (0, 0, 0), {"precision": "float16"}, "float16"),
    ([UNIT], 1, (0, 0, 0), {"method": "fastest"}, "unknown method 'fastest'"),
    ([UNIT], 1, (0, 0, 0), {"rtol": -1}, "rtol"),
]


def test_bad_input_is_refused_by_name():
    for prisms, density, points, options, message in BAD:
        refused(ValueError, message, gravity.forward, prisms, density, points, **options)
    assert len(problem([HUGE, HUGE, [0.9e308, 1.7e308] * 3], 1.0, (0, 0, 0)).prisms) == 3  # their sum overflows
    refused(ValueError, "prism 1 is reversed", gravity.operator, [UNIT, [0, 1, 0, 1, 1, 0]], (0, 0, 5), device="cpu")
    refused(ValueError, "unknown field", gravity.operator, UNIT, (0, 0, 5), ("g_x",), device="cpu")
