"""Chunks of the Earth: stacks of bricks, volumes, discontinuities, slices, places, flattening, mechanisms."""

import numpy as np
import pyproj
import pytest

from craton.io.contents import moment_tensor
from craton.model.globe import chunk_layers, prem, radial_files, sphere
from craton.model.globe.chunk import chunk
from craton.model.mesh import hexmesh, numbering, shape
from craton.model.mesh.doubling import Layer, Stack

CENTRE = (-67.25, -13.82)
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(4)
CUBE = np.einsum("i,j,k->kji", *3 * [WEIGHTS]).ravel()
MODEL = prem.prem()


def volume(mesh):
    """Of all elements, m3, by quadrature that is exact for their Jacobians (degree 5 an axis)."""
    return (shape.determinants(mesh.nodes, mesh.elements, GAUSS) @ CUBE).sum()


def exact_volume(a, b, low, high):
    """Between two radii, over a gnomonic rectangle of widths a, b (radians)."""
    return 4 * np.arcsin(np.sin(a / 2) * np.sin(b / 2)) * (high**3 - low**3) / 3


@pytest.fixture(scope="module")
def regional():
    """20 x 15 degrees down to 1500 km, with one doubling: the mesh of the regional reference, about."""
    made = chunk(MODEL, CENTRE, (20, 15), 1500e3, period=60, azimuth=30)
    return made, made.part()


# --- bricks -----------------------------------------------------------------------------------------------------------------------------


def tower(factor):
    """Two growths by a factor, of both axes, over 4 x 2 of the largest elements."""
    one, two = factor, factor**2
    layers = (
        Layer((0.0, 2), (two, two)),
        Layer((2.0, 3, 5), (two, two), 0, 1, factor),
        Layer((5.0, 6, 7), (two, one), 0, 0, factor),
        Layer((7.0, 8), (one, one)),
        Layer((8.0, 8.5, 9), (one, one), 0, 1, factor),
        Layer((9.0, 9.5, 10), (one, 1), 0, 0, factor),
        Layer((10.0, 11), (1, 1)),
    )
    return Stack((4 * two, 2 * two), layers)


@pytest.mark.parametrize("factor", [2, 3])
def test_bricks_fill_and_conform(factor):
    stack = tower(factor)
    elements, keys, layers, faces = stack.build()
    assert len(elements) == stack.size == len(layers) and (np.diff(keys) > 0).all()
    i, j, k = stack.places(keys).T
    mesh = hexmesh.HexMesh(np.stack([i / 4, j / 4, stack.heights(k)], axis=1), elements, faces=faces)
    assert hexmesh.problems(mesh, 3) == []  # hanging and double nodes, folded elements, faces without tag
    jacobians = shape.determinants(mesh.nodes, mesh.elements, GAUSS)
    assert jacobians.min() > 0
    assert (jacobians @ CUBE).sum() == pytest.approx(stack.count[0] * stack.count[1] * 11, rel=1e-12)
    assert len(hexmesh.boundary_faces(mesh)) == sum(map(len, faces.values()))
    assert len(faces["top"]) == stack.count[0] * stack.count[1] and len(faces["bottom"]) == 8


@pytest.mark.parametrize(("factor", "degree"), [(2, 1), (2, 4), (3, 3)])
def test_points_are_counted_without_a_mesh(factor, degree):
    stack = tower(factor)
    assert stack.points(degree) == numbering.number(stack.build()[0], degree).count
    for window in (*stack.slices(2, 2), *stack.slices(4, 1), (4, 12, 0, 8) if factor == 2 else (9, 27, 0, 9)):
        assert stack.points(degree, window) == numbering.number(stack.build(window)[0], degree).count


@pytest.mark.parametrize(("parts", "factor"), [((2, 1), 2), ((4, 2), 2), ((3, 2), 3)])
def test_windows_are_parts_of_the_whole(parts, factor):
    stack = tower(factor)
    elements, keys, layers, faces = stack.build()
    found, every, sides = set(), [], 0
    for window in stack.slices(*parts):
        own, own_keys, _, own_faces = stack.build(window)
        found |= {tuple(row) for row in own_keys[own]}
        every.append(own_keys)
        sides += sum(map(len, own_faces.values()))
    assert found == {tuple(row) for row in keys[elements]}
    assert np.array_equal(np.unique(np.concatenate(every)), keys) and sides == sum(map(len, faces.values()))


