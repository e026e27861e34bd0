"""A rank's plan, cut out of the plan of the whole grid: the same launches on its box, arrays of its points, rows of its tables.

Builders know nothing of ranks. What they make counts points of the whole grid and is either small (tables, profiles) or not there yet
(arrays that are zero or filled when they are allocated): cutting it costs a rank no memory of the size of the grid.
"""
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from craton.core.layout import LEAD, Layout
from craton.core.partition import Part, clip
from craton.errors import CratonError

BOUND = ("places", "points", "record")  # kinds of arrays that may be the same on every rank
TABLE = ("target", "first", "column", "weight")


@dataclass(frozen=True)
class Cut:
    """How the whole grid becomes a part of it.

    Parameters
    ----------
    old, new : Layout
        Memory of a field of the whole grid and of the part.
    part : Part
    """

    old: Layout
    new: Layout
    part: Part

    def layout(self, of):
        """The part's layout in place of one of the whole grid, which may have fewer rows in a plane (the plane of several shots)."""
        shape = self.new.shape if of.shape == self.old.shape else (self.new.shape[0], of.shape[1], self.new.shape[2])
        return replace(of, shape=shape)

    def box(self, box):
        """A box in points of the part, or None. Ghosts behind an edge of the grid belong to the part at that edge."""
        limits = []
        for low, high, n, owned in zip(self.part.box[::2], self.part.box[1::2], self.old.shape, self.new.shape):
            limits += [low if low > 0 else -owned - n, high if high < n else n + owned + n]
        common = clip(box, tuple(limits))
        return common and tuple(v - self.part.box[n - n % 2] for n, v in enumerate(common))

    def owned(self, index):
        """Which elements of the state, counted from the first field's point (0, 0, 0), the part owns."""
        limits = zip(self.old.place(index), self.part.box[::2], self.part.box[1::2])
        return np.logical_and.reduce([(a <= n) & (n < b) for n, a, b in limits])

    def moved(self, index):
        """Elements of the whole state, all owned, in the part's state."""
        indices = (n - low for n, low in zip(self.old.place(index), self.part.box[::2]))
        return (index + self.old.first) // self.old.field * self.new.field + self.new.offset(*indices)


def localise_plan(plan, part):
    """The plan of one rank.

    Parameters
    ----------
    plan : Plan
        Of the whole grid.
    part : Part

    Returns
    -------
    Plan
        Its `whole` is the plan that it was cut from. Channels that need points of several ranks record what this one has of them
        (`craton.core.gathered`).

    Raises
    ------
    CratonError
        An array does not say how it follows the grid.
    """
    cut = Cut(plan.layout, replace(plan.layout, shape=part.shape), part)
    arrays = {name: array(spec, name, cut) for name, spec in plan.arrays.items()}
    phases = []
    for phase in plan.phases:
        launches = []
        for whole_launch in phase.launches:
            local_launches, tables = launch(whole_launch, plan, cut)
            launches += local_launches
            arrays |= tables
        phases.append(replace(phase, launches=tuple(launches)))
    used = {name for phase in phases for whole_launch in phase.launches for name in whole_launch.arrays}
    used |= {"step"} | {a.part_of for name, a in arrays.items() if name in used}
    arrays = {name: a for name, a in arrays.items() if name in used or a.kind == "wavefield"}
    grid = plan.grid.window(grid_box(part, plan.grid))
    return replace(plan, grid=grid, layout=cut.new, arrays=arrays, phases=tuple(phases), whole=plan)


def grid_box(part, grid):
    """The part's box in points of the grid, which in the plane has one row for all shots."""
    return (*part.box[:2], 0, 1, *part.box[4:]) if grid.planar else part.box


# --- arrays -----------------------------------------------------------------------------------------------------------------------------


def array(spec, name, cut):
    """An array of the part."""
    if isinstance(spec.over, Layout):
        return in_layout(spec, spec.over, cut.layout(spec.over), cut)
    if spec.over:
        return along(spec, cut.part)
    if spec.kind not in BOUND:
        raise CratonError(f'array "{name}" does not say how it follows the grid: it cannot be shared by ranks')
    return spec


