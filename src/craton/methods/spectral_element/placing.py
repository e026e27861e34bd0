"""A scenario's positions on its mesh: depths below its top, positions that the top misses by little, both sides of a sea floor."""
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.model.globe import earth_chunk
from craton.model.globe.chunk_sampler import ChunkSampler
from craton.model.ground import terrain
from craton.model.mesh import locate
from craton.model.mesh.hexmesh import named_by_place
from craton.survey import globe, receivers, sources

ON_FACE = 1e-6  # of the reference coordinates
SLANTED = 0.05  # of the distance to a curved top, by which the way to it may be off the vertical
CLOSE, FAR = 2, 4  # elements from a point moment, within which velocity, or its derivatives, are off by more than some per cent


@dataclass(frozen=True, eq=False)
class Places:
    """Finds positions in a mesh.

    Parameters
    ----------
    mesh : HexMesh
        In the order of elements that the solver has.
    fluid : (ne,) bool array
    ground : Terrain or None
        Of a model with topography: a position that is not above it is in the mesh, even where the mesh's top lies lower.
    whole : HexMesh, optional
        The mesh whose top counts, where `mesh` is a rank's part of it.
    order : (ne,) int array, optional
        Of several elements that have a position the one with the lowest number here takes it; by default the order of the mesh.
    globe : Globe or None
        Of a chunk of the Earth: a position in the chunk is in its mesh, even where elements of 27 nodes do not quite reach.
    team : Together, optional
        Ranks of whose meshes the top is put together, as none has the whole.
    """

    mesh: Any
    fluid: np.ndarray
    ground: Any = None
    whole: Any = None
    order: Any = None
    globe: Any = None
    team: Any = None

    @cached_property
    def every(self):
        """Locator of all elements."""
        return locate.Locator(self.mesh)

    @cached_property
    def top(self):
        """The top of the mesh."""
        own = mesh_top(self.mesh if self.whole is None else self.whole)
        return own if self.team is None else JoinedTop(own, self.team)

    def find_elements(self, locator, xyz, nearest):
        """The `Located` by a locator, in the lowest element of several; in any of them where the nearest is not asked for (pictures)."""
        found = locator.find(xyz, nearest)
        return locator.lowest(found, xyz, np.arange(self.mesh.size) if self.order is None else self.order) if nearest else found

    def locate(self, xyz, wet=False, nearest=True):
        """The `Located` of positions (n, 3), m; between a solid and a fluid in the fluid if `wet`, else in the solid.

        Without `nearest` positions outside are just that: neither put on the top nor told the nearest element.
        """
        xyz = np.asarray(xyz, float).reshape(-1, 3)
        found = self.find_elements(self.every, xyz, nearest)
        found = self._project_to_top(xyz, found) if nearest else found
        return self._move_to_medium(xyz, found, wet, nearest) if self.fluid.any() and not self.fluid.all() else found

    def _project_to_top(self, xyz, found):
        """Positions a little above the mesh's top are put on it."""
        out = np.flatnonzero(found.element < 0)
        if not len(out):
            return found
        if self.globe is not None:
            own = out[self._is_just_outside(found.some(out), xyz[out])]
            return _replace_rows(found, own, replace(found.some(own), element=found.nearest[own]))
        x, y, z = xyz[out].T
        top = self.top.surface(x, y)
        highest = self.top.top(x, y)
        if self.ground is not None:
            ground = self.ground.top(x, y)
            highest = np.fmax(highest, ground + 1e-6 * (1 + np.abs(ground)))
        near = out[(z > top) & (z <= highest)]
        if not len(near):
            return found
        put = xyz[near].copy()
        put[:, 2] = self.top.surface(put[:, 0], put[:, 1])
        again = self.find_elements(self.every, put, True)
        return _replace_rows(found, near, again)

    def _is_just_outside(self, found, xyz):
        """Which positions outside the mesh are in the chunk, right above or below the element nearest to them."""
        nodes = self.mesh.nodes[self.mesh.elements[found.nearest]]
        size = np.linalg.norm(np.ptp(nodes, axis=1), axis=1)
        off = xyz - self.every.cells.at(found.nearest, found.local)
        up = xyz / np.linalg.norm(xyz, axis=1, keepdims=True)
        lateral = np.linalg.norm(off - (off * up).sum(axis=1, keepdims=True) * up, axis=1)
        near = (found.distance <= locate.ROOM * size) & (lateral <= SLANTED * found.distance + ON_FACE * size)
        return near & self.globe.chunk.inside(xyz)

    def _move_to_medium(self, xyz, found, wet, nearest):
        """Positions on a face between solid and fluid in the element of the wanted side."""
        doubtful = (found.element >= 0) & (self.fluid[found.element] != wet) & (np.abs(found.local).max(axis=1) > 1 - ON_FACE)
        some = np.flatnonzero(doubtful)
        if not len(some):
            return found
        again = self.find_elements(locate.Locator(self.mesh, self.fluid == wet), xyz[some], nearest)
        hit = again.element >= 0
        return _replace_rows(found, some[hit], again.some(hit))


