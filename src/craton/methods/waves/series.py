"""Weighted sums of stored series: the operator, and the plan that applies it to many columns."""

import numpy as np

from craton.core.layout import Layout
from craton.core.operator import KERNELS, Operator, Struct
from craton.core.plan import Array, Launch, Phase, StepPlan

FILE = KERNELS / "series.h"
PARAMS = Struct("SeriesParams", tuple((name, "i32") for name in ("columns", "column", "samples")))
ROWS_OF_SUM = 3072  # rows that a sum has about, for the traffic of the declaration


def operator(stored):
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


def operators():
    """Return the operator of each storage: list of Operator."""
    return [operator("float32"), operator("int16")]


def plan(columns, places, samples, stored, sums, rows):
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
    op, half = operator(stored), stored == "int16"
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
