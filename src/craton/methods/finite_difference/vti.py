"""Transverse isotropy about z on the staggered grid: what its stiffness has more than the isotropic one of the step, and the launches."""
import numpy as np

from craton.core.plan import Launch
from craton.methods.finite_difference import operators
from craton.methods.finite_difference.boundaries import slab_depths, slab_params
from craton.model.media.earth import cell_stiffness

NAMES = ("d11", "d13", "r66")


def cells(d, grid, k0, k1):
    """Density and the moduli that the isotropic step takes, kappa = c33 - 4/3 c44 and mu = c44, of planes of cells: (k1 - k0, ny, nx)."""
    rho, _, _, c33, c44, _ = cell_stiffness(d.scenario.model, grid, k0, k1)
    return rho, c33 - 4 / 3 * c44, c44


def parameters(d, grid, k0, k1):
    """d11, d13 (Pa) and 1/c66 (1/Pa) of planes of cells, see vti.h."""
    _, c11, c13, c33, c44, c66 = cell_stiffness(d.scenario.model, grid, k0, k1)
    d11, d13 = c11 - c33, c13 - (c33 - 2 * c44)
    if d.free and grid.start[0] + k1 == d.grid.shape[0]:  # with szz = 0: moduli of plane stress
        isotropic = 4 * c44 * (c33 - c44) / c33
        d11 = np.concatenate([d11[:-1], (c11 - c13**2 / c33 - isotropic)[-1:]])
        d13 = np.concatenate([d13[:-1], 0 * d13[-1:]])
    with np.errstate(divide="ignore"):
        return d11, d13, 1 / c66


def vti(d):
    """Launches of the stress phase: the whole grid, its planes below a free surface, its CPML layers; none in an isotropic medium."""
    if not d.anisotropic:
        return {}, {}
    op, top = operators.vti(d.stencil), d.grid.shape[0] - d.surface_planes
    names = d.names(*op.arrays)
    launches = [Launch(op, names, d.slab(2, 0, top), d.fd_params)]
    if d.free:
        launches.append(Launch(operators.at_surface(op, d.closure, d.stencil), names, d.slab(2, top, d.grid.shape[0]), d.fd_params))
    return {}, {"stress": launches + [_in_layer(d, *face) for face in d.faces("cpml")]}


def _in_layer(d, axis, side):
    """The launch for the CPML layer of a face."""
    slab, *_ = slab_depths(d, axis, side, d.scenario.boundaries.cpml.thickness)
    a, along, h = "xyz"[axis], "xyx"[axis], "yxy"[axis]
    names = (f"s{along}{along}", f"s{h}{h}", "szz", "sxy", f"v{a}", f"v{h}", f"psi_stress_{a}{side}", f"cpml_{a}{side}", "rmu", *NAMES)
    return Launch(operators.cpml_vti(d.stencil, axis), d.names(*names), slab, slab_params(d, slab))
