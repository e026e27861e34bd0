"""Tables of a scenario that all methods share, how they are read from TOML, checked and written;
those of a method live with it.
"""
