"""Errors for people: what was wrong, the value, the limit, what to change; and the exit code that
each carries.
"""

from dataclasses import dataclass
from typing import Self


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


class CratonError(Exception):
    """Anything craton refuses or fails at, with a message for the user.

    Attributes
    ----------
    exit_code : int
        Of this rank.
    agreed : int or None
        Exit code of all ranks, where all have agreed on the error.
    """

    exit_code = 1
    agreed: int | None = None

    def on_all_ranks(self, code: int | None = None) -> Self:
        """Return the error, on which all ranks have agreed, with their exit code: by default that of this one."""
        self.agreed = self.exit_code if code is None else code
        return self


class ScenarioError(CratonError):
    """The scenario is wrong; nothing was written.

    Carries every problem found, not only the first.
    """

    exit_code = 2

    def __init__(self, problems):
        self.problems = tuple(problems)
        super().__init__(
            "\n".join(f"{p.key}: {p.message}" + (f"\n    {p.remedy}" if p.remedy else "") for p in self.problems)
        )


class ResourceError(CratonError):
    """The run does not fit: memory, disk, or no compiler or device to run on."""

    exit_code = 3


class ComputationError(CratonError):
    """The computation failed (unstable, not finite); what was recorded is kept."""

    exit_code = 4


class Interrupted(CratonError):
    """Stopped by a signal; what was recorded is kept."""

    exit_code = 75
