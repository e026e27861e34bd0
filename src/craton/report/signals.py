"""Pictures of signals: spectra, spectrograms, particle motion, and of lines of receivers the
frequency-wavenumber and dispersion images by which surface waves are told.
"""

from pathlib import Path

import numpy as np

from craton.errors import CratonError, Problem, ScenarioError
from craton.report import figures
from craton.report.pictures import read_waveforms, scene_of
from craton.report.record_sections import component_of
from craton.report.style import prefixed, typeset

RANGE = 50.0  # dB shown by default
POINTS = 240  # wavenumbers and velocities of an image
STRAIGHT = 0.02  # of its length, that receivers of a line may lie off it
LEAST = 6  # receivers of a line


def spectrogram(out_dir, path=None, station=None, component=None, db=RANGE):
    """Trace of one station and its spectrogram; ``OUT/spectrogram.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    station : str, optional
        By default the first.
    component : str, optional
        By default the vertical one, or the last.
    db : float
        Below the largest value, shown.
    """
    array = _array(out_dir)
    row, name = station_of(array, station), component_of(array, component)[1]
    trace, time = component_of(array, component)[0][row], array.time.values
    step = float(time[1] - time[0])
    frequency, moments, level = levels(trace, step)
    with figures.figure(9.5, 5.6) as page:
        top, low = page.subplots(2, 1, sharex=True, height_ratios=[1, 2.4])
        factor, unit = prefixed(array.attrs.get("units", ""), float(np.abs(trace).max(initial=0)))
        top.plot(time, trace * factor, color=figures.COLOURS.get(name[-1:], "#333333"), linewidth=0.9)
        top.set_ylabel(unit)
        words = figures.COMPONENT_NAMES.get(name, name).lower()
        top.set_title(f"Station {array.receiver.values[row]}: {figures.label(array).lower()}, {words}", loc="left")
        look = {"cmap": "magma", "vmin": -db, "vmax": 0, "shading": "nearest", "rasterized": True}
        image = low.pcolormesh(time[0] + moments, frequency, level, **look)
        high = frequency[np.flatnonzero((level > -db).any(axis=1))[-1]]
        low.set_ylim(0, min(1.2 * high, frequency[-1]))
        low.set(xlabel="Time (s)", ylabel="Frequency (Hz)", xlim=(time[0], time[-1]))
        bar = page.colorbar(image, ax=low, pad=0.01)
        bar.set_label("Power (dB below the largest)")
    return _save(page, path or Path(out_dir) / "spectrogram.png")


