"""Travel times of phases in any radial model by ObsPy's TauP, and times picked on seismograms to
compare them with.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from craton.io.libraries import library
from craton.model.globe import radial_files


@dataclass(frozen=True)
class Arrival:
    """One phase at one place: distance (degrees), time (s), ray parameter (s/degree), angle from
    the vertical there (degrees).
    """

    phase: str
    distance: float
    time: float
    slowness: float
    incidence: float


@lru_cache(4)
def taup(model):
    """ObsPy's TauPyModel of a RadialModel, written as .nd and built anew (seconds).

    Parameters
    ----------
    model : RadialModel
    """
    library("obspy", "a travel time")
    from obspy.taup import TauPyModel
    from obspy.taup.taup_create import build_taup_model

    with TemporaryDirectory(prefix="craton-taup-") as folder:
        path = Path(folder) / "radial.nd"
        radial_files.write_nd(model, path)
        build_taup_model(str(path), folder, verbose=False)
        return TauPyModel(str(path.with_suffix(".npz")))


def arrivals(model, depth, distance, phases=("p", "P", "s", "S", "PcP", "ScS")):
    """Arrivals at a distance, earliest first.

    Parameters
    ----------
    model : RadialModel
    depth : float
        Of the source, m.
    distance : float
        Degrees at the Earth's centre.
    phases : sequence of str
        Names as TauP has them: p and s leave the source upwards.

    Returns
    -------
    list of Arrival
        A phase with several branches once for each.
    """
    arrivals_ = taup(model).get_travel_times(depth / 1e3, float(distance), list(phases))
    return [
        Arrival(a.name, float(distance), float(a.time), float(a.ray_param_sec_degree), float(a.incident_angle))
        for a in arrivals_
    ]


def curves(model, depth, distances, phases):
    """Travel-time curves: dict of phase to (distances, times), arrays of degrees and s, a nan
    between branches.

    Of a phase with several branches at a distance all are listed, branch by branch in order of
    time.

    Parameters
    ----------
    model : RadialModel
    depth : float
        Of the source, m.
    distances : sequence of float
        Degrees.
    phases : sequence of str
    """
    branches = {}
    for distance in distances:
        times = {}
        for a in arrivals(model, depth, distance, phases):
            times.setdefault(a.phase, []).append(a.time)
        for phase, branch_times in times.items():
            for branch, time in enumerate(branch_times):
                branches.setdefault((phase, branch), []).append((distance, time))
    out = {}
    for (phase, _), rows in sorted(branches.items()):
        out.setdefault(phase, []).append(np.vstack([rows, [[np.nan, np.nan]]]))
    return {phase: np.concatenate(rows)[:-1].T for phase, rows in out.items()}


# --- picks ----------------------------------------------------------------------------------------


def delay(trace, pulse, step, start, window, either=True):
    """Arrival time of a pulse: the lag at which it correlates best with a trace, interpolated
    between samples.

    Parameters
    ----------
    trace : (n,) array
        Seismogram.
    pulse : callable
        The expected pulse at times (s) from the arrival: of displacement the source's moment rate
        (of a force its history), of velocity the derivative of that.
    step, start : float
        s between samples, and time of the first one.
    window : (float, float)
        Arrivals looked for, s.
    either : bool
        Either polarity.

    Returns
    -------
    time : float
        s.
    likeness : float
        Correlation coefficient there, -1 to 1, over the pulse's length.
    """
    trace = np.asarray(trace, float)
    length = _extent(pulse, step)
    shape = pulse(step * np.arange(-length, length + 1))
    first, last = (int(np.floor((window[0] - start) / step)), int(np.ceil((window[1] - start) / step)))
    low, high = max(first - length, 0), min(last + length + 1, len(trace))
    if high - low < len(shape):
        raise ValueError(
            f"the seismogram from {start:g} to {start + step * (len(trace) - 1):g} s does not hold a pulse in {window} s"
        )
    window_trace = trace[low:high]
    product = np.correlate(window_trace, shape, "valid")
    power = np.convolve(window_trace**2, np.ones(len(shape)), "valid")
    likeness = product / np.sqrt(np.maximum(power, 1e-300) * (shape**2).sum())
    best = int(np.argmax(np.abs(product) if either else product))
    return start + step * (low + length + _vertex(np.abs(product) if either else product, best)), float(likeness[best])


def _extent(pulse, step):
    """Return samples on each side of its zero within which a pulse is above 0.1 % of its peak."""
    lag = step * np.arange(-20000, 20001)
    size = np.abs(pulse(lag))
    return int(np.ceil(np.abs(lag[size > 1e-3 * size.max()]).max() / step))


def _vertex(values, n):
    """Place of the top of the parabola through three samples about a maximum."""
    if not 0 < n < len(values) - 1:
        return float(n)
    a, b, c = values[n - 1 : n + 2]
    curve = a - 2 * b + c
    return n + (0.5 * (a - c) / curve if curve < 0 else 0.0)
