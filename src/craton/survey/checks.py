"""What is wrong, or looks wrong, with the sources, receivers and snapshots of a scenario, in words."""

from dataclasses import replace

import numpy as np

from craton.conventions import components, moment_to_magnitude, recorded_as
from craton.errors import Problem
from craton.io.units import SMALLEST
from craton.model.ground import terrain
from craton.survey import event, places, receivers, source_files, sources, wavelets
from craton.survey.places import FAR_AWAY, misplaced, outside
from craton.survey.sources import PointSource
from craton.text import first_of, number, rounded_up

NEAR = 1e-6  # of the elevation, and m: on the surface
SILENT = 1e-6  # of the largest component of a moment
LEAST_MOMENT = SMALLEST["moment"]
CUT = 1e-3  # of the peak: a wavelet that begins with more than this makes a visible jump
AREA = 0.01  # from 1: a moment rate then leaves another moment than the one stated
# m, by format: catalogues of earthquakes have depths of hundreds of metres at least
SHALLOW = {"quakeml": 30.0, "cmtsolution": 30.0}
DEEPEST = 800.0  # km, of earthquakes
STRESS_DROP = 3e6  # Pa
ASKED, REFUSED = 0.2, 0.05  # of the source's radius
KILOMETRES = ("cmtsolution",)  # formats with depths in km


def problems(scenario) -> list[Problem]:
    """Return the problems of the sources, receivers and snapshots that the scenario's own types cannot see: places,
    files, names, empty mechanisms; with keys ``source.0.at``, ``receivers.2.line`` and so on.
    """
    entries, wrong = receivers.collect(scenario)
    wrong += [p for i, group in entries for p in _misplaced(scenario, i, group.names, group.xyz)]
    return source_problems(scenario) + wrong + [Problem(*words) for words in _snapshot_problems(scenario)]


def source_problems(scenario) -> list[Problem]:
    """Return the problems of the sources among `problems`."""
    rows = [(i, *row) for i, entry in enumerate(scenario.source) for row in _source_problems(scenario, entry)]
    return [Problem(f"source.{i}.{key}".rstrip("."), *words) for i, key, *words in rows]


def warnings(scenario, built, start) -> list[str]:
    """Return sentences about what can be computed but is probably not meant, of the sources `built` by
    ``source_files.build_all`` in a run that begins at `start`, s.
    """
    texts = []
    for source in built:
        words = _source_warnings(source, start, scenario.time.duration)
        texts += [*source.warnings, *(f"{source.name}: {text}" for text in words)]
    for i, entry in enumerate(scenario.source):
        if asked := _suspicious_depth(scenario, entry):
            texts.append(f"source.{i}.file: {asked[0]}")
    end = scenario.time.duration
    for row in scenario.snapshots:
        if row.every > end * (1 + 1e-9):
            texts.append(f'snapshots "{row.name}": every {row.every:g} s, and the run ends at {end:g} s: none')
    return [*texts, *event.warnings(scenario)]


def _source_problems(scenario, entry):
    """Yield (key below the source, message, remedy)."""
    if entry.at is not None or entry.shots is not None:
        key = "at" if entry.shots is None else "shots"
        try:
            out = outside(scenario, sources.positions(scenario, entry))
        except ValueError as error:
            yield key, str(error), FAR_AWAY
            return
        if out:
            yield key, *out[1:]
        yield from _silent(scenario.domain.motion, entry)
        yield from _no_moment(entry)
        yield from _wavelet_problems(entry.wavelet)
    elif wrong := [*_wavelet_problems(getattr(entry, "wavelet", None))]:
        yield from wrong
    else:
        yield from (_plane_problems if entry.kind == "plane_wave" else _file_problems)(scenario, entry)


def _no_moment(entry):
    """Yield a moment tensor that is zero, or so small that its magnitude cannot be told."""
    moment, _ = sources.mechanism(entry)
    size = np.inf if moment is None else np.abs(moment).max()
    key = "tensor" if getattr(entry, "tensor", None) is not None else "moment"
    if size == 0:
        words = "all components of the moment tensor are zero"
        yield key, words, "give at least one, N m: tensor = { xy = 1e18 }"
    elif size < LEAST_MOMENT:
        words = f"the moment {size:.4g} N m is out of range: at least {LEAST_MOMENT:g} N m"
        yield key, words, "correct the number or its unit"


