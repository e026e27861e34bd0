"""Tables that scenarios of all methods share, and what their classes have in common; the same names
in TOML and in Python.
"""

import math
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, PrivateAttr, WithJsonSchema, model_validator

from craton.conventions import DEVICES, GRADIENT_STORAGES, GRADIENT_SUMS, PARAMETER_SETS, QUANTITIES
from craton.errors import refuse_all
from craton.misfits import MISFITS
from craton.tables.consistency import problems
from craton.tables.fields import (
    Distance,
    Duration,
    FilePath,
    Frequency,
    Length,
    Table,
    Time,
    choice,
    in_space_or_plane,
    items_of,
    key,
    many,
    matching,
    must,
    quantity,
    repeated,
    spatial,
    triple,
    unique_names,
    whole,
    wrong,
)
from craton.tables.ground import framed_model, sampled
from craton.tables.medium import Model
from craton.tables.problems import diagnose
from craton.tables.receivers import PeakMaps, Receivers, Snapshot
from craton.tables.sources import Injections, Recordings, Source
from craton.text import html_sections, number, shown


class Geographic(Table):
    """Where x = y = 0 lies: ``longitude`` and ``latitude`` (WGS84, deg), and the ``azimuth`` of +y,
    clockwise from north (deg).
    """

    longitude: quantity("angle", least=-180, most=360) = key("-118.2  # deg, east")
    latitude: quantity("angle", least=-89, most=89) = key("34.1  # deg, north")
    azimuth: quantity("angle", least=-360, most=360) = 0.0


class Volume(Table):
    """What the domains of all methods can tell of ``origin`` (x, y, z), ``size`` (m) and
    resolution; a size [x, z] is a plane.
    """

    RESOLUTION: ClassVar[str] = "spacing"  # name of the key that gives the resolution in metres
    RELIEF_SAMPLES: ClassVar[int] = 1  # places in that distance at which functions of the ground are asked

    @property
    def resolution(self):
        """Distance of grid points or longest element edge, m; None: from max_frequency."""
        return getattr(self, self.RESOLUTION)

    def _resolution_problems(self):
        """Problems of a box without resolution, with two, or shorter than its resolution."""
        name, h = self.RESOLUTION, self.resolution
        if h is None and self.max_frequency is None:
            remedy = f"write {name} = 100  # m; or max_frequency = 5  # Hz"
            yield name, f"missing: neither {name} nor max_frequency is given", remedy
        elif h is not None and self.max_frequency is not None:
            remedy = f"{name} follows from max_frequency and points_per_wavelength: leave one of the two out"
            yield "max_frequency", f"{name} and max_frequency are mutually exclusive", remedy
        for i, (axis, size) in enumerate(zip(self.axes, self.size)):
            if h is not None and size < h:
                message = f"size along {axis}, {number(size)} m, is less than {name} = {number(h)} m"
                yield f"size.{i}", message, 'give sizes in metres, or with a unit: "8 km"'

    @property
    def planar(self):
        """True where the (x, z) plane is computed."""
        return self.size is not None and len(self.size) == 2

    @property
    def motion(self):
        """``"P-SV"`` (acoustic waves, too) or ``"SH"`` in the plane, None in space."""
        return ("SH" if self.waves == "SH" else "P-SV") if self.planar else None

    @property
    def axes(self):
        """Names of the axes of `size`."""
        return "xz" if self.planar else "xyz"

    @property
    def corner(self):
        """Lower south-west corner (x, y, z), metres; y = 0 in the plane."""
        return (self.origin[0], 0.0, self.origin[-1]) if self.planar else self.origin

    @property
    def extent(self):
        """Size along x, y and z, metres; 0 along y in the plane."""
        return spatial(self.size)

    @property
    def top(self):
        """Elevation of the top plane, metres."""
        return self.origin[-1] + self.size[-1]

    def points(self, spacing, vertical=None):
        """Points (nx, ny, nz) at this spacing (m): ``size / spacing + 1``, the last cell completed
        where the division leaves a rest.

        Parameters
        ----------
        spacing : float
            Metres.
        """
        steps = (spacing, spacing, vertical or spacing)
        return tuple(math.ceil(s / h - 1e-6) + 1 for s, h in zip(self.extent, steps))


