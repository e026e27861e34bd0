"""The medium at the nodes of elements as what gradients are taken by: from density, bulk and shear
modulus of each node to masses, moduli and absorbing faces, and back by the chain rule.

With the field u (velocities v, step n), and lam, the Lagrange multiplier of the law of motion

    A v(n) = (M - dt/2 C) v(n - 1) + dt (f(n) - K u(n)),  A = M + dt/2 C  (Stacey's damping C),

the misfit changes by  -sum_n lam(n) . (M' (v(n) - v(n - 1)) + dt C' (v(n) + v(n - 1)) / 2
+ dt K' u(n) - dt f'(n)). In a fluid the potential takes the place of u, 1 / kappa that of density
and 1 / rho that of moduli.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.core.plan import Array
from craton.methods.spectral_element.discretisation import Discretisation, fields_of
from craton.methods.spectral_element.equations import faces, material
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.families import arrange_families
from craton.methods.spectral_element.mesh.mesh_statistics import volumes
from craton.model.media import cells as media

BLOCK = 1 << 12  # elements at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class NodalDiscretisation(Discretisation):
    """A `Discretisation` whose medium is given at the nodes of its elements.

    Parameters
    ----------
    nodal : dict of str to (ne, n^3) array
        ``vp``, ``vs``, m/s, and ``rho``, kg/m3; of 21 constants ``stiffness``, (ne, 21, n^3), Pa;
        with attenuation ``loss_p`` and ``loss_s``, 1/Q.
    """

    nodal: Any

    def material(self, elements, nodes=slice(None)):
        """See `Medium.material`."""
        return {name: values[elements][..., nodes] for name, values in self.nodal.items()}


def nodal(d):
    """Return a `Discretisation` with its medium at the nodes of all elements, in the precision of the
    medium.

    Parameters
    ----------
    d : Discretisation
    """
    values = d.material(slice(None))
    # losses of the bulk modulus come with changes of vp or vs, where Qp and Qs stay
    statistics = replace(
        d.statistics, varying=np.ones(d.mesh.size, bool), bulk_loss=d.relaxation is not None or d.statistics.bulk_loss
    )
    names = ("vp", "vs", "rho", "stiffness", "loss_p", "loss_s")
    names = [name for name in names if name in values]
    medium = {name: np.ascontiguousarray(values[name], float) for name in names}
    named = fields_of(d) | {"statistics": statistics, "nodal": medium, "families": None}
    families = arrange_families(NodalDiscretisation(**named), d.layers)
    return NodalDiscretisation(**named | {"families": families})


def moduli_of(d):
    """Return density, bulk and shear modulus at the nodes, or density and 21 constants: (ne, n^3)
    each, kg/m3 and Pa.
    """
    if d.anisotropic:
        return (d.nodal["rho"], *d.nodal["stiffness"].transpose(1, 0, 2))
    kappa, mu = media.moduli(d.nodal["vp"], d.nodal["vs"], d.nodal["rho"])
    return d.nodal["rho"], kappa, np.where(d.fluid[:, None], 0.0, mu)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Positions of the nodes, in place of the grid of cells.

    Parameters
    ----------
    d : Discretisation
    volumes : (ne, n^3) array
        Of the nodes by the elements' quadrature, m3: they add up to those of the elements.
    """

    d: Any
    volumes: Any
    planar = False

    @cached_property
    def coordinates(self):
        """(ne, 3, n^3), m."""
        return self.d.coordinates(np.arange(self.d.mesh.size))

    def axis(self, name):
        """Coordinates of the nodes along "x", "y" or "z": (ne, n^3), m."""
        return self.coordinates[:, "xyz".index(name)]


