"""The scenario: what a run is, in the words of the field; read from TOML or built in Python, checked, in SI units."""
from craton.scenario.chunk import Chunk, Relief
from craton.scenario.document import Reading, dumps, format_problems, load, loads, read, reads, with_overrides
from craton.scenario.elements import ElementDomain, ElementRun, Faces, Refinement, SpectralScenario
from craton.scenario.fields import Place, Position
from craton.scenario.gravity import GravityScenario
from craton.scenario.medium import (
    Ak135,
    Box,
    Homogeneous,
    Layer,
    Layers,
    Material,
    ModelFile,
    Perturbation,
    Prem,
    Radial,
    Regions,
    Sphere,
)  # fmt: skip
from craton.scenario.receivers import Fibre, FibrePath, Lattice, Line, Plane, ReceiverFile, ReceiverGrid, ReceiverLine, Snapshot, Station
from craton.scenario.schema import Boundaries, Cpml, Domain, Geographic, Output, Run, Scenario, Sponge, TimeSpan
from craton.scenario.source_files import CmtSolution, ForceSolution, PlaneWave, QuakeMl, Srf
from craton.scenario.sources import (
    Brune,
    CmtTensor,
    Explosion,
    Gaussian,
    GaussianDerivative,
    Kuepper,
    MomentTensor,
    PointForce,
    Ricker,
    Samples,
    Tensor,
)  # fmt: skip
from craton.scenario.stiffness import Stiffness

__all__ = [
    "Ak135", "Boundaries", "Box", "Brune", "Chunk", "CmtSolution", "CmtTensor", "Cpml", "Domain", "ElementDomain", "ElementRun",
    "Explosion", "Faces", "Fibre", "FibrePath", "ForceSolution", "Gaussian", "GaussianDerivative", "Geographic", "GravityScenario",
    "Homogeneous", "Kuepper", "Lattice", "Layer", "Layers", "Line", "Material", "ModelFile", "MomentTensor", "Output", "Perturbation",
    "Place", "Plane", "PlaneWave", "PointForce", "Position", "Prem", "QuakeMl", "Radial", "Reading", "ReceiverFile", "ReceiverGrid",
    "ReceiverLine", "Refinement", "Regions", "Relief", "Ricker", "Run", "Samples", "Scenario", "Snapshot", "SpectralScenario", "Sphere",
    "Sponge", "Srf", "Station", "Stiffness", "Tensor", "TimeSpan", "dumps", "format_problems", "load", "loads", "read", "reads",
    "with_overrides",
]  # fmt: skip
