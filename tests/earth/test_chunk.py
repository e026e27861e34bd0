"""Chunks of the Earth: stacks of bricks, volumes, discontinuities, slices; places, flattening, mechanisms; events, stations and records."""

from types import SimpleNamespace

import numpy as np
import pyproj
import pytest
import xarray
from common import refused
from earthcase import CENTRE, CUBE, GAUSS, PREM, RADIUS, volume
from paths import DATA

from craton.io.contents import moment_tensor
from craton.model.globe import earth_chunk, planet, prem, radial_files
from craton.model.globe.chunk import chunk, sections
from craton.model.mesh import hexmesh, numbering, ordering, shape
from craton.model.mesh.doubling import Layer, Stack
from craton.survey import geography, receivers, source_files


def plain(width=20, bottom=1500e3, elements=8, centre=CENTRE, **options):
    """A square chunk of elements that do not grow."""
    return chunk(PREM, centre, (width, width), bottom, elements=(elements, elements), growth=(), **options)


@pytest.fixture(scope="module")
def regional():
    """20 x 15 degrees down to 1500 km, with one doubling: the mesh of the regional reference, about."""
    whole = chunk(PREM, CENTRE, (20, 15), 1500e3, period=60, azimuth=30)
    return whole, whole.part()


# --- bricks -----------------------------------------------------------------------------------------------------------------------------


def tower(factor):
    """Two growths by a factor, of both axes, over 4 x 2 of the largest elements."""
    once, twice = factor, factor**2
    layers = (
        Layer((0.0, 2), (twice, twice)),
        Layer((2.0, 3, 5), (twice, twice), 0, 1, factor),
        Layer((5.0, 6, 7), (twice, once), 0, 0, factor),
        Layer((7.0, 8), (once, once)),
        Layer((8.0, 8.5, 9), (once, once), 0, 1, factor),
        Layer((9.0, 9.5, 10), (once, 1), 0, 0, factor),
        Layer((10.0, 11), (1, 1)),
    )
    return Stack((4 * twice, 2 * twice), layers)


@pytest.mark.parametrize("factor", [2, 3])
def test_bricks_fill_and_conform(factor):
    stack = tower(factor)
    elements, keys, layers, faces, _ = stack.build()
    assert len(elements) == stack.size == len(layers) and (np.diff(keys) > 0).all()
    i, j, k = stack.places(keys).T
    mesh = hexmesh.HexMesh(np.stack([i / 4, j / 4, stack.heights(k)], axis=1), elements, faces=faces)
    assert hexmesh.problems(mesh, 3) == []  # hanging and double nodes, folded elements, faces without tag
    jacobians = shape.determinants(mesh.nodes, mesh.elements, GAUSS)
    assert jacobians.min() > 0
    assert (jacobians @ CUBE).sum() == pytest.approx(stack.count[0] * stack.count[1] * 11, rel=1e-12)
    assert len(numbering.boundary_faces(mesh.elements)) == sum(map(len, faces.values()))
    assert len(faces["top"]) == stack.count[0] * stack.count[1] and len(faces["bottom"]) == 8


def test_points_are_counted_without_a_mesh():
    for factor, degree in ((2, 1), (2, 4), (3, 3)):
        stack = tower(factor)
        assert stack.points(degree) == numbering.number(stack.build()[0], degree).count
        for window in (*stack.slices(2, 2), *stack.slices(4, 1), (4, 12, 0, 8) if factor == 2 else (9, 27, 0, 9)):
            assert stack.points(degree, window) == numbering.number(stack.build(window)[0], degree).count


def test_windows_are_parts_of_the_whole():
    for parts, factor in (((2, 1), 2), ((4, 2), 2), ((3, 2), 3)):
        stack = tower(factor)
        elements, keys, _, faces, _ = stack.build()
        built = [stack.build(window) for window in stack.slices(*parts)]
        rows = {tuple(row) for own, own_keys, *_ in built for row in own_keys[own]}
        assert rows == {tuple(row) for row in keys[elements]}, parts
        assert np.array_equal(np.unique(np.concatenate([own_keys for _, own_keys, *_ in built])), keys), parts
        assert sum(len(rows) for *_, own, _ in built for rows in own.values()) == sum(map(len, faces.values())), parts


