"""Signals: spectra, spectrograms, particle motion, and of lines of receivers the dispersion images by which
surface waves are told.
"""

import numpy as np

from craton.errors import CratonError, refuse
from craton.report import figures, rasters
from craton.report.figures import COMPONENT_NAMES, colour_of, component_name, prefixed, typeset
from craton.report.traces import component_of, direction_of

RANGE = 50.0  # dB shown by default
POINTS = 240  # wavenumbers and velocities of an image
STRAIGHT = 0.02  # of its length, that receivers of a line may lie off it
LEAST = 6  # receivers of a line


def spectrogram(run, station=None, component=None, db=RANGE):
    """Draw the trace of one station, by default the first, and its spectrogram down to so many dB below the largest value."""
    array = run.waveforms
    row, (traces, name), time = station_of(array, station), component_of(array, component), array.time.values
    trace = traces[row]
    frequency, moments, level = levels(trace, float(time[1] - time[0]))
    with figures.figure(9.5, 5.6) as page:
        top, low = page.subplots(2, 1, sharex=True, height_ratios=[1, 2.4])
        factor, unit = prefixed(array.attrs.get("units", ""), float(np.abs(trace).max(initial=0)))
        top.plot(time, trace * factor, color=colour_of(name), linewidth=0.9)
        top.set_ylabel(unit)
        words = f"Station {array.receiver.values[row]}: {figures.label(array).lower()}, {component_name(name)}"
        figures.title(top, words)
        image = rasters.draw_cells(low, time[0] + moments, frequency, level, cmap="magma", vmin=-db, vmax=0)
        rasters.colour_bar(image, [low], "Power (dB below the largest)")
        high = highest(frequency, (level > -db).any(axis=1))
        low.set(xlabel="Time (s)", ylabel="Frequency (Hz)")
        low.set(xlim=(time[0], time[-1]), ylim=(0, min(1.2 * high, frequency[-1])))
    return page


