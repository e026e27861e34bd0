"""Spectral elements, the kernels' bodies on the CPU: against dense matrices, in patch tests, by colours; every text for a GPU."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import semcase
from kernelcase import compiled_for_gpus, shared_text

from craton.backends import nvrtc
from craton.backends.base import interleaved, separate
from craton.backends.cpu import CPU, slabs
from craton.core.operator import declared_in_text
from craton.core.plan import ColourBoundaries
from craton.errors import ResourceError
from craton.methods.shared import sharing
from craton.methods.spectral_element import catalogue, fixed_point, mesh_terms
from craton.methods.spectral_element import operators as sem
from craton.methods.spectral_element.element import DEGREES
from craton.methods.spectral_element.faces import stacey_damping
from craton.model.media import attenuation

OPERATORS = catalogue.operators(4)
# Relative to the largest force: sums of some 100 products; cofactors of coordinates cost float32 a digit.
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
EXAMPLE = attenuation.relaxation((0.1, 10.0), 1 / 20, storage="full")


def field(mesh, components=3, seed=2):
    """Random values at the global points, zero at the dummy point."""
    values = np.random.default_rng(seed).standard_normal((mesh.count + 1, components))
    values[-1] = 0
    return values


def difference(a, b):
    """Largest difference over the largest value."""
    return np.abs(a - b).max() / np.abs(b).max()


# --- forces -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("degree", DEGREES)
def test_isotropic_forces_are_those_of_dense_matrices(degree, precision):
    mesh = semcase.Mesh(degree, (2, 2, 1))
    u, moduli = field(mesh), mesh.random(2)
    got = semcase.forces(mesh, u, moduli, sem.Kind(degree), precision)
    assert difference(got, semcase.dense_force(mesh, u, moduli)) <= TOLERANCE[precision]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize("geometry", ["stored", "nodes", "corners", "box"])
def test_every_geometry_and_material(geometry, per_node, full):
    mesh = semcase.Mesh(4, distortion=0 if geometry == "box" else 0.2, straight=geometry == "corners")
    u, moduli = field(mesh), mesh.random(21 if full else 2, per_node)
    got = semcase.forces(mesh, u, moduli, sem.Kind(4, geometry, per_node, full))
    assert difference(got, semcase.dense_force(mesh, u, moduli)) <= TOLERANCE["float64"]


def test_isotropy_is_a_case_of_21_constants():
    mesh = semcase.Mesh(3)
    u, moduli = field(mesh), mesh.random(2)
    full = np.stack([semcase.constants_of(moduli)[:, a, b] for a, b in semcase.ROW], 1)
    got = semcase.forces(mesh, u, full, sem.Kind(3, full=True))
    assert difference(got, semcase.forces(mesh, u, moduli, sem.Kind(3))) <= TOLERANCE["float64"]


@pytest.mark.parametrize("geometry", ["stored", "nodes"])
def test_rigid_motion_gives_no_force(geometry):
    mesh = semcase.Mesh(4)
    moduli, x = mesh.random(2), mesh.positions()
    stretched = np.vstack([x * [1.0, 0.5, -2.0], np.zeros(3)])
    scale = np.abs(semcase.forces(mesh, stretched, moduli, sem.Kind(4, geometry))).max()
    for motion in (np.ones_like(x) * [1.0, -2.0, 3.0], np.cross([0.3, -1.0, 0.5], x)):
        u = np.vstack([motion, np.zeros(3)])
        assert np.abs(semcase.forces(mesh, u, moduli, sem.Kind(4, geometry))).max() <= 1e-12 * scale


def test_uniform_strain_gives_forces_at_the_outer_faces_only():
    """The patch test: minus the stress times the area vectors; exact, as metric terms of 27 nodes have degree 4."""
    mesh = semcase.Mesh(4, (3, 3, 3))
    moduli = np.tile([[2.0], [1.0]], (mesh.size, 1, mesh.element.size))
    moduli[mesh.real :] = 0
    slope = np.array([[1.0, 0.3, 0.1], [0.2, -0.5, 0.4], [0.0, 0.1, 0.7]])  # du_c/dx_r
    u = np.vstack([mesh.positions() @ slope.T, np.zeros(3)])
    stress = 2.0 * np.trace(slope) * np.eye(3) + slope + slope.T
    place = np.indices((3, 3, 3)).reshape(3, -1)[::-1]  # i, j, k of the elements
    outer = np.array(
        [
            (e, 2 * axis + side)
            for axis in range(3)
            for side in range(2)
            for e in np.flatnonzero(place[axis] == 2 * side)
        ]
    )
    vectors = mesh_terms.area_vectors(mesh.element, mesh.local, outer)
    expected = np.zeros((mesh.count + 1, 3))
    np.add.at(expected, mesh.points[outer[:, 0, None], mesh.element.face_nodes[outer[:, 1]]], -vectors @ stress)
    assert difference(semcase.forces(mesh, u, moduli, sem.Kind(4)), expected) <= TOLERANCE["float64"]


@pytest.mark.parametrize("full", [False, True])
def test_stiffness_is_symmetric_and_does_positive_work(full):
    mesh = semcase.Mesh(5)
    moduli = mesh.random(21 if full else 2)
    x, y = field(mesh, seed=3), field(mesh, seed=4)
    kx, ky = (semcase.forces(mesh, one, moduli, sem.Kind(5, full=full)) for one in (x, y))
    assert abs((x * ky).sum() - (y * kx).sum()) <= 1e-12 * np.linalg.norm(x) * np.linalg.norm(ky)
    if not full:
        assert (x * kx).sum() < 0


def test_elements_that_fill_up_add_nothing():
    mesh = semcase.Mesh(2, (3, 1, 1))  # three elements and five that fill up
    u = field(mesh)
    u[-1] = 7.0
    force = semcase.forces(mesh, u, mesh.random(2), sem.Kind(2))
    assert np.isfinite(force).all() and not force[-1].any()


def test_arrays_may_begin_at_a_later_row_of_points():
    mesh = semcase.Mesh(2, (4, 2, 2))  # 16 elements: geometry and moduli of the last 8 only
    u, moduli = field(mesh), mesh.random(2)
    arrays = {
        "force": np.zeros(u.size),
        "displacement": u.ravel(),
        "points": mesh.points,
        "geometry": mesh.geometry("nodes")[8:],
        "moduli": moduli[8:],
    }
    after = semcase.run(sem.stiffness(sem.Kind(2)), arrays, (0, 1, 0, 1, 0, 8), {"first": 8})
    moduli[:8] = 0
    assert difference(after["force"].reshape(-1, 3), semcase.dense_force(mesh, u, moduli)) <= TOLERANCE["float64"]


@pytest.mark.parametrize("geometry", ["stored", "nodes", "corners", "box"])
@pytest.mark.parametrize("degree", [2, 4, 7])
def test_fluid_forces_are_those_of_dense_matrices(degree, geometry):
    mesh = semcase.Mesh(degree, (2, 2, 1), distortion=0 if geometry == "box" else 0.15, straight=geometry == "corners")
    chi, buoyancy = field(mesh, 1)[:, 0], mesh.random(1)
    arrays = {
        "potential_force": np.zeros(chi.size),
        "potential": chi,
        "points": mesh.points,
        "geometry": mesh.geometry(geometry),
        "moduli": buoyancy,
    }
    after = semcase.run(sem.fluid(sem.Kind(degree, geometry)), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0})
    assert difference(after["potential_force"], semcase.dense_fluid(mesh, chi, buoyancy)) <= TOLERANCE["float64"]


# --- attenuation ------------------------------------------------------------------------------------------------------------------------


def strains(mesh, u):
    """Strain at the nodes, (ne, 3, 3, n^3)."""
    g, _ = semcase.gradients(mesh.element, mesh.local)
    du = np.einsum("erpq,eqc->ecrp", g, u[mesh.points])
    return (du + du.transpose(0, 2, 1, 3)) / 2


def relaxed_stress(strain, moduli, loss, xi, bulk):
    """Unrelaxed stress less the memory variables': (ne, 3, 3, n^3); xi (L, ne, 3, 3, n^3) follow the strain."""
    lam, mu = moduli[:, 0, None, None], moduli[:, 1, None, None]
    eye = np.eye(3)[..., None]

    def parts(e):
        trace = np.einsum("eaap->ep", e)[:, None, None]
        return e - trace * eye / 3, trace * eye

    y_mu = EXAMPLE.coefficients(loss[:, 0])
    y_kappa = EXAMPLE.coefficients(loss[:, 1]) if bulk else np.zeros_like(y_mu)
    deviatoric, trace = parts(strain)
    stress = 2 * mu * deviatoric + (lam + 2 / 3 * mu) * trace
    for n, variable in enumerate(xi):
        of_shear, of_bulk = parts(variable)
        stress = (
            stress
            - 2 * mu * y_mu[:, None, None, :, n] * of_shear
            - (lam + 2 / 3 * mu) * y_kappa[:, None, None, :, n] * of_bulk
        )
    return stress


