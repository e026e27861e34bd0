"""Steps of two fields side by side: a field marched back from its last state with its transposed
field, which together give the gradient; or forward with its Born field.

The transposed field lam obeys the law of motion itself, backwards in time, with residuals as
sources: stiffness, masses and absorbing faces are symmetric. Where a fluid touches a solid, the two
change their roles: the fluid's transposed potential pushes the solid, the solid's accelerations
enter the fluid. The field itself is marched back by the same forces; at absorbing points it takes
the velocities that the forward run saved. Step 0 begins where the forward run ended.
"""

import numpy as np

from craton.core.plan import Array, ColourBoundaries, Launch, StepPlan
from craton.methods.shared import points as tables
from craton.methods.shared.tables import injection, of_values, stacked_rows, table_of
from craton.methods.spectral_element import build, pair_operators
from craton.methods.spectral_element.faces import launch_on_points
from craton.methods.spectral_element.state import PairState

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
# how often a recorded field is differentiated by time
DERIVATIVES = {"displacement": 0, "velocity": 1, "potential": 0, "potential_rate": 1, "pressure": 2}
FIELDS = ("pair", "pair_rate", "pair_force")  # of a solid; of a fluid with its prefix
MEDIA = (("", 3), ("fluid_", 1))  # prefixes of names, components


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
        self.params = pair_operators.NOTHING | {
            "slots": slots,
            "steps": steps,
            "every": every,
            "dt": d.dt,
        }
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

    def elements(self, make, of_family):
        """Return the launches of elements, of solid and of fluid.

        Parameters
        ----------
        make : callable
            `pair_operators.correlated` or `born`.
        of_family : str
            Last part of the name of the array that each family has besides: "sums", "change".
        """
        out = []
        for arranged in self.d.families:
            family, order = arranged.family, arranged.order
            op = make(family.kind, family.fluid, self.d.precision)
            rows = 1 if family.fluid else 21 if family.kind.full else 2
            shape = (len(order), rows, self.d.element.size)
            extra = self.have(f"{family.name}_{of_family}", shape, lanes=True)
            names = {a: self.take(f"{family.name}_{a}") for a in ("points", "geometry", "moduli")}
            names[of_family] = extra
            params = {"first": 0}
            if "every" in dict(op.params.fields):
                params["every"] = self.params["every"]
            out.append(
                Launch(
                    op,
                    tuple(names.get(a, a) for a in op.arrays),
                    (0, 1, 0, 1, 0, len(order)),
                    params,
                    colours=ColourBoundaries(order.colours.runs),
                    outer=False,
                )
            )
        return out

    def on_points(self, make, components, **names):
        """Return the launch of an operator on all points of a medium, () where there are none."""
        prefix, count = self._medium(components)
        if not count:
            return ()
        op = make(components)
        names |= {"inverse_mass": self.take(f"{prefix}inverse_mass")}
        arrays = tuple(names.get(a, f"{prefix}{a}" if a in FIELDS else a) for a in op.arrays)
        return (Launch(op, arrays, (0, 1, 0, 1, 0, count + 1), self.params),)

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
            pair_operators.rigid(components),
            name,
            self.shared[points].shape[0],
            force=f"{prefix}pair_force",
        )
        return (launch,)

    def coupling(self, function, half):
        """Return a launch of pair_coupling.h, () where no fluid touches a solid."""
        if "coupling_solid" not in self.shared:
            return ()
        op = pair_operators.coupling(function)
        listed = {a: self.take(f"coupling_{a}") for a in ("solid", "fluid", "vectors")}
        for name in ("inverse_mass", "fluid_inverse_mass"):
            if name in op.arrays:
                self.take(name)
        count = self.shared["coupling_solid"].shape[0]
        params = self.params | {"count": count, "half": half}
        arrays = tuple(listed.get(a, a) for a in op.arrays)
        return (Launch(op, arrays, (0, 1, 0, 1, 0, count), params),)

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
        table = table_of(
            *(np.concatenate(part) for part in zip(*((*r, c) for r, c in zip(rows, columns))))
        )
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
            f"{name}_tap",
            source=(source, np.int64),
            first=(first, np.int32),
            weight=(weight, precision),
        )
        names = (name, "state", *(f"{name}_tap_{p}" for p in ("source", "first", "weight")))
        params = {"columns": len(rows), "slots": slots}
        box = (0, 1, 0, 1, 0, len(rows))
        return (Launch(tables.SAMPLE, (*names, "step"), box, params),)

    def _medium(self, components):
        """Prefix of names and number of points of a medium."""
        return ("", self.d.state.solid) if components == 3 else ("fluid_", self.d.state.fluid)

    def plan(self, **phases):
        """Return the plan of phases of launches, which counts the steps last."""
        advance = Launch(tables.ADVANCE, ("step",), (0, 1, 0, 1, 0, 1), {"columns": 1, "slots": 1})
        listed = [build.phase(name, launches) for name, launches in phases.items()]
        listed[-1] = build.phase(listed[-1].name, [*listed[-1].launches, advance])
        return StepPlan(
            precision=self.d.precision,
            layout=self.state.layout,
            arrays=self.arrays,
            phases=tuple(listed),
        )


