"""Spheres and boxes laid over a medium: which points and cells they hold, and what they change
there.
"""

from dataclasses import dataclass

import numpy as np

from craton.conventions import AXES
from craton.errors import Problem
from craton.model.media import cells, checks, properties

# points per axis at which the values in an anomaly are looked at when its limits are checked
LATTICE = 12


@dataclass(frozen=True)
class Anomaly:
    """One sphere or box. Where several overlap they act in the order of the file."""

    # lower, upper: (3,): corners of the box, or of the box around the sphere, metres
    lower: np.ndarray
    upper: np.ndarray
    # center, radius: (3,), float: of the sphere, metres; radius 0 for a box
    center: np.ndarray
    radius: float
    absolute: np.ndarray  # (8,): new values of `properties.NAMES`, SI; nan where it stays
    relative: np.ndarray  # (8,): their relative change; 0 where there is none

    def inside(self, x, y, z):
        """Find points in the anomaly or on its surface: boolean array of the broadcast shape.

        `x`, `y` in m; `z` in m, up.
        """
        if self.radius:
            return (x - self.center[0]) ** 2 + (y - self.center[1]) ** 2 + (z - self.center[2]) ** 2 <= self.radius**2
        return np.logical_and.reduce(
            np.broadcast_arrays(*((c >= a) & (c <= b) for c, a, b in zip((x, y, z), self.lower, self.upper)))
        )

    def change(self, values):
        """vp, vs, rho and perhaps more inside it, from those of the medium below it.

        `values`: vp, vs, rho and perhaps more of `properties.NAMES`.
        """
        based = (value if np.isnan(absolute) else absolute for value, absolute in zip(values, self.absolute))
        return tuple(value * (1 + relative) if relative else value for value, relative in zip(based, self.relative))

    def meets(self, box):
        """Whether it shares volume with a box ((x0, x1), (y0, y1), (z0, z1)).

        `box` ((x0, x1), (y0, y1), (z0, z1)), m.
        """
        return all(b > low and a < high for a, b, (low, high) in zip(self.lower, self.upper, box))


def _build_one(spec):
    new = [(name, getattr(spec, name, None)) for name in properties.NAMES]
    absolute = np.array(
        [np.nan if value is None else properties.inside(name, value) for name, value in new], dtype=float
    )
    relative = np.array([getattr(spec, f"d{name}", None) or 0.0 for name in properties.NAMES], dtype=float)
    if spec.shape == "sphere":
        center, radius = np.array(spec.center, dtype=float), float(spec.radius)
        return Anomaly(center - radius, center + radius, center, radius, absolute, relative)
    lower, upper = (np.array(getattr(spec, name), dtype=float) for name in ("min", "max"))
    return Anomaly(lower, upper, (lower + upper) / 2, 0.0, absolute, relative)


def build(model):
    """Return the anomalies of a scenario's model, in their order: list of Anomaly."""
    return [_build_one(spec) for spec in getattr(model, "anomalies", None) or ()]


def apply(bodies, x, y, z, values):
    """vp, vs, rho and perhaps more with the anomalies on them, at points (arrays that broadcast together).

    `x`, `y` in m; `z` in m, up; `values`: vp, vs, rho and perhaps more of `properties.NAMES`.
    """
    for anomaly in bodies:
        inside = anomaly.inside(x, y, z)
        if inside.any():
            changed = anomaly.change(values)
            same = [new is old for new, old in zip(changed, values)]
            values = tuple(old if s else np.where(inside, new, old) for s, new, old in zip(same, changed, values))
    return values


