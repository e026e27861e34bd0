"""The [prisms] tables of a gravity scenario: cells with bodies, layers between surfaces, lists, files and Earth models."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, TypeAdapter, model_validator

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
    one_of,
    quantity,
    refuse,
    tagged,
    triple,
    union,
    whole,
    wrong,
)
from craton.tables.medium import BoxShape, Model, SphereShape
from craton.text import number, shown

Contrast = quantity("density")
_FILES = (".nc", ".grd", ".zarr", ".tif", ".tiff", ".asc", ".csv", ".txt", ".parquet")
_SHAPE = ("nx", "ny", "nz")


def less(*names):
    """The type of a density to subtract: a number (kg/m3) or one of a few words."""
    known = one_of(names)

    def validate(value):
        if isinstance(value, str) and not value.strip()[:1].isdigit():
            return known(value)
        return TypeAdapter(quantity("density", least=0)).validate_python(value)

    return Annotated[Any, BeforeValidator(validate)]


class DensitySphere(SphereShape):
    """A ball about ``center`` (x, y, z) m: cells whose centres lie in it get its ``density`` (kg/m3, a contrast as a rule)."""

    density: Contrast = key("300  # kg/m3, a contrast: of either sign")


class DensityBox(BoxShape):
    """A box between two corners (x, y, z) m: cells whose centres lie in it get its ``density`` (kg/m3)."""

    density: Contrast = key("300  # kg/m3, a contrast: of either sign")


Body = tagged("body", "shape", sphere=DensitySphere, box=DensityBox)
Counts = triple(whole(least=1), _SHAPE, "cells")


def _three_widths(value):
    return value if isinstance(as_list(value), list) else [value] * 3


Widths = Annotated[triple(Distance, ("dx", "dy", "dz"), "m"), BeforeValidator(_three_widths)]


class _Divided(Table):
    """A box divided into equal cells: ``shape`` = [nx, ny, nz], or ``spacing`` (m, one number or three)."""

    shape: Counts | None = None
    spacing: Widths | None = None

    @model_validator(mode="after")
    def _one_division(self):
        if self.shape is not None and self.spacing is not None:
            remedy = "give either the number of cells (shape) or their size (spacing)"
            raise wrong(("spacing", "shape and spacing are mutually exclusive", remedy))
        return self


class GridPrisms(_Divided):
    """Equal cells in a box: ``origin`` (lower south-west corner), ``size`` (m), with a ``density`` everywhere and ``bodies`` in it."""

    kind: Literal["grid"] = "grid"
    origin: Xyz = key("[0, 0, -8000]  # m, lower south-west corner (x, y, z)")
    size: triple(Distance, "xyz", "m") = key("[22_000, 22_000, 8000]  # m")
    density: Contrast = 0.0
    bodies: many(Body) = ()

    @model_validator(mode="after")
    def _something(self):
        remedy = "write shape = [100, 100, 50]  # cells along x, y, z"
        message = "missing: neither shape nor spacing is given"
        refuse([("shape", message, remedy)] * (not (self.shape or self.spacing)) + _no_mass(self))
        return self


def _no_mass(table):
    if table.density or any(body.density for body in table.bodies):
        return []
    remedy = 'give density (kg/m3), or bodies = [ { shape = "sphere", center =, radius =, density = } ]'
    return [("density", "all cells have zero density", remedy)]


class RectilinearPrisms(Table):
    """Cells between planes at ``x``, ``y``, ``z`` (lists of edges, m, rising), with a ``density`` everywhere and ``bodies`` in it."""

    kind: Literal["rectilinear"] = "rectilinear"
    x: many(Length) = key("[0, 500, 1500, 4000]  # m, edges")
    y: many(Length) = key("[0, 500, 1500, 4000]  # m, edges")
    z: many(Length) = key("[-4000, -1500, -500, 0]  # m, edges, from the bottom up")
    density: Contrast = 0.0
    bodies: many(Body) = ()

    @model_validator(mode="after")
    def _rising(self):
        items = _no_mass(self)
        for axis in "xyz":
            edges = getattr(self, axis)
            if len(edges) < 2:
                message = f"cells need at least two edges, {len(edges)} given"
                items.append((axis, message, "give at least two edges, m"))
            falls = [i for i in range(1, len(edges)) if not edges[i] > edges[i - 1]]
            message = "edge {} m is not above the previous edge, {} m"
            items += [
                (f"{axis}.{i}", message.format(number(edges[i]), number(edges[i - 1])), "list edges in increasing order")
                for i in falls[:1]
            ]
        refuse(items)
        return self


class SurfaceFile(Table):
    """A surface from a ``file`` over x and y (netCDF, zarr, .asc, GeoTIFF), elevations in m; ``variable`` where it holds several."""

    file: FilePath = key('"dem.nc"')
    variable: Text | None = None


def _surface(value):
    if isinstance(value, str) and value.lower().endswith(_FILES):
        raise wrong(("", f"{shown(value)} is a string", f"write {{ file = {shown(value)} }}"))
    return value


_KINDS = union(lambda value: "SurfaceFile" if isinstance(value, dict) else "level", SurfaceFile, level=Length)
Surface = Annotated[_KINDS, BeforeValidator(_surface)]


class LayerPrisms(Table):
    """Prisms between two surfaces, an elevation (m) or ``{ file = }`` each; ``density_below`` holds where the top lies below the bottom."""

    kind: Literal["layer"] = "layer"
    top: Surface = key('{ file = "dem.nc" }  # or an elevation, m')
    bottom: Surface = key('0  # m, or { file = "moho.nc" }')
    density: Contrast = key("2670  # kg/m3")
    density_below: Contrast | None = None
    missing: choice("refuse", "drop") = "refuse"

    @model_validator(mode="after")
    def _one_surface(self):
        if isinstance(self.top, float) and isinstance(self.bottom, float):
            remedy = 'give one surface as { file = "dem.nc" }; for a slab use kind = "grid"'
            raise wrong(("top", "top and bottom are both constant", remedy))
        return self


class TablePrisms(Table):
    """Prisms one by one: a ``file`` (csv, netCDF, parquet) with west east south north bottom top density, or ``rows`` of these seven."""

    kind: Literal["table"] = "table"
    file: FilePath | None = None
    rows: many(many(Length)) | None = None
    density: Contrast | None = None

    @model_validator(mode="after")
    def _one_list(self):
        columns = "west, east, south, north, bottom, top"
        refuse(exactly_one(self, ("file", "rows"), f'write file = "prisms.csv", or rows = [[{columns}, density]]'))
        count = 7 if self.density is None else 6
        remedy = f"write [{columns}, density]"
        if self.density is not None:
            remedy = f"write [{columns}], since density is given for all prisms"
        bad = [i for i, row in enumerate(self.rows or ()) if len(row) != count]
        refuse([(f"rows.{i}", f"prism {i} has {len(self.rows[i])} numbers, not {count}", remedy) for i in bad[:3]])
        return self


class FilePrisms(Table):
    """Cells centred on the points of a ``file`` (netCDF, zarr) with density over x, y, z, less a ``reference`` (kg/m3, or "mean")."""

    kind: Literal["file"] = "file"
    file: FilePath = key('"density.nc"')
    reference: less("mean") = 0.0


class ModelPrisms(_Divided):
    """The density of an Earth model: ``model`` (as in a wave scenario) or such a scenario's ``file``, less a ``reference``.

    The reference is in kg/m3, or "background": the model without its anomalies, or "mean": the mean of each layer of cells.
    """

    kind: Literal["model"] = "model"
    model: Model | None = None
    file: FilePath | None = None
    origin: Xyz | None = None
    size: triple(Distance, "xyz", "m") | None = None
    reference: less("background", "mean") = 0.0

    @model_validator(mode="after")
    def _complete(self):
        remedy = 'write file = "waves.toml" (a scenario of waves), or a [prisms.model] table'
        items = exactly_one(self, ("model", "file"), remedy)
        items += both_or_none(self, ("origin", "size"), "the domain of the scenario")
        if not items and self.model is not None and self.origin is None:
            remedy = "write origin = [x, y, z] (lower south-west corner) and size = [.., .., ..], m"
            items.append(("origin", "missing: the extent of the prisms", remedy))
        refuse(items)
        return self


Prisms = tagged("prisms", "kind", grid=GridPrisms, rectilinear=RectilinearPrisms, layer=LayerPrisms, table=TablePrisms, file=FilePrisms,
                model=ModelPrisms)  # fmt: skip