def saves(d, shared, slots):
    """Return arrays and launches by medium that save the velocities of absorbing points before each
    step.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        With the arrays of absorbing faces.
    slots : int
        Steps that the stores hold.
    """
    arrays, launches = {}, {"solid": [], "fluid": []}
    for (prefix, components), medium in zip(MEDIA, launches):
        name = f"{prefix}stacey_points"
        if name not in shared:
            continue
        op, count = pair_operators.save_points(components), shared[name].shape[0]
        store = f"{prefix}store"
        arrays[store] = Array("store", (slots, count, components), np.dtype(d.precision))
        velocity = "velocity" if components == 3 else "potential_rate"
        names = {"store": store, "velocity": velocity, "points": name}
        params = pair_operators.NOTHING | {"count": count, "slots": slots, "dt": d.dt}
        launches[medium].append(
            Launch(op, tuple(names.get(a, a) for a in op.arrays), (0, 1, 0, 1, 0, count), params)
        )
    return arrays, launches


# --- plans ----------------------------------------------------------------------------------------


def reversal(d, shared, sources, residuals, taps, stores, every=1, light=False):
    """Return the plan of the steps back of a field and of its transposed field, one more than the
    forward run had.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        Of the forward plan.
    sources : (list of (index, weight), (steps, columns) array)
        Rows in "forces" of a single field, and what they inject.
    residuals : list of (index, weight)
        Rows in "state" of a single field of each channel; what they inject is filled into
        ``residual_series``, see `residual_series`.
    taps : list of (index, weight)
        Rows in "forces" of a single field, in whose places the transposed field is sampled.
    stores : dict of str to Array
        Of `saves`.
    every : int
    light : bool
        Sum squared accelerations of the field.
    """
    slots = next((a.shape[0] for a in stores.values()), 1)
    steps = sources[1].shape[0]
    parts = Parts(d, shared, steps, slots, every)
    parts.arrays |= stores
    rows, series = sources
    injected = parts.injected(
        "source",
        [(forces_at(d, index, False), weight) for index, weight in rows],
        np.concatenate([np.zeros((1, series.shape[1])), series[::-1]]),
    )
    injected += parts.injected(
        "residual",
        [_row_of_residual(d, row) for row in residuals],
        np.zeros((steps + 1, len(residuals))),
    )
    tapped = parts.sampled("taps", [_row_of_tap(d, row) for row in taps], steps + 1)
    back = {"fluid": [], "solid": []}
    restored = {"fluid": [], "solid": []}
    for (prefix, components), medium in zip(MEDIA, ("solid", "fluid")):
        count = parts.absorbing(components)
        if count:
            sums = parts.have(f"{prefix}face_sums", (6 if components == 3 else 1, count))
            names = {"sums": sums, "store": f"{prefix}store"}
            restored[medium] = parts.on_faces(pair_operators.restore_points, components, **names)
        points = parts._medium(components)[1]
        if points:
            names = {"sums": parts.have(f"{prefix}point_sums", (points + 1,)), "light": ""}
            if light:
                names["light"] = parts.have(f"{prefix}light", (points + 1,))
            back[medium] = parts.on_points(pair_operators.pair_back, components, **names)
    rigid = [*parts.rigid(3), *parts.rigid(1)]
    stacey = pair_operators.pair_stacey
    return parts.plan(
        elements=[
            *tapped,
            *parts.elements(pair_operators.correlated, "sums"),
            *injected,
            *parts.coupling("pair_to_fluid", 0),
            *parts.coupling("transposed_to_solid", 1),
        ],
        first=[*restored["fluid"], *parts.on_faces(stacey, 3, 1), *rigid],
        second=[
            *parts.coupling("pair_to_solid", 0),
            *parts.coupling("transposed_to_fluid", 1),
            *restored["solid"],
            *parts.on_faces(stacey, 1, 1),
            *rigid,
        ],
        step=[*back["solid"], *back["fluid"]],
    )


