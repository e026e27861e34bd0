"""The text that a GPU runs for spectral elements, run on the host through host_cuda.hpp: what the CPU's vectors of elements give."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
import semcase
from test_streamed import build

from craton.core.operator import BOX
from craton.methods.spectral_element import operators as sem
from craton.methods.spectral_element import pair_operators as pair
from craton.methods.spectral_element import replay_operators as replay

BOUNDS = tuple(name for name, _ in BOX.fields)


def entry(op):
    """C function run(arrays, box, params, grid) that launches the kernel block by block."""
    x, y, z = op.block
    call = ", ".join(f"({op.c_type(name)}*)a[{n}]" for n, name in enumerate(op.arrays))
    head = f'extern "C" __attribute__((visibility("default"))) void run(void** a, const Box* box, const {op.params.name}* p, unsigned g)'
    return f"\n{head} {{ launch({{g, 1, 1}}, {{{x}, {y}, {z}}}, [&] {{ {op.function}({call}, *box, *p); }}); }}\n"


LIBRARIES = {}


def built(text, path):
    """The library of a text, compiled to that path once."""
    if text not in LIBRARIES:
        # Hidden, or shared arrays of templates would be one for all libraries of this process.
        LIBRARIES[text] = build(text, path, "-fvisibility=hidden")
    return LIBRARIES[text]


def run(op, arrays, box, params, precision, path):
    """Host arrays after one launch of the GPU's text."""
    library = built('#include "host_cuda.hpp"\n' + op.source(precision) + entry(op), path)
    out = {name: np.array(a, a.dtype if a.dtype.kind == "i" else precision) for name, a in arrays.items()}
    pointers = (ctypes.c_void_p * len(op.arrays))(*(out[n].ctypes.data if n in out else None for n in op.arrays))
    bounds = BOX.value(precision, **dict(zip(BOUNDS, box)))
    values = op.params.value(precision, **params)
    blocks = -(-(box[5] - box[4]) // (op.span or op.block)[0])
    library.run(
        pointers, ctypes.c_void_p(bounds.ctypes.data), ctypes.c_void_p(values.ctypes.data), ctypes.c_uint(blocks)
    )
    return out


def small_blocks(op, elements):
    """The operator with fewer elements a block: fewer host threads."""
    columns = (dict(op.defines)["DEGREE"] + 1) ** 2
    width = -(-elements * columns // 32) * 32
    defines = {**dict(op.defines), "ELEMENTS": elements, "THREADS": width}
    return replace(op, defines=tuple(defines.items()), block=(width, 1, 1), span=(elements, 1, 1))


CASES = {
    "nodes": sem.Kind(3),
    "stored": sem.Kind(2, "stored", per_node=False),
    "full": sem.Kind(3, full=True),
    "attenuated": sem.Kind(
        2, relaxation=((0.9, 0.05, 0.1, 0.5, 0.1, 0.1, 0.1), (0.8, 0.06, 0.2, 0.4, 0.1, 0.1, 0.1)), bulk=True
    ),
    "corners": sem.Kind(4, "corners"),
    "high": sem.Kind(6),
    "highest": sem.Kind(8, "stored"),
    "box": sem.Kind(2, "box"),
    "layer": sem.Kind(4, "box", axes=1),
    "edge": sem.Kind(3, axes=6),
    "corner": sem.Kind(2, axes=7, full=True),
    "across": sem.Kind(3, axes=3, general=True),
    "high layer": sem.Kind(8, "stored", axes=4),
}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_gpu_text_does_what_the_cpu_does(name, precision, tmp_path):
    kind = CASES[name]
    mesh = semcase.Mesh(
        kind.degree, (3, 1, 1), distortion=0 if kind.geometry == "box" else 0.15, straight=kind.geometry == "corners"
    )
    rng = np.random.default_rng(5)
    arrays = {
        "force": rng.random((mesh.count + 1) * 3),
        "displacement": rng.random((mesh.count + 1) * 3),
        "points": mesh.points,
        "geometry": mesh.geometry(kind.geometry),
        "moduli": mesh.random(21 if kind.full else 2, kind.per_node),
    }
    if kind.relaxation:
        arrays["memory"] = rng.random((mesh.size, mesh.element.size, kind.stored))
        arrays["loss"] = rng.random((mesh.size, 1 + kind.bulk, mesh.element.size)) / 10
    if kind.axes:
        arrays["layer"] = rng.random((mesh.size, 6 * kind.directions, mesh.element.size))
        arrays["rates"] = rng.random((mesh.size, (8 if kind.general else 2) * kind.directions, mesh.element.size)) / 2
    op, box = sem.stiffness(kind), (0, 1, 0, 1, 0, mesh.size)
    expected = semcase.run(op, arrays, box, {"first": 0}, precision)
    got = run(small_blocks(op, 2 if kind.degree < 6 else 1), arrays, box, {"first": 0}, precision, tmp_path / "gpu.so")
    for field in {"force", "memory", "layer"} & set(arrays):
        assert np.abs(expected[field] - arrays[field].astype(precision)).max() > 1e-3  # something happened
        error = np.abs(got[field] - expected[field]).max() / np.abs(expected[field]).max()
        # rounding of a node's sums; of degree 8 in a layer 27 products and as many filtered ones, added in any order
        assert error <= (24 if name == "high layer" else 16) * np.finfo(precision).eps, field


LOSSY_LAYER = replace(CASES["attenuated"], axes=5)
ACROSS = sem.Kind(2, "corners", axes=3, general=True)
PAIRS = {
    "correlated": (pair.correlated, sem.Kind(4), False, "float32"),
    "correlated in a fluid": (pair.correlated, sem.Kind(3, "corners"), True, "float64"),
    "correlated, of high degree": (pair.correlated, sem.Kind(6, "box"), False, "float64"),
    "born": (pair.born, sem.Kind(2, full=True), False, "float32"),
    "born, attenuated in a layer": (pair.born, LOSSY_LAYER, False, "float32"),
    "replayed": (replay.replayed, sem.Kind(4), False, "float32"),
    "replayed, attenuated in a layer": (replay.replayed, LOSSY_LAYER, False, "float64"),
    "replayed in a fluid, across a layer": (replay.replayed, ACROSS, True, "float32"),
}


def remembered(kind, mesh, fields, rng, second):
    """Memory variables of elements, of both fields if `second`, with losses and rates."""
    size, directions = mesh.element.size, kind.directions
    shapes = {}
    if kind.relaxation:
        shapes |= dict.fromkeys(("memory", "second_memory"), (size, kind.stored))
        shapes["loss"] = (1 + kind.bulk, size)
    if kind.axes:
        shapes["layer"] = (2 * fields * directions * (1 + second), size)
        shapes |= {"rates": ((8 if kind.general else 2) * directions, size)}
        shapes |= {"past": (fields * directions, size)}
    return {a: rng.random((mesh.size, *shape)) / 4 for a, shape in shapes.items()}


@pytest.mark.parametrize("name", PAIRS)
def test_gpu_text_of_two_fields_does_what_the_cpu_does(name, tmp_path):
    """Forces of both, which are those of each alone; sums, or what a change scatters."""
    make, kind, fluid, precision = PAIRS[name]
    flat, straight = kind.geometry == "box", kind.geometry == "corners"
    mesh = semcase.Mesh(kind.degree, (3, 1, 1), 0 if flat else 0.15, straight=straight)
    rng, rows, fields = np.random.default_rng(5), pair.rows_of(kind, fluid), 3 - 2 * fluid
    op, box = make(kind, fluid, precision), (0, 1, 0, 1, 0, mesh.size)
    into, field = op.arrays[0], next(a for a in op.reads if a.endswith("pair"))
    arrays = {
        into: np.zeros((mesh.count + 1) * 2 * fields),
        field: rng.random((mesh.count + 1) * 2 * fields),
        "points": mesh.points,
        "geometry": mesh.geometry(kind.geometry),
        "moduli": mesh.random(1 if fluid else 21 if kind.full else 2),
        "sums": rng.random((mesh.size, rows, mesh.element.size)),
        "change": mesh.random(rows, low=0.1),
        "step": np.array([6], np.int32),
    }
    arrays |= remembered(kind, mesh, fields, rng, second="change" in op.arrays)
    arrays = {a: values for a, values in arrays.items() if a in op.arrays}
    known = {"first": 0, "every": 3, "steps": 6, "slots": 1, "count": mesh.size}
    params = {name: known[name] for name, _ in op.params.fields}
    laned = (*semcase.LANED, "sums", "change", "second_memory", "past")
    expected = semcase.run(op, arrays, box, params, precision, laned=laned)
    few = small_blocks(op, 2 if kind.degree < 6 else 1)
    got = run(few, arrays, box, params, precision, tmp_path / "gpu.so")
    for written in {into, "sums", "memory", "second_memory", "layer"} & set(arrays):
        assert np.abs(expected[written] - arrays[written].astype(precision)).max() > 1e-3
        error = np.abs(got[written] - expected[written]).max() / np.abs(expected[written]).max()
        assert error <= 16 * np.finfo(precision).eps, written
    if kind.axes or "replayed" in name:
        return
    first = arrays[field].reshape(-1, 2, fields)[:, 0].ravel()
    single = sem.fluid(kind) if fluid else sem.stiffness(kind)
    names = dict(zip(single.arrays, (np.zeros(first.size),))) | {"potential" if fluid else "displacement": first}
    alone = semcase.run(single, arrays | names, box, {"first": 0}, precision)[single.arrays[0]]
    both = got[into].reshape(-1, 2, fields)[:, 0].ravel()
    assert np.abs(both - alone).max() <= 16 * np.finfo(precision).eps * np.abs(alone).max()


@pytest.mark.parametrize("fields", [3, 1])
@pytest.mark.parametrize("make", [pair.pair_back, pair.pair_forward, replay.transposed_step])
def test_steps_of_points_go_through_shared_memory(make, fields, tmp_path):
    """What the CPU does point by point; the last block of a GPU is not full."""
    op, rng, count = make(fields), np.random.default_rng(5), pair.BLOCK + 37
    arrays = {a: rng.random(count * (2 * fields if "pair" in a else 1)) for a in op.arrays}
    arrays |= {"step": np.array([6], np.int32)}
    arrays = {a: arrays[a] for a in op.arrays}
    params = pair.NOTHING | {"every": 3, "steps": 9, "dt": 0.1}
    box = (0, 1, 0, 1, 0, count)
    expected = semcase.run(op, arrays, box, params, "float64")
    got = run(op, arrays, box, params, "float64", tmp_path / "gpu.so")
    for name in op.writes:
        assert np.abs(expected[name] - arrays[name]).max() > 1e-3
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_update_on_any_address(precision, offset, tmp_path):
    """Four reals at once where arrays lie on 16 bytes, one by one elsewhere and at the end."""
    rng, n = np.random.default_rng(5), 64 * 4 * 3
    arrays = {name: rng.random(n + 10) for name in ("displacement", "velocity", "force")} | {
        "inverse_mass": rng.random(n)
    }
    op = replace(sem.update(), block=(64, 1, 1), span=(64 * sem.WORDS, 1, 1))
    box = (0, 1, 0, 1, offset, offset + 2 * n // 3 + 7)
    expected = semcase.run(op, arrays, box, {"dt": 0.1}, precision)
    got = run(op, arrays, box, {"dt": 0.1}, precision, tmp_path / "gpu.so")
    for name in arrays:
        assert np.allclose(got[name], expected[name], rtol=4 * np.finfo(precision).eps, atol=0), name
    assert (got["force"] != arrays["force"].astype(precision)).sum() == box[5] - box[4]


def test_coloured_gpu_text_adds_each_element_once(tmp_path):
    kind = sem.Kind(2, coloured=True)
    mesh = semcase.Mesh(2, (4, 2, 1))
    none, order = np.zeros((mesh.count + 1) * 3), np.array([0, 2, 1, 3, 4, 6, 5, 7], np.int32)
    arrays = {
        "force": none,
        "displacement": np.random.default_rng(5).random(none.size),
        "points": mesh.points,
        "geometry": mesh.geometry("nodes"),
        "moduli": mesh.random(2),
        "order": order,
    }
    op = small_blocks(sem.stiffness(kind), 2)
    for first in range(0, 8, 2):  # elements 0 and 2 of a row share no point
        after = run(op, arrays, (0, 1, 0, 1, first, first + 2), {"first": 0}, "float64", tmp_path / f"{first}.so")
        arrays["force"] = after["force"]
    expected = semcase.run(sem.stiffness(sem.Kind(2)), {**arrays, "force": none}, (0, 1, 0, 1, 0, 8), {"first": 0})
    assert np.abs(arrays["force"] - expected["force"]).max() <= 1e-13 * np.abs(expected["force"]).max()


def test_gpu_text_counts_as_the_cpu_does(tmp_path):
    """Forces in whole units: the same elements by colour on a GPU and in chunks on the CPU, to the rounding of an element's own sums."""
    mesh, unit = semcase.Mesh(2, (4, 2, 1)), 2.0**-40
    none, order = (np.zeros((mesh.count + 1) * 3, np.int64), np.array([0, 2, 1, 3, 4, 6, 5, 7], np.int32))
    arrays = {
        "force": none,
        "displacement": np.random.default_rng(5).random(none.size),
        "points": mesh.points,
        "geometry": mesh.geometry("nodes"),
        "moduli": mesh.random(2),
        "order": order,
    }
    op = small_blocks(sem.stiffness(sem.Kind(2, coloured=True)), 2).exact()
    for first in range(0, 8, 2):  # elements 0 and 2 of a row share no point
        after = run(
            op, arrays, (0, 1, 0, 1, first, first + 2), {"first": 0, "unit": unit}, "float32", tmp_path / f"{first}.so"
        )
        arrays["force"] = after["force"]
    whole, box, params = (sem.stiffness(sem.Kind(2)).exact(), (0, 1, 0, 1, 0, 8), {"first": 0, "unit": unit})
    atomic = run(small_blocks(whole, 2), {**arrays, "force": none}, box, params, "float32", tmp_path / "atomic.so")
    np.testing.assert_array_equal(atomic["force"], arrays["force"])
    expected = semcase.run(whole, {**arrays, "force": none}, box, params, "float32")["force"]
    assert (
        arrays["force"].any()
        and np.abs(arrays["force"] - expected).max() <= 16 * np.finfo("float32").eps * np.abs(expected).max()
    )
