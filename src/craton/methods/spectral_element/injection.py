"""Recordings on the sides of a box of elements, and their injection into another run on the same
elements there: the domain reduction method (Bielak, Loukakis, Hisada & Yoshimura 2003, BSSA 93,
817), exact for the discrete scheme.

Let b be the points of elements inside the box, e all others, K the stiffness of the elements outside
that share points with the box (the layer), u0 the incident displacement. The run computes u at b and
u - u0 at e; then the forces

    -K_be u0_e   at points b of the layer,      K_eb u0_b   at its points e

stand for the incident field, and the same of a fluid's potential. Mass and absorbing faces act at
single points: they add nothing. Nor does the coupling of fluid and solid, where the box has the
points of both sides or of none; where it has one of them only, the incident displacement and
pressure of these points are added.
"""

from dataclasses import replace

import numpy as np

from craton.errors import Problem
from craton.methods.spectral_element.box_forces import forces
from craton.methods.spectral_element.box_layer import INVERSE_Q, SPEEDS, Box, around_box, places_around
from craton.methods.spectral_element.incident_field import incident_values, mechanisms_of
from craton.methods.spectral_element.ranks import ELSEWHERE
from craton.methods.spectral_element.sites import VOIGT, at_sites, materials, numbers, sites, vector_index
from craton.methods.waves.coupling import recorded, shell
from craton.methods.waves.coupling.recorded import joined, numbered
from craton.methods.waves.tables import injection, table_of
from craton.text import first_of


def recorded_box(spec):
    """Return the `Box` of a recording of a scenario."""
    on_earth = spec.longitude is not None
    place = (spec.longitude, spec.latitude, spec.azimuth) if on_earth else None
    return Box(spec.from_, spec.to, place)


def injected_box(wave):
    """Return the `Box` of an incident wave, that of its recording where there is one."""
    recorded_with_elements = not (wave.wavelet or wave.resampled)
    return Box(*wave.corners, wave.about.get("place") if recorded_with_elements else None)


def boxes_of(d, scenario, incident):
    """Yield (key, `Surroundings`) of all recordings and injections.

    Parameters
    ----------
    d : Medium
    scenario : SpectralScenario
    incident : list of recorded.Incident
    """
    for n, spec in enumerate(scenario.recording):
        if not spec.sampling:
            yield f"recording.{n}", around_box(d, recorded_box(spec))
    for wave in incident:
        yield wave.key, around_box(d, injected_box(wave))


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
    if d.exact:
        words = 'there is no box yet with run.assembly = "colour"'
        return [Problem(key, words, 'use "fast" or float64')]
    wrong = earth_problems(d, scenario, incident)
    if wrong:
        return wrong
    for name, around in boxes_of(d, scenario, incident):
        wrong += box_problems(d, around, name)
    return wrong + recorded.clock_problems(d, incident)


def earth_problems(d, scenario, incident):
    """Return where boxes lie by longitude outside a chunk of the Earth, or without one inside: list
    of Problem.

    Parameters
    ----------
    d : Medium
    scenario : SpectralScenario
    incident : list of recorded.Incident
    """
    on_earth, wrong = d.globe is not None, []
    for n, spec in enumerate(scenario.recording):
        if not spec.sampling and (spec.longitude is not None) != on_earth:
            words = "there is no box by longitude outside a chunk of the Earth"
            remedy = "leave longitude and latitude out"
            if on_earth:
                words = "there is no box by x and y in a chunk of the Earth"
                remedy = "add longitude and latitude, from whose ground the corners count"
            wrong.append(Problem(f"recording.{n}", words, remedy))
    for wave in incident:
        recorded_with_elements = not (wave.wavelet or wave.resampled)
        if recorded_with_elements and (wave.about.get("place") is not None) != on_earth:
            runs = ("in a chunk of the Earth", "in a domain in metres")
            words = f"it was recorded {runs[on_earth]}, this run is {runs[not on_earth]}"
            remedy = "use the same domain around the box, or record it with sampling"
            wrong.append(Problem(f"{wave.key}.recorded", words, remedy))
        elif on_earth and not recorded_with_elements:
            words = "plane waves and waves at points are not injected yet in a chunk of the Earth"
            remedy = "record them with elements of a chunk, without sampling"
            wrong.append(Problem(wave.key, words, remedy))
    return wrong


