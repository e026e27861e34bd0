"""Sources as point tables: what point sources, finite faults and catalogues add to the state of any `Space` at each step.

The displacement scheme of elements needs the moment itself where a scenario gives its rate: M(t_n) is dt times the sum of the rates at
the half steps before t_n, as the velocity-stress scheme of finite differences has it implicitly; the corrections of the leapfrog
(`craton.survey.leapfrog`) are then the same. Thousands of moment rates have short windows of steps; the correction moves frequency f of
what happens at step T earlier by T (1 - cos(pi f dt)).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from craton import memory
from craton.conventions import TENSOR_AXES
from craton.core.deferred import Deferred
from craton.core.plan import Array, Launch
from craton.errors import ResourceError
from craton.methods.protocol import Reuse
from craton.methods.waves import tables
from craton.methods.waves.tables import MOST_ROWS, injection, of_values, table_of
from craton.survey import leapfrog
from craton.survey.source_arrays import Catalogue, FiniteFault

SORTED = 48  # bytes of a row while the table is sorted
SLIPPING, WAVELETS = 1024, 256  # components of faults, and wavelets of catalogues, that are corrected at a time
RING = 8.0  # periods of the band's end over which a band-limited kink has faded
CUT = 1e-6  # of a column's peak: its window ends where it stays below
GROUP = 64  # steps: columns whose windows begin within as many are corrected together
AXES = 3
# columns of each source: components, then derivatives by position
PARTS = {"force": AXES + AXES, "moment": len(TENSOR_AXES) + AXES}
MOVED = 1e-3  # of the spacing: to both sides, for derivatives by position


def sources(space, all_sources, reuse=None):
    """Return the arrays of all sources, their launches by the table that they inject, and their highest frequency, Hz, inf without any.

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
    rates = [s.wavelet(d.start + (steps + 0.5 * h) * d.dt) for s, h in zip(sources, half)]
    rates = np.stack(rates, axis=1).astype(float)
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
    begins, counts, values = zip(*(fault_windows(d, fault, band) for fault in faults))
    begin, at = np.concatenate(begins), np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    target, first, column, weight = table_of(*_rows_of_faults(space, faults))
    if not len(target):
        return {}, {}, leapfrog.TAPER * band
    series = acting(space, np.concatenate(values), at)
    return *_windowed(space, "fault", target, (first, column, weight), begin, at, series), leapfrog.TAPER * band


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
    d = space.d
    xyz, tensors = (np.concatenate([getattr(c, part) for c in catalogues]) for part in ("points", "tensors"))
    highest = max(float(c.highest(d.dt).max()) for c in catalogues)
    target, count, blocks = space.moment_table(xyz, tensors)
    if not len(target):
        return {}, {}, highest
    starts = np.cumsum([0, *(len(c.histories[0]) for c in catalogues)])
    columns = np.concatenate([c.histories[2] + start for c, start in zip(catalogues, starts)]).astype(np.int32)
    limits = [window_limits(d, c) for c in catalogues]
    begin, high = (np.concatenate(ends) for ends in zip(*limits))
    at = np.concatenate([[0], np.cumsum(high - begin)])

    def series():
        values = [catalogue_windows(d, c, *ends) for c, ends in zip(catalogues, limits)]
        return (acting(space, np.concatenate(values), at),)

    def rows():
        return ((index, weight, columns[number]) for index, weight, number in blocks())

    table = Deferred(lambda: gathered(rows, target, d.precision))
    of_table = (len(target) + 1, np.int32), (count, np.int32), (count, d.precision)
    parts = [table.part(n, *shape) for n, shape in enumerate(of_table)]
    values = Deferred(series).part(0, int(at[-1]), d.precision)
    return *_windowed(space, "catalogue", target, parts, begin, at, values), highest


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


def _windowed(space, name, target, rows, begin, at, series):
    """Return the arrays of a table whose columns act in windows of steps, and its launches: they read the values of the step, the last
    of which stay where moments act, and inject them.

    `rows` are first, column and weight as of `table_of`; windows begin at steps `begin`, their values in the `series` at `at`.
    The values of the step come first of all: a phase may be cut in two, and both parts of the table read them.
    """
    d, (first, column, weight) = space.d, rows
    arrays = of_values(
        name,
        target=(target, np.int64),
        first=(first, np.int32),
        column=(column, np.int32),
        weight=(weight, d.precision),
        begin=(begin + space.integrates, np.int32),
        at=(at, np.int64),
        series=(series, d.precision),
    )
    arrays[f"{name}_now"] = Array("points", begin.shape, d.precision)
    window, table = (
        [f"{name}_{part}" for part in parts]
        for parts in (("now", "begin", "at", "series"), ("target", "first", "column", "weight", "now"))
    )
    operator = tables.HOLD if space.integrates else tables.WINDOW
    now = Launch(operator, (*window, "step"), (0, 1, 0, 1, 0, len(begin)), {"columns": 1, "slots": 1})
    box = (0, 1, 0, 1, 0, len(target))
    inject = Launch(tables.INJECT, (space.injected, *table, "step"), box, {"columns": 0, "slots": 1})
    return arrays, {"windows": [now], "moments": [space.placed(inject, target)]}


