"""Small sound files of binary formats, and of formats in many files: each function writes one; False where a library is missing."""

import struct
from importlib.util import find_spec

import numpy as np


def segy(path):
    """A SEG-Y cube, where segyio is there."""
    if not find_spec("segyio"):
        return False
    import segyio

    segyio.tools.from_array(str(path), np.full((3, 3, 6), 3000, "float32"), dt=4000)
    with segyio.open(path, "r+", ignore_geometry=True) as file:
        for n in range(9):
            file.header[n] = {181: n // 3 * 1500, 185: n % 3 * 1500, 71: 1}
    return True


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
        path.write_text("\n".join(",".join(map(str, row)) for row in (columns, *zip(*columns.values()))))
    elif path.suffix == ".nc":
        netcdf(path, {name: ("prism", np.array(values)) for name, values in columns.items()})
    elif find_spec("pyarrow"):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
    else:
        return False
    return True


def netcdf(path, fields, **attributes):
    """A file of netCDF-4."""
    import xarray as xr

    xr.Dataset(fields, attrs=attributes).to_netcdf(path, engine="h5netcdf")


def cube(path):
    """Eight hexahedra in a format by the end of the name; `old.msh` is binary Gmsh 2.2."""
    x = np.linspace(0, 1000, 3)
    points = np.stack(np.meshgrid(x, x, x - 1000, indexing="ij"), -1).reshape(-1, 3)
    corner = np.array([0, 9, 12, 3, 1, 10, 13, 4])
    cells = np.array([corner + 9 * i + 3 * j + k for i in range(2) for j in range(2) for k in range(2)])
    if path.suffix == ".e":
        exodus(path, points, cells)
    elif not path.suffix:
        specfem(path, points, cells)
    elif find_spec("meshio"):
        import meshio

        form = {".msh": "gmsh", ".vtu": "vtu", ".vtk": "vtk"}[path.suffix]
        mesh = meshio.Mesh(points, [("hexahedron", cells)])
        meshio.write(path, mesh, file_format="gmsh22" if path.stem == "old" else form)
    else:
        return False
    return True


def specfem(folder, points, cells, faces=()):
    """The files of SPECFEM's external meshers: nodes, elements, a material of all, tables of elements and nodes by the end of a name."""
    folder.mkdir()
    for name, rows in {"nodes_coords_file": points, "mesh_file": cells + 1}.items():
        lines = (" ".join(map(str, (number, *row))) for number, row in enumerate(rows.tolist(), 1))
        (folder / name).write_text(f"{len(rows)}\n" + "\n".join(lines) + "\n")
    (folder / "materials_file").write_text("".join(f"{number} 1\n" for number in range(1, len(cells) + 1)))
    for name, rows in dict(faces).items():
        lines = (" ".join(str(number + 1) for number in (element, *nodes)) for element, nodes in rows)
        (folder / name).write_text("\n".join([str(len(rows)), *lines]) + "\n")


def exodus(path, points, cells):
    """An Exodus file of one block."""
    fields = {f"coord{axis}": ("num_nodes", points[:, n]) for n, axis in enumerate("xyz")}
    fields["connect1"] = (("num_el_in_blk1", "num_nod_per_el1"), (cells + 1).astype("int32"), {"elem_type": "HEX8"})
    fields["eb_prop1"] = ("num_el_blk", np.array([1], "int32"), {"name": "ID"})
    fields["eb_status"] = ("num_el_blk", np.array([1], "int32"))
    netcdf(path, fields, version=np.float32(5), api_version=np.float32(5), floating_point_word_size=np.int32(8))


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
