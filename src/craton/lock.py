"""A lock file that one process holds, and that names it: flock where the file system has it, and beside it a lease
(host, process, last sign of life) for network file systems whose locks do not reach other computers.
"""

import errno
import json
import os
import socket
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

LEASE = 90.0  # s without a sign of life after which a holder on another computer counts as dead
SIGN_EVERY = 20.0  # s between signs of life
RECORD_BYTES = 4096  # of a lock file that is read, at most
RESERVE_BYTES = 64 << 10  # of a lock file with signs of life: what `Lock.give_space` frees on a disk that is full
# what flock says where the file system has no locks
WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)


class Held(Exception):
    """Another process holds the lock: its record (host, boot, pid, start; empty where it cannot be read), and the
    seconds until its lease ends where that decides.
    """

    def __init__(self, holder: dict, seconds: float | None = None):
        self.holder, self.seconds = holder, seconds
        super().__init__(self.words)

    @property
    def words(self) -> str:
        """Which process it is, in words."""
        pid, host = self.holder.get("pid"), self.holder.get("host")
        elsewhere = f" on {host}" if host and host != socket.gethostname() else ""
        return f"process {pid}{elsewhere}" if pid else "another process"


class Lock:
    """A lock of this process until `release`: its path and the descriptor of the open file.

    With `signs` a thread gives signs of life, for locks that last longer than `LEASE`.
    """

    def __init__(self, path: Path, handle: int, signs: bool = False):
        self.path, self.handle, self.ended = path, handle, threading.Event()
        self.thread = threading.Thread(target=self._sign, name="lock", daemon=True)
        if signs:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, RESERVE_BYTES)
            self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.release()

    def give_space(self):
        """Give the space that the lock file takes back to the disk, for a last word."""
        if self.handle is not None:
            with suppress(OSError):
                os.ftruncate(self.handle, RECORD_BYTES)

    def release(self):
        """Remove the lock file; may be called twice."""
        if self.handle is None:
            return
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()
        if _is_at(self.handle, self.path):
            with suppress(OSError):
                self.path.unlink()
        with suppress(OSError):
            _flock(self.handle, unlock=True)  # also for descriptors that a fork has copied
        os.close(self.handle)
        self.handle = None

    def _sign(self):
        while not self.ended.wait(SIGN_EVERY):
            with suppress(OSError):
                os.utime(self.path)


def acquire(path, signs: bool = False) -> Lock:
    """Take the lock of a file in a folder that exists, or raise `Held` with who has it; does not wait.

    A holder on this computer that has died holds nothing; one on another computer, where the file system's locks may
    not reach, when it has given no sign of life for `LEASE` seconds. `signs` is that of `Lock`. Raises OSError where
    the file cannot be written.
    """
    path = Path(path)
    while True:
        handle = _open(path, os.O_RDWR | os.O_CREAT)
        try:
            _refuse_holder(handle, path)
            if _is_at(handle, path):
                return Lock(path, handle, signs)
            os.close(handle)  # its holder removed it in between
        except BaseException:
            os.close(handle)
            raise


def holder(path) -> Held | None:
    """Return `Held` for the process that holds a lock file; None without one. Writes nothing."""
    try:
        handle = _open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        _refuse_holder(handle, Path(path), writes=False)
    except Held as held:
        return held
    finally:
        os.close(handle)
    return None


def _refuse_holder(handle, path, writes=True):
    """Raise `Held` where another process holds an open lock file; else write the record of this one into it."""
    has_locks = _flock(handle, shared=not writes)
    record = _record(handle)
    if has_locks is None:
        raise Held(record)
    if record.get("boot") == _boot() and (has_locks or record["start"] is not None):
        # locks of one system's processes are exact; without them the process itself tells whether it lives
        if not has_locks and record["start"] == start_of(record["pid"]):
            raise Held(record)
    elif record and (left := LEASE - _age(handle, path.parent)) > 0:
        raise Held(record, left)
    if not writes:
        return
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(this_process()).encode() + b"\n", 0)
    with suppress(OSError):
        os.fsync(handle)
    if not has_locks:
        time.sleep(0.5)  # of two that found no holder, or the same dead one, the last one has it
        if (record := _record(handle)) != this_process():
            raise Held(record)


def this_process() -> dict:
    """Return the record of this process: host, boot, pid, and its start time in ticks after boot."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": _boot(), "pid": pid, "start": start_of(pid)}


@cache
def _boot():
    """Return what tells one boot of this computer from others; its name where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


def start_of(pid: int) -> int | None:
    """Return the start time of a process, ticks after boot; None where there is none or the system does not say."""
    try:  # field 22; the second one, the name, may hold anything
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _is_at(handle, path):
    """Return True if a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _open(path, flags):
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def _flock(handle, shared=False, unlock=False):
    """Lock an open file; True if the file system can, None where another process has it."""
    import fcntl  # which Windows has not

    how = fcntl.LOCK_UN if unlock else fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return None
        if error.errno in WITHOUT_LOCKS:
            return False
        raise
    return True


def _age(handle, folder):
    """Return the seconds since the last sign of life, by the clock of the file system where a file can be written."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            now = os.fstat(probe.fileno()).st_mtime
    except OSError:
        now = time.time()
    return now - os.fstat(handle).st_mtime


def _record(handle):
    """Return what a lock file says of its holder; empty where that is no record."""
    try:
        record = json.loads(os.pread(handle, RECORD_BYTES, 0).rstrip(b"\0"))
        if type(record["pid"]) is int and 0 < record["pid"] < 1 << 31:
            return {"start": None} | record
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}
