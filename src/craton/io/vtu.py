"""Meshes of hexahedra and fields on them for ParaView and PyVista: VTK unstructured grids (.vtu)."""

from base64 import b64encode
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from craton.io.contents import NODE_ORDERS
from craton.io.libraries import written

TYPES = {8: 12, 27: 29}  # VTK_HEXAHEDRON, VTK_TRIQUADRATIC_HEXAHEDRON
VTK_NAMES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}


def write_mesh(path, mesh, point_data=None, cell_data=None):
    """Write a mesh with fields as a .vtu file, which ParaView and PyVista open.

    For fields at GLL points write `hexmesh.subdivided(mesh, degree)`: its nodes are the points, in
    the order of their numbers.

    Parameters
    ----------
    path : path-like
        Ends in ``.vtu``; written under another name first and then renamed.
    mesh : HexMesh
        Elements keep 8 or 27 nodes. Regions are written as cell data ``region``, face sets as cell
        data ``faces NAME``: the sum of 2^face over the faces of an element that are in the set.
    point_data, cell_data : dict of str to arrays, optional
        Values at the m nodes or the ne elements: (m,) or (m, components).

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        An array of another length than nodes or elements.
    ResourceError
        The file cannot be written.
    """
    path = Path(path)
    width = mesh.elements.shape[1]
    order = NODE_ORDERS["VTK"] if width == 27 else np.argsort(np.argsort(NODE_ORDERS["VTK"][:8]))
    cells = {
        "connectivity": mesh.elements[:, order].ravel(),
        "offsets": np.arange(1, mesh.size + 1, dtype=np.int64) * width,
        "types": np.full(mesh.size, TYPES[width], np.uint8),
    }
    cell_sets = {"region": mesh.regions} | {
        f"faces {name}": _bits(mesh.size, rows) for name, rows in mesh.faces.items()
    }
    sections = {
        "PointData": _checked(point_data or {}, len(mesh.nodes), "nodes"),
        "CellData": cell_sets | _checked(cell_data or {}, mesh.size, "elements"),
        "Points": {"positions": mesh.nodes},
        "Cells": cells,
    }
    _write(path, sections, f'NumberOfPoints="{len(mesh.nodes)}" NumberOfCells="{mesh.size}"')
    return path


def _bits(count, rows):
    bits = np.zeros(count, np.int32)
    np.bitwise_or.at(bits, rows[:, 0], 1 << rows[:, 1])
    return bits


def _checked(data, count, noun):
    for name, values in data.items():
        if np.ndim(values) not in (1, 2) or len(values) != count:
            shapes = f"({count},) or ({count}, components)"
            raise ValueError(
                f"{name!r} has the shape {np.shape(values)}; there are {count} {noun}: it must be {shapes}"
            )
    return data


def _numeric(values):
    """Return an array of a type that VTK knows, little-endian, C order."""
    values = np.asarray(values)
    kind = values.dtype.str[1:]
    kind = kind if kind in VTK_NAMES else "f8" if values.dtype.kind == "f" else "i8"
    return np.ascontiguousarray(values, dtype=kind if kind == "u1" else f"<{kind}")


def _write(path, sections, sizes):
    """Write the XML of headers, then all arrays in one appended block (VTK file formats, "XML
    formats"), base64.
    """
    header, blocks, offset = [], [], 0
    for section, arrays in sections.items():
        header.append(f"<{section}>")
        for name, array in arrays.items():
            values = _numeric(array)
            components = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
            kind = VTK_NAMES[values.dtype.str[1:]]
            header.append(
                f'<DataArray type="{kind}" Name={quoteattr(str(name))}{components} format="appended" offset="{offset}"/>'
            )
            text = b64encode(np.uint64(values.nbytes).tobytes()) + b64encode(values.data if values.nbytes else b"")
            blocks.append(text)
            offset += len(text)
        header.append(f"</{section}>")
    start = '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
    body = "\n".join(["<UnstructuredGrid>", f"<Piece {sizes}>", *header, "</Piece>", "</UnstructuredGrid>"])
    with written(path) as partial, open(partial, "wb") as file:
        file.write(f'{start}{body}\n<AppendedData encoding="base64">\n_'.encode())
        file.writelines(blocks)
        file.write(b"\n</AppendedData>\n</VTKFile>\n")
