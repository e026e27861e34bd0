"""Below a free surface: Lamb's problem, and the two layers of Michea & Komatitsch (2010) at twice
their spacing; both methods.
"""

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import at_times, misfit, reference, row
from craton.validation.spectral import by_elements, grown, ran

# E = sum (a - b)^2 / sum b^2: the bound set for 400 m, for all. The Ricker has 5.9 points per S
# wavelength where its spectrum is 1 %.
LAMB_LIMIT = 0.002
# relative L2; the bound is that at 100 m with tau 0.12 and 0.16 s
COARSE_LIMIT, LAYERS_LIMIT = 0.03, 0.02
# of spectral elements; of both methods against each other
ELEMENTS_LIMIT, AGREEMENT_LIMIT = 0.01, 0.015
# with faces near, and absorbing layers of three elements within
NEAR_LIMIT, LAMB_NEAR_LIMIT = 0.01, 0.005
RATE_LIMIT = 0.5  # of the misfit at half the spacing over that at the whole one
LAYERS = [{"top": 0, "vp": 4200, "vs": 2422, "rho": 2300}, {"top": -1400, "vp": 6000, "vs": 3460, "rho": 2700}]
# s: then the S wave has passed all stations; later, what Stacey faces send back at slanting
# incidence is a tenth
WINDOW = 6.5


# --- Lamb's problem -------------------------------------------------------------------------------


def lamb(device, method="fd", spacing=None, order=4, most=400.0, border=560.0):
    """Return a vertical force on the surface of a half-space with lambda = mu, receivers on the
    surface (Mooney 1974, Kausel 2012).

    Parameters
    ----------
    device : str
    method : str
    spacing : float, optional
        Of the points, 10 m; edge of the elements, 40 m, which have 5.4 points per shortest Rayleigh
        wavelength.
    order : int
        Of the differences; degree of the elements.
    most, border : float
        Spectral elements: receivers up to so many metres away, and the way to the faces, m.
    """
    if method == "fd":
        spacing, solution = spacing or 10.0, reference("lamb3d")
        label = f"Lamb 3-D, order {order}, h = {spacing:g} m"
        data = api.run(lamb_scenario(solution["r"], spacing, order), device=device, progress=False).dataset
    else:
        spacing, solution = spacing or 40.0, lamb_until(most)
        label = f"Lamb 3-D, degree {order}, edge {spacing:g} m"
        data = lamb_elements(solution, device, spacing, border, order, duration=0.4 + most / 1000)
    return lamb_rows(solution, data, f"{label}: E at", LAMB_LIMIT, power=2)


def lamb_until(most):
    """Return the reference's receivers up to a distance."""
    solution = reference("lamb3d")
    return {key: v[solution["r"] <= most] if key in ("r", "vr", "vz_down") else v for key, v in solution.items()}


def lamb_elements(solution, device, spacing, border, degree=4, absorbing="stacey", duration=1.2):
    """Dataset of a run by spectral elements."""
    box = grown((0, 0, 0), (max(solution["r"]), 0, 0), border, spacing, top=0.0)
    scenario = lasting(lamb_scenario(solution["r"], 10.0, 4), duration)
    return ran(by_elements(scenario, spacing, degree, box, absorbing=absorbing), device)


def lamb_rows(solution, data, label, limit, power=1):
    """Rows of the receivers: a power of the misfit."""
    t, rows = solution["t"][solution["t"] < data.time.values[-1]], []
    for values, r, radial, down in zip(data.velocity.values, solution["r"], solution["vr"], solution["vz_down"]):
        computed = at_times(data.time.values, values, t)
        expected = np.stack([radial, 0 * radial, -down])[:, : len(t)]
        error = misfit(computed, expected) ** power
        rows.append(row(f"{label} {r:g} m", error, limit, (t, computed[2], expected[2])))
    return rows


def lasting(scenario, duration):
    """Return the scenario with another duration, s."""
    time = scenario.time.model_copy(update={"duration": duration})
    return scenario.model_copy(update={"time": time})


