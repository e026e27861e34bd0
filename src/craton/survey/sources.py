"""Point sources and plane waves: from a scenario's mechanisms to moment tensors and forces in (x, y, z), and what a
mechanism means in words.
"""

import math
from dataclasses import dataclass

import numpy as np

from craton.conventions import magnitude_to_moment, moment_to_magnitude
from craton.io import contents
from craton.survey import places, wavelets
from craton.tables.fields import spatial

# of the peak: an explicit delay with less than this at t = 0 was chosen so that the run can start
# there
EARLY_ENOUGH = 1e-2


class _AtOnePlace:
    """What sources share whose place is `xyz` alone."""

    @property
    def points(self):
        """Position that may not lie outside, shape (1, 3)."""
        return np.array([self.xyz])

    @property
    def hypocentre(self):
        """Position, (3,) m."""
        return np.array(self.xyz)


@dataclass(frozen=True, eq=False)
class PointSource(_AtOnePlace):
    """A moment tensor or a force at a point.

    Parameters
    ----------
    name : str
    xyz : tuple of float
        Position (x, y, z), metres.
    moment : ndarray, shape (3, 3), or None
        Symmetric, in (x, y, z) = east-north-up, N m; times the wavelet, a moment rate in 1/s.
    force : ndarray, shape (3,), or None
        East, north, up, N; times the wavelet.
    wavelet : Wavelet
    shot : int
        Number of the shot that it belongs to, where there are several.
    delayed : bool
        The wavelet was delayed by the scenario, so that the run may begin at t = 0.
    warnings : tuple of str
        What looks wrong with it.
    """

    name: str
    xyz: tuple[float, float, float]
    moment: np.ndarray | None
    force: np.ndarray | None
    wavelet: wavelets.Wavelet
    shot: int = 0
    delayed: bool = False
    warnings: tuple = ()

    def describe(self):
        """Return the source in words: str."""
        return _force_words(self) if self.force is not None else _moment_words(self)


@dataclass(frozen=True, eq=False)
class PlaneWave(_AtOnePlace):
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
    delayed: bool = False
    warnings: tuple = ()
    shot: int = 0
    moment: None = None

    @property
    def force(self):
        """Force per area over density, m2/s2 times wavelet: half of it makes the wave that rises,
        half the one that sinks.

        rho c v is the stress behind a plane wave of particle velocity v (Aki & Richards 2002,
        section 5.1).
        """
        return 2 * self.speed * self.velocity * self.direction

    def describe(self):
        """Return the source in words: str."""
        east, north, up = self.direction
        return (
            f"plane {self.wave} wave, vertical, {self.speed:g} m/s, particle velocity {self.velocity:g} m/s times wavelet along "
            f"({east:.3g}, {north:.3g}, {up:.3g})"
        )


def shots(scenario):
    """Names of the shots of a scenario; empty where all sources act together.

    Parameters
    ----------
    scenario : Scenario
    """
    names = [name for i, entry in enumerate(scenario.source, 1) for name in shots_of(entry, f"source {i}")]
    return tuple(dict.fromkeys(filter(None, names)))


def shots_of(entry, default_name):
    """Names of the shots of one entry; None for an entry that belongs to none.

    Parameters
    ----------
    entry : source or receivers of a scenario
    default_name : str
        Of an entry without name.
    """
    if entry.shots is None:
        return [entry.shot]
    return [f"{entry.name or default_name}.{n}" for n in range(1, entry.shots.count + 1)]


def positions(scenario, entry):
    """Positions of the sources of an entry: list of (x, y, z), metres; y = 0 in the plane.

    Parameters
    ----------
    scenario : Scenario
    entry : source or receivers of a scenario
    """
    table = entry.at if entry.shots is None else entry.shots
    xyz = places.positions(scenario, table)
    return [tuple(map(float, position)) for position in places.on_side(scenario, xyz, entry.side)]


def mechanism(entry):
    """Return moment tensor, (3, 3), N m, and force, (3,), N, of a point source's table, east-north-up: one of them is None."""
    amplitude = MECHANISMS[entry.kind](entry)
    return (amplitude, None) if amplitude.ndim == 2 else (None, amplitude)


def _moment_tensor(entry):
    if entry.tensor is not None:
        t = entry.tensor
        if hasattr(t, "six"):
            return contents.moment_tensor(t.six)
        return np.array([[t.xx, t.xy, t.xz], [t.xy, t.yy, t.yz], [t.xz, t.yz, t.zz]], dtype=float)
    moment = entry.moment if entry.moment is not None else magnitude_to_moment(entry.magnitude)
    return double_couple(entry.strike, entry.dip, entry.rake, moment)


# of the point sources that a scenario writes out: moment tensor (3, 3) or force (3,) of a table
MECHANISMS = {
    "moment_tensor": _moment_tensor,
    "explosion": lambda entry: entry.moment * np.eye(3),
    "force": lambda entry: np.array(spatial(entry.force), dtype=float),
}


