"""Partition of a mesh's elements over ranks: owner of each element, points that ranks share, outer
elements.
"""

from dataclasses import dataclass

import numpy as np

from craton.errors import Problem, ResourceError, ScenarioError

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


@dataclass(frozen=True, eq=False)
class Piece:
    """Owned elements of one rank, and the points that it shares.

    Parameters
    ----------
    rank : int
    elements : (m,) array
        Numbers of its elements in the whole mesh (or in its own, where it built that itself): first
        the outer elements, which hold a shared point, then the inner ones; each group in the order
        of the mesh.
    outer : int
        Number of outer elements.
    shared : dict of int to (s,) int64 array
        For each neighbour the points that both have, as places ``position in elements * n^3 +
        node``. Both sides list the same points in the same order, that of the points' numbers in
        the whole mesh.
    """

    rank: int
    elements: np.ndarray
    outer: int
    shared: dict

    def points(self, numbering):
        """Return the numbers of the shared points by neighbour, in the order of `shared`, from a
        numbering (m, n, n, n) of the elements.
        """
        flat = np.asarray(numbering).reshape(-1)
        return {rank: flat[places] for rank, places in self.shared.items()}


# --- owner of each element ------------------------------------------------------------------------


def neighbours(points):
    """Return the dual graph: the elements across the faces of each element.

    Parameters
    ----------
    points : (ne, n, n, n) integer array
        Numbers of GLL points, or (ne, 2, 2, 2) those of the corners.

    Returns
    -------
    offsets, adjacency : (ne + 1,), (edges,) int32 arrays
        Neighbours of element e are adjacency[offsets[e]:offsets[e + 1]].
    """
    corners = np.asarray(points)[:, :: points.shape[1] - 1, :: points.shape[1] - 1, :: points.shape[1] - 1]
    faces = np.concatenate([corners.take(side, axis=axis).reshape(-1, 4) for axis in (3, 2, 1) for side in (0, 1)])
    faces = np.sort(faces, axis=1)
    order = np.argsort(_hash_corners(faces), kind="stable")
    same = (faces[order[1:]] == faces[order[:-1]]).all(axis=1)
    a, b = order[:-1][same] % len(corners), order[1:][same] % len(corners)
    first, second = np.concatenate([a, b]), np.concatenate([b, a])
    by_first = np.lexsort((second, first))
    offsets = np.searchsorted(first[by_first], np.arange(len(corners) + 1))
    return offsets.astype(np.int32), second[by_first].astype(np.int32)


