"""The mesh of a scenario: its file, or a box of elements whose faces follow topography, water and
layers.
"""

import math

import numpy as np

from craton.errors import refuse
from craton.model.ground import terrain
from craton.model.media import cells, earth, layered
from craton.model.media.cells import Region

BLOCK = 1 << 12  # elements measured at a time
# times the element size: an interface closer than this to the ground coincides with it
ABOVE = 1e-6


def region_of(scenario):
    """Return the `Region` of a scenario's box."""
    domain = scenario.domain
    return Region(domain.corner, tuple(o + s for o, s in zip(domain.corner, domain.extent)))


def element_size_of(scenario):
    """Longest edge of the elements, m: ``domain.element_size``, or the edge that resolves the slowest wave at
    ``max_frequency``.

    GLL points are counted at their average distance, edge over degree; a derived edge is rounded down to three digits.
    """
    domain = scenario.domain
    if domain.element_size is not None:
        return domain.element_size
    slowest = earth.extremes(scenario.model, region_of(scenario))["slowest"]
    edge = scenario.run.degree * slowest / (domain.max_frequency * domain.points_per_wavelength)
    digits = 2 - math.floor(math.log10(edge))
    return math.floor(edge * 10**digits) / 10**digits


def mesh_of(scenario, most=None):
    """Return the `HexMesh` of a scenario of spectral elements whose model is right.

    `most`: elements of a box that can be meshed. Raises ScenarioError: a file that is no mesh, interfaces that cross, a
    ground that rises above its water; ResourceError: more elements than `most`.
    """
    domain = scenario.domain
    if domain.mesh is not None:
        from craton.model.mesh.files import read_mesh

        return read_mesh(domain.mesh)
    from craton.model.mesh.box import box_mesh

    top, surface, curved = top_of(scenario)
    size = (*domain.extent[:2], top - domain.corner[2])
    refine = [(step.below, step.factor) for step in domain.refine]
    edge, interfaces, order = element_size_of(scenario), interfaces_of(scenario), 2 if curved else 1
    return box_mesh(domain.corner, size, edge, interfaces, surface, refine, order, most)


def top_of(scenario):
    """Elevation of the mesh's top, its surface z(x, y) or None where it is flat, and whether any surface of the mesh is
    curved.
    """
    ground, domain = terrain.build(scenario.model), scenario.domain
    if ground is None:
        return domain.top, None, False
    curved = ground.ground.z.size > 1
    if ground.water is None:
        return domain.top, ground.surface, curved
    highest = terrain.heights(terrain.Terrain(ground.ground), region_of(scenario))[1]
    if highest >= ground.water.level:
        level = f"{ground.water.level:.10g} m"
        message = f"the topography rises to {highest:.10g} m, above the water at {level}: water with a coastline cannot be meshed"
        refuse("model.water", message, 'raise water.level, leave water out, or use method = "fd"')
    return ground.water.level, None, curved


def interfaces_of(scenario):
    """Elevations or surfaces z(x, y) that faces of elements follow, top down: the sea floor, and the tops of layers
    that lie below the ground everywhere. Other layers cut through elements.
    """
    model, domain = scenario.model, scenario.domain
    ground = terrain.build(model)
    interfaces = [] if ground is None or ground.water is None else [ground.surface]
    if model.kind != "layers":
        return interfaces
    tops = layered.build(model).breaks[1:]  # the first layer goes on above its top
    if layered.follows(model):
        lowest = terrain.heights(ground, region_of(scenario))[0]
        return interfaces + [_below(ground, top) for top in tops if top < 0 and lowest + top > domain.corner[2]]
    roof = domain.top if ground is None else terrain.heights(ground, region_of(scenario))[0]
    room = ABOVE * element_size_of(scenario)
    return interfaces + [float(top) for top in tops if domain.corner[2] + room < top < roof - room]


def _below(ground, depth):
    """Return the surface at a depth, given as a negative elevation, below the ground."""
    return lambda x, y: ground.surface(x, y) + depth


def edges(mesh):
    """Edges of the elements, straight between corners: shortest, median, longest, m."""
    pairs = [(a, a | 1 << d) for a in range(8) for d in range(3) if not a >> d & 1]
    lengths, ends = np.empty((len(pairs), mesh.size)), mesh.corners

    def measure(rows):
        corners = mesh.nodes[ends[rows]]
        for row, (a, b) in zip(lengths, pairs):
            row[rows] = np.sqrt(((corners[:, a] - corners[:, b]) ** 2).sum(axis=1))

    cells.in_parallel(measure, [slice(a, a + BLOCK) for a in range(0, mesh.size, BLOCK)])
    return float(lengths.min()), float(np.median(lengths)), float(lengths.max())
