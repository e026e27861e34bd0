"""Plans of the forward, reversed and perturbed (Born) steps of one medium of a linearised scenario of
spectral elements: on the whole mesh, or on the elements of a rank.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from craton.core.gathering import partial_sums
from craton.core.plan import STATE, Array, ColourBoundaries, StepPlan
from craton.methods.spectral_element import ranks
from craton.methods.spectral_element.adjoint import pair_operators, pair_parts
from craton.methods.spectral_element.adjoint.nodal import with_families, with_medium
from craton.methods.spectral_element.adjoint.pair_parts import MEDIA, Parts, field_of, forces_at, in_fluid, moved
from craton.methods.spectral_element.discretisation import fields_of, places_of
from craton.methods.spectral_element.equations import faces, step
from craton.methods.spectral_element.equations.state import FORCE
from craton.methods.spectral_element.equations.step import elements_of
from craton.methods.spectral_element.mesh import families
from craton.methods.spectral_element.mesh.subdomain import ElementGeometry, build_subdomain
from craton.methods.waves.adjoint import joined
from craton.methods.waves.tables import SAMPLE, injection, sampling, split_rows, stacked_rows, table_of
from craton.model.mesh.hexmesh import Prepared

# how often a recorded field is differentiated by time
DERIVATIVES = {"displacement": 0, "velocity": 1, "potential": 0, "potential_rate": 1, "pressure": 2}
NOT_HERE = -1  # in place of the number of a point of another rank


class Steps:
    """Plans of steps; a subclass has what they are made of.

    The transposed field lam obeys the law of motion itself, backwards in time, with residuals as
    sources: stiffness, masses and absorbing faces are symmetric. Where a fluid touches a solid, the two
    change their roles: the fluid's transposed potential pushes the solid, the solid's accelerations
    enter the fluid.

    Attributes
    ----------
    d : NodalDiscretisation
    arrays : dict of str to Array
        Of mesh, medium and faces, see `arrays_of`.
    launches : (dict, list, dict)
        Of elements and of faces, and what ranks exchange; see `step.elements_of`.
    rows, injected : list of (index, weight)
        Of channels in "state", and of columns of sources in "forces".
    acting : sequence of int
        Numbers, among the columns of the whole run, of those in `injected`.
    histories : (steps, columns) array
        What these inject.
    of_sources : dict of int to float
        Columns, of the whole run, that the bulk modulus scales.
    recorded : sequence of int or slice
        Numbers, among the channels of the whole run, of those in `rows`.
    """

    recorded: Any = slice(None)

    def taps(self, by_sources):
        """Return rows in whose places the transposed field is sampled.

        Parameters
        ----------
        by_sources : bool
            Those of unit sources, too.
        """
        raise NotImplementedError

    def forward(self, slots, replayed=False):
        """Return the plan of steps that record all channels, and with slots save what `back` needs."""
        d, (elements, edges, exchanges) = self.d, self.launches
        arrays, first, sources = dict(self.arrays), [], []
        if slots:
            more, first, before = saves(d, arrays, slots, replayed)
            arrays |= more
            absorbing = {m: [*before[m], *launches] for m, launches in edges[0].items()}
            edges = [absorbing, *edges[1:]]
        if self.injected:
            table = table_of(*joined(self.injected))
            more, inject = injection("source", table, self.histories, d.precision, "forces")
            arrays, sources = arrays | more, [inject]
        recorded, record = sampling(*stacked_rows(self.rows), d.steps, d.precision)
        phases = step.phases_of(d, sources, elements, edges, exchanges)
        plan = StepPlan(
            precision=d.precision,
            layout=d.state.layout,
            arrays=arrays | recorded,
            phases=(step.phase("save", first), *phases, step.phase("record", record)),
        )
        return self._of_rank(plan)

    def back(self, slots, every=1, light=False, by_sources=False, replayed=False):
        """Return the plan of the steps back of the transposed field beside the forward one, one more than the forward run had.
        Step 0 begins where the forward run ended.

        The forward field is marched back by the forces of its elements; at absorbing points it takes the velocities that the
        forward run saved. Where absorbing layers or attenuation remember, it is `replayed`: the forward run saved it.

        The transposed field obeys the law of motion backwards in time, its memory variables too. Mechanisms of attenuation take
        the same part of a strain's past as of its transposed strain's future: the products of the saved strain with what the
        transposed run has of stress, lost strain and its derivative by 1/Q are the gradient, and the forward run's own memory
        variables are not asked for. In layers filters and derivatives change places, see kernels/replay.h; there the strain is
        the filtered one, for which the forward run saves its derivatives' memory variables. Friction in layers (stacey.h) has
        its force g (F - c (v - w)) with g and c of the start for all media.

        Parameters
        ----------
        slots : int
            Steps that stores hold.
        every : int
            Every how many steps fields are correlated.
        light : bool
            Sum squared accelerations of the forward field.
        by_sources : bool
            Sample the transposed field in the places of unit sources, before that of columns in a fluid.
        replayed : bool
        """
        d, ops, steps = self.d, pair_operators, len(self.histories)
        slots = max(slots, 1)
        stores = saves(d, self.arrays, slots, replayed)[0]
        parts = Parts(d, self.arrays | stores, steps, slots, every)
        parts.arrays |= stores
        inject = []
        if not replayed:
            series = np.pad(self.histories[::-1], ((1, 0), (0, 0)))
            inject += parts.injected("source", forces_of_pairs(d, self.injected, False), series)
        residuals = [row_of_residual(d, row) for row in self.rows]
        inject += parts.injected("residual", residuals, np.zeros((steps + 1, len(residuals))))
        before = [*parts.sampled("taps", [row_of_tap(d, row) for row in self.taps(by_sources)], steps + 1)]
        restored, ending = {3: [], 1: []}, []
        for prefix, components in MEDIA:
            points, absorbing = parts.points_of(components), parts.count(f"{prefix}stacey")
            if absorbing:
                sums = parts.have(f"{prefix}face_sums", (6 if components == 3 else 1, absorbing))
                names = {"sums": sums, "store": f"{prefix}store"}
                restored[components] = parts.on_faces("restore_points", components, **names)
            if not points:
                continue
            sums = parts.have(f"{prefix}point_sums", (points + 1,))
            of_light = {"light": parts.have(f"{prefix}light", (points + 1,)) if light else ""}
            if replayed:
                before += parts.on_points("take_points", components, path=f"{prefix}path", **of_light)
                ending += parts.on_points("transposed_step", components, sums=sums)
            else:
                ending += parts.on_points("pair_back", components, sums=sums, **of_light)
        rigid = [*parts.rigid(3), *parts.rigid(1)]
        # each medium takes from the other what is complete there: the field's fluid and the transposed
        # field's solid come first
        coupling = {"solid": parts.coupling("transposed_to_solid", 1)}
        if not replayed:
            coupling["fluid"] = parts.coupling("pair_to_fluid", 0)
        halves = {"fluid": () if replayed else (0,), "solid": (1,)}
        forces = parts.forces(ops.replayed if replayed else ops.correlated, "sums", before, inject, coupling, halves)
        taking = [] if replayed else [("solid", "pair_to_solid", 0)]
        taking.append(("fluid", "transposed_to_fluid", 1))
        second = [
            step.phase(f"to {medium}", parts.coupling(function, half), exchange=parts.exchange(medium, (half,)))
            for medium, function, half in taking
            if parts.coupled
        ]
        first_faces = [*parts.damped(3), *restored[1], *parts.on_faces("pair_stacey", 3, 1), *rigid]
        second_faces = [*parts.damped(1), *restored[3], *parts.on_faces("pair_stacey", 1, 1), *rigid]
        phases = [
            *forces.values(),
            step.phase("first faces", first_faces),
            *second,
            step.phase("second faces", second_faces),
            step.phase("step", ending),
        ]
        return self._of_rank(parts.plan(phases), by_sources)

    def born(self, changes):
        """Return the plan of the steps of the field and of its Born field, which is recorded.

        Parameters
        ----------
        changes : tuple
            What `State.perturbation` returns.
        """
        d, ops, (moduli, _, of_sources) = self.d, pair_operators, changes
        steps = len(self.histories)
        parts = Parts(d, self.arrays, steps, values=change_arrays(d, moduli))
        inject = parts.injected("source", forces_of_pairs(d, self.injected, False), self.histories)
        scattered = [
            (index, -of_sources[n] * weight) if n in of_sources else (index[:0], weight[:0])
            for n, (index, weight) in zip(self.acting, self.injected)
        ]
        if any(len(index) for index, _ in scattered):
            inject += parts.injected("scattered", forces_of_pairs(d, scattered, True), self.histories)
        recorded = [(moved(d, index, field_of(d, index[0]), True), weight) for index, weight in self.rows]
        record = parts.sampled("record", recorded, steps)
        coupling = {
            medium: [*parts.coupling(function, 0), *parts.coupling(function, 1)]
            for medium, function in (("fluid", "pair_to_fluid"), ("solid", "pair_to_solid"))
        }
        forces = parts.forces(ops.born, "change", [], inject, coupling, {"fluid": (0, 1), "solid": (0, 1)})
        ending = [
            *parts.on_points("pair_forward", 3, pressure=""),
            *parts.on_points("pair_forward", 1, pressure="pair_pressure"),
        ]
        of_media = [
            of_medium
            for medium, elements in forces.items()
            for of_medium in (elements, step.phase(f"{medium} faces", scattering(parts, medium)))
        ]
        return self._of_rank(parts.plan([*of_media, step.phase("step", ending), step.phase("record", record)]))

    def _of_rank(self, plan, by_sources=None):
        """Return a plan with what it knows of other ranks; `by_sources` of one that samples `taps`."""
        return plan


def scattering(parts, medium):
    """Return the launches of a medium's faces, between which masses and faces scatter."""
    components = pair_parts.COMPONENTS[medium]
    prefix, count = pair_operators.PREFIX[components], parts.points_of(components)
    if not count:
        return []
    rigid = parts.rigid(components)
    change = parts.have(f"{prefix}mass_change", (count + 1,))
    out = [*parts.damped(components, both=True), *parts.on_faces("pair_stacey", components), *rigid]
    out += parts.on_points("scatter_points", components, change=change)
    if absorbing := parts.count(f"{prefix}stacey"):
        change = parts.have(f"{prefix}face_change", (6 if components == 3 else 1, absorbing))
        out += parts.on_faces("scatter_faces", components, change=change)
    return [*out, *parts.on_faces("pair_stacey", components, 1), *rigid]


