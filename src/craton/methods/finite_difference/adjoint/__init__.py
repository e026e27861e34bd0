"""Linearised finite differences: transposed and perturbed steps, and the chain rules of their media."""
