"""The inert middle: operators as declared, the Plan that a solver builds, and who owns which part
of the grid.
"""
