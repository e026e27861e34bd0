"""Options of gradients, and the experiment that they ask for: with a storage that fits, on one rank or several, within the
memory of the host.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from craton.comm import agreed
from craton.comm import ranks as communicator
from craton.comm.local import Alone, Threads
from craton.comm.placement import machine, place
from craton.conventions import GRADIENT_SUMS
from craton.errors import ResourceError, refuse
from craton.inverse import storage as storages
from craton.inverse.elements import ElementExperiment
from craton.inverse.grids import ReversedGrid, StoredGrid
from craton.memory import available
from craton.methods.protocol import Linear
from craton.text import choice, megabytes

MEMORY_LIMIT = 2  # times the arrays of the whole grid, that programs do not take
REAL = 8  # bytes: parameters and gradients are in double precision
POINT_LIMIT = 2000  # bytes of a point that are not exceeded but by what is stored
LEFT = 0.4  # of the free memory, that what is stored leaves at least


@dataclass(frozen=True)
class Options:
    """How gradients are computed; see `craton.Problem`."""

    device: str
    threads: int | None = None
    every: int = 1
    memory: float | None = None
    storage: str = "auto"
    sums: str = "auto"
    ranks: int = 1
    comm: Any = None

    def __post_init__(self):
        for key, count, noun in (("every", self.every, "steps"), ("ranks", self.ranks, "ranks")):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                refuse(key, f"{count!r} is no number of {noun}", "use 1 or more")
        is_number = isinstance(self.memory, Real) and not isinstance(self.memory, bool)
        if self.memory is not None and not (is_number and self.memory > 0):
            refuse("memory", f"{self.memory!r} is no number of bytes above 0", "use 2e9 for 2 GB, or leave it out")
        if self.comm is not None and self.ranks > 1:
            refuse("ranks", "ranks are threads of this process, comm has ranks of its own", "give one of them")

    def experiments(self, runs):
        """Return the experiment of each linearised run: list of `Experiment` or `TeamExperiment`."""
        spare = [{} for _ in range(self.ranks)]
        if self.ranks > 1:
            return [TeamExperiment(linear, self, spare) for linear in runs]
        comm = Alone() if self.comm is None else communicator(self.comm)
        chosen, out = self.machine(comm), []
        for linear in runs:
            out.append(self.experiment(linear, chosen, comm))
            out[-1].spare = spare[0]
        return out

    def machine(self, comm):
        """Return the machine of a rank; all ranks must call."""
        with agreed(comm):
            return machine(self.device, comm, place(comm), self.threads)

    def experiment(self, linear: Linear, machine, comm, everywhere=True):
        """Return the `Experiment` of a linearised scenario on a machine, with a storage that fits; of ranks that share it, all
        must call.

        Raises
        ------
        ScenarioError
            `every` is beyond the run; steps of this scenario cannot be taken back, or not with such sums, or several
            ranks cannot share it.
        ResourceError
            It does not fit.
        """
        steps = linear.d.steps
        if self.every > steps:
            words = f"every {self.every:,} steps, and the run has {steps:,}"
            refuse("every", words, "use 1, or some steps of the shortest period")
        memory = self._memory_of_all(machine, comm)
        if linear.ends is not None:  # spectral elements
            self._refuse_sums("spectral elements have one sum for each parameter anyway")
            share = memory / comm.size
            return ElementExperiment(linear, machine, self.every, share, self.storage, comm, everywhere)
        why = linear.sums_need_fields() or ("several ranks share a run" if comm.size > 1 else "")
        self._refuse_sums(why)
        chosen = storages.choose(linear, machine, self.every, memory, self.storage)
        bits = chosen.margin.bits if chosen.margin else 0
        with agreed(comm):
            partition = linear.partition(comm.size, bits) if comm.size > 1 else ()
        if not chosen.margin:
            return StoredGrid(linear, machine, self.every, chosen, partition, comm, everywhere)
        chosen = self._with_sums(linear, machine, chosen, why)
        if chosen.by_parameters:  # asked for where memory is short
            linear = linear.in_packed_rows()
            chosen = replace(chosen, margin=linear.margin(bits))
        return ReversedGrid(linear, machine, self.every, chosen, partition, comm, everywhere)

    def _memory_of_all(self, machine, comm):
        """Return the bytes that all ranks have for what is stored; every rank must ask."""
        memory = self.memory
        if memory is None:
            memory = storages.SHARE * machine.memory()[0]
            if machine.shares_host_memory:
                memory /= place(comm).ranks
        return comm.size * min(comm.gather(memory))

    def _refuse_sums(self, why):
        """Refuse sums that there are not, and those of parameters where `why` says that, or with a storage from which no
        steps are taken back.
        """
        if self.sums not in GRADIENT_SUMS:
            refuse("sums", f"there are no sums {self.sums!r}", choice(self.sums, GRADIENT_SUMS))
        if self.storage in ("increments", "checkpoints"):
            why = why or f'storage "{self.storage}" takes no steps back'
        if self.sums == "parameters" and why:
            refuse("sums", f"sums cannot be those of parameters: {why}", 'use sums "auto"')

    def _with_sums(self, linear, machine, chosen, why):
        """Return a `Storage` of boundaries with the sums that were asked for, or that fit; `why` they have to be those of
        fields, or "".
        """
        if self.sums != "auto":
            return replace(chosen, by_parameters=self.sums == "parameters", reason_of_sums="asked for")
        if why:
            return replace(chosen, reason_of_sums=why)
        free = machine.memory()[0] - chosen.machine
        if MEMORY_LIMIT * linear.least_bytes() <= free:
            return chosen
        if ReversedGrid(linear, machine, self.every, chosen).program_bytes() <= free:
            return chosen
        return replace(chosen, by_parameters=True, reason_of_sums="those of fields do not fit")


class TeamExperiment:
    """The counterpart of `craton.inverse.experiment.Experiment` on several ranks of this process: threads, each with a GPU or
    with some of the cores.

    Parameters
    ----------
    linear : Linear
    options : Options
        Memory and threads are those of each rank.
    spare : list of dict
        See `Experiment.spare`, by rank.
    """

    def __init__(self, linear: Linear, options: Options, spare: list):
        self.linear, self.options, self.spare = linear, options, spare
        self._begin()

    def _begin(self):
        """Start the ranks."""

        def begun(comm):
            experiment = self.options.experiment(self.linear, self.options.machine(comm), comm, False)
            experiment.spare = self.spare[comm.rank]
            return experiment

        self.team = Threads(self.options.ranks)
        self.experiments = self.team.run(begun)

    def _each(self, work):
        """Return what rank 0 makes of ``work(experiment)``, which every rank does; after an error they begin anew."""
        try:
            return self.team.run(lambda comm: work(self.experiments[comm.rank]))[0]
        except BaseException:
            self._begin()
            raise

    @property
    def storage(self):
        """What is stored: `Storage`, of all ranks together."""
        return self.experiments[0].storage

    @property
    def record(self):
        """See `Experiment.record`."""
        return self.experiments[0].record

    @property
    def samples(self):
        """See `Experiment.samples`."""
        return self.experiments[0].samples

    def host_bytes(self, start):
        """See `Experiment.host_bytes`: of all ranks together."""
        return self.experiments[0].host_bytes(start)

    def lines(self):
        """Return what is stored, by all ranks together, as (label, text) rows."""
        return [*self.experiments[0].lines(), ("ranks", f"{self.options.ranks}, each a part of the grid or mesh")]

    def forget(self):
        """Forget the last run; its memory stays for the next."""
        for experiment in self.experiments:
            experiment.forget()

    def run(self, cells):
        """See `Experiment.run`."""
        state = self.linear.at(cells)
        return self._each(lambda experiment: experiment.run_state(state))

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """See `Experiment.adjoint`."""
        return self._each(lambda e: e.adjoint(derivative, illumination, by_sources))

    def born(self, changes):
        """See `Experiment.born`."""
        return self._each(lambda experiment: experiment.born(changes))


# --- memory of the host at the peak of a gradient ---------------------------------------------------


def gradient_bytes(experiment, names):
    """Return the most bytes of arrays that `craton.gradient` of a run takes on the host: what is stored, programs, parameters
    `names`, chain rule. The chain rule's part is measured, see bench/NOTES.md; all else is counted.
    """
    start = experiment.linear.start(names)
    count = len(start)
    # the vector, the cells made of it but for density, illumination, and the chain rule
    of_point = REAL * (len(names) + count - 1 + 1) + experiment.linear.chain_bytes(count)
    return experiment.host_bytes(start) + start[0].size * of_point


def rows_of(experiment, names):
    """Return what a gradient by parameters stores and takes, as (label, text) rows."""
    text = f"{megabytes(gradient_bytes(experiment, names))} of arrays at the peak of a gradient"
    return [*experiment.lines(), ("memory of the host", text)]


def refuse_large(experiment, names):
    """Refuse a gradient by parameters that does not fit into the free memory of the host.

    Raises
    ------
    ResourceError
    """
    free = available()
    if free is None or POINT_LIMIT * experiment.linear.cells[0].size < LEFT * free:
        return
    needed = gradient_bytes(experiment, names)
    if needed > free:
        raise ResourceError(
            f"the gradient needs {megabytes(needed)} of the host's memory, {megabytes(free)} are "
            "free: use fewer points, fewer parameters, or more memory"
        )
