"""Running a plan: the time loop, what looks at it, and the state of a run."""
