"""One medium of a linearised scenario of spectral elements: what its steps are made of, and the chain
rule from their sums to the medium and to sources.
"""

from functools import cached_property

import numpy as np

from craton.methods.spectral_element.adjoint.linearised_steps import DERIVATIVES, Steps, arrays_of
from craton.methods.spectral_element.adjoint.pair_parts import field_of
from craton.methods.spectral_element.sites import at_sites
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.adjoint import HALF_STEPS, LinearisedState, unit_rows


class State(Steps, LinearisedState):
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

    @cached_property
    def arrays(self):
        """Arrays of mesh, medium and faces: those of the start, with the medium of this state."""
        return arrays_of(self.d, self.problem.elements[0])

    @property
    def launches(self):
        """Launches of elements and of faces, and what ranks exchange; see `step.elements_of`."""
        return self.problem.elements[1:]

    @property
    def histories(self):
        """What the columns of sources inject, (steps, columns)."""
        return self.problem.histories

    @property
    def acting(self):
        """Numbers of the columns of sources in `injected`: all of them."""
        return range(len(self.injected))

    @property
    def plain(self):
        """The plan of a run without its arrays, as `craton plan` would make it of this medium."""
        return self.problem.plan

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
        position: `unit_sources.PARTS` of each source.
        """
        spacing = float(np.cbrt(self.d.statistics.smallest))
        return [
            row
            for kind in HALF_STEPS
            for source in self.problem.of_kind(kind)
            for row in unit_rows(ElementSpace(self._of_places(source)), source, kind, spacing, self._holds)
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
