"""The streamed CUDA text of the elastic step: compiles without spills, and does on the host what the plain body does."""

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from craton.backends import nvrtc
from craton.core.operator import BOX, Variant, declared_in_text
from craton.errors import ResourceError
from craton.methods.finite_difference import operators, relaxing
from craton.methods.finite_difference.scheme import stencil
from craton.model.media.attenuation import STORAGES, relaxation

FILE = operators.HERE / "elastic_streamed.cu"
HEADER = Path(__file__).parents[1] / "cases" / "host_cuda.hpp"
KERNELS = (operators.velocity, operators.stress)
SHAPE, BLOCK, PLANES = (11, 9, 29), (3, 2), 4  # nothing divides anything
BOUNDS = ("k0", "k1", "j0", "j1", "i0", "i1")
BOXES = {"whole": (0, 11, 0, 9, 0, 29), "inside": (2, 9, 1, 8, 3, 26), "thin": (5, 6, 2, 9, 5, 7)}


def variant(precision, vec, bx, by, planes, blocks):
    """A declaration of the streamed text."""
    defines = (("VEC", vec), ("BX", bx), ("BY", by), ("PLANES", planes), ("MIN_BLOCKS", blocks))
    return Variant("streamed", FILE, (bx, by, 1), (bx * vec, by, planes), defines, (precision,))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("precision, order", [case for case in operators.STREAMED_RELAXING if case[1] not in (4, 8)])
def test_attenuated_compiles_without_spills(precision, order, storage):
    """Those of the orders 4 and 8, and all without attenuation, are in test_kernels.py."""
    compiles(attenuated(storage, order), precision, operators.STREAMED_RELAXING[precision, order], "sm_90")


def compiles(op, precision, setting, arch):
    """Within the registers of its launch bounds, nothing in a thread's memory."""
    try:
        made = nvrtc.compile(op.as_variant(variant(precision, *setting)).source(precision), arch)
    except ResourceError as e:
        pytest.skip(str(e))
    assert made.ok, made.log
    _, bx, by, _, blocks = setting
    assert made.spills_bytes[op.function] == 0 and made.registers[op.function] <= min(
        255, 65536 // (bx * by * blocks)
    ), made.log
    assert made.stack_bytes[op.function] == 0, made.log


def build(text, path, *more):
    """Compile a text for this machine, with more flags, and load it; needs C++20 threads."""
    command = host_compiler(*more)
    folders = ["-I", str(parsed_header(command)), "-I", str(HEADER.parent)]
    words = [*command, "-shared", "-x", "c++", "-", *folders, "-o", str(path)]
    done = subprocess.run(words, input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(path))


def host_compiler(*more):
    """Command that compiles a text for GPUs for this machine."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs g++ or clang++")
    flags = ["-std=c++20", "-O1", "-w", "-ffp-contract=fast", "-march=native", "-fPIC", "-pthread"]
    return (compiler, *flags, *more)


@cache
def parsed_header(command):
    """A folder with host_cuda.hpp as a command has parsed it, which takes longer than most texts; g++ takes it from there."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    parsed = Path(folder.name) / f"{HEADER.name}.gch"
    subprocess.run([*command, "-x", "c++-header", str(HEADER), "-o", str(parsed)], check=True)
    return parsed.parent


def both(order):
    """Velocity and stress step."""
    return [kernel(stencil(order)) for kernel in KERNELS]


def attenuated(storage, order):
    """The stress step with memory variables."""
    return operators.stress(
        stencil(order), relaxing.constants(relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4), 0.05)
    )


def entries(ops, cuda):
    """C functions run_NAME(arrays, box, params, blocks) for kernels; for CUDA through the threads of host_cuda.hpp."""
    text = ""
    for op in ops:
        call = f"{op.function}({', '.join(f'a[{n}]' for n in range(len(op.arrays)))}, *box, *p);"
        if cuda:
            call = f"launch({{g[0], g[1], g[2]}}, {{{BLOCK[0]}, {BLOCK[1]}, 1}}, [&] {{ {call} }});"
        text += f'\nextern "C" void run_{op.name}(real** a, const Box* box, const FDParams* p, const unsigned* g) {{ {call} }}'
    return text + "\n"


