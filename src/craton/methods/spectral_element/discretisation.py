"""The choices of one discretised problem that all builders share: elements in their order, global points of each medium, step."""
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.methods.spectral_element import mesh_terms
from craton.methods.spectral_element.element import Element
from craton.methods.spectral_element.exact import Reals
from craton.methods.spectral_element.placing import Places
from craton.methods.spectral_element.ranks import assigned, holding
from craton.methods.spectral_element.state import State
from craton.model.ground import terrain


@dataclass(frozen=True)
class Discretisation:
    """What the scenario became on the mesh.

    Parameters
    ----------
    scenario : Scenario
    mesh : HexMesh
        27 nodes an element; elements follow a space-filling curve.
    element : Element
    sampler : sampling.Sampler
        The model, made ready.
    fluid : (ne,) bool array
        Which elements are fluid.
    points : (ne, n^3) int32 array
        Global points, counted apart in the solid and in the fluid.
    state : State
        Where the fields lie.
    division : division.Division
        Own elements and points, and what other ranks have of them.
    first : look.FirstLook
    relaxation : Relaxation or None
        Mechanisms of attenuation.
    stable : time_step.Stable
        The largest stable step.
    dt, start : float
        Step and time of the first displacement, s.
    steps : int
        Those of `extra` included.
    extra : int
        Steps past the end, from which records are corrected in time up to it.
    units : exact.Units or exact.Reals
        How forces are summed.
    centres : (ne, 3) array
        Of the elements, m.
    elements : list of families.Arranged
        Its elements as the kernels take them.
    layers : absorbing_layer.Layers or None
    """

    scenario: Any
    mesh: Any
    element: Element
    sampler: Any
    fluid: np.ndarray
    points: np.ndarray
    state: State
    division: Any = None
    first: Any = None
    relaxation: Any = None
    stable: Any = None
    dt: float = 0.0
    start: float = 0.0
    steps: int = 0
    extra: int = 0
    units: Any = Reals()
    centres: np.ndarray = None
    elements: Any = ()
    layers: Any = None

    @property
    def precision(self):
        """``"float32"`` or ``"float64"``."""
        return self.scenario.run.precision

    @property
    def end(self):
        """When the run ends, s."""
        return self.start + (self.steps - self.extra) * self.dt

    def shapes(self, elements):
        """Nodes of some elements relative to their centres, (n, 3, 27), m; float64."""
        own = self.mesh.nodes[self.mesh.elements[elements]]
        return np.ascontiguousarray((own - self.centres[elements][:, None]).transpose(0, 2, 1))

    def offset(self, field):
        """First element of a field in the state."""
        return self.state.offset(field)

    def coordinates(self, elements, nodes=slice(None)):
        """Positions of nodes of some elements, (n, 3, nodes), m."""
        return mesh_terms.coordinates(self.element, self.shapes(elements), nodes) + self.centres[elements][:, :, None]

    def jacobian(self, elements, nodes=slice(None)):
        """d x_r / d xi_s at nodes of some elements, (n, 3, 3, nodes), m."""
        return mesh_terms.jacobian(self.element, self.shapes(elements), nodes)

    def material(self, elements, nodes=slice(None)):
        """Material at nodes of some elements: dict of arrays (n, nodes), stiffness (n, 21, nodes); see `craton.model.media.sampling`.

        Of the `nodes` that are asked for, corners must be among them: samplers know from these where an element lies.
        """
        elements = np.arange(*elements.indices(self.mesh.size)) if isinstance(elements, slice) else np.asarray(elements)
        varying, count = self.first.varying[elements], len(np.arange(self.element.size)[nodes])
        own = elements[varying]
        found = self.sampler.at(self.coordinates(own, nodes), self.centres[own], self.mesh.regions[own]) if len(own) else {}
        if len(own) == len(elements) > 0:
            return found
        out = {name: np.repeat(values[elements][..., None], count, axis=-1) for name, values in self.first.constant.items()}
        for name, values in found.items():
            out[name][varying] = values
        return out

    def leading(self, count, state, mesh):
        """The problem of the first elements alone, whose points come first; nothing is copied."""
        first = self.first.some(slice(count), [mass[:n] for mass, n in zip(self.first.mass, (state.solid, state.fluid))])
        own = {name: getattr(self, name)[:count] for name in ("fluid", "points", "centres")}
        return replace(self, mesh=mesh, state=state, first=first, **own)

    @property
    def anisotropic(self):
        """21 constants in place of two."""
        return self.sampler.anisotropic

    @property
    def coloured(self):
        """The same bits in every run."""
        return self.scenario.run.assembly == "colour"

    @property
    def exact(self):
        """Forces are counted in whole units; in double their sums are alike to 1e-12 anyway."""
        return self.coloured and self.precision == "float32"

    def located(self, xyz, wet, **more):
        """The `Located` of positions (n, 3), m; what is in the solid and in the fluid is in the fluid if `wet`, else in the solid.

        Each position belongs to one rank; all must ask.
        """
        found = self.places.located(xyz, wet, **more)
        return assigned(self.division, found, self.fluid[np.maximum(found.element, -1)] == wet)

    def holding(self, xyz):
        """All own elements that hold positions (n, 3), m, see `ranks.holding`; all ranks must ask."""
        return holding(self.places, self.located(xyz, False), xyz, self.division.team)

    @cached_property
    def places(self):
        """Finds positions in the mesh."""
        domain, division = self.scenario.domain, self.division
        team = division.team if division.whole is None else None
        return Places(self.mesh, self.fluid, terrain.build(self.scenario.model), division.whole, division.numbers, domain.globe, team)
