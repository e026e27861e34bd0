"""Snapshots of the wavefield: one on axes, six frames of a series, and the overview of a run with its records."""

import numpy as np

from craton.errors import CratonError
from craton.output.snapshots import liveliest, plane_of, robust_limit
from craton.report import figures, models, rasters, station_maps, traces
from craton.report.figures import DASHED, prefixed, typeset, wave_colours
from craton.report.gravity import maps
from craton.report.runs import GRADIENT

SHOWN = 6
TAKEN = "runs with [[snapshots]] take them, surveys with --snapshots too"
SEEN = 1 / rasters.KNEE  # of the largest amplitude of all frames: what is worth a panel


def overview(run):
    """Draw the wavefield on a vertical section, at the time and of the component with most to see, and the records of the
    first station, or of more than a few all; of a gravity run the maps, of a gradient its planes.
    """
    if run.gravity is not None:
        return maps(run)
    if run.gradient is not None:
        return kernels(run)
    array = section_of(run)
    if run.waves is None and array is None:
        raise CratonError(f"{run.out} has neither waveforms nor snapshots to plot")
    frame = None if array is None else liveliest(array)[0].load()
    count = 0 if run.waves is None else panels_of(run.waveforms)
    tall = 0.0 if frame is None else float(np.clip(8.2 * rasters.aspect(frame, *frame.dims), 2.2, 6.5)) + 1.0
    low = 0.75 + 1.25 * count if count else 0.0
    with figures.figure(10, 0.5 + tall + low) as page:
        shot = f", shot {run.waves.shot.item()}" if count and "shot" in run.waves.coords else ""
        figures.headline(page, run.title + shot)
        upper, lower = page.subfigures(2, 1, height_ratios=[tall, low]) if tall and low else (page, page)
        if tall:
            axis = upper.subplots()
            image, words = draw_snapshot(axis, frame, run.sources, run.stations, run.interfaces)
            rasters.colour_bar(image, [axis], words, "both")
        if count:
            draw_waves(lower, run.waveforms, run.origin, float(frame.time) if tall else None)
    return page


def panels_of(array) -> int:
    """Return how tall waveforms are in an overview, in panels: one per component of one station, three of a section."""
    few = array.sizes["receiver"] <= traces.FEW
    return len(figures.components(array.isel(time=slice(0, 1)))) if few else 3


def draw_waves(part, array, origin, time=None):
    """Draw the waveforms of an overview on a part of a figure; `time` is that of the snapshot above, s."""
    count = len(figures.components(array.isel(time=slice(0, 1))))
    if array.sizes["receiver"] <= traces.FEW:
        axes = part.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        traces.draw_record(axes, array, mark=time)
        return
    draw = traces.draw_gather if "shot" in array.coords else traces.draw_section
    draw(part.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0], array, origin)


def snapshots(run):
    """Draw six frames of the first series of snapshots on one colour scale."""
    if not run.snapshots:
        raise CratonError(f"{run.out} has no snapshots to plot: {TAKEN}")
    _, array, numbers, peaks = liveliest(plane_of(next(iter(run.snapshots.values())), run.origin))
    last = numbers[np.flatnonzero(peaks >= SEEN * peaks.max())[-1]]
    # The first frame of a run is empty as a rule: spread the others over the rest.
    frames = array.isel(time=np.unique(np.linspace(0, last, SHOWN + 1).round().astype(int))[-SHOWN:]).load()
    limit = max(robust_limit(frame.values) for frame in frames)
    tall = float(np.clip(4.75 * rasters.aspect(frames[0], *frames[0].dims) + 0.3, 1.4, 5.5))
    with figures.panels(len(frames), 2, 11, tall, 0.8) as (page, axes):
        figures.headline(page, f"{run.title}: {figures.heading(frames[0])}")
        for axis, frame in zip(axes, frames):
            image, words = draw_snapshot(axis, frame, run.sources, (), run.interfaces, limit, is_shared=True)
            draw_ground(axis, frame, run)
            figures.title(axis, f"t = {float(frame.time):.4g} s")
            axis.label_outer()
        rasters.mark_shared(rasters.colour_bar(image, axes, words, "both"), image.norm.vmax)
    return page


