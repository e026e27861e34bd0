"""Every kernel's body, run by the CPU machine, against NumPy in float64: dense difference matrices, tensors by index, explicit sums.

Tolerances: a kernel's value is a sum of at most `terms` products, each with a few roundings. Each rounding is at most eps/2 of a
partial sum, and no partial sum exceeds the same expression with every term replaced by its magnitude. So, point by point,
|error| <= (terms + 12) eps * (that expression); 12 covers the averaged material, the products and the last addition. The reference
evaluates the expression both ways.
"""

from dataclasses import replace

import numpy as np
import pytest
from kernelcase import ABSENT, PRECISIONS, SURFACE_ORDERS, commit, inside, run, unchanged_outside

from craton.backends.cpu import CPU
from craton.core.layout import Layout
from craton.core.plan import Array, Launch, Phase, StepPlan
from craton.methods.finite_difference import operators, relaxing
from craton.methods.finite_difference.closure import closure, taylor
from craton.methods.finite_difference.closure import operators as dense_closure
from craton.methods.finite_difference.scheme import ORDERS, stencil
from craton.methods.shared import points
from craton.model.media import attenuation

LONGEST = max(ORDERS)
# The last is 16: its differences reach to the outermost ghost of a row.
TAYLOR = {
    2: [1],
    4: [9 / 8, -1 / 24],
    6: [75 / 64, -25 / 384, 3 / 640],
    8: [1225 / 1024, -245 / 3072, 49 / 5120, -5 / 7168],
    LONGEST: taylor(LONGEST),
}  # Fornberg (1988); the last one is checked in test_scheme.py
AXES = "xyz"
SHAPE = (19, 13, 37)  # z, y, x: nothing divides anything
DT_H = 0.05
HALF_STEPS = ("velocity", "stress")
both = pytest.mark.parametrize("precision", PRECISIONS)
all_orders = pytest.mark.parametrize("order", sorted(TAYLOR))


def sxx(a, b):
    """Name of a stress component."""
    return "s" + "".join(sorted((a, b)))


VELOCITY = [f"v{a}" for a in AXES]
STRESS = ["sxx", "syy", "szz", "sxy", "sxz", "syz"]


# --- the reference ----------------------------------------------------------------------------------------------------------------------


def matrix(n, weights):
    """Dense difference from integer points to the half points after them; minus its transpose is the one back."""
    return sum(c * (np.eye(n, k=s) - np.eye(n, k=1 - s)) for s, c in enumerate(weights, 1))


class Differences:
    """d/da of whole padded arrays as dense matrices: to the half points after (True) or before (False).

    With `magnitude` every weight is replaced by its magnitude.
    """

    def __init__(self, padded, weights, magnitude=False):
        self.matrices = {}
        for a, n in zip("zyx", padded):
            d = matrix(n, weights)
            self.matrices[a, True], self.matrices[a, False] = d, -d.T
        self.magnitude = magnitude

    def __call__(self, f, a, forward):
        d = self.matrices[a, forward]
        return np.moveaxis(np.tensordot(abs(d) if self.magnitude else d, f, (1, "zyx".index(a))), 0, "zyx".index(a))


def at_half(f, *axes):
    """Mean of the neighbours along axes: values half-way to the next point. The last point of an axis is wrapped; no test looks there."""
    for a in axes:
        f = (f + np.roll(f, -1, "zyx".index(a))) / 2
    return f


def accelerations(f, d):
    """dt/h div(sigma) / rho by index: the derivative of a diagonal term lands half a point after, of others half a point before."""
    return {f"v{a}": DT_H / at_half(f["rho"], a) * sum(d(f[sxx(a, b)], b, a == b) for b in AXES) for a in AXES}


def strain_rates(f, d):
    """Diagonal strain rates at integer points and doubled shear rates at half points."""
    diagonal = {a: d(f[f"v{a}"], a, False) for a in AXES}
    return diagonal, {(a, b): d(f[f"v{a}"], b, True) + d(f[f"v{b}"], a, True) for a, b in ("xy", "xz", "yz")}


def stress_rates(f, diagonal, shear):
    """dt/h times Hooke's law; shear modulus 1 / mean(1/mu) where the shear stress is."""
    rates = {sxx(a, a): DT_H * (f["lam"] * sum(diagonal.values()) + 2 / f["rmu"] * diagonal[a]) for a in AXES}
    return rates | {sxx(a, b): DT_H / at_half(f["rmu"], a, b) * e for (a, b), e in shear.items()}


# --- arrays, comparison -----------------------------------------------------------------------------------------------------------------


def random_fields(layout, precision, seed=1):
    """Random wavefield and heterogeneous medium, ghosts and padding too; a few fluid points, where 1/mu is infinite."""
    rng = np.random.default_rng(seed)
    fields = {name: rng.standard_normal(layout.padded) for name in (*VELOCITY, *STRESS)}
    fields |= {name: rng.uniform(1, 3, layout.padded) for name in ("rho", "lam", "rmu")}
    fields["rmu"][rng.random(layout.padded) < 0.05] = np.inf
    return {name: f.astype(precision) for name, f in fields.items()}


def exactly(fields):
    """The same numbers in float64, and their magnitudes."""
    return {n: f.astype(float) for n, f in fields.items()}, {n: abs(f.astype(float)) for n, f in fields.items()}


