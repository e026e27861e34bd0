"""A scenario file checked as a whole before anything is done: every problem at once, then every
warning.
"""

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from craton.driver.run import plan
from craton.errors import CratonError, ScenarioError, refuse

PICTURES = (".png", ".pdf", ".svg", ".eps", ".jpg", ".tif", ".webp")


def checked(file, overrides=(), out=None, force=False, planner=None):
    """Scenario and plan of a file.

    Parameters
    ----------
    file : str
        The scenario file.
    overrides : sequence of str
        ``key.path=value`` each.
    out : path-like, optional
        Directory that a run would write to: checked as well.
    force : bool
        Whether it may replace a finished run.
    planner : callable, optional
        What makes a plan of a scenario; by default `craton.plan`.

    Returns
    -------
    scenario : Scenario
    plan : Plan

    Raises
    ------
    ScenarioError
        With every problem of the file, the model, sources, receivers, step and `out`, formatted
        with file and line.
    ResourceError
        Where `out` cannot be written.
    """
    from craton.output.store import check_out
    from craton.scenario import format_problems, read

    reading, planned, refused, agreed, blocked = read(file, overrides), None, (), None, ()
    if reading.scenario is not None:
        try:
            planned = (planner or plan)(reading.scenario)
        except ScenarioError as error:
            refused, agreed = error.problems, error.agreed
    if out is not None:
        try:
            check_out(out, force)
        except ScenarioError as error:
            blocked = error.problems
    told = {problem.key for problem in reading.problems}
    problems = [*reading.problems, *(problem for problem in refused if problem.key not in told)]
    if problems or blocked:
        written = [format_problems(problems, reading.file, reading.text, reading.overrides)] if problems else []
        error = ScenarioError([*problems, *blocked], "\n".join([*written, *(problem.text for problem in blocked)]))
        error.agreed = agreed
        raise error
    return reading.scenario, planned


def refuse_present(key, path, force, is_folder=False):
    """Refuse to write a file where there is one, unless it may be replaced; a folder never is.

    Parameters
    ----------
    key : str
        The word of the command line.
    path : pathlib.Path
    force : bool
        Replace it.
    is_folder : bool
        A folder is to be written, into which files are added.
    """
    if path.is_dir() and not is_folder:
        refuse(key, f"{path} is a folder", "name another file")
    if path.exists() and not force:
        refuse(key, f"{path} is there already", "name another file, or add --force")


def refuse_no_results(out):
    """Refuse a word that is not the folder of a run."""
    if not Path(out).is_dir():
        refuse("OUT", f"there is no folder {out}", "name the folder of a run; craton run makes one")
    if not (Path(out) / "result.zarr").is_dir():
        if (Path(out) / "run.json").exists():
            refuse(
                "OUT", f"the run in {out} recorded nothing", "add [[receivers]], [[snapshots]] or [[peaks]], and run it"
            )
        remedy = "name the folder that craton run, craton survey or craton gradient wrote to"
        refuse("OUT", f"{out} holds no run: result.zarr is missing", remedy)


def regular_file(key, path, folders=False):
    """Refuse a word of the command line that names no regular file."""
    from craton.io.contents import FileError
    from craton.io.regular import check

    try:
        check(path, folders)
    except FileError as error:
        refuse(key, str(error), error.remedy)


@contextmanager
def whole(path):
    """Inside, a new file or folder is written; what a failure leaves of it is removed."""
    was_there = Path(path).exists()
    try:
        yield
    except BaseException:
        if not was_there and Path(path).is_dir():
            shutil.rmtree(path)
        elif not was_there:
            Path(path).unlink(missing_ok=True)
        raise


def picture_file(key, path):
    """Refuse a name for a picture that has no ending of one."""
    if Path(path).suffix.lower() not in PICTURES:
        remedy = f"name it {Path(path).stem}.png; known are {', '.join(PICTURES)}"
        refuse(key, f"{path} does not end as a picture does", remedy)


@contextmanager
def results_of(out):
    """Inside, what a damaged store makes its library raise is a problem of OUT, and what it does not
    have as well; what bears no checksum itself is compared before.

    Parameters
    ----------
    out : path-like
    """
    from craton.integrity import Damaged
    from craton.io.contents import FileError, errors_of_libraries

    remedy = f"craton check {out} says what is damaged"
    regular_file("OUT", out, folders=True)
    try:
        compare_texts(out)
    except Damaged as damage:
        refuse("OUT", str(damage), remedy)
    try:
        with errors_of_libraries(out):
            yield
    except FileError as error:
        refuse("OUT", str(error), remedy)
    except CratonError as error:
        if type(error) is not CratonError:
            raise
        refuse("OUT", str(error))


def compare_texts(out):
    """Compare what figures and conversions read beside chunks, which bear checksums: the scenario
    and metadata of the results. Damage of run.json is only told.

    Parameters
    ----------
    out : path-like

    Raises
    ------
    Damaged
    """
    from craton.integrity import Damaged
    from craton.output.inspection import SCENARIOS, check_chunks, check_files, inspect_metadata, inspect_run, rows_of
    from craton.output.store import RESULT, read_run

    run = read_run(out)
    try:
        if (Path(out) / "run.json").exists():
            inspect_run(out)
        files, arrays = rows_of(run)
    except Damaged as damage:
        files, arrays = {}, {}
        print(f"note: {damage}: the checksums in it are not compared", file=sys.stderr, flush=True)
    check_files(out, {n: f for n, f in files.items() if n.split("/")[0] in (*SCENARIOS, RESULT)})
    check_chunks(out, arrays, sealed=False)
    for damage in inspect_metadata(Path(out) / RESULT)[0]:
        raise damage


def known(key, name, names, noun):
    """Refuse a name that is not one of `names`, with the nearest one."""
    from craton.text import listed, nearest

    if name not in names:
        close = nearest(name, list(names))
        hint = f'; did you mean "{close}"?' if close else ""
        refuse(key, f'there is no {noun} "{name}"{hint}', f"write one of {listed(sorted(names))}")