def cover(bodies, grid, k):
    """Cells of plane k that anomalies touch: (wholly in one or more and cut by none, cut by a surface), boolean (ny,
    nx).

    `k`: plane.
    """
    lower, upper = zip(*(cells.edges(grid, name) for name in AXES))
    lower, upper = ((lower[0], lower[1], lower[2][k : k + 1]), (upper[0], upper[1], upper[2][k : k + 1]))
    touched, cut = (np.zeros(grid.shape[1:], dtype=bool) for _ in range(2))
    for anomaly in bodies:
        indices = [np.flatnonzero((b > p) & (a < q)) for a, b, p, q in zip(lower, upper, anomaly.lower, anomaly.upper)]
        if all(len(n) for n in indices):
            x, y, _ = (slice(n[0], n[-1] + 1) for n in indices)
            part = [(a[n], b[n]) for a, b, n in zip(lower, upper, indices)]
            touches, holds = (
                _sphere_cells(anomaly, part)
                if anomaly.radius
                else _box_cells(anomaly, part, cells.SLIVER * grid.spacing)
            )
            touched[y, x] |= touches
            cut[y, x] |= touches & ~holds
    return touched & ~cut, cut


def _sphere_cells(anomaly, part):
    """Whether each cell shares points with the sphere, and whether it lies in it: nearest and
    farthest point of a cell.
    """
    nearest, farthest = [], []
    for (a, b), c in zip(part, anomaly.center):
        nearest.append(np.maximum(np.maximum(a - c, c - b), 0) ** 2)
        farthest.append(np.maximum(abs(a - c), abs(b - c)) ** 2)
    least, greatest = (sums[0][None, :] + sums[1][:, None] + sums[2][0] for sums in (nearest, farthest))
    return least < anomaly.radius**2, greatest <= anomaly.radius**2


def _box_cells(anomaly, part, sliver):
    shares = [(b > p + sliver) & (a < q - sliver) for (a, b), p, q in zip(part, anomaly.lower, anomaly.upper)]
    within = [(a >= p - sliver) & (b <= q + sliver) for (a, b), p, q in zip(part, anomaly.lower, anomaly.upper)]
    return tuple(x[None, :] & y[:, None] & z[0] for x, y, z in (shares, within))


def samples(anomaly, box, breaks):
    """Points of an anomaly within a box that show the extremes of a medium there: x, y, z arrays (n,), perhaps empty.

    `box` ((x0, x1), (y0, y1), (z0, z1)), m; `breaks` (n,): elevations of interfaces, m.
    """
    low, high = zip(*((max(a, p), min(b, q)) for a, b, (p, q) in zip(anomaly.lower, anomaly.upper, box)))
    center = np.clip(anomaly.center, low, high)
    lattice = [c.ravel() for c in np.meshgrid(*(np.linspace(a, b, LATTICE) for a, b in zip(low, high)), indexing="ij")]
    breaks = breaks[(breaks > low[2]) & (breaks < high[2])]
    column = np.concatenate([breaks, np.nextafter(breaks, np.inf), [low[2], center[2], high[2]]])
    x, y, z = (
        np.concatenate(pair)
        for pair in zip(lattice, (np.full_like(column, center[0]), np.full_like(column, center[1]), column))
    )
    inside = anomaly.inside(x, y, z)
    return x[inside], y[inside], z[inside]


def problems(bodies, medium, box, key):
    """Problems of anomalies in a medium whose own values are valid: list of Problem.

    `medium` Layered, Followed or Gridded; `box` ((x0, x1), (y0, y1), (z0, z1)), m; `key`: of the model in the scenario,
    for messages.
    """
    wrong = []
    for i, anomaly in enumerate(bodies):
        where = f"{key}.anomalies.{i}"
        if not anomaly.meets(box):
            extent = ", ".join(f"{n} {a:.10g} to {b:.10g} m" for n, a, b in zip(AXES, anomaly.lower, anomaly.upper))
            wrong.append(
                Problem(where, f"lies entirely outside the domain ({extent})", "Move it into the domain, or remove it.")
            )
            continue
        xyz = samples(anomaly, box, medium.breaks)
        wrong += checks.points(where, xyz, *apply(bodies, *xyz, medium.values(*xyz)), noun="points looked at in it")
    return wrong
