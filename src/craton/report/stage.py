"""What stands still in a film, and the frames laid over it: the pixels of a frame are looked up in a
table of colours of the waves over each colour below them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.report import figures, scales
from craton.report.style import prefixed, wave_colours
from craton.report.underlays import overlay, underlay

DPI = 100
WIDE, MOST, LEAST = 9.6, 8.0, 3.2  # inches: width of a film, largest and smallest height
LEVELS = 513  # colours of the scale
LOOKED_AT = 24  # frames by which the colour scale is chosen
NEAR = 4.0  # times the usual largest value of a frame: a source's next cells are beyond the scale
GLYPHS = "0123456789.-+e ts="


def sample(count):
    """Return numbers of some frames, spread over all: int array."""
    return np.unique(np.linspace(0, count - 1, LOOKED_AT).round().astype(int))


def shared_limit(array):
    """Return the limit of a colour scale for all frames: nearly the largest value of any, but not
    that of the first moments at a source on the plane, many times all others.

    Parameters
    ----------
    array : xarray.DataArray
        (time, rows, columns).
    """
    values = (array.isel(time=int(n)).values for n in sample(array.sizes["time"]))
    limits = [scales.robust_limit(frame) for frame in values if np.nanmax(np.abs(frame), initial=0)]
    return min(max(limits), NEAR * float(np.median(limits))) if limits else 1.0


@dataclass(eq=False)
class Stage:
    """What does not change in a film, and where its frames lie on it.

    Parameters
    ----------
    page : (height, width) uint32 array
        Red, green, blue and opacity, a byte each.
    box : (int, int, int, int)
        Rows and columns of the frame on the page: first and last + 1.
    below : (rows, columns, 3) uint8 array
        What lies under the waves in the box.
    table : (colours below x (values + 1),) uint32 array
        Colours of the waves over each colour below; the last of each is that colour alone.
    first : (rows, columns) int32 array
        Where the colours over a pixel begin in the table.
    over : Over
        Lines and marks over the waves.
    rows, columns : int array
        Point of the snapshot for each row and column of the box.
    limit : float
        Of the colour scale.
    glyphs : dict of str to array
        Pictures of characters.
    clock : (int, int)
        Row and column of the page at which the time stands.
    """

    page: Any
    box: tuple
    below: Any
    table: Any
    first: Any
    over: Any
    rows: Any
    columns: Any
    limit: float
    glyphs: dict
    clock: tuple

    @classmethod
    def set_up(cls, array, scene, out_dir):
        """Draw what does not change.

        Parameters
        ----------
        array : xarray.DataArray
            (time, rows, columns).
        scene : dict
            Of the run, see `craton.report.pictures.scene_of`.
        out_dir : pathlib.Path
        """
        vertical, horizontal = (d for d in array.dims if d != "time")
        limit = shared_limit(array)
        spans = [float(np.ptp(array[d].values)) or 1.0 for d in (vertical, horizontal)]
        tall = float(np.clip(0.78 * WIDE * spans[0] / spans[1] + 1.0, LEAST, MOST))
        below, above, axis = drawn(array, scene, out_dir, limit, tall)
        height, width = below.shape[:2]
        extent = axis.get_window_extent()
        box = (height - round(extent.y1), height - round(extent.y0), round(extent.x0), round(extent.x1))
        rows, columns = (
            points_of(array[d].values, count)
            for d, count in ((vertical, box[1] - box[0]), (horizontal, box[3] - box[2]))
        )
        inside = slice(*box[:2]), slice(*box[2:])
        under = below[inside][..., :3].copy()
        colours, first = shades(under)
        clock = max(box[0] - 26, 2), box[2]
        return cls(
            packed(below[..., :3]),
            box,
            under,
            colours,
            first,
            Over.of(above[inside]),
            rows[::-1],
            columns,
            limit,
            glyphs(),
            clock,
        )

    @property
    def shape(self):
        """Height and width in pixels."""
        return self.page.shape[:2]

    def frame(self, array, number):
        """Return a picture, (height, width, 4) bytes.

        Parameters
        ----------
        array : xarray.DataArray
        number : int
            Of the frame.
        """
        values = array.isel(time=number).values
        return self.painted(values, f"t = {float(array.time[number]):.4g} s")

    def painted(self, values, text):
        """Return the picture of values (rows, columns) with a text.

        Parameters
        ----------
        values : (rows, columns) array
            nan where nothing is.
        text : str
        """
        last = LEVELS - 1
        scaled = np.arcsinh(values * (scales.KNEE / self.limit)) / np.arcsinh(scales.KNEE)
        index = np.clip((np.nan_to_num(scaled) + 1) * (last / 2), 0, last).round().astype(np.int32)
        index[np.isnan(values)] = LEVELS
        at = index.take(self.rows, axis=0).take(self.columns, axis=1)
        at += self.first
        part = self.table.take(at)
        self.over.lay(part)
        page = self.page.copy()
        page[self.box[0] : self.box[1], self.box[2] : self.box[3]] = part
        self.write(page, text)
        return page.view(np.uint8).reshape(*page.shape, 4)

    def write(self, page, text):
        """Write a text on a page at the clock's place."""
        row, column = self.clock
        for letter in text:
            glyph = self.glyphs[letter]
            height, width = glyph.shape
            page[row : row + height, column : column + width] = glyph
            column += width


