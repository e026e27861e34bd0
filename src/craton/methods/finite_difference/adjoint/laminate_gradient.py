"""Gradients in cells that horizontal interfaces cut (laminate.py): what thin layers add to the
isotropic stiffness of a cell is held at that of the scenario's model.

With C the isotropic stiffness of a cell, which changes, and D what is held, stresses follow from
C + D, in the transposed run as in the forward one. The gradient by C is that of strains
(C + D)^-1 s; in place of the stresses s of isotropic cells stand C (C + D)^-1 s, see
kernels/laminate_sums.h. With attenuation strains themselves are correlated (strains.py), and there
is nothing to do.
"""

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Launch
from craton.core.subdomain import clip
from craton.errors import Problem
from craton.methods.finite_difference.equations import laminate, operators
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY

CUT = Struct("CutParams", (*operators.FD.fields, operators.FIELD, operators.POINTS, *operators.STORED))
NORMAL = STRESS[:4]  # sxx, syy, szz, sxy
FORWARD = ("ux", "uy", "uz"), ("txx", "tyy", "tzz", "txy")
ARRAYS = {  # written, read
    "laminate_increment": (("store",), ()),
    "laminate_correlate": (("sums",), (*NORMAL, "store")),
    "backward_laminate": ((*NORMAL, *FORWARD[1], "sums"), (*VELOCITY, *FORWARD[0])),
}
# By kernel and motion: normal stresses, and 1 where there is sxy.
COUNTS = {None: (3, 1), "P-SV": (2, 0), "SH": (0, 1)}


def operator(kernel, stencil, params=CUT):
    """Return a kernel of laminate_sums.h.

    Parameters
    ----------
    kernel : str
        Of `ARRAYS`.
    stencil : Stencil
    params : Struct
        Of ``"backward_laminate"`` those of a step back.
    """
    writes, reads = ARRAYS[kernel]
    normals, shears = COUNTS[stencil.motion]
    stresses, medium = normals + shears, (normals > 0) + 1
    differences = operators.cost(stencil, "laminate")
    reals, flops, reach = {
        "laminate_increment": (2 * stresses + medium, 14 * stresses, 0),
        "laminate_correlate": (2 * stresses + 2 * (2 * (normals > 0) + shears), 18 * stresses, 0),
        "backward_laminate": (
            2 * differences["reals_per_point"] + 4 * (normals > 0) + 2 * shears,
            2 * differences["flops"] + 18 * stresses,
            stencil.reach,
        ),
    }[kernel]
    reals += medium if kernel != "laminate_increment" else 0
    defines = (*operators.constants(stencil), ("SURFACE", 0))
    return Operator(
        kernel,
        operators.HERE / "laminate_sums.h",
        writes,
        (*reads, "lam", "rmu", "planes", "step"),
        params,
        reach=reach,
        types=(("step", "i32"),),
        reals_per_point=reals,
        flops=flops,
        defines=(*defines, *((("TRANSPOSED", 1),) if kernel == "laminate_correlate" else ())),
    )


def on_store(d, kernel, slots, every):
    """Return launches of a kernel that reads stored increments, on all cut cells.

    Parameters
    ----------
    d : Discretisation
    kernel : str
        ``"laminate_increment"`` or ``"laminate_correlate"``.
    slots, every : int
        See `craton.methods.finite_difference.adjoint.increments.launch`.
    """
    boxes, (nz, ny, nx) = laminate.boxes(d), d.shape
    if not boxes:
        return []
    params = d.fd_params | {"field": d.layout.field, "points": nz * ny * nx, "nj": ny, "ni": nx}
    params |= {"last": d.steps - 1, "every": every, "slots": slots}
    op = operator(kernel, d.stencil)
    names = d.names(*("laminate" if name == "planes" else name for name in op.arrays))
    return [Launch(op, names, box, params) for box in boxes]


def stressed(d):
    """Return the launches that add to the adjoint stress step what those of `laminate.laminate` add
    to the forward one, but for absorbing layers.
    """
    return laminate.unlayered(d) if laminate.boxes(d) else []


def remembered(d, axis, box, params, q):
    """Return the launches of a CPML layer along x or y that add to adjoint stresses what follows
    from differences of the velocities that it has remembered.

    Parameters
    ----------
    d : Discretisation
    axis : int
    box : tuple of int
        The points that the differences reach.
    params : dict
        Of the layer, see `boundaries.slab_params`.
    q : sequence of str
        Names of the remembered velocities, along (A, B, C).
    """
    commons = [common for cut in laminate.boxes(d) if (common := clip(cut, box))]
    if axis == 2 or not commons:
        return []
    a, h = "xyz"[axis], "yx"[axis]
    op = operators.cpml_laminate(d.stencil, axis, transposed=True)
    names = (*d.names(f"s{a}{a}", f"s{h}{h}", "szz", "sxy"), q[0], q[1 + axis], "", "", "laminate")
    return [Launch(op, names, common, params) for common in commons]


def fluid_problems(d):
    """Return cut cells without a shear modulus, whose stresses say too little of strains: list of
    Problem.

    Parameters
    ----------
    d : Discretisation
        With the medium of its cells.
    """
    count = 0
    for k0, k1, j0, j1, i0, i1 in laminate.boxes(d):
        rows = slice(None) if d.planar else slice(j0, j1)
        count += int((np.asarray(d.cells[2])[k0:k1, rows, i0:i1] <= 0).sum())
    words = f"{count:,} cells that a layer's interface cuts have no shear modulus"
    remedy = "bound vs, or let the interface lie half-way between points"
    return [Problem("m", words, remedy)] if count else []
