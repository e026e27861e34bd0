"""Sources, receivers and pictures of spectral elements: positions in meshes, rows on polynomials that elements hold exactly, time."""

import tomllib
from dataclasses import replace
from types import SimpleNamespace

import earthcase
import kernelcase
import numpy as np
import pytest
from common import edited
from elementcase import Toy, brick
from fdcase import cases

from craton.conventions import COMPONENT_AXES
from craton.core.grid import Layout
from craton.core.plan import Launch
from craton.methods.spectral_element import snapshots, sources
from craton.methods.spectral_element.mesh.placing import Places, mesh_top
from craton.methods.spectral_element.space import ElementSpace, source_problems
from craton.methods.waves import pictures, tables
from craton.methods.waves.receivers import recording, rows_of_channels
from craton.methods.waves.sources import acting, histories
from craton.model.globe import earth_chunk
from craton.model.mesh import locate
from craton.model.mesh.locate import Cells, Locator
from craton.output.dataset import TimeAxis, waveforms
from craton.scenario import Homogeneous, Layers, Scenario, Snapshot
from craton.survey import leapfrog, wavelets
from craton.survey.channels import Channel, channels
from craton.survey.places import in_the_air
from craton.survey.receivers import Receivers
from craton.survey.sources import PointSource
from craton.tables.ground import GroundTable

ROCK = {"vp": 3000, "vs": 1700, "rho": 2000}
MODEL = Homogeneous(**ROCK)
KAPPA = 2000 * (3000**2 - 4 / 3 * 1700**2)
SEA = {"vp": 1500, "vs": 0, "rho": 1000}
WATER = Homogeneous(**SEA)
LATTICE = brick((4, 4, 4), (400.0, 400.0, 400.0))


def hill(**options):
    """A brick whose top is a sine of 20 m."""
    return brick((6, 5, 4), (600.0, 500.0, 200.0), bump=20, **options)


def sea(model):
    """A brick whose upper half is fluid."""
    mesh = brick((2, 2, 4), (200.0, 200.0, 400.0))
    return Toy(mesh, model, fluid_elements=mesh.centroids()[:, 2] > -200)


def close(values, expected, relative=0.0, absolute=0.0):
    """Equal within a share of each value and a difference."""
    np.testing.assert_allclose(values, expected, rtol=relative, atol=absolute)


def recorded(d, quantity, xyz, state):
    """Components of a quantity at one receiver."""
    receivers = Receivers(["R"], np.atleast_2d(np.asarray(xyz, float)))
    (first, index, weight), _ = rows_of_channels(ElementSpace(d), channels(1, [quantity]), receivers)
    return np.add.reduceat(weight * state[index], first[:-1])


# --- positions --------------------------------------------------------------------------------------------------------------------------


def test_positions_in_distorted_elements_are_found():
    for order in (1, 2):
        mesh, rng = hill(moved=0.5, order=order), np.random.default_rng(3)
        element, local = rng.integers(0, mesh.size, 500), rng.uniform(-1, 1, (500, 3))
        places = Locator(mesh).find(Cells(mesh.nodes, mesh.elements).at(element, local))
        np.testing.assert_array_equal(places.element, element)
        close(places.local, local, absolute=1e-10)
        assert places.distance.max() < 1e-9


@pytest.mark.long
def test_nearest_of_flat_elements_is_the_one_below():
    """Sea level of a coarse Earth bulges beyond its elements, 6.7 km at most at 22 degrees each; near edges eight others are nearer."""
    coarse = {"chunk": {"chunks": 6, "elements": [4, 4], "bottom": "300 km"}}
    scenario = Scenario(**edited(tomllib.loads(earthcase.WHOLE), domain=coarse))
    prepared, _ = earth_chunk.prepared(scenario, earth_chunk.chunk_of(scenario))
    places = np.random.default_rng(5).standard_normal((2000, 3))
    places *= 6371e3 / np.linalg.norm(places, axis=1, keepdims=True)
    assert Locator(prepared.mesh).find(places).distance.max() < 8e3


