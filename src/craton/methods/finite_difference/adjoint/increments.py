"""Increments of velocities and stresses that a step stores for gradients: the store, what fills it,
what reads it; see kernels/increments.h.
"""

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch
from craton.methods.finite_difference.equations.operators import FIELD, HERE, POINTS, ROW_AND_PLANE, STORED

STORE = Struct("StoreParams", (*ROW_AND_PLANE, FIELD, POINTS, ("top", "i32", "k"), *STORED))
PARTS = ("velocity", "stress")
OVER = (None, ("z", 0), ("y", 0), ("x", 0))  # how arrays of numbers of points follow the grid
BY_Q = " by 1/Q"  # behind the names of sums by it
BY_REST = " not relaxing"  # and of sums by what of a medium does not relax
REST = ("c11", "c13", "c33", "c66")  # of normal stresses; in the plane there is no c66 among them


def operator(kernel, fields, velocities, normals, part="velocity", spread=-1, products=False):
    """Return a kernel of increments.h.

    Parameters
    ----------
    kernel : str
        ``"keep"``, ``"increment"``, ``"correlate"`` or ``"scatter"``.
    fields, velocities, normals : int
        All fields, and how many of them are velocities and normal stresses.
    part : str
        Half step, ``"velocity"`` or ``"stress"``.
    spread : int
        Number of the field szz where the top is traction-free, else -1.
    products : bool
        Of normal stresses the products of each pair.
    """
    writes, reads = {
        "keep": (("store",), ("state", "step")),
        "increment": (("store",), ("state", "step")),
        "correlate": (("sums",), ("state", "store", "step")),
        "scatter": (("state",), ("store", "coefficients", "step")),
    }[kernel]
    stresses = fields - velocities
    count = {"velocity": velocities, "stress": stresses}[part]
    reals, flops = {
        "keep": (2 * count, 0),
        "increment": (3 * count, count),
        "correlate": (4 * fields, 2 * fields + 4 * normals),
        "scatter": (4 * count, 2 * count),
    }[kernel]
    constants = {
        "FIELDS": fields,
        "VELOCITIES": velocities,
        "NORMALS": normals,
        "PART": PARTS.index(part),
        "FREE": int(spread >= 0),
        "SPREAD": spread,
        "TRANSPOSED": int(kernel == "correlate"),
    }
    constants |= {"PRODUCTS": 1} if products else {}
    suffix = "" if kernel == "correlate" else f"_{part}"
    return Operator(
        f"{kernel}{suffix}{'_pairs' if products else ''}",
        HERE / "increments.h",
        writes,
        reads,
        STORE,
        kernel=kernel,
        types=(("step", "i32"),),
        reals_per_point=reals,
        flops=flops,
        defines=tuple(constants.items()),
    )


def launch(d, kernel, slots, every=1, part="velocity"):
    """Return a launch of a kernel of increments.h on the whole grid of a `Discretisation`.

    Parameters
    ----------
    d : Discretisation
    kernel, part : str
        See `operator`.
    slots, every : int
        Steps that the store holds, and every how many of them it holds one.
    """
    fields = d.fields
    free = d.free and bool(d.normal)
    spread = fields.index("s" if d.acoustic else "szz") if free else -1
    counts = len(fields), len(d.velocity), len(d.normal)
    op = operator(kernel, *counts, part, spread, products=d.anisotropic)
    nz, ny, nx = d.shape
    params = {
        "row": d.layout.row,
        "plane": d.layout.plane,
        "field": d.layout.field,
        "points": nz * ny * nx,
        "top": nz - 1,
        "nj": ny,
        "ni": nx,
        "last": d.steps - 1,
        "every": every,
        "slots": slots,
    }
    return Launch(op, op.arrays, d.box, params)


def store(d, slots):
    """Return the array of stored increments, (slots, fields, nz, ny, nx).

    Parameters
    ----------
    d : Discretisation
    slots : int
    """
    shape = (slots, len(d.fields), *d.shape)
    return {"store": Array("store", shape, np.dtype(d.precision), over=(None, *OVER))}


def by_q(d):
    """Return whether 1/Qp and 1/Qs of what relaxes change: where they are parameters both, and of an
    anisotropic medium 1/Qp with the moduli, see quality.py.

    Parameters
    ----------
    d : Discretisation
    """
    changes = d.inverse_q is not None
    return changes and bool(d.normal), changes and not d.anisotropic


def sums_of(d):
    """Names of the sums of `correlate`, in order: velocities, shear stresses, deviatoric part and
    trace of normal stresses; with 1/Q that changes, of stresses those by it; of an anisotropic medium
    all pairs of normal stresses, with attenuation sums by what does not relax.

    Parameters
    ----------
    d : Discretisation
    """
    shear = tuple(f for f in d.stress if f not in d.normal)
    if d.anisotropic and not d.relaxing:
        return (*d.velocity, *shear, *(f"{a} {b}" for a in d.normal for b in d.normal))
    normal = ("deviatoric", "trace") if d.normal else ()
    of_p, of_s = by_q(d)
    of_q = ((*shear, *normal[:1]) if of_s else ()) + (normal[1:] if of_p else ())
    rest = ()
    if d.anisotropic:  # by what does not relax, see strains.h
        rest = (*(name + BY_REST for name in shear), *(REST[: 1 + len(d.normal)] if normal else ()))
    return (*d.velocity, *shear, *normal, *(name + BY_Q for name in of_q), *rest)


def sums(d, name="sums"):
    """Return the array of correlations, or of the coefficients of `scatter`: (sums, nz, ny, nx).

    Parameters
    ----------
    d : Discretisation
    name : str
    """
    shape = (len(sums_of(d)), *d.shape)
    return {name: Array("sums", shape, np.dtype(d.precision), over=OVER)}
