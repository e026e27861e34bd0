"""What a moment in a volume sees of the field of a force: Legendre coefficients of the velocity in
the elements of the volume, and the weights of a moment tensor on them.

In the weak form a moment M acts on node a with M . grad l_a (points.py), a force F with F l_a; with
the diagonal mass matrix both runs are transposes of each other: the velocity that a force records
of a moment is the sum of the moment's weights times the velocity of the force's run (Aki & Richards
2002, section 2.3.2, for the continuum).

A moment takes differences of velocities, which in a thin element or at long periods are a small part
of the velocities themselves: of the values at the nodes few digits would be left. Each element
therefore keeps the coefficients of the products of Legendre polynomials (Canuto, Hussaini,
Quarteroni & Zang 2006, Spectral Methods, section 2.3) without the constant, which no moment sees:
what varies little in a direction has small coefficients there, with all their digits.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from craton.conventions import TENSOR_AXES
from craton.core.snapshots import SnapshotSeries
from craton.errors import Problem, ScenarioError
from craton.methods.spectral_element import build, couples
from craton.methods.spectral_element.equations import absorbing_layer
from craton.methods.spectral_element.mesh import placing
from craton.methods.spectral_element.space import element_parts
from craton.methods.waves.ranks.sharing import SingleRank
from craton.survey import receivers
from craton.survey.globe import in_corners
from craton.survey.wavelets import lowpass

MOVE = "move it inwards, or make the domain larger"
BULGE = 0.01  # of an element's extent: how far a curved one may reach beyond its 27 nodes
LAYOUT = "Legendre coefficients"  # what is kept of an element, as stores name it


@dataclass(frozen=True, eq=False)
class ElementVelocities:
    """Velocities in elements of the solid, as Legendre coefficients.

    Parameters
    ----------
    medium : Medium
    elements : (m,) int array
        Numbers of the elements, rising.
    low, high : tuple of float
        Corners of the volume, see `in_corners`.
    scenario : SpectralScenario
        On its mesh.
    values : callable
        vp, vs, density at positions (n, 3).
    """

    medium: Any
    elements: np.ndarray
    low: tuple
    high: tuple
    scenario: Any
    values: Any
    per_point: int = 3
    of_what: str = "elements"

    @property
    def places_of_element(self):
        """Coefficients times components."""
        return 3 * (self.medium.element.size - 1)

    @property
    def places(self):
        """All places."""
        return self.places_of_element * len(self.elements)

    @property
    def about(self):
        """Corners of the volume, from which the elements follow: dict for JSON."""
        nodes = self.medium.mesh.nodes[self.medium.mesh.elements]
        edge = np.ptp(nodes, axis=1).min()
        resolution = float(edge / self.medium.element.degree)
        low, high = list(self.low), list(self.high)
        return {"low": low, "high": high, "resolution": resolution, "layout": LAYOUT}

    @cached_property
    def nodes(self):
        """Numbers of the elements' nodes, rising, and where each element has them: (m, n^3)."""
        points = np.asarray(self.medium.points).reshape(self.medium.mesh.size, -1)
        numbers, where = np.unique(points[self.elements], return_inverse=True)
        return numbers.astype(np.int64), where.reshape(len(self.elements), -1)

    @cached_property
    def polynomials(self):
        """Products of Legendre polynomials at the nodes, and what makes coefficients of values at
        the nodes: (n^3, n^3) each, the constant first.
        """
        along = legvander(self.medium.element.points, self.medium.element.degree)
        return tuple(np.kron(f, np.kron(f, f)) for f in (along, np.linalg.inv(along)))

    def series(self, steps, times, precision):
        """Return the series of pictures that the time loop takes."""
        reads = {"velocity": self.nodes[0]}
        return SnapshotSeries("greens", "velocity", (), {}, steps, times, reads, self, precision)

    def picture(self, arrays):
        """Return the coefficients of velocities by place: element, coefficient, component."""
        velocity = np.asarray(arrays["velocity"], float)[self.nodes[1]]
        return (self.polynomials[1][1:] @ velocity).ravel()

    def rows(self, xyz, six):
        """Return the weights of moments on the places; see
        `craton.methods.finite_difference.greens.StrainRates.rows`.

        Raises
        ------
        ScenarioError
            A moment is in part in a fluid, or in an element that is not stored.
        """
        parts = [
            self._some(xyz[n : n + couples.MOST], six[n : n + couples.MOST]) for n in range(0, len(xyz), couples.MOST)
        ]
        most = max(index.shape[1] for index, _ in parts)
        return tuple(np.concatenate([np.pad(p[k], ((0, 0), (0, most - p[k].shape[1]))) for p in parts]) for k in (0, 1))

    def _some(self, xyz, six):
        """Places and weights of few moments."""
        tensors = np.zeros((len(xyz), 3, 3))
        for n, (a, b) in enumerate(TENSOR_AXES):
            tensors[:, a, b] = tensors[:, b, a] = six[:, n]
        moments = [SimpleNamespace(xyz=at, moment=m, force=None) for at, m in zip(xyz, tensors)]
        parts = element_parts(self.medium, moments)
        slots = np.searchsorted(self.elements, [element for _, element, *_ in parts])
        for slot, (number, element, *_) in zip(slots, parts):
            if slot == len(self.elements) or self.elements[slot] != element:
                raise ScenarioError([self._outside(xyz[number], element)])
        counts = np.bincount([number for number, *_ in parts], minlength=len(moments))
        size, along = self.places_of_element, self.polynomials[0][:, 1:]
        places = np.zeros((len(moments), counts.max(), size), np.int64)
        weights, filled = np.zeros(places.shape), np.zeros(len(moments), int)
        for slot, (number, _, _, weight) in zip(slots, parts):
            where = number, filled[number]
            places[where] = size * slot + np.arange(size)
            weights[where] = (weight.reshape(3, -1) @ along).T.ravel()
            filled[number] += 1
        return places.reshape(len(moments), -1), weights.reshape(len(moments), -1)

    def _outside(self, xyz, element):
        """Return the `Problem` of a source, a part of which lies in an element that is not stored."""
        words, remedy = "in part in a fluid", "move it into the solid"
        if not self.medium.fluid[element]:
            words, remedy = "in part outside of what is stored", "build a store of a larger volume"
        return Problem("source", f"a source at {tuple(xyz.tolist())} is {words}", remedy)


