"""Parameters on the grid of a model file: interpolated to samples in the cells of the computation (2 x 2 x 2 of each) or to
the nodes of elements, averaged over each cell as `craton.model.media.gridded.Gridded` does it, and the chain rule through
both: vp, vs and density are interpolated linearly, density is averaged arithmetically, bulk and shear modulus harmonically.
"""

import math
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from craton.conventions import AXES
from craton.errors import Problem, refuse, refuse_all
from craton.inverse import parameters as sets
from craton.model.interpolate import weights
from craton.model.media import cells, earth
from craton.model.media.gridded import Gridded
from craton.model.media.sampling import INWARDS

SPEEDS = sets.SETS[0]
SAMPLES = 2  # of a cell, along each axis


def parameters(names, scenario, grid):
    """Return the `ModelParameters` of a scenario's model file.

    Parameters
    ----------
    names : tuple of str
        Of vp, vs, rho.
    scenario : Scenario
    grid : Grid or craton.methods.spectral_element.adjoint.nodal.Nodes

    Raises
    ------
    ScenarioError
        The model is no file, or has anomalies; other parameters.
    """
    model, problems = scenario.model, []
    if model.kind != "file":
        problems.append(Problem("on", f'the model is of kind "{model.kind}", not a file', 'use on="grid"'))
    if model.anomalies:
        problems.append(Problem("on", "anomalies lie on top of the model file", "put them into the file"))
    if model.water is not None:
        problems.append(Problem("on", "water lies on top of the model file", 'use on="grid", or leave it out'))
    if not set(names) <= set(SPEEDS):
        problems.append(Problem("parameters", f"{', '.join(names)} on a model file", f"use {', '.join(SPEEDS)}"))
    refuse_all(problems)
    if grid.axis("x").ndim > 1:  # nodes of elements
        medium = gridded(grid.d.sampler)
        return ModelParameters(tuple(names), medium, grid, to_nodes(medium.axes, grid), grid.axis("x").shape, ())
    medium = earth.medium_of(model, cells.slab(grid, 0, grid.shape[0]))
    shape = tuple(n for count in grid.shape for n in (count, SAMPLES))
    return ModelParameters(tuple(names), medium, grid, to_samples(medium.axes, grid), shape, (1, 3, 5))


def gridded(sampler):
    """Return the grid of the model file that a sampler of elements looks up.

    Raises
    ------
    ScenarioError
        It looks up something else besides.
    """
    medium = getattr(sampler, "medium", None)
    if not isinstance(medium, Gridded) or sampler.regions or sampler.ground is not None:
        refuse("on", "the mesh takes its medium not from the model file alone", 'use on="grid"')
    return medium


def to_nodes(axes, nodes):
    """Return the sparse matrix from points of a file to nodes of elements; as `Sampler` it looks up nodes a little way towards
    the centres of their elements.
    """
    from scipy.sparse import csr_array

    places, centres = nodes.coordinates, nodes.d.centres[:, :, None]
    inner = (places + INWARDS * (centres - places)).transpose(1, 0, 2).reshape(3, -1)
    ends = [weights(axis, at) for axis, at in zip(axes, inner)]
    (nx, ny, nz), count = map(len, axes), inner.shape[1]
    columns, values = [], []
    for side in product((0, 1), repeat=3):
        i, j, k = (ends[a][s] for a, s in enumerate(side))
        columns.append((k * ny + j) * nx + i)
        values.append(np.prod([ends[a][2] if s else 1 - ends[a][2] for a, s in enumerate(side)], axis=0))
    rows = np.tile(np.arange(count), len(columns))
    return csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=(count, nx * ny * nz))