def test_corners_belong_to_an_element_and_outside_is_told_with_distance_and_element():
    mesh, flat = (brick((4, 4, 3), (400.0, 400.0, 300.0), moved=moved) for moved in (0.4, 0.0))
    nodes = Locator(mesh).find(mesh.nodes)
    assert all(e >= 0 and node in mesh.elements[e] for node, e in enumerate(nodes.element))
    assert nodes.distance.max() < 1e-9
    xyz = np.array([[50.0, 50.0, 30.0], [200.0, 200.0, -150.0], [-3.0, 50.0, -50.0]])
    places = Locator(flat).find(xyz)
    assert (places.element < 0).tolist() == [True, False, True]
    close(places.distance, [30, 0, 3], absolute=1e-9)
    problems = locate.problems(places, xyz, ["source.0.at", "source.1.at", "receivers.0.line"], ["", "", "L3"])
    assert [p.key for p in problems] == ["source.0.at", "receivers.0.line"]
    assert "30 m from its nearest element, 32" in problems[0].message and '"L3": (-3, 50, -50) m' in problems[1].message


def test_top_of_a_mesh_and_positions_just_above_it():
    """They are put on it; higher ones are not."""
    for order, error in ((2, 0.02), (1, 0.7)):  # m, of a sine of 20 m over edges of 100 m: parabolas; chords
        mesh = hill(order=order)
        top = mesh_top(mesh)
        x, y = np.random.default_rng(2).uniform(0, 500, (2, 300))
        close(top.surface(x, y), 20 * np.sin(3 * x / 600), absolute=error)
        assert np.isnan(top.surface(-1.0, 20.0)) and top.surface(np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    places, z = Places(mesh, np.zeros(mesh.size, bool)), float(top.surface(150.0, 130.0))
    near = places.locate([[150.0, 130.0, z + 1.0], [150.0, 130.0, z + 5.0]])  # 2 % of an edge of 100 m are allowed
    assert near.element[0] >= 0 and near.local[0, 2] == 1 and near.element[1] == -1
    ground = SimpleNamespace(top=lambda x, y: np.full(np.shape(x), z + 5.0))  # of the model, there
    assert (Places(mesh, places.fluid, ground).locate([[150.0, 130.0, z + 5.0]]).element >= 0).all()


def test_a_place_on_a_mesh_above_a_kink_of_the_ground_is_not_in_the_air():
    """Elements are a little above the ground where that bends between their nodes; depths count from the mesh."""
    ground = GroundTable(x=[0, 350, 1000], z=[10, 35, 80])
    model = SimpleNamespace(topography=ground, water=None)
    top = SimpleNamespace(top=lambda x, y: np.array([33.95, 33.95, np.nan]))
    places = np.array([[333.75, 0, 33.9], [333.75, 0, 34.2], [333.75, 0, 33.9]])
    for mesh, expected in ((top, [False, True, True]), (None, [True, True, True])):
        high, _ = in_the_air(SimpleNamespace(model=model, mesh_top=mesh), places)
        assert high.tolist() == expected


# --- out --------------------------------------------------------------------------------------------------------------------------------


def polynomial(x, y, z):
    """A velocity of degree 4 in space."""
    x, y, z = x / 100, y / 100, z / 100
    return np.stack([x * y**2 + z**3, x**4 - y * z, 1 + x * y * z])


def gradient(x, y, z):
    """Its derivatives d v_a / d x_b."""
    x, y, z = x / 100, y / 100, z / 100
    return np.array([[y**2, 2 * x * y, 3 * z**2], [4 * x**3, -z, -y], [y * z, x * z, x * y]]) / 100


def six(tensor):
    """Components EE NN ZZ EN EZ NZ."""
    return [tensor[axes] for axes in COMPONENT_AXES.values()]


AT = (137.0, 61.0, -93.0)


def linear(matrix):
    """A field whose gradient is a matrix."""
    return lambda x, y, z: np.einsum("ab,b...->a...", matrix, np.stack([x, y, z]))


def test_velocity_strain_rotation_and_pressure_of_polynomials_in_solids():
    """Of degree 4 in boxes; linear in distorted elements with curved faces; pressure also of an anisotropic solid."""
    box, g, matrix = Toy(brick(), MODEL), gradient(*AT), np.random.default_rng(5).standard_normal((3, 3)) / 100
    bent = Toy(brick(moved=0.4, order=2, bump=15), MODEL, 3)
    law = np.random.default_rng(4).standard_normal((6, 6)) * 1e9
    law = law @ law.T / 1e9 + 2e10 * np.eye(6)
    constants = {f"c{i + 1}{j + 1}": law[i, j] for i in range(6) for j in range(i, 6)}
    crystal = Toy(brick(), Homogeneous(rho=2000, stiffness=constants))
    strain = np.array([g[0, 0], g[1, 1], g[2, 2], g[1, 2] + g[2, 1], g[0, 2] + g[2, 0], g[0, 1] + g[1, 0]])
    curl = np.array([g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]])
    moving, pushed = box.filled(velocity=polynomial), box.filled(displacement=polynomial)
    sheared = bent.filled(velocity=linear(matrix))
    for d, state, quantity, expected, *bounds in (
        (box, moving, "velocity", polynomial(*AT), 1e-12),
        (box, moving, "strain_rate", six((g + g.T) / 2), 1e-11, 1e-15),
        (box, moving, "rotation_rate", curl / 2, 1e-11),
        (box, pushed, "pressure", -KAPPA * np.trace(g), 1e-11),
        (crystal, pushed, "pressure", -(law @ strain)[:3].sum() / 3, 1e-10),
        (bent, sheared, "velocity", matrix @ AT, 1e-11),
        (bent, sheared, "strain_rate", six((matrix + matrix.T) / 2), 1e-9, 1e-13),
    ):
        close(recorded(d, quantity, AT, state), expected, *bounds)
    end = (20.0, 120.0, -10.0)
    channel = Channel(0, "fibre_strain_rate", "", True, terms=((AT, 0, 0.5), (end, 2, -2.0)))
    (_, index, weight), _ = rows_of_channels(ElementSpace(box), [channel], Receivers([], np.empty((0, 3))))
    close((weight * moving[index]).sum(), 0.5 * polynomial(*AT)[0] - 2 * polynomial(*end)[2], 1e-12)


