"""Mesh files: every format read back against the mesh that a writer of the test's own, or Gmsh, wrote; messages; .vtu output."""

import signal
import sys
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest

from craton.errors import ScenarioError
from craton.io.contents import FileError, MeshParts
from craton.io.vtu import write_mesh
from craton.model.mesh import shape
from craton.model.mesh.box import box_mesh
from craton.model.mesh.files import assembled, read_mesh
from craton.model.mesh.hexmesh import HexMesh, named_by_place, problems, subdivided
from craton.model.mesh.numbering import boundary_faces, face_corners, face_nodes, number

SIDES = ("west", "east", "south", "north", "bottom", "top")
# Where the nodes of a hexahedron lie in each format, written out here from the formats' manuals and independent of craton's own tables.
CORNERS = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
LOWER, UPPER = ([(1, 0, z), (2, 1, z), (1, 2, z), (0, 1, z)] for z in (0, 2))
UPRIGHT = [(0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1)]
W, E, S, N, B, T, C = (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2), (1, 1, 1)
VTK = [*CORNERS, *LOWER, *UPPER, *UPRIGHT, W, E, S, N, B, T, C]
EXODUS = [*CORNERS, *LOWER, *UPRIGHT, *UPPER, C, B, T, W, E, S, N]
SPECFEM = [*CORNERS, *LOWER, *UPRIGHT, *UPPER, B, S, E, N, W, T, C]


def in_order(mesh, places):
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


def assert_same(read, mesh, regions=None):
    """The same elements in the same order with the same nodes in the same places, faces and, where they have names, regions."""
    assert problems(read, 4) == []
    assert read.elements.shape == mesh.elements.shape
    np.testing.assert_allclose(read.nodes[read.elements], mesh.nodes[mesh.elements], rtol=1e-14, atol=1e-9)
    assert read.faces.keys() == mesh.faces.keys()
    for name, rows in mesh.faces.items():
        assert sorted(map(tuple, read.faces[name])) == sorted(map(tuple, rows))
    if regions:
        assert read.region_names == regions
        np.testing.assert_array_equal(read.regions, mesh.regions)


def refusal(path):
    """The message for a file that cannot be used."""
    with pytest.raises(ScenarioError) as caught:
        read_mesh(path)
    problem = caught.value.problems[0]
    assert problem.remedy and problem.key == "domain.mesh"
    return problem.message


# --- writers ----------------------------------------------------------------------------------------------------------------------------


def meshlane():
    """The library."""
    return pytest.importorskip("meshlane", reason="meshlane is not installed (craton[mesh])")


def by_meshlane(path, mesh, cells=None, tags=True):
    """Write a mesh with its sides as quadrilaterals by meshlane, which is independent of craton's tables."""
    kind = {8: "hexahedron", 20: "hexahedron20", 27: "hexahedron27"}
    cells = in_order(mesh, VTK) if cells is None else cells
    blocks = [(kind[cells.shape[1]], cells), *(("quad", quads(mesh, name)) for name in SIDES)]
    marks = [mesh.regions + 10, *(np.full(len(mesh.faces[name]), 1 + i) for i, name in enumerate(SIDES))]
    data, gmsh = {"gmsh:physical": marks, "gmsh:geometrical": marks} if tags else {}, path.suffix == ".msh"
    names = {name: np.array([1 + i, 2]) for i, name in enumerate(SIDES)}
    names |= {f"layer {i}": np.array([9 + i, 3]) for i in (1, 2)}
    written = meshlane().Mesh(mesh.nodes, blocks, cell_data=data, field_data=names if gmsh else None)
    meshlane().write(path, written, **{"file_format": "gmsh22", "binary": False} if gmsh else {})


def letters(names, width=12):
    """Names as rows of characters."""
    return np.array([list(name.ljust(width, "\0")) for name in names], "S1")


# side 1 of a HEX is 1 2 6 5, side 2 is 2 3 7 6, ... 5 below, 6 above
SIDE_OF_FACE = np.array([4, 2, 1, 3, 5, 6], np.int32)