def _silent(motion, entry):
    """Yield a source that moves nothing of what is computed in the plane."""
    if motion is None:
        return
    across, direction, other = ([1], "along y", "P-SV") if motion == "SH" else ([0, 2], "in the (x, z) plane", "SH")
    moment, force = sources.mechanism(entry)
    if not np.any(force[across] if moment is None else moment[across][:, [0, 2]]):
        words = f"this source has no component {direction}, so it excites no {motion} waves"
        yield "", words, f'rotate it, or write domain.waves = "{other}"'


def _file_problems(scenario, entry):
    built, wrong = source_files.checked(entry, "", scenario)
    if wrong:
        yield wrong
        return
    if out := outside(scenario, np.concatenate([source.points for source in built])):
        yield "file", f"{entry.file}: {out[1]}", out[2] + _too_deep(scenario, entry)
        return
    words, impossible = _suspicious_depth(scenario, entry) or ("", False)
    if impossible:
        remedy = 'correct the depth; a source that is so shallow can be written as kind = "moment_tensor"'
        yield "file", f"{entry.file}: {words}", remedy


def _plane_problems(scenario, entry):
    domain, key = scenario.domain, "z" if entry.z is not None else "depth"
    plane = f"the plane z = {entry.height:.10g} m"
    if not domain.corner[2] <= entry.height < domain.top:
        text = f"{plane} is outside the domain, z from {domain.corner[2]:.10g} to {domain.top:.10g} m"
        yield key, text, "put the plane above an absorbing bottom"
    if domain.motion is not None and (entry.wave == "SH") != (domain.motion == "SH"):
        text = f'a plane {entry.wave} wave is not possible with waves = "{domain.motion}"'
        yield "wave", text, "choose another wave, or change domain.waves"
    lowest = places.lowest_ground(scenario)
    if entry.height >= lowest:
        text = f"{plane} cuts the topography, which goes down to {lowest:.10g} m"
        yield key, text, "put the plane below the lowest point of the topography"
    faces = {face: scenario.boundaries.face(face) for face in (("west",) if domain.planar else ("west", "south"))}
    for face, kind in [pair for pair in faces.items() if pair[1] != "periodic"][:1]:
        text = f'a plane wave needs periodic sides, but {face} is "{kind}"'
        yield "wave", text, 'write west = "periodic" in [boundaries], and the same for east, south and north'


def _wavelet_problems(spec):
    """Yield what is wrong with samples, or with a wavelet that is to be divided by its area."""
    if spec is None or not hasattr(spec, "normalize"):
        return
    file = getattr(spec, "file", None)
    key = f"wavelet.{'file' if file is not None else 'values'}"
    try:
        wavelets.build(spec)
    except OSError as error:
        remedy = "give the path of a text file, relative to the scenario"
        yield key, f"cannot read {file}: {error.strerror or error}", remedy
    except wavelets.NoArea as error:
        yield "wavelet.normalize", str(error), "leave normalize out; the peak of the wavelet counts"
    except ValueError as error:
        message = f"{file}: {error}" if file is not None else str(error)
        yield key, message, "the file needs two columns: time (s, increasing) and value"


def _misplaced(scenario, i, names, xyz):
    """Return the problem of the receivers of an entry that are outside: a list of one, or of none."""
    numbers, texts, remedy = misplaced(scenario, xyz)
    if not len(numbers):
        return []
    entry = scenario.receivers[i]
    if len(names) > 1:  # a fibre has one name and many corners
        texts = [f'"{names[n]}": {text}' for n, text in zip(numbers, texts)]
    if len(numbers) > len(texts):
        texts.append(f"and {len(numbers) - len(texts):,} more")
    if entry.where == "file":
        remedy += ', or write outside = "skip" beside file'
    return [Problem(f"receivers.{i}.{entry.where}", "; ".join(texts), remedy)]


def _snapshot_problems(scenario):
    """Yield snapshots of what is recorded at receivers only, or is not there in the plane, and planes of snapshots and
    of maps of peaks that do not cut the domain: (key, message, remedy).
    """
    domain = scenario.domain
    for n, spec in enumerate(scenario.snapshots):
        key, source = f"snapshots.{n}.quantity", recorded_as(spec.quantity)
        if source != spec.quantity:
            words = f'"{spec.quantity}" is available only at receivers, not in snapshots'
            yield key, words, f'use "{source}" here, or list it in output.waveforms'
        if components(spec.quantity, domain.motion) is None:
            yield key, f"{domain.motion} waves have no {spec.quantity}", 'use "velocity", or change domain.waves'
    for noun in ("snapshots", "peaks"):
        for n, spec in enumerate(getattr(scenario, noun, ())):
            if spec.plane is None or spec.plane.surface or domain.size is None:
                continue
            axis, at = spec.plane.axis, spec.plane.coordinate
            low, size = domain.corner["xyz".index(axis)], domain.extent["xyz".index(axis)]
            if not low - 1e-9 * size <= at <= low + size + 1e-9 * size:
                words = f"{axis} = {at:g} m is outside the domain, {low:g} to {low + size:g} m"
                yield f"{noun}.{n}.plane", words, "move the plane inside, or leave plane out for the whole volume"