class Fields:
    """Random fields with ghost points that hold numbers too and some fluid, point (0, 0, 0) on a 32-byte boundary."""

    def __init__(self, precision, order):
        nz, ny, nx = SHAPE
        self.precision, self.left = precision, 32 // np.dtype(precision).itemsize
        self.reach, self.row = order // 2, -(-(self.left + nx + 4) // 32) * 32
        self.plane = self.row * (ny + 2 * self.reach)
        rng, size = np.random.default_rng(7), (nz + 2 * self.reach) * self.plane
        lowest = dict.fromkeys((*operators.VELOCITY, *operators.STRESS), -0.5) | dict.fromkeys(("rho", "lam", "rmu"), 1)
        self.arrays = {name: self.aligned(rng.random(size) + low) for name, low in lowest.items()}
        self.arrays["rmu"].reshape(-1, self.row)[::5] = np.inf
        self.arrays |= {"qp": self.aligned(rng.random(size) / 20), "qs": self.aligned(rng.random(size) / 20)}
        self.field = size
        self.arrays["memory"] = self.aligned(rng.random(24 * size) - 0.5)

    def aligned(self, values):
        """A copy at an address that is a multiple of 32 bytes."""
        raw = np.empty(values.size + 8, self.precision)
        skip = -raw.ctypes.data % 32 // raw.itemsize
        raw[skip : skip + values.size] = values
        return raw[skip : skip + values.size]

    def run(self, library, ops, box, grid=(1, 1, 1), steps=2):
        """Leapfrog steps of a library on the box."""
        first = (self.reach * (self.plane + self.row) + self.left) * np.dtype(self.precision).itemsize
        known = {
            "row": self.row,
            "plane": self.plane,
            "sheet": self.plane,
            "top": SHAPE[0] - 1,
            "dt_h": 0.05,
            "field": self.field,
        }
        for op in [*ops] * steps:
            starts = (self.arrays[n].ctypes.data + first if n in self.arrays else None for n in op.arrays)
            pointers = (ctypes.c_void_p * len(op.arrays))(*starts)
            bounds = BOX.value(self.precision, **dict(zip(BOUNDS, box)))
            params = op.params.value(self.precision, **{name: known[name] for name, _ in op.params.fields})
            structs = (ctypes.c_void_p(s.ctypes.data) for s in (bounds, params))
            library[f"run_{op.name}"](pointers, *structs, (ctypes.c_uint * 3)(*grid))

    def outside(self, box):
        """True at the points that no kernel may write."""
        nz, ny, _ = SHAPE
        mask = np.ones((nz + 2 * self.reach, ny + 2 * self.reach, self.row), bool)
        (k0, k1, j0, j1, i0, i1), n = box, self.reach
        mask[n + k0 : n + k1, n + j0 : n + j1, self.left + i0 : self.left + i1] = False
        return mask.ravel()


def grid_of(v, box):
    """Blocks of a launch, as the host counts them."""
    k0, k1, j0, j1, i0, i1 = box
    vec = dict(v.defines)["VEC"]
    return tuple(-(-n // s) for n, s in zip((i1 - i0 // vec * vec, j1 - j0, k1 - k0), v.span))


@pytest.mark.parametrize(
    "precision, order, vec", sorted({(*case, one[0]) for case, both in operators.STREAMED.items() for one in both})
)
def test_does_what_the_plain_body_does(precision, order, vec, tmp_path):
    compare(both(order), precision, order, vec, tmp_path, (*operators.VELOCITY, *operators.STRESS))


# One vector length each of a storage: the settings have those.
@pytest.mark.parametrize(
    "storage, precision, order, vec",
    [
        ("coarse", "float32", 4, 2),
        ("mixed", "float32", 4, 2),
        ("paired", "float32", 8, 1),
        ("full", "float32", 4, 4),
        ("mixed", "float64", 4, 1),
    ],
)
def test_attenuated_does_what_the_plain_body_does(storage, precision, order, vec, tmp_path):
    compare([attenuated(storage, order)], precision, order, vec, tmp_path, (*operators.STRESS, "memory"))


def compare(ops, precision, order, vec, tmp_path, fields):
    """Steps of both texts on some boxes, on random fields."""
    op, v = ops[0], variant(precision, vec, *BLOCK, PLANES, 1)
    functions = [op.function for op in ops]
    text = op.source(precision, functions) + entries(ops, False)
    plain = build(text, tmp_path / "plain.so")
    gpu_text = op.as_variant(v).source(precision, functions)
    text = f'#include "host_cuda.hpp"\n{gpu_text}{entries(ops, True)}'
    streamed = build(text, tmp_path / "streamed.so")
    for name, box in BOXES.items():
        before, expected, got = (Fields(precision, order) for _ in range(3))
        expected.run(plain, ops, box)
        got.run(streamed, ops, box, grid_of(v, box))
        for field in fields:
            a, b, c = before.arrays[field], expected.arrays[field], got.arrays[field]
            assert np.abs(b - a).max() > 1e-3  # something happened
            assert np.abs(c - b).max() <= 4 * np.finfo(precision).eps * np.abs(b).max(), (name, field)
            outside = np.tile(got.outside(box), len(c) // len(got.outside(box)))
            assert (c == a)[outside].all(), (name, field)


@pytest.mark.parametrize("kernel", KERNELS)
def test_arguments_are_those_of_the_plain_body(kernel):
    op = kernel(stencil(4))
    assert declared_in_text(op.as_variant(variant("float32", 4, 32, 2, 16, 8))) == declared_in_text(op)
