"""The steps of the forward field taken back, together with the transposed ones: gradients without stored wavefields.

Outside absorbing layers a step is v' = v + dt B D s, s' = s + dt C D' v', and so is the step back.
What the differences there read of the layers is kept at every step (history.h): 1.5 planes of six
of nine fields at a face, at order 4 in space. From the last state the forward field is taken back,
sources are taken out, and each step back is one pass with a transposed step (backward.h).

The gradient is that by the medium outside the layers; the layers' own medium, that of their inner
edge, is held. At step n, last step first:

    residuals and moments of stresses; adjoint stresses on, stresses of the forward field back to
    s^n; residuals of velocities; adjoint velocities on, those of the forward field back; forces

so that adjoint stresses of step n + 1 and the forward stresses of step n are in one pass. What was
kept of step n is put back with the half step that takes the field there, before neighbouring ranks
exchange it.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch, fields_in_block
from craton.core.subdomain import clip
from craton.methods.finite_difference.adjoint import increments, parameter_sums, transposed
from craton.methods.finite_difference.adjoint.increments import FORWARD, TENSION
from craton.methods.finite_difference.adjoint.parameter_sums import BACKWARD, BOUNDS, backward_names, inner
from craton.methods.finite_difference.adjoint.transposed import renamed
from craton.methods.finite_difference.equations import boundaries, contact, half_steps, laminate, material
from craton.methods.finite_difference.equations import operators as fd
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves import sources as acting
from craton.methods.waves import tables

BACK = Struct(
    "BackParams",
    (*fd.FD.fields, fd.FIELD, *((n, "i32", n[0]) for n in BOUNDS), *((n, "i32") for n in ("every", "last"))),
)
HISTORY = Struct("HistoryParams", tuple((name, "i32") for name in ("columns", "slots", "last")))
GROUPS = (16, 12, 8)  # values that share a scale in 16 bits: what takes the fewest bytes
REMEMBERED = {n: f"q_{n}" for n in range(3)}  # by the number of the sum in whose memory it lies
TRACES = 2  # sums of normal stresses, deviatoric part and trace
EDGE = 4  # points along an edge of a block of a face; ranks divide no block

# Streamed texts by precision and order: (VEC, BX, BY, PLANES, MIN_BLOCKS).
STREAMED = {("float32", 2): (4, 32, 2, 32, 3), ("float32", 4): (4, 32, 2, 32, 3), ("float64", 4): (2, 32, 2, 32, 2)}


TAKE_OUT = Operator(
    "take_out",
    fd.HERE / "take_out.h",
    ("state", "sums"),
    ("adjoint", "target", "first", "column", "weight", "series", "step"),
    parameter_sums.FORCE,
    types=tables.TYPES,
    pointwise=False,
)


CHANGE = Struct("ChangeParams", (*fd.SLAB.fields, *((name, "i32") for name in ("every", "last")), ("sign", "real")))
SET_ASIDE = Operator("set_aside", fd.HERE / "changes.h", ("held",), ("forward",), CHANGE, reals_per_point=2)
CHANGED = Operator(
    "changed",
    fd.HERE / "changes.h",
    ("sum", "light"),
    ("adjoint", "forward", "held", "step"),
    CHANGE,
    types=(("step", "i32"),),
    reals_per_point=7,
    flops=6,
)
CHANGED_NORMAL = Operator(
    "changed_normal",
    fd.HERE / "changes.h",
    ("deviatoric", "trace"),
    (*(f"{of}{axes}" for of in ("s", "t", "held_") for axes in ("xx", "yy", "zz")), "step"),
    CHANGE,
    types=(("step", "i32"),),
    reals_per_point=13,
    flops=17,
)


@dataclass(frozen=True)
class Margin:
    """What is kept of the field at each step.

    Parameters
    ----------
    source : (n,) int array
        Places in the state, velocities before stresses, each part filled up to whole groups.
    velocities : int
        How many of them are velocities.
    bits : int
        Of a value: 16, 32 or 64.
    group : int
        Values that share a scale; 1 where they are not kept in 16 bits.
    """

    source: np.ndarray
    velocities: int
    bits: int
    group: int = 1

    @property
    def grouped(self):
        """True where values are kept in 16 bits."""
        return self.bits == 16

    @property
    def columns(self):
        """Values, or groups of values, at a step."""
        return len(self.source) // self.group

    @property
    def row(self):
        """Shape of a step of the history."""
        return (self.columns * (self.group // 2 + 1),) if self.grouped else (self.columns,)

    @property
    def row_bytes(self):
        """Bytes of a step."""
        return self.row[0] * (4 if self.grouped else self.bits // 8)


def joined_margin(parts, bits, group=1):
    """Return the `Margin` of the places of velocities and of stresses, lists of arrays each."""
    empty = [np.zeros(0, np.int64)]
    velocities, stresses = (np.concatenate(empty + part) for part in parts)
    return Margin(np.append(velocities, stresses), len(velocities), bits, group)


def shared_scale(d, planes):
    """Return the blocks of the planes of a face, (blocks, places) each: in the plane, where a block
    is a line of points, those of all planes together.
    """
    blocks = [blocks_of(d, *plane) for plane in planes]
    return [np.concatenate(blocks, axis=1)] if d.planar else blocks


def grouped(blocks, group):
    """Return blocks in groups of `group` places, raveled; each is filled up with its last place."""
    width = blocks.shape[1]
    return np.pad(blocks, ((0, 0), (0, -width % group)), mode="edge").ravel()


def beside(d, field, axis, side):
    """Return the points of a field outside the inner box, at one of its faces, that differences in it read: list of
    planes, each (k, j, i) of its first point and its places in the state, (nz, ny, nx).
    """
    if not differentiated(d, field, axis):
        return []
    half, reach, box, planes = d.half(field)[axis], d.reach, inner(d), []
    count = reach - 1 if half == side else reach
    limit = box[2 * (2 - axis) + side]
    for n in range(limit, limit + count) if side else range(limit - count, limit):
        plane = list(box)
        plane[2 * (2 - axis) : 2 * (2 - axis) + 2] = (n, n + 1)
        k, j, i = np.ogrid[tuple(slice(a, b) for a, b in zip(plane[::2], plane[1::2]))]
        planes.append((plane[::2], d.start_of(field) + d.layout.offset(k, j, i)))
    return planes


def blocks_of(d, first, offsets):
    """Return the places of a plane by blocks that begin at multiples of `EDGE` along its axes,
    (blocks, places of a block); blocks at its edge are filled up with their own places.

    Parameters
    ----------
    d : Discretisation
    first : (k, j, i)
        Of the first point.
    offsets : (nz, ny, nx) int array
    """
    lengths = [EDGE if n > 1 else 1 for n in offsets.shape]
    if d.planar:
        lengths[1] = 1  # shots
    before = [low % length for low, length in zip(first, lengths)]
    behind = [-(a + n) % m for a, n, m in zip(before, offsets.shape, lengths)]
    filled = np.pad(offsets, list(zip(before, behind)), mode="edge")
    shape = [v for n, length in zip(filled.shape, lengths) for v in (n // length, length)]
    return filled.reshape(shape).transpose(0, 2, 4, 1, 3, 5).reshape(-1, np.prod(lengths))


def differentiated(d, field, axis):
    """Return True where the step has differences of a field along an axis."""
    if field == "s":
        return True
    if field in d.velocity:
        return not d.acoustic or field == VELOCITY[axis]
    return "xyz"[axis] in field[1:]


def history(d, margin, slots):
    """Arrays of the history of a `Margin`: a ring of some steps, and where they are."""
    dtype = np.int32 if margin.grouped else np.dtype(d.precision)
    return {
        "history": Array("history", (slots, *margin.row), dtype),
        "history_source": Array("points", margin.source.shape, np.int64, margin.source),
    }


def operator(kernel, margin):
    """Return ``"save"`` or ``"restore"`` of history.h for a `Margin`."""
    into, of = ("history", "state") if kernel == "save" else ("state", "history")
    group, types = margin.group, (("source", "i64"), ("step", "i32"))
    return Operator(
        f"{kernel}_16" if margin.grouped else kernel,
        fd.HERE / "history.h",
        (into,),
        (of, "source", "step"),
        HISTORY,
        types=(*types, ("history", "i32")) if margin.grouped else types,
        reals_per_point=3 * group + group // 2 + 2 if margin.grouped else 4,
        defines=(("GROUP", group),),
        pointwise=False,
        grain=(1, 1, 4096),
    )


def saving(d, margin, slots):
    """Arrays and the launch that keeps the field at the beginning of a step."""
    return history(d, margin, slots), _moving(d, "save", ("history", "state"), margin, slots, 0, margin.columns)


def restoring(d, margin, slots, part):
    """Return launches that put back the velocities or the stresses before a step."""
    cut = margin.velocities // margin.group
    limits = (0, cut) if part == "velocity" else (cut, margin.columns)
    return _moving(d, "restore", ("back", "history"), margin, slots, *limits)


def _moving(d, kernel, blocks, margin, slots, low, high):
    """Return the launch of an `operator` from the second of two blocks to the first, of some columns: a list, empty without."""
    params, box = {"columns": margin.columns, "slots": slots, "last": d.steps - 1}, (0, 1, 0, 1, low, high)
    return [Launch(operator(kernel, margin), (*blocks, "history_source", "step"), box, params)] * (high > low)


# --- the step back ----------------------------------------------------------------------------


def backward(stencil, part, light=False, summed=True):
    """Return the step back of ``"velocity"`` or ``"stress"``; see backward.h.

    Parameters
    ----------
    stencil : Stencil
    part : str
    light : bool
        Sum the squares of the velocities' increments.
    summed : bool
        Take sums of fields; False where those by parameters are taken.
    """
    writes, reads = (
        ((*VELOCITY, *FORWARD, "sums"), (*STRESS, *TENSION, "rho"))
        if part == "velocity"
        else ((*STRESS, *TENSION, "sums"), (*VELOCITY, *FORWARD, "lam", "rmu"))
    )
    cost = fd.cost(stencil, part)
    count = {"velocity": len(VELOCITY), "stress": 5}[part] if summed else 0
    suffix = ("_light" if light else "") + ("" if summed else "_unsummed")
    more = [("LIGHT", 1)] * light + [("SUMS", 0)] * (not summed)
    return Operator(
        f"{'acoustic_' if stencil.acoustic else ''}backward_{part}{suffix}",
        fd.HERE / "backward.h",
        writes,
        (*reads, "step"),
        BACK,
        reach=stencil.reach,
        kernel=f"backward_{part}",
        types=(("step", "i32"),),
        reals_per_point=2 * cost["reals_per_point"] + 2 * count,
        flops=2 * cost["flops"] + 4 * count,
        defines=(*fd.constants(stencil), ("SURFACE", 0), *more),
        variants=()
        if stencil.law or stencil.acoustic
        else fd.streamed_variants(stencil, STREAMED, "backward_streamed.cu", 2),
    )


def steps_back(d, part, every, light, by_parameters):
    """Return the launches of one half step of both fields: the planes with plain differences, those below
    a free surface, and what cut cells add.
    """
    out, box = [], inner(d)
    params = dict(zip(BOUNDS, box))
    params |= d.fd_params | {"field": d.layout.field, "every": every, "last": d.steps - 1}
    plain_stencil = replace(d.stencil, terrain=False)
    light = light and part == "velocity" and not by_parameters
    plain = backward(plain_stencil, part, light, not by_parameters)
    for launch in half_steps.steps_of(d, part):
        surface = dict(launch.op.defines).get("SURFACE")
        op = fd.at_surface(plain, d.closure, d.stencil) if surface else plain
        names = backward_names(d, op)
        if by_parameters:
            names = tuple("" if name == "sums" else name for name in names)
        out.append(Launch(op, names, launch.box, params))
    if part == "stress" and laminate.boxes(d):
        op = increments.cut_operator("backward_laminate", plain_stencil, BACK)
        planes = laminate.on_planes(d, op)
        out += [Launch(each, backward_names(d, each), box, params) for each, box in planes]
    return out


def closures_back(d, part, every, light):
    """Arrays, and launches before and behind the plain half step by which differences that end at contacts
    are taken out of the forward field: those of the step with the opposite sign, in the inner box. What all
    launches of the half step took out is in the sums then.

    Parameters
    ----------
    d : Discretisation
    part : str
        ``"velocity"`` or ``"stress"``.
    every : int
    light : bool
        There is a sum of squares of the velocities' increments.
    """
    arrays, before, back, behind = {}, [], [], []
    of_light = f"sum_{count_of_sums(d)}" if light and part == "velocity" else ""
    _, launches = contact.contact(d) if d.partly_fluid else ({}, {})
    for launch in launches.get(part, ()):
        box = clip(launch.box, inner(d))
        if box is None:
            continue
        params = boundaries.slab_params(d, box) | {"every": every, "last": d.steps - 1}
        written = [name for name in launch.arrays[: len(launch.op.writes)] if name in d.fields]
        for name in written:
            held = f"held_{name}"
            arrays[held] = boundaries.memories(d, 1, box)
            before.append(Launch(SET_ASIDE, (held, BACKWARD(name)), box, params | {"sign": 0.0}))
            if name not in d.normal:
                names = (f"sum_{increments.sums_of(d).index(name)}", of_light, name, BACKWARD(name), held, "step")
                behind.append(Launch(CHANGED, names, box, params))
        if set(d.normal) & set(written):
            numbers = [increments.sums_of(d).index(name) for name in ("deviatoric", "trace")]
            normal = [name if name in written else "" for name in ("sxx", "syy", "szz")]
            taken_back = [name and BACKWARD(name) for name in normal]
            kept = [name and f"held_{name}" for name in normal]
            names = (*(f"sum_{n}" for n in numbers), *normal, *taken_back, *kept, "step")
            top = {"top": params["top"] if d.free else -1}
            behind.append(Launch(CHANGED_NORMAL, names, box, params | top))
        taken = renamed(launch, {name: BACKWARD(name) for name in d.fields})
        opposite = launch.params | {"dt_h": -launch.params["dt_h"]}
        back.append(replace(taken, box=box, params=opposite))
    signed = [[replace(launch, params=launch.params | {"sign": sign}) for launch in behind] for sign in (-1.0, 1.0)]
    return arrays, before, [*signed[0], *back, *signed[1]]


def backward_arrays(d):
    """Arrays of the field that is taken back: the block ``back`` and its parts."""
    out = {}
    for name, array in half_steps.wavefield(d).items():
        kind = {"kind": "forward field"}
        if name == "state":
            out["back"] = replace(array, **kind)
        else:
            out[BACKWARD(name)] = replace(array, part_of="back", **kind)
    return out


def count_of_sums(d, by_parameters=False):
    """Return the number of sums of gradients; those of normal stresses have a place where there are none."""
    if by_parameters:
        return len(parameter_sums.names(d))
    return len(increments.sums_of(d)) + (0 if d.normal else TRACES)


def sums(d, light, by_parameters):
    """Arrays of the sums of backward.h, or of parameter_sums.h: the block ``sums`` and its parts ``sum_0`` and so on."""
    names = [f"sum_{n}" for n in range(count_of_sums(d, by_parameters) + light)]
    return fields_in_block("sums", names, "sums", d.layout, d.precision, over=d.layout)


def taken_out(d, sources, every, by_parameters):
    """Arrays and launches by half step that take out what sources added, last step first.

    What forces added is part of the velocities' increments: it depends on the density as these do.
    With sums by parameters it is summed by the launches of ``"density"``.
    """
    arrays, launches, _ = acting.sources(GridSpace(d), sources)
    names = {name: f"{name}_out" for name in arrays} | {"state": "back"}
    out = {names[name]: array for name, array in arrays.items()}
    taken = {}
    for part in (part for part in increments.PARTS if part in launches):
        (launch,) = launches[part]
        if part == "velocity" and not by_parameters:
            fields = ("back", "sums", "state", *(names.get(name, name) for name in launch.arrays[1:]))
            params = {"columns": launch.params["columns"], "every": every, "last": d.steps - 1}
            taken[part] = [Launch(TAKE_OUT, fields, launch.box, params, launch.places)]
        else:
            series = f"{part}_series_out"
            out[series] = replace(out[series], data=-np.asarray(out[series].data)[::-1])
            taken[part] = [renamed(launch, names)]
    if by_parameters and "velocity" in launches:
        more, taken["density"] = parameter_sums.of_forces(d, arrays, "velocity_series_out", every)
        out |= more
    return out, taken


def plan(d, columns, residuals, taps, sources, margin, slots, every=1, light=False, by_parameters=False):
    """Return the plan of the steps back, last step first.

    Parameters
    ----------
    d : Discretisation
    columns, residuals, taps
        See `transposed.plan`; residuals of fields alone.
    sources : list of PointSource
    margin : Margin
    slots : int
        Steps that the history holds.
    every : int
        Every how many steps sums are taken.
    light : bool
        Sum the squares of the velocities' increments, behind the other sums.
    by_parameters : bool
        Take one sum for each parameter in place of one for each field; see `parameter_sums`.

    Returns
    -------
    StepPlan
        Its array ``back`` is to hold the state at the end of the forward run.
    """
    arrays, pieces = transposed.faces(d)
    arrays |= half_steps.wavefield(d) | backward_arrays(d) | material.arrays(d)
    arrays |= sums(d, light, by_parameters)
    # sums are of points outside the layers, what these remember of points inside
    remembered = {n: name for n, name in REMEMBERED.items() if name in arrays}
    arrays |= {name: arrays[f"sum_{n}"] for n, name in remembered.items()}
    if by_parameters:
        behind, pieces = parameter_sums.remembered_behind(d, arrays, pieces, remembered)
        arrays |= behind
    arrays |= history(d, margin, slots)
    stressed = residuals[0] >= d.start_of(d.stress[0]) - d.layout.first
    halves = {"residual_velocity": ~stressed, "residual_stress": stressed}
    rows = {name: ("state", tuple(values[on] for values in residuals)) for name, on in halves.items()}
    of_residuals, residual = transposed.injected(d, columns, rows)
    of_sources, out = taken_out(d, sources, every, by_parameters)
    arrays |= of_residuals | of_sources
    samples, sampled = transposed.tapped(d, taps)
    arrays |= samples
    names, launches_back = {field: BACKWARD(field) for field in d.fields}, {}
    for part in ("stress", "velocity"):
        begins = pieces.get(f"{part}_first", [])
        held, before, behind = closures_back(d, part, every, light)
        arrays |= held
        launches_back[part] = [
            *([residual.get("residual_stress"), *out.get("stress", [])] if part == "stress" else ()),
            *begins,
            *(renamed(launch, names) for launch in begins),
            *pieces.get(part, []),
            *before,
            *steps_back(d, part, every, light, by_parameters),
            *behind,
        ]
    summed = {part: [] for part in launches_back}
    if by_parameters:
        summed = {part: parameter_sums.launches(d, part, every, light) for part in launches_back}
    last = pieces.get("velocity_last", [])
    phases = {
        "backward stress": [
            *launches_back["stress"],
            *summed["stress"],
            sampled.get("moment"),
            *reversed(pieces.get("stress_after", [])),
            residual.get("residual_velocity"),
            *restoring(d, margin, slots, "stress"),
        ],
        "backward velocity": [
            *launches_back["velocity"],
            *out.get("velocity", []),
            *reversed([*pieces.get("velocity_after", []), *last]),
            *(renamed(launch, names) for launch in last),
            *summed["velocity"],  # of velocities that rigid faces have held
            *out.get("density", []),
            sampled.get("force"),
            *restoring(d, margin, slots, "velocity"),
        ],
    }
    exchanged = {f"backward {part}": part for part in ("stress", "velocity")}
    return transposed.plan_of(d, arrays, phases, exchanged, BACKWARD)


def material_reads(d):
    """Return the parameters of the medium that a step reads: of points, each in one half step."""
    return len([name for name in material.NAMES if name != "rmu" or not d.acoustic])


# --- what an inversion asks of steps taken back -------------------------------------------------------------------------------


class Reversible:
    """Steps of a discretisation `d` that can be taken back, or why they cannot."""

    def irreversible(self):
        """Return why the steps cannot be taken back, or ""."""
        d, box = self.d, inner(self.d)
        least = 2 * d.reach + (d.closure.cols if d.free else 0)
        layered = {axis for axis, _ in d.faces("cpml") + d.faces("sponge")}
        if any(box[5 - 2 * axis] - box[4 - 2 * axis] < least for axis in layered):
            return f"fewer than {least} points along an axis are outside absorbing layers"
        if d.relaxing:
            return "attenuation cannot be taken back"
        if d.anisotropic or d.ground is not None:
            return "anisotropic media and topography have no step back yet"
        if d.floor is not None:
            low, high = d.floor + 1 - d.floor_closure.rows, d.floor + 1 + d.floor_closure.rows
            if low < box[1] and high > box[0] and not (box[0] <= low and high <= box[1]):
                return "the closure of a sea floor reaches into an absorbing layer"
        return ""

    def margin(self, bits):
        """Return the `Margin` that is kept of the field beside absorbing layers, in 16 bits or in those of the run's precision."""
        d, parts = self.d, []
        faces = d.faces("cpml") + d.faces("sponge")
        for fields in (d.velocity, d.stress):
            of_faces = [[plane for f in fields for plane in beside(d, f, *face)] for face in faces]
            parts.append([planes for planes in of_faces if planes])
        if bits != 16:
            source = [[offsets.ravel() for planes in part for _, offsets in planes] for part in parts]
            return joined_margin(source, bits)
        blocks = [[b for planes in part for b in shared_scale(d, planes)] for part in parts]
        nbytes = {g: sum(grouped(b, g).size // g * (2 * g + 4) for b in sum(blocks, [])) for g in GROUPS}
        group = min(nbytes, key=nbytes.get)
        return joined_margin([[grouped(b, group) for b in part] for part in blocks], bits, group)

    def outside_layers(self):
        """Return True at the points of the inner box, (nz, ny, nx), by whose medium gradients are."""
        mask, (k0, k1, j0, j1, i0, i1) = np.zeros(self.d.shape, bool), inner(self.d)
        mask[k0:k1, j0:j1, i0:i1] = True
        return mask

    def sums(self, by_parameters):
        """Return the number of the sums of a gradient: for each parameter or for each field."""
        names = parameter_sums.names if by_parameters else increments.sums_of
        return len(names(self.d))

    def sums_need_fields(self):
        """Return why sums of steps taken back cannot be those of parameters, or ""."""
        if laminate.boxes(self.d):
            return "Backus averages of cut cells need one sum for each field"
        closed = self.d.partly_fluid and contact.contact(self.d)[0]
        return "the closure of a sea floor needs one sum for each field" if closed else ""

    def unsummed(self, by_parameters):
        """Return (number of a sum, box) of the points that have none of it: those that rigid faces hold, and those of layers,
        which remember in its memory.
        """
        d = self.d
        if by_parameters:
            return parameter_sums.unsummed(d, REMEMBERED)
        _, launches = boundaries.rigid(d)
        held = [(d.velocity.index(launch.arrays[0]), launch.box) for launch in launches["velocity_last"]]
        layers = [boundaries.layer(d, *face) for face in d.faces("cpml")]
        return held + [(n, box) for n in REMEMBERED for box in layers]

    def traffic(self, kind, every, by_parameters=False):
        """Return the least traffic of misfit and gradient over that of a plain forward run, layers left out.

        Parameters
        ----------
        kind : str
            What is stored: ``"increments"``, ``"checkpoints"``, ``"boundaries"`` or so.
        every : int
        by_parameters : bool
            Sums of steps taken back are one for each parameter.
        """
        d, fields = self.d, len(self.d.fields)
        plain = fd.velocity(d.stencil).reals_per_point + fd.stress(d.stencil, d.relaxing).reals_per_point
        if kind.startswith("boundaries"):
            correlated = 2 * len(increments.sums_of(d))
            if by_parameters:
                correlated = sum(parameter_sums.operator(d.stencil, part).reals_per_point for part in increments.PARTS)
            # both fields read the same material
            return 1 + (2 * plain - material_reads(d) + correlated / every) / plain
        keeping = plain + (2 + 3) * fields / every  # copies before a step, increments behind it
        # sums of memory variables advance at every step
        transposed = plain + 3 * d.memory_variables + 4 * fields / every
        return (keeping * (2 if kind == "checkpoints" else 1) + transposed) / plain

    def least_bytes(self):
        """Return the bytes of both wavefields, the sums and the medium in steps taken back."""
        d = self.d
        count = 2 * len(d.fields) + count_of_sums(d) + material_reads(d)
        return count * d.layout.field * np.dtype(d.precision).itemsize
