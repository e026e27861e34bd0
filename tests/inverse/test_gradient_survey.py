"""craton gradient: all shots, their sum, resume, and what is told before anything runs."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
import xarray as xr
from common import difference, refused
from inversecase import SHOTS, scenario, with_data

import craton
from craton.cli import main
from craton.errors import ResourceError, ScenarioError
from craton.inverse import survey
from craton.output.store import read_run
from craton.scenario import dumps
from craton.shots import runs


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Observed data of another model, in zarr."""
    path = tmp_path_factory.mktemp("observed") / "observed.zarr"
    problem = craton.Problem(scenario(source=SHOTS))
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
        for _ in range(2):
            craton.run_gradient(with_data(observed), out, workers=1, progress=False)
    assert ran == ["a", "b", "b", "c"]
    return out


@pytest.mark.costly("the only gradient of a survey from the command line")
def test_the_sum_over_all_shots(out, observed):
    total, shots = (xr.open_zarr(out / name, chunks=None) for name in ("gradient.zarr", "result.zarr"))
    data = xr.open_zarr(observed, chunks=None).load()
    whole = craton.gradient(scenario(source=SHOTS), data, parameters=("vp", "rho"))
    for name in ("vp", "rho", "illumination"):
        assert difference(total[name], whole[name]) < 1e-6
        assert total[name].attrs == whole[name].attrs
    assert total.attrs["misfit"] == pytest.approx(whole.attrs["misfit"], rel=1e-9)
    assert list(total.shot.values) == ["a", "b", "c"] and (total.misfit > 0).all()
    assert shots.vp.dims == ("shot", "z", "x") and bool((shots.vp.std(("x", "z")) > 0).all())


def test_the_command(out, observed, tmp_path, capsys):
    file = tmp_path / "survey.toml"
    file.write_text(dumps(with_data(observed)))
    gradient, planned = ["gradient", str(file), "-o", str(out)], ["plan", str(file)]
    by_storage = ("on the machine", "in the host's memory", "cost by traffic", "is held")
    increments = ("3, each forward and back", "increments of all steps take", "every 1: increments of all steps fit")
    for words, code, expected in (
        ([*gradient, "--workers", "1"], 0, ["done: misfit"]),
        (["check", str(out)], 0, []),
        (["survey", "status", str(out)], 0, []),
        ([*gradient, "--set", "gradient.every=2"], 2, ["holds a survey of another scenario"]),
        (planned, 0, increments),
        ([*planned, "--set", "gradient.storage=boundaries-16"], 0, by_storage),
    ):
        assert main(words) == code
        printed = "".join(capsys.readouterr())
        assert all(text in printed for text in expected), printed
    # two wavefields of five fields, the medium, five sums and illumination, remembered stresses
    assert float(re.search(r"bytes per grid point \(([\d.]+) float64\)", printed)[1]) > 19
    for storage in ("boundaries", "boundaries-16", "checkpoints"):
        assert survey.prepare(with_data(observed, storage=storage)).problem.experiments[0].storage.kind != "increments"


def test_a_plan_needs_no_data(tmp_path, capsys):
    """Memory, storage and cost follow from shapes; the gradient itself needs data."""
    table = {"observed": str(tmp_path / "none.zarr"), "parameters": ["vp", "rho"]}
    asked = scenario(source=SHOTS[:1], gradient=table)
    plan = str(craton.plan(asked))
    expected = craton.Problem(asked, parameters=("vp", "rho")).plan
    for label in ("storage", "on the machine", "memory of programs", "memory of the host"):
        (row,) = (line for line in expected.splitlines() if line.startswith(f"{label}  "))
        assert row.removeprefix(label).strip() in plan
    assert "none.zarr, which is not there yet" in plan and "forward runs for misfit and gradient" in plan
    file = tmp_path / "survey.toml"
    file.write_text(dumps(asked))
    assert main(["gradient", str(file), "-o", str(tmp_path / "out")]) == 2
    assert "there is no" in capsys.readouterr().err and not (tmp_path / "out").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import craton, zarr
