"""What the time loop asks of communication: start and finish the exchange of shared points."""
from typing import Protocol


class Exchange(Protocol):
    """Halos of one rank. `start` may return before anything has moved; after `finish`, ghosts are valid."""

    def start(self, shared):
        """Send what neighbours need of these arrays."""

    def finish(self, shared):
        """Wait until the ghosts of these arrays are filled."""
