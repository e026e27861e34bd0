"""Meshes of hexahedra: built, read, numbered, ordered, searched."""
