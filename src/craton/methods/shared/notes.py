"""Rows of `craton plan` that all wave methods share: sources, receivers, memory, phases."""
import numpy as np

from craton.survey import sources as survey_sources


def sources_of(sources):
    """Each source with its place, mechanism and wavelet."""
    return [(s.name, survey_sources.describe(s).removeprefix(f"{s.name} ")) for s in sources] or [("none", "the wavefield stays at rest")]


def receivers(d, plan):
    """Number of receivers and channels."""
    fibres = plan.receivers.fibres
    along = len(fibres) if fibres is not None else 0
    rows = [("count", f"{len(plan.receivers)}, with {len(plan.channels) - along} channels: {', '.join(d.scenario.output.waveforms)}")]
    return rows + ([("fibres", f"{along} channels of axial strain rate")] if along else [])


def memory(plan):
    """Bytes by kind of array."""
    rows = [(kind, f"{size / 2**20:,.1f} MiB") for kind, size in plan.bytes_by_kind.items()]
    per_point = plan.nbytes / np.dtype(plan.precision).itemsize / plan.points
    return [*rows, ("total", f"{plan.nbytes / 2**20:,.1f} MiB, {per_point:.2f} reals a point")]


def phases(plan):
    """Operators of each phase, with their points and least traffic."""
    rows = []
    for phase in plan.phases:
        names = {}
        for one in phase.launches:
            count, points = names.get(one.op.name, (0, 0))
            names[one.op.name] = (count + 1, points + one.points)
        for name, (count, points) in names.items():
            op = plan.operators[name]
            cost = f"{op.reals_per_point:g} reals and {op.flops} flops a point"
            rows.append((phase.name, f"{name:<25} {count} x, {points:>13,} points, {cost}"))
    return [*rows, ("least traffic", f"{sum(plan.traffic.values()) / 1e6:,.1f} MB a step")]
