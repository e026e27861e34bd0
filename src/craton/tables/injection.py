"""What a scenario asks of recordings of the wavefield around a box, and of their injection."""

from typing import Annotated

from pydantic import AfterValidator

from craton.tables.fields import (
    FilePath,
    Length,
    Table,
    in_space_or_plane,
    key,
    many,
    repeated,
    wrong,
)
from craton.tables.receivers import SnapshotName


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


def _names_differ(recordings):
    message, remedy = "the name {} of a recording is used twice", "give each one a unique name"
    items = repeated([spec.name for spec in recordings], "{}.name", remedy, message)
    if items:
        raise wrong(*items)
    return recordings


Recordings = Annotated[many(Recording, "recording"), AfterValidator(_names_differ)]
Injections = many(Injection, "injection")


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
    for n, spec in enumerate(recordings):
        if len(spec.to) != dimensions:
            words = f"the corners have {len(spec.to)} numbers, the domain {dimensions}"
            yield f"recording.{n}.to", words, "give as many"
    shots = any(entry.shot or entry.shots for entry in scenario.source)
    for name, entries in (("recording", recordings), ("injection", injections)):
        if shots and entries:
            words = f"a survey of shots has no [[{name}]]"
            yield name, words, "leave it out, or run one shot without its name"
