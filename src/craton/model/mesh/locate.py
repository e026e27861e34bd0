"""Where positions are in a mesh: the element that holds each and its reference coordinates; the
elevation of the mesh's top.
"""

from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.model.media.cells import in_parallel
from craton.model.mesh.shape import functions, lattice, values

# of the reference coordinates: a position that rounding puts outside by less is on the face
INSIDE = 1e-6
FACE = 10 * INSIDE  # that near to a face, another element may have the position as well
TURNS = 30  # of Newton's method at most; from 3 to 6 are needed
EXACT = 1e-12  # step of the reference coordinates at which it ends
# reference coordinates found directly: a position on a face has the same ones in both elements
DECIMALS = 13
STRAIGHT = 1e-13  # of a cell's size, by which nodes may be off a parallelepiped
FLAT = 1e-9  # volume by the cube of the size, below which a cell's map is not inverted at once
MAPPED = 1e-9  # of a cell's size, by which a position may be missed: Newton's method did end
ROOM = 0.02  # of an edge: positions higher above a mesh's top are in the air
NEAR = 8  # centres tried first: of plain meshes, one of them is that of the element
BULGE = 0.15  # of its size, by which a curved element may reach beyond the box around its nodes
BATCH = 1 << 15  # positions at a time
FEW = 32  # positions for which a look at all boxes is quicker than to build a tree of them
BLOCK = 1 << 13  # cells of which a thread takes the boxes


