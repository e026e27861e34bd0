"""What all figures share: the page that they are drawn on, titles, panels, names of quantities, marks of sources and stations."""

import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.report.style import GOLD, INK, STYLE, raised

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
    try:
        import matplotlib
        from matplotlib.ticker import LogFormatter
    except ImportError as error:
        raise ResourceError("figures need matplotlib; install it with: pip install 'craton[plot]'") from error
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


def panels(page, count: int, columns: int, **options):
    """Return `count` axes in rows of some columns; places that are left over stay blank."""
    columns = min(columns, count)
    axes = page.subplots(-(-count // columns), columns, squeeze=False, **options).ravel()
    for axis in axes[count:]:
        axis.set_axis_off()
    return axes[:count]


# --- names ------------------------------------------------------------------------------------------------------------


def components(array) -> dict:
    """Return the values of each component by its name; one entry for pressure and the like."""
    dim = next((d for d in ("component", "tensor") if d in array.dims), None)
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
    name = next((str(frame[d].values) for d in ("component", "tensor") if d in frame.coords and not frame[d].ndim), "")
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
