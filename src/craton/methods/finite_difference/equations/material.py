"""Material on the grid: density, lambda and 1/mu per integer point, cell averages of the Earth
model, ghosts included.
"""

from itertools import groupby, product

import numpy as np

from craton.core.plan import fields_in_block
from craton.methods.finite_difference.equations import relaxing, storage, vti
from craton.model.media.cells import in_order
from craton.model.media.readers import read_ahead

NAMES = ("rho", "lam", "rmu")
LOSSES = ("qp", "qs")  # 1/Qp, 1/Qs: with attenuation
# planes averaged at a time, fewer where these hold more cells: temporaries of several threads
CHUNK, CHUNK_CELLS = 16, 1 << 20
# cells to a side of the tiles that points ask for, in the plane and in space, and tiles that are kept
TILES, KEPT = (64, 16), 32


def arrays(d):
    """Return the plan's material arrays, which `fill` fills when the plan is committed."""
    names = NAMES[:2] if d.acoustic else NAMES
    names += (LOSSES if d.relaxing else ()) + (vti.NAMES if d.anisotropic else ())
    return fields_in_block("material", names, "material", d.sheet, d.kept_as[1], filled=True, over=d.sheet)


def fill(arrays, box, d):
    """Write the parameters into padded arrays, by name, of the part `box` of the grid; those of some
    planes at a time, on the cores of this process.

    Ghosts hold what neighbours have there; at the edges of the grid its outermost points, repeated
    (wrapped where it is periodic). So do CPML layers, with the points at their inner edge
    (`Discretisation.unstretched`).
    """
    runs = runs_of(d, box)

    def parameters_of(part):
        at, grid = part
        return at, parameters(d, grid, arrays)

    with read_ahead(d.model):
        for at, values in in_order(parameters_of, parts_of(d, runs)):
            for name, out in arrays.items():
                out[at] = values[name]
    for axis, run in enumerate(runs):
        first, last = (min(at for at, _, _ in run), max(at + high - low for at, low, high in run))
        for out in arrays.values():
            repeat_edges(out, axis, first, last)


def runs_of(d, box):
    """Return, along z, y and x, the `pieces` of which a part `box` of the grid is made."""
    wrapped = {2 - axis for axis, _ in d.faces("periodic")}
    periodic = [axis in wrapped for axis in range(3)]
    if d.planar:
        box = (*box[:2], 0, 1, *box[4:])  # one plane for all shots
    limits = zip(box[::2], box[1::2], d.sheet.origin, map(d.unstretched, (2, 1, 0)), periodic)
    return [pieces(*limit) for limit in limits]


