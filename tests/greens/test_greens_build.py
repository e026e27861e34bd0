"""What a store of Green's functions costs is told before; a build that ends early goes on; disks that are too small are refused."""

import contextlib
import io
import os
from types import SimpleNamespace

import numpy as np
import pytest
from common import edited, misfit, peak, refused
from greenscase import PLANE, RUN, moment, scenario

import craton
from craton import greens
from craton.backends import cpu
from craton.cli.app import main
from craton.errors import ResourceError
from craton.greens import fields, store
from craton.greens.synthesis import SlipRate, Synthesis
from craton.methods.spectral_element.greens import elements_at
from craton.scenario import dumps
from craton.survey.wavelets import LOWPASS_SPAN

AT = (1000, -400)


def short():
    """A scenario of few steps."""
    return scenario(PLANE | {"time": {"duration": 0.4}}, AT, tau=0.1)


@pytest.mark.long
def test_a_build_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    """Forces that are there are kept as they are; half a file of a killed process is none."""
    whole = greens.build(short(), tmp_path / "whole", workers=1, progress=False)
    works = iter([store.store_field])

    def interrupted(*args, **how):
        if (work := next(works, None)) is None:
            raise KeyboardInterrupt
        return work(*args, **how)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(store, "store_field", interrupted)
        greens.build(short(), tmp_path / "part", workers=1, progress=False)
    values = tmp_path / "part" / "result.zarr" / "values"
    written = os.stat(values / "0.0.0").st_mtime_ns
    (values / "1.0.0.part").write_bytes(b"half")
    part = greens.build(short(), tmp_path / "part", workers=1, progress=False)
    assert os.stat(values / "0.0.0").st_mtime_ns == written
    np.testing.assert_array_equal(*(s.seismograms(list(short().source)).velocity.values for s in (part, whole)))


def test_runs_of_a_store_begin_with_their_impulse():
    """Whatever time.start says: the same runs as without it."""
    plain, span = store.prepare(scenario(PLANE, AT)), LOWPASS_SPAN / PLANE["greens"]["max_frequency"]
    for start in (0.7, -9.0):
        begun = store.prepare(scenario(PLANE, AT, time=PLANE["time"] | {"start": start}))
        assert begun.texts == plain.texts, start
        assert -span - plain.planned.dt < begun.planned.start <= -span, start


def delayed(delay=0.0, **wavelet):
    """A scenario that begins at t = 0, with a wavelet that is delayed to begin there or later."""
    source = moment(AT) | {"wavelet": {"delay": delay} | (wavelet or {"kind": "gaussian", "tau": 0.17})}
    return craton.Scenario(**edited(PLANE, time__start=0.0, source=[source], run=RUN))


@pytest.fixture(scope="module")
def valley(tmp_path_factory):
    """A store of a scenario with a start and a delayed wavelet, as of a forward run, in float64, built by the command line."""
    folder = tmp_path_factory.mktemp("valley")
    (folder / "valley.toml").write_text(dumps(delayed(1.0)))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["greens", "build", str(folder / "valley.toml"), "-o", str(folder / "out"), "--workers", "1"]) == 0
    (folder / "printed").write_text(printed.getvalue())
    return greens.open(folder / "out")


LONG = np.linspace(0, 40, 801)
LATER = [
    ({"delay": 1.0}, 1e-6),
    ({"delay": 2.0}, 1e-5),  # cut by the end
    # ten times as long, of which a store sees the first hundredths
    ({"kind": "samples", "times": LONG.tolist(), "values": np.sin(np.pi * LONG / 40) ** 4}, 3e-4),
]


@pytest.mark.long
def test_wavelets_that_end_late_are_those_of_forward_runs(valley):
    """Of a scenario with time.start = 0; what a wavelet does behind the end does not come back."""
    for wavelet, bound in LATER:
        quake = delayed(**wavelet)
        run = craton.run(quake, progress=False, warn=False).dataset.velocity
        run = run[..., run.time < 2.4]
        step, source = float(run.time[1] - run.time[0]), list(quake.source)
        assert not valley.warnings(source)
        computed = valley.seismograms(source, sampling=step / 2).velocity
        times = np.round((run.time.values - computed.time.values[0]) / (step / 2)).astype(int)
        assert misfit(computed[..., times], run) < bound, wavelet


def test_a_wavelet_that_begins_early_has_its_end_as_much_earlier():
    synthesis = Synthesis(0.01, -1.0, 4, 200, 5.0, "velocity")
    ends = [synthesis.end(SimpleNamespace(start=start)) for start in (-0.5, 0.0, 0.7)]
    assert ends[1] == ends[2] == pytest.approx(ends[0] + 0.5)


