"""Maps of a run: stations, sources as beachballs, peaks at stations, coastlines, and where on Earth
a box or a chunk lies.
"""

from itertools import product
from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.model.globe.earth_chunk import chunk_of
from craton.report import beachball, coastlines, fieldmaps, figures, pictures
from craton.report.style import prefixed
from craton.scenario import load
from craton.survey import geography

MANY = 60  # stations above which their symbols are small and without names
NAMED = 25
WIDE = 50.0  # degrees from the middle of all places, beyond which both hemispheres are shown
INK, SEA, LAND = "#20262e", "#eaf1f7", "#efece3"
PEAKS = {"velocity": "PGV", "acceleration": "PGA", "displacement": "PGD"}


def station_map(out_dir, path=None):
    """Map of a run: stations, source as a beachball, peaks; on the Earth a globe; ``OUT/map.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.

    Raises
    ------
    CratonError
        There are no waveforms.
    """
    waves = pictures.read_waveforms(out_dir)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to plot")
    waves = waves.load()
    path = Path(path or Path(out_dir) / "map.png")
    map_of(waves, scenario_of(out_dir), pictures.scene_of(out_dir, waves)["sources"]).savefig(path, dpi=160)
    return path


def scenario_of(out_dir):
    """Return the scenario of a run; None, with a word in the log, where it cannot be read.

    Parameters
    ----------
    out_dir : path-like
    """
    try:
        return load(Path(out_dir) / "scenario.toml")
    except (OSError, CratonError) as error:
        fieldmaps.warn_unread(out_dir, error)
        return None


def map_of(waves, scenario, sources):
    """Return the map of waveforms of one shot.

    Parameters
    ----------
    waves : xarray.Dataset
    scenario : Scenario or None
    sources : sequence of (x, y, z)
        m.

    Returns
    -------
    matplotlib.figure.Figure
    """
    domain = getattr(scenario, "domain", None)
    if "distance" in waves.coords and waves.distance.attrs.get("units") == "degree":
        return globe_map(waves, None if scenario is None else chunk_of(scenario))
    box = None
    if getattr(domain, "size", None):
        low = np.asarray(domain.corner, float)
        high = low + np.asarray(domain.extent, float)
        box = None if low[1] == high[1] else (low[:2], high[:2])
    local = geography.local_of(domain) if domain is not None else None
    return survey_map(waves, sources, box, turn=local.azimuth if local is not None else 0.0)


def survey_map(waves, sources=(), box=None, peaks=True, turn=0.0):
    """Stations and sources of a box on a map; beside it the peaks of the first quantity at the
    stations; where the box has a place on Earth, in a corner, that place.

    Parameters
    ----------
    waves : xarray.Dataset
        Of one shot.
    sources : sequence of (x, y, z)
        m; by default what the dataset says of its source.
    box : ((x0, y0), (x1, y1)), optional
        Of the domain, m.
    peaks : bool
    turn : float
        Azimuth of the y axis of the box, degrees.

    Returns
    -------
    matplotlib.figure.Figure
    """
    array = waves[next(iter(waves.data_vars))]
    x, y = waves.x.values / 1000, waves.y.values / 1000
    if box is None and np.ptp(y) == 0:
        return _line(waves, array, sources)
    columns = 1 + peaks
    with figures.figure(5.2 * columns, 4.6) as page:
        axes = page.subplots(1, columns, sharex=True, sharey=True, squeeze=False)[0]
        for axis in axes:
            if box is not None:
                _outline(axis, np.asarray(box) / 1000)
            axis.set_aspect("equal")
            axis.set_xlabel("x (easting, km)")
        axes[0].set_ylabel("y (northing, km)")
        small = len(x) > MANY
        axes[0].scatter(x, y, s=16 if small else 46, marker="v", color=INK, zorder=5, linewidths=0)
        if len(x) <= NAMED:
            _names(axes[0], x, y, waves.receiver.values)
        _sources(axes[0], waves, sources, turn)
        axes[0].set_title(f"{len(x)} station{'s' if len(x) != 1 else ''}", loc="left")
        if peaks:
            _draw_peaks(axes[1], waves, array, sources)
        for axis in axes:
            axis.margins(0.08)
        scale_bar(axes[0])
        if "longitude" in waves.coords:
            _place(axes[0], float(waves.longitude.mean()), float(waves.latitude.mean()))
    return page


