"""Where fluid and solid meet: the level sea floor of a layered model, the vertical spacing that puts it half-way between planes,
the side of a contact on which sources and receivers lie, and the points of that side.

At a floor half-way between planes vertical velocity and traction are continuous, and differences that end there (contact.py)
make waves of the water right to 0.3 % at 12 points per wavelength. A floor that the grid moves by half a spacing changes the
depth of the water by as much: 8 to 18 % of a waveform in the case of tests/finite_difference/test_water.py.

Tangential velocity jumps at a contact, and so do the normal stresses along it: weights that reach
across it mix the two. A fluid holds no shear stress, so what a source adds to one there stays for
ever. Sources and receivers therefore take points of their own side only.
"""

import math

import numpy as np

from craton.errors import Problem
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.acoustic import has_shear
from craton.methods.finite_difference.equations.closure import HIGHEST, closure
from craton.methods.protocol import remembered
from craton.methods.waves.interpolate import NODES
from craton.model.media import anomalies, earth, layered
from craton.text import first_of

EMPTY, FLUID, SOLID = 0, 1, 2
NEAREST = 1e-9  # relative difference of spacings that are the same
ON_FLOOR = 1e-6  # spacings from a contact within which a position lies on it


def vertical_spacing(scenario, spacing: float) -> float | None:
    """Return the widest vertical spacing, at most `spacing`, with the level sea floor half-way
    between two planes, m; None where that is `spacing`, or where there is no such floor.
    """
    floor = level_floor(scenario.model)
    if floor is None or not scenario.domain.origin[-1] < floor < scenario.domain.top:
        return None
    depth = scenario.domain.top - floor
    planes = max(math.ceil(depth / spacing - 0.5 - NEAREST), 0) + 0.5
    return None if abs(depth / planes - spacing) <= NEAREST * spacing else depth / planes


def level_floor(model) -> float | None:
    """Return the elevation where flat layers of fluid end above layers of solid, m; None for other models."""
    if model.kind != "layers" or model.follow == "surface" or model.topography is not None:
        return None
    medium = layered.build(model)
    fluid = medium.tops[1] == 0
    count = int(fluid.argmin()) if not fluid.all() else 0
    return float(medium.breaks[count]) if count and not np.any(fluid[count:]) else None


def highest_solid(model, order, grid) -> int | None:
    """Return the highest solid plane below a level floor; None where the floor is not level, a body
    of fluid is elsewhere, or a body lies so near that differences about the floor reach it.
    """
    floor = level_floor(model)
    if floor is None:
        return None
    room = (closure(min(order, HIGHEST)).rows + 1) * grid.steps[2]
    for table, body in zip(model.anomalies, anomalies.build(model)):
        if table.vs == 0 or body.lower[2] - room < floor < body.upper[2] + room:
            return None
    return math.floor((floor - grid.origin[2]) / grid.steps[2] + ON_FLOOR)


def closed_plane(model, boundaries, order, grid) -> int | None:
    """Return the highest solid plane below a level floor that has room for a closure on both sides."""
    solid = highest_solid(model, order, grid)
    if solid is None or order == 2:
        return None
    rows, nz, layer = (closure(min(order, HIGHEST)).rows, grid.shape[0], boundaries.cpml.thickness)
    below = solid + 1 - (layer if boundaries.face("bottom") == "cpml" else 0)
    above = nz - 1 - solid - {"cpml": layer + 1, "free": rows + 1}.get(boundaries.face("top"), 0)
    return solid if min(below, above) >= rows else None


def in_fluid(d, positions, fluid_first: bool) -> np.ndarray:
    """Return which positions (n, 3), in units of the spacing, lie in a fluid; on a contact all do,
    or none, as `fluid_first` says.
    """
    above_and_below = np.repeat(np.asarray(positions, float)[None], 2, axis=0)
    above_and_below[:, :, 2] += np.array([[ON_FLOOR], [-ON_FLOOR]])
    xyz = (d.grid.origin + d.grid.steps * above_and_below).reshape(-1, 3)
    if d.planar:
        xyz[:, 1] = 0.0
    fluid = earth.in_fluid(d.model, xyz)
    above, below = fluid.reshape(2, -1)
    return np.where(fluid_first, above | below, above & below)


def contents(d, box) -> np.ndarray:
    """Return what the cells of a box (k0, k1, j0, j1, i0, i1) hold, `EMPTY`, `FLUID` or `SOLID`;
    planes are kept, as those of `Discretisation.whole_box` are.
    """
    k0, k1, j0, j1, i0, i1 = box
    for k in range(k0, k1):
        if k not in d.cell_contents:
            rho, _, mu = material.cells(d, d.grid.window((k, k + 1, 0, d.grid.shape[1], 0, d.grid.shape[2])))
            d.cell_contents[k] = kinds(rho, mu)[0]
    return np.stack([d.cell_contents[k][j0:j1, i0:i1] for k in range(k0, k1)])


