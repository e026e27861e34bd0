"""Blocks of a model file in memory: parts of a model that are asked for one after another, by
several threads, are read together.
"""

from contextlib import ExitStack, contextmanager
from threading import Lock

from craton.model.media import gridded, readers

VALUES = 1 << 23  # of all fields of a block
HELD: dict[int, "Blocks"] = {}  # by the identity of a model, while it is read ahead


class Blocks:
    """A model file, open, and the last block that was read of each set of properties.

    Parameters
    ----------
    model : model of a scenario, of kind file
    """

    def __init__(self, model):
        self.model, self.lock, self.files = model, Lock(), ExitStack()
        self.sources, self.blocks = {}, {}
        self.closed = False

    def close(self):
        """Close the file, when no thread reads it any more."""
        with self.lock:
            self.closed = True
            self.files.close()

    def part(self, box, names):
        """Return the `Gridded` part of the file that a box needs; None where the file is closed.

        `box` ((x0, x1), (y0, y1), (z0, z1)), m; `names`: of `properties.NAMES`.
        """
        with self.lock:
            if self.closed:
                return None
            if names not in self.sources:
                opened = readers.open_file(self.model, variables=names)
                self.sources[names] = self.files.enter_context(opened)
            source, (block, limits) = self.sources[names], self.blocks.get(names, (None, ()))
            ranges = source.ranges(box)
            if block is None or any(a < low or b > high for (a, b), (low, high) in zip(ranges, limits)):
                limits = _ahead(ranges, source.axes[2], len(names))
                block = source.read(limits)
                self.blocks[names] = block, limits
        return _cut(block, limits, ranges)


def _ahead(ranges, z, fields):
    """Return index ranges on x, y, z with the levels that follow, up to `VALUES` in all."""
    x, y, (first, last) = ranges
    planes = VALUES // (fields * (x[1] - x[0]) * (y[1] - y[0]))
    return x, y, (first, min(max(first + planes, last), len(z)))


def _cut(block, limits, ranges):
    """Return the part of a `Gridded` block with index ranges `limits` that has the ranges of a
    smaller one; nothing is copied.
    """
    x, y, z = (slice(a - low, b - low) for (a, b), (low, _) in zip(ranges, limits))
    axes = tuple(axis[part] for axis, part in zip(block.axes, (x, y, z)))
    return gridded.Gridded(axes, tuple(values[z, y, x] for values in block.fields))


@contextmanager
def read_ahead(model):
    """Within, `part_of` reads neighbouring parts of a model's file together."""
    if model.kind != "file" or id(model) in HELD:
        yield
        return
    HELD[id(model)] = blocks = Blocks(model)
    try:
        yield
    finally:
        del HELD[id(model)]
        blocks.close()


def part_of(model, box, names):
    """Return the `Gridded` part of a model's file that a box needs.

    `model` model of a scenario, of kind file; `box` ((x0, x1), (y0, y1), (z0, z1)), m; `names`: of `properties.NAMES`.
    """
    held = HELD.get(id(model))
    part = None if held is None else held.part(box, tuple(names))
    if part is not None:
        return part
    with readers.open_file(model, variables=names) as source:
        return source.read(source.ranges(box))
