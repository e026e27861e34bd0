"""Plan of a rank, cut out of the plan of the whole grid: the same launches on its box, arrays of
its points, rows of its tables.

Builders do not know ranks. Their results count points of the whole grid and are either small
(tables, profiles) or not allocated yet (arrays that are zero, or filled when they are allocated):
cutting them costs a rank no memory of the size of the grid.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.grid import Layout
from craton.core.peaks import KIND as PEAKS
from craton.core.plan import Plan
from craton.core.subdomain import Subdomain, clip
from craton.errors import CratonError

# kinds of arrays that may be the same on every rank, or are cut with the launch that uses them
BOUND = ("places", "points", "record", "history", PEAKS)
LOOKED_AT = ("wavefield", "history", "sums")  # kinds of arrays that are there without a launch, too
TABLE = ("target", "first", "column", "weight")


@dataclass(frozen=True)
class Cut:
    """Map from the whole grid to the box of one rank.

    Parameters
    ----------
    old, new : Layout
        Memory of a field of the whole grid and of the part.
    subdomain : Subdomain
    """

    old: Layout
    new: Layout
    subdomain: Subdomain

    @classmethod
    def of(cls, plan, subdomain):
        """Return the map from a plan of the whole grid to a subdomain."""
        return cls(plan.layout, replace(plan.layout, shape=subdomain.shape), subdomain)

    def layout(self, of):
        """Return the part's layout for one of the whole grid, which may have fewer rows in a plane
        (the plane of several shots).

        Parameters
        ----------
        of : Layout
        """
        shape = self.new.shape if of.shape == self.old.shape else (self.new.shape[0], of.shape[1], self.new.shape[2])
        return replace(of, shape=shape)

    def box(self, box):
        """Return a box in points of the part, or None. Ghosts behind an edge of the grid belong to
        the part at that edge.

        Parameters
        ----------
        box : tuple of int
            (k0, k1, j0, j1, i0, i1) in points of the whole grid.
        """
        limits, part = [], self.subdomain.box
        for low, high, n, owned in zip(part[::2], part[1::2], self.old.shape, self.new.shape):
            limits += [low if low > 0 else -owned - n, high if high < n else n + owned + n]
        common = clip(box, tuple(limits))
        return common and tuple(v - part[n - n % 2] for n, v in enumerate(common))

    def owns(self, index):
        """Return which entries of the state the part owns: bool array.

        Parameters
        ----------
        index : int array
            Counted from the first field's point (0, 0, 0).
        """
        limits = zip(self.old.place(index), self.subdomain.box[::2], self.subdomain.box[1::2])
        return np.logical_and.reduce([(a <= n) & (n < b) for n, a, b in limits])

    def move(self, index):
        """Return the indices in the part's state of entries of the whole state.

        Parameters
        ----------
        index : int array
            Of owned entries.
        """
        indices = (n - low for n, low in zip(self.old.place(index), self.subdomain.box[::2]))
        return (index + self.old.first) // self.old.field * self.new.field + self.new.offset(*indices)


def localise_plan(plan, subdomain, records=None):
    """Cut the plan of one rank out of the plan of the whole grid.

    Parameters
    ----------
    plan : StepPlan
        Plan of the whole grid.
    subdomain : Subdomain
    records : dict of str to (dict, list), optional
        Arrays and launches by which the rank samples (`craton.core.gathering`), by the name of the
        array that is sampled into; without them it samples nothing.

    Returns
    -------
    StepPlan
        Arrays and launches of the rank, without its part of maps of peaks and its messages.

    Raises
    ------
    CratonError
        An array does not say how it follows the grid.
    """
    cut = Cut.of(plan, subdomain)
    arrays = {name: _cut_array(spec, name, cut) for name, spec in plan.arrays.items()}
    phases = []
    for phase in plan.phases:
        launches = []
        for whole_launch in phase.launches:
            local_launches, tables = _cut_launch(whole_launch, plan, cut, records or {})
            launches += local_launches
            arrays |= tables
        phases.append(replace(phase, launches=tuple(launches)))
    used = {name for phase in phases for whole_launch in phase.launches for name in whole_launch.arrays}
    used |= {"step"} | {a.part_of for name, a in arrays.items() if name in used}
    arrays = {name: a for name, a in arrays.items() if name in used or a.kind in LOOKED_AT}
    local = replace(plan, layout=cut.new, arrays=arrays, phases=tuple(phases))
    if isinstance(plan, Plan):
        box = subdomain.box  # in the plane the grid has one row for all shots
        local.grid = plan.grid.window((*box[:2], 0, 1, *box[4:]) if plan.grid.planar else box)
    return local


# --- arrays ---------------------------------------------------------------------------------------


def _cut_array(spec, name, cut):
    """Return an array of the part."""
    if isinstance(spec.over, Layout):
        return _cut_field(spec, spec.over, cut.layout(spec.over), cut)
    if spec.over:
        return _cut_along_axes(spec, cut.subdomain)
    if spec.kind not in BOUND:
        raise CratonError(f'array "{name}" does not say how it follows the grid: it cannot be shared by ranks')
    return spec


def _cut_field(spec, old, new, cut):
    """Return a block of fields, or a field of it or by itself, in the part's layout."""
    if not spec.part_of and len(spec.shape) == 1:
        count = (spec.shape[0] - old.lead) // old.field
        return replace(spec, shape=(new.block(count),), first=spec.first and new.start(0) + new.first, over=new)
    start = new.start((spec.start - old.lead) // old.field) if spec.part_of else 0
    return replace(
        spec,
        shape=new.padded,
        first=new.first,
        start=start,
        window=new.window(),
        defined=_cut_defined_range(spec, new, cut),
        over=new,
    )


def _cut_defined_range(spec, new, cut):
    """Return the range of defined values in the part: its points, and the defined ghosts behind an
    edge of the grid.
    """
    if spec.defined is None:
        return None
    out = []
    for axis, (whole, o, n, owned) in enumerate(zip(spec.defined, new.origin, cut.old.shape, new.shape)):
        low, high = cut.subdomain.box[2 * axis : 2 * axis + 2]
        before = o - whole.start if low == 0 and ("zyx"[axis], 0) not in cut.subdomain.faces else 0
        behind = whole.stop - o - n if high == n and ("zyx"[axis], 1) not in cut.subdomain.faces else 0
        out.append(slice(o - before, o + owned + behind))
    return tuple(out)


def _cut_along_axes(spec, subdomain):
    """Cut an array whose dimensions run along axes of the grid."""
    index: list[slice] = []
    over: list[tuple | None] = []
    for n, axis_and_first in zip(spec.shape, spec.over):
        if axis_and_first is None:
            index.append(slice(0, n))
            over.append(None)
            continue
        axis, first = axis_and_first
        low, high = subdomain.range(axis)
        a, b = min(max(low - first, 0), n), min(max(high - first, 0), n)
        index.append(slice(a, max(a, b)))
        over.append((axis, first + a - low))
    shape = tuple(s.stop - s.start for s in index)
    data = None if spec.data is None else spec.data[tuple(index)]
    return replace(spec, shape=shape, data=data, over=tuple(over))


# --- launches -------------------------------------------------------------------------------------


def _cut_launch(whole_launch, plan, cut, records):
    """Return a launch on the part, a list of at most one launch, and the arrays of its own table."""
    if whole_launch.op.function == "sample":
        arrays, launches = records.get(whole_launch.arrays[0], ({}, []))
        return launches, arrays
    if any(name and plan.arrays[name].kind == "history" for name in whole_launch.arrays):
        return _cut_history(whole_launch, plan, cut)
    if whole_launch.places is not None:
        return _cut_table(whole_launch, plan, cut)
    if not whole_launch.on_grid:
        return ([] if whole_launch.op.function == "peaks" else [whole_launch]), {}
    if whole_launch.op.params.of_role("shift") and _split_behind(whole_launch, cut):
        return [], {}
    box = cut.box(whole_launch.box)
    return ([replace(whole_launch, box=box, params=_cut_scalars(whole_launch, cut))] if box else []), {}


def _split_behind(whole_launch, cut):
    """Return True for ghosts of a periodic axis that is cut: neighbours fill them."""
    outside = [axis for axis, a, n in zip("zyx", whole_launch.box[::2], cut.old.shape) if a < 0 or a >= n]
    return any((axis, side) in cut.subdomain.faces for axis in outside for side in (0, 1))


def _cut_scalars(whole_launch, cut):
    """Return the scalars of a launch with strides, distances, places and limits of the part, by their roles."""
    old, new, struct = cut.old, cut.new, whole_launch.op.params
    scalars, low, high = whole_launch.params, *(dict(zip("kji", cut.subdomain.box[n::2])) for n in (0, 1))
    size, out = dict(zip("kji", new.shape)), dict(scalars)
    strides = {"row": new.row, "plane": new.plane, "field": new.field}
    for name, _, role in struct.scalars:
        if role in strides:
            out[name] = strides[role]
        elif role == "sheet":
            flat = replace(old, shape=(old.shape[0], 1, old.shape[2]))
            out[name] = new.plane if scalars[name] == old.plane else cut.layout(flat).plane
        elif role in low:
            out[name] = scalars[name] - low[role]
        elif role == "shift":
            out[name] = _cut_shift(scalars[name], old, new)
        elif role == "fields":
            out[name] = scalars[name] // old.field * new.field
        elif role == "points":
            out[name] = int(np.prod(new.shape))
        elif role.startswith("size "):
            out[name] = size[role[-1]]
    for axis in "kji":
        for first, count in zip(struct.of_role(f"begin {axis}"), struct.of_role(f"count {axis}")):
            begin, end = max(scalars[first], low[axis]), min(scalars[first] + scalars[count], high[axis])
            out |= {first: begin - low[axis], count: max(end - begin, 0)}
    return out


def _cut_shift(shift, old, new):
    """Return a distance of n points along one axis, which is not cut, in the part's memory."""
    for stride_old, stride_new, n in (
        (old.plane, new.plane, old.shape[0]),
        (old.row, new.row, old.shape[1]),
        (1, 1, old.shape[2]),
    ):
        if abs(shift) == n * stride_old:
            return shift // stride_old * stride_new
    raise CratonError("a copy between points that are not a whole axis apart cannot be shared by ranks")


def _cut_table(whole_launch, plan, cut):
    """Return an injection with the rows whose targets the part owns."""
    named = dict(zip(whole_launch.op.arrays, whole_launch.arrays))
    target, first, column, weight = (plan.arrays[named[name]] for name in TABLE)
    owned = cut.owns(target.data)
    if not owned.any():
        return [], {}
    chosen = np.flatnonzero(owned)
    begin, rows = select_rows(first.data, chosen)
    values = (cut.move(target.data[chosen]), begin, *(np.asarray(spec.data)[rows] for spec in (column, weight)))
    arrays = {named[name]: plan.arrays[named[name]].of(v) for name, v in zip(TABLE, values)}
    places = tuple(n[chosen] - low for n, low in zip(whole_launch.places, cut.subdomain.box[::2]))
    return [replace(whole_launch, box=(0, 1, 0, 1, 0, len(chosen)), places=places)], arrays


def select_rows(first, chosen):
    """Return where chosen rows of a table begin among their entries, and which entries of the table these are.

    Parameters
    ----------
    first : (rows + 1,) int array
        Where each row of the table begins.
    chosen : int array
    """
    counts = np.diff(first)[chosen]
    begin = np.append(0, np.cumsum(counts))
    return begin, np.arange(begin[-1]) + np.repeat(np.asarray(first)[chosen] - begin[:-1], counts)


def _cut_history(whole_launch, plan, cut):
    """Return a launch that keeps or puts back groups of points at every step, with the groups that
    the part owns: a group is never divided.
    """
    names = dict(zip(whole_launch.op.arrays, whole_launch.arrays))
    history, source = (plan.arrays[names[name]] for name in ("history", "source"))
    groups = source.data.reshape(whole_launch.params["columns"], -1)
    owned = cut.owns(groups)
    if (owned.any(axis=1) != owned.all(axis=1)).any():
        raise CratonError("a group of values that share a scale lies on several ranks")
    chosen = owned[:, 0]
    moved, count = cut.move(groups[chosen]).ravel(), int(chosen.sum())
    row = history.shape[1] // len(chosen) * count
    arrays = {names["history"]: replace(history, shape=(history.shape[0], row)), names["source"]: source.of(moved)}
    low, high = (int(chosen[:n].sum()) for n in whole_launch.box[4:])
    params = whole_launch.params | {"columns": count}
    local = replace(whole_launch, box=(0, 1, 0, 1, low, high), params=params)
    return [local] * (high > low), arrays
