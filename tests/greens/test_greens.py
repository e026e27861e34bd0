"""Green's functions by reciprocity: seismograms of a store are those of forward runs; what a store is asked."""

import functools
import json
import time
from types import SimpleNamespace

import numpy as np
import obspy
import pytest
import xarray as xr
from common import difference, edited, manifest, misfit, refused, tiers
from filecase import rupture
from greenscase import ELEMENTS, GROUND, PLANE, RUN, SPACE, TENSOR, moment, scenario
from pointcase import example

import craton
from craton import greens
from craton.cli.app import main
from craton.errors import ResourceError, ScenarioError
from craton.greens.database import place_of, wavelet_of
from craton.greens.store import prepare
from craton.greens.synthesis import moments_of, six_numbers
from craton.output.ground_motion import rotated
from craton.survey import wavelets
from craton.survey.sources import mechanism

ALONG, X = np.arange(0, 3001, 50.0), np.arange(0, 2001, 100.0)
HILL = {"x": ALONG.tolist(), "z": (-100 + 150 * np.exp(-(((ALONG - 1500) / 500) ** 2))).tolist()}
HILLS = {"x": X.tolist(), "y": X.tolist(), "z": (60 * np.sin(X / 400)[:, None] * np.cos(X / 300)).tolist()}
BELOW_HILL = edited(
    PLANE,
    domain__size=[3000, 2200],
    model__topography=HILL,
    receivers=[{"name": "A", "at": {"x": 2000, "depth": 0}}],
    greens={"from": [1300, -600], "to": [1700, 100], "max_frequency": 4.5},
)
BELOW_HILLS = edited(
    ELEMENTS,
    domain__size=[1600, 1600, 1300],
    model=GROUND | {"topography": HILLS},
    time__duration=1.6,
    receivers=[{"name": "A", "at": {"x": 1100, "y": 900, "depth": 0}}],
    greens={"from": [500, 550, -500], "to": [700, 750, 100], "max_frequency": 3.5},
)
CHUNK = {"longitude": 179.9, "latitude": -13.8, "width": [8, 8], "azimuth": 20, "elements": [4, 4], "bottom": "400 km"}
DATE_LINE = {
    "method": "sem",
    "domain": {"chunk": CHUNK},
    "model": {"kind": "prem"},
    "time": {"duration": 90},
    "receivers": [{"name": "A", "at": {"longitude": -179.5, "latitude": -13.2}}],
    "greens": {"from": [179.6, -14.2, -40e3], "to": [180.2, -13.6, 0], "max_frequency": 0.025},
}
MAP = {"longitude": 12.0, "latitude": 44.0, "azimuth": 30}
ON_MAP = edited(
    SPACE,
    domain={"origin": [0, 0, -1400], "size": [1500, 1500, 1400], "spacing": 100, "geographic": MAP},
    model=GROUND,
    time__duration=1.1,
    boundaries__cpml__thickness=3,
    receivers=[{"name": "A", "at": [800, 760, 0]}],
    greens={"from": [700, 700, -600], "to": [800, 800, -500], "max_frequency": 3.5},
)
DEEPER = {"longitude": 179.7, "latitude": -14.1, "depth": 33e3}
EAST = {"longitude": -179.9, "latitude": -13.9, "depth": 10e3}
GREAT = {"tau": 40, "tensor": {name: 1e5 * value for name, value in TENSOR.items()}}
IN_16_BITS = edited(PLANE, greens__storage="16 bits")
CASES = {  # tables, places of sources, end of what is compared, bound of relative L2 at each station
    # at depth, on the free surface and below it; layers, a station in the ground
    "space": (SPACE, [(1213.7, 1167.1, -331.9), (1300, 1250, 0), (1241.3, 1150, -43.7)], 1.5, 1e-5),
    "plane with attenuation in 16 bits": (IN_16_BITS, [(1013.7, -331.9), (1100, 0)], 2.0, 1e-3),
    # moments that are distributed over elements and such that are not, on the free surface
    "elements": (ELEMENTS, [(613.7, 667.1, -331.9), (700, 600, 0)], 1.3, 1e-5),
    # with attenuation, in float32
    "below a hill": (BELOW_HILL, [(1413.7, -331.9), (1500, 30.0), (1620, -20)], 2.35, 1e-5),
    "elements below hills": (BELOW_HILLS, [(613.7, 667.1, -331.9), {"x": 613.7, "y": 667.1, "depth": 10}], 1.4, 1e-5),
    "a chunk of the Earth across the date line": (DATE_LINE, [DEEPER, EAST], 60, 1e-5),
    "a box on a map": (
        ON_MAP,
        [(750, 733, -550), {"longitude": 12.0127, "latitude": 44.0023, "elevation": -550}],
        0.9,
        1e-5,
    ),
}
GAUSSIAN = {"kind": "gaussian", "tau": 0.25}
IN_AIR = {"below a hill": [1700, 0, 90], "elements below hills": [600, 650, 95]}
SHORT = ("plane with attenuation in 16 bits", "elements below hills", "a box on a map")


