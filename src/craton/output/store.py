"""The OUT directory of a run: scenario, state, and result.zarr, which stays readable whenever the
program is killed.
"""

import math
import os
import shutil
import socket
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.errors import ResourceError, ScenarioError, refuse
from craton.integrity import Damaged, read_json, replace_file, sealed, writing
from craton.io import formats
from craton.lock import Held, acquire, holder
from craton.output.arrays import CHUNK_BYTES, ZARR_FORMAT, consolidate, open_group, packed
from craton.output.inspection import ARRAYS, FILES, check_chunks, check_files, digests_of, row_of, rows_of, scenarios_of
from craton.text import now

FINISHED = "finished"
RESULT = "result.zarr"
LOCK = ".lock"  # held for as long as OUT is written
FORMAT = 2  # of run.json
PICTURES = (  # of `craton plot` and `craton compare`
    "overview records radial gathers section snapshots map model peaks maps profiles spectra spectrogram motion dispersion "
    "kernels compare fk"
)
# Everything that a run may put in OUT: what a new run there takes away. Nothing else is ever removed.
OWN = (
    "scenario.toml",
    "result.zarr",
    "gradient.zarr",
    *(row.file for row in formats("waveform")),
    "checkpoints",
    "report.html",
    *(f"{name}.png" for name in PICTURES.split()),
    "films",
    "film.mp4",
    ".waveforms.zarr",
    ".gradient.zarr",
    "scenarios",
    "shots",
    "jobs",
)
FILES_OF_RUNS = (*OWN, "mesh.vtu")
KINDS = {  # of what an OUT holds, key of run.json: in words
    "run": "a run",
    "survey": "a survey",
    "gradient": "a gradient",
    "greens": "a store of Green's functions",
}
# arrays that tell the kind where run.json is damaged
KNOWN_BY = {"values": "greens", "misfit": "gradient"}


def kind_of(path):
    """Return what an OUT of craton holds: one of `KINDS`, or None.

    Parameters
    ----------
    path : path-like
    """
    path = Path(path)
    try:
        state = read_json(path / "run.json")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Damaged:
        state = {"state": "unknown"}
    if "state" not in state:
        return None
    if state.get("kind") in KINDS:
        return state["kind"]
    of_shots = "survey" in state or (path / "shots").is_dir()
    by_arrays = (kind for name, kind in KNOWN_BY.items() if (path / RESULT / name).is_dir())
    return next(by_arrays, "survey" if of_shots else "run")


def check_out(path, force=False, kind="run"):
    """Refuse an OUT that must not or cannot be written. Writes nothing.

    Parameters
    ----------
    path : path-like
        The directory OUT.
    force : bool
        Replace a finished run, or write among files that are not ours.
    kind : str
        What is to be written, one of `KINDS`: only its like is replaced.

    Raises
    ------
    ScenarioError
        If OUT holds something of another kind or that still runs; without `force`, also a finished
        run and files of something else.
    ResourceError
        If OUT cannot be created or written.
    """
    path = Path(path)
    if "\0" in str(path):
        refuse("-o", "the name of the directory holds a zero byte", "choose another name")
    with _writable(path):
        _check_writable(path)
        check_alone(path)
        _check_contents(path, force, kind)


def _check_contents(path, force, kind):
    """Refuse what is of another kind, and a finished run and files of something else unless they
    may be replaced.
    """
    there, remedy = kind_of(path), "choose another directory"
    words = ""
    if there is None:
        present = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        ours = sorted({*OWN, "run.json"} & set(present))
        if ours:  # which a run would take away
            words = f"holds {ours[0]}, and no run.json that says what craton made there"
            remedy += ", or remove what is there"
        elif not force and set(present) - {LOCK}:
            words, remedy = "holds files that are not from craton", f"{remedy}, or add --force"
    elif there != kind:
        words = f"holds {KINDS[there]}, which {KINDS[kind]} does not replace"
        remedy += ", or remove it"
    elif not force and read_run(path).get("state") == FINISHED:
        words = f"holds a finished {KINDS[kind].removeprefix('a ')}"
        remedy += ", or add --force to replace it"
    if words:
        refuse("-o", f"{path} {words}", remedy)


def check_alone(path):
    """Refuse an OUT that a process still writes, by its lock."""
    held = holder(Path(path) / LOCK)
    if held:
        raise _being_written(path, held)


def _being_written(path, held):
    """Return the error of an OUT whose lock another process has."""
    remedy = "choose another directory, or wait until it has ended"
    if held.seconds:
        lock = Path(path) / LOCK
        remedy = f"if that computer or process is dead, try again in {held.seconds:.0f} s, or remove {lock}"
    return ScenarioError.of("-o", f"{path} is being written by {held.words}", remedy)


