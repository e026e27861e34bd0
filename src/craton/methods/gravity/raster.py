"""Nodes of prisms on a regular lattice by a few kernels: what `lattice.nodes` finds of any
ensemble, for machines where sorting is dear.
"""

from types import SimpleNamespace

import numpy as np

from craton.core.plan import Array, Launch
from craton.methods.gravity.lattice import ULPS, Nodes, Planes
from craton.methods.gravity.operators import FLOATS, LANES, RASTER, kernel

THREADS = 4096  # that share the prisms out to find their outline
MOST = 15 << 20  # prisms: a grid of blocks ends at 2^24
PLACES = 1 << 28  # of the lattice at most, and
CROWD = 1000  # times the number of prisms


def launch(machine, name, arrays, points, **params):
    """Run an operator of raster.h once on arrays of the machine."""
    op = kernel(name)
    plan = SimpleNamespace(
        precision="float64", arrays={name: Array("scratch", a.shape, a.dtype) for name, a in arrays.items()}
    )
    given = dict.fromkeys(RASTER.names, 0) | params
    points_launch = Launch(op, op.arrays, (0, 1, 0, -(-points // LANES), 0, LANES), given)
    machine.single(points_launch, SimpleNamespace(plan=plan, arrays=arrays))()


def nodes(prisms, density, machine):
    """Nodes on the host and the prisms' mass, kg without signs; None where the prisms lie on no
    regular lattice, or on a vast one.

    Parameters
    ----------
    prisms, density : array
        (M, 6) and (M,) of the machine, M > 0, every prism with volume.
    """
    xp, count = machine.xp, len(prisms)
    if count > MOST:
        return None
    given = {"faces": prisms, "density": density}
    arrays = given | {"partial": xp.empty((11, THREADS))}
    launch(machine, "outline", arrays, THREADS, count=count, threads=THREADS)
    rows = machine.to_host(arrays["partial"])
    begin, end, width, mass, rho = (
        rows[:3].min(axis=1),
        rows[3:6].max(axis=1),
        rows[6:9].min(axis=1),
        rows[9].sum(),
        rows[10].max(),
    )
    cells = np.rint((end - begin) / width)
    if np.prod(cells + 1) > min(PLACES, CROWD * count):
        return None
    step, shape = (end - begin) / cells, [int(n) + 1 for n in cells]
    params = dict(zip((*FLOATS, "nx", "ny", "nz"), (*begin, *step, ULPS, *shape)))
    arrays = given | {
        "corners": xp.zeros(int(np.prod(shape))),
        "planes": xp.full(sum(shape), np.nan),
        "bad": xp.zeros(1, np.int32),
    }
    launch(machine, "scatter", arrays, count, count=count, **params)
    if int(arrays["bad"][0]):
        return None
    keys = xp.flatnonzero(xp.abs(arrays["corners"]) > ULPS * rho)
    if not len(keys):
        return None
    corners = arrays | {"keys": keys.astype(np.int64, copy=False), "nodes": xp.empty((len(keys), 4))}
    launch(machine, "pick", corners, len(keys), count=len(keys), **params)
    records, planes = machine.to_host(corners["nodes"]), machine.to_host(arrays["planes"])
    spaced = [begin[axis] + step[axis] * np.arange(shape[axis]) for axis in range(3)]
    at = [
        np.where(np.isnan(given), regular, given)
        for given, regular in zip(np.split(planes, np.cumsum(shape)[:2]), spaced)
    ]
    return Nodes(records[:, :3], records[:, 3], tuple(map(Planes, at))), float(mass)