def quake_of(name, at):
    """The scenario of a case with a source at a place."""
    return scenario(CASES[name][0], at, **GREAT if "chunk" in name else {})


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """By name: the store of a case, in float64."""

    @functools.cache
    def of(name):
        out = tmp_path_factory.mktemp("greens") / "out"
        return greens.build(quake_of(name, CASES[name][1][0]), out, workers=1, progress=False)

    return of


@pytest.fixture
def space(built):
    """The store in space."""
    return built("space")


@pytest.mark.costly("stores of every kind against forward runs")
@pytest.mark.parametrize("name", tiers(CASES, *SHORT))
def test_seismograms_are_those_of_forward_runs(name, built):
    """Whole datasets, with components and coordinates, of positions as a forward run takes them."""
    _, places, end, bound = CASES[name]
    store = greens.open(built(name).path)
    for at in places:
        quake = quake_of(name, at)
        run = craton.run(quake, progress=False).dataset
        half = float(run.time[1] - run.time[0]) / 2
        # its own times: half a step after whole ones
        computed = store.seismograms(list(quake.source), sampling=half, duration=end)
        assert set(run.coords) == set(computed.coords)
        for key in (k for k in run.coords if k != "time" and run[k].dtype.kind == "f"):
            np.testing.assert_allclose(computed[key], run[key], rtol=1e-9, atol=1e-6)
        times = np.round((run.time.values - computed.time.values[0]) / half).astype(int)
        times = times[times < computed.sizes["time"]]
        seismograms, expected = computed.velocity[..., times], run.velocity[..., : len(times)]
        np.testing.assert_allclose(seismograms.time, expected.time, atol=1e-9)
        assert max(map(misfit, seismograms.values, expected.values)) < bound, at
        if name in IN_AIR:
            refused(ScenarioError, "in the air", store.batch, [IN_AIR[name]], np.ones((1, 6)), GAUSSIAN)
        units, six = store.derivatives(list(quake.source)), six_numbers(mechanism(quake.source[0])[0])[0]
        whole = store.seismograms(list(quake.source)).velocity
        np.testing.assert_allclose(np.tensordot(six, units, 1), whole, atol=1e-5 * float(np.abs(whole).max()))
        if isinstance(at, dict) and "longitude" in at:  # else couples for MTUQ are in the axes of the box
            assert place_of(store, list(quake.source)) == pytest.approx(at, rel=1e-9)


def test_sums_batches_and_unit_moments_agree(space):
    """Sources that act together are the sum of each; six unit moments make up a tensor; displacement is the integral of velocity."""
    at, beside = (1213.7, 1167.1, -331.9), (1250, 1200, -100)
    six, first, second = np.array([TENSOR[n] for n in ("xx", "yy", "zz", "xy", "xz", "yz")]), moment(at), moment(beside)
    alone, both, second_alone = (space.seismograms(sources) for sources in ([first], [first, second], [second]))
    close = {"rtol": 1e-7, "atol": 1e-5 * float(np.abs(alone.velocity).max())}
    np.testing.assert_allclose(both.velocity, alone.velocity + second_alone.velocity, **close)
    np.testing.assert_allclose(np.tensordot(six, space.derivatives([first]).values, 1), alone.velocity, **close)
    many, times = space.batch([at, beside], [six, six], first["wavelet"], stations=["B"])
    np.testing.assert_allclose(times, alone.time.values, atol=1e-12)
    np.testing.assert_allclose(many[1], second_alone.velocity.sel(receiver=["B"]), **close)
    waves = space.seismograms(quantities=("velocity", "displacement"), sampling=0.02)
    slope = np.gradient(waves.displacement.values, waves.time.values, axis=-1)
    assert difference(slope[..., 5:-5], waves.velocity.values[..., 5:-5]) < 0.02


