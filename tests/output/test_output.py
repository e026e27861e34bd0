"""OUT, result.zarr and waveform files: layout, exact times, what survives a kill, what is refused."""

import contextlib
import json
import os
import shutil
import sys
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import smallcase
import xarray as xr
from common import refused
from filecase import DT, START, STEPS, pulse, recorded, stations, waveforms
from scipy.special import erf

import craton
from craton.driver import waves
from craton.errors import CratonError, ResourceError, ScenarioError
from craton.io import fdsn, seismograms
from craton.output import dataset, export
from craton.output.shots import check_survey_out
from craton.output.snapshots import SnapshotWriter
from craton.output.store import KINDS, Store, check_out, kind_of, read_run
from craton.report import plot
from craton.report.runs import Run, read_snapshots
from craton.scenario import loads
from craton.survey.channels import Channel


def pulse_integral(t, shift, width=0.12):
    return 0.5 * width * np.sqrt(np.pi) * (1 + erf((t - 1.5 - shift) / width))


def pulse_derivative(t, shift, width=0.12):
    return -2 * (t - 1.5 - shift) / width**2 * pulse(t, shift, width)


# dataset


@pytest.mark.parametrize("sampling", [None, 0.025])
def test_all_quantities_share_one_exact_time_axis(sampling):
    """At half steps velocity is untouched."""
    names = ("velocity", "displacement", "acceleration", "pressure", "strain", "rotation_rate")
    ds, (samples, used) = waveforms(names, sampling=sampling), recorded(names)
    columns = {(channel.receiver, channel.quantity, channel.component): c for c, channel in enumerate(used)}
    if sampling:
        np.testing.assert_allclose(ds.time, START + sampling * np.arange(ds.sizes["time"]), rtol=0, atol=1e-12)
        assert START + (STEPS - 0.5) * DT - sampling < float(ds.time[-1]) <= START + (STEPS - 0.5) * DT + 1e-12
    else:
        np.testing.assert_array_equal(ds.time, START + (np.arange(STEPS) + 0.5) * DT)
        for row, component in product((0, 1), "ENZ"):
            column = samples[:, columns[row, "velocity", component]]
            np.testing.assert_array_equal(ds.velocity.sel(component=component)[row], column)
    assert ds.velocity.dims == ("receiver", "component", "time")
    assert ds.strain.dims == ("receiver", "tensor", "time") and ds.pressure.dims == ("receiver", "time")
    for name, rate, place, function in [
        ("velocity", "velocity", {"component": "N"}, pulse),
        ("pressure", "pressure", {}, pulse),
        ("displacement", "velocity", {"component": "Z"}, pulse_integral),
        ("acceleration", "velocity", {"component": "E"}, pulse_derivative),
        ("strain", "strain_rate", {"tensor": "EZ"}, pulse_integral),
        ("rotation_rate", "rotation_rate", {"component": "E"}, pulse),
    ]:
        c = columns[1, rate, *(place.values() or "P")]
        expected = (c + 1) * function(ds.time.values, 0.05 * c)
        # Anti-alias filter ripple 1e-4; half a step of delay would be 4e-2.
        np.testing.assert_allclose(ds[name].isel(receiver=1).sel(place), expected, atol=3e-4 * np.abs(expected).max())


def test_decimation_removes_what_the_output_cannot_carry():
    t = START + (np.arange(2000) + 0.5) * DT
    samples = (np.sin(2 * np.pi * 30 * t) * pulse(t, 8, 3))[:, None]
    about = [Channel(0, "velocity", "E", True)], stations(1), dataset.TimeAxis(2000, DT, START, 0.05), ["velocity"]
    east, north, _ = dataset.waveforms(samples, *about).velocity.values[0]
    assert np.abs(east).max() < 1e-3  # 30 Hz would alias to 10 Hz at full amplitude
    assert np.isnan(north).all()  # no channel
    refused(ValueError, "no channel records pressure", dataset.waveforms, samples, *about[:-1], ["pressure"])


# OUT


def test_complete_run_opens_without_warning(box):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for consolidated in (None, True, False):
            ds = xr.open_zarr(box / "result.zarr", consolidated=consolidated)
            upper, section = (
                xr.open_zarr(box / "result.zarr", group=f"snapshots/{name}", consolidated=consolidated)
                for name in ("upper", "section")
            )
    assert ds.velocity.dtype == np.float32 and ds.time.dtype == np.float64 and ds.attrs["title"] == "Small case"
    assert list(ds.component.values) == ["E", "N", "Z"] and list(ds.x.values) == [2000, 1000, 1200, 1400]
    assert ds.velocity.attrs["units"] == "m/s" and ds.time.attrs["units"] == "s" and ds.z.attrs["positive"] == "up"
    assert section.velocity.dims == ("time", "component", "z", "x") and upper.pressure.dims == ("time", "y", "x")
    assert float(section.y) == 1500.0 and set(section.coords) == {"time", "component", "x", "y", "z"}


