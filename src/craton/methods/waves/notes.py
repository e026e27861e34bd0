"""Rows of `craton plan` that all wave methods share: sources, receivers, steps, memory, phases."""

from dataclasses import replace

import numpy as np

from craton.core.plan import RECORD_IN_MEMORY
from craton.survey import geography
from craton.survey import sources as survey_sources
from craton.text import first_of

LISTED = 20  # receivers whose positions on Earth are listed
SHOWN = 1 << 19  # bytes; less is not listed
# bytes of Python and the libraries of a run that writes waveforms: 128 to 170 MiB of resident
# memory (bench/results/memory_cpu.json), 110 without records
LIBRARIES = 160 << 20


def sources_of(sources, domain, incident=()):
    """Each source with its position, mechanism and wavelet; where the domain has a place on Earth,
    with longitude and latitude, and the mechanism in true east, north and up.
    """
    earth = geography.local_of(domain)
    if earth is not None and not domain.planar:
        sources = [_true(source, earth) for source in sources]
    rows = [(s.name, survey_sources.describe(s, earth).removeprefix(f"{s.name} ")) for s in sources]
    return rows or [("none", "the wavefield stays at rest")] * (not incident)


def with_media(rows, sources, in_fluid):
    """Return rows of sources, each point source with the medium in which it lies.

    Parameters
    ----------
    rows : list of (str, str)
    sources : list of PointSource, FiniteFault, Catalogue or PlaneWave
    in_fluid : callable
        Of a point source: whether it lies in the fluid.
    """
    return [
        (name, f"{text}, in the {'fluid' if in_fluid(s) else 'solid'}")
        if isinstance(s, survey_sources.PointSource)
        else (name, text)
        for (name, text), s in zip(rows, sources)
    ]


def media(names, in_fluid):
    """Return the row that says which receivers lie in a fluid and which in a solid: list.

    Parameters
    ----------
    names : sequence of str
    in_fluid : sequence of bool
    """
    sides = {
        medium: [name for name, fluid in zip(names, in_fluid) if fluid == (medium == "fluid")]
        for medium in ("fluid", "solid")
    }
    words = [f"{len(some):,} in the {side}: {first_of(some)}" for side, some in sides.items() if some]
    return [("medium", "; ".join(words))] if words else []


def _true(source, earth):
    """Return a point source with its mechanism in true east, north and up; others as they are."""
    if not isinstance(source, survey_sources.PointSource):
        return source
    axes = earth.axes(np.array([source.xyz]))[0]
    moment = None if source.moment is None else axes.T @ source.moment @ axes
    return replace(source, moment=moment, force=None if moment is not None else axes.T @ source.force)


def receivers(plan, waveforms):
    """Return number of receivers and channels, where the first of them are on Earth, which of files
    are left out, and what maps of peaks lack.
    """
    skipped = [("skipped", text) for text in plan.receivers.skipped]
    return _counts(plan, waveforms) + _on_earth(plan.receivers) + skipped + _peaks(plan)


def _peaks(plan):
    """Return what maps of peaks lack beside seismograms that are corrected."""
    if not (plan.peaks and plan.extra):
        return []
    names = ", ".join(series.name for series in plan.peaks)
    return [(f"peaks {names}", "of each step, without the time-dispersion correction")]


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


def _counts(plan, waveforms):
    """Return number of receivers and channels, and the date of t = 0 where it is known."""
    fibres = plan.receivers.fibres
    fibre_channels = len(fibres) if fibres is not None else 0
    channels = len(plan.channels) - fibre_channels
    rows = [("count", f"{len(plan.receivers)}, with {channels} channels: {', '.join(waveforms)}")]
    if "origin_time" in plan.receivers.event:
        rows.append(("origin time", f"{plan.receivers.event['origin_time']} UTC, t = 0"))
    return rows + ([("fibres", f"{fibre_channels} channels of axial strain rate")] if fibre_channels else [])


def steps(d):
    """Return number of steps, start and end time, and the padding steps of the time-dispersion
    correction, in words.
    """
    padding = f" + {d.extra:,} padding steps for the time-dispersion correction" if d.extra else ""
    return f"{d.steps - d.extra:,} from {d.start:.6g} s to {d.end:.6g} s{padding}"


def memory(plan):
    """Bytes by kind of array, in total, and per grid point."""
    rows = [(kind, f"{size / 2**20:,.1f} MiB") for kind, size in plan.bytes_by_kind.items()]
    per_point = plan.nbytes / plan.points
    numbers = per_point / np.dtype(plan.precision).itemsize
    return [
        *rows,
        (
            "total",
            f"{plan.nbytes / 2**20:,.1f} MiB, {per_point:.1f} bytes per grid point ({numbers:.1f} {plan.precision})",
        ),
        *plan_on_host(plan),
        *record_on_host(plan),
        *snapshots_on_host(plan),
        *recordings_on_disk(plan),
        *process(plan),
    ]


def recordings_on_disk(plan):
    """Return places and bytes of the recordings for other runs."""
    return [
        (
            f"recording {one.name}",
            f"{one.places:,} places x {one.steps:,} steps: {one.nbytes / 2**20:,.1f} MiB on disk before compression",
        )
        for one in plan.recordings
    ]


def plan_on_host(plan):
    """Return memory of the values that the plan itself holds."""
    held = plan.held_memory
    return [("plan on the host", f"{held / 2**20:,.1f} MiB")] if held > SHOWN else []


def process(plan):
    """Return memory that making the plan takes, where that is not little, and that of the process
    of a run on a CPU, as the system counts it.
    """
    total = plan.host_memory[0] + LIBRARIES
    libraries = f"{LIBRARIES / 2**20:,.0f} MiB of them Python and its libraries"
    row = ("process on a CPU", f"about {total / 2**20:,.0f} MiB at most, some {libraries}")
    if plan.planning < SHOWN:
        return [row]
    return [("making this plan", f"{plan.planning / 2**20:,.1f} MiB at most"), row]


def snapshots_on_host(plan):
    """Return memory of the frames of snapshots that wait for the disk."""
    if not plan.snapshots:
        return []
    return [("snapshots on the host", f"{plan.snapshot_memory / 2**20:,.1f} MiB at most")]


def record_on_host(plan):
    """Return memory of the samples of all steps on the host, and the file in which large ones wait."""
    if not plan.record_bytes:
        return []
    samples = f"{plan.record_bytes / 2**20:,.1f} MiB of samples"
    where = " in a file of OUT" if plan.record_bytes > RECORD_IN_MEMORY else ""
    return [("record on the host", f"{plan.record_memory / 2**20:,.1f} MiB at most; {samples}{where}")]


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
