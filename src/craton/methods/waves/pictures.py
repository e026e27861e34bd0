"""Series of snapshots, of any `Space`: when pictures are taken, what of the fields they read; and pictures of a grid, whose fields may lie
half a cell apart.
"""

from dataclasses import replace

import numpy as np

from craton.conventions import VELOCITY, components, velocity_slopes
from craton.core.snapshots import GridSampling, SnapshotSeries

FREQUENT = 1e-2  # of a step: pictures that follow each other within it are as frequent as steps
ROUNDING = 1e-6  # of the time between pictures: 0.3 / 0.1 is less than 3


def series_of(space, spec):
    """Return the `SnapshotSeries` of one table of a scenario; all ranks must call."""
    d = space.d
    steps, times = picture_steps(d, spec.every, 1.0 if spec.quantity == "pressure" else 0.5)
    coords, reads, sampling = space.raster(spec)
    named = components(spec.quantity, space.motion)
    return SnapshotSeries(spec.name, spec.quantity, named, coords, steps, times, reads, sampling, d.precision)


def picture_steps(d, every, place):
    """Return steps after which pictures are taken `every` so many seconds, and their times, of a
    field that step n leaves at n + `place` steps.

    `d` has start, end, dt, steps and extra.
    """
    last = d.steps - d.extra - 1
    if every < FREQUENT * d.dt:  # each step has pictures of its own: these are not counted
        first = np.clip(np.rint((every - d.start) / d.dt - place), 0, last)
        steps = np.arange(int(first), last + 1)
        return steps, d.start + (steps + place) * d.dt
    first, end = np.floor([d.start / every + ROUNDING, d.end / every + ROUNDING])
    times = np.arange(max(first, 0) + 1, end + 1) * every
    steps = np.unique(np.clip(np.rint((times - d.start) / d.dt - place), 0, last).astype(int))
    return steps, d.start + (steps + place) * d.dt


# --- pictures of a grid ---------------------------------------------------------------------------


def grid_raster(d, spec, half, **more):
    """Return coordinates by axis, the slices of fields to read, and the `GridSampling` of a table of snapshots on a grid.

    `half` says of each field that is read along which axes (x, y, z) it lies half a cell after the integer points; `more` is what the
    sampling needs beside. `d` has grid, layout and shots.
    """
    coords, lattice = shown(d, spec)
    shots = len(d.shots) if d.grid.planar else None
    sampling = GridSampling(d.layout.shape, lattice, half, tuple(d.grid.steps.tolist()), shots=shots, **more)
    block, chosen = sampling.window({})
    return coords, dict.fromkeys(half, block), replace(sampling, chosen=chosen)


def shown(d, spec):
    """Return coordinates of a picture by axis (z, y, x), and its points of the grid; in the plane
    shots come first, where there are any.
    """
    coords, lattice = {}, {}
    for axis, n, step in zip("zyx", d.layout.shape, d.grid.steps[::-1]):
        if d.grid.planar and axis == "y":
            continue
        if spec.plane is not None and spec.plane.axis == axis:
            lattice[axis] = int(np.clip(round((spec.plane.coordinate - d.grid.bounds(axis)[0]) / step), 0, n - 1))
            coords[axis] = float(d.grid.axis(axis)[lattice[axis]])
        else:
            coords[axis], lattice[axis] = d.grid.axis(axis)[:: spec.stride], (0, n, spec.stride)
    return ({"shot": np.arange(1, len(d.shots) + 1)} if d.grid.planar and d.shots else {}) | coords, lattice


@np.errstate(invalid="ignore", over="ignore")  # of a wavefield that diverges: the guard reports it
def picture(series, arrays):
    """Return a picture of a series on a grid, ([component,] [shot,] z, y, x), float32, from the fields that it reads, where it reads
    them; nan above a topography.
    """
    sampling, block = series.sampling, next(iter(series.reads.values()))
    if sampling.scale is not None:
        arrays = {name: a / np.float32(sampling.scale) for name, a in arrays.items()}
    if series.quantity == "pressure":
        values = pressure(arrays, sampling.trace_share, (block[0], slice(None), block[2]))
    else:
        values = quantity_of_velocity(arrays, series.quantity, series.components, sampling.spacing, sampling.half)
    if sampling.filled is not None:
        rows = slice(None) if len(sampling.filled) == 1 else block[1]
        filled, planes = sampling.filled[None, rows, block[2]], np.arange(sampling.shape[0])[block[0], None, None]
        values = np.where(filled <= planes, np.nan, values)
    if sampling.shots is not None:
        values = np.moveaxis(values, -2, -3) if sampling.shots else values[..., 0, :]
    out = values[(..., *sampling.chosen)].astype(np.float32)
    return out[0] if len(out) == 1 else out


def pressure(arrays, share, block):
    """Minus a share of the trace of stress, or of each normal stress its own, (1, z, y, x)."""
    if isinstance(share, dict):
        return -sum(share[name][block] * values for name, values in arrays.items())[None]
    return -(share if share.ndim == 0 else share[block]) * sum(arrays.values())[None]


def quantity_of_velocity(arrays, quantity, components, spacing, half):
    """Components of a quantity made of velocity at the integer points, (component, z, y, x)."""
    velocity = {f: centred(arrays[f], half[f]) for f in arrays}
    if quantity == "velocity":
        return np.stack([velocity[VELOCITY["ENZ".index(c)]] for c in components])
    planar = len(velocity) < len(VELOCITY)

    def slope(component, axis):
        if VELOCITY[component] not in velocity or (planar and axis == 1):
            return np.zeros_like(next(iter(velocity.values())))
        return np.gradient(velocity[VELOCITY[component]], spacing[axis], axis=2 - axis)

    # a divergence has no components
    rows = [velocity_slopes(quantity, component) for component in components or [""]]
    return np.stack([sum(factor * slope(v, axis) for v, axis, factor in row) for row in rows])


def centred(field, half):
    """Return a staggered field at the integer points: mean of its neighbours; at either end, where
    one is missing, extrapolated.
    """
    for axis in range(3):
        if half[axis]:
            f = np.moveaxis(field, 2 - axis, 0)
            first, middle, last = 1.5 * f[:1] - 0.5 * f[1:2], (f[1:-1] + f[:-2]) / 2, 1.5 * f[-2:-1] - 0.5 * f[-3:-2]
            field = np.moveaxis(np.concatenate([first, middle, last]), 0, 2 - axis)
    return field
