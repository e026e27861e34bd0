"""Boxes of float32 around the sources of a run whose fields are kept in 16 bits: there the same
steps run on fields, material and grid of their own, whose points replace those of 16 bits.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.grid import Layout
from craton.core.operator import Operator, Struct
from craton.core.plan import Array, Launch, fields_in_block
from craton.errors import refuse
from craton.methods.finite_difference.equations import material, operators, storage
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves.tables import INJECT, SAMPLE, injection

RADIUS = 12  # points from the outermost point that a source adds to, to each side
PARAMS = Struct(
    "SourceBoxParams",
    (
        *((f"{of}_{stride}", "i64") for of in ("box", "grid") for stride in ("row", "plane", "field")),
        *((n, "i32") for n in ("k0", "j0", "i0", "nk", "nj", "ni", "first", "count")),
    ),
)


def _exchange(kernel, writes, reads):
    """Return the operator that copies the fields of a box to the grid, or those around a box to its
    ghosts; see box.h.
    """
    options = {"types": (("state", "field"),), "defines": (("HALF", 1),), "reals_per_point": 1.5 * len(VELOCITY)}
    return Operator(kernel, operators.HERE / "box.h", (writes,), (reads,), PARAMS, pointwise=False, **options)


NARROW = _exchange("narrow", "state", "box_state")
WIDEN = _exchange("widen", "box_state", "state")


@dataclass(frozen=True)
class SourceBox:
    """A box of the grid with fields in float32.

    Parameters
    ----------
    number : int
        Among all boxes.
    box : tuple of int
        (k0, k1, j0, j1, i0, i1) in the grid.
    reach : int
        Ghost points on each side.
    """

    number: int
    box: tuple
    reach: int

    @property
    def shape(self):
        """Points along (z, y, x)."""
        return tuple(b - a for a, b in zip(self.box[::2], self.box[1::2]))

    @property
    def layout(self):
        """Memory of a field."""
        return Layout(self.shape, self.reach)

    def holds(self, places):
        """Return points (k, j, i) of the grid counted from its own first point, and which of them it has."""
        at = [n - low for n, low in zip(places, self.box[::2])]
        return at, np.all([(n >= 0) & (n < size) for n, size in zip(at, self.shape)], axis=0)

    def name(self, array):
        """Return the name of one of its arrays."""
        return f"box{self.number}_{array}"

    def planes(self, low, high):
        """Return the box of its planes low to high - 1, counted from its own first point."""
        return (low, high, 0, self.shape[1], 0, self.shape[2])


def around(d, tables, launches):
    """Return the boxes around the points to which sources add: list of `SourceBox`.

    Parameters
    ----------
    d : Discretisation
    tables : dict of str to Array
        Of the sources, by name.
    launches : dict of str to Launch
        Injections of sources by phase, with the `places` of their targets.

    Raises
    ------
    ScenarioError
        A source lies within an absorbing layer or beside an edge of the grid.
    """
    limits = limits_of(d)
    boxes = []
    for phase, launch in launches.items():
        first, column = (tables[f"{phase}_{part}"].data for part in ("first", "column"))
        places = np.repeat(np.stack(launch.places, axis=1), np.diff(first), axis=0)
        for source in range(launch.params["columns"]):
            of_source = places[column == source]
            if len(of_source):
                low, high = of_source.min(axis=0), of_source.max(axis=0)
                refuse_outside(d, low, limits)
                refuse_outside(d, high, limits)
                boxes = joined(boxes, to_surface(d, grown(low, high, limits)), d.reach)
    return [SourceBox(n, tuple(map(int, box)), d.reach) for n, box in enumerate(boxes)]


def limits_of(d):
    """Return first and last + 1 point along z, y, x that a box may have: outside of absorbing
    layers, and of the outermost points that a rigid face holds.
    """
    faces = {kind: d.faces(kind) for kind in ("cpml", "rigid")}
    thickness = {"cpml": d.boundaries.cpml.thickness + 1, "rigid": 1}
    limits = np.array([[0, n] for n in d.grid.shape])
    for kind, members in faces.items():
        for axis, side in members:
            limits[2 - axis, side] += -thickness[kind] if side else thickness[kind]
    return limits


def refuse_outside(d, place, limits):
    """Refuse a point of a source where no box may be."""
    if ((place >= limits[:, 0]) & (place < limits[:, 1])).all():
        return
    x, y, z = d.grid.origin + d.grid.steps * place[::-1]
    where = f"near {x:g}, {y:g}, {z:g} m"
    words = f'"half" was not validated for a source within an absorbing layer or at an edge ({where})'
    refuse("run.storage", words, "move the source inwards, or leave run.storage out")


def distances(d, sources):
    """Return how far each source is from the nearest side of the box around it, m: list.

    That is `RADIUS` points, and less beside absorbing layers and rigid faces, where the box ends;
    through a free surface no wave leaves it.

    Parameters
    ----------
    d : Discretisation
    sources : list of PointSource
    """
    limits = limits_of(d)
    out = []
    for source in sources:
        place = ((np.array(source.xyz) - d.grid.origin) / d.grid.steps)[::-1]
        sides = np.stack([place - limits[:, 0], limits[:, 1] - 1 - place], axis=1) + 1
        if d.free:
            sides[0, 1] = RADIUS
        out.append(float(np.clip(sides.min(), 1, RADIUS)) * d.grid.spacing)
    return out


def grown(low, high, limits):
    """Return the box of points from `RADIUS` before `low` to as many behind `high`, within limits."""
    first = np.maximum(low - RADIUS, limits[:, 0])
    return np.stack([first, np.minimum(high + RADIUS + 1, limits[:, 1])], axis=1).ravel()


def joined(boxes, more, reach):
    """Return boxes that contain given boxes and one more.

    Boxes whose ghosts reach points of each other are replaced by the smallest box that contains
    both.

    Parameters
    ----------
    boxes : list of (6,) int array
        (k0, k1, j0, j1, i0, i1) each, apart from each other.
    more : (6,) int array
    reach : int
        Ghost points on each side.
    """
    apart = []
    for box in boxes:
        if (box[::2] < more[1::2] + reach).all() and (more[::2] < box[1::2] + reach).all():
            more = np.ravel([np.minimum(box[::2], more[::2]), np.maximum(box[1::2], more[1::2])], order="F")
            continue
        apart.append(box)
    return joined(apart, more, reach) if len(apart) < len(boxes) else [*apart, more]


def to_surface(d, box):
    """Return a box that reaches the free surface if it meets the planes of its closure."""
    covered = d.grid.shape[0] - d.surface_planes - d.reach
    if not d.free or box[1] <= covered:
        return box
    return np.array([min(box[0], covered), d.grid.shape[0], *box[2:]])


def arrays(d, box):
    """Arrays of a box: fields, and the material in float32, made now."""
    layout, fine, real = box.layout, replace(d, storage="full", memo={}), np.dtype(np.float32)
    whole = {name: np.zeros(layout.padded, real) for name in material.NAMES}
    material.fill(whole, box.box, fine)
    fields = fields_in_block(box.name("state"), [box.name(name) for name in d.fields], "wavefield", layout, real)
    of_medium = {"first": layout.first, "window": layout.window()}
    return fields | {
        box.name(name): Array("material", layout.padded, real, values, **of_medium) for name, values in whole.items()
    }


def steps_of(d, boxes, phase):
    """Yield launches of the step of a phase in all boxes, in float32: below the closure's planes, and of those."""
    plain = replace(d.stencil, terrain=False)
    op = operators.velocity(plain) if phase == "velocity" else operators.stress(plain)
    for box in boxes:
        row, plane, height = box.layout.row, box.layout.plane, box.shape[0]
        at_top = d.free and box.box[1] == d.grid.shape[0]
        covered = height - d.surface_planes if at_top else height
        params = {"row": row, "plane": plane, "sheet": plane, "top": d.grid.shape[0] - 1 - box.box[0]}
        params |= {"dt_h": storage.scaled_step(d, d.fd_params["dt_h"], phase)}
        names = tuple(box.name(name) if name else "" for name in d.names(*op.arrays))
        yield Launch(replace(op, variants=()), names, box.planes(0, covered), params)
        if at_top:
            yield Launch(operators.at_surface(op, d.closure, d.stencil), names, box.planes(covered, height), params)


