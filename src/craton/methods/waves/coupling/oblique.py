"""Oblique plane waves in flat layers as incident waves of an injection: velocity, stress and
displacement at the places and steps of a run.

A leapfrog run differentiates exp(i w t) with i w~, w~ = 2/dt sin(w dt / 2): what is exact in space has
the layers' response at w~ and the wavelet's spectrum at w~, too (`craton.survey.leapfrog`).
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from craton.conventions import STRESS, VELOCITY
from craton.errors import Problem
from craton.methods.waves.coupling.sampled import summed
from craton.model.ground import terrain
from craton.survey import leapfrog, wavelets
from craton.survey.layered_response import Stack, response
from craton.survey.sources import turn
from craton.tables.fields import spatial
from craton.text import rounded_up

TOGETHER = 128  # places whose series are computed at a time
LENGTH = 4  # of the transforms, in lengths of the run: waves between the layers die away meanwhile
SAME_MEDIUM = 1e-6  # relative
EARLIER = 8  # periods of the wavelet, by which a run begins earlier beyond the critical angle
FLAT = 1e-3  # m


@dataclass(frozen=True, eq=False)
class PlaneIncident:
    """A plane wave that rises in the half-space below some layers.

    Parameters
    ----------
    key : str
        Of the scenario, for messages: ``"injection.0"``.
    settings : InjectedPlaneWave
    stack : Stack
    wavelet : Wavelet
    travel : (2,) array
        Unit vector of the horizontal direction in which it travels, x and y.
    origin : (3,) array
        Where the incident wave has the wavelet's time, m.
    """

    key: str
    settings: Any
    stack: Stack
    wavelet: Any
    travel: np.ndarray
    origin: np.ndarray

    band, resampled = np.inf, False

    @property
    def corners(self):
        """Corners of the box, (3,) each, m."""
        return np.array(spatial(self.settings.from_)), np.array(spatial(self.settings.to))

    @property
    def speed(self):
        """Speed of the incident wave in the half-space, m/s."""
        return float(self.stack.vp[0] if self.settings.wave == "P" else self.stack.vs[0])

    @property
    def slowness(self):
        """Horizontal and vertical slowness in the half-space, s/m."""
        angle = np.radians(self.settings.incidence)
        return np.sin(angle) / self.speed, np.cos(angle) / self.speed

    @property
    def begin(self):
        """Time at which the wave reaches the box, s."""
        low, high = self.corners
        delays = [self.delay(np.array([*xy, low[2]])) for xy in product(*zip(low[:2], high[:2]))]
        early = EARLIER / self.wavelet.peak_frequency if self.beyond_critical else 0.0
        return float(self.wavelet.start + min(delays) - early)

    @property
    def beyond_critical(self):
        """True where a wave in some layer has no vertical slowness: total reflections of a plane
        wave begin before it.
        """
        speeds = self.stack.vs if self.settings.wave == "SH" else self.stack.vp
        return bool(abs(self.slowness[0]) * speeds.max() >= 1)

    def delay(self, xyz):
        """Return the time from the origin to positions (..., 3), m, in the half-space, s."""
        p, q = self.slowness
        away = xyz - self.origin
        return p * (away[..., :2] @ self.travel) + q * away[..., 2]

    def describe(self):
        """Return what it is, in words."""
        spec, (east, north) = self.settings, self.travel
        beyond = ", beyond the critical angle" if self.beyond_critical else ""
        return (
            f"plane {spec.wave} wave, {spec.incidence:g} degrees from the vertical at "
            f"{self.speed:g} m/s, travels along ({east:.3g}, {north:.3g}), {spec.velocity:g} m/s{beyond}"
        )

    def clock_problems(self, d):
        """Return where the run begins too late: list of Problem."""
        if d.start <= self.begin + d.dt:
            return []
        words = f"the wave reaches the box at {self.begin:.6g} s, the run begins at {d.start:.6g} s"
        late = rounded_up(d.start - self.begin)
        return [Problem("time.start", words, f"leave start out, or delay the wavelet by {late:g} s more")]

    def parts(self, field):
        """Return what a velocity, displacement or stress in x, y, z (``"vx"``, ``"ux"``, ``"sxz"``) is made of: list of (component,
        factor), see `craton.survey.layered_response`.
        """
        (x, y), to_wave = self.travel, str.maketrans("xyz", "rtz")
        names = STRESS if field[0] == "s" else VELOCITY
        row = [name[1:] for name in names].index(field[1:])
        factors = turned(names, np.array([[x, y, 0], [y, -x, 0], [0, 0, 1]]))[row]
        return [(name[1:].translate(to_wave), factor) for name, factor in zip(names, factors) if abs(factor) > 1e-12]

    def series(self, d, fields, xyz, precision):
        """Return velocities, half a step after each step, displacements or stresses, at it: (steps, n).

        Parameters
        ----------
        d : Discretisation
        fields : (n,) array of str
        xyz : (n, 3) array
            m.
        precision : dtype
        """
        count = LENGTH * d.steps
        phase = np.pi * np.arange(count // 2 + 1) / count
        omega = 2 / d.dt * np.sin(phase)
        times = d.start + np.arange(count // 2) * d.dt
        history = leapfrog.for_leapfrog(self.settings.velocity * self.wavelet(times)[:, None], d.dt)
        p, q = self.slowness
        of_stack = response(self.stack, self.settings.wave, p, omega)
        back = q * (self.origin[2] - self.stack.tops[0]) + p * (self.origin[:2] @ self.travel)
        spectrum = np.fft.rfft(history[:, 0], count) * np.exp(1j * omega * back)
        out = np.zeros((d.steps, len(fields)), precision)
        heights, level = np.unique(xyz[:, 2].round(6), return_inverse=True)
        for field, number in sorted(set(zip(map(str, fields), level.tolist()))):
            height = heights[number]
            late = np.exp(2j * phase * (0.0 if field[0] == "s" else 0.5))
            parts = [factor * of_stack.at(height, c) for c, factor in self.parts(field)]
            if not parts:
                continue
            whole = sum(parts) * spectrum * late
            chosen = np.flatnonzero((level == number) & (fields == field))
            for first in range(0, len(chosen), TOGETHER):
                columns = chosen[first : first + TOGETHER]
                along = p * (xyz[columns, :2] @ self.travel)
                shifted = whole * np.exp(-1j * omega * along[:, None])
                values = np.fft.irfft(shifted, count)[:, : d.steps].T
                out[:, columns] = summed(values, d.dt) if field[0] == "u" else values
        return out


def turned(names, axes):
    """Return what makes fields in axes of their own from those of the run, (fields, fields).

    `names` are ``"vx"``, ``"sxz"`` and the like; `axes` (3, 3) has a row for each axis in x, y, z of the run.
    """

    def factor(name, source):
        to, of = (["xyz".index(letter) for letter in word[1:]] for word in (name, source))
        if name[0] != source[0]:
            return 0.0
        terms = {tuple(of), tuple(of[::-1])}  # tensors are symmetric
        return sum(np.prod(axes[to, list(term)]) for term in terms)

    return np.array([[factor(name, source) for source in names] for name in names])


def plane_incident(scenario, key, settings):
    """Return the `PlaneIncident` of a scenario's entry, and list of Problem.

    Parameters
    ----------
    scenario : WaveScenario
    key : str
    settings : InjectedPlaneWave
    """
    low, high = (np.array(spatial(corner), float) for corner in (settings.from_, settings.to))
    stack, problems = stack_of(scenario, key, low)
    if problems:
        return None, problems
    origin = np.array([*(low + high)[:2] / 2, low[2]])
    if settings.at is not None:
        origin = np.array(spatial(settings.at), float)
    azimuth = np.radians(settings.azimuth) - turn(scenario.domain)
    travel = np.array([np.sin(azimuth), np.cos(azimuth)])
    if scenario.domain.planar:
        travel = np.array([1.0, 0.0])
        moving = {"P-SV": ("P", "SV"), "SH": ("SH",)}.get(scenario.domain.motion, ())
        if settings.wave not in moving:
            words = f"{settings.wave} waves do not move as {scenario.domain.motion} waves of the plane do"
            return None, [Problem(f"{key}.wave", words, "change it, or domain.waves")]
    wavelet = wavelets.build(settings.wavelet)
    return PlaneIncident(key, settings, stack, wavelet, travel, origin), []


def stack_of(scenario, key, corner):
    """Return the `Stack` of a scenario's model without its anomalies, up to the ground at a corner
    of the box, and list of Problem.
    """
    model, domain = scenario.model, scenario.domain
    layers = getattr(model, "layers", None) if model.kind == "layers" else [model]
    plain = ("vp", "vs", "rho", "top", "kind", "layers", "anomalies", "follow")
    refused = [
        (model.kind not in ("layers", "homogeneous"), "the model is not one of flat layers"),
        (getattr(model, "follow", "level") == "surface", "the layers follow the ground"),
        (model.topography is None and scenario.boundaries.face("top") != "free", 'boundaries.top is not "free"'),
        (model.topography is not None and scenario.method == "fd", "finite differences have topography"),
        (getattr(model, "water", None) is not None, "there is water"),
        (
            getattr(model, "attenuation", None) is not None,
            "the model has attenuation, the exact response is one of elastic layers",
        ),
    ]
    for layer in layers or ():
        others = {name for name in type(layer).model_fields if name not in plain}
        values = [getattr(layer, name, None) for name in sorted(others)]
        varied = any(v for v in values if isinstance(v, int | float) and not isinstance(v, bool))
        refused += [
            (varied, "layers have gradients, anisotropy or Q"),
            (not getattr(layer, "vs", None), "a layer is fluid"),
        ]
    words = next((text for holds, text in refused if holds), None)
    if words:
        remedy = "plane waves come in flat isotropic layers of constant speeds below a free surface"
        return None, [Problem(key, f"no plane wave: {words}", remedy)]
    ground = terrain.build(model)
    surface = domain.top if ground is None else float(np.ravel(ground.surface(*corner[:2]))[0])
    # the first layer goes on above its top; those that end above the surface are not there
    gone = sum(layer.top >= surface for layer in layers[1:])
    below = layers[gone:][::-1]
    tops = [layer.top for layer in below[:-1]] + [surface]
    columns = (np.array([getattr(layer, name) for layer in below]) for name in ("vp", "vs", "rho"))
    return Stack(np.array(tops, float), *columns), []


def side_problems(d, wave, with_anomalies, without, xyz):
    """Return where anomalies touch the sides of a box, or the ground is not flat there: list of
    Problem.

    Parameters
    ----------
    d : Discretisation
    wave : PlaneIncident
    with_anomalies, without : dict of str to (n,) array
        vp, vs, rho of the model and of its layers alone.
    xyz : (n, 3) array
        m.
    """
    if d.ground is not None:
        ground = d.ground.surface(xyz[:, 0], xyz[:, 1])
        away = np.where(xyz[:, 2] > ground - FLAT, np.abs(ground - wave.stack.tops[-1]), 0.0)
        if away.max() > FLAT:
            where = ", ".join(f"{v:.6g}" for v in xyz[away.argmax()])
            return [Problem(wave.key, f"around the box the ground is not flat, at ({where}) m", "make the box larger")]
    for name, values in with_anomalies.items():
        differs = np.abs(values - without[name]) > SAME_MEDIUM * np.abs(without[name]).max()
        if differs.any():
            where = ", ".join(f"{v:.6g}" for v in xyz[np.flatnonzero(differs)[0]])
            words = f"an anomaly touches the sides of the box, at ({where}) m"
            return [Problem(wave.key, words, "make the box larger, or the anomaly smaller")]
    return []
