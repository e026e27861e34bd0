"""Order of elements in memory: along a space-filling curve, in coloured chunks, so that threads
never add to one point concurrently.

A machine that adds atomically takes all elements of a family in one launch. One that does not takes
whole chunks of consecutive elements to a thread, colour after colour; for deterministic assembly,
single elements by colour.
"""

from dataclasses import dataclass

import numpy as np

from craton.core.plan import LANES, ColourBoundaries
from craton.methods.spectral_element.equations.operators import CHUNK
from craton.model.mesh import ordering


@dataclass(frozen=True)
class Order:
    """Order in memory of the elements of a family.

    Parameters
    ----------
    elements : (n,) int array
        Element at each place; -1 for padding.
    colours : ColourBoundaries
    by_colour : (n,) int32 array or None
        Places of single elements, colour after colour.
    """

    elements: np.ndarray
    colours: ColourBoundaries
    by_colour: np.ndarray | None = None

    def __len__(self):
        return len(self.elements)

    def arrange(self, values, padding=None):
        """Return values of all elements, (ne, ...), in this order; padding gets `padding`, or if
        None the first element's values.
        """
        out = values[np.maximum(self.elements, 0)]
        if padding is not None:
            out[self.elements < 0] = padding
        return out


def order_elements(which, corners, coloured=False):
    """Return the `Order` of elements.

    Chunks of one colour follow one another; the last chunk, which may be shorter, ends its colour
    and is filled up to whole lanes.

    Parameters
    ----------
    which : (n,) int array
        Numbers of the elements, neighbours near each other.
    corners : (n, 8) int array
        Their corner nodes.
    coloured : bool
        Colour single elements, too, for deterministic assembly.
    """
    cut = ordering.chunks(corners, CHUNK)
    colours, lengths = ordering.colour(cut), np.diff(cut.offsets)
    sequence = np.lexsort((-lengths, colours))
    padding = -lengths[sequence] % LANES
    full = lengths[sequence] + padding
    within = np.arange(full.sum()) - np.repeat(np.cumsum(full) - full, full)
    starts, filled = (np.repeat(a[sequence], full) for a in (cut.offsets[:-1], lengths))
    place = np.where(within < filled, starts + within, -1)
    ends = np.cumsum(full)
    runs = (0, *ends[np.append(np.flatnonzero(np.diff(colours[sequence])), len(sequence) - 1)].tolist())
    elements = np.where(place >= 0, which[np.maximum(place, 0)], -1)
    if not coloured:
        return Order(elements, ColourBoundaries(runs))
    by_colour, limits = colour_elements(place, corners)
    return Order(elements, ColourBoundaries(runs, limits), by_colour)


def colour_elements(place, corners):
    """Return places sorted by the colour of their elements, and the limits of colours; padding,
    which adds nothing, comes last.
    """
    colours = ordering.colour(ordering.chunks(corners, 1))
    of_place = np.where(place >= 0, colours[np.maximum(place, 0)], colours.max(initial=0))
    by_colour = np.argsort(of_place, kind="stable").astype(np.int32)
    return by_colour, tuple(np.searchsorted(of_place[by_colour], np.arange(colours.max(initial=0) + 2)).tolist())
