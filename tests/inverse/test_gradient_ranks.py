"""Gradients over ranks: every bit as on one rank, whatever is stored and wherever the grid is cut."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest
import xarray as xr
from inversecase import scenario
from test_adjoint import CASES, explosion, force, told

import craton
from craton.backends.cpu import cores
from craton.cli import main
from craton.comm import launcher
from craton.comm.local import Alone
from craton.errors import ComputationError
from craton.scenario import dumps

MEMORY = 5e5  # bytes, of checkpoints: for some of them
STEPS, THIN = 18, {"cpml": {"thickness": 3}}
LINE = {"source": [force(0.6, 0.2), explosion(0.41, 0.43)]}


def tables_of(name, **more):
    """Tables of a case of test_adjoint, of fewer steps."""
    tables = CASES[name] | {"steps": STEPS} | more
    if tables.get("dimensions") == 3:
        tables["boundaries"] = tables.get("boundaries", {}) | THIN
    return tables


def outcome(tables, **options):
    """What all linearised operators of a problem make of random numbers, and the problem."""
    return outcome_of(craton.Problem(scenario(**tables), **options))


def outcome_of(problem):
    """What all linearised operators of a problem make of random numbers, and the problem."""
    rng = np.random.default_rng(4)
    m = problem.m0 * (1 + 0.02 * rng.uniform(-1, 1, problem.m0.shape))
    arrays = {"born": problem.born(problem.m0 * rng.uniform(-1, 1, m.shape), m)}
    (experiment,) = problem.experiments
    samples = experiment.samples
    out = experiment.adjoint(rng.standard_normal(samples.shape), True, True)
    arrays |= {"samples": samples, "illumination": out["illumination"]}
    arrays |= {f"cells {n}": values for n, values in enumerate(out["cells"])}
    for kind in ("force", "moment"):
        for n, source in enumerate(out[kind]):
            arrays |= {f"{kind} {n} {key}": np.asarray(v) for key, v in source.items()}
    return arrays, problem


def same_bits(found, expected):
    """Equal in every bit, and not all zeros."""
    assert found.keys() == expected.keys()
    assert [name for name in expected if not np.array_equal(found[name], expected[name])] == []
    names = ("born", "samples", "illumination", "cells 0", "cells 1")
    assert all(np.abs(expected[name]).max() > 0 for name in names)


@pytest.mark.parametrize(
    "name, storage, grid",
    [
        ("free surface and CPML", "boundaries-16", (1, 1, 2)),
        ("two shots", "boundaries-16", (2, 1, 1)),
        ("periodic", "boundaries", (3, 1, 1)),
        ("sea floor", "checkpoints", (2, 1, 1)),
        ("sea floor", "boundaries", (2, 1, 1)),
        ("space, sea floor", "boundaries-16", (1, 1, 2)),
        ("topography with attenuation", "increments", (1, 1, 3)),
        ("anisotropy, topography with a lake", "increments", (1, 1, 2)),
        ("space, CPML all around", "boundaries-16", (1, 1, 2)),
        ("attenuation in space", "increments", (1, 2, 1)),
        ("attenuation in sponges", "increments", (1, 1, 2)),
        ("cut cells in space", "boundaries", (1, 1, 2)),
        ("cut cells", "increments", (2, 1, 1)),
    ],
)
def test_every_storage_and_cut(name, storage, grid):
    """Of two and three ranks; what nobody has sent is nan."""
    memory = {"memory": MEMORY} if storage == "checkpoints" else {}
    options = {"storage": storage}
    if "attenuation" in name:
        options["parameters"] = ("vs", "rho", "inverse_qp")
    expected, alone = outcome(tables_of(name), device="cpu", **options, **memory)
    run = CASES[name].get("run", {}) | {"grid": list(grid)}
    ranks = int(np.prod(grid))
    memory = {"memory": MEMORY / ranks} if memory else {}
    shared, problem = outcome(tables_of(name, run=run), device="hostile", ranks=ranks, **options, **memory)
    same_bits(shared, expected)
    (experiment,) = problem.experiments
    assert experiment.storage.slots == alone.experiments[0].storage.slots
    assert len(experiment.experiments) == ranks and f"{ranks}, each" in problem.plan
    if memory:
        assert experiment.experiments[0].replayed


@cache
def plain():
    """A scenario in the plane, data of another medium, and the gradient on one rank."""
    case = scenario(steps=STEPS, **LINE)
    problem = craton.Problem(case)
    observed = problem.data(1.02 * problem.m0)
    return case, observed, craton.gradient(case, observed, storage="boundaries")


def same_dataset(found):
    """The gradient is that of one rank."""
    expected = plain()[2]
    for name in (*expected.data_vars, *expected.coords):
        np.testing.assert_array_equal(found[name].values, expected[name].values)
    assert found.attrs["misfit"] == expected.attrs["misfit"]


def test_a_run_that_diverges_ends_on_all_ranks_and_they_begin_anew():
    case, observed, _ = plain()
    problem = craton.Problem(case, observed, storage="boundaries", ranks=2)
    (experiment,) = problem.experiments
    cells = [values.copy() for values in experiment.linear.cells]
    cells[1] *= 1e30
    with pytest.raises(ComputationError, match="diverged"):
        experiment.run(cells)
    same_dataset(craton.gradient(case, observed, storage="boundaries", ranks=2))
    slope = problem.jac(problem.m0)
    np.testing.assert_array_equal(slope.reshape(problem.shape)[0, :, 0], plain()[2]["vp"].values)


def test_what_is_wrong_with_ranks_is_told():
    case = plain()[0]
    told(["ranks", "is no number of ranks"], case, ranks=0)
    told(["give one of them"], case, ranks=2, comm=Alone())
    wide = scenario(run={"grid": [10, 1, 1]})
    told(["10 ranks as 10 x 1 x 1 do not fit", "absorbing layer"], wide, ranks=10)


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_the_command_gives_each_shot_several_ranks(tmp_path, capsys):
    case, observed, expected = plain()
    observed.to_zarr(tmp_path / "observed.zarr", zarr_format=2, consolidated=True)
    table = {"observed": str(tmp_path / "observed.zarr"), "storage": "boundaries"}
    case = scenario(steps=STEPS, gradient=table, **LINE)
    (tmp_path / "case.toml").write_text(dumps(case))
    out = str(tmp_path / "out")
    words = ("gradient", str(tmp_path / "case.toml"), "-o", out, "--workers", "1")
    assert main([*words, "--ranks", "2", "--set", "run.grid=[9, 1, 1]"]) == 2
    assert "9 x 1 x 1 parts are not 2" in capsys.readouterr().err
    assert main([*words, "--ranks", "2"]) == 0
    found = xr.open_zarr(tmp_path / "out" / "gradient.zarr", chunks=None)
    for name in ("vp", "vs", "rho"):
        np.testing.assert_array_equal(found[name], expected[name].astype(np.float32))


MPI = """
    from mpi4py import MPI
    import xarray as xr
    import craton
    from craton.scenario import load
    observed = xr.open_dataset("observed.nc").load()
    out = craton.gradient(load("case.toml"), observed, storage="{storage}", comm=MPI.COMM_WORLD)
    out.to_netcdf(f"gradient_{{MPI.COMM_WORLD.rank}}.nc")
    """


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'"
)
def test_processes_give_the_same_bits(tmp_path):
    """Each of them has the whole gradient."""
    case, observed, _ = plain()
    observed.to_netcdf(tmp_path / "observed.nc")
    (tmp_path / "case.toml").write_text(dumps(case))
    (tmp_path / "gradient.py").write_text(textwrap.dedent(MPI.format(storage="boundaries")))
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
