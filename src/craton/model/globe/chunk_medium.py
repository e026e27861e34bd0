"""The medium at the GLL points of a chunk: the radial model on each element's own side of
discontinuities, and what is laid over it.
"""

import numpy as np

from craton.model.globe import radial
from craton.model.mesh import shape


def medium(part, points, chosen=slice(None), over=None):
    """Properties at GLL points.

    They are looked up at the radius that a point had before flattening and topography, within its
    element's section.

    Parameters
    ----------
    part : chunk.Part
    points : (n,) array
        Reference coordinates along each axis.
    chosen : slice or array
        Elements.
    over : emc.Geographic, optional
        A three-dimensional model.

    Returns
    -------
    (8, ne, n, n, n) array
        `properties.NAMES`: vp, vs (m/s), rho (kg/m3), 1 / Qp, 1 / Qs, epsilon, delta, gamma about
        the radial direction, [k][j][i].
    """
    model, r = part.chunk.model, part.radii(points, chosen)
    values = radial.described(model, r)
    if over is None:
        return values
    longitude, latitude = part.chunk.frame.degrees(places(part, points, chosen))
    return over.laid_over(values, longitude, latitude, model.radius - r)


def places(part, points, chosen=slice(None)):
    """Positions of GLL points, (ne, n, n, n, 3), m.

    Parameters
    ----------
    part : Part
    points : (n,) array
        Reference coordinates along each axis.
    chosen : slice or array, optional
        Elements; all by default.
    """
    n = len(points)
    return shape.positions(part.mesh.nodes, part.mesh.elements[chosen], np.asarray(points, float)).reshape(
        -1, n, n, n, 3
    )


def stiffness(part, points, chosen=slice(None)):
    """Stiffness (6, 6, ne, n, n, n), Pa, in the chunk's axes, of a transversely isotropic radial
    model about the radial direction.

    Order of stresses: xx, yy, zz, yz, xz, xy. See `radial.stiffness`.

    Parameters
    ----------
    part : Part
    points : (n,) array
        Reference coordinates along each axis.
    chosen : slice or array, optional
        Elements; all by default.
    """
    r, xyz = part.radii(points, chosen), places(part, points, chosen)
    axis = np.moveaxis(xyz / np.linalg.norm(xyz, axis=-1, keepdims=True), -1, 0)
    return radial.stiffness(part.chunk.model.moduli(r), axis)