def close(got, expected, magnitude, terms, at):
    """Compare with the tolerance of this file's docstring."""
    limit = (terms + 12) * np.finfo(got.dtype).eps * magnitude[at]
    error = abs(got[at] - expected[at])
    assert np.isfinite(got[at]).all() and (error <= limit).all(), f"{(error / limit).max():.3g} of the tolerance"


def fd(layout):
    """Scalars of the plain step."""
    return {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": layout.shape[0] - 1, "dt_h": DT_H}


# --- the step ---------------------------------------------------------------------------------------------------------------------------


@both
@all_orders
@pytest.mark.parametrize("half_step", HALF_STEPS)
def test_step(half_step, order, precision):
    layout, box = Layout(SHAPE, order // 2), (1, 18, 0, 13, 3, 36)
    both_steps = {name: getattr(operators, name)(stencil(order)) for name in HALF_STEPS}
    op, before = both_steps[half_step], random_fields(layout, precision)
    after = run(op, op.arrays, before, box, fd(layout), layout, precision, others=both_steps.values())
    at = inside(layout, box)
    changes, magnitudes = (
        accelerations(f, d) if half_step == "velocity" else stress_rates(f, *strain_rates(f, d))
        for f, d in zip(
            exactly(before),
            (Differences(layout.padded, TAYLOR[order]), Differences(layout.padded, TAYLOR[order], True)),
        )
    )
    assert set(changes) == set(op.writes) - set(ABSENT)
    for name in (n for n in op.reads if n not in ABSENT):
        np.testing.assert_array_equal(after[name], before[name])
    for name, change in changes.items():
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name], before[name] + change, abs(before[name]) + magnitudes[name], 3 * order, at)
        assert abs(change[at]).max() > 0.1


def with_closure(d, layout, order, half_step):
    """Replace the vertical differences near a traction-free plane nz - 1 by the dense closure, turned: z is up, depth down."""
    top, planes = layout.reach + layout.shape[0] - 1, layout.padded[0]
    b, hm, hp = dense_closure(order, top)
    fwd, bwd = np.zeros((planes, planes)), np.zeros((planes, planes))
    fwd[top - 1 :: -1, top::-1] = -b / hm[:, None]  # half planes top - 1/2, ... from integer planes top, top - 1, ...
    bwd[top::-1, top - 1 :: -1] = b.T / hp[:, None]
    if half_step == "stress":
        bwd[top] = 0  # in the plane itself lam is that of plane stress, and the vertical strain is not asked for
    d.matrices["z", True], d.matrices["z", False] = fwd, bwd
    return d


@both
@pytest.mark.parametrize(
    "order, weights", [*((order, "taylor") for order in (*SURFACE_ORDERS, LONGEST)), (4, "holberg"), (10, "holberg")]
)
@pytest.mark.parametrize("half_step", HALF_STEPS)
def test_step_below_a_free_surface(half_step, order, weights, precision):
    """The plain step and the step at the surface together are the whole column with the closure's matrices; nothing above it is read."""
    layout, (nz, ny, nx) = Layout(SHAPE, order // 2), SHAPE
    differences, vertical = stencil(order, weights, free=True), min(order, max(SURFACE_ORDERS))
    across = differences.horizontal
    deep = {name: getattr(operators, name)(differences) for name in HALF_STEPS}
    shallow = {name: operators.at_surface(op, closure(vertical), differences) for name, op in deep.items()}
    plain, surface = deep[half_step], shallow[half_step]
    cut = nz - closure(vertical).rows - 1
    before = random_fields(layout, precision)
    top = layout.reach + nz - 1
    for name, f in before.items():
        f[top + (0 if name in ("vz", "sxz", "syz") else 1) :] = (
            np.nan
        )  # half planes above the surface, and everything else above it
    parts = ((plain, (0, cut, 0, ny, 0, nx)), (surface, (cut, nz, 0, ny, 0, nx)))
    launches = [Launch(op, plain.arrays, box, fd(layout)) for op, box in parts]
    others = (*deep.values(), *shallow.values())
    after, step = commit(launches, before, layout, precision, others=others)
    step()
    known = [
        {n: np.where(np.isnan(f), 1, f) for n, f in fields.items()} for fields in exactly(before)
    ]  # their weights are zero
    changes, magnitudes = (
        accelerations(f, d) if half_step == "velocity" else stress_rates(f, *strain_rates(f, d))
        for f, d in zip(
            known,
            (with_closure(Differences(layout.padded, across, m), layout, vertical, half_step) for m in (False, True)),
        )
    )
    for name, change in changes.items():
        at = inside(layout, (0, nz - (name in ("vz", "sxz", "syz")), 0, ny, 0, nx))
        expected, magnitude = known[0][name] + change, known[1][name] + magnitudes[name]
        if name == "szz":
            expected[top] = 0
        assert unchanged_outside(before[name], after[name], inside(layout, (0, nz, 0, ny, 0, nx))), name
        close(after[name], expected, magnitude, 2 * order + 2 * closure(vertical).cols, at)
    if half_step == "stress":
        assert (after["szz"][inside(layout, (nz - 1, nz, 0, ny, 0, nx))] == 0).all()


def laminated(table, diagonal, shear, sign=-1):
    """dt/h times what layered planes have more than isotropic ones: (c11, c13, c33, c66) of plane k in table[k]; sign 1 for magnitudes."""
    d11, d13, d33, d66 = (c[:, None, None] for c in table.T)
    d12 = d11 + sign * 2 * d66
    x, y, z = (diagonal[a] for a in AXES)
    return {
        "sxx": DT_H * (d11 * x + d12 * y + d13 * z),
        "syy": DT_H * (d12 * x + d11 * y + d13 * z),
        "szz": DT_H * (d13 * x + d13 * y + d33 * z),
        "sxy": DT_H * d66 * shear["x", "y"],
    }


def with_planes(layout, precision):
    """Random fields and random differences of every plane."""
    table = np.random.default_rng(7).uniform(-1, 1, (layout.shape[0], 4)).astype(precision)
    return random_fields(layout, precision) | {"planes": table}


@both
@all_orders
@pytest.mark.parametrize("surface", [False, True])
def test_laminate(surface, order, precision):
    if surface and order not in SURFACE_ORDERS:
        pytest.skip("no closure of this order")
    layout, rows = Layout(SHAPE, order // 2), closure(order).rows if surface else 0
    before = with_planes(layout, precision)
    box = (SHAPE[0] - rows - 1, SHAPE[0] - 1, 0, 13, 3, 36) if surface else (1, 12, 0, 13, 3, 36)
    op = operators.laminate(stencil(order))
    op = operators.at_surface(op, closure(order), stencil(order)) if surface else op
    after = run(op, op.arrays, before, box, fd(layout), layout, precision)
    results = []
    for sign, f in zip((-1, 1), exactly(before)):
        d = Differences(layout.padded, TAYLOR[order], sign > 0)
        strain = strain_rates(f, with_closure(d, layout, order, "stress") if surface else d)
        results.append(laminated(np.pad(f["planes"], ((layout.reach, layout.reach), (0, 0))), *strain, sign))
    at = inside(layout, box)
    for name, change in results[0].items():
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name], before[name] + change, abs(before[name]) + results[1][name], 3 * order + 2 * rows, at)
        assert abs(change[at]).max() > 0.01


