"""What a gradient keeps of the forward run, and why: increments of all steps, checkpoints, or the
field beside absorbing layers from which the steps are taken back.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.backends.base import Machine
from craton.comm import agreed
from craton.comm.local import Alone
from craton.comm.placement import place
from craton.conventions import GRADIENT_STORAGES, GRADIENT_SUMS
from craton.errors import Problem, ResourceError, ScenarioError
from craton.inverse.checks import choice
from craton.inverse.division import Division, ElementDivision
from craton.inverse.elements import ElementExperiment
from craton.inverse.elements_replayed import ReplayedElements
from craton.inverse.experiment import SHARE, Experiment, slots_for
from craton.inverse.reversal import Reversed
from craton.inverse.ring import BLOCKS
from craton.text import megabytes

STORAGES = GRADIENT_STORAGES
SURELY = 2  # times the arrays of the whole grid, that programs do not take
RING_SHARE = 0.1  # of the machine's memory at hand, for the ring of what waits on the host
# of a gradient, L2, relative: by boundaries in 16 bits, by reals (tests/inverse/test_gradient_storage.py)
ERRORS = {16: 1e-4, 32: 1e-5, 64: 1e-12}


@dataclass(frozen=True)
class Storage:
    """What is kept.

    Parameters
    ----------
    kind : str
        Of `STORAGES`, but "auto".
    slots : int
        Steps that the machine holds at a time.
    machine, host : int
        Bytes on the machine, and beyond it in the host's memory.
    reason : str
        Why it was chosen.
    margin : Margin or None
        Of boundaries.
    by_parameters : bool
        Steps taken back have a sum for each parameter in place of one for each field.
    reason_of_sums : str
        Why.
    """

    kind: str
    slots: int
    machine: int
    host: int = 0
    reason: str = ""
    margin: Any = None
    by_parameters: bool = False
    reason_of_sums: str = ""

    def lines(self, linear, every):
        """Return what is to be told of it, before anything runs: (label, text) rows.

        Parameters
        ----------
        linear : object
            What `Method.linearised` returns.
        every : int
        """
        bits = self.margin.bits if self.margin else width(linear.d)
        runs = linear.traffic(self.kind, every, self.by_parameters)
        waiting = ", pinned: it comes and goes while steps run" if self.margin and self.host else ""
        rows = [
            ("storage", f"{self.kind}, every {every}: {self.reason}"),
            ("on the machine", megabytes(self.machine)),
            ("in the host's memory", megabytes(self.host) + waiting),
            ("cost by traffic", f"{runs:.2f} forward runs for misfit and gradient"),
            (
                "error of the gradient",
                f"about 1e{round(math.log10(ERRORS[bits]))}" + (", and that of every > 1" if every > 1 else ""),
            ),
        ]
        if not self.margin:
            return rows
        held = "layers' medium, that of their inner edge, is held"
        return [*rows, ("sums", self._words_of_sums(linear, every)), ("absorbing layers", held)]

    def _words_of_sums(self, linear, every):
        """Return what is said of the sums of steps taken back."""
        many, few = (linear.sums(by_parameters) for by_parameters in (False, True))
        why = f": {self.reason_of_sums}" if self.reason_of_sums else ""
        if not self.by_parameters:
            return f"{many} a point, one for each field{why}"
        plain, dearer = (linear.traffic(self.kind, every, chosen) for chosen in (False, True))
        fewer = (many - few) * width(linear.d) // 8
        return (
            f"{few} a point, one for each parameter{why}; {fewer} bytes per grid point fewer than "
            f"those of fields, {100 * (dearer / plain - 1):.1f} % more traffic of misfit and gradient"
        )


def experiment(linear, machine, every=1, memory=None, storage="auto", sums="auto", comm=None, everywhere=True):
    """Return the run of a linearised scenario with a storage that fits.

    Parameters
    ----------
    linear : object
        What `Method.linearised` returns.
    machine : Machine
    every : int
    memory : float, optional
        Bytes of the machine for what is kept; by default 0.6 of what is free.
    storage : str
        Of `STORAGES`.
    sums : str
        Of `GRADIENT_SUMS`.
    comm : Comm, optional
        Ranks that share it, all of which must ask.
    everywhere : bool
        See `Division`.

    Raises
    ------
    ScenarioError
        Steps of this scenario cannot be taken back, or not with such sums, or several ranks cannot
        share it.
    ResourceError
        It does not fit.
    """
    comm = comm or Alone()
    if hasattr(linear, "ends"):
        memory = memory_of_all(machine, memory, comm) / comm.size
        refuse_sums(sums, "auto", "spectral elements have one sum for each parameter anyway")
        return of_elements(linear, machine, every, memory, storage, comm, everywhere)
    many = "several ranks share a run" if comm.size > 1 else ""
    why = linear.sums_need_fields() or many
    refuse_sums(sums, storage, why)
    chosen = choose(linear, machine, every, memory_of_all(machine, memory, comm), storage)
    bits = chosen.margin.bits if chosen.margin else 0
    with agreed(comm):
        partition = linear.partition(comm.size, bits) if comm.size > 1 else ()
    division = Division(comm, partition, everywhere)
    if not chosen.margin:
        return Experiment(linear, machine, every, chosen, division)
    chosen = with_sums(linear, machine, every, chosen, sums, why)
    if chosen.by_parameters:  # asked for where memory is short
        linear = linear.in_packed_rows()
        chosen = replace(chosen, margin=linear.margin(bits))
    return Reversed(linear, machine, every, chosen, division)


def refuse_sums(sums, storage, why):
    """Refuse sums that there are not, and those of parameters where `why` says that, or a storage
    from which no steps are taken back.

    Raises
    ------
    ScenarioError
    """
    if sums not in GRADIENT_SUMS:
        words, remedy = f"there are no sums {sums!r}", choice(sums, GRADIENT_SUMS)
        raise ScenarioError([Problem("sums", words, remedy)])
    if storage in ("increments", "checkpoints"):
        why = why or f'storage "{storage}" takes no steps back'
    if sums == "parameters" and why:
        words = f"sums cannot be those of parameters: {why}"
        raise ScenarioError([Problem("sums", words, 'use sums "auto"')])


def with_sums(linear, machine, every, chosen, sums, why):
    """Return a `Storage` of boundaries with the sums that were asked for, or that fit.

    Parameters
    ----------
    linear, machine, every
        See `experiment`.
    chosen : Storage
    sums : str
        Of `GRADIENT_SUMS`.
    why : str
        Why sums have to be those of fields, or "".
    """
    if sums != "auto":
        return replace(chosen, by_parameters=sums == "parameters", reason_of_sums="asked for")
    if why:
        return replace(chosen, reason_of_sums=why)
    free = machine.memory()[0] - chosen.machine
    if SURELY * linear.least_bytes() <= free:
        return chosen
    if Reversed(linear, machine, every, chosen).program_bytes() <= free:
        return chosen
    return replace(chosen, by_parameters=True, reason_of_sums="those of fields do not fit")


def memory_of_all(machine, memory, comm):
    """Return the bytes that all ranks have for what is kept; every rank must ask."""
    if memory is None:
        memory = SHARE * machine.memory()[0]
        if machine.shares_host_memory:
            memory /= place(comm).ranks
    return comm.size * min(comm.gather(memory))


def of_elements(linear, machine, every, memory, storage, comm, everywhere):
    """Return the run of spectral elements, whose field is marched back where that is possible."""
    if storage not in ("auto", "boundaries", "checkpoints"):
        words = f"{storage!r} is not for spectral elements"
        remedy = 'use "auto", "boundaries" or "checkpoints"'
        raise ScenarioError([Problem("storage", words, remedy)])
    why = linear.irreversible()
    if why and storage == "boundaries":
        words = f"the steps of this scenario cannot be taken back: {why}"
        raise ScenarioError([Problem("storage", words, 'use storage "auto"')])
    division = ElementDivision(linear, comm, everywhere)
    if why or storage == "checkpoints":
        return ReplayedElements(linear, machine, every, memory, division, why or "asked for")
    return ElementExperiment(linear, machine, every, memory, division)


def choose(linear, machine: Machine, every, memory, storage):
    """Return the `Storage` of a linearised scenario in some bytes of memory; see `experiment`."""
    d = linear.d
    if storage not in STORAGES:
        words = f"there is no storage {storage!r}"
        raise ScenarioError([Problem("storage", words, choice(storage, STORAGES))])
    if every > d.steps:
        words = f"every {every:,} steps, and the run has {d.steps:,}"
        raise ScenarioError([Problem("every", words, "use 1, or some steps of the shortest period")])
    whole = of_increments(d, every)
    if storage == "increments" or (storage == "auto" and whole.machine <= memory):
        if whole.machine > memory:
            raise ResourceError(
                f"increments of {whole.slots:,} steps need {whole.machine / 2**30:.2f} GiB, {memory / 2**30:.2f} GiB are "
                'at hand: use storage "auto", or a larger every'
            )
        return replace(whole, reason="increments of all steps fit")
    why = linear.irreversible()
    if storage.startswith("boundaries"):
        if why:
            words = f"the steps of this scenario cannot be taken back: {why}"
            raise ScenarioError([Problem("storage", words, 'use storage "auto"')])
        return placed(linear, machine, memory, 16 if storage.endswith("16") else width(d), "asked for")
    if storage == "auto" and not why:
        try:
            return placed(linear, machine, memory, width(d), "increments of all steps do not fit")
        except ResourceError:
            pass
        try:
            return placed(linear, machine, memory, 16, "neither these fit, nor whole boundaries")
        except ResourceError:
            pass
    return of_checkpoints(d, every, memory, why)


def width(d):
    """Bits of a real."""
    return 8 * np.dtype(d.precision).itemsize


def of_increments(d, every):
    """Storage of the increments of all steps."""
    slots = math.ceil(d.steps / every)
    return Storage("increments", slots, slots * step_bytes(d))


def step_bytes(d):
    """Bytes of the increments of a step."""
    return len(d.fields) * math.prod(d.shape) * np.dtype(d.precision).itemsize


def variable_bytes(d):
    """Bytes of the memory variables of attenuation."""
    return d.memory_variables * math.prod(d.shape) * np.dtype(d.precision).itemsize


def of_checkpoints(d, every, memory, why):
    """Storage of checkpoints in the host's memory and of one segment of increments."""
    count, slot = math.ceil(d.steps / every), step_bytes(d)
    state = 2 * (slot + variable_bytes(d))
    slots = slots_for(count, slot, state, memory, every)
    states = math.ceil(count / slots) * state
    reason = f"the steps cannot be taken back ({why})" if why else "nothing else fits"
    return Storage("checkpoints", slots, slots * slot, states, reason)


def placed(linear, machine, memory, bits, reason):
    """Storage of boundaries: on the machine, or in the memory of its host.

    Raises
    ------
    ResourceError
    """
    d, margin = linear.d, linear.margin(bits)
    kind = "boundaries-16" if bits == 16 else "boundaries"
    total = d.steps * margin.row_bytes
    if total <= memory:
        return Storage(kind, d.steps, total, 0, reason, margin)
    from craton.backends.cpu import CPU

    if not machine.shares_host_memory and total <= SHARE * CPU().memory()[0]:
        slots = BLOCKS * max(1, int(RING_SHARE * memory // (BLOCKS * margin.row_bytes)))
        more = f"{reason}; boundaries wait in the memory of the host"
        return Storage(kind, slots, slots * margin.row_bytes, total, more, margin)
    raise ResourceError(
        f"boundaries of {d.steps:,} steps need {total / 2**30:.2f} GiB, {memory / 2**30:.2f} GiB are at hand: "
        'use storage "boundaries-16" or "checkpoints", a larger domain.spacing, or more memory'
    )
