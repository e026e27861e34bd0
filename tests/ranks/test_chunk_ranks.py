"""A chunk of the Earth in slices: each rank builds its own and what lies around it, nobody the whole; results are those of one rank."""

import json
import zlib
from functools import cache

import numpy as np
import pytest
from test_sem_ranks import command, needs_mpi, off

import craton
from craton.backends.cpu import CPU
from craton.comm import Together
from craton.comm.local import spawn
from craton.errors import ScenarioError
from craton.methods import METHODS
from craton.methods.spectral_element import time_step
from craton.model.globe import earth_chunk, prem
from craton.model.globe.chunk import Chunk, chunk
from craton.model.mesh import meshing
from craton.scenario import loads

TEXT = """
method = "sem"
[domain.chunk]
longitude = 10
latitude = 20
width = {width}
elements = {elements}
growth = {growth}
bottom = "{bottom}"
azimuth = 30
[model]
kind = "prem"
[time]
duration = 12
start = -20
[[source]]
kind = "moment_tensor"
at = {{ longitude = 10, latitude = 20, depth = "{depth}" }}
tensor = {{ {tensor} }}
wavelet = {{ kind = "gaussian", tau = 5 }}
[[receivers]]
name = "C"
at = {{ longitude = 10, latitude = 20 }}
[[receivers]]
name = "L"
line = {{ from = {{ longitude = 9.5, latitude = 19 }}, to = {{ longitude = 10.5, latitude = 20.5, depth = "{reach}" }}, count = 3 }}
[output]
waveforms = ["velocity", "pressure"]
[run]
device = "cpu"
threads = 1
degree = 3
partition = "{partition}"
assembly = "colour"
precision = "{precision}"
"""
# The source lies in the middle: with 2 and 4 ranks on the cut. Elements of the outer core are fluid.
SHEAR, BLAST = "rr = 1e20, tt = -1e20, rp = 2e19", "rr = 1e20, tt = 1e20, pp = 1e20"
MANTLE = {
    "width": [24, 6],
    "elements": [24, 6],
    "growth": [],
    "bottom": "600 km",
    "depth": "150 km",
    "reach": "200 km",
    "tensor": SHEAR,
}
CORE = {
    "width": [36, 18],
    "elements": [16, 8],
    "growth": '["80 km"]',
    "bottom": "3100 km",
    "reach": "3000 km",
    "tensor": SHEAR,
}
CASES = {
    "mantle": MANTLE,
    "core": CORE | {"depth": "2700 km"},
    "blast in the core": CORE | {"depth": "2950 km", "tensor": BLAST},
}


def planned_by_method(scenario, team=None, machine=None):
    """The plan of a scenario by its method."""
    return METHODS[scenario.method].plan(scenario, team, machine)


def text(case, precision="float32", partition="slices"):
    """A scenario of some hundred elements."""
    return TEXT.format(precision=precision, partition=partition, **CASES[case])


@cache
def alone(case, precision="float32"):
    """The run of one rank."""
    return craton.run(loads(text(case, precision)), progress=False)


RUNS = [
    ("mantle", "float32", 2),
    ("mantle", "float32", 4),
    ("mantle", "float64", 3),
    ("core", "float32", 4),
    ("core", "float64", 2),
    ("blast in the core", "float64", 4),
]


@pytest.mark.parametrize("case, precision, ranks", RUNS)
def test_slices_are_as_one_rank(case, precision, ranks):
    """The same bits in float32, where forces are counted; sources and receivers lie on cuts. The step is not given."""
    want = alone(case, precision)
    got = craton.run(loads(text(case, precision)), progress=False, devices=ranks)
    assert got.plan.dt == pytest.approx(want.plan.dt, rel=1e-12) and got.plan.channels == want.plan.channels
    assert (np.abs(want.samples).max(axis=0) > 0).mean() > 0.3
    if precision == "float32":
        np.testing.assert_array_equal(got.samples, want.samples)
    assert max(off(got, want)) < 1e-12


def plans(case, ranks, partition="slices"):
    """The plans of all ranks."""
    return spawn(
        ranks, lambda comm: planned_by_method(loads(text(case, partition=partition)), Together(comm), CPU(threads=1))
    )


def test_a_position_on_cuts_belongs_to_one_rank():
    """A receiver to one; of a source on a corner of four slices each of them takes its elements' share."""
    found = plans("mantle", 2)
    assert (np.diff(found[0].gathering.first) == 1).all() and len(found[0].gathering.source) == len(
        found[0].channels
    ) > 0
    assert all("source_series" in plan.arrays for plan in found)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_no_rank_asks_for_the_whole(ranks, monkeypatch):
    """Windows only: of the rank's own columns and three to each side. Together the ranks have each element once, by its number."""
    windows, real = [], Chunk.part
    monkeypatch.setattr(Chunk, "part", lambda self, window=None: windows.append(window) or real(self, window))
    found = plans("mantle", ranks)
    made = earth_chunk.chunk_of(loads(text("mantle")))
    assert len(windows) == ranks and all(one is not None for one in windows)
    assert max((one[1] - one[0]) * (one[3] - one[2]) for one in windows) <= (24 / ranks + 6) * 6 < 24 * 6
    assert sum(plan.subdomain.elements for plan in found) == made.size == found[0].totals.grid.elements
    assert found[0].totals.points == made.stack.points(3) == sum(plan.subdomain.points for plan in found)
    own = made.slice_of(part := real(made).local(), ranks, 1)
    assert (
        sorted(part.numbers) == list(range(made.size))
        and [plan.subdomain.elements for plan in found] == np.bincount(own).tolist()
    )


