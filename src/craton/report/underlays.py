"""What lies under and over waves: the medium on a section, the relief and its contour lines on a map, the Earth's grid on
a globe.
"""

import numpy as np

from craton.errors import CratonError
from craton.report import models, station_maps

POINTS = 300  # of an underlay along each axis
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
    along, up = (np.linspace(frame[d].values[0], frame[d].values[-1], POINTS) for d in (horizontal, vertical))
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
        x, y = (np.linspace(frame[d].values[0], frame[d].values[-1], POINTS) for d in ("x", "y"))
        heights = run.ground.surface(*np.meshgrid(x, y))
        levels = MaxNLocator(CONTOURS).tick_values(np.nanmin(heights), np.nanmax(heights))
        look = {"colors": "0.2", "linewidths": 0.7, "linestyles": "solid", "alpha": 0.8}
        lines = axis.contour(x / 1000, y / 1000, heights, levels, **look)
        axis.clabel(lines, fmt="%.0f m", fontsize=7.5)
    axis.set(xlim=limits[0], ylim=limits[1])
