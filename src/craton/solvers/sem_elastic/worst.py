"""Which elements are the worst of a mesh, where each rank has some of them: the largest values, one of each class."""
import numpy as np

FINE = 8  # classes of shapes: in an octave of lengths and indicators, and in the unit of the cosine between two axes


def largest(values, count, team):
    """The `count` largest values of all ranks, falling, and how many of a rank's own `values` (falling) are among them.

    Of equal values those of lower ranks come first. All must ask.
    """
    every = team.every(lambda: values[:count])
    rank = np.repeat(np.arange(team.size), [len(one) for one in every])
    together = np.concatenate(every)
    order = np.argsort(-together, kind="stable")[:count]
    return together[order], int((rank[order] == team.rank).sum())


def of_classes(estimate, shapes, most, count, team):
    """Own elements that are the worst of their class on all ranks, of the `count` worst such, and how many classes there are.

    Of more than `count` classes not all are counted.

    Parameters
    ----------
    estimate : (ne,) array
        Of own elements.
    shapes : (ne, k) int array
        With the octave of the estimate, `FINE` parts of it, they make the class.
    most : float
        Largest estimate of all ranks.
    count : int
    team : Together, or One
        All must ask.
    """
    classes = np.column_stack([shapes, np.rint(FINE * np.log2(estimate / most)).astype(np.int16)])
    order = np.argsort(-estimate, kind="stable")
    _, first = np.unique(classes[order], axis=0, return_index=True)
    own = order[np.sort(first)]  # falling
    every = team.every(lambda: (classes[own[:count]], estimate[own[:count]], len(own)))
    rows, values = (np.concatenate([one[n] for one in every]) for n in (0, 1))
    rank = np.repeat(np.arange(team.size), [len(one[1]) for one in every])
    place = np.concatenate([np.arange(len(one[1])) for one in every])
    fall = np.argsort(-values, kind="stable")
    _, first = np.unique(rows[fall], axis=0, return_index=True)
    chosen = fall[np.sort(first)[:count]]
    return own[place[chosen[rank[chosen] == team.rank]]], max(len(first), *(one[2] for one in every))