def forces_of_pairs(d, rows, second):
    """Return rows (index, weight) in "forces" of a single field as those of one of the pairs."""
    return [(forces_at(d, index, second), weight) for index, weight in rows]


def row_of_residual(d, row):
    """Return the row by which the derivative by a channel enters the transposed field's forces."""
    index, weight = row
    name = field_of(d, index[0])
    force = "fluid_pair_force" if d.state.fields[name][2] == 1 else "pair_force"
    return moved(d, index, name, True, force), weight


def row_of_tap(d, row):
    """Return the row that samples the transposed field where a row of sources acts."""
    index, weight = row
    name, pair = ("potential_force", "fluid_pair") if in_fluid(d, index) else ("force", "pair")
    return moved(d, index, name, True, pair), weight


def arrays_of(d, start):
    """Return arrays of mesh, medium and faces; all ranks must call.

    Parameters
    ----------
    d : NodalDiscretisation
    start : dict of str to Array
        Those of the medium of the start.
    """
    new = step.inverse_mass_arrays(d) | faces.absorbing_faces(d)[0]
    for arranged in d.families:
        for part in ("moduli", "loss"):
            name = f"{arranged.family.name}_{part}"
            if name in arranged.arrays:
                new[name] = arranged.arrays[name]
    return start | {n: a for n, a in new.items() if not n.endswith("_points")}


