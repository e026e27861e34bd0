"""Cases of `craton bench gravity`: the direct sum, and whole calls on the seven spheres of
Couder-Castaneda et al. (2013).
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

from craton.methods.gravity.fields import FIELDS
from craton.model.prisms.ensembles import cells, edges

CELLS, EXTENT, HEIGHT, RADIUS = (700, 700, 50), (22e3, 22e3, 8e3), 100.0, 1107.2
SPHERES = (  # x, y, z of the centres, m, and density, kg/m3, as in examples/seven_spheres.toml
    (11_000, 11_000, -1660, -250),
    (16_610, 14_300, -2100, 300),
    (11_220, 17_710, -2900, -400),
    (5280, 14_190, -2500, 350),
    (5280, 7480, -1920, -300),
    (10_780, 4400, -3560, 500),
    (16_720, 7590, -2580, -350),
)
GRID = (150, 100)  # points of the paper's case
# Prisms and points of the rates, points of whole direct sums: on the CPU under a minute on two
# cores; elsewhere.
SIZES, LARGE = {"cpu": (20_000, (32, 32), (15, 10))}, (251_946, (256, 192), GRID)


@dataclass(frozen=True)
class Case:
    """A line of the benchmark.

    Parameters
    ----------
    title : str
    fields : tuple of str
    precision : str
    method : str
    prisms : int
        Of the seven spheres, evenly chosen; all for a whole call.
    points : tuple of int
        Of the grid above them, along x and y.
    whole : bool
        The whole call from arrays to arrays, with checks, transfers and statement of the error;
        else the kernels alone.
    """

    title: str
    fields: tuple
    precision: str
    method: str
    prisms: int
    points: tuple
    whole: bool

    @property
    def problem(self):
        """Prisms (n, 6), density (n,), points (x, y, z)."""
        prisms, density = seven_spheres()
        chosen = np.linspace(0, len(prisms) - 1, min(self.prisms, len(prisms))).astype(int)
        x, y = np.meshgrid(*(np.linspace(0, size, n) for size, n in zip(EXTENT, self.points)))
        return prisms[chosen], density[chosen], (x, y, np.full(x.shape, HEIGHT))


def cases(device):
    """Return the cases for a machine of that name."""
    prisms, many, few = SIZES.get(device, LARGE)
    groups = (("g_z", ("g_z",)), ("nine fields", FIELDS[1:]))
    rates = [
        Case(f"direct, {name}, {precision}", fields, precision, "direct", prisms, many, False)
        for precision in ("float64", "float32")
        for name, fields in groups
    ]
    for method, points in (("direct", few), ("auto", GRID)):
        where = "" if points == GRID else f", at {points[0] * points[1]} points"
        for name, fields in groups:
            title = f"paper's case, {name}, {method}{where}"
            rates.append(Case(title, fields, "float64", method, LARGE[0], points, True))
    return rates


@cache
def seven_spheres():
    """Prisms and density of the paper's case."""
    corner = (0, 0, -EXTENT[2])
    planes = (edges(low, low + size, n) for low, size, n in zip(corner, EXTENT, CELLS))
    shape = {"shape": "sphere", "radius": RADIUS}
    bodies = [SimpleNamespace(center=at, density=density, **shape) for *at, density in SPHERES]
    ensemble = cells(*planes, bodies=bodies)
    return ensemble.prisms, ensemble.density