def _utc(value):
    """Return a date and time in ISO 8601, UTC and without offset, from a text or an object whose
    text is one: of datetime, NumPy, ObsPy.
    """
    remedy = 'write a UTC date and time, "2020-01-31T12:34:56.78"; an offset such as +01:00 counts'
    try:
        if isinstance(value, bool | int | float):
            raise ValueError
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise wrong(("", f"{shown(value)} is not a date and time", remedy)) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat()


OriginTime = Annotated[str, BeforeValidator(_utc), WithJsonSchema({"type": "string", "format": "date-time"})]


class TimeSpan(Table):
    """When the run starts and ends (s after the origin time) and its step; None: chosen by the
    plan; and the ``origin`` time, t = 0, as a date (UTC).
    """

    duration: Duration = key("10  # s")
    step: Duration | None = None
    start: Time | None = None
    origin: OriginTime | None = None

    def _problems(self):
        start, end = self.start or 0.0, self.duration
        if self.start is not None and start >= end:
            message = f"start = {number(start)} s is not before the end, duration = {number(end)} s"
            yield "start", message, "duration is the end time of the run, counted from the origin time t = 0"
        elif self.step is not None and self.step > end - start:
            message = f"step = {number(self.step)} s is longer than the run, {number(end - start)} s"
            yield "step", message, "leave step out to use the largest stable time step"


Network = matching(
    r"[A-Z0-9]{1,8}",
    "{value} is not a network code",
    'write 1 to 8 capital letters or digits; "XX" is for synthetic data',
)


def _microseconds(seconds):
    snapped = round(seconds * 1e6) / 1e6
    if not snapped:
        raise wrong(("", f"{number(seconds)} s is shorter than one microsecond", "give the sampling interval in s"))
    return snapped


class Output(Table):
    """Waveform output: quantities, ``sampling`` interval (s, whole microseconds; None: each step),
    network code.
    """

    waveforms: many(choice(*QUANTITIES)) = ("velocity",)
    sampling: Annotated[Duration, AfterValidator(_microseconds)] | None = None
    network: Network = "XX"

    def _problems(self):
        return repeated(self.waveforms, "waveforms.{}", "leave one of them out")


class Gradient(Table):
    """What `craton gradient` computes: of the misfit with ``observed`` data, by ``parameters``, from
    every ``every``-th step.
    """

    observed: FilePath = key('"observed/result.zarr"')
    misfit: choice(*MISFITS) = "l2"
    parameters: many(choice(*dict.fromkeys(name for names in PARAMETER_SETS for name in names))) = ("vp", "vs", "rho")
    every: whole(least=1) = 1
    storage: choice(*GRADIENT_STORAGES) = "auto"
    sums: choice(*GRADIENT_SUMS) = "auto"

    def _problems(self):
        yield from repeated(self.parameters, "parameters.{}", "leave one of them out")
        if not any(self.parameters and set(self.parameters) <= set(n) for n in PARAMETER_SETS):
            sets = "; ".join(", ".join(names) for names in PARAMETER_SETS)
            yield "parameters", "these are not parameters of one set", f"choose some of {sets}"


class Greens(Table):
    """What `craton greens build` computes: Green's functions from a volume of possible sources, a
    box with the corners ``from`` and ``to`` (m), up to ``max_frequency`` (Hz).
    """

    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -6_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, -4_000]  # m")
    max_frequency: Frequency = key("2  # Hz")
    storage: choice("float32", "16 bits") = "float32"

    def _problems(self):
        if len(self.from_) != len(self.to):
            yield "to", "from and to have different lengths", "write both as [x, y, z]"
        elif any(a > b for a, b in zip(self.from_, self.to)):
            remedy = "from is the lower south-west corner, to the upper north-east one"
            yield "to", "the volume ends before it begins", remedy


Precision = choice("float32", "float64", meant={"double": "float64", "single": "float32"})
Device = choice(*DEVICES, meant={"gpu": "cuda"})
_RANKS = items_of(3, "{value} is not the number of ranks along x, y and z", "write [2, 2, 1]")
Threads = whole(least=1, most=1 << 12)
PATIENCE = 60.0  # s
Patience = quantity("time", least=1, most=86_400)
RankGrid = Annotated[many(whole(least=1)), BeforeValidator(_RANKS)]


class WaveRun(Table):
    """Keys of [run] that a run of waves reads, whatever the method: precision, device, threads of
    the CPU (None: all), ``checkpoint``, ``patience``.

    ``checkpoint`` is the wall-clock time between checkpoints (s), ``patience`` the time (s) after
    which a rank that stands still ends the run.
    """

    precision: Precision = "float32"
    device: Device = "auto"
    threads: Threads | None = None
    checkpoint: Duration | None = None
    patience: Patience = PATIENCE


