"""A damaged store of Green's functions answers nothing: checksums, exchanged chunks, attributes that cannot be right."""

import json
import shutil

import numpy as np
import pytest
import xarray as xr
from common import refused
from damagecase import damage, exchange, missed
from greenscase import PLANE, scenario

from craton import greens
from craton.cli.app import main
from craton.errors import ComputationError, ScenarioError
from craton.greens import fields
from craton.greens.store import write_field
from craton.integrity import Damaged, sealed
from craton.output.inspection import digests_of
from craton.output.store import FILES_OF_RUNS, read_run

STATIONS = [{"name": "A", "at": [2000, 0]}, {"name": "B", "at": [1800, -300]}]
VALLEY = scenario(PLANE, (1000, -400), tau=0.1, time={"duration": 0.4}, receivers=STATIONS)
SECOND = "result.zarr/values/1.0.0"  # the file of the second force


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store of two forces at each of two stations."""
    out = tmp_path_factory.mktemp("greens") / "out"
    return greens.build(VALLEY, out, workers=1, progress=False).path


@pytest.fixture
def out(whole, tmp_path):
    """A copy of it."""
    return shutil.copytree(whole, tmp_path / "out")


def attributes(out):
    """Those of the store."""
    return json.loads((out / "result.zarr" / ".zattrs").read_text())


def write_attributes(out, **changes):
    """Other attributes of the store, which run.json knows."""
    (out / "result.zarr" / ".zattrs").write_text(json.dumps(attributes(out) | changes))
    (out / "run.json").write_text(sealed(read_run(out) | digests_of(out, FILES_OF_RUNS)))


def asked(out, capsys):
    """Exit code and message of a question to a store on the command line."""
    code = main(["greens", "query", str(out), "-o", str(out / "o.nc")])
    return code, capsys.readouterr().err


def test_a_flipped_bit_is_found_and_the_file_is_named(whole, tmp_path, capsys):
    """By the command line at first use, and by craton check; in fields, scales and coordinates."""
    assert main(["check", str(whole)]) == 0 and "DAMAGED" not in capsys.readouterr().out

    def look(out, words):
        code, message = asked(out, capsys)
        is_refused = code == main(["check", str(out)]) == 3 and not (out / "o.nc").exists()
        return is_refused and "is damaged" in message, message

    names = ("values/1.0.0", "scale/0.0", "x/0", "station/0")
    rows = [(name, place, name.split("/")[0]) for name in names for place in (0.3, 1.0)]
    assert not missed(rows, whole, tmp_path / "copy", lambda out: out / "result.zarr", look)


def test_only_fields_that_are_used_are_compared(out, whole):
    """Each once; the one that is damaged when it is used; one station needs its own, and gets what all stations get."""
    damage(out / SECOND, 0.5)
    store = greens.open(out)
    assert np.isfinite(store._fields.sums([0], 1, (np.arange(2), np.array([3]), np.array([1.0])), 0.0)).all()
    refused(Damaged, "1.0.0 is damaged: its checksum", store.seismograms)
    wavelet = {"kind": "gaussian", "tau": 0.1}
    refused(Damaged, "1.0.0 is damaged: its checksum", store.batch, [[1000, 0, -400]], np.ones((1, 6)), wavelet)
    expected = greens.open(whole).seismograms()
    xr.testing.assert_equal(greens.open(out).seismograms(stations=["B"]), expected.sel(receiver=["B"]))


def test_exchanged_chunks_are_found(out, capsys):
    """Each with its right checksum."""
    for array, chunks in (("values", ("0.0.0", "1.0.0")), ("scale", ("0.0", "1.0"))):
        files = [out / "result.zarr" / array / chunk for chunk in chunks]
        exchange(*files)
        code, message = asked(out, capsys)
        assert code == main(["check", str(out)]) == 3 and f"{array} is damaged: its chunks are not those" in message
        exchange(*files)


def test_a_field_that_is_gone_is_computed_again(out, whole):
    """As the message says."""
    (out / SECOND).unlink()
    refused(Damaged, "3 of 4 chunks", greens.open, out)
    again = greens.build(VALLEY, out, workers=1, progress=False).seismograms().velocity
    np.testing.assert_array_equal(again, greens.open(whole).seismograms().velocity)


NAN = float("nan")
WRONG = {
    "dt": [0, -1, "x", float("inf")],
    "start": [NAN],
    "every": [0, 1.5],
    "method": ["nope", "gravity"],
    "field": [{}, [], {"resolution": "x"}, {"resolution": None}],
    "max_frequency": ["x", NAN],
    "duration": [None],
    "volume": [[], [[1, 2]], [[1, 2], [3, NAN]]],
}


def test_attributes_that_cannot_be_right_are_told(out, capsys):
    """Also where run.json has their checksum; without it, by that."""
    sound = attributes(out)
    for key, value in ((key, value) for key, values in WRONG.items() for value in values):
        write_attributes(out, **sound | {key: value})
        code, message = asked(out, capsys)
        assert code == 3 and f".zattrs is damaged: its {key} cannot be right" in message, value
    (out / "result.zarr" / ".zattrs").write_text(json.dumps(sound | {"dt": 1.25}))
    code, message = asked(out, capsys)
    assert code == 3 and ".zattrs is damaged: it" in message


def test_a_run_json_that_is_none_or_of_a_run_is_told(out, capsys):
    """That of an earlier version is read: its fields bear checksums."""
    for contents, expected in ((b"", 3), (b"{", 3), (b"[]", 3), (None, 2), (b'{"state": "finished"}', 0)):
        damage(out / "run.json", contents)
        code, message = asked(out, capsys)
        assert code == expected and (code == 0 or "run.json" in message), contents
    damage(out / "run.json", sealed({"state": "finished", "kind": "run"}).encode())
    refused(ScenarioError, "holds no Green's functions but a run", greens.open, out)


def test_what_cannot_be_of_this_store_is_refused(out):
    """A volume of fewer places; another medium; an impulse that was cut off."""
    low, high = attributes(out)["volume"]
    write_attributes(out, volume=[[low[0] - 200, *low[1:]], high])
    refused(Damaged, "places, its volume", greens.open, out)
    write_attributes(out, volume=[low, high])
    damage(out / "scenario.toml", ("2000", "2001"))  # the medium and the mesh are made anew of it
    refused(Damaged, "scenario.toml is damaged", greens.open, out)
    damage(out / "scenario.toml", ("2001", "2000"))
    write_attributes(out, start=0.0)  # of an earlier version, which began at time.start
    refused(ScenarioError, "an earlier version of craton cut it off", greens.open, out)


def test_what_is_not_finite_is_neither_stored_nor_given(out, whole):
    """Fields of a build, and seismograms of a store."""
    store = greens.open(whole)._fields
    field = np.ones((store.places, 4))
    field[3, 2] = np.nan
    refused(ComputationError, "not finite", write_field, str(out / "result.zarr"), 0, field)
    blank = np.full((len(field), store.samples), np.inf)
    fields.write(out / "result.zarr" / "values", 0, [blank], np.ones(len(blank)), np.float32)
    write_attributes(out)
    refused(Damaged, "not finite", greens.open(out).seismograms)