def saves(d, shared, slots, replayed):
    """Return arrays of what is saved before step n in slot n modulo slots, launches before each step, and by medium those
    between forces and step.

    ``store`` and ``fluid_store`` are velocities of absorbing points; where steps are replayed ``path`` and ``fluid_path``
    the fields of all points, ``FAMILY_past`` memory variables of layers.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        Of mesh and faces.
    slots : int
    replayed : bool
        Save the field, too.
    """
    arrays, every_point, of_faces = {}, [], {"solid": [], "fluid": []}
    precision, params = np.dtype(d.precision), pair_operators.NOTHING | {"slots": slots, "dt": d.dt}

    def save(op, shape, names, **options):
        (stored,) = op.writes
        arrays[names[stored]] = Array("store", (slots, *shape), precision)
        return pair_operators.launch(op, names, shape[0], params, **options)

    for (prefix, components), medium in zip(MEDIA, of_faces):
        solid = components == 3
        listed, points = f"{prefix}stacey_points", d.state.solid if solid else d.state.fluid
        if listed in shared:
            op, shape = pair_operators.on_points("save_points", components), (shared[listed].shape[0], components)
            names = {"store": f"{prefix}store", "velocity": "velocity" if solid else "potential_rate", "points": listed}
            of_faces[medium].append(save(op, shape, names))
        if replayed and points:
            op, shape = pair_operators.on_points("save_path", components), (points + 1, components)
            names = {"path": f"{prefix}path", "field": "displacement" if solid else "potential"}
            every_point.append(save(op, shape, names))
    for arranged in d.families if replayed else ():
        family, order = arranged.family, arranged.order
        if family.kind.axes:
            op = pair_operators.save_layer(families.relaxing(d, family.kind), family.fluid)
            rows = family.kind.directions * (1 if family.fluid else 3)
            names = {"past": f"{family.name}_past", "layer": f"{family.name}_layer"}
            colours = ColourBoundaries(order.colours.runs)
            every_point.append(save(op, (len(order), rows, d.element.size), names, colours=colours))
    return arrays, every_point, of_faces


