"""craton plan: what a run would do and cost; nothing is written."""

from functools import partial

from craton.cli.check import checked
from craton.cli.command import File, Set, Where, changes, option
from craton.driver.run import log_warnings
from craton.errors import CratonError
from craton.text import duration, text_sections


def plan(
    file: File,
    device: Where = None,
    ranks: option("Show how N ranks would share the run.", kind=int | None, min=1, metavar="N") = None,
    overrides: Set = None,
):
    """Show what a run would do.

    Algorithm, grid, time step, points per wavelength, sources, memory, phases, time. Writes
    nothing.
    """
    from craton.backends import backend
    from craton.driver.run import drive
    from craton.methods import METHODS

    outlined = []
    planner = partial(one_run, ranks=ranks or 1, outlined=outlined)
    scenario, planned = checked(file, changes(overrides, device), planner=planner)
    method = METHODS[scenario.method]
    print(planned, flush=True)
    if outlined:
        return None
    if shots := shots_apart(scenario):
        print(f"Survey\n  this is one of {len(shots)} runs, one for each shot: craton survey {file}", flush=True)
    if getattr(scenario, "gradient", None) is not None:
        from craton.inverse.survey import sections

        print(text_sections(sections(scenario, ranks or 1)), flush=True)
    building, words = of_greens(scenario) if getattr(scenario, "greens", None) is not None else (None, "")
    if words:
        print(words, flush=True)
    log_warnings(planned)
    text = method.cut(scenario, planned, ranks) if ranks is not None and ranks > 1 else ""
    if text:
        return print(text)
    machine = backend(scenario.run.device, threads=scenario.run.threads)
    driver = drive(scenario)
    driver.check_memory(planned, machine)
    step = driver.trial(scenario, planned, machine)
    print(method.estimate(planned, machine, step))
    if building is not None and step is not None:
        forces, steps = len(building.shots), building.planned.steps
        print(f"  Green's functions: about {duration(step * steps * forces)} for {forces} forces")
    return None


def one_run(scenario, ranks=1, outlined=None):
    """Return the plan of a scenario; where each shot is a run of its own, of the shot that begins
    first.

    Where the method has a short cut, what the plan costs, without the plan; `outlined` then has it
    as well.
    """
    from craton import shots
    from craton.comm.placement import planner
    from craton.driver.run import plan as whole_plan
    from craton.methods import METHODS

    outline = METHODS[scenario.method].outline(scenario, ranks, partial(planner, threads=scenario.run.threads))
    if outline is not None:
        if outlined is not None:
            outlined.append(outline)
        return outline
    return shots.prepare(scenario).planned if shots_apart(scenario) else whole_plan(scenario)


def of_greens(scenario):
    """Return the survey of `craton greens build`, None where it cannot be, and what it would do, or
    why it cannot, in words.
    """
    from craton.greens.store import prepare, words

    try:
        survey = prepare(scenario)
        return survey, words(survey)
    except CratonError as error:
        return None, f"Green's functions\n  not yet: {error}"


def shots_apart(scenario):
    """Names of the shots of a scenario where each is a run of its own."""
    from craton.methods import METHODS

    return METHODS[scenario.method].shots(scenario)
