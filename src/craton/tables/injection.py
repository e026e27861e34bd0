"""What a scenario asks of recordings of the wavefield around a box, and of their injection."""

from typing import Annotated

from craton.tables.fields import (
    Distance,
    FilePath,
    Latitude,
    Length,
    Longitude,
    Table,
    in_space_or_plane,
    key,
    many,
    quantity,
    tagged,
    unique_names,
)
from craton.tables.receivers import SnapshotName
from craton.tables.sources import Wave, Wavelet


def box_problems(table):
    """Problems of the corners of a box.

    Parameters
    ----------
    table : Table
        With ``from_`` and ``to``.

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    if len(table.from_) != len(table.to):
        yield "to", "from and to have different lengths", "write both as [x, y, z]"
    elif any(a >= b for a, b in zip(table.from_, table.to)):
        remedy = "from is the lower south-west corner, to the upper north-east one"
        yield "to", "the box ends before it begins", remedy


class Recording(Table):
    """A recording of the wavefield on the sides of a box with the corners ``from`` and ``to`` (m),
    for an injection into another run; a box that ends at the free surface has no side there.

    With a ``sampling`` (m) it is recorded at points, for runs of any grid, up to a ``thickness``
    (m; None: four times the sampling) from the sides, and corners count from an ``origin`` (m), if
    there is one. In a chunk of the Earth they count from the ground at a ``longitude`` and
    ``latitude``. The axes are turned there by an ``azimuth`` (degrees, clockwise).
    """

    name: SnapshotName = key('"basin"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")

    sampling: Distance | None = None
    thickness: Distance | None = None
    origin: in_space_or_plane(Length, "xyz", "m") | None = None
    longitude: Longitude | None = None
    latitude: Latitude | None = None
    azimuth: quantity("angle", least=-360, most=360) = 0.0

    def _problems(self):
        yield from box_problems(self)
        alone = () if self.longitude is not None else ("azimuth",)
        for name in ("thickness", "origin", *alone):
            if self.sampling is None and getattr(self, name):
                remedy = "add sampling, the distance of the points, m"
                yield name, f"{name} needs a recording at points", remedy
        if (self.longitude is None) != (self.latitude is None):
            yield "latitude", "longitude and latitude go together", "give both, or none"
        if self.origin is not None and self.longitude is not None:
            yield "origin", "origin and longitude are mutually exclusive", "leave one out"
        if self.azimuth and len(self.from_) == 2:
            yield "azimuth", "a box in the plane is not turned", "leave it out"


class Injection(Table):
    """An incident wavefield that enters through the sides of a box: inside is the total field,
    outside the scattered one. ``recorded`` is the folder of the run that recorded it as ``name``.
    """

    recorded: FilePath = key('"regional/result.zarr"')
    name: SnapshotName = key('"basin"')


class InjectedWavefield(Table):
    """An incident wavefield of another program, which enters through the sides of the box with the
    corners ``from`` and ``to`` (m): velocity or displacement, and stress or strain, at points around
    these sides. ``at`` is added to the positions in the file.
    """

    file: FilePath = key('"wavefield.nc"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")
    at: in_space_or_plane(Length, "xyz", "m") | None = None

    def _problems(self):
        yield from box_problems(self)


class InjectedPlaneWave(Table):
    """A plane wave that rises in the half-space below flat layers and enters the box with the
    corners ``from`` and ``to`` (m), with all that layers and free surface make of it. It travels to
    the ``azimuth`` (degrees from +y, clockwise; along x in the plane) at the ``incidence`` (degrees
    from the vertical), and moves with ``velocity`` (m/s) times the wavelet ``at`` a position (m;
    None: below the centre of the box).
    """

    wave: Wave = key('"P"  # or "SV", "SH"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")
    azimuth: quantity("angle", least=-360, most=360) = 0.0
    incidence: quantity("angle", above=-90, below=90) = 0.0
    at: in_space_or_plane(Length, "xyz", "m") | None = None
    velocity: quantity("velocity") = 1.0
    wavelet: Wavelet = key('{ kind = "ricker", frequency = 1 }')

    def _problems(self):
        yield from box_problems(self)
        if not self.velocity:
            remedy = "give the peak particle velocity of the incident wave, m/s"
            yield "velocity", "the velocity is zero", remedy


Recordings = Annotated[
    many(Recording, "recording"),
    unique_names("the name {} of a recording is used twice", "give each one a unique name"),
]
Injections = many(
    tagged("injection", None, recorded=Injection, wave=InjectedPlaneWave, file=InjectedWavefield), "injection"
)


def injection_problems(scenario):
    """Problems of a scenario that has neither sources nor injections, of boxes with other
    dimensions than the domain, and of several shots.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    recordings = getattr(scenario, "recording", ())
    injections = getattr(scenario, "injection", ())
    if not scenario.source and not injections:
        remedy = "add a [[source]] table with kind, at and wavelet"
        yield "source", 'missing: "source" or "injection" is required', remedy
    dimensions = 2 if scenario.domain.planar else 3
    boxes = [(f"recording.{n}.to", spec.to) for n, spec in enumerate(recordings)]
    waves = [(n, spec) for n, spec in enumerate(injections) if not isinstance(spec, Injection)]
    boxes += [(f"injection.{n}.to", spec.to) for n, spec in waves]
    boxes += [(f"recording.{n}.origin", spec.origin) for n, spec in enumerate(recordings) if spec.origin is not None]
    boxes += [(f"injection.{n}.at", spec.at) for n, spec in waves if spec.at is not None]
    for name, numbers in boxes:
        if len(numbers) != dimensions:
            words = f"it has {len(numbers)} numbers, the domain {dimensions}"
            yield name, words, "give as many"
    shots = any(entry.shot or entry.shots for entry in scenario.source)
    for name, entries in (("recording", recordings), ("injection", injections)):
        if shots and entries:
            words = f"a survey of shots has no [[{name}]]"
            yield name, words, "leave it out, or run one shot without its name"