def start_time(scenario, sources):
    """Beginning of a run, s: ``time.start`` where given, else where every wavelet is below 1e-8 of
    its peak, and never after t = 0.

    A wavelet with an explicit ``delay`` that leaves less than 1 % of its peak at t = 0 was delayed
    in order to begin there, and does.

    Parameters
    ----------
    scenario : Scenario
    sources : list of PointSource, FiniteFault or PlaneWave
    """
    if scenario.time.start is not None:
        return float(scenario.time.start)
    return min([0.0, *(_earliest(source) for source in sources)])


def end_time(sources, incident=()):
    """Return when the last source has ended, s: infinite where waves of recordings are injected.

    Parameters
    ----------
    sources : list of PointSource, FiniteFault, Catalogue or PlaneWave
    incident : sequence
    """
    return np.inf if incident else max((s.wavelet.end for s in sources), default=np.inf)


def _earliest(source):
    wavelet = source.wavelet
    before = wavelet(np.linspace(min(wavelet.start, 0.0), 0.0, 500))
    return 0.0 if source.delayed and np.abs(before).max() < EARLY_ENOUGH * wavelet.peak else wavelet.start


def plane_wave(entry, name, domain, medium):
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
    delayed = (entry.wavelet.delay or 0) > 0
    varies = np.ptp(speeds) > 1e-6 * np.max(speeds)
    warned = (
        f"{name}: the model varies along the plane of the wave, {speeds.min():g} to {speeds.max():g} m/s: the wave is not plane",
    ) * int(varies)
    direction, speed = np.round(direction, 15), float(speeds[0])
    return PlaneWave(name, centre, direction, speed, entry.velocity, wavelet, entry.wave, delayed, warned)


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


# --- mechanisms -----------------------------------------------------------------------------------


def double_couple(strike, dip, rake, moment=1.0):
    """Return the moment tensor (..., 3, 3), east-north-up, of shear on planes, ``M0 (n d + d n)`` with normal n and
    slip d (Aki & Richards 2002, box 4.4): strike 0, dip 90, rake 0 gives M_xy = M0 alone.

    Angles (...) are in degrees: strike clockwise from north, dip down to its right, rake of the hanging wall's slip
    anticlockwise from strike; the scalar moment M0 in N m.
    """
    normal, along, up_dip = plane_axes(strike, dip)
    cos_rake, sin_rake = _cos_sin(rake)
    slip = cos_rake[..., None] * along + sin_rake[..., None] * up_dip
    return np.asarray(moment)[..., None, None] * dyads(normal, slip)


def dyads(a, b):
    """Return ``a b + b a`` of vectors (..., 3): (..., 3, 3)."""
    pairs = a[..., :, None] * b[..., None, :]
    return pairs + np.swapaxes(pairs, -1, -2)


def _cos_sin(degrees):
    """Cosine and sine, exact at multiples of 90 degrees so that no component of 1e-17 M0 is left over."""
    quarter, rest = np.divmod(degrees, 90.0)
    quarter, radians, exact = quarter.astype(int) % 4, np.radians(degrees), rest == 0
    cosines, sines = np.array([1.0, 0.0, -1.0, 0.0]), np.array([0.0, 1.0, 0.0, -1.0])
    return np.where(exact, cosines[quarter], np.cos(radians)), np.where(exact, sines[quarter], np.sin(radians))


def plane_axes(strike, dip):
    """Return normals of the foot wall, directions of strike, and up-dip directions of fault planes: unit vectors
    (..., 3), east-north-up, from degrees (...).
    """
    (cs, ss), (cd, sd) = _cos_sin(strike), _cos_sin(dip)
    axes = ((sd * cs, -sd * ss, cd), (ss, cs, np.zeros_like(cs)), (-cd * cs, cd * ss, sd))
    return tuple(np.stack(np.broadcast_arrays(*axis), axis=-1) for axis in axes)


def nodal_planes(tensor):
    """Return the two nodal planes of the best double couple of a moment tensor (its deviatoric
    part's largest and smallest principal axes).

    Parameters
    ----------
    tensor : array_like, shape (3, 3)
        East-north-up.

    Returns
    -------
    ((strike, dip, rake), (strike, dip, rake)) or None
        Degrees, strike in [0, 360), rake in (-180, 180], the smaller strike first; None where there
        is no deviatoric part.
    """
    tensor = np.asarray(tensor, dtype=float)
    deviator = tensor - np.trace(tensor) / 3 * np.eye(3)
    if np.linalg.norm(deviator) <= 1e-9 * np.linalg.norm(tensor):
        return None
    _, axes = np.linalg.eigh(deviator)
    pressure, tension = axes[:, 0], axes[:, 2]
    normal, slip = (tension + pressure) / math.sqrt(2), (tension - pressure) / math.sqrt(2)
    return tuple(sorted((_plane(normal, slip), _plane(slip, normal))))


