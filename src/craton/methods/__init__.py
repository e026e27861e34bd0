"""Methods: a folder is a method, METHODS has the object of each; see `craton.methods.protocol`."""

from craton.methods.finite_difference.method import FiniteDifferences
from craton.methods.gravity.method import PrismGravity
from craton.methods.spectral_element.method import SpectralElements

METHODS = {method.name: method for method in (FiniteDifferences(), SpectralElements(), PrismGravity())}
