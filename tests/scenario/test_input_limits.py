"""Files and keys within limits: huge and tiny numbers, huge counts, damaged binary files; readers that read many rows at once."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import smallcase
from attack import binaries, corpus
from common import linux, refused

from craton import io, memory
from craton.errors import ResourceError, ScenarioError
from craton.io import regular
from craton.io.contents import FileError
from craton.methods import METHODS
from craton.methods.waves import pictures, problem
from craton.output.store import check_out
from craton.scenario import loads

EVENTS = "x,y,depth,half_duration,{}\n1,2,3,0.5,{}\n4,5,6,0.5,{}\n"


HALF = "x,y,depth,moment,half_duration\n1,2,3,1e15,{}\n"
FDSN = "#Network|Station|Latitude|Longitude|Elevation\n"
EVENT = (corpus.DATA / "CMTSOLUTION_cartesian").read_text()
RUPTURE = re.sub(r"(POINTS.*\n *)\S+", r"\g<1>1e300", (corpus.DATA / "rupture_v2.srf").read_text(), count=1)
COUPLE = "x,y,depth,strike,dip,rake,magnitude\n"
# file: (text, what a message says), of numbers beyond the limits, and of odd rows and columns
ODD = [
    ("e.csv", EVENTS.format("moment", "1e40", "1e15"), "moment, component 1 is 1e"),
    ("e.csv", "x,y,depth,moment\n1,2,1e300,1e15\n", "depth 1 is 1e"),
    ("s.csv", "name,x,y,z\nA,0,1e18,0\n", "y 1 is 1e"),
    ("w.txt", "0 0\n1 1\n2 1e300\n3 0\n", "sample 3 is 1e"),
    ("m.tvel", "P\nS\n0 5.8 3.4 2.7\n6371 1e18 3.4 2.7\n", "vp, row 2 is 1e"),
    ("d.asc", "ncols 2\nncols 2\n1 2\n", "stated twice"),
    ("d.asc", "ncols 2\nnodat_value 2\n1 2\n", "nodat_value is none of"),
    ("e.csv", "x,y,depth,moment\n" + "1,2,3,4\n" * 1_000_001, "1,000,001 point sources"),
    ("e.srf", RUPTURE, "longitude of the rupture, number 1 is 1e"),
    # each of the others was accepted before, as another source or station than the file meant
    ("e.csv", COUPLE + "1,2,3,10,20,30,1e300\n", "line 2: a magnitude of 1e.300 is out"),
    ("e.csv", COUPLE + "1,2,3,10,20,30,4,5\n", "line 2: 8 columns, not 7"),
    ("e.csv", COUPLE + "1,2,3,1_0,20,30,4\n", "strike: '1_0' is not a number"),
    ("e.csv", COUPLE + "1,2,3,,20,30,4\n", "line 2: the mechanism is not complete"),
    ("e.csv", COUPLE + "1,2,3,10,20,30,4\n1,2,3,,,,4\n", "line 3: the mechanism is not complete"),
    ("e.csv", COUPLE.replace("st", "sd") + "1,2,3,10,20,30,4\n", "did you mean strike"),
    ("e.csv", COUPLE.replace("strike", "s") + "1,2,3,10,20,30,4\n", "no column strike"),
    ("e.csv", "x,y,z,mxx,myy,mzz,mxy,mxz,magnitude\n1,2,3,1,2,3,4,5,6\n", "but no column myz"),
    ("e.csv", "x,y,z,fx,fy,fz,moment\n1,2,3,1e9,,1e9,1e15\n", "line 2: the mechanism is not complete"),
    ("e.csv", "x,y,x,depth,moment\n1,2,3,4,5\n", "the column x stands twice"),
    ("s.csv", "name,longitude,latitude,depph\nA,1,2,3\n", "did you mean depth"),
    ("s.csv", "name,x,y,z\nA,1,1_0,3\n", "'1_0' is not a number"),
    ("e.csv", HALF.format(-1), "a half duration or frequency is -1: below 0"),
    ("e.csv", HALF.format(1).replace("half", "h\xff\xff\xfff"), "is no UTF-8 text"),
    ("s.csv", "name,longitude,latitude,d\xff\nA,1,2,3\n", "is no UTF-8 text"),
    ("s.txt", FDSN + "CI|A|34|-118|1|Site\n", "line 2: 6 columns, not 5"),
    ("e.cmt", EVENT.replace(" 01 00 ", " 01 700 ", 1), "the origin time is no date"),
    ("w.txt", "0 0\n1 1_0\n", "line 2 is not a time and a value"),
]
HOLDS = {"e": "source", "s": "station", "w": "wavelet", "m": "radial model", "d": "raster"}
KINDS = {"e.csv": "csv", "e.srf": "srf", "e.cmt": "cmtsolution", "w.txt": "text"}


def test_numbers_beyond_the_limits_and_odd_rows_are_named(tmp_path):
    for number, (name, text, message) in enumerate(ODD):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        with pytest.raises(FileError if number < 9 else ValueError, match=message):
            io.read(tmp_path / name, HOLDS[name[0]], KINDS.get(name))
            pytest.fail(f"{name} is read: {message}")


def test_an_rfile_with_bytes_too_many_or_too_few_is_refused(tmp_path):
    binaries.rfile(tmp_path / "m.rfile")
    sound = (tmp_path / "m.rfile").read_bytes()
    for data in (sound + b"\0\0\0\0", sound[:-4], sound[:41]):
        (tmp_path / "m.rfile").write_bytes(data)
        with pytest.raises(FileError, match="heading"), io.read(tmp_path / "m.rfile", "gridded model"):
            pass


def test_what_does_not_fit_is_refused(monkeypatch, tmp_path):
    """Series of sources; parameters of 2.4e10 cells of three moduli, 580 GB; a reader that takes too much."""
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    problem.refuse_series(1_000_000, 10)
    with pytest.raises(Exception, match="100 sources over 1,000,000 steps take 2.4 GiB"):
        problem.refuse_series(1_000_000, 100)
    wide = loads(smallcase.TEXT, ("domain.size=[3e9, 3000, 2500]", "snapshots=[]"))
    monkeypatch.setattr(memory, "available", lambda: 4 << 30)
    with pytest.raises(ResourceError, match="parameters of a gradient in 24,180,000,806 cells"):
        METHODS[wide.method].linearised(wide, None)
    with pytest.raises(MemoryError), memory.limited(50 << 20):
        np.ones(20 << 20)
    assert np.ones(20 << 20).nbytes == 160 << 20
    with pytest.raises(ScenarioError, match="zero byte"):
        check_out(f"{tmp_path}/a\0b")


@linux
def test_readers_side_by_side_leave_the_process_as_it_was():
    """The second took the limit of the first for the process's own, and left it: later work had no memory. Each has its own share."""
    resource = pytest.importorskip("resource")
    first, second, limits = memory.limited(1 << 30), memory.limited(2 << 30), []
    acts = (
        lambda: None,
        first.__enter__,
        second.__enter__,
        lambda: first.__exit__(*3 * [None]),
        lambda: second.__exit__(*3 * [None]),
    )
    for act in acts:
        act()
        limits.append(resource.getrlimit(resource.RLIMIT_DATA))
    assert limits[0] == limits[-1] and limits[1][0] < limits[3][0] < limits[2][0]
    assert limits[2][0] - limits[1][0] == pytest.approx(2 << 30, rel=0.1)