def _line(waves, array, sources):
    """Peaks over x along a line of receivers in the plane."""
    peaks, words = peaks_of(array)
    factor, unit = prefixed(array.attrs.get("units", ""), float(peaks.max(initial=0)))
    name = PEAKS.get(array.name, f"Peak {figures.label(array).lower()}")
    with figures.figure(10.4, 3.0) as page:
        axis = page.subplots()
        is_wide = peaks.max(initial=0) > 10 * peaks[peaks > 0].min(initial=np.inf)
        (axis.semilogy if is_wide else axis.plot)(
            waves.x / 1000, peaks * factor, color=INK, marker="v", markersize=4, linewidth=0.9
        )
        for place in sources:
            axis.axvline(place[0] / 1000, color="#b8860b", linestyle=(0, (4, 3)), linewidth=1.0)
        axis.set(xlabel="x (easting, km)", ylabel=f"{name} ({unit})")
        axis.set_title(f"{name} at {len(peaks)} stations, {words}", loc="left")
        axis.set_title("dashed: the source" if sources else "", loc="right", **figures.ASIDE)
    return page


def _names(axis, x, y, names):
    """Write names beside stations, with a white rim: also over a beachball they can be read."""
    from matplotlib.patheffects import withStroke

    look = {"fontsize": 8, "zorder": 9, "path_effects": [withStroke(linewidth=2, foreground="w")]}
    for east, north, name in zip(x, y, names):
        axis.annotate(str(name), (east, north), (4, 4), textcoords="offset points", **look)


def _outline(axis, box):
    """Draw the edges of the domain."""
    (x0, y0), (x1, y1) = box
    axis.plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color="0.6", linewidth=0.8)


def _sources(axis, waves, sources, turn):
    """Draw a beachball at the source where its moment tensor is known, else stars."""
    six = waves.attrs.get("source_moment_tensor")
    if six is not None and len(sources) == 1 and np.any(six):
        at = sources[0][0] / 1000, sources[0][1] / 1000
        axis.scatter(*at, s=1, color=INK)
        beachball.draw(axis, six, at, turn=turn)
        return
    for place in sources:
        axis.scatter(
            place[0] / 1000,
            place[1] / 1000,
            marker="*",
            s=150,
            color="#f2c200",
            edgecolors=INK,
            linewidths=0.8,
            zorder=6,
        )


def peaks_of(array):
    """Return the peak of each receiver and what it is: the largest length of the horizontal vector
    where there are both horizontal components, else the largest absolute value of all.

    Parameters
    ----------
    array : xarray.DataArray
        Over receiver, perhaps component, and time.
    """
    parts = figures.components(array)
    pair = next((p for p in ("EN", "RT") if set(p) <= set(parts)), None)
    if pair:
        values = np.sqrt(sum(np.square(parts[name], dtype=float) for name in pair))
        words = "largest horizontal vector"
    else:
        values = np.abs(np.stack(list(parts.values()))).max(axis=0)
        words = "largest absolute value"
    return np.nan_to_num(values).max(axis=-1), words


def _draw_peaks(axis, waves, array, sources):
    """Draw the peaks at the stations, logarithmic colours where they span more than a decade."""
    from matplotlib.colors import LogNorm

    peaks, words = peaks_of(array)
    factor, unit = prefixed(array.attrs.get("units", ""), float(peaks.max(initial=0)))
    values = peaks * factor
    positive = values[values > 0]
    norm = None
    if positive.size and positive.max() > 10 * positive.min():
        norm = LogNorm(max(positive.min(), 1e-4 * positive.max()), positive.max())
    image = axis.scatter(
        waves.x / 1000,
        waves.y / 1000,
        c=values,
        norm=norm,
        cmap="magma_r",
        s=30 if len(values) > MANY else 90,
        edgecolors=INK,
        linewidths=0.6,
        zorder=4,
    )
    for place in sources[:1]:
        axis.scatter(place[0] / 1000, place[1] / 1000, marker="*", s=120, color="#f2c200", edgecolors=INK)
    name = PEAKS.get(array.name, f"Peak {figures.label(array).lower()}")
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02)
    bar.set_label(f"{name} ({unit}), {words}")
    bar.outline.set_linewidth(0.5)
    axis.set_title(f"{name} at stations", loc="left")


