"""Gravity of prisms by the direct sum and through the tree: reference values, laws of potential theory, symmetries, limits, bad input.

Norms: the vector of the three accelerations and the tensor of the six gradients (off-diagonal ones once); a difference is relative to the
reference's norm at the same point, or where said so over all points of a survey.
"""

import itertools
import json
from functools import cache
from pathlib import Path

import harmonicacase
import numpy as np
import pytest

from craton import gravity
from craton.backends import backend
from craton.core.operator import declared_in_text
from craton.driver.sweep import Runner
from craton.methods import gravity as methods
from craton.methods.gravity import choose, direct, far, fields, operators, tree
from craton.methods.gravity.groups import Far
from craton.methods.gravity.problem import problem

HERE = Path(__file__).parents[1]
GRADIENTS = ("g_ee", "g_nn", "g_zz", "g_en", "g_ez", "g_nz")
GROUPS = {"potential": ("potential",), "acceleration": ("g_e", "g_n", "g_z"), "gradient": GRADIENTS}
G = 6.6743e-11
RNG_SEED = 20130


@cache
def reference():
    """Prism, density, names, points (3, n) and expected values (n, 10), nan where there is no limit."""
    data = json.loads((HERE / "data" / "gravity_cases.json").read_text())
    points = np.array([case["point"] for case in data["cases"]]).T
    expected = np.array(
        [
            [np.nan if case["expected"][f] is None else case["expected"][f] for f in fields.FIELDS]
            for case in data["cases"]
        ]
    )
    return (data["prism"], data["density"], [case["name"] for case in data["cases"]], points, expected)


def columns(group):
    """Where the fields of a group stand."""
    return [fields.FIELDS.index(name) for name in GROUPS[group]]


def forward(prisms, density, points, names=fields.FIELDS, **options):
    """Fields as an array (fields, points)."""
    out = gravity.forward(prisms, density, points, names, device="cpu", **{"method": "direct"} | options)
    return np.array([out[name] for name in names])


def relative(found, expected):
    """Greatest difference over the norm of what is expected."""
    with np.errstate(invalid="ignore"):
        return (
            np.nanmax(np.abs(found - expected), initial=0) / np.sqrt(np.nansum(expected**2))
            if np.isfinite(expected).any()
            else 0.0
        )


def ensemble(count=400, seed=RNG_SEED, signs=False):
    """Random prisms below z = 0 and points around them, some inside."""
    rng = np.random.default_rng(seed)
    centre, half = (rng.uniform([0, 0, -1500], [4000, 3000, -200], (count, 3)), rng.uniform(5, 150, (count, 3)))
    prisms = np.stack([centre - half, centre + half], axis=2).reshape(count, 6)
    return (
        prisms,
        rng.uniform(-500 if signs else 100, 500, count),
        rng.uniform([-1000, -1000, -1000], [5000, 4000, 400], (150, 3)).T,
    )


# --- reference values -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(12))
@pytest.mark.parametrize("group", GROUPS)
def test_closed_form_at_every_kind_of_point(case, group):
    prism, density, names, points, expected = reference()
    found, wanted = (forward([prism], density, points[:, case])[columns(group)], expected[case, columns(group)])
    assert (np.isnan(found) == np.isnan(wanted)).all()
    assert relative(found, wanted) < (1e-9 if names[case] == "very_far_1250km" else 1e-12)


def test_series_far_away_has_all_digits():
    prism, density, names, points, expected = reference()
    asked = problem([prism], density, points, fields.FIELDS)
    found = Runner(backend("cpu")).sweep(direct.plan(asked, 64, Far.within(6, 1e-13, 1e-13, (0, 1, 2))))
    case = names.index("very_far_1250km")
    assert all(relative(found[columns(g), case], expected[case, columns(g)]) < 1e-14 for g in GROUPS)
    assert (np.isnan(found.T) == np.isnan(expected)).all()


@pytest.mark.parametrize("group", GROUPS)
def test_single_precision_at_every_kind_of_point(group):
    prism, density, _, points, expected = reference()
    shift = np.array([[500_000.0], [4_502_000.0], [1000.0]])  # UTM: coordinates alone would fill all digits of a float
    found = forward([np.asarray(prism) + np.repeat(shift, 2)], density, points + shift, precision="float32")
    assert (np.isnan(found.T) == np.isnan(expected)).all()
    worst = [relative(found[columns(group), n], row[columns(group)]) for n, row in enumerate(expected)]
    assert max(worst) < 2e-6  # measured 6e-7 = 5 eps


