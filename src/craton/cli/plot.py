"""craton plot: figures of a run, or of the model of a scenario that has not run."""

import inspect
from pathlib import Path

from craton.cli.check import known, refuse, refuse_no_results, results_of
from craton.cli.options import argument, option

# Options of the command -> those figures that take them have a parameter of this name.
OPTIONS = ("component", "station", "by", "scale", "reduce", "gain", "db")
Positive = {"kind": float | None, "min": 0.001}


def plot(
    out: argument("OUT", "Folder of a run; or a scenario, for its model."),
    names: argument(
        "[NAME]...",
        "Figures: overview, records, radial, gathers, section, snapshots, map, model, "
        "peaks, maps, profiles, spectra, spectrogram, motion, dispersion, kernels.",
        list[str] | None,
    ) = None,
    component: option("Component: section, spectrogram, dispersion.") = None,
    station: option("Receiver: spectrogram, motion.") = None,
    by: option("Section over distance, azimuth, offset or number.") = None,
    scale: option("Section by the peak of each station, trace, or all.") = None,
    reduce: option("Section with times reduced by a velocity.", **Positive, metavar="KM/S") = None,
    gain: option("Of amplitudes: section, gathers.", **Positive) = None,
    db: option("Range of spectra and spectrogram, dB.", kind=float | None, min=1) = None,
):
    """Draw a run: PNG files in its folder.

    Of a scenario file the model as it will be computed, before anything runs.
    """
    from craton.report import FIGURES
    from craton.report import plot as drawn
    from craton.report.runs import Run

    given = zip(OPTIONS, (component, station, by, scale, reduce, gain, db))
    asked = {name: value for name, value in given if value is not None}
    if Path(out).is_file():
        return model_of(out, names or (), asked)
    names = names or ("overview",)
    for name in names:
        known("NAME", name, FIGURES, "figure")
    check_options(FIGURES, names, asked)
    refuse_no_results(out)
    run = Run(out)
    for name in names:
        with results_of(out):
            print(drawn(run, name, **{key: asked[key] for key in options_of(FIGURES[name]) if key in asked}))
    return None


def options_of(figure) -> list[str]:
    """Return the names of the options that a figure takes."""
    return [name for name in inspect.signature(figure).parameters if name in OPTIONS]


def check_options(figures: dict, names, asked: dict) -> None:
    """Refuse options that none of the figures of some names takes, or whose values are not known."""
    from craton.report import traces

    for key in asked:
        if not any(key in options_of(figures[name]) for name in names):
            able = [name for name in figures if key in options_of(figures[name])]
            words = f"{', '.join(names)} does not take it"
            refuse(f"--{key}", words, f"it is an option of {', '.join(able)}")
    for key, values in (("by", traces.BY), ("scale", traces.SCALES)):
        if key in asked:
            known(f"--{key}", asked[key], values, "value")


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
