"""Wave scenarios: whether a run fits, the run with its time loop, its result and what it leaves on disk."""
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from craton.errors import ComputationError, CratonError, Interrupted, ResourceError


@dataclass
class Result:
    """What a run leaves.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan
    samples : ndarray
        Recorded channels as they were sampled, (steps, channels), some steps past the end included (`plan.extra`).
    report : dict
        Device, timings, rate.
    out : Path or None
        The OUT directory, if there is one.
    error : CratonError or None
        What ended the run early.
    """

    scenario: Any
    plan: Any
    samples: Any
    report: dict
    out: Path | None = None
    error: Exception | None = None
    _dataset: Any = field(default=None, repr=False)
    _corrected: Any = field(default=None, repr=False)

    def finished(self):
        """Itself; raises the error that ended the run early, if one did."""
        if self.error:
            raise self.error
        return self

    @property
    def dataset(self):
        """The waveforms as an xarray.Dataset: velocity(receiver, component, time) and the like.

        They are free of the leapfrog's error in time, unless the computation failed.
        """
        if self._dataset is None:
            from craton.output.dataset import waveforms

            output, plan = self.scenario.output, self.plan
            quantities = output.waveforms if len(plan.receivers) else ()
            self._dataset = waveforms(self._records(), plan.channels, plan.receivers, plan.dt, plan.start, quantities, output.sampling,
                                      self._attributes(), plan.steps - plan.extra, plan.shots, self.scenario.domain.motion)  # fmt: skip
        return self._dataset

    @property
    def fibres(self):
        """What fibres recorded as an xarray.Dataset, strain_rate(channel, time); None without fibres."""
        plan = self.plan
        if plan.receivers.fibres is None:
            return None
        from craton.output.fibres import dataset

        return dataset(self._records(), plan.channels, plan.receivers.fibres, plan.dt, plan.start, self.scenario.output.sampling,
                       self._attributes(), plan.steps - plan.extra)  # fmt: skip

    def _records(self):
        """Channels free of the leapfrog's error in time; as they are where the computation failed."""
        from craton.output.dataset import corrected

        if self._corrected is None:
            failed = isinstance(self.error, ComputationError)
            self._corrected = self.samples if failed else corrected(self.samples, self.plan.channels, self.plan.dt, self.plan.band)
        return self._corrected

    def _attributes(self):
        from craton.scenario import dumps

        about = {"title": self.plan.title, "scenario": dumps(self.scenario)}
        return about | {"precision": self.plan.precision, "device": self.report["device"]}

    def stream(self):
        """The waveforms as an obspy.Stream; needs the `seis` extra."""
        from craton.output.waveforms import stream

        return stream(self.dataset, self.scenario.output.network)


def check_memory(planned, machine):
    """Refuse what does not fit into the machine's free memory."""
    free, _ = machine.memory()
    if planned.nbytes > free:
        finest = planned.grid.spacing * (planned.nbytes / free) ** (1 / 3)
        raise ResourceError(f"the run needs {planned.nbytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free on {machine.describe()}.\n"
                            f"    it fits with domain.spacing = {finest * 1.01:.4g} m, or a smaller domain")  # fmt: skip


def commit(planned, machine):
    """The plan on the machine."""
    begin = time.perf_counter()
    try:
        program = machine.commit(planned)
    except MemoryError as e:
        raise ResourceError(f"{machine.describe()} ran out of memory: the run needs {planned.nbytes / 2**30:.1f} GiB") from e
    machine.finish()
    program.seconds = time.perf_counter() - begin
    return program


def run(scenario, planned, machine, progress=True):
    """Run a plan and keep nothing on disk: Result."""
    return march(scenario, commit(planned, machine), None, progress).finished()


def run_into(scenario, planned, machine, out, force=False, progress=True):
    """Run with an OUT directory: snapshots as it goes, waveforms at the end, whatever the end is."""
    from craton.output.store import Store, check_out, check_space
    from craton.scenario import dumps

    check_out(out, force)
    check_space(out, 4 * planned.steps * len(planned.channels) + sum(f.nbytes for f in planned.frames))
    program = commit(planned, machine)
    store = Store(out, force)
    try:
        store.write_scenario(dumps(scenario))
        store.update(device=machine.describe(), precision=planned.precision, steps=planned.steps)
        store.update(points=planned.points, nbytes=planned.nbytes)
        with store.snapshots() as writer:
            for f in planned.frames:
                writer.add_series(f.name, {f.quantity: f.components}, f.coords, f.times)
            result = march(scenario, program, writer, progress)
        result.out = store.path
        keep(result, store)
    except BaseException as failure:
        store.finish("interrupted" if isinstance(failure, KeyboardInterrupt) else "failed", reason=str(failure) or type(failure).__name__)
        raise
    state = {type(None): "finished", Interrupted: "interrupted", ComputationError: "failed"}[type(result.error)]
    store.finish(state, **result.report, **({"reason": str(result.error)} if result.error else {}))
    return result.finished()


def keep(result, store):
    """Write waveforms in every format that can be written."""
    from craton.output import export

    if result.plan.receivers.fibres is not None and len(result.samples):
        store.write_fibres(result.fibres)
    if len(result.plan.receivers) and len(result.samples):
        store.write_waveforms(result.dataset)
        if result.plan.shots:
            return  # the other formats know one experiment
        export(result.dataset, store.path, result.scenario.output.network)


def march(scenario, program, writer, progress):
    """The time loop with its recorder; an error that ends it early is kept in the result, beside what was recorded."""
    from craton.comm.local import Alone
    from craton.run.march import march as loop
    from craton.run.progress import progress_bar
    from craton.run.recorder import Recorder, Signals

    planned, error = program.plan, None
    with progress_bar(planned.steps, planned.points, planned.title, quiet=not progress) as report:
        recorder = Recorder(program, writer, report)
        with Signals(recorder):
            try:
                loop(program, Alone(), recorder, planned.steps)
            except CratonError as e:
                error = e
                recorder.drain()
    program.backend.finish()
    return Result(scenario, planned, recorder.recorded, timings(program, recorder, time.perf_counter()), error=error)


def timings(program, recorder, end):
    """What run.json says of the run: compile and first step apart from steady steps."""
    from craton.versions import versions

    planned, machine, clock = program.plan, program.backend, recorder.clock
    first = clock.get("first step", end)
    rate = (recorder.done - 1) * planned.points / (end - first) if recorder.done > 1 and end > first else 0.0
    return {
        "device": machine.describe(), "precision": planned.precision, "steps_done": recorder.done, "points": planned.points,
        "seconds": {"commit": program.seconds, "first step": first - clock["start"], "steady": end - first},
        "point_steps_per_second": rate, "least_bytes_per_step": sum(planned.traffic.values()),
        "versions": versions(),
    }  # fmt: skip
