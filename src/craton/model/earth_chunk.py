"""From a scenario's domain.chunk and radial model to the chunk, to its mesh and to what samples its medium."""
import math

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model import emc, ordering, prem, radial_files, relief
from craton.model.chunk import chunk
from craton.model.chunk_sampler import ChunkSampler, Prepared

PERIOD = 1.0  # s, at which radial models state their speeds, where the scenario says nothing


def radial_model(model):
    """The `RadialModel` of a scenario's model.

    Raises
    ------
    ScenarioError
        A file that is no radial model.
    """
    if model.kind == "prem":
        return prem.prem(model.transverse, model.ocean)
    if model.kind == "ak135":
        return radial_files.ak135()
    return _read("model.file", lambda: radial_files.model(model.file), "docs/earth.md says how such a file looks")


def chunk_of(scenario, slices=(1, 1)):
    """The `Chunk` of a scenario with domain.chunk, cut into `slices` blocks along xi and eta; without its mesh.

    Raises
    ------
    ScenarioError
        A file that cannot be read, a bottom that the model does not reach, numbers of elements that do not divide.
    """
    asked = scenario.domain.chunk
    model = radial_model(scenario.model)
    ground = None if asked.topography is None else _read("domain.chunk.topography.file", lambda: _ground(asked.topography), "")
    return _made("domain.chunk", lambda: chunk(
        model, (asked.longitude, asked.latitude), asked.width, asked.bottom, asked.period, asked.elements, asked.azimuth,
        asked.points_per_wavelength, scenario.run.degree, asked.growth, asked.honour, slices, asked.geographic, asked.elliptic,
        ground))  # fmt: skip


def _ground(asked):
    found = relief.read(asked.file, asked.variable)
    return found if asked.smoothing is None else found.lowered(asked.smoothing)


def _read(key, how, remedy):
    try:
        return how()
    except OSError as error:
        raise ScenarioError([Problem(key, f"cannot be read: {error.strerror or error}", "give the path of the file")]) from None
    except ValueError as error:
        raise ScenarioError([Problem(key, str(error), remedy)]) from None


def _made(key, how):
    try:
        return how()
    except (ValueError, KeyError) as error:
        raise ScenarioError([Problem(key, str(error.args[0]), "change bottom, growth, elements or period")]) from None


def sampler(scenario, made):
    """The `ChunkSampler` of a scenario, and the frequency, Hz, at which it states speeds: None without attenuation."""
    over = scenario.model.perturbation
    if over is not None:
        file, remedy = over.file, "it needs vp, vs, or their changes, on longitude, latitude, depth"
        over = _read("model.perturbation.file", lambda: emc.read(file), remedy)
    wanted = scenario.model.attenuation
    if wanted is None:
        return ChunkSampler(made, over), None
    own, used = wanted.frequency or 1 / PERIOD, reference(wanted)
    return ChunkSampler(made, over, True, math.log(used / own) / math.pi), used


def reference(wanted):
    """Frequency, Hz, at which mechanisms are fitted: the scenario's, or that of radial models, if the band holds it, else its middle."""
    low, high = wanted.band
    own = wanted.frequency or 1 / PERIOD
    return own if low <= own <= high else math.sqrt(low * high)


def prepared(scenario, made):
    """Mesh and sampler of the whole chunk, and the scenario with the frequency at which the sampler states speeds."""
    found, used = sampler(scenario, made)
    mesh = made.part().mesh
    return Prepared(mesh.reordered(ordering.locality(mesh)), found), at_frequency(scenario, used)


def at_frequency(scenario, frequency):
    """A scenario whose attenuation has its reference at a frequency, Hz; the same one for None."""
    if frequency is None:
        return scenario
    attenuation = scenario.model.attenuation.model_copy(update={"frequency": frequency})
    return scenario.model_copy(update={"model": scenario.model.model_copy(update={"attenuation": attenuation})})


def shortest_period(made, degree, points):
    """Shortest period, s, with so many GLL points a wavelength: of the widest element's edges in each section of a chunk, as designed."""
    widths = [w / n for w, n in zip(made.widths, made.stack.count)]
    worst = 0.0
    for layer in made.stack.layers:
        top = layer.levels[-1]
        edge = max(*(a * top * w for a, w in zip(layer.width, widths)), float(np.diff(layer.levels).max()))
        slow = made.model.slowest(layer.levels[0], layer.levels[-1])
        worst = max(worst, edge * points / (degree * slow))
    return worst


def layers_in_words(made):
    """(region, depths, layers, doublings) of the sections of a chunk, from above: list of str."""
    rows, radius = [], made.model.radius
    for section in range(len(made.radii) - 2, -1, -1):
        own = [layer for layer in made.stack.layers if layer.section == section]
        grown = sum(getattr(layer, "factor", 1) > 1 for layer in own)
        top, bottom = (radius - r for r in (made.radii[section + 1], made.radii[section]))
        text = f"{top / 1e3:.4g} to {bottom / 1e3:.4g} km {made.model.region((made.radii[section] + made.radii[section + 1]) / 2)}"
        rows.append(f"{text}: {len(own)}" + (f" (elements grow in {grown})" if grown else ""))
    return rows