@both
@all_orders
@pytest.mark.parametrize("axis", range(2))
def test_cpml_laminate(axis, order, precision):
    """The law of the plane on what a layer along x or y adds to derivatives, from random memory that stays as it is."""
    layout, a, h = Layout(SHAPE, order // 2), AXES[axis], "yx"[axis]
    op, rng = operators.cpml_laminate(stencil(order), axis), np.random.default_rng(8)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    before = with_planes(layout, precision) | {
        "psi": rng.standard_normal((3, *extent)).astype(precision),
        "profile": rng.uniform(-0.9, 0.9, (2, 3, extent["zyx".index(a)])).astype(precision),
    }
    names = (sxx(a, a), sxx(h, h), "szz", "sxy", f"v{a}", f"v{h}", "psi", "profile", "planes")
    after = run(op, names, before, BOX, slab_params(layout), layout, precision)
    to, results = inside(layout, SLAB), []
    for sign, f in zip((-1, 1), exactly(before)):
        d, (whole, half) = (
            Differences(layout.padded, TAYLOR[order], sign > 0),
            (along(f["profile"][n, 2], a) for n in (0, 1)),
        )
        diagonal = dict.fromkeys(AXES, 0.0) | {a: whole * d(f[f"v{a}"], a, False)[to] + f["psi"][0]}
        shear = {("x", "y"): half * d(f[f"v{h}"], a, True)[to] + f["psi"][1 + axis]}
        results.append(laminated(f["planes"][SLAB[0] : SLAB[1]], diagonal, shear, sign))
    part = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], BOX[::2], BOX[1::2]))
    for name, change in results[0].items():
        assert unchanged_outside(before[name], after[name], inside(layout, BOX)), name
        close(after[name][to], before[name][to] + change, abs(before[name][to]) + results[1][name], order + 3, part)
        assert abs(change[part]).max() > 0.01
    np.testing.assert_array_equal(after["psi"], before["psi"])


# --- transverse isotropy ----------------------------------------------------------------------------------------------------------------


def with_stiffness(layout, precision):
    """Random fields and what the stiffness has more than an isotropic one at each point; some fluid."""
    rng, fields = np.random.default_rng(7), random_fields(layout, precision)
    more = {
        "d11": rng.uniform(-1, 1, layout.padded),
        "d13": rng.uniform(-1, 1, layout.padded),
        "r66": rng.uniform(1, 3, layout.padded),
    }
    more["r66"][np.isinf(fields["rmu"])] = np.inf
    return fields | {name: f.astype(precision) for name, f in more.items()}


def vti_rates(f, diagonal, shear, at=..., sign=-1):
    """dt/h times the law of a transversely isotropic medium, in a part of the arrays; sign 1 for magnitudes."""
    d11, d13, c66, mu, lam = f["d11"], f["d13"], 1 / f["r66"], 1 / f["rmu"], f["lam"]
    c33, c13, c11, d12 = (lam + 2 * mu, lam + d13, lam + 2 * mu + d11, d11 + sign * 2 * (c66 + sign * mu))
    c11, c12, c13, c33 = (v[at] for v in (c11, lam + d12, c13, c33))
    x, y, z = (diagonal[a] for a in AXES)
    modulus = {pair: 1 / at_half(f["r66" if pair == ("x", "y") else "rmu"], *pair)[at] for pair in shear}
    return {
        "sxx": DT_H * (c11 * x + c12 * y + c13 * z),
        "syy": DT_H * (c12 * x + c11 * y + c13 * z),
        "szz": DT_H * (c13 * x + c13 * y + c33 * z),
        **{sxx(*pair): DT_H * modulus[pair] * e for pair, e in shear.items()},
    }


