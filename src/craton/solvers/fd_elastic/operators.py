"""The operators of the elastic staggered grid, declared: what each writes and reads, its constants, its least traffic."""
from dataclasses import replace
from pathlib import Path

import numpy as np

from craton.plan.operator import Operator, Struct, Variant
from craton.solvers.fd_elastic.scheme import STRESS, VELOCITY

HERE = Path(__file__).parent
FD = Struct("FDParams", (("row", "i64"), ("plane", "i64"), ("top", "i32"), ("dt_h", "real")))
SLAB = Struct("SlabParams", (*FD.fields, *((n, "i32") for n in ("k0", "j0", "i0", "nk", "nj", "ni"))))
WRAP = Struct("WrapParams", (("row", "i64"), ("plane", "i64"), ("shift", "i64")))

# Cyclic names of the fields along the axes (A, B, C) that start at x, y, z.
CYCLIC_VELOCITY = (("vx", "vy", "vz"), ("vy", "vz", "vx"), ("vz", "vx", "vy"))
CYCLIC_NORMAL = (("sxx", "syy", "szz"), ("syy", "szz", "sxx"), ("szz", "sxx", "syy"))
CYCLIC_SHEAR = (("sxy", "sxz"), ("syz", "sxy"), ("sxz", "syz"))  # sab, sca


# Of the streamed text, by precision and order: (VEC, BX, BY, PLANES, MIN_BLOCKS) for velocity and for stress, measured best on an H200.
STREAMED = {
    ("float32", 2): ((4, 64, 4, 16, 2), (4, 64, 4, 16, 2)), ("float32", 4): ((4, 64, 4, 16, 2), (4, 64, 4, 16, 2)),
    ("float32", 6): ((4, 32, 4, 32, 3), (4, 32, 4, 32, 3)), ("float32", 8): ((2, 32, 4, 32, 3), (2, 32, 4, 32, 3)),
    ("float64", 2): ((2, 64, 2, 16, 3), (2, 64, 2, 16, 3)), ("float64", 4): ((2, 64, 4, 32, 2), (2, 32, 2, 16, 4)),
    ("float64", 6): ((2, 32, 4, 32, 2), (1, 32, 4, 32, 2)), ("float64", 8): ((1, 32, 4, 32, 4), (2, 32, 4, 32, 2)),
}  # fmt: skip


def streamed(order, kernel):
    """The variants for a GPU of the velocity step (kernel 0) or the stress step (1): see elastic_streamed.cu."""
    chosen = {precision: settings[kernel] for (precision, of), settings in STREAMED.items() if of == order}
    return tuple(
        Variant("streamed", HERE / "elastic_streamed.cu", (bx, by, 1), (bx * vec, by, planes),
                (("VEC", vec), ("BX", bx), ("BY", by), ("PLANES", planes), ("MIN_BLOCKS", blocks)), (precision,))
        for precision, (vec, bx, by, planes, blocks) in chosen.items()
    )  # fmt: skip


def constants(stencil, axis=None):
    """Difference weights along x and y (C) and along z (D) and their numbers, as constants of the kernel text; `axis`: of it alone."""
    horizontal, vertical = (stencil.horizontal, stencil.vertical) if axis is None else 2 * (stencil.axes[axis],)
    named = {f"{letter}{n}": 0 for letter in "CD" for n in range(1, 9)}
    named |= {f"{letter}{n}": repr(c) for letter, all in (("C", horizontal), ("D", vertical)) for n, c in enumerate(all, 1)}
    return (("R", len(horizontal)), ("RZ", len(vertical)), *named.items())


def flops_of(*weights):
    """Flops of staggered differences: multiply-adds of each pair of points."""
    return sum(3 * len(c) - 1 for c in weights)


def velocity(stencil):
    """The velocity step; see elastic.h."""
    return Operator("velocity", HERE / "elastic.h", VELOCITY, (*STRESS, "rho"), FD, reach=stencil.reach, reals_per_point=13,
                    flops=3 * (flops_of(*stencil.axes) + 2 + 4), defines=(*constants(stencil), ("SURFACE", 0)),
                    variants=streamed(2 * stencil.reach, 0))  # fmt: skip


def stress(stencil):
    """The stress step; see elastic.h."""
    return Operator("stress", HERE / "elastic.h", STRESS, (*VELOCITY, "lam", "rmu"), FD, reach=stencil.reach, reals_per_point=17,
                    flops=3 * flops_of(*stencil.axes) + 41, defines=(*constants(stencil), ("SURFACE", 0)),
                    variants=streamed(2 * stencil.reach, 1))  # fmt: skip


