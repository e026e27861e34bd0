"""Small sound files of binary formats, and of formats in many files: each function writes one."""

import struct

import numpy as np


def segy(path):
    """A SEG-Y cube, where segyio is there."""
    try:
        import segyio
    except ImportError:
        return False
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
    columns = dict(zip(("west", "east", "south", "north", "bottom", "top", "density"), zip(
        (0.0, 10.0, 0.0, 10.0, -20.0, -10.0, 300.0), (10.0, 20.0, 0.0, 10.0, -20.0, -10.0, -200.0)
    )))  # fmt: skip
    if path.suffix == ".csv":
        rows = zip(*columns.values())
        path.write_text("\n".join(",".join(map(str, row)) for row in (columns, *rows)))
    elif path.suffix == ".nc":
        import xarray as xr

        xr.Dataset({k: ("prism", np.array(v)) for k, v in columns.items()}).to_netcdf(path, engine="h5netcdf")
    else:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            return False
        parquet.write_table(pyarrow.table(columns), path)
    return True


def cube(path):
    """Eight hexahedra in a format by the end of the name; `old.msh` is binary Gmsh 2.2."""
    x = np.linspace(0, 1000, 3)
    points = np.stack(np.meshgrid(x, x, x - 1000, indexing="ij"), -1).reshape(-1, 3)
    corner = np.array([0, 9, 12, 3, 1, 10, 13, 4])
    cells = [corner + 9 * i + 3 * j + k for i in range(2) for j in range(2) for k in range(2)]
    if path.suffix == ".e":
        return exodus(path, points, np.array(cells))
    if not path.suffix:
        return specfem(path, points, np.array(cells))
    try:
        import meshio
    except ImportError:
        return False
    mesh = meshio.Mesh(points, [("hexahedron", np.array(cells))])
    form = {".msh": "gmsh", ".vtu": "vtu", ".vtk": "vtk"}[path.suffix]
    meshio.write(path, mesh, file_format="gmsh22" if path.stem == "old" else form)
    return True


def specfem(folder, points, cells):
    """The files of SPECFEM's external meshers."""
    folder.mkdir()
    for name, rows in (("nodes_coords_file", points), ("mesh_file", cells + 1)):
        lines = (f"{n} " + " ".join(map(str, row)) for n, row in enumerate(rows.tolist(), 1))
        (folder / name).write_text(f"{len(rows)}\n" + "\n".join(lines) + "\n")
    materials = "".join(f"{n} 1\n" for n in range(1, len(cells) + 1))
    (folder / "materials_file").write_text(materials)
    return True


def exodus(path, points, cells):
    """An Exodus file of one block."""
    import xarray as xr

    fields = {f"coord{axis}": ("num_nodes", points[:, n]) for n, axis in enumerate("xyz")}
    fields["connect1"] = (("num_el_in_blk1", "num_nod_per_el1"), (cells + 1).astype("int32"), {"elem_type": "HEX8"})
    fields["eb_prop1"] = ("num_el_blk", np.array([1], "int32"), {"name": "ID"})
    fields["eb_status"] = ("num_el_blk", np.array([1], "int32"))
    attributes = {"version": np.float32(5), "api_version": np.float32(5), "floating_point_word_size": np.int32(8)}
    xr.Dataset(fields, attrs=attributes).to_netcdf(path, engine="h5netcdf")
    return True
