"""Films of snapshots: every frame on one colour scale over the model, the relief or the globe, as
MP4 or GIF.

What does not move is drawn once by matplotlib; a frame is looked up in tables of colours and laid
over it, some milliseconds each.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.report import figures
from craton.report.pictures import read_snapshots, scene_of
from craton.report.style import prefixed, wave_colours
from craton.report.underlays import overlay, underlay

ENDINGS = (".mp4", ".gif")
DPI = 100
WIDE, MOST, LEAST = 9.6, 8.0, 3.2  # inches: width of a film, largest and smallest height
SECONDS = 12.0  # that a film lasts
RATES = (4, 30)  # frames per second
LOOKED_AT = 24  # frames by which the colour scale is chosen
GLYPHS = "0123456789.-+e ts="


def film(out_dir, path, series=None, component=None, rate=None):
    """Write a film of a series of snapshots.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run, also one that goes on.
    path : path-like
        The film, ``.mp4`` or ``.gif``.
    series : str, optional
        Name of the snapshots; by default the first one.
    component : str, optional
        Of the quantity; by default the one with most to see.
    rate : float, optional
        Frames per second; by default such that the film lasts about 12 s.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    CratonError
        There are no such snapshots, no such component, or the ending is unknown.
    ResourceError
        A library is missing, or the film cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise CratonError(f"{path.name}: a film ends in {' or '.join(ENDINGS)}")
    array, scene = plane_over_time(out_dir, series, component)
    stage = Stage.set_up(array, scene, Path(out_dir))
    rate = rate or float(np.clip(array.sizes["time"] / SECONDS, *RATES))
    write(path, (stage.frame(array, n) for n in range(array.sizes["time"])), stage.shape, rate)
    return path


def plane_over_time(out_dir, series=None, component=None):
    """Return the frames of a film, (time, rows, columns), and the scene of the run.

    Parameters
    ----------
    out_dir, series, component
        As of `film`.
    """
    named = {name: ds for name, ds in read_snapshots(out_dir).items() if ds.sizes.get("time")}
    if not named:
        raise CratonError(f"{out_dir} has no snapshots: runs with [[snapshots]] take them")
    if series is not None and series not in named:
        raise CratonError(f"{out_dir} has no snapshots {series}: there are {', '.join(named)}")
    scene = scene_of(out_dir)
    dataset = named[series or next(iter(named))]
    array = dataset[next(iter(dataset.data_vars))]
    if all(axis in array.dims for axis in "xyz"):
        y = scene["sources"][0][1] if scene["sources"] else float(array.y.mean())
        array = array.sel(y=y, method="nearest")
    dim = next((d for d in array.dims if d not in ("time", "x", "y", "z")), None)
    if dim is None:
        return array, scene
    known = [str(name) for name in array[dim].values]
    if component is not None and component not in known:
        raise CratonError(f"there is no component {component}: there are {', '.join(known)}")
    return array.sel({dim: component or liveliest(array, dim)}), scene


def liveliest(array, dim):
    """Return the name of the component with most to see: strong waves, and all over the plane.

    Parameters
    ----------
    array : xarray.DataArray
    dim : str
        Of the components.
    """
    chosen = array.isel(time=sample(array.sizes["time"]))
    score = np.sqrt(np.abs(chosen)).mean([d for d in chosen.dims if d != dim])
    return str(array[dim].values[int(np.nanargmax(score.values))])


def sample(count):
    """Return numbers of some frames, spread over all: int array."""
    return np.unique(np.linspace(0, count - 1, LOOKED_AT).round().astype(int))


def shared_limit(array):
    """Return the limit of a colour scale for all frames: nearly the largest value of any.

    Parameters
    ----------
    array : xarray.DataArray
        (time, rows, columns).
    """
    values = (array.isel(time=int(n)).values for n in sample(array.sizes["time"]))
    limits = [
        figures.robust_limit(frame) for frame in values if np.nanmax(np.abs(frame), initial=0)
    ]
    return max(limits, default=1.0)


