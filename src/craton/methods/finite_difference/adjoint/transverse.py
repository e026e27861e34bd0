"""The chain rule of gradients by the moduli of a medium that is transversely isotropic about z; see
sensitivity.py.

Of normal stresses the products of all pairs are summed: with M = sum of s^ ds and the compliance S
of a point, dJ/dC = -a H S M S, the same on a traction-free plane, where szz and its increments are
zero. Shear stresses have the harmonic means of c44 and, sxy, of c66.
"""

from functools import cached_property

import numpy as np

from craton.methods.finite_difference.adjoint import increments
from craton.methods.finite_difference.adjoint.sensitivity import Medium, _inverted
from craton.methods.finite_difference.equations import vti

# Of c11, c13, c33, c66: their share in the stiffness of normal stresses, by the axes of a pair.
PAIRS = {"c11": {"xx": 1, "yy": 1, "xy": 1}, "c13": {"xz": 1, "yz": 1}, "c33": {"zz": 1}, "c66": {"xy": -2}}
MODULI = ("c11", "c13", "c33", "c44", "c66")


class TransverseMedium(Medium):
    """The medium of a `Discretisation` whose cells have density, c11, c13, c33, c44, c66.

    Parameters
    ----------
    d : Discretisation
    """

    @cached_property
    def moduli_of_cells(self):
        """c11, c13, c33, c44, c66 of the cells by name, Pa."""
        values = vti.stiffness(self.d, self.d.grid)[1:]
        return dict(zip(MODULI, (np.asarray(v, float) for v in values)))

    def soft(self, field):
        """Return the modulus whose harmonic mean a shear stress has."""
        return "c66" if field == "sxy" else "c44"

    @cached_property
    def _soft(self):
        """1/c44 and 1/c66 of points and ghosts; infinite in a fluid."""
        with np.errstate(divide="ignore"):
            return {name: self.take(self._stored(1 / self.moduli_of_cells[name])) for name in ("c44", "c66")}

    def _square(self, name):
        """Squared compliance of points and ghosts; 0 in a fluid."""
        soft = self._soft[name]
        return np.where(soft < np.inf, soft, 0.0) ** 2

    def shear(self, field):
        """Mean of 1/c44 or 1/c66 where a shear stress is."""
        return self.mean(self._soft[self.soft(field)], field)

    def of_points(self, name, index):
        """Return ``"rho"``, or ``"c44"`` or ``"c66"`` inverted, of some points or ghosts."""
        if name not in self._soft:
            return super().of_points(name, index)
        at = tuple(sources[a] for sources, a in zip(self.maps, index))
        with np.errstate(divide="ignore"):
            return self._stored(1 / self.moduli_of_cells[name][at])

    def _pairs(self):
        """(numbers of two normal stresses, sorted axes) of all pairs."""
        axes = [field[1] for field in self.d.normal]
        for a, first in enumerate(axes):
            for b, second in enumerate(axes):
                yield (a, b), "".join(sorted((first, second)))

    def stiffness(self, moduli):
        """Return matrices (..., n, n) of normal stresses from moduli by name."""
        n = len(self.d.normal)
        out = np.zeros((*np.shape(moduli["c33"]), n, n))
        for (a, b), pair in self._pairs():
            for name, shares in PAIRS.items():
                out[..., a, b] += shares.get(pair, 0) * moduli[name]
        return out

    def compliance(self, moduli):
        """Return the inverse matrices; in a fluid those that share a pressure out to all axes, 0
        where there is nothing.
        """
        n, solid = len(self.d.normal), moduli["c44"] > 0
        matrices = self.stiffness(moduli)
        safe = np.where(solid[..., None, None], matrices, np.eye(n))
        fluid = _inverted(moduli["c33"])[..., None, None] * np.full((n, n), 1 / n**2)
        return np.where(solid[..., None, None], np.linalg.inv(safe), fluid)

    @cached_property
    def _moduli_of_points(self):
        return {name: self.take(v)[self.here] for name, v in self.moduli_of_cells.items()}

    @cached_property
    def _spread(self):
        """Matrices from horizontal strains on a traction-free plane to all: the vertical one keeps
        szz zero.
        """
        n, moduli = len(self.d.normal), self._moduli_of_points
        out = np.broadcast_to(np.eye(n), (*self.shape, n, n)).copy()
        if self.d.free:
            out[-1, ..., n - 1, :] = -(moduli["c13"] * _inverted(moduli["c33"]))[-1, ..., None]
            out[-1, ..., n - 1, n - 1] = 0
        return out

    # --- rows of point tables -----------------------------------------------------------------

    def _normal_rows(self, field, at, sheet, values, inverse, origin):
        """Yield the rows (index, weight) of all normal stresses that replace rows of one of them, and
        the number of the input row of each.
        """
        d, held = self.d, self._held(at[0])
        index = tuple(sources[a] for sources, a in zip(self.maps, sheet))
        moduli = {name: v[index] for name, v in self.moduli_of_cells.items()}
        matrices = self.stiffness(moduli)
        n, v = len(d.normal), len(d.normal) - 1
        if held.any():  # of plane stress
            cross = matrices[held][..., :, v] * _inverted(matrices[held][..., v, v])[:, None]
            matrices[held] -= cross[..., :, None] * matrices[held][..., None, v, :]
            matrices[held, v, v] = 1
        if inverse:
            solid = moduli["c44"] > 0
            free = np.linalg.inv(np.where(solid[:, None, None], matrices, np.eye(n)))
            matrices = np.where(solid[:, None, None], free, self.compliance(moduli))
        a = d.normal.index(field)
        for b, other in enumerate(d.normal):
            on = ~held if "szz" in (field, other) else np.ones(len(held), bool)
            place = d.start_of(other) + d.layout.offset(*(part[on] for part in at))
            yield place, -(matrices[:, a, b] * values)[on], origin[on]

    # --- the chain rule -----------------------------------------------------------------------

    def gradient(self, sums, scale=1.0):
        """Return dJ/d(rho, c11, c13, c33, c44, c66) of the cells; see `Medium.gradient`."""
        d = self.d
        sums = np.asarray(sums, float)
        named = dict(zip(increments.sums_of(d), sums.sum(2, keepdims=True) if d.planar else sums))
        rho, by = self._blank(), {name: self._blank() for name in MODULI}
        for field in (*d.velocity, *(f for f in d.stress if f not in d.normal)):
            part = self.spread(scale * self.norm(field) * named[field], field)
            if field in d.velocity:
                rho -= part
            else:
                by[self.soft(field)] -= part * self._square(self.soft(field))
        if d.normal:
            for name, values in self._by_normal(named, scale).items():
                by[name][self.here] += values
        solid = self.moduli_of_cells["c44"] > 0
        folded = {name: self.fold(values) for name, values in by.items()}
        shear = [np.where(solid, folded[name], 0.0) for name in ("c44", "c66")]
        return self.fold(rho), folded["c11"], folded["c13"], folded["c33"], *shear

    def _by_normal(self, named, scale):
        """dJ/d(moduli) by normal stresses."""
        n, normal = len(self.d.normal), self.d.normal
        compliance = self.compliance(self._moduli_of_points)
        products = np.stack([named[f"{a} {b}"] for a in normal for b in normal], -1)
        products = products.reshape(*self.shape, n, n)
        weight = scale * self.norm("sxx")[..., None, None]
        slopes = -weight * (compliance @ products @ compliance)
        return {
            name: sum(shares[pair] * slopes[..., a, b] for (a, b), pair in self._pairs() if pair in shares)
            for name, shares in PAIRS.items()
        }

    def perturbation(self, rho, *changes):
        """Return the coefficients of `scatter`; see `Medium.perturbation`."""
        d = self.d
        solid = self.moduli_of_cells["c44"] > 0
        by = dict(zip(MODULI, (np.asarray(v, float) for v in changes)))
        by |= {name: np.where(solid, by[name], 0.0) for name in ("c44", "c66")}
        by = {name: self.take(values) for name, values in by.items()}
        out = [-self.mean(self.take(rho), f) * _inverted(self.density(f)) for f in d.velocity]
        for field in (f for f in d.stress if f not in d.normal):
            slope = -by[self.soft(field)] * self._square(self.soft(field))
            out.append(-self.mean(slope, field) * _inverted(self.shear(field)))
        if d.normal:
            changed = self.stiffness({name: v[self.here] for name, v in by.items()})
            transposed = np.swapaxes(self._spread, -1, -2)
            matrices = transposed @ changed @ self.compliance(self._moduli_of_points)
            n = len(d.normal)
            out += [matrices[..., a, b] for a in range(n) for b in range(n)]
        return np.stack([np.broadcast_to(v, self.shape) for v in out])
