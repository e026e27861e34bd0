"""Maps of peaks over the ranks of a grid: each site is measured by the rank that owns its point, to
which the others send the values of their points that it needs.

Sums run over the same rows in the same order as on one rank: they have the same bits.
"""

from dataclasses import replace

import numpy as np

from craton.core.gathering import owner_of
from craton.core.localise import Cut, select_rows
from craton.core.plan import Launch, Phase
from craton.methods.waves.peaks import BESIDE, GATHER
from craton.methods.waves.ranks.halo import buffers
from craton.methods.waves.tables import of_values

SITES = ("source", "first", "weight")


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
