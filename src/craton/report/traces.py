"""Waveforms: the components of one receiver, tables and sections of many, shot gathers."""

import numpy as np

from craton.errors import CratonError, refuse
from craton.output.dataset import component_dim
from craton.report import arrivals, figures, rasters
from craton.report.figures import (
    COMPONENT_NAMES,
    DASHED,
    LINES,
    colour_of,
    component_name,
    components,
    label,
    prefixed,
    wave_colours,
)
from craton.report.runs import has_degrees, recorded_source

FEW = 4  # more receivers than this are drawn as a section, traces over distance
DENSE = 60  # more traces than this are an image, or lines without a filling
NAMED = 40  # receivers whose names stand beside their traces
SHOTS = 4  # of a picture of gathers
# Colours of a gather end at this part of a trace's peak: what surface waves leave of reflections is seen.
CLIP = 0.25
BY_PEAK = "each trace divided by its peak"
BY = ("distance", "azimuth", "offset", "number")
SCALES = ("station", "trace", "all")
PHASE_COLOURS = {"P": "#b3261e", "S": "#1f5f9f"}


def records(run):
    """Draw all receivers with all components: one, a few as a table, more over distance."""
    return figure_of(run.waveforms, run.origin)


def radial(run):
    """Draw all receivers as `records` has them, with radial and transverse components in place of east and north."""
    from craton.output.ground_motion import rotated

    array, waves = run.waveforms, run.waves
    if not recorded_source(waves) and run.sources:  # the scenario knows it
        waves = waves.assign_attrs(zip(("source_x", "source_y", "source_z"), map(float, run.origin)))
    return figure_of(rotated(waves)[array.name], run.origin)


def figure_of(array, origin=None):
    """Return the figure of an array over receiver, perhaps component, and time; distances are from `origin`, m."""
    rows = array.sizes["receiver"]
    columns = len(components(array.isel(time=slice(0, 1))))
    width = max(4.2 * columns, 8)
    if rows == 1:
        with figures.panels(columns, 1, 9, 1.4, 1.2) as (page, axes):
            draw_record(axes, array)
    elif rows > FEW:
        with figures.panels(columns, columns, width, 6) as (page, axes):
            draw_section(axes, array, origin)
    else:
        with figures.panels(rows * columns, columns, width, 1.9, 1.0, sharey="row") as (page, axes):
            draw_table(axes.reshape(rows, columns), array)
    return page


def gathers(run, gain=1.0):
    """Draw shot gathers over signed offset, time downwards: up to four shots from the first to the last with the component
    that has most to see, or all components of one.
    """
    if run.every_shot is None or run.every_shot.sizes["receiver"] < 2:
        raise CratonError(f"{run.out} has no gather to plot: it needs waveforms of many receivers")
    if "shot" not in run.every_shot.dims:
        names = components(run.waveforms.isel(time=slice(0, 1)))
        with figures.panels(len(names), len(names), 11, 6.5) as (page, axes):
            draw_gather(axes, run.waveforms, run.origin, gain)
            figures.headline(page, f"{run.title}: {label(run.waveforms)}")
        return page
    array = run.every_shot[run.quantity]
    with figures.figure(11, 6.5) as page:
        name = draw_shots(page, array, gain)
        figures.headline(page, f"{run.title}: {label(array)}, {component_name(name)} component, {BY_PEAK}")
    return page


def section(run, component=None, by="distance", scale=None, reduce=None, gain=1.0):
    """Draw one component of all receivers over distance, azimuth, offset or number, with first arrivals; on the Earth over
    distance with travel times by TauP.
    """
    curves = arrivals.curves(run) if run.on_earth and by == "distance" else {}
    times = {} if curves else arrivals.at_receivers(run)[0]
    with figures.figure(9.5, float(np.clip(2.5 + 0.25 * run.waveforms.sizes["receiver"], 4.5, 8.5))) as page:
        options = component, by, scale or ("trace" if run.on_earth else "station"), reduce, gain
        draw_profile(page.subplots(), run.waveforms, times, curves, run.origin, *options)
    return page


# --- drawn on axes ----------------------------------------------------------------------------------------------------


