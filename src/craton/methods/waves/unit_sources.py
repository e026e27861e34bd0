"""Unit sources in the places of point sources: what the misfit changes by with their components,
their positions and their series falls out of the adjoint fields there.
"""

from dataclasses import replace

import numpy as np

FORCES = 3
TENSOR = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
AXES = 3
# columns of each source: components, then derivatives by position
PARTS = {"force": FORCES + AXES, "moment": len(TENSOR) + AXES}
MOVED = 1e-3  # of the spacing: to both sides, for derivatives by position


def components(kind):
    """Return unit forces, or symmetric unit moment tensors: list.

    Parameters
    ----------
    kind : str
        ``"force"`` or ``"moment"``.
    """
    if kind == "force":
        return list(np.eye(FORCES))
    tensors = np.zeros((len(TENSOR), 3, 3))
    for tensor, (a, b) in zip(tensors, TENSOR):
        tensor[a, b] = tensor[b, a] = 1
    return list(tensors)


def shifted(source, axis, distance):
    """Return a source at another place along an axis.

    Parameters
    ----------
    source : PointSource
    axis : int
    distance : float
        m.
    """
    xyz = np.array(source.xyz, float)
    xyz[axis] += distance
    return replace(source, xyz=xyz)


def collected(source, kind, taps, series):
    """Return derivatives by strength, position and series of a source from the taps of its unit
    sources.

    Parameters
    ----------
    source : PointSource
    kind : str
    taps : (steps, parts) array
    series : (steps,) array
        What it injects.
    """
    count = PARTS[kind] - AXES
    strength = (
        np.asarray(source.force, float) if kind == "force" else np.array([source.moment[axes] for axes in TENSOR])
    )
    return {
        "strength": series @ taps[:, :count],
        "position": series @ taps[:, count:],
        "series": taps[:, :count] @ strength,
    }