def levels(trace, step, periods=4.0):
    """Spectrogram of a trace in dB below its largest value: frequencies, Hz, times from its first
    sample, s, and levels (frequencies, times).

    Parameters
    ----------
    trace : (n,) array
    step : float
        s.
    periods : float
        Of the mean frequency of the trace, in a window.
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


def tapered(traces, part=0.05):
    """Return traces that fade over a part of their length at the end, without their first value:
    what a record cuts off is no jump.

    Parameters
    ----------
    traces : (..., n) array
    part : float
    """
    count = max(int(part * traces.shape[-1]), 1)
    window = np.ones(traces.shape[-1])
    window[-count:] = 0.5 * (1 + np.cos(np.pi * (np.arange(count) + 1) / count))
    return (traces - traces[..., :1]) * window


def spectra(out_dir, path=None, db=RANGE + 30):
    """Amplitude spectra of each component at all receivers, their mean in bold;
    ``OUT/spectra.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    db : float
        Below the largest value, shown.
    """
    array = _array(out_dir)
    parts, time = figures.components(array), array.time.values
    step = float(time[1] - time[0])
    frequency = np.fft.rfftfreq(2 * len(time), step)[1:]
    bands = {n: np.abs(np.fft.rfft(tapered(np.nan_to_num(v)), 2 * len(time))[:, 1:]) * step for n, v in parts.items()}
    top = max(float(band.max(initial=0)) for band in bands.values()) or 1.0
    with figures.figure(9.5, 4.6) as page:
        axes = page.subplots(1, len(bands), sharex=True, sharey=True, squeeze=False)[0]
        high = 0.0
        for axis, (name, band) in zip(axes, bands.items()):
            level = 20 * np.log10(np.maximum(band / top, 1e-30))
            colour = figures.COLOURS.get(name[-1:], "#333333")
            axis.semilogx(frequency, level.T, color=colour, linewidth=0.4, alpha=0.4)
            mean = 10 * np.log10(np.maximum((band**2).mean(axis=0) / top**2, 1e-30))
            axis.semilogx(frequency, mean, color=colour, linewidth=1.8)
            axis.set_title(figures.COMPONENT_NAMES.get(name, name), loc="left")
            axis.set_xlabel("Frequency (Hz)")
            axis.grid(which="both", linewidth=0.3, color="0.85")
            seen = np.flatnonzero((level > -db).any(axis=0))
            high = max(high, frequency[seen[-1]] if len(seen) else frequency[-1])
        axes[0].set(ylim=(-db, 3), xlim=(frequency[0], min(1.3 * high, frequency[-1])))
        unit = typeset(array.attrs.get("units", ""))
        axes[0].set_ylabel(f"dB, 0 dB is {top:.3g} {f'({unit})' if '/' in unit else unit}/Hz")
        count = array.sizes["receiver"]
        words = f"{figures.label(array)}, " + (
            f"{count} receivers; thick: their root mean square" if count > 1 else "1 receiver"
        )
        axes[-1].set_title(words, loc="right", **figures.ASIDE)
    return _save(page, path or Path(out_dir) / "spectra.png")


def motion(out_dir, path=None, station=None):
    """Particle motion of one station in the planes of its components, coloured by time;
    ``OUT/motion.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    station : str, optional
        By default the first.
    """
    from matplotlib.collections import LineCollection

    array = _array(out_dir)
    row = station_of(array, station)
    parts = {n: np.nan_to_num(v) for n, v in figures.components(array.isel(receiver=row)).items()}
    pairs = [p for p in (("E", "N"), ("E", "Z"), ("N", "Z"), ("R", "T"), ("R", "Z")) if set(p) <= set(parts)]
    if not pairs:
        raise CratonError(f"{out_dir}: particle motion needs two components of {array.name}")
    peak = max(float(np.abs(v).max(initial=0)) for v in parts.values())
    factor, unit = prefixed(array.attrs.get("units", ""), peak)
    limit = 1.05 * peak * factor or 1.0
    with figures.figure(4.0 * len(pairs) + 0.8, 4.2) as page:
        axes = page.subplots(1, len(pairs), squeeze=False)[0]
        for axis, pair in zip(axes, pairs):
            points = factor * np.stack([parts[name] for name in pair], axis=1)
            segments = np.stack([points[:-1], points[1:]], axis=1)
            lines = LineCollection(list(segments), cmap="viridis", linewidth=1.1)
            lines.set_array(array.time.values[:-1])
            axis.add_collection(lines)
            axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
            axis.set_xlabel(f"{figures.COMPONENT_NAMES[pair[0]]} ({unit})")
            axis.set_ylabel(f"{figures.COMPONENT_NAMES[pair[1]]} ({unit})")
        bar = page.colorbar(lines, ax=list(axes), pad=0.01)
        bar.set_label("Time (s)")
        axes[0].set_title(f"Station {array.receiver.values[row]}: {figures.label(array).lower()}", loc="left")
    return _save(page, path or Path(out_dir) / "motion.png")


def fk(out_dir, path=None, component=None, db=RANGE):
    """Frequency-wavenumber spectrum of a line of receivers; ``OUT/fk.png``.

    Waves that run in the direction of the line (towards the east, on lines that run north towards
    the north) have positive wavenumbers.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    component : str, optional
        By default the vertical one, or the last.
    db : float
        Below the largest value, shown.
    """
    array = _array(out_dir)
    traces, name = component_of(array, component)
    along, step = line_of(array), float(array.time[1] - array.time[0])
    frequency, band = _band(traces, step)
    nyquist = 0.5 / np.median(np.diff(np.sort(along)))
    wavenumber = np.linspace(-nyquist, nyquist, 2 * POINTS + 1)
    power = np.abs(wavenumbers(band, along, wavenumber)) ** 2
    level = 10 * np.log10(np.maximum(power / max(float(power.max()), 1e-300), 1e-30))
    with figures.figure(8.5, 5.6) as page:
        axis = page.subplots()
        look = {"cmap": "magma", "vmin": -db, "vmax": 0, "shading": "nearest", "rasterized": True}
        image = axis.pcolormesh(wavenumber * 1000, frequency, level, **look)
        axis.set(xlabel="Wavenumber (1/km)", ylabel="Frequency (Hz)", ylim=(0, frequency[-1]))
        _velocities(axis, frequency[-1], nyquist)
        bar = page.colorbar(image, ax=axis, pad=0.01)
        bar.set_label("Power (dB below the largest)")
        words = f"{figures.label(array)}, {figures.COMPONENT_NAMES.get(name, name).lower()}, {len(along)} receivers"
        axis.set_title(words, loc="left")
    return _save(page, path or Path(out_dir) / "fk.png")


def _velocities(axis, top, nyquist):
    """Draw lines of round apparent velocities on an f-k spectrum."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=1.5, foreground="black")]
    look = {"color": "white", "fontsize": 7.5, "ha": "right", "path_effects": rim}
    steepest = top / nyquist
    for velocity in (100, 200, 500, 1000, 2000, 3000, 5000, 8000):
        if velocity < steepest / 4 or velocity > 6 * steepest:
            continue
        for sign in (-1, 1):
            k = min(top / velocity, nyquist)
            axis.plot([0, sign * k * 1000], [0, k * velocity], color="white", linewidth=0.6, alpha=0.7)
        place = (k * 1000 * 0.93, k * velocity * 0.93)
        axis.annotate(f"{velocity:g} m/s", place, **look)


