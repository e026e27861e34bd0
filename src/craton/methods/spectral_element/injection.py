"""Recordings on the sides of a box of elements, and their injection into another run on the same
elements there: the domain reduction method (Bielak, Loukakis, Hisada & Yoshimura 2003, BSSA 93,
817), exact for the discrete scheme.

Let b be the points of elements inside the box, e all others, K the stiffness of the elements outside
that share points with the box (the layer), u0 the incident displacement. The run computes u at b and
u - u0 at e; then the forces

    -K_be u0_e   at points b of the layer,      K_eb u0_b   at its points e

stand for the incident field. Mass and absorbing faces act at single points: they add nothing.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.errors import Problem
from craton.methods.shared import recorded, shell
from craton.methods.shared.oblique import side_problems
from craton.methods.shared.tables import injection, table_of
from craton.methods.spectral_element import material, mesh_terms
from craton.methods.spectral_element.element import lagrange_slopes
from craton.methods.spectral_element.sites import (
    VOIGT,
    at_sites,
    materials,
    numbers,
    sites,
    vector_index,
)
from craton.text import first_of

SAME_POINT = 1e-4  # of the shortest distance between points: positions that are the same
STEPS = 256  # whose forces are computed at a time
FIELDS = ("ux", "uy", "uz")
ROW = {pair: n for n, pair in enumerate((a, b) for a in range(6) for b in range(a, 6))}


@dataclass(frozen=True, eq=False)
class Layer:
    """Elements outside a box that share points with it.

    Parameters
    ----------
    inside : (ni,) int array
        Elements inside the box.
    elements : (n,) int array
        Those of the layer.
    points : (m,) int array
        Their points, rising.
    local : (n, n^3) int array
        Rows of `points` of each element's nodes.
    total : (n, n^3) bool array
        Nodes that the box has, too.
    """

    inside: np.ndarray
    elements: np.ndarray
    points: np.ndarray
    local: np.ndarray
    total: np.ndarray


def layer_around(d, low, high):
    """Return the `Layer` of the box that holds the elements with centres between two corners.

    Parameters
    ----------
    d : Medium
    low, high : sequence of float
        m.
    """
    inside = ((d.centres >= low) & (d.centres <= high)).all(axis=1)
    points = np.asarray(d.points).reshape(d.mesh.size, -1)
    within = np.zeros(d.state.solid + 1, bool)
    within[points[inside]] = True
    elements = np.flatnonzero(~inside & within[points].any(axis=1))
    numbers, local = np.unique(points[elements], return_inverse=True)
    local = local.reshape(len(elements), points.shape[1])
    return Layer(np.flatnonzero(inside), elements, numbers, local, within[points[elements]])


def boxes_of(d, scenario, incident):
    """Yield (key, `Layer`) of all recordings and injections.

    Parameters
    ----------
    d : Medium
    scenario : SpectralScenario
    incident : list of recorded.Incident
    """
    for n, spec in enumerate(scenario.recording):
        if not spec.sampling:
            yield f"recording.{n}", layer_around(d, spec.from_, spec.to)
    for wave in incident:
        yield wave.key, layer_around(d, *wave.corners)


def problems(d, scenario, incident):
    """Return what is wrong with boxes of recordings and with injections: list of Problem; see
    `boxes_of`.
    """
    wrong = []
    for n, spec in enumerate(scenario.recording):
        if spec.sampling:
            wrong += sampled_problems(d, scenario, spec, f"recording.{n}")
    boxed = [spec for spec in scenario.recording if not spec.sampling]
    if wrong or not (boxed or incident):
        return wrong
    key = "recording" if boxed else "injection"
    refused = [
        (d.subdomain.team.size > 1, "on several ranks", "run it on one rank"),
        (d.globe is not None, "in a chunk of the Earth", "use a box or a mesh"),
        (bool(d.state.fluid), "where the model has fluid parts", "leave the fluid out"),
        (d.relaxation is not None, "where the medium has attenuation", "leave attenuation out"),
        (d.exact, 'with run.assembly = "colour"', 'use "fast" or float64'),
    ]
    wrong = [
        Problem(key, f"there is no box yet {words}", r) for holds, words, r in refused if holds
    ]
    if wrong:
        return wrong
    for name, layer in boxes_of(d, scenario, incident):
        wrong += layer_problems(d, layer, name)
    return wrong + recorded.clock_problems(d, incident)


def layer_problems(d, layer, key):
    """Return what stands against a box: list of Problem."""
    if not len(layer.inside) or not len(layer.elements):
        words = "no element" if not len(layer.inside) else "every element"
        remedy = "give corners around some elements: those whose centres they hold are inside"
        return [Problem(key, f"{words} of the mesh is in the box", remedy)]
    touched = [
        name
        for name, rows in d.mesh.faces.items()
        if d.face_kinds[name] != "free" and np.isin(np.asarray(rows)[:, 0], layer.inside).any()
    ]
    if touched:
        words = f"the box reaches the boundary {touched[0]!r}, which is {d.face_kinds[touched[0]]}"
        return [Problem(key, words, "leave an element and more between them")]
    if d.layers is not None and (d.layers.axes[layer.elements] != 0).any():
        words = "the box is next to an absorbing layer"
        return [Problem(key, words, "leave an element and more between them")]
    return []


# --- out ------------------------------------------------------------------------------------------


def recordings(d, scenario, band):
    """Return the recordings of a scenario, their arrays and launches: list of Recording, dict, list.

    Parameters
    ----------
    d : Discretisation
    scenario : SpectralScenario
    band : float
        Highest frequency of the run, Hz.
    """
    all_recordings, arrays, launches = [], {}, []
    for spec in scenario.recording:
        if spec.sampling:
            recording, more, launch = sampled_recording(d, scenario, spec, band)
            all_recordings.append(recording)
            arrays |= more
            launches.append(launch)
            continue
        layer = layer_around(d, spec.from_, spec.to)
        about = {"method": "sem", "degree": d.element.degree}
        about |= {"from": list(spec.from_), "to": list(spec.to)}
        labels = {"field": np.tile(FIELDS, len(layer.points))}
        places = {**dict(zip("xyz", positions(d, layer).T)), **medium(d, layer)}
        labels |= {name: np.repeat(values, 3) for name, values in places.items()}
        source = vector_places(d, "displacement", layer.points)
        recording, more, launch = recorded.ring(spec.name, source, labels, about, d, band)
        all_recordings.append(recording)
        arrays |= more
        launches.append(launch)
    return all_recordings, arrays, launches


def shell_of(d, scenario, spec):
    """Return the `Shell` of a recording at points."""
    if spec.longitude is None:
        free = d.face_kinds["top"] == "free"
        return shell.shell_of(spec, scenario.domain.top if free else np.inf)
    chunk = d.globe.chunk
    origin = np.asarray(chunk.place(spec.longitude, spec.latitude, 0.0), float)
    axes = np.asarray(chunk.axes(spec.longitude, spec.latitude), float).T
    around = shell.shell_of(spec, 0.0, (origin, shell.turned_axes(axes, spec.azimuth)))
    depth = chunk.whereabouts(around.xyz)[2]
    up = around.xyz / np.linalg.norm(around.xyz, axis=1, keepdims=True)
    # the tangent plane at the origin rises above the ground away from it
    return replace(around, xyz=around.xyz + np.minimum(depth, 0.0)[:, None] * up)


def sampled_recording(d, scenario, spec, band):
    """Return the `Recording` of a shell of points, its arrays and launch.

    Parameters
    ----------
    d : Discretisation
    scenario : SpectralScenario
    spec : craton.tables.injection.Recording
    band : float
        Hz.
    """
    from scipy.sparse import csr_array

    around = shell_of(d, scenario, spec)
    positions = sites(d, d.locate(around.xyz, False))
    samples = materials(d, positions.element)
    law, number = stiffness(positions, samples), numbers(d, positions.element)
    index, weight = [], []
    for axis in range(3):
        index.append(d.offset("velocity") + axis + 3 * number)
        weight.append(positions.values)
    for a, b in shell.PAIRS:
        moduli = law[:, VOIGT[a, b]][:, VOIGT]
        index.append(vector_index(d, "displacement", number))
        weight.append(np.einsum("ncd,ndm->ncm", moduli, positions.slopes).reshape(len(number), -1))
    counts = np.concatenate([np.full(len(number), part.shape[1]) for part in index])
    columns, values = (np.concatenate([p.ravel() for p in parts]) for parts in (index, weight))
    shape = len(counts), int(columns.max()) + 1
    rows = csr_array((values, columns, np.append(0, np.cumsum(counts))), shape=shape)
    media = {name: at_sites(positions, samples[name]) for name in ("vp", "vs", "rho")}
    names = (*shell.VELOCITY, *shell.STRESS)
    return shell.ring(around, names, rows, media, {"method": "sem"}, d, band)


def stiffness(positions, material):
    """Return Hooke's law at sites, (n, 6, 6), Pa."""
    law = np.zeros((len(positions), 6, 6))
    if "stiffness" in material:
        upper = np.triu_indices(6)
        constants = at_sites(positions, material["stiffness"])
        law[:, upper[0], upper[1]] = law[:, upper[1], upper[0]] = constants
        return law
    mu = at_sites(positions, material["rho"] * material["vs"] ** 2)
    lam = at_sites(positions, material["rho"] * material["vp"] ** 2) - 2 * mu
    law[:, :3, :3] = lam[:, None, None]
    law[:, range(3), range(3)] += 2 * mu[:, None]
    law[:, range(3, 6), range(3, 6)] = mu[:, None]
    return law


