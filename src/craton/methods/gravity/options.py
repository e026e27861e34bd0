"""The nouns of a gravity scenario: fields, ensembles of prisms, points; a class per table, SI
floats after validation.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from craton.methods.gravity.fields import FIELDS
from craton.methods.gravity.prism_options import Prisms, SurfaceFile
from craton.tables.fields import (
    FilePath,
    Flag,
    Length,
    SpatialPosition,
    Table,
    both_or_none,
    choice,
    exactly_one,
    key,
    many,
    quantity,
    repeated,
    tagged,
    whole,
    wrong,
)
from craton.tables.receivers import Axis, too_many
from craton.tables.schema import PATIENCE, Device, Document, Patience, Precision, Threads, not_empty
from craton.text import number

MOST_POINTS = 1 << 28  # of a grid


def _all_fields(value):
    return list(FIELDS) if value == "all" else [value] if value in FIELDS else value


def _distinct(fields):
    remedy = 'write fields = ["g_z"], or "all"'
    items = repeated(fields, "{}", "leave one of them out")
    items += [] if fields else [("", "the list of fields is empty", remedy)]
    if items:
        raise wrong(*items)
    return fields


class Gravity(Table):
    """Options of a gravity computation: ``fields`` (names, or "all"), ``method``, ``rtol`` (error
    that approximate methods may make).
    """

    fields: Annotated[
        many(choice(*FIELDS, meant={"gz": "g_z", "g_u": "g_z", "V": "potential"})),
        AfterValidator(_distinct),
        BeforeValidator(_all_fields),
    ] = ("g_z",)
    method: choice(
        "auto", "direct", "vertex", "fft", "far", meant={"multipole": "far", "octree": "far", "nodes": "vertex"}
    ) = "auto"
    rtol: quantity("ratio", least=1e-14, most=0.1) | None = None
    check_overlap: Flag = False


class GridPoints(Table):
    """Points on a horizontal grid: x and y are [first, last, count] (m), at ``z`` (m, up)."""

    kind: Literal["grid"] = "grid"
    x: Axis = key("[0, 22_000, 150]  # m, first, last, count")
    y: Axis = key("[0, 22_000, 100]  # m, first, last, count")
    z: Length = key("100  # m, up")

    def _problems(self):
        return too_many(("x", "y"), self.x, self.y, MOST_POINTS)


class DrapePoints(Table):
    """Points at a ``height`` (m) over a ``surface``: on a grid x, y = [first, last, count], by
    default the surface's own points.
    """

    kind: Literal["drape"] = "drape"
    surface: SurfaceFile = key('{ file = "dem.nc" }')
    height: Length = key("2  # m over the surface")
    x: Axis | None = None
    y: Axis | None = None

    def _problems(self):
        yield from both_or_none(self, ("x", "y"), "the points of the surface")
        yield from too_many(("x", "y"), self.x, self.y, MOST_POINTS)


class ProfilePoints(Table):
    """Points at equal distances from one position to another, both included."""

    kind: Literal["profile"] = "profile"
    from_: SpatialPosition = key("[0, 0, 100]  # m", alias="from")
    to: SpatialPosition = key("[20_000, 0, 100]  # m")
    count: whole(least=2) = key("201")


class BoreholePoints(Table):
    """Points down a vertical hole at ``x``, ``y`` from the elevation ``top`` to ``bottom`` (m),
    both included.
    """

    kind: Literal["borehole"] = "borehole"
    x: Length = key("0  # m")
    y: Length = key("0  # m")
    top: Length = key("0  # m, up")
    bottom: Length = key("-2000  # m, up")
    count: whole(least=2) = key("201")

    def _problems(self):
        if not self.bottom < self.top:
            message = f"bottom = {number(self.bottom)} m is not below top = {number(self.top)} m"
            yield "bottom", message, "elevations are positive upward"


class ScatteredPoints(Table):
    """Points anywhere: ``at`` = [[x, y, z], ...] (m), or a ``file`` (csv, netCDF, parquet) with
    columns x, y and z (or depth).
    """

    kind: Literal["scattered"] = "scattered"
    at: many(SpatialPosition) | None = None
    file: FilePath | None = None

    def _problems(self):
        return exactly_one(self, ("at", "file"), 'write at = [[x, y, z], ...], or file = "points.csv"')


Points = tagged(
    "points",
    "kind",
    grid=GridPoints,
    drape=DrapePoints,
    profile=ProfilePoints,
    scattered=ScatteredPoints,
    borehole=BoreholePoints,
)


class GravityRun(Table):
    """How it is computed: precision, device, threads of the CPU (None: all), ``patience``: time (s)
    after which a rank that stands still ends the run.
    """

    precision: Precision = "float64"
    device: Device = "auto"
    threads: Threads | None = None
    patience: Patience = PATIENCE


def _as_several(value):
    """One table [prisms] is a list of one [[prisms]]."""
    return [value] if isinstance(value, (dict, Table)) else value


class GravityScenario(Document):
    """A gravity computation: method = "gravity" in TOML.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    method: choice("gravity") = "gravity"
    gravity: Gravity = Gravity()
    prisms: Annotated[
        many(Prisms, "prisms"), not_empty("prisms", "add a [prisms] table"), BeforeValidator(_as_several)
    ] = key("[prisms] with kind and the keys of that kind")
    points: Points = key("[points] with kind and the keys of that kind")
    run: GravityRun = GravityRun()

    @property
    def warnings(self):
        """Suspicious densities and notes on keys of other methods, one sentence each: list of str."""
        return [
            *super().warnings,
            *(text for i, table in enumerate(self.prisms) for text in _light(f"prisms.{i}", table)),
        ]


def _light(key, table):
    """Densities that look like g/cm3."""
    named = [(f"{key}.{name}", getattr(table, name, None)) for name in ("density", "density_below")]
    named += [(f"{key}.bodies.{i}.density", body.density) for i, body in enumerate(getattr(table, "bodies", ()))]
    for name, rho in named:
        if isinstance(rho, float) and 0 < abs(rho) < 5:
            yield f"{name}: {number(rho)} kg/m3 is very small; did you mean {number(rho)} g/cm3 = {number(rho * 1e3)}?"
