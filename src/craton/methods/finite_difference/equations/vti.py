"""Transverse isotropy about z on the staggered grid: the material that the law of its stresses
needs, see law.h; with attenuation the part of it that relaxes.
"""

import numpy as np

from craton.methods.finite_difference.equations import relaxing
from craton.model.media import rheology
from craton.model.media.earth import cell_stiffness

NAMES = ("d11", "d13", "r66")


def names(d):
    """Return the kernels' arrays that only transverse isotropy has, where it is absent."""
    return () if d.anisotropic else NAMES


def medium(d, grid):
    """Density, kg/m3, with c11, c13, c33, c44, c66, Pa, unrelaxed where there is attenuation, and
    1/Qp and 1/Qs of what relaxes (`rheology.relaxing_part`; None without): of the cells of a part
    of the grid, thin arrays.
    """
    if d.cells is not None:
        return relaxing.window(d.cells, grid), relaxing.thin_inverse_q(d, grid)
    cells = tuple(map(relaxing.thin, cell_stiffness(d.model, grid, 0, grid.shape[0])))
    if d.relaxation is None:
        return cells, None
    return unrelaxed(d.relaxation, cells, relaxing.inverse_q_of_model(d, grid))


def unrelaxed(relaxation, cells, inverse_q):
    """Return density with unrelaxed moduli, and 1/Qp and 1/Qs of what relaxes, of cells at the
    reference frequency; see `relaxing.unrelaxed`.

    Parameters
    ----------
    relaxation : Relaxation
    cells : (rho, c11, c13, c33, c44, c66)
        kg/m3, Pa.
    inverse_q : (1/Qp, 1/Qs)
        Along z.
    """
    rho, *moduli = cells
    of_p, of_s = inverse_q
    inverse_q = rheology.relaxing_part(*moduli, of_p, of_s)[2], of_s
    ratios = map(relaxing.stiffer(relaxation), inverse_q)
    return (rho, *rheology.stiffened(*moduli, *ratios)), inverse_q


def reference_medium(d, grid):
    """Density, bulk and shear modulus of waves along z, see `relaxing.reference_medium`."""
    return departure(*cell_stiffness(d.model, grid, 0, grid.shape[0]))


def stiffness(d, grid):
    """Density and the moduli of `medium`, (nz, ny, nx) each."""
    return tuple(np.broadcast_to(values, grid.shape) for values in medium(d, grid)[0])


def inverse_q(d, grid):
    """1/Qp and 1/Qs of `medium`, (nz, ny, nx) each."""
    return tuple(np.broadcast_to(loss, grid.shape) for loss in medium(d, grid)[1])


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


def tied(cells, fluid):
    """Return cells whose fluid ones have one modulus, c33; linear.

    Parameters
    ----------
    cells : (rho, c11, c13, c33, c44, c66)
    fluid : bool array
        Of the same shape.
    """
    rho, c11, c13, c33, *shear = cells
    return rho, *(np.where(fluid, c33, c) for c in (c11, c13)), c33, *shear


def untied(gradient, fluid):
    """Return the transpose of `tied`."""
    rho, c11, c13, c33, *shear = gradient
    c33 = c33 + np.where(fluid, c11 + c13, 0.0)
    return rho, *(np.where(fluid, 0.0, c) for c in (c11, c13)), c33, *shear


def departure(rho, c11, c13, c33, c44, c66):
    """Density, kappa = c33 - 4/3 c44 and mu = c44, from which the law departs."""
    return rho, c33 - 4 / 3 * c44, c44


def parameters(d, grid, c11, c13, c33, c44, c66):
    """d11, d13 (Pa) and 1/c66 (1/Pa) of the stiffness of a part of the grid, see law.h: dict."""
    d11, d13 = c11 - c33, c13 - (c33 - 2 * c44)
    # with szz = 0: moduli of plane stress
    if d.free and not d.relaxing and grid.start[0] + grid.shape[0] == d.grid.shape[0]:
        isotropic = 4 * c44 * (c33 - c44) / c33
        d11 = np.concatenate([d11[:-1], (c11 - c13**2 / c33 - isotropic)[-1:]])
        d13 = np.concatenate([d13[:-1], 0 * d13[-1:]])
    with np.errstate(divide="ignore"):
        return dict(zip(NAMES, (d11, d13, 1 / c66)))
