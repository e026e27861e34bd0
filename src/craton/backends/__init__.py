"""Machines: allocate, compile, launch. BACKENDS names them."""

from importlib import import_module

from craton.conventions import DEVICES
from craton.errors import Problem, ResourceError, ScenarioError

BACKENDS = {
    "cpu": "craton.backends.cpu:CPU",
    "cuda": "craton.backends.cuda:CUDA",
    "hostile": "craton.backends.hostile:Hostile",
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
        raise ScenarioError([Problem("device", f"there is no device {device!r}", f"use {', '.join(DEVICES)}")])
    module, name = BACKENDS[device].split(":")
    chosen = getattr(import_module(module), name)
    return chosen(**{key: value for key, value in options.items() if value is not None})


__all__ = ["BACKENDS", "ResourceError", "backend"]
