"""What spectral elements may not lose: energy, rest under rigid motions, reciprocity, bits; and
what absorbing faces shall take away.
"""

import numpy as np

from craton import api
from craton.scenario import SpectralScenario
from craton.validation import conserved
from craton.validation.compare import misfit, row
from craton.validation.spectral import UNUSED, begun, by_elements, distorted, positions, prepared
from craton.validation.spectral_waves import RHO, constants, tilted

ENERGY_LIMIT = 1e-10  # of the energy; float64
REST_LIMIT = 1e-12  # of the largest acceleration that a displacement of this size can have
SAME_LIMIT = 1e-5  # float32: sums in another order
LEFT_LIMIT = 0.01
MIDDLE = np.array([0.5, 0.5, -0.5]) * conserved.SIZE
WATER = {
    "kind": "layers",
    "layers": [
        {"top": 0, "vp": 1500, "vs": 0, "rho": 1030},
        {"top": -800, "vp": 4000, "vs": 2300, "rho": 2500},
        {"top": -1600, "vp": 5000, "vs": 2800, "rho": 2700},
    ],
}
SHALE = {"kind": "homogeneous", "rho": RHO, "stiffness": constants(tilted())}


def box(model, others, duration, top="free"):
    """Return the box of the cases of finite differences below a free surface, float64."""
    return SpectralScenario(
        domain={"origin": [0, 0, -conserved.SIZE[2]], "size": list(conserved.SIZE), "element_size": conserved.EDGE},
        model=model,
        time={"duration": duration, "start": 0},
        boundaries={"top": top, "others": others},
        source=[{**UNUSED, "at": [1000, 1000, -1000]}],
        run={"precision": "float64"},
    )


MEDIA = {"random medium": conserved.random_medium(), "21 constants": SHALE, "water over two layers": WATER}


def energy(device, media=tuple(MEDIA), steps=400):
    """Return a free surface and rigid sides, random motion at the start: what the leapfrog
    conserves; distorted elements where all is solid.
    """
    rows = []
    for name in media:
        scenario = box(MEDIA[name], "rigid", 1.0)
        d, planned = prepared(scenario, None if name.startswith("water") else distorted(scenario))
        total = energies(planned, begun(planned, device, noise(planned)), steps)
        drift = np.ptp(total) / total.mean()
        rows.append(row(f"energy, {name}, {steps} steps: (largest - smallest) / mean", drift, ENERGY_LIMIT))
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


def energies(planned, program, steps, every=10):
    """Return the conserved energy now and then."""
    terms, totals, last = Terms(planned), [], None
    for step in range(steps):
        program.step(step)
        now = terms.state(program)
        if last is not None and step > 1 and step % every == 0:
            totals.append(terms.energy(last, now))
        last = now
    return np.array(totals)


class Terms:
    """Masses and coupling of a plan, and the energy of two states that follow each other.

    With a = chi'', M u'' + K u = -B^T a and M_f a + K_f chi = B u, the leapfrog conserves (n counts
    steps)

        a(n) M_f a(n) / 2 + chi'(n+1/2) K_f chi'(n-1/2) / 2 + v(n-1/2) M v(n-1/2) / 2 + u(n-1) K
        u(n) / 2 - dt/2 a(n) B v(n-1/2)

    where K u(n) and K_f chi'(n-1/2) follow from the two equations. Velocities are half a step
    behind the displacements beside them.
    """

    def __init__(self, planned):
        self.dt, arrays = planned.dt, planned.arrays
        self.fields = [name for name in ("displacement", "velocity", "potential_rate", "pressure") if name in arrays]
        self.mass, self.fluid_mass = (
            1 / arrays[name].data[:-1].astype(float) if name in arrays else np.zeros(0)
            for name in ("inverse_mass", "fluid_inverse_mass")
        )
        self.coupled = (
            [arrays[f"coupling_{name}"].data for name in ("solid", "fluid", "vectors")]
            if "coupling_solid" in arrays
            else None
        )

    def state(self, program):
        """u, v, chi', a, without the dummy points."""
        host = {name: program.host(name)[:-1].astype(float) for name in self.fields}
        nothing = np.zeros((0, 3))
        return (
            host.get("displacement", nothing),
            host.get("velocity", nothing),
            host.get("potential_rate", np.zeros(0)),
            -host.get("pressure", np.zeros(0)),
        )

    def to_fluid(self, v):
        """B v."""
        out = np.zeros(len(self.fluid_mass))
        if self.coupled is not None:
            solid, fluid, vectors = self.coupled
            np.add.at(out, fluid, (vectors.T * v[solid]).sum(axis=1))
        return out

    def to_solid(self, a):
        """B^T a."""
        out = np.zeros((len(self.mass), 3))
        if self.coupled is not None:
            solid, fluid, vectors = self.coupled
            np.add.at(out, solid, vectors.T * a[fluid, None])
        return out

    def energy(self, last, now):
        """Of the states after two steps."""
        (u, v, _, a_before), (_, v_after, rate_after, a) = last, now
        stiff = -self.to_solid(a) - self.mass[:, None] * (v_after - v) / self.dt
        onto = self.to_fluid(v)
        stiff_fluid = onto - self.fluid_mass * (a - a_before) / self.dt
        solid = (self.mass[:, None] * v**2).sum() + ((u - self.dt * v) * stiff).sum()
        return (solid + (self.fluid_mass * a**2).sum() + rate_after @ stiff_fluid - self.dt * (a @ onto)) / 2


