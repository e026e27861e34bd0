"""Films of snapshots: every frame on one colour scale over the model, the relief or the globe, as
MP4, GIF or WebP.
"""

from itertools import chain
from pathlib import Path

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.io.libraries import library, written
from craton.output.snapshots import chosen, component_of, liveliest, plane_of, robust_limit, sample
from craton.report import figures, rasters, wavefield
from craton.report.figures import clear_colours
from craton.report.wavefield import TAKEN, draw_snapshot

ENDINGS = (".mp4", ".gif", ".webp")
NAMED = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
SECONDS = 12.0  # that a film lasts
RATES = (4, 30)  # frames per second
DPI = 100
WIDE, MOST, LEAST = 9.6, 8.0, 3.2  # inches: width of a film, largest and smallest height
NEAR = 4.0  # times the usual largest value of a frame: a source's next cells are beyond the scale
PRESET = ("-f", "mp4", "-preset", "veryfast", "-threads", "1")  # of x264: a third of the time at the same size


def film(run, path, series=None, component=None, rate=None, most=None):
    """Write a film of a series of snapshots of a run, also one that goes on, and return its path, which ends in one of
    `ENDINGS`.

    By default it is the first series and the component with most to see, at such a rate, frames per second, that the
    film lasts about 12 s; of more frames than `most` an even choice is shown.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise CratonError(f"{path.name}: a film ends in {NAMED}")
    array = plane_over_time(run, series, component)
    if most is not None and array.sizes["time"] > most:
        array = array.isel(time=np.linspace(0, array.sizes["time"] - 1, most).round().astype(int))
    rate = rate or float(np.clip(array.sizes["time"] / SECONDS, *RATES))
    with written(path) as aside:
        if path.suffix.lower() == ".mp4":
            write_mp4(aside, images(array, run), rate)
        else:
            write_moving_image(aside, images(array, run), rate, path.suffix[1:].upper())
    return path


def plane_over_time(run, series=None, component=None):
    """Return the frames of a film: (time, rows, columns)."""
    if not run.snapshots:
        raise CratonError(f"{run.out} has no snapshots: {TAKEN}")
    array = plane_of(run.snapshots[chosen("series of snapshots", series, run.snapshots)], run.origin)
    return liveliest(array)[1] if component is None else component_of(array, component)


def shared_limit(array) -> float:
    """Return the limit of a colour scale for all frames (time, rows, columns): nearly the largest value of any, but not
    that of the first moments at a source on the plane, many times all others.
    """
    values = (array.isel(time=int(n)).values for n in sample(array.sizes["time"]))
    limits = [robust_limit(frame) for frame in values if np.nanmax(np.abs(frame), initial=0)]
    return min(max(limits), NEAR * float(np.median(limits))) if limits else 1.0


def images(array, run, limit=None):
    """Yield the pictures (height, width, 4) of a film, bytes: what stands still is drawn once, the waves, what lies
    over them, and the time for each.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    limit = limit or shared_limit(array)
    array = evenly_spaced(array)
    first = array.isel(time=0).load()
    tall = 0.78 * WIDE * rasters.aspect(first, *first.dims) + 1.0
    with figures.figure(WIDE, float(np.clip(tall, LEAST, MOST))) as page:
        page.set_dpi(DPI)
        axis, canvas = page.subplots(), FigureCanvasAgg(page)
        options = {"limit": limit, "is_shared": True, "colours": clear_colours()}
        image, words = draw_snapshot(axis, first, run.sources, (), run.interfaces, **options)
        figures.headline(page, run.title)
        figures.title(axis, "", figures.heading(first))
        rasters.mark_shared(rasters.colour_bar(image, [axis], words, "both"), image.norm.vmax)
        wavefield.draw_ground(axis, first, run)
        clock = axis.set_title("t = 0 s", loc="left")
        moving = sorted([image, *axis.lines, *axis.collections, *axis.texts, clock], key=lambda part: part.zorder)
        for part in moving:
            part.set_animated(True)  # drawn by hand
        wavefield.underlay(axis, first, run)
        canvas.draw()
    still, factor = canvas.copy_from_bbox(page.bbox), image.norm.vmax / limit
    for frame in array:
        image.set_data(image.to_rgba(np.ma.masked_invalid(frame.values * factor), bytes=True))
        clock.set_text(f"t = {float(frame.time):.4g} s")
        canvas.restore_region(still)
        for part in moving:
            part.draw(canvas.get_renderer())
        yield np.asarray(canvas.buffer_rgba()).copy()


def evenly_spaced(array):
    """Return frames at evenly spaced points, each that of the nearest point where they are not."""
    uneven = [dim for dim in array.dims[1:] if not rasters.is_even(array[dim].values)]
    ends = {dim: (array[dim].values[0], array[dim].values[-1]) for dim in uneven}
    return array.sel({dim: np.linspace(*ends[dim], array.sizes[dim]) for dim in uneven}, method="nearest")


def write_mp4(path, pictures, rate):
    """Write pictures (height, width, 4), bytes, as so many frames per second of H.264, which every browser plays."""
    imageio_ffmpeg = library("imageio_ffmpeg", "a film")
    first = next(pictures)
    size = tuple(n - n % 2 for n in first.shape[1::-1])  # of 4:2:0
    writer = imageio_ffmpeg.write_frames(
        str(path),
        size,
        pix_fmt_in="rgba",
        fps=rate,
        macro_block_size=2,
        quality=7,
        ffmpeg_log_level="error",
        output_params=list(PRESET),
    )
    writer.send(None)
    try:
        for picture in chain([first], pictures):
            writer.send(np.ascontiguousarray(picture[: size[1], : size[0]]))
    finally:
        writer.close()


def write_moving_image(path, pictures, rate, kind):
    """Write pictures as "GIF", at half of their size, or "WEBP", a fraction of that in bytes; both start again."""
    from PIL import Image, features

    is_gif = kind == "GIF"
    if not is_gif and not features.check("webp"):
        raise ResourceError("this pillow has no WebP; install it anew, or write .mp4 or .gif")
    first, *others = [
        Image.fromarray(halved(p[..., :3]) if is_gif else np.ascontiguousarray(p[..., :3])) for p in pictures
    ]
    look = {} if is_gif else {"method": 0, "quality": 75}
    first.save(path, kind, save_all=True, append_images=others, duration=round(1000 / rate), loop=0, **look)


def halved(picture):
    """Return a picture (height, width, 3), bytes, at half of its size, each pixel the mean of four."""
    height, width = (n - n % 2 for n in picture.shape[:2])
    four = picture[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return four.mean(axis=(1, 3), dtype=np.float32).astype(np.uint8)