def sampled_problems(d, scenario, spec, key):
    """Return what stands against a recording at points: list of Problem."""
    on_earth = spec.longitude is not None
    refused = [
        (d.subdomain.team.size > 1, "on several ranks", "run it on one rank"),
        (d.relaxation is not None, "where the medium has attenuation", "leave attenuation out"),
        (on_earth and d.globe is None, "by longitude outside a chunk", "write origin, m"),
        (
            not on_earth and d.globe is not None,
            "by x and y in a chunk of the Earth",
            "add longitude and latitude, from whose ground the corners count",
        ),
    ]
    wrong = [
        Problem(key, f"there is no recording at points yet {words}", remedy)
        for holds, words, remedy in refused
        if holds
    ]
    if wrong:
        return wrong
    xyz = shell_of(d, scenario, spec).xyz
    located = d.locate(xyz, False).element
    outside = located < 0
    words = "outside the mesh, in absorbing layers or in fluid"
    if d.layers is not None:
        outside |= d.layers.axes[np.maximum(located, 0)] != 0
    outside |= d.fluid[np.maximum(located, 0)]
    return shell.outside_problems(key, outside, xyz, words)


def vector_places(d, field, points):
    """Return the places of all components of a field at points, component fastest."""
    return (d.offset(field) + 3 * points[:, None] + np.arange(3)).ravel()


