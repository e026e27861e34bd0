"""Ensembles of rectangular prisms: cells between planes (regular or rectilinear) and lists of
prisms; no solver word here.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from craton.conventions import AXES

SIDES = ("west", "east", "south", "north", "bottom", "top")
# cells whose widths differ by less than this part of a width are equal: edges are sums in floating
# point
EQUAL = 1e-9
# kg/m3: no contrast of a whole ensemble is meant that is below, no rock is above
LIGHT, HEAVY = 5.0, 5e4
BLOCK = 1 << 18  # prisms that are made together: what is in between takes little memory


def doubtful(density):
    """Return what is strange about densities (M,), kg/m3, that are all so small, or so large, that another unit is
    probably meant; None where nothing is.
    """
    most = np.nanmax(np.abs(density), initial=0.0)
    if 0 < most < LIGHT:
        return f"no density is above {most:.4g} kg/m3; if they are in g/cm3, say so in units"
    if HEAVY < most < np.inf:
        return f"densities reach {most:.4g} kg/m3, more than any rock has; check their units"
    return None


def have_volume(prisms):
    """Return which prisms (M, 6) have a volume: (M,) bool."""
    return (prisms[:, ::2] < prisms[:, 1::2]).all(axis=1)


def refuse_wrong(prisms, density, name=""):
    """Raise a ValueError for the first of prisms (M, 6) that is not finite, or whose bounds are reversed; `name`
    begins its message.
    """
    infinite = ~np.isfinite(prisms).all(axis=1) | ~np.isfinite(density)
    refuse(infinite, name, lambda n: f"is not finite: {prisms[n].tolist()}, density {density[n]}")
    for low, high in ((0, 1), (2, 3), (4, 5)):
        words = f"is reversed: {SIDES[low]} = {{:.10g}} > {SIDES[high]} = {{:.10g}}"
        refuse(prisms[:, low] > prisms[:, high], name, lambda n, a=low, w=words: w.format(*prisms[n, a : a + 2]))


def refuse(wrong, name, words):
    """Raise a ValueError for the first prism that is wrong; `words(n)` says in what."""
    if wrong.any():
        n, many = int(np.argmax(wrong)), f" ({wrong.sum()} such prisms)" if wrong.sum() > 1 else ""
        raise ValueError(f"{name}prism {n} {words(n)}{many}")


@dataclass(frozen=True)
class Cells:
    """Cells between planes x, y, z = const, of which only those with density are kept.

    Parameters
    ----------
    x, y, z : (n + 1,) arrays
        Edges of the cells along each axis, m, rising, z up.
    index : (M,) array of int64
        Cells with density as flat indices (k * ny + j) * nx + i, rising.
    density : (M,) array
        Their densities, kg/m3, none of them zero.
    """

    rows: ClassVar[None] = None  # of a list that was given
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    index: np.ndarray
    density: np.ndarray

    @property
    def shape(self):
        """Cells along z, y, x."""
        return len(self.z) - 1, len(self.y) - 1, len(self.x) - 1

    @property
    def spacing(self):
        """Width of the cells along x, y, z, m, each a float where all are equal along that axis,
        else None.
        """
        return tuple(_equal(edges) for edges in (self.x, self.y, self.z))

    @cached_property
    def prisms(self):
        """(M, 6) west, east, south, north, bottom, top of the cells with density, m."""
        out = np.empty((len(self), 6))
        for n in range(0, len(self), BLOCK):
            k, j, i = np.unravel_index(self.index[n : n + BLOCK], self.shape)
            for axis, (edges, place) in enumerate(((self.x, i), (self.y, j), (self.z, k))):
                out[n : n + BLOCK, 2 * axis] = edges[place]
                out[n : n + BLOCK, 2 * axis + 1] = edges[place + 1]
        return out

    @property
    def words(self):
        """How many cells there are and how large, for people."""
        nz, ny, nx = self.shape
        width = " x ".join("unequal" if w is None else f"{w:.5g}" for w in self.spacing)
        return f"{len(self):,} of {nx} x {ny} x {nz} cells of {width} m"

    def __len__(self):
        return len(self.index)


@dataclass(frozen=True)
class PrismList:
    """Prisms anywhere, in no order.

    Parameters
    ----------
    prisms : (M, 6) array
        West, east, south, north, bottom, top, m, z up.
    density : (M,) array
        kg/m3, none of them zero.
    rows : (M,) array of int, optional
        Where each stood in the list that was given, from 0, before those without mass were left
        out.
    """

    prisms: np.ndarray
    density: np.ndarray
    rows: np.ndarray | None = None

    @property
    def words(self):
        """How many prisms there are, for people."""
        return f"{len(self):,} prisms"

    def __len__(self):
        return len(self.density)


def _equal(edges):
    widths = np.diff(edges)
    mean = (edges[-1] - edges[0]) / len(widths)
    fuzz = EQUAL * mean + 4 * np.finfo(float).eps * np.abs(edges).max()
    return float(mean) if np.abs(widths - mean).max() <= fuzz else None


def edges(lower, upper, count):
    """Edges of `count` equal cells from lower to upper: (count + 1,) array.

    Parameters
    ----------
    lower, upper : float
    count : int
    """
    out = lower + (upper - lower) / count * np.arange(count + 1)
    out[-1] = upper
    return out


def edges_around(centres, noun="coordinate"):
    """Return the edges midway between centres (n,), the outer cells as wide outside as inside: (n + 1,) array;
    `noun` names the coordinate in messages.

    Raises
    ------
    ValueError
        Fewer than two centres, or centres that do not rise.
    """
    centres = np.asarray(centres, float)
    if len(centres) < 2:
        raise ValueError(f"{noun} has {len(centres)} value, but at least 2 are needed to know the width of a cell")
    _refuse_falling(centres, f"{noun} does not increase: value")
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def cells(x, y, z, density=0.0, bodies=()):
    """Cells between planes, with one density or one for each, and bodies laid in.

    Parameters
    ----------
    x, y, z : array_like
        Edges along each axis, m, rising.
    density : float or array_like (nz, ny, nx)
        kg/m3; usually a contrast with the surroundings. Cells of density 0 are left out.
    bodies : sequence
        Spheres (``shape="sphere"``, center, radius, density) and boxes (``shape="box"``, min, max,
        density), as in a scenario. A body takes the cells whose centres lie in it; where several
        overlap the last one holds.

    Returns
    -------
    Cells

    Raises
    ------
    ValueError
        Edges that do not rise, densities that are not finite or of another shape, each with the
        index.
    """
    x, y, z = (_checked_edges(values, name) for values, name in zip((x, y, z), AXES))
    shape = tuple(len(values) - 1 for values in (z, y, x))
    index, values = _sparse(shape, (x, y, z), bodies)
    if not np.ndim(density) and float(density) == 0:
        return Cells(x, y, z, index[values != 0], values[values != 0])
    full = _full(shape, density)
    full[index] = values
    index = np.flatnonzero(full)
    return Cells(x, y, z, index, full[index])


def _checked_edges(values, name):
    values = np.asarray(values, float).reshape(-1)
    if len(values) < 2:
        raise ValueError(f"{name} has {len(values)} edges, but at least 2 are needed")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"edge {bad[0]} of {name} is not finite: {values[bad[0]]}")
    _refuse_falling(values, f"the edges of {name} do not increase: edge")
    return values


def _refuse_falling(values, words):
    """Refuse values that do not rise."""
    falls = np.flatnonzero(~(np.diff(values) > 0))
    if len(falls):
        n = falls[0]
        raise ValueError(f"{words} {n + 1} is {values[n + 1]:.10g} after {values[n]:.10g}")


def _full(shape, density):
    """One density for every cell: flat array of its own."""
    density = np.asarray(density, float)
    if density.ndim and density.shape != shape:
        raise ValueError(f"density has shape {density.shape}, the cells (nz, ny, nx) are {shape}")
    full = np.array(np.broadcast_to(density, shape)).reshape(-1)
    bad = np.flatnonzero(~np.isfinite(full))
    if len(bad):
        k, j, i = (int(n) for n in np.unravel_index(bad[0], shape))
        raise ValueError(f"the density of cell (k, j, i) = ({k}, {j}, {i}) is not finite: {full[bad[0]]}")
    return full


def _sparse(shape, axes, bodies):
    """Flat indices of the cells that bodies take, rising, and their densities: later bodies hold."""
    taken, values = np.empty(0, np.int64), np.empty(0)
    for body in bodies:
        in_body = inside(shape, axes, body)
        still_taken = ~np.isin(taken, in_body, assume_unique=True)
        taken = np.concatenate([taken[still_taken], in_body])
        values = np.concatenate([values[still_taken], np.full(len(in_body), float(body.density))])
    order = np.argsort(taken)
    return taken[order], values[order]


def inside(shape, axes, body):
    """Return the flat indices of the cells, (nz, ny, nx) of them between edges x, y, z, whose centres lie in a body
    of a scenario.
    """
    sphere = body.shape == "sphere"
    if sphere:
        low, high = np.subtract(body.center, body.radius), np.add(body.center, body.radius)
    else:
        low, high = body.min, body.max
    centres = [(edges[1:] + edges[:-1]) / 2 for edges in axes]
    spans = [slice(np.searchsorted(c, a), np.searchsorted(c, b, side="right")) for c, a, b in zip(centres, low, high)]
    x, y, z = (c[span] for c, span in zip(centres, spans))
    if sphere:
        x, y, z = (c - m for c, m in zip((x, y, z), body.center))
    planes = [np.empty(0, np.int64)]
    for k, height in enumerate(z):
        within = np.ones((len(y), len(x)), bool)
        if sphere:
            within = x**2 + y[:, None] ** 2 + height**2 <= body.radius**2
        j, i = np.nonzero(within)
        place = (k + spans[2].start, j + spans[1].start, i + spans[0].start)
        planes.append(np.ravel_multi_index(place, shape).astype(np.int64, copy=False))
    return np.concatenate(planes)


def union(ensembles):
    """Return several ensembles as one: itself where there is one, else a PrismList."""
    ensembles = list(ensembles)
    if len(ensembles) == 1:
        return ensembles[0]
    return PrismList(np.concatenate([e.prisms for e in ensembles]), np.concatenate([e.density for e in ensembles]))


def mass(ensemble):
    """Return the mass of an ensemble, its (positive, negative) parts in kg, and its centre, m; None for the centre
    where both signs are there.
    """
    sums = np.zeros(5)  # positive and negative mass, moments about x, y, z
    for n in range(0, len(ensemble.density), BLOCK):
        low, high = (ensemble.prisms[n : n + BLOCK, side::2] for side in (0, 1))
        masses = ensemble.density[n : n + BLOCK] * (high - low).prod(axis=1)
        sums[0] += masses[masses > 0].sum()
        sums[1] += masses[masses < 0].sum()
        sums[2:] += masses @ (low + high) / 2
    parts = float(sums[0]), float(sums[1])
    if all(parts) or not any(parts):
        return parts, None
    return parts, tuple(float(moment / sum(parts)) for moment in sums[2:])
