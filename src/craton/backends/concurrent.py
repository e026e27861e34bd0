"""Launches that a device may run side by side, by the arrays and the points that they touch."""

import math


def side_by_side(launches, plan):
    """Return launches in groups: those of a group follow one another and do not depend on each
    other, so that any order of them, or all at once, gives the same bits.

    Parameters
    ----------
    launches : list of Launch
        In the order of the step.
    plan : StepPlan
        Of the arrays.

    Returns
    -------
    list of list of Launch
    """
    groups: list[list] = []
    for launch in launches:
        if groups and not any(dependent(launch, other, plan) for other in groups[-1]):
            groups[-1].append(launch)
        else:
            groups.append([launch])
    return groups


def dependent(a, b, plan):
    """Return True where one of two launches writes what the other one touches."""
    return any(
        _meet(a, b, reach)
        for writer, other in ((a, b), (b, a))
        for name, reach in _touched(other)
        for written in _written(writer)
        if _same_memory(name, written, plan.arrays)
    )


def _written(launch):
    """Names of the arrays that a launch writes."""
    return [name for name in launch.arrays[: len(launch.op.writes)] if name]


def _touched(launch):
    """Names of the arrays of a launch, and how far from its box it touches each."""
    count = len(launch.op.writes)
    return [(name, 0 if n < count else launch.op.reach) for n, name in enumerate(launch.arrays) if name]


def _same_memory(a, b, arrays):
    """Return True where two arrays share memory: parts of one array do where they overlap."""
    if a == b or b == arrays[a].part_of or a == arrays[b].part_of:
        return True
    first, second = arrays[a], arrays[b]
    if not first.part_of or first.part_of != second.part_of:
        return False
    ends = [part.start + math.prod(part.shape) for part in (first, second)]
    return first.start < ends[1] and second.start < ends[0]


def _meet(a, b, reach):
    """Return True where boxes overlap, one grown by some points; launches that are not bound to the
    points of their box always do.
    """
    if not (_local(a) and _local(b)):
        return True
    ends = zip(a.box[::2], a.box[1::2], b.box[::2], b.box[1::2])
    return all(a0 < b1 + reach and b0 < a1 + reach for a0, a1, b0, b1 in ends)


def _local(launch):
    """Return True where a launch writes the points of its box and reads no further than its reach."""
    return launch.on_grid and launch.op.pointwise
