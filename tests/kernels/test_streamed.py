"""The streamed CUDA texts of the elastic step and of the steps back do on the host what the plain bodies do.

That they compile without spills is in test_kernels.py.
"""

import numpy as np
import pytest
from kernelcase import BLOCK, BOUNDS, inside, launch, on_host, run, tiers, unchanged_outside

from craton.backends.base import aligned
from craton.core.layout import Layout
from craton.core.operator import Variant
from craton.methods.finite_difference import operators, relaxing, reversal
from craton.methods.finite_difference.scheme import FIELDS, STRESS, stencil
from craton.model.media.attenuation import relaxation

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
    return {name: on_boundary(a, precision) for name, a in arrays.items()} | {"step": np.array([step], np.int32)}


def on_boundary(values, dtype):
    """An aligned copy."""
    out = aligned(values.shape, dtype)
    out[...] = values
    return out


def compare(ops, precision, order, vec, folder, written, boxes=BOXES, steps=(0,), rounding=4):
    """Two steps, or one back, of both texts on some boxes, on random fields."""
    back, layout = "step" in ops[0].arrays, Layout(SHAPE, order // 2)
    file = operators.HERE / ("backward_streamed.cu" if back else "elastic_streamed.cu")
    defines = (("VEC", vec), ("BX", BLOCK[0]), ("BY", BLOCK[1]), ("PLANES", PLANES), ("MIN_BLOCKS", 1))
    v = Variant("streamed", file, (*BLOCK, 1 + back), (BLOCK[0] * vec, BLOCK[1], PLANES), defines, (precision,))
    library = on_host(ops, precision, folder / f"{ops[0].name}.so", v)
    params = {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": SHAPE[0] - 1, "dt_h": 0.05}
    params |= {"field": int(np.prod(layout.padded)), "every": 2, "last": 9} | dict(zip(BOUNDS, INNER))
    for (name, box), step in ((one, step) for one in boxes.items() for step in steps):
        before, got = (fields(layout, precision, step) for _ in range(2))
        expected, (k0, k1, j0, j1, i0, i1) = before, box
        grid = [-(-n // s) for n, s in zip((i1 - i0 // vec * vec, j1 - j0, k1 - k0), v.span)]  # as the host counts them
        for op in ops * (2 - back):
            known = {name: params[name] for name, _ in op.params.fields}
            expected = run(op, op.arrays, expected, box, known, layout, precision)
            starts = {n: a.ctypes.data + (n != "step") * int(layout.first) * a.itemsize for n, a in got.items()}
            launch(library, op, precision, [starts.get(n) for n in op.arrays], box, params, grid)
        for field in written:
            a, b, c = (arrays[field] for arrays in (before, expected, got))
            changes = np.abs(b - a).max() > 1e-3
            assert changes == (field != "sums" or step == 3), field  # sums are those of every other step
            assert np.abs(c - b).max() <= rounding * np.finfo(precision).eps * np.abs(b).max(), (name, field, step)
            assert unchanged_outside(a, c, (..., *inside(layout, box))), (name, field)


ELASTIC = sorted({(*case, one[0]) for case, both in operators.STREAMED.items() for one in both})


@pytest.mark.parametrize("precision, order, vec", tiers(ELASTIC, [("float32", 4, 4)]))
def test_does_what_the_plain_body_does(precision, order, vec, tmp_path):
    ops = [operators.velocity(stencil(order)), operators.stress(stencil(order))]
    compare(ops, precision, order, vec, tmp_path, FIELDS)


# One vector length each of a storage: the settings have those.
FLOAT32 = (("mixed", 4, 2), ("coarse", 4, 2), ("paired", 8, 1), ("full", 4, 4))
ATTENUATED = [*((storage, "float32", order, vec) for storage, order, vec in FLOAT32), ("mixed", "float64", 4, 1)]


@pytest.mark.parametrize("storage, precision, order, vec", tiers(ATTENUATED, ATTENUATED[:1]))
def test_attenuated_does_what_the_plain_body_does(storage, precision, order, vec, tmp_path):
    fit = relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
    op = operators.stress(stencil(order), relaxing.constants(fit, 0.05))
    compare([op], precision, order, vec, tmp_path, (*STRESS, "memory"))


@pytest.mark.parametrize("part", ["stress", "velocity"])
def test_a_step_back_does_what_the_plain_body_does(part, tmp_path):
    """Velocities with the sum of squares; a step that is summed, and one that is not."""
    op, boxes = reversal.backward(stencil(4, free=True), part, light=part == "velocity"), {"whole": BOXES["whole"]}
    compare([op], "float32", 4, 4, tmp_path, op.writes, boxes, steps=(3, 4), rounding=8)
