"""OUT, result.zarr, waveform files and pictures: layout, exact times, what survives a kill, what is refused."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import smallcase
import xarray as xr

import craton
from craton import report
from craton.driver import waves
from craton.errors import CratonError, ResourceError, ScenarioError
from craton.io import fdsn, miniseed
from craton.output import dataset as ds_module
from craton.output import export
from craton.output.shots import check_survey_out
from craton.output.snapshots import SnapshotWriter
from craton.output.store import KINDS, Store, check_out, check_space, kind_of, read_run
from craton.report import figures, style
from craton.survey.channels import Channel, channels
from craton.survey.receivers import Receivers

DT, START, STEPS = 0.01, -0.3, 400
SCENARIO = """
title = "Two layers"
[domain]
origin = [0, 0, -4000]
size = [8000, 2000, 4000]
spacing = 100
[model]
kind = "layers"
layers = [ { top = 0, vp = 4200, vs = 2422, rho = 2300 }, { top = -1400, vp = 6000, vs = 3460, rho = 2700 } ]
[time]
duration = 3.0
[[source]]
kind = "explosion"
moment = 1e15
at = [4000, 1000, -2000]
wavelet = { kind = "ricker", frequency = 2 }
[[receivers]]
name = "R1"
at = [6000, 1000, 0]
[output]
waveforms = ["velocity"]
"""


def stations(n=2):
    return Receivers([f"R{i + 1}" for i in range(n)], np.array([[1000.0 + 500 * i, 2000.0, 0.0] for i in range(n)]))


def pulse(t, shift=0.0, width=0.12):
    return np.exp(-(((t - 1.5 - shift) / width) ** 2))


def pulse_integral(t, shift=0.0, width=0.12):
    from scipy.special import erf

    return 0.5 * width * np.sqrt(np.pi) * (1 + erf((t - 1.5 - shift) / width))


def pulse_derivative(t, shift=0.0, width=0.12):
    return -2 * (t - 1.5 - shift) / width**2 * pulse(t, shift, width)


def recorded(quantities, n=2, steps=STEPS):
    """Channels and samples of pulses taken at the times that the channels state, each with its own amplitude and delay."""
    used = channels(n, quantities)
    step = np.arange(steps)
    columns = [(c + 1) * pulse(START + (step + (0.5 if ch.half else 1.0)) * DT, 0.05 * c) for c, ch in enumerate(used)]
    return np.stack(columns, axis=1), used


def build(quantities=("velocity",), n=2, sampling=None, dtype="float64", **attributes):
    samples, used = recorded(quantities, n)
    return ds_module.waveforms(samples.astype(dtype), used, stations(n), DT, START, quantities, sampling, attributes)


def value(quantity, receiver, component, quantities, times, function=pulse, n=2):
    """What `recorded` stands for at other times."""
    rate = {"displacement": "velocity", "acceleration": "velocity", "strain": "strain_rate"}.get(quantity, quantity)
    c = next(
        i
        for i, ch in enumerate(channels(n, quantities))
        if (ch.receiver, ch.quantity, ch.component) == (receiver, rate, component)
    )
    return (c + 1) * function(times, 0.05 * c)


# dataset


def test_velocity_is_untouched_and_lives_at_half_steps():
    ds = build()
    samples, used = recorded(["velocity"])
    assert ds.velocity.dims == ("receiver", "component", "time")
    np.testing.assert_array_equal(ds.time, START + (np.arange(STEPS) + 0.5) * DT)
    for column, channel in enumerate(used):
        trace = ds.velocity.sel(receiver=f"R{channel.receiver + 1}", component=channel.component)
        np.testing.assert_array_equal(trace, samples[:, column])
    assert list(ds.component.values) == ["E", "N", "Z"]
    assert ds.velocity.attrs["units"] == "m/s" and ds.time.attrs["units"] == "s" and ds.z.attrs["positive"] == "up"
    np.testing.assert_array_equal(ds.x, [1000, 1500])


@pytest.mark.parametrize("sampling", [None, 0.025])
def test_all_quantities_share_one_exact_time_axis(sampling):
    names = ("velocity", "displacement", "acceleration", "pressure", "strain", "rotation_rate")
    ds = build(names, sampling=sampling)
    if sampling:
        np.testing.assert_allclose(ds.time, START + sampling * np.arange(ds.sizes["time"]), rtol=0, atol=1e-12)
        assert START + (STEPS - 0.5) * DT - sampling < float(ds.time[-1]) <= START + (STEPS - 0.5) * DT + 1e-12
    assert ds.strain.dims == ("receiver", "tensor", "time") and ds.pressure.dims == ("receiver", "time")
    for name, component, function in [
        ("velocity", "N", pulse),
        ("pressure", "P", pulse),
        ("displacement", "Z", pulse_integral),
        ("acceleration", "E", pulse_derivative),
        ("strain", "EZ", pulse_integral),
        ("rotation_rate", "E", pulse),
    ]:
        dim = {"strain": {"tensor": component}, "pressure": {}}.get(name, {"component": component})
        expected = value(name, 1, component, names, ds.time.values, function)
        # Anti-alias filter ripple 1e-4; half a step of delay would be 4e-2.
        np.testing.assert_allclose(ds[name].isel(receiver=1).sel(dim), expected, atol=3e-4 * np.abs(expected).max())


def test_decimation_removes_what_the_output_cannot_carry():
    step = np.arange(2000)
    t = START + (step + 0.5) * DT
    samples = (np.sin(2 * np.pi * 30 * t) * pulse(t, 8, 3))[:, None]
    ds = ds_module.waveforms(
        samples, [Channel(0, "velocity", "E", True)], stations(1), DT, START, ["velocity"], sampling=0.05
    )
    assert float(np.abs(ds.velocity.sel(component="E")).max()) < 1e-3  # 30 Hz would alias to 10 Hz at full amplitude
    assert np.isnan(ds.velocity.sel(component="N")).all()  # no channel


def test_missing_channel_is_an_error():
    samples, used = recorded(["velocity"])
    with pytest.raises(ValueError, match="no channel records pressure"):
        ds_module.waveforms(samples, used, stations(), DT, START, ["pressure"])


# OUT


def test_complete_run_opens_without_warning(tmp_path):
    store = Store(tmp_path / "a" / "out")
    store.write_scenario(SCENARIO)
    z, x = np.arange(-400.0, 1, 100), np.arange(0.0, 701, 100)
    with store.snapshots() as writer:
        writer.add_series(
            "section", {"velocity": ("E", "N", "Z"), "pressure": ("P",)}, {"z": z, "y": 500.0, "x": x}, [0.0, 0.5, 1.0]
        )
        for i in range(3):
            writer.put("section", 0.5 * i, {"velocity": np.full((3, 5, 8), i + 1.0), "pressure": np.full((5, 8), -i)})
    store.write_waveforms(build(n=1))
    store.write_waveforms(
        build(("velocity", "pressure"), dtype="float32", title="second", scenario=SCENARIO)
    )  # replaces the first
    store.finish(peak=np.float32(2.0), reason=float("nan"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for consolidated in (None, True, False):
            ds = xr.open_zarr(store.zarr, consolidated=consolidated)
            section = xr.open_zarr(store.zarr, group="snapshots/section", consolidated=consolidated)
    assert ds.velocity.dtype == np.float32 and ds.sizes == {"receiver": 2, "component": 3, "time": STEPS}
    assert list(ds.receiver.values) == ["R1", "R2"] and ds.time.dtype == np.float64 and ds.attrs["title"] == "second"
    xr.testing.assert_identical(ds.load(), build(("velocity", "pressure"), dtype="float32").assign_attrs(ds.attrs))
    assert section.velocity.dims == ("time", "component", "z", "x") and section.pressure.dims == ("time", "z", "x")
    assert float(section.y) == 500.0 and set(section.coords) == {"time", "component", "x", "y", "z"}
    np.testing.assert_array_equal(section.velocity[:, 1, 2, 3], [1, 2, 3])
    state = json.loads((store.path / "run.json").read_text())
    assert state["state"] == "finished" and state["peak"] == 2.0 and state["reason"] == "nan"
    assert sorted(p.name for p in store.path.iterdir()) == ["result.zarr", "run.json", "scenario.toml"]


def test_run_stopped_early_keeps_only_the_frames_written(tmp_path):
    with SnapshotWriter(tmp_path / "r.zarr") as writer:
        writer.add_series(
            "s",
            {"divergence": ()},
            {"z": np.arange(3.0), "y": np.arange(2.0), "x": np.arange(4.0)},
            np.arange(10) * 0.1,
        )
        writer.put("s", 0.0, {"divergence": np.ones((3, 2, 4))})
        writer.put("s", 0.1, {"divergence": np.ones((3, 2, 4))})
    ds = xr.open_zarr(tmp_path / "r.zarr", group="snapshots/s")
    assert ds.divergence.dims == ("time", "z", "y", "x") and ds.sizes["time"] == 2 and float(ds.divergence.min()) == 1


WRITER = """
import sys, time
import numpy as np
from craton.output.store import Store
store = Store(sys.argv[1])
writer = store.snapshots()
writer.add_series("s", {"velocity": ("E", "N", "Z")}, {"z": np.arange(24.), "y": 0.0, "x": np.arange(32.)}, np.arange(100000) * 0.1)
for i in range(100000):
    writer.put("s", i * 0.1, {"velocity": np.full((3, 24, 32), i + 1.0)})
    print(i, flush=True)