def test_both_sides_of_a_sea_floor_and_quantities_of_a_fluid():
    d, at = sea(WATER), (37.0, 161.0, -93.0)
    on_floor = [[130.0, 60.0, -200.0], [100.0, 100.0, -200.0], [130.0, 60.0, -150.0]]
    assert d.fluid[d.places.locate(on_floor, True).element].tolist() == [True, True, True]
    assert d.fluid[d.places.locate(on_floor, False).element].tolist() == [False, False, True]
    chi = {"potential_rate": lambda x, y, z: (x / 100) ** 3 * (y / 100) + (z / 100) ** 4}
    state = d.filled(**chi, pressure=lambda x, y, z: 2 * x - y * z)
    x, y, z = np.array(at) / 100
    close(recorded(d, "velocity", at, state), np.array([3 * x**2 * y, x**3, 4 * z**3]) / 100 / 1000, 1e-10)
    second = np.array([6 * x * y, 0, 12 * z**2, 3 * x**2, 0, 0]) / 100**2 / 1000
    close(recorded(d, "strain_rate", at, state), second, 1e-9, 1e-15)
    close(recorded(d, "pressure", at, state), 2 * at[0] - at[1] * at[2], 1e-12)
    # on the floor pressure is that of the water, velocity that of the rock, which is at rest
    close(recorded(d, "pressure", on_floor[0], state), 2 * 130 + 60 * 200, 1e-12)
    assert (recorded(d, "velocity", on_floor[0], state) == 0).all()
    placed, *_ = recording(
        ElementSpace(d), channels(1, ["pressure", "velocity"]), Receivers(["H"], np.array([at])), 10, "float64"
    )
    assert [c.place for c in placed] == [0.0, 0.5, 0.5, 0.5]


def test_rows_of_many_channels_are_those_of_each():
    """Of four quantities, receivers in both media and a fibre, in one table: what a channel alone has, and nothing else."""
    d, xyz = sea(WATER), np.random.default_rng(2).uniform((5, 5, -395), (195, 195, -5), (6, 3))
    quantities = ["curl", "velocity", "pressure", "divergence"]
    fibre = Channel(-1, "fibre_strain_rate", "", True, terms=((tuple(xyz[0]), 0, 0.5), (tuple(xyz[1]), 2, -2.0)))
    every = [*channels(len(xyz), quantities), fibre]
    _, _, arrays, _ = recording(
        ElementSpace(d), every, Receivers([f"R{n}" for n in range(len(xyz))], xyz), 10, "float64"
    )
    first, index, weight = (arrays[f"sample_{part}"].data for part in ("first", "source", "weight"))
    rows = {}
    for n, at in enumerate(xyz):
        for quantity in quantities:
            for c in channels(1, [quantity]):
                rows[n, quantity, c.component] = rows_of_channels(ElementSpace(d), [c], Receivers(["R"], at[None]))[0][
                    1:
                ]
    rows[-1, "fibre_strain_rate", ""] = rows_of_channels(ElementSpace(d), [fibre], Receivers([], np.empty((0, 3))))[0][
        1:
    ]
    assert len(first) == len(every) + 1 and first[-1] == len(index)
    assert {*d.fluid[d.locate(xyz).element].tolist()} == {True, False}
    for n, channel in enumerate(every):
        part, row = slice(first[n], first[n + 1]), rows[channel.receiver, channel.quantity, channel.component]
        np.testing.assert_array_equal(index[part], row[0])
        close(weight[part], row[1], 1e-6, 1e-12 * np.abs(row[1]).max())


