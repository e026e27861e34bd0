"""Shared by the kernel tests: every operator of finite differences, texts for GPUs on the host, one operator alone on the CPU machine."""

import atexit
import ctypes
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from craton.backends import nvrtc
from craton.backends.cpu import CPU
from craton.core.operator import BOX, C_TYPES, inlined
from craton.core.plan import Array, Launch, Phase, StepPlan
from craton.errors import ResourceError
from craton.host import compile as host
from craton.methods.finite_difference import catalogue
from craton.methods.finite_difference.equations import operators
from craton.methods.finite_difference.equations.scheme import ORDERS, stencil
from craton.methods.waves import greens, tables

ABSENT = ("memory", "d11", "d13", "r66", "qp", "qs")  # in an isotropic medium without attenuation
PRECISIONS = ("float32", "float64")
ARCHITECTURES = ("sm_80", "sm_90")
LONGEST = max(ORDERS)  # 16: order whose differences reach to the outermost ghost of a row
BLOCK = (3, 2)  # threads of a block on the host
BOUNDS = tuple(name for name, _ in BOX.fields)


def tiers(cases, short):
    """Parameters of a test, all but some in the long tier."""
    return [pytest.param(*case, marks=() if case in short else pytest.mark.long) for case in cases]


# --- every operator ---------------------------------------------------------------------------------------------------------------------


@cache
def every_operator():
    """{id: operator}: orders 4, 8 and 16 in space, 4 in the plane, each text that does not depend on the order once."""
    others = [
        tables.HOLD,
        *catalogue.transposed(4).values(),
        *map(greens.sum_operator, ("float32", "int16")),
        *catalogue.in_half(4).values(),
    ]
    every = {op.name: op for op in others}
    for order, motion in ((4, None), (8, None), (LONGEST, None), (4, "P-SV"), (4, "SH")):
        for name, op in catalogue.operators(order, motion).items():
            defined = dict(op.defines)
            if order < LONGEST or not (defined.get("ATTENUATION") or defined.get("VTI")):
                every[f"{name}-{motion or 'space'}-{order}" if "R" in defined else name] = op
    plain = stencil(LONGEST)  # as long along z, without a free surface
    steps = [make(plain) for make in (operators.velocity, operators.stress, operators.laminate)]
    steps += [make(plain, axis) for make in (operators.cpml_velocity, operators.cpml_stress) for axis in range(3)]
    return every | {f"{op.name}-deep": op for op in steps}


def needs_nvrtc():
    """Skip where the wheel is missing; the dev extra brings it."""
    try:
        nvrtc.library()
    except ResourceError as e:
        pytest.skip(str(e))


def compiled_for_gpus(texts, *options):
    """{(`shared_text`, architecture): Compiled} of (operator, precision, architecture) triples, on as many threads as there are cores.

    Kernels of one file with the same constants are one program: NVRTC makes of each what it makes of it alone.
    `-minimal` leaves out declarations that no kernel has, such as textures: the machine code is the same bytes.
    """
    needs_nvrtc()
    functions, one_of = defaultdict(set), {}
    for op, precision, arch in texts:
        key = shared_text(op, precision), arch
        functions[key].add(op.function)
        one_of[key] = op, precision

    def compiled(key):
        op, precision = one_of[key]
        return nvrtc.compile(op.source(precision, functions[key]), key[1], (*nvrtc.OPTIONS, "-minimal", *options))

    with ThreadPoolExecutor() as pool:
        return dict(zip(one_of, pool.map(compiled, one_of)))


def shared_text(op, precision):
    """The text of an operator without its kernel: that of all operators that may be one program."""
    return op.source(precision, kernels=())


# --- texts for GPUs on the host ---------------------------------------------------------------------------------------------------------


def build(text, path, *more):
    """Compile a text for this machine, with more flags, and load it; needs C++20 threads."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs g++ or clang++")
    flags = ("-std=c++20", "-O1", "-w", "-ffp-contract=fast", "-march=native", "-fPIC", "-pthread")
    command = (compiler, *flags, *more)
    folders = ["-I", str(parsed_header(command)), "-I", str(Path(__file__).parent)]
    words = [*command, "-shared", "-x", "c++", "-", *folders, "-o", str(path)]
    done = subprocess.run(words, input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(path))


@cache
def parsed_header(command):
    """A folder with host_cuda.hpp as a command has parsed it, which takes longer than most texts; g++ takes it from there."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    header = Path(__file__).with_name("host_cuda.hpp")
    parsed = Path(folder.name) / f"{header.name}.gch"
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", str(parsed)], check=True)
    return parsed.parent


