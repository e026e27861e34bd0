"""Spectral elements, the kernels' bodies on the CPU: against dense matrices, by colours, in whole units."""

from dataclasses import replace

import numpy as np
import pytest
import semcase
from common import difference, refused
from kernelcase import PRECISIONS, tiers, unoptimised

from craton.backends.base import interleaved, separate
from craton.backends.cpu import CPU, slabs
from craton.core.plan import ColourBoundaries
from craton.methods.spectral_element.equations import operators as sem
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.element import DEGREES
from craton.model.media import attenuation

# Relative to the largest force: sums of some 100 products; cofactors of coordinates cost float32 a digit.
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
EXAMPLE = attenuation.relaxation((0.1, 10.0), 1 / 20, storage="full")
GEOMETRIES = ("stored", "nodes", "corners", "box")


@pytest.fixture(autouse=True)
def compiled_in_little_time(monkeypatch):
    unoptimised(monkeypatch)


def field(mesh, components=3, seed=2):
    """Random values at the global points, zero at the dummy point."""
    values = np.random.default_rng(seed).standard_normal((mesh.count + 1, components))
    values[-1] = 0
    return values


# --- forces -----------------------------------------------------------------------------------------------------------------------------


CASES = [(4, geometry, n, full, "float64") for geometry in GEOMETRIES for n in (True, False) for full in (True, False)]
CASES += [(degree, "nodes", True, False, PRECISIONS[degree % 2]) for degree in DEGREES]
SHORT = [(4, "stored", False, True, "float64"), (4, "corners", False, False, "float64")]
SHORT += [(4, "box", True, True, "float64"), (4, "nodes", True, False, "float32")]


@pytest.mark.parametrize("degree, geometry, per_node, full, precision", tiers(CASES, SHORT))
def test_forces_are_those_of_dense_matrices(degree, geometry, per_node, full, precision):
    """Elements that fill up a group of lanes add nothing."""
    mesh = semcase.mesh_of(degree, geometry)
    u, moduli = field(mesh), mesh.random(21 if full else 2, per_node)
    u[-1] = 7.0
    forces = semcase.forces(mesh, u, moduli, sem.Kind(degree, geometry, per_node, full), precision)
    assert difference(forces, semcase.dense_force(mesh, u, moduli)) <= TOLERANCE[precision]


FLUIDS = [*((4, geometry) for geometry in GEOMETRIES), (2, "nodes"), (7, "corners"), (7, "stored")]


@pytest.mark.parametrize("degree, geometry", tiers(FLUIDS, FLUIDS[:4]))
def test_fluid_forces_are_those_of_dense_matrices(degree, geometry):
    mesh = semcase.mesh_of(degree, geometry)
    chi, buoyancy = field(mesh, 1)[:, 0], mesh.random(1)
    arrays = {"potential_force": np.zeros(chi.size), "potential": chi, "moduli": buoyancy}
    arrays |= {"points": mesh.points, "geometry": mesh.geometry(geometry)}
    after = semcase.run(sem.fluid(sem.Kind(degree, geometry)), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0})
    assert difference(after["potential_force"], semcase.dense_fluid(mesh, chi, buoyancy)) <= TOLERANCE["float64"]


def test_arrays_may_begin_at_a_later_row_of_points():
    mesh = semcase.Mesh(2, (4, 2, 2))  # 16 elements: geometry and moduli of the last 8 only
    u, moduli = field(mesh), mesh.random(2)
    arrays = semcase.solid(mesh, u, moduli)
    arrays |= {"geometry": arrays["geometry"][8:], "moduli": moduli[8:]}
    after = semcase.run(sem.stiffness(sem.Kind(2)), arrays, (0, 1, 0, 1, 0, 8), {"first": 8})
    moduli[:8] = 0
    assert difference(after["force"].reshape(-1, 3), semcase.dense_force(mesh, u, moduli)) <= TOLERANCE["float64"]


# --- attenuation ------------------------------------------------------------------------------------------------------------------------


def relaxed_stress(strain, moduli, loss, xi, bulk):
    """Unrelaxed stress less the memory variables': (ne, 3, 3, n^3); xi (L, ne, 3, 3, n^3) follow the strain."""
    lam, mu = moduli[:, 0, None, None], moduli[:, 1, None, None]
    y_mu = EXAMPLE.coefficients(loss[:, 0])
    y_kappa = EXAMPLE.coefficients(loss[:, 1]) if bulk else np.zeros_like(y_mu)

    def stress(e, of_shear=1.0, of_bulk=1.0):
        trace = np.einsum("eaap->ep", e)[:, None, None] * np.eye(3)[..., None]
        return 2 * mu * of_shear * (e - trace / 3) + (lam + 2 / 3 * mu) * of_bulk * trace

    lost = (stress(variable, *(y[:, None, None, :, n] for y in (y_mu, y_kappa))) for n, variable in enumerate(xi))
    return stress(strain) - sum(lost)


