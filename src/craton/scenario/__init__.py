"""The scenario: what a run is, in the words of the field; read from TOML or built in Python, checked, in SI units."""
from craton.scenario.elements import ElementDomain, ElementRun, Faces, Refinement, SpectralScenario
from craton.scenario.fields import Position
from craton.scenario.gravity import GravityScenario
from craton.scenario.load import Reading, dumps, format_problems, load, loads, read, reads, with_overrides
from craton.scenario.medium import Box, Homogeneous, Layer, Layers, Material, ModelFile, Regions, Sphere
from craton.scenario.receivers import Fibre, FibrePath, Lattice, Line, Plane, ReceiverFile, ReceiverGrid, ReceiverLine, Snapshot, Station
from craton.scenario.schema import Boundaries, Cpml, Domain, Geographic, Output, Run, Scenario, Sponge, TimeSpan
from craton.scenario.source_files import CmtSolution, ForceSolution, PlaneWave, QuakeMl, Srf
from craton.scenario.sources import (
    Brune,
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
    "Boundaries", "Box", "Brune", "CmtSolution", "Cpml", "Domain", "ElementDomain", "ElementRun", "Explosion", "Faces", "Fibre",
    "FibrePath", "ForceSolution", "Gaussian", "GaussianDerivative", "Geographic", "GravityScenario", "Homogeneous", "Kuepper",
    "Lattice", "Layer", "Layers", "Line", "Material", "ModelFile", "MomentTensor", "Output", "Plane", "PlaneWave", "PointForce",
    "Position", "QuakeMl", "Reading", "ReceiverFile", "ReceiverGrid", "ReceiverLine", "Refinement", "Regions", "Ricker", "Run",
    "Samples", "Scenario", "Snapshot", "SpectralScenario", "Sphere", "Sponge", "Srf", "Station", "Stiffness", "Tensor", "TimeSpan",
    "dumps", "format_problems", "load", "loads", "read", "reads", "with_overrides",
]  # fmt: skip
