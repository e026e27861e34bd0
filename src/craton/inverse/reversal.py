"""One run of a scenario whose wavefield is taken back in time from its last state and from what was
kept beside absorbing layers: gradients in little memory.
"""

from craton.inverse.division import Division
from craton.inverse.experiment import Experiment, march, nbytes_of, rest
from craton.inverse.ring import Ring


class Reversed(Experiment):
    """A linearised scenario on a machine; see `Experiment`.

    The medium of absorbing layers, that of their inner edge, is held: derivatives are those by the
    medium outside.

    Parameters
    ----------
    linear : object
        What `Method.linearised` returns.
    machine : Machine
    every : int
        Every how many steps the fields are correlated; 1 is exact.
    storage : Storage
        What is kept, and where.
    division : Division, optional
        See `Experiment`.
    """

    def __init__(self, linear, machine, every, storage, division=None):
        self.linear, self.machine, self.every = linear, machine, every
        self.division = division or Division()
        self.steps, self.storage = linear.d.steps, storage
        self.margin, self.slots = storage.margin, storage.slots
        self.state = self.program = self.ring = None
        self.others, self.big, self.spent = {}, {}, False
        self.mask = linear.outside_layers()

    @property
    def replayed(self):
        """False: steps are taken back."""
        return False

    @property
    def _sums_taken(self):
        """Which sums steps back take, as an option of `State.backward`."""
        return {"by_parameters": self.storage.by_parameters}

    def program_bytes(self):
        """See `Experiment.program_bytes`; with the sums of `craton.gradient`."""
        state = self.linear.at(self.linear.cells)
        forward = state.forward(0, margin=(self.margin, self.slots))
        back = state.backward(self.margin, self.slots, self.every, light=True, **self._sums_taken)
        shared = {"history", "history_source", "material", "back"}
        shared |= {name for name, array in back.arrays.items() if array.kind == "boundary"}
        return nbytes_of(forward, ("history",)) + nbytes_of(back, shared)

    def forget(self):
        """Forget the last run; its memory stays for the next."""
        self.state = self.program = None
        self.others, self.spent = {}, False

    # --- forward ------------------------------------------------------------------------------

    def run_state(self, state, store=True):
        """See `Experiment.run_state`."""
        plan = state.forward(0, margin=(self.margin, self.slots) if store else None)
        program = self.division.commit_state(self.machine, state, plan, self.big)
        self.state, self.others = state, {}
        self.program = program if store else None
        if store:
            array = program.arrays["history"]
            self.ring = Ring(self.machine, array, self.steps, self.big.get("ring"))
            self.big = {"history": array, "ring": self.ring}
        self._march(program, store)
        return self._recorded(program)

    def _march(self, program, store=True):
        """Run all steps forwards."""
        blocks = self.ring.blocks if store else [(0, self.steps)]
        for n, (first, last) in enumerate(blocks):
            if store:
                self.ring.begin(n)
            march(program, first, last, wait=False)
            if store:
                self.ring.end(n)
        program.backend.finish()
        self.spent = False

    # --- transposed ---------------------------------------------------------------------------

    def _backward(self, derivative, scale, illumination, by_sources):
        """Run all steps back; return the program and the illumination, or None."""
        if self.spent:
            rest(self.program)
            self._march(self.program)
        program = self._other("backward", by_sources=by_sources, light=illumination)
        self._fill(program, "residual_series", derivative[::-1] / scale)
        self.spent = True
        for n, (first, last) in reversed(list(enumerate(self.ring.blocks))):
            self.ring.fetch(n)
            march(program, self.steps - last, self.steps - first, wait=False)
            self.ring.release(n)
        program.backend.finish()
        light = None
        if illumination:
            last = max(int(n[4:]) for n in program.arrays if n.startswith("sum_"))
            light = self.division.whole(self.machine, program.grid(f"sum_{last}"))
        if light is not None:
            light = self._on_host(light).astype(float)
            light *= self.every / self.linear.d.dt
        return program, light

    def _sums(self, program):
        """Return the sums of the gradient, (nz, ny, nx) each; see `Experiment._sums`."""
        sums = [
            self.division.whole(self.machine, program.grid(f"sum_{n}"))
            for n in range(self.linear.sums(self.storage.by_parameters))
        ]
        unsummed = ()
        if self.division.leads:
            unsummed = self.linear.unsummed(self.storage.by_parameters)
        with self.machine.work():
            for n, (k0, k1, j0, j1, i0, i1) in unsummed:
                sums[n][k0:k1, j0:j1, i0:i1] = 0
        return sums

    # --- perturbed ----------------------------------------------------------------------------

    def _scattered(self, program):
        """Run the perturbed steps beside those of the medium."""
        state = self.state
        if "beside" not in self.others:
            plan = state.forward(1, self.every)
            shared = {"store": program.arrays["store"], "material": program.arrays["material"]}
            self.others["beside"] = self.division.commit_state(self.machine, state, plan, shared)
        beside = self.others["beside"]
        rest(beside)
        for n in range(self.steps):
            march(beside, n, n + 1, wait=False)
            march(program, n, n + 1, wait=False)
        program.backend.finish()

    def _coefficients(self, coefficients):
        """Coefficients outside absorbing layers."""
        return coefficients * self.mask

    def _other(self, name, **options):
        """See `Experiment._other`."""
        key = (name, *options.values())
        if key in self.others:
            rest(self.others[key])
            return self.others[key]
        shared = {"material": self.program.arrays["material"]}
        if name == "backward":
            options |= self._sums_taken
            plan = self.state.backward(self.margin, self.slots, self.every, **options)
            shared |= {"back": self.program.arrays["state"], "history": self.big["history"]}
            shared |= {name: self.program.arrays[name] for name in self._taken_over(plan)}
        else:
            plan = self.state.born(1, self.every)
        self.others[key] = self.division.commit_state(self.machine, self.state, plan, shared)
        rest(self.others[key])  # memory variables are as the forward steps left them
        return self.others[key]

    def _taken_over(self, plan):
        """Return the names of further arrays that the steps back take over from the forward ones:
        the places of the history, and the memory variables of layers, which begin anew whenever
        either of them is run.
        """
        return [
            name
            for name, array in plan.arrays.items()
            if (array.kind == "boundary" and array.data is None) or name == "history_source"
            if name in self.program.arrays
        ]
