"""The cache of compiled kernels: nothing that another user could have written is loaded, damaged entries are compiled anew, old ones go."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from craton.errors import ResourceError
from craton.host import compile as host
from craton.host import kernel_cache, trust

SOURCE = 'extern "C" int answer() { return 42; }\n'
STRANGER = 54321  # a user number of nobody here
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with one entry, and a library of the same name that notes that it ran."""
    place = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRATON_CACHE", str(place / "whole"))
        host.library(SOURCE)
    planted = place / "planted.so"
    text = 'extern "C" int answer() { return 666; }\n#include <cstdlib>\n'
    text += '__attribute__((constructor)) void run() { setenv("CRATON_PLANTED", "1", 1); }\n'
    words = [host.compiler()[0], "-shared", "-fPIC", "-x", "c++", "-", "-o", str(planted)]
    subprocess.run(words, input=text, text=True, check=True)
    return place


@pytest.fixture
def entry(compiled, tmp_path, monkeypatch):
    """The entry in a cache of its own, of which this process has loaded nothing."""
    place = Path(shutil.copytree(compiled / "whole", tmp_path / "a" / "cache"))
    monkeypatch.setenv("CRATON_CACHE", str(place))
    monkeypatch.setattr(host, "LOADED", {})
    return next(place.glob("*.so"))


def plant(entry, compiled):
    """Put the planted library in place of the entry, with a checksum that is right for it."""
    digest, contents = entry.name.split("-")[0], (compiled / "planted.so").read_bytes()
    entry.unlink()
    planted = entry.with_name(f"{digest}-{kernel_cache.checksum(digest, contents)}.so")
    planted.write_bytes(contents)
    return planted


def chown(path):
    """Give a file to another user."""
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def link_of_another(entry):
    """The cache is reached by a symbolic link that another user made."""
    real = entry.parent.rename(entry.parents[1] / "elsewhere")
    entry.parent.symlink_to(real)
    chown(entry.parent)