def test_the_project_s_own_cases_are_those_embedded_here():
    shared = HERE.parents[1] / "shared" / "references" / "gravity" / "cases.json"
    if not shared.exists():
        pytest.skip("no shared/ beside the checkout")
    upward = {"g_z": "g_u", "g_zz": "g_uu", "g_ez": "g_eu", "g_nz": "g_nu"}
    for case, row in zip(json.loads(shared.read_text())["cases"], reference()[4]):
        theirs = [case["expected"][upward.get(name, name)] for name in fields.FIELDS]
        signs = [-1 if name in ("g_z", "g_ez", "g_nz") else 1 for name in fields.FIELDS]
        assert np.array_equal([np.nan if v is None else s * v for v, s in zip(theirs, signs)], row, equal_nan=True)


def test_harmonica_s_documented_values():
    found = forward([[-34, 5, -18, 14, -345, -146]], 2670, (np.array([-40.0, 0, 40]), 0.0, 30.0), ("g_z",))
    assert np.allclose(found, [0.06552, 0.06629, 0.06174], atol=5e-6)
    prisms = [[-134, -5, -45, 45, -200, -50], [5, 134, -45, 45, -180, -30]]
    found = forward(prisms, [-300, 300], (np.array([-40.0, 0, 40]), 0.0, 30.0), ("g_z",))
    assert np.allclose(found, [-0.05380, 0.02908, 0.11237], atol=5e-6)


def test_choclo_agrees():
    choclo = harmonicacase.library("choclo").prism
    theirs = {
        "potential": "gravity_pot",
        "g_e": "gravity_e",
        "g_n": "gravity_n",
        "g_z": "gravity_u",
        "g_ee": "gravity_ee",
        "g_nn": "gravity_nn",
        "g_zz": "gravity_uu",
        "g_en": "gravity_en",
        "g_ez": "gravity_eu",
        "g_nz": "gravity_nu",
    }
    units = {"J/kg": 1.0, "mGal": 1e5, "Eotvos": 1e9}
    prisms, density, points = ensemble(30)
    found = forward(prisms, density, points)
    for name, row in zip(fields.FIELDS, found):
        sign = -1 if name in ("g_z", "g_ez", "g_nz") else 1
        sums = [sum(getattr(choclo, theirs[name])(*at, *p, d) for p, d in zip(prisms, density)) for at in points.T[:20]]
        assert np.abs(row[:20] - sign * units[fields.UNITS[name]] * np.array(sums)).max() < 1e-9 * np.linalg.norm(
            row
        ), name


def test_harmonica_agrees():
    harmonica = harmonicacase.library("harmonica")
    prisms, density, points = ensemble(30, signs=True)
    found = forward(prisms, density, points)
    for name, row in zip(fields.FIELDS, found):
        theirs = harmonica.prism_gravity(tuple(points), prisms, density, field=name)
        assert np.linalg.norm(row - theirs) < 1e-9 * np.linalg.norm(theirs), name


# --- elementary functions ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("real", "limit"), [("float64", (2.5, 3)), ("float32", (2.5, 3))])
def test_elementary_functions_err_by_few_ulp(real, limit):
    import ctypes

    from craton.core.operator import REALS, inlined
    from craton.host import compile as host

    text = f"typedef {REALS[real]} real;\n#define LANES 64\n" + inlined(operators.HERE / "elementary.h")
    text += """extern "C" void both(const real* a, const real* b, real* l, real* t, int n)
        { for (int i = 0; i < n; ++i) l[i] = log_quotient(a[i], b[i], a[i] - b[i]), t[i] = angle(a[i], b[i]); }\n"""
    rng = np.random.default_rng(RNG_SEED)
    a, b = np.exp(rng.uniform(-12, 12, (2, 100_000))).astype(real)
    b[::2] = (a[::2] * (1 + rng.uniform(-0.3, 0.3, 50_000))).astype(real)  # quotients near 1
    found = np.empty((2, a.size), real)
    at = [ctypes.c_void_p(v.ctypes.data) for v in (a, b, *found)]
    host.library(text).both(*at, a.size)
    wide = np.longdouble
    aw, bw = a.astype(wide), b.astype(wide)
    logarithm = np.where(np.abs(aw - bw) < 0.5 * bw, np.log1p((aw - bw) / bw), np.log(aw / bw))
    for row, exact, most in zip(found, (logarithm, np.arctan2(aw, bw)), limit):
        assert (np.abs(row - exact) / np.spacing(np.abs(exact).astype(real))).max() < most
    signed = (np.where(rng.random(a.size) < 0.5, -b, b)).astype(real)
    at[1] = ctypes.c_void_p(signed.ctypes.data)
    host.library(text).both(*at, a.size)
    exact = np.arctan2(aw, signed.astype(wide))
    assert (np.abs(found[1] - exact) / np.spacing(exact.astype(real))).max() < limit[1]


