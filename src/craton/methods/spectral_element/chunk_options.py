"""A chunk of the Earth, or several, in a scenario of spectral elements: domain.chunk, and what does not go together with it."""
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, WithJsonSchema, model_validator

from craton.tables.consistency import NO_CHUNK
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
    places_on_earth,
    quantity,
    refuse,
    whole,
)  # fmt: skip
from craton.tables.foreign import dotted
from craton.tables.medium import RADIAL
from craton.tables.receivers import Fibre, ReceiverGrid, ReceiverLine
from craton.text import listed, shown

WIDEST = 120  # degrees
WHOLE = 6  # chunks
CENTRE = "centre"
EXAMPLES = {"longitude": "-67.25  # deg, east", "latitude": "-13.82  # deg, north", "width": "[20, 20]  # deg"}
Width = quantity("angle", above=0, most=WIDEST)
_OTHERS = ("origin", "size", "element_size", "max_frequency", "mesh", "refine", "geographic")  # of a domain that is no chunk


def word_or(words, kind):
    """The type of one of some words, or of something else."""
    adapter = TypeAdapter(kind)

    def validate(value):
        return value if isinstance(value, str) and value in words else adapter.validate_python(value)

    return Annotated[Any, BeforeValidator(validate), WithJsonSchema(adapter.json_schema())]


_two = items_of(2, "{value} is not a list of two numbers, along xi and eta", "write [20, 20]")


class Relief(Table):
    """Elevations over longitude and latitude from a ``file`` (netCDF, GeoTIFF), m, averaged over blocks of ``smoothing`` (deg)."""

    file: FilePath = key('"etopo.nc"')
    variable: Text | None = None
    smoothing: quantity("angle", above=0, most=30) | None = None


class Chunk(Table):
    """A chunk of the Earth about ``longitude`` and ``latitude``, ``width`` [x, y] degrees wide, down to ``bottom``.

    Or ``chunks``, 2 or 3 of 90 degrees that meet, or all 6; these fill the Earth down to ``bottom``, which may be its "centre".

    How fine: ``period``, the shortest one (s), with ``points_per_wavelength``, or ``elements`` [nx, ny] at the surface. Elements become
    twice as large where wave speeds allow it (``growth`` "auto") or below depths (m).
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

    @model_validator(mode="after")
    def _where(self):
        required = {1: ("longitude", "latitude", "width"), WHOLE: ()}.get(self.chunks, ("longitude", "latitude"))
        missing = [n for n in required if getattr(self, n) is None]
        remedy = f"; or chunks = {WHOLE}, the whole Earth"
        items = [(n, f'missing: "{n}" is required', f"write {n} = {EXAMPLES[n]}" + remedy) for n in missing]
        if self.chunks > 1 and self.width is not None:
            message = f"width and chunks = {self.chunks} are mutually exclusive: each chunk is 90 degrees wide"
            items.append(("width", message, "leave width or chunks out"))
        if self.chunks != WHOLE and self.bottom == CENTRE:
            message = f'"{CENTRE}" is possible only for all six chunks'
            items.append(("bottom", message, f'write chunks = {WHOLE}; or bottom = "cmb"'))
        if self.chunks > 1 and self.elements is not None and self.elements[0] != self.elements[1]:
            message = "several chunks need the same number of elements along xi and eta"
            remedy = f"write [{self.elements[0]}, {self.elements[0]}]"
            items.append(("elements", f"{shown(list(self.elements))}: {message}", remedy))
        refuse(items)
        name = "period" if self.period is None else "elements"
        remedy = "write period = 40  # s; or elements = [32, 32]"
        refuse(exactly_one(self, ("period", "elements"), remedy, name))
        return self


def beside_chunk(domain):
    """Keys of a domain that a chunk leaves no room for: list of (key, message, remedy)."""
    message = "{} and chunk are mutually exclusive: the chunk defines the domain"
    return [(name, message.format(name), f"leave {name} or chunk out") for name in _OTHERS if getattr(domain, name)]


def chunk_problems(scenario):
    """What a chunk, or none, and the rest of a scenario exclude of each other: list of (key, message, remedy)."""
    kind = shown(scenario.model.kind)
    tables = [(name, getattr(scenario, name)) for name in ("source", "receivers")]
    if scenario.domain.chunk is None:
        items = [(dotted(path), *NO_CHUNK) for name, table in tables for path, _ in places_on_earth(table, (name,))]
        if scenario.model.kind in RADIAL:
            remedy = 'write chunk = { longitude =, latitude =, width =, period = } in [domain]; or kind = "layers"'
            items.append(("model.kind", f"{kind} is a radial Earth model, which needs domain.chunk", remedy))
        return items
    items = _no_face(scenario)
    if scenario.model.kind not in RADIAL:
        remedy = f"write kind = {listed([shown(k) for k in RADIAL])}; or a box in place of chunk"
        items.append(("model.kind", f"{kind} is not a radial Earth model, which a chunk of the Earth needs", remedy))
    message, remedy = "in a chunk of the Earth, depth needs longitude and latitude", "write { longitude =, latitude =, depth = }"
    items += [
        (dotted(path), message, remedy)
        for name, table in tables
        for path, at in places(table, (name,))
        if at.depth is not None
    ]
    for n, entry in enumerate(scenario.receivers):
        if isinstance(entry, (ReceiverGrid, Fibre)):
            noun = "a fibre" if isinstance(entry, Fibre) else "a grid of receivers"
            items.append((f"receivers.{n}", f"{noun} is not supported in a chunk of the Earth", "use at, line or file"))
        if isinstance(entry, ReceiverLine):
            items += _ends(f"receivers.{n}.line", entry.line)
    for n, entry in enumerate(scenario.source):
        items += _ends(f"source.{n}.shots", entry.shots) if entry.shots is not None else []
    message = "a plane of constant depth is not supported in a chunk of the Earth"
    return items + [
        (f"snapshots.{n}.plane", message, "use x, y, z or surface = true")
        for n, entry in enumerate(scenario.snapshots)
        if entry.plane is not None and entry.plane.depth is not None
    ]


def _no_face(scenario):
    """Boundaries that the whole Earth does not have."""
    chunk = scenario.domain.chunk
    names = ["west", "east", "south", "north"] * (chunk.chunks == WHOLE) + ["bottom"] * (chunk.bottom == CENTRE)
    return [(f"boundaries.{name}", f"the whole Earth has no face {name}", "leave it out")
            for name in names if getattr(scenario.boundaries, name) is not None or name in scenario.boundaries.faces]  # fmt: skip


def _ends(path, line):
    """A line from a place on Earth to one in the chunk's axes."""
    if type(line.from_) is type(line.to):
        return []
    return [(f"{path}.to", "one end has longitude and latitude, the other has x and y", "write longitude and latitude for both")]
