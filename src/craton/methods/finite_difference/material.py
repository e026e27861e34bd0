"""Material on the grid: density, lambda and 1/mu per integer point, cell averages of the Earth
model, ghosts included.
"""

from itertools import groupby, product

import numpy as np

from craton.core.plan import Array
from craton.methods.finite_difference import relaxing, vti

NAMES = ("rho", "lam", "rmu")
LOSSES = ("qp", "qs")  # 1/Qp, 1/Qs: with attenuation
CHUNK = 16  # planes averaged at a time


def arrays(d):
    """Return the plan's material arrays, which `fill` fills when the plan is committed."""
    layout = d.sheet
    names = (
        *(NAMES[:2] if d.acoustic else NAMES),
        *(LOSSES if d.relaxing else ()),
        *(vti.NAMES if d.anisotropic else ()),
    )
    part = {
        "shape": layout.padded,
        "dtype": d.precision,
        "first": layout.first,
        "window": layout.window(),
        "part_of": "material",
    }
    part["over"] = layout
    block = {"material": Array("material", (layout.block(len(names)),), d.precision, over=layout)}
    return block | {
        name: Array("material", filled=True, start=layout.start(n), **part)
        for n, name in enumerate(names)
    }


def fill(out, box, d, name):
    """Write one parameter into a padded array of the part `box` of the grid.

    Ghosts hold what neighbours have there; at the edges of the grid its outermost points, repeated
    (wrapped where it is periodic). So do CPML layers, with the points at their inner edge
    (`Discretisation.unstretched`).
    """
    axes = {2 - axis for axis, _ in d.faces("periodic")}
    if d.planar:
        box = (*box[:2], 0, 1, *box[4:])  # one plane for all shots
    limits = list(
        zip(
            box[::2],
            box[1::2],
            d.sheet.origin,
            map(d.unstretched, (2, 1, 0)),
            (axis in axes for axis in range(3)),
        )
    )
    runs = [pieces(*one) for one in limits]
    for (k, ka, kb), (j, ja, jb), (i, ia, ib) in product(*runs):
        for k0 in range(ka, kb, CHUNK):
            k1 = min(k0 + CHUNK, kb)
            at = (slice(k + k0 - ka, k + k1 - ka), slice(j, j + jb - ja), slice(i, i + ib - ia))
            out[at] = planes_of(d, d.grid.window((k0, k1, ja, jb, ia, ib)), name)
    for axis, made in enumerate(runs):
        repeat_edges(
            out, axis, min(at for at, _, _ in made), max(at + high - low for at, low, high in made)
        )


