"""Waves in a full space and long runs: order of convergence, every quantity off the nodes, single precision, stability."""

import math

import numpy as np
import pytest

import craton
from craton import api
from craton.backends import backend
from craton.driver import waves
from craton.scenario import Scenario
from craton.validation import absorbing, homogeneous, surface
from craton.validation.compare import misfit
from craton.validation.exact import fullspace

VP, VS, RHO = homogeneous.VP, homogeneous.VS, homogeneous.RHO
KAPPA = RHO * (VP**2 - 4 / 3 * VS**2)

# --- order of convergence ---------------------------------------------------------------------------------------------------------------


def force_error(order, spacing, far, beyond, layer):
    """Misfit of vx of a force along x, source and receivers on points of vx, so that nothing is interpolated; wavelength 1 km at 1 %.

    The farthest receiver is `far` away, m, CPML of `layer` points that share `beyond` of it from source and receivers: what it
    reflects stays below the errors that are compared.
    """
    frequency = VS / 1000 / homogeneous.ONE_PERCENT
    distances = [round(share * far) for share in (1, 2 / 3, 1.7 / 3)]
    places = [
        2 * round(x / (2 * spacing)) * spacing * np.array(d)
        for x, d in zip(distances, ((1, 0, 0), (1, 0, 1), (1, 1, 1)))
    ]
    wavelet = {"kind": "ricker", "frequency": frequency, "delay": 0}
    border = math.ceil(beyond * far / spacing) + layer
    size = [(math.ceil(x / spacing) + 2 * border + 1) * spacing for x in (distances[0], distances[2], distances[1])]
    scenario = Scenario(
        domain={
            "origin": [-(border + 0.5) * spacing, -border * spacing, -border * spacing],
            "size": size,
            "spacing": spacing,
        },
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": far / VS + 1.2 / frequency, "start": -1.5 / frequency},
        boundaries={"top": "cpml", "others": "cpml", "cpml": {"thickness": layer}},
        source=[{"kind": "force", "at": [0, 0, 0], "force": [1e10, 0, 0], "wavelet": wavelet}],
        receivers=[{"name": f"R{n}", "at": x.tolist()} for n, x in enumerate(places)],
        run={"order": order, "precision": "float64"},
    )
    data = api.run(scenario, device="cpu", progress=False).dataset
    history = fullspace.history("ricker", frequency)
    wanted = [
        fullspace.point_force(x, (0, 0, 0), (1e10, 0, 0), history, data.time.values, VP, VS, RHO)[0] for x in places
    ]
    return misfit(data.velocity.values[:, 0], np.array(wanted))


@pytest.mark.parametrize(
    "order, coarse, far, beyond, layer",
    [(2, 150.0, 2000, 0.3, 10), (4, 200.0, 2000, 0.3, 10), (8, 300.0, 3000, 0.5, 20)],
)
def test_order_of_convergence(order, coarse, far, beyond, layer):
    """Time error is corrected (survey.leapfrog), so the slope is that of the space differences, nominal up to the next term's share."""
    errors = [force_error(order, h, far, beyond, layer) for h in (coarse, coarse / 1.5)]
    slope = math.log(errors[0] / errors[1]) / math.log(1.5)
    assert abs(slope - order) < 0.15 * order


# --- quantities, off the nodes ----------------------------------------------------------------------------------------------------------

