"""Damaged run folders and folders with two writers: found, named and refused in words, never a traceback, never other waveforms."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
import smallcase
from attack.flips import Flip
from common import refused
from damagecase import RESULTS, damage, missed, small
from paths import ROOT
from smallcase import same_results

import craton
from craton import lock
from craton.cli import main
from craton.comm.local import Alone
from craton.driver.checkpoint import Checkpoints
from craton.driver.observers.guard import Guard
from craton.driver.run import resumable
from craton.driver.saved import last_whole, latest
from craton.errors import CratonError, ResourceError, ScenarioError
from craton.integrity import unsealed
from craton.output.store import LOCK, Store, check_out, read_run

# --- checkpoints ------------------------------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_found_wherever_it_is(single):
    """A thousand of them outside of the suite: 1,000 found."""
    rng = random.Random(7)
    files = sorted(p for p in latest(single).folder.rglob("*") if p.is_file())
    sizes = [p.stat().st_size for p in files]
    for n in range(int(os.environ.get("CRATON_FLIPS", 48))):
        path = files[n % len(files)] if n % 2 else rng.choices(files, sizes)[0]
        with Flip(path, rng), pytest.raises(ResourceError, match=f"every checkpoint is damaged: .*{path.name}"):
            last_whole(single, Alone())
    assert last_whole(single, Alone()).step == 41


def resealed(values, **options):
    """Another array of samples, whose size and checksum the manifest has."""

    def write(path):
        np.save(path, values, **options)
        contents, manifest = path.read_bytes(), path.with_name("manifest.json")
        file = {"bytes": len(contents), "sha256": hashlib.sha256(contents).hexdigest()}
        damage(manifest, {"files": unsealed(manifest)["files"] | {path.name: file}})

    return write


CHECKPOINT = [
    ("manifest.json", b"", "manifest.json is damaged: it is empty"),
    ("manifest.json", b"\xff\x00{{", "manifest.json is damaged"),
    ("manifest.json", b"[]", "holds no JSON object but a list"),
    ("manifest.json", b"[" * 100_000, "nested too deeply"),
    ("manifest.json", b'{"step": 1' + b"0" * 5000 + b"}", "no JSON"),
    ("manifest.json", None, "manifest.json is damaged: it is missing"),
    ("manifest.json", os.mkdir, "manifest.json is damaged: Is a directory"),
    ("manifest.json", ('"checksum"', '"check"'), "it has no checksum"),
    ("manifest.json", ('"step": 41', '"step": 42'), "its checksum does not match"),
    ("manifest.json", {"step": 40}, "it is of step 40, its folder is step_000000041"),
    ("record.npy", 200, "record.npy is damaged: it has 200 of"),
    ("record.npy", None, "record.npy is damaged: No such file"),
    ("record.npy", resealed(np.zeros((41, 3), "f")), "it holds (41, 3) of float32"),
    ("record.npy", resealed(np.zeros((41, 12), "i4")), "it holds (41, 12) of int32"),
    ("record.npy", resealed(np.array([{}]), allow_pickle=True), "record.npy is damaged"),
    ("record.npy", resealed(np.zeros(0)), "record.npy is damaged"),
    ("rank_0/state.npy", 1000, "state.npy is damaged: it has 1,000 of"),
    ("rank_0/state.npy", os.mkfifo, "state.npy is damaged: it has 0 of"),
]


def test_damaged_checkpoints_are_refused_in_words(single, tmp_path, capsys):
    def look(out, words):
        code, message = main(["resume", str(out)]), capsys.readouterr().err
        # only the plan knows the number of channels
        is_seen = "(41, 3)" in words or (main(["check", str(out)]) == 3 and "DAMAGED" in capsys.readouterr().out)
        is_refused = code in (2, 3) and "scenario.toml anew" in message and read_run(out)["state"] == "interrupted"
        return is_refused and is_seen, message

    assert not missed(CHECKPOINT, single, tmp_path / "copy", lambda out: latest(out).folder, look)


def test_the_older_one_is_taken_where_the_newer_one_is_damaged(runs, out, capsys):
    """And run.json is written anew. The run then ends with the bits of one that was not interrupted."""
    for text in ("", "[]", "{", "[" * 100_000, '{"state": 1}'):
        (out / "run.json").write_text(text)
        assert main(["check", str(out)]) == 3 and resumable(out).step == 41, text[:20]
    damage(latest(out).folder / "rank_0" / "state.npy", 0.5)
    craton.resume(out, progress=False)
    message = capsys.readouterr().err
    assert "state.npy is damaged: its checksum does not match" in message and "run.json is damaged" in message
    assert "going on from the checkpoint of step 21" in message and unsealed(out / "run.json")["state"] == "finished"
    same_results(runs / "whole", out, RESULTS)
    assert main(["check", str(out)]) == 0


# --- the rest of a folder ---------------------------------------------------------------------------------------------------------------


VELOCITY = "snapshots/section/velocity"
STORE = [
    (f"{VELOCITY}/0.0.0.0", 900, "it has 900 of"),
    (f"{VELOCITY}/0.0.0.0", 0, "fewer than its header"),
    (f"{VELOCITY}/.zarray", b"{", "it is no JSON"),
    (
        f"{VELOCITY}/.zarray",
        b'{"zarr_format": 2,"shape":[1e9],"chunks":[1]}',
        "its shape, chunks, dtype or codecs cannot be right",
    ),
    (f"{VELOCITY}/.zattrs", None, "it is missing"),
    (f"{VELOCITY}/.zattrs", b"[]", "it holds no JSON object"),
    ("snapshots/section/.zgroup", b"{}", "it states no format that is known"),
    ("", None, "it is missing"),
]


def test_damaged_stores_are_found(out, tmp_path, capsys):
    def look(out, words):
        code, message = main(["resume", str(out)]), capsys.readouterr().err
        is_named = main(["check", str(out)]) == 3 and words.split()[-1] in capsys.readouterr().out
        return code == 3 and (is_named or not (out / "result.zarr").exists()), message

    assert not missed(STORE, out, tmp_path / "copy", lambda out: out / "result.zarr", look)
    damage(out / "result.zarr" / STORE[0][0], 0.5)
    assert main(["check", str(out)]) == 3 and "its checksum does not match" in capsys.readouterr().out


def test_a_flipped_bit_of_a_finished_run_is_found(runs, tmp_path, capsys):
    """By craton check wherever it is; by what reads the file where it is read."""
    out, rng = shutil.copytree(runs / "whole", tmp_path / "whole"), random.Random(3)
    shutil.copy(ROOT / "docs" / "fwi.png", out / "overview.png")
    files = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}
    assert main(["check", str(out)]) == 0
    assert {"waveforms.mseed", "result.zarr/velocity/0.0.0", "result.zarr/.zmetadata"} <= set(files)
    for name in ("overview.png", "run.json", "scenario.toml", "stations.xml", *rng.sample(sorted(files), 4)):
        with Flip(files[name], rng):
            assert main(["check", str(out)]) == 3, name
    capsys.readouterr()
    words = ["convert", str(out), str(tmp_path / "x.sgy"), "--force"]
    for name in ("velocity/0.0.0", "velocity/.zattrs", ".zmetadata", "time/0"):
        with Flip(files[f"result.zarr/{name}"], rng):
            assert main(words) == 2 and "Traceback" not in capsys.readouterr().err, name
    with Flip(files["run.json"], rng):
        assert main(words) == 0 and "run.json is damaged" in capsys.readouterr().err
    damage(files["run.json"], ("result.zarr/velocity", "result.zarr/velocitx"))
    assert main(words) == 0 and "run.json is damaged" in capsys.readouterr().err
    damage(files["run.json"], ("result.zarr/velocitx", "result.zarr/velocity"))
    files["result.zarr/component/0"].unlink()
    assert main(["check", str(out)]) == 3 and "0 of 1 chunks" in capsys.readouterr().out
    assert main(["plot", str(out), "records"]) == 2 and "0 of 1 chunks" in capsys.readouterr().err


def test_chunks_can_be_read_without_craton(runs):
    """Their codecs are those of numcodecs, which every reader of zarr in Python has."""
    import zarr
    from numcodecs import CRC32, Blosc

    for name in ("velocity", "receiver", VELOCITY, "snapshots/section/time"):
        array = zarr.open_array(runs / "whole/result.zarr" / name, mode="r", zarr_format=2)
        assert [type(codec) for codec in (*array.filters, *array.compressors)] == [Blosc, CRC32]


# --- two writers ------------------------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path, monkeypatch, capsys):
    """While a run goes on: another one, also with --force, a resume, a check."""
    file = smallcase.write(tmp_path, ("spacing = 100", "spacing = 150"))
    out, due, codes = str(tmp_path / "out"), Guard.due, []

    def beside(self, step):
        if step == 6 and not codes:
            again = ["run", str(file), "-o", out, "--force"]
            codes.extend(map(main, (again, ["resume", out], ["check", out])))
            for force in (False, True):
                refused(ScenarioError, "is being written by process", check_out, tmp_path / "out", force)
        return due(self, step)

    monkeypatch.setattr(Guard, "due", beside)
    assert main(["run", str(file), "-o", out, "-q"]) == 0
    message = capsys.readouterr().err
    assert codes == [2, 2, 2] and message.count(f"being written by process {os.getpid()}") == 3
    assert not (tmp_path / "out" / LOCK).exists() and main(["check", out]) == 0


def test_two_that_go_on_at_once_are_one(out):
    """Both have seen that nobody writes there."""
    store = Store.again(out)
    refused(ScenarioError, "is being written by", Store.again, out)
    refused(ScenarioError, "is being written by", Store, out, force=True)
    store.finish("interrupted")
    Store.again(out).release()


def test_a_lock_knows_whether_its_holder_lives(tmp_path):
    path = tmp_path / "lock"
    with lock.acquire(path, signs=True) as first:
        assert path.stat().st_size == lock.RESERVE_BYTES
        refused(lock.Held, f"process {os.getpid()}", lock.acquire, path)
        assert lock.holder(path).holder == lock.this_process()
        first.give_space()
        assert path.stat().st_size == lock.RECORD_BYTES and lock.holder(path)
    assert not path.exists() and lock.holder(path) is None
    code = f"from craton import lock; import os; lock.acquire({str(path)!r}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert path.exists() and lock.holder(path) is None
    lock.acquire(path).release()
    path.write_text(json.dumps({"host": "elsewhere", "boot": "x", "pid": 7, "start": 1}))
    with pytest.raises(lock.Held, match="process 7 on elsewhere") as error:
        lock.acquire(path)
    assert 80 < error.value.seconds <= lock.LEASE
    os.utime(path, (time.time() - 100,) * 2)
    lock.acquire(path).release()


def test_a_lock_where_the_file_system_has_none(tmp_path, monkeypatch):
    """The lease alone says who lives: host, process and its start time."""
    path = tmp_path / "lock"
    monkeypatch.setattr(lock, "_flock", lambda handle, **options: False)
    parent = lock.this_process() | {"pid": os.getppid(), "start": lock.start_of(os.getppid())}
    path.write_text(json.dumps(parent))
    refused(lock.Held, f"process {os.getppid()}", lock.acquire, path)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    for text in (json.dumps(parent | {"start": 1}), "garbage"):  # a later process with the number
        path.write_text(text)
        lock.acquire(path).release()


# --- a full disk ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """A small disk, and a function that gives it a size; nothing is asked before it is written."""
    monkeypatch.setattr("craton.output.store.check_space", lambda path, nbytes: None)
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(words, stderr=-3).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield place / "out", lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", place], check=True)
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_named_and_nothing_is_corrupt(runs, disk, monkeypatch, capsys):
    """Pictures fill it; then a checkpoint does, where two fit and a third one does not: run.json tells the truth, what is there is
    whole, and with more room every bit comes.
    """
    (out, size), full = disk, "No space left on device"
    state = sum(p.stat().st_size for p in latest(runs / "out").folder.rglob("*") if p.is_file())
    pictures = small(("plane = { y = 1500 }\nevery = 0.25", "every = 0.02"))
    for case, nbytes in ((pictures, 2 << 20), (small(run=["run.checkpoint=1 ms"]), int(2.9 * state))):
        shutil.rmtree(out, ignore_errors=True)
        size(nbytes)
        refused(CratonError, full, craton.run, case, out=out, progress=False)
        run = unsealed(out / "run.json")
        assert run["state"] == "failed" and full in run["reason"] and not (out / LOCK).exists()
        assert main(["check", str(out)]) == 0, capsys.readouterr().out
    assert latest(out).step > 1
    size(64 << 20)
    monkeypatch.setattr(Checkpoints, "due", lambda self, step: False)
    craton.resume(out, progress=False)
    same_results(runs / "whole", out, RESULTS)
