"""Parameters of an inversion: sets of three per cell, and the chain rule from density, bulk and
shear modulus; sets of six of a medium that is transversely isotropic about z, from density and
c11, c13, c33, c44, c66.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import OF_Q, PARAMETER_SETS
from craton.errors import Problem, ScenarioError
from craton.model.media.cells import stiffness

SETS = PARAMETER_SETS
THOMSEN = SETS[4]
WITH_Q = 5  # parameters of a set with Q
SQUARED = ("vp", "vs", "ip", "is")
SLAB_CELLS = 1 << 14  # of which parameters are made at a time
# of an anisotropic medium of spectral elements, for xx yy zz yz xz xy
CONSTANTS = ("rho", *(f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)))
UNITS = {"vp": "m/s", "vs": "m/s", "rho": "kg/m3"}
UNITS |= dict.fromkeys(("kappa", "mu", "lambda"), "Pa")
UNITS |= dict.fromkeys(("ip", "is"), "kg/(m2 s)")
UNITS |= dict.fromkeys(("epsilon", "delta", "gamma", *OF_Q), "1")
LONG_NAMES = {
    "vp": "P velocity",
    "vs": "S velocity",
    "rho": "density",
    "kappa": "bulk modulus",
    "mu": "shear modulus",
    "lambda": "first Lamé parameter",
    "ip": "P impedance",
    "is": "S impedance",
    "epsilon": "Thomsen's epsilon",
    "delta": "Thomsen's delta",
    "gamma": "Thomsen's gamma",
    "qp": "quality factor of P waves",
    "qs": "quality factor of S waves",
    "inverse_qp": "inverse quality factor of P waves",
    "inverse_qs": "inverse quality factor of S waves",
}
UNITS |= dict.fromkeys(CONSTANTS[1:], "Pa")
LONG_NAMES |= {name: f"elastic constant {name}" for name in CONSTANTS[1:]}


def set_of(names, count=None):
    """Return the set to which parameters belong.

    Parameters
    ----------
    names : sequence of str
    count : int, optional
        Parameters of the set: 3 of an isotropic medium, 5 with Q, 6 of an anisotropic one.

    Raises
    ------
    ScenarioError
        They are not different parameters of one set.
    """
    for known in (*SETS, CONSTANTS):
        if count in (None, len(known)) and names and len(set(names)) == len(names) and set(names) <= set(known):
            return known
    listed = "; ".join(", ".join(known) for known in SETS) + "; rho, c11, c12, ..., c66"
    message = f"{', '.join(map(str, names)) or 'none'} are not different parameters of one set"
    raise ScenarioError([Problem("parameters", message, f"choose some of one of {listed}")])


def from_cells(names, cells):
    """Return parameters of a set from density, bulk and shear modulus.

    Parameters
    ----------
    names : tuple of str
        One of `SETS`.
    cells : (rho, kappa, mu)
        kg/m3, Pa, Pa.
    """
    if names == CONSTANTS:
        return tuple(cells)
    if len(names) == WITH_Q:
        vp, vs, rho = from_cells(SETS[0], cells[:3])
        return vp, vs, *(_quality(names, loss) for loss in cells[3:]), rho
    if len(names) == 6:
        return _from_stiffness(cells) if names == THOMSEN else (*cells[1:], cells[0])
    rho, kappa, mu = cells
    if names[0] == "vp":
        return np.sqrt((kappa + 4 / 3 * mu) / rho), np.sqrt(mu / rho), rho
    if names[0] == "ip":
        return np.sqrt((kappa + 4 / 3 * mu) * rho), np.sqrt(mu * rho), rho
    return (kappa if names[0] == "kappa" else kappa - 2 / 3 * mu), mu, rho


def to_cells(names, values):
    """Return density, bulk and shear modulus from parameters of a set: the inverse of `from_cells`.

    Parameters
    ----------
    names : tuple of str
    values : sequence of arrays
    """
    if names == CONSTANTS:
        return tuple(values)
    if len(names) == WITH_Q:
        vp, vs, of_p, of_s, rho = values
        return *to_cells(SETS[0], (vp, vs, rho)), *(_quality(names, q) for q in (of_p, of_s))
    if len(names) == 6:
        return _to_stiffness(values) if names == THOMSEN else (values[-1], *values[:-1])
    p, s, rho = values
    if names[0] in ("vp", "ip"):
        scale = rho if names[0] == "vp" else 1 / rho
        return rho, scale * (p**2 - 4 / 3 * s**2), scale * s**2
    return rho, (p if names[0] == "kappa" else p + 2 / 3 * s), s


def jacobian(names, values):
    """Return the derivatives of (rho, kappa, mu) by the parameters of a set: rows of three arrays or
    numbers.

    Parameters
    ----------
    names : tuple of str
    values : sequence of arrays
    """
    if names == CONSTANTS:
        return tuple(map(tuple, np.eye(len(names))))
    if names == THOMSEN:
        return _slopes_of_stiffness(values)
    if len(names) == WITH_Q:
        return _slopes_with_q(names, values)
    if len(names) == 6:
        return tuple(tuple(np.roll(np.eye(6), 1, axis=0)[n]) for n in range(6))
    p, s, rho = values
    if names[0] in ("vp", "ip"):
        scale = rho if names[0] == "vp" else 1 / rho
        sign = 1 if names[0] == "vp" else -1 / rho**2
        by_rho = (sign * (p**2 - 4 / 3 * s**2), sign * s**2)
        return ((0.0, 0.0, 1.0), (2 * scale * p, -8 / 3 * scale * s, by_rho[0]), (0.0, 2 * scale * s, by_rho[1]))
    by_mu = 0.0 if names[0] == "kappa" else 2 / 3
    return (0.0, 0.0, 1.0), (1.0, by_mu, 0.0), (0.0, 1.0, 0.0)


def _quality(names, values):
    """Return 1/Q from parameters of a set with Q, or the parameters from 1/Q: its own inverse."""
    if "inverse_qp" in names:
        return values
    with np.errstate(divide="ignore"):
        return 1 / np.asarray(values, float)


def _slopes_with_q(names, values):
    """Return derivatives of (rho, kappa, mu, 1/Qp, 1/Qs) by vp, vs, those of Q, rho."""
    vp, vs, of_p, of_s, rho = values
    elastic = jacobian(SETS[0], (vp, vs, rho))
    rows = [(by_vp, by_vs, 0.0, 0.0, by_rho) for by_vp, by_vs, by_rho in elastic]
    slopes = (1.0, 1.0) if "inverse_qp" in names else (-1 / of_p**2, -1 / of_s**2)
    return *rows, (0.0, 0.0, slopes[0], 0.0, 0.0), (0.0, 0.0, 0.0, slopes[1], 0.0)


def _from_stiffness(cells):
    """Thomsen's (1986) parameters and density from density, c11, c13, c33, c44, c66; gamma is 0 in
    a fluid.
    """
    rho, c11, c13, c33, c44, c66 = cells
    solid = c44 > 0
    gamma = np.where(solid, (c66 - c44) / np.where(solid, 2 * c44, 1.0), 0.0)
    delta = ((c13 + c44) ** 2 - (c33 - c44) ** 2) / (2 * c33 * (c33 - c44))
    epsilon = (c11 - c33) / (2 * c33)
    return np.sqrt(c33 / rho), np.sqrt(c44 / rho), epsilon, delta, gamma, rho


def _to_stiffness(values):
    """Density and c11, c13, c33, c44, c66 from vp, vs, Thomsen's parameters, density."""
    vp, vs, epsilon, delta, gamma, rho = values
    return rho, *stiffness(vp, vs, rho, epsilon, delta, gamma)


