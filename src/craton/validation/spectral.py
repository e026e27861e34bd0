"""Runs of spectral elements on meshes of one's own, distorted ones among them, and from initial states."""

from dataclasses import replace

import numpy as np

from craton.backends import backend
from craton.comm.placement import planner
from craton.driver import waves
from craton.driver.job import Job
from craton.methods.protocol import Reuse
from craton.methods.spectral_element.build import MeshDomain, discretise
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import Setup, assemble, build
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import meshing
from craton.model.mesh.hexmesh import Prepared
from craton.model.mesh.ordering import locality
from craton.scenario import SpectralScenario
from craton.survey import channels as survey_channels
from craton.survey import receivers as survey_receivers

MOST_MOVED, MOST_CURVED = 0.15, 0.03  # of an edge
UNUSED = {"kind": "explosion", "moment": 1.0, "wavelet": {"kind": "ricker", "frequency": 1}}  # `prepared` leaves it out


def with_model(scenario, mesh):
    """Return the `Prepared` of a mesh of one's own and the model of a scenario."""
    sampler = sampling.sampler(scenario.model, Region(*map(tuple, mesh.bounds())), mesh.region_names)
    return Prepared(mesh.reordered(locality(mesh)), sampler)


def run_on_mesh(scenario, device, mesh):
    """Run on a mesh of one's own and return the Result."""
    planned, machine = build(MeshDomain(scenario, with_model(scenario, mesh), machine=planner())), backend(device)
    waves.check_memory(planned, machine)
    return waves.compute(Job(scenario, planned, machine, progress=False), machine.commit(planned)).finished()


def distorted(scenario, seed=5):
    """Return the mesh of a scenario with 27 nodes an element: inner corners moved at random along
    x, y and z by up to 15 % of an edge, then all
    inner nodes by up to 3 %, which curves edges and faces.
    """
    mesh = moved(meshing.mesh_of(scenario), MOST_MOVED * scenario.domain.element_size, seed).elevated()
    return moved(mesh, MOST_CURVED * scenario.domain.element_size, seed + 1)


def moved(mesh, most, seed):
    """Return a mesh whose inner nodes are moved at random by up to so much along each axis."""
    low, high = mesh.bounds()
    inside = ((mesh.nodes > low + 1e-6) & (mesh.nodes < high - 1e-6)).all(axis=1)
    moves = np.random.default_rng(seed).uniform(-most, most, mesh.nodes.shape)
    return replace(mesh, nodes=mesh.nodes + moves * inside[:, None])


# --- from an initial state ------------------------------------------------------------------------


def without_source(tables):
    """Return the scenario of tables that have no source."""
    box = tables["domain"]
    middle = [low + size / 2 for low, size in zip(box["origin"], box["size"])]
    return SpectralScenario(**tables, source=[UNUSED | {"at": middle}])


def prepared(scenario, mesh=None):
    """Return the Discretisation and the Plan of a scenario without sources."""
    receivers = survey_receivers.build(scenario)
    on_mesh = with_model(scenario, meshing.mesh_of(scenario) if mesh is None else mesh)
    d = discretise(scenario, on_mesh, [], SingleRank(), planner())
    channels = survey_channels.channels(len(receivers), scenario.output.waveforms)
    return d, assemble(Setup(ElementSpace(d), scenario, [], receivers, channels, []), Reuse(keep=False))


def positions(d, fluid=False):
    """Coordinates of the points of a medium, m; zeros for the dummy point: (N + 1, 3)."""
    out = np.zeros(((d.state.fluid if fluid else d.state.solid) + 1, 3))
    elements = np.flatnonzero(d.fluid == fluid)
    out[d.points[elements]] = d.coordinates(elements).transpose(0, 2, 1)
    return out


def begun(planned, device, fields):
    """Return a program whose fields have values: dict of name to array (N + 1, ...)."""
    program = backend(device).commit(planned)
    with program.backend.work():
        for name, values in fields.items():
            array = program.arrays[name]
            array[...] = program.backend.xp.asarray(values.reshape(array.shape), dtype=array.dtype)
    return program


def recorded(scenario, planned, device, fields):
    """Return samples (steps, channels) of a run from an initial state, as the scheme has them."""
    program = begun(planned, device, fields)
    result = waves.march(Job(scenario, planned, program.backend, progress=False), program).finished()
    return result.samples[: planned.steps - planned.extra].astype(float)
