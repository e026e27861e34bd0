"""Media: homogeneous, layered, on grids of their own, with anomalies, attenuation and anisotropy,
and their averages over cells.
"""
