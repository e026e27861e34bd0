"""A lock file that one process of a file system holds, and that says which: flock where the file
system has it, and beside it a lease (host, process, start time, last sign of life).
"""

import errno
import json
import os
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

LEASE = 90.0  # s without a sign of life after which a holder on another computer counts as dead
SIGN_EVERY = 20.0  # s between signs of life
RECORD_BYTES = 4096  # of a lock file that is read, at most
# of a lock file with signs of life: what `Lock.give_space` frees on a disk that is full
RESERVE_BYTES = 64 << 10
# what flock says where the file system has no locks
WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)


class Held(Exception):
    """Another process holds the lock.

    Parameters
    ----------
    holder : dict
        Its record: host, boot, pid, start; empty where it cannot be read.
    seconds : float or None
        Until its lease ends, where that decides; None where the process is known to live.
    """

    def __init__(self, holder, seconds=None):
        self.holder, self.seconds = holder, seconds
        super().__init__(self.words)

    @property
    def words(self):
        """Which process it is, in words."""
        pid, host = self.holder.get("pid"), self.holder.get("host")
        if not pid:
            return "another process"
        here = host == socket.gethostname()
        return f"process {pid}" + ("" if here or not host else f" on {host}")


class Lock:
    """A lock that this process holds until `release`.

    Parameters
    ----------
    path : Path
    handle : int
        Descriptor of the open lock file.
    signs : bool
        Give signs of life, from a thread: for locks held longer than `LEASE`.
    """

    def __init__(self, path, handle, signs=False):
        self.path, self.handle, self.ended = path, handle, threading.Event()
        self.thread = threading.Thread(target=self._sign, name="lock", daemon=True)
        if signs:
            _reserve(handle)
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
        """Take the lock file away; may be called twice."""
        if self.handle is None:
            return
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()
        if is_file(self.handle, self.path):
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


def acquire(path, signs=False):
    """Take a lock, or say who holds it; does not wait.

    A holder on this computer that has died holds nothing; one on another computer, where the file
    system's locks may not reach, when it has given no sign of life for `LEASE` seconds.

    Parameters
    ----------
    path : path-like
        The lock file, in a folder that exists. It is gone after `Lock.release`.
    signs : bool
        See `Lock`.

    Returns
    -------
    Lock

    Raises
    ------
    Held
        Another process, or another thread of this one, holds it.
    OSError
        The file cannot be written.
    """
    path = Path(path)
    while True:
        handle, is_new = _opened(path)
        try:
            has_locks = _flock(handle)
            if not is_file(handle, path):  # its holder took it away in between
                os.close(handle)
                continue
            if not is_new:
                _refuse_living(handle, path, has_locks)
            _write(handle)
            if not (has_locks or is_new):
                time.sleep(0.5)  # of two that found the same dead holder the last one has it
                if _record(handle) != this_process():
                    raise Held(_record(handle))
        except BlockingIOError:
            holder = _record(handle)
            os.close(handle)
            raise Held(holder) from None
        except BaseException:
            os.close(handle)
            raise
        try:
            return Lock(path, handle, signs)
        except OSError:
            os.close(handle)
            raise


def holder(path):
    """Return `Held` for the process that holds a lock file, or None; writes nothing.

    Parameters
    ----------
    path : path-like
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        _refuse_living(handle, Path(path), _flock(handle, shared=True))
    except BlockingIOError:
        return Held(_record(handle))
    except Held as held:
        return held
    finally:
        os.close(handle)
    return None


def this_process():
    """Return the record of this process: host, boot, pid, and its start time in ticks after boot."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": boot(), "pid": pid, "start": start_of(pid)}


@cache
def boot():
    """Return what tells one boot of this computer from another; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_of(pid):
    """Return the start time of a process, in ticks after boot; None where there is no such process
    or the system does not say.

    Parameters
    ----------
    pid : int
    """
    try:  # field 22; the second one, the name, may hold anything
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def started_at(pid):
    """Return the time at which a process started, s since 1970; None where the system does not say.

    Parameters
    ----------
    pid : int
    """
    ticks = start_of(pid)
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return None if ticks is None else booted + ticks / os.sysconf("SC_CLK_TCK")


def is_running(pid):
    """Return True if a process of this computer runs.

    Parameters
    ----------
    pid : int
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def is_file(handle, path):
    """Return True if a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _opened(path):
    """Return a descriptor of the lock file, and True where it was created."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        with suppress(FileExistsError):
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600), True
        with suppress(FileNotFoundError):
            return os.open(path, flags), False


def _flock(handle, shared=False, unlock=False):
    """Lock an open file; True if the file system can.

    Raises
    ------
    BlockingIOError
        Another one has it.
    """
    try:
        import fcntl
    except ImportError:
        return False
    how = fcntl.LOCK_UN if unlock else (fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            return False
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(error.errno, "locked") from error
        raise
    return True


def _refuse_living(handle, path, has_locks):
    """Raise Held where the record of a file is that of a process that may live."""
    record = _record(handle)
    if not record:
        return
    same_boot = bool(boot()) and record.get("boot") == boot()
    if same_boot or record.get("host") == socket.gethostname():
        # locks of one system's processes are exact; without them ask for the process itself
        alive = not has_locks and is_running(record["pid"])
        if alive and record.get("start") == start_of(record["pid"]) and same_boot:
            raise Held(record)
        return
    left = LEASE - _age(handle, path)
    if left > 0:
        raise Held(record, left)


def _age(handle, path):
    """Return the seconds since the last sign of life, by the clock of the file system where a file
    can be written beside the lock file.
    """
    now, probe = time.time(), path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink()
    return now - os.fstat(handle).st_mtime


def _record(handle):
    """Return what a lock file says of its holder; empty where that is no record."""
    try:
        record = json.loads(os.pread(handle, RECORD_BYTES, 0).rstrip(b"\0"))
        if type(record["pid"]) is int and 0 < record["pid"] < 1 << 31:
            return record
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}


def _reserve(handle):
    """Take the space of a last word from the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, RESERVE_BYTES)


def _write(handle):
    """Write the record of this process into its lock file."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(this_process()).encode() + b"\n", 0)
    with suppress(OSError):
        os.fsync(handle)
