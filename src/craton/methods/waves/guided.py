"""Damping of velocities in absorbing layers, against guided waves that matched layers amplify: how
strong it is and where it begins.

A perfectly matched layer amplifies guided modes whose group and phase velocity have opposite signs
(Becache et al. 2003, Skelton et al. 2007): plates, fast layers over slow ones and strongly
heterogeneous media have them. Some damping of the velocity, where the matched layer has absorbed
most of the wave, holds them. The layer's d is set by the fastest wave, so that slow waves meet a
layer that is stronger for them, and are amplified further inside, by the ratio of the fastest to
the slowest wave. bench/NOTES.md, "Stable layers", has the trials that the constants come from.
"""

from typing import NamedTuple

import numpy as np

DAMPING = 0.12  # of d at the outer edge, times that ratio, where the medium guides waves
GREATEST_RATIO = 4  # beyond it damping begins further inside, and is not stronger
DAMPING_POWER = 10  # of the depth, for ratios up to ORDINARY_RATIO
# beyond it the power falls, and damping begins further inside
ORDINARY_RATIO, POWER_PER_OCTAVE, LEAST_POWER = 2.5, 1.5, 4
PLATE = 2.0  # `guiding` between two faces that reflect


def damping(vp, reflection, width):
    """Return d of a matched layer at its outer edge, 1/s, for a P wave (m/s), a reflection and a width, m: -3 vp ln(R) / (2 L)
    (Collino & Tsogka 2001).
    """
    return -3 * vp * np.log(reflection) / (2 * width)


def guiding(vp, vs):
    """How well a medium between absorbing faces guides waves, 0 (not at all) to 1: by how much vp
    or vs varies.

    Parameters
    ----------
    vp, vs : (float, float)
        Least and greatest, m/s; a least vs of 0 beside a greatest above it is a fluid beside a
        solid: 1.
    """
    if vs[0] == 0 < vs[1]:
        return 1.0
    return min(max(vp[1] / vp[0], vs[1] / vs[0] if vs[0] else 1.0) - 1, 1.0)


def strength(guide, ratio):
    """Rate of damping over d at the outer edge from `guiding` and the ratio of the fastest to the slowest wave."""
    return DAMPING * guide * min(ratio, GREATEST_RATIO)


def power(ratio):
    """Return the power of the depth with which damping rises."""
    return max(DAMPING_POWER - POWER_PER_OCTAVE * max(np.log2(ratio / ORDINARY_RATIO), 0), LEAST_POWER)


class Speeds(NamedTuple):
    """Speeds, m/s, for which absorbing layers are made: extremes of vp and of vs (a least vs of 0 is
    a fluid beside a solid), the fastest and the slowest wave.
    """

    vp: tuple
    vs: tuple
    fastest: float
    slowest: float

    @property
    def words(self):
        """In words that two runs can compare."""
        ends = (self.slowest, self.fastest, *self.vp, *self.vs)
        names = ("waves of", "vp", "vs")
        pairs = zip(names, ends[::2], ends[1::2])
        return ", ".join(f"{name} {low:.6g} .. {high:.6g}" for name, low, high in pairs) + " m/s"


def speeds_of(options, model, fastest):
    """Return the `Speeds` of absorbing layers: those of the model, where the options give no others.

    Parameters
    ----------
    options : craton.tables.medium.LayerSpeeds
    model : dict
        As of `craton.model.media.earth.extremes`.
    fastest : float
        Fastest wave of the model, m/s.
    """
    vp, vs, slowest = model["vp"], model["vs"], float(np.min(model["slowest"]))
    if options.vp is None and options.vs is None:
        return Speeds(vp, vs, fastest, slowest)
    fastest = fastest if options.vp is None else options.vp[1]
    (least, greatest), vp = options.vs or vs, options.vp or vp
    slowest = min([slowest] if options.vs is None else [v for v in (vp[0], least) if v > 0])
    return Speeds(vp, (least if vs[0] else 0.0, greatest), fastest, slowest)
