"""Pictures of maps of shaking: intensity in the colours of ShakeMap, peaks, spectral accelerations,
Arias intensity and durations.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.report import figures
from craton.report.style import prefixed

# Worden et al. (2012), Bull. Seism. Soc. Am. 102, 204-221, table 1, of the larger horizontal peak in
# cm/s and cm/s2: I = a + b log10 y up to log10 y = t, c + d log10 y beyond.
RELATIONS = {"pgv": (3.78, 1.47, 2.89, 3.16, 0.53), "pga": (1.78, 1.55, -1.60, 3.70, 1.57)}
CENTI = 100.0  # cm in a metre
NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X+")
# of intensities 1 to 10, as ShakeMap has them (Worden & Wald 2016)
_SHAKEMAP = (
    "#ffffff",
    "#bfccff",
    "#a0e6ff",
    "#80ffff",
    "#7aff93",
    "#ffff00",
    "#ffc800",
    "#ff9100",
    "#ff0000",
    "#c80000",
)
COMPONENT = {"H": "horizontal vector", "E": "east", "N": "north", "Z": "up"}
MOST = 6  # panels of a picture
FEW_ENOUGH = 100  # receivers that are drawn
COLUMNS = 3
MOST_POINTS = 97  # percent


def intensity(dataset, of=None):
    """Return the instrumental intensity (MMI) of a map: xarray.DataArray, 1 to 10.

    Parameters
    ----------
    dataset : xarray.Dataset
        A map of peaks, with ``pgv`` (m/s) or ``pga`` (m/s2).
    of : str, optional
        ``"pgv"`` or ``"pga"``; by default velocity, where it is there.

    Raises
    ------
    CratonError
        It has neither.

    Notes
    -----
    The relation of Worden et al. (2012), without its terms of magnitude and distance, of the larger
    of both horizontal components.
    """
    name = of or next((name for name in RELATIONS if name in dataset), None)
    if name not in dataset:
        raise CratonError("intensity needs pgv or pga: add them to quantities of [[peaks]]")
    low, slope, high, steep, corner = RELATIONS[name]
    peak = CENTI * dataset[name].sel(component=["E", "N"]).max("component")
    with np.errstate(divide="ignore"):
        log = np.log10(peak)
    felt = np.where(log <= corner, low + slope * log, high + steep * log)
    out = peak.copy(data=np.where(np.isnan(peak), np.nan, np.clip(felt, 1.0, 10.0)))
    out.attrs = {"units": "1", "long_name": f"instrumental intensity (MMI) from {name.upper()}"}
    return out.rename("mmi")


def peaks(out_dir, path=None):
    """All quantities of the first map of peaks of a run, with the intensity; ``OUT/peaks.png``.

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
        If OUT holds no map of peaks.
    ResourceError
        If matplotlib is missing.
    """
    from craton.output.peaks import read
    from craton.report.pictures import read_waveforms, scene_of

    out_dir, maps = Path(out_dir), read(out_dir)
    if not maps:
        raise CratonError(f"{out_dir} has no map of peaks to plot: runs with [[peaks]] measure them")
    name, dataset = next(iter(maps.items()))
    waves = read_waveforms(out_dir)
    scene = scene_of(out_dir, waves)
    receivers = () if waves is None else np.column_stack([waves[c].values for c in "xyz"])
    title = f"{scene['title'] or out_dir.name}: shaking, {name}"
    page = draw(dataset.load(), title, scene["sources"], receivers)
    path = Path(path or out_dir / "peaks.png")
    page.savefig(path, format="png", dpi=160)
    return path


def draw(dataset, title="", sources=(), receivers=()):
    """Return a figure of a map of peaks.

    Parameters
    ----------
    dataset : xarray.Dataset
    title : str
    sources, receivers : array_like, shape (n, 3), optional
        Positions (x, y, z), m, drawn as stars and triangles on maps of a box.

    Returns
    -------
    matplotlib.figure.Figure
    """
    panels = panels_of(dataset)[:MOST]
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    across, along, _ = places(panels[0][1])
    aspect = float(np.clip(np.ptp(along) / max(np.ptp(across), 1e-9), 0.35, 1.6))
    with figures.figure(4.1 * columns, 0.5 + rows * (1.15 + 3.0 * aspect)) as page:
        page.suptitle(title, x=0.012, ha="left", fontsize=12, fontweight="bold")
        axes = page.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axis, (text, array) in zip(axes, panels):
            draw_map(axis, array, text)
            if {"x", "y"} <= {*array.dims}:
                mark(axis, receivers, marker="v", s=26, color="#1a1a1a")
                mark(axis, sources, marker="*", s=130, color="#f2c200")
            axis.label_outer()
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
    return page


def panels_of(dataset):
    """Return title and map of what a picture shows: list, the intensity first."""
    panels = []
    if {*RELATIONS} & {*dataset.data_vars}:
        felt = intensity(dataset)
        panels.append(("Intensity (MMI), Worden et al. 2012", felt))
    order = ("pgv", "pga", "sa", "duration_5_95", "arias", "pgd", "cav", "squared_velocity")
    for name in (name for name in order if name in dataset):
        array = dataset[name]
        label = figures.label(array)
        if "component" in array.dims:
            array, label = array.sel(component="H"), f"{label}, horizontal"
        if "period" in array.dims:
            panels += [(f"SA({t:g} s), horizontal", array.sel(period=t)) for t in array.period.values]
        else:
            panels.append((label, array))
    return panels


def places(array):
    """Return coordinates across and along of a map, km or degrees, and their labels."""
    if "longitude" in array.coords and "xi" in array.dims:
        return array.longitude.values, array.latitude.values, ("Longitude (deg)", "Latitude (deg)")
    along, across = array.dims
    if across == "longitude":
        return array[across].values, array[along].values, ("Longitude (deg)", "Latitude (deg)")
    names = {"x": "x (easting, km)", "y": "y (northing, km)", "z": "Elevation (km)"}
    return array[across].values / 1e3, array[along].values / 1e3, (names[across], names[along])


def draw_map(axis, array, text):
    """Draw one map with its colour bar below."""
    across, along, labels = places(array)
    if array.name == "mmi":
        colours, limits, ticks, factor, unit = shakemap_colours(), (0.5, 10.5), range(1, 11), 1, ""
    else:
        limit, peak = limit_of(array.values)
        factor, unit = prefixed(array.attrs.get("units", ""), limit)
        unit += f", largest {peak * factor:.3g}" * (peak > limit)
        colours, limits, ticks = "magma_r", (0.0, factor * limit or 1.0), None
    image = axis.pcolormesh(
        across,
        along,
        array.values * factor,
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        shading="nearest" if np.ndim(across) == 1 else "gouraud",
        rasterized=True,
    )
    north = np.mean(along) if "Latitude" in labels[1] else 0.0
    axis.set_aspect(1 / max(np.cos(np.radians(north)), 0.1))
    axis.set_xlabel(labels[0])
    axis.set_ylabel(labels[1])
    axis.set_title(text, loc="left", fontsize=9.5)
    beyond = "max" if np.nanmax(array.values * factor, initial=0.0) > limits[1] else "neither"
    look = {"orientation": "horizontal", "pad": 0.02, "aspect": 28, "shrink": 0.85}
    bar = axis.figure.colorbar(image, ax=axis, extend=beyond, **look)
    bar.outline.set_linewidth(0.5)
    bar.ax.tick_params(labelsize=8)
    if ticks is not None:
        bar.set_ticks(list(ticks), labels=list(NUMERALS))
    else:
        bar.set_label(unit, fontsize=8.5)


def limit_of(values):
    """Return the upper end of a colour scale and the largest value: the end is lower where few
    points, as corners of a ground in steps, stand out more than twofold.

    Parameters
    ----------
    values : array
        Not negative; nan where nothing is.
    """
    size = values[np.isfinite(values)]
    if not size.size:
        return 0.0, 0.0
    peak, most = float(size.max()), float(np.percentile(size, MOST_POINTS))
    return (most, peak) if 0 < 2 * most < peak else (peak, peak)


def shakemap_colours():
    """Colour map of intensities 1 to 10, in steps of one."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(_SHAKEMAP, "shakemap")


def mark(axis, xyz, **style):
    """Draw positions (n, 3), m, that lie on the map."""
    if not np.size(xyz):
        return
    x, y = np.asarray(xyz, float).reshape(-1, 3)[:, :2].T / 1e3
    if len(x) > FEW_ENOUGH:
        return
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    inside = (left <= x) & (x <= right) & (low <= y) & (y <= high)
    axis.scatter(x[inside], y[inside], edgecolors="white", linewidths=0.8, zorder=5, **style)
