"""One pass over all elements before the step is known: shapes, material, masses; what later builders need is kept for each element."""
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from craton.errors import ScenarioError
from craton.methods.spectral_element import mesh_terms
from craton.methods.spectral_element.material import inertia
from craton.methods.spectral_element.quality import Quality, of_corners
from craton.model.media import cells, sampling

SAME = 1e-6  # relative: differences between the nodes of an element below are rounding of positions
WIDE = 1 << 14  # elements at a time, of whose centres only is asked


@dataclass(frozen=True)
class FirstLook:
    """What a pass over all elements finds.

    Parameters
    ----------
    edges : (ne, 3) array
        Of elements that are boxes, m; nan where one is not.
    straight : (ne,) bool array
        Elements whose nodes lie in the middle between their corners, boxes among them.
    quality : Quality
    varying : (ne,) bool array
        Elements in which the material is not the same at all nodes.
    constant : dict of (ne,) arrays, stiffness (ne, 21)
        Material of each element, the mean of its nodes; names as of `craton.model.media.sampling`.
    mass : (solid, fluid) arrays
        Diagonal masses of the points: density, of a fluid 1 / kappa, integrated by the nodes' quadrature.
    speeds : dict of str to (float, float)
        Least and largest vp, vs, rho, and "slowest": the slowest wave, m/s.
    smallest : float
        Volume, m3, of the smallest box around an element.
    loss : float
        Largest 1/Q.
    bulk_loss : bool
        The bulk modulus relaxes, too.
    """

    edges: np.ndarray
    straight: np.ndarray
    quality: Quality
    varying: np.ndarray
    constant: dict
    mass: tuple
    speeds: dict
    smallest: float
    loss: float = 0.0
    bulk_loss: bool = False

    def some(self, own, masses):
        """That of some elements, an index, with the masses (solid, fluid) of their points, and extremes of all."""
        kept = {name: getattr(self, name)[own] for name in ("edges", "straight", "varying")}
        kept["constant"] = {name: values[own] for name, values in self.constant.items()}
        quality = Quality(**{f.name: getattr(self.quality, f.name)[own] for f in fields(Quality) if f.name != "degree"},
                          degree=self.quality.degree)  # fmt: skip
        return replace(self, **kept, quality=quality, mass=tuple(masses))


@dataclass(frozen=True)
class Seen:
    """The same of some elements `own`; `mass` (n, n^3) at their nodes, `problems` of their material."""

    own: np.ndarray
    tables: dict
    quality: dict
    constant: dict
    mass: np.ndarray
    speeds: dict
    smallest: float
    losses: tuple
    problems: list


def fluids(mesh, sampler):
    """Which elements are fluid, by their centres: (ne,) bool."""
    def some(part):
        centres = mesh.nodes[mesh.elements[part]].mean(axis=1)
        return sampling.fluids(sampler.at(centres[:, :, None], centres, mesh.regions[part]))

    return np.concatenate(list(cells.in_order(some, mesh_terms.batches(mesh.size, WIDE))))


def look(d):
    """The `FirstLook` at a `Discretisation` whose points are known.

    Raises
    ------
    ScenarioError
        Elements partly fluid, impossible values.
    """
    size = d.mesh.size
    tables, quality, constant, mass, rest = {}, {}, {}, (np.zeros(d.state.solid), np.zeros(d.state.fluid)), []
    for batch in cells.in_order(partial(batch_of, d), mesh_terms.batches(size)):
        for seen in batch:
            if seen.problems:
                raise ScenarioError(seen.problems)
            for table, found in ((tables, seen.tables), (quality, seen.quality), (constant, seen.constant)):
                for name, values in found.items():
                    if name not in table:
                        table[name] = np.empty((size, *values.shape[1:]), values.dtype)
                    table[name][seen.own] = values
            add_mass(d, seen, mass)
            rest.append((seen.speeds, seen.smallest, seen.losses))
    speeds, smallest, losses = zip(*rest)
    extremes = {name: (float(min(s[name][0] for s in speeds)), float(max(s[name][1] for s in speeds))) for name in speeds[0]}
    return FirstLook(**tables, quality=Quality(**quality, degree=d.element.degree), constant=constant, mass=mass, speeds=extremes,
                     smallest=min(smallest), loss=max(loss for loss, _ in losses), bulk_loss=any(bulk for _, bulk in losses))  # fmt: skip