"""


def test_readable_after_sigkill(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(out)], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line) >= 40:
            process.send_signal(signal.SIGKILL)
            break
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = report.pictures.read_snapshots(out)["s"]
    assert ds.sizes["time"] >= 40 - 4  # all but those that waited
    written = ds.velocity.values
    whole = np.array([np.unique(frame).size == 1 and frame.flat[0] == i + 1 for i, frame in enumerate(written)])
    assert whole.all()
    assert read_run(out)["state"] == "running"
    Store(out)  # the process is gone: its OUT is free again
    assert not (out / "result.zarr").exists()


def test_error_of_the_thread_reaches_the_caller(tmp_path):
    path = tmp_path / "r.zarr"
    writer = SnapshotWriter(path, depth=1)
    writer.add_series("s", {"pressure": ()}, {"z": np.arange(3.0), "x": np.arange(4.0)}, np.arange(100.0))
    writer.put("s", 0.0, {"pressure": np.zeros((3, 4))})
    writer._queue.put((lambda: (shutil.rmtree(path), path.write_text("in the way")), ()))
    with pytest.raises(ResourceError, match=r"could not write snapshots to .*r\.zarr"):
        for t in range(1, 100):
            writer.put("s", float(t), {"pressure": np.zeros((3, 4))})
        writer.close()
    writer.close()  # told once; must neither hang nor hide the first error
    assert not writer._thread.is_alive()


class Killed(BaseException):
    """Ends the program, as far as these tests go."""


def test_series_that_grow_are_whole_at_every_moment(tmp_path, monkeypatch):
    """A kill before any of the files is moved in, or before the metadata are gathered, leaves the old or the new waveforms, never nan."""
    from craton.output import store as module

    whole, replace, gather, left = build(n=1), Path.replace, module.consolidate, []

    def counted(act):
        def until_killed(*arguments):
            if act is replace and ".partial" in arguments[0].name:
                return act(*arguments)  # zarr's own
            if not left:
                raise Killed
            left.pop()
            return act(*arguments)

        return until_killed

    for moves in range(100):
        store = Store(tmp_path / f"out{moves}")
        store.write_waveforms(whole.isel(time=slice(0, STEPS // 3)), STEPS)
        left[:] = range(moves)
        monkeypatch.setattr(Path, "replace", counted(replace))
        monkeypatch.setattr(module, "consolidate", counted(gather))
        with contextlib.suppress(Killed):
            store.write_waveforms(whole.isel(time=slice(0, STEPS // 2)), STEPS)
        monkeypatch.undo()
        found = xr.open_zarr(store.zarr).load()
        assert found.sizes["time"] in (STEPS // 3, STEPS // 2)
        xr.testing.assert_equal(found, whole.isel(time=slice(0, found.sizes["time"])))
        if found.sizes["time"] == STEPS // 2:
            break
    assert 8 < moves < 100


def test_bad_frames_are_refused_at_once(tmp_path):
    with SnapshotWriter(tmp_path / "r.zarr") as writer:
        writer.add_series("s", {"pressure": ()}, {"z": np.arange(3.0), "x": np.arange(4.0)}, [0.0, 1.0])
        with pytest.raises(ValueError, match="no frame at 7 s"):
            writer.put("s", 7.0, {"pressure": np.zeros((3, 4))})
        with pytest.raises(ValueError, match="shapes"):
            writer.put("s", 1.0, {"pressure": np.zeros((4, 3))})


def test_finished_run_is_not_overwritten(tmp_path):
    store = Store(tmp_path / "out")
    store.write_waveforms(build())
    store.finish()
    (store.path / "notes.txt").write_text("mine")
    for attempt in (check_out, Store):
        with pytest.raises(ScenarioError, match="holds a finished run") as refused:
            attempt(store.path)
        assert refused.value.exit_code == 2 and "--force" in str(refused.value)
    assert (store.zarr / "velocity").exists()
    again = Store(store.path, force=True)
    assert not again.zarr.exists() and read_run(store.path)["state"] == "running"
    assert (store.path / "notes.txt").read_text() == "mine"
    again.finish("failed", reason="unstable")
    Store(store.path)  # a failed run may be replaced


def of_kind(path, kind, how):
    """A finished OUT of a kind; an old or damaged one tells it by what lies there."""
    store = Store(path, kind=kind)
    known = {"values": "greens", "misfit": "gradient"}
    for name in (name for name, its in known.items() if its == kind):
        (store.zarr / name).mkdir(parents=True)
    (path / "scenario.toml").write_text("mine")
    store.finish(**({} if kind == "run" else {"survey": "abc"}))
    if kind != "run":
        (path / "shots").mkdir()
    state = {k: v for k, v in read_run(path).items() if k != "kind"}
    if how != "new":
        (path / "run.json").write_text(json.dumps(state) if how == "old" else "{")
    return path


@pytest.mark.parametrize("how", ["new", "old", "damaged"])
@pytest.mark.parametrize("there", KINDS)
def test_only_what_is_of_its_kind_is_replaced(tmp_path, there, how):
    """By force, and where it did not finish; whatever the other one is."""
    out = of_kind(tmp_path / "out", there, how)
    assert kind_of(out) == there
    for kind in KINDS:
        survey = SimpleNamespace(kind=kind, digest="xyz")
        for attempt in (
            lambda kind=kind: Store(out, force=True, kind=kind),
            lambda survey=survey: check_survey_out(out, survey, force=True),
        ):
            if kind != there:
                with pytest.raises(ScenarioError, match=f"holds {KINDS[there]}, which"):
                    attempt()
                assert (out / "scenario.toml").read_text() == "mine"
    if how == "damaged":
        return
    state = read_run(out) | {"state": "interrupted"}
    (out / "run.json").write_text(json.dumps(state))
    with pytest.raises(ScenarioError, match="does not replace"):
        Store(out, kind="survey" if there != "survey" else "run")
    Store(out, force=True, kind=there).finish()
    assert not (out / "scenario.toml").exists()


@pytest.mark.parametrize("name", ["map.png", "shots", "result.zarr", "run.json"])
def test_what_others_made_is_never_replaced(tmp_path, name):
    """Files of names as a run has them; also a run.json that is not of craton."""
    (tmp_path / name).mkdir() if name == "shots" else (tmp_path / name).write_text("{}")
    for force in (False, True):
        with pytest.raises(ScenarioError, match=f"holds {name}, and no run.json that says"):
            Store(tmp_path, force)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    (tmp_path / name).rename(tmp_path / "thesis.tex")
    Store(tmp_path, force=True).finish()
    assert (tmp_path / "thesis.tex").exists()


def test_foreign_and_running_out_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ScenarioError, match="not from craton"):
        Store(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(json.dumps({"state": "running", "pid": os.getppid(), "host": socket.gethostname()}))
    with pytest.raises(ScenarioError, match="being written by process"):
        check_out(out)


@pytest.mark.parametrize("make", [lambda p: p / "file", lambda p: p / "file" / "out", lambda p: Path("/proc/no/out")])
def test_unwritable_out(tmp_path, make):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ResourceError, match="cannot write to") as refused:
        Store(make(tmp_path))
    assert refused.value.exit_code == 3
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_read_only_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root, who may write anywhere
    with pytest.raises(ResourceError, match="not writable"):
        check_out(tmp_path / "out")


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_samples_finer_than_the_steps_are_refused(method):
    """Where the step is chosen by the plan as well: nothing lies between steps."""
    scenario = smallcase.pictured()
    tables = {name: getattr(scenario, name) for name in scenario.model_fields_set}
    if method == "sem":
        box = {"origin": [0, 0, -900], "size": [900, 900, 900], "element_size": 300}
        at = [{"name": "R", "at": [450, 450, 0]}]
        force = {"kind": "force", "at": [300, 300, -300], "force": [0, 0, 1e9]}
        force["wavelet"] = {"kind": "gaussian", "tau": 0.1}
        tables = {"method": "sem", "domain": box, "source": [force], "receivers": at}
        tables["model"] = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
    tables |= {"time": {"duration": 1.0}, "output": {}, "snapshots": []}
    step = craton.plan(craton.Scenario(**tables)).dt
    for sampling in (step / 10, 0.99 * step):
        with pytest.raises(ScenarioError, match="is shorter than the time step") as refused:
            craton.plan(craton.Scenario(**tables | {"output": {"sampling": sampling}}))
        assert refused.value.problems[0].key == "output.sampling"
    coarse = {"sampling": 2 * step, "waveforms": ["velocity", "displacement", "acceleration"]}
    scenario = craton.Scenario(**tables | {"output": coarse})
    planned = craton.plan(scenario)
    dataset = craton.run(scenario, progress=False, warn=False).dataset
    written = sum(dataset[name].nbytes for name in coarse["waveforms"])
    assert waves.written_bytes(scenario, planned) == written


def test_disk_space(tmp_path):
    check_space(tmp_path / "out", 1)
    with pytest.raises(ResourceError, match="GiB are free"):
        check_space(tmp_path / "out", 1 << 60)


def test_output_imports_nothing_heavy():
    code = (
        "import sys, craton.output.store, craton.report;"
        "print([m for m in ('xarray', 'zarr', 'obspy', 'matplotlib', 'scipy') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


# waveforms for ObsPy


def test_mseed_and_stationxml_read_back(tmp_path):
    obspy = pytest.importorskip("obspy")
    names = ("velocity", "displacement", "pressure", "strain")
    ds = build(names, dtype="float32")
    assert [p.name for p in export(ds, tmp_path, "XX")] == ["waveforms.mseed", "stations.xml"]
    stream = obspy.read(str(tmp_path / "waveforms.mseed"))
    assert len(stream) == 2 * (3 + 3 + 1 + 6)
    trace = stream.select(id="XX.R2..HXN")[0]
    np.testing.assert_array_equal(trace.data, ds.velocity.sel(receiver="R2", component="N").values)
    assert abs(trace.stats.starttime - (obspy.UTCDateTime(2000, 1, 1) + START + 0.5 * DT)) < 1e-6
    assert abs(trace.stats.delta - DT) < 1e-9 and trace.data.dtype == np.float32
    inventory = obspy.read_inventory(str(tmp_path / "stations.xml"))
    assert set(inventory.get_contents()["channels"]) == {t.id for t in stream}
    assert {"XX.R1..HDH", "XX.R1.DI.HXZ", "XX.R1.EZ.HSE"} <= {t.id for t in stream}
    up = inventory.select(station="R2", channel="HXZ", location="")[0][0][0]
    assert (up.azimuth, up.dip, up.response.instrument_sensitivity.input_units) == (0.0, -90.0, "M/S")
    metres = obspy.geodetics.gps2dist_azimuth(0, 0, 0, up.longitude)[0]
    assert abs(metres - 1500) < 5  # WGS84 against the sphere


def test_decimated_stream_times():
    obspy = pytest.importorskip("obspy")
    stream = miniseed.stream(build(sampling=0.025), "AB")
    assert {t.stats.channel for t in stream} == {"BXE", "BXN", "BXZ"} and stream[0].stats.network == "AB"
    assert stream[0].stats.starttime == obspy.UTCDateTime(2000, 1, 1) + START and stream[0].stats.delta == 0.025


@pytest.mark.parametrize(
    "interval, letter",
    [(5e-4, "F"), (0.004, "C"), (0.008, "H"), (0.0125, "H"), (0.1, "B"), (0.5, "M"), (1, "L"), (5, "V")],
)
def test_band_codes(interval, letter):
    assert fdsn.band_code(interval) == letter


def test_station_codes_fit_and_stay_unique():
    assert fdsn.station_codes(["r1", "A-2"]) == ["R1", "A2"]
    codes = fdsn.station_codes([f"profile {i}" for i in range(2000)])
    assert len(set(codes)) == 2000 and max(map(len, codes)) == 5 and codes[0] == "P0001"
    assert len(set(fdsn.station_codes(["a", "A", "ä"]))) == 3


def test_without_obspy_the_log_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "obspy", None)
    monkeypatch.setitem(sys.modules, "obspy.core", None)
    assert export(build(), tmp_path) == []
    assert "craton[seis]" in caplog.text and not list(tmp_path.iterdir())
    with pytest.raises(ResourceError, match="ObsPy"):
        miniseed.stream(build())


# pictures


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A small run whose wavefield is an expanding ring."""
    store = Store(tmp_path_factory.mktemp("runs") / "out")
    store.write_scenario(SCENARIO)
    z, x, times = np.arange(-4000.0, 1, 100), np.arange(0.0, 8001, 100), np.arange(8) * 0.1
    radius = np.hypot(x[None] - 4000, z[:, None] + 2000)
    with store.snapshots() as writer:
        writer.add_series("map", {"pressure": ()}, {"z": 0.0, "y": x, "x": x}, times)
        writer.add_series("section", {"velocity": ("E", "N", "Z")}, {"z": z, "y": 1000.0, "x": x}, times)
        for t in times:
            ring = np.exp(-(((radius - 4000 * t) / 300) ** 2)) * (t > 0)
            writer.put("section", t, {"velocity": np.stack([ring * 1e-3, 0 * ring, 3e-3 * ring])})
            writer.put("map", t, {"pressure": np.zeros((81, 81))})
    store.write_waveforms(build(n=1, dtype="float32"))
    store.finish()
    return store.path