def positions(d, layer):
    """Return positions of the points of a layer, (m, 3), m."""
    out = np.zeros((len(layer.points), 3))
    out[layer.local] = d.coordinates(layer.elements).transpose(0, 2, 1)
    return out


def medium(d, layer):
    """vp, vs, m/s, and rho, kg/m3, at the points of a layer, means over its elements: dict."""
    samples = d.material(layer.elements)
    counts = np.bincount(layer.local.ravel(), minlength=len(layer.points))
    return {
        name: np.bincount(layer.local.ravel(), samples[name].ravel(), len(counts)) / counts
        for name in ("vp", "vs", "rho")
    }


# --- in -------------------------------------------------------------------------------------------


def injections(d, incident):
    """Return arrays, and launches that add the forces of recordings, and the largest velocity of
    these, m/s.

    Parameters
    ----------
    d : Discretisation
    incident : list of recorded.Incident

    Raises
    ------
    ScenarioError
        A recording has not the points that are needed, or another medium, or is not complete.
    """
    arrays, launches, peak = {}, [], 0.0
    for n, wave in enumerate(incident):
        layer = layer_around(d, *wave.corners)
        moved = recorded.checked(*displacements(d, wave, layer))
        peak = max(peak, recorded.peak_of(np.diff(moved, axis=0)) / d.dt)
        target = vector_places(d, "force", layer.points)
        number = np.arange(len(target))
        table = table_of(target, np.ones(len(target)), number)
        series = forces(d, layer, moved)
        more, launch = injection(f"injection{n}", table, series, d.precision, "forces")
        arrays |= more
        launches.append(d.units.launch(launch, False))
    return arrays, launches, peak