def test_slopes_are_those_of_differences(space):
    """By the position of a source, along each axis."""
    entry = moment(at := np.array([1241.3, 1193.1, -231.9]))
    slopes, six = space.slopes([entry]), six_numbers(space.single_source([entry]).moment)
    shift = 4.0  # m; (k shift)^2 / 6 is below 1e-3
    moved = np.concatenate([at + shift * np.eye(3), at - shift * np.eye(3)])
    velocity, _ = space.batch(moved, np.repeat(six, 6, axis=0), entry["wavelet"])
    expected = (velocity[:3].astype(float) - velocity[3:]) / (2 * shift)
    assert slopes.dims == ("axis", "receiver", "component", "time")
    assert max(map(misfit, slopes.values, expected)) < 3e-3


def test_finite_faults_are_those_of_forward_runs(space, tmp_path):
    """Subfaults with slip rates, from an SRF file: x, y, depth in km, strike, dip, onset, rake."""
    subfaults = [(1230, 1180, 0.33, 20, 70, 0.1, 30), (1290, 1240, 0.21, 80, 50, 0.25, -60)]
    fault = rupture(tmp_path / "r.srf", subfaults, 100 * np.hanning(42)[1:-1] ** 4, 0.04)
    quake = craton.Scenario(**SPACE, run=RUN, source=[fault])
    reference = craton.run(quake, progress=False).dataset.velocity
    reference = reference[..., (reference.time > 0) & (reference.time < 1.6)]
    moments = moments_of(space._changed(list(quake.source)), space._medium)
    computed = space._sum(moments, [0, 1], reference.time.values)
    assert misfit(computed, reference.values) < 5e-5  # a run cuts slip rates off at 1e-6 of their peak (windows.CUT)


def test_the_pulse_has_the_spectrum_that_is_taken_out():
    """Values, area, start and end of the low-pass wavelet."""
    pulse = wavelets.build(SimpleNamespace(kind="lowpass", frequency=3.0, delay=None))
    times = np.arange(-4, 4, 0.005)
    spectrum = 0.005 * np.abs(np.fft.rfft(pulse(times)))
    f = np.fft.rfftfreq(len(times), 0.005)
    np.testing.assert_allclose(spectrum[f < 5], wavelets.lowpass_spectrum(f[f < 5], 3.0), atol=1e-9)
    assert np.abs(pulse(times[times < pulse.start])).max() < 1e-8 * pulse.peak
    assert np.abs(pulse(times[times > pulse.end])).max() < 1e-4 * pulse.peak


def test_what_cannot_be_built_is_told():
    """Before anything runs; by the schema where the volume ends before it begins."""
    for changes, words in (
        ({"greens": None}, "there is no table"),
        ({"receivers": []}, "no stations"),
        ({"greens__to": [2000, 1250, 0]}, "too close to a boundary along x"),
        ({"greens__max_frequency": 40}, "too high for time steps"),
        ({"greens__from": [0, 0], "greens__to": [1, 1]}, "2 numbers, the domain 3"),
    ):
        refused(ScenarioError, words, prepare, scenario(edited(SPACE, **changes), (1200, 1200, -300)))
    backwards = edited(SPACE, greens__to=[1100, 1250, 0])
    refused(ScenarioError, "the volume ends before it begins", scenario, backwards, (1200, 1200, -300))


BLAST = {"kind": "explosion", "at": [1250, 1200, -300], "moment": 1.0, "wavelet": GAUSSIAN}
PUSH = {"kind": "force", "at": [1200, 1200, -300], "force": [1, 0, 0], "wavelet": GAUSSIAN}


