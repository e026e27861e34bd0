"""Pictures of gradients: the sum over shots of each parameter, on the plane where it is largest."""

from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.report import figures
from craton.report.style import prefixed

RESULT = "gradient.zarr"


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
    fields = [f for f in dataset.data_vars.values() if {"x", "z"} <= set(f.dims)]
    if not fields:
        raise CratonError(f"{out_dir}/{RESULT} has no fields over x and z to plot")
    planes = [_plane(field) for field in fields]
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
        title = ", ".join(w for w in ("Gradient", f"{shots} shots" if shots else "", words) if w)
        page.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
    path = Path(path or Path(out_dir) / "kernels.png")
    page.savefig(path, format="png", dpi=160)
    return path


def _plane(field):
    """Vertical plane of a field in which its largest absolute value lies."""
    if "y" not in field.dims:
        return field
    values = np.nan_to_num(np.abs(field.transpose("y", ...).values))
    return field.isel(y=int(values.reshape(len(values), -1).max(axis=1).argmax()))


def _draw(axis, plane):
    values = plane.transpose("z", "x").values
    is_signed = bool(np.nanmin(values) < 0)
    limit = figures.robust_limit(values, 99.0)
    unit = plane.attrs.get("units", "")
    # a prefix of m2 s-3 would be squared
    factor, unit = prefixed(unit, limit) if is_signed else (1.0, unit)
    limit *= factor
    image = axis.pcolormesh(
        plane.x / 1000,
        plane.z / 1000,
        values * factor,
        cmap=figures.wave_colours() if is_signed else "cividis",
        vmin=-limit if is_signed else 0.0,
        vmax=limit,
        shading="nearest",
        rasterized=True,
    )
    bar = axis.figure.colorbar(image, ax=axis, pad=0.01, aspect=16, extend="both")
    bar.set_label(unit)
    bar.outline.set_linewidth(0.5)
    axis.set_aspect("equal")
    axis.set(xlabel="x (easting, km)", ylabel="z (elevation, km)")
    name = {"vp": "Vp", "vs": "Vs", "rho": "density"}.get(plane.name, plane.name)
    words = f"Gradient by {name}" if is_signed else str(plane.name).capitalize()
    axis.set_title(words, loc="left")
    if "y" in plane.coords:
        axis.set_title(f"y = {float(plane.y) / 1000:.4g} km", loc="right", **figures.ASIDE)
