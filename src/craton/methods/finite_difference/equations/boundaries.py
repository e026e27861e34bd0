"""What happens at the faces of the grid.

A kind of boundary is one function that gives its arrays and its launches per phase.
"""

from functools import partial

import numpy as np

from craton.core.grid import rounded
from craton.core.plan import Array, Launch
from craton.methods.finite_difference.equations import operators, relaxing
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves import guided

VECTOR = 8  # points


def slab_params(d, box):
    """Scalars of an operator on a slab with arrays of its own."""
    k0, k1, j0, j1, i0, i1 = box
    return {**d.fd_params, "k0": k0, "j0": j0, "i0": i0, "nk": k1 - k0, "nj": j1 - j0, "ni": i1 - i0}


def along(axis, box):
    """How an array along an axis (0, 1, 2 for x, y, z) of a slab follows the grid."""
    return "xyz"[axis], int(box[2 * (2 - axis)])


def slab_over(box):
    """How an array (n, z, y, x) over a slab follows the grid."""
    return (None, *(along(axis, box) for axis in (2, 1, 0)))


def slab_depths(d, axis, side, thickness, first=0):
    """Slab of a layer inside the grid, from `first` points inside it on, and the depth of its
    integer and half points into the layer.

    The layer starts `thickness` points inside the outermost point (Komatitsch & Martin 2007). Along
    x, where a row of ten points would leave most of a vector to scalar code, the slab is rounded to
    whole vectors; depths are negative beyond the layer.
    """
    n = d.grid.shape[2 - axis]
    width = thickness - first + side
    width = min(rounded(width, VECTOR), n) if axis == 0 else width
    low, high = (0, width) if side == 0 else (n - width, n)
    index = np.arange(low, high)
    depth = (lambda at: thickness - at) if side == 0 else (lambda at: at - (n - 1 - thickness))
    return d.slab(axis, low, high), depth(index), depth(index + 0.5)


def layer(d, axis, side):
    """Return the box of the points where a CPML stretches a field: one more on the high side, whose
    half point lies in the layer.
    """
    n, thickness = d.grid.shape[2 - axis], d.boundaries.cpml.thickness
    return d.slab(axis, n - thickness - 1, n) if side else d.slab(axis, 0, thickness)


# of alpha at the inner edge, kept at the outer one where waves are guided: slow ones are amplified
# less
ALPHA_FLOOR = 0.3
# elsewhere: 0.3 leaves 20 times the energy in the slice of Komatitsch & Martin (2007) at 4 s
UNGUIDED_FLOOR = 0.1
# d over alpha where guided waves are slow, at most, times the ratio of the fastest to the slowest
# wave; never below the least. A layer amplifies slow guided waves by d w / (alpha^2 + w^2): with
# alpha at least d / 4 nothing grows between Vs 150 and 3500 (bench/NOTES.md)
STRETCH, LEAST_STRETCH = 50.0, 4.0
SLOW = 3.0  # ratio from which waves are slow: none was seen to grow below 5
# of d, times `rheology.backwardness`: above 2, at which damped velocities outweigh what the layer
# amplifies
BACKWARD_DAMPING = 2.5
LEAST_DAMPING = 0.01  # of the greatest g: points with less are not damped


def cpml_profile(depth, thickness, spacing, dt, vp, options, frequency, floor, stretch):
    """Return a, b and 1/kappa - 1 at `depth` points into the layer, shape (3, n) (Komatitsch &
    Martin 2007, eqs 24-25).

    d = d0 (depth/L)^2, see `guided.damping`; alpha falls linearly from pi f at the inner edge, to
    `floor` of it, but not below d / `stretch`.
    """
    ratio = np.clip(depth / thickness, 0, None)
    kappa = 1 + (options.kappa_max - 1) * ratio**2
    d = guided.damping(vp, options.reflection, thickness * spacing) * ratio**2
    alpha = np.maximum(shift(ratio, frequency, floor), d / stretch)
    b = np.exp(-(d / kappa + alpha) * dt)
    inside = depth > 0
    a = np.where(inside, d * (b - 1) / np.where(inside, kappa * (d + kappa * alpha), 1), 0)
    return np.stack([a, np.where(inside, b, 0), 1 / kappa - 1])


def shift(ratio, frequency, floor=ALPHA_FLOOR):
    """alpha, 1/s, at depths over the thickness."""
    return np.pi * frequency * (floor + (1 - floor) * np.clip(1 - ratio, 0, None))


def greatest_stretch(d):
    """Return d over alpha in a layer at most: no limit where the medium guides no slow waves."""
    ratio = d.layer_ratio
    slow = ratio > SLOW and d.slowest < d.speeds["vp"][0]  # of solids, not the water's sound
    return max(STRETCH / ratio, LEAST_STRETCH) if d.guiding and slow else np.inf


