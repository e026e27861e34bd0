"""Parameters of an inversion: sets of three per cell, from density, bulk and shear modulus; of six of a medium that is
transversely isotropic about z, from density and c11, c13, c33, c44, c66; the chain rule, and what is wrong with a medium.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import PARAMETER_SETS
from craton.errors import Problem, ScenarioError, refuse
from craton.methods.waves.adjoint import Derivative
from craton.model.media.cells import stiffness

SETS = PARAMETER_SETS
THOMSEN = SETS[4]
WITH_Q = 5  # parameters of a set with Q
SQUARED = ("vp", "vs", "ip", "is")
SLAB_CELLS = 1 << 14  # of which parameters are made at a time
# of an anisotropic medium of spectral elements, for xx yy zz yz xz xy
CONSTANTS = ("rho", *(f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)))
ALL_SETS = (*SETS, CONSTANTS)
ABOUT = (
    {  # unit, name
        "vp": ("m/s", "P velocity"),
        "vs": ("m/s", "S velocity"),
        "rho": ("kg/m3", "density"),
        "kappa": ("Pa", "bulk modulus"),
        "mu": ("Pa", "shear modulus"),
        "lambda": ("Pa", "first Lamé parameter"),
        "ip": ("kg/(m2 s)", "P impedance"),
        "is": ("kg/(m2 s)", "S impedance"),
        "epsilon": ("1", "Thomsen's epsilon"),
        "delta": ("1", "Thomsen's delta"),
        "gamma": ("1", "Thomsen's gamma"),
        "qp": ("1", "quality factor of P waves"),
        "qs": ("1", "quality factor of S waves"),
        "inverse_qp": ("1", "inverse quality factor of P waves"),
        "inverse_qs": ("1", "inverse quality factor of S waves"),
    }
    | {name: ("Pa", f"elastic constant {name}") for name in CONSTANTS[1:]}
)
UNITS = {name: unit for name, (unit, _) in ABOUT.items()}
LONG_NAMES = {name: words for name, (_, words) in ABOUT.items()}


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
    for known in ALL_SETS:
        if count in (None, len(known)) and names and len(set(names)) == len(names) and set(names) <= set(known):
            return known
    listed = "; ".join(", ".join(known) for known in SETS) + "; rho, c11, c12, ..., c66"
    message = f"{', '.join(map(str, names)) or 'none'} are not different parameters of one set"
    raise ScenarioError.of("parameters", message, f"choose some of one of {listed}")


def refuse_unknown(names):
    """Refuse a text in place of several names, and names of no set."""
    if isinstance(names, str):
        refuse("parameters", f"{names!r} is a text", f'give several names: ("{names}",)')
    set_of(names)


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


def derivative(names, values, chosen):
    """Return the `Derivative` of density, bulk and shear modulus by the `chosen` parameters of a set; `values` of the whole set."""
    whole = dict(zip(names, values))

    def cells(part, *moved):
        here = {name: value[part] for name, value in whole.items()} | dict(zip(chosen, moved))
        return to_cells(names, list(here.values()))

    return Derivative(cells, [whole[name] for name in chosen])


def _quality(names, values):
    """Return 1/Q from parameters of a set with Q, or the parameters from 1/Q: its own inverse."""
    if "inverse_qp" in names:
        return values
    with np.errstate(divide="ignore"):
        return 1 / np.asarray(values)


def _from_stiffness(cells):
    """Thomsen's (1986) parameters and density from density, c11, c13, c33, c44, c66; gamma is 0 in a fluid."""
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
        values |= dict(zip(self.names, np.reshape(np.asarray(m, float), self.shape)[:, part]))
        return tuple(values[name] for name in self.set)

    def cells(self, m):
        """Return (rho, kappa, mu) of a vector of parameters."""
        return to_cells(self.set, self.whole(m))

    def gradient(self, m, by_cells):
        """Return the gradient by the parameters from that by (rho, kappa, mu)."""
        out = np.empty(self.shape)
        for part in self._slabs():
            slopes = derivative(self.set, self.whole(m, part), self.names)
            out[:, part] = slopes.transpose([by_cell[part] for by_cell in by_cells])
        return out.ravel()

    def changes(self, m, dm):
        """Return the changes of (rho, kappa, mu) that a change of the parameters makes, to first order."""
        changes = np.reshape(np.asarray(dm, float), self.shape)
        return tuple(derivative(self.set, self.whole(m), self.names).apply(changes))


