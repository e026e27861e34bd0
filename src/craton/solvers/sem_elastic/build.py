"""From a scenario to the Plan of spectral elements: mesh, points, step, arrays, phases. All thought happens here, once."""
from dataclasses import replace
from functools import partial

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model import hexmesh, meshing, numbering, sampling
from craton.model.cells import Region
from craton.model.element_grid import ElementGrid
from craton.plan.plan import Array, Launch, Phase, Plan
from craton.solvers.sem_elastic import faces, families, mesh_terms, notes, operators, placing, points, snapshots
from craton.solvers.sem_elastic.discretisation import Discretisation
from craton.solvers.sem_elastic.element import Element
from craton.solvers.sem_elastic.look import fluids, look
from craton.solvers.sem_elastic.state import State
from craton.solvers.sem_elastic.time_step import stable_step
from craton.solvers.shared import timing
from craton.survey import leapfrog
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import sources as survey_sources
from craton.survey import warnings as survey_warnings
from craton.survey.shots import refusal
from craton.survey.snapshots import problems as snapshot_problems

EXPLODED = 1e3  # times what all sources together could do to one element


def build(scenario, given=None):
    """Discretise a scenario.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    given : object, optional
        A ``mesh`` and its ``sampler`` in place of the scenario's mesh and model, such as `chunk_sampler.Prepared`.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        With every problem found: mesh, model, sources, receivers, step.
    """
    mesh = checked_mesh(scenario) if given is None else given.mesh
    scenario = placing.on_mesh(scenario, mesh)
    refuse([*survey_problems(scenario), *snapshot_problems(scenario), *refusal(scenario)])
    sampler = given.sampler if given else sampling.sampler(scenario.model, Region(*map(tuple, mesh.bounds())), mesh.region_names)
    sources = survey_sources.build(scenario, partial(placing.medium, mesh, sampler))
    receivers = survey_receivers.build(scenario)
    d = discretise(scenario, mesh, sampler, sources)
    refuse(placing.problems(scenario, d.places) or points.source_problems(d, sources))
    channels = survey_receivers.channels(len(receivers), scenario.output.waveforms) + receivers.fibre_channels()
    return assemble(d, sources, receivers, channels)


def refuse(problems):
    """Raise all problems at once, if there are any."""
    if problems:
        raise ScenarioError(problems)


def checked_mesh(scenario):
    """The mesh of a scenario with 27 nodes an element, in an order in which neighbours are near; nothing is wrong with it or the model."""
    box = None if scenario.domain.mesh else meshing.region_of(scenario)
    if box is not None:
        refuse(sampling.problems(scenario.model, box))
    mesh = meshing.mesh_of(scenario)
    refuse(hexmesh.problems(mesh, scenario.run.degree))
    if box is None:
        refuse(sampling.problems(scenario.model, Region(*map(tuple, mesh.bounds())), mesh.region_names))
    mesh = mesh.elevated()
    return mesh.reordered(numbering.locality(mesh))


def discretise(scenario, mesh, sampler, sources):
    """Points, media, step."""
    element = Element(scenario.run.degree)
    wet, found = fluids(mesh, sampler), numbering.number(mesh.elements, element.degree)
    own, solid, fluid = media(found.points.reshape(mesh.size, -1), found.count, wet)
    d = Discretisation(scenario, mesh, element, sampler, wet, own, State(solid, fluid))
    first = look(d)
    d = replace(d, first=first, relaxation=sampling.relaxation(scenario.model, first.loss))
    stable = stable_step(element, d.coordinates, d.material, own, wet, first.mass, d.relaxation, d.jacobian)
    refuse(step_problems(scenario, stable.limit))
    dt = timing.time_step(scenario, stable.limit)
    start = timing.start_time(scenario, sources, dt)
    steps = timing.step_count(scenario, start, dt)
    extra = leapfrog.extra(steps) if scenario.receivers else 0
    return replace(d, stable=stable, dt=dt, start=start, steps=steps + extra, extra=extra)


def step_problems(scenario, limit):
    """A step beyond the stability limit."""
    step = scenario.time.step
    if step is None or step <= limit:
        return []
    return [Problem("time.step", f"step = {step:g} s is unstable: the limit is {limit:.4g} s on this mesh and model",
                    f"use at most {limit:.4g} s, or leave step out: {timing.time_step_for(limit):.4g} s is chosen then")]  # fmt: skip


def media(points, count, fluid):
    """Global points counted apart in the two media: points (ne, nodes) of the element's own medium, and how many each has.

    A point on both sides of an interface between fluid and solid is in both.
    """
    if not fluid.any():
        return points, count, 0
    out, counts = np.empty_like(points), []
    for which in (~fluid, fluid):
        used = np.zeros(count, bool)
        used[points[which]] = True
        out[which] = (np.cumsum(used, dtype=np.int32) - 1)[points[which]]
        counts.append(int(used.sum()))
    return out, *counts


