"""Operators on halos, and what two neighbours send each other after a phase."""
from itertools import groupby
from pathlib import Path

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch, Message

FILE = Path(__file__).parent / "kernels" / "halo.h"
PARAMS = Struct("HaloParams", (("row", "i64"), ("plane", "i64"), *((n, "i32") for n in ("k0", "j0", "i0", "nk", "nj", "ni"))))
TOGETHER = 3  # fields


def pack(fields=TOGETHER):
    """Up to three fields of a slab into a buffer; see halo.h."""
    return _operator("pack", ("buffer",), ("f", "g", "h"), fields)


def unpack(fields=TOGETHER):
    """A buffer into the ghosts of up to three fields; see halo.h."""
    return _operator("unpack", ("f", "g", "h"), ("buffer",), fields)


def _operator(name, writes, reads, fields):
    count = "" if fields == TOGETHER else f"_{fields}"
    return Operator(name + count, FILE, writes, reads, PARAMS, kernel=name, reals_per_point=2 * fields, defines=(("FIELDS", fields),))


def messages(plan, subdomain):
    """What a rank sends and takes after each phase of its plan.

    Returns
    -------
    arrays : dict of str to Array
        Buffers.
    list of tuple of Message
        One tuple for each phase.
    """
    arrays, out = {}, []
    for phase in plan.phases:
        found, by_axis = [], {axis: list(some) for axis, some in groupby(sorted(phase.shared, key=_axis), _axis)}
        for axis, side in sorted(subdomain.faces):
            for n, some in enumerate(_threes(by_axis.get(axis, []))):
                name = f"halo_{phase.name}_{axis}{side}{n or ''}"
                one, buffers = message(plan, subdomain, (axis, side), some, name)
                found.append(one)
                arrays |= buffers
        out.append(tuple(found))
    return arrays, out


def message(plan, subdomain, face, halos, name):
    """The message to the neighbour behind a face and the one back, and their two buffers."""
    (axis, side), fields = face, [one.field for one in halos]
    low, high = max(one.low for one in halos), max(one.high for one in halos)
    n = subdomain.shape["zyx".index(axis)]
    sent, taken = ((0, high), (-low, 0)) if side == 0 else ((n - low, n), (n, n + high))
    boxes = [slab(subdomain.shape, axis, limits) for limits in (sent, taken)]
    buffers = {f"{name}_{way}": Array("halos", (len(fields) * points(box),), plan.precision) for way, box in zip(("out", "in"), boxes)}
    padded, params = (*fields, *[""] * (TOGETHER - len(fields))), [scalars(plan.layout, box) for box in boxes]
    packs = Launch(pack(len(fields)), (f"{name}_out", *padded), boxes[0], params[0])
    unpacks = Launch(unpack(len(fields)), (*padded, f"{name}_in"), boxes[1], params[1])
    return Message(subdomain.faces[face], face, f"{name}_out", f"{name}_in", packs, unpacks), buffers


def slab(shape, axis, limits):
    """All points with an index along an axis within limits, as a box."""
    box = [v for n in shape for v in (0, n)]
    n = 2 * "zyx".index(axis)
    box[n : n + 2] = limits
    return tuple(int(v) for v in box)


def points(box):
    """Number of points of a box."""
    return int(np.prod([b - a for a, b in zip(box[::2], box[1::2])], dtype=np.int64))


def scalars(layout, box):
    """Scalars of an operator on a slab."""
    k0, k1, j0, j1, i0, i1 = box
    return {"row": layout.row, "plane": layout.plane, "k0": k0, "j0": j0, "i0": i0, "nk": k1 - k0, "nj": j1 - j0, "ni": i1 - i0}


def _axis(halo):
    return halo.axis


def _threes(halos):
    return [halos[n : n + TOGETHER] for n in range(0, len(halos), TOGETHER)]
