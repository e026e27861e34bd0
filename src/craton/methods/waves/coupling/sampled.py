"""Waves that were sampled on another grid, or by another program, as incident waves of an injection: interpolated in space onto the
places, and resampled to the steps, of the run.

Points that are part of a regular lattice, such as a shell around a box, are interpolated with weights on those that are there.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import product

import numpy as np

from craton.errors import Problem
from craton.io.contents import Wavefield
from craton.methods.waves.interpolate import fitted_many
from craton.survey import leapfrog

TOGETHER = 2048  # places whose series are computed at a time
CARRIED = 1e-2  # of the largest amplitude: the highest frequency that counts has this
QUIET = 1e-3  # of the largest value: the first one, where waves have come before it
SAMPLES = 2.5  # a period of the highest frequency that counts
POINTS = 3.5  # a wavelength of it
WORST = 0.3  # relative error of that frequency
SAME_MEDIUM = 1e-2  # relative; the medium is known at the points around a place only
SAME_POINT = 1e-3  # m: positions that are the same
PLACES = {"v": 0.5, "s": 0.0, "u": 0.0}  # of values within a step
COUNTS = (8, 6, 4, 2)  # points along an axis, the most that are there
ON_LINE = 1e-6  # of the spacing: positions on a line of the lattice
REGULAR = 1e-3  # of the spacing: how far points may lie off the lattice
SPAN = np.array(list(product((0, 1), repeat=3)))


def medium_problem(key, words, place):
    """Return the Problem of a box beside which the media of two runs differ, as `words` say, at a place (3,), m."""
    where = ", ".join(f"{v:.6g}" for v in place)
    message = f"at the box the medium is not that of the recording: {words} at ({where}) m"
    return Problem(key, message, "let the media agree at the sides of the box; anomalies belong inside")


def summed(velocity, dt):
    """Return displacements at each step of velocities half a step after it, (steps, n)."""
    return np.concatenate([np.zeros((1, velocity.shape[1])), dt * velocity.cumsum(axis=0)])[:-1]


@dataclass(frozen=True, eq=False)
class SampledIncident:
    """Waves at points around a box.

    Parameters
    ----------
    key : str
        Of the scenario, for messages: ``"injection.0"``.
    waves : Wavefield
    corners : (2, 3) array
        Of the box, m.
    band : float
        Highest frequency, Hz.
    resolution : dict
        Slowest speed and error of the interpolation, once the places of the run are known.
    """

    key: str
    waves: Wavefield
    corners: np.ndarray
    band: float = np.inf
    resolution: dict = field(default_factory=dict)

    wavelet, resampled = None, True

    @property
    def about(self):
        """When it begins, s; it asks for no step."""
        return {"start": self.waves.start, "dt": None}

    @cached_property
    def frequency(self):
        """Highest frequency that counts, Hz: above it no spectrum of a velocity or displacement
        has more than a hundredth of the largest amplitude.
        """
        every = []
        for name, series in self.waves.values.items():
            if name[0] in "uv":
                frequencies, amplitude = leapfrog.amplitudes(series, self.waves.interval)
                every.append(amplitude)
        largest = np.max(every, axis=0)
        return float(frequencies[largest > CARRIED * largest.max()].max(initial=0.0))

    @cached_property
    def lattice(self):
        """The `Lattice` of the points, None where they are scattered."""
        try:
            return lattice_of(self.waves.xyz)
        except NoLattice:
            return None

    def describe(self):
        """Return what it is, in words."""
        waves = self.waves
        kind = "a lattice of points" if self.lattice is not None else "scattered points"
        return f"{waves.name}: {len(waves.xyz):,} points on {kind}, every {waves.interval:.4g} s"

    def clock_problems(self, d):
        """Return where the waves do not cover the run, begin in motion, or are sampled too coarsely:
        list of Problem.
        """
        waves, key, end = self.waves, self.key, d.start + (d.steps - d.extra) * d.dt
        if waves.end < end - 0.5 * max(waves.interval, d.dt):
            words = f"the waves end at {waves.end:.6g} s, the run at {end:.6g} s"
            return [Problem(key, words, f"record them for longer, or write time.duration = {waves.end:.6g} at most")]
        known = [series for name, series in waves.values.items() if name[0] in "uv"]
        peak = max(float(np.abs(series).max()) for series in known)
        before = max(int(np.floor((d.start - waves.start) / waves.interval)), 0) + 1
        early = max(float(np.abs(series[:before]).max()) for series in known)
        if not peak:
            return [Problem(key, "the waves are zero everywhere", "give others")]
        if self.frequency * waves.interval * SAMPLES > 1:
            samples = 1 / (self.frequency * waves.interval)
            words = (
                f"an interval of {waves.interval:.4g} s is too long: at {self.frequency:.4g} Hz the waves "
                f"have a hundredth of their largest amplitude, {samples:.2g} samples a period"
            )
            return [Problem(key, words, f"give {SAMPLES:g} samples a period, or filter them")]
        if early > QUIET * peak:
            words = f"waves have come before the run begins, at {d.start:.6g} s"
            if d.start <= waves.start:
                words = f"the waves begin in motion, at {waves.start:.6g} s"
            remedy = f"begin from rest; write time.start = {waves.start:.6g}, or leave start out"
            return [Problem("time.start" if d.start > waves.start else key, words, remedy)]
        return []

    def points_per_wavelength(self, slowest):
        """Return points per wavelength of the slowest speed, m/s, at the highest frequency that
        counts.
        """
        lines = np.array(self.lattice.number.shape) > 1
        return slowest / max(self.frequency, 1e-30) / self.lattice.spacing[lines].max()

    def weights(self, xyz):
        """Return weights (positions, points) of values at positions (n, 3), m, their largest
        relative error per wavenumber or None, and which have too few points around them.
        """
        if self.lattice is not None:
            onto = interpolation(self.lattice, xyz, self.waves.fewest)
            return onto.matrix, onto.error, onto.missing
        from scipy.sparse import csr_array
        from scipy.spatial import cKDTree

        distance, point = cKDTree(self.waves.xyz).query(xyz)
        shape = len(xyz), len(self.waves.xyz)
        matrix = csr_array((np.ones(len(xyz)), (np.arange(len(xyz)), point)), shape=shape)
        return matrix, lambda wavenumber: 0.0, distance > SAME_POINT

    def problems(self, fields, xyz, medium, reach):
        """Return where the waves do not cover places of a run, are sampled too coarsely or in another
        medium: list of Problem.

        Parameters
        ----------
        fields : sequence of str
            That are needed there.
        xyz : (n, 3) array
            m.
        medium : dict of str to (n,) array
            vp, vs, rho of the run.
        reach : float
            m over which the run averages its medium.
        """
        absent = sorted({name for name in fields if not self.source_of(name)})
        if absent:
            words = f"it has no {', '.join(absent)}, which the run needs at the box"
            remedy = "give velocity or displacement, and for finite differences stress or strain"
            return [Problem(self.key, words, remedy)]
        _, error, missing = self.weights(xyz)
        if missing.any():
            x, y, z = xyz[np.flatnonzero(missing)[0]]
            low, high = self.waves.xyz.min(axis=0), self.waves.xyz.max(axis=0)
            limits = ", ".join(f"{a:,.6g} to {b:,.6g}" for a, b in zip(low, high))
            words = (
                f"it does not cover the box: {missing.sum():,} of {len(xyz):,} places of the run lack points "
                f"around them, the first at ({x:.6g}, {y:.6g}, {z:.6g}) m; its points span {limits} m"
            )
            if self.lattice is None:
                words += f", and scattered points are taken only within {SAME_POINT} m of a place"
            return [Problem(self.key, words, "sample a thicker layer on both sides of the box, on a regular lattice")]
        slowest = float((medium["vs"] if np.all(medium["vs"] > 0) else medium["vp"]).min())
        self.resolution.update(slowest=slowest, error=error(2 * np.pi * self.frequency / slowest))
        if self.lattice is not None and self.points_per_wavelength(slowest) < POINTS:
            words = (
                f"{self.points_per_wavelength(slowest):.2g} points a wavelength at {self.frequency:.4g} Hz, where "
                f"the waves have a hundredth of their largest amplitude, at {slowest:.5g} m/s"
            )
            remedy = f"sample them with {POINTS:g} points a wavelength or more, or filter them"
            return [Problem(self.key, words, remedy)]
        if self.resolution["error"] > WORST:
            words = (
                f"between its points waves of {self.frequency:.4g} Hz, where they have a hundredth of their largest "
                f"amplitude, are off by {self.resolution['error']:.2g}"
            )
            remedy = "sample them with more points a wavelength, or in a thicker layer, or filter them"
            return [Problem(self.key, words, remedy)]
        return self.medium_problems(xyz, medium, reach)

    def medium_problems(self, xyz, medium, reach):
        """Return where the medium of the run lies outside that of the points around: list of
        Problem.
        """
        if self.lattice is None:
            return []
        corners = list(self.lattice.corners(xyz, reach))
        known = np.all([number >= 0 for number in corners], axis=0)
        for name in self.waves.medium:
            values = medium.get(name, np.zeros(len(xyz)))  # a run without attenuation has no Q
            around = np.array([self.waves.medium[name][number] for number in corners])
            low, high = around.min(axis=0), around.max(axis=0)
            room = SAME_MEDIUM * np.maximum(np.abs(high), 1.0)
            differs = known & ((values < low - room) | (values > high + room))
            if differs.any():
                n = int(np.flatnonzero(differs)[0])
                words = f"{name} = {values[n]:.6g} instead of {low[n]:.6g} to {high[n]:.6g}"
                return [medium_problem(self.key, words, xyz[n])]
        return []

    def source_of(self, name):
        """Return the field from which that of a name is made, None where there is none."""
        other = {"u": "v", "v": "u"}.get(name[0], "s") + name[1:]
        return next((source for source in (name, other) if source in self.waves.values), None)

    def series(self, d, fields, xyz, precision):
        """Return velocities, half a step after each step, displacements and stresses, at it: (steps, n).

        Parameters
        ----------
        d : Discretisation
        fields : (n,) array of str
        xyz : (n, 3) array
            m.
        precision : dtype
        """
        out = np.zeros((d.steps, len(fields)), precision)
        waves = self.waves
        for name in np.unique(fields):
            source = self.source_of(str(name))
            integrated = name[0] == "u" and source[0] == "v"
            away = waves.start - d.start, waves.place.get(source, 0.0)
            onto_steps = partial(
                leapfrog.resampled,
                interval=waves.interval,
                offset=away,
                steps=d.steps,
                dt=d.dt,
                shift=PLACES["v" if integrated else name[0]],
                leapfrog=waves.leapfrog,
                rate=name[0] == "v" and source[0] == "u",
            )
            chosen, values = np.flatnonzero(fields == name), waves.values[source]
            matrix = self.weights(xyz[chosen])[0]
            used = np.unique(matrix.indices)
            # both are linear: first what makes fewer series
            in_time_first = len(used) <= len(chosen)
            values, matrix = values[:, used], matrix[:, used]
            values = onto_steps(values).astype(out.dtype) if in_time_first else values
            for begin in range(0, len(chosen), TOGETHER):
                columns = slice(begin, begin + TOGETHER)
                series = (matrix[columns] @ values.T).T
                series = series if in_time_first else onto_steps(series)
                out[:, chosen[columns]] = summed(series, d.dt) if integrated else series
        return out

    @property
    def words(self):
        """What the plan says of its sampling."""
        samples, slowest = 1 / (self.frequency * self.waves.interval), self.resolution["slowest"]
        words = f"up to {self.frequency:.4g} Hz, where they have a hundredth of their largest amplitude, {samples:.3g} samples a period"
        if self.lattice is None:
            return f"{words}, taken at the points themselves"
        points, error = self.points_per_wavelength(slowest), self.resolution["error"]
        return f"{words}, {points:.3g} points a wavelength at {slowest:.5g} m/s, interpolated with errors up to {error:.2g} there"


# --- points of a lattice ---------------------------------------------------------------------------


class NoLattice(ValueError):
    """Points that are no part of a regular lattice."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points of a regular lattice along x, y and z; not all of its places hold one.

    Parameters
    ----------
    origin, spacing : (3,) array
        m; the spacing along an axis with one line is 1.
    number : int array, shape (nx, ny, nz)
        Of the point at each place, -1 where there is none.
    """

    origin: np.ndarray
    spacing: np.ndarray
    number: np.ndarray

    @cached_property
    def filled(self):
        """Points below each place along all axes, (nx + 1, ny + 1, nz + 1)."""
        counted = np.zeros(np.array(self.number.shape) + 1, np.int64)
        counted[1:, 1:, 1:] = (self.number >= 0).cumsum(0).cumsum(1).cumsum(2)
        return counted

    def positions(self, xyz):
        """Positions in units of the spacing from the first line, (n, 3)."""
        return (np.asarray(xyz, float).reshape(-1, 3) - self.origin) / self.spacing

    def complete(self, first, count):
        """Return which blocks of places hold points only: (n,) bool.

        Parameters
        ----------
        first, count : (n, 3) int arrays
        """
        shape, last = np.array(self.number.shape), first + count
        inside = ((first >= 0) & (last <= shape)).all(axis=1)
        low, high = np.clip(first, 0, shape), np.clip(last, 0, shape)
        total = np.zeros(len(first), np.int64)
        for corner in SPAN:
            place = np.where(corner, high, low)
            total += (-1) ** (3 - corner.sum()) * self.filled[tuple(place.T)]
        return inside & (total == count.prod(axis=1))

    def corners(self, xyz, reach=0.0):
        """Yield the numbers (n,) of the points at the corners of the cells around positions, -1
        where there is none.

        Parameters
        ----------
        xyz : (n, 3) array
            m.
        reach : float
            m by which the cells are larger.
        """
        position, wider = self.positions(xyz), reach / self.spacing
        top = np.array(self.number.shape) - 1
        low = np.clip(np.floor(position - wider + ON_LINE).astype(int), 0, top)
        high = np.clip(np.ceil(position + wider - ON_LINE).astype(int), 0, top)
        for corner in SPAN:
            yield self.number[tuple(np.where(corner, high, low).T)]


def lattice_of(xyz):
    """Return the `Lattice` of points (n, 3), m.

    Raises
    ------
    NoLattice
        They are not on one.
    """
    xyz = np.asarray(xyz, float)
    origin, spacing, lines, index = np.zeros(3), np.ones(3), [], []
    for axis in range(3):
        values = np.unique(xyz[:, axis])
        gaps = np.diff(values)
        gaps = gaps[gaps > REGULAR * max(gaps.max(initial=0.0), 1e-9)]
        origin[axis] = values[0]
        if len(gaps):
            rough = np.median(gaps)
            spacing[axis] = (values[-1] - values[0]) / np.rint((values[-1] - values[0]) / rough)
        places = (xyz[:, axis] - origin[axis]) / spacing[axis]
        whole = np.rint(places).astype(np.int64)
        if np.abs(places - whole).max() > REGULAR:
            raise NoLattice(f"along {'xyz'[axis]} they are not equally spaced")
        index.append(whole)
        lines.append(int(whole.max()) + 1)
    if np.prod(lines, dtype=float) > max(1e3 * len(xyz), 1e6):
        raise NoLattice("they fill hardly any places of a lattice")
    number = np.full(lines, -1, np.int64)
    number[tuple(index)] = np.arange(len(xyz))
    return Lattice(origin, spacing, number)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Weights of values at positions on the points of a lattice.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (positions, points)
    first, count : (positions, 3) int arrays
        Lines of the lattice that each position takes; count 0 where points are missing.
    position : (positions, 3) array
        In units of the spacing.
    spacing : (3,) array
        m.
    """

    matrix: object
    first: np.ndarray
    count: np.ndarray
    position: np.ndarray
    spacing: np.ndarray

    @property
    def missing(self):
        """Which positions have too few points around them, (positions,) bool."""
        return (self.count == 0).any(axis=1)

    def error(self, wavenumber):
        """Return the largest relative error of plane waves along the axes, of a wavenumber (1/m)."""
        worst = 0.0
        for axis in range(3):
            offsets_by_count = np.unique(
                np.stack([self.count[:, axis], (self.position - self.first)[:, axis].round(6)], axis=1), axis=0
            )
            for count in COUNTS:
                x = offsets_by_count[offsets_by_count[:, 0] == count, 1]
                offsets = np.arange(count) - x[:, None]
                waves = np.exp(1j * wavenumber * self.spacing[axis] * offsets)
                sums = (fitted_many(x, count) * waves).sum(axis=1)
                worst = max(worst, float(np.abs(sums - 1).max(initial=0.0)))
        return worst


