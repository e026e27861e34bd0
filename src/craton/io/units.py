"""Numbers with units: "8 km", "2.67 g/cm3", "1e18 N m" become SI floats, and a wrong dimension is
refused in words.
"""

import math
import re
from decimal import Decimal
from numbers import Real

from craton.errors import InputError
from craton.text import nearest, shown

# Units of each dimension, the SI unit first, spelt without blanks, and how many SI units they are.
# Decimal strings, so that "45 ms" is the float nearest to 0.045 and not 45 * 0.001.
_UNITS = f"""
length: m 1, km 1e3, cm 1e-2, mm 1e-3, ft 0.3048
time: s 1, ms 1e-3, us 1e-6, µs 1e-6, min 60, h 3600
frequency: Hz 1, kHz 1e3, mHz 1e-3, MHz 1e6
velocity: m/s 1, km/s 1e3, cm/s 1e-2, ft/s 0.3048, ms-1 1, kms-1 1e3
density: kg/m3 1, g/cm3 1e3, g/cc 1e3, t/m3 1e3, kgm-3 1, gcm-3 1e3
moment: Nm 1, kNm 1e3, MNm 1e6, dyncm 1e-7, dynecm 1e-7
force: N 1, kN 1e3, MN 1e6, dyn 1e-5
angle: deg 1, degrees 1, ° 1, rad {180 / math.pi!r}
velocity gradient: 1/s 1, s-1 1, m/s/m 1, km/s/km 1, m/s/km 1e-3
density gradient: kg/m4 1, kg/m3/m 1, g/cm3/km 1, kg/m3/km 1e-3
stiffness: Pa 1, kPa 1e3, MPa 1e6, GPa 1e9, N/m2 1, Nm-2 1
ratio: % 1e-2
"""
# How to write the units whose blanks the table leaves out.
_SPELLING = {"Nm": "N m", "kNm": "kN m", "MNm": "MN m", "dyncm": "dyn cm", "dynecm": "dyne cm"}


def _dimension(line):
    name, _, units = line.partition(": ")
    known = dict(unit.split(" ") for unit in units.split(", "))
    si_units = [_SPELLING.get(unit, unit) for unit, factor in known.items() if factor == "1"]
    return name, (si_units[0] if si_units else "", known)


DIMENSIONS = dict(map(_dimension, _UNITS.split("\n")[1:-1]))  # name: (SI unit, {spelling: factor})
# Beyond these no number of its dimension means anything on a planet, in a scenario or in a file: a
# slip of a unit or a digit, of which arrays, or sums of squares in single precision, would overflow.
LARGEST = {
    "length": 1e15,
    "time": 1e10,
    "frequency": 1e10,
    "velocity": 1e6,
    "density": 1e7,
    "moment": 1e30,
    "force": 1e25,
    "stiffness": 1e16,
}
# A positive number below: its square, or what it divides, would overflow.
SMALLEST = {
    "length": 1e-9,
    "time": 1e-12,
    "frequency": 1e-10,
    "velocity": 1e-6,
    "moment": 1e-20,
    "density": 1e-6,
    "stiffness": 1e-6,
}
_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)\s*(.*?)\s*", re.DOTALL)
_SAME = str.maketrans(
    {" ": "", "*": "", "·": "", "⋅": "", "^": "", ".": "", "(": "", ")": "", "²": "2", "³": "3", "⁴": "4", "μ": "µ"}
)


class UnitError(InputError):
    """A value that is not a number of the dimension asked for."""


def si(value, dimension):
    """Return a number in SI units (angles in degrees) from a number or a text with a unit.

    Parameters
    ----------
    value : float, int or str
        A bare number is taken as SI; a text is a number and a unit.
    dimension : str
        One of `DIMENSIONS`.

    Returns
    -------
    float

    Raises
    ------
    UnitError
        When it is no finite number, or its unit is unknown or of another dimension.
    """
    if isinstance(value, str):
        value = _from_text(value, dimension)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UnitError(f"{shown(value)} is not a number", f"write {example(dimension)}")
    if not math.isfinite(value):
        raise UnitError(f"{shown(float(value))} is not a finite number", f"write {example(dimension)}")
    return float(value)


def example(dimension):
    """How a number of this dimension may be written, for remedies.

    Parameters
    ----------
    dimension : str
        One of `DIMENSIONS`.
    """
    unit, known = DIMENSIONS[dimension]
    if not unit:
        return "a plain number"
    other = next((u for u, factor in known.items() if Decimal(factor) != 1), None)
    return f"a number in {unit}" + (f', or a string with its unit such as "1.5 {_spelt(other)}"' if other else "")


def _from_text(text, dimension):
    match = _NUMBER.fullmatch(text)
    if not match:
        raise UnitError(f"{shown(text)} is not a number with a unit", f"write {example(dimension)}")
    number, unit = match.groups()
    number = Decimal(number.replace("_", ""))
    if not unit:
        si_unit = DIMENSIONS[dimension][0]
        also = f', or with its unit, "{number} {si_unit}"' if si_unit else ""
        raise UnitError(
            f"{shown(text)} is a quoted number without a unit", f"write the number without quotes, {number}{also}"
        )
    return float(number * _factor(unit, dimension, text))


def _factor(unit, dimension, text):
    known = DIMENSIONS[dimension][1]
    key = unit.translate(_SAME)
    if key not in known:
        # "N-m" and "dyne-cm" are common; the hyphen of "s-1" is a power and stays.
        key = key.replace("-", "") if key.replace("-", "") in known else key
    if key in known:
        return Decimal(known[key])
    units = ", ".join(_spelt(u) for u in known if not re.search("-1$|-3$", u))
    other = next((name for name, (_, table) in DIMENSIONS.items() if key in table), None)
    if other:
        raise UnitError(f"{shown(text)} is a {other}, but a {dimension} is required", f"units of {dimension}: {units}")
    close = nearest(key, known)
    hint = f'; did you mean "{_spelt(close)}"?' if close else ""
    raise UnitError(f'{shown(text)} has the unknown unit "{unit}"{hint}', f"units of {dimension}: {units}")


def _spelt(unit):
    return _SPELLING.get(unit, unit)