def draw_snapshot(axis, frame, sources=(), stations=(), interfaces=(), limit=None, is_shared=False, colours=None):
    """Draw a wavefield on a plane; return the image, and quantity and unit for its bar.

    `sources` and `stations` are positions (n, 3), m, `interfaces` elevations, m, numbers or functions of x and y, drawn
    on vertical planes. The colour scale ends at `limit`, by default the 99.7th percentile of the absolute values;
    where it is shared by many frames it is logarithmic towards its ends.
    """
    scaled, limit, unit = rasters.scaled(frame, limit or robust_limit(frame.values))
    scale = {"norm": rasters.shared_norm(limit)} if is_shared else {"vmin": -limit, "vmax": limit}
    image = rasters.draw_plane(axis, scaled, smooth=colours is None, cmap=colours or wave_colours(), **scale)
    vertical, horizontal = frame.dims
    if vertical == "z":
        for elevation in interfaces:
            level = along(frame, horizontal, elevation) / 1000
            axis.plot(frame[horizontal] / 1000, level, color="0.25", linewidth=0.9, linestyle=DASHED)
    for kind, xyz in (("station", stations), ("source", sources)):
        figures.mark_on_plane(axis, frame, kind, xyz)
    time = f", t = {float(frame.time):.4g} s" if "time" in frame.coords else ""
    constant = [name for name in "xyz" if name not in frame.dims and name in frame.coords]
    fixed = [f"{name} = {float(frame[name]) / 1000:.6g} km" for name in constant]
    key = ["★ source"] * bool(np.size(sources)) + ["▼ station"] * bool(np.size(stations))
    figures.title(axis, figures.heading(frame) + time, "   ".join([", ".join(fixed), *key]))
    return image, f"{figures.label(frame)} ({unit})"


def along(frame, horizontal, elevation):
    """Return elevations, m, of an interface, a number or a function of x and y, along the horizontal axis of a vertical
    plane.
    """
    points = frame[horizontal].values
    if not callable(elevation):
        return np.full(len(points), float(elevation))
    cut = "y" if horizontal == "x" else "x"
    across = np.full(len(points), float(frame[cut]) if cut in frame.coords else 0.0)
    return np.asarray(elevation(*((points, across) if horizontal == "x" else (across, points))), float)


# --- which plane, component and frame ---------------------------------------------------------------------------------


def section_of(run):
    """Return the first vertical plane of a run over time, else a cut of a volume, else any plane; None without
    snapshots.
    """
    planes = [plane_of(dataset, run.origin) for dataset in run.snapshots.values()]
    return min(planes, key=lambda array: "z" not in array.dims, default=None)


# --- gradients --------------------------------------------------------------------------------------------------------

DECADES = 1e4  # between the ends of the scale of an illumination
ACROSS = 240  # across a section through elements


def kernels(run):
    """Draw the gradient by each parameter, and the illumination."""
    dataset = run.gradient
    if dataset is None:
        raise CratonError(f"{run.out} has no {GRADIENT}; craton gradient writes it")
    planes = planes_of(dataset)
    if not planes:
        raise CratonError(f"{run.out}/{GRADIENT} has no fields over x and z to plot")
    columns = 1 if len(planes) < 3 else 2
    tall = float(np.clip(9.5 / columns * rasters.aspect(planes[0], "z", "x"), 1.2, 6.0)) + 0.7
    with figures.panels(len(planes), columns, 11, tall, 0.5, share=False) as (page, axes):
        for axis, plane in zip(axes, planes):
            draw_kernel(axis, plane)
        shots = dataset.sizes.get("shot", 0)
        words = f"misfit {float(dataset.attrs['misfit']):.4g}" if "misfit" in dataset.attrs else ""
        parts = "Gradient", f"{shots} shot{'s' * (shots > 1)}" if shots else "", words
        figures.headline(page, ", ".join(part for part in parts if part))
    return page