# --- in ---------------------------------------------------------------------------------------------------------------------------------


def source(xyz=AT, moment=None, force=None):
    """A point source with a Gaussian."""
    wavelet = wavelets.build(SimpleNamespace(kind="gaussian", tau=0.01, delay=0.05))
    moment, force = (None if values is None else np.array(values, float) for values in (moment, force))
    return PointSource("S", xyz, moment, force, wavelet)


def force_of(d, sources):
    """What the sources add to the state per unit of their series."""
    index, weight, _ = ElementSpace(d).point_rows(sources)
    out = np.zeros(d.size)
    np.add.at(out, index, weight)
    return out


def work(d, state, name, field):
    """Sum over the points of a force times a field."""
    return (state * d.filled(**{name: field}))[d.offset(name) : d.offset(name) + 3 * d.counts["solid"]].sum()


def test_forces_and_moments_do_the_right_work():
    """A force works on a displacement there, a moment on its gradient: exact for what the elements hold, linear fields in any mesh."""
    matrix, force = np.random.default_rng(6).standard_normal((2, 3, 3))
    moment, turn = force + force.T, np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    for mesh in (brick(), brick(moved=0.4, order=2, bump=15)):
        d = Toy(mesh, MODEL)
        pushed, state = force_of(d, [source(force=force[0])]), force_of(d, [source(moment=moment)])
        close(work(d, pushed, "force", linear(matrix)), force[0] @ matrix @ AT, 1e-10)
        close(work(d, state, "force", linear(matrix)), (moment * matrix).sum(), 1e-10)
        size = np.abs(state).max()
        shift = work(d, state, "force", lambda x, y, z: np.stack([1 + 0 * x, 2 + 0 * x, 3 + 0 * x]))
        assert abs(shift) < 1e-12 * size  # no force in all
        assert abs(work(d, state, "force", linear(turn))) < 1e-9 * size * 300  # nor a torque


def strain_error(mesh, at, count=20, wave=2 * np.pi / 125):
    """By how much a moment's work on plane waves, 5 points of degree 4 long, differs from the exact one: relative."""
    d, rng, errors, works = Toy(mesh, MODEL), np.random.default_rng(2), [], []
    unit, pairs = np.eye(3), COMPONENT_AXES.values()
    couples_of_axes = [np.maximum(np.outer(unit[a], unit[b]), np.outer(unit[b], unit[a])) for a, b in pairs]
    units = [force_of(d, [source(at, moment=moment)]) for moment in couples_of_axes]
    for direction, b, phase in zip(*rng.standard_normal((2, count, 3)), rng.uniform(0, 6, count)):
        k, moment = wave * direction / np.linalg.norm(direction), np.outer(b, b)

        def field(x, y, z, k=k, b=b, phase=phase):
            return np.multiply.outer(b, np.cos(k[0] * x + k[1] * y + k[2] * z + phase))

        works.append(-(b @ moment @ k) * np.sin(k @ np.array(at) + phase))
        errors.append(work(d, np.array(six(moment)) @ units, "force", field) - works[-1])
    return np.linalg.norm(errors) / np.linalg.norm(works)


MORE = [(150, 150, -150), (230, 170, -110), (390, 210, -200)]


@pytest.mark.parametrize("at", cases([(200, 200, -200), (200, 150, -50)], *((at,) for at in MORE)))
def test_moments_in_a_lattice_of_boxes(at):
    """At a corner, on a face, in an element, in its middle, near a side: 2 to 30 times more exact than slopes of one element."""
    bent = LATTICE.nodes + 1e-3 * np.sin(LATTICE.nodes[:, [1, 2, 0]] / 40)  # no boxes any more
    alone, shared = strain_error(replace(LATTICE, nodes=bent), at), strain_error(LATTICE, at)
    assert shared < 0.02 and 2 * shared < alone


