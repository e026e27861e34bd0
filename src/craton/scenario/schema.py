"""The nouns of a scenario file: one class per table, the same names in TOML and in Python, SI floats after validation."""
import math
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ValidationError, model_validator

from craton.conventions import FACES, QUANTITIES
from craton.errors import ScenarioError
from craton.scenario.belongs import of_differences, of_elements
from craton.scenario.consistency import plane_problems, shot_problems, space_problems
from craton.scenario.fields import (
    Distance,
    Duration,
    Frequency,
    Length,
    Table,
    Time,
    choice,
    in_space_or_plane,
    key,
    many,
    quantity,
    several,
    spatial,
    whole,
    wrong,
)  # fmt: skip
from craton.scenario.ground import sampled
from craton.scenario.medium import Model
from craton.scenario.receivers import Receivers, Snapshot
from craton.scenario.source_files import Source
from craton.text import number, shown

_OPPOSITE = {"west": "east", "east": "west", "south": "north", "north": "south", "bottom": "top", "top": "bottom"}


class Geographic(Table):
    """Where x = y = 0 lies: ``longitude`` and ``latitude`` (WGS84, deg), and the ``azimuth`` of +y, clockwise from north (deg)."""

    longitude: quantity("angle", least=-180, most=360) = key("-118.2  # deg, east")
    latitude: quantity("angle", least=-89, most=89) = key("34.1  # deg, north")
    azimuth: quantity("angle", least=-360, most=360) = 0.0


class Domain(Table):
    """The box that is computed: lower south-west corner ``origin``, ``size`` (m), and ``spacing`` (m) or ``max_frequency`` (Hz).

    A size of two numbers, [x, z], is the vertical plane: 2-D, with motion in it (``waves = "P-SV"``) or across it (``"SH"``).
    Left out, waves are ``"acoustic"`` where vs = 0 everywhere and nothing needs shear, else ``"elastic"`` (in the plane ``"P-SV"``).
    """

    origin: in_space_or_plane(Length, "xyz", "m") = key("[0, 0, -10_000]  # m, lower south-west corner (x, y, z)")
    size: in_space_or_plane(Distance, "xyz", "m") = key("[20_000, 20_000, 10_000]  # m")
    waves: choice("P-SV", "SH", "elastic", "acoustic") | None = None
    spacing: Distance | None = None
    max_frequency: Frequency | None = None
    points_per_wavelength: quantity("ratio", least=2, most=100) = 6.0
    geographic: Geographic | None = None

    @model_validator(mode="after")
    def _one_resolution(self):
        key_, h = self.resolution_key, self.resolution
        if h is None and self.max_frequency is None:
            remedy = f"write {key_} = 100  # m; or max_frequency = 5  # Hz"
            raise wrong((key_, f"missing: neither {key_} nor max_frequency is given", remedy))
        if h is not None and self.max_frequency is not None:
            remedy = f"{key_} follows from max_frequency and points_per_wavelength: leave one of the two out"
            raise wrong(("max_frequency", f"{key_} and max_frequency are mutually exclusive", remedy))
        small = [i for i in range(len(self.size)) if h is not None and self.size[i] < h]
        if small:
            raise wrong(*[(f"size.{i}", self._too_small(i), 'give sizes in metres, or with a unit: "8 km"') for i in small])
        return self

    def _too_small(self, i):
        size, h = number(self.size[i]), number(self.resolution)
        return f"size along {self.axes[i]}, {size} m, is less than {self.resolution_key} = {h} m"

    @property
    def resolution_key(self):
        """Name of the key that gives the resolution in metres."""
        return "spacing"

    @property
    def resolution(self):
        """Distance of grid points (finite differences) or longest element edge (spectral elements), m; None: from max_frequency."""
        return getattr(self, self.resolution_key)

    @model_validator(mode="after")
    def _one_dimension(self):
        if len(self.size) == 3 and len(self.origin) == 2:
            raise wrong(("origin", "origin has 2 numbers but size has 3", "write origin = [x, y, z], or size = [x, z] for a 2-D domain"))
        if len(self.size) == 3 and self.waves in ("P-SV", "SH"):
            raise wrong(("waves", f"waves = {shown(self.waves)} is available only in 2-D; a 3-D run computes both P-SV and SH motion",
                         "leave waves out, or write size = [x, z]"))
        if len(self.size) == 2 and self.waves == "elastic":
            raise wrong(("waves", "in 2-D, P-SV and SH waves are separate runs", 'write waves = "P-SV" or "SH"'))
        return self

    @property
    def planar(self):
        """True where the (x, z) plane is computed."""
        return len(self.size) == 2

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

    @property
    def fine(self):
        """Distance at which functions of the ground are looked up, m; None where it is not known yet."""
        return self.spacing

    def points(self, spacing):
        """Points (nx, ny, nz) at this spacing (m): ``size / spacing + 1``, the last cell completed where the division leaves a rest."""
        return tuple(math.ceil(s / spacing - 1e-6) + 1 for s in self.extent)


