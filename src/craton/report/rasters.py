"""Values over a plane in colours: cells, limits and norms of colour scales, bars beside them, labels of the axes."""

import numpy as np

from craton.report.figures import prefixed, wave_colours

KNEE = 200.0  # a shared scale is linear up to this part of its limit, logarithmic beyond
AXES = {
    "x": "x (easting, km)",
    "y": "y (northing, km)",
    "z": "Elevation (km)",
    "longitude": "Longitude (degrees)",
    "latitude": "Latitude (degrees)",
}


def draw_plane(axis, frame, smooth=False, **style):
    """Draw a frame, two of x, y, z (m) or longitude and latitude (degrees), on axes of one scale with their labels;
    return the image.
    """
    if "xi" in frame.dims:  # angles in a chunk of the Earth
        across, up, names = frame.longitude.values, frame.latitude.values, ("longitude", "latitude")
        image = axis.pcolormesh(across, up, frame.values, shading="gouraud", rasterized=True, **style)
    else:
        names = frame.dims[::-1]
        across, up = (frame[name].values / (1000 if name in "xyz" else 1) for name in names)
        image = draw_cells(axis, across, up, frame.values, smooth, **style)
    axis.set_aspect(1 / max(np.cos(np.radians(np.mean(up))), 0.1) if names[1] == "latitude" else "equal")
    axis.set(xlabel=AXES[names[0]], ylabel=AXES[names[1]])
    if names[1] == "z" and up.max() <= 0:
        axis.yaxis.set_major_formatter(lambda value, _: f"{-value + 0:g}")
        axis.set_ylabel("Depth (km)")
    return image


def draw_cells(axis, x, y, values, smooth=False, **style):
    """Draw values (m, n) at the points y (m,) and x (n,) of a grid as cells about them; return the image. NaN stays
    blank.

    Evenly spaced points are one image, which is drawn several times faster than cells of a mesh. With `smooth` it is
    interpolated: for fields that a grid resolves, unlike models.
    """
    if not (is_even(x) and is_even(y)):
        return axis.pcolormesh(x, y, values, shading="nearest", rasterized=True, **style)
    halves = [0.5 * (p[-1] - p[0]) / (len(p) - 1) for p in (x, y)]
    edges = [end for p, half in zip((x, y), halves) for end in (p[0] - half, p[-1] + half)]
    interpolation = "bicubic" if smooth and np.isfinite(values).all() else "nearest"
    return axis.imshow(values, extent=edges, origin="lower", aspect="auto", interpolation=interpolation, **style)


def is_even(points) -> bool:
    """Return True where points (n,) are evenly spaced, at least two."""
    steps = np.diff(np.asarray(points, float))
    return bool(steps.size and np.ptp(steps) <= 1e-4 * np.abs(steps).max() and steps[0] != 0)


def aspect(array, up, across) -> float:
    """Return height over width of what is drawn over two coordinates of an array or a dataset."""
    spans = [max(float(np.ptp(array[name].values)), 1e-9) for name in (up, across)]
    return spans[0] / spans[1]


# --- scales -----------------------------------------------------------------------------------------------------------


def signed_scale(values) -> dict:
    """Return colour map and limits: diverging about zero where both signs are there, else from the least to the
    greatest.
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0 < high and min(-low, high) > 0.02 * max(-low, high):
        limit = max(-low, high)
        return {"cmap": wave_colours(), "vmin": -limit, "vmax": limit}
    return {"cmap": "cividis", "vmin": low, "vmax": high if high > low else low + 1}


def shared_norm(limit: float):
    """Return the norm of a colour scale on which both the first and the last of many frames show: linear about zero,
    logarithmic towards its limits, nearly the largest absolute value of all frames.
    """
    from matplotlib.colors import AsinhNorm

    return AsinhNorm(limit / KNEE, vmin=-limit, vmax=limit)


def mark_shared(bar, limit: float) -> None:
    """Draw the ticks of a colour bar of `shared_norm`."""
    largest = 10.0 ** np.floor(np.log10(limit))
    largest *= max(step for step in (1, 2, 5) if step * largest <= limit * (1 + 1e-9))
    steps = [largest * share for share in (1.0, 0.3, 0.1, 0.03)]
    ticks = [*(-step for step in steps), 0.0, *reversed(steps)]
    bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    bar.minorticks_off()


def scaled(frame, limit: float):
    """Return a frame in a unit with a prefix that suits a limit, the limit in it, and the unit."""
    factor, unit = prefixed(frame.attrs.get("units", ""), limit)
    return frame.copy(data=frame.values * factor), limit * factor, unit


def colour_bar(image, axes, text: str, extend="neither"):
    """Draw and return the colour bar of some axes, on the right; as tall as the axes where there is one."""
    page = axes[0].figure
    if len(axes) == 1:
        bar = page.colorbar(image, cax=axes[0].inset_axes([1.015, 0, 0.018, 1]), extend=extend, extendfrac=0.03)
    else:
        look = {"pad": 0.015, "fraction": 0.02, "aspect": 34, "shrink": 0.85, "extendfrac": 0.03}
        bar = page.colorbar(image, ax=list(axes), extend=extend, **look)
    bar.set_label(text)
    bar.outline.set_linewidth(0.5)
    return bar


def bar_below(image, axis, text: str, extend="neither"):
    """Draw and return the colour bar of one of many small maps, below it."""
    bar = axis.figure.colorbar(image, ax=axis, location="bottom", pad=0.02, aspect=28, shrink=0.85, extend=extend)
    bar.set_label(text, fontsize=8.5, labelpad=1)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_linewidth(0.5)
    return bar
