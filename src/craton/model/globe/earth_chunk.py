"""From a scenario's domain.chunk and radial model to the chunk or the chunks of a sphere, to their
mesh and to what samples its medium.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.errors import ScenarioError, refuse
from craton.host.compile import helper
from craton.model.globe import emc, prem, radial, radial_files
from craton.model.globe.chunk import chunk
from craton.model.globe.planet import INWARD, directed
from craton.model.ground import relief
from craton.model.mesh.hexmesh import Prepared

LARGE = 500_000  # elements: above, plans are counted without a mesh, and ranks build slices
LATTICE = 24  # points along each axis of a chunk at which a perturbation is looked up
PERIOD = 1.0  # s, at which radial models state their speeds, where the scenario says nothing
UPPER = np.triu_indices(6)


def radial_model(model):
    """Return the `RadialModel` of a scenario's model.

    Raises ScenarioError: a file that is no radial model.
    """
    if model.kind == "prem":
        return prem.prem(model.transverse, model.ocean)
    if model.kind == "ak135":
        return radial_files.ak135()
    return _tried("model.file", lambda: radial_files.model(model.file), "see docs/earth.md for the file format")


def chunk_of(scenario):
    """Return the `Chunk` of a scenario with domain.chunk, or its `CubedSphere`; without the mesh.

    Raises ScenarioError: a file that cannot be read, a bottom that the model does not reach, numbers of elements that
    do not divide.
    """
    spec = scenario.domain.chunk
    model = radial_model(scenario.model)
    ground = None
    if spec.topography is not None:
        ground = _tried("domain.chunk.topography.file", lambda: _ground(spec.topography), "")
    # the other keys are parameters of `chunk` by the same names
    options = {name: value for name, value in spec if name not in ("longitude", "latitude", "width")}
    options |= {"degree": scenario.run.degree, "topography": ground}
    if spec.chunks == 1:
        options["widths"] = spec.width
    remedy = "change bottom, growth, elements or period"
    return _tried("domain.chunk", lambda: chunk(model, spec.centre, **options), remedy)


def _ground(table):
    elevation = relief.read(table.file, table.variable)
    return elevation if table.smoothing is None else elevation.lowered(table.smoothing)


def _tried(key, how, remedy):
    try:
        return how()
    except OSError as error:
        raise ScenarioError.of(key, f"cannot be read: {error.strerror or error}", "give the path of the file") from None
    except (ValueError, KeyError) as error:
        raise ScenarioError.of(key, str(error.args[0]), remedy) from None


@dataclass(frozen=True, eq=False)
class ChunkSampler:
    """A chunk's model made ready to be sampled; used as `sampling.Sampler` is."""

    chunk: Any
    over: Any = None  # a three-dimensional model laid over the radial one
    lossy: bool = False  # with 1 / Q
    # ln(f / f0) / pi: speeds, given at f0, are stated at f, v (1 + dispersion / Q) (Kanamori & Anderson 1977, eq. 3)
    dispersion: float = 0.0

    @property
    def anisotropic(self):
        """21 constants in place of two."""
        return self.chunk.model.anisotropic

    def at(self, coordinates, centres=None, regions=None):
        """Return the medium at nodes: dict of arrays (ne, n), stiffness (ne, 21, n) in the chunk's axes; see
        `sampling.at_nodes`.

        `coordinates` (ne, 3, n): m, of all nodes of each element; a node on a discontinuity takes the side on which its
        element is; `centres`, `regions`: not used.
        """
        coordinates = np.ascontiguousarray(coordinates, float)
        xyz = np.moveaxis(coordinates, 1, -1)
        r, model = self.radii(xyz), self.chunk.model
        medium = model.medium(r, self.lossy or self.dispersion != 0 or self.over is not None)
        if self.over is not None:
            medium = self.over.laid_over(medium, *self.chunk.frame.degrees(xyz), model.radius - r)
        vp, vs, rho, loss_p, loss_s = medium
        if self.dispersion:
            vp, vs = vp * (1 + self.dispersion * loss_p), vs * (1 + self.dispersion * loss_s)
        out = {"rho": rho, "vp": vp, "vs": vs}
        if self.lossy:
            out |= {"loss_p": loss_p, "loss_s": loss_s}
        if self.anisotropic:
            out["stiffness"] = self._stiffness(model.parameters(r), xyz, vp, vs, rho)
        return out

    def uniform(self, z, centres, regions=None):
        """Elements that have the same values at all nodes, see `sampling.Sampler.uniform`: not known of any.

        `z` (ne, n) in m, up; `centres` (ne, 3) in m; `regions` (ne,) int: number of each element's region.
        """
        return np.zeros(len(z), bool)

    def _stiffness(self, values, xyz, vp, vs, rho):
        """Return the 21 constants (ne, 21, n) about the radial direction; what is laid over the
        radial model changes its speeds in proportion.
        """
        own_vp, own_vs, _ = radial.speeds(values)
        values[0], values[1:3] = rho, values[1:3] * (vp / own_vp)
        values[3:5] *= np.where(own_vs > 0, vs / np.where(own_vs > 0, own_vs, 1), 1)
        axis = np.moveaxis(directed(xyz)[0], -1, 0)
        return np.moveaxis(radial.stiffness(radial.love(values), axis)[UPPER], 0, 1)

    def radii(self, xyz):
        """Radii in the spherical model, m, of nodes (ne, n, 3), each within the section that its element lies in.

        That is the one half-way between its highest and lowest node; a wide element's centre may lie below a thin
        crust.
        """
        r, limits = np.ascontiguousarray(self.chunk.undone(xyz)), np.ascontiguousarray(self.chunk.radii, float)
        away = float(INWARD * self.chunk.model.radius)
        helper(radial.SPHERES).call("settle", *r.shape, len(limits) - 1, limits, away, r)
        return r


