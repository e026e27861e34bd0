"""Methods of gravity that use an ensemble's shape, nodes and convolution; the linear operator and its transpose. Referee: `direct`."""

import itertools
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from craton import gravity
from craton.backends import backend, nvrtc, units
from craton.core.operator import declared_in_text
from craton.driver.sweep import Runner
from craton.errors import ResourceError
from craton.methods.gravity import estimates, fft, lattice, linear, operators, raster, vertex
from craton.methods.gravity.cost import speed
from craton.methods.gravity.fields import FIELDS, G
from craton.methods.gravity.problem import problem

GRADIENTS = FIELDS[4:]
EAST, NORTH = 500e3, 4.5e6  # as in UTM


def mesh(x, y, z, seed=1, empty=0.3):
    """Prisms of a rectilinear grid between planes, and random densities of both signs, some of them zero."""
    k, j, i = (n.ravel() for n in np.indices((len(z) - 1, len(y) - 1, len(x) - 1)))
    rng = np.random.default_rng(seed)
    density = rng.uniform(-500, 500, i.size) * (rng.random(i.size) >= empty)
    return np.stack([x[i], x[i + 1], y[j], y[j + 1], z[k], z[k + 1]], axis=1), density


def uneven():
    """Planes of a rectilinear grid, its top at z = 0."""
    rng = np.random.default_rng(7)
    x, y, z = (np.cumsum(rng.uniform(50, 150, n)) for n in (9, 7, 6))
    return x + EAST, y + NORTH, z - z[-1]


def box(x, y, z, count, seed=3):
    """Random points in a box."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(*ends, count) for ends in (x, y, z))


def compare(prisms, density, points, method, precision="float64", within=1e-9, **options):
    """Both answers; every field agrees in norm, and is nan at the same points."""
    known = gravity.forward(prisms, density, points, FIELDS, device="cpu", method="direct", **options)
    found = gravity.forward(
        prisms, density, points, FIELDS, device="cpu", method=method, precision=precision, **options
    )
    assert found.method == method
    for name in FIELDS:
        assert found[name].shape == known[name].shape
        np.testing.assert_array_equal(np.isnan(found[name]), np.isnan(known[name]), err_msg=name)
        defined = ~np.isnan(known[name])
        assert np.linalg.norm((found[name] - known[name])[defined]) <= within * np.linalg.norm(known[name][defined]), (
            name
        )
    return found, known


# --- nodes ------------------------------------------------------------------------------------------------------------------------------

PLACES = {
    "around": lambda x, y, z: box((x[0] - 600, x[-1] + 600), (y[0] - 600, y[-1] + 600), (10, 400), 150),
    "beside": lambda x, y, z: box((x[-1] + 1, x[-1] + 900), (y[0], y[-1]), (z[0] - 100, 0), 60),
    "inside": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (z[0], 0), 60),
    "on top": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (0, 0), 30),
    "below, on the bottom": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (z[0], z[0]), 30),
    "over edges": lambda x, y, z: (np.repeat(x[:5], 4), np.tile(y[:4], 5), np.full(20, 30.0)),
    "in the plane of a face": lambda x, y, z: (
        np.full(20, x[3]),
        np.linspace(y[-1] + 5, y[-1] + 500, 20),
        np.linspace(-200, 20, 20),
    ),
    "on vertices": lambda x, y, z: (np.repeat(x[:4], 4), np.tile(y[:4], 4), np.repeat(z[1:5], 4)),
    "on faces within": lambda x, y, z: (
        np.full(12, x[3]),
        np.linspace(y[0] + 1, y[-1] - 1, 12),
        np.full(12, z[2] + 1.5),
    ),
    "on the western face": lambda x, y, z: (
        np.full(12, x[0]),
        np.linspace(y[0] + 1, y[-1] - 1, 12),
        np.full(12, z[2] + 1.5),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_nodes_agree_with_direct(place):
    x, y, z = uneven()
    prisms, density = mesh(x, y, z)
    compare(prisms, density, PLACES[place](x, y, z), "vertex")


def test_nodes_of_an_irregular_ensemble():
    """Prisms of several sizes, some overlapping, that share faces."""
    coarse, one = mesh(*(np.linspace(-400, 0, 5),) * 3, empty=0)
    fine, two = mesh(*(np.linspace(0, 200, 5),) * 2, np.linspace(-200, 0, 3), seed=2, empty=0)
    across, three = mesh(
        np.array([-100.0, 150]), np.array([-400.0, -50, 50]), np.array([-300.0, -100, 0]), seed=3, empty=0
    )
    order = np.random.default_rng(0).permutation(len(one) + len(two) + len(three))
    prisms, density = (np.concatenate([coarse, fine, across])[order], np.concatenate([one, two, three])[order])
    compare(prisms, density, box((-800, 800), (-800, 800), (5, 300), 80), "vertex")
    compare(prisms, density, box((-400, 200), (-400, 200), (-400, 0), 40), "vertex")


def test_third_difference_is_that_of_the_grid():
    x, y, z = uneven()
    prisms, density = mesh(x, y, z)
    padded = np.pad(density.reshape(5, 6, 8), 1)
    expected = -np.diff(np.diff(np.diff(padded, axis=0), axis=1), axis=2)
    some = density != 0
    found = lattice.nodes(prisms[some], density[some], np)
    values = np.zeros(expected.shape)
    values[tuple(np.searchsorted(axis, at) for axis, at in zip((z, y, x), found.at.T[::-1]))] = found.coefficient
    np.testing.assert_allclose(values, expected, atol=1e-10)
    assert len(found.coefficient) == np.count_nonzero(np.abs(expected) > 1e-9)


def test_interiors_vanish():
    """A block of equal cells has eight nodes, also where rounding moves the cells' faces; a second one beside it adds four."""
    edges = 1e6 + np.cumsum(np.full(13, 0.1))
    prisms, _ = mesh(edges, edges, edges)
    assert len(lattice.nodes(prisms, np.full(len(prisms), 0.1), np).coefficient) == 8
    west = prisms[:, 0] < edges[6] - 0.01
    assert len(lattice.nodes(prisms, np.where(west, 0.1, 0.7), np).coefficient) == 12
    shifted = prisms + np.random.default_rng(0).choice([-1.2e-10, 0, 1.2e-10], prisms.shape)
    assert len(lattice.nodes(shifted, np.full(len(prisms), 0.1), np).coefficient) == 8


