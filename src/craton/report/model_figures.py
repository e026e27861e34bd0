"""The model of a scenario, before or after its run: sections through the source, profiles, sources
and receivers.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.model.globe.earth_chunk import chunk_of
from craton.model.ground import terrain
from craton.model.media import earth
from craton.report import figures, prism_figures, scales
from craton.scenario import load
from craton.survey import places, sources

POINTS = 220  # across a section
AIR = "#f2f4f6"
LABELS = {"vp": "Vp (m/s)", "vs": "Vs (m/s)", "rho": "Density (kg/m³)"}
LINES = {"vp": "#0072b2", "vs": "#d55e00", "rho": "#333333"}


def model(out_dir, path=None):
    """Draw the model of a run; ``OUT/model.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.

    Raises
    ------
    CratonError
        The scenario has no model on x, y, z, or on radii, that could be drawn.
    ScenarioError, OSError
        The scenario cannot be read.
    """
    page = figure_of(load(Path(out_dir) / "scenario.toml"))
    path = Path(path or Path(out_dir) / "model.png")
    page.savefig(path, format="png", dpi=160)
    return path


def figure_of(scenario):
    """Return the figure of a scenario's model: of a box sections through the first source and the
    profile there, of the Earth the profile over depth.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    CratonError
        It has no model that could be drawn so.
    """
    if hasattr(scenario, "prisms"):
        return prism_figures.figure_of(scenario)
    if getattr(scenario.domain, "chunk", None) is not None:
        return _radial(chunk_of(scenario).model, scenario.title)
    if scenario.model.kind == "regions" or not getattr(scenario.domain, "size", None):
        raise CratonError("a model by regions of a mesh file has no section to draw; open mesh.vtu in ParaView")
    return _box(scenario)


def medium_at(scenario, xyz):
    """Vp, Vs and density at points as they are computed, air as NaN, water where it stands: dict of
    arrays (n,).

    Parameters
    ----------
    scenario : Scenario
    xyz : (n, 3) array
        m.
    """
    xyz = np.asarray(xyz, float)
    values = np.array(earth.point_values(scenario.model, xyz), float)
    ground, water = terrain.build(scenario.model), getattr(scenario.model, "water", None)
    if ground is not None:
        above = xyz[:, 2] > ground.surface(xyz[:, 0], xyz[:, 1])
        values[:, above] = np.nan
        if water is not None:
            in_water = above & (xyz[:, 2] <= water.level)
            values[:, in_water] = np.array([[water.vp], [0.0], [water.rho]])
    return dict(zip(("vp", "vs", "rho"), values))


def limits_of(scenario):
    """Lower and upper corner of a box, m: two arrays (3,); y of a plane is 0."""
    low = np.asarray(scenario.domain.corner, float)
    return low, low + np.asarray(scenario.domain.extent, float)


def source_places(scenario):
    """Positions of the first source of each entry that has one, m: (n, 3)."""
    rows = []
    for source in getattr(scenario, "source", ()):
        if getattr(source, "at", None) is not None or getattr(source, "shots", None) is not None:
            rows += sources.positions(scenario, source)
    return np.array(rows, float).reshape(-1, 3)


def receiver_places(scenario):
    """Positions of the receivers of tables that state them, m: (n, 3); those in files are left out."""
    rows = [np.empty((0, 3))]
    for table in getattr(scenario, "receivers", ()):
        at = getattr(table, "at", None)
        many = getattr(table, "line", None) or (at if hasattr(at, "count") else None)
        if many is not None:
            rows.append(places.line(scenario, many))
        elif at is not None:
            rows.append(places.located(scenario, [at]))
    return np.concatenate(rows)


def _box(scenario):
    """Three sections through the first source, and the profile there."""
    low, high = limits_of(scenario)
    shots, stations = source_places(scenario), receiver_places(scenario)
    centre = shots[0] if len(shots) else (low + high) / 2
    sections = {axis: _cut(scenario, axis, centre, low, high) for axis in (0, 1) if high[axis] > low[axis]}
    is_solid = np.nanmax(sections[0][2]["vs"]) > 0
    last = (1, "vs" if is_solid else "vp") if 1 in sections else (0, "rho")
    panels = [(0, "vp"), (0, "vs" if is_solid else "rho"), last]
    ratio = (high[2] - low[2]) / max(high[0] - low[0], 1.0)
    tall = float(np.clip(4.3 * ratio, 1.5, 5.0)) + 0.75
    with figures.figure(11, 0.4 + 2 * tall) as page:
        axes = page.subplots(2, 2).ravel()
        for panel, (axis, name) in zip(axes, dict.fromkeys(panels)):
            _draw_cut(panel, sections[axis], axis, name, centre, 1 not in sections)
            _draw_places(panel, axis, shots, stations)
        _draw_profile(axes[3], scenario, centre, low, high)
        if len(dict.fromkeys(panels)) < 3:
            axes[2].set_axis_off()
        page.suptitle(scenario.title or "Model", x=0.012, ha="left", fontsize=13, fontweight="bold")
    return page


def _cut(scenario, axis, centre, low, high):
    """Vertical section through a point along an axis: coordinates, m, and fields (nz, n)."""
    along = np.linspace(low[axis], high[axis], POINTS)
    tall = int(np.clip(POINTS * (high[2] - low[2]) / max(high[axis] - low[axis], 1.0), 60, 400))
    z = np.linspace(low[2], high[2], tall)
    xyz = np.empty((tall, POINTS, 3))
    xyz[..., axis], xyz[..., 1 - axis], xyz[..., 2] = along, centre[1 - axis], z[:, None]
    values = medium_at(scenario, xyz.reshape(-1, 3))
    return along, z, {name: v.reshape(tall, POINTS) for name, v in values.items()}


def _draw_cut(panel, section, axis, name, centre, is_plane):
    along, z, fields = section
    panel.set_facecolor(AIR)
    values = np.ma.masked_invalid(fields[name])
    image = scales.draw_cells(panel, along / 1000, z / 1000, values, cmap="cividis")
    scales.side_bar(image, panel, LABELS[name])
    panel.set_aspect("equal")
    panel.set_xlabel(f"{'xy'[axis]} ({('easting', 'northing')[axis]}, km)")
    panel.set_ylabel("z (elevation, km)")
    place = f" at {'yx'[axis]} = {centre[1 - axis] / 1000:.4g} km" * (not is_plane)
    panel.set_title(LABELS[name].split(" (")[0] + place, loc="left")


def _draw_places(panel, axis, shots, stations):
    """Draw sources and receivers, projected on a section."""
    for xyz, look in (
        (stations, {"marker": "v", "s": 24, "color": "#20262e"}),
        (shots[:200], {"marker": "*", "s": 150, "color": "#f2c200"}),
    ):
        if len(xyz):
            panel.scatter(
                xyz[:, axis] / 1000,
                xyz[:, 2] / 1000,
                edgecolors="white" if look["marker"] == "v" else "#20262e",
                linewidths=0.8,
                clip_on=False,
                zorder=5,
                **look,
            )


def _draw_profile(panel, scenario, centre, low, high):
    """Draw speeds and density over depth at the source."""
    z = np.linspace(low[2], high[2], 600)
    xyz = np.stack([np.full(600, centre[0]), np.full(600, centre[1]), z], axis=1)
    for name, values in medium_at(scenario, xyz).items():
        panel.plot(values, z / 1000, color=LINES[name], label=LABELS[name], linewidth=1.4)
    panel.set_xlim(left=0)
    panel.set_xlabel("m/s, kg/m³")
    panel.set_ylabel("z (elevation, km)")
    panel.legend(frameon=False, fontsize=8)
    panel.set_title("Below the source" if len(source_places(scenario)) else "In the middle", loc="left")


def _radial(radial, title):
    """Speeds and density of a radial model over depth."""
    r = np.sort(np.concatenate([np.linspace(1.0, radial.radius, 1500), *[radial.jumps()] * 2]))
    is_upper = np.diff(r, prepend=-1.0) == 0  # of the two values at a discontinuity the one above
    vp, vs, rho = np.where(is_upper, radial.speeds(r, "above"), radial.speeds(r, "below"))
    with figures.figure(6, 7) as page:
        panel = page.subplots()
        for name, values in (("vp", vp), ("vs", vs), ("rho", rho)):
            depth = (radial.radius - r) / 1000
            panel.plot(values, depth, color=LINES[name], linewidth=1.3, label=LABELS[name])
        panel.invert_yaxis()
        panel.set(xlabel="m/s, kg/m³", ylabel="Depth (km)")
        panel.legend(frameon=False)
        panel.set_title(title or "Radial model", loc="left")
    return page
