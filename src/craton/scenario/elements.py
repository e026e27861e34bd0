"""Tables of a spectral-element scenario, method = "sem", that differ from those of finite differences: domain, boundaries, output, run."""
from typing import Annotated, Any

from pydantic import BeforeValidator, PrivateAttr, model_validator

from craton.conventions import FACES
from craton.scenario import chunk as chunks
from craton.scenario.fields import (
    Distance,
    Duration,
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
    whole,
    wrong,
)  # fmt: skip
from craton.scenario.schema import Boundaries, Cpml, Device, Domain, Geographic, Method, Output, Precision, Scenario, Sponge
from craton.text import listed, number, shown

KINDS = ("free", "pml", "stacey", "rigid")
ABSORBING = ("cpml", "sponge", "a1")  # of finite differences: absorbing faces of first order take their place
PATHS = 4  # places along an element's edge at which functions of the ground are looked up


def _in_space(names):
    """The type of three coordinates, with a word on planes for two."""

    def validate(value):
        listed_ = as_list(value)
        if isinstance(listed_, list) and len(listed_) == 2:
            remedy = f'write three numbers, [{", ".join(names)}] in m; or method = "fd"'
            raise wrong(("", f'{shown(value)} has two numbers: 2-D domains are available only with method = "fd"', remedy))
        return value

    return BeforeValidator(validate)


class Refinement(Table):
    """Elements ``below`` an elevation (m) are ``factor`` (2 or 3) times larger."""

    below: Length = key("-5000  # m, elevation")
    factor: choice(2, 3) = 2


class ElementDomain(Domain):
    """The meshed volume: a box of elements, a mesh file, or a chunk of the Earth.

    A box has its lower south-west corner ``origin``, its ``size`` (m), and either ``element_size``, the longest element edge (m), or
    ``max_frequency`` (Hz). ``points_per_wavelength`` counts GLL points at their average distance, element edge over ``run.degree``.
    ``refine`` lists coarser elements below elevations, from the top down. ``spacing`` is the old name of ``element_size``; it is read
    with a note for one version.
    """

    origin: Annotated[Xyz, _in_space("xyz")] | None = key("[0, 0, -10_000]  # m, lower south-west corner (x, y, z)", None)
    size: Annotated[tuple[Distance, Distance, Distance], _in_space("xyz")] | None = key("[20_000, 20_000, 10_000]  # m", None)
    waves: choice("elastic", "acoustic") | None = None
    element_size: Distance | None = None
    spacing: Distance | None = None
    max_frequency: Frequency | None = None
    points_per_wavelength: quantity("ratio", least=2, most=100) = 5.0
    geographic: Geographic | None = None
    mesh: FilePath | None = None
    refine: many(Refinement) = ()
    chunk: chunks.Chunk | None = None
    _globe: Any = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _waves_in_space(cls, value):
        waves = value.get("waves") if isinstance(value, dict) else None
        if waves in ("P-SV", "SH"):
            message = f"waves = {shown(waves)} is available only in 2-D, with finite differences"
            raise wrong(("waves", message, 'leave waves out, or method = "fd"'))
        return value

    @model_validator(mode="after")
    def _one_resolution(self):
        if self.spacing is not None and self.element_size is not None:
            raise wrong(("spacing", "element_size and spacing are both given; spacing is its old name", "leave spacing out"))
        if self.chunk is not None:
            if items := chunks.beside(self):
                raise wrong(*items)
        elif self.mesh is not None:
            extra = [n for n in ("origin", "size", "element_size", "spacing", "max_frequency", "refine") if getattr(self, n)]
            if extra:
                raise wrong(*[(n, f"{n} and mesh are mutually exclusive: the mesh file defines the domain", f"leave {n} or mesh out")
                              for n in extra])  # fmt: skip
        else:
            self._box_is_complete()
        return self

    def _box_is_complete(self):
        """Raise for a box without origin, size or resolution; store the value of the old key under the new one."""
        missing = [n for n in ("origin", "size") if getattr(self, n) is None]
        if missing:
            examples = {n: type(self).model_fields[n].examples[0].partition("  #")[0] for n in missing}
            raise wrong(*[(n, f'missing: "{n}" is required', f'write {n} = {examples[n]}; or mesh = "file"') for n in missing])
        if self.spacing is not None:  # the tables are frozen; model_fields_set still tells that the old key was used
            vars(self).update(element_size=self.spacing, spacing=None)
        super()._one_resolution()

    @property
    def resolution_key(self):
        """Name of the key that gives the resolution in metres."""
        return "element_size"

    @model_validator(mode="after")
    def _one_dimension(self):
        tops = [r.below for r in self.refine]
        bad = [i for i in range(1, len(tops)) if not tops[i] < tops[i - 1]]
        if bad:
            raise wrong(*[(f"refine.{i}.below", f"{number(tops[i])} m is not below the previous elevation, {number(tops[i - 1])} m",
                           "list refinements from the top down") for i in bad])  # fmt: skip
        out = [i for i, z in enumerate(tops) if self.origin is not None and not self.origin[2] < z < self.top]
        if out:
            limits = f"{number(self.origin[2])} to {number(self.top)} m"
            raise wrong(*[(f"refine.{i}.below", f"{number(tops[i])} m is outside the domain, {limits}", "give an elevation inside")
                          for i in out])  # fmt: skip
        return self

    def within(self, lower, upper):
        """The domain of a mesh file with the box around its nodes, corners (x, y, z) in m."""
        box = {"origin": tuple(map(float, lower)), "size": tuple(float(b - a) for a, b in zip(lower, upper))}
        return self.model_copy(update=box)

    def on(self, globe):
        """The domain with the `Globe` that turns places on Earth into positions in its axes."""
        made = self.model_copy()
        made._globe = globe
        return made

    @property
    def globe(self):
        """The `Globe` given to `on`, or None."""
        return self._globe

    @property
    def planar(self):
        """False: elements fill space."""
        return False

    @property
    def fine(self):
        """Distance at which functions of the ground are looked up, m; None where it is not known yet."""
        return self.element_size and self.element_size / PATHS