class ChainRule:
    """Masses, moduli and absorbing faces of a mesh by the medium of its nodes.

    Parameters
    ----------
    d : NodalDiscretisation
        The start: mesh, faces and time step stay.
    """

    BULK = 1  # place of a fluid's bulk modulus in the cells

    def __init__(self, d):
        self.d = d
        self.shape = (d.mesh.size, d.element.size)
        self.weights = np.empty(self.shape)
        for part in mesh_terms.batches(d.mesh.size, BLOCK):
            elements = np.arange(*part.indices(d.mesh.size))
            edges = d.statistics.edges[elements]
            self.weights[part] = volumes(d.element, d.shapes(elements), edges)
        self.weights *= d.element.volume_weights
        self.absorbing = [self._faces(fluid) for fluid in (False, True)]

    def _faces(self, fluid):
        """Absorbing faces of a medium: element and node, place in the list of their points, area, m2,
        and normal of each node; None without.
        """
        d, rows = self.d, faces.faces_of_kind(self.d, ("stacey",), fluid)
        if not len(rows):
            return None
        vectors = faces.area_vectors(d, rows).reshape(-1, 3)
        nodes = d.element.face_nodes[rows[:, 1]]
        element = np.repeat(rows[:, 0], nodes.shape[1])
        points, place = np.unique(d.points[element, nodes.ravel()], return_inverse=True)
        area = np.linalg.norm(vectors, axis=1)
        return (element, nodes.ravel()), place, len(points), area, vectors / area[:, None]

    # --- forward ------------------------------------------------------------------------------

    def discretisation(self, cells):
        """Return the `NodalDiscretisation` of a medium.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (ne, n^3) each, kg/m3 and Pa.
        """
        rho, kappa = cells[:2]
        return with_medium(self.d, self.medium(cells), self.masses(rho, 1 / kappa))

    def medium(self, cells):
        """Return the medium of the nodes by name, see `NodalDiscretisation`."""
        rho, kappa, mu = cells
        return {"vp": np.sqrt((kappa + 4 / 3 * mu) / rho), "vs": np.sqrt(mu / rho), "rho": np.asarray(rho, float)}

    def unrelaxed(self, cells):
        """Return bulk and shear modulus that waves of high frequency see, Pa."""
        return cells[1:3]

    def masses(self, in_solid, in_fluid):
        """Return sums at the points, (solid, fluid), of densities (ne, n^3) times volume."""
        d, out = self.d, []
        for fluid, count, density in ((False, d.state.solid, in_solid), (True, d.state.fluid, in_fluid)):
            chosen = d.fluid == fluid
            values = density[chosen] * self.weights[chosen]
            out.append(np.bincount(d.points[chosen].ravel(), values.ravel(), count))
        return tuple(out)

    # --- back ---------------------------------------------------------------------------------

    def gradient(self, cells, of_elements, of_points, of_faces):
        """Return dJ/d(rho, kappa, mu) of the nodes.

        Parameters
        ----------
        cells : (rho, kappa, mu)
        of_elements : (ne, 2, n^3) array
            dJ by lambda and mu, in a fluid by 1 / rho and nothing.
        of_points : (solid, fluid) arrays
            dJ by the masses of the points.
        of_faces : (solid, fluid) arrays
            dJ by the damping of absorbing points, (6, m) and (1, m).
        """
        out = self._of_volumes(*cells[:2], of_elements, of_points)
        for fluid, values in enumerate(of_faces):
            if self.absorbing[fluid] is not None:
                self._add_faces(out, cells, values, bool(fluid))
        return tuple(out)

    def _of_volumes(self, rho, kappa, of_elements, of_points):
        """Return what `gradient` does but for faces: a list."""
        d, by_mass = self.d, np.empty(self.shape)
        for fluid, values in enumerate(of_points):
            chosen = d.fluid == bool(fluid)
            if chosen.any():
                by_mass[chosen] = values[d.points[chosen]] * self.weights[chosen]
        fluid, first, second = d.fluid[:, None], of_elements[:, 0], of_elements[:, 1]
        return [
            np.where(fluid, -first / rho**2, by_mass),
            np.where(fluid, -by_mass / kappa**2, first),
            np.where(fluid, 0.0, second - 2 / 3 * first),
        ]

    def _add_faces(self, out, cells, by_damping, fluid):
        """Add what the misfit changes by with the impedances of the absorbing faces of a medium."""
        at, place, _, area, normal = self.absorbing[fluid]
        rows = self._impedances(cells, fluid)
        if fluid:
            by_impedance = (area * by_damping[0, place],)
        else:
            along, whole = _contracted(by_damping[:, place], normal)
            by_impedance = (area * along, area * (whole - along))
        for n, total in enumerate(out):
            change = sum(row[n] * values for row, values in zip(rows, by_impedance))
            np.add.at(total, at, change)

    def _impedances(self, cells, fluid):
        """Return rows of derivatives of the impedances of P and S waves, of a fluid 1 / (rho c), by
        rho, kappa, mu, at the nodes of absorbing faces.
        """
        at = self.absorbing[fluid][0]
        rho, kappa, mu = (values[at] for values in cells)
        if fluid:
            admittance = 1 / np.sqrt(rho * kappa)
            return ((-admittance / (2 * rho), -admittance / (2 * kappa), 0.0),)
        vp, vs = np.sqrt((kappa + 4 / 3 * mu) / rho), np.sqrt(mu / rho)
        return (vp / 2, 1 / (2 * vp), 2 / (3 * vp)), (vs / 2, 0.0, 1 / (2 * vs))

    def changes(self, cells, change):
        """Return what changes to first order with (rho, kappa, mu): moduli (ne, 2, n^3), of a fluid
        1 / rho and 0; masses (solid, fluid); damping of absorbing points, (6, m) and (1, m), None
        without.

        Parameters
        ----------
        cells, change : (rho, kappa, mu)
        """
        (rho, kappa, _), (d_rho, d_kappa, d_mu) = cells, change
        fluid = self.d.fluid[:, None]
        moduli = np.stack(
            [np.where(fluid, -d_rho / rho**2, d_kappa - 2 / 3 * d_mu), np.where(fluid, 0.0, d_mu)], axis=1
        )
        damping = [self._damping(cells, change, bool(f)) for f in (0, 1)]
        return moduli, self.masses(d_rho, -d_kappa / kappa**2), damping

    def _damping(self, cells, change, fluid):
        """Change of the damping of the absorbing points of a medium."""
        if self.absorbing[fluid] is None:
            return None
        at, place, count, area, normal = self.absorbing[fluid]
        moved = [values[at] for values in change]
        impedances = [sum(by * values for by, values in zip(row, moved)) for row in self._impedances(cells, fluid)]
        if fluid:
            parts = [area * impedances[0]]
        else:
            of_p, of_s = impedances
            parts = [
                area * ((of_p - of_s) * normal[:, a] * normal[:, b] + (of_s if a == b else 0.0)) for a, b in faces.SIX
            ]
        return np.stack([np.bincount(place, part, count) for part in parts])


def with_medium(d, medium, masses):
    """Return a `NodalDiscretisation` with another medium.

    Parameters
    ----------
    d : NodalDiscretisation
    medium : dict of str to array
        Of the nodes, see there.
    masses : (solid, fluid) arrays
        Of the points.
    """
    statistics = replace(d.statistics, mass=tuple(masses))
    named = fields_of(d) | {"nodal": medium, "statistics": statistics}
    out = NodalDiscretisation(**named)
    families = [with_moduli(out, arranged) for arranged in d.families]
    return NodalDiscretisation(**named | {"families": families})


def with_moduli(d, arranged):
    """Return an `ArrangedFamily` with the moduli and losses of a `NodalDiscretisation`."""
    arrays = {
        f"{arranged.family.name}_{name}": Array("material", v.shape, v.dtype, v, lanes=True)
        for name, v in material.arrays(d, arranged.family, arranged.order).items()
    }
    return replace(arranged, arrays=arranged.arrays | arrays)


def _contracted(six, normal):
    """Return n . S n and the trace of symmetric S (6, m), whose last three rows stand for both
    places.
    """
    along = sum(row * normal[:, a] * normal[:, b] for row, (a, b) in zip(six, faces.SIX))
    return along, six[0] + six[1] + six[2]
