"""Figures of waves in the Earth: seismograms over distance with travel-time curves, and where a
chunk, its source and stations lie.
"""

from itertools import product

import numpy as np

from craton.report.figures import COMPONENT_NAMES, figure
from craton.report.style import COLOURS

# Okabe & Ito (2008)
LINES = ("#0072b2", "#d55e00", "#007a5a", "#cc79a7", "#56b4e9", "#e69f00", "#333333", "#7a5195")


def travel_time_section(time, traces, distance, curves=None, component="Z", size=None, limits=None):
    """Seismograms of one component over epicentral distance, with travel-time curves.

    Parameters
    ----------
    time : (nt,) array
        s.
    traces : (n, nt) array
        Each drawn relative to its own peak within `limits`.
    distance : (n,) array
        Degrees.
    curves : dict of str to (2, m) array, optional
        Distances (degrees) and times (s) of phases, as `survey.traveltimes.curves` gives them.
    component : str
    size : float, optional
        Height of a peak, degrees; by default 1.2 times the mean distance between them.
    limits : (float, float), optional
        Times shown, s.

    Returns
    -------
    matplotlib.figure.Figure
    """
    time, traces, distance = (np.asarray(a, float) for a in (time, traces, distance))
    limits = limits or (time[0], time[-1])
    shown = (time >= limits[0]) & (time <= limits[1])
    size = size or 1.2 * max(np.ptp(distance), 1.0) / max(len(distance), 2)
    with figure(9, 6.5) as page:
        axes = page.subplots()
        for degrees, trace in zip(distance, traces):
            peak = np.abs(trace[shown]).max(initial=0)
            if peak > 0:
                axes.plot(
                    time[shown],
                    degrees + size * trace[shown] / peak,
                    color=COLOURS.get(component[-1:], "black"),
                    linewidth=0.8,
                )
        _draw_curves(axes, curves or {}, limits)
        axes.set(xlim=limits, xlabel="Time (s)", ylabel="Distance (degrees)")
        axes.set_title(f"{COMPONENT_NAMES.get(component, component)}, each trace normalised by its peak", loc="left")
    return page


def _draw_curves(axes, curves, limits):
    """Curves and their names, at the far end of each."""
    for colour, (phase, (distance, time)) in zip(LINES * (1 + len(curves) // len(LINES)), curves.items()):
        axes.plot(
            time, distance, color=colour, linewidth=1.2, linestyle=(0, (5, 2)), marker="." if len(time) == 1 else None
        )
        inside = np.flatnonzero((time >= limits[0]) & (time <= limits[1]))
        if len(inside):
            last = inside[np.argmax(distance[inside])]
            place = time[last], distance[last]
            axes.annotate(
                phase, place, (3, 3), textcoords="offset points", color=colour, fontsize=8.5, fontweight="bold"
            )


def chunk_map(chunk, source=None, stations=(), names=()):
    """Outline of a chunk on longitude and latitude, its surface elements, its source and stations.

    Parameters
    ----------
    chunk : model.chunk.Chunk
    source : (float, float), optional
        Longitude, latitude, degrees.
    stations : (n, 2) array
    names : sequence of str
    """
    with figure(*((6.5, 6.0) if chunk.all_chunks == 1 else (10.0, 5.5))) as page:
        axes = page.subplots()
        middle = chunk.frame.longitude
        for edge, width in _lines(chunk):
            longitude, latitude = chunk.frame.degrees(edge)
            axes.plot(
                middle + _unbroken(_about(longitude - middle)),
                latitude,
                color="0.55" if width < 1 else "black",
                linewidth=width,
            )
        stations = np.asarray(stations, float).reshape(-1, 2)
        axes.scatter(
            middle + _about(stations[:, 0] - middle), stations[:, 1], marker="v", s=45, color="#1a1a1a", zorder=5
        )
        for (longitude, latitude), name in zip(stations, names):
            axes.annotate(
                name, (middle + _about(longitude - middle), latitude), (5, 3), textcoords="offset points", fontsize=8
            )
        if source is not None:
            axes.scatter(
                middle + _about(source[0] - middle),
                source[1],
                marker="*",
                s=190,
                color="#f2c200",
                edgecolor="black",
                zorder=6,
            )
        axes.set(
            xlabel="Longitude (degrees)",
            ylabel="Latitude (degrees)",
            aspect=1 / max(np.cos(np.radians(chunk.frame.latitude)), 0.1),
        )
        count = " x ".join(map(str, chunk.stack.count))
        axes.set_title(
            f"{count} elements at the surface{' of each chunk' * (chunk.all_chunks > 1)}, {chunk.size:,} in all",
            loc="left",
        )
    return page


def _about(longitude):
    return (longitude + 180.0) % 360.0 - 180.0


def _unbroken(longitude):
    """Longitudes along a line, nan where it leaves the map on one side to come back on the other."""
    return np.where(np.abs(np.diff(longitude, prepend=longitude[:1])) > 180.0, np.nan, longitude)


def _lines(chunk, most=16):
    """Directions along the sides of chunks and some lines between elements, and how thick each is."""
    for directions, axis in product(chunk.charts, (0, 1)):
        count, step = chunk.stack.count[axis], max(1, chunk.stack.count[axis] // most)
        along = np.linspace(-0.5, 0.5, 61) * chunk.widths[1 - axis]
        for n in {*range(0, count + 1, step), count}:
            at = (n / count - 0.5) * chunk.widths[axis]
            yield (directions(*((at, along) if axis == 0 else (along, at))), 1.4 if n in (0, count) else 0.4)
