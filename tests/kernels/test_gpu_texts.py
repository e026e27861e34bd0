"""The texts that a GPU runs, run on the host through host_cuda.hpp: they do what the plain bodies do on the CPU.

That they compile without spills is in test_kernels.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import semcase
from kernelcase import BLOCK, BOUNDS, inside, launch, on_host, tiers, unchanged_outside, unoptimised
from kernelcase import run as run_on_grid

from craton.backends.base import aligned
from craton.core.grid import Layout
from craton.core.operator import Variant
from craton.methods.finite_difference.adjoint import reversal
from craton.methods.finite_difference.equations import operators, relaxing
from craton.methods.finite_difference.equations.scheme import FIELDS, STRESS, stencil
from craton.methods.spectral_element.adjoint import pair_operators as pair
from craton.methods.spectral_element.equations import operators as sem
from craton.model.media.attenuation import relaxation


@pytest.fixture(autouse=True)
def plain_bodies(monkeypatch):
    """Those of the CPU, compiled in little time."""
    unoptimised(monkeypatch)


# --- finite differences: streamed steps -------------------------------------------------------------------------------------------------

SHAPE, PLANES = (11, 9, 29), 4  # nothing divides anything
BOXES = {"whole": (0, 11, 0, 9, 0, 29), "inside": (2, 9, 1, 8, 3, 26), "thin": (5, 6, 2, 9, 5, 7)}
INNER = (3, 9, 2, 8, 5, 22)  # of the steps back


def fields(layout, precision, step):
    """Random fields with ghost points that hold numbers too and some fluid, point (0, 0, 0) of each on a 32-byte boundary."""
    rng, limits = np.random.default_rng(7), dict.fromkeys((*FIELDS, *reversal.FORWARD, *reversal.TENSION), (-0.5, 0.5))
    limits |= dict.fromkeys(("rho", "lam", "rmu"), (1, 2)) | dict.fromkeys(("qp", "qs"), (0, 1 / 20))
    arrays = {name: rng.uniform(*between, layout.padded) for name, between in limits.items()}
    arrays["rmu"].reshape(-1, layout.row)[::5] = np.inf
    arrays |= {name: rng.uniform(-0.5, 0.5, (count, *layout.padded)) for name, count in (("memory", 24), ("sums", 10))}
    for name, values in arrays.items():
        arrays[name] = aligned(values.shape, precision)
        arrays[name][...] = values
    return arrays | {"step": np.array([step], np.int32)}


def compare(ops, precision, order, vec, folder, written, boxes=BOXES, steps=(0,), rounding=4):
    """Two steps, or one back, of both texts on some boxes, on random fields."""
    back, layout = "step" in ops[0].arrays, Layout(SHAPE, order // 2)
    file = operators.HERE / ("backward_streamed.cu" if back else "elastic_streamed.cu")
    defines = (("VEC", vec), ("BX", BLOCK[0]), ("BY", BLOCK[1]), ("PLANES", PLANES), ("MIN_BLOCKS", 1))
    v = Variant("streamed", file, (*BLOCK, 1 + back), (BLOCK[0] * vec, BLOCK[1], PLANES), defines, (precision,))
    library = on_host(ops, precision, folder / f"{ops[0].name}.so", v)
    params = {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": SHAPE[0] - 1, "dt_h": 0.05}
    params |= {"field": int(np.prod(layout.padded)), "every": 2, "last": 9} | dict(zip(BOUNDS, INNER))
    for (name, box), step in ((row, step) for row in boxes.items() for step in steps):
        before, after = (fields(layout, precision, step) for _ in range(2))
        expected, (k0, k1, j0, j1, i0, i1) = before, box
        grid = [-(-n // s) for n, s in zip((i1 - i0 // vec * vec, j1 - j0, k1 - k0), v.span)]  # as the host counts them
        for op in ops * (2 - back):
            known = {name: params[name] for name in op.params.names}
            expected = run_on_grid(op, op.arrays, expected, box, known, layout, precision)
            starts = {n: a.ctypes.data + (n != "step") * int(layout.first) * a.itemsize for n, a in after.items()}
            launch(library, op, precision, [starts.get(n) for n in op.arrays], box, params, grid)
        for field in written:
            a, b, c = (arrays[field] for arrays in (before, expected, after))
            # sums are those of every other step
            assert (np.abs(b - a).max() > 1e-3) == (field != "sums" or step == 3), field
            assert np.abs(c - b).max() <= rounding * np.finfo(precision).eps * np.abs(b).max(), (name, field, step)
            assert unchanged_outside(a, c, (..., *inside(layout, box))), (name, field)


ELASTIC = sorted({(*case, settings[0]) for case, both in operators.STREAMED.items() for settings in both})


@pytest.mark.parametrize("precision, order, vec", tiers(ELASTIC, [("float32", 4, 4)]))
def test_streamed_steps(precision, order, vec, tmp_path):
    ops = [operators.velocity(stencil(order)), operators.stress(stencil(order))]
    compare(ops, precision, order, vec, tmp_path, FIELDS)


# One vector length each of a storage: the settings have those.
ATTENUATED = [("mixed", "float32", 4, 2), ("coarse", "float32", 4, 2), ("paired", "float32", 8, 1)]
ATTENUATED += [("full", "float32", 4, 4), ("mixed", "float64", 4, 1)]


@pytest.mark.parametrize("storage, precision, order, vec", tiers(ATTENUATED, ATTENUATED[:1]))
def test_streamed_attenuated_steps(storage, precision, order, vec, tmp_path):
    fit = relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
    op = operators.stress(stencil(order), relaxing.constants(fit, 0.05))
    compare([op], precision, order, vec, tmp_path, (*STRESS, "memory"))


@pytest.mark.parametrize("part", ["stress", "velocity"])
def test_streamed_steps_back(part, tmp_path):
    """Velocities with the sum of squares; a step that is summed, and one that is not."""
    op, boxes = reversal.backward(stencil(4, free=True), part, light=part == "velocity"), {"whole": BOXES["whole"]}
    compare([op], "float32", 4, 4, tmp_path, op.writes, boxes, steps=(3, 4), rounding=8)


# --- spectral elements ------------------------------------------------------------------------------------------------------------------


def run(op, arrays, box, params, precision, folder):
    """Host arrays after one launch of the GPU's text."""
    library = on_host([op], precision, folder / f"{hash(op.source(precision))}.so")
    out = {name: np.array(a, a.dtype if a.dtype.kind == "i" else precision) for name, a in arrays.items()}
    addresses = [out[n].ctypes.data if n in out else None for n in op.arrays]
    launch(library, op, precision, addresses, box, params, (-(-(box[5] - box[4]) // (op.span or op.block)[0]), 1, 1))
    return out


def small_blocks(op, elements):
    """The operator with fewer elements a block: fewer host threads."""
    columns = (dict(op.defines)["DEGREE"] + 1) ** 2
    width = -(-elements * columns // 32) * 32
    defines = {**dict(op.defines), "ELEMENTS": elements, "THREADS": width}
    return replace(op, defines=tuple(defines.items()), block=(width, 1, 1), span=(elements, 1, 1))


def arrays_of(kind, mesh, fields, rng, second=False):
    """Elements, their memory variables, those of both fields if `second`, with losses and rates."""
    size, directions, shapes = mesh.element.size, kind.directions, {}
    if kind.relaxation:
        shapes |= {"memory": (size, kind.stored), "second_memory": (size, kind.stored), "loss": (1 + kind.bulk, size)}
    if kind.axes:
        shapes |= {"layer": (2 * fields * directions * (1 + second), size), "past": (fields * directions, size)}
        shapes |= {"rates": ((8 if kind.general else 2) * directions, size)}
    arrays = {a: rng.random((mesh.size, *shape)) / 4 for a, shape in shapes.items()}
    return arrays | {"points": mesh.points, "geometry": mesh.geometry(kind.geometry)}


def same_elements(op, written, arrays, params, precision, folder, rounding=16):
    """Both texts write the same to all elements, up to rounding of a node's sums, and something."""
    arrays = {a: values for a, values in arrays.items() if a in op.arrays}
    box = (0, 1, 0, 1, 0, len(arrays["points"]))
    laned = (*semcase.LANED, "sums", "change", "second_memory", "past")
    expected = semcase.run(op, arrays, box, params, precision, laned=laned)
    few = small_blocks(op, 2 if dict(op.defines)["DEGREE"] < 6 else 1)
    after = run(few, arrays, box, params, precision, folder)
    for name in written & set(arrays):
        assert np.abs(expected[name] - arrays[name].astype(precision)).max() > 1e-3
        error = np.abs(after[name] - expected[name]).max() / np.abs(expected[name]).max()
        assert error <= rounding * np.finfo(precision).eps, name


RELAXATION = ((0.9, 0.05, 0.1, 0.5, 0.1, 0.1, 0.1), (0.8, 0.06, 0.2, 0.4, 0.1, 0.1, 0.1))
KINDS = {
    "attenuated": sem.Kind(2, relaxation=RELAXATION, bulk=True),
    "full": sem.Kind(3, full=True),
    "layer": sem.Kind(4, "box", axes=1),
    "across": sem.Kind(3, axes=3, general=True),
    "high layer": sem.Kind(8, "stored", axes=4),
    "corners": sem.Kind(4, "corners"),
    "stored": sem.Kind(2, "stored", per_node=False),
    "high": sem.Kind(6),
    "corner": sem.Kind(2, axes=7, full=True),
}
FORCES = [(name, "float32") for name in KINDS] + [(name, "float64") for name in ("attenuated", "across", "stored")]


@pytest.mark.parametrize("name, precision", tiers(FORCES, FORCES[:5]))
def test_forces_of_elements(name, precision, tmp_path):
    kind, rng = KINDS[name], np.random.default_rng(5)
    mesh = semcase.mesh_of(kind.degree, kind.geometry, (3, 1, 1))
    arrays = {a: rng.random((mesh.count + 1) * 3) for a in ("force", "displacement")}
    arrays |= arrays_of(kind, mesh, 3, rng) | {"moduli": mesh.random(21 if kind.full else 2, kind.per_node)}
    # of degree 8 in a layer 27 products and as many filtered ones are added in any order
    rounding = 24 if name == "high layer" else 16
    written = {"force", "memory", "layer"}
    same_elements(sem.stiffness(kind), written, arrays, {"first": 0}, precision, tmp_path, rounding)


LOSSY_LAYER = replace(KINDS["attenuated"], axes=5)
ACROSS = sem.Kind(2, "corners", axes=3, general=True)
PAIRS = [
    ("correlated", sem.Kind(4), False, "float32"),
    ("born", LOSSY_LAYER, False, "float32"),
    ("replayed", ACROSS, True, "float32"),
    ("correlated", sem.Kind(3, "corners"), True, "float64"),
    ("correlated", sem.Kind(6, "box"), False, "float64"),
    ("born", sem.Kind(2, full=True), False, "float32"),
    ("replayed", sem.Kind(4), False, "float32"),
    ("replayed", LOSSY_LAYER, False, "float64"),
]


@pytest.mark.parametrize(
    "verb, kind, fluid, precision", tiers(PAIRS, (*PAIRS[:3], PAIRS[5])), ids=lambda value: str(value)[:12]
)
def test_forces_of_two_fields(verb, kind, fluid, precision, tmp_path):
    """Forces of both; sums, or what a change scatters."""
    mesh, rng, fields = semcase.mesh_of(kind.degree, kind.geometry, (3, 1, 1)), np.random.default_rng(5), 3 - 2 * fluid
    op, rows = getattr(pair, verb)(kind, fluid, precision), pair.rows_of(kind, fluid)
    into, field = op.arrays[0], next(a for a in op.reads if a.endswith("pair"))
    arrays = {into: np.zeros((mesh.count + 1) * 2 * fields), field: rng.random((mesh.count + 1) * 2 * fields)}
    arrays |= {"moduli": mesh.random(1 if fluid else 21 if kind.full else 2), "change": mesh.random(rows, low=0.1)}
    arrays |= {"sums": rng.random((mesh.size, rows, mesh.element.size)), "step": np.array([6], np.int32)}
    arrays |= arrays_of(kind, mesh, fields, rng, second="change" in op.arrays)
    known = {"first": 0, "every": 3, "steps": 6, "slots": 1, "count": mesh.size}
    params = {n: known[n] for n in op.params.names}
    same_elements(op, {into, "sums", "memory", "second_memory", "layer"}, arrays, params, precision, tmp_path)


STEPS = [(function, fields) for fields in (3, 1) for function in ("pair_back", "pair_forward", "transposed_step")]


@pytest.mark.parametrize("function, fields", tiers(STEPS, STEPS[:3]))
def test_steps_of_points_go_through_shared_memory(function, fields, tmp_path):
    """What the CPU does point by point; the last block of a GPU is not full."""
    op, rng, count = pair.on_points(function, fields), np.random.default_rng(5), pair.BLOCK + 37
    arrays = {a: rng.random(count * (2 * fields if "pair" in a else 1)) for a in op.arrays}
    arrays |= {"step": np.array([6], np.int32)} if "step" in op.arrays else {}
    params, box = pair.NOTHING | {"every": 3, "steps": 9, "dt": 0.1}, (0, 1, 0, 1, 0, count)
    expected = semcase.run(op, arrays, box, params, "float64")
    after = run(op, arrays, box, params, "float64", tmp_path)
    for name in op.writes:
        assert np.abs(expected[name] - arrays[name]).max() > 1e-3
        np.testing.assert_allclose(after[name], expected[name], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.long)])
def test_update_on_any_address(precision, tmp_path):
    """Four reals at once where arrays lie on 16 bytes, one by one elsewhere and at the end."""
    rng, n = np.random.default_rng(5), 64 * 4 * 3
    arrays = {name: rng.random(n + 10) for name in ("displacement", "velocity", "force")}
    arrays["inverse_mass"] = rng.random(n)
    op = replace(sem.update(), block=(64, 1, 1), span=(64 * sem.WORDS, 1, 1))
    for offset in (0, 1):
        box = (0, 1, 0, 1, offset, offset + 2 * n // 3 + 7)
        expected = semcase.run(op, arrays, box, {"dt": 0.1}, precision)
        after = run(op, arrays, box, {"dt": 0.1}, precision, tmp_path)
        for name in arrays:
            assert np.allclose(after[name], expected[name], rtol=4 * np.finfo(precision).eps, atol=0), name
        assert (after["force"] != arrays["force"].astype(precision)).sum() == box[5] - box[4]


@pytest.mark.parametrize("exact", [True, False])
def test_coloured_text_adds_each_element_once(exact, tmp_path):
    """Forces in whole units are the same by colour, with atomics, and on the CPU in chunks, to the rounding of an element's own sums."""
    mesh, box, precision = semcase.Mesh(2, (4, 2, 1)), (0, 1, 0, 1, 0, 8), "float32" if exact else "float64"
    none = np.zeros((mesh.count + 1) * 3, np.int64 if exact else float)
    arrays = semcase.solid(mesh, np.random.default_rng(5).random(none.size), mesh.random(2)) | {"force": none}
    by_colour = arrays | {"order": np.array([0, 2, 1, 3, 4, 6, 5, 7], np.int32)}
    coloured, whole = small_blocks(sem.stiffness(sem.Kind(2, coloured=True)), 2), sem.stiffness(sem.Kind(2))
    if exact:
        coloured, whole = coloured.exact(), whole.exact()
    params = {"first": 0} | ({"unit": 2.0**-40} if exact else {})
    for first in range(0, 8, 2):  # elements 0 and 2 of a row share no point
        part = (0, 1, 0, 1, first, first + 2)
        by_colour["force"] = run(coloured, by_colour, part, params, precision, tmp_path)["force"]
    expected = semcase.run(whole, arrays, box, params, precision)["force"]
    error = np.abs(by_colour["force"] - expected).max() / np.abs(expected).max()
    assert by_colour["force"].any() and error <= (16 * np.finfo("float32").eps if exact else 1e-13)
    if exact:
        atomic = run(small_blocks(whole, 2), arrays, box, params, precision, tmp_path)
        np.testing.assert_array_equal(atomic["force"], by_colour["force"])
