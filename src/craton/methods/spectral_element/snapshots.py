"""Snapshots of the wavefield on regular rasters: planes, volumes and the top of the mesh,
interpolated by the elements' own polynomials.
"""

from types import SimpleNamespace

import numpy as np

from craton.core.snapshots import ElementSampling
from craton.methods.spectral_element.equations.absorbing_layer import inside_layers
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.spectral_element.sites import numbers, polynomials, quantity_rows, sites
from craton.methods.waves.peaks import Sites
from craton.tables.receivers import Plane

BATCH = 4096  # places per batch
# bytes of the matrices of one series: larger matrices are made anew for each snapshot
STORED = 3 << 30
# fields that snapshots are made of, in a solid and in a fluid
FIELDS = {False: "velocity", True: "potential_rate"}
STRESS = {False: "displacement", True: "pressure"}  # fields that snapshots of pressure are made of


def raster(d, spec):
    """Return coordinates by axis, what of fields to read, and the `ElementSampling` of the media of a table of snapshots; all ranks must
    call.
    """
    coords, xyz = places_of(d, spec)
    sampling = element_samplings(d, d.locate(xyz, False, nearest=False), spec.quantity)
    return coords, {field_of(spec.quantity, group.in_fluid): (slice(None),) for group in sampling}, sampling


def field_of(quantity, in_fluid):
    """Return the name of the field that a quantity is made of."""
    return (STRESS if quantity == "pressure" else FIELDS)[in_fluid]


def places_of(d, spec):
    """Return coordinates by axis in memory order, and (n, 3) places."""
    low, high = d.subdomain.bounds
    axes = {a: axis(low[i], high[i], d.spacing)[:: spec.stride] for i, a in enumerate("xyz")}
    if spec.plane is not None and spec.plane.surface:
        y, x = np.meshgrid(axes["y"], axes["x"], indexing="ij")
        # beside the mesh: above it, which is outside, too
        z = np.nan_to_num(d.places.top.surface(x, y), nan=2 * high[2] - low[2])
        return {a: axes[a] for a in "yx"}, np.stack([x, y, z], axis=-1).reshape(-1, 3)
    coords = {a: axes[a] for a in "zyx"}
    if spec.plane is not None:
        coords[spec.plane.axis] = float(spec.plane.coordinate)
    grid = np.meshgrid(*(np.atleast_1d(c) for c in coords.values()), indexing="ij")
    return coords, np.stack(grid[::-1], axis=-1).reshape(-1, 3)


def sites_of_map(d, spec):
    """Return the `Sites` of a map of peaks: of a chunk of the Earth on its ground, else as of snapshots; all ranks must call."""
    places, axes = {}, None
    if d.globe is not None:
        coords, places, xyz, axes = on_globe(d.globe, d.spacing * spec.stride)
    else:
        plane = Plane(surface=True) if spec.on_ground else spec.plane
        coords, xyz = places_of(d, spec.model_copy(update={"plane": plane}))
        if spec.on_ground:
            elevation = np.where(xyz[:, 2] <= d.subdomain.bounds[1][2], xyz[:, 2], np.nan)
            places = {"elevation": (tuple(coords), elevation.reshape([len(c) for c in coords.values()]))}
    located = d.locate(xyz, False)
    where = np.flatnonzero(located.element >= 0)
    return Sites(coords, xyz, where[~inside_layers(d, xyz[where])], places, axes)


def on_globe(globe, spacing):
    """Return the lattice of a chunk of the Earth, on the ground: of one chunk over its gnomonic
    angles eta and xi, of several over latitude and longitude, degrees; as `lattice`.
    """
    chunk = globe.chunk
    step = spacing / chunk.model.radius
    if len(chunk.charts) == 1:
        xi, eta = (axis(-w / 2, w / 2, step) for w in chunk.widths)
        directions = chunk.directions(*np.meshgrid(xi, eta)).reshape(-1, 3)
        longitude, latitude = chunk.frame.degrees(directions)
        coords = {"eta": np.degrees(eta), "xi": np.degrees(xi)}
        shape = len(eta), len(xi)
        flat = (a.reshape(shape) for a in (longitude, latitude))
        places = {n: (("eta", "xi"), a) for n, a in zip(("longitude", "latitude"), flat)}
    else:
        latitude = np.degrees(axis(-np.pi / 2, np.pi / 2, step))
        longitude = np.degrees(axis(-np.pi, np.pi, step))[:-1]
        coords, places = {"latitude": latitude, "longitude": longitude}, {}
        longitude, latitude = (a.ravel() for a in np.meshgrid(longitude, latitude))
    xyz = globe.xyz(longitude, latitude)
    # of the sides, which rounding may have left
    beyond = ~chunk.inside(xyz)
    xyz[beyond] = 3 * chunk.model.radius
    return coords, places, xyz, globe.axes(xyz)


