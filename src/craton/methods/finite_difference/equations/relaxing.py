"""Attenuation on the staggered grid: constants of the kernels, memory variables, unrelaxed moduli."""

import numpy as np

from craton.core.operator import initialiser
from craton.core.plan import Array
from craton.model.media import attenuation, earth
from craton.model.media.earth import cell_averages, cell_losses

NODES = 512  # intervals up to the largest 1/Q, at whose ends `stiffer` is exact
PIECE = 1 << 12  # values at a time: temporaries stay in the cache


def constants(relaxation, dt, planar=False):
    """Constants of relax.h for a time step, s, in space or in the plane, as (name, value) pairs;
    none without attenuation.
    """
    if relaxation is None:
        return ()
    table, counts = mechanisms(relaxation, dt, planar)
    return (
        ("ATTENUATION", 1),
        ("CLASSES", int(len(table) > 1)),
        ("STORED", max(counts)),
        ("NORMAL_STORED", counts[0]),
        ("SHEAR_STORED", counts[1]),
        ("RELAXATION", initialiser(table)),
    )


def mechanisms(relaxation, dt, planar=False):
    """Return decay, held and c0 .. c3 of relax.h by pattern, row, odd or even point and stored
    mechanism, and how many of these normal and shear stresses have.

    Parameters
    ----------
    relaxation : Relaxation
    dt : float
        s.
    planar : bool
    """
    r, decay = relaxation, np.exp(-relaxation.omega * dt)
    both = (r.polynomials, r.stored), (r.of_shear, r.stored_of_shear)
    tables = [_table(np.vstack([decay, (1 - decay) / (r.omega * dt), c]).T, stored, planar) for c, stored in both]
    counts = [table.shape[3] for table in tables]
    if len(tables[0]) > 1:  # each to its patterns, as wide as the wider one
        tables = [np.pad(t, ((0, 0),) * 3 + ((0, max(counts) - n), (0, 0))) for t, n in zip(tables, counts)]
    return np.concatenate([tables[0][:1], tables[1][1:]]), counts


class Mechanisms:
    """Mechanisms of a `Discretisation` at points of the grid, and places of their memory variables,
    see relax.h.

    Parameters
    ----------
    d : Discretisation
        With attenuation.
    """

    def __init__(self, d):
        self.d = d
        self.table, (self.normal, self.shear) = mechanisms(d.relaxation, d.dt, d.planar)

    @property
    def alike(self):
        """True where all points store the same mechanisms."""
        return len(self.table) == 1

    def count(self, field):
        """Return how many memory variables a stress has at a point."""
        return self.normal if field in self.d.normal else self.shear

    def at(self, field, points):
        """Return decay, held and c0 .. c3 of a stress at points (k, j, i): (mechanisms, points, 6)."""
        k, j, i = points
        rows = (k & 1) if self.d.planar else (j & 1) + 2 * (k & 1)
        pattern = ("sxy", "sxz", "syz").index(field) + 1 if field not in self.d.normal else 0
        if self.alike:
            values = np.broadcast_to(self.table[0, 0, 0], (len(k), *self.table.shape[3:]))
        else:
            values = self.table[pattern][rows, i & 1]
        return np.moveaxis(values[:, : self.count(field)], 1, 0)

    def slot(self, n, field):
        """Return the number of the n-th memory variable of a stress."""
        normals, number = len(self.d.normal), self.d.stress.index(field)
        if field in self.d.normal:
            return n * normals + number
        return self.normal * normals + n * (len(self.d.stress) - normals) + number - normals

    @property
    def fields(self):
        """Name of the stress that each memory variable belongs to, in the order of the block."""
        slots = {self.slot(n, field): field for field in self.d.stress for n in range(self.count(field))}
        return [slots[n] for n in range(len(slots))]

    def place(self, n, field, points):
        """Return the places of the n-th memory variable of a stress at points in the block of ``memory``."""
        return self.slot(n, field) * self.d.layout.field + self.d.layout.offset(*points)


def remainder(mechanisms, inverse_q):
    """Return what is left of a modulus for a strain over one step: 1 - sum Y (1 - held).

    Parameters
    ----------
    mechanisms : (mechanisms, points, 6) array
        See `Mechanisms.at`.
    inverse_q : (points,) array
    """
    out = 1.0
    for _, held, *c in np.moveaxis(mechanisms, -1, 1):
        strength = inverse_q * np.polyval([*c[::-1]], inverse_q)
        out = out - strength * (1 - held)
    return out


def _table(values, stored, planar):
    """Constants (L, 6) of mechanisms by pattern, row, odd or even point and place in the store; (1,
    1, 1, L, 6) where points are alike.
    """
    table = values[np.array(stored)]
    return table[attenuation.classes(len(stored), planar)] if len(stored) > 1 else table[None, None]


def arrays(d):
    """Return the memory variables: a field for each stress component and stored mechanism, in one
    block; none without attenuation.
    """
    return {"memory": block(d, count(d))} if d.relaxing else {}


def count(d):
    """Return how many memory variables a point has."""
    if not d.relaxing:
        return 0
    constants_of, normal = dict(d.relaxing), len(d.normal)
    shear = len(d.stress) - normal
    return constants_of["NORMAL_STORED"] * normal + constants_of["SHEAR_STORED"] * shear


def block(d, variables):
    """Array of so many memory variables at each point."""
    layout, first = d.layout, d.layout.start(0) + d.layout.first
    return Array("memory variables", (layout.block(variables),), d.precision, first=first, over=layout)


