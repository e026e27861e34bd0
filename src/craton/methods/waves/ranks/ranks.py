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
    partition = tuple(split(plan, ranks, grid))
    local, slots = steps_of_rank(plan, partition, rank, RECORD_BYTES)
    series, measured, exchanging, launches = maps_of_rank(plan, partition, rank)
    *phases, last = local.phases
    last = replace(last, launches=(*launches, *last.launches))
    return replace(
        local,
        arrays=local.arrays | measured,
        phases=(*phases, *exchanging, last),
        slots=slots.get("record", plan.slots),
        weights=None,
        gathering=local.gatherings.get("record"),
        peaks=series,
        recordings=tuple(replace(r, gathering=local.gatherings[r.array]) for r in plan.recordings),
        all_ranks=plan.totals,
    )


def steps_of_rank(plan, partition, rank, most=None):
    """Return the steps of one rank, and how many steps its records hold, by name: as many as those of the whole,
    or what has `most` bytes on the rank that has most columns. Of a `Plan`, too, the notes are those of the whole.

    Parameters
    ----------
    plan : StepPlan
        Steps on the whole grid.
    partition : tuple of Subdomain
        Of all ranks.
    rank : int
    most : int, optional

    Returns
    -------
    StepPlan, dict of str to int
    """
    records, gatherings, slots = {}, {}, {}
    for launch in sampling_launches(plan):
        name = launch.arrays[0]
        tables, gatherings[name] = divide_channels(plan, partition, launch)
        slots[name] = plan.arrays[name].shape[0]
        if name == "record" and most is not None:
            columns = max(len(first) - 1 for first, _, _ in tables)
            slots[name] = max(1, min(slots[name], most // (8 * max(columns, 1))))
        records[name] = record_columns(plan, tables[rank], launch, partition[rank], slots[name])
    local = with_messages(localise_plan(plan, partition[rank], records), partition[rank])
    local = replace(local, partition=partition, rank=rank, gatherings=gatherings)
    return local, slots


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