def undamped(shared, of_points, of_faces):
    """Return sums by masses and by Stacey's damping as if friction's g were 1: the law of motion is
    M a + C v = g (F - c (v - w)), of which F is what the transposed field multiplies.

    Parameters
    ----------
    shared : dict of str to Array
        Of the forward plan.
    of_points, of_faces : list of arrays
        Of the solid and of the fluid, see `nodal.ChainRule.gradient`.
    """
    for n, ((prefix, _), listed) in enumerate(zip(MEDIA, ("damped_points", "fluid_damped"))):
        if f"{listed}_points" not in shared:
            continue
        points = shared[f"{listed}_points"].data
        factor = np.ones(len(of_points[n]))
        factor[points] /= shared[f"{listed}_terms"].data[0].astype(float)
        of_points[n] = of_points[n] * factor
        if of_faces[n] is not None:
            of_faces[n] = of_faces[n] * factor[shared[f"{prefix}stacey_points"].data]
    return of_points, of_faces


def change_arrays(d, changes):
    """Return the values of the arrays of a Born plan that hold changes, by name.

    Parameters
    ----------
    d : NodalDiscretisation
    changes : (moduli, masses, damping)
        See `nodal.ChainRule.changes`.
    """
    moduli, masses, damping = changes
    out = {}
    for arranged in d.families:
        rows = pair_operators.rows_of(arranged.family.kind, arranged.family.fluid)
        values = arranged.order.arrange(moduli[:, :rows], 0.0)
        out[f"{arranged.family.name}_change"] = values
    for (prefix, _), mass, of_faces in zip(MEDIA, masses, damping):
        if len(mass):
            out[f"{prefix}mass_change"] = np.append(mass, 0.0)
        if of_faces is not None:
            out[f"{prefix}face_change"] = of_faces
    return out


# --- what steps keep and sum ----------------------------------------------------------------------


