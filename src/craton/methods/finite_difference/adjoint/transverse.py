"""The chain rule of gradients by the moduli of a medium that is transversely isotropic about z; see
sensitivity.py.

Of normal stresses the products of all pairs are summed: with M = sum of s^ ds and the compliance S
of a point, dJ/dC = -a H S M S, the same on a traction-free plane, where szz and its increments are
zero. Shear stresses have the harmonic means of c44 and, sxy, of c66.

With attenuation an isotropic part of the moduli relaxes (`rheology.relaxing_part`), linear in them,
the rest does not: stresses are (C - P) e + P F(e), with F of sensitivity.py. Sums by P have filtered
strains, sums by C - P plain ones (kernels/strains.h). Both parts of shear stresses are made of harmonic
means of c44 and c66. 1/Q of P waves of that part changes with the moduli, that of S waves stays.
"""

from functools import cached_property

import numpy as np

from craton.methods.finite_difference.adjoint import increments
from craton.methods.finite_difference.adjoint.increments import BY_Q, BY_REST
from craton.methods.finite_difference.adjoint.point_rows import inverted
from craton.methods.finite_difference.adjoint.sensitivity import Medium
from craton.methods.finite_difference.equations import laminate, vti
from craton.methods.waves.adjoint import Derivative

MODULI = ("c11", "c13", "c33", "c44", "c66")
SHARES = {"c44": 2 / 3, "c66": 1 / 3}  # of the shear modulus that relaxes


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

    @property
    def shear_moduli(self):
        """See `Medium.shear_moduli`."""
        return {name: self.moduli_of_cells[name] for name in SHARES}

    def soft(self, field):
        """See `Medium.soft`."""
        return "c66" if field == "sxy" else "c44"

    @cached_property
    def _moduli_of_points(self):
        return {name: self.take(v)[self.here] for name, v in self.moduli_of_cells.items()}

    @property
    def mu(self):
        """See `Medium.mu`."""
        return self._moduli_of_points["c44"]

    @cached_property
    def _solid_cells(self):
        """See `Medium._solid_cells`."""
        return self.moduli_of_cells["c44"] > 0

    def stiffness(self, moduli):
        """Return matrices (..., n, n) of normal stresses from moduli by name."""
        return laminate.stiffness(self.d, [moduli[name] for name in increments.REST])

    @cached_property
    def _compliance(self):
        """The inverse matrices of points; in a fluid those that share a pressure out to all axes, 0
        where there is nothing.
        """
        n, moduli = len(self.d.normal), self._moduli_of_points
        matrices, solid = self.stiffness(moduli), (moduli["c44"] > 0)[..., None, None]
        fluid = inverted(moduli["c33"])[..., None, None] * np.full((n, n), 1 / n**2)
        return np.where(solid, np.linalg.inv(np.where(solid, matrices, np.eye(n))), fluid)

    # --- the law at points ----------------------------------------------------------------------

    def shear_modulus_left(self, field, index, left):
        """See `Medium.shear_modulus_left`."""
        means = {name: inverted(self.mean_of_points(name, field, index)) for name in SHARES}
        relaxes = sum(share * means[name] for name, share in SHARES.items())
        return means[self.soft(field)] - (1 - left) * relaxes

    def stiffness_left(self, index, of_p, of_s):
        """See `Medium.stiffness_left`."""
        moduli = [values[index] for values in self.moduli_of_cells.values()]
        stiff, shear = vti.relaxing_moduli(*moduli)
        lost = vti.of_isotropic((1 - of_p) * stiff, (1 - of_s) * shear)
        return self.stiffness(dict(zip(MODULI, (c - more for c, more in zip(moduli, lost)))))

    # --- the chain rule -----------------------------------------------------------------------

    def _by_normal(self, named, scale):
        """See `Medium._by_normal`."""
        n, normal = len(self.d.normal), self.d.normal
        products = np.stack([self._doubles(named[f"{a} {b}"]) for a in normal for b in normal], -1)
        products = products.reshape(*self.shape, n, n)
        weight = scale * self.norm("sxx")[..., None, None]
        slopes = -weight * (self._compliance @ products @ self._compliance)

        def rows(part, *moduli):
            return np.moveaxis(laminate.stiffness(self.d, moduli).reshape(*moduli[0].shape, n * n), -1, 0)

        moduli = [self._moduli_of_points[name] for name in increments.REST]
        by = Derivative(rows, moduli).transpose(np.moveaxis(slopes.reshape(*self.shape, n * n), -1, 0))
        return dict(zip(increments.REST, by))

    def _of_cells(self, rho, by):
        """Return dJ/d(rho, c11, c13, c33, c44, c66) of cells from those by what points and ghosts have."""
        folded = [self.fold(by[name] if name in by else self._blank()) for name in MODULI]
        return self.fold(rho), *folded[:3], *(np.where(self._solid_cells, values, 0.0) for values in folded[3:])

    def _changes_of_points(self, changes):
        """Return changes of the moduli of points and ghosts by name, none of a shear modulus of a fluid."""
        by = dict(zip(MODULI, (np.asarray(v, float) for v in changes)))
        by |= {name: np.where(self._solid_cells, by[name], 0.0) for name in SHARES}
        return {name: self.take(values) for name, values in by.items()}

    def _of_stresses(self, shear, *changes):
        """See `Medium._of_stresses`."""
        by, n = self._changes_of_points(changes), len(self.d.normal)
        out = [self._softened(by, self.soft(f), f) * inverted(self.shear(f)) for f in shear]
        if not n:
            return out
        # from horizontal strains on a traction-free plane to all: the vertical one keeps szz zero
        spread, moduli = np.broadcast_to(np.eye(n), (*self.shape, n, n)).copy(), self._moduli_of_points
        if self.d.free:
            spread[-1, ..., n - 1, :] = -(moduli["c13"] * inverted(moduli["c33"]))[-1, ..., None]
            spread[-1, ..., n - 1, n - 1] = 0
        changed = self.stiffness({name: v[self.here] for name, v in by.items()})
        matrices = np.swapaxes(spread, -1, -2) @ changed @ self._compliance
        return out + [matrices[..., a, b] for a in range(n) for b in range(n)]


