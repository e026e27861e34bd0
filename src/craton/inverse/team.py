"""An experiment that several ranks of this process share: threads, each with a GPU or with some of the
cores.
"""

from craton.comm.local import Threads
from craton.comm.placement import machine, place
from craton.inverse import storage as storages


class TeamExperiment:
    """The counterpart of `craton.inverse.experiment.Experiment` on several ranks.

    Parameters
    ----------
    linear : object
        What `Method.linearised` returns.
    device : str
        As in a scenario.
    ranks : int
    threads : int or None
        Of each rank on a CPU.
    options : tuple
        every, memory (of a rank), storage and sums; see `craton.inverse.storage.experiment`.
    """

    def __init__(self, linear, device, ranks, threads, options):
        self.linear, self.ranks, self.state = linear, ranks, None
        self.device, self.threads, self.options = device, threads, options
        self._begin()

    def _begin(self):
        """Start the ranks."""

        def begun(comm):
            chosen = machine(self.device, comm, place(comm), self.threads)
            return storages.experiment(self.linear, chosen, *self.options, comm, False)

        self.team = Threads(self.ranks)
        self.experiments = self.team.run(begun)

    def _each(self, work):
        """Return what rank 0 makes of ``work(experiment)``, which every rank does; after an error
        they begin anew.
        """
        try:
            return self.team.run(lambda comm: work(self.experiments[comm.rank]))[0]
        except BaseException:
            self.state = None
            self._begin()
            raise

    def lines(self):
        """Return what is stored, by all ranks together, as (label, text) rows."""
        return [*self.experiments[0].lines(), ("ranks", f"{self.ranks}, each a part of the grid or mesh")]

    def host_bytes(self, start):
        """See `Experiment.host_bytes`: of all ranks together."""
        return self.experiments[0].host_bytes(start)

    @property
    def storage(self):
        """What is kept: `Storage`, of all ranks together."""
        return self.experiments[0].storage

    @property
    def samples(self):
        """What the last run recorded, (steps, channels)."""
        return self.experiments[0].samples

    @property
    def big(self):
        """Arrays that another experiment of the same scenario may take over, by rank; empty where
        there are none.
        """
        return {n: e.big for n, e in enumerate(self.experiments) if e.big}

    @big.setter
    def big(self, arrays):
        for rank, experiment in enumerate(self.experiments):
            experiment.big = arrays.get(rank, {})

    def forget(self):
        """Forget the last run; its memory stays for the next."""
        self.state = None
        for experiment in self.experiments:
            experiment.forget()

    def run(self, cells, store=True):
        """See `Experiment.run`."""
        state = self.linear.at(cells)
        samples = self._each(lambda experiment: experiment.run_state(state, store))
        self.state = state
        return samples

    def adjoint(self, derivative, illumination=False, by_sources=False):
        """See `Experiment.adjoint`."""
        return self._each(lambda e: e.adjoint(derivative, illumination, by_sources))

    def born(self, changes):
        """See `Experiment.born`."""
        return self._each(lambda experiment: experiment.born(changes))
