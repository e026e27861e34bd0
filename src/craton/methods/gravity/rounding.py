"""Rounding of the closed form of prism.h in double precision, bounded for each prism and point by
what its terms are made of.
"""

import numpy as np

UNIT = 2.0**-53
# in units of rounding: of a distance (offsets, squares, their sum, its root); of the two distances
# and the side of an edge
DISTANCE, EDGE = 3.0, 4.0
BESIDE = 4 * DISTANCE  # of the quotient in a logarithm beside an edge
LOG = 9.0  # of a difference of two logarithms: the products and the quotient in it, and its own
TRIPLE = 10.0  # of a product of three distances, or of one and a scalar product
ANGLE = 8.0  # of an angle of known components, and of its factor
LEAST = 1e-30  # as in prism.h
EDGES, FACES = ((0, 1, 2), (0, 2, 1), (1, 2, 0)), ((0, 1, 2), (1, 0, 2), (2, 0, 1))


def bounds(prisms, points):
    """Bounds of the rounding of all fields of prisms of unit density over G at points, in SI.

    An error of the distances r1 and r2 from the ends of an edge of length l changes its logarithm
    L = ln((S + l) / (S - l)), S = r1 + r2, by 2 l dS / (S^2 - l^2): with distance this falls less
    than what is left of four of them. The solid angle of a face is twice that of first + i top for
    each of two triangles; `first` loses digits near edges and diagonals of long faces.

    Parameters
    ----------
    prisms : ndarray
        (M, 6).
    points : ndarray
        (3, N).

    Returns
    -------
    dict of str to ndarray
        (N, M) by the name of a field.
    """
    offsets = (prisms.T[:, None] - np.repeat(points, 2, axis=0)[:, :, None]).reshape(3, 2, points.shape[1], -1)
    sides = (prisms[:, 1::2] - prisms[:, ::2]).T
    (xx, yy, zz), axes = offsets**2, "enz"
    away = np.sqrt(xx[:, None, None] + yy[None, :, None] + zz[None, None])
    out = dict.fromkeys(("potential", "g_e", "g_n", "g_z"), 0.0)
    for a, b, t in EDGES:
        distances = np.moveaxis(away, (a, b, t), (0, 1, 2))
        parts = _edges(offsets[a], offsets[b], offsets[t], sides[a], sides[t], distances)
        for name, part in zip(("g_" + axes[a], "g_" + axes[b], "potential"), parts):
            out[name] = out[name] + part
        out[f"g_{axes[a]}{axes[b]}"] = parts[3]
    for h, u, v in FACES:
        distances = np.moveaxis(away, (h, u, v), (0, 1, 2))
        height, area = np.abs(offsets[h]), sides[u] * sides[v]
        angles = [_angle(height[n], offsets[u], offsets[v], area, distances[n]) for n in range(2)]
        out["g_" + axes[h]] = out["g_" + axes[h]] + (height * angles).sum(axis=0)
        out["potential"] = out["potential"] + 0.5 * (height**2 * angles).sum(axis=0)
        out[f"g_{axes[h]}{axes[h]}"] = angles[0] + angles[1]
    return {name: UNIT * bound for name, bound in out.items()}


def _edges(a, b, t, side, length, r):
    """Bounds of what the four edges along t give g_a, g_b, the potential, and of their mixed
    difference; in units of rounding.

    Distances r (a, b, t, points, prisms), offsets (2, points, prisms).
    """
    across = np.maximum((a**2)[:, None] + (b**2)[None], LEAST)
    (near, far), outside = np.sort(np.abs(t), axis=0), t[0] * t[1] > 0
    total, (closer, farther) = r.sum(axis=2), np.moveaxis(np.sort(r, axis=2), 2, 0)
    rest = np.where(outside, closer + near + across / (farther + far), total - length)
    beside = ~outside & (rest < length)
    ratio = np.where(beside, (closer + near) * (farther + far) / across, (total + length) / np.maximum(rest, LEAST))
    error = np.where(beside, BESIDE, 2 * EDGE * length * total / (np.maximum(rest, LEAST) * (total + length)))
    logs = np.log(np.maximum(ratio, LEAST))
    (a1, a2), (b1, b2) = np.abs(a), np.abs(b)
    (d1, d2), e1 = LOG * np.abs(logs[0] - logs[1]), LOG * np.abs(logs[0, 0] - logs[0, 1])
    to_a = b1 * (error[0, 0] + error[1, 0] + d1) + b2 * (error[0, 1] + error[1, 1] + d2)
    to_b = a1 * (error[0].sum(axis=0) + e1) + a2 * (error[1].sum(axis=0) + d1 + d2 + e1)
    potential = a2 * to_a + side * (b1 * (error[0, 0] + LOG * logs[0, 0]) + b2 * (error[0, 1] + LOG * logs[0, 0] + e1))
    return to_a, to_b, potential, error.sum(axis=(0, 1)) + d1 + d2


def _angle(height, u, v, area, r):
    """Bound of the solid angle of a face, in units of rounding."""
    p, q, hh, top = u[0] * u[1], v[0] * v[1], height**2, height * area
    cross, out = hh + p + q, 0.0
    for n, other in ((1, 0), (0, 1)):  # the corner (u[n], v[other]) that one triangle has alone
        alone = r[0, 0] * r[1, 1] * r[n, other]
        first = alone + cross * r[n, other]
        first += (hh + p + v[other] ** 2) * r[n, n] + (hh + q + u[n] ** 2) * r[other, other]
        out = out + ANGLE * np.arctan2(top, first)
        out = out + 2 * TRIPLE * alone * top / np.maximum(first**2 + top**2, LEAST)
    return out
