"""Sources and their wavelets, as a scenario states them."""
from typing import Literal

from pydantic import model_validator

from craton.tables.fields import (
    At,
    Duration,
    FilePath,
    Frequency,
    Table,
    Text,
    Time,
    in_space_or_plane,
    key,
    many,
    quantity,
    refuse,
    spatial,
    tagged,
    union,
    whole,
    wrong,
)
from craton.tables.receivers import Line
from craton.text import listed

Moment = quantity("moment", above=0)
TensorMoment = quantity("moment")
Force = quantity("force")
Angle = quantity("angle", least=-360, most=360)
Dip = quantity("angle", least=0, most=90)
Magnitude = quantity("ratio", least=-10, most=10.5)
Value = quantity("ratio")


class _Wavelet(Table):
    """What wavelets share: ``delay``, the time of the centre (of the onset for brune and kuepper), s.

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


class Brune(_Wavelet):
    """The omega-squared pulse of Brune (1970), unit area, with its ``corner_frequency`` (Hz)."""

    kind: Literal["brune"] = "brune"
    corner_frequency: Frequency = key("1  # Hz")


class Kuepper(_Wavelet):
    """The wavelet of Kuepper (1958), peak 1, ``duration`` (s) long with a number of ``extrema``."""

    kind: Literal["kuepper"] = "kuepper"
    duration: Duration = key("0.5  # s")
    extrema: whole(least=1, most=20) = 2


class Samples(_Wavelet):
    """A sampled wavelet: ``times`` (s) and ``values``, or a text ``file`` with these two columns."""

    kind: Literal["samples"] = "samples"
    file: FilePath | None = None
    times: many(Time) | None = None
    values: many(Value) | None = None

    @model_validator(mode="after")
    def _consistent(self):
        refuse(_samples_problems(self.file, self.times, self.values))
        return self


def _samples_problems(file, times, values):
    keys = [n for n, v in (("file", file), ("times", times), ("values", values)) if v is not None]
    if keys not in (["file"], ["times", "values"]):
        message = f"{listed(keys, 'and')} are mutually exclusive" if keys else "missing: no samples are given"
        message = f"only {keys[0]} is given" if len(keys) == 1 else message
        return [("", message, "give either file, or both times and values")]
    if file is not None:
        return []
    if len(times) != len(values):
        return [("values", f"{len(values)} values are given for {len(times)} times", "give one value for each time")]
    if len(times) < 4:
        return [("times", f"{len(times)} samples are too few", "cubic interpolation needs at least 4 samples")]
    bad = next((i for i in range(1, len(times)) if not times[i] > times[i - 1]), None)
    message, remedy = f"time {bad} is not after the previous one", "list times in increasing order"
    return [] if bad is None else [(f"times.{bad}", message, remedy)]


Wavelet = tagged(
    "wavelet", "kind",
    gaussian=Gaussian, ricker=Ricker, gaussian_derivative=GaussianDerivative, brune=Brune, kuepper=Kuepper, samples=Samples,
)  # fmt: skip

_AT = "[2000, 4000, -2500]  # m, or { x =, y =, depth = }"
_WAVELET = '{ kind = "gaussian", tau = 0.1 }'


class _Source(Table):
    """What sources share: where, when, and a name for lists (``source 1`` without).

    A model can be shot at many times: sources with the same ``shot`` (a name) act together, and ``shots``, a line of places instead of
    ``at``, makes one shot of each. In the (x, z) plane all shots make one run, in space `craton survey` runs one after the other.
    """

    name: Text | None = None
    at: At | None = None
    shot: Text | None = None
    shots: Line | None = None
    wavelet: Wavelet = key(_WAVELET)

    @model_validator(mode="after")
    def _one_place(self):
        if self.at is None and self.shots is None:
            raise wrong(("at", 'missing: "at" is required', f"write at = {_AT}"))
        remedy = "shots gives one position for each shot: leave {} or shots out"
        names = [n for n in ("at", "shot") if self.shots is not None and getattr(self, n) is not None]
        refuse([(n, f"{n} and shots are mutually exclusive", remedy.format(n)) for n in names])
        return self


class Tensor(Table):
    """A moment tensor, east-north-up, N m; what is left out is zero."""

    xx: TensorMoment = 0.0
    yy: TensorMoment = 0.0
    zz: TensorMoment = 0.0
    xy: TensorMoment = 0.0
    xz: TensorMoment = 0.0
    yz: TensorMoment = 0.0


class CmtTensor(Table):
    """A moment tensor as the Global CMT catalogue has it: r up, t south, p east, N m; what is left out is zero."""

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
    return "CmtTensor" if isinstance(value, dict) and set(CmtTensor.model_fields) & set(value) else "Tensor"


AnyTensor = union(_kind_of_tensor, Tensor, CmtTensor)
_MECHANISM = ("strike", "dip", "rake")


class MomentTensor(_Source):
    """A double couple by ``strike dip rake`` (deg) and ``moment`` (N m) or ``magnitude`` (Mw), or any ``tensor``."""

    kind: Literal["moment_tensor"] = "moment_tensor"
    strike: Angle | None = None
    dip: Dip | None = None
    rake: Angle | None = None
    moment: Moment | None = None
    magnitude: Magnitude | None = None
    tensor: AnyTensor | None = None

    @model_validator(mode="after")
    def _one_mechanism(self):
        names = [n for n in (*_MECHANISM, "moment", "magnitude") if getattr(self, n) is not None]
        refuse(_tensor_problems(names) if self.tensor is not None else _double_couple_problems(names))
        return self


def _tensor_problems(names):
    message = "{} and tensor are mutually exclusive: the tensor holds the whole mechanism"
    remedy = "leave out tensor, or strike, dip, rake, moment and magnitude"
    return [(name, message.format(name), remedy) for name in names]


def _double_couple_problems(names):
    message, remedy = "missing: the {} of the double couple", "write {} = 0  # deg; or give tensor = {{ xy = 1e18 }}"
    items = [(n, message.format(n), remedy.format(n)) for n in _MECHANISM if n not in names]
    if "moment" not in names and "magnitude" not in names:
        items.append(("moment", "missing: the size of the source", "write moment = 1e18  # N m; or magnitude = 5.9"))
    if "moment" in names and "magnitude" in names:
        items.append(("magnitude", "moment and magnitude are mutually exclusive", "leave one of them out"))
    return items


class Explosion(_Source):
    """An isotropic source of ``moment`` (N m) on each of the three diagonal components."""

    kind: Literal["explosion"] = "explosion"
    moment: Moment = key("1e15  # N m")


class PointForce(_Source):
    """A ``force`` [fx, fy, fz] in N; in the (x, z) plane also [fx, fz], N per metre across it."""

    kind: Literal["force"] = "force"
    force: in_space_or_plane(Force, ("fx", "fy", "fz"), "N") = key("[0, 0, 1e10]  # N")

    @model_validator(mode="after")
    def _not_zero(self):
        if not any(self.force):
            raise wrong(("force", "the force is zero", "give at least one component, N"))
        return self

    @property
    def vector(self):
        """East, north, up, N."""
        return spatial(self.force)
