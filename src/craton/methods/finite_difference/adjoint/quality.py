"""The medium of the steps in inversions: unrelaxed moduli and 1/Q of what relaxes, from moduli of the
reference frequency and 1/Qp and 1/Qs of the cells; its derivative and the transpose of that.

Where the medium is transversely isotropic, 1/Qp and 1/Qs are those of waves along z, and 1/Q of P
waves of the part that relaxes depends on the moduli, too (`rheology.relaxing_part`): with M and G
its P and S modulus,

    b = (c33 / Qp - 4/3 c44 / Qs) / (c33 - 4/3 c44),    1/Q = b + 4/3 (G / M) (1/Qs - b)
"""

import numpy as np

from craton.methods.finite_difference.equations import relaxing, vti

WITH_Q = 5  # fields of the cells: density, bulk and shear modulus, 1/Qp, 1/Qs


def on_grid(d, cells, inverse_q):
    """Return density and moduli of the steps, and 1/Qp and 1/Qs of what relaxes (None without
    attenuation): as `craton.run` makes them of its cells.

    Parameters
    ----------
    d : Discretisation
    cells : (rho, kappa, mu) or (rho, c11, c13, c33, c44, c66)
        (nz, ny, nx) each, kg/m3 and Pa; in cells that the ground cuts those of the matter in them.
    inverse_q : (1/Qp, 1/Qs) or None
    """
    cells = _of_matter(d, cells)
    if d.relaxation is None:
        return cells, None
    return (vti if d.anisotropic else relaxing).unrelaxed(d.relaxation, cells, inverse_q)


def changes_on_grid(d, cells, inverse_q, changes, change_of_q=(0.0, 0.0)):
    """Return by how much what `on_grid` returns changes with the cells, to first order, and with
    1/Qp and 1/Qs where these change.
    """
    of_q = None
    if d.relaxation is not None and d.anisotropic:
        changes, of_q = _transverse_changes(d, cells, inverse_q, changes)
    elif d.relaxation is not None:
        changes, of_q = _isotropic_changes(d, cells, inverse_q, changes, change_of_q)
    return _of_matter(d, changes), of_q


def off_grid(d, cells, inverse_q, gradient, by_q=()):
    """Return the gradient by the cells, and by 1/Qp and 1/Qs where these change, from that by what
    `on_grid` returns: the transpose of `changes_on_grid`.

    Parameters
    ----------
    d : Discretisation
    cells, inverse_q
        See `on_grid`.
    gradient : tuple of arrays
        By density and moduli.
    by_q : tuple of arrays
        By 1/Qp, and 1/Qs, of what relaxes, as far as these change.
    """
    gradient = _of_matter(d, gradient)
    if d.relaxation is None:
        return gradient
    if d.anisotropic:
        return _off_transverse(d, cells, inverse_q, gradient, *by_q)
    return _off_isotropic(d, cells, inverse_q, gradient, by_q)


def _of_matter(d, values):
    """Return values of cells times the part of each that is not air."""
    if d.ground is None:
        return tuple(values)
    share = relaxing.shares(d)
    return tuple(share * v for v in values)


# --- isotropic ------------------------------------------------------------------------------------


def _isotropic_changes(d, cells, inverse_q, changes, change_of_q):
    rho, kappa, mu = changes
    ratios, by_losses = _isotropic_slopes(d, cells, inverse_q, change_of_q)
    unrelaxed = ratios[1] * mu + by_losses[1] * change_of_q[1]
    stiff = ratios[0] * (kappa + 4 / 3 * mu) + by_losses[0] * change_of_q[0]
    return (rho, stiff - 4 / 3 * unrelaxed, unrelaxed), change_of_q


def _off_isotropic(d, cells, inverse_q, gradient, by_q):
    rho, stiff, mu = gradient
    unrelaxed = mu - 4 / 3 * stiff
    ratios, by_losses = _isotropic_slopes(d, cells, inverse_q, by_q)
    by_kappa = ratios[0] * stiff
    parts = zip(by_q, by_losses, (stiff, unrelaxed))
    by_q = (by_loss + slope * part for by_loss, slope, part in parts)
    return rho, by_kappa, ratios[1] * unrelaxed + 4 / 3 * by_kappa, *by_q


def _isotropic_slopes(d, cells, inverse_q, of_q):
    """Ratios of unrelaxed and given modulus, of P and S waves, and the derivatives of both unrelaxed
    moduli by 1/Q where it changes, else 0.
    """
    _, kappa, mu = cells
    of = relaxing.stiffer(d.relaxation)
    ratios = [of(loss) for loss in inverse_q]
    if not any(map(np.ndim, of_q)):
        return ratios, (0.0, 0.0)
    moduli = kappa + 4 / 3 * mu, mu
    return ratios, [of(loss, True) * modulus for loss, modulus in zip(inverse_q, moduli)]


# --- transversely isotropic -----------------------------------------------------------------------


def _transverse_changes(d, cells, inverse_q, changes):
    rho, *moduli = changes
    more, by_loss, by_moduli = _transverse_slopes(d, cells, inverse_q)
    of_q = sum(by * change for by, change in zip(by_moduli, moduli))
    stiff, shear = (part * c for part, c in zip(more, vti.relaxing_moduli(*moduli)))
    added = vti.of_isotropic(stiff + by_loss * of_q, shear)
    return (rho, *(c + a for c, a in zip(moduli, added))), (of_q, 0.0)


def _off_transverse(d, cells, inverse_q, gradient, by_q=0.0):
    rho, *moduli = gradient
    more, by_loss, by_moduli = _transverse_slopes(d, cells, inverse_q)
    stiff, shear = vti.by_isotropic(*moduli)
    by_q = by_q + by_loss * stiff
    added = vti.by_relaxing_moduli(*(part * by for part, by in zip(more, (stiff, shear))))
    parts = zip(moduli, added, by_moduli)
    return rho, *(by + a + slope * by_q for by, a, slope in parts)


def _transverse_slopes(d, cells, inverse_q):
    """By how much P and S modulus of the part that relaxes are larger unrelaxed, relatively; the
    derivative of its unrelaxed P modulus by its 1/Q, and those of that by c11, c13, c33, c44, c66.
    """
    _, c11, c13, c33, c44, c66 = cells
    of_p, of_s = inverse_q
    of, stiff, shear = relaxing.stiffer(d.relaxation), *vti.relaxing_moduli(*cells[1:])
    lost = c33 * of_p - 4 / 3 * c44 * of_s
    along = c33 - 4 / 3 * c44
    bulk = np.maximum(lost, 0) / along
    ratio = 4 / 3 * shear / stiff
    loss = bulk + ratio * (of_s - bulk)
    slope = np.where(lost > 0, (1 - ratio) / along, 0.0)
    by_stiff, by_shear = -ratio / stiff * (of_s - bulk), 4 / 3 / stiff * (of_s - bulk)
    by_moduli = vti.by_relaxing_moduli(by_stiff, by_shear)
    by_moduli = (
        *by_moduli[:2],
        by_moduli[2] + slope * (of_p - bulk),
        by_moduli[3] - 4 / 3 * slope * (of_s - bulk),
        by_moduli[4],
    )
    return (of(loss) - 1, of(of_s) - 1), of(loss, True) * stiff, by_moduli
