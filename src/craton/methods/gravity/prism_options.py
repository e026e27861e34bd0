"""The [prisms] tables of a gravity scenario: cells with bodies, layers between surfaces, lists,
files and Earth models.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from craton.tables.fields import (
    Distance,
    FilePath,
    Length,
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
    tagged,
    triple,
    union,
    whole,
    word_or,
)
from craton.tables.ground import NO_FILE_NAME
from craton.tables.medium import BoxShape, Model, SphereShape
from craton.text import number

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
