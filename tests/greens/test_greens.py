"""Green's functions by reciprocity: seismograms of a store are those of forward runs."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from test_files_physics import rupture

import craton
from craton import greens
from craton.cli.app import main
from craton.errors import ResourceError, ScenarioError
from craton.greens.database import wavelet_of
from craton.greens.sources import moments_of, six_numbers
from craton.greens.store import prepare
from craton.survey import wavelets

LAYERS = [{"top": 0, "vp": 2000, "vs": 1100, "rho": 2000}, {"top": -600, "vp": 3000, "vs": 1700, "rho": 2300}]
TENSOR = {"xx": 1e13, "yy": -2e13, "zz": 1.5e13, "xy": 0.7e13, "xz": -0.4e13, "yz": 0.9e13}
SPACE = {
    "domain": {"origin": [0, 0, -1800], "size": [2600, 2500, 1800], "spacing": 100},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 2.6},
    "boundaries": {"cpml": {"thickness": 4, "frequency": 2.0}},
    "receivers": [{"name": "A", "at": [1700, 1100, 0]}, {"name": "B", "at": [1633, 1331, -333]}],
    "greens": {"from": [1200, 1150, -500], "to": [1300, 1250, 0], "max_frequency": 3.5},
}
PLANE = {
    "domain": {"origin": [0, -2000], "size": [3000, 2000], "spacing": 50, "waves": "P-SV"},
    "model": {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000, "qp": 60, "qs": 30},
    "time": {"duration": 2.6},
    "boundaries": {"cpml": {"thickness": 6, "frequency": 2.0}},
    "receivers": [{"name": "A", "at": [2000, 0]}],
    "greens": {"from": [900, -800], "to": [1300, 0], "max_frequency": 4.5},
}
ELEMENTS = {
    "method": "sem",
    "domain": {"origin": [0, 0, -1600], "size": [2000, 2000, 1600], "element_size": 400},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 3.0},
    "receivers": [{"name": "A", "at": [1500, 1100, 0]}],
    "greens": {"from": [500, 550, -500], "to": [700, 750, 0], "max_frequency": 3.5},
}
MTUQ_COUPLES = ("rr", "tt", "pp", "rt", "rp", "tp")
RUN = {"device": "cpu", "threads": 1}


def scenario(base, at, tensor=TENSOR, tau=0.25, precision="float64", **changes):
    """A scenario with a moment tensor."""
    if len(at) == 2:
        tensor = {name: value for name, value in tensor.items() if "y" not in name}
    wavelet = {"kind": "gaussian_derivative", "tau": tau}
    source = [
        {"kind": "moment_tensor", "at": at if isinstance(at, dict) else list(at), "tensor": tensor, "wavelet": wavelet}
    ]
    run = RUN | {"precision": precision}
    return craton.Scenario(**{**base, "source": source, "run": run, **changes})


def forward(base, at, until=2.0, **options):
    """Velocity of a forward run to a time, and its times."""
    run = craton.run(scenario(base, at, **options), progress=False).dataset.velocity
    return run.values[..., run.time.values < until], run.time.values[run.time.values < until]


def mismatch(store, at, reference):
    """Relative L2 of the seismograms of each station from those of a forward run."""
    values, times = reference
    # the forward run's own times, so that nothing is interpolated
    source = scenario(base_of(store), at).source
    computed = store.seismograms(list(source))
    moments = moments_of(store._changed(list(source)), store._medium)
    assert computed.velocity.shape[:2] == values.shape[:2]
    computed = store._sum(moments, range(len(store.stations)), times)
    return np.linalg.norm(computed - values, axis=(1, 2)) / np.linalg.norm(values, axis=(1, 2))


def base_of(store):
    """Tables of the scenario of a store."""
    return ELEMENTS if store.scenario.method == "sem" else SPACE if store.volume.shape[1] == 3 else PLANE


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """A store in space, in float64."""
    out = tmp_path_factory.mktemp("greens") / "space"
    return greens.build(scenario(SPACE, (1200, 1200, -300)), out, workers=1, progress=False)


@pytest.mark.parametrize("at", [(1213.7, 1167.1, -331.9), (1300, 1250, 0), (1241.3, 1150, -43.7)])
def test_seismograms_in_space_are_those_of_forward_runs(space, at):
    """At depth, on the free surface and below it; layers, station in the ground."""
    assert mismatch(space, at, forward(SPACE, at)).max() < 1e-5


@pytest.mark.parametrize("storage, bound", [("float32", 1e-5), ("16 bits", 1e-3)])
def test_seismograms_in_the_plane_are_those_of_forward_runs(tmp_path, storage, bound):
    """With attenuation, and in both storages."""
    table = {"greens": PLANE["greens"] | {"storage": storage}}
    valley = scenario(PLANE, (1000, -400), **table)
    store = greens.build(valley, tmp_path / "out", workers=1, progress=False)
    at = (1013.7, -331.9)
    assert mismatch(store, at, forward(PLANE, at)).max() < bound
    assert mismatch(store, (1100, 0), forward(PLANE, (1100, 0))).max() < bound


def test_seismograms_of_elements_are_those_of_forward_runs(tmp_path):
    """Moments that are distributed over elements and such that are not, on the free surface."""
    box = scenario(ELEMENTS, (600, 650, -300))
    greens.build(box, tmp_path / "out", workers=1, progress=False)
    store = greens.open(tmp_path / "out")
    for at in ((613.7, 667.1, -331.9), (700, 600, 0)):
        assert mismatch(store, at, forward(ELEMENTS, at, until=1.3)).max() < 1e-5


def test_sums_batches_and_unit_moments_agree(space):
    """Sources that act together are the sum of each; six unit moments make up a tensor."""
    at, six = ((1213.7, 1167.1, -331.9), np.array([TENSOR[n] for n in ("xx", "yy", "zz", "xy", "xz", "yz")]))
    wavelet = {"kind": "gaussian_derivative", "tau": 0.25}
    entry = {
        "kind": "moment_tensor",
        "at": at if isinstance(at, dict) else list(at),
        "tensor": TENSOR,
        "wavelet": wavelet,
    }
    alone = space.seismograms([entry])
    both = space.seismograms([entry, entry | {"at": [1250, 1200, -100]}])
    other = space.seismograms([entry | {"at": [1250, 1200, -100]}])
    scale = float(np.abs(alone.velocity).max())
    np.testing.assert_allclose(both.velocity, alone.velocity + other.velocity, atol=1e-5 * scale)
    units = space.derivatives([entry])
    np.testing.assert_allclose(np.tensordot(six, units.values, 1), alone.velocity, atol=1e-5 * scale)
    many, times = space.batch([at, (1250, 1200, -100)], [six, six], wavelet, stations=["B"])
    np.testing.assert_allclose(times, alone.time.values, atol=1e-12)
    np.testing.assert_allclose(many[1], other.velocity.sel(receiver=["B"]), atol=1e-5 * scale)


def test_slopes_are_those_of_differences(space):
    """By the position of a source, along each axis."""
    at, wavelet = np.array([1241.3, 1193.1, -231.9]), {"kind": "gaussian_derivative", "tau": 0.25}
    entry = {"kind": "moment_tensor", "at": list(at), "tensor": TENSOR, "wavelet": wavelet}
    slopes, six = space.slopes([entry]), six_numbers(space.single_source([entry]).moment)
    shift = 8.0  # m; (k shift)^2 / 6 is below 1e-3
    moved = np.concatenate([at + shift * np.eye(3), at - shift * np.eye(3)])
    velocity, _ = space.batch(moved, np.repeat(six, 6, axis=0), wavelet)
    expected = (velocity[:3].astype(float) - velocity[3:]) / (2 * shift)
    assert slopes.dims == ("axis", "receiver", "component", "time")
    for n in range(3):
        mismatch = np.linalg.norm(slopes.values[n] - expected[n]) / np.linalg.norm(expected[n])
        assert mismatch < 3e-3, n


def test_finite_faults_are_those_of_forward_runs(space, tmp_path):
    """Subfaults with slip rates of their own, from an SRF file."""
    rates = 100 * np.hanning(42)[1:-1] ** 4
    places = [(1230.0, 1180.0, 0.33, 20, 70, 0.1, 30), (1290.0, 1240.0, 0.21, 80, 50, 0.25, -60)]
    fault = rupture(tmp_path / "r.srf", places, rates, 0.04)
    run = {"run": RUN | {"precision": "float64"}, "source": [fault]}
    reference = craton.run(craton.Scenario(**SPACE, **run), progress=False).dataset.velocity
    reference = reference[..., (reference.time > 0) & (reference.time < 2.2)]
    source = list(craton.Scenario(**SPACE, **run).source)
    computed = space._sum(moments_of(space._changed(source), space._medium), [0, 1], reference.time.values)
    mismatch = np.linalg.norm(computed - reference.values) / np.linalg.norm(reference.values)
    assert mismatch < 5e-5  # a run cuts slip rates off at 1e-6 of their peak (slip.CUT)


def test_other_quantities_follow_from_velocity(space):
    """Displacement is its integral."""
    wave = space.seismograms(quantities=("velocity", "displacement"), sampling=0.02)
    slope = np.gradient(wave.displacement.values, wave.time.values, axis=-1)[..., 5:-5]
    scale = np.abs(wave.velocity.values).max()
    assert np.abs(slope - wave.velocity.values[..., 5:-5]).max() < 0.02 * scale


def test_the_pulse_has_the_spectrum_that_is_taken_out():
    """Values, area, start and end of the low-pass wavelet."""
    pulse = wavelets.build(SimpleNamespace(kind="lowpass", frequency=3.0, delay=None))
    times = np.arange(-4, 4, 0.005)
    spectrum = 0.005 * np.abs(np.fft.rfft(pulse(times)))
    f = np.fft.rfftfreq(len(times), 0.005)
    below = f < 5
    expected = wavelets.lowpass_spectrum(f[below], 3.0)
    np.testing.assert_allclose(spectrum[below], expected, atol=1e-9)
    assert np.abs(pulse(times[times < pulse.start])).max() < 1e-8 * pulse.peak
    assert np.abs(pulse(times[times > pulse.end])).max() < 1e-4 * pulse.peak


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"greens": None}, "there is no table"),
        ({"receivers": []}, "no stations"),
        ({"greens": SPACE["greens"] | {"to": [2500, 1250, 0]}}, "too close to a boundary along x"),
        ({"greens": SPACE["greens"] | {"max_frequency": 40}}, "too high for time steps"),
        ({"greens": {"from": [0, 0], "to": [1, 1], "max_frequency": 1}}, "2 numbers, the domain 3"),
    ],
)
def test_what_cannot_be_built_is_told(changes, words):
    """Before anything runs."""
    with pytest.raises(ScenarioError, match=words):
        prepare(scenario(SPACE, (1200, 1200, -300), **changes))


def test_a_volume_that_ends_before_it_begins_is_refused():
    """By the schema."""
    table = SPACE["greens"] | {"to": [1100, 1250, 0]}
    with pytest.raises(ScenarioError, match="the volume ends before it begins"):
        scenario(SPACE, (1200, 1200, -300), greens=table)


@pytest.mark.parametrize(
    "question, words",
    [
        ({"stations": ["Q"]}, 'no station "Q"'),
        ({"duration": 9}, "more than"),
        ({"sampling": 0.5}, "no sampling of waves"),
        ({"sampling": -0.1}, "no sampling of waves"),
        ({"duration": 0.001}, "hold no sample"),
        ({"source": [{"kind": "force", "at": [1200, 1200, -300], "force": [1, 0, 0]}]}, "moment"),
        ({"source": [{"kind": "explosion", "at": [500, 1200, -300], "moment": 1.0}]}, "outside"),
    ],
)
def test_what_a_store_does_not_hold_is_told(space, question, words):
    """Stations, times, kinds of sources, places."""
    wavelet = {"kind": "gaussian", "tau": 0.25}
    if "source" in question:
        question["source"] = [entry | {"wavelet": wavelet} for entry in question["source"]]
    with pytest.raises(ScenarioError, match=words):
        space.seismograms(**question)


@pytest.mark.parametrize("sampling", [1e-9, 1e-15, 1e-300])
def test_samples_beyond_memory_are_refused_before_they_are_made(space, sampling, tmp_path, capsys):
    """With the sampling that fits; by each question."""
    wavelet = {"kind": "gaussian", "tau": 0.25}
    source = {"kind": "explosion", "at": [1250, 1200, -300], "moment": 1.0, "wavelet": wavelet}
    began = time.perf_counter()
    questions = (
        lambda: space.seismograms(source, sampling=sampling),
        lambda: space.derivatives(source, sampling=sampling),
        lambda: space.slopes(source, sampling=sampling),
        lambda: space.batch([[1200, 1200, -300]], np.ones((1, 6)), wavelet, sampling=sampling),
        lambda: space.write_mtuq([1200, 1200, -300], tmp_path / "mtuq", sampling=sampling),
    )
    for question in questions:
        with pytest.raises(ResourceError, match="GiB are free\n    -> give at least"):
            question()
    query = ["greens", "query", str(space.path), "-o", str(tmp_path / "x.nc")]
    assert main([*query, "--sampling", str(sampling)]) == 3
    assert "sampling = " in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert time.perf_counter() - began < 5


def test_wavelets_beyond_the_band_are_told(space):
    """A short one; none of the scenario's own."""
    source = {"kind": "explosion", "at": [1200, 1200, -300], "moment": 1.0}
    assert "left out" in space.warnings([source | {"wavelet": {"kind": "gaussian", "tau": 0.03}}])[0]
    assert not space.warnings()


