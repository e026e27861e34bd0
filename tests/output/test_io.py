"""The table of file formats: every row can do what it says, and a file in no format is told which there are."""

import inspect

import pytest

from craton import io
from craton.io.contents import FileError, UnknownFormat

WRITTEN = io.formats("waveform")
CONVERTED = [  # written by craton convert alone
    row for holds in ("gather", "seismograms", "snapshots", "peaks", "recording") for row in io.formats(holds)
]
READ = [row for row in io.FORMATS if row not in (*WRITTEN, *CONVERTED)]


@pytest.mark.parametrize("row", READ, ids=lambda row: f"{row.name} {row.holds}")
def test_rows_name_readers(row):
    taken = inspect.signature(row.function(row.read)).parameters
    assert len(taken) >= 1 and set(row.options) <= set(taken)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in row.suffixes)
    if not row.suffixes and row.holds != "source":  # of a source the scenario names the format
        assert list(inspect.signature(row.function("recognises")).parameters) == ["path"]


@pytest.mark.parametrize("row", CONVERTED, ids=lambda row: row.name)
def test_rows_of_convert_name_writers(row):
    taken = list(inspect.signature(row.function(row.write)).parameters)
    assert taken[:2] == ["dataset", "path"] and row.suffixes and not row.file


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.name)
def test_rows_name_writers(row):
    assert list(inspect.signature(row.function(row.write)).parameters) == ["dataset", "path", "network"] and row.file


def test_no_two_rows_claim_a_suffix():
    for holds in {row.holds for row in io.FORMATS}:
        suffixes = [suffix for row in io.formats(holds) for suffix in row.suffixes]
        assert len(set(suffixes)) == len(suffixes), holds


KNOWN = {"mesh": "Exodus (.e, .exo,", "raster": "ESRI ASCII grid (.asc)", "radial model": "TauP (.nd, .tvel)"}


@pytest.mark.parametrize("holds, known", KNOWN.items())
def test_a_file_in_no_format_is_told_which_are_known(tmp_path, holds, known):
    (tmp_path / "file.doc").write_text("text")
    with pytest.raises(UnknownFormat, match=f"{holds} files with the suffix .doc are not supported") as error:
        io.read(tmp_path / "file.doc", holds)
    assert known in error.value.remedy
    with pytest.raises(FileError, match="there is no file"):
        io.read(tmp_path / "none.doc", holds)


def test_files_are_known_by_what_they_begin_with(tmp_path):
    (tmp_path / "model.data").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert [row.name for row in io.formats("gridded model") if row.matches(tmp_path / "model.data")] == [
        "netCDF or zarr"
    ]
    for text, name in (("<?xml ?>", "StationXML"), ("A N 1 2 0 0\n", "STATIONS"), ("name,x,y,z\n", "CSV")):
        (tmp_path / "stations").write_text(text)
        assert next(row.name for row in io.formats("station") if row.matches(tmp_path / "stations")) == name
