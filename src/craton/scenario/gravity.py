"""The nouns of a gravity scenario: fields, ensembles of prisms, points; a class per table, SI floats after validation."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationError, model_validator

from craton.conventions import GRAVITY
from craton.errors import ScenarioError
from craton.scenario.fields import (
    FilePath,
    Flag,
    Length,
    SpatialPosition,
    Table,
    choice,
    key,
    many,
    quantity,
    several,
    tagged,
    whole,
    wrong,
)  # fmt: skip
from craton.scenario.prisms import Prisms, SurfaceFile
from craton.scenario.receivers import Axis
from craton.scenario.schema import Device, Method, Precision, Title
from craton.text import number, shown

FIELDS = tuple(GRAVITY)


def _all_fields(value):
    return list(FIELDS) if value == "all" else [value] if value in FIELDS else value


def _distinct(fields):
    twice = [i for i, f in enumerate(fields) if f in fields[:i]]
    if twice or not fields:
        raise wrong(
            *[(f"{i}", f"{shown(fields[i])} is listed twice", "leave one of them out") for i in twice]
            or [("", "the list of fields is empty", 'write fields = ["g_z"], or "all"')]
        )
    return fields


class Gravity(Table):
    """Options of a gravity computation: ``fields`` (names, or "all"), ``method``, ``rtol`` (error that approximate methods may make)."""

    fields: Annotated[
        many(choice(*FIELDS, meant={"gz": "g_z", "g_u": "g_z", "V": "potential"})), AfterValidator(_distinct), BeforeValidator(_all_fields)
    ] = ("g_z",)
    method: choice("auto", "direct", "vertex", "fft", "far", meant={"multipole": "far", "octree": "far", "nodes": "vertex"}) = "auto"
    rtol: quantity("ratio", least=1e-14, most=0.1) | None = None
    check_overlap: Flag = False


class GridPoints(Table):
    """Points on a horizontal grid: x and y are [first, last, count] (m), at ``z`` (m, up)."""

    kind: Literal["grid"] = "grid"
    x: Axis = key("[0, 22_000, 150]  # m, first, last, count")
    y: Axis = key("[0, 22_000, 100]  # m, first, last, count")
    z: Length = key("100  # m, up")


class DrapePoints(Table):
    """Points at a ``height`` (m) over a ``surface``: on a grid x, y = [first, last, count], by default the surface's own points."""

    kind: Literal["drape"] = "drape"
    surface: SurfaceFile = key('{ file = "dem.nc" }')
    height: Length = key("2  # m over the surface")
    x: Axis | None = None
    y: Axis | None = None

    @model_validator(mode="after")
    def _both(self):
        if (self.x is None) != (self.y is None):
            raise wrong(
                (
                    "x" if self.x is None else "y",
                    "x and y must be given together",
                    "give both, or leave both out to use the points of the surface",
                )
            )
        return self


class ProfilePoints(Table):
    """Points at equal distances from one position to another, both included."""

    kind: Literal["profile"] = "profile"
    from_: SpatialPosition = key("[0, 0, 100]  # m", alias="from")
    to: SpatialPosition = key("[20_000, 0, 100]  # m")
    count: whole(least=2) = key("201")


class BoreholePoints(Table):
    """Points down a vertical hole at ``x``, ``y`` from the elevation ``top`` to ``bottom`` (m), both included."""

    kind: Literal["borehole"] = "borehole"
    x: Length = key("0  # m")
    y: Length = key("0  # m")
    top: Length = key("0  # m, up")
    bottom: Length = key("-2000  # m, up")
    count: whole(least=2) = key("201")

    @model_validator(mode="after")
    def _downwards(self):
        if not self.bottom < self.top:
            raise wrong(
                ("bottom", f"bottom = {number(self.bottom)} m is not below top = {number(self.top)} m", "elevations are positive upward")
            )
        return self


class ScatteredPoints(Table):
    """Points anywhere: ``at`` = [[x, y, z], ...] (m), or a ``file`` (csv, netCDF, parquet) with columns x, y and z (or depth)."""

    kind: Literal["scattered"] = "scattered"
    at: many(SpatialPosition) | None = None
    file: FilePath | None = None

    @model_validator(mode="after")
    def _one_list(self):
        if (self.at is None) == (self.file is None):
            message = "at and file are mutually exclusive" if self.file else "missing: neither at nor file is given"
            raise wrong(("", message, 'write at = [[x, y, z], ...], or file = "points.csv"'))
        return self


Points = tagged(
    "points", "kind", grid=GridPoints, drape=DrapePoints, profile=ProfilePoints, scattered=ScatteredPoints, borehole=BoreholePoints
)


class GravityRun(Table):
    """How it is computed: precision, device, threads of the CPU (None: all)."""

    precision: Precision = "float64"
    device: Device = "auto"
    threads: whole(least=1) | None = None


def _as_several(value):
    """One table [prisms] is a list of one [[prisms]]."""
    return [value] if isinstance(value, (dict, Table)) else value


def _some(prisms):
    if not prisms:
        raise wrong(("", "the scenario has no prisms", "add a [prisms] table"))
    return prisms


class GravityScenario(Table):
    """A gravity computation: method = "gravity" in TOML.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    title: Title = ""
    method: Method = key('"gravity"')
    gravity: Gravity = Gravity()
    prisms: Annotated[several("prisms", Prisms), AfterValidator(_some), BeforeValidator(_as_several)] = key(
        "[prisms] with kind and the keys of that kind"
    )
    points: Points = key("[points] with kind and the keys of that kind")
    run: GravityRun = GravityRun()

    def __init__(self, /, **values):
        try:
            super().__init__(**{"method": "gravity"} | values)
        except ValidationError:
            from craton.scenario.problems import diagnose

            raise ScenarioError(diagnose({"method": "gravity"} | values)[1]) from None

    @property
    def warnings(self):
        """Suspicious magnitudes, one sentence each with the unit that was probably meant: list of str."""
        from craton.scenario.suspicions import gravity

        return gravity(self)
