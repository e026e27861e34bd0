"""Films of snapshots: every frame on one colour scale over the model, the relief or the globe, as
MP4, GIF or WebP.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.report.pictures import TAKEN, read_snapshots, scene_of
from craton.report.stage import Stage, sample

ENDINGS = (".mp4", ".gif", ".webp")
NAMED = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
SECONDS = 12.0  # that a film lasts
RATES = (4, 30)  # frames per second
PRESET = ("-preset", "veryfast", "-threads", "1")  # of x264: a third of the time at the same size


def film(out_dir, path, series=None, component=None, rate=None, most=None):
    """Write a film of a series of snapshots.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run, also one that goes on.
    path : path-like
        The film, ``.mp4``, ``.gif`` or ``.webp``.
    series : str, optional
        Name of the snapshots; by default the first one.
    component : str, optional
        Of the quantity; by default the one with most to see.
    rate : float, optional
        Frames per second; by default such that the film lasts about 12 s.
    most : int, optional
        Frames; of more an even choice is shown.

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
        raise CratonError(f"{path.name}: a film ends in {NAMED}")
    array, scene = plane_over_time(out_dir, series, component)
    if most is not None and array.sizes["time"] > most:
        shown = np.linspace(0, array.sizes["time"] - 1, most).round().astype(int)
        array = array.isel(time=shown)
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
        raise CratonError(f"{out_dir} has no snapshots: {TAKEN}")
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


def write(path, pictures, shape, rate):
    """Write pictures (height, width, 4) as a film.

    Parameters
    ----------
    path : pathlib.Path
        Ends in one of `ENDINGS`.
    pictures : iterable of (height, width, 4) uint8 array
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
        elif path.suffix.lower() == ".webp":
            write_webp(aside, pictures, rate)
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
    frames = [halved(picture[..., :3]) for picture in pictures]
    imageio.imwrite(path, frames, extension=".gif", duration=1000 / rate, loop=0)


def write_webp(path, pictures, rate):
    """Write pictures as WebP that starts again, a fraction of GIF in size."""
    try:
        from PIL import Image, features
    except ImportError:
        raise missing("pillow") from None
    if not features.check("webp"):
        raise ResourceError("this pillow has no WebP; install it anew, or write .mp4 or .gif")
    first, *others = [Image.fromarray(np.ascontiguousarray(p[..., :3])) for p in pictures]
    look = {"duration": round(1000 / rate), "loop": 0, "method": 0, "quality": 75}
    first.save(path, format="WEBP", save_all=True, append_images=others, **look)


def halved(picture):
    """Return a picture of half the size, each pixel the mean of four.

    Parameters
    ----------
    picture : (height, width, 3) uint8 array
    """
    height, width = (n - n % 2 for n in picture.shape[:2])
    four = picture[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return four.mean(axis=(1, 3), dtype=np.float32).astype(np.uint8)


def missing(name):
    """Return the error of a library that is missing."""
    return ResourceError(f"films need {name}; install it with: pip install 'craton[film]'")
