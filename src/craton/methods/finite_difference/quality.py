"""The medium of the steps where Q changes, in inversions: unrelaxed moduli and 1/Q from moduli of the
reference frequency and 1/Q of the cells, its derivative and the transpose of that.

Unlike `relaxing.stiffer`, which interpolates, the ratio of both moduli is computed for each cell: a
gradient needs its derivative.
"""

import numpy as np

from craton.methods.finite_difference import relaxing

WITH_Q = 5  # fields of the cells: density, bulk and shear modulus, 1/Qp, 1/Qs


def on_grid(d, cells):
    """Return density, unrelaxed bulk and shear modulus, 1/Qp and 1/Qs of the steps.

    Parameters
    ----------
    d : Discretisation
    cells : (rho, kappa, mu, 1/Qp, 1/Qs)
        (nz, ny, nx) each, kg/m3 and Pa.
    """
    rho, kappa, mu, *losses = cells
    share, (of_p, of_s) = relaxing.shares(d), map(d.relaxation.unrelaxed, losses)
    unrelaxed = of_s * mu
    stiff = of_p * (kappa + 4 / 3 * mu)
    return share * rho, share * (stiff - 4 / 3 * unrelaxed), share * unrelaxed, *losses


def changes_on_grid(d, cells, changes):
    """Return by how much what `on_grid` returns changes with the cells, to first order."""
    rho, kappa, mu, of_qp, of_qs = changes
    ratios, by_losses = _slopes(d, cells)
    unrelaxed = ratios[1] * mu + by_losses[1] * of_qs
    stiff = ratios[0] * (kappa + 4 / 3 * mu) + by_losses[0] * of_qp
    share = relaxing.shares(d)
    return share * rho, share * (stiff - 4 / 3 * unrelaxed), share * unrelaxed, of_qp, of_qs


def off_grid(d, cells, gradient):
    """Return the gradient by the cells from that by what `on_grid` returns: the transpose of
    `changes_on_grid`.
    """
    rho, kappa, mu, of_qp, of_qs = gradient
    ratios, by_losses = _slopes(d, cells)
    share = relaxing.shares(d)
    stiff, unrelaxed = share * kappa, share * (mu - 4 / 3 * kappa)
    by_kappa = ratios[0] * stiff
    by_mu = ratios[1] * unrelaxed + 4 / 3 * by_kappa
    of_qp, of_qs = of_qp + by_losses[0] * stiff, of_qs + by_losses[1] * unrelaxed
    return share * rho, by_kappa, by_mu, of_qp, of_qs


def _slopes(d, cells):
    """Ratios of unrelaxed and given modulus, of P and S waves, and the derivatives of both unrelaxed
    moduli by 1/Q.
    """
    _, kappa, mu, *losses = cells
    moduli = (kappa + 4 / 3 * mu, mu)
    ratios = [d.relaxation.unrelaxed(loss) for loss in losses]
    slopes = [d.relaxation.unrelaxed_slope(loss) * m for loss, m in zip(losses, moduli)]
    return ratios, np.array(slopes)
