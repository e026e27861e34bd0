"""Build the Plan of spectral elements from a scenario: mesh, points, time step, arrays, phases;
every decision is made here, once.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from craton.core.grid import Cells, ElementGrid, ElementTable
from craton.core.plan import Array, ElementIdentity, Launch, Phase, Plan
from craton.errors import Problem, ScenarioError
from craton.memory import array_bytes, available
from craton.methods.spectral_element import injection, notes, peaks, points, ranks, snapshots
from craton.methods.spectral_element.discretisation import Discretisation, Medium, fields_of, places_of
from craton.methods.spectral_element.equations import absorbing_layer, faces, fixed_point, material, operators
from craton.methods.spectral_element.equations.state import FLUID, SOLID
from craton.methods.spectral_element.equations.time_step import stable_step
from craton.methods.spectral_element.mesh import families, placing
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.spectral_element.mesh.mesh_statistics import scan_elements
from craton.methods.spectral_element.mesh.subdomain import build_subdomain, mesh_bounds
from craton.methods.waves import timing
from craton.methods.waves.coupling import recorded
from craton.methods.waves.ranks.sharing import SingleRank
from craton.methods.waves.reuse import Reuse
from craton.model.blas import one_thread
from craton.model.globe import earth_chunk
from craton.model.ground import terrain
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import hexmesh, meshing
from craton.model.mesh.ordering import locality
from craton.model.mesh.prepared import Prepared
from craton.survey import channels as survey_channels
from craton.survey import leapfrog, silence, source_files
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import sources as survey_sources
from craton.survey import warnings as survey_warnings
from craton.survey.shots import refusal
from craton.survey.snapshots import problems as snapshot_problems
from craton.survey.sources import largest_moment
from craton.survey.whereabouts import located

# times the largest value that all sources together could cause in one element
DIVERGENCE_LIMIT = 1e3


MESH_BYTES = 120  # of an element in a mesh of corners, at least


@one_thread()
def build(scenario, prepared=None, team=None, machine=None, reuse=None):
    """Build the plan of a scenario.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    prepared : craton.model.mesh.prepared.Prepared, optional
        Mesh and model that replace those of the scenario.
    team : craton.comm.Together, optional
        Ranks, each of which builds its part of the plan; all must call.
    machine : backend
        Machine on which the stable step is found; needed even if the scenario names a step, which
        is checked.
    reuse : craton.methods.waves.reuse.Reuse, optional
        Keeps what the next plan of the same medium takes over.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        With every problem found: mesh, model, sources, receivers, step.
    """
    team, reuse = team or SingleRank(), reuse or Reuse(keep=False)
    return assemble(*discretised_run(scenario, prepared, team, machine, reuse), reuse)


def discretised_run(scenario, prepared, team, machine, reuse):
    """Return what `assemble` takes of a scenario: `Discretisation`, scenario on its mesh, sources,
    receivers, channels, recordings that are injected; see `build`.
    """
    ranks.refuse_mesh(scenario, team)
    tables, prepared, top = reuse.get("mesh", partial(mesh_and_tables, scenario, prepared, team))
    scenario = scenario.model_copy(update=tables).on_mesh(*prepared.bounds, top)
    refuse([*survey_problems(scenario), *snapshot_problems(scenario), *refusal(scenario)])
    values = partial(placing.medium, prepared)
    sources = placing.in_media(scenario, source_files.build_all(scenario, values))
    receivers = located(survey_receivers.build(scenario), scenario, sources)
    sources, receivers = silence.warned(scenario, sources, receivers, values)
    incident = recorded.checked(*recorded.opened(scenario, "sem"))
    begin = survey_sources.start_time(scenario, sources) if sources else np.inf
    scenario = recorded.timed(scenario, incident, begin)
    d = discretise(scenario, prepared, sources, team, machine, reuse)
    del prepared  # its mesh, which is no longer needed, is as large as that of `d`
    refuse(placing.problems(scenario, d) or points.source_problems(d, sources))
    refuse(injection.problems(d, scenario, incident))
    channels = survey_channels.channels(len(receivers), scenario.output.waveforms) + receivers.fibre_channels()
    return d, scenario, sources, receivers, channels, incident


def refuse(problems):
    """Raise all problems at once, if there are any."""
    if problems:
        raise ScenarioError(problems)


def mesh_and_tables(scenario, prepared, team):
    """Return the tables of a scenario as its mesh has them, by name; its `Prepared` mesh and model,
    anew where there is none; and the top from which depths count.

    On a chunk of the Earth the domain knows the `Globe`.
    """
    tables = {}
    if prepared is None and scenario.domain.chunk is None:
        prepared = prepare_mesh(scenario, team)
    elif prepared is None:
        placed, prepared = placing.place_on_earth(scenario, team)
        tables = {"domain": placed.domain, "model": placed.model}
    prepared = replace(prepared, bounds=mesh_bounds(prepared, team))
    scenario = scenario.model_copy(update=tables)
    return tables, prepared, placing.top_for_depths(scenario, prepared.mesh)


def prepare_mesh(scenario, team):
    """Return the `Prepared` mesh and model of a scenario, neighbouring elements near each other in
    memory.

    Raises
    ------
    ScenarioError
        The mesh, which rank 0 checks, or the model is wrong.
    """
    box = None if scenario.domain.mesh else meshing.region_of(scenario)
    if box is not None:
        refuse(sampling.problems(scenario.model, box))
    mesh = meshing.mesh_of(scenario, most_elements(scenario.run.degree, team.size))
    team.every(lambda: refuse(hexmesh.problems(mesh, scenario.run.degree)) if team.rank == 0 else None)
    region = Region(*map(tuple, mesh.bounds()))
    if box is None:
        refuse(sampling.problems(scenario.model, region, mesh.region_names))
    return Prepared(mesh.reordered(locality(mesh)), sampling.sampler(scenario.model, region, mesh.region_names))


def discretise(scenario, prepared, sources, team=None, machine=None, reuse=None):
    """Discretise a scenario: elements, material, absorbing layers and time step; all ranks must
    call.

    Parameters
    ----------
    scenario : craton.SpectralScenario
        On the mesh, see `placing.place_on_mesh`.
    prepared : craton.model.mesh.prepared.Prepared
    sources : list of PointSource and FiniteFault
    team : craton.comm.Together, optional
    machine : backend
        Machine on which the stable step is found.
    reuse : craton.methods.waves.reuse.Reuse, optional
        As of `build`.

    Returns
    -------
    Discretisation

    Raises
    ------
    ScenarioError
        Impossible material, layers that meet, an unstable step.
    """
    reuse, options = reuse or Reuse(keep=False), scenario.boundaries.pml
    medium = reuse.get("medium", lambda: build_medium(scenario, prepared, team or SingleRank()))
    frequency = absorbing_layer.frequency_of(sources, options)
    layers = reuse.get("layers", lambda: absorbing_layer.build_layers(medium, frequency, options), frequency)
    element_families = reuse.get("families", lambda: families.arrange_families(medium, layers), id(layers))
    stable = reuse.get("step", lambda: stable_step(medium, element_families, machine), id(element_families))
    refuse(step_problems(scenario, stable.limit))
    dt = timing.time_step(scenario, stable.limit)
    start = timing.start_time(scenario, sources, dt)
    steps = timing.step_count(scenario, start, dt)
    timing.refuse_series(steps, len(sources))
    padding = leapfrog.extra(steps) if scenario.receivers or scenario.recording else 0
    units = fixed_point.choose_units(medium, sources, start + np.arange(steps + padding) * dt, dt)
    return Discretisation(
        **fields_of(medium),
        layers=layers,
        families=element_families,
        stable=stable,
        dt=dt,
        start=start,
        steps=steps + padding,
        extra=padding,
        units=units,
    )


def build_medium(scenario, prepared, team):
    """Return the `Medium` of a rank: its subdomain with the material and the masses of its
    elements; all ranks must call.
    """
    element = Element(scenario.run.degree)
    fluid = ranks.find_fluid_elements(prepared, team)
    owner = ranks.assign_owners(scenario, prepared, fluid, team)
    subdomain, ghosted = build_subdomain(prepared, element, fluid, owner, team)
    size = ghosted.mesh.size, element.size
    moduli = material.moduli_to_keep(scenario, prepared.sampler, *size, team.size)
    scanned = scan_elements(ghosted, prepared.sampler, moduli).select_leading(subdomain.mesh.size, subdomain.state)
    statistics = ranks.combine_statistics(subdomain, scanned)
    relaxation = sampling.relaxation(scenario.model, statistics.loss)
    names = {*subdomain.mesh.faces, *(("top", "bottom") if scenario.domain.globe is None else ())}
    owned, ground = ghosted.owned_by(subdomain), terrain.build(scenario.model)
    medium = Medium(
        **fields_of(owned),
        precision=scenario.run.precision,
        deterministic=scenario.run.assembly == "colour",
        face_kinds={name: scenario.face(name) for name in names},
        not_layered="",
        globe=scenario.domain.globe,
        ground=ground,
        sampler=prepared.sampler,
        subdomain=subdomain,
        statistics=statistics,
        relaxation=relaxation,
        places=places_of(subdomain, owned.fluid, ground, scenario.domain.globe),
    )
    return absorbing_layer.with_default_faces(medium, scenario)


def step_problems(scenario, limit):
    """Return the problem of a given time step beyond the stability limit: list of Problem."""
    step = scenario.time.step
    if step is None or step <= limit:
        return []
    return [
        Problem(
            "time.step",
            f"step = {step:g} s is unstable: the limit is {limit:.4g} s on this mesh and model",
            f"use at most {limit:.4g} s, or leave step out: {timing.time_step_for(limit):.4g} s is chosen then",
        )
    ]


def assemble(d, scenario, sources, receivers, channels, incident=(), reuse=None):
    """Build the plan of a discretised problem.

    Parameters
    ----------
    d : Discretisation
    scenario : craton.SpectralScenario
        Its title, outputs and warnings.
    sources : list of PointSource and FiniteFault
    receivers : craton.survey.receivers.Receivers
    channels : list of Channel
    incident : list of craton.methods.waves.coupling.recorded.Incident
    reuse : craton.methods.waves.reuse.Reuse, optional
        As of `build`.

    Returns
    -------
    Plan
    """
    team, reuse = d.subdomain.team, reuse or Reuse(keep=False)
    of_medium = (id(d.families), d.dt, d.units)
    arrays, elements, edges, exchanges = reuse.get("elements", lambda: elements_of(d), of_medium)
    source_arrays, injections, band = points.sources(d, sources, reuse=reuse)
    incident_arrays, incident_launches, peak = injection.injections(d, incident)
    band = recorded.band_with(band, sources, incident)
    recordings, ring_arrays, ringing = injection.recordings(d, scenario, band)
    slots = timing.slots(d.steps, len(channels))
    channels, gathering, record_arrays, record = reuse.get(
        "recording",
        lambda: points.recording(d, channels, receivers, slots, team),
        (channels, slots, receivers.xyz.tolist()),
    )
    series, peak_arrays, measuring = reuse.get(
        "peaks", lambda: peaks.maps(d, scenario, median_edge(d) / d.element.degree), (d.dt, d.start, d.steps, d.extra)
    )
    arrays = arrays | source_arrays | record_arrays | peak_arrays | incident_arrays | ring_arrays
    injections = [*injections, *incident_launches]
    ending = (*measuring, *ringing, *record)
    recording = Phase("record", tuple(replace(launch, outer=True) for launch in ending))
    phases = (*phases_of(d, injections, elements, edges, exchanges), recording)
    limit, watched, grid = *divergence_guard(d, sources, peak), grid_of(d, scenario.domain)
    plan = Plan(
        title=scenario.title,
        solver="sem_elastic",
        precision=d.precision,
        grid=grid,
        layout=d.state.layout,
        arrays=arrays,
        phases=phases,
        steps=d.steps,
        dt=d.dt,
        start=d.start,
        channels=channels,
        receivers=receivers,
        slots=slots,
        limit=limit,
        watched=watched,
        kinetic=(("velocity", "inverse_mass"), ("pressure", "fluid_inverse_mass")),
        quiet=survey_sources.end_time(sources, incident),
        snapshots=tuple(snapshots.series_of(d, spec, median_edge(d) / d.element.degree) for spec in scenario.snapshots),
        extra=d.extra,
        band=band,
        peaks=tuple(series),
        recordings=tuple(recordings),
        gathering=gathering,
        cells=cells_of(d) if scenario.output.mesh else None,
        elements=identity_of(d, arrays),
    )
    plan.warnings = [
        *scenario.warnings,
        *survey_warnings(scenario, sources, d.start),
        *receivers.warnings,
        *notes.warnings(d, sources),
        *absorbing_layer.warn_inside_layers(
            d, [*((s.name, s.points) for s in sources), *zip(receivers.names, receivers.xyz)]
        ),
        *absorbing_layer.warn_contrasts(d),
        *injection.warnings(d, scenario, incident, sources, receivers),
        *placing.warn_near_sources(sources, receivers, scenario.output.waveforms, grid.spacing),
    ]
    if team.size > 1:
        plan.planning = bytes_of_planning(d, plan)
        return ranks.complete_plan(d, plan)
    plan.weights = ranks.weigh_elements(scenario, d.subdomain.whole, d.fluid)
    plan.planning = bytes_of_planning(d, plan)
    plan.notes = notes.sections(d, plan, sources, scenario, incident)
    return plan


def elements_of(d):
    """Return what of a plan does not depend on sources and receivers: its arrays, the launches of
    elements and of faces, and what ranks exchange.
    """
    elements, edges = {"solid": [], "fluid": []}, []
    arrays = d.state.arrays(d.precision, d.exact) | inverse_mass_arrays(d)
    for family in d.families:
        family_arrays, launch = families.arrays_and_launch(d, family)
        arrays |= family_arrays
        elements["fluid" if family.family.fluid else "solid"].append(launch)
    for edge_arrays, launches in (
        faces.absorbing_faces(d),
        faces.rigid_points(d, d.units),
        faces.coupling(d, d.units),
        absorbing_layer.friction_points(d),
        absorbing_layer.coupling(d),
    ):
        arrays |= edge_arrays
        edges.append(launches)
    shared_arrays, exchanges = exchange_arrays(d)
    return arrays | shared_arrays, elements, edges, exchanges


def identity_of(d, arrays):
    """Return the `ElementIdentity` of the owned elements.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of the plan.
    """
    numbers, centres, fields = {}, {}, {}
    for arranged in d.families:
        name, order = arranged.family.name, arranged.order
        rows = order.arrange(d.subdomain.numbers.astype(np.int64))
        numbers[name] = np.where(order.elements < 0, -1, rows)
        centres[name] = order.arrange(d.centres).astype(np.float32)
        fields[name] = tuple(FLUID if arranged.family.fluid else SOLID)
    lowpass = {name: spec.shape[0] for name, spec in arrays.items() if name.endswith("_lowpass")}
    tables = {
        name: (name.removesuffix("lowpass") + "points", "velocity" if n == 3 else "potential_rate")
        for name, n in lowpass.items()
    }
    return ElementIdentity(numbers, centres, fields, tables)


def median_edge(d):
    """Return the median edge, m, of the elements of the whole mesh; of a chunk of the Earth, that
    of its design, which all ranks know.
    """
    return meshing.edges(d.subdomain.whole)[1] if d.globe is None else earth_chunk.middle_edge(d.globe.chunk)


def inverse_mass_arrays(d):
    """Return the arrays of inverse masses; the inverse mass of the dummy point is 0."""
    arrays = {}
    for name, mass in zip(("inverse_mass", "fluid_inverse_mass"), d.statistics.mass):
        if len(mass):
            inverse = np.zeros(len(mass) + 1, d.precision)
            np.divide(1.0, mass, out=inverse[:-1], casting="same_kind")
            arrays[name] = Array("material", inverse.shape, d.precision, inverse)
    return arrays


def exchange_arrays(d):
    """Return arrays and, for each medium, the exchange that completes its forces at points of
    several ranks.
    """
    arrays, exchanges, dtype = {}, {}, "int64" if d.exact else d.precision
    for medium, field, components in (("solid", "force", 3), ("fluid", "potential_force", 1)):
        medium_arrays, exchanges[medium] = d.subdomain.shared[medium].exchange(field, components, dtype, d.exact)
        arrays |= medium_arrays
    return arrays, exchanges


def phases_of(d, injections, elements, edges, exchanges):
    """Return the phases of a step: the fluid from the solid's displacement, the solid with the
    fluid's pressure, the update of both.

    The fluid's accelerations must be complete before the solid's forces are, and are used up when
    the fluid is updated. Neighbours' contributions are added before absorbing and rigid faces act.
    Every rank has the same phases, empty ones too.
    """
    absorbing, rigid, coupling, layers, coupling_in_layers = edges
    coupling = {medium: [*coupling[medium], *coupling_in_layers[medium]] for medium in coupling}
    phases = []
    if d.subdomain.media[1]:
        phases.append(phase("fluid", [*injections, *coupling["fluid"]], elements["fluid"], exchanges["fluid"]))
        phases.append(phase("fluid faces", [*layers["fluid"], *absorbing["fluid"], *rigid["fluid"]]))
        injections = []
    if d.subdomain.media[0]:
        phases.append(phase("solid", [*injections, *coupling["solid"]], elements["solid"], exchanges["solid"]))
    return (*phases, phase("step", [*layers["solid"], *absorbing["solid"], *rigid["solid"], *updates(d)]))


def phase(name, launches, elements=(), exchange=None):
    """Return a phase: the elements that neighbours wait for, other launches that add to points,
    then the remaining elements.
    """
    outer = [launch for launch in elements if launch.outer] + [replace(launch, outer=True) for launch in launches]
    return Phase(name, (*outer, *(launch for launch in elements if not launch.outer)), **(exchange or {}))


def updates(d):
    """Yield the launches that update both media by one time step."""
    for op, count, components in ((operators.update(), d.state.solid, 3), (operators.fluid_update(), d.state.fluid, 1)):
        if count:
            yield d.units.launch(
                Launch(op, op.arrays, (0, 1, 0, 1, 0, components * (count + 1)), {"dt": d.dt}), components == 1, 2
            )


def divergence_guard(d, sources, peak=0.0):
    """Return the value above which the wavefield has diverged, and the field that is watched:
    velocity, or pressure where all is fluid.

    The limit is a thousand times what all sources, each within one element, could cause, and
    incident waves of a `peak` velocity.
    """
    times, total = d.start + np.arange(d.steps) * d.dt, peak
    for s in sources:
        impulse = np.abs(s.wavelet(times)).sum() * d.dt
        strength = (
            np.abs(s.force).max() if s.force is not None else largest_moment(s) / d.statistics.speeds["slowest"][0]
        )
        total += impulse * strength / (d.statistics.speeds["rho"][0] * d.statistics.smallest)
    watched, scale = (
        ("velocity", 1.0)
        if d.state.solid
        else ("pressure", d.statistics.speeds["rho"][0] * d.statistics.speeds["vp"][1])
    )
    return (float(DIVERGENCE_LIMIT * scale * total) if total > 0 else np.inf), (watched,)


def grid_of(d, domain):
    """Return the `ElementGrid` that messages use to describe the points."""
    shortest, median, longest = meshing.edges(d.mesh)
    from_file_or_globe = domain.mesh is not None or domain.chunk is not None
    watched = [arranged for arranged in d.families if arranged.family.fluid != bool(d.state.solid)]
    return ElementGrid(
        d.mesh.size,
        d.element.degree,
        d.state.solid + d.state.fluid,
        shortest,
        median,
        longest,
        from_file_or_globe,
        tuple(table_of(d, arranged) for arranged in watched),
    )


def table_of(d, arranged):
    """Return the `ElementTable` of an `ArrangedFamily`: its arrays, which are not copied, and
    centres.
    """
    points, shapes = (arranged.arrays[f"{arranged.family.name}_{name}"].data for name in ("points", "geometry"))
    return ElementTable(points, shapes, arranged.order.arrange(d.centres))


def cells_of(d):
    """Return the `Cells` of a mesh, which is whole here, for its file."""
    values = {name: d.statistics.constant[name] for name in ("vp", "vs", "rho")}
    # Hz, at 5 points a wavelength
    values["highest frequency"] = d.statistics.quality.points(1.0) / 5
    return Cells(d.mesh.nodes, d.mesh.elements, d.mesh.regions, d.mesh.faces, values)


def most_elements(degree, ranks=1):
    """Return the elements of a box whose plan fits into the memory that is free, or None where that
    is not known.

    Each rank has the corners, their numbers and centres of all elements; of its own ones the
    numbers of points, in the mesh and as the kernels take them, masses and three fields.
    """
    free = available()
    if free is None:
        return None
    bytes_of_points = 2 * 4 * (degree + 1) ** 3 + (8 + 3 * 3 * 4) * degree**3  # of an element that a rank owns
    return int(free / (ranks * MESH_BYTES + bytes_of_points))


def bytes_of_planning(d, plan):
    """Return the most bytes of arrays that were held while a plan was made: in the search for the
    stable step, or at the end.

    Parameters
    ----------
    d : Discretisation
    plan : Plan
    """
    return max(d.stable.nbytes, array_bytes(d, plan.held))
