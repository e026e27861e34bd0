"""Waves, driven: whether a plan fits, its program, the time loop with its observers, what is written of it."""

import logging
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from craton.backends import cpu
from craton.backends.base import Program
from craton.comm import Comm, agreed
from craton.comm.halos import connect
from craton.core.deferred import rings, rolling_series, with_rings
from craton.core.plan import RECORD_IN_MEMORY
from craton.driver import march as loop
from craton.driver.checkpoint import Checkpoints
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.driver.observers.films import films_of
from craton.driver.observers.guard import REPEAT, REPEAT_OF_RANKS, Clock, Guard, Stop, handled
from craton.driver.observers.record import Record, Waveforms, opened, recordings, write_records
from craton.driver.observers.snapshots import Snapshots
from craton.driver.progress import Progress, progress_bar
from craton.driver.result import Result
from craton.errors import CratonError, Interrupted, ResourceError, ScenarioError
from craton.methods import METHODS
from craton.output import peaks
from craton.output import store as stores
from craton.versions import versions

MESH = "mesh.vtu"
MANY = 1000  # receivers whose files take long enough to say so
# what is timed before a run: steps, about how long, and bytes of a plan, many times the caches of a processor
TRIAL_STEPS, TRIAL_SECONDS, TRIAL_BYTES = (3, 20), 0.4, 256 << 20
SNAPSHOT_SHARE = 0.5  # of the free memory, that snapshots of a run without a folder may take


def check_memory(planned, machine, ranks=1, held=0):
    """Refuse what does not fit into the machine's free memory; on a CPU into the host's, for all
    its `ranks`. The bytes `held` are of arrays that the plan takes over.

    What the plan itself holds is in memory already.
    """
    (free, _), (host, _) = machine.memory(), cpu.host_memory()
    needed, record = planned.nbytes - held, planned.record_memory if planned.rank == 0 else 0
    pictures = planned.snapshot_memory * ranks
    if machine.shares_host_memory:
        needed = needed * ranks + record + pictures
    elif record + pictures > host:
        raise ResourceError(
            f"the record needs {record / 2**30:.1f} GiB and snapshots need {pictures / 2**30:.1f} "
            f"GiB, {host / 2**30:.1f} GiB are free on this host: take fewer receivers, or a larger "
            "stride of the snapshots"
        )
    if needed > free:
        fits = planned.grid.coarser(1.01 * (needed / free) ** (1 / 3))
        raise ResourceError(
            f"the run needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free on {machine.describe()}.\n"
            f"    it fits with {fits}"
        )


