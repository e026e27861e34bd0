"""A quick form of the attacks of tests/attack: a few damaged inputs and run folders, the same ones each time."""

from pathlib import Path
from random import Random

import pytest
from attack import corpus, folders
from attack.mutate import damage_folder, damaged
from attack.server import Server
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from craton.cli.convert import RECORDED
from craton.io import FORMATS

QUICK = {"derandomize": True, "deadline": None, "database": None}
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
CHEAP = (
    "source",
    "stations",
    "wavelet",
    "mesh",
    "prisms",
    "topography asc",
    "topography tif",
    "model segy",
    "model bin",
    "layers",
    "radial",
)


CASE_OF = {  # of each reader, by what a file holds and its format
    ("source", "csv"): "source events.csv",
    ("source", "fsp"): "source event.fsp",
    ("source", "cmtsolution"): "source CMTSOLUTION_cartesian",
    ("source", "forcesolution"): "source FORCESOLUTION",
    ("source", "srf"): "source rupture_v2.srf",
    ("source", "quakeml"): "source event.xml",
    ("station", "StationXML"): "stations stations.xml",
    ("station", "FDSN text"): "stations fdsn.txt",
    ("station", "STATIONS"): "stations STATIONS_cartesian",
    ("station", "CSV"): "stations e.csv",
    ("wavelet", "text"): "wavelet",
    ("mesh", "Gmsh"): "mesh msh",
    ("mesh", "VTK"): "mesh vtu",
    ("mesh", "Exodus"): "mesh e",
    ("mesh", "mesh folders of SPECFEM3D"): "mesh folder",
    ("raster", "ESRI ASCII grid"): "topography asc",
    ("raster", "GeoTIFF"): "topography tif",
    ("raster", "SW4 rfile"): "topography rfile",
    ("raster", "netCDF or zarr"): "topography nc",
    ("gridded model", "SEG-Y"): "model segy",
    ("gridded model", "raw binary"): "model bin",
    ("gridded model", "SW4 rfile"): "model rfile",
    ("gridded model", "SPECFEM tomography"): "model tomography",
    ("gridded model", "netCDF or zarr"): "model zarr",
    ("radial model", "TauP"): "radial nd",
    ("radial model", "CSV"): "radial csv",
    ("layers", "text or TauP"): "layers txt",
    ("wavefield", "netCDF or zarr"): "waves nc",
    ("wavefield", "H5DRM"): "waves h5drm",
    ("table", "parquet"): "prisms parquet",
    ("table", "netCDF or zarr"): "prisms nc",
    ("table", "text"): "prisms csv",
}


def test_each_reader_is_attacked():
    """A new format needs a small sound file in the corpus, which is damaged."""
    read = {(row.holds, row.name) for row in FORMATS if row.holds not in RECORDED}
    assert set(CASE_OF) == read
    names = {**corpus.sources(), **corpus.grids(), **corpus.others()}
    assert set(CASE_OF.values()) <= set(names)


@pytest.fixture(scope="module")
def server():
    with Server() as opened:
        yield opened


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Sound inputs whose plans take a tenth of a second."""
    return corpus.build(tmp_path_factory.mktemp("corpus"), CHEAP)


def test_sound_inputs_are_read(server, cases):
    """Otherwise damage would not reach the readers."""
    read = [name for name, (place, toml, _) in cases.items() if server.ask(["plan", toml], place).code == 0]
    assert len(read) >= 10, sorted(set(cases) - set(read))


@settings(max_examples=25, suppress_health_check=CHECKS, **QUICK)
@given(number=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_damaged_input_is_refused_or_planned(server, cases, number, seed):
    names = sorted(cases)
    place, toml, file = cases[names[number % len(names)]]
    path = place / (file if seed % 3 else toml)
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file())
        path = inside[seed % len(inside)]
    sound = path.read_bytes()
    path.write_bytes(damaged(sound, Random(seed)))
    try:
        answer = server.ask(["plan", toml], place)
    finally:
        path.write_bytes(sound)
    assert not answer.failures, (answer.failures, answer.error)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return folders.build(tmp_path_factory.mktemp("folders"))


@settings(max_examples=8, suppress_health_check=CHECKS, **QUICK)
@given(kind=st.sampled_from(sorted(folders.COMMANDS)), number=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_damaged_folder_is_refused_or_read(server, kinds, tmp_path, kind, number, seed):
    copied = folders.copy(kinds, kind, Path(tmp_path) / "copy")
    file = damage_folder(copied / "out", Random(seed))
    words = folders.commands(kind)
    answer = server.ask(words[number % len(words)], copied)
    assert not answer.failures, (kind, file, answer.failures, answer.error)
