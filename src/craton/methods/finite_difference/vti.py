"""Transverse isotropy about z on the staggered grid: the material that the law of its stresses
needs, see law.h; with attenuation the part of it that relaxes.
"""

import numpy as np

from craton.methods.finite_difference import relaxing
from craton.model.media import rheology
from craton.model.media.earth import cell_losses, cell_stiffness

NAMES = ("d11", "d13", "r66")


def names(d):
    """Return the kernels' arrays that only transverse isotropy has, where it is absent."""
    return () if d.anisotropic else NAMES


def stiffness(d, grid, k0, k1):
    """Density, kg/m3, and c11, c13, c33, c44, c66, Pa, with attenuation unrelaxed, of planes of
    cells: (k1 - k0, ny, nx) each.
    """
    if d.cells is not None:
        starts = (grid.start[0] + k0, *grid.start[1:])
        counts = (k1 - k0, *grid.shape[1:])
        window = tuple(slice(a, a + n) for a, n in zip(starts, counts))
        return tuple(values[window] for values in d.cells)
    rho, *moduli = cell_stiffness(d.scenario.model, grid, k0, k1)
    if d.relaxation is None:
        return rho, *moduli
    ratios = (relaxing.stiffer(d.relaxation, loss) for loss in inverse_q(d, grid, k0, k1))
    return rho, *rheology.stiffened(*moduli, *ratios)


def inverse_q(d, grid, k0, k1):
    """1/Qp and 1/Qs of what relaxes in planes of cells, see `rheology.relaxing_part`."""
    of_p, of_s = cell_losses(d.scenario.model, grid, k0, k1)
    _, *moduli = cell_stiffness(d.scenario.model, grid, k0, k1)
    return rheology.relaxing_part(*moduli, of_p, of_s)[2], of_s


def factors(d):
    """Return what density of the cells is multiplied by before a step has it, and P and S moduli
    of the part that relaxes: see `relaxing.factors`. Q stays, and the losses of that part with it.
    """
    if d.relaxation is None:
        return d.ground and (relaxing.shares(d), 1.0, 1.0)
    losses = inverse_q(d, d.grid, 0, d.grid.shape[0])
    return relaxing.shares(d), *(relaxing.stiffer(d.relaxation, loss) for loss in losses)


def relaxing_moduli(c11, c13, c33, c44, c66):
    """Return lambda + 2 mu and mu of the part that relaxes, see `rheology.relaxing_part`; linear."""
    return (c11 + 2 * c13 + 4 * c44) / 3, (2 * c44 + c66) / 3


def by_relaxing_moduli(stiff, shear):
    """Return derivatives by c11, c13, c33, c44, c66 from those by `relaxing_moduli`."""
    return stiff / 3, 2 / 3 * stiff, 0.0, 4 / 3 * stiff + 2 / 3 * shear, shear / 3


def of_isotropic(stiff, shear):
    """Return c11, c13, c33, c44, c66 of an isotropic medium from lambda + 2 mu and mu; linear."""
    return stiff, stiff - 2 * shear, stiff, shear, shear


def by_isotropic(c11, c13, c33, c44, c66):
    """Return derivatives by lambda + 2 mu and mu from those by what `of_isotropic` returns."""
    return c11 + c13 + c33, c44 + c66 - 2 * c13


def on_grid(of, cells):
    """Return density and moduli of the steps from those of the cells; linear.

    Parameters
    ----------
    of : tuple
        `factors`.
    cells : (rho, c11, c13, c33, c44, c66)
    """
    share, of_p, of_s = of
    rho, *moduli = cells
    stiff, shear = relaxing_moduli(*moduli)
    stiffer = of_isotropic((of_p - 1) * stiff, (of_s - 1) * shear)
    return share * rho, *(share * (c + more) for c, more in zip(moduli, stiffer))


def off_grid(of, gradient):
    """Return the transpose of `on_grid`."""
    share, of_p, of_s = of
    rho, *moduli = (share * values for values in gradient)
    stiff, shear = by_isotropic(*moduli)
    more = by_relaxing_moduli((of_p - 1) * stiff, (of_s - 1) * shear)
    return rho, *(a + b for a, b in zip(moduli, more))


def cells(d, grid, k0, k1):
    """Density, kappa = c33 - 4/3 c44 and mu = c44, from which the law departs, of planes of cells:
    (k1 - k0, ny, nx).
    """
    rho, _, _, c33, c44, _ = stiffness(d, grid, k0, k1)
    return rho, c33 - 4 / 3 * c44, c44


def parameters(d, grid, k0, k1):
    """d11, d13 (Pa) and 1/c66 (1/Pa) of planes of cells, see law.h."""
    _, c11, c13, c33, c44, c66 = stiffness(d, grid, k0, k1)
    d11, d13 = c11 - c33, c13 - (c33 - 2 * c44)
    # with szz = 0: moduli of plane stress
    if d.free and not d.relaxing and grid.start[0] + k1 == d.grid.shape[0]:
        isotropic = 4 * c44 * (c33 - c44) / c33
        d11 = np.concatenate([d11[:-1], (c11 - c13**2 / c33 - isotropic)[-1:]])
        d13 = np.concatenate([d13[:-1], 0 * d13[-1:]])
    with np.errstate(divide="ignore"):
        return d11, d13, 1 / c66