def pixels(path):
    from matplotlib.image import imread

    return imread(path)[..., :3]


# Drawn elsewhere: what other runs have (test_gravity_scenario.py, test_earth_scenario.py, test_peaks.py, test_report.py), and the
# figures with options (test_pictures.py).
ELSEWHERE = {"maps", "profiles", "section", "gathers", "peaks", "kernels", "map", "model"}
ELSEWHERE |= {"spectra", "spectrogram", "motion", "fk", "dispersion"}


@pytest.mark.parametrize("name", sorted(set(report.FIGURES) - ELSEWHERE))
def test_pictures_show_something(out, name):
    pytest.importorskip("matplotlib")
    path = report.FIGURES[name](out)
    assert path == out / f"{name}.png"
    image = pixels(path)
    assert image.shape[0] > 300 and image.shape[1] > 1000
    red = (image[..., 0] - image[..., 2] > 0.3).sum()
    assert red > 1000 and 0.001 < (image.min(axis=-1) < 0.9).mean() < 0.9


def test_overview_takes_the_vertical_section_and_its_liveliest_component(out):
    series = list(report.pictures.read_snapshots(out).items())
    scene = report.pictures.scene_of(out)
    assert scene == {"title": "Two layers", "sources": [(4000.0, 1000.0, -2000.0)], "interfaces": [-1400.0]}
    frame = report.pictures._section(series, scene["sources"])
    assert frame.dims == ("z", "x") and str(frame.component.values) == "Z"
    assert figures.heading(frame) == "Particle velocity, up component"