def test_wavelets_of_dicts_are_those_of_their_numbers_and_files(tmp_path):
    def frequency(**table):
        return wavelet_of(table).peak_frequency

    assert frequency(kind="ricker", frequency=np.float32(2)) == 2
    assert frequency(kind="ricker", frequency=np.int64(2)) == 2
    t, path = np.linspace(0, 1, 101), tmp_path / "wavelet.txt"
    for expected in (3, 9):  # the same file, written again
        values = np.sin(2 * np.pi * expected * t) * np.sin(np.pi * t) ** 2
        np.savetxt(path, np.c_[t, values])
        for file in (path, str(path)):
            assert frequency(kind="samples", file=file) == pytest.approx(expected, rel=0.01)
        computed = frequency(kind="samples", times=t, values=list(values.astype(np.float32)))
        assert computed == pytest.approx(expected, rel=0.01)


def test_the_command_line_writes_seismograms(space, tmp_path, capsys):
    """NetCDF and MiniSEED of a store; words for what is no store."""
    import obspy
    import xarray as xr

    out = tmp_path / "quake.nc"
    assert main(["greens", "query", str(space.path), "-o", str(out), "--sampling", "0.05"]) == 0
    with xr.open_dataset(out) as written:
        assert written.velocity.sizes["receiver"] == 2 and abs(written.time.diff("time")[0] - 0.05) < 1e-12
    seed = tmp_path / "quake.mseed"
    assert main(["greens", "query", str(space.path), "-o", str(seed), "--station", "B"]) == 0
    assert {trace.stats.station for trace in obspy.read(seed)} == {"B"}
    assert main(["greens", "query", str(tmp_path), "-o", str(tmp_path / "x.nc")]) == 2
    assert main(["greens", "query", str(space.path), "-o", str(seed)]) == 2
    assert "holds no Green's functions" in capsys.readouterr().err


