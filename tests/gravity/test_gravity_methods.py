"""Methods of gravity that use an ensemble's shape, nodes and convolution; the linear operator and its transpose. Referee: `direct`."""

import time
from dataclasses import replace

import numpy as np
import pytest
from common import peak, refused
from gravitycase import GRADIENTS, between, ensemble, forward, greatest, grid, mesh, volumes

from craton import gravity
from craton.backends import backend
from craton.errors import ResourceError
from craton.methods.gravity import direct, estimates, far, fft, lattice, linear, speed, tiles, vertex
from craton.methods.gravity.fields import FIELDS, G
from craton.methods.gravity.problem import problem
from craton.methods.gravity.tiles import Runner

EAST, NORTH = 500e3, 4.5e6  # as in UTM


def uneven():
    """Planes of a rectilinear grid, its top at z = 0."""
    rng = np.random.default_rng(7)
    x, y, z = (np.cumsum(rng.uniform(50, 150, n)) for n in (9, 7, 6))
    return x + EAST, y + NORTH, z - z[-1]


def compare(prisms, density, points, method, precision="float64", within=1e-9):
    """Every field agrees in norm with that of `direct`, and is nan at the same points."""
    fields = gravity.forward(prisms, density, points, FIELDS, device="cpu", method=method, precision=precision)
    assert fields.method == method
    for name, exact in zip(FIELDS, forward(prisms, density, points)):
        assert fields[name].shape == exact.shape
        np.testing.assert_array_equal(np.isnan(fields[name]), np.isnan(exact), err_msg=name)
        defined = ~np.isnan(exact)
        off = np.linalg.norm((fields[name] - exact)[defined])
        assert off <= within * np.linalg.norm(exact[defined]), name


def rate():
    """Speeds of this machine for all fields."""
    return speed(backend("cpu"), FIELDS, "float64")


# --- nodes ------------------------------------------------------------------------------------------------------------------------------


def box(x, y, z, count):
    """Random points in a box."""
    rng = np.random.default_rng(3)
    return tuple(rng.uniform(*ends, count) for ends in (x, y, z))