def undamped(d, thickness):
    """Points from the inner edge of a layer that need no damping."""
    return 0 if d.backward else int(LEAST_DAMPING ** (1 / guided.power(d.layer_ratio)) * thickness)


def damping_strength(d):
    """Rate of the damping of guided waves over d at the outer edge: where the stretch is bounded,
    no more than for ordinary ratios of speeds.
    """
    most = np.inf if greatest_stretch(d) == np.inf else guided.ORDINARY_RATIO
    return guided.strength(d.guiding, min(d.layer_ratio, most))


def damping_profile(d, depth, thickness, frequency):
    """1 - exp(-rate dt) of g and alpha at `depth` points into the layer, (2, n): see damping.h."""
    ratio = np.clip(depth / thickness, 0, None)
    d0 = guided.damping(d.layer_speeds.fastest, d.boundaries.cpml.reflection, thickness * d.grid.spacing)
    g = d0 * (damping_strength(d) * ratio ** guided.power(d.layer_ratio) + BACKWARD_DAMPING * d.backward * ratio**2)
    rates = [np.where(ratio * thickness > undamped(d, thickness), g, 0), shift(ratio, frequency)]
    return -np.expm1(-d.dt * np.stack(rates))


def cpml(d):
    """Convolutional PML, with damped velocities where waves are guided: memory variables in the layers only."""
    options = d.boundaries.cpml
    thickness, frequency = options.thickness, options.frequency or d.frequency
    limits = (ALPHA_FLOOR if d.guiding else UNGUIDED_FLOOR, greatest_stretch(d))
    arrays, phases = {}, {"velocity": [], "stress": [], "velocity_after": []}
    count, vp = 1 if d.acoustic else len(d.velocity), d.layer_speeds.fastest
    for axis, side in d.faces("cpml"):
        box, *depths = slab_depths(d, axis, side, thickness)
        face = f"{'xyz'[axis]}{side}"
        profiles = [cpml_profile(x, thickness, d.grid.spacing, d.dt, vp, options, frequency, *limits) for x in depths]
        arrays[f"cpml_{face}"] = profiled(d, axis, box, profiles)
        for phase, launch in (("velocity", _cpml_velocity), ("stress", _cpml_stress)):
            arrays[f"psi_{phase}_{face}"] = memories(d, count, box)
            phases[phase].append(launch(d, axis, box, f"psi_{phase}_{face}", f"cpml_{face}"))
        if not d.guiding:
            continue
        box, *depths = slab_depths(d, axis, side, thickness, undamped(d, thickness))
        profiles = [damping_profile(d, x, thickness, frequency) for x in depths]
        arrays[f"damping_{face}"] = profiled(d, axis, box, profiles)
        arrays[f"lowpass_{face}"] = memories(d, len(d.velocity), box)
        phases["velocity_after"].append(_damping(d, axis, box, f"lowpass_{face}", f"damping_{face}"))
    return arrays, phases


def profiled(d, axis, box, profiles):
    """Array of the coefficients at integer and at half points of a layer."""
    values = np.stack(profiles).astype(d.precision)
    return Array("boundary", values.shape, d.precision, values, over=(None, None, along(axis, box)))


def memories(d, count, box):
    """Array of `count` memory variables at each point of a layer."""
    points = tuple(int(b - a) for a, b in zip(box[::2], box[1::2]))
    return Array("boundary", (count, *points), d.precision, over=slab_over(box))


def cyclic(d, axis):
    """Velocities and normal stresses along (A, B, C) that a layer across A sees; in acoustic waves
    nothing but the first of each.
    """
    velocity, normal = operators.CYCLIC_VELOCITY[axis], operators.CYCLIC_NORMAL[axis]
    return ((velocity[0], "", ""), ("s", "", "")) if d.acoustic else (velocity, normal)


def _cpml_velocity(d, axis, box, psi, profile):
    velocity, (saa, *_) = cyclic(d, axis)
    names = d.names(*velocity, psi, saa, *operators.CYCLIC_SHEAR[axis], "rho", profile)
    return Launch(operators.cpml_velocity(d.stencil, axis), names, box, slab_params(d, box))


def _cpml_stress(d, axis, box, psi, profile):
    velocity, normal = cyclic(d, axis)
    names = d.names(*normal, *operators.CYCLIC_SHEAR[axis], psi, "memory", *velocity, *operators.MEDIUM, profile)
    op = operators.cpml_stress(d.stencil, axis, d.relaxing, d.free)
    return Launch(op, names, box, relaxing.params(d, slab_params(d, box)))


def _damping(d, axis, box, lowpass, profile):
    names = d.names(*operators.CYCLIC_VELOCITY[axis], lowpass, profile)
    return Launch(operators.damping(axis, d.motion), names, box, slab_params(d, box))


