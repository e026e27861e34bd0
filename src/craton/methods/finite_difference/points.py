"""Sources and receivers as point tables on the staggered grid: (index, weight, column) rows, sorted
by what they add to.

A force F in a cell of volume V adds dt F / (rho V) to velocity; a moment rate M' adds -dt M' / V to
stress (stress glut, Aki & Richards 2002, section 3.4). Sources are spread with the weights that
would interpolate a receiver there, divided by the norm of the scheme: exchanging source and
receiver then changes nothing but rounding.
"""

from dataclasses import replace

import numpy as np

from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.acoustic import isotropic
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves.interpolate import REACH, axis_weights, point_indices, point_weights, scattered_weights
from craton.methods.waves.tables import injection, table_of
from craton.survey import leapfrog
from craton.survey.catalogues import Catalogue
from craton.survey.faults import FiniteFault
from craton.survey.planes import PlaneWave

SEPARATE = FiniteFault | Catalogue  # sources with tables of their own
# Stress components of a symmetric tensor, by axes.
TENSOR = {"sxx": (0, 0), "syy": (1, 1), "szz": (2, 2), "sxy": (0, 1), "sxz": (0, 2), "syz": (1, 2)}
COMPONENT_AXES = {"EE": (0, 0), "NN": (1, 1), "ZZ": (2, 2), "EN": (0, 1), "EZ": (0, 2), "NZ": (1, 2)}


def place(d, xyz, shot=0):
    """Position in units of the spacing from the grid's first point, as given to 1e-6 of the
    spacing: no rounding of decimal numbers.

    In the plane, y counts shots.
    """
    x, y, z = (round((x - o) / h, 6) for x, o, h in zip(xyz, d.grid.origin, d.grid.steps.tolist()))
    return (x, shot if d.planar else y, z)


def nodes(d, field, position, derivative=None, vertical=None, fluid_first=False):
    """Index in the state, (k, j, i) and weight of the points of one field around a position, on its
    side of a contact of fluid and solid; on the contact that of the solid unless `fluid_first`.
    """
    around, limits, fluid = (position, d.half(field), d.shape, derivative, vertical), None, None
    if d.partly_fluid and vertical is None:
        fluid = bool(sides.in_fluid(d, [position], fluid_first)[0])
        if sides.flat_floor(d) is not None:
            limits = sides.limits(d, field, fluid, d.grid.shape[0] - 1 - d.half(field)[2])
    if (d.ground is not None or (fluid is not None and limits is None)) and reaches_other(
        d, field, point_indices(*around), fluid
    ):
        k, j, i, weights = own_points(d, field, position, derivative, fluid)
    else:
        k, j, i, weights = point_weights(*around, limits)
        if limits and field in ("sxz", "syz"):  # zero on the floor
            k, j, i, weights = (n[k != sides.flat_floor(d)] for n in (k, j, i, weights))
    return d.start_of(field) + d.layout.offset(k, j, i), (k, j, i), weights


def reaches_other(d, field, at, fluid):
    """Return True where some points (k, j, i) of a field do not lie wholly in matter, or not on the
    side of the fluid or of the solid.
    """
    cells = d.cell(at)
    # the cells of the points, and those behind them, whose mean the points carry
    box = [v for a, n in zip(cells, d.grid.shape) for v in (int(a.min()), min(int(a.max()) + 2, n))]
    use = usable_points(d, box, d.half(field), fluid)
    return not use[tuple(a - low for a, low in zip(cells, box[::2]))].all()


def own_points(d, field, position, derivative, fluid):
    """Return indices (k, j, i) of the points around a position that lie wholly in matter, on its
    side of fluid and solid, and weights fitted to them.
    """
    half = d.half(field)
    box = around_position(d, position)
    use = usable_points(d, box, half, fluid)
    k, j, i = (a + low for a, low in zip(np.nonzero(use), box[::2]))
    j = np.full_like(j, position[1]) if d.planar else j
    return k, j, i, scattered_weights(position, half, (k, j, i), derivative)


