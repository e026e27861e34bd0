"""Mesh files: every format read back against the mesh that a writer of the test's own, or Gmsh, wrote; messages; .vtu output."""

import signal
import sys
from dataclasses import replace
from types import SimpleNamespace as Spec

import numpy as np
import pytest

from craton.errors import ScenarioError
from craton.io.vtu import write_mesh, write_series
from craton.model.mesh import shape
from craton.model.mesh.box import box_mesh
from craton.model.mesh.files import read_mesh
from craton.model.mesh.hexmesh import HexMesh, boundary_faces, named_by_place, problems, subdivided
from craton.model.mesh.numbering import face_corners, face_nodes, number

LIBRARIES = ("meshlane", "meshio")
SIDES = ("west", "east", "south", "north", "bottom", "top")
# Where the nodes of a hexahedron lie in each format, written out here from the formats' manuals and independent of craton's own tables.
CORNERS = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
LOWER, UPPER = ([(1, 0, 0), (2, 1, 0), (1, 2, 0), (0, 1, 0)], [(1, 0, 2), (2, 1, 2), (1, 2, 2), (0, 1, 2)])
UPRIGHT = [(0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1)]
VTK = [*CORNERS, *LOWER, *UPPER, *UPRIGHT, (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2), (1, 1, 1)]
EXODUS = [
    *CORNERS,
    *LOWER,
    *UPRIGHT,
    *UPPER,
    (1, 1, 1),
    (1, 1, 0),
    (1, 1, 2),
    (0, 1, 1),
    (2, 1, 1),
    (1, 0, 1),
    (1, 2, 1),
]
SPECFEM = [
    *CORNERS,
    *LOWER,
    *UPRIGHT,
    *UPPER,
    (1, 1, 0),
    (1, 0, 1),
    (2, 1, 1),
    (1, 2, 1),
    (0, 1, 1),
    (1, 1, 2),
    (1, 1, 1),
]