def c_type(op, name):
    """C type of the elements of an array argument."""
    return C_TYPES[dict(op.types).get(name, "real")]


def declared_in_text(op):
    """Names and C types of the arguments of a kernel, from its text, to be compared with the declaration."""
    text = re.sub(r"//[^\n]*", "", inlined(op.file))
    match = re.search(rf"KERNEL(?:_BOUNDS\([^)]*\))?\s+{op.function}\s*\((.*?)\)\s*\{{", text, flags=re.S)
    if match is None:
        raise ValueError(f"{op.file.name} has no KERNEL {op.function}")
    arguments = [
        " ".join(a.replace("*", " ").replace("const", " ").replace("RESTRICT", " ").split())
        for a in match[1].split(",")
    ]
    return [(a.rsplit(" ", 1)[1], a.rsplit(" ", 1)[0]) for a in arguments]


LIBRARIES = {}  # by their texts


def on_host(ops, precision, path, variant=None):
    """The library of operators of one text, or of its variant, through the threads of host_cuda.hpp. `launch` runs what is in it."""
    one = ops[0].as_variant(variant) if variant else ops[0]
    x, y, z = variant.block if variant else one.block
    text = '#include "host_cuda.hpp"\n' + one.source(precision, {op.function for op in ops})
    for op in ops:
        arguments = ", ".join(f"({c_type(op, name)}*)a[{n}]" for n, name in enumerate(op.arrays))
        head = f'extern "C" __attribute__((visibility("default"))) void run_{op.name}'
        text += f"\n{head}(void** a, const Box* box, const {op.params.name}* p, const unsigned* g) {{"
        text += (
            f"launch({{g[0], g[1], g[2]}}, {{{x}, {y}, {z}}}, [&] {{ {op.function}({arguments}, *box, *p); }}); }}\n"
        )
    if text not in LIBRARIES:
        # Hidden, or shared arrays of templates would be one for all libraries of this process.
        LIBRARIES[text] = build(text, path, "-fvisibility=hidden")
    return LIBRARIES[text]


def launch(library, op, precision, addresses, box, params, blocks):
    """Run an operator of a library on arrays at addresses, None where one is absent."""
    pointers = (ctypes.c_void_p * len(op.arrays))(*addresses)
    bounds = BOX.value(precision, **dict(zip(BOUNDS, box)))
    values = op.params.value(precision, **{name: params[name] for name in op.params.names})
    structs = (ctypes.c_void_p(s.ctypes.data) for s in (bounds, values))
    library[f"run_{op.name}"](pointers, *structs, (ctypes.c_uint * 3)(*blocks))


# --- one operator on the CPU machine ----------------------------------------------------------------------------------------------------


def unoptimised(monkeypatch):
    """Compile kernels for the CPU without optimising, which takes a quarter of the time."""
    flags = (*host.FLAGS, "-O0")
    monkeypatch.setattr(host, "libraries", lambda texts: {text: host.library(text, flags) for text in texts})


def plan_of(launches, arrays, layout, precision):
    """A plan of one phase. Arrays of the layout's padded shape are counted from the grid's first point."""

    def described(a):
        place = {"first": layout.first, "window": layout.window()} if a.shape[-3:] == layout.padded else {}
        return Array("wavefield", a.shape, a.dtype, a, **place)

    names = [tuple("" if a in ABSENT and a not in arrays else a for a in one.arrays) for one in launches]
    phase = Phase("phase", tuple(replace(one, arrays=of) for one, of in zip(launches, names)))
    described = {name: described(a) for name, a in arrays.items()}
    return StepPlan(precision=precision, layout=layout, arrays=described, phases=(phase,))


def commit(launches, arrays, layout, precision, machine=None):
    """The arrays on the machine and a function that runs the launches on them."""
    program = (machine or CPU(threads=1)).commit(plan_of(launches, arrays, layout, precision))
    return program.arrays, lambda: program.phases[0].inner(0)


def run(op, names, arrays, box, params, layout, precision):
    """All arrays after one launch."""
    after, step = commit([Launch(op, tuple(names), box, params)], arrays, layout, precision)
    step()
    return after


def inside(layout, box):
    """Slices of a padded array that are the points of a box."""
    return tuple(slice(o + a, o + b) for o, a, b in zip(layout.origin, box[::2], box[1::2]))


def unchanged_outside(before, after, slices):
    """True where nothing but `slices` differs, bit for bit."""
    mask = np.ones(before.shape, bool)
    mask[slices] = False
    same = before.view(np.uint8).reshape(*before.shape, -1) == after.view(np.uint8).reshape(*after.shape, -1)
    return same.all(-1)[mask].all()
