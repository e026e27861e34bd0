"""What a step stores for gradients, what correlates adjoint fields with it and what scatters it: increments of velocities
and stresses (kernels/increments.h), in a medium with attenuation strains (strains.h), and what cut cells add
(laminate_sums.h).

In cells that horizontal interfaces cut (laminate.py), what thin layers add to the isotropic stiffness of a cell is held at
that of the scenario's model. With C the isotropic stiffness of a cell, which changes, and D what is held, stresses follow
from C + D, in the transposed run as in the forward one. The gradient by C is that of strains (C + D)^-1 s; in place of the
stresses s of isotropic cells stand C (C + D)^-1 s. With attenuation strains themselves are correlated, and there is
nothing to do.
"""

from dataclasses import replace

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch
from craton.core.subdomain import clip
from craton.errors import Problem
from craton.methods.finite_difference.equations import boundaries, laminate, operators, relaxing
from craton.methods.finite_difference.equations.operators import FIELD, HERE, POINTS, ROW_AND_PLANE, STORED
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY

STORE = Struct("StoreParams", (*ROW_AND_PLANE, FIELD, POINTS, ("top", "i32", "k"), *STORED))
STRAIN = Struct(
    "StrainParams",
    (
        *ROW_AND_PLANE,
        ("sheet", "i64", "sheet"),
        FIELD,
        POINTS,
        ("past", "i64", "fields"),
        ("top", "i32", "k"),
        *STORED,
        ("dt_h", "real"),
    ),
)
CUT = Struct("CutParams", (*operators.FD.fields, FIELD, POINTS, *STORED))
OF_LAYERS = STRESS[:4]  # stresses to which thin layers add: sxx, syy, szz, sxy
# the forward field's components in kernels that have both fields
FORWARD = tuple(name.replace("v", "u", 1) for name in VELOCITY)
TENSION = tuple(name.replace("s", "t", 1) for name in STRESS)
OF_CUT_CELLS = {  # written, read
    "laminate_increment": (("store",), ()),
    "laminate_correlate": (("sums",), (*OF_LAYERS, "store")),
    "backward_laminate": ((*OF_LAYERS, *TENSION[:4], "sums"), (*VELOCITY, *FORWARD)),
}
# By kernel and motion: normal stresses, and 1 where there is sxy.
COUNTS = {None: (3, 1), "P-SV": (2, 0), "SH": (0, 1)}
OF_STRAINS = {  # written, read
    "keep_strain": (("store",), ("memory", "step")),
    "increment_strain": (("store",), ("memory", "step")),
    "correlate_strain": (("sums", "memory"), ("state", "store", "qp", "qs", "damping", "step")),
    "scatter_strain": (("state", "memory", "scattered"), ("store", "coefficients", *operators.MEDIUM, "step")),
}
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
    return Launch(op, op.arrays, d.box, _params(d, op, slots, every))


def _params(d, op, slots, every):
    """Return the scalars of an operator on a store."""
    nz, ny, nx = d.shape
    known = d.fd_params | {"top": nz - 1, "field": d.layout.field, "past": d.memory_variables * d.layout.field}
    known |= {"points": nz * ny * nx, "nj": ny, "ni": nx, "last": d.steps - 1, "every": every, "slots": slots}
    return {name: known[name] for name in op.params.names}


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
    anisotropic medium 1/Qp with the moduli, see `sensitivity.of_steps`.

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


# --- strains of a medium with attenuation ----------------------------------------------------------------------------------


def strain_operator(
    kernel, stencil, constants, fields, stresses, variables, free=False, by_q=(False, False), sponge=False, sparse=False
):
    """Return a kernel of strains.h.

    Parameters
    ----------
    kernel : str
        Of `OF_STRAINS`.
    stencil : Stencil
    constants : tuple of (str, object)
        Of attenuation, see `relaxing.constants`.
    fields, stresses, variables : int
        All fields, how many of them are stresses, and memory variables of a point.
    free : bool
        The top is traction-free.
    by_q : (bool, bool)
        Sums and coefficients of 1/Qp, and of 1/Qs, as well.
    sponge : bool
        The array ``damping`` holds what stresses are multiplied by after each step.
    sparse : bool
        Not all steps are stored.
    """
    writes, reads = OF_STRAINS[kernel]
    reals, flops = {
        "keep_strain": (2 * stresses, 0),
        "increment_strain": (3 * stresses, 4 * stresses),
        "correlate_strain": (4 * fields + 3 * variables, 2 * fields + 25 * variables),
        "scatter_strain": (4 * stresses + 2 * variables, 2 * stresses + 25 * variables),
    }[kernel]
    correlates, scatters = (kernel == f"{verb}_strain" for verb in ("correlate", "scatter"))
    summed = correlates or scatters
    by_q = {f"BY_Q{wave}": 1 for wave, is_so in zip("PS", by_q) if is_so and summed}
    # sums by 1/Q, or by what does not relax: of each stress
    more_sums = summed and ("BY_QS" in by_q or stencil.anisotropic)
    reals += (1 + correlates) * stresses * more_sums
    choices = {"SPONGE": sponge and correlates, "SPARSE": sparse and scatters}
    more = {"SURFACE": 0, "FREE": int(free), "FIELDS": fields, "TRANSPOSED": int(correlates)} | by_q
    more |= {name: 1 for name, is_so in choices.items() if is_so}
    prefix = "vti_" if stencil.anisotropic else ""
    suffixes = {"_by_q": "BY_QS" in by_q} | {f"_{name.lower()}": is_so for name, is_so in choices.items()}
    return Operator(
        prefix + kernel + "".join(suffix for suffix, is_so in suffixes.items() if is_so),
        HERE / "strains.h",
        writes,
        reads,
        STRAIN,
        kernel=kernel,
        types=(("step", "i32"),),
        reals_per_point=reals,
        flops=flops,
        defines=tuple({**dict(operators.constants(stencil)), **dict(constants), **more}.items()),
    )


