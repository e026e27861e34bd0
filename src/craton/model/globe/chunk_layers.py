"""Layers of a chunk of the Earth: element sizes from wave speeds, faces on discontinuities, larger
elements where speeds have grown.
"""

from dataclasses import dataclass

import numpy as np

from craton.model.mesh.doubling import Layer

ROUNDING = 0.02  # of an element: so much larger than wanted they may be before there is one more
MOST_LAYERS = 10_000  # of elements between two radii of the model
LOOKED_AT = 200  # radii of a section at which it is decided where elements may grow
# Height of a layer in which elements grow, in widths of the smaller ones: least, wanted where
# speeds allow, largest to save a layer.
LEAST, WANTED, LARGEST = 1.0, 1.6, 2.3
# of the width that they have at the radius below: chunks of many degrees grow narrow towards the
# centre
STEEPEST = 3.0
WORTH = 1.5  # of the least height of both layers: so much must lie below them


@dataclass(frozen=True)
class Sizes:
    """Largest allowed element sizes."""

    model: object
    period: float  # shortest period, s
    points: float  # GLL points per wavelength, at their mean distance
    degree: int

    def largest(self, bottom, top):
        """Longest edge allowed between two radii, m.

        `bottom`, `top`: radius, m.
        """
        return self.degree * self.period * self.model.slowest(bottom, top) / self.points

    def angles(self, radii):
        """Longest edge allowed anywhere below each of some rising radii down to the first, over the radius of its
        place: radians.

        `radii` in m, rising.
        """
        below, above = (
            np.where(vs > 0, vs, vp) / radii
            for vp, vs, _ in (self.model.speeds(radii, side) for side in ("below", "above"))
        )
        # nothing lies below the first
        slow = np.append(below[1], np.minimum(above[:-1], below[1:]))
        return np.minimum.accumulate(self.degree * self.period / self.points * slow)


def sections(model, bottom, extra=()):
    """Radii (m), rising, on which element faces lie: the bottom, discontinuities above it, further ones asked for, the
    surface.

    `bottom`: radius, m; `extra`: further radii, m. Raises ValueError: a bottom or further radius that is not within the
    model.
    """
    for r in (bottom, *extra):
        if not model.knots[0] <= r < model.radius or r <= 0:
            raise ValueError(
                f"radius {r / 1e3:.10g} km is not between the surface and the bottom of {model.name} "
                f"({max(model.knots[0], 0) / 1e3:.10g} km)"
            )
    inner = [r for r in (*model.jumps(), *extra) if r > bottom + 1e-9 * model.radius]
    return np.unique([bottom, *inner, model.radius])


def surface_elements(widths, sizes, bottom, period_given, elements, multiple):
    """Elements (nx, ny) at the surface, multiples of `multiple`.

    `widths` (2,) in radians; `bottom`: of the uppermost section, m; `period_given`: their number follows from the
    period; else it is `elements`.
    """
    if not period_given:
        return tuple(elements)
    edge = sizes.largest(bottom, sizes.model.radius) / sizes.model.radius
    return tuple(int(np.ceil(max(1, w / edge - ROUNDING) / m)) * m for w, m in zip(widths, multiple))


def automatic(radii, sizes, angle, axes=2, factor=2):
    """Radii, falling, m, at which elements may become `factor` times larger: where all below allows it, and it is worth
    it.

    `radii`: of sections, rising; `angle`: width of elements at the surface, radians; `axes`: how many layers growing
    takes, one for each axis: see `stack`.
    """
    depths, top = [], radii[-1]
    looked = np.unique(np.concatenate([np.linspace(a, b, LOOKED_AT) for a, b in zip(radii[:-1], radii[1:])]))
    allowed = sizes.angles(looked) * (1 + ROUNDING)
    while True:
        fitting = looked[(allowed >= factor * angle) & (looked <= top)]
        start = next((r for r in fitting[::-1] if _room(radii, r, r * angle, axes, factor)), None)
        if start is None:
            return depths
        depths.append(float(start))
        angle, top = angle * factor, start - _needed(start * angle / factor, axes, factor)


