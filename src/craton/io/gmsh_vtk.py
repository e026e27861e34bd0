"""Gmsh (.msh) and VTK unstructured grids (.vtk, .vtu), through meshlane or meshio."""

from importlib import import_module

import numpy as np

from craton import memory
from craton.io.contents import FileError
from craton.io.mesh_parts import MeshParts

# Cell data of VTK files that may say what a cell is made of, or which boundary it lies on.
TAGS = (
    "gmsh:physical",
    "region",
    "regions",
    "material",
    "materials",
    "material_id",
    "MaterialIDs",
    "block_id",
    "BlockId",
    "ObjectId",
)
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


def read(path):
    """Read the parts of a file.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    MeshParts

    Raises
    ------
    FileError
        No library is installed, or it cannot read the file.
    """
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
    names = {
        (int(dim), int(tag)): name
        for name, (tag, dim) in ((n, v) for n, v in mesh.field_data.items() if np.size(v) == 2)
    }
    source = next((name for name in TAGS if name in mesh.cell_data), None)
    # in Gmsh, group 0 is no group
    data, none = mesh.cell_data.get(source), 0 if source == "gmsh:physical" else None
    for i, block in enumerate(mesh.cells):
        tags = None if data is None else np.asarray(data[i]).astype(np.int64).ravel()
        cells = np.asarray(block.data)
        if block.type in ("hexahedron", "hexahedron20", "hexahedron27"):
            parts.add_elements(cells, "VTK", _named(tags, names, 3, len(cells), none))
        elif block.type in ("quad", "quad8", "quad9"):
            parts.add_quads(cells[:, :4], _named(tags, names, 2, len(cells), none))
        else:
            parts.add_others(block.type, cells)
    lost = sorted({name for (dimension, _), name in names.items() if dimension == 3})
    if lost and parts.names and all(name is None for name in np.concatenate(parts.names)):
        raise FileError(f"it names the physical volumes {', '.join(lost)}, but they have no elements", SAVE_GROUPS)
    return parts


def _named(tags, names, dimension, count, none):
    """Name of each cell from its tag, None where it has none."""
    if tags is None:
        return np.full(count, None, object)
    lookup = {tag: None if tag == none else names.get((dimension, tag), str(tag)) for tag in np.unique(tags).tolist()}
    return np.array([lookup[tag] for tag in tags.tolist()], object)
