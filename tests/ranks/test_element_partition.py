"""Elements over ranks: balance, shared points that match pairwise, outer elements; slices of a chunk that build themselves."""

import builtins
import importlib.util

import numpy as np
import pytest

from craton.core import elements
from craton.errors import ResourceError, ScenarioError
from craton.model.globe import prem
from craton.model.globe.chunk import chunk
from craton.model.mesh import numbering

METIS = pytest.param(
    "metis", marks=pytest.mark.skipif(not importlib.util.find_spec("pymetis"), reason="pymetis is not installed")
)
DEGREE = 3


@pytest.fixture(scope="module")
def earth():
    """A chunk with a doubling, its GLL points, its centroids."""
    made = chunk(prem.prem(), (0, 0), (24, 16), 1500e3, period=90, slices=(2, 2))
    part = made.part()
    return made, part, numbering.number(part.mesh.elements, DEGREE).points, part.mesh.centroids()


def brute_force(points, ranks):
    """Ranks of each point: dict of point to set."""
    found = {}
    for own, rank in zip(points.reshape(len(points), -1), ranks):
        for p in own:
            found.setdefault(int(p), set()).add(int(rank))
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("method", [METIS, "bisection", "slices", "random"])
def test_shared_points_are_in_the_lists_of_all_their_ranks(earth, method, ranks):
    _, _, points, centroids = earth
    rank = elements.partition(points, centroids, ranks, method)
    found = elements.pieces(points, rank)
    assert len(found) == ranks and np.array_equal(
        np.sort(np.concatenate([p.elements for p in found])), np.arange(len(points))
    )
    lists = {
        (p.rank, other): points[p.elements].reshape(-1)[places] for p in found for other, places in p.shared.items()
    }
    wanted = {}
    for point, holders in sorted(brute_force(points, rank).items()):
        for a in holders:
            for b in holders - {a}:
                wanted.setdefault((a, b), []).append(point)
    assert lists.keys() == wanted.keys()
    for pair, own in lists.items():
        assert (
            own.tolist() == wanted[pair] == lists[pair[::-1]].tolist()
        )  # the same points in the same order on both sides


@pytest.mark.parametrize("method", [METIS, "bisection"])
def test_outer_elements_are_those_that_hold_a_shared_point(earth, method):
    _, _, points, centroids = earth
    rank = elements.partition(points, centroids, 4, method)
    several = {p for p, holders in brute_force(points, rank).items() if len(holders) > 1}
    for one in elements.pieces(points, rank):
        touching = [bool(several & set(points[e].ravel().tolist())) for e in one.elements]
        assert all(touching[: one.outer]) and not any(touching[one.outer :])
        assert (np.diff(one.elements[: one.outer]) > 0).all() and (np.diff(one.elements[one.outer :]) > 0).all()


def test_own_numbers_of_shared_points(earth):
    """Ranks number their own points; the lists still name the same places."""
    _, part, points, centroids = earth
    rank = elements.partition(points, centroids, 3, "bisection")
    found = elements.pieces(points, rank)
    own = [numbering.number(part.mesh.elements[p.elements], DEGREE) for p in found]
    whole = []
    for one, numbers in zip(found, own):
        table = np.empty(numbers.count, np.int64)
        table[numbers.points.ravel()] = points[one.elements].ravel()
        whole.append({other: table[mine] for other, mine in one.points(numbers.points).items()})
    for one in found:
        for other in one.shared:
            assert np.array_equal(whole[one.rank][other], whole[other][one.rank]) and len(whole[one.rank][other])


@pytest.mark.parametrize("method", [METIS, "bisection"])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_balanced(earth, method, weighted):
    _, part, points, centroids = earth
    weights = np.where(part.sections == 0, 3.0, 1.0) if weighted else np.ones(len(points))
    for ranks in (3, 7):
        load = np.bincount(elements.partition(points, centroids, ranks, method, weights), weights)
        assert load.max() / load.mean() < 1.06  # 3 % by METIS, and an element of 3 in about 100


@pytest.mark.parametrize("method", [METIS, "bisection"])
def test_cuts_are_short(earth, method):
    """Fewer shared points than a third of those of a scattered partition."""
    _, _, points, centroids = earth

    def count(how):
        return sum(
            len(own)
            for p in elements.pieces(points, elements.partition(points, centroids, 4, how))
            for own in p.shared.values()
        )

    assert count(method) < count("random") / 3


def test_dual_graph(earth):
    made, part, points, _ = earth
    offsets, found = elements.neighbours(points)
    degree = np.diff(offsets)
    outside = np.bincount(np.concatenate([rows[:, 0] for rows in part.mesh.faces.values()]), minlength=len(points))
    assert np.array_equal(
        degree + outside, np.full(len(points), 6)
    )  # each face has an element behind it, or is a side of the chunk
    pairs = set(zip(np.repeat(np.arange(len(points)), degree).tolist(), found.tolist()))
    assert all((b, a) in pairs and a != b for a, b in pairs)


def test_partitions_that_cannot_be(earth, monkeypatch):
    _, _, points, centroids = earth
    with pytest.raises(ScenarioError, match="5000 ranks"):
        elements.partition(points, centroids, 5000, "bisection")
    real = builtins.__import__
    monkeypatch.setattr(
        builtins, "__import__", lambda name, *a, **k: real("_absent_" if name == "pymetis" else name, *a, **k)
    )
    with pytest.raises(ResourceError, match="pip install pymetis"):
        elements.partition(points, centroids, 2, "metis")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert np.array_equal(
        elements.partition(points, centroids, 2), elements.partition(points, centroids, 2, "bisection")
    )