def around_position(d, position):
    """Box of grid points (k0, k1, j0, j1, i0, i1) around a position, as far as differences reach."""
    low = [max(int(np.floor(p)) - REACH, 0) for p in reversed(position)]
    box = [v for a, n in zip(low, d.grid.shape) for v in (min(a, n - 1), min(a + 2 * REACH + 2, n))]
    return box if not d.planar else [*box[:2], 0, 1, *box[4:]]


def usable_points(d, box, half, fluid=None):
    """Which points of a field in a box of the grid have matter in all the cells whose mean they
    carry, a velocity in one of them; with `fluid`, matter that is fluid, or solid.
    """
    # points at the end of the box have a cell behind it
    wider = [min(n + m % 2, d.grid.shape[m // 2]) for m, n in enumerate(box)]
    inside = tuple(slice(0, b - a) for a, b in zip(box[::2], box[1::2]))
    use = sides.of_cells(d.whole_box(wider), half) if d.ground is not None else True
    if fluid is not None:
        use = use & sides.own_points(d, wider, half, fluid)
    return use[inside]


def velocity_at(d, axis, position):
    """(axis of the field, index, (k, j, i), weight) rows whose sum is a velocity component at a
    position; forces use them, too.

    The vertical one on a free surface, where it has no points: the scheme's own extrapolation
    (closure.py), corrected by the vertical strain that keeps szz zero, -lambda / (lambda + 2 mu)
    (exx + eyy).
    """
    if not on_surface(d, axis, position):
        yield axis, *nodes(d, VELOCITY[axis], position)
        return
    surface = d.closure.surface
    first = d.grid.shape[0] - 1 - len(surface)
    yield 2, *nodes(d, "vz", position, vertical=(first, surface[::-1]))
    ratio = material.vertical_strain(d, surface_cell(d, position))[0]
    for a, index, at, weights in surface_strain(d, position):
        yield a, index, at, ratio * weights


def on_surface(d, axis, position):
    """Return True for a vertical velocity on a free surface, where it has no points."""
    return axis == 2 and d.free and abs(position[2] - (d.grid.shape[0] - 1)) <= 1e-6


def surface_cell(d, position):
    """Index (k, j, i), arrays of one, of the cell whose vertical strain corrects a velocity on a
    free surface.
    """
    return [np.full(1, v) for v in (d.grid.shape[0] - 1, round(position[1]), round(position[0]))]


def surface_strain(d, position):
    """(axis of the field, index, (k, j, i), weight) rows whose sum, times `vertical_strain`, is the
    correction of a vertical velocity on a free surface.
    """
    on_top = (*position[:2], float(d.grid.shape[0] - 1))
    for a in d.horizontal:
        index, at, weights = nodes(d, VELOCITY[a], on_top, derivative=a)
        yield a, index, at, -d.closure.hp[0] * d.rise * weights


def force_rows(d, source):
    """(index, weight) of a point force, to be multiplied by its wavelet."""
    if isinstance(source, PlaneWave):
        yield from plane_rows(d, source)
        return
    for component, force in enumerate(source.force):
        if force and VELOCITY[component] in d.fields:
            for axis, index, at, weights in velocity_at(d, component, place(d, source.xyz, source.shot)):
                mass = averaged_density(d, at, axis) * d.volume * d.norms(at[0], d.half(VELOCITY[axis])[2])
                yield index, d.dt * force * weights / mass


def averaged_density(d, at, axis):
    """Density where a velocity component is: mean of its two neighbours along the axis, as in the
    kernel.
    """
    at = d.cell(at)
    box = [v for a in at for v in (int(a.min()), int(a.max()) + 1)]
    box[2 * (2 - axis) + 1] += 1
    low, (rho, _, _) = material.around(
        d, [min(v, n) if high else v for v, n, high in zip(box, np.repeat(d.grid.shape, 2), (0, 1) * 3)]
    )
    here = [a - start for a, start in zip(at, low)]
    after = [np.minimum(a + (m == 2 - axis), n - 1) for m, (a, n) in enumerate(zip(here, rho.shape))]
    return (rho[tuple(here)] + rho[tuple(after)]) / 2


def moment_rows(d, source, fluid_first=None):
    """(index, weight) of a moment tensor, to be multiplied by its moment rate.

    szz is held at zero on a free surface: there, what Mzz would add appears in the horizontal
    normal stresses. Pressure is, too. On a contact a tensor without shear acts on the fluid, unless
    `fluid_first` says otherwise.
    """
    if fluid_first is None:
        fluid_first = sides.isotropic(d, source.moment)
    glut = (
        {"s": isotropic(source.moment, d.planar)}
        if d.acoustic
        else {f: source.moment[axes] for f, axes in TENSOR.items()}
    )
    for field, moment in glut.items():
        if moment == 0 or field not in d.fields:
            continue
        index, at, weights = nodes(d, field, place(d, source.xyz, source.shot), fluid_first=fluid_first)
        weights = -d.dt / d.volume * moment * weights / d.norms(at[0], d.half(field)[2])
        top = d.free & (at[0] == d.grid.shape[0] - 1) if field in ("szz", "s") else np.zeros(len(index), bool)
        yield index[~top], weights[~top]
        if top.any() and not d.acoustic:
            ratio = -material.vertical_strain(d, [a[top] for a in at])
            for other in (f for f in ("sxx", "syy") if f in d.fields):
                yield (d.start_of(other) + d.layout.offset(*(a[top] for a in at)), ratio * weights[top])


def plane_rows(d, source):
    """(index, weight) of a plane wave: the same force on every point of its plane, spread along z
    only.

    A force F per area adds dt F / (rho h) to velocity; density cancels, since F is 2 rho c v
    (`craton.survey.planes`).
    """
    position = place(d, source.xyz)
    nz, ny, nx = d.grid.shape
    for axis, force in enumerate(source.force):
        if force and VELOCITY[axis] in d.fields:
            half = d.half(VELOCITY[axis])[2]
            first, weights = axis_weights(position[2] - half / 2, 0, nz - 1 - half)
            k = first + np.arange(len(weights))
            weights = d.dt * force / d.grid.steps[2] * weights / d.norms(k, half)
            k, j, i = (a.ravel() for a in np.meshgrid(k, np.arange(ny), np.arange(nx), indexing="ij"))
            yield d.start_of(VELOCITY[axis]) + d.layout.offset(k, j, i), np.repeat(weights, nx * ny)


def sources(d, point_sources):
    """Arrays and launches that inject forces (velocity phase) and moments (stress phase), both by
    column of their own series.

    Also the highest frequency that a source carries, Hz; infinite without sources. Series are those
    that make up for the leapfrog.
    """
    arrays, launches, bands = {}, {}, []
    for phase, rows_of, chosen, shift in (
        ("velocity", force_rows, [s for s in point_sources if s.force is not None], 0.0),
        (
            "stress",
            moment_rows,
            [s for s in point_sources if s.moment is not None and not isinstance(s, SEPARATE)],
            0.5,
        ),
    ):
        if chosen:
            times = d.start + (np.arange(d.steps) + shift) * d.dt
            series = np.stack([s.wavelet(times) for s in chosen], axis=1)
            rows = [
                (index, weight, np.full(len(index), n)) for n, s in enumerate(chosen) for index, weight in rows_of(d, s)
            ]
            table = table_of(*(np.concatenate(part) for part in zip(*rows)))
            more, launch = injection(phase, table, leapfrog.for_leapfrog(series, d.dt, shift), d.precision)
            arrays |= more
            bands.append(leapfrog.band(series, d.dt))
            launches[phase] = replace(launch, places=d.layout.place(table[0]))
    return arrays, launches, max(bands, default=np.inf)
