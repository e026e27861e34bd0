"""Who owns what: parts of a grid, pieces of a mesh and slices of a chunk; balance, shared points, numbers told."""

import builtins
import importlib.util
import zlib
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from common import refused
from layeredcase import text
from rankcase import elements, planned, plans, points_of, run_alone, shared

import craton
from craton.cli import main
from craton.core import elements as sharing
from craton.core.partition import split
from craton.driver.observers.snapshots import Tiling
from craton.errors import CratonError, ResourceError, ScenarioError
from craton.methods.spectral_element.equations import time_step
from craton.methods.spectral_element.ranks import rank_loads
from craton.methods.waves.exchange import Sharing
from craton.methods.waves.ranks import local_sources, plan_of_rank
from craton.model.globe import earth_chunk, prem
from craton.model.globe.chunk import Chunk, chunk
from craton.model.mesh import meshing, numbering
from craton.scenario import loads

LONG = pytest.mark.long

# --- grids ------------------------------------------------------------------------------------------------------------------------------


def test_parts_cover_the_grid_once():
    plan = planned(loads(text(x=4100, y=4300, z=4500)))
    for ranks in (1, 2, 3, 5, 8, 12):
        owners, parts = np.zeros(plan.layout.shape, int), split(plan, ranks)
        for rank, part in enumerate(parts):
            owners[tuple(slice(a, b) for a, b in zip(part.box[::2], part.box[1::2]))] += 1
            for (axis, side), other in part.faces.items():
                assert parts[other].faces[axis, 1 - side] == rank
                assert parts[other].range(axis)[1 - side] == part.range(axis)[side]
        assert (owners == 1).all(), ranks


def test_ranks_in_layers_have_fewer_points():
    """Four ranks along z: the free surface and the CPML below cost more a point."""
    heights = [part.shape[0] for part in split(planned(loads(text(x=2700, y=2500, z=19900))), 4, (1, 1, 4))]
    assert heights[0] < heights[1] and heights[3] < heights[1] and sum(heights) == 200


def test_no_rank_holds_the_whole_grid():
    """Memory of a rank is its share: fields, material and layers, with ghosts."""
    plan = planned(loads(text(x=9900, y=9900, z=9900)))
    local = plan_of_rank(plan, 0, 8, (2, 2, 2))
    assert local.nbytes < 0.22 * plan.nbytes  # an eighth, rows of 50 points padded to 96 (of 100 to 128)
    assert max(a.nbytes for a in local.arrays.values()) < 0.22 * max(a.nbytes for a in plan.arrays.values())


def test_shares_that_cannot_be(monkeypatch):
    plan = planned(loads(text()))
    psi = replace(plan.arrays["psi_stress_x0"], over=None)
    words = "psi_stress_x0", "does not say how it follows the grid"
    refused(CratonError, words, plan_of_rank, replace(plan, arrays=plan.arrays | {"psi_stress_x0": psi}), 0, 2)
    refused(ScenarioError, "5000 ranks do not fit 28 x 26 x 24 points", split, plan, 5000)
    refused(ScenarioError, "2 x 2 x 1 parts are not 3", split, plan, 3, (2, 2, 1))
    refused(ScenarioError, "40 ranks for 36 elements", craton.run, shared("solid"), progress=False, devices=40)
    refused(ScenarioError, "11 ranks: 8 x 4 columns of the largest elements", plans, "core", 11)
    corners, centroids = mesh_of_earth()[1:3]
    refused(ScenarioError, "5000 ranks", sharing.partition, corners, centroids, 5000, "bisection")
    real = builtins.__import__
    missing = lambda name, *a, **k: real("_absent_" if name == "pymetis" else name, *a, **k)  # noqa: E731
    monkeypatch.setattr(builtins, "__import__", missing)
    refused(ResourceError, "pip install pymetis", sharing.partition, corners, centroids, 2, "metis")
    monkeypatch.setattr(sharing, "find_spec", lambda name: None)
    asked, chosen = (sharing.partition(corners, centroids, 2, *how) for how in (("bisection",), ()))
    assert np.array_equal(asked, chosen)


# --- pieces of a mesh -------------------------------------------------------------------------------------------------------------------

PYMETIS = pytest.mark.skipif(not importlib.util.find_spec("pymetis"), reason="pymetis is not installed")


@cache
def mesh_of_earth():
    """A part of a chunk with a doubling, its corners, its centroids, the chunk."""
    whole = chunk(prem.prem(), (0, 0), (24, 16), 1500e3, period=90, slices=(2, 2))
    part = whole.part()
    return part, part.mesh.corners, part.mesh.centroids(), whole


