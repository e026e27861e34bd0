"""Which values of Vp, Vs and density a medium may have, and the messages for those it may not."""

import numpy as np

from craton.errors import Problem
from craton.io.units import LARGEST, SMALLEST

NAMES = ("vp", "vs", "rho")
UNITS = ("m/s", "m/s", "kg/m3")
SLOWEST, FASTEST = SMALLEST["velocity"], LARGEST["velocity"]
LIGHTEST, HEAVIEST = SMALLEST["density"], LARGEST["density"]
# A whole model that is slower or lighter, or faster or heavier, has units that were not meant.
SLOW, LIGHT, FAST, HEAVY = 50.0, 100.0, 3e4, 3e4
GAS = 1000.0  # m/s: a fluid below may be as light as air
MEANT = "units"  # key of a model: its numbers are meant in SI units
# vs / vp where Poisson's ratio reaches zero, with room for float32 files
LIMIT = np.sqrt(0.5) * (1 + 1e-6)


def tolerance(*coordinates):
    """Distance, metres, below which two coordinates are the same: rounding of float32 coordinates."""
    return 2e-7 * sum(abs(c) for c in coordinates)


def wrong(vp, vs, rho):
    """Find impossible values: dict of fault -> boolean array. The names are those that `_sentence` knows.

    `vp`, `vs` in m/s; `rho` in kg/m3.
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

    `vp`, `vs` in m/s; `rho` in kg/m3.
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
        return (f"{fault} is not a finite number ({value}){where}", f"Give {fault} a value in {unit}.")
    least, most = (LIGHTEST, HEAVIEST) if fault == "rho" else (SLOWEST, FASTEST)
    rule = "0 (a fluid) or more" if fault == "vs" else "more than 0"
    if value > most or value > 0:
        rule = f"from {least:g} to {most:g} {unit}"
    return f"{fault} is {value:.6g} {unit}{where}; it must be {rule}", f"Give {fault} in {unit}."


def values(key, vp, vs, rho, where=""):
    """Problems of one triple of values; `where` (with a leading space) tells the place in the message.

    `key`: of the model in the scenario, for messages; `vp`, `vs` in m/s; `rho` in kg/m3.
    """
    bad = [fault for fault, mask in wrong(*(np.float64(v) for v in (vp, vs, rho))).items() if mask]
    names = {fault: "vs" if fault == "ratio" else fault for fault in bad}
    return [Problem(f"{key}.{names[fault]}", *_sentence(fault, vp, vs, rho, where)) for fault in bad]


def points(key, xyz, vp, vs, rho, noun="points"):
    """Problems of many values: one for each kind, with its count and its first place.

    `key`: key in the scenario that the values come from; `xyz`: coordinates that broadcast to the shape of the values,
    metres; `vp`, `vs`, `rho` in m/s and kg/m3; `noun`: what is counted.
    """
    problems = []
    if sound(vp, vs, rho):
        return problems
    for fault, mask in wrong(vp, vs, rho).items():

        def words(first, where, fault=fault):
            message, remedy = _sentence(fault, vp[first], vs[first], rho[first], where)
            is_nan = fault in NAMES and np.isnan(dict(zip(NAMES, (vp, vs, rho)))[fault]).all()
            return f"{fault} is nan everywhere" if is_nan else message, remedy

        problems += located(key, xyz, mask, noun, words)
    return problems


def located(key, xyz, wrong, noun, words):
    """Return the problem of some points that are `wrong`, with their count and the place of the first: list of at most
    one Problem.

    Coordinates `xyz` broadcast to the shape of `wrong` in m; `words` gives message and remedy for the index of the
    first and its place in words.
    """
    if not wrong.any():
        return []
    first = np.unravel_index(np.argmax(wrong), wrong.shape)
    x, y, z = (np.broadcast_to(c, wrong.shape)[first] for c in xyz)
    message, remedy = words(first, f" at (x, y, z) = ({x:.10g}, {y:.10g}, {z:.10g}) m")
    return [Problem(key, f"{message}; {wrong.sum()} of {wrong.size} {noun} are affected", remedy)]


class Unlikely(Problem):
    """A problem of values that are possible: others can be looked for as well."""


def unlikely(model, key, parts):
    """Problems of a whole model whose numbers look like km/s and g/cm3, or were multiplied by a thousand too often: of
    its solids; of its fluids where there are none.

    `key`: of the model in the scenario, for messages; `parts` iterable of (vp, vs, rho), m/s and kg/m3.
    """
    if getattr(model, MEANT, None) == "SI":
        return []
    least, most = np.full((2, 3), np.inf), np.full((2, 3), -np.inf)  # of fluids, of solids
    for values in parts:
        solid = np.asarray(values[1]) > 0
        for n, here in enumerate((~solid, solid)):
            least[n] = [min(a, np.min(v, where=here, initial=a)) for v, a in zip(values, least[n])]
            most[n] = [max(a, np.max(v, where=here, initial=a)) for v, a in zip(values, most[n])]
        if (most[1] >= (SLOW, SLOW, LIGHT)).all() and (least[1] <= (FAST, FAST, HEAVY)).all():
            return []
    is_solid = bool(np.isfinite(least[1, 0]))
    if not np.isfinite(least[is_solid * 1, 0]):
        return []
    return [
        problem
        for name, low, high in zip(NAMES, least[is_solid * 1], most[is_solid * 1])
        for problem in _unlikely(name, low, high, is_solid, most[0, 0], key)
    ]


def _unlikely(name, low, high, is_solid, sound, key):
    """Problem of one property of a whole model, of which `low` and `high` are the extremes."""
    is_density = name == "rho"
    unit, large = ("kg/m3", "g/cm3") if is_density else ("m/s", "km/s")
    small, great = (LIGHT, HEAVY) if is_density else (SLOW, FAST)
    if not is_solid and (name == "vs" or (is_density and SLOW <= sound < GAS)):
        return
    values = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
    words = f"{name} is {values} {unit} in the whole model"
    remedy = f'if it is meant, write {MEANT} = "SI" in the model'
    if high < small:
        yield Unlikely(key, f"{words}: is it in {large}?", f'write the unit ("{large}"); {remedy}')
    elif low > great:
        yield Unlikely(key, f"{words}: was a unit applied twice?", f"give it in {unit}; {remedy}")