def trial(scenario, planned, machine):
    """Return the seconds of a time step, measured, of a large grid on a part of it; None on a
    machine where compiling alone would take longer than a guess is worth.
    """
    if not machine.shares_host_memory:
        return None
    count = -(-planned.nbytes // TRIAL_BYTES)  # parts, of which one is timed
    method = METHODS[scenario.method]
    if count == 1 or method.plans_by_rank:
        return step_seconds(planned, machine)
    try:
        part = method.subdomain(scenario, planned, count // 2, count)
    except ScenarioError:  # not to be cut into so many
        return step_seconds(planned, machine)
    # without neighbours its phases share passes through memory as those of the whole do
    alone = replace(part, partition=(), rank=0)
    return step_seconds(alone, machine) * planned.points / alone.points


def commit(scenario, planned, machine, arrays=None):
    """Return the plan on the machine, filled from the scenario; `arrays` have their values already
    (`Machine.commit`). Series that can be read as the run goes have rings, which `craton.core.deferred.rings` fills.
    """
    begin = time.perf_counter()
    try:
        fills = METHODS[scenario.method].fills(scenario, planned)
        program = machine.commit(with_rings(planned), fills, arrays)
    except MemoryError as e:
        raise ResourceError(
            f"{machine.describe()} ran out of memory: the run needs {planned.nbytes / 2**30:.1f} GiB"
        ) from e
    machine.finish()
    program.rolling = rolling_series(planned)
    program.seconds = time.perf_counter() - begin
    return program


def check_disk(job: Job) -> None:
    """Refuse a directory that cannot be written to or has too little space, for three checkpoints
    as well where they are asked for: two are retained while another one is written.
    """
    plan = job.plan
    state = 3 * plan.totals.state_bytes if job.scenario.run.checkpoint else 0
    stores.check_out(job.out, job.force)
    stores.check_space(
        job.out,
        plan.record_bytes * (plan.record_bytes > RECORD_IN_MEMORY)
        + written_bytes(job.scenario, plan)
        + sum(f.nbytes for f in (*plan.snapshots, *plan.recordings))
        + state,
    )


def written_bytes(scenario, planned):
    """Return the bytes of the waveforms of a run before compression: all quantities that it writes,
    of which several may follow from one that is recorded.
    """
    from craton.conventions import recorded_as
    from craton.output.dataset import TimeAxis

    times = len(TimeAxis.of(planned, scenario.output).times)
    recorded = [recorded_as(quantity) for quantity in scenario.output.waveforms]
    repeats = max(1, max(map(recorded.count, recorded), default=1))
    return times * len(planned.channels) * repeats * np.dtype(planned.precision).itemsize


def prepare(job: Job) -> Program:
    """Return the plan on the machine, in the state of a checkpoint where there is one."""
    program = commit(job.scenario, job.plan, job.machine)
    if job.saved:
        job.saved.restore(program, job.comm.rank)
    return program


def facts(plan):
    """Return what run.json says of a plan."""
    return {"precision": plan.precision, "steps": plan.steps, "points": plan.totals.points, "nbytes": plan.nbytes}


def compute(job: Job, program: Program, store: Any = None) -> Result:
    """Run the time loop and return the Result. With an output folder, each rank writes its part of the snapshots."""
    return in_memory(job, program) if job.out is None else in_folder(job, program, store)


def in_memory(job: Job, program: Program) -> Result:
    """Run the time loop with its snapshots in memory, where one rank takes them and they fit."""
    from craton.output.snapshots import SnapshotMemory

    series, log = program.plan.snapshots, logging.getLogger("craton")
    if program.plan.recordings and job.comm.rank == 0:
        log.warning("recordings are not taken: give out=")
    nbytes, (free, _) = sum(f.nbytes for f in series), cpu.host_memory()
    reason = "they are taken by one rank, or with a folder" if job.comm.size > 1 else ""
    if nbytes > SNAPSHOT_SHARE * free:
        reason = f"they need {nbytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free; give out="
    if series and reason and job.comm.rank == 0:
        log.warning("snapshots are not taken: %s", reason)
    if not series or reason:
        return march(job, program)
    snapshots = Snapshots(job, program, SnapshotMemory())
    snapshots.declare()
    result = march(job, program, [snapshots])
    result.in_memory = snapshots.writer.datasets(result.attributes)
    return result


def in_folder(job: Job, program: Program, store: Any) -> Result:
    """Run the time loop with what it writes as it goes: every rank its part of the snapshots."""
    from craton.output.snapshots import SnapshotWriter

    path, films = Path(job.out) / stores.RESULT, films_of(job)
    with ExitStack() as ending:
        writer = SnapshotWriter(path)
        ending.callback(writer.close, last=job.comm.rank == 0)
        snapshots = Snapshots(job, program, writer)
        snapshots.lay_out()
        record = Record(job, program)
        with agreed(job.comm):
            drains = recordings(job, program, path)
        waveforms = Waveforms(job, record, store)

        def settle(step):
            writer.settle()
            waveforms.write(step)

        timed = (Checkpoints(job, program, record, drains, settle), waveforms)
        for film in films:
            ending.callback(film.close)
        result = march(job, program, [snapshots, *films, *drains], record, timed)
        snapshots.finish()
        for film in films:
            film.finish()
        return result


def keep(result, store, progress=False):
    """Write waveforms in every format that can be written; of many receivers a line says which one
    is being written.
    """
    from craton.output import export

    count = len(result.plan.receivers)

    def tell(name):
        if progress and count >= MANY:
            print(f"{count:,} receivers: writing {name}", file=sys.stderr, flush=True)

    tell(store.zarr.name)
    write_records(result, store)
    peaks.write(result.peaks, store.zarr)
    # the other formats know one experiment
    if count and len(result.samples) and not result.plan.shots:
        network = result.scenario.output.network
        export(opened(result, store), store.path, network, tell)
    if result.plan.cells is not None:
        from craton.io.vtu import write_mesh

        write_mesh(store.path / MESH, result.plan.cells, cell_data=result.plan.cells.values)


def march(
    job: Job,
    program: Program,
    observers: Sequence[Observer] = (),
    record: Record | None = None,
    timed: Sequence[Any] = (),
) -> Result:
    """Run the time loop and return the Result, which keeps an error that ends the loop early beside what was recorded.

    `timed` are the checkpoints and what else is due by the clock of rank 0 (`Guard`). A run that is interrupted leaves a
    checkpoint.
    """
    plan, comm, log = program.plan, job.comm, logging.getLogger("craton")
    connect(program, comm, log.info if comm.rank == 0 else None)
    record, error = record or Record(job, program), None
    stop, clock = Stop(REPEAT_OF_RANKS if comm.size > 1 else REPEAT), Clock(job)
    guard = Guard(job, program, clock, stop, timed)
    watching = [clock, *observers, *rings(program, job.begun), record, *job.observers, guard]
    bar = progress_bar(plan.steps, plan.totals.points, plan.title, not job.progress, job.begun)
    with bar as report, handled(stop), ExitStack() as ending:
        watching += [Progress(report, guard)] if report else []
        for observer in watching:
            ending.callback(observer.close)
        try:
            loop.march(program, watching, plan.steps, job.begun, comm.pulse)
        except CratonError as failure:
            if comm.size > 1 and failure.agreed is None:
                raise
            error = failure
            record.see(clock.done, program)
            if isinstance(error, Interrupted) and timed:
                error = left(timed[0], clock.done, program, error)
        finally:
            comm.pulse.rest()
    program.backend.finish()
    report = timings(program, clock, time.perf_counter(), comm)
    measured = peaks.collected(program, comm) if plan.peaks else {}
    return Result(job.scenario, plan, record.samples[: clock.done], report, error=error, measured=measured)


def left(checkpoints: Observer, step: int, program: Program, error: Interrupted) -> Interrupted:
    """Leave a checkpoint of a run that was interrupted; where it cannot be written, the error that is returned says so."""
    try:
        checkpoints.see(step, program)
    except ResourceError as reason:
        return Interrupted(f"{error}; it cannot be resumed: {reason}").on_all_ranks()
    return error


def timings(program: Program, clock: Clock, end: float, comm: Comm) -> dict[str, Any]:
    """Return what run.json says of the run: compile and first step apart from steady steps."""
    planned, machine, points = program.plan, program.backend, program.plan.totals.points
    first, steady = clock.first or end, clock.done - clock.begun - 1
    rate = steady * points / (end - first) if steady > 0 and end > first else 0.0
    shared = {}
    if program.exchange is not None:
        waiting = comm.gather(program.exchange.waited / max(end - clock.start, 1e-9))
        shared = {"waiting": waiting, "exchange": program.exchange.name}
    return {
        "device": machine.describe(),
        "precision": planned.precision,
        "steps_done": clock.done,
        "points": points,
        "seconds": {
            "commit": program.seconds,
            "first step": first - clock.start,
            "steady": end - first,
            "processor": time.process_time() - clock.processor,
        },
        "point_steps_per_second": rate,
        "least_bytes_per_step": sum(planned.totals.traffic.values()),
        **shared,
        "versions": versions(),
    }


def step_seconds(plan, machine, clock=time.perf_counter):
    """Return the seconds of a time step, the median of a few after a first one.

    Material that a run fills when it is committed is constant here: kernels are as fast with it.

    Parameters
    ----------
    plan : Plan
        It takes the memory of a run while it is timed.
    machine : Machine
    clock : callable
        ``time.process_time`` where other work holds the cores.

    Returns
    -------
    float
    """
    fills = {a.part_of or name: constant for name, a in plan.arrays.items() if a.filled}
    program = machine.commit(with_rings(plan), fills)
    seconds, begin = [], clock()
    least, most = (min(steps, plan.steps - 1) for steps in TRIAL_STEPS)
    while len(seconds) <= least or (len(seconds) <= most and clock() - begin < TRIAL_SECONDS):
        start = clock()
        program.step(len(seconds))
        machine.finish()
        seconds.append(clock() - start)
    return float(np.median(seconds[1:] or seconds))


def constant(arrays, box):
    """Fill arrays with ones.

    Parameters
    ----------
    arrays : dict of str to ndarray
    box : tuple of int
        Of the whole grid; unused.
    """
    for array in arrays.values():
        array[...] = 1
