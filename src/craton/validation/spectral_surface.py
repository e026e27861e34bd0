"""Spectral elements below a free surface: Lamb's problem, two layers, and these by finite differences and by elements."""
import numpy as np

from craton.validation import surface
from craton.validation.compare import at_times, misfit, reference, row
from craton.validation.spectral import by_elements, grown, ran

LAYERS_LIMIT, AGREEMENT_LIMIT = 0.01, 0.015  # relative L2
NEAR_LIMIT = 0.01  # of the two layers with sides 2.2 km from source and stations, absorbing layers of three elements within
LAMB_NEAR_LIMIT = 0.005
WINDOW = 6.5  # s: then the S wave has passed all stations; later, what absorbing faces send back at slanting incidence is a tenth


def lamb(device, spacing=40.0, degree=4, most=400.0, border=560.0):
    """As `surface.lamb`; edges of 40 m have 5.4 points per shortest Rayleigh wavelength. Receivers up to `most` metres away."""
    kept = reference("lamb3d")
    chosen = kept["r"] <= most
    of_differences = surface.lamb_scenario(kept["r"][chosen], 10.0, 4)
    of_differences = of_differences.model_copy(update={"time": of_differences.time.model_copy(update={"duration": 0.4 + most / 1000})})
    box = grown((0, 0, 0), (most, 0, 0), border, spacing, top=0.0)
    data = ran(by_elements(of_differences, spacing, degree, box), device)
    t = kept["t"][kept["t"] < data.time.values[-1]]
    rows = []
    for station, (r, radial, down) in enumerate(zip(*(kept[name][chosen] for name in ("r", "vr", "vz_down")))):
        wanted = np.stack([radial, 0 * radial, -down])[:, : len(t)]
        found = at_times(data.time.values, data.velocity.values[station], t)
        what = f"Lamb 3-D, degree {degree}, edge {spacing:g} m: E at {r:g} m"
        rows.append(row(what, misfit(found, wanted) ** 2, surface.LAMB_LIMIT, (t, found[2], wanted[2])))
    return rows


def two_layers(device, tau=0.32, spacings=(1200.0, 200.0), degree=4, border=14_000.0):
    """As `surface.two_layers`, of which the layer is 1400 m thick; then by finite differences, the elements as their reference."""
    kept = reference("two_layers")
    t, elements = layers_run(kept, spacings[0], tau, degree, border, device)
    _, differences = surface.layers_run(kept, spacings[1], tau, device)
    made = f"degree {degree}, edge {spacings[0]:g} m, tau = {tau:g} s"
    rows = surface.layers_rows(kept, t, elements, spacings[0], tau, LAYERS_LIMIT)
    rows = [one | {"what": f"two layers, {made}: velocity at{one['what'].rpartition('at')[2]}"} for one in rows]
    for n, (x, y) in enumerate(kept["stations_km"]):
        other = differences[n][:, : len(t)]
        what = f"two layers, finite differences of {spacings[1]:g} m against {made}: velocity at {x:g}, {y:g} km"
        rows.append(row(what, misfit(other, elements[n]), AGREEMENT_LIMIT, (t, other[1], elements[n, 1])))
    return rows


def near_layers(device, tau=0.16, spacing=600.0, border=2200.0):
    """Lamb's problem and the two layers in small boxes with absorbing layers of three elements inside."""
    kept = reference("two_layers")
    places = 1e3 * kept["stations_km"]
    low, high = -np.full(2, border), places.max(axis=0)[:2] + border
    box = [*low, -6000.0], [*(high - low), 6000.0]
    t, found = layers_run(kept, spacing, tau, 4, border, device, box, "pml", None)
    rows = surface.layers_rows(kept, t, found, spacing, tau, NEAR_LIMIT)
    what = f"two layers, sides {border / 1e3:g} km from source and stations, tau = {tau:g} s: velocity at"
    rows = [one | {"what": f"{what}{one['what'].rpartition('at')[2]}"} for one in rows]
    kept = reference("lamb3d")
    near = kept["r"] <= 400.0
    of_differences = surface.lamb_scenario(kept["r"][near], 10.0, 4)
    data = ran(by_elements(of_differences, 100 / 3, 4, grown((0, 0, 0), (400, 0, 0), 250.0, 100 / 3, top=0.0), absorbing="pml"), device)
    t = kept["t"][kept["t"] < data.time.values[-1]]
    for station, (r, radial, down) in enumerate(zip(*(kept[name][near] for name in ("r", "vr", "vz_down")))):
        wanted, found = np.stack([radial, 0 * radial, -down])[:, : len(t)], at_times(data.time.values, data.velocity.values[station], t)
        what = f"Lamb 3-D, sides 250 m from source and stations: velocity at {r:g} m"
        rows.append(row(what, misfit(found, wanted), LAMB_NEAR_LIMIT, (t, found[2], wanted[2])))
    return rows


def layers_run(kept, spacing, tau, degree, border, device, box=None, absorbing="stacey", window=WINDOW):
    """Times of the reference within the run, and velocity at them."""
    places = 1e3 * kept["stations_km"]
    scenario = surface.layers_scenario(places, 200.0, tau)
    if window is not None:
        scenario = scenario.model_copy(update={"time": scenario.time.model_copy(update={"duration": window})})
    box = box or grown((0, 0, -2500), (*places.max(axis=0), 0), border, spacing, top=0.0)
    data = ran(by_elements(scenario, spacing, degree, box, absorbing=absorbing), device)
    t = kept["t"][kept["t"] < data.time.values[-1]]
    return t, at_times(data.time.values, data.velocity.values, t)
