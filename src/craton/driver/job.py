"""What one rank is asked to run: shared by the commands, the verbs of Python and what computes waves or sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.comm.base import Comm
from craton.comm.local import Alone
from craton.driver.march import Observer


@dataclass(frozen=True)
class Job:
    """A run on one rank: the plan of this rank, its machine, and what is written where.

    `out` is the folder, `force` replaces a finished run in it, `saved` is the checkpoint (`craton.driver.saved.Saved`)
    from which the run goes on, `observers` are the user's.
    """

    scenario: Any
    plan: Any
    machine: Any
    comm: Comm = Alone()
    out: Path | str | None = None
    force: bool = False
    progress: bool = True
    saved: Any = None
    observers: Sequence[Observer] = ()

    @property
    def begun(self) -> int:
        """Steps that were done before."""
        return self.saved.step if self.saved else 0
