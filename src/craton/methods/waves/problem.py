"""The one build sequence of waves: a scenario becomes a discretised problem, then a plan, whatever the method; when a run starts,
how long its step is, how much of the record stays on the machine.

The scenario stops here: a `Space` and the tables of sources, receivers and pictures are numbers.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from craton import memory
from craton.core.plan import Plan
from craton.errors import Problem, ResourceError, refuse, refuse_all
from craton.methods.protocol import Reuse
from craton.methods.waves import peaks, pictures, receivers, sources
from craton.methods.waves.coupling import boxes, recorded
from craton.methods.waves.greens import Volume
from craton.methods.waves.space import Space
from craton.survey import channels as survey_channels
from craton.survey import checks, leapfrog, source_files
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import sources as survey_sources
from craton.survey import warnings as survey_warnings
from craton.survey.receivers import located
from craton.survey.shots import refusal
from craton.survey.sources import PlaneWave
from craton.text import number

# a run has diverged beyond this multiple of the largest value that all sources together could give to one cell or element
DIVERGED = 1e3
MOST_STEPS = 2**31 - 1  # kernels count steps in 32 bits
SERIES_BYTES = 3 * 8  # of a step of one column: its values, and those for the leapfrog in two precisions
WORK_BYTES = 128  # of a step, for the transforms of a block of columns (measured: 104)
FEW_BYTES = 1 << 24  # that every computer has; to ask what is free takes longer than a small series
COURANT = 0.95  # of the stability limit, where the scenario names no step
SLOTS = 200  # steps that the record holds on the machine
RECORD_BYTES = 1 << 28  # of the record on the machine, at most


class Domain(Protocol):
    """What a method makes of a scenario before its sources: a grid, or a mesh with its model.

    Attributes
    ----------
    method : str
        ``"fd"`` or ``"sem"``.
    scenario : WaveScenario
        With positions and depths as the grid or mesh has them.
    reuse : Reuse
    """

    method: str
    scenario: Any
    reuse: Reuse

    def problems(self) -> list[Problem]:
        """Return what is wrong with size, model and step."""

    def values(self, xyz) -> tuple:
        """Return vp, vs (m/s) and density (kg/m3) at positions (n, 3), m."""

    def in_media(self, sources) -> list:
        """Return the sources in the media in which they act; refuse those that none could have."""

    def discretise(self, scenario, sources, waves) -> Space:
        """Return the `Space` with its time step; `waves` are sources and incident waves with a wavelet."""

    def volume(self, low, high, stations, impulse) -> tuple[Volume | None, list[Problem]]:
        """Return what a store has of the field of a force between two corners, and why it or stations, `Receivers`, are refused: of methods
        whose scenarios have a table ``greens``.

        Absorbing layers, where runs are not reciprocal, are made for waves of the `impulse`, a `Wavelet`, or None where it is no matter.
        """


@dataclass(frozen=True)
class Setup:
    """A discretised problem with its sources and receivers.

    Parameters
    ----------
    space : Space
    scenario : WaveScenario
    sources : list
    receivers : Receivers
    channels : Channels
    incident : list of Incident
    """

    space: Space
    scenario: Any
    sources: list
    receivers: Any
    channels: Any
    incident: list


def set_up(domain: Domain) -> Setup:
    """Discretise a scenario on its domain, with sources, receivers and incident waves; all ranks must call."""
    scenario = domain.scenario
    tables = [*survey_problems(scenario), *refusal(scenario)]
    refuse_all([*domain.problems(), *tables])
    all_sources = domain.in_media(source_files.build_all(scenario, domain.values))
    all_receivers = located(survey_receivers.build(scenario), scenario, all_sources)
    all_sources, all_receivers = checks.warned_of_silence(scenario, all_sources, all_receivers, domain.values)
    incident = recorded.opened(scenario, domain.method)
    begin = survey_sources.start_time(scenario, all_sources) if all_sources else np.inf
    scenario = recorded.timed(scenario, incident, begin)
    space = domain.discretise(scenario, all_sources, recorded.carriers(all_sources, incident))
    refuse_all(space.problems(scenario, all_sources))
    refuse_all(boxes.problems(space.boxes(scenario.domain), scenario.recording, incident))
    channels = survey_channels.channels(
        len(all_receivers), scenario.output.waveforms, space.motion, max(len(space.shots), 1)
    )
    return Setup(space, scenario, all_sources, all_receivers, channels + all_receivers.fibre_channels(), incident)


def build(domain: Domain) -> Plan:
    """Return the plan of a scenario, with its warnings and notes; all ranks must call."""
    setup = set_up(domain)
    plan = assemble(setup, domain.reuse)
    space, scenario = setup.space, setup.scenario
    plan.warnings = [
        *scenario.warnings,
        *survey_warnings(scenario, setup.sources, space.d.start),
        *setup.receivers.warnings,
        *space.warnings(setup),
        *boxes.warnings(
            space.boxes(scenario.domain), scenario.recording, setup.incident, setup.sources, setup.receivers
        ),
    ]
    return space.completed(plan, setup)


def assemble(setup: Setup, reuse: Reuse, more=({}, {})) -> Plan:
    """Return the plan of a discretised problem: arrays and phases. `more` are further arrays, and launches by where in a step they run."""
    space, scenario, d = setup.space, setup.scenario, setup.space.d
    arrays, of_sources, band = sources.sources(space, setup.sources, reuse)
    sides = space.boxes(scenario.domain)
    incident_arrays, of_incident, peak = boxes.injections(sides, setup.incident)
    band = recorded.band_with(band, setup.sources, setup.incident)
    recordings, ring_arrays, ringing = boxes.recordings(sides, scenario.recording, band)
    slots = record_slots(d.steps, len(setup.channels))
    channels, gathering, record_arrays, record = reuse.get(
        "recording",
        lambda: receivers.recording(space, setup.channels, setup.receivers, slots, d.precision),
        (*space.medium_key, setup.channels, slots, setup.receivers.xyz.tolist()),
    )
    of_steps = (*space.medium_key, d.dt, d.start, d.steps, d.extra)
    series, peak_arrays, measuring = reuse.get("peaks", lambda: peaks.maps(space, scenario), of_steps)
    tables = arrays | record_arrays
    arrays = more[0] | tables | peak_arrays | incident_arrays | ring_arrays
    launches = [more[1], of_sources, of_incident, {"record": [*measuring, *ringing, *record]}]
    arrays, phases = space.equations(arrays, launches, tables, reuse)
    return Plan(
        title=scenario.title,
        precision=d.precision,
        arrays=arrays,
        phases=phases,
        steps=d.steps,
        dt=d.dt,
        start=d.start,
        channels=channels,
        receivers=setup.receivers,
        slots=slots,
        limit=divergence_limit(space, setup.sources, peak),
        quiet=survey_sources.end_time(setup.sources, setup.incident),
        snapshots=tuple(pictures.series_of(space, spec) for spec in scenario.snapshots),
        extra=d.extra,
        band=band,
        shots=space.shots,
        peaks=series,
        recordings=tuple(recordings),
        gathering=gathering,
        **space.described(scenario, arrays),
    )


def divergence_limit(space, sources, peak):
    """Return the value beyond which the wavefield has diverged: `DIVERGED` times what all sources together could give to the smallest
    cell or element.
    """
    d, (rho, slowest, volume, scale) = space.d, space.smallest
    times, total = d.start + np.arange(d.steps) * d.dt, peak
    for source in sources:
        impulse = np.abs(source.wavelet(times)).sum() * d.dt
        if isinstance(source, PlaneWave):
            total += abs(source.velocity) * source.wavelet.peak
            continue
        forced = source.force is not None
        strength = np.abs(source.force).max() if forced else survey_sources.largest_moment(source) / slowest
        total += impulse * strength / (rho * volume)
    return float(DIVERGED * scale * total) if total > 0 else np.inf


# --- steps ----------------------------------------------------------------------------------------


def times(scenario, sources, limit, where):
    """Return step, start and number of steps of a run, with those that pad its end, and their number.

    Parameters
    ----------
    scenario : WaveScenario
    sources : list
    limit : float
        Largest stable step, s.
    where : str
        On what.

    Raises
    ------
    ScenarioError
        The step of the scenario is unstable, or there are too many.
    """
    refuse_all(step_problems(scenario, limit, where))
    dt = time_step(scenario, limit)
    start = start_time(scenario, sources, dt)
    steps = step_count(scenario, start, dt)
    refuse_series(steps, len(sources))
    extra = leapfrog.extra(steps) if scenario.receivers or scenario.recording else 0
    return {"dt": dt, "start": start, "steps": steps + extra, "extra": extra}


def step_problems(scenario, limit, where):
    """Return the problem of a time step of the scenario beyond the stability limit: list of Problem."""
    step = scenario.time.step
    if step is None or step <= limit:
        return []
    words = f"step = {step:g} s is unstable: the stability limit on this {where} and model is {limit:.4g} s"
    remedy = f"use at most {limit:.4g} s, or leave step out to use {time_step_for(limit):.4g} s"
    return [Problem("time.step", words, remedy)]


def time_step(scenario, limit):
    """Return the scenario's step, s, or the one that the stability limit suggests.

    Raises
    ------
    ScenarioError
        Waveforms are to be sampled more often.
    """
    step, sampling = scenario.time.step or time_step_for(limit), scenario.output.sampling
    if sampling is not None and sampling < step * (1 - 1e-9):
        words = f"sampling = {number(sampling)} s is shorter than the time step, {number(step)} s"
        refuse("output.sampling", words, f"leave sampling out to store every step, or give at least {number(step)}")
    return step


def time_step_for(limit):
    """95 % of the stability limit, in whole microseconds where these are fine enough."""
    chosen = COURANT * limit
    return math.floor(chosen * 1e6) / 1e6 if chosen > 1e-4 else chosen


def start_time(scenario, sources, dt):
    """time.start, else where every wavelet without a delay of its own begins, a whole number of
    steps before t = 0.
    """
    if scenario.time.start is not None:
        return scenario.time.start
    return -math.ceil(-survey_sources.start_time(scenario, sources) / dt - 1e-9) * dt


def step_count(scenario, start, dt):
    """Return steps from the start to the duration.

    Raises
    ------
    ScenarioError
        There are more than `MOST_STEPS`.
    """
    count = (scenario.time.duration - start) / dt
    if not count <= MOST_STEPS:
        words = f"{count:.4g} steps of {dt:.6g} s are more than the {MOST_STEPS:,} that are counted"
        refuse("time.duration", words, "shorten the run, or split it")
    return math.ceil(count - 1e-6)


def refuse_series(steps, columns):
    """Refuse source time functions that do not fit into memory while they are made.

    Parameters
    ----------
    steps, columns : int

    Raises
    ------
    ResourceError
    """
    needed = SERIES_BYTES * steps * columns + WORK_BYTES * steps
    if not columns or needed < FEW_BYTES:
        return
    free = memory.available()
    if free is not None and needed > free:
        raise ResourceError(
            f"the series of {columns:,} source{'s' * (columns > 1)} over {steps:,} steps take "
            f"{needed / 2**30:,.1f} GiB while they are made, of {free / 2**30:,.1f} GiB that are "
            "free\n    -> shorten time.duration, or use fewer sources or larger steps"
        )


def record_slots(steps, channels):
    """Return steps that the record of some channels holds before it is drained."""
    return max(1, min(SLOTS, steps, RECORD_BYTES // max(8 * channels, 1)))
