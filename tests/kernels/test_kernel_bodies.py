"""Every kernel's body, run by the CPU machine, against NumPy in float64: dense difference matrices, tensors by index, explicit sums.

Tolerances: a kernel's value is a sum of at most `terms` products, each with a few roundings. Each rounding is at most eps/2 of a
partial sum, and no partial sum exceeds the same expression with every term replaced by its magnitude. So, point by point,
|error| <= (terms + 12) eps * (that expression); 12 covers the averaged material, the products and the last addition. The reference
evaluates the expression both ways.
"""

from functools import partial

import numpy as np
import pytest
from kernelcase import ABSENT, LONGEST, PRECISIONS, commit, inside, run, tiers, unchanged_outside, unoptimised

from craton.core.grid import Layout
from craton.core.plan import Launch
from craton.methods.finite_difference.equations import operators, relaxing
from craton.methods.finite_difference.equations.closure import (  # whose weights test_scheme.py checks
    HIGHEST,
    closure,
    taylor,
)
from craton.methods.finite_difference.equations.closure import operators as dense_closure
from craton.methods.finite_difference.equations.scheme import FIELDS, STRESS, stencil
from craton.methods.waves import tables
from craton.model.media import attenuation

AXES = "xyz"
SHAPE = (19, 13, 37)  # z, y, x: nothing divides anything
BOX = (1, 18, 0, 13, 3, 36)
SLAB, PART = ((2, 16, 1, 12, 4, 31), (3, 15, 2, 11, 5, 30))  # an absorbing layer, and the part of it that is computed
EXTENT = tuple(n - m for m, n in zip(SLAB[::2], SLAB[1::2]))
WITHIN = tuple(slice(n - m, o - m) for m, n, o in zip(SLAB[::2], PART[::2], PART[1::2]))  # PART in arrays of the layer
DT_H = 0.05
HALF_STEPS = ("velocity", "stress")


@pytest.fixture(autouse=True)
def compiled_in_little_time(monkeypatch):
    unoptimised(monkeypatch)


both = pytest.mark.parametrize("precision", [PRECISIONS[0], pytest.param(PRECISIONS[1], marks=pytest.mark.long)])
# Each order and each precision; a text treats them apart.
CASES = [(4, "float32"), (4, "float64"), (2, "float64"), (6, "float32"), (8, "float64"), (LONGEST, "float32")]


def sxx(a, b):
    """Name of a stress component."""
    return "s" + "".join(sorted((a, b)))


# --- the reference ----------------------------------------------------------------------------------------------------------------------


class Differences:
    """d/da of whole padded arrays as dense matrices: to the half points after (True) or before (False).

    With `magnitude` every weight is replaced by its magnitude.
    """

    def __init__(self, padded, weights, magnitude=False):
        self.matrices, self.magnitude = {}, magnitude
        for a, n in zip("zyx", padded):
            forward = sum(c * (np.eye(n, k=s) - np.eye(n, k=1 - s)) for s, c in enumerate(weights, 1))
            self.matrices[a, True], self.matrices[a, False] = forward, -forward.T

    def __call__(self, f, a, forward):
        d = self.matrices[a, forward]
        return np.moveaxis(np.tensordot(abs(d) if self.magnitude else d, f, (1, "zyx".index(a))), 0, "zyx".index(a))


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


def at_half(f, *axes):
    """Mean of the neighbours along axes: values half-way to the next point. The last point of an axis is wrapped; no test looks there."""
    for a in axes:
        f = (f + np.roll(f, -1, "zyx".index(a))) / 2
    return f


def accelerations(f, d, sign=-1):
    """dt/h div(sigma) / rho by index: the derivative of a diagonal term lands half a point after, of others half a point before."""
    return {f"v{a}": DT_H / at_half(f["rho"], a) * sum(d(f[sxx(a, b)], b, a == b) for b in AXES) for a in AXES}


