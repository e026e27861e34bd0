"""A scenario of spectral elements as an inversion sees it: what is covered, and the plans of its
forward, reversed and perturbed (Born) steps for one medium of the nodes.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.methods.shared import unit_sources
from craton.methods.shared.reuse import Reuse
from craton.methods.shared.sharing import SingleRank
from craton.methods.shared.tables import injection, sampling, stacked_rows, table_of
from craton.methods.spectral_element import build, faces, nodal, pair_operators, pairs, points
from craton.methods.spectral_element.sites import at_sites, sites
from craton.methods.spectral_element.time_step import stable_step
from craton.survey import leapfrog
from craton.survey.faults import FiniteFault

RECEIVERS = "gradients need receivers: add [[receivers]]"
HALF_STEPS = {"force": "velocity", "moment": "stress"}


def refused_tables(scenario):
    """Return what gradients do not cover yet and the tables of a scenario say: list of Problem.

    Parameters
    ----------
    scenario : Scenario
    """
    boundaries = scenario.boundaries
    layered = [
        name
        for name in ("top", "bottom", "west", "east", "south", "north", "others")
        if getattr(boundaries, name, None) == "pml"
    ]
    wrong = [
        (
            getattr(scenario.model, "attenuation", None),
            "model.attenuation",
            "attenuation",
            "leave it out",
        ),
        (layered, "boundaries", "absorbing layers of elements", 'use "stacey"'),
    ]
    return [
        Problem(key, f"gradients of spectral elements do not cover {words}", remedy)
        for is_wrong, key, words, remedy in wrong
        if is_wrong
    ]


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
    wrong = []
    if d.layers is not None:
        wrong.append(("boundaries", "absorbing layers of elements", 'use "stacey"'))
    if d.anisotropic:
        wrong.append(("model", "an anisotropic medium", "leave Thomsen's parameters out"))
    for source in sources:
        if isinstance(source, FiniteFault):
            wrong.append(("source", f"{source.name}: a finite fault", "use point sources"))
    moving = {
        channel.quantity
        for channel, (index, _) in zip(channels, rows)
        if pairs.field_of(d, index[0]) == "potential_rate"
    }
    for quantity in sorted(moving):
        wrong.append(("receivers", f"{quantity} in a fluid", "record its pressure"))
    return [
        Problem(key, f"gradients of spectral elements do not cover {words}", remedy)
        for key, words, remedy in wrong
    ]


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


class Linearised:
    """A scenario of one run, discretised once, with a medium of the nodes that may change.

    Mesh, time step, and sources' series stay those of the scenario.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    machine : backend
        Where operators are applied to find the stable step.
    prepared : craton.model.mesh.prepared.Prepared, optional
        Mesh and model that replace those of the scenario.

    Raises
    ------
    ScenarioError
        The scenario is wrong, or asks for what gradients do not cover.
    """

    def __init__(self, scenario, machine, prepared=None):
        build.refuse(refused_tables(scenario))
        self.machine, reuse = machine, Reuse()
        fast = scenario.run.model_copy(update={"assembly": "fast"})
        run = build.discretised_run(
            scenario.model_copy(update={"run": fast}), prepared, SingleRank(), machine, reuse
        )
        d, _, self.sources, receivers, _ = run
        if not run[-1]:
            raise ScenarioError([Problem("receivers", RECEIVERS, "")])
        self.scenario = scenario
        self.plan = replace(build.assemble(*run, reuse), arrays={}, phases=())
        self.channels = self.plan.channels
        self.rows, in_fluid = points.channel_rows(d, self.channels, receivers)
        build.refuse(refused_on_mesh(d, self.sources, self.channels, self.rows))
        self.d = nodal.nodal(d)
        self.grid = nodal.Nodes(d.geometry)
        self.rule = nodal.ChainRule(self.d)
        self.sites = self._sites_of_pressure(receivers, in_fluid)
        self.columns = columns_of(self.d, self.sources)
        self.elements = build.elements_of(self.d)

    def _sites_of_pressure(self, receivers, in_fluid):
        """Return the site of each channel of pressure in the solid, whose rows have the bulk modulus:
        dict by channel.
        """
        chosen = [
            n
            for n, channel in enumerate(self.channels)
            if channel.quantity == "pressure" and not in_fluid[n]
        ]
        xyz = receivers.xyz[[self.channels[n].receiver for n in chosen]]
        located = self.d.locate(xyz, True) if chosen else None
        return {n: sites(self.d, located.some([m])) for m, n in enumerate(chosen)}

    @cached_property
    def cells(self):
        """Density, bulk and shear modulus of the scenario's model at the nodes: (ne, n^3) each, kg/m3
        and Pa.
        """
        return nodal.moduli_of(self.d)

    @cached_property
    def histories(self):
        """What the columns inject at each step, (steps, columns)."""
        series, _ = points.histories(self.d, self.sources)
        return series[:, [column.source for column in self.columns]]

    @cached_property
    def series(self):
        """Forces and moment rates as the leapfrog has them, (steps, sources) by half step."""
        rates = np.stack([s.wavelet(self._times(s)) for s in self.sources], axis=1)
        return {
            HALF_STEPS[kind]: leapfrog.for_leapfrog(rates[:, chosen], self.d.dt, place)
            for kind, place in (("force", 0.0), ("moment", 0.5))
            if (chosen := self.of_kind(kind))
        }

    def _times(self, source):
        """Times of a source's series, s."""
        half = 0.5 if source.force is None else 0.0
        return self.d.start + (np.arange(self.d.steps) + half) * self.d.dt

    def of_kind(self, kind):
        """Return the numbers of the sources that are forces or moments: list."""
        return [n for n, s in enumerate(self.sources) if (s.force is not None) == (kind == "force")]

    waves = "elastic"
    fastest = np.inf  # `at` refuses what is too fast
    # where the fields with which a run ends lie in the pairs, and how many components they have
    ends: ClassVar[dict] = {
        "displacement": ("pair", 3),
        "velocity": ("pair_rate", 3),
        "potential": ("fluid_pair", 1),
        "potential_rate": ("fluid_pair_rate", 1),
    }

    def refuse_machine(self, machine):
        """Refuse a machine that cannot march both fields at once.

        Raises
        ------
        ScenarioError
        """
        precision, degree = self.d.precision, self.d.element.degree
        highest = pair_operators.HIGHEST[precision]
        if not machine.shares_host_memory and degree > highest:
            words = f"gradients in {precision} on a GPU need a degree of at most {highest}"
            remedy = 'set run.degree, run.precision = "float32" or run.device = "cpu"'
            raise ScenarioError([Problem("run.degree", f"{degree}: {words}", remedy)])

    def residual_series(self, derivative, orders):
        """See `pairs.residual_series`."""
        return pairs.residual_series(derivative, orders, self.d.dt)

    def sums(self, host, arrays, factor):
        """Return what reversed steps summed, see `nodal.ChainRule.gradient`.

        Parameters
        ----------
        host : callable
            Gives an array of their program on the host, by name.
        arrays : dict of str to Array
            Of their plan.
        factor : float
            Of all sums.
        """
        d = self.d
        of_elements = np.zeros((d.mesh.size, 2, d.element.size))
        for arranged in d.families:
            elements = arranged.order.elements
            values = host(f"{arranged.family.name}_sums").astype(float)
            inside = np.flatnonzero(elements >= 0)
            of_elements[elements[inside], : values.shape[1]] = values[inside]
        of_points, of_faces = [], []
        for prefix, _ in pairs.MEDIA:
            named = {
                name: host(f"{prefix}{name}").astype(float) if f"{prefix}{name}" in arrays else None
                for name in ("point_sums", "face_sums")
            }
            sums, faces_sums = named["point_sums"], named["face_sums"]
            of_points.append(np.zeros(0) if sums is None else factor * sums[:-1])
            of_faces.append(None if faces_sums is None else factor * d.dt * faces_sums)
        return factor * d.dt * of_elements, of_points, of_faces

    def illumination(self, host):
        """Return the integral of squared accelerations at the nodes, (ne, n^3), (m/s2)2 s; nan in a
        fluid.

        Parameters
        ----------
        host : callable
            See `sums`.
        """
        d = self.d
        out = np.full((d.mesh.size, d.element.size), np.nan)
        if d.state.solid:
            out[~d.fluid] = (host("light").astype(float) / d.dt)[d.points[~d.fluid]]
        return out

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
        self._refuse_media(cells[2])
        d = self.rule.discretisation(cells)
        self._refuse_speeds(d)
        return State(self, cells, d)

    def _refuse_media(self, mu):
        """Refuse to make a solid of a fluid, or the other way round."""
        fluid = self.d.fluid[:, None]
        for wrong, words in (
            (fluid & (mu != 0), "fluid nodes have a shear modulus"),
            (~fluid & (mu == 0), "solid nodes have no shear modulus"),
        ):
            if wrong.any():
                words = f"{int(wrong.sum())} {words}"
                raise ScenarioError([Problem("m", words, "bound the parameters")])

    def _refuse_speeds(self, d):
        """Refuse a medium for which the time step is unstable; it is looked at closely only where
        waves are faster than the step allows for at once.
        """
        start, names = self.d.nodal, ("vp", "vs")
        ratio = max(
            float(np.max(d.nodal[n] / np.where(start[n] > 0, start[n], np.inf))) for n in names
        )
        if ratio * self.d.dt <= self.d.stable.limit:
            return
        limit = stable_step(d, d.families, self.machine).limit
        if d.dt > limit:
            words = f"the time step {d.dt:.6g} s is unstable for this medium: the limit is {limit:.6g} s"
            raise ScenarioError([Problem("m", words, "bound vp, or set a shorter time.step")])


