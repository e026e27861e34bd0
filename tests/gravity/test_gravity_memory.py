"""Memory of a gravity run on a CPU that `craton plan` foretells, beside the peak of the arrays that it allocates."""

import numpy as np
import pytest
import test_memory

import craton
from craton.backends import backend
from craton.methods.gravity import chosen, memory

BALL = {"shape": "sphere", "center": [2000, 2000, -500], "radius": 300, "density": 300}


def scenario(method, prisms, points, **gravity):
    """Cells that a body fills in part, under a grid of points over their middles."""
    nx, nz = prisms
    middle = 4000 / nx / 2
    return craton.Scenario(
        method="gravity",
        gravity={"method": method} | gravity,
        prisms={
            "kind": "grid",
            "origin": [0, 0, -1000],
            "size": [4000, 4000, 1000],
            "shape": [nx, nx, nz],
            "density": 100,
            "bodies": [BALL],
        },
        points={"kind": "grid", "x": [middle, 4000 - middle, points], "y": [middle, 4000 - middle, points], "z": 60},
        run={"device": "cpu", "threads": 1},
    )


CASES = {
    "fft": (("fft", (180, 1), 180), {"fields": "all"}),
    "far": (("far", (60, 8), 20), {}),
    "far, exact": (("far", (40, 6), 10), {"rtol": 1e-12}),
    "direct": (("direct", (2, 1), 700), {}),
    "vertex": (("vertex", (150, 20), 10), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_of_gravity(name):
    """Within 10 %, of the method that is taken."""
    options, keys = CASES[name]
    made = scenario(*options, **keys)
    machine = backend("cpu", threads=1)
    plan = craton.plan(made)
    taken = chosen(plan, machine)[0].method
    assert taken == options[0]
    whole, arrays = memory.process_bytes(plan, taken, machine)
    rows = dict(memory.rows(plan, taken, machine))
    assert f"about {whole / 2**20:,.0f} MiB at most" in rows["process on a CPU"]
    del plan
    measured = test_memory.peak(lambda: craton.run(made, progress=False, warn=False))
    assert abs(measured / arrays - 1) < 0.1, (measured / 2**20, arrays / 2**20)


def test_blocks_change_nothing(monkeypatch):
    """Nodes, layers and masses found block by block are those found at once."""
    from craton.methods.gravity import lattice
    from craton.model.prisms import ensembles

    made, machine = scenario("auto", (20, 5), 20, fields=["g_z"]), backend("cpu", threads=1)
    whole, mass = lattice_of(made, machine), ensembles.mass(craton.plan(made).problem)
    monkeypatch.setattr(lattice, "BLOCK", 300)
    monkeypatch.setattr(ensembles, "BLOCK", 300)
    parts = lattice_of(made, machine)
    for one, other in zip(whole, parts):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-9) and one.dtype == other.dtype
    again = ensembles.mass(craton.plan(made).problem)
    assert np.allclose(mass[0], again[0], rtol=1e-12)


def lattice_of(made, machine):
    """Nodes, cells and layers of a scenario."""
    from craton.methods.gravity import fft, vertex

    problem = craton.plan(made).problem
    nodes, grid = vertex.nodes(problem, machine), fft.columns(problem, machine)
    order = np.lexsort(nodes.at.T)
    return (nodes.at[order], nodes.coefficient[order], grid.x.cell, grid.y.cell, grid.layer, grid.layers)
