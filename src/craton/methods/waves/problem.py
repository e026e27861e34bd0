"""The one build sequence of waves: a scenario becomes a discretised problem, then a plan, whatever the method.

The scenario stops here: a `Space` and the tables of sources, receivers and pictures are numbers.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from craton.core.plan import Plan
from craton.errors import Problem, refuse_all
from craton.methods.waves import peaks, pictures, receivers, sources, timing
from craton.methods.waves.coupling import boxes, recorded
from craton.methods.waves.greens import Volume
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.space import Space
from craton.survey import channels as survey_channels
from craton.survey import leapfrog, silence, source_files
from craton.survey import problems as survey_problems
from craton.survey import receivers as survey_receivers
from craton.survey import sources as survey_sources
from craton.survey import warnings as survey_warnings
from craton.survey.planes import PlaneWave
from craton.survey.receivers import located
from craton.survey.shots import refusal

# a run has diverged beyond this multiple of the largest value that all sources together could give to one cell or element
DIVERGED = 1e3


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
    all_sources, all_receivers = silence.warned(scenario, all_sources, all_receivers, domain.values)
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
    slots = timing.slots(d.steps, len(setup.channels))
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
    dt = timing.time_step(scenario, limit)
    start = timing.start_time(scenario, sources, dt)
    steps = timing.step_count(scenario, start, dt)
    timing.refuse_series(steps, len(sources))
    extra = leapfrog.extra(steps) if scenario.receivers or scenario.recording else 0
    return {"dt": dt, "start": start, "steps": steps + extra, "extra": extra}


def step_problems(scenario, limit, where):
    """Return the problem of a time step of the scenario beyond the stability limit: list of Problem."""
    step = scenario.time.step
    if step is None or step <= limit:
        return []
    words = f"step = {step:g} s is unstable: the stability limit on this {where} and model is {limit:.4g} s"
    remedy = f"use at most {limit:.4g} s, or leave step out to use {timing.time_step_for(limit):.4g} s"
    return [Problem("time.step", words, remedy)]
