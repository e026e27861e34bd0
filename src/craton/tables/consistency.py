"""Problems between the tables of a wave scenario: positions and sources against its dimensions,
sources against its shots.
"""

from craton.tables.fields import Place, places
from craton.tables.foreign import dotted
from craton.tables.receivers import ReceiverGrid
from craton.text import shown

NO_MAP = (
    "longitude and latitude need the place of the box on Earth, which domain.geographic gives",
    "add geographic = { longitude =, latitude = } to [domain], or give x and y in m",
)


def place_problems(scenario):
    """Problems of longitudes and latitudes in a box that has no place on Earth, and of elevations
    in a chunk of the Earth.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    domain = scenario.domain
    if getattr(domain, "chunk", None) is not None:
        for path, at in places(scenario, Place):
            if at.elevation is not None:
                message = "in a chunk of the Earth, positions count from the ground"
                yield dotted((*path, "elevation")), message, "give depth in place of elevation"
        return
    if getattr(domain, "geographic", None) is not None:
        return
    yield from ((dotted(path), *NO_MAP) for path, _ in places(scenario, Place))
    for n, entry in enumerate(scenario.receivers):
        if isinstance(entry, ReceiverGrid) and entry.grid.on_earth:
            yield f"receivers.{n}.grid", *NO_MAP


def space_problems(scenario):
    """Problems of positions and forces with two coordinates in a 3-D domain.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    for path, at in places(scenario):
        if at.y is None:
            message = "a position in a 3-D domain needs three coordinates, y is missing"
            yield dotted(path), message, "write [x, y, z] in m"
    for n, source in enumerate(scenario.source):
        if len(getattr(source, "force", (0, 0, 0))) == 2:
            message = "a force in a 3-D domain needs three components"
            yield f"source.{n}.force", message, "write [fx, fy, fz] in N"


def plane_problems(scenario):
    """Problems of receiver grids, planes across y and 3-D sources in a 2-D domain.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    for n, entry in enumerate(scenario.receivers):
        if isinstance(entry, ReceiverGrid):
            message = "a horizontal grid of receivers does not fit a 2-D domain"
            yield f"receivers.{n}.grid", message, "use line"
    for n, entry in enumerate(scenario.snapshots):
        if entry.plane is not None and entry.plane.axis == "y":
            yield f"snapshots.{n}.plane", "a 2-D domain has no y axis", "leave plane out"
    for n, source in enumerate(scenario.source):
        if hasattr(source, "file"):
            message = f"{shown(source.kind)} is a 3-D source; sources of a 2-D domain are lines along y"
            yield f"source.{n}.kind", message, "use moment_tensor, explosion, force or plane_wave"


def shot_problems(scenario):
    """Problems of sources with and without a shot in one scenario.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    has_shot = [source.shot is not None or source.shots is not None for source in scenario.source]
    if any(has_shot) and not all(has_shot):
        n = has_shot.index(False)
        message = f"source {n + 1} has no shot, but other sources do"
        yield f"source.{n}", message, 'add shot = "name" to it'
