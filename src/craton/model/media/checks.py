"""Which values of Vp, Vs and density a medium may have, and the messages for those it may not."""

import numpy as np

from craton.errors import Problem
from craton.units import LARGEST, SMALLEST

NAMES = ("vp", "vs", "rho")
UNITS = ("m/s", "m/s", "kg/m3")
SLOWEST, FASTEST = SMALLEST["velocity"], LARGEST["velocity"]
LIGHTEST, HEAVIEST = SMALLEST["density"], LARGEST["density"]
# vs / vp where Poisson's ratio reaches zero, with room for float32 files
LIMIT = np.sqrt(0.5) * (1 + 1e-6)


def tolerance(*coordinates):
    """Distance, metres, below which two coordinates are the same: rounding of float32 coordinates."""
    return 2e-7 * sum(abs(c) for c in coordinates)


def wrong(vp, vs, rho):
    """Find impossible values: dict of fault -> boolean array. The names are those that `_sentence`
    knows.

    Parameters
    ----------
    vp, vs : array_like
        m/s.
    rho : array_like
        kg/m3.
    """
    with np.errstate(invalid="ignore"):
        return {
            "vp": ~((vp >= SLOWEST) & (vp <= FASTEST)),
            "vs": ~((vs == 0) | (vs >= SLOWEST) & (vs <= FASTEST)),
            "rho": ~((rho >= LIGHTEST) & (rho <= HEAVIEST)),
            "ratio": (vs > vp * LIMIT) & (vp > 0),
        }


def sound(vp, vs, rho):
    """Whether nothing is `wrong`, in fewer looks at the values; nan is at no side of anything.

    Parameters
    ----------
    vp, vs : array_like
        m/s.
    rho : array_like
        kg/m3.
    """
    return bool(
        np.size(vp)
        and vp.min() >= SLOWEST
        and (vs.min() >= SLOWEST or ((vs == 0) | (vs >= SLOWEST)).all())
        and rho.min() >= LIGHTEST
        and max(vp.max(), vs.max()) <= FASTEST
        and rho.max() <= HEAVIEST
        and (vs <= vp * LIMIT).all()
    )


def _sentence(fault, vp, vs, rho, where):
    """Message and remedy for one kind of wrong value."""
    if fault == "ratio":
        limit = vp * np.sqrt(0.5)
        return (
            f"vs is {vs:.6g} m/s{where}, above vp / sqrt(2) = {limit:.6g} m/s (vp is {vp:.6g} m/s): Poisson's ratio would be negative",
            "Lower vs or raise vp; check that the two are not exchanged.",
        )
    value, unit = dict(zip(NAMES, zip((vp, vs, rho), UNITS)))[fault]
    if not np.isfinite(value):
        return (
            f"{fault} is not a finite number ({value}){where}",
            f"Give {fault} a value in {unit}.",
        )
    least, most = (LIGHTEST, HEAVIEST) if fault == "rho" else (SLOWEST, FASTEST)
    rule = "0 (a fluid) or more" if fault == "vs" else "more than 0"
    if value > most or value > 0:
        rule = f"from {least:g} to {most:g} {unit}"
    return f"{fault} is {value:.6g} {unit}{where}; it must be {rule}", f"Give {fault} in {unit}."


def values(key, vp, vs, rho, where=""):
    """Problems of one triple of values; `where` (with a leading space) tells the place in the
    message.

    Parameters
    ----------
    key : str
        Of the model in the scenario, for messages.
    vp, vs : array_like
        m/s.
    rho : array_like
        kg/m3.
    where : str
    """
    bad = [fault for fault, mask in wrong(*(np.float64(v) for v in (vp, vs, rho))).items() if mask]
    names = {fault: "vs" if fault == "ratio" else fault for fault in bad}
    return [
        Problem(f"{key}.{names[fault]}", *_sentence(fault, vp, vs, rho, where)) for fault in bad
    ]


def points(key, xyz, vp, vs, rho, noun="points"):
    """Problems of many values: one for each kind, with its count and its first place.

    Parameters
    ----------
    key : str
        Key in the scenario that the values come from.
    xyz : tuple of arrays
        Coordinates that broadcast to the shape of the values, metres.
    vp, vs, rho : arrays of one shape
        m/s and kg/m3.
    noun : str
        What is counted.
    """
    problems = []
    if sound(vp, vs, rho):
        return problems
    for error, mask in wrong(vp, vs, rho).items():
        count = int(mask.sum())
        if count:
            first = np.unravel_index(np.argmax(mask), mask.shape)
            x, y, z = (np.broadcast_to(c, mask.shape)[first] for c in xyz)
            where = f" at (x, y, z) = ({x:.10g}, {y:.10g}, {z:.10g}) m"
            message, remedy = _sentence(error, vp[first], vs[first], rho[first], where)
            problems.append(
                Problem(key, f"{message}; {count} of {mask.size} {noun} are affected", remedy)
            )
    return problems
