"""The density of an Earth model as prisms: the model of a wave scenario, a file or a dataset, less
a reference.
"""

from pathlib import Path

import numpy as np

from craton.conventions import AXES
from craton.errors import refuse_all
from craton.io import netcdf
from craton.model.media import cells as gridcells
from craton.model.media import checks, earth, readers
from craton.model.prisms.ensembles import Cells, edges, edges_around

REFERENCES = ("background", "mean")
SAME = 1e-12  # part of a density below which a difference is rounding
PLANES = 1 << 22  # cells sampled at a time
MOST = 1 << 21  # cells that are taken where nothing is said about their size


def of_model(model, axes, reference=0.0):
    """Cells with the mean density of a scenario's model, less a reference.

    Parameters
    ----------
    model : model of a scenario
        homogeneous, layers or file, with anomalies: averaged as the wave methods average it
        (`earth.cell_averages`).
    axes : tuple of arrays
        Edges x, y, z of the cells, m.
    reference : float or str
        kg/m3 to subtract; ``"background"``: the model without its anomalies; ``"mean"``: the mean
        of each horizontal layer of cells.

    Returns
    -------
    Cells

    Raises
    ------
    ScenarioError
        The model does not cover the cells, or has impossible values.
    ValueError
        Less its background nothing is left of the model: it has no anomalies.
    """
    if reference == "background" and not getattr(model, "anomalies", None):
        raise ValueError(
            'reference = "background" subtracts the model without its anomalies, and this one has none: nothing would be left. '
            'Write reference = "mean" for the mean of each horizontal layer, or a density in kg/m3'
        )
    blocks = gridcells.Blocks(dict(zip(AXES, axes)))
    refuse_all(earth.problems(model, blocks))

    def density_of(model):
        return lambda k0, k1: earth.cell_averages(model, blocks, k0, k1)[0]

    plain = density_of(model.model_copy(update={"anomalies": ()})) if reference == "background" else None
    return _contrast(axes, density_of(model), reference, plain)


def of_dataset(dataset, axes=None, reference=0.0):
    """Cells with the mean density of a gridded model: trilinear between its points, integrated
    exactly.

    Parameters
    ----------
    dataset : xarray.Dataset
        ``rho`` or ``density`` over x, y, z, with units attributes as in a model file.
    axes : tuple of arrays, optional
        Edges x, y, z of the cells, m; by default the points themselves: a cell between each two.
    reference : float or str
        As in `of_model`; ``"background"`` has no meaning here.
    """
    source = readers.Source(dataset, Path("dataset"), "model", ("rho",))
    axes = source.axes if axes is None else axes
    for axis, model_points, cell_edges in zip(AXES, source.axes, axes):
        fuzz = 1e-9 * (model_points[-1] - model_points[0])
        if cell_edges[0] < model_points[0] - fuzz or cell_edges[-1] > model_points[-1] + fuzz:
            raise ValueError(
                f"the model covers {axis} from {model_points[0]:.10g} to {model_points[-1]:.10g} m, "
                f"but the cells extend from {cell_edges[0]:.10g} to {cell_edges[-1]:.10g} m"
            )
    rho = _density_of(source, "dataset")
    x, y, z = (_means(model_points, cell_edges) for model_points, cell_edges in zip(source.axes, axes))

    def density(k0, k1):
        return y @ (z[k0:k1] @ rho.reshape(len(rho), -1)).reshape(k1 - k0, *rho.shape[1:]) @ x.T

    return _contrast(axes, density, reference, None)


def of_cells(path, reference=0.0):
    """Return cells centred on the points of a file's density (netCDF or zarr, ``density`` or ``rho`` over x, y, z),
    less a reference as in `of_model`.
    """
    with readers.open_model(path, "prisms.file", ("rho",)) as source:
        rho = _density_of(source, Path(path).name)
        axes = tuple(edges_around(axis, name) for axis, name in zip(source.axes, AXES))
    return _contrast(axes, lambda k0, k1: rho[k0:k1], reference, None)


def axes_of(region, shape=None, spacing=None):
    """Return the edges x, y, z of equal cells in a region (west, east, south, north, bottom, top), m: of a `shape`,
    or of at most a `spacing` (one or three), where the box is divided evenly.
    """
    if shape is None:
        widths = np.broadcast_to(np.asarray(spacing, float), 3)
        if not (np.isfinite(widths) & (widths > 0)).all():
            raise ValueError(f"spacing {spacing} must be greater than 0 m")
        shape = [max(int(np.ceil((region[2 * a + 1] - region[2 * a]) / widths[a] - 1e-6)), 1) for a in range(3)]
    return tuple(edges(region[2 * a], region[2 * a + 1], int(n)) for a, n in enumerate(shape))


def sensible(region, finest):
    """Return a width of cells, m: `finest`, or more where the region would have more than `MOST` cells."""
    volume = np.prod(np.diff(np.reshape(region, (3, 2)), axis=1))
    return max(finest, float((volume / MOST) ** (1 / 3)))


