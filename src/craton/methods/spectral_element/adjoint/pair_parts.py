"""Arrays and launches of two fields side by side: where a single run's fields lie in them, elements,
faces, points, sources and receivers; see pairs.py and replay.py.
"""

from dataclasses import replace

import numpy as np

from craton.core.plan import Array, ColourBoundaries, Launch, StepPlan
from craton.methods.spectral_element.adjoint import pair_operators, replay_operators
from craton.methods.spectral_element.equations import step
from craton.methods.spectral_element.equations.faces import launch_on_points
from craton.methods.spectral_element.equations.state import PairState
from craton.methods.spectral_element.mesh import families
from craton.methods.waves import tables
from craton.methods.waves.ranks.sharing import Sharing
from craton.methods.waves.tables import injection, of_values, stacked_rows, table_of

# the field of a pair in which a field of a single run lies
PAIRS = {
    "displacement": "pair",
    "velocity": "pair_rate",
    "force": "pair_force",
    "potential": "fluid_pair",
    "potential_rate": "fluid_pair_rate",
    "potential_force": "fluid_pair_force",
    "pressure": "pair_pressure",
}
# memory variables of elements, and the kind of their arrays
REMEMBERED = ("memory", "second_memory", "layer")
KINDS_OF = dict.fromkeys(REMEMBERED, "wavefield")
FIELDS = ("pair", "pair_rate", "pair_force")  # of a solid; of a fluid with its prefix
MEDIA = (("", 3), ("fluid_", 1))  # prefixes of names, components
LISTED = ("solid", "fluid", "vectors", "rates")  # of pairs of points
COMPONENTS = {"fluid": 1, "solid": 3}  # of the media in the order of their forces


def pair_state(d):
    """Return where the fields of pairs lie."""
    return PairState(d.state.solid, d.state.fluid)


def field_of(d, index):
    """Return the name of the field of "state" in which an index lies."""
    names = [name for name in d.state.fields if not name.endswith("force")]
    starts = np.array([d.state.offset(name) for name in names])
    order = np.argsort(starts)
    return names[order[np.searchsorted(starts[order], index, "right") - 1]]


def moved(d, index, name, second, into=None):
    """Return indices of a field of a single run in the pairs.

    Parameters
    ----------
    d : Discretisation
    index : (n,) int array
        In the block of the field.
    name : str
        Of the field.
    second : bool
        Of the second of the two fields.
    into : str, optional
        A field of the pairs; by default the one of `PAIRS`.
    """
    start, _, components = d.state.fields[name]
    into = into or PAIRS[name]
    point, component = np.divmod(np.asarray(index, np.int64) - start, components)
    offset = pair_state(d).offset(into)
    if into == "pair_pressure":
        return offset + point
    return offset + 2 * components * point + second * components + component


def forces_at(d, index, second):
    """Return indices of "forces" in the pairs."""
    out = np.empty(len(index), np.int64)
    for name, (start, count, components) in d.state.fields.items():
        if name.endswith("force"):
            inside = (index >= start) & (index < start + count * components)
            out[inside] = moved(d, index[inside], name, second)
    return out


# --- arrays and launches --------------------------------------------------------------------------


