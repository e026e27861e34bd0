"""Shared by the tests of the stable step of finite differences: the largest one of a committed plan, by ARPACK on its kernels."""

import fdcase
import numpy as np

from craton.backends.cpu import CPU
from craton.driver.waves import commit
from craton.methods.finite_difference.build import GridDomain, fastest, grid_of, stability_limit
from craton.methods.finite_difference.equations.scheme import STRESS, VELOCITY
from craton.methods.waves.problem import build

MEMORY = ("memory", "memory variables")  # kinds of arrays
TOP = {"top": "free", "others": "rigid"}
SILENT = {"wavelet": {"kind": "ricker", "frequency": 0.1}}


class Step:
    """One leapfrog step of a plan on the CPU, sources silent."""

    def __init__(self, scenario):
        self.plan = build(GridDomain(scenario))
        self.program = commit(scenario, self.plan, CPU(threads=1, fuse=False))
        self.phases = {stage.name: stage for stage in self.program.phases}
        self.velocities, self.stresses = (
            [name for name in fields if name in self.plan.arrays] for fields in (VELOCITY, (*STRESS, "s"))
        )
        self.shape = self.program.grid(self.velocities[0]).shape

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
        """Largest velocity after each of some steps from a random start."""
        rng, largest = np.random.default_rng(2), []
        for name in self.velocities:
            self.program.grid(name)[...] = rng.standard_normal(self.shape)
        for _ in range(steps):
            self.run("stress")
            self.run("velocity")
            largest.append(max(np.abs(self.program.grid(name)).max() for name in self.velocities))
        return np.array(largest)


def true_limit(step):
    """The largest stable step, s: 2 / sqrt of the largest eigenvalue of -A B."""
    from scipy.sparse.linalg import LinearOperator, eigs

    n = int(np.prod(step.shape)) * len(step.velocities)
    whole = LinearOperator((n, n), matvec=lambda x: step.twice(x.ravel()), dtype=float)
    start = step.twice(np.random.default_rng(1).standard_normal(n))
    value = eigs(whole, k=1, which="LM", v0=start, tol=1e-4, ncv=24, maxiter=3000, return_eigenvectors=False)[0]
    assert abs(value.imag) < 1e-6 * value.real
    return float(step.plan.dt * 2 / np.sqrt(value.real))


def box(model, shape=(20, 18, 16), order=4, boundaries=None, waves=None, **run):
    """A scenario on a small box or in the plane whose faces neither absorb nor move, but for a free top, unless said otherwise."""
    size = [(n - 1) * 10.0 for n in shape]
    push = [0, 1e-30, 0] if waves == "SH" else [1e-30, 0, 1e-30]
    source = {"kind": "force", "at": [*(length / 2 for length in size[:-1]), -size[-1] / 2], "force": push} | SILENT
    tables = {"boundaries": boundaries or TOP, "run": {"order": order, "precision": "float64"} | run}
    return fdcase.box(size, 10, model, source, 1.0, waves=waves, time={"duration": 1.0, "start": 0.0}, **tables)


def used(scenario):
    """The limit that the program uses, s."""
    grid = grid_of(scenario)
    return stability_limit(scenario, grid, fastest(scenario, grid))