def box_problems(d, around, key):
    """Return what stands against a box: list of Problem; all ranks must call."""

    def of_rank():
        """Elements in the box and in all, boundaries that the box reaches, layers beside it."""
        touched = [
            (name, d.face_kinds[name])
            for name, rows in d.mesh.faces.items()
            if d.face_kinds[name] != "free" and np.isin(np.asarray(rows)[:, 0], around.inside).any()
        ]
        absorbing = d.layers is not None and (d.layers.axes[around.elements] != 0).any()
        return len(around.inside), d.mesh.size, touched, bool(absorbing)

    inside, elements, touched, absorbing = zip(*d.subdomain.team.every(of_rank))
    if not any(inside) or sum(inside) == sum(elements):
        words = "no element" if not any(inside) else "every element"
        remedy = "give corners around some elements: those whose centres they hold are inside"
        return [Problem(key, f"{words} of the mesh is in the box", remedy)]
    if any(touched):
        name, kind = next(boundary for boundaries in touched for boundary in boundaries)
        words = f"the box reaches the boundary {name!r}, which is {kind}"
        return [Problem(key, words, "leave an element and more between them")]
    if any(absorbing):
        words = "the box is next to an absorbing layer"
        return [Problem(key, words, "leave an element and more between them")]
    return []


# --- out ------------------------------------------------------------------------------------------


def recordings(d, scenario, band):
    """Return the recordings of a scenario, their arrays and launches: list of Recording, dict, list;
    all ranks must call.

    Parameters
    ----------
    d : Discretisation
    scenario : SpectralScenario
    band : float
        Highest frequency of the run, Hz.
    """
    all_recordings, arrays, launches = [], {}, []
    for spec in scenario.recording:
        make = sampled_recording if spec.sampling else box_recording
        recording, more, sampling = make(d, scenario, spec, band)
        all_recordings.append(recording)
        arrays |= more
        launches += sampling
    return all_recordings, arrays, launches


def box_recording(d, scenario, spec, band):
    """Return the `Recording` of displacements around a box, and arrays and launches of this rank;
    all ranks must call.

    Parameters
    ----------
    d : Discretisation
    scenario : SpectralScenario
    spec : craton.tables.injection.Recording
    band : float
        Hz.
    """
    box, mechanisms = recorded_box(spec), mechanisms_of(d)
    parts = places_around(d, around_box(d, box)).values()
    about = {"method": "sem", "degree": d.element.degree}
    about |= {"from": list(box.low), "to": list(box.high), "mechanisms": mechanisms}
    about |= {"place": box.place and list(box.place)}
    labels = [labels_of(d, places) for places in parts]
    labels = {name: np.concatenate([of_part[name] for of_part in labels]) for name in labels[0]}
    source = np.concatenate([places.state[places.rows].ravel() for places in parts])
    ringed = recorded.ring(spec.name, source, labels, about, d, band)
    team = d.subdomain.team
    return joined(ringed, numbered(len(source), team), team)