@both
@pytest.mark.parametrize("order", [2, 4, LONGEST])
def test_vti(order, precision):
    layout, box = Layout(SHAPE, order // 2), (1, 18, 0, 13, 3, 36)
    op, before = (operators.stress(replace(stencil(order), law=(("VTI", 1),))), with_stiffness(layout, precision))
    after = run(op, op.arrays, before, box, fd(layout), layout, precision)
    results = [
        vti_rates(f, *strain_rates(f, Differences(layout.padded, TAYLOR[order], sign > 0)), sign=sign)
        for sign, f in zip((-1, 1), exactly(before))
    ]
    at = inside(layout, box)
    for name, change in results[0].items():
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name], before[name] + change, abs(before[name]) + results[1][name], 3 * order, at)
        assert abs(change[at]).max() > 0.01


@both
@pytest.mark.parametrize("order", [2, 8])
@pytest.mark.parametrize("axis", range(3))
def test_cpml_in_a_vti_medium(axis, order, precision):
    """The same law on what a layer adds to derivatives: one step from random memory."""
    layout, a, rng = Layout(SHAPE, order // 2), AXES[axis], np.random.default_rng(8)
    op = operators.cpml_stress(replace(stencil(order), law=(("VTI", 1),)), axis)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    before = with_stiffness(layout, precision) | {
        "psi": rng.standard_normal((3, *extent)).astype(precision),
        "profile": rng.uniform(-0.9, 0.9, (2, 3, extent["zyx".index(a)])).astype(precision),
    }
    after = run(op, layer_names(a, "stress"), before, BOX, slab_params(layout), layout, precision)
    to, results = inside(layout, SLAB), []
    for sign, f in zip((-1, 1), exactly(before)):
        d, extra = Differences(layout.padded, TAYLOR[order], sign > 0), {}
        for n, (name, source, half) in enumerate(layer_derivatives(a, "stress")):
            extra[name], _ = convolved([d(f[source], a, half)[to]], f["psi"][n], f["profile"][int(half)], a)
        diagonal = dict.fromkeys(AXES, 0.0) | {a: extra[sxx(a, a)]}
        shear = {pair: extra.get(sxx(*pair), 0.0) for pair in (("x", "y"), ("x", "z"), ("y", "z")) if a in pair}
        results.append(vti_rates(f, diagonal, shear, to, sign))
    part = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], BOX[::2], BOX[1::2]))
    for name, change in results[0].items():
        assert unchanged_outside(before[name], after[name], inside(layout, BOX)), name
        close(
            after[name][to], before[name][to] + change, abs(before[name][to]) + results[1][name], 3 * order + 12, part
        )
        assert abs(change[part]).max() > 0.01


# --- attenuation ------------------------------------------------------------------------------------------------------------------------


def relaxing_stresses(storage):
    """A fit for Q = 20, and of each memory variable the stress component, its pattern and the place in the store."""
    fit = attenuation.relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
    slots = [(sxx(a, a), 0, n) for n in range(len(fit.stored[0])) for a in AXES]
    return fit, slots + [
        (name, p, n) for n in range(len(fit.stored_of_shear[0])) for p, name in enumerate(("sxy", "sxz", "syz"), 1)
    ]


def mechanism_at(layout, fit, pattern, place):
    """Mechanism that each point of a padded array has in a place of its store."""
    stored = fit.stored_of_shear if pattern else fit.stored
    k, j, i = (np.arange(n) - o & 1 for n, o in zip(layout.padded, layout.origin))
    table = attenuation.classes(len(stored))[pattern] if len(stored) > 1 else np.zeros((4, 2), int)
    return np.array(stored)[table[j[:, None] + 2 * k[:, None, None], i], place]


def relaxing_rates(f, diagonal, shear, layout, storage, dt, sign):
    """Changes of stresses and memory variables (count, z, y, x) by the laws of relax.h, in losses of each mechanism; sign 1: magnitudes."""
    fit, slots = relaxing_stresses(storage)
    rates, lost = ({sxx(a, a): diagonal[a] for a in AXES} | {f"s{a}{b}": e for (a, b), e in shear.items()}, {})
    memory = np.empty_like(f["memory"])
    for slot, (name, pattern, place) in enumerate(slots):
        at, e = mechanism_at(layout, fit, pattern, place), rates[name]
        decay, before = np.exp(-fit.omega * dt)[at], f["memory"][slot] + sign * e
        memory[slot] = e + decay * before
        seen = e + ((1 - np.exp(-fit.omega * dt)) / (fit.omega * dt))[at] * before
        c = (fit.of_shear if pattern else fit.polynomials)[:, at]
        y = {
            q: sum((abs(cn) if sign > 0 else cn) * s ** (n + 1) for n, cn in enumerate(c))
            for q, s in ((q, f[q]) for q in ("qp", "qs"))
        }
        mu, lam = 1 / f["rmu"], f["lam"]
        if pattern:
            a, b = name[1:]
            s = at_half(f["qs"], a, b)
            lost[name] = (
                lost.get(name, 0) + sum((abs(cn) if sign > 0 else cn) * s ** (n + 1) for n, cn in enumerate(c)) * seen
            )
        else:
            m2 = 2 * mu * y["qs"]
            lost_l = (lam + 2 * mu) * y["qp"] + sign * m2
            for a in AXES:
                lost[sxx(a, a)] = lost.get(sxx(a, a), 0) + lost_l * seen + (m2 * seen if sxx(a, a) == name else 0)
    elastic = stress_rates(f, diagonal, shear)
    changes = {name: elastic[name] + sign * DT_H * lost[name] for name in lost if name[1] == name[2]}
    return changes | {
        f"s{a}{b}": DT_H / at_half(f["rmu"], a, b) * (e + sign * lost[f"s{a}{b}"]) for (a, b), e in shear.items()
    }, memory


