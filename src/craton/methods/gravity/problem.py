"""What is asked of gravity: prisms, density, points, fields, precision; checked once, at the
border.
"""

from dataclasses import dataclass, field

import numpy as np

from craton.methods.gravity import DEVICE
from craton.methods.gravity.fields import ordered
from craton.model.prisms.ensembles import have_volume, refuse_wrong


@dataclass(frozen=True)
class Problem:
    """Prisms and points after all checks; prisms without mass are gone.

    Parameters
    ----------
    prisms : ndarray
        (M, 6) west, east, south, north, bottom, top, m.
    density : ndarray
        (M,) kg/m3, no zeros.
    points : ndarray
        (3, N) x, y, z, m, z up.
    fields : tuple of str
        In the kernels' order.
    precision : str
        ``"float64"`` or ``"float32"``.
    rtol : float
        Error allowed to approximate methods at a point, relative to the sum of the magnitudes of
        all prisms' attractions (see far.py).
    shape : tuple of int
        Shape of the points' arrays.
    memo : dict
        What methods have found out about these prisms and points and keep: `remembered`.
    """

    prisms: np.ndarray
    density: np.ndarray
    points: np.ndarray
    fields: tuple
    precision: str = "float64"
    rtol: float = 1e-8
    shape: tuple = ()
    memo: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def pairs(self):
        """Prisms times points."""
        return len(self.prisms) * self.points.shape[1]


ROWS = 1 << 13  # prisms looked at together
# prisms that a device looks at
MANY, MOST = 8 * ROWS, 1 << 24
RTOL = {"float64": 1e-8, "float32": 1e-6}


def problem(prisms, density, points, fields=("g_z",), precision="float64", rtol=None, machine=None):
    """Check everything; on a machine, if one is given, that looks at many prisms quicker than the
    host does.

    Raises
    ------
    ValueError
        With the index of the first offending prism or point: not finite, reversed bounds, wrong
        shapes; unknown field or precision.
    """
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision {precision!r} is neither 'float64' nor 'float32'")
    if rtol is not None and not 1e-14 <= rtol <= 1e-1:
        raise ValueError(f"rtol = {rtol} is outside 1e-14 .. 0.1")
    prisms, density, solid, on_device = checked(prisms, density, machine)
    points, shape = check_points(points)
    if not (solid and np.count_nonzero(density) == len(density)):
        has_mass, on_device = (density != 0) & have_volume(prisms), {}
        prisms, density = prisms[has_mass], density[has_mass]
    asked = Problem(prisms, density, points, ordered(fields), precision, rtol or RTOL[precision], shape)
    asked.memo.update(on_device)
    return asked


def checked(prisms, density, machine=None):
    """Return prisms (M, 6) and density (M,) as contiguous float64 arrays, whether every prism has a volume, and
    copies on a machine with memory of its own, which looks at many quicker than the host, as `lattice.prisms_of`
    remembers them.

    Raises
    ------
    ValueError
        Names the first bad prism.
    """
    prisms, density = np.asarray(prisms, np.float64), np.asarray(density, np.float64)
    if prisms.size in (0, 6) and prisms.ndim < 2:
        prisms = prisms.reshape(-1, 6)
    if prisms.ndim != 2 or prisms.shape[1] != 6:
        raise ValueError(f"prisms have shape {prisms.shape}, not (M, 6): west, east, south, north, bottom, top")
    density = np.broadcast_to(density, len(prisms)) if density.ndim == 0 else density.reshape(-1)
    if len(density) != len(prisms):
        raise ValueError(f"{len(prisms)} prisms but {len(density)} densities")
    prisms, density = np.ascontiguousarray(prisms), np.ascontiguousarray(density)
    if machine is None or machine.width < DEVICE or not MANY <= len(prisms) <= MOST:
        solid, on_device = sound(prisms, density, np, ROWS), {}
    else:
        with machine.work():
            copies = machine.xp.asarray(prisms), machine.xp.asarray(density)
            solid, on_device = sound(*copies, machine.xp, len(prisms)), {machine.xp.__name__: copies}
    if not solid:
        refuse_wrong(prisms, density)
    return prisms, density, solid, on_device


def sound(prisms, density, xp, rows):
    """Return whether all is finite and every lower side lies below its upper one; so many rows at a time."""
    with np.errstate(all="ignore"):  # a sum that overflows is looked at again
        for n in range(0, len(prisms), rows):
            sides = prisms[n : n + rows].reshape(-1)
            finite = xp.isfinite(sides.sum() + density[n : n + rows].sum())
            if not (finite & ((sides[1::2] - sides[::2]).min() > 0)):
                return False
    return True


def check_points(points):
    """Points as (3, N) and their shape, or a ValueError that names the first bad one."""
    if not isinstance(points, (tuple, list)) or len(points) != 3:
        together = np.asarray(points)
        if together.ndim < 1 or together.shape[0] != 3:
            raise ValueError("points are three arrays of one shape: (x, y, z)")
    x, y, z = (np.asarray(c, np.float64) for c in points)
    try:
        x, y, z = np.broadcast_arrays(x, y, z)
    except ValueError:
        raise ValueError(
            f"the coordinates of the points have shapes {x.shape}, {y.shape}, {z.shape}: they must be one shape"
        ) from None
    out = np.stack([c.reshape(-1) for c in (x, y, z)])
    if not np.isfinite(out).all():
        n = int(np.argmax(~np.isfinite(out).all(axis=0)))
        raise ValueError(f"point {n} is not finite: {out[:, n].tolist()}")
    return out, x.shape
