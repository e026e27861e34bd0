"""Gradients over ranks, for every medium, face and storage, wherever the model is cut: on grids every bit as on one rank, of elements
to rounding.
"""

import os
import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest
import xarray as xr
from common import needs_mpi, refused, tiers
from inversecase import CASES, elements, explosion, force, long, scenario, scenario_of

import craton
from craton.backends.cpu import cores
from craton.cli import main
from craton.comm import launcher
from craton.comm.local import Alone
from craton.errors import ComputationError, ScenarioError
from craton.methods.spectral_element.equations import absorbing_layer
from craton.scenario import dumps

# L2, relative, float64: forces of elements are added in another order; derivatives by position are differences of rows nearly alike
ROUNDING, OF_POSITION = 1e-13, 1e-11
MEMORY = 5e5  # bytes, of checkpoints: for some of them
STEPS = 18


def outcome(here, **options):
    """What all linearised operators of a problem make of random numbers, and the problem's experiment."""
    problem, rng = craton.Problem(here, **options), np.random.default_rng(4)
    m = problem.m0 * (1 + 0.02 * rng.uniform(-1, 1, problem.m0.shape))
    arrays = {"born": problem.born(problem.m0 * rng.uniform(-1, 1, m.shape), m)}
    (experiment,) = problem.experiments
    arrays["samples"] = experiment.samples
    out = experiment.adjoint(rng.standard_normal(experiment.samples.shape), True, True)
    arrays |= {"illumination": out["illumination"]} | {f"cells {n}": values for n, values in enumerate(out["cells"])}
    for kind in ("force", "moment"):
        for n, source in enumerate(out[kind]):
            arrays |= {f"{kind} {n} {key}": np.asarray(v) for key, v in source.items()}
    ranks = options.get("ranks", 1)
    assert ranks == 1 or (len(experiment.experiments) == ranks and f"{ranks}, each" in problem.plan)
    return arrays, experiment


def same(outcome, expected, exact):
    """Equal, or to rounding, and not all zeros."""
    assert outcome.keys() == expected.keys()
    for name, values in expected.items():
        scale = np.linalg.norm(np.nan_to_num(values))
        assert scale > 0 or name not in ("born", "samples", "cells 0", "cells 1") + ("illumination",) * exact, name
        bound = 0.0 if exact else OF_POSITION if name.endswith("position") else ROUNDING
        assert np.array_equal(np.isnan(outcome[name]), np.isnan(values)), name
        assert np.linalg.norm(np.nan_to_num(outcome[name] - values)) <= bound * scale, name


@pytest.mark.costly("the only gradients of grids over ranks")
@pytest.mark.parametrize(
    "name, storage, grid",
    [
        long("free surface and CPML", "boundaries-16", (1, 1, 2)),
        ("two shots", "boundaries-16", (2, 1, 1)),
        long("periodic", "boundaries", (3, 1, 1)),
        ("sea floor", "checkpoints", (2, 1, 1)),
        long("sea floor", "boundaries", (2, 1, 1)),
        long("space, sea floor", "boundaries-16", (1, 1, 2)),
        long("topography with attenuation", "increments", (1, 1, 3)),
        long("anisotropy, topography with a lake", "increments", (1, 1, 2)),
        long("attenuation in space", "increments", (1, 2, 1)),
        long("attenuation in sponges", "increments", (1, 1, 2)),
        ("cut cells in space", "boundaries", (1, 1, 2)),
        ("cut cells", "increments", (2, 1, 1)),
    ],
)
def test_every_storage_and_cut_of_grids(name, storage, grid):
    """Of two and three ranks; what nobody has sent is nan."""
    tables, ranks = CASES[name][1], int(np.prod(grid))
    more = {"boundaries": tables.get("boundaries", {}) | {"cpml": {"thickness": 3}}} if "space" in name else {}
    by_q = {"parameters": ("vs", "rho", "inverse_qp")} if "attenuation" in name else {}
    more, options = more | {"steps": STEPS}, {"storage": storage} | by_q
    of_one, of_each = ({"memory": MEMORY / n} if storage == "checkpoints" else {} for n in (1, ranks))
    expected, alone = outcome(scenario_of(name, **more), device="cpu", **options | of_one)
    divided = scenario_of(name, **more, run=tables.get("run", {}) | {"grid": list(grid)})
    shared, experiment = outcome(divided, device="hostile", ranks=ranks, **options | of_each)
    same(shared, expected, exact=True)
    assert experiment.storage.slots == alone.storage.slots
    assert storage != "checkpoints" or len(experiment.experiments[0].history.blocks) > 1


RANKS = 3
BELOW_SEA = {"origin": [0, 0, -240], "size": [160, 140, 240]}  # m: two layers of elements below the sea
OF_ELEMENTS = {
    name: (tables, options) for name, (make, tables, options) in CASES.items() if make is elements and tables
} | {
    "free faces": ({"boundaries": {"others": "free"}}, {}),
    "Stacey's faces, all steps saved": ({}, {"storage": "checkpoints"}),
    "Stacey's faces, some steps at a time": ({}, {"memory": 2e4}),
    "some steps saved, which run again": ({}, {"storage": "checkpoints", "memory": 1e5}),
    "every third step": ({}, {"every": 3}),
    "a rank without water": (CASES["sea"][1] | {"domain": BELOW_SEA, "run": {"partition": "bisection"}}, {}),
}
QUICK = ("sea", "a sea floor along a layer", "Stacey's faces, some steps at a time")
QUICK += ("some steps saved, which run again",)


