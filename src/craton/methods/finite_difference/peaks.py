"""Maps of peaks on the staggered grid: where their sites lie, and the rows that give the velocity
there.

On a plane these are the rows of receivers; below topography the velocity is centred in the highest
filled cell of each column, as snapshots have it.
"""

import numpy as np

from craton.methods.finite_difference import receiver_points
from craton.methods.finite_difference.equations.boundaries import inside_layer
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.finite_difference.snapshots import shown
from craton.methods.waves import peaks
from craton.model.ground import terrain
from craton.tables.receivers import Plane


def maps(d):
    """Return the series, arrays and launches of all maps of peaks of a scenario.

    Parameters
    ----------
    d : Discretisation

    Returns
    -------
    series : list of PeakSeries
    arrays : dict of str to Array
    launches : list of Launch
    """
    all_series, arrays, launches = [], {}, []
    for spec in d.scenario.peaks:
        coords, where, points = sites(d, spec)
        xyz = positions_of(d, points)
        axes, on_earth, reference = peaks.on_earth(d.scenario.domain, xyz)
        heights = {"elevation": xyz[:, 2]} if d.ground is not None and spec.on_ground else {}
        places = {n: on_map(coords, where, values) for n, values in (heights | on_earth).items()}
        series = peaks.series_of(d, spec, coords, places, where, points, reference)
        rows = rows_of(d, points)
        map_arrays, map_launches = peaks.measuring(series, rows, d.precision, axes=axes)
        all_series.append(series)
        arrays |= map_arrays
        launches += map_launches
    return all_series, arrays, launches


def sites(d, spec):
    """Return coordinates of a map, the numbers of the sites that have a medium and lie outside
    absorbing layers, and their points of the grid (k, j, i): (3, n).
    """
    plane = Plane(z=float(d.grid.bounds("z")[1])) if spec.on_ground else spec.plane
    coords, lattice = shown(d, spec.model_copy(update={"plane": plane}))
    axes = [np.atleast_1d(n if isinstance(n, int) else np.arange(*n)) for n in lattice.values()]
    points = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")])
    outside = ~inside_layer(d, positions_of(d, points))
    if d.ground is None:
        return coords, np.flatnonzero(outside), points[:, outside]
    filled = terrain.filled(d.ground, d.grid)
    filled = np.broadcast_to(filled, d.grid.shape[1:])[points[1], points[2]]
    if spec.on_ground:
        coords.pop("z")
        points[0] = np.maximum(filled - 1, 0)
    where = np.flatnonzero((points[0] < filled) & outside)
    return coords, where, points[:, where]


def positions_of(d, points):
    """Return the positions, m, of points (k, j, i) of the grid: (n, 3)."""
    return np.stack([d.grid.axis(a)[n] for a, n in zip("xyz", points[::-1])], axis=1)


def on_map(coords, where, values):
    """Return dimensions and values of a map, nan where there is no site."""
    dims = tuple(name for name, c in coords.items() if np.ndim(c))
    out = np.full([len(coords[name]) for name in dims], np.nan)
    out.flat[where] = values
    return dims, out


def rows_of(d, points):
    """Return the rows of E, N, Z of all sites, one component behind the other: first rows, indices,
    weights.
    """
    if d.ground is not None:
        return centred_rows(d, points)
    count = points.shape[1]
    positions = np.repeat(points[::-1].T.astype(float), 3, axis=0)
    spreads = [
        of_term
        for c, component in enumerate("ENZ")
        for of_term in receiver_points.group_terms(d, "velocity", component, positions, np.arange(c, 3 * count, 3))
    ]
    return receiver_points.laid_out(d, 3 * count, {}, spreads)


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