def _hash_corners(faces):
    """Return a hash of the corners of each face; among 10 million elements, faces with different
    corners almost surely differ.
    """
    key = np.zeros(len(faces), np.uint64)
    for corner in faces.T:
        key = (key ^ corner.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


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
        members = members[np.argsort(place[:, np.ptp(place, axis=0).argmax()], kind="stable")]
        total = np.cumsum(weights[members])
        low = count // 2
        cut = int(np.searchsorted(total - weights[members] / 2, total[-1] * low / count))
        cut = min(max(cut, low), len(members) - (count - low))  # an element for each rank
        todo += [(members[:cut], first_rank, low), (members[cut:], first_rank + low, count - low)]
    return out


def slices(graph, centroids, ranks, weights, seed=0):
    """Slices from top to bottom: nx of equal weight along x, each cut into ny along y; nx ny =
    ranks, as near to squares as possible.
    """
    extent = np.maximum(np.ptp(centroids[:, :2], axis=0), 1e-300)
    counts = [(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]
    nx, ny = min(counts, key=lambda c: abs(np.log(extent[0] / c[0] * c[1] / extent[1])))
    out = np.empty(len(centroids), np.int32)
    for i, strip in enumerate(_cut_by_weight(centroids[:, 0], np.arange(len(centroids)), weights, nx)):
        for j, members in enumerate(_cut_by_weight(centroids[:, 1], strip, weights, ny)):
            out[members] = j * nx + i
    return out


def _cut_by_weight(along, members, weights, count):
    """Cut elements into `count` runs of equal weight along an axis; no run is empty where there are
    enough elements.
    """
    members = members[np.argsort(along[members], kind="stable")]
    total = np.cumsum(weights[members])
    cuts = np.searchsorted(total - weights[members] / 2, total[-1] * np.arange(1, count) / count)
    return np.split(members, np.clip(cuts, np.arange(1, count), len(members) - np.arange(count - 1, 0, -1)))


def scatter(graph, centroids, ranks, weights, seed=0):
    """Scatter elements at random, in equal numbers: the worst partition, for tests; `seed` makes it
    repeatable.
    """
    return np.random.default_rng(seed).permutation(np.arange(len(centroids)) % ranks).astype(np.int32)


METHODS = {"metis": metis, "bisection": bisection, "slices": slices, "random": scatter}


def partition(points, centroids, ranks, method="auto", weights=None, seed=0, pairs=None):
    """Partition the elements of a mesh: the rank of each element.

    Parameters
    ----------
    points : (ne, n, n, n) integer array
        Numbers of GLL points (`Numbering.points`) or of corners.
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
        raise ScenarioError(
            [
                Problem(
                    "--ranks", f"{ranks} ranks for {len(centroids)} elements", "use fewer ranks: each needs an element"
                )
            ]
        )
    weights = np.ones(len(centroids)) if weights is None else np.asarray(weights, float)
    total = np.bincount(group, weights)
    centres = np.stack([np.bincount(group, weights * x) / total for x in np.asarray(centroids, float).T], axis=1)
    chosen = METHODS[_default_method() if method == "auto" else method]

    def graph():
        offsets, adjacency = neighbours(points)
        return contract_graph(offsets, adjacency, group)

    return chosen(graph, centres, ranks, total, seed)[group]


def groups(pairs, count):
    """Return the group number of each of `count` elements: elements that pairs (m, 2) connect are
    in one group.
    """
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


def _default_method():
    from importlib.util import find_spec

    return "metis" if find_spec("pymetis") else "bisection"


# --- what ranks share -----------------------------------------------------------------------------


def pieces(points, ranks):
    """Return the `Piece` of every rank from a mesh that is whole on this one.

    Parameters
    ----------
    points : (ne, n, n, n) integer array
        Numbers of GLL points in the whole mesh.
    ranks : (ne,) array
        Rank of each element.

    Returns
    -------
    list of Piece
    """
    points, ranks = np.asarray(points), np.asarray(ranks)
    count = int(ranks.max()) + 1
    flat = points.reshape(len(points), -1)
    last, common = np.empty(int(flat.max()) + 1, np.int32), np.zeros(int(flat.max()) + 1, bool)
    # of several ranks one stays: the others find it instead of themselves
    last[flat] = ranks[:, None]
    common[flat[last[flat] != ranks[:, None]]] = True
    touched = np.flatnonzero(common[flat].any(axis=1))
    keys = np.unique((flat[touched].astype(np.int64) * count + ranks[touched, None])[common[flat[touched]]])
    holders = _holders(*np.divmod(keys, count), count)
    out = []
    for rank in range(count):
        owned = np.flatnonzero(ranks == rank)
        out.append(piece(rank, owned, flat[owned], holders[rank]))
    return out


def _holders(point, rank, count):
    """Return for each rank the numbers, rising, of the points that it shares, by neighbour; from
    (point, rank) pairs sorted by point.
    """
    out: list[dict] = [{} for _ in range(count)]
    starts = np.flatnonzero(np.diff(point, prepend=-1))
    lengths = np.diff(np.append(starts, len(point)))
    # pairs of holders `reach` places apart in the list of a point
    for reach in range(1, int(lengths.max(initial=1))):
        starts_of_pairs = np.flatnonzero(
            (np.arange(len(point)) - np.repeat(starts, lengths)) + reach < np.repeat(lengths, lengths)
        )
        a, b, shared = rank[starts_of_pairs], rank[starts_of_pairs + reach], point[starts_of_pairs]
        for pair in np.unique(a * count + b):
            both = shared[a * count + b == pair]
            for holder, other in (divmod(int(pair), count), divmod(int(pair), count)[::-1]):
                out[holder].setdefault(other, []).append(both)
    return [
        {other: np.sort(np.concatenate(lists)) for other, lists in sorted(lists_by_neighbour.items())}
        for lists_by_neighbour in out
    ]


def touching_elements(corners, ranks, rank):
    """Return the elements of a rank and those that touch them, rising, from corner nodes (ne, 8)
    and the rank of each element.
    """
    touched = np.zeros(int(corners.max()) + 1, bool)
    touched[corners[ranks == rank]] = True
    return np.flatnonzero(touched[corners].any(axis=1))


def piece_from_neighbourhood(rank, elements, ids, ranks):
    """Return the `Piece` of a rank from its own elements and the `touching_elements`.

    Parameters
    ----------
    rank : int
    elements : (m,) array
        Their numbers, rising.
    ids : (m, nodes) integer array
        Numbers of their points in the order in which these elements touch them: then both sides
        have shared points in one order, for all elements that hold such a point are among those of
        both.
    ranks : (m,) array
    """
    is_owned, common = np.zeros(int(ids.max()) + 1, bool), {}
    is_owned[ids[ranks == rank]] = True
    for other in np.unique(ranks[ranks != rank]):
        is_theirs = np.zeros(len(is_owned), bool)
        is_theirs[ids[ranks == other]] = True
        both = np.flatnonzero(is_owned & is_theirs)
        if len(both):
            common[int(other)] = both
    owned = np.flatnonzero(ranks == rank)
    return piece(rank, elements[owned], ids[owned], common)


def piece(rank, elements, ids, common):
    """Return the `Piece` of a rank from its own elements and the points that it shares.

    Parameters
    ----------
    rank : int
    elements : (m,) array
        Their numbers.
    ids : (m, ...) integer array
        Numbers of their points in the whole mesh.
    common : dict of int to array
        For each neighbour the numbers, rising, of the points that both have.
    """
    ids = np.asarray(ids).reshape(len(elements), -1)
    all_shared = np.unique(np.concatenate([*common.values(), np.empty(0, np.int64)]))
    outside = _is_member(ids, all_shared).any(axis=1)
    order = np.concatenate([np.flatnonzero(outside), np.flatnonzero(~outside)])
    outer = int(outside.sum())
    outer_points, places = np.unique(ids[order[:outer]], return_index=True)
    shared = {other: places[np.searchsorted(outer_points, points)] for other, points in common.items()}
    return Piece(rank, np.asarray(elements)[order], outer, shared)


def _is_member(ids, members):
    """Return which ids are in a rising list of members."""
    if not len(members):
        return np.zeros(ids.shape, bool)
    return members[np.minimum(np.searchsorted(members, ids), len(members) - 1)] == ids