@dataclass(frozen=True)
class Located:
    """Positions in a mesh."""

    element: np.ndarray  # (n,) int: -1 where a position is outside
    # (n, 3): reference coordinates (xi, eta, zeta) in [-1, 1]; outside those of the nearest point found
    local: np.ndarray
    nearest: np.ndarray  # (n,) int: the element, or outside the nearest one found
    distance: np.ndarray  # (n,): from the position to the point that `nearest` and `local` name, m

    def __len__(self):
        return len(self.element)

    @classmethod
    def joined(cls, parts):
        """Return the locations of all positions of some parts, one part after another."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    def some(self, which):
        """Locations of selected positions."""
        return Located(self.element[which], self.local[which], self.nearest[which], self.distance[which])

    def replaced(self, which, others):
        """Return it with the locations of selected positions replaced by those of another `Located`."""
        out = Located(self.element.copy(), self.local.copy(), self.nearest.copy(), self.distance.copy())
        out.element[which], out.local[which] = others.element, others.local
        out.nearest[which], out.distance[which] = others.nearest, others.distance
        return out


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells given by nodes in as many dimensions as they have: elements in space, faces seen from above."""

    places: np.ndarray  # (m, d): coordinates of the nodes, m
    cells: np.ndarray  # (nc, p^d) int: node numbers, lexicographic

    @property
    def edge(self):
        """Nodes along an edge: 2 or 3."""
        return 2 if self.cells.shape[1] in (4, 8) else 3

    @cached_property
    def boxes(self):
        """Lowest and highest coordinates that a cell may reach: two arrays (nc, d)."""
        low, high = np.empty((2, len(self.cells), self.places.shape[1]))
        bulge = BULGE if self.edge == 3 else 1e-6

        def fill(part):
            nodes = [self.places[column] for column in self.cells[part].T]
            least, most = (reduce(extreme, nodes) for extreme in (np.minimum, np.maximum))
            room = bulge * (most - least).max(axis=1, keepdims=True)
            low[part], high[part] = least - room, most + room

        in_parallel(fill, [slice(n, n + BLOCK) for n in range(0, len(low), BLOCK)])
        return low, high

    @cached_property
    def centres(self):
        """Centres of the boxes, (nc, d), m."""
        return (self.boxes[0] + self.boxes[1]) / 2

    @cached_property
    def tree(self):
        """k-d tree of the centres of the boxes."""
        from scipy.spatial import cKDTree

        return cKDTree(self.centres)

    @cached_property
    def sizes(self):
        """Cells by their size, each class with a tree of its own: list of (radius of the largest, numbers, tree)."""
        from scipy.spatial import cKDTree

        radius = np.linalg.norm(self.boxes[1] - self.boxes[0], axis=1) / 2
        classes = np.floor(np.log2(radius / radius.min() * (1 + 1e-9))).astype(int)
        groups = [np.flatnonzero(classes == c) for c in np.unique(classes)]
        return [(radius[members].max(), members, cKDTree(self.tree.data[members])) for members in groups]

    def inverse(self, cells, at):
        """Return reference coordinates (m, d) that a cell each maps to positions (m, d), and what is missing of them,
        m: at once where edges are parallel, by Newton's method elsewhere.

        `cells` (n,) int: a cell each; `at` (n, d): positions, m.
        """
        different, which = np.unique(cells, return_inverse=True)
        slopes, centre, bent = self.straight(different)
        off = at - centre[which]
        local = (np.linalg.inv(slopes)[which] @ off[..., None])[..., 0]
        local = np.clip(np.round(local, DECIMALS), -3.0, 3.0)
        missed = np.linalg.norm(off - (slopes[which] @ local[..., None])[..., 0], axis=1)
        others = np.flatnonzero(bent[which])
        if len(others):
            local[others] = self._newton(cells[others], at[others])
            missed[others] = self.missed(cells[others], local[others], at[others])
        return local, missed

    def straight(self, cells):
        """Slopes of the maps of cells whose edges are straight and parallel, (n, d, d), their centres (n, d), m, and
        which cells are not such, (n,) bool.

        `cells` (n,) int.
        """
        nodes = self.places[self.cells[cells]]
        centre, dims = nodes.mean(axis=1), nodes.shape[2]
        corners = lattice(np.linspace(-1, 1, self.edge))[: nodes.shape[1], :dims]
        slopes = np.einsum("as,nad->nds", corners / (corners[:, 0] ** 2).sum(), nodes)
        off = nodes - centre[:, None] - np.einsum("as,nds->nad", corners, slopes)
        size = np.ptp(nodes, axis=1).max(axis=1)
        bent = np.abs(off).max(axis=(1, 2)) > STRAIGHT * size
        bent |= np.abs(np.linalg.det(slopes)) <= FLAT * size**dims
        slopes[bent] = np.eye(dims)
        return slopes, centre, bent

    def _newton(self, cells, at):
        """Return reference coordinates as of `inverse`, by Newton's method."""
        nodes = self.places[self.cells[cells]]
        origin = nodes.mean(axis=1)
        nodes, target = nodes - origin[:, None], at - origin
        local, active = np.zeros_like(target), np.arange(len(target))
        for _ in range(TURNS):
            shapes, slopes = functions(self.edge, local[active])
            active_nodes = nodes[active]
            lacking = target[active] - np.einsum("ma,mad->md", shapes, active_nodes)
            jacobian = np.einsum("mas,mad->mds", slopes, active_nodes)
            step = np.clip(_solved(jacobian, lacking), -1.0, 1.0)
            local[active] = np.clip(local[active] + step, -3.0, 3.0)
            active = active[np.abs(step).max(axis=1) > EXACT]
            if not len(active):
                break
        return local

    def missed(self, cells, local, at):
        """Distance of positions from the points that reference coordinates name, m.

        `cells` (n,) int: a cell each; `local` (n, d): reference coordinates; `at` (n, d): positions, m.
        """
        return np.linalg.norm(at - self.at(cells, local), axis=1)

    def at(self, cells, local):
        """Coordinates of reference coordinates in cells: (m, d).

        `cells` (n,) int: a cell each; `local` (n, d): reference coordinates.
        """
        return np.einsum("ma,mad->md", values(self.edge, local), self.places[self.cells[cells]])

    def candidates(self, at, count=NEAR):
        """Cells with the nearest centres, (n, NEAR or fewer), nearest first.

        `at` (n, d): positions, m.
        """
        count = min(count, len(self.cells))
        if len(at) > FEW or "tree" in vars(self):
            return self.tree.query(at, k=count)[1].reshape(len(at), count)
        nearest = np.empty((len(at), count), int)

        def look(position):
            square = ((self.centres - at[position]) ** 2).sum(axis=1)
            close = np.argpartition(square, count - 1)[:count]
            nearest[position] = close[np.lexsort((close, square[close]))]

        in_parallel(look, range(len(at)))
        return nearest

    def all_candidates(self, at):
        """Pairs (position, cell) of all cells whose boxes hold a position: two int arrays, sorted by position.

        `at` (n, d): positions, m.
        """
        if len(at) <= FEW:
            low, high = self.boxes
            lists = [np.flatnonzero(((position >= low) & (position <= high)).all(axis=1)) for position in at]
            which = np.repeat(np.arange(len(at)), [len(cells) for cells in lists])
            return which, np.concatenate([np.empty(0, int), *lists])
        pairs = []
        for radius, numbers, tree in self.sizes:
            lists = tree.query_ball_point(at, radius * (1 + 1e-9))
            which = np.repeat(np.arange(len(at)), [len(close) for close in lists])
            cells = numbers[np.concatenate([np.empty(0, int), *(np.asarray(close, int) for close in lists)])]
            held = self.hold(cells, at[which])
            pairs.append((which[held], cells[held]))
        which, cells = (np.concatenate(part) for part in zip(*pairs))
        order = np.lexsort((cells, which))
        return which[order], cells[order]

    def hold(self, cells, at):
        """Whether the boxes of cells hold positions.

        `cells` (n,) int: a cell each; `at` (n, d): positions, m.
        """
        low, high = self.boxes
        return ((at >= low[cells]) & (at <= high[cells])).all(axis=1)


