"""The look of figures: type, colours that colour-blind people tell apart, and units with a prefix."""

import math
import re

import numpy as np

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
LINES = ("#0072b2", "#d55e00", "#007a5a", "#cc79a7", "#b8860b", "#56b4e9", "#333333", "#7a5195")  # of curves
INK, GOLD = "#20262e", "#f2c200"
SEA, AIR = "#eaf1f7", "#f2f4f6"
DASHED = (0, (5, 3))
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
    """Return the diverging colour map of wavefields, white at zero."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("craton_waves", _WAVES, N=513)


def clear_colours():
    """Return the colours of `wave_colours`, covering what lies below as little as they can: on white they are the same."""
    from matplotlib.colors import ListedColormap

    on_white = wave_colours()(np.arange(513))[:, :3]
    cover = 1.0 - on_white.min(axis=1, keepdims=True)
    bare = (on_white - (1.0 - cover)) / np.maximum(cover, 1e-6)
    return ListedColormap(np.concatenate([np.clip(bare, 0, 1), cover], axis=1), "craton_clear_waves")


def colour_of(component: str) -> str:
    """Return the colour of a component's traces."""
    return COLOURS.get(component[-1:], INK)


def prefixed(unit: str, peak: float) -> tuple[float, str]:
    """Return the factor and the unit that bring `peak` to between about 1 and 1000, a power of ten where the SI unit
    takes no prefix: ``prefixed("m/s", 0.0031) -> (1000.0, "mm/s")``.
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


def typeset(unit: str) -> str:
    """Return a unit with its exponents raised: ``typeset("m2 s-3") -> "m² s⁻³"``."""
    return re.sub(r"(?<=[A-Za-z])-?\d+", lambda power: raised(power[0]), unit)


def raised(power: int | str) -> str:
    """Return a power as superscripts."""
    return str(power).translate(_RAISED)
