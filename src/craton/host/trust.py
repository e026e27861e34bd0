"""Folders and files that no other user of the computer can have written: what may be loaded and run
from the disk.
"""

import os
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

from craton.errors import ResourceError

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def private_folder(path, remedy: str) -> Path:
    """Create a folder that only this user may enter, check it and every folder on the way to it, and return its
    absolute path.

    Each folder from the root on must belong to this user or to root, and no other user may be able to write to it; a
    folder with the sticky bit, as /tmp, may be writable. A folder that is there and readable by others is closed to
    them. Raises ResourceError, with the remedy, where it cannot be created or another user could put files into it.
    """
    path = Path(os.path.abspath(path))
    try:
        for missing in reversed([p for p in (path, *path.parents) if not os.path.lexists(p)]):
            missing.mkdir(mode=0o700, exist_ok=True)
        state = path.stat()  # of links that lead round it says so
        for step in steps_to(path):
            reason = refusal(os.lstat(step))
            if reason:
                where = f"{path}" if step == path else f"{step}, on the way to {path},"
                raise ResourceError(f"{where} {reason}: what lies there could be theirs\n    {remedy}")
        if not stat.S_ISDIR(state.st_mode):
            raise OSError(20, "it is no folder")
        if not os.access(path, os.R_OK | os.X_OK):
            raise OSError(13, "it cannot be read")
        if state.st_uid == os.geteuid() and state.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise ResourceError(f"cannot use {path}: {error.strerror or error}\n    {remedy}") from error
    return path


def refusal(state: os.stat_result) -> str | None:
    """Return why what an lstat describes is not trusted, in words; None where it is."""
    if state.st_uid not in {os.geteuid(), 0, *_owners_outside()}:
        return f"belongs to {owner_name(state.st_uid)}"
    if stat.S_ISLNK(state.st_mode):
        return None
    shared = state.st_mode & WRITABLE_BY_OTHERS
    if stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX:
        return None  # entries may be added, but those of others neither renamed nor removed
    if shared & stat.S_IWGRP and is_own_group(state.st_gid):
        shared &= ~stat.S_IWGRP
    return "may be written by other users" if shared else None


def steps_to(path: Path):
    """Yield every folder and symbolic link that is passed on the way to an absolute path, itself included."""
    for step in (*reversed(path.parents), path):
        yield step
        if step.is_symlink():
            yield from steps_to(step.parent / os.readlink(step))


@cache
def _owners_outside():
    """Return the number that stands for users outside of the user namespace of a container; none outside of one."""
    with suppress(OSError, ValueError):
        rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
        if rows != [["0", "0", "4294967295"]]:
            return (int(Path("/proc/sys/kernel/overflowuid").read_text()),)
    return ()


def is_own_group(gid: int) -> bool:
    """Return True for a group that has no member but this user, which bears its name."""
    try:
        import grp
        import pwd

        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid())
    except (ImportError, KeyError):
        return False
    return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}


def owner_name(uid: int) -> str:
    """Return a user in words."""
    try:
        import pwd

        return f"user {pwd.getpwuid(uid).pw_name}"
    except (ImportError, KeyError):
        return f"user {uid}"


def trusted_bytes(path) -> bytes:
    """Return the contents of a regular file that no other user can have written.

    Raises OSError where it is not there, no regular file or not trusted; its strerror says which.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(22, "it is not a file")
        reason = refusal(state)
        if reason:
            raise OSError(1, f"it {reason}")
        return file.read()
