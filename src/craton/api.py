"""craton in Python: load a scenario, plan it, run it; the command line calls the same functions."""

from craton.driver.result import Result
from craton.driver.run import load, plan, resume, run

__all__ = ["Result", "load", "plan", "resume", "run"]