# --- laws -------------------------------------------------------------------------------------------------------------------------------


def test_laplace_outside_and_poisson_inside():
    prisms = np.array([[0, 700, 0, 500, -900, -100], [700, 1500, 0, 500, -900, -100]], float)
    density = np.array([300.0, -120.0])
    rng = np.random.default_rng(RNG_SEED)
    outside, inside = (
        rng.uniform([-500, -500, 1], [2000, 900, 800], (60, 3)).T,
        rng.uniform([1, 1, -899], [699, 499, -101], (60, 3)).T,
    )
    for points, trace in ((outside, 0.0), (inside, -4 * np.pi * G * 300 * 1e9)):
        found = forward(prisms, density, points)
        assert np.abs(found[4:7].sum(axis=0) - trace).max() < 1e-13 * np.abs(found[4:]).max() * 10


def test_face_between_two_prisms_is_an_open_slit():
    """Each prism gives its limit from outside, as in choclo and Harmonica.

    The trace is 0 on a shared face; the normal gradient is above its limit from within either prism by that prism's 4 pi G rho; everything
    else is as within the mass.
    """
    prisms, density = (
        np.array([[0, 700, 0, 500, -900, -100], [700, 1500, 0, 500, -900, -100]], float),
        np.array([300.0, -120.0]),
    )
    step = 1e-6
    on, west, east = (
        dict(zip(fields.FIELDS, row))
        for row in forward(prisms, density, ([700, 700 - step, 700 + step], 210.0, -430.0)).T
    )
    jump = 4e9 * np.pi * G * density
    largest = max(abs(on[name]) for name in GRADIENTS)
    assert abs(on["g_ee"] + on["g_nn"] + on["g_zz"]) < 1e-12 * largest
    assert on["g_ee"] - west["g_ee"] == pytest.approx(jump[0], rel=1e-5) and on["g_ee"] - east["g_ee"] == pytest.approx(
        jump[1], rel=1e-5
    )
    for name in set(fields.FIELDS) - {"g_ee"}:
        assert on[name] == pytest.approx(west[name], rel=1e-5) and on[name] == pytest.approx(east[name], rel=1e-5), name
    whole = forward([[0, 1500, 0, 500, -900, -100]], 300.0, (700.0, 210.0, -430.0))
    halves = forward(prisms, 300.0, (700.0, 210.0, -430.0))
    difference = dict(zip(fields.FIELDS, halves - whole))
    assert difference.pop("g_ee") == pytest.approx(jump[0], rel=1e-12)
    assert max(map(abs, difference.values())) < 1e-12 * largest


def test_gradients_are_derivatives():
    prisms, density, points = ensemble(60)
    points = points[:, points[2] > 50]
    step, names = 1.0, fields.FIELDS
    found = dict(zip(names, forward(prisms, density, points)))
    for axis, letter in enumerate("enz"):
        moved = []
        for h in (-2, -1, 1, 2):
            at = points.copy()
            at[axis] += h * step
            moved.append(forward(prisms, density, at, names[:4]))
        slope = (
            (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step) * (-1 if letter == "z" else 1)
        )  # order 4; z is downward
        assert relative(slope[0] * 1e5, found[f"g_{letter}"]) < 1e-8
        for row, other in zip(slope[1:], "enz"):
            pair = "".join(sorted((letter, other), key="enz".index))
            assert relative(row * 1e4, found[f"g_{pair}"]) < 1e-7


def test_mass_above_pulls_up_and_mass_below_pulls_down():
    found = forward([[-50, 50, -50, 50, -200, -100]], 1000, (0.0, 0.0, [0.0, -300.0]), ("g_z", "g_zz", "potential"))
    assert found[0, 0] > 0 > found[0, 1]
    assert (found[1:] > 0).all()


def test_slab_tends_to_bouguer():
    density, height, thickness = 2670.0, 10.0, 100.0
    slab = 2 * np.pi * G * density * thickness * 1e5
    for half in (1e4, 1e5):
        found = forward([[-half, half, -half, half, -thickness, 0]], density, (0.0, 0.0, height), ("g_z",))[0]
        expected = 1 - 2 * np.sqrt(2) / np.pi * (height + thickness / 2) / half
        assert abs(found / slab - expected) < 10 * (thickness / half) ** 2


