"""One pass over all elements before the time step is known: shapes, material, masses, and the
extremes that later builders need; how well a mesh suits its model, for `craton plan`.
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from craton.errors import refuse_all
from craton.methods.spectral_element.equations.material import inertia
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.mesh_terms import compiled
from craton.model.media import cells, checks, sampling
from craton.model.mesh.shape import product

# relative: differences between the nodes of an element below are rounding of positions
UNIFORM = 1e-6
MIDWAY = 1e-7  # of an element's size, by which nodes of a straight one are off the middle at most
RECTANGULAR = 1e-6  # of the shortest edge, by which nodes of a box are off their places at most
# GLL points per wavelength below which a warning is due, by degree
FEWEST = {2: 9.0, 3: 6.0, 4: 4.5, 5: 4.2, 6: 4.0, 7: 3.7, 8: 3.5}
TABLES = ("edges", "straight", "varying", "fastest")  # of a `MeshStatistics`, one row an element


@dataclass(frozen=True, eq=False)
class Quality:
    """Quality of each element, (ne,) arrays.

    Parameters
    ----------
    shortest, longest : array
        Edges, straight between corners, m.
    slowest : array
        Slowest wave, m/s.
    jacobian : array
        Least scaled Jacobian at the corners: 1 for a box, 0 for a folded corner.
    skewness : array
        Largest deviation of an angle between edges from the right angle, 0 to 1.
    degree : int
    """

    shortest: np.ndarray
    longest: np.ndarray
    slowest: np.ndarray
    jacobian: np.ndarray
    skewness: np.ndarray
    degree: int

    @property
    def aspect(self):
        """Longest over shortest edge."""
        return self.longest / self.shortest

    def points(self, frequency):
        """Return GLL points per wavelength of the slowest wave at a frequency, Hz, at their average
        distance along the longest edge.
        """
        return self.slowest * self.degree / (frequency * self.longest)


QUALITY = tuple(field.name for field in fields(Quality) if field.name != "degree")


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
        tables = {name: getattr(self, name)[elements] for name in TABLES}
        tables["constant"] = {name: values[elements] for name, values in self.constant.items()}
        quality = replace(self.quality, **{name: getattr(self.quality, name)[elements] for name in QUALITY})
        return replace(self, **tables, quality=quality, mass=tuple(masses), moduli=None)

    def select_leading(self, count, state):
        """Return the statistics of the first elements, whose points, those of a `State`, come
        first; nothing is copied.
        """
        masses = [mass[:points] for mass, points in zip(self.mass, (state.solid, state.fluid))]
        return replace(self.select(slice(count), masses), moduli=self.moduli)


def find_fluid_elements(mesh, sampler):
    """Return which elements are fluid, by the material at their centres: (ne,) bool."""

    def fluid_in_batch(part):
        centres = mesh.nodes[mesh.elements[part]].mean(axis=1)
        return sampling.fluids(sampler.at(centres[:, :, None], centres, mesh.regions[part]))

    batches = mesh_terms.batches(mesh.size, mesh_terms.CENTRE_BATCH)
    return np.concatenate(list(cells.in_order(fluid_in_batch, batches)))


def scan_elements(geometry, sampler, moduli=None):
    """Collect the `MeshStatistics` of an `ElementGeometry` whose material a sampler gives; a
    `material.SampledModuli` keeps the moduli.

    Raises
    ------
    ScenarioError
        Elements partly fluid, impossible values.
    """
    size, state = geometry.mesh.size, geometry.state
    columns, mass, extremes = {}, (np.zeros(state.solid), np.zeros(state.fluid)), []
    for batches in cells.in_order(partial(scan_slice, geometry, sampler, moduli), mesh_terms.batches(size)):
        for elements, values, node_masses, batch_extremes in batches:
            for name, column in values.items():
                if name not in columns:
                    columns[name] = np.empty((size, *column.shape[1:]), column.dtype)
                columns[name][elements] = column
            for fluid, total in enumerate(mass):
                in_medium = geometry.fluid[elements] == bool(fluid)
                if in_medium.any():
                    add_at(total, geometry.points[elements[in_medium]], node_masses[in_medium])
            extremes.append(batch_extremes)
    return MeshStatistics(
        **{name: columns.pop(name) for name in TABLES},
        quality=Quality(**{name: columns.pop(name) for name in QUALITY}, degree=geometry.element.degree),
        constant=columns,
        mass=mass,
        moduli=moduli,
        **combine_extremes(extremes),
    )


def combine_extremes(parts):
    """Return the extremes of a `MeshStatistics` by name from those of parts of it: (speeds, smallest, loss, bulk_loss) each."""
    speeds, smallest, losses, bulk_losses = zip(*parts)
    limits = {name: (min(s[name][0] for s in speeds), max(s[name][1] for s in speeds)) for name in speeds[0]}
    return {"speeds": limits, "smallest": min(smallest), "loss": max(losses), "bulk_loss": any(bulk_losses)}


def add_at(total, points, values):
    """Add values (n, nodes) to the total at their points (n, nodes), one after another."""
    points = np.ascontiguousarray(points, np.int32)
    compiled("add_masses", *points.shape, points, np.ascontiguousarray(values), total)


def scan_slice(geometry, sampler, moduli, part):
    """Return what `scan_batch` gives for a slice of elements: for those with uniform material, and for the others."""
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
    """Return of elements with nodes `local`, the material sampled at their centres only or at all nodes: their
    numbers, columns of `MeshStatistics` and `Quality` by name, masses of their nodes (n, n^3), and extremes: speeds,
    smallest volume, largest 1/Q, whether the bulk modulus relaxes.

    Raises
    ------
    ScenarioError
        Elements partly fluid, impossible values.
    """
    element, centres, fluid = geometry.element, geometry.centres[elements], geometry.fluid[elements]
    places = centres[:, :, None] if at_centres else mesh_terms.coordinates(element, local) + centres[:, :, None]
    samples = sampler.at(places, centres, geometry.mesh.regions[elements])
    refuse_all(impossible(samples, centres, elements))
    edges, straight, quality, smallest = shape_statistics(local)
    limits, constant, varying = material_of(samples)
    slowest = slowest_in(samples)
    speeds = {name: limits[name] for name in ("vp", "vs", "rho")} | {"slowest": (slowest, slowest)}
    if moduli is not None and not at_centres:
        chosen = varying & ~fluid
        moduli.store({name: values[chosen] for name, values in samples.items()}, elements[chosen])
    tables = {"edges": edges, "straight": straight, "varying": varying, "fastest": limits["vp"][1]}
    mass = masses(volumes(element, local, edges), inertia_by_medium(samples, fluid), element.volume_weights)
    loss, bulk_loss = 0.0, False
    if sampler.lossy:
        loss, bulk_loss = sampling.largest_inverse_q(samples), bool(sampling.bulk(samples).any())
    ranges = {name: (float(low.min()), float(high.max())) for name, (low, high) in speeds.items()}
    return elements, tables | quality | {"slowest": slowest} | constant, mass, (ranges, smallest, loss, bulk_loss)


def inertia_by_medium(samples, fluid):
    """Return the integrand of the mass at the nodes of solid and fluid elements: (n, nodes)."""
    if not fluid.any():
        return inertia(samples, False)
    return np.where(fluid[:, None], inertia(samples, True), inertia(samples, False))


def shape_statistics(local):
    """Return of elements with nodes `local`, (n, 3, 27): edges (n, 3) of boxes, nan for others; straight ones (n,)
    bool; shortest, longest, jacobian and skewness of a `Quality` by name; volume of the smallest box around one, m3.
    """
    count = len(local)
    edges, straight = np.empty((count, 3)), np.empty(count, bool)
    shapes, boxes = np.empty((4, count)), np.empty(count)
    compiled("shape_statistics", count, local, RECTANGULAR, MIDWAY, edges, straight, shapes, boxes)
    shortest, longest, jacobian, sine = shapes
    skewness = np.arcsin(np.minimum(sine, 1)) / (np.pi / 2)  # sine: of what an angle lacks of a right one, the largest
    quality = {"shortest": shortest, "longest": longest, "jacobian": jacobian, "skewness": skewness}
    return edges, straight, quality, float(boxes.min())


def impossible(samples, centres, elements):
    """Return the problems of the material of elements, see `sampling.element_problems`."""
    values = [np.ascontiguousarray(samples[name]) for name in ("vp", "vs", "rho")]
    limits = (checks.SLOWEST, checks.FASTEST, checks.LIGHTEST, checks.HEAVIEST, checks.LIMIT)
    if values[0].size and not compiled("unsound", *values[0].shape, *values, *map(float, limits)):
        return []
    return sampling.element_problems(samples, centres, numbers=elements)


def slowest_in(samples):
    """Return the slowest wave in each element, m/s, see `sampling.slowest_in`."""
    if "stiffness" in samples:
        return sampling.slowest_in(samples)
    vp, vs = np.ascontiguousarray(samples["vp"]), np.ascontiguousarray(samples["vs"])
    out = np.empty(len(vp))
    compiled("slowest", *vp.shape, vp, vs, out)
    return out


def material_of(samples):
    """Return of values (n, ..., nodes) by name: the (least, largest) of each element, (n, ...), its
    mean, (n, ...), and the elements in which any of them differs between nodes, (n,) bool.
    """
    limits, constant, varying = {}, {}, np.zeros(len(samples["vp"]), bool)
    for name, values in samples.items():
        values = np.ascontiguousarray(values, float)
        low, high, mean = (np.empty(values.shape[:-1]) for _ in range(3))
        sizes = len(values), int(np.prod(values.shape[1:-1])), values.shape[-1]
        compiled("extremes", *sizes, UNIFORM, values, low, high, mean, varying)
        limits[name], constant[name] = (low, high), mean
    return limits, constant, varying


def masses(volume, inert, weights):
    """Return volume (n, nodes or 1) times inertia (n, nodes or 1) times weights (nodes,)."""
    out = np.empty((len(volume), len(weights)))
    volume, inert = np.ascontiguousarray(volume), np.ascontiguousarray(inert)
    steps = int(volume.shape[1] > 1), int(inert.shape[1] > 1)
    compiled("weigh", *out.shape, volume, steps[0], inert, steps[1], weights, out)
    return out


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


# --- quality --------------------------------------------------------------------------------------


def quality_report(quality, mesh, f95=None, stable=None):
    """Return rows (label, text) for `craton plan`: the worst elements with their numbers and
    places.

    Parameters
    ----------
    quality : Quality
    mesh : HexMesh
    f95 : float, optional
        Frequency below which 95 % of the sources' spectra lie, Hz.
    stable : Stable, optional
    """
    rows = []
    if f95:
        points = quality.points(f95)
        worst = int(np.argmin(points))
        judged = "ok" if points[worst] >= FEWEST[quality.degree] else "TOO FEW"
        words = f"{points[worst]:.1f} at f95 = {f95:.4g} Hz ({judged}) in {describe(mesh, worst)}: edge "
        words += f"{quality.longest[worst]:,.4g} m, {quality.slowest[worst]:,.0f} m/s; median {np.median(points):.1f}"
        rows.append(("points per wavelength", words))
    rows += [
        _worst(mesh, "aspect ratio", quality.aspect, np.argmax, "{:.3g}", " (longest edge over shortest)"),
        _worst(mesh, "skewness", quality.skewness, np.argmax, "{:.2f}", " (0: right angles)"),
        _worst(mesh, "scaled Jacobian", quality.jacobian, np.argmin, "{:.2f}", " (1: a box)"),
    ]
    if stable is not None:
        words = f"limited by {describe(mesh, stable.element)}, shortest edge {quality.shortest[stable.element]:,.4g} m"
        rows.append(("time step", f"{words}; Courant number {stable.courant:.2f} there at the limit"))
    return rows


def _worst(mesh, label, values, which, form, meaning):
    worst = int(which(values))
    is_everywhere = np.ptp(values) <= 1e-6 * max(abs(float(values[worst])), 1.0)
    where = ", everywhere" if is_everywhere else f" at worst, in {describe(mesh, worst)}"
    return label, form.format(values[worst]) + meaning + where


def describe(mesh, element):
    """Describe an element by its number and the position of its centre."""
    nodes = mesh.nodes[mesh.corners[element]].mean(axis=0)
    return f"element {element} at ({', '.join(f'{v:,.10g}' for v in np.round(nodes, 3) + 0.0)}) m"


def quality_warnings(quality, mesh, f95):
    """Warn where elements do not resolve the sources' frequencies: list of str."""
    points = quality.points(f95) if f95 else np.array([np.inf])
    worst, fewest = int(np.argmin(points)), FEWEST[quality.degree]
    few = int((points < fewest).sum())
    if not few:
        return []
    edge = quality.slowest[worst] * quality.degree / f95 / fewest
    return [
        f"mesh under-resolved: {points[worst]:.1f} GLL points per minimum wavelength at f95 = {f95:.4g} Hz ({fewest:g} required for "
        f"degree {quality.degree}) in {few:,} of {mesh.size:,} elements; the worst is {describe(mesh, worst)}, slowest wave "
        f"{quality.slowest[worst]:,.0f} m/s: use edges of at most {edge:.4g} m there, or a source with lower frequencies"
    ]
