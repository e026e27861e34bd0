"""A scenario of spectral elements as an inversion sees it: what is covered, the medium of its nodes; with one medium what
its steps are made of, and the chain rule from their sums to the medium and to sources.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from craton.errors import refuse, refuse_all
from craton.methods.protocol import Reuse
from craton.methods.spectral_element.adjoint import linearised_steps, nodal, pair_operators, pair_parts
from craton.methods.spectral_element.adjoint.linearised_steps import DERIVATIVES, RankElements, Steps, arrays_of
from craton.methods.spectral_element.adjoint.nodal import C44, ConstantsRule
from craton.methods.spectral_element.adjoint.pair_parts import field_of
from craton.methods.spectral_element.build import MeshDomain
from craton.methods.spectral_element.equations.step import elements_of
from craton.methods.spectral_element.equations.time_step import stable_step
from craton.methods.spectral_element.sites import at_sites, sites
from craton.methods.spectral_element.sources import moment_rows
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves import adjoint
from craton.methods.waves.problem import assemble, set_up
from craton.methods.waves.receivers import rows_of_channels
from craton.methods.waves.sources import histories
from craton.methods.waves.tables import split_rows
from craton.survey import leapfrog

# measured bytes of a node, see bench/NOTES.md: without attenuation and with it; of 21 constants
CHAIN_BYTES = {False: 103, True: 438}
CHAIN_CONSTANTS = {False: 536, True: 807}
HERE = "gradients of spectral elements"


def refused_on_mesh(d, sources, channels, rows):
    """Return what gradients do not cover yet and the discretisation shows: list of Problem.

    Parameters
    ----------
    d : Discretisation
    sources : list
    channels : list of Channel
    rows : list of (index, weight)
        Of each channel.
    """
    recorded = {(channel.quantity, field_of(d, index[0])) for channel, (index, _) in zip(channels, rows)}
    wrong = adjoint.beyond_gradients(sources)
    if d.anisotropic and any(quantity == "pressure" and field != quantity for quantity, field in recorded):
        wrong.append(("receivers", "pressure in an anisotropic medium", "record velocity or strain rate"))
    for quantity in sorted(quantity for quantity, field in recorded if field == "potential_rate"):
        wrong.append(("receivers", f"{quantity} in a fluid", "record its pressure"))
    return adjoint.refused(wrong, HERE)


@dataclass(frozen=True, eq=False)
class Column:
    """What one source injects into one element of a fluid, or everywhere in the solid.

    Parameters
    ----------
    source : int
        Number of the source.
    row : (index, weight)
        In the block "forces".
    site : Sites or None
        Where in a fluid; the weights have the bulk modulus there.
    """

    source: int
    row: tuple
    site: Any = None


class Linearised(adjoint.LinearisedScenario, linearised_steps.Discretised):
    """A scenario of one run, discretised once, with a medium of the nodes that may change.

    Mesh, time step, and sources' series stay those of the scenario.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    machine : backend
        Where operators are applied to find the stable step.
    prepared : craton.model.mesh.hexmesh.Prepared, optional
        Mesh and model that replace those of the scenario.

    Raises
    ------
    ScenarioError
        The scenario is wrong, or asks for what gradients do not cover.
    """

    def __init__(self, scenario, machine, prepared=None):
        refuse_all(adjoint.refused(adjoint.injections_of(scenario), HERE))
        self.machine, reuse = machine, Reuse()
        fast = scenario.run.model_copy(update={"assembly": "fast"})
        setup = set_up(MeshDomain(scenario.model_copy(update={"run": fast}), prepared, None, machine, reuse))
        d, self.sources, receivers = setup.space.d, setup.sources, setup.receivers
        adjoint.refuse_without_receivers(setup.channels)
        self.scenario = scenario
        self.plan = replace(assemble(setup, reuse), arrays={}, phases=())
        self.channels = self.plan.channels
        rows, at = rows_of_channels(setup.space, self.channels, receivers)
        self.rows = split_rows(*rows)
        refuse_all(refused_on_mesh(d, self.sources, self.channels, self.rows))
        self.d = nodal.nodal(d)
        self.rule = (ConstantsRule if d.anisotropic else nodal.ChainRule)(self.d)
        self.grid = nodal.Nodes(self.d, self.rule.weights)
        self.sites = self._sites_of_pressure(receivers, ~np.isnan(at))
        self.columns = columns_of(self.d, self.sources)
        self.elements = elements_of(self.d)

    def _sites_of_pressure(self, receivers, in_fluid):
        """Return the site of each channel of pressure in the solid, whose rows have the bulk modulus: dict by channel."""
        chosen = [n for n, channel in enumerate(self.channels) if channel.quantity == "pressure" and not in_fluid[n]]
        xyz = receivers.xyz[[self.channels[n].receiver for n in chosen]]
        located = self.d.locate(xyz, True) if chosen else None
        return {n: sites(self.d, located.some([m])) for m, n in enumerate(chosen)}

    @cached_property
    def cells(self):
        """Density, bulk and shear modulus of the scenario's model at the nodes, or density and 21
        constants: (ne, n^3) each, kg/m3 and Pa.
        """
        return nodal.moduli_of(self.d)

    @property
    def inverse_q(self):
        """1/Qp and 1/Qs of the nodes; None where no elements relax."""
        return tuple(self.d.nodal[name] for name in nodal.LOSSES) if self.relaxes else None

    @property
    def relaxes(self):
        """True where elements have memory variables of attenuation."""
        return any(arranged.family.kind.relaxation for arranged in self.d.families)

    def irreversible(self):
        """Return why the steps cannot be taken back, or ""."""
        if self.d.layers is not None:
            return "absorbing layers remember"
        return "attenuation remembers" if self.relaxes else ""

    @cached_property
    def histories(self):
        """What the columns inject at each step, (steps, columns)."""
        series, _ = histories(ElementSpace(self.d), self.sources)
        return series[:, [column.source for column in self.columns]]

    @cached_property
    def series(self):
        """Forces and moment rates as the leapfrog has them, (steps, sources) by half step."""
        steps = np.arange(self.d.steps)
        return {
            adjoint.HALF_STEPS[kind]: leapfrog.for_leapfrog(np.stack(rates, axis=1), self.d.dt, place)
            for kind, place in adjoint.PLACES.items()
            if (rates := [s.wavelet(self.d.start + (steps + place) * self.d.dt) for s in self.of_kind(kind)])
        }

    places = "nodes"
    waves = "elastic"
    fastest = np.inf  # `at` refuses what is too fast
    # where the fields with which a run ends lie in the pairs, and how many components they have
    ends: ClassVar[dict] = {
        "displacement": ("pair", 3),
        "velocity": ("pair_rate", 3),
        "potential": ("fluid_pair", 1),
        "potential_rate": ("fluid_pair_rate", 1),
    }

    def on_grid(self, cells):
        """Return what the steps have of the nodes' density and moduli: these themselves."""
        return cells

    def chain_bytes(self, count):
        """Return the bytes of a node that the chain rule takes at its peak, from the sums to `count`
        parameters (rho, kappa, mu and so on).
        """
        if self.d.anisotropic:
            return CHAIN_CONSTANTS[self.relaxes]
        return CHAIN_BYTES[self.relaxes]

    def refuse_machine(self, machine):
        """Refuse a machine that cannot march both fields at once.

        Raises
        ------
        ScenarioError
        """
        precision, degree = self.d.precision, self.d.element.degree
        highest = pair_operators.HIGHEST[precision]
        if self.irreversible():
            highest = max(n for n in range(1, highest + 1) if pair_operators.fits(n, precision))
        if not machine.shares_host_memory and degree > highest:
            words = f"gradients in {precision} on a GPU need a degree of at most {highest}"
            remedy = 'set run.degree, run.precision = "float32" or run.device = "cpu"'
            refuse("run.degree", f"{degree}: {words}", remedy)

    @property
    def rows_of_sums(self):
        """Rows of the sums of an element, most of all families."""
        kinds = (arranged.family for arranged in self.d.families)
        return max(2, *(pair_operators.rows_of(f.kind, f.fluid) for f in kinds))

    def sums(self, collected, factor):
        """Return what reversed steps summed, see `nodal.ChainRule.gradient`.

        Parameters
        ----------
        collected : linearised_steps.Sums
            Of the whole mesh.
        factor : float
            Of all sums.
        """
        of_points = [factor * values for values in collected.points]
        of_faces = [None if values is None else factor * self.d.dt * values for values in collected.faces]
        of_points, of_faces = linearised_steps.undamped(self.elements[0], of_points, of_faces)
        return factor * self.d.dt * collected.elements, of_points, of_faces

    def illumination(self, light):
        """Return the integral of squared accelerations at the nodes, (ne, n^3), (m/s2)2 s; nan in a fluid.

        Parameters
        ----------
        light : (points,) array
            Sums of the solid's points; empty without a solid.
        """
        d = self.d
        out = np.full((d.mesh.size, d.element.size), np.nan)
        if d.state.solid:
            out[~d.fluid] = (light / d.dt)[d.points[~d.fluid]]
        return out

    def of_rank(self, team):
        """Return the elements that a rank has: `RankElements`; all ranks must call.

        Parameters
        ----------
        team : craton.comm.Together
        """
        return RankElements(self, team)

    def at(self, cells):
        """Return the `State` of a medium.

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (ne, n^3) each, kg/m3 and Pa.

        Raises
        ------
        ScenarioError
            Fluid elements that shear, solid ones that do not, waves too fast for the time step.
        """
        self._refuse_media(cells[C44] if self.d.anisotropic else cells[2])
        d = self.rule.discretisation(cells)
        self._refuse_speeds(cells, d)
        return State(self, cells, d)

    def _refuse_media(self, mu):
        """Refuse to make a solid of a fluid, or the other way round."""
        fluid = self.d.fluid[:, None]
        for wrong, words in (
            (fluid & (mu != 0), "fluid nodes have a shear modulus"),
            (~fluid & (mu == 0), "solid nodes have no shear modulus"),
        ):
            if wrong.any():
                refuse("m", f"{int(wrong.sum())} {words}", "bound the parameters")

    def _refuse_speeds(self, cells, d):
        """Refuse a medium for which the time step is unstable; it is looked at closely only where
        waves are faster than the step allows for at once, and in an anisotropic medium.
        """
        ratio = 1.0 if self.d.anisotropic else self._faster(cells)
        same = not self.d.anisotropic or d.nodal["stiffness"] is self.d.nodal["stiffness"]
        if same and ratio * self.d.dt <= self.d.stable.limit:
            return
        limit = stable_step(d, d.families, self.machine).limit
        if d.dt > limit:
            words = f"the time step {d.dt:.6g} s is unstable for this medium: the limit is {limit:.6g} s"
            refuse("m", words, "bound vp, or set a shorter time.step")

    def _faster(self, cells):
        """Return by which factor waves of high frequency are faster than at the start, at most."""
        squares = []
        for medium in (cells, self.cells):
            lam, mu, *_ = np.moveaxis(self.rule.moduli(..., *medium)[0], 1, 0)
            squares.append(((lam + 2 * mu) / medium[0], mu / medium[0]))
        ratios = [now / np.where(start > 0, start, np.inf) for now, start in zip(*squares)]
        return float(np.sqrt(np.max(ratios)))