class RelaxingTransverseMedium(TransverseMedium):
    """The same with attenuation, cells with unrelaxed moduli; derivatives also by 1/Qp of what relaxes."""

    def _add_shear(self, by, field, named, scale):
        """See `Medium._add_shear`."""
        plain, filtered = (self._doubles(named[name]) for name in (field + BY_REST, field))
        for name, share in SHARES.items():
            of_mean = share * (filtered - plain) + (plain if name == self.soft(field) else 0)
            by[name] -= self._by_mean(field, self._mean_squared(name, field) * of_mean, scale)

    def _mean_squared(self, name, field):
        """Squared harmonic mean of c44 or c66 where a shear stress is."""
        return inverted(self.mean(self.compliances[name], field)) ** 2

    def _by_normal(self, named, scale):
        """See `Medium._by_normal`; of strains."""
        weight = np.where(self._held_fluid, 0.0, -scale * self.norm("sxx"))
        rest = [weight * self._doubles(named[name]) if name in named else 0.0 for name in MODULI]
        stiff, shear = vti.by_isotropic(*rest)
        trace, deviatoric = (weight * self._doubles(named[name]) for name in ("trace", "deviatoric"))
        relaxing = vti.by_relaxing_moduli(trace - stiff, deviatoric - shear)
        return {name: a + b for name, a, b in zip(MODULI, rest, relaxing)}

    def _by_losses(self, named, scale):
        """See `Medium._by_losses`; of the part of the cells that relaxes, where it has normal stresses."""
        by_q = self._blank()
        by_q[self.here] = -scale * self.norm("sxx") * self._relaxing_stiff * self._doubles(named["trace" + BY_Q])
        return (self.fold(by_q),)

    @cached_property
    def _relaxing_stiff(self):
        """See `Medium._relaxing_stiff`; of the part that relaxes."""
        stiff, _ = vti.relaxing_moduli(*self._moduli_of_points.values())
        return np.where(self._held_fluid, 0.0, stiff)

    def _of_stresses(self, shear, c11, c13, c33, c44, c66, of_q=0.0, _=0.0):
        """See `Medium._of_stresses`; `of_q`: change of 1/Qp of what relaxes. 1/Qs stays."""
        by, normal = self._changes_of_points((c11, c13, c33, c44, c66)), self.d.normal
        of_parts, of_rest = [], []
        for field in shear:
            means = {n: self._mean_squared(n, field) * self._softened(by, n, field) for n in SHARES}
            relaxing = sum(share * means[name] for name, share in SHARES.items())
            of_parts.append(relaxing)
            of_rest.append(means[self.soft(field)] - relaxing)
        if normal:
            moduli = [np.where(self._held_fluid, 0.0, by[name][self.here]) for name in MODULI]
            stiff, shear = vti.relaxing_moduli(*moduli)
            of_parts += [shear, stiff, self._relaxing_stiff * self.take(of_q)[self.here]]
            rest = dict(zip(MODULI, (c - p for c, p in zip(moduli, vti.of_isotropic(stiff, shear)))))
            of_rest += [rest[name] for name in increments.REST[: 1 + len(normal)]]
        return [*of_parts, *of_rest]
