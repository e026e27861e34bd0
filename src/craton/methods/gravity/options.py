"""The nouns of a gravity scenario: ensembles of prisms (cells with bodies, layers between surfaces, lists, files and Earth
models), fields, points; a class per table, SI floats after validation.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from craton.io import netcdf
from craton.methods.gravity.fields import FIELDS
from craton.tables import document
from craton.tables.fields import (
    Distance,
    FilePath,
    Flag,
    Length,
    SpatialPosition,
    Table,
    Text,
    Xyz,
    as_list,
    both_or_none,
    choice,
    exactly_one,
    key,
    many,
    quantity,
    repeated,
    tagged,
    triple,
    union,
    whole,
    word_or,
    wrong,
)
from craton.tables.ground import NO_FILE_NAME
from craton.tables.medium import BoxShape, Model, SphereShape
from craton.tables.problems import diagnose
from craton.tables.receivers import Axis, too_many
from craton.tables.schema import PATIENCE, BoxOfModel, Device, Document, Patience, Precision, Threads, not_empty
from craton.text import number

MOST_POINTS = 1 << 28  # of a grid
Contrast = quantity("density")
_SHAPE = ("nx", "ny", "nz")


NotNegative = quantity("density", least=0)


class DensitySphere(SphereShape):
    """A ball about ``center`` (x, y, z) m: cells whose centres lie in it get its ``density``
    (kg/m3, a contrast as a rule).
    """

    density: Contrast = key("300  # kg/m3, a contrast: of either sign")


class DensityBox(BoxShape):
    """A box between two corners (x, y, z) m: cells whose centres lie in it get its ``density``
    (kg/m3).
    """

    density: Contrast = key("300  # kg/m3, a contrast: of either sign")


Body = tagged("body", "shape", sphere=DensitySphere, box=DensityBox)
Counts = triple(whole(least=1), _SHAPE, "cells")


def _three_widths(value):
    return value if isinstance(as_list(value), list) else [value] * 3


Widths = Annotated[triple(Distance, ("dx", "dy", "dz"), "m"), BeforeValidator(_three_widths)]


class _Divided(Table):
    """A box divided into equal cells: ``shape`` = [nx, ny, nz], or ``spacing`` (m, one number or
    three).
    """

    shape: Counts | None = None
    spacing: Widths | None = None

    def _problems(self):
        if self.shape is not None and self.spacing is not None:
            remedy = "give either the number of cells (shape) or their size (spacing)"
            yield "spacing", "shape and spacing are mutually exclusive", remedy


class GridPrisms(_Divided):
    """Equal cells in a box: ``origin`` (lower south-west corner), ``size`` (m), with a ``density``
    everywhere and ``bodies`` in it.
    """

    kind: Literal["grid"] = "grid"
    origin: Xyz = key("[0, 0, -8000]  # m, lower south-west corner (x, y, z)")
    size: triple(Distance, "xyz", "m") = key("[22_000, 22_000, 8000]  # m")
    density: Contrast = 0.0
    bodies: many(Body) = ()

    def _problems(self):
        yield from super()._problems()
        if not (self.shape or self.spacing):
            remedy = "write shape = [100, 100, 50]  # cells along x, y, z"
            yield "shape", "missing: neither shape nor spacing is given", remedy
        yield from _no_mass(self)


def _no_mass(table):
    if not table.density and not any(body.density for body in table.bodies):
        remedy = 'give density (kg/m3), or bodies = [ { shape = "sphere", center =, radius =, density = } ]'
        yield "density", "all cells have zero density", remedy


class RectilinearPrisms(Table):
    """Cells between planes at ``x``, ``y``, ``z`` (lists of edges, m, rising), with a ``density``
    everywhere and ``bodies`` in it.
    """

    kind: Literal["rectilinear"] = "rectilinear"
    x: many(Length) = key("[0, 500, 1500, 4000]  # m, edges")
    y: many(Length) = key("[0, 500, 1500, 4000]  # m, edges")
    z: many(Length) = key("[-4000, -1500, -500, 0]  # m, edges, from the bottom up")
    density: Contrast = 0.0
    bodies: many(Body) = ()

    def _problems(self):
        yield from _no_mass(self)
        for axis in "xyz":
            edges = getattr(self, axis)
            if len(edges) < 2:
                message = f"cells need at least two edges, {len(edges)} given"
                yield axis, message, "give at least two edges, m"
            falls = [i for i in range(1, len(edges)) if not edges[i] > edges[i - 1]]
            for i in falls[:1]:
                message = f"edge {number(edges[i])} m is not above the previous edge, {number(edges[i - 1])} m"
                yield f"{axis}.{i}", message, "list edges in increasing order"


class SurfaceFile(Table):
    """A ``file`` over x and y (netCDF, zarr, .asc, GeoTIFF) with elevations (m) or densities
    (kg/m3); ``variable`` where it holds several.
    """

    file: FilePath = key('"dem.nc"')
    variable: Text | None = None


def _file_or(name, quantity):
    kinds = union(lambda value: "SurfaceFile" if isinstance(value, dict) else name, SurfaceFile, **{name: quantity})
    return Annotated[kinds, NO_FILE_NAME]


Surface, ColumnDensity = _file_or("level", Length), _file_or("contrast", Contrast)


class LayerPrisms(Table):
    """Prisms between two surfaces, an elevation (m) or ``{ file = }`` each; ``density`` is a number or
    ``{ file = }`` with one for each column, ``density_below`` holds where the top lies below the
    bottom.
    """

    kind: Literal["layer"] = "layer"
    top: Surface = key('{ file = "dem.nc" }  # or an elevation, m')
    bottom: Surface = key('0  # m, or { file = "moho.nc" }')
    density: ColumnDensity = key('2670  # kg/m3, or { file = "layer.nc", variable = "density" }')
    density_below: Contrast | None = None
    missing: choice("refuse", "drop") = "refuse"

    def _problems(self):
        if isinstance(self.top, float) and isinstance(self.bottom, float):
            remedy = 'give one surface as { file = "dem.nc" }; for a slab use kind = "grid"'
            yield "top", "top and bottom are both constant", remedy


class TablePrisms(Table):
    """Prisms one by one: a ``file`` (csv, netCDF, parquet) with west east south north bottom top
    density, or ``rows`` of these seven.
    """

    kind: Literal["table"] = "table"
    file: FilePath | None = None
    rows: many(many(Length)) | None = None
    density: Contrast | None = None

    def _problems(self):
        columns = "west, east, south, north, bottom, top"
        remedy = f'write file = "prisms.csv", or rows = [[{columns}, density]]'
        yield from exactly_one(self, ("file", "rows"), remedy)
        count, remedy = 7, f"write [{columns}, density]"
        if self.density is not None:
            count, remedy = 6, f"write [{columns}], since density is given for all prisms"
        bad = [i for i, row in enumerate(self.rows or ()) if len(row) != count]
        for i in bad[:3]:
            yield f"rows.{i}", f"prism {i} has {len(self.rows[i])} numbers, not {count}", remedy


class FilePrisms(Table):
    """Cells centred on the points of a ``file`` (netCDF, zarr) with density over x, y, z, less a
    ``reference`` (kg/m3, or "mean").
    """

    kind: Literal["file"] = "file"
    file: FilePath = key('"density.nc"')
    reference: word_or(("mean",), NotNegative) = 0.0


class ModelPrisms(_Divided):
    """The density of an Earth model: ``model`` (as in a wave scenario) or such a scenario's
    ``file``, less a ``reference``.

    The reference is in kg/m3, or "background": the model without its anomalies, or "mean": the mean
    of each layer of cells.
    """

    kind: Literal["model"] = "model"
    model: Model | None = None
    file: FilePath | None = None
    origin: Xyz | None = None
    size: triple(Distance, "xyz", "m") | None = None
    reference: word_or(("background", "mean"), NotNegative) = 0.0

    def _problems(self):
        yield from super()._problems()
        remedy = 'write file = "waves.toml" (a scenario of waves), or a [prisms.model] table'
        yield from exactly_one(self, ("model", "file"), remedy)
        yield from both_or_none(self, ("origin", "size"), "the domain of the scenario")
        if self.model is not None and self.origin is None and self.size is None:
            remedy = "write origin = [x, y, z] (lower south-west corner) and size = [.., .., ..], m"
            yield "origin", "missing: the extent of the prisms", remedy

    @property
    def opened(self):
        """The model, or what `opened` returns of the file."""
        return opened(self.file) if self.model is None else self.model


def opened(path):
    """Return the Earth model of a file: model and domain of a scenario of waves (.toml), or a dataset."""
    if not Path(path).exists():
        raise ValueError(f"there is no file {path}")
    if Path(path).suffix == ".toml":
        return document.checked(document.read(path, lambda values: diagnose(values, BoxOfModel)))
    with netcdf.opened(Path(path)) as dataset:
        return dataset.load()


Prisms = tagged(
    "prisms",
    "kind",
    grid=GridPrisms,
    rectilinear=RectilinearPrisms,
    layer=LayerPrisms,
    table=TablePrisms,
    file=FilePrisms,
    model=ModelPrisms,
)


# --- fields, points, the scenario ---------------------------------------------------------------------------------------


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
