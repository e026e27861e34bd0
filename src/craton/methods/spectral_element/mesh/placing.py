"""Positions of a scenario on its mesh: depths below its top, positions slightly above the top, both
sides of a sea floor.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.model.globe import earth_chunk
from craton.model.ground import terrain
from craton.model.mesh import locate
from craton.model.mesh.hexmesh import named_by_place
from craton.survey import geography, places, receivers, sources
from craton.text import first_of

ON_FACE = 1e-6  # of the reference coordinates
MANY = 1000  # positions that are remembered with their places in the mesh
SLANTED = 0.05  # of the distance to a curved top, by which the way to it may be off the vertical
# elements from a point moment, within which velocity, or its derivatives, are off by more than some
# per cent
CLOSE, FAR = 2, 4
FEW_PAIRS = 1 << 18  # of points and positions whose distances are quicker taken than a tree is built


@dataclass(frozen=True, eq=False)
class Places:
    """Finds positions in a mesh.

    Parameters
    ----------
    mesh : HexMesh
        Elements in the order of the solver.
    fluid : (ne,) bool array
    ground : Terrain or None
        Topography of the model: a position that is not above it is in the mesh, even where the
        mesh's top lies lower.
    whole : HexMesh, optional
        The mesh whose top counts, where `mesh` is the part of one rank.
    order : (ne,) int array, optional
        Priority: of several elements that hold a position, the one with the lowest number takes it;
        by default the order of the mesh.
    globe : Globe or None
        Coordinates of a chunk of the Earth: a position in the chunk is in its mesh, even slightly
        beyond the elements of 27 nodes.
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
        """The locator of all elements."""
        return locate.Locator(self.mesh)

    @cached_property
    def has_both_media(self):
        """True where the mesh has fluid and solid."""
        return bool(self.fluid.any() and not self.fluid.all())

    @cached_property
    def last(self):
        """The last `MANY` or more positions that were located, by `prefer_fluid` and `nearest`:
        (positions, Located).
        """
        return {}

    @cached_property
    def top(self):
        """The top of the mesh."""
        local_top = mesh_top(self.mesh if self.whole is None else self.whole)
        return local_top if self.team is None else JoinedTop(local_top, self.team)

    def find_elements(self, locator, xyz, nearest):
        """Locate positions in the lowest of several elements; in any of them without `nearest`, for snapshots."""
        located = locator.find(xyz, nearest)
        if not nearest:
            return located
        return locator.lowest(located, xyz, np.arange(self.mesh.size) if self.order is None else self.order)

    def locate(self, xyz, prefer_fluid=False, nearest=True):
        """Locate positions (n, 3), m; a position between a solid and a fluid is in the fluid if
        `prefer_fluid`, else in the solid.

        Without `nearest`, positions outside the mesh are neither projected onto the top nor
        assigned a nearest element.
        """
        xyz = np.asarray(xyz, float).reshape(-1, 3)
        of_medium = prefer_fluid and self.has_both_media
        positions, located = self.last.get((of_medium, nearest), (None, None))
        if positions is None or not np.array_equal(positions, xyz):
            located = self._located(xyz, prefer_fluid, nearest)
            if len(xyz) >= MANY:
                self.last[of_medium, nearest] = xyz.copy(), located
        return located

    def _located(self, xyz, prefer_fluid, nearest):
        """Locate positions as `locate`."""
        located = self.find_elements(self.every, xyz, nearest)
        located = self._project_to_top(xyz, located) if nearest else located
        return self._move_to_medium(xyz, located, prefer_fluid, nearest) if self.has_both_media else located

    def _project_to_top(self, xyz, located):
        """Project positions slightly above the mesh's top onto it."""
        outside = np.flatnonzero(located.element < 0)
        if not len(outside):
            return located
        if self.globe is not None:
            in_chunk = outside[self._is_just_outside(located.some(outside), xyz[outside])]
            return located.replaced(in_chunk, replace(located.some(in_chunk), element=located.nearest[in_chunk]))
        x, y, z = xyz[outside].T
        top = self.top.surface(x, y)
        highest = self.top.top(x, y)
        if self.ground is not None:
            ground = self.ground.top(x, y)
            highest = np.fmax(highest, ground + 1e-6 * (1 + np.abs(ground)))
        is_above = (z > top) & (z <= highest)
        just_above = outside[is_above]
        if not len(just_above):
            return located
        projected = np.column_stack([xyz[just_above, :2], top[is_above]])
        relocated = self.find_elements(self.every, projected, True)
        return located.replaced(just_above, relocated)

    def _is_just_outside(self, located, xyz):
        """Return which positions outside the mesh are in the chunk, right above or below the
        element nearest to them.
        """
        nodes = self.mesh.nodes[self.mesh.elements[located.nearest]]
        size = np.linalg.norm(np.ptp(nodes, axis=1), axis=1)
        off = xyz - self.every.cells.at(located.nearest, located.local)
        up = xyz / np.linalg.norm(xyz, axis=1, keepdims=True)
        lateral = np.linalg.norm(off - (off * up).sum(axis=1, keepdims=True) * up, axis=1)
        is_near = (located.distance <= locate.ROOM * size) & (lateral <= SLANTED * located.distance + ON_FACE * size)
        return is_near & self.globe.chunk.inside(xyz)

    def _move_to_medium(self, xyz, located, prefer_fluid, nearest):
        """Move positions on a face between solid and fluid into the element of the preferred side."""
        on_face = np.abs(located.local).max(axis=1) > 1 - ON_FACE
        doubtful_rows = np.flatnonzero((located.element >= 0) & (self.fluid[located.element] != prefer_fluid) & on_face)
        if not len(doubtful_rows):
            return located
        preferred = locate.Locator(self.mesh, self.fluid == prefer_fluid)
        relocated = self.find_elements(preferred, xyz[doubtful_rows], nearest)
        hit = relocated.element >= 0
        return located.replaced(doubtful_rows[hit], relocated.some(hit))


