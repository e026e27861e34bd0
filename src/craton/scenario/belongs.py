"""Values in the shared tables of wave scenarios that only one method supports."""
from craton.scenario.fields import places_on_earth
from craton.scenario.medium import RADIAL
from craton.text import shown

NO_CHUNK = ("longitude and latitude can be given only in a chunk of the Earth (domain.chunk)",
            "give x and y in m, or a file of stations or sources")  # fmt: skip


def of_elements(scenario):
    """Problems of a finite-difference scenario that uses what only spectral elements have: list of (key, message, remedy)."""
    if scenario.model.kind in RADIAL:
        return [("model.kind", f'{shown(scenario.model.kind)} is a radial Earth model, available only with method = "sem"',
                 'write method = "sem" and domain.chunk, or kind = "layers"')]  # fmt: skip
    problems = [(".".join(map(str, path)), *NO_CHUNK) for name in ("source", "receivers")
             for path, _ in places_on_earth(getattr(scenario, name), (name,))]  # fmt: skip
    if scenario.model.kind == "regions":
        problems.append(
            ("model.kind", 'regions of a mesh are available only with method = "sem"', 'write kind = "homogeneous", "layers" or "file"')
        )
    elif scenario.model.regions is not None:
        problems.append(("model.regions", 'regions of a mesh are available only with method = "sem"', "leave regions out"))
    media = [("model", scenario.model), *((f"model.layers.{i}", layer) for i, layer in enumerate(getattr(scenario.model, "layers", ())))]
    stiff = 'stiffness (21 elastic constants) is available only with method = "sem"'
    problems += [
        (f"{key}.stiffness", stiff, "give vp, vs, and epsilon, delta, gamma")
        for key, medium in media
        if getattr(medium, "stiffness", None) is not None
    ]
    surface, remedy = 'surface = true is available only with method = "sem"', f"write plane = {{ z = {scenario.domain.top:g} }}"
    problems += [
        (f"snapshots.{n}.plane", surface, remedy)
        for n, spec in enumerate(scenario.snapshots)
        if spec.plane is not None and spec.plane.surface
    ]
    return problems


def of_differences(scenario):
    """Problems of a spectral-element scenario that uses what only finite differences have: list of (key, message, remedy)."""
    return [(f"source.{n}.kind", f'{shown(source.kind)} needs periodic sides, available only with method = "fd"',
             'use method = "fd", or point sources')
            for n, source in enumerate(scenario.source) if source.kind == "plane_wave"]  # fmt: skip
