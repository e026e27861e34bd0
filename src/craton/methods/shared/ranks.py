"""Plan of one rank of a grid, complete: its subdomain, its messages, its columns of the record."""

from dataclasses import replace

from craton.core.gathering import RECORD_BYTES, divide_channels, record_columns
from craton.core.localise import localise_plan
from craton.core.partition import split
from craton.methods.shared.halo import exchange
from craton.methods.shared.peak_ranks import maps_of_rank


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
    local = localise_plan(plan, partition[rank])
    arrays, phases, slots, gathering = dict(local.arrays), [], plan.slots, None
    for phase in local.phases:
        buffers, exchanging = exchange(local, partition[rank], phase)
        arrays |= buffers
        phases.append(exchanging)
    if divided := divide_channels(plan, partition):
        columns, gathering, launch = divided
        slots = max(1, min(plan.slots, RECORD_BYTES // max(8 * max(map(len, columns)), 1)))
        record, launches = record_columns(plan, columns[rank], launch, partition[rank], slots)
        arrays |= record
        phases[-1] = replace(phases[-1], launches=(*launches, *phases[-1].launches))
    series, measured, exchanging, launches = maps_of_rank(plan, partition, rank)
    arrays |= measured
    last = replace(phases[-1], launches=(*launches, *phases[-1].launches))
    phases[-1:] = [*exchanging, last]
    return replace(
        local,
        arrays=arrays,
        phases=tuple(phases),
        slots=slots,
        weights=None,
        partition=tuple(partition),
        rank=rank,
        gathering=gathering,
        peaks=series,
        all_ranks=plan.totals,
    )