def lamb_scenario(distances, spacing, order):
    """Return set-up of the reference: Vp 2078.46, Vs 1200, rho 2000, 1e9 N down, Ricker 7.5 Hz at
    0.2 s.
    """
    side = 200 + 12 * spacing
    low = np.floor(-side / spacing) * spacing
    high, depth = (
        np.ceil((max(distances) + side) / spacing) * spacing,
        np.ceil((450 + 12 * spacing) / spacing) * spacing,
    )
    ricker = {"kind": "ricker", "frequency": 7.5, "delay": 0.2}
    return Scenario(
        domain={"origin": [low, low, -depth], "size": [high - low, -2 * low, depth], "spacing": spacing},
        model={"kind": "homogeneous", "vp": 1200 * 3**0.5, "vs": 1200, "rho": 2000},
        time={"duration": 1.2, "start": 0},
        source=[{"kind": "force", "at": [0, 0, 0], "force": [0, 0, -1e9], "wavelet": ricker}],
        receivers=[{"name": f"R{n}", "at": [float(r), 0, 0]} for n, r in enumerate(distances)],
        run={"order": order},
    )


# --- two layers -----------------------------------------------------------------------------------


def two_layers(device, method="fd", tau=0.32, spacings=(200.0, 1200.0), degree=4, border=14_000.0):
    """Return a strike-slip double couple below the interface, stations on the surface, against
    pyprop8 and PyGRT, which agree to 4e-5.

    Spectral elements, of which a layer is 1400 m thick, are then the reference of finite
    differences.

    Parameters
    ----------
    device : str
    method : str
    tau : float
        Of the Gaussian, s.
    spacings : (float, float)
        Of the points, edge of the elements, m.
    """
    solution = reference("two_layers")
    if method == "fd":
        t, records = layers_run(solution, spacings[0], tau, device)
        return layers_rows(solution, t, records, spacings[0], tau, COARSE_LIMIT)
    t, elements = layers_elements(solution, spacings[1], tau, device, border, degree)
    _, differences = layers_run(solution, spacings[0], tau, device)
    mesh = f"degree {degree}, edge {spacings[1]:g} m, tau = {tau:g} s"
    rows = layers_rows(solution, t, elements, spacings[1], tau, ELEMENTS_LIMIT, f"two layers, {mesh}")
    label = f"two layers, finite differences of {spacings[0]:g} m against {mesh}: velocity at"
    for (x, y), trace, difference in zip(solution["stations_km"], elements, differences[..., : len(t)]):
        curves = (t, difference[1], trace[1])
        rows.append(row(f"{label} {x:g}, {y:g} km", misfit(difference, trace), AGREEMENT_LIMIT, curves))
    return rows


def two_layers_refined(device, spacings=(200.0, 100.0), taus=(0.16, 0.12), shared=0.24):
    """Return the misfits at the finest spacing with the sources of the bound, and how they fall
    with the spacing for one that all can carry.

    The interface cuts its cells in the same way at all of them.
    """
    solution, rows, worst = reference("two_layers"), [], []
    for spacing in spacings:
        last = spacing == spacings[-1]
        tau = min(taus) if last else shared
        t, records = layers_run(solution, spacing, tau, device)
        rows += (
            [
                coarse
                for wide in taus
                for coarse in layers_rows(solution, t, widened(t, records, tau, wide), spacing, wide)
            ]
            if last
            else []
        )
        worst.append(
            max(
                coarse["misfit"]
                for coarse in layers_rows(solution, t, widened(t, records, tau, shared), spacing, shared)
            )
        )
    fallen = f"two layers, tau = {shared:g} s: worst misfit " + ", ".join(f"{m:.2g}" for m in worst)
    return [
        *rows,
        row(
            f"{fallen} at h = {', '.join(f'{h:.3g}' for h in spacings)} m: last / first",
            worst[-1] / worst[0],
            RATE_LIMIT,
        ),
    ]


