"""Rows of point tables that depend on the medium, and how: what gradients need beside the steps.

Two ratios enter: the vertical strain below a traction-free surface, c13 / c33, of vertical
receivers and forces and of moments on the highest plane; and the share of pressure that the normal
stresses in the (x, z) plane stand for. The density in the rows of forces needs nothing here: it is
that of the increments (increments.h).
"""

from dataclasses import dataclass

import numpy as np

from craton.methods.finite_difference import points
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.finite_difference.space import averaged_density
from craton.methods.waves.adjoint import Derivative


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


def of_receivers(d, channels, receivers):
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


def of_forces(d, sources):
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


def of_moments(d, sources):
    """Return the list of `Dependence` of moments on the highest plane below a free surface; see
    `GridSpace.moments`.

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


def changes(dependences, by, cells):
    """Return by how much each ratio changes where the moduli of the cells do: the transpose of
    `by_moduli`.

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
