"""Colour scales of figures: their limits and norms, cells in colours, and bars beside them."""

import numpy as np

KNEE = 200.0  # a shared scale is linear up to this part of its limit, logarithmic beyond


def draw_cells(axis, x, y, values, smooth=False, **style):
    """Draw values at the points of a grid as cells about them; returns the image.

    Evenly spaced points are one image, which is drawn several times faster than cells of a mesh.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    x, y : (n,), (m,) array
        Rising or falling.
    values : (m, n) array
        nan and what is masked stay blank.
    smooth : bool
        Interpolate between evenly spaced points: for fields that a grid resolves, unlike models.
    style : dict
        ``cmap``, ``vmin``, ``vmax``, ``norm``.
    """
    if not (is_even(x) and is_even(y)):
        return axis.pcolormesh(x, y, values, shading="nearest", rasterized=True, **style)
    halves = [0.5 * (p[-1] - p[0]) / (len(p) - 1) for p in (x, y)]
    edges = [end for p, half in zip((x, y), halves) for end in (p[0] - half, p[-1] + half)]
    interpolation = "bicubic" if smooth and np.isfinite(values).all() else "nearest"
    return axis.imshow(values, extent=edges, origin="lower", aspect="auto", interpolation=interpolation, **style)


def is_even(points):
    """Return True where points are evenly spaced, at least two.

    Parameters
    ----------
    points : (n,) array
    """
    steps = np.diff(np.asarray(points, float))
    return bool(steps.size and np.ptp(steps) <= 1e-4 * np.abs(steps).max() and steps[0] != 0)


def robust_limit(values, percentile=99.7):
    """Symmetric colour limit: a percentile of the absolute values that are not next to nothing; 1
    where all are zero.
    """
    size = np.abs(values[np.isfinite(values)])
    size = size[size > 1e-3 * size.max(initial=0)]
    return float(np.percentile(size, percentile)) if size.size else 1.0


def shared_norm(limit):
    """Return the norm of a colour scale on which both the first and the last of many frames show:
    linear about zero, logarithmic towards its limits.

    Parameters
    ----------
    limit : float
        Nearly the largest absolute value of all frames.
    """
    from matplotlib.colors import AsinhNorm

    return AsinhNorm(limit / KNEE, vmin=-limit, vmax=limit)


def mark_shared(bar, limit):
    """Draw the ticks of a colour bar of `shared_norm`.

    Parameters
    ----------
    bar : matplotlib.colorbar.Colorbar
    limit : float
    """
    largest = 10.0 ** np.floor(np.log10(limit))
    largest *= max(step for step in (1, 2, 5) if step * largest <= limit * (1 + 1e-9))
    steps = [largest * share for share in (1.0, 0.3, 0.1, 0.03)]
    ticks = [*(-step for step in steps), 0.0, *reversed(steps)]
    bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    bar.minorticks_off()


def side_bar(image, axis, text, extend="neither"):
    """Draw and return the colour bar of one axis, beside it and as tall.

    Parameters
    ----------
    image : matplotlib.cm.ScalarMappable
    axis : matplotlib.axes.Axes
    text : str
        Its label.
    extend : str
        Ends beyond which there are values, as matplotlib has them.
    """
    cax = axis.inset_axes([1.015, 0, 0.018, 1])
    bar = axis.figure.colorbar(image, cax=cax, extend=extend, extendfrac=0.03)
    bar.set_label(text)
    bar.outline.set_linewidth(0.5)
    return bar


def colour_bar(image, axes, text=None):
    """Draw and return the colour bar of `axes` labelled with quantity and unit; as tall as the axes
    where there is one.
    """
    text = text or f"{image.label} ({image.unit})"
    if len(axes) == 1:
        return side_bar(image, axes[0], text, "both")
    bar = axes[0].figure.colorbar(
        image, ax=axes, pad=0.015, fraction=0.02, aspect=34, shrink=0.85, extend="both", extendfrac=0.03
    )
    bar.set_label(text)
    bar.outline.set_linewidth(0.5)
    return bar
