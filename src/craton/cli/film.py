"""craton film: snapshots of a run as a film."""

from pathlib import Path

from craton.cli.check import refuse, refuse_no_results, refuse_present, results_of
from craton.cli.options import Force, argument, option, target


def film(
    out: argument("OUT", "Folder of a run."),
    file: target("FILE", "Film: .mp4, .gif or .webp; OUT/film.mp4.") = None,
    series: option("Series of snapshots; by default the first one.") = None,
    component: option("Component; by default the one with most to see.") = None,
    rate: option("Frames per second; by default the film lasts 12 s.", kind=float | None) = None,
    force: Force = False,
):
    """Write snapshots as a film.

    All frames have one colour scale; the model, the relief or the Earth lies underneath.
    """
    from craton.report import films
    from craton.report.runs import Run

    path = Path(file or Path(out) / f"{series or 'film'}.mp4")
    if path.suffix.lower() not in films.ENDINGS:
        refuse("-o", f"{path.name}: a film ends in {films.NAMED}", "name it film.mp4")
    refuse_no_results(out)
    refuse_present("-o", path, force or not file)
    if rate is not None and not 0 < rate <= 120:
        refuse("--rate", f"{rate:g} frames per second", "give a number above 0, at most 120")
    with results_of(out):
        print(films.film(Run(out), path, series, component, rate))
