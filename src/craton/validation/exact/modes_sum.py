"""Seismograms of a radial model by the sum of its modes, overtones or surface waves alone (Dahlen &
Tromp 1998, section 10.3).
"""

import numpy as np

from craton.validation.exact.modes import DEGREE, Waves, gauss_lobatto

SMALLEST = 1e-5  # of the source's spectrum: modes beyond are not summed
BOTTOM = 2.891e6  # m, PREM's core-mantle boundary


def velocity(model, tensor, depth, sigma, distances, azimuths, t, branches=None, bottom=BOTTOM):
    """Velocity up, away from the source and 90 degrees clockwise from that, m/s: (stations, 3, nt).

    Of the shells above `bottom`, which is free, as the surface is. The moment rate is a Gaussian
    about t = 0; it holds from 5 sigma on.

    Parameters
    ----------
    model : RadialModel
    tensor : (6,) array
        Moment rr, tt, pp, rt, rp, tp, N m (r up, t south, p east).
    depth, sigma : float
        m, s.
    distances, azimuths : sequences of float
        Of the stations, degrees; azimuths clockwise from north at the source.
    t : (nt,) array
        s.
    branches : int, optional
        Lowest ones of each order that are summed: 1 leaves the fundamental Love and Rayleigh waves;
        all by default.
    bottom : float
        Depth, m.
    """
    most = np.sqrt(-2 * np.log(SMALLEST)) / sigma
    out = np.zeros((len(distances), 3, len(t)))
    for waves in (Waves(model, "rayleigh", bottom), Waves(model, "love", bottom)):
        l, omega = 0, np.ones(1)
        while len(omega) or l < 10:  # the lowest modes of the Earth are those of l = 2
            l += 1
            omega, shapes = waves.below(l, most, branches)
            excited = excitation(waves, shapes, l, tensor, depth) * (2 * l + 1) / (4 * np.pi)
            parts = np.array(
                [seen(waves, shapes[-1], excited, l, *np.radians(place)) for place in zip(distances, azimuths)]
            )
            out += parts * (np.exp(-((omega * sigma) ** 2) / 2) / omega) @ np.sin(omega[:, None] * t)
    return out


def seen(waves, top, excited, l, angle, azimuth):
    """Amplitudes up, away, clockwise at the surface, (3, modes), of modes with functions of radius
    `top` (fields, modes) there.
    """
    # phi counts from south over east
    m, phi, k = np.arange(3), np.pi - azimuth, np.sqrt(l * (l + 1))
    p, slope = legendre(l, angle)
    around, turned = (
        np.array([np.cos(m * phi), np.sin(m * phi)]),
        np.array([-m * np.sin(m * phi), m * np.cos(m * phi)]),
    )
    value, south, east = (
        np.einsum("nms,sm,m->n", excited, c, q) for c, q in ((around, p), (around, slope), (turned, p / np.sin(angle)))
    )
    if waves.kind == "rayleigh":
        return np.array([top[0] * value, top[1] * south / k, -top[1] * east / k])
    return np.array([0 * value, top[0] * east / k, top[0] * south / k])


def excitation(waves, shapes, l, tensor, depth):
    """Moment tensor times strain of each mode at the source: factors of cos m phi and sin m phi,
    (modes, 3, 2).
    """
    rr, tt, pp, rt, rp, tp = tensor
    r, k = waves.model.radius - depth, np.sqrt(l * (l + 1))
    values, slopes = at_radius(waves, shapes, r)
    zero = np.zeros(shapes.shape[-1])
    if waves.kind == "love":
        shear, turn = (slopes[0] - values[0] / r) / k, values[0] / (k * r)
        rows = (((zero, zero)), (-rp * shear, rt * shear), (-tp * turn, (tt - pp) / 2 * turn))
    else:
        u, v = values
        shear = (slopes[1] - v / r) / k + u / r
        rows = (
            (rr * slopes[0] + (tt + pp) * (u - k * v / 2) / r, zero),
            (rt * shear, rp * shear),
            ((tt - pp) / 2 * v / (k * r), tp * v / (k * r)),
        )
    return np.moveaxis(np.array(rows), -1, 0)


def at_radius(waves, shapes, r):
    """Functions of radius and their derivatives at r, m, by the polynomials of its element: two of
    (fields, modes).
    """
    ends = waves.radii[::DEGREE]
    e = int(np.clip(np.searchsorted(ends, r) - 1, 0, len(ends) - 2))
    own, x = (shapes[DEGREE * e : DEGREE * (e + 1) + 1], 2 * (r - ends[e]) / (ends[e + 1] - ends[e]) - 1)
    points, _, derivative = gauss_lobatto(DEGREE)
    at = np.array([np.prod([(x - q) / (p - q) for q in points if q != p]) for p in points])
    return np.tensordot(at, own, 1), np.tensordot(at @ derivative, own, 1) * 2 / (ends[e + 1] - ends[e])


def legendre(l, angle):
    """P_lm(cos angle), m = 0, 1, 2, without Condon's and Shortley's sign, and derivatives by the
    angle, at an angle: (3,), (3,).
    """
    from scipy.special import lpmv

    p = np.array([lpmv(m, l, np.cos(angle)) * (-1) ** m for m in range(4)])
    below = np.array([-p[1] / (l * (l + 1)), p[0], p[1]])
    return p[:3], np.array([(l + m) * (l - m + 1) * below[m] - p[m + 1] for m in range(3)]) / 2