TAU = math.sqrt(2 * math.log(100)) / (
    2 * math.pi * 2.0
)  # s; the Gaussian's spectrum is 1 % of its peak at 2 Hz, 10 points per wavelength
TENSOR = {"xx": 1e15, "yy": -0.5e15, "zz": 0.7e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
WANTED = ("velocity", "displacement", "pressure", "strain", "strain_rate", "rotation_rate")
AT = np.array([1540.0, 1530.0, 1575.0])
PLACES = [AT + np.array(d) for d in ((1211.0, 33.0, 47.0), (1163.0, 1219.0, 871.0), (420.0, 1250.0, 1181.0))]


def matrix(xx, yy, zz, xy, xz, yz):
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def quantities_of(tensor):
    """(dataset, exact) of a Gaussian moment rate; exact: (quantity -> (receivers, components, time))."""
    source = {"kind": "moment_tensor", "at": AT.tolist(), "tensor": tensor, "wavelet": {"kind": "gaussian", "tau": TAU}}
    scenario = homogeneous.infinite(source, PLACES, 3.2, 4, output={"waveforms": list(WANTED)})
    data = api.run(scenario, device="cpu", progress=False).dataset
    return data, [exact_quantities(x, matrix(**tensor), data.time.values) for x in PLACES]


def exact_quantities(x, moment, t):
    """Every quantity at x, gradients by central differences of the exact motion."""
    history = fullspace.history("gaussian", TAU)

    def motion(deriv):
        return lambda y: fullspace.moment_tensor(y, AT, moment, lambda t, n: history(t, n - 1), t, VP, VS, RHO, deriv)

    g, rate = (fullspace.gradient(motion(deriv), x, 20.0) for deriv in (0, 1))
    strain, strain_rate = (voigt((a + a.transpose(1, 0, 2)) / 2) for a in (g, rate))
    curl = np.array([rate[2, 1] - rate[1, 2], rate[0, 2] - rate[2, 0], rate[1, 0] - rate[0, 1]])
    pressure = -KAPPA * (g[0, 0] + g[1, 1] + g[2, 2])[None]
    return {
        "velocity": motion(1)(x),
        "displacement": motion(0)(x),
        "pressure": pressure,
        "strain": strain,
        "strain_rate": strain_rate,
        "rotation_rate": curl / 2,
    }


def voigt(a):
    return np.array([a[0, 0], a[1, 1], a[2, 2], a[0, 1], a[0, 2], a[1, 2]])


@pytest.fixture(scope="module")
def tensor_run():
    return quantities_of(TENSOR)


@pytest.mark.parametrize("quantity", WANTED)
def test_moment_tensor_off_the_nodes(quantity, tensor_run):
    """Limit 1 %: that of the issue for velocity at order 4 and 10 points per wavelength, kept for all quantities."""
    data, wanted = tensor_run
    errors = [
        misfit(data[quantity].values[n].reshape(one[quantity].shape), one[quantity]) for n, one in enumerate(wanted)
    ]
    assert max(errors) < 0.01


def test_static_offset(tensor_run):
    """What stays of the displacement when the waves have gone, 1.2 and 1.7 km away: 1 % as above, of the offset."""
    data, wanted = tensor_run
    for n, one in enumerate(wanted):
        found, offset = (data.displacement.values[n][:, -10:].mean(axis=1), one["displacement"][:, -10:].mean(axis=1))
        assert np.linalg.norm(found - offset) < 0.01 * np.linalg.norm(offset)


def test_explosion_has_the_pressure_of_an_explosion():
    """P = -kappa div u, no S wave and no rotation; limit 1 % as above."""
    data, wanted = quantities_of({**dict.fromkeys(TENSOR, 0.0), **dict.fromkeys(("xx", "yy", "zz"), 1e15)})
    for n, one in enumerate(wanted):
        p = one["pressure"].ravel()
        assert misfit(data.pressure.values[n].ravel(), p) < 0.01
        assert np.abs(data.rotation_rate.values[n]).max() < 0.01 * np.abs(one["strain_rate"]).max()


# --- precision, stability ---------------------------------------------------------------------------------------------------------------


def test_single_precision_is_enough():
    """float32 keeps 6e-8 a step; some hundred steps and their sums leave 1e-6 to 1e-5 of the motion."""
    source = homogeneous.source_table("double couple", AT, 0.7)
    scenarios = [homogeneous.infinite(source, PLACES, 2.5, 4, run={"precision": p}) for p in ("float32", "float64")]
    runs = [api.run(one, device="cpu", progress=False).samples for one in scenarios]
    assert runs[0].dtype == np.float32 and runs[1].dtype == np.float64
    assert 0 < misfit(runs[0].astype(float), runs[1]) < 1e-5


LAYERED = {"kind": "layers", "layers": surface.LAYERS[:1] + [{**surface.LAYERS[1], "top": -850}]}


@pytest.mark.parametrize("faces", [{}, {"top": "cpml"}])
def test_stable_for_long(faces):
    """15,000 steps on 20^3 points with CPML of 5, below a free surface or CPML; 100,000 in `bench physics`. Little is left."""
    count, step, wavelet = 15_000, 0.0075, {"kind": "ricker", "frequency": 3, "delay": 0.4}
    scenario = Scenario(
        domain={"origin": [0, 0, -1900], "size": [1900] * 3, "spacing": 100},
        model=LAYERED,
        time={"duration": count * step, "start": 0, "step": step},
        boundaries={"cpml": {"thickness": 5}, **faces},
        source=[{"kind": "moment_tensor", "at": [911, 960, -730], "tensor": TENSOR, "wavelet": wavelet}],
    )
    planned = craton.plan(scenario)
    program, largest = waves.commit(scenario, planned, backend("cpu")), []
    for n in range(planned.steps):
        absorbing.advance(program, n)
        if n < 300 or n % 1000 == 999:
            largest.append(max(float(abs(program.host(v)).max()) for v in ("vx", "vy", "vz")))
    assert largest[-1] <= largest[-8] <= 1e-4 * max(largest)
