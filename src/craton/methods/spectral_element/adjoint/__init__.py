"""Linearised spectral elements: transposed and perturbed steps, and the chain rules of their media."""