def near_layers(device, tau=0.16, spacing=600.0, border=2200.0, window=12.5, most=400.0):
    """Return the two layers and Lamb's problem by spectral elements in small boxes, absorbing
    layers of three elements inside.

    Parameters
    ----------
    device : str
    tau, spacing, border, window : float
        Of the two layers: of the Gaussian, s; edge of the elements; from source and stations to the
        sides, m; duration, s.
    most : float
        Lamb's receivers up to so many metres away.
    """
    solution = reference("two_layers")
    low, high = -np.full(2, border), 1e3 * solution["stations_km"].max(axis=0)[:2] + border
    box = [*low, -6000.0], [*(high - low), 6000.0]
    t, computed = layers_elements(solution, spacing, tau, device, box=box, absorbing="pml", window=window)
    label = f"two layers, sides {border / 1e3:g} km from source and stations, tau = {tau:g} s"
    rows = layers_rows(solution, t, computed, spacing, tau, NEAR_LIMIT, label)
    solution, edge = lamb_until(most), 100 / 3
    data = lamb_elements(solution, device, edge, 250.0, absorbing="pml", duration=0.8 + most / 1000)
    label = "Lamb 3-D, sides 250 m from source and stations: velocity at"
    return rows + lamb_rows(solution, data, label, LAMB_NEAR_LIMIT)


def layers_run(solution, spacing, tau, device):
    """Return times of the reference within the run, and velocity (stations, components, times) at
    them.
    """
    scenario = layers_scenario(1e3 * solution["stations_km"], spacing, tau)
    return at_reference(solution, api.run(scenario, device=device, progress=False).dataset)


def layers_elements(solution, spacing, tau, device, border=0.0, degree=4, box=None, absorbing="stacey", window=WINDOW):
    """Return the same by spectral elements."""
    places = 1e3 * solution["stations_km"]
    scenario = lasting(layers_scenario(places, 200.0, tau), window)
    box = box or grown((0, 0, -2500), (*places.max(axis=0), 0), border, spacing, top=0.0)
    return at_reference(solution, ran(by_elements(scenario, spacing, degree, box, absorbing=absorbing), device))


def at_reference(solution, data):
    """Return times of the reference within a run, and velocity at them."""
    t = solution["t"][solution["t"] < data.time.values[-1]]
    return t, at_times(data.time.values, data.velocity.values, t)


def layers_rows(solution, t, computed, spacing, tau, limit=LAYERS_LIMIT, label=None):
    """Rows of the stations."""
    expected = widened(solution["t"], solution["velocity"].astype(float), float(solution["tau"]), tau)[..., : len(t)]
    label, places = (label or f"two layers, h = {spacing:.4g} m, tau = {tau:g} s", solution["stations_km"])
    return [
        row(f"{label}: velocity at {x:g}, {y:g} km", misfit(one, exact), limit, (t, one[1], exact[1]))
        for (x, y), one, exact in zip(places, computed, expected)
    ]


def layers_scenario(places, spacing, tau):
    """Return the model about the source at (0, 0, -2500) and the stations."""
    low, high, depth = np.full(2, -2400.0), places.max(axis=0) + 2400, 6000.0
    return Scenario(
        domain={"origin": [*low.tolist(), -depth], "size": [*(high - low).tolist(), depth], "spacing": spacing},
        model={"kind": "layers", "layers": LAYERS},
        time={"duration": 12.5, "start": 0},
        source=[
            {
                "kind": "moment_tensor",
                "at": [0, 0, -2500],
                "strike": 0,
                "dip": 90,
                "rake": 0,
                "moment": 1e18,
                "wavelet": {"kind": "gaussian", "tau": tau, "delay": 4 * tau},
            }
        ],
        receivers=[{"name": f"R{n}", "at": [float(x), float(y), 0]} for n, (x, y) in enumerate(places)],
    )


def widened(t, values, tau, wider):
    """Series of a Gaussian source of width `tau` centred at 4 tau as those of a wider one:
    convolved with a Gaussian, and later.
    """
    n = 4 * len(t)
    w = 2 * np.pi * np.fft.rfftfreq(n, t[1] - t[0])
    factor = np.exp(-0.5 * w**2 * (wider**2 - tau**2) - 4j * w * (wider - tau))
    return np.fft.irfft(np.fft.rfft(values, n) * factor, n)[..., : len(t)]
