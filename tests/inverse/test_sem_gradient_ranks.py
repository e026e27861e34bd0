"""Gradients of spectral elements over ranks: those of one rank to rounding, for every medium, face and storage."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest
import xarray as xr
from inversecase import Case
from test_gradient_ranks import MPI, outcome_of
from test_sem_gradients import CASES, REMEMBERING, parameters_of, scenario

import craton
from craton.backends.cpu import cores
from craton.cli import main
from craton.comm import launcher
from craton.errors import ComputationError
from craton.methods.spectral_element import absorbing_layer
from craton.scenario import dumps

# L2, relative, float64: forces of elements are added in another order; derivatives by position are differences of rows nearly alike
ROUNDING, OF_POSITION = 1e-13, 1e-11
EXACT = 1e-13  # of dot products
RANKS = 3
DEEP = {"origin": [0, 0, -240], "size": [160, 140, 240]}  # m: two layers of elements below the sea
TRIED = {
    "free faces": ({"boundaries": {"others": "free"}}, {}),
    **{name: (tables, {"parameters": parameters_of(name)}) for name, tables in CASES.items()},
    **REMEMBERING,
    "Stacey's faces, all steps saved": ({}, {"storage": "checkpoints"}),
    "Stacey's faces, some steps at a time": ({}, {"memory": 2e4}),
    "some steps saved, which run again": ({}, {"storage": "checkpoints", "memory": 1e5}),
    "every third step": ({}, {"every": 3}),
    "a rank without water": (CASES["sea"] | {"domain": DEEP, "run": {"partition": "bisection"}}, {}),
}


def same(found, expected):
    """Equal to rounding, and not all zeros."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        bound = OF_POSITION if name.endswith("position") else ROUNDING
        scale = np.linalg.norm(np.nan_to_num(values))
        assert np.array_equal(np.isnan(found[name]), np.isnan(values)), name
        assert np.linalg.norm(np.nan_to_num(found[name] - values)) <= bound * scale, name
        assert scale > 0 or name not in ("born", "samples", "cells 0", "cells 1"), name


@pytest.mark.parametrize("name", TRIED)
def test_every_medium_and_storage(name, monkeypatch):
    """What nobody has sent is nan."""
    tables, options = TRIED[name]
    if "across" in name:
        monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)
    expected, alone = outcome_of(craton.Problem(scenario(**tables), device="cpu", **options))
    if "memory" in options:
        options = options | {"memory": options["memory"] / 2}
    problem = craton.Problem(scenario(**tables), device="hostile", ranks=RANKS, **options)
    same(outcome_of(problem)[0], expected)
    (experiment,) = problem.experiments
    points = [each.division.elements.d.subdomain.counts for each in experiment.experiments]
    deep = "without" in name or "floor along a layer" in name  # a rank lies below the water
    assert deep == (0 < sum(fluid == 0 for _, fluid in points) < RANKS)
    (segments,) = {len(each.segments) for each in experiment.experiments}
    assert (segments > 1) == (len(alone.experiments[0].segments) > 1) == ("some" in name)
    assert len(experiment.experiments) == RANKS and f"{RANKS}, each" in problem.plan


@pytest.mark.parametrize("name", ["solid", "sea", "layers that relax, across lines of the mesh"])
def test_the_linearised_operators_of_ranks_are_transposes(name):
    """By dot products, as on one rank."""
    tables, options = TRIED[name]
    case = Case(scenario(**tables), ranks=RANKS, device="cpu", **options)
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT


@cache
def plain():
    """A scenario, data of another medium, and the gradient on one rank."""
    case = scenario()
    problem = craton.Problem(case)
    observed = problem.data(1.02 * problem.m0)
    return case, observed, craton.gradient(case, observed)


def same_dataset(found, rounding=ROUNDING):
    """The gradient is that of one rank."""
    expected = plain()[2]
    for name in (*expected.data_vars, *expected.coords):
        values = expected[name].values
        if values.dtype.kind == "f":
            off = np.linalg.norm(found[name].values - values)
            assert off <= rounding * np.linalg.norm(values), name
        else:
            np.testing.assert_array_equal(found[name].values, values)
    assert found.attrs["misfit"] == pytest.approx(expected.attrs["misfit"], rel=1e-13)


def test_a_run_that_diverges_ends_on_all_ranks_and_they_begin_anew():
    case, observed, _ = plain()
    problem = craton.Problem(case, observed, ranks=2)
    (experiment,) = problem.experiments
    state = experiment.linear.at(experiment.linear.cells)
    state.d.nodal["vp"][...] *= 1e20
    with pytest.raises(ComputationError, match="diverged"):
        experiment._each(lambda each: each.run_state(state))
    same_dataset(craton.gradient(case, observed, ranks=2))
    slope = problem.jac(problem.m0).reshape(problem.shape)[0]
    expected = plain()[2]["vp"].values
    assert np.linalg.norm(slope - expected) <= ROUNDING * np.linalg.norm(expected)


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_the_command_gives_each_shot_several_ranks(tmp_path, capsys):
    case, observed, _ = plain()
    observed.to_zarr(tmp_path / "observed.zarr", zarr_format=2, consolidated=True)
    case = scenario(gradient={"observed": str(tmp_path / "observed.zarr")})
    (tmp_path / "case.toml").write_text(dumps(case))
    file, out = str(tmp_path / "case.toml"), tmp_path / "out"
    assert main(["plan", file, "--ranks", "2"]) == 0
    assert "velocities of absorbing points" in (told := capsys.readouterr().out)
    assert "2, each a part of" in told
    assert main(["gradient", file, "-o", str(out), "--workers", "1", "--ranks", "2"]) == 0
    found = xr.open_zarr(out / "gradient.zarr", chunks=None)
    for name in ("vp", "vs", "rho"):
        expected = plain()[2][name].values
        off = np.linalg.norm(found[name].values - expected)
        assert off < 1e-6 * np.linalg.norm(expected)  # stored in single precision


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'"
)
def test_processes_have_the_same_gradient(tmp_path):
    """Each of them the whole."""
    case, observed, _ = plain()
    observed.to_netcdf(tmp_path / "observed.nc")
    (tmp_path / "case.toml").write_text(dumps(case))
    (tmp_path / "gradient.py").write_text(textwrap.dedent(MPI.format(storage="auto")))
    done = subprocess.run(
        [launcher.mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py", "gradient.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        same_dataset(xr.open_dataset(tmp_path / f"gradient_{rank}.nc").load())