def of_anything(model, region=None, shape=None, spacing=None, reference=0.0):
    """Return the density of an Earth model as Cells; parameters as in `craton.gravity.from_model`, but a path."""
    if hasattr(model, "data_vars"):
        axes = None
        if region is not None or shape is not None or spacing is not None:
            axes = _axes(region or _extent(model), shape, spacing, 0.0)
        return of_dataset(model, axes, reference)
    if hasattr(model, "domain"):
        model, domain = model.model, model.domain
        region = region or tuple(np.stack([domain.origin, np.add(domain.origin, domain.size)], axis=1).ravel())
        return of_model(model, _axes(region, shape, spacing, domain.resolution or 0.0), reference)
    if not hasattr(model, "kind"):
        raise ValueError(
            f"a model is a scenario of waves, its model, an xarray.Dataset or a path of these, not {type(model).__name__}"
        )
    if region is None:
        raise ValueError("a model without a domain needs region = (west, east, south, north, bottom, top)")
    return of_model(model, _axes(region, shape, spacing, 0.0), reference)


def _axes(region, shape, spacing, finest):
    region = tuple(float(c) for c in region)
    if len(region) != 6 or not all(region[2 * a] < region[2 * a + 1] for a in range(3)):
        raise ValueError(f"region {region} is not (west, east, south, north, bottom, top), each pair increasing")
    return axes_of(region, shape, spacing or sensible(region, finest))


def _extent(dataset):
    axes = readers.Source(dataset, Path("dataset"), "model", ("rho",)).axes
    return tuple(float(end) for axis in axes for end in (axis[0], axis[-1]))


def _density_of(source, name):
    """Return the density of a model (z, y, x), kg/m3; refuse what is not finite, and what looks like g/cm3 without
    a unit.
    """
    rho = source.read(tuple((0, len(axis)) for axis in source.axes)).fields[0]
    if not np.isfinite(rho).all():
        k, j, i = np.argwhere(~np.isfinite(rho))[0]
        where = ", ".join(f"{a} {axis[n]:.10g}" for a, axis, n in zip(AXES, source.axes, (i, j, k)))
        raise ValueError(f"{name}: the density at [{k}, {j}, {i}] ({where} m) is not finite")
    names = {str(n).lower(): n for n in source.dataset.variables}
    variable = source.dataset[next(names[n] for n in readers.VARIABLES["rho"] if n in names)]
    if not netcdf.stated_unit(variable) and 0 < rho.min() <= rho.max() < checks.LIGHT:
        raise ValueError(
            f"{name}: the density is {rho.min():.6g} to {rho.max():.6g} kg/m3: is it in g/cm3? "
            'Write its units attribute, "g/cm3" or "kg/m3"'
        )
    return rho


def _contrast(axes, density, reference, without):
    """Cells of density(k0, k1) less the reference; what is left is nothing where the two are equal
    to rounding.
    """
    allowed = REFERENCES if without else REFERENCES[1:]
    if isinstance(reference, str) and reference not in allowed:
        raise ValueError(f"reference {reference!r}: give a density in kg/m3, or {' or '.join(map(repr, allowed))}")
    x, y, z = (np.asarray(axis, float) for axis in axes)
    plane = (len(x) - 1) * (len(y) - 1)
    area = np.diff(y)[:, None] * np.diff(x) / ((x[-1] - x[0]) * (y[-1] - y[0]))
    index, values, step = [], [], max(PLANES // plane, 1)
    for k0 in range(0, len(z) - 1, step):
        k1 = min(k0 + step, len(z) - 1)
        rho = density(k0, k1)
        if reference == "mean":
            less = (rho * area).sum(axis=(1, 2), keepdims=True)
        else:
            less = without(k0, k1) if reference == "background" else float(reference)
        left = (rho - less).reshape(-1)
        nonzero = np.flatnonzero(np.abs(left) > SAME * np.abs(rho).reshape(-1))
        index.append(nonzero + k0 * plane)
        values.append(left[nonzero])
    return Cells(x, y, z, np.concatenate(index), np.concatenate(values))


def _means(axis, edges):
    """Matrix (cells, points): mean over each cell of what is linear between points of an axis."""
    steps, before = (np.diff(axis), np.clip(np.searchsorted(axis, edges, side="right") - 1, 0, len(axis) - 2))
    rows, n = np.arange(len(edges)), before[:, None]
    whole = np.arange(len(steps)) < n  # intervals that lie wholly before an edge
    integral = np.zeros((len(edges), len(axis)))
    integral[:, :-1] += whole * steps / 2
    integral[:, 1:] += whole * steps / 2
    u = np.clip((edges - axis[before]) / steps[before], 0, 1)
    integral[rows, before] += steps[before] * (u - u**2 / 2)
    integral[rows, before + 1] += steps[before] * u**2 / 2
    return np.diff(integral, axis=0) / np.diff(edges)[:, None]