def _face(value):
    if value == "periodic":
        remedy = 'write "free", "pml", "stacey" or "rigid", or method = "fd"'
        raise wrong(("", 'periodic faces are available only with method = "fd"', remedy))
    return value


FaceKind = Annotated[choice(*KINDS, *ABSORBING), BeforeValidator(_face)]


class Pml(Table):
    """Absorbing layer inside a plane face: ``thickness`` in elements as they are at the face, or ``width`` (m); ``reflection`` of P waves
    across it by its profile, ``frequency`` (Hz) of its frequency shift, by default the sources' peak frequency; ``friction`` on the outer
    face, as part of its damping, by default after the medium."""

    thickness: whole(least=1, most=100) = 3
    width: Distance | None = None
    reflection: quantity("ratio", above=0, below=1) = 1e-5
    frequency: Frequency | None = None
    friction: quantity("ratio", least=0, most=1) | None = None


class Faces(Boundaries):
    """Boundary conditions: free, pml (absorbing layer), stacey (first-order absorbing, Clayton & Engquist) or rigid.

    ``others`` applies to faces not named, `face` gives the kind of one face; ``faces`` = { name = "free" } are the face sets of a mesh
    file. The kinds cpml, sponge and a1 of finite differences are read as stacey, with a warning; their options are ignored.
    """

    top: FaceKind = "free"
    others: FaceKind = "stacey"
    west: FaceKind | None = None
    east: FaceKind | None = None
    south: FaceKind | None = None
    north: FaceKind | None = None
    bottom: FaceKind | None = None
    faces: dict[Text, FaceKind] = {}
    surface: choice("sbp", "imaging", "imaging-2") | None = None
    pml: Pml = Pml()
    cpml: Cpml | None = None
    sponge: Sponge | None = None

    def face(self, name):
        """``"free"``, ``"pml"``, ``"stacey"`` or ``"rigid"`` of a face by its name: top, ... or that of a mesh's face set."""
        kind = self.faces.get(name) or (getattr(self, name) if name in FACES else None) or self.others
        return "stacey" if kind in ABSORBING else kind