def _slopes_of_stiffness(values):
    """Return derivatives of (rho, c11, c13, c33, c44, c66) by vp, vs, Thomsen's parameters, rho."""
    vp, vs, epsilon, delta, gamma, rho = values
    c11, c13, c33, c44, c66 = stiffness(vp, vs, rho, epsilon, delta, gamma)
    by_vp, by_vs = 2 * rho * vp, 2 * rho * vs  # of c33, of c44
    root = c13 + c44
    of_33 = ((2 * c33 - c44) * delta + c33 - c44) / root
    of_44 = -(c33 * delta + c33 - c44) / root - 1
    return (
        (0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        (by_vp * (1 + 2 * epsilon), 0.0, 2 * c33, 0.0, 0.0, c11 / rho),
        (of_33 * by_vp, of_44 * by_vs, 0.0, c33 * (c33 - c44) / root, 0.0, c13 / rho),
        (by_vp, 0.0, 0.0, 0.0, 0.0, c33 / rho),
        (0.0, by_vs, 0.0, 0.0, 0.0, c44 / rho),
        (0.0, by_vs * (1 + 2 * gamma), 0.0, 0.0, 2 * c44, c66 / rho),
    )


@dataclass(frozen=True)
class Parameters:
    """Parameters of the cells of a grid as one vector: one after the other, each (nz, ny, nx).

    Parameters
    ----------
    names : tuple of str
        What is inverted for.
    start : tuple of arrays
        (rho, kappa, mu) of the start, whose other parameters stay.
    grid : Grid
    """

    names: tuple
    start: Any
    grid: Any

    @property
    def axes(self):
        """Coordinates by axis, m."""
        return {axis: self.grid.axis(axis) for axis in "xyz"}

    @property
    def shape(self):
        """Of the parameters together: (parameters, nz, ny, nx)."""
        return (len(self.names), *self.start[0].shape)

    @property
    def set(self):
        """Names of the whole set."""
        return set_of(self.names, len(self.start))

    @property
    def vector(self):
        """The start as a vector."""
        out = np.empty(self.shape)
        for part in self._slabs():
            values = dict(zip(self.set, from_cells(self.set, self._start_of(part))))
            for n, name in enumerate(self.names):
                out[n, part] = values[name]
        return out.ravel()

    def _slabs(self):
        """Slices along the first axis of cells: of what is made of few cells at a time, the steps
        between take little memory.
        """
        count, *rest = self.shape[1:]
        planes = max(SLAB_CELLS // math.prod(rest), 1)
        return [slice(n, min(n + planes, count)) for n in range(0, count, planes)]

    def _start_of(self, part):
        """Return the start in a slab."""
        return tuple(values[part] for values in self.start)

    def whole(self, m, part=slice(None)):
        """Return the values of the whole set, of all cells or of a slab of them."""
        values = {}
        if set(self.names) != set(self.set):
            values = dict(zip(self.set, from_cells(self.set, self._start_of(part))))
        given = np.reshape(np.asarray(m, float), self.shape)
        values |= dict(zip(self.names, given[:, part]))
        return tuple(values[name] for name in self.set)

    def cells(self, m):
        """Return (rho, kappa, mu) of a vector of parameters."""
        return to_cells(self.set, self.whole(m))

    def gradient(self, m, by_cells):
        """Return the gradient by the parameters from that by (rho, kappa, mu)."""
        out = np.empty(self.shape)
        for part in self._slabs():
            rows = jacobian(self.set, self.whole(m, part))
            by_part = [values[part] for values in by_cells]
            for n, name in enumerate(self.names):
                column = self.set.index(name)
                out[n, part] = _combined([row[column] for row in rows], by_part)
        return out.ravel()

    def changes(self, m, dm):
        """Return the changes of (rho, kappa, mu) that a change of the parameters makes, to first
        order.
        """
        named = dict(zip(self.names, np.reshape(np.asarray(dm, float), self.shape)))
        rows = jacobian(self.set, self.whole(m))
        zero = np.zeros(self.shape[1:])
        chosen = [n for n, name in enumerate(self.set) if name in named]
        moved = [named[self.set[n]] for n in chosen]
        return tuple(zero + _combined([row[n] for n in chosen], moved) for row in rows)


def _combined(factors, values):
    """Return the sum of factors, numbers or arrays, times values; zeros are left out."""
    return sum(f * v for f, v in zip(factors, values) if np.ndim(f) or f)


def below_zero(names, values):
    """Return parameters that are below zero and may not be, whose squares would hide it: list of
    Problem.

    Parameters
    ----------
    names : sequence of str
    values : (parameters, ...) array
    """
    return [
        Problem(
            "m",
            f"{int((part < 0).sum())} cells have {name} below zero, down to {part.min():.6g} {UNITS[name]}",
            "bound the parameters",
        )
        for name, part in zip(names, values)
        if name in SQUARED and (part < 0).any()
    ]


def refuse_other(names, cells):
    """Refuse parameters of an isotropic medium for 21 constants, or the other way round.

    Parameters
    ----------
    names : sequence of str
    cells : tuple of arrays

    Raises
    ------
    ScenarioError
    """
    constants, transverse = len(cells) == len(CONSTANTS), len(cells) == 6
    if any(set(names) <= set(known) and len(known) == len(cells) for known in (*SETS, CONSTANTS)):
        return
    words, remedy = (
        ("the medium is anisotropic", "choose some of c11, c12, ..., c66, and rho")
        if constants
        else ("the medium is anisotropic", f"choose some of {', '.join(THOMSEN)}")
        if transverse
        else ("the medium is isotropic", f"choose some of {', '.join(SETS[0])}")
    )
    message = f"{', '.join(names)} are not its parameters: {words}"
    raise ScenarioError([Problem("parameters", message, remedy)])


def _problems_of_constants(cells):
    """Return what is wrong with density and 21 constants."""
    normal, shear = (
        np.array([cells[CONSTANTS.index(name)] for name in names])
        for names in (("c11", "c22", "c33"), ("c44", "c55", "c66"))
    )
    fluid = (shear == 0).all(axis=0)
    wrong = [
        (~np.all([np.isfinite(v) for v in cells], axis=0), "values that are not finite"),
        (~(cells[0] > 0), "densities that are not positive"),
        (
            ~((normal > 0).all(axis=0) & (fluid | (shear > 0).all(axis=0))),
            "constants c11, c22 .. c66 that are not positive",
        ),
    ]
    return [
        Problem("m", f"{int(where.sum())} nodes have {words}", "bound the parameters")
        for where, words in wrong
        if np.any(where)
    ]


def _problems_of_losses(losses, largest):
    """Return what is wrong with 1/Qp and 1/Qs of cells, which may not be above `largest`."""
    wrong = [
        (~np.isfinite(losses), "Q that are not finite, or 0"),
        (losses < 0, "Q below zero"),
        (losses > largest, f"Q below {1 / largest:.4g}, for which the mechanisms are not made"),
    ]
    remedies = ["bound the parameters"] * 2
    remedies.append("bound them, or set model.attenuation.lowest_q")
    return [
        Problem("m", f"{int(where.any(axis=0).sum())} cells have {words}", remedy)
        for (where, words), remedy in zip(wrong, remedies)
        if np.any(where)
    ]


def problems(cells, fastest, waves, moving=None, largest=np.inf):
    """Return what is wrong with a medium of cells: list of Problem.

    Parameters
    ----------
    cells : (rho, kappa, mu)
    fastest : float
        Fastest wave that the time step carries, m/s.
    waves : str
        ``"acoustic"``: no shear modulus is computed; ``"SH"``: nothing else.
    moving : (rho, kappa, mu), optional
        What the steps have of these cells: with attenuation waves are faster; 0 in empty cells.
    largest : float
        Largest 1/Q that the steps can have, where it is among the cells.
    """
    if len(cells) == len(CONSTANTS):
        return _problems_of_constants(cells)
    if len(cells) == 6:
        return _anisotropic_problems(cells, fastest, waves, moving or cells)
    of_q = _problems_of_losses(np.stack(cells[3:]), largest) if len(cells) == WITH_Q else []
    rho, kappa, mu = cells[:3]
    wrong = [
        (~(np.isfinite(rho) & np.isfinite(kappa) & np.isfinite(mu)), "values that are not finite"),
        (~(rho > 0), "densities that are not positive"),
        (~(kappa > 0), "bulk moduli that are not positive (vp below 1.155 vs)"),
        (mu < 0, "shear moduli below zero"),
    ]
    out = [
        Problem("m", f"{int(where.sum())} cells have {words}", "bound the parameters")
        for where, words in wrong
        if np.any(where)
    ]
    out += of_q
    if waves == "acoustic" and np.any(mu > 0):
        out.append(Problem("m", "acoustic waves have no shear modulus", "leave vs at 0"))
    if out:
        return out
    return _too_fast(fastest, waves, *(moving or cells)[:3])


def _anisotropic_problems(cells, fastest, waves, moving):
    """`problems` of a medium that is transversely isotropic about z: what is not stable elastic."""
    rho, c11, c13, c33, c44, c66 = cells
    wrong = [
        (~np.isfinite(np.stack(cells)).all(axis=0), "values that are not finite"),
        (~(rho > 0), "densities that are not positive"),
        ((c44 < 0) | (c66 < 0), "shear moduli below zero"),
        (
            ~(c33 > 0) | ((c44 > 0) & ~((c11 - c66) * c33 > c13**2)),
            "moduli of no stable medium: (c11 - c66) c33 must be above c13^2",
        ),
    ]
    out = [
        Problem("m", f"{int(where.sum())} cells have {words}", "bound the parameters")
        for where, words in wrong
        if np.any(where)
    ]
    if out:
        return out
    rho, c11, _, c33, c44, c66 = moving
    shear, normal = np.maximum(c44, c66), np.maximum(c11, c33)
    return _too_fast(fastest, waves, rho, normal - 4 / 3 * shear, shear)


def _too_fast(fastest, waves, rho, kappa, mu):
    """Problem of waves too fast for the time step."""
    out = []
    stiff = mu if waves == "SH" else kappa + 4 / 3 * mu
    matter = rho > 0
    speed = float(np.sqrt((stiff[matter] / rho[matter]).max()))
    if speed > fastest:
        message = f"waves of {speed:.6g} m/s are too fast for the time step, which carries {fastest:.6g} m/s"
        out.append(Problem("m", message, "bound vp, or set a shorter time.step"))
    return out