@dataclass(frozen=True, eq=False)
class JoinedTop:
    """The top of a mesh of which each rank has a part (`local`, a MeshTop); all ranks must call."""

    local: Any
    team: Any

    def surface(self, x, y):
        """Return the elevation of the top at points, m, the highest that any rank has; nan beside the mesh."""
        return np.fmax.reduce(self.team.every(lambda: self.local.surface(x, y)))


def mesh_top(mesh):
    """Return the `MeshTop` of a mesh: its face set top, else all boundary faces that look up and
    are not on its sides.
    """
    faces = mesh.faces.get("top", ())
    return locate.MeshTop(mesh, faces if len(faces) else named_by_place(mesh).get("top", np.empty((0, 2), int)))


def place_on_earth(scenario, team):
    """Return a scenario on a chunk of the Earth with the `Globe` of its coordinates, and the
    `Prepared` mesh and medium of the chunk.

    Where ranks have slices, the mesh is that of the rank's own and the columns around it that
    `subdomain.build_subdomain` needs.
    """
    chunk = earth_chunk.chunk_of(scenario)
    grid = earth_chunk.slices_of(scenario, chunk, team.size)
    if grid is None:
        prepared, scenario = earth_chunk.prepared(scenario, chunk)
    else:
        prepared, scenario = earth_chunk.prepared_slice(scenario, chunk, grid, team.rank, 1)
    return scenario.model_copy(update={"domain": scenario.domain.on(geography.Globe(chunk))}), prepared


def place_on_mesh(scenario, mesh, bounds=None):
    """Return the scenario with the box of its mesh file, and depths that count from the mesh's top;
    for the survey's functions.

    Without topography or mesh file, depths count from z = 0; under water from the sea floor of the
    model. `bounds`: of the whole mesh.
    """
    lower, upper = mesh.bounds() if bounds is None else bounds
    return scenario.on_mesh(lower, upper, top_for_depths(scenario, mesh))


def top_for_depths(scenario, mesh):
    """Return the `MeshTop` from which depths count; None: see `place_on_mesh`."""
    ground = terrain.build(scenario.model)
    has_top = ground.water is None if ground is not None else scenario.domain.mesh is not None
    return mesh_top(mesh) if has_top else None