def dispersion(out_dir, path=None, component=None):
    """Phase velocity over frequency along a line of receivers, by the phase shifts of Park et al.
    (1998); ``OUT/dispersion.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write.
    component : str, optional
        By default the vertical one, or the last.
    """
    array = _array(out_dir)
    scene = scene_of(out_dir, array.to_dataset(name=str(array.name)))
    traces, name = component_of(array, component)
    along, step = line_of(array), float(array.time[1] - array.time[0])
    traces, along = one_side(traces, along, array, scene["sources"])
    frequency, band = _band(traces, step)
    slow, fast = velocity_limits(band, along, frequency)
    velocity = np.linspace(slow, fast, POINTS)
    image_values = phase_velocities(band, along, frequency, velocity)
    with figures.figure(8.5, 5.0) as page:
        axis = page.subplots()
        look = {"cmap": "magma", "vmin": 0, "vmax": 1, "shading": "nearest", "rasterized": True}
        image = axis.pcolormesh(frequency, velocity, image_values, **look)
        axis.set(xlabel="Frequency (Hz)", ylabel="Phase velocity (m/s)", ylim=(slow, fast))
        length = np.ptp(along)
        axis.plot(frequency, np.clip(frequency * length, slow, fast), color="white", linewidth=0.8, linestyle=":")
        bar = page.colorbar(image, ax=axis, pad=0.01)
        bar.set_label("Coherence of phases, 1 at the largest of each frequency")
        words = f"{figures.label(array)}, {figures.COMPONENT_NAMES.get(name, name).lower()}, {len(along)} receivers"
        axis.set_title(words, loc="left")
        axis.set_title(f"dotted: one wavelength on {length / 1000:.3g} km", loc="right", **figures.ASIDE)
    return _save(page, path or Path(out_dir) / "dispersion.png")


# --- transforms -----------------------------------------------------------------------------------


def wavenumbers(band, along, wavenumber):
    """Return spectra over frequency and wavenumber (frequencies, wavenumbers): the sum of spectra
    (receivers, frequencies) times exp(2 pi i k x), at any distances.

    Parameters
    ----------
    band : (n, f) array
        Of numpy.fft.rfft: a wave that arrives at time x / c has the phase exp(-2 pi i f x / c).
    along : (n,) array
        m.
    wavenumber : (k,) array
        1/m, f / c.
    """
    return band.T @ np.exp(2j * np.pi * along[:, None] * wavenumber)


def phase_velocities(band, along, frequency, velocity):
    """Return the coherence of phases (velocities, frequencies), each frequency by its largest: |sum
    of D / |D| exp(2 pi i f x / c)| over receivers (Park, Miller and Xia 1998).

    Parameters
    ----------
    band : (n, f) array
        Spectra as `wavenumbers` takes them.
    along : (n,) array
        Distances from the source, m.
    frequency, velocity : arrays
        Hz, m/s.
    """
    phases = band / np.maximum(np.abs(band), 1e-300)
    out = np.empty((len(velocity), len(frequency)))
    for column, f in enumerate(frequency):
        out[:, column] = np.abs(np.exp(2j * np.pi * f * along / velocity[:, None]) @ phases[:, column])
    return out / np.maximum(out.max(axis=0), 1e-300)


