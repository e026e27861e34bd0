"""The event of a run for catalogues and files of records: origin time, moment tensor, centroid and
duration, as attributes of datasets.
"""

import numpy as np

from craton.survey.geography import of_source
from craton.survey.source_files import MIMIC_TRIANGLE, file_points

APART = 1.0  # m between hypocentre and centroid, from which both are stated
SAMPLES = 4001  # of a wavelet, for its mean time and width
ORDER = ("rr", "tt", "pp", "rt", "rp", "tp")  # r up, t south, p east, as in a CMTSOLUTION


def origin_times(scenario):
    """Origin times that the files of a scenario's sources state: dict from the number of the source
    to ISO 8601, UTC.

    Parameters
    ----------
    scenario : Scenario
    """
    firsts = {n: points[0] for n, entry in enumerate(scenario.source) if len(points := file_points(entry))}
    return {n: first.origin for n, first in firsts.items() if first.origin}


def origin_time(scenario):
    """Return the origin time of a run, t = 0: ``time.origin``, else that of the first file of a
    source that states it; None without either.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    str or None
        ISO 8601, UTC.
    """
    return scenario.time.origin or next(iter(origin_times(scenario).values()), None)


def warnings(scenario):
    """Sentences on events whose origin times differ: all begin at t = 0.

    Parameters
    ----------
    scenario : Scenario
    """
    (first, origin), *others = [*origin_times(scenario).items()] or [(0, None)]
    if scenario.time.origin:
        return []
    words = "both are at t = 0 here: give time.origin, and a wavelet with the delay between them"
    different = [(n, other) for n, other in others if other != origin]
    return [f"source.{n}: its origin time, {t}, is not that of source.{first}, {origin}; {words}" for n, t in different]


def attributes(scenario, sources, earth=None):
    """Attributes of a dataset that say what the event is.

    Parameters
    ----------
    scenario : Scenario
    sources : list of PointSource, FiniteFault or PlaneWave
        Of one experiment; none where there are several shots.
    earth : Globe or craton.survey.geography.Local, optional
        Where the model lies; without it, x is east and y is north.

    Returns
    -------
    dict
        ``origin_time`` (ISO 8601, UTC); of sources in space with a moment and a pulse as wavelet
        ``source_moment_tensor`` (final moment in the order `ORDER`, N m), ``source_name``,
        ``centroid_time`` (s after the origin time), ``half_duration`` (s, of the Gaussian that
        SPECFEM makes of it, as wide as the moment rate); where the centroid is not at the
        hypocentre, its place as ``centroid_x`` and so on, on Earth ``centroid_longitude`` and so on.
    """
    origin = origin_time(scenario)
    about = {} if origin is None else {"origin_time": origin}
    moving = [s for s in sources if s.moment is not None and s.wavelet.is_pulse]
    if scenario.domain.planar or not moving or len(moving) < len(sources):
        return about
    tensors = np.stack([_true_moment(source, earth) for source in moving])
    sizes = np.linalg.norm(tensors, axis=(1, 2))
    means, variances = np.transpose([_moments_in_time(source.wavelet) for source in moving])
    weights = sizes / sizes.sum()
    centroid = weights @ means
    variance = weights @ (variances + (means - centroid) ** 2)
    about["source_moment_tensor"] = [float(value) for value in cmt_order(tensors.sum(axis=0))]
    about["centroid_time"] = round(float(centroid), 9)
    if variance > 0:
        about["half_duration"] = float(MIMIC_TRIANGLE * np.sqrt(2 * variance))
    name, place = name_of(scenario), weights @ [source.xyz for source in moving]
    if np.linalg.norm(place - moving[0].hypocentre) > APART:
        about |= _centroid(place, earth)
    return about | ({"source_name": name} if name else {})


def _centroid(xyz, earth):
    """Attributes that say where the centroid is."""
    if earth is None:
        return {f"centroid_{axis}": float(value) for axis, value in zip("xyz", xyz)}
    return {name.replace("source_", "centroid_"): value for name, value in of_source(earth, xyz).items()}


def name_of(scenario):
    """Return the name of a run's event: that of its first source, or the one that its file states;
    empty without either.

    Parameters
    ----------
    scenario : Scenario
    """
    first = next(iter(scenario.source), None)
    if first is None:
        return ""
    points = file_points(first)
    return first.name or (points[0].name if len(points) else "")


def cmt_order(tensor):
    """Return the six components of a tensor in east, north, up in the order `ORDER`; the inverse of
    `craton.io.contents.moment_tensor`.

    Parameters
    ----------
    tensor : (3, 3) array
    """
    (ee, en, eu), (_, nn, nu), (_, _, uu) = tensor
    return np.array([uu, nn, ee, -nu, eu, -en]) + 0.0  # no minus zero


def _true_moment(source, earth):
    """Return the final moment tensor in true east, north, up at the source, N m."""
    moment = source.wavelet.area * source.moment
    if earth is None:
        return moment
    axes = earth.axes(np.asarray(source.xyz, float)[None])[0]
    return axes.T @ moment @ axes


def _moments_in_time(wavelet):
    """Mean time, s, and variance, s2, of a pulse."""
    # `end` is where it is still 1e-4 of the peak
    times = np.linspace(wavelet.start, 2 * wavelet.end - wavelet.start, SAMPLES)
    weights = wavelet(times)
    weights = weights / weights.sum()
    mean = weights @ times
    return mean, weights @ (times - mean) ** 2