def _replace_rows(found, which, others):
    """Some of the positions replaced."""
    parts = {name: getattr(found, name).copy() for name in ("element", "local", "nearest", "distance")}
    for name, values in parts.items():
        values[which] = getattr(others, name)
    return replace(found, **parts)


@dataclass(frozen=True, eq=False)
class JoinedTop:
    """The top of a mesh of which each rank has a part (`own`, a MeshTop); all must ask."""

    own: Any
    team: Any

    def surface(self, x, y):
        """Elevation of the top at points, m, the highest that any rank has; nan beside the mesh."""
        return np.fmax.reduce(self.team.every(lambda: self.own.surface(x, y)))


def mesh_top(mesh):
    """The `MeshTop` of a mesh: its face set top, else all boundary faces that look up and are not on its sides."""
    faces = mesh.faces.get("top")
    return locate.MeshTop(mesh, named_by_place(mesh).get("top", np.empty((0, 2), int)) if faces is None or not len(faces) else faces)


def on_earth(scenario, team):
    """A scenario on a chunk of the Earth with what turns places into positions, and the `Prepared` mesh and medium of the chunk.

    Where ranks have slices, the mesh is that of the rank's own and as many columns around it as `division.divide` looks at.
    """
    made = earth_chunk.chunk_of(scenario)
    grid = earth_chunk.slices_of(scenario, made, team.size)
    if grid is None:
        given, scenario = earth_chunk.prepared(scenario, made)
    else:
        given, scenario = earth_chunk.prepared_slice(scenario, made, grid, team.rank, 1)
    return scenario.model_copy(update={"domain": scenario.domain.on(globe.Globe(made))}), given


def on_mesh(scenario, mesh, bounds=None):
    """The scenario with its box where a mesh file says it, and depths that count from the mesh's top; for the survey's functions.

    Without topography or mesh file, depths count from z = 0; under water from the sea floor of the model. `bounds`: of the whole mesh.
    """
    ground = terrain.build(scenario.model)
    lower, upper = mesh.bounds() if bounds is None else bounds
    wanted = ground.water is None if ground is not None else scenario.domain.mesh is not None
    return scenario.on_mesh(lower, upper, mesh_top(mesh) if wanted else None)


def medium(given, xyz):
    """vp, vs (m/s) and density (kg/m3) at positions (n, 3), m, by the elements that hold them; of the nearest for positions outside.

    `given` is a `Prepared`; a chunk's medium is known without elements.
    """
    xyz, mesh = np.asarray(xyz, float).reshape(-1, 3), given.mesh
    if isinstance(given.sampler, ChunkSampler):
        found = given.sampler.at(xyz[:, :, None])
    else:
        own = locate.Locator(mesh).find(xyz).nearest
        found = given.sampler.at(xyz[:, :, None], mesh.centroids()[own], mesh.regions[own])
    return tuple(found[name][:, 0] for name in ("vp", "vs", "rho"))


def near_sources(sources, receivers, quantities, edge):
    """A warning where receivers are so near to a point moment that its field is not resolved: list of str.

    Derivatives of the polynomials around a point moment are wrong over some elements, most of all the static ones (tests/test_sem_runs.py).
    """
    points = np.array([s.xyz for s in sources if s.moment is not None and len(s.points) == 1]).reshape(-1, 3)
    if not len(points) or not len(receivers):
        return []
    distance = np.linalg.norm(receivers.xyz[:, None] - points, axis=2).min(axis=1) / edge
    reach = FAR if set(quantities) - {"velocity", "displacement"} else CLOSE
    near = np.flatnonzero(distance < reach)
    if not len(near):
        return []
    names = ", ".join(receivers.names[n] for n in near[:4]) + (f" and {len(near) - 4} more" if len(near) > 4 else "")
    what = "where the wavefield is not resolved, strain, rotation and pressure least of all"
    return [f"within {reach} elements of a point source, {what}: {names}; use smaller elements there"]


def problems(scenario, places):
    """Sources and receivers outside the mesh: list of Problem. `scenario` as of `on_mesh`; files are looked at in the box only.

    `places` is what has ``locate(xyz, wet)``; where that gives less than -1 for an element, another rank has the position.
    """
    positions, keys, names = [], [], []
    for i, entry in enumerate(scenario.source):
        if entry.at is not None or entry.shots is not None:
            some = sources.positions(scenario, entry)
            positions += some
            keys += [f"source.{i}.{'at' if entry.shots is None else 'shots'}"] * len(some)
            names += [""] * len(some)
    for i, these, xyz in receivers.collect(scenario)[0]:
        positions += list(xyz)
        keys += [f"receivers.{i}.{receivers.where(scenario.receivers[i])}"] * len(xyz)
        names += [*these] * (1 if len(these) == len(xyz) else len(xyz))
    if not positions:
        return []
    xyz = np.array(positions, float)
    found = places.locate(xyz, False)
    return locate.problems(replace(found, element=np.where(found.element < -1, 0, found.element)), xyz, keys, names)
