"""The streamed CUDA texts of the elastic step and of the steps back do on the host what the plain bodies do.

That they compile without spills is in test_kernels.py.
"""

import numpy as np
import pytest
from kernelcase import BLOCK, BOUNDS, launch, on_host, tiers

from craton.core.operator import Variant
from craton.methods.finite_difference import operators, relaxing, reversal
from craton.methods.finite_difference.scheme import stencil
from craton.model.media.attenuation import relaxation

SHAPE, PLANES = (11, 9, 29), 4  # nothing divides anything
BOXES = {"whole": (0, 11, 0, 9, 0, 29), "inside": (2, 9, 1, 8, 3, 26), "thin": (5, 6, 2, 9, 5, 7)}
INNER = (3, 9, 2, 8, 5, 22)  # of the steps back


class Fields:
    """Random fields with ghost points that hold numbers too and some fluid, point (0, 0, 0) on a 32-byte boundary."""

    def __init__(self, precision, order, step):
        nz, ny, nx = SHAPE
        self.precision, self.left = precision, 32 // np.dtype(precision).itemsize
        self.reach, self.row = order // 2, -(-(self.left + nx + 4) // 32) * 32
        self.plane = self.row * (ny + 2 * self.reach)
        rng, self.field = np.random.default_rng(7), (nz + 2 * self.reach) * self.plane
        moving = (*operators.VELOCITY, *operators.STRESS, *reversal.FORWARD, *reversal.TENSION)
        limits = dict.fromkeys(moving, (-0.5, 0.5)) | dict.fromkeys(("rho", "lam", "rmu"), (1, 2))
        limits |= dict.fromkeys(("qp", "qs"), (0, 1 / 20))
        self.arrays = {name: self.aligned(rng.uniform(*between, self.field)) for name, between in limits.items()}
        self.arrays["rmu"].reshape(-1, self.row)[::5] = np.inf
        self.arrays |= {n: self.aligned(rng.random(m * self.field) - 0.5) for n, m in (("memory", 24), ("sums", 10))}
        self.step = np.array([step], np.int32)

    def aligned(self, values):
        """A copy at an address that is a multiple of 32 bytes."""
        raw = np.empty(values.size + 8, self.precision)
        skip = -raw.ctypes.data % 32 // raw.itemsize
        raw[skip : skip + values.size] = values
        return raw[skip : skip + values.size]

    def run(self, library, ops, box, grid=(1, 1, 1)):
        """Two steps of operators on the box, one of one that goes back."""
        first = (self.reach * (self.plane + self.row) + self.left) * np.dtype(self.precision).itemsize
        params = {"row": self.row, "plane": self.plane, "sheet": self.plane, "top": SHAPE[0] - 1, "dt_h": 0.05}
        params |= {"field": self.field, "every": 2, "last": 9} | dict(zip(BOUNDS, INNER))
        for op in [*ops] * (1 if "step" in ops[0].arrays else 2):
            starts = [self.arrays[n].ctypes.data + first if n in self.arrays else None for n in op.arrays]
            starts = [self.step.ctypes.data if n == "step" else start for n, start in zip(op.arrays, starts)]
            launch(library, op, self.precision, starts, box, params, grid)

    def outside(self, box):
        """True at the points that no kernel may write."""
        nz, ny, _ = SHAPE
        mask = np.ones((nz + 2 * self.reach, ny + 2 * self.reach, self.row), bool)
        (k0, k1, j0, j1, i0, i1), n = box, self.reach
        mask[n + k0 : n + k1, n + j0 : n + j1, self.left + i0 : self.left + i1] = False
        return mask.ravel()


def compare(ops, precision, order, vec, folder, written, boxes=BOXES, steps=(0,), depth=1, rounding=4):
    """Steps of both texts on some boxes, on random fields; `depth` threads along z."""
    file = operators.HERE / ("elastic_streamed.cu" if depth == 1 else "backward_streamed.cu")
    defines = (("VEC", vec), ("BX", BLOCK[0]), ("BY", BLOCK[1]), ("PLANES", PLANES), ("MIN_BLOCKS", 1))
    v = Variant("streamed", file, (*BLOCK, depth), (BLOCK[0] * vec, BLOCK[1], PLANES), defines, (precision,))
    plain = on_host(ops, precision, folder / f"{ops[0].name}.so")
    streamed = on_host(ops, precision, folder / f"{ops[0].name}_cuda.so", v, v.block)
    for (name, box), step in ((one, step) for one in boxes.items() for step in steps):
        before, expected, got = (Fields(precision, order, step) for _ in range(3))
        k0, k1, j0, j1, i0, i1 = box
        grid = [-(-n // s) for n, s in zip((i1 - i0 // vec * vec, j1 - j0, k1 - k0), v.span)]  # as the host counts them
        expected.run(plain, ops, box)
        got.run(streamed, ops, box, grid)
        for field in written:
            a, b, c = (fields.arrays[field] for fields in (before, expected, got))
            changes = np.abs(b - a).max() > 1e-3
            assert changes == (field != "sums" or step == 3), field  # sums are those of every other step
            assert np.abs(c - b).max() <= rounding * np.finfo(precision).eps * np.abs(b).max(), (name, field, step)
            outside = np.tile(got.outside(box), len(c) // got.field)
            assert (c == a)[outside].all(), (name, field)


ELASTIC = sorted({(*case, one[0]) for case, both in operators.STREAMED.items() for one in both})


@pytest.mark.parametrize("precision, order, vec", tiers(ELASTIC, [("float32", 4, 4)]))
def test_does_what_the_plain_body_does(precision, order, vec, tmp_path):
    ops = [operators.velocity(stencil(order)), operators.stress(stencil(order))]
    compare(ops, precision, order, vec, tmp_path, (*operators.VELOCITY, *operators.STRESS))


# One vector length each of a storage: the settings have those.
ATTENUATED = [
    ("mixed", "float32", 4, 2),
    ("coarse", "float32", 4, 2),
    ("paired", "float32", 8, 1),
    ("full", "float32", 4, 4),
]
ATTENUATED.append(("mixed", "float64", 4, 1))


@pytest.mark.parametrize("storage, precision, order, vec", tiers(ATTENUATED, ATTENUATED[:1]))
def test_attenuated_does_what_the_plain_body_does(storage, precision, order, vec, tmp_path):
    fit = relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
    op = operators.stress(stencil(order), relaxing.constants(fit, 0.05))
    compare([op], precision, order, vec, tmp_path, (*operators.STRESS, "memory"))


@pytest.mark.parametrize("part", ["stress", "velocity"])
def test_a_step_back_does_what_the_plain_body_does(part, tmp_path):
    """Velocities with the sum of squares; a step that is summed, and one that is not."""
    op, boxes = reversal.backward(stencil(4, free=True), part, light=part == "velocity"), {"whole": BOXES["whole"]}
    compare([op], "float32", 4, 4, tmp_path, op.writes, boxes, steps=(3, 4), depth=2, rounding=8)