def below_zero(names, values):
    """Return parameters that are below zero and may not be, whose squares would hide it: list of Problem.

    Parameters
    ----------
    names : sequence of str
    values : (parameters, ...) array
    """
    return [
        Problem(
            "m",
            f"{int((part < 0).sum())} values of {name} are below zero, down to {part.min():.6g} {UNITS[name]}",
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
    if any(set(names) <= set(known) and len(known) == len(cells) for known in ALL_SETS):
        return
    medium, known = {
        len(CONSTANTS): ("anisotropic", "c11, c12, ..., c66, and rho"),
        len(THOMSEN): ("anisotropic", ", ".join(THOMSEN)),
    }.get(len(cells), ("isotropic", ", ".join(SETS[0])))
    message = f"{', '.join(names)} are not its parameters: the medium is {medium}"
    raise ScenarioError.of("parameters", message, f"choose some of {known}")


def problems(cells, fastest, waves, moving, largest, places):
    """Return what is wrong with a medium of cells or nodes: list of Problem.

    Parameters
    ----------
    cells : (rho, kappa, mu)
        Or density and 5 or 21 constants; 1/Qp and 1/Qs behind where they change.
    fastest : float
        Fastest wave that the time step carries, m/s.
    waves : str
        ``"acoustic"``: no shear modulus is computed; ``"SH"``: nothing else.
    moving : (rho, kappa, mu)
        What the steps have of these cells: with attenuation waves are faster; 0 in empty cells.
    largest : float or None
        Largest 1/Q that the steps can have, where it is among the cells.
    places : str
        What has them: ``"cells"``, ``"nodes"``.
    """
    if len(cells) == len(CONSTANTS):
        return _where_wrong(places, _wrong_constants(cells))
    if len(cells) == len(THOMSEN):
        out = _where_wrong(places, _wrong_transverse(*cells))
        rho, c11, _, c33, c44, c66 = moving
        stiff = np.maximum(c44, c66) if waves == "SH" else np.maximum(c11, c33)
    else:
        out = _where_wrong(places, [*_wrong_moduli(*cells[:3]), *_wrong_losses(cells[3:], largest)])
        if waves == "acoustic" and np.any(cells[2] > 0):
            out.append(Problem("m", "acoustic waves have no shear modulus", "leave vs at 0"))
        rho, kappa, mu = moving[:3]
        stiff = mu if waves == "SH" else kappa + 4 / 3 * mu
    if out:
        return out
    matter = rho > 0
    speed = float(np.sqrt((stiff[matter] / rho[matter]).max()))
    if speed <= fastest:
        return []
    message = f"waves of {speed:.6g} m/s are too fast for the time step, which carries {fastest:.6g} m/s"
    return [Problem("m", message, "bound vp, or set a shorter time.step")]


def _where_wrong(places, wrong):
    """Return the Problems of rows (where, words[, remedy]) that are true somewhere."""
    return [
        Problem("m", f"{int(where.sum())} {places} have {words}", *(remedy or ["bound the parameters"]))
        for where, words, *remedy in wrong
        if np.any(where)
    ]


def _wrong_moduli(rho, kappa, mu):
    """Rows of what is wrong with density, bulk and shear modulus."""
    return [
        (~(np.isfinite(rho) & np.isfinite(kappa) & np.isfinite(mu)), "values that are not finite"),
        (~(rho > 0), "densities that are not positive"),
        (~(kappa > 0), "bulk moduli that are not positive (vp below 1.155 vs)"),
        (mu < 0, "shear moduli below zero"),
    ]


def _wrong_losses(losses, largest):
    """Rows of what is wrong with 1/Qp and 1/Qs of cells, which may not be above `largest`."""
    if not losses:
        return []
    finite, least, most = np.isfinite(losses).all(axis=0), np.min(losses, axis=0), np.max(losses, axis=0)
    return [
        (~finite, "Q that are not finite, or 0"),
        (least < 0, "Q below zero"),
        (
            most > largest,
            f"Q below {1 / largest:.4g}, for which the mechanisms are not made",
            "bound them, or set model.attenuation.lowest_q",
        ),
    ]


def _wrong_transverse(rho, c11, c13, c33, c44, c66):
    """Rows of what is wrong with a medium that is transversely isotropic about z: what is not stable elastic."""
    return [
        (~np.isfinite((rho, c11, c13, c33, c44, c66)).all(axis=0), "values that are not finite"),
        (~(rho > 0), "densities that are not positive"),
        ((c44 < 0) | (c66 < 0), "shear moduli below zero"),
        (
            ~(c33 > 0) | ((c44 > 0) & ~((c11 - c66) * c33 > c13**2)),
            "moduli of no stable medium: (c11 - c66) c33 must be above c13^2",
        ),
    ]


def _wrong_constants(cells):
    """Rows of what is wrong with density and 21 constants."""
    normal, shear = (
        np.array([cells[CONSTANTS.index(name)] for name in names])
        for names in (("c11", "c22", "c33"), ("c44", "c55", "c66"))
    )
    fluid = (shear == 0).all(axis=0)
    return [
        (~np.isfinite(cells).all(axis=0), "values that are not finite"),
        (~(cells[0] > 0), "densities that are not positive"),
        (
            ~((normal > 0).all(axis=0) & (fluid | (shear > 0).all(axis=0))),
            "constants c11, c22 .. c66 that are not positive",
        ),
    ]