def test_nodes_by_a_raster_are_those_by_sorting():
    """Cells and columns of several cells on one lattice, a hole, UTM coordinates; off the lattice and on a vast one there is no raster."""
    edges, machine = EAST + 30.0 * np.arange(14), backend("cpu")
    prisms, density = mesh(edges, edges + 1e5, np.arange(-8.0, 1) * 12.5)
    some = density != 0
    prisms, density = prisms[some], np.where(density[some] > 0, 300.0, -170.0)
    prisms[::7, 5] = 0  # to the top: overlap what is above
    known, (found, mass) = (lattice.nodes(prisms, density, np), raster.nodes(prisms, density, machine))
    np.testing.assert_array_equal(found.at, known.at)
    np.testing.assert_allclose(found.coefficient, known.coefficient, rtol=1e-14)
    for mine, theirs in zip(found.planes, known.planes):
        np.testing.assert_array_equal(mine.at, theirs.at)
    assert mass == pytest.approx(np.abs(density) @ np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1), rel=1e-14)
    moved = prisms.copy()
    moved[3, 1] += 1.0
    assert raster.nodes(moved, density, machine) is None
    assert raster.nodes(np.array([[0.0, 1, 0, 1, 0, 1], [1e6, 1e6 + 1, 0, 1, 0, 1]]), np.ones(2), machine) is None


@pytest.mark.parametrize("count", [1, 63, 64, 200])
def test_corners_and_mass_of_many(count):
    rng = np.random.default_rng(count)
    low = rng.uniform(-1e3, 1e3, (count, 3))
    prisms = np.stack([low, low + rng.uniform(1, 9, low.shape)], axis=2).reshape(-1, 6)
    found = vertex.corners(prisms)
    np.testing.assert_array_equal(found, (prisms[:, ::2].min(axis=0), prisms[:, 1::2].max(axis=0)))
    asked = problem(prisms, rng.uniform(-5, 5, count), (0, 0, 10))
    assert vertex.mass(asked) == pytest.approx(
        np.abs(asked.density) @ np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1), rel=1e-13
    )