def sampler(scenario, chunk):
    """Return the `ChunkSampler` of a scenario, and the frequency, Hz, at which it states speeds: None without
    attenuation.
    """
    over = perturbation(scenario.model)
    attenuation = scenario.model.attenuation
    if attenuation is None:
        return ChunkSampler(chunk, over), None
    stated_at, fitted_at = attenuation.frequency or 1 / PERIOD, reference(attenuation)
    return ChunkSampler(chunk, over, True, math.log(fitted_at / stated_at) / math.pi), fitted_at


def perturbation(model):
    """Return what a model lays over its radial one, `emc.Geographic`, or None."""
    if model.perturbation is None:
        return None
    file, remedy = (model.perturbation.file, "it needs vp, vs, or their changes, on longitude, latitude, depth")
    return _tried("model.perturbation.file", lambda: emc.read(file), remedy)


def share_covered(over, chunk):
    """Return the part of a chunk's volume in which a perturbation has values, from `LATTICE` points along each of its
    axes.
    """
    middles = (np.arange(LATTICE) + 0.5) / LATTICE
    xi, eta = np.meshgrid(*(w * (middles - 0.5) for w in chunk.widths))
    x, y = np.tan(xi), np.tan(eta)
    area = (1 + x**2) * (1 + y**2) / (1 + x**2 + y**2) ** 1.5
    top, bottom = chunk.model.radius, chunk.radii[0]
    radius = (bottom + (top - bottom) * middles)[:, None, None]
    covered = [over.covered(*chunk.frame.degrees(chart(xi, eta)), top - radius) for chart in chunk.charts]
    return float((covered * area * radius**2).sum() / (len(covered) * (area * radius**2).sum()))


def reference(attenuation):
    """Frequency, Hz, at which mechanisms are fitted: the scenario's, or that of radial models, if the band holds it,
    else its middle.
    """
    low, high = attenuation.band
    stated_at = attenuation.frequency or 1 / PERIOD
    return stated_at if low <= stated_at <= high else math.sqrt(low * high)


def prepared(scenario, chunk):
    """Return the `Prepared` of the whole chunk, and the scenario with the frequency at which the sampler states
    speeds.
    """
    medium, frequency = sampler(scenario, chunk)
    part = chunk.part().local()
    return Prepared(part.mesh, medium, part.numbers), at_frequency(scenario, frequency)


def prepared_slice(scenario, chunk, grid, rank, columns):
    """Mesh of one of (along xi, along eta) slices and of some columns of the largest elements around it; no rank builds
    the whole mesh.

    `grid`: slices along xi and eta; `columns`: columns of the largest elements.
    """
    medium, frequency = sampler(scenario, chunk)
    part = chunk.part(chunk.stack.around(chunk.slices(*grid)[rank], columns)).local()
    return Prepared(part.mesh, medium, part.numbers, chunk.slice_of(part, *grid)), at_frequency(scenario, frequency)


