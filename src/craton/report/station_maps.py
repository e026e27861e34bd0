"""Maps of a run: stations, sources as beachballs, peaks at the stations; where on Earth a box lies; a chunk on the globe."""

from functools import lru_cache
from importlib.resources import files
from itertools import product

import numpy as np

from craton.model.globe.planet import Frame
from craton.report import figures, rasters
from craton.report.figures import DASHED, INK, SEA, prefixed
from craton.survey import geography

MANY = 60  # stations above which their symbols are small
NAMED = 25
WIDE = 50.0  # degrees from the middle of all places, beyond which both hemispheres are shown
LINES = 16  # between elements of a chunk, at most about
PEAKS = {"velocity": "PGV", "acceleration": "PGA", "displacement": "PGD"}


def station_map(run):
    """Draw stations, the source as a beachball and peaks; on the Earth a globe."""
    if run.waveforms.sizes["receiver"] and run.on_earth:
        return globe_map(run.waves, run.chunk)
    x, y = run.stations[:, 0], run.stations[:, 1]
    box = None if run.box is None or run.box[0][1] == run.box[1][1] else np.stack(run.box) / 1000
    if box is None and np.ptp(y) == 0:
        with figures.figure(10.4, 3.0) as page:
            draw_peaks_along(page.subplots(), run.waveforms, run.sources)
        return page
    local = geography.local_of(run.scenario.domain) if run.has_waves else None
    with figures.figure(10.4, 4.6) as page:
        left, right = axes = page.subplots(1, 2, sharex=True, sharey=True)
        for axis in axes:
            if box is not None:
                (x0, y0, _), (x1, y1, _) = box
                axis.plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color="0.6", linewidth=0.8)
            axis.set(aspect="equal", xlabel=rasters.AXES["x"])
        figures.mark(left, "station", x / 1000, y / 1000)
        if len(x) <= NAMED:
            _names(left, x / 1000, y / 1000, run.waves.receiver.values)
        six = _tensor(run.waves) if len(run.sources) == 1 else None
        for east, north, _ in run.sources:
            draw_source(left, east / 1000, north / 1000, six, 0.0 if local is None else local.azimuth)
        left.set_ylabel(rasters.AXES["y"])
        figures.title(left, f"{len(x)} station{'s' if len(x) != 1 else ''}")
        draw_peaks(right, run.waveforms, run.sources)
        for axis in axes:
            axis.margins(0.08)
        scale_bar(left)
        if "longitude" in run.waves.coords:
            inset = left.inset_axes([0.74, 0.72, 0.26, 0.26])
            draw_hemisphere(inset, Frame(float(run.waves.longitude.mean()), float(run.waves.latitude.mean())))
            inset.scatter(0, 0, s=22, color="#b3261e", zorder=9)
    return page


def draw_source(axis, x, y, six=None, turn=0.0):
    """Draw a source as a beachball where its moment tensor is known, else as a star."""
    if six is None:
        figures.mark(axis, "source", x, y)
        return
    axis.scatter(x, y, s=1, color=INK)
    draw_beachball(axis, six, (x, y), turn=turn)


def _tensor(waves):
    six = waves.attrs.get("source_moment_tensor")
    return six if six is not None and np.any(six) else None


def _names(axis, x, y, names):
    """Write names beside stations, with a white rim: also over a beachball they can be read."""
    from matplotlib.patheffects import withStroke

    look = {"fontsize": 8, "zorder": 9, "path_effects": [withStroke(linewidth=2, foreground="w")]}
    for east, north, name in zip(x, y, names):
        axis.annotate(str(name), (east, north), (4, 4), textcoords="offset points", **look)


def scale_bar(axis):
    """Draw a scale bar of a round length in the lower left corner of a map in km."""
    low, high = axis.get_xlim()
    target = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(target))
    length = max(f * power for f in (1, 2, 5) if f * power <= target)
    share = length / (high - low)
    axis.plot([0.04, 0.04 + share], [0.035, 0.035], transform=axis.transAxes, color=INK, linewidth=2.2)
    look = {"fontsize": 8, "bbox": {"pad": 1, "fc": "w", "ec": "none"}}
    axis.text(0.04 + share / 2, 0.06, f"{length:g} km", transform=axis.transAxes, ha="center", **look)


# --- peaks ------------------------------------------------------------------------------------------------------------


