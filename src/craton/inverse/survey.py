"""Gradients of many shots: each shot is a task of a survey; what they leave is summed."""

import hashlib
import math
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from craton.errors import CratonError, ScenarioError, refuse, refuse_all
from craton.integrity import Damaged, writing
from craton.inverse.data import by_shot, matched, on_grid
from craton.inverse.options import Options, rows_of
from craton.inverse.problem import Problem, gradient
from craton.io import netcdf
from craton.io.contents import FileError, warnings_of_libraries
from craton.output.inspection import named_damage
from craton.output.store import refuse_changed
from craton.shots import Survey, run, single
from craton.shots.survey import on_earth, scenario_of, unfit
from craton.text import megabytes, text_sections

RESULT = "gradient.zarr"
OPTIONS = ("misfit", "parameters", "every", "storage", "sums")  # of [gradient], that `craton.gradient` takes


@dataclass
class GradientSurvey(Survey):
    """Shots whose gradients are computed and summed; `prepare` makes it.

    Parameters
    ----------
    settings : Gradient
        The table of the scenario.
    problem : Problem
        Of the first shot, where memory is no limit.
    checksum : str
        Of the observed data; "" where a plan found none.
    """

    kind: ClassVar[str] = "gradient"  # of craton.output.store.KINDS
    settings: Any = None
    problem: Any = None
    checksum: str = ""

    @property
    def digest(self):
        """Says which survey it is: its shots, what is computed, and the observed data."""
        said = f"{super().digest}\n{self.settings.model_dump_json()}\n{self.checksum}"
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    @property
    def fields(self):
        """Names of what each shot leaves on the grid."""
        return (*self.settings.parameters, "illumination")

    @property
    def nbytes_kept(self):
        """Bytes of the gradients of all shots, and of their sum."""
        return (len(self.shots) + 1) * len(self.fields) * math.prod(self.problem.shape[1:]) * 4

    def lay_out(self, path, about):
        """Make the empty result.zarr: fields over (shot, z, y, x), in the plane (shot, z, x), and ``misfit(shot)``.

        Parameters
        ----------
        path : path-like
        about : dict
            Attributes.
        """
        import xarray as xr

        from craton.output.arrays import consolidate, create, write_dataset
        from craton.output.shots import add_quantity

        blank = np.zeros(self.problem.shape[1:], np.float32)
        sample = self._on_grid(dict.fromkeys(self.fields, blank))
        origin, of_shots = on_earth(self.shots)
        names = ("shot", np.array([s.name for s in self.shots], dtype=str))
        coordinates = dict(sample.coords) | {"shot": names} | of_shots
        group = write_dataset(path, xr.Dataset(coords=coordinates, attrs=sample.attrs | about | origin))
        # processes never meet in a file
        create(group, "misfit", (len(self.shots),), (1,), float, ("shot",))
        for name, variable in sample.data_vars.items():
            dims = ("shot", *variable.dims)
            add_quantity(group, name, (len(self.shots), *variable.shape), variable, dims, "")
        consolidate(path)

    def _on_grid(self, fields):
        """Return `fields` of all cells as a dataset."""
        by_parameters = {name: fields[name] for name in self.settings.parameters}
        return on_grid(self.problem.parameters.axes, by_parameters, fields["illumination"], derivative=True)

    def conclude(self, out):
        """Write the sum of what all shots left to OUT/gradient.zarr, in place of an earlier one; a
        kill at any moment leaves the old one, none, or the new one, whole.

        Parameters
        ----------
        out : Path
            Folder of the survey.

        Raises
        ------
        ResourceError
            What a shot left is damaged, or nothing can be written.
        """
        from craton.output.arrays import consolidate, write_dataset

        total, aside = self._summed(out), out / f".{RESULT}"
        with writing(out / RESULT):
            for old in (aside, out / RESULT):
                shutil.rmtree(old, ignore_errors=True)
            write_dataset(aside, total)
            consolidate(aside)
            aside.rename(out / RESULT)

    def _summed(self, out):
        """Return the sum of what all shots left, in their order: xarray.Dataset."""
        import xarray as xr

        self._refuse_damage(out / "result.zarr")
        with xr.open_zarr(out / "result.zarr", chunks=None) as shots:
            fields = {
                name: sum(shots[name][n].values.astype(float) for n in range(len(self.shots))) for name in self.fields
            }
            misfit = shots["misfit"].load()
        total = self._on_grid(fields).assign(misfit=misfit)
        return total.assign_attrs(title=self.title, misfit=float(misfit.sum()))

    def _refuse_damage(self, path):
        """Refuse to sum a store that is not as the shots wrote it, with the files to be removed, so that their shot is computed
        again.
        """
        from craton.output.inspection import inspect_store

        for damage in inspect_store(path)[0]:
            number = damage.path.name.partition(".")[0]
            remedy = "add --force to compute all shots anew"
            if damage.path.parent.name in (*self.fields, "misfit") and number.isdecimal():
                name = self.shots[int(number)].name
                files = ", ".join(f"{field}/{number}.*" for field in self.fields)
                remedy = f'remove {files} there and go on: shot "{name}" is computed again'
            raise Damaged(damage.path, damage.reason, remedy)

    def rows(self):
        """Return what the gradients of all shots cost and leave, as (label, text) rows."""
        settings, storage, increments = self.settings, self.problem.experiments[0].storage, ""
        if storage.kind == "increments":
            increments = f"; increments of all steps take {megabytes(storage.machine)} for each shot"
        missing = "" if self.checksum else ", which is not there yet"
        return [
            ("misfit", f"{settings.misfit}, with {settings.observed}{missing}"),
            ("parameters", ", ".join(settings.parameters)),
            ("storage", settings.storage + increments),
            ("every", f"{settings.every} steps" if settings.every > 1 else "each step, exact"),
            ("runs", f"{len(self.shots)}, each forward and back: some four plain runs; see docs/gradients.md"),
            ("on disk", f"{megabytes(self.nbytes_kept)}"),
        ]

    def rows_of_storage(self, ranks):
        """Return what the run of a shot that `ranks` share stores on this computer, and what that costs, as rows."""
        settings, run = self.settings, self.shots[0].scenario.run
        try:
            options = Options(
                run.device, run.threads, settings.every, storage=settings.storage, sums=settings.sums, ranks=ranks
            )
            return rows_of(*options.experiments([self.problem.experiments[0].linear]), settings.parameters)
        except CratonError as error:
            return [("storage", f"not on this computer: {error}")]

    @property
    def work(self):
        """What a worker does with a shot: see `craton.shots.task.Task`."""
        options = self.settings.model_dump(include=set(OPTIONS))
        return partial(gradient_of_shot, observed=os.path.abspath(self.settings.observed), options=options)


