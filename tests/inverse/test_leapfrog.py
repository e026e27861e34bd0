"""The correction in time: maps against direct sums, a leapfrog oscillator against its exact motion, a run against one of smaller step."""

import math

import numpy as np
import pytest
from common import difference
from smallcase import changed

import craton
from craton.errors import ComputationError
from craton.scenario import loads
from craton.survey import leapfrog

DT = 0.05
TAU, CENTRE = 0.2, 1.8  # s; the pulse is below 1e-17 of its peak at t = 0
W0 = 2 * math.pi * 0.8  # rad/s: w dt = 0.25, where the leapfrog gains 0.25^2 / 24 = 0.26 % on the exact motion


def pulse(t):
    return np.exp(-0.5 * ((t - CENTRE) / TAU) ** 2)


def oscillator(force, dt=DT):
    """Velocity at half steps and displacement at full steps of v' = -w0^2 u + force, u' = v, by leapfrog: (n, 2)."""
    u = v = 0.0
    out = np.empty((len(force), 2))
    for n, f in enumerate(force):
        v += dt * (f - W0**2 * u)
        u += dt * v
        out[n] = v, u
    return out


def exact(t):
    """Velocity and displacement once the pulse is over: its spectrum at w0 times cos and sin."""
    spectrum = math.sqrt(2 * math.pi) * TAU * math.exp(-0.5 * (W0 * TAU) ** 2)
    return spectrum * np.cos(W0 * (t - CENTRE)), spectrum / W0 * np.sin(W0 * (t - CENTRE))


def test_spectra_at_any_frequency_are_direct_sums():
    rows, phase = np.random.default_rng(0).standard_normal((3, 501)), np.linspace(0, 2.1, 97)
    for shift in (0.0, 0.5):  # the window's aliases: 1e-11 of a sum of 501 terms
        direct = rows @ np.exp(-1j * np.outer(np.arange(501) + shift, phase))
        assert np.abs(leapfrog._spectrum(rows, phase, shift) - direct).max() < 1e-10 * np.abs(direct).max(), shift


def test_oscillator_moves_as_if_time_were_continuous():
    for n in (300, 1000, 5000):
        total = n + leapfrog.extra(n)
        force = pulse(np.arange(total) * DT)
        raw, run = oscillator(force), oscillator(leapfrog.for_leapfrog(force[:, None], DT)[:, 0])
        band, late = leapfrog.band(force[:, None], DT), slice(int((CENTRE + 7 * TAU) / DT), n)
        for column, shift in ((0, 0.5), (1, 1.0)):
            expected = exact((np.arange(total) + shift) * DT)[column]
            corrected = leapfrog.from_leapfrog(run[:, column : column + 1], DT, shift, band)[:, 0]
            # w0^3 dt^2 / 24 radians per second of phase error without; with, what the end spoils (1e-6), the band cuts off (1e-7)
            assert difference(raw[late, column], expected[late]) > 0.5 * min(W0**3 * DT**2 / 24 * n * DT, 1), n
            assert difference(corrected[late], expected[late]) < 5e-6, n


def test_maps_undo_each_other_and_keep_what_stays():
    """A step, as of displacement or of a moment, keeps its height, to the end."""
    n = 1500
    series = pulse(np.arange(n + 100) * DT - 20)[:, None]
    there = leapfrog.for_leapfrog(series, DT, 0.5)
    # exp(-(0.6 * 2 tau / dt)^2 / 2) = 1e-5 of the spectrum is above 0.6 of w dt / 2
    assert difference(leapfrog.from_leapfrog(there, DT, 0.5)[:n], series[:n]) < 1e-6
    assert difference(there[:n], series[:n]) > 1e-2
    step = 0.5 * (1 + np.tanh((np.arange(2000) * DT - 20) / 0.5))[:, None]
    clean = slice(600, 2000 - leapfrog.extra(2000))
    for mapped in (leapfrog.for_leapfrog(step, DT), leapfrog.from_leapfrog(step, DT)):
        assert difference(mapped[clean], step[clean]) < 1e-6


