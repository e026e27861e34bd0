"""Sums of a gradient by the parameters of the points, rho, mu and lambda, in place of one for each
field: three reals a point in place of eight in space.

The chain rule of `sensitivity.Medium` gives the sum of each field to the points whose mean the
field has, and adds. Here each step does so: products of fields, with increments computed once more
from the field that they come from, are added where the parameters are (parameter_sums.h). Neither
the mean density nor the harmonic mean of mu then needs a sum of its own, and at a summed step 27
reals a point are moved in place of 16.

Sums are of the points of the inner box and of those behind its last ones, which have part of the
last products. There a CPML layer on the high side remembers in the memory of sums (reversal.py):
with sums by parameters it does so one point further out, where the last one lies on ghosts.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from craton.core.operator import Operator, Struct, initialiser
from craton.core.plan import Launch
from craton.methods.finite_difference.adjoint.increments import FORWARD, TENSION
from craton.methods.finite_difference.equations import boundaries
from craton.methods.finite_difference.equations import operators as fd
from craton.methods.finite_difference.equations.scheme import MOTION, STRESS, VELOCITY
from craton.methods.waves import tables
from craton.methods.waves.tables import of_values, table_of

BACKWARD = "{}_back".format  # names of the forward field's components in plans
BOUNDS = ("k0", "k1", "j0", "j1", "i0", "i1")
SUM = Struct(
    "SumParams",
    (
        *fd.FD.fields,
        fd.FIELD,
        *((f"{part}_{n}", "i32") for part in ("first", "last", "back") for n in "kji"),
        *((name, "i32") for name in ("k1", "j1", "i1", "every", "last")),
    ),
)
FORCE = Struct("ForceParams", tuple((name, "i32") for name in ("columns", "every", "last")))
NONE = -1  # no point of an axis
SUM_FORCES = Operator(
    "sum_forces",
    fd.HERE / "take_out.h",
    ("sums",),
    ("adjoint", "target", "first", "source", "column", "weight", "series", "step"),
    FORCE,
    types=tables.TYPES,
    pointwise=False,
)


# --- both wavefields: the adjoint one under the names of a forward run, the forward one in the block "back" -----------------


def inner(d):
    """Box (k0, k1, j0, j1, i0, i1) of the points outside absorbing layers, where every field is
    advanced by the plain step alone.
    """
    box = list(d.box)
    for kind, beyond in (("cpml", 1), ("sponge", 0)):
        thickness = getattr(d.boundaries, kind).thickness
        for axis, side in d.faces(kind):
            n = d.grid.shape[2 - axis]
            # profiles of a CPML at half points begin half a point further inside
            box[2 * (2 - axis) + side] = n - thickness - beyond if side else thickness
    return tuple(box)


def backward_names(d, op):
    """Names in a plan of the arrays of an operator on both fields."""
    known = dict(zip((*FORWARD, *TENSION), (*VELOCITY, *STRESS)))
    out = []
    for name in op.arrays:
        name = "laminate" if name == "planes" else name
        field = "s" if d.acoustic and known.get(name, name) == "sxx" else known.get(name, name)
        (field,) = d.names(field)
        out.append(BACKWARD(field) if field and name in known else field)
    return tuple(out)


# --- operators of sums ------------------------------------------------------------------------


def names(d):
    """Names of the sums, in their order: of acoustic waves without mu, of SH waves with a place for
    lambda, in which layers remember.
    """
    return ("rho", "lambda") if d.acoustic else ("rho", "mu", "lambda")


def operator(stencil, part, light=False):
    """Return the sums by density (``"velocity"``) or by moduli (``"stress"``); see parameter_sums.h.

    Parameters
    ----------
    stencil : Stencil
    part : str
        Half step whose increments are summed.
    light : bool
        Sum the squares of the velocities' increments as well.
    """
    kernel = {"velocity": "sum_density", "stress": "sum_moduli"}[part]
    writes, reads = {
        "velocity": (("sums",), (*VELOCITY, *TENSION, "rho")),
        "stress": (("sums",), (*STRESS, *FORWARD, "lam", "rmu")),
    }[part]
    fields, waves = len(MOTION[stencil.motion]), fd.cost(stencil, part)
    if stencil.acoustic:
        fields = 3 if stencil.motion else 4
    medium, sums = counts(stencil, part)
    return Operator(
        f"{'acoustic_' if stencil.acoustic else ''}{kernel}" + ("_light" if light else ""),
        fd.HERE / "parameter_sums.h",
        writes,
        (*reads, "step"),
        SUM,
        reach=stencil.reach,
        kernel=kernel,
        types=(("step", "i32"),),
        reals_per_point=fields + medium + 2 * (sums + light),
        flops=waves["flops"] * {"velocity": 2, "stress": 4}[part],  # at so many places, at most
        defines=(*fd.constants(stencil), ("SURFACE", 0), *((("LIGHT", 1),) if light else ())),
        pointwise=False,  # adjoint fields are read beside the point
        grain=(8, 16, 1 << 30),
    )


def counts(stencil, part):
    """Return how many parameters of the medium an operator reads, and how many sums it adds to."""
    lame = part == "stress" and stencil.motion != "SH" and not stencil.acoustic
    return (2, 2) if lame else (1, 1)


def at_surface(op, closure, stencil):
    """Return the same for the planes below a traction-free top, with their norms."""
    closed = fd.at_surface(op, closure, stencil, below=True)
    rows = dict(closed.defines)["ROWS"]
    norms = (np.append(norm, np.ones(rows - len(norm))) for norm in (closure.hp, closure.hm))
    return closed.specialised(closed.name, **dict(zip(("NORM_WHOLE", "NORM_HALF"), map(initialiser, norms))))


# --- launches ---------------------------------------------------------------------------------


def launches(d, part, every, light):
    """Return the launches that add the products of one half step.

    Parameters
    ----------
    d : Discretisation
    part : str
        ``"velocity"`` or ``"stress"``: that whose increments are summed.
    every : int
        Every how many steps.
    light : bool
        Sum squared increments of velocities as well.
    """
    plain = operator(replace(d.stencil, terrain=False), part, light and part == "velocity")
    params = d.fd_params | dict(zip(BOUNDS[1::2], inner(d)[1::2]))
    params |= {"field": d.layout.field, "every": every, "last": d.steps - 1}
    params |= {f"last_{n}": last_of(d, axis) for axis, n in enumerate("ijk")}
    return [
        Launch(op, backward_names(d, op), box, params | before)
        for whole, before in boxes(d)
        for op, box in by_planes(d, plain, whole)
    ]


def by_planes(d, op, box):
    """Return (operator, box) of the planes of a box with plain differences, and of those below a free surface."""
    top = d.grid.shape[0] - d.surface_planes
    lower = (op, (box[0], min(box[1], top), *box[2:]))
    parts = [lower]
    if d.free:
        parts.append((at_surface(op, d.closure, d.stencil), (max(box[0], top), *box[1:])))
    return [(op, box) for op, box in parts if box[0] < box[1]]


def boxes(d):
    """Return (box, scalars) of the points with sums, see `parts_along`."""
    parts = [parts_along(d, axis) for axis in (2, 1, 0)]
    out = []
    for chosen in product(*parts):
        box = tuple(n for (low, high, *_) in chosen for n in (low, high))
        scalars = {}
        for n, (_, _, back, first) in zip("kji", chosen):
            scalars |= {f"back_{n}": back, f"first_{n}": first}
        out.append((box, scalars))
    return out


def parts_along(d, axis):
    """Return (low, high, points back to the place before, first point that has one) of the parts of an axis.

    The place before the first point of a periodic axis lies at the other end. Beside such an axis,
    ghosts of edges have no values: there the first points of the others look at no place before
    them, else at one that does not count.
    """
    n, (low, high) = d.shape[2 - axis], extent(d, axis)
    if is_periodic(d, axis):
        return [(0, 1, 1 - n, 0), (1, n, 1, 1)]
    if d.faces("periodic") and axis in (*d.horizontal, 2):
        return [(low, low + 1, 0, low + 1), (low + 1, high, 1, low + 1)]
    return [(low, high, 1, low + 1)]


def extent(d, axis):
    """Return the first point along an axis with sums and the one behind the last one: where a layer
    follows, its first point has part of the products before it.
    """
    box, n = inner(d), d.shape[2 - axis]
    low, high = box[2 * (2 - axis) : 2 * (2 - axis) + 2]
    return low, min(high + 1, n)


def last_of(d, axis):
    """Return the last point along an axis that has the place behind it alone, or `NONE`."""
    n = d.shape[2 - axis]
    ends = inner(d)[2 * (2 - axis) + 1] == n and not is_periodic(d, axis)
    return n - 1 if ends else NONE


def is_periodic(d, axis):
    """Return True where points follow the last one of an axis."""
    return any(a == axis for a, _ in d.faces("periodic"))


# --- forces -----------------------------------------------------------------------------------


def of_forces(d, arrays, series, every):
    """Return arrays and the launch that add what forces gave to velocities: increments depend on the
    density below a force.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of the point table ``velocity``, see `craton.methods.waves.sources.sources`.
    series : str
        Name of the series, last step first, of the opposite sign.
    every : int
    """
    target, first, column, weight = (
        np.asarray(arrays[f"velocity_{part}"].data) for part in ("target", "first", "column", "weight")
    )
    source = np.repeat(target, np.diff(first))
    rows = [
        (point[on], -(weight * share)[on], column[on], source[on])
        for point, share in points_beside(d, source)
        if (on := share > 0).any()
    ]
    if not rows:
        return {}, []
    point, weight, column, source = (np.concatenate(part) for part in zip(*rows))
    target, first, order, weight = table_of(point, weight, np.arange(len(point)))
    out = of_values(
        "force_sums",
        target=(target, np.int64),
        first=(first, np.int32),
        source=(source[order], np.int64),
        column=(column[order], np.int32),
        weight=(weight, d.precision),
    )
    parts = [f"force_sums_{part}" for part in ("target", "first", "source", "column", "weight")]
    fields = ("sums", "state", *parts, series, "step")
    columns = arrays["velocity_series"].shape[1]
    params = {"columns": columns, "every": every, "last": d.steps - 1}
    box = (0, 1, 0, 1, 0, len(target))
    return out, [Launch(SUM_FORCES, fields, box, params, d.layout.place(target))]


def points_beside(d, places):
    """Return (sum, share) of both points beside places of velocities in the state: places in the sum of rho, and the
    part of the products that belongs there, times the norm; 0 outside the inner box.
    """
    number = (places + d.layout.first) // d.layout.field
    at = np.stack(d.layout.place(places))
    box, behind, share_behind = inner(d), at.copy(), np.zeros(len(places))
    inside = np.all([(a >= low) & (a < high) for a, low, high in zip(at, box[::2], box[1::2])], 0)
    norms = np.ones(len(places))
    for n, field in enumerate(d.velocity):
        on, axis = number == n, VELOCITY.index(field)
        norms[on] = d.norms(at[0, on], d.half(field)[2])
        if any(d.half(field)):
            alone = at[2 - axis] == last_of(d, axis)
            share_behind[on] = np.where(alone, 0, 0.5)[on]
            behind[2 - axis, on] = (at[2 - axis, on] + 1) % d.shape[2 - axis]
    shares = [inside * norms * share for share in (1 - share_behind, share_behind)]
    return list(zip((d.layout.offset(*at), d.layout.offset(*behind)), shares))


# --- what layers remember ---------------------------------------------------------------------


def remembered_behind(d, arrays, pieces, remembered):
    """Return arrays and launches by place with layers of high sides that remember one point further
    out in the memory of sums; see the module's text.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        With parts ``sum_0`` and so on of the block of sums.
    pieces : dict of str to list of Launch
        See `transposed.faces`.
    remembered : dict of int to str
        Names of what layers remember, by the number of the sum in whose memory it lies.
    """
    strides, more = (1, d.layout.row, d.layout.plane), {}
    numbers = {name: n for n, name in remembered.items()}

    def moved(launch):
        axis = dict(launch.op.defines).get("AXIS")
        if not numbers.keys() & set(launch.arrays) or not launch.box[2 * (2 - axis)]:
            return launch
        names = {name: f"{name}_{'xyz'[axis]}1" for name in numbers if name in launch.arrays}
        for name, behind in names.items():
            part = arrays[f"sum_{numbers[name]}"]
            shape = (part.shape[0] - 1, *part.shape[1:])  # a plane less, all within the block
            start = part.start + strides[axis]
            more[behind] = replace(part, start=start, shape=shape, window=None, over=None)
        return replace(launch, arrays=tuple(names.get(name, name) for name in launch.arrays))

    return more, {place: [moved(launch) for launch in part] for place, part in pieces.items()}


def unsummed(d, numbers):
    """Return (number of a sum, box) of the points in whose memory layers have remembered."""
    out = []
    for axis, side in d.faces("cpml"):
        box = list(boundaries.layer(d, axis, side))
        box[2 * (2 - axis)] += side
        out += [(n, tuple(box)) for n in numbers if n < len(names(d))]
    return out
