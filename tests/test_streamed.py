"""The streamed CUDA text of the elastic step: compiles within its registers, and does on the host what the plain body does."""
import ctypes
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from craton.plan.operator import BOX, Variant, declared_in_text
from craton.solvers.fd_elastic import operators

FILE = operators.HERE / "elastic_streamed.cu"
PRECISIONS = ("float32", "float64")
KERNELS = (operators.velocity, operators.stress)
SHAPE, BLOCK, PLANES = (11, 9, 29), (3, 2), 4  # nothing divides anything
# Reals per thread and threads on a multiprocessor that leave the registers which the settings in operators.py count on.
SETTINGS = {("float32", 2): (4, 512), ("float32", 4): (4, 512), ("float32", 6): (2, 512), ("float32", 8): (2, 512),
            ("float64", 2): (1, 512), ("float64", 4): (1, 320), ("float64", 6): (1, 320), ("float64", 8): (1, 256)}  # fmt: skip
BOXES = {"whole": (0, 11, 0, 9, 0, 29), "inside": (2, 9, 1, 8, 3, 26), "thin": (5, 6, 2, 9, 5, 7)}


def variant(precision, bx, by, planes, least, vec=None):
    """A declaration of the streamed text."""
    vec = vec or 16 // np.dtype(precision).itemsize
    defines = (("VEC", vec), ("BX", bx), ("BY", by), ("PLANES", planes), ("MIN_BLOCKS", least))
    return Variant("streamed", "cuda", FILE, (bx, by, 1), (bx * vec, by, planes), defines, (precision,))


def nvrtc_log(source, arch):
    """Status and log of a compilation for a GPU; needs no GPU and no driver."""
    found = sorted(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1*"))
    if not found:
        pytest.skip("needs NVRTC: pip install nvidia-cuda-nvrtc")
    nvrtc, program, size = ctypes.CDLL(str(found[0])), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"elastic_streamed.cu", 0, None, None)
    options = [f"--gpu-architecture={arch}", "-std=c++17", "--ptxas-options=-v"]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options)))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_registers_without_spills(precision, order, arch):
    vec, threads = SETTINGS[precision, order]
    status, log = nvrtc_log(operators.velocity(order).as_variant(variant(precision, 32, 2, 16, threads // 64, vec)).source(precision), arch)
    assert status == 0, log
    used = {name: int(count) for name, count in re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", log, flags=re.S)}
    assert set(used) == {"velocity", "stress"} and max(used.values()) <= 65536 // threads
    assert re.findall(r"(\d+) bytes spill", log) == ["0"] * 4


@cache
def host_compiler():
    """g++ or clang++ with C++20 threads, or None."""
    return shutil.which("g++") or shutil.which("clang++")


def build(text, path):
    """Compile a text for this machine and load it."""
    if host_compiler() is None:
        pytest.skip("needs g++ or clang++")
    command = [host_compiler(), "-std=c++20", "-O1", "-w", "-ffp-contract=fast", "-march=native", "-fPIC", "-shared", "-pthread", "-x", "c++"]
    done = subprocess.run([*command, "-", "-I", str(Path(__file__).parent), "-o", str(path)], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(path))


def entries(order, grid=None):
    """C functions run_NAME(arrays, box, params) for both kernels; with a grid, through the CUDA threads of host_cuda.hpp."""
    text = ""
    for op in (kernel(order) for kernel in KERNELS):
        call = f"{op.function}({', '.join(f'a[{n}]' for n in range(len(op.arrays)))}, *box, *p);"
        if grid:
            call = f"launch({{g[0], g[1], g[2]}}, {{{BLOCK[0]}, {BLOCK[1]}, 1}}, [&] {{ {call} }});"
        text += f'\nextern "C" void run_{op.name}(real** a, const Box* box, const FDParams* p, const unsigned* g) {{ {call} }}'
    return text + "\n"


class Fields:
    """Random fields with ghost points that hold numbers too, point (0, 0, 0) on a 32-byte boundary."""

    def __init__(self, precision, order):
        nz, ny, nx = SHAPE
        self.precision, self.left = precision, 32 // np.dtype(precision).itemsize
        self.reach, self.row = order // 2, -(-(self.left + nx + 4) // 32) * 32
        self.plane = self.row * (ny + 2 * self.reach)
        rng, names = np.random.default_rng(7), sorted({n for kernel in KERNELS for n in kernel(order).arrays})
        self.arrays = {n: self.aligned(rng.random((nz + 2 * self.reach) * self.plane) + (1 if n in ("rho", "lam", "rmu") else -0.5)) for n in names}

    def aligned(self, values):
        """A copy at an address that is a multiple of 32 bytes."""
        raw = np.empty(values.size + 8, self.precision)
        skip = -raw.ctypes.data % 32 // raw.itemsize
        raw[skip : skip + values.size] = values
        return raw[skip : skip + values.size]

    def run(self, library, order, box, grid, steps=2):
        """Leapfrog steps of a library on the box."""
        first = self.reach * (self.plane + self.row) + self.left
        for op in [kernel(order) for kernel in KERNELS] * steps:
            pointers = (ctypes.c_void_p * len(op.arrays))(*(self.arrays[n].ctypes.data + first * self.arrays[n].itemsize for n in op.arrays))
            bounds = BOX.value(self.precision, **dict(zip(("k0", "k1", "j0", "j1", "i0", "i1"), box)))
            params = op.params.value(self.precision, row=self.row, plane=self.plane, top=SHAPE[0] - 1, dt_h=0.05)
            blocks = (ctypes.c_uint * 3)(*grid)
            library[f"run_{op.name}"](pointers, bounds.ctypes.data_as(ctypes.c_void_p), params.ctypes.data_as(ctypes.c_void_p), blocks)

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


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_does_what_the_plain_body_does(precision, order, tmp_path):
    v = variant(precision, *BLOCK, PLANES, 1, SETTINGS[precision, order][0])
    op = operators.velocity(order)
    plain = build(op.source(precision) + entries(order), tmp_path / "plain.so")
    streamed = build('#include "host_cuda.hpp"\n' + op.as_variant(v).source(precision) + entries(order, grid=True), tmp_path / "streamed.so")
    for name, box in BOXES.items():
        before, expected, got = (Fields(precision, order) for _ in range(3))
        expected.run(plain, order, box, (1, 1, 1))
        got.run(streamed, order, box, grid_of(v, box))
        for field in (*operators.VELOCITY, *operators.STRESS):
            a, b, c = before.arrays[field], expected.arrays[field], got.arrays[field]
            assert np.abs(b - a).max() > 1e-3  # something happened
            assert np.abs(c - b).max() <= 4 * np.finfo(precision).eps * np.abs(b).max(), (name, field)
            assert (c == a)[got.outside(box)].all(), (name, field)


@pytest.mark.parametrize("kernel", KERNELS)
def test_arguments_are_those_of_the_plain_body(kernel):
    op = kernel(4)
    assert declared_in_text(op.as_variant(variant("float32", 32, 2, 16, 8))) == declared_in_text(op)