def test_stacks_that_cannot_be():
    with pytest.raises(ValueError, match="not a multiple of 2 x 2"):
        Stack((5, 4), (Layer((0.0, 1.0), (2, 2)),))
    with pytest.raises(ValueError, match="too many"):
        Stack((2**25, 2**24), (Layer((0.0, 1.0), (1, 1)),))
    with pytest.raises(ValueError, match="does not begin"):
        Stack((4, 4), (Layer((0.0, 1.0), (1, 1)), Layer((2.0, 3.0), (1, 1))))
    with pytest.raises(ValueError, match="cannot be shared among 5"):
        tower(2).slices(5, 1)


# --- chunks -----------------------------------------------------------------------------------------------------------------------------


def test_volume_and_jacobians(regional):
    made, part = regional
    assert made.stack.coarsest == (2, 2)
    jacobians = shape.determinants(part.mesh.nodes, part.mesh.elements, shape.gll_points(4))
    assert jacobians.min() > 0
    assert volume(part.mesh) == pytest.approx(exact_volume(*np.radians((20, 15)), 4871e3, 6371e3), rel=1e-6)
    assert hexmesh.problems(part.mesh, 4) == []
    assert shape.quality(part.mesh.nodes, part.mesh.elements).min() > 0.5


def test_volume_converges():
    """Quadratic geometry of a smooth surface: fourth order in the angle of an element."""
    errors = []
    for n in (4, 8):
        mesh = chunk(MODEL, CENTRE, (60, 60), "cmb", elements=(n, n), growth=()).part().mesh
        errors.append(abs(volume(mesh) / exact_volume(*np.radians((60, 60)), 3480e3, 6371e3) - 1))
    assert errors[1] < 1e-5 and np.log2(errors[0] / errors[1]) > 3.7


def test_elements_stop_at_discontinuities(regional):
    made, part = regional
    mesh, wanted = part.mesh, [4871e3, 5701e3, 5971e3, 6151e3, 6346.6e3, 6356e3, 6371e3]
    assert np.allclose(made.radii, wanted)
    low, high = (made.radii[part.sections + side][:, None] for side in (0, 1))
    radius = part.radius[mesh.elements]
    assert (radius >= low - 1e-3).all() and (radius <= high + 1e-3).all()
    assert np.allclose(np.linalg.norm(mesh.nodes, axis=1), part.radius, rtol=1e-15)
    for n, r in enumerate(made.radii[:-1]):  # faces on it cover it: one below each surface element, or each coarse one
        on = (np.abs(radius[:, [0, 2, 6, 8]] - r) < 1e-3).all(axis=1)
        assert on.sum() >= made.stack.count[0] * made.stack.count[1] // 4 and (part.sections[on] == n).all()
    names = [mesh.region_names[r] for r in mesh.regions[np.argsort(part.sections)]]
    assert list(dict.fromkeys(names)) == ["lower_mantle", "transition_zone", "upper_mantle", "crust"]


def test_points_take_the_side_of_their_element(regional):
    made, part = regional
    points = shape.gll_points(4)
    r = part.radii(points)
    place = shape.positions(part.mesh.nodes, part.mesh.elements, points)
    assert (
        np.abs(np.linalg.norm(place, axis=-1).reshape(r.shape) - r).max() < 15
    )  # m: 27 nodes are no sphere, which the clip mends
    deep = (part.sections == 0)[:, None, None, None] & np.ones(r.shape, bool)
    vs = MODEL.speeds(r)[1]
    assert vs[deep].min() > 5945 and vs[~deep].max() < 5571
    crust = part.mesh.region_names.index("crust")
    assert set(np.unique(vs[part.mesh.regions == crust])) == {3200.0, 3900.0}
    some = [3, 100, 5]
    assert np.array_equal(part.radii(points, some), r[some])


@pytest.mark.parametrize(
    "options",
    [
        {"period": 50.0},
        {"period": 30.0, "points_per_wavelength": 4.0},
        {"elements": (24, 24)},
        {"period": 50.0, "growth": (300e3, 900e3)},
    ],
)
def test_elements_resolve_the_shortest_period(options):
    made = chunk(MODEL, CENTRE, (24, 24), "cmb", **options)
    ppw = options.get("points_per_wavelength", 5.0)
    period = options.get("period", ppw * np.radians(1) * 6371e3 / (4 * 3200))
    asked = "growth" in options
    for layer in made.stack.layers:
        low, high = made.radii[layer.section : layer.section + 2]
        allowed = 4 * period * MODEL.slowest(max(layer.levels[0], low), min(layer.levels[-1], high)) / ppw
        wide = max(w / n * e for w, n, e in zip(made.widths, made.stack.count, layer.width)) * layer.levels[-1]
        assert (
            asked or (wide if layer.axis is None else wide / 2) <= 1.03 * allowed
        )  # in a layer where they grow the smaller ones
        assert max(np.diff(layer.levels)) <= 1.2 * allowed
    assert made.stack.coarsest == ((4, 4) if asked else (2, 2))


