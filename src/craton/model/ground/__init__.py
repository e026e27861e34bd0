"""The ground: topography, bathymetry and other surfaces, and what they leave of a cell."""
