"""Forces that stand for an incident field around a box, by the kernels of the step: elements, memory variables of
attenuation, contacts of fluid and solid.

Let A be what a step adds to the forces, D be 1 at points of the box and 0 elsewhere, u0 the incident field. The run
lacks (D A - A D) u0: at points of the box what comes of u0 outside, and outside, with the other sign, what comes of
u0 in the box. Two programs of the elements around the box march with these two parts of u0.
"""

from dataclasses import replace

import numpy as np

from craton.core.plan import Array, Phase, StepPlan
from craton.methods.spectral_element.box_layer import FIELDS, entries, medium_of
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.equations.state import FORCE, State
from craton.methods.spectral_element.mesh import families

FORCES = {"solid": "force", "fluid": "potential_force"}


def forces(d, around, moved, machine):
    """Return the places in the block "forces" that forces of an incident field act on, (n,), and these forces at every
    step, N, of the potential m3, (steps, n): computed on a `machine`.

    `moved` are displacements, m, potentials, kg/m, and pressures, Pa, (steps, m), in the order of `places_around`.
    """
    points = around.points
    state = State(*map(len, points.values()))
    plan = plan_around(replace(d, precision="float64"), around, state)
    into, out_of = (machine.commit(plan) for _ in range(2))
    within = {name: np.zeros(plan.arrays[name].shape) for name in ("state", "forces")}
    for name, (start, _, count) in state.fields.items():
        flags = np.repeat(around.within[medium_of(name)][around.points[medium_of(name)]], count)
        within["forces" if name.endswith(FORCE) else "state"][start : start + len(flags)] = flags
    parts = [{FIELDS[medium][0]: layer.points} for medium, layer in around.layers.items()]
    parts.append({"displacement": around.pairs.solid, "pressure": around.pairs.fluid})
    source = np.concatenate([entries(state, around.renumbered(fields)) for fields in parts], axis=None)
    acting = {force: points[medium] for medium, force in FORCES.items()}
    target = np.concatenate(
        [entries(state, around.renumbered({one: numbers})) for one, numbers in acting.items()], axis=None
    )
    series, field = np.zeros((d.steps, len(target))), np.zeros(len(within["state"]))
    for total, values in zip(series, np.asarray(moved)):
        field[source] = values
        entering, leaving = added(into, field * (1 - within["state"])), added(out_of, field * within["state"])
        total[:] = np.where(within["forces"], entering, -leaving)[target]
    return np.concatenate([entries(d.state, {one: numbers}) for one, numbers in acting.items()], axis=None), series


def plan_around(d, around, state):
    """Return the `StepPlan` of what a step adds to the forces at the points around a box, whose fields a `State` has."""
    pairs = around.renumbered({"displacement": around.pairs.solid, "pressure": around.pairs.fluid})
    arrays, coupling = faces.coupling_of(
        np.stack(list(pairs.values()), axis=1), around.pairs.vectors, d.precision, d.units, potential_force="pressure"
    )
    arrays |= state.arrays(d.precision)
    launches = [*coupling["fluid"], *coupling["solid"]]
    for medium, layer in around.layers.items():
        for family in families.families_of_medium(d, layer.elements, medium == "fluid", 0, False):
            more, launch = families.arrays_and_launch(d, families.arrange_family(d, family))
            points = more[f"{family.name}_points"]
            # the dummy point, to which padding adds, is behind the last point
            numbers = np.searchsorted(around.points[medium], points.data).astype(np.int32)
            arrays |= more | {f"{family.name}_points": replace(points, data=numbers)}
            launches.append(launch)
    # the kernel takes the pressure p by the acceleration of the potential, -p
    minus = np.full(state.fluid + 1, -1.0)
    arrays["fluid_inverse_mass"] = Array("material", minus.shape, d.precision, minus)
    return StepPlan(
        precision=d.precision, layout=state.layout, arrays=arrays, phases=(Phase("forces", tuple(launches)),)
    )


def added(program, field):
    """Return what a step adds to the block "forces" for a block "state"."""
    program.backend.fill(program.arrays["state"], field)
    program.backend.fill(program.arrays["forces"], np.zeros(program.plan.arrays["forces"].shape))
    program.step(0)
    return program.host("forces")