from craton.inverse import experiment
from craton.shots import runs

# what is called; the arguments or the number of the call that kills: transposed steps, in writing, between shots, in summing
for owner, name, kills in (
    (experiment, "march", lambda number, *arguments: number == 2),
    (zarr.Group, "__getitem__", lambda number, group, key: key == "rho"),
    (runs, "run_shot", lambda number, task: number == 2),
    (Path, "rename", lambda number, path, to: path.name == ".gradient.zarr"),
):
    pid = os.fork()
    if not pid:
        whole, calls = getattr(owner, name), []
        def killed(*arguments, **options):
            calls.append(arguments)
            kills(len(calls), *arguments) and os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments, **options)
        setattr(owner, name, killed)
        craton.run_gradient(*sys.argv[1:], workers=1, progress=False)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.mark.long
def test_killed_outright_and_resumed(out, observed, tmp_path, monkeypatch):
    """SIGKILL in transposed steps, in writing, between shots, in summing: the same bits at the end."""
    file, killed = tmp_path / "survey.toml", tmp_path / "killed"
    file.write_text(dumps(with_data(observed)))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(file), str(killed)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * 4, done.stdout + done.stderr
    assert not (killed / "gradient.zarr").exists() and read_run(killed)["state"] == "running"
    monkeypatch.setattr(runs, "run_shot", None)  # all shots are there: only the sum is missing
    craton.run_gradient(file, killed, workers=1, progress=False)
    assert main(["check", str(killed)]) == 0
    for name in ("result.zarr", "gradient.zarr"):
        ours, whole = (xr.open_zarr(folder / name, chunks=None) for folder in (killed, out))
        xr.testing.assert_identical(ours.drop_attrs(), whole.drop_attrs())


def test_damaged_gradients_are_found(out, observed, tmp_path, capsys):
    """A bit that flips in a shot's file or in the sum; the shot is computed again, the sum made anew."""
    copy, before = shutil.copytree(out, tmp_path / "out"), xr.open_zarr(out / "gradient.zarr", chunks=None)
    for path in (copy / "result.zarr/rho/1.0.0", copy / "gradient.zarr/vp/0.0"):
        contents = bytearray(path.read_bytes())
        contents[len(contents) // 2] ^= 16
        path.write_bytes(contents)
    assert main(["check", str(copy)]) == 3
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("2 parts are damaged", "rho/1.0.0", "vp/0.0")), printed
    again = functools.partial(craton.run_gradient, with_data(observed), copy, workers=1, progress=False)
    with pytest.raises(ResourceError, match=r'remove vp/1\.\*, .* shot "b" is computed again'):
        again()
    for file in copy.glob("result.zarr/*/1.*"):
        file.unlink()
    xr.testing.assert_identical(again().drop_attrs(), before.drop_attrs())  # a history of its own
    assert main(["check", str(copy)]) == 0


def test_bad_data_and_tables_are_told_before_anything_is_written(observed, tmp_path):
    path, data = tmp_path / "changed.zarr", xr.open_zarr(observed, chunks=None).load()
    for changed, words in (
        (data.isel(shot=[0, 2]), 'no shot "b"'),
        (data.isel(shot=0, drop=True), "no dimension shot"),
        (data.where(data.velocity != data.velocity[1].max()), 'shot "b": 1 samples are not finite'),
    ):
        changed.to_zarr(path, mode="w", zarr_format=2)
        refused(ScenarioError, words, survey.prepare, with_data(path))
    for table, words in (
        ({"observed": str(tmp_path / "none.zarr")}, "there is no"),
        ({"parameters": ["vp", "mu"]}, "one set"),
        ({"misfit": "l1"}, "misfit"),
        ({"every": 0}, "every"),
        ({"storage": "disk"}, "storage"),
    ):
        with pytest.raises(ScenarioError, match=words):
            survey.prepare(with_data(tmp_path, **table))
    refused(ScenarioError, "add [gradient]", survey.prepare, scenario(source=SHOTS))