class Parts:
    """Arrays and launches of pairs on the mesh of a `Discretisation`.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        Of the forward plan: mesh, material, faces.
    steps : int
        Of the forward run.
    slots : int
        Steps that the store holds.
    every : int
        Every how many steps fields are correlated.
    values : dict of str to ndarray
        Of arrays that do not begin as zeros.
    """

    def __init__(self, d, shared, steps, slots=1, every=1, values=None):
        self.d, self.shared, self.values = d, shared, values or {}
        self.params = pair_operators.NOTHING | {"slots": slots, "steps": steps, "every": every, "dt": d.dt}
        self.state = pair_state(d)
        self.arrays = self.state.arrays(d.precision) | {"step": Array("points", (1,), np.int32)}

    def take(self, name):
        """Have an array of the forward plan; return its name."""
        self.arrays[name] = self.shared[name]
        return name

    def have(self, name, shape, kind="sums", **options):
        """Have an array of zeros, or of its values; return its name."""
        precision, values = np.dtype(self.d.precision), self.values.get(name)
        data = None if values is None else np.asarray(values, precision)
        self.arrays[name] = Array(kind, shape, precision, data, **options)
        return name

    def elements(self, make, of_family, medium):
        """Return the launches of the elements of a medium.

        Parameters
        ----------
        make : callable
            `pair_operators.correlated` or `born`.
        of_family : str
            Last part of the name of the array that each family has besides: "sums", "change".
        medium : str
            ``"solid"`` or ``"fluid"``.
        """
        out = []
        for arranged in self.d.families:
            family, order = arranged.family, arranged.order
            if family.fluid != (medium == "fluid"):
                continue
            kind = families.relaxing(self.d, family.kind)
            op = make(kind, family.fluid, self.d.precision)
            rows = pair_operators.rows_of(kind, family.fluid)
            names = {of_family: (rows, self.d.element.size)} | self._remembered(op, kind, family)
            names = {
                a: self.have(f"{family.name}_{a}", (len(order), *shape), KINDS_OF.get(a, "sums"), lanes=True)
                for a, shape in names.items()
            }
            for a in ("points", "geometry", "moduli", "loss", "rates", "past"):
                if a in op.arrays:
                    full = f"{family.name}_{a}"
                    names[a] = self.take(full) if full in self.shared else ""
            absent = {a: "" for a in REMEMBERED if a not in names}
            known = self.params | {"first": 0, "count": len(order)}
            out.append(
                Launch(
                    op,
                    tuple((absent | names).get(a, a) for a in op.arrays),
                    (0, 1, 0, 1, 0, len(order)),
                    {name: known[name] for name in op.params.names},
                    colours=ColourBoundaries(order.colours.runs),
                    outer=family.outer,
                )
            )
        return out

    def _remembered(self, op, kind, family):
        """Shapes of the memory variables of an element of a family, by the operator's name of the
        array.
        """
        size, shapes = self.d.element.size, {}
        if kind.relaxation:
            shapes |= {a: (size, kind.stored) for a in REMEMBERED[:2] if a in op.arrays}
        if kind.axes:
            fields = (1 if family.fluid else 3) * (2 if "change" in op.arrays else 1)
            shapes["layer"] = (2 * fields * kind.directions, size)
        return shapes

    def damped(self, components, both=False):
        """Return the launch of the friction in absorbing layers of the second field, or of both; ()
        without.
        """
        prefix, _ = self._medium(components)
        listed = "damped_points" if components == 3 else "fluid_damped"
        if f"{listed}_points" not in self.shared:
            return ()
        op = replay_operators.damped_pair(components, both)
        names = {a: self.take(f"{listed}_{a}") for a in ("points", "terms")}
        count = self.shared[names["points"]].shape[0]
        shape = (components * (1 + both), count)
        names["lowpass"] = self.have(f"{listed}_lowpass", shape, "boundary points")
        names |= {"force": f"{prefix}pair_force", "velocity": f"{prefix}pair_rate"}
        arrays = tuple(names[a] for a in op.arrays)
        return (Launch(op, arrays, (0, 1, 0, 1, 0, count), {"count": count}),)

    def on_points(self, make, components, **names):
        """Return the launch of an operator on all points of a medium, () where there are none."""
        prefix, count = self._medium(components)
        if not count:
            return ()
        op = make(components)
        if "inverse_mass" in op.arrays:
            names |= {"inverse_mass": self.take(f"{prefix}inverse_mass")}
        arrays = tuple(names.get(a, f"{prefix}{a}" if a in FIELDS else a) for a in op.arrays)
        params = self.params | {"count": count + 1}
        return (Launch(op, arrays, (0, 1, 0, 1, 0, count + 1), params),)

    def on_faces(self, make, components, half=0, **names):
        """Return the launch of an operator on the absorbing points of a medium, () where there are
        none.
        """
        prefix, _ = self._medium(components)
        if f"{prefix}stacey_points" not in self.shared:
            return ()
        op = make(components)
        for part in ("points", "terms"):
            if part in op.arrays:
                names[part] = self.take(f"{prefix}stacey_{part}")
        if "inverse_mass" in op.arrays:
            names["inverse_mass"] = self.take(f"{prefix}inverse_mass")
        count = self.absorbing(components)
        arrays = tuple(names.get(a, f"{prefix}{a}" if a in FIELDS else a) for a in op.arrays)
        params = self.params | {"count": count, "half": half}
        return (Launch(op, arrays, (0, 1, 0, 1, 0, count), params),)

    def absorbing(self, components):
        """Return the number of absorbing points of a medium."""
        name = f"{self._medium(components)[0]}stacey_points"
        return self.shared[name].shape[0] if name in self.shared else 0

    def rigid(self, components):
        """Return the launch of the points that do not move, () where there are none."""
        prefix, _ = self._medium(components)
        name = "rigid_points" if components == 3 else "fluid_rigid"
        if f"{name}_points" not in self.shared:
            return ()
        points = self.take(f"{name}_points")
        launch = launch_on_points(
            pair_operators.rigid(components), name, self.shared[points].shape[0], force=f"{prefix}pair_force"
        )
        return (launch,)

    def coupling(self, function, half):
        """Return the launches of pair_coupling.h, what layers along faces of fluid and solid add
        included; () where no fluid touches a solid.
        """
        named = [a for a in self.shared if a.startswith("coupling") and a.endswith("_solid")]
        return tuple(self._coupling_of(function, half, a.removesuffix("_solid")) for a in named)

    def _coupling_of(self, function, half, listed):
        """Return the launch of pair_coupling.h on a list of pairs of points."""
        op = pair_operators.coupling(function, layered=listed != "coupling")
        names = {a: self.take(f"{listed}_{a}") for a in LISTED if a in op.arrays}
        for name in ("inverse_mass", "fluid_inverse_mass"):
            if name in op.arrays:
                self.take(name)
        count = self.shared[f"{listed}_solid"].shape[0]
        if "layer" in op.arrays:
            both = function.startswith("pair")
            names["layer"] = self.have(f"{listed}_{function}", (1 + both, count), "boundary points")
        params = self.params | {"count": count, "half": half}
        arrays = tuple(names.get(a, a) for a in op.arrays)
        return Launch(op, arrays, (0, 1, 0, 1, 0, count), params)

    def injected(self, name, rows, series):
        """Return the launch that adds columns of a series to "forces", () without any.

        Parameters
        ----------
        name : str
            Of its arrays.
        rows : list of (index, weight)
            Of each column.
        series : (steps, columns) array
        """
        if not rows:
            return ()
        columns = [np.full(len(index), n, np.int32) for n, (index, _) in enumerate(rows)]
        table = table_of(*(np.concatenate(part) for part in zip(*((*r, c) for r, c in zip(rows, columns)))))
        arrays, launch = injection(name, table, series, self.d.precision, "forces")
        self.arrays |= arrays
        return (launch,)

    def sampled(self, name, rows, slots):
        """Return the launch that samples rows of "state" at every step into an array (slots,
        columns), () without any.
        """
        if not rows:
            return ()
        first, source, weight = stacked_rows(rows)
        precision = self.d.precision
        self.arrays[name] = Array("record", (slots, len(rows)), precision)
        self.arrays |= of_values(
            f"{name}_tap", source=(source, np.int64), first=(first, np.int32), weight=(weight, precision)
        )
        names = (name, "state", *(f"{name}_tap_{p}" for p in ("source", "first", "weight")))
        params = {"columns": len(rows), "slots": slots}
        box = (0, 1, 0, 1, 0, len(rows))
        return (Launch(tables.SAMPLE, (*names, "step"), box, params),)

    def points_of(self, components):
        """Return the number of points of a medium."""
        return self._medium(components)[1]

    def _medium(self, components):
        """Prefix of names and number of points of a medium."""
        return ("", self.d.state.solid) if components == 3 else ("fluid_", self.d.state.fluid)

    # --- phases -------------------------------------------------------------------------------

    @property
    def media(self):
        """Media that any rank has, in the order of their forces: list of str."""
        solid, fluid = self.d.subdomain.media
        return ["fluid"] * fluid + ["solid"] * solid

    @property
    def coupled(self):
        """True where the run has both media."""
        return all(self.d.subdomain.media)

    def forces(self, make, of_family, before, injected, coupling, halves):
        """Return the phases of the forces of elements, which neighbours complete: dict by medium.

        Parameters
        ----------
        make, of_family
            See `elements`.
        before : list of Launch
            Before all forces.
        injected : list of Launch
            What sources add to the forces of both media.
        coupling : dict of str to list of Launch
            By medium, what adds to its forces from the other medium.
        halves : dict of str to tuple of int
            By medium, the fields whose forces are complete then: 0 the first, 1 the second. Where
            the run has one medium only, those of all media.
        """
        out = {}
        for medium in self.media:
            launches = [*injected, *coupling.get(medium, ())]
            elements = self.elements(make, of_family, medium)
            complete = halves[medium] if self.coupled else sorted({*sum(halves.values(), ())})
            phase = step.phase(medium, launches, elements, self.exchange(medium, complete))
            first = (replace(launch, outer=True) for launch in before)
            out[medium] = replace(phase, launches=(*first, *phase.launches))
            before = injected = ()
        return out

    def exchange(self, medium, halves):
        """Have the arrays of an exchange that completes forces at points of several ranks; return
        the parts of its `Phase`: dict.

        Parameters
        ----------
        medium : str
        halves : sequence of int
            Which of the two fields.
        """
        shared, components = self.d.subdomain.shared[medium], COMPONENTS[medium]
        if not (shared.lists and halves):
            return {}
        lists = {
            rank: np.ravel(2 * np.asarray(numbers, np.int64)[:, None] + list(halves))
            for rank, numbers in shared.lists.items()
        }
        arrays, parts = Sharing(shared.team, lists).exchange(
            f"{self._medium(components)[0]}pair_force",
            components,
            self.d.precision,
            of_name="_" + "".join(map(str, halves)),
        )
        self.arrays |= arrays
        return parts

    def plan(self, phases):
        """Return the plan of phases, which counts the steps last.

        Parameters
        ----------
        phases : list of Phase
        """
        advance = Launch(tables.ADVANCE, ("step",), (0, 1, 0, 1, 0, 1), {"columns": 1, "slots": 1}, outer=True)
        *others, last = phases
        return StepPlan(
            precision=self.d.precision,
            layout=self.state.layout,
            arrays=self.arrays,
            phases=(*others, replace(last, launches=(*last.launches, advance))),
        )