class TimeSpan(Table):
    """When the run starts and ends (s after the origin time) and its step; None: chosen by the plan."""

    duration: Duration = key("10  # s")
    step: Duration | None = None
    start: Time | None = None

    @model_validator(mode="after")
    def _in_order(self):
        if self.start is not None and self.start >= self.duration:
            raise wrong(("start", f"start = {number(self.start)} s is not before the end, duration = {number(self.duration)} s",
                         "duration is the end time of the run, counted from the origin time t = 0"))
        length = self.duration - (self.start or 0.0)
        if self.step is not None and self.step > length:
            remedy = "leave step out to use the largest stable time step"
            raise wrong(("step", f"step = {number(self.step)} s is longer than the run, {number(length)} s", remedy))
        return self


class Cpml(Table):
    """Convolutional PML (Komatitsch & Martin 2007): points thick, ``reflection``, ``frequency`` of alpha (Hz), ``kappa_max``."""

    thickness: whole(least=1) = 10
    reflection: quantity("ratio", above=0, below=1) = 1e-5
    frequency: Frequency | None = None
    kappa_max: quantity("ratio", least=1) = 1.0


class Sponge(Table):
    """Sponge of Cerjan et al. (1985): points thick, ``strength`` a in exp(-(a d)^2) with d in points."""

    thickness: whole(least=1) = 20
    strength: quantity("ratio", above=0, most=1) = 0.015


_OTHER_FACES = {"stacey": "a1"}  # of spectral elements
_SIDES = ("cpml", "sponge", "a1", "rigid", "periodic")


def _side(value):
    if value == "free":
        raise wrong(("", "a free surface is possible only at the top", f"write one of {', '.join(map(shown, _SIDES))} here"))
    return value


TopKind = choice("free", *_SIDES, meant=_OTHER_FACES)
SideKind = Annotated[choice(*_SIDES, meant=_OTHER_FACES), BeforeValidator(_side)]


class Boundaries(Table):
    """Boundary conditions of the faces; ``others`` applies to faces not named, `face` gives the kind of one face.

    ``surface`` is the method for a free surface at the top.
    """

    top: TopKind = "free"
    surface: choice("sbp", "imaging", "imaging-2") = "sbp"
    others: SideKind = "cpml"
    west: SideKind | None = None
    east: SideKind | None = None
    south: SideKind | None = None
    north: SideKind | None = None
    bottom: SideKind | None = None
    cpml: Cpml = Cpml()
    sponge: Sponge = Sponge()

    @model_validator(mode="after")
    def _periodic_in_pairs(self):
        items = []
        for name, opposite in _OPPOSITE.items():
            if self.face(name) == "periodic" != self.face(opposite):
                where = name if getattr(self, name) is not None else "others"
                through = "" if where == name else " (from others)"
                items.append((where, f'{name} is "periodic"{through} but {opposite} is "{self.face(opposite)}"',
                              f'make both faces periodic, or set one of them: {opposite} = "periodic", or {name} = "cpml"'))
        if items:
            raise wrong(*items)
        return self

    def face(self, name):
        """The kind of the face ``"west"``, ``"east"``, ``"south"``, ``"north"``, ``"bottom"`` or ``"top"``."""
        if name not in FACES:
            raise KeyError(name)
        return getattr(self, name) or self.others


def _microseconds(seconds):
    snapped = round(seconds * 1e6) / 1e6
    if not snapped:
        raise wrong(("", f"{number(seconds)} s is shorter than one microsecond", "give the sampling interval in s"))
    return snapped


def _network(value):
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z0-9]{1,8}", value):
        raise wrong(("", f"{shown(value)} is not a network code", 'write 1 to 8 capital letters or digits; "XX" is for synthetic data'))
    return value


class Output(Table):
    """Waveform output: quantities, ``sampling`` interval (s, whole microseconds; None: each step), network code."""

    waveforms: many(choice(*QUANTITIES)) = ("velocity",)
    sampling: Annotated[Duration, AfterValidator(_microseconds)] | None = None
    network: Annotated[str, BeforeValidator(_network)] = "XX"

    @model_validator(mode="after")
    def _distinct(self):
        seen = self.waveforms
        twice = [i for i, v in enumerate(seen) if v in seen[:i]]
        if twice:
            raise wrong(*[(f"waveforms.{i}", f"{shown(seen[i])} is listed twice", "leave one of them out") for i in twice])
        return self


