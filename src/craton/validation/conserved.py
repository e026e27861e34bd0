"""What may not be lost: energy without absorbing layers, exchange of source and receiver; random
medium, free surface, float64.
"""

import numpy as np

from craton import api
from craton.backends import backend
from craton.driver import waves
from craton.methods.finite_difference.equations.closure import HIGHEST, closure
from craton.scenario import Scenario
from craton.validation.absorbing import STRESS
from craton.validation.compare import row
from craton.validation.spectral import by_elements

SIZE, SPACING = (2400.0, 2600.0, 2400.0), 100.0
EDGE = 400.0  # of elements, m
# relative; some thousand steps of float64, each with errors of 1e-16 of the largest terms
ROUNDING = 1e-11
WAVELET = {"kind": "ricker", "frequency": 4, "delay": 0.3}
QUIET = 1.2  # s, when the wavelet is over
PLACES = ([1160.0, 1333.0, -970.0], [1100.0, 1200.0, 0.0], [1311.0, 1123.0, -33.0], [934.0, 1400.0, -100.0])


def random_medium(seed=7, boxes=60):
    """Return a homogeneous model with boxes of random place, size and properties over all of it."""
    rng = np.random.default_rng(seed)
    low = rng.uniform([-100, -100, -2500], [2300, 2500, -100], (boxes, 3))
    high = low + rng.uniform(200, 900, (boxes, 3))
    vp, ratio, rho = (rng.uniform(3000, 5000, boxes), rng.uniform(1.6, 2.2, boxes), rng.uniform(1800, 3000, boxes))
    anomalies = [
        {"shape": "box", "min": a.tolist(), "max": b.tolist(), "vp": p, "vs": p / q, "rho": r}
        for a, b, p, q, r in zip(low, high, vp.tolist(), ratio.tolist(), rho.tolist())
    ]
    return {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2400, "anomalies": anomalies}


def scenario(sources, receivers, duration, order, boundaries, weights="taylor"):
    """Return the random medium below a free surface."""
    return Scenario(
        domain={"origin": [0, 0, -SIZE[2]], "size": list(SIZE), "spacing": SPACING},
        model=random_medium(),
        time={"duration": duration, "start": 0},
        boundaries={"top": "free", **boundaries},
        source=[{**one, "wavelet": WAVELET} for one in sources],
        receivers=[{"name": f"R{n}", "at": x} for n, x in enumerate(receivers)],
        run={"order": order, "weights": weights, "precision": "float64"},
    )


