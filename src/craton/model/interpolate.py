"""Linear interpolation on rising axes, the same for rasters, reliefs and gridded models."""

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


def interpolated(field, *places, index=()):
    """Return a field, linear along each of its axes, at places; a value that is nan counts only where it has weight.

    `places`: for each axis the indices before and after, and the weight of the latter, as of `weights`; arrays that
    broadcast together. `index`: into the axes before these.
    """
    if not places:
        return field[index]
    (before, after, weight), *others = places
    low, high = (interpolated(field, *others, index=(*index, at)) for at in (before, after))
    return np.where(weight < 1, low, 0.0) * (1 - weight) + np.where(weight > 0, high, 0.0) * weight
