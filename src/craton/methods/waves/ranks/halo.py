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
    name, arrays, launches, sizes = f"halo_{phase.name}", {}, {"out": [], "in": []}, {"out": {}, "in": {}}
    for way in launches:
        start = 0
        for rank, fields, box in slabs(subdomain, phase, way):
            part = f"{name}_{way}_slab{len(launches[way])}"
            launches[way].append(copy_of_slab(plan.layout, fields, box, part, way))
            size = len(fields) * launches[way][-1].points
            arrays[part] = Array("halos", (size,), plan.precision, part_of=f"{name}_{way}", start=start)
            sizes[way][rank] = sizes[way].get(rank, 0) + size
            start += size
    if not start:
        return {}, phase
    whole, messages = buffers(name, sizes["out"], sizes["in"], plan.precision)
    packing, unpacking = map(tuple, launches.values())
    return whole | arrays, replace(phase, messages=messages, packing=packing, unpacking=unpacking)


def slabs(subdomain, phase, way):
    """Yield (rank, fields, box) of the points that go to neighbours, ``"out"``, or of the ghosts that come from
    them, ``"in"``: up to three fields each, rank by rank.
    """
    sides = sorted(subdomain.faces.items(), key=lambda item: (item[1], item[0][0], item[0][1] ^ (way == "in")))
    for (axis, side), rank in sides:
        halos, n = [halo for halo in phase.halos if halo.axis == axis], "zyx".index(axis)
        for together in (halos[first : first + TOGETHER] for first in range(0, len(halos), TOGETHER)):
            low, high, end = max(h.low for h in together), max(h.high for h in together), subdomain.shape[n]
            box = [v for count in subdomain.shape for v in (0, count)]
            if way == "out":
                box[2 * n : 2 * n + 2] = (end - low, end) if side else (0, high)
            else:
                box[2 * n : 2 * n + 2] = (end, end + high) if side else (-low, 0)
            yield rank, [halo.field for halo in together], tuple(box)


def copy_of_slab(layout, fields, box, buffer, way):
    """Return the launch that packs up to three fields of a slab into a buffer, or unpacks them."""
    padded = (*fields, *[""] * (TOGETHER - len(fields)))
    op, names = (pack, (buffer, *padded)) if way == "out" else (unpack, (*padded, buffer))
    k0, k1, j0, j1, i0, i1 = box
    scalars = {"row": layout.row, "plane": layout.plane, "k0": k0, "j0": j0, "i0": i0}
    return Launch(op(len(fields)), names, box, scalars | {"nk": k1 - k0, "nj": j1 - j0, "ni": i1 - i0})
