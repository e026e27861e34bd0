"""The chain rule of gradients of a mesh with 21 constants at each node; see nodal.py.

An absorbing face has the impedance Z, Z^2 = rho Gamma, with the Christoffel matrix Gamma of its
normal: a change of the medium gives  Z dZ + dZ Z = d(rho Gamma),  solved in the axes of Z.

In a fluid c33 is the bulk modulus; the other constants have no part in it.

With attenuation the isotropic part of the constants relaxes, see `sampling.moduli`; steps have
unrelaxed constants. Qp and Qs stay. 1/Q of the bulk modulus follows from them and from the P and S
modulus, M and G, of the speeds that the model has beside its constants: c33 and c44 or, where it is
given by 21 constants, those of their isotropic mean (`Stiffness.speeds`),

    1/Q = (M / Qp - 4/3 G / Qs) / (M - 4/3 G)
"""

from functools import cached_property

import numpy as np

from craton.methods.spectral_element.adjoint.nodal import ChainRule, with_medium
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.sites import VOIGT
from craton.model.media import sampling

C33, C44 = 1 + sampling.NORMAL[2], 1 + sampling.SHEAR[0]  # behind density
UPPER = np.triu_indices(6)
# shear and bulk modulus of the isotropic part by the constants, see `sampling.moduli`
MODULI = np.zeros((2, len(sampling.SHEARING)))
MODULI[0, sampling.SHEAR] = 1 / 3
MODULI[1, sampling.CROSS] = 1 / 3
MODULI[1] += 2 / 3 * MODULI[0]
# P and S modulus of the isotropic mean (Voigt) by the constants
MEAN = np.zeros((2, len(sampling.SHEARING)))
MEAN[1, sampling.NORMAL], MEAN[1, sampling.CROSS], MEAN[1, sampling.SHEAR] = 1 / 15, -1 / 15, 1 / 5
MEAN[0, sampling.NORMAL], MEAN[0, sampling.CROSS] = 1 / 9, 2 / 9
MEAN[0] += 4 / 3 * MEAN[1]
NEAR = 1e-9  # relative: c33 and c44 are the moduli of the model's speeds
PATTERNS = sampling.SHEARING, sampling.SQUEEZING  # of shear and bulk modulus among the constants
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, 2.0)  # places that each constant has in the matrix


