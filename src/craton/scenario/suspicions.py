"""Warnings about a valid scenario: suspicious magnitudes (km/s, g/cm3, km), keys that are ignored, keys that were renamed."""
from craton.scenario.fields import Position, places
from craton.scenario.receivers import Station
from craton.text import number


def suspicions(scenario):
    """Sentences about suspicious values, each beginning with its key: list of str."""
    domain = scenario.domain
    return [*_medium(scenario.model), *_sizes(domain), *_grid_rest(domain), *_positions(scenario), *_beside(scenario), *_silence(scenario)]


def of_elements(scenario):
    """Warnings about a scenario of spectral elements: suspicious values, renamed keys, ignored keys of finite differences: list of str."""
    warnings = [*_renamed(scenario.domain), *_medium(scenario.model), *_silence(scenario), *_unused(scenario)]
    is_box = scenario.domain.mesh is None and scenario.domain.chunk is None
    return [*warnings, *_sizes(scenario.domain), *_positions(scenario)] if is_box else warnings


def _renamed(domain):
    """A note where the old name of ``element_size`` was used."""
    if "spacing" in domain.model_fields_set and domain.element_size is not None:
        h = number(domain.element_size)
        yield (f'domain.spacing: with method = "sem" this key is now called element_size; read as element_size = {h} m. '
               "The old name will be removed in the next version")  # fmt: skip


def _unused(scenario):
    faces, run = scenario.boundaries, scenario.run
    kinds = {f"boundaries.{name}": getattr(faces, name) for name in ("top", "bottom", "west", "east", "south", "north", "others")}
    kinds |= {f"boundaries.faces.{name}": kind for name, kind in faces.faces.items()}
    for key, kind in kinds.items():
        if kind in ("cpml", "sponge", "a1"):
            yield f'{key}: "{kind}" is available only with method = "fd"; using first-order absorbing boundaries, "stacey", instead'
    if scenario.model.topography is not None and faces.face("top") != "free":
        yield f'boundaries.top: the topography is the top of the mesh and is traction-free; "{faces.top}" is ignored'
    for name in ("order", "weights", "grid"):
        if getattr(run, name) is not None:
            yield f'run.{name}: this key is ignored, only method = "fd" has it; spectral elements use run.degree = {run.degree}'
    if scenario.model.attenuation is not None and scenario.model.attenuation.storage is not None:
        yield 'model.attenuation.storage: this key is ignored, only method = "fd" has it; each point stores all mechanisms'


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
            yield f"{key}.{name}: Q is ignored; to use it, add model.attenuation = {{ band = [f1, f2] }} in Hz"
        elif value is not None and value < 1:
            yield f"{key}.{name}: Q = {number(value)} attenuates a wave within one wavelength; did you mean 1/Q, Q = {number(1 / value)}?"
    if medium.qp is not None and medium.qs is not None and medium.qp < medium.qs:
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


def _sizes(domain):
    frequency, longest, h = domain.max_frequency, number(max(domain.size)), domain.resolution
    if h is not None and h < 1 and max(domain.size) < 1000:
        yield f"domain.{domain.resolution_key}: {number(h)} m in a domain of {longest} m; lengths are in metres: did you mean km?"
    if frequency is not None and max(domain.size) < 1000 and frequency < 50:
        yield f"domain.size: {longest} m is small for {number(frequency)} Hz; lengths are in metres: did you mean km?"


def _grid_rest(domain):
    if domain.spacing is None:
        return
    for axis, size, points in zip(domain.axes, domain.size, (n for n in domain.points(domain.spacing) if n > 1)):
        reach = (points - 1) * domain.spacing
        if abs(reach - size) > 1e-6 * domain.spacing:
            yield (f"domain.size: {number(size)} m along {axis} is not a multiple of the grid spacing, {number(domain.spacing)} m; "
                   f"the grid has {points} points and extends over {number(reach)} m")


def _beside(scenario):
    """Positions off the plane of a 2-D domain."""
    off_plane = [path for name in ("source", "receivers") for path, at in places(getattr(scenario, name), (name,)) if at.y]
    if scenario.domain.planar and off_plane:
        yield f"{'.'.join(map(str, off_plane[0]))}: the domain is the (x, z) plane, so y is ignored"


def _positions(scenario):
    """Positions closer to (0, 0, 0) than one spacing in a domain of many kilometres were probably given in km."""
    h = scenario.domain.resolution
    if h is None or min(scenario.domain.size) < 20 * h or max(scenario.domain.size) < 5000:
        return
    places = [(f"source.{i}.at", s.at) for i, s in enumerate(scenario.source) if isinstance(s.at, Position)]
    places += [(f"receivers.{i}.at", r.at) for i, r in enumerate(scenario.receivers)
               if isinstance(r, Station) and isinstance(r.at, Position)]  # fmt: skip
    h_name = "element" if scenario.method == "sem" else "grid spacing"
    for key, at in places:
        if any(at.xyz) and all(abs(c) < min(h, 100) for c in at.xyz):
            numbers = ", ".join(number(c) for c in at.xyz)
            yield f"{key}: ({numbers}) m is less than one {h_name} from the coordinate origin; positions are in metres: did you mean km?"


def _silence(scenario):
    if not scenario.receivers and not scenario.snapshots:
        yield "receivers: nothing is recorded; add [[receivers]] or [[snapshots]]"


def gravity(scenario):
    """Sentences about suspicious values of a gravity scenario, each beginning with its key: list of str."""
    return [text for i, prisms in enumerate(scenario.prisms) for text in _light(f"prisms.{i}", prisms)]


def _light(key, prisms):
    """Densities that look like g/cm3."""
    densities = [(f"{key}.density", getattr(prisms, "density", None)), (f"{key}.density_below", getattr(prisms, "density_below", None))]
    densities += [(f"{key}.bodies.{i}.density", body.density) for i, body in enumerate(getattr(prisms, "bodies", ()))]
    for name, rho in densities:
        if rho and abs(rho) < 5:
            yield f"{name}: {number(rho)} kg/m3 is very small; did you mean {number(rho)} g/cm3 = {number(rho * 1e3)}?"
