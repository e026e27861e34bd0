"""Snapshots of the wavefield: one on axes, six frames of a series, and the overview of a run with its records."""

import numpy as np

from craton.errors import CratonError
from craton.output.frames import liveliest, plane_of, robust_limit
from craton.report import figures, rasters, traces, underlays
from craton.report.figures import DASHED, wave_colours
from craton.report.gradients import kernels
from craton.report.gravity import maps

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
    tall = 0.0 if frame is None else float(np.clip(8.2 * _aspect(frame), 2.2, 6.5)) + 1.0
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
    tall = float(np.clip(4.75 * _aspect(frames[0]) + 0.3, 1.4, 5.5))
    with figures.figure(11, 0.8 + -(-len(frames) // 2) * tall) as page:
        figures.headline(page, f"{run.title}: {figures.heading(frames[0])}")
        axes = figures.panels(page, len(frames), 2, sharex=True, sharey=True)
        for axis, frame in zip(axes, frames):
            image, words = draw_snapshot(axis, frame, run.sources, (), run.interfaces, limit, is_shared=True)
            underlays.draw_ground(axis, frame, run)
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
    fixed = [
        f"{name} = {float(frame[name]) / 1000:.6g} km"
        for name in "xyz"
        if name not in frame.dims and name in frame.coords
    ]
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


def _aspect(frame):
    """Return height over width of a plane."""
    spans = [max(float(np.ptp(frame[dim].values)), 1e-9) for dim in frame.dims]
    return spans[0] / spans[1]
