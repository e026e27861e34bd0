"""Kernel headers and operators that every solver shares."""
