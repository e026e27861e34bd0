"""Oblique plane waves in layers with a free surface: the response against closed forms, runs against the response."""

from dataclasses import replace

import numpy as np
import pytest
from injectioncase import RUN
from scipy.interpolate import CubicSpline

import craton
from craton.driver.run import plan
from craton.errors import ScenarioError
from craton.scenario import Ricker
from craton.survey import wavelets
from craton.survey.layered_response import Stack, response

LAYERS = [{"top": 0, "vp": 2000, "vs": 1100, "rho": 2000}, {"top": -400, "vp": 3200, "vs": 1800, "rho": 2300}]
STACK = Stack(*(np.array(v, float) for v in ([-400, 0], [3200, 2000], [1800, 1100], [2300, 2000])))
HALF = Stack(*(np.array([v], float) for v in (0, 3000, 1700, 2400)))
WAVELET = {"kind": "ricker", "frequency": 2.0}
OMEGA = 2 * np.pi * np.linspace(0.1, 20, 50)


def test_a_layer_amplifies_sh_as_haskell_says():
    """Haskell (1960): 2 / sqrt(cos^2 + (Z1 / Z0)^2 sin^2), Z = mu q."""
    p = np.sin(0.5) / 1800
    above, below = (np.sqrt(1 / c**2 - p**2) for c in (1100, 1800))
    ratio = 2000 * 1100**2 * above / (2300 * 1800**2 * below)
    phase = OMEGA * above * 400
    expected = 2 / np.sqrt(np.cos(phase) ** 2 + (ratio * np.sin(phase)) ** 2)
    assert np.allclose(abs(response(STACK, "SH", p, OMEGA).at(0.0, "t")), expected, rtol=1e-12)


def test_the_free_surface_moves_as_its_coefficients_say():
    """Of P and SV on a half-space (Kennett 1991, Geophys. J. Int. 104, 153)."""
    for wave, speed in (("P", 3000), ("SV", 1700)):
        p = np.sin(0.4) / speed
        qa, qb = (np.sqrt(1 / c**2 - p**2) for c in (3000, 1700))
        shear = 1 / 1700**2 - 2 * p**2
        c = 2 / 1700**2 / (shear**2 + 4 * p**2 * qa * qb)
        expected = {
            "P": (2 * c * 3000 * p * qa * qb, c * 3000 * qa * shear),
            "SV": (c * 1700 * qb * shear, -2 * c * 1700 * p * qa * qb),
        }[wave]
        moved = response(HALF, wave, p, OMEGA[:1])
        assert np.allclose([moved.at(0.0, name)[0] for name in "rz"], expected, rtol=1e-12)


@pytest.mark.parametrize("wave", ["P", "SV", "SH"])
def test_tractions_are_continuous_and_vanish_at_the_surface_also_beyond_the_critical_angle(wave):
    for p in (1 / 2500, 1 / 5000):
        if wave == "P" and p * 3200 > 1:
            continue
        moved = response(STACK, wave, p, OMEGA)
        for name in ("rz", "zz", "tz"):
            size = max(np.abs(moved.at(z, name)).max() for z in (-100.0, -300.0))
            assert np.abs(moved.at(0.0, name)).max() <= 1e-9 * size
            jump = moved.at(-400.0, name) - moved.at(-400.0 - 1e-9, name)
            assert np.abs(jump).max() <= 1e-6 * max(size, 1e-30)


def exact(times, along, z, wave, incidence, components, stack=STACK):
    """Velocity at a distance along the direction of travel and an elevation, for a wave that passes (0, -1000) at t = 0."""
    speed = 3200.0 if wave == "P" else 1800.0
    p, q = np.sin(np.radians(incidence)) / speed, np.cos(np.radians(incidence)) / speed
    count, dt = 1 << 13, 0.005
    t = -20 + np.arange(count) * dt
    spectrum = np.fft.rfft(wavelets.build(Ricker(**WAVELET))(t))
    omega = 2 * np.pi * np.fft.rfftfreq(count, dt)
    spectrum = spectrum * np.exp(-1j * omega * ((1000 + stack.tops[0]) * q + p * along))
    moved = response(stack, wave, p, omega)
    series = [np.fft.irfft(spectrum * moved.at(z, c), count) for c in components]
    return np.array([CubicSpline(t, values)(times) for values in series])


