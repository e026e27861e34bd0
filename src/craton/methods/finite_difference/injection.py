"""Recordings on the sides of a box of the staggered grid, and their injection into another run on
the same points of space: which values, what they add, and what does not fit.
"""

from dataclasses import replace

import numpy as np

from craton.errors import Problem
from craton.methods.finite_difference.crossing import Box, crossings
from craton.methods.finite_difference.equations import contact, relaxing, vti
from craton.methods.finite_difference.equations.boundaries import inside_layer
from craton.methods.finite_difference.equations.scheme import HALF
from craton.methods.finite_difference.points import at_surface, spread
from craton.methods.waves.coupling import recorded, shell
from craton.methods.waves.coupling.oblique import side_problems
from craton.methods.waves.interpolate import NODES
from craton.methods.waves.tables import Changed, injection, stacked, table_of
from craton.tables.fields import spatial
from craton.text import first_of

MARGIN = NODES // 2  # points beside a position that its weights reach
ON_POINT = 1e-3  # of half a spacing: positions that are the same
PHASES = {  # where in a step, and to which array, crossings are added
    "velocity": ("velocity_before", "state"),
    "stress": ("stress_last", "state"),
    "memory": ("stress_last", "memory"),
}
SAME_FIT = 1e-9  # relative, of the lowest Q
FAR = 1 << 19  # half spacings; places are told apart by three such numbers


def box_of(d, low, high):
    """Return the `Box` of the grid points nearest to two corners, m."""
    corners = [np.rint((np.array(spatial(c)) - d.grid.origin) / d.grid.steps).astype(int) for c in (low, high)]
    if d.planar:
        for corner in corners:
            corner[1] = 0
    open_top = d.face("top") == "free" and corners[1][2] >= d.grid.shape[0] - 1
    return Box(*(tuple(map(int, c)) for c in corners), bool(open_top), d.planar)


def box_problems(d, box, key):
    """Return what stands against a box: list of Problem.

    Parameters
    ----------
    d : Discretisation
    box : Box
    key : str
        Of the scenario.
    """
    refused = [(d.cells is not None, "the medium is that of an inversion", "leave it out")]
    problems = [Problem(key, f"there is no box yet where {words}", remedy) for holds, words, remedy in refused if holds]
    for axis in box.axes:
        first, last = reachable(d, axis)
        shallowest = below_surface(d) if axis == 2 and box.open_top else last
        if box.high[axis] - box.low[axis] < 2:
            words = f"the box is less than two points wide along {'xyz'[axis]}"
            problems.append(Problem(key, words, "make it larger, or the spacing smaller"))
        elif box.low[axis] < first or (box.high[axis] > last and not (axis == 2 and box.open_top)):
            low, high = (d.grid.origin[axis] + d.grid.steps[axis] * n for n in (first, last))
            words = f"the box is too close to a boundary along {'xyz'[axis]}"
            remedy = f"keep it between {low:,.6g} and {high:,.6g} m"
            top = " , or end it at the free surface" if axis == 2 and d.face("top") == "free" else ""
            problems.append(Problem(key, words, remedy + top.replace(" ,", ",")))
        elif box.low[axis] > shallowest:
            limit = d.grid.origin[2] + d.grid.steps[2] * shallowest
            words = "the lower side of the box lies among the differences below the free surface"
            problems.append(Problem(key, words, f"let it reach down to {limit:,.6g} m or deeper"))
    return problems


def below_surface(d):
    """Return the highest integer point along z of a side through which no difference of the planes
    below a free surface reaches.
    """
    reach = len(d.stencil.axes[2])
    return d.grid.shape[0] - (d.surface_planes + reach - 1 if d.free else 0)


