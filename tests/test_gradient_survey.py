"""craton gradient: all shots, their sum, resume, and what is told before anything runs."""

import numpy as np
import pytest
import xarray as xr
from inversecase import place, scenario

import craton
from craton.cli import main
from craton.errors import ScenarioError
from craton.inverse import survey
from craton.scenario import dumps
from craton.shots import runs

FORCES = [
    {"kind": "force", "at": place(2, x, 0.3), "force": [1e9, 2e9], "shot": name}
    for name, x in (("a", 0.3), ("b", 0.5), ("c", 0.7))
]


def with_data(path, **table):
    """A scenario of three shots with a table [gradient]."""
    table = {"observed": str(path), "parameters": ["vp", "rho"]} | table
    return scenario(source=FORCES, gradient=table)


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Observed data of another model, in zarr."""
    path = tmp_path_factory.mktemp("observed") / "observed.zarr"
    problem = craton.Problem(scenario(source=FORCES))
    problem.data(1.02 * problem.m0).to_zarr(path, zarr_format=2, consolidated=True)
    return path


@pytest.fixture(scope="module")
def out(observed, tmp_path_factory):
    """Folder of a gradient that was killed after its first shot and started again."""
    out = tmp_path_factory.mktemp("gradients") / "out"
    ran, whole = [], runs.run_shot

    def killed(task):
        ran.append(task.name)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return whole(task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "run_shot", killed)
        with pytest.raises(KeyboardInterrupt):
            craton.run_gradient(with_data(observed), out, workers=1, progress=False)
        craton.run_gradient(with_data(observed), out, workers=1, progress=False)
        craton.run_gradient(with_data(observed), out, workers=1, progress=False)
    assert ran == ["a", "b", "b", "c"]
    return out


def test_the_sum_over_all_shots(out, observed):
    total = xr.open_zarr(out / "gradient.zarr", chunks=None)
    data = xr.open_zarr(observed, chunks=None).load()
    whole = craton.gradient(scenario(source=FORCES), data, parameters=("vp", "rho"))
    for name in ("vp", "rho", "illumination"):
        peak = np.abs(whole[name]).max()
        np.testing.assert_allclose(total[name], whole[name], rtol=0, atol=1e-6 * peak)
        assert total[name].attrs == whole[name].attrs
    assert total.attrs["misfit"] == pytest.approx(whole.attrs["misfit"], rel=1e-9)
    assert list(total.shot.values) == ["a", "b", "c"] and (total.misfit > 0).all()
    shots = xr.open_zarr(out / "result.zarr", chunks=None)
    assert shots.vp.dims == ("shot", "z", "x") and bool((shots.vp.std(("x", "z")) > 0).all())


def test_the_command(out, observed, tmp_path, capsys):
    file = tmp_path / "survey.toml"
    file.write_text(dumps(with_data(observed)))
    assert main(["gradient", str(file), "-o", str(out), "--workers", "1"]) == 0
    assert "done: misfit" in capsys.readouterr().out
    assert main(["check", str(out)]) == 0
    assert main(["survey", "status", str(out)]) == 0
    assert main(["plan", str(file)]) == 0
    said = capsys.readouterr().out
    assert "3, each forward and back" in said and "increments of all steps take" in said
    for storage in ("boundaries", "boundaries-16", "checkpoints"):
        assert survey.prepare(with_data(observed, storage=storage)).increments == 0
    assert main(["gradient", str(file), "-o", str(out), "--set", "gradient.every=2"]) == 2
    assert "holds a survey of another scenario" in capsys.readouterr().err


def changed(folder, change):
    """Observed data after a change."""
    path = folder / "changed.nc"
    change(xr.open_zarr(folder / "observed.zarr", chunks=None).load()).to_netcdf(path)
    return path


def silent(data):
    """Data with a sample that is not finite."""
    data.velocity[1, 0, 0, 3] = np.nan
    return data


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda data: data.isel(shot=[0, 2]), 'no shot "b"'),
        (lambda data: data.isel(shot=0, drop=True), "no dimension shot"),
        (lambda data: data.isel(time=slice(0, 20)), 'shot "a": has 20 along time'),
        (lambda data: data.isel(receiver=[1, 0]), 'receiver 0 is "B"'),
        (silent, 'shot "b": 1 samples are not finite'),
    ],
)
def test_bad_data_are_told_before_anything_is_written(observed, tmp_path, change, words):
    with pytest.raises(ScenarioError, match=words):
        survey.prepare(with_data(changed(observed.parent, change)))


def test_bad_tables_are_told(tmp_path):
    for table, words in (
        ({"observed": str(tmp_path / "none.zarr")}, "there is no"),
        ({"parameters": ["vp", "mu"]}, "one set"),
        ({"misfit": "l1"}, "misfit"),
        ({"every": 0}, "every"),
        ({"storage": "disk"}, "storage"),
    ):
        with pytest.raises(ScenarioError, match=words):
            survey.prepare(with_data(tmp_path, **table))
    with pytest.raises(ScenarioError, match=r"add \[gradient\]"):
        survey.prepare(scenario(source=FORCES))
