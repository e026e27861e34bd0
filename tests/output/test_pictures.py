"""craton plot: record sections, gathers, spectra, dispersion images, particle motion, maps, models; films: every
frame is there, on one scale, over what lies underneath.
"""

import shutil
from types import SimpleNamespace
from unittest.mock import MagicMock

import benchscript
import numpy as np
import pytest
import smallcase
import xarray as xr
from common import manifest, plain, refused, stored
from filecase import LINE, bare, run_of, waveforms

from craton.cli.app import command, main
from craton.driver.observers.films import Films
from craton.errors import CratonError
from craton.model.ground import terrain
from craton.output import snapshots
from craton.report import (
    FIGURES,
    arrivals,
    figures,
    films,
    models,
    plot,
    rasters,
    runs,
    signals,
    station_maps,
    traces,
    wavefield,
)
from craton.report.runs import Run
from craton.scenario import Layers, load, loads
from craton.survey import traveltimes

pytest.importorskip("matplotlib")


@pytest.fixture
def quick(monkeypatch):
    """Figures are drawn without their layout."""
    monkeypatch.setattr(figures, "figure", bare)


def pixels(path):
    """(rows, columns, 3) colours of a picture, 0 to 1."""
    from matplotlib.image import imread

    return imread(path)[..., :3]


def colours(page, path):
    """How many different colours a figure has."""
    page.savefig(path, dpi=60)
    return len(np.unique((pixels(path) * 255).astype(int) @ [65536, 256, 1]))


def test_figures_are_drawn_with_their_options(line, quick, capsys):
    names = ["records", "section", "gathers", "spectrogram", "motion", "dispersion", "spectra", "map"]
    options = ["--component", "E", "--station", "R3", "--by", "offset", "--reduce", "2", "--db", "30"]
    with figures.resolution(60):
        assert main(["plot", str(line), *names, *options]) == 0
    assert capsys.readouterr().out.split() == [str(line / f"{name}.png") for name in names]
    for name in names:
        grey = pixels(line / f"{name}.png").mean(axis=-1)
        assert 0.02 < (grey < 250 / 255).mean() < 0.98, name  # neither blank nor black
    for words, message in (
        (["motion", "--reduce", "3"], "it is an option of section"),
        (["section", "--component", "Q"], "choose one of E, Z"),
        (["section", "--by", "colour"], "distance"),
        (["motion", "--station", "R99"], "choose one of R1, R2"),
        (["kernels"], "craton gradient writes it"),
    ):
        assert main(["plot", str(line), *words]) != 0 and message in capsys.readouterr().err
    plot = command().commands["plot"]
    text = plain(" ".join(str(getattr(p, "help", "")) for p in plot.params))
    assert all(name in text for name in FIGURES), set(FIGURES)


@pytest.mark.parametrize("name", ["overview", "radial", "records", "snapshots"])
def test_pictures_show_something(box, name, monkeypatch):
    """At less than half of their own resolution, 160 dots per inch; one with its layout."""
    if name != "overview":
        monkeypatch.setattr(figures, "figure", bare)
    with figures.resolution(70):
        path = plot(Run(box), name)
    assert path == box / f"{name}.png"
    image = pixels(path)
    assert image.shape[0] > 300 and image.shape[1] > 1000 * 70 / 160
    red = (image[..., 0] - image[..., 2] > 0.3).sum()
    assert red > 1000 * (70 / 160) ** 2 and 0.001 < (image.min(axis=-1) < 0.9).mean() < 0.9


def test_overview_takes_the_vertical_section_and_its_liveliest_component(box):
    run = Run(box)
    series = dict(reversed(run.snapshots.items()))
    assert run.title == "Small case" and run.sources == [(1500.0, 1500.0, -1000.0)] and run.interfaces == [-1400.0]
    run.snapshots = series
    frame = snapshots.liveliest(wavefield.section_of(run))[0]
    assert frame.dims == ("z", "x") and float(frame.y) == 1500
    assert np.abs(series["section"].velocity.sel(time=float(frame.time))).max(["x", "z"]).idxmax() == frame.component
    name = {"E": "east", "N": "north", "Z": "up"}[str(frame.component.values)]
    assert figures.heading(frame) == f"Particle velocity, {name} component"


