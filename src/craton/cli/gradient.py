"""craton gradient: the gradient of a misfit over all shots of a scenario, in one folder."""

from functools import partial
from pathlib import Path

from craton.cli.check import checked
from craton.cli.command import File, RanksOfShot, ShotOptions, target
from craton.cli.survey import run_shots


def gradient(
    file: File,
    shots: ShotOptions,
    out: target("OUT", "Folder for the results; by default the file's name and -gradient, here.") = None,
    ranks: RanksOfShot = 1,
):
    """Compute the gradient of a misfit over all shots.

    The scenario names observed data in [gradient]. The sum over all shots, illumination and the
    misfit of each shot go to gradient.zarr in the folder OUT. Shots that are there already are not
    run again.
    """
    from craton.inverse.survey import RESULT, prepare, run_gradient, words

    def planned(changed):
        return checked(file, changed, planner=partial(prepare, ranks=ranks))[1]

    out = Path(out if out is not None else f"{Path(file).stem}-gradient")
    dataset = run_shots(shots, out, planned, partial(run_gradient, ranks=ranks), words, ranks)[1]
    if not shots.quiet:
        names = ", ".join(map(str, dataset.data_vars))
        print(f"done: misfit {dataset.attrs['misfit']:.6g}\n  {out / RESULT}  {names}", flush=True)
