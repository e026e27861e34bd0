"""Tables of a finite-difference scenario, method = "fd": domain, boundaries, run; and keys of other
methods that it may meet.
"""

from typing import Annotated

from craton.conventions import FACES
from craton.tables.consistency import grid_rest, off_plane, positions, shallow, silence, sizes, velocities
from craton.tables.fields import (
    Distance,
    Frequency,
    Length,
    Table,
    choice,
    in_space_or_plane,
    key,
    must,
    quantity,
    whole,
)
from craton.tables.foreign import Foreign
from craton.tables.medium import RADIAL, LayerSpeeds
from craton.tables.schema import Geographic, RankGrid, Volume, WaveRun, WaveScenario
from craton.text import shown

OPPOSITE = {"west": "east", "east": "west", "south": "north", "north": "south", "bottom": "top", "top": "bottom"}


class Domain(Volume):
    """The box that is computed: lower south-west corner ``origin``, ``size`` (m), and ``spacing``
    (m) or ``max_frequency`` (Hz).

    A size of two numbers, [x, z], is the vertical plane: 2-D, with motion in it (``waves =
    "P-SV"``) or across it (``"SH"``). Left out, waves are ``"acoustic"`` where vs = 0 everywhere
    and nothing needs shear, else ``"elastic"`` (in the plane ``"P-SV"``).
    """

    origin: in_space_or_plane(Length, "xyz", "m") = key("[0, 0, -10_000]  # m, lower south-west corner (x, y, z)")
    size: in_space_or_plane(Distance, "xyz", "m") = key("[20_000, 20_000, 10_000]  # m")
    waves: choice("P-SV", "SH", "elastic", "acoustic") | None = None
    spacing: Distance | None = None
    vertical_spacing: Distance | None = None
    max_frequency: Frequency | None = None
    points_per_wavelength: quantity("ratio", least=2, most=100) = 6.0
    geographic: Geographic | None = None

    def _problems(self):
        yield from self._resolution_problems()
        if len(self.size) == 3 and len(self.origin) == 2:
            remedy = "write origin = [x, y, z], or size = [x, z] for a 2-D domain"
            yield "origin", "origin has 2 numbers but size has 3", remedy
        elif len(self.size) == 3 and self.waves in ("P-SV", "SH"):
            message = (
                f"waves = {shown(self.waves)} is available only in 2-D; a 3-D run computes both P-SV and SH motion"
            )
            yield "waves", message, "leave waves out, or write size = [x, z]"
        elif len(self.size) == 2 and self.waves == "elastic":
            message = "in 2-D, P-SV and SH waves are separate runs"
            yield "waves", message, 'write waves = "P-SV" or "SH"'


class Cpml(LayerSpeeds):
    """Convolutional PML (Komatitsch & Martin 2007): points thick, ``reflection``, ``frequency`` of
    alpha (Hz), ``kappa_max``.
    """

    thickness: whole(least=1) = 10
    reflection: quantity("ratio", above=0, below=1) = 1e-5
    frequency: Frequency | None = None
    kappa_max: quantity("ratio", least=1) = 1.0


class Sponge(Table):
    """Sponge of Cerjan et al.

    (1985): points thick, ``strength`` a in exp(-(a d)^2) with d in points.
    """

    thickness: whole(least=1) = 20
    strength: quantity("ratio", above=0, most=1) = 0.015


SIDES = ("cpml", "sponge", "a1", "rigid", "periodic")
_MEANT = {"stacey": "a1"}  # of spectral elements


TopKind = choice("free", *SIDES, meant=_MEANT)
SideKind = Annotated[
    choice(*SIDES, meant=_MEANT),
    must(
        lambda value: value != "free",
        "a free surface is possible only at the top",
        f"write one of {', '.join(map(shown, SIDES))} here",
    ),
]


