"""What may not be lost: energy in closed boxes, rest under rigid motions, exchange of source and receiver, bits of two runs; what
absorbing faces shall take away. float64 in random media below a free surface, unless said otherwise.
"""

import numpy as np

from craton.backends import backend
from craton.conventions import STRESS
from craton.driver import run as driver
from craton.driver import waves
from craton.methods.finite_difference.equations.closure import HIGHEST, closure
from craton.scenario import Scenario
from craton.validation.compare import CASES, merged, misfit, row, runs
from craton.validation.spectral import begun, distorted, positions, prepared, without_source

QUIET = 1.2  # s, when the wavelet is over
WATER = {
    "kind": "layers",
    "layers": [
        {"top": 0, "vp": 1500, "vs": 0, "rho": 1030},
        {"top": -800, "vp": 4000, "vs": 2300, "rho": 2500},
        {"top": -1600, "vp": 5000, "vs": 2800, "rho": 2700},
    ],
}


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


def medium(name):
    """Return a model by its name in the rows."""
    if name == "21 constants":
        return CASES["sem-anisotropy"]["scenario"]["model"]
    return WATER if name == "water over two layers" else random_medium()


# --- finite differences ---------------------------------------------------------------------------


def energy(case, device):
    """Rigid sides: the energy that the scheme conserves, from the end of the sources on."""
    rows = []
    for order in case["orders"]:
        tables = merged(case["scenario"], {"run": {"order": order}})
        values, steps = energies(Scenario(**tables, model=random_medium()), order, device)
        drift = (values.max() - values.min()) / values.mean()
        rows.append(row(f"energy, order {order}, {steps} steps: (largest - smallest) / mean", drift, case["limit"]))
    return rows


def energies(scenario, order, device):
    """Return the energy at each step once the sources are silent, and the steps from the first to the last."""
    planned = driver.plan(scenario)
    quiet = int(QUIET / planned.dt)
    for name in ("stress_series", "velocity_series"):
        planned.arrays[name].data[quiet:] = 0
    program = waves.commit(scenario, planned, backend(device))
    weights, values = weighted(program, order), []
    for step in range(planned.steps):
        looked = step > quiet
        before = {name: program.host(name) for name in ("vx", "vy", "vz", *STRESS)} if looked else None
        program.step(step)
        if looked:
            values.append(energy_of(weights, before, [program.host(name) for name in ("vx", "vy", "vz")]))
    return np.array(values), len(values) - 1


def weighted(program, order):
    """Density or compliance of each kind of point, times the weight of its plane in the energy; the closure's near the free surface."""
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


# --- both methods ---------------------------------------------------------------------------------


def reciprocity(case, device):
    """Exchange forces and receivers in and on the ground, off and on nodes: d_b . u_a(b) = d_a . u_b(a), d the directions."""
    rows, places = [], [receiver["at"] for receiver in case["scenario"]["receivers"]]
    directions = np.random.default_rng(3).normal(size=(len(places), 3))
    for run in runs(case):
        motion = []
        for at, direction in zip(places, directions):
            force = {"kind": "force", "at": at, "force": (1e10 * direction).tolist(), "wavelet": run["wavelet"]}
            scenario = Scenario(**run["scenario"], model=random_medium(), source=[force])
            samples = driver.run(scenario, device=device, progress=False).samples
            motion.append(samples.reshape(len(samples), len(places), 3) @ directions.T)
        pairs = [(motion[a][:, b, b], motion[b][:, a, a]) for a in range(len(places)) for b in range(a)]
        largest = max(np.abs(first - second).max() / np.abs(first).max() for first, second in pairs)
        rows.append(row(f"{run['what']}: largest difference / peak of the pair", largest, run["limit"]))
    return rows


# --- spectral elements ----------------------------------------------------------------------------


def energy_of_elements(case, device):
    """Run from random motion below a free surface, sides rigid: what the leapfrog conserves; distorted elements where all is solid."""
    rows, steps = [], case["steps"]
    for name in case["media"]:
        scenario = without_source(case["scenario"] | {"model": medium(name)})
        _, planned = prepared(scenario, None if name.startswith("water") else distorted(scenario))
        program, terms, totals = begun(planned, device, noise(planned)), Energy(planned), []
        for step in range(steps):
            last = terms.state(program) if step > 1 and step % 10 == 0 else None
            program.step(step)
            if last:
                totals.append(terms.of(last, terms.state(program)))
        drift = np.ptp(totals) / np.mean(totals)
        rows.append(row(f"energy, {name}, {steps} steps: (largest - smallest) / mean", drift, case["limit"]))
    return rows


def noise(planned, seed=2):
    """Random displacement and potential; zero where nothing may move, and at the dummy points."""
    rng, fields = np.random.default_rng(seed), {}
    for field, fixed in (("displacement", "rigid_points_points"), ("potential", "fluid_rigid_points")):
        if field in planned.arrays:
            values = rng.normal(size=planned.arrays[field].shape)
            values[-1] = 0
            if fixed in planned.arrays:
                values[planned.arrays[fixed].data] = 0
            fields[field] = values
    return fields


