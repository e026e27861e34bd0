"""A damaged store of Green's functions answers nothing: checksums, exchanged chunks, attributes that cannot be right."""

import json
import shutil

import numpy as np
import pytest
import xarray as xr
from greenscase import PLANE, scenario

from craton import greens
from craton.cli.app import main
from craton.errors import ComputationError, ScenarioError
from craton.greens import fields
from craton.greens.store import GreensTask
from craton.integrity import Damaged, sealed
from craton.output.digests import digests_of
from craton.output.store import FILES_OF_RUNS, read_run

SHORT = PLANE | {"time": {"duration": 0.4}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store of two forces."""
    out = tmp_path_factory.mktemp("greens") / "out"
    valley = scenario(SHORT, (1000, -400), tau=0.1)
    return greens.build(valley, out, workers=1, progress=False).path


@pytest.fixture
def out(whole, tmp_path):
    """A copy of it."""
    return shutil.copytree(whole, tmp_path / "out")


def values(out, number=0):
    """The file of a force."""
    return out / "result.zarr" / "values" / f"{number}.0.0"


def flip(path, place):
    """Change one bit of a file."""
    contents = bytearray(path.read_bytes())
    contents[int(place * (len(contents) - 1))] ^= 0x10
    path.write_bytes(contents)


def exchange(folder):
    """Two chunks of an array."""
    one, two = sorted(folder.glob("[01].0*"))
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)


def write_attributes(out, is_known=True, **changes):
    """Other attributes of the store, which run.json knows."""
    path = out / "result.zarr" / ".zattrs"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    if is_known:
        run = read_run(out) | digests_of(out, FILES_OF_RUNS)
        (out / "run.json").write_text(sealed(run))


def test_a_fresh_store_is_whole(whole, capsys):
    assert main(["check", str(whole)]) == 0
    assert "DAMAGED" not in capsys.readouterr().out


@pytest.mark.parametrize("place", [0, 0.3, 0.99, 1])
@pytest.mark.parametrize("name", ["values/1.0.0", "scale/0.0", "x/0", "station/0"])
def test_a_flipped_bit_is_found_and_the_file_is_named(out, name, place, capsys):
    """By the command line at first use, and by craton check; in fields, scales and coordinates."""
    flip(out / "result.zarr" / name, place)
    query = ["greens", "query", str(out), "-o", str(out / "o.nc")]
    assert main(query) == 3
    said = capsys.readouterr().err
    assert "is damaged" in said and name.split("/")[0] in said
    assert not (out / "o.nc").exists()
    assert main(["check", str(out)]) == 3


def test_only_fields_that_are_used_are_compared(out):
    """Each once; the one that is damaged when it is used."""
    flip(values(out, 1), 0.5)
    store = greens.open(out)
    sound = store._fields.sums([0], 1, np.array([[3]]), np.array([[1.0]]), 0.0)
    assert np.isfinite(sound).all()
    with pytest.raises(Damaged, match="1.0.0 is damaged: its checksum"):
        store.seismograms()
    with pytest.raises(Damaged, match="1.0.0 is damaged: its checksum"):
        store.batch([[1000, 0, -400]], np.ones((1, 6)), {"kind": "gaussian", "tau": 0.1})


@pytest.mark.parametrize("array", ["values", "scale"])
def test_exchanged_chunks_are_found(out, array, capsys):
    """Each with its right checksum."""
    exchange(out / "result.zarr" / array)
    assert main(["greens", "query", str(out), "-o", str(out / "o.nc")]) == 3
    assert f"{array} is damaged: its chunks are not those" in capsys.readouterr().err
    assert main(["check", str(out)]) == 3


def test_a_field_that_is_gone_is_computed_again(out, whole):
    """As the message says."""
    expected = greens.open(whole).seismograms().velocity.values
    values(out, 1).unlink()
    with pytest.raises(Damaged, match="1 of 2 chunks"):
        greens.open(out)
    valley = scenario(SHORT, (1000, -400), tau=0.1)
    again = greens.build(valley, out, workers=1, progress=False)
    np.testing.assert_array_equal(again.seismograms().velocity.values, expected)


WRONG = [
    ("dt", 0),
    ("dt", -1),
    ("dt", "x"),
    ("dt", float("inf")),
    ("start", float("nan")),
    ("every", 0),
    ("every", 1.5),
    ("method", "nope"),
    ("method", "gravity"),
    ("field", {}),
    ("field", []),
    ("field", {"origin": 1, "spacing": 0, "shape": [], "box": [], "stresses": [], "planar": 0}),
    ("field", {"low": [0, 0], "high": [1, 1], "resolution": 1.0}),
    ("max_frequency", "x"),
    ("max_frequency", float("nan")),
    ("duration", None),
    ("volume", []),
    ("volume", [[1, 2]]),
    ("volume", [[1, 2], [3, float("nan")]]),
]


@pytest.mark.parametrize("key, value", WRONG)
def test_attributes_that_cannot_be_right_are_told(out, key, value, capsys):
    """Also where run.json has their checksum; without it, by that."""
    query = ["greens", "query", str(out), "-o", str(out / "o.nc")]
    write_attributes(out, **{key: value})
    assert main(query) == 3
    assert f".zattrs is damaged: its {key} cannot be right" in capsys.readouterr().err
    write_attributes(out, is_known=False, **{key: 1.25})
    assert main(query) == 3
    assert ".zattrs is damaged: it" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", None, '{"state": "finished"}'])
def test_a_run_json_that_is_none_is_told(out, text, capsys):
    path = out / "run.json"
    path.unlink() if text is None else path.write_text(text)
    code = main(["greens", "query", str(out), "-o", str(out / "o.nc")])
    said = capsys.readouterr().err
    if text == '{"state": "finished"}':  # of an earlier version: its fields bear checksums
        assert code == 0
    else:
        assert code == (2 if text is None else 3) and "run.json" in said


def test_a_store_whose_impulse_was_cut_off_is_refused(out):
    """One of an earlier version, which began at time.start."""
    write_attributes(out, start=0.0)
    with pytest.raises(ScenarioError, match="an earlier version of craton cut it off"):
        greens.open(out)


def test_a_box_of_fewer_places_is_told(out):
    """Before anything outside of the files is read."""
    about = json.loads((out / "result.zarr" / ".zattrs").read_text())
    box = about["field"]["box"]
    about["field"]["box"] = [box[0] - 40, *box[1:]]
    write_attributes(out, field=about["field"])
    with pytest.raises(Damaged, match="too few for its volume"):
        greens.open(out).seismograms()


def test_what_is_not_finite_is_neither_stored_nor_given(out, whole, tmp_path):
    """Fields of a build, and seismograms of a store."""
    task = GreensTask("A.E", 0, "", str(out / "result.zarr"), {})
    field = np.ones((greens.open(whole)._fields.places, 4))
    field[3, 2] = np.nan
    with pytest.raises(ComputationError, match="not finite"):
        task.write(field)
    blank = np.full((len(field), greens.open(whole)._fields.samples), np.inf)
    fields.write(out / "result.zarr" / "values", 0, [blank], np.ones(len(blank)), np.float32)
    write_attributes(out)
    with pytest.raises(Damaged, match="not finite"):
        greens.open(out).seismograms()


def test_scenario_and_its_files_are_those_of_the_build(out):
    """The medium and the mesh are made anew of them."""
    text = (out / "scenario.toml").read_text()
    (out / "scenario.toml").write_text(text.replace("2000", "2001"))
    with pytest.raises(Damaged, match="scenario.toml is damaged"):
        greens.open(out)


def test_other_folders_are_no_stores(tmp_path):
    """Nothing, and a run."""
    with pytest.raises(ScenarioError, match="no run.json"):
        greens.open(tmp_path)
    (tmp_path / "run.json").write_text(sealed({"state": "finished", "kind": "run"}))
    with pytest.raises(ScenarioError, match="holds no Green's functions but a run"):
        greens.open(tmp_path)


def test_one_station_needs_its_own_fields_only(tmp_path):
    """Seismograms are those of all stations."""
    two = [{"name": "A", "at": [2000, 0]}, {"name": "B", "at": [1800, -300]}]
    valley = scenario(SHORT | {"receivers": two}, (1000, -400), tau=0.1)
    store = greens.build(valley, tmp_path / "out", workers=1, progress=False)
    expected = store.seismograms()
    one = greens.open(store.path).seismograms(stations=["B"])
    xr.testing.assert_equal(one, expected.sel(receiver=["B"]))
    flip(values(store.path, 0), 0.5)  # of the other one
    greens.open(store.path).seismograms(stations=["B"])
