"""Elastic and acoustic waves by spectral elements on hexahedra."""
