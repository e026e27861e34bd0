"""Seismograms for the canvases of a page: 16-bit integers, and the controls beside them."""

import base64

import numpy as np

from craton.report import figures
from craton.report.traces import places_of

SAMPLES = 1_000_000  # of a page at most: 2.7 MB as text
TRACES = 240  # receivers of a page at most


def packed(array, arrivals=None, origin=None):
    """Return what the canvases need of waveforms of one shot, over receiver, perhaps component, and time: dict for JSON.

    `arrivals` are travel times to each receiver by phase, s, NaN where there is none; `origin` is the position of the
    source, m.
    """
    total = array.sizes["receiver"]
    chosen = _chosen(array)
    traces = figures.components(array.isel(receiver=chosen))
    names = list(traces)
    values = np.nan_to_num(np.stack([traces[name] for name in names], axis=1)).astype(float)
    stride = max(1, int(np.ceil(values.size / SAMPLES)))
    values = _thinned(values, stride)
    peaks = np.abs(values).max(axis=-1, initial=0)
    whole = np.round(32767 * values / np.where(peaks > 0, peaks, 1.0)[..., None]).astype("<i2")
    time = array.time.values
    keys = {
        name: {"label": label, "unit": unit, "values": [float(f"{v:.7g}") for v in np.nan_to_num(places)[chosen]]}
        for name, (label, unit, places) in places_of(array, origin).items()
    }
    return {
        "quantity": figures.label(array),
        "unit": array.attrs.get("units", ""),
        "components": names,
        "names": [str(name) for name in array.receiver.values[chosen]],
        "keys": keys,
        "reducing": "distance",
        "time": {
            "start": float(time[0]),
            "step": float(stride * (time[-1] - time[0]) / max(len(time) - 1, 1)),
            "count": values.shape[-1],
        },
        "peaks": [[float(f"{p:.7g}") for p in row] for row in peaks],
        "samples": base64.b64encode(whole.tobytes()).decode(),
        "arrivals": {
            name: [round(float(t), 6) if np.isfinite(t) else None for t in times[chosen]]
            for name, times in (arrivals or {}).items()
        },
        "total": total,
        "stride": stride,
    }


def _chosen(array):
    """Numbers of the receivers shown: all, or evenly among many."""
    total = array.sizes["receiver"]
    parts = array.size // max(total * array.sizes["time"], 1)
    # so that each trace has a thousand samples at least
    most = max(min(TRACES, SAMPLES // max(parts * min(array.sizes["time"], 1000), 1)), 1)
    return np.unique(np.linspace(0, total - 1, min(total, most)).round().astype(int))


def _thinned(values, stride):
    """Return every n-th sample of series without what lies above the new Nyquist frequency."""
    if stride == 1:
        return values
    from scipy.signal import firwin, oaconvolve

    taps = firwin(20 * stride + 1, 0.8 / stride).reshape((1,) * (values.ndim - 1) + (-1,))
    return oaconvolve(values, taps, mode="same", axes=-1)[..., ::stride]
