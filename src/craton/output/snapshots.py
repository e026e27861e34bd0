"""Snapshots of the wavefield, appended to zarr by a thread of their own while the run goes on."""

import math
import queue
import threading
from pathlib import Path

import numpy as np

from craton.conventions import DERIVED, QUANTITIES
from craton.errors import ResourceError
from craton.output.dataset import COMPONENT_DIMS, coordinate_attributes, global_attributes
from craton.output.packing import packed

CHUNK_BYTES = 16 << 20
# Format 2 of zarr: text coordinates and consolidated metadata are part of its specification, so
# every reader takes them without warning.
ZARR_FORMAT = 2


def consolidate(path, group=None):
    """Gather the metadata of the store `path` (of one `group`) into one file, which xarray opens at
    once and without warning.
    """
    import zarr

    zarr.consolidate_metadata(path, path=group, zarr_format=ZARR_FORMAT)


class SnapshotWriter:
    """Writes frames to zarr from a thread of its own, so that the time loop does not wait for the
    disk.

    Each series is the group ``snapshots/NAME``: one variable per quantity over (time, component, z,
    y, x), without the dimensions that the quantity or the plane lacks. All frames are laid out at
    the start (metadata only), and a frame not written reads as NaN: whenever the program is killed,
    the group opens, with the frames written so far. `close` cuts off what was not written.

    Parameters
    ----------
    path : path-like
        The zarr store, ``OUT/result.zarr``; created when missing.
    depth : int
        Frames that may wait; `put` blocks when more do.
    told : callable, optional
        Called with the name of a series and the number of its frames whenever one is put.
    """

    def __init__(self, path, depth=3, told=None):
        self.path, self.told = Path(path), told
        self._series = {}
        self._arrays = {}
        self._error = None
        self._reported = False
        self._queue = queue.Queue(maxsize=depth)
        self._thread = threading.Thread(target=self._work, name="snapshots", daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def add_series(
        self, name, quantities, coords, times, dtype="float32", attributes=None, chunk=None, create=True, done=None
    ):
        """Declare the series ``snapshots/NAME``; its arrays are created by the thread.

        Parameters
        ----------
        name : str
            Name of the group.
        quantities : dict
            Quantity -> its components, ``{"velocity": ("E", "N", "Z"), "pressure": ()}``.
        coords : dict
            Coordinates in memory order (z, y, x): an array for each dimension, a number for the
            axis that the plane cuts.
        times : array_like
            Times of all frames to come, s.
        dtype : str
            Type of the numbers in the file.
        attributes : dict, optional
            Attributes of the group (title, scenario, ...).
        chunk : dict, optional
            Points of a chunk along axes that several writers share: each of them then puts whole
            chunks.
        create : bool
            False where another writer, whose `settle` has come back, has created it.
        done : int, optional
            Of a run that goes on: frames that were taken; the series is there.
        """
        self._check()
        axes = {axis: np.asarray(values, float) for axis, values in coords.items()}
        dims = tuple(axis for axis, values in axes.items() if values.ndim)
        shape = tuple(axes[axis].size for axis in dims)
        shapes = {
            q: ((len(components),) if len(components) > 1 else ()) + shape for q, components in quantities.items()
        }
        self._series[name] = {"times": np.asarray(times, float), "shapes": shapes, "frames": done or 0}
        components = {q: tuple(c) if len(c) > 1 else () for q, c in quantities.items()}
        if create and done is not None:
            self._queue.put((self._extend, (name, components)))
        elif create:
            about = global_attributes(**(attributes or {}))
            self._queue.put((self._create, (name, components, axes, dims, dtype, about, chunk or {})))
        else:
            self._queue.put((self._open, (name, components)))

    def settle(self):
        """Wait until all that was asked for is on disk."""
        done = threading.Event()
        self._queue.put((done.set, ()))
        while self._thread.is_alive() and self._error is None and not done.wait(0.1):
            pass
        self._check()

    def put(self, name, time, arrays, copy=True, region=None):
        """Queue one frame; an error of the thread is raised here or by `close`.

        Parameters
        ----------
        name : str
            A declared series.
        time : float
            Time of the frame, s: one of the series' times.
        arrays : dict or None
            Quantity -> ndarray of shape ([components,] z, y, x). None where the whole frame is put
            by other writers.
        copy : bool
            False where the arrays are the caller's to give away: they are not to be changed
            afterwards.
        region : tuple of slice, optional
            Which part of the frame's last dimensions they are.
        """
        self._check()
        series = self._series[name]
        index = frame_number(series["times"], time, name)
        series["frames"] = max(series["frames"], index + 1)
        if self.told:
            self.told(name, series["frames"])
        if arrays is None:
            return
        expected = {q: _cut(shape, region) for q, shape in series["shapes"].items()}
        if {q: np.shape(a) for q, a in arrays.items()} != expected:
            raise ValueError(
                f"frame of {name!r} has shapes { {q: np.shape(a) for q, a in arrays.items()} }, not {expected}"
            )
        frames = {q: np.array(a) if copy else np.asarray(a) for q, a in arrays.items()}
        self._queue.put((self._write, (name, index, frames, region or ())))

    def close(self, last=True):
        """Wait for the frames that were put, cut off those that never came (the `last` writer
        does), and raise what went wrong since.
        """
        if self._thread.is_alive():
            if last:
                self._queue.put((self._finish, ()))
            self._queue.put(None)
            self._thread.join()
        if not self._reported:
            self._check()

    def _check(self):
        if self._error is None:
            return
        self._reported = True
        if isinstance(self._error, OSError):
            reason = self._error.strerror or self._error
            raise ResourceError(f"could not write snapshots to {self.path}: {reason}") from self._error
        raise self._error

    def _work(self):
        """Do one job of the thread after another; after an error only empty the queue, so that
        nobody waits for ever.
        """
        while (job := self._queue.get()) is not None:
            function, arguments = job
            if self._error is None:
                try:
                    function(*arguments)
                except Exception as error:  # handed to the caller by _check, whatever it is
                    self._error = error

    def _open(self, name, quantities):
        """Find the arrays of a group that another writer has laid out."""
        import zarr

        group = zarr.open_group(
            self.path, path=f"snapshots/{name}", mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False
        )
        for quantity in quantities:
            self._arrays[name, quantity] = group[quantity]

    def _extend(self, name, quantities):
        """Give a series that was cut off its full length again."""
        self._open(name, quantities)
        import zarr

        group = zarr.open_group(
            self.path, path=f"snapshots/{name}", mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False
        )
        times = self._series[name]["times"]
        for array in (group["time"], *(self._arrays[name, quantity] for quantity in quantities)):
            array.resize((len(times), *array.shape[1:]))
        group["time"][...] = times
        consolidate(self.path, f"snapshots/{name}")
        consolidate(self.path)

    def _create(self, name, quantities, axes, dims, dtype, attributes, chunk):
        """Lay out a group: coordinates with their values, quantities with no chunk yet."""
        import zarr

        times = self._series[name]["times"]
        group = zarr.open_group(self.path, mode="a", zarr_format=ZARR_FORMAT).require_group(
            f"snapshots/{name}", overwrite=True
        )
        group.attrs.update(attributes)
        for axis, values in axes.items():
            _coordinate(group, axis, values, (axis,) if axis in dims else (), coordinate_attributes(axis))
        _coordinate(group, "time", times, ("time",), {"units": "s", "long_name": "time after the origin time"})
        cut = " ".join(axis for axis in axes if axis not in dims)
        for quantity, components in quantities.items():
            lead = ("time",)
            if components:
                lead += (component_dimension(quantity, components),)
                if lead[1] not in group:
                    _coordinate(group, lead[1], np.array(components), lead[1:], {"long_name": lead[1]})
            shape = (len(times), *self._series[name]["shapes"][quantity])
            self._arrays[name, quantity] = _quantity(group, quantity, shape, lead + dims, dtype, cut, chunk)
        consolidate(self.path, f"snapshots/{name}")
        consolidate(self.path)

    def _write(self, name, index, frames, region):
        for quantity, values in frames.items():
            self._arrays[name, quantity][(index, ..., *region)] = values

    def _finish(self):
        """Shorten the series of a run that stopped early."""
        import zarr

        for name, series in self._series.items():
            if series["frames"] < len(series["times"]):
                group = zarr.open_group(
                    self.path, path=f"snapshots/{name}", mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False
                )
                for array in ["time", *series["shapes"]]:
                    group[array].resize((series["frames"], *group[array].shape[1:]))
                consolidate(self.path, f"snapshots/{name}")
        if self._series:
            consolidate(self.path)


def read_series(out, name):
    """Return a series of snapshots of a run, opened: xarray.Dataset.

    Parameters
    ----------
    out : path-like
        The directory OUT.
    name : str
    """
    import xarray as xr

    return xr.open_zarr(Path(out) / "result.zarr", group=f"snapshots/{name}")


def component_dimension(quantity, components):
    """Return the name of the dimension of a quantity's components: str.

    Parameters
    ----------
    quantity : str
    components : sequence of str
    """
    known = (dim for whole, dim in COMPONENT_DIMS.items() if set(components) <= set(whole))
    return next(known, f"component_{quantity}")


def _cut(shape, region):
    """Shape of a part of a frame."""
    if not region:
        return shape
    return (*shape[: len(shape) - len(region)], *(s.stop - s.start for s in region))


def frame_number(times, time, name):
    """Return the index of the frame at a time of a series.

    Parameters
    ----------
    times : (n,) array
        Of the series, s.
    time : float
    name : str
        Of the series.

    Raises
    ------
    ValueError
        The series has no frame within half a frame of that time.
    """
    index = int(np.abs(times - time).argmin()) if len(times) else -1
    spacing = np.diff(times).min() if len(times) > 1 else math.inf
    if index < 0 or abs(times[index] - time) > 0.5 * spacing:
        raise ValueError(f"snapshot series {name!r} has no frame at {time:g} s")
    return index


def _coordinate(group, name, values, dims, attributes):
    """Write a coordinate with its values, as xarray does."""
    array = group.create_array(
        name,
        shape=values.shape,
        chunks=tuple(max(n, 1) for n in values.shape),
        dtype=values.dtype,
        fill_value=None,
        attributes={"_ARRAY_DIMENSIONS": list(dims), **attributes},
        **packed(),
    )
    array[...] = values


def _quantity(group, name, shape, dims, dtype, cut, chunk):
    """Return an empty array of frames, a chunk for each frame (or for slabs of a large one); `cut`
    names its scalar coordinates.
    """
    _, units, long_name = QUANTITIES.get(name) or DERIVED.get(name) or ((), "", name)
    chunks = list(shape)
    for axis, dim in enumerate(dims):
        if dim in chunk:
            chunks[axis] = chunk[dim]
            continue
        rest = math.prod(chunks[axis + 1 :]) * np.dtype(dtype).itemsize
        chunks[axis] = 1 if axis == 0 else max(1, min(chunks[axis], CHUNK_BYTES // rest))
    attributes = {"_ARRAY_DIMENSIONS": list(dims), "units": units, "long_name": long_name} | (
        {"coordinates": cut} if cut else {}
    )
    return group.create_array(
        name, shape=shape, chunks=tuple(chunks), dtype=dtype, fill_value=np.nan, **packed(), attributes=attributes
    )
