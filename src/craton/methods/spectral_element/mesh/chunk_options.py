"""A chunk of the Earth, or several, in a scenario of spectral elements: domain.chunk, and what does
not go together with it.
"""

from typing import Annotated

from pydantic import BeforeValidator

from craton.tables.fields import (
    Distance,
    Duration,
    FilePath,
    Flag,
    Latitude,
    Length,
    Longitude,
    Table,
    Text,
    choice,
    exactly_one,
    items_of,
    key,
    many,
    places,
    quantity,
    whole,
    word_or,
)
from craton.tables.foreign import dotted
from craton.tables.medium import RADIAL
from craton.tables.receivers import Fibre, ReceiverGrid
from craton.text import listed, shown

WIDEST = 120  # degrees
WHOLE = 6  # chunks
CENTRE = "centre"
EXAMPLES = {"longitude": "-67.25  # deg, east", "latitude": "-13.82  # deg, north", "width": "[20, 20]  # deg"}
Width = quantity("angle", above=0, most=WIDEST)
# Keys of a domain that is no chunk.
_OTHERS = ("origin", "size", "element_size", "max_frequency", "mesh", "refine", "geographic")


_two = items_of(2, "{value} is not a list of two numbers, along xi and eta", "write [20, 20]")


class Relief(Table):
    """Elevations over longitude and latitude from a ``file`` (netCDF, GeoTIFF), m, averaged over
    blocks of ``smoothing`` (deg).
    """

    file: FilePath = key('"etopo.nc"')
    variable: Text | None = None
    smoothing: quantity("angle", above=0, most=30) | None = None


class Chunk(Table):
    """A chunk of the Earth about ``longitude`` and ``latitude``, ``width`` [x, y] degrees wide,
    down to ``bottom``.

    Or ``chunks``, 2 or 3 of 90 degrees that meet, or all 6; these fill the Earth down to
    ``bottom``, which may be its "centre".

    How fine: ``period``, the shortest one (s), with ``points_per_wavelength``, or ``elements`` [nx,
    ny] at the surface. Elements become twice as large where wave speeds allow it (``growth``
    "auto") or below depths (m).
    """

    longitude: Longitude | None = None
    latitude: Latitude | None = None
    width: Annotated[tuple[Width, Width], BeforeValidator(_two)] | None = None
    chunks: choice(1, 2, 3, WHOLE) = 1
    azimuth: quantity("angle", least=-360, most=360) = 0.0
    bottom: word_or(("cmb", CENTRE), Distance) = "cmb"
    elements: Annotated[tuple[whole(least=1), whole(least=1)], BeforeValidator(_two)] | None = None
    period: Duration | None = None
    points_per_wavelength: quantity("ratio", least=2, most=100) = 5.0
    elliptic: Flag = False
    geographic: Flag = True
    topography: Relief | None = None
    growth: word_or(("auto",), many(Distance)) = "auto"
    honour: many(Length) = ()

    @property
    def centre(self):
        """Longitude and latitude of the (first) chunk; of the whole Earth 0, 0 where nothing else is said."""
        return self.longitude or 0.0, self.latitude or 0.0

    def _problems(self):
        required = {1: ("longitude", "latitude", "width"), WHOLE: ()}.get(self.chunks, ("longitude", "latitude"))
        for name in required:
            if getattr(self, name) is None:
                remedy = f"write {name} = {EXAMPLES[name]}; or chunks = {WHOLE}, the whole Earth"
                yield name, f'missing: "{name}" is required', remedy
        if self.chunks > 1 and self.width is not None:
            message = f"width and chunks = {self.chunks} are mutually exclusive: each chunk is 90 degrees wide"
            yield "width", message, "leave width or chunks out"
        if self.chunks != WHOLE and self.bottom == CENTRE:
            message = f'"{CENTRE}" is possible only for all six chunks'
            yield "bottom", message, f'write chunks = {WHOLE}; or bottom = "cmb"'
        if self.chunks > 1 and self.elements is not None and self.elements[0] != self.elements[1]:
            message = "several chunks need the same number of elements along xi and eta"
            remedy = f"write [{self.elements[0]}, {self.elements[0]}]"
            yield "elements", f"{shown(list(self.elements))}: {message}", remedy
        name = "period" if self.period is None else "elements"
        remedy = "write period = 40  # s; or elements = [32, 32]"
        yield from exactly_one(self, ("period", "elements"), remedy, name)


def beside_chunk(domain):
    """Problems of a domain with keys that a chunk leaves no room for.

    Parameters
    ----------
    domain : ElementDomain

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    for name in _OTHERS:
        if getattr(domain, name):
            message = f"{name} and chunk are mutually exclusive: the chunk defines the domain"
            yield name, message, f"leave {name} or chunk out"


def chunk_problems(scenario):
    """Problems of a scenario whose tables and chunk, or none, exclude each other.

    Parameters
    ----------
    scenario : SpectralScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    kind, is_radial = shown(scenario.model.kind), scenario.model.kind in RADIAL
    if scenario.domain.chunk is not None:
        yield from _in_chunk(scenario)
        if not is_radial:
            message = f"{kind} is not a radial Earth model, which a chunk of the Earth needs"
            kinds = listed([shown(name) for name in RADIAL])
            yield "model.kind", message, f"write kind = {kinds}; or a box in place of chunk"
        return
    if is_radial:
        chunk = "chunk = { longitude =, latitude =, width =, period = } in [domain]"
        message = f"{kind} is a radial Earth model, which needs domain.chunk"
        yield "model.kind", message, f'write {chunk}; or kind = "layers" (with file = a table)'


def _in_chunk(scenario):
    yield from _no_face(scenario)
    for path, at in places(scenario):
        if at.depth is not None:
            message = "in a chunk of the Earth, depth needs longitude and latitude"
            yield dotted(path), message, "write { longitude =, latitude =, depth = }"
    lines = [(f"source.{n}.shots", source.shots) for n, source in enumerate(scenario.source)]
    for n, entry in enumerate(scenario.receivers):
        if isinstance(entry, (ReceiverGrid, Fibre)):
            noun = "a fibre" if isinstance(entry, Fibre) else "a grid of receivers"
            message = f"{noun} is not supported in a chunk of the Earth"
            yield f"receivers.{n}", message, "use at, line or file"
        lines.append((f"receivers.{n}.line", getattr(entry, "line", None)))
    for path, line in lines:
        if line is not None and type(line.from_) is not type(line.to):
            message = "one end has longitude and latitude, the other has x and y"
            yield f"{path}.to", message, "write longitude and latitude for both"
    for n, entry in enumerate(scenario.snapshots):
        if entry.plane is not None and entry.plane.depth is not None:
            message = "a plane of constant depth is not supported in a chunk of the Earth"
            yield f"snapshots.{n}.plane", message, "use x, y, z or surface = true"


def _no_face(scenario):
    """Boundaries that the whole Earth does not have."""
    chunk, faces = scenario.domain.chunk, scenario.boundaries
    names = ["west", "east", "south", "north"] if chunk.chunks == WHOLE else []
    names += ["bottom"] if chunk.bottom == CENTRE else []
    for name in names:
        if getattr(faces, name) is not None or name in faces.faces:
            yield f"boundaries.{name}", f"the whole Earth has no face {name}", "leave it out"
