"""The chain rule of gradients of a mesh with 21 constants at each node; see nodal.py.

An absorbing face has the impedance Z, Z^2 = rho Gamma, with the Christoffel matrix Gamma of its
normal: a change of the medium gives  Z dZ + dZ Z = d(rho Gamma),  solved in the axes of Z.

In a fluid c33 is the bulk modulus; the other constants have no part in it.

With attenuation the isotropic part of the constants relaxes, see `sampling.moduli`, and Q of its
moduli stays; steps have unrelaxed constants.
"""

from functools import cached_property

import numpy as np

from craton.methods.spectral_element import faces
from craton.methods.spectral_element.nodal import ChainRule, with_medium
from craton.methods.spectral_element.sites import VOIGT
from craton.model.media import sampling

C33, C44 = 1 + sampling.NORMAL[2], 1 + sampling.SHEAR[0]  # behind density
UPPER = np.triu_indices(6)
# shear and bulk modulus of the isotropic part by the constants, see `sampling.moduli`
MODULI = np.zeros((2, len(sampling.SHEARING)))
MODULI[0, sampling.SHEAR] = 1 / 3
MODULI[1, sampling.CROSS] = 1 / 3
MODULI[1] += 2 / 3 * MODULI[0]
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, 2.0)  # places that each constant has in the matrix


class ConstantsRule(ChainRule):
    """Masses, moduli and absorbing faces of a mesh by density and 21 constants of its nodes:
    cells are (rho, c11, c12, ..., c66), (ne, n^3) each.
    """

    BULK = C33

    def discretisation(self, cells):
        """See `ChainRule.discretisation`."""
        d, rho = self.d, np.asarray(cells[0], float)
        vp = np.where(self._wet, np.sqrt(cells[C33] / rho), d.nodal["vp"])
        values = d.nodal | {"rho": rho, "vp": vp, "stiffness": np.stack(cells[1:], axis=1)}
        return with_medium(d, values, self.masses(rho, 1 / cells[C33]))

    @property
    def _wet(self):
        """Elements of fluids, (ne, 1)."""
        return self.d.fluid[:, None]

    def _as_fluid(self, cells):
        """Return (rho, kappa, mu) of cells, as `ChainRule` has them, good in fluids."""
        return cells[0], cells[C33], np.zeros_like(cells[0])

    def gradient(self, cells, of_elements, of_points, of_faces):
        """See `ChainRule.gradient`; `of_elements` has 21 rows."""
        wet, fluid_cells = self._wet, self._as_fluid(cells)
        by_fluid = self._of_volumes(*fluid_cells[:2], of_elements, of_points)
        if self.absorbing[True] is not None:
            self._add_faces(by_fluid, fluid_cells, of_faces[1], True)
        by_density = by_fluid[0]
        by_constants = np.where(wet[:, None], 0.0, of_elements)
        by_constants[:, C33 - 1] += np.where(wet, by_fluid[1], 0.0)
        if self.absorbing[False] is not None:
            self._add_constants(by_density, by_constants, cells, of_faces[0])
        return (by_density, *by_constants.transpose(1, 0, 2))

    def _add_constants(self, by_density, by_constants, cells, by_damping):
        """Add what the misfit changes by with the impedances of the absorbing faces."""
        (element, node), place, _, area, _ = self.absorbing[False]
        rho, gamma, normals, roots, axes = self._christoffel(cells)
        six = by_damping[:, place]
        by_impedance = np.empty((len(area), 3, 3))
        for row, (a, b) in zip(six, faces.SIX):
            by_impedance[:, a, b] = by_impedance[:, b, a] = row if a == b else row / 2
        by_square = area[:, None, None] * _solved(by_impedance, roots, axes)
        np.add.at(by_density, (element, node), (by_square * gamma).sum(axis=(1, 2)))
        matrix = np.einsum("nIa,nab,nJb->nIJ", normals, by_square, normals, optimize=True)
        change = rho[:, None] * matrix[:, UPPER[0], UPPER[1]] * TWICE
        np.add.at(by_constants, (element, slice(None), node), change)

    def changes(self, cells, change):
        """See `ChainRule.changes`; moduli have 21 rows."""
        fluid_cells, fluid_change = self._as_fluid(cells), self._as_fluid(change)
        wet, constants = self._wet, np.stack(change[1:], axis=1)
        constants = np.where(wet[:, None], 0.0, constants)
        constants[:, 0] += np.where(wet, -change[0] / cells[0] ** 2, 0.0)
        masses = self.masses(change[0], -change[C33] / cells[C33] ** 2)
        of_fluid = self._damping(fluid_cells, fluid_change, True)
        return constants, masses, [self._change_of_faces(cells, change), of_fluid]

    def _change_of_faces(self, cells, change):
        """Change of the damping of the absorbing points, (6, m)."""
        if self.absorbing[False] is None:
            return None
        at, place, count, area, _ = self.absorbing[False]
        rho, gamma, normals, roots, axes = self._christoffel(cells)
        moved = np.einsum(
            "nIa,nIJ,nJb->nab", normals, self._law(change, at), normals, optimize=True
        )
        square = change[0][at][:, None, None] * gamma + rho[:, None, None] * moved
        impedance = area[:, None, None] * _solved(square, roots, axes)
        return np.stack([np.bincount(place, impedance[:, a, b], count) for a, b in faces.SIX])

    def _law(self, cells, at):
        """Hooke's law at the nodes of absorbing faces, (m, 6, 6)."""
        law = np.empty((len(at[0]), 6, 6))
        for n, (a, b) in enumerate(zip(*UPPER)):
            law[:, a, b] = law[:, b, a] = cells[1 + n][at]
        return law

    def _christoffel(self, cells):
        """Return at the nodes of absorbing faces: density; Christoffel matrix; matrices (6, 3) from
        axes to rows of Hooke's law; eigenvalues and axes of the impedance of a unit area.
        """
        at, _, _, _, normal = self.absorbing[False]
        normals = np.zeros((len(normal), 6, 3))
        for a in range(3):
            for b in range(3):
                normals[:, VOIGT[a, b], a] += normal[:, b]
        gamma = np.einsum("nIa,nIJ,nJb->nab", normals, self._law(cells, at), normals, optimize=True)
        rho = cells[0][at]
        squares, axes = np.linalg.eigh(rho[:, None, None] * gamma)
        return rho, gamma, normals, np.sqrt(squares), axes