def gradient_of_shot(task, log, observed, options):
    """Compute the gradient of the shot of a task, from the path of the observed data of all shots and the options of
    `craton.gradient`, and write it; return its state.
    """
    from craton.output.arrays import open_group
    from craton.output.shots import shared_folder
    from craton.scenario import loads

    with opened(observed) as data:
        of_this = by_shot(data, [task.name], "gradient.observed")[0].load()
    out = gradient(loads(task.text), of_this, **options, ranks=task.ranks)
    with writing(f"to {task.zarr}"), shared_folder(task.zarr):
        group = open_group(task.zarr, "r+")
        for name in (*options["parameters"], "illumination"):
            group[name][task.number] = out[name].values
        group["misfit"][task.number] = out.attrs["misfit"]
    return {"state": "finished", "misfit": out.attrs["misfit"]}


def prepare(scenario, ranks=1, planned=False):
    """Return the GradientSurvey of a scenario with shots, or of one shot; all observed data are looked at.

    Parameters
    ----------
    scenario : Scenario
        With the table ``gradient``.
    ranks : int
        That are to share each shot.
    planned : bool
        Observed data need not be there: a plan does without.

    Raises
    ------
    ScenarioError
        The scenario or the data are wrong, with every problem found; or gradients do not cover it.
    """
    refuse_all(unfit(scenario))
    settings = scenario.gradient
    if settings is None:
        refuse("gradient", "there is no table [gradient]", 'add [gradient] with observed = "observed/result.zarr"')
    survey = single("shot", scenario)
    options = settings.model_dump(include=set(OPTIONS))
    first = Problem(survey.shots[0].scenario, None, device="cpu", memory=np.inf, **options, ranks=ranks)
    checksum = ""
    if not planned or Path(settings.observed).exists():
        with opened(settings.observed) as data:
            refuse_changed(Path(settings.observed).parent, Path(settings.observed).name)
            checksum = checked(data, [s.name for s in survey.shots], first.recordings[0].blank())
    return GradientSurvey(**vars(survey), settings=settings, problem=first, checksum=checksum)