@both
@pytest.mark.parametrize("storage, order", [("coarse", 4), ("mixed", 4), ("paired", 8), ("full", 2)])
def test_attenuated_step(storage, order, precision):
    layout, box, dt, rng = (Layout(SHAPE, order // 2), (1, 18, 0, 13, 3, 36), 0.05, np.random.default_rng(9))
    fit, slots = relaxing_stresses(storage)
    op = operators.stress(stencil(order), relaxing.constants(fit, dt))
    before = random_fields(layout, precision) | {
        n: rng.uniform(0, 1 / 20, layout.padded).astype(precision) for n in ("qp", "qs")
    }
    before["memory"] = rng.standard_normal((len(slots), *layout.padded)).astype(precision)
    assert op.reals_per_point == 17 + 2 + 2 * len(slots)
    after = run(op, op.arrays, before, box, {**fd(layout), "field": int(np.prod(layout.padded))}, layout, precision)
    results = []
    for sign, f in zip((-1, 1), exactly(before)):
        strain = strain_rates(f, Differences(layout.padded, TAYLOR[order], sign > 0))
        results.append(relaxing_rates(f, *strain, layout, storage, dt, sign))
    at = inside(layout, box)
    for name, change in results[0][0].items():
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name], before[name] + change, abs(before[name]) + results[1][0][name], 3 * order + 12, at)
    for slot in range(len(slots)):
        assert unchanged_outside(before["memory"][slot], after["memory"][slot], at)
        close(after["memory"][slot], results[0][1][slot], results[1][1][slot], order + 12, at)


# --- absorbing layers -------------------------------------------------------------------------------------------------------------------

SLAB, BOX = ((2, 16, 1, 12, 4, 31), (3, 15, 2, 11, 5, 30))  # the layer, and the part of it that is computed


def slab_params(layout):
    """Scalars of an operator on the layer."""
    k0, k1, j0, j1, i0, i1 = SLAB
    return {**fd(layout), "k0": k0, "j0": j0, "i0": i0, "nk": k1 - k0, "nj": j1 - j0, "ni": i1 - i0}


def along(values, a):
    """A profile over the layer as an array that varies along one axis."""
    return values.reshape([-1 if axis == a else 1 for axis in "zyx"])


def convolved(history, psi, profile, a):
    """What the layer adds to the last derivative: (1/kappa - 1) d + b^n psi_0 + sum over m of b^(n - m) a d_m, summed explicitly."""
    pa, pb, pk = (along(p, a) for p in profile)
    n = len(history)
    memory = pb**n * psi + sum(pb ** (n - m) * pa * d for m, d in enumerate(history, 1))
    return pk * history[-1] + memory, memory


def layer_derivatives(a, half_step):
    """(field that changes, field differentiated, half points?) of the three derivatives along a, in the order of the memory variables."""
    b, c = (AXES[(AXES.index(a) + n) % 3] for n in (1, 2))
    if half_step == "velocity":
        return [(f"v{o}", sxx(o, a), o == a) for o in (a, b, c)]
    return [(sxx(a, a), f"v{a}", False), (sxx(a, b), f"v{b}", True), (sxx(a, c), f"v{c}", True)]


def layer_names(a, half_step):
    """Arguments of the CPML operators, by the axes (A, B, C) in cyclic order."""
    b, c = (AXES[(AXES.index(a) + n) % 3] for n in (1, 2))
    velocity, stress = [f"v{o}" for o in (a, b, c)], [sxx(a, a), sxx(a, b), sxx(a, c)]
    if half_step == "velocity":
        return [*velocity, "psi", *stress, "rho", "profile"]
    return [sxx(a, a), sxx(b, b), sxx(c, c), *stress[1:], "psi", "memory", *velocity, *operators.MEDIUM, "profile"]


def added(half_step, a, f, extra, to):
    """Changes that `extra` on the derivatives along a make, by the same law as the plain step."""
    if half_step == "velocity":
        return {name: DT_H / at_half(f["rho"], name[1])[to] * e for name, e in extra.items()}
    diagonal = {o: extra[sxx(a, a)] if o == a else 0 for o in AXES}
    shear = {tuple(name[1:]): e for name, e in extra.items() if name != sxx(a, a)}
    whole = {"lam": f["lam"][to], "rmu": f["rmu"][to]}
    rates = {sxx(o, o): DT_H * (whole["lam"] * sum(diagonal.values()) + 2 / whole["rmu"] * diagonal[o]) for o in AXES}
    return rates | {sxx(*ab): DT_H / at_half(f["rmu"], *ab)[to] * e for ab, e in shear.items()}


