"""The [prisms] tables of a gravity scenario: cells with bodies, layers between surfaces, lists, files and Earth models."""

from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Discriminator, Tag, TypeAdapter, model_validator

from craton.scenario.fields import (
    Distance,
    FilePath,
    Length,
    Table,
    Text,
    Xyz,
    as_list,
    choice,
    key,
    many,
    quantity,
    tagged,
    triple,
    whole,
    wrong,
)  # fmt: skip
from craton.scenario.medium import Model
from craton.text import listed, number, shown

Contrast = quantity("density")
_FILES = (".nc", ".grd", ".zarr", ".tif", ".tiff", ".asc", ".csv", ".txt", ".parquet")
_SHAPE = ("nx", "ny", "nz")


def less(*names):
    """The type of a density to subtract: a number (kg/m3) or one of a few words."""
    known = choice(*names).__metadata__[0].func

    def validate(value):
        if isinstance(value, str) and not value.strip()[:1].isdigit():
            return known(value)
        return TypeAdapter(quantity("density", least=0)).validate_python(value)

    return Annotated[Any, BeforeValidator(validate)]


class DensitySphere(Table):
    """A ball about ``center`` (x, y, z) m: cells whose centres lie in it get its ``density`` (kg/m3, a contrast as a rule)."""

    shape: Literal["sphere"] = "sphere"
    center: Xyz = key("[5000, 5000, -2000]  # m")
    radius: Distance = key("1000  # m")
    density: Contrast = key("300  # kg/m3, a contrast: of either sign")


class DensityBox(Table):
    """A box between two corners (x, y, z) m: cells whose centres lie in it get its ``density`` (kg/m3)."""

    shape: Literal["box"] = "box"
    min: Xyz = key("[4000, 4000, -3000]  # m")
    max: Xyz = key("[6000, 6000, -1000]  # m")
    density: Contrast = key("300  # kg/m3, a contrast: of either sign")

    @model_validator(mode="after")
    def _has_volume(self):
        thin = [a for a, low, high in zip("xyz", self.min, self.max) if not low < high]
        if thin:
            raise wrong(
                (
                    "max",
                    f"the box has zero or negative extent along {listed(thin, 'and')}",
                    "min is the lower south-west corner, max is the upper north-east corner",
                )
            )
        return self


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
            raise wrong(
                ("spacing", "shape and spacing are mutually exclusive", "give either the number of cells (shape) or their size (spacing)")
            )
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
        items = (
            []
            if self.shape or self.spacing
            else [("shape", "missing: neither shape nor spacing is given", "write shape = [100, 100, 50]  # cells along x, y, z")]
        )
        items += _no_mass(self)
        if items:
            raise wrong(*items)
        return self


def _no_mass(table):
    if table.density or any(body.density for body in table.bodies):
        return []
    return [
        (
            "density",
            "all cells have zero density",
            'give density (kg/m3), or bodies = [ { shape = "sphere", center =, radius =, density = } ]',
        )
    ]


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
                items.append((axis, f"cells need at least two edges, {len(edges)} given", "give at least two edges, m"))
            items += [
                (
                    f"{axis}.{i}",
                    f"edge {number(edges[i])} m is not above the previous edge, {number(edges[i - 1])} m",
                    "list edges in increasing order",
                )
                for i in range(1, len(edges))
                if not edges[i] > edges[i - 1]
            ][:1]
        if items:
            raise wrong(*items)
        return self


class SurfaceFile(Table):
    """A surface from a ``file`` over x and y (netCDF, zarr, .asc, GeoTIFF), elevations in m; ``variable`` where it holds several."""

    file: FilePath = key('"dem.nc"')
    variable: Text | None = None


def _surface(value):
    if isinstance(value, str) and value.lower().endswith(_FILES):
        raise wrong(("", f"{shown(value)} is a string", f"write {{ file = {shown(value)} }}"))
    return value


def _which(value):
    return "~SurfaceFile" if isinstance(value, (dict, SurfaceFile)) else "~level"


Surface = Annotated[
    Union[Annotated[SurfaceFile, Tag("~SurfaceFile")], Annotated[Length, Tag("~level")]],  # noqa: UP007 (tags)
    Discriminator(_which), BeforeValidator(_surface),
]  # fmt: skip


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
            raise wrong(
                ("top", "top and bottom are both constant", 'give one surface as { file = "dem.nc" }; for a slab use kind = "grid"')
            )
        return self


class TablePrisms(Table):
    """Prisms one by one: a ``file`` (csv, netCDF, parquet) with west east south north bottom top density, or ``rows`` of these seven."""

    kind: Literal["table"] = "table"
    file: FilePath | None = None
    rows: many(many(Length)) | None = None
    density: Contrast | None = None

    @model_validator(mode="after")
    def _one_list(self):
        if (self.file is None) == (self.rows is None):
            message = "file and rows are mutually exclusive" if self.file else "missing: neither file nor rows is given"
            raise wrong(("", message, 'write file = "prisms.csv", or rows = [[west, east, south, north, bottom, top, density]]'))
        length = 7 if self.density is None else 6
        bad = [i for i, row in enumerate(self.rows or ()) if len(row) != length]
        if bad:
            remedy = "write [west, east, south, north, bottom, top" + (
                ", density]" if length == 7 else "], since density is given for all prisms"
            )
            raise wrong(*[(f"rows.{i}", f"prism {i} has {len(self.rows[i])} numbers, not {length}", remedy) for i in bad[:3]])
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
        items = []
        if (self.model is None) == (self.file is None):
            message = "model and file are mutually exclusive" if self.file else "missing: neither model nor file is given"
            items.append(("", message, 'write file = "waves.toml" (a scenario of waves), or a [prisms.model] table'))
        if (self.origin is None) != (self.size is None):
            items.append(
                (
                    "size" if self.size is None else "origin",
                    "origin and size must be given together",
                    "give both, or leave both out to use the domain of the scenario",
                )
            )
        elif self.model is not None and self.origin is None:
            items.append(
                (
                    "origin",
                    "missing: the extent of the prisms",
                    "write origin = [x, y, z] (lower south-west corner) and size = [.., .., ..], m",
                )
            )
        if items:
            raise wrong(*items)
        return self


Prisms = tagged("prisms", "kind", grid=GridPrisms, rectilinear=RectilinearPrisms, layer=LayerPrisms, table=TablePrisms, file=FilePrisms,
                model=ModelPrisms)  # fmt: skip
