"""The discretised problem in two stages: elements with their material, then the same with the time
step.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from craton.methods.spectral_element.mesh.placing import Places
from craton.methods.spectral_element.mesh.subdomain import ElementGeometry
from craton.methods.spectral_element.ranks import assign_positions, elements_holding
from craton.model.globe import earth_chunk
from craton.model.mesh import meshing


def fields_of(instance):
    """Return the fields of a dataclass by name, not copied: the arguments with which a later stage is built."""
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


def places_of(subdomain, fluid, ground, globe) -> Places:
    """Return what finds positions in the owned elements of a rank."""
    team = subdomain.team if subdomain.whole is None else None
    return Places(subdomain.mesh, fluid, ground, subdomain.whole, subdomain.numbers, globe, team)


@dataclass(frozen=True, eq=False, kw_only=True)
class Medium(ElementGeometry):
    """The owned elements of a rank with their material; nothing here depends on the time step.

    Parameters
    ----------
    precision : str
        ``"float32"`` or ``"float64"``.
    deterministic : bool
        The assembly is deterministic: every run gives equal bits.
    face_kinds : dict of str to str
        Boundary condition on each named face.
    not_layered : str
        Why faces of which nothing is said have no absorbing layers; "" where they have.
    globe : craton.survey.geography.Globe or None
        Of a chunk of the Earth.
    ground : Terrain or None
        Topography of the model.
    sampler : sampling.Sampler
        Evaluates the model at positions.
    subdomain : subdomain.Subdomain
        Owned elements and points, and the points that other ranks share.
    statistics : mesh_statistics.MeshStatistics
    relaxation : Relaxation or None
        Mechanisms of attenuation.
    places : Places
        Finds positions in the mesh; successors share it, with the locators that have been built.
    """

    precision: str
    deterministic: bool
    face_kinds: dict
    not_layered: str
    globe: Any
    ground: Any
    sampler: Any
    subdomain: Any
    statistics: Any
    relaxation: Any
    places: Places

    @property
    def anisotropic(self):
        """True where the law has 21 constants, not two."""
        return self.sampler.anisotropic

    @cached_property
    def spacing(self):
        """Median distance of the points of the whole mesh, m; of a chunk of the Earth that of its middle elements."""
        whole = self.globe is None
        edge = meshing.edges(self.subdomain.whole)[1] if whole else earth_chunk.middle_edge(self.globe.chunk)
        return edge / self.element.degree

    @property
    def exact(self):
        """True where forces are accumulated in fixed point; in double precision sums agree to 1e-12 in any order."""
        return self.deterministic and self.precision == "float32"

    def material(self, elements, nodes=slice(None)):
        """Return the material at nodes of elements: dict of arrays (n, nodes), stiffness (n, 21,
        nodes); see `craton.model.media.sampling`.

        Corners must be among the `nodes`: samplers find from these where an element lies.
        """
        elements = np.arange(*elements.indices(self.mesh.size)) if isinstance(elements, slice) else np.asarray(elements)
        varying, count = self.statistics.varying[elements], len(np.arange(self.element.size)[nodes])
        sampled = elements[varying]
        values_at_nodes, constant = {}, self.statistics.constant
        if len(sampled):
            xyz, centres = self.coordinates(sampled, nodes), self.centres[sampled]
            values_at_nodes = self.sampler.at(xyz, centres, self.mesh.regions[sampled])
        if len(sampled) == len(elements) > 0:
            return values_at_nodes
        out = {name: np.repeat(values[elements][..., None], count, axis=-1) for name, values in constant.items()}
        for name, values in values_at_nodes.items():
            out[name][varying] = values
        return out

    def locate(self, xyz, prefer_fluid, **options):
        """Return the `Located` of positions (n, 3), m; a position in both media is in the fluid if
        `prefer_fluid`, else in the solid.

        Each position belongs to one rank; all ranks must call.
        """
        located = self.places.locate(xyz, prefer_fluid, **options)
        return assign_positions(self.subdomain, located, self.fluid[np.maximum(located.element, -1)] == prefer_fluid)

    def elements_holding(self, xyz):
        """Return all owned elements that hold positions (n, 3), m, see `ranks.elements_holding`;
        all ranks must call.
        """
        return elements_holding(self.places, self.locate(xyz, False), xyz, self.subdomain.team)


@dataclass(frozen=True, eq=False, kw_only=True)
class Discretisation(Medium):
    """The discretised problem: elements, material, absorbing layers and time step.

    Parameters
    ----------
    layers : absorbing_layer.Layers or None
    families : list of families.ArrangedFamily
        The elements as the kernels take them.
    stable : time_step.Stable
        The largest stable step.
    dt, start : float
        Step and time of the first displacement, s.
    steps : int
        All steps, `extra` included.
    extra : int
        Padding steps past the end, for the time-dispersion correction of the records.
    units : state.FixedPoint or state.FloatingPoint
        Accumulation of forces.
    """

    layers: Any
    families: Any
    stable: Any
    dt: float
    start: float
    steps: int
    extra: int
    units: Any

    @property
    def layer_words(self):
        """Speeds for which the absorbing layers are made, in words; empty without layers."""
        return self.layers.speeds.words if self.layers is not None else ""

    @property
    def end(self):
        """Time at which the waveforms end, s."""
        return self.start + (self.steps - self.extra) * self.dt