def laminate(stencil):
    """What the stress step lacks where horizontal interfaces cut cells; see laminate.h."""
    return Operator("laminate", HERE / "laminate.h", ("sxx", "syy", "szz", "sxy"), (*VELOCITY, "planes"), FD, reach=stencil.reach,
                    reals_per_point=11, flops=flops_of(*stencil.axes, *stencil.axes[:2]) + 23,
                    defines=(*constants(stencil), ("SURFACE", 0)))  # fmt: skip


def at_surface(op, closure, stencil):
    """The same step for the planes below a traction-free top, vertical differences from the closure's rows.

    It covers `closure.rows` + 1 planes: the last row of half points lies that deep; integer points there have the plain stencil.
    """
    c = np.array(stencil.vertical)
    plain = np.zeros((1, max(closure.cols, closure.rows + len(c))))
    plain[0, closure.rows - len(c) : closure.rows + len(c)] = [*-c[::-1], *c]
    d1, d2 = (np.pad(d, ((0, 0), (0, plain.shape[1] - closure.cols))) for d in (closure.d1, closure.d2))
    forward, backward = np.vstack([d1, plain]), np.vstack([d2, plain])
    closed = op.specialised(f"{op.name}_surface", SURFACE=1, ROWS=len(backward), COLUMNS=plain.shape[1],
                            CLOSURE_FWD=_table(forward), CLOSURE_BWD=_table(backward))  # fmt: skip
    return replace(closed, reach=max(plain.shape[1], op.reach))


def _table(rows):
    """A matrix as a C initialiser."""
    return "{" + ",".join("{" + ",".join(f"real({float(v)!r})" for v in row) + "}" for row in rows) + "}"


def cpml_velocity(stencil, axis):
    """What the CPML adds to the velocity step along one axis; see cpml.h."""
    return Operator(f"cpml_velocity_{'xyz'[axis]}", HERE / "cpml.h", ("va", "vb", "vc", "psi"), ("saa", "sab", "sca", "rho", "profile"),
                    SLAB, reach=stencil.reach, reals_per_point=16, flops=3 * (flops_of(stencil.axes[axis]) + 9), kernel="cpml_velocity",
                    defines=(*constants(stencil, axis), ("SURFACE", 0), ("AXIS", axis)))  # fmt: skip


def cpml_stress(stencil, axis):
    """What the CPML adds to the stress step along one axis; see cpml.h."""
    return Operator(f"cpml_stress_{'xyz'[axis]}", HERE / "cpml.h", ("saa", "sbb", "scc", "sab", "sca", "psi"),
                    ("va", "vb", "vc", "lam", "rmu", "profile"), SLAB, reach=stencil.reach, reals_per_point=21,
                    flops=3 * flops_of(stencil.axes[axis]) + 32, kernel="cpml_stress",
                    defines=(*constants(stencil, axis), ("SURFACE", 0), ("AXIS", axis)))  # fmt: skip


def cpml_laminate(stencil, axis):
    """What the CPML along x or y adds to `laminate`; see cpml.h."""
    return Operator(f"cpml_laminate_{'xy'[axis]}", HERE / "cpml.h", ("saa", "shh", "szz", "sxy"), ("va", "vh", "psi", "profile", "planes"),
                    SLAB, reach=stencil.reach, reals_per_point=12, flops=2 * flops_of(stencil.axes[axis]) + 18, kernel="cpml_laminate",
                    defines=(*constants(stencil, axis), ("SURFACE", 0), ("AXIS", axis)))  # fmt: skip


def sponge(axis):
    """Cerjan damping of three fields along one axis; see sponge.h."""
    return Operator(f"sponge_{'xyz'[axis]}", HERE / "sponge.h", ("f", "g", "h"), ("profile",), SLAB, reals_per_point=6, flops=3,
                    kernel="sponge", defines=(("AXIS", axis),))  # fmt: skip


def rigid():
    """A field held at zero; see rigid.h."""
    return Operator("rigid", HERE / "rigid.h", ("f",), (), FD, reals_per_point=1)


def wrap():
    """Ghost points of a periodic axis; see wrap.h."""
    return Operator("wrap", HERE / "wrap.h", ("f", "g", "h"), (), WRAP, reals_per_point=6, pointwise=False)
