"""The operators of the elastic staggered grid, declared: what each writes and reads, its constants,
its least traffic.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from craton.core.operator import Operator, Struct, Variant, initialiser
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY

HERE = Path(__file__).parents[1] / "kernels"
ROW_AND_PLANE = (("row", "i64", "row"), ("plane", "i64", "plane"))
FIELD = ("field", "i64", "field")
FD = Struct("FDParams", (*ROW_AND_PLANE, ("sheet", "i64", "sheet"), ("top", "i32", "k"), ("dt_h", "real")))
SLAB = Struct(
    "SlabParams",
    (*FD.fields, *((f"{a}0", "i32", f"begin {a}") for a in "kji"), *((f"n{a}", "i32", f"count {a}") for a in "kji")),
)
# with the distance of memory variables
RELAXING = {s.name: Struct(s.name, (*s.fields, FIELD)) for s in (FD, SLAB)}
WRAP = Struct("WrapParams", (*ROW_AND_PLANE, ("shift", "i64", "shift")))
POINTS = ("points", "i64", "points")
# of stores of increments: points along y and x; the last step, every how many one is stored, how many fit
STORED = (("nj", "i32", "size j"), ("ni", "i32", "size i"), *((name, "i32") for name in ("last", "every", "slots")))

# Cyclic names of the fields along the axes (A, B, C) that start at x, y, z.
CYCLIC_VELOCITY = (("vx", "vy", "vz"), ("vy", "vz", "vx"), ("vz", "vx", "vy"))
CYCLIC_NORMAL = (("sxx", "syy", "szz"), ("syy", "szz", "sxx"), ("szz", "sxx", "syy"))
CYCLIC_SHEAR = (("sxy", "sxz"), ("syz", "sxy"), ("sxz", "syz"))  # sab, sca
MEDIUM = ("lam", "rmu", "d11", "d13", "r66", "qp", "qs")  # of any law, see law.h
# What is kept in 16 bits where a run asks for it, see storage.h: fields, by axes too, and material.
CYCLIC = ("va", "vb", "vc", "saa", "sbb", "scc", "sab", "sca", "vh", "shh")
KEPT = (
    *((name, "field") for name in (*VELOCITY, *STRESS, *CYCLIC)),
    *((name, "material") for name in ("rho", "lam", "rmu")),
)


# Of the streamed text, by precision and order: (VEC, BX, BY, PLANES, MIN_BLOCKS) for velocity and
# for stress, measured best on an H200.
STREAMED = {
    ("float32", 2): ((4, 64, 4, 16, 2), (4, 64, 4, 16, 2)),
    ("float32", 4): ((4, 64, 4, 16, 2), (4, 64, 4, 16, 2)),
    ("float32", 6): ((4, 32, 4, 32, 3), (4, 32, 4, 32, 3)),
    ("float32", 8): ((2, 32, 4, 32, 3), (2, 32, 4, 32, 3)),
    ("float64", 2): ((2, 64, 2, 16, 3), (2, 64, 2, 16, 3)),
    ("float64", 4): ((2, 64, 4, 32, 2), (2, 32, 2, 16, 4)),
    ("float64", 6): ((2, 32, 4, 32, 2), (1, 32, 4, 32, 2)),
    ("float64", 8): ((1, 32, 4, 32, 4), (2, 32, 4, 32, 2)),
}

# stress, where the others would spill
STREAMED_LAWS = {"VTI"}  # besides the isotropic one
STREAMED_VTI = {("float32", 4): (4, 32, 4, 32, 3), ("float32", 6): (2, 32, 4, 32, 3)}


# Of its attenuated stress step, any storage.
STREAMED_RELAXING = {
    ("float32", 2): (2, 32, 4, 32, 3),
    ("float32", 4): (2, 32, 4, 32, 3),
    ("float32", 6): (1, 32, 4, 32, 3),
    ("float32", 8): (1, 32, 4, 32, 3),
    ("float64", 2): (1, 32, 4, 32, 3),
    ("float64", 4): (1, 32, 4, 32, 3),
}


def streamed(stencil, kernel):
    """Return the variants for a GPU of the velocity step (kernel 0) or the stress step (1) in
    space: see elastic_streamed.cu.
    """
    if kernel and not dict(stencil.law).keys() <= STREAMED_LAWS:
        return ()
    special = STREAMED_VTI if stencil.anisotropic and kernel else {}
    return streamed_variants(stencil, {case: settings[kernel] for case, settings in STREAMED.items()} | special)


def streamed_variants(stencil, settings, file="elastic_streamed.cu", fields=1):
    """Return the streamed variants of one kernel in space, settings by precision and order; see `variant`."""
    order = 0 if stencil.motion else 2 * stencil.reach
    return tuple(variant(precision, one, file, fields) for (precision, of), one in settings.items() if of == order)


def variant(precision, setting, file="elastic_streamed.cu", fields=1):
    """Return the streamed variant of one setting, see `STREAMED`; of a text in which so many wavefields advance."""
    vec, bx, by, planes, blocks = setting
    defines = (("VEC", vec), ("BX", bx), ("BY", by), ("PLANES", planes), ("MIN_BLOCKS", blocks))
    text, span = HERE / file, (bx * vec, by, planes)
    return Variant("streamed", text, (bx, by, fields), span, defines, (precision,))


def constants(stencil, axis=None):
    """Difference weights along x and y (C) and along z (D) and their numbers, as constants of the
    kernel text; `axis`: of it alone.

    All operators of one file have the same ones, so that it is compiled once for all of them.
    """
    horizontal, vertical = (stencil.horizontal, stencil.vertical) if axis is None else 2 * (stencil.axes[axis],)
    named = {f"{letter}{n}": 0 for letter in "CD" for n in range(1, 9)}
    named |= {
        f"{letter}{n}": repr(c) for letter, all in (("C", horizontal), ("D", vertical)) for n, c in enumerate(all, 1)
    }
    flags = (("TERRAIN", int(stencil.terrain)), ("ACOUSTIC", int(stencil.acoustic)), ("ATTENUATION", 0), *stencil.law)
    return (("R", len(horizontal)), ("RZ", len(vertical)), *named.items(), *waves(stencil.motion), *flags)


def waves(motion):
    """Return the waves that are computed as constants of the kernel text."""
    return ("PLANE", int(motion is not None)), ("PSV", int(motion != "SH")), ("SH", int(motion != "P-SV"))


# Per point, of the steps and of what a layer adds to them: reals read and written, differences
# along x, y, z, other flops.
COST = {
    "velocity": {None: (13, (3, 3, 3), 18), "P-SV": (8, (2, 0, 2), 10), "SH": (5, (1, 0, 1), 5)},
    "stress": {None: (17, (3, 3, 3), 41), "P-SV": (10, (2, 0, 2), 20), "SH": (6, (1, 0, 1), 16)},
    "laminate": {None: (11, (2, 2, 1), 23), "P-SV": (6, (1, 0, 1), 10), "SH": (3, (1, 0, 0), 3)},
    "cpml_velocity": {None: (16, 3, 27), "P-SV": (11, 2, 18), "SH": (6, 1, 9)},
    "cpml_stress": {None: (21, 3, 32), "P-SV": (14, 2, 22), "SH": (6, 1, 11)},
    "cpml_laminate": {None: (12, 2, 18), "P-SV": (6, 1, 9), "SH": (4, 1, 5)},
}
# What transverse isotropy adds to the stress step, to its CPML along x or y, along z: reals read,
# flops.
VTI_COST = {None: ((3, 18), (3, 9), (1, 3)), "P-SV": ((2, 6), (2, 4), (1, 2)), "SH": ((1, 0), (0, 0), (0, 0))}
ACOUSTIC_COST = {
    "velocity": {None: (8, (1, 1, 1), 12), "P-SV": (6, (1, 0, 1), 8)},
    "stress": {None: (6, (1, 1, 1), 5), "P-SV": (5, (1, 0, 1), 4)},
    "cpml_velocity": {None: (6, 1, 9), "P-SV": (6, 1, 9)},
    "cpml_stress": {None: (6, 1, 8), "P-SV": (6, 1, 8)},
}
VELOCITIES = {None: 3, "P-SV": 2, "SH": 1}  # that are computed
STRESSES = {None: (3, 3), "P-SV": (2, 1), "SH": (0, 2)}  # normal and shear ones that are


def cost(stencil, kernel, axis=None):
    """Least traffic and flops of a kernel, as an operator declares them; `axis` where it works along one."""
    reals, differences, others = (ACOUSTIC_COST if stencil.acoustic else COST)[kernel][stencil.motion]
    counted = zip(stencil.axes, differences) if axis is None else [(stencil.axes[axis], differences)]
    if stencil.anisotropic and kernel.endswith("stress"):
        more = VTI_COST[stencil.motion][0 if axis is None else 1 + axis // 2]
        reals, others = reals + more[0], others + more[1]
    return {"reals_per_point": reals, "flops": others + sum(n * (3 * len(c) - 1) for c, n in counted)}


def _on_grid(name, text, writes, reads, params, stencil, axis=None, defines=(), **options):
    """Return an operator of differences, along all axes or one."""
    defines = (*constants(stencil, axis), ("SURFACE", 0), *defines)
    return Operator(name, HERE / text, writes, reads, params, defines=defines, **{"reach": stencil.reach} | options)


def velocity(stencil):
    """Return the velocity step; see elastic.h, acoustic.h."""
    least = cost(stencil, "velocity")
    if stencil.acoustic:
        return _on_grid("acoustic_velocity", "acoustic.h", VELOCITY, ("s", "rho"), FD, stencil, **least)
    options = least | {"types": KEPT, "variants": streamed(stencil, 0)}
    return _on_grid("velocity", "elastic.h", VELOCITY, (*STRESS, "rho"), FD, stencil, **options)


def stress(stencil, relaxing=()):
    """Return the stress step; see elastic.h, acoustic.h.

    `relaxing` are the constants of relaxing.constants.
    """
    least = cost(stencil, "stress")
    if stencil.acoustic:
        return _on_grid("acoustic_pressure", "acoustic.h", ("s",), (*VELOCITY, "lam"), FD, stencil, **least)
    name, options = f"{_prefix(stencil, 'stress')}stress", least | {"types": KEPT, "variants": streamed(stencil, 1)}
    writes, reads = (*STRESS, "memory"), (*VELOCITY, *MEDIUM)
    op = _on_grid(name, "elastic.h", writes, reads, FD, stencil, kernel="stress", **options)
    if not relaxing:
        return op
    lossy = _relaxing(op, relaxing, STRESSES[stencil.motion])
    return lossy if stencil.law else replace(lossy, variants=streamed_variants(stencil, STREAMED_RELAXING))


def _relaxing(op, constants, components):
    """Return the same with memory variables of so many normal and shear stresses; some 17 flops a
    variable, 12 of them for coefficients.
    """
    defines = dict(constants)
    variables = defines["NORMAL_STORED"] * components[0] + defines["SHEAR_STORED"] * components[1]
    reals = op.reals_per_point + (2 if components[0] else 1) + 2 * variables
    op = replace(op, params=RELAXING[op.params.name], reals_per_point=reals, flops=op.flops + variables * 17)
    return op.specialised(op.name, **defines)


def laminate(stencil):
    """Return what the stress step lacks where horizontal interfaces cut cells; see laminate.h."""
    writes, options = ("sxx", "syy", "szz", "sxy"), cost(stencil, "laminate")
    return _on_grid("laminate", "laminate.h", writes, (*VELOCITY, "planes"), FD, stencil, types=KEPT, **options)


def among_air(op):
    """Return the same step for planes in which some cells hold nothing."""
    return op.specialised(f"{op.name}_terrain", TERRAIN=1)


def at_surface(op, closure, stencil, below=False):
    """Return the same step for the planes below a traction-free top, vertical differences from the
    closure's rows.

    It covers `closure.rows` + 1 planes: the last row of half points lies that deep; integer points
    there have the plain stencil. `below`: the half points below the last plane, too.
    """
    c = np.array(stencil.vertical)
    plain = np.zeros((2, max(closure.cols, closure.rows + len(c) + below)))
    for row, first in enumerate((closure.rows - len(c), closure.rows - len(c) + below)):
        plain[row, first : first + 2 * len(c)] = [*-c[::-1], *c]
    chosen = closure.stress if closure.stress and op.function.endswith("velocity") else (closure.d1, closure.d2)
    d1, d2 = (np.pad(d, ((0, 0), (0, plain.shape[1] - closure.cols))) for d in chosen)
    forward, backward = np.vstack([d1, plain[1:]]), np.vstack([d2, plain[:1]])
    defines = {"SURFACE": 1, "ROWS": len(backward), "COLUMNS": plain.shape[1]}
    defines |= {"CLOSURE_FWD": initialiser(forward), "CLOSURE_BWD": initialiser(backward)}
    closed = op.specialised(f"{op.name}_surface", **defines)
    return replace(closed, reach=max(plain.shape[1], op.reach))


def contact_velocity(stencil, size):
    """Return what the velocity step lacks beside contacts; see contact.h, `contact.Closures`."""
    return _contact("contact_velocity", VELOCITY, (*STRESS, "rho"), stencil, size)


def contact_stress(stencil, size, relaxing=(), free=False):
    """Return what the stress step lacks beside contacts; see contact.h."""
    op = _contact("contact_stress", (*STRESS, "memory"), (*VELOCITY, *MEDIUM), stencil, size, free)
    return _relaxing(op, relaxing, STRESSES[stencil.motion]) if relaxing else op


def _contact(kernel, writes, reads, stencil, size, free=False):
    reals = {None: (17, 18), "P-SV": (9, 10), "SH": (6, 6)}[stencil.motion][kernel == "contact_stress"]
    flops = {None: 9, "P-SV": 4, "SH": 2}[stencil.motion] * (4 * size + 7)
    options = {"reach": size, "kernel": kernel, "types": (("situations", "i32"), ("closed_rows", "i32"))}
    options |= {"defines": (("FREE", int(free)), ("SIZE", size)), "reals_per_point": reals, "flops": flops}
    name, reads = f"{_prefix(stencil, kernel)}{kernel}", (*reads, "situations", "closed_rows", "closed_patterns")
    return _on_grid(name, "contact.h", writes, reads, SLAB, stencil, **options)


def cpml_velocity(stencil, axis, transposed=False):
    """Return what the CPML adds to the velocity step along one axis; see cpml.h.

    `transposed`: what its transpose adds, of remembered stresses.
    """
    op = _cpml("cpml_velocity", ("va", "vb", "vc", "psi"), ("saa", "sab", "sca", "rho", "profile"), stencil, axis)
    return _of_remembered(op, stencil) if transposed else op


def _of_remembered(op, stencil):
    """Return the part of a CPML step that differences what was remembered: no memory variables."""
    count = _layer_fields(stencil)
    return _transposed(op, 2 * count, 5 * count)


def _transposed(op, reals, flops):
    """Return the transpose of what a layer adds, with less to read and to compute."""
    op = replace(op, reals_per_point=op.reals_per_point - reals, flops=op.flops - flops)
    return op.specialised(f"{op.name}_transposed", TRANSPOSED=1)


def _layer_fields(stencil):
    """Return how many fields a layer stretches in a half step."""
    return 1 if stencil.acoustic else VELOCITIES[stencil.motion]


def cpml_stress(stencil, axis, relaxing=(), free=False, transposed=False):
    """Return what the CPML adds to the stress step along one axis; see cpml.h.

    `free`: the top is traction-free. `transposed`: see `cpml_velocity`.
    """
    writes, reads = ("saa", "sbb", "scc", "sab", "sca", "psi", "memory"), ("va", "vb", "vc", *MEDIUM, "profile")
    op = _cpml("cpml_stress", writes, reads, stencil, axis)
    if relaxing:
        components = {None: (1, 2), "P-SV": (1, 1), "SH": (0, 1)}[stencil.motion]
        op = _relaxing(op, dict(relaxing) | {"FREE": int(free)}, components)
    return _of_remembered(op, stencil) if transposed else op


def remember(stencil, axis, step):
    """Return the first half of the transpose of `cpml_velocity` or `cpml_stress`: it remembers
    adjoint velocities (`step` "velocity") or stresses ("stress"); see cpml.h.
    """
    fields = ("saa", "sab", "sca") if step == "stress" else ("va", "vb", "vc")
    outputs = tuple("q" + name[1:] for name in fields)
    name = f"remember_{step}"
    count = _layer_fields(stencil)
    return replace(
        _cpml(f"cpml_{step}", (*outputs, "psi"), (*fields, "profile"), stencil, axis),
        name=f"{_prefix(stencil, name)}{name}_{'xyz'[axis]}",
        kernel=name,
        reach=0,
        types=(),  # fields of the adjoint, always reals
        reals_per_point=4 * count,
        flops=5 * count,
        pointwise=False,  # its q is differentiated by the launch that follows
        grain=(8, 16, 1 << 30),
    )


def damping(axis, motion=None, transposed=False):
    """Velocities damped in the outer part of the layer across one axis, see damping.h.

    `transposed`: the transpose of that.
    """
    name, count = f"damping_{'xyz'[axis]}" + ("_transposed" if transposed else ""), VELOCITIES[motion]
    defines = (*waves(motion), ("ACOUSTIC", 0), ("TERRAIN", 0), ("AXIS", axis))
    defines += (("TRANSPOSED", 1),) if transposed else ()
    options = {"kernel": "damping", "types": KEPT, "reals_per_point": 4 * count, "flops": 6 * count, "defines": defines}
    return Operator(name, HERE / "damping.h", ("va", "vb", "vc", "lowpass"), ("profile",), SLAB, **options)


def cpml_laminate(stencil, axis, transposed=False):
    """Return what the CPML along x or y adds to `laminate`; see cpml.h.

    `transposed`: see `cpml_velocity`.
    """
    op = _cpml("cpml_laminate", ("saa", "shh", "szz", "sxy"), ("va", "vh", "psi", "profile", "planes"), stencil, axis)
    without = 1 if stencil.motion else 2  # memory variables, which the transpose does not read
    return _transposed(op, without, 2 * without) if transposed else op


def _cpml(kernel, writes, reads, stencil, axis):
    name, defines = f"{_prefix(stencil, kernel)}{kernel}_{'xyz'[axis]}", (("FREE", 0), ("AXIS", axis))
    options = {"kernel": kernel, "types": KEPT} | cost(stencil, kernel, axis)
    return _on_grid(name, "cpml.h", writes, reads, SLAB, stencil, axis, defines, **options)


def sponge(axis, fields=3):
    """Cerjan damping of up to three fields along one axis; see sponge.h."""
    name, defines = f"sponge_{'xyz'[axis]}", (("AXIS", axis),)
    return _of_fields("sponge", name, ("profile",), SLAB, fields, defines, flops=fields)


def _of_fields(kernel, name, reads, params, fields, defines=(), **options):
    """Return an operator on up to three fields."""
    count = "" if fields == 3 else f"_{fields}"
    options |= {"kernel": kernel, "reals_per_point": 2 * fields, "defines": (*defines, ("FIELDS", fields))}
    return Operator(name + count, HERE / f"{kernel}.h", ("f", "g", "h"), reads, params, **options)


def a1(stencil, axis, side):
    """One-way equation for the velocities at a face; see a1.h."""
    planes, count = 2 * len(stencil.axes[axis]), VELOCITIES[stencil.motion]
    reals = 3 * count * (planes + 1) + 3 - stencil.acoustic
    name = f"{_prefix(stencil, 'a1')}a1_{'xyz'[axis]}{side}"
    defines = (("AXIS", axis), ("SIDE", side), ("PLANES", planes))
    options = {"reach": planes, "reals_per_point": reals, "flops": 3 * count * planes + 16, "kernel": "a1"}
    writes, reads = ("va", "vb", "vc", "past"), ("rho", "lam", "rmu")
    return _on_grid(name, "a1.h", writes, reads, SLAB, stencil, axis, defines, pointwise=False, **options)


def rigid():
    """Return a field held at zero; see rigid.h."""
    types = (("f", "field"),)
    return Operator("rigid", HERE / "rigid.h", ("f",), (), FD, reals_per_point=1, types=types)


def wrap(fields=3):
    """Ghost points of a periodic axis, of up to three fields; see wrap.h."""
    return _of_fields("wrap", "wrap", (), WRAP, fields, pointwise=False)


def _prefix(stencil, kernel):
    """Start of an operator's name where it has an isotropic elastic sibling."""
    return "acoustic_" if stencil.acoustic else "vti_" if stencil.anisotropic and kernel.endswith("stress") else ""