def test_a_record_that_ends_in_motion_is_right_to_its_end():
    """Steps of 6 to 50 a period of the band: a sharp cut above the band would ring at 1e-3."""
    for dt in (DT, DT / 3, DT / 8):
        n = 800
        total = n + 1200 + leapfrog.extra(n)
        force = pulse(np.arange(total) * dt)
        run, band = oscillator(leapfrog.for_leapfrog(force[:, None], dt)[:, 0], dt), leapfrog.band(force[:, None], dt)
        whole, cut = (leapfrog.from_leapfrog(run[:end], dt, 0.5, band) for end in (total, n + leapfrog.extra(n)))
        assert abs(whole[n - 20 : n]).max() > 0.1 * abs(whole[:n]).max()
        assert difference(cut[:n], whole[:n]) < 2e-5


def test_band():
    """Of Gaussians, an impulse, which carries everything, and nothing; records without sources pass: there is nothing to cut."""
    series = np.stack([pulse(np.arange(400) * DT), 1e-30 * pulse(np.arange(400) * DT)], axis=1)
    expected = math.sqrt(2 * math.log(1e7)) / (2 * math.pi * TAU)  # |S| = exp(-(w tau)^2 / 2)
    assert leapfrog.band(series, DT) == pytest.approx(expected, abs=1 / (400 * DT))
    assert leapfrog.band(np.eye(400)[:, :1], DT) == pytest.approx(0.5 / DT)
    assert leapfrog.band(np.zeros((400, 1)), DT) == 0
    for mapped in (leapfrog.from_leapfrog, leapfrog.from_leapfrog_transposed):
        assert not mapped(np.zeros((300, 2)), DT, 0.5, 0.0).any()


def test_blocks_precision_and_nothing(monkeypatch):
    series = np.random.default_rng(1).standard_normal((90, 7)).astype(np.float32)
    whole = leapfrog.from_leapfrog(series, DT, band=2.0)
    assert whole.dtype == np.float32 and whole.shape == (90, 7)
    monkeypatch.setattr(leapfrog, "BLOCK", 400)
    np.testing.assert_array_equal(leapfrog.from_leapfrog(series, DT, band=2.0), whole)
    for part in (series[:0], series[:, :0]):
        assert leapfrog.from_leapfrog(part, DT).shape == part.shape
    assert np.isfinite(leapfrog.from_leapfrog(series[:1], DT)).all()


LIMIT = 3e-4  # of the peak
QUANTITIES = ("velocity", "displacement", "pressure")


def run(step):
    recorded = ('waveforms = ["velocity"]', f"waveforms = {list(QUANTITIES)}\nsampling = 0.02".replace("'", '"'))
    text = changed(("duration = 1.0\n", f"duration = 1.0\nstep = {step}\nstart = 0\n"), recorded)
    return craton.run(loads(text), progress=False)


def test_seismograms_do_not_depend_on_the_step():
    """And the plan says what was corrected."""
    coarse, fine = run(0.014), run(0.0035)
    assert coarse.plan.extra == leapfrog.extra(72) and coarse.plan.steps == 72 + coarse.plan.extra
    assert len(coarse.samples) == coarse.plan.steps
    assert coarse.plan.end == pytest.approx(72 * 0.014) and coarse.dataset.time[-1] == pytest.approx(1.0)
    padding = f"72 from 0 s to 1.008 s + {coarse.plan.extra} padding steps for the time-dispersion correction"
    for words in (padding, "spatial discretisation; time dispersion is corrected"):
        assert words in str(coarse.plan), str(coarse.plan)

    def errors():
        datasets = coarse.dataset, fine.dataset
        count = min(len(data.time) for data in datasets)
        return {name: difference(*(data[name].values[..., :count] for data in datasets)) for name in QUANTITIES}

    assert max(errors().values()) < LIMIT, errors()
    for result in (coarse, fine):  # as if the computation had failed: then nothing is corrected
        result._dataset, result._corrected, result.error = None, None, ComputationError("")
    assert errors()["velocity"] > 10 * LIMIT
