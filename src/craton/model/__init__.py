"""What the Earth is: the grid, the media (layers, files, anomalies) and their averages over cells; no solver word here."""
from craton.model.cells import Region
from craton.model.earth import cell_averages, cell_losses, extremes, point_values, problems
from craton.model.grid import Grid

__all__ = ["Grid", "Region", "cell_averages", "cell_losses", "extremes", "point_values", "problems"]