def spheres(n=70, layers=20):
    """Seven spheres of both signs as cells of a regular ensemble, 22 x 22 x 8 km."""
    h, dz = 22e3 / n, 8e3 / layers
    centres, prisms, density = ([(11, 11), (5, 5), (17, 5), (5, 17), (17, 17), (11, 5), (11, 17)], [], [])
    c = (np.arange(n) + 0.5) * h
    z = -8e3 + (np.arange(layers) + 0.5) * dz
    for number, (east, north) in enumerate(centres):
        inside = (c - 1e3 * east) ** 2 + (c[:, None] - 1e3 * north) ** 2 + (z[:, None, None] + 2300) ** 2 <= 1107.2**2
        k, j, i = np.nonzero(inside)
        prisms.append(np.stack([i * h, (i + 1) * h, j * h, (j + 1) * h, -8e3 + k * dz, -8e3 + (k + 1) * dz], axis=1))
        density.append(np.full(len(i), 300.0 * (-1) ** number))
    return np.concatenate(prisms), np.concatenate(density)


def grid(x, y, z):
    """Points of a horizontal grid, (y, x)."""
    east, north = np.meshgrid(x, y)
    return east, north, np.full(east.shape, float(z))


def test_seven_spheres():
    prisms, density = spheres()
    x = (np.arange(30) + 0.5) * 22e3 / 30
    points = grid(x, x[:20] * 1.5, 100)
    found, _ = compare(prisms, density, points, "vertex")
    assert int(found.report["why"].split()[0]) < len(prisms)
    compare(prisms, density, points, "fft")  # cells 314.3 m, points 733.3 m and 1100 m apart: 7 : 3 and 7 : 2


def test_nodes_refuse_what_they_cannot():
    rate = speed(backend("cpu"), FIELDS, "float64")
    corner = np.random.default_rng(1).uniform(-1000, 0, (500, 3))
    scattered = np.stack([corner, corner + 10], axis=2).reshape(-1, 6)
    alone = vertex.estimate(problem(scattered, 1.0, (0, 0, 10), FIELDS), rate)
    assert not alone.applies and "share" in alone.why
    prisms, density = mesh(*uneven(), empty=0)
    far = vertex.estimate(problem(prisms, density, (EAST, NORTH, 3e6), FIELDS), rate)
    assert not far.applies and "cancel" in far.why
    with pytest.raises(ValueError, match="does not apply"):
        gravity.forward(prisms, density, (EAST, NORTH, 3e6), method="vertex", device="cpu")


@pytest.mark.parametrize("height", [50, 1000, 10000, 50000])
def test_stated_error_of_nodes_holds(height):
    prisms, density = mesh(*uneven(), empty=0)
    density = np.abs(density)
    points = grid(np.linspace(EAST, EAST + 800, 5), np.linspace(NORTH, NORTH + 800, 5), height)
    asked = problem(prisms, density, points, FIELDS, rtol=1e-2)
    stated = vertex.estimate(asked, speed(backend("cpu"), FIELDS, "float64"))
    error = float(stated.why.split("error below ")[1])
    found = gravity.forward(prisms, density, points, FIELDS, device="cpu", method="vertex", rtol=1e-2)
    known = gravity.forward(prisms, density, points, FIELDS, device="cpu", method="direct")
    mass = density @ np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1)
    away = np.linalg.norm(
        np.stack([p.ravel() for p in points]) - np.array([[EAST + 400], [NORTH + 300], [-300]]), axis=0
    )
    for name, unit, power in (("g_z", 1e5, 2), ("g_zz", 1e9, 3), ("g_en", 1e9, 3)):
        assert np.abs(found[name] - known[name]).max() <= error * (G * mass * unit / away**power).max()


# --- convolution ------------------------------------------------------------------------------------------------------------------------