@both
@all_orders
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("half_step", HALF_STEPS)
def test_cpml(half_step, axis, order, precision):
    """Three steps with new driving fields each, from random memory: the recursion against the convolution that it stands for."""
    layout, a, rng = Layout(SHAPE, order // 2), AXES[axis], np.random.default_rng(3)
    both_steps = {name: getattr(operators, f"cpml_{name}")(stencil(order), axis) for name in HALF_STEPS}
    op, derivatives = both_steps[half_step], layer_derivatives(a, half_step)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    profile = rng.uniform(-0.9, 0.9, (2, 3, extent["zyx".index(a)])).astype(precision)
    before = random_fields(layout, precision) | {
        "psi": rng.standard_normal((3, *extent)).astype(precision),
        "profile": profile,
    }
    after, step = commit(
        [Launch(op, tuple(layer_names(a, half_step)), BOX, slab_params(layout))],
        before,
        layout,
        precision,
        others=both_steps.values(),
    )
    to, at = inside(layout, SLAB), inside(layout, BOX)
    part = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], BOX[::2], BOX[1::2]))
    sums = [{n: f.astype(float)[to] for n, f in before.items() if n[0] in "vs"} for _ in range(2)]
    sums[1] = {n: abs(f) for n, f in sums[1].items()}
    histories = [{name: [] for name, _, _ in derivatives} for _ in range(2)]
    for seed in (11, 12, 13):
        driving = random_fields(layout, precision, seed)
        for _, name, _ in derivatives:
            after[name][...] = driving[name]
        step()
        for exact, f in enumerate(
            exactly({n: after[n] for n in layer_names(a, half_step) if n not in ("psi", "profile", *ABSENT)})
        ):
            d, extra = Differences(layout.padded, TAYLOR[order], exact == 1), {}
            for n, (name, source, half) in enumerate(derivatives):
                histories[exact][name].append(d(f[source], a, half)[to])
                memory, coefficients = (before["psi"][n].astype(float), profile[int(half)].astype(float))
                values = (abs(memory), abs(coefficients)) if exact else (memory, coefficients)
                extra[name], psi = convolved(histories[exact][name], *values, a)
                sums[exact]["psi", n] = psi
            for name, change in added(half_step, a, f, extra, to).items():
                sums[exact][name] = sums[exact][name] + change
    for name in (name for name in op.writes if name not in ("psi", *ABSENT)):
        name = dict(zip(op.arrays, layer_names(a, half_step)))[name]
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name][to], *(s[name] for s in sums), 3 * (order + 6), part)
    for n in range(3):
        assert unchanged_outside(before["psi"][n], after["psi"][n], part)
        close(after["psi"][n], *(s["psi", n] for s in sums), 3 * (order + 3), part)


@both
@pytest.mark.parametrize("axis", range(3))
def test_damping(axis, precision):
    """Velocities go towards their low-pass, and it towards them; the component along the normal takes the profile at half points."""
    layout, a, rng = Layout(SHAPE, 2), AXES[axis], np.random.default_rng(5)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    profile = rng.uniform(0, 1, (2, 2, extent["zyx".index(a)])).astype(precision)
    before = random_fields(layout, precision) | {
        "lowpass": rng.standard_normal((3, *extent)).astype(precision),
        "profile": profile,
    }
    names = operators.CYCLIC_VELOCITY[axis]
    after = run(
        operators.damping(axis), (*names, "lowpass", "profile"), before, BOX, slab_params(layout), layout, precision
    )
    to, at = inside(layout, SLAB), inside(layout, BOX)
    part = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], BOX[::2], BOX[1::2]))
    for n, name in enumerate(names):
        loss, gain = (along(values.astype(float), a) for values in profile[int(name[1] == a)])
        velocity, lowpass = before[name][to].astype(float), before["lowpass"][n].astype(float)
        damped = velocity - loss * (velocity - lowpass)
        followed = lowpass + gain * (damped - lowpass)
        rounding = 8 * np.finfo(precision).eps * (abs(velocity) + abs(lowpass)).max()
        np.testing.assert_allclose(after[name][at], damped[part], rtol=0, atol=rounding)
        np.testing.assert_allclose(after["lowpass"][n][part], followed[part], rtol=0, atol=rounding)
        assert unchanged_outside(before[name], after[name], at)
        assert unchanged_outside(before["lowpass"][n], after["lowpass"][n], part)


@both
@pytest.mark.parametrize("axis", range(3))
def test_sponge(axis, precision):
    layout, extent = Layout(SHAPE, 2), SLAB[2 * (2 - axis) + 1] - SLAB[2 * (2 - axis)]
    before = random_fields(layout, precision) | {"profile": np.linspace(0.3, 0.9, extent).astype(precision)}
    names = ("vy", "szz", "sxy")
    after = run(operators.sponge(axis), (*names, "profile"), before, BOX, slab_params(layout), layout, precision)
    to, at = inside(layout, SLAB), inside(layout, BOX)
    for name in names:
        expected = before[name].copy()
        expected[to] *= along(before["profile"], AXES[axis])
        np.testing.assert_array_equal(after[name][at], expected[at])  # one product: correctly rounded on both sides
        assert unchanged_outside(before[name], after[name], at)


# --- edges ------------------------------------------------------------------------------------------------------------------------------


@both
def test_rigid(precision):
    layout, box = Layout(SHAPE, 3), (18, 19, 0, 13, 0, 37)
    before = random_fields(layout, precision)
    after = run(operators.rigid(), ("vz",), before, box, fd(layout), layout, precision)
    at = inside(layout, box)
    assert (after["vz"][at] == 0).all() and unchanged_outside(before["vz"], after["vz"], at)


