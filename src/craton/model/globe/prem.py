"""PREM (Dziewonski & Anderson 1981, table I): polynomials of density, speeds and Q, isotropic or
not, with ocean or without.
"""

import numpy as np

from craton.model.globe.radial import PARAMETERS, RadialModel

RADIUS = 6_371_000.0
DEGREE = 3
QKAPPA, INNER_QKAPPA = 57823.0, 1327.7  # Q of bulk, and in the inner core
# Top radius (km); density (g/cm3), vp, vs (km/s) as polynomials in r / 6371 km; Q of shear (None: fluid); region.
OUTER_CORE = ((12.5815, -1.2638, -3.6426, -5.5281), (11.0487, -4.0362, 4.8023, -13.5732), (0.0,))
RHO = (7.9565, -6.4761, 5.5283, -3.0807)  # of the lower mantle
UPPER_MANTLE = ((2.6910, 0.6924), (4.1875, 3.9382), (2.1519, 2.3481))  # its density and speeds above 220 km depth
INNER_CORE = ((13.0885, 0, -8.8381), (11.2622, 0, -6.3640), (3.6678, 0, -4.4475))
SHELLS = (
    (1221.5, *INNER_CORE, 84.6, "inner_core"),
    (3480.0, *OUTER_CORE, None, "outer_core"),
    (3630.0, RHO, (15.3891, -5.3181, 5.5242, -2.5514), (6.9254, 1.4672, -2.0834, 0.9783), 312.0, "lower_mantle"),
    (5600.0, RHO, (24.952, -40.4673, 51.4832, -26.6419), (11.1671, -13.7818, 17.4575, -9.2777), 312.0, "lower_mantle"),
    (5701.0, RHO, (29.2766, -23.6027, 5.5242, -2.5514), (22.3459, -17.2473, -2.0834, 0.9783), 312.0, "lower_mantle"),
    (5771.0, (5.3197, -1.4836), (19.0957, -9.8672), (9.9839, -4.9324), 143.0, "transition_zone"),
    (5971.0, (11.2494, -8.0298), (39.7027, -32.6166), (22.3512, -18.5856), 143.0, "transition_zone"),
    (6151.0, (7.1089, -3.8045), (20.3926, -12.2569), (8.9496, -4.4597), 143.0, "upper_mantle"),
    (6291.0, *UPPER_MANTLE, 80.0, "upper_mantle"),
    (6346.6, *UPPER_MANTLE, 600.0, "upper_mantle"),
    (6356.0, (2.900,), (6.800,), (3.900,), 600.0, "crust"),
    (6368.0, (2.600,), (5.800,), (3.200,), 600.0, "crust"),
    (6371.0, (1.020,), (1.450,), (0.0,), None, "ocean"),
)
# Between 24.4 and 220 km depth: vpv, vph, vsv, vsh, eta.
TRANSVERSE = ((0.8317, 7.2180), (3.5908, 4.6172), (5.8582, -1.4678), (-1.0839, 5.7176), (3.3687, -2.4778))
TRANSVERSE_TOPS = (6291.0, 6346.6)


def prem(transverse=False, ocean=False):
    """PREM at its reference period of 1 s.

    Parameters
    ----------
    transverse : bool
        Transversely isotropic between 24.4 and 220 km depth; else PREM's own isotropic polynomials
        there.
    ocean : bool
        With its 3 km of water; else the upper crust reaches up to 6371 km.

    Returns
    -------
    RadialModel
    """
    shells = SHELLS if ocean else SHELLS[:-1]
    knots = 1e3 * np.array([0.0, *(shell[0] for shell in shells)])
    knots[-1] = RADIUS
    name = "prem" + "_ti" * transverse + "_ocean" * ocean
    return RadialModel(
        name, knots, np.array([_coefficients(shell, transverse) for shell in shells]), tuple(s[-1] for s in shells)
    )


def _coefficients(shell, transverse):
    """Polynomials (8, 4) of `PARAMETERS` in SI."""
    top, rho, vp, vs, qmu, region = shell
    polynomials = (vp, vp, vs, vs, (1.0,))
    if transverse and top in TRANSVERSE_TOPS:
        polynomials = TRANSVERSE
    out = np.zeros((len(PARAMETERS), DEGREE + 1))
    for row, factor, polynomial in zip(out, (1e3, 1e3, 1e3, 1e3, 1e3, 1.0), (rho, *polynomials)):
        row[: len(polynomial)] = factor * np.array(polynomial)
    out[6:, 0] = 1 / (INNER_QKAPPA if region == "inner_core" else QKAPPA), 0.0 if qmu is None else 1 / qmu
    return out
