"""Method `fft`: between cells of regular columns and points of a regular horizontal grid only
distance counts: the sum is a convolution.

Exact but for rounding (1e-13 of the greatest value), in double whatever is asked: transforms in
single would leave 1e-6 of it. Layer by layer: prism at all distances that occur by the operator of
`direct`, its spectrum times the spectrum of the layer's density, summed; one inverse transform for
each level of points and field. Cells and points lie on a common lattice (`lattice.Axis`): cells at
every `refine`-th place of it, points at every `stride`-th.
"""

from dataclasses import dataclass
from functools import partial
from math import log2, prod
from typing import Any

import numpy as np

from craton.methods.gravity import Estimate, direct, lattice
from craton.methods.gravity.problem import Problem
from craton.methods.protocol import remembered

SLOWER = 12  # long arithmetic in the time of an equal number of operations of a transform, measured
LEVELS = 4096  # more heights than this are no grid
MANY = 100_000  # pairs of layer and level
FEW = 1 << 16  # points that are looked at on the host first
# bytes of the machine for each prism and each point to find the lattice: measured, and a copy of
# them
NEEDED = 140, 50
AREA = 1 << 29  # places of the padded lattice, at most
FINDING = 64  # bytes of the host to find the distances along an axis, for each of its places
# roundings of a value after the transforms, over `spread` and the greatest value; twice what was
# measured or more
NOISE = 2.0


@dataclass(frozen=True)
class Distances:
    """All cell-minus-point distances along one axis.

    Parameters
    ----------
    place : ndarray of int
        Where each distance belongs in the transform's first operand.
    at : ndarray
        Different magnitudes of distances, m, to be computed.
    which : ndarray of int
        Magnitude of each distance.
    sign : ndarray
        +1 or -1 of each distance.
    """

    place: Any
    at: Any
    which: Any
    sign: Any


def distances(axis, size):
    """Distances of an Axis; where mirrored ones occur, once."""
    low, high = axis.reach
    step = np.arange(low, high + 1)
    halves = 2 * axis.first * axis.refine / axis.width
    # all at whole halves of a lattice step
    if abs(halves - round(halves)) < lattice.LOOSE * axis.refine + 1e-15 * abs(halves):
        twice = round(halves) - 2 * step
        each, which = np.unique(np.abs(twice), return_inverse=True)
        # faces at half a width exactly: points may lie on them
        whole, rest = each // axis.refine, each % axis.refine
        at = whole * (axis.width / 2) + rest * (axis.width / (2 * axis.refine))
        return Distances(step % size, at, which, np.where(twice < 0, -1.0, 1.0))
    at = axis.first - step * (axis.width / axis.refine)
    return Distances(step % size, at, np.arange(len(at)), np.ones(len(at)))


def sizes(columns):
    """Length of the transforms along (y, x): no distance meets another."""
    from scipy.fft import next_fast_len

    return tuple(next_fast_len(axis.reach[1] - axis.reach[0] + 1, real=True) for axis in (columns.y, columns.x))


