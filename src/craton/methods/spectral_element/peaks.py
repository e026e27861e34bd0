"""Maps of peaks on a mesh: where their sites lie, and the rows of the elements' own polynomials that
give the velocity there.
"""

import numpy as np

from craton.methods.spectral_element.equations.absorbing_layer import inside_layers
from craton.methods.spectral_element.points import is_fluid_at, quantity_rows, rows_without_zeros
from craton.methods.spectral_element.sites import numbers, polynomials, sites
from craton.methods.spectral_element.snapshots import axis, raster
from craton.methods.waves import peaks
from craton.methods.waves.tables import stacked_rows
from craton.tables.receivers import Plane

BATCH = 4096  # sites whose rows are made at a time


def maps(d, scenario, spacing):
    """Return the series, arrays and launches of all maps of peaks of a scenario; all ranks must
    call.

    Parameters
    ----------
    d : Discretisation
    scenario : craton.SpectralScenario
    spacing : float
        Of the raster, m: the average distance of GLL points.

    Returns
    -------
    series : list of PeakSeries
    arrays : dict of str to Array
    launches : list of Launch
    """
    all_series, arrays, launches = [], {}, []
    for spec in scenario.peaks:
        coords, places, xyz, axes = lattice(d, spec, spacing)
        reference = {}
        if d.globe is None:
            axes, on_map, reference = peaks.on_earth(scenario.domain, xyz)
            dims = tuple(name for name, c in coords.items() if np.ndim(c))
            shape = [len(coords[name]) for name in dims]
            places |= {name: (dims, values.reshape(shape)) for name, values in on_map.items()}
        located = d.locate(xyz, False)
        where = np.flatnonzero(located.element >= 0)
        where = where[~inside_layers(d, xyz[where])]
        series = peaks.series_of(d, spec, coords, places, where, reference=reference)
        together, rows = rows_of(d, located.some(where))
        turned = None if axes is None else axes[where]
        more = peaks.measuring(series, rows, d.precision, together, turned)
        all_series.append(series)
        arrays |= more[0]
        launches += more[1]
    return all_series, arrays, launches


def lattice(d, spec, spacing):
    """Return coordinates by axis in memory order, further coordinates of the map, (n, 3) places,
    and east, north, up there where they are not the axes of the mesh.
    """
    if d.globe is not None:
        return on_globe(d.globe, spacing * spec.stride)
    if spec.on_ground:
        spec = spec.model_copy(update={"plane": Plane(surface=True)})
    coords, xyz = raster(d, d.subdomain.bounds, spec, spacing)
    if not spec.on_ground:
        return coords, {}, xyz, None
    shape = tuple(map(len, coords.values()))
    elevation = np.where(xyz[:, 2] <= d.subdomain.bounds[1][2], xyz[:, 2], np.nan)
    return coords, {"elevation": (("y", "x"), elevation.reshape(shape))}, xyz, None


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


def rows_of(d, located):
    """Return whether the components of a site share rows, and the rows: see `peaks.measuring`."""
    in_fluid = is_fluid_at(d, located.element)
    if not in_fluid.any():
        return True, solid_rows(d, located)
    rows = [None] * (3 * len(in_fluid))
    for fluid in (False, True):
        chosen = np.flatnonzero(in_fluid == fluid)
        for batch in np.array_split(chosen, -(-len(chosen) // BATCH)) if len(chosen) else ():
            positions = sites(d, located.some(batch))
            for c, component in enumerate("ENZ"):
                index, weight = quantity_rows(d, positions, "velocity", component)
                for n, row in zip(batch, rows_without_zeros(index, weight)):
                    rows[3 * n + c] = row
    return False, stacked_rows(rows)


def solid_rows(d, located):
    """Return rows of the eastern velocity of all sites in a solid; north and up lie behind it."""
    counts, sources, weights = [np.zeros(1, np.int64)], [], []
    for first in range(0, len(located.element), BATCH):
        batch = located.some(slice(first, first + BATCH))
        values, _ = polynomials(d.element, batch.local)
        nonzero = values != 0
        counts.append(nonzero.sum(axis=1))
        sources.append((d.offset("velocity") + 3 * numbers(d, batch.element))[nonzero])
        weights.append(values[nonzero])
    empty = np.empty(0, np.int64)
    return (
        np.cumsum(np.concatenate(counts)),
        np.concatenate([empty, *sources]),
        np.concatenate([np.empty(0), *weights]),
    )
