"""Modes of radial models: those of a uniform sphere in closed form, observed periods of the Earth, and their sum against AxiSEM."""

from dataclasses import replace

import numpy as np
import pytest
from common import refused
from earthcase import PREM
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import spherical_jn as j

from craton.model.globe import prem, radial
from craton.validation.compare import misfit, reference
from craton.validation.exact import modes
from craton.validation.exact.modes import Waves

A, BETA = 6371e3, 4000.0  # m, m/s: a Poisson solid
RAYLEIGH = 0.9194016867  # of its S speed
# PREM's table 5: observed periods of toroidal modes (n, l), s (Dziewonski & Anderson 1981).
OBSERVED = {(0, 2): 2636.38, (0, 3): 1705.95, (0, 6): 925.84, (0, 10): 618.97}
OBSERVED |= {(1, 3): 695.18, (1, 10): 381.65, (2, 7): 363.65, (3, 9): 259.26}


def uniform():
    coefficients = np.zeros((1, len(radial.PARAMETERS), 1))
    coefficients[0, :6, 0] = 3300, 3**0.5 * BETA, 3**0.5 * BETA, BETA, BETA, 1
    return radial.RadialModel("uniform", np.array([0.0, A]), coefficients, ("mantle",))


def toroidal(l, y):
    """Zero where y = omega a / beta is that of a mode of a uniform sphere (Lamb 1882)."""
    return (l - 1) * j(l, y) - y * j(l + 1, y)


def spheroidal(l, y):
    """The same without gravity, mu = lambda = 1: tractions of P and S waves regular at the centre (Takeuchi & Saito 1972)."""
    x = y / 3**0.5
    normal_p = -3 * x**2 * j(l, x) + 2 * (l * (l - 1) * j(l, x) + 2 * x * j(l + 1, x))
    shear_p = 2 * ((l - 1) * j(l, x) - x * j(l + 1, x))
    normal_s = -2 * l * (l + 1) * toroidal(l, y)
    return normal_p * (y**2 * j(l, y) - 2 * (l**2 - 1) * j(l, y) - 2 * y * j(l + 1, y)) - normal_s * shear_p


def roots(secular, l, most=40.0):
    at = np.linspace(0.5, most, 2000)
    values = secular(l, at)
    changes = np.flatnonzero(values[1:] * values[:-1] < 0)
    return np.array([brentq(lambda y: secular(l, y), *at[n : n + 2], xtol=1e-13) for n in changes])


def without_ocean(period):
    """Transversely isotropic PREM without its ocean, at a period: speeds v (1 + ln(1 s / period) / (pi Q)), as PREM has them."""
    whole = prem.prem(True, True)
    values = whole.coefficients[:-1] * (whole.knots[-2] / whole.radius) ** np.arange(4)
    values[:, 3:5] *= 1 - np.log(period) / np.pi * values[:, 7, None, :1]
    return replace(whole, knots=whole.knots[:-1], coefficients=values, regions=whole.regions[:-1])


@pytest.mark.parametrize(("kind", "secular"), [("love", toroidal), ("rayleigh", spheroidal)])
def test_uniform_sphere(kind, secular):
    """A hole of 2 % of the radius in its centre does not matter from l = 6 on."""
    waves = Waves(uniform(), kind, 0.98 * A)
    for l in (6, 15):
        assert np.allclose(waves.lowest(float(l), 4)[0] * A / BETA, roots(secular, l)[:4], rtol=1e-8)
    if kind == "love":
        assert waves.lowest(2.0)[0][0] * A / BETA == pytest.approx(2.50113, abs=1e-5)


def test_rayleigh_wave_of_a_half_space():
    """The shorter, the nearer: the curvature's part falls with the period, of the group speed it vanishes."""
    long, short = (Waves(uniform(), "rayleigh", 1.5e6, 60e3).at(2 * np.pi / period) for period in (60, 30))
    assert 0 < short.phase / BETA - RAYLEIGH < 0.52 * (long.phase / BETA - RAYLEIGH) < 0.006
    assert abs(short.group / BETA - RAYLEIGH) < 2e-4


def test_observed_periods_of_the_earth():
    """Toroidal modes do not know gravity: 0.25 %, PREM's own misfit to its data (0T10: 0.13 %)."""
    for (n, l), period in OBSERVED.items():
        omega = Waves(without_ocean(period), "love", 6368e3 - 3480e3).lowest(float(l), n + 1)[0][n]
        assert omega == pytest.approx(2 * np.pi / period, rel=2.5e-3), (n, l)


def test_speeds_of_phase_and_group():
    """U = c / (1 - omega / c dc / domega); depth and elements' length do not matter; gravity and Q make PREM's 0S30 1 % longer."""
    omega, h = 2 * np.pi / 80, 1e-5
    for kind in ("love", "rayleigh"):
        waves = Waves(PREM, kind)
        low, mode, high = (waves.at(omega * factor) for factor in (1 - h, 1, 1 + h))
        slope = (high.phase - low.phase) / (2 * h * omega)
        assert mode.group == pytest.approx(mode.phase / (1 - omega / mode.phase * slope), rel=1e-6)
        deeper = Waves(PREM, kind, 1.5e6, 60e3).at(omega)
        assert (deeper.phase, deeper.group) == pytest.approx((mode.phase, mode.group), rel=1e-8)
        overtone = waves.at(omega, 1)
        assert overtone.phase > mode.phase and waves.lowest(overtone.nu, 2)[0][1] == pytest.approx(omega, rel=1e-9)
    refused(ValueError, "fluid at a radius of 3371 km", Waves(PREM, "love", 3e6).at, 0.1)
    assert 2 * np.pi / Waves(PREM, "rayleigh", 2.891e6).lowest(30.0)[0][0] == pytest.approx(262.11, rel=0.012)


@pytest.mark.long
def test_sum_of_modes_is_a_seismogram():
    """AxiSEM's, good to 1e-3 or better, of a moment tensor at 150 km until the core answers, which is free here."""
    axisem = reference("earth")
    t = axisem["t"] - 100.0
    window = (t > 100) & (t < 400)
    sums = modes.velocity(PREM, axisem["tensor"], 150e3, 25.0, *axisem["stations"].T, t[window])
    for velocity, displacement in zip(sums, axisem["moment"]):
        assert misfit(velocity, CubicSpline(t, displacement, axis=-1)(t[window], 1)) < 1e-3


def test_fundamental_branch_runs_at_its_phase_speed():
    """Phase between 40 and 60 degrees of the sum over integer orders, against (nu + 1/2) times the distance (1 / (8 nu) is left out)."""
    t, tensor, at = np.arange(200.0, 2200.0, 2.0), (1e20, 0, 0, 0, 0, 0), ([40.0, 60.0], [0.0, 0.0])
    pair = modes.velocity(PREM, tensor, 30e3, 30.0, *at, t, branches=1, bottom=7e5)
    spectra = pair[:, 0] @ np.exp(-2j * np.pi * t / 100.0)
    mode = Waves(PREM, "rayleigh", 7e5).at(2 * np.pi / 100.0)
    turns = np.angle(spectra[1] / spectra[0] * np.exp(1j * (mode.nu + 0.5) * np.radians(20)))
    assert abs(turns) < 0.03  # of 33 rad; ends of the record, waves at a bottom that is near
