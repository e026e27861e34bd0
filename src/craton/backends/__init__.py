"""Machines: allocate, compile, launch. BACKENDS names them."""

from importlib import import_module

from craton.conventions import DEVICES
from craton.errors import refuse

BACKENDS = {
    "cpu": "craton.backends.cpu:CPU",
    "cuda": "craton.backends.cuda:CUDA",
    "hostile": "craton.backends.cpu:Hostile",
}


def backend(device="auto", **options):
    """Return the machine of that name; ``"auto"`` takes a GPU where there is one.

    Raises
    ------
    ResourceError
        If the machine is not there, with what to install.
    ScenarioError
        There is no such name.
    """
    if device == "auto":
        from craton.backends.cuda import available

        device = "cuda" if available() else "cpu"
    if device not in BACKENDS:
        refuse("device", f"there is no device {device!r}", f"use {', '.join(DEVICES)}")
    module, name = BACKENDS[device].split(":")
    chosen = getattr(import_module(module), name)
    return chosen(**{key: value for key, value in options.items() if value is not None})


def gpu_in_words():
    """Return the GPU, its memory and driver; or what is missing, and what to install."""
    from importlib.util import find_spec

    from craton.backends import cuda

    if not cuda.available():
        missing = "CuPy is not installed" if find_spec("cupy") is None else "CuPy finds no device or driver"
        return f"none ({missing}): pip install 'craton[cuda13]' (driver 580 or newer) or 'craton[cuda12]'"
    machine = cuda.CUDA()
    free, total = machine.memory()
    driver = machine.cupy.cuda.runtime.driverGetVersion()
    newest = f"{driver // 1000}.{driver % 1000 // 10}"
    return f"{machine.describe()}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free, driver for CUDA {newest}"


__all__ = ["BACKENDS", "backend", "gpu_in_words"]
