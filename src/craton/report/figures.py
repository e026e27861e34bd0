"""What all figures share: type, colours that colour-blind people tell apart, units with a prefix; the page, titles, panels,
names of quantities, marks of sources and stations.
"""

import math
import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

import numpy as np

from craton.io.libraries import library
from craton.output.dataset import component_dim
from craton.output.snapshots import component_shown

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


# --- the page ---------------------------------------------------------------------------------------------------------

COMPONENT_NAMES = {"E": "East", "N": "North", "Z": "Up", "R": "Radial", "T": "Transverse"}
FRAME = 0.09  # inches around all that a figure shows
MANY = 20  # marks above which they are small
MARKS = {
    "source": {"marker": "*", "s": 150, "color": GOLD, "zorder": 6},
    "station": {"marker": "v", "s": 50, "color": INK, "zorder": 5},
}
_dpi: ContextVar = ContextVar("dpi", default=None)


@contextmanager
def figure(width: float, height: float):
    """Open a matplotlib Figure in the house style, inches, without pyplot and its global list of figures."""
    matplotlib = library("matplotlib", "a figure")
    from matplotlib.ticker import LogFormatter

    with matplotlib.rc_context(STYLE):
        page = _page_class()(figsize=(width, height), layout="constrained")
        # room for tick labels that grow once the axes have their size
        x, y = FRAME / width, FRAME / height
        page.get_layout_engine().set(rect=(x, y, 1 - 2 * x, 1 - 2 * y))
        yield page
        every = [axes for outer in page.axes for axes in (outer, *outer.child_axes)]  # colour bars stand in others
        for axis in (axis for axes in every for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set_major_formatter(_powers())
                axis.set_minor_formatter(_powers(labelOnlyBase=False))


@contextmanager
def resolution(dpi: float):
    """Inside, PNG files have this resolution, pixels per inch, whatever their function asks for."""
    token = _dpi.set(dpi)
    try:
        yield
    finally:
        _dpi.reset(token)


@lru_cache(1)
def _page_class():
    """Return the class of figures: their PNG files are drawn once, where matplotlib draws all once to lay it out and
    once more. What is made while they are drawn has the house style too.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.image import imsave

    class Page(Figure):
        def draw(self, renderer):
            with matplotlib.rc_context(STYLE), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph")  # a box stands for it
                return super().draw(renderer)

        def savefig(self, fname, dpi=None, **options):
            if options.get("format", Path(str(fname)).suffix[1:]) != "png":
                return super().savefig(fname, dpi=dpi, **options)
            if _dpi.get() or dpi:
                self.set_dpi(_dpi.get() or dpi)
            canvas = FigureCanvasAgg(self)
            canvas.draw()
            return imsave(fname, np.asarray(canvas.buffer_rgba()), format="png", dpi=self.dpi)

    return Page


def _powers(**options):
    """Return a formatter of logarithmic axes whose powers are superscripts, not mathematics."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x, pos=None):
            text = super().__call__(x, pos).removeprefix("$\\mathdefault{").removesuffix("}$")
            text = text.replace("\\times", "×")
            return re.sub(r"\^\{([^}]*)\}", lambda power: raised(power[1]), text)

    return Powers(**options)


# --- titles and panels ------------------------------------------------------------------------------------------------


def headline(page, text: str) -> None:
    """Write the title of a figure."""
    page.suptitle(text, x=0.012, ha="left", fontsize=12, fontweight="bold")


def title(axis, left: str, right: str = "") -> None:
    """Write the title of a panel, and in grey what is said beside it."""
    axis.set_title(left, loc="left")
    axis.set_title(right, loc="right", fontsize=8.5, fontweight="normal", color="0.35")


@contextmanager
def panels(count: int, columns: int, width: float, tall: float, margin=0.0, share=True, **options):
    """Open a figure of `count` panels in rows of some columns, each row `tall`, with a margin above, inches; yield the
    page and its axes, by default on common scales. Places that are left over stay blank.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    with figure(width, margin + rows * tall) as page:
        options = {"sharex": share, "sharey": share} | options
        axes = page.subplots(rows, columns, squeeze=False, **options).ravel()
        for axis in axes[count:]:
            axis.set_axis_off()
        yield page, axes[:count]


# --- names ------------------------------------------------------------------------------------------------------------


def components(array) -> dict:
    """Return the values of each component by its name; one entry for pressure and the like."""
    dim = component_dim(array)
    if dim is None:
        return {array.attrs.get("symbol", "P"): array.values}
    values, axis = array.values, array.dims.index(dim)
    return {str(name): values.take(n, axis) for n, name in enumerate(array[dim].values)}


def label(array) -> str:
    """Return the name of a quantity for a title: the first clause of its long name."""
    text = str(array.attrs.get("long_name") or array.name or "").split(",")[0]
    return text[:1].upper() + text[1:]


def heading(frame) -> str:
    """Return quantity and component of a frame: ``Particle velocity, north component``."""
    name = component_shown(frame)
    return label(frame) + (f", {component_name(name)} component" if name else "")


def component_name(name: str) -> str:
    """Return the name of a component within a sentence."""
    return COMPONENT_NAMES[name].lower() if name in COMPONENT_NAMES else name


# --- marks ------------------------------------------------------------------------------------------------------------


def mark(axis, kind: str, across, up, filled=True, **look) -> None:
    """Draw sources as stars or stations as triangles, hollow where they are not `filled`."""
    across, up, filled = (np.atleast_1d(a) for a in np.broadcast_arrays(across, up, filled))
    size = MARKS[kind]["s"] / (2 if len(across) > MANY else 1)
    look = MARKS[kind] | {"s": size, "edgecolors": INK, "linewidths": 0.8} | look
    colour = look.pop("color")
    for rows, fill in ((filled, colour), (~filled, "none")):
        if rows.any():
            axis.scatter(across[rows], up[rows], facecolors=fill, **look)


def mark_on_plane(axis, frame, kind: str, xyz, **look) -> None:
    """Draw positions (n, 3), m, projected on the plane of a frame: hollow where they lie farther from it than a
    thirtieth of its width.
    """
    xyz = np.asarray(xyz, float).reshape(-1, 3)
    if not len(xyz):
        return
    vertical, horizontal = frame.dims
    fixed = next(axis for axis in "xyz" if axis not in frame.dims)
    near = True
    if fixed in frame.coords:
        near = np.abs(xyz[:, "xyz".index(fixed)] - float(frame[fixed])) <= np.ptp(frame[horizontal].values) / 30
    across, up = (xyz[:, "xyz".index(name)] / 1000 for name in (horizontal, vertical))
    mark(axis, kind, across, up, near, clip_on=False, **look)
