"""Peak maps of a plan: the operator that measures at every step, its arrays, and its launch."""

from dataclasses import dataclass, field

import numpy as np

from craton.core.operator import KERNELS, Operator, Struct
from craton.core.peaks import INTEGRALS, KIND, MAXIMA, PeakSeries, nigam_jennings
from craton.core.plan import Array, Launch
from craton.errors import refuse
from craton.methods.waves.tables import of_values
from craton.survey import geography

FILE = KERNELS / "peaks.h"
PARAMS = Struct("PeakParams", (*((name, "i32") for name in ("count", "together", "last", "every")), ("dt", "real")))
DOUBLES = ("displaced", "sums", "oscillators", "recursion")
TYPES = (*((name, "f64") for name in DOUBLES), ("source", "i64"), ("first", "i32"), ("step", "i32"))
WRITES = ("before", "displaced", "largest", "sums", "pushed", "oscillators", "oscillators_largest", "history")
TABLES = ("source", "first", "weight", "axes", "recursion")
READS = ("state", "ghosts", *TABLES, "step")
MOST_ROWS = 2**31 - 1  # rows are counted in 32 bits
BINS = 256  # values of the history behind the significant duration, where no resolution is given
BESIDE = {"together": 0, "last": 0, "every": 1, "dt": 1.0}  # scalars that gathering does not read
TURNED = 1e-12  # of axes, below which nothing is turned
ROWS_OF_SITE = 40  # rows that a site has about, for the traffic of the declaration

GATHER = Operator(
    "gather_points",
    FILE,
    ("values",),
    ("state", "source"),
    PARAMS,
    reals_per_point=4,
    types=TYPES,
    pointwise=False,
    grain=(1, 1, 4096),
)


def operator(series):
    """Return the operator that measures what a series asks for; see peaks.h.

    Parameters
    ----------
    series : PeakSeries
    """
    fields, integrals = series.fields, series.integrals
    rows = {of.upper(): fields.index(of) if of in fields else -1 for of in MAXIMA.values()}
    rows |= {of.upper(): integrals.index(of) if of in integrals else -1 for of in INTEGRALS}
    constants = rows | {"PERIODS": len(series.oscillators), "HISTORY": int(series.bins > 0)}
    values = 8 * len(fields) + 12 * len(integrals) + 6 + 12 * ("displacement" in fields)
    return Operator(
        "_".join(["peaks", *series.quantities, str(len(series.oscillators))]),
        FILE,
        WRITES,
        READS,
        PARAMS,
        reals_per_point=values + 38 * len(series.oscillators) + 3 * ROWS_OF_SITE,
        flops=2 * ROWS_OF_SITE + 10 * len(fields) + 48 * len(series.oscillators),
        kernel="peaks",
        defines=tuple(constants.items()),
        types=TYPES,
        pointwise=False,
        grain=(1, 1, 4096),
    )


def operators():
    """Return an operator that measures everything, with two periods, and the one that gathers what
    other ranks need: list of Operator.
    """
    quantities = (*MAXIMA, *INTEGRALS, "duration", "sa")
    everything = PeakSeries("", {}, {}, np.arange(1), quantities, (0.3, 1.0), 0.05, 1.0, 0.0, 9, 3)
    return [operator(everything), GATHER]


@dataclass(frozen=True, eq=False)
class Sites:
    """Where a map of peaks measures.

    Parameters
    ----------
    coords : dict
        Coordinates of the map by dimension, in memory order, and those of planes.
    xyz : (n, 3) array
        Positions of the whole map, m.
    where : int array
        Which of them have a medium, and lie outside of absorbing layers.
    places : dict of str to (dims, array)
        Further coordinates.
    axes : (n, 3, 3) array, optional
        True east, north and up as columns, where the space knows them.
    points : int array, optional
        Points (k, j, i) of a grid that the sites are, (3, sites).
    """

    coords: dict
    xyz: np.ndarray
    where: np.ndarray
    places: dict = field(default_factory=dict)
    axes: np.ndarray | None = None
    points: np.ndarray | None = None


