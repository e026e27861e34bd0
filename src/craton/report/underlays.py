"""What lies under and over the waves of a film: the medium on a section, the relief and its contour
lines on a map, the Earth's grid on a globe; sources and interfaces.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError, ScenarioError
from craton.report import figures

POINTS = 300  # of an underlay along each axis
LIGHTEST, DARKEST = 0.98, 0.8  # grey of the slowest and of the fastest medium
AIR = 1.0
SUN = np.radians([315.0, 45.0])  # azimuth and height of the light on a relief
STEEP = 4.0  # by which a relief is exaggerated
CONTOURS = 8  # lines of a relief, about
GRID = 15  # degrees between lines of the Earth's grid


def underlay(axis, frame, out_dir):
    """Draw in grey what lies under the waves.

    Parameters
    ----------
    axis : matplotlib axes
        In km.
    frame : xarray.DataArray
        On a plane, or on the top of a mesh.
    out_dir : path-like
    """
    scenario = scenario_of(out_dir)
    if scenario is None or globe_of(scenario) is not None:
        axis.set_facecolor("#f4f5f6")
        return
    vertical, horizontal = frame.dims
    along, up = (np.linspace(frame[d].values[0], frame[d].values[-1], POINTS) for d in (horizontal, vertical))
    try:
        grey = shading(scenario, frame, along, up)
    except (CratonError, ScenarioError, OSError):  # a medium that only a mesh has
        return
    edges = [*axis.get_xlim(), *axis.get_ylim()]
    axis.imshow(
        grey,
        cmap="gray",
        vmin=0,
        vmax=1,
        origin="lower",
        extent=edges,
        aspect=axis.get_aspect(),
        interpolation="bilinear",
    )
    axis.set(xlim=edges[:2], ylim=edges[2:])


def shading(scenario, frame, along, up):
    """Return the grey of a section or a map, 0 to 1: (rows, columns)."""
    vertical, horizontal = frame.dims
    ground = ground_of(scenario)
    if vertical != "z" and ground is not None:
        return relief(ground.surface(*np.meshgrid(along, up)), along, up)
    xyz = np.empty((len(up), len(along), 3))
    for n, name in enumerate("xyz"):
        fixed = float(frame[name]) if name in frame.coords and not frame[name].ndim else 0.0
        xyz[..., n] = {horizontal: along, vertical: up[:, None]}.get(name, fixed)
    speed = speeds(scenario, xyz.reshape(-1, 3)).reshape(len(up), len(along))
    if vertical == "z" and ground is not None:
        speed = np.where(xyz[..., 2] > ground.surface(xyz[..., 0], xyz[..., 1]), np.nan, speed)
    low, high = np.nanmin(speed), np.nanmax(speed)
    share = (speed - low) / (high - low) if high > low else np.zeros_like(speed)
    return np.where(np.isnan(share), AIR, LIGHTEST + (DARKEST - LIGHTEST) * np.nan_to_num(share))


def relief(heights, along, up):
    """Return the light on a relief, 0 to 1, as a sun in the north-west gives it.

    Parameters
    ----------
    heights : (rows, columns) array
        m.
    along, up : array
        Coordinates of columns and rows, m.
    """
    north, east = np.gradient(np.nan_to_num(heights), up, along)
    normal = np.stack([-STEEP * east, -STEEP * north, np.ones_like(east)])
    normal /= np.linalg.norm(normal, axis=0)
    azimuth, height = SUN
    light = np.array([np.sin(azimuth) * np.cos(height), np.cos(azimuth) * np.cos(height), np.sin(height)])
    return np.clip(0.35 + 0.62 * np.einsum("c,cij->ij", light, normal), 0.2, 0.97)


def speeds(scenario, xyz):
    """Return what is drawn of the medium at positions (n, 3): vs, in a fluid vp."""
    from craton.model.media import earth

    if scenario.model.kind == "regions":
        raise CratonError("the medium is that of regions of a mesh")
    vp, vs, _ = earth.point_values(scenario.model, xyz)
    return np.where(vs > 0, vs, vp)


def overlay(axis, frame, scene, out_dir):
    """Draw lines and marks over the waves.

    Parameters
    ----------
    axis : matplotlib axes
        In km.
    frame : xarray.DataArray
    scene : dict
        Of the run, see `craton.report.pictures.scene_of`.
    out_dir : path-like
    """
    vertical, horizontal = frame.dims
    draw_ground(axis, frame, out_dir)
    if vertical == "z":
        for elevation in scene["interfaces"]:
            level = figures.along(frame, horizontal, elevation) / 1e3
            axis.plot(frame[horizontal] / 1e3, level, color="0.25", linewidth=0.9)
    if np.size(scene["sources"]):
        xyz = np.asarray(scene["sources"], float).reshape(-1, 3) / 1e3
        places = xyz[:, "xyz".index(horizontal)], xyz[:, "xyz".index(vertical)]
        axis.scatter(*places, marker="*", s=150, color="#f2c200", edgecolors="#1a1a1a", zorder=6)


def draw_ground(axis, frame, out_dir):
    """Draw coastlines and the Earth's grid over the map of a chunk, contour lines over that of a box
    with topography.

    Parameters
    ----------
    axis : matplotlib axes
        In km.
    frame : xarray.DataArray
    out_dir : path-like
    """
    scenario = scenario_of(out_dir)
    if scenario is None or frame.dims != ("y", "x"):
        return
    globe = globe_of(scenario)
    if globe is None:
        draw_heights(axis, frame, ground_of(scenario))
    else:
        draw_grid(axis, globe)


def draw_heights(axis, frame, ground):
    """Draw contour lines of the ground on a map, with their elevations in m.

    Parameters
    ----------
    axis : matplotlib axes
        In km.
    frame : xarray.DataArray
        Over y and x.
    ground : craton.model.ground.terrain.Ground or None
    """
    from matplotlib.ticker import MaxNLocator

    if ground is None:
        return
    x, y = (np.linspace(frame[d].values[0], frame[d].values[-1], POINTS) for d in ("x", "y"))
    heights = ground.surface(*np.meshgrid(x, y))
    levels = MaxNLocator(CONTOURS).tick_values(np.nanmin(heights), np.nanmax(heights))
    look = {"colors": "0.2", "linewidths": 0.7, "linestyles": "solid", "alpha": 0.8}
    lines = axis.contour(x / 1e3, y / 1e3, heights, levels, **look)
    axis.clabel(lines, fmt="%.0f m", fontsize=7.5)


def draw_grid(axis, globe):
    """Draw the limb of the Earth, its meridians, parallels and coastlines as they are seen from
    above the middle of a chunk.
    """
    limits = axis.get_xlim(), axis.get_ylim()
    frame, radius = globe.chunk.frame, globe.chunk.model.radius / 1e3
    turn = np.linspace(0, 2 * np.pi, 361)
    axis.plot(radius * np.cos(turn), radius * np.sin(turn), color="0.2", linewidth=1.2)
    fine = np.linspace(-180, 180, 721)
    lines = [(fine, np.full_like(fine, lat)) for lat in range(-75, 90, GRID)]
    lines += [(np.full_like(fine, lon), fine / 2) for lon in range(-180, 180, GRID)]
    for longitude, latitude in lines:
        draw_visible(axis, frame, radius, longitude, latitude, color="0.55", linewidth=0.5)
    shores = coastlines()
    if shores is not None:
        draw_visible(axis, frame, radius, *shores, color="0.15", linewidth=0.8)
    axis.set(xlim=limits[0], ylim=limits[1])


def draw_visible(axis, frame, radius, longitude, latitude, **look):
    """Draw a line on the side of the Earth that is seen."""
    x, y, z = np.moveaxis(radius * frame.direction(longitude, latitude), -1, 0)
    hidden = ~(z > 0)
    axis.plot(np.where(hidden, np.nan, x), np.where(hidden, np.nan, y), **look)


def coastlines():
    """Return longitude and latitude of the coasts, nan between them; None where there are none."""
    try:
        from craton.report import coastlines as drawn
    except ImportError:
        return None
    return drawn.shores().T


def scenario_of(out_dir):
    """Return the scenario of a run; None where it cannot be read, or has no medium."""
    from craton.scenario import load

    try:
        scenario = load(Path(out_dir) / "scenario.toml")
    except (OSError, ScenarioError):
        return None
    return scenario if hasattr(scenario, "model") and hasattr(scenario, "domain") else None


def ground_of(scenario):
    """Return the ground of a scenario, or None."""
    from craton.model.ground import terrain

    return terrain.build(scenario.model)


def globe_of(scenario):
    """Return the coordinates of a chunk of the Earth, or None."""
    from craton.model.globe import earth_chunk
    from craton.survey.globe import Globe

    chunk = getattr(scenario.domain, "chunk", None)
    return None if chunk is None else Globe(earth_chunk.chunk_of(scenario))
