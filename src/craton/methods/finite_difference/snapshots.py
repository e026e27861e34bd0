"""Pictures of the wavefield: which points of which fields they need, and the quantity at the
integer points from these.
"""

from dataclasses import replace

import numpy as np

from craton.conventions import COMPONENT_AXES
from craton.core.snapshots import GridSampling
from craton.methods.finite_difference.equations import storage
from craton.methods.finite_difference.equations.boundaries import inside_layer
from craton.methods.finite_difference.equations.material import trace_share
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves.peaks import Sites
from craton.model.ground import terrain
from craton.tables.receivers import Plane


def raster(d, spec):
    """Return coordinates by axis, the slices of fields to read, and the `GridSampling` of a table of snapshots."""
    is_pressure = spec.quantity == "pressure"
    fields = d.normal if is_pressure else d.velocity
    coords, lattice = shown(d, spec)
    sampling = GridSampling(
        shape=d.shape,
        lattice=lattice,
        half={name: d.half(name) for name in fields},
        spacing=tuple(d.grid.steps.tolist()),
        trace_share=shares(d) if is_pressure else None,
        filled=None if d.ground is None else terrain.filled(d.ground, d.grid),
        shots=len(d.shots) if d.planar else None,
        scale=storage.scale(d, next(iter(fields))) if d.in_half else None,
    )
    block, chosen = sampling.window({})
    return coords, dict.fromkeys(fields, block), replace(sampling, chosen=chosen)


def shown(d, spec):
    """Return coordinates of a picture by axis (z, y, x), and its points of the grid; in the plane
    shots come first, where there are any.
    """
    coords, lattice = {}, {}
    for axis, n, step in zip("zyx", d.shape, d.grid.steps[::-1]):
        if d.planar and axis == "y":
            continue
        if spec.plane is not None and spec.plane.axis == axis:
            lattice[axis] = int(np.clip(round((spec.plane.coordinate - d.grid.bounds(axis)[0]) / step), 0, n - 1))
            coords[axis] = float(d.grid.axis(axis)[lattice[axis]])
        else:
            coords[axis], lattice[axis] = d.grid.axis(axis)[:: spec.stride], (0, n, spec.stride)
    return ({"shot": np.arange(1, len(d.shots) + 1)} if d.planar and d.shots else {}) | coords, lattice


def sites_of_map(d, spec):
    """Return the `Sites` of a map of peaks: points of the grid."""
    plane = Plane(z=float(d.grid.bounds("z")[1])) if spec.on_ground else spec.plane
    coords, lattice = shown(d, spec.model_copy(update={"plane": plane}))
    axes = [np.atleast_1d(n if isinstance(n, int) else np.arange(*n)) for n in lattice.values()]
    points, places, filled = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")]), {}, None
    if d.ground is not None:
        filled = np.broadcast_to(terrain.filled(d.ground, d.grid), d.grid.shape[1:])[points[1], points[2]]
        if spec.on_ground:
            coords.pop("z")
            points[0] = np.maximum(filled - 1, 0)
    xyz = np.stack([d.grid.axis(a)[n] for a, n in zip("xyz", points[::-1])], axis=1)
    usable = ~inside_layer(d, xyz) & (True if filled is None else points[0] < filled)
    if filled is not None and spec.on_ground:
        elevation = np.where(usable, xyz[:, 2], np.nan)
        places = {"elevation": (tuple(coords), elevation.reshape([len(c) for c in coords.values()]))}
    return Sites(coords, xyz, np.flatnonzero(usable), places, points=points[:, usable])


def centred_rows(d, points):
    """Return rows that are means of the two points of a velocity beside each site; at either end of
    the grid, where one is missing, the other.
    """
    source = np.empty((points.shape[1], 3, 2), np.int64)
    for c, name in enumerate(VELOCITY):
        half = d.half(name)
        axis = 2 - half.index(1)
        for side in (0, 1):
            at = points.copy()
            at[axis] = np.clip(at[axis] - 1 + side, 0, d.shape[axis] - 2)
            source[:, c, side] = d.start_of(name) + d.layout.offset(*at)
    first = 2 * np.arange(3 * points.shape[1] + 1)
    return first, source.ravel(), np.full(source.size, 0.5, d.precision)


def shares(d):
    """Return what pressure has of the normal stresses: see `GridSampling`."""
    at = cells_of_plane(d)
    if d.planar and d.anisotropic:
        return {name: np.float32(trace_share(d, at, name)) for name in d.normal}
    return np.float32(trace_share(d, at))


def cells_of_plane(d):
    """Return points (k, j, i) of the plane, where pressure depends on them; None in space."""
    nz, _, nx = d.shape
    return np.meshgrid(np.arange(nz), np.arange(1), np.arange(nx), indexing="ij") if d.planar else None


@np.errstate(invalid="ignore", over="ignore")  # of a wavefield that diverges: the guard reports it
def picture(series, arrays):
    """Return a picture, ([component,] [shot,] z, y, x), float32; nan above a topography.

    Parameters
    ----------
    series : SnapshotSeries
    arrays : dict of str to array
        The fields that it reads, where it reads them.
    """
    sampling, block = series.sampling, next(iter(series.reads.values()))
    if sampling.scale is not None:
        arrays = {name: a / np.float32(sampling.scale) for name, a in arrays.items()}
    if series.quantity == "pressure":
        values = pressure(arrays, sampling.trace_share, (block[0], slice(None), block[2]))
    else:
        values = quantity_of_velocity(arrays, series.quantity, series.components, sampling.spacing, sampling.half)
    if sampling.filled is not None:
        planes = np.arange(sampling.shape[0])[block[0], None, None]
        values = np.where(
            sampling.filled[None, slice(None) if len(sampling.filled) == 1 else block[1], block[2]] <= planes,
            np.nan,
            values,
        )
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
    """Return a staggered field at the integer points: mean of its neighbours; at either end, where
    one is missing, extrapolated.
    """
    for axis in range(3):
        if half[axis]:
            f = np.moveaxis(field, 2 - axis, 0)
            middle = (f[1:-1] + f[:-2]) / 2
            field = np.moveaxis(
                np.concatenate([1.5 * f[:1] - 0.5 * f[1:2], middle, 1.5 * f[-2:-1] - 0.5 * f[-3:-2]]), 0, 2 - axis
            )
    return field
