"""The cache of compiled kernels: compiled once; nothing that another user could have written is loaded; old ones go, damaged ones too."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from common import refused
from damagecase import damage

from craton.errors import ResourceError
from craton.host import compile as host
from craton.host import kernel_cache, trust

SOURCE = 'extern "C" int answer() { return 42; }\n'
STRANGER = 54321  # a user number of nobody here


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with one entry, and a library of the same name that notes that it ran."""
    place = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRATON_CACHE", str(place / "whole"))
        host.library(SOURCE)
    text = 'extern "C" int answer() { return 666; }\n#include <cstdlib>\n'
    text += '__attribute__((constructor)) void run() { setenv("CRATON_PLANTED", "1", 1); }\n'
    words = [host.compiler()[0], "-shared", "-fPIC", "-x", "c++", "-", "-o", str(place / "planted.so")]
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


# --- another user's ---------------------------------------------------------------------------------------------------------------------


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
    reason = f"belongs to user {STRANGER}" if "of another" in case else "may be written by other users"
    refused(ResourceError, (reason, "set CRATON_CACHE to a folder"), host.library, SOURCE)
    assert "CRATON_PLANTED" not in os.environ


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_a_file_of_another_user_is_compiled_anew(entry, compiled, capfd):
    """In a folder of ours that was open once."""
    chown(plant(entry, compiled))
    assert host.library(SOURCE).answer() == 42 and "CRATON_PLANTED" not in os.environ
    assert f"belongs to user {STRANGER}" in capfd.readouterr().err


def test_cupy_gets_a_folder_of_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "is_own_group", lambda gid: False)
    monkeypatch.setenv("CRATON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CUPY_CACHE_DIR", "")
    kernel_cache.secure_cupy()
    chosen = Path(os.environ["CUPY_CACHE_DIR"])
    assert chosen == tmp_path / "cache" / "cupy" and chosen.stat().st_mode & 0o777 == 0o700
    chosen.chmod(0o777)
    refused(ResourceError, ("other users", "CUPY_CACHE_DIR"), kernel_cache.secure_cupy)


# --- damaged, old, locked ---------------------------------------------------------------------------------------------------------------


