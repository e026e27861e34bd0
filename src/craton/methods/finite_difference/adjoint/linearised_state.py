"""A linearised scenario with one medium: the plans of its forward, transposed and perturbed (Born)
steps, and the chain rule from what they sum to the cells.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from craton.errors import Problem, refuse_all
from craton.methods.finite_difference.adjoint import (
    dependences,
    increments,
    laminate_gradient,
    quality,
    reversal,
    sensitivity,
    strains,
    transposed,
    transverse,
    transverse_relaxing,
    units,
)
from craton.methods.finite_difference.adjoint.quality import WITH_Q
from craton.methods.finite_difference.equations import material, vti
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves.problem import assemble
from craton.methods.waves.receivers import rows_of_channels
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.tables import injection, sampling, stacked_rows, table_of


def medium_of(d):
    """Return the medium of a `Discretisation` with `cells`: the chain rule of its law."""
    if not d.anisotropic:
        return sensitivity.Medium(d)
    if d.relaxing:
        return transverse_relaxing.RelaxingTransverseMedium(d)
    return transverse.TransverseMedium(d)


class State:
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
        refuse_all(laminate_gradient.fluid_problems(d))
        self.medium = medium_of(d)
        self.forces = [s for s in problem.sources if s.force is not None]
        self.moments = [s for s in problem.sources if s.moment is not None]
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
            launches |= strains.stored(self.d, slots, every)
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
        residuals, taps = self._around(by_sources)
        entries = {"state": residuals}
        if self.d.relaxing:
            entries["memory"] = [self.medium.into_memory(rows) for rows in self.rows]
        return transposed.plan(self.d, entries, taps, slots, every)

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
        around, sources = self._around(by_sources), self.problem.sources
        return reversal.plan(self.d, *around, sources, margin, slots, every, light, by_parameters)

    def _around(self, by_sources):
        """Residuals and taps of transposed steps."""
        residuals = self.medium.of_all_receivers(self.rows)
        taps = {
            name: self.medium.of_all_sources(table)
            for name, table in (
                ("moment", [v.rows for v in self.of_moments]),
                ("force", [v.rows for v in self.of_forces]),
            )
        }
        for name in taps if by_sources else ():
            taps[name] = [*map(self.medium.of_sources, self._of_units(name)), *taps[name]]
        return residuals, taps

    def _of_units(self, kind):
        """Rows of unit sources in the places of the forces or moments: `units.PARTS` of each."""
        sources = {"force": self.forces, "moment": self.moments}[kind]
        return [rows for source in sources for rows in units.rows(self.d, source, kind)]

    def born(self, slots, every=1):
        """Return the plan of the steps of a perturbation: increments scattered by the array
        ``coefficients`` in place of sources, and ``force_series``, ``moment_series`` where the
        rows of these depend on the medium.
        """
        d, more = self.d, increments.store(self.d, slots)
        more |= increments.sums(d, "coefficients")
        scattered, launches = strains.scattered(d, slots, every)
        more |= scattered
        plan = self._arranged([], (more, launches))
        phases = list(plan.phases)
        for n, (name, table) in enumerate((("force", self.of_forces), ("moment", self.of_moments))):
            if table:
                arrays, inject = _injection(d, name, [v.rows for v in table])
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
        by_cells = (rho, *moduli)
        by_cells = quality.off_grid(self.d, *given, by_cells[:count], by_cells[count:])
        return vti.untied(by_cells, self.problem.fluid) if self.d.anisotropic else by_cells

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
        shear = (acting & (fields == n) for n in np.unique(fields) if d.fields[n] not in d.normal)
        return any((self.medium.of_sources((index[rows], weight[rows]))[1] == 0).any() for rows in shear)

    def by_sources(self, kind, taps):
        """Return what the misfit changes by with the forces or moments.

        Parameters
        ----------
        kind : str
            ``"force"`` or ``"moment"``.
        taps : (steps, columns) array
            dJ by what each unit source injects at each step.

        Returns
        -------
        list of dict
            Of each source: ``strength``, dJ/d(force), (3,), 1/N, or dJ/d(moment tensor), (6,),
            1/(N m), xx yy zz xy xz yz; ``position``, dJ/d(x, y, z), 1/m; ``series``, dJ/d(series),
            (steps,), series as the leapfrog has them.
        """
        sources = {"force": self.forces, "moment": self.moments}[kind]
        series = self.problem.series.get({"force": "velocity", "moment": "stress"}[kind])
        count = units.PARTS[kind]
        return [
            units.collected(source, kind, taps[:, count * n : count * (n + 1)], series[:, n])
            for n, source in enumerate(sources)
        ]

    def units_of(self, kind):
        """Return the number of columns of unit sources among the taps of forces or moments."""
        return units.PARTS[kind] * len({"force": self.forces, "moment": self.moments}[kind])

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
        of_q = of_q if len(self.given) == WITH_Q else (0.0, 0.0)
        changes, of_q = quality.changes_on_grid(self.d, *given, changes, of_q)
        of_q = of_q if any(increments.by_q(self.d)) else ()
        coefficients = self.medium.perturbation(*changes, *of_q)
        shape = (len(coefficients), *self.d.shape)
        ratios = dependences.changes(self.dependences, changes[1:], self.cells)
        return np.broadcast_to(coefficients, shape), ratios


def _joined(rows):
    """Return rows of several fields as one table."""
    return tuple(np.concatenate(part) for part in zip(*rows))


def _injection(d, name, rows):
    """Arrays and launch that inject columns of a series that is filled for each perturbation."""
    columns = [np.full(len(index), n) for n, (index, _) in enumerate(rows)]
    table = table_of(*(np.concatenate(p) for p in zip(*((*r, c) for r, c in zip(rows, columns)))))
    arrays, launch = injection(name, table, np.zeros((d.steps, len(rows))), d.precision)
    return arrays, replace(launch, places=d.layout.place(table[0]))
