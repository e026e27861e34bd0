"""Snapshots of the wavefield on regular rasters: planes, volumes and the top of the mesh, interpolated by the elements' own polynomials."""
from functools import partial

import numpy as np

from craton.conventions import components
from craton.core.plan import Frames
from craton.methods.shared.timing import picture_steps
from craton.methods.spectral_element.points import quantity_rows
from craton.methods.spectral_element.sites import numbers, sites

BATCH = 4096  # places per batch
STORED = 3 << 30  # bytes of the matrices of one series: larger matrices are made anew for each snapshot
FIELDS = {False: "velocity", True: "potential_rate"}  # fields that snapshots are made of, in a solid and in a fluid
STRESS = {False: "displacement", True: "pressure"}  # fields that snapshots of pressure are made of


def frames(d, bounds, specs, spacing):
    """Return one `Frames` for each snapshot series of a scenario.

    Pressure in a fluid is one step earlier than that of the solid, whose time is the time of the snapshot.

    Parameters
    ----------
    d : the discretised problem
        See `craton.methods.spectral_element.sites`; and end, extra as of a plan, and state: points of the solid and of the fluid.
    bounds : (2, 3) array
        Lowest and highest x, y, z of the mesh, m.
    specs : list of Snapshot
    spacing : float
        Spacing of the rasters, m: the average distance of GLL points.
    """
    return tuple(snapshot_series(d, bounds, spec, spacing) for spec in specs)


def snapshot_series(d, bounds, spec, spacing):
    """Return the `Frames` of one series."""
    coords, xyz, shape = raster(d, bounds, spec, spacing)
    steps, times = picture_steps(d, spec.every, 1.0 if spec.quantity == "pressure" else 0.5)
    named = components(spec.quantity)
    located = d.locate(xyz, False, nearest=False)
    interpolators = build_interpolators(d, located, spec.quantity, named or ("",))
    fields = STRESS if spec.quantity == "pressure" else FIELDS
    reads = {fields[interpolator.in_fluid]: (slice(None),) for interpolator in interpolators}
    combine = partial(gather_image, interpolators=interpolators, fields=fields, shape=(max(len(named), 1), *shape))
    where = np.concatenate([interpolator.where for interpolator in interpolators] or [np.empty(0, int)])
    return Frames(spec.name, spec.quantity, named, coords, steps, times, reads, combine, where=where)


def raster(d, bounds, spec, spacing):
    """Return coordinates by axis in memory order, (n, 3) places, and the shape of the snapshot."""
    low, high = bounds
    axes = {a: axis(low[i], high[i], spacing)[:: spec.stride] for i, a in enumerate("xyz")}
    if spec.plane is not None and spec.plane.surface:
        y, x = np.meshgrid(axes["y"], axes["x"], indexing="ij")
        z = np.nan_to_num(d.places.top.surface(x, y), nan=2 * high[2] - low[2])  # beside the mesh: above it, which is outside, too
        return {a: axes[a] for a in "yx"}, np.stack([x, y, z], axis=-1).reshape(-1, 3), x.shape
    coords = {a: axes[a] for a in "zyx"}
    if spec.plane is not None:
        coords[spec.plane.axis] = float(spec.plane.coordinate)
    grid = np.meshgrid(*(np.atleast_1d(c) for c in coords.values()), indexing="ij")
    shape = tuple(np.size(c) for c in coords.values() if np.ndim(c))
    return coords, np.stack(grid[::-1], axis=-1).reshape(-1, 3), shape


def axis(low, high, spacing):
    """Return places from end to end at about a spacing."""
    return np.linspace(low, high, max(int(np.ceil((high - low) / spacing - 1e-6)), 1) + 1)


class Interpolator:
    """Interpolates a field to places of a snapshot by sparse matrices, one for each component or one for all.

    Parameters
    ----------
    d : the discretised problem
    located : Located
        Places that are all in the solid, or all in the fluid.
    where : (n,) int array
        Their numbers in the snapshot.
    quantity : str
    named : tuple of str
        Components of the quantity.
    """

    def __init__(self, d, located, where, quantity, named):
        self.d, self.located, self.where, self.quantity, self.named = d, located, where, quantity, named
        self.in_fluid = bool(d.fluid[located.element[0]])
        self.vector = quantity == "velocity" and not self.in_fluid  # one matrix for three components
        field = (STRESS if quantity == "pressure" else FIELDS)[self.in_fluid]
        self.start, self.columns = d.offset(field), (d.state.fluid if self.in_fluid else d.state.solid) + 1
        cost = 12 * d.element.size * len(where) * (1 if self.vector or self.in_fluid else 3) * (1 if self.vector else len(named))
        self.matrices = [self.build_matrices(batch) for batch in self.batches()] if cost <= STORED else None

    def batches(self):
        """Return slices of the places."""
        return [slice(a, a + BATCH) for a in range(0, len(self.where), BATCH)]

    def build_matrices(self, batch):
        """Return the matrices of a batch of places."""
        positions = sites(self.d, self.located.some(batch))
        if self.vector:
            return [sparse(numbers(self.d, positions.element), positions.values, self.columns, self.d.precision)]
        rows = [quantity_rows(self.d, positions, self.quantity, c) for c in self.named]
        width = self.columns if self.in_fluid else 3 * self.columns
        return [sparse(index - self.start, weight, width, self.d.precision) for index, weight in rows]

    def __call__(self, field):
        """Return values (components, places) from a field on the host."""
        field = np.asarray(field).ravel()
        parts = []
        for n, batch in enumerate(self.batches()):
            matrices = self.build_matrices(batch) if self.matrices is None else self.matrices[n]
            if self.vector:
                three = (matrices[0] @ field.reshape(-1, 3)[: self.columns]).T
                parts.append(three[["ENZ".index(c) for c in self.named]])
            else:
                parts.append(np.stack([matrix @ field[: matrix.shape[1]] for matrix in matrices]))
        return np.concatenate(parts, axis=1)


def sparse(index, weight, columns, precision):
    """Return a sparse matrix from rows (n, m) of column numbers and weights, without zero weights."""
    from scipy.sparse import csr_array

    nonzero = weight != 0
    first = np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))])
    return csr_array((weight[nonzero].astype(precision), index[nonzero].astype(np.int32), first), shape=(len(index), columns))


def build_interpolators(d, located, quantity, named):
    """Return the interpolators of a snapshot: for its places in the solid and in the fluid."""
    interpolators = []
    for in_fluid in (False, True):
        where = np.flatnonzero((located.element >= 0) & (d.fluid[np.maximum(located.element, -1)] == in_fluid))
        if len(where):
            interpolators.append(Interpolator(d, located.some(where), where, quantity, named))
    return interpolators


@np.errstate(invalid="ignore", over="ignore")  # of a wavefield that diverges, which the divergence guard reports
def gather_image(arrays, interpolators, fields, shape):
    """Return the snapshot, ([component,] z, y, x), float32, nan outside the mesh."""
    out = np.full((shape[0], int(np.prod(shape[1:]))), np.nan, np.float32)
    for interpolator in interpolators:
        out[:, interpolator.where] = interpolator(arrays[fields[interpolator.in_fluid]])
    out = out.reshape(shape)
    return out[0] if len(out) == 1 else out
