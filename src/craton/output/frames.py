"""Frames of snapshots to look at: which plane, component and time of a series, and the limit of a colour scale."""

import numpy as np

from craton.errors import CratonError

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


def component_dim(array):
    """Return the dimension of the components of a plane over time, or None."""
    return next((d for d in array.dims if d not in ("time", "x", "y", "z")), None)


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