def columns_of(d, sources):
    """Return the `Column` of each source, of one in a fluid for each of its elements: list.

    Parameters
    ----------
    d : NodalDiscretisation
    sources : list of PointSource
    """
    index, weight, column = ElementSpace(d).point_rows(sources)
    solid, fluid = [], []
    for n, source in enumerate(sources):
        row = index[column == n], weight[column == n]
        if len(row[0]) and pair_parts.in_fluid(d, row[0]):
            fluid += _columns_in_fluid(d, n, source)
        else:
            solid.append(Column(n, row))
    return solid + fluid


def _columns_in_fluid(d, number, source):
    """Return the columns of a source in a fluid."""
    _, located, parts = d.elements_holding(np.array([source.xyz], float))
    out = []
    for m in range(len(located.element)):
        site = sites(d, located.some([m]))
        index, weight = moment_rows(d, site, source.moment[None])
        out.append(Column(number, (index.ravel(), weight.ravel() / parts[0]), site))
    return out


class State(Steps, adjoint.LinearisedState):
    """Plans and chain rule of a `Linearised` scenario with one medium.

    Parameters
    ----------
    problem : Linearised
    cells : (rho, kappa, mu)
        (ne, n^3) each.
    d : NodalDiscretisation
    """

    def __init__(self, problem, cells, d):
        self.problem, self.cells, self.d = problem, cells, d
        self.launches, self.histories = problem.elements[1:], problem.histories
        self.acting = range(len(problem.columns))
        self.plain = problem.plan  # of a run without its arrays, as `craton plan` would make it of this medium
        bulk = problem.rule.BULK
        kappa, start = cells[bulk], problem.cells[bulk]
        self.of_receivers = {n: _at(site, kappa) / _at(site, start) for n, site in problem.sites.items()}
        self.of_sources = {
            n: _at(column.site, start) / _at(column.site, kappa)
            for n, column in enumerate(problem.columns)
            if column.site is not None
        }

    @cached_property
    def rows(self):
        """(index, weight) of each channel."""
        return [(index, weight * self.of_receivers.get(n, 1.0)) for n, (index, weight) in enumerate(self.problem.rows)]

    @cached_property
    def injected(self):
        """(index, weight) of each column of sources."""
        return [
            (column.row[0], column.row[1] * self.of_sources.get(n, 1.0))
            for n, column in enumerate(self.problem.columns)
        ]

    @cached_property
    def orders(self):
        """How often the field that a channel records is differentiated by time: (channels,)."""
        return np.array([DERIVATIVES[field_of(self.d, index[0])] for index, _ in self.rows], int)

    def residual_series(self, derivative):
        """Return what channels inject into the transposed field, (steps + 1, channels), last step first.

        Parameters
        ----------
        derivative : (steps, channels) array
            Of the misfit by the samples.
        """
        later, dt = np.concatenate([derivative, np.zeros((2, derivative.shape[1]))]), self.d.dt
        now, next_one, second = later[:-2], later[1:-1], later[2:]
        by_order = [now / dt, (now - next_one) / dt**2, -(now - 2 * next_one + second) / dt**3]
        return np.concatenate([np.choose(self.orders, by_order)[::-1], np.zeros((1, derivative.shape[1]))])

    @cached_property
    def arrays(self):
        """Arrays of mesh, medium and faces: those of the start, with the medium of this state."""
        return arrays_of(self.d, self.problem.elements[0])

    def taps(self, by_sources):
        """Return rows in whose places the transposed field is sampled: of unit sources, where these
        are asked for, and of columns in a fluid.
        """
        units = self.units if by_sources else []
        return [*units, *(self.injected[n] for n in self.of_sources)]

    # --- the medium ---------------------------------------------------------------------------

    def gradient(self, sums, of_receivers, of_sources):
        """Return dJ/d(rho, kappa, mu) of the nodes.

        Parameters
        ----------
        sums : (of_elements, of_points, of_faces)
            See `nodal.ChainRule.gradient`.
        of_receivers, of_sources : dict of int to float
            dJ by the relative change of the bulk modulus at channels and columns.
        """
        out = self.problem.rule.gradient(self.cells, *sums)
        by_kappa = out[self.problem.rule.BULK]
        for n, value in of_receivers.items():
            self._add_at(by_kappa, self.problem.sites[n], value)
        for n, value in of_sources.items():
            self._add_at(by_kappa, self.problem.columns[n].site, -value)
        return out

    def _add_at(self, by_kappa, site, value):
        """Add the derivative by the relative change of the bulk modulus at a site."""
        kappa = _at(site, self.cells[self.problem.rule.BULK])
        by_kappa[site.element[0]] += value / kappa * site.values[0]

    def perturbation(self, changes):
        """Return what changes to first order: see `nodal.ChainRule.changes`; and by how much the bulk
        modulus at channels and columns does, relatively: two dicts.
        """
        bulk = self.problem.rule.BULK
        kappa, d_kappa = self.cells[bulk], changes[bulk]
        relative = [
            {n: _at(site, d_kappa) / _at(site, kappa) for n, site in places.items()}
            for places in (self.problem.sites, {n: self.problem.columns[n].site for n in self.of_sources})
        ]
        return self.problem.rule.changes(self.cells, changes), *relative

    # --- sources ------------------------------------------------------------------------------

    @cached_property
    def units(self):
        """Rows of unit sources in the places of forces, then of moments, and of the derivatives by
        position: `sources.PARTS` of each source.
        """
        spacing = float(np.cbrt(self.d.statistics.smallest))
        return [
            row
            for kind in adjoint.HALF_STEPS
            for source in self.problem.of_kind(kind)
            for row in adjoint.unit_rows(ElementSpace(self._of_places(source)), source, kind, spacing, self._holds)
        ]

    def _holds(self, xyz):
        """Tell which positions (n, 3) lie in the mesh."""
        return self.d.locate(xyz, False).element >= 0

    def _of_places(self, source):
        """Return the discretisation by which a source is placed: in a solid that of the start, in a
        fluid that of this medium.
        """
        columns = (self.problem.columns[n] for n in self.of_sources)
        fluid = any(self.problem.sources[column.source] is source for column in columns)
        return self.d if fluid else self.problem.d

    def by_sources(self, kind, taps):
        """See `LinearisedState.by_sources`."""
        if kind == "moment":  # from moments to moment rates
            later = np.cumsum(taps[::-1], axis=0)[::-1] - taps
            taps = self.d.dt * later
        return super().by_sources(kind, taps)


def _at(site, values):
    """Return values of the nodes at a site."""
    return float(at_sites(site, values[site.element])[0])
