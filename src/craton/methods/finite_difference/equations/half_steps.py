"""Fields of the staggered grid in memory, and the launches of a step: two half steps and the record, with boundaries, sources and what
crosses the sides of boxes at their places; what several ranks need to know of it: halos that each half step reads, and
what planes of points cost.
"""

from dataclasses import replace

import numpy as np

from craton.core.partition import GridWeights
from craton.core.plan import Halo, Launch, Phase, StepPlan, fields_in_block
from craton.methods.finite_difference.equations import contact, laminate, material, operators, relaxing, source_boxes
from craton.methods.finite_difference.equations.boundaries import BOUNDARIES, slab_depths
from craton.methods.protocol import Reuse

HALVES = "velocity", "stress"
# Of a point on top of the plain step, in plain points: bench/results/fd_h200.json, 768^3, order 4,
# float32.
CPML = {0: 2.3, 1: 1.75, 2: 1.8}
SURFACE = 1.9
SPONGE = 0.6  # by its traffic: 18 of 30 reals
# of a point on a cut, in plain points: packing, thin regions, what is not hidden
COST_OF_HALO = {"z": 4.0, "y": 5.0, "x": 20.0}
# where in a step the tables of sources act
SOURCES = {"velocity": "velocity_begun", "stress": "stress_ended", "windows": "stress_first", "moments": "stress_last"}


def equations(d, arrays, launches, tables, reuse):
    """Return all arrays of a plan, and the phases of a step.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of tables and boxes.
    launches : list of dict of str to list of Launch
        By where in a step they run.
    tables : dict of str to Array
        Those of `arrays` that sources and receivers have.
    reuse : Reuse
    """
    more, *of_tables = launches
    of_medium, pieces = medium_and_layers(d, reuse, more)
    for some in of_tables:
        add(pieces, {SOURCES.get(place, place): of_place for place, of_place in some.items()})
    steps = reuse.get("steps", lambda: {name: steps_of(d, name) for name in HALVES}, (d.acoustic, d.shots))
    phases = *(phase_of(d, name, steps[name], pieces) for name in steps), Phase("record", tuple(pieces["record"]))
    arrays = of_medium | arrays
    if d.in_half:
        box_arrays, phases = source_boxes.kept_in_half(d, phases, tables)
        injected = [name for name in tables if name.startswith(("velocity_", "stress_"))]
        arrays = {name: array for name, array in (arrays | box_arrays).items() if name not in injected}
    return arrays, phases


def step_alone(d):
    """Return the `StepPlan` of a step without sources and receivers."""
    arrays, pieces = medium_and_layers(d, Reuse(keep=False), {})
    phases = tuple(phase_of(d, name, steps_of(d, name), pieces) for name in HALVES)
    return StepPlan(precision=d.precision, layout=d.layout, arrays=arrays, phases=phases)


def medium_and_layers(d, reuse, more):
    """Return the arrays of fields and medium, and the launches of layers, surfaces and contacts behind `more`, by where in
    a step they run.
    """
    arrays, pieces = wavefield(d) | relaxing.arrays(d) | material.arrays(d), {}
    medium = (d.acoustic, d.shots)
    kinds = dict.fromkeys(BOUNDARIES.values(), (*medium, d.frequency))
    add(pieces, more)
    for kind, key in (kinds | dict.fromkeys((laminate.laminate, contact.contact), medium)).items():
        boundary_arrays, of_boundary = reuse.get(kind.__name__, lambda kind=kind: kind(d), key)
        arrays |= boundary_arrays
        add(pieces, of_boundary)
    return arrays, pieces


def add(pieces, launches):
    """Add launches by where in a step they run to others."""
    for place, of_place in launches.items():
        pieces.setdefault(place, []).extend(of_place)


def wavefield(d):
    """Return the state: all fields in one block, so that point tables need one index, and each
    field as a part of it.
    """
    dtype = np.dtype(d.kept_as[0])
    return fields_in_block("state", d.fields, "wavefield", d.layout, dtype, defined=defined(d), over=d.layout)


def defined(d):
    """Slices in which a field is initialised: the grid, and the ghost points beyond its edges, which stay zero."""
    bare = {axis for axis, _ in d.faces("periodic")} | ({1} if d.planar else set())
    return tuple(
        slice(o, o + n) if 2 - axis in bare else slice(o - d.reach, o + n + d.reach)
        for axis, (o, n) in enumerate(zip(d.layout.origin, d.shape))
    )


