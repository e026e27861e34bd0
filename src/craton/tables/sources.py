"""Sources, their wavelets and their files, and wavefields recorded and injected around a box, as a scenario states them."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, create_model

from craton.conventions import MAGNITUDES
from craton.io import formats
from craton.tables.fields import (
    Distance,
    Duration,
    FilePath,
    Flag,
    Frequency,
    Latitude,
    Length,
    Longitude,
    Table,
    Text,
    Time,
    choice,
    exactly_one,
    in_space_or_plane,
    key,
    many,
    quantity,
    tagged,
    union,
    unique_names,
    whole,
    wrong,
)
from craton.tables.receivers import AnyAt, Line, Points, Side, SnapshotName
from craton.text import listed, number

# tables that users build in Python: names of `craton`
__all__ = [
    "Brune",
    "CmtSolution",
    "CmtTensor",
    "Explosion",
    "ForceSolution",
    "Fsp",
    "Gaussian",
    "GaussianDerivative",
    "InjectedPlaneWave",
    "InjectedWavefield",
    "Injection",
    "Kuepper",
    "Lowpass",
    "MomentTensor",
    "PlaneWave",
    "PointForce",
    "QuakeMl",
    "Recording",
    "Ricker",
    "Samples",
    "SourceTable",
    "Srf",
    "Tensor",
]

Moment = quantity("moment", above=0)
TensorMoment = quantity("moment")
Force = quantity("force")
Angle = quantity("angle", least=-360, most=360)
Dip = quantity("angle", least=0, most=90)
Magnitude = quantity("ratio", least=MAGNITUDES[0], most=MAGNITUDES[1])
Value = quantity("ratio")


class _Wavelet(Table):
    """What wavelets share: ``delay``, the time of the centre (of the onset for brune and kuepper),
    s.

    None leaves it at t = 0 and lets the run start early enough.
    """

    delay: Time | None = None


class Gaussian(_Wavelet):
    """A Gaussian of unit area and standard deviation ``tau`` (s)."""

    kind: Literal["gaussian"] = "gaussian"
    tau: Duration = key("0.1  # s, standard deviation")


class Ricker(_Wavelet):
    """A Ricker wavelet of peak 1 with the peak ``frequency`` (Hz)."""

    kind: Literal["ricker"] = "ricker"
    frequency: Frequency = key("5  # Hz, peak frequency")


class GaussianDerivative(_Wavelet):
    """The derivative of a Gaussian of standard deviation ``tau`` (s), peak 1."""

    kind: Literal["gaussian_derivative"] = "gaussian_derivative"
    tau: Duration = key("0.1  # s, standard deviation of the Gaussian")


class Lowpass(_Wavelet):
    """An impulse of unit area and zero phase whose spectrum falls smoothly to 0.1 at ``frequency``
    (Hz).
    """

    kind: Literal["lowpass"] = "lowpass"
    frequency: Frequency = key("5  # Hz, where its spectrum is 0.1")


class Brune(_Wavelet):
    """The omega-squared pulse of Brune (1970), unit area, with its ``corner_frequency`` (Hz)."""

    kind: Literal["brune"] = "brune"
    corner_frequency: Frequency = key("1  # Hz")


class Kuepper(_Wavelet):
    """The wavelet of Kuepper (1958), peak 1, ``duration`` (s) long with a number of ``extrema``."""

    kind: Literal["kuepper"] = "kuepper"
    duration: Duration = key("0.5  # s")
    extrema: whole(least=1, most=20) = 2
    normalize: Flag = False


class Samples(_Wavelet):
    """A sampled wavelet: ``times`` (s) and ``values``, or a text ``file`` with these two columns."""

    kind: Literal["samples"] = "samples"
    file: FilePath | None = None
    times: many(Time) | None = None
    values: many(Value) | None = None
    normalize: Flag = False

    def _problems(self):
        times, values = self.times, self.values
        keys = [name for name in ("file", "times", "values") if getattr(self, name) is not None]
        if keys not in (["file"], ["times", "values"]):
            message = f"{listed(keys, 'and')} are mutually exclusive" if keys else "missing: no samples are given"
            message = f"only {keys[0]} is given" if len(keys) == 1 else message
            yield "", message, "give either file, or both times and values"
        elif self.file is None:
            yield from sample_problems(times, values)


def sample_problems(times, values):
    """Yield why samples, at times in s, make no wavelet: (key, message, remedy)."""
    if len(times) != len(values):
        yield "values", f"{len(values)} values are given for {len(times)} times", "give one value for each time"
        return
    if len(times) < 4:
        yield "times", f"{len(times)} samples are too few", "cubic interpolation needs at least 4 samples"
    for n in np.flatnonzero(~np.isfinite(np.add(times, values)))[:1]:
        yield "values", f"sample {n + 1} is not finite", "leave it out"
    for n in np.flatnonzero(np.diff(times) <= 0)[:1]:
        message = f"time {times[n + 1]:g} s is not after the previous one, {times[n]:g} s"
        yield f"times.{n + 1}", message, "list times in increasing order"
    if not np.any(values):
        yield "values", "all samples are zero", "give the values of a wavelet"


Wavelet = tagged(
    "wavelet",
    "kind",
    gaussian=Gaussian,
    ricker=Ricker,
    gaussian_derivative=GaussianDerivative,
    lowpass=Lowpass,
    brune=Brune,
    kuepper=Kuepper,
    samples=Samples,
)

MOST_SHOTS = 100_000


def _few_shots(line):
    if line.count > MOST_SHOTS:
        message = f"{line.count} shots are more than the {MOST_SHOTS:,} that one survey can have"
        raise wrong(("count", message, "write fewer, or split the survey"))
    return line


def _kind_of_shots(value):
    return "Line" if isinstance(value, dict) else "Points"


_AT = "[2000, 4000, -2500]  # m, or { x =, y =, depth = }"
_WAVELET = '{ kind = "gaussian", tau = 0.1 }'


class _Source(Table):
    """What sources share: where, when, and a name for lists (``source 1`` without).

    A model can be shot at many times: sources with the same ``shot`` (a name) act together, and
    ``shots``, a line or a list of places instead of ``at``, makes one shot of each; at a list of
    places in ``at`` the source acts at all of them together. In the (x, z) plane all shots make one
    run, in space `craton survey` runs one after the other.
    """

    name: Text | None = None
    at: AnyAt | None = None
    side: Side | None = None
    shot: Text | None = None
    shots: Annotated[union(_kind_of_shots, Line, Points), AfterValidator(_few_shots)] | None = None
    wavelet: Wavelet = key(_WAVELET)

    def _problems(self):
        if self.at is None and self.shots is None:
            yield "at", 'missing: "at" is required', f"write at = {_AT}"
        for name in ("at", "shot"):
            if self.shots is not None and getattr(self, name) is not None:
                remedy = f"shots gives one position for each shot: leave {name} or shots out"
                yield name, f"{name} and shots are mutually exclusive", remedy


class Tensor(Table):
    """A moment tensor, east-north-up, N m; what is left out is zero."""

    xx: TensorMoment = 0.0
    yy: TensorMoment = 0.0
    zz: TensorMoment = 0.0
    xy: TensorMoment = 0.0
    xz: TensorMoment = 0.0
    yz: TensorMoment = 0.0


class CmtTensor(Table):
    """A moment tensor as the Global CMT catalogue has it: r up, t south, p east, N m; what is left
    out is zero.
    """

    rr: TensorMoment = 0.0
    tt: TensorMoment = 0.0
    pp: TensorMoment = 0.0
    rt: TensorMoment = 0.0
    rp: TensorMoment = 0.0
    tp: TensorMoment = 0.0

    @property
    def six(self):
        """The components in the order of a CMTSOLUTION."""
        return tuple(getattr(self, name) for name in ("rr", "tt", "pp", "rt", "rp", "tp"))


def _kind_of_tensor(value):
    is_cmt = isinstance(value, dict) and set(CmtTensor.model_fields) & set(value)
    return "CmtTensor" if is_cmt else "Tensor"


AnyTensor = union(_kind_of_tensor, Tensor, CmtTensor)
_MECHANISM = ("strike", "dip", "rake")


class MomentTensor(_Source):
    """A double couple by ``strike dip rake`` (deg) and ``moment`` (N m) or ``magnitude`` (Mw), or
    any ``tensor``.
    """

    kind: Literal["moment_tensor"] = "moment_tensor"
    strike: Angle | None = None
    dip: Dip | None = None
    rake: Angle | None = None
    moment: Moment | None = None
    magnitude: Magnitude | None = None
    tensor: AnyTensor | None = None

    def _problems(self):
        yield from super()._problems()
        names = [n for n in (*_MECHANISM, "moment", "magnitude") if getattr(self, n) is not None]
        for name in names if self.tensor is not None else ():
            message = f"{name} and tensor are mutually exclusive: the tensor holds the whole mechanism"
            yield name, message, "leave out tensor, or strike, dip, rake, moment and magnitude"
        if self.tensor is not None:
            return
        for name in [name for name in _MECHANISM if name not in names]:
            remedy = f"write {name} = 0  # deg; or give tensor = {{ xy = 1e18 }}"
            yield name, f"missing: the {name} of the double couple", remedy
        if self.moment is None and self.magnitude is None:
            yield "moment", "missing: the size of the source", "write moment = 1e18  # N m; or magnitude = 5.9"
        elif self.moment is not None and self.magnitude is not None:
            yield "magnitude", "moment and magnitude are mutually exclusive", "leave one of them out"


class Explosion(_Source):
    """An isotropic source of ``moment`` (N m) on each of the three diagonal components."""

    kind: Literal["explosion"] = "explosion"
    moment: Moment = key("1e15  # N m")


class PointForce(_Source):
    """A ``force`` [fx, fy, fz] in N; in the (x, z) plane also [fx, fz], N per metre across it."""

    kind: Literal["force"] = "force"
    force: in_space_or_plane(Force, ("fx", "fy", "fz"), "N") = key("[0, 0, 1e10]  # N")

    def _problems(self):
        yield from super()._problems()
        if not any(self.force):
            yield "force", "the force is zero", "give at least one component, N"


Coordinates = choice(
    "geographic", "metres", meant={"utm": "metres", "UTM": "metres", "m": "metres", "meters": "metres"}
)
Incidence = quantity("angle", least=0, below=90)
Velocity = quantity("velocity")
Wave = choice("P", "SV", "SH", meant={"p": "P", "S": "SV", "s": "SV", "sv": "SV", "sh": "SH"})


class _Elsewhere(Table):
    """A source whose place is not in the scenario, and that belongs to no shot."""

    at: ClassVar[None] = None
    shot: ClassVar[None] = None
    shots: ClassVar[None] = None
    side: ClassVar[None] = None


class _SourceFile(_Elsewhere):
    """What sources from files share: where the file is, how to read its positions, a name for
    lists.
    """

    name: Text | None = None
    file: FilePath
    coordinates: Coordinates = "geographic"


class CmtSolution(_SourceFile):
    """Moment tensors of a CMTSOLUTION ``file`` (Global CMT, SPECFEM); a ``wavelet`` takes the place
    of its half duration.
    """

    kind: Literal["cmtsolution"] = "cmtsolution"
    convention: choice("rtp", "ned") = "rtp"
    wavelet: Wavelet | None = None


class ForceSolution(_SourceFile):
    """Point forces of a FORCESOLUTION ``file`` (SPECFEM3D Cartesian); a ``wavelet`` takes the place
    of its own.
    """

    kind: Literal["forcesolution"] = "forcesolution"
    wavelet: Wavelet | None = None


class SourceTable(_Elsewhere):
    """Point sources of a CSV ``file``, a row for each; a ``wavelet`` takes the place of their half
    durations.
    """

    kind: Literal["csv"] = "csv"
    name: Text | None = None
    file: FilePath
    wavelet: Wavelet | None = None


class Srf(_SourceFile):
    """A kinematic finite fault: a Standard Rupture Format ``file``, version 1.0 or 2.0."""

    kind: Literal["srf"] = "srf"


class Fsp(_Elsewhere):
    """A kinematic finite fault: an FSP ``file`` of the USGS or SRCMOD, whose coordinates mark the
    center of ``subfaults`` or their "top".
    """

    kind: Literal["fsp"] = "fsp"
    name: Text | None = None
    file: FilePath
    subfaults: choice("center", "top", meant={"centre": "center"}) = "center"


class QuakeMl(_Elsewhere):
    """The event of a QuakeML ``file``: its moment tensor, or its nodal plane and magnitude; a
    ``wavelet`` where it states no duration.
    """

    kind: Literal["quakeml"] = "quakeml"
    name: Text | None = None
    file: FilePath
    wavelet: Wavelet | None = None


class PlaneWave(_Elsewhere):
    """A plane wave that rises from a horizontal plane at ``z`` or ``depth``: ``velocity`` (m/s)
    times the wavelet, there.
    """

    kind: Literal["plane_wave"] = "plane_wave"
    name: Text | None = None
    wave: Wave = key('"SV"  # or "P", "SH"')
    azimuth: Angle = 0.0
    incidence: Incidence = 0.0
    z: Length | None = None
    depth: Length | None = None
    velocity: Velocity = 1.0
    wavelet: Wavelet = key(_WAVELET)

    def _problems(self):
        remedy = "give z (m, up) or depth (m) of the plane from which the wave starts"
        yield from exactly_one(self, ("z", "depth"), remedy, "z")
        if self.incidence:
            message = "only vertical incidence, 0, is supported: an oblique wave is not periodic along x and y"
            yield "incidence", f"{number(self.incidence)} deg: {message}", "leave incidence out"
        if not self.velocity:
            remedy = "give the peak particle velocity of the incident wave, m/s"
            yield "velocity", "the velocity is zero", remedy

    @property
    def height(self):
        """Elevation z of the plane, metres."""
        return self.z if self.depth is None else 0.0 - self.depth


FILES = {
    "csv": SourceTable,
    "cmtsolution": CmtSolution,
    "forcesolution": ForceSolution,
    "fsp": Fsp,
    "srf": Srf,
    "quakeml": QuakeMl,
}


def _keys_of(kind):
    """Return the table of a format; one that has no class here takes the keys of a FORCESOLUTION."""
    return FILES.get(kind) or create_model(kind.title(), __base__=ForceSolution, kind=(Literal[kind], kind))


# by kind; those of point sources have a row in MECHANISMS of survey/sources.py as well
IN_THE_PLANE = {"moment_tensor": MomentTensor, "explosion": Explosion, "force": PointForce, "plane_wave": PlaneWave}
Source = tagged("source", "kind", **IN_THE_PLANE, **{row.name: _keys_of(row.name) for row in formats("source")})


class _AroundABox(Table):
    """What lies on the sides of a box with the corners ``from_`` and ``to``."""

    def _problems(self):
        if len(self.from_) != len(self.to):
            yield "to", "from and to have different lengths", "write both as [x, y, z]"
        elif any(a >= b for a, b in zip(self.from_, self.to)):
            remedy = "from is the lower south-west corner, to the upper north-east one"
            yield "to", "the box ends before it begins", remedy


class Recording(_AroundABox):
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
        yield from super()._problems()
        alone = () if self.longitude is not None else ("azimuth",)
        for name in ("thickness", "origin", *alone):
            if self.sampling is None and getattr(self, name):
                yield name, f"{name} needs a recording at points", "add sampling, the distance of the points, m"
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


class InjectedWavefield(_AroundABox):
    """An incident wavefield of another program, which enters through the sides of the box with the
    corners ``from`` and ``to`` (m): velocity or displacement, and stress or strain, at points around
    these sides. ``at`` is added to the positions in the file.
    """

    file: FilePath = key('"wavefield.nc"')
    from_: in_space_or_plane(Length, "xyz", "m") = key("[4_000, 4_000, -3_000]  # m", alias="from")
    to: in_space_or_plane(Length, "xyz", "m") = key("[6_000, 6_000, 0]  # m")
    at: in_space_or_plane(Length, "xyz", "m") | None = None


class InjectedPlaneWave(_AroundABox):
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
        yield from super()._problems()
        if not self.velocity:
            yield "velocity", "the velocity is zero", "give the peak particle velocity of the incident wave, m/s"


Recordings = Annotated[
    many(Recording, "recording"),
    unique_names("the name {} of a recording is used twice", "give each one a unique name"),
]
Injections = many(
    tagged("injection", None, recorded=Injection, wave=InjectedPlaneWave, file=InjectedWavefield), "injection"
)
