"""A scenario as an inversion sees it: what is covered, the medium of its cells and that of the steps; with one medium the
plans of its forward, transposed and perturbed (Born) steps, and the chain rule from what they sum to the cells.
"""

from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from craton import memory
from craton.conventions import FACES
from craton.core.partition import split
from craton.errors import Problem, ResourceError, refuse_all
from craton.methods.finite_difference.adjoint import increments, point_rows, reversal, sensitivity, transposed
from craton.methods.finite_difference.build import GridDomain
from craton.methods.finite_difference.equations import acoustic, half_steps, laminate, material, relaxing, scheme, vti
from craton.methods.finite_difference.space import GridSpace
from craton.methods.protocol import Reuse
from craton.methods.waves import adjoint, sources
from craton.methods.waves.problem import assemble, set_up
from craton.methods.waves.receivers import rows_of_channels
from craton.methods.waves.sources import AXES, PARTS
from craton.methods.waves.tables import injection, sampling, split_rows, stacked_rows, table_of
from craton.model.media import earth
from craton.text import megabytes

# measured bytes of a cell, see bench/NOTES.md: with attenuation or without; in the plane or in space
# and with attenuation or without
CHAIN_BYTES = {False: 102, True: 134}
CHAIN_ANISOTROPIC = {(True, False): 406, (False, False): 622, (True, True): 476, (False, True): 448}
CHAIN_WITH_Q = 132
PARAMETER_BYTES = 32  # of a cell: density and moduli in double precision, and what is made of them
WITH_Q = 5  # fields of the cells: density, bulk and shear modulus, 1/Qp, 1/Qs


class Linearised(adjoint.LinearisedScenario, reversal.Reversible):
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
        refuse_all(refused_tables(scenario))
        domain = GridDomain(scenario)
        refuse_all(domain.problems())
        refuse_large(domain.grid)
        self.setup = setup = set_up(domain)
        self.d, self.grid, self.scenario = setup.space.d, domain.grid, scenario
        self.sources, self.receivers, self.channels = setup.sources, setup.receivers, setup.channels
        refuse_all(refused_on_grid(self.d, self.sources))
        adjoint.refuse_without_receivers(self.channels)

    @cached_property
    def cells(self):
        """Density, bulk and shear modulus of the scenario's model, averaged over the cells: (nz, ny, nx) each, kg/m3
        and Pa; with attenuation at its frequency, in cells that the ground cuts those of the matter in them.
        """
        averages_of = earth.cell_stiffness if self.d.anisotropic else earth.cell_averages
        averages = averages_of(self.scenario.model, self.grid, 0, self.grid.shape[0], False)
        return tuple(np.array(v, float) for v in averages)

    places = "cells"

    @cached_property
    def inverse_q(self):
        """1/Qp and 1/Qs of the cells of the scenario's model, (nz, ny, nx) each; None without attenuation."""
        if self.d.relaxation is None:
            return None
        thin = relaxing.inverse_q_of_model(self.d, self.grid)
        return tuple(np.broadcast_to(loss, self.grid.shape) for loss in thin)

    @cached_property
    def fluid(self):
        """True in the cells of an anisotropic medium that hold a fluid, (nz, ny, nx)."""
        return self.cells[4] == 0

    @cached_property
    def series(self):
        """What forces and moments inject at each step, (steps, sources) by half step."""
        arrays, _, _ = sources.sources(self.setup.space, self.sources)
        return {
            step: np.asarray(arrays[f"{step}_series"].data, float)
            for step in adjoint.HALF_STEPS.values()
            if f"{step}_series" in arrays
        }

    def held(self):
        """Return what of the scenario's medium stays whatever the parameters are, as (label, text) rows."""
        planes = laminate.planes(self.d)
        if not laminate.boxes(self.d):
            return []
        words = "what Backus averages of the layers add to isotropic moduli is held"
        return [("planes that interfaces cut", f"{len(planes)}: {words}")]

    ends = None  # steps back begin with the fields themselves

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
        weights = half_steps.gradient_weights(self.d, plain.weights, align)
        return tuple(split(replace(plain, weights=weights), count, self.scenario.run.grid))

    def chain_bytes(self, count):
        """Return the bytes of a cell that the chain rule takes at its peak, from the sums to `count`
        parameters (rho, kappa, mu and so on).
        """
        if self.d.anisotropic:
            return CHAIN_ANISOTROPIC[bool(self.d.planar), bool(self.d.relaxing)]
        return CHAIN_WITH_Q if count == WITH_Q else CHAIN_BYTES[bool(self.d.relaxing)]

    def in_packed_rows(self):
        """Return the same with rows of fields that are padded as little as possible."""
        out = copy(self)
        out.d = self.d.in_packed_rows()
        return out

    @property
    def waves(self):
        """What is computed: ``"acoustic"``, ``"P-SV"``, ``"SH"`` or, in space, ``"elastic"``."""
        return "acoustic" if self.d.acoustic else self.d.motion or "elastic"

    @property
    def fastest(self):
        """Fastest wave that the time step carries, m/s."""
        d, spacing = self.d, self.grid.spacing
        radii = [d.closure] * d.free + [d.floor_closure] * (d.floor is not None)
        radius = max((one.spectral_radius for one in radii), default=None)
        return scheme.stable_step(d.stencil, spacing, 1.0, radius) / d.dt

    def at(self, cells):
        """Return the `State` of a medium.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (nz, ny, nx) each, kg/m3 and Pa; with 1/Qp and 1/Qs where these change.
        """
        moving, inverse_q = sensitivity.of_steps(self.d, *self.parts(cells))
        changing = self.d.anisotropic or len(cells) == WITH_Q
        return State(self, cells, self.d.with_cells(moving, inverse_q if changing else None))

    def on_grid(self, cells):
        """Return density and moduli of the steps, from those of the cells: unrelaxed, times the part
        of a cell that is not air.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            With 1/Qp and 1/Qs where these change.
        """
        return sensitivity.of_steps(self.d, *self.parts(cells))[0]

    def parts(self, cells):
        """Return density and moduli of cells, in a fluid tied to one modulus, and 1/Qp and 1/Qs, of
        the model where they stay; None without attenuation.
        """
        if self.d.anisotropic:
            return vti.tied(cells, self.fluid), self.inverse_q
        return cells[:3], cells[3:] or self.inverse_q


