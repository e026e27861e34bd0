"""The text that a GPU runs for spectral elements, run on the host through host_cuda.hpp: what the CPU's vectors of elements give."""

from dataclasses import replace

import numpy as np
import pytest
import semcase
from kernelcase import PRECISIONS, launch, on_host, tiers

from craton.methods.spectral_element import operators as sem
from craton.methods.spectral_element import pair_operators as pair
from craton.methods.spectral_element import replay_operators as replay


def run(op, arrays, box, params, precision, path):
    """Host arrays after one launch of the GPU's text."""
    library = on_host([op], precision, path)
    out = {name: np.array(a, a.dtype if a.dtype.kind == "i" else precision) for name, a in arrays.items()}
    addresses = [out[n].ctypes.data if n in out else None for n in op.arrays]
    blocks = -(-(box[5] - box[4]) // (op.span or op.block)[0])
    launch(library, op, precision, addresses, box, params, (blocks, 1, 1))
    return out


def small_blocks(op, elements):
    """The operator with fewer elements a block: fewer host threads."""
    columns = (dict(op.defines)["DEGREE"] + 1) ** 2
    width = -(-elements * columns // 32) * 32
    defines = {**dict(op.defines), "ELEMENTS": elements, "THREADS": width}
    return replace(op, defines=tuple(defines.items()), block=(width, 1, 1), span=(elements, 1, 1))


def both(op, arrays, box, params, precision, path, laned=semcase.LANED):
    """Arrays after a launch on the CPU, and of the GPU's text."""
    few = small_blocks(op, 2 if dict(op.defines)["DEGREE"] < 6 else 1)
    expected = semcase.run(op, arrays, box, params, precision, laned=laned)
    return expected, run(few, arrays, box, params, precision, path)


def alike(written, before, expected, got, precision, rounding=16):
    """Something happened, the same up to rounding of a node's sums."""
    for name in written:
        assert np.abs(expected[name] - before[name].astype(precision)).max() > 1e-3
        error = np.abs(got[name] - expected[name]).max() / np.abs(expected[name]).max()
        assert error <= rounding * np.finfo(precision).eps, name


RELAXATION = ((0.9, 0.05, 0.1, 0.5, 0.1, 0.1, 0.1), (0.8, 0.06, 0.2, 0.4, 0.1, 0.1, 0.1))
CASES = {
    "attenuated": sem.Kind(2, relaxation=RELAXATION, bulk=True),
    "corners": sem.Kind(4, "corners"),
    "full": sem.Kind(3, full=True),
    "layer": sem.Kind(4, "box", axes=1),
    "across": sem.Kind(3, axes=3, general=True),
    "high layer": sem.Kind(8, "stored", axes=4),
    "stored": sem.Kind(2, "stored", per_node=False),
    "high": sem.Kind(6),
    "corner": sem.Kind(2, axes=7, full=True),
}
ALL = [(name, precision) for precision in PRECISIONS for name in CASES]


@pytest.mark.parametrize("name, precision", tiers(ALL, ALL[:6]))
def test_gpu_text_does_what_the_cpu_does(name, precision, tmp_path):
    kind, rng = CASES[name], np.random.default_rng(5)
    mesh = semcase.mesh_of(kind.degree, kind.geometry, (3, 1, 1))
    arrays = semcase.solid(mesh, rng.random((mesh.count + 1) * 3), mesh.random(21 if kind.full else 2, kind.per_node))
    arrays = {**arrays, "geometry": mesh.geometry(kind.geometry), "force": rng.random((mesh.count + 1) * 3)}
    if kind.relaxation:
        arrays["memory"] = rng.random((mesh.size, mesh.element.size, kind.stored))
        arrays["loss"] = rng.random((mesh.size, 1 + kind.bulk, mesh.element.size)) / 10
    if kind.axes:
        arrays["layer"] = rng.random((mesh.size, 6 * kind.directions, mesh.element.size))
        arrays["rates"] = rng.random((mesh.size, (8 if kind.general else 2) * kind.directions, mesh.element.size)) / 2
    after = both(sem.stiffness(kind), arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0}, precision, tmp_path / "gpu.so")
    # of degree 8 in a layer 27 products and as many filtered ones are added in any order
    alike({"force", "memory", "layer"} & set(arrays), arrays, *after, precision, 24 if name == "high layer" else 16)


LOSSY_LAYER = replace(CASES["attenuated"], axes=5)
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


def remembered(kind, mesh, fields, rng, second):
    """Memory variables of elements, of both fields if `second`, with losses and rates."""
    size, directions, shapes = mesh.element.size, kind.directions, {}
    if kind.relaxation:
        shapes |= {"memory": (size, kind.stored), "second_memory": (size, kind.stored), "loss": (1 + kind.bulk, size)}
    if kind.axes:
        shapes |= {"layer": (2 * fields * directions * (1 + second), size), "past": (fields * directions, size)}
        shapes |= {"rates": ((8 if kind.general else 2) * directions, size)}
    return {a: rng.random((mesh.size, *shape)) / 4 for a, shape in shapes.items()}


@pytest.mark.parametrize("verb, kind, fluid, precision", tiers(PAIRS, PAIRS[:3]), ids=lambda value: str(value)[:12])
def test_gpu_text_of_two_fields_does_what_the_cpu_does(verb, kind, fluid, precision, tmp_path):
    """Forces of both; sums, or what a change scatters."""
    mesh, rng, rows, fields = (
        semcase.mesh_of(kind.degree, kind.geometry, (3, 1, 1)),
        np.random.default_rng(5),
        pair.rows_of(kind, fluid),
        3 - 2 * fluid,
    )
    op = getattr(replay if verb == "replayed" else pair, verb)(kind, fluid, precision)
    into, field = op.arrays[0], next(a for a in op.reads if a.endswith("pair"))
    arrays = {into: np.zeros((mesh.count + 1) * 2 * fields), field: rng.random((mesh.count + 1) * 2 * fields)}
    arrays |= {"points": mesh.points, "geometry": mesh.geometry(kind.geometry), "step": np.array([6], np.int32)}
    arrays |= {"moduli": mesh.random(1 if fluid else 21 if kind.full else 2), "change": mesh.random(rows, low=0.1)}
    arrays |= {"sums": rng.random((mesh.size, rows, mesh.element.size))}
    arrays |= remembered(kind, mesh, fields, rng, second="change" in op.arrays)
    arrays, box = {a: values for a, values in arrays.items() if a in op.arrays}, (0, 1, 0, 1, 0, mesh.size)
    known = {"first": 0, "every": 3, "steps": 6, "slots": 1, "count": mesh.size}
    params, laned = (
        {n: known[n] for n, _ in op.params.fields},
        (*semcase.LANED, "sums", "change", "second_memory", "past"),
    )
    after = both(op, arrays, box, params, precision, tmp_path / "gpu.so", laned)
    alike({into, "sums", "memory", "second_memory", "layer"} & set(arrays), arrays, *after, precision)


STEPS = [(make, fields) for fields in (3, 1) for make in (pair.pair_back, pair.pair_forward, replay.transposed_step)]


@pytest.mark.parametrize("make, fields", tiers(STEPS, STEPS[:3]))
def test_steps_of_points_go_through_shared_memory(make, fields, tmp_path):
    """What the CPU does point by point; the last block of a GPU is not full."""
    op, rng, count = make(fields), np.random.default_rng(5), pair.BLOCK + 37
    arrays = {a: rng.random(count * (2 * fields if "pair" in a else 1)) for a in op.arrays}
    arrays |= {"step": np.array([6], np.int32)} if "step" in op.arrays else {}
    params, box = pair.NOTHING | {"every": 3, "steps": 9, "dt": 0.1}, (0, 1, 0, 1, 0, count)
    expected = semcase.run(op, arrays, box, params, "float64")
    got = run(op, arrays, box, params, "float64", tmp_path / "gpu.so")
    for name in op.writes:
        assert np.abs(expected[name] - arrays[name]).max() > 1e-3
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-14, atol=1e-15)


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
        got = run(op, arrays, box, {"dt": 0.1}, precision, tmp_path / "gpu.so")
        for name in arrays:
            assert np.allclose(got[name], expected[name], rtol=4 * np.finfo(precision).eps, atol=0), name
        assert (got["force"] != arrays["force"].astype(precision)).sum() == box[5] - box[4]


