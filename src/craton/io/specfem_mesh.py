"""Meshes in the text files of SPECFEM3D Cartesian's external meshers (its manual, chapter "Mesh
Generation").

    nodes_coords_file           count, then rows: node x y z
    mesh_file                   count, then rows: element, its 8 or 27 nodes
    materials_file              rows: element material
    free_or_absorbing_surface_file_zmax, absorbing_surface_file_xmin, _xmax, _ymin, _ymax, _bottom
                                count, then rows: element, the 4 or 9 nodes of its face
"""

import warnings
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, floats
from craton.io.mesh_parts import MeshParts

MOST_EXACT = 2.0**53
SURFACES = {
    "free_or_absorbing_surface_file_zmax": "top",
    "free_surface_file": "top",  # its name before version 2.1
    "absorbing_surface_file_bottom": "bottom",
    "absorbing_surface_file_xmin": "west",
    "absorbing_surface_file_xmax": "east",
    "absorbing_surface_file_ymin": "south",
    "absorbing_surface_file_ymax": "north",
}


def recognises(path):
    """Whether a path is a folder.

    Parameters
    ----------
    path : pathlib.Path
    """
    return path.is_dir()


def read(folder):
    """Read the parts of a folder of mesh files.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    MeshParts
        Elements in the order of ``mesh_file``; materials are named by their numbers.

    Raises
    ------
    FileError
    """
    folder = Path(folder)
    missing = [name for name in ("nodes_coords_file", "mesh_file") if not (folder / name).exists()]
    if missing:
        raise FileError(
            f"the folder has no file {' and no file '.join(missing)}",
            "A mesh folder of SPECFEM3D has nodes_coords_file, "
            "mesh_file, materials_file and surface files such as absorbing_surface_file_xmin.",
        )
    nodes = _table(folder / "nodes_coords_file", (4,))
    rows = whole_numbers(_table(folder / "mesh_file", (9, 28)), "mesh_file")
    order = np.argsort(nodes[:, 0], kind="stable")
    find = _finder(whole_numbers(nodes[order, 0], "nodes_coords_file"), order, "node")
    parts = MeshParts(nodes[:, 1:])
    elements = _finder(*_sorted(rows[:, 0]), "element")
    parts.add_elements(find(rows[:, 1:], "mesh_file"), "SPECFEM", _materials(folder, len(rows), elements))
    for file, name in SURFACES.items():
        if (folder / file).exists():
            faces = whole_numbers(_table(folder / file, (5, 10)), file)
            parts.add_quads(find(faces[:, 1:5], file), np.full(len(faces), name, object))
    return parts


def _sorted(ids):
    order = np.argsort(ids, kind="stable")
    return ids[order], order


def _finder(ids, order, noun):
    """Return function that turns numbers of the file into positions."""

    def find(numbers, file):
        place = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
        lost = ids[place] != numbers
        if lost.any():
            raise FileError(
                f"{file} names {noun} {numbers[lost][0]}, which does not exist", f"Write the {noun}s again."
            )
        return order[place]

    return find


def _numbers(path):
    """All numbers of a text file."""
    with warnings.catch_warnings():
        # NumPy's way to say that it met something that is no number
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromfile(path, sep=" ")
        except (DeprecationWarning, ValueError):
            pass
    try:
        return floats(path.read_text().replace("D", "E").replace("d", "E").split())
    except ValueError as error:
        raise FileError(
            f"{path.name} contains something that is not a number: {error}", "Write the file again."
        ) from None


def _table(path, widths):
    """Rows of a file that begins with their count: (count, one of the widths)."""
    values = _numbers(path)
    count = int(values[0]) if len(values) else 0
    width, rest = divmod(len(values) - 1, count) if count > 0 else (widths[0], len(values) - 1)
    if rest or width not in widths:
        lengths = " or ".join(map(str, widths))
        raise FileError(
            f"{path.name} announces {count} rows but contains {max(len(values) - 1, 0)} numbers; a row has {lengths}",
            "The first line is the number of rows; each row is complete.",
        )
    return values[1:].reshape(count, width)


def whole_numbers(values, name):
    """Numbers of elements, nodes and materials: int64 array.

    Parameters
    ----------
    values : ndarray
        As read, float64.
    name : str
        Of the file.

    Raises
    ------
    FileError
        One of them is no whole number, or larger than 2^53, beyond which numbers merge.
    """
    good = (np.abs(values) <= MOST_EXACT) & (values == np.floor(values))
    if not good.all():
        wrong = values.flat[int(np.argmin(good))]
        raise FileError(f"{name}: {wrong:g} is not a whole number up to 2^53", "Write it again.")
    return values.astype(np.int64)


def _materials(folder, count, find):
    """Name of each element's material, its number; None where there is none."""
    names = np.full(count, None, object)
    path = folder / "materials_file"
    if path.exists():
        values = _numbers(path)
        if len(values) % 2:
            raise FileError("materials_file has an odd number of numbers", "A row is: element material.")
        rows = whole_numbers(values, path.name).reshape(-1, 2)
        names[find(rows[:, 0], path.name)] = [str(number) for number in rows[:, 1].tolist()]
    return names
