"""Tables of a spectral-element scenario, method = "sem": domain, boundaries, output, run; and keys
of other methods that it may meet.
"""

from typing import Any, ClassVar

from pydantic import PrivateAttr

from craton.conventions import FACES
from craton.methods.spectral_element.mesh.chunk_options import Chunk, beside_chunk, chunk_problems
from craton.tables.consistency import positions, shallow, silence, sizes, velocities
from craton.tables.fields import (
    Distance,
    FilePath,
    Flag,
    Frequency,
    Length,
    Table,
    Text,
    Xyz,
    as_list,
    choice,
    key,
    many,
    quantity,
    triple,
    whole,
)
from craton.tables.foreign import Foreign
from craton.tables.medium import LayerSpeeds
from craton.tables.schema import Geographic, Output, Volume, WaveRun, WaveScenario
from craton.text import listed, number


class Refinement(Table):
    """Elements ``below`` an elevation (m) are ``factor`` (2 or 3) times larger."""

    below: Length = key("-5000  # m, elevation")
    factor: choice(2, 3) = 2


class ElementDomain(Volume):
    """The meshed volume: a box of elements, a mesh file, or a chunk of the Earth.

    A box has its lower south-west corner ``origin``, its ``size`` (m), and either ``element_size``,
    the longest element edge (m), or ``max_frequency`` (Hz). ``points_per_wavelength`` counts GLL
    points at their average distance, element edge over ``run.degree``. ``refine`` lists coarser
    elements below elevations, from the top down.
    """

    RESOLUTION: ClassVar[str] = "element_size"
    RELIEF_SAMPLES: ClassVar[int] = 4

    origin: Xyz | None = key("[0, 0, -10_000]  # m, lower south-west corner (x, y, z)", None)
    size: triple(Distance, "xyz", "m") | None = key("[20_000, 20_000, 10_000]  # m", None)
    waves: choice("elastic", "acoustic") | None = None
    element_size: Distance | None = None
    max_frequency: Frequency | None = None
    points_per_wavelength: quantity("ratio", least=2, most=100) = 5.0
    geographic: Geographic | None = None
    mesh: FilePath | None = None
    refine: many(Refinement) = ()
    chunk: Chunk | None = None
    _globe: Any = PrivateAttr(None)

    def _problems(self):
        if self.chunk is not None:
            yield from beside_chunk(self)
        elif self.mesh is not None:
            for name in ("origin", "size", "element_size", "max_frequency", "refine"):
                if getattr(self, name):
                    message = f"{name} and mesh are mutually exclusive: the mesh file defines the domain"
                    yield name, message, f"leave {name} or mesh out"
        elif self.origin is None or self.size is None:
            for name in ("origin", "size"):
                if getattr(self, name) is None:
                    example = type(self).model_fields[name].examples[0].partition("  #")[0]
                    message = f'missing: "{name}" is required'
                    yield name, message, f'write {name} = {example}; or mesh = "file"'
        else:
            yield from self._resolution_problems()
            yield from _refinement_problems(self)

    @property
    def boxed(self):
        """True for a box of elements, which has no mesh file and is no chunk of the Earth."""
        return self.mesh is None and self.chunk is None

    def within(self, lower, upper):
        """Return the domain of a mesh file with the box around its nodes, corners (x, y, z) in m.

        Parameters
        ----------
        lower, upper : sequence of float
            Corners (x, y, z), m.
        """
        size = tuple(float(b - a) for a, b in zip(lower, upper))
        return self.model_copy(update={"origin": tuple(map(float, lower)), "size": size})

    def on(self, globe):
        """Return the domain with the `Globe` that turns places on Earth into positions in its axes.

        Parameters
        ----------
        globe : Globe
        """
        domain = self.model_copy()
        domain._globe = globe
        return domain

    @property
    def globe(self):
        """The `Globe` given to `on`, or None."""
        return self._globe


def _refinement_problems(domain):
    """Elevations of refinements that do not fall, or are outside the box."""
    bottom, above = domain.origin[2], None
    for i, z in enumerate(entry.below for entry in domain.refine):
        if above is not None and not z < above:
            message = f"{number(z)} m is not below the previous elevation, {number(above)} m"
            yield f"refine.{i}.below", message, "list refinements from the top down"
        elif not bottom < z < domain.top:
            message = f"{number(z)} m is outside the domain, {number(bottom)} to {number(domain.top)} m"
            yield f"refine.{i}.below", message, "give an elevation inside"
        above = z