@pytest.mark.costly("each storage of elements on ranks finds mutants of its own")
@pytest.mark.parametrize("name", tiers(OF_ELEMENTS, *QUICK))
def test_every_medium_and_storage_of_elements(name, monkeypatch):
    """What nobody has sent is nan."""
    tables, options = OF_ELEMENTS[name]
    if "across" in name:
        monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)
    expected, alone = outcome(elements(**tables), device="cpu", **options)
    if "memory" in options:
        options = options | {"memory": options["memory"] / 2}
    shared, experiment = outcome(elements(**tables), device="hostile", ranks=RANKS, **options)
    same(shared, expected, exact=False)
    points = [each.elements.d.subdomain.counts for each in experiment.experiments]
    deep = "without" in name or "floor along a layer" in name  # a rank lies below the water
    assert deep == (0 < sum(fluid == 0 for _, fluid in points) < RANKS)
    (segments,) = {len(each.history.blocks) for each in experiment.experiments}
    assert (segments > 1) == (len(alone.history.blocks) > 1) == ("some" in name)


# method: scenario, options of a gradient, bounds of its values beside those of one rank, relative L2
ON_GRID = {"steps": STEPS, "source": [force(0.6, 0.2), explosion(0.41, 0.43)]}
METHODS = {
    "fd": (scenario, ON_GRID, {"storage": "boundaries"}, 0.0),
    "sem": (elements, {}, {"storage": "auto"}, ROUNDING),
}


@cache
def plain(method):
    """A scenario, data of another medium, and the gradient on one rank."""
    make, tables, options, _ = METHODS[method]
    problem = craton.Problem(make(**tables))
    observed = problem.data(1.02 * problem.m0)
    return problem.scenario, observed, craton.gradient(problem.scenario, observed, **options)


def same_dataset(gradient, method):
    """The gradient is that of one rank."""
    expected, bound = plain(method)[2], METHODS[method][3]
    for name in (*expected.data_vars, *expected.coords):
        values = expected[name].values
        if bound and values.dtype.kind == "f":
            assert np.linalg.norm(gradient[name].values - values) <= bound * np.linalg.norm(values), name
        else:
            np.testing.assert_array_equal(gradient[name].values, values)
    assert gradient.attrs["misfit"] == pytest.approx(expected.attrs["misfit"], rel=bound and 1e-13, abs=0)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_diverges_ends_on_all_ranks_and_they_begin_anew(method, monkeypatch):
    here, observed, expected = plain(method)
    _, _, options, bound = METHODS[method]
    problem = craton.Problem(here, observed, ranks=2, **options)
    (experiment,) = problem.experiments
    rho, kappa, *others = experiment.linear.cells
    monkeypatch.setattr(type(experiment.linear), "_refuse_speeds", lambda *_: None, raising=False)  # of elements
    with pytest.raises(ComputationError, match="diverged"):
        experiment.run((rho, 1e30 * kappa, *others))
    same_dataset(craton.gradient(here, observed, ranks=2, **options), method)
    slope = problem.jac(problem.m0).reshape(problem.shape)[0].reshape(expected["vp"].shape)
    assert np.linalg.norm(slope - expected["vp"].values) <= bound * np.linalg.norm(expected["vp"].values)


def test_what_is_wrong_with_ranks_is_told():
    here = plain("fd")[0]
    for words, wrong, options in (
        (["ranks", "is no number of ranks"], here, {"ranks": 0}),
        ("give one of them", here, {"ranks": 2, "comm": Alone()}),
        (["10 ranks as 10 x 1 x 1 do not fit", "absorbing layer"], scenario(run={"grid": [10, 1, 1]}), {"ranks": 10}),
    ):
        refused(ScenarioError, words, craton.Problem, wrong, **options)


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_the_command_gives_each_shot_several_ranks(tmp_path, capsys):
    _, observed, expected = plain("fd")
    file, out, data = (tmp_path / name for name in ("case.toml", "out", "observed.zarr"))
    observed.to_zarr(data, zarr_format=2, consolidated=True)
    file.write_text(dumps(scenario(**ON_GRID, gradient={"observed": str(data), "storage": "boundaries"})))
    words = ["gradient", str(file), "-o", str(out), "--workers", "1", "--ranks", "2"]
    assert main([*words, "--set", "run.grid=[9, 1, 1]"]) == 2
    assert "9 x 1 x 1 parts are not 2" in capsys.readouterr().err
    assert main(["plan", str(file), "--ranks", "2"]) == 0
    assert "2, each a part of" in capsys.readouterr().out
    assert main(words) == 0
    gradient = xr.open_zarr(out / "gradient.zarr", chunks=None)
    for name in ("vp", "vs", "rho"):  # stored in single precision
        np.testing.assert_array_equal(gradient[name], expected[name].values.astype(np.float32))


MPI = """
    from mpi4py import MPI
    import xarray as xr
    import craton
    from craton.scenario import load
    for method, storage in (("fd", "boundaries"), ("sem", "auto")):
        observed = xr.open_dataset(f"observed_{method}.nc").load()
        out = craton.gradient(load(f"{method}.toml"), observed, storage=storage, comm=MPI.COMM_WORLD)
        out.to_netcdf(f"gradient_{method}_{MPI.COMM_WORLD.rank}.nc")
    """


@pytest.mark.long
@needs_mpi
def test_processes_have_the_same_gradient(tmp_path, monkeypatch):
    """Each of them the whole."""
    for method in METHODS:
        here, observed, _ = plain(method)
        observed.to_netcdf(tmp_path / f"observed_{method}.nc")
        (tmp_path / f"{method}.toml").write_text(dumps(here))
    (tmp_path / "gradient.py").write_text(textwrap.dedent(MPI))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    command = [launcher.mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py", "gradient.py"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=180)
    assert done.returncode == 0, done.stderr
    for method in METHODS:
        for rank in range(2):
            same_dataset(xr.open_dataset(tmp_path / f"gradient_{method}_{rank}.nc").load(), method)