def exodus(mesh):
    """Variables of an Exodus file: name -> (dimensions, values, elem_type). One block a region, side sets, one block of quadrilaterals."""
    elements = in_order(mesh, EXODUS) + 1
    out = {f"coord{axis}": (("num_nodes",), mesh.nodes[:, i], None) for i, axis in enumerate("xyz")}
    out["eb_prop1"] = (("num_el_blk",), np.array([10, 11, 30], np.int32), None)
    out["eb_names"] = (("num_el_blk", "len_name"), letters(["upper", "", "face_topo"]), None)
    for i, block in enumerate([elements[mesh.regions == 0], elements[mesh.regions == 1], quads(mesh, "top") + 1]):
        kind = f"HEX{elements.shape[1]}" if i < 2 else "SHELL4"
        out[f"connect{i + 1}"] = ((f"n{i}", f"k{i}"), block.astype(np.int32), kind)
    place = np.argsort(np.argsort(mesh.regions, kind="stable"))
    out["ss_prop1"] = (("num_side_sets",), np.arange(1, 6, dtype=np.int32), None)
    out["ss_names"] = (("num_side_sets", "len_name"), letters(SIDES[:5]), None)
    for i, name in enumerate(SIDES[:5]):
        rows = mesh.faces[name]
        out[f"elem_ss{i + 1}"] = ((f"s{i}",), place[rows[:, 0]].astype(np.int32) + 1, None)
        out[f"side_ss{i + 1}"] = ((f"s{i}",), SIDE_OF_FACE[rows[:, 1]], None)
    return out


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


ABSORBING = "absorbing_surface_file_"
FILES = {"top": "free_or_absorbing_surface_file_zmax", "bottom": f"{ABSORBING}bottom", "west": f"{ABSORBING}xmin"}
FILES |= {"east": f"{ABSORBING}xmax", "south": f"{ABSORBING}ymin", "north": f"{ABSORBING}ymax"}


def specfem(folder, mesh, real=repr):
    """Write the text files, with node and element numbers that neither begin at 1 nor rise."""
    folder.mkdir()
    nodes = 7 + 3 * np.random.default_rng(0).permutation(len(mesh.nodes))
    numbers = 1 + np.random.default_rng(1).permutation(mesh.size)

    def rows(name, table, count=True):
        text = "\n".join(" ".join(map(str, row)) for row in table)
        (folder / name).write_text((f"  {len(table)}\n" if count else "") + text + "\n")

    rows("nodes_coords_file", [(n, *map(real, xyz)) for n, xyz in zip(nodes.tolist(), mesh.nodes.tolist())])
    rows("mesh_file", [(e, *nodes[element]) for e, element in zip(numbers, in_order(mesh, SPECFEM))])
    rows("materials_file", zip(numbers[::-1], mesh.regions[::-1] + 1), count=False)
    for side, name in FILES.items():
        # In a cycle that begins anywhere and may turn either way, as external meshers write them.
        faces = [np.roll(quad[:: 1 if i % 2 else -1], i) for i, quad in enumerate(quads(mesh, side))]
        rows(name, [(numbers[e], *nodes[quad]) for (e, _), quad in zip(mesh.faces[side], faces)])


# --- formats ----------------------------------------------------------------------------------------------------------------------------


def same(mesh):
    """What has every name."""
    return mesh


def numbered(mesh):
    """What has only the numbers of its sides."""
    return replace(mesh, faces={str(1 + i): mesh.faces[name] for i, name in enumerate(SIDES)})


def in_blocks(mesh):
    """What has its elements block after block."""
    mesh = mesh.reordered(np.argsort(mesh.regions, kind="stable"))
    faces = {"face_topo" if name == "top" else name: rows for name, rows in mesh.faces.items()}
    return replace(mesh, faces=faces, regions=1 - mesh.regions)


def untagged(path, mesh):
    """Write a mesh whose sides are known by their places."""
    by_meshlane(path, mesh, tags=False)