class RelaxingConstantsRule(ConstantsRule):
    """The same with attenuation, whose Q stays."""

    def gradient(self, cells, of_elements, of_points, of_faces):
        """See `ChainRule.gradient`; `of_elements` has 23 rows, of unrelaxed constants and of 1/Q of
        shear and bulk modulus.
        """
        by_unrelaxed = of_elements[:, : len(TWICE)]
        by_moduli = [
            grown * np.einsum("r,ern->en", pattern, by_unrelaxed)
            for grown, pattern in zip(self._growths, (sampling.SHEARING, sampling.SQUEEZING))
        ]
        by_constants = by_unrelaxed + sum(
            weights[:, None] * part[:, None] for weights, part in zip(MODULI, by_moduli)
        )
        return super().gradient(cells, by_constants, of_points, of_faces)

    def changes(self, cells, change):
        """See `ChainRule.changes`; moduli have 23 rows, the last two of losses."""
        constants, masses, damping = super().changes(cells, change)
        patterns = sampling.SHEARING, sampling.SQUEEZING
        unrelaxed = constants + sum(
            pattern[:, None] * (grown * np.einsum("r,ern->en", weights, constants))[:, None]
            for grown, weights, pattern in zip(self._growths, MODULI, patterns)
        )
        losses = np.zeros((len(constants), 2, constants.shape[2]))
        return np.concatenate([unrelaxed, losses], axis=1), masses, damping

    @cached_property
    def _growths(self):
        """By how much shear and bulk modulus of the nodes are larger unrelaxed, relatively, 0 in
        fluids: two (ne, n^3) arrays.
        """
        nodal = self.d.nodal
        losses = nodal["loss_s"], sampling.bulk(nodal)
        growths = [self.d.relaxation.unrelaxed(loss) - 1 for loss in losses]
        return [np.where(self._wet, 0.0, growth) for growth in growths]


def _solved(right, roots, axes):
    """Return symmetric X (m, 3, 3) of Z X + X Z = right, from the eigenvalues and axes of Z."""
    inside = axes.transpose(0, 2, 1) @ right @ axes / (roots[:, :, None] + roots[:, None, :])
    return axes @ inside @ axes.transpose(0, 2, 1)
