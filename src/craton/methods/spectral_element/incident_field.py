"""The incident field around a box at every step of a run: read from a recording on the same elements,
or computed at their points; and where it does not fit the run.
"""

import numpy as np

from craton.errors import Problem
from craton.methods.spectral_element.box_layer import SPEEDS, means
from craton.methods.waves.coupling import recorded
from craton.methods.waves.coupling.oblique import side_problems
from craton.methods.waves.coupling.sampled import medium_problem

SAME_POINT = 1e-4  # of the shortest distance between points: positions that are the same
SAME_Q = 1e-4  # relative, of 1/Q and of mechanisms


def incident_values(d, wave, around, parts):
    """Return the incident field around a box at every step, dict of str to (steps, m fields) array,
    and list of Problem; all ranks must call.

    Parameters
    ----------
    d : Discretisation
    wave : recorded.Incident, PlaneIncident or SampledIncident
    around : Surroundings
    parts : dict of str to Places
    """
    if wave.wavelet or wave.resampled:
        return computed_values(d, wave, around, parts)
    if wave.about["degree"] != d.element.degree:
        words = f"it was recorded with elements of degree {wave.about['degree']}, this run has {d.element.degree}"
        return None, [Problem(f"{wave.key}.recorded", words, "use the same run.degree")]
    moved, wrong = {}, lacking_problems(wave, parts)
    for kind, places in parts.items():
        points, unlike = recorded_points(d, wave, places)
        wrong = wrong or unlike or unlike_problems(d, wave, places, points)
        if wrong or not len(points):
            moved[kind] = np.empty((d.steps, 0))
            continue
        columns = (points[:, None] + np.arange(len(places.fields))).ravel()
        late = np.tile(places.late, len(points))
        series, wrong = recorded.values_of(d, wave, columns, late)
        moved[kind] = None if wrong else np.asarray(series)
    return moved, wrong


def computed_values(d, wave, around, parts):
    """Return what `incident_values` does of waves that are computed at any points of a solid."""
    in_fluid = {kind: len(places.xyz) for kind, places in parts.items() if kind != "solid"}
    if any(sum(counts.values()) for counts in d.subdomain.team.every(lambda: in_fluid)):
        words = "plane waves and waves at points are not injected yet where the box reaches fluid or is next to it"
        remedy = "keep fluid an element away from its sides, or record them with elements"
        return None, [Problem(wave.key, words, remedy)]
    places, moved = parts["solid"], {kind: np.empty((d.steps, 0)) for kind in parts}
    without = medium_of_stack(d, wave, around.solid) if wave.wavelet else {}
    if not len(places.xyz):
        return moved, []
    if wave.wavelet:
        wrong = side_problems(d, wave, places.medium, without, places.xyz)
        wrong = wrong or elastic_problems(wave, places.inverse_q, places.xyz)
    else:
        reach = np.cbrt(d.statistics.smallest)
        wrong = wave.problems(d, wave.displaced, places.xyz, places.medium, reach)
    return ({} if wrong else moved | {"solid": wave.displacement(d, places.xyz)}), wrong


def lacking_problems(wave, parts):
    """Return the problem of a recording with fields that the run has not: list of Problem.

    Parameters
    ----------
    wave : recorded.Incident
    parts : dict of str to Places
    """
    fields = {name for places in parts.values() for name in places.fields}
    others = sorted(set(map(str, np.unique(wave.recorded.labels["field"]))) - fields)
    if not others:
        return []
    words = f"it holds {', '.join(others)}, of fluid or solid elements that this run has not"
    remedy = "let the media agree at the sides of the box; anomalies belong inside"
    return [Problem(f"{wave.key}.recorded", words, remedy)]


