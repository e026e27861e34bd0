"""Positions in elements: values and slopes of the Lagrange polynomials there, and interpolation of
fields at the element's nodes.

Attributes of the discretised problem, `d`, that these functions use:

    d.element           Element
    d.points            (ne, n^3) or (ne, n, n, n) numbers of the nodes: of solid elements among the points of the solid,
                        of fluid ones among those of the fluid
    d.fluid             (ne,) bool
    d.offset(field)     start in "state" of "displacement", "velocity" (3 reals a solid point), "potential",
                        "potential_rate", "pressure" (1 real a fluid point); in "forces" of "force" (3 a solid point),
                        "potential_force" (1 a fluid point)
    d.coordinates(e)    (len(e), 3, n^3) coordinates of the nodes of elements e, m, from any origin that each element may
                        have of its own
    d.material(e)       dict of arrays over these nodes as in `media.sampling`: rho, vp, vs, perhaps stiffness
                        (len(e), 21, n^3)
    d.locate(xyz, prefer_fluid)
                        Located, see `placing.Places.locate`; `d.places` is that Places
    d.precision, d.dt, d.start, d.steps
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.conventions import COMPONENT_AXES, velocity_slopes
from craton.methods.spectral_element.mesh.element import lagrange, lagrange_slopes

VOIGT = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])  # row of Hooke's law of a pair of axes


@dataclass(frozen=True, eq=False)
class Sites:
    """Positions in elements.

    Parameters
    ----------
    d : Discretisation
    element : (n,) int array
    local : (n, 3) array
        Reference coordinates.
    known : (values, slopes), optional
        Where they have been evaluated.
    """

    d: Any
    element: np.ndarray
    local: np.ndarray
    known: tuple | None = None

    def __len__(self):
        return len(self.element)

    def part(self, rows):
        """Return the sites of some rows, a slice, with the polynomials of all."""
        return Sites(self.d, self.element[rows], self.local[rows], (self.values[rows], self.slopes[rows]))

    @cached_property
    def values(self):
        """Lagrange polynomials of the element's nodes at the positions: (n, n^3)."""
        return self.known[0] if self.known else _product(_along(lagrange, self.d.element, self.local))

    @cached_property
    def slopes(self):
        """Their derivatives along x, y, z, 1/m: (n, 3, n^3)."""
        if self.known:
            return self.known[1]
        _, reference = polynomials(self.d.element, self.local)
        return slopes_in_space(reference, nodes_of(self.d, self.element))


def polynomials(element, local):
    """Evaluate Lagrange polynomials of an element's nodes at reference coordinates (n, 3): values
    (n, n^3), slopes (n, 3, n^3).
    """
    value, slope = (_along(f, element, local) for f in (lagrange, lagrange_slopes))
    slopes = [_product([slope[a] if a == b else value[a] for a in range(3)]) for b in range(3)]
    return _product(value), np.stack(slopes, axis=1)


def _along(function, element, local):
    """Return a function of an element's points and a coordinate for xi, eta and zeta: list."""
    return [function(element.points, local[:, axis]) for axis in range(3)]


def _product(along):
    """Return products of the values along xi, eta and zeta, xi fastest: (n, n^3)."""
    xi, eta, zeta = along
    return (zeta[:, :, None, None] * eta[:, None, :, None] * xi[:, None, None, :]).reshape(len(xi), xi.shape[1] ** 3)


def sites(d, located):
    """Return the `Sites` of positions, all of which are in the mesh."""
    if (located.element < 0).any():
        raise ValueError(f"{(located.element < 0).sum()} positions are outside the mesh")
    return Sites(d, located.element, located.local)


def nodes_of(d, elements):
    """Return coordinates of the nodes of elements, (n, 3, n^3), computed once per distinct element."""
    distinct, which = np.unique(elements, return_inverse=True)
    return d.coordinates(distinct)[which]


def slopes_in_space(reference, coordinates):
    """Return slopes along x, y, z from those along xi, eta, zeta, (n, 3, m), and the coordinates of
    the nodes, (n, 3, m).
    """
    jacobian = np.einsum("nsm,nrm->nsr", reference, coordinates)  # d x_r / d xi_s
    return np.linalg.solve(jacobian, reference)


def numbers(d, elements):
    """Return numbers of the nodes of elements, (n, n^3), int64."""
    return np.asarray(d.points[elements]).reshape(len(elements), -1).astype(np.int64)


def materials(d, elements):
    """Return the material at the nodes of elements: dict of arrays (n, ..., n^3)."""
    distinct, which = np.unique(elements, return_inverse=True)
    return {name: values[which] for name, values in d.material(distinct).items()}


def at_sites(positions, field):
    """Interpolate a field of the elements' nodes, (n, ..., n^3), to the sites: (n, ...)."""
    return np.einsum("n...m,nm->n...", field, positions.values)


# --- the velocity of the solid and of the fluid ---------------------------------------------------


