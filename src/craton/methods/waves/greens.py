"""Green's functions of moments in a volume, of any `Space`: what a run with a force at a station keeps of its field, and the operator that
sums the stored series.

Reading and injecting are transposes in the norm of the scheme. The velocity that a station records of a moment is therefore what the moment
takes of the strain rates of a force at the station, exact to rounding (Aki & Richards 2002, section 2.3.2, for the continuum), and the
pressure in a fluid what it takes of the pressure of a volume that is injected there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from craton.core.grid import Layout
from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch, Phase, StepPlan
from craton.errors import Problem
from craton.survey import receivers
from craton.survey.wavelets import lowpass

FILE = KERNELS / "series.h"
PARAMS = Struct("SeriesParams", tuple((name, "i32") for name in ("columns", "column", "samples")))
ROWS_OF_SUM = 3072  # rows that a sum has about, for the traffic of the declaration


class Volume(Protocol):
    """Places in a volume at which a store has the field of a force or an injected volume, one number each.

    Attributes
    ----------
    quantity : str
        What stations record: ``"velocity"`` of a method with forces, or ``"pressure"`` of one of fluids alone.
    places, per_point : int
        All of them, and those of one point.
    of_what : str
        Points of what, in a word.
    about : dict
        What a store says of them, for JSON: ``"resolution"``, m, and where there are several the ``"layout"``.
    reads : dict of str to index
        Fields that a picture takes, and where.
    """

    quantity: str
    places: int
    per_point: int
    of_what: str
    about: dict
    reads: Mapping[str, Any]

    def picture(self, fields) -> np.ndarray:
        """Return the field of a force at the places, (places,), from arrays on the host by name."""

    def rows(self, xyz, six) -> tuple:
        """Return the weights of moments xx, yy, zz, xy, xz, yz (n, 6), N m, at positions (n, 3), m, on the places: as `tables.stacked`."""


@dataclass(frozen=True, eq=False)
class MomentField:
    """What moments in a volume take of the field of a force.

    Parameters
    ----------
    scenario : WaveScenario
        With its positions as the grid or mesh has them.
    values : callable
        vp, vs (m/s) and density (kg/m3) at positions (n, 3), m.
    volume : Volume
    """

    scenario: Any
    values: Any
    volume: Volume


def moment_field(domain, low, high):
    """Return the `MomentField` between two corners on a `Domain`, None where it is refused, and list of Problem."""
    scenario = domain.scenario
    impulse = None if scenario.greens is None else lowpass(scenario.greens.max_frequency)
    volume, problems = domain.volume(low, high, receivers.build(scenario), impulse)
    return None if problems else MomentField(scenario, domain.values, volume), problems


def station_problems(stations, close, words, remedy):
    """Return a problem for each of the first stations that are `close`, (n,) bool, to an absorbing layer, where runs are not reciprocal."""
    return [Problem("receivers", f"{stations.names[n]} {words}", remedy) for n in np.flatnonzero(close)[:5]]


# --- sums of stored series -------------------------------------------------------------------------


def sum_operator(stored):
    """Return the operator that sums series, see series.h.

    Parameters
    ----------
    stored : {"float32", "int16"}
        How they are stored.
    """
    half = stored == "int16"
    return Operator(
        "sum_series_16" if half else "sum_series",
        FILE,
        ("sums",),
        ("values", "scale", "row", "first", "weight"),
        PARAMS,
        reals_per_point=2 + ROWS_OF_SUM / (1 + half),
        flops=2 * ROWS_OF_SUM,
        kernel="sum_series",
        defines=(("STORED_16", int(half)),),
        types=(("sums", "f64"), ("values", "stored"), ("row", "i64"), ("first", "i32")),
        pointwise=False,
        grain=(1, 1, 1 << 20),
        block=(128, 1, 1),
    )


def sum_plan(columns, places, samples, stored, sums, rows):
    """Return the plan of weighted sums of series.

    Parameters
    ----------
    columns : sequence of int
        Numbers of the stored columns ``values_N`` and, in 16 bits, ``scale_N``, which are given
        when it is committed.
    places, samples : int
        Series of a column, and their length.
    stored : {"float32", "int16"}
    sums : int
        Sums at a time.
    rows : int
        Rows that these sums have at most, together.

    Returns
    -------
    StepPlan
        Of one phase; its arrays ``row``, ``first`` and ``weight`` say what is summed, ``sums``
        (sums, columns, samples) is the outcome.
    """
    op, half = sum_operator(stored), stored == "int16"
    arrays = {
        "sums": Array("sums", (sums, len(columns), samples), np.float64),
        "row": Array("points", (rows,), np.int64),
        "first": Array("points", (sums + 1,), np.int32),
        "weight": Array("points", (rows,), np.float32),
    }
    launches = []
    for n, column in enumerate(columns):
        names = f"values_{column}", f"scale_{column}" if half else ""
        arrays[names[0]] = Array("stored", (places, samples), np.dtype(stored))
        if half:
            arrays[names[1]] = Array("stored", (places,), np.float32)
        params = {"columns": len(columns), "column": n, "samples": samples}
        read = ("sums", *names, "row", "first", "weight")
        launches.append(Launch(op, read, (0, sums, 0, 1, 0, samples), params))
    layout = Layout((sums, 1, samples), 0)
    return StepPlan(precision="float32", layout=layout, arrays=arrays, phases=(Phase("sums", tuple(launches)),))
