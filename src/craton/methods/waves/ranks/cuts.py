"""What `craton plan --ranks N` prints: who owns what, what travels, how efficient it should be,
memory of each rank.
"""

import numpy as np

SHOWN = 16  # ranks that are listed one by one


def of_grid(scenario, planned, ranks):
    """Return the section, in lines.

    Raises
    ------
    ScenarioError
        The grid cannot be cut so.
    """
    from craton.core.partition import split
    from craton.core.performance import Speeds, step_seconds, table

    partition, speeds = split(planned, ranks, scenario.run.grid), Speeds()
    rows = table(
        partition,
        planned.weights,
        [phase.halos for phase in planned.phases],
        np.dtype(planned.precision).itemsize,
        speeds,
    )
    whole, slowest = sum(cost for _, cost, _, _ in rows), max(seconds for *_, seconds in rows)
    efficiency = step_seconds(whole, 0, 0, speeds) / (ranks * slowest)
    even = whole / (ranks * max(cost for _, cost, _, _ in rows))
    sent = [n for _, _, n, _ in rows]
    (nbytes, per_point), size = memory(planned, partition), np.dtype(planned.precision).itemsize
    return "\n".join(
        [
            f"Ranks: {ranks} as {' x '.join(map(str, partition[0].ranks[::-1]))} along x, y, z",
            *shown([line(rank, *row) for rank, row in enumerate(rows)]),
            f"  halos       {max(sent) / 1e6:,.2f} MB a step out of a rank, {sum(sent) / 1e6:,.1f} MB in all",
            f"  memory      {nbytes / 2**30:,.2f} GiB on the largest rank, {size * per_point:.1f} bytes per grid point "
            f"({per_point:.2f} {planned.precision})",
            f"  efficiency  {efficiency:.1%} expected of {ranks} GPUs ({even:.1%} if halos cost nothing); assumed: "
            f"{speeds.rate / 1e9:g} G points/s, {speeds.bandwidth / 1e9:g} GB/s and {speeds.latency * 1e6:g} us between neighbours",
        ]
    )


def shown(lines):
    """Return the lines of the first ranks, and how many more there are."""
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"  ... and {len(lines) - SHOWN} more"]


def line(rank, subdomain, cost, nbytes, seconds):
    """One rank."""
    k0, k1, j0, j1, i0, i1 = subdomain.box
    box = f"x {i0}..{i1 - 1}  y {j0}..{j1 - 1}  z {k0}..{k1 - 1}"
    return f"  rank {rank:<6} {box:<44} {subdomain.points / 1e6:>10,.2f} M points, sends {nbytes / 1e6:,.2f} MB, {seconds * 1e3:.3f} ms"


def memory(planned, partition):
    """Bytes of the plan of the rank with the most points, and its values per grid point."""
    from craton.methods.waves.ranks.ranks import plan_of_rank

    largest = max(partition, key=lambda subdomain: subdomain.points)
    local = plan_of_rank(planned, largest.rank, len(partition), largest.ranks[::-1])
    return local.nbytes, local.nbytes / np.dtype(planned.precision).itemsize / largest.points


def of_elements(planned, loads):
    """Return the section for spectral elements, in lines, from the `Load` of every rank."""
    from craton.core.performance import ElementSpeeds, element_seconds

    speeds, size = ElementSpeeds(), np.dtype(planned.precision).itemsize
    ranks = len(loads)
    seconds, costs = ([element_seconds(load, size, speeds) for load in loads], [load.cost for load in loads])
    even, elements = sum(costs) / ranks / max(costs), sum(load.elements for load in loads)
    efficiency = sum(costs) * size / speeds.traffic / (ranks * max(seconds))
    nbytes = max(planned.nbytes * load.elements / elements + (2 * size + 12) * load.sent for load in loads)
    sent, outer = ([load.sent * size / 1e6 for load in loads], [load.outer / load.elements for load in loads])
    return "\n".join(
        [
            f"Ranks: {ranks}",
            *shown([element_line(rank, load, size, time) for rank, (load, time) in enumerate(zip(loads, seconds))]),
            f"  shared points  {sum(load.shared for load in loads):,}; in a step {max(sent):,.2f} MB "
            f"out of a rank, {sum(sent):,.1f} MB in all",
            f"  outer          {sum(load.outer for load in loads) / elements:.1%} of the elements, {max(outer):.1%} on a rank",
            f"  memory         about {nbytes / 2**30:,.2f} GiB on the largest rank",
            f"  imbalance      the slowest rank has {max(costs) / np.mean(costs) - 1:.1%} more to do than the mean",
            f"  efficiency     {efficiency:.1%} expected of {ranks} GPUs ({even:.1%} if the exchange costs nothing); assumed: "
            f"{speeds.traffic / 1e12:g} TB/s of least traffic; {speeds.bandwidth / 1e9:g} GB/s, "
            f"{speeds.latency * 1e6:g} us between neighbours",
        ]
    )


def element_line(rank, load, size, seconds):
    """One rank."""
    return (
        f"  rank {rank:<6} {load.elements:>11,} elements, {load.outer / load.elements:6.1%} outer, {load.neighbours:>3} neighbours, "
        f"{load.shared:>10,} shared points, sends {load.sent * size / 1e6:,.3f} MB, {seconds * 1e3:.3f} ms"
    )
