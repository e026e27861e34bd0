"""Sources as point tables: what point sources, finite faults and catalogues add to the state of any `Space` at each step.

The displacement scheme of elements needs the moment itself where a scenario gives its rate: M(t_n) is dt times the sum of the rates at
the half steps before t_n, as the velocity-stress scheme of finite differences has it implicitly; the leapfrog's corrections
(`craton.survey.leapfrog`) are then the same.
"""

import numpy as np

from craton import memory
from craton.core.deferred import Deferred
from craton.core.plan import Array, Launch
from craton.errors import ResourceError
from craton.methods.waves import tables, windows
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.tables import MOST_ROWS, injection, of_values, table_of
from craton.survey import leapfrog
from craton.survey.catalogues import Catalogue
from craton.survey.faults import FiniteFault

SORTED = 48  # bytes of a row while the table is sorted


def sources(space, all_sources, reuse=None):
    """Return the arrays of all sources, their launches by the table that they inject, and their highest frequency, Hz, 0 without any.

    The tables of point sources are those of the space; ``windows`` copy the values of the step for the ``moments`` of faults and
    catalogues. All ranks must call.
    """
    arrays, launches, highest = {}, {}, 0.0
    kinds = (point_sources, None), (fault_sources, FiniteFault), (catalogue_sources, Catalogue)
    for build, kind in kinds:
        some = [s for s in all_sources if (isinstance(s, kind) if kind else not isinstance(s, FiniteFault | Catalogue))]
        if some:
            more, of_tables, band = build(space, some, reuse or Reuse(keep=False))
            arrays |= more
            highest = max(highest, band)
            for name, table_launches in of_tables.items():
                launches.setdefault(name, []).extend(table_launches)
    return arrays, launches, highest if all_sources else np.inf


# --- point sources --------------------------------------------------------------------------------


def point_sources(space, sources, reuse):
    """Return arrays, launches by table and the highest frequency of point sources and plane waves."""
    d = space.d
    series, rates = histories(space, sources)
    placed = [[np.asarray(v).tolist() for v in (s.xyz, s.force, s.moment)] for s in sources]
    index, weight, column = reuse.get("rows of sources", lambda: space.point_rows(sources), (space.medium_key, placed))
    arrays, launches = {}, {}
    for name, rows, columns in space.tables(sources, index, column):
        table = table_of(index[rows], weight[rows], np.searchsorted(columns, column[rows]))
        more, launch = injection(name, table, series[:, columns], d.precision, space.injected)
        arrays |= more
        launches[name] = [space.placed(launch, table[0])]
    return arrays, launches, leapfrog.band(rates, d.dt)


def histories(space, sources):
    """Return what forces and moments do at each step, corrected for time dispersion, and their wavelets as they are: (steps, n) each."""
    d = space.d
    half = np.array([source.moment is not None for source in sources])
    steps = np.arange(d.steps)
    rates = np.stack([s.wavelet(d.start + (steps + 0.5 * h) * d.dt) for s, h in zip(sources, half)], axis=1).astype(
        float
    )
    series = np.empty_like(rates)
    series[:, ~half] = leapfrog.for_leapfrog(rates[:, ~half], d.dt, 0.0)
    series[:, half] = leapfrog.for_leapfrog(rates[:, half], d.dt, 0.5)
    if space.integrates:
        series[:, half] = moments(series[:, half], d.dt)
    return series, rates


def moments(rates, dt):
    """Integrate moment rates at the half steps to moments at the steps: (steps, n)."""
    sums = dt * np.cumsum(rates, axis=0)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


# --- thousands of moments -------------------------------------------------------------------------


def fault_sources(space, faults, _):
    """Return arrays, launches by table and the highest frequency of finite faults."""
    d, band = space.d, space.carried
    begins, counts, values = zip(*(windows.of_fault(d, fault, band) for fault in faults))
    begin, at = np.concatenate(begins), np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    target, first, column, weight = table_of(*_rows_of_faults(space, faults))
    if not len(target):
        return {}, {}, leapfrog.TAPER * band
    arrays = of_values(
        "fault",
        target=(target, np.int64),
        first=(first, np.int32),
        column=(column, np.int32),
        weight=(weight, d.precision),
        begin=(begin + space.integrates, np.int32),
        at=(at, np.int64),
        series=(acting(space, np.concatenate(values), at), d.precision),
    )
    arrays["fault_now"] = Array("points", begin.shape, d.precision)
    return arrays, _windowed(space, "fault", len(begin), target), leapfrog.TAPER * band