class ElementRun(Table):
    """Numerical options: precision, device, polynomial ``degree`` of the elements, threads of the CPU (None: all).

    ``partition``: METIS (auto, where pymetis is installed), recursive coordinate bisection, vertical slices (auto in large chunks of the
    Earth, where each rank builds its own slice), or random (for tests).

    ``assembly`` "colour" is deterministic: bit-identical in every run on one device, for any number of ranks; "fast" adds in any order.
    ``checkpoint`` is the wall-clock time between checkpoints (s). ``order``, ``weights`` and ``grid`` belong to finite differences and
    are ignored.
    """

    precision: Precision = "float32"
    device: Device = "auto"
    partition: choice("auto", "metis", "bisection", "slices", "random") = "auto"
    degree: whole(least=2, most=8) = 4
    assembly: choice("fast", "colour", meant={"color": "colour", "coloured": "colour", "atomic": "fast", "atomics": "fast"}) = "fast"
    threads: whole(least=1) | None = None
    order: choice(2, 4, 6, 8, 10, 12, 14, 16) | None = None
    weights: choice("taylor", "holberg") | None = None
    grid: many(whole(least=1)) | None = None
    checkpoint: Duration | None = None


class ElementOutput(Output):
    """Waveform output as for finite differences; ``mesh = true`` also writes the mesh with its media as mesh.vtu (ParaView, PyVista)."""

    mesh: Flag = False


class SpectralScenario(Scenario):
    """A run of elastic and acoustic waves by spectral elements: method = "sem" in TOML.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, when it is built from wrong values.
    """

    method: Method = key('"sem"')
    domain: ElementDomain = key("[domain] with origin, size and element_size, or mesh")
    boundaries: Faces = Faces()
    output: ElementOutput = ElementOutput()
    run: ElementRun = ElementRun()

    def __init__(self, /, **values):
        super().__init__(**{"method": "sem"} | values)

    @model_validator(mode="after")
    def _mesh_or_box(self):
        """Refuse keys that are incompatible with a mesh file, or with a box."""
        items = chunks.problems(self) + (_of_file(self) if self.domain.mesh is not None else _of_box(self))
        if items:
            raise wrong(*items)
        return self

    _top: Any = PrivateAttr(None)

    @property
    def mesh_top(self):
        """Reference surface of depths, set by `on_mesh`: an object with ``surface(x, y)``, or None."""
        return self._top

    def on_mesh(self, lower, upper, top):
        """The scenario with the box of its mesh, corners (x, y, z) in m, where it has a file, and depths that count from `top`."""
        boxed = self.domain.mesh is None and self.domain.chunk is None
        made = self if boxed else self.model_copy(update={"domain": self.domain.within(lower, upper)})
        made = made.model_copy()
        made._top = top
        return made

    def face(self, name):
        """``"free"``, ``"pml"``, ``"stacey"`` or ``"rigid"`` of a face.

        The ground is free, whatever is said of the top of the air above it, and so is the core-mantle boundary as a chunk's bottom, unless
        ``bottom`` is given: the outer core hardly holds it.
        """
        if name == "bottom" and self.domain.chunk is not None and self.domain.chunk.bottom == "cmb" and self.boundaries.bottom is None:
            return "free"
        return "free" if name == "top" and self.model.topography is not None else self.boundaries.face(name)

    @property
    def warnings(self):
        """Suspicious magnitudes, and what is not used, one sentence each: list of str."""
        from craton.scenario.suspicions import of_elements

        return of_elements(self)


def _of_file(scenario):
    if scenario.model.topography is None:
        return []
    return [("model.topography", "topography and mesh are mutually exclusive: the mesh file defines the surface",
             "leave topography and water out, or leave mesh out to mesh a box")]


def _of_box(scenario):
    items = []
    if scenario.model.regions is not None:
        key_ = "model.kind" if scenario.model.kind == "regions" else "model.regions"
        items.append((key_, "a box has no named regions", "use layers and anomalies, or domain.mesh"))
    names = [name for name in scenario.boundaries.faces if name not in FACES]
    items += [(f"boundaries.faces.{name}", f"a box has the faces {listed(FACES, 'and')}", "use one of these names")
              for name in names]  # fmt: skip
    return items
