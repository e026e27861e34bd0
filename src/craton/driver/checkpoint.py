"""Checkpoints: all that changes in time, on disk, so that a run which was interrupted goes on and
ends with the same bits.

    checkpoints/step_000001200/manifest.json      what it belongs to: steps, ranks and their
    subdomains, scenario, versions
                               record.npy         samples so far, (steps, channels)
                               rank_0/NAME.npy    whole arrays as the machine has them, ghosts and
                               padding included

A new one is written beside the old one under a name that begins with a dot, renamed when all ranks
have written theirs, and only then the old one is removed: whenever the program is killed, one whole
checkpoint is there.
"""

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.comm import agreed
from craton.errors import Problem, ResourceError, ScenarioError
from craton.versions import versions

FOLDER = "checkpoints"
MANIFEST = "manifest.json"
CHUNK = 16 << 20  # bytes on their way between a machine and the disk
FORMAT = 2  # of the manifest; 1 had no number
MUST_AGREE = ("steps", "dt", "start", "precision")  # of a plan and the one that goes on


def digest(text):
    """Return what tells one scenario from another."""
    return hashlib.sha256(text.encode()).hexdigest()


class Checkpoints:
    """Writes the checkpoints of a run; every rank has one of these.

    Parameters
    ----------
    out : path-like
        The directory OUT.
    program : Program
    comm : Comm
    scenario : str
        The scenario as OUT has it.
    every : float, optional
        Seconds between two of them; without, they are written when they are asked for.
    settle : callable, optional
        Waits until pictures that were taken are on disk.
    flush : callable, optional
        Is given the samples so far on rank 0: writes the waveforms.
    at : int
        Step of the checkpoint that the run goes on from.
    """

    def __init__(self, out, program, comm, scenario, every=None, settle=None, flush=None, at=0):
        self.folder, self.program, self.comm, self.every = Path(out) / FOLDER, program, comm, every
        self.scenario, self.settle, self.flush, self.at = scenario, settle, flush, at
        self.last = time.perf_counter()

    def due(self):
        """Return True where the time for another one has come."""
        return self.every is not None and time.perf_counter() - self.last >= self.every

    def save(self, step, record):
        """Write the state after `step` steps; all ranks must call it after the same step.

        Parameters
        ----------
        step : int
        record : ndarray
            Samples so far, (steps, channels); those of rank 0 are kept.
        """
        if step == self.at:
            return
        aside, rank = self.folder / f".step_{step:09d}", self.comm.rank
        with agreed(self.comm), on_disk(self.folder):
            if rank == 0:
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir(parents=True)
        with agreed(self.comm), on_disk(self.folder):
            if self.settle:
                self.settle()
            self.write(aside / f"rank_{rank}")
            if rank == 0:
                write(aside / "record.npy", np.ascontiguousarray(record))
                if self.flush:
                    self.flush(record)
        subdomains = self.comm.gather(self.program.plan.subdomain.fingerprint)
        with agreed(self.comm), on_disk(self.folder):
            if rank == 0:
                self.close(aside, step, subdomains)
        self.at, self.last = step, time.perf_counter()

    def write(self, folder):
        """Write the arrays of this rank."""
        folder.mkdir()
        for name in self.program.plan.changing:
            write(folder / f"{name}.npy", self.program.arrays[name], self.program.backend.to_host)

    def close(self, aside, step, subdomains):
        """Name what it belongs to, put it in the place of the old one."""
        plan, machine = self.program.plan, self.program.backend
        manifest = {
            "format": FORMAT,
            "step": step,
            **{key: getattr(plan, key) for key in MUST_AGREE},
            "ranks": self.comm.size,
            "subdomains": subdomains,
            "scenario": digest(self.scenario),
            "device": machine.name,
            "versions": versions("craton", "numpy"),
        }
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        target = self.folder / aside.name[1:]
        shutil.rmtree(target, ignore_errors=True)
        os.replace(aside, target)
        for other in self.folder.iterdir():
            if other != target:
                shutil.rmtree(other, ignore_errors=True)


