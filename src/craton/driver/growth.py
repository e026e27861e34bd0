"""Whether the energy of a wavefield rises once its sources have ended, which it cannot: slow growth,
long before the field is beyond all measure.
"""

import numpy as np

# steps between looks, of runs of fewer points and of larger ones, where a look by one thread takes
# as long as a step by many
EVERY, SELDOM, LARGE = 200, 1000, 1 << 20
RISE = 10.0  # of energy: what water and rock, or motion and stress, exchange is less
# looks of a period, whose greatest energy counts, at least; and its part of the time since the
# sources ended: slow waves that stand have energy in motion twice in each of their periods
LOOKS, PART = 3, 0.25
# of the greatest energy of the run, in squares of the relative rounding error; and at least
ROUNDING, FLOOR = 100.0, 1e-8
CHUNK = {True: 1 << 16, False: 1 << 22}  # values that a machine squares at a time: in its cache


class Growth:
    """Looks at the kinetic energy of a rank's part of the wavefield.

    Parameters
    ----------
    program : Program
    begun : int
        Steps that were done before.

    Attributes
    ----------
    since : int
        Step at the end of the period of least energy, once there was one.
    """

    def __init__(self, program, begun=0):
        self.program, plan = program, program.plan
        steps = (plan.quiet - plan.start) / plan.dt
        self.first = max(int(np.ceil(min(steps, plan.steps))), begun)
        self.looking = self.first < plan.steps and 0 < plan.limit < np.inf
        self.every = EVERY if plan.totals.points < LARGE else SELDOM
        self.next, self.turn = begun + self.every, self.first + LOOKS * self.every
        self.least, self.since, self.level, self.greatest = np.inf, None, 0.0, 0.0
        held = [plan.arrays[name].dtype for name, _ in plan.kinetic if name in plan.arrays]
        eps = max((float(np.finfo(dtype).eps) for dtype in held), default=0.0)
        self.floor = max(ROUNDING * eps**2, FLOOR)

    def due(self, done):
        """Return whether it is time to look after so many steps; the same on all ranks."""
        return self.looking and done >= self.next

    def energy(self):
        """Return twice the kinetic energy of this rank, over the square of what has diverged and
        over the density where that does not matter.
        """
        plan, machine = self.program.plan, self.program.backend
        scale, chunk = 1 / (plan.limit * plan.scale), CHUNK[machine.shares_host_memory]
        with machine.work():
            return float(sum(squares(machine.xp, field, inverse, scale, chunk) for field, inverse in self.fields()))

    def fields(self):
        """Yield the fields of this rank that hold kinetic energy, on a grid without what surrounds
        its points, and their inverse masses.

        Between faces of A1 the edges around a grid grow, which nothing reads.
        """
        program, arrays = self.program, self.program.arrays
        for name, inverse in program.plan.kinetic:
            if name in arrays:
                yield (arrays[name], arrays[inverse]) if inverse else (program.grid(name), None)

    def grows(self, done, energy):
        """Return whether the energy of all ranks has risen beyond doubt since its least."""
        self.next, self.greatest = done + self.every, max(self.greatest, energy)
        if done <= self.first:
            return False
        if energy > max(RISE * self.least, self.floor * self.greatest):
            return True
        self.level = max(self.level, energy)
        if done >= self.turn:
            if self.level < self.least:
                self.least, self.since = self.level, done
            self.turn = done + max(LOOKS * self.every, int(PART * (done - self.first)))
            self.level = 0.0
        return False


def squares(xp, field, inverse, scale, chunk):
    """Sum of the squares of a field times `scale`, over an inverse mass where there is one.

    Parameters
    ----------
    xp : module
        numpy, or what stands for it on the machine.
    field : array
        Of any shape; with an inverse mass (points,) or (points, components).
    inverse : array or None
        (points,), 0 where there is no mass.
    scale : float
    chunk : int
        Values at a time.
    """
    dtype = xp.result_type(field.dtype, xp.float32)
    total = xp.zeros((), xp.float64)
    rows = max(1, chunk * len(field) // max(field.size, 1))
    for n in range(0, len(field), rows):
        part = field[n : n + rows].astype(dtype) * dtype.type(scale)
        if inverse is not None:
            here = inverse[n : n + rows].reshape(-1, *[1] * (field.ndim - 1))
            part = xp.where(here > 0, part / xp.sqrt(xp.where(here > 0, here, 1)), 0)
        total += (part * part).sum()
    return total
