"""Every kind of source of a scenario, to what methods take: from its own keys, from files of other programs."""
import math
import os
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.survey import faults, geography, planes, quakeml, specfem, srf, wavelets
from craton.survey.places import globe_of
from craton.survey.receivers import in_file
from craton.survey.sources import PointSource, moment_tensor, positions, shots, shots_of

MIMIC_TRIANGLE = 1.628  # SPECFEM's SOURCE_DECAY_MIMIC_TRIANGLE: the Gaussian exp(-(1.628 t / half duration)^2) stands for its triangle
FUNCTIONS = {2: "a step", 3: "monochromatic", 4: "the Gaussian of Meschede et al."}
READERS = {
    "cmtsolution": specfem.read_cmtsolution,
    "forcesolution": specfem.read_forcesolution,
    "srf": srf.read,
    "quakeml": quakeml.read_event,
}


def contents(entry):
    """Contents of the file of an entry; read once, and again when it changes. Raises OSError or ValueError."""
    status = os.stat(entry.file)
    return _contents(entry.kind, entry.file, status.st_mtime_ns, status.st_size)


@lru_cache(4)
def _contents(kind, file, *_):
    return READERS[kind](file)


def tau_of(half_duration):
    """Standard deviation, s, of the Gaussian moment rate that SPECFEM makes of a half duration.

    SPECFEM's moment is (1 + erf(1.628 t / hd)) / 2, its rate exp(-(1.628 t / hd)^2) 1.628 / (sqrt(pi) hd): tau = hd / (1.628 sqrt(2)).
    """
    return half_duration / (MIMIC_TRIANGLE * math.sqrt(2))


def build_all(scenario, medium=None):
    """The sources of a scenario, in its order: PointSource, and where it says so FiniteFault and PlaneWave.

    Parameters
    ----------
    scenario : Scenario
    medium : callable, optional
        vp, vs, density (m/s, m/s, kg/m3) at positions (n, 3), m: finite faults and plane waves need it.

    Returns
    -------
    list of PointSource, FiniteFault or PlaneWave

    Raises
    ------
    ScenarioError
        Of a file that cannot be used in this medium; ``survey.problems`` reports what is wrong with files in any.
    """
    built = []
    for i, entry in enumerate(scenario.source):
        try:
            built += build(entry, entry.name or f"source {i + 1}", scenario, medium)
        except ValueError as error:  # what only the medium shows
            raise ScenarioError([Problem(f"source.{i}", str(error), "move the source, or change the model there")]) from None
    return built


def build(entry, name, scenario, medium):
    """The sources of one entry of a scenario.

    Parameters
    ----------
    entry : source of a scenario
    name : str
        Its name in lists.
    scenario : Scenario
    medium : callable
        vp, vs, density at positions (n, 3).

    Returns
    -------
    list of PointSource, FiniteFault or PlaneWave

    Raises
    ------
    OSError, ValueError, LookupError
        A file that cannot be used, in words.
    """
    return KINDS[entry.kind](entry, name, scenario, medium)


def _own(entry, name, scenario, medium):
    """One source, or one for each of its shots."""
    force = np.array(entry.vector, dtype=float) if entry.kind == "force" else None
    moment = None if entry.kind == "force" else moment_tensor(entry)
    delayed, wavelet = entry.wavelet.delay is not None and entry.wavelet.delay > 0, wavelets.build(entry.wavelet)
    number = {shot: n for n, shot in enumerate(shots(scenario))}
    names = shots_of(entry, name)
    titles = names if entry.shots is not None else [name]
    return [
        PointSource(title, xyz, *there(scenario, xyz, moment, force), wavelet, number.get(shot, 0), delayed)
        for title, shot, xyz in zip(titles, names, positions(scenario, entry))
    ]


def there(scenario, xyz, moment, force):
    """A moment tensor and a force given in east, north, up at a position, in the axes of the domain: those of a chunk of the Earth."""
    globe = globe_of(scenario)
    if globe is None:
        return moment, force
    turn = globe.axes(np.asarray(xyz)[None])[0]
    return None if moment is None else turn @ moment @ turn.T, None if force is None else turn @ force


def _plane_wave(entry, name, scenario, medium):
    return [planes.build(entry, name, scenario.domain, medium)]


