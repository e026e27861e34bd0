"""Attacks on craton: damaged inputs and run folders, processes killed at random; `python -m attack --help` in the folder tests."""
