"""Checkpoints: all that changes in time, on disk, so that a run which was interrupted goes on and
ends with the same bits.

    checkpoints/step_000001200/
        manifest.json      what it belongs to: steps, ranks and their subdomains, scenario, versions; size and SHA-256 of
                           every file beside it; its own checksum
        record.npy         samples so far, (steps, channels)
        rank_0/NAME.npy    whole arrays as the machine has them, ghosts and padding included; of elements also their
                           numbers and points

A new one is written beside the old ones under a name that begins with a dot, and renamed when all
ranks have written theirs; then all but the last two are removed. Whenever the program is killed, a
whole checkpoint is there, and when the disk damages it, the one before. `craton.driver.saved` reads
them.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from craton.backends.base import Program
from craton.comm import agreed
from craton.core.recut import field_places, identity_tables
from craton.driver.job import Job
from craton.driver.march import Observer
from craton.driver.observers.record import Drain, Record
from craton.integrity import digest, replace_file, sealed, sync_folder, writing
from craton.output.inputs import Inputs
from craton.versions import versions

FOLDER = "checkpoints"
MANIFEST = "manifest.json"
RECORD = "record.npy"
CHUNK = 16 << 20  # bytes on their way between a machine and the disk
FORMAT = 3  # of the manifest; 1 had no number, 2 no checksums
RETAINED = 2  # whole checkpoints, the last ones
MUST_AGREE = ("steps", "dt", "start", "precision")  # of a plan and the one that goes on


class Checkpoints(Observer):
    """Writes the checkpoints of a run; every rank has one of these.

    `record` and `recordings` fetch what waits on the machine, `settle(step)` waits until all that was taken up to a step
    is on disk.
    """

    def __init__(self, job: Job, program: Program, record: Record, recordings: Sequence[Drain], settle: Callable):
        self.folder, self.program, self.comm, self.at = Path(job.out) / FOLDER, program, job.comm, job.begun
        self.scenario, self.record, self.settle = Inputs(job.scenario).text(job.scenario), record, settle
        self.drains = (record, *recordings)
        self.every, self.last = job.scenario.run.checkpoint or np.inf, time.perf_counter()

    def due(self, step: int) -> bool:
        """Return True where the time for another one has come."""
        return time.perf_counter() - self.last >= self.every

    def see(self, step: int, program: Program) -> None:
        """Write the state after `step` steps; all ranks must call it after the same step.

        Raises
        ------
        ResourceError
            It could not be written; the ones before are there, and nothing is left of this one.
        """
        for drain in self.drains:
            drain.see(step, program)
        if step == self.at:
            return
        aside = self.folder / f".step_{step:09d}"
        try:
            self._save(aside, step)
        except Exception:
            if self.comm.rank == 0:  # room for the waveforms on a disk that is full
                shutil.rmtree(aside, ignore_errors=True)
            raise
        self.at, self.last = step, time.perf_counter()

    def _save(self, aside, step):
        """Write all files of a checkpoint aside, then give it its name."""
        rank, noun = self.comm.rank, f"a checkpoint to {self.folder}"
        with agreed(self.comm), writing(noun):
            if rank == 0:
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir(parents=True)
        with agreed(self.comm), writing(noun):
            self.settle(step)
            files = self.write(aside / f"rank_{rank}")
            if rank == 0:
                files[RECORD] = write(aside / RECORD, np.ascontiguousarray(self.record.samples[:step]))
        plan = self.program.plan
        places = field_places(plan) if plan.elements else None
        of_ranks = self.comm.gather((plan.subdomain.fingerprint, files, places))
        with agreed(self.comm), writing(noun):
            if rank == 0:
                self.close(aside, step, of_ranks)

    def write(self, folder):
        """Write the arrays of this rank; return size and checksum of each file by its name."""
        folder.mkdir()
        plan, to_host = self.program.plan, self.program.backend.to_host
        arrays = {name: (self.program.arrays[name], to_host) for name in plan.changing}
        if plan.elements:
            arrays |= {name: (values,) for name, values in identity_tables(plan).items()}
        written = {f"{folder.name}/{name}.npy": write(folder / f"{name}.npy", *of) for name, of in arrays.items()}
        sync_folder(folder)
        return written

    def close(self, aside, step, of_ranks):
        """Name what it belongs to, give it its name, remove the oldest ones."""
        plan, machine = self.program.plan, self.program.backend
        manifest = {
            "format": FORMAT,
            "step": step,
            **{key: getattr(plan, key) for key in MUST_AGREE},
            "ranks": self.comm.size,
            "subdomains": [fingerprint for fingerprint, _, _ in of_ranks],
            "fields": [places for _, _, places in of_ranks],
            "scenario": digest(self.scenario),
            "device": machine.name,
            "versions": versions("craton", "numpy"),
            "files": {name: file for _, files, _ in of_ranks for name, file in files.items()},
        }
        replace_file(aside / MANIFEST, sealed(manifest))
        sync_folder(aside)
        target = self.folder / aside.name[1:]
        discard(target)
        os.replace(aside, target)
        sync_folder(self.folder)
        retained = sorted(self.folder.glob("step_*"))[-RETAINED:]
        for other in self.folder.iterdir():
            if other not in retained:
                discard(other)


def write(path, array, to_host=np.asarray):
    """Write an array of a machine as a .npy file, part by part.

    Parameters
    ----------
    path : Path
    array : array of the machine
    to_host : callable
        Copies a part of it to the host.

    Returns
    -------
    dict
        ``bytes`` and ``sha256`` of the file.
    """
    flat = array.reshape(-1)
    count = max(1, CHUNK // array.dtype.itemsize)
    about = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(array.dtype)),
        "fortran_order": False,
        "shape": tuple(array.shape),
    }
    with open(path, "wb") as file:
        hashing = Hashing(file)
        np.lib.format.write_array_header_1_0(hashing, about)
        for first in range(0, flat.size, count):
            hashing.write(np.ascontiguousarray(to_host(flat[first : first + count])).data)
        file.flush()
        os.fsync(file.fileno())
    return {"bytes": hashing.nbytes, "sha256": hashing.total.hexdigest()}


class Hashing:
    """A file that is written, with the SHA-256 of what was.

    Parameters
    ----------
    file : binary file
    """

    def __init__(self, file):
        self.file, self.total, self.nbytes = file, hashlib.sha256(), 0

    def write(self, block):
        """Write a block of bytes."""
        self.file.write(block)
        self.total.update(block)
        self.nbytes += memoryview(block).nbytes


def remove(out):
    """Take all of them away: the run is finished."""
    discard(Path(out) / FOLDER)


def discard(folder):
    """Remove a folder under a name that nothing reads: a kill meanwhile leaves no half of it that
    would be taken for a damaged one.

    Parameters
    ----------
    folder : Path
    """
    aside = folder
    if not folder.name.startswith("."):
        aside = folder.with_name(f".removed_{folder.name}")
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):
            os.replace(folder, aside)
    for left in {aside, folder}:
        shutil.rmtree(left, ignore_errors=True)


def saving(out):
    """Return true while a checkpoint is being written."""
    return any((Path(out) / FOLDER).glob(".step_*"))
