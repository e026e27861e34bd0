"""Comparison of computed with observed seismograms: the same traces, filtered and aligned alike, and
their misfits.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.conventions import ORIGIN_TIME
from craton.errors import CratonError, ResourceError
from craton.report import figures
from craton.report.pictures import read_waveforms

CORNERS = 4  # of the Butterworth filter, which runs forwards and backwards
MOST = 24  # traces drawn
LEAST = 16  # samples that two traces have in common


@dataclass(frozen=True)
class Pair:
    """A computed and an observed trace on one time axis, filtered and aligned, and their misfits.

    Parameters
    ----------
    name, component : str
    time : (n,) array
        s after the origin time, of the computed trace.
    computed, observed : (n,) arrays
        The latter moved by `shift`.
    shift : float
        By which the observed trace is late, s.
    misfit : float
        |computed - observed| / |observed|, root of sums of squares.
    correlation : float
        Coefficient, -1 to 1.
    ratio : float
        Of root mean squares, computed over observed.
    """

    name: str
    component: str
    time: np.ndarray
    computed: np.ndarray
    observed: np.ndarray
    shift: float
    misfit: float
    correlation: float
    ratio: float


def compare(out_dir, data, band=None, align=0.0):
    """Return the pairs of traces of a run and of data that have the same station and component:
    list of `Pair`.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run of one shot.
    data : path-like
        MiniSEED, SAC or another file of ObsPy in the unit of the run's first quantity, or the OUT
        directory of another run.
    band : (float, float), optional
        Pass band of both, Hz.
    align : float
        Observed traces are moved by up to so many seconds to where they correlate best.

    Raises
    ------
    CratonError
        There are no waveforms, or no trace is in both.
    """
    waves = read_waveforms(out_dir)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to compare")
    array = waves[next(iter(waves.data_vars))].load()
    observed = traces_of(data, str(waves.attrs.get("origin_time", ORIGIN_TIME)))
    time, parts = array.time.values, figures.components(array)
    codes = waves.station.values if "station" in waves.coords else waves.receiver.values
    pairs = []
    for row, (name, code) in enumerate(zip(array.receiver.values, codes)):
        for component, values in parts.items():
            trace = observed.get((str(name), component)) or observed.get((str(code), component))
            if trace is not None:
                pair = paired(str(name), component, time, values[row], *trace, band, align)
                pairs += [pair] * (pair is not None)
    if not pairs:
        known = ", ".join(sorted({f"{name} {part}" for name, part in observed})[:8])
        raise CratonError(
            f"no trace of {data} has a station, a component and times of {out_dir}; it has {known}"
        )
    return pairs


def traces_of(data, origin_time):
    """Return traces by station and component: dict of (str, str) to (times, samples), s after the
    origin time.

    Parameters
    ----------
    data : path-like
        A file that ObsPy reads, or the OUT directory of a run.
    origin_time : str
        Of the computed waveforms, UTC.
    """
    if (Path(data) / "result.zarr").is_dir():
        waves = read_waveforms(data)
        if waves is None:
            raise CratonError(f"{data} has no waveforms to compare with")
        array = waves[next(iter(waves.data_vars))].load()
        return {
            (str(name), part): (array.time.values, values[row])
            for part, values in figures.components(array).items()
            for row, name in enumerate(array.receiver.values)
        }
    try:
        import obspy
    except ImportError as error:
        words = "seismograms are read by ObsPy; install it with: pip install 'craton[seis]'"
        raise ResourceError(words) from error
    try:
        stream = obspy.read(str(data))
    except (OSError, TypeError, ValueError) as error:
        raise CratonError(f"{data} cannot be read as seismograms: {error}") from error
    origin = obspy.UTCDateTime(origin_time)
    stream.merge(method=1, fill_value=0)
    return {
        (trace.stats.station, trace.stats.channel[-1:]): (
            trace.times() + float(trace.stats.starttime - origin),
            np.asarray(trace.data, float),
        )
        for trace in stream
    }


def paired(name, component, time, computed, times, samples, band=None, align=0.0):
    """Return a `Pair` of two traces on the samples of the computed one that both cover; None where
    they have fewer than sixteen in common, or one is silent.

    Parameters
    ----------
    name, component : str
    time, computed : (n,) arrays
        s, and samples.
    times, samples : (m,) arrays
        The observed trace.
    band, align
        As `compare` takes them.
    """
    step = float(time[1] - time[0])
    computed, samples = (
        filtered(computed, step, band),
        filtered(samples, float(times[1] - times[0]), band),
    )
    inside = (time >= times[0] + align) & (time <= times[-1] - align)
    if inside.sum() < LEAST:
        return None
    from scipy.interpolate import CubicSpline

    observed = CubicSpline(times, samples)
    shift = _shift(time[inside], computed[inside], observed, align, step)
    moved = observed(time[inside] + shift)
    mine, size = computed[inside], float(np.linalg.norm(moved))
    if not size or not np.any(mine):
        return None
    return Pair(
        name,
        component,
        time[inside],
        mine,
        moved,
        shift,
        float(np.linalg.norm(mine - moved)) / size,
        float(mine @ moved) / float(np.linalg.norm(mine)) / size,
        float(np.linalg.norm(mine)) / size,
    )


def filtered(samples, step, band=None):
    """Return samples as double precision, in a pass band without phase shift where one is given.

    Parameters
    ----------
    samples : (n,) array
    step : float
        s.
    band : (float, float), optional
        Hz.

    Raises
    ------
    CratonError
        The band is not below the Nyquist frequency.
    """
    samples = np.nan_to_num(np.asarray(samples, float))
    if band is None:
        return samples
    low, high = band
    if not 0 < low < high < 0.5 / step:
        raise CratonError(
            f"the band {low:g} to {high:g} Hz must rise and end below half the sampling rate, {0.5 / step:g} Hz"
        )
    from scipy.signal import butter, sosfiltfilt

    sections = butter(CORNERS, [low, high], "bandpass", fs=1 / step, output="sos")
    return sosfiltfilt(sections, samples, padlen=min(len(samples) - 1, int(3 / low / step)))


def _shift(time, computed, observed, align, step):
    """Shift within `align` at which two traces correlate best, s, between samples by a parabola."""
    if not align:
        return 0.0
    count = max(int(align / step), 1)
    shifts = np.linspace(-align, align, 2 * count + 1)
    moved = np.stack([observed(time + shift) for shift in shifts])
    size = np.maximum(np.linalg.norm(moved, axis=1), 1e-300)
    value = moved @ computed / size
    best = int(np.argmax(value))
    if not 0 < best < 2 * count:
        return float(shifts[best])
    a, b, c = value[best - 1 : best + 2]
    curve = a - 2 * b + c
    return float(
        shifts[best] + (shifts[1] - shifts[0]) * (0.5 * (a - c) / curve if curve < 0 else 0.0)
    )


def draw(pairs, unit="", title=""):
    """Draw pairs of traces, computed over observed; of many the first `MOST`.

    Parameters
    ----------
    pairs : list of Pair
    unit : str
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    shown = pairs[:MOST]
    with figures.figure(10, 0.9 + 0.85 * len(shown)) as page:
        axes = page.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for axis, pair in zip(axes, shown):
            peak = max(float(np.abs(pair.observed).max()), float(np.abs(pair.computed).max()))
            factor, prefix = figures.prefixed(unit, peak)
            axis.plot(
                pair.time, factor * pair.observed, color="0.25", linewidth=1.5, label="observed"
            )
            axis.plot(
                pair.time, factor * pair.computed, color="#d55e00", linewidth=0.9, label="computed"
            )
            axis.set_ylabel(f"{pair.name} {pair.component}\n({prefix})", fontsize=8)
            words = f"misfit {pair.misfit:.2g}   cc {pair.correlation:.3f}   shift {pair.shift:+.3g} s   ratio {pair.ratio:.2f}"
            axis.text(
                0.995, 0.96, words, transform=axis.transAxes, ha="right", va="top", fontsize=7.5
            )
        axes[0].legend(loc="upper left", frameon=False, ncols=2, fontsize=8)
        axes[-1].set_xlabel("Time (s)")
        left = f", the first {MOST} of {len(pairs)}" if len(pairs) > MOST else ""
        page.suptitle(f"{title}{left}", x=0.012, ha="left", fontsize=12, fontweight="bold")
    return page


def table(pairs):
    """Return misfits of pairs in lines, and their median.

    Parameters
    ----------
    pairs : list of Pair
    """
    width = max(7, *(len(pair.name) for pair in pairs))
    lines = [f"{'station':<{width}}  comp  {'misfit':>8}  {'cc':>7}  {'shift s':>8}  {'ratio':>7}"]
    lines += [
        f"{p.name:<{width}}  {p.component:<4}  {p.misfit:8.3g}  {p.correlation:7.4f}  {p.shift:8.4g}  {p.ratio:7.4g}"
        for p in pairs
    ]
    misfit = np.median([pair.misfit for pair in pairs])
    return "\n".join([*lines, f"{len(pairs)} traces, median misfit {misfit:.3g}"])
