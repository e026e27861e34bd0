"""Where positions of a scenario are, in metres or on Earth, and which of them are outside, in words: depths count from the
local ground where the model has topography or a mesh, else from z = 0.
"""

import numpy as np

from craton.model.ground import terrain
from craton.model.media import earth
from craton.model.media.cells import Region
from craton.survey import geography
from craton.tables.fields import Place
from craton.tables.receivers import Line

LISTED = 50  # positions that are named
FAR_AWAY = "correct longitude and latitude, or move the box (domain.geographic)"
NOT_ON_MAP = f"its place is more than {geography.WIDEST:g} deg from the reference of the map"
ASIDE = 1e-5  # of the resolution: how far positions are moved off a contact
FEW = 1000  # points along a domain whose resolution is not known yet


def located(scenario, positions):
    """Coordinates (n, 3), metres, of positions; y = 0 in the plane.

    Parameters
    ----------
    scenario : Scenario
    positions : list of Position or Place
        The latter are turned into the axes of the box, or of the chunk of the Earth.

    Raises
    ------
    ValueError
        A place more than 20 degrees from the reference of the box.
    """
    xyz = coordinates(scenario, positions)
    if globe_of(scenario) is not None:
        return xyz
    return draped(scenario, xyz, np.array([p.deep for p in positions], dtype=bool))


def on_side(scenario, xyz, side):
    """Return positions with those on a contact of fluid and solid moved to a side, by a hundred
    thousandth of the resolution; others stay where they are.

    Parameters
    ----------
    scenario : Scenario
    xyz : (n, 3) array
        m.
    side : str or None
        ``"solid"``, ``"fluid"`` or None, as they are.
    """
    xyz = np.array(xyz, dtype=float).reshape(-1, 3)
    domain = scenario.domain
    if side is None or not len(xyz) or globe_of(scenario) is not None:
        return xyz
    step = ASIDE * (domain.resolution or max(domain.extent) / FEW)
    above, below = xyz + (0, 0, step), xyz - (0, 0, step)
    fluid = [earth.in_fluid(scenario.model, part) for part in (above, below)]
    wanted = [part == (side == "fluid") for part in fluid]
    xyz[:, 2] += step * (fluid[0] != fluid[1]) * (1.0 * wanted[0] - wanted[1])
    return xyz


def coordinates(scenario, positions):
    """Coordinates (n, 3), metres, of positions whose depths count from z = 0; on a chunk of the
    Earth, where they count from the ground, they are final.

    Parameters
    ----------
    scenario : Scenario
    positions : list of Position or Place
    """
    on_earth = np.array([isinstance(p, Place) for p in positions], dtype=bool)
    # longitude, latitude and depth of the places on Earth, until they are on the map
    xyz = np.array([p.where if earth else p.xyz for p, earth in zip(positions, on_earth)], float).reshape(-1, 3)
    if on_earth.any():
        xyz[on_earth] = geography.places(scenario.domain, "geographic").xyz(*xyz[on_earth].T)
    if globe_of(scenario) is None and scenario.domain.planar:
        xyz[:, 1] = 0.0
    return xyz


def globe_of(scenario):
    """Return the `Globe` of a scenario on a chunk of the Earth; None of others.

    Parameters
    ----------
    scenario : Scenario
    """
    return getattr(scenario.domain, "globe", None)


def positions(scenario, table) -> np.ndarray:
    """Return coordinates (n, 3), metres, of one position, of many, or of equal distances from one to another.

    In a chunk of the Earth a line lies on the great circle, depths between those of the ends. Elsewhere it is a
    straight line of the box; where both ends are depths, every point has its depth below the ground where it is.
    """
    if not isinstance(table, Line):
        return located(scenario, table.positions)
    ends = [table.from_, table.to]
    if globe_of(scenario) is not None and isinstance(table.from_, Place):
        return globe_of(scenario).line(*(p.where for p in ends), table.count)
    if all(p.deep for p in ends):
        xyz = np.linspace(*coordinates(scenario, ends), table.count)
        return draped(scenario, xyz, np.ones(len(xyz), bool))
    return np.linspace(*located(scenario, ends), table.count)


def draped(scenario, xyz, deep):
    """Coordinates whose z, where `deep`, counts from the ground instead of z = 0: (n, 3), metres.

    Parameters
    ----------
    scenario : Scenario
    xyz : (n, 3) array
        Positions, m.
    deep : (n,) array of bool
        Positions whose z is minus a depth.
    """
    ground = _ground(scenario)
    if ground is not None and deep.any():
        xyz = np.array(xyz, dtype=float)
        xyz[deep, 2] += ground.surface(xyz[deep, 0], xyz[deep, 1])
    return xyz


def heights(scenario, xyz):
    """Return depths below the ground of positions (n, 3), and the elevation of the ground there, m: that of a chunk,
    the topography of a box or the top of its mesh, else the top of the domain.
    """
    if globe_of(scenario) is not None:
        return globe_of(scenario).heights(xyz)
    ground = _ground(scenario)
    top = np.full(len(xyz), float(scenario.domain.top)) if ground is None else ground.surface(xyz[:, 0], xyz[:, 1])
    return np.asarray(top, float) - xyz[:, 2], np.asarray(top, float)


def _ground(scenario):
    """Return the top of the mesh of a scenario, else its terrain; None without either."""
    return getattr(scenario, "mesh_top", None) or terrain.build(scenario.model)