def peaks_of(array):
    """Return the peak of each receiver (n,) in a unit with a prefix, its name, unit and kind, and whether the peaks span
    more than a decade: the largest length of the horizontal vector where there are both horizontal components, else the
    largest absolute value of all.
    """
    parts = figures.components(array)
    pair = next((p for p in ("EN", "RT") if set(p) <= set(parts)), None)
    if pair:
        values = np.sqrt(sum(np.square(parts[name], dtype=float) for name in pair))
    else:
        values = np.abs(np.stack(list(parts.values()))).max(axis=0)
    peaks = np.nan_to_num(values).max(axis=-1)
    factor, unit = prefixed(array.attrs.get("units", ""), float(peaks.max(initial=0)))
    name = PEAKS.get(array.name, f"Peak {figures.label(array).lower()}")
    kind = "largest horizontal vector" if pair else "largest absolute value"
    is_wide = peaks.max(initial=0) > 10 * peaks[peaks > 0].min(initial=np.inf)
    return peaks * factor, name, unit, kind, is_wide


def draw_peaks(axis, array, sources=()):
    """Draw the peaks at the stations of a map, in logarithmic colours where they span more than a decade."""
    from matplotlib.colors import LogNorm

    values, name, unit, words, is_wide = peaks_of(array)
    norm = LogNorm(max(values[values > 0].min(), 1e-4 * values.max()), values.max()) if is_wide else None
    look = {"cmap": "magma_r", "s": 30 if len(values) > MANY else 90, "edgecolors": INK, "linewidths": 0.6}
    image = axis.scatter(array.x / 1000, array.y / 1000, c=values, norm=norm, zorder=4, **look)
    for x, y, _ in sources[:1]:
        figures.mark(axis, "source", x / 1000, y / 1000, zorder=3)
    rasters.colour_bar(image, [axis], f"{name} ({unit}), {words}")
    figures.title(axis, f"{name} at stations")


def draw_peaks_along(axis, array, sources=()):
    """Draw the peaks over x along a line of receivers in the plane."""
    values, name, unit, words, is_wide = peaks_of(array)
    line = axis.semilogy if is_wide else axis.plot
    line(array.x / 1000, values, color=INK, marker="v", markersize=4, linewidth=0.9)
    for x, _, _ in sources:
        axis.axvline(x / 1000, color="#b8860b", linestyle=DASHED, linewidth=1.0)
    axis.set(xlabel=rasters.AXES["x"], ylabel=f"{name} ({unit})")
    figures.title(axis, f"{name} at {len(values)} stations, {words}", "dashed: the source" if sources else "")


# --- the globe --------------------------------------------------------------------------------------------------------


def globe_map(waves, chunk=None):
    """Return a figure of stations and the source on the Earth, with coastlines and the edges of the chunks: a
    hemisphere and beside it the region with its elements, or where that is wider than `WIDE` both hemispheres, the
    first about the source.
    """
    stations = np.stack([waves.longitude.values, waves.latitude.values], axis=1)
    source = [waves.attrs.get(f"source_{name}") for name in ("longitude", "latitude")]
    known = [source] * (None not in source)
    places = np.array([*stations, *known], float)
    frame = middle(places)
    is_wide = frame.direction(*places.T)[:, 2].min() < np.cos(np.radians(WIDE))
    if is_wide and known:
        frame = Frame(*known[0], geographic=False)
    opposite = Frame(frame.longitude + 180.0, -frame.latitude, geographic=False)
    with figures.figure(11, 5.8) as page:
        for n, (axis, view) in enumerate(zip(page.subplots(1, 2), (frame, opposite if is_wide else frame))):
            draw_hemisphere(axis, view)
            is_region = n == 1 and not is_wide
            for edge, is_side in chunk_lines(chunk):
                if is_side or is_region:
                    draw_visible(axis, view, *edge, color="#b3261e", linewidth=1.2 if is_side else 0.3)
            for path in (great_circle(place, there) for place in known for there in stations):
                draw_visible(axis, view, *path, color="#1f5f9f", linewidth=0.6, alpha=0.7)
            east, north, up = view.direction(*stations.T).T
            seen = up > 0
            figures.mark(axis, "station", east[seen], north[seen], s=30)
            if (is_wide or n == 1) and len(stations) <= NAMED:
                _names(axis, east[seen], north[seen], waves.receiver.values[seen])
            for x, y, height in (view.direction(*place) for place in known):
                if height > 0:
                    draw_source(axis, x, y, _tensor(waves) if is_wide or n == 1 else None)
            figures.title(axis, _region(axis, places, chunk, view) if is_region else f"above {_in_words(view)}")
        page.text(0.995, 0.005, SOURCE, ha="right", va="bottom", fontsize=7, color="0.4")
    return page