def test_record_sections_and_snapshots(quick, tmp_path):
    """Of many receivers; of a plane where nothing moves."""
    assert colours(traces.figure_of(waveforms(n=70).velocity), tmp_path / "s.png") > 20
    axes = {"z": np.arange(-3, 1) * 100.0, "x": np.arange(6) * 100.0, "time": 0.0}
    frame = xr.DataArray(np.zeros((4, 6)), axes, ("z", "x"), "velocity")
    places = {"sources": [(100, 0, -100)], "stations": [(200, 900, 0)], "interfaces": [-150]}
    with figures.figure(6, 4) as page:
        wavefield.draw_snapshot(page.subplots(), frame, **places)
    page.savefig(tmp_path / "s.png")
    assert (pixels(tmp_path / "s.png").min(axis=-1) < 0.5).any()


def test_offsets_have_the_sign_of_the_line():
    for row, expected in (
        ([(300, 0), (100, 0), (0, 0)], [100, -100, -200]),  # towards the east, listed backwards
        ([(200, 300), (200, 0), (200, -100)], [300, 0, -100]),  # towards the north
        ([(200, 0), (230, 40), (260, 80)], [0, 50, 100]),  # aslant
    ):
        places = {axis: ("receiver", np.array(values, float)) for axis, values in zip("xy", zip(*row))}
        array = waveforms(n=3).velocity.assign_coords(places)
        assert np.allclose(traces.signed_offsets(array, (200.0, 0.0, -50.0)), expected), row


@pytest.mark.parametrize("receivers", [12, 70])
def test_gathers_have_time_downwards_over_signed_offset(quick, tmp_path, receivers):
    """Two shots at the ends of a line: positive offsets and negative ones; the end of the records is at the bottom."""
    x = np.linspace(0.0, 2000.0, receivers)
    sources = {f"source_{axis}": ("shot", [0.0, end]) for axis, end in zip("xyz", (2000.0, 0, 0))}
    array = xr.concat([waveforms(n=receivers).velocity] * 2, "shot").assign_coords(shot=["A", "B"], **sources)
    array = array.assign_coords(x=("receiver", x), y=("receiver", 0 * x))
    with figures.figure(8, 4) as page:
        assert traces.draw_shots(page, array) in "ENZ"
    first, second = page.axes
    assert first.get_ylim() == (float(array.time[-1]), float(array.time[0]))
    beside = 2 * 2.0 / (receivers - 1)
    for axis, low, high in ((first, 0, 2), (second, -2, 0)):
        lines = [line.get_xdata() for line in axis.lines]
        along = np.concatenate(lines) if receivers == 12 else np.array(axis.images[0].get_extent()[:2])
        assert low - beside <= along.min() and along.max() <= high + beside
    assert colours(page, tmp_path / "gathers.png") > 20


def test_interfaces_follow_the_ground():
    """Layers with follow = "surface" are drawn at their depth below the ground, and so is the ground itself."""
    stack = [{"top": top, "vp": 3000, "vs": 1700, "rho": 2300} for top in (0, -400)]
    hill = {"x": [0.0, 1000.0, 3000.0], "z": [0.0, 500.0, 100.0]}
    frame = xr.DataArray(np.zeros((3, 5)), {"z": [-2.0, -1, 0], "x": np.linspace(0, 2000, 5), "y": 0.0}, ("z", "x"))
    for follow, expected in (("surface", [-400, -150, 100, 0, -100]), ("level", [-400] * 5)):
        model = Layers(kind="layers", layers=stack, follow=follow, topography=hill)
        ground, second = runs.interfaces_of(model, terrain.build(model))
        assert np.allclose(wavefield.along(frame, "x", ground), [0, 250, 500, 400, 300])
        assert np.allclose(wavefield.along(frame, "x", second), expected)


def test_prefixes():
    for unit, peak, factor, text in (
        ("m/s", 0.25, 100.0, "cm/s"),
        ("Pa", 2.5e6, 1e-6, "MPa"),
        ("1/s", 2e-6, 1e6, "10⁻⁶ 1/s"),
        ("m", 0.0, 1.0, "m"),
    ):
        assert figures.prefixed(unit, peak) == (pytest.approx(factor), text)


