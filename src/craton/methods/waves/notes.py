"""Sections and rows (label, text) of `craton plan` that all wave methods share: sources, receivers, steps, memory, phases."""

from dataclasses import replace

import numpy as np

from craton.core.plan import RECORD_IN_MEMORY
from craton.methods.waves.coupling.recorded import notes as injected
from craton.survey import geography
from craton.survey import sources as survey_sources
from craton.text import first_of

LISTED = 20  # receivers whose positions on Earth are listed
SHOWN = 1 << 19  # bytes; less is not listed
# bytes of Python and the libraries of a run that writes waveforms: 128 to 170 MiB of resident
# memory (bench/results/memory_cpu.json), 110 without records
LIBRARIES = 160 << 20


def shared(plan, setup, source_in_fluid=None, in_fluid=None):
    """Return the sections on sources, receivers, memory and phases of a step, as all methods have them.

    Parameters
    ----------
    plan : Plan
    setup : craton.methods.waves.problem.Setup
    source_in_fluid, in_fluid : callable, optional
        Where fluid and solid meet: whether a point source is in the fluid, and which positions (n, 3), m, are.
    """
    waveforms = setup.scenario.output.waveforms
    sources = sources_of(setup.sources, setup.scenario.domain, setup.incident, source_in_fluid)
    media = media_of(plan.receivers, in_fluid) if in_fluid and len(plan.receivers) else []
    return {
        "Sources": [*sources, *injected(plan, setup.incident)],
        "Receivers": [*receivers(plan, waveforms), *media],
        "Memory": memory(plan),
        "Phases of a step": phases(plan),
    }


def sources_of(sources, domain, incident, in_fluid=None):
    """Each source with its position, mechanism, wavelet and, with `in_fluid`, medium; where the domain
    has a place on Earth, with longitude and latitude, and the mechanism in true east, north and up.
    """
    rows, earth = [], geography.local_of(domain)
    for source in sources:
        text = survey_sources.describe(source, earth)
        if isinstance(source, survey_sources.PointSource):
            if earth is not None and not domain.planar:
                text = survey_sources.describe(turned(source, earth.axes(source.points)[0]), earth)
            if in_fluid:
                text += f", in the {'fluid' if in_fluid(source) else 'solid'}"
        rows.append((source.name, text.removeprefix(f"{source.name} ")))
    return rows or [("none", "the wavefield stays at rest")] * (not incident)


def turned(source, axes):
    """Return a point source with its mechanism along other axes, the columns of (3, 3)."""
    if source.moment is not None:
        return replace(source, moment=axes.T @ source.moment @ axes)
    return replace(source, force=axes.T @ source.force)


def media_of(receivers, in_fluid):
    """Return the row that says which receivers lie in a fluid and which in a solid: list."""
    names, fluid = np.array(receivers.names), np.asarray(in_fluid(receivers.xyz), bool)
    sides = (("fluid", names[fluid].tolist()), ("solid", names[~fluid].tolist()))
    return [("medium", "; ".join(f"{len(some):,} in the {side}: {first_of(some)}" for side, some in sides if some))]


def receivers(plan, waveforms):
    """Return number of receivers and channels, where the first of them are on Earth, which of files
    are left out, and what maps of peaks lack.
    """
    fibres = plan.receivers.fibres
    fibre_channels = len(fibres) if fibres is not None else 0
    channels = len(plan.channels) - fibre_channels
    rows = [("count", f"{len(plan.receivers)}, with {channels} channels: {', '.join(waveforms)}")]
    if "origin_time" in plan.receivers.event:
        rows.append(("origin time", f"{plan.receivers.event['origin_time']} UTC, t = 0"))
    if fibre_channels:
        rows.append(("fibres", f"{fibre_channels} channels of axial strain rate"))
    rows += _on_earth(plan.receivers)
    rows += [("skipped", text) for text in plan.receivers.skipped]
    if plan.peaks and plan.extra:
        names = ", ".join(series.name for series in plan.peaks)
        rows.append((f"peaks {names}", "of each step, without the time-dispersion correction"))
    return rows


