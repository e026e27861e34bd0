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

    Parameters
    ----------
    mesh : HexMesh
    degree : int
        Polynomial degree: Jacobians are looked at at its Gauss-Lobatto-Legendre points, corners
        included.
    key : str
        Key in the scenario that the mesh comes from.

    Returns
    -------
    list of Problem
        Empty for a good mesh. Where the arrays themselves are wrong (a node number that does not
        exist, a coordinate that is no number, an element that names a node twice), only that is
        told.
    """
    broken = _arrays(mesh)
    if broken:
        return [Problem(key, *texts) for texts in broken]
    owners = numbering.sharing(mesh.elements)
    outer = np.argwhere(owners == 1)
    findings = [
        *_unused(mesh),
        *_jacobians(mesh, degree),
        *_shared(mesh, owners),
        *_middles(mesh),
        *_loose(mesh, outer),
    ]
    findings += [*_regions(mesh), *_tags(mesh, outer)]
    return [Problem(key, *texts) for texts in findings]


def _place(xyz):
    x, y, z = xyz
    return f"(x, y, z) = ({x:.10g}, {y:.10g}, {z:.10g}) m"


def _element(mesh, e):
    centre = mesh.nodes[mesh.corners[e]].mean(axis=0)
    return f"element {e} (numbers begin at 0; its centre is {_place(centre)})"


def _share(count, total, noun):
    return f"; {count} of {total} {noun} are affected" if count > 1 else ""


def _arrays(mesh):
    """Problems that make every other look-up meaningless: (message, remedy)."""
    elements, count = mesh.elements, len(mesh.nodes)
    if not mesh.size:
        return [("the mesh has no hexahedra", "Mesh the volume with hexahedra of 8 or 27 nodes.")]
    out = (elements < 0) | (elements >= count)
    if out.any():
        e, place = np.argwhere(out)[0]
        text = f"element {e} names node {elements[e, place]}, but the nodes are 0 to {count - 1}"
        return [
            (
                text + _share(out.any(axis=1).sum(), mesh.size, "elements"),
                "Write the mesh again; node numbers begin at 0.",
            )
        ]
    wrong = ~np.isfinite(mesh.nodes).all(axis=1)
    if wrong.any():
        n = np.argmax(wrong)
        text = f"node {n} lies at {_place(mesh.nodes[n])}, which is not finite"
        return [(text + _share(wrong.sum(), count, "nodes"), "Give it finite coordinates in metres.")]
    return _twice(mesh)


def _twice(mesh):
    ordered = np.sort(mesh.elements, axis=1)  # corners and middles alike
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if not twice.any():
        return []
    e = np.argmax(twice)
    node = ordered[e, 1:][ordered[e, 1:] == ordered[e, :-1]][0]
    text = f"{_element(mesh, e)} contains node {node} twice, so it is not a hexahedron{_share(twice.sum(), mesh.size, 'elements')}"
    return [(text, "Mesh with hexahedra only; wedges and pyramids written as hexahedra cannot be used.")]


def _unused(mesh):
    used = np.zeros(len(mesh.nodes), bool)
    used[mesh.elements.ravel()] = True
    if used.all():
        return []
    n = np.argmin(used)
    text = f"node {n} at {_place(mesh.nodes[n])} belongs to no element{_share((~used).sum(), len(used), 'nodes')}"
    return [(text, "Remove the node, or add the elements that use it.")]


def _least(mesh, elements, degree):
    """Least Jacobian of elements (ne, 8 or 27), m3, over the GLL points; where it is (index in the
    lattice).
    """
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


def _jacobians(mesh, degree):
    """Elements in another node order, left-handed or folded ones."""
    least, where = _least(mesh, mesh.elements, degree)
    bad = np.flatnonzero(least <= _limit(mesh, mesh.elements))
    if not len(bad):
        return []
    rest, faults = bad, []
    for name, order in _orders(mesh):
        turned = mesh.elements[rest][:, order]
        good = _least(mesh, turned, degree)[0] > _limit(mesh, turned)
        if good.any():
            faults.append(_misordered(mesh, rest[good], name))
        rest = rest[~good]
    if len(rest):
        faults.append(_folded(mesh, rest, least, where, degree))
    return faults


def _orders(mesh):
    """(format, permutation) of the orders in which nodes may have been given by mistake."""
    width = mesh.elements.shape[1]
    names = ("VTK", "gmsh", "Exodus", "SPECFEM") if width == 27 else ("VTK",)
    orders = [(name, shape.lexicographic(np.arange(width)[None], name)[0]) for name in names]
    p = shape.nodes_per_edge(width)
    return [*orders, ("mirrored", np.arange(width).reshape(p, p, p)[::-1].ravel())]


def _misordered(mesh, elements, name):
    share = _share(len(elements), mesh.size, "elements")
    text = _element(mesh, elements[0])
    if name == "mirrored":
        return (
            f"{text} has its nodes in the wrong order: xi, eta, zeta are left-handed, its Jacobian is negative everywhere{share}",
            "Exchange its lower and upper nodes, or mirror the mesh's coordinates and its elements together.",
        )
    label = "VTK, gmsh and Exodus" if mesh.order == 1 else name
    return (
        f"{text} has its nodes in the wrong order: in the order of {label} the element is valid{share}",
        f"Order them lexicographically, xi fastest, then eta, then zeta: craton.model.mesh.shape.lexicographic(elements, {name!r}).",
    )


def _folded(mesh, rest, least, where, degree):
    with np.errstate(all="ignore"):  # elements of no size, too
        worst = rest[np.argmin(np.nan_to_num(least[rest] / _limit(mesh, mesh.elements[rest])))]
    local = [c[where[worst]] for c in shape.lattice(shape.gll_points(degree))]
    values, _ = shape.shape(mesh.order + 1, *(np.array([c]) for c in local))
    spot = values[:, 0] @ mesh.nodes[mesh.elements[worst]]
    return (
        f"{_element(mesh, worst)} has the Jacobian {least[worst]:.6g} m3 at (xi, eta, zeta) = "
        f"({local[0]:.3g}, {local[1]:.3g}, {local[2]:.3g}), which is {_place(spot)}; "
        f"it must be positive{_share(len(rest), mesh.size, 'elements')}",
        "The element is folded or flat: move its nodes apart, smooth the mesh, or mesh again with a smaller element there.",
    )


def _shared(mesh, owners):
    """Faces of more than two elements; `owners` (ne, 6) counts them."""
    if owners.max() <= 2:
        return []
    e, f = np.argwhere(owners > 2)[0]
    text = f"the face {FACE_NAMES[f]} of {_element(mesh, e)} is shared by {owners[e, f]} elements; at most two can share a face"
    return [(text, "Remove the overlapping elements.")]


def _middles(mesh):
    """27-node elements that share corners but not the nodes between them."""
    if mesh.order == 1:
        return []
    points = numbering.number(mesh.elements, 2)
    node = np.empty(points.count, np.int32)
    node[points.points.reshape(-1)] = mesh.elements.reshape(-1)
    differs = node[points.points.reshape(mesh.size, 27)] != mesh.elements
    if not differs.any():
        return []
    e, place = np.argwhere(differs)[0]
    first, second = mesh.elements[e, place], node[points.points.reshape(mesh.size, 27)[e, place]]
    text = (
        f"{_element(mesh, e)} has node {first} where its neighbour, with which it shares the corners, has node {second}"
    )
    return [
        (
            text + _share(differs.any(axis=1).sum(), mesh.size, "elements"),
            "Use one node for both: merge duplicate nodes when meshing.",
        )
    ]


def _loose(mesh, rows):
    """Duplicate and hanging nodes: both leave unmatched faces, so nodes of boundary faces are all
    that need a look.
    """
    from scipy.spatial import cKDTree

    quads = numbering.face_corners(mesh.elements)[rows[:, 0], rows[:, 1]]
    numbers = np.unique(quads)
    tree = cKDTree(mesh.nodes[numbers])
    corners = mesh.nodes[quads]
    edge = np.sqrt(((corners[:, [1, 3, 2, 0]] - corners[:, [0, 1, 3, 2]]) ** 2).sum(axis=2).min())
    pairs = numbers[tree.query_pairs(NEAR * edge, output_type="ndarray")] if len(numbers) > 1 else np.empty((0, 2), int)
    faults = [_duplicate(mesh, pairs)] if len(pairs) else []
    hanging = _hanging(mesh, rows, quads, tree, np.unique(pairs))
    return faults + ([hanging] if hanging else [])


def _duplicate(mesh, pairs):
    first, second = np.sort(pairs, axis=1)[np.lexsort(np.sort(pairs, axis=1).T[::-1])[0]]
    text = f"nodes {first} and {second} lie at the same place, {_place(mesh.nodes[first])}: the elements there are not connected"
    suffix = f"; {len(pairs)} pairs of nodes coincide" if len(pairs) > 1 else ""
    return (
        text + suffix,
        "Merge duplicate nodes when meshing (Gmsh: Coherence Mesh; CUBIT: imprint and merge before meshing).",
    )


def _hanging(mesh, rows, quads, tree, doubled):
    """Return a node that lies on an unmatched face without being one of its corners: message and
    remedy, or None.
    """
    numbers = np.unique(quads)
    places = mesh.nodes[mesh.elements[rows[:, 0][:, None], numbering.face_nodes(mesh.order)[rows[:, 1]]]]
    centres = places.mean(axis=1)
    radii = np.sqrt(((places - centres[:, None]) ** 2).sum(axis=2).max(axis=1))
    candidates = tree.query_ball_point(centres, radii)
    face = np.repeat(np.arange(len(rows)), [len(ids) for ids in candidates])
    node = numbers[np.concatenate([np.asarray(ids, int) for ids in candidates])] if len(face) else np.empty(0, int)
    other = ~(quads[face] == node[:, None]).any(axis=1) & ~np.isin(node, doubled)
    face, node = face[other], node[other]
    on = _lies_on(places[face], mesh.nodes[node], radii[face])
    if not on.any():
        return None
    n, (e, f) = node[on][0], rows[face[on][0]]
    count = len(np.unique(node[on]))
    return (
        f"node {n} at {_place(mesh.nodes[n])} is a hanging node: it lies on the face {FACE_NAMES[f]} of {_element(mesh, e)} "
        "but is not one of its corners" + _share(count, len(numbers), "nodes of unmatched faces"),
        "Elements must share whole faces: refine with transition elements, or mesh both sides together.",
    )


def _lies_on(places, target, sizes, turns=8):
    """Whether points (m, 3) lie on faces given by their nodes (m, 4 or 9, 3): Newton for the
    nearest point of each.
    """
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
    values, slopes = shape.shape(p, s, t, np.full_like(s, -1.0))
    weights = (values, slopes[0], slopes[1])
    return tuple(np.einsum("am,mac->mc", w[: p * p], places) for w in weights)


def _regions(mesh):
    lacking = (mesh.regions < 0) | (mesh.regions >= max(1, len(mesh.region_names)))
    if not lacking.any():
        return []
    e = np.argmax(lacking)
    text = f"{_element(mesh, e)} has no material tag{_share(lacking.sum(), mesh.size, 'elements')}"
    return [(text, f"Put every element into one of the regions ({', '.join(mesh.region_names) or 'none is named'}).")]


def _tags(mesh, outer):
    """Boundary faces in no set or in two, and rows of sets that name no face."""
    findings, coded = [], {}
    for name, rows in mesh.faces.items():
        bad = (rows[:, 0] < 0) | (rows[:, 0] >= mesh.size) | (rows[:, 1] < 0) | (rows[:, 1] > 5)
        if bad.any():
            e, f = rows[np.argmax(bad)]
            findings.append(
                (
                    f"the face set {name!r} names face {f} of element {e}; elements are 0 to {mesh.size - 1}, faces 0 to 5",
                    "Write the face set again.",
                )
            )
        coded[name] = rows[~bad] @ np.array([6, 1])
    outer = outer @ np.array([6, 1])
    tagged = np.concatenate([np.empty(0, int), *coded.values()])
    missing = outer[~np.isin(outer, tagged)]
    if len(missing):
        findings.append(_untagged(mesh, missing, len(outer)))
    twice = np.unique(tagged[np.isin(tagged, outer)], return_counts=True)
    twice = twice[0][twice[1] > 1]
    if len(twice):
        names = [name for name, codes in coded.items() if twice[0] in codes]
        text = f"the face {FACE_NAMES[twice[0] % 6]} of {_element(mesh, twice[0] // 6)} is in the face sets "
        text += " and ".join(map(repr, names)) + _share(len(twice), len(outer), "boundary faces")
        findings.append((text, "Put each boundary face into one set: it has one boundary condition."))
    return findings


def _untagged(mesh, missing, count):
    e, f = divmod(int(missing[0]), 6)
    centre = mesh.nodes[mesh.elements[e][numbering.face_nodes(mesh.order)[f]]].mean(axis=0)
    names = ", ".join(map(repr, mesh.faces)) or "there is none"
    return (
        f"the face {FACE_NAMES[f]} of element {e} lies on the boundary, at {_place(centre)}, and is in no face set ({names})"
        + _share(len(missing), count, "boundary faces"),
        "Put it into a face set (physical surface, side set), so that it gets a boundary condition; "
        "if it lies inside the mesh, the elements there do not share their nodes.",
    )
