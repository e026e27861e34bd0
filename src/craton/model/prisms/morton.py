"""Positions along a Morton curve, in whose order neighbours are neighbours in space; which prisms share volume.

A tree of boxes along the curve is walked against itself, cost about N log N, never all pairs.
Measured against shapely's STRtree (2.2: boxes in the plane, then the vertical axis) at 1e6 prisms,
two or three times on one core of a busy machine: a full lattice 7 to 8 s and 0.6 GiB here, 16 to 20
s and 1.4 GiB there; columns of one layer 4 to 6 s and 5 to 8 s; scattered boxes with 5e5 pairs 9 to
26 s and 32 to 57 s. In a tree of the plane a tall stack of N thin layers meets N^2 times; hence our
own.
"""

import numpy as np

LEVELS = 21  # bits of each axis
BLOCK = 1 << 14  # positions that are treated at a time: what is in between stays in the cache
SPREAD = (
    (32, 0x1F00000000FFFF),
    (16, 0x1F0000FF0000FF),
    (8, 0x100F00F00F00F00F),
    (4, 0x10C30C30C30C30C3),
    (2, 0x1249249249249249),
)
LEAF = 8  # prisms of a leaf
BATCH = 1 << 17  # pairs of boxes looked at together
# part of a prism's side by which it is shrunk on either side: neighbours that touch but for
# rounding do not overlap
SKIN = 1e-7


def morton_code(points: np.ndarray) -> np.ndarray:
    """Return the Morton codes of 21 bits per axis of points (3, n), over their cube."""
    low, high = points.min(axis=1), points.max(axis=1)
    scale = (2**LEVELS - 1) / max(float((high - low).max()), 1e-300)
    code = np.zeros(points.shape[1], np.uint64)
    for n in range(0, len(code), BLOCK):
        for axis in range(3):
            cell = ((points[axis, n : n + BLOCK] - low[axis]) * scale).astype(np.uint64)
            for shift, keep in SPREAD:  # two zero bits after each
                cell = (cell | (cell << np.uint64(shift))) & np.uint64(keep)
            code[n : n + BLOCK] |= cell << np.uint64(2 - axis)
    return code


def morton_order(points: np.ndarray) -> np.ndarray:
    """Return the order of points (3, n) along the curve."""
    return np.argsort(morton_code(points), kind="stable") if points.size else np.arange(0)


def overlaps(prisms, most=10):
    """Return the pairs a < b of prisms (M, 6) whose interiors meet, in rising order: (n, 2), at most `most`."""
    prisms = np.asarray(prisms, float).reshape(-1, 6)
    low, high = prisms[:, ::2], prisms[:, 1::2]
    skin = SKIN * (high - low) + 4 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
    low, high = low + skin, high - skin
    solid = np.flatnonzero((low < high).all(axis=1))
    if len(solid) < 2:
        return np.empty((0, 2), np.int64)
    low, high = low[solid], high[solid]
    # lengths in mean sides: columns whose depths differ keep to the order of the plane
    order = morton_order(((low + high) / (high - low).mean(axis=0)).T[::-1])
    low, high, order = low[order], high[order], solid[order]
    batches, levels = [], grow(low, high)
    stack = [(len(levels) - 1, np.zeros((1, 2), np.int64))]
    while stack and sum(map(len, batches)) < most:
        level, pairs = stack.pop()
        if len(pairs) > BATCH:
            stack += [(level, pairs[BATCH:]), (level, pairs[:BATCH])]
        elif level:
            stack.append((level - 1, meeting(*levels[level - 1], below(pairs, 2, len(levels[level - 1][0])))))
        else:
            within = meeting(low, high, below(pairs, LEAF, len(low)))
            batches.append(order[within[within[:, 0] != within[:, 1]]])
    pairs = np.sort(np.concatenate(batches), axis=1) if batches else np.empty((0, 2), np.int64)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))][:most]


def grow(low, high):
    """Return the boxes of a tree around boxes (n, 3), m: a list of (low, high), leaves first; each box holds two of
    the level below, a leaf `LEAF` prisms.
    """
    levels = [joined(low, high, LEAF)]
    while len(levels[-1][0]) > 1:
        levels.append(joined(*levels[-1], 2))
    return levels


def joined(low, high, each):
    """Return the boxes around each `each` consecutive boxes (n, 3), m."""
    starts = np.arange(0, len(low), each)
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def below(pairs, each, count):
    """Return the pairs of the children of pairs (n, 2), every unordered pair once."""
    children = np.arange(each)
    a = (pairs[:, :1] * each + children)[:, :, None]
    b = (pairs[:, 1:] * each + children)[:, None, :]
    a, b = (np.broadcast_to(c, (len(pairs), each, each)).reshape(-1) for c in (a, b))
    is_child = (a <= b) & (b < count)
    return np.stack([a[is_child], b[is_child]], axis=1)


def meeting(low, high, pairs):
    """Return the pairs (n, 2) of boxes (n, 3) whose interiors overlap."""
    a, b = pairs.T
    meets = np.ones(len(pairs), bool)
    for axis in range(3):
        meets &= (low[a, axis] < high[b, axis]) & (low[b, axis] < high[a, axis])
    return pairs[meets]
