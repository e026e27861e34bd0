"""Operators on point tables: inject sources, sample receivers, advance the step counter on the
machine.
"""

from craton.core.operator import KERNELS, Operator, Struct

FILE = KERNELS / "points.h"
PARAMS = Struct("PointParams", (("columns", "i32"), ("slots", "i32")))
TYPES = (
    ("target", "i64"),
    ("source", "i64"),
    ("first", "i32"),
    ("column", "i32"),
    ("begin", "i32"),
    ("at", "i64"),
    ("step", "i32"),
)

TABLE = ("target", "first", "column", "weight", "series", "step")

INJECT = Operator("inject", FILE, ("state",), TABLE, PARAMS, types=(*TYPES, ("state", "force")), pointwise=False)
SAMPLE = Operator(
    "sample",
    FILE,
    ("ring",),
    ("state", "source", "first", "weight", "step"),
    PARAMS,
    types=(*TYPES, ("state", "field")),
    pointwise=False,
)
WINDOW = Operator("window", FILE, ("now",), ("begin", "at", "series", "step"), PARAMS, types=TYPES, pointwise=False)
HOLD = Operator("hold", FILE, ("now",), ("begin", "at", "series", "step"), PARAMS, types=TYPES, pointwise=False)
ADVANCE = Operator("advance", FILE, ("step",), (), PARAMS, types=TYPES, pointwise=False)
