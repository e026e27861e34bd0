"""Records turned from east and north to radial and transverse, receiver by receiver."""

import numpy as np

from craton.conventions import TENSOR, VECTOR
from craton.errors import CratonError
from craton.io.fdsn import RADIAL, sites
from craton.survey.globe import tensors, turned, vectors

LETTERS = str.maketrans("EN", "RT")


def rotated(dataset):
    """Return waveforms with the components R (radial, away from the source), T (transverse, to the
    right of R as seen from above) and Z.

    With the back azimuth b: R = -E sin b - N cos b, T = -E cos b + N sin b, as ObsPy's NE->RT has
    it. Strain and its rate are turned as tensors. In the plane only what moves is left.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`, of one or many shots.

    Returns
    -------
    xarray.Dataset

    Raises
    ------
    CratonError
        The components are R and T already, or the dataset does not say where its source is.
    """
    if "shot" in dataset.dims:
        return _rotated_shots(dataset)
    if any("R" in str(name) for dim in ("component", "tensor") for name in dataset.get(dim, ())):
        raise CratonError("the components are radial and transverse already")
    axes = radial_axes(dataset)
    for dim, turn, labels in (("component", vectors, VECTOR), ("tensor", tensors, TENSOR)):
        if dim in dataset.dims:
            dataset = turned(dataset, dim, turn, labels, axes)
            about = {"long_name": f"{dim} (R radial, T transverse, Z up)"}
            names = [str(name).translate(LETTERS) for name in dataset[dim].values]
            dataset = dataset.assign_coords({dim: (dim, names, about)})
    return dataset


def _rotated_shots(dataset):
    """Return waveforms of many shots, each rotated by itself."""
    import xarray as xr

    of_shots = {name: c for name, c in dataset.coords.items() if "shot" in c.dims}
    parts = [rotated(dataset.sel(shot=name)).drop_vars(list(of_shots)) for name in dataset.shot.values]
    return xr.concat(parts, "shot", combine_attrs="override").assign_coords(of_shots)


def radial_axes(dataset):
    """Radial, transverse and up of each receiver in east, north, up, as columns: (n, 3, 3).

    Parameters
    ----------
    dataset : xarray.Dataset
        Of one shot.

    Raises
    ------
    CratonError
        It does not say where its source is.
    """
    back = [site.back_azimuth for site in sites(dataset)]
    if None in back:
        raise CratonError("radial and transverse count from the source, and the waveforms do not say where it is")
    axes = np.zeros((len(back), 3, 3))
    axes[:, 2, 2] = 1
    for n, letter in enumerate("RT"):
        angle = np.radians(np.asarray(back, float) + RADIAL[letter])
        # exact at multiples of 90 degrees, so that what rests stays at rest
        axes[:, :2, n] = np.round(np.stack([np.sin(angle), np.cos(angle)], axis=1), 15)
    return axes
