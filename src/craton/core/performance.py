"""Performance model of a step over ranks: kernel rate, links, latency, surface to volume; also used
by bench/cases/scaling_model.py.
"""

import itertools
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from craton.core.partition import costs
from craton.core.subdomain import shells


@dataclass(frozen=True)
class Speeds:
    """Speeds of a GPU and its links; the defaults are those of a grid on H200s of one host (bench/NOTES.md).

    Parameters
    ----------
    rate : float
        Plain points a second, or what else costs are counted in.
    bandwidth : float
        Bytes a second out of a rank.
    latency : float
        Least time of an exchange, s.
    thin : float
        Cost of a point in the slabs that neighbours wait for, over that of another point.
    launch : float
        Launch time of a phase that is not hidden, s.
    """

    rate: float = 31e9
    bandwidth: float = 166e9
    latency: float = 25e-6
    thin: float = 1.5
    launch: float = 8e-6


def step_seconds(cost, outer, nbytes, speeds):
    """Return the seconds of a step of one rank: slabs first, then the rest while halos travel; two
    phases.

    Parameters
    ----------
    cost, outer : float
        Of all that the rank owns, and of what neighbours wait for, as `Speeds.rate` counts.
    nbytes : float
        Bytes sent in a step.
    """
    travel = nbytes / speeds.bandwidth + 2 * speeds.latency if nbytes else 0.0
    return (
        speeds.thin * outer / speeds.rate
        + max((cost - outer) / speeds.rate, travel)
        + (2 * speeds.launch if nbytes else 0.0)
    )


# Of spectral elements, whose cost is the least traffic in bytes. Fitted to one and two H200s with 399,748
# isotropic elements of 27 nodes each, degree 4, float32 (bench/results/sem_ranks_h200.json): 1.620 ms alone,
# 1.629 without the exchange, 1.639 with it behind the inner elements.
OF_ELEMENTS = Speeds(rate=2.2e12, thin=1.0, launch=5e-6)


def grid_loads(partition, weights, phases, itemsize, thickness=4):
    """Return for each rank (cost in plain points, points that neighbours wait for, bytes sent in a step).

    Parameters
    ----------
    partition : list of Subdomain
    weights : GridWeights
    phases : sequence of Phase
        All fields of a phase are sent as thick as the thickest.
    itemsize : int
        Bytes of a real.
    thickness : int
        Points of the slabs that neighbours wait for.
    """
    limits = [np.unique([n for subdomain in partition for n in subdomain.box[2 * a : 2 * a + 2]]) for a in range(3)]
    uncut = map(float, costs(limits, replace(weights, cut=dict.fromkeys("zyx", 0.0))))
    planes = {}
    for axis, side in itertools.product("xyz", (0, 1)):
        of_phases = [[h.low if side else h.high for h in p.halos if h.axis == axis] for p in phases]
        planes[axis, side] = sum(len(thick) * max(thick, default=0) for thick in of_phases)
    loads = []
    for own, cost in zip(partition, uncut):
        reals = sum(planes[face] * prod(own.shape) // own.shape["zyx".index(face[0])] for face in own.faces)
        outer = sum(prod([b - a for a, b in zip(box[::2], box[1::2])]) for box in shells(own, thickness, 32)[0])
        loads.append((cost, min(float(outer), cost), reals * itemsize))
    return loads
