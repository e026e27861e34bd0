"""Where a box lies on Earth, for files whose values are on longitude and latitude or on a projection
of their own.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PrivateAttr

from craton.tables.fields import Table, Text, wrong

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
    if place is None or not hasattr(place, "azimuth"):
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


def unframed_problems(scenario):
    """Problems of files with a reference system of coordinates in a box that has no place on Earth.

    Parameters
    ----------
    scenario : scenario with a domain and a model

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    if frame_of(scenario.domain) is not None:
        return
    ground = getattr(scenario.model, "topography", None)
    for key, table in (("model", scenario.model), ("model.topography", ground)):
        if getattr(table, "crs", None) is not None:
            message = "crs needs the place of the box on Earth, which domain.geographic gives"
            yield f"{key}.crs", message, "add geographic = { longitude =, latitude = } to [domain]"
