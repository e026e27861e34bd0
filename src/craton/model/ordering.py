"""Order of elements in memory: along a space-filling curve, in chunks, and in colours that share no point."""
from dataclasses import dataclass

import numpy as np

from craton.model.shape import CORNERS

BITS = 16  # of each coordinate along the curve
PASSES = 4  # of recolouring


@dataclass(frozen=True)
class Chunks:
    """Runs of consecutive elements, and the nodes at their corners.

    Parameters
    ----------
    offsets : (nc + 1,) array
        Chunk c holds the elements offsets[c] to offsets[c + 1] - 1.
    starts : (nc + 1,) array
        Its corners are nodes[starts[c]:starts[c + 1]], each once.
    nodes : array
    """

    offsets: np.ndarray
    starts: np.ndarray
    nodes: np.ndarray

    def __len__(self):
        return len(self.offsets) - 1


def locality(mesh):
    """Permutation of the elements along a Hilbert curve through their centres: new order [i] = old number.

    Parameters
    ----------
    mesh : HexMesh
    """
    centres = mesh.centroids()
    low, high = centres.min(axis=0), centres.max(axis=0)
    steps = (centres - low) * ((2**BITS - 1) / max((high - low).max(), 1e-300))
    return np.argsort(_hilbert(np.rint(steps).astype(np.int64).T), kind="stable")


def _hilbert(axes):
    """Place along the Hilbert curve of integer coordinates (3, m) of `BITS` bits (Skilling 2004, AIP Conf. Proc. 707, 381)."""
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

    Parameters
    ----------
    elements : (ne, 8 or 27) integer array
    size : int

    Returns
    -------
    Chunks
    """
    corners = np.asarray(elements)[:, CORNERS[np.shape(elements)[1]]].astype(np.int64)
    offsets = np.append(np.arange(0, len(corners), size), len(corners))
    span = int(corners.max(initial=0)) + 1
    pairs = np.unique((np.arange(len(corners)) // size)[:, None] * span + corners)
    starts = np.searchsorted(pairs, np.arange(len(offsets)) * span)
    return Chunks(offsets, starts, pairs % span)


def colour(chunks):
    """Colours of chunks, such that two of one colour share no node (and so no edge, face or GLL point).

    Greedy: first in a scattered order, all chunks at once that come before all of their neighbours (Jones & Plassmann 1993, SIAM J. Sci.
    Comput. 14, 654); then again colour by colour, which never takes more colours and mostly fewer (Culberson 1992, iterated greedy).

    Parameters
    ----------
    chunks : Chunks

    Returns
    -------
    (nc,) int32 array
        From 0.
    """
    owner = np.repeat(np.arange(len(chunks)), np.diff(chunks.starts))
    # An odd factor permutes the 32-bit numbers: every chunk has a priority of its own, neighbours unlike ones.
    priority = (np.arange(len(chunks), dtype=np.uint64) * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    colours = _first_colours(owner, chunks.nodes, priority)
    for turn in range(PASSES):
        colours = _recoloured(chunks, colours, by_size=turn % 2 == 0)
    return colours


def _free(used, nodes, starts):
    """Lowest bits that are in none of the nodes' sets of used colours, chunk by chunk."""
    taken = np.bitwise_or.reduceat(used[nodes], starts)
    if (taken == np.uint64(0xFFFFFFFFFFFFFFFF)).any():
        raise ValueError("more than 64 chunks meet: use smaller chunks")
    return ~taken & (taken + np.uint64(1))


def _starts(owner):
    """Where each run of equal owners begins."""
    return np.flatnonzero(np.diff(owner, prepend=-1))


def _first_colours(owner, nodes, priority):
    bits = np.zeros(len(priority), np.uint64)
    span = int(nodes.max(initial=0)) + 1
    used = np.zeros(span, np.uint64)
    while len(owner):
        best = np.full(span, np.iinfo(np.uint64).max)
        mine = priority[owner]
        np.minimum.at(best, nodes, mine)
        behind = np.zeros(len(priority), bool)
        behind[owner[best[nodes] != mine]] = True
        now = ~behind[owner]
        starts = _starts(owner[now])
        found = _free(used, nodes[now], starts)
        bits[owner[now][starts]] = found
        used[nodes[now]] |= bits[owner[now]]  # no node twice: of two chunks that share it one is behind
        owner, nodes = owner[~now], nodes[~now]
    return _index(bits)


def _index(bits):
    return np.log2(bits.astype(float)).astype(np.int32)


def _recoloured(chunks, colours, by_size):
    """Greedy colouring in the order of the colour classes: largest first, or last first."""
    sizes = np.bincount(colours)
    order = np.argsort(-sizes, kind="stable") if by_size else np.arange(len(sizes))[::-1]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sequence = np.argsort(rank[colours], kind="stable")
    lengths = np.diff(chunks.starts)
    owner = np.repeat(sequence, lengths[sequence])
    ends = np.cumsum(lengths[sequence])
    within = np.arange(len(owner)) - np.repeat(ends - lengths[sequence], lengths[sequence])
    nodes = chunks.nodes[chunks.starts[owner] + within]
    bits = np.zeros(len(chunks), np.uint64)
    used = np.zeros(int(nodes.max(initial=0)) + 1, np.uint64)
    limits = np.searchsorted(rank[colours][owner], np.arange(len(order) + 1))
    for low, high in zip(limits[:-1], limits[1:]):
        starts = _starts(owner[low:high])
        bits[owner[low:high][starts]] = _free(used, nodes[low:high], starts)
        used[nodes[low:high]] |= bits[owner[low:high]]
    return _index(bits)