def test_moments_stay_on_their_side_of_an_interface():
    """None of it acts on elements of another medium; on the interface it is left to the elements that hold it."""
    d = Toy(LATTICE, Layers(layers=[{"top": 0} | ROCK, {"top": -200, "vp": 4000, "vs": 2300, "rho": 2500}]))
    upper = LATTICE.centroids()[:, 2] > -200
    for z, alone in ((-120.0, True), (-180.0, True), (-200.0, False)):
        shared, _, places, weights = sources.samples(d, np.array([[150.0, 170.0, z]]))
        assert shared[0] == alone
        assert not alone or upper[places.element].all() and weights.sum() == pytest.approx(1, abs=1e-12)
        assert z != -120 or len(np.unique(places.element)) == 18


def test_explosion_in_a_fluid_and_what_a_fluid_does_not_have():
    d, at = sea(WATER), (50, 60, -70)
    state = force_of(d, [source(at, moment=3e9 * np.eye(3))])
    assert not np.any(np.delete(state, d.offset("potential_force") + np.arange(d.counts["fluid"])))
    weight = d.filled(potential_force=lambda x, y, z: x**2 - 3 * z)
    close((state * weight).sum(), -3e9 / (1000 * 1500**2) * (50.0**2 + 210), 1e-10)
    shear = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    for part, kind in (("a force", {"force": [1, 0, 0]}), ("with shear", {"moment": shear})):
        (problem,) = source_problems(d, [source(at, **kind)])
        assert part in problem.message and "(50, 60, -70) m" in problem.message
    assert not source_problems(d, [source((50, 60, -370), force=[1, 0, 0])])


def test_moments_are_the_sum_of_their_rates():
    d = Toy(brick(), MODEL, dt=1e-3, steps=120)
    series, rates = histories(ElementSpace(d), [source(moment=np.eye(3)), source(force=[1, 0, 0])])
    half = d.start + (np.arange(d.steps) + 0.5) * d.dt
    expected = np.concatenate([[0], np.cumsum(leapfrog.for_leapfrog(rates[:, :1], d.dt, 0.5)[:, 0])[:-1]]) * d.dt
    np.testing.assert_allclose(series[:, 0], expected, rtol=1e-14)
    close(rates[:, 0], np.exp(-((half - 0.05) ** 2) / 2e-4) / np.sqrt(2 * np.pi) / 0.01, 1e-12)
    assert abs(series[-1, 0] - 1) < 1e-4  # the wavelet has unit area; the correction moves it by some 1e-5 s


def test_a_held_series_keeps_its_last_value_and_slip_is_integrated_window_by_window():
    series = {"at": np.array([0, 3, 3, 4]), "series": np.array([1.0, 2.0, 5.0, 7.0])}
    launch = Launch(tables.HOLD, tables.HOLD.arrays, (0, 1, 0, 1, 0, 3), {"columns": 1, "slots": 1})
    for step, expected in ((0, [0, 0, 0]), (2, [1, 0, 0]), (3, [2, 0, 0]), (4, [5, 0, 0]), (9, [5, 0, 7])):
        numbers = {"begin": np.array([2, 0, 5], np.int32), "step": np.array([step], np.int32)}
        arrays = series | numbers | {"now": np.full(3, np.nan)}
        after, advance = kernelcase.commit([launch], arrays, Layout((3, 3, 3), 2), "float64")
        advance()
        np.testing.assert_array_equal(after["now"], expected)
    rates, at = np.array([1.0, 2.0, 3.0, 10.0, 20.0]), np.array([0, 3, 3, 5])
    np.testing.assert_allclose(
        acting(SimpleNamespace(integrates=True, d=SimpleNamespace(dt=0.5)), rates, at), [0.5, 1.5, 3.0, 5.0, 15.0]
    )


def test_samples_of_one_quantity_at_two_places_in_the_step():
    """Pressure in a solid is sampled a step later than in a fluid: both come out on the times of the dataset."""
    dt, n = 0.01, np.arange(400)

    def pulse(t):
        return np.exp(-((t - 2) ** 2) / 0.08)

    used = [Channel(0, "pressure", "P", False), Channel(1, "pressure", "P", False, at=0.0)]
    samples = np.stack([pulse((n + c.place) * dt) for c in used], axis=1)
    records = waveforms(samples, used, Receivers(["A", "B"], np.zeros((2, 3))), TimeAxis(400, dt, 0.0), ["pressure"])
    np.testing.assert_allclose(records.pressure, np.tile(pulse((n + 0.5) * dt), (2, 1)), atol=2e-6)


