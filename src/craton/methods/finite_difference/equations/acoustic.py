"""Acoustic waves: when pressure and velocity are all that is computed, and what keeps a fluid with
the elastic scheme.
"""

import numpy as np

from craton.errors import Problem
from craton.model.media import earth, rheology
from craton.survey.source_arrays import Catalogue, FiniteFault

SHEAR = 1e-6  # of the largest component of a moment tensor: below, it is isotropic
INSTEAD = "leave domain.waves out"


def chosen(scenario, grid, sources, speeds):
    """Return True where acoustic waves are computed: domain.waves says so, or says nothing and the
    elastic scheme would give the same.

    `speeds` is what `earth.extremes` says of the model on the grid.
    """
    if scenario.domain.waves is not None:
        return scenario.domain.waves == "acoustic"
    return fluid(speeds) and not kept_elastic(scenario.model, grid, sources)


def fluid(speeds):
    """Return True where vs = 0 everywhere."""
    return speeds["vs"][1] == 0


def beyond(model, grid):
    """Return what a model asks for that acoustic waves do not have here, in words."""
    asked = {
        "attenuation": getattr(model, "attenuation", None) is not None,
        "topography": model.topography is not None,
        "anisotropy": rheology.anisotropic(model, grid),
    }
    return [name for name, wanted in asked.items() if wanted]


def kept_elastic(model, grid, sources):
    """Why a fluid is computed with the elastic scheme, in words; empty where it is not."""
    shearing = [s.name for s in sources if sheared(s, grid.planar)]
    return [*beyond(model, grid), *([f"shear in the moment of {', '.join(shearing)}"] if shearing else [])]


def problems(scenario, grid):
    """Return what a model has that domain.waves = "acoustic" cannot do."""
    if scenario.domain.waves != "acoustic":
        return []
    fastest = earth.extremes(scenario.model, grid)["vs"][1]
    solid = f"acoustic waves are for vs = 0 everywhere, and the model has vs up to {fastest:g} m/s"
    rows = [(solid, f"write vs = 0, or {INSTEAD}")] if fastest > 0 else []
    rows += [
        (f"acoustic waves are computed without {name}", f"{INSTEAD}: a fluid then goes through the elastic scheme")
        for name in beyond(scenario.model, grid)
    ]
    return [Problem("domain.waves", *words) for words in rows]


def source_problems(scenario, sources):
    """Return sources that move nothing where domain.waves = "acoustic" is wanted."""
    if scenario.domain.waves != "acoustic":
        return []
    planar = scenario.domain.planar
    silent = [s.name for s in sources if slips(s) or (s.moment is not None and not isotropic(s.moment, planar))]
    words = "{}: a moment without an isotropic part moves nothing in acoustic waves"
    remedy = f"make it an explosion, or {INSTEAD}: a fluid then goes through the elastic scheme"
    return [Problem("domain.waves", words.format(name), remedy) for name in silent]


def warnings(d, sources):
    """Moments of which only a part acts."""
    partly = [s.name for s in sources if sheared(s, d.planar)] if d.acoustic else []
    return [f"{name}: of its moment only the isotropic part acts in acoustic waves" for name in partly]


def isotropic(moment, planar):
    """Return what each normal stress gets of a moment tensor, N m: the mean of its diagonal; in the
    (x, z) plane of xx and zz.
    """
    diagonal = np.diag(moment)[[0, 2] if planar else [0, 1, 2]]
    mean = float(diagonal.mean())
    return mean if abs(mean) > SHEAR * np.abs(moment).max() else 0.0


def slips(source):
    """Return True for a fault or a catalogue of earthquakes."""
    return isinstance(source, FiniteFault | Catalogue)


def sheared(source, planar):
    """Return True where a source's moment is more than isotropic, of the components that act."""
    return slips(source) or (source.moment is not None and has_shear(source.moment, planar))


def has_shear(moment, planar):
    """Return True for a moment tensor that is more than isotropic, in the (x, z) plane in that plane."""
    axes = [0, 2] if planar else [0, 1, 2]
    moment = moment[np.ix_(axes, axes)]
    return bool(np.abs(moment - np.eye(len(axes)) * np.diag(moment).mean()).max() > SHEAR * np.abs(moment).max())


def notes(d, sources):
    """Return what `craton plan` says of the choice in a fluid."""
    if d.acoustic:
        return [("waves", "acoustic (vs = 0 everywhere): velocity and pressure only")]
    if d.motion == "SH" or not fluid(d.speeds):
        return []
    reasons = kept_elastic(d.model, d.grid, sources) or ["domain.waves"]
    return [("waves", f"elastic although vs = 0 everywhere: {'; '.join(reasons)}")]
