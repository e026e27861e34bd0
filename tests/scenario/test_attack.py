"""A quick form of the attacks of tests/attack: a few damaged inputs and run folders, the same ones each time."""

from argparse import Namespace

import pytest
from attack import corpus, trials
from attack.accepted import HOLDS
from attack.server import Server

from craton.cli.convert import RECORDED
from craton.io import FORMATS

# sound inputs whose plans take a tenth of a second
CHEAP = "^(source|stations|wavelet|mesh|prisms|topography asc|topography tif|topography rfile|model segy|model bin|layers|radial)"
CASES = {  # of each reader, by what a file holds and its format
    "source": {"csv": "events.csv", "fsp": "event.fsp", "cmtsolution": "CMTSOLUTION_cartesian"}
    | {"forcesolution": "FORCESOLUTION", "srf": "rupture_v2.srf", "quakeml": "event.xml"},
    "stations": {"StationXML": "stations.xml", "FDSN text": "fdsn.txt", "STATIONS": "STATIONS_cartesian"}
    | {"CSV": "e.csv"},
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


def test_each_reader_is_attacked():
    """A new format needs a small sound file in the corpus, which is damaged."""
    holds = HOLDS | {"waves": "wavefield"}
    read = {(row.holds, row.name) for row in FORMATS if row.holds not in RECORDED}
    assert {(holds.get(kind, kind), name) for kind, files in CASES.items() for name in files} == read
    files = {f"{kind} {file}".strip() for kind, files in CASES.items() for file in files.values()}
    assert files <= set(corpus.cases())


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        yield server


@pytest.mark.long
@pytest.mark.parametrize("kind, count, only", [("inputs", 80, CHEAP), ("folders", 8, "")])
def test_what_is_damaged_is_refused_or_read(kind, count, only, server, tmp_path):
    """What is sound is read: otherwise damage would not reach the readers."""
    chosen = Namespace(kind=kind, seconds=300, most=count, seed=0, keep=None, only=only)
    result = trials.attacked(chosen, tmp_path, server)
    assert result["tried"] == count and not result["failures"], result
