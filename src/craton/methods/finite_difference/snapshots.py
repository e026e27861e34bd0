"""Pictures of the wavefield: which points of which fields they need, and the quantity at the
integer points from these.
"""

import numpy as np

from craton.conventions import components
from craton.core.snapshots import GridSampling, SnapshotSeries
from craton.methods.finite_difference.equations import storage
from craton.methods.finite_difference.equations.material import trace_share
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.finite_difference.points import COMPONENT_AXES
from craton.methods.waves.timing import picture_steps
from craton.model.ground import terrain
from craton.survey.snapshots import problems

__all__ = ["picture", "problems", "series_of"]


def series_of(d, spec):
    """Return the `SnapshotSeries` of one table of the scenario."""
    is_pressure = spec.quantity == "pressure"
    steps, times = picture_steps(d, spec.every, 1.0 if is_pressure else 0.5)
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
    whole = SnapshotSeries(
        spec.name,
        spec.quantity,
        components(spec.quantity, d.motion),
        coords,
        steps,
        times,
        dict.fromkeys(fields),
        sampling,
        d.precision,
    )
    return whole.within({})


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
