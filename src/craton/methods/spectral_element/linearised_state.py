"""One medium of a linearised scenario of spectral elements: plans of its forward, reversed and
perturbed (Born) steps, and the chain rule from their sums to the medium and to sources.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from craton.methods.shared import unit_sources
from craton.methods.shared.tables import injection, sampling, stacked_rows, table_of
from craton.methods.spectral_element import build, faces, pair_operators, pairs, points, replay
from craton.methods.spectral_element.pair_parts import MEDIA, field_of
from craton.methods.spectral_element.sites import at_sites

HALF_STEPS = {"force": "velocity", "moment": "stress"}


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
            [pairs.DERIVATIVES[field_of(self.d, index[0])] for index, _ in self.rows], int
        )

    @cached_property
    def arrays(self):
        """Arrays of mesh, medium and faces: those of the start, with the medium of this state."""
        arrays, *_ = self.problem.elements
        new = build.inverse_mass_arrays(self.d) | faces.absorbing_faces(self.d)[0]
        for arranged in self.d.families:
            for part in ("moduli", "loss"):
                name = f"{arranged.family.name}_{part}"
                if name in arranged.arrays:
                    new[name] = arranged.arrays[name]
        new = {n: a for n, a in new.items() if not n.endswith("_points")}
        return arrays | new

    @cached_property
    def plain(self):
        """The plan of a run without its arrays, as `craton plan` would make it of this medium."""
        return self.problem.plan

    def forward(self, slots, replayed=False):
        """Return the plan of steps that record all channels, and with slots save what `reversal`, or
        `transposed` where they are `replayed`, needs.
        """
        d, (_, elements, edges, exchanges) = self.d, self.problem.elements
        arrays, first = dict(self.arrays), []
        if slots:
            more, first, before = self.saves(slots, replayed)
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
            phases=(build.phase("save", first), *phases, build.phase("record", record)),
            slots=d.steps,
        )

    def saves(self, slots, replayed):
        """Return arrays of what is saved of each step, launches before it, and by medium those
        between forces and step.
        """
        if replayed:
            return replay.saves(self.d, self.arrays, slots)
        arrays, of_faces = pairs.saves(self.d, self.arrays, slots)
        return arrays, [], of_faces

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
        sources, taps = (self.injected, self.problem.histories), self._taps(by_sources)
        return pairs.reversal(self.d, self.arrays, sources, self.rows, taps, stores, every, light)

    def transposed(self, slots, every=1, light=False, by_sources=False):
        """Return the plan of the steps back of the transposed field alone; see `replay.transposed`,
        parameters as of `reversal`.
        """
        stores, *_ = self.saves(slots, True)
        steps, taps = len(self.problem.histories), self._taps(by_sources)
        return replay.transposed(self.d, self.arrays, steps, self.rows, taps, stores, every, light)

    def _taps(self, by_sources):
        """Rows in whose places the transposed field is sampled."""
        units = self.units if by_sources else []
        return [*units, *(self.injected[n] for n in self.of_sources)]

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
        out = self.problem.rule.gradient(self.cells, *sums)
        by_kappa = out[1]
        for n, value in of_receivers.items():
            self._add_at(by_kappa, self.problem.sites[n], value)
        for n, value in of_sources.items():
            self._add_at(by_kappa, self.problem.columns[n].site, -value)
        return out

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
        """Return the discretisation by which a source is placed: in a solid that of the start, in a
        fluid that of this medium.
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
            See `craton.methods.finite_difference.linearised_state.State.by_sources`.
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
        rows = pair_operators.rows_of(arranged.family.kind, arranged.family.fluid)
        values = arranged.order.arrange(moduli[:, :rows], 0.0)
        out[f"{arranged.family.name}_change"] = values
    for (prefix, _), mass, of_faces in zip(MEDIA, masses, damping):
        if len(mass):
            out[f"{prefix}mass_change"] = np.append(mass, 0.0)
        if of_faces is not None:
            out[f"{prefix}face_change"] = of_faces
    return out
