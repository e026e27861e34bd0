"""Pictures of gradients: the sum over shots of each parameter, on the plane where it is largest."""

from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.report import figures, scales
from craton.report.style import prefixed, typeset

RESULT = "gradient.zarr"
DECADES = 1e4  # between the ends of the scale of an illumination
POINTS = 240  # across a section through elements


def read_gradient(out_dir):
    """Gradient of `craton gradient` in OUT, or None where there is none.

    Parameters
    ----------
    out_dir : path-like
    """
    import xarray as xr

    store = Path(out_dir) / RESULT
    return xr.open_zarr(store, chunks=None).load() if store.is_dir() else None


def kernels(out_dir, path=None):
    """Gradient by each parameter and the illumination; ``OUT/kernels.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of `craton gradient`.
    path : path-like, optional
        PNG to write.

    Raises
    ------
    CratonError
        There is no gradient, or it is not on a grid.
    """
    dataset = read_gradient(out_dir)
    if dataset is None:
        raise CratonError(f"{out_dir} has no {RESULT}; craton gradient writes it")
    planes = _planes(dataset)
    if not planes:
        raise CratonError(f"{out_dir}/{RESULT} has no fields over x and z to plot")
    spans = [max(float(np.ptp(planes[0][dim].values)), 1e-9) for dim in ("z", "x")]
    columns = 1 if len(planes) < 3 else 2
    rows = -(-len(planes) // columns)
    tall = float(np.clip((9.5 / columns) * spans[0] / spans[1], 1.2, 6.0)) + 0.7
    with figures.figure(11, 0.5 + rows * tall) as page:
        axes = page.subplots(rows, columns, squeeze=False).ravel()
        for axis, plane in zip(axes, planes):
            _draw(axis, plane)
        for axis in axes[len(planes) :]:
            axis.set_axis_off()
        shots = dataset.sizes.get("shot", 0)
        words = f"misfit {float(dataset.attrs['misfit']):.4g}" if "misfit" in dataset.attrs else ""
        title = ", ".join(w for w in ("Gradient", f"{shots} shot{'s' * (shots > 1)}" if shots else "", words) if w)
        page.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
    path = Path(path or Path(out_dir) / "kernels.png")
    page.savefig(path, format="png", dpi=160)
    return path


def _planes(dataset):
    """Vertical planes of all fields, (z, x): of a grid, or of the nodes of elements."""
    fields = dataset.data_vars.values()
    if "node" in dataset.dims:
        return [_nodes_near(field) for field in fields if "node" in field.dims]
    return [_plane(field) for field in fields if {"x", "z"} <= set(field.dims)]


def _nodes_near(field):
    """Values at the nodes of elements on the plane in which the largest lies: at each point of a
    grid that of the nearest node.
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
    coords = {"z": z, "x": x, "y": float(y)}
    return xr.DataArray(plane, coords, ("z", "x"), field.name, field.attrs)


def _plane(field):
    """Vertical plane of a field in which its largest absolute value lies."""
    if "y" not in field.dims:
        return field
    values = np.nan_to_num(np.abs(field.transpose("y", ...).values))
    return field.isel(y=int(values.reshape(len(values), -1).max(axis=1).argmax()))


def _draw(axis, plane):
    """Draw a plane of a field on a scale that is logarithmic towards its ends: what lies at sources
    and receivers is many times the rest.
    """
    from matplotlib.colors import LogNorm

    values = plane.transpose("z", "x").values
    is_signed = bool(np.nanmin(values) < 0)
    limit = scales.robust_limit(values)
    unit = plane.attrs.get("units", "")
    # a prefix of m2 s-3 would be squared
    factor, unit = prefixed(unit, limit) if is_signed else (1.0, typeset(unit))
    limit *= factor
    image = scales.draw_cells(
        axis,
        plane.x.values / 1000,
        plane.z.values / 1000,
        values * factor,
        cmap=figures.wave_colours() if is_signed else "cividis",
        norm=scales.shared_norm(limit) if is_signed else LogNorm(limit / DECADES, limit),
    )
    bar = scales.side_bar(image, axis, unit, "both")
    if is_signed:
        scales.mark_shared(bar, limit)
    axis.set_aspect("equal")
    axis.set(xlabel="x (easting, km)", ylabel="z (elevation, km)")
    name = {"vp": "Vp", "vs": "Vs", "rho": "density"}.get(plane.name, plane.name)
    words = f"Gradient by {name}" if is_signed else str(plane.name).capitalize()
    axis.set_title(words, loc="left")
    if "y" in plane.coords:
        axis.set_title(f"y = {float(plane.y) / 1000:.4g} km", loc="right", **figures.ASIDE)