def given(mesh, places):
    """The elements of a mesh in the node order of a format."""
    width = mesh.elements.shape[1]
    column = [(c * 3 + b) * 3 + a if width == 27 else (c // 2 * 2 + b // 2) * 2 + a // 2 for a, b, c in places[:width]]
    return mesh.elements[:, column]


def sample(order):
    """A small mesh with two regions, curved where it has 27 nodes, no two coordinates alike."""

    def hill(x, y):
        return 300 * np.sin(x / 900) * np.cos(y / 1300)

    return box_mesh((0, 0, -3000), (4000, 3000, 3000), 1000, interfaces=[-1500.0], surface=hill, order=order)


def quads(mesh, name):
    """Corners of the faces of a set, in a cycle."""
    rows = mesh.faces[name]
    return face_corners(mesh.elements)[rows[:, 0], rows[:, 1]][:, [0, 1, 3, 2]]


def assert_same(read, mesh, names=SIDES, regions=None):
    """The same elements in the same order with the same nodes in the same places, faces and regions."""
    assert problems(read, 4) == []
    assert read.elements.shape == mesh.elements.shape
    np.testing.assert_allclose(read.nodes[read.elements], mesh.nodes[mesh.elements], rtol=1e-14, atol=1e-9)
    assert set(read.faces) == set(names)
    for name in names:
        assert sorted(map(tuple, read.faces[name])) == sorted(map(tuple, mesh.faces[name]))
    if regions is not None:
        assert read.region_names == regions
        np.testing.assert_array_equal(read.regions, mesh.regions)


def refusal(path):
    """The message for a file that cannot be used."""
    with pytest.raises(ScenarioError) as error:
        read_mesh(path)
    assert error.value.problems[0].remedy and error.value.problems[0].key == "domain.mesh"
    return error.value.problems[0].message


# --- Gmsh and VTK -----------------------------------------------------------------------------------------------------------------------


def gmsh_box(path, order, save_all=False, version=4.1):
    """A box of 4 x 3 x 2 km in two volumes, meshed by Gmsh, with physical groups."""
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError: a library of the windowing system is missing
        pytest.skip(f"Gmsh's Python module cannot be used (pip install gmsh): {error}")
    gmsh.initialize(interruptible=False)
    # Gmsh has SIGPIPE end the process, also later, in another test that writes to a closed socket
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.SaveAll", int(save_all))
        gmsh.option.setNumber("Mesh.MshFileVersion", version)
        boxes = [(3, gmsh.model.occ.addBox(0, 0, z, 4000, 3000, 1000)) for z in (-2000, -1000)]
        gmsh.model.occ.fragment(boxes[:1], boxes[1:])
        gmsh.model.occ.synchronize()
        for _, curve in gmsh.model.getEntities(1):
            gmsh.model.mesh.setTransfiniteCurve(curve, 4)
        groups = {"free surface": [], "absorbing": []}
        for _, face in gmsh.model.getEntities(2):
            gmsh.model.mesh.setTransfiniteSurface(face)
            gmsh.model.mesh.setRecombine(2, face)
            z = gmsh.model.occ.getCenterOfMass(2, face)[2]
            if abs(z + 1000) > 1:  # not the interface
                groups["free surface" if z > -1 else "absorbing"].append(face)
        for name, faces in groups.items():
            gmsh.model.addPhysicalGroup(2, faces, name=name)
        for _, volume in gmsh.model.getEntities(3):
            gmsh.model.mesh.setTransfiniteVolume(volume)
            deep = gmsh.model.occ.getCenterOfMass(3, volume)[2] < -1000
            gmsh.model.addPhysicalGroup(3, [volume], name="rock" if deep else "sediment")
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(order)
        gmsh.write(str(path))
    finally:
        gmsh.finalize()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("suffix", [".msh", ".22.msh"])
def test_mesh_made_by_gmsh(tmp_path, order, suffix):
    pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    path = tmp_path / f"box{suffix}"
    gmsh_box(path, order, version=2.2 if suffix == ".22.msh" else 4.1)
    mesh = read_mesh(path)
    assert problems(mesh, 4) == []  # right-handed, positive, every boundary face in one set
    assert mesh.order == order and mesh.size == 54
    assert mesh.region_names == ("rock", "sediment")
    z = mesh.centroids()[:, 2]
    np.testing.assert_array_equal(mesh.regions, (z > -1000).astype(int))
    assert {name: len(rows) for name, rows in mesh.faces.items()} == {"free surface": 9, "absorbing": 9 + 4 * 18}
    rows = mesh.faces["free surface"]
    assert (mesh.nodes[mesh.elements[rows[:, 0][:, None], face_nodes(order)[rows[:, 1]]]][..., 2] == 0).all()
    # A box: the middle nodes lie where the trilinear map puts them only if their order is understood.
    lattice = shape.positions(mesh.nodes, mesh.corners, np.linspace(-1, 1, order + 1))
    np.testing.assert_allclose(mesh.nodes[mesh.elements], lattice, atol=1e-8)


@pytest.mark.parametrize("version", [2.2, 4.1])
def test_gmsh_file_that_lost_its_groups(tmp_path, version):
    pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    gmsh_box(tmp_path / "all.msh", 1, save_all=True, version=version)
    message = refusal(tmp_path / "all.msh")
    assert "they have no elements" in message or "cannot read it" in message


def by_meshlane(path, mesh, cells=None, tags=True):
    """Write a mesh with its sides as quadrilaterals by meshlane, which is independent of craton's tables."""
    meshlane = pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    kind = {8: "hexahedron", 20: "hexahedron20", 27: "hexahedron27"}
    cells = given(mesh, VTK) if cells is None else cells
    blocks = [(kind[cells.shape[1]], cells), *(("quad", quads(mesh, name)) for name in SIDES)]
    marks = [mesh.regions + 10, *(np.full(len(mesh.faces[name]), 1 + i) for i, name in enumerate(SIDES))]
    data = {"gmsh:physical": marks, "gmsh:geometrical": marks} if tags else {}
    names = {name: np.array([1 + i, 2]) for i, name in enumerate(SIDES)} | {
        f"layer {i}": np.array([9 + i, 3]) for i in (1, 2)
    }
    form = {"file_format": "gmsh22", "binary": False} if path.suffix == ".msh" else {}
    field = names if path.suffix == ".msh" else None
    meshlane.write(path, meshlane.Mesh(mesh.nodes, blocks, cell_data=data, field_data=field), **form)


@pytest.mark.parametrize("order", [1, 2])
def test_gmsh_file_with_names(tmp_path, order):
    mesh = sample(order)
    by_meshlane(tmp_path / "mesh.msh", mesh)
    assert_same(read_mesh(tmp_path / "mesh.msh"), mesh, regions=("layer 1", "layer 2"))


@pytest.mark.parametrize("suffix", [".vtk", ".vtu"])
@pytest.mark.parametrize("order", [1, 2])
def test_vtk_files(tmp_path, order, suffix):
    mesh = sample(order)
    by_meshlane(tmp_path / f"mesh{suffix}", mesh)
    numbered = replace(mesh, faces={str(1 + i): mesh.faces[name] for i, name in enumerate(SIDES)})
    assert_same(read_mesh(tmp_path / f"mesh{suffix}"), numbered, names=tuple(numbered.faces), regions=("10", "11"))
    by_meshlane(tmp_path / f"plain{suffix}", mesh, tags=False)
    assert_same(read_mesh(tmp_path / f"plain{suffix}"), mesh, regions=None)  # sides named by their place


def test_elements_with_20_nodes_are_completed(tmp_path):
    mesh = box_mesh((0, 0, 0), (2, 2, 2), 1).elevated()
    x, y, z = mesh.nodes.T
    bent = np.column_stack(
        [x + 0.1 * y * z, y + 0.05 * x**2, z + 0.1 * x * y * z]
    )  # within what 20-node shape functions represent
    mesh = replace(mesh, nodes=bent, faces=named_by_place(mesh))
    by_meshlane(tmp_path / "mesh.vtu", mesh, given(mesh, VTK)[:, :20], tags=False)
    read = read_mesh(tmp_path / "mesh.vtu")
    assert read.order == 2 and problems(replace(read, faces=mesh.faces), 4) == []
    np.testing.assert_allclose(read.nodes[read.elements], bent[mesh.elements], atol=1e-14)


def test_stray_nodes_of_surfaces_are_dropped_and_others_told(tmp_path):
    meshlane = pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    mesh = sample(1)
    m = len(mesh.nodes)
    nodes = np.vstack([mesh.nodes, [(0, 0, 9000), (1, 1, 9000)]])
    blocks = [("hexahedron", given(mesh, VTK)), ("vertex", [[m]])]
    meshlane.write(tmp_path / "mesh.vtu", meshlane.Mesh(nodes, blocks))
    read = read_mesh(tmp_path / "mesh.vtu")
    assert [p.message for p in problems(read)] == [f"node {m} at (x, y, z) = (1, 1, 9000) m belongs to no element"]


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu"])
@pytest.mark.parametrize("order", [1, 2])
def test_files_read_by_meshio_are_the_same(tmp_path, monkeypatch, order, suffix):
    pytest.importorskip("meshio", reason="meshio is not installed")
    by_meshlane(tmp_path / f"mesh{suffix}", sample(order))
    mesh = read_mesh(tmp_path / f"mesh{suffix}")
    monkeypatch.setitem(sys.modules, "meshlane", None)
    assert_same(read_mesh(tmp_path / f"mesh{suffix}"), mesh, tuple(mesh.faces), mesh.region_names)


# --- Exodus -----------------------------------------------------------------------------------------------------------------------------

SIDE_OF_FACE = {
    2: 1,
    1: 2,
    3: 3,
    0: 4,
    4: 5,
    5: 6,
}  # side 1 of a HEX is 1 2 6 5, side 2 is 2 3 7 6, ... 5 below, 6 above


def exodus(mesh):
    """Variables of an Exodus file: name -> (dimensions, values, elem_type). One block a region, side sets, one block of quadrilaterals."""
    width = mesh.elements.shape[1]
    elements = given(mesh, EXODUS) + 1
    out = {f"coord{axis}": (("num_nodes",), mesh.nodes[:, i], None) for i, axis in enumerate("xyz")}
    out["eb_prop1"] = (("num_el_blk",), np.array([10, 11, 30], np.int32), None)
    out["eb_names"] = (("num_el_blk", "len_name"), letters(["upper", "", "face_topo"]), None)
    blocks = [elements[mesh.regions == r] for r in (0, 1)]
    for i, block in enumerate([*blocks, quads(mesh, "top") + 1]):
        kind = f"HEX{width}" if i < 2 else "SHELL4"
        out[f"connect{i + 1}"] = ((f"n{i}", f"k{i}"), block.astype(np.int32), kind)
    place = np.argsort(np.argsort(mesh.regions, kind="stable"))
    names = [name for name in SIDES if name != "top"]
    out["ss_prop1"] = (("num_side_sets",), np.arange(1, 6, dtype=np.int32), None)
    out["ss_names"] = (("num_side_sets", "len_name"), letters(names), None)
    for i, name in enumerate(names):
        rows = mesh.faces[name]
        out[f"elem_ss{i + 1}"] = ((f"s{i}",), place[rows[:, 0]].astype(np.int32) + 1, None)
        out[f"side_ss{i + 1}"] = ((f"s{i}",), np.array([SIDE_OF_FACE[int(f)] for f in rows[:, 1]], np.int32), None)
    return out


def letters(names, width=12):
    """Names as rows of characters."""
    return np.array([list(name.ljust(width, "\0")) for name in names], "S1")


def as_hdf5(path, variables):
    """Write by h5py."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(path, "w") as file:
        for name, (_, values, kind) in variables.items():
            file[name] = values
            if kind:
                file[name].attrs["elem_type"] = np.bytes_(kind)


def as_classic(path, variables):
    """Write classic netCDF by SciPy."""
    from scipy.io import netcdf_file

    with netcdf_file(path, "w", version=2) as file:
        for name, (dimensions, values, kind) in variables.items():
            for dimension, length in zip(dimensions, values.shape):
                if dimension not in file.dimensions:
                    file.createDimension(dimension, length)
            file.createVariable(name, values.dtype, dimensions)[:] = values
            if kind:
                file.variables[name].elem_type = kind


@pytest.mark.parametrize("write", [as_hdf5, as_classic])
@pytest.mark.parametrize("order", [1, 2])
def test_exodus(tmp_path, order, write):
    mesh = sample(order)
    write(tmp_path / "mesh.exo", exodus(mesh))
    mesh = mesh.reordered(np.argsort(mesh.regions, kind="stable"))  # block after block, as the file has them
    faces = {name: rows for name, rows in mesh.faces.items() if name != "top"} | {"face_topo": mesh.faces["top"]}
    read = read_mesh(tmp_path / "mesh.exo")
    assert read.region_names == ("block 11", "upper")
    expected = replace(mesh, faces=faces, regions=1 - mesh.regions)
    assert_same(read, expected, names=tuple(faces), regions=("block 11", "upper"))


def test_exodus_with_20_nodes(tmp_path):
    mesh = box_mesh((0, 0, 0), (2, 2, 2), 1).elevated()
    x, y, z = mesh.nodes.T
    mesh = replace(mesh, nodes=np.column_stack([x + 0.1 * y * z, y + 0.05 * x**2, z + 0.1 * x * y * z]))
    variables = {f"coord{axis}": (None, mesh.nodes[:, i], None) for i, axis in enumerate("xyz")}
    as_hdf5(tmp_path / "mesh.exo", variables | {"connect1": (None, given(mesh, EXODUS)[:, :20] + 1, "HEX20")})
    read = read_mesh(tmp_path / "mesh.exo")
    assert read.region_names == ("block 1",) and read.size == 8
    np.testing.assert_allclose(read.nodes[read.elements], mesh.nodes[mesh.elements], atol=1e-14)


def test_exodus_written_by_meshlane(tmp_path):
    meshlane = pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    pytest.importorskip("netCDF4", reason="meshlane writes Exodus through netCDF4, which is not installed")
    mesh = sample(1)
    meshlane.write(tmp_path / "mesh.e", meshlane.Mesh(mesh.nodes, [("hexahedron", given(mesh, VTK))]))
    assert_same(read_mesh(tmp_path / "mesh.e"), mesh)


def test_exodus_files_that_cannot_be_used(tmp_path):
    variables = exodus(sample(1))
    (tmp_path / "text.e").write_text("no mesh")
    assert "this is not an Exodus file" in refusal(tmp_path / "text.e")
    as_hdf5(tmp_path / "flat.e", {name: v for name, v in variables.items() if name != "coordz"})
    assert "it has no coordinates coordx, coordy, coordz" in refusal(tmp_path / "flat.e")
    as_hdf5(tmp_path / "empty.e", {name: v for name, v in variables.items() if not name.startswith("connect")})
    assert "it has no element blocks" in refusal(tmp_path / "empty.e")
    tets = variables | {"connect2": (None, variables["connect2"][1][:, :4], "TETRA4")}
    as_hdf5(tmp_path / "tets.e", tets)
    assert "it contains 24 tetrahedra; only hexahedra" in refusal(tmp_path / "tets.e")
    beyond = variables | {"elem_ss2": (None, variables["elem_ss2"][1] + 1000, None)}
    as_hdf5(tmp_path / "beyond.e", beyond)
    assert "the side set 'east' names element 10" in refusal(tmp_path / "beyond.e")


# --- SPECFEM3D --------------------------------------------------------------------------------------------------------------------------

FILES = {
    "top": "free_or_absorbing_surface_file_zmax",
    "bottom": "absorbing_surface_file_bottom",
    "west": "absorbing_surface_file_xmin",
    "east": "absorbing_surface_file_xmax",
    "south": "absorbing_surface_file_ymin",
    "north": "absorbing_surface_file_ymax",
}


def specfem(folder, mesh):
    """Write the text files, with node and element numbers that neither begin at 1 nor rise."""
    folder.mkdir()
    nodes = 7 + 3 * np.random.default_rng(0).permutation(len(mesh.nodes))
    numbers = 1 + np.random.default_rng(1).permutation(mesh.size)

    def rows(name, table, count=True):
        text = "\n".join(" ".join(map(str, row)) for row in table)
        (folder / name).write_text((f"  {len(table)}\n" if count else "") + text + "\n")

    rows("nodes_coords_file", [(n, *map(repr, xyz)) for n, xyz in zip(nodes.tolist(), mesh.nodes.tolist())])
    rows("mesh_file", [(e, *nodes[element]) for e, element in zip(numbers, given(mesh, SPECFEM))])
    rows("materials_file", zip(numbers[::-1], mesh.regions[::-1] + 1), count=False)
    for side, name in FILES.items():
        # In a cycle that begins anywhere and may turn either way, as external meshers write them.
        faces = [np.roll(quad[:: 1 if i % 2 else -1], i) for i, quad in enumerate(quads(mesh, side))]
        rows(name, [(numbers[e], *nodes[quad]) for (e, _), quad in zip(mesh.faces[side], faces)])


@pytest.mark.parametrize("order", [1, 2])
def test_specfem_folder(tmp_path, order):
    mesh = sample(order)
    specfem(tmp_path / "MESH", mesh)
    assert_same(read_mesh(tmp_path / "MESH"), mesh, regions=("1", "2"))


def test_fortran_numbers(tmp_path):
    mesh = sample(1)
    specfem(tmp_path / "MESH", mesh)
    path = tmp_path / "MESH" / "nodes_coords_file"
    count, *rows = path.read_text().splitlines()
    rows = [[node, *(f"{float(value):.16e}".replace("e", "D") for value in xyz)] for node, *xyz in map(str.split, rows)]
    path.write_text("\n".join([count, *map(" ".join, rows)]))
    assert_same(read_mesh(tmp_path / "MESH"), mesh, regions=("1", "2"))


def test_specfem_folders_that_cannot_be_used(tmp_path):
    mesh = sample(1)
    folder = tmp_path / "MESH"
    specfem(folder, mesh)

    def broken(name, change):
        text = (folder / name).read_text()
        if change is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(change(text))
        message = refusal(folder)
        (folder / name).write_text(text)
        return message

    assert "the folder has no file mesh_file" in broken("mesh_file", None)
    assert "nodes_coords_file announces 100 rows but contains 399 numbers" in broken(
        "nodes_coords_file", lambda t: t.rsplit(None, 1)[0]
    )
    assert "mesh_file names node 999, which does not exist" in broken(
        "mesh_file", lambda t: t.rsplit(None, 1)[0] + " 999"
    )
    assert "materials_file names element 999" in broken("materials_file", lambda t: t + "999 1\n")
    assert "contains something that is not a number" in broken("mesh_file", lambda t: t + "end\n")
    swapped = broken("absorbing_surface_file_xmin", lambda t: t.rsplit(None, 1)[0] + " 7")
    assert "1 quadrilaterals are not faces of hexahedra, the first in 'west'" in swapped


# --- any file ---------------------------------------------------------------------------------------------------------------------------


def test_files_that_are_no_mesh(tmp_path):
    assert "there is no such file" in refusal(tmp_path / "none.msh")
    (tmp_path / "mesh.stl").write_text("")
    assert "mesh files with the suffix .stl are not supported" in refusal(tmp_path / "mesh.stl")
    meshlane = pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    (tmp_path / "text.msh").write_text("nothing")
    assert "meshlane" in refusal(tmp_path / "text.msh") and "cannot read it" in refusal(tmp_path / "text.msh")
    points = np.random.default_rng(0).random((8, 3))
    meshlane.write(
        tmp_path / "tets.vtu", meshlane.Mesh(points, [("tetra", [[0, 1, 2, 3]]), ("hexahedron", [list(range(8))])])
    )
    assert "it contains 1 tetrahedra" in refusal(tmp_path / "tets.vtu")
    meshlane.write(tmp_path / "flat.vtu", meshlane.Mesh(points, [("quad", [[0, 1, 2, 3]])]))
    assert "it contains no hexahedra" in refusal(tmp_path / "flat.vtu")


def test_a_reader_that_is_missing_is_named(tmp_path, monkeypatch):
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "mesh.msh").write_text("")
    assert refusal(tmp_path / "mesh.msh") == "mesh.msh: Gmsh and VTK meshes need meshlane"


def test_meshio_reads_where_meshlane_is_missing(tmp_path, monkeypatch):
    """A stub of it, which knows one format and fails at another."""
    mesh = sample(2)
    read = Spec(
        points=mesh.nodes,
        field_data={},
        cell_data={"region": [mesh.regions + 3]},
        cells=[Spec(type="hexahedron27", data=given(mesh, VTK))],
    )
    stub = Spec(
        __name__="meshio",
        __version__="5.0",
        gmsh=None,
        vtk=Spec(read=lambda path: {}[path]),
        vtu=Spec(read=lambda path: read),
    )
    monkeypatch.setitem(sys.modules, "meshlane", None)
    monkeypatch.setitem(sys.modules, "meshio", stub)
    for name in ("mesh.vtu", "mesh.vtk"):
        (tmp_path / name).write_text("")
    assert_same(read_mesh(tmp_path / "mesh.vtu"), mesh, regions=("3", "4"))
    assert refusal(tmp_path / "mesh.vtk").startswith("mesh.vtk: meshio 5.0 cannot read it: ")


# --- pictures ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_vtu_that_craton_writes(tmp_path, order):
    meshlane = pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")
    mesh = sample(order)
    data = {"velocity": np.random.default_rng(0).random((len(mesh.nodes), 3)).astype(np.float32)}
    write_mesh(tmp_path / "mesh.vtu", mesh, data, {"vp <m/s>": np.arange(mesh.size) * 1.5})
    read = meshlane.vtu.read(tmp_path / "mesh.vtu")
    np.testing.assert_array_equal(read.points, mesh.nodes)
    np.testing.assert_array_equal(read.cells[0].data, given(mesh, VTK))
    assert read.cells[0].type == ("hexahedron" if order == 1 else "hexahedron27")
    np.testing.assert_array_equal(read.point_data["velocity"], data["velocity"])
    np.testing.assert_array_equal(read.cell_data["vp <m/s>"][0], np.arange(mesh.size) * 1.5)
    np.testing.assert_array_equal(read.cell_data["region"][0], mesh.regions)
    top = read.cell_data["faces top"][0]
    np.testing.assert_array_equal(np.flatnonzero(top), np.sort(mesh.faces["top"][:, 0]))
    assert set(top[top > 0]) == {1 << 5}
    assert [p.name for p in tmp_path.iterdir()] == ["mesh.vtu"]
    with pytest.raises(ValueError, match="there are 48 elements"):
        write_mesh(tmp_path / "mesh.vtu", mesh, cell_data={"vs": np.zeros(3)})


def test_series_of_vtu_files(tmp_path):
    from xml.etree import ElementTree

    (tmp_path / "frames").mkdir()
    files = [(0.1 * n, tmp_path / "frames" / f"wave & {n}.vtu") for n in range(3)]
    root = ElementTree.parse(write_series(tmp_path / "wave.pvd", files)).getroot()
    assert root.attrib["type"] == "Collection"
    found = [(float(row.attrib["timestep"]), row.attrib["file"]) for row in root.iter("DataSet")]
    assert found == [(0.1 * n, f"frames/wave & {n}.vtu") for n in range(3)]


def test_fields_at_gll_points():
    mesh = sample(2)
    fine = subdivided(mesh, 4)
    assert fine.size == 64 * mesh.size and problems(replace(fine, faces=named_by_place(fine)), 1) == []
    found = number(mesh.elements, 4)
    assert len(fine.nodes) == found.count
    np.testing.assert_array_equal(fine.elements[64 * 5], found.points[5][:2, :2, :2].ravel())
    assert len(boundary_faces(fine)) == 16 * len(boundary_faces(mesh))
    assert isinstance(fine, HexMesh) and fine.region_names == mesh.region_names