def strain_launch(d, kernel, slots, every):
    """Return a launch of a kernel of strains.h on the whole grid of a `Discretisation`; see `launch`."""
    plain, sponge = replace(d.stencil, terrain=False), bool(d.faces("sponge"))
    counts = (len(d.fields), len(d.stress), d.memory_variables)
    op = strain_operator(kernel, plain, d.relaxing, *counts, d.free, by_q(d), sponge, every > 1)
    names = d.names(*("" if n == "damping" and not sponge else n for n in op.arrays))
    return Launch(op, names, d.box, _params(d, op, slots, every))


def stored(d, slots, every):
    """Return launches that store the increments of a step, by place in it: of velocities, and of
    stresses or, with attenuation, strains.
    """
    kernels = (("before", "keep"), ("updated", "increment"))
    launches = {
        f"{part}_{place}": [launch(d, kernel, slots, every, part)] for part in PARTS for place, kernel in kernels
    }
    if d.relaxing:
        launches |= {
            f"stress_{place}": [strain_launch(d, f"{kernel}_strain", slots, every)] for place, kernel in kernels
        }
    else:
        launches["stress_updated"] += on_cut_cells(d, "laminate_increment", slots, every)
    return launches


def correlated(d, slots, every):
    """Return the launches that correlate adjoint fields with what is stored."""
    if d.relaxing:
        return [strain_launch(d, "correlate_strain", slots, every)]
    return [launch(d, "correlate", slots, every), *on_cut_cells(d, "laminate_correlate", slots, every)]


def scattered(d, slots, every):
    """Arrays and launches that scatter what is stored, by place in the step."""
    launches = {f"{part}_updated": [launch(d, "scatter", slots, every, part)] for part in PARTS}
    if not d.relaxing:
        return {}, launches
    launches["stress_updated"] = [strain_launch(d, "scatter_strain", slots, every)]
    return {"scattered": relaxing.block(d, d.memory_variables)}, launches


def memory(d):
    """Arrays of the memory variables of a transposed run, and of their sums over time behind them;
    and of what sponges multiply stresses by; none without attenuation.
    """
    if not d.relaxing:
        return {}
    arrays = {"memory": relaxing.block(d, 2 * d.memory_variables)}
    if d.faces("sponge"):
        factors = boundaries.sponge_factors(d).astype(d.precision)
        arrays["damping"] = Array("boundary", d.shape, d.precision, factors, over=OVER[1:])
    return arrays


# --- cut cells -----------------------------------------------------------------------------------------------------------


def cut_operator(kernel, stencil, params=CUT):
    """Return a kernel of laminate_sums.h.

    Parameters
    ----------
    kernel : str
        Of `OF_CUT_CELLS`.
    stencil : Stencil
    params : Struct
        Of ``"backward_laminate"`` those of a step back.
    """
    writes, reads = OF_CUT_CELLS[kernel]
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
        HERE / "laminate_sums.h",
        writes,
        (*reads, "lam", "rmu", "planes", "step"),
        params,
        reach=reach,
        types=(("step", "i32"),),
        reals_per_point=reals,
        flops=flops,
        defines=(*defines, *((("TRANSPOSED", 1),) if kernel == "laminate_correlate" else ())),
    )


def on_cut_cells(d, kernel, slots, every):
    """Return launches of a kernel that reads stored increments, on all cut cells.

    Parameters
    ----------
    d : Discretisation
    kernel : str
        ``"laminate_increment"`` or ``"laminate_correlate"``.
    slots, every : int
        See `launch`.
    """
    boxes = laminate.boxes(d)
    if not boxes:
        return []
    op = cut_operator(kernel, d.stencil)
    names = d.names(*("laminate" if name == "planes" else name for name in op.arrays))
    return [Launch(op, names, box, _params(d, op, slots, every)) for box in boxes]


def remembered_in_cut_cells(d, axis, box, params, q):
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
    """Return cut cells without a shear modulus, whose stresses say too little of strains: list of Problem.

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
    return [Problem("m", words, "bound vs, or let the interface lie half-way between points")] if count else []
