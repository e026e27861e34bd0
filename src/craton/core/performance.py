"""Performance model of a step over ranks: kernel rate, links, latency, surface to volume; also used
by bench/cases/scaling_model.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.partition import costs
from craton.core.subdomain import shells


@dataclass(frozen=True)
class Speeds:
    """Speeds of a GPU and its links; the defaults are those of H200s of one host (bench/NOTES.md).

    Parameters
    ----------
    rate : float
        Plain points a second.
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
        All owned points, and those in the slabs that neighbours wait for, in plain points.
    nbytes : float
        Bytes sent in a step.
    """
    travel = nbytes / speeds.bandwidth + 2 * speeds.latency if nbytes else 0.0
    return (
        speeds.thin * outer / speeds.rate
        + max((cost - outer) / speeds.rate, travel)
        + (2 * speeds.launch if nbytes else 0.0)
    )


@dataclass(frozen=True)
class ElementSpeeds(Speeds):
    """Speeds of spectral elements on a GPU.

    Parameters
    ----------
    traffic : float
        Bytes a second of a step's least traffic: 247 M isotropic elements of 27 nodes, degree 4,
        float32 on an H200.

    Fitted to one and two H200s with 399,748 elements each (bench/results/sem_ranks_h200.json):
    1.620 ms alone, 1.629 without the exchange, 1.639 with it behind the inner elements.
    """

    traffic: float = 2.2e12
    launch: float = 5e-6


def element_seconds(load, itemsize, speeds):
    """Return the seconds of a step of a rank with a load: outer elements, then inner ones while
    sums at shared points travel.

    Parameters
    ----------
    load : object with cost, outer_cost, sent
        Reals.
    itemsize : int
    speeds : ElementSpeeds
    """
    outer, inner = (n * itemsize / speeds.traffic for n in (load.outer_cost, load.cost - load.outer_cost))
    travel = load.sent * itemsize / speeds.bandwidth + 2 * speeds.latency if load.sent else 0.0
    return outer + max(inner, travel) + (2 * speeds.launch if load.sent else 0.0)


def table(partition, weights, halos, itemsize, speeds, thickness=4):
    """Return for each rank (subdomain, cost in plain points, bytes sent in a step, seconds of a
    step).

    Parameters
    ----------
    partition : list of Subdomain
    weights : GridWeights
    halos : list of list of Halo
        For each phase.
    itemsize : int
        Bytes of a real.
    speeds : Speeds
    thickness : int
        Points of the slabs that neighbours wait for.
    """
    limits = [np.unique([n for subdomain in partition for n in subdomain.box[2 * a : 2 * a + 2]]) for a in range(3)]
    uncut = costs(limits, replace(weights, cut=dict.fromkeys("zyx", 0.0)))
    rows = []
    for subdomain, cost in zip(partition, uncut):
        nbytes = sum(sent(subdomain, face, halos) for face in subdomain.faces) * itemsize
        outer = sum(
            float(np.prod([b - a for a, b in zip(box[::2], box[1::2])])) for box in shells(subdomain, thickness, 32)[0]
        )
        rows.append(
            (subdomain, float(cost), nbytes, step_seconds(float(cost), min(outer, float(cost)), nbytes, speeds))
        )
    return rows


def sent(subdomain, face, halos):
    """Return the numbers sent to the neighbour behind a face in a step; all fields of a phase have
    the halo of the thickest.

    Parameters
    ----------
    subdomain : Subdomain
    face : (str, int)
        Axis and side.
    halos : list of list of Halo
        For each phase.
    """
    axis, side = face
    total = 0
    for of_phase in halos:
        along = [halo for halo in of_phase if halo.axis == axis]
        total += len(along) * max((halo.low if side else halo.high for halo in along), default=0)
    return total * int(np.prod([n for a, n in zip("zyx", subdomain.shape) if a != axis], dtype=np.int64))