def planes_of(dataset):
    """Return vertical planes of all fields, (z, x), through the largest absolute value of each: of a grid, or of the
    nodes of elements.
    """
    fields = dataset.data_vars.values()
    if "node" in dataset.dims:
        return [_nodes_near(field) for field in fields if "node" in field.dims]
    return [_strongest_plane(field) if "y" in field.dims else field for field in fields if {"x", "z"} <= {*field.dims}]


def _strongest_plane(field):
    """Return the values of a grid on the plane across y in which the largest lies."""
    peaks = np.abs(field).max([dim for dim in field.dims if dim != "y"]).fillna(0)
    return field.isel(y=int(peaks.argmax()))


def _nodes_near(field):
    """Return the values at the nodes of elements on the plane in which the largest lies: at each point of a grid that
    of the nearest node.
    """
    import xarray as xr
    from scipy.spatial import cKDTree

    nodes = np.stack([field[axis].values.ravel() for axis in "xyz"], axis=1)
    values = np.nan_to_num(field.values.ravel())
    y = nodes[np.abs(values).argmax(), 1]
    (x0, _, z0), (x1, _, z1) = nodes.min(axis=0), nodes.max(axis=0)
    x = np.linspace(x0, x1, ACROSS)
    z = np.linspace(z0, z1, max(int(ACROSS * (z1 - z0) / max(x1 - x0, 1e-9)), 2))
    at = np.stack(np.broadcast_arrays(x, y, z[:, None]), axis=-1)
    distance, nearest = cKDTree(nodes).query(at)
    plane = values[nearest]
    extent = np.ptp(nodes.reshape(*field.shape, 3), axis=1).max()
    plane[distance > extent / 2] = np.nan  # outside the mesh
    return xr.DataArray(plane, {"z": z, "x": x, "y": float(y)}, ("z", "x"), field.name, field.attrs)


def draw_kernel(axis, plane):
    """Draw a plane of a field on a scale that is logarithmic towards its ends: what lies at sources and receivers is
    many times the rest.
    """
    from matplotlib.colors import LogNorm

    is_signed = bool(np.nanmin(plane.values) < 0)
    limit, unit = robust_limit(plane.values), plane.attrs.get("units", "")
    # a prefix of m2 s-3 would be squared
    factor, unit = prefixed(unit, limit) if is_signed else (1.0, typeset(unit))
    limit *= factor
    norm = rasters.shared_norm(limit) if is_signed else LogNorm(limit / DECADES, limit)
    colours = wave_colours() if is_signed else "cividis"
    image = rasters.draw_plane(axis, factor * plane.transpose("z", "x"), cmap=colours, norm=norm)
    bar = rasters.colour_bar(image, [axis], unit, "both")
    if is_signed:
        rasters.mark_shared(bar, limit)
    name = {"vp": "Vp", "vs": "Vs", "rho": "density"}.get(plane.name, plane.name)
    words = f"Gradient by {name}" if is_signed else str(plane.name).capitalize()
    figures.title(axis, words, f"y = {float(plane.y) / 1000:.4g} km" if "y" in plane.coords else "")


# --- what lies under and over waves -----------------------------------------------------------------------------------

GREY_POINTS = 300  # of an underlay along each axis
LIGHTEST, DARKEST = 0.98, 0.8  # grey of the slowest and of the fastest medium
SUN = np.radians([315.0, 45.0])  # azimuth and height of the light on a relief
STEEP = 4.0  # by which a relief is exaggerated
CONTOURS = 8  # lines of a relief, about
GRID = 15  # degrees between lines of the Earth's grid