def _cmtsolution(entry, name, scenario, medium):
    blocks, places = contents(entry), geography.places(scenario.domain, entry.coordinates)
    return [
        _point(places, _numbered(name, n, blocks), b, _wavelet(entry, b.shift, b.half_duration),
               moment=specfem.tensor(b.moments, entry.convention))
        for n, b in enumerate(blocks, 1)
    ]  # fmt: skip


def _forcesolution(entry, name, scenario, medium):
    blocks, places = contents(entry), geography.places(scenario.domain, entry.coordinates)
    return [_point(places, _numbered(name, n, blocks), b, _force_wavelet(entry, b), force=b.force) for n, b in enumerate(blocks, 1)]


def _quakeml(entry, name, scenario, medium):
    event, places = contents(entry), geography.places(scenario.domain, "geographic")
    return [_point(places, name, event, _wavelet(entry, event.shift, (event.duration or 0.0) / 2), moment=event.tensor)]


def _srf(entry, name, scenario, medium):
    return [faults.build(contents(entry), name, geography.places(scenario.domain, entry.coordinates), medium)]


KINDS = {
    "moment_tensor": _own, "explosion": _own, "force": _own, "plane_wave": _plane_wave,
    "cmtsolution": _cmtsolution, "forcesolution": _forcesolution, "quakeml": _quakeml, "srf": _srf,
}  # fmt: skip


def _numbered(name, n, blocks):
    return name if len(blocks) == 1 else f"{name}.{n}"


def _point(places, name, block, wavelet, moment=None, force=None):
    """A point source at a block's place, its mechanism turned to the model's axes."""
    xyz = tuple(map(float, places.xyz(block.longitude, block.latitude, block.depth)))
    turn = places.rotation(block.longitude, block.latitude)
    moment = None if moment is None else turn @ moment @ turn.T
    return PointSource(name, xyz, moment, None if force is None else turn @ force, wavelet)


def _wavelet(entry, shift, half_duration):
    """The entry's own wavelet, or the Gaussian that SPECFEM makes of a half duration; moved by the time shift."""
    if entry.wavelet is not None:
        return _moved(wavelets.build(entry.wavelet), shift)
    if half_duration == 0:
        raise ValueError("it has no duration, and an instantaneous moment release cannot be resolved; "
                         'add wavelet = { kind = "gaussian", tau = 0.1 }')  # fmt: skip
    return wavelets.build(SimpleNamespace(kind="gaussian", tau=tau_of(half_duration), delay=shift))


def _force_wavelet(entry, block):
    """The wavelet of a force: a Gaussian of unit area or a Ricker, as SPECFEM3D has them."""
    if entry.wavelet is not None:
        return _moved(wavelets.build(entry.wavelet), block.shift)
    if block.function in FUNCTIONS:
        raise ValueError(f"source time function {block.function}, {FUNCTIONS[block.function]}, is not supported: give a wavelet")
    if block.frequency <= 0:
        raise ValueError(f"half duration or frequency {block.frequency:g} must be positive; or give a wavelet")
    own = {"kind": "ricker", "frequency": block.frequency} if block.function else {"kind": "gaussian", "tau": tau_of(block.frequency)}
    return wavelets.build(SimpleNamespace(delay=block.shift, **own))


def _moved(wavelet, shift):
    """The wavelet later by `shift` (s)."""
    return replace(wavelet, delay=wavelet.delay + shift, start=wavelet.start + shift, end=wavelet.end + shift)


def checked(entry, name, scenario):
    """Sources of an entry's file in a medium, and the (key, message, remedy) of its problem, or None."""
    try:
        return build(entry, name, scenario, anything), None
    except quakeml.Missing as error:
        found = "kind", str(error), "or write the source as kind = \"moment_tensor\""
    except LookupError as error:
        key = "coordinates" if hasattr(entry, "coordinates") else "file"
        found = key, f"{entry.file}: {error.args[0]}", "add geographic = { longitude =, latitude = } to [domain]" + (
            '; or coordinates = "metres"' if hasattr(entry, "coordinates") else "")  # fmt: skip
    except OSError as error:
        found = "file", f"cannot read {entry.file}: {error.strerror or error}", "give the path of the file, relative to the scenario"
    except ValueError as error:
        found = "file", in_file(entry.file, error), f"correct the file: see docs/sources.md for the {entry.kind} format"
    return [], found


def anything(xyz):
    """Some solid, where only the file is looked at."""
    return np.full(len(xyz), 5000.0), np.full(len(xyz), 2900.0), np.full(len(xyz), 2600.0)
