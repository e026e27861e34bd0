"""From a scenario to the Plan of spectral elements: mesh, points, step, arrays, phases. All thought happens here, once."""
from dataclasses import replace
from functools import partial

import numpy as np

from craton.core.plan import Array, Launch, Phase, Plan
from craton.core.shares import One
from craton.errors import Problem, ScenarioError
from craton.methods.shared import timing
from craton.methods.spectral_element import absorbing_layer, exact, faces, families, notes, operators, placing, points, ranks, snapshots
from craton.methods.spectral_element.discretisation import Discretisation
from craton.methods.spectral_element.division import bounds, divide
from craton.methods.spectral_element.element import Element
from craton.methods.spectral_element.look import look
from craton.methods.spectral_element.mesh_terms import centres
from craton.methods.spectral_element.time_step import stable_step
from craton.model.blas import one_thread
from craton.model.globe import earth_chunk
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import hexmesh, meshing
from craton.model.mesh.element_grid import ElementGrid
from craton.model.mesh.ordering import locality
from craton.model.mesh.prepared import Prepared
from craton.survey import leapfrog, source_files
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import warnings as survey_warnings
from craton.survey.shots import refusal
from craton.survey.snapshots import problems as snapshot_problems

EXPLODED = 1e3  # times what all sources together could do to one element


@one_thread()
def build(scenario, given=None, team=None, machine=None):
    """Discretise a scenario.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    given : craton.model.mesh.prepared.Prepared, optional
        In place of the scenario's mesh and model.
    team : craton.comm.Together, optional
        Ranks each of which makes its part of the plan; all must ask.
    machine : backend
        Where the stable step is found; needed even where the scenario names a step, which is checked.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        With every problem found: mesh, model, sources, receivers, step.
    """
    team = team or One()
    ranks.refuse_mesh(scenario, team)
    if given is None:
        scenario, given = placing.on_earth(scenario, team) if scenario.domain.chunk is not None else (scenario, checked(scenario, team))
    given = replace(given, bounds=bounds(given, team))
    scenario = placing.on_mesh(scenario, given.mesh, given.bounds)
    refuse([*survey_problems(scenario), *snapshot_problems(scenario), *refusal(scenario)])
    sources = source_files.build_all(scenario, partial(placing.medium, given))
    receivers = survey_receivers.build(scenario).on_earth(sources)
    d = discretise(scenario, given, sources, team, machine)
    del given  # its mesh, which is not wanted any more, is as large as that of `d`
    refuse(placing.problems(scenario, d) or points.source_problems(d, sources))
    channels = survey_receivers.channels(len(receivers), scenario.output.waveforms) + receivers.fibre_channels()
    return assemble(d, sources, receivers, channels)


def refuse(problems):
    """Raise all problems at once, if there are any."""
    if problems:
        raise ScenarioError(problems)


def checked(scenario, team):
    """The `Prepared` of a scenario, neighbours near each other; nothing is wrong with the mesh, as rank 0 sees it, or the model."""
    box = None if scenario.domain.mesh else meshing.region_of(scenario)
    if box is not None:
        refuse(sampling.problems(scenario.model, box))
    mesh = meshing.mesh_of(scenario)
    team.every(lambda: refuse(hexmesh.problems(mesh, scenario.run.degree)) if team.rank == 0 else None)
    region = Region(*map(tuple, mesh.bounds()))
    if box is None:
        refuse(sampling.problems(scenario.model, region, mesh.region_names))
    return Prepared(mesh.reordered(locality(mesh)), sampling.sampler(scenario.model, region, mesh.region_names))


def discretise(scenario, given, sources, team=None, machine=None):
    """Points, media, elements, step of a `Prepared` mesh and medium; see `build`."""
    element, team = Element(scenario.run.degree), team or One()
    wet = ranks.fluids(given, team)
    division, near = divide(given, element.degree, wet, ranks.owners(scenario, given, wet, team), team)
    wide = Discretisation(scenario, near.mesh, element, given.sampler, near.fluid, near.points, near.state, division,
                          centres=centres(near.mesh))  # fmt: skip
    d = replace(wide, first=look(wide)).leading(division.mesh.size, division.state, division.mesh)
    first = ranks.agreed(division, d.first)
    d = replace(d, first=first, relaxation=sampling.relaxation(scenario.model, first.loss))
    d = replace(d, layers=absorbing_layer.layers(d, sources))
    d = replace(d, elements=families.all_arranged(d))
    stable = stable_step(d, machine)
    refuse(step_problems(scenario, stable.limit))
    dt = timing.time_step(scenario, stable.limit)
    start = timing.start_time(scenario, sources, dt)
    steps = timing.step_count(scenario, start, dt)
    extra = leapfrog.extra(steps) if scenario.receivers else 0
    d = replace(d, stable=stable, dt=dt, start=start, steps=steps + extra, extra=extra)
    return replace(d, units=exact.units(d, sources))


def step_problems(scenario, limit):
    """A step beyond the stability limit."""
    step = scenario.time.step
    if step is None or step <= limit:
        return []
    return [Problem("time.step", f"step = {step:g} s is unstable: the limit is {limit:.4g} s on this mesh and model",
                    f"use at most {limit:.4g} s, or leave step out: {timing.time_step_for(limit):.4g} s is chosen then")]  # fmt: skip