def draw_hemisphere(axis, frame):
    """Draw the hemisphere about the middle of a frame, of radius 1, with its coastlines."""
    from matplotlib.patches import Circle

    axis.add_patch(Circle((0, 0), 1, facecolor=SEA, edgecolor="none"))
    draw_globe(axis, frame, 1.0, 30, "0.82")
    axis.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
    axis.set_axis_off()


def draw_globe(axis, frame, radius, step, colour):
    """Draw the limb of the Earth, meridians and parallels every `step` degrees, and coastlines, as they are seen from
    above the middle of a frame.
    """
    turn = np.linspace(0, 2 * np.pi, 361)
    axis.plot(radius * np.cos(turn), radius * np.sin(turn), color="0.3", linewidth=1.0)
    fine = np.linspace(-180, 180, 361)
    lines = [(fine, np.full_like(fine, latitude)) for latitude in range(step - 90, 90, step)]
    lines += [(np.full_like(fine, longitude), fine / 2) for longitude in range(-180, 180, step)]
    for line in lines:
        draw_visible(axis, frame, *line, radius, color=colour, linewidth=0.4)
    draw_visible(axis, frame, *shores().T, radius, color="0.25", linewidth=0.7)


def draw_visible(axis, frame, longitude, latitude, radius=1.0, **look):
    """Draw the part of a line that is seen from above the middle of a frame."""
    x, y, up = radius * frame.direction(longitude, latitude).T
    axis.plot(np.where(up > 0, x, np.nan), y, **look)


def middle(places) -> Frame:
    """Return the frame about the middle of places (n, 2), longitude and latitude in degrees."""
    earth = Frame(0.0, 0.0, geographic=False)
    return Frame(*map(float, earth.degrees(earth.direction(*places.T).mean(axis=0))), geographic=False)


def great_circle(start, end, count=91):
    """Return longitudes and latitudes, degrees, along the shorter great circle between two places."""
    frame = Frame(*start, geographic=False)
    east, north, up = frame.direction(*end)
    angle, azimuth = np.linspace(0, np.arctan2(np.hypot(east, north), up), count), np.arctan2(east, north)
    flat = np.sin(angle)
    return frame.degrees(np.stack([flat * np.sin(azimuth), flat * np.cos(azimuth), np.cos(angle)], axis=-1))