def draw_record(axes, array, mark=None):
    """Draw the components of the first receiver, one on each axis on a common scale; `mark` is the time of a snapshot, s."""
    traces = array.isel(receiver=0)
    factor, unit = draw_row(axes, traces)
    small = {"va": "top", "fontsize": 8, "color": "0.35"}
    for axis, (name, values) in zip(axes, components(traces).items()):
        axis.set_ylabel(f"{COMPONENT_NAMES.get(name, name)}\n({unit})")
        words = f"peak {np.nanmax(np.abs(values), initial=0) * factor:.3g} {unit}"
        axis.text(0.995, 0.93, words, transform=axis.transAxes, ha="right", **small)
        if mark is not None:
            axis.axvline(mark, color="0.2", linewidth=0.9, linestyle=DASHED)
    if mark is not None:
        place = {"xycoords": axes[0].get_xaxis_transform(), "textcoords": "offset points"}
        axes[0].annotate("snapshot", (mark, 1), (4, -3), **place, **small)
    axes[0].margins(y=0.08)
    axes[-1].set_xlabel("Time (s)")
    x, y, z = (float(traces[axis]) / 1000 for axis in "xyz")
    words = f"x {x:.6g} km, y {y:.6g} km, z {z:.6g} km"
    figures.title(axes[0], f"Station {traces.receiver.item()}: {label(array).lower()}", words)


def draw_table(axes, array):
    """Draw receivers by row and components by column, on a common scale in each row."""
    for row, name in zip(axes, array.receiver.values):
        _, unit = draw_row(row, array.sel(receiver=name))
        row[0].set_ylabel(f"{name}\n({unit})")
    for n, component in enumerate(components(array)):
        figures.title(axes[0, n], COMPONENT_NAMES.get(component, component), label(array) * (n == axes.shape[1] - 1))
        axes[-1, n].set_xlabel("Time (s)")


def draw_row(axes, traces):
    """Draw the components of one receiver, one on each axis; return the factor and the unit in which they are drawn."""
    factor, unit = prefixed(traces.attrs.get("units", ""), float(np.nanmax(np.abs(traces.values), initial=0)))
    for axis, (name, values) in zip(axes, components(traces).items()):
        axis.axhline(0, color="0.75", linewidth=0.6, zorder=0)
        axis.plot(traces.time, values * factor, color=colour_of(name), linewidth=1.1)
        axis.set_xlim(float(traces.time[0]), float(traces.time[-1]))
    return factor, unit


def draw_section(axes, array, origin=None):
    """Draw all receivers over distance, a component on each axis; each receiver is divided by the largest absolute
    value of its components, so that distant ones can be read.
    """
    distance, unit = distances(array, origin)
    is_named = len(distance) <= 12
    names = draw_components(axes, array, distance, 0.75 if is_named else 1.5, 0.8)
    for axis in axes:
        axis.set_xlabel("Time (s)")
    if is_named:  # few are far apart, with room for their names
        name_traces(axes[-1], np.sort(distance), names)
    axes[0].set_ylabel(f"Distance ({unit})")
    axes[0].set_xlim(float(array.time[0]), float(array.time[-1]))
    figures.title(axes[-1], axes[-1].get_title(loc="left"), f"{label(array)}, normalised per receiver")


def draw_gather(axes, array, origin=None, gain=1.0):
    """Draw all receivers over signed offset with time downwards, a component on each axis; each receiver is divided by
    the largest absolute value of its components, and colours end at a quarter of it over `gain`.
    """
    draw_components(axes, array, signed_offsets(array, origin) / 1000, 1.5 * gain, CLIP / gain, hanging=True)
    for axis in axes:
        axis.set_xlabel("Offset (km)")
        axis.xaxis.set_label_position("top")
        axis.xaxis.tick_top()
        axis.spines[["top", "bottom"]].set_visible(True)
    figures.title(axes[-1], axes[-1].get_title(loc="left"), BY_PEAK)
    axes[0].set_ylabel("Time (s)")
    axes[0].set_ylim(float(array.time[-1]), float(array.time[0]))


def draw_shots(page, array, gain=1.0):
    """Draw up to four shots side by side, from the first to the last, each with the component that has most to see;
    return the name of that component.
    """
    shown = array.isel(shot=np.unique(np.linspace(0, array.sizes["shot"] - 1, SHOTS).round().astype(int))).load()
    sizes = {name: np.nanmean(np.abs(values)) for name, values in components(shown).items()}
    name = max(sizes, key=sizes.get)
    axes = page.subplots(1, shown.sizes["shot"], sharex=True, sharey=True, squeeze=False)[0]
    for axis, shot in zip(axes, shown):
        dim = component_dim(shot)
        place = recorded_source(shot)
        draw_gather([axis], shot.sel({dim: [name]}) if dim else shot, place[0] if place else None, gain)
        figures.title(axis, f"shot {shot.shot.item()}", *(f"x {x / 1000:.4g} km" for x, _, _ in place))
        axis.label_outer()
    return name