def flat(wave, incidence, **changes):
    """A section of the layers."""
    tables = {
        "domain": {
            "origin": [0, -1500],
            "size": [3000, 1500],
            "spacing": 20,
            "waves": "SH" if wave == "SH" else "P-SV",
        },
        "model": {"kind": "layers", "layers": LAYERS},
        "time": {"duration": 1.6},
        "injection": [
            {
                "wave": wave,
                "from": [600, -1000],
                "to": [2400, 0],
                "incidence": incidence,
                "at": [1500, -1000],
                "wavelet": WAVELET,
            }
        ],
        "receivers": [
            {"name": "in", "at": [1720, 0]},
            {"name": "deep", "at": [1300, -700]},
            {"name": "out", "at": [2600, -100]},
        ],
        "run": RUN | {"order": 8},
    }
    return craton.Scenario(**tables | changes)


@pytest.mark.parametrize("wave, incidence", [("P", 25), ("SV", -20), ("SH", 30)])
def test_finite_differences_have_the_exact_response(wave, incidence):
    result = craton.run(flat(wave, incidence), progress=False)
    velocity = result.dataset.velocity
    names = {"E": ("r", 1), "N": ("t", -1), "Z": ("z", 1)}  # SH moves to the right of +x
    components, signs = zip(*(names[str(c)] for c in velocity.component.values))
    for name, along, z in (("in", 220, 0.0), ("deep", -200, -700.0)):
        expected = exact(velocity.time.values, along, z, wave, incidence, components)
        expected *= np.array(signs)[:, None]
        away = np.linalg.norm(velocity.sel(receiver=name).values - expected)
        assert away < 0.012 * np.linalg.norm(expected)
    assert np.abs(velocity.sel(receiver="out").values).max() < 0.01 * np.abs(expected).max()


@pytest.mark.parametrize("top, bound", [(0, 2e-3), (-420, 1.6e-2)])
def test_what_misses_is_the_interface_of_the_grid(top, bound):
    """On 40 m a half-space is right to 0.14 %; an interface, halfway between points, takes that to 1.4 %."""
    layers = [LAYERS[0], LAYERS[1] | {"top": top}] if top else [LAYERS[1] | {"top": 0}]
    stack = replace(STACK, tops=np.array([top, 0.0]))
    if not top:
        stack = Stack(*(getattr(STACK, name)[:1] for name in ("tops", "vp", "vs", "rho")))
        stack = replace(stack, tops=np.zeros(1))
    changes = {
        "domain": {"origin": [0, -1520], "size": [3000, 1520], "spacing": 40, "waves": "P-SV"},
        "model": {"kind": "layers", "layers": layers},
        "boundaries": {"cpml": {"thickness": 8, "frequency": 2.0}},
    }
    velocity = craton.run(flat("SV", -20, **changes), progress=False).dataset.velocity
    for name, along, z in (("in", 220, 0.0), ("deep", -200, -700.0)):
        expected = exact(velocity.time.values, along, z, "SV", -20, ("r", "z"), stack)
        away = np.linalg.norm(velocity.sel(receiver=name).values - expected)
        assert away < bound * np.linalg.norm(expected)
        assert top == 0 or away > 2e-3 * np.linalg.norm(expected)


def space(**changes):
    """The layers in spectral elements, a wave that travels to the north-east."""
    tables = {
        "method": "sem",
        "domain": {"origin": [0, 0, -1600], "size": [2400, 2000, 1600], "element_size": 200},
        "model": {"kind": "layers", "layers": LAYERS},
        "time": {"duration": 1.3},
        "injection": [
            {
                "wave": "SV",
                "from": [600, 600, -1000],
                "to": [1800, 1600, 0],
                "azimuth": 60,
                "incidence": 20,
                "at": [1500, 800, -1000],
                "wavelet": WAVELET,
            }
        ],
        "receivers": [{"name": "in", "at": [1320, 1050, 0]}, {"name": "out", "at": [2100, 900, 0]}],
        "boundaries": {"top": "free", "others": "stacey"},
        "run": RUN | {"degree": 4},
    }
    return craton.Scenario(**tables | changes)


