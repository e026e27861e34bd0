"""Magnitudes that are valid but hardly meant: velocities in km/s, densities in g/cm3, positions in km."""
from craton.scenario.fields import Position, places
from craton.scenario.receivers import Station
from craton.scenario.words import number


def suspicions(scenario):
    """Sentences about suspicious values, each beginning with its key: list of str."""
    domain = scenario.domain
    return [*_medium(scenario.model), *_sizes(domain), *_grid_rest(domain), *_positions(scenario), *_beside(scenario), *_silence(scenario)]


def of_elements(scenario):
    """The same of a scenario of spectral elements, and what it says that belongs to finite differences and is not used."""
    found = [*_medium(scenario.model), *_silence(scenario), *_unused(scenario)]
    boxed = scenario.domain.mesh is None and scenario.domain.chunk is None
    return [*found, *_sizes(scenario.domain), *_positions(scenario)] if boxed else found


def _unused(scenario):
    faces, run = scenario.boundaries, scenario.run
    told = {f"boundaries.{name}": getattr(faces, name) for name in ("top", "bottom", "west", "east", "south", "north", "others")}
    told |= {f"boundaries.faces.{name}": kind for name, kind in faces.faces.items()}
    for key, kind in told.items():
        if kind in ("cpml", "sponge", "a1"):
            yield f'{key}: "{kind}" is of finite differences; absorbing faces of first order, "stacey", take its place'
    if scenario.model.topography is not None and faces.face("top") != "free":
        yield f'boundaries.top: the ground is the top of the mesh and free; "{faces.top}" is not used'
    for name in ("order", "weights", "grid"):
        if getattr(run, name) is not None:
            yield f"run.{name}: it is of finite differences and not used; the elements have run.degree = {run.degree}"
    if scenario.model.attenuation is not None and scenario.model.attenuation.storage is not None:
        yield "model.attenuation.storage: it is of finite differences and not used; each point stores all mechanisms"


def _medium(model):
    for key, medium in _media(model):
        for name in ("vp", "vs"):
            value = getattr(medium, name)
            if value is not None and 0 < value < 20:
                yield f"{key}.{name}: {number(value)} m/s is very slow; did you mean {number(value)} km/s = {number(value * 1e3)}?"
            elif value is not None and value > 20_000:
                yield f"{key}.{name}: {number(value)} m/s is faster than any rock; velocities are in m/s"
        if medium.rho is not None and medium.rho < 20 and (medium.vs is None or medium.vs > 0):
            rho = number(medium.rho)
            yield f"{key}.rho: {rho} kg/m3 is very light; did you mean {rho} g/cm3 = {number(medium.rho * 1e3)}?"
        yield from _quality(key, medium, model.attenuation)


def _quality(key, medium, attenuation):
    for name in ("qp", "qs"):
        value = getattr(medium, name)
        if value is not None and attenuation is None:
            yield f"{key}.{name}: Q is not used; add model.attenuation = {{ band = [f1, f2] }} in Hz"
        elif value is not None and value < 1:
            yield f"{key}.{name}: Q = {number(value)} damps a wave within one wavelength; did you mean 1/Q, Q = {number(1 / value)}?"
    if medium.qp is not None and medium.qs is not None and medium.qp < medium.qs:
        yield f"{key}.qp: {number(medium.qp)} is less than qs = {number(medium.qs)}; rather the other way in rock: are they exchanged?"


def _media(model):
    if model.kind == "homogeneous":
        yield "model", model
    for i, layer in enumerate(getattr(model, "layers", ())):
        yield f"model.layers.{i}", layer
    for name, region in (model.regions or {}).items():
        yield f"model.regions.{name}", region
    for i, anomaly in enumerate(getattr(model, "anomalies", ())):
        yield f"model.anomalies.{i}", anomaly


def _sizes(domain):
    frequency, longest = domain.max_frequency, number(max(domain.size))
    if domain.spacing is not None and domain.spacing < 1 and max(domain.size) < 1000:
        yield f"domain.spacing: {number(domain.spacing)} m in a domain of {longest} m; lengths are in metres: did you mean km?"
    if frequency is not None and max(domain.size) < 1000 and frequency < 50:
        yield f"domain.size: {longest} m is small for {number(frequency)} Hz; lengths are in metres: did you mean km?"


def _grid_rest(domain):
    if domain.spacing is None:
        return
    for axis, size, points in zip(domain.axes, domain.size, (n for n in domain.points(domain.spacing) if n > 1)):
        reach = (points - 1) * domain.spacing
        if abs(reach - size) > 1e-6 * domain.spacing:
            yield (f"domain.size: {number(size)} m along {axis} is not a whole number of spacings of {number(domain.spacing)} m; "
                   f"the grid has {points} points, {number(reach)} m")


def _beside(scenario):
    """Positions beside the plane that is computed."""
    found = [path for name in ("source", "receivers") for path, at in places(getattr(scenario, name), (name,)) if at.y]
    if scenario.domain.planar and found:
        yield f"{'.'.join(map(str, found[0]))}: the domain is the (x, z) plane, y is left out of account"


def _positions(scenario):
    """Positions closer to (0, 0, 0) than one spacing in a domain of many kilometres were probably given in km."""
    spacing = scenario.domain.spacing
    if spacing is None or min(scenario.domain.size) < 20 * spacing or max(scenario.domain.size) < 5000:
        return
    places = [(f"source.{i}.at", s.at) for i, s in enumerate(scenario.source) if isinstance(s.at, Position)]
    places += [(f"receivers.{i}.at", r.at) for i, r in enumerate(scenario.receivers)
               if isinstance(r, Station) and isinstance(r.at, Position)]  # fmt: skip
    for key, at in places:
        if any(at.xyz) and all(abs(c) < min(spacing, 100) for c in at.xyz):
            numbers = ", ".join(number(c) for c in at.xyz)
            yield f"{key}: ({numbers}) m is within one grid spacing of the coordinate origin; positions are in metres: did you mean km?"


def _silence(scenario):
    if not scenario.receivers and not scenario.snapshots:
        yield "receivers: nothing is recorded; add [[receivers]] or [[snapshots]]"


def gravity(scenario):
    """Sentences about suspicious values of a gravity scenario, each beginning with its key: list of str."""
    return [text for i, prisms in enumerate(scenario.prisms) for text in _light(f"prisms.{i}", prisms)]


def _light(key, prisms):
    """Densities that look like g/cm3."""
    given = [(f"{key}.density", getattr(prisms, "density", None)), (f"{key}.density_below", getattr(prisms, "density_below", None))]
    given += [(f"{key}.bodies.{i}.density", body.density) for i, body in enumerate(getattr(prisms, "bodies", ()))]
    for name, rho in given:
        if rho and abs(rho) < 5:
            yield f"{name}: {number(rho)} kg/m3 is next to nothing; did you mean {number(rho)} g/cm3 = {number(rho * 1e3)}?"
