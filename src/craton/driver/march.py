"""The time loop of every time-domain solver."""


def march(program, exchange, recorder, steps, first=0):
    """Advance a program from step `first` to `steps`.

    Parameters
    ----------
    program : Program
        Phases of one step on a machine.
    exchange : Exchange
        Shared points between ranks.
    recorder : Recorder
        Looks at every step; may raise to end the run.
    """
    for step in range(first, steps):
        for phase in program.phases:
            phase.outer(step)
            exchange.start(phase.shared)
            phase.inner(step)
            exchange.finish(phase.shared)
        recorder.sample(step)
