"""What a moment in a volume sees of the field of a force: velocities at the nodes of elements
around the volume, and the weights of a moment tensor on them.

In the weak form a moment M acts on node a with M . grad l_a (points.py), a force F with F l_a; with
the diagonal mass matrix both runs are transposes of each other: the velocity that a force records
of a moment is the sum of the moment's weights times the velocity of the force's run (Aki & Richards
2002, section 2.3.2, for the continuum).
"""

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from craton.conventions import TENSOR_AXES
from craton.core.snapshots import SnapshotSeries
from craton.errors import Problem
from craton.methods.shared.sharing import SingleRank
from craton.methods.spectral_element import absorbing_layer, build, couples, placing
from craton.methods.spectral_element.points import rows_of_points
from craton.survey import receivers
from craton.survey.globe import in_corners

MOVE = "move it inwards, or make the domain larger"


@dataclass(frozen=True, eq=False)
class NodeVelocities:
    """Velocities at nodes of the solid.

    Parameters
    ----------
    medium : Medium
    points : (m,) int array
        Numbers of the nodes, rising.
    low, high : tuple of float
        Corners of the volume, see `in_corners`.
    scenario : SpectralScenario
        On its mesh.
    values : callable
        vp, vs, density at positions (n, 3).
    """

    medium: Any
    points: np.ndarray
    low: tuple
    high: tuple
    scenario: Any
    values: Any
    per_point: int = 3
    of_what: str = "mesh"

    @property
    def places(self):
        """Nodes times components."""
        return 3 * len(self.points)

    @property
    def about(self):
        """Corners of the volume, from which the nodes follow: dict for JSON."""
        nodes = self.medium.mesh.nodes[self.medium.mesh.elements]
        edge = np.ptp(nodes, axis=1).min()
        resolution = float(edge / self.medium.element.degree)
        return {"low": list(self.low), "high": list(self.high), "resolution": resolution}

    def series(self, steps, times, precision):
        """Return the series of pictures that the time loop takes."""
        reads = {"velocity": self.points}
        return SnapshotSeries("greens", "velocity", (), {}, steps, times, reads, self, precision)

    def picture(self, arrays):
        """Return the velocities by place, without their mean: a moment does not feel a translation,
        and what is left has more digits.
        """
        velocity = np.asarray(arrays["velocity"], float)
        return (velocity - velocity.mean(axis=0)).ravel()

    def rows(self, xyz, six):
        """Return the weights of moments on the places; see
        `craton.methods.finite_difference.greens.StrainRates.rows`.
        """
        parts = [
            self._some(xyz[n : n + couples.MOST], six[n : n + couples.MOST])
            for n in range(0, len(xyz), couples.MOST)
        ]
        most = max(index.shape[1] for index, _ in parts)
        return tuple(
            np.concatenate([np.pad(p[k], ((0, 0), (0, most - p[k].shape[1]))) for p in parts])
            for k in (0, 1)
        )

    def _some(self, xyz, six):
        """Places and weights of few moments."""
        tensors = np.zeros((len(xyz), 3, 3))
        for n, (a, b) in enumerate(TENSOR_AXES):
            tensors[:, a, b] = tensors[:, b, a] = six[:, n]
        moments = [SimpleNamespace(xyz=at, moment=m, force=None) for at, m in zip(xyz, tensors)]
        index, weight, column = rows_of_points(self.medium, moments)
        number, component = np.divmod(index - self.medium.offset("force"), 3)
        place = 3 * np.searchsorted(self.points, number) + component
        order = np.argsort(column, kind="stable")
        counts = np.bincount(column, minlength=len(moments))
        slot = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        places, weights = np.zeros((2, len(moments), counts.max()))
        places[column[order], slot], weights[column[order], slot] = place[order], weight[order]
        return places.astype(np.int64), weights


def node_velocities(scenario, low, high):
    """Return the `NodeVelocities` of a volume of a scenario.

    Parameters
    ----------
    scenario : SpectralScenario
    low, high : sequence of float
        Corners of the volume of sources, m.

    Returns
    -------
    NodeVelocities or None
    problems : list of Problem
    """
    medium, placed, prepared = medium_of(scenario)
    inside = elements_at(medium, low, high)
    if not len(inside):
        words = "no element of the solid is in the volume"
        return None, [Problem("greens", words, "place it in the solid part of the mesh")]
    problems = in_layers(medium, placed, inside)
    if problems:
        return None, problems
    nodes = nodes_around(medium, inside)
    values = partial(placing.medium, prepared)
    return NodeVelocities(medium, nodes, tuple(low), tuple(high), placed, values), []


def in_layers(medium, scenario, elements):
    """Return what of a volume's elements and a scenario's stations lies in absorbing layers, where
    runs are not reciprocal: list of Problem.
    """
    layers = absorbing_layer.build_layers(medium, 0.0, scenario.boundaries.pml)
    if layers is None:
        return []
    if (layers.directions[:, elements] >= 0).any():
        words = "the volume reaches into an absorbing layer"
        return [Problem("greens", words, "make it smaller, or the domain larger")]
    stations = receivers.build(scenario)
    inside = absorbing_layer.inside_layers(SimpleNamespace(layers=layers), stations.xyz)
    names = [stations.names[n] for n in np.flatnonzero(inside)]
    return [Problem("receivers", f"{name} lies in an absorbing layer", MOVE) for name in names[:5]]


def medium_of(scenario):
    """Return the `Medium` of a scenario on one rank, the scenario on its mesh, and its `Prepared`
    mesh and model.
    """
    team = SingleRank()
    tables, prepared, top = build.mesh_and_tables(scenario, None, team)
    placed = scenario.model_copy(update=tables).on_mesh(*prepared.bounds, top)
    return build.build_medium(placed, prepared, team), placed, prepared


def elements_at(medium, low, high):
    """Return the solid elements whose bounding box, as corners of a volume count, meets it."""
    solid = np.flatnonzero(~medium.fluid)
    nodes = medium.mesh.nodes[medium.mesh.elements[solid]]
    nodes = in_corners(medium.globe, nodes.reshape(-1, 3), low).reshape(nodes.shape)
    meets = (nodes.min(axis=1) <= high) & (nodes.max(axis=1) >= low)
    return solid[meets.all(axis=1)]


def nodes_around(medium, elements):
    """Return the nodes of solid elements, and of those that touch them, rising."""
    solid = np.flatnonzero(~medium.fluid)
    points = np.asarray(medium.points).reshape(medium.mesh.size, -1)
    marked = np.zeros(points.max() + 1, bool)
    marked[points[elements]] = True
    touching = solid[marked[points[solid]].any(axis=1)]
    return np.unique(points[touching]).astype(np.int64)