class Boundaries(Table):
    """Boundary conditions of the faces; ``others`` applies to faces not named, `face` gives the
    kind of one face.

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

    def _problems(self):
        for name, opposite in OPPOSITE.items():
            kind = self.face(opposite)
            if self.face(name) == "periodic" != kind:
                key_, through = (name, "") if getattr(self, name) is not None else ("others", " (from others)")
                message = f'{name} is "periodic"{through} but {opposite} is "{kind}"'
                remedy = "make both faces periodic, or set one of them"
                yield key_, message, f'{remedy}: {opposite} = "periodic", or {name} = "cpml"'

    def face(self, name):
        """Return the kind of the face ``"west"``, ``"east"``, ``"south"``, ``"north"``,
        ``"bottom"`` or ``"top"``.

        Parameters
        ----------
        name : str

        Raises
        ------
        KeyError
            There is no such face.
        """
        if name not in FACES:
            raise KeyError(name)
        return getattr(self, name) or self.others


class Run(WaveRun):
    """Precision, device, threads and checkpoints; ``order`` in space of the differences and their
    ``weights``.

    ``storage = "half"`` keeps fields and material in 16 bits, with arithmetic in float32: half the
    memory, for what `craton plan` states of the error.
    ``grid`` arranges several ranks along x, y and z, [2, 2, 1]; without it the fastest arrangement
    is looked for.
    """

    order: choice(2, 4, 6, 8, 10, 12, 14, 16) = 4
    weights: choice("taylor", "holberg") = "taylor"
    storage: choice("full", "half") = "full"
    grid: RankGrid | None = None


_SEM = 'available only with method = "sem"'
_RADIAL = f"{{value}} is a radial Earth model, {_SEM}"
_LAYERS = 'write method = "sem" and domain.chunk, or kind = "layers" (with file = a table)'
_REGIONS = f"regions of a mesh are {_SEM}"
_KINDS = 'write kind = "homogeneous", "layers" or "file"'
_STIFFNESS = f"stiffness (21 elastic constants) is {_SEM}"
_THOMSEN = "give vp, vs, and epsilon, delta, gamma"
_SURFACE = f"surface = true is {_SEM}"
FOREIGN = (
    Foreign("model.kind", RADIAL, (_RADIAL, _LAYERS)),
    Foreign("model.kind", ("regions",), (_REGIONS, _KINDS)),
    Foreign("model.regions", lambda _, model: model.get("kind") != "regions", (_REGIONS, "leave regions out")),
    Foreign("model.**.stiffness", refused=(_STIFFNESS, _THOMSEN)),
    Foreign("snapshots.*.plane.surface", lambda value, _: value is True, (_SURFACE, "write plane = { z = 0 }"), up=1),
)


class FiniteDifferenceScenario(WaveScenario):
    """A run of elastic or acoustic waves by finite differences: method = "fd" in TOML, which may be
    left out.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    FOREIGN = FOREIGN
    method: choice("fd") = "fd"
    domain: Domain = key("[domain] with origin, size and spacing")
    boundaries: Boundaries = Boundaries()
    run: Run = Run()

    @property
    def warnings(self):
        """Suspicious values and notes on keys of other methods, one sentence each: list of str."""
        domain = self.domain
        of_tables = [*velocities(self.model), *sizes(domain), *grid_rest(domain), *positions(self)]
        return [*super().warnings, *of_tables, *off_plane(self), *shallow(self), *silence(self), *one_way(self)]


def one_way(scenario):
    """Yield what makes seismograms of a store of Green's functions differ from those of runs."""
    boundaries = scenario.boundaries
    has_a1 = "a1" in map(boundaries.face, FACES)
    for words, holds, remedy in (
        ('"a1" faces', has_a1, 'use "cpml" or "sponge"'),
        (f'surface = "{boundaries.surface}"', boundaries.surface != "sbp", "leave it out"),
    ):
        if scenario.greens is not None and holds:
            yield f"greens: runs are not reciprocal with {words}, seismograms may be off by several percent: {remedy}"
