"""The plan of one rank of a grid (its subdomain, messages, columns of the record, sites of peaks), and what `craton plan
--ranks N` prints: who owns what, what travels, how efficient it should be.

A site of a map of peaks is measured by the rank that owns its point, to which the others send the values of their points
that it needs. Sums run over the same rows in the same order as on one rank: they have the same bits.
"""

from dataclasses import replace

import numpy as np

from craton.core.gathering import RECORD_BYTES, divide_channels, owner_of, record_columns, sampling_launches
from craton.core.localise import Cut, localise_plan, select_rows
from craton.core.partition import OF_ELEMENTS, Speeds, grid_loads, split, step_seconds
from craton.core.plan import Launch, Phase
from craton.methods.waves.exchange import buffers, exchange
from craton.methods.waves.peaks import BESIDE, GATHER
from craton.methods.waves.tables import of_values

SITES = ("source", "first", "weight")  # tables of a map of peaks
SHOWN = 16  # ranks that are listed one by one


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
        of_halos, exchanging = exchange(local, subdomain, phase)
        arrays |= of_halos
        phases.append(exchanging)
    return replace(local, arrays=arrays, phases=tuple(phases))


# --- maps of peaks --------------------------------------------------------------------------------


def maps_of_rank(plan, partition, rank):
    """Return what a rank has of the maps of a plan.

    Parameters
    ----------
    plan : Plan
        Of the whole grid.
    partition : list of Subdomain
    rank : int

    Returns
    -------
    series : tuple of PeakSeries
    arrays : dict of str to Array
    phases : list of Phase
        One for each map: the values that ranks send each other before it is measured.
    launches : list of Launch
    """
    series, arrays, phases, launches = [], {}, [], []
    for whole in plan.peaks:
        local, map_arrays, phase, measuring = map_of_rank(plan, whole, partition, rank)
        series.append(local)
        arrays |= map_arrays
        phases.append(phase)
        launches += measuring
    return tuple(series), arrays, phases, launches


def map_of_rank(plan, whole, partition, rank):
    """Return the series, arrays, phase of messages and launches of a rank for one map."""
    named = whole.array
    tables = [plan.arrays[named(f"sites_{part}")] for part in SITES]
    source, first, weight = (table.data for table in tables)
    of_site, owner = owner_of(partition, whole.points), owner_of(partition, plan.layout.place(source))
    taker = np.repeat(np.repeat(of_site, 3), np.diff(first))
    cut = Cut.of(plan, partition[rank])
    sent, taken = exchanged(source, owner, taker, rank, len(partition))
    arrays, phase = messages(whole, cut, sent, taken, plan.precision)
    sites = np.flatnonzero(of_site == rank)
    local = replace(whole, where=whole.where[sites], points=whole.points[:, sites])
    if not len(sites):
        return local, arrays, phase, []
    begin, rows = select_rows(first, (3 * sites[:, None] + np.arange(3)).ravel())
    values = local_sources(source[rows], owner[rows], taken, rank, cut), begin, weight[rows]
    arrays |= {named(f"sites_{part}"): table.of(v) for part, table, v in zip(SITES, tables, values)}
    arrays |= {named(part): replace(plan.arrays[named(part)], shape=(n, len(sites))) for part, n in whole.rows.items()}
    launch = launch_of(plan, whole)
    names = list(launch.arrays)
    names[launch.op.arrays.index("ghosts")] = named("sites_in") if taken else ""
    axes, recursion = named("sites_axes"), named("sites_recursion")
    arrays |= {axes: plan.arrays[axes].of(plan.arrays[axes].data[:, sites])} if axes in names else {}
    arrays |= {recursion: plan.arrays[recursion]} if recursion in names else {}
    params = launch.params | {"count": len(sites)}
    box = (0, 1, 0, 1, 0, len(sites))
    return local, arrays, phase, [replace(launch, arrays=tuple(names), box=box, params=params)]


def launch_of(plan, series):
    """Return the launch that measures a map."""
    table = series.array("sites_source")
    launches = (launch for phase in plan.phases for launch in phase.launches)
    return next(launch for launch in launches if table in launch.arrays)


def exchanged(source, owner, taker, rank, ranks):
    """Return the points of the whole state that a rank sends and takes, by the other rank: two
    dicts of rising int array. Where one of two ranks needs something, both send and take.

    Parameters
    ----------
    source, owner, taker : (rows,) int array
        Point of each row, the rank that owns it, the rank that needs it.
    rank, ranks : int
    """
    sent, taken = {}, {}
    for other in range(ranks):
        out = np.unique(source[(owner == rank) & (taker == other)])
        into = np.unique(source[(owner == other) & (taker == rank)])
        if other != rank and len(out) + len(into):
            sent[other], taken[other] = out, into
    return sent, taken


def local_sources(source, owner, taken, rank, cut):
    """Return where a rank reads the rows of its sites: in its state, or below 0 among what others
    have sent, -1 - place.
    """
    out, start = np.empty(len(source), np.int64), 0
    owned = owner == rank
    out[owned] = cut.move(source[owned])
    for other, points in taken.items():
        rows = owner == other
        out[rows] = -1 - (start + np.searchsorted(points, source[rows]))
        start += max(len(points), 1)
    return out


