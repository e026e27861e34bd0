"""Recordings of a run as it goes: what the machine has sampled is fetched in blocks and written."""

import numpy as np


class Tapes:
    """Fetches and writes the recordings of a program; every rank has one.

    Parameters
    ----------
    program : Program
    comm : Comm
    writer : craton.output.recordings.RecordingWriter or None
        On rank 0.
    begun : int
        Steps that were done before.
    """

    def __init__(self, program, comm, writer, begun=0):
        self.program, self.comm, self.writer = program, comm, writer
        self.drained = dict.fromkeys((one.name for one in program.plan.recordings), begun)

    def sample(self, done):
        """Fetch what no ring can hold any longer.

        Parameters
        ----------
        done : int
            Steps.
        """
        for recording in self.program.plan.recordings:
            waiting = done - self.drained[recording.name]
            if waiting == recording.slots or done == self.program.plan.steps:
                self._fetch(recording, done)

    def drain(self, done):
        """Fetch all that waits.

        Parameters
        ----------
        done : int
            Steps.
        """
        for recording in self.program.plan.recordings:
            self._fetch(recording, done)

    def _fetch(self, recording, done):
        first = self.drained[recording.name]
        if done == first:
            return
        block = np.empty((done - first, 0), recording.precision)
        if recording.array in self.program.arrays:
            ring = self.program.host(recording.array)
            block = ring[np.arange(first, done) % len(ring)]
        blocks = self.comm.collect(block)
        if blocks:
            joined = recording.gathering
            whole = joined.join_columns(blocks, self.program.backend) if joined else blocks[0]
            self.writer.write(recording.name, first, whole)
        self.drained[recording.name] = done


def tapes_of(program, comm, path, begun=0):
    """Return the `Tapes` of a run with a folder; None where nothing is recorded for other runs.

    Parameters
    ----------
    program : Program
    comm : Comm
    path : path-like
        OUT/result.zarr.
    begun : int
        Steps that were done before: the recordings are there.
    """
    from craton.output.recordings import RecordingWriter

    recordings = program.plan.recordings
    if not recordings:
        return None
    writer = RecordingWriter(path) if comm.rank == 0 else None
    for recording in recordings if writer else ():
        writer.declare(recording, again=begun > 0)
    return Tapes(program, comm, writer, begun)
