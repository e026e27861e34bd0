"""The chain rule of gradients by the moduli of a medium with attenuation that is transversely isotropic
about z; see transverse.py and strains.py.

Of the moduli an isotropic part relaxes (`rheology.relaxing_part`), linear in them, the rest does not:
stresses are (C - P) e + P F(e), with F of strains.py. Sums by P have filtered strains, sums by C - P
plain ones (kernels/strains.h). Both parts of shear stresses are made of harmonic means of c44 and c66.
1/Q of P waves of that part changes with the moduli (quality.py), that of S waves stays.
"""

from functools import cached_property

import numpy as np

from craton.methods.finite_difference.adjoint import increments
from craton.methods.finite_difference.adjoint.increments import BY_Q, BY_REST
from craton.methods.finite_difference.adjoint.sensitivity import _inverted
from craton.methods.finite_difference.adjoint.transverse import MODULI, TransverseMedium
from craton.methods.finite_difference.equations import vti

SHARES = {"c44": 2 / 3, "c66": 1 / 3}  # of the shear modulus that relaxes


class RelaxingTransverseMedium(TransverseMedium):
    """The medium of a `Discretisation` whose cells have density and unrelaxed c11, c13, c33, c44, c66.

    Parameters
    ----------
    d : Discretisation
    """

    # --- rows of point tables -----------------------------------------------------------------

    def shear_modulus_left(self, field, index, left):
        """See `Medium.shear_modulus_left`."""
        means = {name: _inverted(self.mean_of_points(name, field, index)) for name in SHARES}
        relaxes = sum(share * means[name] for name, share in SHARES.items())
        return means[self.soft(field)] - (1 - left) * relaxes

    def stiffness_left(self, index, of_p, of_s):
        """See `Medium.stiffness_left`."""
        moduli = [values[index] for values in self.moduli_of_cells.values()]
        stiff, shear = vti.relaxing_moduli(*moduli)
        lost = vti.of_isotropic((1 - of_p) * stiff, (1 - of_s) * shear)
        return self.stiffness(dict(zip(MODULI, (c - more for c, more in zip(moduli, lost)))))

    # --- the chain rule -----------------------------------------------------------------------

    def gradient(self, sums, scale=1.0):
        """Return dJ/d(rho, c11, c13, c33, c44, c66) of the cells, and where there are normal stresses
        by 1/Qp of what relaxes; see `Medium.gradient`.
        """
        d = self.d
        sums = np.asarray(sums, float)
        named = dict(zip(increments.sums_of(d), sums.sum(2, keepdims=True) if d.planar else sums))
        rho, by = self._blank(), {name: self._blank() for name in MODULI}
        for field in d.velocity:
            rho -= self.spread(scale * self.norm(field) * named[field], field)
        for field in (f for f in d.stress if f not in d.normal):
            weight = -scale * self.norm(field)
            plain, filtered = weight * named[field + BY_REST], weight * named[field]
            for name, share in SHARES.items():
                of_mean = share * (filtered - plain) + (plain if name == self.soft(field) else 0)
                part = self.spread(self._mean_squared(name, field) * of_mean, field)
                by[name] += part * self._square(name)
        if d.normal:
            for name, values in zip(MODULI, self._by_normal_strains(named, scale)):
                by[name][self.here] += values
        solid = self.moduli_of_cells["c44"] > 0
        folded = [self.fold(values) for values in by.values()]
        shear = [np.where(solid, values, 0.0) for values in folded[3:]]
        return self.fold(rho), *folded[:3], *shear, *self._by_losses(named, scale)

    def _mean_squared(self, name, field):
        """Squared harmonic mean of c44 or c66 where a shear stress is."""
        return _inverted(self.mean(self._soft[name], field)) ** 2

    def _by_normal_strains(self, named, scale):
        """dJ/d(c11, c13, c33, c44, c66) by normal stresses."""
        weight = np.where(self._held_fluid, 0.0, -scale * self.norm("sxx"))
        of_rest = {name: weight * named[name] for name in increments.REST if name in named}
        rest = [of_rest.get(name, 0.0) for name in MODULI]
        stiff, shear = vti.by_isotropic(*rest)
        relaxing = vti.by_relaxing_moduli(weight * named["trace"] - stiff, weight * named["deviatoric"] - shear)
        return [a + b for a, b in zip(rest, relaxing)]

    def _by_losses(self, named, scale):
        """dJ/d(1/Qp) of the part of the cells that relaxes."""
        if not self.d.normal:
            return ()
        by_q = self._blank()
        by_q[self.here] = -scale * self.norm("sxx") * self._relaxing_stiff * named["trace" + BY_Q]
        return (self.fold(by_q),)

    @cached_property
    def _relaxing_stiff(self):
        """See `Medium._relaxing_stiff`; of the part that relaxes."""
        stiff, _ = vti.relaxing_moduli(*self._moduli_of_points.values())
        return np.where(self._held_fluid, 0.0, stiff)

    def perturbation(self, rho, c11, c13, c33, c44, c66, of_q=0.0, _=0.0):
        """Return the coefficients of `scatter_strain`; see `Medium.perturbation`.

        Parameters
        ----------
        rho, c11, c13, c33, c44, c66, of_q : arrays
            Changes, `of_q` those of 1/Qp of what relaxes; 1/Qs stays.
        """
        changes = c11, c13, c33, c44, c66
        d = self.d
        solid = self.moduli_of_cells["c44"] > 0
        by = dict(zip(MODULI, (np.asarray(v, float) for v in changes)))
        by |= {name: np.where(solid, by[name], 0.0) for name in SHARES}
        by = {name: self.take(values) for name, values in by.items()}
        out = [-self.mean(self.take(rho), f) * _inverted(self.density(f)) for f in d.velocity]
        of_parts, of_rest = [], []
        for field in (f for f in d.stress if f not in d.normal):
            means = {
                name: self._mean_squared(name, field) * self.mean(by[name] * self._square(name), field)
                for name in SHARES
            }
            relaxing = sum(share * means[name] for name, share in SHARES.items())
            of_parts.append(relaxing)
            of_rest.append(means[self.soft(field)] - relaxing)
        if d.normal:
            moduli = [np.where(self._held_fluid, 0.0, by[name][self.here]) for name in MODULI]
            stiff, shear = vti.relaxing_moduli(*moduli)
            of_parts += [shear, stiff, self._relaxing_stiff * self.take(of_q)[self.here]]
            rest = dict(zip(MODULI, (c - p for c, p in zip(moduli, vti.of_isotropic(stiff, shear)))))
            of_rest += [rest[name] for name in increments.REST[: 1 + len(d.normal)]]
        return np.stack([np.broadcast_to(v, self.shape) for v in (*out, *of_parts, *of_rest)])
