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
from craton.methods.spectral_element.sites import VOIGT
from craton.methods.waves.adjoint import Derivative, Unrelaxed
from craton.model.media import cells as media
from craton.model.media import sampling

BLOCK = 1 << 12  # elements at a time
LOSSES = ("loss_p", "loss_s")
C33, C44 = 1 + sampling.NORMAL[2], 1 + sampling.SHEAR[0]  # behind density
UPPER = np.triu_indices(6)
# P and S modulus of the isotropic mean (Voigt) by the constants
MEAN = np.zeros((2, len(sampling.SHEARING)))
MEAN[1, sampling.NORMAL], MEAN[1, sampling.CROSS], MEAN[1, sampling.SHEAR] = 1 / 15, -1 / 15, 1 / 5
MEAN[0, sampling.NORMAL], MEAN[0, sampling.CROSS] = 1 / 9, 2 / 9
MEAN[0] += 4 / 3 * MEAN[1]
NEAR = 1e-9  # relative: c33 and c44 are the moduli of the model's speeds
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, 2.0)  # places that each constant has in the matrix


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
    """Return a `Discretisation` with its medium at the nodes of all elements, in the precision of the medium.

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
    return with_families(fields_of(d) | {"statistics": statistics, "nodal": medium, "families": None})


def with_families(named):
    """Return the `NodalDiscretisation` of fields by name, with its families of elements."""
    d = NodalDiscretisation(**named)
    return replace(d, families=arrange_families(d, d.layers))


def moduli_of(d):
    """Return density, bulk and shear modulus at the nodes, or density and 21 constants: (ne, n^3) each, kg/m3 and Pa."""
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
    """Masses, moduli, losses and absorbing faces of a mesh by the medium of its nodes: cells are (rho, kappa, mu), with
    attenuation perhaps 1/Qp and 1/Qs behind them, (ne, n^3) each, kg/m3 and Pa.

    With attenuation cells have moduli at the reference frequency, steps unrelaxed ones.

    Parameters
    ----------
    d : NodalDiscretisation
        The start: mesh, faces and time step stay.
    """

    BULK = 1  # place of a fluid's bulk modulus in the cells

    def __init__(self, d):
        self.d = d
        self.relaxation = None if d.relaxation is None or d.fluid.all() else Unrelaxed(d.relaxation)
        self.shape = (d.mesh.size, d.element.size)
        self.weights = np.empty(self.shape)
        for part in mesh_terms.batches(d.mesh.size, BLOCK):
            elements = np.arange(*part.indices(d.mesh.size))
            edges = d.statistics.edges[elements]
            self.weights[part] = volumes(d.element, d.shapes(elements), edges)
        self.weights *= d.element.volume_weights
        self.absorbing = [self._faces(fluid) for fluid in (False, True)]

    def _faces(self, fluid):
        """Absorbing faces of a medium: element and node, place in the list of their points, number of these, and area
        vector of each node, m2; None without.
        """
        d, rows = self.d, faces.faces_of_kind(self.d, ("stacey",), fluid)
        if not len(rows):
            return None
        nodes = d.element.face_nodes[rows[:, 1]]
        element = np.repeat(rows[:, 0], nodes.shape[1])
        points, place = np.unique(d.points[element, nodes.ravel()], return_inverse=True)
        return (element, nodes.ravel()), place, len(points), faces.area_vectors(d, rows).reshape(-1, 3)

    # --- the medium -----------------------------------------------------------------------------

    def discretisation(self, cells):
        """Return the `NodalDiscretisation` of a medium."""
        return with_medium(self.d, self.medium(..., *cells), self.masses(self.of_nodes(..., *cells)[0]))

    def medium(self, part, rho, kappa, mu, *of_q):
        """Return the medium of the nodes of some elements by name, see `NodalDiscretisation`."""
        losses = of_q or [self.d.nodal[name][part] for name in LOSSES if self.relaxation]
        return speeds(rho, kappa, mu) | dict(zip(LOSSES, losses))

    def moduli(self, part, *cells):
        """Return moduli of the nodes of some elements, (ne, rows, n^3), unrelaxed with attenuation, and losses; see
        `sampling.moduli`.
        """
        return sampling.moduli(self.medium(part, *cells), self.relaxation)

    def of_nodes(self, part, *cells):
        """Return the density that masses have, then moduli and losses of the nodes of some elements: a list. In a fluid
        1 / kappa, 1 / rho and nothing.
        """
        fluid, rho = self.d.fluid[part][:, None], cells[0]
        moduli, losses = self.moduli(part, *cells)
        first, *others = np.moveaxis(moduli if losses is None else np.concatenate([moduli, losses], axis=1), 1, 0)
        density = np.where(fluid, 1 / cells[self.BULK], rho)
        return [density, np.where(fluid, 1 / rho, first), *(np.where(fluid, 0.0, row) for row in others)]

    def masses(self, density):
        """Return sums at the points, (solid, fluid), of densities (ne, n^3) times volume."""
        d, out = self.d, []
        for fluid, count in ((False, d.state.solid), (True, d.state.fluid)):
            chosen = d.fluid == fluid
            values = density[chosen] * self.weights[chosen]
            out.append(np.bincount(d.points[chosen].ravel(), values.ravel(), count))
        return tuple(out)

    def damping(self, fluid, cells):
        """Return the derivative of what the nodes of absorbing faces add to the damping of their points, rows of six or, in
        a fluid, of one, by the medium there.
        """
        at, _, _, vectors = self.absorbing[fluid]

        def rows(part, rho, *moduli):
            if fluid:
                return [np.linalg.norm(vectors[part], axis=1) / np.sqrt(rho * moduli[self.BULK - 1])]
            matrices = faces.impedance(speeds(rho, *moduli[:2]), vectors[part])
            return [matrices[:, a, b] for a, b in faces.SIX]

        return Derivative(rows, [values[at] for values in cells])

    # --- changes and gradients ------------------------------------------------------------------

    def changes(self, cells, change):
        """Return what changes to first order with the cells: moduli and losses (ne, rows, n^3), of a fluid 1 / rho and 0;
        masses (solid, fluid); damping of absorbing points, (6, m) and (1, m), None without.
        """
        density, *moduli = Derivative(self.of_nodes, cells).apply(change)
        damping = [None, None]
        for fluid, absorbing in enumerate(self.absorbing):
            if absorbing is not None:
                at, place, count, _ = absorbing
                rows = self.damping(fluid, cells).apply([values[at] for values in change])
                damping[fluid] = np.stack([np.bincount(place, row, count) for row in rows])
        return np.stack(moduli, axis=1), self.masses(density), damping

    def gradient(self, cells, of_elements, of_points, of_faces):
        """Return the derivatives by the cells of the nodes: the transpose of `changes`.

        Parameters
        ----------
        cells : tuple of arrays
        of_elements : (ne, rows, n^3) array
            dJ by moduli and losses, in a fluid by 1 / rho and nothing.
        of_points : (solid, fluid) arrays
            dJ by the masses of the points.
        of_faces : (solid, fluid) arrays
            dJ by the damping of absorbing points, (6, m) and (1, m).
        """
        d, by_density = self.d, np.empty(self.shape)
        for fluid, values in enumerate(of_points):
            chosen = d.fluid == bool(fluid)
            if chosen.any():
                by_density[chosen] = values[d.points[chosen]] * self.weights[chosen]
        out = Derivative(self.of_nodes, cells).transpose([by_density, *np.moveaxis(of_elements, 1, 0)])
        for fluid, absorbing in enumerate(self.absorbing):
            if absorbing is not None:
                at, place, *_ = absorbing
                for total, change in zip(out, self.damping(fluid, cells).transpose(of_faces[fluid][:, place])):
                    np.add.at(total, at, change)
        return tuple(out)


def speeds(rho, kappa, mu):
    """Return vp, vs and density by name."""
    return {"vp": np.sqrt((kappa + 4 / 3 * mu) / rho), "vs": np.sqrt(mu / rho), "rho": rho}


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
    out = replace(d, nodal=medium, statistics=statistics)
    return replace(out, families=[with_moduli(out, arranged) for arranged in d.families])


def with_moduli(d, arranged):
    """Return an `ArrangedFamily` with the moduli and losses of a `NodalDiscretisation`."""
    arrays = {
        f"{arranged.family.name}_{name}": Array("material", v.shape, v.dtype, v, lanes=True)
        for name, v in material.arrays(d, arranged.family, arranged.order).items()
    }
    return replace(arranged, arrays=arranged.arrays | arrays)


# --- a medium with 21 constants at each node --------------------------------------------------------------------------


class ConstantsRule(ChainRule):
    """Masses, moduli and absorbing faces of a mesh by density and 21 constants of its nodes: cells are
    (rho, c11, c12, ..., c66), (ne, n^3) each. In a fluid c33 is the bulk modulus; the other constants have no part in it.

    With attenuation the isotropic part of the constants relaxes, see `sampling.moduli`; steps have unrelaxed constants. Qp and
    Qs stay. 1/Q of the bulk modulus follows from them and from the speeds that the model has beside its constants: those of c33
    and c44 or, where it is given by 21 constants, those of their isotropic mean (`Stiffness.speeds`).
    """

    BULK = C33

    def medium(self, part, rho, *constants):
        """See `ChainRule.medium`."""
        fluid = self.d.fluid[part][:, None]
        means = (sum(w * constants[n] for n, w in enumerate(mean) if w) for mean in MEAN)
        along = constants[C33 - 1], np.where(fluid, 0.0, constants[C44 - 1])
        of_mean = self._of_mean[part] & ~fluid
        stiff, shear = (np.where(of_mean, mean, modulus) for mean, modulus in zip(means, along))
        losses = {name: self.d.nodal[name][part] for name in LOSSES if self.relaxation}
        return speeds(rho, stiff - 4 / 3 * shear, shear) | losses | {"stiffness": np.stack(constants, axis=1)}

    @cached_property
    def _of_mean(self):
        """Nodes whose speeds are those of the isotropic mean of their constants."""
        nodal, (c33, c44) = self.d.nodal, (self.d.nodal["stiffness"][:, n - 1] for n in (C33, C44))
        moduli = (nodal["rho"] * nodal[name] ** 2 for name in ("vp", "vs"))
        return np.any([abs(m - c) > NEAR * c33 for m, c in zip(moduli, (c33, c44))], axis=0)

    def damping(self, fluid, cells):
        """See `ChainRule.damping`."""
        if fluid:
            return super().damping(fluid, cells)
        at, _, _, vectors = self.absorbing[fluid]
        return Impedance([values[at] for values in cells], vectors)


class Impedance:
    """The derivative of the impedances, times area, of absorbing faces by density and 21 constants; see `Derivative`.

    An absorbing face has the impedance Z, Z^2 = rho Gamma, with the Christoffel matrix Gamma of its normal: a change of the
    medium gives Z dZ + dZ Z = d(rho Gamma), solved in the axes of Z.

    Parameters
    ----------
    cells : (rho, c11, c12, ..., c66)
        (m,) each.
    vectors : (m, 3) array
        Area vectors, m2.
    """

    def __init__(self, cells, vectors):
        self.rho, self.area = cells[0], np.linalg.norm(vectors, axis=1)
        normal = vectors / self.area[:, None]
        self.normals = np.zeros((len(normal), 6, 3))  # from axes to rows of Hooke's law
        for a in range(3):
            for b in range(3):
                self.normals[:, VOIGT[a, b], a] += normal[:, b]
        self.gamma = self._christoffel(cells)
        squares, self.axes = np.linalg.eigh(self.rho[:, None, None] * self.gamma)
        self.roots = np.sqrt(squares)

    def _christoffel(self, cells):
        """Christoffel matrices, (m, 3, 3), linear in the constants."""
        law = np.empty((len(self.area), 6, 6))
        for n, (a, b) in enumerate(zip(*UPPER)):
            law[:, a, b] = law[:, b, a] = cells[1 + n]
        return np.einsum("nIa,nIJ,nJb->nab", self.normals, law, self.normals, optimize=True)

    def _solved(self, right):
        """Return symmetric X (m, 3, 3) of Z X + X Z = right, times area."""
        inside = self.axes.transpose(0, 2, 1) @ right @ self.axes / (self.roots[:, :, None] + self.roots[:, None, :])
        return self.area[:, None, None] * (self.axes @ inside @ self.axes.transpose(0, 2, 1))

    def apply(self, changes):
        """See `Derivative.apply`."""
        moved = self.rho[:, None, None] * self._christoffel(changes)
        impedance = self._solved(changes[0][:, None, None] * self.gamma + moved)
        return [impedance[:, a, b] for a, b in faces.SIX]

    def transpose(self, by_rows):
        """See `Derivative.transpose`."""
        by_impedance = np.empty_like(self.gamma)
        for row, (a, b) in zip(by_rows, faces.SIX):
            by_impedance[:, a, b] = by_impedance[:, b, a] = row if a == b else row / 2
        by_square = self._solved(by_impedance)
        matrix = np.einsum("nIa,nab,nJb->nIJ", self.normals, by_square, self.normals, optimize=True)
        by_constants = self.rho[:, None] * matrix[:, UPPER[0], UPPER[1]] * TWICE
        return [(by_square * self.gamma).sum(axis=(1, 2)), *by_constants.T]