def test_elements_have_the_same_number_and_order_in_any_part():
    made = chunk(prem.prem(), (0, 0), (24, 16), 1500e3, period=90, slices=(2, 2))
    whole, place = made.part().local(), {}
    for n, key in zip(whole.numbers, whole.keys[whole.mesh.elements[:, 13]]):
        place[key] = n
    for window in (*made.slices(2, 2), made.stack.around(made.slices(2, 2)[0], 1)):
        part = made.part(window).local()
        assert [place[key] for key in part.keys[part.mesh.elements[:, 13]]] == part.numbers.tolist()
        there = np.flatnonzero(np.isin(whole.numbers, part.numbers))
        assert np.array_equal(whole.numbers[there], part.numbers)


def test_large_chunks_are_built_in_slices(monkeypatch):
    """Without being asked to."""
    assert (
        earth_chunk.slices_of(loads(text("mantle", partition="auto")), earth_chunk.chunk_of(loads(text("mantle"))), 2)
        is None
    )
    monkeypatch.setattr(earth_chunk, "LARGE", 100)
    asked, made = (loads(text("mantle", partition="auto")), earth_chunk.chunk_of(loads(text("mantle"))))
    assert earth_chunk.slices_of(asked, made, 4) == (4, 1) and earth_chunk.slices_of(asked, made, 1) is None
    assert earth_chunk.slices_of(loads(text("mantle", partition="bisection")), made, 4) is None
    marks = [plan.subdomain.checksum for plan in plans("mantle", 2, "auto")]
    part = made.part().local()
    assert len(set(marks)) == 2 and zlib.crc32(np.empty(0, np.int64)) not in marks and part.mesh.size == made.size


@pytest.mark.parametrize("case, ranks, partition", [("mantle", 2, "slices"), ("core", 3, "random")])
def test_ranks_look_at_the_same_part_of_a_large_mesh(monkeypatch, case, ranks, partition):
    """Likely elements with the rings around them are the same however the mesh is shared, and so is the step, which parts of it tell."""
    monkeypatch.setattr(time_step, "WHOLE", 150)
    parts = []
    likely = time_step.likely_elements

    def watched(d):
        some = likely(d)
        parts.append(d.subdomain.numbers[some])
        return some

    monkeypatch.setattr(time_step, "likely_elements", watched)
    alone_, want = (planned_by_method(loads(text(case)), machine=CPU(threads=1)).dt, sorted(parts.pop().tolist()))
    steps = {plan.dt for plan in plans(case, ranks, partition)}
    assert sorted(np.concatenate(parts).tolist()) == want and 0 < len(want) <= 150 and steps == {alone_}


def test_too_many_ranks_for_the_columns():
    with pytest.raises(ScenarioError, match="11 ranks: 8 x 4 columns of the largest elements"):
        plans("core", 11)


def test_rasters_of_pictures_follow_the_design():
    """The median edge that all ranks know without the mesh is that of the mesh, but for the chunk's sides, where elements are narrower."""
    for case in ("mantle", "core"):
        made = earth_chunk.chunk_of(loads(text(case)))
        assert earth_chunk.middle_edge(made) == pytest.approx(meshing.edges(made.part().mesh)[1], rel=0.25)


PICTURES = """
[[snapshots]]
name = "ground"
quantity = "velocity"
plane = { surface = true }
every = 5
[[snapshots]]
name = "section"
quantity = "velocity"
plane = { y = 0 }
every = 5
"""


@needs_mpi
def test_processes(tmp_path):
    """Two processes that build their slices leave one store: records and pictures, of the ground too, whose top no rank has whole."""
    import xarray

    (tmp_path / "case.toml").write_text(text("mantle", "float64") + PICTURES)
    command(tmp_path, "run", "case.toml", "-o", "out", "--ranks", "2")
    got, want = (xarray.open_zarr(tmp_path / "out" / "result.zarr"), alone("mantle", "float64").dataset)
    assert np.linalg.norm(got.velocity - want.velocity) < 1e-12 * np.linalg.norm(want.velocity)
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["state"] == "finished" and len(told["ranks"]) == 2
    craton.run(loads(text("mantle", "float64") + PICTURES), out=tmp_path / "one", progress=False)
    for name in ("ground", "section"):
        a, b = (
            xarray.open_zarr(tmp_path / out / "result.zarr", group=f"snapshots/{name}").velocity.to_numpy()
            for out in ("out", "one")
        )
        assert np.array_equal(np.isnan(a), np.isnan(b)) and np.nanmax(np.abs(b)) > 0
        assert np.linalg.norm(np.nan_to_num(a - b)) < 1e-6 * np.linalg.norm(np.nan_to_num(b))  # stored in float32