def test_sphere_of_cells_tends_to_a_point_mass():
    radius, errors = 100.0, []
    for n in (8, 16, 32):
        edges = np.linspace(-radius, radius, n + 1)
        middle = 0.5 * (edges[1:] + edges[:-1])
        x, y = (v.ravel() for v in np.meshgrid(middle, middle))
        depth = np.sqrt(np.maximum(radius**2 - x**2 - y**2, 0))  # columns through the sphere
        side = edges[1] - edges[0]
        prisms = np.stack([x - side / 2, x + side / 2, y - side / 2, y + side / 2, -depth, depth], axis=1)
        found = forward(prisms, 1000.0, (0.0, 0.0, 150.0), ("g_z",))[0]
        errors.append(abs(found / (G * 4 / 3 * np.pi * radius**3 * 1000 / 150**2 * 1e5) - 1))
    assert errors[2] < errors[1] < errors[0] < 0.03
    assert errors[2] < 2e-3


def test_far_field_of_a_large_body_is_its_point_mass_and_quadrupole():
    n = 24
    edges = [np.linspace(-s, s, n + 1) for s in (300, 200, 100)]
    low, high = (
        [v.ravel() for v in np.meshgrid(*(e[part] for e in edges), indexing="ij")]
        for part in (slice(None, -1), slice(1, None))
    )
    prisms = np.stack([low[0], high[0], low[1], high[1], low[2], high[2]], axis=1)
    at, mass = np.array([70e3, -50e3, 30e3]), 600 * 400 * 200 * 500.0
    r = np.linalg.norm(at)
    second = np.diag([300**2, 200**2, 100**2]) / 3
    quadrupole = mass * (3 * second - np.trace(second) * np.eye(3))
    potential = G * (mass / r + 0.5 * at @ quadrupole @ at / r**5)
    pull = (
        G * (-mass * at / r**3 + quadrupole @ at / r**5 - 2.5 * (at @ quadrupole @ at) * at / r**7) * [1, 1, -1] * 1e5
    )
    for method, limit in (("direct", 3e-11), ("far", 3e-11)):  # hexadecapole 1e-11 here
        found = forward(prisms, 500.0, tuple(at), fields.FIELDS[:4], method=method, rtol=1e-12)
        assert abs(found[0] / potential - 1) < limit
        assert np.linalg.norm(found[1:] - pull) < limit * np.linalg.norm(pull)


def test_far_field_of_a_million_prisms_is_its_point_mass_and_quadrupole():
    """The same body as a million cells, 20 to 40 km off. Left out: the hexadecapole, (0.3 / 22)^4 = 3e-8 of the field times 1e-2."""
    edges = [np.linspace(-s, s, 101) for s in (300, 200, 100)]
    i, j, k = (n.ravel() for n in np.indices((100, 100, 100)))
    prisms = np.stack([side for e, n in zip(edges, (i, j, k)) for side in (e[n], e[n + 1])], axis=1)
    at, mass = np.array([[17e3, 30e3], [-11e3, 20e3], [9e3, -15e3]]), 600 * 400 * 200 * 500.0
    r, second = np.linalg.norm(at, axis=0), np.diag([300**2, 200**2, 100**2]) / 3
    quadrupole = mass * (3 * second - np.trace(second) * np.eye(3))
    pull = -mass * at / r**3 + quadrupole @ at / r**5 - 2.5 * np.einsum("an,ab,bn->n", at, quadrupole, at) * at / r**7
    pull *= G * np.array([[1], [1], [-1]]) * 1e5
    monopole = np.abs(pull / (-G * mass * at / r**3 * np.array([[1], [1], [-1]]) * 1e5) - 1).max()
    found = forward(prisms, 500.0, at, VECTOR)
    assert np.linalg.norm(found - pull) < 2e-8 * np.linalg.norm(pull) and monopole > 1e-4  # the quadrupole is there


def test_a_prism_is_the_sum_of_its_parts():
    prism, density, _, points, expected = reference()
    near = points[:, [0, 1, 2, 4]]
    cuts = [np.array([a, 0.3 * a + 0.7 * b, b]) for a, b in zip(prism[::2], prism[1::2])]
    parts = [
        [x[i], x[i + 1], y[j], y[j + 1], z[k], z[k + 1]]
        for x, y, z in [cuts]
        for i, j, k in itertools.product((0, 1), repeat=3)
    ]
    whole = forward([prism], density, near)
    assert all(relative(forward(parts, density, near)[columns(g)], whole[columns(g)]) < 1e-12 for g in GROUPS)