def test_growths_go_where_there_is_room():
    """A growth in the crust, 9 km thick, becomes one below the Moho; one below everything is refused."""
    made = chunk(MODEL, CENTRE, (10, 10), 700e3, elements=(40, 40), growth=(20e3,))
    assert next(layer.levels[-1] for layer in made.stack.layers[::-1] if layer.axis == 0) == 6346.6e3
    with pytest.raises(ValueError, match="cannot be coarsened"):
        chunk(MODEL, CENTRE, (10, 10), 700e3, elements=(40, 40), growth=(690e3,))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"period": 20.0, "elements": (4, 4)}, "either period"),
        ({}, "either period"),
        ({"period": -1.0}, "not above 0"),
        ({"elements": (0, 4)}, "1 or more"),
        ({"elements": (5, 4), "growth": (700e3,)}, "multiples of 2 and 2"),
        ({"period": 50.0, "bottom": "moho"}, "cmb"),
        ({"period": 50.0, "bottom": -5.0}, "not between the surface and the bottom"),
        ({"period": 50.0, "widths": (200, 10)}, "120 degrees"),
    ],
)
def test_chunks_that_cannot_be(options, match):
    with pytest.raises(ValueError, match=match):
        chunk(MODEL, CENTRE, **({"widths": (10, 10), "bottom": 1500e3} | options))


def test_outer_core_is_a_region():
    made = chunk(MODEL, CENTRE, (30, 30), 3500e3, elements=(12, 12))
    part = made.part()
    core = part.mesh.region_names.index("outer_core")
    assert (part.mesh.regions == core).sum() > 0 and part.radius[
        part.mesh.elements[part.mesh.regions == core]
    ].max() == 3480e3
    assert (MODEL.speeds(part.radii(shape.gll_points(4), part.mesh.regions == core))[1] == 0).all()
    assert volume(part.mesh) == pytest.approx(exact_volume(*np.radians((30, 30)), 2871e3, 6371e3), rel=1e-6)


def test_small_chunk_is_a_box():
    """Within (angle)^2 of its size the chunk of half a degree is flat."""
    made = chunk(MODEL, (0, 0), (0.5, 0.5), 24e3, elements=(8, 8), growth=(), honour=(10e3,))
    part = made.part()
    i, j, k = np.moveaxis(made.stack.places(part.keys), -1, 0)
    edge = np.radians(0.5) * 6371e3
    flat = np.stack([(i / 32 - 0.5) * edge, (j / 32 - 0.5) * edge, made.stack.heights(k)], axis=1)
    assert np.abs(part.mesh.nodes - flat).max() < 6371e3 * np.radians(0.5) ** 2


def test_azimuth_turns_the_chunk():
    north, east = (chunk(MODEL, (20, 10), (10, 4), 400e3, elements=(10, 4), growth=(), azimuth=a) for a in (0, 90))
    assert np.allclose(north.directions(0, 0.02)[:2] / np.tan(0.02), (0, 1), atol=1e-3)
    assert np.allclose(east.directions(0, 0.02)[:2] / np.tan(0.02), (1, 0), atol=1e-3)
    rng = np.random.default_rng(1)
    xi, eta = rng.uniform(-0.4, 0.4, (2, 20))
    assert np.allclose(east.angles(east.directions(xi, eta) * 5e6), (xi, eta), atol=1e-14)


# --- slices -----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sliced():
    made = chunk(MODEL, CENTRE, (20, 20), 1500e3, period=80, slices=(3, 2))
    return made, made.part(), [made.part(window) for window in made.slices(3, 2)]


