"""What the Earth is: the media (layers, files, anomalies) and their averages over cells; no solver
word here.
"""

from craton.model.media.cells import Region
from craton.model.media.earth import cell_averages, cell_losses, extremes, point_values, problems

__all__ = ["Region", "cell_averages", "cell_losses", "extremes", "point_values", "problems"]