def pieces(low, high, ghosts, limits, periodic):
    """Return runs of points along an axis from which a part low .. high - 1 and its ghosts are
    made: (place in the array, first, last + 1).

    `limits` are the first and last + 1 point that have a medium of their own; a part beyond them is
    made from the nearest.
    """
    least, most = limits
    first = min(max(low - ghosts, least), most - 1)
    last = max(min(high + ghosts, most), least + 1)
    place = min(max(first - low + ghosts, 0), high - low + 2 * ghosts - 1)
    wrapped = [n for n in range(low - ghosts, high + ghosts) if periodic and not least <= n < most]
    made = [(place, first, max(last, first + 1))]
    for _, run in groupby(wrapped, key=lambda n: n // most):
        first, *_, last = [*run] * 2
        made.append((first - low + ghosts, first % most, last % most + 1))
    return made


def planes_of(d, grid, name):
    """One parameter at the points of a part of the grid; thin along axes that the model does not
    depend on.
    """
    if name in LOSSES:
        inverse_q = (
            vti.inverse_q(d, grid, 0, grid.shape[0])
            if d.anisotropic
            else relaxing.inverse_q(d, grid, 0, grid.shape[0])
        )
        return thin(inverse_q[LOSSES.index(name)])
    if name in vti.NAMES:
        return thin(vti.parameters(d, grid, 0, grid.shape[0])[vti.NAMES.index(name)])
    rho, kappa, mu = map(thin, cells(d, grid, 0, grid.shape[0]))
    values = parameter(name, rho, kappa, mu)
    if d.free and name == "lam" and grid.start[0] + grid.shape[0] == d.grid.shape[0]:
        values[-1] = plane_stress(values[-1], mu[-1])
    return values


def thin(values):
    """Return an array without the repetitions of a broadcast view: 1 in place of n points along an
    axis on which it is constant.
    """
    return values[
        tuple(
            slice(0, 1) if step == 0 and axis else slice(None)
            for axis, step in enumerate(values.strides)
        )
    ]


def cells(d, grid, k0, k1):
    """Density and the bulk and shear modulus of the isotropic step, of planes of cells: (k1 - k0,
    ny, nx).
    """
    if d.cells is not None and not d.anisotropic:
        starts = (grid.start[0] + k0, *grid.start[1:])
        counts = (k1 - k0, *grid.shape[1:])
        window = tuple(slice(a, a + n) for a, n in zip(starts, counts))
        return tuple(values[window] for values in d.cells)
    return (vti if d.anisotropic else relaxing).cells(d, grid, k0, k1)


def vertical_strain(d, at):
    """Minus vertical over horizontal strain where szz = 0: c13 / c33, that is lambda / (lambda + 2
    mu), at points (k, j, i).
    """
    at = d.cell(at)
    low, part = surroundings(d, [v for a in at for v in (int(a.min()), int(a.max()) + 1)])
    here = tuple(a - start for a, start in zip(at, low))
    if d.anisotropic:
        _, _, c13, c33, _, _ = (v[here] for v in vti.stiffness(d, part, 0, part.shape[0]))
        return c13 / c33
    _, kappa, mu = (v[here] for v in cells(d, part, 0, part.shape[0]))
    return (kappa - 2 / 3 * mu) / (kappa + 4 / 3 * mu)


def parameter(name, rho, kappa, mu):
    """Return what is stored: rho, lambda = kappa - 2/3 mu, or 1/mu (infinite in a fluid)."""
    if name == "rho":
        return rho
    if name == "lam":
        return kappa - 2 / 3 * mu
    with np.errstate(divide="ignore"):
        return 1 / mu


def plane_stress(lam, mu):
    """lambda of the horizontal stresses where szz = 0: 2 mu lam / (lam + 2 mu)."""
    return 2 * mu * lam / (lam + 2 * mu)


def repeat_edges(out, axis, first, last):
    """Repeat the entries `first` and `last` - 1 along an axis of an array to its ends."""
    lead = (slice(None),) * axis
    if first:
        out[(*lead, slice(0, first))] = out[(*lead, slice(first, first + 1))]
    if last < out.shape[axis]:
        out[(*lead, slice(last, None))] = out[(*lead, slice(last - 1, last))]


def trace_share(d, at):
    """Return what pressure is of minus the normal stresses that are computed, at integer points (k,
    j, i): a third; of the one in a fluid all.

    In the plane syy is not computed; eyy = 0 makes it lambda / (2 (lambda + mu)) (sxx + szz).
    """
    if d.acoustic or not d.planar:
        return 1.0 if d.acoustic else 1 / 3
    at = d.cell(at)
    low, (_, kappa, mu) = around(d, [v for a in at for v in (int(a.min()), int(a.max()) + 1)])
    here = tuple(a - start for a, start in zip(at, low))
    lam, mu = kappa[here] - 2 / 3 * mu[here], mu[here]
    return (1 + lam / (2 * (lam + mu))) / 3


def around(d, box):
    """Cell averages (rho, kappa, mu) in a small box of the grid, and what they would be one point
    beyond it where the grid goes on.
    """
    low, part = surroundings(d, box)
    return low, cells(d, part, 0, part.shape[0])


def surroundings(d, box):
    """Return the grid of a small box and one point beyond it where the grid goes on, and the index
    (k, j, i) of its first point.
    """
    low = [max(a - 1, 0) for a in box[::2]]
    high = [min(b + 1, n) for b, n in zip(box[1::2], d.grid.shape)]
    return low, d.grid.window([v for pair in zip(low, high) for v in pair])
