"""What does not fit between the tables of a scenario of waves, and what looks wrong in them: suspicious magnitudes (km/s,
g/cm3, km), sentences that begin with their key.
"""

from craton.tables.fields import Place, Position, places
from craton.tables.foreign import dotted
from craton.tables.ground import frame_of
from craton.tables.receivers import ReceiverGrid, Station
from craton.tables.sources import IN_THE_PLANE, Injection
from craton.text import listed, number, shown

ADD_PLACE = "add geographic = { longitude =, latitude = } to [domain]"
SHALLOW = 0.1  # parts of the spacing: a source at a smaller depth was probably meant in km


def problems(scenario):
    """Yield what does not fit between the tables of a scenario: (key, message, remedy)."""
    yield from _reference_systems(scenario)
    yield from (_in_the_plane if scenario.domain.planar else _in_space)(scenario)
    yield from _places_on_earth(scenario)
    yield from _shots(scenario)
    yield from _boxes(scenario)
    yield from _sides(scenario)
    step, sampling = scenario.time.step, scenario.output.sampling
    if step is not None and sampling is not None and sampling < step * (1 - 1e-9):
        message = f"sampling = {number(sampling)} s is shorter than the time step, {number(step)} s"
        yield "output.sampling", message, "leave sampling out to store every step"


def _reference_systems(scenario):
    """Yield files with a reference system of coordinates in a box that has no place on Earth."""
    tables = {"model": scenario.model, "model.topography": scenario.model.topography}
    for name, table in tables.items() if frame_of(scenario.domain) is None else ():
        if getattr(table, "crs", None) is not None:
            yield f"{name}.crs", "crs needs the place of the box on Earth, which domain.geographic gives", ADD_PLACE


def _in_the_plane(scenario):
    """Yield grids of receivers, planes across y, 3-D sources and maps of peaks in a 2-D domain."""
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
            yield f"source.{n}.kind", message, f"use {listed(IN_THE_PLANE)}"
    for n in range(len(scenario.peaks)):
        message = "a map of peaks needs a 3-D domain"
        yield f"peaks.{n}", message, "leave [[peaks]] out, or give the domain three dimensions"


def _in_space(scenario):
    """Yield positions and forces with two coordinates in a 3-D domain."""
    for path, at in places(scenario):
        if at.y is None:
            message = "a position in a 3-D domain needs three coordinates, y is missing"
            yield dotted(path), message, "write [x, y, z] in m"
    for n, source in enumerate(scenario.source):
        if len(getattr(source, "force", (0, 0, 0))) == 2:
            yield f"source.{n}.force", "a force in a 3-D domain needs three components", "write [fx, fy, fz] in N"


def _places_on_earth(scenario):
    """Yield longitudes and latitudes in a box that has no place on Earth, and what does not count from the ground in a
    chunk of the Earth.
    """
    if getattr(scenario.domain, "chunk", None) is not None:
        for path, at in places(scenario, Place):
            if at.elevation is not None:
                message = "in a chunk of the Earth, positions count from the ground"
                yield dotted((*path, "elevation")), message, "give depth in place of elevation"
        for n, spec in enumerate(scenario.peaks):
            if not spec.on_ground:
                message = "in a chunk of the Earth a map of peaks lies on the ground"
                yield f"peaks.{n}.plane", message, "leave plane out"
    elif frame_of(scenario.domain) is None:
        keys = [dotted(path) for path, _ in places(scenario, Place)]
        grids = [n for n, entry in enumerate(scenario.receivers) if isinstance(entry, ReceiverGrid)]
        keys += [f"receivers.{n}.grid" for n in grids if scenario.receivers[n].grid.on_earth]
        message = "longitude and latitude need the place of the box on Earth, which domain.geographic gives"
        yield from ((key, message, f"{ADD_PLACE}, or give x and y in m") for key in keys)