def _source_warnings(source, start, duration):
    """Yield sentences without the name of the source: where its wavelet begins or ends with a jump, which excites all
    frequencies, or outside the run, and where the final moment is not the one that is stated.
    """
    wavelet = source.wavelet
    # as the scenario gives it: of a finite fault, and of a catalogue whose sources have Gaussians of their own, it does not
    stated = None if hasattr(source, "rates") else getattr(source, "shared", wavelet)
    cut = float(np.abs(wavelet(np.linspace(min(wavelet.start, start), start, 500))).max())
    if wavelet.start < start and cut > CUT * wavelet.peak:
        late = rounded_up(start - wavelet.start)
        yield (
            f"at the start of the run, {start:g} s, the wavelet has already reached {100 * cut / wavelet.peak:.3g} % of "
            f"its peak; start at {start - late:g} s (time.start), or delay the wavelet by {late:g} s more"
        )
    if stated is not None and stated.kind == "samples":
        inset = 1e-9 * (wavelet.end - wavelet.start)  # rounding may put its ends outside
        ends = np.abs(wavelet([wavelet.start + inset, wavelet.end - inset])) / wavelet.peak
        for value, which, way in zip(ends, ("first", "last"), ("rise from", "fall to")):
            if value > CUT:
                yield f"the {which} sample of its wavelet is {100 * value:.3g} % of the peak, a jump: add samples that {way} zero"
    for verb, time in (("starts", wavelet.start), ("ends", wavelet.end)):
        if time > duration or verb == "starts" and time == duration:
            yield f"its wavelet {verb} at {time:.3g} s, after the end of the run at {duration:g} s"
            break
    if source.moment is None:
        return
    if not wavelet.is_pulse:
        yield f"a {wavelet.kind} wavelet is a moment rate of zero mean with peak M0 / s: the final moment is zero"
    elif stated is not None and abs(stated.area - 1) > AREA:
        moment = sources.scalar_moment(source.moment) * abs(stated.area)
        yield (
            f"its wavelet, a moment rate, has an area of {stated.area:.4g} instead of 1, so that the final moment is "
            f"{moment:.4g} N m, not the one stated; write normalize = true in the wavelet to divide it by its area"
        )


# --- depths in files that look as if their unit were another ----------------------------------------------------------


def _suspicious_depth(scenario, entry):
    """Say which depth of a file's moments was probably meant in another unit: (message, whether it
    cannot be meant), or None.

    A depth that would fit into the domain in km is asked for where it is less than 30 m (of
    catalogues) or a fifth of the radius of a circular crack of its moment with a stress drop of
    3 MPa (Eshelby 1957); less than a twentieth cannot be meant.

    Parameters
    ----------
    scenario : Scenario
    entry : source of a scenario, from a file
    """
    held = source_files.file_points(entry)  # a rupture begins at the ground
    if not len(held):
        return None
    depth, moment = _columns(held)
    radius = np.cbrt(7 / 16 * moment / STRESS_DROP)
    fits = 1000 * depth <= _deepest(scenario)
    low = fits & ((depth < SHALLOW.get(entry.kind, 0.0)) | (depth < ASKED * radius)) | (depth < REFUSED * radius)
    low &= (depth > 0) & (depth < DEEPEST) & (moment > 0)
    if not low.any():
        return None
    n = int(np.where(low, depth / np.maximum(radius, 1e-300), np.inf).argmin())
    size = f"Mw {moment_to_magnitude(moment[n]):.1f}, some {number(float(f'{2 * radius[n]:.2g}'))} m wide"
    which = f"source {n + 1}, " if len(depth) > 1 else ""
    unit = "km" if entry.kind in KILOMETRES else "metres"
    words = (
        f"{which}a depth of {number(float(depth[n]))} m for a source of {size}: "
        f"depths of {entry.kind} files are in {unit}; did you mean {number(float(depth[n]))} km?"
    )
    return words, bool(depth[n] < REFUSED * radius[n])


