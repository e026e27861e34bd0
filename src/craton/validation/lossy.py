"""A full space of constant Q: amplitude and phase at every frequency against the Green's function with complex moduli."""
import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import misfit, row

VP, VS, RHO, REFERENCE = 4000.0, 2300.0, 2500.0, 5.0  # m/s, m/s, kg/m^3 at Hz
FORCE, FREQUENCY, DELAY = (1e9, -0.4e9, 0.7e9), 5.0, 0.25
BAND = (0.5, 30.0)  # Hz, over which Q is constant in the runs
# Q, storage, limit of the amplitude. What is stored by default below Q = 60 is half as dear as all mechanisms.
RUNS = ((20, "full", 0.02), (20, None, 0.02), (100, None, 0.02))
PLACES = ((1800.0, 210.0, -90.0), (1220.0, 700.0, 310.0))  # from the source, m; 3 to 4 S wavelengths at 5 Hz
LIMIT = 0.02  # of the amplitude; of pi, as phases are counted by Kristekova, Kristek & Moczo (2009, Geophys. J. Int. 178, 813-825)
STRONG = 0.2  # of the largest amplitude: spectra are compared where they are larger
DECADES = 3.0  # by which the transform damps what wraps around


def attenuating(device, spacing=30.0, order=8):
    """Runs with Q = Qp = Qs; storage by default is "paired" below Q = 60, else "coarse"."""
    return [one for case in RUNS for one in lossy_rows(*case, device, spacing, order)]


def lossy_rows(quality, storage, limit, device, spacing, order):
    """Amplitude, phase and waveform of one Q, the worst of the receivers."""
    data = api.run(scenario(quality, spacing, order, storage), device=device, progress=False).dataset
    t, runs = data.time.values, data.velocity.values
    wanted = [constant_q(x, t, quality) for x in PLACES]
    ratios = np.concatenate([ratio(found, one, t) for found, one in zip(runs, wanted)])
    what = f"Q = {quality}, {storage or 'default'} storage, h = {spacing:g} m, order {order}:"
    curves = (t, runs[0, 2], wanted[0][2])
    return [
        row(f"{what} spectral amplitude, worst of both receivers", np.abs(np.abs(ratios) - 1).max(), limit, curves),
        row(f"{what} spectral phase / pi, worst of both receivers", np.abs(np.angle(ratios)).max() / np.pi, LIMIT),
        row(f"{what} velocity", max(misfit(found, one) for found, one in zip(runs, wanted)), LIMIT),
    ]


def ratio(found, wanted, t):
    """Spectra of `found` over those of `wanted` where these are strong: complex, all components together."""
    one, other = (np.fft.rfft(values, 4 * len(t)) for values in (found, wanted))
    strong = np.abs(other) > STRONG * np.abs(other).max()
    return one[strong] / other[strong]


def scenario(quality, spacing, order, storage=None):
    """Source and receivers in a box with CPML."""
    border = 22 * spacing
    low, high = np.floor(np.min([(0, 0, 0), *PLACES], axis=0) - border), np.max([(0, 0, 0), *PLACES], axis=0) + border
    size = np.ceil((high - low) / spacing) * spacing
    return Scenario(
        domain={"origin": low.tolist(), "size": size.tolist(), "spacing": spacing},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO, "qp": quality, "qs": quality,
               "attenuation": {"band": list(BAND), "frequency": REFERENCE, "storage": storage}},
        time={"duration": max(map(np.linalg.norm, PLACES)) / VS + 2.2 * DELAY, "start": 0},
        boundaries={"top": "cpml"},
        source=[{"kind": "force", "at": [0, 0, 0], "force": list(FORCE),
                 "wavelet": {"kind": "ricker", "frequency": FREQUENCY, "delay": DELAY}}],
        receivers=[{"name": f"R{n}", "at": list(x)} for n, x in enumerate(PLACES)],
        run={"order": order},
    )  # fmt: skip


def constant_q(x, t, quality, deriv=1):
    """Motion at x from a force at the origin where Q is constant (Kjartansson 1979, J. Geophys. Res. 84, 4737-4748), (3, nt).

    Aki & Richards (2002), eq. 4.23 at complex wavenumbers, summed over complex frequencies.

    Parameters
    ----------
    x : (3,)
        m.
    t : ndarray
        Equidistant times, s.
    quality : float
        Q of P and S waves; infinity for none.
    deriv : int
        0 for displacement, 1 for velocity.
    """
    dt, n = t[1] - t[0], 4 * len(t)
    damping = DECADES * np.log(10) / (n * dt)
    omega = 2 * np.pi * np.fft.rfftfreq(n, dt) - 1j * damping
    a = (np.pi * FREQUENCY * (t[0] + dt * np.arange(n) - DELAY)) ** 2
    wavelet = np.fft.rfft((1 - 2 * a) * np.exp(-a - damping * dt * np.arange(n)))
    spectrum = displacement(np.asarray(x), omega, quality) * wavelet * (1j * omega) ** deriv
    return (np.fft.irfft(spectrum, n) * np.exp(damping * dt * np.arange(n)))[:, : len(t)]


def displacement(x, omega, quality):
    """Displacement (3, n) of the force at complex frequencies, the history's spectrum left out."""
    r = np.linalg.norm(x)
    g, force = x / r, np.array(FORCE)
    power = np.arctan(1 / quality) / np.pi
    factor = np.cos(np.pi * power / 2) * (1j * omega / (2 * np.pi * REFERENCE)) ** power
    ks, kp = omega / (VS * factor), omega / (VP * factor)
    (s, s1, s2), (_, p1, p2) = radial(ks, r), radial(kp, r)
    across, along = ks**2 * s + (s1 - p1) / r, s2 - p2 - (s1 - p1) / r
    return (np.outer(force, across) + np.outer(g * (g @ force), along)) / (4 * np.pi * RHO * omega**2)


def radial(k, r):
    """exp(-i k r) / r and two derivatives along r."""
    wave = np.exp(-1j * k * r) / r
    return wave, wave * (-1j * k - 1 / r), wave * (-(k**2) + 2j * k / r + 2 / r**2)