A, B, DEEP = 100.0, 80.0, (-900.0, -500.0, -300.0, 0.0)
LEVELS = np.arange(-6, 3) * 50.0
CASES = {  # cells (nx, ny, z, a, b), points (x, y, z) from the south-western corner
    "over centres, outside too": (
        (20, 13, DEEP, A, B),
        (A / 2 + A * np.arange(-3, 27), B / 2 + B * np.arange(17), [50]),
    ),
    "over corners": ((20, 13, DEEP, A, B), (A * np.arange(-3, 27), B * np.arange(17), [50])),
    "anywhere, two heights": ((20, 13, DEEP, A, B), (13 + A * np.arange(-3, 27), B * np.arange(17), [50, 200])),
    "far beside": ((20, 13, DEEP, A, B), (5e3 + A * np.arange(9), -3e3 + B * np.arange(7), [-400])),
    "14 : 3 and 14 : 5": (
        (30, 25, DEEP, 31.43, 31.43),
        (20 + 31.43 * 14 / 3 * np.arange(-1, 6), 5 + 31.43 * 14 / 5 * np.arange(9), [50]),
    ),
    "finer than cells": ((12, 13, DEEP, 90, 60), (30.0 * np.arange(-1, 40), 5 + 20.0 * np.arange(17), [50])),
    "one profile": ((12, 13, DEEP, 90, 60), ([37.0], 20.0 * np.arange(50), [50])),
    "one column": ((1, 1, DEEP, 90, 60), (45 + 90.0 * np.arange(-5, 6), 30 + 60.0 * np.arange(-5, 6), [10])),
    "on top": ((12, 13, DEEP, 90, 60), (45 + 90.0 * np.arange(-1, 9), 30 + 60.0 * np.arange(17), [0])),
    "on top, over edges": ((12, 13, DEEP, 90, 60), (45 + 90.0 * np.arange(-1, 9), 60.0 * np.arange(17), [0])),
    "inside, many heights": (
        (8, 9, np.arange(-6, 1) * 50.0, 90, 60),
        (90.0 * np.arange(-1, 9), 60.0 * np.arange(9), LEVELS),
    ),
}


def convolution_case(name, origin=(0.0, 0.0)):
    """Prisms, density, points (z, y, x) of a case."""
    (nx, ny, z, a, b), (x, y, heights) = CASES[name]
    west, south = origin
    prisms, density = mesh(west + a * np.arange(nx + 1), south + b * np.arange(ny + 1), np.asarray(z))
    up, north, east = np.meshgrid(
        np.asarray(heights, float), south + np.asarray(y), west + np.asarray(x), indexing="ij"
    )
    return prisms, density, (east, north, up)


@pytest.mark.parametrize("name", CASES)
def test_convolution_agrees_with_direct(name):
    compare(*convolution_case(name), "fft", within=1e-11)


def test_convolution_takes_points_and_prisms_in_any_order():
    prisms, density, points = convolution_case("over centres, outside too", (EAST, NORTH))
    rng = np.random.default_rng(5)
    order, some = rng.permutation(len(prisms)), rng.permutation(points[0].size)[:200]
    compare(prisms[order], density[order], tuple(p.ravel()[some] for p in points), "fft")


def test_convolution_in_single_precision():
    compare(*convolution_case("over centres, outside too"), "fft", precision="float32", within=1e-11)
    compare(*convolution_case("over corners"), "vertex", precision="float32", within=1e-9)  # both work in double


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda p, q: (p + np.array([0, 1, 0, 0, 0, 0]) * (p[:, :1] > 500), q), "one width along x"),
        (lambda p, q: (p + np.array([0, 0, 7, 7, 0, 0]) * (p[:, 2:3] > 500), q), "regularly spaced along y"),
        (lambda p, q: (p, (q[0] * np.sqrt(2), *q[1:])), "simple multiple"),
        (lambda p, q: (p, (*q[:2], q[2] + np.random.default_rng(0).uniform(0, 1, (80, *q[0].shape))[:, 0])), "heights"),
    ],
)
def test_convolution_says_why_not(change, why):
    prisms, density, points = convolution_case("over centres, outside too")
    prisms, points = change(prisms, points)
    asked = problem(prisms, density, points, FIELDS)
    answer = fft.estimate(asked, speed(backend("cpu"), FIELDS, "float64"))
    assert not answer.applies and why in answer.why