@dataclass
class Sums:
    """What steps back have summed.

    Parameters
    ----------
    elements : (ne, rows, n^3) array
        By moduli and losses.
    points : list of (points,) array
        By the masses of the solid and of the fluid.
    faces : list of (6 or 1, points) array, or None
        By the damping of absorbing points of the solid and of the fluid; None where there are none.
    light : (points,) array
        Squared accelerations of the solid's points; 0 where they are not asked for.
    """

    elements: np.ndarray
    points: list
    faces: list
    light: np.ndarray

    def each(self, change):
        """Return the `Sums` with each array replaced by ``change(array)``."""
        points = [change(values) for values in self.points]
        faces = [None if values is None else change(values) for values in self.faces]
        return Sums(change(self.elements), points, faces, change(self.light))


class Discretised:
    """Elements whose steps are marched: all of a mesh, or those of a rank; a subclass has what they are.

    Attributes
    ----------
    d : NodalDiscretisation
    elements : tuple
        What `step.elements_of` returns.
    rows_of_sums : int
        Rows of the sums of an element, most of all families of the whole mesh.
    """

    def kept_bytes(self, replayed):
        """Return the bytes of what is saved of a step, and of a checkpoint.

        Parameters
        ----------
        replayed : bool
            See `saves`.
        """
        arrays = self.elements[0]
        stores, *_ = saves(self.d, arrays, 1, replayed)
        changing = (a for a in arrays.values() if a.kind in STATE and a.data is None)
        return (
            sum(array.nbytes for array in stores.values() if array.kind == "store"),
            sum(array.nbytes for array in changing),
        )

    def collected(self, program):
        """Return the `Sums` of a program of steps back, as it has them.

        Parameters
        ----------
        program : Program
        """
        d = self.d
        of_elements = np.zeros((d.mesh.size, self.rows_of_sums, d.element.size))
        for arranged in d.families:
            elements = arranged.order.elements
            values = program.host(f"{arranged.family.name}_sums").astype(float)
            inside = np.flatnonzero(elements >= 0)
            of_elements[elements[inside], : values.shape[1]] = values[inside]

        def listed(name):
            return program.host(name).astype(float) if name in program.arrays else None

        of_points = [listed(f"{prefix}point_sums") for prefix, _ in MEDIA]
        of_points = [np.zeros(0) if values is None else values[:-1] for values in of_points]
        of_faces, light = [listed(f"{prefix}face_sums") for prefix, _ in MEDIA], listed("light")
        return Sums(of_elements, of_points, of_faces, np.zeros(d.state.solid) if light is None else light[:-1])


# --- the part of a rank -----------------------------------------------------------------------------------------------