def test_what_a_store_does_not_hold_is_told(space):
    """Stations, times, kinds of sources, places; wavelets beyond the band."""
    assert "left out" in space.warnings([BLAST | {"wavelet": GAUSSIAN | {"tau": 0.03}}])[0]
    assert not space.warnings()
    for question, words in (
        ({"stations": ["Q"]}, 'no station "Q"'),
        ({"duration": 9}, "more than"),
        ({"sampling": 0.5}, "no sampling of waves"),
        ({"sampling": -0.1}, "no sampling of waves"),
        ({"sampling": 0}, "0 s is no sampling of waves"),
        ({"stations": []}, "the list of stations is empty"),
        ({"duration": 0.001}, "hold no sample"),
        ({"source": [PUSH]}, "moment"),
        ({"source": [BLAST | {"shot": shot} for shot in "ab"]}, "act together, not of several shots"),
        ({"source": [BLAST | {"at": [500, 1200, -300]}]}, "outside"),
    ):
        refused(ScenarioError, words, space.seismograms, **question)


def test_samples_beyond_memory_are_refused_before_they_are_made(space, tmp_path, capsys):
    """With the sampling that fits; by each question."""
    for sampling in (1e-9, 1e-15, 1e-300):
        began = time.perf_counter()
        for ask, arguments in (
            (space.seismograms, [BLAST]),
            (space.derivatives, [BLAST]),
            (space.slopes, [BLAST]),
            (space.batch, [[[1200, 1200, -300]], np.ones((1, 6)), GAUSSIAN]),
            (space.write_mtuq, [[1200, 1200, -300], tmp_path / "mtuq"]),
        ):
            refused(ResourceError, "GiB are free\n    -> give at least", ask, *arguments, sampling=sampling)
        query = ["greens", "query", str(space.path), "-o", str(tmp_path / "x.nc")]
        assert main([*query, "--sampling", str(sampling)]) == 3
        assert "sampling = " in capsys.readouterr().err and not list(tmp_path.iterdir())
        assert time.perf_counter() - began < 5


def test_wavelets_of_dicts_are_those_of_their_numbers_and_files(tmp_path):
    assert [wavelet_of({"kind": "ricker", "frequency": of(2)}).peak_frequency for of in (np.float32, np.int64)] == [
        2,
        2,
    ]
    t, path = np.linspace(0, 1, 101), tmp_path / "wavelet.txt"
    for frequency in (3, 9):  # the same file, written again
        values = np.sin(2 * np.pi * frequency * t) * np.sin(np.pi * t) ** 2
        np.savetxt(path, np.c_[t, values])
        listed = {"times": t, "values": list(values.astype(np.float32))}
        for samples in ({"file": path}, {"file": str(path)}, listed):
            assert wavelet_of({"kind": "samples"} | samples).peak_frequency == pytest.approx(frequency, rel=0.01)


def test_the_command_line_writes_seismograms(space, tmp_path, capsys):
    """NetCDF and MiniSEED of a store; words for what is no store, and for files of sources that cannot be read."""
    out, seed = tmp_path / "quake.nc", tmp_path / "quake.mseed"
    query = ["greens", "query", str(space.path), "-o"]
    assert main([*query, str(out), "--sampling", "0.05"]) == 0
    with xr.open_dataset(out) as written:
        assert written.velocity.sizes["receiver"] == 2 and abs(written.time.diff("time")[0] - 0.05) < 1e-12
    assert main([*query, str(seed), "--station", "B"]) == 0
    assert {trace.stats.station for trace in obspy.read(seed)} == {"B"}
    assert main(["greens", "query", str(tmp_path), "-o", str(tmp_path / "x.nc")]) == 2
    assert main([*query, str(seed)]) == 2
    assert "holds no Green's functions" in capsys.readouterr().err
    for option in ("--cmt", "--srf", "--quakeml", "--csv"):
        for place, words in ((tmp_path, "is a folder, not a file"), (tmp_path / "nothere", "there is no file")):
            assert main([*query, str(tmp_path / "x.nc"), option, str(place)]) == 2
            err = capsys.readouterr().err
            assert f"{option}: " in err and words in err and str(place) in err, (option, place)
    assert not (tmp_path / "x.nc").exists()