@pytest.mark.parametrize("bulk", [False, True])
def test_memory_variables_follow_strain_that_is_linear_between_steps(bulk):
    mesh, dt = semcase.Mesh(3, (2, 1, 1)), 0.02
    kind = sem.Kind(3, relaxation=sem.relaxation_constants(EXAMPLE, dt), bulk=bulk)
    moduli = mesh.random(2)
    loss = np.random.default_rng(5).uniform(0, 1 / 20, (mesh.size, 1 + bulk, mesh.element.size))
    states = [0.0 * field(mesh), *(field(mesh, seed=n) for n in range(3, 7))]
    g, weight = semcase.gradients(mesh.element, mesh.local)
    x = EXAMPLE.omega * dt
    decay, mean = np.exp(-x), (1 - np.exp(-x)) / x
    xi, before = np.zeros((len(x), *strains(mesh, states[0]).shape)), strains(mesh, states[0])
    memory = np.zeros((mesh.size, mesh.element.size, kind.stored))
    for u in states[1:]:
        now = strains(mesh, u)
        scale = (slice(None), *4 * (None,))
        xi = decay[scale] * xi + (mean - decay)[scale] * before + (1 - mean)[scale] * now  # exact for a linear strain
        stress = relaxed_stress(now, moduli, loss, xi, bulk)
        expected = -semcase.spread(mesh, np.einsum("erpq,ecrp,ep->eqc", g, stress, weight))
        arrays = {
            "force": np.zeros(u.size),
            "memory": memory,
            "displacement": u.ravel(),
            "points": mesh.points,
            "geometry": mesh.geometry("nodes"),
            "moduli": moduli,
            "loss": loss,
        }
        after = semcase.run(sem.stiffness(kind), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0})
        # numbers of EXAMPLE.coefficients and of the text are the same polynomials
        assert difference(after["force"].reshape(-1, 3), expected) <= 1e-11
        memory, before = after["memory"], now


