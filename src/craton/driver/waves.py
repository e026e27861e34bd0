"""Waves, driven: whether a plan fits, its program, the time loop with what looks at it, what is
kept of it.
"""

import logging
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from craton.core.plan import RECORD_IN_MEMORY
from craton.core.rolling import rolling_series, with_rings
from craton.driver.films import films_of
from craton.driver.records import Waveforms, opened, write_records
from craton.driver.result import Result
from craton.errors import CratonError, Interrupted, ResourceError, ScenarioError
from craton.methods import METHODS
from craton.output import peaks

MESH = "mesh.vtu"
MANY = 1000  # receivers whose files take long enough to say so
SNAPSHOT_SHARE = 0.5  # of the free memory, that snapshots of a run without a folder may take


def check_memory(planned, machine, ranks=1, held=0):
    """Refuse what does not fit into the machine's free memory; on a CPU into the host's, for all
    its `ranks`. The bytes `held` are of arrays that the plan takes over.

    What the plan itself holds is in memory already.
    """
    from craton.backends.cpu import host_memory

    (free, _), (host, _) = machine.memory(), host_memory()
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
    from craton.driver.trial import parts_to_time, step_seconds

    if not machine.shares_host_memory:
        return None
    count = parts_to_time(planned)
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
    (`Machine.commit`). Series that can be read as the run goes have rings, which `Recorder` fills.
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


def check_disk(scenario, planned, out, force):
    """Refuse a directory that cannot be written to or has too little space, for three checkpoints
    as well where they are asked for: two are retained while another one is written.
    """
    from craton.output.store import check_out, check_space

    state = 3 * planned.totals.state_bytes if scenario.run.checkpoint else 0
    check_out(out, force)
    check_space(
        out,
        planned.record_bytes * (planned.record_bytes > RECORD_IN_MEMORY)
        + written_bytes(scenario, planned)
        + sum(f.nbytes for f in (*planned.snapshots, *planned.recordings))
        + state,
    )


def written_bytes(scenario, planned):
    """Return the bytes of the waveforms of a run before compression: all quantities that it writes,
    of which several may follow from one that is recorded.
    """
    from craton.conventions import recorded_as
    from craton.output.dataset import time_axis

    span = planned.steps - planned.extra, planned.dt, planned.start
    times = len(time_axis(*span, scenario.output.sampling))
    recorded = [recorded_as(quantity) for quantity in scenario.output.waveforms]
    repeats = max(1, max(map(recorded.count, recorded), default=1))
    return times * len(planned.channels) * repeats * np.dtype(planned.precision).itemsize


def prepare(scenario, plan, machine, comm, saved=None):
    """Return the plan on the machine, in the state of a checkpoint where there is one."""
    program = commit(scenario, plan, machine)
    if saved:
        saved.restore(program, comm.rank)
    return program


def facts(plan):
    """Return what run.json says of a plan."""
    return {"precision": plan.precision, "steps": plan.steps, "points": plan.totals.points, "nbytes": plan.nbytes}


def compute(scenario, plan, program, comm, progress=True, out=None, store=None, saved=None):
    """Return the time loop: `Result`; with a directory, every rank writes its part of the
    snapshots.
    """
    if out is None:
        return in_memory(scenario, program, progress, comm)
    return with_snapshots(scenario, program, out, progress, comm, store, saved)


def in_memory(scenario, program, progress, comm):
    """Return the time loop with its snapshots in memory, where one rank takes them and they fit."""
    from craton.backends.cpu import host_memory
    from craton.output.snapshot_memory import SnapshotMemory

    series = program.plan.snapshots
    if program.plan.recordings and comm.rank == 0:
        logging.getLogger("craton").warning("recordings are not taken: give out=")
    if not series:
        return march(scenario, program, None, progress, comm)
    nbytes, (free, _) = sum(f.nbytes for f in series), host_memory()
    reason = "they are taken by one rank, or with a folder" if comm.size > 1 else ""
    if nbytes > SNAPSHOT_SHARE * free:
        reason = f"they need {nbytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free; give out="
    if reason:
        if comm.rank == 0:
            logging.getLogger("craton").warning("snapshots are not taken: %s", reason)
        return march(scenario, program, None, progress, comm)
    memory = SnapshotMemory()
    declare(program.plan, memory, True)
    result = march(scenario, program, memory, progress, comm)
    result.in_memory = memory.datasets(result.attributes)
    return result