def reachable(d, axis):
    """First and last integer point along an axis through which a side may pass: differences through
    it reach no layer, and no planes of a free surface.
    """
    count, reach = d.grid.shape[2 - axis], max(map(len, d.stencil.axes)) + 1
    points = np.zeros((count, 3))
    points[:] = [np.mean(d.grid.bounds(a)) for a in "xyz"]
    points[:, axis] = d.grid.axis("xyz"[axis])
    plain = ~inside_layer(d, points)
    if axis == 2:
        plain[count - d.surface_planes :] = False
    inside = np.flatnonzero(plain)
    return int(inside[0]) + reach, int(inside[-1]) - reach


def recordings(d, specs, band):
    """Return the recordings of a scenario, their arrays and launches: list of Recording, dict, list.

    Parameters
    ----------
    d : Discretisation
    band : float
        Highest frequency of the run, Hz.
    """
    all_recordings, arrays, launches = [], {}, []
    for spec in specs:
        if spec.sampling:
            recording, more, launch = sampled_recording(d, spec, band)
            all_recordings.append(recording)
            arrays |= more
            launches.append(launch)
            continue
        box = box_of(d, spec.from_, spec.to)
        sources = np.unique(np.concatenate([c.source for c in crossings(d, box).values()]))
        about = {
            "method": "fd",
            "spacing": float(d.grid.spacing),
            "vertical": float(d.grid.steps[2]),
            "low": list(box.low),
            "high": list(box.high),
            "origin": [float(v) for v in d.grid.origin],
            "open_top": box.open_top,
            "differences": differences(d),
            **attenuation(d),
        }
        recording, more, launch = recorded.ring(spec.name, sources, labels(d, sources), about, d, band)
        all_recordings.append(recording)
        arrays |= more
        launches.append(launch)
    return all_recordings, arrays, launches


def shell_of(d, spec):
    """Return the `Shell` of a recording at points."""
    top = d.grid.bounds("z")[1] if d.face("top") == "free" else np.inf
    return shell.shell_of(spec, top)


def sampled_recording(d, spec, band):
    """Return the `Recording` of a shell of points, its arrays and launch.

    Parameters
    ----------
    d : Discretisation
    spec : craton.tables.injection.Recording
    band : float
        Hz.
    """
    from scipy.sparse import csr_array

    around = shell_of(d, spec)
    names = [name for name in (*shell.VELOCITY, *shell.STRESS, shell.IN_FLUID) if name in d.fields]
    positions = np.round((around.xyz - d.grid.origin) / d.grid.steps, 6)
    if d.planar:
        positions[:, 1] = 0
    parts, count = [], len(positions)
    at_top = positions[:, 2] > d.grid.shape[0] - 1 - ON_POINT
    for n, name in enumerate(names):
        numbers, chosen = n * count + np.arange(count), np.ones(count, bool)
        if name == "vz" and d.free:
            parts += [Changed(part, names=numbers[at_top]) for _, part in at_surface(d, positions[at_top])]
            chosen = ~at_top
        elif d.free and (name == shell.IN_FLUID or (name[0] == "s" and "z" in name)):
            chosen = ~at_top  # no traction on the free surface
        parts.append(spread(d, name, positions[chosen], numbers[chosen]))
    first, index, weight = stacked(len(names) * count, parts, d.precision)
    size = int(index.max()) + 1
    rows = csr_array((weight, index, first), shape=(len(names) * count, size))
    cells = tuple(np.rint(positions[:, axis]).astype(int) for axis in (2, 1, 0))
    about = {"method": "fd", **attenuation(d)}
    return shell.ring(around, names, rows, with_quality(medium(d, cells)), about, d, band)


def sampled_problems(d, spec, key):
    """Return what stands against a recording at points: list of Problem."""
    refused = [
        (d.ground is not None, "where the medium has topography", "record without sampling"),
        (d.partly_fluid, "where the model has fluid parts", "leave the fluid out"),
        (spec.longitude is not None, "by longitude outside a chunk", "write origin, m"),
    ]
    wrong = [
        Problem(key, f"there is no recording at points yet {words}", remedy)
        for holds, words, remedy in refused
        if holds
    ]
    if wrong:
        return wrong
    xyz = shell_of(d, spec).xyz
    bounds = np.array([d.grid.bounds(axis) for axis in "xyz"])
    beyond = (xyz < bounds[:, 0] - ON_POINT) | (xyz > bounds[:, 1] + ON_POINT)
    outside = beyond[:, [0, 2] if d.planar else [0, 1, 2]].any(axis=1)
    outside |= inside_layer(d, xyz)
    return shell.outside_problems(key, outside, xyz, "outside the domain or in absorbing layers")


