"""Compilation for a GPU without a GPU: NVRTC from its pip wheel through ctypes; no driver, no CuPy. For tests and `craton kernels`."""
import ctypes
import importlib.util
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from craton.errors import ResourceError

OPTIONS = ("-std=c++17",)
ALWAYS = ("-ftz=true", "--ptxas-options=-v")  # CuPy adds the first one; the second one makes ptxas tell what it used


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made of a text.

    Parameters
    ----------
    ok : bool
        Whether it compiled.
    log : str
        All that the compiler and ptxas said.
    registers : dict of str to int
        Registers of a thread, by kernel.
    spills_bytes : dict of str to int
        Bytes of a thread's registers kept in memory, stores plus loads, by kernel.
    stack_bytes : dict of str to int
        Bytes of a thread's arrays kept in memory, by kernel.
    cubin : bytes
        The machine code; empty if it did not compile.
    """

    ok: bool
    log: str
    registers: dict
    spills_bytes: dict
    stack_bytes: dict
    cubin: bytes = field(default=b"", repr=False)


@cache
def library():
    """NVRTC from the wheel ``nvidia-cuda-nvrtc`` (CUDA 13) or ``nvidia-cuda-nvrtc-cu12``.

    Raises
    ------
    ResourceError
        If neither is installed.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in spec.submodule_search_locations] if spec else []
    patterns = ("*/lib/libnvrtc.so.[0-9]*", "*/bin/nvrtc64_*_0.dll", "*/bin/*/nvrtc64_*_0.dll")
    found = [path for folder in folders for pattern in patterns for path in sorted(folder.glob(pattern), reverse=True)]
    if not found:
        raise ResourceError("NVRTC is not installed: it compiles kernels for GPUs, also where there is none.\n"
                            "    pip install nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12")  # fmt: skip
    return ctypes.CDLL(str(found[0]))


def version():
    """(major, minor) of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    check("nvrtcVersion", library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def compile(source, arch="sm_90", options=OPTIONS):
    """Compile the text of a kernel file to machine code of one architecture.

    Parameters
    ----------
    source : str
        The whole translation unit; see `craton.core.operator.Operator.source`.
    arch : str
        ``"sm_80"``, ``"sm_90"``, ...
    options : tuple of str
        Besides those that CuPy adds by itself.

    Returns
    -------
    Compiled
        Also where the text is wrong: `ok` is false then and `log` says why.

    Raises
    ------
    ResourceError
        If NVRTC is not installed.
    """
    nvrtc, program = library(), ctypes.c_void_p()
    flags = [f"--gpu-architecture={arch}", *ALWAYS, *options]
    check("nvrtcCreateProgram", nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None))
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*(f.encode() for f in flags)))
        log = fetched(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        cubin = fetched(nvrtc, program, "CUBIN") if status == 0 else b""
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return Compiled(status == 0, log, *usage(log), cubin)


def fetched(nvrtc, program, what):
    """Something that NVRTC holds for a program, as bytes."""
    size = ctypes.c_size_t()
    check(what, nvrtc[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
    out = ctypes.create_string_buffer(size.value)
    check(what, nvrtc[f"nvrtcGet{what}"](program, out))
    return out.raw


def check(what, status):
    """Raise where a call of NVRTC failed for another reason than the text."""
    if status:
        library().nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"{what}: {library().nvrtcGetErrorString(status).decode()}")


def usage(log):
    """Registers, spilled bytes and stack bytes by kernel, as ``ptxas -v`` prints them."""
    registers, spills, stack = {}, {}, {}
    for part in log.split("Compiling entry function '")[1:]:
        name, used = part.split("'", 1)[0], re.search(r"Used (\d+) registers", part)
        if used:
            registers[name] = int(used[1])
            spills[name] = total(r"(\d+) bytes spill (?:stores|loads)", part)
            stack[name] = total(r"(\d+) bytes stack frame", part)
    return registers, spills, stack


def total(pattern, text):
    """Sum of the numbers that a pattern finds."""
    return sum(int(n) for n in re.findall(pattern, text))
