"""Speeds of guided waves in runs: Love's in a layer on a half-space, Scholte's between water and
rock.
"""

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import row
from craton.validation.exact.guided import love_speed, scholte_speed

SPEED_LIMIT = 0.003  # relative
LAYER, HALF_SPACE, THICKNESS = (2000.0, 2600.0), (3464.0, 2700.0), 1000.0  # (vs, rho) of LOH.1
LOVE_FREQUENCIES = (0.7, 0.9, 1.1)  # Hz; below 1.22 Hz, where the second mode begins
WATER = (1500.0, 1000.0)  # vp, rho
# vp, vs, rho
BOTTOMS = {"soft bottom": (1800.0, 600.0, 1900.0), "hard bottom": (3400.0, 1963.0, 2500.0)}
# Of the receivers, wavelengths. On a hard bottom the waves in the water and the leaking Rayleigh
# wave run almost as fast: they must decay.
PLACES = {"soft bottom": (8, 14), "hard bottom": (30, 50)}


def love(device, spacing=50.0, distances=(20e3, 30e3)):
    """Phase velocity at some frequencies between two receivers on the surface, far from a force
    along y in the layer.
    """
    scenario = Scenario(
        domain={"origin": [-3000, -6000], "size": [max(distances) + 6000, 6000], "spacing": spacing, "waves": "SH"},
        model={
            "kind": "layers",
            "layers": [
                {"top": 0, "vp": 4000, **dict(zip(("vs", "rho"), LAYER))},
                {"top": -THICKNESS, "vp": 6000, **dict(zip(("vs", "rho"), HALF_SPACE))},
            ],
        },
        time={"duration": max(distances) / 1700 + 3, "start": 0},
        source=[
            {
                "kind": "force",
                "at": [0, -400],
                "force": [0, 1e9, 0],
                "wavelet": {"kind": "ricker", "frequency": 0.9, "delay": 1.5},
            }
        ],
        receivers=[{"name": f"R{n}", "at": [x, 0]} for n, x in enumerate(distances)],
    )
    data = api.run(scenario, device=device, progress=False).dataset
    exact = [love_speed(f, THICKNESS, LAYER, HALF_SPACE) for f in LOVE_FREQUENCIES]
    measured = speeds(data.time.values, data.velocity.values[:, 0], distances, LOVE_FREQUENCIES, exact)
    label = f"Love wave, h = {spacing:g} m: phase velocity at"
    return [
        row(f"{label} {f:g} Hz, {c:.1f} m/s", abs(v / c - 1), SPEED_LIMIT)
        for f, v, c in zip(LOVE_FREQUENCIES, measured, exact)
    ]


def scholte(device, points=15, height=0.0, bottoms=tuple(BOTTOMS)):
    """Water over rock, both as half-spaces: speed between two receivers in the rock just below the
    interface.

    Parameters
    ----------
    points : float
        Points per wavelength of the Scholte wave at the source's peak frequency.
    height : float
        Of the interface above an integer plane, in spacings.
    """
    return [scholte_row(name, points, height, device) for name in bottoms]


def scholte_row(name, points, height, device, frequency=10.0):
    """One bottom."""
    bottom = BOTTOMS[name]
    c = scholte_speed(WATER, bottom)
    length = c / frequency
    spacing = length / points
    distances = [n * length for n in PLACES[name]]
    data = api.run(
        scholte_scenario(bottom, distances, length, spacing, height, frequency), device=device, progress=False
    ).dataset
    t, curves = data.time.values, data.velocity.sel(component="Z").values
    delay = 1.2 / frequency
    windowed = [
        curve * np.exp(-0.5 * ((t - delay - x / c) * frequency / 1.2) ** 2) for x, curve in zip(distances, curves)
    ]
    (speed,) = speeds(t, windowed, distances, [frequency], [c])
    return row(
        f"Scholte wave, {name}, {points:g} points per wavelength: speed, {c:.1f} m/s", abs(speed / c - 1), SPEED_LIMIT
    )


def scholte_scenario(bottom, distances, length, spacing, height, frequency):
    """Return a force on the bottom, receivers a quarter of a wavelength below it; CPML all around,
    three wavelengths of water and rock.
    """
    span = spacing * round(3 * length / spacing)
    sides = spacing * round(2 * length / spacing)
    water = {"vp": WATER[0], "vs": 0, "rho": WATER[1]}
    layers = [{"top": span, **water}, {"top": height * spacing, **dict(zip(("vp", "vs", "rho"), bottom))}]
    c = length * frequency
    return Scenario(
        domain={"origin": [-sides, -span], "size": [2 * sides + max(distances), 2 * span], "spacing": spacing},
        model={"kind": "layers", "layers": layers},
        time={"duration": max(distances) / c + 3.5 / frequency, "start": 0},
        boundaries={"top": "cpml"},
        source=[
            {
                "kind": "force",
                "at": [0, -0.25 * length],
                "force": [0, -1e6],
                "wavelet": {"kind": "ricker", "frequency": frequency, "delay": 1.2 / frequency},
            }
        ],
        receivers=[{"name": f"R{n}", "at": [x, -0.25 * length]} for n, x in enumerate(distances)],
    )


def speeds(t, records, distances, frequencies, guesses):
    """Phase velocities between two records, of the branches of the phase nearest to `guesses`."""
    measured, (first, second) = [], records
    for f, c in zip(frequencies, guesses):
        carrier = np.exp(-2j * np.pi * f * t)
        lag = np.angle((first * carrier).sum() / (second * carrier).sum())
        expected = 2 * np.pi * f * (distances[1] - distances[0]) / c
        lag += 2 * np.pi * round((expected - lag) / (2 * np.pi))
        measured.append(2 * np.pi * f * (distances[1] - distances[0]) / lag)
    return measured
