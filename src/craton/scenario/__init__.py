"""The scenario: what a run is, in the words of the field; read from TOML or built in Python, checked, in SI units."""
from craton.scenario.fields import Position
from craton.scenario.gravity import GravityScenario
from craton.scenario.load import Reading, dumps, format_problems, load, loads, read, reads, with_overrides
from craton.scenario.medium import Box, Homogeneous, Layer, Layers, ModelFile, Sphere
from craton.scenario.receivers import Lattice, Line, Plane, ReceiverFile, ReceiverGrid, ReceiverLine, Snapshot, Station
from craton.scenario.schema import Boundaries, Cpml, Domain, Output, Run, Scenario, Sponge, TimeSpan
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

__all__ = [
    "Boundaries", "Box", "Brune", "Cpml", "Domain", "Explosion", "Gaussian", "GaussianDerivative", "GravityScenario", "Homogeneous",
    "Kuepper", "Lattice", "Layer", "Layers", "Line", "ModelFile", "MomentTensor", "Output", "Plane", "PointForce", "Position",
    "Reading", "ReceiverFile", "ReceiverGrid", "ReceiverLine", "Ricker", "Run", "Samples", "Scenario", "Snapshot", "Sphere",
    "Sponge", "Station", "Tensor", "TimeSpan", "dumps", "format_problems", "load", "loads", "read", "reads", "with_overrides",
]  # fmt: skip
