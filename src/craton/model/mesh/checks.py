"""What is wrong with a mesh of hexahedra, told with the number and the place of the element or
node.
"""

import numpy as np

from craton.errors import Problem
from craton.model.mesh import numbering, shape

FACE_NAMES = ("xi = -1", "xi = +1", "eta = -1", "eta = +1", "zeta = -1", "zeta = +1")
FLAT = 1e-12  # of the cube of an element's size: a Jacobian below this is none
NEAR = 1e-6  # of an element's edge: nodes closer than this are one
ON_FACE = 1e-4  # of a face's size: a node closer than this lies on it


def problems(mesh, degree=4, key="domain.mesh"):
    """Problems of a mesh, one of each kind with its count and its first or worst position.

    `degree`: polynomial degree: Jacobians are looked at at its Gauss-Lobatto-Legendre points, corners included; `key`:
    key in the scenario that the mesh comes from. Returns list of Problem: empty for a good mesh; where the arrays
    themselves are wrong (a node number that does not exist, a coordinate that is no number, an element that names a
    node twice), only that is told.
    """
    for check in ARRAYS:
        if findings := list(check(mesh)):
            break
    else:
        owners = numbering.sharing(mesh.elements)
        findings = [finding for check in CHECKS for finding in check(mesh, owners, degree)]
    return [Problem(key, *texts) for texts in findings]


def _found(wrong, noun, words):
    """Give (message, remedy) of the first of some things that are `wrong` (n,), with their count; `words` has them by
    number.
    """
    if wrong.any():
        text, remedy = words(int(np.argmax(wrong)))
        yield text + _share(wrong.sum(), len(wrong), noun), remedy


def _share(count, total, noun):
    return f"; {count} of {total} {noun} are affected" if count > 1 else ""


def _place(xyz):
    x, y, z = xyz
    return f"(x, y, z) = ({x:.10g}, {y:.10g}, {z:.10g}) m"


def _element(mesh, e):
    centre = mesh.nodes[mesh.corners[e]].mean(axis=0)
    return f"element {e} (numbers begin at 0; its centre is {_place(centre)})"


def _face(mesh, e, f):
    return f"the face {FACE_NAMES[f]} of {_element(mesh, e)}"


# --- arrays: without them every other look-up is meaningless --------------------------------------


def _empty(mesh):
    if not mesh.size:
        yield "the mesh has no hexahedra", "Mesh the volume with hexahedra of 8 or 27 nodes."


def _unknown(mesh):
    out = (mesh.elements < 0) | (mesh.elements >= len(mesh.nodes))

    def words(e):
        text = f"element {e} names node {mesh.elements[e][out[e]][0]}, but the nodes are 0 to {len(mesh.nodes) - 1}"
        return text, "Write the mesh again; node numbers begin at 0."

    return _found(out.any(axis=1), "elements", words)


def _infinite(mesh):
    def words(n):
        return f"node {n} lies at {_place(mesh.nodes[n])}, which is not finite", "Give it finite coordinates in metres."

    return _found(~np.isfinite(mesh.nodes).all(axis=1), "nodes", words)


def _twice(mesh):
    ordered = np.sort(mesh.elements, axis=1)  # corners and middles alike
    twice = ordered[:, 1:] == ordered[:, :-1]

    def words(e):
        text = f"{_element(mesh, e)} contains node {ordered[e, 1:][twice[e]][0]} twice, so it is not a hexahedron"
        return text, "Mesh with hexahedra only; wedges and pyramids written as hexahedra cannot be used."

    return _found(twice.any(axis=1), "elements", words)


# --- nodes and elements; `owners` (ne, 6) counts the elements of each face ------------------------


def _unused(mesh, owners, degree):
    unused = np.ones(len(mesh.nodes), bool)
    unused[mesh.elements.ravel()] = False

    def words(n):
        text = f"node {n} at {_place(mesh.nodes[n])} belongs to no element"
        return text, "Remove the node, or add the elements that use it."

    return _found(unused, "nodes", words)


def _jacobians(mesh, owners, degree):
    """Elements in another node order, left-handed or folded ones."""
    least, where = _least(mesh, mesh.elements, degree)
    limit = _limit(mesh, mesh.elements)
    rest = np.flatnonzero(least <= limit)
    for name, order in _orders(mesh) if len(rest) else ():
        turned = mesh.elements[rest][:, order]
        good = _least(mesh, turned, degree)[0] > _limit(mesh, turned)
        if good.any():
            yield _misordered(mesh, rest[good], name)
        rest = rest[~good]
    if not len(rest):
        return
    with np.errstate(all="ignore"):  # elements of no size, too
        worst = rest[np.argmin(np.nan_to_num(least[rest] / limit[rest]))]
    local = shape.lattice(shape.gll_points(degree))[where[worst]]
    spot = shape.values(mesh.order + 1, local[None])[0] @ mesh.nodes[mesh.elements[worst]]
    yield (
        f"{_element(mesh, worst)} has the Jacobian {least[worst]:.6g} m3 at (xi, eta, zeta) = "
        f"({local[0]:.3g}, {local[1]:.3g}, {local[2]:.3g}), which is {_place(spot)}; "
        f"it must be positive{_share(len(rest), mesh.size, 'elements')}",
        "The element is folded or flat: move its nodes apart, smooth the mesh, or mesh again with a smaller element there.",
    )