def test_attenuated_anisotropy_relaxes_its_isotropic_part():
    mesh, dt = semcase.Mesh(2), 0.01
    u, moduli = field(mesh), mesh.random(2)
    full = np.stack([semcase.constants_of(moduli)[:, a, b] for a, b in semcase.ROW], 1)
    loss = np.full((mesh.size, 2, mesh.element.size), 1 / 30)
    after = []
    for rows, given in ((moduli, {}), (full, {"full": True})):
        kind = sem.Kind(2, relaxation=sem.relaxation_constants(EXAMPLE, dt), bulk=True, **given)
        arrays = {
            "force": np.zeros(u.size),
            "memory": np.zeros((mesh.size, 27, kind.stored)),
            "displacement": u.ravel(),
            "points": mesh.points,
            "geometry": mesh.geometry("nodes"),
            "moduli": rows,
            "loss": loss,
        }
        after.append(semcase.run(sem.stiffness(kind), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0}, times=2))
    assert difference(after[1]["force"], after[0]["force"]) <= 1e-12
    assert difference(after[1]["memory"], after[0]["memory"]) <= 1e-12


# --- points -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_update_is_one_leapfrog_step(threads):
    rng, n = np.random.default_rng(1), 5001
    arrays = {name: rng.standard_normal(3 * n) for name in ("displacement", "velocity", "force")} | {
        "inverse_mass": rng.random(n)
    }
    after = semcase.run(sem.update(), arrays, (0, 1, 0, 1, 0, 3 * n), {"dt": 0.3}, machine=CPU(threads=threads))
    v = arrays["velocity"] + 0.3 * np.repeat(arrays["inverse_mass"], 3) * arrays["force"]
    assert np.allclose(after["velocity"], v, rtol=1e-14, atol=1e-14) and not after["force"].any()
    assert np.allclose(after["displacement"], arrays["displacement"] + 0.3 * v, rtol=1e-14, atol=1e-14)


