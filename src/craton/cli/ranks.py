"""What `craton plan --ranks N` prints: who owns what, what travels, how efficient it should be, memory of each rank."""
import numpy as np

SHOWN = 16  # ranks that are listed one by one


def words(scenario, planned, ranks):
    """The section, in lines.

    Raises
    ------
    ScenarioError
        The grid cannot be cut so.
    """
    from craton.plan.partition import split
    from craton.plan.performance import Speeds, step_seconds, table

    parts, speeds = split(planned, ranks, scenario.run.grid), Speeds()
    rows = table(parts, planned.sharing, [phase.shared for phase in planned.phases], np.dtype(planned.precision).itemsize, speeds)
    whole, slowest = sum(cost for _, cost, _, _ in rows), max(seconds for *_, seconds in rows)
    efficiency = step_seconds(whole, 0, 0, speeds) / (ranks * slowest)
    even = whole / (ranks * max(cost for _, cost, _, _ in rows))
    sent = [n for _, _, n, _ in rows]
    nbytes, per_point = memory(planned, parts)
    lines = [
        f"Ranks: {ranks} as {' x '.join(map(str, parts[0].ranks[::-1]))} along x, y, z",
        *(line(rank, *row) for rank, row in enumerate(rows[:SHOWN])),
        *([f"  ... and {ranks - SHOWN} more"] if ranks > SHOWN else []),
        f"  halos       {max(sent) / 1e6:,.2f} MB a step out of a rank, {sum(sent) / 1e6:,.1f} MB in all",
        f"  memory      {nbytes / 2**30:,.2f} GiB on the largest rank, {per_point:.2f} reals a point",
        f"  efficiency  {efficiency:.1%} expected of {ranks} GPUs ({even:.1%} if halos cost nothing); assumed: "
        f"{speeds.rate / 1e9:g} G points/s, {speeds.bandwidth / 1e9:g} GB/s and {speeds.latency * 1e6:g} us between neighbours",
    ]  # fmt: skip
    return "\n".join(lines)


def line(rank, part, cost, nbytes, seconds):
    """One rank."""
    k0, k1, j0, j1, i0, i1 = part.box
    box = f"x {i0}..{i1 - 1}  y {j0}..{j1 - 1}  z {k0}..{k1 - 1}"
    return f"  rank {rank:<6} {box:<44} {np.prod(part.shape) / 1e6:>10,.2f} M points, sends {nbytes / 1e6:,.2f} MB, {seconds * 1e3:.3f} ms"


def memory(planned, parts):
    """Bytes of the plan of the rank with the most points, and its reals a point."""
    from craton.solvers.shared.ranks import shared

    rank = int(np.argmax([np.prod(part.shape, dtype=np.int64) for part in parts]))
    grid = parts[0].ranks[::-1]
    local = shared(planned, rank, len(parts), grid)
    return local.nbytes, local.nbytes / np.dtype(planned.precision).itemsize / np.prod(parts[rank].shape, dtype=np.int64)
