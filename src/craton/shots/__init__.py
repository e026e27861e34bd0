"""Surveys: many shots as runs of their own, over workers or one after another, in one result.zarr."""

from craton.shots.runs import Outcome, run, run_survey
from craton.shots.survey import Survey, prepare, single, together

__all__ = ["Outcome", "Survey", "prepare", "run", "run_survey", "single", "together"]
