"""Checkpoints that are there: which one a run goes on from, whether it is whole and belongs to the
run, and its state put into a program.

Nothing is believed before its checksum has been compared.
"""

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from craton.backends.base import as_lanes
from craton.comm import agreed, broadcast
from craton.core.plan import LANES
from craton.core.recut import GridRank, MeshRank, recut
from craton.core.subdomain import Subdomain
from craton.driver.checkpoint import CHUNK, FOLDER, FORMAT, MANIFEST, MUST_AGREE, RECORD
from craton.errors import ResourceError, ScenarioError, refuse
from craton.integrity import KEY, Damaged, check_file, digest, read_json, unsealed
from craton.methods import METHODS
from craton.versions import versions


@dataclass(frozen=True)
class Saved:
    """A checkpoint whose manifest is whole.

    Parameters
    ----------
    out, folder : Path
        The directory OUT, and the checkpoint's own.
    about : dict
        Its manifest.
    source : callable, optional
        ``source(name)`` gives the values of an array of this rank where they are not those of a
        file: of a checkpoint of another number of ranks.
    """

    out: Path
    folder: Path
    about: dict
    source: Any = None

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
        return self.load(RECORD)

    def load(self, name, **options):
        """Return an array of one of its files.

        Raises
        ------
        Damaged
            It is no array.
        """
        try:
            return np.load(self.folder / name, allow_pickle=False, **options)
        except (OSError, ValueError, EOFError) as error:
            raise Damaged(self.folder / name, str(error)) from error

    def damage(self, rank=0, ranks=1):
        """Return what is wrong with the first damaged file, of those that a rank looks at: Damaged,
        or None where all are whole.

        Parameters
        ----------
        rank, ranks : int
            Every rank looks at some of the files.
        """
        for name in sorted(self.about["files"])[rank::ranks]:
            file = self.about["files"][name]
            try:
                check_file(self.folder / name, file["bytes"], file["sha256"])
                if name == RECORD:
                    self.check_record()
            except Damaged as damage:
                return damage
        return None

    def check_scenario(self, text):
        """Refuse another scenario or other versions than those that it was written with."""
        file = str(self.out / "scenario.toml")
        if digest(text) != self.about["scenario"]:
            refuse(file, "this is not the scenario that the checkpoint was written with", "put it back, or run it anew")
        installed = versions("craton")
        before = {name: version for name, version in self.about["versions"].items() if name in installed}
        if before != installed:
            then, now = (
                ", ".join(f"{name} {version}" for name, version in programs.items()) for programs in (before, installed)
            )
            refuse(
                "OUT",
                f"the checkpoint was written by {then or 'another craton'}, this is {now or 'another one'}",
                f"install {then or 'that one'} to go on, or run {file} anew",
            )

    def check_inputs(self):
        """Refuse files of the scenario that are gone or have changed."""
        from craton.output.inputs import changed
        from craton.output.store import read_run

        remedy = f"put it back, or run {self.out / 'scenario.toml'} anew"
        try:
            for message in changed(self.out, read_run(self.out).get("inputs", [])):
                refuse("OUT", message, remedy)
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged(self.out / "run.json", f"its inputs cannot be right ({error})") from error

    def for_plan(self, scenario, whole, plan):
        """Return the checkpoint for the plan of a rank; on another number of ranks, its arrays are put together
        from those of the ranks that wrote it.

        Parameters
        ----------
        scenario : Scenario
        whole : Plan
            Plan of the whole grid; of elements that of this rank.
        plan : Plan
            Of this rank.

        Raises
        ------
        ScenarioError
            It is not of this run: a file that the scenario names may have changed.
        """
        other = [key for key in MUST_AGREE if self.about[key] != getattr(plan, key)]
        if other:
            self.refuse_plan(other)
        if plan.rank == 0:
            self.check_record(len(plan.channels))
        partition, as_many = plan.partition or (plan.subdomain,), max(len(plan.partition), 1) == self.ranks
        files = [FilesOfRank(self, rank) for rank in range(self.ranks)]
        if plan.elements and not as_many:
            others = [MeshRank(plan, of.families, self.about["fields"][rank], of) for rank, of in enumerate(files)]
            return replace(self, source=recut(MeshRank.of(plan), others))
        if not as_many and self.ranks > 1:
            partition = METHODS[scenario.method].subdomain(scenario, whole, 0, self.ranks).partition
        elif not as_many:
            partition = (Subdomain.whole(whole.layout.shape),)
        if self.about["subdomains"] != [subdomain.fingerprint for subdomain in partition]:
            self.refuse_plan(["subdomains"])
        if as_many:
            return self
        others = [GridRank.of(whole, partition, rank, of) for rank, of in enumerate(files)]
        return replace(self, source=recut(GridRank(whole, plan.subdomain, plan), others))

    def refuse_plan(self, names):
        """Raise what of a plan is not as it was."""
        refuse(
            "OUT",
            f"the run would not be the one that was interrupted: its {', '.join(names)} would be others",
            f"put back the files that {self.out / 'scenario.toml'} names, or run it anew",
        )

    def check_record(self, channels=None):
        """Refuse samples of another shape or type.

        Parameters
        ----------
        channels : int, optional
            Their number, where it is known.

        Raises
        ------
        Damaged
        """
        record, precision = self.load(RECORD, mmap_mode="r"), self.about["precision"]
        shape = (self.step, *(record.shape[1:2] if channels is None else (channels,)))
        if record.ndim != 2 or record.shape != shape or record.dtype != precision:
            reason = f"it holds {record.shape} of {record.dtype}, not {shape} of {precision}"
            raise Damaged(self.folder / RECORD, reason, f"run {self.out / 'scenario.toml'} anew")

    def restore(self, program, rank):
        """Put the state into a program.

        Parameters
        ----------
        program : Program
        rank : int

        Raises
        ------
        Damaged
            An array is missing or of another shape.
        """
        for name in program.plan.changing:
            file, target = f"rank_{rank}/{name}.npy", program.arrays[name]
            values = self.source(name) if self.source else FilesOfRank(self, rank)[name]
            if program.plan.arrays[name].lanes:
                values = as_lanes(values, target.shape, LANES)
            if values.shape != tuple(target.shape) or values.dtype != target.dtype:
                there, here = (f"{a.shape} of {a.dtype}" for a in (values, target))
                raise Damaged(self.folder / file, f"it holds {there}, not {here}")
            flat, values = target.reshape(-1), values.reshape(-1)
            count = max(1, CHUNK // target.dtype.itemsize)
            for first in range(0, flat.size, count):
                program.backend.fill(flat[first : first + count], np.array(values[first : first + count]))
        program.backend.finish()

    def newer(self):
        """Return the folders of checkpoints after this one."""
        return [folder for folder in folders(self.out) if folder.name > self.folder.name]


@dataclass(frozen=True)
class FilesOfRank:
    """The arrays that a rank has written, by name.

    Parameters
    ----------
    saved : Saved
    rank : int
    """

    saved: Saved
    rank: int

    def __contains__(self, name):
        return f"rank_{self.rank}/{name}.npy" in self.saved.about["files"]

    def __getitem__(self, name):
        return self.saved.load(f"rank_{self.rank}/{name}.npy", mmap_mode="r")

    @property
    def families(self):
        """Names of the families of elements that it had."""
        pattern = re.compile(rf"rank_{self.rank}/(\w+)_numbers\.npy")
        return [match[1] for name in self.saved.about["files"] if (match := pattern.fullmatch(name))]


def counted(ranks):
    """Return a number of ranks in words."""
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def folders(out):
    """Return the folders of the checkpoints of a run, the last one first.

    Parameters
    ----------
    out : path-like
    """
    return sorted((Path(out) / FOLDER).glob("step_*"), reverse=True)


def latest(out):
    """Return the last checkpoint of a run with a whole manifest, or None.

    Parameters
    ----------
    out : path-like
    """
    try:
        return last_manifest(out)
    except (ResourceError, ScenarioError):
        return None


def last_manifest(out):
    """Return the last checkpoint of a run whose manifest is whole.

    Parameters
    ----------
    out : path-like

    Raises
    ------
    ResourceError
        No manifest is.
    ScenarioError
        The last one is of another format.
    """
    damages = []
    for folder in folders(out):
        try:
            return Saved(Path(out), folder, read_manifest(folder))
        except Damaged as damage:
            damages.append(str(damage))
    raise all_damaged(out, damages)


def all_damaged(out, damages):
    """Return the error of a run that has no whole checkpoint.

    Parameters
    ----------
    out : path-like
    damages : list of str
        What is wrong with each.
    """
    remedy = f"run {Path(out) / 'scenario.toml'} anew"
    return ResourceError(f"every checkpoint is damaged: {'; '.join(damages)}\n    {remedy}")


def last_whole(out, comm):
    """Return the last checkpoint of a run that is whole; the reasons why later ones are not go to
    standard error. All ranks must ask.

    Parameters
    ----------
    out : path-like
    comm : Comm

    Returns
    -------
    Saved

    Raises
    ------
    ResourceError
        All are damaged.
    ScenarioError
        The last one is of another format.
    """
    damages, names = [], broadcast(comm, [folder.name for folder in folders(out)])
    for name in names:
        saved, damage = None, None
        folder = Path(out) / FOLDER / name
        with agreed(comm):
            try:
                about = read_manifest(folder) if comm.rank == 0 else None
            except Damaged as error:
                about, damage = None, str(error)
        about = broadcast(comm, about)
        if about is not None:
            saved = Saved(Path(out), folder, about)
            damage = saved.damage(comm.rank, comm.size)
        reasons = [reason for reason in comm.gather(damage and str(damage)) if reason]
        if saved and not reasons:
            if damages and comm.rank == 0:
                text = f"note: {'; '.join(damages)}: going on from the checkpoint of step {saved.step:,}"
                print(text, file=sys.stderr, flush=True)
            return saved
        damages += reasons[:1]
    raise all_damaged(out, damages)


def read_manifest(folder: Path) -> dict:
    """Return the manifest of a checkpoint; raise Damaged where it is not as it was written, ScenarioError where another
    version of craton wrote it.
    """
    path = folder / MANIFEST
    try:
        fields = read_json(path)
        number = (unsealed(path) if KEY in fields else fields).get("format", 1)
    except FileNotFoundError as error:
        raise Damaged(path, "it is missing") from error
    if number != FORMAT:
        message = f"the checkpoint has format {number}, this version of craton reads format {FORMAT}"
        refuse("OUT", message, "go on with the version that wrote it, or run scenario.toml anew")
    fields = unsealed(path)
    if f"step_{fields['step']:09d}" != folder.name:
        raise Damaged(path, f"it is of step {fields['step']}, its folder is {folder.name}")
    return fields