def with_snapshots(scenario, program, out, progress, comm, store, saved):
    """Return the time loop with its snapshots: every rank writes its part of them.

    Rank 0 lays the series out and closes them.
    """
    from craton.comm import agreed
    from craton.driver.checkpoint import Checkpoints
    from craton.driver.recordings import tapes_of
    from craton.output.inputs import Inputs
    from craton.output.snapshots import SnapshotWriter
    from craton.output.store import RESULT

    films = films_of(scenario, program.plan, out) if comm.rank == 0 else None
    writer, chunks = SnapshotWriter(Path(out) / RESULT, told=films and films.taken), None
    try:
        if saved:
            chunks = stored_chunks(program.plan.snapshots, Path(out) / RESULT, comm)
        for first in (True, False):
            with agreed(comm):
                if (comm.rank == 0) == first:
                    declare(program.plan, writer, first, saved, chunks)
                    writer.settle()
        waveforms = Waveforms(scenario, program, store) if store else None
        with agreed(comm):
            tapes = tapes_of(program, comm, Path(out) / RESULT, saved.step if saved else 0)
        checkpoints = Checkpoints(
            out,
            program,
            comm,
            Inputs(scenario).text(scenario),
            scenario.run.checkpoint,
            writer.settle,
            waveforms.write if waveforms else None,
            saved.step if saved else 0,
        )
        result = march(scenario, program, writer, progress, comm, checkpoints, saved, chunks, waveforms, tapes)
        with agreed(comm):
            if comm.rank:
                writer.close(last=False)
        if films:
            writer.close()
            films.finish()
        return result
    finally:
        if films:
            films.stop()
        writer.close(last=comm.rank == 0)


def stored_chunks(series, root, comm):
    """Return the chunks of all series of a store, points along each axis by name; of the store that
    rank 0 sees.
    """
    from craton.comm import agreed, broadcast
    from craton.output.inspection import chunks_of

    chunks = {}
    with agreed(comm):
        if comm.rank == 0:
            for f in series:
                axes = [axis for axis, values in f.coords.items() if np.ndim(values)]
                chunks[f.name] = chunks_of(root / "snapshots" / f.name / f.quantity, axes)
    return broadcast(comm, chunks)


def declare(planned, writer, create, saved=None, chunks=None):
    """Name all series of snapshots to a writer; those of a run that goes on are there."""
    from craton.driver.snapshots import tiling

    for f in planned.snapshots:
        chunk = (chunks or {}).get(f.name)
        if planned.partition and f.lattice:
            chunk = tiling(f, planned.partition, chunk=chunk).chunk
        done = int((f.steps < saved.step).sum()) if saved else None
        writer.add_series(
            f.name,
            {f.quantity: f.components},
            f.coords,
            f.times,
            attributes=planned.receivers.event,
            chunk=chunk,
            create=create,
            done=done,
        )


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
    scenario, program, writer, progress, comm, checkpoints=None, saved=None, chunks=None, waveforms=None, tapes=None
):
    """Run the time loop and return the Result, which keeps an error that ends the loop early beside what was recorded.

    A run that is interrupted leaves a checkpoint.
    """
    from craton.comm.halos import connect
    from craton.driver.march import march as loop
    from craton.driver.progress import progress_bar
    from craton.driver.recorder import Recorder, Signals

    planned, error = program.plan, None
    connect(program, comm, say if comm.rank == 0 else None)
    with progress_bar(
        planned.steps, planned.totals.points, planned.title, not progress, saved.step if saved else 0
    ) as report:
        before = saved.record if saved and comm.rank == 0 else None
        pictures = METHODS[scenario.method].picture_maker
        begun = saved.step if saved else 0
        recorder = Recorder(
            program, writer, report, comm, checkpoints, begun, before, pictures, chunks, waveforms, tapes
        )
        with Signals(recorder):
            try:
                loop(program, recorder, planned.steps, recorder.begun)
            except CratonError as e:
                if comm.size > 1 and not hasattr(e, "agreed"):
                    raise
                error = e
                recorder.drain()
                if isinstance(e, Interrupted):
                    leave(recorder, e)
            finally:
                comm.pulse.rest()
    program.backend.finish()
    return Result(
        scenario,
        planned,
        recorder.recorded,
        timings(program, recorder, time.perf_counter(), comm),
        error=error,
        measured=peaks.collected(program, comm) if planned.peaks else {},
    )


def leave(recorder, error):
    """Leave a checkpoint of a run that was interrupted; where it cannot be written, the error says
    so.
    """
    try:
        recorder.keep()
    except ResourceError as reason:
        error.args = (f"{error}; it cannot be resumed: {reason}",)


def say(text):
    """Log how it is run."""
    logging.getLogger("craton").info(text)


def timings(program, recorder, end, comm):
    """Return what run.json says of the run: compile and first step apart from steady steps."""
    from craton.versions import versions

    planned, machine, clock = program.plan, program.backend, recorder.clock
    points = planned.totals.points
    first = clock.get("first step", end)
    steady = recorder.done - recorder.begun - 1
    rate = steady * points / (end - first) if steady > 0 and end > first else 0.0
    shared = {}
    if program.exchange is not None:
        waiting = comm.gather(program.exchange.waited / max(end - clock["start"], 1e-9))
        shared = {"waiting": waiting, "exchange": program.exchange.name}
    return {
        "device": machine.describe(),
        "precision": planned.precision,
        "steps_done": recorder.done,
        "points": points,
        "seconds": {
            "commit": program.seconds,
            "first step": first - clock["start"],
            "steady": end - first,
            "processor": time.process_time() - clock["processor"],
        },
        "point_steps_per_second": rate,
        "least_bytes_per_step": sum(planned.totals.traffic.values()),
        **shared,
        "versions": versions(),
    }
