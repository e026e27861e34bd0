"""Catalogues on the grid: thousands of moments spread over points as arrays. How many rows and points
that takes is counted when a run is planned, the rows are made when it begins.
"""

from functools import cached_property

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.methods.finite_difference import faults, points, sides
from craton.methods.waves import histories
from craton.methods.waves.ranks.gathered import table_arrays
from craton.survey.catalogues import Catalogue

NAME = "catalogue"
BLOCK = 4096  # sources whose rows are made at a time
NORMAL = ("sxx", "syy")  # which get what szz would on a free surface


def sources(d, all_sources):
    """Return arrays and launches of the catalogues among sources, by phase, and the highest
    frequency that they carry, Hz.

    Parameters
    ----------
    d : Discretisation
    all_sources : list
    """
    held = [s for s in all_sources if isinstance(s, Catalogue)]
    if not held:
        return {}, {}, 0.0
    table = Table(d, held)
    windows = [histories.limits(d, c) for c in held]
    arrays = table_arrays(NAME, table.target, table.count, table.blocks, d.precision)
    arrays |= histories.arrays(NAME, d, held, windows)
    places = d.layout.place(table.target)
    columns = len(arrays[f"{NAME}_begin"].data)
    band = max(float(c.highest(d.dt).max()) for c in held)
    return arrays, faults.launches(NAME, columns, len(table.target), places), band


class Table:
    """The rows of catalogues on the grid, counted at once and made when they are asked for.

    Parameters
    ----------
    d : Discretisation
    held : list of Catalogue

    Raises
    ------
    ScenarioError
        The ground cuts the points around a source.
    """

    def __init__(self, d, held):
        self.d = d
        xyz = np.concatenate([c.points for c in held])
        self.tensors = np.concatenate([c.tensors for c in held])
        self.column = histories.columns(held)
        self.position = np.round((xyz - d.grid.origin) / d.grid.steps, 6)
        self.width = 4 if len(xyz) > faults.MANY else 8
        self._refuse_cut()

    @cached_property
    def fields(self):
        """Stress fields that some source adds to, with which sources do."""
        named = {f: self.tensors[:, a, b] != 0 for f, (a, b) in points.TENSOR.items()}
        return {f: acts for f, acts in named.items() if acts.any()}

    def axis(self, half, a):
        """First points along an axis, and how many have a weight, (n,) each."""
        highest = self.d.grid.shape[2 - a] - 1 - half[a]
        if a == 2:
            highest = sides.highest_stress(self.d, half)
        return faults.axis_points(self.position[:, a] - half[a] / 2, highest, self.width)

    @cached_property
    def spans(self):
        """First points and counts along x, y, z of the points of fields by their place in a cell:
        (n, 3) arrays.
        """
        axes = {(h, a): self.axis((h,) * 3, a) for h in (0, 1) for a in range(3)}
        halves = {self.d.half(field) for field in self.fields}
        return {
            half: tuple(np.stack(part, axis=1) for part in zip(*(axes[h, a] for a, h in enumerate(half))))
            for half in halves
        }

    @property
    def top(self):
        """Plane of points on a free surface; -1 without one."""
        return self.d.grid.shape[0] - 1 if self.d.free else -1

    @cached_property
    def count(self):
        """Number of rows."""
        total = 0
        for field, acts in self.fields.items():
            first, count = (v[acts] for v in self.spans[self.d.half(field)])
            total += int(count.prod(axis=1).sum())
            if field == "szz":  # its rows there go to both other normal stresses
                on_top = (first[:, 2] <= self.top) & (self.top < first[:, 2] + count[:, 2])
                total += int((count[:, 0] * count[:, 1])[on_top].sum())
        return total

    @cached_property
    def box(self):
        """Lowest and highest point (k, j, i) of all rows, the latter excluded."""
        low = np.min([first.min(axis=0) for first, _ in self.spans.values()], axis=0)
        high = np.max([(first + n).max(axis=0) for first, n in self.spans.values()], axis=0)
        return low[::-1], high[::-1]

    @cached_property
    def touched(self):
        """Points of each field in the `box` that have rows: dict of (k, j, i) bool arrays."""
        low, high = self.box
        out = {}
        for field, acts in self.fields.items():
            first, count = (v[acts][:, ::-1] for v in self.spans[self.d.half(field)])
            out[field] = covered(first - low, count, high - low)
        top = self.top - low[0]
        if "szz" in out and 0 <= top < len(out["szz"]):
            plane = out["szz"][top].copy()
            out["szz"][top] = False
            for field in NORMAL if plane.any() else ():
                out.setdefault(field, np.zeros(high - low, bool))[top] |= plane
        return dict(sorted(out.items(), key=lambda item: self.d.start_of(item[0])))

    @cached_property
    def target(self):
        """Index in the state of each point that has rows, rising."""
        low, _ = self.box
        parts = []
        for field, mask in self.touched.items():
            k, j, i = (n + start for n, start in zip(np.nonzero(mask), low))
            parts.append(self.d.start_of(field) + self.d.layout.offset(k, j, i))
        return np.concatenate(parts).astype(np.int64)

    def blocks(self):
        """Yield (index, weight, column) of the rows, some thousand sources at a time, in the order
        of the sources.
        """
        for low in range(0, len(self.position), BLOCK):
            part = slice(low, low + BLOCK)
            more = faults.spread(self.d, self.position[part], self.tensors[part], self.width)
            for index, weight, source in more:
                yield index, weight, self.column[part][source]

    def _refuse_cut(self):
        """Refuse sources whose points the ground or a fluid may cut: their weights would be others."""
        d, cut = self.d, ""
        reach = max(int((first + count).max(axis=0)[2]) for first, count in self.spans.values())
        if d.ground is not None and reach >= d.vacuum_planes[0]:
            cut = "that the ground cuts"
        elif d.partly_fluid and sides.flat_floor(d) is None:
            low, high = self.box
            box = [int(v) for pair in zip(low, high) for v in pair]
            cut = "of a fluid" if (sides.contents(d, box) == sides.FLUID).any() else ""
        if not cut:
            return
        raise ScenarioError(
            [
                Problem(
                    "source",
                    f"a catalogue of moment tensors reaches points {cut}",
                    "write it as several files of up to 1,000 sources, or use a smaller spacing",
                )
            ]
        )


def covered(first, count, shape):
    """Points of a box that lie in one of many small boxes.

    Parameters
    ----------
    first, count : (n, 3) array of int
        First point, and number of points, of each along each axis.
    shape : (3,) array of int
        Of the box.

    Returns
    -------
    ndarray of bool
    """
    out = np.zeros(shape, bool)
    digits = count.max() + 1
    code = (count[:, 0] * digits + count[:, 1]) * digits + count[:, 2]
    for n in np.flatnonzero(np.bincount(code)):
        extent = (n // digits**2, n // digits % digits, n % digits)
        begins = np.zeros(shape, bool)
        begins[tuple(first[code == n].T)] = True
        for axis, n in enumerate(extent):
            begins = spread_along(begins, axis, int(n))
        out |= begins
    return out


def spread_along(mask, axis, n):
    """Return a mask that is True on n points along an axis from each True on."""
    mask = np.moveaxis(mask, axis, 0)
    out = mask.copy()
    for step in range(1, n):
        out[step:] |= mask[:-step]
    return np.moveaxis(out, 0, axis)
