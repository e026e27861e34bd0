"""What tests of files and figures share: a run along a line in a plane, records of pulses, ruptures in an SRF file."""

from contextlib import contextmanager

import numpy as np

from craton.output import dataset
from craton.report import figures
from craton.survey.channels import channels
from craton.survey.receivers import Receivers

LINE = """
title = "A line"
domain = { origin = [0, -600], size = [1500, 600], spacing = 20 }
model.kind = "layers"
model.layers = [{ top = 0, vp = 1800, vs = 900, rho = 1900 }, { top = -200, vp = 2600, vs = 1500, rho = 2200 }]
time = { duration = 0.8 }
boundaries = { top = "free", cpml = { thickness = 5 } }
source = [{ kind = "force", at = [300, -10], force = [0, -1e6], wavelet = { kind = "ricker", frequency = 5 } }]
receivers = [{ name = "R", line = { from = [200, 0], to = [1300, 0], count = 12 } }]
output = { waveforms = ["velocity"], sampling = 0.01 }
run = { device = "cpu" }
"""
DT, START, STEPS = 0.01, -0.3, 400


def run_of(text, folder):
    """OUT of a scenario that `craton run` has run."""
    from craton.cli.app import main

    (folder / "s.toml").write_text(text)
    assert main(["run", str(folder / "s.toml"), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


@contextmanager
def bare(width, height):
    """A figure whose parts are not moved apart, which takes half of the time of drawing."""
    yield figures._page_class()(figsize=(width, height), dpi=50)


def pulse(t, shift=0.0, width=0.12):
    return np.exp(-(((t - 1.5 - shift) / width) ** 2))


def recorded(quantities, n=2, steps=STEPS):
    """Channels and samples of pulses taken at the times that the channels state, each with its own amplitude and delay."""
    used = channels(n, quantities)
    step = np.arange(steps)
    columns = [(c + 1) * pulse(START + (step + (0.5 if ch.half else 1.0)) * DT, 0.05 * c) for c, ch in enumerate(used)]
    return np.stack(columns, axis=1), used


def stations(n=2):
    return Receivers([f"R{i + 1}" for i in range(n)], np.array([[1000.0 + 500 * i, 2000.0, 0.0] for i in range(n)]))


def waveforms(quantities=("velocity",), n=2, sampling=None, dtype="float64", **attributes):
    """The dataset of `recorded`."""
    samples, used = recorded(quantities, n)
    axis = dataset.TimeAxis(STEPS, DT, START, sampling)
    return dataset.waveforms(samples.astype(dtype), used, stations(n), axis, quantities, attributes)


def rupture(path, subfaults, samples, interval=0.02):
    """An SRF file in metres: (x, y, depth in km, strike, dip, onset, rake) each, all with the same slip rate in cm/s."""
    body = "  ".join(f"{v:.9e}" for v in samples)
    slip = f"{sum(samples) * interval:.6g} {len(samples)}"
    rows = [
        f"{x} {y} {depth} {strike} {dip} 1e10 {onset} {interval}\n{rake} {slip} 0 0 0 0\n{body}"
        for x, y, depth, strike, dip, onset, rake in subfaults
    ]
    path.write_text(f"1.0\nPOINTS {len(rows)}\n" + "\n".join(rows) + "\n")
    return {"kind": "srf", "file": str(path), "coordinates": "metres"}


def quake(longitude, latitude, depth, six, time="2020-01-01", shift=0.0):
    """Event of ObsPy, depth in m: hypocentre, a shift (s) later the centroid, and a moment tensor, N m, that lasts for 2.4 s."""
    import obspy
    from obspy.core import event as ev

    place = {"longitude": longitude, "latitude": latitude, "depth": depth}
    hypocentre, centroid = (ev.Origin(time=obspy.UTCDateTime(time) + later, **place) for later in (0, shift))
    tensor = ev.MomentTensor(derived_origin_id=centroid.resource_id)
    tensor.tensor = ev.Tensor(**dict(zip(("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp"), six)))
    tensor.source_time_function = ev.SourceTimeFunction(type="triangle", duration=2.4)
    mechanism = ev.FocalMechanism(moment_tensor=tensor)
    event = ev.Event(origins=[hypocentre, centroid], focal_mechanisms=[mechanism])
    event.event_descriptions = [ev.EventDescription(text="Alps")]
    event.preferred_origin_id = hypocentre.resource_id
    return event


def inventory(networks):
    """Inventory of ObsPy: {network: {station: (longitude, latitude, elevation in m)}}."""
    from obspy.core import inventory as inv

    filled = inv.Inventory(source="test")
    for code, places in networks.items():
        stations = [inv.Station(name, y, x, z, site=inv.Site(name)) for name, (x, y, z) in places.items()]
        filled.networks.append(inv.Network(code, stations))
    return filled