def axis(low, high, spacing):
    """Return places from end to end at about a spacing."""
    return np.linspace(low, high, max(int(np.ceil((high - low) / spacing - 1e-6)), 1) + 1)


def element_samplings(d, located, quantity):
    """Return the `ElementSampling` of the places in the solid and of those in the fluid: tuple."""
    samplings = []
    for in_fluid in (False, True):
        where = np.flatnonzero((located.element >= 0) & (d.fluid[np.maximum(located.element, -1)] == in_fluid))
        if len(where):
            elements, row = np.unique(located.element[where], return_inverse=True)
            values_alone = quantity == ("pressure" if in_fluid else "velocity")
            samplings.append(
                ElementSampling(
                    where=where,
                    element=row,
                    local=located.local[where],
                    in_fluid=in_fluid,
                    degree=d.element.degree,
                    points=numbers(d, elements).astype(np.int32),
                    count=(d.state.fluid if in_fluid else d.state.solid) + 1,
                    coordinates=None if values_alone else d.coordinates(elements),
                    material=d.material(elements) if (quantity == "pressure") != in_fluid else {},
                )
            )
    return tuple(samplings)


class Interpolator:
    """Interpolates a field to places of a snapshot by sparse matrices, one for each component or
    one for all.

    Parameters
    ----------
    series : SnapshotSeries
    sampling : ElementSampling
        One of its groups of places.
    """

    def __init__(self, series, sampling):
        self.series, self.sampling, self.named = series, sampling, series.components or ("",)
        self.values_alone = sampling.coordinates is None
        self.vector = self.values_alone and not sampling.in_fluid  # one matrix for three components
        self.elements = SimpleNamespace(
            element=Element(sampling.degree),
            points=sampling.points,
            fluid=np.full(len(sampling.points), sampling.in_fluid),
            offset=lambda field: 0,
            coordinates=sampling.coordinates.__getitem__ if not self.values_alone else None,
            material=lambda elements: {name: values[elements] for name, values in sampling.material.items()},
        )
        cost = 12 * self.elements.element.size * len(sampling.where) * (1 if self.vector or sampling.in_fluid else 3)
        cost *= 1 if self.vector else len(self.named)
        self.matrices = [self.build_matrices(batch) for batch in self.batches()] if cost <= STORED else None

    def batches(self):
        """Return slices of the places."""
        return [slice(a, a + BATCH) for a in range(0, len(self.sampling.where), BATCH)]

    def build_matrices(self, batch):
        """Return the matrices of a batch of places."""
        sampling, precision = self.sampling, self.series.precision
        located = SimpleNamespace(element=sampling.element[batch], local=sampling.local[batch])
        if self.values_alone:
            values, _ = polynomials(self.elements.element, located.local)
            return [sparse(numbers(self.elements, located.element), values, sampling.count, precision)]
        positions = sites(self.elements, located)
        rows = [quantity_rows(self.elements, positions, self.series.quantity, c) for c in self.named]
        width = sampling.count if sampling.in_fluid else 3 * sampling.count
        return [sparse(index, weight, width, precision) for index, weight in rows]

    def __call__(self, field):
        """Return values (components, places) from a field on the host."""
        field = np.asarray(field).ravel()
        parts = []
        for n, batch in enumerate(self.batches()):
            matrices = self.build_matrices(batch) if self.matrices is None else self.matrices[n]
            if self.vector:
                three = (matrices[0] @ field.reshape(-1, 3)[: self.sampling.count]).T
                parts.append(three[["ENZ".index(c) for c in self.named]])
            else:
                parts.append(np.stack([matrix @ field[: matrix.shape[1]] for matrix in matrices]))
        return np.concatenate(parts, axis=1)


def sparse(index, weight, columns, precision):
    """Return a sparse matrix from rows (n, m) of column numbers and weights, without zero weights."""
    from scipy.sparse import csr_array

    nonzero = weight != 0
    first = np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))])
    values = weight[nonzero].astype(precision), index[nonzero].astype(np.int32), first
    return csr_array(values, shape=(len(index), columns))


def picture_maker(series):
    """Return the function that makes a picture, ([component,] z, y, x), float32, nan outside the
    mesh, from a dict of fields.
    """
    interpolators, shape = [Interpolator(series, sampling) for sampling in series.sampling], series.shape
    lead = max(len(series.components), 1)

    # of a wavefield that diverges, which the divergence guard reports
    @np.errstate(invalid="ignore", over="ignore")
    def picture(arrays):
        out = np.full((lead, int(np.prod(shape[lead > 1 :]))), np.nan, np.float32)
        for interpolator in interpolators:
            field = field_of(series.quantity, interpolator.sampling.in_fluid)
            out[:, interpolator.sampling.where] = interpolator(arrays[field])
        return out.reshape(shape)

    return picture