def refused_tables(scenario):
    """Return what gradients do not cover yet and the tables of a scenario say: list of Problem.

    Parameters
    ----------
    scenario : Scenario
    """
    boundaries, wrong = scenario.boundaries, adjoint.injections_of(scenario)
    if "a1" in {boundaries.face(name) for name in FACES}:
        wrong.append(("boundaries", '"a1" faces', 'use "cpml" or "sponge"'))
    if boundaries.face("top") == "free" and boundaries.surface in ("imaging", "imaging-2"):
        wrong.append(("boundaries.surface", f'"{boundaries.surface}", which has no exact transpose', 'use "sbp"'))
    return adjoint.refused(wrong)


def refused_on_grid(d, sources):
    """Return what gradients do not cover yet and the discretisation shows: list of Problem.

    Parameters
    ----------
    d : Discretisation
    sources : list
    """
    wrong = adjoint.beyond_gradients(sources)
    for s in sources:
        if type(s) not in adjoint.BEYOND_GRADIENTS and s.force is not None and touches_layer(d, s):
            words = f"{s.name}: a force on points of a CPML layer, or next to one"
            wrong.append(("source", words, "move it inwards"))
    if floor_near_layer(d):
        words = "a level sea floor so near a CPML layer that differences at the floor and in the layer overlap"
        remedy = "move the boundary away from the floor, or make the layer thinner, by a few spacings"
        wrong.append(("boundaries", words, remedy))
    return adjoint.refused(wrong)


def floor_near_layer(d):
    """Return True where differences that end at a level floor have norms of their own (closure.py) at points that the differences of
    a layer above or below it reach: what the transposed layer adds there is not divided by them.
    """
    if d.floor is None:
        return False
    lowest, highest = d.floor + 1 - d.floor_closure.rows, d.floor + d.floor_closure.rows
    reached = {side: transposed.reached(d, 2, side)[0][:2] for axis, side in d.faces("cpml") if axis == 2}
    return (0 in reached and lowest < reached[0][1]) or (1 in reached and highest > reached[1][0])


def touches_layer(d, source):
    """Return True for a force on points whose medium is that of the edge of a CPML layer: its
    weights have the density of their own cells, the step has that of the edge.
    """
    index, _, _ = GridSpace(d).point_rows([source])
    offsets = d.layout.place(index)
    for axis in (*d.horizontal, 2):
        low, high = d.unstretched(axis)
        at = offsets[2 - axis]
        if (low > 0 and at.min() < low) or (high < d.grid.shape[2 - axis] and at.max() + 1 >= high):
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


def medium_of(d):
    """Return the medium of a `Discretisation` with `cells`: the chain rule of its law."""
    if not d.anisotropic:
        return sensitivity.Medium(d)
    if d.relaxing:
        return sensitivity.RelaxingTransverseMedium(d)
    return sensitivity.TransverseMedium(d)


