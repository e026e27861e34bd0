"""The two wavefields of steps that are taken back: the adjoint one under the names of a forward run,
the forward one in the block ``back``; and the box in which the latter is taken back.
"""

from dataclasses import replace

from craton.methods.finite_difference.equations import half_steps
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY

# names of the forward field's components in kernels, and in plans
FORWARD = tuple(name.replace("v", "u", 1) for name in VELOCITY)
TENSION = tuple(name.replace("s", "t", 1) for name in STRESS)
BACKWARD = "{}_back".format
BOUNDS = ("k0", "k1", "j0", "j1", "i0", "i1")


def inner(d):
    """Box (k0, k1, j0, j1, i0, i1) of the points outside absorbing layers, where every field is
    advanced by the plain step alone.
    """
    box = list(d.box)
    for kind, beyond in (("cpml", 1), ("sponge", 0)):
        thickness = getattr(d.boundaries, kind).thickness
        for axis, side in d.faces(kind):
            n = d.grid.shape[2 - axis]
            # profiles of a CPML at half points begin half a point further inside
            box[2 * (2 - axis) + side] = n - thickness - beyond if side else thickness
    return tuple(box)


def arrays(d):
    """Arrays of the field that is taken back: the block ``back`` and its parts."""
    out = {}
    for name, array in half_steps.wavefield(d).items():
        kind = {"kind": "forward field"}
        if name == "state":
            out["back"] = replace(array, **kind)
        else:
            out[BACKWARD(name)] = replace(array, part_of="back", **kind)
    return out


def names(d, op):
    """Names in a plan of the arrays of an operator on both fields."""
    known = dict(zip((*FORWARD, *TENSION), (*VELOCITY, *STRESS)))
    out = []
    for name in op.arrays:
        name = "laminate" if name == "planes" else name
        field = "s" if d.acoustic and known.get(name, name) == "sxx" else known.get(name, name)
        (field,) = d.names(field)
        out.append(BACKWARD(field) if field and name in known else field)
    return tuple(out)