def _rows_of_faults(space, faults):
    """Return index, weight and column of all slipping components."""
    xyz, tensors = (np.concatenate([getattr(fault, name) for fault in faults]) for name in ("points", "tensors"))
    free = memory.available()
    most, count, parts = min(MOST_ROWS, free // SORTED) if free is not None else MOST_ROWS, 0, []
    for index, weight, column in space.moment_blocks(xyz, tensors):
        parts.append((index, weight.astype(space.d.precision), column.astype(np.int32)))
        count += len(index)
        if count > most:
            raise ResourceError(
                f"the point tables of {len(xyz):,} slipping subfaults do not fit: {most:,} rows are possible here, "
                f"{column.max() + 1:,} subfaults need {count:,}; merge subfaults, or split the fault over runs"
            )
    none = [(np.empty(0, np.int64), np.empty(0, space.d.precision), np.empty(0, np.int32))]
    return tuple(np.concatenate(part) for part in zip(*(parts or none)))


def catalogue_sources(space, catalogues, _):
    """Return arrays, launches by table and the highest frequency of catalogues, whose rows and series are made when a run begins."""
    d, name = space.d, "catalogue"
    xyz, tensors = (np.concatenate([getattr(c, part) for c in catalogues]) for part in ("points", "tensors"))
    highest = max(float(c.highest(d.dt).max()) for c in catalogues)
    target, count, blocks = space.moment_table(xyz, tensors)
    if not len(target):
        return {}, {}, highest
    starts = np.cumsum([0, *(len(c.histories[0]) for c in catalogues)])
    columns = np.concatenate([c.histories[2] + start for c, start in zip(catalogues, starts)]).astype(np.int32)
    limits = [windows.limits(d, c) for c in catalogues]
    begin, high = (np.concatenate(ends) for ends in zip(*limits))
    at = np.concatenate([[0], np.cumsum(high - begin)])

    def series():
        values = [windows.of_catalogue(d, c, *ends) for c, ends in zip(catalogues, limits)]
        return (acting(space, np.concatenate(values), at),)

    def rows():
        return ((index, weight, columns[number]) for index, weight, number in blocks())

    table = Deferred(lambda: gathered(rows, target, d.precision))
    later = {
        "first": (table, 0, len(target) + 1, np.int32),
        "column": (table, 1, count, np.int32),
        "weight": (table, 2, count, d.precision),
        "series": (Deferred(series), 0, int(at[-1]), d.precision),
    }
    arrays = of_values(
        name,
        target=(target, np.int64),
        begin=(begin + space.integrates, np.int32),
        at=(at, np.int64),
        **{part: (values.part(*which), which[-1]) for part, (values, *which) in later.items()},
    )
    arrays[f"{name}_now"] = Array("points", begin.shape, d.precision)
    return arrays, _windowed(space, name, len(begin), target), highest


def gathered(blocks, target, precision):
    """Return the rows of a table by target, within each in the order in which they come, in little
    more memory than they take.

    `blocks` yields (index, weight, column) of some rows at a time, the same ones each time; target (targets,) are the points that have
    rows, rising. Returns first (targets + 1,), column and weight (rows,).
    """
    counts = np.zeros(len(target), np.int64)
    for index, _, _ in blocks():
        counts += np.bincount(np.searchsorted(target, index), minlength=len(counts))
    first = np.concatenate([[0], np.cumsum(counts)])
    column, weight = np.empty(first[-1], np.int32), np.empty(first[-1], precision)
    following = first[:-1].copy()
    for index, weights, columns in blocks():
        order = np.argsort(index, kind="stable")
        number = np.searchsorted(target, index[order])
        begins = np.flatnonzero(np.diff(number, prepend=-1))
        lengths = np.diff(begins, append=len(number))
        place = following[number] + np.arange(len(number)) - np.repeat(begins, lengths)
        column[place], weight[place] = columns[order], weights[order]
        following[number[begins]] += lengths
    return first, column, weight


def acting(space, rates, at):
    """Return what acts after each step of each window, windows one after another, from moment rates: these, or the moments."""
    if not space.integrates:
        return rates
    total = np.concatenate([[0.0], np.cumsum(rates, dtype=float)])
    return space.d.dt * (total[1:] - np.repeat(total[at[:-1]], np.diff(at)))


def _windowed(space, name, columns, target):
    """Return the launches that read the windows of a step, the last values of which stay where moments act, and inject them.

    The values of the step come first of all: a phase may be cut in two, and both parts of the table read them.
    """
    parts = {part: f"{name}_{part}" for part in ("now", "begin", "at", "series", "target", "first", "column", "weight")}
    now = Launch(
        tables.HOLD if space.integrates else tables.WINDOW,
        (*(parts[part] for part in ("now", "begin", "at", "series")), "step"),
        (0, 1, 0, 1, 0, columns),
        {"columns": 1, "slots": 1},
    )
    table = (parts[part] for part in ("target", "first", "column", "weight", "now"))
    inject = Launch(
        tables.INJECT, (space.injected, *table, "step"), (0, 1, 0, 1, 0, len(target)), {"columns": 0, "slots": 1}
    )
    return {"windows": [now], "moments": [space.placed(inject, target)]}