@both
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", range(3))
def test_wrap(axis, side, precision):
    layout, n, reach = Layout(SHAPE, 4), SHAPE[2 - axis], 4
    box = [v for m in SHAPE for v in (0, m)]
    low = -reach if side == 0 else n
    box[2 * (2 - axis)], box[2 * (2 - axis) + 1] = low, low + reach
    shift = (n if side == 0 else -n) * (1, layout.row, layout.plane)[axis]
    before, names = random_fields(layout, precision), ("vx", "syz", "szz")
    after = run(
        operators.wrap(),
        names,
        before,
        tuple(box),
        {"row": layout.row, "plane": layout.plane, "shift": shift},
        layout,
        precision,
    )
    for name in names:
        whole = np.take(before[name][layout.window()], np.arange(low, low + reach), axis=2 - axis, mode="wrap")
        np.testing.assert_array_equal(after[name][inside(layout, box)], whole)
        assert unchanged_outside(before[name], after[name], inside(layout, box))


# --- points -----------------------------------------------------------------------------------------------------------------------------


def table(rng, places, rows, columns, precision):
    """Random rows of `places` targets or channels: starts of each one's rows, column and weight of each row."""
    first = np.concatenate([[0], np.sort(rng.integers(0, rows + 1, places - 1)), [rows]]).astype(np.int32)
    return (first, rng.integers(0, columns, rows, dtype=np.int32), rng.standard_normal(rows).astype(precision))


@both
def test_inject(precision):
    rng, layout = np.random.default_rng(5), Layout(SHAPE, 2)
    places, rows, columns, step = 23, 61, 4, 2
    first, column, weight = table(rng, places, rows, columns, precision)
    target = np.sort(rng.choice(np.arange(-300, 4000), places, replace=False)).astype(
        np.int64
    )  # ghosts before the first point too
    arrays = {
        "state": random_fields(layout, precision)["vx"],
        "target": target,
        "first": first,
        "column": column,
        "weight": weight,
        "series": rng.standard_normal((7, columns)).astype(precision),
        "step": np.array([step], np.int32),
    }
    op = points.INJECT
    after = run(op, op.arrays, arrays, (0, 1, 0, 1, 0, places), {"columns": columns, "slots": 1}, layout, precision)[
        "state"
    ]
    added, magnitude = np.zeros(after.size), abs(arrays["state"].astype(float)).ravel()
    of = np.repeat(target, np.diff(first)) + layout.first
    products = weight.astype(float) * arrays["series"].astype(float)[step, column]
    np.add.at(added, of, products)
    np.add.at(magnitude, of, abs(products))
    assert unchanged_outside(arrays["state"].ravel(), after.ravel(), np.unique(of))
    close(after.ravel(), arrays["state"].astype(float).ravel() + added, magnitude, np.diff(first).max(), slice(None))


@both
def test_sample(precision):
    rng, layout = np.random.default_rng(6), Layout(SHAPE, 2)
    channels, rows, slots, step = 9, 70, 5, 13
    first, _, weight = table(rng, channels, rows, 1, precision)
    source = rng.integers(-300, 4000, rows)
    arrays = {
        "ring": rng.standard_normal((slots, channels)).astype(precision),
        "state": random_fields(layout, precision)["vy"],
        "source": source,
        "first": first,
        "weight": weight,
        "step": np.array([step], np.int32),
    }
    op = points.SAMPLE
    after = run(
        op, op.arrays, arrays, (0, 1, 0, 1, 0, channels), {"columns": channels, "slots": slots}, layout, precision
    )["ring"]
    products = weight.astype(float) * arrays["state"].astype(float).ravel()[source + layout.first]
    channel = np.repeat(np.arange(channels), np.diff(first))
    expected, magnitude = (np.bincount(channel, p, channels) for p in (products, abs(products)))
    close(after[step % slots], expected, magnitude, np.diff(first).max(), slice(None))
    assert unchanged_outside(arrays["ring"], after, (step % slots,))


def test_advance():
    layout = Layout(SHAPE, 2)
    launch = Launch(points.ADVANCE, ("step",), (0, 1, 0, 1, 0, 1), {"columns": 1, "slots": 1})
    after, step = commit([launch], {"step": np.array([41, 7], np.int32)}, layout, "float32")
    step()
    step()
    assert after["step"].tolist() == [43, 7]