def strain_rates(f, d):
    """Diagonal strain rates at integer points and doubled shear rates at half points."""
    diagonal = {a: d(f[f"v{a}"], a, False) for a in AXES}
    return diagonal, {(a, b): d(f[f"v{a}"], b, True) + d(f[f"v{b}"], a, True) for a, b in ("xy", "xz", "yz")}


def stress_rates(f, diagonal, shear, at=..., sign=-1):
    """dt/h times Hooke's law, in a part of the arrays; shear modulus 1 / mean(1/mu) where the shear stress is."""
    lam, rmu = f["lam"][at], f["rmu"][at]
    rates = {sxx(a, a): DT_H * (lam * sum(diagonal.values()) + 2 / rmu * diagonal[a]) for a in AXES}
    return rates | {sxx(*pair): DT_H / at_half(f["rmu"], *pair)[at] * e for pair, e in shear.items()}


def transverse(c11, c12, c13, c33, diagonal):
    """dt/h times normal stresses of a medium with a vertical axis."""
    x, y, z = (DT_H * diagonal[a] for a in AXES)
    return {"sxx": c11 * x + c12 * y + c13 * z, "syy": c12 * x + c11 * y + c13 * z, "szz": c13 * x + c13 * y + c33 * z}


def vti_rates(f, diagonal, shear, at=..., sign=-1):
    """dt/h times the law of a transversely isotropic medium, in a part of the arrays; sign 1 for magnitudes."""
    c66, mu, lam = 1 / f["r66"], 1 / f["rmu"], f["lam"]
    c12 = lam + f["d11"] + sign * 2 * (c66 + sign * mu)
    c11, c12, c13, c33 = (v[at] for v in (lam + 2 * mu + f["d11"], c12, lam + f["d13"], lam + 2 * mu))
    modulus = {pair: 1 / at_half(f["r66" if pair == ("x", "y") else "rmu"], *pair)[at] for pair in shear}
    sheared = {sxx(*pair): DT_H * modulus[pair] * e for pair, e in shear.items()}
    return transverse(c11, c12, c13, c33, diagonal) | sheared


def laminated(table, diagonal, shear, sign=-1):
    """dt/h times what layered planes have more than isotropic ones: (c11, c13, c33, c66) of plane k in table[k]; sign 1 for magnitudes."""
    d11, d13, d33, d66 = (c[:, None, None] for c in table.T)
    return transverse(d11, d11 + sign * 2 * d66, d13, d33, diagonal) | {"sxy": DT_H * d66 * shear["x", "y"]}


# --- arrays, comparison -----------------------------------------------------------------------------------------------------------------


def random_fields(layout, precision, seed=1):
    """Random wavefield and heterogeneous medium, ghosts and padding too; a few fluid points, where 1/mu is infinite.

    Also what a stiffness has more than an isotropic one: at each point (d11, d13, r66), in each plane.
    """
    rng = np.random.default_rng(seed)
    fields = {name: rng.standard_normal(layout.padded) for name in FIELDS}
    fields |= {name: rng.uniform(1, 3, layout.padded) for name in ("rho", "lam", "rmu", "r66")}
    fields |= {name: rng.uniform(-1, 1, layout.padded) for name in ("d11", "d13")}
    fluid = rng.random(layout.padded) < 0.05
    fields["rmu"][fluid] = fields["r66"][fluid] = np.inf
    fields["planes"] = rng.uniform(-1, 1, (layout.shape[0], 4))
    return {name: f.astype(precision) for name, f in fields.items()}


def exactly(fields):
    """The same numbers in float64, and their magnitudes."""
    return {n: f.astype(float) for n, f in fields.items()}, {n: abs(f.astype(float)) for n, f in fields.items()}


def both_ways(rates, fields, padded, weights, closed=lambda d: d):
    """What rates(fields, differences, sign) gives, exactly and of magnitudes."""
    signs = zip((-1, 1), exactly(fields))
    return [rates(f, closed(Differences(padded, weights, sign > 0)), sign=sign) for sign, f in signs]