def test_boxes_of_few_positions_are_those_of_many():
    """A look at all boxes, or at trees of them."""
    cells = Locator(brick(counts=(6, 5, 4), moved=0.3)).cells
    at = np.random.default_rng(2).uniform([-20, -20, -220], [320, 220, 20], (100, 3))
    together = cells.all_candidates(at)
    assert len(together[0]) > 0 == len(cells.all_candidates(at[:0])[0])
    apart = [cells.all_candidates(at[n : n + 20]) for n in range(0, 100, 20)]
    assert np.array_equal(together[0], np.concatenate([20 * n + which for n, (which, _) in enumerate(apart)]))
    assert np.array_equal(together[1], np.concatenate([boxes for _, boxes in apart]))


# --- pictures on regular rasters -------------------------------------------------------------------------------------------


def shot(d, state, **spec):
    """The series of a snapshot and its picture of a state."""
    series, fields = (
        pictures.series_of(ElementSpace(d), Snapshot(**{"name": "p", "every": 0.02} | spec)),
        d.state.fields,
    )
    parts = {name: state[fields[name][0] :][: fields[name][1] * fields[name][2]] for name in series.reads}
    return series, snapshots.picture_maker(series)(parts)


def places(series):
    """x, y, z of the picture's points, broadcast to its shape."""
    z, y, x = np.meshgrid(*(np.atleast_1d(series.coords[a]) for a in "zyx"), indexing="ij")
    return [np.squeeze(c) for c in (x, y, z)]


def test_pictures_of_the_velocity_of_a_polynomial_and_their_times(monkeypatch):
    d = Toy(brick(), MODEL)
    state = d.filled(velocity=polynomial)
    for plane in ({"y": 93.0}, {"z": -41.0}, None):
        monkeypatch.undo()
        series, values = shot(d, state, plane=plane)
        assert values.shape == series.shape and values.dtype == np.float32
        close(values, polynomial(*places(series)), absolute=3e-6 * np.abs(values).max())
        assert series.coords["x"][[0, -1]].tolist() == [0, 300] and len(series.coords["x"]) == 16
        monkeypatch.setattr(snapshots, "STORED", 0)  # matrices made for each snapshot
        np.testing.assert_array_equal(shot(d, state, plane=plane)[1], values)
    series, _ = shot(d, state, plane={"y": 50}, stride=3)
    close(series.times, np.array([0.02, 0.04, 0.06, 0.08, 0.1]), absolute=d.dt / 2 + 1e-9)
    assert len(series.coords["x"]) == 6 and series.coords["y"] == 50 and (series.steps < d.steps).all()


def test_derived_quantities_of_pictures():
    d = Toy(brick(), MODEL)
    state = d.filled(velocity=polynomial, displacement=polynomial)
    g = gradient(*places(shot(d, state, plane={"y": 93.0})[0]))
    trace = np.trace(g)
    for quantity, expected in (
        ("divergence", trace),
        ("pressure", -KAPPA * trace),
        ("curl", [g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]]),
        ("strain_rate", [(g[a, b] + g[b, a]) / 2 for a, b in COMPONENT_AXES.values()]),
    ):
        close(shot(d, state, plane={"y": 93.0}, quantity=quantity)[1], expected, absolute=1e-5 * np.abs(expected).max())


def test_nothing_above_a_bent_top_and_its_surface():
    d = Toy(hill(), MODEL)
    state = d.filled(velocity=lambda x, y, z: np.stack([x, y, z]))
    series, values = shot(d, state, plane={"y": 250.0})
    top, z = 20 * np.sin(3 * series.coords["x"] / 600), series.coords["z"][:, None]
    assert np.isnan(values[:, z > top + 1]).all() and np.isfinite(values[:, z < top - 1]).all()
    series, values = shot(d, state, plane={"surface": True})
    assert values.shape == series.shape == (3, 26, 31) and list(series.coords) == ["y", "x"]
    close(values[2], np.broadcast_to(top, (26, 31)), absolute=0.7)  # chords of the sine


def test_a_picture_of_a_sea_over_rock():
    d = sea(Layers(layers=[{"top": 0} | SEA, {"top": -200} | ROCK]))
    state = d.filled(velocity=lambda x, y, z: np.stack([x, y, z]), potential_rate=lambda x, y, z: 1000 * (x * y + z**2))
    series, values = shot(d, state, plane={"y": 50.0})
    x, _, z = places(series)
    close(values, np.where(z > -200, [50 + 0 * x, x, 2 * z], [x, 50 + 0 * x, z]), 1e-5, 1e-2)
    assert set(series.reads) == {"velocity", "potential_rate"}
