"""Rows of `craton plan` that all wave methods share: sources, receivers, steps, memory, phases."""

import numpy as np

from craton.survey import sources as survey_sources


def sources_of(sources):
    """Each source with its position, mechanism and wavelet."""
    return [(s.name, survey_sources.describe(s).removeprefix(f"{s.name} ")) for s in sources] or [
        ("none", "the wavefield stays at rest")
    ]


def receivers(plan, waveforms):
    """Return number of receivers and channels."""
    fibres = plan.receivers.fibres
    fibre_channels = len(fibres) if fibres is not None else 0
    channels = len(plan.channels) - fibre_channels
    rows = [("count", f"{len(plan.receivers)}, with {channels} channels: {', '.join(waveforms)}")]
    return rows + (
        [("fibres", f"{fibre_channels} channels of axial strain rate")] if fibre_channels else []
    )


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
    ]


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
    return [
        *rows,
        ("memory traffic", f"at least {sum(plan.traffic.values()) / 1e6:,.1f} MB per step"),
    ]
