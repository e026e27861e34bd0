"""Seismograms of a radial model by the sum of its modes, with all overtones or the surface waves alone (Dahlen & Tromp 1998, section 10.3)."""
import numpy as np

from craton.validation.modes import DEGREE, Waves, gauss_lobatto

SMALLEST = 1e-7  # of the source's spectrum: what it leaves below that of a mode is not summed


def velocity(model, tensor, depth, sigma, distance, azimuth, t, branches=None, bottom=2.891e6):
    """Velocity up, away from the source and 90 degrees clockwise from that, m/s: (3, nt).

    Of the shells above `bottom`, which is free, as the surface is. The moment rate is a Gaussian about t = 0; the sum holds from 5 sigma on.

    Parameters
    ----------
    model : RadialModel
    tensor : (6,) array
        Moment rr, tt, pp, rt, rp, tp, N m (r up, t south, p east).
    depth, sigma : float
        m, s.
    distance, azimuth : float
        Degrees; azimuth clockwise from north at the source.
    t : (nt,) array
        s.
    branches : int, optional
        Lowest ones of each order that are summed: 1 leaves the fundamental Love and Rayleigh waves; all by default.
    bottom : float
        Depth, m.
    """
    most = np.sqrt(-2 * np.log(SMALLEST)) / sigma
    phi = np.pi - np.radians(azimuth)  # counted from south over east
    cosines = np.array([[np.cos(m * phi), np.sin(m * phi)] for m in range(3)])
    turned = np.array([[-m * np.sin(m * phi), m * np.cos(m * phi)] for m in range(3)])  # their derivatives
    out = np.zeros((3, len(t)))
    for waves in (Waves(model, "rayleigh", bottom), Waves(model, "love", bottom)):
        for l in range(1, 10_000):
            omega, shapes = waves.below(l, most, branches)
            if not len(omega) and l > 10:
                break
            p, slope = legendre(l, np.radians(distance))
            excited = excitation(waves, shapes, l, tensor, depth) * (2 * l + 1) / (4 * np.pi)  # (modes, 3, 2)
            spectrum = np.exp(-((omega * sigma) ** 2) / 2) / omega
            value, south, east = (np.einsum("nms,ms,m->n", excited, c, q) for c, q in (
                (cosines, p), (cosines, slope), (turned, p / np.sin(np.radians(distance)))))  # fmt: skip
            top, k = shapes[-1], np.sqrt(l * (l + 1))  # (fields, modes)
            parts = (np.array([top[0] * value, top[1] * south / k, -top[1] * east / k]) if waves.kind == "rayleigh"
                     else np.array([0 * value, top[0] * east / k, top[0] * south / k]))  # fmt: skip
            out += (parts * spectrum) @ np.sin(omega[:, None] * t)
    return out


def excitation(waves, shapes, l, tensor, depth):
    """Moment tensor times strain of each mode at the source: factors of cos m phi and sin m phi, (modes, 3, 2); eq. 10.54 to 10.59."""
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
        rows = ((rr * slopes[0] + (tt + pp) * (u - k * v / 2) / r, zero), (rt * shear, rp * shear),
                ((tt - pp) / 2 * v / (k * r), tp * v / (k * r)))  # fmt: skip
    return np.moveaxis(np.array(rows), -1, 0)


def at_radius(waves, shapes, r):
    """Functions of radius and their derivatives at r, m, by the polynomials of its element: two of (fields, modes)."""
    ends = waves.radii[::DEGREE]
    e = int(np.clip(np.searchsorted(ends, r) - 1, 0, len(ends) - 2))
    own, x = shapes[DEGREE * e : DEGREE * (e + 1) + 1], 2 * (r - ends[e]) / (ends[e + 1] - ends[e]) - 1
    points, _, derivative = gauss_lobatto(DEGREE)
    at = np.array([np.prod([(x - q) / (p - q) for q in points if q != p]) for p in points])
    return np.tensordot(at, own, 1), np.tensordot(at @ derivative, own, 1) * 2 / (ends[e + 1] - ends[e])


def legendre(l, angle):
    """P_lm(cos angle), m = 0, 1, 2, without Condon's and Shortley's sign, and derivatives by the angle, at an angle: (3,), (3,)."""
    from scipy.special import lpmv

    p = np.array([lpmv(m, l, np.cos(angle)) * (-1) ** m for m in range(4)])
    below = np.array([-p[1] / (l * (l + 1)), p[0], p[1]])
    return p[:3], np.array([(l + m) * (l - m + 1) * below[m] - p[m + 1] for m in range(3)]) / 2
