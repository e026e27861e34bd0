"""The model of a scenario, before or after its run: sections through the source, profiles, sources and receivers; the
prisms of a gravity scenario.
"""

import numpy as np

from craton.errors import CratonError
from craton.model.globe.earth_chunk import chunk_of
from craton.model.ground import terrain
from craton.model.media import earth
from craton.model.prisms import ensembles, from_scenario
from craton.report import figures, rasters
from craton.report.figures import AIR, LINES
from craton.report.runs import limits_of, source_places
from craton.scenario import load
from craton.survey import places

POINTS = 220  # across a section
LABELS = {"vp": "Vp (m/s)", "vs": "Vs (m/s)", "rho": "Density (kg/m³)"}
MOST = 200  # sources that are drawn
BINS = 400  # of a map of prisms at most
SPARSE = 60  # bins of prisms that lie anywhere


def model(run):
    """Draw the model of a run."""
    return figure_of(run.scenario or load(run.out / "scenario.toml"))  # again: it says why it cannot be read


def figure_of(scenario):
    """Return the figure of a scenario's model: of a box sections through the first source and the profile there, of the
    Earth the profile over depth, of gravity the mass of the prisms.
    """
    if scenario.method == "gravity":
        return prisms(scenario)
    if getattr(scenario.domain, "chunk", None) is not None:
        return radial(chunk_of(scenario).model, scenario.title)
    if scenario.model.kind == "regions" or not scenario.domain.size:
        raise CratonError("a model by regions of a mesh file has no section to draw; open mesh.vtu in ParaView")
    return sections(scenario)


def medium_at(scenario, xyz) -> dict:
    """Return Vp, Vs and density at points (n, 3), m, as they are computed: air as NaN, water where it stands."""
    xyz = np.asarray(xyz, float)
    if scenario.model.kind == "regions":
        raise CratonError("the medium is that of regions of a mesh")
    values = np.array(earth.point_values(scenario.model, xyz), float)
    ground, water = terrain.build(scenario.model), getattr(scenario.model, "water", None)
    if ground is not None:
        above = xyz[:, 2] > ground.surface(xyz[:, 0], xyz[:, 1])
        values[:, above] = np.nan
        if water is not None:
            in_water = above & (xyz[:, 2] <= water.level)
            values[:, in_water] = np.array([[water.vp], [0.0], [water.rho]])
    return dict(zip(LABELS, values))


# --- of waves ---------------------------------------------------------------------------------------------------------


def sections(scenario):
    """Return the figure of a box: three sections through the first source, and the profile there."""
    low, high = limits_of(scenario)
    shots, stations = source_places(scenario), receiver_places(scenario)
    centre = np.array(shots[0]) if shots else (low + high) / 2
    is_plane = low[1] == high[1]
    cuts = [cut(scenario, name, centre, low, high) for name in ("x" if is_plane else "xy")]
    is_solid = np.nanmax(cuts[0]["vs"]) > 0
    second = "vs" if is_solid else "rho"
    last = (cuts[0]["rho"] if is_solid else None) if is_plane else cuts[1]["vs" if is_solid else "vp"]
    tall = float(np.clip(4.3 * (high[2] - low[2]) / max(high[0] - low[0], 1.0), 1.5, 5.0)) + 0.75
    with figures.figure(11, 0.4 + 2 * tall) as page:
        axes = page.subplots(2, 2).ravel()
        for axis, frame in zip(axes, (cuts[0]["vp"], cuts[0][second], last)):
            if frame is None:
                axis.set_axis_off()
                continue
            axis.set_facecolor(AIR)
            rasters.colour_bar(rasters.draw_plane(axis, frame, cmap="cividis"), [axis], LABELS[frame.name])
            figures.mark_on_plane(axis, frame, "station", stations, s=24, edgecolors="white")
            figures.mark_on_plane(axis, frame, "source", shots[:MOST])
            (fixed,) = {*"xy"} - {*frame.dims}
            place = f" at {fixed} = {float(frame[fixed]) / 1000:.4g} km" * (not is_plane)
            figures.title(axis, LABELS[frame.name].split(" (")[0] + place)
        z = np.linspace(low[2], high[2], 600)
        xyz = np.stack([np.full(600, centre[0]), np.full(600, centre[1]), z], axis=1)
        draw_profile(axes[3], medium_at(scenario, xyz), z / 1000)
        axes[3].set(xlim=(0, None), ylabel=rasters.AXES["z"])
        figures.title(axes[3], "Below the source" if shots else "In the middle")
        figures.headline(page, scenario.title or "Model")
    return page


