"""A scenario as an inversion sees it: what is covered, and the plans of its forward, transposed and
perturbed (Born) steps for one medium of the cells.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from craton import memory
from craton.conventions import FACES, OF_Q
from craton.core.partition import split
from craton.errors import Problem, ResourceError, ScenarioError
from craton.methods.finite_difference import (
    adjoint,
    build,
    contact,
    dependences,
    increments,
    material,
    points,
    quality,
    ranks,
    relaxing,
    reversal,
    scheme,
    sensitivity,
    strains,
    transverse,
    transverse_relaxing,
    units,
    vti,
)
from craton.methods.finite_difference.quality import WITH_Q
from craton.methods.finite_difference.receiver_points import rows_of
from craton.methods.shared import q_parameters
from craton.methods.shared.reuse import Reuse
from craton.methods.shared.tables import injection, sampling, stacked_rows, table_of
from craton.model.media import earth
from craton.survey import channels as survey_channels
from craton.survey import receivers as survey_receivers
from craton.survey import source_files
from craton.survey.faults import FiniteFault
from craton.survey.planes import PlaneWave
from craton.survey.whereabouts import located
from craton.text import megabytes

RECEIVERS = "gradients need receivers: add [[receivers]]"
PARAMETER_BYTES = 32  # of a cell: density and moduli in double precision, and what is made of them


def refused_tables(scenario):
    """Return what gradients do not cover yet and the tables of a scenario say: list of Problem.

    Parameters
    ----------
    scenario : Scenario
    """
    boundaries = scenario.boundaries
    kinds = {boundaries.face(name) for name in FACES}
    surface = boundaries.face("top") == "free" and boundaries.surface
    wrong = [
        (scenario.injection, "injection", "injections", "leave it out"),
        ("a1" in kinds, "boundaries", '"a1" faces', 'use "cpml" or "sponge"'),
        (
            surface in ("imaging", "imaging-2"),
            "boundaries.surface",
            f'"{surface}", which has no exact transpose',
            'use "sbp"',
        ),
    ]
    return [
        Problem(key, f"gradients do not cover {words}", remedy)
        for is_wrong, key, words, remedy in wrong
        if is_wrong
    ]


def refused_on_grid(d, sources):
    """Return what gradients do not cover yet and the discretisation shows: list of Problem.

    Parameters
    ----------
    d : Discretisation
    sources : list
    """
    wrong = []
    if d.relaxing and contact.contact(d)[0]:
        # its stresses do not relax: the transposed step is no longer the step
        words = "attenuation in a model with a flat sea floor"
        wrong.append(("model.attenuation", words, "leave it out, or set run.order = 2"))
    for s in sources:
        if isinstance(s, FiniteFault | PlaneWave):
            kind = "a plane wave" if isinstance(s, PlaneWave) else "a finite fault"
            wrong.append(("source", f"{s.name}: {kind}", "use point sources"))
        elif s.force is not None and touches_layer(d, s):
            words = f"{s.name}: a force on points of a CPML layer, or next to one"
            wrong.append(("source", words, "move it inwards"))
    return [Problem(key, f"gradients do not cover {words}", remedy) for key, words, remedy in wrong]


def medium_of(d):
    """Return the medium of a `Discretisation` with `cells`: the chain rule of its law."""
    if not d.anisotropic:
        return sensitivity.Medium(d)
    if d.relaxing:
        return transverse_relaxing.RelaxingTransverseMedium(d)
    return transverse.TransverseMedium(d)


def touches_layer(d, source):
    """Return True for a force on points whose medium is that of the edge of a CPML layer: its
    weights have the density of their own cells, the step has that of the edge.
    """
    offsets = [d.layout.place(index) for index, _ in points.force_rows(d, source)]
    for axis in (*d.horizontal, 2):
        low, high = d.unstretched(axis)
        at = np.concatenate([place[2 - axis] for place in offsets])
        beyond = (low > 0 and at.min() < low) or (
            high < d.grid.shape[2 - axis] and at.max() + 1 >= high
        )
        if beyond:
            return True
    return False


def refuse_large(grid):
    """Refuse a grid whose cells, the parameters of a gradient, do not fit into this host's memory.

    Parameters
    ----------
    grid : Grid

    Raises
    ------
    ResourceError
    """
    needed, free = PARAMETER_BYTES * grid.size, memory.available()
    if free is not None and needed > free:
        fits = grid.coarser(1.01 * (needed / free) ** (1 / 3))
        raise ResourceError(
            f"the parameters of a gradient in {grid.size:,} cells need {megabytes(needed)}, "
            f"{megabytes(free)} are free on this host.\n    they fit with {fits}"
        )


class Linearised:
    """A scenario of one run, discretised once, with a medium that may change.

    Time step, absorbing layers and sources' series stay those of the scenario.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        The scenario is wrong, or asks for what gradients do not cover.
    ResourceError
        The parameters do not fit into memory.
    """

    def __init__(self, scenario):
        self.scenario = scenario
        build.refuse(refused_tables(scenario))
        self.grid = build.grid_of(scenario)
        build.refuse(build.problems(scenario, self.grid, Reuse(keep=False)))
        refuse_large(self.grid)
        values = partial(earth.point_values, scenario.model)
        self.sources = source_files.build_all(scenario, values)
        self.receivers = located(survey_receivers.build(scenario), scenario, self.sources)
        self.d = build.discretise(scenario, self.grid, self.sources)
        build.refuse(refused_on_grid(self.d, self.sources))
        self.channels = survey_channels.channels(
            len(self.receivers), scenario.output.waveforms, self.d.motion, max(len(self.d.shots), 1)
        )
        self.channels += self.receivers.fibre_channels()
        if not self.channels:
            raise ScenarioError([Problem("receivers", RECEIVERS, "")])

    @cached_property
    def cells(self):
        """Density, bulk and shear modulus of the scenario's model, averaged over the cells:
        (nz, ny, nx) each, kg/m3 and Pa; with attenuation at its frequency, in cells that the
        ground cuts those of the matter in them.
        """
        averages_of = earth.cell_stiffness if self.d.anisotropic else earth.cell_averages
        averages = averages_of(self.scenario.model, self.grid, 0, self.grid.shape[0], False)
        return tuple(np.array(v, float) for v in averages)

    def start(self, names):
        """Return the cells of the scenario's model that parameters are made of: `cells`, and for
        parameters of Q behind them 1/Qp and 1/Qs.

        Parameters
        ----------
        names : tuple of str

        Raises
        ------
        ScenarioError
            The medium has no Q, or an infinite one where Q and not 1/Q is asked for.
        """
        if not set(names) & set(OF_Q):
            return self.cells
        of_q = q_parameters.refuse(
            names, self._losses, self.d.relaxation, self.d.anisotropic, "cells"
        )
        return (*self.cells, *of_q)

    def _losses(self):
        """1/Qp and 1/Qs of the cells."""
        values = relaxing.inverse_q(self.d, self.grid)
        return [np.array(v, float) for v in values]

    @property
    def largest_inverse_q(self):
        """Largest 1/Q for which the mechanisms are good; None without attenuation."""
        return q_parameters.largest(self.d.relaxation)

    @cached_property
    def factors(self):
        """Factors that make of density, lambda + 2 mu and mu of the cells those of the steps."""
        return (vti if self.d.anisotropic else relaxing).factors(self.d)

    @cached_property
    def series(self):
        """What forces and moments inject at each step, (steps, sources) by half step."""
        arrays, _, _ = points.sources(self.d, self.sources)
        return {
            step: np.asarray(arrays[f"{step}_series"].data, float)
            for step in increments.PARTS
            if f"{step}_series" in arrays
        }

    # --- steps taken back, see reversal.py ----------------------------------------------------

    def irreversible(self):
        """Return why the steps cannot be taken back, or ""."""
        return reversal.refusal(self.d)

    def margin(self, bits):
        """Return what is to be kept of the field beside absorbing layers, values of so many bits."""
        return reversal.margin_of(self.d, bits)

    def outside_layers(self):
        """Return True at the points whose medium gradients are by where steps are taken back."""
        return reversal.inside(self.d)

    def partition(self, count, bits):
        """Return the subdomains of several ranks: tuple of Subdomain.

        Parameters
        ----------
        count : int
            Ranks.
        bits : int
            Of what is kept beside absorbing layers, see `margin`; 0 where nothing is.

        Raises
        ------
        ScenarioError
            The grid is too small for so many.
        """
        plain, align = self.at(self.cells).plain, reversal.EDGE if bits == 16 else 1
        weights = ranks.gradient_weights(self.d, plain.weights, align)
        return tuple(split(replace(plain, weights=weights), count, self.scenario.run.grid))

    def traffic(self, kind, every):
        """Return the least traffic of misfit and gradient, in plain forward runs.

        Parameters
        ----------
        kind : str
            What is stored: ``"increments"``, ``"checkpoints"``, ``"boundaries"`` or so.
        every : int
        """
        return reversal.traffic(self.d, kind, every)

    @property
    def sums(self):
        """Number of the sums of a gradient."""
        return len(increments.sums_of(self.d))

    def unsummed(self):
        """Return the points that have no sums of steps taken back; see `reversal.unsummed`."""
        return reversal.unsummed(self.d)

    @property
    def waves(self):
        """What is computed: ``"acoustic"``, ``"P-SV"``, ``"SH"`` or, in space, ``"elastic"``."""
        return "acoustic" if self.d.acoustic else self.d.motion or "elastic"

    @property
    def fastest(self):
        """Fastest wave that the time step carries, m/s."""
        d, spacing = self.d, self.grid.spacing
        radius = d.closure.spectral_radius if d.free else None
        return scheme.stable_step(d.stencil, spacing, 1.0, radius) / d.dt

    def at(self, cells):
        """Return the `State` of a medium.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (nz, ny, nx) each, kg/m3 and Pa; with 1/Qp and 1/Qs where these change.
        """
        return State(self, self.on_grid(cells), cells)

    def on_grid(self, cells):
        """Return density, bulk and shear modulus of the steps, from those of the cells: unrelaxed
        moduli, times the part of a cell that is not air. Linear, so that changes go through it,
        too, where Q stays.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            With 1/Qp and 1/Qs where these change.
        """
        if len(cells) == WITH_Q:
            return quality.on_grid(self.d, cells)
        if self.factors is None:
            return cells
        if self.d.anisotropic:
            return vti.on_grid(self.factors, cells)
        of_rho, of_p, of_s = self.factors
        rho, kappa, mu = cells
        return of_rho * rho, of_p * kappa + 4 / 3 * (of_p - of_s) * mu, of_s * mu

    def off_grid(self, gradient):
        """Return dJ/d(rho, kappa, mu) of the cells from that by what the steps have: the transpose
        of `on_grid`.
        """
        if self.factors is None:
            return gradient
        if self.d.anisotropic:
            return vti.off_grid(self.factors, gradient)
        of_rho, of_p, of_s = self.factors
        rho, kappa, mu = gradient
        return of_rho * rho, of_p * kappa, of_s * mu + 4 / 3 * (of_p - of_s) * kappa


class State:
    """Plans and chain rule of a `Linearised` scenario with one medium.

    Parameters
    ----------
    problem : Linearised
    cells : (rho, kappa, mu)
        Of the steps, see `Linearised.on_grid`; 1/Qp and 1/Qs behind them where these change.
    given : (rho, kappa, mu)
        Those that parameters are made of.
    """

    def __init__(self, problem, cells, given):
        self.problem, self.given = problem, given
        losses = cells[3:] if len(cells) == WITH_Q else None
        self.cells = cells[:3] if losses else cells
        self.d = d = problem.d.with_cells(self.cells, losses)
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
        first, index, weight = rows_of(self.d, problem.channels, problem.receivers)
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
        problem = self.problem
        return build.arranged(
            self.d, sources, problem.receivers, problem.channels, Reuse(keep=False), more
        )

    def _recording(self, plan, rows):
        """Return the plan with a record of all steps of some rows."""
        arrays, launches = sampling(*stacked_rows(rows), plan.steps, plan.precision)
        phases = (*plan.phases[:-1], replace(plan.phases[-1], launches=tuple(launches)))
        return replace(plan, arrays=plan.arrays | arrays, phases=phases, slots=plan.steps)

    def adjoint(self, slots, every=1, by_sources=False):
        """Return the plan of the transposed steps; see `adjoint.plan`.

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
        return adjoint.plan(self.d, entries, taps, slots, every)

    def backward(self, margin, slots, every=1, by_sources=False, light=False):
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
        """
        around, sources = self._around(by_sources), self.problem.sources
        return reversal.plan(self.d, *around, sources, margin, slots, every, light)

    def _around(self, by_sources):
        """Residuals and taps of transposed steps."""
        residuals = [self.medium.of_receivers(rows) for rows in self.rows]
        taps = {
            name: [self.medium.of_sources(rows) for rows in table]
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

    def gradient(self, sums, ratios, machine, scale=1.0):
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
        """
        if self.d.anisotropic:
            rho, *moduli = self.medium.gradient(machine.to_host(sums), scale)
        else:
            with machine.work():
                medium = sensitivity.Medium(self.d, machine.xp)
                parts = medium.gradient(sums, scale)
            rho, *moduli = (machine.to_host(part) for part in parts)
        more = dependences.by_moduli(self.dependences, ratios, self.cells)
        moduli[: len(more)] = (a + b for a, b in zip(moduli, more))
        if self.d.inverse_q is not None:
            return quality.off_grid(self.d, self.given, (rho, *moduli))
        return self.problem.off_grid((rho, *moduli))

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
        if self.d.inverse_q is not None:
            changes = quality.changes_on_grid(self.d, self.given, changes)
        else:
            changes = self.problem.on_grid(changes)
        coefficients = self.medium.perturbation(*changes)
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