# --- symmetries -------------------------------------------------------------------------------------------------------------------------

VECTOR = ("g_e", "g_n", "g_z")


def parts(found):
    """Potential, vector and matrix with z up."""
    f = dict(zip(fields.FIELDS, found))
    vector = np.array([f["g_e"], f["g_n"], -f["g_z"]])
    tensor = np.array(
        [[f["g_ee"], f["g_en"], -f["g_ez"]], [f["g_en"], f["g_nn"], -f["g_nz"]], [-f["g_ez"], -f["g_nz"], f["g_zz"]]]
    )
    return f["potential"], vector, tensor


@pytest.mark.parametrize("swap", list(itertools.permutations(range(3))), ids=lambda p: "".join("xyz"[a] for a in p))
@pytest.mark.parametrize("flips", [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)])
def test_axes_are_all_alike(swap, flips):
    prisms, density, points = ensemble(40)
    turned = prisms.reshape(-1, 3, 2)[:, swap] * np.array(flips)[:, None]
    turned = np.sort(turned, axis=2).reshape(-1, 6)
    v, g, t = parts(forward(prisms, density, points))
    v2, g2, t2 = parts(forward(turned, density, points[list(swap)] * np.array(flips)[:, None]))
    sign = np.array(flips, float)
    assert relative(v2, v) < 1e-13
    assert relative(g2, g[list(swap)] * sign[:, None]) < 1e-13
    assert relative(t2, t[np.ix_(swap, swap)] * np.multiply.outer(sign, sign)[:, :, None]) < 1e-13


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_translation_changes_nothing(precision):
    prisms, density, points = ensemble(40)
    prisms, points = (np.round(prisms * 16) / 16, np.round(points * 16) / 16)  # exact also after the shift
    shift = np.array([2.0**19, 2.0**22, -(2.0**12)])
    here = forward(prisms, density, points, precision=precision)
    there = forward(prisms + np.repeat(shift, 2), density, points + shift[:, None], precision=precision)
    assert np.array_equal(here, there)


def test_density_is_linear():
    prisms, density, points = ensemble(50, signs=True)
    both = forward(prisms, density, points)
    assert np.allclose(forward(prisms, -2 * density, points), -2 * both, rtol=1e-15, atol=0)
    assert np.array_equal(
        forward(prisms, np.where(np.arange(50) < 20, density, 0), points), forward(prisms[:20], density[:20], points)
    )


@pytest.mark.parametrize(
    "names", [("g_z",), ("potential",), ("g_zz",), ("g_en",), ("g_e", "g_nz"), ("g_n", "g_z"), GRADIENTS, VECTOR]
)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_any_subset_gives_the_same_values(names, precision):
    prisms, density, points = ensemble(100)
    every = dict(zip(fields.FIELDS, forward(prisms, density, points, precision=precision)))
    for name, row in zip(names, forward(prisms, density, points, names, precision=precision)):
        assert relative(row, every[name]) < (1e-13 if precision == "float64" else 3e-6)


# --- single precision -------------------------------------------------------------------------------------------------------------------


def test_single_precision_over_a_survey():
    rng = np.random.default_rng(RNG_SEED)
    steps = np.arange(45) * 40.0
    x, y = (v.ravel() for v in np.meshgrid(steps, steps))
    relief = 60 * np.sin(x / 300) * np.cos(y / 400)
    layers = [np.stack([x, x + 40, y, y + 40, relief - 50 * (k + 1), relief - 50 * k], axis=1) for k in range(8)]
    prisms, density = np.concatenate(layers), rng.uniform(1800, 3200, 8 * x.size)
    at = rng.choice(x.size, 100, replace=False)
    points = (x[at] + 20, y[at] + 20, relief[at] + 0.5)  # half a metre above the ground
    out = gravity.forward(prisms, density, points, fields.FIELDS, precision="float32", method="direct", device="cpu")
    single, double = (np.array([out[name] for name in fields.FIELDS]), forward(prisms, density, points))
    for group in GROUPS:
        rows = columns(group)
        assert np.linalg.norm(single[rows] - double[rows]) < 1e-5 * np.linalg.norm(double[rows])
    for name, row, exact in zip(fields.FIELDS, single, double):
        assert 1 < out.error[name] / np.abs(row - exact).max() < 30, name


