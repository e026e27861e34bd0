"""What a difference adds that crosses the side of a box, per unit of what it takes: buoyancy, moduli,
shares of memory variables, as the kernels have them (moduli.h, law.h, relax.h).

With attenuation the law of stress at a point is linear in the strain rate and its memory variables,
which lie at the point and on the same side. A strain rate on top of what the step has seen therefore
adds the moduli that are left over one step, M (1 - sum Y (1 - held)), times it to stress, and
1 - decay of it to each memory variable; later steps take the rest from these.
"""

from functools import cached_property

import numpy as np

from craton.methods.finite_difference.equations import laminate, material, relaxing


class Around:
    """Stored parameters of the medium around points (k, j, i) of the grid.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    """

    def __init__(self, d, at):
        self.d, cells = d, d.cell(at)
        box = [v for a, n in zip(cells, d.grid.shape) for v in (a.min(), min(a.max() + 2, n))]
        self.part = d.grid.window([int(v) for v in box])
        self.at = [a - low for a, low in zip(cells, box[::2])]

    @cached_property
    def planes(self):
        """All parameters of the part of the grid that holds the points: dict of arrays."""
        return material.parameters(self.d, self.part, material.NAMES)

    def values(self, name, *moved):
        """Return a parameter at the points, or one point further along some axes.

        Parameters
        ----------
        name : str
            Of `material.parameters`.
        moved : int
            Axes (0, 1, 2 for x, y, z).
        """
        planes = self.planes[name]
        shift = [int(2 - n in moved) for n in range(3)]
        return planes[tuple(np.minimum(a + s, n - 1) for a, s, n in zip(self.at, shift, planes.shape))]

    def corners(self, name, axes):
        """Return a parameter at the four points around a shear stress across two axes: list."""
        return [self.values(name, *moved) for moved in ((), axes[:1], axes[1:], axes)]


def buoyancy(d, at, axis):
    """1 / (mean of density) where a velocity is; 0 between cells that hold nothing."""
    medium = Around(d, at)
    both = medium.values("rho") + medium.values("rho", axis)
    return np.divide(2, both, out=np.zeros(len(both)), where=both > 0)


def shear(d, at, axes, field):
    """Modulus of a shear stress across two axes, Pa.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    axes : (int, int)
    field : str
        Name of the stress.
    """
    medium, horizontal = Around(d, at), set(axes) == {0, 1}
    c44 = 4 / sum(medium.corners("rmu", axes))
    c66 = c44
    if d.anisotropic and (horizontal or d.relaxing):
        c66 = 4 / sum(medium.corners("r66", axes))
    modulus = c66 if horizontal else c44
    if d.relaxing:
        inverse_q = sum(medium.corners("qs", axes)) / 4
        left = relaxing.remainder(relaxing.Mechanisms(d).at(field, at), inverse_q)
        modulus = modulus - (2 * c44 + c66) / 3 * (1 - left)
    return modulus + laminate.at_points(d, at)[3] if horizontal else modulus


def column(d, at, axis, component):
    """Modulus, Pa, that takes a strain along an axis to a normal stress, or to the pressure's
    negative.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    axis, component : int
        Of the strain and of the normal stress: 0, 1, 2 for x, y, z.
    """
    medium = Around(d, at)
    if d.acoustic:
        return medium.values("lam")
    if d.relaxing:
        return relaxing_column(d, at, axis, component)
    lam, mu2, *others = normal_moduli(d, at, medium)
    return modulus_of(d, at, axis, component, lam, mu2, *others)


def modulus_of(d, at, axis, component, lam, mu2, d11, d13, across):
    """Return the modulus from a strain along an axis to a normal stress, Pa, of `normal_moduli` or of
    what is left of lambda and 2 mu.
    """
    d33 = laminate.at_points(d, at)[2]
    if axis == component:
        return lam + mu2 + (d33 if axis == 2 else d11)
    return lam + (d13 if 2 in (axis, component) else d11 - across)


def normal_moduli(d, at, medium):
    """Return lambda, 2 mu, d11, d13 and d11 - d12 at integer points, Pa, see law.h.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    medium : Around
        Of these points.
    """
    lam, mu2 = medium.values("lam"), 2 / medium.values("rmu")
    d11, d13, _, d66 = laminate.at_points(d, at)
    across = 2 * d66
    if d.anisotropic:
        d11, d13 = medium.values("d11"), medium.values("d13")
        across = 2 / medium.values("r66") - mu2
    return lam, mu2, d11, d13, across


# --- attenuation ----------------------------------------------------------------------------------


def relaxing_column(d, at, axis, component):
    """Return `column` of a medium with attenuation: what is left of it over one step. On a free
    surface it has the vertical strain rate that keeps szz zero.
    """
    medium = Around(d, at)
    _, _, d11, d13, across = unrelaxed(d, at, medium)
    left_lam, left_mu2 = left(d, at, medium)
    modulus = modulus_of(d, at, axis, component, left_lam, left_mu2, d11, d13, across)
    return modulus + (left_lam + d13) * surface_strain(d, at, axis)


def unrelaxed(d, at, medium):
    """Return `normal_moduli` with lambda on a free surface, too, where that of plane stress is
    stored.
    """
    lam, mu2, *others = normal_moduli(d, at, medium)
    solid = mu2 > lam
    full = np.divide(mu2 * lam, mu2 - lam, out=np.zeros(len(lam)), where=solid)
    return np.where(on_surface(d, at), full, lam), mu2, *others


def on_surface(d, at):
    """Return which points (k, j, i) lie on a free surface."""
    return np.asarray(at[0] == d.grid.shape[0] - 1) & d.free


def left(d, at, medium):
    """Return lambda and 2 mu that are left over one step, Pa, at integer points.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    medium : Around
        Of these points.
    """
    lam, mu2, d11, d13, across = unrelaxed(d, at, medium)
    part_lam, part_mu2 = lam, mu2
    if d.anisotropic:
        part_lam, part_mu2 = lam + (d11 - across + 2 * d13) / 3, mu2 + across / 3
    mechanisms = relaxing.Mechanisms(d).at(d.normal[0], at)
    lost_p, lost_s = (1 - relaxing.remainder(mechanisms, medium.values(name)) for name in ("qp", "qs"))
    lost_mu2 = part_mu2 * lost_s
    return lam - ((part_lam + part_mu2) * lost_p - lost_mu2), mu2 - lost_mu2


def surface_strain(d, at, axis):
    """Return the vertical strain rate that keeps szz zero on a free surface, per unit of one along an
    axis; 0 elsewhere.
    """
    if axis == 2 or not on_surface(d, at).any():
        return np.zeros(len(at[0]))
    medium = Around(d, at)
    d13 = unrelaxed(d, at, medium)[3]
    left_lam, left_mu2 = left(d, at, medium)
    stiff, solid = left_lam + left_mu2, on_surface(d, at) & (left_lam + left_mu2 > 0)
    return np.divide(-(left_lam + d13), stiff, out=np.zeros(len(stiff)), where=solid)


def driven(d, at, field, number):
    """Share of a strain rate that its memory variable takes: 1 - decay.

    Parameters
    ----------
    d : Discretisation
    at : (k, j, i) int arrays
    field : str
        Name of the stress.
    number : int
        Of the mechanism among those stored.
    """
    return 1 - relaxing.Mechanisms(d).at(field, at)[number, :, 0]


def driven_by_surface(d, at, axis, number):
    """Share of a strain rate along an axis that the memory variable of the vertical one takes on a
    free surface; see `driven`.
    """
    return surface_strain(d, at, axis) * driven(d, at, "szz", number)
