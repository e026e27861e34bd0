"""What an absorbing layer sends back, against the angle of incidence: P and S waves in the plane,
Rayleigh waves in space.

A box whose western layer is near is compared with one that goes on far beyond it to the west: the
difference at a receiver is what the layer sent back. It is divided by what arrives, in the large
box, at the receiver's mirror image behind the layer's inner edge: the same wave after the same way.
The angle is that of a ray from the source to the mirror image, against the layer's normal.
"""

import math
from dataclasses import dataclass

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import row

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
        """When the wave that the layer sent back reaches each receiver, s after the source's
        centre.
        """
        return [SPACING * math.hypot(SOURCE + RECEIVER, way) / SPEEDS[self.wave] for way in self.ways]

    def scenario(self, large):
        """Return the box with the layer, or the one that goes on beyond; x = 0 at the layer's inner
        edge.
        """
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
    small, large = (api.run(incidence.scenario(size), device=device, progress=False).dataset for size in (False, True))
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
    """Return a row for each angle; beyond `UNTIL` degrees any amplitude is let pass that is less
    than what came.
    """
    peaks = measured(incidence, device)
    words = [f"{level:.0f} dB" for level in 20 * np.log10(peaks["velocity"])]
    if "same" in peaks:
        words = [f"{text}, of its kind {level:.0f} dB" for text, level in zip(words, 20 * np.log10(peaks["same"]))]
    return [
        row(f"{incidence.wave} at {angle} degrees: sent back {text}", ratio, LIMIT if angle <= UNTIL else 1.0)
        for angle, text, ratio in zip(incidence.angles, words, peaks["velocity"])
    ]
