"""Maps of shaking: intensity in the colours of ShakeMap, peaks, spectral accelerations, Arias intensity and durations."""

import numpy as np

from craton.errors import CratonError
from craton.report import figures, rasters

# Worden et al. (2012), Bull. Seism. Soc. Am. 102, 204-221, table 1, of the larger horizontal peak in
# cm/s and cm/s2: I = a + b log10 y up to log10 y = t, c + d log10 y beyond.
RELATIONS = {"pgv": (3.78, 1.47, 2.89, 3.16, 0.53), "pga": (1.78, 1.55, -1.60, 3.70, 1.57)}
CENTI = 100.0  # cm in a metre
NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X+")
# of intensities 1 to 10, as ShakeMap has them (Worden & Wald 2016)
_SHAKEMAP = ("#ffffff", "#bfccff", "#a0e6ff", "#80ffff", "#7aff93", "#ffff00", "#ffc800", "#ff9100", "#ff0000", "#c80000")  # fmt: skip
MOST = 6  # panels of a picture
FEW_ENOUGH = 100  # receivers that are drawn
COLUMNS = 3
ORDER = ("pgv", "pga", "sa", "duration_5_95", "arias", "pgd", "cav", "squared_velocity")
MOST_POINTS = 97  # percent


def intensity(dataset, of=None):
    """Return the instrumental intensity (MMI) of a map of peaks, by "pgv" or "pga", by default velocity where it is
    there: xarray.DataArray, 1 to 10.

    The relation of Worden et al. (2012), without its terms of magnitude and distance, of the larger of both horizontal
    components.
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


def peaks(run):
    """Draw all quantities of the first map of peaks of a run, with the intensity."""
    from craton.output.peaks import read

    maps = read(run.out)
    if not maps:
        raise CratonError(f"{run.out} has no map of peaks to plot: runs with [[peaks]] measure them")
    name, dataset = next(iter(maps.items()))
    panels = panels_of(dataset.load())[:MOST]
    first = panels[0][1]
    tall = 1.15 + 3.0 * float(np.clip(rasters.aspect(first, *first.dims), 0.35, 1.6))
    columns = min(COLUMNS, len(panels))
    with figures.panels(len(panels), columns, 4.1 * columns, tall, 0.5) as (page, axes):
        figures.headline(page, f"{run.title}: shaking, {name}")
        for axis, (text, array) in zip(axes, panels):
            draw_map(axis, array, text)
            if {*array.dims} == {"x", "y"}:
                for kind, xyz in (("station", run.stations), ("source", run.sources)):
                    mark_inside(axis, array, kind, xyz)
            axis.label_outer()
    return page


def panels_of(dataset):
    """Return titles and maps of a picture, the intensity first: list of pairs."""
    panels = []
    if {*RELATIONS} & {*dataset.data_vars}:
        panels.append(("Intensity (MMI), Worden et al. 2012", intensity(dataset)))
    for array in (dataset[name] for name in ORDER if name in dataset):
        label = figures.label(array)
        if "component" in array.dims:
            array, label = array.sel(component="H"), f"{label}, horizontal"
        if "period" in array.dims:
            panels += [(f"SA({t:g} s), horizontal", array.sel(period=t)) for t in array.period.values]
        else:
            panels.append((label, array))
    return panels


def draw_map(axis, array, text):
    """Draw one map with its colour bar below."""
    from matplotlib.colors import ListedColormap

    is_intensity = array.name == "mmi"
    if is_intensity:
        scale, unit, ends = {"cmap": ListedColormap(_SHAKEMAP), "vmin": 0.5, "vmax": 10.5}, "", "neither"
    else:
        limit, peak = limit_of(array.values)
        array, end, unit = rasters.scaled(array, limit)
        scale, ends = {"cmap": "magma_r", "vmin": 0.0, "vmax": end or 1.0}, "neither"
        if peak > limit:
            unit, ends = f"{unit}, largest {peak * end / limit:.3g}", "max"
    bar = rasters.bar_below(rasters.draw_plane(axis, array, **scale), axis, unit, ends)
    axis.set_title(text, loc="left", fontsize=9.5)
    if is_intensity:
        bar.set_ticks(range(1, 11), labels=list(NUMERALS))


def limit_of(values):
    """Return the upper end of a colour scale and the largest value: the end is lower where few points, as corners of a
    ground in steps, stand out more than twofold; NaN is where nothing is.
    """
    size = values[np.isfinite(values)]
    if not size.size:
        return 0.0, 0.0
    peak, most = float(size.max()), float(np.percentile(size, MOST_POINTS))
    return (most, peak) if 0 < 2 * most < peak else (peak, peak)


def mark_inside(axis, array, kind, xyz):
    """Draw sources or stations, positions (n, 3) in m, that lie on a map; none where they are too many."""
    xyz = np.asarray(xyz, float).reshape(-1, 3)
    inside = [(xyz[:, n] >= array[d].min().item()) & (xyz[:, n] <= array[d].max().item()) for n, d in enumerate("xy")]
    if len(xyz) <= FEW_ENOUGH:
        x, y = xyz[inside[0] & inside[1], :2].T / 1000
        figures.mark(axis, kind, x, y, s=26 if kind == "station" else 130, edgecolors="white")
