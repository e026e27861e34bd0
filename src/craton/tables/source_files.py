"""Sources that stand in files of other programs, plane waves, and all kinds of source together."""

from typing import ClassVar, Literal

from pydantic import create_model

from craton.io import formats
from craton.tables.fields import FilePath, Length, Table, Text, choice, exactly_one, key, quantity, tagged
from craton.tables.sources import _WAVELET, Angle, Explosion, MomentTensor, PointForce, Wavelet
from craton.text import number

Coordinates = choice(
    "geographic", "metres", meant={"utm": "metres", "UTM": "metres", "m": "metres", "meters": "metres"}
)
Incidence = quantity("angle", least=0, below=90)
Velocity = quantity("velocity")


class _Elsewhere(Table):
    """A source whose place is not in the scenario, and that belongs to no shot."""

    at: ClassVar[None] = None
    shot: ClassVar[None] = None
    shots: ClassVar[None] = None


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
    wave: choice("P", "SV", "SH", meant={"p": "P", "S": "SV", "s": "SV", "sv": "SV", "sh": "SH"}) = key(
        '"SV"  # or "P", "SH"'
    )
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


Source = tagged(
    "source",
    "kind",
    moment_tensor=MomentTensor,
    explosion=Explosion,
    force=PointForce,
    plane_wave=PlaneWave,
    **{row.name: _keys_of(row.name) for row in formats("source")},
)
