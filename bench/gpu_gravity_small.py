"""Every method of gravity on a small case, for compute-sanitizer: python bench/gpu_gravity_small.py; prints differences from the CPU."""
import numpy as np

from craton import gravity
from craton.methods.gravity.fields import FIELDS


def irregular(rng):
    """Random prisms, points among and around them."""
    corner = rng.uniform(-1000, 0, (200, 3))
    prisms = np.stack([corner, corner + rng.uniform(50, 150, (200, 3))], axis=2).reshape(200, 6)
    return prisms, rng.uniform(-300, 300, 200), tuple(rng.uniform(-1500, 1500, (3, 300)))


def regular(rng):
    """A block of cells, a grid of points over it."""
    edges = np.arange(13) * 100.0
    k, j, i = (n.ravel() for n in np.meshgrid(np.arange(4), np.arange(12), np.arange(12), indexing="ij"))
    prisms = np.stack([edges[i], edges[i + 1], edges[j], edges[j + 1], edges[k] - 400, edges[k + 1] - 400], axis=1)
    x, y = np.meshgrid(edges[:-1] + 50, edges[:-1] + 50)
    return prisms, rng.uniform(1, 2, len(prisms)), (x, y, np.full(x.shape, 50.0))


if __name__ == "__main__":
    for make, methods in ((irregular, ("direct", "far")), (regular, ("vertex", "fft", "direct", "far"))):
        case = make(np.random.default_rng(1))
        exact = gravity.forward(*case, FIELDS, "cpu", method="direct")
        for precision in ("float64", "float32"):
            for method in methods:
                found = gravity.forward(*case, FIELDS, "cuda", precision, method)
                worst = max(float(np.nanmax(np.abs(found[f] - exact[f])) / np.nanmax(np.abs(exact[f]))) for f in FIELDS)
                print(f"{make.__name__} {precision} {method}: {worst:.1e} of the greatest value")
