"""The elements around a box of elements: which there are on this rank, their points, the medium
there, and which of the points this rank records.

Elements of a layer lie outside the box and share points with it. Ranks that have parts of a box, or
of its layer, agree on the points that they have in common.
"""

from dataclasses import dataclass

import numpy as np

SPEEDS = ("vp", "vs", "rho")
INVERSE_Q = {"inverse_qp": "loss_p", "inverse_qs": "loss_s"}  # labels, and names of the model's


@dataclass(frozen=True, eq=False)
class Layer:
    """Elements of this rank outside a box that share points with it, whoever has the box.

    Parameters
    ----------
    inside : (ni,) int array
        Elements of this rank inside the box.
    elements : (n,) int array
        Those of the layer.
    points : (m,) int array
        Their points, rising.
    local : (n, n^3) int array
        Rows of `points` of each element's nodes.
    total : (n, n^3) bool array
        Nodes that the box has, too.
    """

    inside: np.ndarray
    elements: np.ndarray
    points: np.ndarray
    local: np.ndarray
    total: np.ndarray


def layer_around(d, low, high):
    """Return the `Layer` of the box that holds the elements with centres between two corners; all
    ranks must call.

    Parameters
    ----------
    d : Medium
    low, high : sequence of float
        m.
    """
    inside = ((d.centres >= low) & (d.centres <= high)).all(axis=1)
    points = np.asarray(d.points).reshape(d.mesh.size, -1)
    flags = np.zeros(d.state.solid)
    flags[points[inside]] = 1.0
    within = d.subdomain.shared["solid"].complete(flags) > 0
    elements = np.flatnonzero(~inside & within[points].any(axis=1))
    numbers, local = np.unique(points[elements], return_inverse=True)
    local = local.reshape(len(elements), points.shape[1])
    return Layer(np.flatnonzero(inside), elements, numbers, local, within[points[elements]])


def positions(d, layer):
    """Return positions of the points of a layer, (m, 3), m."""
    out = np.zeros((len(layer.points), 3))
    out[layer.local] = d.coordinates(layer.elements).transpose(0, 2, 1)
    return out


def means(d, layer, values):
    """Return means over the layer's elements of all ranks at the points of a layer; all ranks must
    call.

    Parameters
    ----------
    d : Medium
    layer : Layer
    values : dict of str to (n, n^3) array
        At the nodes of its elements.

    Returns
    -------
    dict of str to (m,) array
    """
    rows, count = layer.local.ravel(), len(layer.points)
    counts = np.bincount(rows, minlength=count)
    sums = [np.bincount(rows, part.ravel(), count) for part in values.values()]
    shared = d.subdomain.shared["solid"]
    points, totals = shared.unite_points(layer.points, np.stack([counts, *sums], axis=1))
    totals = totals[np.searchsorted(points, layer.points)]
    return {name: totals[:, n + 1] / totals[:, 0] for n, name in enumerate(values)}


def medium(d, layer):
    """vp, vs, m/s, and rho, kg/m3, at the points of a layer, means over its elements: dict; all
    ranks must call.
    """
    samples = d.material(layer.elements)
    return means(d, layer, {name: samples[name] for name in SPEEDS})


def inverse_q(d, layer):
    """1/Qp and 1/Qs at the points of a layer, means over its elements: dict, empty without
    attenuation; all ranks must call.
    """
    if d.relaxation is None:
        return {}
    samples = d.material(layer.elements)
    return means(d, layer, {label: samples[name] for label, name in INVERSE_Q.items()})


def recorded_rows(d, layer):
    """Return the rows of the points of a layer that this rank records: those that no lower rank has
    in its part of the layer; all ranks must call.
    """
    rows, once = np.arange(len(layer.points)), np.ones(len(layer.points))
    return d.subdomain.shared["solid"].assign_items(layer.points, rows, once)[0]
