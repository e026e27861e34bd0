"""Material on the grid: density, lambda and 1/mu per integer point, cell averages of the Earth model, ghosts included."""
from functools import partial

import numpy as np

from craton.model.earth import cell_losses, cell_stiffness
from craton.model.grid import Grid
from craton.plan.plan import Array
from craton.solvers.fd_elastic import relaxing, vti

NAMES = ("rho", "lam", "rmu")
LOSSES = ("qp", "qs")  # 1/Qp, 1/Qs: with attenuation
CHUNK = 16  # planes averaged at a time


def arrays(d):
    """The plan's material arrays, filled when they are allocated."""
    layout = d.sheet
    names = (*NAMES, *(LOSSES if d.relaxing else ()), *(vti.NAMES if d.anisotropic else ()))
    part = {"shape": layout.padded, "dtype": d.precision, "first": layout.first, "window": layout.window(), "part_of": "material"}
    block = {"material": Array("material", (layout.block(len(names)),), d.precision)}
    fills = {name: partial(fill, d=d, name=name) for name in names}
    return block | {name: Array("material", data=fills[name], start=layout.start(n), **part) for n, name in enumerate(names)}


def fill(out, d, name):
    """Write one parameter into a padded array, edges repeated into the ghosts (wrapped where the grid is periodic)."""
    inside = out[d.sheet.window()]
    nz = d.grid.shape[0]
    for k0 in range(0, nz, CHUNK):
        k1 = min(k0 + CHUNK, nz)
        if name in LOSSES:
            inside[k0:k1] = cell_losses(d.scenario.model, d.grid, k0, k1)[LOSSES.index(name)]
        elif name in vti.NAMES:
            inside[k0:k1] = vti.parameters(d, k0, k1)[vti.NAMES.index(name)]
        else:
            inside[k0:k1] = parameter(name, *cells(d, d.grid, k0, k1))
    if d.free and name == "lam":
        _, kappa, mu = cells(d, d.grid, nz - 1, nz)
        inside[nz - 1 :] = plane_stress(kappa - 2 / 3 * mu, mu)
    periodic = {axis for axis, _ in d.faces("periodic")}
    for axis, (n, origin) in enumerate(zip(d.grid.shape, d.sheet.origin)):
        fill_ghosts(np.moveaxis(out, axis, 0), origin, n, wrapped=2 - axis in periodic)


def cells(d, grid, k0, k1):
    """Density and the bulk and shear modulus of the isotropic step, of planes of cells: (k1 - k0, ny, nx)."""
    return (vti if d.anisotropic else relaxing).cells(d, grid, k0, k1)


def vertical_strain(d, at):
    """Minus vertical over horizontal strain where szz = 0: c13 / c33, that is lambda / (lambda + 2 mu), at points (k, j, i)."""
    at = d.cell(at)
    low, part = surroundings(d, [v for a in at for v in (int(a.min()), int(a.max()) + 1)])
    here = tuple(a - start for a, start in zip(at, low))
    if d.anisotropic:
        _, _, c13, c33, _, _ = (v[here] for v in cell_stiffness(d.scenario.model, part, 0, part.shape[0]))
        return c13 / c33
    _, kappa, mu = (v[here] for v in cells(d, part, 0, part.shape[0]))
    return (kappa - 2 / 3 * mu) / (kappa + 4 / 3 * mu)


def parameter(name, rho, kappa, mu):
    """What is stored: rho, lambda = kappa - 2/3 mu, or 1/mu (infinite in a fluid)."""
    if name == "rho":
        return rho
    if name == "lam":
        return kappa - 2 / 3 * mu
    with np.errstate(divide="ignore"):
        return 1 / mu


def plane_stress(lam, mu):
    """lambda of the horizontal stresses where szz = 0: 2 mu lam / (lam + 2 mu)."""
    return 2 * mu * lam / (lam + 2 * mu)


def fill_ghosts(out, origin, n, wrapped):
    """Fill the points before and after the grid along the first axis."""
    for ghost in range(len(out)):
        if not origin <= ghost < origin + n:
            at = origin + (ghost - origin) % n if wrapped else min(max(ghost, origin), origin + n - 1)
            out[ghost] = out[at]


def trace_share(d, at):
    """What pressure is of minus the normal stresses that are computed, at integer points (k, j, i): a third.

    In the plane syy is not computed; eyy = 0 makes it lambda / (2 (lambda + mu)) (sxx + szz).
    """
    if not d.planar:
        return 1 / 3
    at = d.cell(at)
    low, (_, kappa, mu) = around(d, [v for a in at for v in (int(a.min()), int(a.max()) + 1)])
    here = tuple(a - start for a, start in zip(at, low))
    lam, mu = kappa[here] - 2 / 3 * mu[here], mu[here]
    return (1 + lam / (2 * (lam + mu))) / 3


def around(d, box):
    """Cell averages (rho, kappa, mu) in a small box of the grid, and what they would be one point beyond it where the grid goes on."""
    low, part = surroundings(d, box)
    return low, cells(d, part, 0, part.shape[0])


def surroundings(d, box):
    """The grid of a small box and one point beyond it where the grid goes on, and the index (k, j, i) of its first point."""
    low = [max(a - 1, 0) for a in box[::2]]
    high = [min(b + 1, n) for b, n in zip(box[1::2], d.grid.shape)]
    origin = tuple(o + d.grid.spacing * i for o, i in zip(d.grid.origin, reversed(low)))
    return low, Grid(origin, d.grid.spacing, tuple(b - a for a, b in zip(low, high)))