def underlay(axis, frame, run):
    """Draw in grey, on axes in km, what lies under the waves of a frame."""
    if not run.has_waves or run.chunk is not None:
        axis.set_facecolor("#f4f5f6")
        return
    vertical, horizontal = frame.dims
    along, up = (np.linspace(frame[d].values[0], frame[d].values[-1], GREY_POINTS) for d in (horizontal, vertical))
    try:
        grey = shading(run, frame, along, up)
    except (CratonError, OSError):  # a medium that only a mesh has
        return
    edges = [*axis.get_xlim(), *axis.get_ylim()]
    extent = [end / 1000 for points in (along, up) for end in (points[0], points[-1])]
    look = {"cmap": "gray", "vmin": 0, "vmax": 1, "origin": "lower", "interpolation": "bilinear", "zorder": -1}
    axis.imshow(grey, extent=extent, aspect=axis.get_aspect(), **look)
    axis.set(xlim=edges[:2], ylim=edges[2:])


def shading(run, frame, along, up):
    """Return the grey of a section or a map, 0 to 1: (rows, columns)."""
    vertical, horizontal = frame.dims
    if vertical != "z" and run.ground is not None:
        return relief(run.ground.surface(*np.meshgrid(along, up)), along, up)
    xyz = np.empty((len(up), len(along), 3))
    for n, name in enumerate("xyz"):
        fixed = float(frame[name]) if name in frame.coords and not frame[name].ndim else 0.0
        xyz[..., n] = {horizontal: along, vertical: up[:, None]}.get(name, fixed)
    medium = models.medium_at(run.scenario, xyz.reshape(-1, 3))
    speed = np.where(medium["vs"] == 0, medium["vp"], medium["vs"]).reshape(xyz.shape[:2])
    low, high = np.nanmin(speed), np.nanmax(speed)
    share = (speed - low) / (high - low) if high > low else np.zeros_like(speed)
    return np.where(np.isnan(speed), 1.0, LIGHTEST + (DARKEST - LIGHTEST) * np.nan_to_num(share))


def relief(heights, along, up):
    """Return the light on a relief, heights in m (rows, columns) at coordinates of columns and rows in m, 0 to 1, as a
    sun in the north-west gives it.
    """
    north, east = np.gradient(np.nan_to_num(heights), up, along)
    normal = np.stack([-STEEP * east, -STEEP * north, np.ones_like(east)])
    normal /= np.linalg.norm(normal, axis=0)
    azimuth, height = SUN
    light = np.array([np.sin(azimuth) * np.cos(height), np.cos(azimuth) * np.cos(height), np.sin(height)])
    return np.clip(0.35 + 0.62 * np.einsum("c,cij->ij", light, normal), 0.2, 0.97)


def draw_ground(axis, frame, run):
    """Draw, on axes in km, coastlines and the Earth's grid over the map of a chunk, contour lines with their elevations
    in m over that of a box with topography.
    """
    from matplotlib.ticker import MaxNLocator

    if frame.dims != ("y", "x"):
        return
    limits = axis.get_xlim(), axis.get_ylim()
    if run.chunk is not None:
        station_maps.draw_globe(axis, run.chunk.frame, run.chunk.model.radius / 1000, GRID, "0.55")
    elif run.ground is not None:
        x, y = (np.linspace(frame[d].values[0], frame[d].values[-1], GREY_POINTS) for d in ("x", "y"))
        heights = run.ground.surface(*np.meshgrid(x, y))
        levels = MaxNLocator(CONTOURS).tick_values(np.nanmin(heights), np.nanmax(heights))
        look = {"colors": "0.2", "linewidths": 0.7, "linestyles": "solid", "alpha": 0.8}
        lines = axis.contour(x / 1000, y / 1000, heights, levels, **look)
        axis.clabel(lines, fmt="%.0f m", fontsize=7.5)
    axis.set(xlim=limits[0], ylim=limits[1])
