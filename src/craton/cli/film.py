"""craton film: snapshots of a run as a film."""

from pathlib import Path

from craton.cli.check import refuse, refuse_no_results, refuse_present, results_of


def command(out, file=None, series=None, component=None, rate=None, force=False):
    """Write a film of a series of snapshots and print its path.

    Parameters
    ----------
    out : str
        Folder of a run, also of one that goes on.
    file : str, optional
        The film, .mp4, .gif or .webp; by default OUT/NAME.mp4.
    series, component : str, optional
        Which snapshots; by default the first series, and the component with most to see.
    rate : float, optional
        Frames per second.
    force : bool
        Replace the file.
    """
    from craton.report.films import ENDINGS, NAMED, film
    from craton.report.runs import Run

    path = Path(file or Path(out) / f"{series or 'film'}.mp4")
    if path.suffix.lower() not in ENDINGS:
        refuse("-o", f"{path.name}: a film ends in {NAMED}", "name it film.mp4")
    refuse_no_results(out)
    refuse_present("-o", path, force or not file)
    if rate is not None and not 0 < rate <= 120:
        refuse("--rate", f"{rate:g} frames per second", "give a number above 0, at most 120")
    with results_of(out):
        print(film(Run(out), path, series, component, rate))
