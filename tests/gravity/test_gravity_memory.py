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
    nx, nz = prisms
    middle = 4000 / nx / 2
    cells = {
        "origin": [0, 0, -1000],
        "size": [4000, 4000, 1000],
        "shape": [nx, nx, nz],
        "density": 100,
        "bodies": [BALL],
    }
    return craton.Scenario(
        method="gravity",
        gravity={"method": method} | gravity,
        prisms={"kind": "grid"} | cells,
        points={"kind": "grid", "x": [middle, 4000 - middle, points], "y": [middle, 4000 - middle, points], "z": 60},
        run={"device": "cpu", "threads": 1},
    )


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (("fft", (90, 1), 90), {"fields": "all"}),
        (("far", (40, 6), 10), {"fields": "all"}),
        (("direct", (2, 1), 700), {}),
        (("vertex", (100, 20), 10), {"fields": "all"}),
        pytest.param(("fft", (180, 1), 180), {"fields": "all"}, marks=pytest.mark.long),
        pytest.param(("far", (60, 8), 20), {}, marks=pytest.mark.long),
        pytest.param(("far", (40, 6), 10), {"rtol": 1e-12}, marks=pytest.mark.long),
        pytest.param(("vertex", (150, 20), 10), {}, marks=pytest.mark.long),
    ],
)
def test_memory_of_gravity(options, keys):
    """Within 10 %, of the method that is taken."""
    made, machine = scenario(*options, **keys), backend("cpu", threads=1)
    plan = craton.plan(made)
    taken = chosen(plan, machine)[0].method
    assert taken == options[0]
    whole, arrays = memory.process_bytes(plan, taken, machine)
    assert f"about {whole / 2**20:,.0f} MiB at most" in dict(memory.rows(plan, taken, machine))["process on a CPU"]
    del plan
    measured = peak(lambda: craton.run(made, progress=False, warn=False))
    assert abs(measured / arrays - 1) < 0.1, (measured / 2**20, arrays / 2**20)


def test_blocks_change_nothing(monkeypatch):
    """Nodes, cells, layers and masses found block by block are those found at once."""
    made, machine, answers = scenario("auto", (20, 5), 20, fields=["g_z"]), backend("cpu", threads=1), []
    for _ in range(2):
        problem = craton.plan(made).problem
        nodes, grid = vertex.nodes(problem, machine), fft.columns(problem, machine)
        order = np.lexsort(nodes.at.T)
        answers.append((nodes.at[order], nodes.coefficient[order], grid.x.cell, grid.y.cell, grid.layer, grid.layers))
        answers[-1] += (ensembles.mass(problem)[0],)
        monkeypatch.setattr(lattice, "BLOCK", 300)
        monkeypatch.setattr(ensembles, "BLOCK", 300)
    for one, other in zip(*answers):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-9) and np.asarray(one).dtype == np.asarray(other).dtype
