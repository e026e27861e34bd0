"""Comparison of computed with observed seismograms: the same traces, filtered and aligned alike, and
their misfits.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from craton.errors import refuse
from craton.io.fdsn import CODES
from craton.report import figures
from craton.report.figures import prefixed
from craton.report.runs import read_waveforms
from craton.report.seismograms import Receivers, of_files, of_run, origin_of, tell
from craton.text import first_of

CORNERS = 4  # of the Butterworth filter, which runs forwards and backwards
MOST = 24  # traces drawn
LEAST = 16  # samples that two traces have in common


@dataclass(frozen=True)
class Pair:
    """A computed and an observed trace on one time axis, filtered and aligned: `time` in s after the origin time (n,),
    both traces, the observed one moved by `shift`, s, by which it is late; the misfit |computed - observed| /
    |observed|, the correlation coefficient, and the ratio of root mean squares, computed over observed.
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
    quantity: str = ""


def compare(out_dir, data, band=None, align=0.0, quantity=None, inventory=None):
    """Return the pairs of traces of a run and of data with the same codes of network, station, location and component,
    and the same quantity: list of `Pair`. `data` is a file of ObsPy (MiniSEED, SAC, ...), a folder or a pattern of such
    files, or the folder of another run; `band` a pass band, Hz; observed traces are moved by up to `align` s to where
    they correlate best; `inventory` is StationXML with the directions of channels. By default the quantity is what the
    data may be, velocity before displacement before acceleration. Codes of network that are empty or XX, and an empty
    location of a receiver, match any other. What is not compared is told in the log.
    """
    waves = read_waveforms(out_dir)
    if waves is None:
        refuse("OUT", f"{out_dir} has no waveforms to compare", "name a run with [[receivers]]")
    if "shot" in waves.coords:
        tell(f"{out_dir} has several shots: the first, {waves.shot.item()}, is compared")
    if quantity is not None and quantity not in waves.data_vars:
        recorded = ", ".join(map(str, waves.data_vars))
        refuse("--quantity", f"{out_dir} has no {quantity}", f"it has {recorded}")
    receivers, traces = Receivers(waves), traces_of(data, waves, out_dir, inventory)
    matches = list(map(receivers.find, traces))
    chosen = quantity or _quantity_of(waves, matches)
    pairs, left = [], defaultdict(list)
    for rows, trace in matches:
        pair, reason = _compared(receivers, rows, trace, matches, chosen, quantity, band, align)
        other = trace.quantity != chosen and trace.quantity in waves.data_vars
        if pair is None and other and not trace.guessed:
            continue  # compared where --quantity asks for it
        if pair is None:
            left[reason].append(trace.name)
        else:
            pairs.append(pair)
    reasons = [f"{reason}: {first_of(names)}" for reason, names in left.items()]
    if not pairs:
        refuse("DATA", f"no trace of {data} can be compared with {out_dir}", "; ".join(reasons))
    for reason in reasons:
        tell(f"not compared, {reason}")
    return sorted(pairs, key=lambda pair: receivers.names.index(pair.name))


def traces_of(data, waves, out_dir, inventory=None):
    """Return the seismograms of a file, folder or pattern, or of another run, which are to be compared with the
    waveforms of a run: list of Seismogram. Inputs in the run's folder may say the directions of channels.
    """
    if not (Path(data) / "result.zarr").is_dir():
        inputs = sorted(Path(out_dir).glob("inputs/*.xml"))
        return of_files(data, origin_of(waves), inputs, inventory)
    other = read_waveforms(data)
    if other is None:
        refuse("DATA", f"{data} has no waveforms to compare with", "name a run with [[receivers]]")
    return [trace for name in other.data_vars if name in CODES for trace in of_run(other, name)]


def _quantity_of(waves, matches):
    """Return the quantity of a run that one of the traces may be, velocity before others."""
    matched = [trace for rows, trace in matches if rows]
    recorded = [name for name in CODES if name in waves.data_vars]  # the store sorts them by name
    may_be = (name for name in recorded if any(trace.may_be(name) for trace in matched))
    quantity = next(may_be, None)
    if quantity is None:
        stated = {trace.quantity or "motion" for trace in matched} or {"no station of OUT"}
        words = f"DATA holds {', '.join(sorted(stated))}, OUT {', '.join(recorded)}"
        refuse("DATA", words, "add what DATA holds to output.waveforms, or name it by --quantity")
    return quantity


def _compared(receivers, rows, trace, matches, chosen, stated, band, align):
    """Return the pair of a trace, or None and the reason why there is none."""
    if not rows:
        return None, "no receiver has the codes"
    if len(rows) > 1:
        return None, "several receivers have the codes"
    (row,) = rows
    networks = {other.network for others, other in matches if others == rows}
    if len(networks) > 1 and receivers.codes[row][0] != trace.network:
        return None, "several networks have the station, and the receiver has none of them"
    if not trace.may_be(chosen, stated is not None):
        return None, f"not {chosen}"
    computed = receivers.along(row, chosen, trace)
    if computed is None:
        return None, "the direction is not known (give --inventory FILE) or not recorded"
    time, name = receivers.waves.time.values, receivers.names[row]
    label = trace.channel or receivers.waves[chosen].attrs.get("symbol", "P")
    label = f"{trace.location}.{label}" if trace.location and len(label) == 3 else label
    pair = paired(name, label, time, computed, trace.times, trace.samples, band, align)
    if pair is not None:
        pair = replace(pair, quantity=chosen)
    return pair, f"silent, or fewer than {LEAST} samples in common"


