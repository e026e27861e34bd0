"""One pass over all elements before the time step is known: shapes, material, masses, and the
extremes that later builders need.
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from craton.errors import ScenarioError
from craton.methods.spectral_element.equations.material import inertia
from craton.methods.spectral_element.mesh import batched, mesh_terms
from craton.methods.spectral_element.mesh.quality import Quality, corner_quality, named_quality
from craton.model.media import cells, checks, sampling
from craton.model.mesh.shape import product

# relative: differences between the nodes of an element below are rounding of positions
UNIFORM = 1e-6
CENTRE_BATCH = 1 << 14  # elements per batch where only their centres are sampled


@dataclass(frozen=True)
class MeshStatistics:
    """Shape, material and masses of all elements, and their extremes.

    Parameters
    ----------
    edges : (ne, 3) array
        Edges of elements that are boxes, m; nan where an element is not a box.
    straight : (ne,) bool array
        Elements whose nodes lie in the middle between their corners, boxes among them.
    quality : Quality
    varying : (ne,) bool array
        Elements in which the material differs between nodes.
    fastest : (ne,) array
        Largest vp of their nodes, m/s.
    constant : dict of (ne,) arrays, stiffness (ne, 21)
        Material of each element, the mean of its nodes; names as in `craton.model.media.sampling`.
    mass : (solid, fluid) arrays
        Diagonal masses of the points: density, of a fluid 1 / kappa, integrated by the nodes'
        quadrature.
    speeds : dict of str to (float, float)
        Least and largest vp, vs, rho, and "slowest": the slowest wave, m/s.
    smallest : float
        Volume, m3, of the smallest box around an element.
    loss : float
        Largest 1/Q.
    bulk_loss : bool
        The bulk modulus relaxes, too.
    moduli : material.SampledModuli or None
        Of the solid elements that vary, until the families have them.
    """

    edges: np.ndarray
    straight: np.ndarray
    quality: Quality
    varying: np.ndarray
    fastest: np.ndarray
    constant: dict
    mass: tuple
    speeds: dict
    smallest: float
    loss: float = 0.0
    bulk_loss: bool = False
    moduli: Any = None

    def select(self, elements, masses):
        """Return the statistics of elements (an index or a slice) with the masses (solid, fluid) of
        their points; extremes stay, moduli are not kept.
        """
        names = ("edges", "straight", "varying", "fastest")
        tables = {name: getattr(self, name)[elements] for name in names}
        tables["constant"] = {name: values[elements] for name, values in self.constant.items()}
        quality = Quality(
            **{f.name: getattr(self.quality, f.name)[elements] for f in fields(Quality) if f.name != "degree"},
            degree=self.quality.degree,
        )
        return replace(self, **tables, quality=quality, mass=tuple(masses), moduli=None)

    def select_leading(self, count, state):
        """Return the statistics of the first elements, whose points, those of a `State`, come
        first; nothing is copied.
        """
        masses = [mass[:points] for mass, points in zip(self.mass, (state.solid, state.fluid))]
        return replace(self.select(slice(count), masses), moduli=self.moduli)


@dataclass(frozen=True)
class BatchStatistics:
    """The statistics of a batch of elements.

    Parameters
    ----------
    elements : (n,) int array
    tables, quality, constant : dict of str to (n, ...) array
        Parts of a `MeshStatistics` by name.
    mass : (n, n^3) array
        Masses of the elements' nodes.
    speeds, smallest : dict, float
        See `MeshStatistics`.
    losses : (float, bool)
        Largest 1/Q; whether the bulk modulus relaxes.
    problems : list of Problem
        Impossible material.
    """

    elements: np.ndarray
    tables: dict
    quality: dict
    constant: dict
    mass: np.ndarray
    speeds: dict
    smallest: float
    losses: tuple
    problems: list


def find_fluid_elements(mesh, sampler):
    """Return which elements are fluid, by the material at their centres: (ne,) bool."""

    def fluid_in_batch(part):
        centres = mesh.nodes[mesh.elements[part]].mean(axis=1)
        return sampling.fluids(sampler.at(centres[:, :, None], centres, mesh.regions[part]))

    return np.concatenate(list(cells.in_order(fluid_in_batch, mesh_terms.batches(mesh.size, CENTRE_BATCH))))


def scan_elements(geometry, sampler, moduli=None):
    """Collect the `MeshStatistics` of an `ElementGeometry` whose material a sampler gives; a
    `material.SampledModuli` keeps the moduli.

    Raises
    ------
    ScenarioError
        Elements partly fluid, impossible values.
    """
    size, state = geometry.mesh.size, geometry.state
    tables, quality, constant, mass, extremes = ({}, {}, {}, (np.zeros(state.solid), np.zeros(state.fluid)), [])
    for batches in cells.in_order(partial(scan_slice, geometry, sampler, moduli), mesh_terms.batches(size)):
        for batch in batches:
            if batch.problems:
                raise ScenarioError(batch.problems)
            for target, columns in ((tables, batch.tables), (quality, batch.quality), (constant, batch.constant)):
                store_columns(target, columns, batch.elements, size)
            add_mass(geometry, batch, mass)
            extremes.append((batch.speeds, batch.smallest, batch.losses))
    speeds, smallest, losses = zip(*extremes)
    limits = {
        name: (float(min(s[name][0] for s in speeds)), float(max(s[name][1] for s in speeds))) for name in speeds[0]
    }
    quality = Quality(**quality, degree=geometry.element.degree)
    return MeshStatistics(
        **tables,
        quality=quality,
        constant=constant,
        mass=mass,
        speeds=limits,
        smallest=min(smallest),
        loss=max(loss for loss, _ in losses),
        bulk_loss=any(bulk for _, bulk in losses),
        moduli=moduli,
    )


def store_columns(target, columns, elements, size):
    """Store columns (n, ...) of elements in the arrays (size, ...) of the same names, which are
    made when first needed.
    """
    for name, values in columns.items():
        if name not in target:
            target[name] = np.empty((size, *values.shape[1:]), values.dtype)
        target[name][elements] = values


def add_mass(geometry, batch, mass):
    """Add the masses of a batch of elements to those of the points, (solid, fluid)."""
    for fluid, total in enumerate(mass):
        in_medium = geometry.fluid[batch.elements] == bool(fluid)
        if in_medium.any():
            points = geometry.points[batch.elements[in_medium]]
            add_at(total, points, batch.mass if in_medium.all() else batch.mass[in_medium])


def add_at(total, points, values):
    """Add values (n, nodes) to the total at their points (n, nodes), one after another."""
    if (compiled := batched.compiled()) is not None:
        compiled.add_at(total, points, values)
    else:
        np.add.at(total, points.ravel(), values.ravel())


def scan_slice(geometry, sampler, moduli, part):
    """Return the `BatchStatistics` of a slice of elements: one of those with uniform material, one
    of the others.
    """
    elements = np.arange(part.start, part.stop)
    local, centres = geometry.shapes(elements), geometry.centres[elements]
    z = centres[:, 2:] + product(local[:, 2], mesh_terms.interpolation(geometry.element.degree)[0])
    uniform = sampler.uniform(z, centres, geometry.mesh.regions[elements])
    if uniform.all() or not uniform.any():
        return [scan_batch(geometry, sampler, moduli, elements, local, bool(uniform[0]))]
    return [
        scan_batch(geometry, sampler, moduli, elements[chosen], local[chosen], at_centres)
        for chosen, at_centres in ((uniform, True), (~uniform, False))
    ]


def scan_batch(geometry, sampler, moduli, elements, local, at_centres):
    """Return the `BatchStatistics` of elements with nodes `local`, the material sampled at their
    centres only, or at all nodes.
    """
    element, centres, regions = (geometry.element, geometry.centres[elements], geometry.mesh.regions[elements])
    places = centres[:, :, None] if at_centres else mesh_terms.coordinates(element, local) + centres[:, :, None]
    samples = sampler.at(places, centres, regions)
    problems = impossible(samples, centres, elements)
    slowest, shape = slowest_in(samples), shape_statistics(local)
    limits, constant, varying = material_of(samples)
    speeds = {name: limits[name] for name in ("vp", "vs", "rho")} | {"slowest": (slowest, slowest)}
    inert = inertia_by_medium(samples, geometry.fluid[elements])
    if moduli is not None and not at_centres:
        keep_varying(moduli, samples, elements, varying & ~geometry.fluid[elements])
    return BatchStatistics(
        elements=elements,
        tables={"edges": shape.edges, "straight": shape.straight, "varying": varying, "fastest": limits["vp"][1]},
        quality=shape.quality | {"slowest": slowest},
        constant=constant,
        mass=masses(volumes(element, local, shape.edges), inert, element.volume_weights),
        speeds={name: (low.min(), high.max()) for name, (low, high) in speeds.items()},
        smallest=shape.smallest,
        losses=(sampling.largest_inverse_q(samples), bool(sampling.bulk(samples).any()))
        if sampler.lossy
        else (0.0, False),
        problems=problems,
    )


def keep_varying(moduli, samples, elements, chosen):
    """Store the moduli of the chosen ones, (n,) bool, of elements (n,) in a
    `material.SampledModuli`.
    """
    if not chosen.all():
        samples = {name: values[chosen] for name, values in samples.items()}
    moduli.store(samples, elements[chosen])


def inertia_by_medium(samples, fluid):
    """Return the integrand of the mass at the nodes of solid and fluid elements: (n, nodes)."""
    if not fluid.any():
        return inertia(samples, False)
    return np.where(fluid[:, None], inertia(samples, True), inertia(samples, False))


@dataclass(frozen=True)
class ShapeStatistics:
    """Shapes of a batch of elements.

    Parameters
    ----------
    edges, straight
        See `MeshStatistics`.
    quality : dict of str to (n,) array
        As of `corner_quality`.
    smallest : float
        Volume of the smallest box around an element, m3.
    """

    edges: np.ndarray
    straight: np.ndarray
    quality: dict
    smallest: float


def shape_statistics(local):
    """Return the `ShapeStatistics` of elements with nodes `local`, (n, 3, 27)."""
    if (compiled := batched.compiled()) is not None:
        edges, straight, quality, boxes = compiled.shape_statistics(local, mesh_terms.RECTANGULAR, mesh_terms.MIDWAY)
        return ShapeStatistics(edges, straight, named_quality(*quality), float(boxes.min()))
    (corners, straight), extents = mesh_terms.corners(local), local.max(axis=2) - local.min(axis=2)
    smallest = float(np.prod(extents, axis=1).min())
    return ShapeStatistics(mesh_terms.boxes(local), straight, corner_quality(corners), smallest)


def impossible(samples, centres, elements):
    """Return the problems of the material of elements, see `sampling.element_problems`."""
    if (compiled := batched.compiled()) is not None and samples["vp"].size:
        speeds = (checks.SLOWEST, checks.FASTEST, checks.LIGHTEST, checks.HEAVIEST, checks.LIMIT)
        if not compiled.unsound(*(samples[name] for name in ("vp", "vs", "rho")), speeds):
            return []
    return sampling.element_problems(samples, centres, numbers=elements)


def slowest_in(samples):
    """Return the slowest wave in each element, m/s, see `sampling.slowest_in`."""
    if (compiled := batched.compiled()) is not None and "stiffness" not in samples:
        return compiled.slowest(samples["vp"], samples["vs"])
    return sampling.slowest_in(samples)


def material_of(samples):
    """Return of values (n, ..., nodes) by name: the (least, largest) of each element, (n, ...), its
    mean, (n, ...), and the elements in which any of them differs between nodes, (n,) bool.
    """
    if (compiled := batched.compiled()) is not None:
        limits, constant, varying = {}, {}, np.zeros(len(samples["vp"]), bool)
        for name, values in samples.items():
            *limits[name], constant[name] = compiled.extremes(values, UNIFORM, varying)
        return limits, constant, varying
    limits = {name: (values.min(axis=-1), values.max(axis=-1)) for name, values in samples.items()}
    constant = {name: values.mean(axis=-1) for name, values in samples.items()}
    return limits, constant, varying_elements(limits)


def masses(volume, inert, weights):
    """Return volume (n, nodes or 1) times inertia (n, nodes or 1) times weights (nodes,)."""
    if (compiled := batched.compiled()) is not None:
        return compiled.masses(volume, inert, weights)
    return volume * inert * weights


def varying_elements(limits):
    """Return the elements whose values differ between nodes, (n,) bool, from the (least, largest)
    of each quantity.
    """

    def differ(low, high):
        low, high = (values.reshape(len(values), -1) for values in (low, high))
        scale = np.maximum(np.abs(low), np.abs(high)).max(axis=1)
        return (high - low > UNIFORM * scale[:, None]).any(axis=1)

    return np.any([differ(low, high) for low, high in limits.values()], axis=0)


def volumes(element, local, edges):
    """Return the determinant of the Jacobian at the nodes: (ne, n^3); (ne, 1) where all elements
    are boxes with these edges.
    """
    bent = np.isnan(edges[:, 0])
    if bent.all():
        return mesh_terms.determinants(element, local)
    determinants = edges.prod(axis=1)[:, None] / 8
    if bent.any():
        determinants = np.repeat(determinants, element.size, axis=1)
        determinants[bent] = mesh_terms.determinants(element, local[bent])
    return determinants