def _too_deep(scenario, entry):
    """Return words on sources of a file below the domain that would fit if their depths were in m,
    not in km; "" where there are none.

    Parameters
    ----------
    scenario : Scenario
    entry : source of a scenario, from a file
    """
    if entry.kind not in KILOMETRES:
        return ""
    depth, deepest = _columns(source_files.file_points(entry))[0], _deepest(scenario)
    if not ((depth > deepest) & (depth <= 1000 * deepest)).any():
        return ""
    return f"; depths of {entry.kind} files are in km: did you mean m?"


def _columns(held):
    """Depths, m, and scalar moments, N m, of a file's sources, or of one of them; a force has none."""
    if isinstance(held, list):
        return tuple(np.array([_columns(point) for point in held], float).T)
    if held.moment is not None:
        return held.depth, sources.scalar_moment(held.moment)
    return held.depth, np.zeros(np.shape(held.depth)) if held.plane is None else np.asarray(held.plane)[..., 3]


def _deepest(scenario):
    """Return the depth of the domain's bottom, m; of a chunk that of the Earth's centre."""
    if places.globe_of(scenario) is not None:
        return 6.371e6
    return -float(scenario.domain.corner[2])


# --- what is silent on the free surface, where tractions vanish -----------------------------------------------------------


def warned_of_silence(scenario, sources, receivers, medium):
    """Return sources and receivers with a warning of those that move and record nothing because
    they are on the free surface.

    There the pressure of a fluid is zero, and in a solid, where the ground is flat, the stresses xz,
    yz and zz: of a moment only M_xx - r M_zz, M_yy - r M_zz and M_xy radiate, r = lambda / (lambda +
    2 mu).

    Parameters
    ----------
    scenario : Scenario
    sources : list of PointSource, Catalogue, FiniteFault or PlaneWave
    receivers : Receivers
    medium : callable
        vp, vs, density at positions (n, 3).
    """
    points = [isinstance(s, PointSource) and s.moment is not None for s in sources]
    xyz = np.array([s.xyz for s, counts in zip(sources, points) if counts]).reshape(-1, 3)
    numbers = np.flatnonzero(points)[_on_surface(scenario, xyz)]
    if len(numbers):
        vp, vs, _ = medium(np.array([sources[n].xyz for n in numbers]))
        sources = [*sources]
        for n, p, s in zip(numbers, vp, vs):
            if reason := _silence(scenario, sources[n].moment, p, s):
                words = f"{sources[n].name} is on the free surface, {reason}: it excites nothing; put it a cell deeper"
                sources[n] = replace(sources[n], warnings=(*sources[n].warnings, words))
    if "pressure" in scenario.output.waveforms:
        rows = np.flatnonzero(_on_surface(scenario, receivers.xyz))
        in_fluid = rows[medium(receivers.xyz[rows])[1] == 0] if len(rows) else rows
        if len(in_fluid):
            names = first_of([receivers.names[n] for n in in_fluid])
            words = f"receivers on the free surface of a fluid record no pressure, which is 0 there: {names}; put them a cell deeper"
            receivers = replace(receivers, warnings=(*receivers.warnings, words))
    return sources, receivers


def _on_surface(scenario, xyz):
    """Whether positions (n, 3) are on the free surface: (n,) booleans."""
    on_globe = places.globe_of(scenario) is not None
    free = on_globe or scenario.boundaries.face("top") == "free" or terrain.build(scenario.model) is not None
    if not free or not len(xyz):
        return np.zeros(len(xyz), bool)
    depth, ground = places.heights(scenario, xyz)
    # on a globe m, of 6371 km in double precision
    return np.abs(depth) <= (1e-3 if on_globe else NEAR * (1 + np.abs(ground)))


def _silence(scenario, moment, vp, vs):
    """Say why a moment on the free surface is silent; "" where it is not."""
    if vs == 0:
        return "where the pressure of a fluid is 0"
    if places.globe_of(scenario) is not None or terrain.build(scenario.model) is not None:
        return ""  # on a slope, other components are silent
    ratio = 1 - 2 * (vs / vp) ** 2
    xx, yy = moment[0, 0] - ratio * moment[2, 2], moment[1, 1] - ratio * moment[2, 2]
    radiates = {"P-SV": [xx], "SH": [moment[0, 1]]}.get(scenario.domain.motion, [xx, yy, moment[0, 1]])
    if np.abs(radiates).max() > SILENT * np.abs(moment).max():
        return ""
    return "where the shear tractions that it consists of are 0"