def _solved(matrix, right):
    """Solutions of small systems; where one is singular, the step of steepest descent takes its place."""
    try:
        return np.linalg.solve(matrix, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.einsum("mij,mj->mi", np.linalg.pinv(matrix), right)


class Locator:
    """Finds positions in a mesh.

    Parameters
    ----------
    mesh : HexMesh
    among : (ne,) bool array, optional
        Elements that are looked at, such as the solid ones.
    """

    def __init__(self, mesh, among=None):
        self.numbers = np.arange(mesh.size) if among is None else np.flatnonzero(among)
        self.cells = Cells(mesh.nodes, mesh.elements[self.numbers])

    def find(self, xyz, nearest=True):
        """Return the `Located` of positions (n, 3), m; those on a face, edge or corner belong to one of the elements
        there.

        Of positions outside the nearest element is only looked for where `nearest` is true.

        `xyz` (..., 3): positions, m. Raises ValueError: there are no elements.
        """
        xyz = np.asarray(xyz, float).reshape(-1, 3)
        if not len(self.numbers):
            raise ValueError("the mesh has no elements")
        parts = [self._find(xyz[start : start + BATCH], nearest) for start in range(0, max(len(xyz), 1), BATCH)]
        cell, local, nearest, distance = (np.concatenate(part) for part in zip(*parts))
        return Located(np.where(cell >= 0, self.numbers[cell], -1), local, self.numbers[nearest], distance)

    def holding(self, xyz):
        """All elements that hold positions (n, 3), m: (position of each, `Located`), by position.

        `xyz` (..., 3): positions, m.
        """
        xyz = np.asarray(xyz, float).reshape(-1, 3)
        which, cells, local = self._all_holding(xyz)
        return which, Located(
            self.numbers[cells], local, self.numbers[cells], self.cells.missed(cells, local, xyz[which])
        )

    def _find(self, xyz, with_nearest):
        """(cell or -1, local, nearest cell, distance) of some positions: the nearest centres first,
        then all boxes that hold one.
        """
        cell, local = np.full(len(xyz), -1), np.zeros_like(xyz)
        first = self.cells.candidates(xyz, 1)[:, 0]  # of plain meshes mostly the right one
        todo = np.flatnonzero(self.cells.hold(first, xyz))
        self._try(todo, first[todo], xyz, cell, local)
        others = np.flatnonzero(cell < 0)
        candidates = self.cells.candidates(xyz[others])
        for column in candidates.T:
            which = np.flatnonzero(cell[others] < 0)
            which = which[self.cells.hold(column[which], xyz[others[which]])]
            self._try(others[which], column[which], xyz, cell, local)
        todo = np.flatnonzero(cell < 0)
        which, cells = self.cells.all_candidates(xyz[todo]) if len(todo) else (np.empty(0, int),) * 2
        turn = np.arange(len(which)) - np.searchsorted(which, which)
        for n in range(int(turn.max(initial=-1)) + 1):
            now = (turn == n) & (cell[todo[which]] < 0)
            self._try(todo[which[now]], cells[now], xyz, cell, local)
        nearest, distance = cell.copy(), np.full(len(xyz), np.inf)
        inside = np.flatnonzero(cell >= 0)
        distance[inside] = self.cells.missed(cell[inside], local[inside], xyz[inside])
        if with_nearest:
            lost, held = cell[others] < 0, cell[todo[which]] < 0
            # of flat elements, the one below a position need not be among the nearest centres
            places = np.concatenate([np.repeat(others[lost], candidates.shape[1]), todo[which[held]]])
            around = np.concatenate([candidates[lost].ravel(), cells[held]])
            self._approach(places, around, xyz, nearest, local, distance)
        return cell, local, nearest, distance

    def lowest(self, located, xyz, order):
        """Assign positions on faces, edges and corners to the adjacent element that is lowest in `order`, (ne,).

        `xyz` (..., 3): positions, m; `order` (ne,) int.
        """
        on_face = np.flatnonzero((located.element >= 0) & (np.abs(located.local).max(axis=1) > 1 - FACE))
        which, cells, local = self._all_holding(xyz[on_face])
        sort = np.lexsort((order[self.numbers[cells]], which))
        which, first = np.unique(which[sort], return_index=True)
        at, cells, local = on_face[which], cells[sort[first]], local[sort[first]]
        elements = self.numbers[cells]
        return located.replaced(at, Located(elements, local, elements, self.cells.missed(cells, local, xyz[at])))

    def _all_holding(self, xyz):
        """Return pairs of a position and a cell that holds it, by position, and reference coordinates there."""
        which, cells = self.cells.all_candidates(xyz) if len(xyz) else (np.empty(0, int),) * 2
        local, inside = self._inside(cells, xyz[which])
        return which[inside], cells[inside], local[inside]

    def _inside(self, cells, at):
        """Return reference coordinates of positions in a cell each, and whether the cells hold them."""
        coordinates, missed = self.cells.inverse(cells, at)
        size = np.linalg.norm(self.cells.boxes[1][cells] - self.cells.boxes[0][cells], axis=1)
        return np.clip(coordinates, -1, 1), (np.abs(coordinates).max(axis=1, initial=0) <= 1 + INSIDE) & (
            missed <= MAPPED * size
        )

    def _try(self, todo, cells, xyz, cell, local):
        """Note the cells that hold positions `todo`."""
        if not len(todo):
            return
        coordinates, inside = self._inside(cells, xyz[todo])
        cell[todo[inside]], local[todo[inside]] = cells[inside], coordinates[inside]

    def _approach(self, places, cells, xyz, nearest, local, distance):
        """Note the nearest of the cells around each position of `places`, which lie outside all cells; of equally near ones the first."""
        clipped = np.clip(self.cells.inverse(cells, xyz[places])[0], -1, 1)
        far = self.cells.missed(cells, clipped, xyz[places])
        order = np.lexsort((far, places))
        at, first = np.unique(places[order], return_index=True)
        taken = order[first]
        nearest[at], local[at], distance[at] = cells[taken], clipped[taken], far[taken]


def problems(located, xyz, keys, names=None):
    """One problem for each key that has positions outside the mesh, with its first one.

    `xyz` (n, 3); `keys`: of each position: ``"source.0.at"``; `names`: of each position, for the message.
    """
    problems_by_key = {}
    for n in np.flatnonzero(located.element < 0):
        place = "({:.10g}, {:.10g}, {:.10g})".format(*xyz[n])
        name = f'"{names[n]}": ' if names and names[n] else ""
        message = f"{name}{place} m is outside the mesh, {located.distance[n]:.4g} m from its nearest element, {located.nearest[n]}"
        remedy = "move it inside the mesh; for a depth below the surface write { x =, y =, depth = }"
        problems_by_key.setdefault(keys[n], Problem(keys[n], message, remedy))
    return list(problems_by_key.values())


@dataclass(frozen=True, eq=False)
class MeshTop:
    """The top of a mesh as the ground from which depths count: what `craton.model.ground.terrain.Terrain` is for a
    model's topography.
    """

    mesh: Any
    faces: np.ndarray  # (nf, 2) int: rows (element, local face) that look up
    water: None = None

    @cached_property
    def cells(self):
        """The faces seen from above."""
        from craton.model.mesh.numbering import face_nodes

        nodes = self.mesh.elements[self.faces[:, :1], face_nodes(self.mesh.order)[self.faces[:, 1]]]
        return Cells(self.mesh.nodes, nodes), Cells(self.mesh.nodes[:, :2], nodes)

    def surface(self, x, y):
        """Elevation of the top at points (arrays that broadcast together), m: the highest face there; nan beside the
        mesh.

        `x`, `y` in m.
        """
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        at = np.stack([x.ravel(), y.ravel()], axis=1)
        parts = [self.faces_at(at[start : start + BATCH]) for start in range(0, max(len(at), 1), BATCH)]
        return np.concatenate([np.where(face >= 0, z, np.nan) for face, _, z in parts]).reshape(x.shape)

    def top(self, x, y):
        """Return the highest elevation that still counts as on the top, m: a little above it, as places on the ground
        are given.

        `x`, `y` in m.
        """
        return self.surface(x, y) + self.room

    @cached_property
    def room(self):
        """`ROOM` of the faces' longest edges, in the middle, m."""
        low, high = self.cells[1].boxes
        return ROOM * float(np.median((high - low).max(axis=1)))

    def faces_at(self, at):
        """Face (-1 beside the mesh), its reference coordinates and its elevation at places (n, 2).

        `at` (n, 2): x and y, m.
        """
        space, flat = self.cells
        best, where, z = np.full(len(at), -1), np.zeros_like(at), np.full(len(at), -np.inf)
        which, cells = flat.all_candidates(at)
        if len(which):
            local, _ = flat.inverse(cells, at[which])
            inside = np.abs(local).max(axis=1) <= 1 + INSIDE
            which, cells, local = which[inside], cells[inside], np.clip(local[inside], -1, 1)
            shapes = values(space.edge, local)
            height = np.einsum("ma,ma->m", shapes, space.places[space.cells[cells], 2])
            # of several, the highest comes last and stays
            order = np.argsort(height, kind="stable")
            best[which[order]], where[which[order]], z[which[order]] = (cells[order], local[order], height[order])
        return best, where, z
