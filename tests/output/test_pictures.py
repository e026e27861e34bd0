"""craton plot: record sections, spectra, f-k and dispersion images, particle motion, maps, models; craton compare."""

from contextlib import contextmanager

import benchscript
import numpy as np
import pytest
import xarray as xr

from craton.cli.app import main
from craton.errors import CratonError
from craton.report import FIGURES, comparison, figures, model_figures, record_sections, signals
from craton.scenario import load, loads

LINE = """
title = "A line"
[domain]
origin = [0, -600]
size = [1500, 600]
spacing = 20
[model]
kind = "layers"
layers = [{ top = 0, vp = 1800, vs = 900, rho = 1900 }, { top = -200, vp = 2600, vs = 1500, rho = 2200 }]
[time]
duration = 0.8
[boundaries]
top = "free"
cpml = { thickness = 5 }
[[source]]
kind = "force"
at = [300, -10]
force = [0, -1e6]
wavelet = { kind = "ricker", frequency = 5 }
[[receivers]]
name = "R"
line = { from = [200, 0], to = [1300, 0], count = 12 }
[output]
waveforms = ["velocity"]
sampling = 0.01
[run]
device = "cpu"
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Folder of a run."""
    folder = tmp_path_factory.mktemp("line")
    (folder / "line.toml").write_text(LINE)
    assert main(["run", str(folder / "line.toml"), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


@contextmanager
def plain(width, height):
    """A figure whose parts are not moved apart, which takes half of the time of drawing."""
    yield figures._page_class()(figsize=(width, height), dpi=50)


@pytest.fixture
def quick(monkeypatch):
    """Figures are drawn without their layout."""
    monkeypatch.setattr(figures, "figure", plain)


@pytest.fixture
def waves(out):
    """Its waveforms."""
    return xr.open_zarr(out / "result.zarr").load()


def test_figures_are_drawn_with_their_options(out, quick, capsys):
    from PIL import Image

    names = ["section", "spectrogram", "motion", "fk", "dispersion", "spectra", "map"]
    options = ["--component", "E", "--station", "R3", "--by", "offset", "--reduce", "2", "--db", "30"]
    assert main(["plot", str(out), *names, *options]) == 0
    assert capsys.readouterr().out.split() == [str(out / f"{name}.png") for name in names]
    for name in names:
        pixels = np.asarray(Image.open(out / f"{name}.png").convert("L"))
        assert 0.02 < (pixels < 250).mean() < 0.98, name  # neither blank nor black


@pytest.mark.parametrize(
    "words, message",
    [
        (["motion", "--reduce", "3"], "it is an option of section"),
        (["section", "--component", "Q"], "choose one of E, Z"),
        (["section", "--by", "colour"], "distance"),
        (["motion", "--station", "R99"], "choose one of R1, R2"),
        (["kernels"], "craton gradient writes it"),
    ],
)
def test_wrong_options_are_refused(out, words, message, capsys):
    assert main(["plot", str(out), *words]) != 0
    assert message in capsys.readouterr().err


def test_section_stands_where_it_says(waves, quick):
    """Places of traces, reduced times, arrivals and true amplitudes, read from the drawn lines."""
    array, origin = waves.velocity, (300.0, 0.0, -10.0)
    times = {"P": np.linspace(0.1, 0.6, 12)}
    page = record_sections.draw(array, times, origin, "Z", "offset", "all", 2.0)
    axis = page.axes[0]
    offsets = (array.x.values - 300) / 1000
    step = np.ptp(offsets) / 11
    peak = float(np.abs(array.sel(component="Z")).max())
    for line, row in zip(axis.lines, np.argsort(offsets)):
        trace = array.isel(receiver=row).sel(component="Z").values
        assert line.get_xdata() == pytest.approx(array.time.values - abs(offsets[row]) / 2)
        assert line.get_ydata() == pytest.approx(offsets[row] + 0.9 * step * trace / peak, abs=1e-6)
    marks = next(c for c in axis.collections if type(c).__name__ == "LineCollection")
    drawn = np.array([segment[:, 0] for segment in marks.get_segments()])
    assert drawn[:, 0] == pytest.approx(times["P"] - np.abs(offsets) / 2)


def test_arrivals_come_before_the_motion(out, waves):
    """Before the computed P the record is nearly silent, after S it is not: wavelet and times belong together."""
    times = record_sections.box_arrivals(out, waves, (300.0, 0.0, -10.0))
    assert (times["S"] > times["P"]).all()
    half = 0.2  # s, of the Ricker wavelet
    for row in range(4, 12):
        trace = waves.velocity.isel(receiver=row).max("component")
        size = np.abs(waves.velocity.isel(receiver=row)).max("component")
        early = size.where(size.time < times["P"][row] - half, drop=True)
        assert float(early.max()) < 0.02 * float(size.max()), str(trace.receiver.values)


def test_dispersion_and_fk_find_the_velocity():
    """A pulse of phase velocity c(f) along an uneven line: the largest coherence is at c(f), the largest power at f / c(f)."""
    rng = np.random.default_rng(1)
    along = np.sort(rng.uniform(0, 500, 40))
    step, count = 0.005, 512
    frequency = np.fft.rfftfreq(count, step)
    speed = 400 - 6 * frequency
    shape = np.exp(-(((frequency - 15) / 8) ** 2))
    band = shape * np.exp(-2j * np.pi * frequency * (along[:, None] / speed + 0.2))
    velocity = np.linspace(200, 500, 301)
    chosen = (frequency > 8) & (frequency < 25)
    image = signals.phase_velocities(band[:, chosen], along, frequency[chosen], velocity)
    assert velocity[image.argmax(axis=0)] == pytest.approx(speed[chosen], rel=0.02)
    wavenumber = np.linspace(-0.15, 0.15, 601)
    power = np.abs(signals.wavenumbers(band[:, chosen], along, wavenumber))
    assert wavenumber[power.argmax(axis=1)] == pytest.approx((frequency / speed)[chosen], abs=1.5e-3)
    slow, fast = signals.velocity_limits(band[:, chosen], along, frequency[chosen])
    assert slow < speed[chosen].min() and fast > speed[chosen].max()


def test_spectrogram_follows_a_sweep():
    step = 0.002
    time = np.arange(2000) * step
    trace = np.sin(2 * np.pi * (10 * time + 5 * time**2))  # 10 to 50 Hz
    frequency, times, level = signals.levels(trace, step)
    inside = (times > 0.4) & (times < 3.6)
    assert frequency[level.argmax(axis=0)][inside] == pytest.approx(10 + 10 * times[inside], abs=1.5)


def test_model_before_the_run(out, quick, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(out.parent / "line.toml")]) == 0
    assert capsys.readouterr().out.split() == ["line-model.png"]
    assert main(["plot", str(out.parent / "line.toml"), "overview"]) == 2
    wet = loads(
        LINE.replace("-600]\n", "-500]\n", 1).replace(
            'kind = "layers"\n', 'kind = "layers"\nwater = { level = -20 }\ntopography = -60\n'
        )
    )
    xyz = np.array([[100.0, 0, z] for z in (-10, -30, -100, -300)])
    medium = model_figures.medium_at(wet, xyz)
    assert np.isnan(medium["vp"][0]) and medium["vs"][1] == 0 and medium["vp"][1] == wet.model.water.vp
    assert list(medium["vs"][2:]) == [900, 1500]
    page = model_figures.figure_of(load(out / "scenario.toml"))
    image = page.axes[0].images[0]
    assert sorted(set(np.asarray(image.get_array()).ravel())) == [1800, 2600]


def test_compare_measures_shift_ratio_and_misfit(out, waves, quick, tmp_path, capsys):
    obspy = pytest.importorskip("obspy")
    origin = obspy.UTCDateTime(waves.attrs["origin_time"])
    step = float(waves.time[1] - waves.time[0])
    traces = []
    for name in ("R5", "R9"):
        for part in "EZ":
            header = {"station": name, "channel": f"HX{part}", "delta": step}
            header["starttime"] = origin + float(waves.time[0]) + 0.03  # late by 0.03 s
            data = 2 * waves.velocity.sel(receiver=name, component=part).values.astype(float)
            traces.append(obspy.Trace(data, header))
    obspy.Stream(traces).write(str(tmp_path / "data.mseed"), format="MSEED")
    words = ["compare", str(out), str(tmp_path / "data.mseed"), "--band", "1", "12", "--align", "0.05"]
    assert main([*words, "-o", str(tmp_path / "c.png")]) == 0
    assert "4 traces" in capsys.readouterr().out and (tmp_path / "c.png").stat().st_size > 10_000
    pairs = comparison.compare(out, tmp_path / "data.mseed", (1.0, 12.0), 0.05)
    assert [(p.name, p.component) for p in pairs] == [("R5", "E"), ("R5", "Z"), ("R9", "E"), ("R9", "Z")]
    for pair in pairs:
        assert pair.shift == pytest.approx(0.03, abs=1e-3)
        assert pair.ratio == pytest.approx(0.5, rel=0.02) and pair.correlation > 0.99
        assert pair.misfit == pytest.approx(0.5, rel=0.05)
    same = comparison.compare(out, out)
    assert len(same) == 24 and max(p.misfit for p in same) < 1e-12
    assert main(["compare", str(out), str(tmp_path / "none.mseed")]) == 2
    (tmp_path / "text.mseed").write_text("no")
    data = str(tmp_path / "data.mseed")
    for words in (
        [data, "--band", "1", "500"],
        [data, "--band", "5", "1"],
        [data, "-o", str(tmp_path / "a.exe")],
        [str(tmp_path / "text.mseed")],
    ):
        assert main(["compare", str(out), *words]) == 2
    assert main(["film", str(out), "--series", "nope"]) == 2
    assert "half the sampling rate" in capsys.readouterr().err


def test_result_in_three_dimensions():
    """Planes, the model, receivers and the source are where they are; nothing is rendered."""
    pytest.importorskip("pyvista")
    import smallcase

    import craton

    result = craton.run(loads(smallcase.TEXT.replace("duration = 1.0", "duration = 0.3")), progress=False)
    plotter = result.show(time=0.25, off_screen=True)
    meshes = plotter.meshes
    bounds = [mesh.bounds for mesh in meshes]
    assert any(np.allclose(b, [0, 3000, 1500, 1500, -2500, 0], atol=1) for b in bounds)
    assert any(np.allclose(b, [1500, 1500, 1500, 1500, -1000, -1000]) for b in bounds)
    plane = next(mesh for mesh in meshes if "Particle velocity" in str(mesh.array_names))
    frame = result.snapshots["section"].velocity.sel(time=0.25, method="nearest")
    name = next(n for n in plane.array_names if "velocity" in n)
    part = "ENZ"[["east", "north", "up"].index(name.split(", ")[1].split()[0])]
    expected = frame.sel(component=part).transpose("x", "z").values.ravel(order="F")
    assert np.asarray(plane[name]) == pytest.approx(expected)
    plotter.close()
    with pytest.raises(CratonError, match="x, y and z"):
        craton.run(loads(LINE), progress=False).show(off_screen=True)


def test_names_of_figures_are_those_of_the_help():
    from craton.report import FIGURES

    text = " ".join(main_help().split())
    assert all(name in text for name in FIGURES), set(FIGURES)


def main_help():
    """Text of craton plot --help."""
    import typer

    from craton.cli.app import app

    command = typer.main.get_command(app).commands["plot"]
    return " ".join(str(getattr(p, "help", "")) for p in command.params)


def test_peaks_of_stations_are_those_of_the_horizontal_vector(waves):
    from craton.report.station_maps import peaks_of

    array = waves.velocity
    peaks, words = peaks_of(array)
    assert words == "largest absolute value" and peaks == pytest.approx(np.abs(array.values).max((1, 2)))
    both = array.assign_coords(component=["E", "N"])
    expected = np.sqrt((array.values.astype(float) ** 2).sum(axis=1)).max(axis=-1)
    assert peaks_of(both)[0] == pytest.approx(expected)
    assert figures.components(both).keys() == {"E", "N"}


WAVES = {"overview", "records", "radial", "gathers", "section", "snapshots", "map", "model"} | {
    "spectra",
    "spectrogram",
    "motion",
}
DRAWN = {
    "plane": WAVES | {"fk", "dispersion"},
    "relief": WAVES | {"peaks"},
    "chunk": WAVES,
    "gradient": {"overview", "kernels", "model"},
    "gravity": {"overview", "maps", "profiles", "model"},
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_of_every_method_is_drawn_or_refused(name, quick, tmp_path):
    """The same runs at full length are drawn by `python -m bench pictures`, to be looked at."""
    pictures = benchscript.load("cases.pictures")
    pictures.compute(name, tmp_path / "out", "cpu", small=True)
    drawn = set()
    for figure, draw in FIGURES.items():
        path = tmp_path / f"{figure}.png"
        try:
            with figures.resolution(40):
                draw(tmp_path / "out", path)
        except CratonError as error:
            assert "has no" in str(error) or "needs" in str(error), error
        else:
            assert pictures.ink(path) > 0.005, figure
            drawn.add(figure)
    assert drawn >= DRAWN[name]
