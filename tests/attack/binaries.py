"""Small sound files of binary formats, and of formats in many files: each function writes one; False where a library is missing."""

import struct
from importlib.util import find_spec
from itertools import product

import numpy as np
import xarray as xr

CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))  # SPECFEM's order


def to_file(fields, axes, path, **attributes):
    """Write netCDF-4, or zarr by the end of the name."""
    dataset = xr.Dataset(fields, axes, attributes)
    if path.suffix == ".zarr":
        dataset.to_zarr(path, zarr_format=2)
    else:
        dataset.to_netcdf(path, engine="h5netcdf")


def segy(path):
    """A SEG-Y cube."""
    import segyio

    segyio.tools.from_array(str(path), np.full((3, 3, 6), 3000, "float32"), dt=4000)
    with segyio.open(path, "r+", ignore_geometry=True) as file:
        for n in range(9):
            file.header[n] = {181: n // 3 * 1500, 185: n % 3 * 1500, 71: 1}


def rfile(path):
    """An rfile of SW4: topography and a block of material on 5 x 5 points."""
    text = b"+proj=tmerc +lat_0=34.1 +lon_0=-118.2 +datum=WGS84 +units=m +no_defs"
    head = struct.pack("<iiidddi", 1, 4, 0, 0.0, -118.205, 34.095, len(text)) + text
    blocks = ((1000.0, 0.0, 0.0, 1, 6, 6, 1), (1000.0, 500.0, 0.0, 3, 6, 6, 8))
    head += struct.pack("<i", 2) + b"".join(struct.pack("<dddiiii", *block) for block in blocks)
    ground = np.full(36, -150, "<f4")
    path.write_bytes(head + ground.tobytes() + np.tile([2300, 3000, 1700], 288).astype("<f4").tobytes())


def prisms(path):
    """Two prisms in a table."""
    columns = {"west": (0.0, 10.0), "east": (10.0, 20.0), "south": (0.0, 0.0), "north": (10.0, 10.0)}
    columns |= {"bottom": (-20.0, -20.0), "top": (-10.0, -10.0), "density": (300.0, -200.0)}
    if path.suffix == ".csv":
        np.savetxt(path, np.array(list(columns.values())).T, "%g", ",", header=",".join(columns), comments="")
    elif path.suffix == ".nc":
        to_file({name: ("prism", np.array(values)) for name, values in columns.items()}, {}, path)
    elif find_spec("pyarrow"):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
    return path.exists()


def brick(side):
    """Nodes (27, 3) and elements (8, 8) of a cube below the origin, cut into eight; x varies first."""
    nodes = np.array(list(product(range(3), repeat=3)), float)[:, ::-1] * side / 2 - [0, 0, side]
    elements = [[((k + c) * 3 + j + b) * 3 + i + a for a, b, c in CORNERS] for k, j, i in product(range(2), repeat=3)]
    return nodes, np.array(elements)


def cube(path):
    """Eight hexahedra in a format by the end of the name; `old.msh` is binary Gmsh 2.2."""
    nodes, elements = brick(3000.0)
    if path.suffix == ".e":
        exodus(path, nodes, elements)
    elif not path.suffix:
        specfem(path, nodes, elements)
    else:
        import meshio

        form = {".msh": "gmsh", ".vtu": "vtu", ".vtk": "vtk"}[path.suffix]
        mesh = meshio.Mesh(nodes, [("hexahedron", elements)])
        meshio.write(path, mesh, file_format="gmsh22" if path.stem == "old" else form)


def specfem(folder, nodes, elements, faces=()):
    """The files of SPECFEM's external meshers: nodes, elements, a material of all, tables of elements and nodes by the end of a name."""
    folder.mkdir()
    for name, rows in {"nodes_coords_file": nodes, "mesh_file": elements + 1}.items():
        lines = (" ".join(map(str, (number, *row))) for number, row in enumerate(rows.tolist(), 1))
        (folder / name).write_text(f"{len(rows)}\n" + "\n".join(lines) + "\n")
    (folder / "materials_file").write_text("".join(f"{number} 1\n" for number in range(1, len(elements) + 1)))
    for name, rows in dict(faces).items():
        lines = (" ".join(str(number + 1) for number in (element, *own)) for element, own in rows)
        (folder / name).write_text("\n".join([str(len(rows)), *lines]) + "\n")


def exodus(path, nodes, elements):
    """An Exodus file of one block."""
    fields = {f"coord{axis}": ("num_nodes", nodes[:, n]) for n, axis in enumerate("xyz")}
    dims = ("num_el_in_blk1", "num_nod_per_el1")
    fields["connect1"] = (dims, (elements + 1).astype("int32"), {"elem_type": "HEX8"})
    fields["eb_prop1"] = ("num_el_blk", np.array([1], "int32"), {"name": "ID"})
    fields["eb_status"] = ("num_el_blk", np.array([1], "int32"))
    to_file(fields, {}, path, version=np.float32(5), api_version=np.float32(5), floating_point_word_size=np.int32(8))


def reduced(path):
    """Displacement of a vertical P wave of 3000 m/s at nodes 200 m apart, in km."""
    import h5py

    times, side = np.arange(-1.4, 1.21, 0.1), np.arange(0, 1.3, 0.2)
    xyz = np.stack(np.meshgrid(side, side, side[:5], indexing="ij"), axis=-1).reshape(-1, 3)
    rows = np.zeros((len(xyz), 3, len(times)), "float32")
    rows[:, 2] = np.exp(-(((times + xyz[:, 2:] / 3) / 0.4) ** 2))
    with h5py.File(path, "w") as file:
        file["DRM_Data/xyz"] = xyz
        file["DRM_Data/data_location"] = 3 * np.arange(len(xyz))
        file["DRM_Data/displacement"] = rows.reshape(-1, len(times))
        file["DRM_Metadata/dt"], file["DRM_Metadata/tstart"] = 0.1, -1.4
