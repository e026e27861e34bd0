"""Exact solutions that runs are compared with: no part of craton computes them."""