def test_increments():
    """Kept, subtracted, correlated and scattered, in a slot of the store, below a free surface."""
    from types import SimpleNamespace

    from craton.methods.finite_difference import increments
    from craton.methods.finite_difference.scheme import FIELDS, MOTION

    layout = Layout((6, 5, 7), 2)
    normal = ("sxx", "syy", "szz")
    d = SimpleNamespace(
        fields=MOTION[None],
        velocity=FIELDS[:3],
        stress=FIELDS[3:],
        normal=normal,
        shape=layout.shape,
        layout=layout,
        free=True,
        acoustic=False,
        anisotropic=False,
        steps=9,
        precision="float64",
        box=(0, 6, 0, 5, 0, 7),
    )
    rng, slots, top = np.random.default_rng(7), 3, 5
    fields = rng.standard_normal((len(FIELDS), *layout.shape))
    fields[5, top] = 0  # szz
    before = rng.standard_normal((slots, len(FIELDS), *layout.shape))
    before[:, 5, top] = 0
    coefficients = rng.standard_normal((8, *layout.shape))
    arrays = {
        "store": before.copy(),
        "state": np.zeros(layout.block(len(FIELDS))),
        "sums": rng.standard_normal((8, *layout.shape)),
        "coefficients": coefficients,
        "step": np.array([6], np.int32),
    }
    state = Array("wavefield", arrays["state"].shape, "float64", arrays["state"], layout.start(0) + layout.first)
    for n in range(len(FIELDS)):
        part = arrays["state"][layout.start(n) :][: np.prod(layout.padded)].reshape(layout.padded)
        part[layout.window()] = fields[n]

    def after(kernel, step, part="velocity", every=2):
        plan = StepPlan(
            precision="float64",
            layout=layout,
            arrays={k: Array("x", v.shape, v.dtype, v) for k, v in arrays.items()}
            | {"state": state, "step": Array("x", (1,), np.int32, np.array([step], np.int32))},
            phases=(Phase("x", (increments.launch(d, kernel, slots, every, part),)),),
        )
        program = CPU(threads=1).commit(plan)
        program.phases[0].inner(0)
        return program.arrays

    for part, at in (("velocity", slice(0, 3)), ("stress", slice(3, 9))):
        kept = before.copy()
        kept[1, at] = fields[at]  # step 8 is the fifth that is stored
        np.testing.assert_array_equal(after("keep", 8, part)["store"], kept)
        kept[1, at] -= before[1, at]
        np.testing.assert_array_equal(after("increment", 8, part)["store"], kept)
        np.testing.assert_array_equal(after("keep", 7, part)["store"], before)
    stored = before[4 // 2 % slots]  # transposed step 4 of 9 is step 4
    count = np.full((6, 1, 1), 3.0)
    count[top] = 2
    means = [v[3:6].sum(0) / count for v in (fields, stored)]
    parts = [v[3:6] - m for v, m in zip((fields, stored), means)]
    for v in parts:
        v[2, top] = 0
    more = [*fields[:3] * stored[:3], *fields[6:] * stored[6:]]
    more += [(parts[0] * parts[1]).sum(0), count * means[0] * means[1]]
    np.testing.assert_allclose(after("correlate", 4)["sums"], arrays["sums"] + more, rtol=1e-12)
    c = coefficients
    scattered = [*c[:3] * stored[:3], *(c[6] * parts[1] + c[7] * means[1]), *c[3:6] * stored[6:]]
    scattered[5][top] = 0
    for part, at in (("velocity", range(3)), ("stress", range(3, 9))):
        moved = after("scatter", 4, part)["state"]
        for n in at:
            values = moved[layout.start(n) :][: np.prod(layout.padded)].reshape(layout.padded)
            np.testing.assert_allclose(values[layout.window()], fields[n] + scattered[n], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("step", ["velocity", "stress"])
def test_remember(step):
    """t = psi + f, psi = b t, q = (1/kappa - 1) f + a t, with the profile at integer or at half points."""
    layout, rng = Layout(SHAPE, 2), np.random.default_rng(8)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    profile = rng.uniform(-0.9, 0.9, (2, 3, extent[2]))
    names = ("vx", "vy", "vz") if step == "velocity" else ("sxx", "sxy", "sxz")
    outputs = ("q0", "q1", "q2")
    before = random_fields(layout, "float64") | {"psi": rng.standard_normal((3, *extent)), "profile": profile}
    before |= {name: np.zeros(layout.padded) for name in outputs}
    op = operators.remember(stencil(4), 0, step)
    after = run(op, (*outputs, "psi", *names, "profile"), before, BOX, slab_params(layout), layout, "float64")
    at = inside(layout, BOX)
    part = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], BOX[::2], BOX[1::2]))
    for n, (name, q) in enumerate(zip(names, outputs)):
        a, b, k = profile[int((n == 0) == (step == "velocity"))][:, part[2]]
        t = before["psi"][n][part] + before[name][at]
        np.testing.assert_allclose(after["psi"][n][part], b * t, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(after[q][at], k * before[name][at] + a * t, rtol=1e-12, atol=1e-14)
        assert unchanged_outside(before["psi"][n], after["psi"][n], part)
        assert unchanged_outside(before[q], after[q], at)


@pytest.mark.parametrize("axis", range(2))
def test_damping_transposed(axis):
    """<damping x, y> = <x, transpose y> of velocities and their low-pass."""
    layout, rng = Layout(SHAPE, 2), np.random.default_rng(9)
    extent = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
    profile = rng.uniform(0, 1, (2, 2, extent[2 - axis]))
    names, sides = operators.CYCLIC_VELOCITY[axis], []
    for transposed in (False, True):
        before = random_fields(layout, "float64", 4 + transposed) | {
            "lowpass": rng.standard_normal((3, *extent)),
            "profile": profile,
        }
        after = run(
            operators.damping(axis, transposed=transposed),
            (*names, "lowpass", "profile"),
            before,
            SLAB,
            slab_params(layout),
            layout,
            "float64",
        )
        sides.append((before, after))
    (x, forward), (y, back) = sides
    keys = (*names, "lowpass")
    assert sum((forward[k] * y[k]).sum() for k in keys) == pytest.approx(
        sum((x[k] * back[k]).sum() for k in keys), rel=1e-12
    )
