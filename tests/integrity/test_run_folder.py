"""A run folder says by itself what was computed: files of the scenario are kept in OUT/inputs."""

import shutil
import tomllib

import numpy as np
import pytest
import xarray as xr
from common import manifest, refused
from damagecase import RESULTS, damage, interrupted
from paths import DATA
from smallcase import opened, same_results, write

import craton
from craton.errors import ScenarioError
from craton.output import inputs
from craton.report.gravity import bodies_of
from craton.report.runs import Run

CMT = DATA / "sources" / "CMTSOLUTION_cartesian"
STATIONS = 'coordinates = "metres"\n\n[[receivers]]\nfile = "stations.csv"'
FILES = (
    ("spacing = 100", "spacing = 150"),
    ('kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300', 'kind = "file"\nfile = "data/model.zarr"'),
    ('kind = "explosion"\nat = [1500, 1500, -1000]\nmoment = 1e14', 'kind = "cmtsolution"\nfile = "data/CMT"'),
    ('[[receivers]]\nname = "A"\nat = [2000, 1500, 0]', STATIONS),
)


def written(folder):
    """A scenario with a model, a source and stations from files, one of them beside it, two elsewhere."""
    x, z = np.linspace(-100, 3100, 5), np.linspace(-2600, 100, 6)
    values = (("vp", 3000.0), ("vs", 1700.0), ("rho", 2300.0))
    fields = {name: (("z", "y", "x"), np.full((6, 5, 5), value)) for name, value in values}
    (folder / "data").mkdir(parents=True)
    xr.Dataset(fields, {"x": x, "y": x, "z": z}).to_zarr(folder / "data" / "model.zarr")
    shutil.copy(CMT, folder / "data" / "CMT")
    (folder / "stations.csv").write_text("name,x,y,z\nA,2000,1500,0\nB,1000,1500,0\n")
    return write(folder, *FILES, name="case.toml")


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A run that was interrupted, whose folder was moved and whose files are gone; and a whole one."""
    folder = tmp_path_factory.mktemp("moved")
    scenario = craton.load(written(folder / "work"))
    craton.run(scenario, out=folder / "whole", progress=False)
    interrupted(craton.run, scenario, out=folder / "work" / "out", stop=[20])
    (folder / "work" / "out").rename(folder / "elsewhere")
    shutil.rmtree(folder / "work")
    return folder


def test_the_scenario_refers_to_copies_and_what_changed_is_named(moved, tmp_path):
    text = (moved / "whole" / "scenario.toml").read_text()
    tables = tomllib.loads(text)
    assert tables["model"]["file"] == "inputs/model.zarr" and tables["source"][0]["file"] == "inputs/CMT"
    assert tables["receivers"][0]["file"] == "inputs/stations.csv" and str(moved) not in text
    assert opened(moved / "whole").attrs["scenario"] == text
    records = manifest(moved / "whole")["inputs"]
    assert [entry["key"] for entry in records] == ["model.file", "source.0.file", "receivers.0.file"]
    assert all(entry["from"].startswith(str(moved / "work")) for entry in records)
    assert list(inputs.changed(moved / "whole", records)) == []
    assert craton.load(moved / "whole" / "scenario.toml").model.file == str(moved / "whole" / "inputs" / "model.zarr")
    out = shutil.copytree(moved / "whole", tmp_path / "out")
    for how, words in ((("B,1000", "C,1200"), "has changed since the run began"), (None, "is gone")):
        damage(out / "inputs" / "stations.csv", how)
        (message,) = inputs.changed(out, records)
        assert f"stations.csv (receivers.0.file) {words}" in message


def test_a_moved_folder_is_resumed_and_plotted(moved):
    out = moved / "elsewhere"
    damage(out / "inputs" / "CMT", ("0.9", "0.8"))
    refused(ScenarioError, "CMT (source.0.file) has changed since the run", craton.resume, out, progress=False)
    shutil.copy(CMT, out / "inputs" / "CMT")
    craton.resume(out, progress=False)
    same_results(moved / "whole", out, RESULTS)
    assert Run(out).title == "Small case"
    craton.run(
        craton.load(out / "scenario.toml"), out=out, force=True, progress=False
    )  # from its own copies, in its own place
    same_results(moved / "whole", out, RESULTS)
    assert (out / "inputs" / "CMT").read_text() == CMT.read_text()


def test_a_figure_without_its_scenario_says_so(moved, tmp_path, caplog):
    (tmp_path / "scenario.toml").write_text("[domain\n")
    run = Run(tmp_path)
    assert run.title == tmp_path.name and bodies_of(run.scenario) == []
    assert caplog.text.count("scenario.toml cannot be read, the figure is drawn without it") == 1
    assert bodies_of(Run(moved / "whole").scenario) == []  # waves have no prisms


def test_large_files_are_referenced_and_names_stay_apart(tmp_path):
    file = written(tmp_path / "a")
    scenario = craton.load(file)
    model = scenario.model.file
    referenced = inputs.Inputs(scenario, limit=2000)
    records = referenced.keep(tmp_path)
    assert records[0]["file"] is None and records[0]["from"] == model
    assert records[0]["sha256"] == inputs.checksum(model) and records[0]["bytes"] > 2000
    assert tomllib.loads(referenced.text(scenario))["model"]["file"] == model
    (tmp_path / "b").mkdir()
    stations = shutil.copy(tmp_path / "a" / "stations.csv", tmp_path / "b" / "stations.csv")
    receivers = craton.load(file, [f'receivers.0.file="{stations}"']).receivers
    moved = scenario.model_copy(update={"receivers": receivers})
    both = inputs.Inputs(scenario, moved)  # as of a survey, whose scenarios are in a folder
    assert tomllib.loads(both.text(moved, "../inputs"))["model"]["file"] == "../inputs/model.zarr"
    assert both.files("inputs")[str(stations)] == "inputs/2_stations.csv"


def test_a_scenario_in_a_scenario_is_kept_with_its_files(tmp_path):
    """Gravity of the model of a wave scenario."""
    written(tmp_path / "a")
    prisms = [{"kind": "model", "file": str(tmp_path / "a" / "case.toml"), "spacing": 1000, "reference": 2000}]
    points = {"kind": "grid", "x": [0, 3000, 2], "y": [0, 3000, 2], "z": 100}
    scenario = craton.Scenario(method="gravity", prisms=prisms, points=points)
    first = craton.run(scenario, out=tmp_path / "out", progress=False, device="cpu")
    shutil.rmtree(tmp_path / "a")
    nested = tomllib.loads((tmp_path / "out" / "inputs" / "case.toml").read_text())
    assert nested["model"]["file"] == "model.zarr"
    again = craton.run(craton.load(tmp_path / "out" / "scenario.toml"), progress=False, device="cpu")
    assert np.array_equal(first.samples, again.samples) and np.abs(first.samples).max() > 0
