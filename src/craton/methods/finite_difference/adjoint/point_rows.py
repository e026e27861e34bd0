"""Rows of point tables in gradients: in the units of the adjoint fields of transposed.py, what injects a residual where a row
records and samples the misfit's change where a row injects; and which rows depend on the medium, and how.

The law of a medium with attenuation (kernels/relax.h) is linear, does not change with time, and
couples the normal stresses of a point symmetrically; so is what the plane of a free surface makes
of it. It therefore commutes with the sum over time that makes stresses of stress rates: adjoint
stresses are the law of adjoint strains, and a residual enters both stresses and memory variables.

Rows depend on two ratios: the vertical strain below a traction-free surface, c13 / c33, of vertical receivers and forces and of
moments on the highest plane; and the share of pressure that the normal stresses in the (x, z) plane stand for. The density in the
rows of forces needs nothing here: it is that of the increments (increments.h).
"""

from dataclasses import dataclass

import numpy as np

from craton.methods.finite_difference import points
from craton.methods.finite_difference.equations import boundaries, laminate, material, relaxing, vti
from craton.methods.finite_difference.equations.scheme import HALF, VELOCITY
from craton.methods.finite_difference.space import averaged_density
from craton.methods.waves.adjoint import Derivative

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
        vertical = np.where(self._on_top(at)[:, None], matrices[:, -1] * inverted(matrices[:, -1, -1])[:, None], 0.0)
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
        return (field == self.d.normal[-1]) & self._on_top(at)

    def _on_top(self, at):
        """Which points lie on a traction-free plane."""
        return self.d.free & (at[0] == self.d.grid.shape[0] - 1)

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


