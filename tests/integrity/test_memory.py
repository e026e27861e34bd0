"""Memory of the host that a plan foretells, beside the peak of the arrays that making it and running it allocate."""

import tracemalloc
from dataclasses import dataclass
from typing import Any

import benchscript
import numpy as np
import pytest
from common import peak, refused

import craton
from craton.errors import ResourceError
from craton.memory import array_bytes
from craton.methods.spectral_element import host_memory

memory = benchscript.load("cases.memory")


@dataclass
class Holder:
    """An object of craton, as its module says, that holds values."""

    values: Any


Holder.__module__ = "craton.test"


def test_arrays_are_counted_once():
    """Views by what they show, arrays in two places once, other libraries' objects and plain lists not at all."""
    a, b = np.zeros(1000), np.zeros(10, np.float32)
    assert array_bytes(a[:10], {"a": a[::2]}, (b, [b])) == 8040
    assert array_bytes(Holder({"deep": [Holder(a), None, 3]}), Holder(b)) == 8040
    assert array_bytes(["names", a], [1.0, 2.0], np.zeros(0), tracemalloc) == 0


LONG = [pytest.param(name, 160, marks=pytest.mark.long) for name in ("box", "attenuation")]


@pytest.mark.parametrize("name, size", [("layer", 240), *LONG])
def test_memory_of_elements(name, size):
    """Within 10 %: of the plan, whose peak is the search for the stable step, and of the whole run."""
    tables = memory.elements(size, loss=memory.LOSS if name == "attenuation" else None)
    tables["boundaries"] = {"top": "free", "others": "pml" if name == "layer" else "stacey"}
    tables |= {"time": {"duration": 0.05, "start": 0.0}, "run": {"device": "cpu", "threads": 1}}
    scenario = craton.Scenario(**tables)
    plan = craton.plan(scenario)
    assert abs(peak(lambda: craton.plan(scenario)) / plan.planning - 1) < 0.1
    measured = peak(lambda: craton.run(scenario, progress=False, warn=False))
    assert abs(measured / plan.host_memory[0] - 1) < 0.1
    assert (plan.host_memory[0] > plan.planning) == (name != "box")
    words = dict(plan.notes["Memory"])
    assert words["making this plan"] == f"{plan.planning / 2**20:,.1f} MiB at most"
    assert f"about {plan.host_memory[0] / 2**20 + 160:,.0f} MiB" in words["process on a CPU"]


def test_what_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    """Meshes by the number of their elements, from that on which cannot fit; the search for the stable step."""
    scenario = craton.Scenario(**memory.elements(400))
    with monkeypatch.context() as patch:
        patch.setattr(host_memory, "available", lambda: 500_000)
        refused(ResourceError, "has 144 elements, and 127 fit", craton.plan, scenario)
        fine = craton.Scenario(**memory.elements(1.6))
        refused(ResourceError, "has 2,250,000,000 elements", craton.plan, fine)
    monkeypatch.setattr("craton.backends.cpu.host_memory", lambda: (1000, 1000))
    refused(ResourceError, "stable step of 144 elements needs 0.0 GiB", craton.plan, scenario)
