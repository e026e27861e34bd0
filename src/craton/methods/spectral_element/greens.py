"""Velocities in elements of a volume as a `craton.methods.waves.greens.Volume`: Legendre coefficients, and the weights of moments on them.

In the weak form a moment M acts on node a with M . grad l_a (sources.py), a force F with F l_a; with the diagonal mass matrix both runs are
transposes of each other: the velocity that a force records of a moment is the sum of the moment's weights times the velocity of the
force's run.

A moment takes differences of velocities, which in a thin element or at long periods are a small part of the velocities themselves: of the
values at the nodes few digits would be left. Each element therefore keeps the coefficients of the products of Legendre polynomials (Canuto,
Hussaini, Quarteroni & Zang 2006, Spectral Methods, section 2.3) without the constant, which no moment sees: what varies little in a
direction has small coefficients there, with all their digits.
"""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from craton.conventions import TENSOR_AXES
from craton.errors import Problem, ScenarioError
from craton.methods.spectral_element import sources
from craton.methods.spectral_element.equations import absorbing_layer
from craton.methods.waves.greens import station_problems
from craton.methods.waves.tables import Rows, stacked
from craton.survey.geography import in_corners

BULGE = 0.01  # of an element's extent: how far a curved one may reach beyond its 27 nodes
LAYOUT = "Legendre coefficients"  # what is kept of an element, as stores name it


@dataclass(frozen=True, eq=False)
class ElementVolume:
    """Velocities in elements of the solid, as Legendre coefficients.

    Parameters
    ----------
    d : Medium
    elements : (m,) int array
        Numbers of the elements, rising.
    """

    d: Any
    elements: np.ndarray

    quantity, per_point, of_what = "velocity", 3, "elements"

    @property
    def places_of_element(self):
        """Coefficients times components."""
        return 3 * (self.d.element.size - 1)

    @property
    def places(self):
        """All places."""
        return self.places_of_element * len(self.elements)

    @property
    def about(self):
        """What a store says of it: the shortest distance of points, m, about, and the layout."""
        nodes = self.d.mesh.nodes[self.d.mesh.elements]
        return {"resolution": float(np.ptp(nodes, axis=1).min() / self.d.element.degree), "layout": LAYOUT}

    @cached_property
    def nodes(self):
        """Numbers of the elements' nodes, rising, and where each element has them: (m, n^3)."""
        points = np.asarray(self.d.points).reshape(self.d.mesh.size, -1)
        numbers, where = np.unique(points[self.elements], return_inverse=True)
        return numbers.astype(np.int64), where.reshape(len(self.elements), -1)

    @cached_property
    def polynomials(self):
        """Products of Legendre polynomials at the nodes, and what makes coefficients of values at
        the nodes: (n^3, n^3) each, the constant first.
        """
        along = legvander(self.d.element.points, self.d.element.degree)
        return tuple(np.kron(f, np.kron(f, f)) for f in (along, np.linalg.inv(along)))

    @property
    def reads(self):
        """See `Volume.reads`."""
        return {"velocity": self.nodes[0]}

    def picture(self, fields):
        """Return the coefficients of velocities by place: element, coefficient, component."""
        velocity = np.asarray(fields["velocity"], float)[self.nodes[1]]
        return (self.polynomials[1][1:] @ velocity).ravel()

    def rows(self, xyz, six):
        """Return the weights of moments on the places; see `Volume.rows`.

        Raises
        ------
        ScenarioError
            A moment is in part in a fluid, or in an element that is not stored.
        """
        tensors = np.zeros((len(xyz), 3, 3))
        for n, (a, b) in enumerate(TENSOR_AXES):
            tensors[:, a, b] = tensors[:, b, a] = six[:, n]
        moments = [SimpleNamespace(xyz=at, moment=m, force=None) for at, m in zip(xyz, tensors)]
        rows = []
        for low in range(0, len(xyz), sources.MOST):
            for number, element, _, weight in sources.element_parts(self.d, moments[low : low + sources.MOST]):
                slot = np.searchsorted(self.elements, element)
                if slot == len(self.elements) or self.elements[slot] != element:
                    raise ScenarioError([self._outside(xyz[low + number], element)])
                index = self.places_of_element * slot + np.arange(self.places_of_element)
                weight = (weight.reshape(3, -1) @ self.polynomials[0][:, 1:]).T.ravel()
                rows.append(Rows(np.array([low + number]), np.array([len(index)]), index, weight))
        return stacked(len(xyz), rows)

    def _outside(self, xyz, element):
        """Return the `Problem` of a source, a part of which lies in an element that is not stored."""
        words, remedy = "in part in a fluid", "move it into the solid"
        if not self.d.fluid[element]:
            words, remedy = "in part outside of what is stored", "build a store of a larger volume"
        return Problem("source", f"a source at {tuple(xyz.tolist())} is {words}", remedy)


def volume_of(d, low, high, stations, layers):
    """Return the `ElementVolume` of a `Medium` between two corners, see `in_corners`, and which of its elements or of the stations lie in
    absorbing `layers`, where there are any: list of Problem.
    """
    inside = elements_at(d, low, high)
    if not len(inside):
        words = "no element of the solid is in the volume"
        return None, [Problem("greens", words, "place it in the solid part of the mesh")]
    problems = []
    if layers is not None and (layers.directions[:, inside] >= 0).any():
        words = "the volume reaches into an absorbing layer"
        problems = [Problem("greens", words, "make it smaller, or the domain larger")]
    elif layers is not None:
        close = absorbing_layer.inside_layers(SimpleNamespace(layers=layers), stations.xyz)
        remedy = "move it inwards, or make the domain larger"
        problems = station_problems(stations, close, "lies in an absorbing layer", remedy)
    return ElementVolume(d, with_neighbours(d, inside)), problems


def elements_at(d, low, high):
    """Return the solid elements whose bounding box, as corners of a volume count, meets it."""
    solid = np.flatnonzero(~d.fluid)
    nodes = d.mesh.nodes[d.mesh.elements[solid]]
    nodes = in_corners(d.globe, nodes.reshape(-1, 3), low).reshape(nodes.shape)
    bulge = BULGE * np.ptp(nodes, axis=1)
    meets = (nodes.min(axis=1) - bulge <= high) & (nodes.max(axis=1) + bulge >= low)
    return solid[meets.all(axis=1)]


def with_neighbours(d, elements):
    """Return solid elements and those that touch a box among them, rising: moments in boxes are distributed over their neighbours."""
    solid = np.flatnonzero(~d.fluid)
    points = np.asarray(d.points).reshape(d.mesh.size, -1)
    marked = np.zeros(points.max() + 1, bool)
    is_box = ~np.isnan(d.statistics.edges[elements, 0])
    marked[points[elements[is_box]]] = True
    touching = solid[marked[points[solid]].any(axis=1)]
    return np.union1d(elements, touching)