def displacements(d, wave, layer):
    """Return the incident displacement at the points of a layer at every step, (steps, 3 m), and
    list of Problem.
    """
    from scipy.spatial import cKDTree

    xyz = positions(d, layer)
    if wave.wavelet:
        return wave.displacement(d, xyz), side_of(d, wave, layer, xyz)
    if wave.resampled:
        reach = np.cbrt(d.statistics.smallest)
        wrong = wave.problems(d, wave.displaced, xyz, medium(d, layer), reach)
        return (None, wrong) if wrong else (wave.displacement(d, xyz), [])
    labels = wave.recorded.labels
    if wave.about["degree"] != d.element.degree:
        words = f"it was recorded with elements of degree {wave.about['degree']}, this run has {d.element.degree}"
        return None, [Problem(f"{wave.key}.recorded", words, "use the same run.degree")]
    tree = cKDTree(np.stack([labels[a] for a in "xyz"], axis=1)[::3])
    distance, point = tree.query(xyz)
    spacing = np.cbrt(d.statistics.smallest) / d.element.degree**2
    if len(tree.data) != len(xyz) or distance.max() > SAME_POINT * spacing:
        x, y, z = xyz[distance.argmax()]
        words = f"the elements around the box are not those of the recording: it has no point at ({x:.6g}, {y:.6g}, {z:.6g}) m"
        remedy = "let the meshes of both runs agree around the box"
        return None, [Problem(f"{wave.key}.recorded", words, remedy)]
    wrong = recorded.medium_problems(wave, 3 * point, medium(d, layer), xyz)
    if wrong:
        return None, wrong
    places = (3 * point[:, None] + np.arange(3)).ravel()
    series, wrong = recorded.values_of(d, wave, places, np.ones(len(places), bool))
    return (None, wrong) if wrong else (np.asarray(series), [])


def side_of(d, wave, layer, xyz):
    """Return where anomalies touch the elements around a box: list of Problem."""
    z = d.coordinates(layer.elements)[:, 2].ravel()
    middle = np.repeat(d.centres[layer.elements][:, 2], d.element.size)
    numbers = wave.stack.layer(z + 1e-6 * (middle - z))
    counts = np.bincount(layer.local.ravel(), minlength=len(layer.points))
    without = {
        name: np.bincount(layer.local.ravel(), getattr(wave.stack, name)[numbers]) / counts
        for name in ("vp", "vs", "rho")
    }
    return side_problems(d, wave, medium(d, layer), without, xyz)


