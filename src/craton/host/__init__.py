"""Compiler of this computer, and the cache of what it compiled."""