def test_no_other_command_replaces_a_store_and_one_that_ended_early_is_refused(space, tmp_path, monkeypatch, capsys):
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
    (tmp_path / "result.zarr").symlink_to(space.path / "result.zarr")
    (tmp_path / "run.json").write_text(json.dumps(manifest(space.path) | {"state": "interrupted"}))
    refused(ScenarioError, "not complete", greens.open, tmp_path)


def test_files_for_mtuq_are_those_of_unit_couples(space, tmp_path, capsys):
    """Names, basis, units and times: their sum is the displacement of a tensor, radial and transverse. The command line writes those of
    the place of the store's source, never over files that are there.
    """
    at, units = [1213.7, 1167.1, -331.9], {"rr": 3.0, "tt": -1.0, "pp": 0.5, "rt": 2.0, "rp": -1.5, "tp": 0.7}
    assert space.write_mtuq(at, tmp_path / "both", GAUSSIAN)
    tensor = {"zz": 3.0, "yy": -1.0, "xx": 0.5, "yz": -2.0, "xz": -1.5, "xy": -0.7}
    expected = rotated(space.seismograms([moment(at, tensor, **GAUSSIAN)], quantities=("displacement",))).displacement
    assert len(list((tmp_path / "both").iterdir())) == 2 * 3 * 6
    for component in "ZRT":
        traces = {name: obspy.read(tmp_path / "both" / f"XX.B.DI.{component}.M{name}.sac")[0] for name in units}
        displacement = expected.sel(receiver="B", component=component).values
        total = sum(value * traces[name].data for name, value in units.items())
        np.testing.assert_allclose(total, displacement, atol=1e-5 * float(np.abs(displacement).max()))
        assert abs(traces["rr"].stats.sac.b - float(expected.time[0])) < 1e-5
    query = ["greens", "query", str(space.path), "--mtuq", str(tmp_path / "mtuq")]
    assert main([*query, "--station", "B"]) == 0
    assert space.write_mtuq(list(CASES["space"][1][0]), tmp_path / "python", stations=["B"])
    files, expected = ({path.name: path.read_bytes() for path in (tmp_path / n).iterdir()} for n in ("mtuq", "python"))
    assert files == expected and set(files) == {f"XX.B.DI.{c}.M{name}.sac" for c in "ZRT" for name in units}
    for more, words in (
        ([], "holds SAC files"),
        (["--force", "--quantity", "velocity"], "leave out -o and --quantity"),
    ):
        assert main([*query, *more]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.long
def test_the_uncertainties_of_a_moment_tensor_hold_the_true_one(tmp_path):
    """The example in a small form: place and moments within what the covariance allows, a fit to the noise, and the picture."""
    module, rng = example("greens_moment_tensor"), np.random.default_rng(1)
    size = {"size": 4800.0, "depth": 2880.0, "spacing": 160.0, "height": 480.0, "stations": 2, "duration": 2.1}
    event = {"event": (2360.0, 2440.0, -1000.0), "around": (80.0, 80.0, 160.0), "step": 80.0, "tau": 0.2}
    valley = module.Valley(**size, **event, reach=(0.1, 0.19), max_frequency=2.0)
    quake, times, observed, sigma, solution = module.invert(valley, tmp_path, rng)
    rest, expected = (observed - solution.fit) / sigma, observed.size - 6
    assert abs((rest**2).sum() - expected) < 5 * np.sqrt(2 * expected)
    places, six = solution.ensemble(2000, rng)
    assert np.all(np.abs(places.mean(axis=0) - valley.event) < 3 * places.std(axis=0) + valley.step)
    assert np.all(np.abs(six.mean(axis=0) - module.TRUE) < 4 * six.std(axis=0))
    at = np.argmin(np.linalg.norm(solution.places - valley.event, axis=1))
    off = np.linalg.solve(solution.covariances[at], solution.moments[at] - module.TRUE)
    assert off @ (solution.moments[at] - module.TRUE) < 25  # chi squared of six numbers
    file = tmp_path / "picture.png"
    module.draw(valley, quake, solution, times, observed, sigma, file, rng)
    assert file.stat().st_size > 20_000
