"""Contacts of fluid and solid: differences along every axis that end there.

Normal motion and traction are continuous at a contact with a kink; tangential traction vanishes and
tangential motion jumps. A difference that reaches across ties the water to static stress of the
solid, which it cannot hold: its eddies have no stiffness, so that however small the tie is, they
grow to the size of the waves, by 3 m/s in 2 s beside an Mw 3.9 in rock one cell below a floor.
So no difference crosses a contact, whatever its shape is.

Cells are fluid or solid, and a line of points along an axis is cut at half points: between a fluid
and a solid cell for the normal pair, va and saa along a; at every edge of which a cell is fluid for
a tangential pair, va and sab along b, whose traction sab is zero there. Between cuts,

    normal       va beyond a cut is mirrored oddly about that on it, 2 va(0) - va(n)
    tangential   sab beyond a cut is mirrored oddly about zero, -sab(n)

in differences from half to integer points; mirrors at both ends reflect again where they are close.
Differences from integer to half points are minus the transpose, with all norms those of the scheme,
so that the operator stays skew-adjoint and energy is conserved whatever the lines beside it do.
Mirrors are exact for linear functions, transposed for constants: of first order at the contact.

Where the floor is level throughout the domain, its norms may differ from 1, and both sides have the
closure of a free surface (closure.py), half points in place of integer ones: vz, shared by the two
sides, and sxz = syz = 0 lie on the floor, as vx and szz = 0 do on a free surface. With

    H D2 = -(H D1)^T                half points on the floor have the norms of both sides,

the boundary terms of szz of the two sides cancel. Differences are of second order at the floor.
Thin water, and floors near an absorbing layer along z, have mirrors.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from craton.core.deferred import Sparse
from craton.core.plan import Array, Launch
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import operators, relaxing
from craton.methods.finite_difference.equations.boundaries import along, slab_params
from craton.methods.finite_difference.equations.material import cells
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.protocol import remembered
from craton.model.media.cells import in_order

CHUNK = 16  # planes looked at a time
PAIRS = 9  # (a, b), number 3 a + b: velocity va and stress sab, differentiated along b
NO_ROWS = np.zeros((0, 0))
FAR = 1 << 20  # planes: no free surface is near


# --- a line of points -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Line:
    """Differences along an axis, of the normal or of a tangential pair, where cuts are close.

    Half point n lies between the integer points n and n + 1. A row is the difference from half points
    n - size .. n + size - 1 to integer point n, times the norm of this.

    Parameters
    ----------
    weights : tuple of float
        Of the plain differences, see `scheme.Stencil`.
    size : int
        Half points that rows have on either side, at least `reach`.
    normal : bool
    upward : (rows, rows) array
        Differences below a free surface, from half points to integer ones, both counted down; of
        no rows where there is none.
    floor : (rows, columns) array
        Differences away from a level floor, from half points, the first on it, to integer ones.
    """

    weights: tuple
    size: int
    normal: bool
    upward: np.ndarray = field(default_factory=lambda: NO_ROWS)
    floor: np.ndarray = field(default_factory=lambda: NO_ROWS)

    def codes(self, cuts: np.ndarray, depth: np.ndarray | None = None) -> np.ndarray:
        """Return a number of the difference at each integer point, 0 for the plain one.

        Parameters
        ----------
        cuts : (..., n) bool array
            Half points where the line is cut.
        depth : (n,) int array
            Planes below a free surface.
        """
        before, behind = (np.zeros(cuts.shape, np.uint16) for _ in range(2))
        for n in range(self.base - 1, 0, -1):
            before[shifted(cuts, -n)] = n
            behind[shifted(cuts, n - 1)] = n
        surface = np.zeros(cuts.shape[-1], int)
        if depth is not None:
            surface = np.where((depth >= 0) & (depth < len(self.upward)), depth + 1, 0)
        used = (before > 0) | (behind > 0)
        if self.normal:
            used &= surface != 1  # szz is zero on the surface
        else:
            used &= np.any([shifted(~cuts, n) for n in range(-self.reach, self.reach)], axis=0)
        return np.where(used, before + self.base * (behind + self.base * surface), 0)

    @property
    def reach(self) -> int:
        """Half points on either side that any difference along the axis takes."""
        return max(len(self.weights), len(self.upward), len(self.floor))

    @property
    def base(self) -> int:
        """Distances of cuts are below it."""
        return self.reach + 1

    def depth(self, code: int) -> int:
        """Return the planes below a free surface, -1 where it is far, of the point of a number."""
        return int(code) // self.base**2 - 1

    def row(self, code: int) -> np.ndarray:
        """Return the difference of a number that `codes` has given, (2 size,)."""
        before, behind, depth = (int(code) % self.base, int(code) // self.base % self.base, self.depth(code))
        if len(self.floor) and depth < 0 and (before == 0) != (behind == 0):
            return self.from_floor(before, behind)
        low, high = -before if before else -np.inf, behind - 1 if behind else np.inf
        top = depth - 1 if depth >= 0 else np.inf  # the highest half point
        plain, out = self.plain(depth), np.zeros(2 * self.size)
        for place in np.flatnonzero(plain):
            at, weight = int(place) - self.size, plain[place]
            while at < low or at > high:
                cut = int(low if at < low else high)
                at, inside = 2 * cut - at, 2 * cut - at <= top
                if self.normal:
                    out[cut + self.size] += weight * (1 + inside)
                weight *= -1 if inside else 0
                at = at if inside else cut
            out[at + self.size] += weight
        if not self.normal:
            half = np.arange(-self.size, self.size)
            out[(half <= low) | (half >= high)] = 0
        return out

    def from_floor(self, before: int, behind: int) -> np.ndarray:
        """Return the difference at a point so far behind a level floor, or before it."""
        row, sign = (before - 1, 1) if before else (behind - 1, -1)
        out, columns = np.zeros(2 * self.size), np.flatnonzero(self.floor[row])
        place = self.size + (columns - before if before else behind - 1 - columns)
        out[place] = sign * self.floor[row, columns]
        if not self.normal:
            out[self.size + (-before if before else behind - 1)] = 0
        return out

    def plain(self, depth: int = -1) -> np.ndarray:
        """Return the plain difference in a plane below a free surface, -1 for elsewhere."""
        out = np.zeros(2 * self.size)
        for n, weight in enumerate(self.weights, 1):
            out[self.size + n - 1] = weight
            out[self.size - n] = -weight
        if depth >= 0:  # half point m, counted down, is half point depth - 1 - m from here
            below = depth - 1 - np.arange(len(self.upward))
            out[self.size + depth :] = 0
            out[self.size + below] = self.upward[depth]
        return out


def shifted(values: np.ndarray, n: int) -> np.ndarray:
    """Return the values n points behind along the last axis, False beyond its ends."""
    out = np.zeros_like(values)
    if n >= 0:
        out[..., : values.shape[-1] - n] = values[..., n:]
    else:
        out[..., -n:] = values[..., :n]
    return out


# --- the contacts of a grid -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Closures:
    """Closed differences at the points of a box of the grid.

    Parameters
    ----------
    box : tuple of int
    situations : Sparse
        Number of each point's row of `rows`; 0 where nothing is to be added.
    rows : (situations, 2 PAIRS) int array
        Number of the pattern of each derivative: for velocities, then for stresses.
    patterns : (patterns, 2 size) array
        What a closed difference has more than the plain one: from half points -size .. size - 1 to
        an integer point, from integer points 1 - size .. size to a half point. Number 0 has nothing.
    """

    box: tuple
    situations: Sparse
    rows: np.ndarray
    patterns: np.ndarray


class Search:
    """The search for closed differences in a grid.

    Parameters
    ----------
    d : Discretisation
    """

    def __init__(self, d):
        self.d, self.upward, floor = d, NO_ROWS, NO_ROWS
        if d.free:
            rows = d.closure.rows
            self.upward = (d.closure.d1[:, :rows] * d.closure.hm[:, None]).T
        if d.floor is not None:
            floor = d.floor_closure.d1 * d.floor_closure.hm[:, None]
        self.size = max(d.reach, len(self.upward), len(floor))
        self.lines = {
            (axis, normal): Line(d.stencil.axes[axis], self.size, normal, *([self.upward, floor] if axis == 2 else ()))
            for axis in (*d.horizontal, 2)
            for normal in (True, False)
        }
        ghosts = 3 * self.size + 2
        self.ghosts = [0 if axis == 1 and d.planar else ghosts for axis in range(3)]
        self.axes = [along_axis(d, axis, n) for axis, n in enumerate(self.ghosts)]
        self.patterns, self.situations = Numbers(2 * self.size), Numbers(2 * PAIRS)
        self.planes: dict = {}

    def closures(self) -> Closures | None:
        """Return the closed differences, None where no contact is."""
        nz = self.d.grid.shape[0]
        parts = [part for k in range(0, nz, CHUNK) if (part := self.part(k, min(k + CHUNK, nz)))]
        if not parts:
            return None
        (k, j, i), numbers = (np.concatenate(one, axis=-1) for one in zip(*parts))
        box = tuple(int(v) for n in (k, j, i) for v in (n.min(), n.max() + 1))
        shape = tuple(high - low for low, high in zip(box[::2], box[1::2]))
        places = np.ravel_multi_index((k - box[0], j - box[2], i - box[4]), shape)
        rising = np.argsort(places)
        situations = Sparse(shape, places[rising], numbers[rising])
        patterns = self.patterns.rows()
        spare = min(self.size - self.d.reach, int((np.abs(patterns).max(0) > 0).argmax()))
        kept = slice(spare, 2 * self.size - spare)
        return Closures(box, situations, self.situations.rows().astype(int), patterns[:, kept])

    def part(self, first: int, last: int) -> tuple | None:
        """Return the situations of planes first .. last - 1: points (k, j, i) of the grid, numbers;
        None where there are none.
        """
        contents, corner, thin = self.cropped(first, last)
        if not contents.size:
            return None
        ghosts, whole = np.array(self.ghosts[::-1]), self.d.grid.shape
        low, high = np.array([first, 0, 0]), np.array([last, *whole[1:]])
        begin = np.maximum(low, corner + ghosts)
        end = np.minimum(high, corner + contents.shape - ghosts)
        if (end <= begin).any():
            return None
        inner = tuple(slice(*pair) for pair in zip(begin - corner, end - corner))
        slots, at, numbers = [], [], []
        for a, b in pairs(self.d):
            for slot, of_pair in self.pair(contents, a, b, int(corner[0])).items():
                at.append(np.flatnonzero(of_pair[inner]))
                numbers.append(of_pair[inner].ravel()[at[-1]])
                slots.append(np.full(len(at[-1]), slot))
        at, which = np.unique(np.concatenate(at), return_inverse=True)
        rows = np.zeros((len(at), 2 * PAIRS), np.int32)
        rows[which, np.concatenate(slots)] = np.concatenate(numbers)
        points = [n + low for n, low in zip(np.unravel_index(at, end - begin), begin)]
        numbers = self.situations.of_each(rows)
        for axis in np.flatnonzero(thin):  # the same at all points along it
            count = whole[axis]
            points, numbers = [np.repeat(n, count) for n in points], np.repeat(numbers, count)
            points[axis] = np.tile(np.arange(count), len(numbers) // count)
        return (np.stack(points), numbers) if len(at) else None

    def cropped(self, first: int, last: int) -> tuple:
        """Return what the cells hold around the contacts of some planes, with ghosts; the point (k,
        j, i) of its first; and along which axes it is one cell for all, since they are equal.
        """
        contents = self.contents(first, last + 2 * self.ghosts[2])
        mixed = around(contents == sides.FLUID) & around(contents == sides.SOLID)
        corner = np.array([first, 0, 0]) - self.ghosts[::-1]
        thin = np.zeros(3, bool)
        if not mixed.any():
            return np.zeros(0), corner, thin
        for axis, ghosts in enumerate(self.ghosts[::-1]):
            thin[axis] = axis and (contents == contents.take([0], axis)).all()
            on = np.flatnonzero(mixed.any(axis=tuple({0, 1, 2} - {axis})))
            low, high = max(on[0] - 2 * ghosts, 0), on[-1] + 2 * ghosts + 1
            if thin[axis]:
                low, high = 0, 2 * ghosts + 1
            contents = np.moveaxis(np.moveaxis(contents, axis, 0)[low:high], 0, axis)
            corner[axis] += low
        return contents, corner, thin

    def contents(self, low: int, high: int) -> np.ndarray:
        """Return what the cells of planes low .. high - 1 of the padded grid hold, (k, j, i)."""
        d, planes = self.d, self.axes[2][low:high]
        self.planes = {k: plane for k, plane in self.planes.items() if k in planes}
        new = sorted({*planes} - {*self.planes})
        windows = [(k, k + 1, 0, d.grid.shape[1], 0, d.grid.shape[2]) for k in new]
        for k, (rho, _, mu) in zip(new, in_order(lambda at: cells(d, d.grid.window(at)), windows)):
            self.planes[k] = sides.kinds(rho, mu)[0][np.ix_(self.axes[1], self.axes[0])]
        return np.stack([self.planes[k] for k in planes])

    def pair(self, contents: np.ndarray, a: int, b: int, lowest: int) -> dict:
        """Return the numbers of patterns of a pair (see `PAIRS`) by their column of `Closures.rows`.

        Parameters
        ----------
        contents : (k, j, i) array
        a, b : int
        lowest : int
            Plane of its first cells.
        """
        line, along_b = self.lines[b, a == b], np.moveaxis(contents, 2 - b, -1)
        kinds = np.stack([along_b == sides.FLUID, along_b == sides.SOLID])
        every, some = kinds, kinds[0]  # of the cells that va touches
        if a != b and not (a == 1 and self.d.planar):
            beside = np.moveaxis(next_along(np.moveaxis(kinds, -1, 3 - b), 3 - a), 3 - b, -1)
            every, some = kinds & beside, kinds[0] | beside[0]
        ahead = shifted(every, 1)
        cuts = some | shifted(some, 1)
        if a == b:
            cuts = (every[1] & ahead[0]) | (every[0] & ahead[1])
        depth = np.full(cuts.shape[-1], FAR)
        planes = lowest + np.arange(len(depth))
        norms = np.ones((2, 2, len(depth)))  # of the plain and the closed differences, both points
        if b == 2:
            if self.d.free:
                depth = self.d.grid.shape[0] - 1 - planes
            closed = [self.d.norms(planes, half) for half in (0, 1)]
            beside = [self.d.floor_norms(planes, half) for half in (0, 1)]
            norms = np.array([np.divide(closed, beside), closed])
        codes = line.codes(cuts, depth)
        numbers = [
            self.of_integer(line, codes, norms[:, 0]),
            self.of_half(line, codes, norms[:, 1], (depth > 0) & (~cuts | (a == b))),
        ]
        if a == b:
            numbers.reverse()
        columns = 3 * a + b, PAIRS + 3 * a + b
        return {n: np.moveaxis(all, -1, 2 - b) for n, all in zip(columns, numbers)}

    def of_integer(self, line: Line, codes: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """Return the number of the pattern of each integer point, norms (plain and closed, n)."""
        out, at = np.zeros(codes.shape, np.int32), np.nonzero(codes)
        columns = [codes[at], *(n[at[-1]] for n in norms)]
        first, which = distinct(columns)
        rows = [
            line.row(code) / closed - line.plain(line.depth(code)) / plain
            for code, plain, closed in zip(*(column[first] for column in columns))
        ]
        out[at] = self.patterns.of_each(np.reshape(rows, (-1, 2 * self.size)))[which]
        return out

    def of_half(self, line: Line, codes: np.ndarray, norms: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Return the number of the pattern of each half point: minus the transpose.

        Parameters
        ----------
        line : Line
        codes : (..., n) int array
        norms : (2, n) array
            Of the plain and of the closed differences.
        asked : (..., n) bool array
            Which half points are asked for.
        """
        size, out = self.size, np.zeros(codes.shape, np.int32)
        offsets = range(1 - size, size + 1)
        beside_cuts = asked & np.any([shifted(codes != 0, n) for n in offsets], axis=0)
        beside_cuts[..., : size - 1], beside_cuts[..., -size:] = False, False  # among the ghosts
        at = np.nonzero(beside_cuts)
        columns = [codes[(*at[:-1], at[-1] + n)] for n in offsets]
        columns += [n[at[-1]] for n in norms]
        first, which = distinct(columns)
        rows = []
        for *window, plain, closed in zip(*(column[first] for column in columns)):
            whole = line.plain() * (1 / plain - 1 / closed)
            more = [(line.row(code) - line.plain(line.depth(code)) if code else np.zeros(2 * size)) for code in window]
            rows.append([whole[size - n] - lacking[size - n] / closed for n, lacking in zip(offsets, more)])
        out[at] = self.patterns.of_each(np.reshape(rows, (-1, 2 * size)))[which]
        return out


