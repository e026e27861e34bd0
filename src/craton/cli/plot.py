"""craton plot: figures of a run, or of the model of a scenario that has not run."""

import inspect
from pathlib import Path

from craton.cli.check import known, refuse, refuse_no_results, results_of

# Options of the command -> those figures that take them have a parameter of this name.
OPTIONS = ("component", "station", "by", "scale", "reduce", "gain", "db")


def command(out, names=(), **options):
    """Draw figures of `craton.report.FIGURES`, by default the overview, into a run's folder and print their paths; of a
    scenario file the model, into the current folder. Options, of `OPTIONS`, that are None are left out.
    """
    from craton.report import FIGURES, plot
    from craton.report.runs import Run

    asked = {name: value for name, value in options.items() if value is not None}
    if Path(out).is_file():
        return model_of(out, names, asked)
    names = names or ("overview",)
    for name in names:
        known("NAME", name, FIGURES, "figure")
    check_options(FIGURES, names, asked)
    refuse_no_results(out)
    run = Run(out)
    for name in names:
        with results_of(out):
            print(plot(run, name, **{key: asked[key] for key in options_of(FIGURES[name]) if key in asked}))
    return None


def options_of(figure) -> list[str]:
    """Return the names of the options that a figure takes."""
    return [name for name in inspect.signature(figure).parameters if name in OPTIONS]


def check_options(figures: dict, names, asked: dict) -> None:
    """Refuse options that none of the figures of some names takes, or whose values are not known."""
    from craton.report import traces

    for option in asked:
        if not any(option in options_of(figures[name]) for name in names):
            able = [name for name in figures if option in options_of(figures[name])]
            words = f"{', '.join(names)} does not take it"
            refuse(f"--{option}", words, f"it is an option of {', '.join(able)}")
    for option, values in (("by", traces.BY), ("scale", traces.SCALES)):
        if option in asked:
            known(f"--{option}", asked[option], values, "value")


def model_of(file, names, asked: dict) -> None:
    """Draw the model of a scenario file; other figures and options are refused."""
    from craton.report.models import figure_of
    from craton.scenario import load

    if tuple(names) not in ((), ("model",)):
        remedy = "run the scenario first, then name the folder"
        refuse("NAME", f"{file} is a scenario: only its model can be drawn", remedy)
    if asked:
        refuse(f"--{next(iter(asked))}", "the model does not take it", "leave it out")
    path = Path(f"{Path(file).stem}-model.png")
    figure_of(load(file)).savefig(path, dpi=160)
    print(path)
