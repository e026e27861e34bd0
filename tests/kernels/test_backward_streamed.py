"""The streamed CUDA text of the steps back: compiles without spills, and does on the host what the plain body does."""

import ctypes

import numpy as np
import pytest
from test_streamed import BLOCK, BOUNDS, PLANES, SHAPE, Fields, build

from craton.backends import nvrtc
from craton.core.operator import BOX, Variant
from craton.errors import ResourceError
from craton.methods.finite_difference import operators, reversal
from craton.methods.finite_difference.scheme import stencil

PARTS = ("stress", "velocity")
BOX_, INNER = (0, 11, 0, 9, 0, 29), (3, 9, 2, 8, 5, 22)
EVERY, LAST = 2, 9


@pytest.mark.parametrize("precision, order", [case for case in reversal.STREAMED if case[1] != 4])
def test_compiles_without_spills(precision, order):
    """Those of order 4 are in test_kernels.py."""
    for part in PARTS:
        op = reversal.backward(stencil(order, free=True), part, light=part == "velocity")
        v = op.variant(".cu", precision)
        try:
            compiled = nvrtc.compile(op.as_variant(v).source(precision), "sm_90")
        except ResourceError as e:
            pytest.skip(str(e))
        assert compiled.ok, compiled.log
        budget = min(255, 65536 // (np.prod(v.block) * dict(v.defines)["MIN_BLOCKS"]))
        assert compiled.spills_bytes[op.function] == 0, compiled.log
        assert compiled.registers[op.function] <= budget, compiled.log


def ops_of(order):
    """Both steps back, velocities with the sum of squares."""
    return [reversal.backward(stencil(order, free=True), part, light=part == "velocity") for part in PARTS]


def entry(op, cuda):
    """A C function run(arrays, box, params, blocks) for a kernel, as in test_streamed."""
    arrays = [f"(int*)a[{n}]" if name == "step" else f"a[{n}]" for n, name in enumerate(op.arrays)]
    call = f"{op.function}({', '.join(arrays)}, *box, *p);"
    if cuda:
        call = f"launch({{g[0], g[1], g[2]}}, {{{BLOCK[0]}, {BLOCK[1]}, 2}}, [&] {{ {call} }});"
    return f'\nextern "C" void run(real** a, const Box* box, const BackParams* p, const unsigned* g) {{ {call} }}\n'


class Both(Fields):
    """Random fields of both directions, and sums."""

    def __init__(self, precision, order):
        super().__init__(precision, order)
        rng = np.random.default_rng(11)
        for name in (*reversal.FORWARD, *reversal.TENSION):
            self.arrays[name] = self.aligned(rng.random(self.field) - 0.5)
        self.arrays["sums"] = self.aligned(rng.random(10 * self.field) - 0.5)
        self.step = np.array([3], np.int32)

    def back(self, library, op, grid):
        """A half step back of a library."""
        first = (self.reach * (self.plane + self.row) + self.left) * np.dtype(self.precision).itemsize
        starts = [self.step.ctypes.data if n == "step" else self.arrays[n].ctypes.data + first for n in op.arrays]
        known = {"row": self.row, "plane": self.plane, "sheet": self.plane, "top": SHAPE[0] - 1}
        known |= {"dt_h": 0.05, "field": self.field, "every": EVERY, "last": LAST}
        known |= dict(zip(BOUNDS, INNER))
        params = op.params.value(self.precision, **known)
        box = BOX.value(self.precision, **dict(zip(BOUNDS, BOX_)))
        structs = (ctypes.c_void_p(s.ctypes.data) for s in (box, params))
        pointers = (ctypes.c_void_p * len(starts))(*starts)
        library.run(pointers, *structs, (ctypes.c_uint * 3)(*grid))


def test_does_what_the_plain_body_does(tmp_path):
    precision, order, vec = "float32", 4, 4
    settings = (("VEC", vec), ("BX", BLOCK[0]), ("BY", BLOCK[1]), ("PLANES", PLANES))
    for op in ops_of(order):
        v = Variant(
            "streamed",
            operators.HERE / "backward_streamed.cu",
            (*BLOCK, 2),
            (BLOCK[0] * vec, BLOCK[1], PLANES),
            (*settings, ("MIN_BLOCKS", 1)),
            (precision,),
        )
        plain = build(op.source(precision) + entry(op, False), tmp_path / f"{op.name}.so")
        text = op.as_variant(v).source(precision) + entry(op, True)
        streamed = build('#include "host_cuda.hpp"\n' + text, tmp_path / f"{op.name}_cuda.so")
        grid = [-(-n // s) for n, s in zip(SHAPE[::-1], v.span)]
        for step in (3, 4):  # summed, not summed
            before, expected, got = (Both(precision, order) for _ in range(3))
            expected.step[0] = got.step[0] = step
            expected.back(plain, op, grid)
            got.back(streamed, op, grid)
            for name in op.writes:
                a, b, c = (fields.arrays[name] for fields in (before, expected, got))
                changes = np.abs(b - a).max() > 1e-3
                assert changes == (name != "sums" or step == 3), name
                error = np.abs(c - b).max() / np.abs(b).max()
                assert error <= 8 * np.finfo(precision).eps, (name, step)
