"""Every kind of source of a scenario, to what methods take: from its own keys, from files of other
programs.
"""

import math
import os
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from craton import io
from craton.errors import ScenarioError
from craton.io.contents import FileSources, MissingLibrary
from craton.io.limits import MOST_ROWS
from craton.survey import geography, source_arrays, sources, wavelets
from craton.survey.places import file_fault, globe_of
from craton.survey.sources import PointSource, double_couple, mechanism, positions, shots, shots_of
from craton.tables.fields import Place

RUPTURES = ("fsp", "srf")  # formats of finite faults
# SPECFEM's SOURCE_DECAY_MIMIC_TRIANGLE: the Gaussian exp(-(1.628 t / half duration)^2) stands for
# its triangle
MIMIC_TRIANGLE = 1.628


def contents(entry):
    """Contents of the file of an entry; read once, and again when it changes.

    Parameters
    ----------
    entry : source of a scenario, from a file

    Returns
    -------
    FileSources, list of FileSource, or Rupture

    Raises
    ------
    OSError, ValueError
        The file cannot be read, or not understood.
    """
    status, row = os.stat(entry.file), next(row for row in io.formats("source") if row.name == entry.kind)
    options = tuple((key, getattr(entry, key)) for key in row.options)
    return _contents(entry.kind, entry.file, options, status.st_mtime_ns, status.st_size)


def file_points(entry):
    """Return the point sources of an entry's file: FileSources or list of FileSource; none of a rupture, or without a file."""
    return contents(entry) if hasattr(entry, "file") and entry.kind not in RUPTURES else ()


@lru_cache(4)
def _contents(kind, file, options, *_):
    return io.read(file, "source", kind, **dict(options))


def tau_of(half_duration):
    """Return standard deviation, s, of the Gaussian moment rate that SPECFEM makes of a half
    duration.

    SPECFEM's moment is (1 + erf(1.628 t / hd)) / 2, its rate exp(-(1.628 t / hd)^2) 1.628 /
    (sqrt(pi) hd): tau = hd / (1.628 sqrt(2)).

    Parameters
    ----------
    half_duration : float
        s.
    """
    return half_duration / (MIMIC_TRIANGLE * math.sqrt(2))


def build_all(scenario, medium=None):
    """Return the sources of a scenario, in its order: PointSource, and where it says so Catalogue,
    FiniteFault and PlaneWave.

    Parameters
    ----------
    scenario : Scenario
    medium : callable, optional
        vp, vs, density (m/s, m/s, kg/m3) at positions (n, 3), m: finite faults and plane waves need
        it.

    Returns
    -------
    list of PointSource, Catalogue, FiniteFault or PlaneWave

    Raises
    ------
    ScenarioError
        Of a file that cannot be used in this medium; ``survey.problems`` reports what is wrong with
        files in any.
    """
    built = []
    for i, entry in enumerate(scenario.source):
        try:
            built += build(entry, entry.name or f"source {i + 1}", scenario, medium)
        except ValueError as error:  # what only the medium shows
            remedy = getattr(error, "remedy", "move the source, or change the model there")
            raise ScenarioError.of(f"source.{i}", str(error), remedy) from None
    return built


def build(entry, name, scenario, medium) -> list:
    """Return the sources of one entry of a scenario, PointSource, Catalogue, FiniteFault or PlaneWave, in a medium: vp,
    vs, density at positions (n, 3). OSError, ValueError and LookupError say why a file cannot be used.
    """
    if entry.kind == "plane_wave":
        return [sources.plane_wave(entry, name, scenario.domain, medium)]
    return _from_file(entry, name, scenario, medium) if hasattr(entry, "file") else _from_keys(entry, name, scenario)


def _from_keys(entry, name, scenario):
    """One source, or one for each of its positions or shots; mechanisms of places on Earth are in true east, north, up
    there, others in the axes of the box.
    """
    moment, force = mechanism(entry)
    delayed, wavelet = (entry.wavelet.delay or 0) > 0, wavelets.build(entry.wavelet)
    number = {shot: n for n, shot in enumerate(shots(scenario))}
    names, xyz = shots_of(entry, name), positions(scenario, entry)
    titles = names if entry.shots is not None else [name]
    if len(xyz) > len(titles):  # they act together
        titles, names = [f"{name}.{n}" for n in range(1, len(xyz) + 1)], names * len(xyz)
    turns = axes_of(entry, scenario, xyz)
    moments = [moment if moment is None else turn @ moment @ turn.T for turn in turns]
    forces = [force if force is None else turn @ force for turn in turns]
    return [
        PointSource(title, place, *acts, wavelet, number.get(shot, 0), delayed)
        for title, shot, place, *acts in zip(titles, names, xyz, moments, forces)
    ]


