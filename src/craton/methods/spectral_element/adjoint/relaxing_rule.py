"""The chain rule of gradients of a mesh with attenuation; see nodal.py. Steps have unrelaxed moduli
and 1/Q of shear and bulk modulus; the medium is given by moduli at the reference frequency and,
where they are parameters, 1/Qp and 1/Qs.
"""

import numpy as np

from craton.methods.spectral_element.adjoint.nodal import ChainRule
from craton.model.media import sampling

GIVEN = 3  # density, bulk and shear modulus, before 1/Qp and 1/Qs


class RelaxingRule(ChainRule):
    """Masses, moduli, losses and absorbing faces of a mesh by the medium of its nodes: cells are
    (rho, kappa, mu) or (rho, kappa, mu, 1/Qp, 1/Qs), (ne, n^3) each.
    """

    @property
    def start_q(self):
        """1/Qp and 1/Qs of the start: (ne, n^3) each."""
        return self.d.nodal["loss_p"], self.d.nodal["loss_s"]

    def medium(self, cells):
        """See `ChainRule.medium`."""
        of_q = cells[GIVEN:] or self.start_q
        return super().medium(cells[:GIVEN]) | dict(zip(("loss_p", "loss_s"), of_q))

    def unrelaxed(self, cells):
        """See `ChainRule.unrelaxed`."""
        _, kappa, mu = cells[:GIVEN]
        of_shear, of_bulk = self._q_of_moduli(cells)
        relaxation, solid = self.d.relaxation, ~self.d.fluid[:, None]
        return (np.where(solid, relaxation.unrelaxed(of_bulk) * kappa, kappa), relaxation.unrelaxed(of_shear) * mu)

    def gradient(self, cells, of_elements, of_points, of_faces):
        """See `ChainRule.gradient`; `of_elements` has lambda and mu, unrelaxed, 1/Q of shear and of
        bulk modulus.
        """
        plain = np.zeros_like(of_elements[:, :2])
        plain[self.d.fluid] = of_elements[self.d.fluid, :2]
        out = list(super().gradient(cells[:GIVEN], plain, of_points, of_faces))
        by_lambda, by_mu, by_shear, by_bulk = np.moveaxis(of_elements, 1, 0)
        sums = by_lambda, by_mu - 2 / 3 * by_lambda, by_shear, by_bulk
        slopes = self._slopes(cells)
        by_given = [sum(row[n] * part for row, part in zip(slopes, sums)) for n in range(4)]
        solid = ~self.d.fluid[:, None]
        out[1] = out[1] + np.where(solid, by_given[0], 0.0)
        out[2] = out[2] + np.where(solid, by_given[1], 0.0)
        if len(cells) > GIVEN:
            out += [np.where(solid, part, 0.0) for part in by_given[2:]]
        return tuple(out)

    def changes(self, cells, change):
        """See `ChainRule.changes`; moduli have two further rows, of the losses."""
        moduli, masses, damping = super().changes(cells[:GIVEN], change[:GIVEN])
        given = (*change[1:GIVEN], *(change[GIVEN:] or (0.0, 0.0)))
        kappa, mu, shear, bulk = (sum(by * values for by, values in zip(row, given)) for row in self._slopes(cells))
        solid = np.stack([kappa - 2 / 3 * mu, mu, shear, bulk], axis=1)
        fluid = np.concatenate([moduli, np.zeros_like(moduli)], axis=1)
        return np.where(self.d.fluid[:, None, None], fluid, solid), masses, damping

    def _q_of_moduli(self, cells):
        """1/Q of shear and of bulk modulus."""
        samples = self.medium(cells)
        return samples["loss_s"], np.where(self.d.fluid[:, None], 0.0, sampling.bulk(samples))

    def _slopes(self, cells):
        """Return the derivatives of unrelaxed bulk and shear modulus and of 1/Q of shear and of bulk
        modulus by kappa, mu, 1/Qp, 1/Qs: rows of four.
        """
        relaxation, (_, kappa, mu) = self.d.relaxation, cells[:GIVEN]
        of_p, of_s = cells[GIVEN:] or self.start_q
        of_shear, of_bulk = self._q_of_moduli(cells)
        less, ratio = of_p - of_s, 4 / 3 * mu / kappa
        bulk = [-ratio * less / kappa, 4 / 3 * less / kappa, 1 + ratio, -ratio]
        bulk = [np.where(of_bulk > 0, part, 0.0) for part in bulk]
        by_bulk = kappa * relaxation.unrelaxed_slope(of_bulk)
        by_shear = mu * relaxation.unrelaxed_slope(of_shear)
        kappas = [by_bulk * part for part in bulk]
        kappas[0] = kappas[0] + relaxation.unrelaxed(of_bulk)
        return (kappas, (0.0, relaxation.unrelaxed(of_shear), 0.0, by_shear), (0.0, 0.0, 0.0, 1.0), bulk)
