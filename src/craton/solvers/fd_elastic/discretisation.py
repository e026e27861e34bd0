"""The choices of one discretised problem that all builders share: grid, layout, order, step, closure, periodic axes."""
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.conventions import FACES
from craton.plan.layout import Layout
from craton.solvers.fd_elastic.closure import closure
from craton.solvers.fd_elastic.scheme import FIELDS, stencil


@dataclass(frozen=True)
class Discretisation:
    """What the scenario became on the grid.

    Parameters
    ----------
    scenario : Scenario
    grid : Grid
    order : int
        Order in space.
    precision : str
    dt, start : float
        Step and time of the first stress state, s.
    steps : int
        Those of `extra` included.
    vp_max : float
        Fastest wave, m/s: stability and CPML.
    frequency : float
        Peak frequency of the sources, Hz: CPML.
    extra : int
        Steps past the end, from which records are corrected in time up to it.
    """

    scenario: Any
    grid: Any
    order: int
    precision: str
    dt: float
    start: float
    steps: int
    vp_max: float
    frequency: float
    extra: int = 0

    @property
    def end(self):
        """Time at which the waveforms end, s."""
        return self.start + (self.steps - self.extra) * self.dt

    @property
    def reach(self):
        """Points to each side that differences reach."""
        return self.order // 2

    @cached_property
    def stencil(self):
        """Differences along the axes."""
        return stencil(self.order, self.scenario.run.weights, self.free)

    @cached_property
    def layout(self):
        """Memory of a field."""
        return Layout(self.grid.shape, self.reach)

    @property
    def free(self):
        """True where the top is a free surface."""
        return self.face("top") == "free"

    @cached_property
    def closure(self):
        """Differences and norms below the free surface, or None."""
        return closure(2 * len(self.stencil.vertical)) if self.free else None

    @property
    def surface_planes(self):
        """Planes that the closure covers."""
        return self.closure.rows + 1 if self.free else 0

    def face(self, name):
        """Kind of boundary on a face."""
        return self.scenario.boundaries.face(name)

    def faces(self, kind):
        """(axis, side) of the faces of one kind, axis 0, 1, 2 for x, y, z."""
        return [("xyz".index(axis), side) for name, (axis, side) in FACES.items() if self.face(name) == kind]

    @property
    def box(self):
        """The whole grid as a box."""
        nz, ny, nx = self.grid.shape
        return (0, nz, 0, ny, 0, nx)

    def slab(self, axis, low, high):
        """The box of all points with index low .. high - 1 along an axis."""
        box = list(self.box)
        box[2 * (2 - axis)], box[2 * (2 - axis) + 1] = low, high
        return tuple(box)

    @property
    def fd_params(self):
        """Scalars of the plain step."""
        return {"row": self.layout.row, "plane": self.layout.plane, "top": self.grid.shape[0] - 1, "dt_h": self.dt / self.grid.spacing}

    def start_of(self, name):
        """Elements from a point of the state's first field to that point of field `name`."""
        return FIELDS.index(name) * self.layout.field

    def norms(self, k, half):
        """Quadrature weights along z of planes k, in units of the spacing: less than a cell's below a free surface (closure.py)."""
        out = np.ones(len(k))
        if self.free:
            depth = self.grid.shape[0] - 1 - np.asarray(k) - half
            near = (depth >= 0) & (depth < self.closure.rows)
            out[near] = (self.closure.hm if half else self.closure.hp)[depth[near]]
        return out
