"""The part that a rank has of a linearised scenario of spectral elements: its elements and points
among those of the whole mesh, and the steps of its elements.

Medium, sources, receivers and the chain rule are those of the whole mesh on every rank; what is
divided are fields, programs and what is kept of a forward run. An entry of a row of sources or
channels acts at one rank, the lowest that has its point: forces are summed over ranks after that,
what ranks sample of a channel is added up.
"""

from dataclasses import fields, replace

import numpy as np

from craton.core.gathering import partial_sums
from craton.methods.spectral_element import ranks
from craton.methods.spectral_element.adjoint.linearised_steps import Discretised, Steps, Sums, arrays_of
from craton.methods.spectral_element.adjoint.nodal import with_families, with_medium
from craton.methods.spectral_element.adjoint.pair_parts import MEDIA
from craton.methods.spectral_element.discretisation import fields_of, places_of
from craton.methods.spectral_element.equations.state import FORCE
from craton.methods.spectral_element.equations.step import elements_of
from craton.methods.spectral_element.mesh.subdomain import ElementGeometry, build_subdomain
from craton.methods.waves.tables import SAMPLE, stacked_rows
from craton.model.mesh.hexmesh import Prepared

NOT_HERE = -1  # in place of the number of a point


class RankElements(Discretised):
    """The elements of a rank; all ranks must make one and call what is said to be of all.

    Parameters
    ----------
    linear : Linearised
    team : craton.comm.Together

    Attributes
    ----------
    numbers : (m,) int array
        Of the elements in the whole mesh.
    points : list of (points,) int array
        Numbers in the whole mesh of the points of the solid and of the fluid.
    owned : list of int array
        Own numbers of those that this rank takes: no lower rank has them.
    d : NodalDiscretisation
        Of the start.
    partition : tuple of craton.core.subdomain.Subdomain
        Of all ranks.
    """

    def __init__(self, linear, team):
        self.linear, self.whole, self.team = linear, linear.d, team
        self.rows_of_sums = linear.rows_of_sums
        d = self.whole
        prepared = Prepared(d.mesh, d.sampler, bounds=d.subdomain.bounds)
        owner = ranks.assign_owners(linear.scenario, prepared, d.fluid, team)
        subdomain, ghosted = build_subdomain(prepared, d.element, d.fluid, owner, team)
        self.numbers = subdomain.numbers
        self.points = [self._numbers_of_points(subdomain, bool(fluid)) for fluid in (0, 1)]
        self.owned = [
            np.setdiff1d(np.arange(count), shared.elsewhere)
            for count, shared in zip(subdomain.counts, subdomain.shared.values())
        ]
        self.places = [self._places(n) for n in (0, 1)]
        self.d = self._discretisation(subdomain, ghosted)
        self.elements = elements_of(self.d)
        self.absorbing = [self._absorbing(prefix, n) for n, (prefix, _) in enumerate(MEDIA)]
        described = ranks.described(self.d)
        self.partition = tuple(team.every(lambda: described))

    def _numbers_of_points(self, subdomain, fluid):
        """Numbers in the whole mesh of the points of a medium."""
        out = np.zeros(subdomain.counts[fluid], np.int64)
        chosen = self.whole.fluid[self.numbers] == fluid
        out[subdomain.points[chosen]] = self.whole.points[self.numbers[chosen]]
        return out

    def _places(self, n):
        """Own number of each point of a medium, the dummy behind them, where this rank takes it."""
        count = (self.whole.state.solid, self.whole.state.fluid)[n]
        out = np.full(count + 1, NOT_HERE, np.int64)
        out[self.points[n][self.owned[n]]] = self.owned[n]
        return out

    def _discretisation(self, subdomain, ghosted):
        """Return the `NodalDiscretisation` of the start on the elements of this rank."""
        d, numbers = self.whole, self.numbers
        of_points = [mass[at] for mass, at in zip(d.statistics.mass, self.points)]
        layers = d.layers and replace(
            d.layers, directions=d.layers.directions[:, numbers], general=d.layers.general[numbers]
        )
        owned = ghosted.owned_by(subdomain)
        named = fields_of(d) | {f.name: getattr(owned, f.name) for f in fields(ElementGeometry)}
        named |= {
            "subdomain": subdomain,
            "statistics": d.statistics.select(numbers, of_points),
            "layers": layers,
            "places": places_of(subdomain, owned.fluid, d.ground, d.globe),
            "nodal": {name: values[numbers] for name, values in d.nodal.items()},
        }
        return with_families(named)

    def _absorbing(self, prefix, n):
        """Places of the absorbing points of a medium among those of the whole mesh, and which of
        them this rank takes; None without.
        """
        name = f"{prefix}stacey_points"
        if name not in self.elements[0]:
            return None
        here = self.elements[0][name].data
        everywhere = self.linear.elements[0][name].data
        return np.searchsorted(everywhere, self.points[n][here]), np.isin(here, self.owned[n])

    # --- from the whole to the rank -----------------------------------------------------------

    def steps(self, state):
        """Return the `RankSteps` of a `State`; of all ranks."""
        return RankSteps(self, state)

    def medium(self, d):
        """Return the `NodalDiscretisation` of this rank with the medium of one of the whole mesh."""
        values = {name: values[self.numbers] for name, values in d.nodal.items()}
        masses = [mass[at] for mass, at in zip(d.statistics.mass, self.points)]
        return with_medium(self.d, values, masses)

    def rows(self, rows, block):
        """Return the rows that have entries on this rank, with these, and their numbers.

        Parameters
        ----------
        rows : list of (index, weight)
            In a block of the whole mesh.
        block : str
            ``"state"`` or ``"forces"``.
        """
        first, index, weight = stacked_rows(rows)
        local = self._indices(index, block)
        here = local != NOT_HERE
        row = np.repeat(np.arange(len(rows)), np.diff(first))[here]
        numbers, begins = np.unique(row, return_index=True)
        if not len(numbers):
            return [], numbers
        parts = (np.split(values[here], begins[1:]) for values in (local, weight))
        return list(zip(*parts)), numbers

    def _indices(self, index, block):
        """Return indices of a block of the whole mesh as those of this rank's, `NOT_HERE` where it
        does not take the point.
        """
        out = np.full(len(index), NOT_HERE, np.int64)
        for name, (start, _, components) in self.d.state.fields.items():
            if name.endswith(FORCE) != (block == "forces"):
                continue
            first, count, _ = self.whole.state.fields[name]
            inside = (first <= index) & (index < first + count * components)
            point, component = np.divmod(index[inside] - first, components)
            place = self.places[components == 1][point]
            moved = start + components * place + component
            out[inside] = np.where(place == NOT_HERE, NOT_HERE, moved)
        return out

    def changes(self, moduli, masses, damping):
        """Return changes of the medium of this rank; see `nodal.ChainRule.changes`."""
        of_faces = [
            None if absorbing is None else values[:, absorbing[0]] for absorbing, values in zip(self.absorbing, damping)
        ]
        return moduli[self.numbers], [m[at] for m, at in zip(masses, self.points)], of_faces

    # --- from the rank to the whole -----------------------------------------------------------

    def parts(self, sums):
        """Return `Sums` of the whole mesh with those that this rank takes, all else 0.

        Parameters
        ----------
        sums : Sums
            Of the steps of this rank.
        """
        of_points = [self.of_points(values, n) for n, values in enumerate(sums.points)]
        of_faces = [self._of_faces(*of) for of in zip(sums.faces, self.absorbing, (prefix for prefix, _ in MEDIA))]
        return Sums(placed(sums.elements, self.numbers, self.whole.mesh.size), of_points, of_faces)

    def _of_faces(self, values, absorbing, prefix):
        """Return sums of all absorbing points of a medium with those that this rank takes, else 0."""
        everywhere = self.linear.elements[0].get(f"{prefix}stacey_points")
        if everywhere is None:
            return None
        if values is None:
            return np.zeros((1 if prefix else 6, everywhere.shape[0]))
        place, taken = absorbing
        return placed(values[:, taken].T, place[taken], everywhere.shape[0]).T

    def of_points(self, values, n=0):
        """Return values of the points of the whole mesh with those that this rank takes, else 0.

        Parameters
        ----------
        values : (points,) array
            Of the points of this rank, of its medium `n`.
        n : int
            0: solid, 1: fluid.
        """
        count = (self.whole.state.solid, self.whole.state.fluid)[n]
        return placed(values[self.owned[n]], self.points[n][self.owned[n]], count)