def chunk_lines(chunk):
    """Yield lines between elements at the surface of a chunk, longitude and latitude in degrees, and whether each is a
    side of the chunk.
    """
    for directions, axis in product(() if chunk is None else chunk.charts, (0, 1)):
        count = chunk.stack.count[axis]
        along = np.linspace(-0.5, 0.5, 61) * chunk.widths[1 - axis]
        for n in {*range(0, count, max(1, count // LINES)), count}:
            at = (n / count - 0.5) * chunk.widths[axis]
            ends = (at, along) if axis == 0 else (along, at)
            yield chunk.frame.degrees(directions(*ends)), n in (0, count)


def _region(axis, places, chunk, frame):
    """Show the part of a map that has the places and the chunk in it, and return its title."""
    lines = [np.stack(line, axis=1) for line, _ in chunk_lines(chunk)]
    points = frame.direction(*np.concatenate([places, *lines]).T)
    half = 1.12 * np.abs(points[:, :2]).max()
    axis.set(xlim=(-half, half), ylim=(-half, half))
    if chunk is None:
        return "the region"
    count = " x ".join(map(str, chunk.stack.count))
    return f"{count} elements at the surface{' of each chunk' * (chunk.all_chunks > 1)}, {chunk.size:,} in all"


def _in_words(frame):
    """Return the middle of a frame: ``47° N, 12° E``."""
    east, north = (frame.longitude + 180.0) % 360.0 - 180.0, frame.latitude
    return f"{abs(north):.0f}° {'SN'[north >= 0]}, {abs(east):.0f}° {'WE'[east >= 0]}"


# --- beachballs -------------------------------------------------------------------------------------------------------

STEPS = (61, 241)  # of the take-off angle and the azimuth


def tensor_of(six):
    """Return the moment tensor (3, 3) in north, east, down from its six components up, south, east: rr, tt, pp, rt, rp,
    tp (r up, t south, p east), any unit.
    """
    rr, tt, pp, rt, rp, tp = map(float, six)
    return np.array([[tt, -tp, rt], [-tp, pp, -rp], [rt, -rp, rr]])


def radiated(tensor, azimuth, takeoff):
    """Return the far-field amplitude of P waves of a tensor (3, 3), in north, east, down, at azimuths clockwise from
    north and take-off angles from the downward vertical, degrees: the quadratic form of Aki and Richards (2002, eq.
    4.29), positive where the first motion is compressional.
    """
    azimuth, takeoff = np.radians(azimuth), np.radians(takeoff)
    flat = np.sin(takeoff)
    direction = np.stack(np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), np.cos(takeoff)))
    return np.einsum("i...,ij,j...->...", direction, tensor, direction)


def projected(azimuth, takeoff):
    """Return the place of azimuths and take-off angles, degrees, on the equal-area (Schmidt) projection of the lower
    hemisphere, of radius 1: east and north.
    """
    radius = np.sqrt(2.0) * np.sin(np.radians(takeoff) / 2)
    return radius * np.sin(np.radians(azimuth)), radius * np.cos(np.radians(azimuth))


def compressional(six, turn=0.0):
    """Return the outlines of the compressional part of a beachball of radius 1 about (0, 0), list of
    matplotlib.path.Path, of six components as `tensor_of` takes them; `turn` is the azimuth of the direction that is up
    in the picture, degrees.
    """
    from contourpy import contour_generator
    from matplotlib.path import Path

    takeoff, azimuth = np.meshgrid(np.linspace(0, 90, STEPS[0]), np.linspace(0, 360, STEPS[1]), indexing="ij")
    amplitude = radiated(tensor_of(six), azimuth + turn, takeoff)
    if amplitude.max() <= 0:
        return []
    lines = contour_generator(*projected(azimuth, takeoff), amplitude, fill_type="OuterCode")
    filled = lines.filled(0.0, 1.01 * float(amplitude.max()))
    return [Path(points, codes) for points, codes in zip(*filled)]


def patches(six, centre, radius, turn=0.0, colour=INK):
    """Return the patches of a beachball in their order, compression in a colour, dilatation white; see `compressional`."""
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.transforms import Affine2D

    outlines = map(Affine2D().scale(radius).translate(*centre).transform_path, compressional(six, turn))
    return [
        Circle(centre, radius, facecolor="white", edgecolor="none"),
        *(PathPatch(path, facecolor=colour, edgecolor="none") for path in outlines),
        Circle(centre, radius, facecolor="none", edgecolor=colour, linewidth=1.0),
    ]


def draw_beachball(axis, six, place, size=0.42, turn=0.0):
    """Draw a beachball of a diameter in inches upon a point of a map of any scales; see `compressional`."""
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea

    half = 36 * size  # points
    area = DrawingArea(2 * half, 2 * half)
    for patch in patches(six, (half, half), half, turn):
        area.add_artist(patch)
    axis.add_artist(AnnotationBbox(area, place, frameon=False, pad=0, zorder=7))


# --- coastlines -------------------------------------------------------------------------------------------------------

SOURCE = "coastlines: Natural Earth, 1:110 million"


@lru_cache(1)
def land():
    """Return the rings of all land, closed: tuple of (n, 2) arrays of longitude and latitude, degrees."""
    with (files("craton.report") / "coastlines.npz").open("rb") as file, np.load(file) as data:
        points, starts = data["points"] / 100.0, data["starts"]
    return tuple(points[a:b] for a, b in zip(starts, starts[1:]))


def shores():
    """Return the coastlines as lines, longitude and latitude in degrees (n, 2), NaN between them: the rings without the
    edges of the map at 180 degrees and at the South Pole.
    """
    lines = []
    for ring in land():
        artificial = (np.abs(ring[:, 0]) > 179.9) | (ring[:, 1] < -89.9)
        line = np.where((artificial & np.roll(artificial, 1))[:, None], np.nan, ring)
        lines += [line, [[np.nan, np.nan]]]
    return np.concatenate(lines)