@pytest.mark.parametrize("far", [2.0**31, 1e9 + 1])
def test_points_far_apart_take_no_memory_for_a_lattice(far):
    """Lattices of 1e7 steps and more to a side of a few points are refused before they are laid out."""
    prisms, density, _ = convolution_case("over centres, outside too")
    points = np.array([[45.0, 45 + 90 * round(far / 90)], [30.0, 30.0], [0.0, 0.0]])
    tracemalloc.start()
    machine = backend("cpu")
    best = estimates(problem(prisms, density, points, FIELDS), speed(machine, FIELDS, "float64"))
    taken, peak = best[0].method, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    refused = next(e for e in best if e.method == "fft")
    assert taken != "fft" and not refused.applies
    assert peak < 1 << 20


def test_many_levels_fit_into_little_memory(monkeypatch):
    """One level after the other where the spectra of all would not fit: the same answer."""
    prisms, density, points = convolution_case("inside, many heights")
    asked, machine = problem(prisms, density, points, ("g_z",)), backend("cpu")
    together = fft.solve(asked, Runner(machine))
    monkeypatch.setattr(type(machine), "memory", lambda self: (1, 1))
    apart = fft.solve(replace(asked), Runner(machine))
    np.testing.assert_allclose(apart, together, atol=1e-14 * np.abs(together).max())


def operations(count):
    """Kernel values, and operations of all transforms, of count x count cells and points."""
    machine, spent = backend("cpu"), {"places": 0}

    class Counting:
        def __getattr__(self, name):
            return getattr(machine, name)

        def rfft2(self, array):
            spent["places"] += array.size * np.log2(array.size)
            return machine.rfft2(array)

        def irfft2(self, array, shape):
            spent["places"] += np.prod(shape) * np.log2(np.prod(shape))
            return machine.irfft2(array, shape)

    prisms, density = mesh(A * np.arange(count + 1), A * np.arange(count + 1), np.array([-300.0, -100, 0]))
    asked = problem(prisms, density, grid(A / 2 + A * np.arange(count), A / 2 + A * np.arange(count), 20), ("g_z",))
    fft.solve(asked, Runner(Counting()))
    found = fft.columns(asked, machine)
    return len(fft.distances(found.x, 1 << 20).at) * len(fft.distances(found.y, 1 << 20).at), spent["places"]


def test_cost_grows_like_n_log_n():
    sizes = (16, 32, 64, 128)
    kernels, transforms = np.array([operations(n) for n in sizes]).T
    np.testing.assert_array_equal(kernels, np.array(sizes) ** 2)  # mirrored distances once
    n = np.array(sizes, float) ** 2
    ratio = transforms / (n * np.log2(n))
    assert ratio.max() / ratio.min() < 1.5


def test_auto_takes_the_convolution_for_a_large_grid():
    n = 96
    prisms, density = mesh(A * np.arange(n + 1), A * np.arange(n + 1), np.array([-300.0, -100, 0]), empty=0)
    points = grid(A / 2 + A * np.arange(n), A / 2 + A * np.arange(n), 20)
    best = estimates(problem(prisms, density, points, FIELDS), speed(backend("cpu"), FIELDS, "float64"))
    assert best[0].method == "fft" and best[0].applies


# --- physics ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["vertex", "fft"])
def test_laplace_outside_and_poisson_inside(method):
    prisms, density, points = convolution_case("anywhere, two heights")
    found = gravity.forward(prisms, density, points, GRADIENTS, method=method, device="cpu")
    trace = found["g_ee"] + found["g_nn"] + found["g_zz"]
    assert np.abs(trace).max() < 1e-10 * np.abs(found["g_zz"]).max()
    within = tuple(p - shift for p, shift in zip(points, (0, -11.0, 350.0)))
    found = gravity.forward(prisms, density, within, GRADIENTS, method=method, device="cpu")
    trace = (found["g_ee"] + found["g_nn"] + found["g_zz"]).ravel()
    x, y, z = (p.ravel() for p in within)
    holds = (
        (prisms[:, 0] < x[:, None])
        & (x[:, None] < prisms[:, 1])
        & (prisms[:, 2] < y[:, None])
        & (y[:, None] < prisms[:, 3])
    )
    holds &= (prisms[:, 4] < z[:, None]) & (z[:, None] < prisms[:, 5])
    expected = -4e9 * np.pi * G * (holds @ density)
    assert np.count_nonzero(expected) > 100
    np.testing.assert_allclose(trace, expected, atol=1e-9 * np.abs(expected).max())