@pytest.mark.parametrize("method", [pytest.param("metis", marks=PYMETIS), "bisection"])
def test_weights_are_balanced_and_cuts_short(method):
    """Fewer shared points than a third of those of a scattered partition."""
    part, corners, centroids, _ = mesh_of_earth()
    numbered = numbering.number(part.mesh.elements, 3)
    points = numbered.points.reshape(len(corners), -1)
    for weights in (np.where(part.sections == 0, 3.0, 1.0), np.ones(len(points))):
        for ranks in (3, 7):
            load = np.bincount(sharing.partition(corners, centroids, ranks, method, weights), weights)
            assert load.max() / load.mean() < 1.06  # 3 % by METIS, and an element of 3 in about 100

    def count(how):
        owner = sharing.partition(corners, centroids, 4, how)
        shared = (sharing.shared_points(points, numbered.count, owner, rank) for rank in range(4))
        return sum(len(own) for of_rank in shared for own in of_rank.values())

    assert count(method) < count("random") / 3


def test_dual_graph():
    """Each face has an element behind it, or is a side of the chunk."""
    part, corners, _, _ = mesh_of_earth()
    offsets, behind = sharing.neighbours(corners)
    degree = np.diff(offsets)
    sides = np.bincount(np.concatenate([rows[:, 0] for rows in part.mesh.faces.values()]), minlength=len(corners))
    assert np.array_equal(degree + sides, np.full(len(corners), 6))
    pairs = set(zip(np.repeat(np.arange(len(corners)), degree).tolist(), behind.tolist()))
    assert all((b, a) in pairs and a != b for a, b in pairs)


def test_sums_are_in_the_order_of_the_ranks():
    """Of rank 1, which shares points 3 and 7 with rank 0 and 7 with rank 2 too; -1 is its own."""
    shared_points = Sharing(SimpleNamespace(rank=1), {0: np.array([3, 7]), 2: np.array([7])})
    assert shared_points.points.tolist() == [3, 7] and list(shared_points.places) == [0, 1, 2]
    first, source = shared_points.rows({0: 0, 2: 2})
    assert first.tolist() == [0, 2, 5] and source.tolist() == [0, -1, 1, -1, 2]


def test_an_item_stays_on_the_lowest_rank_that_has_one():
    """Of rank 1, which has point 3 with rank 0 and 7 with rank 2, where both have an item too."""
    team = SimpleNamespace(rank=1, swap=lambda arrays: {rank: np.ones_like(a) for rank, a in arrays.items()})
    points = np.array([2, 3, 7, 9])
    kept, values = Sharing(team, {0: np.array([3]), 2: np.array([7])}).assign_items(points, points, np.full(4, 5.0))
    assert kept.tolist() == [2, 7, 9] and values.tolist() == [5, 6, 5]


def test_values_for_a_map_stand_behind_those_of_lower_ranks():
    """A message of none holds one."""
    cut, taken = SimpleNamespace(move=lambda own: own), {1: np.array([20, 21]), 2: np.array([], int), 3: np.array([40])}
    assert local_sources(np.array([40, 10, 21, 20]), np.array([3, 0, 1, 1]), taken, 0, cut).tolist() == [-4, 10, -2, -1]


def test_a_rank_behind_the_last_tile_of_a_picture_has_none():
    """Four points in tiles of two, of three ranks along x."""
    partition = [SimpleNamespace(place=(0, 0, n)) for n in range(3)]
    tiles = Tiling(SimpleNamespace(lattice={"x": (0, 4, 1)}), partition, {"x": 2}, {"x": 2})
    assert [tiles.region(rank) for rank in range(3)] == [{"x": (0, 2)}, {"x": (2, 4)}, None]


# --- plans of elements ------------------------------------------------------------------------------------------------------------------


kept_plans = cache(plans)


@pytest.mark.parametrize("case", ["sea", pytest.param("attenuation", marks=LONG)])
def test_outer_elements_and_only_they_touch_shared_points(case):
    for plan in kept_plans(case, 2, "bisection"):
        assert 0 < plan.subdomain.outer < plan.subdomain.elements
        for phase in plan.phases:
            points = np.unique(np.concatenate([points_of(plan, phase.name, m) for m in phase.messages] or [[-1]]))
            for launch in phase.launches:
                if not launch.colours:  # not of elements
                    assert launch.outer
                    continue
                family = launch.op.name.removesuffix("_exact")
                touching = np.isin(plan.arrays[f"{family}_points"].data, points).any(axis=1)
                moduli = plan.arrays[f"{family}_moduli"].data
                real = (moduli != 0).any(axis=tuple(range(1, moduli.ndim)))
                assert touching[real].all() if launch.outer else not touching.any()


def test_plan_says_who_has_what(tmp_path, capsys):
    """What `craton plan --ranks` counts is what the ranks have. A fluid and the solid below it stay together."""
    (tmp_path / "case.toml").write_text(elements("sea"))
    words = ("--ranks", "4", "--set", "run.partition=bisection")
    assert main(["plan", str(tmp_path / "case.toml"), *words]) == 0
    table = capsys.readouterr().out
    words = ("Ranks: 4", "shared points", "outer", "memory", "imbalance", "efficiency")
    assert [word for word in words if word not in table] == []
    coupled = [plan for plan in kept_plans("sea", 4, "bisection") if "coupling_solid" in plan.arrays]
    assert coupled and all({"displacement", "potential"} <= set(plan.arrays) for plan in coupled)
    for ranks in (2, 4):  # some elements of two ranks are inner, some points of four belong to more than two
        counted = rank_loads(planned(shared("sea", partition="bisection")).weights, ranks)
        for load, plan in zip(counted, kept_plans("sea", ranks, "bisection"), strict=True):
            own = plan.subdomain
            assert sum(part.elements for part in plan.partition) == 36
            assert plan.totals.points == run_alone("sea").plan.points
            assert (load.elements, load.outer, load.neighbours) == (own.elements, own.outer, len(own.neighbours))
            assert load.shared == sum(neighbour.shared for neighbour in own.neighbours)
            buffers = [plan.arrays.get(f"shared_{field}_out") for field in ("force", "potential_force")]
            assert load.sent == sum(buffer.shape[0] for buffer in buffers if buffer)


