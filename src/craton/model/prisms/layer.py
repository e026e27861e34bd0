"""Layers of prisms between two surfaces: topography, bathymetry, interfaces."""

import numpy as np

from craton.model.ground import surfaces
from craton.model.prisms.ensembles import PrismList, edges_around


def layer(top, bottom, density, density_below=None, missing="refuse"):
    """Prisms between two surfaces, one for each point of the surfaces' grid.

    Parameters
    ----------
    top, bottom : Surface, xarray.DataArray or float
        Elevations, m. At least one is a surface; the other is taken at its points. A prism is
        centred on each point and reaches half-way to the next ones.
    density : float, array_like of the surface's shape (y, x), or Surface
        kg/m3 where the top lies above the bottom; a Surface of densities is taken at the points.
    density_below : float, optional
        kg/m3 where the top lies below the bottom: between sea floor and sea level, density of water
        minus density of rock. 0 leaves these out.
    missing : str
        ``"refuse"``, or ``"drop"`` for no prisms where an elevation or a density is missing.

    Returns
    -------
    PrismList
        Prisms without height or density are left out.

    Raises
    ------
    ValueError
        Surfaces that cross without `density_below`, missing elevations, each with the first place.
    """
    top, bottom = surfaces.as_surface(top), surfaces.as_surface(bottom)
    grid = next((s for s in (top, bottom) if not isinstance(s, float)), None)
    if grid is None:
        raise ValueError(
            'top and bottom are both constant: give at least one as a surface, or use kind = "grid" for a slab'
        )
    high, low = (surfaces.elevations(s, grid) for s in (top, bottom))
    if isinstance(density, surfaces.Surface):
        density = surfaces.elevations(density, grid)
    density = np.broadcast_to(np.asarray(density, float), high.shape)
    absent = {"elevation": ~(np.isfinite(high) & np.isfinite(low)), "density": ~np.isfinite(density)}
    for noun, lost in absent.items():
        if lost.any() and missing != "drop":
            raise ValueError(
                f'{_count(lost)} have no {noun}, the first at {_place(grid, lost)}; fill them, or set missing = "drop"'
            )
    lost = absent["elevation"] | absent["density"]
    crossed = ~lost & (high < low)
    if crossed.any():
        if density_below is None:
            raise ValueError(
                f"the top is below the bottom at {_count(crossed)}, the first at {_place(grid, crossed)}; give density_below "
                "(of sea water: water minus rock, -1640 kg/m3), or 0 to leave these prisms out"
            )
        density = np.where(crossed, float(density_below), density)
    low, high = np.fmin(low, high), np.fmax(low, high)
    solid = ~lost & (high > low) & (density != 0)
    j, i = np.nonzero(solid)
    x, y = edges_around(grid.x, "x"), edges_around(grid.y, "y")
    return PrismList(
        np.stack([x[i], x[i + 1], y[j], y[j + 1], low[solid], high[solid]], axis=1), np.array(density[solid])
    )


def _count(which):
    return f"{which.sum()} of {which.size} points"


def _place(grid, which):
    j, i = np.argwhere(which)[0]
    return f"[{j}, {i}] (x {grid.x[i]:.10g}, y {grid.y[j]:.10g} m)"
