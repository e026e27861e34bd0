"""The mesh of a scenario with its model as a `craton.methods.waves.problem.Domain`; each rank has the elements that it owns."""

from dataclasses import replace
from functools import partial

import numpy as np

from craton.errors import refuse_all
from craton.memory import available
from craton.methods.protocol import Reuse
from craton.methods.spectral_element import greens, ranks
from craton.methods.spectral_element.discretisation import Discretisation, Medium, fields_of, places_of
from craton.methods.spectral_element.equations import absorbing_layer, material, state
from craton.methods.spectral_element.equations.time_step import stable_step
from craton.methods.spectral_element.mesh import families, placing
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.spectral_element.mesh.mesh_statistics import scan_elements
from craton.methods.spectral_element.mesh.subdomain import build_subdomain, mesh_bounds
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import times
from craton.model.ground import terrain
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import hexmesh, meshing
from craton.model.mesh.hexmesh import Prepared
from craton.model.mesh.ordering import locality

MESH_BYTES = 120  # of an element in a mesh of corners, at least


class MeshDomain:
    """The mesh of a scenario with its model; see `Domain`. All ranks must make it.

    Parameters
    ----------
    scenario : SpectralScenario
    prepared : Prepared, optional
        Mesh and model that replace those of the scenario.
    team : Together, optional
    machine : Machine, optional
        Where operators are applied to find the stable step.
    reuse : Reuse, optional
    """

    method = "sem"

    def __init__(self, scenario, prepared=None, team=None, machine=None, reuse=None):
        self.team, self.machine, self.reuse = team or SingleRank(), machine, reuse or Reuse(keep=False)
        ranks.refuse_mesh(scenario, self.team)
        tables, self.prepared, top = self.reuse.get("mesh", partial(mesh_and_tables, scenario, prepared, self.team))
        self.scenario = scenario.model_copy(update=tables).on_mesh(*self.prepared.bounds, top)
        self.values = partial(placing.medium, self.prepared)

    def problems(self):
        """Nothing is wrong yet: the mesh has been checked while it was made."""
        return []

    def in_media(self, sources):
        """Return the sources with explosions on the floor of a sea in the water."""
        return placing.in_media(self.scenario, sources)

    def discretise(self, scenario, sources, waves):
        """Return the `ElementSpace` with its time step, and let go of the mesh, which is as large as that of the space; all ranks must
        call.
        """
        prepared, self.prepared, self.values = self.prepared, None, None
        return ElementSpace(discretise(scenario, prepared, sources, self.team, self.machine, self.reuse), self.machine)

    def volume(self, low, high, stations, impulse):
        """Return the `ElementVolume` between two corners, and list of Problem."""
        medium, layers = build_medium(self.scenario, self.prepared, self.team), None
        if impulse is not None:
            options = self.scenario.boundaries.pml
            layers = absorbing_layer.build_layers(medium, options.frequency or impulse.peak_frequency, options)
        return greens.volume_of(medium, low, high, stations, layers)


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
        refuse_all(sampling.problems(scenario.model, box))
    mesh = meshing.mesh_of(scenario, most_elements(scenario.run.degree, team.size))
    team.every(lambda: refuse_all(hexmesh.problems(mesh, scenario.run.degree)) if team.rank == 0 else None)
    region = Region(*map(tuple, mesh.bounds()))
    if box is None:
        refuse_all(sampling.problems(scenario.model, region, mesh.region_names))
    return Prepared(mesh.reordered(locality(mesh)), sampling.sampler(scenario.model, region, mesh.region_names))


def discretise(scenario, prepared, sources, team=None, machine=None, reuse=None):
    """Discretise a scenario: elements, material, absorbing layers and time step; all ranks must
    call.

    Parameters
    ----------
    scenario : craton.SpectralScenario
        On the mesh, see `placing.place_on_mesh`.
    prepared : craton.model.mesh.hexmesh.Prepared
    sources : list of PointSource and FiniteFault
    team : craton.comm.Together, optional
    machine : backend
        Machine on which the stable step is found.
    reuse : craton.methods.protocol.Reuse, optional
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
    frequency = options.frequency or max((s.wavelet.peak_frequency for s in sources), default=0.0)
    layers = reuse.get("layers", lambda: absorbing_layer.build_layers(medium, frequency, options), frequency)
    element_families = reuse.get("families", lambda: families.arrange_families(medium, layers), id(layers))
    stable = reuse.get("step", lambda: stable_step(medium, element_families, machine), id(element_families))
    span = times(scenario, sources, stable.limit, "mesh")
    instants = span["start"] + np.arange(span["steps"]) * span["dt"]
    units = state.choose_units(medium, sources, instants, span["dt"])
    return Discretisation(
        **fields_of(medium), layers=layers, families=element_families, stable=stable, units=units, **span
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
