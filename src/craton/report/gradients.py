"""Gradients: the sum over shots by each parameter and the illumination, on the plane where each is largest."""

import numpy as np

from craton.errors import CratonError
from craton.output.frames import robust_limit
from craton.report import figures, rasters
from craton.report.figures import prefixed, typeset, wave_colours
from craton.report.runs import GRADIENT

DECADES = 1e4  # between the ends of the scale of an illumination
POINTS = 240  # across a section through elements


def kernels(run):
    """Draw the gradient by each parameter, and the illumination."""
    dataset = run.gradient
    if dataset is None:
        raise CratonError(f"{run.out} has no {GRADIENT}; craton gradient writes it")
    planes = planes_of(dataset)
    if not planes:
        raise CratonError(f"{run.out}/{GRADIENT} has no fields over x and z to plot")
    tall, wide = (max(float(np.ptp(planes[0][dim].values)), 1e-9) for dim in ("z", "x"))
    columns = 1 if len(planes) < 3 else 2
    tall = float(np.clip((9.5 / columns) * tall / wide, 1.2, 6.0)) + 0.7
    with figures.figure(11, 0.5 + -(-len(planes) // columns) * tall) as page:
        for axis, plane in zip(figures.panels(page, len(planes), columns), planes):
            draw_kernel(axis, plane)
        shots = dataset.sizes.get("shot", 0)
        words = f"misfit {float(dataset.attrs['misfit']):.4g}" if "misfit" in dataset.attrs else ""
        parts = "Gradient", f"{shots} shot{'s' * (shots > 1)}" if shots else "", words
        figures.headline(page, ", ".join(part for part in parts if part))
    return page


def planes_of(dataset):
    """Return vertical planes of all fields, (z, x), through the largest absolute value of each: of a grid, or of the
    nodes of elements.
    """
    fields = dataset.data_vars.values()
    if "node" in dataset.dims:
        return [_nodes_near(field) for field in fields if "node" in field.dims]
    planes = [field for field in fields if {"x", "z"} <= {*field.dims}]
    strongest = [
        int(np.abs(f).max([d for d in f.dims if d != "y"]).fillna(0).argmax()) if "y" in f.dims else 0 for f in planes
    ]
    return [f.isel(y=n) if "y" in f.dims else f for f, n in zip(planes, strongest)]


def _nodes_near(field):
    """Return the values at the nodes of elements on the plane in which the largest lies: at each point of a grid that
    of the nearest node.
    """
    import xarray as xr
    from scipy.spatial import cKDTree

    nodes = np.stack([field[axis].values.ravel() for axis in "xyz"], axis=1)
    values = np.nan_to_num(field.values.ravel())
    y = nodes[np.abs(values).argmax(), 1]
    (x0, _, z0), (x1, _, z1) = nodes.min(axis=0), nodes.max(axis=0)
    x = np.linspace(x0, x1, POINTS)
    z = np.linspace(z0, z1, max(int(POINTS * (z1 - z0) / max(x1 - x0, 1e-9)), 2))
    at = np.stack(np.broadcast_arrays(x, y, z[:, None]), axis=-1)
    distance, nearest = cKDTree(nodes).query(at)
    plane = values[nearest]
    extent = np.ptp(nodes.reshape(*field.shape, 3), axis=1).max()
    plane[distance > extent / 2] = np.nan  # outside the mesh
    return xr.DataArray(plane, {"z": z, "x": x, "y": float(y)}, ("z", "x"), field.name, field.attrs)


def draw_kernel(axis, plane):
    """Draw a plane of a field on a scale that is logarithmic towards its ends: what lies at sources and receivers is
    many times the rest.
    """
    from matplotlib.colors import LogNorm

    is_signed = bool(np.nanmin(plane.values) < 0)
    limit, unit = robust_limit(plane.values), plane.attrs.get("units", "")
    # a prefix of m2 s-3 would be squared
    factor, unit = prefixed(unit, limit) if is_signed else (1.0, typeset(unit))
    limit *= factor
    norm = rasters.shared_norm(limit) if is_signed else LogNorm(limit / DECADES, limit)
    colours = wave_colours() if is_signed else "cividis"
    image = rasters.draw_plane(axis, factor * plane.transpose("z", "x"), cmap=colours, norm=norm)
    bar = rasters.colour_bar(image, [axis], unit, "both")
    if is_signed:
        rasters.mark_shared(bar, limit)
    name = {"vp": "Vp", "vs": "Vs", "rho": "density"}.get(plane.name, plane.name)
    words = f"Gradient by {name}" if is_signed else str(plane.name).capitalize()
    figures.title(axis, words, f"y = {float(plane.y) / 1000:.4g} km" if "y" in plane.coords else "")