def test_run_stopped_early_keeps_only_the_frames_written(tmp_path):
    """Whoever looks while frames are written finds whole ones alone, all but those that wait."""
    axes = {"z": np.arange(3.0), "y": np.arange(2.0), "x": np.arange(4.0)}
    with contextlib.closing(SnapshotWriter(tmp_path / "out" / "result.zarr")) as writer:
        writer.add_series("s", {"divergence": ()}, axes, np.arange(50) * 0.1)
        for n in range(20):
            writer.put("s", 0.1 * n, {"divergence": np.full((3, 2, 4), n + 1.0)})
        values = read_snapshots(tmp_path / "out")["s"].divergence.values
        assert len(values) >= 20 - 4 and (values == np.arange(1.0, len(values) + 1)[:, None, None, None]).all()
    ds = xr.open_zarr(tmp_path / "out" / "result.zarr", group="snapshots/s")
    assert ds.divergence.dims == ("time", "z", "y", "x") and ds.sizes["time"] == 20 and float(ds.divergence.min()) == 1


def test_bad_frames_are_refused_at_once_and_an_error_of_the_thread_reaches_the_caller(tmp_path):
    path = tmp_path / "r.zarr"
    writer = SnapshotWriter(path, depth=1)
    writer.add_series("s", {"pressure": ()}, {"z": np.arange(3.0), "x": np.arange(4.0)}, np.arange(100.0))
    refused(ValueError, "no frame at 200 s", writer.put, "s", 200.0, {"pressure": np.zeros((3, 4))})
    refused(ValueError, "shapes", writer.put, "s", 0.0, {"pressure": np.zeros((4, 3))})
    writer._queue.put((lambda: (shutil.rmtree(path), path.write_text("in the way")), ()))
    with pytest.raises(ResourceError, match=r"could not write snapshots to .*r\.zarr"):
        for t in range(1, 100):
            writer.put("s", float(t), {"pressure": np.zeros((3, 4))})
        writer.close()
    writer.close()  # told once; must neither hang nor hide the first error
    assert not writer._thread.is_alive()


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_series_that_grow_are_whole_at_every_moment(step, tmp_path, monkeypatch):
    """A kill before any of the files is moved in, or before the metadata are gathered, leaves the old or the new waveforms, never nan."""
    from craton.output import store as module

    whole, replace, gather, remaining = waveforms(n=1), Path.replace, module.consolidate, []

    def until_killed(act, *arguments):
        if not (act is replace and ".partial" in arguments[0].name):  # zarr's own
            if not remaining:
                raise KeyboardInterrupt
            remaining.pop()
        return act(*arguments)

    for moves in range(0, 100, step):
        store = Store(tmp_path / f"out{moves}")
        store.write_waveforms(whole.isel(time=slice(0, STEPS // 3)), STEPS)
        remaining[:] = range(moves)
        with contextlib.suppress(KeyboardInterrupt), monkeypatch.context() as patch:
            patch.setattr(Path, "replace", lambda *paths: until_killed(replace, *paths))
            patch.setattr(module, "consolidate", lambda *paths: until_killed(gather, *paths))
            store.write_waveforms(whole.isel(time=slice(0, STEPS // 2)), STEPS)
        written = xr.open_zarr(store.zarr).load()
        assert written.sizes["time"] in (STEPS // 3, STEPS // 2)
        xr.testing.assert_equal(written, whole.isel(time=slice(0, written.sizes["time"])))
        if written.sizes["time"] == STEPS // 2:
            break
    assert 8 < moves < 100


def test_finished_run_is_not_overwritten(tmp_path):
    store = Store(tmp_path / "out")
    store.write_waveforms(waveforms())
    store.finish(peak=np.float32(2.0), reason=float("nan"))
    state = read_run(store.path)
    assert state["state"] == "finished" and state["peak"] == 2.0 and state["reason"] == "nan"
    (store.path / "notes.txt").write_text("mine")
    refused(ScenarioError, ["holds a finished run", "--force"], Store, store.path)
    assert (store.zarr / "velocity").exists()
    again = Store(store.path, force=True)
    assert not again.zarr.exists() and read_run(store.path)["state"] == "running"
    assert (store.path / "notes.txt").read_text() == "mine"
    again.finish("failed", reason="unstable")
    Store(store.path)  # a failed run may be replaced


FOLDERS = {"run": [], "survey": ["shots"], "gradient": ["shots", "result.zarr/misfit"]}
FOLDERS["greens"] = ["shots", "result.zarr/values"]


@pytest.mark.parametrize("how", ["new", "old", "damaged"])
def test_only_what_is_of_its_kind_is_replaced(tmp_path, how):
    """By force, and where it did not finish; an old or damaged OUT tells its kind by what lies there."""
    for there in KINDS:
        out = tmp_path / there
        store = Store(out, kind=there)
        for folder in FOLDERS[there]:
            (out / folder).mkdir(parents=True)
        (out / "scenario.toml").write_text("mine")
        store.finish(**({} if there == "run" else {"survey": "abc"}))
        state = {key: value for key, value in read_run(out).items() if how == "new" or key != "kind"}
        (out / "run.json").write_text("{" if how == "damaged" else json.dumps(state))
        assert kind_of(out) == there
        for kind in set(KINDS) - {there}:
            words = f"holds {KINDS[there]}, which"
            refused(ScenarioError, words, Store, out, force=True, kind=kind)
            refused(ScenarioError, words, check_survey_out, out, SimpleNamespace(kind=kind, digest="xyz"), force=True)
            assert (out / "scenario.toml").read_text() == "mine"
        if how != "damaged":
            (out / "run.json").write_text(json.dumps(read_run(out) | {"state": "interrupted"}))
            refused(ScenarioError, "does not replace", Store, out, kind="survey" if there != "survey" else "run")
            Store(out, force=True, kind=there).finish()
            assert not (out / "scenario.toml").exists()


@pytest.mark.parametrize("name", ["map.png", "shots", "result.zarr", "run.json"])
def test_what_others_made_is_never_replaced(tmp_path, name):
    """Files of names as a run has them; also a run.json that is not of craton."""
    (tmp_path / name).mkdir() if name == "shots" else (tmp_path / name).write_text("{}")
    for force in (False, True):
        refused(ScenarioError, f"holds {name}, and no run.json that says", Store, tmp_path, force)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    (tmp_path / name).rename(tmp_path / "thesis.tex")
    Store(tmp_path, force=True).finish()
    assert (tmp_path / "thesis.tex").exists()


def test_out_that_cannot_be_written_or_drawn_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "out", Path("/proc/no/out")):
        refused(ResourceError, "could not write to", Store, place)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root, who may write anywhere
    refused(ResourceError, "not writable", check_out, tmp_path / "new")
    refused(CratonError, "neither waveforms nor snapshots", plot, Run(tmp_path), "overview")


def test_samples_finer_than_the_chosen_steps_are_refused_and_others_have_their_bytes():
    step = craton.plan(loads(smallcase.TEXT)).dt
    for sampling in (step / 10, 0.99 * step):
        words = "output.sampling: ", "is shorter than the time step"
        refused(ScenarioError, words, craton.plan, loads(smallcase.TEXT, [f"output.sampling={sampling}"]))
    quantities = ["velocity", "displacement", "acceleration"]
    scenario = loads(smallcase.TEXT, ["output.sampling=0.03", f"output.waveforms={quantities}", "snapshots=[]"])
    dataset = craton.run(scenario, progress=False, warn=False).dataset
    assert waves.written_bytes(scenario, craton.plan(scenario)) == sum(dataset[name].nbytes for name in quantities)


# waveforms for ObsPy


def test_codes_and_channels_of_mseed_and_stationxml(tmp_path, monkeypatch):
    """Of waveforms in a box that lies nowhere; samples, times and places are those of test_round_trip.py."""
    obspy = pytest.importorskip("obspy")
    dataset = waveforms(("velocity", "displacement", "pressure", "strain"), dtype="float32")
    assert [p.name for p in export(dataset, tmp_path, "XX")] == ["waveforms.mseed", "stations.xml"]
    stream = obspy.read(str(tmp_path / "waveforms.mseed"))
    inventory = obspy.read_inventory(str(tmp_path / "stations.xml"))
    ids = set(inventory.get_contents()["channels"])
    assert ids == {t.id for t in stream} and len(ids) == len(stream) == 2 * (3 + 3 + 1 + 6)
    assert {"XX.R1..HDH", "XX.R1.DI.HXZ", "XX.R1.EZ.HSE"} <= ids and stream[0].data.dtype == np.float32
    up = inventory.select(station="R2", channel="HXZ", location="")[0][0][0]
    assert (up.azimuth, up.dip, up.response.instrument_sensitivity.input_units) == (0.0, -90.0, "M/S")
    assert abs(obspy.geodetics.gps2dist_azimuth(0, 0, 0, up.longitude)[0] - 1500) < 5  # WGS84 against the sphere
    ids = {trace.id for trace in seismograms.stream(waveforms(n=1, sampling=0.025), "AB")}
    assert ids == {"AB.R1..BXE", "AB.R1..BXN", "AB.R1..BXZ"}
    monkeypatch.setitem(sys.modules, "obspy", None)
    refused(ResourceError, "ObsPy", seismograms.stream, waveforms())


def test_codes_of_bands_and_stations():
    assert [fdsn.band_code(interval) for interval in (5e-4, 0.004, 0.008, 0.0125, 0.1, 0.5, 1, 5)] == list("FCHHBMLV")
    assert fdsn.station_codes(["r1", "A-2"]) == ["R1", "A2"]
    codes = fdsn.station_codes([f"profile {i}" for i in range(2000)])
    assert len(set(codes)) == 2000 and max(map(len, codes)) == 5 and codes[0] == "P0001"
    assert len(set(fdsn.station_codes(["a", "A", "ä"]))) == 3
