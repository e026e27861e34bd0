"""Shared by the tests of spectral elements' sources and receivers: bricks of elements and what point tables need to know of a problem."""

import tomllib
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import smallcase

from craton.methods.spectral_element import ranks
from craton.methods.spectral_element.equations.state import State
from craton.methods.spectral_element.mesh import mesh_statistics, mesh_terms
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.spectral_element.mesh.placing import Places
from craton.methods.waves.exchange import SingleRank
from craton.model.media.sampling import at_nodes
from craton.model.mesh import numbering, shape
from craton.model.mesh.hexmesh import HexMesh, named_by_place

SMALL = tomllib.loads(smallcase.TEXT) | {"method": "sem"}


def hexahedra(axes):
    """Places (nz, ny, nx, 3) of a lattice, and its elements: the numbers of eight places each."""
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    ids, (nz, ny, nx) = np.arange(x.size).reshape(x.shape), (n - 1 for n in x.shape)
    corners = [ids[c : nz + c, b : ny + b, a : nx + a].ravel() for c in (0, 1) for b in (0, 1) for a in (0, 1)]
    return np.stack([x, y, z], axis=-1), np.stack(corners, axis=1)


def brick(counts=(3, 2, 2), size=(300.0, 200.0, 200.0), moved=0.0, order=1, bump=0.0, seed=1):
    """A brick of hexahedra from (0, 0, -size z) to (size x, size y, 0), inner corners `moved` by that part of an edge, its top bent up."""
    axes = [np.linspace(0, length, n + 1) for n, length in zip(counts, size)]
    places, elements = hexahedra((axes[0], axes[1], axes[2] - size[2]))
    inner, edges = places[1:-1, 1:-1, 1:-1], np.array(size) / counts
    inner += moved * edges * np.random.default_rng(seed).uniform(-0.5, 0.5, inner.shape)
    mesh = HexMesh(places.reshape(-1, 3), elements)
    mesh = mesh.elevated() if order == 2 else mesh
    nodes = mesh.nodes.copy()
    nodes[:, 2] += bump * np.sin(3 * nodes[:, 0] / size[0]) * (1 + nodes[:, 2] / size[2])
    mesh = replace(mesh, nodes=nodes)
    return replace(mesh, faces=named_by_place(mesh))


@dataclass
class Toy:
    """A discretised problem as `craton.methods.spectral_element.sites` wants it; solid and fluid points are numbered apart."""

    mesh: HexMesh
    model: object
    degree: int = 4
    fluid_elements: np.ndarray = None
    precision: str = "float64"
    dt: float = 1e-3
    start: float = 0.0
    steps: int = 100
    extra: int = 0
    spacing: float = 20.0
    element: Element = field(init=False)

    def __post_init__(self):
        self.element = Element(self.degree)
        self.fluid = np.zeros(self.mesh.size, bool) if self.fluid_elements is None else self.fluid_elements
        points = numbering.number(self.mesh.elements, self.degree).points.reshape(self.mesh.size, -1)
        self.points, self.counts = np.zeros_like(points), {}
        for name, some in (("solid", ~self.fluid), ("fluid", self.fluid)):
            own, numbers = np.unique(points[some], return_inverse=True)
            self.points[some], self.counts[name] = numbers.reshape(-1, points.shape[1]), len(own)
        self.state = State(self.counts["solid"], self.counts["fluid"])
        self.size = max(start + points * components for start, points, components in self.state.fields.values())
        self.places = Places(self.mesh, self.fluid)
        local, self.centres = mesh_terms.relative(self.mesh.elevated().nodes[self.mesh.elevated().elements])
        edges, _, self.shapes, _ = mesh_statistics.shape_statistics(local)
        self.statistics = SimpleNamespace(edges=edges)
        numbers, bounds = np.arange(self.mesh.size), self.mesh.bounds()
        self.subdomain = SimpleNamespace(team=SingleRank(), numbers=numbers, bounds=bounds)

    @property
    def end(self):
        """Time at which the run ends."""
        return self.start + self.steps * self.dt

    def offset(self, name):
        """Start of a field in the state."""
        return self.state.offset(name)

    def coordinates(self, e):
        """Coordinates of the nodes of elements."""
        return shape.positions(self.mesh.nodes, self.mesh.elements[e], self.element.points).transpose(0, 2, 1)

    def material(self, e, nodes=slice(None)):
        """The model there."""
        return at_nodes(self.model, self.coordinates(e)[:, :, nodes], self.mesh.centroids()[e])

    def locate(self, xyz, prefer_fluid=False, **more):
        """Positions in the mesh."""
        return self.places.locate(xyz, prefer_fluid, **more)

    def elements_holding(self, xyz):
        """All elements that hold positions."""
        return ranks.elements_holding(self.places, self.locate(xyz), xyz, SingleRank())

    def filled(self, **fields):
        """The state with fields given as functions of x, y, z: three components of the solid's, one of the fluid's."""
        out, every = np.zeros(self.size), np.arange(self.mesh.size)
        for name, function in fields.items():
            some = every[self.fluid] if name.startswith(("potential", "pressure")) else every[~self.fluid]
            values = np.asarray(function(*self.coordinates(some).swapaxes(0, 1)))
            components = values if values.ndim == 3 else values[None]
            for c, component in enumerate(components):
                out[self.offset(name) + len(components) * self.points[some] + c] = component
        return out