class on_disk:  # noqa: N801 (a context, used like a function)
    """Inside, a disk that is full or not writable is said in words."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, OSError):
            raise ResourceError(
                f"could not write a checkpoint to {self.folder}: {error.strerror or error}"
            ) from error


def write(path, array, to_host=np.asarray):
    """Write an array of a machine as a .npy file, part by part."""
    flat = array.reshape(-1)
    count = max(1, CHUNK // array.dtype.itemsize)
    with open(path, "wb") as file:
        about = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(array.dtype)),
            "fortran_order": False,
            "shape": tuple(array.shape),
        }
        np.lib.format.write_array_header_1_0(file, about)
        for first in range(0, flat.size, count):
            file.write(np.ascontiguousarray(to_host(flat[first : first + count])).data)
        file.flush()
        os.fsync(file.fileno())


# --- going on -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saved:
    """A checkpoint that is there.

    Parameters
    ----------
    out, folder : Path
        The directory OUT, and the checkpoint's own.
    about : dict
        Its manifest.
    """

    out: Path
    folder: Path
    about: dict

    @property
    def step(self):
        """Steps that were done."""
        return self.about["step"]

    @property
    def ranks(self):
        """Ranks that wrote it."""
        return self.about["ranks"]

    @property
    def record(self):
        """Samples so far, (steps, channels); of rank 0."""
        return np.load(self.folder / "record.npy")

    def check_ranks(self, ranks):
        """Refuse another number of ranks."""
        if ranks != self.ranks:
            self.refuse(
                "--ranks",
                f"the checkpoint is of {counted(self.ranks)}, here {'is' if ranks == 1 else 'are'} {ranks}",
                f"go on with {counted(self.ranks)}, or run {self.out / 'scenario.toml'} anew on any number",
            )

    def check_scenario(self, text):
        """Refuse another scenario or other versions than those that it was written with."""
        file = str(self.out / "scenario.toml")
        if self.about.get("format", 1) != FORMAT:
            self.refuse(
                "OUT",
                f"the checkpoint has format {self.about.get('format', 1)}, this version of craton reads format {FORMAT}",
                f"go on with the version that wrote it, or run {file} anew",
            )
        if digest(text) != self.about["scenario"]:
            self.refuse(
                file,
                "this is not the scenario that the checkpoint was written with",
                "put it back, or run it anew",
            )
        installed = versions("craton")
        before = {
            name: version for name, version in self.about["versions"].items() if name in installed
        }
        if before != installed:
            words = [
                ", ".join(f"{name} {version}" for name, version in some.items())
                for some in (before, installed)
            ]
            self.refuse(
                "OUT",
                f"the checkpoint was written by {words[0] or 'another craton'}, this is {words[1] or 'another one'}",
                f"install {words[0] or 'that one'} to go on, or run {file} anew",
            )

    def check_inputs(self):
        """Refuse files of the scenario that are gone or have changed."""
        from craton.output.inputs import changed
        from craton.output.store import read_run

        for message in changed(self.out, read_run(self.out).get("inputs", [])):
            self.refuse("OUT", message, f"put it back, or run {self.out / 'scenario.toml'} anew")

    def check_plan(self, plan):
        """Refuse a plan that is not the one which was interrupted: a file that the scenario names
        may have changed.
        """
        subdomains = [subdomain.fingerprint for subdomain in plan.partition or (plan.subdomain,)]
        other = [key for key in MUST_AGREE if self.about[key] != getattr(plan, key)]
        other += ["subdomains"] * (self.about["subdomains"] != subdomains)
        if other:
            self.refuse(
                "OUT",
                f"the run would not be the one that was interrupted: its {', '.join(other)} would be others",
                f"put back the files that {self.out / 'scenario.toml'} names, or run it anew",
            )

    def refuse(self, key, message, remedy):
        """Raise what is in the way."""
        raise ScenarioError([Problem(key, message, remedy)])

    def restore(self, program, rank):
        """Put the state into a program."""
        for name in program.plan.changing:
            path, target = self.folder / f"rank_{rank}" / f"{name}.npy", program.arrays[name]
            try:
                values = np.load(path, mmap_mode="r")
                if values.shape != tuple(target.shape) or values.dtype != target.dtype:
                    raise ValueError(f"{values.shape} of {values.dtype}")
            except (OSError, ValueError) as error:
                raise ResourceError(
                    f"the checkpoint is damaged: {path}: {error}; run {self.out / 'scenario.toml'} anew"
                ) from error
            flat, values = target.reshape(-1), values.reshape(-1)
            count = max(1, CHUNK // target.dtype.itemsize)
            for first in range(0, flat.size, count):
                program.backend.fill(
                    flat[first : first + count], np.array(values[first : first + count])
                )
        program.backend.finish()


def counted(ranks):
    """Return a number of ranks in words."""
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def latest(out):
    """Return the last whole checkpoint of a run, or None."""
    found = sorted(p for p in (Path(out) / FOLDER).glob("step_*") if (p / MANIFEST).exists())
    if not found:
        return None
    return Saved(Path(out), found[-1], json.loads((found[-1] / MANIFEST).read_text()))


def remove(out):
    """Take all of them away: the run is finished."""
    shutil.rmtree(Path(out) / FOLDER, ignore_errors=True)


def saving(out):
    """Return true while a checkpoint is being written."""
    return any((Path(out) / FOLDER).glob(".step_*"))
