"""The plan of one rank, complete: its part, its messages, its columns of the record, its share of the pictures."""
from dataclasses import replace

from craton.core.gathered import Gathering, sampling_launch
from craton.core.partition import split
from craton.core.share import localise_plan
from craton.methods.shared.halo import messages


def shared(plan, rank, ranks, grid=None):
    """The plan of `rank` among `ranks`.

    Parameters
    ----------
    plan : Plan
        Of the whole grid.
    rank, ranks : int
    grid : tuple of int, optional
        Ranks along (x, y, z); by default as `craton.core.partition.split` finds best.

    Returns
    -------
    Plan
        Its `sharing` has the ``parts`` of all ranks and a ``gathering`` that makes channels of what all record (None where nothing is).

    Raises
    ------
    ScenarioError
        The grid cannot be cut so.
    """
    parts = split(plan, ranks, grid)
    part, gathering = parts[rank], Gathering(plan, parts) if sampling_launch(plan) else None
    local = localise_plan(plan, part)
    buffers, sent = messages(local, part)
    arrays, launches = gathering.record(rank) if gathering else ({}, [])
    phases = [replace(phase, messages=some) for phase, some in zip(local.phases, sent)]
    phases[-1] = replace(phases[-1], launches=(*launches, *phases[-1].launches))
    return replace(local, arrays=local.arrays | buffers | arrays, phases=tuple(phases), slots=gathering.slots if gathering else plan.slots,
                   part=part, sharing=plan.sharing | {"parts": parts, "gathering": gathering})  # fmt: skip
