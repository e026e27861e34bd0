"""Partition of a mesh's elements over ranks: owner of each element, points that ranks share."""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from craton.errors import ResourceError, refuse
from craton.model.mesh import numbering

INTEGER = 1000  # METIS weighs in whole numbers: the mean weight of an element is this


@dataclass(frozen=True, eq=False)
class ElementWeights:
    """Elements of a whole mesh with their costs, for its partition.

    Parameters
    ----------
    corners : (ne, 8) int array
        Numbers of their corner nodes, lexicographic.
    centroids : (ne, 3) array
        m.
    fluid : (ne,) bool array
    cost : (ne,) array
        Of each element, reals that its kernel moves.
    degree : int
    method : str
        See `partition`.
    """

    corners: np.ndarray
    centroids: np.ndarray
    fluid: np.ndarray
    cost: np.ndarray
    degree: int
    method: str


# --- owner of each element ------------------------------------------------------------------------


def neighbours(corners):
    """Return the dual graph: the elements across the faces of each element.

    Parameters
    ----------
    corners : (ne, 8) integer array
        Numbers of their corner nodes, lexicographic.

    Returns
    -------
    offsets, adjacency : (ne + 1,), (edges,) int32 arrays
        Neighbours of element e are adjacency[offsets[e]:offsets[e + 1]].
    """
    pairs = numbering.inner_faces(corners)[:, ::2]
    first, second = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((second, first))
    offsets = np.searchsorted(first[order], np.arange(len(corners) + 1))
    return offsets.astype(np.int32), second[order].astype(np.int32)


def metis(graph, centroids, ranks, weights, seed=0):
    """METIS's k-way partition of the dual graph (Karypis & Kumar 1998): few faces between ranks,
    weights within 3 %.

    All methods take: graph, a function that gives `neighbours`; centroids (ne, 3); ranks; weights
    (ne,); seed.
    """
    try:
        import pymetis
    except ImportError as error:
        raise ResourceError("partition = metis needs pymetis; install it with: pip install pymetis") from error
    if ranks == 1:
        return np.zeros(len(centroids), np.int32)
    offsets, adjacency = graph()
    whole = np.maximum(np.rint(weights / weights.mean() * INTEGER), 1).astype(int)
    options = pymetis.Options(seed=seed)
    result = pymetis.part_graph(
        ranks, pymetis.CSRAdjacency(offsets, adjacency), vweights=whole, recursive=ranks <= 8, options=options
    )
    return np.asarray(result[1], np.int32)


def bisection(graph, centroids, ranks, weights, seed=0):
    """Recursive coordinate bisection: across the longest extent, again and again, with the ranks'
    share of the weight on each side.
    """
    out = np.zeros(len(centroids), np.int32)
    todo = [(np.arange(len(centroids)), 0, ranks)]
    while todo:
        members, first_rank, count = todo.pop()
        if count == 1:
            out[members] = first_rank
            continue
        place = centroids[members]
        low = count // 2
        parts = _cut_by_weight(place[:, np.ptp(place, axis=0).argmax()], members, weights, (low, count - low))
        todo += zip(parts, (first_rank, first_rank + low), (low, count - low))
    return out


