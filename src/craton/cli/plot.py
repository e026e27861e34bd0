"""craton plot: figures of a run, or of the model of a scenario that has not run."""

import inspect
from pathlib import Path

from craton.cli.check import known, refuse, results_of

# Options of the command -> those figures that take them have a parameter of this name.
OPTIONS = ("component", "station", "by", "scale", "reduce", "gain", "db")


def command(out, names=(), **options):
    """Draw figures of `craton.report.FIGURES` into a run's directory and print their paths; of a
    scenario file the model, into the current folder.

    Parameters
    ----------
    out : str
        Folder of a run, or a scenario file.
    names : sequence of str
        Keys of `craton.report.FIGURES`; the overview when empty.
    options : dict
        Of `OPTIONS`; those that are None are left out.
    """
    from craton.report import FIGURES

    chosen = {name: value for name, value in options.items() if value is not None}
    if Path(out).is_file():
        return model_of(out, names, chosen)
    names = names or ("overview",)
    for name in names:
        known("NAME", name, FIGURES, "figure")
    check_options(FIGURES, names, chosen)
    if not Path(out).is_dir():
        refuse("OUT", f"there is no folder {out}", "name the folder of a run; craton run makes one")
    if not (Path(out) / "result.zarr").is_dir():
        refuse("OUT", f"{out} holds no run: result.zarr is missing", "name the folder that craton run wrote to")
    for name in names:
        taken = {key: chosen[key] for key in chosen if key in options_of(FIGURES[name])}
        with results_of(out):
            print(FIGURES[name](out, **taken))
    return None


def options_of(figure):
    """Return the names of the options that a figure takes.

    Parameters
    ----------
    figure : callable
    """
    return [name for name in inspect.signature(figure).parameters if name in OPTIONS]


def check_options(figures, names, chosen):
    """Refuse options that no figure takes, or whose values are not known.

    Parameters
    ----------
    figures : dict
    names : sequence of str
        Figures asked for.
    chosen : dict
        Options with their values.
    """
    from craton.report import record_sections

    for option in chosen:
        if not any(option in options_of(figures[name]) for name in names):
            able = [name for name in figures if option in options_of(figures[name])]
            words = f"{', '.join(names)} does not take it"
            refuse(f"--{option}", words, f"it is an option of {', '.join(able)}")
    for option, values in (("by", record_sections.BY), ("scale", record_sections.SCALES)):
        if option in chosen:
            known(f"--{option}", chosen[option], values, "value")


def model_of(file, names, chosen):
    """Draw the model of a scenario file.

    Parameters
    ----------
    file : str
    names : sequence of str
        ``"model"``, or none.
    chosen : dict
        Options, of which it takes none.
    """
    from craton.report.model_figures import figure_of
    from craton.scenario import load

    if tuple(names) not in ((), ("model",)):
        remedy = "run the scenario first, then name the folder"
        refuse("NAME", f"{file} is a scenario: only its model can be drawn", remedy)
    if chosen:
        refuse(f"--{next(iter(chosen))}", "the model does not take it", "leave it out")
    path = Path(f"{Path(file).stem}-model.png")
    figure_of(load(file)).savefig(path, dpi=160)
    print(path)