def line_of(array):
    """Distances of receivers along their line, m, towards the east (or the north).

    Parameters
    ----------
    array : xarray.DataArray

    Raises
    ------
    CratonError
        There are fewer than six, or they do not lie on a line.
    """
    places = np.stack([array.x.values, array.y.values], axis=1).astype(float)
    away = places - places.mean(axis=0)
    line = np.linalg.svd(away, full_matrices=False)[2][0]
    line = line * (1.0 if line[np.argmax(np.abs(line))] >= 0 else -1.0)
    along = away @ line
    off = np.linalg.norm(away - along[:, None] * line, axis=1).max(initial=0)
    if len(along) < LEAST or off > STRAIGHT * np.ptp(along):
        raise CratonError(f"this picture needs {LEAST} receivers or more on a line")
    return along


def one_side(traces, along, array, sources):
    """Return the traces on the side of the source that has more of them, and their distances from
    it, m.

    Parameters
    ----------
    traces : (n, nt) array
    along : (n,) array
        m, as `line_of` gives them.
    array : xarray.DataArray
    sources : sequence of (x, y, z)
        m; the first receiver stands for a missing one.
    """
    if not sources:
        return traces, along - along.min()
    distance = np.hypot(array.x.values - sources[0][0], array.y.values - sources[0][1])
    middle = along[np.argmin(distance)]
    sides = [along >= middle, along <= middle]
    side = max(sides, key=np.count_nonzero)
    return traces[side], distance[side]


def _band(traces, step):
    """Frequencies, Hz, and spectra (n, f) of traces in which they have energy, without zero."""
    count = 2 * traces.shape[1]
    frequency, band = np.fft.rfftfreq(count, step), np.fft.rfft(tapered(traces), count)
    level = np.sqrt((np.abs(band) ** 2).mean(axis=0))
    seen = np.flatnonzero(level > 1e-2 * level.max(initial=0))
    last = min(seen[-1] + 2, len(frequency)) if len(seen) else len(frequency)
    stride = max(1, last // (2 * POINTS))
    return frequency[1:last:stride], band[:, 1:last:stride]


def velocity_limits(band, along, frequency):
    """Slowest and fastest velocity of a dispersion image, m/s: those that hold the energy of the f-k
    spectrum, with a margin.

    Parameters
    ----------
    band : (n, f) array
        Spectra as `wavenumbers` takes them.
    along : (n,) array
        m.
    frequency : (f,) array
        Hz.
    """
    nyquist = 0.5 / np.median(np.abs(np.diff(np.sort(along))))
    wavenumber = np.linspace(0, nyquist, POINTS + 1)[1:]
    power = np.abs(wavenumbers(band, along, wavenumber)) ** 2
    velocity = (frequency[:, None] / wavenumber).ravel()
    order = np.argsort(velocity)
    share = np.cumsum(power.ravel()[order]) / max(float(power.sum()), 1e-300)
    slow, fast = (velocity[order][np.searchsorted(share, part)] for part in (0.1, 0.8))
    return 0.5 * slow, 1.5 * max(fast, 1.2 * slow)


# --- what is drawn --------------------------------------------------------------------------------


def _array(out_dir):
    """First quantity of the waveforms of a run, of the first shot.

    Raises
    ------
    CratonError
        There are none.
    """
    waves = read_waveforms(out_dir)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to plot")
    return waves[next(iter(waves.data_vars))].load()


def station_of(array, station=None):
    """Return the number of a receiver by its name; 0 without one.

    Parameters
    ----------
    array : xarray.DataArray
    station : str, optional

    Raises
    ------
    ScenarioError
        There is none of this name.
    """
    names = [str(name) for name in array.receiver.values]
    if station is None:
        return 0
    if station not in names:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        words = f"there is no receiver {station}"
        raise ScenarioError([Problem("--station", words, f"choose one of {shown}")])
    return names.index(station)


def _save(page, path):
    page.savefig(path, format="png", dpi=160)
    return Path(path)
