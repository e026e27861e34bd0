"""Strain rates of a medium with attenuation, for gradients: the store, what fills it and reads it
(kernels/strains.h), and rows of point tables that act on adjoint strains.

The law of a medium with attenuation (kernels/relax.h) is linear, does not change with time, and
couples the normal stresses of a point symmetrically; so is what the plane of a free surface makes
of it. It therefore commutes with the sum over time that makes stresses of stress rates, and the
transposed run is the forward run, memory variables included (transposed.py): s^ is the law of the
adjoint strain e^. With Q fixed, stresses are linear in lambda + 2 mu and in mu, and with the
increments dt e of the forward strain

    dJ/d(lambda + 2 mu) = -a H sum of F_p(tr e^) dt tr e
    dJ/d(mu)            = -a H sum of 2 (F_s(e^) : dt e - F_s(tr e^) dt tr e)

where F_p and F_s take from a strain what the mechanisms with 1/Qp and 1/Qs lose. Their strengths Y_n
are functions of 1/Q: with G the derivative of F by it and unrelaxed moduli that stay,

    dJ/d(1/Qp) = -a H (lambda + 2 mu) sum of G_p(tr e^) dt tr e,   dJ/d(1/Qs) = mu times the sum of mu with G_s
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch
from craton.methods.finite_difference.adjoint import increments, laminate_gradient
from craton.methods.finite_difference.equations import boundaries, laminate, operators, relaxing, vti
from craton.methods.finite_difference.equations.scheme import HALF

PARAMS = Struct(
    "StrainParams",
    (
        *operators.ROW_AND_PLANE,
        ("sheet", "i64", "sheet"),
        operators.FIELD,
        operators.POINTS,
        ("past", "i64", "fields"),
        ("top", "i32", "k"),
        *operators.STORED,
        ("dt_h", "real"),
    ),
)
ARRAYS = {  # written, read
    "keep_strain": (("store",), ("memory", "step")),
    "increment_strain": (("store",), ("memory", "step")),
    "correlate_strain": (("sums", "memory"), ("state", "store", "qp", "qs", "damping", "step")),
    "scatter_strain": (("state", "memory", "scattered"), ("store", "coefficients", *operators.MEDIUM, "step")),
}


def operator(
    kernel, stencil, constants, fields, stresses, variables, free=False, by_q=(False, False), sponge=False, sparse=False
):
    """Return a kernel of strains.h.

    Parameters
    ----------
    kernel : str
        Of `ARRAYS`.
    stencil : Stencil
    constants : tuple of (str, object)
        Of attenuation, see `relaxing.constants`.
    fields, stresses, variables : int
        All fields, how many of them are stresses, and memory variables of a point.
    free : bool
        The top is traction-free.
    by_q : (bool, bool)
        Sums and coefficients of 1/Qp, and of 1/Qs, as well.
    sponge : bool
        The array ``damping`` holds what stresses are multiplied by after each step.
    sparse : bool
        Not all steps are stored.
    """
    writes, reads = ARRAYS[kernel]
    reals, flops = {
        "keep_strain": (2 * stresses, 0),
        "increment_strain": (3 * stresses, 4 * stresses),
        "correlate_strain": (4 * fields + 3 * variables, 2 * fields + 25 * variables),
        "scatter_strain": (4 * stresses + 2 * variables, 2 * stresses + 25 * variables),
    }[kernel]
    summed = kernel in ("correlate_strain", "scatter_strain")
    by_q = {f"BY_Q{wave}": 1 for wave, is_so in zip("PS", by_q) if is_so and summed}
    # sums by 1/Q, or by what does not relax: of each stress
    more_sums = summed and ("BY_QS" in by_q or stencil.anisotropic)
    reals += (2 if kernel == "correlate_strain" else 1) * stresses * more_sums
    more = {"SURFACE": 0, "FREE": int(free), "FIELDS": fields}
    more["TRANSPOSED"] = int(kernel == "correlate_strain")
    more |= by_q
    sponge = sponge and kernel == "correlate_strain"
    sparse = sparse and kernel == "scatter_strain"
    more |= {"SPONGE": 1} if sponge else {}
    more |= {"SPARSE": 1} if sparse else {}
    prefix = "vti_" if stencil.anisotropic else ""
    suffixes = {"_by_q": "BY_QS" in by_q, "_sponge": sponge, "_sparse": sparse}
    return Operator(
        prefix + kernel + "".join(suffix for suffix, is_so in suffixes.items() if is_so),
        operators.HERE / "strains.h",
        writes,
        reads,
        PARAMS,
        kernel=kernel,
        types=(("step", "i32"),),
        reals_per_point=reals,
        flops=flops,
        defines=tuple({**dict(operators.constants(stencil)), **dict(constants), **more}.items()),
    )


def launch(d, kernel, slots, every):
    """Return a launch of a kernel of strains.h on the whole grid of a `Discretisation`.

    Parameters
    ----------
    d : Discretisation
    kernel : str
        Of `ARRAYS`.
    slots, every : int
        Steps that the store holds, and every how many of them it holds one.
    """
    plain, variables = replace(d.stencil, terrain=False), d.memory_variables
    counts, by_q = (len(d.fields), len(d.stress), variables), increments.by_q(d)
    sponge = bool(d.faces("sponge"))
    op = operator(kernel, plain, d.relaxing, *counts, d.free, by_q, sponge, every > 1)
    names = d.names(*("" if n == "damping" and not sponge else n for n in op.arrays))
    nz, ny, nx = d.shape
    params = relaxing.params(d, d.fd_params) | {
        "points": nz * ny * nx,
        "past": variables * d.layout.field,
        "nj": ny,
        "ni": nx,
        "last": d.steps - 1,
        "every": every,
        "slots": slots,
    }
    return Launch(op, names, d.box, params)


def stored(d, slots, every):
    """Return launches that store the increments of a step, by place in it: of velocities, and of
    stresses or, with attenuation, strains.
    """
    kernels = (("before", "keep"), ("updated", "increment"))
    launches = {
        f"{part}_{place}": [increments.launch(d, kernel, slots, every, part)]
        for part in increments.PARTS
        for place, kernel in kernels
    }
    if d.relaxing:
        launches |= {f"stress_{place}": [launch(d, f"{kernel}_strain", slots, every)] for place, kernel in kernels}
    else:
        cut = laminate_gradient.on_store(d, "laminate_increment", slots, every)
        launches["stress_updated"] += cut
    return launches


def correlated(d, slots, every):
    """Return the launches that correlate adjoint fields with what is stored."""
    if d.relaxing:
        return [launch(d, "correlate_strain", slots, every)]
    return [
        increments.launch(d, "correlate", slots, every),
        *laminate_gradient.on_store(d, "laminate_correlate", slots, every),
    ]


def scattered(d, slots, every):
    """Arrays and launches that scatter what is stored, by place in the step."""
    launches = {f"{part}_updated": [increments.launch(d, "scatter", slots, every, part)] for part in increments.PARTS}
    if not d.relaxing:
        return {}, launches
    launches["stress_updated"] = [launch(d, "scatter_strain", slots, every)]
    return {"scattered": relaxing.block(d, d.memory_variables)}, launches


def memory(d):
    """Arrays of the memory variables of a transposed run, and of their sums over time behind them;
    and of what sponges multiply stresses by; none without attenuation.
    """
    if not d.relaxing:
        return {}
    arrays = {"memory": relaxing.block(d, 2 * d.memory_variables)}
    if d.faces("sponge"):
        factors = boundaries.sponge_factors(d).astype(d.precision)
        over = increments.OVER[1:]
        arrays["damping"] = Array("boundary", d.shape, d.precision, factors, over=over)
    return arrays


class Law:
    """The law of a medium with attenuation at points of the grid, as the step has it.

    Parameters
    ----------
    medium : craton.methods.finite_difference.adjoint.sensitivity.Medium
    """

    def __init__(self, medium):
        self.medium, self.d = medium, medium.d
        self.mechanisms = relaxing.Mechanisms(self.d)
        losses_of = vti.inverse_q if self.d.anisotropic else relaxing.inverse_q
        self.losses = losses_of(self.d, self.d.grid)

    @cached_property
    def damping(self):
        """What sponges multiply stresses by after each step, (nz, ny, nx)."""
        return boundaries.sponge_factors(self.d)

    def inverse_q(self, number, cells):
        """Return 1/Qp (0) or 1/Qs (1) at points or ghosts."""
        at = tuple(sources[a] for sources, a in zip(self.medium.maps, cells))
        return np.asarray(self.losses[number])[at]

    # --- rows of point tables -----------------------------------------------------------------

    def of_sources(self, rows, scale=1.0):
        """Return rows that moments inject into stresses as rows that sample adjoint strains, times
        -H, from the block of `memory`.
        """
        parts, d = [], self.d
        past = d.memory_variables * d.layout.field
        factor = scale * d.dt / d.grid.spacing
        for field, at, weight in self._by_field(rows):
            norms = d.norms(at[0], d.half(field)[2])
            decay = self.mechanisms.at(field, at)[0][:, 0]
            place = self.mechanisms.place(0, field, at)
            parts.append((place, -factor * norms * weight / (1 - decay)))
            # in a sponge moments come after it, and the sum over time has gone through it
            remembered = (1 - decay / self.damping[at]) / (1 - decay)
            parts.append((place + past, -factor * norms * weight * remembered))
        return _joined(parts)

    def of_receivers(self, rows, scale=1.0):
        """Return rows that record stresses as rows that inject a residual into adjoint strains,
        times -1 / H: into stresses, and into memory variables.
        """
        stresses, variables = [], []
        for field, at, weight in self._by_field(rows):
            strain = -scale * weight / self.d.norms(at[0], self.d.half(field)[2])
            if field not in self.d.normal:
                left = relaxing.remainder(self.mechanisms.at(field, at), self._shear_loss(field, at))
                modulus = self.medium.shear_modulus_left(field, self.d.cell(at), left)
                if field == "sxy":
                    modulus = modulus + laminate.at_points(self.d, at)[3]
                stresses.append((self._state(field, at), modulus * strain))
                variables += self._driven(field, at, strain)
                continue
            held = self.d.free & (at[0] == self.d.grid.shape[0] - 1)
            for on in (held, ~held):
                part = tuple(a[on] for a in at)
                if on.any() and not (field == "szz" and held[on].all()):
                    more = self._normal(field, part, strain[on], bool(held[on].all()))
                    stresses += more[0]
                    variables += more[1]
        return _joined(stresses), _joined(variables)

    def _normal(self, field, at, strain, free):
        """Rows of a normal strain at points, all of them on a traction-free plane or none."""
        normal, vertical = self.d.normal, len(self.d.normal) - 1
        stiffness = self._stiffness(field, at)
        strains = {field: strain}
        if free:
            stiff = stiffness[:, vertical, vertical]
            ratio = stiffness[:, vertical, normal.index(field)] / np.where(stiff > 0, stiff, 1.0)
            strains["szz"] = -np.where(stiff > 0, ratio, 0.0) * strain
        others = [f for f in normal if not (free and f == "szz")]
        numbers = [(normal.index(f), e) for f, e in strains.items()]
        stresses = [(self._state(f, at), sum(stiffness[:, normal.index(f), n] * e for n, e in numbers)) for f in others]
        return stresses, [row for f, e in strains.items() for row in self._driven(f, at, e)]

    def _stiffness(self, field, at):
        """Matrices (points, n, n) from the strains over one step to the normal stresses at points."""
        sheet, mechanisms = self.d.cell(at), self.mechanisms.at(field, at)
        cells = tuple(sources[a] for sources, a in zip(self.medium.maps, sheet))
        left = [relaxing.remainder(mechanisms, self.inverse_q(n, sheet)) for n in range(2)]
        held = laminate.stiffness(self.d, laminate.at_points(self.d, at))
        return self.medium.stiffness_left(cells, *left) + held

    def _shear_loss(self, field, at):
        """1/Qs where a shear stress is."""
        sheet = self.d.cell(at)
        firsts = [[part.start for part in corner] for corner in self.medium.corners(HALF[field])]
        return sum(self.inverse_q(1, tuple(a + s for a, s in zip(sheet, first))) for first in firsts) / len(firsts)

    def _driven(self, field, at, strain):
        """Rows of the memory variables that a strain drives."""
        step = self.d.dt / self.d.grid.spacing
        return [
            (self.mechanisms.place(n, field, at), (1 - constants[:, 0]) * strain / step)
            for n, constants in enumerate(self.mechanisms.at(field, at))
        ]

    def _state(self, field, at):
        return self.d.start_of(field) + self.d.layout.offset(*at)

    def _by_field(self, rows):
        """Yield (field, (k, j, i), weight) of the rows of each field."""
        index, weight = (np.asarray(part) for part in rows)
        layout = self.d.layout
        numbers = (index + layout.first) // layout.field
        for number in np.unique(numbers):
            on = numbers == number
            at = tuple(np.asarray(a) for a in layout.place(index[on]))
            yield self.d.fields[number], at, weight[on]


def _joined(parts):
    """Return rows as one table."""
    if not parts:
        return np.zeros(0, int), np.zeros(0)
    return tuple(np.concatenate(part) for part in zip(*parts))