def columns_of(d, sources):
    """Return the `Column` of each source, of one in a fluid for each of its elements: list.

    Parameters
    ----------
    d : NodalDiscretisation
    sources : list of PointSource
    """
    index, weight, column = points.rows_of_points(d, sources)
    out = [Column(n, (index[column == n], weight[column == n])) for n in range(len(sources))]
    fluid = [n for n, c in enumerate(out) if d.state.fluid and len(c.row[0]) and _in_fluid(d, c)]
    parts = [_parts_in_fluid(d, n, sources[n]) for n in fluid]
    return [c for n, c in enumerate(out) if n not in fluid] + [c for part in parts for c in part]


def _in_fluid(d, column):
    """True where a column adds to the potential."""
    start, count, _ = d.state.fields["potential_force"]
    return start <= column.row[0][0] < start + count


def _parts_in_fluid(d, number, source):
    """Return the columns of a source in a fluid."""
    _, located, parts = d.elements_holding(np.array([source.xyz], float))
    out = []
    for m in range(len(located.element)):
        site = sites(d, located.some([m]))
        index, weight = points.moment_rows(d, site, source.moment[None])
        out.append(Column(number, (index.ravel(), weight.ravel() / parts[0]), site))
    return out


class State:
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
        kappa, start = cells[1], problem.cells[1]
        self.of_receivers = {
            n: _at(site, kappa) / _at(site, start) for n, site in problem.sites.items()
        }
        self.of_sources = {
            n: _at(column.site, start) / _at(column.site, kappa)
            for n, column in enumerate(problem.columns)
            if column.site is not None
        }

    @property
    def columns(self):
        """Number of recorded channels."""
        return len(self.problem.channels)

    @cached_property
    def rows(self):
        """(index, weight) of each channel."""
        return [
            (index, weight * self.of_receivers.get(n, 1.0))
            for n, (index, weight) in enumerate(self.problem.rows)
        ]

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
        return np.array(
            [pairs.DERIVATIVES[pairs.field_of(self.d, index[0])] for index, _ in self.rows], int
        )

    @cached_property
    def arrays(self):
        """Arrays of mesh, medium and faces: those of the start, with the medium of this state."""
        arrays, *_ = self.problem.elements
        new = build.inverse_mass_arrays(self.d) | faces.absorbing_faces(self.d)[0]
        for arranged in self.d.families:
            name = f"{arranged.family.name}_moduli"
            new[name] = arranged.arrays[name]
        new = {n: a for n, a in new.items() if not n.endswith("_points")}
        return arrays | new

    @cached_property
    def plain(self):
        """The plan of a run without its arrays, as `craton plan` would make it of this medium."""
        return self.problem.plan

    def forward(self, slots):
        """Return the plan of steps that record all channels, and with slots save what `reversal`
        needs.
        """
        d, (_, elements, edges, exchanges) = self.d, self.problem.elements
        arrays = {n: a for n, a in self.arrays.items()}
        if slots:
            more, before = pairs.saves(d, arrays, slots)
            arrays |= more
            absorbing = {m: [*before[m], *launches] for m, launches in edges[0].items()}
            edges = [absorbing, *edges[1:]]
        columns = [np.full(len(i), n, np.int32) for n, (i, _) in enumerate(self.injected)]
        rows = [(*row, column) for row, column in zip(self.injected, columns)]
        table = table_of(*(np.concatenate(part) for part in zip(*rows)))
        more, inject = injection("source", table, self.problem.histories, d.precision, "forces")
        recorded, record = sampling(*stacked_rows(self.rows), d.steps, d.precision)
        phases = build.phases_of(d, [inject], elements, edges, exchanges)
        return replace(
            self.problem.plan,
            arrays=arrays | more | recorded,
            phases=(*phases, build.phase("record", record)),
            slots=d.steps,
        )

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
        stores, _ = pairs.saves(self.d, self.arrays, max(slots, 1))
        sources = self.injected, self.problem.histories
        taps = self.units if by_sources else []
        taps = [*taps, *(self.injected[n] for n in self.of_sources)]
        return pairs.reversal(self.d, self.arrays, sources, self.rows, taps, stores, every, light)

    def born(self, changes):
        """Return the plan of the steps of the field and its Born field; see `pairs.born`.

        Parameters
        ----------
        changes : tuple
            What `perturbation` returns.
        """
        sources = self.injected, self.problem.histories
        moduli, _, of_sources = changes
        scattered = [
            (index, -of_sources[n] * weight) if n in of_sources else (index[:0], weight[:0])
            for n, (index, weight) in enumerate(self.injected)
        ]
        values = change_arrays(self.d, moduli)
        return pairs.born(self.d, self.arrays, sources, scattered, self.rows, values)

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
        rho, by_kappa, mu = self.problem.rule.gradient(self.cells, *sums)
        for n, value in of_receivers.items():
            self._add_at(by_kappa, self.problem.sites[n], value)
        for n, value in of_sources.items():
            self._add_at(by_kappa, self.problem.columns[n].site, -value)
        return rho, by_kappa, mu

    def _add_at(self, by_kappa, site, value):
        """Add the derivative by the relative change of the bulk modulus at a site."""
        kappa = _at(site, self.cells[1])
        by_kappa[site.element[0]] += value / kappa * site.values[0]

    def perturbation(self, changes):
        """Return what changes to first order: see `nodal.ChainRule.changes`; and by how much the bulk
        modulus at channels and columns does, relatively: two dicts.
        """
        kappa, d_kappa = self.cells[1], changes[1]
        relative = [
            {n: _at(site, d_kappa) / _at(site, kappa) for n, site in places.items()}
            for places in (
                self.problem.sites,
                {n: self.problem.columns[n].site for n in self.of_sources},
            )
        ]
        return self.problem.rule.changes(self.cells, changes), *relative

    # --- sources ------------------------------------------------------------------------------

    @cached_property
    def units(self):
        """Rows of unit sources in the places of forces, then of moments, and of the derivatives by
        position: `unit_sources.PARTS` of each source.
        """
        return [
            row
            for kind in ("force", "moment")
            for n in self.problem.of_kind(kind)
            for row in self._units_of(self.problem.sources[n], kind)
        ]

    def _units_of(self, source, kind):
        """Rows of the unit sources of one."""
        d, step = self.d, unit_sources.MOVED * float(np.cbrt(self.d.statistics.smallest))
        shifts = [(axis, sign) for axis in range(unit_sources.AXES) for sign in (1, -1)]
        places = [unit_sources.shifted(source, axis, sign * step) for axis, sign in shifts]
        located = d.locate(np.array([place.xyz for place in places]), False).element
        inside = (located >= 0).reshape(-1, 2).all(axis=1).repeat(2)
        places = [place if ok else source for ok, place in zip(inside, places)]
        units = [replace(source, **{kind: unit}) for unit in unit_sources.components(kind)]
        index, weight, column = points.rows_of_points(self._of_places(source), [*units, *places])
        rows = [(index[column == n], weight[column == n]) for n in range(len(units) + len(places))]
        moved = [
            (at, sign / (2 * step) * ok * by)
            for (at, by), ok, (_, sign) in zip(rows[len(units) :], inside, shifts)
        ]
        joined = [
            tuple(np.concatenate(part) for part in zip(*moved[n : n + 2]))
            for n in range(0, len(moved), 2)
        ]
        return [*rows[: len(units)], *joined]

    def _of_places(self, source):
        """The discretisation by which a source is placed: in a solid as at the start, in a fluid with
        the bulk modulus of this medium.
        """
        fluid = any(self.problem.sources[c.source] is source for c in self._columns_in_fluid())
        return self.d if fluid else self.problem.d

    def _columns_in_fluid(self):
        """Columns of sources in a fluid."""
        return [self.problem.columns[n] for n in self.of_sources]

    def units_of(self, kind):
        """Return the number of rows of unit sources of forces or moments."""
        return unit_sources.PARTS[kind] * len(self.problem.of_kind(kind))

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
            See `craton.methods.finite_difference.linearised.State.by_sources`.
        """
        chosen = self.problem.of_kind(kind)
        if not chosen:
            return []
        series, count = self.problem.series[HALF_STEPS[kind]], unit_sources.PARTS[kind]
        if kind == "moment":  # from moments to moment rates
            later = np.cumsum(taps[::-1], axis=0)[::-1] - taps
            taps = self.d.dt * later
        return [
            unit_sources.collected(
                self.problem.sources[n], kind, taps[:, count * m : count * (m + 1)], series[:, m]
            )
            for m, n in enumerate(chosen)
        ]


def _at(site, values):
    """Return values of the nodes at a site."""
    return float(at_sites(site, values[site.element])[0])


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
        rows = 1 if arranged.family.fluid else 2
        values = arranged.order.arrange(moduli[:, :rows], 0.0)
        out[f"{arranged.family.name}_change"] = values
    for (prefix, _), mass, of_faces in zip(pairs.MEDIA, masses, damping):
        if len(mass):
            out[f"{prefix}mass_change"] = np.append(mass, 0.0)
        if of_faces is not None:
            out[f"{prefix}face_change"] = of_faces
    return out
