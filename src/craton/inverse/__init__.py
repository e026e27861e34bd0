"""Gradients of waveform misfits, exact for the discrete scheme: misfits, parameters, problems."""

from craton.inverse.maps import gradient
from craton.inverse.problem import Problem

__all__ = ["Problem", "gradient"]