class Energy:
    """Masses and coupling of a plan, and the energy of two states that follow each other.

    With a = chi'', M u'' + K u = -B^T a and M_f a + K_f chi = B u, the leapfrog conserves (n counts
    steps)

        a(n) M_f a(n) / 2 + chi'(n+1/2) K_f chi'(n-1/2) / 2 + v(n-1/2) M v(n-1/2) / 2 + u(n-1) K
        u(n) / 2 - dt/2 a(n) B v(n-1/2)

    where K u(n) and K_f chi'(n-1/2) follow from the two equations. Velocities are half a step
    behind the displacements beside them.
    """

    def __init__(self, planned):
        arrays, nowhere = planned.arrays, np.zeros(0, int)
        self.dt, self.mass = planned.dt, mass_of(planned, "inverse_mass")
        self.fluid_mass = mass_of(planned, "fluid_inverse_mass")
        coupling = ("coupling_solid", "coupling_fluid", "coupling_vectors")
        there = coupling[0] in arrays
        self.coupled = [arrays[name].data for name in coupling] if there else [nowhere, nowhere, np.zeros((3, 0))]

    def state(self, program):
        """u, v, chi', a, without the dummy points."""
        names = ("displacement", "velocity", "potential_rate", "pressure")
        u, v, rate, pressure = (
            program.host(name)[:-1].astype(float) if name in program.plan.arrays else np.zeros(0) for name in names
        )
        return u, v, rate, -pressure

    def to_fluid(self, v):
        """B v."""
        solid, fluid, vectors = self.coupled
        out = np.zeros(len(self.fluid_mass))
        np.add.at(out, fluid, (vectors.T * v[solid]).sum(axis=1))
        return out

    def to_solid(self, a):
        """B^T a."""
        solid, fluid, vectors = self.coupled
        out = np.zeros((len(self.mass), 3))
        np.add.at(out, solid, vectors.T * a[fluid, None])
        return out

    def of(self, last, now):
        """Energy of the states after two steps."""
        (u, v, _, a_before), (_, v_after, rate_after, a) = last, now
        stiff = -self.to_solid(a) - self.mass[:, None] * (v_after - v) / self.dt
        onto = self.to_fluid(v)
        stiff_fluid = onto - self.fluid_mass * (a - a_before) / self.dt
        solid = (self.mass[:, None] * v**2).sum() + ((u - self.dt * v) * stiff).sum()
        return (solid + (self.fluid_mass * a**2).sum() + rate_after @ stiff_fluid - self.dt * (a @ onto)) / 2


def mass_of(planned, name="inverse_mass"):
    """Masses of the points of a medium, none where there is none."""
    return 1 / planned.arrays[name].data[:-1].astype(float) if name in planned.arrays else np.zeros(0)


def rest(case, device):
    """Start from translations and rotations of distorted elements: the largest acceleration, over what such a displacement can have."""
    rows = []
    for name in case["media"]:
        scenario = without_source(case["scenario"] | {"model": medium(name)})
        d, planned = prepared(scenario, distorted(scenario))
        xyz, worst = positions(d) - middle(case), 0.0
        for motion in [*np.eye(3), *(np.cross(axis, xyz) / 1000 for axis in np.eye(3))]:
            u = np.broadcast_to(motion, xyz.shape).copy()
            u[-1] = 0
            program = begun(planned, device, {"displacement": u})
            program.step(0)
            largest = planned.dt * (2 / d.stable.limit) ** 2 * np.abs(u).max()
            worst = max(worst, np.abs(program.host("velocity")).max() / largest)
        text = f"rigid motions, {name}, distorted elements: acceleration / largest possible"
        rows.append(row(text, worst, case["limit"]))
    return rows


def middle(case):
    """Middle of a case's box, m."""
    return np.array(case["scenario"]["domain"]["origin"]) + np.array(case["scenario"]["domain"]["size"]) / 2


def colours(case, device):
    """Coloured assembly twice, float32: bits that differ; and the usual assembly against it."""
    first, second, usual = (
        driver.run(Scenario(**run["scenario"], model=random_medium()), device=device, progress=False).samples
        for run in runs(case)
    )
    differing = np.count_nonzero(first.view(np.int32) != second.view(np.int32))
    apart = misfit(usual.astype(float), first.astype(float))
    return [
        row("coloured assembly, two runs: samples that differ", differing, 0.5),
        row("usual assembly against coloured, float32: velocity", apart, case["limit"]),
    ]


def absorbing_box(case, device):
    """Run a pulse in a box with absorbing faces all around: kinetic energy after some crossings of S waves over its peak."""
    d, planned = prepared(without_source(case["scenario"]))
    xyz, crossings = positions(d) - middle(case), case["crossings"]
    u = np.exp(-0.5 * (xyz**2).sum(axis=1) / 250**2)[:, None] * [1.0, -0.5, 0.7]
    u[-1] = 0
    program, mass, kinetic = begun(planned, device, {"displacement": u}), mass_of(planned), []
    for step in range(int(crossings * 2400 / 2000 / planned.dt)):
        program.step(step)
        kinetic.append((mass[:, None] * program.host("velocity")[:-1] ** 2).sum())
    text = f"absorbing faces all around: kinetic energy after {crossings:g} crossings of S waves / peak"
    return [row(text, kinetic[-1] / max(kinetic), case["limit"])]