def sponge(d):
    """Cerjan et al. (1985): all fields times exp(-(strength depth)^2) after each half step."""
    arrays, phases = {}, {"velocity_after": [], "stress_after": []}
    for axis, side in d.faces("sponge"):
        box, factors = sponge_profile(d, axis, side)
        face = f"sponge_{'xyz'[axis]}{side}"
        over = (along(axis, box),)
        arrays[face] = Array("boundary", factors.shape, d.precision, factors, over=over)
        for phase, fields in (("velocity_after", d.velocity), ("stress_after", d.stress)):
            phases[phase] += in_threes(partial(operators.sponge, axis), fields, box, slab_params(d, box), face)
    return arrays, phases


def sponge_profile(d, axis, side):
    """Return the box of a sponge, and what it multiplies fields by along its axis."""
    options = d.boundaries.sponge
    box, depth, _ = slab_depths(d, axis, side, options.thickness)
    return box, np.exp(-((options.strength * np.clip(depth, 0, None)) ** 2))


def sponge_factors(d):
    """Return what all sponges multiply fields by after each half step, (nz, ny, nx)."""
    out = np.ones(d.shape)
    for axis, side in d.faces("sponge"):
        (k0, k1, j0, j1, i0, i1), factors = sponge_profile(d, axis, side)
        others = [n for n in range(3) if n != 2 - axis]
        out[k0:k1, j0:j1, i0:i1] *= np.expand_dims(factors, others)
    return out


def in_threes(make, fields, box, params, *more):
    """Return launches of an operator that takes up to three fields, and `more` arrays."""
    groups = [fields[n : n + 3] for n in range(0, len(fields), 3)]
    return [Launch(make(len(some)), (*some, *[""] * (3 - len(some)), *more), box, params) for some in groups]


def a1(d):
    """Clayton & Engquist (1977): velocities on the outermost planes leave the grid, see a1.h."""
    arrays, launches = {}, []
    for axis, side in d.faces("a1"):
        op, n = operators.a1(d.stencil, axis, side), d.grid.shape[2 - axis]
        inner = n - 1 - op.reach // 2 if side else op.reach // 2
        box = d.slab(axis, inner, inner + 1)
        name, past = f"past_{'xyz'[axis]}{side}", (len(d.velocity), op.reach + 1)
        shape = *past, *(b - a for a, b in zip(box[::2], box[1::2]))
        arrays[name] = Array("boundary", shape, d.precision, over=(None, *slab_over(box)))
        names = d.names(*operators.CYCLIC_VELOCITY[axis], name, "rho", "lam", "rmu")
        launches.append(Launch(op, names, box, slab_params(d, box)))
    return arrays, {"velocity_last": launches}


def rigid(d):
    """Velocities zero on the outermost points: along the face on its plane, across it half a cell further out."""
    launches = []
    for axis, side in d.faces("rigid"):
        n = d.grid.shape[2 - axis]
        plane = d.slab(axis, 0, 1) if side == 0 else d.slab(axis, n - 1, n)
        held = [f for f in d.velocity if side == 1 or f != VELOCITY[axis]]
        launches += [Launch(operators.rigid(), (f,), plane, d.fd_params) for f in held]
    return {}, {"velocity_last": launches}


def periodic(d):
    """Ghost points copied from the other end before a half step reads them; point n of a periodic axis is point 0."""
    phases = {"velocity_first": [], "stress_first": []}
    stride = (1, d.layout.row, d.layout.plane)
    for axis, side in d.faces("periodic"):
        n = d.grid.shape[2 - axis]
        ghosts = d.slab(axis, -d.reach, 0) if side == 0 else d.slab(axis, n, n + d.reach)
        shift = (n if side == 0 else -n) * stride[axis]
        params = {"row": d.layout.row, "plane": d.layout.plane, "shift": shift}
        for phase, fields in (("velocity_first", d.stress), ("stress_first", d.velocity)):
            phases[phase] += in_threes(operators.wrap, fields, ghosts, params)
    return {}, phases


# The free surface is the step itself with the closure's rows: see half_steps.steps_of.
BOUNDARIES = {"cpml": cpml, "sponge": sponge, "a1": a1, "rigid": rigid, "periodic": periodic}


def inside_layer(d, xyz):
    """Return which positions, shape (n, 3), are within an absorbing layer: (n,) booleans."""
    xyz, options = np.asarray(xyz, float).reshape(-1, 3), d.boundaries
    inside = np.zeros(len(xyz), bool)
    for kind, planes in (("cpml", options.cpml.thickness), ("sponge", options.sponge.thickness), ("a1", d.reach)):
        for axis, side in d.faces(kind):
            distance = np.abs(xyz[:, axis] - d.grid.bounds("xyz"[axis])[side])
            inside |= distance < planes * d.grid.steps[axis] * (1 - 1e-9)
    return inside
