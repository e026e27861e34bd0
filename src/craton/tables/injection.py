"""What a scenario asks of recordings of the wavefield around a box, and of their injection."""

from typing import Annotated

from pydantic import AfterValidator

from craton.tables.fields import (
    FilePath,
    Length,
    Table,
    choice,
    in_space_or_plane,
    key,
    many,
    quantity,
    repeated,
    tagged,
    wrong,
)
from craton.tables.receivers import SnapshotName
from craton.tables.sources import Wavelet


class Recording(Table):
    """A recording of the wavefield on the sides of a box with the corners ``from`` and ``to`` (m),
    for an injection into another run; a box that ends at the free surface has no side there.
    """

    name: SnapshotName = key('"basin"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")

    def _problems(self):
        if len(self.from_) != len(self.to):
            yield "to", "from and to have different lengths", "write both as [x, y, z]"
        elif any(a >= b for a, b in zip(self.from_, self.to)):
            remedy = "from is the lower south-west corner, to the upper north-east one"
            yield "to", "the box ends before it begins", remedy


class Injection(Table):
    """An incident wavefield that enters through the sides of a box: inside is the total field,
    outside the scattered one. ``recorded`` is the folder of the run that recorded it as ``name``.
    """

    recorded: FilePath = key('"regional/result.zarr"')
    name: SnapshotName = key('"basin"')


class InjectedPlaneWave(Table):
    """A plane wave that rises in the half-space below flat layers and enters the box with the
    corners ``from`` and ``to`` (m), with all that layers and free surface make of it. It travels to
    the ``azimuth`` (degrees from +y, clockwise; along x in the plane) at the ``incidence`` (degrees
    from the vertical), and moves with ``velocity`` (m/s) times the wavelet ``at`` a position (m;
    None: below the centre of the box).
    """

    wave: choice(
        "P", "SV", "SH", meant={"p": "P", "S": "SV", "s": "SV", "sv": "SV", "sh": "SH"}
    ) = key('"P"  # or "SV", "SH"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")
    azimuth: quantity("angle", least=-360, most=360) = 0.0
    incidence: quantity("angle", above=-90, below=90) = 0.0
    at: in_space_or_plane(Length, "xyz", "m") | None = None
    velocity: quantity("velocity") = 1.0
    wavelet: Wavelet = key('{ kind = "ricker", frequency = 1 }')

    def _problems(self):
        yield from Recording._problems(self)
        if not self.velocity:
            remedy = "give the peak particle velocity of the incident wave, m/s"
            yield "velocity", "the velocity is zero", remedy


def _names_differ(recordings):
    message, remedy = "the name {} of a recording is used twice", "give each one a unique name"
    items = repeated([spec.name for spec in recordings], "{}.name", remedy, message)
    if items:
        raise wrong(*items)
    return recordings


Recordings = Annotated[many(Recording, "recording"), AfterValidator(_names_differ)]
Injections = many(
    tagged("injection", None, recorded=Injection, wave=InjectedPlaneWave), "injection"
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
    waves = [(n, spec) for n, spec in enumerate(injections) if isinstance(spec, InjectedPlaneWave)]
    boxes += [(f"injection.{n}.to", spec.to) for n, spec in waves]
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