def _plane(normal, slip):
    """(strike, dip, rake) of the plane with this normal and slip, of either sign together, degrees."""
    flat = math.hypot(normal[0], normal[1])
    # The normal points up out of the foot wall; for a vertical plane both signs are right: take the
    # strike below 180.
    vertical = abs(normal[2]) < 1e-9
    upside_down = (-normal[1] < -1e-9 or (abs(normal[1]) <= 1e-9 and normal[0] < 0)) if vertical else normal[2] < 0
    sign = -1.0 if upside_down else 1.0
    normal, slip = sign * normal, sign * slip
    strike = _tidy(math.degrees(math.atan2(-normal[1], normal[0]))) % 360.0 if flat > 1e-9 else 0.0
    dip = min(_tidy(math.degrees(math.atan2(flat, normal[2]))), 90.0)
    _, along, up_dip = plane_axes(strike, dip)
    rake = _tidy(math.degrees(math.atan2(slip @ up_dip, slip @ along)))
    return strike, dip, 180.0 if rake <= -180.0 else rake


def _tidy(degrees):
    """Degrees without the rounding noise of the eigenvectors (and without a minus zero)."""
    return round(degrees, 9) + 0.0


def largest_moment(source):
    """Largest component of a source's moment tensor, N m; of a catalogue the sum of those of its
    sources, which may cancel each other far away but not near by.

    Parameters
    ----------
    source : PointSource, Catalogue or FiniteFault
    """
    return getattr(source, "largest", None) or np.abs(source.moment).max()


def scalar_moment(tensor):
    """Return the scalar moments M0 = |M| / sqrt(2) (Silver & Jordan 1982) of tensors (..., 3, 3), of their unit: M0 for
    a double couple, sqrt(3/2) M for an explosion of M.
    """
    return np.linalg.norm(tensor, axis=(-2, -1)) / math.sqrt(2)


def parts(tensor):
    """Isotropic and double-couple parts of a moment tensor.

    Parameters
    ----------
    tensor : (3, 3) array
        N m.

    Returns
    -------
    isotropic : float
        From -1 (implosion) to 1 (explosion), 0 for a deviatoric tensor.
    double_couple : float
        Of the deviatoric part, 1 - 2 |epsilon| with epsilon from its principal values, 0 for a CLVD
        (Jost & Herrmann 1989).
    """
    values = np.linalg.eigvalsh(np.asarray(tensor, dtype=float))
    mean = values.mean()
    deviator = sorted(values - mean, key=abs)
    whole = abs(mean) + abs(deviator[2])
    if whole == 0 or abs(deviator[2]) <= 1e-9 * whole:
        return float(np.sign(mean)), 0.0
    return float(mean / whole), float(1 - 2 * abs(deviator[0] / deviator[2]))


# --- in words -------------------------------------------------------------------------------------


def describe(source, earth=None):
    """One line on a source: place, mechanism with moment, Mw and nodal planes or force, and
    wavelet.

    Parameters
    ----------
    source : PointSource, FiniteFault or PlaneWave
    earth : craton.survey.geography.Local, optional
        Where the model lies: longitude and latitude stand beside the position.
    """
    x, y, z = source.xyz
    place = ""
    if earth is not None and len(source.points):
        longitude, latitude = earth.degrees(x, y)
        place = f", longitude {longitude:.6g}, latitude {latitude:.6g}"
    return f"{source.name} at ({x:g}, {y:g}, {z:g}) m{place}: {source.describe()}; {source.wavelet.describe()}"


def _force_words(source):
    fx, fy, fz = source.force
    size = float(np.linalg.norm(source.force))
    if source.wavelet.is_pulse:
        return f"force ({fx:g}, {fy:g}, {fz:g}) N times wavelet, impulse {size * abs(source.wavelet.area):.4g} N s"
    return f"force ({fx:g}, {fy:g}, {fz:g}) N times wavelet, peak {size * source.wavelet.peak:.4g} N"


def _moment_words(source):
    wavelet = source.wavelet
    scale = abs(wavelet.area) if wavelet.is_pulse else 1.0
    moment = scale * scalar_moment(source.moment)
    rate = "" if wavelet.is_pulse else ", moment rate of zero mean: the final moment is zero"
    return f"{_mechanism_words(source.moment)}, M0 {moment:.4g} N m, Mw {moment_to_magnitude(moment):.2f}{rate}"


def _mechanism_words(tensor):
    isotropic, couple = parts(tensor)
    planes = nodal_planes(tensor)
    if planes is None:
        return "explosion" if isotropic > 0 else "implosion"
    text = " and ".join("/".join(f"{v:.0f}" for v in plane) for plane in planes)
    pure = couple > 0.999 and abs(isotropic) < 1e-3
    name = "double couple" if pure else f"moment tensor ({100 * couple:.0f} % double couple)"
    iso = f", {100 * isotropic:.0f} % isotropic" if abs(isotropic) >= 1e-3 else ""
    return f"{name}{iso}, strike/dip/rake {text}"