def slices_of(scenario, chunk, ranks):
    """Numbers of slices (along xi, along eta) that so many ranks build, each its own; None where all of them know the
    whole mesh.

    Raises ScenarioError: the chunk's largest elements cannot be shared among so many.
    """
    if chunk.all_chunks > 1:
        return None
    large = scenario.run.partition == "auto" and chunk.size > LARGE
    return arrangement(chunk.stack, ranks) if ranks > 1 and (large or scenario.run.partition == "slices") else None


def arrangement(stack, ranks):
    """Numbers of slices (along xi, along eta) whose largest has fewest elements, and then shares least.

    Raises ScenarioError: the chunk's largest elements cannot be shared among so many.
    """
    columns = tuple(n // w for n, w in zip(stack.count, stack.coarsest))
    pairs = [
        (p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0 and p <= columns[0] and ranks // p <= columns[1]
    ]
    if not pairs:
        refuse_ranks(ranks, stack)

    def cost(grid):
        columns_per_rank = [math.ceil(c / p) for c, p in zip(columns, grid)]
        return columns_per_rank[0] * columns_per_rank[1], sum(columns_per_rank)

    return min(pairs, key=cost)


def refuse_ranks(ranks, stack):
    """Refuse more ranks than there are columns of the largest elements."""
    columns = " x ".join(str(n // w) for n, w in zip(stack.count, stack.coarsest))
    message = f"{ranks:,} ranks: {columns} columns of the largest elements cannot be divided evenly among them"
    remedy = (
        "use fewer ranks, or a number with more divisors; smaller elements, or less growth; "
        'for a small chunk run.partition = "bisection"'
    )
    refuse("domain.chunk", message, remedy)


def middle_edge(chunk):
    """Median length of the elements' edges as designed, m, each layer's at its middle in the chunk's centre: for any
    part the same.
    """
    lengths, counts = [], []
    for layer, count in zip(chunk.stack.layers, chunk.stack.counts):
        low, high = layer.levels[0], layer.levels[-1]
        across = [a * w / n * (low + high) / 2 for a, w, n in zip(layer.width, chunk.widths, chunk.stack.count)]
        lengths += [*across, (high - low) / (len(layer.levels) - 1)]
        counts += 3 * [count]
    order = np.argsort(lengths)
    middle = np.searchsorted(np.cumsum(np.array(counts)[order]), sum(counts) / 2)
    return float(np.array(lengths)[order[middle]])


def at_frequency(scenario, frequency):
    """Return a scenario whose attenuation has its reference at a frequency, Hz; the same one for None.

    `frequency` in Hz.
    """
    if frequency is None:
        return scenario
    attenuation = scenario.model.attenuation.model_copy(update={"frequency": frequency})
    return scenario.model_copy(update={"model": scenario.model.model_copy(update={"attenuation": attenuation})})


def shortest_period(chunk, degree, points):
    """Shortest period, s, with so many GLL points a wavelength: of the widest element's edges in each section of a
    chunk, as designed.

    `points`: GLL points per wavelength.
    """
    widths = [w / n for w, n in zip(chunk.widths, chunk.stack.count)]
    worst = 0.0
    for layer in chunk.stack.layers:
        top = layer.levels[-1]
        edge = max(*(a * top * w for a, w in zip(layer.width, widths)), float(np.diff(layer.levels).max()))
        slow = chunk.model.slowest(layer.levels[0], layer.levels[-1])
        worst = max(worst, edge * points / (degree * slow))
    return worst


def layers_in_words(chunk):
    """(region, depths, layers, doublings) of the sections of a chunk, from above: list of str."""
    rows, radius = [], chunk.model.radius
    for section in range(len(chunk.radii) - 2, -1, -1):
        section_layers = [layer for layer in chunk.stack.layers if layer.section == section]
        grown = sum(layer.factor > 1 for layer in section_layers)
        top, bottom = (radius - r for r in (chunk.radii[section + 1], chunk.radii[section]))
        text = f"{top / 1e3:.4g} to {bottom / 1e3:.4g} km {chunk.model.region((chunk.radii[section] + chunk.radii[section + 1]) / 2)}"
        rows.append(f"{text}: {len(section_layers)}" + (f" (elements grow in {grown})" if grown else ""))
    return rows