@dataclass(eq=False)
class Stage:
    """What does not change in a film, and where its frames lie on it.

    Parameters
    ----------
    page : (height, width, 3) uint8 array
    box : (int, int, int, int)
        Rows and columns of the frame on the page: first and last + 1.
    below : (rows, columns, 3) float32 array
        What lies under the waves in the box, 0 to 255.
    above : (rows, columns, 4) float32 array
        Lines and marks over them: colours times their opacity, and 1 - opacity.
    rows, columns : int array
        Point of the snapshot for each row and column of the box.
    limit : float
        Of the colour scale.
    colours : (n, 4) float32 array
        Colour and opacity of values from -limit to limit.
    glyphs : dict of str to array
        Pictures of characters.
    clock : (int, int)
        Row and column of the page at which the time stands.
    """

    page: Any
    box: tuple
    below: Any
    above: Any
    rows: Any
    columns: Any
    limit: float
    colours: Any
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
        box = (
            height - round(extent.y1),
            height - round(extent.y0),
            round(extent.x0),
            round(extent.x1),
        )
        rows, columns = (
            points_of(array[d].values, count)
            for d, count in ((vertical, box[1] - box[0]), (horizontal, box[3] - box[2]))
        )
        inside = slice(*box[:2]), slice(*box[2:])
        over = above[inside].astype(np.float32)
        over[..., :3] *= over[..., 3:] / 255.0
        over[..., 3] = 1.0 - over[..., 3] / 255.0
        under = below[inside][..., :3].astype(np.float32)
        clock = max(box[0] - 26, 2), box[2]
        page = below[..., :3].copy()
        return cls(page, box, under, over, rows[::-1], columns, limit, table(), glyphs(), clock)

    @property
    def shape(self):
        """Height and width in pixels."""
        return self.page.shape[:2]

    def frame(self, array, number):
        """Return a picture, (height, width, 3) bytes.

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
        last = len(self.colours) - 1
        scaled = np.arcsinh(values * (figures.KNEE / self.limit)) / np.arcsinh(figures.KNEE)
        index = np.clip((np.nan_to_num(scaled) + 1) * (last / 2), 0, last).round().astype(np.int32)
        painted = self.colours[index]
        painted[np.isnan(values), 3] = 0.0
        painted[..., :3] *= painted[..., 3:]
        painted[..., 3] = 1.0 - painted[..., 3]
        at = painted[self.rows[:, None], self.columns]
        part = self.below * at[..., 3:]
        part += at[..., :3]
        part *= self.above[..., 3:]
        part += self.above[..., :3]
        page = self.page.copy()
        page[self.box[0] : self.box[1], self.box[2] : self.box[3]] = part + 0.5
        self.write(page, text)
        return page

    def write(self, page, text):
        """Write a text on a page at the clock's place."""
        row, column = self.clock
        for letter in text:
            glyph = self.glyphs[letter]
            height, width = glyph.shape
            page[row : row + height, column : column + width] = glyph[..., None]
            column += width


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
        edges = [
            (float(array[d].values[0]) / 1e3, float(array[d].values[-1]) / 1e3)
            for d in (horizontal, vertical)
        ]
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
    scale = ScalarMappable(figures.shared_norm(limit * factor), wave_colours())
    drawn_bar = axis.figure.colorbar(scale, ax=axis, fraction=0.03, pad=0.015, extend="both")
    figures.mark_shared(drawn_bar, limit * factor)
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
    """Return pictures of the characters of the clock, black on white: dict of (height, width) uint8."""
    out = {}
    for letter in GLYPHS:
        with figures.figure(0.1, 0.2) as page:
            page.set_dpi(DPI)
            page.set_layout_engine("none")
            canvas = canvas_of(page)
            page.text(0.5, 0.2, letter, ha="center", family="monospace", fontsize=11)
            canvas.draw()
            out[letter] = np.asarray(canvas.buffer_rgba())[..., 0].copy()
    return out


def write(path, pictures, shape, rate):
    """Write pictures (height, width, 3) as a film.

    Parameters
    ----------
    path : pathlib.Path
        Ends in one of `ENDINGS`.
    pictures : iterable of (height, width, 3) uint8 array
    shape : (int, int)
        Height and width of the pictures.
    rate : float
        Frames per second.

    Raises
    ------
    ResourceError
        A library is missing, or the film cannot be written.
    """
    aside = path.with_name(f".{path.name}.{path.suffix[1:]}")
    try:
        if path.suffix.lower() == ".gif":
            write_gif(aside, pictures, rate)
        else:
            write_mp4(aside, pictures, shape, rate)
        aside.replace(path)
    except OSError as error:
        raise ResourceError(f"could not write {path}: {error}") from error
    finally:
        aside.unlink(missing_ok=True)


def write_mp4(path, pictures, shape, rate):
    """Write pictures as H.264, which every browser plays."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise missing("imageio-ffmpeg") from None
    size = tuple(n - n % 2 for n in shape[::-1])  # of 4:2:0
    writer = imageio_ffmpeg.write_frames(
        str(path), size, fps=rate, macro_block_size=2, quality=7, ffmpeg_log_level="error"
    )
    writer.send(None)
    try:
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture[: size[1], : size[0]]))
    finally:
        writer.close()


def write_gif(path, pictures, rate):
    """Write pictures as GIF that starts again."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise missing("imageio") from None
    frames = [picture[::2, ::2] for picture in pictures]
    imageio.imwrite(path, frames, extension=".gif", duration=1000 / rate, loop=0)


def missing(name):
    """Return the error of a library that is missing."""
    return ResourceError(f"films need {name}; install it with: pip install 'craton[film]'")