def _room(radii, r, width, axes, factor):
    """Return True where elements of a width can grow below r, above the next section boundary, and
    enough is left below them.
    """
    needed = _needed(width, axes, factor)
    floor = radii[np.searchsorted(radii, r * (1 - 1e-12), side="left") - 1]
    return r - floor >= needed and r - radii[0] >= (1 + WORTH) * needed


def _needed(width, axes, factor):
    """Least height of all layers in which elements of a width grow."""
    return axes * LEAST * width * factor / 2


def stack(radii, sizes, angle, doubling_radii, axes=2, factor=2):
    """Return the layers of a chunk, or of the chunks of a sphere.

    `radii`: of sections, rising, m; the section of a `Layer` is its number among them, from below; `angle`: largest
    width of elements at the surface, radians; `doubling_radii`: radii, falling, below which they become `factor` times
    larger; each goes on to the next section where there is no room; `axes`: axes along which elements grow, one in each
    of as many layers: 2 of a chunk, 3 of the cube around a sphere. Returns tuple of Layer: from below; `width` has a
    number for each of the axes, and `axis` is one of them. Raises ValueError: no room for a growth above the bottom.
    """
    layers, width, waiting, last = [], (1,) * axes, list(doubling_radii), radii[-1]
    for n in range(len(radii) - 2, -1, -1):
        bottom, top = radii[n], radii[n + 1]
        while waiting and (start := min(waiting[0], top)) - bottom >= _needed(start * angle * width[0], axes, factor):
            waiting.pop(0)
            start = top if top - start < sizes.largest(bottom, top) / 2 else start
            layers += _plain(start, top, sizes, width, n)
            grown, top = _growth(bottom, start, sizes, angle * width[0], width, n, factor)
            layers, width = layers + grown, grown[-1].width
        layers += _plain(bottom, top, sizes, width, n)
        last = bottom
    if waiting:
        raise ValueError(
            f"elements cannot be coarsened below radius {waiting[0] / 1e3:.10g} km and above {last / 1e3:.10g} km"
        )
    return tuple(layers[::-1])


def _plain(bottom, top, sizes, width, section):
    """Layers of equal height between two radii, from above; none where there is nothing between
    them.
    """
    if top - bottom < 1e-9 * top:
        return []
    ratio = (top - bottom) / sizes.largest(bottom, top)
    if ratio > MOST_LAYERS:
        raise ValueError(
            f"{ratio:.3g} layers of elements between radius {bottom / 1e3:.10g} and {top / 1e3:.10g} km are "
            f"more than {MOST_LAYERS:,}: correct the speeds of the model there, or the period"
        )
    count = max(1, int(np.ceil(ratio - ROUNDING)))
    levels = np.linspace(bottom, top, count + 1)
    return [Layer((float(a), float(b)), width, section) for a, b in zip(levels[-2::-1], levels[:0:-1])]


def _growth(bottom, top, sizes, angle, width, section, factor):
    """Return the layers in which elements grow along one axis after another, from above, and the
    radius of their lower side.
    """
    edge, allowed, axes = angle * top, sizes.largest(bottom, top), len(width)
    height = float(np.clip(allowed, LEAST * edge, WANTED * edge)) * factor / 2
    share, steepest = ((top - bottom) / axes, STEEPEST * edge / (1 + STEEPEST * angle * axes) * factor / 2)
    # no thin layer behind them
    if top - bottom - axes * height < 0.6 * allowed and share <= LARGEST * edge * factor / 2:
        height = share
    height = min(height, share, max(steepest, LEAST * edge * factor / 2))
    levels = top - height * np.arange(axes + 1)
    levels[-1] = bottom if levels[-1] - bottom < 1e-6 * top else levels[-1]
    wide = [tuple(w * factor if a <= axis else w for a, w in enumerate(width)) for axis in range(axes)]
    return [
        Layer((float(low), float((low + high) / 2), float(high)), wide[axis], section, axis, factor)
        for axis, (high, low) in enumerate(zip(levels[:-1], levels[1:]))
    ], float(levels[-1])