def in_layout(spec, old, new, cut):
    """A block of fields, or a field of it."""
    if not spec.part_of:
        count = (spec.shape[0] - LEAD) // old.field
        return replace(spec, shape=(new.block(count),), first=spec.first and new.start(0) + new.first, over=new)
    data = partial(spec.data, box=cut.part.box) if isinstance(spec.data, Callable) else spec.data
    start = new.start((spec.start - LEAD) // old.field)
    return replace(spec, shape=new.padded, first=new.first, start=start, window=new.window(), defined=defined(spec, new, cut), data=data,
                   over=new)  # fmt: skip


def defined(spec, new, cut):
    """What holds defined values in the part: its points, and of the ghosts those behind an edge of the grid that were defined there."""
    if spec.defined is None:
        return None
    out = []
    for axis, (whole, o, n, owned) in enumerate(zip(spec.defined, new.origin, cut.old.shape, new.shape)):
        low, high = cut.part.box[2 * axis : 2 * axis + 2]
        before = o - whole.start if low == 0 and ("zyx"[axis], 0) not in cut.part.neighbours else 0
        behind = whole.stop - o - n if high == n and ("zyx"[axis], 1) not in cut.part.neighbours else 0
        out.append(slice(o - before, o + owned + behind))
    return tuple(out)


def along(spec, part):
    """An array whose dimensions run along axes of the grid: the part's share of each."""
    index, over = [], []
    for n, axis_and_first in zip(spec.shape, spec.over):
        if axis_and_first is None:
            index.append(slice(0, n))
            over.append(None)
            continue
        axis, first = axis_and_first
        low, high = part.range(axis)
        a, b = min(max(low - first, 0), n), min(max(high - first, 0), n)
        index.append(slice(a, max(a, b)))
        over.append((axis, first + a - low))
    shape = tuple(s.stop - s.start for s in index)
    data = spec.data[tuple(index)] if isinstance(spec.data, np.ndarray) else spec.data
    return replace(spec, shape=shape, data=data, over=tuple(over))


# --- launches ---------------------------------------------------------------------------------------------------------------------------


def launch(whole_launch, plan, cut):
    """A launch on the part: list of launches (none, or one) and the arrays of its own table."""
    if whole_launch.places is not None:
        return table(whole_launch, plan, cut)
    if not whole_launch.on_grid:
        return ([] if whole_launch.op.function == "sample" else [whole_launch]), {}
    if "shift" in whole_launch.params and split_behind(whole_launch, cut):
        return [], {}
    box = cut.box(whole_launch.box)
    return ([replace(whole_launch, box=box, params=scalars(whole_launch, cut))] if box else []), {}


def split_behind(whole_launch, cut):
    """True for ghosts of a periodic axis that is cut: neighbours fill them."""
    outside = [axis for axis, a, n in zip("zyx", whole_launch.box[::2], cut.old.shape) if a < 0 or a >= n]
    return any((axis, side) in cut.part.neighbours for axis in outside for side in (0, 1))


def scalars(whole_launch, cut):
    """The scalars of a launch with strides, distances and limits of the part."""
    p, low, old, new = dict(whole_launch.params), dict(zip("kji", cut.part.box[::2])), cut.old, cut.new
    p |= {"row": new.row, "plane": new.plane}
    if "sheet" in p:
        p["sheet"] = new.plane if p["sheet"] == old.plane else cut.layout(replace(old, shape=(old.shape[0], 1, old.shape[2]))).plane
    if "field" in p:
        p["field"] = new.field
    if "top" in p:
        p["top"] -= low["k"]
    if "shift" in p:
        p["shift"] = shifted(p["shift"], old, new)
    if "k0" in p:
        for name, n in zip("kji", range(3)):
            first, (a, b) = p[f"{name}0"], cut.part.box[2 * n : 2 * n + 2]
            begin, end = max(first, a), min(first + p[f"n{name}"], b)
            p |= {f"{name}0": begin - a, f"n{name}": max(end - begin, 0)}
    return p


def shifted(shift, old, new):
    """A distance of n points along one axis, in the part's memory: the axis is not cut."""
    for stride_old, stride_new, n in ((old.plane, new.plane, old.shape[0]), (old.row, new.row, old.shape[1]), (1, 1, old.shape[2])):
        if abs(shift) == n * stride_old:
            return shift // stride_old * stride_new
    raise CratonError("a copy between points that are not a whole axis apart cannot be shared by ranks")


def table(whole_launch, plan, cut):
    """An injection: the rows whose targets the part owns."""
    named = dict(zip(("state", *TABLE), whole_launch.arrays))
    target, first, column, weight = (plan.arrays[named[name]] for name in TABLE)
    mine = cut.owned(target.data)
    if not mine.any():
        return [], {}
    chosen = np.flatnonzero(mine)
    counts = np.diff(first.data)[chosen]
    rows = np.repeat(mine, np.diff(first.data))
    values = (cut.moved(target.data[chosen]), np.append(0, np.cumsum(counts)), column.data[rows], weight.data[rows])
    arrays = {named[name]: replace(spec, shape=v.shape, data=np.asarray(v, spec.dtype)) for name, spec, v in
            zip(TABLE, (target, first, column, weight), values)}  # fmt: skip
    places = tuple(n[chosen] - low for n, low in zip(whole_launch.places, cut.part.box[::2]))
    return [replace(whole_launch, box=(0, 1, 0, 1, 0, len(chosen)), places=places)], arrays


