"""What a scenario records: receivers one by one, in lines, grids and files; snapshots of the wavefield; maps of ground
motion.
"""

import math
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from craton.conventions import QUANTITIES
from craton.io.fdsn import METRES_PER_DEGREE
from craton.tables.fields import (
    MOST,
    At,
    Distance,
    Duration,
    FilePath,
    Flag,
    Latitude,
    Length,
    Longitude,
    Place,
    Position,
    Table,
    Text,
    as_list,
    choice,
    exactly_one,
    items_of,
    key,
    kind_of_place,
    many,
    matching,
    quantity,
    repeated,
    tagged,
    union,
    unique_names,
    whole,
)
from craton.text import number

# tables that users build in Python: names of `craton`
__all__ = [
    "Fibre",
    "FibrePath",
    "Lattice",
    "Line",
    "Peaks",
    "Plane",
    "Points",
    "ReceiverFile",
    "ReceiverGrid",
    "ReceiverLine",
    "Snapshot",
    "Station",
]

Side = choice("solid", "fluid")  # of a contact, for what lies exactly on it
SNAPSHOT_QUANTITIES = (*QUANTITIES, "divergence", "curl")


class Points(Table):
    """Many positions, written as a list of them."""

    positions: many(At)

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value):
        return value if isinstance(value, (dict, Points)) else {"positions": as_list(value)}

    @model_serializer
    def _as_written(self):
        return [*self.positions]

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema, handler):
        """Describe the list, as it is written."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        return schema["properties"]["positions"]

    def _problems(self):
        if len({type(at) for at in self.positions}) > 1:
            message = "some positions have longitude and latitude, others have x and y"
            yield "", message, "write longitude and latitude for all, or for none"

    @property
    def count(self):
        """Number of positions."""
        return len(self.positions)

    @property
    def from_(self):
        """Return the first position."""
        return self.positions[0]


def _kind_of_at(value):
    listed = as_list(value)
    first = listed[0] if isinstance(listed, list) and listed else None
    return "Points" if isinstance(first, (list, tuple, dict, Table)) else kind_of_place(value)


AnyAt = union(_kind_of_at, Position, Place, Points)  # one position or many


class _Receiver(Table):
    """Receivers of one entry."""

    where: ClassVar[str]  # key that says where they are

    @property
    def place(self):
        """What stands under that key."""
        return getattr(self, self.where)


class Station(_Receiver):
    """One receiver, or at many positions NAME1, NAME2, ..."""

    where = "at"
    name: Text = key('"R1"')
    at: AnyAt = key("[10_000, 10_000, 0]  # m, or { x =, y =, depth = }")
    side: Side | None = None


class Line(Table):
    """Points from one position to another, both included, at equal distances."""

    from_: At = key("[0, 0, 0]  # m", alias="from")
    to: At = key("[10_000, 0, 0]  # m")
    count: whole(least=2) = key("11")


class ReceiverLine(_Receiver):
    """A line of receivers NAME1, NAME2, ..."""

    where = "line"
    name: Text = key('"L"  # prefix: L1, L2, ...')
    line: Line
    side: Side | None = None


_AXIS_REMEDY = "write the first and last coordinate (m) and the number of points: [0, 10_000, 11]"
Axis = Annotated[
    tuple[Length, Length, whole(least=1)],
    BeforeValidator(items_of(3, "{value} is not [first, last, count]", _AXIS_REMEDY)),
]


_DEGREES = items_of(3, "{value} is not [first, last, count]", "write [11.5, 12.5, 11] in degrees")


def too_many(names, x, y, most=MOST):
    """Problem of a lattice of more points than can be listed: generator of (key, message, remedy).

    Parameters
    ----------
    names : (str, str)
        Keys of its axes.
    x, y : tuple or None
        [first, last, count] of each.
    most : int
    """
    if x is not None and y is not None and x[2] * y[2] > most:
        message = f"{x[2]} x {y[2]} points are more than the {most:,} that are possible"
        yield names[0], message, f"write fewer points along {names[0]} or {names[1]}"


class Lattice(Table):
    """Receivers on a horizontal lattice; x and y are [first, last, count] (m), or longitude and
    latitude (deg), and z (m, up) or depth (m, down).
    """

    x: Axis | None = None
    y: Axis | None = None
    longitude: Annotated[tuple[Longitude, Longitude, whole(least=1)], BeforeValidator(_DEGREES)] | None = None
    latitude: Annotated[tuple[Latitude, Latitude, whole(least=1)], BeforeValidator(_DEGREES)] | None = None
    z: Length | None = None
    depth: Length | None = None

    def _problems(self):
        yield from exactly_one(self, ("z", "depth"), "give either z or depth, in m")
        pair = ("longitude", "latitude") if self.on_earth else ("x", "y")
        example = "[11.5, 12.5, 11]  # deg" if self.on_earth else "[0, 10_000, 11]  # m"
        for name in pair:
            if getattr(self, name) is None:
                yield name, f'missing: "{name}" is required', f"write {name} = {example}"
        yield from too_many(pair, *self.sides)
        for name in ("x", "y") if self.on_earth else ():
            if getattr(self, name) is not None:
                message = f"{name} and longitude, latitude are mutually exclusive"
                yield name, message, "give x and y, or longitude and latitude"

    @property
    def on_earth(self):
        """Whether it is given by longitude and latitude."""
        return self.longitude is not None or self.latitude is not None

    @property
    def sides(self):
        """[first, last, count] along its two axes."""
        return (self.longitude, self.latitude) if self.on_earth else (self.x, self.y)

    @property
    def count(self):
        """How many points there are."""
        return self.sides[0][2] * self.sides[1][2]

    @property
    def height(self):
        """Elevation z of the lattice, metres."""
        return self.z if self.depth is None else 0.0 - self.depth


class ReceiverGrid(_Receiver):
    """A horizontal grid of receivers NAME1, NAME2, ..., x fastest."""

    where = "grid"
    name: Text = key('"G"  # prefix: G1, G2, ...')
    grid: Lattice
    side: Side | None = None


class ReceiverFile(_Receiver):
    """Receivers from a file: CSV with columns name, x, y and z or depth (m) or name, longitude,
    latitude and depth or elevation, a STATIONS file of SPECFEM, StationXML, or text of the FDSN;
    those outside the domain are refused, or with ``outside = "skip"`` left out.
    """

    where = "file"
    file: FilePath
    coordinates: choice("geographic", "metres") = "geographic"
    side: Side | None = None
    outside: choice("refuse", "skip") = "refuse"


def _metres(positions):
    """Positions (x, y, z), m; of places on Earth on a sphere, good to half a per cent."""
    if not any(isinstance(at, Place) for at in positions):
        return [at.xyz for at in positions]
    places = [at.where for at in positions]
    north = METRES_PER_DEGREE
    east = north * math.cos(math.radians(places[0][1]))
    return [(lon * east, lat * north, 0.0 - depth) for lon, lat, depth in places]


class FibrePath(Table):
    """A fibre: the polyline ``along`` positions, a channel every ``spacing`` (m), strain averaged
    over the ``gauge`` length (m).
    """

    along: many(At) = key("[[0, 0, 0], [1000, 0, 0]]  # m, two positions or more")
    spacing: Distance = key("10  # m between channels")
    gauge: Distance = key("10  # m, gauge length")

    def _problems(self):
        if len({type(at) for at in self.along}) > 1:
            message = "some positions have longitude and latitude, others have x and y"
            yield "along", message, "write longitude and latitude for all, or for none"
            return
        points = _metres(self.along)
        if len(points) < 2:
            message = f"a fibre needs at least two positions, {len(points)} given"
            yield "along", message, "give two positions or more"
            return
        for i in range(1, len(points)):
            if points[i] == points[i - 1]:
                message = "this position equals the previous one"
                yield f"along.{i}", message, "leave one of the two out"
        length = sum(math.dist(a, b) for a, b in zip(points, points[1:]))
        if self.gauge > length * (1 + 1e-9):
            message = f"the gauge length, {number(self.gauge)} m, is longer than the fibre, {number(length)} m"
            yield "gauge", message, "give a shorter gauge length"


class Fibre(_Receiver):
    """A fibre that records axial strain rate, as distributed acoustic sensing does."""

    where = "das"
    side: ClassVar[None] = None
    name: Text = key('"F"')
    das: FibrePath


Receivers = tagged(
    "receiver entry", None, at=Station, line=ReceiverLine, grid=ReceiverGrid, file=ReceiverFile, das=Fibre
)


class Plane(Table):
    """A plane by its one coordinate: x, y, z or depth (m); ``surface = true``: the top of a mesh
    (method "sem").
    """

    x: Length | None = None
    y: Length | None = None
    z: Length | None = None
    depth: Length | None = None
    surface: Flag | None = None

    def _problems(self):
        count = sum(getattr(self, name) is not None for name in ("x", "y", "z", "depth")) + bool(self.surface)
        if count != 1:
            remedy = "write { y = 5000 }, or x, z, depth, in m; leave plane out for the whole volume"
            yield "", f"a plane needs exactly one coordinate, {count} are given", remedy

    @property
    def axis(self):
        """``"x"``, ``"y"`` or ``"z"``: the axis that it is normal to."""
        return next((a for a in "xy" if getattr(self, a) is not None), "z")

    @property
    def coordinate(self):
        """Where it cuts that axis, metres; None for a surface."""
        return 0.0 - self.depth if self.depth is not None else getattr(self, self.axis)


SnapshotName = matching(
    r"[A-Za-z0-9][A-Za-z0-9_.-]*",
    "{value} is not a valid name",
    "use letters, digits, _, - and ., a letter or digit first: the name becomes a group of result.zarr",
)


class Snapshot(Table):
    """Pictures of the wavefield ``every`` so many seconds, on a plane or in the whole volume, each
    ``stride``-th point.
    """

    name: SnapshotName = key('"section"')
    quantity: choice(*SNAPSHOT_QUANTITIES) = "velocity"
    plane: Plane | None = None
    every: Duration = key("0.5  # s between snapshots")
    stride: whole(least=1) = Field(1)
    film: choice("mp4", "gif") | None = None


PEAK_QUANTITIES = ("pgv", "pga", "pgd", "arias", "cav", "squared_velocity", "duration", "sa")


class Peaks(Table):
    """A map of ground motion, measured at every step: peaks of velocity, acceleration and
    displacement, Arias intensity, cumulative absolute velocity, significant duration, spectral
    acceleration at ``periods`` (s) with ``damping``; on the ground or a plane.
    """

    name: SnapshotName = key('"ground"')
    quantities: many(choice(*PEAK_QUANTITIES)) = ("pgv", "pga", "pgd")
    plane: Plane | None = None
    stride: whole(least=1) = Field(1)
    periods: many(Duration) = ()
    damping: quantity("ratio", least=0, below=1) = 0.05
    resolution: Duration | None = None

    def _problems(self):
        yield from repeated(self.quantities, "quantities.{}", "leave one of them out")
        yield from repeated(self.periods, "periods.{}", "leave one of them out")
        if not self.quantities:
            yield "quantities", "no quantity is listed", 'write quantities = ["pgv"]'
        if ("sa" in self.quantities) != bool(self.periods):
            message = "spectral acceleration and periods belong together"
            yield "periods", message, 'write quantities = ["sa"] and periods = [0.3, 1.0, 3.0]  # s'
        if self.resolution is not None and "duration" not in self.quantities:
            message = "a resolution is of the significant duration, which is not listed"
            yield "resolution", message, 'add "duration" to quantities, or leave resolution out'

    @property
    def on_ground(self):
        """Whether it lies on the ground rather than on a plane."""
        return self.plane is None or bool(self.plane.surface)


PeakMaps = Annotated[
    many(Peaks, "peaks"), unique_names("the name {} of a map of peaks is used twice", "give each map a unique name")
]
