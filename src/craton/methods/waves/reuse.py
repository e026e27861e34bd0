"""What plans of one medium have in common, kept from one to the next: `craton.Simulation`."""


class Reuse:
    """Values of a plan that the next plan of the same domain, model and run takes over.

    One value is kept under each name, with the key that it was made for.

    Parameters
    ----------
    keep : bool
        Keep values; without, each is made anew and can be freed as soon as the plan needs it no
        more.
    """

    def __init__(self, keep=True):
        self._keep, self._values = keep, {}

    def get(self, name, make, key=None):
        """Return the value kept under a name, made anew where it is of another key.

        Parameters
        ----------
        name : str
        make : callable
            Makes the value, without arguments.
        key : object, optional
            Whatever the value depends on besides domain, model and run; compared with ``==``.
        """
        if not self._keep:
            return make()
        if name not in self._values or self._values[name][0] != key:
            self._values[name] = (key, make())
        return self._values[name][1]