def draw_components(axes, array, places, size, limit, hanging=False):
    """Draw each component of all receivers over their places, `size` times their mean distance high, or as colours up
    to `limit` where they are many; return the names of the receivers in the order of their places.
    """
    order = np.argsort(places, kind="stable")
    places, scaled = places[order], normalised(array, order)
    step = max(np.ptp(places), 1e-3) / max(len(places) - 1, 1)
    time = array.time.values
    for axis, (name, traces) in zip(axes, components(scaled).items()):
        if len(places) > DENSE:
            x, y, values = (places, time, traces.T) if hanging else (time, places, traces)
            rasters.draw_cells(axis, x, y, values, cmap=wave_colours(), vmin=-limit, vmax=limit)
        else:
            draw_wiggles(axis, time, places, size * step * traces, colour_of(name), hanging)
        axis.set_title(COMPONENT_NAMES.get(name, name), loc="left")
    return scaled.receiver.values


def draw_wiggles(axis, time, places, traces, colour, hanging=False, filled=True):
    """Draw traces (n, nt), in the unit of places (n,), over times (nt,) or (n, nt), their positive side filled where they
    are not many.
    """
    filled, width = filled and len(places) <= DENSE, 0.7 if len(places) <= DENSE else 0.5
    for place, moved, trace in zip(places, np.broadcast_to(time, traces.shape), traces):
        line = place + trace
        axis.plot(*((line, moved) if hanging else (moved, line)), color=colour, linewidth=width)
        if filled:
            fill = axis.fill_betweenx if hanging else axis.fill_between
            fill(moved, place, line, where=trace > 0, color=colour, alpha=0.35, linewidth=0)


def draw_profile(
    axis,
    array,
    times=None,
    curves=None,
    origin=None,
    component=None,
    by="distance",
    scale="station",
    reduce=None,
    gain=1.0,
):
    """Draw one component of all receivers with arrivals; see `section`. `times` are those at the receivers (n,) by
    phase, s, `curves` distances and times (2, m).
    """
    traces, name = component_of(array, component)
    keys = places_of(array, origin)
    if by not in keys:
        words = f"the receivers have no {by}: the run has several sources, or lies on the Earth"
        refuse("--by", words, f"choose {', '.join(keys)}")
    noun, unit, places = keys[by]
    distance, distance_unit = distances(array, origin)
    delays = distance / reduce if reduce else np.zeros(len(distance))
    peaks = _peaks(array, traces, scale)
    spread = np.ptp(places)  # none, where all receivers lie in one direction
    step = spread / max(len(places) - 1, 1) if spread > 1e-4 * np.abs(places).max(initial=1) else 1.0
    order, time = np.argsort(places), array.time.values
    height = (0.9 if len(places) <= DENSE else 2.5) * step * gain
    moved = time - delays[order, None]
    lines = height * (traces / peaks[:, None])[order]
    draw_wiggles(axis, moved, places[order], lines, colour_of(name), filled=not curves)
    axis.set_xlim(float(time[0] - delays.min()), float(time[-1] - delays.min()))
    for phase, row in (times or {}).items():
        colour, row = PHASE_COLOURS.get(phase[0].upper(), LINES[-1]), row - delays
        axis.vlines(row, places - 0.4 * step, places + 0.4 * step, color=colour, linewidth=1.6, zorder=6)
        _name_phase(axis, phase, row, places, colour)
    for n, (phase, (along, row)) in enumerate((curves or {}).items()):
        row = row - along / reduce if reduce else row
        axis.plot(row, along, color=LINES[n % len(LINES)], linewidth=1.2, linestyle=DASHED)
        _name_phase(axis, phase, row, along, LINES[n % len(LINES)])
    axis.margins(y=0.03)
    axis.ticklabel_format(useOffset=False)
    axis.set_ylabel(f"{noun} ({unit})")
    axis.set_xlabel(f"Time - distance / ({reduce:g} {distance_unit}/s) (s)" if reduce else "Time (s)")
    figures.title(axis, f"{label(array)}, {component_name(name)}", _scale_words(array, peaks, scale))
    if len(places) <= NAMED:
        name_traces(axis, places[order], array.receiver.values[order])


