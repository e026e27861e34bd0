"""Launches bound to host arrays, as the runner takes them (runner.cpp)."""

import ctypes
from dataclasses import dataclass

import numpy as np

from craton.core.operator import BOX

BOUNDS = tuple(name for name, _ in BOX.fields)
ITEM = np.dtype(
    [("kernel", np.uintp), ("arrays", np.uintp), ("params", np.uintp), *((n, np.int32) for n in BOUNDS)], align=True
)


@dataclass
class Work:
    """A list of launches for the runner.

    Parameters
    ----------
    items : ndarray
        One entry per launch.
    hull : ndarray
        The box that holds all of them.
    keep : list
        What the entries point to.

    Attributes
    ----------
    arguments : tuple
        Address and number of the entries, as the runner takes them.
    hull_address : ctypes.c_void_p
        Address of the hull.
    """

    items: np.ndarray
    hull: np.ndarray
    keep: list

    def __post_init__(self):
        # made once: a launch of a small grid takes no longer than making them
        self.arguments = ctypes.c_void_p(self.items.ctypes.data), len(self.items)
        self.hull_address = ctypes.c_void_p(self.hull.ctypes.data)


def bound(launches, compiled, arrays, plan):
    """Return launches with the addresses of their kernels, arrays and scalars."""
    items, keep = np.zeros(len(launches), ITEM), []
    for item, launch in zip(items, launches):
        pointers = np.array([address(arrays[a], plan.arrays[a].first) if a else 0 for a in launch.arrays], np.uintp)
        params = launch.op.params.value(plan.precision, **launch.params)
        keep += [pointers, params]
        item["kernel"], item["arrays"], item["params"] = (
            compiled[launch.op.name],
            pointers.ctypes.data,
            params.ctypes.data,
        )
        for name, limit in zip(BOUNDS, launch.box):
            item[name] = limit
    return Work(items, hull([launch.box for launch in launches]), keep)


def hull(boxes):
    """Return the smallest box that holds all boxes."""
    return np.array([f(values) for f, values in zip((min, max) * 3, zip(*boxes))], np.int32)


def address(array, first):
    """Address of element `first` of an array."""
    return array.ctypes.data + first * array.itemsize


def skewable(before, after, reach):
    """Split two phases that can share one pass: what runs before it, both lists of it, what runs
    after; None where they cannot.

    Nothing but pointwise launches may stand between the first of the one phase and the last of the
    other, and those that reach further than `reach` must lie at the top.
    """
    first = [n for n, launch in enumerate(before) if launch.op.pointwise]
    second = [n for n, launch in enumerate(after) if launch.op.pointwise]
    if not first or not second or first != list(range(first[0], len(before))) or second != list(range(len(second))):
        return None
    parts = before[: first[0]], before[first[0] :], after[: len(second)], after[len(second) :]
    top = hull([launch.box for launch in (*parts[1], *parts[2])])[1]
    wide = [launch for launch in (*parts[1], *parts[2]) if launch.op.reach > reach]
    return parts if all(launch.box[1] == top for launch in wide) else None


def late(launches, reach, top):
    """First plane that launches with a longer reach than `reach` read; `top` where there are none."""
    return min([top, *(launch.box[0] - launch.op.reach for launch in launches if launch.op.reach > reach)])
