"""What ranks tell each other, as threads or as processes: sums, lists, a value of the first, an error of the last."""

import numpy as np

from craton.comm import Elsewhere, agreed, broadcast
from craton.comm.local import Alone
from craton.errors import Ended


def talk(comm):
    """Each rank asserts what it is told. Integers in float64: sums are exact whatever their order."""
    last, own = comm.size - 1, np.arange(5.0) * 10**comm.rank
    total = np.arange(5.0) * sum(10**rank for rank in range(comm.size))
    everywhere, on_last = comm.reduce(own), comm.reduce(own, root=last)
    if not isinstance(comm, Alone):
        own[:] = -1  # what was reduced belongs to the rank again
    comm.barrier()
    assert np.array_equal(everywhere, total)
    assert np.array_equal(on_last, total) if comm.rank == last else on_last is None
    assert comm.gather("x" * comm.rank) == ["x" * rank for rank in range(comm.size)]
    assert broadcast(comm, comm.rank + 7) == 7
    try:
        with agreed(comm):
            if comm.rank == last:
                raise KeyError("of the last")
    except (KeyError, Ended, Elsewhere) as error:
        kind = KeyError if comm.size == 1 else Ended
        assert "of the last" in str(error) and isinstance(error, kind) == (comm.rank == last)
    else:
        raise AssertionError("no error was told")
    comm.barrier()
