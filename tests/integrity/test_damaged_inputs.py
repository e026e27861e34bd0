"""Results of other runs that a run takes, damaged: waves that are injected, observed data; found, and the file is named."""

import shutil

import numpy as np
import pytest
import xarray as xr
from injectioncase import PLANE, RUN, ran
from inversecase import scenario
from test_gradient_survey import FORCES, with_data
from test_greens_damage import exchange, flip

import craton
from craton import inverse
from craton.cli import main
from craton.integrity import Damaged
from craton.output.recordings import CHUNK_BYTES, RecordedRows, open_recording
from craton.scenario import dumps

SHORT = PLANE | {"time": {"duration": 0.5}}
KINDS = {"grid": {}, "points": {"sampling": 40, "origin": [0, 0]}}
BOX = PLANE["recording"][0]


@pytest.fixture(scope="module", params=KINDS)
def recorded(request, tmp_path_factory):
    """A run whose waves are recorded, in several chunks."""
    out = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("craton.output.recordings.CHUNK_BYTES", CHUNK_BYTES >> 9)
        ran(SHORT | {"recording": [BOX | KINDS[request.param]]}, out)
    return out


@pytest.fixture
def box(recorded, tmp_path):
    """A copy, the folder of its recording, and a scenario that takes it."""
    out = shutil.copytree(recorded, tmp_path / "out")
    injection = [{"recorded": str(out), "name": "box"}]
    tables = SHORT | {"source": [], "recording": [], "injection": injection, "run": RUN}
    (tmp_path / "take.toml").write_text(dumps(craton.Scenario(**tables)))
    return out / "result.zarr" / "recordings" / "box", tmp_path / "take.toml"


def test_waves_that_are_whole_are_taken(box):
    assert (box[0] / "values" / "0.1").exists()
    assert main(["run", str(box[1]), "-o", str(box[1].parent / "taken"), "--quiet"]) == 0


@pytest.mark.parametrize("name", ["values/0.1", "x/0", "values/.zarray", ".zattrs"])
def test_damaged_waves_are_named(box, name, capsys):
    """A bit that flips, in values, places and metadata: found by the plan, before anything runs."""
    folder, file = box
    flip(folder / name, 0.5)
    for command in (["plan"], ["run", "-o", str(file.parent / "taken")]):
        assert main([command[0], str(file), *command[1:]]) == 3
        assert f"{folder / name} is damaged" in capsys.readouterr().err
    assert not (file.parent / "taken").exists()


def test_exchanged_waves_are_told(box, capsys):
    folder, file = box
    one, two = (folder / "values" / name for name in ("0.0", "0.1"))
    (one.rename(folder / "aside"), two.rename(one), (folder / "aside").rename(two))
    assert main(["plan", str(file)]) == 3
    assert "values is damaged: its chunks are not those" in capsys.readouterr().err


def test_waves_that_are_damaged_while_they_are_taken_are_named(box):
    """After the plan has read them."""
    folder, _ = box
    recorded = open_recording(folder.parents[2], "box")
    places = np.arange(recorded.values.shape[1])
    largest = np.zeros(len(places))
    rows = RecordedRows(recorded.path, "box", places, np.zeros(len(places), bool), 0, largest)
    assert np.isfinite(rows(0, 5)).all()
    flip(folder / "values" / "0.1", 0.5)
    with pytest.raises(Damaged, match="values/0.1 is damaged: its checksum"):
        rows(0, 5)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Waveforms of three shots."""
    out = tmp_path_factory.mktemp("survey") / "out"
    craton.run_survey(scenario(source=FORCES), out, workers=1, progress=False)
    return out


@pytest.fixture
def data(survey, tmp_path):
    """A copy of its store."""
    return shutil.copytree(survey, tmp_path / "out") / "result.zarr"


def test_damaged_data_of_a_gradient_are_named(data, tmp_path, capsys):
    """On the command line, before anything is written."""
    file, velocity = tmp_path / "gradient.toml", data / "velocity"
    file.write_text(dumps(with_data(data)))
    command = ["gradient", str(file), "-o", str(tmp_path / "gradient"), "--workers", "1"]
    flip(velocity / "1.0.0.0", 0.5)
    assert main(command) == 3
    assert f"{velocity / '1.0.0.0'} is damaged: its checksum" in capsys.readouterr().err
    flip(velocity / "1.0.0.0", 0.5)  # back
    exchange(velocity)
    assert main(command) == 3
    assert "velocity is damaged: its chunks are not those" in capsys.readouterr().err
    exchange(velocity)
    assert not (tmp_path / "gradient").exists()
    assert inverse.survey.prepare(with_data(data)).checksum


def test_damaged_data_of_a_problem_are_named(data):
    """In Python, where they are read when they are used."""
    flip(data / "velocity" / "1.0.0.0", 0.5)
    observed = xr.open_zarr(data, chunks=None)
    with pytest.raises(Damaged, match="velocity/1.0.0.0 is damaged: its checksum"):
        craton.Problem(scenario(source=FORCES), observed, parameters=("vp", "rho"))
