"""Media that depend on depth only: homogeneous and layered, each layer constant or linear in depth below an elevation
or below the ground.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.model.media import cells, checks, properties

# points per part of a cell where a gradient makes the moduli cubic in depth: exact to rounding for
# any sane gradient
GAUSS = 5
PIECES = 8  # samples along z of a cell in layers that follow the ground


@dataclass(frozen=True)
class Layered:
    """Flat layers, top down."""

    # (n,): elevation of each layer's top, metres, falling; the first layer also fills what is above it
    breaks: np.ndarray
    tops: np.ndarray  # (m, n): the first m of `properties.NAMES` at each layer's top
    gradients: np.ndarray  # (m, n): their growth per metre of depth below it
    # where each layer stands in the model's part of the scenario: ``"layers.0"``; empty for the model itself
    keys: tuple[str, ...]

    @property
    def whole(self):
        """Parts along x and y, parts along z and Gauss points in each, that average a cell which no
        anomaly cuts.
        """
        return 1, 1, GAUSS if self.gradients.any() else 1

    def values(self, x, y, z):
        """vp, vs (m/s), rho (kg/m3) at points; they have the shape of z. A point on an interface belongs to the layer
        below.

        `x`, `y` in m; `z` in m, up.
        """
        return self._in_layer(self.layer(z), z)

    def _in_layer(self, layer, z):
        """Return the same at points as if they were in some layers."""
        depth = np.maximum(self.breaks[layer] - z, 0.0)
        return tuple(top[layer] + gradient[layer] * depth for top, gradient in zip(self.tops, self.gradients))

    def layer(self, z):
        """Return number of the layer of each point, of the shape of z.

        `z` in m, up.
        """
        return np.maximum(np.searchsorted(-self.breaks, -np.asarray(z, dtype=float), side="right") - 1, 0)

    def within(self, layer):
        """Lowest and highest z that belong to layers, of the shape of `layer`; the last goes down and the first up for
        ever.
        """
        lowest = np.append(np.nextafter(self.breaks[1:], np.inf), -np.inf)
        return lowest[layer], np.append(np.inf, self.breaks[1:])[layer]

    def averages(self, grid, k0, k1, average=cells.ELASTIC):
        """Effective media of the cells of planes k0 to k1 - 1, without anomalies: read-only views (k1 - k0, ny, nx).

        `k0`: first plane; `k1`: one past the last plane; `average`: what is averaged, and how.
        """
        lower, upper = cells.edges(grid, "z", k0, k1)
        column = np.empty((average.size, k1 - k0))
        # cells of one medium: no layer begins within, and none has a gradient
        begins = (self.breaks > lower[:, None]) & (self.breaks < upper[:, None])
        uniform = ~begins.any(axis=1) & (not self.gradients.any())
        middle = (lower + upper)[None, uniform] / 2
        column[:, uniform] = average(self.values(0, 0, middle), np.ones_like(middle), (0,))
        for k in np.flatnonzero(~uniform):
            z, weights = cells.quadrature(lower[k], upper[k], self.breaks, 1, self.whole[2])
            column[:, k] = average(self.values(0, 0, z), weights, (0,))
        shape = (k1 - k0, *grid.shape[1:])
        return tuple(np.broadcast_to(values[:, None, None], shape) for values in column)

    def sections(self, low, high):
        """Part of each layer between two elevations: list of (layer, z of its lower end, z of its upper end).

        `low`, `high`: elevation, m.
        """
        bottoms = np.append(self.breaks[1:], -np.inf)
        uppers = np.append(np.inf, self.breaks[1:])  # the first layer fills what is above it
        ends = [(i, max(bottom, low), min(upper, high)) for i, (bottom, upper) in enumerate(zip(bottoms, uppers))]
        return [(i, a, b) for i, a, b in ends if b > a or a == b == low == high]

    def ends(self, low, high):
        """Return both ends of each section between two elevations, m: list of (layer, z (2,), values (2,) there);
        between them values are linear.
        """
        sections = [(i, np.array(ends)) for i, *ends in self.sections(low, high)]
        return [(i, z, self._in_layer(i, z)) for i, z in sections]


@dataclass(frozen=True)
class Followed:
    """Layers at constant depth below the ground; see `Layered` for the names."""

    flat: Layered  # in which z = 0 is the ground
    terrain: Any
    breaks: np.ndarray = field(default_factory=lambda: np.empty(0))  # none at the same z everywhere

    whole = (1, PIECES, 1)

    def values(self, x, y, z):
        """vp, vs (m/s), rho (kg/m3) and what else the layers have at points (arrays that broadcast together).

        `x`, `y` in m; `z` in m, up.
        """
        return self.flat.values(x, y, np.asarray(z, float) - self.terrain.surface(x, y))

    def averages(self, grid, k0, k1, average=cells.ELASTIC):
        """Density and moduli of the cells of planes k0 to k1 - 1, without anomalies, from `PIECES` samples along z.

        `k0`: first plane; `k1`: one past the last plane; `average`: what is averaged, and how.
        """
        x, y = grid.axis("x"), grid.axis("y")[:, None]
        ground = self.terrain.surface(x, y)
        z, weights = cells.middles(*cells.edges(grid, "z"), PIECES), np.full((PIECES, 1, 1), 1 / PIECES)

        def mean(k):
            return average(self.flat.values(0, 0, z[k][:, None, None] - ground), weights, (0,))

        return cells.plane_by_plane(grid, k0, k1, average, mean)


def follows(model):
    """Return whether the layers of a model count from its topography."""
    return getattr(model, "follow", "level") == "surface" and getattr(model, "topography", None) is not None


def build(model, names=checks.NAMES):
    """Return the `Layered` of a homogeneous or layers model of a scenario.

    `names`: of `properties.NAMES`.
    """
    if model.kind == "homogeneous":
        values = np.array([[properties.value(model, name)] for name in names])
        return Layered(np.zeros(1), values, np.zeros_like(values), ("",))
    layers = model.layers
    tops = np.array([[properties.value(layer, name) for layer in layers] for name in names])
    gradients = np.array(
        [[float(getattr(layer, f"{name}_gradient", None) or 0.0) for layer in layers] for name in names]
    )
    breaks = np.array([float(layer.top) for layer in layers])
    return Layered(breaks, tops, gradients, tuple(f"layers.{i}" for i in range(len(layers))))


def problems(layered, region, key):
    """Problems of a layered medium on a grid or region: list of Problem.

    `key`: of the model in the scenario, for messages.
    """
    problems = [p for i in range(len(layered.keys)) for p in checks.values(_key(layered, i, key), *layered.tops[:, i])]
    disorder = _order_problems(layered, key)
    if disorder:
        return problems + disorder
    low, high = region.bounds("z")
    if layered.keys != ("",) and layered.breaks[0] < high - checks.tolerance(low, high):
        problems.append(
            Problem(
                f"{key}.layers.0.top",
                f"the first layer starts at {layered.breaks[0]:.10g} m, below the top of the domain at {high:.10g} m",
                "Raise this top to the top of the domain, or lower the domain.",
            )
        )
    for i, z, values in layered.ends(low, high):
        if layered.gradients[:, i].any() and not checks.values("", *layered.tops[:, i]):
            where = f" at z = {z[0]:.10g} m, as extrapolated by the gradient"
            problems += checks.values(_key(layered, i, key), *(value[0] for value in values), where)
    return problems


def _key(layered, i, key):
    return f"{key}.{layered.keys[i]}" if layered.keys[i] else key


def _order_problems(layered, key):
    tops = layered.breaks
    return [
        Problem(
            f"{key}.layers.{i}.top",
            f"{tops[i]:.10g} m is not below the top of the previous layer, {tops[i - 1]:.10g} m",
            "List the layers from the top down; top is an elevation, negative below z = 0.",
        )
        for i in range(1, len(tops))
        if not tops[i] < tops[i - 1]
    ]
