"""Positions along a Morton curve: neighbours in this order are neighbours in space."""

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
