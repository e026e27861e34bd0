"""What gradients of all methods share: derivatives of what is computed point by point, unit sources, tables of rows, what is refused."""

from dataclasses import replace

import numpy as np

from craton.conventions import OF_Q
from craton.errors import Problem, refuse, refuse_all
from craton.methods.waves.sources import AXES, MOVED, PARTS, collected, components, shifted
from craton.methods.waves.tables import stacked_rows
from craton.model.media.attenuation import BEYOND_FITTED
from craton.survey.source_arrays import Catalogue, FiniteFault
from craton.survey.sources import PlaneWave

STEP = 1e-30  # so small that its square is lost beside the value
PARTS_AT_MOST, FEW = 32, 1 << 12  # in how many parts arrays are taken, of more values than these
HALF_STEPS = {"force": "velocity", "moment": "stress"}  # by which sources act
PLACES = {"force": 0.0, "moment": 0.5}  # of the samples of their series within a step
BEYOND_GRADIENTS = {
    FiniteFault: "a finite fault",
    Catalogue: "a file of more than 1,000 sources",
    PlaneWave: "a plane wave",
}


class Derivative:
    """The derivative of a function that is computed point by point, and its transpose, exact to rounding.

    The imaginary part of f(x + ih) / h is f'(x) without the difference of two near numbers (Squire & Trapp 1998), of an f of
    arithmetic, roots and choices.

    Parameters
    ----------
    function : callable
        ``function(part, *values)`` returns arrays of the values at the points `part`, an index of their first axis.
    values : sequence of arrays
        Of one shape.
    """

    def __init__(self, function, values):
        self.function, self.values = function, list(values)
        shape = self.values[0].shape
        rows = -(-shape[0] // PARTS_AT_MOST) if shape else 1
        whole = self.values[0].size <= FEW
        self.parts = [...] if whole else [slice(n, n + rows) for n in range(0, shape[0], rows)]

    def apply(self, changes):
        """Return by how much the results change with the values, to first order: list of arrays."""
        out = [self._at(part, [change[part] for change in changes]) for part in self.parts]
        return out[0] if self.parts == [...] else [np.concatenate(part) for part in zip(*out)]

    def transpose(self, by_results):
        """Return the derivatives of a number by the values from those by the results: list of arrays."""
        out = [np.zeros_like(value, float) for value in self.values]
        for part in self.parts:
            for n, by_value in enumerate(out):
                slopes = self._at(part, [float(m == n) for m in range(len(out))])
                by_value[part] = sum(slope * by[part] for slope, by in zip(slopes, by_results))
        return out

    def _at(self, part, changes):
        """Return the changes of the results at some points, those of the values given."""
        stepped = (value[part] + 1j * STEP * change for value, change in zip(self.values, changes, strict=True))
        shape = self.values[0][part].shape
        return [np.broadcast_to(np.imag(result) / STEP, shape) for result in self.function(part, *stepped)]


class Unrelaxed:
    """The unrelaxed modulus of a `Relaxation`, whose own text is of complex numbers, as a function for `Derivative`."""

    def __init__(self, relaxation):
        self.relaxation = relaxation

    def unrelaxed(self, inverse_q):
        """Return what `Relaxation.unrelaxed` returns, of complex 1/Q with the change by its imaginary part."""
        value = self.relaxation.unrelaxed(np.real(inverse_q))
        if not np.iscomplexobj(inverse_q):
            return value
        return value + 1j * np.imag(inverse_q) * self.relaxation.unrelaxed_slope(np.real(inverse_q))


# --- tables of rows -------------------------------------------------------------------------------


def joined(rows):
    """Return rows (index, weight) of each column as one table: index, weight, column.

    Parameters
    ----------
    rows : sequence of (index, weight)
    """
    first, index, weight = stacked_rows(rows)
    return index, weight, np.repeat(np.arange(len(rows)), np.diff(first))


# --- scenarios and their states -------------------------------------------------------------------


def refused(rows, place="gradients"):
    """Return a list of Problem of (key, words, remedy) rows that gradients do not cover yet."""
    return [Problem(key, f"{place} do not cover {words}", remedy) for key, words, remedy in rows]


def injections_of(scenario):
    """Return the row, see `refused`, of the injections of a scenario, where it has some: list."""
    return [("injection", "injections", "leave it out")] * bool(scenario.injection)


def beyond_gradients(sources):
    """Return the rows, see `refused`, of sources of kinds that gradients do not cover: list."""
    return [
        ("source", f"{source.name}: {BEYOND_GRADIENTS[type(source)]}", "use point sources")
        for source in sources
        if type(source) in BEYOND_GRADIENTS
    ]


def refuse_without_receivers(channels):
    """Refuse a scenario that records no channels."""
    if not channels:
        refuse("receivers", "gradients need receivers: add [[receivers]]", "")


class LinearisedScenario:
    """What linearised scenarios of all methods have in common; a subclass has what they are.

    Attributes
    ----------
    d : Discretisation
    cells : tuple of arrays
        Density and moduli of the scenario's model.
    inverse_q : (array, array) or None
        1/Qp and 1/Qs of the model.
    sources : list of PointSource
    channels : list of Channel
    places : str
        What parameters have values of: ``"cells"``, ``"nodes"``.
    """

    def start(self, names):
        """Return the cells that parameters are made of: `cells`, and for parameters of Q behind them 1/Qp and 1/Qs.

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
        if self.d.anisotropic or self.inverse_q is None:
            kind = "anisotropic" if self.d.anisotropic else "elastic"
            remedy = "give the model qp, qs and [model.attenuation], or leave them out"
            refuse("parameters", f"Q of an {kind} medium", remedy)
        lossless = {name: int((loss == 0).sum()) for name, loss in zip(OF_Q, self.inverse_q) if name in names}
        refuse_all(
            [
                Problem("parameters", f"{name} is infinite in {count:,} {self.places}", f"use inverse_{name}")
                for name, count in lossless.items()
                if count
            ]
        )
        return (*self.cells, *self.inverse_q)

    @property
    def largest_inverse_q(self):
        """Largest 1/Q for which the mechanisms are good; None without attenuation."""
        return self.d.relaxation and BEYOND_FITTED * self.d.relaxation.largest

    def of_kind(self, kind):
        """Return the sources that are a ``"force"`` or a ``"moment"``: list."""
        return [s for s in self.sources if (s.force is not None) == (kind == "force")]


class LinearisedState:
    """What the states of linearised scenarios, each with one medium, have in common.

    Attributes
    ----------
    problem : LinearisedScenario
        With `series`, what forces and moments inject at each step, (steps, sources) by half step.
    """

    def units_of(self, kind):
        """Return how many columns of unit sources stand for all forces or moments."""
        return PARTS[kind] * len(self.problem.of_kind(kind))

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
            Of each source: ``strength``, dJ/d(force), (3,), 1/N, or dJ/d(moment tensor), (6,), 1/(N m), xx yy zz xy xz yz;
            ``position``, dJ/d(x, y, z), 1/m; ``series``, dJ/d(series), (steps,), series as the leapfrog has them.
        """
        series, count = self.problem.series.get(HALF_STEPS[kind]), PARTS[kind]
        return [
            collected(source, kind, taps[:, count * n : count * (n + 1)], series[:, n])
            for n, source in enumerate(self.problem.of_kind(kind))
        ]


def unit_rows(space, source, kind, step, holds, axes=(0, 1, 2), **options):
    """Return (index, weight) of the unit components of a source, and of the derivatives of the source itself by its position
    along x, y, z, 1/m: central differences, none where a place beside it lies outside.

    Parameters
    ----------
    space : Space
    source : PointSource
    kind : str
        ``"force"`` or ``"moment"``.
    step : float
        The spacing, m.
    holds : callable
        Tells which positions (n, 3) lie inside.
    axes : sequence of int
        Along which it may lie elsewhere.
    **options
        Of `Space.point_rows`.
    """
    step = MOVED * step
    units = [replace(source, **{kind: unit}) for unit in components(kind)]
    places = [shifted(source, axis, sign * step) for axis in range(AXES) for sign in (1, -1)]
    inside = holds(np.array([place.xyz for place in places])).reshape(AXES, 2).all(axis=1)
    inside &= np.isin(range(AXES), axes)
    beside = [place if inside[n // 2] else source for n, place in enumerate(places)]
    index, weight, column = space.point_rows([*units, *beside], **options)
    rows = [(index[column == n], weight[column == n]) for n in range(len(units) + len(beside))]
    for n, ok in enumerate(inside):
        (ahead, more), (behind, less) = rows[len(units) + n : len(units) + n + 2]
        slope = ok / (2 * step) * np.concatenate([more, -less])
        rows[len(units) + n : len(units) + n + 2] = [(np.concatenate([ahead, behind]), slope)]
    return rows