FORTRAN = "{:.16e}".format
FORMATS = {  # file, writer, the mesh that is read from one, names of its regions
    "Gmsh": ("mesh.msh", by_meshlane, same, ("layer 1", "layer 2")),
    "VTK": ("mesh.vtk", by_meshlane, numbered, ("10", "11")),
    "VTU": ("mesh.vtu", by_meshlane, numbered, ("10", "11")),
    "plain VTK": ("plain.vtk", untagged, same, None),
    "plain VTU": ("plain.vtu", untagged, same, None),
    "Exodus": ("mesh.exo", lambda path, mesh: as_hdf5(path, exodus(mesh)), in_blocks, ("block 11", "upper")),
    "classic Exodus": ("old.exo", lambda path, mesh: as_classic(path, exodus(mesh)), in_blocks, ("block 11", "upper")),
    "SPECFEM": ("MESH", specfem, same, ("1", "2")),
    "Fortran": ("DOUBLE", lambda p, mesh: specfem(p, mesh, lambda x: FORTRAN(x).replace("e", "D")), same, ("1", "2")),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path, name, monkeypatch):
    """By meshlane, and where it is missing by meshio."""
    file, write, expected, regions = FORMATS[name]
    for order in (1, 2):
        mesh, path = sample(order), tmp_path / f"{order}{file}"
        write(path, mesh)
        assert_same(read_mesh(path), expected(mesh), regions)
        if path.suffix in (".msh", ".vtk", ".vtu") and find_spec("meshio"):
            with monkeypatch.context() as patch:
                patch.setitem(sys.modules, "meshlane", None)
                assert_same(read_mesh(path), expected(mesh), regions)


@pytest.mark.parametrize("suffix", [".vtu", ".exo"])
def test_elements_with_20_nodes_are_completed(tmp_path, suffix):
    """Of a mesh bent within what 20-node shape functions represent."""
    mesh, path = box_mesh((0, 0, 0), (2, 2, 2), 1).elevated(), tmp_path / f"mesh{suffix}"
    x, y, z = mesh.nodes.T
    bent = np.column_stack([x + 0.1 * y * z, y + 0.05 * x**2, z + 0.1 * x * y * z])
    mesh = replace(mesh, nodes=bent, faces=named_by_place(mesh))
    if suffix == ".vtu":
        by_meshlane(path, mesh, in_order(mesh, VTK)[:, :20], tags=False)
    else:
        variables = {f"coord{axis}": (None, mesh.nodes[:, i], None) for i, axis in enumerate("xyz")}
        as_hdf5(path, variables | {"connect1": (None, in_order(mesh, EXODUS)[:, :20] + 1, "HEX20")})
    read = read_mesh(path)
    assert read.order == 2 and read.size == 8 and problems(replace(read, faces=mesh.faces), 4) == []
    assert suffix == ".vtu" or read.region_names == ("block 1",)
    np.testing.assert_allclose(read.nodes[read.elements], bent[mesh.elements], atol=1e-14)


def test_stray_nodes_of_surfaces_are_dropped_and_others_told(tmp_path):
    mesh, library = sample(1), meshlane()
    m = len(mesh.nodes)
    blocks = [("hexahedron", in_order(mesh, VTK)), ("vertex", [[m]])]
    stray = library.Mesh(np.vstack([mesh.nodes, [(0, 0, 9000), (1, 1, 9000)]]), blocks)
    library.write(tmp_path / "mesh.vtu", stray)
    messages = [p.message for p in problems(read_mesh(tmp_path / "mesh.vtu"))]
    assert messages == [f"node {m} at (x, y, z) = (1, 1, 9000) m belongs to no element"]


def gmsh_box(path, order, version, save_all=False):
    """A box of 4 x 3 x 2 km in two volumes, meshed by Gmsh, with physical groups."""
    meshlane()
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError: a library of the windowing system is missing
        pytest.skip(f"Gmsh's Python module cannot be used (pip install gmsh): {error}")
    gmsh.initialize(interruptible=False)
    # Gmsh has SIGPIPE end the process, also later, in another test that writes to a closed socket
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    occ, mesh = gmsh.model.occ, gmsh.model.mesh
    try:
        for option, value in {"General.Terminal": 0, "Mesh.SaveAll": save_all, "Mesh.MshFileVersion": version}.items():
            gmsh.option.setNumber(option, value)
        boxes = [(3, occ.addBox(0, 0, z, 4000, 3000, 1000)) for z in (-2000, -1000)]
        occ.fragment(boxes[:1], boxes[1:])
        occ.synchronize()
        for _, curve in gmsh.model.getEntities(1):
            mesh.setTransfiniteCurve(curve, 4)
        mesh.setTransfiniteAutomatic(recombine=True)
        groups = {"free surface": [], "absorbing": []}
        for _, face in gmsh.model.getEntities(2):
            z = occ.getCenterOfMass(2, face)[2]
            if abs(z + 1000) > 1:  # not the interface
                groups["free surface" if z > -1 else "absorbing"].append(face)
        for name, faces in groups.items():
            gmsh.model.addPhysicalGroup(2, faces, name=name)
        for _, volume in gmsh.model.getEntities(3):
            deep = occ.getCenterOfMass(3, volume)[2] < -1000
            gmsh.model.addPhysicalGroup(3, [volume], name="rock" if deep else "sediment")
        mesh.generate(3)
        mesh.setOrder(order)
        gmsh.write(str(path))
    finally:
        gmsh.finalize()