Precision = choice("float32", "float64", meant={"double": "float64", "single": "float32"})
Device = choice("auto", "cpu", "cuda", meant={"gpu": "cuda"})


def _three(grid):
    if len(grid) != 3:
        raise wrong(("", f"{shown(list(grid))} is not the number of ranks along x, y and z", "write [2, 2, 1]"))
    return grid


class Run(Table):
    """How it is computed: precision, device, space order of the differences and their weights, threads of the CPU (None: all).

    ``grid`` arranges several ranks along x, y and z, [2, 2, 1]; without it the fastest arrangement is looked for. ``checkpoint`` is the
    time of the clock after which the state is written again (s).
    """

    precision: Precision = "float32"
    device: Device = "auto"
    order: choice(2, 4, 6, 8, 10, 12, 14, 16) = 4
    weights: choice("taylor", "holberg") = "taylor"
    threads: whole(least=1) | None = None
    grid: Annotated[many(whole(least=1)), AfterValidator(_three)] | None = None
    checkpoint: Duration | None = None


def _some(sources):
    if not sources:
        raise wrong(("", "the scenario has no source", "add a [[source]] table with kind, at and wavelet"))
    return sources


def _names_differ(snapshots):
    names = [s.name for s in snapshots]
    twice = [i for i, n in enumerate(names) if n in names[:i]]
    if twice:
        remedy = "give each snapshot a unique name"
        raise wrong(*[(f"{i}.name", f"the snapshot name {shown(names[i])} is used twice", remedy) for i in twice])
    return snapshots


def _title(value):
    if not isinstance(value, str):
        raise wrong(("", f"{shown(value)} is not a string", 'write a title in quotes, "..."'))
    return value


Title = Annotated[str, BeforeValidator(_title)]
Method = choice("fd", "sem", "gravity")


class Scenario(Table):
    """A simulation of waves; equal scenarios give equal runs.

    Keys and values are those of the TOML file (docs/scenario.md): numbers in SI units, or strings with a unit. `craton.scenario.load`
    reads one from a file, `craton.scenario.dumps` writes it.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    title: Title = ""
    method: Method = "fd"
    domain: Domain = key("[domain] with origin, size and spacing")
    model: Model = key("[model] with kind, and vp, vs, rho or layers or file")
    time: TimeSpan = key("[time] with duration")
    boundaries: Boundaries = Boundaries()
    source: Annotated[several("source", Source), AfterValidator(_some)] = key("[[source]] with kind, at and wavelet")
    receivers: several("receivers", Receivers) = ()
    snapshots: Annotated[several("snapshots", Snapshot), AfterValidator(_names_differ)] = ()
    output: Output = Output()
    run: Run = Run()

    def __new__(cls, /, **values):
        """With ``method="gravity"`` a `craton.scenario.GravityScenario`, with "sem" a `SpectralScenario`, whose tables are others."""
        if values.get("method") == "gravity":
            from craton.scenario.gravity import GravityScenario

            return GravityScenario(**values)
        if values.get("method") == "sem":
            from craton.scenario.elements import SpectralScenario as cls
        return super().__new__(cls)

    def __init__(self, /, **values):
        try:
            super().__init__(**values)
        except ValidationError:
            from craton.scenario.problems import diagnose

            raise ScenarioError(diagnose(values)[1]) from None

    @model_validator(mode="before")
    @classmethod
    def _functions_are_sampled(cls, values):
        return sampled(values, cls.model_fields["domain"].annotation)

    @model_validator(mode="after")
    def _one_space(self):
        """Positions have two or three coordinates like the domain; all sources belong to shots, or none; a plane cannot have everything."""
        items = (plane_problems(self) if self.domain.planar else space_problems(self)) + shot_problems(self)
        items += of_elements(self) if self.method == "fd" else of_differences(self)
        if items:
            raise wrong(*items)
        return self

    @model_validator(mode="after")
    def _sampling_not_below_step(self):
        step, sampling = self.time.step, self.output.sampling
        if step is not None and sampling is not None and sampling < step * (1 - 1e-9):
            raise wrong(("output.sampling", f"sampling = {number(sampling)} s is shorter than the time step, {number(step)} s",
                         "leave sampling out to store every step"))
        return self

    @property
    def warnings(self):
        """Suspicious magnitudes, one sentence each with the unit that was probably meant: list of str."""
        from craton.scenario.suspicions import suspicions

        return suspicions(self)