def _on_earth(receivers):
    """Longitude, latitude and position of the first receivers, where they are known; in a chunk of
    the Earth their depth.
    """
    if receivers.stations is None:
        return []
    on_earth = {name: values for name, values, _ in receivers.stations.coordinates}
    if "longitude" not in on_earth:
        return []
    if "elevation" not in on_earth:
        places = [f", depth {abs(round(depth, 3)):.6g} m" for depth in on_earth["depth"]]
    else:
        places = [f": ({x:.6g}, {y:.6g}, {z:.6g}) m" for x, y, z in receivers.xyz]
    columns = zip(receivers.names, on_earth["longitude"], on_earth["latitude"], places)
    rows = [(name, f"longitude {lon:.6g}, latitude {lat:.6g}{place}") for name, lon, lat, place in [*columns][:LISTED]]
    more = len(receivers) - LISTED
    return rows + ([("...", f"and {more} more")] if more > 0 else [])


def time(d, limit, *limited_by):
    """Return the step against its stability limit, s, and the number of steps; rows between the two say what limits it."""
    step = f"{d.dt:.6g} s = {d.dt / limit:.3f} of the stability limit {limit:.6g} s"
    return [("step", step), *limited_by, ("steps", steps(d))]


def steps(d):
    """Return number of steps, start and end time, and the padding steps of the time-dispersion
    correction, in words.
    """
    padding = f" + {d.extra:,} padding steps for the time-dispersion correction" if d.extra else ""
    return f"{d.steps - d.extra:,} from {d.start:.6g} s to {d.end:.6g} s{padding}"


def speeds(extremes):
    """Return the row of speeds and density from their least and greatest values by name."""
    ranges = ("{} {:,.0f} .. {:,.0f}".format(name, *extremes[name]) for name in ("vp", "vs", "rho"))
    return "model", "  ".join(ranges) + "  (m/s, kg/m3)"


def highest(sources):
    """Return the highest f95 of the sources, Hz; 0 without sources."""
    return max((source.wavelet.f95 for source in sources), default=0)


def memory(plan):
    """Bytes by kind of array, in total, and per grid point; on the host and on disk, where they are not few; of a process on a CPU,
    as the system counts it.
    """
    per_point = plan.nbytes / plan.points
    numbers = f"{per_point / np.dtype(plan.precision).itemsize:.1f} {plan.precision}"
    rows = [(kind, mebibytes(size)) for kind, size in plan.bytes_by_kind.items()]
    rows.append(("total", f"{mebibytes(plan.nbytes)}, {per_point:.1f} bytes per grid point ({numbers})"))
    if plan.held_memory > SHOWN:
        rows.append(("plan on the host", mebibytes(plan.held_memory)))
    if plan.record_bytes:
        where = " in a file of OUT" if plan.record_bytes > RECORD_IN_MEMORY else ""
        samples = f"{mebibytes(plan.record_bytes)} of samples{where}"
        rows.append(("record on the host", f"{mebibytes(plan.record_memory)} at most; {samples}"))
    if plan.snapshots:
        rows.append(("snapshots on the host", f"{mebibytes(plan.snapshot_memory)} at most"))
    for one in plan.recordings:
        words = f"{one.places:,} places x {one.steps:,} steps: {mebibytes(one.nbytes)} on disk before compression"
        rows.append((f"recording {one.name}", words))
    if plan.planning >= SHOWN:
        rows.append(("making this plan", f"{mebibytes(plan.planning)} at most"))
    total, libraries = plan.host_memory[0] + LIBRARIES, f"{mebibytes(LIBRARIES, 0)} of them Python and its libraries"
    return [*rows, ("process on a CPU", f"about {mebibytes(total, 0)} at most, some {libraries}")]


def mebibytes(size, digits=1):
    """Return bytes in words."""
    return f"{size / 2**20:,.{digits}f} MiB"


def phases(plan):
    """Operators of each phase, with their launches, points, memory traffic and flops."""
    rows, itemsize = [], np.dtype(plan.precision).itemsize
    for phase in plan.phases:
        names = {}
        for launch in phase.launches:
            count, points = names.get(launch.op.name, (0, 0))
            names[launch.op.name] = (count + 1, points + launch.points)
        for name, (count, points) in names.items():
            op = plan.operators[name]
            cost = f"{itemsize * op.reals_per_point:g} bytes and {op.flops} flops per point"
            rows.append((phase.name, f"{name:<25} {count} x, {points:>13,} points, {cost}"))
    return [*rows, ("memory traffic", f"at least {sum(plan.traffic.values()) / 1e6:,.1f} MB per step")]