def test_fluid_update_writes_the_pressure():
    rng, n = np.random.default_rng(1), 501
    names = ("potential", "potential_rate", "potential_force", "pressure", "fluid_inverse_mass")
    arrays = {name: rng.standard_normal(n) for name in names}
    after = semcase.run(sem.fluid_update(), arrays, (0, 1, 0, 1, 0, n), {"dt": 0.3})
    acceleration = arrays["fluid_inverse_mass"] * arrays["potential_force"]
    rate = arrays["potential_rate"] + 0.3 * acceleration
    assert np.allclose(after["pressure"], -acceleration, rtol=1e-14) and not after["potential_force"].any()
    assert np.allclose(after["potential_rate"], rate, atol=1e-13)
    assert np.allclose(after["potential"], arrays["potential"] + 0.3 * rate, atol=1e-13)


def test_stacey_is_implicit_in_the_velocity():
    rng, dt = np.random.default_rng(1), 0.2
    mesh = semcase.Mesh(3, (2, 2, 1))
    faces = np.array([[0, 0], [0, 2], [1, 2], [2, 0]])
    vectors = mesh_terms.area_vectors(mesh.element, mesh.local, faces)
    on = mesh.points[faces[:, 0, None], mesh.element.face_nodes[faces[:, 1]]]
    medium = {name: np.full(on.size, value) for name, value in (("rho", 2.0), ("vp", 3.0), ("vs", 1.5))}
    points, c = stacey_damping(on.ravel(), vectors.reshape(-1, 3), medium)
    mass = 0.5 + rng.random(len(points))
    terms = np.concatenate([mesh_terms.implicit(c, mass, dt), c], 1).T
    arrays = {
        "force": field(mesh).ravel(),
        "velocity": field(mesh, seed=9).ravel(),
        "points": points.astype(np.int32),
        "terms": terms,
    }
    after = semcase.run(sem.stacey(), arrays, (0, 1, 0, 1, 0, len(points)), {"count": len(points)}, laned=())
    force, velocity, got = (a.reshape(-1, 3) for a in (arrays["force"], arrays["velocity"], after["force"]))
    for n, g in enumerate(points):
        damping = c[n][semcase.VOIGT]
        acceleration = np.linalg.solve(mass[n] * np.eye(3) + dt / 2 * damping, force[g] - damping @ velocity[g])
        assert np.allclose(got[g], mass[n] * acceleration, rtol=1e-11, atol=1e-12)
    others = np.setdiff1d(np.arange(mesh.count), points)
    assert (got[others] == force[others]).all()


def test_coupling_is_its_own_transpose():
    rng = np.random.default_rng(1)
    solid, fluid, vectors = (np.array([4, 0, 7], np.int32), np.array([1, 3, 2], np.int32), rng.standard_normal((3, 3)))
    arrays = {
        "potential_force": rng.standard_normal(5),
        "displacement": rng.standard_normal(27),
        "solid": solid,
        "fluid": fluid,
        "vectors": vectors,
        "force": np.zeros(27),
        "fluid_inverse_mass": rng.random(5),
    }
    box, count = (0, 1, 0, 1, 0, 3), {"count": 3}
    moved = semcase.run(sem.to_fluid(), arrays, box, count)["potential_force"] - arrays["potential_force"]
    pressed = semcase.run(sem.to_solid(), arrays, box, count)["force"]
    chi = arrays["potential_force"] * arrays["fluid_inverse_mass"]
    expected = np.zeros(5)
    expected[fluid] = (vectors.T * arrays["displacement"].reshape(-1, 3)[solid]).sum(1)
    assert np.allclose(moved, expected, rtol=1e-13)
    assert np.isclose(chi @ moved, -pressed @ arrays["displacement"], rtol=1e-13)


