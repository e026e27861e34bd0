"""Problems between the tables of a wave scenario: positions and sources against its dimensions, sources and fibres against its shots."""
from craton.tables.fields import places
from craton.tables.foreign import dotted
from craton.tables.receivers import Fibre, ReceiverGrid
from craton.text import shown

NO_CHUNK = (
    "longitude and latitude can be given only in a chunk of the Earth (domain.chunk)",
    "give x and y in m, or a file of stations or sources",
)


def space_problems(scenario):
    """Positions and forces with two coordinates in a 3-D domain: list of (key, message, remedy)."""
    items = [(dotted(path), "a position in a 3-D domain needs three coordinates, y is missing", "write [x, y, z] in m")
             for name in ("source", "receivers") for path, at in places(getattr(scenario, name), (name,)) if at.y is None]  # fmt: skip
    for n, source in enumerate(scenario.source):
        if len(getattr(source, "force", (0, 0, 0))) == 2:
            items.append((f"source.{n}.force", "a force in a 3-D domain needs three components", "write [fx, fy, fz] in N"))
    return items


def plane_problems(scenario):
    """Receiver grids, planes across y and 3-D sources in a 2-D domain: list of (key, message, remedy)."""
    items = [(f"receivers.{n}.grid", "a horizontal grid of receivers does not fit a 2-D domain", "use line")
             for n, entry in enumerate(scenario.receivers) if isinstance(entry, ReceiverGrid)]  # fmt: skip
    items += [(f"snapshots.{n}.plane", "a 2-D domain has no y axis", "leave plane out")
              for n, spec in enumerate(scenario.snapshots) if spec.plane is not None and spec.plane.axis == "y"]  # fmt: skip
    items += [(f"source.{n}.kind", f"{shown(source.kind)} is a 3-D source; sources of a 2-D domain are lines along y",
               "use moment_tensor, explosion, force or plane_wave")
              for n, source in enumerate(scenario.source) if hasattr(source, "file")]  # fmt: skip
    return items


def shot_problems(scenario):
    """Sources with and without a shot in one scenario; fibres together with shots: list of (key, message, remedy)."""
    shot = [s.shot is not None or s.shots is not None for s in scenario.source]
    items = [(f"receivers.{n}.das", "fibres record only one shot, but the scenario has several", "run each shot as its own scenario")
              for n, entry in enumerate(scenario.receivers) if any(shot) and isinstance(entry, Fibre)]  # fmt: skip
    if any(shot) and not all(shot):
        n = shot.index(False)
        items.append((f"source.{n}", f"source {n + 1} has no shot, but other sources do", 'add shot = "name" to it'))
    return items