def test_stacks_and_chunks_that_cannot_be():
    unit = Layer((0.0, 1.0), (1, 1))
    refused(ValueError, "not a multiple of 2 x 2", Stack, (5, 4), (Layer((0.0, 1.0), (2, 2)),))
    refused(ValueError, "too many", Stack, (2**25, 2**24), (unit,))
    refused(ValueError, "does not begin", Stack, (4, 4), (unit, Layer((2.0, 3.0), (1, 1))))
    refused(ValueError, "cannot be shared among 5", tower(2).slices, 5, 1)
    for options, words in (
        ({"period": 20.0, "elements": (4, 4)}, "either period"),
        ({}, "either period"),
        ({"period": -1.0}, "not above 0"),
        ({"elements": (0, 4)}, "1 or more"),
        ({"period": 50.0, "bottom": "moho"}, "cmb"),
    ):
        refused(ValueError, words, chunk, PREM, CENTRE, **({"widths": (10, 10), "bottom": 1500e3} | options))


# --- chunks -----------------------------------------------------------------------------------------------------------------------------


def test_volume_and_jacobians(regional):
    whole, part = regional
    assert whole.stack.coarsest == (2, 2)
    assert shape.determinants(part.mesh.nodes, part.mesh.elements, shape.gll_points(4)).min() > 0
    angle = 4 * np.arcsin(np.prod(np.sin(np.radians((20, 15)) / 2)))  # of a gnomonic rectangle
    assert volume(part.mesh) == pytest.approx(angle * (RADIUS**3 - 4871e3**3) / 3, rel=1e-6)
    assert hexmesh.problems(part.mesh, 4) == []
    assert shape.quality(part.mesh.nodes, part.mesh.elements).min() > 0.5


def test_elements_stop_at_discontinuities(regional):
    whole, part = regional
    mesh, low, high = part.mesh, *(whole.radii[part.sections + side][:, None] for side in (0, 1))
    assert np.allclose(whole.radii, [4871e3, 5701e3, 5971e3, 6151e3, 6346.6e3, 6356e3, 6371e3])
    radius = part.radius[mesh.elements]
    assert (radius >= low - 1e-3).all() and (radius <= high + 1e-3).all()
    assert np.allclose(np.linalg.norm(mesh.nodes, axis=1), part.radius, rtol=1e-15)
    for n, r in enumerate(whole.radii[:-1]):  # faces on it cover it: one below each surface element, or each coarse one
        on = (np.abs(radius[:, [0, 2, 6, 8]] - r) < 1e-3).all(axis=1)
        assert on.sum() >= np.prod(whole.stack.count) // 4 and (part.sections[on] == n).all()
    names = [mesh.region_names[r] for r in mesh.regions[np.argsort(part.sections)]]
    assert list(dict.fromkeys(names)) == ["lower_mantle", "transition_zone", "upper_mantle", "crust"]
    honoured = sections(PREM, 6000e3, (6291e3,))
    assert np.allclose(honoured, [6000e3, 6151e3, 6291e3, 6346.6e3, 6356e3, 6371e3])


def test_points_take_the_side_of_their_element(regional):
    whole, part = regional
    place = shape.positions(part.mesh.nodes, part.mesh.elements, shape.gll_points(4))
    r = earth_chunk.ChunkSampler(whole).radii(place)
    off = np.abs(np.linalg.norm(place, axis=-1) - r)
    assert off.max() < 15  # m: 27 nodes are no sphere, which the clip mends
    deep = (part.sections == 0)[:, None] & np.ones(r.shape, bool)
    vs = PREM.speeds(r)[1]
    assert vs[deep].min() > 5945 and vs[~deep].max() < 5571
    crust = part.mesh.region_names.index("crust")
    assert set(np.unique(vs[part.mesh.regions == crust])) == {3200.0, 3900.0}


def test_elements_resolve_the_shortest_period():
    """In a layer where they grow the smaller ones do."""
    for options in (
        {"period": 50.0},
        {"period": 30.0, "points_per_wavelength": 4.0},
        {"elements": (24, 24)},
        {"period": 50.0, "growth": (300e3, 900e3)},
    ):
        whole, asked = chunk(PREM, CENTRE, (24, 24), "cmb", **options), "growth" in options
        ppw = options.get("points_per_wavelength", 5.0)
        period = options.get("period", ppw * np.radians(1) * RADIUS / (4 * 3200))
        for layer in whole.stack.layers:
            low, high = whole.radii[layer.section : layer.section + 2]
            allowed = 4 * period * PREM.slowest(max(layer.levels[0], low), min(layer.levels[-1], high)) / ppw
            wide = max(w / n * e for w, n, e in zip(whole.widths, whole.stack.count, layer.width)) * layer.levels[-1]
            assert asked or (wide if layer.axis is None else wide / 2) <= 1.03 * allowed, options
            assert max(np.diff(layer.levels)) <= 1.2 * allowed, options
        assert whole.stack.coarsest == ((4, 4) if asked else (2, 2))


