"""Meshes of hexahedra in files of Gmsh and VTK (through meshlane or meshio), of Exodus II and of SPECFEM3D Cartesian.

Exodus II (CUBIT, Trelis, Coreform) is netCDF, either HDF5 or classic: Schoof & Yarberry 1994, EXODUS II: a finite element
data model (SAND92-2137). A folder for SPECFEM3D (its manual, chapter "Mesh Generation") has the text files

    nodes_coords_file           count, then rows: node x y z
    mesh_file                   count, then rows: element, its 8 or 27 nodes
    materials_file              rows: element material
    free_or_absorbing_surface_file_zmax, absorbing_surface_file_xmin, _xmax, _ymin, _ymax, _bottom
                                count, then rows: element, the 4 or 9 nodes of its face
"""

import itertools
import warnings
from importlib import import_module

import numpy as np

from craton import memory
from craton.io import netcdf
from craton.io.contents import FileError, MeshParts, floats

# --- Gmsh and VTK ---------------------------------------------------------------------------------

# Cell data of VTK files that may say what a cell is made of, or which boundary it lies on.
TAGS = ("gmsh:physical", "region", "regions", "material", "materials", "material_id", "MaterialIDs")
TAGS += ("block_id", "BlockId", "ObjectId")
SLACK, MOST_OF_A_BYTE = 1 << 29, 100  # bytes of memory for a file, and for each of its bytes
SAVE_GROUPS = "In Gmsh, put all volumes and their outer surfaces into physical groups, and save without Mesh.SaveAll."


