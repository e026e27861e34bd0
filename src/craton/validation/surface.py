"""Below a free surface: Lamb's problem, and the two layers of Michea & Komatitsch (2010) at twice their spacing."""
import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import at_times, misfit, reference, row

# E = sum (a - b)^2 / sum b^2: the bound set for 400 m, kept for all. The Ricker has 5.9 points per S wavelength where its spectrum is 1 %.
LAMB_LIMIT = 0.002
COARSE_LIMIT, LAYERS_LIMIT = 0.03, 0.02  # relative L2; the bound is that at 100 m with tau 0.12 and 0.16 s
RATE_LIMIT = 0.5  # of the misfit at half the spacing over that at the whole one
LAYERS = [{"top": 0, "vp": 4200, "vs": 2422, "rho": 2300}, {"top": -1400, "vp": 6000, "vs": 3460, "rho": 2700}]


def lamb(device, spacing=10.0, order=4):
    """A vertical force on the surface of a half-space with lambda = mu, receivers on the surface (Mooney 1974, Kausel 2012)."""
    kept = reference("lamb3d")
    data = api.run(lamb_scenario(kept["r"], spacing, order), device=device, progress=False).dataset
    t, rows = kept["t"], []
    for station, (r, radial, down) in enumerate(zip(kept["r"], kept["vr"], kept["vz_down"])):
        found = at_times(data.time.values, data.velocity.values[station], t)
        wanted = np.stack([radial, 0 * radial, -down])
        what = f"Lamb 3-D, order {order}, h = {spacing:g} m: E at {r:g} m"
        rows.append(row(what, misfit(found, wanted) ** 2, LAMB_LIMIT, (t, found[2], wanted[2])))
    return rows


def lamb_scenario(distances, spacing, order):
    """Set-up of the reference: Vp 2078.46, Vs 1200, rho 2000, 1e9 N down, Ricker 7.5 Hz at 0.2 s."""
    side = 200 + 12 * spacing
    low = np.floor(-side / spacing) * spacing
    high, depth = np.ceil((max(distances) + side) / spacing) * spacing, np.ceil((450 + 12 * spacing) / spacing) * spacing
    return Scenario(
        domain={"origin": [low, low, -depth], "size": [high - low, -2 * low, depth], "spacing": spacing},
        model={"kind": "homogeneous", "vp": 1200 * 3**0.5, "vs": 1200, "rho": 2000},
        time={"duration": 1.2, "start": 0},
        source=[{"kind": "force", "at": [0, 0, 0], "force": [0, 0, -1e9], "wavelet": {"kind": "ricker", "frequency": 7.5, "delay": 0.2}}],
        receivers=[{"name": f"R{n}", "at": [float(r), 0, 0]} for n, r in enumerate(distances)],
        run={"order": order},
    )


def two_layers(device, spacing=200.0, taus=(0.32,), limit=COARSE_LIMIT):
    """A strike-slip double couple below the interface, stations on the surface, against pyprop8 and PyGRT, which agree to 4e-5."""
    kept = reference("two_layers")
    t, records = layers_run(kept, spacing, min(taus), device)
    return [one for tau in taus for one in layers_rows(kept, t, widened(t, records, min(taus), tau), spacing, tau, limit)]


def two_layers_refined(device, spacings=(200.0, 100.0), taus=(0.16, 0.12), shared=0.24):
    """The misfits at the finest spacing with the sources of the bound, and how they fall with the spacing for one that all can carry.

    The interface cuts its cells in the same way at all of them.
    """
    kept, rows, worst = reference("two_layers"), [], []
    for spacing in spacings:
        last = spacing == spacings[-1]
        tau = min(taus) if last else shared
        t, records = layers_run(kept, spacing, tau, device)
        rows += [one for wide in taus for one in layers_rows(kept, t, widened(t, records, tau, wide), spacing, wide)] if last else []
        worst.append(max(one["misfit"] for one in layers_rows(kept, t, widened(t, records, tau, shared), spacing, shared)))
    fallen = f"two layers, tau = {shared:g} s: worst misfit " + ", ".join(f"{m:.2g}" for m in worst)
    return [*rows, row(f"{fallen} at h = {', '.join(f'{h:.3g}' for h in spacings)} m: last / first", worst[-1] / worst[0], RATE_LIMIT)]


def layers_run(kept, spacing, tau, device):
    """Times of the reference within the run, and velocity (stations, components, times) at them."""
    data = api.run(layers_scenario(1e3 * kept["stations_km"], spacing, tau), device=device, progress=False).dataset
    t = kept["t"][kept["t"] < data.time.values[-1]]
    return t, at_times(data.time.values, data.velocity.values, t)


def layers_rows(kept, t, found, spacing, tau, limit=LAYERS_LIMIT):
    """Rows of the stations."""
    wanted = widened(kept["t"], kept["velocity"].astype(float), float(kept["tau"]), tau)[..., : len(t)]
    what, places = f"two layers, h = {spacing:.4g} m, tau = {tau:g} s: velocity at", kept["stations_km"]
    return [row(f"{what} {x:g}, {y:g} km", misfit(one, exact), limit, (t, one[1], exact[1]))
            for (x, y), one, exact in zip(places, found, wanted)]  # fmt: skip


def layers_scenario(places, spacing, tau):
    """The model about the source at (0, 0, -2500) and the stations."""
    low, high, depth = np.full(2, -2400.0), places.max(axis=0) + 2400, 6000.0
    return Scenario(
        domain={"origin": [*low.tolist(), -depth], "size": [*(high - low).tolist(), depth], "spacing": spacing},
        model={"kind": "layers", "layers": LAYERS},
        time={"duration": 12.5, "start": 0},
        source=[{"kind": "moment_tensor", "at": [0, 0, -2500], "strike": 0, "dip": 90, "rake": 0, "moment": 1e18,
                 "wavelet": {"kind": "gaussian", "tau": tau, "delay": 4 * tau}}],
        receivers=[{"name": f"R{n}", "at": [float(x), float(y), 0]} for n, (x, y) in enumerate(places)],
    )  # fmt: skip


def widened(t, values, tau, wider):
    """Series of a Gaussian source of width `tau` centred at 4 tau as those of a wider one: convolved with a Gaussian, and later."""
    n = 4 * len(t)
    w = 2 * np.pi * np.fft.rfftfreq(n, t[1] - t[0])
    factor = np.exp(-0.5 * w**2 * (wider**2 - tau**2) - 4j * w * (wider - tau))
    return np.fft.irfft(np.fft.rfft(values, n) * factor, n)[..., : len(t)]
