"""Halos of a grid: the operators that pack and unpack slabs, and the messages between neighbours
after a phase.
"""

from dataclasses import replace

import numpy as np

from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch, Message

FILE = KERNELS / "halo.h"
PARAMS = Struct(
    "HaloParams",
    (("row", "i64", "row"), ("plane", "i64", "plane"), *((n, "i32") for n in ("k0", "j0", "i0", "nk", "nj", "ni"))),
)
TOGETHER = 3  # fields


def pack(fields=TOGETHER):
    """Up to three fields of a slab into a buffer; see halo.h."""
    return _operator("pack", ("buffer",), ("f", "g", "h"), fields)


def unpack(fields=TOGETHER):
    """Return a buffer into the ghosts of up to three fields; see halo.h."""
    return _operator("unpack", ("f", "g", "h"), ("buffer",), fields)


def _operator(name, writes, reads, fields):
    count = "" if fields == TOGETHER else f"_{fields}"
    return Operator(
        name + count,
        FILE,
        writes,
        reads,
        PARAMS,
        kernel=name,
        reals_per_point=2 * fields,
        defines=(("FIELDS", fields),),
    )


def buffers(name, out, into, precision):
    """Return the buffers of an exchange, ``NAME_out`` and ``NAME_in``, with a part ``NAME_out_RANK`` for each other
    rank, and the messages between these: dict of str to Array, tuple of Message.

    Parameters
    ----------
    out, into : dict of int to int
        Reals that go to other ranks, and that come from them, by rank.
    precision : str
    """
    arrays = {}
    for way, sizes in (("out", out), ("in", into)):
        ends = dict(zip(sizes, np.cumsum(list(sizes.values())).tolist()))
        arrays[f"{name}_{way}"] = Array("halos", (max(ends.values(), default=0),), precision)
        for rank, size in sizes.items():
            part = {"part_of": f"{name}_{way}", "start": ends[rank] - size}
            arrays[f"{name}_{way}_{rank}"] = Array("halos", (size,), precision, **part)
    return arrays, tuple(Message(rank, f"{name}_out_{rank}", f"{name}_in_{rank}") for rank in out)


def exchange(plan, subdomain, phase):
    """Return the buffers of a rank, and its phase with the messages to its neighbours and the
    launches that pack and unpack them.

    What goes to one rank is one message, also where it lies behind two faces: slabs in the order of
    the sender's faces.
    """
    name, slabs = f"halo_{phase.name}", {"out": {}, "in": {}}
    for way, of_ranks in slabs.items():
        for (axis, side), rank in sorted(
            subdomain.faces.items(), key=lambda item: (item[1], item[0][0], item[0][1] ^ (way == "in"))
        ):
            for halos in _threes([halo for halo in phase.halos if halo.axis == axis]):
                box = slab(subdomain.shape, axis, limits(subdomain.shape, halos, (axis, side), way))
                of_ranks.setdefault(rank, []).append(([halo.field for halo in halos], box))
    sizes = [
        {rank: sum(len(fields) * points(box) for fields, box in parts) for rank, parts in of_ranks.items()}
        for of_ranks in slabs.values()
    ]
    if not sizes[0]:
        return {}, phase
    arrays, messages = buffers(name, *sizes, plan.precision)
    launches = {"out": [], "in": []}
    for way, of_ranks in slabs.items():
        start = 0
        for n, (fields, box) in enumerate(part for parts in of_ranks.values() for part in parts):
            part, size = f"{name}_{way}_slab{n}", len(fields) * points(box)
            arrays[part] = Array("halos", (size,), plan.precision, part_of=f"{name}_{way}", start=start)
            launches[way].append(copy_of_slab(plan.layout, fields, box, part, way))
            start += size
    return arrays, replace(phase, messages=messages, packing=tuple(launches["out"]), unpacking=tuple(launches["in"]))


def limits(shape, halos, face, way):
    """First and last + 1 index of the points that go to the neighbour behind a face, or of the
    ghosts that come from it.
    """
    (axis, side), low, high = (face, max(halo.low for halo in halos), max(halo.high for halo in halos))
    n = shape["zyx".index(axis)]
    sent, taken = ((0, high), (-low, 0)) if side == 0 else ((n - low, n), (n, n + high))
    return sent if way == "out" else taken


def copy_of_slab(layout, fields, box, buffer, way):
    """Return the launch that packs up to three fields of a slab into a buffer, or unpacks them."""
    padded = (*fields, *[""] * (TOGETHER - len(fields)))
    op, names = (pack, (buffer, *padded)) if way == "out" else (unpack, (*padded, buffer))
    return Launch(op(len(fields)), names, box, scalars(layout, box))


def slab(shape, axis, limits):
    """All points with an index along an axis within limits, as a box."""
    box = [v for n in shape for v in (0, n)]
    n = 2 * "zyx".index(axis)
    box[n : n + 2] = limits
    return tuple(int(v) for v in box)


def points(box):
    """Return number of points of a box."""
    return int(np.prod([b - a for a, b in zip(box[::2], box[1::2])], dtype=np.int64))


def scalars(layout, box):
    """Scalars of an operator on a slab."""
    k0, k1, j0, j1, i0, i1 = box
    return {
        "row": layout.row,
        "plane": layout.plane,
        "k0": k0,
        "j0": j0,
        "i0": i0,
        "nk": k1 - k0,
        "nj": j1 - j0,
        "ni": i1 - i0,
    }


def _threes(halos):
    return [halos[n : n + TOGETHER] for n in range(0, len(halos), TOGETHER)]
