"""Solvers: a folder is a physics, a .h an operator's body."""
