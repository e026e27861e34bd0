"""Damaged run folders and folders with two writers: found, named and refused in words, never a traceback, never other waveforms."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import smallcase
from attack.flips import Flip
from smallcase import pictured, same_results

import craton
from craton import lock
from craton.cli import main
from craton.comm.local import Alone
from craton.driver.recorder import Recorder
from craton.driver.run import resumable
from craton.driver.saved import last_whole, latest
from craton.errors import CratonError, Interrupted, ResourceError, ScenarioError
from craton.integrity import sealed, unsealed
from craton.output.store import LOCK, Store, check_out, read_run
from craton.scenario import loads

PNG = bytes.fromhex(  # of one point
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060"
    "000000050001a5f645400000000049454e44ae426082"
)


def interrupted_after(steps):
    """A patch of `Recorder.sample` that stops runs after these steps, one after another."""
    sample, waiting = Recorder.sample, list(steps)

    def told(self, step):
        if waiting and step == waiting[0]:
            waiting.pop(0)
            self.stopped = "SIGTERM"
        sample(self, step)

    return told


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """A run that was interrupted twice: it has two checkpoints; and the same run not interrupted."""
    folder = tmp_path_factory.mktemp("left")
    craton.run(pictured(), out=folder / "whole", progress=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recorder, "sample", interrupted_after((20, 40)))
        with pytest.raises(Interrupted):
            craton.run(pictured(), out=folder / "out", progress=False)
        with pytest.raises(Interrupted):
            craton.resume(folder / "out", progress=False)
    return folder


@pytest.fixture
def out(left, tmp_path):
    """A copy of the interrupted run."""
    return shutil.copytree(left / "out", tmp_path / "out")


@pytest.fixture
def single(out):
    """A copy of it with the last checkpoint only."""
    shutil.rmtree(out / "checkpoints" / "step_000000021")
    return out


# --- checkpoints ------------------------------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_found_wherever_it_is(single):
    """A thousand of them outside of the suite: 1,000 found."""
    rng = random.Random(7)
    files = sorted(p for p in latest(single).folder.rglob("*") if p.is_file())
    sizes = [p.stat().st_size for p in files]
    for n in range(int(os.environ.get("CRATON_FLIPS", "48"))):
        path = files[n % len(files)] if n % 2 else rng.choices(files, sizes)[0]
        contents = path.read_bytes()
        flipped = bytearray(contents)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(ResourceError, match=f"every checkpoint is damaged: .*{path.name}"):
            last_whole(single, Alone())
        path.write_bytes(contents)
    assert last_whole(single, Alone()).step == 41


def manifest(out):
    """Path of the last manifest."""
    return latest(out).folder / "manifest.json"


def changed(**changes):
    """A manifest with other values and a right checksum."""

    def change(out):
        path = manifest(out)
        path.write_text(sealed(unsealed(path) | changes))

    return change


def without(key):
    """A manifest that lacks a key and has a right checksum."""

    def change(out):
        path = manifest(out)
        fields = unsealed(path)
        del fields[key]
        path.write_text(sealed(fields))

    return change


def record(values=None, **options):
    """Another array of samples, whose size and checksum the manifest has."""

    def change(out):
        path = latest(out).folder / "record.npy"
        np.save(path, values, **options)
        contents = path.read_bytes()
        import hashlib

        file = {"bytes": len(contents), "sha256": hashlib.sha256(contents).hexdigest()}
        fields = unsealed(manifest(out))
        changed(files=fields["files"] | {"record.npy": file})(out)

    return change


def written(name, contents):
    """A file of the checkpoint that holds something else."""
    return lambda out: (latest(out).folder / name).write_bytes(contents)


def elsewhere(out):
    """A manifest that names a file outside of the checkpoint."""
    files = unsealed(manifest(out))["files"]
    changed(files=files | {"../../run.json": files["record.npy"]})(out)


DAMAGES = {
    "manifest empty": (written("manifest.json", b""), "manifest.json is damaged: it is empty"),
    "manifest garbage": (written("manifest.json", b"\xff\x00{{"), "manifest.json is damaged"),
    "manifest a list": (written("manifest.json", b"[]"), "holds no JSON object but a list"),
    "manifest nested": (written("manifest.json", b"[" * 100_000), "nested too deeply"),
    "manifest of digits": (written("manifest.json", b'{"step": 1' + b"0" * 5000 + b"}"), "no JSON"),
    "manifest gone": (lambda out: manifest(out).unlink(), "manifest.json is damaged: it is missing"),
    "manifest a folder": (
        lambda out: (path := manifest(out)).unlink() or path.mkdir(),
        "manifest.json is damaged: Is a directory",
    ),
    "without checksum": (
        lambda out: manifest(out).write_text(json.dumps(unsealed(manifest(out)))),
        "it has no checksum",
    ),
    "another step": (
        lambda out: manifest(out).write_text(manifest(out).read_text().replace('"step": 41', '"step": 42')),
        "its checksum does not match",
    ),
    "without step": (without("step"), "its step cannot be right"),
    "step -5": (changed(step=-5), "its step cannot be right"),
    "step a": (changed(step="a"), "its step cannot be right"),
    "step 1e9": (changed(step=1e9), "its step cannot be right"),
    "step true": (changed(step=True), "its step cannot be right"),
    "step of another": (changed(step=40), "it is of step 40, its folder is step_000000041"),
    "steps": (changed(steps=10**12), "its steps, step cannot be right"),
    "dt": (changed(dt=-1.0), "its dt cannot be right"),
    "start": (changed(start=10**400), "its start cannot be right"),
    "ranks": (changed(ranks=100_000), "its subdomains, fields cannot be right"),
    "subdomains": (changed(subdomains=[[1e9] * 8]), "its subdomains cannot be right"),
    "versions": (changed(versions=[1]), "its versions cannot be right"),
    "files": (changed(files=[]), "its files cannot be right"),
    "file elsewhere": (elsewhere, "its files cannot be right"),
    "record cut": (
        lambda out: os.truncate(latest(out).folder / "record.npy", 200),
        "record.npy is damaged: it has 200 of",
    ),
    "record gone": (lambda out: (latest(out).folder / "record.npy").unlink(), "record.npy is damaged: No such file"),
    "record of another shape": (record(np.zeros((41, 3), "f")), "it holds (41, 3) of float32"),
    "record of another type": (record(np.zeros((41, 12), "i4")), "it holds (41, 12) of int32"),
    "record a pickle": (record(np.array([{}]), allow_pickle=True), "record.npy is damaged"),
    "record no array": (record(np.zeros(0)), "record.npy is damaged"),
    "state a pipe": (
        lambda out: (p := latest(out).folder / "rank_0" / "state.npy").unlink() or os.mkfifo(p),
        "state.npy is damaged: it has 0 of",
    ),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_checkpoint_is_refused_in_words(case, single, capsys):
    damage, words = DAMAGES[case]
    damage(single)
    assert main(["resume", str(single)]) in (2, 3)
    said = capsys.readouterr().err
    assert words in said and "scenario.toml anew" in said
    assert "Traceback" not in said and "bug in craton" not in said
    if case != "record of another shape":  # only the plan knows the number of channels
        assert main(["check", str(single)]) == 3
        assert "DAMAGED" in capsys.readouterr().out
    assert read_run(single)["state"] == "interrupted"


def test_the_older_one_is_taken_where_the_newer_one_is_damaged(left, out, capsys):
    """The run then ends with the bits of one that was not interrupted."""
    path = latest(out).folder / "rank_0" / "state.npy"
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    craton.resume(out, progress=False)
    said = capsys.readouterr().err
    assert "state.npy is damaged: its checksum does not match" in said
    assert "going on from the checkpoint of step 21" in said
    same_results(left / "whole", out)
    assert main(["check", str(out)]) == 0


# --- the rest of a folder ---------------------------------------------------------------------------------------------------------------

PIDS = (-1, -5, 0, 1 << 40, 1e30, "a", None, True, [], {"a": 1}, os.getpid())


def test_odd_process_numbers_block_nothing(out):
    """An earlier version of craton left these."""
    about = {"state": "running", "host": socket.gethostname()}
    for pid in PIDS:
        (out / "run.json").write_text(json.dumps(about | {"pid": pid}))
        assert resumable(out).step == 41
    old = about | {"pid": os.getppid(), "updated": "2020-01-01T00:00:00Z"}
    (out / "run.json").write_text(json.dumps(old))
    assert resumable(out).step == 41, "a process that started later has the number"
    (out / "run.json").write_text(json.dumps(old | {"updated": "2999-01-01T00:00:00Z"}))
    with pytest.raises(ScenarioError, match=f"being written by process {os.getppid()}"):
        resumable(out)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"state": 1}', "[" * 100_000])
def test_a_damaged_run_json_is_written_anew(text, out, left, capsys):
    (out / "run.json").write_text(text)
    assert main(["check", str(out)]) == 3
    craton.resume(out, progress=False)
    assert "run.json is damaged" in capsys.readouterr().err
    assert unsealed(out / "run.json")["state"] == "finished"
    same_results(left / "whole", out)


def chunk(out):
    """A chunk of a picture that was taken."""
    return next((out / "result.zarr/snapshots/section/velocity").glob("0.*"))


STORE = {
    "cut": (lambda out: os.truncate(chunk(out), 900), "it has 900 of"),
    "empty": (lambda out: os.truncate(chunk(out), 0), "fewer than its header"),
    ".zarray": (lambda out: (chunk(out).parent / ".zarray").write_text("{"), "it is no JSON"),
    "shape": (
        lambda out: (chunk(out).parent / ".zarray").write_text('{"zarr_format": 2, "shape": [1e9], "chunks": [1]}'),
        "its shape and chunks cannot be right",
    ),
    ".zattrs gone": (lambda out: (chunk(out).parent / ".zattrs").unlink(), "it is missing"),
    ".zgroup": (lambda out: (chunk(out).parents[1] / ".zgroup").write_text("{}"), "it states no format that is known"),
    ".zattrs": (lambda out: (chunk(out).parent / ".zattrs").write_text("[]"), "it holds no JSON object"),
    "gone": (lambda out: shutil.rmtree(out / "result.zarr"), "it is missing"),
}


@pytest.mark.parametrize("case", STORE)
def test_a_damaged_store_is_found(case, out, capsys):
    damage, words = STORE[case]
    damage(out)
    assert main(["resume", str(out)]) == 3
    said = capsys.readouterr().err
    assert words in said and "Traceback" not in said
    if case != "gone":
        assert main(["check", str(out)]) == 3 and words.split()[-1] in capsys.readouterr().out


def test_flipped_bytes_of_a_chunk_are_found_by_check(out, capsys):
    contents = chunk(out).read_bytes()
    chunk(out).write_bytes(contents[:20] + bytes(255 - b for b in contents[20:60]) + contents[60:])
    assert main(["check", str(out)]) == 3
    assert "its checksum does not match" in capsys.readouterr().out


def finished_files(out):
    """Files of a finished run, by name, that bear checksums themselves or in run.json."""
    return {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}


def test_a_flipped_bit_of_a_finished_run_is_found(left, tmp_path, capsys):
    """By craton check wherever it is; by what reads the file where it is read."""
    out, rng = shutil.copytree(left / "whole", tmp_path / "whole"), random.Random(3)
    (out / "overview.png").write_bytes(PNG)
    files = finished_files(out)
    assert main(["check", str(out)]) == 0
    assert {"waveforms.mseed", "result.zarr/velocity/0.0.0", "result.zarr/.zmetadata"} <= set(files)
    picked = rng.sample(sorted(files), 10)
    for name in ("overview.png", "run.json", "scenario.toml", "stations.xml", *picked):
        with Flip(files[name], rng):
            assert main(["check", str(out)]) == 3, name
    capsys.readouterr()
    words = ["convert", str(out), str(tmp_path / "x.sgy"), "--force"]
    for name in ("velocity/0.0.0", "velocity/.zattrs", ".zmetadata", "time/0"):
        with Flip(files[f"result.zarr/{name}"], rng):
            assert main(words) == 2 and "Traceback" not in capsys.readouterr().err, name
    for _ in range(5):
        with Flip(files["run.json"], rng):
            assert main(words) == 0 and "run.json is damaged" in capsys.readouterr().err
    text = files["run.json"].read_text()
    files["run.json"].write_text(text.replace("result.zarr/velocity", "result.zarr/velocitx"))
    assert main(words) == 0 and "run.json is damaged" in capsys.readouterr().err
    files["run.json"].write_text(text)
    files["result.zarr/component/0"].unlink()
    assert main(["check", str(out)]) == 3 and "0 of 1 chunks" in capsys.readouterr().out
    assert main(["plot", str(out), "records"]) == 2 and "0 of 1 chunks" in capsys.readouterr().err


def test_chunks_can_be_read_without_craton(left):
    """Their codecs are those of numcodecs, which every reader of zarr in Python has."""
    import zarr
    from numcodecs import CRC32, Blosc

    for name in ("velocity", "receiver", "snapshots/section/velocity", "snapshots/section/time"):
        array = zarr.open_array(left / "whole/result.zarr" / name, mode="r", zarr_format=2)
        assert [type(codec) for codec in (*array.filters, *array.compressors)] == [Blosc, CRC32]


# --- two writers ------------------------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path, monkeypatch, capsys):
    """While a run goes on: another one, also with --force, a resume, a check."""
    file, sample, codes = smallcase.write(tmp_path), Recorder.sample, []

    def beside(self, step):
        if step == 5 and not codes:
            for words in (("run", str(file), "-o", str(tmp_path / "out"), "--force"), ("resume",)):
                codes.append(main([*words, *(() if len(words) > 1 else (str(tmp_path / "out"),))]))
            codes.append(main(["check", str(tmp_path / "out")]))
            for force in (False, True):
                with pytest.raises(ScenarioError, match="is being written by process"):
                    check_out(tmp_path / "out", force)
        sample(self, step)

    monkeypatch.setattr(Recorder, "sample", beside)
    assert main(["run", str(file), "-o", str(tmp_path / "out"), "-q"]) == 0
    said = capsys.readouterr().err
    assert codes == [2, 2, 2] and said.count(f"being written by process {os.getpid()}") == 3
    assert not (tmp_path / "out" / LOCK).exists()
    assert main(["check", str(tmp_path / "out")]) == 0


def test_two_that_go_on_at_once_are_one(out):
    """Both have seen that nobody writes there."""
    store = Store.again(out)
    with pytest.raises(ScenarioError, match="is being written by"):
        Store.again(out)
    with pytest.raises(ScenarioError, match="is being written by"):
        Store(out, force=True)
    store.finish("interrupted")
    Store.again(out).release()


def other(**changes):
    """The record of another process in a lock file."""
    return {"host": "elsewhere", "boot": "x", "pid": 7, "start": 1} | changes


def test_a_lock_knows_whether_its_holder_lives(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    with lock.acquire(path, signs=True) as first:
        assert path.stat().st_size == lock.RESERVE_BYTES
        with pytest.raises(lock.Held, match=f"process {os.getpid()}"):
            lock.acquire(path)
        assert lock.holder(path).holder == lock.this_process()
        first.give_space()
        assert path.stat().st_size == lock.RECORD_BYTES and lock.holder(path)
    assert not path.exists() and lock.holder(path) is None
    code = f"from craton import lock; import os; lock.acquire({str(path)!r}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert path.exists() and lock.holder(path) is None
    lock.acquire(path).release()
    path.write_text(json.dumps(other()))
    with pytest.raises(lock.Held, match="process 7 on elsewhere") as held:
        lock.acquire(path)
    assert 80 < held.value.seconds <= lock.LEASE
    os.utime(path, (time.time() - 100,) * 2)
    lock.acquire(path).release()


def test_a_lock_where_the_file_system_has_none(tmp_path, monkeypatch):
    """The lease alone says who lives: host, process and its start time."""
    path = tmp_path / "lock"
    monkeypatch.setattr(lock, "_flock", lambda handle, **how: False)
    parent = lock.this_process() | {"pid": os.getppid(), "start": lock.start_of(os.getppid())}
    path.write_text(json.dumps(parent))
    with pytest.raises(lock.Held, match=f"process {os.getppid()}"):
        lock.acquire(path)
    path.write_text(json.dumps(parent | {"start": 1}))  # a later process with the number
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    lock.acquire(path).release()
    path.write_text("garbage")
    lock.acquire(path).release()


# --- a full disk ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(words, stderr=-3).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_named_and_nothing_is_corrupt(small_disk, monkeypatch, capsys):
    """Pictures fill it; then a checkpoint does: run.json tells the truth, what is there is whole."""
    from craton.output import store

    monkeypatch.setattr(store, "check_space", lambda path, nbytes: None)
    for name, case in {
        "pictures": loads(smallcase.changed(("plane = { y = 1500 }\nevery = 0.25", "every = 0.02"))),
        "checkpoint": pictured(run_checkpoint='"1 ms"'),
    }.items():
        with pytest.raises(CratonError, match="No space left on device"):
            craton.run(case, out=small_disk / name, progress=False)
        state = unsealed(small_disk / name / "run.json")
        assert state["state"] == "failed" and "No space left" in state["reason"]
        code = main(["check", str(small_disk / name)])
        assert code == 0, capsys.readouterr().out
        assert not (small_disk / name / LOCK).exists()
        shutil.rmtree(small_disk / name)


def test_a_run_on_a_full_disk_goes_on_where_there_is_room(left, small_disk, monkeypatch, capsys):
    """Two checkpoints fit and a third one does not: the older ones are whole, and with more room every bit comes."""
    from craton.output import store

    def size(nbytes):
        words = ["mount", "-o", f"remount,size={nbytes >> 10}k", str(small_disk)]
        subprocess.run(words, check=True)

    state = sum(p.stat().st_size for p in latest(left / "out").folder.rglob("*") if p.is_file())
    monkeypatch.setattr(store, "check_space", lambda path, nbytes: None)
    size(int(2.9 * state))
    out, words = small_disk / "out", "No space left on device"
    with pytest.raises(CratonError, match=words):
        craton.run(pictured(run_checkpoint='"1 ms"'), out=out, progress=False)
    assert words in read_run(out)["reason"] and latest(out).step > 1
    assert main(["check", str(out)]) == 0, capsys.readouterr().out
    size(64 << 20)
    monkeypatch.setattr(Recorder, "keep", lambda self: None)
    craton.resume(out, progress=False)
    same_results(left / "whole", out)