def labels_of(d, places):
    """Return what and where each value is that this rank records: dict of arrays; no medium where
    it is not compared.

    Parameters
    ----------
    d : Medium
    places : box_layer.Places
    """
    rows, count = places.rows, len(places.fields)
    values = dict(zip("xyz", places.xyz.T)) | places.medium | places.inverse_q
    unknown = np.full(len(places.xyz), np.nan)
    names = (*"xyz", *SPEEDS, *(INVERSE_Q if d.relaxation is not None else ()))
    labels = {name: np.repeat(values.get(name, unknown)[rows], count) for name in names}
    return {"field": np.tile(places.fields, len(rows))} | labels


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
    """Return the `Recording` of a shell of points, and arrays and launches of this rank; all ranks
    must call.

    Parameters
    ----------
    d : Discretisation
    scenario : SpectralScenario
    spec : craton.tables.injection.Recording
    band : float
        Hz.
    """
    from scipy.sparse import csr_array

    whole = shell_of(d, scenario, spec)
    located = d.locate(whole.xyz, False)
    rows = np.flatnonzero(located.element != ELSEWHERE)
    around = replace(whole, local=whole.local[rows], xyz=whole.xyz[rows])
    places = sites(d, located.some(rows))
    samples = materials(d, places.element)
    law, number = stiffness(places, samples), numbers(d, places.element)
    index, weight = [], []
    for axis in range(3):
        index.append(d.offset("velocity") + axis + 3 * number)
        weight.append(places.values)
    for a, b in shell.PAIRS:
        moduli = law[:, VOIGT[a, b]][:, VOIGT]
        index.append(vector_index(d, "displacement", number))
        weight.append(np.einsum("ncd,ndm->ncm", moduli, places.slopes).reshape(len(number), -1))
    counts = np.concatenate([np.full(len(number), part.shape[1]) for part in index])
    columns, values = (np.concatenate([p.ravel() for p in parts]) for parts in (index, weight))
    shape = len(counts), int(columns.max(initial=0)) + 1
    weights = csr_array((values, columns, np.append(0, np.cumsum(counts))), shape=shape)
    media = {name: at_sites(places, samples[name]) for name in SPEEDS}
    names = (*shell.VELOCITY, *shell.STRESS)
    ringed = shell.ring(around, names, weights, media, {"method": "sem"}, d, band)
    fields = np.arange(len(names))[:, None]
    return joined(ringed, (fields * len(whole.xyz) + rows).ravel(), d.subdomain.team)


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
    """Return what stands against a recording at points: list of Problem; all ranks must call."""
    on_earth = spec.longitude is not None
    refused = [
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
    outside = (located < 0) & (located != ELSEWHERE)
    words = "outside the mesh, in absorbing layers or in fluid"
    refused_elements = d.fluid.copy()
    if d.layers is not None:
        refused_elements |= d.layers.axes != 0
    outside |= (located >= 0) & refused_elements[np.maximum(located, 0)]
    outside = np.any(d.subdomain.team.every(lambda: outside), axis=0)
    return shell.outside_problems(key, outside, xyz, words)


# --- in -------------------------------------------------------------------------------------------


def injections(d, incident):
    """Return arrays, and launches that add the forces of recordings, and the largest velocity of
    these on all ranks, m/s; all ranks must call.

    A rank adds the forces of its own elements; ranks exchange those of points that they share as
    any other forces.

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
        around = around_box(d, injected_box(wave))
        parts = places_around(d, around)
        moved = recorded.checked(*incident_values(d, wave, around, parts))
        target = np.concatenate([places.forces.ravel() for places in parts.values()])
        if not len(target):
            continue
        peak = max(peak, largest_velocity(d, moved))
        table = table_of(target, np.ones(len(target)), np.arange(len(target)))
        series = np.concatenate(list(forces(d, around, moved).values()), axis=1)
        more, launch = injection(f"injection{n}", table, series, d.precision, "forces")
        arrays |= more
        launches.append(d.units.launch(launch, False))
    return arrays, launches, max(d.subdomain.team.every(lambda: peak))


def largest_velocity(d, moved):
    """Return the largest velocity of incident waves, m/s; in a fluid that which belongs to the
    largest pressure by the largest speed and the smallest density, see `build.divergence_guard`.

    Parameters
    ----------
    d : Discretisation
    moved : dict of str to (steps, n) array
        See `box_forces.forces`.
    """
    none, speeds = np.empty((d.steps, 0)), d.statistics.speeds
    pressure = recorded.peak_of(np.diff(moved.get("fluid", none).astype(float), 2, axis=0))
    velocity = recorded.peak_of(np.diff(moved.get("solid", none), axis=0)) / d.dt
    return max(velocity, pressure / d.dt**2 / (speeds["rho"][0] * speeds["vp"][1]))


def warnings(d, scenario, incident, sources, receivers):
    """Return warnings of sources in the boxes of recordings and of receivers in the elements around
    a box: list of str; all ranks must call.

    Parameters
    ----------
    d : Medium
    scenario : SpectralScenario
    incident : list of recorded.Incident
    sources : list of sources
    receivers : Receivers
    """
    sentences = recorded.layer_warnings(d, incident, "boundaries.pml")
    for spec in scenario.recording:
        if spec.sampling:
            sentences += shell.source_warning(shell_of(d, scenario, spec), sources)
    for key, around in boxes_of(d, scenario, incident):
        if key.startswith("recording"):
            elements = np.concatenate([around.inside, around.elements])
            places = [(s.name, s.points) for s in sources]
            words = f"in the box of {key}, or in the elements around it, so that it is no incident wave: "
        else:
            elements, places = around.elements, list(zip(receivers.names, receivers.xyz[:, None]))
            words = f"in the elements around the box of {key}, where records mix the total and the scattered field: "
        names = names_in(d, elements, places)
        sentences += [words + first_of(names)] * bool(names)
    return sentences


def names_in(d, elements, places):
    """Return the names of those with a position in elements of any rank: list of str; all ranks
    must call.

    Parameters
    ----------
    d : Medium
    elements : (n,) int array
        Of this rank.
    places : list of (str, (m, 3) array)
        Names and positions, m.
    """
    if not places:
        return []
    numbers = np.repeat(np.arange(len(places)), [len(xyz) for _, xyz in places])
    located = d.locate(np.concatenate([xyz for _, xyz in places]), False).element
    of_ranks = d.subdomain.team.every(lambda: numbers[np.isin(located, elements)])
    return [places[n][0] for n in np.unique(np.concatenate(of_ranks))]
