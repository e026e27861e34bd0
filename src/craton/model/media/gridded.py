"""Media given on a rectangular grid of their own: linear interpolation, and averages over the cells
of another grid.
"""

from dataclasses import dataclass, field

import numpy as np

from craton.conventions import AXES
from craton.errors import Problem
from craton.model.interpolate import weights
from craton.model.media import cells, checks

STRIP = 48  # rows that are worked on at a time: their samples stay in the cache


@dataclass(frozen=True)
class Gridded:
    """vp, vs, rho on a rectangular grid, spacing free; outside it the nearest value."""

    axes: tuple[np.ndarray, np.ndarray, np.ndarray]  # x, y, z of the points, metres, each rising
    # vp, vs (m/s), rho (kg/m3) and perhaps more of `properties.NAMES`, each (nz, ny, nx)
    fields: tuple[np.ndarray, np.ndarray, np.ndarray]
    breaks: np.ndarray = field(default_factory=lambda: np.empty(0))  # it jumps nowhere

    # Parts along x and y, parts along z and Gauss points in each, that average a cell which no
    # anomaly cuts.
    whole = (2, 2, 1)

    def values(self, x, y, z):
        """vp, vs (m/s), rho (kg/m3) at points, trilinear; arrays that broadcast together.

        `x`, `y` in m; `z` in m, up.
        """
        (i, p, u), (j, q, v), (k, r, w) = (
            weights(axis, np.asarray(c, dtype=float)) for axis, c in zip(self.axes, (x, y, z))
        )

        def one(f):
            low = _mix(_mix(f[k, j, i], f[k, j, p], u), _mix(f[k, q, i], f[k, q, p], u), v)
            return _mix(low, _mix(_mix(f[r, j, i], f[r, j, p], u), _mix(f[r, q, i], f[r, q, p], u), v), w)

        return tuple(one(f) for f in self.fields)

    def averages(self, grid, k0, k1, average=cells.ELASTIC):
        """Effective media of the cells of planes k0 to k1 - 1, without anomalies, from 2 x 2 x 2 samples each.

        `k0`: first plane; `k1`: one past the last plane; `average`: what is averaged, and how.
        """
        x, y, z = (
            weights(axis, cells.middles(*cells.edges(grid, name), 2).ravel()) for axis, name in zip(self.axes, AXES)
        )

        def mean(k):
            levels = [
                [_mix(f[a], f[b], w) for a, b, w in zip(*(part[2 * k : 2 * k + 2] for part in z))] for f in self.fields
            ]
            strips = []
            for j in range(0, grid.shape[1], STRIP):
                rows = tuple(part[2 * j : 2 * (j + STRIP)] for part in y)
                strips.append(
                    _mean_of_pairs([[_resample(level, rows, x) for level in pair] for pair in levels], average)
                )
            return (np.concatenate(parts) for parts in zip(*strips))

        return cells.plane_by_plane(grid, k0, k1, average, mean)

    def points(self):
        """x, y, z of its points as arrays that broadcast to (nz, ny, nx)."""
        x, y, z = self.axes
        return x, y[:, None], z[:, None, None]


def _mix(a, b, weight):
    return a + weight * (b - a)


def _resample(plane, rows, columns):
    """One level (ny, nx) of a field at rows and columns of other coordinates."""
    before, after, weight = rows
    part = _mix(plane[before], plane[after], weight[:, None])
    before, after, weight = columns
    return _mix(part[:, before], part[:, after], weight)


def _mean_of_pairs(levels, average):
    """Effective media of cells from samples of vp, vs, rho and perhaps more, each on two levels,
    two rows and two columns a cell.
    """
    total = None
    for values in zip(*levels):
        terms = [(t := term[0::2] + term[1::2])[:, 0::2] + t[:, 1::2] for term in average.terms(*values)]
        total = terms if total is None else [a + b for a, b in zip(total, terms)]
    return average.finish(*(sums / 8 for sums in total))


def extent_problems(axes, region, name, key):
    """Problems of a file whose axes (x, y, z) do not reach over the domain.

    `axes`: x, y, z of the file, m; `name`: of the file; `key`: of the file in the scenario.
    """
    problems = []
    for axis, label in zip(axes, AXES):
        low, high = region.bounds(label)
        fuzz = checks.tolerance(low, high, axis[0], axis[-1])
        ends = {"start": axis[0] - low, "end": high - axis[-1]}
        short = [f"{gap:.10g} m at its {end}" for end, gap in ends.items() if gap > fuzz]
        remedy = f"Extend the file along {label}, or make the domain smaller"
        remedy += ", or write extend = true." if label == "z" and ends["end"] > fuzz else "."
        if label == "y" and len(axis) == 1:
            remedy = "A section is for a domain in the (x, z) plane; give the file several y."
        if label == "z" and -axis[-1] <= low + fuzz and -axis[0] >= high - fuzz:
            remedy = 'If its z is depth, name it depth, or give it positive = "down".'
        if short:
            problems.append(
                Problem(
                    key,
                    f"{name}: {label} runs from {axis[0]:.10g} to {axis[-1]:.10g} m, the domain from {low:.10g} to {high:.10g} m: "
                    f"missing {' and '.join(short)}",
                    remedy,
                )
            )
    return problems