@pytest.mark.parametrize("n", [3, 12, 70])
def test_record_sections(n, tmp_path):
    pytest.importorskip("matplotlib")
    figures.record_section(build(n=n)).savefig(tmp_path / "s.png")
    assert np.unique(pixels(tmp_path / "s.png").reshape(-1, 3), axis=0).shape[0] > 20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([(0, 0), (100, 0), (300, 0)], [-200, -100, 100]),  # towards the east
        ([(300, 0), (100, 0), (0, 0)], [100, -100, -200]),  # the same, listed backwards
        ([(200, 300), (200, 0), (200, -100)], [300, 0, -100]),  # towards the north
        ([(200, 0), (230, 40), (260, 80)], [0, 50, 100]),  # aslant
    ],
)
def test_offsets_have_the_sign_of_the_line(line, expected):
    from craton.report.shot_gathers import signed_offsets

    array = build(n=3).velocity
    array = array.assign_coords({axis: ("receiver", np.array(values, float)) for axis, values in zip("xy", zip(*line))})
    assert np.allclose(signed_offsets(array, (200.0, 0.0, -50.0)), expected)


@pytest.mark.parametrize("receivers", [12, 70])
def test_gathers_have_time_downwards_over_signed_offset(tmp_path, receivers):
    """Two shots at the ends of a line: positive offsets and negative ones; the end of the records is at the bottom."""
    pytest.importorskip("matplotlib")
    from craton.report import shot_gathers

    dataset = build(n=receivers)
    x = np.linspace(0.0, 2000.0, receivers)
    array = xr.concat([dataset.velocity] * 2, "shot").assign_coords(
        x=("receiver", x),
        y=("receiver", 0 * x),
        shot=["A", "B"],
        **{f"source_{axis}": ("shot", [0.0, end]) for axis, end in zip("xyz", (2000.0, 0, 0))},
    )
    with figures.figure(8, 4) as page:
        assert shot_gathers.draw_shots(page, array) in "ENZ"
    first, second = page.axes
    assert first.get_ylim() == (float(array.time[-1]), float(array.time[0]))
    for axis, low, high in ((first, 0, 2), (second, -2, 0)):
        collections = [c for c in axis.collections if hasattr(c, "get_coordinates")]
        held = (
            collections[0].get_coordinates()[..., 0]
            if collections
            else np.concatenate([line.get_xdata() for line in axis.lines])
        )
        step = 2.0 / (receivers - 1)
        assert held.min() >= low - 2 * step and held.max() <= high + 2 * step
    page.savefig(tmp_path / "gathers.png", dpi=60)
    assert np.unique(pixels(tmp_path / "gathers.png").reshape(-1, 3), axis=0).shape[0] > 20