def test_growths_go_where_there_is_room():
    """A growth in the crust, 9 km thick, becomes one below the Moho; one below everything is refused."""
    area = PREM, CENTRE, (10, 10), 700e3
    layers = chunk(*area, elements=(40, 40), growth=(20e3,)).stack.layers
    assert next(layer.levels[-1] for layer in layers[::-1] if layer.axis == 0) == 6346.6e3
    refused(ValueError, "cannot be coarsened", chunk, *area, elements=(40, 40), growth=(690e3,))


def test_azimuth_turns_the_chunk():
    north, east = (plain(10, 400e3, centre=(20, 10), azimuth=azimuth) for azimuth in (0, 90))
    for turned, along in ((north, (0, 1)), (east, (1, 0))):
        assert np.allclose(turned.directions(0, 0.02)[:2] / np.tan(0.02), along, atol=1e-3)
    xi, eta = np.random.default_rng(1).uniform(-0.4, 0.4, (2, 20))
    assert np.allclose(east.angles(east.directions(xi, eta) * 5e6), (xi, eta), atol=1e-14)


def test_slices_have_the_nodes_of_the_whole():
    sliced = chunk(PREM, CENTRE, (20, 20), 1500e3, period=80, slices=(3, 2))
    whole, parts = sliced.part(), [sliced.part(window) for window in sliced.slices(3, 2)]
    assert [part.mesh.size for part in parts] == 6 * [whole.mesh.size // 6]
    number = sliced.slice_of(whole, 3, 2)
    for n, part in enumerate(parts):
        at = np.searchsorted(whole.keys, part.keys)
        assert np.array_equal(whole.keys[at], part.keys) and np.array_equal(whole.mesh.nodes[at], part.mesh.nodes)
        own = whole.keys[whole.mesh.elements[number == n]]
        assert set(map(tuple, own)) == set(map(tuple, part.keys[part.mesh.elements]))
    assert sum(len(p.mesh.faces["top"]) for p in parts) == len(whole.mesh.faces["top"])
    assert "west" not in parts[1].mesh.faces and "west" in parts[3].mesh.faces
    order = ordering.locality(whole.mesh)
    new = whole.reordered(order)
    assert np.array_equal(new.mesh.elements, whole.mesh.elements[order])
    assert np.array_equal(new.sections, whole.sections[order])


# --- places -----------------------------------------------------------------------------------------------------------------------------


def hills(longitude, latitude):
    """Elevations, m."""
    return 3000 * np.cos(np.radians(20 * longitude)) * np.sin(np.radians(15 * latitude))


FIGURES = {}, {"geographic": False}, {"elliptic": True}, {"elliptic": True, "topography": hills}


@pytest.mark.parametrize("options", FIGURES, ids=["sphere", "geocentric", "ellipsoid", "topography"])
def test_places_round_trip(options):
    turned = plain(azimuth=20, **options)
    longitude, latitude, depth = np.random.default_rng(2).uniform((-75, -22, 0), (-60, -6, 700e3), (200, 3)).T
    places = turned.place(longitude, latitude, depth)
    back = turned.whereabouts(places)
    assert np.allclose(back[:2], (longitude, latitude), atol=1e-11) and np.allclose(back[2], depth, atol=1e-6)
    assert turned.inside(places).all()
    assert not turned.inside(turned.place([-67, -67, -30, 110], [-14, -14, -14, 14], [-9e3, 1600e3, 0, 0])).any()
    part = turned.part()
    assert np.abs(turned.whereabouts(part.mesh.nodes[part.radius == RADIUS])[2]).max() < 1e-6
    assert volume(part.mesh) > 0
    assert shape.determinants(part.mesh.nodes, part.mesh.elements, shape.gll_points(3)).min() > 0


def test_distances_on_the_sphere():
    """5 degrees south of the Bolivia event, in the geocentric latitudes of its reference."""
    geocentric, five = plain(geographic=False), np.radians(5)
    south = RADIUS * np.array((0, -np.sin(five), np.cos(five)))
    assert np.allclose(geocentric.place(CENTRE[0], CENTRE[1] - 5), south, atol=1e-6)
    assert np.allclose(geocentric.place(*CENTRE, 647.1e3), (0, 0, 5723.9e3), atol=1e-6)


def test_ellipsoid_is_that_of_maps():
    """To second order in the flattening: 70 m; up is the normal of the surface, and 0.19 degrees off the radius."""
    flat = plain(10, 400e3, 4, (10, 48), elliptic=True)
    assert [float(flat.ground(10.0, at)) for at in (0.0, 90.0)] == pytest.approx([6378137.0, 6356752.314], abs=25)
    assert pyproj.Geod(ellps="WGS84").f == pytest.approx(planet.FLATTENING, rel=1e-12)
    assert planet.geocentric(45.0) == pytest.approx(44.80757678, abs=1e-7)  # Snyder (1987), table: 45 less 11' 32.8"
    assert planet.geocentric(90.0) == 90 and planet.geographic(90.0) == 90
    place, normal = flat.place(10.0, 48.0), flat.axes(10.0, 48.0)[:, 2]
    along = flat.place(10.0, 48.0001) - flat.place(10.0, 47.9999)
    assert abs(along @ normal) / np.linalg.norm(along) < 3e-5
    assert np.degrees(np.arccos(normal @ place / np.linalg.norm(place))) == pytest.approx(0.191, abs=0.002)


def test_flattening_with_depth():
    """Hydrostatic PREM: 1 / 299.8 at the surface, 1 / 392.5 at the core-mantle boundary, 1 / 413 at the inner core."""
    figure = planet.clairaut(prem.prem(ocean=True), 1 / 299.8)
    flattening = np.interp([RADIUS, 3480e3, 1221.5e3], figure.radii, figure.flattening)
    assert np.allclose(1 / flattening, (299.8, 392.5, 413), rtol=4e-3)
    values = np.ones((8, 2)) * [[3e3], [8e3], [8e3], [4e3], [4e3], [1], [0], [0]]
    refused(ValueError, "centre", planet.clairaut, radial_files.table("shell", [5e6, 6e6], values))


def test_topography_dies_out_at_the_moho():
    hilly = plain(6, 400e3, 6, topography=hills)
    part, flat = hilly.part(), plain(6, 400e3, 6).part()
    up = np.linalg.norm(part.mesh.nodes, axis=1) - np.linalg.norm(flat.mesh.nodes, axis=1)
    assert np.abs(up[part.radius <= 6346.6e3]).max() == 0
    for radius, share in ((RADIUS, 1), (6356e3, 9.4 / 24.4)):
        at = np.isclose(part.radius, radius)
        assert np.allclose(up[at], hills(*hilly.frame.degrees(part.mesh.nodes[at])) * share, atol=1e-6)
    holed = plain(6, 400e3, 6, topography=lambda x, y: np.where(x > -67, np.nan, 0))
    refused(ValueError, "no elevation", holed.part)


# --- directions, events, stations, records ------------------------------------------------------------------------------------------------


def test_axes_are_those_of_the_compass():
    """East, north and up by differences of places."""
    turned, at = plain(azimuth=20), np.array([-72.0, -8.0, 0.0])
    axes = turned.axes(*at[:2])
    assert np.allclose(axes.T @ axes, np.eye(3), atol=1e-14) and np.linalg.det(axes) == pytest.approx(1)
    for axis, change in zip(axes.T, np.diag([1e-4, 1e-4, -10.0])):
        along = turned.place(*(at + change)) - turned.place(*(at - change))
        assert np.allclose(along / np.linalg.norm(along), axis, atol=1e-7)
    assert np.allclose(turned.axes(*CENTRE), np.eye(3), atol=1e-14)
    assert turned.axes(np.zeros(4), np.zeros(4)).shape == (4, 3, 3)


def test_mechanisms_turn_with_their_place():
    """Along the equator, 90 degrees of longitude from the chunk's centre: east there points down here, up there east here."""
    axes = planet.Frame(0.0, 0.0).axes(90.0, 0.0)
    assert np.allclose(axes, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-15)
    tensor = moment_tensor((5, 2, 3, 0.1, 0.2, 0.3))
    turned = axes @ tensor @ axes.T
    assert np.diag(turned) == pytest.approx((5, 2, 3))
    assert turned[0, 2] == pytest.approx(-tensor[0, 2]) and turned[0, 1] == pytest.approx(tensor[1, 2])
    assert np.allclose(np.linalg.eigvalsh(turned), np.linalg.eigvalsh(tensor))


STATIONS = "LPAZ GT -16.2879 -68.1307 4717.0 20.0\nSAML AM -8.9489 -63.1831 120.0 0.0\n"


@pytest.fixture
def there(monkeypatch):
    around = geography.Globe(chunk(PREM, CENTRE, (20, 16), 1500e3, elements=(8, 8), growth=(), azimuth=15))
    monkeypatch.setattr("craton.survey.geography.places", lambda domain, coordinates: around)
    return around


def test_events_and_stations_from_files(there, tmp_path):
    text = (DATA / "sources" / "CMTSOLUTION").read_text()
    (tmp_path / "CMTSOLUTION").write_text(text.replace(" -13.8200\n", " -12\n").replace("-67.2500", "-60"))
    (tmp_path / "STATIONS").write_text(STATIONS)
    domain, event = SimpleNamespace(planar=False), {"kind": "cmtsolution", "file": str(tmp_path / "CMTSOLUTION")}
    entry = SimpleNamespace(coordinates="geographic", convention="rtp", wavelet=None, name=None, **event)
    (source,) = source_files.build(entry, "bolivia", SimpleNamespace(domain=domain), None)
    assert np.allclose(there.chunk.whereabouts(np.array(source.xyz)), (-60, -12, 647.1e3))
    rr, tt, pp, rt, rp = -7.59e20, 7.75e20, -0.16e20, -2.503e21, 0.42e20  # N m: those of the file in dyn cm
    (east, north, up), m = there.chunk.axes(-60.0, -12.0).T, source.moment
    assert up @ m @ up == pytest.approx(rr) and north @ m @ north == pytest.approx(tt)
    assert up @ m @ -north == pytest.approx(rt) and up @ m @ east == pytest.approx(rp)
    assert np.trace(m) == pytest.approx(rr + tt + pp, abs=1e10)
    stations = SimpleNamespace(file=str(tmp_path / "STATIONS"), coordinates="geographic")
    read, xyz, deep, _ = receivers.read_file(stations, domain)
    longitude, latitude, depth = there.chunk.whereabouts(xyz)
    assert (
        read.names == ["LPAZ", "SAML"]
        and not deep
        and not there.outside(xyz)
        and np.allclose(depth, (20, 0), atol=1e-6)
    )
    assert np.allclose(longitude, (-68.1307, -63.1831)) and np.allclose(latitude, (-16.2879, -8.9489))
    words = [text for _, text in there.outside(there.xyz([-67.0, -67.0, -40.0], [-14.0] * 3, [-2e3, 1600e3, 10e3]))]
    assert "above the ground" in words[0] and "1500 km deep" in words[1] and "reaches to 10 and 8" in words[2]


def test_records_get_the_axes_of_their_station(there):
    """Motion straight up at each station, and stretching along its north; distances by ObsPy on the ellipsoid, 0.3 % off."""
    longitude, latitude, time = np.array([-70.0, -62.0]), np.array([-10.0, -18.0]), np.array([1.0, -2.0])
    xyz, axes = there.xyz(longitude, latitude), there.rotation(longitude, latitude)
    north, motion = axes[:, :, 1], axes[:, :, 2]
    tensor = np.stack([north[:, a] * north[:, b] for a, b in geography.TENSOR_AXES], axis=1)
    coords = {"receiver": ["A", "B"], "component": list("ENZ"), "tensor": ["EE", "NN", "ZZ", "EN", "EZ", "NZ"]}
    coords |= {axis: ("receiver", xyz[:, n]) for n, axis in enumerate("xyz")} | {"time": [0.0, 1.0]}
    records = {
        "velocity": (("receiver", "component", "time"), motion[:, :, None] * time, {"units": "m/s"}),
        "strain": (("receiver", "tensor", "time"), tensor[:, :, None] * time),
        "pressure": (("receiver", "time"), np.ones((2, 2))),
    }
    stations = geography.stations(there, xyz, there.xyz(-67.25, -13.82, 600e3))
    local = geography.local(xarray.Dataset(records, coords), stations)
    assert np.allclose(local.velocity, np.array([0, 0, 1])[None, :, None] * time, atol=1e-14)
    assert np.allclose(local.strain.isel(time=0), [[0, 1, 0, 0, 0, 0]] * 2, atol=1e-14)
    assert local.velocity.attrs["units"] == "m/s" and (local.pressure == 1).all()
    assert np.allclose((local.longitude, local.latitude), (longitude, latitude))
    assert np.allclose(local.depth, 0, atol=1e-6)
    obspy = pytest.importorskip("obspy.geodetics")
    for n in range(2):
        metres, azimuth, back = obspy.gps2dist_azimuth(-13.82, -67.25, latitude[n], longitude[n])
        assert (local.azimuth[n], local.back_azimuth[n]) == pytest.approx((azimuth, back), abs=0.2)
        assert float(local.distance[n]) == pytest.approx(np.degrees(metres / RADIUS), rel=6e-3)
