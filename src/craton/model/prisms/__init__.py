"""Ensembles of rectangular prisms for gravity."""