def maps(space, scenario):
    """Return the series, arrays and launches of all maps of peaks of a scenario; all ranks must call."""
    all_series, arrays, launches = [], {}, []
    for spec in scenario.peaks:
        sites = space.sites(spec)
        axes, places, reference = sites.axes, sites.places, {}
        if axes is None:
            axes, degrees, reference = on_earth(scenario.domain, sites.xyz)
            dims = tuple(name for name, c in sites.coords.items() if np.ndim(c))
            shape = [len(sites.coords[name]) for name in dims]
            places = places | {name: (dims, values.reshape(shape)) for name, values in degrees.items()}
        series = series_of(space.d, spec, sites.coords, places, sites.where, sites.points, reference)
        together, rows = space.rows_of_sites(sites)
        turned = None if axes is None else axes[sites.where]
        map_arrays, map_launches = measuring(series, rows, space.d.precision, together, turned)
        all_series.append(series)
        arrays |= map_arrays
        launches += map_launches
    return tuple(all_series), arrays, launches


def on_earth(domain, xyz):
    """Return true east, north and up at sites of a box, (n, 3, 3) as columns, None where these are
    its axes; longitude and latitude of the sites, and the reference of a `PeakSeries`.

    Parameters
    ----------
    domain : Domain of a scenario
    xyz : (n, 3) array
        m.
    """
    local = geography.local_of(domain)
    if local is None:
        return None, {}, {}
    axes = local.axes(xyz)
    reference = {f"map_{key}": getattr(local, key) for key in ("longitude", "latitude", "azimuth")}
    places = dict(zip(("longitude", "latitude"), local.degrees(xyz[:, 0], xyz[:, 1])))
    is_turned = not np.allclose(axes, np.eye(3), rtol=0, atol=TURNED)
    return (axes if is_turned else None), places, reference


def series_of(d, spec, coords, places, where, points=None, reference=None):
    """Return the `PeakSeries` of one table of a scenario.

    Parameters
    ----------
    d : the discretised problem
        With dt, start, steps and extra, the padding steps, which do not count.
    spec : craton.tables.receivers.Peaks
    coords, places, where, points, reference
        As of `PeakSeries`.
    """
    last = d.steps - d.extra
    every = max(1, last // BINS if spec.resolution is None else round(spec.resolution / d.dt))
    return PeakSeries(
        name=spec.name,
        coords=coords,
        places=places,
        where=where,
        quantities=tuple(spec.quantities),
        periods=tuple(spec.periods),
        damping=spec.damping,
        dt=d.dt,
        start=d.start,
        last=last,
        every=every,
        points=points,
        reference=reference or {},
    )


def measuring(series, rows, precision, together=False, axes=None):
    """Return the arrays and the launch of a series; none where it has no site here.

    Parameters
    ----------
    series : PeakSeries
    rows : (first, source, weight)
        As of `tables.stacked_rows`: of E, N, Z of each site, or with `together` of each site.
    precision : str
    together : bool
        All components share rows; component c lies c behind in the state.
    axes : (n, 3, 3) array, optional
        East, north, up of each site in the axes of the state, as columns.
    """
    count = len(series.where)
    if not count:
        return {}, []
    first, source, weight = rows
    if first[-1] > MOST_ROWS:
        message = f"the map {series.name} needs {first[-1]:,} rows, {MOST_ROWS:,} are possible"
        refuse("peaks", message, "use a larger stride")
    named = series.array
    tables = {"source": (source, np.int64), "first": (first, np.int32), "weight": (weight, precision)}
    if axes is not None:
        tables["axes"] = np.ascontiguousarray(axes.transpose(1, 2, 0)).reshape(9, count), precision
    if series.oscillators:
        rows = [nigam_jennings(period, series.damping, series.dt).ravel() for period in series.oscillators]
        tables["recursion"] = np.stack(rows), np.float64
    arrays = of_values(named("sites"), **tables)
    for part, n in series.rows.items():
        arrays[named(part)] = Array(KIND, (n, count), np.float64 if part in DOUBLES else precision)
    names = [named(part) if part in series.rows else "" for part in WRITES]
    names += ["state", "", *(named(f"sites_{part}") if part in tables else "" for part in TABLES)]
    params = {"count": count, "together": int(together), "last": series.last, "every": series.every, "dt": series.dt}
    box = (0, 1, 0, 1, 0, count)
    return arrays, [Launch(operator(series), (*names, "step"), box, params)]
