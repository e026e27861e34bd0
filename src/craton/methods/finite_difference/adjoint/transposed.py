"""The transposed time loop of the elastic staggered grid, made of the operators of the forward one.

A step is v' = v + dt B D s, s' = s + dt C D' v' (B = 1/rho, C the stiffness, D and D' the staggered
differences). With the norms H of the scheme (closure.py; 1 but below a free surface) they obey
H D = -(H D')^T. The adjoint variables of v and s are written

    a rho H v^   and   -a C^-1 H s^          (a: one number that scales the misfit's derivative)

and v^, s^ then obey the step itself, backwards in time: residuals are injected, velocities advance
by the velocity step, stresses by the stress step. Nothing is divided by a modulus or a density
that may vanish. What is not of this form is transposed by itself: memory variables of layers
(cpml.h) and damped velocities (damping.h); sponge, rigid faces and periodic axes are their own
transposes, in the reverse order. With attenuation the step is the forward one, too, and what is correlated are
strains (increments.py). Correlated with the increments that the forward step gave (increments.h), v^
and s^ are the gradient by density and by compliances (sensitivity.py).
"""

from dataclasses import replace

import numpy as np

from craton.core.plan import Array, Launch, Phase, StepPlan
from craton.methods.finite_difference.adjoint import increments
from craton.methods.finite_difference.equations import (
    boundaries,
    contact,
    half_steps,
    laminate,
    material,
    operators,
    relaxing,
)
from craton.methods.waves import tables


def plan(d, columns, residuals, taps, slots, every=1):
    """Return the plan of the transposed steps of a `Discretisation`, last step first.

    Parameters
    ----------
    d : Discretisation
    columns : int
        Recorded.
    residuals : dict of str to (index, weight, column)
        By which each recorded column enters the adjoint fields (``"state"``), and with
        attenuation their memory variables (``"memory"``); the array ``residual_series``,
        (steps, columns), holds the misfit's derivative, last step first.
    taps : dict of str to (count, (index, weight, column))
        What is sampled of the adjoint fields, into arrays (steps, count) of their names:
        ``"moment"`` where moments act on stresses, ``"force"`` where forces act on velocities.
    slots, every : int
        See `craton.methods.finite_difference.adjoint.increments`.

    Returns
    -------
    StepPlan
    """
    arrays, pieces = faces(d)
    if laminate.boxes(d):  # what their laminates add to stresses, but for absorbing layers
        pieces["stress"] = [*pieces.get("stress", ()), *laminate.unlayered(d)]
    arrays |= half_steps.wavefield(d) | material.arrays(d) | increments.store(d, slots)
    arrays |= increments.sums(d) | increments.memory(d)
    tables_of = {f"residual_{into}": (into, table) for into, table in residuals.items()}
    injections, inject = injected(d, columns, tables_of)
    samples, sampled = tapped(d, taps)
    arrays |= injections | samples
    phases = {
        "residual": [*inject.values(), sampled.get("moment"), *reversed(pieces.get("stress_after", []))],
        "adjoint velocity": half_step(d, "velocity", pieces),
        "correlation": [sampled.get("force"), *increments.correlated(d, slots, every)],
        "adjoint stress": half_step(d, "stress", pieces),
    }
    return plan_of(d, arrays, phases, {"residual": "stress", "adjoint velocity": "velocity"})


def plan_of(d, arrays, phases, exchanged, second=None):
    """Return the plan of some phases, and of the counting of steps behind them; in each neighbours wait for all launches.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        But for the number of the step.
    phases : dict of str to iterable of (Launch or None)
    exchanged : dict of str to str
        By the name of a phase, whether ghosts of ``"velocity"`` or ``"stress"`` are exchanged
        after it.
    second : callable, optional
        Name of a second field of each that is exchanged, by that of the first.
    """
    out = []
    for name, launches in (phases | {"advance": [tables.COUNT_STEPS]}).items():
        halos = half_steps.halos(d, exchanged[name]) if name in exchanged else ()
        if second:
            halos += tuple(replace(halo, field=second(halo.field)) for halo in halos)
        # a layer differences what it has remembered: its points are not to be divided
        out.append(Phase(name, tuple(replace(launch, outer=True) for launch in launches if launch), halos))
    return StepPlan(precision=d.precision, layout=d.layout, arrays=arrays | tables.STEP, phases=tuple(out))


def injected(d, columns, tables_of):
    """Return arrays and launches by name that inject residuals, all by the columns of ``residual_series``.

    Parameters
    ----------
    d : Discretisation
    columns : int
    tables_of : dict of str to (block, (index, weight, column))
        By the name of its arrays; without rows there is no launch.
    """
    arrays, launches = {}, {}
    series = np.zeros((d.steps, columns))
    for name, (into, table) in tables_of.items():
        if len(table[0]):
            more, launch = placed(d, *tables.injection(name, tables.table_of(*table), series, d.precision, into))
            arrays["residual_series"] = more.pop(f"{name}_series")
            arrays |= more
            launches[name] = renamed(launch, {f"{name}_series": "residual_series"})
    return arrays, launches


def placed(d, arrays, launch):
    """Return arrays and the launch of an injection, which knows its places on the grid."""
    targets = arrays[launch.arrays[1]].data
    return arrays, replace(launch, places=d.layout.place(targets))


def renamed(launch, names):
    """Return a launch on other arrays."""
    return replace(launch, arrays=tuple(names.get(name, name) for name in launch.arrays))


