"""Results of other runs that a run takes, damaged: waves that are injected, observed data; found, and the file is named."""

import shutil

import numpy as np
import pytest
import xarray as xr
from common import refused
from damagecase import damage, exchange, missed
from injectioncase import PLANE, RUN, taking
from inversecase import SHOTS, scenario, with_data

import craton
from craton import inverse
from craton.cli import main
from craton.integrity import Damaged
from craton.output.recordings import CHUNK_BYTES, RecordedRows, open_recording
from craton.scenario import dumps

SHORT = PLANE | {"time": {"duration": 0.5}, "run": RUN}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run whose waves are recorded, in several chunks, and a scenario that takes them."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("craton.output.recordings.CHUNK_BYTES", CHUNK_BYTES >> 9)
        craton.run(craton.Scenario(**SHORT), out=folder / "out", progress=False)
    taker = craton.Scenario(**SHORT | taking(folder / "out"))
    (folder / "take.toml").write_text(dumps(taker).replace(str(folder / "out"), "out"))
    return folder


BITS = [(name, 0.5, f"{name} is damaged") for name in ("values/0.1", "x/0", "values/.zarray", ".zattrs")]


def test_damaged_waves_are_named(recorded, tmp_path, monkeypatch, capsys):
    """A bit that flips, in values, places and metadata, and exchanged chunks: found by the plan, before anything runs. Those that
    are whole are taken.
    """

    def box(folder):
        return folder / "out" / "result.zarr" / "recordings" / "box"

    def look(folder, words):
        monkeypatch.chdir(folder)
        codes = [main(["plan", "take.toml"]), main(["run", "take.toml", "-o", "taken"])]
        message = capsys.readouterr().err
        return codes == [3, 3] and message.count(words) == 2 and not (folder / "taken").exists(), message

    assert not missed(BITS, recorded, tmp_path / "copy", box, look)
    folder = shutil.copytree(recorded, tmp_path / "exchanged")
    monkeypatch.chdir(folder)
    first, second = (box(folder) / "values" / name for name in ("0.0", "0.1"))
    assert main(["run", "take.toml", "-o", "taken", "--quiet"]) == 0
    exchange(first, second)
    assert main(["plan", "take.toml"]) == 3
    assert "values is damaged: its chunks are not those" in capsys.readouterr().err
    exchange(first, second)
    # after the plan has read them
    file = open_recording(folder / "out", "box")
    places = np.arange(file.values.shape[1])
    rows = RecordedRows(file.path, "box", places, np.zeros(len(places), bool), 0, np.zeros(len(places)))
    assert np.isfinite(rows(0, 5)).all()
    damage(second, 0.5)
    refused(Damaged, "values/0.1 is damaged: its checksum", rows, 0, 5)


@pytest.mark.long
def test_damaged_data_of_a_gradient_are_named(tmp_path, capsys):
    """On the command line, before anything is written; in Python, where they are read when they are used."""
    craton.run_survey(scenario(source=SHOTS), tmp_path / "out", workers=1, progress=False)
    file, data = tmp_path / "gradient.toml", tmp_path / "out" / "result.zarr"
    file.write_text(dumps(with_data(data)))
    chunk, neighbour = (data / "velocity" / name for name in ("1.0.0.0", "0.0.0.0"))
    for change, words in (
        (lambda: damage(chunk, 0.5), f"{chunk} is damaged: its checksum"),
        (lambda: exchange(chunk, neighbour), "velocity is damaged: its chunks are not those"),
    ):
        change()
        assert main(["gradient", str(file), "-o", str(tmp_path / "gradient"), "--workers", "1"]) == 3
        assert words in capsys.readouterr().err
        change()  # back
    assert not (tmp_path / "gradient").exists()
    assert inverse.survey.prepare(with_data(data)).checksum
    damage(chunk, 0.5)
    observed, options = xr.open_zarr(data, chunks=None), {"parameters": ("vp", "rho")}
    refused(Damaged, "1.0.0.0 is damaged: its checksum", craton.Problem, scenario(source=SHOTS), observed, **options)