def to_samples(axes, grid):
    """Return the linear operator from points of a file to samples in the cells of a grid: a matrix along each axis."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

    matrices = []
    for name, axis in reversed(list(zip(AXES, axes))):
        at = cells.middles(*cells.edges(grid, name), SAMPLES).ravel()
        before, after, weight = weights(axis, at)
        entries = (
            np.concatenate([1 - weight, weight]),
            (np.tile(np.arange(len(at)), 2), np.concatenate([before, after])),
        )
        matrices.append(csr_array(entries, shape=(len(at), len(axis))))

    def applied(parts, values):
        values = values.reshape([part.shape[1] for part in parts])
        for axis, part in enumerate(parts):
            moved = np.moveaxis(values, axis, 0)
            flat = part @ moved.reshape(len(moved), -1)
            values = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
        return values.ravel()

    shape = tuple(int(np.prod([matrix.shape[n] for matrix in matrices])) for n in (0, 1))
    back = [matrix.T for matrix in matrices]
    return LinearOperator(shape, partial(applied, matrices), partial(applied, back), dtype=float)


@dataclass(frozen=True)
class ModelParameters:
    """Parameters of the points of a model file as one vector: one after the other, each (nz, ny, nx). The counterpart of
    `craton.inverse.parameters.Parameters`.

    Parameters
    ----------
    names : tuple of str
        Of vp, vs, rho.
    medium : Gridded
        The start.
    grid : Grid or Nodes
        Of the computation.
    interpolation : linear operator
        From points of the file to samples.
    samples : tuple of int
        Shape of the samples of all cells.
    averaged : tuple of int
        Its axes over which the samples of a cell are averaged.
    """

    names: tuple
    medium: Any
    grid: Any
    interpolation: Any
    samples: tuple
    averaged: tuple

    @property
    def shape(self):
        """(parameters, nz, ny, nx) of the file."""
        return (len(self.names), *self.medium.fields[0].shape)

    @property
    def axes(self):
        """Coordinates by axis, m."""
        return dict(zip(AXES, self.medium.axes))

    @property
    def vector(self):
        """The start as a vector."""
        fields = dict(zip(SPEEDS, self.medium.fields))
        return np.stack([fields[name] for name in self.names]).ravel()

    def _sampled(self, values):
        """Return values of the file at the samples."""
        return (self.interpolation @ np.ravel(values)).reshape(self.samples)

    def _speeds(self, m):
        """Return vp, vs and rho at the samples, from a vector where it has them."""
        fields = dict(zip(SPEEDS, self.medium.fields))
        fields |= dict(zip(self.names, np.reshape(np.asarray(m, float), self.shape)))
        return [self._sampled(fields[name]) for name in SPEEDS]

    def cells(self, m):
        """Return (rho, kappa, mu) of the cells from a vector of parameters."""
        return self._averages(*sets.to_cells(SPEEDS, self._speeds(m)))

    def _averages(self, rho, kappa, mu):
        """Return density, bulk and shear modulus of the cells from those of the samples."""
        with np.errstate(divide="ignore"):
            return rho.mean(self.averaged), *(1 / (1 / modulus).mean(self.averaged) for modulus in (kappa, mu))

    def _shares(self, speeds):
        """Return the derivatives of the averages by rho, kappa and mu of a sample."""
        rho, kappa, mu = sets.to_cells(SPEEDS, speeds)
        _, mean_kappa, mean_mu = (np.expand_dims(v, self.averaged) for v in self._averages(rho, kappa, mu))
        share = 1.0 / math.prod(self.samples[axis] for axis in self.averaged)
        by_mu = np.where(mu > 0, mean_mu / np.where(mu > 0, mu, 1.0), 0.0)
        by_kappa = mean_kappa / kappa
        return share, share * by_kappa**2, share * by_mu**2

    def gradient(self, m, by_cells):
        """Return the gradient by the parameters from that by (rho, kappa, mu) of the cells."""
        speeds = self._speeds(m)
        by_samples = [
            share * np.expand_dims(values, self.averaged) for share, values in zip(self._shares(speeds), by_cells)
        ]
        by_speeds = sets.derivative(SPEEDS, speeds, self.names).transpose(by_samples)
        return np.concatenate([self.interpolation.T @ values.ravel() for values in by_speeds])

    def changes(self, m, dm):
        """Return the changes of (rho, kappa, mu) of the cells to first order."""
        speeds = self._speeds(m)
        moved = list(map(self._sampled, np.reshape(np.asarray(dm, float), self.shape)))
        changes = sets.derivative(SPEEDS, speeds, self.names).apply(moved)
        return tuple((share * change).sum(self.averaged) for share, change in zip(self._shares(speeds), changes))