def _row_of_residual(d, row):
    """Return the row by which the derivative by a channel enters the transposed field's forces."""
    index, weight = row
    name = field_of(d, index[0])
    force = "fluid_pair_force" if d.state.fields[name][2] == 1 else "pair_force"
    return moved(d, index, name, True, force), weight


def _row_of_tap(d, row):
    """Return the row that samples the transposed field where a row of sources acts."""
    index, weight = row
    fluid = bool(d.state.fluid) and index[0] >= d.offset("potential_force")
    name = "potential_force" if fluid else "force"
    return moved(d, index, name, True, "fluid_pair" if fluid else "pair"), weight


def residual_series(derivative, orders, dt):
    """Return what channels inject into the transposed field, (steps + 1, channels), last step first.

    Parameters
    ----------
    derivative : (steps, channels) array
        Of the misfit by the samples.
    orders : (channels,) int array
        How often the recorded field is differentiated, `DERIVATIVES`.
    dt : float
        s.
    """
    later = np.concatenate([derivative, np.zeros((2, derivative.shape[1]))])
    now, next_one, second = later[:-2], later[1:-1], later[2:]
    out = np.choose(
        np.asarray(orders)[None, :],
        [now / dt, (now - next_one) / dt**2, -(now - 2 * next_one + second) / dt**3],
    )
    return np.concatenate([out[::-1], np.zeros((1, derivative.shape[1]))])


def born(d, shared, sources, scattered, rows, changes):
    """Return the plan of the steps of a field and of its Born field, which is recorded.

    Parameters
    ----------
    d, shared
        See `reversal`.
    sources : (list of (index, weight), (steps, columns) array)
    scattered : list of (index, weight)
        Rows in "forces" of what changes of the medium at sources inject, by the same series; those of
        no change are empty.
    rows : list of (index, weight)
        Rows in "state" of each channel.
    changes : dict of str to ndarray
        Of moduli, ``FAMILY_change``, masses and faces.
    """
    table, series = sources
    parts = Parts(d, shared, series.shape[0], values=changes)
    injected = parts.injected(
        "source", [(forces_at(d, index, False), weight) for index, weight in table], series
    )
    if any(len(index) for index, _ in scattered):
        moved_rows = [(forces_at(d, index, True), weight) for index, weight in scattered]
        injected += parts.injected("scattered", moved_rows, series)
    recorded = [(moved(d, index, field_of(d, index[0]), True), weight) for index, weight in rows]
    sampled = parts.sampled("record", recorded, series.shape[0])
    faces = {medium: _scattering(parts, components) for medium, components in KINDS.items()}
    ops = pair_operators
    return parts.plan(
        elements=[
            *parts.elements(ops.born, "change"),
            *injected,
            *parts.coupling("pair_to_fluid", 0),
            *parts.coupling("pair_to_fluid", 1),
        ],
        fluid=faces["fluid"],
        solid=[
            *parts.coupling("pair_to_solid", 0),
            *parts.coupling("pair_to_solid", 1),
            *faces["solid"],
        ],
        step=[
            *parts.on_points(ops.pair_forward, 3, pressure=""),
            *parts.on_points(ops.pair_forward, 1, pressure="pair_pressure"),
        ],
        record=[*sampled],
    )


KINDS = {"solid": 3, "fluid": 1}


def _scattering(parts, components):
    """Return the launches of a medium's faces, between which masses and faces scatter."""
    ops, (prefix, count) = pair_operators, parts._medium(components)
    if not count:
        return []
    rigid = parts.rigid(components)
    change = parts.have(f"{prefix}mass_change", (count + 1,))
    out = [*parts.on_faces(ops.pair_stacey, components), *rigid]
    out += parts.on_points(ops.scatter_points, components, change=change)
    absorbing = parts.absorbing(components)
    if absorbing:
        rows = 6 if components == 3 else 1
        change = parts.have(f"{prefix}face_change", (rows, absorbing))
        out += parts.on_faces(ops.scatter_faces, components, change=change)
    return [*out, *parts.on_faces(ops.pair_stacey, components, 1), *rigid]