class State(adjoint.LinearisedState):
    """Plans and chain rule of a `Linearised` scenario with one medium.

    Parameters
    ----------
    problem : Linearised
    cells : (rho, kappa, mu)
        That parameters are made of; 1/Qp and 1/Qs behind them where these change.
    d : Discretisation
        With the medium of the steps, see `Linearised.on_grid`.
    """

    def __init__(self, problem, cells, d):
        self.problem, self.cells, self.d = problem, cells, d
        refuse_all(increments.fluid_problems(d))
        self.medium = medium_of(d)
        self.of_receivers = point_rows.dependences_of_receivers(d, problem.channels, problem.receivers)
        self.of_sources = {
            "force": point_rows.dependences_of_forces(d, problem.of_kind("force")),
            "moment": point_rows.dependences_of_moments(d, problem.of_kind("moment")),
        }

    @property
    def columns(self):
        """Number of recorded channels."""
        return len(self.problem.channels)

    @cached_property
    def rows(self):
        """(index, weight) of each channel."""
        problem = self.problem
        (first, index, weight), _ = rows_of_channels(GridSpace(self.d), problem.channels, problem.receivers)
        return split_rows(first, index, weight.astype(float))

    def fills(self):
        """Return what fills the material of plans, see `Machine.commit`."""
        return {"material": partial(material.fill, d=self.d)}

    @cached_property
    def plain(self):
        """The plan of a run, as `craton plan` would make it of this medium."""
        return self._arranged(self.problem.sources)

    def forward(self, slots, every=1, margin=None):
        """Return the plan of steps that store their increments and record all channels, and behind
        these what multiplies the ratios of `point_rows.dependences_of_receivers`, at every step.

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
        """Return the plan of the steps back of the forward field and of the transposed ones; see `reversal.plan`.

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
        for kind, table in self.of_sources.items():
            rows = [*(self._units_of(kind) if by_sources else ()), *(dependence.rows for dependence in table)]
            taps[kind] = len(rows), self.medium.rows.of_sources(adjoint.joined(rows))
        return *self.medium.rows.of_receivers(adjoint.joined(self.rows)), taps

    def _units_of(self, kind):
        """Rows of unit sources in the places of the forces or moments: `sources.PARTS` of each."""
        axes = [*self.d.horizontal, 2]
        low, high = np.array([self.d.grid.bounds("xyz"[axis]) for axis in axes]).T

        def holds(xyz):
            return ((low <= xyz[:, axes]) & (xyz[:, axes] <= high)).all(axis=1)

        rows, count = [], PARTS[kind] + AXES  # to both sides along each axis
        for source in self.problem.of_kind(kind):
            # on its side of a contact
            sides_of = [kind == "moment" and not acoustic.has_shear(source.moment, self.d.planar)] * count
            around = self.d.grid.spacing, holds, axes
            rows += adjoint.unit_rows(GridSpace(self.d), source, kind, *around, fluid_first=sides_of)
        return rows

    def born(self, slots, every=1):
        """Return the plan of the steps of a perturbation: increments scattered by the array ``coefficients`` in place
        of sources, and ``force_series``, ``moment_series`` where the rows of these depend on the medium.
        """
        d, more = self.d, increments.store(self.d, slots)
        more |= increments.sums(d, "coefficients")
        scattered, launches = increments.scattered(d, slots, every)
        more |= scattered
        plan = self._arranged([], (more, launches))
        phases = list(plan.phases)
        for n, (name, table) in enumerate(self.of_sources.items()):
            if table:
                series = np.zeros((d.steps, len(table)))
                rows = adjoint.joined([dependence.rows for dependence in table])
                arrays, inject = transposed.placed(d, *injection(name, table_of(*rows), series, d.precision))
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
        more = point_rows.by_moduli(self.dependences, ratios, self.d.cells)
        moduli[: len(more)] = (a + b for a, b in zip(moduli, more))
        count, parts = len(self.d.cells), self.problem.parts(self.cells)
        by_cells = (*sensitivity.of_matter(self.d, (rho, *moduli[: count - 1])), *moduli[count - 1 :])
        if self.d.relaxation is not None:
            by_cells = sensitivity.slopes_of_steps(self.d, *parts, self._by_q).transpose(by_cells)
        return vti.untied(by_cells, self.problem.fluid) if self.d.anisotropic else tuple(by_cells)

    @property
    def _by_q(self):
        """True where 1/Qp and 1/Qs are parameters."""
        return len(self.cells) > len(self.d.cells)

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
                for s in self.problem.of_kind("moment")
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
        return [*self.of_receivers, *self.of_sources["force"], *self.of_sources["moment"]]

    def perturbation(self, changes):
        """Return the coefficients of ``scatter``, and by how much each ratio changes.

        Parameters
        ----------
        changes : (rho, kappa, mu)
            (nz, ny, nx) each.
        """
        parts, (changes, of_q) = self.problem.parts(self.cells), self.problem.parts(changes)
        if self.d.relaxation is not None:
            slopes = sensitivity.slopes_of_steps(self.d, *parts, self._by_q)
            *changes, of_p, of_s = slopes.apply((*changes, *(of_q if self._by_q else ())))
            of_q = of_p, of_s
        changes = sensitivity.of_matter(self.d, changes)
        of_q = of_q if any(increments.by_q(self.d)) else ()
        coefficients = self.medium.perturbation(*changes, *of_q)
        shape = (len(coefficients), *self.d.shape)
        ratios = point_rows.changes_of_ratios(self.dependences, changes[1:], self.d.cells)
        return np.broadcast_to(coefficients, shape), ratios