def phase_of(d, name, steps, pieces):
    """One half step: ghosts that it reads, the step itself, layers, the step below a free surface
    (which sets szz last), damping, edges.

    Forces come before the velocity step and moments after the stress step: nothing then stands
    between the two, and a machine may take both in one pass through memory.
    """
    plain, *surface = steps
    steps = [plain, *pieces.get(name, ()), *surface]
    # layers add to memory variables what follows the step, and leave szz = 0 alone
    if d.relaxing and name == "stress":
        steps = [plain, *surface, *pieces.get(name, ())]
    ends = ("first", "before", "begun"), ("updated", "after", "last", "ended")
    before, after = ([one for place in places for one in pieces.get(f"{name}_{place}", ())] for places in ends)
    return Phase(name, (*before, *steps, *after), halos(d, name))


def steps_of(d, name):
    """Return the plain step, below the planes that the closure of a free surface covers or that
    topography cuts, and the step of those planes.

    Above the highest point of a topography nothing is computed.
    """
    plain = replace(d.stencil, terrain=False)
    op = operators.velocity(plain) if name == "velocity" else operators.stress(plain, d.relaxing)
    scalars = d.fd_params if name == "velocity" else relaxing.params(d, d.fd_params)
    full, empty = d.vacuum_planes
    top = min(d.grid.shape[0] - d.surface_planes, full)
    names = d.names(*op.arrays)
    launches = [Launch(op, names, d.slab(2, 0, top), scalars)]
    if full < empty:
        launches.append(Launch(operators.among_air(op), names, d.slab(2, full, empty), scalars))
    if d.free:
        at_surface, planes = operators.at_surface(op, d.closure, d.stencil), d.slab(2, top, d.grid.shape[0])
        launches.append(Launch(at_surface, names, planes, scalars))
    return launches


# --- what several ranks need to know --------------------------------------------------------------


def halos(d, phase):
    """Return what the half step after `phase` ("velocity", "stress") reads of its neighbours: tuple
    of Halo.

    A difference is half-way between the points that it reads: of a field at half points along the
    axis R before it and R - 1 behind, of one at integer points the other way round. Velocities are
    differentiated along every axis, stresses along their own ones, the one stress of acoustic waves
    along every axis.
    """
    out = []
    for field in d.velocity if phase == "velocity" else d.stress:
        for n, axis in enumerate("xyz"):
            reach = len(d.stencil.axes[n])
            if reach and (phase == "velocity" or d.acoustic or axis in field):
                low, high = (reach, reach - 1) if d.half(field)[n] else (reach - 1, reach)
                out.append(Halo(field, axis, low, high))
    return tuple(out)


def weights(d):
    """Return the `GridWeights` by which the grid is divided among ranks."""
    cost = {axis: np.ones(n) for axis, n in zip("zyx", d.shape)}
    for kind, extra in (("cpml", CPML), ("sponge", dict.fromkeys(range(3), SPONGE))):
        for axis, side in d.faces(kind):
            box, *_ = slab_depths(d, axis, side, getattr(d.boundaries, kind).thickness)
            cost["xyz"[axis]][slice(*box[2 * (2 - axis) : 2 * (2 - axis) + 2])] += extra[axis]
    if d.free:
        cost["z"][d.shape[0] - d.surface_planes :] += SURFACE
    least, periodic = (max(d.reach, 2), "".join("xyz"[axis] for axis, side in d.faces("periodic") if side == 0))
    return GridWeights(
        cost,
        COST_OF_HALO,
        least,
        d.surface_planes + d.reach if d.free else least,
        periodic,
        uncut="y" if d.planar else "",
        # differences wider than halos
        together=d.floor and (d.floor + 1 - d.floor_closure.rows, d.floor + 1 + d.floor_closure.rows),
    )


def gradient_weights(d, weights, align):
    """Return the `GridWeights` by which steps of gradients are divided: a transposed CPML layer
    differences what it remembered, and what is kept of the field beside a layer may share a scale,
    so that no cut along its normal comes near it.

    Parameters
    ----------
    d : Discretisation
    weights : GridWeights
        Of the plain steps.
    align : int
        Cuts lie at multiples of it.
    """
    ends = {}
    for kind in ("cpml", "sponge"):
        thickness = getattr(d.boundaries, kind).thickness
        for axis, side in d.faces(kind):
            planes = list(ends.get("xyz"[axis], (0, 0)))
            planes[side] = thickness + side + d.reach
            ends["xyz"[axis]] = tuple(planes)
    return replace(weights, ends=ends, align=max(align, weights.align))
