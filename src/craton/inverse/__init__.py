"""Gradients of waveform misfits, exact for the discrete scheme: misfits, parameters, problems; terms
of gravity and of the model that add to them.
"""

from craton.inverse.gravity import GravityProblem
from craton.inverse.problem import Problem, gradient
from craton.inverse.terms import CrossGradient, Tikhonov
from craton.misfits import window

__all__ = ["CrossGradient", "GravityProblem", "Problem", "Tikhonov", "gradient", "window"]
