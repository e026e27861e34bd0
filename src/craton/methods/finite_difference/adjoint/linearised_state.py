"""A linearised scenario with one medium: the plans of its forward, transposed and perturbed (Born)
steps, and the chain rule from what they sum to the cells.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from craton.errors import Problem, refuse_all
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.adjoint import (
    dependences,
    increments,
    reversal,
    sensitivity,
    transposed,
    transverse,
)
from craton.methods.finite_difference.equations import material, vti
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves import adjoint
from craton.methods.waves.problem import assemble
from craton.methods.waves.receivers import rows_of_channels
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.sources import AXES, PARTS
from craton.methods.waves.tables import sampling, stacked_rows


def medium_of(d):
    """Return the medium of a `Discretisation` with `cells`: the chain rule of its law."""
    if not d.anisotropic:
        return sensitivity.Medium(d)
    if d.relaxing:
        return transverse.RelaxingTransverseMedium(d)
    return transverse.TransverseMedium(d)


class State(adjoint.LinearisedState):
    """Plans and chain rule of a `Linearised` scenario with one medium.

    Parameters
    ----------
    problem : Linearised
    d : Discretisation
        With the medium of the steps, see `Linearised.on_grid`.
    given : (rho, kappa, mu)
        Cells that parameters are made of; 1/Qp and 1/Qs behind them where these change.
    """

    def __init__(self, problem, d, given):
        self.problem, self.d, self.given = problem, d, given
        self.cells = d.cells
        refuse_all(increments.fluid_problems(d))
        self.medium = medium_of(d)
        self.forces, self.moments = problem.of_kind("force"), problem.of_kind("moment")
        self.of_receivers = dependences.of_receivers(d, problem.channels, problem.receivers)
        self.of_forces = dependences.of_forces(d, self.forces)
        self.of_moments = dependences.of_moments(d, self.moments)

    @property
    def columns(self):
        """Number of recorded channels."""
        return len(self.problem.channels)

    @cached_property
    def rows(self):
        """(index, weight) of each channel."""
        problem = self.problem
        (first, index, weight), _ = rows_of_channels(GridSpace(self.d), problem.channels, problem.receivers)
        weight = weight.astype(float)
        return [(index[a:b], weight[a:b]) for a, b in zip(first, first[1:])]

    def fills(self, plan):
        """Return what fills the material of a plan, see `Machine.commit`."""
        return {"material": partial(material.fill, d=self.d)}

    @cached_property
    def plain(self):
        """The plan of a run, as `craton plan` would make it of this medium."""
        return self._arranged(self.problem.sources)

    def forward(self, slots, every=1, margin=None):
        """Return the plan of steps that store their increments and record all channels, and behind
        these what multiplies the ratios of `dependences.of_receivers`, at every step.

        Parameters
        ----------
        slots, every : int
            See `increments`; with no slots nothing is stored.
        margin : (Margin, int), optional
            Keep the field beside absorbing layers in place of increments, so many steps of it; see
            `reversal`.
        """
        arrays, launches = {}, {}
        if margin:
            arrays, launch = reversal.saving(self.d, *margin)
            launches["velocity_before"] = launch
        if slots:
            arrays = increments.store(self.d, slots)
            launches |= increments.stored(self.d, slots, every)
        plan = self._arranged(self.problem.sources, (arrays, launches))
        return self._recording(plan, [*self.rows, *(v.rows for v in self.of_receivers)])

    def _arranged(self, sources, more=({}, {})):
        """Return a plan with sources, and with more arrays and launches."""
        setup = replace(self.problem.setup, space=GridSpace(self.d), sources=sources)
        return assemble(setup, Reuse(keep=False), more)

    def _recording(self, plan, rows):
        """Return the plan with a record of all steps of some rows."""
        arrays, launches = sampling(*stacked_rows(rows), plan.steps, plan.precision)
        phases = (*plan.phases[:-1], replace(plan.phases[-1], launches=tuple(launches)))
        return replace(plan, arrays=plan.arrays | arrays, phases=phases, slots=plan.steps)

    def adjoint(self, slots, every=1, by_sources=False):
        """Return the plan of the transposed steps; see `transposed.plan`.

        Parameters
        ----------
        slots, every : int
            See `increments`.
        by_sources : bool
            Sample the fields in the places of the sources: of unit sources, before the dependences.
        """
        fields, variables, taps = self._around(by_sources)
        return transposed.plan(self.d, self.columns, {"state": fields, "memory": variables}, taps, slots, every)

    def backward(self, margin, slots, every=1, by_sources=False, light=False, by_parameters=False):
        """Return the plan of the steps back of the forward field and of the transposed ones; see
        `reversal.plan`.

        Parameters
        ----------
        margin : Margin
        slots, every : int
            Steps that the history holds; every how many of them are correlated.
        by_sources : bool
            See `adjoint`.
        light : bool
            Sum the squared increments of velocities as well.
        by_parameters : bool
            Take one sum for each parameter in place of one for each field.
        """
        fields, _, taps = self._around(by_sources)
        sources, options = self.problem.sources, (margin, slots, every, light, by_parameters)
        return reversal.plan(self.d, self.columns, fields, taps, sources, *options)

    def _around(self, by_sources):
        """Residuals of fields and of memory variables, and taps of transposed steps."""
        taps = {}
        for kind, table in (("moment", self.of_moments), ("force", self.of_forces)):
            rows = [*(self._units_of(kind) if by_sources else ()), *(dependence.rows for dependence in table)]
            taps[kind] = len(rows), self.medium.rows.of_sources(adjoint.joined(rows))
        return *self.medium.rows.of_receivers(adjoint.joined(self.rows)), taps

    def _units_of(self, kind):
        """Rows of unit sources in the places of the forces or moments: `unit_sources.PARTS` of each."""
        axes = [*self.d.horizontal, 2]
        low, high = np.array([self.d.grid.bounds("xyz"[axis]) for axis in axes]).T

        def holds(xyz):
            return ((low <= xyz[:, axes]) & (xyz[:, axes] <= high)).all(axis=1)

        rows, count = [], PARTS[kind] + AXES  # to both sides along each axis
        for source in self.problem.of_kind(kind):
            # on its side of a contact
            sides_of = [kind == "moment" and sides.isotropic(self.d, source.moment)] * count
            around = self.d.grid.spacing, holds, axes
            rows += adjoint.unit_rows(GridSpace(self.d), source, kind, *around, fluid_first=sides_of)
        return rows

    def born(self, slots, every=1):
        """Return the plan of the steps of a perturbation: increments scattered by the array
        ``coefficients`` in place of sources, and ``force_series``, ``moment_series`` where the
        rows of these depend on the medium.
        """
        d, more = self.d, increments.store(self.d, slots)
        more |= increments.sums(d, "coefficients")
        scattered, launches = increments.scattered(d, slots, every)
        more |= scattered
        plan = self._arranged([], (more, launches))
        phases = list(plan.phases)
        for n, (name, table) in enumerate((("force", self.of_forces), ("moment", self.of_moments))):
            if table:
                series = np.zeros((d.steps, len(table)))
                rows = adjoint.joined([dependence.rows for dependence in table])
                arrays, inject = transposed.placed(d, *adjoint.injected(name, rows, series, d.precision))
                plan = replace(plan, arrays=plan.arrays | arrays)
                both = (inject, *phases[n].launches) if n == 0 else (*phases[n].launches, inject)
                phases[n] = replace(phases[n], launches=both)
        return self._recording(replace(plan, phases=tuple(phases)), self.rows)

    # --- the medium ---------------------------------------------------------------------------

    def gradient(self, sums, ratios, machine, scale=1.0, by_parameters=False):
        """Return dJ/d(rho, kappa, mu) of the cells.

        Parameters
        ----------
        sums : (sums, nz, ny, nx) array of the machine
            Of ``correlate``.
        ratios : sequence of float
            dJ/d(ratio) of the dependences of receivers, forces and moments, in this order.
        machine : Machine
        scale : float
            See `sensitivity.Medium.gradient`.
        by_parameters : bool
            Sums are those of `parameter_sums`.
        """
        rho, *moduli = self._by_cells(sums, machine, scale, by_parameters)
        more = dependences.by_moduli(self.dependences, ratios, self.cells)
        moduli[: len(more)] = (a + b for a, b in zip(moduli, more))
        count, given = len(self.cells), self.problem.parts(self.given)
        by_cells = (*sensitivity.of_matter(self.d, (rho, *moduli[: count - 1])), *moduli[count - 1 :])
        if self.d.relaxation is not None:
            by_cells = sensitivity.slopes_of_steps(self.d, *given, self._by_q).transpose(by_cells)
        return vti.untied(by_cells, self.problem.fluid) if self.d.anisotropic else tuple(by_cells)

    @property
    def _by_q(self):
        """True where 1/Qp and 1/Qs are parameters."""
        return len(self.given) > len(self.cells)

    def _by_cells(self, sums, machine, scale, by_parameters):
        """Chain rule of the sums, on the machine where it can be; see `gradient`."""
        if self.d.anisotropic:
            return self.medium.gradient(machine.to_host(sums), scale)
        with machine.work():
            medium = sensitivity.Medium(self.d, machine.xp)
            chain = medium.gradient_by_parameters if by_parameters else medium.gradient
            parts = chain(sums, scale)
        return [machine.to_host(part) for part in parts]

    def refuse_by_sources(self):
        """Refuse derivatives by moments whose shear stresses act on points of a fluid: their adjoint
        is not among the adjoint fields, which have no shear stress there. With attenuation it is.

        Raises
        ------
        ScenarioError
        """
        if self.d.relaxing:
            return
        words = "derivatives by a moment with shear on points of a fluid, or next to one"
        refuse_all(
            [
                Problem("source", f"{s.name}: {words}", "move it into the solid")
                for s in self.moments
                if self._without_modulus(*GridSpace(self.d).point_rows([s])[:2])
            ]
        )

    def _without_modulus(self, index, weight):
        """Return True where a shear stress acts on points that have none."""
        d, acting = self.d, weight != 0
        fields = (index + d.layout.first) // d.layout.field
        shear = acting & np.isin(fields, [d.fields.index(name) for name in d.stress if name not in d.normal])
        table = index[shear], weight[shear], np.zeros(shear.sum(), int)
        return bool((self.medium.rows.of_sources(table)[1] == 0).any())

    @property
    def dependences(self):
        """Of receivers, forces and moments."""
        return [*self.of_receivers, *self.of_forces, *self.of_moments]

    def perturbation(self, changes):
        """Return the coefficients of ``scatter``, and by how much each ratio changes.

        Parameters
        ----------
        changes : (rho, kappa, mu)
            (nz, ny, nx) each.
        """
        given, (changes, of_q) = self.problem.parts(self.given), self.problem.parts(changes)
        if self.d.relaxation is not None:
            slopes = sensitivity.slopes_of_steps(self.d, *given, self._by_q)
            *changes, of_p, of_s = slopes.apply((*changes, *(of_q if self._by_q else ())))
            of_q = of_p, of_s
        changes = sensitivity.of_matter(self.d, changes)
        of_q = of_q if any(increments.by_q(self.d)) else ()
        coefficients = self.medium.perturbation(*changes, *of_q)
        shape = (len(coefficients), *self.d.shape)
        ratios = dependences.changes(self.dependences, changes[1:], self.cells)
        return np.broadcast_to(coefficients, shape), ratios
