"""Record sections as seismologists draw them: one component over distance, azimuth or offset, with
names, first arrivals, reduced time and true or normalised amplitudes.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError, Problem, ScenarioError
from craton.report import arrivals, earth_pictures, figures
from craton.report.pictures import read_waveforms, scene_of
from craton.report.shot_gathers import signed_offsets
from craton.scenario import load

BY = ("distance", "azimuth", "offset", "number")
SCALES = ("station", "trace", "all")
NAMED = 40  # receivers whose names stand beside their traces
PHASE_COLOURS = {"P": "#b3261e", "S": "#1f5f9f"}


def section(out_dir, path=None, component=None, by="distance", scale="station", reduce=None, gain=1.0):
    """One component of all receivers over distance, azimuth, offset or number, with arrivals;
    ``OUT/section.png``.

    On a chunk of the Earth, unless something else is asked for, vertical seismograms over distance
    with travel times by TauP, and a map of the chunk, ``OUT/map.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    component : str, optional
        By default the vertical one, or the last.
    by : str
        Of `BY`.
    scale : str
        Each trace by the peak of its ``"station"``, of itself (``"trace"``), or ``"all"`` alike.
    reduce : float, optional
        Velocity, km/s (degrees/s on the Earth), by which times are reduced: t - distance / reduce.
    gain : float
        Of amplitudes.

    Raises
    ------
    CratonError
        There are no waveforms, or not this component.
    """
    waves = read_waveforms(out_dir)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to plot")
    plain = (component, by, scale, reduce, gain) == (None, "distance", "station", None, 1.0)
    is_earth = "distance" in waves.coords and waves.distance.attrs.get("units") == "degree"
    if is_earth and plain:
        return earth_pictures.section(out_dir, path)
    waves = waves.load()
    scene = scene_of(out_dir, waves)
    origin = scene["sources"][0] if scene["sources"] else None
    times = {} if is_earth or origin is None else box_arrivals(out_dir, waves, origin)
    array = waves[next(iter(waves.data_vars))]
    page = draw(array, times, origin, component, by, scale, reduce, gain)
    path = Path(path or Path(out_dir) / "section.png")
    page.savefig(path, format="png", dpi=160)
    return path


def box_arrivals(out_dir, waves, origin):
    """First arrivals at the receivers of a box, as `arrivals.of_model` gives them, at the time of
    the first source's wavelet: dict of str to (n,) array, s; empty where they are not known.

    Parameters
    ----------
    out_dir : path-like
    waves : xarray.Dataset
    origin : (3,) array_like
        Position of the source, m.
    """
    try:
        scenario = load(Path(out_dir) / "scenario.toml")
        xyz = np.stack([waves[axis].values for axis in "xyz"], axis=1)
        times = arrivals.of_model(scenario.model, origin, xyz)
    except (OSError, CratonError):
        return {}
    delay = arrivals.wavelet_delay(getattr(next(iter(scenario.source), None), "wavelet", None))
    return {phase: row + delay for phase, row in times.items()}


def draw(array, times=None, origin=None, component=None, by="distance", scale="station", reduce=None, gain=1.0):
    """Record section of waveforms; see `section`.

    Parameters
    ----------
    array : xarray.DataArray
        Over receiver, perhaps component, and time.
    times : dict of str to (n,) array, optional
        Arrivals, s.
    origin : (3,) array_like, optional
        Position of the source, m.
    component, by, scale, reduce, gain
        As `section` takes them.

    Returns
    -------
    matplotlib.figure.Figure
    """
    traces, name = component_of(array, component)
    places, label = _along(array, origin, by)
    distance, unit = figures.distances(array, origin)
    delays = distance / reduce if reduce else np.zeros(len(distance))
    peaks = _peaks(array, traces, scale)
    rows = len(places)
    spread = np.ptp(places)  # none, where all receivers lie in one direction
    step = spread / max(rows - 1, 1) if spread > 1e-4 * np.abs(places).max(initial=1) else 1.0
    with figures.figure(9.5, float(np.clip(2.5 + 0.25 * rows, 4.5, 8.5))) as page:
        axis = page.subplots()
        colour = figures.COLOURS.get(name[-1:], "#333333")
        time = array.time.values
        for row in np.argsort(places):
            moved, size = time - delays[row], (0.9 if rows <= figures.DENSE else 2.5) * step * gain
            line = places[row] + size * traces[row] / peaks[row]
            axis.plot(moved, line, color=colour, linewidth=0.5 if rows > figures.DENSE else 0.8)
            if rows <= figures.DENSE:
                look = {"where": line > places[row], "alpha": 0.35, "linewidth": 0}
                axis.fill_between(moved, places[row], line, color=colour, **look)
        axis.set_xlim(float(time[0] - delays.min()), float(time[-1] - delays.min()))
        for phase, row in (times or {}).items():
            _mark(axis, phase, row - delays, places, step)
        axis.margins(y=0.03)
        axis.ticklabel_format(useOffset=False)
        axis.set_ylabel(label)
        reduced = f"Time - distance / ({reduce:g} {unit}/s) (s)" if reduce else "Time (s)"
        axis.set_xlabel(reduced)
        axis.set_title(f"{figures.label(array)}, {figures.COMPONENT_NAMES.get(name, name).lower()}", loc="left")
        axis.set_title(_scale_words(array, peaks, scale), loc="right", **figures.ASIDE)
        if rows <= NAMED:
            figures.name_traces(axis, np.sort(places), array.receiver.values[np.argsort(places)])
    return page


def component_of(array, component=None):
    """Traces (n, nt) of one component, and its name.

    Parameters
    ----------
    array : xarray.DataArray
    component : str, optional
        By default the vertical one, or the last.

    Raises
    ------
    ScenarioError
        There is no such component.
    """
    parts = figures.components(array)
    name = component or ("Z" if "Z" in parts else list(parts)[-1])
    if name not in parts:
        words = f"{array.name} has no component {name}"
        raise ScenarioError([Problem("--component", words, f"choose one of {', '.join(parts)}")])
    return np.nan_to_num(parts[name]), name


def _along(array, origin, by):
    """Return what a section is drawn over, (n,), and its label."""
    if by == "azimuth" and "azimuth" in array.coords:
        return array.azimuth.values, "Azimuth (degrees)"
    if by == "offset":
        return signed_offsets(array, origin) / 1000, "Offset along the line (km)"
    if by == "number":
        return np.arange(1.0, array.sizes["receiver"] + 1), "Receiver"
    if by == "azimuth":
        words = "the azimuths of the receivers are not known: the run has several sources"
        raise ScenarioError([Problem("--by", words, "choose distance, offset or number")])
    distance, unit = figures.distances(array, origin)
    return distance, f"Distance ({unit})"


def _peaks(array, traces, scale):
    """Return what each trace is divided by, (n,)."""
    peaks = np.abs(traces).max(axis=1)
    if scale == "station":
        values = np.abs(np.nan_to_num(array.values))
        peaks = values.reshape(len(values), -1).max(axis=1)
    if scale == "all":
        peaks = np.full(len(peaks), peaks.max(initial=0))
    return np.where(peaks > 1e-6 * peaks.max(initial=0), peaks, np.inf)


def _scale_words(array, peaks, scale):
    """Return what amplitudes are, in words."""
    if scale != "all":
        return {"station": "normalised by station", "trace": "normalised by trace"}[scale]
    factor, unit = figures.prefixed(array.attrs.get("units", ""), float(peaks[0]))
    return f"true amplitudes, largest {peaks[0] * factor:.3g} {unit}"


def _mark(axis, phase, times, places, step):
    """Draw the arrivals of a phase as short lines, and its name at the
    farthest one that is shown.
    """
    colour = PHASE_COLOURS.get(phase[0].upper(), "#7a5195")
    axis.vlines(times, places - 0.4 * step, places + 0.4 * step, color=colour, linewidth=1.6, zorder=6)
    low, high = axis.get_xlim()
    known = np.flatnonzero((times >= low) & (times <= high - 0.02 * (high - low)))
    if len(known):
        last = known[np.argmax(places[known])]
        look = {"color": colour, "fontweight": "bold", "fontsize": 9}
        axis.annotate(phase, (times[last], places[last] + 0.45 * step), (2, 2), textcoords="offset points", **look)