@remembered
def columns(problem, machine):
    """Return the problem as lattice.Columns; or in words why it is none."""
    points = problem.points
    if points.shape[1] > 1 and len(np.unique(points[2, :: max(points.shape[1] // 8192, 1)])) > LEVELS:
        return "the points lie at too many heights"
    for n in range(2 * (points.shape[1] <= FEW)):
        width = float(problem.prisms[0, 2 * n + 1] - problem.prisms[0, 2 * n])
        # told by the points alone: prisms need not be looked at
        if lattice.spaced(points[n], width, 1e-4 * width, np) is None:
            return lattice.UNSPACED + (" along x", " along y")[n]
    with machine.work():
        prisms, _ = lattice.prisms_of(problem, machine.xp)
        return lattice.columns(prisms, machine.xp.asarray(points), machine.to_host, machine.xp)


def least_places(columns):
    """Return a number of horizontal distances that `places_of` is not below."""
    counts = (axis.reach[1] - axis.reach[0] + 1 for axis in (columns.y, columns.x))
    return prod(-(-count // 2) for count in counts)


def places_of(columns, shape):
    """Return the number of different horizontal distances, of transforms of a shape (y, x)."""
    return prod(len(distances(axis, n).at) for axis, n in zip((columns.y, columns.x), shape))


def kernels(grid, levels):
    """Prisms that differ in bottom and top relative to the points: dict of (bottom, top) to pairs
    (layer, level of `levels`).
    """
    least, out = lattice.ULPS * (np.abs(grid.layers).max() + np.abs(grid.levels).max()) or 1.0, {}
    for number, height in enumerate(grid.levels[levels]):
        for layer, (bottom, top) in enumerate(grid.layers - height):
            name = round(bottom / (64 * least)), round(top / (64 * least)), bottom == 0, top == 0
            out.setdefault(name, ((bottom, top), []))[1].append((layer, number))
    return list(out.values())


def blocks(grid, fields, area, room):
    """Levels in blocks whose spectra fit into `room` bytes beside the spectra of all layers; one by
    one where these do not fit.
    """
    spectrum = 8 * area
    several = (room // spectrum - len(grid.layers) - 4) // fields
    size = int(several) if several >= 2 else 1
    return [slice(n, n + size) for n in range(0, len(grid.levels), size)]


def estimate(problem, speed):
    """Return what the transforms cost."""
    unfit = partial(Estimate, "fft", 0.0, applies=False)
    if not problem.pairs:
        return unfit("there is nothing to do")
    free = speed.machine.memory()[0]
    copied = NEEDED[0] * len(problem.prisms) + NEEDED[1] * problem.points.shape[1]
    if copied > free:
        return unfit(f"to find the lattice of prisms and points needs {copied / 2**30:.1f} GiB at once")
    grid = columns(problem, speed.machine)
    if isinstance(grid, str):
        return unfit(grid)
    shape, fields, combinations = sizes(grid), len(problem.fields), len(grid.layers) * len(grid.levels)
    area, most, room = shape[0] * shape[1], 4 * problem.pairs // combinations, 0.5 * free
    if area > AREA or FINDING * sum(shape) > room:
        return unfit(f"{shape[0]:,} x {shape[1]:,} places of the lattice are too many")
    # mirrored distances count once: no less than a half along each axis
    least = least_places(grid)
    places = least if least > most else places_of(grid, shape)
    if places > most or combinations > MANY:
        return unfit(f"{places} distances for each of {combinations} pairs of layer and level are too much work")
    needed = 8 * (area * (2 * fields + 5) + places * (3 * fields + 4))
    if needed > room:
        return unfit(f"{shape[0]} x {shape[1]} places need {needed / 1e9:.1f} GB")
    level_blocks = blocks(grid, fields, area, room)
    different = sum(len(kernels(grid, block)) for block in level_blocks)
    transforms = different * fields + len(level_blocks) * len(grid.layers) + fields * len(grid.levels)
    seconds = (
        different * places / speed.double
        + (transforms * 2.5 * log2(area) + combinations * fields * 8) * area * SLOWER / speed.flops
    )
    return Estimate(
        "fft",
        speed.start + seconds + 1e-3 * different,
        f"{different} kernels of {places} distances, {transforms} transforms of {shape[0]} x {shape[1]}",
    )


class Kernel:
    """One cell at all distances, on the machine: the operator of `direct`, with the same points for
    one prism after another.
    """

    def __init__(self, grid, fields, shape, machine):
        self.machine, self.x, self.y = machine, distances(grid.x, shape[1]), distances(grid.y, shape[0])
        self.half = 0.5 * np.array([grid.x.width, grid.y.width])
        x, y = np.meshgrid(-self.x.at, -self.y.at)
        points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)])
        one = Problem(np.array([[-1.0, 1, -1, 1, -1, 1]]), np.ones(1), points, fields)
        self.program, self.loaded = machine.commit(direct.plan(one, machine.width)), None
        self.index = [machine.asarray(a) for a in (self.y.which, self.x.which, self.y.place, self.x.place)]
        self.sign = [[machine.asarray(s) for s in (np.ones_like(axis.sign), axis.sign)] for axis in (self.y, self.x)]

    def values(self, bottom, top):
        """Fields (fields, distances in y, distances in x) of unit density over G, in the fields'
        units.
        """
        (hx, hy), machine, arrays = self.half, self.machine, self.program.arrays
        prism, scale = np.array([[-hx, hx, -hy, hy, bottom, top]]), machine.asarray(self.program.plan.scale)[:, None]
        parts, total = [], arrays["total"]
        for tile in self.program.plan.tiles:
            if tile is not self.loaded:  # one that is alone stays
                for name, values in tile.load().items():
                    machine.fill(arrays[name], values)
                self.loaded = tile
            machine.fill(arrays["faces"], prism)
            total[...] = 0
            self.program.step(0)
            parts.append(total[:, : len(tile.store)] * scale)
        values = machine.xp.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
        return values.reshape(len(values), len(self.y.at), len(self.x.at))

    def whole(self, values, field, out):
        """One field at all distances, mirrored ones with their sign, in its places of the
        transform's first operand `out`.
        """
        iy, ix, ky, kx = self.index
        odd_y, odd_x = (field.split("_")[-1].count(letter) % 2 if "_" in field else 0 for letter in "ne")
        out[ky[:, None], kx] = values[iy[:, None], ix] * (self.sign[0][odd_y][:, None] * self.sign[1][odd_x])
        return out


class Density:
    """Spectra of the layers' densities, kept where several levels want them."""

    def __init__(self, problem, grid, shape, machine, keep):
        xp = machine.xp
        _, self.density = lattice.prisms_of(problem, xp)
        self.grid, self.shape, self.machine, layer = grid, shape, machine, grid.layer
        ordered = bool((layer[1:] >= layer[:-1]).all())
        self.order = None if ordered else xp.argsort(layer)
        self.ends = machine.to_host(
            xp.searchsorted(layer if ordered else layer[self.order], xp.arange(len(grid.layers) + 1, dtype=layer.dtype))
        )
        self.power = np.array([float((self.density[self.span(n)] ** 2).sum()) for n in range(len(grid.layers))])
        self.spectra = {} if keep else None

    def span(self, layer):
        """Return which prisms are in a layer."""
        span = slice(*(int(n) for n in self.ends[layer : layer + 2]))
        return span if self.order is None else self.order[span]

    def spread(self, layer, occupied=False):
        """Return a layer's density on the lattice, or how many prisms there are."""
        span, xp, (x, y) = self.span(layer), self.machine.xp, (self.grid.x, self.grid.y)
        place = y.cell[span].astype(xp.int64) * (y.refine * self.shape[1])
        place += x.cell[span].astype(xp.int64) * x.refine
        density = self.density[span]
        weights = xp.ones_like(density) if occupied else density
        return xp.bincount(place, weights=weights, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)

    def spectrum(self, layer):
        """Its transform."""
        if self.spectra is None:
            return self.machine.rfft2(self.spread(layer))
        if layer not in self.spectra:
            self.spectra[layer] = self.machine.rfft2(self.spread(layer))
        return self.spectra[layer]

    def touched(self, layer, marked):
        """Lattice places that have some prism of the layer at a distance that is marked."""
        machine = self.machine
        both = machine.rfft2(self.spread(layer, occupied=True)) * machine.rfft2(marked.astype(np.float64))
        return machine.irfft2(both, self.shape) > 0.5


def solve(problem, runner):
    """Fields (fields, points) in their units."""
    machine = runner.machine
    grid = columns(problem, machine)
    shape, fields = sizes(grid), problem.fields
    out = np.zeros((len(fields), problem.points.shape[1]))
    with machine.work():
        kernel = Kernel(grid, fields, shape, machine)
        level_blocks = blocks(grid, len(fields), shape[0] * shape[1], 0.5 * machine.memory()[0])
        several = min(level_blocks[0].stop, len(grid.levels)) > 1
        density = Density(problem, grid, shape, machine, keep=several)
        share, power = problem.pairs / len(level_blocks), np.zeros((len(grid.levels), len(fields)))
        for number, levels in enumerate(level_blocks):
            report = runner.report and (lambda part, done=number: runner.report(int(share * (done + part))))
            for level, values in block(problem, grid, levels, kernel, density, power, report):
                here = grid.level == level
                rows, columns_ = (grid.y.point[here] * grid.y.stride, grid.x.point[here] * grid.x.stride)
                out[:, machine.to_host(here)] = machine.to_host(values[:, rows, columns_])
    problem.memo["spread"] = np.sqrt(power.max(axis=0) / (shape[0] * shape[1]))  # for accuracy.py
    return out


def block(problem, grid, levels, kernel, density, power, report):
    """(level, fields on the lattice) for each of some levels; to `power` (levels, fields) come the
    squares |kernel|^2 |density|^2.
    """
    machine, xp, fields, shape = kernel.machine, kernel.machine.xp, problem.fields, density.shape
    count, different = len(grid.levels[levels]), kernels(grid, levels)
    sums = xp.zeros((count, len(fields), shape[0], shape[1] // 2 + 1), np.complex128)
    places, undefined, norms = xp.zeros(shape), {}, xp.zeros((len(different), len(fields)))
    for done, ((bottom, top), pairs) in enumerate(different):
        values, spectra = (kernel.values(bottom, top), {layer: density.spectrum(layer) for layer, _ in pairs})
        singular = bool(xp.isnan(values).any())
        for f, field in enumerate(fields):
            whole = kernel.whole(values[f], field, places)
            if singular:
                mark(undefined, f, whole, pairs, density, xp)
            norms[done, f] = xp.vdot(whole, whole)
            spectrum = machine.rfft2(whole)
            for layer, level in pairs:
                part = sums[level, f]
                part += spectrum * spectra[layer]
        if report:
            machine.finish()
            report((done + 1) / len(different))
    for (_, pairs), norm in zip(different, machine.to_host(norms)):
        for layer, level in pairs:
            power[levels][level] += norm * density.power[layer]
    for level, number in enumerate(range(len(grid.levels))[levels]):
        values = xp.stack([machine.irfft2(sums[level, f], shape) for f in range(len(fields))])
        for f in range(len(fields)):
            values[f][undefined.get((level, f), slice(0, 0))] = xp.nan
        yield number, values


def mark(undefined, f, whole, pairs, density, xp):
    """Note where a field is nan because a prism's edge goes through the point; the kernel goes on
    without.
    """
    bad = xp.isnan(whole)
    if not bool(bad.any()):
        return
    for layer, level in pairs:
        undefined[level, f] = density.touched(layer, bad) | undefined.get((level, f), False)
    whole[bad] = 0
