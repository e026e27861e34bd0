"""The chain rule of gradients of a mesh with 21 constants at each node; see nodal.py.

An absorbing face has the impedance Z, Z^2 = rho Gamma, with the Christoffel matrix Gamma of its
normal: a change of the medium gives  Z dZ + dZ Z = d(rho Gamma),  solved in the axes of Z.

In a fluid c33 is the bulk modulus; the other constants have no part in it.

With attenuation the isotropic part of the constants relaxes, see `sampling.moduli`; steps have
unrelaxed constants. Qp and Qs stay. 1/Q of the bulk modulus follows from them and from the speeds
that the model has beside its constants: those of c33 and c44 or, where it is given by 21 constants,
those of their isotropic mean (`Stiffness.speeds`).
"""

from functools import cached_property

import numpy as np

from craton.methods.spectral_element.adjoint.nodal import LOSSES, ChainRule, speeds
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.sites import VOIGT
from craton.model.media import sampling

C33, C44 = 1 + sampling.NORMAL[2], 1 + sampling.SHEAR[0]  # behind density
UPPER = np.triu_indices(6)
# P and S modulus of the isotropic mean (Voigt) by the constants
MEAN = np.zeros((2, len(sampling.SHEARING)))
MEAN[1, sampling.NORMAL], MEAN[1, sampling.CROSS], MEAN[1, sampling.SHEAR] = 1 / 15, -1 / 15, 1 / 5
MEAN[0, sampling.NORMAL], MEAN[0, sampling.CROSS] = 1 / 9, 2 / 9
MEAN[0] += 4 / 3 * MEAN[1]
NEAR = 1e-9  # relative: c33 and c44 are the moduli of the model's speeds
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, 2.0)  # places that each constant has in the matrix


class ConstantsRule(ChainRule):
    """Masses, moduli and absorbing faces of a mesh by density and 21 constants of its nodes:
    cells are (rho, c11, c12, ..., c66), (ne, n^3) each.
    """

    BULK = C33

    def medium(self, part, rho, *constants):
        """See `ChainRule.medium`."""
        own, wet = self._own[part], self.d.fluid[part][:, None]
        means = (sum(w * constants[n] for n, w in enumerate(mean) if w) for mean in MEAN)
        alone = constants[C33 - 1], np.where(wet, 0.0, constants[C44 - 1])
        stiff, shear = (np.where(own & ~wet, mean, modulus) for mean, modulus in zip(means, alone))
        losses = {name: self.d.nodal[name][part] for name in LOSSES if self.relaxation}
        return speeds(rho, stiff - 4 / 3 * shear, shear) | losses | {"stiffness": np.stack(constants, axis=1)}

    @cached_property
    def _own(self):
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
