"""Gravity fields: Harmonica's names, units and signs, in the order of `enum Field` in prism.h."""

import numpy as np

from craton.conventions import GRAVITY
from craton.text import nearest

G = 6.6743e-11  # m3 kg-1 s-2, CODATA 2018 as in choclo and Harmonica
# z downward
FIELDS = tuple(GRAVITY)
UNITS = {name: unit for name, (unit, _) in GRAVITY.items()}
FROM_SI = {"J/kg": 1.0, "mGal": 1e5, "Eotvos": 1e9}


def ordered(fields):
    """Known fields once each, in the kernels' order.

    Raises
    ------
    ValueError
        If there is none, or a name is unknown, with the nearest valid one.
    """
    fields = (fields,) if isinstance(fields, str) else tuple(fields)
    for name in fields:
        if name not in FIELDS:
            similar = nearest(name, FIELDS)
            hint = f", did you mean {similar!r}?" if similar else ""
            raise ValueError(f"unknown field {name!r}{hint} (fields are {', '.join(FIELDS)})")
    if not fields:
        raise ValueError(f"no field asked for (fields are {', '.join(FIELDS)})")
    return tuple(name for name in FIELDS if name in fields)


def undefined(names, points, values):
    """Return in words where fields have no limit, which and what to do; None where all have one.

    Parameters
    ----------
    names : sequence of str
        Of the fields.
    points : ndarray
        (3, N) x, y, z, m.
    values : ndarray
        (fields, N).
    """
    counts = {name: int(np.isnan(row).sum()) for name, row in zip(names, values)}
    told = [f"{name} at {count}" for name, count in counts.items() if count]
    if not told:
        return None
    first = int(np.isnan(values).any(axis=0).argmax())
    x, y, z = points[:, first]
    return (
        f"nan in {', '.join(told)} of {points.shape[1]} points, which lie on edges or vertices of "
        f"prisms, where these gradients have no limit; the first is point {first} at "
        f"({x:.10g}, {y:.10g}, {z:.10g}) m. Move these points away (by 1 mm, say) or leave them out"
    )


def mask(fields):
    """Return the constant FIELDS of the kernels."""
    return sum(1 << FIELDS.index(name) for name in fields)


def kinds(fields):
    """Which of potential (0), acceleration (1) and gradient (2) are among the fields."""
    return sorted({order(name) for name in fields})


def order(name):
    """Return derivatives of the potential in a field."""
    return 0 if name == "potential" else len(name) - 2


def scale(fields, unit=1.0):
    """Factors from sums over G with lengths in `unit` metres to the fields' units."""
    return np.array([G * FROM_SI[UNITS[name]] * unit ** (2 - order(name)) for name in fields])
