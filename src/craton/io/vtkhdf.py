"""VTKHDF (version 2): snapshots over time, which ParaView and PyVista open.

Format: docs.vtk.org, "VTKHDF file format". Snapshots are temporal ImageData, arrays
(time, z, y, x[, component]).
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.io.libraries import library, written

VERSION = (2, 2)
ENDING = ".vtkhdf"
UNIFORM = 1e-6  # of the spacing, by which coordinates of an image may differ from a uniform axis


def write_snapshots(dataset, path):
    """Write a series of snapshots, ``quantity(time[, component], z, y, x)``, as images over time and return the path, which
    ends in ``.vtkhdf``; axes that a plane cuts are scalar coordinates. Raises CratonError where the points of an axis are
    not equally far apart, or there is nothing to write.
    """
    if not dataset.data_vars or not dataset.sizes.get("time"):
        raise CratonError("there are no snapshots to write")
    # VTK reads flat images only where the third axis is flat: the axis that a plane cuts comes
    # last.
    axes = sorted("xyz", key=lambda axis: (axis not in dataset.dims, axis))
    rows = [_uniform(dataset, axis) for axis in axes]
    counts = [count for *_, count in rows]

    path = Path(path)
    if path.suffix != ENDING:
        raise CratonError(f"the name of a VTKHDF file ends in {ENDING}, not {path.name}")
    h5py = library("h5py", f"writing {path.name}")
    with written(path) as partial, h5py.File(partial, "w") as file:
        root = file.create_group("VTKHDF", track_order=True)
        root.attrs["Version"] = np.array(VERSION, np.int64)
        root.attrs["Type"] = np.bytes_("ImageData")
        extent = [limit for count in counts for limit in (0, count - 1)]
        root.attrs["WholeExtent"] = np.array(extent, np.int64)
        root.attrs["Origin"] = np.array([_uniform(dataset, axis)[0] for axis in "xyz"])
        root.attrs["Spacing"] = np.array([spacing for _, spacing, _ in rows])
        root.attrs["Direction"] = np.eye(3)[["xyz".index(axis) for axis in axes]].T.ravel()
        fields = root.create_group("PointData")
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = dataset.sizes["time"]
        steps["Values"] = dataset.time.values.astype(float)
        offsets = steps.create_group("PointDataOffsets")
        for name, array in dataset.data_vars.items():
            for label, values in _images(array):
                _copy_images(fields, f"{name}{label}", values, counts)
                offsets[f"{name}{label}"] = np.arange(dataset.sizes["time"])
    return path


def _uniform(dataset, axis):
    """Return origin (m), spacing (m) and number of points along an axis, which must be equally far apart; 1 point where a
    plane cuts it.
    """
    if axis not in dataset.dims:
        return (float(dataset[axis]) if axis in dataset.coords else 0.0), 1.0, 1
    points = np.asarray(dataset[axis].values, float)
    steps = np.diff(points)
    if not steps.size:
        return points[0], 1.0, 1
    if not steps[0] or np.abs(steps - steps.mean()).max() > UNIFORM * abs(steps.mean()):
        raise CratonError(
            f"the points along {axis} are {steps.min():g} to {steps.max():g} m apart; images need "
            "one distance: interpolate with xarray's .interp first"
        )
    return points[0], float(steps.mean()), len(points)


def _images(array):
    """Yield (suffix of the name, array (time, ..., [component])) of what an image can hold: vectors are one array of three
    components, other components are arrays of their own.
    """
    dim = next((d for d in array.dims if d not in ("time", "x", "y", "z")), None)
    space = ("time", *(axis for axis in "zyx" if axis in array.dims))
    if dim is None:
        yield "", array.transpose(*space)
    elif array.sizes[dim] == 3:
        yield "", array.transpose(*space, dim)
    else:
        for name in array[dim].values:
            yield f"_{name}", array.sel({dim: name}).transpose(*space)


def _copy_images(group, name, array, counts):
    """Copy frames (time, ..., [component]) one by one into a group: a series may be larger than the memory. `counts` are
    points along the axes of the image, the fastest one first.
    """
    parts = array.shape[-1:] if array.dims[-1] not in ("time", "x", "y", "z") else ()
    flat = counts[2] == 1  # VTK: a flat image has arrays of one dimension less
    shape = (*(counts[1::-1] if flat else counts[::-1]), *parts)
    out = group.create_dataset(name, (array.sizes["time"], *shape), np.float32, chunks=(1, *shape))
    for n in range(array.sizes["time"]):
        out[n] = array.isel(time=n).values.reshape(shape)