@pytest.mark.parametrize("version", [2.2, 4.1])
def test_meshes_made_by_gmsh(tmp_path, version):
    path = tmp_path / "box.msh"
    for order in (1, 2):
        gmsh_box(path, order, version)
        mesh = read_mesh(path)
        assert problems(mesh, 4) == []  # right-handed, positive, every boundary face in one set
        assert (mesh.order, mesh.size, mesh.region_names) == (order, 54, ("rock", "sediment"))
        np.testing.assert_array_equal(mesh.regions, (mesh.centroids()[:, 2] > -1000).astype(int))
        assert {name: len(rows) for name, rows in mesh.faces.items()} == {"free surface": 9, "absorbing": 9 + 4 * 18}
        rows = mesh.faces["free surface"]
        assert (mesh.nodes[mesh.elements[rows[:, 0][:, None], face_nodes(order)[rows[:, 1]]]][..., 2] == 0).all()
        # A box: the middle nodes lie where the trilinear map puts them only if their order is understood.
        lattice = shape.positions(mesh.nodes, mesh.corners, np.linspace(-1, 1, order + 1))
        np.testing.assert_allclose(mesh.nodes[mesh.elements], lattice, atol=1e-8)
    gmsh_box(path, 1, version, save_all=True)  # loses the groups
    message = refusal(path)
    assert "they have no elements" in message or "cannot read it" in message


# --- files that cannot be used ----------------------------------------------------------------------------------------------------------


def test_exodus_files_that_cannot_be_used(tmp_path):
    whole = exodus(sample(1))
    tets = {"connect2": (None, whole["connect2"][1][:, :4], "TETRA4")}
    beyond = {"elem_ss2": (None, whole["elem_ss2"][1] + 1000, None)}
    path = tmp_path / "mesh.e"
    path.write_text("no mesh")
    assert "this is not an Exodus file" in refusal(path)
    for missing, more, words in (
        ("coordz", {}, "it has no coordinates coordx, coordy, coordz"),
        ("connect", {}, "it has no element blocks"),
        ("none", tets, "it contains 24 tetrahedra; only hexahedra"),
        ("none", beyond, "the side set 'east' names element 10"),
    ):
        as_hdf5(path, {name: v for name, v in whole.items() if not name.startswith(missing)} | more)
        assert words in refusal(path)


def without_last(text):
    """A text without its last word."""
    return text.rsplit(None, 1)[0]


NO_FACE = "1 quadrilaterals are not faces of hexahedra, the first in 'west'"
WRONG_SPECFEM = [  # file, change of its text, words
    ("nodes_coords_file", without_last, "nodes_coords_file announces 100 rows but contains 399 numbers"),
    ("mesh_file", lambda text: without_last(text) + " 999", "mesh_file names node 999, which does not exist"),
    ("materials_file", lambda text: text + "999 1\n", "materials_file names element 999"),
    ("mesh_file", lambda text: text + "end\n", "contains something that is not a number"),
    (FILES["west"], lambda text: without_last(text) + " 7", NO_FACE),
]


def test_specfem_folders_that_cannot_be_used(tmp_path):
    folder = tmp_path / "MESH"
    specfem(folder, sample(1))
    for name, change, words in WRONG_SPECFEM:
        text = (folder / name).read_text()
        (folder / name).write_text(change(text))
        assert words in refusal(folder)
        (folder / name).write_text(text)
    (folder / "mesh_file").unlink()
    assert "the folder has no file mesh_file" in refusal(folder)