def levels(trace, step, periods=4.0):
    """Return the spectrogram of a trace (n,) in dB below its largest value: frequencies, Hz, times from its first
    sample, s, and levels (frequencies, times), in windows of so many periods of its mean frequency.
    """
    from scipy.signal import ShortTimeFFT

    frequency = np.fft.rfftfreq(len(trace), step)
    power = np.abs(np.fft.rfft(tapered(trace))) ** 2
    mean = float((frequency * power).sum() / max(float(power.sum()), 1e-300))
    longest = max(len(trace) // 4, min(16, len(trace)))
    length = int(np.clip(periods / max(mean * step, 1e-12), min(16, longest), longest))
    transform = ShortTimeFFT.from_window(
        "hann", 1 / step, length, length * 15 // 16, fft_mode="onesided", mfft=4 * length
    )
    power, times = transform.spectrogram(trace), transform.t(len(trace))
    inside = (times >= 0) & (times <= step * (len(trace) - 1))
    power = power[:, inside]
    top = max(float(power.max(initial=0)), 1e-300)
    return transform.f, times[inside], 10 * np.log10(np.maximum(power / top, 1e-30))


def highest(frequency, shown):
    """Return the highest frequency that is shown, of all where none is."""
    places = np.flatnonzero(shown)
    return frequency[places[-1] if len(places) else -1]


def tapered(traces, part=0.05):
    """Return traces (..., n) that fade over a part of their length at the end, without their first value: what a record
    cuts off is no jump.
    """
    count = max(int(part * traces.shape[-1]), 1)
    window = np.ones(traces.shape[-1])
    window[-count:] = 0.5 * (1 + np.cos(np.pi * (np.arange(count) + 1) / count))
    return (traces - traces[..., :1]) * window


def spectra(run, db=RANGE + 30):
    """Draw amplitude spectra of each component at all receivers, their mean in bold, down to so many dB below the largest."""
    array = run.waveforms
    parts, time = figures.components(array), array.time.values
    step = float(time[1] - time[0])
    frequency = np.fft.rfftfreq(2 * len(time), step)[1:]
    bands = {n: np.abs(np.fft.rfft(tapered(np.nan_to_num(v)), 2 * len(time))[:, 1:]) * step for n, v in parts.items()}
    top = max(float(band.max(initial=0)) for band in bands.values()) or 1.0
    with figures.panels(len(bands), len(bands), 9.5, 4.8) as (page, axes):
        high = 0.0
        for axis, (name, band) in zip(axes, bands.items()):
            level = 20 * np.log10(np.maximum(band / top, 1e-30))
            axis.semilogx(frequency, level.T, color=colour_of(name), linewidth=0.4, alpha=0.4)
            mean = 10 * np.log10(np.maximum((band**2).mean(axis=0) / top**2, 1e-30))
            axis.semilogx(frequency, mean, color=colour_of(name), linewidth=1.8)
            figures.title(axis, COMPONENT_NAMES.get(name, name))
            axis.set_xlabel("Frequency (Hz)")
            axis.grid(which="both", linewidth=0.3, color="0.85")
            high = max(high, highest(frequency, (level > -db).any(axis=0)))
        axes[0].set(ylim=(-db, 3), xlim=(frequency[0], min(1.3 * high, frequency[-1])))
        unit = typeset(array.attrs.get("units", ""))
        axes[0].set_ylabel(f"dB, 0 dB is {top:.3g} {f'({unit})' if '/' in unit else unit}/Hz")
        count = array.sizes["receiver"]
        words = f"{count} receivers; thick: their root mean square" if count > 1 else "1 receiver"
        figures.headline(page, f"{figures.label(array)}, {words}")
    return page


def motion(run, station=None):
    """Draw the particle motion of one station, by default the first, in the planes of its components, coloured by time."""
    from matplotlib.collections import LineCollection

    array = run.waveforms
    row = station_of(array, station)
    parts = {n: np.nan_to_num(v) for n, v in figures.components(array.isel(receiver=row)).items()}
    pairs = [p for p in (("E", "N"), ("E", "Z"), ("N", "Z"), ("R", "T"), ("R", "Z")) if set(p) <= set(parts)]
    if not pairs:
        raise CratonError(f"{run.out}: particle motion needs two components of {array.name}")
    peak = max(float(np.abs(v).max(initial=0)) for v in parts.values())
    factor, unit = prefixed(array.attrs.get("units", ""), peak)
    limit = 1.05 * peak * factor or 1.0
    with figures.panels(len(pairs), len(pairs), 4.0 * len(pairs) + 0.8, 4.2, share=False) as (page, axes):
        for axis, pair in zip(axes, pairs):
            points = factor * np.stack([parts[name] for name in pair], axis=1)
            segments = np.stack([points[:-1], points[1:]], axis=1)
            lines = LineCollection(list(segments), cmap="viridis", linewidth=1.1)
            lines.set_array(array.time.values[:-1])
            axis.add_collection(lines)
            axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
            axis.set(xlabel=f"{COMPONENT_NAMES[pair[0]]} ({unit})", ylabel=f"{COMPONENT_NAMES[pair[1]]} ({unit})")
        page.colorbar(lines, ax=list(axes), pad=0.01).set_label("Time (s)")
        figures.title(axes[0], f"Station {array.receiver.values[row]}: {figures.label(array).lower()}")
    return page


def dispersion(run, component=None):
    """Draw phase velocities over frequency along a line of receivers, by the phase shifts of Park et al. (1998)."""
    array = run.waveforms
    (traces, name), along = component_of(array, component), line_of(array)
    traces, along = one_side(traces, along, array, run.origin)
    if not traces.any():
        remedy = "record for longer, or choose another component"
        raise CratonError(f"{run.out}: no wave has come to the receivers: {remedy}")
    frequency, band = _band(traces, float(array.time[1] - array.time[0]))
    slow, fast = velocity_limits(band, along, frequency)
    velocity = np.linspace(slow, fast, POINTS)
    with figures.figure(8.5, 5.0) as page:
        axis = page.subplots()
        coherence = phase_velocities(band, along, frequency, velocity)
        image = rasters.draw_cells(axis, frequency, velocity, coherence, cmap="magma", vmin=0, vmax=1)
        axis.set(xlabel="Frequency (Hz)", ylabel="Phase velocity (m/s)", ylim=(slow, fast))
        length = np.ptp(along)
        axis.plot(frequency, np.clip(frequency * length, slow, fast), color="white", linewidth=0.8, linestyle=":")
        rasters.colour_bar(image, [axis], "Coherence of phases, 1 at the largest of each frequency")
        words = f"{figures.label(array)}, {component_name(name)}, {len(along)} receivers"
        figures.title(axis, words, f"dotted: one wavelength on {length / 1000:.3g} km")
    return page


# --- transforms -----------------------------------------------------------------------------------


def wavenumbers(band, along, wavenumber):
    """Return spectra over frequency and wavenumber (f, k), the latter in 1/m: the sum of spectra (n, f) at distances
    (n,), m, times exp(2 pi i k x). A wave that arrives at time x / c has the phase exp(-2 pi i f x / c), as
    numpy.fft.rfft has it.
    """
    return band.T @ np.exp(2j * np.pi * along[:, None] * wavenumber)


def phase_velocities(band, along, frequency, velocity):
    """Return the coherence of phases (velocities, frequencies), each frequency by its largest: |sum of D / |D| exp(2 pi
    i f x / c)| over receivers at distances x from the source, m (Park, Miller and Xia 1998).
    """
    phases = band / np.maximum(np.abs(band), 1e-300)
    out = np.empty((len(velocity), len(frequency)))
    for column, f in enumerate(frequency):
        out[:, column] = np.abs(np.exp(2j * np.pi * f * along / velocity[:, None]) @ phases[:, column])
    return out / np.maximum(out.max(axis=0), 1e-300)


def line_of(array):
    """Return the distances of receivers along their line, m, towards the east (or the north); fewer than six, or some
    off the line, are refused.
    """
    places, line = direction_of(array)
    away = places - places.mean(axis=0)
    along = away @ line
    off = np.linalg.norm(away - along[:, None] * line, axis=1).max(initial=0)
    if len(along) < LEAST or off >= STRAIGHT * np.ptp(along):
        raise CratonError(f"this picture needs {LEAST} receivers or more on a line")
    return along


def one_side(traces, along, array, origin):
    """Return the traces (n, nt) on the side of the source that has more of them, and their distances from it, m;
    without a source all, from the first on.
    """
    if origin is None:
        return traces, along - along.min()
    distance = np.hypot(array.x.values - origin[0], array.y.values - origin[1])
    middle = along[np.argmin(distance)]
    side = max((along >= middle, along <= middle), key=np.count_nonzero)
    return traces[side], distance[side]


def _band(traces, step):
    """Return frequencies, Hz, and spectra (n, f) of traces in which they have energy, without zero."""
    count = 2 * traces.shape[1]
    frequency, band = np.fft.rfftfreq(count, step), np.fft.rfft(tapered(traces), count)
    level = np.sqrt((np.abs(band) ** 2).mean(axis=0))
    seen = np.flatnonzero(level > 1e-2 * level.max(initial=0))
    last = min(seen[-1] + 2, len(frequency)) if len(seen) else len(frequency)
    stride = max(1, last // (2 * POINTS))
    return frequency[1:last:stride], band[:, 1:last:stride]


def velocity_limits(band, along, frequency):
    """Return the slowest and the fastest velocity of a dispersion image, m/s: those that hold the energy of the
    spectrum over wavenumber, with a margin.
    """
    steps = np.diff(np.sort(along))
    nyquist = 0.5 / np.median(steps[steps > 1e-6 * steps.sum()])  # several receivers may stand at one place
    wavenumber = np.linspace(0, nyquist, POINTS + 1)[1:]
    power = np.abs(wavenumbers(band, along, wavenumber)) ** 2
    velocity = (frequency[:, None] / wavenumber).ravel()
    order = np.argsort(velocity)
    share = np.cumsum(power.ravel()[order]) / max(float(power.sum()), 1e-300)
    slow, fast = (velocity[order][np.searchsorted(share, part)] for part in (0.1, 0.8))
    return 0.5 * slow, 1.5 * max(fast, 1.2 * slow)


def station_of(array, station=None) -> int:
    """Return the number of a receiver by its name; 0 without one."""
    names = [str(name) for name in array.receiver.values]
    if station is None:
        return 0
    if station not in names:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        refuse("--station", f"there is no receiver {station}", f"choose one of {shown}")
    return names.index(station)