def paired(name, component, time, computed, times, samples, band=None, align=0.0):
    """Return a `Pair` of two traces on the samples of the computed one (n,) at `time`, s, that both cover; None where
    they have fewer than sixteen in common, or one is silent. The observed trace, `samples` (m,) at `times`, is NaN in
    its gaps, at which each piece is filtered by itself; see `compare`.
    """
    times, samples = np.asarray(times, float), np.asarray(samples, float)
    observed = Pieces(times, samples, band)
    inside = observed.cover(time, align) & bool(np.isfinite(computed).all())
    if inside.sum() < LEAST:
        return None
    step = float(time[1] - time[0])
    computed = filtered(computed, step, band)
    shift = _shift(time[inside], computed[inside], observed, align, step)
    moved = observed(time[inside] + shift)
    computed = computed[inside]
    size, length = (float(np.linalg.norm(trace)) for trace in (moved, computed))
    if not size or not length:
        return None
    misfit, correlation = float(np.linalg.norm(computed - moved)) / size, float(computed @ moved) / length / size
    return Pair(name, component, time[inside], computed, moved, shift, misfit, correlation, length / size)


class Pieces:
    """An observed trace between its gaps, where `samples` are NaN, each piece filtered by itself, at any time in them."""

    def __init__(self, times, samples, band=None):
        from scipy.interpolate import CubicSpline

        good = np.concatenate([[False], np.isfinite(samples), [False]])
        edges = np.flatnonzero(good[1:] != good[:-1])
        step = float(times[1] - times[0]) if len(times) > 1 else 1.0
        self.curves = [
            CubicSpline(times[a:b], filtered(samples[a:b], step, band))
            for a, b in zip(edges[::2], edges[1::2])
            if b - a >= LEAST
        ]

    def cover(self, time, margin=0.0):
        """Return whether times are in a piece, farther than a margin, s, from its ends: (n,) booleans."""
        inside = np.zeros(len(time), bool)
        for curve in self.curves:
            inside |= (time >= curve.x[0] + margin) & (time <= curve.x[-1] - margin)
        return inside

    def __call__(self, time):
        """Return the values at times, s: (n,); NaN outside of the pieces."""
        values = np.full(len(time), np.nan)
        for curve in self.curves:
            inside = (time >= curve.x[0]) & (time <= curve.x[-1])
            values[inside] = curve(time[inside])
        return values


def filtered(samples, step, band=None):
    """Return samples, `step` s apart, as double precision, in a pass band (Hz, Hz) without phase shift where one is
    given.
    """
    samples = np.asarray(samples, float)
    if band is None:
        return samples
    low, high = band
    if not 0 < low < high < 0.5 / step:
        words = f"the band {low:g} to {high:g} Hz must rise and end below half the sampling rate, {0.5 / step:g} Hz"
        refuse("--band", words, "give two frequencies below it")
    from scipy.signal import butter, sosfiltfilt

    sections = butter(CORNERS, [low, high], "bandpass", fs=1 / step, output="sos")
    return sosfiltfilt(sections, samples, padlen=min(len(samples) - 1, int(3 / low / step)))


def _shift(time, computed, observed, align, step):
    """Return the shift within `align` at which two traces correlate best, s, between samples by a parabola."""
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
    return float(shifts[best] + (shifts[1] - shifts[0]) * (0.5 * (a - c) / curve if curve < 0 else 0.0))


def draw(pairs, unit="", title=""):
    """Return a figure of pairs of traces, computed over observed; of many the first `MOST`."""
    shown = pairs[:MOST]
    with figures.panels(len(shown), 1, 10, 0.85, 0.9, sharey=False) as (page, axes):
        for axis, pair in zip(axes, shown):
            peak = max(float(np.abs(pair.observed).max()), float(np.abs(pair.computed).max()))
            factor, prefix = prefixed(unit, peak)
            axis.plot(pair.time, factor * pair.observed, color="0.25", linewidth=1.5, label="observed")
            axis.plot(pair.time, factor * pair.computed, color="#d55e00", linewidth=0.9, label="computed")
            axis.set_ylabel(f"{pair.name} {pair.component}\n({prefix})", fontsize=8)
            words = f"misfit {pair.misfit:.2g}   cc {pair.correlation:.3f}   shift {pair.shift:+.3g} s   ratio {pair.ratio:.2f}"
            axis.text(0.995, 0.96, words, transform=axis.transAxes, ha="right", va="top", fontsize=7.5)
        axes[0].legend(loc="upper left", frameon=False, ncols=2, fontsize=8)
        axes[-1].set_xlabel("Time (s)")
        left = f", the first {MOST} of {len(pairs)}" if len(pairs) > MOST else ""
        figures.headline(page, f"{title}{left}")
    return page


def table(pairs):
    """Return misfits of pairs in lines, and their median."""
    width = max(7, *(len(pair.name) for pair in pairs))
    lines = [f"{'station':<{width}}  comp  {'misfit':>8}  {'cc':>7}  {'shift s':>8}  {'ratio':>7}"]
    lines += [
        f"{p.name:<{width}}  {p.component:<4}  {p.misfit:8.3g}  {p.correlation:7.4f}  {p.shift:8.4g}  {p.ratio:7.4g}"
        for p in pairs
    ]
    misfit = np.median([pair.misfit for pair in pairs])
    return "\n".join([*lines, f"{len(pairs)} traces, median misfit {misfit:.3g}"])