def fluid_velocity(d, elements):
    """Return the velocity at nodes of fluid elements, v_a = grad_a(potential rate) / rho, as
    matrices (n, 3, n^3 of v, n^3 of rate).
    """
    element, coordinates = d.element, nodes_of(d, elements)
    points = np.array([(xi, eta, zeta) for zeta in element.points for eta in element.points for xi in element.points])
    _, reference = polynomials(element, points)  # (node, 3, polynomial)
    jacobian = np.einsum("qsm,nrm->nqsr", reference, coordinates)
    slopes = np.linalg.solve(jacobian, np.broadcast_to(reference, (len(elements), *reference.shape)))
    return slopes.transpose(0, 2, 1, 3) / materials(d, elements)["rho"][:, None, :, None]


def velocity_rows(d, positions, weights):
    """Return (index, weight) in "state" of sums over axes and nodes of weights (n, 3, n^3) times
    velocity.

    Both (n, 3 n^3), or in a fluid (n, n^3). All sites are in a solid, or all in a fluid.
    """
    number = numbers(d, positions.element)
    if len(positions) and d.fluid[positions.element[0]]:
        rate = np.empty(number.shape)
        for start in range(0, len(positions), 256):  # (n^3)^2 reals a site
            block = slice(start, start + 256)
            rate[block] = np.einsum("nam,namq->nq", weights[block], fluid_velocity(d, positions.element[block]))
        return d.offset("potential_rate") + number, rate
    return vector_index(d, "velocity", number), weights.reshape(len(positions), -1)


def vector_index(d, field, number):
    """Return the index in "state" of the components of a field of the solid at points (n, m): (n, 3
    m), component by component.
    """
    return (d.offset(field) + np.arange(3)[:, None] + 3 * number[:, None, :]).reshape(len(number), 3 * number.shape[1])


# --- quantities -----------------------------------------------------------------------------------


def quantity_rows(d, positions, quantity, component):
    """Return (index, weight), (n, m) each, of one component of a quantity at sites that are all in
    a solid or all in a fluid.
    """
    if quantity == "pressure":
        return pressure_rows(d, positions)
    if quantity == "stress":
        return stress_rows(d, positions, component)
    in_fluid = len(positions) and d.fluid[positions.element[0]]
    if quantity == "velocity" and not in_fluid:
        first = d.offset("velocity") + "ENZ".index(component)
        return first + 3 * numbers(d, positions.element), positions.values
    weights = np.zeros((len(positions), 3, positions.values.shape[1]))
    if quantity == "velocity":
        weights[:, "ENZ".index(component)] = positions.values
    else:
        for v, axis, factor in velocity_slopes(quantity, component):
            weights[:, v] += factor * positions.slopes[:, axis]
    return velocity_rows(d, positions, weights)


def pressure_rows(d, positions):
    """Return (index, weight) of pressure; in a solid, minus a third of the trace of the elastic stress."""
    number = numbers(d, positions.element)
    if len(positions) and d.fluid[positions.element[0]]:
        return d.offset("pressure") + number, positions.values
    weight = -np.einsum("nab,nbm->nam", mean_stress(positions, materials(d, positions.element)), positions.slopes)
    return vector_index(d, "displacement", number), weight.reshape(len(positions), -1)


def mean_stress(positions, material):
    """Return a third of the trace of the stress due to displacement gradients u_a,b at sites:
    symmetric (n, 3, 3), Pa.
    """
    if "stiffness" not in material:
        kappa = at_sites(positions, material["rho"] * (material["vp"] ** 2 - 4 / 3 * material["vs"] ** 2))
        return kappa[:, None, None] * np.eye(3)
    return hooke(positions, material)[:, :3].sum(axis=1)[:, VOIGT] / 3


def stress_rows(d, positions, component):
    """Return (index, weight) of a component of the elastic stress at sites of the solid."""
    moduli = hooke(positions, materials(d, positions.element))[:, VOIGT[COMPONENT_AXES[component]]][:, VOIGT]
    weight = np.einsum("ncd,ndm->ncm", moduli, positions.slopes)
    return vector_index(d, "displacement", numbers(d, positions.element)), weight.reshape(len(positions), -1)


def hooke(positions, material):
    """Return Hooke's law at sites, (n, 6, 6), Pa."""
    if "stiffness" in material:
        return full_law(at_sites(positions, material["stiffness"]))
    law = np.zeros((len(positions), 6, 6))
    mu = at_sites(positions, material["rho"] * material["vs"] ** 2)
    lam = at_sites(positions, material["rho"] * material["vp"] ** 2) - 2 * mu
    law[:, :3, :3] = lam[:, None, None]
    law[:, range(3), range(3)] += 2 * mu[:, None]
    law[:, range(3, 6), range(3, 6)] = mu[:, None]
    return law


def full_law(constants):
    """Return Hooke's law, (n, 6, 6), of 21 constants, (n, 21)."""
    law, (rows, columns) = np.empty((len(constants), 6, 6)), np.triu_indices(6)
    law[:, rows, columns] = law[:, columns, rows] = constants
    return law


def is_fluid_at(d, element):
    """Return which elements are fluid; the values where there is no element, -1 or `ELSEWHERE`, have no meaning."""
    return d.fluid[np.maximum(element, -1)]
