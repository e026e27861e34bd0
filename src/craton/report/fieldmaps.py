"""Pictures of gravity runs: maps of all fields over a grid, curves along a profile or down a
borehole.
"""

import logging
from pathlib import Path

import numpy as np

from craton.conventions import GRAVITY
from craton.errors import CratonError, ScenarioError
from craton.report import figures, scales
from craton.report.style import wave_colours

# panels side by side, by their number
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4, 9: 3, 10: 5}
# all of them make two rows
ORDER = ("potential", "g_e", "g_n", "g_z", "g_zz", "g_ee", "g_nn", "g_en", "g_ez", "g_nz")
# Inches: width of a map, between maps, left of the first; for a map's title, a colour bar with its
# numbers, labels of x, the heading.
MAP, ASIDE, LEFT, TITLE, BAR, LABELS, HEADING = 2.7, 0.36, 0.62, 0.4, 0.62, 0.42, 0.42
LINES = 9  # contour lines of a map
LINE_COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#cc79a7", "#b8860b", "#333333")
_INK = "#20262e"


def maps(out_dir, path=None):
    """All fields of a gravity run in one picture; ``OUT/maps.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    CratonError
        If OUT holds no gravity fields.
    ResourceError
        If matplotlib is missing.
    """
    out_dir = Path(out_dir)
    dataset = read_fields(out_dir)
    if dataset is None:
        raise CratonError(f"{out_dir} has no gravity fields to plot")
    page = draw(dataset, dataset.attrs.get("title") or out_dir.name, outlines(out_dir))
    page.savefig(path or out_dir / "maps.png", format="png", dpi=160)
    return Path(path or out_dir / "maps.png")