def test_interfaces_follow_the_ground():
    """Layers with follow = "surface" are drawn at their depth below the ground, and so is the ground itself."""
    from craton.report import figures, pictures
    from craton.scenario import Layers

    stack = [{"top": top, "vp": 3000, "vs": 1700, "rho": 2300} for top in (0, -400)]
    hill = {"x": [0.0, 1000.0, 3000.0], "z": [0.0, 500.0, 100.0]}
    frame = xr.DataArray(np.zeros((3, 5)), {"z": [-2.0, -1, 0], "x": np.linspace(0, 2000, 5), "y": 0.0}, ("z", "x"))
    for follow, expected in (("surface", [-400, -150, 100, 0, -100]), ("level", [-400] * 5)):
        ground, second = pictures._interfaces(Layers(kind="layers", layers=stack, follow=follow, topography=hill))
        assert np.allclose(figures.along(frame, "x", ground), [0, 250, 500, 400, 300])
        assert np.allclose(figures.along(frame, "x", second), expected)


def test_snapshot_on_a_silent_plane_and_with_interfaces(tmp_path):
    pytest.importorskip("matplotlib")
    frame = xr.DataArray(
        np.zeros((4, 6)),
        {"z": np.arange(-3, 1) * 100.0, "x": np.arange(6) * 100.0, "time": 0.0},
        ("z", "x"),
        "velocity",
    )
    figures.snapshot(frame, sources=[(100, 0, -100)], receivers=[(200, 900, 0)], interfaces=[-150]).savefig(
        tmp_path / "s.png"
    )
    assert (pixels(tmp_path / "s.png").min(axis=-1) < 0.5).any()


def test_nothing_to_show(tmp_path):
    with pytest.raises(CratonError, match="neither waveforms nor snapshots"):
        report.overview(tmp_path)


PREFIXED = [
    ("m/s", 0.0031, (1000.0, "mm/s")),
    ("m/s", 0.25, (100.0, "cm/s")),
    ("Pa", 2.5e6, (1e-6, "MPa")),
    ("Pa", 0.02, (1000.0, "mPa")),
    ("1/s", 2e-6, (1e6, "10⁻⁶ 1/s")),
    ("m", 0.0, (1.0, "m")),
]


@pytest.mark.parametrize("unit, peak, expected", PREFIXED)
def test_prefixes(unit, peak, expected):
    factor, text = style.prefixed(unit, peak)
    assert text == expected[1] and factor == pytest.approx(expected[0])