def test_elements_have_the_exact_response_in_space():
    result = craton.run(space(), progress=False)
    velocity = result.dataset.velocity
    travel = np.array([np.sin(np.pi / 3), np.cos(np.pi / 3)])
    along = travel @ [1320 - 1500, 1050 - 800]
    radial, up = exact(velocity.time.values, along, 0.0, "SV", 20, "rz")
    expected = np.array([travel[0] * radial, travel[1] * radial, up])
    values = velocity.sel(receiver="in").values
    assert np.linalg.norm(values - expected) < 5e-3 * np.linalg.norm(expected)
    assert np.abs(velocity.sel(receiver="out").values).max() < 2e-3 * np.abs(expected).max()


ROCK = {"kind": "homogeneous", "vp": 3200, "vs": 1800, "rho": 2300}
BLOCK = {"shape": "box", "min": [500, -10, -300], "max": [900, 10, -100], "dvs": -0.2}
WRONG = {  # changes of the section, the key that is told, words of the message
    "a gradient": (
        {"model": {"kind": "layers", "layers": [LAYERS[0] | {"vp_gradient": 0.1}, LAYERS[1]]}},
        "injection.0",
        "gradients",
    ),
    "a fluid": ({"model": {"kind": "layers", "layers": [LAYERS[0] | {"vs": 0}, LAYERS[1]]}}, "injection.0", "fluid"),
    "no free surface": ({"boundaries": {"top": "cpml"}}, "injection.0", 'not "free"'),
    "an anomaly at the sides": (
        {"model": {"kind": "layers", "layers": LAYERS, "anomalies": [BLOCK]}},
        "injection.0",
        "touches the sides",
    ),
    "too late": ({"time": {"duration": 1.6, "start": 0.2}}, "time.start", "reaches the box at"),
    "out of the plane": (
        {"domain": {"origin": [0, -1500], "size": [3000, 1500], "spacing": 20, "waves": "SH"}},
        "injection.0.wave",
        "P waves do not move as SH",
    ),
    "three numbers": (
        {"injection": [{"wave": "P", "from": [600, 0, -1000], "to": [2400, 1, 0], "wavelet": WAVELET}]},
        "injection.0.to",
        "has 3 numbers",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_before_anything_runs(name):
    changes, key, words = WRONG[name]
    with pytest.raises(ScenarioError) as raised:
        plan(flat("P", 25, **changes))
    told = {p.key: p.message for p in raised.value.problems}
    assert key in told, told
    assert words in told[key], told


def test_both_remedies_of_a_run_that_begins_too_late_help():
    """A run without start begins before the wave, and so does a wave with a later delay."""
    changes = WRONG["too late"][0]
    time = {"duration": changes["time"]["duration"]}
    assert plan(flat("P", 25, time=time)).steps
    late = flat("P", 25, **changes)
    wave = late.injection[0].model_dump(by_alias=True, exclude_none=True)
    with pytest.raises(ScenarioError) as raised:
        plan(late)
    more = float(raised.value.problems[0].remedy.rpartition("by ")[2].partition(" s")[0])
    wave["wavelet"] |= {"delay": more}
    assert plan(flat("P", 25, **changes, injection=[wave])).steps


def test_the_ground_is_flat_around_the_box():
    axis = [0, 700, 1200, 1700, 2400]
    height = np.full((5, 5), -80.0)
    height[2, 2] = 0.0
    hill = {"x": axis, "y": [0, 700, 1100, 1500, 2000], "z": height.tolist()}
    ridge = {"x": axis, "z": [-80, -80, 0, -80, -80]}
    model = {"kind": "layers", "layers": LAYERS}
    receivers = [{"name": "in", "at": [1320, 1050, -200]}]
    with pytest.raises(ScenarioError, match="not flat"):
        plan(space(model=model | {"topography": ridge}, receivers=receivers))
    planned = plan(space(model=model | {"topography": hill}, receivers=receivers))
    assert "plane SV wave, 20 degrees" in dict(planned.notes["Sources"])["injection"]