@pytest.mark.parametrize("bulk", [True, pytest.param(False, marks=pytest.mark.long)])
def test_memory_variables_follow_strain_that_is_linear_between_steps(bulk):
    mesh, dt = semcase.Mesh(3, (2, 1, 1)), 0.02
    kind = sem.Kind(3, relaxation=sem.relaxation_constants(EXAMPLE, dt), bulk=bulk)
    moduli, x = mesh.random(2), EXAMPLE.omega * dt
    loss = np.random.default_rng(5).uniform(0, 1 / 20, (mesh.size, 1 + bulk, mesh.element.size))
    g, weight = semcase.gradients(mesh.element, mesh.local)
    decay, mean = (n[:, *4 * (None,)] for n in (np.exp(-x), (1 - np.exp(-x)) / x))
    xi = before = np.zeros((mesh.size, 3, 3, mesh.element.size))
    memory = np.zeros((mesh.size, mesh.element.size, kind.stored))
    for seed in range(3, 7):
        u = field(mesh, seed=seed)
        now = semcase.strain_of(mesh, u)
        xi = decay * xi + (mean - decay) * before + (1 - mean) * now  # exact for a linear strain
        stress = relaxed_stress(now, moduli, loss, xi, bulk)
        expected = -semcase.spread(mesh, np.einsum("erpq,ecrp,ep->eqc", g, stress, weight))
        arrays = semcase.solid(mesh, u, moduli) | {"memory": memory, "loss": loss}
        after = semcase.run(sem.stiffness(kind), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0})
        # numbers of EXAMPLE.coefficients and of the text are the same polynomials
        assert difference(after["force"].reshape(-1, 3), expected) <= 1e-11
        memory, before = after["memory"], now


# --- points -----------------------------------------------------------------------------------------------------------------------------


UPDATES = [  # operator, the arrays of a leapfrog step, components
    (sem.update(), ("displacement", "velocity", "force", "inverse_mass"), 3),
    (sem.fluid_update(), ("potential", "potential_rate", "potential_force", "fluid_inverse_mass"), 1),
]


def test_update_is_one_leapfrog_step():
    """That of a fluid writes the pressure too."""
    for op, names, fields in UPDATES:
        (field, rate, force, mass), rng, count = names, np.random.default_rng(1), 5001 * fields
        arrays = {name: rng.standard_normal(count) for name in (field, rate, force, "pressure")}
        arrays[mass] = rng.random(5001)
        after = semcase.run(op, arrays, (0, 1, 0, 1, 0, count), {"dt": 0.3}, machine=CPU(threads=2))
        acceleration = np.repeat(arrays[mass], fields) * arrays[force]
        expected = {rate: arrays[rate] + 0.3 * acceleration}
        expected[field] = arrays[field] + 0.3 * expected[rate]
        expected |= {"pressure": -acceleration} if fields == 1 else {}
        for name, values in expected.items():
            assert np.allclose(after[name], values, rtol=1e-14, atol=1e-14), name
        assert not after[force].any()


def test_stacey_is_implicit_in_the_velocity():
    rng, dt, count = np.random.default_rng(1), 0.2, 60
    points, mass = rng.choice(count, 23, replace=False).astype(np.int32), 0.5 + rng.random(23)
    c = rng.random((23, 6)) + [3, 3, 3, 0, 0, 0]  # damping matrices
    arrays = {"force": rng.standard_normal(3 * count), "velocity": rng.standard_normal(3 * count), "points": points}
    arrays["terms"] = np.concatenate([mesh_terms.implicit(c, mass, dt), c], 1).T
    after = semcase.run(sem.stacey(), arrays, (0, 1, 0, 1, 0, 23), {"count": 23}, laned=())
    force, velocity, damped = (a.reshape(-1, 3) for a in (arrays["force"], arrays["velocity"], after["force"]))
    for n, g in enumerate(points):
        damping = c[n][semcase.VOIGT]
        acceleration = np.linalg.solve(mass[n] * np.eye(3) + dt / 2 * damping, force[g] - damping @ velocity[g])
        assert np.allclose(damped[g], mass[n] * acceleration, rtol=1e-11, atol=1e-12)
    inner = np.setdiff1d(np.arange(count), points)
    assert (damped[inner] == force[inner]).all()


def test_coupling_is_its_own_transpose():
    rng, (solid, fluid) = np.random.default_rng(1), np.array([[4, 0, 7], [1, 3, 2]], np.int32)
    arrays = {"solid": solid, "fluid": fluid, "vectors": rng.standard_normal((3, 3)), "force": np.zeros(27)}
    arrays |= {"potential_force": rng.standard_normal(5), "displacement": rng.standard_normal(27)}
    arrays |= {"fluid_inverse_mass": rng.random(5)}
    box, count = (0, 1, 0, 1, 0, 3), {"count": 3}
    moved = semcase.run(sem.to_fluid(), arrays, box, count)["potential_force"] - arrays["potential_force"]
    pressed = semcase.run(sem.to_solid(), arrays, box, count)["force"]
    chi, expected = arrays["potential_force"] * arrays["fluid_inverse_mass"], np.zeros(5)
    expected[fluid] = (arrays["vectors"].T * arrays["displacement"].reshape(-1, 3)[solid]).sum(1)
    assert np.allclose(moved, expected, rtol=1e-13)
    assert np.isclose(chi @ moved, -pressed @ arrays["displacement"], rtol=1e-13)


