"""Gravity: maps of all fields, profiles through the largest anomaly, curves along a profile or down a borehole."""

import numpy as np

from craton.conventions import GRAVITY
from craton.errors import CratonError
from craton.report import figures, rasters
from craton.report.figures import DASHED, INK, LINES

# panels side by side, by their number
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4, 9: 3, 10: 5}
# all of them make two rows
ORDER = ("potential", "g_e", "g_n", "g_z", "g_zz", "g_ee", "g_nn", "g_en", "g_ez", "g_nz")
CONTOURS = 9  # of a map


def maps(run):
    """Draw all fields of a gravity run: maps, or curves along a profile or down a borehole."""
    if run.gravity is None:
        raise CratonError(f"{run.out} has no gravity fields to plot")
    return figure_of(run.gravity, run.title, bodies_of(run.scenario))


def profiles(run):
    """Draw fields along x and along y through the largest anomaly of a map."""
    dataset = run.gravity
    names = [] if dataset is None else names_of(dataset)
    if not names or {*dataset[names[0]].dims} != {"x", "y"}:
        raise CratonError(f"{run.out} has no maps of gravity fields to take profiles from")
    strongest = np.abs(dataset[next((n for n in ("g_z", "g_zz") if n in names), names[0])].fillna(0))
    place = {dim: int(index) for dim, index in strongest.argmax(["x", "y"]).items()}
    groups = by_unit(dataset)
    with figures.panels(2 * len(groups), 2, 11, 1.9, 0.7, sharex="col", sharey="row") as (page, axes):
        axes = axes.reshape(-1, 2)
        cuts = ("x", "y", "West to east", "easting"), ("y", "x", "South to north", "northing")
        for column, (along, across, words, name) in zip(axes.T, cuts):
            for axis, (unit, group) in zip(column, groups.items()):
                draw_curves(axis, dataset.isel({across: place[across]}), group, dataset[along] / 1000)
                axes[list(groups).index(unit), 0].set_ylabel(unit)
            figures.title(column[0], f"{words} at {across} = {float(dataset[across][place[across]]) / 1000:.4g} km")
            column[-1].set_xlabel(f"{along} ({name}, km)")
        for axis in axes[:, 1]:
            axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return page


def figure_of(dataset, title="", bodies=()):
    """Return the figure of the fields of a dataset over (y, x) or (point); `bodies` are those of a scenario, whose outlines
    are drawn on maps.
    """
    line = next((name for name in ("distance", "depth") if name in dataset.coords), None)
    if line:
        return curves(dataset, title, line)
    names = names_of(dataset)
    columns = COLUMNS.get(len(names), 4)
    tall = 2.7 * float(np.clip(rasters.aspect(dataset, "y", "x"), 0.35, 2.2)) + 1.1
    with figures.panels(len(names), columns, max(0.8 + 3.0 * columns, 4.2), tall, 0.8) as (page, axes):
        for axis, name in zip(axes, names):
            draw_field(axis, dataset[name], bodies)
            axis.label_outer()
        figures.headline(page, title)
        look = {"ha": "right", "va": "top", "fontsize": 8.5, "color": "0.35"}
        page.text(0.99, 0.99, _setting(dataset), **look)
    return page


