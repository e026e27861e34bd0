"""What is wrong, or looks wrong, with the sources and receivers of a scenario, in words."""

import numpy as np

from craton.errors import Problem
from craton.survey import depths, event, places, receivers, source_files, sources, wavelets
from craton.survey.refusals import FAR_AWAY, misplaced, outside
from craton.text import rounded_up
from craton.units import SMALLEST

LEAST_MOMENT = SMALLEST["moment"]
CUT = 1e-3  # of the peak: a wavelet that begins with more than this makes a visible jump
AREA = 0.01  # from 1: a moment rate then leaves another moment than the one stated


def problems(scenario):
    """Problems of the sources and receivers that the scenario's own types cannot see: places,
    files, names, empty mechanisms.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    list of Problem
        With keys ``source.0.at``, ``receivers.2.line`` and so on; empty where all is well.
    """
    return source_problems(scenario) + _receiver_problems(scenario)


def source_problems(scenario):
    """Problems of the sources among `problems`.

    Parameters
    ----------
    scenario : Scenario
    """
    return [p for i, entry in enumerate(scenario.source) for p in _source_problems(scenario, i, entry)]


def warnings(scenario, built, start):
    """Sentences about what can be computed but is probably not meant.

    Parameters
    ----------
    scenario : Scenario
    built : list of PointSource
        From ``source_files.build_all``.
    start : float
        When the run begins, s (``sources.start_time``).
    """
    duration = scenario.time.duration
    texts = [text for source in built for text in _source_warnings(source, start, duration)]
    for i, entry in enumerate(scenario.source):
        if hasattr(entry, "file") and (asked := depths.suspicion(scenario, entry)):
            texts.append(f"source.{i}.file: {asked[0]}")
    return [*texts, *event.warnings(scenario)]


def _source_problems(scenario, i, entry):
    if entry.at is None and entry.shots is None:
        return _other_problems(scenario, i, entry)
    problems, key = [], f"source.{i}.{'at' if entry.shots is None else 'shots'}"
    try:
        out = outside(scenario, sources.positions(scenario, entry))
    except ValueError as error:
        return [Problem(key, str(error), FAR_AWAY)]
    if out:
        problems.append(Problem(key, *out[1:]))
    problems += _silent(scenario, i, entry)
    if entry.kind != "force":
        problems += _no_moment(i, entry)
    return problems + _wavelet_problems(i, entry.wavelet)


def _no_moment(i, entry):
    """Return a moment tensor that is zero, or so small that its magnitude cannot be told."""
    size = np.abs(sources.moment_tensor(entry)).max()
    if size >= LEAST_MOMENT:
        return []
    key = "tensor" if getattr(entry, "tensor", None) is not None else "moment"
    if size == 0:
        words = "all components of the moment tensor are zero"
        return [Problem(f"source.{i}.{key}", words, "give at least one, N m: tensor = { xy = 1e18 }")]
    words = f"the moment {size:.4g} N m is out of range: at least {LEAST_MOMENT:g} N m"
    return [Problem(f"source.{i}.{key}", words, "correct the number or its unit")]


def _silent(scenario, i, entry):
    """Return a source that moves nothing of what is computed in the plane."""
    motion = scenario.domain.motion
    across = [1] if motion == "SH" else [0, 2]
    if motion is None:
        return []
    if entry.kind == "force":
        moves = np.any(np.array(entry.vector)[across])
    else:
        tensor = sources.moment_tensor(entry)
        moves = np.any(tensor[1, [0, 2]]) if motion == "SH" else np.any(tensor[np.ix_(across, across)])
    if moves:
        return []
    direction = "along y" if motion == "SH" else "in the (x, z) plane"
    return [
        Problem(
            f"source.{i}",
            f"this source has no component {direction}, so it excites no {motion} waves",
            f'rotate it, or write domain.waves = "{"P-SV" if motion == "SH" else "SH"}"',
        )
    ]


def _other_problems(scenario, i, entry):
    """Problems of plane waves and files."""
    problems = _wavelet_problems(i, entry.wavelet) if getattr(entry, "wavelet", None) is not None else []
    if problems:
        return problems
    if entry.kind == "plane_wave":
        return _plane_problems(scenario, i, entry)
    built, wrong = source_files.checked(entry, "", scenario)
    if wrong:
        return [Problem(f"source.{i}.{wrong[0]}", *wrong[1:])]
    out = outside(scenario, np.concatenate([source.points for source in built]))
    if out:
        remedy = out[2] + depths.too_deep(scenario, entry)
        return [Problem(f"source.{i}.file", f"{entry.file}: {out[1]}", remedy)]
    words, impossible = depths.suspicion(scenario, entry) or ("", False)
    remedy = 'correct the depth; a source that is so shallow can be written as kind = "moment_tensor"'
    return [Problem(f"source.{i}.file", f"{entry.file}: {words}", remedy)] if impossible else []


