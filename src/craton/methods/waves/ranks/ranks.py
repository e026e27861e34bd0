"""Plan of one rank of a grid, complete: its subdomain, its messages, its columns of the record."""

from dataclasses import replace

from craton.core.gathering import RECORD_BYTES, divide_channels, record_columns, sampling_launches
from craton.core.localise import localise_plan
from craton.core.partition import split
from craton.methods.waves.ranks.halo import exchange
from craton.methods.waves.ranks.peak_ranks import maps_of_rank


def plan_of_rank(plan, rank, ranks, grid=None):
    """Return the plan of one rank.

    Parameters
    ----------
    plan : Plan
        Plan of the whole grid.
    rank, ranks : int
    grid : tuple of int, optional
        Ranks along (x, y, z); by default as `craton.core.partition.split` finds best.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        The grid cannot be cut so.
    """
    partition = split(plan, ranks, grid)
    slots, records, gatherings = plan.slots, {}, {}
    for launch in sampling_launches(plan):
        name = launch.arrays[0]
        columns, gatherings[name] = divide_channels(plan, partition, launch)
        rows = plan.arrays[name].shape[0]
        if name == "record":
            most = RECORD_BYTES // max(8 * max(map(len, columns)), 1)
            rows = slots = max(1, min(plan.slots, most))
        records[name] = record_columns(plan, columns[rank], launch, partition[rank], rows)
    local = with_messages(localise_plan(plan, partition[rank], records), partition[rank])
    series, measured, exchanging, launches = maps_of_rank(plan, partition, rank)
    *phases, last = local.phases
    last = replace(last, launches=(*launches, *last.launches))
    return replace(
        local,
        arrays=local.arrays | measured,
        phases=(*phases, *exchanging, last),
        slots=slots,
        weights=None,
        partition=tuple(partition),
        rank=rank,
        gathering=gatherings.get("record"),
        peaks=series,
        recordings=tuple(replace(recording, gathering=gatherings[recording.array]) for recording in plan.recordings),
        all_ranks=plan.totals,
    )


def steps_of_rank(plan, partition, rank):
    """Return the steps of one rank. The record of a rank holds as many steps as that of the whole; of a `Plan`, too, the notes are
    those of the whole.

    Parameters
    ----------
    plan : StepPlan
        Steps on the whole grid.
    partition : tuple of Subdomain
        Of all ranks.
    rank : int

    Returns
    -------
    StepPlan
    """
    records, gatherings = {}, {}
    for launch in sampling_launches(plan):
        name = launch.arrays[0]
        columns, gatherings[name] = divide_channels(plan, partition, launch)
        slots = plan.arrays[name].shape[0]
        records[name] = record_columns(plan, columns[rank], launch, partition[rank], slots)
    local = with_messages(localise_plan(plan, partition[rank], records), partition[rank])
    return replace(local, partition=tuple(partition), rank=rank, gatherings=gatherings)


def with_messages(local, subdomain):
    """Return the plan of a rank with its messages to neighbours.

    Parameters
    ----------
    local : StepPlan
        As `localise_plan` returns it.
    subdomain : Subdomain
    """
    arrays, phases = dict(local.arrays), []
    for phase in local.phases:
        buffers, exchanging = exchange(local, subdomain, phase)
        arrays |= buffers
        phases.append(exchanging)
    return replace(local, arrays=arrays, phases=tuple(phases))
