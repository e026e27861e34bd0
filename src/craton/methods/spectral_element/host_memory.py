"""Memory of the host that making a plan of spectral elements takes: what fits, and its peak."""

from craton.memory import array_bytes, available

MESH_BYTES = 120  # of an element in a mesh of corners, at least


def most_elements(degree, ranks=1):
    """Return the elements of a box whose plan fits into the memory that is free, or None where that
    is not known.

    Each rank has the corners, their numbers and centres of all elements; of its own ones the
    numbers of points, in the mesh and as the kernels take them, masses and three fields.
    """
    free = available()
    if free is None:
        return None
    own = 2 * 4 * (degree + 1) ** 3 + (8 + 3 * 3 * 4) * degree**3
    return int(free / (ranks * MESH_BYTES + own))


def of_planning(d, plan):
    """Return the most bytes of arrays that were held while a plan was made: in the search for the
    stable step, or at the end.

    Parameters
    ----------
    d : Discretisation
    plan : Plan
    """
    return max(d.stable.nbytes, array_bytes(d, plan.held))
