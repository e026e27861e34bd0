"""Linear interpolation along a rising axis: indices and weights, the same for rasters, reliefs and
gridded models.
"""

import numpy as np

ALONE = 1e-9  # step of an axis with one point: only its own place lies on it; the least of others
FAR = 1e15  # coordinates beyond it mean nothing


def rises(axis):
    """Whether coordinates rise by steps that differences and quotients resolve: bool.

    `axis` (n,).
    """
    return bool(np.isfinite(axis).all() and (np.abs(axis) <= FAR).all() and (np.diff(axis) >= ALONE).all())


def weights(axis, at, beyond=np.inf):
    """Return indices before and after places, and the weight of the point after.

    `axis` (n,): rising; `beyond`: steps outside the axis up to which places take the value of its end; further out the
    weight is nan. Returns before, after ndarray of int; weight ndarray: 0 to 1.
    """
    before = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, max(len(axis) - 2, 0))
    after = np.minimum(before + 1, len(axis) - 1)
    step = np.where(after > before, axis[after] - axis[before], ALONE)
    weight = (at - axis[before]) / step
    near_enough = True if beyond == np.inf else np.abs(weight - 0.5) <= 0.5 + beyond
    return before, after, np.where(near_enough, np.clip(weight, 0.0, 1.0), np.nan)