def _mesh_library():
    """Return the module meshlane; where it is not installed meshio, whose functions are the same."""
    for name in ("meshlane", "meshio"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise FileError(
        "Gmsh and VTK meshes need meshlane", "Install it: pip install meshlane (or craton[mesh]); meshio does as well."
    )


def read_gmsh_vtk(path) -> MeshParts:
    """Read a file of Gmsh (.msh) or an unstructured grid of VTK (.vtk, .vtu)."""
    library, most = _mesh_library(), SLACK + MOST_OF_A_BYTE * path.stat().st_size
    try:
        # Not the library's read: it prints, and ends the program where it fails.
        reader = {".msh": library.gmsh, ".vtk": library.vtk, ".vtu": library.vtu}
        with memory.limited(most):
            mesh = reader[path.suffix.lower()].read(str(path))
    except MemoryError:
        raise FileError(
            f"reading it takes more than {most / 2**20:,.0f} MiB, far more than so short a file can hold",
            "The file is damaged, or numbers its nodes with large gaps: write it again.",
        ) from None
    # a reader of foreign files fails in many ways; all mean the same to the user
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(
            f"{library.__name__} {library.__version__} cannot read it: {reason[:160]}",
            SAVE_GROUPS if path.suffix.lower() == ".msh" else "Write an unstructured grid.",
        ) from error
    return _sorted_cells(mesh)


def _sorted_cells(mesh):
    """Parts from the cells of a meshlane.Mesh, which are in VTK's order."""
    parts = MeshParts(np.asarray(mesh.points, float))
    names = {(int(v[1]), int(v[0])): name for name, v in mesh.field_data.items() if np.size(v) == 2}  # tag, dimension
    source = next((name for name in TAGS if name in mesh.cell_data), None)
    # in Gmsh, group 0 is no group
    data, none = mesh.cell_data.get(source), 0 if source == "gmsh:physical" else None
    for i, block in enumerate(mesh.cells):
        tags = None if data is None else np.asarray(data[i]).astype(np.int64).ravel()
        cells = np.asarray(block.data)
        if block.type in ("hexahedron", "hexahedron20", "hexahedron27"):
            parts.add_elements(cells, "VTK", _groups(tags, names, 3, len(cells), none))
        elif block.type in ("quad", "quad8", "quad9"):
            parts.add_quads(cells[:, :4], _groups(tags, names, 2, len(cells), none))
        else:
            parts.add_others(block.type, cells)
    lost = sorted({name for (dimension, _), name in names.items() if dimension == 3})
    if lost and parts.names and all(name is None for name in np.concatenate(parts.names)):
        raise FileError(f"it names the physical volumes {', '.join(lost)}, but they have no elements", SAVE_GROUPS)
    return parts


def _groups(tags, names, dimension, count, none):
    """Name of each cell from its tag, None where it has none."""
    if tags is None:
        return np.full(count, None, object)
    lookup = {tag: None if tag == none else names.get((dimension, tag), str(tag)) for tag in np.unique(tags).tolist()}
    return np.array([lookup[tag] for tag in tags.tolist()], object)


# --- Exodus II ------------------------------------------------------------------------------------

SIDES = np.array([2, 1, 3, 0, 4, 5])  # local face of sides 1 to 6 of a hexahedron
KINDS = {"HEX": (8, 20, 27), "QUAD": (4, 8, 9), "SHELL": (4, 8, 9)}
# Types of other blocks, as the messages of other formats name them.
OTHERS = {"HEX": "polyhedron", "TET": "tetra", "TETRA": "tetra", "WEDGE": "wedge", "PYRAMID": "pyramid"}


def read_exodus(path) -> MeshParts:
    """Read blocks of hexahedra and of quadrilaterals, and side sets."""
    with open(path, "rb") as stream:
        if not stream.read(4).startswith(netcdf.MAGIC):
            raise FileError(
                "this is not an Exodus file: it is neither HDF5 nor classic netCDF", 'CUBIT: export mesh "name.e".'
            )
    with netcdf.opened(path) as file:
        parts = MeshParts(_points(file))
        _side_sets(file, parts, _blocks(file, parts))
    return parts


def _points(file):
    if "coord" in file:
        return np.ascontiguousarray(file["coord"].values.T, dtype=float)
    axes = [f"coord{axis}" for axis in "xyz"]
    if not all(axis in file for axis in axes):
        raise FileError(
            "it has no coordinates coordx, coordy, coordz", "Export the mesh in three dimensions (CUBIT: dimension 3)."
        )
    return np.column_stack([file[axis].values for axis in axes]).astype(float)


def _named(file, variable, names, numbers, word):
    """Return the names of the blocks or sets whose variables are numbered from 1: those given, or `word` and the number."""
    count = next(n for n in itertools.count() if f"{variable}{n + 1}" not in file)
    rows = file[names].values if names in file else np.zeros((count, 1), "S1")
    ids = file[numbers].values if numbers in file else range(1, count + 1)
    texts = [np.ravel(row).astype("S").tobytes() for row in rows]  # letter by letter, or joined by xarray
    return [_text(texts[n]) or f"{word} {int(ids[n])}" for n in range(count)]


def _text(value):
    """Return letters of a file as text."""
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip("\0 ")


def _blocks(file, parts):
    """Read the element blocks; return each element's number among the hexahedra, or -1."""
    names, numbers, seen = _named(file, "connect", "eb_names", "eb_prop1", "block"), [], 0
    if not names:
        raise FileError("it has no element blocks", "CUBIT: put the volumes into blocks before exporting.")
    for i, name in enumerate(names, 1):
        cells = file[f"connect{i}"].values.astype(np.int64) - 1
        kind = _text(file[f"connect{i}"].attrs.get("elem_type", "")).upper()
        base = kind.rstrip("0123456789").replace("HEXAHEDRON", "HEX")
        label = np.full(len(cells), name, object)
        numbers.append(np.full(len(cells), -1))
        if cells.shape[1] not in KINDS.get(base, ()):
            parts.add_others(OTHERS.get(base, kind.lower()), cells)
        elif base == "HEX":
            parts.add_elements(cells, "Exodus", label)
            numbers[-1] = seen + np.arange(len(cells))
            seen += len(cells)
        else:
            parts.add_quads(cells[:, :4], label)
    return np.concatenate(numbers)


def _side_sets(file, parts, numbers):
    """Read the side sets, which name elements by their number in the whole file and sides of hexahedra 1 to 6."""
    for i, name in enumerate(_named(file, "elem_ss", "ss_names", "ss_prop1", "side set"), 1):
        elements, sides = (file[f"{kind}_ss{i}"].values.astype(np.int64) - 1 for kind in ("elem", "side"))
        if elements.size and (elements.min() < 0 or elements.max() >= len(numbers)):
            raise FileError(
                f"the side set {name!r} names element {elements.max() + 1} of {len(numbers)}", "Export the mesh again."
            )
        hexahedra = numbers[elements]
        keep = (hexahedra >= 0) & (sides >= 0) & (sides < 6)
        if keep.any():
            parts.sides[name] = (hexahedra[keep], SIDES[sides[keep]])


# --- SPECFEM3D ------------------------------------------------------------------------------------

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


def is_folder(path) -> bool:
    """Whether a path is a folder, as the meshes of SPECFEM3D are."""
    return path.is_dir()


def read_specfem(folder) -> MeshParts:
    """Read a folder of mesh files: elements in the order of ``mesh_file``, materials named by their numbers."""
    missing = [name for name in ("nodes_coords_file", "mesh_file") if not (folder / name).exists()]
    if missing:
        raise FileError(
            f"the folder has no file {' and no file '.join(missing)}",
            "A mesh folder of SPECFEM3D has nodes_coords_file, "
            "mesh_file, materials_file and surface files such as absorbing_surface_file_xmin.",
        )
    nodes = _table(folder / "nodes_coords_file", (4,))
    rows = _whole_numbers(_table(folder / "mesh_file", (9, 28)), "mesh_file")
    find = _finder(_whole_numbers(nodes[:, 0], "nodes_coords_file"), "node")
    parts = MeshParts(nodes[:, 1:])
    elements = _finder(rows[:, 0], "element")
    parts.add_elements(find(rows[:, 1:], "mesh_file"), "SPECFEM", _materials(folder, len(rows), elements))
    for file, name in SURFACES.items():
        if (folder / file).exists():
            faces = _whole_numbers(_table(folder / file, (5, 10)), file)
            parts.add_quads(find(faces[:, 1:5], file), np.full(len(faces), name, object))
    return parts


def _finder(ids, noun):
    """Return a function from numbers of the file to their rows."""
    order = np.argsort(ids, kind="stable")
    rising = ids[order]

    def find(numbers, file):
        place = np.minimum(np.searchsorted(rising, numbers), len(rising) - 1)
        lost = rising[place] != numbers
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


def _whole_numbers(values, name):
    """Return numbers of elements, nodes and materials as integers; refuse others, and beyond 2^53, where numbers merge."""
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
        rows = _whole_numbers(values, path.name).reshape(-1, 2)
        names[find(rows[:, 0], path.name)] = [str(number) for number in rows[:, 1].tolist()]
    return names