class Numbers:
    """Rows that are numbered in the order in which they come, zeros first.

    Parameters
    ----------
    length : int
        Of a row.
    """

    def __init__(self, length: int):
        self.known = {(0,) * length: 0}

    def of_each(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of each row, (n,)."""
        first, which = distinct(rows.T)
        assigned = [self.known.setdefault(tuple(rows[n].tolist()), len(self.known)) for n in first]
        return np.array(assigned, np.int32)[which]

    def rows(self) -> np.ndarray:
        """Return all rows, (n, length)."""
        return np.array([*self.known])


def distinct(columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of the first of each kind of row, and the kind of every row, of an array
    given by its columns.
    """
    key, first = np.zeros(len(columns[0]), np.int64), np.zeros(0, int)
    for column in columns:
        values, kind = np.unique(column, return_inverse=True)
        _, first, key = np.unique(key * len(values) + kind, return_index=True, return_inverse=True)
    return first, key


def next_along(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the values of the next point along an axis, False behind its end."""
    return np.moveaxis(shifted(np.moveaxis(values, axis, -1), 1), -1, axis)


def around(values: np.ndarray) -> np.ndarray:
    """Return which blocks of 2 x 2 x 2 points hold one that is True, by their first point."""
    for axis in range(values.ndim):
        values = values | next_along(values, axis)
    return values


def pairs(d) -> list[tuple[int, int]]:
    """Return the (a, b) whose stress sab is differentiated along b for va."""
    moving = [axis for axis, name in enumerate(VELOCITY) if name in d.fields]
    return [(a, b) for a in moving for b in (*d.horizontal, 2)]


def along_axis(d, axis: int, ghosts: int) -> np.ndarray:
    """Return the cells from which those along an axis with ghosts are made, as `material.fill` has
    them: CPML layers and what is behind the ends repeat the cells beside them.
    """
    count = d.grid.shape[2 - axis]
    at = np.arange(-ghosts, count + ghosts)
    if axis in {along for along, _ in d.faces("periodic")}:
        return at % count
    first, last = d.unstretched(axis)
    return np.clip(at, first, last - 1)


@remembered
def closures(d) -> Closures | None:
    """Return the `Closures` of a grid, None where nothing is to be added."""
    return Search(d).closures() if d.partly_fluid and d.order > 2 else None


def contact(d):
    """Arrays and launches of both steps; none where no fluid lies beside a solid."""
    closed = closures(d)
    if closed is None:
        return {}, {}
    box = list(closed.box)
    if d.planar:
        box[2:4] = d.box[2:4]
    size, of = closed.patterns.shape[1] // 2, closed.situations
    share = len(of.places) / np.prod(of.shape)
    velocity = of_some(operators.contact_velocity(d.stencil, size), share)
    stress = of_some(operators.contact_stress(d.stencil, size, d.relaxing, d.free), share)
    params = slab_params(d, box)
    launches = {
        "velocity": [Launch(velocity, d.names(*velocity.arrays), tuple(box), params)],
        "stress": [Launch(stress, d.names(*stress.arrays), tuple(box), relaxing.params(d, params))],
    }
    over = [along(axis, box) for axis in (2, 1, 0)]
    if d.planar:
        over[1] = None
    return {
        "situations": Array("material", of.shape, np.int32, of, over=tuple(over)),
        "closed_rows": table(closed.rows, np.int32),
        "closed_patterns": table(closed.patterns, d.precision),
    }, launches


def of_some(op, share: float):
    """Return an operator with its work where that is done at a share of the points alone."""
    reals = 1 + share * (op.reals_per_point - 1)
    return replace(op, reals_per_point=float(reals), flops=float(share * op.flops))


def table(values: np.ndarray, dtype) -> Array:
    """Return a table that is the same for all points."""
    return Array("material", values.shape, dtype, values.astype(dtype), over=(None, None))
