"""Rows of point tables in the units of the adjoint fields of transposed.py: what injects a residual where a row records,
and what samples the misfit's change where a row injects.

The law of a medium with attenuation (kernels/relax.h) is linear, does not change with time, and
couples the normal stresses of a point symmetrically; so is what the plane of a free surface makes
of it. It therefore commutes with the sum over time that makes stresses of stress rates: adjoint
stresses are the law of adjoint strains, and a residual enters both stresses and memory variables.
"""

import numpy as np

from craton.methods.finite_difference.equations import boundaries, laminate, relaxing, vti
from craton.methods.finite_difference.equations.scheme import HALF

NEAR = 1e-12  # of a modulus: what rounding leaves of a stiffness that vanishes


class PointRows:
    """Rows of a medium. Tables are (index, weight, column), as of `craton.methods.waves.adjoint.joined`.

    Parameters
    ----------
    medium : craton.methods.finite_difference.adjoint.sensitivity.Medium
    """

    def __init__(self, medium):
        self.medium, self.d = medium, medium.d
        if self.d.relaxing:
            self.mechanisms = relaxing.Mechanisms(self.d)
            self.losses = (vti if self.d.anisotropic else relaxing).inverse_q(self.d, self.d.grid)
            self.damping = boundaries.sponge_factors(self.d)  # what sponges multiply stresses by after each step

    def of_receivers(self, table):
        """Return the tables that inject a residual where a table records: into the fields, velocities times 1 / (rho H),
        stresses times -C / H; and into memory variables.
        """
        d, fields, variables = self.d, [], []
        for field, at, weight, column in self._by_field(table):
            weight = weight / self._norms(field, at)
            if field in d.velocity:
                fields.append((self._place(field, at), weight * inverted(self._density(field, at)), column))
            elif field not in d.normal:
                fields.append((self._place(field, at), -weight * self._shear_modulus(field, at), column))
                variables += self._driven(field, at, -weight, column)
            else:
                matrices, vertical = self._normal_moduli(field, at)
                fields += self._of_normals(field, at, -weight, column, matrices)
                variables += self._driven(field, at, -np.where(self._held(field, at), 0.0, weight), column)
                if d.relaxing and field != d.normal[-1]:
                    strain = vertical[:, d.normal.index(field)] * weight
                    variables += self._driven(d.normal[-1], at, strain, column)
        return _joined(fields), _joined(variables)

    def of_sources(self, table):
        """Return the table that samples what the misfit changes by where a table injects: of adjoint velocities times
        rho H, of stresses times -H C^-1. With attenuation rows of stresses sample the block of memory variables, for the
        strains from which adjoint stresses follow.
        """
        d, rows = self.d, []
        for field, at, weight, column in self._by_field(table):
            weight = weight * self._norms(field, at)
            if field in d.velocity:
                rows.append((self._place(field, at), weight * self._density(field, at), column))
            elif d.relaxing:
                rows += self._remembered(field, at, -weight, column)
            elif field not in d.normal:
                rows.append((self._place(field, at), -weight * inverted(self._shear_modulus(field, at)), column))
            else:
                # of a fluid: its pressure is shared out to all axes
                matrices = np.linalg.pinv(self._normal_moduli(field, at)[0], rcond=NEAR, hermitian=True)
                rows += self._of_normals(field, at, -weight, column, matrices)
        return _joined(rows)

    # --- the law at points ----------------------------------------------------------------------

    def _density(self, field, at):
        """Mean density of a velocity; 0 among air."""
        return self.medium.mean_of_points("rho", field, self.d.cell(at))

    def _shear_modulus(self, field, at):
        """Modulus of a shear stress for a strain over one step; 0 in a fluid."""
        cell, left = self.d.cell(at), 1.0
        if self.d.relaxing:
            corners = self.medium.beside(field, cell)
            loss = sum(self._inverse_q(1, corner) for corner in corners) / len(corners)
            left = relaxing.remainder(self.mechanisms.at(field, at), loss)
        modulus = self.medium.shear_modulus_left(field, cell, left)
        return modulus + laminate.at_points(self.d, at)[3] if field == "sxy" else modulus

    def _normal_moduli(self, field, at):
        """Matrices (points, n, n) from strains over one step to normal stresses at points; and the vertical strain over
        the others (points, n) on a traction-free plane, where its stress stays zero.
        """
        d, cell, left = self.d, self.d.cell(at), (1.0, 1.0)
        if d.relaxing:
            mechanisms = self.mechanisms.at(field, at)
            left = [relaxing.remainder(mechanisms, self._inverse_q(n, cell)) for n in range(2)]
        matrices = self.medium.stiffness_left(self.medium.cells_of(cell), *left)
        added = laminate.at_points(d, at)
        if added.any():
            matrices = matrices + laminate.stiffness(d, added)
        held = d.free & (at[0] == d.grid.shape[0] - 1)
        vertical = np.where(held[:, None], matrices[:, -1] * inverted(matrices[:, -1, -1])[:, None], 0.0)
        stiff = matrices[:, -1, -1, None, None]
        matrices = matrices - matrices[:, :, -1, None] * vertical[:, None, :]
        return np.where(abs(matrices) > NEAR * stiff, matrices, 0.0), vertical

    def _of_normals(self, field, at, weight, column, matrices):
        """Rows of all normal stresses that replace those of one, but for what stays zero on a traction-free plane."""
        rows, normal = [], self.d.normal
        for number, other in enumerate(normal):
            on = ~(self._held(field, at) | self._held(other, at))
            some = tuple(a[on] for a in at)
            rows.append((self._place(other, some), (matrices[:, number, normal.index(field)] * weight)[on], column[on]))
        return rows

    def _held(self, field, at):
        """Which points have no such normal stress: the vertical one, or the pressure, on a traction-free plane."""
        return self.d.free & (field == self.d.normal[-1]) & (at[0] == self.d.grid.shape[0] - 1)

    # --- memory variables -----------------------------------------------------------------------

    def _driven(self, field, at, strain, column):
        """Rows of the memory variables that a strain drives; none without attenuation."""
        if not self.d.relaxing:
            return []
        step, on = self.d.dt / self.d.grid.spacing, strain != 0
        at, strain, column = tuple(a[on] for a in at), strain[on], column[on]
        return [
            (self.mechanisms.place(n, field, at), (1 - constants[:, 0]) * strain / step, column)
            for n, constants in enumerate(self.mechanisms.at(field, at))
        ]

    def _remembered(self, field, at, weight, column):
        """Rows of a memory variable, and of its sum over time, that give an adjoint strain."""
        past = self.d.memory_variables * self.d.layout.field
        decay, place = self.mechanisms.at(field, at)[0][:, 0], self.mechanisms.place(0, field, at)
        weight = self.d.dt / self.d.grid.spacing * weight / (1 - decay)
        # in a sponge moments come after it, and the sum over time has gone through it
        return [(place, weight, column), (place + past, weight * (1 - decay / self.damping[at]), column)]

    def _inverse_q(self, number, cell):
        """1/Qp (0) or 1/Qs (1) at points or ghosts."""
        return np.asarray(self.losses[number])[self.medium.cells_of(cell)]

    # --- places ---------------------------------------------------------------------------------

    def _by_field(self, table):
        """Yield (field, (k, j, i), weight, column) of the rows of each field."""
        index, weight, column = (np.asarray(part) for part in table)
        layout = self.d.layout
        numbers = (index + layout.first) // layout.field
        for number in np.unique(numbers):
            on = numbers == number
            at = tuple(np.asarray(a) for a in layout.place(index[on]))
            yield self.d.fields[number], at, weight[on], column[on]

    def _place(self, field, at):
        """Places of points of a field in the state."""
        return self.d.start_of(field) + self.d.layout.offset(*at)

    def _norms(self, field, at):
        return self.d.norms(at[0], HALF[field][2])


def inverted(values):
    """Return 1 / values; 0 where they are 0 or infinite."""
    usable = (values != 0) & np.isfinite(values)
    out = np.where(usable, values, 1.0)
    np.divide(1.0, out, out=out)
    out *= usable
    return out


def _joined(rows):
    """Return tables as one, columns rising."""
    if not rows:
        return np.zeros(0, int), np.zeros(0), np.zeros(0, int)
    index, weight, column = (np.concatenate(part) for part in zip(*rows))
    order = np.argsort(column, kind="stable")
    return index[order], weight[order], column[order]
