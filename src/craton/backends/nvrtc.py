"""What compilers are given for an operator on each machine, to be printed or compiled: for a GPU without a GPU, by NVRTC
through cuda-bindings; no driver, no CuPy.
"""

import re
from dataclasses import dataclass, field
from functools import cache

from craton.errors import ResourceError
from craton.host import compile as host

OPTIONS = ("-std=c++17",)
# CuPy adds the first one; the second one makes ptxas tell what it used
ALWAYS = ("-ftz=true", "--ptxas-options=-v")


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
    """Return the module ``cuda.bindings.nvrtc``; it finds NVRTC in a wheel, a conda environment or
    a CUDA toolkit.

    Raises
    ------
    ResourceError
        If it is not installed, or NVRTC is not.
    """
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:  # the second where the bindings find no NVRTC
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ResourceError(
            f"NVRTC is not installed ({reason}): it compiles kernels for GPUs, also where there is none.\n"
            "    pip install cuda-bindings nvidia-cuda-nvrtc (CUDA 13), "
            "or 'cuda-bindings<13' nvidia-cuda-nvrtc-cu12"
        ) from None
    return nvrtc


def version():
    """(major, minor) of NVRTC."""
    return asked("nvrtcVersion")


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
    flags = [flag.encode() for flag in (f"--gpu-architecture={arch}", *ALWAYS, *options)]
    (program,) = asked("nvrtcCreateProgram", source.encode(), b"kernels.cu", 0, [], [])
    try:
        (status,) = library().nvrtcCompileProgram(program, len(flags), flags)
        log = fetched(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        cubin = b"" if status else fetched(program, "CUBIN")
    finally:
        asked("nvrtcDestroyProgram", program)
    registers, spills, stack = usage(log)
    return Compiled(not status, log, registers, spills, stack, cubin)


def fetched(program, name):
    """Bytes that NVRTC holds for a program: its ``"ProgramLog"`` or ``"CUBIN"``."""
    (size,) = asked(f"nvrtcGet{name}Size", program)
    out = bytearray(size)
    asked(f"nvrtcGet{name}", program, out)
    return bytes(out)


def asked(name, *arguments):
    """Return what a function of NVRTC returns besides its status.

    Raises
    ------
    RuntimeError
        It failed for another reason than the text.
    """
    status, *values = getattr(library(), name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: {library().nvrtcGetErrorString(status)[1].decode()}")
    return tuple(values)


def usage(log):
    """Return registers, spilled bytes and stack bytes by kernel, as ``ptxas -v`` prints them."""
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


@dataclass(frozen=True)
class Unit:
    """A translation unit.

    Parameters
    ----------
    machine : str
        Key of `craton.backends.BACKENDS`.
    variant : str
        ``"plain"``, or the name of the variant.
    compiler : tuple of str
        Command or compiler, and flags.
    text : str
        All that it sees.
    """

    machine: str
    variant: str
    compiler: tuple
    text: str


def units(op, precision):
    """Return the translation units of an operator: its body on each machine, then its variants for
    this precision.

    Parameters
    ----------
    op : Operator
    precision : str

    Returns
    -------
    list of Unit
    """
    plain = op.source(precision)
    plain_units = [
        Unit("cpu", "plain", (*host.compiler(), *host.FLAGS), host.with_entries(plain)),
        Unit("cuda", "plain", ("nvrtc", *ALWAYS, *OPTIONS), plain),
    ]
    compilers = {unit.machine: unit.compiler for unit in plain_units}
    chosen = [v for v in op.variants if precision in v.precisions]
    machines = {".cu": "cuda", ".cpp": "cpu"}
    made_for = [(machines[v.file.suffix], v) for v in chosen]
    return plain_units + [Unit(m, v.name, compilers[m], op.as_variant(v).source(precision)) for m, v in made_for]


def on_architecture(unit, arch, function):
    """Whether a unit compiles for a GPU architecture, and in words what its kernel `function` needs
    there, or why it does not.
    """
    compiled = compile(unit.text, arch)
    if not compiled.ok:
        return False, f"does not compile\n{compiled.log}"
    used = (compiled.registers[function], compiled.spills_bytes[function], compiled.stack_bytes[function])
    return True, "{} registers, {} bytes spilled, {} bytes of stack".format(*used)