# --- shapes -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["vertex", "fft"])
def test_shapes(method):
    prisms, density = mesh(A * np.arange(5), A * np.arange(4), np.array([-300.0, 0]), empty=0)
    x = A * np.arange(24) + 7.0
    for shape in ((24,), (2, 3, 4), (24, 1)):
        points = x.reshape(shape), np.zeros(shape), np.full(shape, 9.0)
        assert gravity.forward(prisms, density, points, method=method, device="cpu")["g_z"].shape == shape
    one, known = (
        gravity.forward(prisms, density, (3.0, 4.0, 5.0), method=m, device="cpu")["g_z"] for m in (method, "direct")
    )
    assert one.shape == () and one == pytest.approx(float(known), rel=1e-12)


def test_nothing_to_do():
    rate = speed(backend("cpu"), ("g_z",), "float64")
    for asked in (
        problem(np.zeros((0, 6)), np.zeros(0), (0, 0, 0)),
        problem([0, 1, 0, 1, -1, 0], 1.0, (np.zeros(0),) * 3),
    ):
        assert not vertex.estimate(asked, rate).applies and not fft.estimate(asked, rate).applies
    cancelling = np.array([[0.0, 10, 0, 10, -10, 0]] * 2)
    found = gravity.forward(
        cancelling, [1.0, -1.0], ([3.0, 4], [3.0, 4], [5.0, 6]), FIELDS, method="vertex", device="cpu"
    )
    assert all(not values.any() for values in found.values())


# --- linear operator --------------------------------------------------------------------------------------------------------------------


def scattered_case(prisms=150, points=70):
    """Prisms anywhere, one without volume, and points anywhere."""
    rng = np.random.default_rng(11)
    low = rng.uniform(-1000, 1000, (prisms, 3))
    sides = np.stack([low, low + rng.uniform(5, 200, (prisms, 3))], axis=2).reshape(-1, 6)
    sides[7, 1] = sides[7, 0]
    return sides, tuple(rng.uniform(-2000, 2000, (3, points)))


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """Both machines; the second where there is one."""
    try:
        backend(request.param)
    except ResourceError as reason:
        pytest.skip(str(reason).splitlines()[0])
    return request.param


@pytest.mark.parametrize("fields", [FIELDS, ("g_z",), ("g_nz", "potential", "g_z")])
def test_operator_and_its_transpose(fields, device):
    prisms, points = scattered_case()
    jacobian, rng = (gravity.operator(prisms, points, fields, device=device), np.random.default_rng(2))
    assert jacobian.shape == (len(fields) * 70, 150) and jacobian.dtype == np.float64
    density, data = rng.normal(size=150), rng.normal(size=jacobian.shape[0])
    forward, back = jacobian @ density, jacobian.T @ data
    assert abs(forward @ data - density @ back) <= 1e-12 * np.linalg.norm(forward) * np.linalg.norm(data)
    known = gravity.forward(prisms, density, points, fields, device=device, method="direct")
    np.testing.assert_allclose(forward, np.concatenate([known[name] for name in fields]), rtol=1e-13, atol=0)
    assert back[7] == 0 and np.all(np.delete(back, 7) != 0)
    column = jacobian @ np.eye(150)[3]
    assert column @ data == pytest.approx(back[3], rel=1e-11)


def test_operator_of_several_tiles(monkeypatch):
    prisms, points = scattered_case(prisms=300, points=150)
    data = np.random.default_rng(4).normal(size=150)
    whole = gravity.operator(prisms, points, "g_z", device="cpu").T @ data
    monkeypatch.setattr(linear, "POINTS", 64)
    monkeypatch.setattr(linear.direct, "PAIRS", 64 * 128)
    np.testing.assert_allclose(
        gravity.operator(prisms, points, "g_z", device="cpu").T @ data, whole, rtol=1e-12, atol=1e-15
    )