def parts_of(d, runs):
    """Return the place in the padded arrays and the grid of some planes at a time: list of (slices, Grid)."""
    parts = []
    for (k, ka, kb), (j, ja, jb), (i, ia, ib) in product(*runs):
        planes = min(max(CHUNK_CELLS // ((jb - ja) * (ib - ia)), 1), CHUNK)
        for k0 in range(ka, kb, planes):
            k1 = min(k0 + planes, kb)
            at = (slice(k + k0 - ka, k + k1 - ka), slice(j, j + jb - ja), slice(i, i + ib - ia))
            parts.append((at, d.grid.window((k0, k1, ja, jb, ia, ib))))
    return parts


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


def parameters(d, grid, names):
    """Return parameters at the points of a part of the grid: dict by name of arrays that are thin
    along axes on which the model does not depend.
    """
    (rho, *moduli), losses = (vti if d.anisotropic else relaxing).medium(d, grid)
    means = vti.departure(rho, *moduli) if d.anisotropic else (rho, *moduli)
    out = vti.parameters(d, grid, *moduli) if d.anisotropic else {}
    out |= {name: parameter(name, *means) for name in NAMES if name in names}
    top = grid.start[0] + grid.shape[0] == d.grid.shape[0]
    if d.in_half:
        return storage.encoded(d.codes, out)
    if d.free and top and "lam" in names:
        out["lam"][-1] = plane_stress(out["lam"][-1], means[2][-1])
    return out | dict(zip(LOSSES, losses or ()))


def cells(d, grid):
    """Density and the bulk and shear modulus from which the step departs, of the cells of a part of
    the grid: (nz, ny, nx) each.
    """
    means, _ = (vti if d.anisotropic else relaxing).medium(d, grid)
    means = vti.departure(*means) if d.anisotropic else means
    return tuple(np.broadcast_to(values, grid.shape) for values in means)


def vertical_strain(d, at):
    """Minus vertical over horizontal strain where szz = 0: c13 / c33, that is lambda / (lambda + 2
    mu), at points (k, j, i).
    """
    return vertical_strain_of(*moduli_at(d, at))


def vertical_strain_of(*moduli):
    """Return `vertical_strain` of bulk and shear modulus, or of c11, c13, c33, c44, c66."""
    if len(moduli) == 2:
        kappa, mu = moduli
        return (kappa - 2 / 3 * mu) / (kappa + 4 / 3 * mu)
    _, c13, c33, _, _ = moduli
    return c13 / c33


def moduli_at(d, at):
    """Return the moduli of the cells at points (k, j, i) of fields, Pa: kappa and mu, or c11, c13, c33, c44, c66 of an
    anisotropic medium.
    """
    at = d.cell(at)
    low = [max(int(a.min()) - 1, 0) for a in at]
    high = [min(int(a.max()) + 2, n) for a, n in zip(at, d.grid.shape)]
    part = d.grid.window([v for pair in zip(low, high) for v in pair])
    _, *moduli = vti.stiffness(d, part) if d.anisotropic else cells(d, part)
    here = tuple(a - start for a, start in zip(at, low))
    return [values[here] for values in moduli]


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


def trace_share(d, at, field=""):
    """Return what pressure has of minus a normal stress that is computed, at integer points (k, j,
    i): a third; of the one in a fluid all.

    In the plane syy is not computed; eyy = 0 makes it lambda / (2 (lambda + mu)) (sxx + szz), and
    in an anisotropic medium (1 - 2 q c33) sxx + 2 q c13 szz with q = c66 / (c11 c33 - c13^2).
    """
    if d.acoustic or not d.planar:
        return 1.0 if d.acoustic else 1 / 3
    return trace_share_of(field, *moduli_at(d, at))


def trace_share_of(field, *moduli):
    """Return `trace_share` in the plane of bulk and shear modulus, or of c11, c13, c33, c44, c66."""
    if len(moduli) == 2:
        lam, mu = moduli[0] - 2 / 3 * moduli[1], moduli[1]
        return (1 + lam / (2 * (lam + mu))) / 3
    c11, c13, c33, c44, c66 = moduli
    solid = c44 > 0
    q = c66 / np.where(solid, c11 * c33 - c13**2, 1.0)
    of_syy = 1 - 2 * q * c33 if field == "sxx" else 2 * q * c13
    return (1 + np.where(solid, of_syy, 0.5)) / 3


def around(d, box):
    """Cell averages (rho, kappa, mu) in whole tiles of the grid around a small box, at least one
    point beyond it where the grid goes on, and the index (k, j, i) of their first point.

    Tiles are kept: points of many sources and receivers ask for the same ones.
    """
    side = TILES[not d.planar]
    low = [max(a - 1, 0) // side * side for a in box[::2]]
    high = [min(-(-(b + 1) // side) * side, n) for b, n in zip(box[1::2], d.grid.shape)]
    tile = tuple(v for pair in zip(low, high) for v in pair)
    if tile not in d.tiles:
        if len(d.tiles) >= KEPT:
            del d.tiles[next(iter(d.tiles))]
        d.tiles[tile] = cells(d, d.grid.window(tile))
    return low, d.tiles[tile]