@dataclass(eq=False)
class Over:
    """Lines and marks over the waves: pixels that they touch.

    Parameters
    ----------
    pixels : (n,) int array
        Of the box, row by row.
    colours : (n, 3) float32 array
        Times their opacity, 0 to 255.
    through : (n, 1) float32 array
        1 - opacity.
    """

    pixels: Any
    colours: Any
    through: Any

    @classmethod
    def of(cls, above):
        """Return what a picture (rows, columns, 4) has that is not transparent."""
        pixels = np.flatnonzero(above[..., 3])
        chosen = above.reshape(-1, 4)[pixels].astype(np.float32)
        opacity = chosen[:, 3:] / 255.0
        return cls(pixels, chosen[:, :3] * opacity, 1.0 - opacity)

    def lay(self, part):
        """Lay them over packed pixels (rows, columns)."""
        flat = part.reshape(-1)
        colours = flat[self.pixels].view(np.uint8).reshape(-1, 4)
        colours[:, :3] = colours[:, :3] * self.through + self.colours + 0.5
        flat[self.pixels] = colours.view(np.uint32).ravel()


def packed(rgb):
    """Return colours (..., 3), a byte each, as whole numbers of four bytes, opaque."""
    four = np.full((*rgb.shape[:-1], 4), 255, np.uint8)
    four[..., :3] = rgb
    return four.view(np.uint32)[..., 0]


def shades(below):
    """Return a table of packed colours of the waves over each colour below, and where in it those
    of each pixel begin.

    Parameters
    ----------
    below : (rows, columns, 3) uint8 array
    """
    kinds, which = np.unique(packed(below), return_inverse=True)
    grounds = kinds.view(np.uint8).reshape(-1, 1, 4)[..., :3]
    colours = np.concatenate([table(), np.zeros((1, 4), np.float32)])
    mixed = grounds * (1.0 - colours[:, 3:]) + colours[:, :3] * colours[:, 3:]
    first = which.reshape(below.shape[:2]).astype(np.int32) * (LEVELS + 1)
    return packed((mixed + 0.5).astype(np.uint8)).ravel(), first


def drawn(array, scene, out_dir, limit, tall):
    """Return the pixels (height, width, 4) of a stage, opaque, those of what lies over the waves,
    and its axes.

    Parameters
    ----------
    array, scene, out_dir
        As of `Stage.set_up`.
    limit : float
    tall : float
        Height, inches.
    """
    vertical, horizontal = (d for d in array.dims if d != "time")
    first = array.isel(time=0)
    with figures.figure(WIDE, tall) as page:
        page.set_dpi(DPI)
        canvas = canvas_of(page)
        axis = page.subplots()
        axis.set_title(" ", loc="left", pad=12)
        axis.set_title(figures.heading(first), loc="right", pad=12)
        axis.set_xlabel(f"{horizontal} ({'easting' if horizontal == 'x' else 'northing'}, km)")
        axis.set_ylabel("Elevation (km)" if vertical == "z" else f"{vertical} (northing, km)")
        edges = [(float(array[d].values[0]) / 1e3, float(array[d].values[-1]) / 1e3) for d in (horizontal, vertical)]
        axis.set(xlim=edges[0], ylim=edges[1], aspect="equal")
        bar(axis, first, limit)
        title = page.suptitle(scene["title"] or out_dir.name, x=0.012, ha="left", fontsize=12)
        underlay(axis, first, out_dir)
        canvas.draw()
        below = np.asarray(canvas.buffer_rgba()).copy()
        page.set_layout_engine("none")  # what is drawn next stays where it is
        hidden = [page.patch, axis.patch, title, *page.axes[1:], *axis.images]
        overlay(axis, first, scene, out_dir)
        for artist in hidden:
            artist.set_visible(False)
        for side in ("left", "right"):
            axis.set_title("", loc=side)
        axis.set_axis_off()
        canvas.draw()
        return below, np.asarray(canvas.buffer_rgba()).copy(), axis


def canvas_of(page):
    """Return the canvas of pixels of a figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return FigureCanvasAgg(page)


def bar(axis, frame, limit):
    """Draw the colour bar of the shared scale."""
    from matplotlib.cm import ScalarMappable

    factor, unit = prefixed(frame.attrs.get("units", ""), limit)
    scale = ScalarMappable(scales.shared_norm(limit * factor), wave_colours())
    drawn_bar = axis.figure.colorbar(scale, ax=axis, fraction=0.03, pad=0.015, extend="both")
    scales.mark_shared(drawn_bar, limit * factor)
    drawn_bar.set_label(f"{figures.label(frame)} ({unit})")
    drawn_bar.outline.set_linewidth(0.5)


def points_of(coordinates, count):
    """Return the nearest point of an axis for each of `count` pixels from its first to its last."""
    at = np.linspace(coordinates[0], coordinates[-1], count)
    nearest = np.searchsorted((coordinates[1:] + coordinates[:-1]) / 2, at)
    return np.clip(nearest, 0, len(coordinates) - 1)


def table():
    """Return colours of a scale, 0 to 255, and how much they cover, 0 to 1: (513, 4) float32.

    On white they are those of `wave_colours`, and they cover as little as that allows.
    """
    colours = wave_colours()
    on_white = colours(np.arange(colours.N))[:, :3]
    cover = 1.0 - on_white.min(axis=1, keepdims=True)
    bare = (on_white - (1.0 - cover)) / np.maximum(cover, 1e-6)
    return np.concatenate([255.0 * bare, cover], axis=1).astype(np.float32)


def glyphs():
    """Return pictures of the characters of the clock: dict of (height, width) packed pixels."""
    wide, count = 0.1, len(GLYPHS)  # inches
    with figures.figure(wide * count, 0.2) as page:
        page.set_dpi(DPI)
        page.set_layout_engine("none")
        canvas = canvas_of(page)
        for n, letter in enumerate(GLYPHS):
            at = (n + 0.5) / count, 0.2
            page.text(*at, letter, ha="center", family="monospace", fontsize=11)
        canvas.draw()
        row = packed(np.asarray(canvas.buffer_rgba())[..., :3])
    return dict(zip(GLYPHS, np.split(row, count, axis=1)))