@pytest.mark.parametrize("fields", [1, 3])
def test_rigid_points_have_no_force(fields):
    arrays = {"force": np.arange(1.0, 10 * fields + 1), "points": np.array([2, 5], np.int32)}
    after = semcase.run(sem.rigid(fields), arrays, (0, 1, 0, 1, 0, 2), {"count": 2}, laned=())["force"].reshape(
        10, fields
    )
    assert not after[[2, 5]].any() and (after != 0).all(1).sum() == 8


# --- colours, lanes, threads --------------------------------------------------------------------------------------------------------------


def chunked():
    """A row of 32 elements in 4 chunks of 8, two colours: the even chunks first."""
    mesh = semcase.Mesh(2, (32, 1, 1))
    order = np.concatenate([np.arange(8) + 8 * n for n in (0, 2, 1, 3)])
    mesh.points, mesh.local = mesh.points[order], mesh.local[order]
    return mesh, replace(sem.stiffness(sem.Kind(2)), grain=(1, 1, 8)), ColourBoundaries((0, 16, 32))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_colours_of_chunks_give_the_same_bits_for_any_number_of_threads(precision):
    mesh, op, colours = chunked()
    u, moduli = field(mesh), mesh.random(2)
    arrays = {
        "force": np.zeros(u.size),
        "displacement": u.ravel(),
        "points": mesh.points,
        "geometry": mesh.geometry("nodes"),
        "moduli": moduli,
    }
    box = (0, 1, 0, 1, 0, mesh.size)
    found = [semcase.run(op, arrays, box, {"first": 0}, precision, CPU(threads=n), colours)["force"] for n in (1, 2, 3)]
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
    assert difference(found[0].reshape(-1, 3), semcase.dense_force(mesh, u, moduli)) <= TOLERANCE[precision]


def test_a_box_within_a_group_of_lanes_is_refused():
    mesh, op, _ = chunked()
    arrays = {
        "force": np.zeros(9),
        "displacement": np.zeros(9),
        "points": mesh.points,
        "geometry": mesh.geometry("nodes"),
        "moduli": mesh.random(2),
    }
    with pytest.raises(ValueError, match="stiffness: element 12 is within a group of 8"):
        semcase.run(op, arrays, (0, 1, 0, 1, 0, 12), {"first": 0})


def test_turns_cut_a_box_at_limits_inside_it():
    assert ColourBoundaries.cut((0, 1, 0, 1, 8, 40), (0, 8, 24, 40, 64)) == [(0, 1, 0, 1, 8, 24), (0, 1, 0, 1, 24, 40)]
    assert ColourBoundaries.cut((0, 1, 0, 1, 8, 40), ()) == [(0, 1, 0, 1, 8, 40)]


def test_slabs_of_threads_without_openmp_keep_chunks_whole():
    boxes = slabs(np.array([0, 1, 0, 1, 16, 100], np.int32), 4, 8, 3)
    assert [tuple(box[4:]) for box in boxes] == [(16, 40), (40, 72), (72, 100)]
    assert len(slabs(np.array([0, 2, 0, 1, 0, 9], np.int32), 0, 8, 4)) == 2


def test_lanes_are_put_side_by_side_and_back():
    values = np.arange(16 * 3 * 5).reshape(16, 3, 5)
    side = interleaved(values, 8)
    assert side.shape == (2, 3, 5, 8) and (side[1, 2, 4] == values[8:, 2, 4]).all()
    assert (separate(side) == values).all()
    with pytest.raises(ValueError, match="12 elements are no multiple of 8"):
        interleaved(values[:12], 8)


# --- texts ------------------------------------------------------------------------------------------------------------------------------


OFTEN = (
    "stiffness",
    "stiffness_corners",
    "fluid",
)  # element kernels that are compiled for both architectures, and in both precisions


