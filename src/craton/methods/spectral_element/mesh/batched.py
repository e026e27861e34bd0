"""Batches of elements by compiled code while a plan is made: shapes, material, masses (scan.cpp).

Each method does what the NumPy of its caller does, with the same bits; `compiled` is None where the
computer has no compiler.
"""

from functools import cache
from pathlib import Path

import numpy as np

from craton.host.compile import helper

TEXT = Path(__file__).parent / "scan.cpp"


@cache
def compiled():
    """Return the `Batched` of this process, or None where there is no compiler."""
    functions = helper(TEXT)
    return None if functions is None else Batched(functions)


class Batched:
    """Compiled functions of batches of elements.

    Parameters
    ----------
    functions : craton.host.compile.Helper
    """

    def __init__(self, functions):
        self.call = functions.call

    def shapes(self, elements, nodes, centres):
        """Return the nodes (m, 3) of elements (n, 27) relative to their centres (n, 3): (n, 3, 27)."""
        local = np.empty((len(elements), 3, 27))
        self.call(
            "shapes",
            len(elements),
            np.ascontiguousarray(elements, np.int32),
            np.ascontiguousarray(nodes, float),
            np.ascontiguousarray(centres, float),
            local,
        )
        return local

    def shape_statistics(self, local, rectangular, midway):
        """Return edges (n, 3), straight (n,), shortest and longest edge, scaled Jacobian and largest
        sine between edges (4, n), volumes of the boxes around elements (n,).
        """
        count = len(local)
        out = np.empty((count, 3)), np.empty(count, bool), np.empty((4, count)), np.empty(count)
        self.call("shape_statistics", count, local, float(rectangular), float(midway), *out)
        return out

    def determinants(self, slopes, count):
        """Return det J (n, n^3) from d x_r / d xi_s, rows [element][r] and columns [s][node]."""
        out = np.empty((count, slopes.size // (9 * count) if count else 0))
        self.call("determinants", count, out.shape[1], slopes, out)
        return out

    def extremes(self, values, uniform, varying):
        """Return the least, largest and mean value of an element's nodes, (n, ...) each, from (n,
        ..., nodes); set `varying` where one differs by more than `uniform` of the largest.
        """
        values = np.ascontiguousarray(values, float)
        out = [np.empty(values.shape[:-1]) for _ in range(3)]
        count, rows = len(values), int(np.prod(values.shape[1:-1]))
        self.call("extremes", count, rows, values.shape[-1], float(uniform), values, *out, varying)
        return out

    def slowest(self, vp, vs):
        """Return the least vs, of a fluid vp, of the nodes (n, nodes) of elements: (n,)."""
        vp, vs, out = np.ascontiguousarray(vp), np.ascontiguousarray(vs), np.empty(len(vp))
        self.call("slowest", *vp.shape, vp, vs, out)
        return out

    def unsound(self, vp, vs, rho, limits):
        """Return how many values (n, nodes) are impossible and elements partly fluid; limits are
        those of vp, vs and rho, and of vs / vp.
        """
        values = [np.ascontiguousarray(a) for a in (vp, vs, rho)]
        return self.call("unsound", *vp.shape, *values, *map(float, limits))

    def masses(self, volumes, inertia, weights):
        """Return volumes (n, nodes or 1) times inertia (n, nodes or 1) times weights (nodes,)."""
        out = np.empty((len(volumes), len(weights)))
        parts = (np.ascontiguousarray(part) for part in (volumes, inertia))
        stepping = ((part, int(part.shape[1] > 1)) for part in parts)
        self.call("weigh", *out.shape, *(a for pair in stepping for a in pair), weights, out)
        return out

    def add_at(self, total, points, values):
        """Add values (n, nodes) to the total at their points (n, nodes), one after another."""
        points = np.ascontiguousarray(points, np.int32)
        self.call("add_masses", *points.shape, points, np.ascontiguousarray(values), total)

    def corner_stiffness(self, slopes, speed, inertia, weights):
        """Return the stiffness at corners (n, 8), its largest quotient with an element's mass (n,)
        and the compactness (n,) of elements from d x_r / d xi_s there, rows [element][r] and
        columns [s][corner], speed and inertia (n, 8).
        """
        stiff, alone, compact = np.empty(speed.shape), np.empty(len(speed)), np.empty(len(speed))
        arrays = (np.ascontiguousarray(a, float) for a in (slopes, speed, inertia, weights))
        self.call("corner_stiffness", len(speed), *arrays, stiff, alone, compact)
        return stiff, alone, compact

    def moduli(self, samples, places, out):
        """Store lambda and mu, Pa, of isotropic samples (n, nodes) at their places (n,) in out (...,
        2, nodes), of one of the precisions of a run.
        """
        arrays = [np.ascontiguousarray(samples[name]) for name in ("vp", "vs", "rho")]
        self.call(f"moduli_{out.dtype}", *arrays[0].shape, *arrays, np.ascontiguousarray(places, np.int64), out)