def _least(mesh, elements, degree):
    """Least Jacobian of elements (ne, 8 or 27), m3, over the GLL points; where it is (index in the lattice)."""
    points = shape.gll_points(degree)
    affine = shape.is_affine(mesh.nodes, elements)
    least, where = np.empty(len(elements)), np.zeros(len(elements), int)
    least[affine] = shape.determinants(mesh.nodes, elements[affine], np.zeros(1))[:, 0]
    bent = np.flatnonzero(~affine)
    for part in np.array_split(bent, max(1, len(bent) // 65536)):
        values = shape.determinants(mesh.nodes, elements[part], points)
        where[part] = values.argmin(axis=1)
        least[part] = values.min(axis=1)
    return least, where


def _limit(mesh, elements):
    """Jacobian, m3, at or below which an element counts as folded."""
    corners = mesh.nodes[elements[:, shape.CORNERS[elements.shape[1]]]]
    return FLAT * np.ptp(corners, axis=1).max(axis=1) ** 3


def _orders(mesh):
    """(format, permutation) of the orders in which nodes may have been given by mistake."""
    width = mesh.elements.shape[1]
    names = ("VTK", "gmsh", "Exodus", "SPECFEM") if width == 27 else ("VTK",)
    orders = [(name, shape.lexicographic(np.arange(width)[None], name)[0]) for name in names]
    p = shape.nodes_per_edge(width)
    return [*orders, ("mirrored", np.arange(width).reshape(p, p, p)[::-1].ravel())]


def _misordered(mesh, elements, name):
    share = _share(len(elements), mesh.size, "elements")
    text = f"{_element(mesh, elements[0])} has its nodes in the wrong order: "
    if name == "mirrored":
        return (
            f"{text}xi, eta, zeta are left-handed, its Jacobian is negative everywhere{share}",
            "Exchange its lower and upper nodes, or mirror the mesh's coordinates and its elements together.",
        )
    label = "VTK, gmsh and Exodus" if mesh.order == 1 else name
    return (
        f"{text}in the order of {label} the element is valid{share}",
        f"Order them lexicographically, xi fastest, then eta, then zeta: craton.model.mesh.shape.lexicographic(elements, {name!r}).",
    )


def _shared(mesh, owners, degree):
    """Faces of more than two elements."""

    def words(e):
        f = int(np.argmax(owners[e] > 2))
        text = f"{_face(mesh, e, f)} is shared by {owners[e, f]} elements; at most two can share a face"
        return text, "Remove the overlapping elements."

    return _found((owners > 2).any(axis=1), "elements", words)


def _middles(mesh, owners, degree):
    """27-node elements that share corners but not the nodes between them."""
    if mesh.order == 1:
        return ()
    points = numbering.number(mesh.elements, 2)
    at, node = points.points.reshape(mesh.size, 27), np.empty(points.count, np.int32)
    node[at] = mesh.elements
    differs = node[at] != mesh.elements

    def words(e):
        first, second = (nodes[e][differs[e]][0] for nodes in (mesh.elements, node[at]))
        text = f"{_element(mesh, e)} has node {first} where its neighbour, with which it shares the corners, has node {second}"
        return text, "Use one node for both: merge duplicate nodes when meshing."

    return _found(differs.any(axis=1), "elements", words)


def _loose(mesh, owners, degree):
    """Duplicate and hanging nodes: both leave unmatched faces, so nodes of boundary faces are all that need a look."""
    from scipy.spatial import cKDTree

    rows = np.argwhere(owners == 1)
    quads = numbering.face_corners(mesh.elements)[rows[:, 0], rows[:, 1]]
    numbers = np.unique(quads)
    tree = cKDTree(mesh.nodes[numbers])
    corners = mesh.nodes[quads]
    edge = np.sqrt(((corners[:, [1, 3, 2, 0]] - corners[:, [0, 1, 3, 2]]) ** 2).sum(axis=2).min())
    pairs = np.sort(numbers[tree.query_pairs(NEAR * edge, output_type="ndarray")].reshape(-1, 2), axis=1)
    if len(pairs):
        first, second = min(pairs.tolist())
        text = f"nodes {first} and {second} lie at the same place, {_place(mesh.nodes[first])}: the elements there are not connected"
        yield (
            text + (f"; {len(pairs)} pairs of nodes coincide" if len(pairs) > 1 else ""),
            "Merge duplicate nodes when meshing (Gmsh: Coherence Mesh; CUBIT: imprint and merge before meshing).",
        )
    # a node on a face without being one of its corners
    places = mesh.nodes[mesh.elements[rows[:, 0][:, None], numbering.face_nodes(mesh.order)[rows[:, 1]]]]
    centres = places.mean(axis=1)
    radii = np.sqrt(((places - centres[:, None]) ** 2).sum(axis=2).max(axis=1))
    candidates = tree.query_ball_point(centres, radii)
    face = np.repeat(np.arange(len(rows)), [len(near) for near in candidates])
    node = numbers[np.concatenate([np.empty(0, int), *candidates]).astype(int)]
    other = ~(quads[face] == node[:, None]).any(axis=1) & ~np.isin(node, pairs)
    face, node = face[other], node[other]
    on = _lies_on(places[face], mesh.nodes[node], radii[face])
    if on.any():
        n, (e, f) = node[on][0], rows[face[on][0]]
        text = f"node {n} at {_place(mesh.nodes[n])} is a hanging node: it lies on {_face(mesh, e, f)} but is not one of its corners"
        yield (
            text + _share(len(np.unique(node[on])), len(numbers), "nodes of unmatched faces"),
            "Elements must share whole faces: refine with transition elements, or mesh both sides together.",
        )


def _lies_on(places, target, sizes, turns=8):
    """Whether points (m, 3) lie on faces given by their nodes (m, 4 or 9, 3): Newton for the nearest point of each."""
    p = 2 if places.shape[1] == 4 else 3
    s, t = np.zeros((2, len(target)))
    for _ in range(turns):
        values, ds, dt = _surface(p, s, t, places)
        gap = target - values
        a, b, c = (ds * ds).sum(axis=1), (ds * dt).sum(axis=1), (dt * dt).sum(axis=1)
        u, v = (ds * gap).sum(axis=1), (dt * gap).sum(axis=1)
        determinant = np.maximum(a * c - b * b, 1e-300)
        s = np.clip(s + (c * u - b * v) / determinant, -1, 1)
        t = np.clip(t + (a * v - b * u) / determinant, -1, 1)
    gap = target - _surface(p, s, t, places)[0]
    return np.sqrt((gap**2).sum(axis=1)) <= ON_FACE * sizes


def _surface(p, s, t, places):
    """Points of faces at (s, t) in [-1, 1]^2 and the derivatives there: three (m, 3) arrays."""
    values, slopes = shape.functions(p, np.stack([s, t], axis=1))
    return tuple(np.einsum("ma,mac->mc", w, places) for w in (values, slopes[..., 0], slopes[..., 1]))


# --- regions and face sets ------------------------------------------------------------------------


def _regions(mesh, owners, degree):
    names = ", ".join(mesh.region_names) or "none is named"

    def words(e):
        return f"{_element(mesh, e)} has no material tag", f"Put every element into one of the regions ({names})."

    return _found((mesh.regions < 0) | (mesh.regions >= max(1, len(mesh.region_names))), "elements", words)


def _tags(mesh, owners, degree):
    """Boundary faces in no set or in two, and rows of sets that name no face."""
    coded = {}
    for name, rows in mesh.faces.items():
        bad = (rows < 0).any(axis=1) | (rows[:, 0] >= mesh.size) | (rows[:, 1] > 5)
        if bad.any():
            e, f = rows[np.argmax(bad)]
            limits = f"elements are 0 to {mesh.size - 1}, faces 0 to 5"
            yield f"the face set {name!r} names face {f} of element {e}; {limits}", "Write the face set again."
        coded[name] = rows[~bad] @ np.array([6, 1])
    outer = np.argwhere(owners == 1) @ np.array([6, 1])
    count = np.bincount(np.concatenate([np.empty(0, int), *coded.values()]), minlength=6 * mesh.size)[outer]

    def untagged(n):
        e, f = divmod(int(outer[n]), 6)
        centre = mesh.nodes[mesh.elements[e][numbering.face_nodes(mesh.order)[f]]].mean(axis=0)
        names = ", ".join(map(repr, mesh.faces)) or "there is none"
        return (
            f"the face {FACE_NAMES[f]} of element {e} lies on the boundary, at {_place(centre)}, and is in no face set ({names})",
            "Put it into a face set (physical surface, side set), so that it gets a boundary condition; "
            "if it lies inside the mesh, the elements there do not share their nodes.",
        )

    def in_two(n):
        names = " and ".join(repr(name) for name, codes in coded.items() if outer[n] in codes)
        text = f"{_face(mesh, *divmod(int(outer[n]), 6))} is in the face sets {names}"
        return text, "Put each boundary face into one set: it has one boundary condition."

    yield from _found(count == 0, "boundary faces", untagged)
    yield from _found(count > 1, "boundary faces", in_two)


ARRAYS = (_empty, _unknown, _infinite, _twice)
CHECKS = (_unused, _jacobians, _shared, _middles, _loose, _regions, _tags)