def rest(device):
    """Return translations and rotations of curved, distorted elements: the largest acceleration,
    over what such a displacement can have at all.
    """
    rows = []
    for name, model in (("random medium", MEDIA["random medium"]), ("21 constants", SHALE)):
        scenario = box(model, "free", 0.1)
        d, planned = prepared(scenario, distorted(scenario))
        xyz, worst = positions(d) - MIDDLE, 0.0
        for motion in [*np.eye(3), *(np.cross(axis, xyz) / 1000 for axis in np.eye(3))]:
            u = np.broadcast_to(motion, xyz.shape).copy()
            u[-1] = 0
            program = begun(planned, device, {"displacement": u})
            program.step(0)
            largest = planned.dt * (2 / d.stable.limit) ** 2 * np.abs(u).max()
            worst = max(worst, np.abs(program.host("velocity")).max() / largest)
        rows.append(
            row(f"rigid motions, {name}, distorted elements: acceleration / largest possible", worst, REST_LIMIT)
        )
    return rows


def colours(device):
    """Coloured assembly twice, float32: bits that differ; and the usual assembly against it."""
    force = {"kind": "force", "at": conserved.PLACES[0], "force": [1e10, -2e10, 1e10]}
    of_differences = conserved.scenario([force], conserved.PLACES, 1.5, 4, {"others": "cpml"})
    kinds = ({"precision": "float32", "assembly": kind} for kind in ("colour", "colour", "fast"))
    scenarios = [by_elements(of_differences, conserved.EDGE, run=kind) for kind in kinds]
    runs = [api.run(scenario, device=device, progress=False).samples for scenario in scenarios]
    differing = np.count_nonzero(runs[0].view(np.int32) != runs[1].view(np.int32))
    return [
        row("coloured assembly, two runs: samples that differ", differing, 0.5),
        row(
            "usual assembly against coloured, float32: velocity",
            misfit(runs[2].astype(float), runs[0].astype(float)),
            SAME_LIMIT,
        ),
    ]


def absorbed(device, crossings=3.0):
    """Return a pulse in the middle of a box with absorbing faces all around: kinetic energy after
    some crossings of S waves over its peak.
    """
    scenario = box({"kind": "homogeneous", "vp": 3464, "vs": 2000, "rho": 2500}, "stacey", 1.0, top="stacey")
    d, planned = prepared(scenario)
    xyz = positions(d) - MIDDLE
    u = np.exp(-0.5 * (xyz**2).sum(axis=1) / 250**2)[:, None] * [1.0, -0.5, 0.7]
    u[-1] = 0
    program, mass, kinetic = begun(planned, device, {"displacement": u}), Terms(planned).mass, []
    for step in range(int(crossings * 2400 / 2000 / planned.dt)):
        program.step(step)
        kinetic.append((mass[:, None] * program.host("velocity")[:-1] ** 2).sum())
    return [
        row(
            f"absorbing faces all around: kinetic energy after {crossings:g} crossings of S waves / peak",
            kinetic[-1] / max(kinetic),
            LEFT_LIMIT,
        )
    ]
