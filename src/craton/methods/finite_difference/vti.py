"""Transverse isotropy about z on the staggered grid: the material that the law of its stresses
needs, see law.h.
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
