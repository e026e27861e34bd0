"""The time loop of every time-domain solver."""


def march(program, recorder, steps, first=0):
    """Advance a program from step `first` to `steps`; the recorder looks at every step, and may raise to end the run."""
    for step in range(first, steps):
        program.step(step)
        recorder.sample(step)
