"""Plans of the forward, reversed and perturbed (Born) steps of one medium of a linearised scenario of
spectral elements: on the whole mesh, or on the elements of a rank.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.core.plan import STATE, StepPlan
from craton.methods.spectral_element.adjoint import pair_operators, pairs, replay
from craton.methods.spectral_element.adjoint.pair_parts import MEDIA
from craton.methods.spectral_element.equations import faces, step
from craton.methods.waves.tables import injection, sampling, stacked_rows, table_of


class Steps:
    """Plans of steps; a subclass has what they are made of.

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
        """Return the plan of steps that record all channels, and with slots save what `reversal`, or
        `transposed` where they are `replayed`, needs.
        """
        d, (elements, edges, exchanges) = self.d, self.launches
        arrays, first, sources = dict(self.arrays), [], []
        if slots:
            more, first, before = self.saves(slots, replayed)
            arrays |= more
            absorbing = {m: [*before[m], *launches] for m, launches in edges[0].items()}
            edges = [absorbing, *edges[1:]]
        if self.injected:
            columns = [np.full(len(i), n, np.int32) for n, (i, _) in enumerate(self.injected)]
            rows = [(*row, column) for row, column in zip(self.injected, columns)]
            table = table_of(*(np.concatenate(part) for part in zip(*rows)))
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

    def saves(self, slots, replayed):
        """Return arrays of what is saved of each step, launches before it, and by medium those
        between forces and step.
        """
        return saves(self.d, self.arrays, slots, replayed)

    def reversal(self, slots, every=1, light=False, by_sources=False):
        """Return the plan of the steps back; see `pairs.reversal`.

        Parameters
        ----------
        slots, every : int
        light : bool
        by_sources : bool
            Sample the transposed field in the places of unit sources, before that of columns in a
            fluid.
        """
        stores, *_ = self.saves(max(slots, 1), False)
        sources, taps = (self.injected, self.histories), self.taps(by_sources)
        plan = pairs.reversal(self.d, self.arrays, sources, self.rows, taps, stores, every, light)
        return self._of_rank(plan, by_sources)

    def transposed(self, slots, every=1, light=False, by_sources=False):
        """Return the plan of the steps back of the transposed field alone; see `replay.transposed`,
        parameters as of `reversal`.
        """
        stores, *_ = self.saves(slots, True)
        steps, taps = len(self.histories), self.taps(by_sources)
        plan = replay.transposed(self.d, self.arrays, steps, self.rows, taps, stores, every, light)
        return self._of_rank(plan, by_sources)

    def born(self, changes):
        """Return the plan of the steps of the field and its Born field; see `pairs.born`.

        Parameters
        ----------
        changes : tuple
            What `State.perturbation` returns.
        """
        sources = self.injected, self.histories
        moduli, _, of_sources = changes
        scattered = [
            (index, -of_sources[n] * weight) if n in of_sources else (index[:0], weight[:0])
            for n, (index, weight) in zip(self.acting, self.injected)
        ]
        values = change_arrays(self.d, moduli)
        return self._of_rank(pairs.born(self.d, self.arrays, sources, scattered, self.rows, values))

    def _of_rank(self, plan, by_sources=None):
        """Return a plan with what it knows of other ranks; `by_sources` of one that samples `taps`."""
        return plan


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


def saves(d, arrays, slots, replayed):
    """See `Steps.saves`.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of mesh and faces.
    slots : int
        Steps that are held.
    replayed : bool
        Save the field at all points, not velocities of absorbing ones.
    """
    if replayed:
        return replay.saves(d, arrays, slots)
    stores, of_faces = pairs.saves(d, arrays, slots)
    return stores, [], of_faces


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
    """

    elements: np.ndarray
    points: list
    faces: list

    def each(self, change):
        """Return the `Sums` with each array replaced by ``change(array)``."""
        points = [change(values) for values in self.points]
        faces = [None if values is None else change(values) for values in self.faces]
        return Sums(change(self.elements), points, faces)


class Discretised:
    """Elements whose steps are marched: all of a mesh, or those of a rank; a subclass has what they
    are.

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
        stores = saves(self.d, arrays, 1, replayed)[0]
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
        return Sums(of_elements, of_points, [listed(f"{prefix}face_sums") for prefix, _ in MEDIA])

    def light(self, program):
        """Return the sums of squared accelerations of the solid's points, (points,), of a program of
        steps back; empty without a solid.
        """
        if not self.d.state.solid:
            return np.zeros(0)
        return program.host("light").astype(float)[:-1]
