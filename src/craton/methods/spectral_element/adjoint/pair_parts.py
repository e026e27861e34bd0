"""Arrays and launches of two fields side by side: where a single run's fields lie in them, elements,
faces, points, sources and receivers; see linearised_steps.py.
"""

from dataclasses import replace

import numpy as np

from craton.core.plan import Array, ColourBoundaries, StepPlan
from craton.methods.spectral_element.adjoint import pair_operators
from craton.methods.spectral_element.adjoint.pair_operators import PREFIX
from craton.methods.spectral_element.equations import step
from craton.methods.spectral_element.equations.state import PairState
from craton.methods.spectral_element.mesh import families
from craton.methods.waves import tables
from craton.methods.waves.adjoint import joined
from craton.methods.waves.exchange import Sharing

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
REMEMBERED = ("memory", "second_memory", "layer")  # memory variables of elements
MEDIA = tuple((prefix, components) for components, prefix in PREFIX.items())  # prefixes of names, components
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


def in_fluid(d, index):
    """Return True for indices of "forces" that lie in those of a fluid."""
    return bool(d.state.fluid) and bool(index[0] >= d.offset("potential_force"))


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
        self.arrays = self.state.arrays(d.precision) | tables.STEP

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
            size, fields = self.d.element.size, (1 if family.fluid else 3) * (2 if of_family == "change" else 1)
            shapes = {of_family: (rows, size)}
            if kind.relaxation:
                shapes |= {a: (size, kind.stored) for a in REMEMBERED[:2] if a in op.arrays}
            if kind.axes:
                shapes["layer"] = (2 * fields * kind.directions, size)
            names = dict.fromkeys(REMEMBERED, "")
            for a, shape in shapes.items():
                holds = "wavefield" if a in REMEMBERED else "sums"
                names[a] = self.have(f"{family.name}_{a}", (len(order), *shape), holds, lanes=True)
            for a in ("points", "geometry", "moduli", "loss", "rates", "past"):
                if a in op.arrays:
                    full = f"{family.name}_{a}"
                    names[a] = self.take(full) if full in self.shared else ""
            options = {"colours": ColourBoundaries(order.colours.runs), "outer": family.outer}
            out.append(pair_operators.launch(op, names, len(order), self.params | {"first": 0}, **options))
        return out

    def damped(self, components, both=False):
        """Return the launch of the friction in absorbing layers of the second field, or of both; () without."""
        prefix, listed = PREFIX[components], "damped_points" if components == 3 else "fluid_damped"
        names = {"force": f"{prefix}pair_force", "velocity": f"{prefix}pair_rate"}
        if count := self.count(listed):
            names["lowpass"] = self.have(f"{listed}_lowpass", (components * (1 + both), count), "boundary points")
        return self.on_list(pair_operators.damped_pair(components, both), listed, **names)

    def on_points(self, function, components, **names):
        """Return the launch of an operator on all points of a medium, () where there are none."""
        if not (count := self.points_of(components)):
            return ()
        return (self._launch(pair_operators.on_points(function, components), count + 1, components, 0, names),)

    def on_faces(self, function, components, half=0, **names):
        """Return the launch of an operator on the absorbing points of a medium, () where there are none."""
        op = pair_operators.on_points(function, components)
        return self.on_list(op, f"{PREFIX[components]}stacey", half, components, **names)

    def rigid(self, components):
        """Return the launch of the points that do not move, () where there are none."""
        listed, force = ("rigid_points", "pair_force") if components == 3 else ("fluid_rigid", "fluid_pair_force")
        return self.on_list(pair_operators.rigid(components), listed, force=force)

    def coupling(self, function, half):
        """Return the launches of pair_coupling.h, what layers along faces of fluid and solid add
        included; () where no fluid touches a solid.
        """
        launches = ()
        lists = [name for name in self.shared if name.startswith("coupling") and name.endswith("_solid")]
        for listed in (name.removesuffix("_solid") for name in lists):
            op, names = pair_operators.coupling(function, layered=listed != "coupling"), {}
            if "layer" in op.arrays:
                shape = (1 + function.startswith("pair"), self.count(listed, "solid"))
                names["layer"] = self.have(f"{listed}_{function}", shape, "boundary points")
            launches += self.on_list(op, listed, half, **names)
        return launches

    def on_list(self, op, listed, half=0, components=3, **names):
        """Return the launch of an operator on a list of points, or pairs of points, of the forward plan, whose arrays are
        LISTED_part; () where there is none.

        Parameters
        ----------
        op : Operator
        listed : str
        half : int
            The first (0) or the second field (1).
        components : int
            Of the medium whose fields and masses are used.
        **names
            Of arrays that the launch has besides.
        """
        parts = [a for a in op.arrays if a not in names and f"{listed}_{a}" in self.shared]
        if not parts:
            return ()
        names |= {a: self.take(f"{listed}_{a}") for a in parts}
        count = self.count(listed, "solid" if "solid" in parts else "points")
        return (self._launch(op, count, components, half, names),)

    def _launch(self, op, count, components, half, names):
        """Return the launch of an operator on points or entries of a list."""
        prefix = PREFIX[components]
        names |= {a: f"{prefix}{a}" for a in pair_operators.FIELDS if a in op.arrays}
        names |= {a: self.take(f"{prefix}{a}") for a in op.arrays if a.endswith("inverse_mass")}
        return pair_operators.launch(op, names, count, self.params | {"half": half})

    def count(self, listed, part="points"):
        """Return the number of entries of a list of the forward plan."""
        name = f"{listed}_{part}"
        return self.shared[name].shape[0] if name in self.shared else 0

    def points_of(self, components):
        """Return the number of points of a medium."""
        return self.d.state.solid if components == 3 else self.d.state.fluid

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
        arrays, launch = tables.injection(name, tables.table_of(*joined(rows)), series, self.d.precision, "forces")
        self.arrays |= arrays
        return (launch,)

    def sampled(self, name, rows, slots):
        """Return the launch that samples rows of "state" at every step into an array (slots, columns), () without any."""
        if not rows:
            return ()
        arrays, launch = tables.sampled(name, f"{name}_tap", tables.stacked_rows(rows), slots, self.d.precision)
        self.arrays |= arrays
        return (launch,)

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
            "pair_force" if components == 3 else "fluid_pair_force",
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
        advance = replace(tables.COUNT_STEPS, outer=True)
        *others, last = phases
        return StepPlan(
            precision=self.d.precision,
            layout=self.state.layout,
            arrays=self.arrays,
            phases=(*others, replace(last, launches=(*last.launches, advance))),
        )