def exchange(d, box, phase):
    """Yield the launches that copy the fields of a box to the grid, and those around it to its ghosts.

    Parameters
    ----------
    d : Discretisation
    box : SourceBox
    phase : str
        ``"velocity"`` or ``"stress"``.
    """
    fields = d.velocity if phase == "velocity" else d.stress
    strides = {
        f"{of}_{stride}": getattr(layout, stride)
        for of, layout in (("box", box.layout), ("grid", d.layout))
        for stride in ("row", "plane", "field")
    }
    corner = dict(zip(("k0", "j0", "i0", "nk", "nj", "ni"), (*box.box[::2], *box.shape)))
    params = strides | corner | {"first": d.fields.index(fields[0]), "count": len(fields)}
    names = ("state", box.name("state"))
    yield Launch(NARROW, names, box.planes(0, box.shape[0]), params)
    ghosts = tuple(v for n in box.shape for v in (-box.reach, n + box.reach))
    yield Launch(WIDEN, names[::-1], ghosts, params)


def kept_in_half(d, phases, tables):
    """Return the arrays of the boxes around sources, and the phases of a step on fields in 16 bits
    with these boxes.

    Parameters
    ----------
    d : Discretisation
    phases : iterable of Phase
        Those of a step on fields in float32.
    tables : dict of str to Array
        Of sources and channels, by name.
    """
    sources = {phase.name: launch for phase in phases for launch in phase.launches if launch.op is INJECT}
    boxes = around(d, tables, sources)
    box_arrays = {name: array for box in boxes for name, array in arrays(d, box).items()}
    changed = []
    for phase in phases:
        injecting = sources.get(phase.name)
        launches = [storage.converted(d, launch, phase.name) for launch in phase.launches if launch is not injecting]
        more, added = injections(d, boxes, phase.name, tables, injecting)
        box_arrays |= more
        if any(launch.op is storage.SAMPLE for launch in launches):
            more, launches = sampled(d, boxes, tables, launches)
            box_arrays |= more
        if phase.name in ("velocity", "stress"):  # small steps beside the large one that follows
            steps = steps_of(d, boxes, phase.name)
            before, after = (added, []) if phase.name == "velocity" else ([], added)
            exchanges = [launch for box in boxes for launch in exchange(d, box, phase.name)]
            launches = [*before, *steps, *launches, *after, *exchanges]
        changed.append(replace(phase, launches=tuple(launches)))
    return box_arrays, tuple(changed)


