"""What methods that march waves in time have in common: shots, the dataset of their records, and
their words.
"""

from craton.errors import refuse
from craton.text import duration, megabytes, rate, text_sections

COPIED = 1 << 27  # bytes; larger than caches, a fraction of a second to measure
WRITING = 2e-4  # s of a channel: correction, zarr, MiniSEED and StationXML, of 200 samples


class WaveMethod:
    """The part of `craton.methods.protocol.Method` that does not depend on the discretisation of waves."""

    waves = "Elastic waves"  # title of a run that has none
    # of the copy bandwidth that a whole time step reaches on a GPU, judged by its least traffic
    reached = 0.8
    drive, plans_by_rank = "march", False

    def outline(self, scenario, ranks, planner):
        """Plans are quick: none is needed."""

    def tries_operators(self, scenario):
        """See `Method.tries_operators`: none is."""
        return False

    def fills(self, scenario, plan):
        """See `Method.fills`; none."""
        return {}

    def linearised(self, scenario, machine=None):
        """See `Method.linearised`; none."""
        refuse("method", f'method = "{self.name}" has no gradients yet', 'use method = "fd"')

    def domain(self, scenario, team=None, machine=None, reuse=None):
        """Return the `craton.methods.waves.problem.Domain` of a scenario; parameters as of `Method.plan`."""
        raise NotImplementedError(self.name)

    def plan(self, scenario, team=None, machine=None, reuse=None):
        """See `Method.plan`."""
        from craton.methods.waves.problem import build

        return build(self.domain(scenario, team, machine, reuse))

    def picture_maker(self, series):
        """See `Method.picture_maker`; of a grid."""
        from functools import partial

        from craton.methods.waves.pictures import picture

        return partial(picture, series)

    def moment_field(self, scenario, low, high):
        """See `Method.moment_field`."""
        from craton.methods.waves.greens import moment_field

        return moment_field(self.domain(scenario), low, high)

    def subdomain(self, scenario, plan, rank, ranks):
        """Return the part of a plan that a rank owns."""
        from craton.methods.waves.ranks import plan_of_rank

        return plan_of_rank(plan, rank, ranks, scenario.run.grid)

    def shots(self, scenario):
        """Names of the shots, unless all are computed side by side."""
        from craton.survey import shots, sources

        return () if shots.side_by_side(scenario) else sources.shots(scenario)

    def dataset(self, result):
        """Waveforms, velocity(receiver, component, time) and the like, corrected for temporal dispersion."""
        from craton.output.dataset import TimeAxis, waveforms

        output, plan = result.scenario.output, result.plan
        quantities = output.waveforms if len(plan.receivers) else ()
        dataset = waveforms(
            result.records,
            plan.channels,
            plan.receivers,
            TimeAxis.of(plan, output),
            quantities,
            result.attributes | plan.receivers.event,
            plan.shots,
            result.scenario.domain.motion,
        )
        if plan.shots:
            dataset = with_sources(dataset, result.scenario)
        if plan.receivers.source is not None:
            dataset.attrs |= {f"source_{axis}": value for axis, value in zip("xyz", plan.receivers.source)}
        stations = plan.receivers.stations
        if stations is not None and stations.axes is not None:
            from craton.survey.geography import local

            dataset = local(dataset, stations)
        return dataset

    def estimate(self, plan, machine, step=None):
        """Time that the steps will need on a machine: from steps timed now, else from its copy
        bandwidth measured now.
        """
        speed, why = "", "by a few steps timed now"
        if step is None:
            bandwidth = machine.copy_bandwidth(COPIED)
            step = sum(plan.traffic.values()) / (self.reached * bandwidth)
            speed = f": copies {bandwidth / 1e9:,.1f} GB/s (measured now)"
            why = f"if steps reach {self.reached:.0%} of that (as measured for large grids)"
        lines = [
            "Estimate",
            f"  {machine.describe()}{speed}",
            f"  about {duration(step * plan.steps)} for {plan.steps:,} steps, {rate(plan.points, step)}, {why}",
        ]
        count, writing = len(plan.channels), WRITING * len(plan.channels)
        if writing >= 1:
            lines.append(f"  and about {duration(writing)} to write the {count:,} channels")
        return "\n".join(lines)

    def header(self, scenario, plan, machine, out):
        """Grid, steps, order, memory, device."""
        free, _ = machine.memory()
        rows = [
            ("grid", f"{plan.totals.grid.words()}{f' for each of {len(plan.shots)} shots' if plan.shots else ''}"),
            ("steps", f"{plan.steps:,} of {plan.dt:.6g} s, to t = {plan.end:.4g} s"),
            ("method", f"{plan.solver}, {self.sharpness(scenario.run)}, {plan.precision}"),
            ("memory", f"{megabytes(plan.nbytes)} of {megabytes(free)} free"),
            ("device", machine.describe()),
            ("out", f"{out}"),
        ]
        return text_sections({plan.title or self.waves: rows})

    def summary(self, result, paths):
        """How fast it was, and where everything is."""
        report, out = result.report, result.out
        seconds, receivers = report["seconds"], result.plan.receivers
        lines = [
            f"done: {report['steps_done']:,} steps, {rate(report['point_steps_per_second'], 1)} over {seconds['steady']:.1f} s, "
            f"after {seconds['commit'] + seconds['first step']:.1f} s for kernels and the first step"
        ]
        contents = {
            "result.zarr": [f"{', '.join(result.scenario.output.waveforms)} at {len(receivers)} receivers"]
            * bool(len(receivers))
            + ([f"fibres: strain rate in {len(receivers.fibres)} channels"] if receivers.fibres is not None else [])
            + [f"snapshots/{f.name}: {len(f.steps)} of {f.quantity}" for f in result.plan.snapshots]
            + [f"recordings/{r.name}: {r.places:,} places" for r in result.plan.recordings]
            + [f"peaks/{p.name}: {', '.join(p.quantities)}" for p in result.plan.peaks],
            "waveforms.mseed": ["the waveforms as MiniSEED"],
            "stations.xml": ["the receivers as StationXML"],
            "event.quakeml": ["the event as QuakeML"],
            "mesh.vtu": ["the mesh with its media, for ParaView and PyVista"],
            "scenario.toml": ["the scenario as it was run"],
            "run.json": ["device, timings, versions"],
        }
        width = max(len(str(path)) for path in paths)
        lines += [f"  {str(path):<{width}}  {'; '.join(contents.get(path.name, ()))}".rstrip() for path in paths]
        return "\n".join([*lines, f"next: craton plot {out}"])


def with_sources(dataset, scenario):
    """Return a dataset of many shots with their positions: source_x, source_y, source_z over shot.

    Parameters
    ----------
    dataset : xarray.Dataset
    scenario : Scenario
    """
    import numpy as np

    from craton.output.dataset import source_coordinates
    from craton.survey import geography
    from craton.survey.shots import split

    places = {shot.name: shot.place() for shot in split(scenario)}
    xyz = np.array([places[str(name)] for name in dataset.shot.values])
    return dataset.assign_coords(source_coordinates(xyz, geography.local_of(scenario.domain)))
