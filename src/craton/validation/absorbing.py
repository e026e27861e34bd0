"""Absorbing layers: energy left in the thin slice of Komatitsch & Martin (2007), to which SEISMIC_CPML gives published
figures; and what a layer sends back, against the angle of incidence.
"""

import math
from dataclasses import dataclass

import numpy as np

from craton.backends import backend
from craton.conventions import STRESS
from craton.driver import run as driver
from craton.driver import waves
from craton.scenario import Scenario
from craton.validation.compare import row


def cpml_slice(case, device):
    """Run the published set-up, x across and z along, y periodic, and return the rows of its energy inside the layers."""
    return decay(case["what"], *energies(Scenario(**case["scenario"]), device))


def decay(what, times, left):
    """Rows: the ratio at 2.8 s and 4 s, and the most that it rises after 3 s."""
    late = left[times >= 3]
    rise = f"{what}: largest energy after 3 s / energy at 3 s, until {times[-1]:.3g} s"
    limits = {2.8: 1e-5, 4.0: 1e-6}
    rows = [row(f"{what}: energy / peak at {t:g} s", np.interp(t, times, left), limit) for t, limit in limits.items()]
    return [*rows, row(rise, late.max() / late[0], 1.0)]


def energies(scenario, device, every=0.05):
    """Return times and the energy inside the layers over its largest value."""
    planned, model = driver.plan(scenario), scenario.model
    program = waves.commit(scenario, planned, backend(device))
    thickness = scenario.boundaries.cpml.thickness
    inside = tuple(
        slice(thickness, -thickness) if points > 1 and scenario.boundaries.face(low) == "cpml" else slice(None)
        for points, low in zip(program.grid("vx").shape, ("bottom", "south", "west"))
    )
    gap, times, values = round(every / planned.dt), [], []
    for step in range(planned.steps):
        program.step(step)
        if (step + 1) % gap == 0:
            times.append((step + 1) * planned.dt)
            values.append(energy_of(program, inside, model.vp, model.vs, model.rho))
    return np.array(times), np.array(values) / max(values)


def energy_of(program, inside, vp, vs, rho):
    """Kinetic and elastic energy of the points inside, per volume of a cell; velocity and stress
    half a step apart. In the plane nothing strains along y: syy = nu (sxx + szz).
    """
    xp, mu, lam = program.backend.xp, rho * vs**2, rho * (vp**2 - 2 * vs**2)
    with program.backend.work():
        fields = {
            name: program.grid(name)[inside].astype("float64")
            for name in ("vx", "vy", "vz", *STRESS)
            if name in program.arrays
        }
        if "syy" not in fields:
            fields["syy"] = lam / (2 * (lam + mu)) * (fields["sxx"] + fields["szz"])
        square = {name: float(xp.sum(values**2)) for name, values in fields.items()}
        trace = float(xp.sum(sum(fields[name] for name in STRESS[:3]) ** 2))
    normal = sum(square[name] for name in STRESS[:3]) - lam / (3 * lam + 2 * mu) * trace
    shear = sum(square.get(name, 0.0) for name in STRESS[3:])
    moving = sum(square.get(name, 0.0) for name in ("vx", "vy", "vz"))
    return rho / 2 * moving + normal / (4 * mu) + shear / (2 * mu)


# --- what a layer sends back, against the angle of incidence ----------------------------------------------------------
#
# P and S waves in the plane, Rayleigh waves in space. A box whose western layer is near is compared with one that goes on far beyond it to
# the west: the difference at a receiver is what the layer sent back. It is divided by what arrives, in the large box, at the receiver's
# mirror image behind the layer's inner edge: the same wave after the same way. The angle is that of a ray from the source to the mirror
# image, against the layer's normal.

VP, VS, RHO = 2000 * math.sqrt(3), 2000.0, 2400.0
# m; Hz, Ricker: 25 points to the S wavelength of its peak, 10 to the shortest
SPACING, FREQUENCY = 25.0, 3.2
SPEEDS = {"P": VP, "S": VS, "Rayleigh": 0.9194 * VS}  # the last for this ratio of vp and vs
THICKNESS = 10  # points of the layer
# points from the layer's inner edge: apart, so that none is in the middle of the source
SOURCE, RECEIVER = 50, 36
# points between what is looked at and the other faces; by which the large box is larger
MARGIN, BEYOND = 70, 140
DEPTH = 90  # points down to the bottom, where waves go along the surface
PULSE = 1.6 / FREQUENCY  # s, half the length of what a wave does at a place
LIMIT, UNTIL = 1e-3, 60  # reflected over incident amplitude, up to this angle
ANGLES = tuple(range(0, 81, 10))
QUANTITIES = {"P": "pressure", "S": "rotation_rate"}


