"""Prisms, points and a scenario of gravity; how answers are compared; Harmonica and choclo as they are."""

from functools import partial

import numpy as np
import pytest
from smallcase import changed

from craton import gravity
from craton.methods.gravity.fields import FIELDS

GROUPS = {"potential": slice(0, 1), "acceleration": slice(1, 4), "gradient": slice(4, 10)}  # of FIELDS
GRADIENTS = FIELDS[4:]
SEED = 20130

SMALL = """\
title = "Small"
method = "gravity"

[gravity]
fields = ["g_z", "g_ez"]

[prisms]
kind = "grid"
origin = [0, 0, -400]
size = [1000, 1000, 400]
shape = [10, 10, 4]
bodies = [{ shape = "box", min = [200, 200, -300], max = [600, 500, -100], density = 500 }]

[points]
kind = "grid"
x = [0, 1000, 4]
y = [0, 1000, 3]
z = 10

[run]
device = "cpu"
"""


small = partial(changed, text=SMALL)


def between(low, high):
    """Prisms (n, 6) between opposite corners (n, 3)."""
    return np.stack(np.broadcast_arrays(low, high), axis=2).reshape(-1, 6)


def library(name):
    """Harmonica, choclo or Verde, interpreted: numba would compile each field for seconds; or a skipped test without it."""
    numba = pytest.importorskip("numba", reason="pip install craton[dev]")
    numba.config.DISABLE_JIT = True
    return pytest.importorskip(name, reason="pip install craton[dev]")


def ensemble(count=400, signs=False, side=(5, 150), seed=SEED):
    """Random prisms below z = 0, densities of one sign or of both (which nearly cancel), points around them, some inside."""
    rng = np.random.default_rng(seed)
    centre, half = rng.uniform([0, 0, -1500], [4000, 3000, -200], (count, 3)), rng.uniform(*side, (count, 3))
    density = rng.uniform(-500 if signs else 100, 500, count)
    return (
        between(centre - half, centre + half),
        density,
        rng.uniform([-1000, -1000, -1000], [5000, 4000, 400], (150, 3)).T,
    )


def mesh(x, y, z, low=-500, empty=0.3, seed=1):
    """Prisms of a rectilinear grid between planes, and random densities from `low` to 500, a part of them zero."""
    k, j, i = (n.ravel() for n in np.indices((len(z) - 1, len(y) - 1, len(x) - 1)))
    rng = np.random.default_rng(seed)
    density = rng.uniform(low, 500, i.size) * (rng.random(i.size) >= empty)
    return np.stack([x[i], x[i + 1], y[j], y[j + 1], z[k], z[k + 1]], axis=1), density


def grid(x, y, z):
    """Points of a horizontal grid, (y, x)."""
    east, north = np.meshgrid(x, y)
    return east, north, np.full(east.shape, float(z))


def volumes(prisms):
    """Volumes of prisms, m3."""
    return np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1)


def forward(prisms, density, points, names=FIELDS, **options):
    """Fields as an array (fields, points), by default by the direct sum."""
    fields = gravity.forward(prisms, density, points, names, device="cpu", **{"method": "direct"} | options)
    return np.array([fields[name] for name in names])


def relative(values, expected):
    """Greatest difference over the norm of what is expected, where that is finite."""
    if not np.isfinite(expected).any():
        return 0.0
    return np.nanmax(np.abs(values - expected)) / np.sqrt(np.nansum(np.square(expected)))


def close(values, expected, within=1e-9):
    """Whether an array agrees in norm."""
    return np.linalg.norm(np.asarray(values) - expected) < within * np.linalg.norm(expected)


def greatest(values, exact):
    """Greatest error of each field over its greatest value."""
    return np.max(np.abs(values - exact), axis=1) / np.max(np.abs(exact), axis=1)