DAMAGES = {
    "empty": lambda path: damage(path, b""),
    "garbage": lambda path: damage(path, b"\x7fELF" + bytes(range(256)) * 20),
    "a folder": lambda path: damage(path, lambda path: (path / "another").mkdir(parents=True)),
    "cut in half": lambda path: damage(path, path.stat().st_size // 2),
    "a bit flipped": lambda path: damage(path, 0.5),
    "longer": lambda path: damage(path, path.read_bytes() + b"\0"),
    "of another kernel": lambda path: path.rename(path.with_name(path.stem[:-1] + "0f"[path.stem[-1] == "0"] + ".so")),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_entries_are_compiled_anew(case, entry, compiled, monkeypatch, capfd):
    DAMAGES[case](entry)
    whole, calls = next((compiled / "whole").glob("*.so")), []

    def compile_again(command, source, place, digest):
        calls.append(digest)
        shutil.copy(whole, place / "new.tmp")
        kernel_cache.keep(place, digest, place / "new.tmp")

    monkeypatch.setattr(host, "_compile", compile_again)
    assert host.library(SOURCE).answer() == 42 and len(calls) == 1
    assert "note: a compiled kernel was damaged and is compiled anew" in capfd.readouterr().err
    assert [path.name for path in entry.parent.glob("*.so")] == [whole.name]
    assert entry.parent.stat().st_mode & 0o777 == 0o700


def test_old_entries_go_when_it_is_full(tmp_path):
    """The oldest first; those that were used within a day stay."""
    now = time.time()
    for n, days in enumerate((9, 5, 3, 0)):
        path = tmp_path / f"{n}.so"
        path.write_bytes(bytes(1000))
        os.utime(path, (now - days * 86400,) * 2)
    for limit, remaining in ((2500, ["2.so", "3.so"]), (0, ["3.so"])):
        kernel_cache.evict(tmp_path, limit)
        assert sorted(path.name for path in tmp_path.iterdir()) == remaining


def test_the_lock_of_a_dead_process_holds_nobody_up(entry, capfd):
    lock = entry.with_name("d.lock")
    lock.write_text('{"host": "elsewhere", "boot": "", "pid": 7}')
    os.utime(lock, (time.time() - 1000,) * 2)
    with kernel_cache.alone(entry.parent, "d"):
        assert lock.exists()
    assert list(entry.parent.iterdir()) == [entry]


def test_who_waits_too_long_goes_on(entry, monkeypatch):
    monkeypatch.setattr(kernel_cache, "PATIENCE", 0.1)
    with kernel_cache.alone(entry.parent, "d"), kernel_cache.alone(entry.parent, "d"):
        assert (entry.parent / "d.lock").exists()
    assert not (entry.parent / "d.lock").exists()


# --- compiler ---------------------------------------------------------------------------------------------------------------------------


REFUSED = [  # environment, exit code, words
    ({"CXX": "true"}, 3, ["wrote nothing"]),
    ({"CXX": 'g++ "-O2'}, 3, ["cannot be read: No closing quotation"]),
    ({"CXX": "$(which g++)"}, 3, ['no program "$(which" (no shell reads it)']),
    ({"CXX": "g++; echo"}, 3, ['no program "g++;" (no shell reads it)']),
    ({"CXX": "no-such-compiler"}, 3, ['no program "no-such-compiler"']),
    ({"CXX": "false"}, 3, ["C++ compiler failed"]),
    ({"CXX": "", "PATH": "nowhere"}, 3, ["no C++ compiler found", "apt-get install g++", "ziglang"]),
    ({"CRATON_CACHE": "file/below"}, 2, ["CRATON_CACHE"]),
    ({"CRATON_CACHE": "file"}, 2, ["CRATON_CACHE"]),
]


def test_a_compiler_or_cache_that_is_none_is_refused_in_words(entry, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "compiler", host.compiler.__wrapped__)  # looked for anew each time
    entry.unlink()
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host.importlib.util, "find_spec", lambda name: None)
    for environment, code, words in REFUSED:
        with monkeypatch.context() as patch, pytest.raises(ResourceError) as caught:
            for name, value in environment.items():
                patch.setenv(name, str(tmp_path / value) if name == "CRATON_CACHE" else value)
            host.library(SOURCE)
        assert not [word for word in words if word not in str(caught.value)], caught.value
        assert caught.value.exit_code == code and not list(entry.parent.iterdir()), environment
    refused(ResourceError, "nonsense", host.library, "nonsense;")
    assert not list(entry.parent.iterdir())


PROGRAM = """
from craton.backends.cpu import CPU
from craton.methods.finite_difference.equations import operators
from craton.methods.finite_difference.equations.scheme import stencil
assert all(CPU().compile([operators.stress(stencil(2)), operators.velocity(stencil(2))], "float32").values())
"""


def compilations(folder, processes):
    """Calls of the compiler other than the search for OpenMP, after processes side by side that compile a text and the runner."""
    command, noting = host.compiler(), folder / "noting-cxx"
    if command[0] == sys.executable:
        pytest.skip("needs a C++ compiler of its own, not the ziglang wheel")
    noting.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\nexec {command[0]} "$@"\n')
    noting.chmod(0o755)
    own = {"CRATON_CACHE": str(folder / "cache"), "CXX": str(noting), "PYTHONPATH": os.pathsep.join(sys.path)}
    words, more = [sys.executable, "-c", PROGRAM], {"env": os.environ | own, "stderr": subprocess.PIPE, "text": True}
    for process in [subprocess.Popen(words, **more) for _ in range(processes)]:
        assert process.wait() == 0, process.stderr.read()
    return sum("-O3" in line for line in (folder / "calls").read_text().splitlines())


def test_second_process_compiles_nothing(tmp_path):
    """Nor does it try the compiler: once, the first process asked it for OpenMP."""
    for _ in range(2):
        assert compilations(tmp_path, 1) == 2  # the kernels and the runner, in the first process
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


@pytest.mark.long
def test_racing_processes_are_safe(tmp_path):
    assert compilations(tmp_path, 4) >= 2
    assert [p.suffix for p in (tmp_path / "cache").iterdir()] == [".so", ".so"]


def test_another_text_or_flag_is_another_library(monkeypatch, tmp_path):
    monkeypatch.setenv("CRATON_CACHE", str(tmp_path))
    libraries = [host.library(f'extern "C" int f() {{ return {n}; }}') for n in (1, 2)]
    libraries.append(host.library('extern "C" int f() { return 1; }', (*host.FLAGS, "-DOTHER")))
    assert [lib.f() for lib in libraries] == [1, 2, 1] and len(list(tmp_path.glob("*.so"))) == 3