class Pml(LayerSpeeds):
    """Absorbing layer inside a plane face: ``thickness`` in elements as they are at the face, by
    default after the wavelength, or ``width`` (m); ``reflection`` of P waves
    across it by its profile, ``frequency`` (Hz) of its frequency shift, by default the sources'
    peak frequency; ``friction`` on the outer face, as part of its damping, by default after the
    medium.
    """

    thickness: whole(least=1, most=100) | None = None
    width: Distance | None = None
    reflection: quantity("ratio", above=0, below=1) = 1e-5
    frequency: Frequency | None = None
    friction: quantity("ratio", least=0, most=1) | None = None


FaceKind = choice("free", "pml", "stacey", "rigid")


class Faces(Table):
    """Boundary conditions: free, pml (absorbing layer), stacey (first-order absorbing, Clayton &
    Engquist) or rigid.

    ``others`` applies to faces not named, by default pml in boxes, stacey elsewhere; `face` gives
    the kind of one face, None where nothing is said of it; ``faces`` = { name = "free" } are the
    face sets of a mesh file.
    """

    top: FaceKind = "free"
    others: FaceKind | None = None
    west: FaceKind | None = None
    east: FaceKind | None = None
    south: FaceKind | None = None
    north: FaceKind | None = None
    bottom: FaceKind | None = None
    faces: dict[Text, FaceKind] = {}
    pml: Pml = Pml()

    def face(self, name):
        """``"free"``, ``"pml"``, ``"stacey"`` or ``"rigid"`` of a face by its name: top, ... or
        that of a mesh's face set; None where nothing is said of it.

        Parameters
        ----------
        name : str
        """
        kind = getattr(self, name) if name in FACES else None
        return self.faces.get(name) or kind or self.others


class ElementRun(WaveRun):
    """Precision, device, threads and checkpoints; polynomial ``degree`` of the elements.

    ``partition``: METIS (auto, where pymetis is installed), recursive coordinate bisection,
    vertical slices (auto in large chunks of the Earth, where each rank builds its own slice), or
    random (for tests).

    ``assembly`` "colour" is deterministic: bit-identical in every run on one device, for any number
    of ranks; "fast" adds in any order.
    """

    partition: choice("auto", "metis", "bisection", "slices", "random") = "auto"
    degree: whole(least=2, most=8) = 4
    assembly: choice(
        "fast", "colour", meant={"color": "colour", "coloured": "colour", "atomic": "fast", "atomics": "fast"}
    ) = "fast"


class ElementOutput(Output):
    """Waveform output as for finite differences; ``mesh = true`` also writes the mesh with its
    media as mesh.vtu (ParaView, PyVista).
    """

    mesh: Flag = False


def _in_plane(value, _):
    value = as_list(value)
    return isinstance(value, list) and len(value) == 2


def _size_is_given(_, domain):
    return domain.get("element_size") is not None


_FD = 'available only with method = "fd"'
_IN_PLANE = f"{{value}} has two numbers: 2-D domains are {_FD}"
_THREE = 'write three numbers, [x, y, z] in m; or method = "fd"'
_WAVES = "waves = {value} is available only in 2-D, with finite differences"
_TWICE = "element_size and spacing are both given; spacing is its old name"
_RENAMED = (
    'with method = "sem" this key is now called element_size; read as element_size = '
    "{0.domain.element_size:.10g} m. The old name will be removed in the next version"
)
_PERIODIC = f"periodic faces are {_FD}"
_FACES = 'write "free", "pml", "stacey" or "rigid", or method = "fd"'
_DEFAULT = f'{{value}} is {_FD}; using the default instead, layers of elements, "pml", in boxes, "stacey" elsewhere'
_LAYER = f'{{value}} is {_FD}; using an absorbing layer of elements, "pml", instead'
_FIRST_ORDER = f'{{value}} is {_FD}; using first-order absorbing boundaries, "stacey", instead'
_IGNORED = 'this key is ignored, only method = "fd" has it; '
_DEGREE = _IGNORED + "spectral elements use run.degree = {0.run.degree}"
_HALF = 'storage = {value} is available only with method = "fd"'
_ALL_STORED = _IGNORED + "each point stores all mechanisms"
_PLANE_WAVE = f"{{value}} needs periodic sides, {_FD}"
FOREIGN = (
    Foreign("domain.origin|size", _in_plane, (_IN_PLANE, _THREE)),
    Foreign("domain.waves", ("P-SV", "SH"), (_WAVES, 'leave waves out, or method = "fd"')),
    Foreign("domain.spacing", _size_is_given, (_TWICE, "leave spacing out")),
    Foreign("domain.spacing", note=_RENAMED, renamed="element_size"),
    Foreign("boundaries.surface|cpml|sponge"),
    Foreign("boundaries.**.*", ("periodic",), (_PERIODIC, _FACES), becomes="stacey"),
    Foreign("boundaries.others", ("cpml", "sponge"), note=_DEFAULT),
    Foreign("boundaries.**.*", ("cpml", "sponge"), note=_LAYER, becomes="pml"),
    Foreign("boundaries.**.*", ("a1",), note=_FIRST_ORDER, becomes="stacey"),
    Foreign("run.order|weights|grid", note=_DEGREE),
    Foreign("run.storage", ("half",), (_HALF, 'leave storage out, or use method = "fd"')),
    Foreign("run.storage", ("full",)),
    Foreign("model.attenuation.storage", note=_ALL_STORED),
    Foreign("source.*.kind", ("plane_wave",), (_PLANE_WAVE, 'use method = "fd", or point sources')),
)


