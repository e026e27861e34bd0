"""Forward modelling in geophysics on CPUs and GPUs: one Earth model, one scenario file, laptop to many GPUs."""
from importlib import import_module

_PUBLIC = {"load": "api", "plan": "api", "run": "api", "Result": "api", "Scenario": "scenario"}

__all__ = ["Result", "Scenario", "load", "plan", "run"]


def __getattr__(name):
    """Public names, imported when they are first used: `craton --help` answers at once."""
    if name in _PUBLIC:
        return getattr(import_module(f"craton.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'craton' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
