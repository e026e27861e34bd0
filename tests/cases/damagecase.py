"""Runs that are told to stop, and what is done to the files that they leave."""

import os
import shutil

import pytest
import smallcase

from craton.driver.observers.guard import Guard
from craton.errors import Interrupted
from craton.integrity import sealed, unsealed
from craton.scenario import loads

RESULTS = (None, "snapshots/section")  # groups of the result of the small case


def small(*changes, run=()):
    """The small case on 21 x 21 x 18 points with changes, on one thread."""
    return loads(smallcase.changed(("spacing = 100", "spacing = 150"), *changes), ("run.threads=1", *run))


def stopping(patch, *steps, error=None):
    """Let runs be told to stop, as by a signal, or fail: the first that comes to the first step, then one at the second, ..."""
    due, waiting = Guard.due, list(steps)

    def stopped(self, step):
        if waiting and step == waiting[0] + 1 and self.comm.rank == 0:
            waiting.pop(0)
            if error:
                raise error
            self.stop.name = "SIGTERM"
        return due(self, step)

    patch.setattr(Guard, "due", stopped)


def interrupted(work, *arguments, stop=(), **options):
    """What a run that is told to stop, after a step of `stop`, says."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted) as error:
        stopping(patch, *stop)
        work(*arguments, progress=False, **options)
    return str(error.value)


def exchange(first, second):
    """Exchange two files."""
    contents = first.read_bytes()
    second.replace(first)
    second.write_bytes(contents)


def damage(path, how):
    """Damage a file, or a folder.

    Parameters
    ----------
    path : Path
    how : object
        None: it is gone; a float: one bit flips at this part of it; a whole number: so many bytes are left; bytes: it holds these;
        (old, new): a text is replaced; a table: these values of JSON are others, or missing where None, or functions of
        what they are, with a right checksum; a function: it is
        called, where a file was.
    """
    if isinstance(how, float):
        contents = bytearray(path.read_bytes())
        contents[int(how * (len(contents) - 1))] ^= 0x10
        path.write_bytes(contents)
    elif isinstance(how, int):
        os.truncate(path, how)
    elif isinstance(how, bytes):
        path.write_bytes(how)
    elif isinstance(how, tuple):
        text = path.read_text()
        assert how[0] in text, text
        path.write_text(text.replace(*how))
    elif isinstance(how, dict):
        fields = unsealed(path)
        fields |= {name: value(fields[name]) if callable(value) else value for name, value in how.items()}
        path.write_text(sealed({name: value for name, value in fields.items() if value is not None}))
    elif path.is_file():
        path.unlink()
        if how:
            how(path)
    else:
        (how or shutil.rmtree)(path)


def missed(rows, sound, place, within, look):
    """Damage that is not told: for each row (name, how, words) a copy of a sound folder is damaged, at a name within a folder of the
    copy, which is whole again for the next row; `look` at the copy gives whether all is right, and what was said.
    """
    failures, part = [], within(sound).relative_to(sound)
    shutil.copytree(sound, place)
    for name, how, words in rows:
        damage(place / part / name, how)
        is_right, message = look(place, words)
        if not is_right or words not in message or "Traceback" in message or "bug in craton" in message:
            failures.append(f"{name} {str(how)[:80]}: {words}\n{message}")
        shutil.rmtree(place / part, ignore_errors=True)
        shutil.copytree(sound / part, place / part)
    return "\n\n".join(failures)