def in_the_air(scenario, xyz):
    """Find positions above the surface of a model with topography, and above the top of its mesh
    where it has one: (n,) booleans, and elevations of the higher of the two in metres.

    Parameters
    ----------
    scenario : Scenario
    xyz : (n, 3) array
        Positions, m.
    """
    grounds = [terrain.build(scenario.model), getattr(scenario, "mesh_top", None)]
    xyz = np.asarray(xyz, dtype=float).reshape(-1, 3)
    tops = [ground.top(xyz[:, 0], xyz[:, 1]) for ground in grounds if ground is not None]
    if not tops:
        return np.zeros(len(xyz), bool), np.full(len(xyz), np.nan)
    top = np.fmax.reduce(tops)
    return xyz[:, 2] > top + 1e-6 * (1 + np.abs(top)), top


def lowest_ground(scenario):
    """Lowest elevation of the topography over the domain, m; infinite without one.

    Parameters
    ----------
    scenario : Scenario
    """
    ground, domain = terrain.build(scenario.model), scenario.domain
    if ground is None:
        return np.inf
    region = Region(domain.corner, tuple(o + s for o, s in zip(domain.corner, domain.extent)))
    return terrain.heights(ground, region)[0]


def misplaced(scenario, xyz, most=LISTED):
    """Find positions outside the domain or above its ground.

    Parameters
    ----------
    scenario : Scenario
    xyz : array_like, shape (n, 3)
        Positions, metres; x is NaN where a place is not on the map.
    most : int
        Of which texts are made.

    Returns
    -------
    numbers : ndarray of int
        Of all that are outside.
    texts : list of str
        How the first of them are: each by its own worst coordinate.
    remedy : str
    """
    xyz = np.asarray(xyz, dtype=float).reshape(-1, 3)
    globe = globe_of(scenario)
    if globe is not None:
        numbers = np.flatnonzero(~globe.chunk.inside(xyz))
        texts = [text for _, text in globe.outside(xyz[numbers[:most]])]
        return numbers, texts, "move it inside, or make domain.chunk wider or deeper"
    domain = scenario.domain
    low, size = np.array(domain.corner, dtype=float), np.array(domain.extent, dtype=float)
    beyond = np.maximum(low - xyz, xyz - (low + size))
    # The nearest corner of the domain may be missed by rounding only. A coordinate that is nan is
    # outside.
    out = ~(beyond <= 1e-9 * size)
    high, top = in_the_air(scenario, xyz)
    numbers = np.flatnonzero(out.any(axis=1) | high)
    words = []
    for n in numbers[:most]:
        if np.isnan(xyz[n, 0]):
            words.append((NOT_ON_MAP, FAR_AWAY))
        elif not out[n].any():
            remedy = "give a lower z, or { x =, y =, depth = } with the depth below the surface"
            words.append((f"z = {xyz[n, 2]:.10g} m is in the air: the surface is at {top[n]:.10g} m", remedy))
        else:  # the ground may be unknown, z nan, because x or y is outside
            axis = int(np.where(out[n], np.nan_to_num(beyond[n], nan=0.0), -1.0).argmax())
            ends = low[axis], low[axis] + size[axis]
            words.append(_outside(axis, xyz[n, axis], *ends, scenario.boundaries.face("top")))
    remedies = dict.fromkeys(remedy for _, remedy in words)
    return numbers, [text for text, _ in words], "; ".join(remedies)


def outside(scenario, xyz):
    """Say how positions lie outside the domain, by its worst axis; None where all are inside.

    Parameters
    ----------
    scenario : Scenario
    xyz : array_like, shape (n, 3)
        Positions, metres.

    Returns
    -------
    (index, message, remedy) or None
        Of the first position outside.
    """
    numbers, texts, remedy = misplaced(scenario, xyz, 1)
    return (int(numbers[0]), texts[0], remedy) if len(numbers) else None


def _outside(axis, value, low, high, top):
    axis = "xyz"[axis]
    range_text = f"{axis} from {low:.10g} to {high:.10g} m"
    if axis == "z" and value > high:
        place = "in the air, above the free surface" if top == "free" else "above the top of the domain"
        depth = "; z is positive upward: for a depth write { x =, y =, depth = }" if value > 0 else ""
        return (
            f"z = {value:.10g} m is {place} at z = {high:.10g} m",
            f"give z from {low:.10g} to {high:.10g} m{depth}",
        )
    return (
        f"{axis} = {value:.10g} m is outside the domain, {range_text}",
        "move it inside, or enlarge domain.size (and domain.origin)",
    )


def file_fault(entry, error, kinds, advice):
    """Message and remedy for an error of a file of sources or receivers.

    Parameters
    ----------
    entry : source or receivers of a scenario
    error : OSError, ValueError or LookupError
        The file cannot be read; is wrong, ``line N: ...`` where a line is; needs a reference of
        longitude and latitude.
    kinds : str
        What the path should lead to.
    advice : str
        Remedy for a file that is wrong.

    Returns
    -------
    message, remedy : str
    """
    if isinstance(error, LookupError):
        metres = '; or coordinates = "metres"' if hasattr(entry, "coordinates") else ""
        return (f"{entry.file}: {error.args[0]}", "add geographic = { longitude =, latitude = } to [domain]" + metres)
    if isinstance(error, OSError):
        return (
            f"cannot read {entry.file}: {error.strerror or error}",
            f"give the path of the {kinds}, relative to the scenario",
        )
    line, colon, rest = str(error).removeprefix("line ").partition(":")
    has_line = str(error).startswith("line ") and colon and line.isdecimal()
    return f"{entry.file}:{line}:{rest}" if has_line else f"{entry.file}: {error}", advice