PLACES = {
    "around": lambda x, y, z: box((x[0] - 600, x[-1] + 600), (y[0] - 600, y[-1] + 600), (10, 400), 150),
    "beside": lambda x, y, z: box((x[-1] + 1, x[-1] + 900), (y[0], y[-1]), (z[0] - 100, 0), 60),
    "inside": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (z[0], 0), 60),
    "on top": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (0, 0), 30),
    "below, on the bottom": lambda x, y, z: box((x[0], x[-1]), (y[0], y[-1]), (z[0], z[0]), 30),
    "over edges": lambda x, y, z: (np.repeat(x[:5], 4), np.tile(y[:4], 5), np.full(20, 30.0)),
    "in a face's plane": lambda x, y, z: (x[3], np.linspace(y[-1] + 5, y[-1] + 500, 20), np.linspace(-200, 20, 20)),
    "on vertices": lambda x, y, z: (np.repeat(x[:4], 4), np.tile(y[:4], 4), np.repeat(z[1:5], 4)),
    "on faces within": lambda x, y, z: (x[3], np.linspace(y[0] + 1, y[-1] - 1, 12), z[2] + 1),
    "on the western face": lambda x, y, z: (x[0], np.linspace(y[0] + 1, y[-1] - 1, 9), z[2] + 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_nodes_agree_with_direct(place):
    axes = uneven()
    compare(*mesh(*axes), PLACES[place](*axes), "vertex")


def test_nodes_of_an_irregular_ensemble():
    """Prisms of several sizes, some overlapping, that share faces."""
    planes = np.array([-100.0, 150]), np.array([-400.0, -50, 50]), np.array([-300.0, -100, 0])
    parts = [
        mesh(*(np.linspace(-400, 0, 5),) * 3, empty=0),
        mesh(*(np.linspace(0, 200, 5),) * 2, np.linspace(-200, 0, 3), seed=2, empty=0),
        mesh(*planes, seed=3, empty=0),
    ]
    prisms, density = (np.random.default_rng(0).permutation(np.concatenate(rows)) for rows in zip(*parts))
    compare(prisms, density, box((-800, 800), (-800, 800), (5, 300), 80), "vertex")
    compare(prisms, density, box((-400, 200), (-400, 200), (-400, 0), 40), "vertex")


def test_interiors_vanish():
    """A block of equal cells has eight nodes, also where rounding moves the cells' faces; a second one beside it adds four."""
    edges = 1e6 + np.cumsum(np.full(13, 0.1))
    prisms, _ = mesh(edges, edges, edges)
    shifted = prisms + np.random.default_rng(0).choice([-1.2e-10, 0, 1.2e-10], prisms.shape)
    two = np.where(prisms[:, 0] < edges[6] - 0.01, 0.1, 0.7)
    for cells, density, count in ((prisms, 0 * two + 0.1, 8), (prisms, two, 12), (shifted, 0 * two + 0.1, 8)):
        assert len(lattice.nodes(cells, density, np).coefficient) == count


def test_nodes_by_a_raster_are_those_by_sorting():
    """Cells and columns of several cells on one lattice, a hole, UTM coordinates; off the lattice and on a vast one there is no raster."""
    edges, machine = EAST + 30.0 * np.arange(14), backend("cpu")
    prisms, density = mesh(edges, edges + 1e5, np.arange(-8.0, 1) * 12.5)
    prisms, density = prisms[density != 0], np.where(density[density != 0] > 0, 300.0, -170.0)
    prisms[::7, 5] = 0  # to the top: overlap what is above
    expected, (nodes, mass) = lattice.nodes(prisms, density, np), lattice.regular_nodes(prisms, density, machine)
    np.testing.assert_allclose(nodes.coefficient, expected.coefficient, rtol=1e-14)
    for mine, theirs in zip((nodes, *nodes.planes), (expected, *expected.planes)):
        np.testing.assert_array_equal(mine.at, theirs.at)
    assert mass == pytest.approx(np.abs(density) @ volumes(prisms), rel=1e-14)
    prisms[3, 1] += 1.0
    assert lattice.regular_nodes(prisms, density, machine) is None
    assert (
        lattice.regular_nodes(np.array([[0.0, 1, 0, 1, 0, 1], [1e6, 1e6 + 1, 0, 1, 0, 1]]), np.ones(2), machine) is None
    )


def test_mass_of_many():
    for count in (1, 63, 64, 200):
        rng = np.random.default_rng(count)
        low = rng.uniform(-1e3, 1e3, (count, 3))
        prisms = between(low, low + rng.uniform(1, 9, low.shape))
        asked = problem(prisms, rng.uniform(-5, 5, count), (0, 0, 10))
        assert vertex.mass(asked) == pytest.approx(np.abs(asked.density) @ volumes(prisms), rel=1e-13)


def test_nodes_refuse_what_they_cannot():
    corner = np.random.default_rng(1).uniform(-1000, 0, (500, 3))
    prisms, density = mesh(*uneven(), empty=0)
    for asked, why in (
        (problem(between(corner, corner + 10), 1.0, (0, 0, 10), FIELDS), "share"),
        (problem(prisms, density, (EAST, NORTH, 3e6), FIELDS), "cancel"),
    ):
        answer = vertex.estimate(asked, rate())
        assert not answer.applies and why in answer.why
    refused(ValueError, "does not apply", forward, prisms, density, (EAST, NORTH, 3e6), method="vertex")


def test_stated_error_of_nodes_holds():
    prisms, density = mesh(*uneven(), low=0, empty=0)
    for height in (50, 1000, 10000, 50000):
        points = grid(np.linspace(EAST, EAST + 800, 5), np.linspace(NORTH, NORTH + 800, 5), height)
        estimate = vertex.estimate(problem(prisms, density, points, FIELDS, rtol=1e-2), rate())
        stated = float(estimate.why.split("error below ")[1])
        fields = forward(prisms, density, points, method="vertex", rtol=1e-2)
        off = np.abs(fields - forward(prisms, density, points)).max(axis=(1, 2))
        away = np.linalg.norm(np.stack(points, axis=-1) - (EAST + 400, NORTH + 300, -300), axis=-1).min()
        for name, unit, power in (("g_z", 1e5, 2), ("g_zz", 1e9, 3), ("g_en", 1e9, 3)):
            most = stated * G * (density @ volumes(prisms)) * unit / away**power
            assert off[FIELDS.index(name)] <= most, (height, name)


# --- convolution ------------------------------------------------------------------------------------------------------------------------

A, B, DEEP = 100.0, 80.0, (-900.0, -500.0, -300.0, 0.0)
CELLS, FEW = (20, 13, DEEP, A, B), (12, 13, DEEP, 90, 60)
OVER = A / 2 + A * np.arange(-3, 27), B / 2 + B * np.arange(17), [50]
BESIDE = 5e3 + A * np.arange(9), -3e3 + B * np.arange(7), [-400]
ODD = 20 + 31.43 * 14 / 3 * np.arange(-1, 6), 5 + 31.43 * 14 / 5 * np.arange(9), [50]
ON_TOP = 45 + 90.0 * np.arange(-1, 9), 30 + 60.0 * np.arange(17), [0]
LEVELS = 90.0 * np.arange(-1, 9), 60.0 * np.arange(9), np.arange(-6, 3) * 50.0
CASES = {  # cells (nx, ny, z, a, b), points (x, y, z) from the south-western corner
    "over centres, outside too": (CELLS, OVER),
    "over corners": (CELLS, (A * np.arange(-3, 27), B * np.arange(17), [50])),
    "anywhere, two heights": (CELLS, (13 + A * np.arange(-3, 27), B * np.arange(17), [50, 200])),
    "far beside": (CELLS, BESIDE),
    "14 : 3 and 14 : 5": ((30, 25, DEEP, 31.43, 31.43), ODD),
    "finer than cells": (FEW, (30.0 * np.arange(-1, 40), 5 + 20.0 * np.arange(17), [50])),
    "one profile": (FEW, ([37.0], 20.0 * np.arange(50), [50])),
    "one column": ((1, 1, DEEP, 90, 60), (45 + 90.0 * np.arange(-5, 6), 30 + 60.0 * np.arange(-5, 6), [10])),
    "on top": (FEW, ON_TOP),
    "on top, over edges": (FEW, (ON_TOP[0], 60.0 * np.arange(17), [0])),
    "inside, many heights": ((8, 9, np.arange(-6, 1) * 50.0, 90, 60), LEVELS),
}


def convolution_case(name, west=0.0, south=0.0):
    """Prisms, density, points (z, y, x) of a case."""
    (nx, ny, z, a, b), (x, y, heights) = CASES[name]
    prisms, density = mesh(west + a * np.arange(nx + 1), south + b * np.arange(ny + 1), np.asarray(z))
    axes = np.asarray(heights, float), south + np.asarray(y), west + np.asarray(x)
    return prisms, density, tuple(np.meshgrid(*axes, indexing="ij"))[::-1]


@pytest.mark.parametrize("name", CASES)
def test_convolution_agrees_with_direct(name):
    compare(*convolution_case(name), "fft", within=1e-11)


def test_convolution_takes_points_and_prisms_in_any_order():
    prisms, density, points = convolution_case("over centres, outside too", EAST, NORTH)
    rng = np.random.default_rng(5)
    order, places = rng.permutation(len(prisms)), rng.permutation(points[0].size)[:200]
    compare(prisms[order], density[order], tuple(p.ravel()[places] for p in points), "fft")


def test_single_precision_is_double():
    compare(*convolution_case("over centres, outside too"), "fft", precision="float32", within=1e-11)
    compare(*convolution_case("over corners"), "vertex", precision="float32", within=1e-9)


def test_convolution_says_why_not():
    prisms, density, points = convolution_case("over centres, outside too")
    uneven_heights = points[2] + np.random.default_rng(0).uniform(0, 1, (80, *points[0].shape))[:, 0]
    for cells, at, why in (
        (prisms + np.array([0, 1, 0, 0, 0, 0]) * (prisms[:, :1] > 500), points, "one width along x"),
        (prisms + np.array([0, 0, 7, 7, 0, 0]) * (prisms[:, 2:3] > 500), points, "regularly spaced along y"),
        (prisms, (points[0] * np.sqrt(2), *points[1:]), "simple multiple"),
        (prisms, (*points[:2], uneven_heights), "heights"),
    ):
        answer = fft.estimate(problem(cells, density, at, FIELDS), rate())
        assert not answer.applies and why in answer.why


def test_points_far_apart_take_no_memory_for_a_lattice():
    """Lattices of 1e7 steps and more to a side of a few points are refused before they are laid out."""
    prisms, density, _ = convolution_case("over centres, outside too")
    for apart in (2.0**31, 1e9 + 1):
        points, best = np.array([[45.0, 45 + 90 * round(apart / 90)], [30.0, 30.0], [0.0, 0.0]]), []
        assert peak(lambda: best.extend(estimates(problem(prisms, density, points, FIELDS), rate()))) < 1 << 20  # noqa: B023
        assert best[0].method != "fft" and not next(e for e in best if e.method == "fft").applies


def test_many_levels_fit_into_little_memory(monkeypatch):
    """One level after the other where the spectra of all would not fit: the same answer."""
    asked, machine = problem(*convolution_case("inside, many heights"), ("g_z",)), backend("cpu")
    together = fft.solve(asked, Runner(machine))
    monkeypatch.setattr(direct, "POINTS", 64)  # distances in several tiles
    monkeypatch.setattr(type(machine), "memory", lambda self: (1, 1))
    apart = fft.solve(replace(asked), Runner(machine))
    np.testing.assert_allclose(apart, together, atol=1e-14 * np.abs(together).max())


def test_kernels_of_a_large_grid_are_few_and_it_is_taken():
    """Mirrored distances once."""
    edges = A * np.arange(97)
    cells = mesh(edges, edges, np.array([-300.0, -100, 0]), empty=0)
    asked = problem(*cells, grid(edges[:-1] + A / 2, edges[:-1] + A / 2, 20), FIELDS)
    columns = fft.columns(asked, backend("cpu"))
    assert [len(fft.distances(axis, 1 << 20).at) for axis in (columns.x, columns.y)] == [96, 96]
    best = estimates(asked, rate())[0]
    assert best.method == "fft" and best.applies


# --- shapes -----------------------------------------------------------------------------------------------------------------------------


def test_one_point():
    prisms, density = mesh(A * np.arange(5), A * np.arange(4), np.array([-300.0, 0]), empty=0)
    values = [forward(prisms, density, (3.0, 4.0, 5.0), ("g_z",), method=name) for name in ("direct", "vertex", "fft")]
    assert np.shape(values) == (3, 1) and np.ptp(values) < 1e-12 * values[0]


def test_nothing_to_do():
    no_prisms = problem(np.zeros((0, 6)), np.zeros(0), (0, 0, 0))
    for asked in (no_prisms, problem([0, 1, 0, 1, -1, 0], 1.0, (np.zeros(0),) * 3)):
        assert not vertex.estimate(asked, rate()).applies and not fft.estimate(asked, rate()).applies
    cancelling = np.array([[0.0, 10, 0, 10, -10, 0]] * 2)
    assert not forward(cancelling, [1.0, -1.0], ([3.0, 4], [3.0, 4], [5.0, 6]), method="vertex").any()


# --- tiles ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["direct", pytest.param("far", marks=pytest.mark.long), "vertex", "operator"])
def test_tiles_and_parts_change_nothing_but_rounding(method, monkeypatch):
    """Of prisms and of points. A tree in tiles is another one, nodes are shared by fewer: these are compared with `direct`."""
    prisms, density, points = ensemble(500)
    if method == "vertex":
        prisms, density, points = *mesh(*uneven()), PLACES["around"](*uneven())
    data = np.random.default_rng(4).normal(size=len(points[0]))

    def answer():
        if method == "operator":
            return gravity.operator(prisms, tuple(points), "g_z", device="cpu").T @ data
        return forward(prisms, density, points, method=method, rtol=1e-12 if method == "far" else None)

    whole = forward(prisms, density, points) if method in ("far", "vertex") else answer()
    for module, sizes in (
        (tiles, {"PAIRS": 1}),
        (direct, {"PRISMS": 70}),
        (far, {"PRISMS": 200, "POINTS": 1e-2}),
        (vertex, {"NODES": 100}),
        (linear, {"POINTS": 64}),
    ):
        for name, few in sizes.items():
            monkeypatch.setattr(module, name, few)
    parts = answer()
    if method == "operator":
        np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-15)
    else:
        assert (greatest(parts, whole) < {"direct": 1e-14, "far": 1e-11, "vertex": 1e-9}[method]).all()
    assert method != "direct" or np.abs(parts / whole - 1).max() < 1e-9


