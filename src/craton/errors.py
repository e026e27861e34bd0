"""Errors for people: what was wrong, the value, the limit, what to change; and the exit code that
each carries.
"""

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Self

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # of a disk


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Parameters
    ----------
    key : str
        Dotted path of the key in the scenario, list items by number: ``"source.0.at"``. Empty for
        the file as a whole.
    message : str
        What is wrong, with the value given and the limit.
    remedy : str
        What to change; may be empty where the message says it.
    """

    key: str
    message: str
    remedy: str = ""

    @property
    def text(self):
        """Key and message, and the remedy on a line of its own."""
        return f"{self.key}: {self.message}" + (f"\n    -> {self.remedy}" if self.remedy else "")


class CratonError(Exception):
    """Anything craton refuses or fails at, with a message for the user.

    Attributes
    ----------
    exit_code : int
        Of this rank.
    agreed : int or None
        Exit code of all ranks, where all have agreed on the error.
    quiet : bool
        On ranks that leave the message to the first one.
    """

    exit_code: int = 1
    agreed: int | None = None
    quiet: bool = False

    def on_all_ranks(self, code: int | None = None) -> Self:
        """Return the error, on which all ranks have agreed, with their exit code: by default that of this one."""
        self.agreed = self.exit_code if code is None else code
        return self


class ScenarioError(CratonError):
    """The scenario is wrong; nothing was written.

    Carries every problem found, not only the first; `text` says them in other words.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[Problem], text: str | None = None):
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.text for problem in self.problems) if text is None else text)

    @classmethod
    def of(cls, key: str, message: str, remedy: str = "") -> Self:
        """Return the error of one problem."""
        return cls([Problem(key, message, remedy)])


def refuse(key: str, message: str, remedy: str = "") -> NoReturn:
    """Raise the ScenarioError of one problem."""
    raise ScenarioError.of(key, message, remedy)


class ResourceError(CratonError):
    """The run does not fit: memory, disk, or no compiler or device to run on."""

    exit_code = 3


class ComputationError(CratonError):
    """The computation failed (unstable, not finite); what was recorded is kept."""

    exit_code = 4


class Interrupted(CratonError):
    """Stopped by a signal; what was recorded is kept."""

    exit_code = 75


class InputError(ValueError):
    """A value or a file that cannot be used, and what to change."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(message)
        self.remedy = remedy


class Ended(CratonError):
    """Another error, raised from that one, which ends the program with an exit code that its type does not have."""

    def __init__(self, cause: BaseException, code: int):
        super().__init__(str(cause) or type(cause).__name__)
        self.cause, self.exit_code = cause, code


def refuse_all(problems: Sequence[Problem]) -> None:
    """Raise all problems at once, if there are any."""
    if problems:
        raise ScenarioError(problems)


@contextmanager
def own_errors() -> Iterator[None]:
    """Inside, an error on which ranks have agreed leaves as this rank raised it: for the verbs of Python."""
    try:
        yield
    except Ended as error:
        raise error.cause from None


def exit_code(error: BaseException) -> int:
    """Return the exit code with which an error ends a program."""
    match error:
        case CratonError():
            return error.exit_code
        case KeyboardInterrupt():
            return 130
        case MemoryError():
            return ResourceError.exit_code
        case InputError():
            return ScenarioError.exit_code
        case OSError() if error.filename is not None:
            return ResourceError.exit_code if error.errno in FULL else ScenarioError.exit_code
    return 1
