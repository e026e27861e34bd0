"""What is wrong with positions and files of sources and receivers, in words."""

import numpy as np

from craton.survey import geography, places

LISTED = 50  # positions that are named
FAR_AWAY = "correct longitude and latitude, or move the box (domain.geographic)"
NOT_ON_MAP = f"its place is more than {geography.WIDEST:g} deg from the reference of the map"


def misplaced(scenario, xyz, most=LISTED):
    """Find positions outside the domain or above its ground.

    Parameters
    ----------
    scenario : Scenario
    xyz : array_like, shape (n, 3)
        Positions, metres; x is NaN where a place is not on the map.
    most : int
        Of which texts are made.

    Returns
    -------
    numbers : ndarray of int
        Of all that are outside.
    texts : list of str
        How the first of them are: each by its own worst coordinate.
    remedy : str
    """
    xyz = np.asarray(xyz, dtype=float).reshape(-1, 3)
    globe = places.globe_of(scenario)
    if globe is not None:
        numbers = np.flatnonzero(~globe.chunk.inside(xyz))
        texts = [text for _, text in globe.outside(xyz[numbers[:most]])]
        return numbers, texts, "move it inside, or make domain.chunk wider or deeper"
    domain = scenario.domain
    low, size = np.array(domain.corner, dtype=float), np.array(domain.extent, dtype=float)
    beyond = np.maximum(low - xyz, xyz - (low + size))
    # The nearest corner of the domain may be missed by rounding only. A coordinate that is nan is
    # outside.
    out = ~(beyond <= 1e-9 * size)
    high, top = places.in_the_air(scenario, xyz)
    numbers = np.flatnonzero(out.any(axis=1) | high)
    words = []
    for n in numbers[:most]:
        if np.isnan(xyz[n, 0]):
            words.append((NOT_ON_MAP, FAR_AWAY))
        elif not out[n].any():
            remedy = "give a lower z, or { x =, y =, depth = } with the depth below the surface"
            words.append((f"z = {xyz[n, 2]:.10g} m is in the air: the surface is at {top[n]:.10g} m", remedy))
        else:  # the ground may be unknown, z nan, because x or y is outside
            axis = int(np.where(out[n], np.nan_to_num(beyond[n], nan=0.0), -1.0).argmax())
            ends = low[axis], low[axis] + size[axis]
            words.append(_outside(axis, xyz[n, axis], *ends, scenario.boundaries.face("top")))
    remedies = dict.fromkeys(remedy for _, remedy in words)
    return numbers, [text for text, _ in words], "; ".join(remedies)


def outside(scenario, xyz):
    """Say how positions lie outside the domain, by its worst axis; None where all are inside.

    Parameters
    ----------
    scenario : Scenario
    xyz : array_like, shape (n, 3)
        Positions, metres.

    Returns
    -------
    (index, message, remedy) or None
        Of the first position outside.
    """
    numbers, texts, remedy = misplaced(scenario, xyz, 1)
    return (int(numbers[0]), texts[0], remedy) if len(numbers) else None


def _outside(axis, value, low, high, top):
    axis = "xyz"[axis]
    range_text = f"{axis} from {low:.10g} to {high:.10g} m"
    if axis == "z" and value > high:
        place = "in the air, above the free surface" if top == "free" else "above the top of the domain"
        depth = "; z is positive upward: for a depth write { x =, y =, depth = }" if value > 0 else ""
        return (
            f"z = {value:.10g} m is {place} at z = {high:.10g} m",
            f"give z from {low:.10g} to {high:.10g} m{depth}",
        )
    return (
        f"{axis} = {value:.10g} m is outside the domain, {range_text}",
        "move it inside, or enlarge domain.size (and domain.origin)",
    )


def file_fault(entry, error, kinds, advice):
    """Message and remedy for an error of a file of sources or receivers.

    Parameters
    ----------
    entry : source or receivers of a scenario
    error : OSError, ValueError or LookupError
        The file cannot be read; is wrong, ``line N: ...`` where a line is; needs a reference of
        longitude and latitude.
    kinds : str
        What the path should lead to.
    advice : str
        Remedy for a file that is wrong.

    Returns
    -------
    message, remedy : str
    """
    if isinstance(error, LookupError):
        metres = '; or coordinates = "metres"' if hasattr(entry, "coordinates") else ""
        return (f"{entry.file}: {error.args[0]}", "add geographic = { longitude =, latitude = } to [domain]" + metres)
    if isinstance(error, OSError):
        return (
            f"cannot read {entry.file}: {error.strerror or error}",
            f"give the path of the {kinds}, relative to the scenario",
        )
    line, colon, rest = str(error).removeprefix("line ").partition(":")
    has_line = str(error).startswith("line ") and colon and line.isdecimal()
    return f"{entry.file}:{line}:{rest}" if has_line else f"{entry.file}: {error}", advice
