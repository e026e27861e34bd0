"""Level pieces of sea floor, two columns and more: vertical differences of tangential motion and
traction, closed where solid meets fluid.

The tangential traction vanishes at the contact and the tangential velocity jumps there: differences
that reach across it are in error to first order, which makes a Scholte wave 0.6 % too fast at 15
points per wavelength (order 4). Setting, in units of the spacing from the contact into the solid,
half a cell above its highest integer point: integer points 1/2, 3/2, ... (vx, vy), half points 0,
1, 2, ... (sxz, syz; zero at 0). D1 = B differentiates half -> integer, D2 = -B^T integer -> half,
with all norms 1, so that the operator stays skew-adjoint and energy is conserved whatever the
columns beside it do. Only the first rows and columns of B differ from the plain stencil. Each
column sums to what makes D2 exact for constants; what stays free was fitted to the modes of a layer
at 7 to 50 points per wavelength, with Vp/Vs 1.5, 1.73 and 3.

Without it the far weights tie the water above the contact to the shear stress below: eddies of the
water, which have no stiffness, get a little and swing at low frequencies, seen to grow in CPML
layers. At the steps between level pieces they still have some.
"""

from itertools import chain

import numpy as np

from craton.core.plan import Array, Launch
from craton.methods.finite_difference import operators, relaxing
from craton.methods.finite_difference.boundaries import slab_params
from craton.methods.finite_difference.laminate import inner_planes
from craton.methods.finite_difference.material import cells
from craton.model.media.cells import in_order

NOWHERE = -1000000  # a plane far below the grid
CHUNK = 16  # planes looked at a time

# B, its first column (traction on the contact, zero) left out, by order of the vertical
# differences.
BLOCKS = {
    4: ((0.9640, -0.1869), (-0.9065, 1.3707), (-0.0575, -1.2255)),
    8: (
        (1.1258, -0.1799, -0.1614, 0.0230),
        (-0.9989, 1.2295, -0.0314, 0.0701),
        (0.2973, -1.0455, 0.9635, -0.0143),
        (-0.2170, 0.0035, -1.0431, 1.0452),
        (-0.2072, -0.0083, 0.2812, -1.1949),
    ),
}


def block(weights):
    """Return what B has more than the plain differences, (points above + rows, rows); None where
    there is no table.

    Its first rows are the integer points above the contact that plain differences tie to the half
    points below it.
    """
    table = BLOCKS.get(2 * len(weights))
    if table is None:
        return None
    rows = len(table)
    plain = np.zeros((rows, rows))
    for n, c in enumerate(weights, 1):
        plain += c * (np.eye(rows, rows, n) - np.eye(rows, rows, 1 - n))
    closed = np.zeros((rows, rows))
    closed[:, 1:] = table
    closed[:, 1:] += columns_to_constants(closed, plain, weights)
    plain[:, 0] = 0
    above = range(1 - len(weights), 0)
    over = np.array(
        [
            [weights[c - r - 1] if c > 0 and c - r <= len(weights) else 0.0 for c in range(rows)]
            for r in above
        ]
    )
    return np.vstack([-over.reshape(-1, rows), closed - plain])


def columns_to_constants(closed, plain, weights):
    """Return what rounding of the table left: the last row takes it, so that constants have no
    difference.
    """
    rows = len(closed)
    full = np.zeros((rows + len(weights), rows))
    for n, c in enumerate(weights, 1):
        full += c * (np.eye(*full.shape, n) - np.eye(*full.shape, 1 - n))
    rest = np.zeros((rows, rows - 1))
    rest[-1] = -(closed[:, 1:].sum(0) + full[rows:, 1:].sum(0))
    return rest


def contact(d):
    """Arrays and launches of both steps; none where no flat contact of solid under fluid lies in
    the grid.
    """
    floor, added = level_floor(d), block(d.stencil.vertical)
    if floor is None:
        return {}, {}
    low, high = reached(floor, len(added), d.reach)
    box = d.slab(2, low, high)
    velocity = operators.contact_velocity(d.stencil, added)
    stress = operators.contact_stress(d.stencil, added, d.relaxing)
    params = slab_params(d, d.box)
    launches = {
        "velocity": [Launch(velocity, d.names(*velocity.arrays), box, params)],
        "stress": [Launch(stress, d.names(*stress.arrays), box, relaxing.params(d, params))],
    }
    table = np.stack(
        [floor - (d.grid.shape[0] - 1), *(floor == beside(floor, axis) for axis in (1, 0))]
    ).astype(np.int32)
    return {
        "floor": Array("material", table.shape, np.int32, table, over=(None, ("y", 0), ("x", 0)))
    }, launches


def level_floor(d):
    """Return the highest solid plane of each column to which something is added, else `NOWHERE`:
    (ny, nx); None where there is no such column.
    """
    if "floor" not in d.contacts:
        d.contacts["floor"] = search_floor(d)
    return d.contacts["floor"]


def search_floor(d):
    """Return what `level_floor` keeps."""
    added = block(d.stencil.vertical)
    if added is None or d.motion == "SH" or not d.partly_fluid:
        return None
    floor = unvaried(d, highest_solid(d))
    inner = inner_planes(d)
    floor[(floor - len(added) < inner.start) | (floor + d.reach >= inner.stop)] = NOWHERE
    return None if (floor == NOWHERE).all() else floor


def reached(floor, rows, reach):
    """Planes (first, last + 1) to which something is added; ranks keep them, and those that are
    read from there, together.
    """
    return int(floor[floor != NOWHERE].min()) - rows + 1, int(floor.max()) + reach


def beside(floor, axis):
    """Of each column that of the next one along an axis; its own in the last one."""
    return np.concatenate(
        [np.take(floor, range(1, floor.shape[axis]), axis), np.take(floor, [-1], axis)], axis
    )


def unvaried(d, floor):
    """Return the same with the columns at the inner edge of CPML layers within these: the medium
    does not vary along their normal there.
    """
    for axis in d.horizontal:
        first, last = d.unstretched(axis)
        floor = np.take(floor, np.clip(np.arange(floor.shape[1 - axis]), first, last - 1), 1 - axis)
    return floor


def highest_solid(d):
    """Highest solid plane of each column where all below is solid and the cell above is a fluid,
    else `NOWHERE`: (ny, nx).
    """
    nz, ny, nx = d.grid.shape
    top, above, count = (np.zeros(d.grid.shape[1:], np.int32) for _ in range(3))

    def matter(k0):
        rho, _, mu = cells(d, d.grid.window((k0, min(k0 + CHUNK, nz), 0, ny, 0, nx)))
        return zip(mu > 0, rho > 0)

    planes = chain.from_iterable(in_order(matter, range(0, nz, CHUNK)))
    for k, (solid, filled) in enumerate(planes):
        above = np.where((top == k - 1) & ~solid, filled, above)
        top, count = np.where(solid, k, top), count + solid
    return np.where((above > 0) & (count == top + 1), top, NOWHERE).astype(np.int32)