def interpolation(lattice, xyz, fewest=4):
    """Return the `Interpolation` of positions (n, 3), m: on the most points along each axis that
    are all there, as centred as may be, and on no fewer than `fewest` off its lines.
    """
    position = lattice.positions(xyz)
    nearest = np.rint(position).astype(np.int64)
    on_line = np.abs(position - nearest) < ON_LINE
    cell = np.where(on_line, nearest, np.floor(position).astype(np.int64))
    cells, of_position = np.unique(np.concatenate([cell, on_line], axis=1), axis=0, return_inverse=True)
    first, count = blocks(lattice, cells[:, :3], cells[:, 3:].astype(bool), fewest)
    first, count = first[of_position.ravel()], count[of_position.ravel()]
    matrix = weights_of(lattice, first, count, position)
    return Interpolation(matrix, first, count, position, lattice.spacing)


def blocks(lattice, cell, on_line, fewest):
    """Return the first lines and the numbers of lines along each axis, 0 without, of the best blocks
    of points around positions: (n, 3) int arrays.

    Parameters
    ----------
    lattice : Lattice
    cell : (n, 3) int array
        Line before the position along each axis.
    on_line : (n, 3) bool array
        Whether the position is on that line.
    fewest : int
        Points along an axis off its lines.
    """

    def block(rows, choice):
        points, shift = np.array(choice).T
        counts = np.where(on_line[rows], 1, points)
        firsts = np.where(on_line[rows], cell[rows], cell[rows] - points // 2 + 1 + shift)
        return firsts, counts, lattice.complete(firsts, counts)

    first, count = np.zeros(cell.shape, np.int64), np.zeros(cell.shape, np.int64)
    lines = [max(count, fewest) for count in lattice.number.shape]
    tried = [c for c in choices(fewest) if all(n <= most for (n, _), most in zip(c, lines))]
    least = [choice for choice in tried if all(c == fewest for c, _ in choice)]
    every = np.arange(len(cell))
    rows = np.flatnonzero(np.any([block(every, choice)[2] for choice in least], axis=0))
    for choice in tried:
        if not len(rows):
            break
        firsts, counts, fits = block(rows, choice)
        first[rows[fits]], count[rows[fits]] = firsts[fits], counts[fits]
        rows = rows[~fits]
    return first, count


@lru_cache(4)
def choices(fewest):
    """Return what is tried along the axes, best first: list of three (points, shift)."""

    def quality(option):
        count, shift = option
        offsets = np.abs(np.arange(count) - (count // 2 - 1 + 0.5 - shift))
        factorial = np.cumprod(np.arange(1, count + 1))[-1]
        return np.prod(offsets) / factorial * (np.pi / 4) ** count

    options = [(c, s) for c in COUNTS if c >= fewest for s in range(1 - c // 2, c // 2)]
    return sorted(product(options, repeat=3), key=lambda three: sum(map(quality, three)))


def weights_of(lattice, first, count, position):
    """Return the weights of positions on the blocks of places (first, count), (n, 3) each:
    csr_array (n, points).
    """
    from scipy.sparse import csr_array

    rows, columns, weights = [], [], []
    for along in np.unique(count, axis=0):
        if not along.all():
            continue
        rows_of_block = np.flatnonzero((count == along).all(axis=1))
        fitted, lines = [], []
        for axis, number in enumerate(along):
            x = (position[rows_of_block, axis] - first[rows_of_block, axis]).round(9)
            different, of_row = np.unique(x, return_inverse=True)
            single = number == 1
            each = np.ones((len(different), 1)) if single else fitted_many(different, number)
            fitted.append(each[of_row])
            lines.append(first[rows_of_block, axis, None] + np.arange(number))
        i, j, k = lines
        points = lattice.number[i[:, :, None, None], j[:, None, :, None], k[:, None, None, :]]
        product_of = np.einsum("ni,nj,nk->nijk", *fitted)
        rows.append(np.repeat(rows_of_block, int(along.prod())))
        columns.append(points.ravel())
        weights.append(product_of.ravel())
    shape = len(position), int(lattice.number.max()) + 1
    if not rows:
        return csr_array(shape)
    return csr_array((np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
