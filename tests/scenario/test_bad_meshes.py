"""Wrong meshes through the real command line, as a folder of SPECFEM's mesh files: exit code 2, element or node named, nothing written."""

import json
from itertools import product

import pytest

from craton.cli import main

SCENARIO = """
method = "sem"
[domain]
mesh = "mesh"
[model]
kind = "regions"
regions = { 1 = { vp = 3000, vs = 1700, rho = 2300 } }
[time]
duration = 0.1
[[source]]
kind = "force"
at = [900, 1100, -700]
force = [0, 0, 1e9]
wavelet = { kind = "ricker", frequency = 2 }
[[receivers]]
name = "R1"
at = [1500, 1500, -100]
"""
FILES = {"top": "free_or_absorbing_surface_file_zmax"} | {
    name: f"absorbing_surface_file_{file}"
    for name, file in (("bottom", "bottom"), ("west", "xmin"), ("east", "xmax"), ("south", "ymin"), ("north", "ymax"))
}
CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))  # SPECFEM's order
FACES = {"west": (0, 0), "east": (0, 1), "south": (1, 0), "north": (1, 1), "bottom": (2, 0), "top": (2, 1)}


def brick(count=2, edge=1000.0):
    """Nodes (m, 3), elements (ne, 8), material of each, faces: numbers begin at 0."""
    side = count + 1

    def node(i, j, k):
        return (k * side + j) * side + i

    nodes = [(edge * i, edge * j, edge * (k - count)) for k, j, i in product(range(side), repeat=3)]
    cells = list(product(range(count), repeat=3))
    elements = [[node(i + a, j + b, k + c) for a, b, c in CORNERS] for k, j, i in cells]
    faces = {}
    for name, (axis, high) in FACES.items():
        own = [n for n, (a, b, c) in enumerate(CORNERS) if (a, b, c)[axis] == high]
        rim = (count - 1) * high
        faces[name] = [
            (e, [elements[e][n] for n in own]) for e, (k, j, i) in enumerate(cells) if (i, j, k)[axis] == rim
        ]
    return {"nodes": nodes, "elements": elements, "materials": [1] * len(elements), "faces": faces}


def write(folder, mesh):
    """The files of a mesh, numbers from 1."""
    (folder / "mesh").mkdir()

    def table(name, rows, counted=True):
        lines = [" ".join(map(str, row)) for row in rows]
        (folder / "mesh" / name).write_text("\n".join([str(len(lines)), *lines] if counted else lines) + "\n")

    table("nodes_coords_file", [(n + 1, *xyz) for n, xyz in enumerate(mesh["nodes"])])
    table("mesh_file", [(e + 1, *(n + 1 for n in own)) for e, own in enumerate(mesh["elements"])])
    table("materials_file", [(e + 1, m) for e, m in enumerate(mesh["materials"])], counted=False)
    for name, rows in mesh["faces"].items():
        table(FILES[name], [(e + 1, *(n + 1 for n in own)) for e, own in rows])


def folded(mesh):
    mesh["nodes"][13] = (2400.0, 2400.0, -100.0)  # the node in the middle, beyond an opposite corner


def duplicate(mesh):
    mesh["nodes"].append(mesh["nodes"][13])
    mesh["elements"][0][6] = 27


def unused(mesh):
    mesh["nodes"].append((500.0, 500.0, -500.0))


def misordered(mesh):
    mesh["elements"] = [
        [own[n] for n in (0, 1, 3, 2, 4, 5, 7, 6)] for own in mesh["elements"]
    ]  # x fastest, then y, then z
    mesh["faces"] = {}  # a file with them is refused earlier, as they are no faces of such elements


def untagged(mesh):
    del mesh["faces"]["east"]


def hanging(mesh):
    """One element in place of the two at the south-west and north-west above: the node between them hangs on its faces."""
    one, other = 4, 6
    mesh["elements"][one] = [mesh["elements"][other if b else one][n] for n, (_, b, _) in enumerate(CORNERS)]
    for values in (mesh["elements"], mesh["materials"]):
        del values[other]
    renumbered = {e: e - (e > other) for e in range(8) if e != other}
    mesh["faces"] = {
        name: [(renumbered[e], own) for e, own in rows if e not in (one, other)] for name, rows in mesh["faces"].items()
    }


WRONG = {
    folded: ("element ", "Jacobian -"),
    duplicate: ("nodes 13 and 27 lie at the same place", "(1000, 1000, -1000)"),
    unused: ("node 27", "(500, 500, -500)", "belongs to no element"),
    misordered: ("element 0", "the element is valid"),
    untagged: ("face", "is in no face set"),
    hanging: ("is a hanging node", "of element 4"),
}


@pytest.mark.parametrize("change", WRONG, ids=lambda f: f.__name__)
def test_bad_mesh(change, tmp_path, monkeypatch, capsys):
    mesh = brick()
    change(mesh)
    write(tmp_path, mesh)
    code, said = run(tmp_path, monkeypatch, capsys, SCENARIO)
    assert code == 2
    assert all(words in said for words in WRONG[change]), said


PLACES = {
    "source outside": (
        "at = [900, 1100, -700]",
        "at = [900, 2100, -700]",
        ("source.0.at", "y = 2100 m is outside the domain"),
    ),
    "station in the air": ("at = [1500, 1500, -100]", "at = [1500, 1500, 60]", ("receivers.0.at", "60 m")),
    "no medium for the mesh's material": ("1 = {", "2 = {", ("model.regions", "1")),
}


@pytest.mark.parametrize("name", PLACES)
def test_bad_places(name, tmp_path, monkeypatch, capsys):
    old, new, words = PLACES[name]
    write(tmp_path, brick())
    code, said = run(tmp_path, monkeypatch, capsys, SCENARIO.replace(old, new))
    assert code == 2
    assert all(one in said for one in words), said


def test_good_mesh_runs(tmp_path, monkeypatch, capsys):
    write(tmp_path, brick())
    code, said = run(tmp_path, monkeypatch, capsys, SCENARIO, may_write=True)
    assert code == 0, said
    assert json.loads((tmp_path / "out" / "run.json").read_text())["state"] == "finished"


def run(folder, monkeypatch, capsys, text, may_write=False):
    """Exit code and standard error of `craton run`; nothing may be written where it is wrong."""
    monkeypatch.chdir(folder)
    (folder / "bad.toml").write_text(text)
    code = main(["run", "bad.toml", "-o", "out"])
    assert may_write or not (folder / "out").exists()
    return code, capsys.readouterr().err