class RankElements(Discretised):
    """The elements and points of a rank among those of the whole mesh; all ranks must make one and call what is said to be of
    all.

    Medium, sources, receivers and the chain rule are those of the whole mesh on every rank; what is divided are fields, programs
    and what is kept of a forward run. An entry of a row of sources or channels acts at one rank, the lowest that has its point:
    forces are summed over ranks after that, what ranks sample of a channel is added up.

    Parameters
    ----------
    linear : Linearised
    team : craton.comm.Together

    Attributes
    ----------
    numbers : (m,) int array
        Of the elements in the whole mesh.
    points : list of (points,) int array
        Numbers in the whole mesh of the points of the solid and of the fluid.
    owned : list of int array
        Own numbers of those that this rank takes: no lower rank has them.
    d : NodalDiscretisation
        Of the start.
    partition : tuple of craton.core.subdomain.Subdomain
        Of all ranks.
    """

    def __init__(self, linear, team):
        self.linear, self.whole, self.team = linear, linear.d, team
        self.rows_of_sums = linear.rows_of_sums
        d = self.whole
        prepared = Prepared(d.mesh, d.sampler, bounds=d.subdomain.bounds)
        owner = ranks.assign_owners(linear.scenario, prepared, d.fluid, team)
        subdomain, ghosted = build_subdomain(prepared, d.element, d.fluid, owner, team)
        self.numbers = subdomain.numbers
        self.points = [self._numbers_of_points(subdomain, bool(fluid)) for fluid in (0, 1)]
        self.owned = [
            np.setdiff1d(np.arange(count), shared.elsewhere)
            for count, shared in zip(subdomain.counts, subdomain.shared.values())
        ]
        self.places = [self._places(n) for n in (0, 1)]
        self.d = self._discretisation(subdomain, ghosted)
        self.elements = elements_of(self.d)
        self.absorbing = [self._absorbing(prefix, n) for n, (prefix, _) in enumerate(MEDIA)]
        described = ranks.described(self.d)
        self.partition = tuple(team.every(lambda: described))

    def _numbers_of_points(self, subdomain, fluid):
        """Numbers in the whole mesh of the points of a medium."""
        out = np.zeros(subdomain.counts[fluid], np.int64)
        chosen = self.whole.fluid[self.numbers] == fluid
        out[subdomain.points[chosen]] = self.whole.points[self.numbers[chosen]]
        return out

    def _places(self, n):
        """Own number of each point of a medium, the dummy behind them, where this rank takes it."""
        count = (self.whole.state.solid, self.whole.state.fluid)[n]
        out = np.full(count + 1, NOT_HERE, np.int64)
        out[self.points[n][self.owned[n]]] = self.owned[n]
        return out

    def _discretisation(self, subdomain, ghosted):
        """Return the `NodalDiscretisation` of the start on the elements of this rank."""
        d, numbers = self.whole, self.numbers
        layers = d.layers and replace(
            d.layers, directions=d.layers.directions[:, numbers], general=d.layers.general[numbers]
        )
        owned = ghosted.owned_by(subdomain)
        named = fields_of(d) | {f.name: getattr(owned, f.name) for f in fields(ElementGeometry)}
        named |= {
            "subdomain": subdomain,
            "statistics": d.statistics.select(numbers, self._here(d.statistics.mass)),
            "layers": layers,
            "places": places_of(subdomain, owned.fluid, d.ground, d.globe),
            "nodal": {name: values[numbers] for name, values in d.nodal.items()},
        }
        return with_families(named)

    def _absorbing(self, prefix, n):
        """Places of the absorbing points of a medium among those of the whole mesh, and which of
        them this rank takes; None without.
        """
        name = f"{prefix}stacey_points"
        if name not in self.elements[0]:
            return None
        here = self.elements[0][name].data
        everywhere = self.linear.elements[0][name].data
        return np.searchsorted(everywhere, self.points[n][here]), np.isin(here, self.owned[n])

    # --- from the whole to the rank -----------------------------------------------------------

    def steps(self, state):
        """Return the `RankSteps` of a `State`; of all ranks."""
        return RankSteps(self, state)

    def medium(self, d):
        """Return the `NodalDiscretisation` of this rank with the medium of one of the whole mesh."""
        values = {name: values[self.numbers] for name, values in d.nodal.items()}
        return with_medium(self.d, values, self._here(d.statistics.mass))

    def _here(self, values):
        """Return values of the points of the solid and of the fluid at those of this rank: list."""
        return [of_medium[at] for of_medium, at in zip(values, self.points)]

    def rows(self, rows, block):
        """Return the rows that have entries on this rank, with these, and their numbers.

        Parameters
        ----------
        rows : list of (index, weight)
            In a block of the whole mesh.
        block : str
            ``"state"`` or ``"forces"``.
        """
        first, index, weight = stacked_rows(rows)
        local = self._indices(index, block)
        here = local != NOT_HERE
        row = np.repeat(np.arange(len(rows)), np.diff(first))[here]
        numbers, begins = np.unique(row, return_index=True)
        return split_rows(np.append(begins, len(row)), local[here], weight[here]), numbers

    def _indices(self, index, block):
        """Return indices of a block of the whole mesh as those of this rank's, `NOT_HERE` where it
        does not take the point.
        """
        out = np.full(len(index), NOT_HERE, np.int64)
        for name, (start, _, components) in self.d.state.fields.items():
            if name.endswith(FORCE) != (block == "forces"):
                continue
            first, count, _ = self.whole.state.fields[name]
            inside = (first <= index) & (index < first + count * components)
            point, component = np.divmod(index[inside] - first, components)
            place = self.places[components == 1][point]
            moved = start + components * place + component
            out[inside] = np.where(place == NOT_HERE, NOT_HERE, moved)
        return out

    def changes(self, moduli, masses, damping):
        """Return changes of the medium of this rank; see `nodal.ChainRule.changes`."""
        of_faces = [
            None if absorbing is None else values[:, absorbing[0]] for absorbing, values in zip(self.absorbing, damping)
        ]
        return moduli[self.numbers], self._here(masses), of_faces

    # --- from the rank to the whole -----------------------------------------------------------

    def parts(self, sums):
        """Return `Sums` of the whole mesh with those that this rank takes, all else 0.

        Parameters
        ----------
        sums : Sums
            Of the steps of this rank.
        """
        of_points = [self._of_points(values, n) for n, values in enumerate(sums.points)]
        of_faces = [self._of_faces(*of) for of in zip(sums.faces, self.absorbing, (prefix for prefix, _ in MEDIA))]
        of_elements = placed(sums.elements, self.numbers, self.whole.mesh.size)
        return Sums(of_elements, of_points, of_faces, self._of_points(sums.light, 0))

    def _of_faces(self, values, absorbing, prefix):
        """Return sums of all absorbing points of a medium with those that this rank takes, else 0."""
        everywhere = self.linear.elements[0].get(f"{prefix}stacey_points")
        if everywhere is None:
            return None
        if values is None:
            return np.zeros((1 if prefix else 6, everywhere.shape[0]))
        place, taken = absorbing
        return placed(values[:, taken].T, place[taken], everywhere.shape[0]).T

    def _of_points(self, values, n):
        """Return values of the points of the whole mesh with those that this rank takes, else 0.

        Parameters
        ----------
        values : (points,) array
            Of the points of this rank, of its medium `n`.
        n : int
            0: solid, 1: fluid.
        """
        count = (self.whole.state.solid, self.whole.state.fluid)[n]
        return placed(values[self.owned[n]], self.points[n][self.owned[n]], count)


