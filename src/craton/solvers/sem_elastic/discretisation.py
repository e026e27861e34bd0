"""The choices of one discretised problem that all builders share: elements in their order, global points of each medium, step."""
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from craton.errors import ScenarioError
from craton.model import sampling, terrain
from craton.solvers.sem_elastic import mesh_terms
from craton.solvers.sem_elastic.element import Element
from craton.solvers.sem_elastic.placing import Places
from craton.solvers.sem_elastic.state import State


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
    first : FirstLook
    relaxation : Relaxation or None
        Mechanisms of attenuation.
    points : (ne, n^3) int32 array
        Global points, counted apart in the solid and in the fluid.
    state : State
        Where the fields lie.
    stable : time_step.Stable
        The largest stable step.
    dt, start : float
        Step and time of the first displacement, s.
    steps : int
        Those of `extra` included.
    extra : int
        Steps past the end, from which records are corrected in time up to it.
    """

    scenario: Any
    mesh: Any
    element: Element
    sampler: Any
    first: Any = None
    relaxation: Any = None
    points: np.ndarray | None = None
    state: State | None = None
    stable: Any = None
    dt: float = 0.0
    start: float = 0.0
    steps: int = 0
    extra: int = 0

    @property
    def precision(self):
        """``"float32"`` or ``"float64"``."""
        return self.scenario.run.precision

    @property
    def fluid(self):
        """Which elements are fluid, (ne,)."""
        return self.first.fluid

    @property
    def end(self):
        """When the run ends, s."""
        return self.start + (self.steps - self.extra) * self.dt

    @cached_property
    def local(self):
        """Nodes of the elements relative to their centres, (ne, 3, 27), m; float64."""
        return self._nodes[0]

    @cached_property
    def centres(self):
        """Centres of the elements, (ne, 3), m."""
        return self._nodes[1]

    @cached_property
    def _nodes(self):
        return mesh_terms.relative(self.mesh.nodes[self.mesh.elements])

    def offset(self, field):
        """First element of a field in the state."""
        return self.state.offset(field)

    def coordinates(self, elements):
        """Positions of the nodes of some elements, (n, 3, n^3), m."""
        return mesh_terms.coordinates(self.element, self.local[elements]) + self.centres[elements][:, :, None]

    def material(self, elements):
        """Material at the nodes of some elements: dict of arrays (n, n^3), stiffness (n, 21, n^3); see `craton.model.sampling`."""
        elements = np.arange(self.mesh.size)[elements]
        return self.sampler.at(self.coordinates(elements), self.centres[elements], self.mesh.regions[elements])

    @property
    def anisotropic(self):
        """21 constants in place of two."""
        return self.sampler.anisotropic

    @property
    def coloured(self):
        """The same bits in every run."""
        return self.scenario.run.assembly == "colour"

    def located(self, xyz, wet, **more):
        """The `Located` of positions (n, 3), m; what is in the solid and in the fluid is in the fluid if `wet`, else in the solid."""
        return self.places.located(xyz, wet, **more)

    @cached_property
    def places(self):
        """Finds positions in the mesh."""
        return Places(self.mesh, self.fluid, terrain.build(self.scenario.model))


@dataclass(frozen=True)
class FirstLook:
    """What a pass over all elements finds before the step is known.

    Parameters
    ----------
    fluid : (ne,) bool array
    speeds : dict of str to (float, float)
        Least and largest vp, vs, rho, and "slowest": the slowest wave, m/s.
    resolved : (ne,) array
        Slowest wave of each element over the average distance of nodes along its longest edge, Hz: one node a wavelength there.
    loss : float
        Largest 1/Q.
    bulk_loss : bool
        The bulk modulus relaxes, too.
    """

    fluid: np.ndarray
    speeds: dict
    resolved: np.ndarray
    loss: float = 0.0
    bulk_loss: bool = False


def look(d):
    """The `FirstLook` at all elements.

    Raises
    ------
    ScenarioError
        Elements partly fluid, impossible values.
    """
    fluid, resolved, found = np.empty(d.mesh.size, bool), np.empty(d.mesh.size), []
    losses, wrong = [(0.0, False)], []
    for part in mesh_terms.batches(d.mesh.size):
        samples = d.material(part)
        wrong += sampling.element_problems(samples, d.centres[part])
        fluid[part] = sampling.fluids(samples)
        slow = sampling.slowest(samples)
        resolved[part] = slow.min(axis=1) / (longest_edges(d.local[part]) / d.element.degree)
        values = {name: samples[name] for name in ("vp", "vs", "rho")} | {"slowest": slow}
        found.append({name: (v.min(), v.max()) for name, v in values.items()})
        if d.sampler.lossy:
            losses.append((sampling.largest_loss(samples), bool(sampling.bulk(samples).any())))
    if wrong:
        raise ScenarioError(wrong[:5])
    speeds = {name: (float(min(one[name][0] for one in found)), float(max(one[name][1] for one in found))) for name in found[0]}
    return FirstLook(fluid, speeds, resolved, max(loss for loss, _ in losses), any(bulk for _, bulk in losses))


def longest_edges(local):
    """Longest edge of elements with nodes (ne, 3, 27), straight between corners, m: (ne,)."""
    corners = local.reshape(-1, 3, 3, 3, 3)[..., ::2, ::2, ::2]
    lengths = [np.linalg.norm(np.diff(corners, axis=axis), axis=1).reshape(len(local), -1) for axis in (2, 3, 4)]
    return np.concatenate(lengths, axis=1).max(axis=1)