def params(d, scalars):
    """Scalars of an operator, with what attenuation adds."""
    return {**scalars, "field": d.layout.field} if d.relaxing else scalars


def names(d):
    """Return the kernels' arrays that only attenuation has, where it is absent."""
    return () if d.relaxing else ("memory", "qp", "qs")


def medium(d, grid):
    """Density with bulk and shear modulus, unrelaxed where there is attenuation, and 1/Qp and 1/Qs
    (None without): of the cells of a part of the grid, thin arrays.
    """
    if d.cells is not None:
        return window(d.cells, grid), thin_inverse_q(d, grid)
    cells = tuple(map(thin, cell_averages(d.model, grid, 0, grid.shape[0])))
    if d.relaxation is None:
        return cells, None
    return unrelaxed(d.relaxation, cells, inverse_q_of_model(d, grid))


def unrelaxed(relaxation, cells, inverse_q):
    """Return density with unrelaxed bulk and shear modulus, and 1/Qp and 1/Qs of what relaxes, these
    themselves: of cells at the reference frequency.

    Parameters
    ----------
    relaxation : Relaxation
    cells : (rho, kappa, mu)
        kg/m3, Pa.
    inverse_q : (1/Qp, 1/Qs)
    """
    rho, kappa, mu = cells
    of_p, of_s = map(stiffer(relaxation), inverse_q)
    stiff = mu * of_s
    return (rho, (kappa + 4 / 3 * mu) * of_p - 4 / 3 * stiff, stiff), inverse_q


def thin_inverse_q(d, grid):
    """1/Qp and 1/Qs of the cells of a part of the grid, thin arrays; None without attenuation."""
    if d.relaxation is None:
        return None
    return inverse_q_of_model(d, grid) if d.inverse_q is None else window(d.inverse_q, grid)


def inverse_q(d, grid):
    """1/Qp and 1/Qs of the cells of a part of the grid: (nz, ny, nx) each."""
    return tuple(np.broadcast_to(loss, grid.shape) for loss in thin_inverse_q(d, grid))


def inverse_q_of_model(d, grid):
    """1/Qp and 1/Qs that the model gives for the cells of a part of the grid: thin arrays."""
    return tuple(map(thin, cell_losses(d.model, grid, 0, grid.shape[0])))


def reference_medium(d, grid):
    """Density, bulk and shear modulus that the model gives for the cells of a part of the grid,
    (nz, ny, nx) each: where it has attenuation, those of its reference frequency.
    """
    return cell_averages(d.model, grid, 0, grid.shape[0])


def window(arrays, grid):
    """Return the parts of arrays of the whole grid that belong to a part of it."""
    index = tuple(slice(a, a + n) for a, n in zip(grid.start, grid.shape))
    return tuple(values[index] for values in arrays)


def thin(values):
    """Return an array without the repetitions of a broadcast view: 1 in place of n points along an
    axis on which it is constant.
    """
    return values[tuple(slice(0, 1) if step == 0 and axis else slice(None) for axis, step in enumerate(values.strides))]


def shares(d):
    """Part of each cell that is not air, with topography: an array (nz, ny, nx)."""
    return np.add(*d.ground.shares(d.grid, 0, d.grid.shape[0]))


def stiffer(relaxation):
    """Return the function of 1/Q that is the unrelaxed modulus over that of the given speeds: cubic between a few
    losses, where value and slope are exact (to 1e-12 between them); of complex 1/Q, too (`waves.adjoint.Derivative`).
    """
    nodes = relaxation.largest / NODES * np.arange(int(NODES * attenuation.BEYOND_FITTED) + 1)
    value, slope = relaxation.unrelaxed(nodes), relaxation.unrelaxed_slope(nodes) * nodes[1]
    rise, left, right = np.diff(value), slope[:-1], slope[1:]
    cubic = np.stack([value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])

    def values(losses):
        losses = np.asarray(losses, np.result_type(losses, float))
        out, flat = np.empty(losses.shape, losses.dtype), losses.reshape(-1)
        for start in range(0, flat.size, PIECE):
            piece = slice(start, start + PIECE)
            x = flat[piece] / nodes[1]
            n = np.clip(np.nan_to_num(x.real), 0, len(rise) - 1).astype(int)  # nan goes on by t
            t, c = x - n, cubic[:, n]
            out.reshape(-1)[piece] = c[0] + t * (c[1] + t * (c[2] + t * c[3]))
        return out

    return values


def notes(d):
    """Return what `craton plan` says of it."""
    r = d.relaxation
    if r is None:
        return []
    samples = [values for *_, values in earth.samples(d.model, d.grid)]
    # Qs of a fluid is ignored
    losses = np.concatenate([np.ravel(q) for v in samples for q in (v[3], v[4] * (v[1] > 0))])
    losses = np.unique(losses[losses > 0][:: max(len(losses) // 1000, 1)])
    law = f" (f / {r.frequency:.4g} Hz)^{r.power:g}" if r.power else ""
    words = f"Q {1 / losses.max():.4g} .. {1 / losses.min():.4g}{law}, {len(r.omega)} mechanisms, {r.storage} storage"
    low, high = r.band
    worst = f"within {r.error(losses).max():.1%} from {low:.4g} to {high:.4g} Hz; speeds hold at {r.frequency:.4g} Hz"
    return [("attenuation", words), ("Q in the band", worst)]