def differences(d):
    """Differences of a run, in words that two runs can compare."""
    surface = f", boundaries.surface {d.boundaries.surface}" if d.free else ""
    return f"run.order {d.order}, weights {d.weights}{surface}"


def attenuation(d):
    """Return what a recording says of the attenuation of its run: dict."""
    about = {"attenuation": relaxing.words(d)}
    return about | ({"lowest_q": 1 / d.relaxation.largest} if d.relaxing else {})


def labels(d, index):
    """Field, position and medium of places of the state: dict of arrays."""
    fields, xyz, points = where(d, index)
    names, of_contacts = np.array(d.fields)[fields], {}
    if d.partly_fluid:
        of_contacts = {"contact": contacts(d, points)}
    return {"field": names, **dict(zip("xyz", xyz.T)), **medium(d, points), **of_contacts}


def where(d, index):
    """Numbers of the fields, positions (n, 3), m, and points (k, j, i) of places of the state."""
    fields = (index + d.layout.first) // d.layout.field
    points = d.layout.place(index)
    half = np.array([HALF[name] for name in d.fields])[fields] / 2
    xyz = d.grid.origin + d.grid.steps * (np.stack(points[::-1], axis=1) + half)
    if d.planar:
        xyz[:, 1] = 0.0
    return fields, xyz, points


def medium(d, at):
    """vp, vs, m/s, and rho, kg/m3, that the model gives for the cells at points (k, j, i), with
    attenuation Qp and Qs, 0 where there is none: dict of arrays.
    """
    names = ("vp", "vs", "rho", *(("qp", "qs") if d.relaxing else ()))
    out = np.zeros((len(names), len(at[0])))
    cells = d.cell(at)
    for k in np.unique(cells[0]):
        on = cells[0] == k
        box = [v for a in cells for v in (int(a[on].min()), int(a[on].max()) + 1)]
        part = d.grid.window(box)
        here = tuple(a[on] - low for a, low in zip(cells, box[::2]))
        rho, kappa, mu = (v[here] for v in (vti if d.anisotropic else relaxing).reference_medium(d, part))
        with np.errstate(divide="ignore", invalid="ignore"):
            speeds = np.sqrt((kappa + 4 / 3 * mu) / rho), np.sqrt(mu / rho)
            inverse_q = relaxing.inverse_q(d, part) if d.relaxing else ()
            quality = [np.where(v[here] > 0, 1 / v[here], 0) for v in inverse_q]
        out[:, on] = (*np.nan_to_num(speeds), rho, *quality)
    return dict(zip(names, out))


def with_quality(medium):
    """Return the medium of some places with Qp and Qs, 0 where there is no attenuation: dict."""
    return {name: np.zeros(len(medium["vp"])) for name in ("qp", "qs")} | medium