def test_no_other_command_replaces_a_store(space, tmp_path, monkeypatch, capsys):
    """A run of its scenario, to the same folder; its films and reports stay away from folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quake.toml").write_text((space.path / "scenario.toml").read_text())
    assert main(["run", "quake.toml", "-o", str(space.path), "--force"]) == 2
    assert "a store of Green's functions, which a run does not replace" in capsys.readouterr().err
    assert greens.open(space.path).seismograms().velocity.any()
    (tmp_path / "x.nc").mkdir()
    assert main(["greens", "query", str(space.path), "-o", "x.nc", "--force"]) == 2
    assert main(["report", str(space.path), "-o", "quake.toml"]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert "[domain]" in (tmp_path / "quake.toml").read_text()


@pytest.mark.parametrize("option", ["--cmt", "--srf", "--quakeml", "--csv"])
@pytest.mark.parametrize("file", ["nothere", "."])
def test_files_of_sources_that_cannot_be_read_are_told(space, tmp_path, option, file, capsys):
    """Missing files and folders, before anything is written."""
    out = tmp_path / "x.nc"
    place = tmp_path / file
    assert main(["greens", "query", str(space.path), option, str(place), "-o", str(out)]) == 2
    words = f"{place} is a folder, not a file" if place.is_dir() else f"there is no file {place}"
    assert f"{option}: {words}" in capsys.readouterr().err
    assert not out.exists()


def test_files_for_mtuq_are_those_of_unit_couples(space, tmp_path):
    """Names, basis, units and times: their sum is the displacement of a tensor, radial and transverse."""
    import obspy

    from craton.output.rotation import rotated

    wavelet = {"kind": "gaussian", "tau": 0.25}
    at, units = [1213.7, 1167.1, -331.9], {"mrr": 3.0, "mtt": -1.0, "mpp": 0.5}
    assert space.write_mtuq(at, tmp_path, wavelet)
    units |= {"mrt": 2.0, "mrp": -1.5, "mtp": 0.7}
    tensor = {"zz": 3.0, "yy": -1.0, "xx": 0.5, "yz": -2.0, "xz": -1.5, "xy": -0.7}
    entry = {"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": wavelet}
    expected = rotated(space.seismograms([entry], quantities=("displacement",))).displacement
    assert len(list(tmp_path.iterdir())) == 2 * 3 * 6
    for component in "ZRT":
        parts = [
            value * obspy.read(tmp_path / f"XX.B.DI.{component}.M{couple[1:]}.sac")[0].data
            for couple, value in units.items()
        ]
        trace = obspy.read(tmp_path / f"XX.B.DI.{component}.Mrr.sac")[0]
        sought = expected.sel(receiver="B", component=component)
        scale = float(np.abs(sought).max())
        np.testing.assert_allclose(sum(parts), sought.values, atol=1e-5 * scale)
        assert abs(trace.stats.sac.b - float(expected.time[0])) < 1e-5


def test_a_store_is_complete_or_refused(space, tmp_path):
    """One whose run ended early."""
    run = json.loads((space.path / "run.json").read_text())
    part = tmp_path / "part"
    part.mkdir()
    (part / "result.zarr").symlink_to(space.path / "result.zarr")
    (part / "run.json").write_text(json.dumps(run | {"state": "interrupted"}))
    with pytest.raises(ScenarioError, match="not complete"):
        greens.open(part)


def test_the_command_line_writes_files_for_mtuq(space, tmp_path, capsys):
    """At the place of the store's source: those of Python; never over files that are there."""
    folder = tmp_path / "mtuq"
    query = ["greens", "query", str(space.path), "--mtuq", str(folder)]
    assert main([*query, "--station", "B"]) == 0
    assert space.write_mtuq([1200, 1200, -300], tmp_path / "python", stations=["B"])
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(f"XX.B.DI.{c}.M{m}.sac" for c in "ZRT" for m in MTUQ_COUPLES)
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "python" / name).read_bytes()
    assert main(query) == 2
    assert "holds SAC files" in capsys.readouterr().err
    assert main([*query, "--force", "--quantity", "velocity"]) == 2
    assert "leave out -o and --quantity" in capsys.readouterr().err