def test_section_stands_where_it_says(line, quick):
    """Places of traces, reduced times, arrivals and true amplitudes, read from the drawn lines."""
    array, origin = stored(line).velocity, (300.0, 0.0, -10.0)
    times = {"P": np.linspace(0.1, 0.6, 12)}
    with figures.figure(8, 6) as page:
        traces.draw_profile(axis := page.subplots(), array, times, None, origin, "Z", "offset", "all", 2.0)
    offsets, samples = (array.x.values - 300) / 1000, array.sel(component="Z").values  # from west to east
    size = 0.9 * np.ptp(offsets) / 11 / np.abs(samples).max()
    for drawn, offset, trace in zip(axis.lines, offsets, samples):
        assert drawn.get_xdata() == pytest.approx(array.time.values - abs(offset) / 2)
        assert drawn.get_ydata() == pytest.approx(offset + size * trace, abs=1e-6)
    marks = next(c for c in axis.collections if type(c).__name__ == "LineCollection")
    assert [line[0, 0] for line in marks.get_segments()] == pytest.approx(times["P"] - np.abs(offsets) / 2)


def test_arrivals_come_before_the_motion(line):
    """Before the computed P the record is nearly silent, after S it is not: wavelet and times belong together."""
    waves = stored(line)
    times = arrivals.at_receivers(Run(line))[0]
    assert (times["S"] > times["P"]).all()
    half = 0.2  # s, of the Ricker wavelet
    for row in range(4, 12):
        size = np.abs(waves.velocity.isel(receiver=row)).max("component")
        assert float(size.where(size.time < times["P"][row] - half, drop=True).max()) < 0.02 * float(size.max()), row


def test_dispersion_finds_the_velocity():
    """A pulse of phase velocity c(f) along an uneven line: the largest coherence is at c(f), the largest power at f / c(f)."""
    along = np.sort(np.random.default_rng(1).uniform(0, 500, 40))
    frequency = np.fft.rfftfreq(512, 0.005)
    speed = 400 - 6 * frequency
    band = np.exp(-(((frequency - 15) / 8) ** 2) - 2j * np.pi * frequency * (along[:, None] / speed + 0.2))
    velocity = np.linspace(200, 500, 301)
    inside = (frequency > 8) & (frequency < 25)
    band, frequency, speed = band[:, inside], frequency[inside], speed[inside]
    image = signals.phase_velocities(band, along, frequency, velocity)
    assert velocity[image.argmax(axis=0)] == pytest.approx(speed, rel=0.02)
    wavenumber = np.linspace(-0.15, 0.15, 601)
    power = np.abs(signals.wavenumbers(band, along, wavenumber))
    assert wavenumber[power.argmax(axis=1)] == pytest.approx(frequency / speed, abs=1.5e-3)
    slow, fast = signals.velocity_limits(band, along, frequency)
    assert slow < speed.min() and fast > speed.max()
    three = [np.repeat(a, 3, axis=0) for a in (band, along)]  # receivers one below the other
    assert signals.velocity_limits(*three, frequency) == pytest.approx((slow, fast))
    at_one_place = {"x": ("receiver", np.ones(8)), "y": ("receiver", np.ones(8))}
    refused(CratonError, "on a line", signals.line_of, xr.Dataset(coords=at_one_place))


def test_silent_traces_are_drawn_or_refused():
    """Before any wave has come: a spectrum of nothing can be drawn, a velocity of nothing cannot be told."""
    places = {"x": ("receiver", 100.0 * np.arange(8)), "y": ("receiver", np.zeros(8))}
    coordinates = {"receiver": list("ABCDEFGH"), "component": list("ENZ"), "time": 0.01 * np.arange(200)} | places
    silent = xr.DataArray(np.zeros((8, 3, 200)), coordinates, ("receiver", "component", "time"), "velocity")
    run = SimpleNamespace(waveforms=silent, out="OUT", origin=None)
    for draw in (signals.spectrogram, signals.spectra, signals.motion):
        assert draw(run).axes
    refused(CratonError, ["OUT: no wave has come", "record for longer"], signals.dispersion, run)


def test_spectrogram_follows_a_sweep():
    time = np.arange(2000) * 0.002
    trace = np.sin(2 * np.pi * (10 * time + 5 * time**2))  # 10 to 50 Hz
    frequency, times, level = signals.levels(trace, 0.002)
    inside = (times > 0.4) & (times < 3.6)
    assert frequency[level.argmax(axis=0)][inside] == pytest.approx(10 + 10 * times[inside], abs=1.5)