def test_sums_of_many_terms_keep_their_digits_in_single_precision():
    n = 120_000
    rng = np.random.default_rng(RNG_SEED)
    corner = rng.uniform([0, 0, -3000], [9000, 9000, -2000], (n, 3))
    prisms = np.stack([corner, corner + 30], axis=2).reshape(n, 6)
    points = rng.uniform([0, 0, 0], [9000, 9000, 100], (64, 3)).T
    names = ("g_z", "g_zz")
    assert (
        relative(forward(prisms, 100.0, points, names, precision="float32"), forward(prisms, 100.0, points, names))
        < 1e-6
    )


# --- the tree ---------------------------------------------------------------------------------------------------------------------------


def sums_of_magnitudes(prisms, density, points):
    """What the stated bound is relative to, per field."""
    mass = np.abs(density) * np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1)
    r = np.linalg.norm(0.5 * (prisms[:, ::2] + prisms[:, 1::2])[:, :, None] - points, axis=1)
    half = 0.5 * np.linalg.norm(prisms[:, 1::2] - prisms[:, ::2], axis=1)[:, None]
    r = np.maximum(r, half)
    scale = {0: 1.0, 1: 1e5, 2: 2e9}
    return np.array(
        [G * scale[k] * (mass[:, None] / r ** (k + 1)).sum(axis=0) for k in map(fields.order, fields.FIELDS)]
    )


BOUNDS = [("float64", 1e-3), ("float64", 1e-6), ("float64", 1e-9), ("float64", 1e-12), ("float32", 1e-5)]


@pytest.mark.parametrize(("precision", "rtol"), BOUNDS)
def test_tree_keeps_its_bound(precision, rtol):
    prisms, density, points = ensemble(6000, signs=True)
    found = forward(prisms, density, points, method="far", rtol=rtol, precision=precision)
    error, bound = (np.abs(found - forward(prisms, density, points)), sums_of_magnitudes(prisms, density, points))
    assert (error < max(rtol, 2e-13) * bound).all()


def test_tree_holds_at_singular_points_too():
    prism, density, _, points, expected = reference()
    found = forward([prism], density, points, method="far", rtol=1e-12)
    assert (np.isnan(found.T) == np.isnan(expected)).all()
    assert max(relative(found[:, n], row) for n, row in enumerate(expected)) < 1e-11


def test_tree_s_work_grows_much_slower_than_the_number_of_prisms():
    walked = []
    for n in (3_000, 24_000):
        rng = np.random.default_rng(RNG_SEED)
        corner, side = rng.uniform([0, 0, -2000], [4000, 4000, -200], (n, 3)), 1500 / n ** (1 / 3)
        prisms = np.stack([corner, corner + side], axis=2).reshape(n, 6)
        asked = problem(
            prisms,
            np.ones(n),
            tuple(rng.uniform([1900, 1900, 50], [2100, 2100, 60], (64, 3)).T),
            ("g_z",),
            "float64",
            1e-4,
        )
        plan = far.plan(asked, asked.prisms, asked.density, Runner(backend("cpu")))
        walked.append(interactions(plan, asked))
    assert walked[1] < 2.5 * walked[0]  # eight times the prisms


def interactions(plan, asked):
    """Clusters and prisms that the walk of clusters.h meets for the first group, from the plan's data."""
    nodes, links, sphere = (plan.arrays["nodes"].data, plan.arrays["links"].data, plan.tiles[0].load()["groups"][0])
    met, node = 0, 0
    while node < len(links):
        gap = np.linalg.norm(nodes[node, :3] - sphere[:3]) - sphere[3]
        if gap >= nodes[node, -1] and links[node, 1] - links[node, 0] > 2:
            met, node = met + 1, links[node, 2]
        else:
            met += links[node, 1] - links[node, 0] if links[node, 2] == node + 1 else 0
            node += 1
    return met


# --- tiles, threads, methods ------------------------------------------------------------------------------------------------------------


def test_tiles_and_parts_change_nothing_but_rounding(monkeypatch):
    prisms, density, points = ensemble(500)
    whole = forward(prisms, density, points)
    monkeypatch.setattr(direct, "PRISMS", 70)
    monkeypatch.setattr(direct, "PAIRS", 1)
    assert np.abs(forward(prisms, density, points) / whole - 1).max() < 1e-9
    assert relative(forward(prisms, density, points), whole) < 1e-14
    monkeypatch.setattr(far, "PRISMS", 200)
    monkeypatch.setattr(far, "POINTS", 1e-2)
    assert relative(forward(prisms, density, points, method="far", rtol=1e-12), whole) < 1e-11


