"""craton plan: what a run would do and cost; nothing is written."""

from functools import partial
from types import SimpleNamespace

from craton.cli.check import checked, warn

# Of the copy bandwidth that a whole time step reaches, judged by its least traffic: bench/NOTES.md.
ASSUMED = 0.6
COPIED = 1 << 27  # bytes; larger than caches, a fraction of a second to measure


def command(file, device=None, overrides=(), ranks=None):
    """Print the plan of a scenario file, the time it will need here, and the warnings; of several ranks who owns what instead."""
    from craton import api
    from craton.backends import backend

    overrides = (*overrides, *([f"run.device={device}"] if device else ()))
    scenario, planned = checked(file, overrides, planner=partial(one_run, ranks=ranks))
    print(planned, flush=True)
    if scenario.method == "sem" and not hasattr(planned, "phases"):  # a chunk of the Earth that was counted only
        return None
    if shots := shots_apart(scenario):
        print(f"Survey\n  this is one of {len(shots)} runs, one for each shot: craton survey {file}", flush=True)
    warn(planned)
    if ranks is not None and ranks > 1:
        api.check_ranks(scenario, SimpleNamespace(size=ranks))
        if scenario.method == "fd":
            from craton.cli.ranks import words

            return print(words(scenario, planned, ranks))
        if scenario.method == "sem":
            from craton.cli.ranks import of_elements

            return print(of_elements(planned, ranks))
    machine = backend(scenario.run.device, threads=scenario.run.threads)
    api.runs(scenario).check_memory(planned, machine)
    if scenario.method == "gravity":
        from craton.cli.gravity import estimate as of_gravity

        return print(of_gravity(planned, machine))
    return print(estimate(planned, machine))


def one_run(scenario, ranks=None):
    """The plan of a scenario; where each shot is a run of its own, of the shot that begins first.

    Of a chunk of the Earth that is large, or for several ranks, what it costs without its mesh.
    """
    from craton import api, shots

    if scenario.method == "sem" and scenario.domain.chunk is not None:
        from craton.comm.placement import planner
        from craton.methods.spectral_element.counting import count
        from craton.model.globe.earth_chunk import LARGE, chunk_of

        if (ranks or 1) > 1 or chunk_of(scenario).size > LARGE:
            return count(scenario, planner(threads=scenario.run.threads), ranks or 1)
    return shots.prepare(scenario).planned if shots_apart(scenario) else api.plan(scenario)


def shots_apart(scenario):
    """Names of the shots of a scenario where each is a run of its own."""
    from craton.survey import shots, sources

    return () if scenario.method == "gravity" or shots.side_by_side(scenario) else sources.shots(scenario)


def estimate(planned, machine):
    """Time that the steps will need on a machine, from its copy bandwidth measured now."""
    from craton.driver.progress import rate

    bandwidth = machine.copy_bandwidth(COPIED)
    step = sum(planned.traffic.values()) / (ASSUMED * bandwidth)
    return "\n".join([
        "Estimate",
        f"  {machine.describe()}: copies {bandwidth / 1e9:,.1f} GB/s (measured now)",
        f"  about {duration(step * planned.steps)} for {planned.steps:,} steps, {rate(planned.points, step)}, "
        f"if steps reach {ASSUMED:.0%} of that (assumed)",
    ])  # fmt: skip


def duration(seconds):
    """A time in words."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