@pytest.mark.parametrize("exact", [True, False])
def test_coloured_gpu_text_adds_each_element_once(exact, tmp_path):
    """Forces in whole units are the same by colour, with atomics, and on the CPU in chunks, to the rounding of an element's own sums."""
    mesh, box, precision = semcase.Mesh(2, (4, 2, 1)), (0, 1, 0, 1, 0, 8), "float32" if exact else "float64"
    none = np.zeros((mesh.count + 1) * 3, np.int64 if exact else float)
    arrays = semcase.solid(mesh, np.random.default_rng(5).random(none.size), mesh.random(2)) | {"force": none}
    by_colour, params = (
        {**arrays, "order": np.array([0, 2, 1, 3, 4, 6, 5, 7], np.int32)},
        {"first": 0, "unit": 2.0**-40},
    )
    coloured, whole = small_blocks(sem.stiffness(sem.Kind(2, coloured=True)), 2), sem.stiffness(sem.Kind(2))
    if exact:
        coloured, whole = coloured.exact(), whole.exact()
    params = {name: params[name] for name, _ in whole.params.fields}
    for first in range(0, 8, 2):  # elements 0 and 2 of a row share no point
        part = (0, 1, 0, 1, first, first + 2)
        by_colour["force"] = run(coloured, by_colour, part, params, precision, tmp_path / f"{first}.so")["force"]
    expected = semcase.run(whole, arrays, box, params, precision)["force"]
    error = np.abs(by_colour["force"] - expected).max() / np.abs(expected).max()
    assert by_colour["force"].any() and error <= (16 * np.finfo("float32").eps if exact else 1e-13)
    if exact:
        atomic = run(small_blocks(whole, 2), arrays, box, params, precision, tmp_path / "atomic.so")
        np.testing.assert_array_equal(atomic["force"], by_colour["force"])
