"""Meshes from files: the parts that a reader of `craton.io` finds, as a mesh with regions and face
sets.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from craton import io
from craton.errors import ScenarioError
from craton.io.contents import NODE_ORDERS, FileError
from craton.model.mesh import numbering, shape
from craton.model.mesh.hexmesh import HexMesh, completed, named_by_place

PLURAL = {"tetra": "tetrahedra", "wedge": "wedges", "pyramid": "pyramids", "polyhedron": "polyhedra"}


def read_mesh(path, key="domain.mesh"):
    """Read a mesh of hexahedra with 8, 20 or 27 nodes (those of 20 are completed).

    `path` path-like: file, known by its suffix, or the folder with ``nodes_coords_file`` and ``mesh_file`` of
    SPECFEM3D's external meshes; `key`: key in the scenario, for messages. Returns HexMesh: regions from physical
    groups, blocks or materials; face sets from physical surfaces, side sets, blocks of quadrilaterals, or SPECFEM's
    surface files (named top, bottom, west, east, south, north); a file without face sets gets these names by the place
    of its faces; elements are in the file's order and numbered from 0; see `hexmesh.problems` for checks. Raises
    ScenarioError: with what is missing or wrong.
    """
    path = Path(path)
    try:
        if not path.exists():
            raise FileError("there is no such file or folder", f"Looked for {path.resolve()}.")
        return assembled(io.read(path, "mesh"))
    except FileError as error:
        raise ScenarioError.of(key, f"{path.name}: {error}", error.remedy) from None


# --- from parts to a mesh -------------------------------------------------------------------------


def assembled(parts):
    """Return the mesh of what a file holds.

    Raises FileError.
    """
    _only_hexahedra(parts)
    elements, names = np.concatenate(parts.elements), np.concatenate(parts.names)
    nodes, renumbered = _used(parts, elements)
    regions, region_names = _regions(names)
    corners = shape.lexicographic(renumbered[elements[:, :8]], "VTK")
    nodes_of = shape.lexicographic(renumbered[elements], "VTK") if elements.shape[1] == 27 else corners
    mesh = HexMesh(nodes, nodes_of, regions, region_names)
    if elements.shape[1] == 20:
        mesh = completed(mesh, _serendipity(parts.points[elements]))
    return replace(mesh, faces=_face_sets(parts, renumbered, corners) or named_by_place(mesh))


def _only_hexahedra(parts):
    shapes = {kind: kind.rstrip("0123456789") for kind in parts.counts}
    solid = [kind for kind, name in shapes.items() if name in PLURAL or kind.startswith("VTK_")]
    if solid:
        cells = (f"{parts.counts[kind]} {PLURAL.get(shapes[kind], f'cells of type {kind}')}" for kind in solid)
        words = f"it contains {', '.join(cells)}; only hexahedra with 8, 20 or 27 nodes are supported"
        raise FileError(words, "Mesh with hexahedra (Gmsh: transfinite or extruded and recombined; CUBIT: map, sweep).")
    if not parts.elements:
        cells = ", ".join(f"{n} {kind}" for kind, n in parts.counts.items()) or "no cells at all"
        remedy = "Gmsh: mesh in 3-D, and put the volumes into a physical group."
        raise FileError(f"it contains no hexahedra but {cells}", remedy)
    widths = {block.shape[1] for block in parts.elements}
    if len(widths) > 1:
        words = f"it mixes hexahedra with {' and '.join(map(str, sorted(widths)))} nodes"
        raise FileError(words, "Write all elements with one order.")


def _used(parts, elements):
    """Nodes without those that only points, lines and surfaces use, and the new number of each:
    unused ones remain, to be told.
    """
    hexahedra, lower = (np.zeros(len(parts.points), bool) for _ in range(2))
    unknown = elements[(elements < 0) | (elements >= len(parts.points))]
    if len(unknown):
        words = f"an element names node {unknown[0]} (from 0), but there are {len(parts.points)} nodes"
        raise FileError(words, "Write it again.")
    hexahedra[elements.ravel()] = True
    for cells in parts.others:
        lower[cells] = True
    # Completing elements of 20 nodes makes all nodes anew; the corners are then all that counts.
    keep = hexahedra | ~lower
    renumbered = np.where(keep, np.cumsum(keep) - 1, -1)
    return parts.points[keep], renumbered


def _regions(names):
    """Region index of each element, and the names; -1 where some have a name and this has none."""
    present = sorted({name for name in names if name is not None}, key=_natural)
    if not present:
        return np.zeros(len(names), np.int32), ()
    index = {name: i for i, name in enumerate(present)} | {None: -1}
    return np.array([index[name] for name in names], np.int32), tuple(present)


def _natural(name):
    """Sort numbers by value, before words."""
    return (0, int(name), "") if name.removeprefix("-").isdecimal() else (1, 0, name)


def _serendipity(places):
    """Places of 27 nodes, lexicographic, from those of 20 (ne, 20, 3) in VTK's order, where the
    20-node shape functions put them.
    """
    full = np.empty((len(places), 27, 3))
    order = np.array(NODE_ORDERS["VTK"])
    full[:, order[:20]] = places
    place = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), axis=1)  # 0, 1 or 2 along each axis
    middles = (place == 1).sum(axis=1)
    for node in np.flatnonzero(middles > 1):  # centres of faces and of the element
        around = ((place == place[node]) | (place[node] == 1)).all(axis=1)
        edges, corners = (full[:, around & (middles == count)].sum(axis=1) for count in (1, 0))
        full[:, node] = edges / 2 ** (middles[node] - 1) - corners / 4
    return full


def _face_sets(parts, renumbered, corners):
    """Face sets: those that the file gives by element and side, and those that it gives as quadrilaterals."""
    sets = {name: [np.column_stack(pair)] for name, pair in parts.sides.items()}
    if parts.quads:
        quads = renumbered[np.concatenate([q for q, _ in parts.quads])]
        names = np.concatenate([n for _, n in parts.quads])
        named = np.array([name is not None for name in names], bool)
        rows = _matched(quads[named], names[named], corners)
        for name in sorted(set(names[named])):
            sets.setdefault(name, []).append(rows[names[named] == name])
    return {name: np.concatenate(rows).astype(np.int32) for name, rows in sets.items()}


def _matched(quads, names, corners):
    """Return the (element, face) of each quadrilateral (nq, 4), by its nodes; of two elements that
    share it the first.
    """
    is_named = np.zeros(int(max(corners.max(), quads.max(initial=-1))) + 1, bool)
    is_named[quads[quads >= 0]] = True
    faces = numbering.face_corners(corners)
    rows = np.argwhere(is_named[faces].all(axis=2))
    candidates = np.sort(faces[rows[:, 0], rows[:, 1]], axis=1)
    both = np.concatenate([candidates, np.sort(quads, axis=1)])
    _, first, same = np.unique(both, axis=0, return_index=True, return_inverse=True)
    row_of = first[same.reshape(-1)[len(rows) :]]
    lost = row_of >= len(rows)
    if lost.any():
        i = np.argmax(lost)
        raise FileError(
            f"{lost.sum()} quadrilaterals are not faces of hexahedra, the first in {names[i]!r}",
            "Mesh surfaces and volumes together so that they share nodes.",
        )
    return rows[row_of]