def _writable(path):
    """Inside, an OUT in which the system refuses to write is a ResourceError."""
    return writing(f"to {path}", "; choose another directory with -o")


def ended(path, failure, who=""):
    """Write into run.json why a run that was going on has ended, from whichever rank; the first
    word stands.

    Parameters
    ----------
    path : path-like
        The directory OUT.
    failure : BaseException
    who : str
        In front of the reason.
    """
    path, run = Path(path) / "run.json", read_run(path)
    if run.get("state") == "running":
        state = "interrupted" if isinstance(failure, KeyboardInterrupt) else "failed"
        run |= {"state": state, "reason": who + (str(failure) or type(failure).__name__), "ended": now()}
        _replace(path, sealed(_plain(run)))


def check_space(path, nbytes):
    """Raise ResourceError if the disk that holds `path` has less than `nbytes` free."""
    free = shutil.disk_usage(_existing(Path(path))).free
    if nbytes > free:
        raise ResourceError(
            f"the output needs {nbytes / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free at {path}; "
            "record less (receivers or points, every and stride of snapshots), or choose another disk with -o"
        )


def read_run(path):
    """Contents of ``OUT/run.json``; empty where there is none or it is not ours."""
    try:
        return read_json(Path(path) / "run.json")
    except (FileNotFoundError, NotADirectoryError, Damaged):
        return {}


def refuse_changed(out, *names):
    """Compare files of OUT, and the chunks of stores, with what run.json says of them, where its
    run has ended. Contents of chunks are not compared: these bear checksums.

    Parameters
    ----------
    out : path-like
    names : str
        Of files, stores and groups of stores: ``"result.zarr"``.

    Raises
    ------
    Damaged
    """
    files, arrays = (
        {key: row for key, row in rows.items() if any(f"{key}/".startswith(f"{n}/") for n in names)}
        for rows in rows_of(read_run(out))
    )
    check_files(out, files)
    check_chunks(out, arrays)


