"""What the tables that all wave methods share may say, and one method only computes."""
from craton.scenario.fields import places_on_earth
from craton.scenario.medium import RADIAL
from craton.scenario.words import shown

NO_CHUNK = ("longitude and latitude are places in a chunk of the Earth (domain.chunk)",
            "give x and y in m; or a file of stations or sources")  # fmt: skip


def of_elements(scenario):
    """(key, message, remedy) of everything in a finite-difference scenario that belongs to spectral elements."""
    if scenario.model.kind in RADIAL:
        return [("model.kind", f"{shown(scenario.model.kind)} fills a chunk of the Earth, which spectral elements compute",
                 'write method = "sem" and domain.chunk; or kind = "layers"')]  # fmt: skip
    found = [(".".join(map(str, path)), *NO_CHUNK) for name in ("source", "receivers")
             for path, _ in places_on_earth(getattr(scenario, name), (name,))]  # fmt: skip
    if scenario.model.kind == "regions":
        found.append(("model.kind", 'the regions of a mesh are for method = "sem"', 'write kind = "homogeneous", "layers" or "file"'))
    elif scenario.model.regions is not None:
        found.append(("model.regions", 'the regions of a mesh are for method = "sem"', "leave regions out"))
    stiff = [("model", scenario.model), *((f"model.layers.{i}", one) for i, one in enumerate(getattr(scenario.model, "layers", ())))]
    found += [(f"{key}.stiffness", 'a stiffness of 21 constants is for method = "sem"', "give vp, vs, and epsilon, delta, gamma")
              for key, medium in stiff if getattr(medium, "stiffness", None) is not None]  # fmt: skip
    found += [(f"snapshots.{n}.plane", 'the surface of a mesh is for method = "sem"', f"write plane = {{ z = {scenario.domain.top:g} }}")
              for n, spec in enumerate(scenario.snapshots) if spec.plane is not None and spec.plane.surface]  # fmt: skip
    return found


def of_differences(scenario):
    """The same of a scenario of spectral elements that belongs to finite differences."""
    return [(f"source.{n}.kind", f"{shown(source.kind)} needs periodic sides, which spectral elements do not have",
             'use method = "fd", or sources at points')
            for n, source in enumerate(scenario.source) if source.kind == "plane_wave"]  # fmt: skip