# --- rows that depend on the medium -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column whose rows depend on a ratio of one cell's moduli.

    Parameters
    ----------
    column : int
        Of the record, or of the sources that act in a half step.
    ratio : str
        ``"vertical strain"``, ``"pressure"`` or, of one normal stress in an anisotropic medium,
        ``"pressure sxx"`` and ``"pressure szz"``.
    cell : tuple of int
        (k, j, i).
    rows : (index, weight)
        What the rows change by where the ratio changes by 1.
    """

    column: int
    ratio: str
    cell: tuple
    rows: tuple


def derivative(ratio, *moduli):
    """Return the derivatives of a ratio by moduli, 1/Pa, none by shear moduli that are 0: list of arrays.

    Parameters
    ----------
    ratio : str
        See `Dependence`.
    *moduli : (n,) arrays
        Bulk and shear modulus, or c11, c13, c33, c44, c66, Pa.
    """

    def function(part, *values):
        if ratio == "vertical strain":
            return [material.vertical_strain_of(*values)]
        return [material.trace_share_of(ratio.removeprefix("pressure").strip(), *values)]

    slopes = Derivative(function, moduli).transpose([np.ones_like(moduli[0])])
    shear = (1,) if len(moduli) == 2 else (3, 4)
    return [np.where(moduli[n] == 0, 0.0, slope) if n in shear else slope for n, slope in enumerate(slopes)]


def dependences_of_receivers(d, channels, receivers):
    """Return the list of `Dependence` of recorded channels.

    Parameters
    ----------
    d : Discretisation
    channels : list of Channel
    receivers : Receivers
    """
    out = []
    for column, channel in enumerate(channels):
        if channel.terms:
            for xyz, axis, factor in channel.terms:
                if VELOCITY[axis] in d.fields:
                    out += _vertical(d, column, axis, _position(d, xyz), factor)
            continue
        position = _position(d, receivers.xyz[channel.receiver], channel.shot)
        if channel.quantity == "velocity":
            out += _vertical(d, column, "ENZ".index(channel.component), position, 1.0)
        elif channel.quantity == "pressure" and d.planar and not d.acoustic:
            out += _pressure(d, column, position)
    return out


def _position(d, xyz, shot=0):
    """Position in spacings."""
    return tuple(points.positions_of(d, [xyz], shot)[0].tolist())


def _on_surface(d, position):
    """Return True where the vertical velocity has no points."""
    return bool(points.on_surface(d, np.array([position]))[0])


def _surface_strain(d, position):
    """Yield (axis of the field, index, (k, j, i), weight) rows whose sum, times the vertical strain, is the vertical velocity above that
    of the highest points.
    """
    on_top = (*position[:2], float(d.grid.shape[0] - 1))
    for a in d.horizontal:
        index, at, weights = points.nodes(d, VELOCITY[a], on_top, derivative=a)
        yield a, index, at, -d.closure.hp[0] * d.rise * weights


def _vertical(d, column, axis, position, factor):
    """Dependence of a velocity component at a position, times a factor."""
    if axis != 2 or not _on_surface(d, position):
        return []
    parts = [(index, factor * w) for _, index, _, w in _surface_strain(d, position)]
    rows = tuple(np.concatenate(part) for part in zip(*parts))
    return [Dependence(column, "vertical strain", _cell(d, position), rows)]


def _cell(d, position):
    """Index (k, j, i) of the cell below a position on a free surface."""
    at = [np.full(1, v) for v in (d.grid.shape[0] - 1, round(position[1]), round(position[0]))]
    return tuple(int(v[0]) for v in d.cell(at))


def _pressure(d, column, position):
    """Dependences of the pressure in the plane, one for each point."""
    parts = [points.nodes(d, field, position, fluid_first=True) for field in d.normal]
    groups = {"pressure": parts}
    if d.anisotropic:  # each normal stress has a share of its own
        groups = {f"pressure {field}": [part] for field, part in zip(d.normal, parts)}
    cells = [tuple(map(int, cell)) for cell in zip(*d.cell(parts[0][1]))]
    return [
        Dependence(
            column, ratio, cell, (np.array([index[n] for index, *_ in group]), np.full(len(group), -group[0][2][n]))
        )
        for ratio, group in groups.items()
        for n, cell in enumerate(cells)
    ]


def dependences_of_forces(d, sources):
    """Return the list of `Dependence` of forces, columns counted in the order of those sources.

    Parameters
    ----------
    d : Discretisation
    sources : list of PointSource
        Those with a force.
    """
    out = []
    for column, source in enumerate(sources):
        position = _position(d, source.xyz, source.shot)
        force = source.force[2]
        if not force or "vz" not in d.fields or not _on_surface(d, position):
            continue
        parts = []
        for axis, index, at, weights in _surface_strain(d, position):
            norms = d.norms(at[0], d.half(VELOCITY[axis])[2])
            mass = averaged_density(d, at, axis) * d.volume * norms
            parts.append((index, d.dt * force * weights / mass))
        rows = tuple(np.concatenate(part) for part in zip(*parts))
        out.append(Dependence(column, "vertical strain", _cell(d, position), rows))
    return out


def dependences_of_moments(d, sources):
    """Return the list of `Dependence` of moments on the highest plane below a free surface; see `GridSpace.moments`.

    Parameters
    ----------
    d : Discretisation
    sources : list of PointSource
        Those with a moment.
    """
    out, horizontal = [], [f for f in ("sxx", "syy") if f in d.fields]
    for column, source in enumerate(sources):
        if not (d.free and source.moment[2, 2] and "szz" in d.fields):
            continue
        position = _position(d, source.xyz, source.shot)
        index, at, weights = points.nodes(d, "szz", position)
        weights = d.dt / d.volume * source.moment[2, 2] * weights / d.norms(at[0], 0)
        for n in np.flatnonzero(at[0] == d.grid.shape[0] - 1):
            point = tuple(int(a[n]) for a in at)
            place = d.layout.offset(*point)
            rows = (np.array([d.start_of(f) + place for f in horizontal]), np.full(len(horizontal), weights[n]))
            cell = tuple(int(v) for v in d.cell(point))
            out.append(Dependence(column, "vertical strain", cell, rows))
    return out


def by_moduli(dependences, values, cells):
    """Return dJ/d(moduli) of the cells from dJ/d(ratio) of each dependence.

    Parameters
    ----------
    dependences : list of Dependence
    values : sequence of float
        dJ/d(ratio).
    cells : (rho, kappa, mu) or (rho, c11, c13, c33, c44, c66)
        (nz, ny, nx) each.
    """
    out = np.zeros((len(cells) - 1, *np.shape(cells[0])))
    for at, numbers, slopes in _slopes(dependences, cells):
        for by_modulus, slope in zip(out, slopes):
            np.add.at(by_modulus, at, slope * np.asarray(values)[numbers])
    return out


def changes_of_ratios(dependences, by, cells):
    """Return by how much each ratio changes where the moduli of the cells do: the transpose of `by_moduli`.

    Parameters
    ----------
    dependences : list of Dependence
    by : sequence of (nz, ny, nx) arrays
        Changes of the moduli, Pa.
    cells : (rho, kappa, mu) or (rho, c11, c13, c33, c44, c66)
    """
    out = np.zeros(len(dependences))
    for at, numbers, slopes in _slopes(dependences, cells):
        out[numbers] = sum(slope * np.asarray(change)[at] for slope, change in zip(slopes, by))
    return out


def _slopes(dependences, cells):
    """Yield cells (k, j, i), numbers and derivatives by the moduli of the dependences on each ratio."""
    for ratio in sorted({dependence.ratio for dependence in dependences}):
        numbers = [n for n, dependence in enumerate(dependences) if dependence.ratio == ratio]
        at = tuple(np.array([dependences[n].cell for n in numbers]).T)
        yield at, numbers, derivative(ratio, *(np.asarray(modulus, float)[at] for modulus in cells[1:]))
