"""Seismograms for the canvases of a page: 16-bit integers, and the controls beside them."""

import base64

import numpy as np

from craton.report import figures
from craton.report.shot_gathers import signed_offsets

SAMPLES = 1_000_000  # of a page at most: 2.7 MB as text
TRACES = 240  # receivers of a page at most


def packed(array, arrivals=None, origin=None):
    """Return what the canvases need of waveforms: dict for JSON.

    Parameters
    ----------
    array : xarray.DataArray
        Over receiver, perhaps component, and time, of one shot.
    arrivals : dict of str to (n,) array, optional
        Travel times to each receiver, s; NaN where there is none.
    origin : (3,) array_like, optional
        Position of the source, m.

    Returns
    -------
    dict
        ``shown`` and ``total`` receivers, among the rest.
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
    keys = _keys(array, chosen, origin)
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


def _keys(array, chosen, origin):
    """Return what the section may be drawn over: dict of dict with label, unit and values."""
    distance, unit = figures.distances(array, origin)
    rows = {"distance": ("Distance", unit, distance)}
    if "azimuth" in array.coords:
        rows["azimuth"] = ("Azimuth", "degrees", array.azimuth.values)
    if unit == "km":
        rows["offset"] = ("Offset along the line", "km", signed_offsets(array, origin) / 1000)
    rows["number"] = ("Receiver", "number", np.arange(1, array.sizes["receiver"] + 1))
    return {
        name: {"label": label, "unit": unit, "values": [float(f"{v:.7g}") for v in np.nan_to_num(values)[chosen]]}
        for name, (label, unit, values) in rows.items()
    }
