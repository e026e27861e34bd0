"""Steps of two fields side by side: a field marched back from its last state with its transposed
field, which together give the gradient; or forward with its Born field.

The transposed field lam obeys the law of motion itself, backwards in time, with residuals as
sources: stiffness, masses and absorbing faces are symmetric. Where a fluid touches a solid, the two
change their roles: the fluid's transposed potential pushes the solid, the solid's accelerations
enter the fluid. The field itself is marched back by the same forces; at absorbing points it takes
the velocities that the forward run saved. Step 0 begins where the forward run ended.
"""

import numpy as np

from craton.core.plan import Array, Launch
from craton.methods.spectral_element.adjoint import pair_operators
from craton.methods.spectral_element.adjoint.pair_parts import COMPONENTS, MEDIA, Parts, field_of, forces_at, moved
from craton.methods.spectral_element.equations.step import phase

# how often a recorded field is differentiated by time
DERIVATIVES = {"displacement": 0, "velocity": 1, "potential": 0, "potential_rate": 1, "pressure": 2}


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
        launches[medium].append(Launch(op, tuple(names.get(a, a) for a in op.arrays), (0, 1, 0, 1, 0, count), params))
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
        "residual", [row_of_residual(d, row) for row in residuals], np.zeros((steps + 1, len(residuals)))
    )
    tapped = parts.sampled("taps", [row_of_tap(d, row) for row in taps], steps + 1)
    back = {"fluid": [], "solid": []}
    restored = {"fluid": [], "solid": []}
    for (prefix, components), medium in zip(MEDIA, ("solid", "fluid")):
        count = parts.absorbing(components)
        if count:
            sums = parts.have(f"{prefix}face_sums", (6 if components == 3 else 1, count))
            names = {"sums": sums, "store": f"{prefix}store"}
            restored[medium] = parts.on_faces(pair_operators.restore_points, components, **names)
        points = parts.points_of(components)
        if points:
            names = {"sums": parts.have(f"{prefix}point_sums", (points + 1,)), "light": ""}
            if light:
                names["light"] = parts.have(f"{prefix}light", (points + 1,))
            back[medium] = parts.on_points(pair_operators.pair_back, components, **names)
    rigid = [*parts.rigid(3), *parts.rigid(1)]
    stacey = pair_operators.pair_stacey
    # each medium takes from the other what is complete there: the field's fluid and the transposed
    # field's solid come first
    coupling = {"fluid": parts.coupling("pair_to_fluid", 0), "solid": parts.coupling("transposed_to_solid", 1)}
    halves = {"fluid": (0,), "solid": (1,)}
    forces = parts.forces(pair_operators.correlated, "sums", tapped, injected, coupling, halves)
    first = [*restored["fluid"], *parts.on_faces(stacey, 3, 1), *rigid]
    second = [*restored["solid"], *parts.on_faces(stacey, 1, 1), *rigid]
    return parts.plan(
        [
            *forces.values(),
            phase("first faces", first),
            *_second_coupling(parts),
            phase("second faces", second),
            phase("step", [*back["solid"], *back["fluid"]]),
        ]
    )


def _second_coupling(parts):
    """Return the phases of what the field's solid and the transposed field's fluid take from the
    other medium.
    """
    if not parts.coupled:
        return []
    return [
        phase("to solid", parts.coupling("pair_to_solid", 0), exchange=parts.exchange("solid", (0,))),
        phase("to fluid", parts.coupling("transposed_to_fluid", 1), exchange=parts.exchange("fluid", (1,))),
    ]


def row_of_residual(d, row):
    """Return the row by which the derivative by a channel enters the transposed field's forces."""
    index, weight = row
    name = field_of(d, index[0])
    force = "fluid_pair_force" if d.state.fields[name][2] == 1 else "pair_force"
    return moved(d, index, name, True, force), weight


def row_of_tap(d, row):
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
        np.asarray(orders)[None, :], [now / dt, (now - next_one) / dt**2, -(now - 2 * next_one + second) / dt**3]
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
    injected = parts.injected("source", [(forces_at(d, index, False), weight) for index, weight in table], series)
    if any(len(index) for index, _ in scattered):
        moved_rows = [(forces_at(d, index, True), weight) for index, weight in scattered]
        injected += parts.injected("scattered", moved_rows, series)
    recorded = [(moved(d, index, field_of(d, index[0]), True), weight) for index, weight in rows]
    sampled = parts.sampled("record", recorded, series.shape[0])
    ops = pair_operators
    coupling = {
        medium: [*parts.coupling(function, 0), *parts.coupling(function, 1)]
        for medium, function in (("fluid", "pair_to_fluid"), ("solid", "pair_to_solid"))
    }
    halves = {"fluid": (0, 1), "solid": (0, 1)}
    forces = parts.forces(ops.born, "change", [], injected, coupling, halves)
    step = [
        *parts.on_points(ops.pair_forward, 3, pressure=""),
        *parts.on_points(ops.pair_forward, 1, pressure="pair_pressure"),
    ]
    of_media = [
        of_medium
        for medium, elements in forces.items()
        for of_medium in (elements, phase(f"{medium} faces", _scattering(parts, medium)))
    ]
    return parts.plan([*of_media, phase("step", step), phase("record", sampled)])


def _scattering(parts, medium):
    """Return the launches of a medium's faces, between which masses and faces scatter."""
    ops, components = pair_operators, COMPONENTS[medium]
    prefix, count = parts._medium(components)
    if not count:
        return []
    rigid = parts.rigid(components)
    change = parts.have(f"{prefix}mass_change", (count + 1,))
    out = [*parts.damped(components, both=True), *parts.on_faces(ops.pair_stacey, components), *rigid]
    out += parts.on_points(ops.scatter_points, components, change=change)
    absorbing = parts.absorbing(components)
    if absorbing:
        rows = 6 if components == 3 else 1
        change = parts.have(f"{prefix}face_change", (rows, absorbing))
        out += parts.on_faces(ops.scatter_faces, components, change=change)
    return [*out, *parts.on_faces(ops.pair_stacey, components, 1), *rigid]
