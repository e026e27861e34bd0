"""Memory of the host at the peak of a gradient: what is stored, programs, parameters, chain rule."""

from craton.errors import ResourceError
from craton.memory import available
from craton.text import megabytes

REAL = 8  # bytes: parameters and gradients are in double precision
SURELY = 2000  # bytes of a point that are not exceeded but by what is stored
LEFT = 0.4  # of the free memory, that what is stored leaves at least


def gradient_bytes(experiment, names):
    """Return the most bytes of arrays that `craton.gradient` of a run takes on the host.

    The chain rule's part is measured, see bench/NOTES.md; all else is counted.

    Parameters
    ----------
    experiment : Experiment, ElementExperiment or TeamExperiment
    names : tuple of str
        Parameters.
    """
    start = experiment.linear.start(names)
    count = len(start)
    # the vector, the cells made of it but for density, illumination, and the chain rule
    of_point = REAL * (len(names) + count - 1 + 1) + experiment.linear.chain_bytes(count)
    return experiment.host_bytes(start) + start[0].size * of_point


def row(experiment, names):
    """Return the (label, text) row of the memory of the host."""
    text = f"{megabytes(gradient_bytes(experiment, names))} of arrays at the peak of a gradient"
    return "memory of the host", text


def refuse_large(experiment, names):
    """Refuse a gradient that does not fit into the free memory of the host.

    Parameters
    ----------
    experiment, names
        See `gradient_bytes`.

    Raises
    ------
    ResourceError
    """
    free = available()
    if free is None or SURELY * experiment.linear.cells[0].size < LEFT * free:
        return
    needed = gradient_bytes(experiment, names)
    if needed > free:
        raise ResourceError(
            f"the gradient needs {megabytes(needed)} of the host's memory, {megabytes(free)} are "
            "free: use fewer points, fewer parameters, or more memory"
        )
