"""Shared by the cases of spectral elements: scenarios of finite differences made theirs, runs on
distorted meshes, from initial states.
"""

from dataclasses import replace

import numpy as np

from craton.backends import backend
from craton.comm.local import Alone
from craton.comm.placement import planner
from craton.driver import waves
from craton.methods.spectral_element.build import MeshDomain, discretise
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.problem import Setup, assemble, build
from craton.methods.waves.ranks.sharing import SingleRank
from craton.methods.waves.reuse import Reuse
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import meshing
from craton.model.mesh.ordering import locality
from craton.model.mesh.prepared import Prepared
from craton.scenario import SpectralScenario
from craton.survey import channels as survey_channels
from craton.survey import receivers as survey_receivers

MOST_MOVED, MOST_CURVED = 0.15, 0.03  # of an edge
# `prepared` leaves it out
UNUSED = {"kind": "explosion", "at": [0, 0, 0], "moment": 1.0, "wavelet": {"kind": "ricker", "frequency": 1}}


def by_elements(scenario, spacing, degree=4, box=None, run=None, absorbing="stacey"):
    """Return a scenario of finite differences by spectral elements, absorbing faces in place of
    CPML.

    Parameters
    ----------
    scenario : Scenario
    spacing : float
        Edge of the elements, m.
    degree : int
    box : (origin, size), optional
        In place of the scenario's.
    run : dict, optional
        Keys of its table.
    absorbing : str
        Kind of the faces that absorb: "stacey", "pml".
    """
    tables = scenario.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    origin, size = box or (scenario.domain.origin, scenario.domain.size)
    kinds = {name: kind for name, kind in tables.get("boundaries", {}).items() if isinstance(kind, str)}
    faces = {"others": absorbing} | {name: absorbing if kind == "cpml" else kind for name, kind in kinds.items()}
    kept = {key: value for key, value in tables.get("run", {}).items() if key in ("precision", "device", "threads")}
    changed = {
        "method": "sem",
        "domain": {"origin": list(origin), "size": list(size), "element_size": spacing},
        "boundaries": faces,
        "run": kept | {"degree": degree} | (run or {}),
    }
    return SpectralScenario(**tables | changed)


def grown(low, high, border, spacing, top=None):
    """Origin and size of a box of whole elements around two corners; up to `top` where there is
    one.
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    count = np.ceil((high - low + 2 * border) / spacing - 1e-9)
    origin = (low + high) / 2 - count * spacing / 2
    if top is not None:
        origin[2], count[2] = (
            top - np.ceil((top - low[2] + border) / spacing) * spacing,
            np.ceil((top - low[2] + border) / spacing),
        )
    return origin.tolist(), (count * spacing).tolist()


def given(scenario, mesh):
    """Return a mesh of one's own, None for none."""
    if mesh is None:
        return None
    sampler = sampling.sampler(scenario.model, Region(*map(tuple, mesh.bounds())), mesh.region_names)
    return Prepared(mesh.reordered(locality(mesh)), sampler)


def ran(scenario, device, mesh=None):
    """Return the dataset of a run, perhaps on a mesh of one's own."""
    planned, machine = build(MeshDomain(scenario, given(scenario, mesh), machine=planner())), backend(device)
    waves.check_memory(planned, machine)
    return waves.compute(scenario, planned, machine.commit(planned), Alone(), progress=False).finished().dataset


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
    return replace(
        mesh, nodes=mesh.nodes + np.random.default_rng(seed).uniform(-most, most, mesh.nodes.shape) * inside[:, None]
    )


# --- from an initial state ------------------------------------------------------------------------


def prepared(scenario, mesh=None):
    """Return the Discretisation and the Plan of a scenario without sources."""
    own, receivers = (
        given(scenario, meshing.mesh_of(scenario) if mesh is None else mesh),
        survey_receivers.build(scenario),
    )
    d = discretise(scenario, own, [], SingleRank(), planner())
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
    result = waves.march(scenario, begun(planned, device, fields), None, False, Alone()).finished()
    return result.samples[: planned.steps - planned.extra].astype(float)
