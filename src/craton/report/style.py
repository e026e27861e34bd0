"""The look of craton's figures: type, colours that colour-blind people tell apart, and units with a
prefix.
"""

import math
import re

STYLE = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "savefig.dpi": 160,
    "figure.facecolor": "white",
    "text.parse_math": False,  # a dollar in a title or a name is a dollar
}
# Okabe & Ito (2008), by the last letter of the component; P is pressure.
COLOURS = {"E": "#0072b2", "N": "#d55e00", "Z": "#007a5a", "P": "#333333"}
COLOURS |= {"R": COLOURS["E"], "T": COLOURS["N"]}
# Blue through white to red-brown, equal in lightness on both sides.
_WAVES = ("#08254f", "#1f5f9f", "#6fa9d3", "#c9dfee", "#ffffff", "#f6d5bf", "#e08e5e", "#ae4320", "#561404")
_RAISED = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PREFIXES = (
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-2, "c"),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
)


def wave_colours():
    """Diverging colour map for wavefields, white at zero."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("craton_waves", _WAVES, N=513)


def prefixed(unit, peak):
    """Factor and unit that bring `peak` to between about 1 and 1000: ``prefixed("m/s", 0.0031) ->
    (1000.0, "mm/s")``.

    Parameters
    ----------
    unit : str
        SI unit, "m/s", "Pa", "1/s".
    peak : float
        Largest absolute value to show.

    Returns
    -------
    factor : float
        Multiply values by this.
    unit : str
        Unit of the product; a power of ten where the unit takes no prefix.
    """
    if not peak or not math.isfinite(peak):
        return 1.0, typeset(unit)
    if unit and unit[0].isalpha():
        for scale, prefix in _PREFIXES:
            if peak >= scale and (prefix != "c" or unit.startswith("m")):
                return 1 / scale, typeset(prefix + unit)
    power = math.floor(math.log10(peak))
    if -2 <= power <= 3:
        return 1.0, typeset(unit)
    return 10.0**-power, f"10{raised(power)} {typeset(unit)}".removesuffix(" 1").strip()


def typeset(unit):
    """Return a unit with its exponents raised: ``typeset("m2 s-3") -> "m² s⁻³"``.

    Parameters
    ----------
    unit : str
    """
    return re.sub(r"(?<=[A-Za-z])-?\d+", lambda power: raised(power[0]), unit)


def raised(power):
    """Return a power as superscripts.

    Parameters
    ----------
    power : int or str
    """
    return str(power).translate(_RAISED)
