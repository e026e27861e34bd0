"""SEG-Y with a property of the Earth in its traces, over depth: velocity models of exploration,
through segyio.
"""

import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, MissingLibrary

MILLI = 1000.0  # a sample interval of 10 000 is 10 m
CDP_X, CDP_Y, SOURCE_X, SOURCE_Y = 181, 185, 73, 77  # bytes of the trace header
SCALAR, DELAY = 71, 109
FUZZ = 1e-3  # of a step: coordinates are whole numbers times a scalar
WIDE = 1e7  # m: a line has the same values on both its sides


@contextmanager
def opened(path, depth_step=None):
    """Open a file.

    Parameters
    ----------
    path : pathlib.Path
    depth_step : float, optional
        Distance of samples, m; by default the sample interval of the file, 1000 being 1 m.

    Yields
    ------
    xarray.Dataset
        One variable, ``value``, over z, y, x (m, z up). The traces of a line along x, or along
        neither axis, are over x; the latter count from the first trace.

    Raises
    ------
    FileError
        segyio is missing, or the file is no such model.
    """
    yield read(path, depth_step)


def read(path, depth_step=None):
    """Read a file: xarray.Dataset, as of `opened`.

    Parameters
    ----------
    path : path-like
    depth_step : float, optional
        As of `opened`.
    """
    from xarray import Dataset

    traces, x, y, interval, delay = _traces(Path(path))
    step = depth_step if depth_step is not None else interval / MILLI
    if not step > 0:
        raise FileError(f"{Path(path).name} states no sample interval", "give the distance of samples: depth_step =")
    axes, order = _grid(x, y, Path(path).name)
    values = traces[order].reshape(*(len(a) for a in axes), -1)  # y, x, z
    if len(axes[0]) == 1:  # a line
        axes, values = (([axes[0][0] - WIDE, axes[0][0] + WIDE], axes[1]), np.repeat(values, 2, axis=0))
    depth = delay + step * np.arange(traces.shape[1])
    field = ("z", "y", "x"), np.moveaxis(values, -1, 0)
    return Dataset({"value": field}, {"z": -depth, "y": axes[0], "x": axes[1]})


def _traces(path):
    """Traces (n, samples), their x and y (m), the sample interval and the delay, as stated."""
    try:
        import segyio
    except ImportError:
        raise MissingLibrary(
            f"{path.name}: SEG-Y models need segyio", "install it: pip install 'craton[segy]'"
        ) from None
    try:
        with warnings.catch_warnings():
            # segyio takes IBM's numbers where it does not know the format, and warns
            warnings.simplefilter("error", UserWarning)
            opened_file = segyio.open(path, strict=False, ignore_geometry=True)
        with opened_file as file:
            scalar = np.asarray(file.attributes(SCALAR)[:], float)
            scale = np.where(scalar < 0, -1 / np.where(scalar, scalar, 1), np.where(scalar, scalar, 1))
            x, y = (file.attributes(byte)[:] * scale for byte in (CDP_X, CDP_Y))
            if not (x.any() or y.any()):
                x, y = (file.attributes(byte)[:] * scale for byte in (SOURCE_X, SOURCE_Y))
            interval = float(file.bin[segyio.BinField.Interval])
            return file.trace.raw[:], x, y, interval, float(file.attributes(DELAY)[0][0])
    except (OSError, RuntimeError, ValueError, IndexError, UserWarning) as error:
        reason = str(error).partition(", falling back")[0][:150]
        raise FileError(f"cannot read {path} as SEG-Y: {reason}") from error


def _grid(x, y, name):
    """Axes (y, x) of the traces, and the order that sorts them by y and then x."""
    if len(x) > 1 and not (np.ptp(x) or np.ptp(y)):
        raise FileError(
            f"{name}: all traces stand at x = {x[0]:g}, y = {y[0]:g} m",
            "write their positions into bytes 181 and 185 of the trace headers",
        )
    along_x, along_y = (_distinct(values) for values in (x, y))
    if len(along_x) * len(along_y) == len(x):
        return (along_y, along_x), np.lexsort((x, y))
    if _on_a_line(x, y):
        distance = np.hypot(x - x[0], y - y[0])
        return (np.zeros(1), np.sort(distance)), np.argsort(distance)
    raise FileError(
        f"{name}: its {len(x)} traces stand neither on a line nor on a grid along x and y "
        f"({len(along_x)} different x, {len(along_y)} different y)",
        "put it on a grid along x and y first",
    )


def _distinct(values):
    """Rising values without repetitions, up to rounding."""
    rising = np.unique(values)
    steps = np.diff(rising)
    return rising[np.concatenate([[True], steps > FUZZ * steps.max(initial=0.0)])]


def _on_a_line(x, y):
    """Whether all positions lie on one line, up to a hundredth of their mean distance."""
    east, north = x - x[0], y - y[0]
    far = int(np.argmax(np.hypot(east, north)))
    length = np.hypot(east[far], north[far])
    across = np.abs(east * north[far] - north * east[far]) / length
    return across.max() <= 0.01 * length / max(len(x) - 1, 1)
