"""What is asked of gravity: prisms, density, points, fields, precision; checked once, at the
border.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from craton.methods.gravity.fields import ordered

SIDES = (("west", "east"), ("south", "north"), ("bottom", "top"))


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
    ensemble : object, optional
        What the prisms were made of, where they are regular; methods that need to know find out
        themselves otherwise.
    shape : tuple of int
        Shape of the points' arrays.
    memo : dict
        What methods have found out about these prisms and points and keep: `lattice.remembered`.
    """

    prisms: np.ndarray
    density: np.ndarray
    points: np.ndarray
    fields: tuple
    precision: str = "float64"
    rtol: float = 1e-8
    ensemble: Any = None
    shape: tuple = ()
    memo: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def pairs(self):
        """Prisms times points."""
        return len(self.prisms) * self.points.shape[1]


ROWS = 1 << 13  # prisms looked at together
# prisms that a machine of at least DEVICE points side by side looks at
MANY, MOST = 8 * ROWS, 1 << 24
DEVICE = 1 << 15
RTOL = {"float64": 1e-8, "float32": 1e-6}


def problem(prisms, density, points, fields=("g_z",), precision="float64", rtol=None, ensemble=None, machine=None):
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
        kept = (
            (density != 0)
            & (prisms[:, 1] > prisms[:, 0])
            & (prisms[:, 3] > prisms[:, 2])
            & (prisms[:, 5] > prisms[:, 4])
        )
        prisms, density = prisms[kept], density[kept]
        on_device = {}
    asked = Problem(prisms, density, points, ordered(fields), precision, rtol or RTOL[precision], ensemble, shape)
    asked.memo.update(on_device)
    return asked


def check_prisms(prisms, density):
    """Prisms (M, 6) and density (M,) as contiguous float64 arrays, or a ValueError that names the
    first bad prism.
    """
    return checked(prisms, density)[:2]


def checked(prisms, density, machine=None):
    """Return what `check_prisms` gives, whether every prism has a volume, and copies on the
    machine, as `lattice.prisms_of` remembers them.
    """
    prisms, density = np.asarray(prisms, np.float64), np.asarray(density, np.float64)
    if prisms.size == 6 and prisms.ndim == 1:
        prisms = prisms[None]
    if prisms.size == 0:
        prisms = prisms.reshape(0, 6)
    if prisms.ndim != 2 or prisms.shape[1] != 6:
        raise ValueError(f"prisms have shape {prisms.shape}, not (M, 6): west, east, south, north, bottom, top")
    density = np.broadcast_to(density, len(prisms)) if density.ndim == 0 else density.reshape(-1)
    if len(density) != len(prisms):
        raise ValueError(f"{len(prisms)} prisms but {len(density)} densities")
    prisms, density = np.ascontiguousarray(prisms), np.ascontiguousarray(density)
    on_device = copies(prisms, density, machine)
    solid = sound_there(*next(iter(on_device.values())), machine) if on_device else sound(prisms)
    if not (solid or finite(prisms)):
        refuse(~np.isfinite(prisms).all(axis=1), lambda n: f"prism {n} is not finite: {prisms[n].tolist()}")
    if not finite(density):
        refuse(~np.isfinite(density), lambda n: f"the density of prism {n} is not finite: {density[n]}")
    if not solid:
        for axis, names in enumerate(SIDES):
            low, high = prisms[:, 2 * axis], prisms[:, 2 * axis + 1]
            refuse(
                low > high,
                lambda n, sides=names, a=low, b=high: (
                    f"prism {n} is reversed: {sides[0]} = {a[n]} > {sides[1]} = {b[n]}"
                ),
            )
    return prisms, density, solid, on_device


def finite(values):
    """Return True if all are; a sum that overflows is no proof of the contrary."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def copies(prisms, density, machine):
    """Arrays of a machine with memory of its own, {name: (prisms, density)}; empty where the host
    looks itself.
    """
    if machine is None or machine.width < DEVICE or not MANY <= len(prisms) <= MOST:
        return {}
    with machine.work():
        return {machine.xp.__name__: (machine.xp.asarray(prisms), machine.xp.asarray(density))}


def sound_there(prisms, density, machine):
    """`sound` on a machine, densities looked at too."""
    with machine.work():
        sides = prisms.reshape(-1)
        fine = machine.xp.isfinite(prisms.sum() + density.sum()) & ((sides[1::2] - sides[::2]).min() > 0)
        return bool(fine)


def sound(prisms):
    """Return True if every side is finite and every lower one lies below its upper one; in rows
    that stay in the cache.
    """
    for n in range(0, len(prisms), ROWS):
        sides = prisms[n : n + ROWS].reshape(-1)
        if not (finite(sides) and (sides[1::2] - sides[::2]).min() > 0):
            return False
    return True


def check_points(points):
    """Points as (3, N) and their shape, or a ValueError that names the first bad one."""
    if not isinstance(points, (tuple, list)) or len(points) != 3:
        given = np.asarray(points)
        if given.ndim < 1 or given.shape[0] != 3:
            raise ValueError("points are three arrays of one shape: (x, y, z)")
    x, y, z = (np.asarray(c, np.float64) for c in points)
    try:
        x, y, z = np.broadcast_arrays(x, y, z)
    except ValueError:
        raise ValueError(
            f"the coordinates of the points have shapes {x.shape}, {y.shape}, {z.shape}: they must be one shape"
        ) from None
    out = np.stack([c.reshape(-1) for c in (x, y, z)])
    if not finite(out):
        refuse(~np.isfinite(out).all(axis=0), lambda n: f"point {n} is not finite: {out[:, n].tolist()}")
    return out, x.shape


def refuse(bad, message):
    """Raise for the first bad one."""
    if bad.any():
        raise ValueError(message(int(np.argmax(bad))))