def test_slices_have_the_nodes_of_the_whole(sliced):
    made, whole, parts = sliced
    assert sum(p.mesh.size for p in parts) == whole.mesh.size
    assert max(p.mesh.size for p in parts) == min(p.mesh.size for p in parts)
    number = made.slice_of(whole, 3, 2)
    for n, part in enumerate(parts):
        at = np.searchsorted(whole.keys, part.keys)
        assert np.array_equal(whole.keys[at], part.keys) and np.array_equal(whole.mesh.nodes[at], part.mesh.nodes)
        own = whole.keys[whole.mesh.elements[number == n]]
        assert {tuple(r) for r in own} == {tuple(r) for r in part.keys[part.mesh.elements]}
    assert sum(len(p.mesh.faces["top"]) for p in parts) == len(whole.mesh.faces["top"])
    assert "west" not in parts[1].mesh.faces and "west" in parts[3].mesh.faces


def test_reordered_parts(sliced):
    _, whole, _ = sliced
    order = numbering.locality(whole.mesh)
    new = whole.reordered(order)
    assert np.array_equal(new.mesh.elements, whole.mesh.elements[order]) and np.array_equal(
        new.sections, whole.sections[order]
    )
    assert np.array_equal(new.radii(shape.gll_points(3)), whole.radii(shape.gll_points(3))[order])


# --- places -----------------------------------------------------------------------------------------------------------------------------


def hills(longitude, latitude):
    """Elevations, m."""
    return 3000 * np.cos(np.radians(20 * longitude)) * np.sin(np.radians(15 * latitude))


@pytest.mark.parametrize(
    "options",
    [{}, {"geographic": False}, {"elliptic": True}, {"elliptic": True, "topography": hills}],
    ids=["sphere", "geocentric", "ellipsoid", "topography"],
)
def test_places_round_trip(options):
    made = chunk(MODEL, CENTRE, (20, 20), 1500e3, elements=(8, 8), growth=(), azimuth=20, **options)
    rng = np.random.default_rng(2)
    longitude, latitude, depth = rng.uniform((-75, -22, 0), (-60, -6, 700e3), (200, 3)).T
    back = made.whereabouts(made.place(longitude, latitude, depth))
    assert np.allclose(back[:2], (longitude, latitude), atol=1e-11) and np.allclose(back[2], depth, atol=1e-6)
    assert made.inside(made.place(longitude, latitude, depth)).all()
    assert not made.inside(made.place([-67, -67, -30, 110], [-14, -14, -14, 14], [-9e3, 1600e3, 0, 0])).any()
    part = made.part()
    ground = part.mesh.nodes[part.radius == MODEL.radius]
    assert np.abs(made.whereabouts(ground)[2]).max() < 1e-6
    assert (
        volume(part.mesh) > 0 and shape.determinants(part.mesh.nodes, part.mesh.elements, shape.gll_points(3)).min() > 0
    )


def test_distances_on_the_sphere():
    """5 degrees south of the Bolivia event, in the geocentric latitudes of its reference."""
    made = chunk(MODEL, CENTRE, (20, 20), 1500e3, elements=(8, 8), growth=(), geographic=False)
    x, y, z = made.place(CENTRE[0], CENTRE[1] - 5)
    assert np.allclose((x, y, z), 6371e3 * np.array((0, -np.sin(np.radians(5)), np.cos(np.radians(5)))), atol=1e-6)
    assert np.allclose(made.place(*CENTRE, 647.1e3), (0, 0, 5723.9e3), atol=1e-6)


def test_ellipsoid_is_that_of_maps():
    made = chunk(MODEL, (10, 48), (10, 10), 400e3, elements=(4, 4), growth=(), elliptic=True)
    for latitude, radius in {0.0: 6378137.0, 90.0: 6356752.314}.items():
        assert float(made.ground(10.0, latitude)) == pytest.approx(
            radius, abs=25
        )  # of second order in the flattening: 70 m
    assert pyproj.Geod(ellps="WGS84").f == pytest.approx(sphere.FLATTENING, rel=1e-12)
    place = made.place(10.0, 48.0)
    normal = made.axes(10.0, 48.0)[:, 2]
    along = made.place(10.0, 48.0001) - made.place(10.0, 47.9999)
    assert (
        abs(along @ normal) / np.linalg.norm(along) < 3e-5
    )  # up is the normal of the surface, and 0.19 degrees off the radius
    assert np.degrees(np.arccos(normal @ place / np.linalg.norm(place))) == pytest.approx(0.191, abs=0.002)