def assemble(d, sources, receivers, channels):
    """Arrays and phases of the plan."""
    arrays = d.state.arrays(d.precision) | masses(d)
    elements = {"solid": [], "fluid": []}
    for own in families.families(d):
        more, launch = families.arrays_and_launch(d, own)
        arrays |= more
        elements["fluid" if own.fluid else "solid"].append(launch)
    edges = []
    for kind in (partial(faces.absorbing, mass=d.first.mass), faces.still, faces.coupling):
        more, launches = kind(d)
        arrays |= more
        edges.append(launches)
    source_arrays, injections, band = points.sources(d, sources)
    slots = timing.slots(d.steps, len(channels))
    channels, record_arrays, record = points.recording(d, channels, receivers, slots)
    arrays |= source_arrays | record_arrays
    phases = (*phases_of(d, injections, elements, edges), Phase("record", tuple(record)))
    limit, watched, grid = *guard(d, sources), grid_of(d)
    pictures = snapshots.frames(d, d.mesh, d.scenario.snapshots, grid.spacing / d.element.degree)
    plan = Plan(d.scenario.title, "sem_elastic", d.precision, grid, d.state, arrays, phases, d.steps, d.dt, d.start, channels,
                receivers, slots, limit, watched, pictures, d.extra, band)  # fmt: skip
    plan.warnings = [*d.scenario.warnings, *survey_warnings(d.scenario, sources, d.start), *notes.warnings(d, sources),
                     *placing.near_sources(sources, receivers, d.scenario.output.waveforms, grid.spacing)]  # fmt: skip
    plan.notes = notes.sections(d, plan, sources)
    return plan


def masses(d):
    """Inverse masses; that of the dummy point is 0."""
    found = {}
    for name, mass in zip(("inverse_mass", "fluid_inverse_mass"), d.first.mass):
        if len(mass):
            inverse = np.zeros(len(mass) + 1, d.precision)
            np.divide(1.0, mass, out=inverse[:-1], casting="same_kind")
            found[name] = Array("material", inverse.shape, d.precision, inverse)
    return found


def phases_of(d, injections, elements, edges):
    """A step: the fluid from the solid's displacement, then the solid with the fluid's pressure, then both step on in time.

    The fluid's accelerations must be complete before the solid's forces are, and are used up when the fluid steps.
    """
    absorbing, still, coupling = edges
    found = []
    if d.state.fluid:
        forces = [*injections, *elements["fluid"], *coupling["fluid"]]
        found.append(Phase("fluid", (*forces, *absorbing["fluid"], *still["fluid"])))
        injections = []
    forces = [*injections, *elements["solid"], *coupling["solid"], *absorbing["solid"], *still["solid"]]
    return (*found, Phase("solid", tuple(forces)), Phase("step", tuple(updates(d))))


def updates(d):
    """Both media step on in time."""
    for op, count, components in ((operators.update(), d.state.solid, 3), (operators.fluid_update(), d.state.fluid, 1)):
        if count:
            yield Launch(op, op.arrays, (0, 1, 0, 1, 0, components * (count + 1)), {"dt": d.dt})


def guard(d, sources):
    """The largest value that cannot be right, and the field that is watched for it: particle velocity, or pressure where all is fluid.

    A thousand times what all sources, each within one element, could leave behind.
    """
    times, total = d.start + np.arange(d.steps) * d.dt, 0.0
    for s in sources:
        impulse = np.abs(s.wavelet(times)).sum() * d.dt
        strength = np.abs(s.force).max() if s.force is not None else np.abs(s.moment).max() / d.first.speeds["slowest"][0]
        total += impulse * strength / (d.first.speeds["rho"][0] * d.first.smallest)
    watched, scale = ("velocity", 1.0) if d.state.solid else ("pressure", d.first.speeds["rho"][0] * d.first.speeds["vp"][1])
    return (float(EXPLODED * scale * total) if total > 0 else np.inf), (watched,)


def grid_of(d):
    """What messages say of the points."""
    shortest, middle, longest = meshing.edges(d.mesh)
    kept = replace(d, first=None)  # masses are not wanted any more
    return ElementGrid(d.mesh.size, d.element.degree, d.state.solid + d.state.fluid, shortest, middle, longest, partial(place_of, kept),
                       d.scenario.domain.mesh is not None, partial(media_of, d))  # fmt: skip


def media_of(d):
    """The mesh, and means over its elements: vp, vs, rho, and how high a frequency it carries with 5 points a wavelength, Hz."""
    means = {"vp": [], "vs": [], "rho": []}
    for part in mesh_terms.batches(d.mesh.size):
        found = d.material(part)
        for name, values in means.items():
            values.append(found[name].mean(axis=1))
    return d.mesh, {name: np.concatenate(values) for name, values in means.items()} | {"highest frequency": d.first.resolved / 5}


def place_of(d, point):
    """Position (x, y, z), m, of a point of the solid by its number."""
    element, node = np.argwhere((d.points == point) & ~d.fluid[:, None])[0]
    return d.coordinates([element])[0, :, node]