UNSAFE = {
    "folder of another": lambda entry: chown(entry.parent),
    "folder above of another": lambda entry: chown(entry.parents[1]),
    "link of another": link_of_another,
    "folder for all": lambda entry: entry.parent.chmod(0o777),
    "folder above for a group": lambda entry: entry.parents[1].chmod(0o775),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_a_planted_library_is_not_run(case, entry, compiled, monkeypatch):
    """It has the right name and checksum: only who may write there gives it away."""
    if "of another" in case and os.geteuid():
        pytest.skip("only root can make files of another user")
    monkeypatch.setattr(trust, "is_own_group", lambda gid: False)
    plant(entry, compiled)
    UNSAFE[case](entry)
    reason = "belongs to user 54321" if "of another" in case else "may be written by other users"
    with pytest.raises(ResourceError, match=f"{reason}(.|\n)*set CRATON_CACHE to a folder"):
        host.library(SOURCE)
    assert "CRATON_PLANTED" not in os.environ


@as_root
def test_a_planted_library_is_not_run_by_another_user(entry, compiled, tmp_path):
    """The process itself is another user's, as on a machine with two; the library is in /tmp."""
    folder = Path(f"/tmp/craton-test-{os.getpid()}")
    folder.mkdir(mode=0o777)
    planted = plant(entry, compiled)
    try:
        shutil.copy(planted, folder)
        os.chown(folder, STRANGER, STRANGER)
        code = (
            "import os\nfrom craton.host import compile as host\nhost.compiler()\n"
            "os.setegid(12345); os.seteuid(12345)\n"
            f"try: print(host.library({SOURCE!r}).answer())\n"
            "except Exception as error: print(type(error).__name__, error)"
        )
        env = os.environ | {"CRATON_CACHE": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.stdout.startswith("ResourceError"), done.stderr
        assert "belongs to user 54321" in done.stdout
    finally:
        shutil.rmtree(folder)


@as_root
def test_a_file_of_another_user_is_compiled_anew(entry, compiled, capfd):
    """In a folder of ours that was open once."""
    chown(plant(entry, compiled))
    assert host.library(SOURCE).answer() == 42 and "CRATON_PLANTED" not in os.environ
    assert "belongs to user 54321" in capfd.readouterr().err


def flipped(path):
    """Flip 64 bytes in the middle."""
    contents = bytearray(path.read_bytes())
    middle = len(contents) // 2
    contents[middle : middle + 64] = bytes(255 - b for b in contents[middle : middle + 64])
    path.write_bytes(contents)


def folder_instead(path):
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()
    (path / "file").touch()


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\x7fELF" + bytes(range(256)) * 20),
    "a folder": folder_instead,
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "64 bytes flipped": flipped,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "of another kernel": lambda path: path.rename(path.with_name(path.name[::-1][3:][::-1] + "f.so")),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_entries_are_compiled_anew(case, entry, compiled, monkeypatch, capfd):
    DAMAGES[case](entry)
    whole = next((compiled / "whole").glob("*.so"))
    calls = []

    def compile_again(command, source, place, digest):
        calls.append(digest)
        shutil.copy(whole, place / "new.tmp")
        kernel_cache.keep(place, digest, place / "new.tmp")

    monkeypatch.setattr(host, "_compile", compile_again)
    assert host.library(SOURCE).answer() == 42 and len(calls) == 1
    said = capfd.readouterr().err
    assert "note: a compiled kernel was damaged and is compiled anew" in said
    assert [path.name for path in entry.parent.glob("*.so")] == [whole.name]
    assert entry.parent.stat().st_mode & 0o777 == 0o700


def test_old_entries_go_when_it_is_full(tmp_path):
    """The oldest first; those that were used within a day stay."""
    now = time.time()
    for n, days in enumerate((9, 5, 3, 0)):
        path = tmp_path / f"{n}.so"
        path.write_bytes(bytes(1000))
        os.utime(path, (now - days * 86400,) * 2)
    kernel_cache.evict(tmp_path, 2500)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.so", "3.so"]
    kernel_cache.evict(tmp_path, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["3.so"]


def test_the_lock_of_a_dead_process_holds_nobody_up(entry, capfd):
    digest, place = entry.name.split("-")[0], entry.parent
    entry.unlink()
    (place / f"{digest}.lock").write_text('{"host": "elsewhere", "boot": "", "pid": 7}')
    long_ago = time.time() - 1000
    os.utime(place / f"{digest}.lock", (long_ago, long_ago))
    with kernel_cache.alone(place, digest):
        assert (place / f"{digest}.lock").exists()
    assert not list(place.iterdir())


def test_who_waits_too_long_goes_on(entry, monkeypatch):
    monkeypatch.setattr(kernel_cache, "PATIENCE", 0.1)
    with kernel_cache.alone(entry.parent, "d"), kernel_cache.alone(entry.parent, "d"):
        assert (entry.parent / "d.lock").exists()
    assert not (entry.parent / "d.lock").exists()


COMPILERS = {
    "true": "wrote nothing",
    'g++ "-O2': "cannot be read: No closing quotation",
    "$(which g++)": r'no program "\$\(which" \(no shell reads it\)',
    "g++; echo": r'no program "g\+\+;" \(no shell reads it\)',
    "no-such-compiler": 'no program "no-such-compiler"',
    "false": r"C\+\+ compiler failed",
}


@pytest.mark.parametrize("command", COMPILERS)
def test_a_compiler_that_is_none_is_refused_in_words(command, entry, monkeypatch):
    entry.unlink()
    monkeypatch.setenv("CXX", command)
    host.compiler.cache_clear()
    try:
        with pytest.raises(ResourceError, match=COMPILERS[command]):
            host.library(SOURCE)
    finally:
        host.compiler.cache_clear()
    assert not list(entry.parent.iterdir())


def test_cupy_gets_a_folder_of_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "is_own_group", lambda gid: False)
    monkeypatch.setenv("CRATON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUPY_CACHE_DIR", "")
    kernel_cache.secure_cupy()
    chosen = Path(os.environ["CUPY_CACHE_DIR"])
    assert chosen == tmp_path / "cache" / "cupy" and chosen.stat().st_mode & 0o777 == 0o700
    chosen.chmod(0o777)
    with pytest.raises(ResourceError, match=r"other users(.|\n)*CUPY_CACHE_DIR"):
        kernel_cache.secure_cupy()
