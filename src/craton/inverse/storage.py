"""What a gradient stores of the forward run, and why: increments of all steps, checkpoints, or the field beside absorbing
layers from which the steps are taken back.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.backends.base import Machine
from craton.backends.cpu import CPU
from craton.conventions import GRADIENT_STORAGES
from craton.errors import ResourceError, refuse
from craton.inverse.experiment import BLOCKS
from craton.text import choice, megabytes

SHARE = 0.6  # of the free memory, that what is stored may take
RING_SHARE = 0.1  # of the machine's memory at hand, for the ring of what waits on the host
# of a gradient, L2, relative: by boundaries in 16 bits, by reals (tests/inverse/test_gradient_storage.py)
ERRORS = {16: 1e-4, 32: 1e-5, 64: 1e-12}


@dataclass(frozen=True)
class Storage:
    """What is kept.

    Parameters
    ----------
    kind : str
        Of `GRADIENT_STORAGES`, but "auto".
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

    def rows(self, every):
        """Return what is to be told of it, before anything runs: (label, text) rows."""
        waiting = ": it comes and goes while steps run" if self.host and self.kind != "checkpoints" else ""
        return [
            ("storage", f"{self.kind}, every {every}: {self.reason}"),
            ("on the machine", megabytes(self.machine)),
            ("in the host's memory", megabytes(self.host) + waiting),
        ]

    def rows_on_grid(self, linear, every):
        """Return `rows`, and what gradients of finite differences cost and how exact they are; `linear`: what
        `Method.linearised` returns.
        """
        bits = self.margin.bits if self.margin else width(linear.d)
        runs = linear.traffic(self.kind, every, self.by_parameters)
        error = f"about 1e{round(math.log10(ERRORS[bits]))}" + (", and that of every > 1" if every > 1 else "")
        rows = [
            *self.rows(every),
            ("cost by traffic", f"{runs:.2f} forward runs for misfit and gradient"),
            ("error of the gradient", error),
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


def choose(linear, machine: Machine, every, memory, asked):
    """Return the `Storage` of a linearised scenario on a grid in some bytes of memory of all ranks.

    Raises
    ------
    ScenarioError
        There is no storage `asked`, or steps of this scenario cannot be taken back.
    ResourceError
        It does not fit.
    """
    d = linear.d
    if asked not in GRADIENT_STORAGES:
        refuse("storage", f"there is no storage {asked!r}", choice(asked, GRADIENT_STORAGES))
    count = math.ceil(d.steps / every)
    slot, variables = (n * math.prod(d.shape) * width(d) // 8 for n in (len(d.fields), d.memory_variables))
    if asked == "increments" or (asked == "auto" and count * slot <= memory):
        if count * slot > memory:
            raise lacking(f"increments of {count:,} steps", count * slot, memory, 'storage "auto", or a larger every')
        return Storage("increments", count, count * slot, reason="increments of all steps fit")
    why = irreversible(linear, asked)
    if asked.startswith("boundaries"):
        return placed(linear, machine, memory, 16 if asked.endswith("16") else width(d), "asked for")
    if asked == "auto" and not why:
        for bits, reason in (
            (width(d), "increments of all steps do not fit"),
            (16, "neither these fit, nor whole boundaries"),
        ):
            try:
                return placed(linear, machine, memory, bits, reason)
            except ResourceError:
                continue
    state = 2 * (slot + variables)
    slots = slots_for(count, slot, state, memory)
    reason = "asked for"
    if asked == "auto":
        reason = f"the steps cannot be taken back ({why})" if why else "nothing else fits"
    host = math.ceil(count / slots) * state if slots < count else 0  # nothing runs again where all steps are held
    return Storage("checkpoints", slots, slots * slot, host, reason)


def irreversible(linear, asked):
    """Return why steps cannot be taken back, or ""; refuse that where boundaries are asked for."""
    why = linear.irreversible()
    if why and asked.startswith("boundaries"):
        refuse("storage", f"the steps of this scenario cannot be taken back: {why}", 'use storage "auto"')
    return why


def width(d):
    """Bits of a real."""
    return 8 * np.dtype(d.precision).itemsize


def placed(linear, machine, memory, bits, reason):
    """Return the `Storage` of boundaries: on the machine, or in the memory of its host.

    Raises
    ------
    ResourceError
    """
    d, margin = linear.d, linear.margin(bits)
    kind = "boundaries-16" if bits == 16 else "boundaries"
    total = d.steps * margin.row_bytes
    if total <= memory:
        return Storage(kind, d.steps, total, 0, reason, margin)
    if not machine.shares_host_memory and total <= SHARE * CPU().memory()[0]:
        slots = BLOCKS * max(1, int(RING_SHARE * memory // (BLOCKS * margin.row_bytes)))
        more = f"{reason}; boundaries wait in the memory of the host"
        return Storage(kind, slots, slots * margin.row_bytes, total, more, margin)
    remedy = 'storage "boundaries-16" or "checkpoints", a larger domain.spacing, or more memory'
    raise lacking(f"boundaries of {d.steps:,} steps", total, memory, remedy)


def lacking(stored, needed, memory, remedy):
    """Return the error of a gradient for which there is too little memory, bytes."""
    return ResourceError(f"{stored} need {megabytes(needed)}, {megabytes(memory)} are at hand: use {remedy}")


def of_elements(linear, kept_bytes, memory, asked):
    """Return the `Storage` of spectral elements, whose field is marched back where that is possible.

    Parameters
    ----------
    linear : object
        What `Method.linearised` returns.
    kept_bytes : callable
        Bytes of a step and of a checkpoint, the most of a rank and of all ranks, (2, 2), where steps are replayed or not.
    memory : float
        Bytes of a rank.
    asked : str

    Raises
    ------
    ScenarioError
        No such storage.
    ResourceError
        It does not fit.
    """
    if asked not in ("auto", "boundaries", "checkpoints"):
        refuse("storage", f"{asked!r} is not for spectral elements", 'use "auto", "boundaries" or "checkpoints"')
    why, steps = irreversible(linear, asked), linear.d.steps
    if why or asked == "checkpoints":
        (step, state), (of_all, states) = kept_bytes(True)
        slots = slots_for(steps, step, state, memory)
        count = math.ceil(steps / slots)
        again = "of all steps" if count == 1 else f"of {count} segments, which run again from checkpoints"
        reason = f"the field at all points, {again} ({why or 'asked for'})"
        return Storage("checkpoints", slots, of_all * slots, count * states if count > 1 else 0, reason)
    (step, _), (of_all, _) = kept_bytes(False)
    reason = "the field is marched back with the velocities of absorbing points"
    if steps * step <= memory:
        return Storage("boundaries", steps, of_all * steps, 0, reason)
    slots = BLOCKS * int(memory // (BLOCKS * step))
    if not slots:
        raise lacking(
            "velocities of the absorbing points of a step and its neighbours", BLOCKS * step, memory, "more memory"
        )
    return Storage("boundaries", slots, of_all * slots, of_all * steps, reason)


def slots_for(count, slot, state, memory):
    """Return how many steps to store at a time: all, or so many that they and the checkpoints of the segments fit.

    Parameters
    ----------
    count : int
        Steps to be stored.
    slot, state : int
        Bytes of one of them and of a checkpoint.
    memory : float
        Bytes at hand.

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
        remedy = "a larger domain.spacing, float32, or more memory"
        raise lacking("increments and checkpoints of a gradient", needed, memory, remedy)
    return best