def test_pictures_of_every_step_are_not_counted_one_by_one():
    class Steps:
        start, end, dt, steps, extra = -0.1, 1.0, 0.01, 115, 5

    steps, times = pictures.picture_steps(Steps, 0.005, 0.5)
    steps_of_many, times_of_many = pictures.picture_steps(Steps, 1e-9, 0.5)
    assert steps_of_many[-1] == steps[-1] == 109
    assert set(steps) <= set(steps_of_many) and len(steps_of_many) - len(steps) <= 1
    assert np.array_equal(times_of_many[-len(steps) :], times)


@pytest.mark.parametrize(("start", "end", "times"), [(0.0, 0.3, [0.1, 0.2, 0.3]), (0.35, 0.6, [0.4, 0.5, 0.6])])
def test_pictures_come_from_the_start_to_the_end(start, end, times):
    """0.3 / 0.1 is less than 3; what was asked for before the start was taken at the first step."""
    run = SimpleNamespace(start=start, end=end, dt=1e-3, steps=round((end - start) / 1e-3), extra=0)
    assert np.allclose(pictures.picture_steps(run, 0.1, 0.5)[1], times, atol=1e-3)


def same_sources(path, other, kind, names, arrays):
    """Both files have the same sources, by all fields of the names."""
    for source, expected in zip(*(io.read(file, "source", kind) for file in (path, other)), strict=True):
        assert [name for name in names if getattr(source, name) != getattr(expected, name)] == []
        assert all(np.array_equal(getattr(source, name), getattr(expected, name)) for name in arrays)


def test_rows_of_plain_numbers_are_read_as_others_are(tmp_path):
    plain, unit = tmp_path / "plain.csv", tmp_path / "unit.csv"
    for columns in ("mrr,mtt,mpp,mrt,mrp,mtp", "mxx,myy,mzz,mxy,mxz,myz", "fx,fy,fz", "strike,dip,rake,magnitude"):
        numbers = ",".join(f"{n + 3}.5" for n in range(len(columns.split(","))))
        plain.write_text(EVENTS.format(columns, numbers, numbers))
        unit.write_text(EVENTS.format(columns, numbers, numbers).replace("2,3,", "2,3 m,"))
        names = ("longitude", "latitude", "depth", "shift", "width", "plane", "coordinates")
        same_sources(plain, unit, "csv", names, ("moment", "force"))


def test_an_hdf5_file_without_an_end_is_refused(tmp_path, monkeypatch):
    """A heap of attributes whose free space has 0 bytes: HDF5 2.0 reads it for ever. The sound file passes, and is looked
    through once.
    """
    h5py, path = pytest.importorskip("h5py"), tmp_path / "cube.e"
    with h5py.File(path, "w") as file:
        file["x"] = np.zeros(3)
        file["x"].attrs["units"] = "m"  # of variable length: in a heap
    monkeypatch.setattr(regular, "SECONDS", 1)
    regular.refuse_endless(path)
    misses = regular.fault.cache_info().misses
    regular.refuse_endless(path)
    assert regular.fault.cache_info().misses == misses
    data = path.read_bytes()
    objects = data.index(b"GCOL") + 16
    path.write_bytes(data[:objects] + bytes(16) + data[objects + 16 :])
    refused(FileError, "cube.e: the HDF5 library comes to no end", io.read, path, "mesh")
    # other readers ask as well
    path.rename(tmp_path / "model.nc")
    monkeypatch.setattr(regular, "fault", lambda *file: "it is endless")
    for holds in ("gridded model", "table", "wavefield"):
        with pytest.raises(FileError, match="model.nc: it is endless"), io.read(tmp_path / "model.nc", holds):
            pass