def energy(device, orders=(2, 4, 6, 8), duration=6.0, weights="taylor"):
    """Rigid sides: the energy that the scheme conserves, from the end of the sources on."""
    tensor = {"xx": 1e15, "yy": -0.5e15, "zz": 0.5e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
    inside = {"kind": "moment_tensor", "at": [1110, 1133, -270], "tensor": tensor}
    sources = [inside, {"kind": "force", "at": [1110, 1133, 0], "force": [1e10] * 3}]
    rows = []
    for order in orders:
        values, steps = energies(scenario(sources, (), duration, order, {"others": "rigid"}, weights), order, device)
        drift = (values.max() - values.min()) / values.mean()
        rows.append(row(f"energy, order {order}, {steps} steps: (largest - smallest) / mean", drift, ROUNDING))
    return rows


def energies(scenario, order, device, every=11):
    """Return the energy now and then once the sources are silent, and the steps between the first
    and the last look.
    """
    planned = api.plan(scenario)
    quiet = int(QUIET / planned.dt)
    for name in ("stress_series", "velocity_series"):
        planned.arrays[name].data[quiet:] = 0
    program = waves.commit(scenario, planned, backend(device))
    weights, values = weighted(program, order), []
    for step in range(planned.steps):
        if step > quiet and step % every == 0:
            before = {name: program.host(name) for name in ("vx", "vy", "vz", *STRESS)}
            program.step(step)
            after = [program.host(name) for name in ("vx", "vy", "vz")]
            values.append(energy_of(weights, before, after))
        else:
            program.step(step)
    return np.array(values), (len(values) - 1) * every


def weighted(program, order):
    """Of each kind of point: density or compliance, times the weight of its plane in the energy;
    the closure's near the free surface.
    """
    get = {name: program.backend.to_host(program.arrays[name]) for name in ("rho", "lam", "rmu")}
    window = program.plan.arrays["rho"].window

    def at(name, *axes):
        shifts = [sum(a == axis for a in axes) for axis in "zyx"]
        return get[name][tuple(slice(s.start + d, s.stop + d) for s, d in zip(window, shifts))]

    whole, half = planes(at("rho").shape[0], order)
    density = [w * (at("rho") + at("rho", a)) / 2 for w, a in zip((whole, whole, half), "xyz")]
    pairs = (("sxy", "xy", whole), ("sxz", "xz", half), ("syz", "yz", half))
    shear = {n: w * (at("rmu") + at("rmu", a) + at("rmu", b) + at("rmu", a, b)) / 4 for n, (a, b), w in pairs}
    lam, mu = at("lam"), 1 / at("rmu")
    normals = np.full(whole.shape, 3.0)
    normals[-1] = 2  # the vertical stress is zero on the surface: two dimensions' compliance
    return {
        "density": density,
        "shear": shear,
        "normal": whole / (2 * mu),
        "trace": whole * lam / (2 * mu * (normals * lam + 2 * mu)),
    }


def planes(count, order):
    """Weights of the whole and the half planes below a free surface."""
    whole, half, end = np.ones(count), np.ones(count), closure(min(order, HIGHEST))
    rows = len(end.hp)
    whole[count - rows :], half[count - 1 - rows : count - 1], half[-1] = (end.hp[::-1], end.hm[::-1], 0)
    return whole[:, None, None], half[:, None, None]


def energy_of(weights, before, after):
    """Energy of one step: velocities half a step before and after the stresses."""
    kinetic = sum((w * before[name] * v).sum() for w, name, v in zip(weights["density"], ("vx", "vy", "vz"), after))
    normal = sum(before[name] ** 2 for name in STRESS[:3])
    trace = sum(before[name] for name in STRESS[:3])
    elastic = (weights["normal"] * normal - weights["trace"] * trace**2).sum()
    return (kinetic + elastic + sum((w * before[name] ** 2).sum() for name, w in weights["shear"].items())) / 2


def reciprocity(device, method="fd", orders=None, places=PLACES, weights="taylor"):
    """Return forces inside, near and on the surface, off and on the nodes, each recorded at all:
    d_b . u_a(b) = d_a . u_b(a), d the directions.

    Parameters
    ----------
    device : str
    method : str
    orders : sequence of int, optional
        Of the differences; degrees of the elements.
    places : sequence
        Of the forces.
    weights : str
        Of the differences.
    """
    directions, rows = np.random.default_rng(3).normal(size=(len(places), 3)), []
    for order in orders or ((4, 8) if method == "fd" else (4,)):
        motion = []
        for at, direction in zip(places, directions):
            force = {"kind": "force", "at": at, "force": (1e10 * direction).tolist()}
            thin = {"others": "cpml", "cpml": {"thickness": 5}}
            case = scenario([force], places, 1.2, order, thin, weights)
            case = case if method == "fd" else by_elements(case, EDGE, order)
            samples = api.run(case, device=device, progress=False).samples
            motion.append(samples.reshape(len(samples), len(places), 3) @ directions.T)
        pairs = [(motion[a][:, b, b], motion[b][:, a, a]) for a in range(len(places)) for b in range(a)]
        worst = max(np.abs(first - second).max() / np.abs(first).max() for first, second in pairs)
        of_order = f", order {order}" if method == "fd" else ""
        rows.append(row(f"reciprocity{of_order}: largest difference / peak of the pair", worst, ROUNDING))
    return rows
