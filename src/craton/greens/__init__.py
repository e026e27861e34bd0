"""Green's functions: reciprocal runs of the forces at each station, kept in a volume of possible
sources, from which seismograms of any earthquake there follow at once.
"""

from craton.greens.database import Database, open
from craton.greens.store import build

__all__ = ["Database", "build", "open"]