@contextmanager
def opened(path):
    """Open observed data, zarr or netCDF: xarray.Dataset, a context.

    Raises
    ------
    ScenarioError
        There is none, or it cannot be read; also where that is found only while it is read.
    Damaged
        It is a store, and a file of it is not as it was written.
    """
    path = Path(path)
    if not path.exists():
        remedy = "compute or fetch it first; the path is relative to the scenario's folder"
        refuse("gradient.observed", f"there is no {path}", remedy)
    try:
        with named_damage(path), warnings_of_libraries(path), netcdf.opened(path) as data:
            yield data
    except FileError as error:
        raise ScenarioError.of("gradient.observed", str(error), "give zarr or netCDF") from error


def checked(data, names, blank):
    """Refuse observed data that do not fit some shot; return their checksum.

    Parameters
    ----------
    data : xarray.Dataset
    names : list of str
        Shots.
    blank : xarray.Dataset
        As a shot would record it.
    """
    problems, digest = [], hashlib.sha256()
    for name, recorded in zip(names, by_shot(data, names, "gradient.observed")):
        try:
            arrays = matched(recorded.load(), blank, "gradient.observed")
        except ScenarioError as error:
            problems += [replace(p, message=f'shot "{name}": {p.message}') for p in error.problems]
            continue
        for key in sorted(arrays):
            digest.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
    refuse_all(problems)
    return digest.hexdigest()


def run_gradient(source, out, workers=None, client=None, force=False, progress=True, ranks=1):
    """Compute the gradient of a misfit over all shots of a scenario into a folder; `craton gradient`
    in Python. Shots that are there already are not run again.

    Parameters
    ----------
    source : Scenario, path-like or GradientSurvey
        With the table ``gradient``.
    out, workers, client, force, progress, ranks
        See `craton.run_survey`.

    Returns
    -------
    xarray.Dataset
        OUT/gradient.zarr: the gradient by the parameters, ``illumination``, ``misfit(shot)``, and
        the attribute ``misfit``.

    Raises
    ------
    CratonError
        See `craton.run_survey`.
    """
    import xarray as xr

    survey = source if isinstance(source, GradientSurvey) else prepare(scenario_of(source), ranks)
    outcome = run(survey, out, workers, client, force, progress, ranks).finished()
    return xr.open_zarr(Path(outcome.out) / RESULT, chunks=None)


def words(survey):
    """Return what a gradient costs and leaves, in words, for the header; see `GradientSurvey.rows`."""
    return text_sections({"Gradient": survey.rows()})


def sections(scenario, ranks=1):
    """Return what `craton gradient` would do and cost, or why it cannot, for a plan: rows (label,
    text) by title. Observed data need not be there.

    Parameters
    ----------
    scenario : Scenario
        With the table ``gradient``.
    ranks : int
        That share a shot.
    """
    try:
        survey = prepare(scenario, planned=True)
    except ScenarioError as error:
        return {"Gradient": [("not yet", str(error))]}
    return {"Gradient": survey.rows(), "Gradient of a shot": survey.rows_of_storage(ranks)}


def plan(scenario, comm=None, reuse=None):
    """Return the discretised problem of a scenario: prints as `craton plan`; `.nbytes`, `.steps`,
    `.phases`. With the table ``gradient`` it also says what a gradient takes.

    Parameters
    ----------
    scenario : Scenario
    comm, reuse
        See `craton.driver.run.plan`.

    Raises
    ------
    ScenarioError
        With every problem found.

    Examples
    --------
    >>> plan = craton.plan(craton.load("two_layers.toml"))
    >>> plan.grid.shape, plan.dt > 0, plan.nbytes > 0
    ((24, 33, 39), True, True)
    """
    from craton.driver import run as driver

    planned = driver.plan(scenario, comm, reuse)
    if getattr(scenario, "gradient", None) is not None:
        planned.notes |= sections(scenario, comm.size if comm is not None else 1)
    return planned