def name_traces(axis, places, names):
    """Write the names of receivers at the end of their traces, places rising; those at nearly one place together."""
    near = np.ptp(places) / 25
    groups = []
    for place, name in zip(places, names):
        if groups and place - groups[-1][0] < near:
            groups[-1][1].append(str(name))
        else:
            groups.append((place, [str(name)]))
    look = {"xycoords": axis.get_yaxis_transform(), "va": "center", "fontsize": 8, "annotation_clip": False}
    for place, together in groups:
        axis.annotate(", ".join(together), (1.01, place), **look)


def _name_phase(axis, phase, times, places, colour):
    """Write the name of a phase at the farthest of its arrivals that is shown."""
    low, high = axis.get_xlim()
    shown = np.flatnonzero((times >= low) & (times <= high - 0.02 * (high - low)))
    if len(shown):
        last = shown[np.argmax(places[shown])]
        look = {"color": colour, "fontweight": "bold", "fontsize": 9}
        axis.annotate(phase, (times[last], places[last]), (3, 4), textcoords="offset points", **look)


# --- where receivers are, and by what they are divided ------------------------------------------------------------------


def distances(array, origin=None):
    """Return the distances of the receivers from the source, `origin` (x, y, z) in m or else the first receiver, and
    their unit: degrees on a chunk of the Earth, elsewhere km, horizontal.
    """
    if has_degrees(array):
        return array.distance.values, "degree"
    x, y = array.x.values, array.y.values
    x0, y0 = (x[0], y[0]) if origin is None else origin[:2]
    return np.hypot(x - x0, y - y0) / 1000, "km"


def direction_of(array):
    """Return the places of receivers (n, 2), m, and the principal axis of them, towards the east or, on lines that run
    north, the north.
    """
    places = np.column_stack([array.x.values, array.y.values]).astype(float)
    line = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)[2][0]
    return places, line * (1.0 if line[np.argmax(np.abs(line))] >= 0 else -1.0)


def signed_offsets(array, origin=None):
    """Return the horizontal distances of receivers from the source, m, with the sign of their line's direction."""
    places, line = direction_of(array)
    away = places - (places[0] if origin is None else np.asarray(origin[:2], float))
    return np.hypot(*away.T) * np.where(away @ line < 0, -1.0, 1.0)


def places_of(array, origin=None) -> dict:
    """Return what a section may be drawn over, by the names of `BY`: noun, unit, and values (n,)."""
    distance, unit = distances(array, origin)
    places = {"distance": ("Distance", unit, distance)}
    if "azimuth" in array.coords:
        places["azimuth"] = "Azimuth", "degrees", array.azimuth.values
    if unit == "km":
        places["offset"] = "Offset along the line", unit, signed_offsets(array, origin) / 1000
    return places | {"number": ("Receiver", "number", np.arange(1.0, array.sizes["receiver"] + 1))}


def component_of(array, component=None):
    """Return the traces (n, nt) of one component, by default the vertical one or the last, and its name."""
    parts = components(array)
    name = component or ("Z" if "Z" in parts else list(parts)[-1])
    if name not in parts:
        refuse("--component", f"{array.name} has no component {name}", f"choose one of {', '.join(parts)}")
    return np.nan_to_num(parts[name]), name


def normalised(array, order):
    """Return receivers in an order, each divided by its largest absolute value; silent ones stay silent."""
    array = array.isel(receiver=order)
    values = np.nan_to_num(array.values)
    return array.copy(data=values / _peaks(array, values, "station").reshape(-1, *[1] * (values.ndim - 1)))


def _peaks(array, traces, scale):
    """Return by what each trace is divided, (n,): infinity where that is next to nothing."""
    values = np.abs(np.nan_to_num(array.values) if scale == "station" else traces)
    peaks = values.reshape(len(values), -1).max(axis=1)
    largest = peaks.max(initial=0)
    if scale == "all":
        peaks = np.full(len(peaks), largest)
    return np.where(peaks > 1e-6 * largest, peaks, np.inf)


def _scale_words(array, peaks, scale):
    if scale != "all":
        return f"normalised by {scale}"
    factor, unit = prefixed(array.attrs.get("units", ""), float(peaks[0]))
    return f"true amplitudes, largest {peaks[0] * factor:.3g} {unit}"
