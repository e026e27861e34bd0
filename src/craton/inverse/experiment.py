"""One run of a scenario on a machine, forward, transposed and perturbed: stores the increments of
the forward run, or replays them from checkpoints in the host's memory.
"""

import math

import numpy as np

from craton.backends.cpu import CPU
from craton.core.plan import STATE
from craton.errors import ComputationError, ResourceError
from craton.inverse.division import Division
from craton.text import megabytes

SHARE = 0.6  # of the free memory, that stored increments and checkpoints may take


class Experiment:
    """A linearised scenario on a machine, with the medium that `run` was given last.

    Parameters
    ----------
    linear : object
        What `Method.linearised` returns.
    machine : Machine
    every : int
        Every how many steps increments are stored and correlated; 1 is exact.
    storage : Storage
        Of increments or checkpoints.
    division : Division, optional
        Of several ranks, each of which has such an object; all must call its methods.
    """

    def __init__(self, linear, machine, every, storage, division=None):
        self.linear, self.machine, self.every = linear, machine, every
        self.division = division or Division()
        self.steps, self.storage, self.slots = linear.d.steps, storage, storage.slots
        self.state = self.program = self.held = None
        self.others, self.checkpoints, self.big = {}, [], {}

    def lines(self):
        """Return what is stored and what the programs take, of all ranks, as (label, text) rows."""
        held, points = self.program_bytes(), math.prod(self.linear.d.shape)
        itemsize = np.dtype(self.linear.d.precision).itemsize
        numbers = held / points / itemsize
        text = (
            f"{megabytes(held)}, {held / points:.1f} bytes per grid point ({numbers:.1f} "
            f"{self.linear.d.precision}): forward and back, without what is stored"
        )
        return [*self.storage.lines(self.linear, self.every), ("memory of programs", text), *self.linear.held()]

    def program_bytes(self):
        """Bytes of the arrays of the forward and the transposed steps, without what is stored."""
        state = self.linear.at(self.linear.cells)
        forward = state.forward(self.slots, self.every)
        back = state.adjoint(self.slots, self.every)
        return nbytes_of(forward, ("store",)) + nbytes_of(back, ("store", "material"))

    def host_bytes(self, start):
        """Return the bytes of the host that the start, (rho, kappa, mu), programs and what is stored
        take.
        """
        machine = self.program_bytes() + self.storage.machine
        held = self.storage.host + sum(values.nbytes for values in start)
        return held + machine * self.machine.shares_host_memory

    @property
    def length(self):
        """Steps of a segment: those that are stored at a time."""
        return self.slots * self.every

    @property
    def segments(self):
        """(first, last + 1) step of each segment."""
        return [(n, min(n + self.length, self.steps)) for n in range(0, self.steps, self.length)]

    @property
    def replayed(self):
        """True where the increments of a run are not stored all at once."""
        return self.length < self.steps

    @property
    def samples(self):
        """What the last run recorded, (steps, channels)."""
        return self.record[:, : self.state.columns]

    def forget(self):
        """Forget the last run; its memory stays for the next."""
        self.state = self.program = self.held = None
        self.others, self.checkpoints = {}, []

    # --- forward ------------------------------------------------------------------------------

    def run(self, cells, store=True):
        """Run a medium; return the samples, (steps, channels).

        Parameters
        ----------
        cells : (rho, kappa, mu)
            (nz, ny, nx) each.
        store : bool
            Keep what `adjoint` and `born` need.

        Raises
        ------
        ComputationError
            The wavefield diverged.
        """
        return self.run_state(self.linear.at(cells), store)

    def run_state(self, state, store=True):
        """Run a medium by its `State`; see `run`."""
        plan = state.forward(self.slots if store else 0, self.every)
        program = self.division.commit_state(self.machine, state, plan, self.big)
        self.state, self.others, self.checkpoints = state, {}, []
        self.program = program if store else None
        if store:
            self.big = {"store": program.arrays["store"]}
        for first, last in self.segments:
            if store and self.replayed:
                self.checkpoints.append(snapshot(program))
            march(program, first, last)
        self.held = self.segments[-1]
        return self._recorded(program)

    def _recorded(self, program):
        """Keep the record of a forward run; return the samples."""
        self.record = self._samples_of(program)
        if not np.isfinite(self.record).all():
            raise ComputationError("the wavefield diverged: use a shorter time.step")
        return self.samples

    def _samples_of(self, program, name="record"):
        """Return a record of a program, (steps, columns), in float64."""
        return self.division.record(program, name, self.steps)

    def load(self, segment):
        """Make the store hold the increments of a segment."""
        if self.held == segment:
            return
        restore(self.program, self.checkpoints[self.segments.index(segment)])
        march(self.program, *segment)
        self.held = segment

    # --- transposed ---------------------------------------------------------------------------

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """Return what the misfit changes by, by cells and by sources, from its derivative by the
        samples of `run`.

        Parameters
        ----------
        derivative : (steps, channels) array
        illumination : bool
            Also return the energy of the forward wavefield's accelerations.
        by_sources : bool
            Also return the derivatives by the sources.

        Returns
        -------
        dict
            ``cells``: dJ/d(rho, kappa, mu); where it was asked for ``force``, ``moment``: what
            `State.by_sources` returns; ``illumination``: (nz, ny, nx), (m/s2)2 s. Empty on a rank
            that does not lead.
        """
        if by_sources:
            self.state.refuse_by_sources()
        scale = float(np.abs(derivative).max(initial=0)) or 1.0
        program, light = self._backward(derivative, scale, illumination, by_sources)
        taps, sums = self._taps(program, scale), self._sums(program)
        if not self.division.leads:
            return {}
        out = {"cells": self._by_medium(sums, derivative, scale, taps, by_sources)}
        if by_sources:
            out |= {name: self.state.by_sources(name, values) for name, values in taps.items()}
        return out | ({"illumination": light} if illumination else {})

    def _backward(self, derivative, scale, illumination, by_sources):
        """Run all transposed steps; return the program and the illumination, or None."""
        program = self._other("adjoint", by_sources=by_sources)
        self._fill(program, "residual_series", derivative[::-1] / scale)
        light = 0.0 if illumination else None
        for first, last in reversed(self.segments):
            self.load((first, last))
            march(program, self.steps - last, self.steps - first)
            if illumination:
                light = light + self._energy((last - first - 1) // self.every + 1)
        if illumination:
            light = self.division.whole(self.machine, light)
        return program, None if light is None else self._on_host(light) * (self.every / self.linear.d.dt)

    def _fill(self, program, name, values):
        """Fill an array of a program; one that this rank has no use for is not there."""
        if name in program.arrays:
            self.machine.fill(program.arrays[name], values.astype(program.plan.precision))

    def _on_host(self, values):
        """Return an array of the machine, or of the host, on the host."""
        return values if isinstance(values, np.ndarray) else self.machine.to_host(values)

    def _sums(self, program):
        """Return the sums of the gradient, (sums, nz, ny, nx), on the machine; of several ranks on
        the host.
        """
        if self.division.alone:
            return program.arrays["sums"]
        return [self.division.whole(self.machine, values) for values in program.arrays["sums"]]

    def _taps(self, program, scale):
        """Return what a transposed run sampled in the places of sources, first step first."""
        return {name: scale * self._samples_of(program, name)[::-1] for name in ("force", "moment")}

    def _by_medium(self, sums, derivative, scale, taps, by_sources):
        """Return dJ/d(rho, kappa, mu) from the sums and taps of a transposed run."""
        state = self.state
        extra = self.record[:, state.columns :]
        ratios = [
            float(derivative[:, dependence.column] @ extra[:, n]) for n, dependence in enumerate(state.of_receivers)
        ]
        for name, step, table in self._of_sources():
            first = state.units_of(name) if by_sources else 0
            ratios += [
                float(self.linear.series[step][:, dependence.column] @ taps[name][:, first + n])
                for n, dependence in enumerate(table)
            ]
        machine = self.machine if self.division.alone else CPU()
        by_parameters = self.storage.by_parameters
        return state.gradient(sums, ratios, machine, scale * self.every, by_parameters)

    def _of_sources(self):
        """(tap, half step, dependences) of forces and moments."""
        state = self.state
        return ("force", "velocity", state.of_forces), ("moment", "stress", state.of_moments)

    def _energy(self, slots):
        """Sum of the squared increments of velocities over the stored steps, on the machine."""
        xp, total = self.machine.xp, 0.0
        with self.machine.work():
            for slot in self.program.arrays["store"][:slots]:
                velocities = slot[: len(self.linear.d.velocity)]
                total = total + (velocities.astype(xp.float64) ** 2).sum(0)
        return total

    # --- perturbed ----------------------------------------------------------------------------

    def born(self, changes):
        """Return by how much the samples change where the medium does, to first order.

        Parameters
        ----------
        changes : (rho, kappa, mu)
            (nz, ny, nx) each.
        """
        state, program = self.state, self._other("born")
        coefficients, ratios = state.perturbation(changes)
        coefficients = self.every * self._coefficients(coefficients)
        self._fill(program, "coefficients", self.division.owned(coefficients))
        of_receivers = len(state.of_receivers)
        at = of_receivers
        for name, step, table in self._of_sources():
            if table:
                columns = [dependence.column for dependence in table]
                series = self.linear.series[step][:, columns] * ratios[at : at + len(table)]
                self._fill(program, f"{name}_series", series)
            at += len(table)
        self._scattered(program)
        samples = self._samples_of(program)
        for n, dependence in enumerate(state.of_receivers):
            samples[:, dependence.column] += ratios[n] * self.record[:, state.columns + n]
        return samples

    def _coefficients(self, coefficients):
        """Coefficients of `scatter`."""
        return coefficients

    def _scattered(self, program):
        """Run the perturbed steps."""
        for segment in self.segments:
            self.load(segment)
            march(program, *segment)

    def _other(self, name, **options):
        """Return the transposed or the perturbed steps as a program at rest; its medium and the
        store are those of the forward one.
        """
        key = (name, *options.values())
        if key not in self.others:
            plan = getattr(self.state, name)(self.slots, self.every, **options)
            shared = {key: self.program.arrays[key] for key in ("material", "store")}
            self.others[key] = self.division.commit_state(self.machine, self.state, plan, shared)
        else:
            rest(self.others[key])
        return self.others[key]


def slots_for(count, slot, state, memory, every):
    """Return how many steps to store at a time: all, or so many that they and the checkpoints of
    the segments fit.

    Parameters
    ----------
    count : int
        Steps to be stored.
    slot, state : int
        Bytes of one of them and of a checkpoint.
    memory : float
        Bytes at hand.
    every : int

    Raises
    ------
    ResourceError
        Not even checkpoints fit.
    """
    if count * slot <= memory:
        return count
    best = max(1, min(count, round(math.sqrt(count * state / slot))))
    needed = best * slot + math.ceil(count / best) * state
    if needed > memory:
        raise ResourceError(
            f"the gradient needs {needed / 2**30:.2f} GiB for increments and checkpoints, {memory / 2**30:.2f} GiB "
            "are at hand: use a larger domain.spacing, float32, or more memory"
        )
    return best


def nbytes_of(plan, without):
    """Return the bytes of the arrays of a plan but for some."""
    return sum(array.nbytes for name, array in plan.arrays.items() if name not in without)


def march(program, first, last, wait=True):
    """Run steps first to last - 1 of a program; `wait` until they are done."""
    for step in range(first, last):
        program.step(step)
    if wait:
        program.backend.finish()


def changing(program):
    """Names of the arrays of a program that its steps change, but for the store and the records."""
    return [
        name
        for name, spec in program.plan.arrays.items()
        if spec.data is None and not spec.part_of and (spec.kind in (*STATE, "sums") or name == "step")
    ]


def snapshot(program):
    """Return copies of what a program's steps change, on the host."""
    return {name: program.backend.to_host(program.arrays[name]) for name in changing(program)}


def restore(program, saved):
    """Put copies back."""
    for name, values in saved.items():
        program.backend.fill(program.arrays[name], values)


def rest(program):
    """Set what a program's steps change to zero."""
    with program.backend.work():
        for name in changing(program):
            program.arrays[name][...] = 0
