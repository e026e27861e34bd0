"""Prisms of labelled data as arrays: layers of Harmonica, densities over x, y, z, tables of pandas."""

from pathlib import Path
from warnings import warn

import numpy as np

from craton.io.netcdf import factor, height_factor
from craton.model.media import readers
from craton.model.prisms.ensembles import SIDES, Cells, doubtful, edges_around

ACCEPTED = (
    "prisms are an array (M, 6), a Dataset with top and bottom over northing and easting (a prism layer of Harmonica), "
    "a density over x, y, z, or a DataFrame with the columns " + ", ".join(SIDES)
)
DENSITY = readers.VARIABLES["rho"]


def arrays_of(prisms, density=None):
    """Return prisms and densities as arrays, whatever they come in.

    Parameters
    ----------
    prisms : array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        (M, 6) west, east, south, north, bottom, top, m; a layer as `harmonica.prism_layer` makes
        it; a density over x, y, z (or easting, northing, upward), each value that of a cell that
        reaches half-way to the next points; or a table with a prism in each row. Units are those
        of the attributes.
    density : array_like, float or str, optional
        kg/m3, or the unit of its attributes; or the name of a variable or column, by default
        ``density`` or ``rho``.

    Returns
    -------
    prisms : (M, 6) array
        In the order of the input: layers with easting fastest, whichever way the axes run; volumes
        with x fastest and rising axes. Prisms of a layer without top, bottom or density (nan) have no volume.
    density : (M,) array or float

    Raises
    ------
    ValueError
        The data have not what prisms need: names what they have; or an unknown unit.
    """
    if hasattr(prisms, "columns"):
        return _of_rows(prisms, density)
    if hasattr(prisms, "dims"):
        is_layer = {"top", "bottom"} <= set(getattr(prisms, "variables", prisms.coords))
        return (_of_layer if is_layer else _of_volume)(prisms, density)
    if density is None:
        raise ValueError("prisms in an array need a density: one number, or one for each prism")
    if isinstance(density, str):
        raise ValueError(f"density is the name {density!r}, but prisms in an array have no names")
    return prisms, _kg_m3(density)


def _density(held, density):
    """Density by name, or as it is; kg/m3.

    Parameters
    ----------
    held : dict
        Variables or columns by name.
    density : array_like, float, str or None
    """
    if density is not None and not isinstance(density, str):
        return _kg_m3(density)
    names = DENSITY if density is None else (density,)
    name = next((name for name in names if name in held), None)
    if name is None:
        words = ", ".join(map(str, held)) or "nothing"
        raise ValueError(f"no density: there is no {' or '.join(map(repr, names))} among {words}. Give density =")
    values = _kg_m3(held[name])
    if doubt := doubtful(np.asarray(values, float)):
        warn(f"{name}: {doubt}", stacklevel=5)
    return values


def _kg_m3(density):
    scale = factor(density, "density", "density")
    return density if scale == 1.0 else scale * density.astype(float)


def _of_rows(table, density):
    """Prisms of a DataFrame, one for each row."""
    missing = [name for name in SIDES if name not in table.columns]
    if missing:
        have = ", ".join(map(str, table.columns))
        raise ValueError(f"the table has no column {', '.join(missing)}; it has {have}. {ACCEPTED}")
    values = _density({name: table[name] for name in table.columns}, density)
    sides = [factor(table[n], "length", n) * np.asarray(table[n], float) for n in SIDES]
    return np.stack(sides, axis=1), np.asarray(values, float)


def _of_layer(layer, density):
    """Prisms of a layer with a centre, a top and a bottom each (`harmonica.prism_layer`)."""
    if not hasattr(layer, "data_vars"):
        layer = layer.to_dataset(name=DENSITY[0] if layer.name is None else layer.name)
    dims = tuple(_dimension(layer, axis) for axis in "yx")
    (south, north), (west, east) = (_sides(layer[dim], str(dim)) for dim in dims)
    shape = len(south), len(west)
    values = _density(layer.data_vars, density)
    low, high, rho = (
        scale * np.array(np.broadcast_to(part.transpose(*dims) if hasattr(part, "dims") else part, shape), float)
        for part, scale in (
            (layer["bottom"], height_factor(layer["bottom"], "bottom")),
            (layer["top"], height_factor(layer["top"], "top")),
            (values, 1.0),
        )
    )
    absent = np.isnan(low) | np.isnan(high)
    lost = np.isnan(rho) & ~absent
    if lost.any():
        warn(f"{lost.sum()} prisms of the layer have no density and are ignored", stacklevel=4)
    absent |= lost
    low[absent] = high[absent] = rho[absent] = 0
    j, i = (index.reshape(-1) for index in np.indices(shape))
    sides = west[i], east[i], south[j], north[j], low.ravel(), high.ravel()
    return np.stack(sides, axis=1), rho.ravel()


def _sides(centres, name):
    """Lower and upper edges of the columns around centres that rise or fall, m."""
    at = factor(centres, "length", name) * np.asarray(centres.values, float)
    falls = len(at) > 1 and at[0] > at[-1]
    edges = edges_around(at[::-1] if falls else at, name)
    return (edges[-2::-1], edges[:0:-1]) if falls else (edges[:-1], edges[1:])


def _dimension(layer, axis):
    names = readers.COORDINATES[axis]
    dim = next((name for name in layer.dims if str(name).lower() in names), None)
    if dim is None:
        raise ValueError(
            f"the layer has the dimensions {', '.join(map(str, layer.dims))}; it needs northing and easting, in metres"
        )
    return dim


def _of_volume(volume, density):
    """Cells centred on the points of a density over x, y, z; a number holds for all of them."""
    if not hasattr(volume, "data_vars"):
        volume = volume.to_dataset(name="rho")
    elif isinstance(density, str):
        _density(volume.data_vars, density)
        volume = volume[density].to_dataset(name="rho")
    if not any(word in volume.variables for word in DENSITY):
        raise ValueError(f"{ACCEPTED}; these data have {', '.join(map(str, volume.variables))}")
    source = readers.Source(volume, Path("prisms"), "prisms", ("rho",))
    rho = source.read(tuple((0, len(axis)) for axis in source.axes)).fields[0].reshape(-1)
    edges = (edges_around(axis, word) for axis, word in zip(source.axes, "xyz"))
    prisms = Cells(*edges, np.arange(rho.size), rho).prisms
    if isinstance(density, str):
        return prisms, rho
    if density is None:
        if doubt := doubtful(rho):
            warn(f"density: {doubt}", stacklevel=4)
        return prisms, rho
    if np.ndim(density):
        raise ValueError("a density over x, y, z has its own values: give density = as a number or a name")
    return prisms, _kg_m3(density)