@pytest.mark.parametrize("method", ["direct", "far"])
def test_threads_change_nothing_at_all(method):
    prisms, density, points = ensemble(900)
    one, three = (forward(prisms, density, points, method=method, threads=n) for n in (1, 3))
    assert np.array_equal(one, three)


def test_hostile_machine_gives_the_same_bits():
    prisms, density, points = ensemble(200)
    asked = problem(prisms, density, points, fields.FIELDS)
    plain, hostile = (methods.algorithm("direct").solve(asked, Runner(backend(name))) for name in ("cpu", "hostile"))
    assert np.array_equal(plain, hostile)


def test_auto_takes_the_quickest_and_says_why():
    small = gravity.forward([[0, 1, 0, 1, 0, 1]], 1000, (0.0, 0.0, 3.0), device="cpu")
    assert small.method == "direct"
    assert "pairs" in small.report["why"]
    many = problem(np.tile([0.0, 1, 0, 1, -2, -1], (1_000_000, 1)), 1.0, tuple(np.zeros((3, 100_000))))
    assert choose(many, backend("cpu"))[0].method != "direct"


def test_shapes_orders_and_names():
    x, y = np.meshgrid(np.arange(3.0), np.arange(4.0))
    out = gravity.forward([[0, 1, 0, 1, -1, 0]], 1000, (x, y, 5.0), ("g_zz", "potential"), device="cpu")
    assert list(out) == ["g_zz", "potential"]
    assert out["potential"].shape == (4, 3)
    strided = gravity.forward(np.array([[0, 1, 0, 1, -1, 0]] * 2)[::2], [1000], (x.T, y.T, 5.0), "g_zz", device="cpu")
    assert np.array_equal(strided["g_zz"], out["g_zz"].T)
    assert gravity.forward(np.zeros((0, 6)), [], (x, y, 0.0), device="cpu")["g_z"].tolist() == np.zeros((4, 3)).tolist()
    assert gravity.forward([[0, 1, 0, 1, -1, 0]], 1, ([], [], []), device="cpu")["g_z"].shape == (0,)


def test_prisms_without_volume_attract_nothing():
    prism, density, _, points, _ = reference()
    flat = [prism, [0, 0, 0, 1, 0, 1], [0, 1, 5, 5, 0, 1], [0, 1, 0, 1, 2, 2]]
    assert np.array_equal(forward(flat, [density] * 4, points), forward([prism], density, points), equal_nan=True)
    assert not forward(flat[1:], 1e4, points).any()


def test_a_finite_sum_is_not_asked_for():
    huge = [[-1.7e308, 1.7e308, -1.7e308, 1.7e308, -1.7e308, 1.7e308]] * 2 + [
        [1e308, 1.5e308, 1e308, 1.5e308, 1e308, 1.5e308]
    ]
    assert len(problem(huge, 1.0, (0, 0, 0)).prisms) == 3  # their sum overflows, none of them does
    with pytest.raises(ValueError, match="prism 2 is not finite"):
        problem([*huge[:2], [0, 1, 0, 1, 0, np.inf]], 1.0, (0, 0, 0))
    with pytest.raises(ValueError, match="prism 1 is not finite"):  # inf and -inf
        problem([[0, 1, 0, 1, 0, 1], [-np.inf, np.inf, 0, 1, 0, 1]], 1.0, (0, 0, 0))


@pytest.mark.parametrize("kind", ["random", "clustered", "one place", "few"])
def test_tree_divides_what_it_holds(kind):
    rng = np.random.default_rng(RNG_SEED)
    low = rng.uniform(-1, 1, (5 if kind == "few" else 3000, 3)) ** (9 if kind == "clustered" else 1)
    low[: 900 if kind == "one place" else 0] = 0.25
    prisms = np.stack([low, low + 1e-4], axis=2).reshape(-1, 6)
    grown = tree.build(prisms, 20)
    assert np.array_equal(np.sort(grown.order), np.arange(len(prisms))) and np.array_equal(
        grown.prisms, prisms[grown.order]
    )
    length, leaf = grown.stop - grown.start, grown.leaf
    assert (length[~leaf] > 20).all() and length[leaf].sum() == len(prisms)
    assert length[leaf].max() <= 20 or kind == "one place"  # what lies in one place cannot be divided
    for node in range(len(leaf)):
        children = np.flatnonzero(grown.parent == node)
        assert leaf[node] == (len(children) == 0)
        assert leaf[node] or (2 <= len(children) <= 8 and length[children].sum() == length[node])
        assert (grown.depth[children] == grown.depth[node] + 1).all()
        some = grown.prisms[grown.start[node] : grown.stop[node]].reshape(-1, 3, 2)
        ends = some[:, :, 0].min(axis=0), some[:, :, 1].max(axis=0)
        assert np.allclose(grown.centre[node], 0.5 * (ends[0] + ends[1]), rtol=0, atol=1e-15)
        assert np.isclose(grown.radius[node], 0.5 * np.linalg.norm(ends[1] - ends[0]), rtol=1e-14)


