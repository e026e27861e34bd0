"""What a moment in a volume sees of the field of a force: strain rates at the points of stress of a
box, and the weights of a moment tensor on them.

A moment M at x adds -dt M' w / (V H) to stresses, w the weights that interpolate at x and H the
norm of the scheme (points.py). The scheme is symmetric in the energy product with weights V H, so
that the velocity which a force functional r records of this moment is

    r(v) = sum over components of M_c times the sum of w e_c,    e = D v of the run with force r,

shear strains counted twice (gamma_xy = 2 e_xy): reciprocity of the discrete scheme, exact to
rounding (Aki & Richards 2002, section 2.3.2, for the continuum). D are the scheme's own
differences, closures of a free surface included; there szz is zero, and the vertical strain follows
from the horizontal ones. Below a topography differences are the same, and read zeros in the air;
moments there stand on points that lie wholly in matter (points.py).
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from craton.core.snapshots import SnapshotSeries
from craton.errors import Problem
from craton.methods.finite_difference import points, sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import HALF, VELOCITY
from craton.methods.finite_difference.points import TENSOR, Spread
from craton.methods.waves.interpolate import NODES, AxisWeights

MARGIN = NODES // 2  # points beside a position that its weights reach
ROUND = 6  # digits of positions in units of the spacing, as of sources


@dataclass(frozen=True, eq=False)
class StrainRates:
    """Strain rates at the points of stress of a box.

    Parameters
    ----------
    origin : tuple of float
        Of the grid's first point, m.
    spacing : float
        m.
    shape : tuple of int
        Points of the grid along (z, y, x).
    box : tuple of int
        (k0, k1, j0, j1, i0, i1): points at which strain rates are stored.
    stresses : tuple of str
        Components that are computed.
    planar : bool
        The (x, z) plane.
    weights : tuple of tuple of float, optional
        Of horizontal and vertical differences; only for pictures, as the following.
    closure : Closure or None
        Of the free surface at the top.
    ratio : float array or None
        Vertical over the sum of horizontal strains where szz = 0, at the top points of the box.
    terrain : Discretisation or None
        Where the model has a topography: knows what lies in the air.
    scenario : Scenario or None
        Whose positions are those of the grid.
    """

    origin: tuple
    spacing: float
    shape: tuple
    box: tuple
    stresses: tuple
    planar: bool
    steps: tuple
    weights: tuple = ()
    closure: Any = None
    ratio: Any = None
    terrain: Any = None
    scenario: Any = None

    of_what = "grid"

    @property
    def per_point(self):
        """Places of a point."""
        return len(self.stresses)

    @property
    def counts(self):
        """Points of the box along (z, y, x)."""
        k0, k1, j0, j1, i0, i1 = self.box
        return (k1 - k0, j1 - j0, i1 - i0)

    @property
    def places(self):
        """All places."""
        return len(self.stresses) * math.prod(self.counts)

    @property
    def about(self):
        """What weights need to know of the box: dict for JSON."""
        return {
            "origin": list(self.origin),
            "spacing": self.spacing,
            "shape": list(self.shape),
            "box": list(self.box),
            "stresses": list(self.stresses),
            "planar": self.planar,
            "steps": list(self.steps),
            "resolution": self.spacing,
        }

    # --- in: strain rates of a velocity ------------------------------------------------------------

    def read(self):
        """Return the slices (z, y, x) of velocities from which strain rates are made."""
        k0, k1, j0, j1, i0, i1 = self.box
        reach, rise = len(self.weights[0]), len(self.weights[1])
        low, high = k0 - rise, min(k1 + rise, self.shape[0])
        if self.closure is not None:
            low = min(low, self.shape[0] - 1 - self.closure.cols)
        y = slice(0, 1) if self.planar else slice(j0 - reach, j1 + reach)
        return (slice(low, high), y, slice(i0 - reach, i1 + reach))

    def series(self, steps, times, precision):
        """Return the series of pictures that the time loop takes."""
        velocities = [v for v in VELOCITY if any(v in self._parts(s) for s in self.stresses)]
        reads = dict.fromkeys(velocities, self.read())
        return SnapshotSeries("greens", "strain_rate", (), {}, steps, times, reads, self, precision)

    def picture(self, arrays):
        """Return the strain rates of a velocity by place."""
        rates = np.stack([self._rate(stress, arrays) for stress in self.stresses])
        if self.ratio is not None:
            horizontal = [n for n, s in enumerate(self.stresses) if s in ("sxx", "syy")]
            vertical = self.stresses.index("szz")
            rates[vertical, -1] = self.ratio * rates[horizontal, -1].sum(axis=0)
        return self._by_place(rates)

    def _parts(self, stress):
        """Velocities that a strain rate is made of, with the axis of their derivative."""
        a, b = TENSOR[stress]
        parts = {VELOCITY[a]: b} if a == b else {VELOCITY[a]: b, VELOCITY[b]: a}
        return {v: axis for v, axis in parts.items() if not (self.planar and axis == 1)}

    def _rate(self, stress, arrays):
        """Strain rate at the points of a stress in the box."""
        return sum(self._difference(arrays[v], axis, HALF[stress][axis]) for v, axis in self._parts(stress).items())

    def _difference(self, values, axis, to_half):
        """Differentiate a velocity along x, y or z (0, 1, 2), at the points of a stress in the box."""
        reads, first = self.read(), self.box[::2]
        across = [slice(f - r.start, f - r.start + n) for f, r, n in zip(first, reads, self.counts)]
        at, count = 2 - axis, self.counts[2 - axis]
        across[at] = slice(None)
        f = np.moveaxis(values[tuple(across)], at, 0)
        begin = first[at] - reads[at].start
        weights = self.weights[int(axis == 2)]
        if axis == 2:  # nothing moves above the grid
            f = np.concatenate([f, np.zeros((len(weights), *f.shape[1:]), f.dtype)])
        out = np.zeros((count, *f.shape[1:]))
        for n, c in enumerate(weights, 1):
            after, before = begin + n - 1 + to_half, begin - n + to_half
            out += c * (f[after : after + count].astype(float) - f[before : before + count])
        if axis == 2 and self.closure is not None:
            self._close(out, f, to_half, reads[0].start)
        return np.moveaxis(out, 0, at) / self.spacing

    def _close(self, out, f, to_half, start):
        """Replace vertical differences below a free surface by those of its closure."""
        table = self.closure.d1 if to_half else self.closure.d2
        top = self.shape[0] - 1
        first = top if to_half else top - 1  # the highest plane that is read
        planes = [first - start - c for c in range(self.closure.cols)]
        for depth, row in enumerate(table):
            k = top - depth - to_half - self.box[0]
            if 0 <= k < len(out):
                out[k] = -np.tensordot(row, f[planes].astype(float), 1)
        if to_half and self.box[1] == self.shape[0]:
            out[-1] = 0.0  # no half points above the surface

    def _by_place(self, rates):
        """Values (component, z, y, x) in the order of places: components of a point side by side."""
        return np.moveaxis(rates, 0, -1).ravel()

    # --- out: weights of moments -------------------------------------------------------------------

    def rows(self, xyz, six):
        """Return the weights of moments on the places.

        Parameters
        ----------
        xyz : (n, 3) array
            Positions, m.
        six : (n, 6) array
            Moments xx, yy, zz, xy, xz, yz, N m.

        Returns
        -------
        index, weight : (n, places) array
        """
        position = np.round((np.asarray(xyz, float) - self.origin) / self.steps, ROUND)
        moments = dict(zip(TENSOR, np.asarray(six, float).T))
        parts = [
            self._rows_of(number, stress, position, moments[stress]) for number, stress in enumerate(self.stresses)
        ]
        return tuple(np.concatenate(part, axis=1) for part in zip(*parts))

    def _rows_of(self, number, stress, position, moment):
        """Places and weights, (n, places) each, of one stress; among air on points that lie wholly in matter."""
        near = np.zeros(len(position), bool)
        if self.terrain is not None:
            near = position[:, 2] + MARGIN + 1 >= self.terrain.full_planes
        axes = [self._along(position[~near], axis, HALF[stress][axis]) for axis in range(3)]
        blocks = [(np.flatnonzero(~near)[some], *rows) for some, *rows in Spread(None, number, axes, self).blocks()]
        for n in np.flatnonzero(near):
            _, (k, j, i), weights = points.nodes(self.terrain, stress, tuple(position[n]))
            j = np.full_like(k, self.box[2]) if self.planar else j
            blocks.append(([n], (number + self.offset(k, j, i))[None], weights[None]))
        width = max((index.shape[1] for _, index, _ in blocks), default=0)
        index, weight = np.zeros((len(position), width), np.int64), np.zeros((len(position), width))
        for some, of_index, of_weight in blocks:
            index[some, : of_index.shape[1]], weight[some, : of_index.shape[1]] = of_index, of_weight
        return index, weight * moment[:, None]

    def _along(self, position, axis, half):
        """Points and weights along an axis; in the plane one along y."""
        if self.planar and axis == 1:
            one = np.ones(len(position), int)
            return SimpleNamespace(first=self.box[2] * one, count=one, weights=one[:, None].astype(float))
        return AxisWeights(position[:, axis] - half / 2, 0, self.shape[2 - axis] - 1 - half)

    def offset(self, k, j, i):
        """Return the first place of points (k, j, i) of the grid."""
        k0, _, j0, _, i0, _ = self.box
        _, ny, nx = self.counts
        return (((k - k0) * ny + (j - j0)) * nx + (i - i0)) * len(self.stresses)


def strain_rates(d, low, high, stations, scenario):
    """Return the `StrainRates` of a volume of a `Discretisation`.

    Parameters
    ----------
    d : Discretisation
    low, high : tuple of float
        Corners of the volume of sources, m.
    stations : Receivers
        Where forces will be.

    Returns
    -------
    StrainRates or None
    problems : list of Problem
    """
    box = box_around(d, low, high)
    problems = refusals(d, box) or close_to_layers(d, stations)
    if problems:
        return None, problems
    stresses = tuple(s for s in TENSOR if s in d.stress)
    ratio = None
    if d.free and box[1] == d.grid.shape[0] and "szz" in stresses:
        ratio = top_ratio(d, box)
    weights = (d.stencil.horizontal, d.stencil.vertical)
    return StrainRates(
        tuple(map(float, d.grid.origin)),
        float(d.grid.spacing),
        tuple(map(int, d.grid.shape)),
        box,
        stresses,
        bool(d.planar),
        tuple(map(float, d.grid.steps)),
        weights,
        d.closure if d.free and reaches_closure(d, box) else None,
        ratio,
        d if d.ground is not None else None,
        scenario,
    ), []


def of_about(about, terrain=None):
    """Return the `StrainRates` of a store, for weights.

    Parameters
    ----------
    about : dict
        See `StrainRates.about`.
    terrain : Discretisation, optional
        Where the model has a topography.

    Raises
    ------
    LookupError, TypeError, ValueError
        It is not what `StrainRates.about` says of any.
    """
    about = {"steps": [about["spacing"]] * 3} | about  # stores of earlier versions have none
    names = ("origin", "spacing", "shape", "box", "stresses", "planar", "steps")
    known = {n: tuple(v) if isinstance(v := about[n], list) else v for n in names}
    field = StrainRates(**known, terrain=terrain)
    lengths = len(field.origin), len(field.shape), len(field.box)
    if lengths != (3, 3, 6) or not field.spacing > 0 or not set(field.stresses) <= set(TENSOR):
        raise ValueError("of no box of a grid")
    return field


def box_around(d, low, high):
    """Box of points that the weights of positions in a volume reach."""
    box = []
    for n, axis in enumerate((2, 1, 0)):
        count = d.grid.shape[n]
        if d.planar and axis == 1:
            box += [0, 1]
            continue
        first = (low[axis] - d.grid.origin[axis]) / d.grid.steps[axis]
        last = (high[axis] - d.grid.origin[axis]) / d.grid.steps[axis]
        top = axis == 2 and (d.free or d.ground is not None)
        end = math.ceil(last - 1e-6) + MARGIN + 1
        # below the free surface fewer points are taken, from further inside (EDGE_NODES)
        begin = math.floor(first + 1e-6) - MARGIN
        box += [min(begin, count - NODES) if top else begin, min(end, count) if top else end]
    return tuple(int(v) for v in box)


def reaches_closure(d, box):
    """Return True where differences in the box are those of the closure."""
    return box[1] + len(d.stencil.vertical) > d.grid.shape[0] - d.closure.rows


def top_ratio(d, box):
    """Vertical over the sum of horizontal strains on the free surface, at the top of a box."""
    j, i = np.meshgrid(np.arange(*box[2:4]), np.arange(*box[4:]), indexing="ij")
    top = np.full(j.size, d.grid.shape[0] - 1)
    return -material.vertical_strain(d, [top, j.ravel(), i.ravel()]).reshape(j.shape)


def refusals(d, box):
    """Return what is wrong with a volume: list of Problem."""
    if d.acoustic:
        remedy = 'write domain.waves = "elastic"'
        return [Problem("greens", "Green's functions are not computed of acoustic waves", remedy)]
    if (
        d.partly_fluid
        and (sides.contents(d, (max(box[0], 0), min(box[1], d.grid.shape[0]), *box[2:])) == sides.FLUID).any()
    ):
        words = f"the volume reaches a fluid, or comes within {MARGIN + 1} points of one"
        return [Problem("greens", words, "let it end deeper (greens.to)")]
    reach = max(len(d.stencil.horizontal), len(d.stencil.vertical))
    for axis in range(3):
        if d.planar and axis == 1:
            continue
        # layers have derivatives of their own; differences may reach into them
        first, last = d.unstretched(axis)
        first, last = max(first, reach), min(last, d.grid.shape[2 - axis] - reach)
        begin, end = box[2 * (2 - axis) : 2 * (2 - axis) + 2]
        free = axis == 2 and (d.free or d.ground is not None)
        if begin < first or (end > last and not free):
            low, high = (
                d.grid.origin[axis] + d.grid.steps[axis] * n
                for n in (first + MARGIN, last - 1 + (reach if free else -MARGIN))
            )
            words = f"the volume is too close to a boundary along {'xyz'[axis]}"
            return [Problem("greens", words, f"keep it between {low:,.6g} and {high:,.6g} m")]
    return []


def close_to_layers(d, stations):
    """Return which stations a layer's points are weights of, where runs are not reciprocal: list of
    Problem.
    """
    position = (stations.xyz - np.array(d.grid.origin)) / d.grid.steps
    close = np.zeros(len(position), bool)
    for axis, side in d.faces("cpml"):
        first, last = d.unstretched(axis)
        at = position[:, axis]
        close |= at < first + MARGIN - 1 if side == 0 else at > last - MARGIN
    names = [stations.names[n] for n in np.flatnonzero(close)]
    remedy = f"keep {MARGIN} spacings from it, or make the domain larger"
    words = "{} lies in an absorbing layer or next to it"
    return [Problem("receivers", words.format(name), remedy) for name in names[:5]]
