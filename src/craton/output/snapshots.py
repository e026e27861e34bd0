"""Snapshots of the wavefield, appended to zarr by a thread of their own while the run goes on, or kept in memory; which
of their planes, components and frames are looked at.
"""

import math
import queue
import threading
from pathlib import Path

import numpy as np

from craton.conventions import DERIVED, QUANTITIES
from craton.errors import CratonError
from craton.integrity import writing
from craton.output.arrays import CHUNK_BYTES, consolidate, create, open_group, write_whole
from craton.output.dataset import COMPONENT_DIMS, cf_dataset, component_dim, coordinate_attributes, global_attributes

DTYPE = np.dtype(np.float32)  # of the numbers in files and in memory
TIME = {"units": "s", "long_name": "time after the origin time"}


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
    """

    def __init__(self, path, depth=3):
        self.path = Path(path)
        self._series = {}
        self._arrays = {}
        self._error = None
        self._reported = False
        self._queue = queue.Queue(maxsize=depth)
        self._thread = threading.Thread(target=self._work, name="snapshots", daemon=True)
        self._thread.start()

    def add_series(self, name, quantities, coords, times, attributes=None, chunk=None, create=True, done=None):
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
        layout = Layout(quantities, coords, times)
        self._series[name] = layout
        layout.frames = done or 0
        if create and done is not None:
            self._queue.put((self._extend, (name,)))
        elif create:
            about = global_attributes(**(attributes or {}))
            self._queue.put((self._create, (name, about, chunk or {})))
        else:
            self._queue.put((self._open, (name,)))

    def settle(self):
        """Wait until all that was asked for is on disk."""
        done = threading.Event()
        self._queue.put((done.set, ()))
        while self._thread.is_alive() and self._error is None and not done.wait(0.1):
            pass
        self._check()

    def put(self, name, time, arrays, region=None):
        """Queue one frame; an error of the thread is raised here or by `close`.

        Parameters
        ----------
        name : str
            A declared series.
        time : float
            Time of the frame, s: one of the series' times.
        arrays : dict or None
            Quantity -> ndarray of shape ([components,] z, y, x), which is not to be changed
            afterwards. None where the whole frame is put by other writers.
        region : tuple of slice, optional
            Which part of the frame's last dimensions they are.
        """
        self._check()
        series = self._series[name]
        index = series.take(time, name)
        if arrays is None:
            return
        expected = {q: _cut(shape, region) for q, (_, shape, _) in series.variables.items()}
        if {q: np.shape(a) for q, a in arrays.items()} != expected:
            raise ValueError(
                f"frame of {name!r} has shapes { {q: np.shape(a) for q, a in arrays.items()} }, not {expected}"
            )
        self._queue.put((self._write, (name, index, arrays, region or ())))

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
        with writing(f"snapshots to {self.path}"):
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

    def _group(self, name):
        return open_group(self.path, "r+", f"snapshots/{name}")

    def _open(self, name):
        """Find the arrays of a group that another writer has laid out."""
        group = self._group(name)
        self._arrays |= {(name, quantity): group[quantity] for quantity in self._series[name].variables}

    def _resize(self, name, count):
        """Change the number of frames of a group: its zarr.Group."""
        group = self._group(name)
        for array in ("time", *self._series[name].variables):
            group[array].resize((count, *group[array].shape[1:]))
        return group

    def _extend(self, name):
        """Give a series that was cut off its full length again."""
        times = self._series[name].times
        self._resize(name, len(times))["time"][...] = times
        self._open(name)
        consolidate(self.path, f"snapshots/{name}")

    def _create(self, name, attributes, chunk):
        """Lay out a group: coordinates with their values, quantities with no chunk yet, each of them for one frame (or a
        slab of a large one).
        """
        layout = self._series[name]
        group = open_group(self.path, "a").require_group(f"snapshots/{name}", overwrite=True)
        group.attrs.update(attributes)
        for label, (dims, values, about) in layout.coordinates.items():
            write_whole(group, label, values, dims, about)
        scalars = " ".join(label for label, (dims, _, _) in layout.coordinates.items() if not dims)
        for quantity, (dims, shape, about) in layout.variables.items():
            chunks = list(shape)
            for axis, dim in enumerate(dims[1:]):
                rest = math.prod(chunks[axis + 1 :]) * DTYPE.itemsize
                chunks[axis] = chunk.get(dim) or max(1, min(chunks[axis], CHUNK_BYTES // rest))
            about = about | ({"coordinates": scalars} if scalars else {})
            shape, chunks = (len(layout.times), *shape), (1, *chunks)
            self._arrays[name, quantity] = create(group, quantity, shape, chunks, DTYPE, dims, about)
        consolidate(self.path, f"snapshots/{name}")

    def _write(self, name, index, frames, region):
        for quantity, values in frames.items():
            self._arrays[name, quantity][(index, ..., *region)] = values

    def _finish(self):
        """Shorten the series of a run that stopped early."""
        short = [name for name, series in self._series.items() if series.frames < len(series.times)]
        for name in short:
            self._resize(name, self._series[name].frames)
        if self._series:
            consolidate(self.path, *(f"snapshots/{name}" for name in short))


class SnapshotMemory:
    """Keeps the frames of a run without a folder; has the verbs of SnapshotWriter."""

    def __init__(self):
        self._series, self._values = {}, {}

    def add_series(self, name, quantities, coords, times, **others):
        """Declare a series; parameters as of `SnapshotWriter.add_series`, of which `others` are for
        files.
        """
        self._series[name] = layout = Layout(quantities, coords, times)
        shapes = {quantity: (len(times), *shape) for quantity, (_, shape, _) in layout.variables.items()}
        self._values[name] = {quantity: np.full(shape, np.nan, DTYPE) for quantity, shape in shapes.items()}

    def put(self, name, time, arrays, region=None):
        """Keep one frame; parameters as of `SnapshotWriter.put`."""
        index = self._series[name].take(time, name)
        for quantity, values in (arrays or {}).items():
            self._values[name][quantity][(index, ..., *(region or ()))] = values

    def datasets(self, attributes):
        """Return the series as xarray.Dataset by name, as far as frames were taken.

        Parameters
        ----------
        attributes : dict
            Of each dataset: title, scenario.
        """
        about, datasets = global_attributes(**attributes), {}
        for name, layout in self._series.items():
            values = self._values[name]
            variables = {q: (dims, values[q], units) for q, (dims, _, units) in layout.variables.items()}
            datasets[name] = cf_dataset(variables, layout.coordinates, about).isel(time=slice(layout.frames))
        return datasets


class Layout:
    """What a series of snapshots has: `times`, s; `coordinates`, (dimensions, values, attributes) by name; `variables`,
    (dimensions, shape of one frame, attributes) by quantity; and the number of `frames` that were taken.

    Parameters
    ----------
    quantities, coords, times
        See `SnapshotWriter.add_series`.
    """

    def __init__(self, quantities, coords, times):
        axes = {axis: np.asarray(values, float) for axis, values in coords.items()}
        dims = tuple(axis for axis, values in axes.items() if values.ndim)
        shape = tuple(axes[axis].size for axis in dims)
        self.times, self.frames, self.variables = np.asarray(times, float), 0, {}
        self.coordinates = {
            axis: ((axis,) if axis in dims else (), values, coordinate_attributes(axis))
            for axis, values in axes.items()
        }
        self.coordinates["time"] = (("time",), self.times, TIME)
        for quantity, components in quantities.items():
            lead = ()
            if len(components) > 1:
                lead = (component_dimension(quantity, components),)
                self.coordinates[lead[0]] = (lead, np.array(tuple(components)), {"long_name": lead[0]})
            _, units, long_name = QUANTITIES.get(quantity) or DERIVED.get(quantity) or ((), "", quantity)
            about = {"units": units, "long_name": long_name}
            sizes = (len(components),) * len(lead) + shape
            self.variables[quantity] = (("time", *lead, *dims), sizes, about)

    def take(self, time, name):
        """Count the frame of a time, s, of the series of this name as taken: its number."""
        index = int(np.abs(self.times - time).argmin()) if len(self.times) else -1
        spacing = np.diff(self.times).min() if len(self.times) > 1 else math.inf
        if index < 0 or abs(self.times[index] - time) > 0.5 * spacing:
            raise ValueError(f"snapshot series {name!r} has no frame at {time:g} s")
        self.frames = max(self.frames, index + 1)
        return index


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


# --- frames to look at ------------------------------------------------------------------------------------------------

LOOKED_AT = 48  # frames by which the component and the colour scale are chosen


def plane_of(dataset, origin=None):
    """Return the first quantity of a series; of a volume its west-east section through the source `origin`, m, or the
    middle; of several shots the first.
    """
    array = dataset[next(iter(dataset.data_vars))]
    if "shot" in array.dims:
        array = array.isel(shot=0)
    if all(axis in array.dims for axis in "xyz"):
        array = array.sel(y=float(array.y.mean()) if origin is None else origin[1], method="nearest")
    return array


def component_shown(frame) -> str:
    """Return the name of the component that was taken of a field; empty where it has none."""
    dims = COMPONENT_DIMS.values()
    return next((str(frame[dim].values) for dim in dims if dim in frame.coords and not frame[dim].ndim), "")


def component_of(array, component=None, preferred=None):
    """Return one component of a plane over time, by default the preferred one or the first."""
    dim = component_dim(array)
    if dim is None:
        return array
    names = [str(name) for name in array[dim].values]
    return array.sel({dim: chosen("component", component, names, preferred)})


def chosen(noun, name, names, preferred=None):
    """Return a name out of some, or the preferred or first one; None where there is none."""
    names = list(names)
    if name is None:
        return preferred if preferred in names else next(iter(names), None)
    if name not in names:
        raise CratonError(f'there is no {noun} "{name}"\n    there are: {", ".join(names) or "none"}')
    return name


def sample(count: int):
    """Return numbers of some frames, spread over all."""
    return np.unique(np.linspace(0, count - 1, LOOKED_AT).round().astype(int))


def liveliest(array):
    """Return the frame of a plane over time with most to see, strong waves and all over the plane, its component over
    time, and numbers of some frames, spread over all, with the peaks of that component in them.
    """
    dim, numbers = component_dim(array), sample(array.sizes["time"])
    space = [d for d in array.dims if d in ("x", "y", "z")]
    thin = tuple(slice(None, None, max(1, array.sizes[d] // 200)) for d in space)
    scores, peaks = [], []
    for number in numbers:
        frame = array.isel(time=int(number)).transpose(..., *space).values
        size = np.nan_to_num(np.abs(frame.reshape(-1, *frame.shape[-len(space) :])))
        peaks.append(size.max(axis=(1, 2), initial=0))
        scores.append(np.cbrt(size[:, *thin]).mean(axis=(1, 2)))
    number, component = np.unravel_index(np.argmax(scores), np.shape(scores))
    series = array.isel({dim: int(component)}) if dim else array
    return series.isel(time=int(numbers[number])), series, numbers, np.array(peaks)[:, component]


def robust_limit(values, percentile=99.7) -> float:
    """Return a symmetric colour limit: a percentile of the absolute values that are not next to nothing; 1 where all
    are zero.
    """
    size = np.abs(values[np.isfinite(values)])
    size = size[size > 1e-3 * size.max(initial=0)]
    return float(np.percentile(size, percentile)) if size.size else 1.0