def _plane_problems(scenario, i, entry):
    problems, domain = [], scenario.domain
    if not domain.corner[2] <= entry.height < domain.top:
        text = f"the plane z = {entry.height:.10g} m is outside the domain, z from {domain.corner[2]:.10g} to {domain.top:.10g} m"
        problems.append(
            Problem(
                f"source.{i}.{'z' if entry.z is not None else 'depth'}", text, "put the plane above an absorbing bottom"
            )
        )
    if domain.motion is not None and (entry.wave == "SH") != (domain.motion == "SH"):
        text = f'a plane {entry.wave} wave is not possible with waves = "{domain.motion}"'
        problems.append(Problem(f"source.{i}.wave", text, "choose another wave, or change domain.waves"))
    lowest = places.lowest_ground(scenario)
    if entry.height >= lowest:
        text = f"the plane z = {entry.height:.10g} m cuts the topography, which goes down to {lowest:.10g} m"
        problems.append(
            Problem(
                f"source.{i}.{'z' if entry.z is not None else 'depth'}",
                text,
                "put the plane below the lowest point of the topography",
            )
        )
    sides = [
        f for f in (("west",) if domain.planar else ("west", "south")) if scenario.boundaries.face(f) != "periodic"
    ]
    if sides:
        text = f'a plane wave needs periodic sides, but {sides[0]} is "{scenario.boundaries.face(sides[0])}"'
        problems.append(
            Problem(
                f"source.{i}.wave",
                text,
                'write west = "periodic" in [boundaries], and the same for east, south and north',
            )
        )
    return problems


def _wavelet_problems(i, spec):
    if spec is None or not hasattr(spec, "normalize"):
        return []
    key = f"source.{i}.wavelet.{'file' if getattr(spec, 'file', None) is not None else 'values'}"
    try:
        if spec.kind == "samples":
            wavelets.sample_arrays(spec)
    except OSError as error:
        remedy = "give the path of a text file, relative to the scenario"
        return [Problem(key, f"cannot read {spec.file}: {error.strerror or error}", remedy)]
    except ValueError as error:
        message = f"{spec.file}: {error}" if spec.file is not None else str(error)
        return [Problem(key, message, "the file needs two columns: time (s, increasing) and value")]
    try:
        wavelets.build(spec)
    except ValueError as error:
        key = f"source.{i}.wavelet.normalize"
        return [Problem(key, str(error), "leave normalize out; the peak of the wavelet counts")]
    return []


def _receiver_problems(scenario):
    entries, problems = receivers.collect(scenario)
    return problems + [p for i, found in entries for p in _misplaced(scenario, i, found.names, found.xyz)]


def _misplaced(scenario, i, names, xyz):
    """Problem of the receivers of an entry that are outside: a list of one, or of none."""
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


def _source_warnings(source, start, duration):
    wavelet = source.wavelet
    notes = [*source.warnings, *_jumps(source, start)]
    if wavelet.start >= duration:
        notes.append(
            f"{source.name}: its wavelet starts at {wavelet.start:.3g} s, after the end of the run at {duration:g} s"
        )
    elif wavelet.end > duration:
        notes.append(
            f"{source.name}: its wavelet ends at {wavelet.end:.3g} s, after the end of the run at {duration:g} s"
        )
    return notes + _other_moment(source)


def _jumps(source, start):
    """Say where a wavelet begins or ends with a jump, which excites all frequencies: because the
    run begins too late, or because its samples do not begin and end at zero.
    """
    wavelet = source.wavelet
    cut = float(np.abs(wavelet(np.linspace(min(wavelet.start, start), start, 500))).max())
    given = _given_wavelet(source)
    inset = 1e-9 * (wavelet.end - wavelet.start)  # rounding may put its ends outside
    first, last = np.abs(wavelet([wavelet.start + inset, wavelet.end - inset]))
    if wavelet.start >= start:
        cut = 0.0  # it begins within the run
    words = []
    if cut > CUT * wavelet.peak:
        late = rounded_up(start - wavelet.start)
        words.append(
            f"at the start of the run, {start:g} s, the wavelet has already reached {100 * cut / wavelet.peak:.3g} % of "
            f"its peak; start at {start - late:g} s (time.start), or delay the wavelet by {late:g} s more"
        )
    for value, which in ((first, "first"), (last, "last")):
        if given is not None and given.kind == "samples" and value > CUT * wavelet.peak:
            words.append(
                f"the {which} sample of its wavelet is {100 * value / wavelet.peak:.3g} % of the peak, a jump: "
                f"add samples that {'rise from' if which == 'first' else 'fall to'} zero"
            )
    return [f"{source.name}: {text}" for text in words]


def _given_wavelet(source):
    """Return the wavelet of a source as the scenario gives it; None of a finite fault and of a
    catalogue whose sources have Gaussians of their own.
    """
    return None if hasattr(source, "rates") else getattr(source, "shared", source.wavelet)


def _other_moment(source):
    """Say where the final moment is not the one that is stated."""
    wavelet = source.wavelet
    if source.moment is None:
        return []
    if not wavelet.is_pulse:
        return [
            f"{source.name}: a {wavelet.kind} wavelet is a moment rate of zero mean with peak M0 / s: the final moment is zero"
        ]
    given = _given_wavelet(source)
    if given is None or abs(given.area - 1) <= AREA:
        return []
    moment = sources.scalar_moment(source.moment) * abs(given.area)
    return [
        f"{source.name}: its wavelet, a moment rate, has an area of {given.area:.4g} instead of 1, so that the final moment is "
        f"{moment:.4g} N m, not the one stated; write normalize = true in the wavelet to divide it by its area"
    ]
