"""The 21 elastic constants of a medium as a scenario gives them."""

import numpy as np
from pydantic import ValidationError, create_model

from craton.tables.fields import Table, quantity
from craton.text import number
from craton.units import UnitError, si

INDICES = tuple((i, j) for i in range(6) for j in range(i, 6))  # rows of the upper triangle, from 0
NAMES = tuple(f"c{i + 1}{j + 1}" for i, j in INDICES)

_Constants = create_model("_Constants", __base__=Table, **{name: (quantity("stiffness"), 0.0) for name in NAMES})


class Stiffness(_Constants):
    """Hooke's law by its constants ``c11`` ... ``c66`` (Pa; those left out are 0), 1 to 6 for xx,
    yy, zz, yz, xz, xy: stress of
    engineering strain (twice the tensor's shear), x east, y north, z up.
    """

    def _problems(self):
        least = float(np.linalg.eigvalsh(self.matrix).min())
        if not least > 1e-9 * max(float(np.abs(self.matrix).max()), 1e-300):
            message = f"the stiffness matrix is not positive definite: its smallest eigenvalue is {number(least)} Pa"
            remedy = "give c11, c22, c33, c44, c55, c66 above 0; check the Voigt order 1 to 6 = xx, yy, zz, yz, xz, xy"
            yield "", message, remedy

    @property
    def constants(self):
        """The 21 numbers in the order c11, c12 ... c16, c22 ... c66: (21,) array, Pa."""
        return np.array([getattr(self, name) for name in NAMES])

    @property
    def matrix(self):
        """Hooke's law as a symmetric (6, 6) array, Pa."""
        full = np.zeros((6, 6))
        for (i, j), value in zip(INDICES, self.constants):
            full[i, j] = full[j, i] = value
        return full

    def speeds(self, rho):
        """P and S speed, m/s, of the isotropic mean of the stiffness (Voigt), for absorbing faces
        and resolution.

        Parameters
        ----------
        rho : float
            Density, kg/m3.
        """
        c = self.matrix
        normal, across = np.trace(c[:3, :3]), c[0, 1] + c[0, 2] + c[1, 2]
        mu = (normal - across + 3 * np.trace(c[3:, 3:])) / 15
        return float(np.sqrt(((normal + 2 * across) / 9 + 4 / 3 * mu) / rho)), float(np.sqrt(mu / rho))


def with_speeds(value):
    """Return a table of a medium with vp and vs of its stiffness, where it has one and leaves them
    out; what is wrong has a report of its own.

    Parameters
    ----------
    value : object
        The table (dict), before validation; anything else is returned as it is.
    """
    if not isinstance(value, dict) or value.get("stiffness") is None or value.get("rho") is None:
        return value
    try:
        vp, vs = Stiffness.model_validate(value["stiffness"]).speeds(si(value["rho"], "density"))
    except (ValidationError, UnitError):
        return {"vp": 1.0, "vs": 0.0} | value
    return {"vp": vp, "vs": vs} | value