def test_flattening_with_depth():
    """Hydrostatic PREM: 1 / 299.8 at the surface, 1 / 392.5 at the core-mantle boundary, 1 / 413 at the inner core."""
    figure = sphere.clairaut(prem.prem(ocean=True), 1 / 299.8)
    found = 1 / np.interp([6371e3, 3480e3, 1221.5e3], figure.radii, figure.flattening)
    assert np.allclose(found, (299.8, 392.5, 413), rtol=4e-3)
    with pytest.raises(ValueError, match="centre"):
        sphere.clairaut(
            radial_files.table(
                "shell", [5e6, 6e6], np.ones((8, 2)) * [[3e3], [8e3], [8e3], [4e3], [4e3], [1], [0], [0]]
            )
        )


def test_geographic_latitudes():
    assert sphere.geocentric(45.0) == pytest.approx(44.80757678, abs=1e-7)  # Snyder (1987), table: 45 less 11' 32.8"
    latitude = np.linspace(-90, 90, 37)
    assert np.allclose(sphere.geographic(sphere.geocentric(latitude)), latitude, atol=1e-12)
    assert sphere.geocentric(90.0) == 90 and sphere.geocentric(0.0) == 0


def test_topography_dies_out_at_the_moho():
    made = chunk(MODEL, CENTRE, (6, 6), 400e3, elements=(6, 6), growth=(), topography=hills)
    plain = chunk(MODEL, CENTRE, (6, 6), 400e3, elements=(6, 6), growth=())
    part, other = made.part(), plain.part()
    up = np.linalg.norm(part.mesh.nodes, axis=1) - np.linalg.norm(other.mesh.nodes, axis=1)
    assert np.abs(up[part.radius <= 6346.6e3]).max() == 0
    top = part.radius == 6371e3
    assert np.allclose(up[top], hills(*made.frame.degrees(part.mesh.nodes[top])), atol=1e-6)
    middle = np.isclose(part.radius, 6356e3)
    assert np.allclose(up[middle], hills(*made.frame.degrees(part.mesh.nodes[middle])) * 9.4 / 24.4, atol=1e-6)
    with pytest.raises(ValueError, match="no elevation"):
        chunk(
            MODEL,
            CENTRE,
            (6, 6),
            400e3,
            elements=(6, 6),
            growth=(),
            topography=lambda x, y: np.where(x > -67, np.nan, 0),
        ).part()


# --- directions and mechanisms ----------------------------------------------------------------------------------------------------------


def test_axes_are_those_of_the_compass():
    """East, north and up by differences of places."""
    made = chunk(MODEL, CENTRE, (20, 20), 1500e3, elements=(8, 8), growth=(), azimuth=20)
    longitude, latitude, step = -72.0, -8.0, 1e-4
    axes = made.axes(longitude, latitude)
    assert np.allclose(axes.T @ axes, np.eye(3), atol=1e-14) and np.linalg.det(axes) == pytest.approx(1)
    wanted = [
        made.place(longitude + step, latitude) - made.place(longitude - step, latitude),
        made.place(longitude, latitude + step) - made.place(longitude, latitude - step),
        made.place(longitude, latitude, 0.0) - made.place(longitude, latitude, 10.0),
    ]
    assert np.allclose(np.stack([w / np.linalg.norm(w) for w in wanted], axis=1), axes, atol=1e-7)
    assert np.allclose(made.axes(*CENTRE), np.eye(3), atol=1e-14)
    assert made.axes(np.zeros(4), np.zeros(4)).shape == (4, 3, 3)


def test_mechanisms_turn_with_their_place():
    """Along the equator, 90 degrees of longitude from the chunk's centre: east there points down here, up there east here."""
    frame = sphere.Frame(0.0, 0.0)
    axes = frame.axes(90.0, 0.0)
    assert np.allclose(axes, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-15)
    tensor = moment_tensor((5, 2, 3, 0.1, 0.2, 0.3))
    turned = sphere.turned(tensor, axes)
    assert turned[0, 0] == pytest.approx(5) and turned[2, 2] == pytest.approx(3) and turned[1, 1] == pytest.approx(2)
    assert turned[0, 2] == pytest.approx(-tensor[0, 2]) and turned[0, 1] == pytest.approx(tensor[1, 2])
    assert np.allclose(np.linalg.eigvalsh(turned), np.linalg.eigvalsh(tensor))


def test_sections_include_what_is_honoured():
    assert np.allclose(
        chunk_layers.sections(MODEL, 6000e3, (6291e3,)), [6000e3, 6151e3, 6291e3, 6346.6e3, 6356e3, 6371e3]
    )