@pytest.mark.parametrize("fields", [1, 3])
def test_rigid_points_have_no_force(fields):
    arrays = {"force": np.arange(1.0, 10 * fields + 1), "points": np.array([2, 5], np.int32)}
    after = semcase.run(sem.rigid(fields), arrays, (0, 1, 0, 1, 0, 2), {"count": 2}, laned=())["force"]
    assert not after.reshape(10, fields)[[2, 5]].any() and (after.reshape(10, fields) != 0).all(1).sum() == 8


# --- colours, lanes, threads --------------------------------------------------------------------------------------------------------------


def chunked():
    """A row of 32 elements in 4 chunks of 8, two colours: the even chunks first."""
    mesh = semcase.Mesh(2, (32, 1, 1))
    order = np.concatenate([np.arange(8) + 8 * n for n in (0, 2, 1, 3)])
    mesh.points, mesh.local = mesh.points[order], mesh.local[order]
    return mesh, replace(sem.stiffness(sem.Kind(2)), grain=(1, 1, 8)), ColourBoundaries((0, 16, 32))


@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.long)])
def test_colours_of_chunks_give_the_same_bits_for_any_number_of_threads(precision):
    mesh, op, colours = chunked()
    u, moduli, box = field(mesh), mesh.random(2), (0, 1, 0, 1, 0, mesh.size)
    arrays = semcase.solid(mesh, u, moduli)
    one, two, three = (
        semcase.run(op, arrays, box, {"first": 0}, precision, CPU(threads=n), colours)["force"] for n in (1, 2, 3)
    )
    assert (one == two).all() and (one == three).all()
    assert difference(one.reshape(-1, 3), semcase.dense_force(mesh, u, moduli)) <= TOLERANCE[precision]


def test_groups_of_lanes_stay_whole():
    """In boxes, in slabs of threads without OpenMP, in turns cut at limits inside a box; and are put side by side and back."""
    mesh, op, _ = chunked()
    arrays = semcase.solid(mesh, np.zeros(9), mesh.random(2))
    words = "stiffness: element 12 is within a group of 8"
    refused(ValueError, words, semcase.run, op, arrays, (0, 1, 0, 1, 0, 12), {"first": 0})
    assert ColourBoundaries.cut((0, 1, 0, 1, 8, 40), (0, 8, 24, 40, 64)) == [(0, 1, 0, 1, 8, 24), (0, 1, 0, 1, 24, 40)]
    assert ColourBoundaries.cut((0, 1, 0, 1, 8, 40), ()) == [(0, 1, 0, 1, 8, 40)]
    boxes = slabs(np.array([0, 1, 0, 1, 16, 100], np.int32), 4, 8, 3)
    assert [tuple(box[4:]) for box in boxes] == [(16, 40), (40, 72), (72, 100)]
    assert len(slabs(np.array([0, 2, 0, 1, 0, 9], np.int32), 0, 8, 4)) == 2
    values = np.arange(16 * 3 * 5).reshape(16, 3, 5)
    side = interleaved(values, 8)
    assert side.shape == (2, 3, 5, 8) and (side[1, 2, 4] == values[8:, 2, 4]).all()
    assert (separate(side) == values).all()
    refused(ValueError, "12 elements are no multiple of 8", interleaved, values[:12], 8)


# --- forces in whole units --------------------------------------------------------------------------------------------------------------


def test_counted_forces_do_not_depend_on_the_order_of_elements():
    """The same numbers bit by bit, and nearer to float64 than single precision is."""
    mesh, unit, counts = semcase.Mesh(4, (4, 2, 2), seed=3), 2.0**-40, []
    u, moduli, op = field(mesh), mesh.random(2), sem.stiffness(sem.Kind(4)).exact()
    reals = semcase.forces(mesh, u, moduli, sem.Kind(4), "float32")
    for order in (np.arange(mesh.size), np.random.default_rng(4).permutation(mesh.size)):
        arrays = semcase.solid(mesh, u, moduli) | {"force": np.zeros(u.size, np.int64)}
        arrays |= {name: arrays[name][order] for name in ("points", "geometry", "moduli")}
        after = semcase.run(op, arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0, "unit": unit}, "float32")
        counts.append(after["force"].reshape(-1, 3))
    assert (counts[0] == counts[1]).all() and counts[0].dtype == np.int64
    dense = semcase.dense_force(mesh, u, moduli)
    assert difference(counts[0] * unit, dense) <= TOLERANCE["float32"]
    assert np.linalg.norm(counts[0] * unit - dense) < np.linalg.norm(reals - dense)
