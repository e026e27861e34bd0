"""Cases of `craton bench sem`: boxes of elements with Stacey faces and a free surface."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from craton.methods.protocol import BenchCase
from craton.methods.spectral_element.build import MeshDomain
from craton.methods.spectral_element.options import SpectralScenario
from craton.methods.waves.problem import build
from craton.model.media import sampling
from craton.model.mesh import meshing, ordering
from craton.model.mesh.hexmesh import Prepared

EDGE = 100.0  # of an element, m
MOVED = 0.15  # of an edge: how far inner nodes of an irregular mesh move along each axis, at most
SIZES, LARGE = {"cpu": (24, 24, 16)}, (96, 96, 36)  # elements along x, y, z
TOP = {"vp": 3000, "vs": 1700, "rho": 2000}
BOTTOM = {"vp": 4000, "vs": 2300, "rho": 2400}
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
VARYING = {"vp_gradient": 0.02, "vs_gradient": 0.01}  # per second: no two nodes along z alike
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
LOSS = {"qp": 80, "qs": 40}
CASES = {  # title: properties of both layers, irregular, water in the upper quarter
    "irregular, material of each element": ({}, True, False),
    "irregular, material at each node": (VARYING, True, False),
    "cubes, material of each element": ({}, False, False),
    "cubes, material at each node": (VARYING, False, False),
    "irregular, 21 constants of each element": (THOMSEN, True, False),
    "irregular, 21 constants at each node": (VARYING | THOMSEN, True, False),
    "irregular, attenuation of each element": (LOSS, True, False),
    "irregular, attenuation at each node": (VARYING | LOSS, True, False),
    "irregular, water over rock": ({}, True, True),
}


@dataclass(frozen=True)
class Box:
    """Elements of two layers, with a force in the lower one and one receiver.

    Parameters
    ----------
    title : str
    shape : tuple of int
        Elements along x, y, z.
    medium : dict
        Properties of both layers besides their speeds and density.
    irregular : bool
        Inner nodes are moved at random; else the elements are cubes.
    water : bool
        The upper quarter is water.
    """

    title: str
    shape: tuple
    medium: dict
    irregular: bool = True
    water: bool = False

    def scenario(self, **tables):
        """Return the scenario; `tables` replace its own."""
        x, y, z = (EDGE * n for n in self.shape)
        depth = EDGE * (self.shape[2] // (4 if self.water else 2))
        top = WATER if self.water else TOP | self.medium
        layers = [{"top": 0} | top, {"top": -depth} | BOTTOM | self.medium]
        loss = {"attenuation": {"band": [1, 20]}} if "qp" in self.medium else {}  # three mechanisms
        place, ricker = [x / 2, y / 2, -0.75 * z], {"kind": "ricker", "frequency": 5}
        kept = {
            "title": self.title,
            "domain": {"origin": [0, 0, -z], "size": [x, y, z], "element_size": EDGE},
            "model": {"kind": "layers", "layers": layers} | loss,
            "time": {"duration": 1000},
            "receivers": [{"name": "R", "at": place}],
            "source": [{"kind": "force", "at": place, "force": [0, 0, 1e9], "wavelet": ricker}],
        }
        return SpectralScenario(**kept | tables)

    def plan(self, machine):
        """Return the plan, which a machine's operators help to make."""
        scenario = self.scenario()
        mesh = irregular(scenario) if self.irregular else None
        return build(MeshDomain(scenario, mesh, machine=machine))


def cases(device):
    """Return the cases for a machine of that name."""
    shape = SIZES.get(device, LARGE)
    boxes = [Box(title, shape, *properties) for title, properties in CASES.items()]
    return [case_of(box) for box in boxes]


def case_of(box):
    """Return the case of a box, counted in elements."""
    return BenchCase(box.scenario(), box.plan, partial(figures, box.shape), "elements")


def figures(shape, plan, seconds):
    """Return number of elements, memory and rate of an element."""
    elements = plan.grid.elements
    memory = {"shape_xyz": shape, "bytes_per_element": plan.nbytes / elements}
    return memory | {"elements": elements, "elements_per_second": elements / seconds}


def irregular(scenario, moved=MOVED, seed=1):
    """Return the mesh of a scenario with inner nodes moved at random, and its model there: Prepared."""
    mesh, region = meshing.mesh_of(scenario), meshing.region_of(scenario)
    levels = [level for level in meshing.interfaces_of(scenario) if not callable(level)]
    low, high = (np.array(bound) for bound in (region.lower, region.upper))
    margin = 1e-6 * EDGE
    inner = ((mesh.nodes > low + margin) & (mesh.nodes < high - margin)).all(axis=1)
    for level in levels:
        inner &= np.abs(mesh.nodes[:, 2] - level) > margin
    nodes, random = mesh.nodes.copy(), np.random.default_rng(seed)
    nodes[inner] += moved * EDGE * random.uniform(-1, 1, (int(inner.sum()), 3))
    mesh = replace(mesh, nodes=nodes).elevated()
    return Prepared(mesh.reordered(ordering.locality(mesh)), sampling.sampler(scenario.model, region))
