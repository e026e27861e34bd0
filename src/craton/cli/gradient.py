"""craton gradient: the gradient of a misfit over all shots of a scenario, in one folder."""

from functools import partial
from pathlib import Path

from craton.cli import survey as surveys
from craton.cli.check import checked, warn
from craton.cli.run import ended_by_signal


def command(file, out=None, places=None, options=None, ranks=1, device=None, force=False, overrides=(), quiet=False):
    """Compute a gradient into a directory.

    Parameters
    ----------
    file : str
        Scenario with the table gradient.
    out : str, optional
        Directory; by default the file's stem and -gradient in the current directory.
    places, options, ranks, device, force, overrides, quiet
        See `craton.cli.survey.command`.
    """
    from craton.inverse.survey import RESULT, prepare, words
    from craton.output.shots import check_survey_out

    job_options = surveys.checked_places(places, options)
    out = Path(out if out is not None else f"{Path(file).stem}-gradient")
    with ended_by_signal():
        overrides = (*overrides, *([f"run.device={device}"] if device else ()))
        survey = checked(file, overrides, planner=partial(prepare, ranks=ranks))[1]
        warn(survey)
        surveys.worded(check_survey_out, out, survey, force)
        if not quiet:
            print(f"{surveys.header(survey, out)}\n{words(survey)}", flush=True)
        dataset = run(survey, out, places, job_options, ranks, force, quiet)
    if not quiet:
        names = ", ".join(map(str, dataset.data_vars))
        print(f"done: misfit {dataset.attrs['misfit']:.6g}\n  {out / RESULT}  {names}", flush=True)


def run(survey, out, places, options, ranks, force, quiet):
    """Run the shots that are not there, and sum: xarray.Dataset."""
    from craton.inverse.survey import run_gradient

    with surveys.interruptible(out), surveys.client_of(survey, out, places, options, ranks) as client:
        arguments = (survey, out, places["workers"], client, force, not quiet, ranks)
        return surveys.worded(run_gradient, *arguments)
