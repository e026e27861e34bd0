"""Inputs that are no regular files, or that state more than they hold: refused at once, in words, with exit code 2."""

import json
import os
import socket
from contextlib import closing

import numpy as np
import pytest
import xarray as xr
from common import refused
from smallcase import write

from craton import io
from craton.cli import main
from craton.io import regular
from craton.io.contents import FileError
from craton.output.recordings import open_recording

HELD = ("source", "station", "wavelet", "mesh", "raster", "gridded model", "wavefield", "table", "radial model")
NAMED = ("source", "mesh", "radial model")  # recognised by suffix, or named in the scenario


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Paths that are no regular files, with the word for each; links to them count as they do."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.symlink("pipe", "link")
    os.mkdir("folder")
    words = {"pipe": "is a pipe", "link": "is a pipe", "socket": "is a socket", "folder": "is a folder"}
    with closing(socket.socket(socket.AF_UNIX)) as end:
        end.bind("socket")
        yield words | {"/dev/zero": "is a device", "/proc/self/mem": "states no length"}


def test_readers_refuse_what_is_no_file(odd):
    for holds in HELD:
        for path in odd:
            for name in [row.name for row in io.formats(holds)] if holds in NAMED else [None]:
                if path != "folder" or holds not in io.FOLDERS:
                    refused(FileError, odd[path], io.read, path, holds, name)


def test_folders_are_looked_through(odd, tmp_path):
    """A zarr folder with a pipe in place of a chunk, behind a link that leads round."""
    (tmp_path / "folder" / "deep").mkdir()
    os.symlink("..", tmp_path / "folder" / "deep" / "round")
    regular.check("folder", folders=True)
    os.symlink("../../pipe", tmp_path / "folder" / "deep" / "chunk")
    refused(FileError, "deep/chunk is a pipe", regular.check, "folder", folders=True)


COMMANDS = """plan {}
run {} -o out
gradient {}
compare done {}
greens query done --cmt {}
greens query done --srf {}
plan small.toml --set receivers=[{{file="{}"}}]
plan small.toml --set source.0={{kind="cmtsolution",file="{}"}}
plan small.toml --set model={{kind="file",file="{}"}}
plan small.toml --set model.topography={{file="{}"}}
plan small.toml --set source.0.wavelet={{kind="sampled",file="{}"}}""".splitlines()


def test_commands_refuse_what_is_no_file(odd, tmp_path, capsys):
    write(tmp_path)
    (tmp_path / "done" / "result.zarr").mkdir(parents=True)
    (tmp_path / "done" / "run.json").write_text(json.dumps({"state": "finished"}))
    for words in COMMANDS:
        for path in ("pipe", "/dev/zero"):
            code = main([word.format(os.path.abspath(path)) for word in words.split()])
            message = capsys.readouterr().err
            assert code == 2 and odd[path] in message, (words, message)
    assert not (tmp_path / "out").exists()
    os.rename("pipe", "folder/run.json")  # a run.json that is a pipe is damaged: `craton check` waited for a writer
    assert main(["check", "folder"]) == 3 and "it is no file" in capsys.readouterr().out


def test_swollen_netcdf_and_zarr_are_refused(tmp_path):
    """Of 2 x 1000 x 20,000,000 values nothing was written: 160 GB of fill values in 4 kB."""
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    shape, chunks = (2, 1000, 20_000_000), (1, 100, 10_000)
    with h5py.File(tmp_path / "w.nc", "w") as file:
        file.create_dataset("velocity", shape, "f4", chunks=chunks, fillvalue=1.0)
        file.create_dataset("point", shape[-1:], "f4", chunks=chunks[-1:])
    for form in (2, 3):
        group = zarr.open_group(tmp_path / f"w{form}.zarr", mode="w", zarr_format=form)
        group.create_array(name="deep/velocity", shape=shape, chunks=chunks, dtype="f4", fill_value=1.0)
    for name in ("w.nc", "w2.zarr", "w3.zarr"):
        for holds in ("wavefield", "gridded model", "raster", "table"):
            refused(FileError, "too few", lambda *of: io.read(*of).__enter__(), tmp_path / name, holds)
    group = zarr.open_group(tmp_path / "out" / "result.zarr", mode="w", zarr_format=2)
    group.create_array(name="recordings/box/values", shape=(10**6, 10**6), chunks=(10, 10), dtype="f4")
    refused(FileError, "too few", open_recording, tmp_path / "out", "box")


def test_constant_compressed_models_are_read(tmp_path):
    """32 MB of one value, which deflate makes 1,000 times shorter and zstandard 20,000 times."""
    values, axes = np.full((200, 200, 200), 3000.0, np.float32), {axis: 10.0 * np.arange(200) for axis in "xyz"}
    data = xr.Dataset({"vp": (("z", "y", "x"), values)}, axes)
    data.to_netcdf(tmp_path / "m.nc", encoding={"vp": {"zlib": True, "complevel": 9}})
    data.to_zarr(tmp_path / "m.zarr")
    for name in ("m.nc", "m.zarr"):
        with io.read(tmp_path / name, "gridded model") as model:
            assert model.vp.shape == (200, 200, 200) and float(model.vp[7, 8, 9]) == 3000


def test_wide_coordinates_without_values_are_refused(tmp_path):
    """Three axes of 100,000 points each, but waves over time only: 1e15 points."""
    axes = {axis: np.arange(100_000.0) for axis in "xyz"} | {"time": np.arange(20.0), "component": list("xyz")}
    xr.Dataset({"velocity": (("component", "time"), np.zeros((3, 20)))}, axes).to_netcdf(tmp_path / "w.nc")
    words = "no values over its 1,000,000,000,000,000 points"
    refused(FileError, words, lambda: io.read(tmp_path / "w.nc", "wavefield").__enter__())