def slices(graph, centroids, ranks, weights, seed=0):
    """Slices from top to bottom: nx of equal weight along x, each cut into ny along y; nx ny =
    ranks, as near to squares as possible.
    """
    extent = np.maximum(np.ptp(centroids[:, :2], axis=0), 1e-300)
    counts = [(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]
    nx, ny = min(counts, key=lambda c: abs(np.log(extent[0] / c[0] * c[1] / extent[1])))
    out = np.empty(len(centroids), np.int32)
    everything = np.arange(len(centroids))
    for i, strip in enumerate(_cut_by_weight(centroids[:, 0], everything, weights, np.ones(nx, int))):
        for j, members in enumerate(_cut_by_weight(centroids[strip, 1], strip, weights, np.ones(ny, int))):
            out[members] = j * nx + i
    return out


def _cut_by_weight(along, members, weights, shares):
    """Cut elements at positions along an axis into runs whose weights are in proportion to whole shares; each run
    has as many elements as its share at least.
    """
    members = members[np.argsort(along, kind="stable")]
    total, ends = np.cumsum(weights[members]), np.cumsum(shares)
    cuts = np.searchsorted(total - weights[members] / 2, total[-1] * ends[:-1] / ends[-1])
    return np.split(members, np.clip(cuts, ends[:-1], len(members) - (ends[-1] - ends[:-1])))


def scatter(graph, centroids, ranks, weights, seed=0):
    """Scatter elements at random, in equal numbers: the worst partition, for tests; `seed` makes it repeatable."""
    return np.random.default_rng(seed).permutation(np.arange(len(centroids)) % ranks).astype(np.int32)


METHODS = {"metis": metis, "bisection": bisection, "slices": slices, "random": scatter}


def partition(corners, centroids, ranks, method="auto", weights=None, seed=0, pairs=None):
    """Partition the elements of a mesh: the rank of each element.

    Parameters
    ----------
    corners : (ne, 8) integer array
        Numbers of their corner nodes, lexicographic.
    centroids : (ne, 3) array
    ranks : int
    method : "auto", "metis", "bisection", "slices" or "random"
        "auto": METIS where pymetis is installed, else bisection.
    weights : (ne,) array, optional
        Cost of each element; all equal where not given.
    seed : int
    pairs : (m, 2) array, optional
        Elements that stay together.

    Returns
    -------
    (ne,) int32 array

    Raises
    ------
    ScenarioError
        Fewer elements than ranks.
    """
    group = np.arange(len(centroids)) if pairs is None or not len(pairs) else groups(pairs, len(centroids))
    count = int(group.max(initial=-1)) + 1
    if not 1 <= ranks <= count:
        refuse("--ranks", f"{ranks} ranks for {len(centroids)} elements", "use fewer ranks: each needs an element")
    weights = np.ones(len(centroids)) if weights is None else np.asarray(weights, float)
    total = np.bincount(group, weights)
    centres = np.stack([np.bincount(group, weights * x) / total for x in np.asarray(centroids, float).T], axis=1)
    default = "metis" if find_spec("pymetis") else "bisection"
    chosen = METHODS[default if method == "auto" else method]

    def graph():
        offsets, adjacency = neighbours(corners)
        return contract_graph(offsets, adjacency, group)

    return chosen(graph, centres, ranks, total, seed)[group]


def groups(pairs, count):
    """Return the group number of each of `count` elements: elements that pairs (m, 2) connect are in one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs)), np.asarray(pairs).T), shape=(count, count))
    return connected_components(links, directed=False)[1]


def contract_graph(offsets, adjacency, group):
    """Contract the dual graph of elements to the graph of their groups: offsets, adjacency."""
    if len(group) == group.max() + 1:
        return offsets, adjacency
    count = int(group.max()) + 1
    a, b = group[np.repeat(np.arange(len(group)), np.diff(offsets))], group[adjacency]
    keys = np.unique(a[a != b].astype(np.int64) * count + b[a != b])
    return np.searchsorted(keys, np.arange(count + 1) * count).astype(np.int32), (keys % count).astype(np.int32)


# --- what ranks share -----------------------------------------------------------------------------


def touching_elements(corners, ranks, rank):
    """Return the elements of a rank and those that touch them, rising, from corner nodes (ne, 8)
    and the rank of each element.
    """
    touched = np.zeros(int(corners.max()) + 1, bool)
    touched[corners[ranks == rank]] = True
    return np.flatnonzero(touched[corners].any(axis=1))


def shared_points(ids, count, ranks, rank, chosen=True):
    """Return the points that a rank has in common with each other one: dict of rank to numbers, rising.

    Parameters
    ----------
    ids : (m, nodes) integer array
        Numbers of the points of its elements and of all that touch them, counted in the order in which
        these elements touch them: then both sides have shared points in one order.
    count : int
        Number of points.
    ranks : (m,) array
        Rank of each element.
    rank : int
    chosen : (m,) bool array, optional
        Elements that count.
    """

    def points_of(one):
        flags = np.zeros(count, bool)
        numbering.mark(flags, ids, np.flatnonzero((ranks == one) & chosen))
        return flags

    here = points_of(rank)
    common = {int(other): np.flatnonzero(here & points_of(other)) for other in np.unique(ranks) if other != rank}
    return {other: points for other, points in common.items() if len(points)}