def test_files_that_are_no_mesh(tmp_path, monkeypatch):
    assert "there is no such file" in refusal(tmp_path / "none.msh")
    (tmp_path / "mesh.stl").write_text("")
    assert "mesh files with the suffix .stl are not supported" in refusal(tmp_path / "mesh.stl")
    (tmp_path / "text.msh").write_text("nothing")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "meshlane", None)
        if find_spec("meshio"):
            assert refusal(tmp_path / "text.msh").startswith(f"text.msh: meshio {version('meshio')} cannot read it: ")
        patch.setitem(sys.modules, "meshio", None)
        assert refusal(tmp_path / "text.msh") == "text.msh: Gmsh and VTK meshes need meshlane"
    library, points = meshlane(), np.random.default_rng(0).random((8, 3))
    assert "meshlane" in refusal(tmp_path / "text.msh") and "cannot read it" in refusal(tmp_path / "text.msh")
    tets = [("tetra", [[0, 1, 2, 3]]), ("hexahedron", [list(range(8))])]
    library.write(tmp_path / "tets.vtu", library.Mesh(points, tets))
    assert "it contains 1 tetrahedra" in refusal(tmp_path / "tets.vtu")
    library.write(tmp_path / "flat.vtu", library.Mesh(points, [("quad", [[0, 1, 2, 3]])]))
    assert "it contains no hexahedra" in refusal(tmp_path / "flat.vtu")


def test_names_of_groups_and_nodes_that_look_like_numbers():
    mesh = box_mesh((0, 0, 0), (4, 1, 1), 1)
    names = np.array(["10", "²", "--1", "-2"], object)
    parts = MeshParts(mesh.nodes, [in_order(mesh, VTK)], [names])
    assert assembled(parts).region_names == ("-2", "10", "--1", "²")
    parts.elements[0][2, 0] = -7
    with pytest.raises(FileError, match="names node -7"):
        assembled(parts)


# --- pictures ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_vtu_that_craton_writes(tmp_path, order):
    mesh = sample(order)
    data = {"velocity": np.random.default_rng(0).random((len(mesh.nodes), 3)).astype(np.float32)}
    write_mesh(tmp_path / "mesh.vtu", mesh, data, {"vp <m/s>": np.arange(mesh.size) * 1.5})
    read = meshlane().vtu.read(tmp_path / "mesh.vtu")
    np.testing.assert_array_equal(read.points, mesh.nodes)
    np.testing.assert_array_equal(read.cells[0].data, in_order(mesh, VTK))
    assert read.cells[0].type == ("hexahedron" if order == 1 else "hexahedron27")
    np.testing.assert_array_equal(read.point_data["velocity"], data["velocity"])
    np.testing.assert_array_equal(read.cell_data["vp <m/s>"][0], np.arange(mesh.size) * 1.5)
    np.testing.assert_array_equal(read.cell_data["region"][0], mesh.regions)
    top = read.cell_data["faces top"][0]
    np.testing.assert_array_equal(np.flatnonzero(top), np.sort(mesh.faces["top"][:, 0]))
    assert set(top[top > 0]) == {1 << 5} and [p.name for p in tmp_path.iterdir()] == ["mesh.vtu"]
    with pytest.raises(ValueError, match="there are 48 elements"):
        write_mesh(tmp_path / "mesh.vtu", mesh, cell_data={"vs": np.zeros(3)})


def test_fields_at_gll_points():
    mesh = sample(2)
    fine = subdivided(mesh, 4)
    assert fine.size == 64 * mesh.size and problems(replace(fine, faces=named_by_place(fine)), 1) == []
    numbered = number(mesh.elements, 4)
    assert len(fine.nodes) == numbered.count
    np.testing.assert_array_equal(fine.elements[64 * 5], numbered.points[5][:2, :2, :2].ravel())
    assert len(boundary_faces(fine.elements)) == 16 * len(boundary_faces(mesh.elements))
    assert isinstance(fine, HexMesh) and fine.region_names == mesh.region_names