# --- slices of a chunk ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=LONG)])
def test_no_rank_asks_for_the_whole(ranks, monkeypatch):
    """Windows only: of the rank's own columns and three to each side. Together the ranks have each element once, by its number. Of
    positions on a cut a receiver belongs to one rank; of a source each of its ranks takes its elements' share."""
    windows, real = [], Chunk.part
    monkeypatch.setattr(Chunk, "part", lambda self, window=None: windows.append(window) or real(self, window))
    of_ranks = plans("mantle", ranks)
    whole = earth_chunk.chunk_of(shared("mantle"))
    assert len(windows) == ranks and all(window is not None for window in windows)
    assert max((b - a) * (d - c) for a, b, c, d in windows) <= (24 / ranks + 6) * 6 < 24 * 6
    assert sum(plan.subdomain.elements for plan in of_ranks) == whole.size == of_ranks[0].totals.grid.elements
    assert of_ranks[0].totals.points == whole.stack.points(3) == sum(plan.subdomain.points for plan in of_ranks)
    owners = whole.slice_of(part := real(whole).local(), ranks, 1)
    assert sorted(part.numbers) == list(range(whole.size))
    assert [plan.subdomain.elements for plan in of_ranks] == np.bincount(owners).tolist()
    gathering = of_ranks[0].gathering
    assert (np.diff(gathering.first) == 1).all() and len(gathering.source) == len(of_ranks[0].channels) > 0
    assert sum("source_series" in plan.arrays for plan in of_ranks) == 2


def test_elements_have_the_same_number_and_order_in_any_part():
    of_earth = mesh_of_earth()[3]
    whole = of_earth.part().local()
    numbers = dict(zip(whole.keys[whole.mesh.elements[:, 13]], whole.numbers))
    for window in (*of_earth.slices(2, 2), of_earth.stack.around(of_earth.slices(2, 2)[0], 1)):
        part = of_earth.part(window).local()
        assert [numbers[key] for key in part.keys[part.mesh.elements[:, 13]]] == part.numbers.tolist()
        there = np.flatnonzero(np.isin(whole.numbers, part.numbers))
        assert np.array_equal(whole.numbers[there], part.numbers)


def test_large_chunks_are_built_in_slices(monkeypatch):
    """Without being asked to."""
    scenario = shared("mantle", partition="auto")
    whole = earth_chunk.chunk_of(scenario)
    assert earth_chunk.slices_of(scenario, whole, 2) is None
    monkeypatch.setattr(earth_chunk, "LARGE", 100)
    assert earth_chunk.slices_of(scenario, whole, 4) == (4, 1) and earth_chunk.slices_of(scenario, whole, 1) is None
    assert earth_chunk.slices_of(shared("mantle", partition="bisection"), whole, 4) is None
    marks = [plan.subdomain.checksum for plan in plans("mantle", 2, "auto")]
    assert len(set(marks)) == 2 and zlib.crc32(np.empty(0, np.int64)) not in marks
    assert whole.part().local().mesh.size == whole.size


@pytest.mark.parametrize("case, ranks, how", [("mantle", 2, "slices"), pytest.param("core", 3, "random", marks=LONG)])
def test_ranks_look_at_the_same_part_of_a_large_mesh(monkeypatch, case, ranks, how):
    """Likely elements with the rings around them are the same however the mesh is shared, and so is the step, which parts of it tell."""
    monkeypatch.setattr(time_step, "WHOLE", 150)
    parts, likely = [], time_step.likely_elements

    def watched(d):
        looked_at = likely(d)
        parts.append(d.subdomain.numbers[looked_at])
        return looked_at

    monkeypatch.setattr(time_step, "likely_elements", watched)
    step, expected = planned(shared(case)).dt, sorted(parts.pop().tolist())
    steps = {plan.dt for plan in plans(case, ranks, how)}
    assert sorted(np.concatenate(parts).tolist()) == expected and 0 < len(expected) <= 150 and steps == {step}


def test_rasters_of_pictures_follow_the_design():
    """The median edge that all ranks know without the mesh is that of the mesh, but for the chunk's sides, where elements are narrower."""
    for case in ("mantle", "core"):
        whole = earth_chunk.chunk_of(shared(case))
        assert earth_chunk.middle_edge(whole) == pytest.approx(meshing.edges(whole.part().mesh)[1], rel=0.25)