def test_model_before_the_run(line, quick, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(line.parent / "s.toml")]) == 0 and capsys.readouterr().out.split() == ["s-model.png"]
    assert main(["plot", str(line.parent / "s.toml"), "overview"]) == 2
    sea = "model.water = { level = -20 }\nmodel.topography = -60\n"
    wet = loads(LINE.replace("[0, -600]", "[0, -500]").replace("time =", sea + "time ="))
    medium = models.medium_at(wet, np.array([[100.0, 0, z] for z in (-10, -30, -100, -300)]))
    assert np.isnan(medium["vp"][0]) and medium["vs"][1] == 0 and medium["vp"][1] == wet.model.water.vp
    assert list(medium["vs"][2:]) == [900, 1500]
    page = models.figure_of(load(line / "scenario.toml"))
    assert set(np.asarray(page.axes[0].images[0].get_array()).ravel()) == {1800, 2600}


def test_peaks_of_stations_are_those_of_the_horizontal_vector(line):
    array = stored(line).velocity
    (peaks, _, _, words, _), largest = station_maps.peaks_of(array), np.abs(array.values).max((1, 2))
    assert words == "largest absolute value" and peaks == pytest.approx(
        largest * figures.prefixed("m/s", largest.max())[0]
    )
    both = array.assign_coords(component=["E", "N"])
    expected = np.sqrt((array.values.astype(float) ** 2).sum(axis=1)).max(axis=-1)
    factor = figures.prefixed("m/s", expected.max())[0]
    assert station_maps.peaks_of(both)[0] == pytest.approx(factor * expected) and figures.components(both).keys() == {
        "E",
        "N",
    }


