"""Shared by the tests of the stable step of finite differences: the largest one of a committed plan, by ARPACK on its kernels."""

import fdcase
import numpy as np

from craton.backends.cpu import CPU
from craton.driver.waves import commit
from craton.methods.finite_difference.build import build, fastest, grid_of, stability_limit
from craton.methods.finite_difference.scheme import STRESS, VELOCITY

MEMORY = ("memory", "memory variables")  # kinds of arrays
TOP = {"top": "free", "others": "rigid"}
SILENT = {"wavelet": {"kind": "ricker", "frequency": 0.1}}


class Step:
    """One leapfrog step of a plan on the CPU, sources silent."""

    def __init__(self, scenario):
        self.plan = build(scenario)
        self.program = commit(scenario, self.plan, CPU(threads=1, fuse=False))
        self.phases = {stage.name: stage for stage in self.program.phases}
        self.velocities, self.stresses = (
            [name for name in fields if name in self.plan.arrays] for fields in (VELOCITY, (*STRESS, "s"))
        )
        self.shape = self.program.grid(self.velocities[0]).shape
        self.count = int(np.prod(self.shape))

    def clear(self, names):
        """Set fields to zero."""
        for name in names:
            self.program.grid(name)[...] = 0

    def run(self, name):
        """Half a step."""
        self.phases[name].outer(0)
        self.phases[name].inner(0)

    def twice(self, x):
        """-dt^2 A B x of velocities: stresses from them, velocities from these."""
        self.clear(self.stresses)
        for name, array in self.plan.arrays.items():
            if array.kind in MEMORY:
                self.program.arrays[name][...] = 0
        for name, values in zip(self.velocities, x.reshape(len(self.velocities), *self.shape)):
            self.program.grid(name)[...] = values
        self.run("stress")
        self.clear(self.velocities)
        self.run("velocity")
        return -np.concatenate([self.program.grid(name).ravel() for name in self.velocities])

    def march(self, steps):
        """Largest velocity of the last tenth of some steps over that of the random start."""
        rng = np.random.default_rng(2)
        for name in self.velocities:
            self.program.grid(name)[...] = rng.standard_normal(self.shape)
        self.run("stress")
        self.run("velocity")
        first, last = self.largest(), 0.0
        for n in range(steps):
            self.run("stress")
            self.run("velocity")
            last = max(last, self.largest()) if n > 0.9 * steps else 0.0
        return last / first

    def largest(self):
        """Largest velocity."""
        return max(float(np.abs(self.program.grid(name)).max()) for name in self.velocities)


def true_limit(step):
    """The largest stable step, s: 2 / sqrt of the largest eigenvalue of -A B."""
    from scipy.sparse.linalg import LinearOperator, eigs

    n = step.count * len(step.velocities)
    whole = LinearOperator((n, n), matvec=lambda x: step.twice(x.ravel()), dtype=float)
    start = step.twice(np.random.default_rng(1).standard_normal(n))
    value = eigs(whole, k=1, which="LM", v0=start, tol=1e-4, ncv=24, maxiter=3000, return_eigenvectors=False)[0]
    assert abs(value.imag) < 1e-6 * value.real
    return float(step.plan.dt * 2 / np.sqrt(value.real))


def box(model, shape=(20, 18, 16), spacing=10.0, order=4, boundaries=None, **run):
    """A scenario on a small box whose faces neither absorb nor move, but for a free top, unless said otherwise."""
    size = [(n - 1) * spacing for n in shape]
    source = {"kind": "force", "at": [size[0] / 2, size[1] / 2, -size[2] / 2], "force": [0, 0, 1e-30]} | SILENT
    tables = {"boundaries": boundaries or TOP, "run": {"order": order, "precision": "float64"} | run}
    return fdcase.box(size, spacing, model, source, 1.0, time={"duration": 1.0, "start": 0.0}, **tables)


def plane(model, motion, shape=(40, 30), spacing=10.0):
    """The same in the (x, z) plane."""
    size, push = [(n - 1) * spacing for n in shape], [1e-30, 0, 0] if motion == "P-SV" else [0, 1e-30, 0]
    source = {"kind": "force", "at": [size[0] / 2, -size[1] / 2], "force": push} | SILENT
    tables = {"waves": motion, "boundaries": TOP, "run": {"precision": "float64"}}
    return fdcase.box(size, spacing, model, source, 1.0, time={"duration": 1.0, "start": 0.0}, **tables)


def used(scenario):
    """The limit that the program uses, s."""
    grid = grid_of(scenario)
    return stability_limit(scenario, grid, fastest(scenario, grid))