def forces(d, layer, moved):
    """Return the forces that stand for an incident field at the points of a layer, (steps, 3 m), N.

    Parameters
    ----------
    d : Medium
    layer : Layer
    moved : (steps, 3 m) array
        Displacements, m.
    """
    out = np.zeros(moved.shape)
    for number in range(len(layer.elements)):
        total = layer.total[number]
        block = coupling(d, layer.elements[number], total)
        columns = (3 * layer.local[number][:, None] + np.arange(3)).ravel()
        b, e = (columns[np.repeat(chosen, 3)] for chosen in (total, ~total))
        for first in range(0, len(moved), STEPS):
            steps = slice(first, first + STEPS)
            out[steps, e] += moved[steps][:, b].astype(float) @ block.T
            out[steps, b] -= moved[steps][:, e].astype(float) @ block
    return out


def coupling(d, number, total):
    """Return the stiffness of an element between its nodes of the scattered field (rows) and of
    the total field (columns), (3 ne, 3 nb), N/m.

    K[a i, b j] is the sum over nodes of weight x det J x d_r l_a C_irjs d_s l_b.

    Parameters
    ----------
    d : Medium
    number : int
    total : (n^3,) bool array
    """
    terms = mesh_terms.metric(d.element, d.shapes([number]))[0]
    inverse, measure = terms[:9].reshape(3, 3, -1), terms[9] * d.element.volume_weights
    slopes = np.einsum("srq,sqa->qra", inverse, reference_slopes(d.element))
    stress = np.einsum("irjsq,qsb->qribj", hooke(d, number), slopes[:, :, total])
    stress *= measure[:, None, None, None, None]
    rows = slopes[:, :, ~total].reshape(-1, (~total).sum())
    block = rows.T @ stress.reshape(len(rows), -1)
    return block.reshape(3 * (~total).sum(), -1)


def reference_slopes(element):
    """Return the derivatives of the nodes' polynomials at the nodes, (3, n^3, n^3): along which
    axis, where, of which node.
    """
    slope, unit = lagrange_slopes(element.points, element.points), np.eye(element.n)
    lines = [[slope if axis == s else unit for axis in (2, 1, 0)] for s in range(3)]
    return np.stack([np.kron(np.kron(*line[:2]), line[2]) for line in lines])


def hooke(d, number):
    """Return the stiffness tensor at the nodes of an element, (3, 3, 3, 3, n^3), Pa."""
    moduli = material.unrelaxed_moduli(d, d.material([number]), False)["moduli"][0]
    rows = np.zeros((6, 6, moduli.shape[1]))
    if len(moduli) == 2:
        lam, mu = moduli
        rows[:3, :3] = lam
        rows[range(3), range(3)] += 2 * mu
        rows[range(3, 6), range(3, 6)] = mu
    else:
        for (a, b), n in ROW.items():
            rows[a, b] = rows[b, a] = moduli[n]
    return rows[VOIGT[:, :, None, None], VOIGT[None, None]]


def warnings(d, scenario, incident, sources, receivers):
    """Return warnings of sources in the boxes of recordings and of receivers in the elements around
    a box: list of str.

    Parameters
    ----------
    d : Medium
    scenario : SpectralScenario
    incident : list of recorded.Incident
    sources : list of sources
    receivers : Receivers
    """
    sentences = []
    for spec in scenario.recording:
        if spec.sampling:
            sentences += shell.source_warning(shell_of(d, scenario, spec), sources)
    for key, layer in boxes_of(d, scenario, incident):
        if key.startswith("recording"):
            around = np.concatenate([layer.inside, layer.elements])
            names = [
                s.name for s in sources if np.isin(d.locate(s.points, False).element, around).any()
            ]
            words = f"in the box of {key}, or in the elements around it, so that it is no incident wave: "
        else:
            element = d.locate(receivers.xyz, False).element if len(receivers) else np.empty(0, int)
            names = [receivers.names[n] for n in np.flatnonzero(np.isin(element, layer.elements))]
            words = f"in the elements around the box of {key}, where records mix the total and the scattered field: "
        sentences += [words + first_of(names)] * bool(names)
    return sentences
