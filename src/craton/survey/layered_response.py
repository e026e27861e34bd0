"""Response of flat layers with a free surface to an oblique plane wave from the half-space below:
exact velocity and stress at any depth.

In a layer motion is a sum of plane waves of one horizontal slowness p, upgoing (s = 1) and downgoing
(s = -1), with the vertical slowness q = sqrt(1/c^2 - p^2):

    v = A d exp(i w (t - p r - s q (z - z0)))           r along the direction of travel, z up
    strain rates times i w follow from v_r,r = -p v_r and v_z,z = -s q v_z

z0 is the end of the layer at which the wave enters, so that no exponential grows where q is
imaginary. Continuity of velocity and traction at the interfaces and the free surface is one linear
system for all amplitudes at a frequency (global matrix: Chin, Hedstrom & Thigpen 1984, J. Comput.
Phys. 54, 18; directions of motion as in Aki & Richards 2002, section 5.4).
"""

from dataclasses import dataclass

import numpy as np

# Components in the system of the wave: radial, transverse to its right, up.
VELOCITY = ("r", "t", "z")
STRESS = ("rr", "tt", "zz", "rt", "rz", "tz")


@dataclass(frozen=True)
class Stack:
    """Layers from the bottom up; the first is the half-space.

    Parameters
    ----------
    tops : (n,) array
        Elevation of their upper ends, m; the last is the free surface.
    vp, vs, rho : (n,) array
        m/s, kg/m3.
    """

    tops: np.ndarray
    vp: np.ndarray
    vs: np.ndarray
    rho: np.ndarray

    def layer(self, z):
        """Return the numbers of the layers of elevations; an interface belongs to the layer above.

        Parameters
        ----------
        z : array_like
            m.
        """
        return np.minimum(np.searchsorted(self.tops, z, side="right"), len(self.tops) - 1)

    def ends(self, layer):
        """Return the elevations of the lower and upper end of a layer; those of the half-space are
        both its top.

        Parameters
        ----------
        layer : int
        """
        return self.tops[max(layer - 1, 0)], self.tops[layer]


@dataclass(frozen=True)
class PlaneMotion:
    """One of the plane waves of a layer.

    Parameters
    ----------
    sense : int
        1 upgoing, -1 downgoing.
    slowness : complex
        Vertical, s/m.
    velocity, stress : dict of str to complex
        Components for amplitude 1: `VELOCITY`, m/s, and `STRESS`, Pa.
    entry : float
        Elevation at which its phase is zero, m.
    """

    sense: int
    slowness: complex
    velocity: dict
    stress: dict
    entry: float

    def phase(self, omega, z):
        """Return exp(-i w s q (z - z0)).

        Parameters
        ----------
        omega : (n,) array
            Angular frequencies, rad/s.
        z : float
            m.
        """
        return np.exp(-1j * omega * self.sense * self.slowness * (z - self.entry))


def motions(stack, layer, p, kind):
    """Return the `PlaneMotion` of a layer: upgoing ones, then downgoing ones.

    Parameters
    ----------
    stack : Stack
    layer : int
    p : float
        Horizontal slowness, s/m.
    kind : str
        ``"P-SV"`` or ``"SH"``.
    """
    vp, vs, rho = stack.vp[layer], stack.vs[layer], stack.rho[layer]
    lower, upper = stack.ends(layer)
    mu = rho * vs**2
    lam = rho * vp**2 - 2 * mu
    out = []
    for sense, entry in ((1, lower), (-1, upper)):
        for speed, name in ((vp, "P"), (vs, "S")) if kind == "P-SV" else ((vs, "SH"),):
            q = np.conj(np.sqrt(complex(1 / speed**2 - p**2)))
            s = sense * q
            r, t, z = {"P": (p * speed, 0, s * speed), "S": (q * speed, 0, -sense * p * speed), "SH": (0, 1, 0)}[name]
            along, up = -p * r, -s * z
            stress = {
                "rr": lam * (along + up) + 2 * mu * along,
                "tt": lam * (along + up),
                "zz": lam * (along + up) + 2 * mu * up,
                "rt": -mu * p * t,
                "rz": -mu * (s * r + p * z),
                "tz": -mu * s * t,
            }
            out.append(PlaneMotion(sense, q, {"r": r, "t": t, "z": z}, stress, entry))
    return out


@dataclass(frozen=True, eq=False)
class Response:
    """All waves of a stack, for an incident wave of amplitude 1.

    Parameters
    ----------
    stack : Stack
    omega : (n,) array
        Angular frequencies, rad/s.
    waves : list of list of PlaneMotion
        Of each layer; in the half-space the incident wave comes first.
    amplitudes : list of (waves, n) complex array
    """

    stack: Stack
    omega: np.ndarray
    waves: list
    amplitudes: list

    def at(self, z, component):
        """Return the spectrum of a component at an elevation, r = 0: (n,) complex.

        Parameters
        ----------
        z : float
            m.
        component : str
            Of `VELOCITY` or `STRESS`.
        """
        layer = int(self.stack.layer(z))
        return sum(
            amplitude * (wave.velocity | wave.stress)[component] * wave.phase(self.omega, z)
            for wave, amplitude in zip(self.waves[layer], self.amplitudes[layer])
        )


def response(stack, wave, p, omega):
    """Return the `Response` of a stack to a plane wave that rises in its half-space; its phase is
    zero at the top of the half-space.

    Parameters
    ----------
    stack : Stack
    wave : str
        ``"P"``, ``"SV"`` or ``"SH"``.
    p : float
        Horizontal slowness, s/m.
    omega : (n,) array
        Angular frequencies, rad/s.
    """
    kind = "SH" if wave == "SH" else "P-SV"
    waves = [motions(stack, layer, p, kind) for layer in range(len(stack.tops))]
    half = len(waves[0]) // 2
    incident = waves[0][int(wave == "SV")]
    waves[0] = waves[0][half:]  # unknown: what the layers send down
    starts = np.cumsum([0, *map(len, waves)])
    tractions = ("rz", "zz") if kind == "P-SV" else ("tz",)
    moving = ("r", "z") if kind == "P-SV" else ("t",)
    system = np.zeros((len(omega), starts[-1], starts[-1]), complex)
    right = np.zeros((len(omega), starts[-1], 1), complex)
    row = 0
    for layer, top in enumerate(stack.tops):
        free = layer == len(stack.tops) - 1
        for name in tractions if free else (*moving, *tractions):
            scale = 1.0 if name in moving else 1 / (stack.rho[layer] * stack.vs[layer])
            for number, sign in ((layer, 1),) if free else ((layer, 1), (layer + 1, -1)):
                for n, each in enumerate(waves[number]):
                    value = (each.velocity | each.stress)[name]
                    system[:, row, starts[number] + n] = sign * scale * value * each.phase(omega, top)
            if layer == 0:
                value = (incident.velocity | incident.stress)[name]
                right[:, row, 0] = -scale * value * incident.phase(omega, top)
            row += 1
    solved = np.linalg.solve(system, right)[..., 0].T
    amplitudes = [solved[a:b] for a, b in zip(starts[:-1], starts[1:])]
    amplitudes[0] = np.concatenate([np.ones((1, len(omega))), amplitudes[0]])
    return Response(stack, omega, [[incident, *waves[0]], *waves[1:]], amplitudes)