class RankSteps(Steps):
    """Steps of the elements of a rank with one medium; of all ranks.

    Parameters
    ----------
    share : RankElements
    state : State
        Of the whole mesh.
    """

    def __init__(self, share, state):
        self.share, self.state = share, state
        self.d = share.medium(state.d)
        start, *self.launches = share.elements
        # made here: ranks that are threads of one process would wait for each other's
        # functools.cached_property
        self.arrays = arrays_of(self.d, start)
        self.rows, self.recorded = share.rows(state.rows, "state")
        self.injected, self.acting = share.rows(state.injected, "forces")
        self.histories = state.histories[:, self.acting]
        self.of_sources = state.of_sources

    def taps(self, by_sources):
        """See `Steps.taps`; those that this rank has."""
        return self.share.rows(self.state.taps(by_sources), "forces")[0]

    def _of_rank(self, plan, by_sources=None):
        """Return a plan with the subdomains of all ranks and what joins their records; of all ranks."""
        numbers, name, rows = self.recorded, "record", self.state.rows
        if by_sources is not None:
            name, rows = "taps", self.state.taps(by_sources)
            numbers = self.share.rows(rows, "forces")[1]
        gathering = partial_sums(self.share.team.every(lambda: numbers), len(rows), SAMPLE)
        rank = self.share.team.rank
        return replace(plan, partition=self.share.partition, rank=rank, gatherings={name: gathering})

    def born(self, changes):
        """See `Steps.born`; of changes of the whole mesh."""
        moduli, *others = changes
        return super().born((self.share.changes(*moduli), *others))


def placed(values, places, count):
    """Return values (m, ...) in their places among `count`, all else 0."""
    out = np.zeros((count, *values.shape[1:]))
    out[places] = values
    return out
