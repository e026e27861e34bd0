"""Exodus II meshes (CUBIT, Trelis, Coreform): blocks of hexahedra, side sets, blocks of
quadrilaterals.

Layout and numbering: Schoof & Yarberry 1994, EXODUS II: a finite element data model (SAND92-2137).
The file is netCDF, either HDF5 or classic.
"""

import numpy as np

from craton.io.contents import FileError, MissingLibrary
from craton.io.libraries import library
from craton.io.mesh_parts import MeshParts

SIDES = np.array([2, 1, 3, 0, 4, 5])  # local face of sides 1 to 6 of a hexahedron
KINDS = {"HEX": (8, 20, 27), "QUAD": (4, 8, 9), "SHELL": (4, 8, 9)}


def read(path):
    """Read the parts of an Exodus file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    MeshParts

    Raises
    ------
    FileError
    """
    with _opened(path) as file:
        parts = MeshParts(_points(file))
        _side_sets(file, parts, _blocks(file, parts))
    return parts


class _File:
    """Variables of a netCDF file by name, read by h5py or, where it is classic, by SciPy."""

    def __init__(self, variables, close):
        self.variables, self.close = variables, close

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __contains__(self, name):
        return name in self.variables

    def get(self, name):
        """Return a copy of a variable, or None."""
        return np.array(self.variables[name][()]) if name in self.variables else None

    def kind(self, name):
        """Return the attribute elem_type of a block, upper case."""
        held = self.variables[name]
        value = (
            getattr(held, "attrs", {}).get("elem_type") if hasattr(held, "attrs") else getattr(held, "elem_type", b"")
        )
        value = value[0] if isinstance(value, np.ndarray) and value.size == 1 else value
        return (value.decode() if isinstance(value, bytes) else str(value)).upper().strip("\0 ")

    def names(self, name, count, numbers, word):
        """Names of blocks or sets: those given, or `word` and the number."""
        rows = self.get(name)
        if rows is None:
            rows = np.zeros((count, 1), "S1")
        texts = [b"".join(row.ravel().tolist()).decode("utf-8", "replace").strip("\0 ") for row in rows.astype("S1")]
        ids = self.get(numbers)
        ids = np.arange(1, count + 1) if ids is None else ids
        return [text or f"{word} {int(number)}" for text, number in zip(texts, ids)]


def _opened(path):
    with open(path, "rb") as stream:
        magic = stream.read(4)
    if magic[:3] == b"CDF" and magic[3] in (1, 2):
        from scipy.io import netcdf_file

        held = netcdf_file(path, "r", mmap=False)
        return _File(held.variables, held.close)
    if magic != b"\x89HDF":
        raise FileError(
            "this is not an Exodus file: it is neither HDF5 nor classic netCDF", 'CUBIT: export mesh "name.e".'
        )
    h5py = library("h5py", "an Exodus mesh", MissingLibrary)
    held = h5py.File(path, "r")
    return _File(held, held.close)


def _points(file):
    if "coord" in file:
        return np.ascontiguousarray(file.get("coord").T, dtype=float)
    axes = [file.get(f"coord{axis}") for axis in "xyz"]
    if any(axis is None for axis in axes):
        raise FileError(
            "it has no coordinates coordx, coordy, coordz", "Export the mesh in three dimensions (CUBIT: dimension 3)."
        )
    return np.column_stack(axes).astype(float)


def _blocks(file, parts):
    """Read the element blocks; returns each element's number among the hexahedra (or -1)."""
    count = 0
    while f"connect{count + 1}" in file:
        count += 1
    if not count:
        raise FileError("it has no element blocks", "CUBIT: put the volumes into blocks before exporting.")
    names = file.names("eb_names", count, "eb_prop1", "block")
    solid, seen = [], 0
    for i, name in enumerate(names):
        cells = file.get(f"connect{i + 1}").astype(np.int64) - 1
        kind = file.kind(f"connect{i + 1}")
        base = kind.rstrip("0123456789").replace("HEXAHEDRON", "HEX")
        element_numbers = np.full(len(cells), -1)
        label = np.full(len(cells), name, object)
        if cells.shape[1] not in KINDS.get(base, ()):
            parts.add_others(_known(base, kind), cells)
        elif base == "HEX":
            parts.add_elements(cells, "Exodus", label)
            element_numbers = seen + np.arange(len(cells))
            seen += len(cells)
        else:
            parts.add_quads(cells[:, :4], label)
        solid.append(element_numbers)
    return np.concatenate(solid)


def _known(base, kind):
    """Name of a block's type as the messages of other formats know it."""
    words = {"TET": "tetra", "TETRA": "tetra", "WEDGE": "wedge", "PYRAMID": "pyramid"}
    return "polyhedron" if base == "HEX" else words.get(base, kind.lower())


def _side_sets(file, parts, solid):
    """Read the side sets, which name elements by their number in the whole file and sides of
    hexahedra 1 to 6.
    """
    count = 0
    while f"elem_ss{count + 1}" in file:
        count += 1
    for i, name in enumerate(file.names("ss_names", count, "ss_prop1", "side set")):
        elements, sides = (file.get(f"{kind}_ss{i + 1}").astype(np.int64).ravel() - 1 for kind in ("elem", "side"))
        if elements.size and (elements.min() < 0 or elements.max() >= len(solid)):
            raise FileError(
                f"the side set {name!r} names element {elements.max() + 1} of {len(solid)}", "Export the mesh again."
            )
        hexahedra = solid[elements]
        keep = (hexahedra >= 0) & (sides >= 0) & (sides < 6)
        if keep.any():
            parts.sides[name] = (hexahedra[keep], SIDES[sides[keep]])