def profiles(out_dir, path=None):
    """Fields along x and along y through the largest anomaly of a map; ``OUT/profiles.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.

    Raises
    ------
    CratonError
        If OUT holds no gravity fields over x and y.
    """
    dataset = read_fields(out_dir)
    names = [] if dataset is None else [name for name in ORDER if name in dataset.data_vars]
    if not names or dataset[names[0]].ndim != 2:
        raise CratonError(f"{out_dir} has no maps of gravity fields to take profiles from")
    strongest = dataset[next((n for n in ("g_z", "g_zz") if n in names), names[0])]
    size = np.abs(np.nan_to_num(strongest.transpose("y", "x").values))
    row, column = np.unravel_index(int(size.argmax()), size.shape)
    units = {}
    for name in names:
        units.setdefault(dataset[name].attrs.get("units", ""), []).append(name)
    with figures.figure(11, 0.7 + 1.9 * len(units)) as page:
        axes = page.subplots(len(units), 2, sharex="col", sharey="row", squeeze=False)
        for line, (unit, group) in zip(axes, units.items()):
            line[0].set_ylabel(unit)
            for name, colour in zip(group, LINE_COLOURS):
                field = dataset[name].transpose("y", "x").values
                line[0].plot(dataset.x / 1000, field[row], color=colour, label=symbol(name))
                line[1].plot(dataset.y / 1000, field[:, column], color=colour, label=symbol(name))
            line[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        north, east = float(dataset.y[row]) / 1000, float(dataset.x[column]) / 1000
        axes[0, 0].set_title(f"West to east at y = {north:.4g} km", loc="left")
        axes[0, 1].set_title(f"South to north at x = {east:.4g} km", loc="left")
        axes[-1, 0].set_xlabel("x (easting, km)")
        axes[-1, 1].set_xlabel("y (northing, km)")
    path = Path(path or Path(out_dir) / "profiles.png")
    page.savefig(path, format="png", dpi=160)
    return path


def read_fields(out_dir):
    """Fields of a gravity run, or None where there are none."""
    import xarray as xr

    store = Path(out_dir) / "result.zarr"
    if not any((store / name).exists() for name in GRAVITY):
        return None
    return xr.open_zarr(store, chunks=None).load()


def draw(dataset, title="", bodies=()):
    """Fields of a dataset as a figure, a panel each.

    Parameters
    ----------
    dataset : xarray.Dataset
        Of a gravity run: over (y, x) or (point).
    title : str
    bodies : sequence
        ``("circle", x, y, radius)`` and ``("box", x0, y0, x1, y1)``, m: outlines drawn on maps.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = [name for name in ORDER if name in dataset.data_vars]
    line = next((name for name in ("distance", "depth") if name in dataset.coords), None)
    if line:
        return _curves(dataset, names, title, line)
    columns = COLUMNS.get(len(names), 4)
    rows = -(-len(names) // columns)
    tall = MAP * float(np.clip(max(np.ptp(dataset.y.values), 1e-9) / max(np.ptp(dataset.x.values), 1e-9), 0.35, 2.2))
    width = max(LEFT + columns * (MAP + ASIDE) - ASIDE + 0.2, 4.2)
    height = HEADING + rows * (TITLE + tall + BAR) + LABELS
    with figures.figure(width, height) as page:
        page.set_layout_engine("none")
        first = None
        for n, name in enumerate(names):
            row, column, low = n // columns, n % columns, n + columns >= len(names)
            top = height - HEADING - row * (TITLE + tall + BAR) - TITLE
            box = LEFT + column * (MAP + ASIDE), top - tall
            axis = page.add_axes(_box(page, *box, MAP, tall), sharex=first, sharey=first)
            first = first or axis
            bar = page.add_axes(_box(page, box[0], box[1] - 0.24 - low * LABELS, MAP, 0.1))
            _map(axis, dataset, name, bodies, bar)
            axis.tick_params(labelleft=not column, labelbottom=low)
            axis.set_ylabel("" if column else "y (northing, km)")
            axis.set_xlabel("x (easting, km)" if low else "")
        page.text(LEFT / width, 1 - 0.12 / height, title, ha="left", va="top", fontsize=13, fontweight="bold")
        page.text(
            1 - 0.2 / width, 1 - 0.16 / height, _setting(dataset), ha="right", va="top", fontsize=8.5, color="0.35"
        )
    return page


def _box(page, left, bottom, width, height):
    """Return a box in inches as parts of the page."""
    across, up = page.get_size_inches()
    return left / across, bottom / up, width / across, height / up


def _map(axis, dataset, name, bodies, below):
    """One field as a map with contour lines, or as coloured points where they lie scattered; its
    colour bar in the axes `below`.
    """
    field = dataset[name]
    x, y, values = dataset.x.values / 1000, dataset.y.values / 1000, field.values
    style = colours(values)
    if field.ndim == 2:
        image = scales.draw_cells(axis, x, y, values, **style)
        if min(values.shape) > 3 and np.isfinite(values).any() and np.nanmin(values) < np.nanmax(values):
            low, high = image.get_clim()
            axis.contour(
                x,
                y,
                values,
                np.linspace(low, high, LINES + 2)[1:-1],
                colors=_INK,
                linewidths=0.45,
                alpha=0.5,
                linestyles="solid",
            )
    else:
        image = axis.scatter(
            x,
            y,
            c=values,
            s=float(np.clip(9000 / max(len(values), 1), 4, 60)),
            edgecolors=_INK,
            linewidths=0.3,
            **style,
        )
    for body in bodies:
        axis.add_patch(_outline(body))
    axis.set_aspect("equal")
    axis.set_title(symbol(name), loc="left", fontsize=12.5)
    direction = GRAVITY[name][1].split(", ")[-1].removesuffix(" component")
    axis.set_title(
        "" if name == "potential" else direction, loc="right", fontsize=8.5, fontweight="normal", color="0.35"
    )
    axis.xaxis.set_major_locator(_ticks())
    axis.yaxis.set_major_locator(_ticks())
    bar = axis.figure.colorbar(image, cax=below, orientation="horizontal")
    bar.set_label(field.attrs.get("units", ""), fontsize=8.5, labelpad=1)
    bar.ax.tick_params(labelsize=8, length=2.5)
    bar.locator = _ticks()
    bar.outline.set_linewidth(0.5)


def _ticks():
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])


def colours(values):
    """Colour map and limits: diverging about zero where both signs are there, else from the least
    to the greatest.
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0 < high and min(-low, high) > 0.02 * max(-low, high):
        limit = max(-low, high)
        return {"cmap": wave_colours(), "vmin": -limit, "vmax": limit}
    return {"cmap": "cividis", "vmin": low, "vmax": high if high > low else low + 1}


def symbol(name):
    """Return a field's symbol."""
    return "V" if name == "potential" else name


def _setting(dataset):
    """Height of the points, method and precision."""
    z = dataset.z.values
    height = f"z = {float(z):.6g} m" if z.ndim == 0 else f"z = {z.min():.5g} to {z.max():.5g} m" if z.size else ""
    return ", ".join(
        word for word in (height, dataset.attrs.get("method", ""), dataset.attrs.get("precision", "")) if word
    )


def warn_unread(out_dir, error):
    """Log that the scenario of a run cannot be read: figures then lack what only it says.

    Parameters
    ----------
    out_dir : path-like
    error : Exception
    """
    message = "%s/scenario.toml cannot be read, the figure is drawn without it: %s"
    logging.getLogger("craton").warning(message, out_dir, error)


def outlines(out_dir):
    """Bodies of the run's scenario, seen from above; none where it cannot be read."""
    from craton.scenario import load

    try:
        scenario = load(Path(out_dir) / "scenario.toml")
    except (OSError, ScenarioError) as error:
        warn_unread(out_dir, error)
        return []
    tables = getattr(scenario, "prisms", ())
    shapes = []
    for body in (
        body
        for table in tables
        for body in (getattr(table, "bodies", None) or getattr(getattr(table, "model", None), "anomalies", ()))
    ):
        shapes.append(
            ("circle", *body.center[:2], body.radius)
            if body.shape == "sphere"
            else ("box", *body.min[:2], *body.max[:2])
        )
    return shapes


def _outline(body):
    from matplotlib.patches import Circle, Rectangle

    look = {"fill": False, "edgecolor": _INK, "linewidth": 0.8, "linestyle": (0, (3, 2)), "alpha": 0.9}
    kind, *numbers = body
    if kind == "circle":
        x, y, radius = (n / 1000 for n in numbers)
        return Circle((x, y), radius, **look)
    x0, y0, x1, y1 = (n / 1000 for n in numbers)
    return Rectangle((x0, y0), x1 - x0, y1 - y0, **look)


def _curves(dataset, names, title, line):
    """Fields along a profile (over distance) or down a borehole (over depth), a panel for each
    unit.
    """
    units = {}
    for name in names:
        units.setdefault(dataset[name].attrs.get("units", ""), []).append(name)
    down, along = line == "depth", dataset[line].values
    along, where = (along / 1000, "km") if np.ptp(along) >= 5000 else (along, "m")
    size = (3.4 * len(units) + 0.6, 6.2) if down else (9.5, 2.1 * len(units) + 0.9)
    with figures.figure(*size) as page:
        axes = page.subplots(
            *((1, len(units)) if down else (len(units), 1)), sharex=not down, sharey=down, squeeze=False
        ).ravel()
        for axis, (unit, group) in zip(axes, units.items()):
            for name, colour in zip(group, LINE_COLOURS):
                pair = (dataset[name].values, along) if down else (along, dataset[name].values)
                axis.plot(*pair, color=colour, linewidth=1.3, label=symbol(name))
            (axis.axvline if down else axis.axhline)(0, color="0.75", linewidth=0.6, zorder=0)
            (axis.set_xlabel if down else axis.set_ylabel)(unit)
            axis.legend(
                frameon=False,
                ncols=2 if down else 1,
                fontsize=9.5,
                **({} if down else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}),
            )
        if down:
            axes[0].invert_yaxis()
            axes[0].set_ylabel(f"Depth ({where})")
        else:
            axes[-1].set_xlabel(f"Distance along the profile ({where})")
            axes[-1].set_xlim(along[0], along[-1])
        page.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
    return page
