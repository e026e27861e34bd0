"""Plane waves that rise vertically."""

from dataclasses import dataclass

import numpy as np

from craton.survey import wavelets


@dataclass(frozen=True, eq=False)
class PlaneWave:
    """A plane wave that leaves a horizontal plane upwards (and downwards, where an absorbing bottom
    takes it).

    Parameters
    ----------
    name : str
    xyz : tuple of float
        Centre of the plane, m.
    direction : ndarray, shape (3,)
        Unit vector of the particle motion.
    speed : float
        Of the wave at the plane, m/s.
    velocity : float
        Particle velocity, m/s, that multiplies the wavelet.
    wavelet : Wavelet
    wave : str
        ``"P"``, ``"SV"`` or ``"SH"``.
    """

    name: str
    xyz: tuple
    direction: np.ndarray
    speed: float
    velocity: float
    wavelet: wavelets.Wavelet
    wave: str
    moment: None = None
    delayed: bool = False
    warnings: tuple = ()
    shot: int = 0

    @property
    def force(self):
        """Force per area over density, m2/s2 times wavelet: half of it makes the wave that rises,
        half the one that sinks.

        rho c v is the stress behind a plane wave of particle velocity v (Aki & Richards 2002,
        section 5.1).
        """
        return 2 * self.speed * self.velocity * self.direction

    @property
    def points(self):
        """Position that may not lie outside."""
        return np.array([self.xyz])

    @property
    def hypocentre(self):
        """Centre of the plane, (3,) m."""
        return np.array(self.xyz)

    def describe(self):
        """Return the source in words: str."""
        east, north, up = self.direction
        return (
            f"plane {self.wave} wave, vertical, {self.speed:g} m/s, particle velocity {self.velocity:g} m/s times wavelet along "
            f"({east:.3g}, {north:.3g}, {up:.3g})"
        )


def build(entry, name, domain, medium):
    """Return the plane wave of a scenario's entry; SV moves along `azimuth`, SH to the right of it.

    Parameters
    ----------
    entry : source or receivers of a scenario
    name : str
    domain : Domain
    medium : callable
        vp, vs, density (m/s, m/s, kg/m3) at positions (n, 3), m.
    """
    across = corners(domain, entry.height)
    centre, (vp, vs, _) = tuple(map(float, across[0])), medium(across)
    # in the plane, along x
    azimuth = np.pi / 2 if domain.planar else np.radians(entry.azimuth) - turn(domain)
    azimuth += np.pi / 2 if entry.wave == "SH" else 0.0
    direction = np.array([0.0, 0.0, 1.0]) if entry.wave == "P" else np.array([np.sin(azimuth), np.cos(azimuth), 0.0])
    speeds = vp if entry.wave == "P" else vs
    wavelet = wavelets.build(entry.wavelet)
    delayed = entry.wavelet.delay is not None and entry.wavelet.delay > 0
    varies = np.ptp(speeds) > 1e-6 * np.max(speeds)
    warned = (
        f"{name}: the model varies along the plane of the wave, {speeds.min():g} to {speeds.max():g} m/s: the wave is not plane",
    ) * int(varies)
    return PlaneWave(
        name,
        centre,
        np.round(direction, 15),
        float(speeds[0]),
        entry.velocity,
        wavelet,
        entry.wave,
        None,
        delayed,
        warned,
    )


def turn(domain):
    """Azimuth of +y, radians.

    Parameters
    ----------
    domain : Domain
    """
    return 0.0 if domain.geographic is None else np.radians(domain.geographic.azimuth)


def corners(domain, height):
    """Centre of a horizontal plane and points about it, (5, 3), m.

    Parameters
    ----------
    domain : Domain
    height : float
        Elevation of the plane, m.
    """
    (x, y), (w, h) = domain.corner[:2], domain.extent[:2]
    shares = [(0.5, 0.5), (0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)]
    return np.array([(x + a * w, y + b * h, height) for a, b in shares])
