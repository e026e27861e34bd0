"""The ground and the water of a model: elevations anywhere, and how much of each cell is rock,
water and nothing.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model.ground import surfaces
from craton.model.media import cells

SIDES = 4  # columns per axis and cell at which the elevation is looked up
LEAST = 0.01  # of a cell: with less in it, it is empty
FULL = 0.95  # of a cell: with more in it, its stresses are those of the medium


@dataclass(frozen=True)
class Profile:
    """Elevations along x, constant along y and beyond both ends: x (n,) and z (n,), m; one of them holds everywhere."""

    x: np.ndarray
    z: np.ndarray
    name: str = "topography"

    def at(self, x, y):
        """Elevations at points (arrays that broadcast together), m.

        `x`, `y` in m.
        """
        return np.broadcast_to(np.interp(x, self.x, self.z), np.broadcast_shapes(np.shape(x), np.shape(y)))


@dataclass(frozen=True, eq=False)
class Terrain:
    """The ground, and the water on it."""

    ground: Any  # Surface or Profile: elevations, m
    water: Any = None  # with level (m), vp (m/s), rho (kg/m3)

    def surface(self, x, y):
        """Elevation of the ground at points, m; under water that of its bottom. nan beyond a surface's grid.

        `x`, `y` in m.
        """
        return self.ground.at(np.asarray(x, float), np.asarray(y, float))

    def top(self, x, y):
        """Elevation of the highest matter at points, ground or water, m.

        `x`, `y` in m.
        """
        ground = self.surface(x, y)
        return ground if self.water is None else np.maximum(ground, self.water.level)

    def shares(self, grid, k0, k1):
        """Parts of the cells of planes k0 to k1 - 1 that act as ground and as water: two arrays (k1
        - k0, ny, nx), 0 to 1.

        In the cells of a `Grid` ground that no shear stress holds counts as water or as nothing (`held`), and so does
        less than `LEAST`.

        `k0`: first plane; `k1`: one past the last plane.
        """
        wide, inside = wider(grid)
        ground, top = columns(self, wide)
        lower, upper = cells.edges(grid, "z", k0, k1)
        rock, water = np.zeros((2, k1 - k0, *ground.shape[1:]))
        rock[upper <= ground.min()] = 1
        parts = self.parts if isinstance(grid, cells.Blocks) else self.held
        # the planes that are neither full nor empty
        for k in np.flatnonzero((upper > ground.min()) & (lower < top.max())):
            rock[k], water[k] = parts(wide, lower[k], upper[k])
        return rock[inside], water[inside]

    def parts(self, grid, lower, upper):
        """Parts of the cells between two elevations that are ground and water: two arrays (ny, nx), 0 to 1.

        `lower`, `upper`: elevation, m.
        """
        rock, both = (np.clip((z - lower) / (upper - lower), 0, 1).mean(axis=0) for z in columns(self, grid))
        return rock, both - rock

    def held(self, grid, lower, upper):
        """`parts` as they act on waves: rock is in cells that shear stresses tie to the rock below, water below its
        level.

        Where mu is 0 in one of the four cells around a shear stress there is none (`moduli.h`). In a cell of rock with
        none beside it to both sides along an axis, both points of the velocity along that axis have no shear stress:
        nothing but the far weights of the differences holds them, and together they swing for ever. So rock counts in
        blocks of 2 x 2 cells on rock only (2 in the plane).

        `lower`, `upper`: elevation, m.
        """
        rock, water = self.parts(grid, lower, upper)
        share, level = rock + water, -np.inf if self.water is None else self.water.level
        solid = (rock >= water) & (share >= LEAST)
        if self.water is not None and upper >= level:
            solid &= self.base(grid)
        in_block = in_blocks(solid, grid)
        other = np.where(in_block, water, share if level - lower >= LEAST * (upper - lower) else 0)
        return np.where(in_block, rock, 0), other

    def base(self, grid):
        """Find columns that are rock in the cell that the water's level cuts and in the one below: only on these is
        there rock above.
        """
        lower, upper = cells.edges(
            grid.window((-grid.start[0], grid.whole[0] - grid.start[0], 0, grid.shape[1], 0, grid.shape[2])), "z"
        )
        cut = int(np.searchsorted(upper, self.water.level))
        parts = [self.parts(grid, lower[k], upper[k]) for k in (cut - 1, cut) if 0 <= k < len(upper)]
        return np.all([rock >= water for rock, water in parts], axis=0)

    def above(self, grid, k1):
        """Return True where the planes of cells below k1 hold nothing but ground.

        `k1`: one past the last plane.
        """
        return cells.edges(grid, "z", k1 - 1, k1)[1][0] <= columns(self, wider(grid)[0])[0].min()


@lru_cache(4)
def _columns(terrain, x, y):
    x, y = (cells.middles(*np.array(edges), SIDES if len(edges[0]) > 1 else 1) for edges in (x, y))
    at = [(x[:, a], y[:, b, None]) for a in range(x.shape[1]) for b in range(y.shape[1])]
    ground = np.stack([terrain.surface(*place) for place in at])
    return ground, ground if terrain.water is None else np.maximum(ground, terrain.water.level)


def columns(terrain, grid):
    """Elevations of ground and of the highest matter at some columns of each cell: two arrays (columns, ny, nx), m."""
    return _columns(terrain, *(tuple(tuple(e) for e in cells.edges(grid, name)) for name in "xy"))


def wider(grid):
    """Return a part of a grid with a ring of neighbouring cells along x and y where the grid goes on, and the index of
    the part in its arrays.
    """
    if isinstance(grid, cells.Blocks):
        return grid, np.index_exp[...]
    axes = list(zip(grid.start, grid.shape, grid.whole))[1:]
    low, high = ([min(start, 1) for start, _, _ in axes], [min(whole - start - n, 1) for start, n, whole in axes])
    (_, ny, nx), inside = grid.shape, tuple(slice(a, a + n) for a, (_, n, _) in zip(low, axes))
    return grid.window((0, grid.shape[0], -low[0], ny + high[0], -low[1], nx + high[1])), (slice(None), *inside)


def in_blocks(chosen, grid):
    """Cells of a plane (ny, nx) that lie in a block of two such cells along each axis; none exist beyond the grid.

    `chosen` (ny, nx) bool.
    """
    axes = [axis for axis in (0, 1) if grid.whole[1 + axis] > 1]
    for axis in axes:  # the first cells of blocks
        chosen = chosen & beside(chosen, axis, 1)
    for axis in axes:
        chosen = chosen | beside(chosen, axis, -1)
    return chosen


def beside(chosen, axis, step):
    """Value of the neighbour one step (1 or -1) along an axis, for each cell of a plane; False beyond the plane.

    `chosen` (ny, nx) bool; `step`: 1 or -1.
    """
    out, rows, others = np.zeros_like(chosen), np.moveaxis(chosen, axis, 0), slice(1, None)
    ahead, behind = (slice(-1), others) if step > 0 else (others, slice(-1))
    np.moveaxis(out, axis, 0)[ahead] = rows[behind]
    return out


def build(model):
    """Return the `Terrain` of a model, None where it has no topography.

    Raises ScenarioError: a file that is no surface.
    """
    topography = getattr(model, "topography", None)
    return None if topography is None else _terrain(topography, getattr(model, "water", None), _modified(topography))


def _modified(topography):
    """Time at which the file was changed, so that a changed file is read anew."""
    path = getattr(topography, "file", None)
    return os.stat(path).st_mtime_ns if path and os.path.exists(path) else None


@lru_cache(4)
def _terrain(topography, water, modified):
    try:
        return Terrain(_ground(topography), water)
    except ValueError as error:
        remedy = "give elevations in m over x and y that cover the whole domain"
        raise ScenarioError.of("model.topography", str(error), remedy) from None


def _ground(topography):
    if hasattr(topography, "file"):
        return surfaces.of_table(topography)
    if not hasattr(topography, "x"):
        return Profile(np.zeros(1), np.array([float(topography)]))
    if topography.y is None:
        return Profile(np.array(topography.x), np.array(topography.z))
    return surfaces.Surface(*(np.array(values) for values in (topography.x, topography.y, topography.z)), "topography")


def fill(terrain, grid, k0, k1, averages, cut=True):
    """Cell averages with the terrain in them: rho, kappa, mu or rho, c11, c13, c33, c44, c66 (k1 - k0, ny, nx) of a
    medium without surface.

    Part of a cell above the surface is nothing: density and moduli are those of the rest times its share, which keeps
    the mass and the stiffness along the surface. Where water and rock share a cell it is the one that fills more of it.
    A cell of rock that no shear stress holds is empty, or water (`Terrain.held`).

    `k0`: first plane; `k1`: one past the last plane; `averages`: rho, kappa, mu, each (k1 - k0, ny, nx); `cut`: times
    the share; else those of the matter in a cell, of the medium in an empty one.
    """
    if terrain.above(grid, k1):
        return averages
    rock, water = terrain.shares(grid, k0, k1)
    share = rock + water if cut else 1.0
    if terrain.water is None:
        return tuple(share * values for values in averages)
    rho, bulk = terrain.water.rho, terrain.water.rho * terrain.water.vp**2
    in_water = (rho, bulk, 0) if len(averages) == 3 else (rho, bulk, bulk, bulk, 0, 0)
    return tuple(share * np.where(water > rock, fluid, values) for fluid, values in zip(in_water, averages))


def lossless(terrain, grid, k0, k1, inverse_q):
    """1/Q of the cells of some planes with none in the water.

    `k0`: first plane; `k1`: one past the last plane; `inverse_q`: each (k1 - k0, ny, nx).
    """
    if terrain.water is None:
        return inverse_q
    rock, water = terrain.shares(grid, k0, k1)
    return tuple(np.where(water > rock, 0.0, values) for values in inverse_q)


def filled(terrain, grid):
    """Plane of the lowest empty cell in each column: (ny, nx) whole numbers."""
    low, high = ((z - grid.origin[2]) / grid.steps[2] for z in heights(terrain, grid))
    highest = min(int(high) + 2, grid.shape[0])
    out = np.full(grid.shape[1:], highest)
    planes = range(highest - 1, max(int(low) - 1, 0) - 1, -1)
    for k, (rock, water) in zip(planes, cells.in_order(lambda k: terrain.shares(grid, k, k + 1), planes)):
        out[rock[0] + water[0] == 0] = k
    return out


def whole(terrain, grid, box):
    """Find the cells of a box (k0, k1, j0, j1, i0, i1) that are full: booleans of its shape.

    `box`: k0, k1, j0, j1, i0, i1.
    """
    k0, k1, j0, j1, i0, i1 = box
    rock, water = terrain.shares(grid, k0, k1)
    return (rock + water)[:, j0:j1, i0:i1] > FULL


def clipped(terrain, region):
    """Return the part of a region below the highest matter in it: what a medium must describe."""
    (x0, x1), (y0, y1), (z0, z1) = cells.box(region)
    _, high = heights(terrain, region)
    return cells.Region((x0, y0, z0), (x1, y1, float(max(min(z1, high), z0))))


def heights(terrain, region):
    """Lowest ground and highest matter over a region, m; nan where the surface does not reach over it."""
    x, y = (_lookup(terrain.ground, region, name) for name in "xy")
    return float(terrain.surface(x, y[:, None]).min()), float(terrain.top(x, y[:, None]).max())


def _lookup(ground, region, name):
    """Coordinates at which elevations are extreme within a region: those of the surface there, and its ends."""
    low, high = region.bounds(name)
    nodes = np.asarray(getattr(ground, name, ()), float)  # a profile has no y
    return np.unique(np.concatenate([[low, high], nodes[(nodes > low) & (nodes < high)]]))


def problems(terrain, region, key="model"):
    """Problems of a terrain on a grid or region: gaps, too small, above or below the domain.

    `key`: of the model in the scenario.
    """
    where, name = f"{key}.topography", terrain.ground.name
    x, y = (_lookup(terrain.ground, region, axis) for axis in "xy")
    z = terrain.surface(x, y[:, None])
    if np.isnan(z).any():
        j, i = np.argwhere(np.isnan(z))[0]
        message = f"{name} has no elevation at (x, y) = ({x[i]:.10g}, {y[j]:.10g}) m; {np.isnan(z).sum()} of {z.size} points have none"
        return [Problem(where, message, "fill the gaps of the surface, or make the domain smaller")]
    low, high = region.bounds("z")
    room = getattr(region, "spacing", 0.0)
    lowest, upper = float(z.min()), heights(terrain, region)[1]
    problems = []
    if upper > high - room * (1 - 1e-9):
        needs = f"it needs {'a spacing of ' if room else ''}air above it"
        message = f"the surface rises to {upper:.10g} m, the domain to {high:.10g} m: {needs}"
        problems.append(
            Problem(where, message, f"raise the top of the domain above {upper + room:.10g} m (domain.size)")
        )
    if lowest <= low:
        message = f"the topography goes down to {lowest:.10g} m, below the bottom of the domain at {low:.10g} m"
        remedy = "lower domain.origin, or check the unit and the sign of the elevations"
        problems.append(Problem(where, message, remedy))
    return problems
