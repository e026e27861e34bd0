"""Pictures of the wavefield: which points of which fields they need, and the quantity at the integer points from these."""
from functools import partial

import numpy as np

from craton.conventions import components
from craton.core.plan import Frames
from craton.methods.finite_difference.material import trace_share
from craton.methods.finite_difference.points import COMPONENT_AXES
from craton.methods.finite_difference.scheme import VELOCITY
from craton.methods.shared.timing import picture_steps
from craton.model.ground import terrain
from craton.survey.snapshots import problems

__all__ = ["frames", "problems"]

MARGIN = 2  # planes beside a plane that centring and differentiating need


def frames(d):
    """One `Frames` for each snapshot of the scenario."""
    return tuple(one(d, spec) for spec in d.scenario.snapshots)


def one(d, spec, ranges=None):
    """Where and when one series of snapshots is taken; of its part within `ranges`, (first, last + 1) point along its axes."""
    block, chosen, coords, lattice = cut(d, spec, ranges or {})
    full = spec.quantity == "pressure"
    steps, times = picture_steps(d, spec.every, 1.0 if full else 0.5)
    fields = d.normal if full else d.velocity
    named = components(spec.quantity, d.motion)
    if full:
        combine = partial(pressure, share=np.float32(trace_share(d, points_of(d, block))))
    else:
        combine = partial(picture, quantity=spec.quantity, components=named, spacing=d.grid.spacing, half={f: d.half(f) for f in fields})
    shots = len(d.shots) if d.planar else None
    finish = partial(_finished, combine=combine, chosen=chosen, shots=shots, air=air(d, block))
    within = partial(one, d, spec)
    return Frames(spec.name, spec.quantity, named, coords, steps, times, dict.fromkeys(fields, block), finish, within, lattice)


def points_of(d, block):
    """Points (k, j, i) of a block, in the plane where pressure depends on them."""
    return np.meshgrid(*(np.arange(n)[one] for n, one in zip(d.shape, block)), indexing="ij") if d.planar else None


def air(d, block):
    """Which points of a block lie above a topography, None without one: a picture shows nothing there."""
    if d.ground is None:
        return None
    empty = terrain.filled(d.ground, d.grid)[None] <= np.arange(d.grid.shape[0])[:, None, None]
    return np.broadcast_to(empty, d.shape)[block]


def cut(d, spec, ranges):
    """Slices of the block to read, slices of the picture within it, the picture's coordinates, all (z, y, x), and its lattice.

    In the plane y counts shots, which come first in the picture where there are several. Of a part of a picture, the block has points
    beside it where the grid goes on: what is extrapolated at the ends of the block is then outside of the picture.
    """
    block, chosen, coords, lattice = [], [], {}, {}
    for axis, n in zip("zyx", d.shape):
        if d.planar and axis == "y":
            block.append(slice(0, n))
        elif spec.plane is not None and spec.plane.axis == axis:
            at = int(np.clip(round((spec.plane.coordinate - d.grid.bounds(axis)[0]) / d.grid.spacing), 0, n - 1))
            low = max(at - MARGIN, 0)
            block.append(slice(low, min(at + MARGIN + 1, n)))
            chosen.append(at - low)
            coords[axis], lattice[axis] = float(d.grid.axis(axis)[at]), at
        else:
            first, last = ranges.get(axis, (0, n))
            low = max(first - MARGIN, 0)
            block.append(slice(low, min(last + MARGIN, n)))
            chosen.append(slice(first - low, last - low, spec.stride))
            coords[axis], lattice[axis] = d.grid.axis(axis)[first : last : spec.stride], (0, n, spec.stride)
    if d.planar and d.shots:
        coords = {"shot": np.arange(1, len(d.shots) + 1), **coords}
    return tuple(block), tuple(chosen), coords, lattice


@np.errstate(invalid="ignore", over="ignore")  # of a wavefield that diverges: the guard reports it
def _finished(arrays, combine, chosen, shots, air=None):
    """The picture's own points, ([component,] [shot,] z, y, x), float32, from what `combine` makes of the block."""
    values = combine(arrays)
    if air is not None:
        values = np.where(air, np.nan, values)
    if shots is not None:
        values = np.moveaxis(values, -2, -3) if shots else values[..., 0, :]
    out = values[(..., *chosen)].astype(np.float32)
    return out[0] if len(out) == 1 else out


def pressure(arrays, share):
    """Minus a share of the trace of stress, (1, z, y, x)."""
    return -share * sum(arrays.values())[None]


def picture(arrays, quantity, components, spacing, half):
    """Components of a quantity made of velocity at the integer points, (component, z, y, x)."""
    velocity = {f: centred(arrays[f], half[f]) for f in arrays}
    if quantity == "velocity":
        return np.stack([velocity[VELOCITY["ENZ".index(c)]] for c in components])
    planar = len(velocity) < len(VELOCITY)

    def slope(component, axis):
        if VELOCITY[component] not in velocity or (planar and axis == 1):
            return np.zeros_like(next(iter(velocity.values())))
        return np.gradient(velocity[VELOCITY[component]], spacing, axis=2 - axis)

    return np.stack(derived(quantity, components, slope))


def derived(quantity, components, slope):
    """Components made of the derivatives slope(component, axis) of velocity."""

    def curl(a):
        return slope((a + 2) % 3, (a + 1) % 3) - slope((a + 1) % 3, (a + 2) % 3)

    if quantity == "divergence":
        return [sum(slope(a, a) for a in range(3))]
    if quantity == "strain_rate":
        return [(slope(a, b) + slope(b, a)) / 2 for a, b in map(COMPONENT_AXES.get, components)]
    return [curl("ENZ".index(c)) * (0.5 if quantity == "rotation_rate" else 1.0) for c in components]


def centred(field, half):
    """A staggered field at the integer points: mean of its neighbours; at either end, where one is missing, extrapolated."""
    for axis in range(3):
        if half[axis]:
            f = np.moveaxis(field, 2 - axis, 0)
            middle = (f[1:-1] + f[:-2]) / 2
            field = np.moveaxis(np.concatenate([1.5 * f[:1] - 0.5 * f[1:2], middle, 1.5 * f[-2:-1] - 0.5 * f[-3:-2]]), 0, 2 - axis)
    return field
