"""What `craton plan --ranks N` prints: who owns what, what travels, how efficient it should be,
memory of each rank.
"""

import numpy as np

from craton.core.partition import OF_ELEMENTS, Speeds, grid_loads, split, step_seconds
from craton.methods.waves.ranks.ranks import plan_of_rank

SHOWN = 16  # ranks that are listed one by one


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