def test_nodes_of_several_tiles(monkeypatch):
    x, y, z = uneven()
    monkeypatch.setattr(vertex, "NODES", 100)
    monkeypatch.setattr(vertex.direct, "PAIRS", 64 * 100)
    compare(*mesh(x, y, z), PLACES["around"](x, y, z), "vertex")


def test_operator_in_a_least_squares_solver():
    from scipy.sparse.linalg import lsqr

    prisms, _ = mesh(A * np.arange(4), A * np.arange(4), np.array([-100.0, 0]), empty=0)
    points = grid(A / 2 + A / 2 * np.arange(6), A / 2 + A / 2 * np.arange(6), 20)
    true = np.linspace(-300, 400, len(prisms))
    jacobian = gravity.operator(prisms, points, ("g_z",), device="cpu")
    np.testing.assert_allclose(
        lsqr(jacobian, jacobian @ true, atol=1e-14, btol=1e-14, iter_lim=500)[0], true, rtol=1e-6
    )


def test_operator_refuses_bad_input():
    with pytest.raises(ValueError, match="prism 1 is reversed"):
        gravity.operator([[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0]], (0, 0, 5), device="cpu")
    with pytest.raises(ValueError, match="unknown field"):
        gravity.operator([0, 1, 0, 1, 0, 1], (0, 0, 5), ("g_x",), device="cpu")


# --- kernels ----------------------------------------------------------------------------------------------------------------------------

OPERATORS = {
    "attract_nodes": vertex.attract_nodes,
    "gather": linear.gather,
    "records": lambda names: operators.records(operators.attract(names, "float64", 6)),
    "outline": lambda _: raster.outline(),
    "scatter": lambda _: raster.scatter(),
    "pick": lambda _: raster.pick(),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_declaration_is_the_text(name):
    op = OPERATORS[name](FIELDS)
    *arrays, (_, box_type), (_, params_type) = declared_in_text(op)
    assert [(n, kind) for n, kind in arrays] == [(n, op.c_type(n)) for n in op.arrays]
    assert (box_type, params_type) == ("Box", op.params.name)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", OPERATORS)
def test_kernels_compile_for_a_gpu(name, arch):
    try:
        nvrtc.library()
    except ResourceError as reason:
        pytest.skip(str(reason))
    op = OPERATORS[name](FIELDS)
    (unit,) = [u for u in units.units(op, "float64") if u.compiler[0] == "nvrtc"]
    made = nvrtc.compile(unit.text, arch)
    assert made.ok, made.log
    assert made.registers[op.function] <= (96 if name == "attract_nodes" else 192)
    assert made.spills_bytes[op.function] == 0 and made.stack_bytes[op.function] == 0


@pytest.mark.parametrize("field", ["g_z", "g_n", "g_en"])
@pytest.mark.parametrize("method", ["direct", "auto"])
def test_one_field_costs_less_than_nine(field, method):
    """A loop over points that the compiler does not vectorise makes one field four times as dear: it did, for accelerations alone."""
    random, edges = np.random.default_rng(3), np.linspace(0, 8000, 25)
    cells = [(w, e, s, n) for w, e in itertools.pairwise(edges) for s, n in itertools.pairwise(edges)]
    prisms = np.array([(*cell, bottom, bottom + 500) for cell in cells for bottom in (-2000, -1200)])
    density = random.uniform(-500, 500, len(prisms))
    points = (*random.uniform(0, 8000, (2, 3000)), np.full(3000, 50.0))

    def seconds(fields):
        times = []
        for _ in range(4):  # the first compiles
            begin = time.process_time()
            gravity.forward(prisms, density, points, fields=fields, method=method, device="cpu", threads=1)
            times.append(time.process_time() - begin)
        return min(times)

    nine = ("g_e", "g_n", "g_z", "g_ee", "g_nn", "g_zz", "g_en", "g_ez", "g_nz")
    assert seconds((field,)) < 0.9 * seconds(nine)
