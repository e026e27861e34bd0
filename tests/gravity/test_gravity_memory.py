"""Memory of a gravity run on a CPU that `craton plan` foretells, beside the peak of the arrays that it allocates."""

import numpy as np
import pytest
from common import peak

import craton
from craton.backends import backend
from craton.methods.gravity import chosen, fft, lattice, memory, vertex
from craton.model.prisms import ensembles

BALL = {"shape": "sphere", "center": [2000, 2000, -500], "radius": 300, "density": 300}


def scenario(method, prisms, points, **gravity):
    """Cells that a body fills in part, under a grid of points over their middles."""
    (nx, nz), middle = prisms, 2000 / prisms[0]
    cells = {"origin": [0, 0, -1000], "size": [4000, 4000, 1000], "shape": [nx, nx, nz], "density": 100}
    axis = [middle, 4000 - middle, points]
    return craton.Scenario(
        method="gravity",
        gravity={"method": method} | gravity,
        prisms={"kind": "grid", "bodies": [BALL]} | cells,
        points={"kind": "grid", "x": axis, "y": axis, "z": 60},
        run={"device": "cpu", "threads": 1},
    )


ALL = {"fields": "all"}
SMALL = [
    ("fft", (64, 1), 64, ALL),
    ("far", (28, 6), 8, ALL),
    ("direct", (2, 1), 300, {}),
    ("vertex", (100, 20), 10, ALL),
]
LARGE = [
    ("fft", (130, 1), 130, ALL),
    ("far", (60, 8), 20, {}),
    ("far", (40, 6), 10, {"rtol": 1e-12}),
    ("vertex", (120, 20), 10, {}),
]


@pytest.mark.parametrize("cases", [SMALL, pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"])
def test_memory_of_gravity(cases):
    """Within 10 %, of the method that is taken."""
    for method, prisms, points, keys in cases:
        asked, machine = scenario(method, prisms, points, **keys), backend("cpu", threads=1)
        plan = craton.plan(asked)
        assert chosen(plan, machine)[0].method == method
        whole, arrays = memory.process_bytes(plan, method, machine)
        text = dict(memory.rows(plan, method, machine))["process on a CPU"]
        assert f"about {whole / 2**20:,.0f} MiB at most" in text, method
        del plan
        measured = peak(lambda: craton.run(asked, progress=False, warn=False))  # noqa: B023
        assert abs(measured / arrays - 1) < 0.1, (method, measured / 2**20, arrays / 2**20)


def test_blocks_change_nothing(monkeypatch):
    """Nodes, cells, layers and masses found block by block are those found at once."""
    asked, machine, answers = scenario("auto", (20, 5), 20, fields=["g_z"]), backend("cpu", threads=1), []
    for _ in range(2):
        problem = craton.plan(asked).problem
        nodes, grid = vertex.nodes(problem, machine), fft.columns(problem, machine)
        order = np.lexsort(nodes.at.T)
        answers.append((nodes.at[order], nodes.coefficient[order], grid.x.cell, grid.y.cell, grid.layer, grid.layers))
        answers[-1] += (ensembles.mass(problem)[0],)
        monkeypatch.setattr(lattice, "BLOCK", 300)
        monkeypatch.setattr(ensembles, "BLOCK", 300)
    for whole, blocks in zip(*answers):
        assert np.allclose(whole, blocks, rtol=1e-12, atol=1e-9) and np.asarray(whole).dtype == np.asarray(blocks).dtype
