"""Finite faults on the grid: moments of many subfaults spread over points as arrays, their slip
rates as short windows of steps.

A fault of 100,000 subfaults and a run of 10,000 steps would need 4 GB of series if every subfault
had a column of the whole run. A subfault slips for a second or so: it keeps the steps in which it
does, and those that its band limit and the leapfrog's correction spread it over.
"""

import numpy as np

from craton.core.plan import Array, Launch
from craton.errors import Problem, ResourceError, ScenarioError
from craton.methods.finite_difference import points, sides
from craton.methods.finite_difference.equations import material
from craton.methods.waves import points as operators
from craton.methods.waves.interpolate import fitted_many
from craton.methods.waves.slip import BLOCK, SORTED, available, joined, windows
from craton.methods.waves.tables import table_of
from craton.model.media import earth
from craton.survey import leapfrog
from craton.survey.faults import FiniteFault

MANY = 10_000  # slipping components: above, 4 points per axis carry each of them in place of 8
# points per wavelength of the slowest wave: what is shorter is taken out of the slip rates
CARRIED = 2.5
MOST_ROWS = 2**31 - 1
LEAST_KEPT = 0.25  # of a subfault's weights, on points in matter


def sources(d, found):
    """Arrays and launches of the finite faults among sources, by phase, and the highest frequency
    that they carry, Hz.
    """
    held = [s for s in found if isinstance(s, FiniteFault)]
    if not held:
        return {}, {}, 0.0
    band = highest(d)
    begin, at, series = joined([windows(d, f, band) for f in held])
    index, weight, column = rows(d, held)
    target, first, column, weight = table_of(index, weight, column)
    values = {
        "target": (target, np.int64),
        "first": (first, np.int32),
        "column": (column, np.int32),
        "weight": (weight, d.precision),
        "begin": (begin, np.int32),
        "at": (at, np.int64),
        "series": (series, d.precision),
    }
    arrays = {
        f"fault_{name}": Array("points", v.shape, dtype, np.asarray(v, dtype)) for name, (v, dtype) in values.items()
    }
    arrays["fault_now"] = Array("points", begin.shape, d.precision)
    places = d.layout.place(target)
    return arrays, launches("fault", len(begin), len(target), places), leapfrog.TAPER * band


def launches(name, columns, targets, places):
    """Return the launches, by phase, that read the windows of a step and inject them.

    Parameters
    ----------
    name : str
        With which the names of the arrays begin.
    columns, targets : int
        Number of windows, and of points.
    places : tuple of arrays
        Grid points (k, j, i) of the targets.
    """
    now = Launch(
        operators.WINDOW,
        (*(f"{name}_{part}" for part in ("now", "begin", "at", "series")), "step"),
        (0, 1, 0, 1, 0, columns),
        {"columns": 1, "slots": 1},
    )
    tables = (f"{name}_{part}" for part in ("target", "first", "column", "weight", "now"))
    inject = Launch(
        operators.INJECT, ("state", *tables, "step"), (0, 1, 0, 1, 0, targets), {"columns": 0, "slots": 1}, places
    )
    # The values of the step come first of all: a phase may be cut in two, and both parts of the
    # table read them.
    return {"stress_first": [now], "stress_last": [inject]}


def highest(d):
    """Frequency up to which slip rates are kept, Hz."""
    return earth.extremes(d.scenario.model, d.grid)["slowest"] / (CARRIED * d.grid.spacing)


# --- in space -------------------------------------------------------------------------------------