def scale_bar(axis, unit="km"):
    """Draw a scale bar of a round length in the lower left corner.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
        In the unit.
    unit : str
    """
    low, high = axis.get_xlim()
    target = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(target))
    length = max(f * power for f in (1, 2, 5) if f * power <= target)
    share = length / (high - low)
    axis.plot([0.04, 0.04 + share], [0.035, 0.035], transform=axis.transAxes, color=INK, linewidth=2.2)
    words = f"{length:g} {unit}"
    look = {"fontsize": 8, "bbox": {"pad": 1, "fc": "w", "ec": "none"}}
    axis.text(0.04 + share / 2, 0.06, words, transform=axis.transAxes, ha="center", **look)


def _place(axis, longitude, latitude):
    """Draw the hemisphere about a place in the upper right corner, with a dot there."""
    inset = axis.inset_axes([0.74, 0.72, 0.26, 0.26])
    draw_hemisphere(inset, longitude, latitude)
    inset.scatter(0, 0, s=22, color="#b3261e", zorder=9)


def orthographic(longitude, latitude, centre):
    """Orthographic projection of places on a sphere of radius 1: east, north, and whether they lie
    on the side that is seen.

    Parameters
    ----------
    longitude, latitude : array_like
        Degrees.
    centre : (float, float)
        Longitude and latitude of the middle of the map, degrees.
    """
    lon = np.radians(np.asarray(longitude, float) - centre[0])
    lat, lat0 = np.radians(np.asarray(latitude, float)), np.radians(centre[1])
    east = np.cos(lat) * np.sin(lon)
    north = np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon)
    towards = np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon)
    return east, north, towards > 0


def draw_hemisphere(axis, longitude, latitude):
    """Draw the coastlines and the grid of degrees on the hemisphere about a place.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    longitude, latitude : float
        Degrees.
    """
    from matplotlib.patches import Circle

    axis.add_patch(Circle((0, 0), 1, facecolor=SEA, edgecolor="0.4", linewidth=0.8))
    centre = longitude, latitude
    turn = np.linspace(-180, 180, 181)
    for parallel in range(-60, 90, 30):
        _seen(axis, turn, np.full(181, float(parallel)), centre, color="0.82", linewidth=0.4)
    for meridian in range(-180, 180, 30):
        _seen(axis, np.full(181, float(meridian)), turn / 2, centre, color="0.82", linewidth=0.4)
    _seen(axis, *coastlines.shores().T, centre, color="0.35", linewidth=0.6)
    axis.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
    axis.set_axis_off()


def _seen(axis, longitude, latitude, centre, **look):
    """Draw the part of a line that is on the side that is seen."""
    east, north, seen = orthographic(longitude, latitude, centre)
    axis.plot(np.where(seen, east, np.nan), north, **look)