def cut(scenario, name, centre, low, high):
    """Return a vertical section of the medium through a point, along "x" or "y": xarray.Dataset over z and that axis."""
    import xarray as xr

    n = "xy".index(name)
    along = np.linspace(low[n], high[n], POINTS)
    tall = int(np.clip(POINTS * (high[2] - low[2]) / max(high[n] - low[n], 1.0), 60, 400))
    z = np.linspace(low[2], high[2], tall)
    xyz = np.empty((tall, POINTS, 3))
    xyz[..., n], xyz[..., 1 - n], xyz[..., 2] = along, centre[1 - n], z[:, None]
    values = medium_at(scenario, xyz.reshape(-1, 3))
    fields = {key: (("z", name), field.reshape(tall, POINTS)) for key, field in values.items()}
    return xr.Dataset(fields, {"z": z, name: along, "xy"[1 - n]: centre[1 - n]})


def receiver_places(scenario):
    """Return the positions of the receivers of tables that state them, m: (n, 3); those in files are left out."""
    tables = [entry.place for entry in scenario.receivers if entry.where in ("at", "line")]
    return np.concatenate([np.empty((0, 3)), *(places.positions(scenario, table) for table in tables)])


def radial(model, title):
    """Return the figure of a radial model: speeds and density over depth."""
    r = np.sort(np.concatenate([np.linspace(1.0, model.radius, 1500), *[model.jumps()] * 2]))
    is_upper = np.diff(r, prepend=-1.0) == 0  # of the two values at a discontinuity the one above
    values = np.where(is_upper, model.speeds(r, "above"), model.speeds(r, "below"))
    with figures.figure(6, 7) as page:
        axis = page.subplots()
        draw_profile(axis, dict(zip(LABELS, values)), (model.radius - r) / 1000)
        axis.invert_yaxis()
        axis.set_ylabel("Depth (km)")
        figures.title(axis, title or "Radial model")
    return page


def draw_profile(axis, medium, z):
    """Draw speeds and density over depth or elevation, km."""
    for (name, values), colour in zip(medium.items(), (LINES[0], LINES[1], LINES[6])):
        axis.plot(values, z, color=colour, label=LABELS[name], linewidth=1.4)
    axis.set_xlabel("m/s, kg/m³")
    axis.legend(frameon=False, fontsize=8)


# --- of gravity -------------------------------------------------------------------------------------------------------


def prisms(scenario):
    """Return the figure of a gravity scenario's prisms: their mass over area from above and from the south."""
    built = from_scenario.build(scenario.prisms)
    whole = built[0] if len(built) == 1 else ensembles.union(built)
    views = [mass_per_area(whole, "x", up) for up in "yz"]
    heights = [float(np.clip(6.5 * rasters.aspect(view, up, "x"), 1.2, 7.0)) for view, up in zip(views, "yz")]
    with figures.figure(8.5, 1.4 + sum(heights)) as page:
        axes = page.subplots(2, 1, height_ratios=heights)
        for axis, view, words in zip(axes, views, ("From above", "From the south")):
            style = rasters.signed_scale(view.values)
            image = rasters.draw_plane(axis, view.where(view != 0), **style)
            rasters.colour_bar(image, [axis], "kg/m²")
            figures.title(axis, f"{words}: mass over area")
        low, high = (f"{float(v):,.5g}" for v in (whole.density.min(), whole.density.max()))
        figures.headline(page, f"{scenario.title or 'Prisms'}: {len(whole):,} prisms, {low} to {high} kg/m³")
    return page


def mass_per_area(ensemble, across, up):
    """Return the mass of prisms over the area of bins in the plane of two axes, kg/m2: xarray.DataArray at the middles
    of the bins, whose areas, m2, are its coordinate ``area``.
    """
    import xarray as xr

    corners, axes = ensemble.prisms, ["xyz".index(up), "xyz".index(across)]
    volume = np.prod(corners[:, 1::2] - corners[:, ::2], axis=1)
    middle = (corners[:, ::2] + corners[:, 1::2]) / 2
    edges = [_edges(ensemble, axis) for axis in axes]
    mass, *_ = np.histogram2d(*middle[:, axes].T, edges, weights=ensemble.density * volume)
    area = np.outer(*map(np.diff, edges))
    middles = {name: (e[1:] + e[:-1]) / 2 for name, e in zip((up, across), edges)}
    return xr.DataArray(mass / area, middles | {"area": ((up, across), area)}, (up, across))


def _edges(ensemble, axis):
    """Return the edges of bins along an axis, m: those of the cells, together where they are many."""
    cells = getattr(ensemble, "xyz"[axis], None)
    if cells is None:
        low, high = ensemble.prisms[:, 2 * axis].min(), ensemble.prisms[:, 2 * axis + 1].max()
        return np.linspace(low, high, SPARSE + 1)
    stride = -(-(len(cells) - 1) // BINS)
    chosen = cells[::stride]
    return chosen if chosen[-1] == cells[-1] else np.append(chosen, cells[-1])
