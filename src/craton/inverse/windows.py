"""Windows in time: weights of the data by which a misfit sees a phase and no other."""

import numpy as np

from craton.errors import Problem, ScenarioError

# rising edges from 0 to 1, by how much of the edge is passed
TAPERS = {
    "hann": lambda part: 0.5 - 0.5 * np.cos(np.pi * part),
    "cos": lambda part: np.sin(np.pi / 2 * part),
    "cos_p10": lambda part: 1 - np.cos(np.pi / 2 * part) ** 10,
}


def window(data, left, right, taper_percentage=0.15, taper_type="hann"):
    """Return weights that are 1 between two times, 0 outside, with tapered edges inside:
    ``weights={"velocity": window(observed, 0.4, 0.9)}``. Names are those of pyadjoint.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataArray
        With the coordinate ``time``, s.
    left, right : float or xarray.DataArray
        Begin and end, s: numbers, or of each receiver, shot, component; nan where there is none.
    taper_percentage : float
        Part of the window that both edges take together, 0 to 1.
    taper_type : str
        ``"hann"``, ``"cos"`` or ``"cos_p10"``.

    Returns
    -------
    xarray.DataArray
        Over the dimensions of `left` and `right`, and ``time``. Windows of several phases add up.

    Raises
    ------
    ScenarioError
        There is no such taper, or a window ends before it begins.
    """
    import xarray as xr

    problems = []
    if taper_type not in TAPERS:
        remedy = f"choose one of {', '.join(TAPERS)}"
        problems.append(Problem("taper_type", f"there is no taper {taper_type!r}", remedy))
    if not 0 <= taper_percentage <= 1:
        words = f"{taper_percentage!r} is no part of a window"
        problems.append(Problem("taper_percentage", words, "use 0 to 1"))
    left, right = (xr.DataArray(limit).astype(float) for limit in (left, right))
    if bool((right <= left).any()):
        problems.append(Problem("right", "a window ends before it begins", "swap left and right"))
    if problems:
        raise ScenarioError(problems)
    edge = (right - left) * taper_percentage / 2
    inside = np.minimum(data["time"] - left, right - data["time"])
    passed = (inside / edge.where(edge > 0, 1.0)).clip(0, 1).where(edge > 0, 1.0)
    weights = TAPERS[taper_type](passed).where(inside >= 0, 0.0)
    return weights.transpose(..., "time")
