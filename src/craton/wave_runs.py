"""Wave scenarios: whether a run fits, the run with its time loop, its result and what it leaves on disk."""
import os
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from craton.errors import ComputationError, CratonError, Interrupted, Problem, ResourceError, ScenarioError

MESH = "mesh.vtu"
MANY_RANKS = ("fd", "sem")  # methods that run on several
BUILT_APART = ("sem",)  # of them, those of which each rank builds its own part


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

        They are free of the leapfrog's error in time, unless the computation failed. Of several ranks, rank 0 has them.
        """
        if self.plan.part and any(self.plan.part.place):
            raise CratonError("rank 0 has the waveforms")
        if self._dataset is None:
            from craton.output.dataset import waveforms

            output, plan = self.scenario.output, self.plan
            quantities = output.waveforms if len(plan.receivers) else ()
            self._dataset = waveforms(self._records(), plan.channels, plan.receivers, plan.dt, plan.start, quantities, output.sampling,
                                      self._attributes(), plan.steps - plan.extra, plan.shots, self.scenario.domain.motion)  # fmt: skip
            if plan.receivers.globe is not None:
                from craton.survey.globe import local

                self._dataset = local(self._dataset, plan.receivers.globe, plan.receivers.source)
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


def share(scenario, planned, comm):
    """The plan of this rank; of one alone the plan itself.

    Raises
    ------
    ScenarioError
        The grid cannot be cut into so many parts.
    """
    if comm.size == 1 or planned.part:
        return planned
    from craton.methods.shared.ranks import shared

    return shared(planned, comm.rank, comm.size, scenario.run.grid)


def check_memory(planned, machine, ranks=1):
    """Refuse what does not fit into the machine's free memory; on a CPU into the host's, for all its `ranks`."""
    free, _ = machine.memory()
    needed = planned.nbytes * (1 if hasattr(machine, "stream") else ranks)
    if needed > free:
        coarser = 1.01 * (needed / free) ** (1 / 3)
        fits = f"domain.spacing = {planned.grid.spacing * coarser:.4g} m, or a smaller domain"
        if getattr(planned.grid, "from_file", False):
            fits = f"a mesh whose elements are {coarser:.3g} times longer"
        raise ResourceError(f"the run needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free on {machine.describe()}.\n"
                            f"    it fits with {fits}")  # fmt: skip


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


def run(scenario, planned, machine, progress=True, comm=None):
    """Run a plan (of several ranks: this one's) and keep nothing on disk: Result."""
    from craton.comm import agreed, ranks
    from craton.comm.local import Alone

    comm = ranks(comm) if comm else Alone()
    with agreed(comm):
        program = commit(planned, machine)
    return march(scenario, program, None, progress, comm).finished()


def resumable(out):
    """The checkpoint from which a run can go on: `craton.driver.checkpoint.Saved`.

    Raises
    ------
    ScenarioError
        There is no run, it is finished or goes on, or it has left no checkpoint.
    """
    from craton.driver.checkpoint import latest
    from craton.output.store import check_alone, read_run

    state, saved = read_run(out), latest(out)
    if not state:
        raise ScenarioError([Problem("OUT", f"there is no run in {out}", "name the directory that `craton run` wrote to")])
    check_alone(Path(out), state)
    if state.get("state") == "finished":
        raise ScenarioError([Problem("OUT", f"the run in {out} is finished: there is nothing to go on with", "")])
    if saved is None:
        remedy = f'run {Path(out) / "scenario.toml"} anew; run.checkpoint = "10 min" writes one every ten minutes'
        raise ScenarioError([Problem("OUT", f"the run in {out} has left no checkpoint", remedy)])
    return saved


def run_into(scenario, planned, machine, out, force=False, progress=True, comm=None, saved=None):
    """Run with an OUT directory: snapshots as it goes, waveforms at the end, whatever the end is. Rank 0 keeps the books.

    With a checkpoint (`resumable`) it goes on from there.
    """
    from craton.comm import agreed, ranks
    from craton.comm.local import Alone
    from craton.driver.checkpoint import remove
    from craton.output.store import Store, ended

    comm, store = ranks(comm) if comm else Alone(), None
    with agreed(comm):
        if comm.rank == 0:
            check_disk(planned, out, force, scenario.run.checkpoint)
        program = commit(planned, machine)
        if saved:
            saved.restore(program, comm.rank)
    with agreed(comm):
        if comm.rank == 0:
            store = Store.again(out) if saved else begun(scenario, planned, machine, out, force)
    team = comm.gather({"rank": comm.rank, "host": comm.host, "pid": os.getpid(), "device": machine.describe(), "nbytes": planned.nbytes})
    try:
        if store and comm.size > 1:
            store.update(ranks=team)
        result = filmed(scenario, program, out, progress, comm, store, saved)
        result.out = Path(out)
        if store:
            keep(result, store)
    except BaseException as failure:
        ended(out, failure, f"rank {comm.rank} on {comm.host}: " if comm.size > 1 else "")
        raise
    if store:
        state = {type(None): "finished", Interrupted: "interrupted"}.get(type(result.error), "failed")
        if state == "finished":
            remove(out)
        store.finish(state, **result.report, **({"reason": str(result.error)} if result.error else {}))
    return result.finished()


def check_disk(planned, out, force, checkpoint=None):
    """Refuse a directory that cannot be written to or has too little space, for two checkpoints as well where they are asked for."""
    from craton.output.store import check_out, check_space

    whole = planned.whole or planned
    state = 2 * whole.state_bytes if checkpoint else 0
    check_out(out, force)
    check_space(out, 4 * planned.steps * len(planned.channels) + sum(f.nbytes for f in planned.frames) + state)


def begun(scenario, planned, machine, out, force):
    """The Store of a run that can begin."""
    from craton.output.store import Store
    from craton.scenario import dumps

    store = Store(out, force)
    try:
        store.write_scenario(dumps(scenario))
        store.update(device=machine.describe(), precision=planned.precision, steps=planned.steps)
        store.update(points=(planned.whole or planned).points, nbytes=planned.nbytes)
    except BaseException as failure:
        store.finish("failed", reason=str(failure) or type(failure).__name__)
        raise
    return store


def filmed(scenario, program, out, progress, comm, store, saved):
    """The time loop with its snapshots: every rank writes its part of them. Rank 0 lays the series out and closes them."""
    from craton.comm import agreed
    from craton.driver.checkpoint import Checkpoints
    from craton.output.snapshots import SnapshotWriter
    from craton.output.store import RESULT
    from craton.scenario import dumps

    writer = SnapshotWriter(Path(out) / RESULT)
    try:
        for first in (True, False):
            with agreed(comm):
                if (comm.rank == 0) == first:
                    declare(program.plan, writer, first, saved)
                    writer.settle()
        flush = partial(flushed, scenario, program, store) if store else None
        checkpoints = Checkpoints(out, program, comm, dumps(scenario), scenario.run.checkpoint, writer.settle, flush,
                                  saved.step if saved else 0)  # fmt: skip
        result = march(scenario, program, writer, progress, comm, checkpoints, saved)
        with agreed(comm):
            if comm.rank:
                writer.close(last=False)
        return result
    finally:
        writer.close(last=comm.rank == 0)


def declare(planned, writer, create, saved=None):
    """Name all series of snapshots to a writer; those of a run that goes on are there."""
    from craton.driver.snapshots import tiling

    parts = planned.sharing.get("parts")
    for f in planned.frames:
        chunk, done = tiling(f, parts).chunk if parts and f.lattice else None, int((f.steps < saved.step).sum()) if saved else None
        writer.add_series(f.name, {f.quantity: f.components}, f.coords, f.times, chunk=chunk, create=create, done=done)


def flushed(scenario, program, store, samples):
    """Write the waveforms of a run that goes on."""
    write_records(Result(scenario, program.plan, samples, {"device": program.backend.describe()}), store)


def keep(result, store):
    """Write waveforms in every format that can be written."""
    from craton.output import export

    write_records(result, store)
    if len(result.plan.receivers) and len(result.samples) and not result.plan.shots:  # the other formats know one experiment
        export(result.dataset, store.path, result.scenario.output.network)
    if getattr(result.scenario.output, "mesh", False):
        from craton.output.mesh import write_mesh

        mesh, media = (result.plan.whole or result.plan).grid.media()
        write_mesh(store.path / MESH, mesh, cell_data=media)


def write_records(result, store):
    """Write waveforms and fibres to the store."""
    from craton.output.dataset import time_axis

    plan = result.plan
    samples = len(time_axis(plan.steps - plan.extra, plan.dt, plan.start, result.scenario.output.sampling))
    if plan.receivers.fibres is not None and len(result.samples):
        store.write_fibres(result.fibres, samples)
    if len(plan.receivers) and len(result.samples):
        store.write_waveforms(result.dataset, samples)


def march(scenario, program, writer, progress, comm, checkpoints=None, saved=None):
    """The time loop with its recorder; an error that ends it early is kept in the result, beside what was recorded.

    A run that is interrupted leaves a checkpoint.
    """
    from craton.comm.halos import exchange
    from craton.driver.march import march as loop
    from craton.driver.progress import progress_bar
    from craton.driver.recorder import Recorder, Signals

    planned, error = program.plan, None
    halos = comm if comm.size == 1 else exchange(program, comm, say if comm.rank == 0 else None)
    with progress_bar(planned.steps, (planned.whole or planned).points, planned.title, not progress, saved.step if saved else 0) as report:
        before = saved.record if saved and comm.rank == 0 else None
        recorder = Recorder(program, writer, report, comm, checkpoints, saved.step if saved else 0, before)
        with Signals(recorder):
            try:
                loop(program, halos, recorder, planned.steps, recorder.begun)
            except CratonError as e:
                if comm.size > 1 and not hasattr(e, "agreed"):
                    raise
                error = e
                recorder.drain()
                if isinstance(e, Interrupted):
                    leave(recorder, e)
    program.backend.finish()
    return Result(scenario, planned, recorder.recorded, timings(program, recorder, time.perf_counter(), halos, comm), error=error)


def leave(recorder, error):
    """A checkpoint of a run that was interrupted; where it cannot be written, the error says so."""
    try:
        recorder.keep()
    except ResourceError as reason:
        error.args = (f"{error}; it cannot be resumed: {reason}",)


def say(text):
    """A sentence about how it is run, on standard error."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def timings(program, recorder, end, halos, comm):
    """What run.json says of the run: compile and first step apart from steady steps."""
    from craton.versions import versions

    planned, machine, clock = program.plan, program.backend, recorder.clock
    points = (planned.whole or planned).points
    first = clock.get("first step", end)
    steady = recorder.done - recorder.begun - 1
    rate = steady * points / (end - first) if steady > 0 and end > first else 0.0
    shared = {"waiting": comm.gather(halos.waited / max(end - clock["start"], 1e-9)), "exchange": halos.name} if comm.size > 1 else {}
    return {
        "device": machine.describe(), "precision": planned.precision, "steps_done": recorder.done, "points": points,
        "seconds": {"commit": program.seconds, "first step": first - clock["start"], "steady": end - first},
        "point_steps_per_second": rate, "least_bytes_per_step": sum((planned.whole or planned).traffic.values()), **shared,
        "versions": versions(),
    }  # fmt: skip
