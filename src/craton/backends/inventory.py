"""What this computer has to compute with: compiler, threads, memory, GPU; and what to install where
something is missing.
"""

import importlib.util
import platform

from craton.backends import cuda, nvrtc
from craton.backends.cpu import CPU, cores
from craton.errors import CratonError
from craton.host import compile as host
from craton.host import kernel_cache


def inventory():
    """Return (what, how it is) rows; nothing is allocated.

    Returns
    -------
    list of (str, str)
    """
    free, total = CPU().memory()
    return [
        ("processor", f"{processor()}, {cores()} cores for this process"),
        ("memory", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"),
        ("compiler", said(compiler)),
        ("kernels", f"kept in {kernel_cache.folder()}"),
        ("GPU", said(gpu)),
        ("NVRTC", said(lambda: "{}.{}".format(*nvrtc.version()))),
    ]


def said(question):
    """Return an answer, or in one line why there is none and what to do."""
    try:
        return question()
    except CratonError as error:
        return " ".join(str(error).split())


def processor():
    """Name of the processor."""
    info = host.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def compiler():
    """Return the compiler and how threads are made with it."""
    return (
        f"{' '.join(host.compiler()[:1])}, {'OpenMP threads' if host.has_openmp() else 'no OpenMP: threads of a pool'}"
    )


def gpu():
    """Return the device, its memory and driver; or what is missing."""
    if not cuda.available():
        missing = (
            "CuPy is not installed" if importlib.util.find_spec("cupy") is None else "CuPy finds no device or driver"
        )
        return f"none ({missing}): pip install 'craton[cuda13]' (driver 580 or newer) or 'craton[cuda12]'"
    machine = cuda.CUDA()
    free, total = machine.memory()
    driver = machine.cupy.cuda.runtime.driverGetVersion()
    newest = f"{driver // 1000}.{driver % 1000 // 10}"
    return f"{machine.describe()}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free, driver for CUDA {newest}"