def assemble(d, sources, receivers, channels):
    """Arrays and phases of the plan."""
    team = d.division.team
    arrays, elements = d.state.arrays(d.precision, d.exact) | masses(d), {"solid": [], "fluid": []}
    for own in d.elements:
        more, launch = families.arrays_and_launch(d, own)
        arrays |= more
        elements["fluid" if own.family.fluid else "solid"].append(launch)
    edges = []
    for kind in (partial(faces.absorbing, mass=d.first.mass), faces.still, faces.coupling, absorbing_layer.damped):
        more, launches = kind(d)
        arrays |= more
        edges.append(launches)
    source_arrays, injections, band = points.sources(d, sources)
    slots = timing.slots(d.steps, len(channels))
    channels, columns, record_arrays, record = points.recording(d, channels, receivers, slots, team)
    exchanged, messages = exchanges(d)
    arrays |= source_arrays | record_arrays | exchanged
    phases = (*phases_of(d, injections, elements, edges, messages), Phase("record", tuple(replace(one, outer=True) for one in record)))
    limit, watched, grid = *guard(d, sources), grid_of(d)
    pictures = snapshots.frames(d, d.division.bounds, d.scenario.snapshots, middle_edge(d) / d.element.degree)
    plan = Plan(d.scenario.title, "sem_elastic", d.precision, grid, d.state, arrays, phases, d.steps, d.dt, d.start, channels,
                receivers, slots, limit, watched, pictures, d.extra, band)  # fmt: skip
    plan.warnings = [*d.scenario.warnings, *survey_warnings(d.scenario, sources, d.start), *notes.warnings(d, sources),
                     *absorbing_layer.placed_in(d, [*((s.name, s.points) for s in sources), *zip(receivers.names, receivers.xyz)]),
                     *placing.near_sources(sources, receivers, d.scenario.output.waveforms, grid.spacing)]  # fmt: skip
    if team.size > 1:
        return ranks.completed(d, replace(plan, sharing={"gathering": columns}))
    plan.notes = notes.sections(d, plan, sources)
    plan.sharing = {"loads": partial(ranks.loads, d.scenario, d.division.whole, d.fluid)}
    return plan


def middle_edge(d):
    """Median edge of the elements of the whole mesh, m; of a chunk of the Earth that of its design, which all ranks know."""
    globe = d.scenario.domain.globe
    return meshing.edges(d.division.whole)[1] if globe is None else earth_chunk.middle_edge(globe.chunk)


def masses(d):
    """Inverse masses; that of the dummy point is 0."""
    found = {}
    for name, mass in zip(("inverse_mass", "fluid_inverse_mass"), d.first.mass):
        if len(mass):
            inverse = np.zeros(len(mass) + 1, d.precision)
            np.divide(1.0, mass, out=inverse[:-1], casting="same_kind")
            found[name] = Array("material", inverse.shape, d.precision, inverse)
    return found


def exchanges(d):
    """Arrays and, for each medium, messages that make its forces complete at points of several ranks."""
    arrays, messages = {}, {}
    for medium, field, components in (("solid", "force", 3), ("fluid", "potential_force", 1)):
        more, messages[medium] = d.division.shared[medium].messages(field, components, "int64" if d.exact else d.precision, d.exact)
        arrays |= more
    return arrays, messages


def phases_of(d, injections, elements, edges, messages):
    """A step: the fluid from the solid's displacement, then the solid with the fluid's pressure, then both step on in time.

    The fluid's accelerations must be complete before the solid's forces are, and are used up when the fluid steps. What neighbours add is
    added before absorbing and rigid faces act. Every rank has the same phases, empty ones too.
    """
    absorbing, still, coupling, layers = edges
    found = []
    if d.division.media[1]:
        found.append(phase("fluid", [*injections, *coupling["fluid"]], elements["fluid"], messages["fluid"]))
        found.append(phase("fluid faces", [*layers["fluid"], *absorbing["fluid"], *still["fluid"]]))
        injections = []
    if d.division.media[0]:
        found.append(phase("solid", [*injections, *coupling["solid"]], elements["solid"], messages["solid"]))
    return (*found, phase("step", [*layers["solid"], *absorbing["solid"], *still["solid"], *updates(d)]))


def phase(name, launches, elements=(), messages=()):
    """A phase: elements that neighbours wait for, what else adds to points, then the other elements."""
    first = [one for one in elements if one.outer] + [replace(one, outer=True) for one in launches]
    return Phase(name, (*first, *(one for one in elements if not one.outer)), messages=messages)


def updates(d):
    """Both media step on in time."""
    for op, count, components in ((operators.update(), d.state.solid, 3), (operators.fluid_update(), d.state.fluid, 1)):
        if count:
            yield d.units.launch(Launch(op, op.arrays, (0, 1, 0, 1, 0, components * (count + 1)), {"dt": d.dt}), components == 1, 2)


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
    kept = replace(d, first=None, elements=())  # masses are not wanted any more
    found = {name: d.first.constant[name] for name in ("vp", "vs", "rho")}
    found["highest frequency"] = d.first.quality.points(1.0) / 5  # Hz, at 5 points a wavelength
    brought = d.scenario.domain.mesh is not None or d.scenario.domain.chunk is not None
    return ElementGrid(d.mesh.size, d.element.degree, d.state.solid + d.state.fluid, shortest, middle, longest, partial(place_of, kept),
                       brought, partial(tuple, (d.mesh, found)))  # fmt: skip


def place_of(d, point):
    """Position (x, y, z), m, of a point of the solid by its number."""
    element, node = np.argwhere((d.points == point) & ~d.fluid[:, None])[0]
    return d.coordinates([element])[0, :, node]
