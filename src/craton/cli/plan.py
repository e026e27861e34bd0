"""craton plan: what a run would do and cost; nothing is written."""

from craton.cli.check import checked, warn

# Of the copy bandwidth that a whole time step reaches, judged by its least traffic: bench/NOTES.md.
ASSUMED = 0.6
COPIED = 1 << 27  # bytes; larger than caches, a fraction of a second to measure


def command(file, device=None, overrides=()):
    """Print the plan of a scenario file, the time it will need here, and the warnings."""
    from craton import api
    from craton.backends import backend

    scenario, planned = checked(file, (*overrides, *([f"run.device={device}"] if device else ())))
    print(planned, flush=True)
    warn(planned)
    machine = backend(scenario.run.device, threads=scenario.run.threads)
    api.runs(scenario).check_memory(planned, machine)
    if scenario.method == "gravity":
        from craton.cli.gravity import estimate as of_gravity

        return print(of_gravity(planned, machine))
    return print(estimate(planned, machine))


def estimate(planned, machine):
    """Time that the steps will need on a machine, from its copy bandwidth measured now."""
    from craton.run.progress import rate

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
