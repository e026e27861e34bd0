"""The ground in a scenario's model: topography and bathymetry from a file, an array or a number, and the water above
them; and where the box lies on Earth, for files on longitude and latitude or on a projection of their own.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, PrivateAttr, ValidationError

from craton.tables.fields import FilePath, Length, Table, Text, key, many, must, quantity, union, wrong

WIDER = 0.1  # of the size: what a grid may reach beyond it, where its spacing is not known yet


@dataclass(frozen=True)
class Frame:
    """Axes of a box on Earth.

    Parameters
    ----------
    longitude, latitude : float
        Of x = y = 0, degrees, WGS84.
    azimuth : float
        Of +y, degrees clockwise from north.
    x, y : (float, float) or None
        Limits of the box, m; None where a mesh file has them.
    margin : float
        What a grid may reach beyond these limits, m.
    """

    longitude: float
    latitude: float
    azimuth: float
    x: tuple | None = None
    y: tuple | None = None
    margin: float = 0.0


def frame_of(domain):
    """Return the `Frame` of a domain; None where it does not say where it lies.

    Parameters
    ----------
    domain : domain of a scenario
    """
    place = getattr(domain, "geographic", None)
    if place is None:
        return None
    place = place.longitude, place.latitude, place.azimuth
    if domain.size is None:
        return Frame(*place)
    x, y = ((low, low + length) for low, length in zip(domain.corner[:2], domain.extent[:2]))
    return Frame(*place, x, y, domain.resolution or WIDER * max(domain.extent))


def _reference_system(value):
    """Return a text that PROJ understands as a reference system of coordinates."""
    import pyproj

    try:
        pyproj.CRS.from_user_input(value)
    except pyproj.exceptions.CRSError as error:
        reason = str(error).partition(":")[0]
        message = f"{value!r} is not a coordinate reference system: {reason}"
        raise wrong(("", message, 'write crs = "EPSG:32633", or what PROJ understands')) from None
    return value


class EarthFile(Table):
    """A file that may be on longitude and latitude, or on the x and y of the reference system
    ``crs`` ("EPSG:32633"), which it may also state itself.
    """

    crs: Annotated[Text, BeforeValidator(_reference_system)] | None = None
    _frame: Any = PrivateAttr(None)

    @property
    def frame(self):
        """`Frame` of the box that its values are for; None: the file is in the axes of the box."""
        return self._frame

    def framed(self, frame):
        """Return the table for a box.

        Parameters
        ----------
        frame : Frame or None
        """
        framed = self.model_copy()
        framed._frame = frame
        return framed


_NAMES = {"x": ("x", "easting", "east"), "y": ("y", "northing", "north")}
_METRES = ("", "m", "metre", "meter", "metres", "meters")
PLACES = 500  # per axis at which a function is asked
_FILES = (".nc", ".grd", ".zarr", ".tif", ".tiff", ".asc", ".csv", ".txt", ".parquet")
NO_FILE_NAME = must(
    lambda value: not (isinstance(value, str) and value.lower().endswith(_FILES)),
    "{value} is a string",
    "write { file = {value} }",
)


class GroundFile(EarthFile):
    """Elevations from a ``file`` (netCDF, zarr, .asc, GeoTIFF), m, up, over x and y, or in a box
    with a place on Earth over longitude and latitude; ``variable`` where it holds several.
    """

    file: FilePath = key('"dem.nc"')
    variable: Text | None = None


class GroundTable(Table):
    """Elevations ``z`` (m, up) at ``x`` (a profile, constant beyond its ends) or at ``x`` and
    ``y``, rows of z along x; linear between.
    """

    x: many(Length) = key("[0, 1000, 2000]  # m")
    y: many(Length) | None = None
    z: many(Length) | many(many(Length)) = key("[0, 120, 40]  # m")

    def _problems(self):
        rows = (self.z,) if self.y is None else self.z
        fits = all(np.ndim(row) == 1 and len(row) == len(self.x) for row in rows)
        if not fits or (self.y is not None and len(rows) != len(self.y)):
            counts = " x ".join(str(len(axis)) for axis in (self.x, self.y) if axis is not None)
            yield "z", f"z needs one elevation for each of the {counts} points", "each row of z runs along x"
        for name, axis in (("x", self.x), ("y", self.y)):
            if axis is not None and (len(axis) < 2 or not (np.diff(axis) > 0).all()):
                yield name, f"{name} needs at least 2 values in increasing order", "sort the points"


def _ground(value):
    """Arrays of xarray as tables, texts that name a file with a hint."""
    if callable(value) and not hasattr(value, "dims"):
        remedy = "pass it to Scenario(model={..., 'topography': f}, domain=...)"
        raise wrong(("", "a function can be sampled only on a domain", remedy))
    return _tabled(value) if hasattr(value, "dims") else value


def sampled(values, kind):
    """Tables of a scenario with a topography that is a function f(x, y), or f(x) in the plane,
    replaced by its table.

    The function gets arrays of coordinates, m, and gives elevations, m. It is asked at the grid's
    points, where the domain (of the class `kind`) says `max_frequency` at `PLACES` places along
    each axis.

    Parameters
    ----------
    values : dict
        Tables before validation.
    kind : type
        Class of the domain.
    """
    model = values.get("model") if isinstance(values, dict) else None
    topography = model.get("topography") if isinstance(model, dict) else None
    if not callable(topography) or hasattr(topography, "dims"):
        return values
    try:
        domain = kind.model_validate(values.get("domain"))
    except ValidationError:  # has a report of its own
        return values
    if domain.size is None:
        return values
    corner, extent = domain.corner, domain.extent
    spacing = domain.resolution and domain.resolution / domain.RELIEF_SAMPLES
    counts = domain.points(spacing) if spacing else (PLACES,) * 3
    steps = (spacing or e / (n - 1) for e, n in zip(extent, counts))
    x, y = (corner[a] + step * np.arange(counts[a]) for a, step in zip(range(2), steps))
    table = {"x": x.tolist()} if domain.planar else {"x": x.tolist(), "y": y.tolist()}
    z = np.asarray(topography(x) if domain.planar else topography(x, y[:, None]), float)
    table["z"] = np.broadcast_to(z, x.shape if domain.planar else (*y.shape, *x.shape)).tolist()
    return values | {"model": model | {"topography": table}}


def _tabled(array):
    """Return the table of an xarray.DataArray over x, or over x and y, in metres."""
    array = array.squeeze(drop=True)
    names = {str(dim).lower(): dim for dim in array.dims}
    dims = {axis: names[n] for axis, known in _NAMES.items() for n in known if n in names}
    variables = (array, *(array[dim] for dim in dims.values()))
    metres = all(str(v.attrs.get("units", "m")).lower() in _METRES for v in variables)
    if len(dims) != array.ndim or "x" not in dims or not metres:
        axes = ", ".join(map(str, array.dims)) or "nothing"
        message = f"an array over {axes}{'' if metres else ', not in metres'} cannot be used as topography"
        raise wrong(("", message, "give an xarray.DataArray over x, or over x and y, all in m"))
    order = [dims[axis] for axis in "yx" if axis in dims]
    array = array.sortby(order).transpose(*order)
    axes = {axis: array[dim].values.tolist() for axis, dim in dims.items()}
    return axes | {"z": array.values.tolist()}


def _kind(value):
    if not isinstance(value, dict):
        return "level"
    return "GroundTable" if "z" in value else "GroundFile"


Ground = Annotated[union(_kind, GroundFile, GroundTable, level=Length), BeforeValidator(_ground), NO_FILE_NAME]


class Water(Table):
    """Water from the ground up to ``level`` (m), where the ground lies below it: ``vp`` (m/s),
    ``rho`` (kg/m3).
    """

    level: Length = 0.0
    vp: quantity("velocity", above=0) = 1500.0
    rho: quantity("density", above=0) = 1000.0


class Grounded(Table):
    """Optional surface of all models: the ``topography`` (elevation, m; vacuum above it) and
    ``water`` above it.
    """

    topography: Ground | None = None
    water: Water | None = None

    def _problems(self):
        yield from super()._problems()
        if self.water is not None and self.topography is None:
            yield "water", "water needs topography as its floor", "give topography, an elevation in m or { file = }"


def framed_model(model, domain):
    """Return a model whose files, its own and that of its topography, know the box that they are
    for.

    Parameters
    ----------
    model : table of `craton.tables.medium`
    domain : domain of a scenario
    """
    frame = frame_of(domain)
    if frame is None:
        return model
    ground = getattr(model, "topography", None)
    if isinstance(ground, EarthFile):
        model = model.model_copy(update={"topography": ground.framed(frame)})
    return model.framed(frame) if isinstance(model, EarthFile) else model