def not_empty(noun, remedy):
    """Return the check that a scenario has a table of a kind.

    Parameters
    ----------
    noun : str
        Name of the table in messages.
    remedy : str
    """

    def validate(tables):
        if not tables:
            raise wrong(("", f"the scenario has no {noun}", remedy))
        return tables

    return AfterValidator(validate)


Title = Annotated[
    str, must(lambda value: isinstance(value, str), "{value} is not a string", 'write a title in quotes, "..."')
]
Sources = many(Source, "source")
Snapshots = Annotated[
    many(Snapshot, "snapshots"), unique_names("the snapshot name {} is used twice", "give each snapshot a unique name")
]


class Document(Table):
    """What the scenarios of all methods have in common: all problems at once, and notes on keys of
    other methods.

    Keys and values are those of the TOML file (docs/scenario.md): numbers in SI units, or strings
    with a unit.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    FOREIGN: ClassVar[tuple] = ()  # rows of craton.tables.foreign.Foreign
    title: Title = ""
    _notes: tuple = PrivateAttr(())

    def __init__(self, /, **values):
        scenario, problems = diagnose(values, type(self))
        refuse_all(problems)
        self.__setstate__(scenario.__getstate__())

    def __eq__(self, other):
        return type(self) is type(other) and dict(self) == dict(other)

    def _repr_html_(self):
        """Tables of the scenario, short: lists by their number, long values cut."""
        rows = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, (list, tuple)):
                kinds = [getattr(item, "kind", "") or getattr(item, "name", "") for item in value]
                value = f"{len(value)}: {', '.join(filter(None, kinds))}" if value else "none"
            rows.append((name, shown(str(value), 160)))
        return html_sections(type(self).__name__, {self.title or "Scenario": rows})

    def keep_notes(self, notes):
        """Keep what there is to say on keys of other methods, for `warnings`.

        Parameters
        ----------
        notes : iterable of str
        """
        self._notes = tuple(notes)

    @property
    def warnings(self):
        """What can be computed but is probably not meant, each beginning with its key: list of str."""
        return [*self._notes]


class _InABox(Document):
    """A scenario with a model, whose files know the box that they are for."""

    @model_validator(mode="after")
    def _files_know_their_box(self):
        self.__dict__["model"] = framed_model(self.model, self.domain)
        return self


class WaveScenario(_InABox):
    """What scenarios of waves have in common: most of their tables, in the order in which they are shown;
    domain, model, time, source, receivers, snapshots and output fit. A method says which domain,
    boundaries and run it has.
    """

    method: str = ""
    domain: Volume = key("[domain]")
    model: Model = key("[model] with kind, and vp, vs, rho or layers or file")
    time: TimeSpan = key("[time] with duration")
    boundaries: Table = Table()
    source: Sources = key("[[source]] with kind, at and wavelet")
    receivers: many(Receivers, "receivers") = ()
    snapshots: Snapshots = ()
    peaks: PeakMaps = ()
    recording: Recordings = ()
    injection: Injections = ()
    output: Output = Output()
    gradient: Gradient | None = None
    greens: Greens | None = None
    run: WaveRun = WaveRun()

    @model_validator(mode="before")
    @classmethod
    def _functions_are_sampled(cls, values):
        return sampled(values, cls.model_fields["domain"].annotation)

    @model_validator(mode="before")
    @classmethod
    def _injections_are_sources(cls, values):
        if isinstance(values, dict) and values.get("injection") and "source" not in values:
            return values | {"source": ()}
        return values

    def _problems(self):
        return problems(self)


class _Box(Volume):
    model_config = ConfigDict(extra="ignore")
    origin: triple(Length, "xyz", "m") = key("[0, 0, -10_000]  # m, lower south-west corner (x, y, z)")
    size: triple(Distance, "xyz", "m") = key("[20_000, 20_000, 10_000]  # m")
    spacing: Distance | None = None
    element_size: Distance | None = None
    geographic: Geographic | None = None

    @property
    def resolution(self):
        return self.spacing or self.element_size


class BoxOfModel(_InABox):
    """The model and the box of a scenario of waves, of which other tables are left out: what prisms
    are made of.
    """

    model_config = ConfigDict(extra="ignore")
    domain: _Box = key("[domain] with origin and size")
    model: Model = key("[model] with kind, and vp, vs, rho or layers or file")