WAVES = {"overview", "records", "radial", "gathers", "section", "snapshots", "map", "model"}
WAVES |= {"spectra", "spectrogram", "motion"}
DRAWN = {
    "plane": WAVES | {"dispersion"},
    "relief": WAVES | {"peaks"},
    "chunk": WAVES,
    "gradient": {"overview", "kernels", "model"},
    "gravity": {"overview", "maps", "profiles", "model"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_of_every_method_is_drawn_or_refused(name, quick, tmp_path, monkeypatch):
    """The same runs at full length are drawn by `python -m bench pictures`, to be looked at."""
    obspy_prem = pytest.importorskip("obspy.taup").TauPyModel("prem")  # earth/test_traveltimes.py builds its own
    monkeypatch.setattr(traveltimes, "taup", lambda model: obspy_prem)
    cases = benchscript.load("cases.pictures")
    cases.compute(name, tmp_path / "out", "cpu", small=True)
    drawn = set()
    for figure in FIGURES:
        path = tmp_path / f"{figure}.png"
        try:
            with figures.resolution(40):
                plot(Run(tmp_path / "out"), figure, path)
        except CratonError as error:
            assert "has no" in str(error) or "needs" in str(error), error
        else:
            assert cases.ink(path) > 0.005, figure
            drawn.add(figure)
    assert drawn >= DRAWN[name]


# --- films of snapshots -----------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_film_is_made_while_the_run_goes_on(tmp_path):
    """Of all frames at the end; the folder is one that a new run takes away, with a checksum in run.json."""
    out = run_of(smallcase.changed(("every = 0.25", 'every = 0.125\nfilm = "gif"')), tmp_path)
    frames = pytest.importorskip("imageio.v3").imread(out / "films" / "section.gif", index=None)
    assert len(frames) == stored(out, "snapshots/section").sizes["time"] >= 7
    assert manifest(out)["state"] == "finished" and [p.name for p in (out / "films").iterdir()] == ["section.gif"]


@pytest.mark.long
def test_a_film_as_mp4_of_a_component(box, tmp_path, capsys):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "waves.mp4"
    assert main(["film", str(box), "-o", str(path), "--series", "section", "--component", "Z", "--rate", "5"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    frames = pytest.importorskip("imageio.v3").imread(path, plugin="FFMPEG", index=None)
    assert len(frames) == stored(box, "snapshots/section").sizes["time"] and frames.shape[2] == 960
    assert [p.name for p in tmp_path.iterdir()] == ["waves.mp4"]
    assert main(["film", str(box), "-o", str(path)]) == 2  # is there already


def test_a_film_of_the_first_shot_of_a_survey(box, tmp_path):
    """Whose folder lies in that of the survey, beside those of later shots."""
    shutil.copy(box / "scenario.toml", tmp_path)
    first, second = (shutil.copytree(box, tmp_path / "shots" / stem) for stem in ("00000-A", "00001-B"))
    shutil.rmtree(second / "result.zarr" / "snapshots" / "section")
    assert set(runs.read_snapshots(tmp_path)) == {"section", "upper"}
    array = films.plane_over_time(Run(tmp_path), "section", "Z")
    np.testing.assert_array_equal(array, films.plane_over_time(Run(box), "section", "Z"))
    refused(CratonError, "surveys with --snapshots", films.plane_over_time, Run(tmp_path / "shots"))


def test_frames_have_the_colours_of_the_bar_over_the_model(box):
    """Positive red-brown, negative blue, as the norm has it; nothing over the model where nothing moves; a time that changes."""
    run = Run(box)
    array = films.plane_over_time(run, "section", "Z")
    limit, values = films.shared_limit(array), (0.0, np.nan, 1.0, -1.0, 0.1)
    steps = array.isel(time=slice(0, 5)).copy(data=np.stack([np.full(array.shape[1:], limit * v) for v in values]))
    still, empty, *others = (picture[..., :3].astype(int) for picture in films.images(steps, run, limit))
    moved = np.argwhere((others[0][..., 0] - others[0][..., 2] > 60) & (others[1][..., 2] - others[1][..., 0] > 60))
    (top, left), (bottom, right) = moved.min(axis=0), moved.max(axis=0)
    inside = still[top + 2 : bottom - 2, left + 2 : right - 2]
    assert inside.size > 0.3 * still.size
    upper, lower = inside[: len(inside) // 4], inside[-len(inside) // 4 :]
    assert upper[..., 0].min() > lower[..., 0].max() - 40 and upper.mean() > lower.mean() + 20
    middle = (top + bottom) // 2 - 60, right - 60
    norm, colours, below = rasters.shared_norm(limit), figures.wave_colours(), empty[middle]
    for value, picture in zip(values[2:], others):
        expected = 255 * np.array(colours(norm(limit * value))[:3])
        # on white the very colour; on grey what white would add is grey
        assert np.abs(picture[middle] - (expected - expected.min() / 255 * (255 - below))).max() < 3
    assert np.array_equal(below, still[middle]) and not np.array_equal(empty[:top], still[:top])  # the clock
    # the first frames are not saturated, the last not blank
    shares = np.nanmax(np.abs(array.values), axis=(1, 2)) / limit
    assert 0.9 < max(shares) < 2.5
    last = int(np.flatnonzero(shares > 4 / rasters.KNEE)[-1])
    (picture,) = films.images(array.isel(time=[last]), run, limit)
    assert np.abs(picture[top:bottom, left:right, :3] - still[top:bottom, left:right]).max() > 25


def test_relief_is_lit_from_the_north_west():
    along = np.linspace(0, 1000, 21)
    hill = -(((along[:, None] - 500) ** 2 + (along - 500) ** 2) ** 0.5)
    light = wavefield.relief(hill, along, along)
    assert light[15, 5] > light[10, 10] - 1e-9 > light[5, 15] + 0.1


def test_films_follow_the_frames(monkeypatch, tmp_path):
    """Begun after an eighth, then when frames have doubled, one at a time, and at the end."""
    process = SimpleNamespace(returncode=0, stderr=None, communicate=lambda: ("", ""))
    popen = MagicMock(return_value=process)
    monkeypatch.setattr("craton.driver.observers.films.subprocess.Popen", popen)
    series = [SimpleNamespace(name=name, steps=np.arange(240)) for name in ("a", "other")]
    written, counts = Films(tmp_path, {"a": "mp4"}, series), []
    for count in range(1, 241):
        process.poll = lambda count=count: None if 60 <= count < 70 else 0
        written.see(count, None)
        counts += [count] * (popen.call_count - len(counts))
    written.finish()
    assert counts == [30, 70, 140] and popen.call_count == 4


def test_films_that_cannot_be(box, line, capsys):
    for out, words, message in (
        (box, "-o x.avi", "a film ends in .mp4, .gif or .webp"),
        (box, "-o x.mp4 --series none", "there are: section, upper"),
        (box, "-o x.mp4 --series section --component R", "there are: E, N, Z"),
        (box, "-o x.mp4 --rate 0", "frames per second"),
        (line, "--series none", "has no snapshots"),
    ):
        assert main(["film", str(out), *words.split()]) in (1, 2) and message in capsys.readouterr().err