def axes_of(entry, scenario, xyz):
    """Return the axes in which the mechanism of an entry is at positions (n, 3), m, as columns in those of the model, (n, 3, 3):
    true east, north and up of places on Earth, else those of the box.
    """
    earth = globe_of(scenario)
    if earth is None and on_earth(entry) and not scenario.domain.planar:
        earth = geography.local_of(scenario.domain)
    return np.broadcast_to(np.eye(3), (len(xyz), 3, 3)) if earth is None else earth.axes(np.asarray(xyz))


def on_earth(entry) -> bool:
    """Whether a source stands at a longitude and latitude, so that its mechanism is in true east, north and up."""
    at = entry.at if entry.shots is None else entry.shots
    if at is None:
        return _coordinates(entry) == "geographic"
    return isinstance(getattr(at, "from_", at), Place)


def _coordinates(entry):
    """Return what the positions in an entry's file are, ``"geographic"`` or ``"metres"``: by the file, else by the entry."""
    held = file_points(entry)
    return (held[0].coordinates if len(held) else None) or getattr(entry, "coordinates", "geographic")


def _from_file(entry, name, scenario, medium):
    """Return the sources of a file: points, a catalogue, or a finite fault."""
    held, mapped = contents(entry), geography.places(scenario.domain, _coordinates(entry))
    if entry.kind in RUPTURES:
        return [source_arrays.finite_fault(held, name, mapped, medium)]
    many = isinstance(held, FileSources) and len(held) > source_arrays.MANY
    if many and held.force is None and not scenario.domain.planar:  # they stay arrays
        shared = None if entry.wavelet is None else wavelets.build(entry.wavelet)
        catalogue = replace(_placed(held, mapped), name=name, shared=shared)
        if shared is None and (catalogue.tau <= 0).any():
            number = int(np.argmax(catalogue.tau <= 0)) + 1
            raise ValueError(source_arrays.INSTANT.format(f"source {number:,}"))
        return [catalogue]
    if len(held) > MOST_ROWS:
        raise ValueError(f"{len(held):,} point sources: more than {MOST_ROWS:,} must be moments in space")
    built = []
    for n, point in enumerate(held, 1):
        turn = mapped.rotation(point.longitude, point.latitude)
        xyz = tuple(map(float, mapped.xyz(point.longitude, point.latitude, point.depth)))
        moment = point.moment if point.plane is None else double_couple(*point.plane)
        moment = None if moment is None else turn @ moment @ turn.T
        force = None if point.force is None else turn @ point.force
        title = name if len(held) == 1 else f"{name}.{n}"
        built.append(PointSource(title, xyz, moment, force, _wavelet(entry, point)))
    return built


@lru_cache(2)  # they are checked, and then built
def _placed(held, places):
    return source_arrays.catalogue(held, "", places, tau_of)


def _wavelet(entry, point):
    """Return the entry's own wavelet, or the one that SPECFEM makes of a half duration or
    frequency; moved by the time shift.
    """
    if entry.wavelet is not None:
        return wavelets.build(entry.wavelet).shifted(point.shift)
    if point.wavelet not in ("gaussian", "ricker"):
        raise ValueError(f"source time function {point.wavelet}, is not supported: give a wavelet")
    if point.width <= 0 and point.force is not None:
        raise ValueError(f"half duration or frequency {point.width:g} must be positive; or give a wavelet")
    if point.width <= 0:
        raise ValueError(source_arrays.INSTANT.format("it"))
    shape = {"frequency": point.width} if point.wavelet == "ricker" else {"tau": tau_of(point.width)}
    return wavelets.build(SimpleNamespace(kind=point.wavelet, delay=point.shift, **shape))


def checked(entry, name, scenario):
    """Return sources of an entry's file in a medium, and the (key, message, remedy) of its problem,
    or None.

    Parameters
    ----------
    entry : source or receivers of a scenario
    name : str
    scenario : Scenario
    """
    try:
        return build(entry, name, scenario, any_solid), None
    except MissingLibrary as error:
        problem = "kind", str(error), 'or write the source as kind = "moment_tensor"'
    except (LookupError, OSError, ValueError) as error:
        key = "coordinates" if isinstance(error, LookupError) and hasattr(entry, "coordinates") else "file"
        advice = f"correct the file: see docs/sources.md for the {entry.kind} format"
        problem = key, *file_fault(entry, error, "file", advice)
    return [], problem


def any_solid(xyz):
    """Return some solid, where only the file is looked at.

    Parameters
    ----------
    xyz : (n, 3) array
        Positions, m.
    """
    return np.full(len(xyz), 5000.0), np.full(len(xyz), 2900.0), np.full(len(xyz), 2600.0)