@dataclass(frozen=True)
class Incidence:
    """Waves, "P", "S" or "Rayleigh", that come upon a layer at some angles, degrees; `boundaries` of the scenario are what is measured.
    Rayleigh waves have angle 0 alone in the (x, z) plane.
    """

    wave: str
    angles: tuple = ANGLES
    boundaries: tuple = ()
    plane: bool = True

    @property
    def ways(self):
        """How far along the layer each receiver lies, points."""
        return [(SOURCE + RECEIVER) * math.tan(math.radians(a)) for a in self.angles]

    def arrivals(self):
        """When the wave that the layer sent back reaches each receiver, s after the source's centre."""
        return [SPACING * math.hypot(SOURCE + RECEIVER, way) / SPEEDS[self.wave] for way in self.ways]

    def scenario(self, large):
        """Return the box with the layer, or the one that goes on beyond; x = 0 at the layer's inner edge."""
        low = -(THICKNESS + (BEYOND + SOURCE if large else 0))
        along = math.ceil(max(self.ways)) + 2 * MARGIN
        surface = self.wave == "Rayleigh"
        lateral = [] if self.plane and surface else [(-MARGIN, along - MARGIN)]
        limits = [(low, SOURCE + MARGIN), *lateral, *([(-DEPTH, 0)] if surface else [])]
        origin, end = SPACING * np.array(limits, float).T
        domain = {"origin": origin.tolist(), "size": (end - origin).tolist(), "spacing": SPACING}
        if self.plane:
            domain["waves"] = "P-SV"
        duration = max(self.arrivals()) + 2 * PULSE
        return Scenario(
            domain=domain,
            model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
            time={"duration": duration},
            boundaries={"top": "free" if surface else "cpml", **dict(self.boundaries)},
            source=self.sources(),
            receivers=[{"name": f"R{n}", "at": at} for n, at in enumerate(self.receivers(large))],
            output={"waveforms": ["velocity", *([] if surface else [QUANTITIES[self.wave]])]},
        )

    def place(self, x, along):
        """Return a position, m, of so many points from the layer and along it."""
        x, along = x * SPACING, along * SPACING
        if self.wave == "Rayleigh":
            return [x, 0.0] if self.plane else [x, along, 0.0]
        return [x, along]

    def receivers(self, large):
        """Places of the receivers; in the large box also of their mirror images."""
        places = [self.place(RECEIVER, way) for way in self.ways]
        return places + ([self.place(-RECEIVER, way) for way in self.ways] if large else [])

    def sources(self):
        """Return an explosion, a torque of four forces, or a blow on the surface."""
        wavelet = {"kind": "ricker", "frequency": FREQUENCY}
        if self.wave == "P":
            return [{"kind": "explosion", "at": self.place(SOURCE, 0), "moment": 1e13, "wavelet": wavelet}]
        if self.wave == "Rayleigh":
            force = [0, -1e10] if self.plane else [0, 0, -1e10]
            return [{"kind": "force", "at": self.place(SOURCE, 0), "force": force, "wavelet": wavelet}]
        arms = [((1, 0), (0, 1)), ((-1, 0), (0, -1)), ((0, 1), (-1, 0)), ((0, -1), (1, 0))]
        return [
            {"kind": "force", "at": self.place(SOURCE + a, b), "force": [1e10 * f for f in force], "wavelet": wavelet}
            for (a, b), force in arms
        ]


def measured(incidence: Incidence, device="auto") -> dict[str, np.ndarray]:
    """Return amplitudes that a layer sends back over those of the incident wave, for each angle: "velocity", of all waves that come back,
    and of body waves "same", of the kind that came in (by pressure or rotation).
    """
    small, large = (
        driver.run(incidence.scenario(size), device=device, progress=False).dataset for size in (False, True)
    )
    t, count = small.time.values, len(incidence.angles)
    names = {"velocity": "velocity", "same": QUANTITIES.get(incidence.wave)}
    peaks = {}
    for key, name in names.items():
        if name is None:
            continue
        # no rotation about x and z
        small_run, large_run = (np.nan_to_num(data[name].values.astype(float)) for data in (small, large))
        back, incident = (
            np.sqrt((v**2).reshape(count, -1, v.shape[-1]).sum(axis=1))
            for v in (small_run - large_run[:count], large_run[count:])
        )
        ratios = [
            back[n, t < at + PULSE].max() / incident[n, np.abs(t - at) < PULSE].max()
            for n, at in enumerate(incidence.arrivals())
        ]
        peaks[key] = np.array(ratios)
    return peaks


def reflection(case, device):
    """Rows: reflected over incident amplitude of P and S waves at each angle; of Rayleigh waves at
    0, or at each in space.
    """
    along = Incidence("Rayleigh", ANGLES, plane=False) if case["space"] else Incidence("Rayleigh", (0,))
    return [row for incidence in (Incidence("P"), Incidence("S"), along) for row in rows(incidence, device)]


def rows(incidence, device):
    """Return a row for each angle; beyond `UNTIL` degrees any amplitude is let pass that is less than what came."""
    peaks = measured(incidence, device)
    words = [f"{level:.0f} dB" for level in 20 * np.log10(peaks["velocity"])]
    if "same" in peaks:
        words = [f"{text}, of its kind {level:.0f} dB" for text, level in zip(words, 20 * np.log10(peaks["same"]))]
    return [
        row(f"{incidence.wave} at {angle} degrees: sent back {text}", ratio, LIMIT if angle <= UNTIL else 1.0)
        for angle, text, ratio in zip(incidence.angles, words, peaks["velocity"])
    ]
