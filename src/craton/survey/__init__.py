"""What goes in and what is read out: wavelets, point sources, receivers, and filters for what they
recorded.
"""

from craton.survey.checks import problems, warnings

__all__ = ["problems", "warnings"]