def _shots(scenario):
    """Yield sources without a shot beside others with one, and what a survey of shots cannot have."""
    has_shot = [source.shot is not None or source.shots is not None for source in scenario.source]
    if not any(has_shot):
        return
    if not all(has_shot):
        n = has_shot.index(False)
        yield f"source.{n}", f"source {n + 1} has no shot, but other sources do", 'add shot = "name" to it'
    remedy = "leave {} out, or run one shot without its name"
    for n in range(len(scenario.peaks)):
        yield f"peaks.{n}", "a survey of shots keeps no maps of peaks", remedy.format("[[peaks]]")
    for name in ("recording", "injection"):
        if getattr(scenario, name):
            yield name, f"a survey of shots has no [[{name}]]", remedy.format("it")


def _boxes(scenario):
    """Yield a scenario with neither sources nor injections, and boxes of other dimensions than the domain."""
    if not scenario.source and not scenario.injection:
        remedy = "add a [[source]] table with kind, at and wavelet"
        yield "source", 'missing: "source" or "injection" is required', remedy
    dimensions = 2 if scenario.domain.planar else 3
    for table, names in {"recording": ("to", "origin"), "injection": ("to", "at")}.items():
        for n, spec in enumerate(getattr(scenario, table)):
            for name in () if isinstance(spec, Injection) else names:
                numbers = getattr(spec, name)
                if numbers is not None and len(numbers) != dimensions:
                    words = f"it has {len(numbers)} numbers, the domain {dimensions}"
                    yield f"{table}.{n}.{name}", words, "give as many"


def _sides(scenario):
    """Yield sides of contacts in a model with regions: where these meet is known to the mesh alone."""
    for name in ("source", "receivers") if scenario.model.regions else ():
        keys = [f"{name}.{n}.side" for n, entry in enumerate(getattr(scenario, name)) if entry.side is not None]
        message = "in a model with regions only the mesh knows which side is fluid"
        yield from ((key, message, "leave side out, and place it a little above or below the contact") for key in keys)


# --- what looks wrong ---------------------------------------------------------------------------------------------


def velocities(model):
    """Speeds that look like km/s, densities like g/cm3, Q like 1/Q: generator of str.

    Parameters
    ----------
    model : table of `craton.tables.medium`
    """
    for key, medium in _media(model):
        for name in () if model.units == "SI" else ("vp", "vs"):
            value = getattr(medium, name)
            if value is not None and 0 < value < 20:
                yield f"{key}.{name}: {number(value)} m/s is very slow; did you mean {number(value)} km/s = {number(value * 1e3)}?"
            elif value is not None and value > 20_000:
                yield f"{key}.{name}: {number(value)} m/s is faster than any rock; velocities are in m/s"
        is_light = medium.rho is not None and medium.rho < 20 and model.units != "SI"
        if is_light and (medium.vs is None or medium.vs > 0):
            rho = number(medium.rho)
            yield f"{key}.rho: {rho} kg/m3 is very light; did you mean {rho} g/cm3 = {number(medium.rho * 1e3)}?"
        yield from _quality(key, medium, model.attenuation)
    water = model.water
    if water is not None and model.units != "SI" and (water.vp < 20 or water.rho < 20):
        yield (
            f"model.water: {number(water.vp)} m/s and {number(water.rho)} kg/m3 are no water; "
            "did you mean km/s and g/cm3?"
        )


def _quality(key, medium, attenuation):
    is_fluid = medium.vs == 0
    for name in ("qp",) if is_fluid else ("qp", "qs"):
        value = getattr(medium, name)
        if value is not None and attenuation is None:
            yield f"{key}.{name}: Q is ignored; to use it, add model.attenuation = {{ band = [f1, f2] }} in Hz"
        elif value is not None and value < 1:
            yield f"{key}.{name}: Q = {number(value)} attenuates a wave within one wavelength; did you mean 1/Q, Q = {number(1 / value)}?"
    if is_fluid and medium.qs is not None:
        yield f"{key}.qs: Qs of a fluid is ignored"
    elif medium.qp is not None and medium.qs is not None and medium.qp < medium.qs:
        yield f"{key}.qp: {number(medium.qp)} is less than qs = {number(medium.qs)}; in rock qp is usually larger: are the two exchanged?"