def messages(series, cut, sent, taken, precision):
    """Return the buffers and the phase in which ranks send each other values of points; a message
    holds one value at least.
    """
    name, launches = series.array("sites"), []
    arrays, both = buffers(name, *({rank: max(len(p), 1) for rank, p in of.items()} for of in (sent, taken)), precision)
    for other, points in sent.items():
        if len(points):
            out, box = f"{name}_out_{other}", (0, 1, 0, 1, 0, len(points))
            arrays |= of_values(out, source=(cut.move(points), np.int64))
            launches.append(Launch(GATHER, (out, "state", f"{out}_source"), box, {"count": len(points), **BESIDE}))
    return arrays if sent else {}, Phase(f"sites of {series.name}", (), messages=both, packing=tuple(launches))


# --- in words -------------------------------------------------------------------------------------


def of_grid(scenario, planned, ranks):
    """Return the section of a grid, in lines.

    Raises
    ------
    ScenarioError
        The grid cannot be cut so.
    """
    partition, size = split(planned, ranks, scenario.run.grid), np.dtype(planned.precision).itemsize
    largest = max(partition, key=lambda subdomain: subdomain.points)
    nbytes = plan_of_rank(planned, largest.rank, ranks, largest.ranks[::-1]).nbytes
    per_point = nbytes / largest.points
    about = {
        "": f"{ranks} as {' x '.join(map(str, partition[0].ranks[::-1]))} along x, y, z",
        "memory": f"{nbytes / 2**30:,.2f} GiB on the largest rank, {per_point:.1f} bytes per grid point "
        f"({per_point / size:.2f} {planned.precision})",
    }
    words = [f"{'  '.join(map(limits, 'xyz', part.box[4::-2], part.box[::-2])):<44}" for part in partition]
    words = [f"{text} {part.points / 1e6:>10,.2f} M points" for text, part in zip(words, partition)]
    return section(about, words, grid_loads(partition, planned.weights, planned.phases, size), Speeds(), "G points/s")


def limits(axis, first, end):
    """Return the points of a rank along an axis, in words."""
    return f"{axis} {first}..{end - 1}"


def of_elements(planned, loads):
    """Return the section for spectral elements, in lines, from the `Load` of every rank."""
    size, elements = np.dtype(planned.precision).itemsize, sum(load.elements for load in loads)
    outer = [load.outer / load.elements for load in loads]
    nbytes = max(planned.nbytes * load.elements / elements + (2 * size + 12) * load.sent for load in loads)
    about = {
        "": f"{len(loads)}",
        "shared points": f"{sum(load.shared for load in loads):,}",
        "outer": f"{sum(load.outer for load in loads) / elements:.1%} of the elements, {max(outer):.1%} on a rank",
        "memory": f"about {nbytes / 2**30:,.2f} GiB on the largest rank",
    }
    words = [
        f"{load.elements:>11,} elements, {share:6.1%} outer, {load.neighbours:>3} neighbours, {load.shared:>10,} shared points"
        for load, share in zip(loads, outer)
    ]
    costs = [(load.cost * size, load.outer_cost * size, load.sent * size) for load in loads]
    return section(about, words, costs, OF_ELEMENTS, "GB/s of least traffic")


def section(about, words, loads, speeds, unit):
    """Return the section of a partition, in lines.

    Parameters
    ----------
    about : dict of str to str
        Ranks, under an empty name, and what else is told of the whole.
    words : list of str
        What each rank owns.
    loads : list of (float, float, int)
        Cost, that of what neighbours wait for, and bytes sent in a step, by rank.
    speeds : Speeds
    unit : str
        Of 1e9 of its rate.
    """
    costs, _, sent = zip(*loads)
    seconds, ranks = [step_seconds(*load, speeds) for load in loads], len(loads)
    efficiency = step_seconds(sum(costs), 0, 0, speeds) / (ranks * max(seconds))
    lines = [
        f"  rank {rank:<6} {text}, sends {nbytes / 1e6:,.3f} MB, {time * 1e3:.3f} ms"
        for rank, (text, nbytes, time) in enumerate(zip(words, sent, seconds))
    ]
    about = about | {
        "exchange": f"{max(sent) / 1e6:,.2f} MB a step out of a rank, {sum(sent) / 1e6:,.1f} MB in all",
        "imbalance": f"the slowest rank has {max(costs) / np.mean(costs) - 1:.1%} more to do than the mean",
        "efficiency": f"{efficiency:.1%} expected of {ranks} GPUs ({np.mean(costs) / max(costs):.1%} if the exchange costs "
        f"nothing); assumed: {speeds.rate / 1e9:g} {unit}, {speeds.bandwidth / 1e9:g} GB/s and "
        f"{speeds.latency * 1e6:g} us between neighbours",
    }
    more = [f"  ... and {ranks - SHOWN} more"] * (ranks > SHOWN)
    rows = [f"  {name:<14} {text}" for name, text in about.items() if name]
    return "\n".join([f"Ranks: {about['']}", *lines[:SHOWN], *more, *rows])