def recorded_points(d, wave, places):
    """Return the first value of each point, (m,), among those of a recording, and list of Problem;
    all ranks must call.

    Parameters
    ----------
    d : Discretisation
    wave : recorded.Incident
    places : box_layer.Places
    """
    from scipy.spatial import cKDTree

    labels, xyz, key = wave.recorded.labels, places.xyz, f"{wave.key}.recorded"
    count = sum(d.subdomain.team.every(lambda: len(places.rows)))
    values = np.flatnonzero(labels["field"] == places.fields[0])
    tree = cKDTree(np.stack([labels[axis][values] for axis in "xyz"], axis=1))
    distance, point = tree.query(xyz)
    spacing = np.cbrt(d.statistics.smallest) / d.element.degree**2
    remedy = "let the meshes of both runs agree around the box"
    words = "the elements around the box are not those of the recording"
    if distance.max(initial=0.0) > SAME_POINT * spacing:
        x, y, z = xyz[distance.argmax()]
        words += f": it has no point at ({x:.6g}, {y:.6g}, {z:.6g}) m"
        return None, [Problem(key, words, remedy)]
    if len(values) != count:
        words += f": it has {len(values):,} points with {places.fields[0]}, this run {count:,}"
        return None, [Problem(key, words, remedy)]
    return values[point], []


def unlike_problems(d, wave, places, points):
    """Return where medium and attenuation are not those of a recording: list of Problem.

    Parameters
    ----------
    d : Discretisation
    wave : recorded.Incident
    places : box_layer.Places
    points : (m,) int array
        Values of the recording, one of each point.
    """
    wrong = recorded.medium_problems(wave, points, places.medium, places.xyz)
    return wrong or attenuation_problems(d, wave, points, places.inverse_q, places.xyz)


def mechanisms_of(d):
    """Return frequencies, rad/s, and coefficients of the mechanisms of attenuation, rows of numbers
    that two runs can compare; empty without.
    """
    if d.relaxation is None:
        return []
    return np.vstack([d.relaxation.omega, d.relaxation.polynomials]).tolist()


def attenuation_problems(d, wave, places, inverse, xyz):
    """Return where the attenuation at places of a recording is not that of a run: list of Problem.

    Parameters
    ----------
    d : Discretisation
    wave : recorded.Incident
    places : (m,) int array
    inverse : dict of str to (m,) array
        1/Qp and 1/Qs of the run.
    xyz : (m, 3) array
        m.
    """
    of_recording, of_run = wave.about.get("mechanisms") or [], mechanisms_of(d)
    if bool(of_recording) != bool(of_run):
        words = "has attenuation and the other has none"
        words = f"{'this run' if of_run else 'the recording'} {words}"
        return [Problem(wave.key, words, "give both runs the same model.attenuation, or none")]
    shapes = np.shape(of_recording), np.shape(of_run)
    if shapes[0] != shapes[1] or not np.allclose(of_recording, of_run, rtol=SAME_Q):
        words = f"the mechanisms of attenuation, fitted down to Q = {1 / d.relaxation.largest:.4g}, are not those of the recording"
        remedy = "give both runs the same model.attenuation, with the lowest Q of both as lowest_q"
        return [Problem(wave.key, words, remedy)]
    for name, values in inverse.items():
        expected = wave.recorded.labels[name][places]
        differs = np.abs(values - expected) > SAME_Q * np.abs(expected).max(initial=0.0)
        if differs.any():
            n = int(np.flatnonzero(differs)[0])
            words = f"{name} = {values[n]:.6g} instead of {expected[n]:.6g}"
            return [medium_problem(wave.key, words, xyz[n], "attenuation")]
    return []


def elastic_problems(wave, inverse, xyz):
    """Return where the elements around the box of a plane wave have attenuation: list of Problem.

    Parameters
    ----------
    wave : PlaneIncident
    inverse : dict of str to (m,) array
        1/Qp and 1/Qs of the run.
    xyz : (m, 3) array
        m.
    """
    for name, values in inverse.items():
        if values.any():
            where = ", ".join(f"{v:.6g}" for v in xyz[values.argmax()])
            words = f"no plane wave: {name} = {values.max():.4g} at the sides of the box, at ({where}) m"
            return [Problem(wave.key, words, "leave attenuation out there: plane waves have none")]
    return []


def medium_of_stack(d, wave, layer):
    """Return vp, vs and rho of the flat layers of a plane wave at the points of a layer of elements:
    dict of (m,) arrays; all ranks must call.
    """
    z = d.coordinates(layer.elements)[:, 2]
    middle = d.centres[layer.elements][:, 2:]
    numbers = wave.stack.layer(z + 1e-6 * (middle - z))
    return means(d, layer, {name: getattr(wave.stack, name)[numbers] for name in SPEEDS})
