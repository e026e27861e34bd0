"""A result in three dimensions with PyVista: the model or a snapshot on planes, sources, receivers."""

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.report import figures, model_figures, scales

POINTS = 60  # of the model along the longest edge


def scene(scenario, waves=None, snapshots=None, time=None, off_screen=False):
    """Return a pyvista.Plotter of a run in a box, not shown yet.

    Parameters
    ----------
    scenario : Scenario
    waves : xarray.Dataset, optional
        With positions of receivers.
    snapshots : dict of str to xarray.Dataset, optional
        Series: all planes are drawn at one time; without any, the S (or P) speed of the model.
    time : float, optional
        s; by default the middle of the first series.
    off_screen : bool

    Raises
    ------
    ResourceError
        PyVista is missing.
    CratonError
        It is no run in a box in three dimensions.
    """
    try:
        import pyvista
    except ImportError as error:
        words = "views in three dimensions need PyVista; install it with: pip install pyvista"
        raise ResourceError(words) from error
    domain = scenario.domain if hasattr(scenario, "domain") else None
    if not getattr(domain, "size", None) or domain.planar:
        raise CratonError("show() draws runs in a box with x, y and z; use craton plot for others")
    low, high = model_figures.limits_of(scenario)
    plotter = pyvista.Plotter(off_screen=off_screen)
    box = pyvista.Box(np.stack([low, high], axis=1).ravel())
    plotter.add_mesh(box, style="wireframe", color="gray", line_width=1)
    planes = [] if not snapshots else list(planes_at(snapshots, time))
    for mesh, name, limit in planes:
        plotter.add_mesh(mesh, scalars=name, cmap="RdBu_r", clim=(-limit, limit), lighting=False)
    shots = model_figures.source_places(scenario)
    if not planes:
        centre = shots[0] if len(shots) else (low + high) / 2
        volume, name = model_volume(scenario, low, high)
        plotter.add_mesh(
            volume.slice_orthogonal(**dict(zip("xyz", map(float, centre)))),
            scalars=name,
            cmap="cividis",
            opacity=0.85,
            lighting=False,
        )
    size = float(np.linalg.norm(high - low)) / 100
    if len(shots):
        plotter.add_mesh(pyvista.PolyData(shots), color="gold", point_size=18, render_points_as_spheres=True)
    if waves is not None and waves.sizes.get("receiver"):
        stations = np.stack([waves[axis].values for axis in "xyz"], axis=1)
        cone = pyvista.Cone(direction=(0, 0, -1), height=2 * size, radius=size)
        plotter.add_mesh(pyvista.PolyData(stations).glyph(geom=cone, orient=False, scale=False), color="black")
    plotter.add_axes(xlabel="east", ylabel="north", zlabel="up")
    plotter.show_bounds(xtitle="x (m)", ytitle="y (m)", ztitle="z (m)", font_size=10)
    return plotter


def planes_at(snapshots, time=None):
    """Yield the planes of series of snapshots at one time: pyvista.StructuredGrid, the name of its
    values and a limit of them for colours.

    Parameters
    ----------
    snapshots : dict of str to xarray.Dataset
    time : float, optional
        s; by default the middle of the first series.
    """
    import pyvista

    arrays = [series[next(iter(series.data_vars))] for series in snapshots.values()]
    if time is None:
        time = float(arrays[0].time[arrays[0].sizes["time"] // 2])
    for array in arrays:
        frame = array.sel(time=time, method="nearest").load()
        dim = next((d for d in frame.dims if d not in "xyz"), None)
        if dim is not None:
            sizes = np.abs(np.nan_to_num(frame.values)).mean(
                axis=tuple(n for n, d in enumerate(frame.dims) if d != dim)
            )
            frame = frame.isel({dim: int(np.argmax(sizes))})
        if len(frame.dims) != 2:
            continue
        ordered = frame.transpose(*[axis for axis in "xyz" if axis in frame.dims])
        grids = np.meshgrid(*[np.atleast_1d(frame[axis].values) for axis in "xyz"], indexing="ij")
        mesh = pyvista.StructuredGrid(*(np.asarray(grid, float) for grid in grids))
        name = f"{figures.heading(frame)} ({frame.attrs.get('units', '')})"
        mesh[name] = ordered.values.reshape(grids[0].shape).ravel(order="F")
        yield mesh, name, scales.robust_limit(frame.values)


def model_volume(scenario, low, high):
    """Return the S speed of a model, or the P speed where it is fluid, as pyvista.ImageData, and
    its name.

    Parameters
    ----------
    scenario : Scenario
    low, high : (3,) arrays
        Corners, m.
    """
    import pyvista

    shape = np.maximum((POINTS * (high - low) / (high - low).max()).astype(int), 8)
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, shape)]
    xyz = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    medium = model_figures.medium_at(scenario, xyz)
    key = "vs" if np.nanmax(medium["vs"]) > 0 else "vp"
    volume = pyvista.ImageData(dimensions=shape, spacing=(high - low) / (shape - 1), origin=low)
    name = model_figures.LABELS[key]
    volume[name] = medium[key].reshape(shape).ravel(order="F")
    return volume, name