def kinds(rho: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return what cells hold, `EMPTY`, `FLUID` or `SOLID`."""
    return np.where(mu > 0, SOLID, np.where(rho > 0, FLUID, EMPTY)).astype(np.int8)


@remembered
def flat_floor(d) -> int | None:
    """Return the highest solid plane where the floor is level and no anomaly comes near it."""
    return highest_solid(d.model, d.order, d.grid) if d.partly_fluid else None


def limits(d, field, fluid: bool, last: int) -> tuple[int, int]:
    """Return the lowest and the highest index along z of the points of a field on one side of a
    level floor, of points 0 .. last. Those on the floor belong to both: vertical velocity, and shear
    stress, which is known to be zero there.
    """
    solid = flat_floor(d)
    return (solid + 1 - d.half(field)[2], last) if fluid else (0, min(solid, last))


def own_points(d, box, half, fluid: bool) -> np.ndarray:
    """Return which points of a field in a box lie on one side: velocities of which one of the two
    cells is of that side, stresses of which all cells are.
    """
    return of_cells(contents(d, box) == (FLUID if fluid else SOLID), half)


def of_cells(cells: np.ndarray, half) -> np.ndarray:
    """Return which points of a field have cells that a mask (k, j, i) holds, a velocity one of its
    two, a stress all.
    """
    use = cells.copy()
    for axis, on in enumerate(reversed(half)):
        if on:
            after = np.concatenate([np.take(use, range(1, use.shape[axis]), axis), np.take(use, [-1], axis)], axis)
            use = use | after if sum(half) == 1 else use & after
    return use


def close_to_contact(d, positions) -> np.ndarray:
    """Return which positions (n, 3), in units of the spacing, have both fluid and solid cells among
    those that interpolation reaches, at a floor that is not level: (n,) bool.
    """
    close = np.zeros(len(positions), bool)
    if not d.partly_fluid or flat_floor(d) is not None:
        return close
    lowest = np.floor(np.asarray(positions)[:, ::-1]).astype(int) - NODES // 2
    for n, corner in enumerate(lowest):
        box = [
            min(max(int(v), 0), size - end)
            for low, size in zip(corner, d.grid.shape)
            for v, end in ((low, 1), (low + NODES + 2, 0))
        ]
        kinds = contents(d, box if not d.planar else [*box[:2], 0, 1, *box[4:]])
        close[n] = kinds.min() != kinds.max()
    return close


def warnings(d, sources) -> list[str]:
    """Return a warning of moment tensors beside a floor in steps: what shear radiates is in proportion
    to the distance from it.
    """
    beside = [
        source.name
        for source in sources
        if getattr(source, "moment", None) is not None
        and has_shear(source.moment, d.planar)
        and close_to_contact(d, (source.points - d.grid.origin) / d.grid.steps).any()
    ]
    words = (
        "{}: a moment tensor within a few points of a contact of fluid and solid that has steps: what it radiates may be "
        "off by as much as it is; move it, use a smaller spacing, or spectral elements"
    )
    return [words.format(first_of(beside))] if beside else []


def source_problems(d, sources) -> list[Problem]:
    """Return the sources with shear in a fluid, which has none: list of Problem."""
    problems = []
    for source in sources if d.holds_fluid and not d.acoustic else ():
        tensors = getattr(source, "tensors", None)
        if tensors is None:
            tensors = () if source.moment is None else source.moment[None]
        for xyz, tensor, fluid in zip(source.points, tensors, medium_at(d, source.points)):
            if fluid and has_shear(tensor, d.planar):
                place = "({:g}, {:g}, {:g})".format(*xyz)
                words = f"a moment tensor with shear is not possible in a fluid, where it lies at {place} m"
                remedy = "move it into the solid, or make it an explosion"
                problems.append(Problem("source", f"{source.name}: {words}", remedy))
                break
    return problems


def medium_at(d, xyz, fluid_first: bool = False) -> np.ndarray:
    """Return which positions (n, 3), m, lie in the fluid; see `in_fluid`."""
    return in_fluid(d, (np.asarray(xyz) - d.grid.origin) / d.grid.steps, fluid_first)


def source_in_fluid(d, source) -> bool:
    """Return True for a point source in the fluid; on a contact an explosion is, others are not."""
    fluid_first = source.moment is not None and not has_shear(source.moment, d.planar)
    return bool(medium_at(d, source.points, fluid_first)[0])
