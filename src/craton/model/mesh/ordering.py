"""Order of elements in memory: along a space-filling curve, in chunks, and in colours that share no
point.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.host.compile import helper
from craton.model.mesh.shape import CORNERS

BITS = 16  # of each coordinate along the curve
GROUP = 64  # chunks of a group, when groups are coloured
PASSES = 10  # of colouring again
TEXT = Path(__file__).parent / "ordering.cpp"


@dataclass(frozen=True)
class Chunks:
    """Runs of consecutive elements, and the nodes at their corners."""

    offsets: np.ndarray  # (nc + 1,): chunk c holds the elements offsets[c] to offsets[c + 1] - 1
    starts: np.ndarray  # (nc + 1,): its corners are nodes[starts[c]:starts[c + 1]], each once
    nodes: np.ndarray

    def __len__(self):
        return len(self.offsets) - 1


def locality(mesh):
    """Permutation of the elements along a Hilbert curve through their centres: new order [i] = old number."""
    centres = mesh.centroids()
    low, high = centres.min(axis=0), centres.max(axis=0)
    return along_curve(centres - low, (high - low).max())


def along_curve(places, extent):
    """Permutation of places (m, 3), from 0 to `extent` along each axis, along a Hilbert curve; equal places keep their
    order.

    `places` (m, 3); `extent` (3,) in m.
    """
    steps = places * ((2**BITS - 1) / max(extent, 1e-300))
    return np.argsort(_hilbert(np.rint(steps).astype(np.int64).T), kind="stable")


def _hilbert(axes):
    """Place along the Hilbert curve of integer coordinates (3, m) of `BITS` bits (Skilling 2004,
    AIP Conf. Proc. 707, 381).
    """
    x = axes.copy()
    for bit in range(BITS - 1, 0, -1):
        for i in range(3):
            hit = x[i] >> bit & 1 == 1
            exchange = np.where(hit, 0, (x[0] ^ x[i]) & ((1 << bit) - 1))
            x[0] ^= np.where(hit, (1 << bit) - 1, exchange)
            x[i] ^= exchange
    x[1] ^= x[0]
    x[2] ^= x[1]
    turn = np.zeros_like(x[0])
    for bit in range(BITS - 1, 0, -1):
        turn ^= np.where(x[2] >> bit & 1 == 1, (1 << bit) - 1, 0)
    x ^= turn
    place = np.zeros_like(x[0])
    for bit in range(BITS - 1, -1, -1):
        for i in range(3):
            place = place << 1 | x[i] >> bit & 1
    return place


def chunks(elements, size):
    """Cut the elements, in their order, into chunks of `size` (the last may be smaller).

    `elements` (ne, 8 or 27).
    """
    corners = np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]].astype(np.int64)
    offsets = np.append(np.arange(0, len(corners), size), len(corners))
    owner = np.repeat(np.arange(len(corners)) // size, 8)
    return _incidence(offsets, owner, corners.ravel())


def _incidence(offsets, owner, nodes):
    """Chunks from pairs of a chunk, rising, and a node, in which pairs may come more than once."""
    before = np.searchsorted(owner, np.arange(len(offsets)))
    nodes, starts = np.array(nodes, np.int64), np.empty(len(offsets), np.int64)
    count = helper(TEXT).call("incidence", len(offsets) - 1, before, nodes, starts)
    return Chunks(offsets, starts, nodes[:count].copy())


def colour(chunks):
    """Colours of chunks, such that two of one colour share no node (and so no edge, face or GLL point).

    Greedy, in rounds that take many chunks at once: groups of `GROUP` chunks are coloured first, and of all groups of
    one colour the chunks at the same place in their group share nothing. Then again, colour by colour, which never
    takes more colours and mostly fewer (Culberson 1992, Iterated greedy graph coloring and the difficulty landscape).

    Returns (nc,) int32: from 0.
    """
    rounds = number = np.arange(len(chunks))
    if not len(chunks):
        return np.empty(0, np.int32)
    if len(chunks) > GROUP:
        rounds = colour(_grouped(chunks))[number // GROUP] * GROUP + number % GROUP
    colours = _greedy(chunks, rounds)
    for turn in range(PASSES):
        sizes = np.bincount(colours)
        # The largest colours first, and, in turn, the last ones first.
        first = np.argsort(-sizes, kind="stable") if turn % 2 == 0 else np.arange(len(sizes))[::-1]
        colours = _greedy(chunks, np.argsort(first)[colours])
    return colours


def _grouped(chunks):
    """Chunks of `GROUP` chunks."""
    owner = np.repeat(np.arange(len(chunks)) // GROUP, np.diff(chunks.starts))
    offsets = np.append(chunks.offsets[:-1:GROUP], chunks.offsets[-1])
    return _incidence(offsets, owner, chunks.nodes)


def _greedy(chunks, rounds):
    """Return the lowest colour free at the nodes of each chunk, round after round; chunks of one
    round share no node.
    """
    used = np.zeros(int(chunks.nodes.max(initial=0)) + 1, np.uint64)
    out = np.empty(len(chunks), np.int32)
    sequence = np.argsort(rounds, kind="stable")
    tables = (np.ascontiguousarray(a, np.int64) for a in (sequence, chunks.starts, chunks.nodes))
    if not helper(TEXT).call("greedy", len(chunks), *tables, used, out):
        raise ValueError("more than 64 chunks meet: use smaller chunks")
    return out
