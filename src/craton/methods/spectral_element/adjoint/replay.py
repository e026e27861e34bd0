"""Steps of a transposed field beside a forward one that was saved step by step: where absorbing layers
or attenuation remember, so that the forward steps cannot be taken back.

The transposed field obeys the law of motion backwards in time, its memory variables too. Mechanisms
of attenuation take the same part of a strain's past as of its transposed strain's future: the
products of the saved strain with what the transposed run has of stress, lost strain and its
derivative by 1/Q are the gradient, and the forward run's own memory variables are not asked for. In
layers filters and derivatives change places, see kernels/replay.h; there the strain is the filtered
one, for which the forward run saves its derivatives' memory variables. Friction in layers (stacey.h)
has its force g (F - c (v - w)) with g and c of the start for all media.

What is saved before step n, in slot n modulo slots: ``path`` and ``fluid_path``, the fields of all
points; ``FAMILY_past``; ``store`` and ``fluid_store`` of absorbing faces, see `pairs.saves`.
"""

import numpy as np

from craton.core.plan import Array, ColourBoundaries, Launch
from craton.methods.spectral_element.adjoint import pair_operators, pairs, replay_operators
from craton.methods.spectral_element.adjoint.pair_parts import MEDIA, Parts
from craton.methods.spectral_element.equations.step import phase
from craton.methods.spectral_element.mesh import families

SAVED = {"path": "displacement", "fluid_path": "potential"}


def saves(d, shared, slots):
    """Return arrays of what is saved, launches before each step, and those of `pairs.saves`.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        Of the forward plan.
    slots : int
        Steps that are held.
    """
    arrays, of_faces = pairs.saves(d, shared, slots)
    launches = []
    for prefix, components in MEDIA:
        points = d.state.solid if components == 3 else d.state.fluid
        if points:
            name = f"{prefix}path"
            arrays[name] = Array("store", (slots, points + 1, components), np.dtype(d.precision))
            names = {"path": name, "field": SAVED[name]}
            op = replay_operators.save_path(components)
            params = pair_operators.NOTHING | {"count": points + 1, "slots": slots}
            launches.append(_launch(op, names, points + 1, params))
    for arranged in d.families:
        family, count = arranged.family, len(arranged.order)
        if not family.kind.axes:
            continue
        op = replay_operators.save_layer(families.relaxing(d, family.kind), family.fluid)
        rows = family.kind.directions * (1 if family.fluid else 3)
        name = f"{family.name}_past"
        arrays[name] = Array("store", (slots, count, rows, d.element.size), np.dtype(d.precision))
        names = {"past": name, "layer": f"{family.name}_layer"}
        colours = ColourBoundaries(arranged.order.colours.runs)
        params = {"slots": slots, "count": count}
        launches.append(_launch(op, names, count, params, colours=colours))
    return arrays, launches, of_faces


def _launch(op, names, count, params, **options):
    """Launch of an operator on a list of points or elements."""
    arrays = tuple(names.get(a, a) for a in op.arrays)
    return Launch(op, arrays, (0, 1, 0, 1, 0, count), params, **options)


def transposed(d, shared, steps, residuals, taps, stores, every=1, light=False):
    """Return the plan of the steps back of the transposed field, one more than the forward run had;
    see `pairs.reversal`.

    Parameters
    ----------
    d : Discretisation
    shared : dict of str to Array
        Of the forward plan.
    steps : int
        Of the forward run.
    residuals : list of (index, weight)
        Rows in "state" of a single field of each channel.
    taps : list of (index, weight)
        Rows in "forces" of a single field, in whose places the transposed field is sampled.
    stores : dict of str to Array
        Of `saves`.
    every : int
        Every how many steps fields are correlated.
    light : bool
        Sum squared accelerations of the forward field.
    """
    slots = next(a.shape[0] for a in stores.values())
    parts = Parts(d, shared | stores, steps, slots, every)
    parts.arrays |= stores
    rows = [pairs.row_of_residual(d, row) for row in residuals]
    injected = parts.injected("residual", rows, np.zeros((steps + 1, len(residuals))))
    tapped = parts.sampled("taps", [pairs.row_of_tap(d, row) for row in taps], steps + 1)
    taken, faces, back = [], {}, []
    for prefix, components in MEDIA:
        points = parts.points_of(components)
        names = {"path": f"{prefix}path", "light": ""}
        if points and light:
            names["light"] = parts.have(f"{prefix}light", (points + 1,))
        taken += parts.on_points(replay_operators.take_points, components, **names)
        faces[components] = [*_sums_of_faces(parts, prefix, components)]
        if points:
            sums = parts.have(f"{prefix}point_sums", (points + 1,))
            back += parts.on_points(replay_operators.transposed_step, components, sums=sums)
    rigid = [*parts.rigid(3), *parts.rigid(1)]
    coupling = {"solid": parts.coupling("transposed_to_solid", 1)}
    halves = {"fluid": (), "solid": (1,)}
    forces = parts.forces(replay_operators.replayed, "sums", [*tapped, *taken], injected, coupling, halves)
    to_fluid = []
    if parts.coupled:
        complete = parts.exchange("fluid", (1,))
        launches = parts.coupling("transposed_to_fluid", 1)
        to_fluid = [phase("to fluid", launches, exchange=complete)]
    return parts.plan(
        [
            *forces.values(),
            phase("solid faces", [*faces[3], *rigid]),
            *to_fluid,
            phase("fluid faces", [*faces[1], *rigid]),
            phase("step", back),
        ]
    )


def _sums_of_faces(parts, prefix, components):
    """Yield the launches of absorbing points of a medium: friction, Stacey's faces and their sums."""
    yield from parts.damped(components)
    count = parts.absorbing(components)
    if count:
        sums = parts.have(f"{prefix}face_sums", (6 if components == 3 else 1, count))
        names = {"sums": sums, "store": f"{prefix}store"}
        yield from parts.on_faces(pair_operators.restore_points, components, **names)
    yield from parts.on_faces(pair_operators.pair_stacey, components, 1)


def undamped(d, shared, of_points, of_faces):
    """Return sums by masses and by Stacey's damping as if friction's g were 1: the law of motion is
    M a + C v = g (F - c (v - w)), of which F is what the transposed field multiplies.

    Parameters
    ----------
    d : Discretisation
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
