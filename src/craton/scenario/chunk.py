"""A chunk of the Earth, or several, in a scenario of spectral elements: domain.chunk, and what does not go together with it."""
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, WithJsonSchema, model_validator

from craton.scenario.fields import (
    Distance,
    Duration,
    FilePath,
    Flag,
    Latitude,
    Length,
    Longitude,
    Table,
    Text,
    as_list,
    choice,
    key,
    many,
    places,
    places_on_earth,
    quantity,
    whole,
    wrong,
)  # fmt: skip
from craton.scenario.medium import RADIAL
from craton.scenario.receivers import Fibre, ReceiverGrid, ReceiverLine
from craton.text import listed, shown

WIDEST = 120  # degrees
WHOLE = 6  # chunks
CENTRE = "centre"
EXAMPLES = {"longitude": "-67.25  # deg, east", "latitude": "-13.82  # deg, north", "width": "[20, 20]  # deg"}
Width = quantity("angle", above=0, most=WIDEST)
_OTHERS = ("origin", "size", "element_size", "spacing", "max_frequency", "mesh", "refine", "geographic")  # of a domain that is no chunk


def word_or(words, kind):
    """The type of one of some words, or of something else."""
    adapter = TypeAdapter(kind)

    def validate(value):
        return value if isinstance(value, str) and value in words else adapter.validate_python(value)

    return Annotated[Any, BeforeValidator(validate), WithJsonSchema(adapter.json_schema())]


def _two(value):
    value = as_list(value)
    if not isinstance(value, list) or len(value) != 2:
        raise wrong(("", f"{shown(value)} is not a list of two numbers, along xi and eta", "write [20, 20]"))
    return value


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
            items.append(
                (
                    "width",
                    f"width and chunks = {self.chunks} are mutually exclusive: each chunk is 90 degrees wide",
                    "leave width or chunks out",
                )
            )
        if self.chunks != WHOLE and self.bottom == CENTRE:
            items.append(("bottom", f'"{CENTRE}" is possible only for all six chunks', f'write chunks = {WHOLE}; or bottom = "cmb"'))
        if self.chunks > 1 and self.elements is not None and self.elements[0] != self.elements[1]:
            message = f"{shown(list(self.elements))}: several chunks need the same number of elements along xi and eta"
            items.append(("elements", message, f"write [{self.elements[0]}, {self.elements[0]}]"))
        if items:
            raise wrong(*items)
        return self

    @model_validator(mode="after")
    def _one_resolution(self):
        if self.elements is None and self.period is None:
            raise wrong(("period", "missing: neither period nor elements is given", "write period = 40  # s; or elements = [32, 32]"))
        if self.elements is not None and self.period is not None:
            raise wrong(("elements", "period and elements are mutually exclusive", "leave one of the two out"))
        return self


def beside(domain):
    """(key, message, remedy) of what is given beside a chunk."""
    return [(name, f"{name} and chunk are mutually exclusive: the chunk defines the domain", f"leave {name} or chunk out")
            for name in _OTHERS if getattr(domain, name)]  # fmt: skip


def problems(scenario):
    """(key, message, remedy) of what a chunk and the rest of a scenario exclude of each other."""
    if scenario.domain.chunk is None:
        return _without(scenario)
    items = []
    if scenario.model.kind not in RADIAL:
        items.append(("model.kind", f"{shown(scenario.model.kind)} is not a radial Earth model, which a chunk of the Earth needs",
                      f"write kind = {listed([shown(k) for k in RADIAL])}; or a box in place of chunk"))  # fmt: skip
    items += _no_face(scenario)
    for name in ("source", "receivers"):
        remedy = "write { longitude =, latitude =, depth = }"
        items += [(".".join(map(str, path)), "in a chunk of the Earth, depth needs longitude and latitude", remedy)
                  for path, at in places(getattr(scenario, name), (name,)) if at.depth is not None]  # fmt: skip
    for n, entry in enumerate(scenario.receivers):
        kind = "a grid of receivers" if isinstance(entry, ReceiverGrid) else "a fibre" if isinstance(entry, Fibre) else ""
        if kind:
            items.append((f"receivers.{n}", f"{kind} is not supported in a chunk of the Earth", "use at, line or file"))
        if isinstance(entry, ReceiverLine):
            items += _ends(f"receivers.{n}.line", entry.line)
    shots = [(n, entry.shots) for n, entry in enumerate(scenario.source) if entry.shots is not None]
    items += [item for n, line in shots for item in _ends(f"source.{n}.shots", line)]
    message = "a plane of constant depth is not supported in a chunk of the Earth"
    items += [(f"snapshots.{n}.plane", message, "use x, y, z or surface = true")
              for n, spec in enumerate(scenario.snapshots) if spec.plane is not None and spec.plane.depth is not None]  # fmt: skip
    return items


def _no_face(scenario):
    """Boundaries that the whole Earth does not have."""
    asked, names = scenario.domain.chunk, []
    if asked.chunks == WHOLE:
        names += ["west", "east", "south", "north"]
    if asked.bottom == CENTRE:
        names.append("bottom")
    return [(f"boundaries.{name}", f"the whole Earth has no face {name}", "leave it out")
            for name in names if getattr(scenario.boundaries, name) is not None or name in scenario.boundaries.faces]  # fmt: skip


def _ends(path, line):
    """A line from a place on Earth to one in the chunk's axes."""
    if type(line.from_) is type(line.to):
        return []
    return [(f"{path}.to", "one end has longitude and latitude, the other has x and y", "write longitude and latitude for both")]


def _without(scenario):
    from craton.scenario.belongs import NO_CHUNK

    items = [(".".join(map(str, path)), *NO_CHUNK) for name in ("source", "receivers")
             for path, _ in places_on_earth(getattr(scenario, name), (name,))]  # fmt: skip
    if scenario.model.kind in RADIAL:
        items.append(("model.kind", f"{shown(scenario.model.kind)} is a radial Earth model, which needs domain.chunk",
                      "write chunk = { longitude =, latitude =, width =, period = } in [domain]; or kind = \"layers\""))  # fmt: skip
    return items