def close(got, expected, magnitude, terms, at):
    """Compare with the tolerance of this file's docstring."""
    limit = (terms + 12) * np.finfo(got.dtype).eps * magnitude[at]
    error = abs(got[at] - expected[at])
    assert np.isfinite(got[at]).all() and (error <= limit).all(), f"{(error / limit).max():.3g} of the tolerance"


def changed_by(before, after, changes, terms, at, least=0.01):
    """Compare fields with those before and (changes, magnitudes) of them; nothing else differs."""
    for name, change in changes[0].items():
        assert unchanged_outside(before[name], after[name], at), name
        close(after[name], before[name] + change, abs(before[name]) + changes[1][name], terms, at)
        assert abs(change[at]).max() > least, name


def fd(layout):
    """Scalars of the plain step."""
    return {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": layout.shape[0] - 1, "dt_h": DT_H}


# --- the step ---------------------------------------------------------------------------------------------------------------------------

LAWS = {  # operator of a stencil; changes
    "velocity": (operators.velocity, accelerations),
    "stress": (operators.stress, lambda f, d, sign: stress_rates(f, *strain_rates(f, d))),
    "vti": (operators.stress, lambda f, d, sign: vti_rates(f, *strain_rates(f, d), sign=sign)),
    "laminate": (operators.laminate, lambda f, d, sign: laminated(f["padded"], *strain_rates(f, d), sign)),
}
OF_LAW = {"vti": (("VTI", 1),)}  # in a stencil


@pytest.mark.parametrize("order, precision", tiers(CASES, CASES[:1]))
@pytest.mark.parametrize("law", [*LAWS, "laminate below a surface"])
def test_step(law, order, precision):
    surface, (make, rates) = law not in LAWS, LAWS[law.split()[0]]
    order = min(order, HIGHEST) if surface else order
    layout, rows = Layout(SHAPE, order // 2), closure(order).rows if surface else 0
    box = (SHAPE[0] - rows - 1, SHAPE[0] - 1, *BOX[2:]) if surface else BOX
    op, before = make(stencil(order, law=OF_LAW.get(law, ()))), random_fields(layout, precision)
    op = operators.at_surface(op, closure(order), stencil(order)) if surface else op
    after = run(op, op.arrays, before, box, fd(layout), layout, precision)
    closed = partial(with_closure, layout=layout, order=order, half_step="stress") if surface else lambda d: d
    padded = {"padded": np.pad(before["planes"], ((layout.reach,) * 2, (0, 0)))}
    changes = both_ways(rates, before | padded, layout.padded, taylor(order), closed)
    assert "laminate" in law or set(changes[0]) == set(op.writes) - set(ABSENT)
    for name in (n for n in op.reads if n not in ABSENT):
        np.testing.assert_array_equal(after[name], before[name])
    least = 0.1 if law in HALF_STEPS else 0.01
    changed_by(before, after, changes, 3 * order + 2 * rows, inside(layout, box), least)


SURFACES = [(4, "float32", "holberg"), (10, "float64", "holberg"), *((*case, "taylor") for case in CASES)]


@pytest.mark.parametrize("order, precision, weights", tiers(SURFACES, SURFACES[:3:2]))
@pytest.mark.parametrize("half_step", HALF_STEPS)
def test_step_below_a_free_surface(half_step, order, precision, weights):
    """The plain step and the step at the surface together are the whole column with the closure's matrices; nothing above it is read."""
    layout, (nz, ny, nx) = Layout(SHAPE, order // 2), SHAPE
    weighted, vertical = stencil(order, weights, free=True), min(order, HIGHEST)
    plain = getattr(operators, half_step)(weighted)
    surface = operators.at_surface(plain, closure(vertical), weighted)
    cut, top = nz - closure(vertical).rows - 1, layout.reach + nz - 1
    before = random_fields(layout, precision)
    for name, f in before.items():  # half planes above the surface, and everything else above it
        f[top + (0 if name in ("vz", "sxz", "syz") else 1) :] = np.nan
    parts = ((plain, (0, cut, 0, ny, 0, nx)), (surface, (cut, nz, 0, ny, 0, nx)))
    after, step = commit([Launch(op, plain.arrays, box, fd(layout)) for op, box in parts], before, layout, precision)
    step()
    known = {n: np.where(np.isnan(f), 1, f) for n, f in before.items()}  # their weights are zero
    closed = partial(with_closure, layout=layout, order=vertical, half_step=half_step)
    changes, magnitudes = both_ways(LAWS[half_step][1], known, layout.padded, weighted.horizontal, closed)
    for name, change in changes.items():
        at = inside(layout, (0, nz - (name in ("vz", "sxz", "syz")), 0, ny, 0, nx))
        expected, magnitude = known[name] + change, abs(known[name]) + magnitudes[name]
        if name == "szz":
            expected[top] = 0
            assert (after["szz"][inside(layout, (nz - 1, nz, 0, ny, 0, nx))] == 0).all()
        assert unchanged_outside(before[name], after[name], inside(layout, (0, nz, 0, ny, 0, nx))), name
        close(after[name], expected, magnitude, 2 * order + 2 * closure(vertical).cols, at)


# --- attenuation ------------------------------------------------------------------------------------------------------------------------


def relaxing_stresses(storage):
    """A fit for Q = 20, and of each memory variable the stress component, its pattern and the place in the store."""
    fit = attenuation.relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
    slots = [(sxx(a, a), 0, n) for n in range(len(fit.stored[0])) for a in AXES]
    shear = range(len(fit.stored_of_shear[0]))
    return fit, slots + [(name, p, n) for n in shear for p, name in enumerate(("sxy", "sxz", "syz"), 1)]


def mechanism_at(layout, fit, pattern, place):
    """Mechanism that each point of a padded array has in a place of its store."""
    stored = fit.stored_of_shear if pattern else fit.stored
    k, j, i = (np.arange(n) - o & 1 for n, o in zip(layout.padded, layout.origin))
    table = attenuation.classes(len(stored))[pattern] if len(stored) > 1 else np.zeros((4, 2), int)
    return np.array(stored)[table[j[:, None] + 2 * k[:, None, None], i], place]


def relaxing_rates(f, d, layout, storage, dt, sign):
    """Changes of stresses and memory variables (count, z, y, x) by the laws of relax.h, in losses of each mechanism; sign 1: magnitudes."""
    (fit, slots), (diagonal, shear) = relaxing_stresses(storage), strain_rates(f, d)
    rates, lost = ({sxx(a, a): diagonal[a] for a in AXES} | {sxx(*pair): e for pair, e in shear.items()}, {})
    memory, mu, lam = np.empty_like(f["memory"]), 1 / f["rmu"], f["lam"]
    for slot, (name, pattern, place) in enumerate(slots):
        at, e = mechanism_at(layout, fit, pattern, place), rates[name]
        decay, before = np.exp(-fit.omega * dt)[at], f["memory"][slot] + sign * e
        memory[slot] = e + decay * before
        seen = e + ((1 - np.exp(-fit.omega * dt)) / (fit.omega * dt))[at] * before
        coefficients = (fit.of_shear if pattern else fit.polynomials)[:, at]

        def share(q, coefficients=coefficients):
            terms = enumerate(abs(coefficients) if sign > 0 else coefficients, 1)
            return sum(c * q**n for n, c in terms)

        if pattern:
            lost[name] = lost.get(name, 0) + share(at_half(f["qs"], *name[1:])) * seen
        else:
            m2 = 2 * mu * share(f["qs"])
            lost_l = (lam + 2 * mu) * share(f["qp"]) + sign * m2
            for a in AXES:
                lost[sxx(a, a)] = lost.get(sxx(a, a), 0) + lost_l * seen + (m2 * seen if sxx(a, a) == name else 0)
    elastic = stress_rates(f, diagonal, shear)
    changes = {name: elastic[name] + sign * DT_H * lost[name] for name in lost if name[1] == name[2]}
    changes |= {n: DT_H / at_half(f["rmu"], *n[1:]) * (rates[n] + sign * lost[n]) for n in STRESS[3:]}
    return changes, memory


STORED = [("mixed", 4, "float32"), ("coarse", 4, "float32"), ("paired", 8, "float64"), ("full", 2, "float32")]
STORED.append(("mixed", 4, "float64"))


@pytest.mark.parametrize("storage, order, precision", tiers(STORED, STORED[:2]))
def test_attenuated_step(storage, order, precision):
    layout, dt, rng = Layout(SHAPE, order // 2), 0.05, np.random.default_rng(9)
    fit, slots = relaxing_stresses(storage)
    op, before = operators.stress(stencil(order), relaxing.constants(fit, dt)), random_fields(layout, precision)
    before |= {n: rng.uniform(0, 1 / 20, layout.padded).astype(precision) for n in ("qp", "qs")}
    before["memory"] = rng.standard_normal((len(slots), *layout.padded)).astype(precision)
    assert op.reals_per_point == 17 + 2 + 2 * len(slots)
    params = {**fd(layout), "field": int(np.prod(layout.padded))}
    after, at = run(op, op.arrays, before, BOX, params, layout, precision), inside(layout, BOX)
    rates = partial(relaxing_rates, layout=layout, storage=storage, dt=dt)
    (changes, memory), (magnitudes, memories) = both_ways(rates, before, layout.padded, taylor(order))
    changed_by(before, after, (changes, magnitudes), 3 * order + 12, at)
    for slot in range(len(slots)):
        assert unchanged_outside(before["memory"][slot], after["memory"][slot], at)
        close(after["memory"][slot], memory[slot], memories[slot], order + 12, at)


# --- absorbing layers -------------------------------------------------------------------------------------------------------------------


def slab_params(layout):
    """Scalars of an operator on the layer."""
    return fd(layout) | dict(zip(("k0", "j0", "i0", "nk", "nj", "ni"), (*SLAB[::2], *EXTENT)))


def along(values, a):
    """A profile over the layer as an array that varies along one axis."""
    return values.reshape([-1 if axis == a else 1 for axis in "zyx"])


def in_layer(axis, precision, profiles, low=-0.9, high=0.9, memory="psi", seed=8):
    """Random memory variables and profiles, (2, count, n), of a layer along an axis."""
    rng = np.random.default_rng(seed)
    variables, profile = rng.standard_normal((3, *EXTENT)), rng.uniform(low, high, (2, profiles, EXTENT[2 - axis]))
    return {memory: variables.astype(precision), "profile": profile.astype(precision)}


def placed(layout, changes):
    """Changes of the layer as those of padded arrays."""
    around = [(at.start, n - at.stop) for at, n in zip(inside(layout, SLAB), layout.padded)]
    return {name: np.pad(values, around) for name, values in changes.items()}


def convolved(history, psi, profile, a):
    """What the layer adds to the last derivative: (1/kappa - 1) d + b^n psi_0 + sum over m of b^(n - m) a d_m, summed explicitly."""
    pa, pb, pk = (along(p, a) for p in profile)
    n = len(history)
    memory = pb**n * psi + sum(pb ** (n - m) * pa * d for m, d in enumerate(history, 1))
    return pk * history[-1] + memory, memory


def layer(a, half_step):
    """Arguments of the CPML operators by the axes (A, B, C) in cyclic order; (field that changes, field differentiated, half points?) of
    the three derivatives along a, in the order of the memory variables.
    """
    b, c = (AXES[(AXES.index(a) + n) % 3] for n in (1, 2))
    velocity, stress = [f"v{o}" for o in (a, b, c)], [sxx(a, o) for o in (a, b, c)]
    if half_step == "velocity":
        return [*velocity, "psi", *stress, "rho", "profile"], list(zip(velocity, stress, (True, False, False)))
    names = [stress[0], sxx(b, b), sxx(c, c), *stress[1:], "psi", "memory", *velocity, *operators.MEDIUM, "profile"]
    return names, list(zip(stress, velocity, (False, True, True)))


def added(law, a, f, extra, to, sign):
    """Changes that `extra` on the derivatives along a make, by the same law as the plain step."""
    if law == "velocity":
        return {name: DT_H / at_half(f["rho"], name[1])[to] * e for name, e in extra.items()}
    diagonal = dict.fromkeys(AXES, 0.0) | {a: extra[sxx(a, a)]}
    shear = {tuple(name[1:]): e for name, e in extra.items() if name != sxx(a, a)}
    return (vti_rates if law == "vti" else stress_rates)(f, diagonal, shear, to, sign)


@pytest.mark.parametrize("order, precision", tiers(CASES, CASES[:1]))
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("law", [*HALF_STEPS, "vti"])
def test_cpml(law, axis, order, precision):
    """Three steps with new driving fields each, from random memory: the recursion against the convolution that it stands for."""
    layout, a, half_step = Layout(SHAPE, order // 2), AXES[axis], "stress" if law == "vti" else law
    op = getattr(operators, f"cpml_{half_step}")(stencil(order, law=OF_LAW.get(law, ())), axis)
    names, derivatives = layer(a, half_step)
    before = random_fields(layout, precision) | in_layer(axis, precision, 3, seed=3)
    after, step = commit([Launch(op, tuple(names), PART, slab_params(layout))], before, layout, precision)
    to, at, profile = inside(layout, SLAB), inside(layout, PART), before["profile"].astype(float)
    changes, memories, histories = [{}, {}], [{}, {}], [{name: [] for name, _, _ in derivatives} for _ in range(2)]
    for seed in (11, 12, 13):
        driving = random_fields(layout, precision, seed)
        for _, name, _ in derivatives:
            after[name][...] = driving[name]
        step()
        read = {n: after[n] for n in names if n in after and n not in ("psi", "profile")}
        for m, (f, history) in enumerate(zip(exactly(read), histories)):
            d, extra = Differences(layout.padded, taylor(order), m == 1), {}
            for n, (name, source, half) in enumerate(derivatives):
                history[name].append(d(f[source], a, half)[to])
                known = before["psi"][n].astype(float), profile[int(half)]
                extra[name], memories[m][n] = convolved(history[name], *(map(abs, known) if m else known), a)
            more = placed(layout, added(law, a, f, extra, to, 2 * m - 1))
            changes[m] = {name: changes[m].get(name, 0) + change for name, change in more.items()}
    changed_by(before, after, changes, 3 * (order + 6), at)
    for n in range(3):
        assert unchanged_outside(before["psi"][n], after["psi"][n], WITHIN)
        close(after["psi"][n], memories[0][n], memories[1][n], 3 * (order + 3), WITHIN)


@pytest.mark.parametrize("order, precision", tiers(CASES, CASES[:1]))
@pytest.mark.parametrize("axis", range(2))
def test_cpml_laminate(axis, order, precision):
    """The law of the plane on what a layer along x or y adds to derivatives, from random memory that stays as it is."""
    layout, a, h = Layout(SHAPE, order // 2), AXES[axis], "yx"[axis]
    before = random_fields(layout, precision) | in_layer(axis, precision, 3)
    names = (sxx(a, a), sxx(h, h), "szz", "sxy", f"v{a}", f"v{h}", "psi", "profile", "planes")
    op, to = operators.cpml_laminate(stencil(order), axis), inside(layout, SLAB)
    after = run(op, names, before, PART, slab_params(layout), layout, precision)

    def rates(f, d, sign):
        whole, half = (along(f["profile"][n, 2], a) for n in (0, 1))
        diagonal = dict.fromkeys(AXES, 0.0) | {a: whole * d(f[f"v{a}"], a, False)[to] + f["psi"][0]}
        shear = {("x", "y"): half * d(f[f"v{h}"], a, True)[to] + f["psi"][1 + axis]}
        return placed(layout, laminated(f["planes"][SLAB[0] : SLAB[1]], diagonal, shear, sign))

    changes = both_ways(rates, before, layout.padded, taylor(order))
    changed_by(before, after, changes, order + 3, inside(layout, PART))
    np.testing.assert_array_equal(after["psi"], before["psi"])


@both
@pytest.mark.parametrize("axis", range(3))
def test_damping(axis, precision):
    """Velocities go towards their low-pass, and it towards them; the component along the normal takes the profile at half points."""
    layout, a, names = Layout(SHAPE, 2), AXES[axis], operators.CYCLIC_VELOCITY[axis]
    before = random_fields(layout, precision) | in_layer(axis, precision, 2, 0, 1, "lowpass", 5)
    op, arguments = operators.damping(axis), (*names, "lowpass", "profile")
    after = run(op, arguments, before, PART, slab_params(layout), layout, precision)
    to, at = inside(layout, SLAB), inside(layout, PART)
    for n, name in enumerate(names):
        loss, gain = (along(values.astype(float), a) for values in before["profile"][int(name[1] == a)])
        velocity, lowpass = before[name][to].astype(float), before["lowpass"][n].astype(float)
        damped = velocity - loss * (velocity - lowpass)
        followed = lowpass + gain * (damped - lowpass)
        rounding = 8 * np.finfo(precision).eps * (abs(velocity) + abs(lowpass)).max()
        np.testing.assert_allclose(after[name][at], damped[WITHIN], rtol=0, atol=rounding)
        np.testing.assert_allclose(after["lowpass"][n][WITHIN], followed[WITHIN], rtol=0, atol=rounding)
        assert unchanged_outside(before[name], after[name], at)
        assert unchanged_outside(before["lowpass"][n], after["lowpass"][n], WITHIN)


@both
def test_sponge(precision):
    layout, names = Layout(SHAPE, 2), ("vy", "szz", "sxy")
    to, at = inside(layout, SLAB), inside(layout, PART)
    for axis in range(3):
        profile = np.linspace(0.3, 0.9, EXTENT[2 - axis]).astype(precision)
        before = random_fields(layout, precision) | {"profile": profile}
        after = run(operators.sponge(axis), (*names, "profile"), before, PART, slab_params(layout), layout, precision)
        for name in names:
            expected = before[name].copy()
            expected[to] *= along(profile, AXES[axis])
            np.testing.assert_array_equal(after[name][at], expected[at])  # one product: correctly rounded on both sides
            assert unchanged_outside(before[name], after[name], at)


# --- edges ------------------------------------------------------------------------------------------------------------------------------


@both
def test_rigid(precision):
    layout, box = Layout(SHAPE, 3), (18, 19, 0, 13, 0, 37)
    before, at = random_fields(layout, precision), inside(layout, box)
    after = run(operators.rigid(), ("vz",), before, box, fd(layout), layout, precision)
    assert (after["vz"][at] == 0).all() and unchanged_outside(before["vz"], after["vz"], at)


# --- points -----------------------------------------------------------------------------------------------------------------------------


@both
def test_sample(precision):
    """Random rows of nine channels, first[n] .. first[n + 1] those of channel n; ghosts before the first point too."""
    rng, layout, op = np.random.default_rng(6), Layout(SHAPE, 2), tables.SAMPLE
    channels, rows, slots, step = 9, 70, 5, 13
    first = np.concatenate([[0], np.sort(rng.integers(0, rows + 1, channels - 1)), [rows]]).astype(np.int32)
    source, ring = rng.integers(-300, 4000, rows), rng.standard_normal((slots, channels)).astype(precision)
    weight, state = rng.standard_normal(rows).astype(precision), random_fields(layout, precision)["vy"]
    arrays = dict(zip(op.arrays, (ring, state, source, first, weight, np.array([step], np.int32))))
    params = {"columns": channels, "slots": slots}
    after = run(op, op.arrays, arrays, (0, 1, 0, 1, 0, channels), params, layout, precision)[op.writes[0]]
    products = weight.astype(float) * state.astype(float).ravel()[source + layout.first]
    channel = np.repeat(np.arange(channels), np.diff(first))
    expected, magnitude = (np.bincount(channel, p, channels) for p in (products, abs(products)))
    close(after[step % slots], expected, magnitude, np.diff(first).max(), slice(None))
    assert unchanged_outside(ring, after, (step % slots,))