# --- text -------------------------------------------------------------------------------------------------------------------------------

NINE = fields.FIELDS[1:]
TEXTS = {
    "attract-g_z-float64": (operators.attract(("g_z",), "float64"), "float64", 96),
    "attract-nine-float64": (operators.attract(NINE, "float64"), "float64", 184),
    "attract-g_z-float32": (operators.attract(("g_z",), "float32", 6, (3.0, 10.0)), "float32", 64),
    "attract-nine-float32": (operators.attract(NINE, "float32", 6, (3.0, 10.0)), "float32", 112),
    "clusters-nine-float64": (operators.attract_clusters(NINE, "float64", 10, (3.0, 10.0)), "float64", 255),
    "clusters-g_z-float32": (operators.attract_clusters(("g_z",), "float32", 8, (3.0, 10.0)), "float32", 96),
    "collect": (operators.collect(NINE), "float64", 40),
    "leaf_moments": (operators.leaf_moments(12), "float64", 168),
    "parent_moments": (operators.parent_moments(12), "float64", 168),
    "harmonics": (operators.harmonics(12), "float64", 64),
}


@pytest.mark.parametrize("name", TEXTS)
def test_declaration_is_what_the_text_says(name):
    op = TEXTS[name][0]
    assert declared_in_text(op) == [
        *((array, op.c_type(array)) for array in op.arrays),
        ("box", "Box"),
        ("p", op.params.name),
    ]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_texts_compile_for_gpus_without_spills(arch):
    from concurrent.futures import ThreadPoolExecutor

    from craton.backends import nvrtc
    from craton.errors import ResourceError

    try:
        nvrtc.library()
    except ResourceError as e:
        pytest.skip(str(e))
    with ThreadPoolExecutor() as pool:
        made = dict(zip(TEXTS, pool.map(lambda one: nvrtc.compile(one[0].source(one[1]), arch), TEXTS.values())))
    for name, (op, _, most) in TEXTS.items():
        assert made[name].ok, made[name].log
        assert not made[name].spills_bytes[op.function], name
        assert made[name].registers[op.function] <= most, (name, made[name].registers)


# --- bad input --------------------------------------------------------------------------------------------------------------------------

UNIT = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("prisms", "density", "points", "options", "said"),
    [
        ([UNIT, [2, 1, 0, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is reversed: west = 2.0 > east = 1.0"),
        ([UNIT, [0, 1, 3, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is reversed: south"),
        ([UNIT, UNIT, [0, 1, 0, 1, 9, 1]], 1, (0, 0, 0), {}, "prism 2 is reversed: bottom"),
        ([UNIT, [0, 1, 0, np.nan, 0, 1]], 1, (0, 0, 0), {}, "prism 1 is not finite"),
        ([[0, np.inf, 0, 1, 0, 1]], 1, (0, 0, 0), {}, "prism 0 is not finite"),
        ([UNIT, UNIT], [1, np.nan], (0, 0, 0), {}, "density of prism 1"),
        ([UNIT], [1, 2], (0, 0, 0), {}, "1 prisms but 2 densities"),
        ([UNIT[:5]], 1, (0, 0, 0), {}, "shape"),
        ([UNIT], 1, (0, [0, np.inf], 0), {}, "point 1 is not finite"),
        ([UNIT], 1, (0, [0, 1], [1, 2, 3]), {}, "one shape"),
        ([UNIT], 1, (0, 0), {}, "three arrays"),
        ([UNIT], 1, (0, 0, 0), {"fields": ("g_zzz",)}, "did you mean 'g_zz'"),
        ([UNIT], 1, (0, 0, 0), {"fields": ()}, "no field"),
        ([UNIT], 1, (0, 0, 0), {"precision": "float16"}, "float16"),
        ([UNIT], 1, (0, 0, 0), {"method": "fastest"}, "unknown method 'fastest'"),
        ([UNIT], 1, (0, 0, 0), {"rtol": -1}, "rtol"),
    ],
)
def test_bad_input_is_refused_by_name(prisms, density, points, options, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        gravity.forward(prisms, density, points, **options)
