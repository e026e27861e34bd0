"""What the cases share: misfit, a row of the table, references kept beside this file."""

from pathlib import Path

import numpy as np


def misfit(computed, expected):
    """Relative L2 misfit of arrays of the same shape."""
    return float(np.sqrt(((computed - expected) ** 2).sum() / (expected**2).sum()))


def row(label, value, limit, curves=None):
    """Return a row: what was compared, its misfit, the most it may be; `curves`, (t, found, wanted)
    with the last two (nt,), for a figure.
    """
    value = float(value)
    result = {"what": label, "misfit": value, "limit": limit, "passed": bool(value <= limit)}
    return {**result, "curves": curves} if curves is not None else result


def reference(name):
    """Arrays of a reference of this folder: dict."""
    with np.load(Path(__file__).parent / f"{name}.npz") as kept:
        return {key: kept[key] for key in kept.files}


def at_times(t, values, times):
    """Series along the last axis at other times, by cubic splines."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(t, values, axis=-1)(times)
