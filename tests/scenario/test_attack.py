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
CHEAP = ("source", "stations", "wavelet", "mesh", "prisms", "topography asc", "topography tif", "model segy")
CHEAP += ("model bin", "layers", "radial")
CASES = {  # of each reader, by what a file holds and its format
    "source": {"csv": "events.csv", "fsp": "event.fsp", "cmtsolution": "CMTSOLUTION_cartesian"}
    | {"forcesolution": "FORCESOLUTION", "srf": "rupture_v2.srf", "quakeml": "event.xml"},
    "stations": {
        "StationXML": "stations.xml",
        "FDSN text": "fdsn.txt",
        "STATIONS": "STATIONS_cartesian",
        "CSV": "e.csv",
    },
    "wavelet": {"text": ""},
    "mesh": {"Gmsh": "msh", "VTK": "vtu", "Exodus": "e", "mesh folders of SPECFEM3D": "folder"},
    "topography": {"ESRI ASCII grid": "asc", "GeoTIFF": "tif", "SW4 rfile": "rfile", "netCDF or zarr": "nc"},
    "model": {"SEG-Y": "segy", "raw binary": "bin", "SW4 rfile": "rfile", "SPECFEM tomography": "tomography"}
    | {"netCDF or zarr": "zarr"},
    "radial": {"TauP": "nd", "CSV": "csv"},
    "layers": {"text or TauP": "txt"},
    "waves": {"netCDF or zarr": "nc", "H5DRM": "h5drm"},
    "prisms": {"parquet": "parquet", "netCDF or zarr": "nc", "text": "csv"},
}
HOLDS = {"stations": "station", "topography": "raster", "model": "gridded model", "radial": "radial model"}
HOLDS |= {"waves": "wavefield", "prisms": "table"}


def test_each_reader_is_attacked():
    """A new format needs a small sound file in the corpus, which is damaged."""
    read = {(row.holds, row.name) for row in FORMATS if row.holds not in RECORDED}
    assert {(HOLDS.get(kind, kind), name) for kind, files in CASES.items() for name in files} == read
    names = {**corpus.sources(), **corpus.grids(), **corpus.others()}
    assert {f"{kind} {file}".strip() for kind, files in CASES.items() for file in files.values()} <= set(names)


@pytest.fixture(scope="module")
def server():
    with Server() as opened:
        yield opened


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Sound inputs whose plans take a tenth of a second."""
    return corpus.build(tmp_path_factory.mktemp("corpus"), CHEAP)


@pytest.mark.long
def test_sound_inputs_are_read(server, cases):
    """Otherwise damage would not reach the readers."""
    read = [name for name, (place, toml, _) in cases.items() if server.ask(["plan", toml], place).code == 0]
    assert len(read) >= 10, sorted(set(cases) - set(read))


@pytest.mark.long
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


@pytest.mark.long
@settings(max_examples=8, suppress_health_check=CHECKS, **QUICK)
@given(kind=st.sampled_from(sorted(folders.COMMANDS)), number=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_damaged_folder_is_refused_or_read(server, kinds, tmp_path, kind, number, seed):
    copied = folders.copy(kinds, kind, Path(tmp_path) / "copy")
    file = damage_folder(copied / "out", Random(seed))
    words = folders.commands(kind)
    answer = server.ask(words[number % len(words)], copied)
    assert not answer.failures, (kind, file, answer.failures, answer.error)
