"""The sea floor: vertical differences that end where solid lies under a fluid.

Normal motion and traction (vz, szz) are continuous there with a kink. A difference across the
contact ties the water to static stress of the solid, which it cannot hold: eddies, that have no
stiffness, grew by 3 m/s in 2 s beside an Mw 3.9 in rock one cell below a floor. So both sides are
closed, in every column: velocities beyond the contact are replaced by those of this side mirrored
oddly about vz on the contact, 2 vz(0) - vz(n), in differences to integer points; differences to
half points are their transpose. That keeps the norms of the scheme, is exact for linear functions
and (transposed) for constants, and makes modes of water over rock wrong by 2e-4 on average at 12
points per wavelength, order 4 (bench/derive_contact.py).

On level pieces, two columns and more, tangential motion and traction are closed as well. The
tangential traction vanishes at the contact and the tangential velocity jumps there: differences
that reach across it are in error to first order, which makes a Scholte wave 0.6 % too fast at 15
points per wavelength (order 4). Setting, in units of the spacing from the contact into the solid,
half a cell above its highest integer point: integer points 1/2, 3/2, ... (vx, vy), half points 0,
1, 2, ... (sxz, syz; zero at 0). D1 = B differentiates half -> integer, D2 = -B^T integer -> half,
with all norms 1, so that the operator stays skew-adjoint and energy is conserved whatever the
columns beside it do. Only the first rows and columns of B differ from the plain stencil. Each
column sums to what makes D2 exact for constants; what stays free was fitted to the modes of water
over four rocks, Vs 300 to 2,900 m/s, at 8 and 15 points per wavelength (bench/derive_contact.py).
Orders without a table, and water among the rows of a free surface's closure, have traction mirrored
oddly about the contact.

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
    4: ((0.9361, -0.1869), (-0.9061, 1.3709), (-0.0301, -1.2257)),
    8: (
        (1.0438, -0.1669, -0.1498, 0.0274),
        (-1.0001, 1.2331, -0.0277, 0.0709),
        (0.2995, -1.0438, 0.9643, -0.0148),
        (0.1411, -0.0427, -1.1167, 1.0044),
        (-0.4842, 0.0195, 0.3389, -1.1587),
    ),
}


def size_of(d) -> int:
    """Return the number of points on either side of the contact that `tables` have."""
    beside_surface = d.free and (d.contacts.get("table", np.zeros(1)) > 0).any()
    return max(d.reach, len(BLOCKS.get(d.order, ())), d.closure.rows if beside_surface else 0)


def tables(d) -> tuple[np.ndarray, np.ndarray]:
    """Return what upward differences to the integer points beside the contact have more than the
    scheme's, times the norm of these points, of vz and of the tangential tractions: (tables, 2 n,
    2 n - 1) each, n of `size_of`.

    Rows are integer points from above, columns half points, the middle one on the contact. The
    first table is that of plain differences, number k that of a contact k planes below a free
    surface, among the rows of its closure.
    """
    size, weights = size_of(d), d.stencil.vertical
    length = 4 * size
    upward = np.zeros((length + 1, length))  # half point h lies below integer point h
    for n, c in enumerate(weights, 1):
        upward += c * (np.eye(length + 1, length, -n) - np.eye(length + 1, length, n - 1))
    normal = [mirrored(upward, 2 * size, size)]
    tangential = [mirrored(upward, 2 * size, size, -1)]
    if len(weights) * 2 in BLOCKS:
        block = -tangential_block(tuple(c * d.rise for c in weights)) / d.rise
        over = len(block) - block.shape[1]
        tangential[0][:] = 0
        tangential[0][size - over : size + len(block) - over, size - 1 :][:, : block.shape[1]] = (
            block
        )
    if d.free and size >= (rows := d.closure.rows):
        upward[:rows, :rows] = (d.closure.d1[:, :rows] * d.closure.hm[:, None]).T
        normal += [mirrored(upward, k, size) for k in range(1, rows)]
        tangential += [mirrored(upward, k, size, -1) for k in range(1, rows)]
    return np.stack(normal), np.stack(tangential)


def mirrored(upward: np.ndarray, contact: int, size: int, on_contact: int = 1) -> np.ndarray:
    """Return what upward differences (integer, half points), counted down, lack if no weight is to
    cross the half point above integer point `contact`: a window of `size` points to both sides.

    The values beyond are those of this side mirrored oddly about the one on the contact, or about
    zero where that is zero (`on_contact` -1); on it alone where this side is too thin.
    """
    middle, out = contact - 1, np.zeros((2 * size, 2 * size - 1))
    # on the surface, the first integer point, vz has no strain of its own and vx has a force
    for n in range(max(-size, (on_contact == 1) - contact), size):
        for beyond in range(1, size):
            far = -beyond if n >= 0 else beyond
            if not 0 <= middle + far < upward.shape[1]:
                continue
            weight, own = upward[contact + n, middle + far], middle - far >= 0
            out[n + size, size - 1 + far] -= weight
            if on_contact == 1:
                out[n + size, size - 1] += weight * (2 if own else 1)
            if own:
                out[n + size, size - 1 - far] -= weight
    return out


def tangential_block(weights: tuple) -> np.ndarray:
    """Return what B has more than the plain differences, (points above + rows, rows).

    Its first rows are the integer points above the contact that plain differences tie to the half
    points below it.
    """
    table = BLOCKS[2 * len(weights)]
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
    floor = level_floor(d)
    if floor is None:
        return {}, {}
    box = d.slab(2, *reached(d, floor))
    velocity = operators.contact_velocity(d.stencil, size_of(d))
    stress = operators.contact_stress(d.stencil, size_of(d), d.relaxing)
    params = slab_params(d, d.box)
    launches = {
        "velocity": [Launch(velocity, d.names(*velocity.arrays), box, params)],
        "stress": [Launch(stress, d.names(*stress.arrays), box, relaxing.params(d, params))],
    }
    level = (floor == beside(floor, axis) for axis in (1, 0))
    table = np.stack([floor - (d.grid.shape[0] - 1), *level, d.contacts["table"]]).astype(np.int32)
    planes = np.arange(d.grid.shape[0])
    inverse = np.stack([1 / d.norms(planes, half) for half in (0, 1)])
    normal, tangential = tables(d)
    return {
        "floor": Array("material", table.shape, np.int32, table, over=(None, ("y", 0), ("x", 0))),
        "norms": Array("material", inverse.shape, d.precision, inverse, over=(None, ("z", 0))),
        "normal": Array("material", normal.shape, d.precision, normal, over=(None,) * 3),
        "tangential": Array(
            "material", tangential.shape, d.precision, tangential, over=(None,) * 3
        ),
    }, launches


def weights_of(table):
    """Yield (plane of the integer point, plane of the half point, weight of the upward difference
    there) of one of the `tables`, planes counted down from the highest solid one.
    """
    size = len(table) // 2
    for row, column in zip(*np.nonzero(table)):
        yield row - size, column - size + 1, table[row, column]


def level_floor(d):
    """Return the highest solid plane of each column to which something is added, else `NOWHERE`:
    (ny, nx); None where there is no such column.
    """
    if "floor" not in d.contacts:
        d.contacts["floor"] = search_floor(d)
    return d.contacts["floor"]


def search_floor(d):
    """Return what `level_floor` keeps."""
    if d.order == 2 or d.motion == "SH" or not d.partly_fluid:
        return None
    floor, depth = (unvaried(d, columns) for columns in highest_solid(d))
    inner = inner_planes(d)
    room, below_top = inner.stop - 1 - floor, d.grid.shape[0] - 1 - floor
    table = np.where(np.minimum(depth, room) > d.reach, 0, -1)
    if d.free:  # the closure of the surface has tables of its own
        table = np.where(below_top < d.closure.rows, below_top, 0)
    d.contacts["table"] = table
    floor[(floor - size_of(d) < inner.start) | (floor >= inner.stop)] = NOWHERE
    return None if (floor == NOWHERE).all() else floor


def reached(d, floor):
    """Planes (first, last + 1) to which something is added; ranks keep them, and those that are
    read from there, together.
    """
    size = size_of(d)
    low, high = int(floor[floor != NOWHERE].min()) - size + 1, int(floor.max()) + size + 1
    return low, min(high, d.grid.shape[0])


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
    else `NOWHERE`, and how many cells of the column are fluid: (ny, nx) each.
    """
    nz, ny, nx = d.grid.shape
    top, above, count, depth = (np.zeros(d.grid.shape[1:], np.int32) for _ in range(4))

    def matter(k0):
        rho, _, mu = cells(d, d.grid.window((k0, min(k0 + CHUNK, nz), 0, ny, 0, nx)))
        return zip(mu > 0, rho > 0)

    planes = chain.from_iterable(in_order(matter, range(0, nz, CHUNK)))
    for k, (solid, filled) in enumerate(planes):
        above = np.where((top == k - 1) & ~solid, filled, above)
        top, count, depth = np.where(solid, k, top), count + solid, depth + (filled & ~solid)
    floor = np.where((above > 0) & (count == top + 1), top, NOWHERE)
    return floor.astype(np.int32), depth