def add_mass(d, seen, mass):
    """Add the masses of some elements to those of the points."""
    for fluid, total in enumerate(mass):
        own = d.fluid[seen.own] == bool(fluid)
        if own.any():
            np.add.at(total, d.points[seen.own[own]].ravel(), seen.mass[own].ravel())


def batch_of(d, part):
    """A `Seen` of the elements of a slice whose values are plain at their centres, one of the others."""
    own = np.arange(part.start, part.stop)
    local, centres = d.shapes(own), d.centres[own]
    z = centres[:, 2:] + local[:, 2] @ mesh_terms.interpolation(d.element.degree)[0]
    even = d.sampler.uniform(z, centres, d.mesh.regions[own])
    if even.all() or not even.any():
        return [see(d, own, local, bool(even[0]))]
    return [see(d, own[some], local[some], at_centres) for some, at_centres in ((even, True), (~even, False))]


def see(d, own, local, at_centres):
    """The `Seen` of elements with nodes `local`, asking for the material at their centres only, or at all nodes."""
    centres = d.centres[own]
    places = centres[:, :, None] if at_centres else mesh_terms.coordinates(d.element, local) + centres[:, :, None]
    samples = d.sampler.at(places, centres, d.mesh.regions[own])
    wrong = sampling.element_problems(samples, centres, numbers=own)
    slow, edges, (corners, straight) = sampling.slowest_in(samples), mesh_terms.boxes(local), mesh_terms.corners(local)
    limits = {name: (values.min(axis=-1), values.max(axis=-1)) for name, values in samples.items()}
    speeds = {name: limits[name] for name in ("vp", "vs", "rho")} | {"slowest": (slow, slow)}
    return Seen(
        own, {"edges": edges, "straight": straight, "varying": varying(limits)}, of_corners(corners) | {"slowest": slow},
        {name: values.mean(axis=-1) for name, values in samples.items()},
        volumes(d.element, local, edges) * inertias(samples, d.fluid[own]) * d.element.volume_weights,
        {name: (low.min(), high.max()) for name, (low, high) in speeds.items()},
        float(np.prod(local.max(axis=2) - local.min(axis=2), axis=1).min()),
        (sampling.largest_loss(samples), bool(sampling.bulk(samples).any())) if d.sampler.lossy else (0.0, False), wrong)  # fmt: skip


def inertias(samples, fluid):
    """What the mass integrates at the nodes of solid and fluid elements."""
    if not fluid.any():
        return inertia(samples, False)
    return np.where(fluid[:, None], inertia(samples, True), inertia(samples, False))


def varying(limits):
    """Elements whose values differ between nodes, from the (least, largest) of each."""
    def differ(low, high):
        low, high = (values.reshape(len(values), -1) for values in (low, high))
        scale = np.maximum(np.abs(low), np.abs(high)).max(axis=1)
        return (high - low > SAME * scale[:, None]).any(axis=1)

    return np.any([differ(*one) for one in limits.values()], axis=0)


def volumes(element, local, edges):
    """Determinant of the Jacobian at the nodes: (ne, n^3); (ne, 1) where all are boxes of some edges."""
    bent = np.isnan(edges[:, 0])
    if bent.all():
        return mesh_terms.determinants(element, local)
    found = edges.prod(axis=1)[:, None] / 8
    if bent.any():
        found = np.repeat(found, element.size, axis=1)
        found[bent] = mesh_terms.determinants(element, local[bent])
    return found