def tapped(d, taps):
    """Return arrays and launches by name that sample the adjoint fields; see `plan`."""
    arrays, launches = {}, {}
    for name, (count, (index, weight, column)) in taps.items():
        if count:
            block = "memory" if d.relaxing and name == "moment" else "state"
            rows = np.searchsorted(column, np.arange(count + 1)), index, weight
            more, launches[name] = tables.sampled(name, f"{name}_tap", rows, d.steps, d.precision, block)
            arrays |= more
    return arrays, launches


def faces(d):
    """Arrays of the faces of the grid, of cut cells and of a sea floor, and their launches by place
    in the forward step; those of CPML layers transposed.
    """
    arrays, pieces = laminate.table(d), {}
    parts = [(name, *kind(d)) for name, kind in (*boundaries.BOUNDARIES.items(), ("contact", contact.contact))]
    for name, more, launches in (*parts, *(("layers", *layers(d, step)) for step in increments.PARTS)):
        arrays |= more
        for place, those in launches.items():
            if name == "cpml":
                those = [transposed_damping(d, launch) for launch in those if launch.op.function == "damping"]
            pieces.setdefault(place, []).extend(those)
    return arrays, pieces


def half_step(d, name, pieces):
    """Return the launches of the transposed half step by which velocities or stresses advance.

    The transpose of the forward stress step advances adjoint velocities: what followed that step
    (sponge) has acted on adjoint stresses, and what followed the velocity step acts last.
    """
    plain, *surface = half_steps.steps_of(d, name)
    layered = pieces.get(name, ())
    steps = [plain, *layered, *surface]
    if d.relaxing and name == "stress":  # as `half_steps.phase_of`
        steps = [plain, *surface, *layered]
    begins = [*pieces.get(f"{name}_first", ())]  # ghosts of a periodic axis
    if name == "velocity":
        ends = [*pieces.get("velocity_after", ()), *pieces.get("velocity_last", ())]
        steps += reversed(ends)
    return [*begins, *steps]


def transposed_damping(d, launch):
    """Return the transpose of a launch that damps velocities in a CPML layer."""
    axis = dict(launch.op.defines)["AXIS"]
    op = operators.damping(axis, d.motion, transposed=True)
    return replace(launch, op=op)


def layers(d, step):
    """Arrays and launches of all CPML layers for the transposed half step by which `step`,
    velocities or stresses, advance: along each axis it remembers the fields that the step
    differentiates, then differences what it remembered along the layers' normal.
    """
    arrays, launches = {}, []
    for axis in sorted({axis for axis, _ in d.faces("cpml")}):
        arrays |= scratch(d, axis)
        sides = [side for a, side in d.faces("cpml") if a == axis]
        launches += [remembered(d, step, axis, side) for side in sides]
        launches += [differentiated(d, step, axis, side) for side in sides]
        for side in sides if step == "stress" else ():
            around = reached(d, axis, side)
            launches += increments.remembered_in_cut_cells(d, axis, *around, scratch_names(d, axis))
    return arrays, {step: launches}


def scratch(d, axis):
    """Fields that hold q of cpml.h in the layers across an axis; those of all axes share them."""
    layout = d.layout
    part = {"first": layout.first, "window": layout.window(), "defined": half_steps.defined(d)}
    return {
        name: Array("boundary", layout.padded, d.precision, over=layout, **part)
        for name in scratch_names(d, axis)
        if name
    }


def scratch_names(d, axis):
    """Names of the scratch fields of the components along (A, B, C); "" where there is none."""
    velocity, _ = boundaries.cyclic(d, axis)
    return tuple(f"q_{n}" if name else "" for n, name in enumerate(d.names(*velocity)))


def remembered(d, step, axis, side):
    """Return the launch that remembers adjoint stresses for the step of velocities, or velocities
    for that of stresses, in a layer.
    """
    face, of = f"{'xyz'[axis]}{side}", "stress" if step == "velocity" else "velocity"
    velocity, (across, *_) = boundaries.cyclic(d, axis)
    fields = (
        (across, *operators.CYCLIC_SHEAR[axis]) if of == "stress" else velocity
    )  # stresses on planes across the axis
    names = (*scratch_names(d, axis), f"psi_{of}_{face}", *d.names(*fields), f"cpml_{face}")
    op = operators.remember(d.stencil, axis, of)
    thickness = d.boundaries.cpml.thickness
    slab, *_ = boundaries.slab_depths(d, axis, side, thickness)
    return Launch(op, names, boundaries.layer(d, axis, side), boundaries.slab_params(d, slab))


def differentiated(d, step, axis, side):
    """Return the launch that adds what differences of q along an axis give to velocities or
    stresses, in a layer and as far beyond as they reach.
    """
    q, (box, params) = scratch_names(d, axis), reached(d, axis, side)
    velocity, normal = boundaries.cyclic(d, axis)
    if step == "velocity":
        op = operators.cpml_velocity(d.stencil, axis, transposed=True)
        return Launch(op, (*d.names(*velocity), "", *q, "rho", ""), box, params)
    op = operators.cpml_stress(d.stencil, axis, d.relaxing, d.free, transposed=True)
    shear = operators.CYCLIC_SHEAR[axis]
    names = d.names(*normal, *shear, "", "memory", *q, *operators.MEDIUM, "")
    return Launch(op, names, box, relaxing.params(d, params))


def reached(d, axis, side):
    """Return the box of a layer and of the points beyond it that differences of what it remembers
    reach, and scalars of the layer.
    """
    layer = boundaries.layer(d, axis, side)
    first, last = layer[2 * (2 - axis) : 2 * (2 - axis) + 2]
    n = d.grid.shape[2 - axis]
    box = d.slab(axis, max(first - d.reach * side, 0), min(last + d.reach * (1 - side), n))
    return box, boundaries.slab_params(d, layer)
