"""One rank alone: nothing to exchange."""


class Alone:
    """The exchange of a rank without neighbours."""

    def start(self, shared):
        """Nothing to send."""

    def finish(self, shared):
        """Nothing to wait for."""