def texts():
    """{id: (operator, precision, architectures)}: all operators at degree 4, plain elements at every degree, some in float64.

    Those that are compiled for `sm_80` too are so in float32 alone.
    """
    found = {}
    for name, op in OPERATORS.items():
        if op.file.name.startswith("pair_") or "pair_force" in " ".join(op.arrays):
            if not name.startswith("fluid_pair_") and not name.endswith(("_corners", "_box")):
                found[f"{name}-float32"] = (op, "float32", ("sm_90",))
            continue
        more = not op.span or name in OFTEN
        for precision in ("float32", "float64") if more else ("float32",):
            found[f"{name}-{precision}"] = (
                op,
                precision,
                ("sm_80", "sm_90") if more and precision == "float32" else ("sm_90",),
            )
    for degree in DEGREES:
        for op in (sem.stiffness(sem.Kind(degree)), sem.fluid(sem.Kind(degree))):
            for precision in ("float32", "float64") if degree in (2, 8) else ("float32",):
                found[f"{op.name}-{degree}-{precision}"] = (op, precision, ("sm_90",))
    return found


CASES = texts()
LISTS = {
    "update": 32,
    "fluid_update": 32,
    "stacey": 48,
    "fluid_stacey": 24,
    "rigid_points": 16,
    "damped_points": 32,
    "to_fluid": 32,
    "to_solid": 32,
    "save_points": 24,
    "pair_back": 32,
    "pair_forward": 32,
    "restore_points": 32,
    "save_path": 24,
    "take_points": 32,
    "transposed_step": 32,
    "pair_stacey": 32,
    "scatter_points": 24,
    "scatter_faces": 32,
    "pair_to_fluid": 32,
    "pair_to_solid": 32,
    "transposed_to_solid": 32,
    "transposed_to_fluid": 32,
    "to_fluid_layer": 32,
    "to_solid_layer": 32,
    "pair_to_fluid_layer": 32,
    "pair_to_solid_layer": 32,
    "transposed_to_solid_layer": 32,
    "transposed_to_fluid_layer": 32,
    "pack_shared": 32,
    "add_shared": 40,
}
# Bytes of a thread in memory: of high degree, a column of float64 has more numbers than there are registers.
SPILLED = {"stiffness-8-float64": 1024}


@cache
def compiled():
    """As `compiled_for_gpus`, of all cases."""
    try:
        nvrtc.library()
    except ResourceError as e:
        pytest.skip(str(e))
    return compiled_for_gpus((op, precision, arch) for op, precision, archs in CASES.values() for arch in archs)


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_declaration_is_what_the_text_says(op):
    declared = [*((name, op.c_type(name)) for name in op.arrays), ("box", "Box"), ("p", op.params.name)]
    assert declared_in_text(op) == declared


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_arrays_that_are_only_read_are_const(op):
    text = re.sub(r"//[^\n]*", "", op.file.read_text())
    arguments = re.search(rf"KERNEL\s+{op.function}\s*\((.*?)\)\s*\{{", text, flags=re.S)[1].split(",")[
        : len(op.arrays)
    ]
    assert tuple(name for name, a in zip(op.arrays, arguments) if a.strip().startswith("const ")) == op.reads


