"""Measurements and tools of the development: `python -m bench NAME` runs a module of `bench.cases`."""