def globe_map(waves, chunk=None):
    """Stations and the source of a run on the Earth, with coastlines and the edges of the chunks.

    A hemisphere and beside it the region, or where that is wider than `WIDE` both hemispheres, the
    first about the source.

    Parameters
    ----------
    waves : xarray.Dataset
        With longitude and latitude of receivers, of one shot.
    chunk : model.globe.chunk.Chunk, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    longitude, latitude = waves.longitude.values, waves.latitude.values
    source = [waves.attrs.get(f"source_{name}") for name in ("longitude", "latitude")]
    known = [source] * (None not in source)
    places = np.array([*zip(longitude, latitude), *known], float)
    centre = _middle(*places.T)
    reach = np.hypot(*orthographic(*places.T, centre)[:2]).max()
    is_wide = not orthographic(*places.T, centre)[2].all() or reach > np.sin(np.radians(WIDE))
    if is_wide:
        centre = tuple(known[0]) if known else centre
    views = (centre, (centre[0] + 180.0, -centre[1]) if is_wide else centre)
    with figures.figure(11, 5.8) as page:
        for n, (axis, view) in enumerate(zip(page.subplots(1, 2), views)):
            draw_hemisphere(axis, *view)
            for edge in _edges(chunk):
                _seen(axis, *edge, view, color="#b3261e", linewidth=1.2)
            for path in (great_circle(place, there) for place in known for there in places):
                _seen(axis, *path, view, color="#1f5f9f", linewidth=0.6, alpha=0.7)
            _draw_places(axis, waves, known, view, is_named=is_wide or n == 1)
            axis.set_title(f"above {_degrees(view)}", loc="left")
        if not is_wide:
            _zoom(axis, places, chunk, centre)
        page.text(0.995, 0.005, coastlines.SOURCE, ha="right", va="bottom", fontsize=7, color="0.4")
    return page


def _degrees(place):
    """Return longitude and latitude in words."""
    east, north = _about(place[0]), place[1]
    return f"{abs(north):.0f}° {'SN'[north >= 0]}, {abs(east):.0f}° {'WE'[east >= 0]}"


def _draw_places(axis, waves, known, view, is_named):
    """Draw the stations, and the source where it is known and seen."""
    east, north, seen = orthographic(waves.longitude.values, waves.latitude.values, view)
    axis.scatter(east[seen], north[seen], marker="v", s=30, color=INK, zorder=5)
    if is_named and len(east) <= NAMED:
        _names(axis, east[seen], north[seen], waves.receiver.values[seen])
    for source in known:
        x, y, is_seen = orthographic(*source, view)
        six = waves.attrs.get("source_moment_tensor")
        if is_seen and six is not None and np.any(six) and is_named:
            beachball.draw(axis, six, (float(x), float(y)))
        elif is_seen:
            axis.scatter(x, y, marker="*", s=110, color="#f2c200", edgecolors=INK, zorder=6)


def _zoom(axis, places, chunk, centre):
    """Show the part of a map that has the places and the chunk in it."""
    lines = [np.stack(edge, axis=1) for edge in _edges(chunk)]
    points = np.concatenate([places, *lines])
    half = 1.12 * max(np.abs(part).max() for part in orthographic(*points.T, centre)[:2])
    axis.set(xlim=(-half, half), ylim=(-half, half))
    axis.set_title("the region", loc="left")


def _about(longitude):
    return (longitude + 180.0) % 360.0 - 180.0


def _middle(longitude, latitude):
    """Longitude and latitude of the middle of places, degrees."""
    lon, lat = np.radians(longitude), np.radians(latitude)
    x, y, z = ((np.cos(lat) * np.cos(lon)).mean(), (np.cos(lat) * np.sin(lon)).mean(), np.sin(lat).mean())
    return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))


def great_circle(start, end, count=91):
    """Places along the shorter great circle between two: longitudes and latitudes, degrees.

    Parameters
    ----------
    start, end : (float, float)
        Longitude and latitude, degrees.
    count : int
    """
    ends = np.radians([start, end])
    a, b = np.stack(
        [np.cos(ends[:, 1]) * np.cos(ends[:, 0]), np.cos(ends[:, 1]) * np.sin(ends[:, 0]), np.sin(ends[:, 1])], axis=1
    )
    angle = np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)
    if np.sin(angle) < 1e-9:
        return np.full((2, 1), np.nan)
    part = np.linspace(0, 1, count)[:, None]
    x, y, z = ((np.sin((1 - part) * angle) * a + np.sin(part * angle) * b) / np.sin(angle)).T
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def _edges(chunk):
    """Edges of the chunks of a part of the Earth: lines of longitude and latitude, degrees."""
    if chunk is None:
        return
    along = np.linspace(-0.5, 0.5, 61)
    for directions, side, axis in product(chunk.charts, (-0.5, 0.5), (0, 1)):
        here, there = side * chunk.widths[axis], along * chunk.widths[1 - axis]
        yield chunk.frame.degrees(directions(*((here, there) if axis == 0 else (there, here))))