@pytest.mark.parametrize("name", CASES)
def test_compiles_for_gpus_within_its_registers(name):
    """On `sm_80`, where ptxas differs but not the text, float32 alone: float64 is not claimed there."""
    op, precision, archs = CASES[name]
    width = op.block[0]
    for arch in archs:
        made = compiled()[shared_text(op, precision), arch]
        assert made.ok, made.log
        budget = LISTS.get(op.function) or min(255, 65536 // (width * blocks(op, precision)) // 8 * 8)
        assert made.registers[op.function] <= budget + 16 * (precision == "float64") * (op.function in LISTS), made.log
        assert made.spills_bytes[op.function] <= SPILLED.get(name, 0), made.log
        assert width % 32 == 0 and width <= 256


def blocks(op, precision):
    """Blocks that shall fit a multiprocessor, from the text's launch bounds."""
    single, double = re.search(r"\? (\d+) : (\d+)", dict(op.defines)["MIN_BLOCKS"]).groups()
    return int(double if precision == "float64" else single)


def test_catalogue_has_every_kernel():
    texts = [path.read_text() for path in (*sem.HERE.glob("*.h"), sharing.FILE)]
    written = {name for text in texts for name in re.findall(r"^KERNEL (\w+)\(", text, flags=re.M)}
    assert {op.function for op in OPERATORS.values()} == written


# --- forces in whole units --------------------------------------------------------------------------------------------------------------


def test_counted_forces_do_not_depend_on_the_order_of_elements():
    """The same numbers bit by bit, and nearer to float64 than single precision is."""
    mesh, u = semcase.Mesh(4, (4, 2, 2), seed=3), None
    u, moduli, unit = field(mesh), mesh.random(2), 2.0**-40
    op = sem.stiffness(sem.Kind(4)).exact()
    reals, found = semcase.forces(mesh, u, moduli, sem.Kind(4), "float32"), []
    for order in (np.arange(mesh.size), np.random.default_rng(4).permutation(mesh.size)):
        arrays = {
            "force": np.zeros(u.size, np.int64),
            "displacement": u.ravel(),
            "points": mesh.points[order],
            "geometry": mesh.geometry("nodes")[order],
            "moduli": moduli[order],
        }
        after = semcase.run(op, arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0, "unit": unit}, "float32")
        found.append(after["force"].reshape(-1, 3))
    assert (found[0] == found[1]).all() and found[0].dtype == np.int64
    dense = semcase.dense_force(mesh, u, moduli)
    assert difference(found[0] * unit, dense) <= TOLERANCE["float32"]
    assert np.linalg.norm(found[0] * unit - dense) < np.linalg.norm(reals - dense)


def test_counted_forces_move_points_as_reals_do():
    rng, n, unit = np.random.default_rng(1), 501, 2.0**-40
    counts = rng.integers(-(2**41), 2**41, 3 * n)
    arrays = {name: rng.standard_normal(3 * n).astype(np.float32) for name in ("displacement", "velocity")}
    arrays |= {"inverse_mass": rng.random(n).astype(np.float32)}
    box = (0, 1, 0, 1, 0, 3 * n)
    counted = semcase.run(sem.update().exact(), arrays | {"force": counts}, box, {"dt": 0.3, "unit": unit}, "float32")
    real = semcase.run(sem.update(), arrays | {"force": counts * unit}, box, {"dt": 0.3}, "float32")
    assert not counted["force"].any()
    for name in ("displacement", "velocity"):
        np.testing.assert_array_equal(counted[name], real[name])


def test_counted_forces_at_faces():
    """Absorbing points and those where fluid and solid meet, against the operators on reals."""
    rng, unit, wet = np.random.default_rng(1), 2.0**-38, 2.0**-44
    points, n = np.array([2, 0, 5], np.int32), {"count": 3}
    given = {
        "velocity": rng.standard_normal(27),
        "terms": rng.standard_normal((12, 3)),
        "points": points,
        "displacement": rng.random(27),
        "potential_rate": rng.random(9),
        "solid": points,
        "fluid": points[::-1].copy(),
        "vectors": rng.random((3, 3)),
        "fluid_inverse_mass": rng.random(9),
    }
    counts = {"force": rng.integers(-(2**38), 2**38, 27), "potential_force": rng.integers(-(2**44), 2**44, 9)}
    reals = {"force": counts["force"] * unit, "potential_force": counts["potential_force"] * wet}
    cases = (
        (sem.stacey(), unit, None),
        (sem.fluid_stacey(), wet, None),
        (sem.to_fluid(), wet, wet),
        (sem.to_solid(), unit, wet),
    )
    for op, own, fluid in cases:
        more = n | {"unit": own} | ({"fluid_unit": fluid} if fluid else {})
        out = op.writes[0]
        got = (
            semcase.run(
                op.exact(fixed_point.units_of(op)), given | counts, (0, 1, 0, 1, 0, 3), more, "float32", laned=()
            )[out]
            * own
        )
        expected = semcase.run(op, given | reals, (0, 1, 0, 1, 0, 3), n, "float32", laned=())[out]
        assert (got != reals[out]).any() and np.allclose(got, expected, rtol=1e-5, atol=1e-6), op.name