class RankSteps(Steps):
    """Steps of the elements of a rank with one medium; of all ranks.

    Parameters
    ----------
    share : RankElements
    state : State
        Of the whole mesh.
    """

    def __init__(self, share, state):
        self.share, self.state = share, state
        self.d = share.medium(state.d)
        start, *self.launches = share.elements
        # made here: ranks that are threads of one process would wait for each other's
        # functools.cached_property
        self.arrays = arrays_of(self.d, start)
        self.rows, self.recorded = share.rows(state.rows, "state")
        self.injected, self.acting = share.rows(state.injected, "forces")
        self.histories = state.histories[:, self.acting]
        self.of_sources = state.of_sources

    def taps(self, by_sources):
        """See `Steps.taps`; those that this rank has."""
        return self.share.rows(self.state.taps(by_sources), "forces")[0]

    def _of_rank(self, plan, by_sources=None):
        """Return a plan with the subdomains of all ranks and what joins their records; of all ranks."""
        numbers, name, rows = self.recorded, "record", self.state.rows
        if by_sources is not None:
            name, rows = "taps", self.state.taps(by_sources)
            numbers = self.share.rows(rows, "forces")[1]
        gathering = partial_sums(self.share.team.every(lambda: numbers), len(rows), SAMPLE)
        rank = self.share.team.rank
        return replace(plan, partition=self.share.partition, rank=rank, gatherings={name: gathering})

    def born(self, changes):
        """See `Steps.born`; of changes of the whole mesh."""
        moduli, *others = changes
        return super().born((self.share.changes(*moduli), *others))


def placed(values, places, count):
    """Return values (m, ...) in their places among `count`, all else 0."""
    out = np.zeros((count, *values.shape[1:]))
    out[places] = values
    return out