class SpectralScenario(WaveScenario):
    """A run of elastic and acoustic waves by spectral elements: method = "sem" in TOML.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    FOREIGN = FOREIGN
    method: choice("sem") = "sem"
    domain: ElementDomain = key("[domain] with origin, size and element_size, or mesh")
    boundaries: Faces = Faces()
    output: ElementOutput = ElementOutput()
    run: ElementRun = ElementRun()

    def _problems(self):
        yield from super()._problems()
        yield from chunk_problems(self)
        model, names = self.model, [name for name in self.boundaries.faces if name not in FACES]
        if self.domain.mesh is not None and model.topography is not None:
            message = "topography and mesh are mutually exclusive: the mesh file defines the surface"
            yield "model.topography", message, "leave topography and water out, or leave mesh out to mesh a box"
        if self.domain.mesh is None and model.regions is not None:
            name = "model.kind" if model.kind == "regions" else "model.regions"
            yield name, "a box has no named regions", "use layers and anomalies, or domain.mesh"
        for name in names if self.domain.mesh is None else ():
            message = f"a box has the faces {listed(FACES, 'and')}"
            yield f"boundaries.faces.{name}", message, "use one of these names"

    _top: Any = PrivateAttr(None)

    @property
    def mesh_top(self):
        """Reference surface of depths, set by `on_mesh`: an object with ``surface(x, y)``, or None."""
        return self._top

    def on_mesh(self, lower, upper, top):
        """Return the scenario with the box of its mesh, corners (x, y, z) in m, where it has a
        file, and depths that count from `top`.

        Parameters
        ----------
        lower, upper : sequence of float
            Corners (x, y, z), m.
        top : object
            Has ``surface(x, y)``; None: depths count from z = 0.
        """
        domain = self.domain if self.domain.boxed else self.domain.within(lower, upper)
        scenario = self.model_copy(update={"domain": domain})
        scenario._top = top
        return scenario

    def face(self, name):
        """``"free"``, ``"pml"``, ``"stacey"`` or ``"rigid"`` of a face; see also
        `absorbing_layer.default_faces`.

        The ground is free, whatever is said of the top of the air above it, and so is the
        core-mantle boundary as a chunk's bottom, unless ``bottom`` is given: the outer core hardly
        holds it.

        Parameters
        ----------
        name : str
        """
        chunk, faces = self.domain.chunk, self.boundaries
        on_core = name == "bottom" and faces.bottom is None and chunk is not None and chunk.bottom == "cmb"
        on_ground = name == "top" and self.model.topography is not None
        return "free" if on_core or on_ground else faces.face(name) or self.absorbing

    @property
    def absorbing(self):
        """Kind of the faces of which nothing is said."""
        return "pml" if self.domain.boxed else "stacey"

    @property
    def warnings(self):
        """Suspicious values and notes on keys of other methods, one sentence each: list of str."""
        warnings = [*super().warnings, *velocities(self.model), *shallow(self), *silence(self)]
        if self.face("top") != self.boundaries.face("top"):
            warnings.append(
                "boundaries.top: the topography is the top of the mesh and is traction-free; "
                f'"{self.boundaries.face("top")}" is ignored'
            )
        boxed = self.domain.boxed
        return [*warnings, *sizes(self.domain), *positions(self)] if boxed else warnings