def sampled(d, boxes, tables, launches):
    """Return the launches that record, with those that sample fields of boxes in place of fields in
    16 bits, and their arrays.

    A channel all of whose points lie in a box is sampled there: beside a source fields in 16 bits
    end at 65504.

    Parameters
    ----------
    d : Discretisation
    boxes : list of SourceBox
    tables : dict of str to Array
        With those of the channels.
    launches : list of Launch
    """
    source, first = (tables[f"sample_{part}"].data for part in ("source", "first"))
    number, places = (source + d.layout.first) // d.layout.field, d.layout.place(source)
    in_boxes, added = np.zeros_like(source), []
    (plain,) = (launch for launch in launches if launch.op is storage.SAMPLE)
    for box in boxes:
        at, inside = box.holds(places)
        rows = np.append(0, np.cumsum(inside))[first]
        channels = np.flatnonzero((np.diff(rows) == np.diff(first)) & (np.diff(first) > 0))
        here = np.repeat(np.isin(np.arange(len(first) - 1), channels), np.diff(first))
        index = number * box.layout.field + box.layout.offset(*at)
        in_boxes[here] = index[here]
        names = ("record", box.name("state"), "sample_in_boxes", *plain.arrays[3:])
        runs = np.split(channels, np.flatnonzero(np.diff(channels) > 1) + 1)
        added += [
            Launch(SAMPLE, names, (0, 1, 0, 1, int(run[0]), int(run[-1]) + 1), plain.params) for run in runs if len(run)
        ]
    if not added:
        return {}, launches
    n = launches.index(plain) + 1
    table = replace(tables["sample_source"], data=in_boxes)
    return {"sample_in_boxes": table}, [*launches[:n], *added, *launches[n:]]


def injections(d, boxes, phase, tables, launch):
    """Arrays and launches that inject the sources of a phase into the boxes around them, in place
    of the launch that adds to the grid; nothing where there is none.

    Parameters
    ----------
    d : Discretisation
    boxes : list of SourceBox
    phase : str
    tables : dict of str to Array
        Of the sources, by name.
    launch : Launch or None
    """
    if launch is None:
        return {}, []
    target, first, column, weight, series = (
        tables[f"{phase}_{part}"].data for part in ("target", "first", "column", "weight", "series")
    )
    number = (target + d.layout.first) // d.layout.field
    weight = weight * np.repeat(storage.scales(d, target), np.diff(first))
    box_arrays, launches = {}, []
    for box in boxes:
        at, inside = box.holds(launch.places)
        if not inside.any():
            continue
        rows = np.repeat(inside, np.diff(first))
        columns, renumbered = np.unique(column[rows], return_inverse=True)
        table = (
            (number * box.layout.field + box.layout.offset(*at))[inside],
            np.append(0, np.cumsum(np.diff(first)[inside])).astype(np.int32),
            renumbered,
            weight[rows],
        )
        more, added = injection(box.name(phase), table, series[:, columns], d.precision, into=box.name("state"))
        box_arrays |= more
        launches.append(added)
    return box_arrays, launches
