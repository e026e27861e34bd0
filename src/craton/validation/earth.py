"""Chunks of PREM by spectral elements against exact seismograms of the sphere (AxiSEM, 100 s and
longer; beside this file every 2 s).
"""

import numpy as np

from craton import api
from craton.scenario import SpectralScenario
from craton.validation.compare import at_times, misfit, reference, row

# s: standard deviation of the Gaussian moment rate, or of the Ricker's Gaussian, and its centre
SIGMA, ONSET = 25.0, 100.0
# relative L2; the bound of the issue is 0.05. The reference itself is good to 1e-3 to 4e-3
LIMIT = 0.02
STATIC_LIMIT = 0.05  # of the offsets of the issue, -6.4 and 7.1 mm
BOLIVIA, BOLIVIA_DEPTH = (-67.25, -13.82), 647.1e3
BOLIVIA_STATION = (-67.25, -18.82)


def regional(device, kind="moment", period=55.0, width=30.0, until=400.0):
    """Return a moment tensor, or an upward force, at 150 km depth; stations 3 and 6 degrees away,
    until the sides answer.
    """
    kept, rows = reference("earth"), []
    area = chunk((0.55, 0.6), width, 1500e3, period)  # the source is inside an element
    stations = [placed(distance, azimuth) for distance, azimuth in kept["stations"]]
    source = moment((0.0, 0.0), 150e3, kept["tensor"]) if kind == "moment" else force((0.0, 0.0), 150e3, kept["size"])
    data, size = run(area, source, stations, until, device)
    t = kept["t"][kept["t"] < until - 2]
    for n, (distance, azimuth) in enumerate(kept["stations"]):
        trace = data.displacement.values[n]
        computed = at_times(data.time.values, turned(trace, float(data.back_azimuth[n])), t)
        expected = kept[kind][n][:, : len(t)]
        text = f"PREM, chunk of {size} elements, {kind} at 150 km: displacement at {distance:g} degrees, azimuth {azimuth:g}"
        rows.append(row(text, misfit(computed, expected), LIMIT, (t, computed[0], expected[0])))
    return rows


def bolivia(device, period=80.0, width=60.0, until=800.0):
    """Return the 1994 Bolivia earthquake (Mw 8.2, 647 km), 5 degrees to the south: displacement,
    and its static part.

    The chunk reaches 800 km into the fluid outer core, so that PcP and ScS are there.
    """
    kept = reference("earth")
    area = chunk((BOLIVIA[0] + 0.8, BOLIVIA[1] + 0.85), width, 3700e3, period)
    data, size = run(area, moment(BOLIVIA, BOLIVIA_DEPTH, kept["bolivia_tensor"]), [BOLIVIA_STATION], until, device)
    t = kept["bolivia_t"][kept["bolivia_t"] < until - 2]
    computed = at_times(data.time.values, data.displacement.values[0, [2, 1, 0]], t)  # Z, N, E
    expected = kept["bolivia"][:, : len(t)]
    text = f"Bolivia 1994, chunk of {size} elements"
    rows = [row(f"{text}: displacement at 5 degrees", misfit(computed, expected), LIMIT, (t, computed[0], expected[0]))]
    late = (t > ONSET + 400) & (t < ONSET + 700)
    for name, trace, offset in zip(("vertical", "north"), computed, (-6.4e-3, 7.1e-3)):
        value = float(trace[late].mean())
        rows.append(
            row(
                f"{text}: {name} offset {1e3 * value:.2f} mm for {1e3 * offset:.1f}",
                abs(value / offset - 1),
                STATIC_LIMIT,
            )
        )
    return rows


def placed(distance, azimuth):
    """Longitude and geocentric latitude, degrees, of a place seen from longitude 0 on the equator."""
    d, a = np.radians((distance, azimuth))
    return float(np.degrees(np.arctan2(np.sin(d) * np.sin(a), np.cos(d)))), float(
        np.degrees(np.arcsin(np.sin(d) * np.cos(a)))
    )


def turned(enz, back_azimuth):
    """Up, away from the source, and 90 degrees clockwise from that: (3, nt) from east, north, up."""
    b = np.radians(back_azimuth)
    return np.stack([enz[2], -np.sin(b) * enz[0] - np.cos(b) * enz[1], -np.cos(b) * enz[0] + np.sin(b) * enz[1]])


def chunk(centre, width, bottom, period):
    """domain.chunk of a scenario about a longitude and geocentric latitude."""
    return {
        "longitude": centre[0],
        "latitude": centre[1],
        "width": (width, width),
        "bottom": bottom,
        "period": period,
        "geographic": False,
    }


def at(place, depth=0.0):
    """Return a place of a scenario."""
    return {"longitude": place[0], "latitude": place[1], "depth": depth}


def moment(place, depth, tensor):
    """Source of a scenario: a moment tensor r, t, p."""
    values = {name: float(m) for name, m in zip(("rr", "tt", "pp", "rt", "rp", "tp"), tensor)}
    wavelet = {"kind": "gaussian", "tau": SIGMA, "delay": ONSET}
    return {"kind": "moment_tensor", "at": at(place, depth), "tensor": values, "wavelet": wavelet}


def force(place, depth, size):
    """Return an upward force with the history (1 - (t / sigma)^2) exp(-(t / sigma)^2 / 2), a Ricker
    wavelet.
    """
    return {
        "kind": "force",
        "at": at(place, depth),
        "force": (0.0, 0.0, float(size)),
        "wavelet": {"kind": "ricker", "frequency": 1 / (2**0.5 * np.pi * SIGMA), "delay": ONSET},
    }


def run(area, source, stations, until, device, model="prem", start=0.0, quantity="displacement", **more):
    """Waveforms at stations (longitude, latitude), with their own east, north, up, and the number
    of elements: xarray.Dataset, int.
    """
    scenario = SpectralScenario(
        domain={"chunk": area},
        model={"kind": model, **more},
        time={"start": start, "duration": until - start},
        source=[source],
        receivers=[{"name": f"S{n}", "at": at(station)} for n, station in enumerate(stations)],
        output={"waveforms": [quantity]},
    )
    result = api.run(scenario, device, progress=False)
    return result.dataset, result.plan.grid.elements