def rows(d, faults):
    """(index, weight, column) of all components, to be multiplied by slip rates."""
    xyz, tensors = (np.concatenate([getattr(f, name) for f in faults]) for name in ("points", "tensors"))
    width = 4 if len(xyz) > MANY else 8
    position = np.round((xyz - d.grid.origin) / d.grid.steps, 6)
    parts, count, most = [], 0, min(MOST_ROWS, available() // SORTED)
    for low in range(0, len(xyz), BLOCK):
        some = slice(low, low + BLOCK)
        more = [(i, w, c + np.int32(low)) for i, w, c in spread(d, position[some], tensors[some], width)]
        parts, count = parts + more, count + sum(len(i) for i, _, _ in more)
        if count > most:
            raise ResourceError(
                f"the point tables of {len(xyz):,} slipping subfaults do not fit: {most:,} rows are possible here, "
                f"{low + BLOCK:,} subfaults need {count:,}; merge subfaults, or split the fault over runs"
            )
    return tuple(np.concatenate(part) for part in zip(*parts))


def spread(d, position, tensors, width):
    """(index, weight, column) parts of some components; see `points.moment_rows`, of which this is
    the same for many.
    """
    scale, real = -d.dt / d.volume, np.dtype(d.precision)
    nodes = {}
    for field, axes in points.TENSOR.items():
        moment = scale * tensors[:, axes[0], axes[1]]
        if not moment.any():
            continue
        half = d.half(field)
        if half not in nodes:
            nodes[half] = around(d, position, half, width)
        (k, j, i), weights = nodes[half]
        weights = weights * moment[:, None]
        column, entry = np.nonzero(weights)
        at, weight = tuple(a[column, entry] for a in (k, j, i)), weights[column, entry]
        top = at[0] == d.grid.shape[0] - 1 if d.free and field == "szz" else np.zeros(len(column), bool)
        below, column = tuple(a[~top] for a in at), column.astype(np.int32)
        yield d.start_of(field) + d.layout.offset(*below), weight[~top].astype(real), column[~top]
        if top.any():
            on_top = tuple(a[top] for a in at)
            ratio = -material.vertical_strain(d, on_top)
            for other in ("sxx", "syy"):
                yield (d.start_of(other) + d.layout.offset(*on_top), (ratio * weight[top]).astype(real), column[top])


def around(d, position, half, width):
    """(k, j, i) and weights, (n, width^3) each, of the points of a field about positions; divided
    by the scheme's norm.
    """
    last = [n - 1 - h for n, h in zip(d.grid.shape[::-1], half)]
    last[2] = sides.highest_stress(d, half)
    firsts, axes = zip(*(axis_weights(position[:, a] - half[a] / 2, last[a], width) for a in range(3)))
    n, step = len(position), np.arange(width)
    i, j, k = (np.minimum(f[:, None] + step, last[a]) for a, f in enumerate(firsts))
    along_z = axes[2] / d.norms(k.ravel(), half[2]).reshape(k.shape)
    weights = along_z[:, :, None, None] * axes[1][:, None, :, None] * axes[0][:, None, None, :]
    full = [
        np.broadcast_to(v, weights.shape).reshape(n, -1)
        for v in (k[:, :, None, None], j[:, None, :, None], i[:, None, None, :])
    ]
    return full, in_matter(d, full, half, weights.reshape(n, -1))


def in_matter(d, at, half, weights):
    """Weights (n, width^3) of components with none on points that have air or, beside a floor that is
    not level, a fluid around them, the sum of each component's being kept.

    Raises
    ------
    ScenarioError
        A component with no point in matter.
    """
    low = [int(a.min()) for a in at]
    beside_fluid = d.partly_fluid and sides.flat_floor(d) is None
    if not beside_fluid and (d.ground is None or at[0].max() + 1 < d.vacuum_planes[0]):
        return weights
    # The box ends a point later: a shear point carries the mean of the cells before and behind it.
    box = [v for a, first, size in zip(at, low, d.grid.shape) for v in (first, min(int(a.max()) + 2, size))]
    use = points.usable_points(d, box, half, False if beside_fluid else None)[
        tuple(a - first for a, first in zip(at, low))
    ]
    kept, total = (weights * use).sum(1), weights.sum(1)
    if (kept < LEAST_KEPT * total).any():
        raise ScenarioError(
            [
                Problem(
                    "source",
                    f"{(kept < LEAST_KEPT * total).sum()} slipping subfaults lie in the air or a fluid, or next to it",
                    "move the fault down, or use a smaller spacing",
                )
            ]
        )
    return weights * use * (total / kept)[:, None]


def axis_weights(x, highest_point, width):
    """First points (n,) and weights (n, width) at positions x along an axis of points 0 .. highest;
    see `interpolate.axis_weights`.
    """
    first, count = axis_points(x, highest_point, width)
    weights = np.zeros((len(x), width))
    for n in np.unique(count):
        chosen = count == n
        weights[chosen, :n] = fitted_many(x[chosen] - first[chosen], n) if n > 1 else 1.0
    return first, weights


def axis_points(x, highest_point, width):
    """Return the first points, and how many, (n,) each, that have a weight at positions x along an
    axis of points 0 .. highest.

    Parameters
    ----------
    x : (n,) array
        In units of the spacing.
    highest_point, width : int
    """
    nearest = np.round(x)
    on_point = (np.abs(x - nearest) < 1e-9) & (nearest >= 0) & (nearest <= highest_point)
    low = np.floor(x).astype(int)
    first = low - width // 2 + 1
    inside = (first >= 0) & (first + width - 1 <= highest_point)
    few = min(4, highest_point + 1)
    first = np.where(inside, first, np.clip(low - few // 2 + 1, 0, highest_point + 1 - few))
    first = np.where(on_point, nearest.astype(int), first)
    return first, np.where(on_point, 1, np.where(inside, width, few))