def in_media(scenario, all_sources):
    """Return sources with explosions on the floor of a sea in the water, as finite differences have
    them; meshes that state their media keep them in the solid.
    """
    if scenario.model.regions:
        return all_sources
    return [
        replace(source, xyz=tuple(places.on_side(scenario, [source.xyz], "fluid")[0].tolist()))
        if isinstance(source, sources.PointSource)
        and source.moment is not None
        and np.allclose(source.moment, np.trace(source.moment) / 3 * np.eye(3))
        else source
        for source in all_sources
    ]


def medium(prepared, xyz):
    """Return vp, vs (m/s) and density (kg/m3) at positions (n, 3), m, in the elements that hold
    them; outside, in the nearest element.

    `prepared` is a `Prepared`; a chunk's medium is known without elements.
    """
    xyz, mesh = np.asarray(xyz, float).reshape(-1, 3), prepared.mesh
    if isinstance(prepared.sampler, earth_chunk.ChunkSampler):
        samples = prepared.sampler.at(xyz[:, :, None])
    else:
        nearest = locate.Locator(mesh).find(xyz).nearest
        samples = prepared.sampler.at(xyz[:, :, None], mesh.centroids()[nearest], mesh.regions[nearest])
    return tuple(samples[name][:, 0] for name in ("vp", "vs", "rho"))


def warn_near_sources(sources, receivers, quantities, edge):
    """Warn of receivers so near a point moment that its field is not resolved: list of str.

    Derivatives of the polynomials around a point moment are wrong over some elements, most of all
    the static ones (tests/elements/test_sem_runs.py).
    """
    points = np.array([s.xyz for s in sources if s.moment is not None and len(s.points) == 1]).reshape(-1, 3)
    if not len(points) or not len(receivers):
        return []
    reach = FAR if set(quantities) - {"velocity", "displacement", "acceleration"} else CLOSE
    distance = nearest_distances(points, receivers.xyz, 1.01 * reach * edge)
    close = np.flatnonzero(distance / edge < reach)
    if not len(close):
        return []
    names = first_of([receivers.names[n] for n in close], 4)
    return [
        f"receivers within {reach} elements of a point source: {names}; the wavefield is not resolved there, strain, rotation and "
        "pressure least of all: use smaller elements there"
    ]


def nearest_distances(points, xyz, limit):
    """Return the distance of positions (n, 3) from the nearest of some points (m, 3), m: (n,); it may
    be infinite beyond a limit.
    """
    if len(points) * len(xyz) <= FEW_PAIRS:  # importing scipy takes half a second
        square = ((xyz[:, None] - points) ** 2).sum(axis=2)
        return np.sqrt(square.min(axis=1))
    from scipy.spatial import cKDTree

    return cKDTree(points).query(xyz, distance_upper_bound=limit)[0]


def problems(scenario, places):
    """Return the problems of sources and receivers outside the mesh: list.

    `scenario` is that of `place_on_mesh`; files are checked in the box only.

    `places` has ``locate(xyz, prefer_fluid)``; where that gives less than -1 for an element,
    another rank has the position.
    """
    positions, keys, names = [], [], []
    for i, entry in enumerate(scenario.source):
        if entry.at is not None or entry.shots is not None:
            positions_of_entry = sources.positions(scenario, entry)
            positions += positions_of_entry
            keys += [f"source.{i}.{'at' if entry.shots is None else 'shots'}"] * len(positions_of_entry)
            names += [""] * len(positions_of_entry)
    of_sources = len(positions)
    for i, group in receivers.collect(scenario)[0]:
        count = len(group.xyz)
        positions += list(group.xyz)
        keys += [f"receivers.{i}.{scenario.receivers[i].where}"] * count
        names += [*group.names] * (1 if len(group.names) == count else count)
    if not positions:
        return []
    xyz = np.array(positions, float)
    refused = []
    for part in (slice(0, of_sources), slice(of_sources, None)):
        located = places.locate(xyz[part], False)
        inside = replace(located, element=np.where(located.element < -1, 0, located.element))
        refused += locate.problems(inside, xyz[part], keys[part], names[part])
    return refused
