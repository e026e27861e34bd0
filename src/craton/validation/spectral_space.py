"""Spectral elements in a homogeneous full space: boxes and distorted curved elements, degrees 3 to 7, against Aki & Richards (2002)."""
import math

import numpy as np

from craton import wave_runs
from craton.backends import backend
from craton.model import meshing
from craton.scenario import SpectralScenario
from craton.solvers.sem_elastic.build import build
from craton.validation.compare import misfit, row
from craton.validation.homogeneous import ONE_PERCENT, RHO, VP, VS, exact, source_table

WAVELENGTH = 1000.0  # m, of S waves at the frequency where the Ricker's spectrum is 1 % of its peak
FREQUENCY = VS / WAVELENGTH / ONE_PERCENT  # Hz
PULSE = 1.0 / FREQUENCY  # s, half the pulse: 1e-3 of its peak is left then
MOST_DISTORTED = 0.15  # of an edge
SOURCE = np.array([30.0, -70.0, 50.0])  # off the nodes
DIRECTIONS = ((1, 0.03, 0.02), (1, 1, 1), (1, 0.6, 0.2), (0.3, 1, 0.8))


def places_at(distances):
    """Receivers in some directions, each at one of the distances, wavelengths."""
    units = [np.array(d) / np.linalg.norm(d) for d in DIRECTIONS]
    return [SOURCE + WAVELENGTH * r * u for r in distances for u in units]


def scenario_of(source, distances, points, degree, **run):
    """Elements of `points` GLL points per wavelength around the source; at the end of each window no face has answered yet."""
    places = places_at(distances)
    spacing = WAVELENGTH * degree / points
    far = VP * (max(distances) * WAVELENGTH / VS + 2 * PULSE)  # way of a P wave by a face within the window
    low, high = np.min([SOURCE, *places], axis=0), np.max([SOURCE, *places], axis=0)
    border = (far - (high - low).max()) / 2
    count = np.ceil((high - low + 2 * border) / spacing)
    origin = (low + high) / 2 - count * spacing / 2
    return SpectralScenario(
        domain={"origin": origin.tolist(), "size": (count * spacing).tolist(), "spacing": spacing},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": max(distances) * WAVELENGTH / VS + PULSE, "start": -1.4 * PULSE},
        boundaries={"top": "stacey", "others": "stacey"},
        source=[source_table(source, SOURCE, FREQUENCY)],
        receivers=[{"name": f"R{n}", "at": x.tolist()} for n, x in enumerate(places)],
        run={"degree": degree, **run},
    )


def ran(scenario, device, mesh=None):
    """The dataset of a run, perhaps on a mesh of one's own."""
    planned, machine = build(scenario, mesh), backend(device)
    wave_runs.check_memory(planned, machine)
    return wave_runs.run(scenario, planned, machine, progress=False).dataset


def distorted(scenario, share=MOST_DISTORTED, seed=5):
    """The mesh of a scenario with 27 nodes an element, each node within it moved at random along x, y, z, by at most so much of an edge."""
    from dataclasses import replace

    mesh = meshing.mesh_of(scenario).elevated()
    low, high = mesh.bounds()
    inside = ((mesh.nodes > low + 1e-6) & (mesh.nodes < high - 1e-6)).all(axis=1)
    moves = np.random.default_rng(seed).uniform(-1, 1, mesh.nodes.shape) * share * scenario.domain.spacing * inside[:, None]
    return replace(mesh, nodes=mesh.nodes + moves)


def misfits(source, distances, data):
    """Relative L2 misfit of velocity at each receiver, from the start to the end of the S wave there."""
    t, found = data.time.values, []
    for place, velocity in zip(places_at(distances), data.velocity.values):
        inside = t <= np.linalg.norm(place - SOURCE) / VS + PULSE
        wanted = exact(source, place, SOURCE, FREQUENCY, t[inside])
        found.append(misfit(velocity[:, inside], wanted))
    return np.array(found).reshape(len(distances), -1)
