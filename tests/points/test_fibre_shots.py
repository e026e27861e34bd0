"""Fibres of many shots: stores of surveys, SEG-Y, and where they are refused."""

import numpy as np
import pytest
import xarray as xr

import craton
from craton.cli.app import main
from craton.errors import ScenarioError

SCENARIO = """
[domain]
origin = [0, -600]
size = [1200, 600]
spacing = 20
[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2200
[time]
duration = 0.3
start = -0.15
[[source]]
kind = "explosion"
AT
moment = 1e9
wavelet = { kind = "gaussian", tau = 0.03 }
[[receivers]]
name = "F"
das = { along = [[250, -100], [650, -100], [900, -300]], spacing = 40, gauge = 40 }
[output]
sampling = 0.004
"""
SHOTS = "shots = [[300, -40], [500, -40]]"
POINT = '[[receivers]]\nname = "R"\nat = [600, -40]\n[output]'


def written(folder, at, more="[output]"):
    path = folder / "s.toml"
    path.write_text(SCENARIO.replace("AT", at).replace("[output]", more))
    return str(path)


@pytest.mark.parametrize("more", ["[output]", POINT], ids=["fibres", "and receivers"])
def test_a_survey_keeps_what_the_fibres_of_each_shot_recorded(tmp_path, more):
    file, out = written(tmp_path, SHOTS, more), str(tmp_path / "out")
    assert main(["survey", file, "-o", out]) == 0
    store = xr.open_zarr(tmp_path / "out" / "result.zarr", group="fibres").load()
    assert store.strain_rate.dims == ("shot", "channel", "time")
    assert list(store.source_x.values) == [300, 500]
    for n, x in enumerate((300, 500)):
        alone = craton.run(craton.load(written(tmp_path, f"at = [{x}, -40]", more)), progress=False)
        assert np.array_equal(store.strain_rate[n], alone.fibres.strain_rate)
        assert np.array_equal(store.x, alone.fibres.x)
        if more == POINT:
            waves = xr.open_zarr(tmp_path / "out" / "result.zarr").velocity[n]
            assert np.array_equal(waves, alone.dataset.velocity)
    assert float(abs(store.strain_rate).max()) > 0


def test_a_survey_goes_on_where_it_was_left(tmp_path, capsys):
    """Shots that are there are not run again, and one whose chunks are gone is."""
    file, out = written(tmp_path, SHOTS), tmp_path / "out"
    assert main(["survey", file, "-o", str(out)]) == 0
    first = xr.open_zarr(out / "result.zarr", group="fibres").strain_rate.values
    capsys.readouterr()
    assert main(["survey", file, "-o", str(out)]) == 0
    assert "finished:" not in capsys.readouterr().out
    (chunk,) = (out / "result.zarr" / "fibres" / "strain_rate").glob("1.*")
    chunk.unlink()
    assert main(["survey", file, "-o", str(out)]) == 0
    again = xr.open_zarr(out / "result.zarr", group="fibres").strain_rate.values
    assert np.array_equal(first, again)
    assert main(["check", str(out)]) == 0


def test_scenarios_with_other_fibres_are_no_survey(tmp_path, capsys):
    files = []
    for n, gauge in enumerate((40, 80)):
        path = tmp_path / f"s{n}.toml"
        path.write_text(SCENARIO.replace("AT", "at = [300, -40]").replace("gauge = 40", f"gauge = {gauge}"))
        files.append(str(path))
    assert main(["survey", *files, "-o", str(tmp_path / "out")]) == 2
    assert "other receivers" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "survey"])
def test_fibres_become_segy(tmp_path, command):
    """A trace for each channel, with its place and that of its source."""
    segyio = pytest.importorskip("segyio")
    at = SHOTS if command == "survey" else "at = [300, -40]"
    out, count = tmp_path / "out", 2 if command == "survey" else 1
    assert main([command, written(tmp_path, at, POINT), "-o", str(out)]) == 0
    words = ["--quantity", "fibre_strain_rate"]
    assert main(["convert", str(out), str(tmp_path / "f.sgy"), *words]) == 0
    data = xr.open_zarr(out / "result.zarr", group="fibres").load()
    with segyio.open(tmp_path / "f.sgy", ignore_geometry=True) as file:
        traces, fields = file.trace.raw[:], segyio.TraceField
        assert np.array_equal(traces, data.strain_rate.values.reshape(traces.shape))
        assert np.allclose(file.attributes(fields.GroupX)[:] / 100, np.tile(data.x, count), atol=0.01)
        channels = data.sizes["channel"]
        assert list(file.attributes(fields.SourceX)[::channels] / 100) == [300, 500][:count]
    assert main(["convert", str(out), str(tmp_path / "v.sgy")]) == 0
    with segyio.open(tmp_path / "v.sgy", ignore_geometry=True) as file:
        assert file.tracecount == 2 * count  # of the receiver: velocity


def test_fibres_alone_need_no_quantity(tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["run", written(tmp_path, "at = [300, -40]"), "-o", out]) == 0
    assert main(["convert", out, str(tmp_path / "f.su")]) == 0
    assert main(["convert", out, str(tmp_path / "f.mseed")]) == 2
    assert "SEG-Y or SU" in capsys.readouterr().err


def test_one_run_of_many_shots_and_fibres_is_refused(tmp_path):
    scenario = craton.load(written(tmp_path, SHOTS))
    with pytest.raises(ScenarioError, match="use craton survey"):
        craton.plan(scenario)
    with pytest.raises(ScenarioError, match="fibres"):
        craton.Problem(scenario)