class Store:
    """The OUT directory of one run.

    Parameters
    ----------
    path : path-like
        Directory, created with its parents. What an earlier run left in it is removed.
    force : bool
        Replace a finished run.
    kind : str
        What is to be written, one of `KINDS`.

    Raises
    ------
    ScenarioError, ResourceError
        As `check_out`; nothing was written then.
    """

    def __init__(self, path, force=False, kind="run"):
        self.path = Path(path)
        self.zarr = self.path / RESULT
        self.run = {}
        check_out(self.path, force, kind)
        with _writable(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with self._locked():
                # another run may have begun and ended since
                _check_contents(self.path, force, kind)
                self.begin(kind=kind, started=now())
                for name in OWN:
                    _remove(self.path / name)

    @classmethod
    def again(cls, path, check=None):
        """Return the OUT directory of a run that ended before it was done, to go on with: nothing
        is removed.

        Parameters
        ----------
        path : path-like
        check : callable, optional
            Called when no other process can write there any more, before anything is written.

        Raises
        ------
        ScenarioError
            Another process goes on with it.
        ResourceError
            It cannot be written.
        """
        store = cls.__new__(cls)
        store.path = Path(path)
        store.zarr = store.path / RESULT
        with _writable(store.path), store._locked():
            run = read_run(path)
            store.run = {key: value for key, value in run.items() if key not in ("ended", "reason", FILES, ARRAYS)}
            store.run[FILES] = scenarios_of(rows_of(run)[0])
            if check:
                check()
            store.begin(resumed=now())
        return store

    @contextmanager
    def _locked(self):
        """Take the lock of OUT, which is held until its run ends or what is inside fails; raise ScenarioError where another
        run has it.
        """
        try:
            self.lock = acquire(self.path / LOCK, signs=True)
        except Held as held:
            raise _being_written(self.path, held) from None
        try:
            yield
        except BaseException:
            self.release()
            raise

    def begin(self, **fields):
        """Write the state of a run that is going on."""
        about = {"format": FORMAT, "pid": os.getpid(), "host": socket.gethostname()}
        self.update(state="running", **about, **fields)

    def release(self):
        """Let other runs write here."""
        self.lock.release()

    def update(self, **fields):
        """Add `fields` to run.json, which is replaced at once: a reader sees the old or the new
        one, whole.
        """
        self.run |= fields | {"updated": now()}
        _replace(self.path / "run.json", sealed(_plain(self.run)))

    def finish(self, state=FINISHED, **fields):
        """Write the last state: "finished", "failed" or "interrupted", with what else is known
        (reason, timings ...), and let other runs write here.
        """
        self.lock.give_space()  # the disk may be full
        self.update(state=state, ended=now(), **self.digests(), **fields)
        self.release()

    def digests(self):
        """Return checksums of files and numbers of chunks, as run.json has them at the end."""
        try:
            return digests_of(self.path, FILES_OF_RUNS)
        except OSError:  # the end is to be noted whatever the disk does
            return {}

    def write_scenario(self, text):
        """Write scenario.toml, the scenario as resolved."""
        _replace(self.path / "scenario.toml", text)
        self.note_files(["scenario.toml"])

    def note_files(self, names):
        """Note sizes and checksums of files of OUT in run.json."""
        self.update(**{FILES: {name: row_of(self.path / name) for name in names}})

    def write_waveforms(self, dataset, samples=None):
        """Write the dataset to the root of result.zarr, in place of an earlier one; may be called
        again as a run goes on.

        Parameters
        ----------
        dataset : xarray.Dataset, or iterable of them
            Several follow each other along `receiver`, so that they need not be in memory together.
        samples : int, optional
            Times that there will be at the end. With the same number each time, a kill at any
            moment leaves a store that opens and has the series as they were before or are now.
        """
        self._write(dataset, self.zarr, samples, "waveforms")

    def write_fibres(self, dataset, samples=None):
        """Write what fibres recorded to the group ``fibres`` of result.zarr, as `write_waveforms`
        does.
        """
        self._write(dataset, self.zarr / "fibres", samples, "fibres")

    def _write(self, dataset, target, samples, noun):
        """Write aside, move in, gather the metadata."""
        aside = self.path / ".waveforms.zarr"
        with writing(f"the {noun} to {self.zarr}"):
            _remove(aside)
            how = {"zarr_format": ZARR_FORMAT, "consolidated": False}
            for n, part in enumerate([dataset] if hasattr(dataset, "to_zarr") else dataset):
                if n:
                    part.to_zarr(aside, append_dim="receiver", **how)
                else:
                    _create(aside, part, encoding=_encoding(part, samples), **how)
            _move_in(aside, target)
            open_group(self.zarr, "a")  # which holds a group
            consolidate(self.zarr, *([target.name] if target != self.zarr else []))


def _create(aside, dataset, **how):
    """Create a store and write a dataset to it. A small one is encoded in memory and its files are
    written here: zarr hands each of them to a thread, which takes two to three times as long.
    """
    from zarr.storage import MemoryStore

    files = {}
    dataset.to_zarr(MemoryStore(files) if dataset.nbytes <= CHUNK_BYTES else aside, mode="w", **how)
    for name, contents in files.items():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(contents.to_bytes())


def _encoding(dataset, samples=None):
    """Packed chunks of whole series, `samples` long where they are to grow to that, receivers together up
    to the chunk size.
    """
    encoding = {}
    for name, variable in dataset.variables.items():
        encoding[name] = packed()
        if name not in dataset.data_vars and not (samples and "time" in variable.dims):
            continue
        lengths = [samples if samples and dim == "time" else n for dim, n in variable.sizes.items()]
        row = max(1, variable.dtype.itemsize * math.prod(lengths[1:]))
        first = max(1, min(lengths[0], CHUNK_BYTES // row))
        encoding[name]["chunks"] = (first, *(max(n, 1) for n in lengths[1:]))
    return encoding


def _move_in(aside, root):
    """Move arrays and attributes of the store `aside` to the group `root`, file by file; arrays
    that `aside` lacks go, groups stay.

    Values go before what describes them: where a series has grown in chunks of the same size, a
    reader finds the old or the new one.
    """
    root.mkdir(parents=True, exist_ok=True)
    for old in root.iterdir():
        if (old / ".zarray").exists() and not (aside / old.name).exists():
            shutil.rmtree(old)
    files = sorted(
        (p.relative_to(aside) for p in aside.rglob("*") if p.is_file()), key=lambda p: (p.name.startswith("."), p)
    )
    stale = {
        p.relative_to(root) for array in aside.iterdir() if array.is_dir() for p in (root / array.name).glob("*")
    } - set(files)
    for file in files:
        (root / file).parent.mkdir(exist_ok=True)
        (aside / file).replace(root / file)
    for file in stale:
        _remove(root / file)
    shutil.rmtree(aside)


def _check_writable(path):
    """OSError if the directory `path` cannot be created or written."""
    place = _existing(path)
    if not place.is_dir():
        raise NotADirectoryError(
            20, "it is not a directory" if place == path.absolute() else f"{place} is not a directory"
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(13, f"{place} is not writable")


def _existing(path):
    """`path` or its nearest ancestor that exists."""
    path = path.absolute()
    return next(p for p in (path, *path.parents) if os.path.lexists(p))


def _replace(path, text):
    """Write `text` to `path` through a temporary file, so that `path` is never half written."""
    with writing(path):
        replace_file(path, text)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _plain(value):
    """`value` as JSON can hold it: NumPy numbers and arrays, paths, and numbers that are not finite
    as words.
    """
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