def test_an_element_may_reach_a_little_beyond_its_nodes():
    """Two elements of 100 m along z, the volume a little above, below or between them."""
    corners = np.array([[x, y, z] for z in (0, 100, 200) for y in (0, 100) for x in (0, 100)], float)
    mesh = SimpleNamespace(nodes=corners, elements=np.arange(8) + [[0], [4]])
    d = SimpleNamespace(fluid=np.zeros(2, bool), globe=None, mesh=mesh)
    for low, high, inside in (
        (200.5, 300, [1]),
        (201.5, 300, []),
        (-50, -0.5, [0]),
        (-50, -1.5, []),
        (100.5, 150, [0, 1]),
    ):
        assert elements_at(d, np.array([0, 0, low]), np.array([50, 50, high])).tolist() == inside


def test_sources_behind_the_end_of_a_store_give_nothing(valley):
    """Also where harmonics of its length would bring them back; slip rates, too."""
    period = valley.synthesis.length * valley.synthesis.interval
    assert np.abs(valley.seismograms(list(delayed(1.0).source)).velocity).max() > 1e-2
    late = valley.seismograms(list(delayed(1.0 + period).source)).velocity
    assert np.abs(late).max() < 1e-12
    rates = SlipRate(period, 0.02, np.hanning(40))
    assert np.abs(valley.synthesis.factor(rates)).max() == 0


@pytest.mark.parametrize(
    ("boundaries", "words"), [({"others": "a1"}, '"a1" faces'), ({"surface": "imaging"}, 'surface = "imaging"')]
)
def test_runs_that_are_not_reciprocal_are_told(boundaries, words):
    """Seismograms were 14 and 2 % off those of runs, where a store promises 1e-5, and nothing said so."""
    asked = PLANE | {"boundaries": PLANE.get("boundaries", {}) | boundaries}
    (warning,) = (text for text in scenario(asked, AT).warnings if "reciprocal" in text)
    assert words in warning and not any("reciprocal" in text for text in scenario(PLANE, AT).warnings)


def test_plans_and_builds_say_what_a_point_takes(valley, capsys):
    """As many bytes as the files then have."""
    folder = valley.path.parent
    assert main(["plan", str(folder / "valley.toml")]) == 0
    text = capsys.readouterr().out
    (line,) = (line for line in text.splitlines() if "points of the grid" in line)
    words = line.replace(",", "").replace(";", "").split()
    files = (valley.path / "result.zarr" / "values").glob("[0-9]*")
    assert int(words[1]) * int(words[-4]) == sum(file.stat().st_size - 4 for file in files)
    assert "Green's functions: about" in text and line in (folder / "printed").read_text()


@pytest.mark.parametrize("places, samples, dtype", [(20_000, 400, "float32"), (90_000, 60, "int16")])
def test_a_field_takes_the_memory_that_is_planned(tmp_path, places, samples, dtype):
    """Within a tenth, from the first picture to the file; arrays alone, as Python counts them."""
    picture, field = np.ones(places), []

    def sort():
        counted = iter(range(samples))
        volume = SimpleNamespace(places=places, reads={}, picture=lambda _: next(counted) * picture)
        pictures = store.Pictures(volume, 1, samples)
        for n in range(samples):
            pictures.see(n, None)
        field[:] = [pictures.finished()]

    sorting = peak(sort) + 28 * places  # and what makes a picture, before it is taken
    writing = peak(lambda: fields.write(tmp_path, 0, field, picture, dtype)) + field[0].nbytes
    np.testing.assert_array_equal(field[0][3], np.arange(samples))
    assert abs(max(sorting, writing) / store.bytes_of_field(places, samples) - 1) < 0.1


def test_what_does_not_fit_into_memory_or_on_disk_is_refused(tmp_path, monkeypatch):
    """A force's run and its field, and all files: before anything runs, and with what helps."""
    survey = store.prepare(short())
    assert survey.memory == survey.planned.host_memory[0] + survey.sorting
    with monkeypatch.context() as patched:
        patched.setattr(cpu, "host_memory", lambda: (survey.memory - 1, 1 << 40))
        refused(ResourceError, "the run of one force takes", store.prepare, short())
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    refused(ResourceError, "16 bits", greens.build, short(), tmp_path / "out", workers=1, progress=False)
    assert not (tmp_path / "out").exists()
