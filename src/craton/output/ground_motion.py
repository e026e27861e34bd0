"""Ground motion from recorded waveforms: response spectra (the greatest displacement of oscillators on the ground, as
pseudo-spectral acceleration), and radial and transverse components.
"""

from contextlib import suppress

import numpy as np

from craton.conventions import TENSOR, VECTOR
from craton.core.peaks import nigam_jennings
from craton.errors import CratonError
from craton.io.fdsn import RADIAL, sites
from craton.survey.geography import tensors, turned, vectors

ANGLES = np.radians(np.arange(180))  # of the horizontal directions behind RotD50 and RotD100


def oscillator(acceleration, dt, period, damping=0.05):
    """Return the displacement of an oscillator relative to the ground, m.

    Parameters
    ----------
    acceleration : (..., n) array
        Of the ground, m/s2; between samples it changes linearly, before the first it is zero.
    dt : float
        Sampling interval, s.
    period : float
        Without damping, s.
    damping : float
        Share of critical damping.

    Notes
    -----
    Exact for such an acceleration (Nigam and Jennings 1969, Bull. Seism. Soc. Am. 59, 909-922); the
    recursion for displacement and velocity is written as a filter of the displacement alone.
    """
    from scipy.signal import lfilter

    step = nigam_jennings(period, damping, dt)
    (a, b, before_u, after_u), (c, d, before_v, after_v) = step
    rising = [after_u, before_u - d * after_u + b * after_v, b * before_v - d * before_u]
    return lfilter(rising, [1.0, -(a + d), a * d - b * c], np.asarray(acceleration, float))


def response_spectra(velocity, dt, periods, damping=0.05):
    """Return pseudo-spectral accelerations of recorded velocities, m/s2.

    The acceleration is the difference of neighbouring samples; the ground rests before the first.

    Parameters
    ----------
    velocity : (..., components, n) array
        m/s; of three components the first two are east and north.
    dt : float
        Sampling interval, s.
    periods : sequence of float
        s.
    damping : float
        Share of critical damping.

    Returns
    -------
    spectra : (..., components, periods) array
        Of each component.
    rotd50, rotd100 : (..., periods) arrays or None
        Median and greatest over all horizontal directions (Boore 2010, Bull. Seism. Soc. Am. 100,
        1830-1835); None where there are not three components.
    """
    acceleration = np.diff(velocity, axis=-1, prepend=0.0) / dt
    spectra, median, greatest = [], [], []
    for period in periods:
        moved = (2 * np.pi / period) ** 2 * oscillator(acceleration, dt, period, damping)
        spectra.append(np.abs(moved).max(axis=-1))
        if moved.shape[-2] == 3:
            turned = np.array([over_angles(*pair[:2]) for pair in moved.reshape(-1, *moved.shape[-2:])])
            shape = moved.shape[:-2]
            median.append(np.median(turned, axis=-1).reshape(shape))
            greatest.append(np.abs(moved[..., 0, :] + 1j * moved[..., 1, :]).max(axis=-1))
    horizontal = (np.stack(median, -1), np.stack(greatest, -1)) if median else (None, None)
    return np.stack(spectra, -1), *horizontal


def over_angles(east, north):
    """Return the peak of a horizontal motion along each of `ANGLES`: (180,) array.

    Parameters
    ----------
    east, north : (n,) array
    """
    from scipy.spatial import ConvexHull, QhullError

    points = np.stack([east, north], axis=1)
    with suppress(QhullError):  # all on a line
        points = points[ConvexHull(points).vertices]  # a linear function is greatest on the hull
    directions = np.stack([np.cos(ANGLES), np.sin(ANGLES)])
    return np.abs(points @ directions).max(axis=0)


def spectra_of(result, periods, damping=0.05):
    """Return the response spectra of a run's receivers as xarray.Dataset: sa(receiver, component,
    period), rotd50(receiver, period) and rotd100(receiver, period), m/s2.

    Parameters
    ----------
    result : craton.driver.result.Result
    periods : sequence of float
        s.
    damping : float
        Share of critical damping.

    Raises
    ------
    CratonError
        The run recorded no velocity, or has several shots; a period or the damping is impossible.
    """
    periods = np.atleast_1d(np.asarray(periods, float))
    if not (periods > 0).all() or not 0 <= damping < 1:
        raise CratonError("periods must be greater than 0 s, and the damping from 0 to below 1")
    dataset = velocities(result)
    velocity = dataset.velocity
    spectra, median, greatest = response_spectra(
        velocity.transpose("receiver", "component", "time").values, result.plan.dt, periods, damping
    )
    out = (
        dataset.drop_vars("velocity")
        .drop_dims("time")
        .assign_coords(period=("period", periods, {"units": "s", "long_name": "period of the oscillator"}))
    )
    about = {"units": "m/s2", "long_name": f"pseudo-spectral acceleration, damping {damping:g}"}
    out["sa"] = (("receiver", "component", "period"), spectra, about)
    for name, values, noun in (("rotd50", median, "median"), ("rotd100", greatest, "greatest")):
        if values is not None:
            text = f"{about['long_name']}, {noun} over horizontal directions"
            out[name] = (("receiver", "period"), values, about | {"long_name": text})
    return out


def velocities(result):
    """Return the velocities of a run at every step, whatever it stores: xarray.Dataset.

    Parameters
    ----------
    result : craton.driver.result.Result

    Raises
    ------
    CratonError
        There are none.
    """
    if result.plan.shots or not any(c.quantity == "velocity" for c in result.plan.channels):
        raise CratonError(
            "response spectra need the velocities of one shot: list [[receivers]], and a quantity "
            "that is made of velocity in output.waveforms"
        )
    output = result.scenario.output.model_copy(update={"waveforms": ("velocity",), "sampling": None})
    every_step = result.scenario.model_copy(update={"output": output})
    return type(result)(every_step, result.plan, result.samples, result.report, error=result.error).dataset


# --- rotated components -----------------------------------------------------------------------------------------------

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