def draw_field(axis, field, bodies=()):
    """Draw one field as a map with contour lines, or as coloured points where they lie scattered."""
    from matplotlib.ticker import MaxNLocator

    values, style = field.values, rasters.signed_scale(field.values)
    if field.ndim == 2:
        image = rasters.draw_plane(axis, field.transpose("y", "x"), **style)
        if min(values.shape) > 3 and np.isfinite(values).any() and np.nanmin(values) < np.nanmax(values):
            levels = np.linspace(*image.get_clim(), CONTOURS + 2)[1:-1]
            look = {"colors": INK, "linewidths": 0.45, "alpha": 0.5, "linestyles": "solid"}
            axis.contour(field.x / 1000, field.y / 1000, field.transpose("y", "x"), levels, **look)
    else:
        size = float(np.clip(9000 / max(len(values), 1), 4, 60))
        image = axis.scatter(field.x / 1000, field.y / 1000, c=values, s=size, edgecolors=INK, linewidths=0.3, **style)
        axis.set(aspect="equal", xlabel=rasters.AXES["x"], ylabel=rasters.AXES["y"])
    for body in bodies:
        axis.add_patch(_outline(body))
    direction = GRAVITY[field.name][1].split(", ")[-1].removesuffix(" component")
    figures.title(axis, symbol(field.name), "" if field.name == "potential" else direction)
    bar = rasters.bar_below(image, axis, field.attrs.get("units", ""))
    for each in (axis.xaxis, axis.yaxis, bar.ax.xaxis):
        each.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def curves(dataset, title, line):
    """Return the figure of fields along a profile (`line` is "distance") or down a borehole ("depth"), a panel for each
    unit.
    """
    groups, along, where = by_unit(dataset), dataset[line], "m"
    is_deep = line == "depth"
    if np.ptp(along.values) >= 5000:
        along, where = along / 1000, "km"
    layout = (len(groups), 3.4 * len(groups) + 0.6, 6.2, 0.0) if is_deep else (1, 9.5, 2.1, 0.9)
    with figures.panels(len(groups), *layout, sharex=not is_deep, sharey=is_deep) as (page, axes):
        for axis, (unit, group) in zip(axes, groups.items()):
            draw_curves(axis, dataset, group, along, is_deep)
            (axis.axvline if is_deep else axis.axhline)(0, color="0.75", linewidth=0.6, zorder=0)
            (axis.set_xlabel if is_deep else axis.set_ylabel)(unit)
            beside = {} if is_deep else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            axis.legend(frameon=False, ncols=2 if is_deep else 1, fontsize=9.5, **beside)
        if is_deep:
            axes[0].invert_yaxis()
            axes[0].set_ylabel(f"Depth ({where})")
        else:
            axes[-1].set(xlabel=f"Distance along the profile ({where})", xlim=(float(along[0]), float(along[-1])))
        figures.headline(page, title)
    return page


def draw_curves(axis, dataset, names, along, is_deep=False):
    """Draw fields over one coordinate, which runs downwards where they are `is_deep`."""
    for name, colour in zip(names, LINES):
        pair = (dataset[name], along) if is_deep else (along, dataset[name])
        axis.plot(*pair, color=colour, linewidth=1.3, label=symbol(name))


def names_of(dataset):
    """Return the fields of a dataset in the order in which they are drawn."""
    return [name for name in ORDER if name in dataset.data_vars]


def by_unit(dataset) -> dict:
    """Return the names of fields by their units."""
    groups: dict = {}
    for name in names_of(dataset):
        groups.setdefault(dataset[name].attrs.get("units", ""), []).append(name)
    return groups


def symbol(name: str) -> str:
    """Return a field's symbol."""
    return "V" if name == "potential" else name


def _setting(dataset):
    """Return height of the points, method and precision."""
    z = dataset.z.values
    height = f"z = {float(z):.6g} m" if z.ndim == 0 else f"z = {z.min():.5g} to {z.max():.5g} m" if z.size else ""
    words = height, dataset.attrs.get("method", ""), dataset.attrs.get("precision", "")
    return ", ".join(word for word in words if word)


def bodies_of(scenario):
    """Return the bodies of a gravity scenario; none of other ones."""
    if scenario is None or scenario.method != "gravity":
        return []
    bodies = []
    for table in scenario.prisms:
        bodies += getattr(table, "bodies", None) or getattr(getattr(table, "model", None), "anomalies", ())
    return bodies


def _outline(body):
    """Return the outline of a body as seen from above, in km."""
    from matplotlib.patches import Circle, Rectangle

    look = {"fill": False, "edgecolor": INK, "linewidth": 0.8, "linestyle": DASHED, "alpha": 0.9}
    if body.shape == "sphere":
        return Circle(np.divide(body.center[:2], 1000), body.radius / 1000, **look)
    low, high = np.divide(body.min[:2], 1000), np.divide(body.max[:2], 1000)
    return Rectangle(low, *(high - low), **look)