def element_velocities(scenario, low, high):
    """Return the `ElementVelocities` of a volume of a scenario.

    Parameters
    ----------
    scenario : SpectralScenario
        With the table ``greens`` where it is new: what lies in absorbing layers is refused then.
    low, high : sequence of float
        Corners of the volume of sources, m.

    Returns
    -------
    ElementVelocities or None
    problems : list of Problem
    """
    medium, placed, prepared = medium_of(scenario)
    inside = elements_at(medium, low, high)
    if not len(inside):
        words = "no element of the solid is in the volume"
        return None, [Problem("greens", words, "place it in the solid part of the mesh")]
    problems = in_layers(medium, placed, inside) if scenario.greens is not None else []
    if problems:
        return None, problems
    elements = with_neighbours(medium, inside)
    values = partial(placing.medium, prepared)
    return ElementVelocities(medium, elements, tuple(low), tuple(high), placed, values), []


def in_layers(medium, scenario, elements):
    """Return what of a volume's elements and a scenario's stations lies in absorbing layers, where
    runs are not reciprocal: list of Problem.
    """
    options, impulse = scenario.boundaries.pml, lowpass(scenario.greens.max_frequency)
    frequency = options.frequency or impulse.peak_frequency
    layers = absorbing_layer.build_layers(medium, frequency, options)
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
    bulge = BULGE * np.ptp(nodes, axis=1)
    meets = (nodes.min(axis=1) - bulge <= high) & (nodes.max(axis=1) + bulge >= low)
    return solid[meets.all(axis=1)]


def with_neighbours(medium, elements):
    """Return solid elements and those that touch a box among them, rising: moments in boxes are
    distributed over their neighbours, see `couples`.
    """
    solid = np.flatnonzero(~medium.fluid)
    points = np.asarray(medium.points).reshape(medium.mesh.size, -1)
    marked = np.zeros(points.max() + 1, bool)
    is_box = ~np.isnan(medium.statistics.edges[elements, 0])
    marked[points[elements[is_box]]] = True
    touching = solid[marked[points[solid]].any(axis=1)]
    return np.union1d(elements, touching)