# --- linear operator --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_operator_and_its_transpose(device):
    """On both machines, the second where there is one; prisms anywhere, one without volume, and points anywhere."""
    try:
        backend(device)
    except ResourceError as reason:
        pytest.skip(str(reason).splitlines()[0])
    rng = np.random.default_rng(11)
    low = rng.uniform(-1000, 1000, (150, 3))
    prisms, points = between(low, low + rng.uniform(5, 200, (150, 3))), tuple(rng.uniform(-2000, 2000, (3, 70)))
    prisms[7, 1] = prisms[7, 0]
    for names in (FIELDS[::-1], ("g_z",)):
        jacobian = gravity.operator(prisms, points, names, device=device)
        assert jacobian.shape == (len(names) * 70, 150) and jacobian.dtype == np.float64
        density, data = rng.normal(size=150), rng.normal(size=jacobian.shape[0])
        fields, back = jacobian @ density, jacobian.T @ data
        assert abs(fields @ data - density @ back) <= 1e-12 * np.linalg.norm(fields) * np.linalg.norm(data)
        expected = gravity.forward(prisms, density, points, names, device=device, method="direct")
        np.testing.assert_allclose(fields, np.concatenate([expected[name] for name in names]), rtol=1e-13, atol=0)
        assert back[7] == 0 and np.all(np.delete(back, 7) != 0)
        assert jacobian @ np.eye(150)[3] @ data == pytest.approx(back[3], rel=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("method", ["direct", "auto"])
def test_one_field_costs_less_than_nine(method):
    """A loop over points that the compiler does not vectorise makes one field four times as dear: it did, for accelerations alone."""
    edges, rng = np.linspace(0, 8000, 25), np.random.default_rng(3)
    prisms, density = mesh(edges, edges, np.array([-2000, -1500, -1200, -700.0]), empty=0)
    points = (*rng.uniform(0, 8000, (2, 2000)), np.full(2000, 50.0))

    def seconds(names):
        times = []
        for _ in range(4):  # the first compiles
            begin = time.process_time()
            forward(prisms, density, points, names, method=method, threads=1)
            times.append(time.process_time() - begin)
        return min(times)

    most = 0.9 * seconds(FIELDS[1:4] + GRADIENTS)
    assert {name: spent for name in ("g_z", "g_n", "g_en") if not (spent := seconds((name,))) < most} == {}