class ConstantsRule(ChainRule):
    """Masses, moduli and absorbing faces of a mesh by density and 21 constants of its nodes:
    cells are (rho, c11, c12, ..., c66), (ne, n^3) each.
    """

    BULK = C33

    def discretisation(self, cells):
        """See `ChainRule.discretisation`."""
        rho, constants = np.asarray(cells[0], float), np.stack(cells[1:], axis=1)
        values = self.d.nodal | self.speeds(cells) | {"rho": rho, "stiffness": constants}
        return with_medium(self.d, values, self.masses(rho, 1 / cells[C33]))

    def speeds(self, cells):
        """Return the speeds of a medium beside its constants, by name; of a solid those of the start."""
        of_fluid = np.sqrt(cells[C33] / cells[0])
        return {"vp": np.where(self._wet, of_fluid, self.d.nodal["vp"])}

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
        moved = np.einsum("nIa,nIJ,nJb->nab", normals, self._law(change, at), normals, optimize=True)
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
    """The same with attenuation, whose Qp and Qs stay."""

    def speeds(self, cells):
        """See `ConstantsRule.speeds`; of a solid those from which 1/Q of its bulk modulus follows."""
        vp, vs = (np.sqrt(modulus / cells[0]) for modulus in self._moduli_beside(cells))
        of_fluid = super().speeds(cells)["vp"]
        return {"vp": np.where(self._wet, of_fluid, vp), "vs": np.where(self._wet, 0.0, vs)}

    def gradient(self, cells, of_elements, of_points, of_faces):
        """See `ChainRule.gradient`; `of_elements` has 23 rows, of unrelaxed constants and of 1/Q of
        shear and bulk modulus.
        """
        growths, by_loss, by_beside = self._slopes(cells)
        by_unrelaxed = of_elements[:, : len(TWICE)]
        by_moduli = [np.einsum("r,ern->en", pattern, by_unrelaxed) for pattern in PATTERNS]
        by_constants = by_unrelaxed + sum(
            weights[:, None] * (grown * part)[:, None] for weights, grown, part in zip(MODULI, growths, by_moduli)
        )
        by_q = of_elements[:, -1] + by_loss * by_moduli[1]
        for slope, mean, alone in zip(by_beside, MEAN, (C33 - 1, C44 - 1)):
            part = slope * by_q
            by_constants[:, alone] += np.where(self._own, 0.0, part)
            part = np.where(self._own, part, 0.0)
            for n in np.flatnonzero(mean):
                by_constants[:, n] += mean[n] * part
        return super().gradient(cells, by_constants, of_points, of_faces)

    def changes(self, cells, change):
        """See `ChainRule.changes`; moduli have 23 rows, the last two of losses."""
        constants, masses, damping = super().changes(cells, change)
        growths, by_loss, by_beside = self._slopes(cells)
        moved = self._moduli_beside(change)
        of_bulk = sum(slope * modulus for slope, modulus in zip(by_beside, moved))
        parts = [grown * np.einsum("r,ern->en", weights, constants) for grown, weights in zip(growths, MODULI)]
        parts[1] = parts[1] + by_loss * of_bulk
        unrelaxed = constants + sum(pattern[:, None] * part[:, None] for pattern, part in zip(PATTERNS, parts))
        losses = np.stack([np.zeros_like(of_bulk), of_bulk], axis=1)
        return np.concatenate([unrelaxed, losses], axis=1), masses, damping

    @cached_property
    def _own(self):
        """Nodes whose speeds are those of the isotropic mean of their constants."""
        nodal, (c33, c44) = self.d.nodal, (self.d.nodal["stiffness"][:, n - 1] for n in (C33, C44))
        moduli = (nodal["rho"] * nodal[name] ** 2 for name in ("vp", "vs"))
        return np.any([abs(m - c) > NEAR * c33 for m, c in zip(moduli, (c33, c44))], axis=0)

    def _moduli_beside(self, cells):
        """P and S modulus of the speeds beside the constants of cells; linear."""
        return [np.where(self._own, combined(mean, cells), cells[alone]) for mean, alone in zip(MEAN, (C33, C44))]

    def _slopes(self, cells):
        """By how much shear and bulk modulus of the nodes are larger unrelaxed, relatively; the
        derivative of the unrelaxed bulk modulus by its 1/Q; those of that by P and S modulus of the
        speeds: (ne, n^3) arrays, 0 in fluids.
        """
        relaxation, rho = self.d.relaxation, cells[0]
        samples = self.d.nodal | self.speeds(cells) | {"rho": rho}
        stiff, shear = (rho * samples[name] ** 2 for name in ("vp", "vs"))
        of_p, of_s, loss = samples["loss_p"], samples["loss_s"], sampling.bulk(samples)
        kappa = stiff - 4 / 3 * shear
        slopes = (of_p - loss) / kappa, -4 / 3 * (of_s - loss) / kappa
        solid, lossy = ~self._wet, ~self._wet & (loss > 0)
        growths = [np.where(solid, relaxation.unrelaxed(q) - 1, 0.0) for q in (of_s, loss)]
        relaxing = combined(MODULI[1], cells)
        by_loss = np.where(lossy, relaxing * relaxation.unrelaxed_slope(loss), 0.0)
        return growths, by_loss, [np.where(lossy, slope, 0.0) for slope in slopes]


def combined(weights, cells):
    """Return the sum of weights, (21,), times the constants of cells."""
    return sum(weights[n] * cells[1 + n] for n in np.flatnonzero(weights))


def _solved(right, roots, axes):
    """Return symmetric X (m, 3, 3) of Z X + X Z = right, from the eigenvalues and axes of Z."""
    inside = axes.transpose(0, 2, 1) @ right @ axes / (roots[:, :, None] + roots[:, None, :])
    return axes @ inside @ axes.transpose(0, 2, 1)
