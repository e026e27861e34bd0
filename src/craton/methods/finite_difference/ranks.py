"""What several ranks need to know of the elastic staggered grid: halos that each half step reads,
and what planes of points cost.
"""

from dataclasses import replace

import numpy as np

from craton.core.partition import GridWeights
from craton.core.plan import Halo
from craton.methods.finite_difference.equations.boundaries import slab_depths

# Of a point on top of the plain step, in plain points: bench/results/fd_h200.json, 768^3, order 4,
# float32.
CPML = {0: 2.3, 1: 1.75, 2: 1.8}
SURFACE = 1.9
SPONGE = 0.6  # by its traffic: 18 of 30 reals
# of a point on a cut, in plain points: packing, thin regions, what is not hidden
COST_OF_HALO = {"z": 4.0, "y": 5.0, "x": 20.0}


def halos(d, phase):
    """Return what the half step after `phase` ("velocity", "stress") reads of its neighbours: tuple
    of Halo.

    A difference is half-way between the points that it reads: of a field at half points along the
    axis R before it and R - 1 behind, of one at integer points the other way round. Velocities are
    differentiated along every axis, stresses along their own ones, the one stress of acoustic waves
    along every axis.
    """
    found = []
    for field in d.velocity if phase == "velocity" else d.stress:
        for n, axis in enumerate("xyz"):
            reach = len(d.stencil.axes[n])
            if reach and (phase == "velocity" or d.acoustic or axis in field):
                low, high = (reach, reach - 1) if d.half(field)[n] else (reach - 1, reach)
                found.append(Halo(field, axis, low, high))
    return tuple(found)


def weights(d):
    """Return the `GridWeights` by which the grid is divided among ranks."""
    cost = {axis: np.ones(n) for axis, n in zip("zyx", d.shape)}
    for kind, extra in (("cpml", CPML), ("sponge", dict.fromkeys(range(3), SPONGE))):
        for axis, side in d.faces(kind):
            box, *_ = slab_depths(d, axis, side, getattr(d.boundaries, kind).thickness)
            cost["xyz"[axis]][slice(*box[2 * (2 - axis) : 2 * (2 - axis) + 2])] += extra[axis]
    if d.free:
        cost["z"][d.shape[0] - d.surface_planes :] += SURFACE
    least, periodic = (max(d.reach, 2), "".join("xyz"[axis] for axis, side in d.faces("periodic") if side == 0))
    return GridWeights(
        cost,
        COST_OF_HALO,
        least,
        d.surface_planes + d.reach if d.free else least,
        periodic,
        uncut="y" if d.planar else "",
        # differences wider than halos
        together=d.floor and (d.floor + 1 - d.floor_closure.rows, d.floor + 1 + d.floor_closure.rows),
    )


def gradient_weights(d, weights, align):
    """Return the `GridWeights` by which steps of gradients are divided: a transposed CPML layer
    differences what it remembered, and what is kept of the field beside a layer may share a scale,
    so that no cut along its normal comes near it.

    Parameters
    ----------
    d : Discretisation
    weights : GridWeights
        Of the plain steps.
    align : int
        Cuts lie at multiples of it.
    """
    ends = {}
    for kind in ("cpml", "sponge"):
        thickness = getattr(d.boundaries, kind).thickness
        for axis, side in d.faces(kind):
            planes = list(ends.get("xyz"[axis], (0, 0)))
            planes[side] = thickness + side + d.reach
            ends["xyz"[axis]] = tuple(planes)
    return replace(weights, ends=ends, align=max(align, weights.align))