# --- moment rates of thousands of sources in time --------------------------------------------------


def fault_windows(d, fault, band):
    """Return first steps (n,), counts (n,) and values of the windows of a fault's components: slip rates up to a band, Hz."""
    low, high = _bounds(d, fault, band)
    begin, parts = np.zeros(len(low), np.int64), [np.empty(0, np.float32)] * len(low)
    for some, first, series in _corrected(d, fault, low, high, SLIPPING, band):
        for n, values in zip(some, series.T):
            begin[n], parts[n] = _trimmed(values.astype(d.precision), first)
    return begin, np.array([len(part) for part in parts], np.int64), np.concatenate(parts)


def _bounds(d, fault, band):
    """Return steps (first, behind the last) in which each component acts, with room for what precedes and follows it."""
    ring = RING / (band * d.dt)
    end = (fault.end + fault.interval - d.start) / d.dt
    early = end * (1 - math.cos(min(leapfrog.NONE, leapfrog.TAPER * math.pi * band * d.dt)))
    low = (fault.onset - fault.interval - d.start) / d.dt - ring - np.maximum(early, 0)
    low = np.clip(np.floor(low), 0, d.steps - 1).astype(np.int64)
    last = np.maximum(d.steps, low + 1)
    high = np.maximum(np.minimum(np.ceil(end + ring), last).astype(np.int64), low + 1)
    return low, high


def _trimmed(values, first):
    """Return first step and values of a series without what is next to nothing before and behind."""
    large = np.flatnonzero(np.abs(values) > CUT * np.abs(values).max())
    if not len(large):
        return first, np.empty(0, np.float32)
    return first + large[0], values[large[0] : large[-1] + 1].copy()


def window_limits(d, catalogue):
    """Return the first steps of the windows of a catalogue's wavelets, and the steps behind their last: (m,) each."""
    onset, end = ((time - d.start) / d.dt for time in catalogue.span())
    phase = np.minimum(math.pi * catalogue.highest(d.dt) * d.dt, leapfrog.NONE)
    early = np.maximum(end, 0) * (1 - np.cos(phase))
    low = np.clip(np.floor(onset - early - 1), 0, d.steps - 1).astype(np.int64)
    high = np.clip(np.ceil(end + leapfrog.spread(end) + 1), low + 1, max(d.steps, 1)).astype(np.int64)
    return low, high


def catalogue_windows(d, catalogue, low, high):
    """Return the values of the windows between `window_limits`, one behind another, in the precision of the run."""
    at = np.concatenate([[0], np.cumsum(high - low)])
    out = np.empty(at[-1], d.precision)
    for some, first, series in _corrected(d, catalogue, low, high, WAVELETS):
        for n, values in zip(some, series.T):
            out[at[n] : at[n + 1]] = values[low[n] - first : high[n] - first]
    return out


def _corrected(d, source, low, high, most, band=math.inf) -> Iterator:
    """Yield columns (m,), their first step and their rates (steps, m), of columns whose windows begin close to each other."""
    groups = low // GROUP
    order = np.lexsort((high - low, groups))
    for same in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        for some in np.array_split(same, -(-len(same) // most)):
            first, last = int(low[some].min()), int(high[some].max())
            series = source.series(some, d.start + (first + 0.5) * d.dt, d.dt, leapfrog.padded(last - first))
            yield some, first, leapfrog.for_leapfrog(series, d.dt, first + 0.5, band)[: last - first]


# --- unit sources ----------------------------------------------------------------------------------


def components(kind):
    """Return unit forces (3,), or symmetric unit moment tensors (3, 3), of the `kind` ``"force"`` or ``"moment"``: list."""
    if kind == "force":
        return list(np.eye(AXES))
    tensors = np.zeros((len(TENSOR_AXES), 3, 3))
    for tensor, (a, b) in zip(tensors, TENSOR_AXES):
        tensor[a, b] = tensor[b, a] = 1
    return list(tensors)


def shifted(source, axis, distance):
    """Return a source `distance` (m) further along an axis."""
    return replace(source, xyz=np.asarray(source.xyz, float) + distance * np.eye(AXES)[axis])


def collected(source, kind, taps, series):
    """Return derivatives by strength, position and series (steps,) of a source from the taps of its unit sources, (steps, parts)."""
    count = PARTS[kind] - AXES
    strength = np.asarray(source.force, float) if kind == "force" else np.array([source.moment[a] for a in TENSOR_AXES])
    return {
        "strength": series @ taps[:, :count],
        "position": series @ taps[:, count:],
        "series": taps[:, :count] @ strength,
    }
