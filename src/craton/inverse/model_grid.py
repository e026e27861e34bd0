"""Parameters on the grid of a model file: the averages over the cells of the computation, and the
chain rule through them.

As `craton.model.media.gridded.Gridded`: vp, vs and density are interpolated linearly at 2 x 2 x 2
points of each cell, density is averaged arithmetically, bulk and shear modulus harmonically.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.conventions import AXES
from craton.errors import Problem, ScenarioError
from craton.inverse import parameters as sets
from craton.inverse.model_nodes import NodeParameters
from craton.inverse.model_points import SPEEDS, PointParameters
from craton.model.interpolate import weights
from craton.model.media import cells, earth
from craton.model.media.gridded import Gridded

SAMPLES = 2  # of a cell, along each axis


def parameters(names, scenario, grid):
    """Return the parameters on the grid of a scenario's model file.

    Parameters
    ----------
    names : tuple of str
        Of vp, vs, rho.
    scenario : Scenario
    grid : Grid

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
    if getattr(model, "water", None) is not None:
        problems.append(Problem("on", "water lies on top of the model file", 'use on="grid", or leave it out'))
    if not set(names) <= set(SPEEDS):
        problems.append(Problem("parameters", f"{', '.join(names)} on a model file", f"use {', '.join(SPEEDS)}"))
    if problems:
        raise ScenarioError(problems)
    if hasattr(grid, "coordinates"):  # nodes of elements
        return NodeParameters(tuple(names), gridded(grid.d.sampler), grid)
    medium = earth.medium_of(model, cells.slab(grid, 0, grid.shape[0]))
    return ModelParameters(tuple(names), medium, grid)


def gridded(sampler):
    """Return the grid of the model file that a sampler of elements looks up.

    Raises
    ------
    ScenarioError
        It looks up something else besides.
    """
    medium = getattr(sampler, "medium", None)
    if not isinstance(medium, Gridded) or sampler.regions or sampler.ground is not None:
        words = "the mesh takes its medium not from the model file alone"
        raise ScenarioError([Problem("on", words, 'use on="grid"')])
    return medium


@dataclass(frozen=True)
class ModelParameters(PointParameters):
    """Parameters of a model file for a grid of finite differences; see `PointParameters`. The
    counterpart of `craton.inverse.parameters.Parameters`.

    Parameters
    ----------
    names, medium
        See `PointParameters`.
    grid : Grid
        Of the computation.
    """

    grid: Any

    @cached_property
    def _maps(self):
        """Sparse matrices from points of the file to samples in cells, along z, y, x."""
        from scipy.sparse import csr_array

        out = []
        for name in reversed(AXES):
            axis = self.axes[name]
            at = cells.middles(*cells.edges(self.grid, name), SAMPLES).ravel()
            before, after, weight = weights(axis, at)
            rows = np.tile(np.arange(len(at)), 2)
            values = np.concatenate([1 - weight, weight])
            columns = np.concatenate([before, after])
            out.append(csr_array((values, (rows, columns)), shape=(len(at), len(axis))))
        return out

    def _sampled(self, values, transposed=False):
        """Values of the file at the samples, or the transpose of that."""
        for axis, matrix in enumerate(self._maps):
            moved = np.moveaxis(values, axis, 0)
            flat = (matrix.T if transposed else matrix) @ moved.reshape(len(moved), -1)
            values = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
        return values

    def _samples(self, m):
        """Speeds and density at the samples."""
        return [self._sampled(field) for field in self.at_points(m)]

    def cells(self, m):
        """Return (rho, kappa, mu) of the cells from a vector of parameters."""
        rho, kappa, mu = sets.to_cells(SPEEDS, self._samples(m))
        with np.errstate(divide="ignore"):
            return _mean(rho), 1 / _mean(1 / kappa), 1 / _mean(1 / mu)

    def _slopes(self, m):
        """Return the derivatives of the averages by samples of rho, kappa, mu, and these by speeds."""
        samples = self._samples(m)
        _, kappa, mu = sets.to_cells(SPEEDS, samples)
        _, mean_kappa, mean_mu = self.cells(m)
        share = 1.0 / SAMPLES**3
        solid = mu > 0
        by_mu = np.where(solid, _repeat(mean_mu) / np.where(solid, mu, 1.0), 0.0)
        by_kappa = _repeat(mean_kappa) / kappa
        return (share, share * by_kappa**2, share * by_mu**2), sets.jacobian(SPEEDS, samples)

    def gradient(self, m, by_cells):
        """Return the gradient by the parameters from that by (rho, kappa, mu) of the cells."""
        shares, rows = self._slopes(m)
        at_samples = [share * _repeat(v) for share, v in zip(shares, by_cells)]
        out = []
        for n, name in enumerate(SPEEDS):
            if name in self.names:
                by_name = sum(row[n] * v for row, v in zip(rows, at_samples))
                out.append((name, self._sampled(by_name, transposed=True)))
        named = dict(out)
        return np.stack([named[name] for name in self.names]).ravel()

    def changes(self, m, dm):
        """Return the changes of (rho, kappa, mu) of the cells to first order."""
        shares, rows = self._slopes(m)
        named = dict(zip(self.names, np.reshape(np.asarray(dm, float), self.shape)))
        moved = {name: self._sampled(v) for name, v in named.items()}
        out = []
        for share, row in zip(shares, rows):
            change = sum(row[n] * moved[name] for n, name in enumerate(SPEEDS) if name in moved)
            samples = np.broadcast_to(share * change, next(iter(moved.values())).shape)
            out.append(_mean(samples) * SAMPLES**3)
        return tuple(out)


def _mean(samples):
    """Means over the samples of each cell."""
    nz, ny, nx = (n // SAMPLES for n in samples.shape)
    blocks = samples.reshape(nz, SAMPLES, ny, SAMPLES, nx, SAMPLES)
    return blocks.mean(axis=(1, 3, 5))


def _repeat(values):
    """Values of cells at each of their samples."""
    for axis in range(3):
        values = np.repeat(values, SAMPLES, axis)
    return values
