"""The plan of every sum over sources: targets in tiles, and for each of these all sources in tiles; where few
targets do not fill the machine, its threads share the sources of a tile as parts, which are added at the end.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from craton.core.grid import Layout
from craton.core.plan import Array, Phase, SweepPlan, Tile
from craton.methods.gravity.fields import scale
from craton.methods.gravity.operators import LANES, constants, kernel, launch, record

PAIRS = 1 << 15  # of a tile for every target that the machine takes at a time
# times that the parts of few targets fill the machine: the last blocks to end keep little of it waiting
WAVES = 4
SAMPLE = 4096  # prisms that tell where they lie and how large they are


class Sources(NamedTuple):
    """Sources of a sum: how many, of a tile, and their arrays with a row for each, which are streamed; or none of
    these, where they stay on the machine.
    """

    count: int
    size: int
    arrays: dict


class Targets(NamedTuple):
    """Targets of a sum in working order, and what a tile of them loads: ``load(chosen, stride)`` gives arrays by name,
    padded to `stride` targets.
    """

    order: np.ndarray
    load: object


def streamed(**arrays) -> Sources:
    """Return sources that are streamed, from their arrays and the most of a tile, `most`."""
    most, count = arrays.pop("most"), len(next(iter(arrays.values())))
    return Sources(count, min(most, max(count, 1)), arrays)


def balanced(total: int, most: int) -> int:
    """Return the size of equal tiles of at most `most`."""
    return max(-(-total // max(-(-total // most), 1)), 1)


def cut(targets: Targets, sources: Sources, width: int, abreast: int, most: int) -> tuple[int, int]:
    """Return the groups of targets of a tile, and the parts of its sources.

    Parts times targets fill a machine of that width `WAVES` times, each part long enough to pay; a tile has `PAIRS`
    pairs for each of `abreast` targets.
    """
    points = balanced(len(targets.order), min(max(PAIRS * abreast // sources.size, LANES), most))
    groups = -(-points // LANES)
    return groups, int(np.clip(-(-WAVES * width // (groups * LANES)), 1, max(sources.size // 64, 1)))


def plan(op, fields, factors, targets, sources, groups, parts, precision="float64", constant=None, before=()):
    """Return the SweepPlan of one summing operator over sources at targets, and of the sum of its parts.

    Parameters
    ----------
    fields : tuple of str
        One for each number of a target.
    factors : (fields,) array
        From sums to the result.
    constant : dict of str to Array, optional
        What stays on the machine.
    before : tuple of Phase
        What a tile needs before it is summed.
    """
    count, rows, stride = sources.count, len(fields), groups * LANES
    starts = range(0, max(count, 1), sources.size)

    def tile(begin, start):
        chosen, number = targets.order[begin : begin + stride], min(sources.size, count - start)

        def load():
            out = {name: a[start : start + sources.size] for name, a in sources.arrays.items()}
            if sources.arrays:
                out["first"] = np.linspace(0, number, parts + 1).astype(np.int32)
            if start == 0:
                out |= targets.load(chosen, stride) | {"total": np.zeros((rows, stride))}
            return out

        return Tile(load, len(chosen) * number, chosen if start == starts[-1] else None)

    pattern = targets.load(targets.order[:1], stride)
    rows_of = {name: (sources.size, *a.shape[1:]) for name, a in sources.arrays.items()}
    arrays = {
        **{name: Array("points", a.shape, a.dtype) for name, a in pattern.items()},
        **{name: Array("sources", shape, sources.arrays[name].dtype) for name, shape in rows_of.items()},
        "first": Array("sources", (parts + 1,), np.int32),
        "partial": Array("record", (parts, rows, stride), np.float64),
        "total": Array("sums", (rows, stride), np.float64),
        **(constant or {}),
    }
    params, last = {"stride": stride, "parts": parts}, kernel("collect", constants(fields))
    phases = (
        *before,
        Phase("sum", (launch(op, stride, params, parts),)),
        Phase("collect", (launch(last, rows * stride, params),)),
    )
    return SweepPlan(
        precision=precision,
        layout=Layout((parts, rows * groups, LANES), 0),
        arrays=arrays,
        phases=phases,
        tiles=[tile(begin, start) for begin in range(0, len(targets.order), stride) for start in starts],
        count=(rows, len(targets.order)),
        scale=factors,
    )


class Frame:
    """Local origin and length unit in which single precision works; double precision keeps the user's coordinates."""

    def __init__(self, problem):
        self.precision, self.split = problem.precision, problem.precision == "float32"
        self.origin, self.unit = np.zeros(3), 1.0
        if self.split and len(problem.prisms):
            sample = problem.prisms[:: max(len(problem.prisms) // SAMPLE, 1)]
            low, high = sample[:, ::2], sample[:, 1::2]
            self.origin = 0.5 * (low.min(axis=0) + high.max(axis=0))
            self.unit = float(2.0 ** np.round(np.log2(np.median(np.linalg.norm(high - low, axis=1)))))
        self.factors = scale(problem.fields, self.unit)

    def rounded(self, centres):
        """Return centres (n, 3) moved to where one real holds them."""
        if not self.split:
            return centres
        return ((centres - self.origin) / self.unit).astype(np.float32) * self.unit + self.origin

    def points(self, points, stride):
        """Return points (3, n) as the kernels read them, (coordinates, stride), split in two reals where single:
        the last one repeated.
        """
        if self.split:
            local = (points.T - self.origin) / self.unit
            high = local.astype(np.float32)
            points = np.concatenate([high, (local - high).astype(np.float32)], axis=1).T
        return padded(points, stride)

    def targets(self, points, order):
        """Return points (3, n) as targets: coordinates, and the centre and radius around every group."""

        def load(chosen, stride):
            here = points[:, chosen]
            return {"points": self.points(here, stride), "groups": self.spheres(here, stride)}

        return Targets(order, load)

    def spheres(self, points, stride):
        """Return centre and radius around every group of LANES points, (groups, 4)."""
        local = ((padded(points, stride).T - self.origin) / self.unit).reshape(-1, LANES, 3)
        centre = 0.5 * (local.min(axis=1) + local.max(axis=1))
        radius = np.linalg.norm(local - centre[:, None], axis=2).max(axis=1)
        return np.concatenate([centre, radius[:, None] * (1 + 1e-6)], axis=1).astype(self.precision)

    def records(self, op, count, distance):
        """Return the array of `count` prisms as `op` reads them, and the phase that fills it from their faces and
        density; the series serves from `distance` half diagonals on.
        """
        make, size = kernel("records", op.defines), record(self.precision, dict(op.defines)["ORDER"])
        params = {"count": count, **dict(zip("xyz", self.origin)), "unit": self.unit, "distance": distance}
        phase = Phase("records", (launch(make, count, params),))
        return {"prisms": Array("sources", (count, size), self.precision)}, (phase,)


def padded(rows, stride):
    """Return rows (m, n) with the last column repeated up to `stride`."""
    return np.pad(rows, ((0, 0), (0, stride - rows.shape[1])), mode="edge")


# --- the tile loop --------------------------------------------------------------------------------


@dataclass
class Runner:
    """What a method needs to run plans: a machine and where to report progress.

    Parameters
    ----------
    machine : backend
    report : callable, optional
        Called with the interactions done so far in this solve.
    """

    machine: Any
    report: Any = None
    done: int = 0

    def sweep(self, plan):
        """Run a SweepPlan; (fields, points)."""
        before, report = self.done, self.report
        out = sweep(self.machine.commit(plan), report and (lambda done: report(before + done)))
        self.done += plan.work
        return out

    def scaled(self, factor):
        """Return a runner whose interactions count `factor` times in the reports of this one."""
        before, report = self.done, self.report
        return Runner(self.machine, report and (lambda done: report(int(before + done * factor))))


def sweep(program, report=None):
    """Run all tiles of a plan on its machine.

    Parameters
    ----------
    program : Program
        A SweepPlan on a machine.
    report : callable, optional
        Called with the number of interactions done after every tile.

    Returns
    -------
    ndarray
        (fields, points), float64.
    """
    plan, machine = program.plan, program.backend
    out, done = np.empty(plan.count), 0
    for tile in plan.tiles:
        for name, values in tile.load().items():
            machine.fill(program.arrays[name], values)
        program.step(0)
        done += tile.work
        if tile.store is not None:
            totals = machine.to_host(program.arrays[plan.total]).reshape(len(out), -1)
            out[:, tile.store] = totals[:, : np.arange(out.shape[1])[tile.store].size]
        if report:
            machine.finish()
            report(done)
    out *= plan.scale[:, None]
    return out
