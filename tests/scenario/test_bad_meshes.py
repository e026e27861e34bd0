"""Wrong meshes through the real command line, as a folder of SPECFEM's mesh files: exit code 2, element or node named, nothing written."""

import shutil
from itertools import product

import numpy as np
import refusals
from attack import binaries
from common import manifest
from smallcase import changed

from craton.cli import main

SCENARIO = refusals.MESH.replace("valley.msh", "mesh").replace("duration = 1.0", "duration = 0.1")
SCENARIO = SCENARIO.replace(refusals.MEDIUM, f'kind = "regions"\nregions = {{ 1 = {{ {refusals.LAYER} }} }}')
FILES = {name: f"absorbing_surface_file_{name}" for name in ("xmin", "xmax", "ymin", "ymax", "bottom")}
FILES["zmax"] = "free_or_absorbing_surface_file_zmax"
FACES = {"xmin": (0, 0), "xmax": (0, 1), "ymin": (1, 0), "ymax": (1, 1), "bottom": (2, 0), "zmax": (2, 1)}


def brick():
    """Eight elements of 1 km: nodes (m, 3), elements (ne, 8), faces; numbers begin at 0."""
    nodes, elements = (array.tolist() for array in binaries.brick(2000.0))
    faces = {name: [] for name in FACES}
    for number, cell in enumerate(product(range(2), repeat=3)):
        for name, (axis, high) in FACES.items():
            own = [node for node, corner in zip(elements[number], binaries.CORNERS) if corner[axis] == high]
            faces[name] += [(number, own)] if cell[2 - axis] == high else []
    return {"nodes": nodes, "elements": elements, "faces": faces}


def write(folder, mesh):
    """The files of a mesh."""
    shutil.rmtree(folder / "mesh", ignore_errors=True)
    nodes, elements = np.array(mesh["nodes"]), np.array(mesh["elements"])
    binaries.specfem(folder / "mesh", nodes, elements, {FILES[name]: rows for name, rows in mesh["faces"].items()})


def folded(mesh):
    mesh["nodes"][13] = (2400.0, 2400.0, -100.0)  # the node in the middle, beyond an opposite corner


def duplicate(mesh):
    mesh["nodes"].append(mesh["nodes"][13])
    mesh["elements"][0][6] = 27


def unused(mesh):
    mesh["nodes"].append((500.0, 500.0, -500.0))


def misordered(mesh):
    order = (0, 1, 3, 2, 4, 5, 7, 6)  # x fastest, then y, then z
    mesh["elements"] = [[own[n] for n in order] for own in mesh["elements"]]
    mesh["faces"] = {}  # a file with them is refused earlier, as they are no faces of such elements


def untagged(mesh):
    del mesh["faces"]["xmax"]


def hanging(mesh):
    """One element in place of the two at the south-west and north-west above: the node between them hangs on its faces."""
    south, north = 4, 6
    nodes = mesh["elements"]
    nodes[south] = [nodes[north if b else south][n] for n, (_, b, _) in enumerate(binaries.CORNERS)]
    del nodes[north]
    for name, rows in mesh["faces"].items():
        mesh["faces"][name] = [(e - (e > north), own) for e, own in rows if e not in (south, north)]


# a change of the mesh, or of the scenario: words of the message
WRONG = {
    folded: ("element ", "Jacobian -"),
    duplicate: ("nodes 13 and 27 lie at the same place", "(1000, 1000, -1000)"),
    unused: ("node 27", "(500, 500, -500)", "belongs to no element"),
    misordered: ("element 0", "the element is valid"),
    untagged: ("face", "is in no face set"),
    hanging: ("is a hanging node", "of element 4"),
    ("1500, -1000]", "2100, -1000]"): ("source.0.at", "y = 2100 m is outside the domain"),
    ("2000, 1500, 0]", "1900, 1500, 60]"): ("receivers.0.at", "60 m"),
    ("1 = {", "2 = {"): ("model.regions", "1"),
}


def test_bad_meshes_are_refused_and_a_good_one_runs(tmp_path, monkeypatch, capsys):
    """Exit code and standard error of `craton run`; nothing may be written where it is wrong."""
    monkeypatch.chdir(tmp_path)
    failures = []
    for change, words in WRONG.items():
        mesh = brick()
        text = SCENARIO if callable(change) else changed(change, text=SCENARIO)
        if callable(change):
            change(mesh)
        write(tmp_path, mesh)
        (tmp_path / "bad.toml").write_text(text)
        code, said = main(["run", "bad.toml", "-o", "out"]), capsys.readouterr().err
        if code != 2 or (tmp_path / "out").exists() or not all(word in said for word in words):
            failures.append(f"{change} {code}: {said}")
    assert not failures
    write(tmp_path, brick())
    (tmp_path / "good.toml").write_text(SCENARIO)
    assert main(["run", "good.toml", "-o", "out"]) == 0, capsys.readouterr().err
    assert manifest(tmp_path / "out")["state"] == "finished"