def _media(model):
    if model.kind == "homogeneous":
        yield "model", model
    for i, layer in enumerate(getattr(model, "layers", ())):
        yield f"model.layers.{i}", layer
    for name, region in (model.regions or {}).items():
        yield f"model.regions.{name}", region
    for i, anomaly in enumerate(getattr(model, "anomalies", ())):
        yield f"model.anomalies.{i}", anomaly


def sizes(domain):
    """Lengths that look like km: generator of str.

    Parameters
    ----------
    domain : Volume
    """
    frequency, longest, h = domain.max_frequency, number(max(domain.size)), domain.resolution
    if h is not None and h < 1 and max(domain.size) < 1000:
        yield f"domain.{domain.RESOLUTION}: {number(h)} m in a domain of {longest} m; lengths are in metres: did you mean km?"
    if frequency is not None and max(domain.size) < 1000 and frequency < 50:
        yield f"domain.size: {longest} m is small for {number(frequency)} Hz; lengths are in metres: did you mean km?"


def grid_rest(domain):
    """Axes of a grid that its spacing does not divide: generator of str.

    Parameters
    ----------
    domain : Volume
        With a ``spacing``.
    """
    if domain.spacing is None:
        return
    counts = [n for n in domain.points(domain.spacing) if n > 1]
    for axis, size, points in zip(domain.axes, domain.size, counts):
        reach = (points - 1) * domain.spacing
        if abs(reach - size) > 1e-6 * domain.spacing:
            yield (
                f"domain.size: {number(size)} m along {axis} is not a multiple of the grid spacing, {number(domain.spacing)} m; "
                f"the grid has {points} points and extends over {number(reach)} m"
            )


def off_plane(scenario):
    """Positions off the plane of a 2-D domain: generator of str.

    Parameters
    ----------
    scenario : WaveScenario
    """
    paths = [path for path, at in places(scenario) if at.y]
    if scenario.domain.planar and paths:
        yield f"{dotted(paths[0])}: the domain is the (x, z) plane, so y is ignored"


def positions(scenario):
    """Positions closer to (0, 0, 0) than one spacing in a domain of many kilometres, probably given
    in km: generator of str.

    Parameters
    ----------
    scenario : WaveScenario
    """
    h = scenario.domain.resolution
    if h is None or min(scenario.domain.size) < 20 * h or max(scenario.domain.size) < 5000:
        return
    points = [(f"source.{i}.at", s.at) for i, s in enumerate(scenario.source)]
    points += [(f"receivers.{i}.at", r.at) for i, r in enumerate(scenario.receivers) if isinstance(r, Station)]
    length = scenario.domain.RESOLUTION
    for key, at in points:
        if isinstance(at, Position) and any(at.xyz) and all(abs(c) < min(h, 100) for c in at.xyz):
            numbers = ", ".join(number(c) for c in at.xyz)
            yield f"{key}: ({numbers}) m is less than domain.{length} from the coordinate origin; positions are in metres: did you mean km?"


def shallow(scenario):
    """Yield sources whose depth is a small part of the spacing and would fit into the domain in km,
    where it is probably meant: generator of str.

    Parameters
    ----------
    scenario : WaveScenario
    """
    h = scenario.domain.resolution
    for i, source in enumerate(scenario.source):
        depth = getattr(source.at, "depth", None)
        if h is None or not depth or 1000 * depth > scenario.domain.size[-1]:
            continue
        if 0 < depth < min(SHALLOW * h, 30):
            yield (
                f"source.{i}.at: a depth of {number(depth)} m is a small part of "
                f"domain.{scenario.domain.RESOLUTION}; depths are in metres: did you mean km?"
            )


def silence(scenario):
    """Yield a run that records nothing: generator of str.

    Parameters
    ----------
    scenario : WaveScenario
    """
    recorded = (scenario.receivers, scenario.snapshots, scenario.peaks, scenario.recording)
    if not any(recorded):
        yield "receivers: nothing is recorded; add [[receivers]], [[snapshots]] or [[peaks]]"