def contacts(d, at):
    """Numbers that stand for the differences that end at contacts of fluid and solid (contact.py)
    at points (k, j, i); nan where none does: (n,) array.
    """
    closed, out = contact.closures(d), np.full(len(at[0]), np.nan)
    if closed is None:
        return out
    (k0, k1, j0, j1, i0, i1), at = closed.box, d.cell(at)
    limits = zip(at, (k0, j0, i0), (k1, j1, i1))
    in_box = np.logical_and.reduce([(n >= low) & (n < high) for n, low, high in limits])
    k, j, i = (n[in_box] for n in at)
    situations = closed.situations.at(k - k0, j - j0, i - i0)
    different, which = np.unique(situations, return_inverse=True)
    patterns = closed.patterns[closed.rows[different]]
    _, columns, width = patterns.shape
    any_weights = np.cos(100.0 * np.arange(columns)[:, None] + np.arange(width) - width // 2)
    numbers = (patterns * any_weights).sum((1, 2))  # of no two situations the same
    out[in_box] = np.where(different > 0, numbers, np.nan)[which]
    return out


def problems(d, specs, incident):
    """Return what is wrong with boxes of recordings and with injections: list of Problem.

    Parameters
    ----------
    d : Discretisation
    incident : list of recorded.Incident
    """
    wrong = []
    for n, spec in enumerate(specs):
        key = f"recording.{n}"
        if spec.sampling:
            wrong += sampled_problems(d, spec, key)
        elif spec.longitude is not None:
            words = "there is no box by longitude outside a chunk of the Earth"
            wrong.append(Problem(key, words, "leave longitude and latitude out"))
        else:
            wrong += box_problems(d, box_of(d, spec.from_, spec.to), key)
    wrong += recorded.clock_problems(d, incident)
    for wave in incident:
        box, reason = box_here(d, wave)
        wrong += reason or box_problems(d, box, wave.key)
    return wrong


def box_here(d, wave):
    """Return the `Box` of an incident wave in the points of this grid, and list of Problem."""
    if wave.wavelet or wave.resampled:
        return box_of(d, *wave.corners), []
    about = wave.about
    theirs = (about["spacing"], about.get("vertical", about["spacing"]))
    for along, recorded_step, step in zip(("", " along z"), theirs, d.grid.steps[1:]):
        if abs(recorded_step - step) > 1e-9 * step:
            words = f"it was recorded with a spacing of {recorded_step:.9g} m{along}, the grid has {step:.9g} m"
            remedy = "use the same spacing in both runs"
            if along:
                remedy = "write the same domain.vertical_spacing in both runs"
            return None, [Problem(f"{wave.key}.recorded", words, remedy)]
    offset = (np.array(about["origin"]) - d.grid.origin) / d.grid.steps
    if d.planar:
        offset[1] = 0.0
    if np.abs(offset - np.rint(offset)).max() > ON_POINT:
        words = "its points do not lie on points of this grid"
        remedy = "move domain.origin by a part of the spacing"
        return None, [Problem(f"{wave.key}.recorded", words, remedy)]
    low, high = (np.array(about[name]) + np.rint(offset).astype(int) for name in ("low", "high"))
    box = Box(tuple(map(int, low)), tuple(map(int, high)), about["open_top"], d.planar)
    if box.open_top and (d.face("top") != "free" or box.high[2] != d.grid.shape[0] - 1):
        words = "the box is open at a free surface at its top, which this run does not have there"
        remedy = 'give both runs boundaries.top = "free" at the same elevation'
        return None, [Problem(f"{wave.key}.recorded", words, remedy)]
    if about["differences"] != differences(d):
        words = f"it was recorded with {about['differences']}; this run has {differences(d)}"
        return None, [Problem(f"{wave.key}.recorded", words, "use the same differences in both runs")]
    return box, attenuation_problems(d, wave, np.rint(offset).astype(int))


def attenuation_problems(d, wave, offset):
    """Return where the mechanisms of attenuation are not those of a recording: list of Problem.

    Parameters
    ----------
    d : Discretisation
    wave : recorded.Incident
    offset : (3,) int array
        From the first point of this grid to that of the recording's, in points.
    """
    about, key = wave.about, f"{wave.key}.recorded"
    recorded_lowest, lowest = about.get("lowest_q"), attenuation(d).get("lowest_q")
    if recorded_lowest and lowest and abs(lowest - recorded_lowest) > SAME_FIT * lowest:
        words = f"its mechanisms were fitted down to Q = {recorded_lowest:.9g}, those of this run down to {lowest:.9g}"
        remedy = f"write attenuation.lowest_q = {recorded_lowest:.9g}"
        if lowest < recorded_lowest:
            remedy = f"record it anew with attenuation.lowest_q = {lowest:.9g}"
        return [Problem(key, words, remedy)]
    recorded_words = about.get("attenuation", relaxing.NONE)
    if recorded_words != relaxing.words(d):
        words = f"it was recorded with {recorded_words}; this run has {relaxing.words(d)}"
        return [Problem(key, words, "use the same model.attenuation in both runs")]
    odd = [axis for axis, n in zip("xyz", offset) if n % 2]
    if odd and d.relaxing and not relaxing.Mechanisms(d).alike:
        words = (
            f"the grids are an odd number of points apart along {', '.join(odd)}, and next points "
            f'have other mechanisms where attenuation.storage is "{d.relaxation.storage}"'
        )
        remedy = f"move domain.origin by {d.grid.spacing:g} m along {', '.join(odd)}"
        return [Problem(key, words, f'{remedy}, or write storage = "full" in both runs')]
    return []


def warnings(d, specs, incident, sources, receivers):
    """Return warnings of sources in the boxes of recordings, and of receivers that take points on
    both sides of a box: list of str.

    Parameters
    ----------
    d : Discretisation
    incident : list of recorded.Incident
    sources : list of sources
    receivers : Receivers
    """
    sentences = recorded.layer_warnings(d, incident, "boundaries.cpml")
    for spec in specs:
        if spec.sampling:
            sentences += shell.source_warning(shell_of(d, spec), sources)
            continue
        box = box_of(d, spec.from_, spec.to)
        names = [s.name for s in sources if np.any(beside(d, box, s.points)[0])]
        words = f'in the box of the recording "{spec.name}", or less than {MARGIN} points from it, so that it is no incident wave: '
        sentences += [words + first_of(names)] * bool(names)
    for wave in incident:
        around, deep = beside(d, box_here(d, wave)[0], receivers.xyz)
        names = [receivers.names[n] for n in np.flatnonzero(around & ~deep)]
        words = f"less than {MARGIN} points from a side of an injection's box, where records mix the total and the scattered field: "
        sentences += [words + first_of(names)] * bool(names)
    return sentences


def beside(d, box, xyz):
    """Return which positions (n, 3), m, are in a box or so near that their weights reach into it,
    and which are so deep inside that they do not reach out of it: (n,) bool arrays.
    """
    n = (np.asarray(xyz, float).reshape(-1, 3) - d.grid.origin) / d.grid.steps
    around, deep = np.ones((2, len(n)), bool)
    for axis in box.axes:
        low, high = box.low[axis], np.inf if axis == 2 and box.open_top else box.high[axis]
        around &= (n[:, axis] > low - MARGIN) & (n[:, axis] < high + MARGIN)
        deep &= (n[:, axis] >= low + MARGIN) & (n[:, axis] <= high - MARGIN)
    return around, deep


def injections(d, incident):
    """Return arrays, and launches by phase, that inject recordings, and the largest velocity of
    them, m/s.

    Parameters
    ----------
    d : Discretisation
    incident : list of recorded.Incident

    Raises
    ------
    ScenarioError
        A recording has not the places that are needed, or another medium, or is not complete.
    """
    arrays, launches, peak = {}, {}, 0.0
    for n, wave in enumerate(incident):
        parts = crossings(d, box_here(d, wave)[0])
        sources = np.unique(np.concatenate([c.source for c in parts.values()]))
        series = recorded.checked(*series_of(d, wave, sources))
        fields = where(d, sources)[0]
        moving = np.isin(fields, [d.fields.index(name) for name in d.velocity])
        peak = max(peak, recorded.peak_of(series, moving))
        for step, crossing in parts.items():
            table = table_of(crossing.target, crossing.weight, np.searchsorted(sources, crossing.source))
            name = f"injection{n}_{step}"
            phase, into = PHASES[step]
            more, launch = injection(name, table, series, d.precision, into)
            shared = recorded.series_name(n)
            more[shared] = more.pop(f"{name}_series")
            names = tuple(shared if a == f"{name}_series" else a for a in launch.arrays)
            arrays |= more
            launches.setdefault(phase, []).append(replace(launch, arrays=names, places=d.layout.place(table[0])))
    return arrays, launches, peak


def series_of(d, wave, sources):
    """Return the values at every step of places of the state, (steps, n), and list of Problem.

    The velocity step takes the stress that the step before has left.
    """
    fields, xyz, points = where(d, sources)
    beside_contact = contacts(d, points)
    if wave.wavelet or wave.resampled:
        wrong = fluid_problems(wave, medium(d, points)["vs"], beside_contact, xyz)
        if wrong:
            return None, wrong
    if wave.wavelet:
        layers = replace(d, model=d.model.model_copy(update={"anomalies": ()}), memo={})
        wrong = side_problems(d, wave, medium(d, points), medium(layers, points), xyz)
        return (None, wrong) if wrong else (wave.series(d, np.array(d.fields)[fields], xyz), [])
    if wave.resampled:
        names = np.array(d.fields)[fields]
        around = with_quality(medium(d, points))
        wrong = wave.problems(d, names, xyz, around, d.grid.spacing)
        return (None, wrong) if wrong else (wave.series(d, names, xyz), [])
    places, missing = places_of(d, wave, fields, xyz)
    if missing is not None:
        x, y, z = missing
        words = f"it has no {d.fields[fields[places < 0][0]]} at ({x:.6g}, {y:.6g}, {z:.6g}) m"
        remedy = "record it anew with [[recording]]"
        return None, [Problem(f"{wave.key}.recorded", words, remedy)]
    around = medium(d, points)
    if d.partly_fluid or "contact" in wave.recorded.labels:
        around["contact"] = beside_contact
    wrong = recorded.medium_problems(wave, places, around, xyz)
    if wrong:
        return None, wrong
    late = np.isin(fields, [d.fields.index(name) for name in d.stress])
    return recorded.values_of(d, wave, places, late)


def fluid_problems(wave, vs, contact_numbers, xyz):
    """Return where the sides of a box of waves that are not recorded on this grid cross fluid and
    solid: list of Problem.

    Parameters
    ----------
    wave : PlaneIncident or SampledIncident
    vs, contact_numbers : (n,) arrays
        m/s, and `contacts`, at places around the box.
    xyz : (n, 3) array
        m.
    """
    beside_fluid = np.isfinite(contact_numbers) | ((vs == 0) if (vs > 0).any() else False)
    if not beside_fluid.any():
        return []
    x, y, z = xyz[np.flatnonzero(beside_fluid)[0]]
    words = f"fluid and solid meet at the sides of the box, near ({x:.6g}, {y:.6g}, {z:.6g}) m"
    remedy = "keep the fluid inside the box, or record the waves on this grid, without sampling"
    return [Problem(wave.key, words, remedy)]


def places_of(d, wave, fields, xyz):
    """Return the places in a recording of fields at positions, -1 where there is none, and the
    first position without one.
    """
    recorded_labels = wave.recorded.labels
    numbers = {name: n for n, name in enumerate(d.fields)}
    label_fields = np.array([numbers.get(str(name), -1) for name in recorded_labels["field"]])
    keys = [
        key_of(d, *pair)
        for pair in ((label_fields, np.stack([recorded_labels[a] for a in "xyz"], axis=1)), (fields, xyz))
    ]
    order = np.argsort(keys[0])
    nearest = np.minimum(np.searchsorted(keys[0][order], keys[1]), len(order) - 1)
    places = np.where(keys[0][order][nearest] == keys[1], order[nearest], -1)
    absent = np.flatnonzero(places < 0)
    return places, xyz[absent[0]] if len(absent) else None


def key_of(d, fields, xyz):
    """Return numbers that tell fields at positions apart, on this grid."""
    n = np.rint(2 * (xyz - d.grid.origin) / d.grid.steps).astype(np.int64)
    if d.planar:
        n[:, 1] = 0
    return ((fields * FAR + n[:, 0]) * FAR + n[:, 1]) * FAR + n[:, 2]
