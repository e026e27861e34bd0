"""Response spectra of recorded ground motion: the greatest displacement of oscillators on the
ground, as pseudo-spectral acceleration.
"""

from contextlib import suppress

import numpy as np

from craton.core.peaks import nigam_jennings
from craton.errors import CratonError

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
            turned = np.array([over_angles(*pair) for pair in moved.reshape(-1, *moved.shape[-2:])])
            shape = moved.shape[:-2]
            median.append(np.median(turned, axis=-1).reshape(shape))
            greatest.append(np.abs(moved[..., 0, :] + 1j * moved[..., 1, :]).max(axis=-1))
    horizontal = (np.stack(median, -1), np.stack(greatest, -1)) if median else (None, None)
    return np.stack(spectra, -1), *horizontal


def over_angles(east, north, _up=None):
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
