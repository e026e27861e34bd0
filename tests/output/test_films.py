"""Films of snapshots: every frame is there, on one scale, over what lies underneath."""

import json
import shutil
import tomllib

import numpy as np
import pytest

import craton
from craton.cli import main
from craton.driver.films import Films
from craton.errors import CratonError
from craton.report import films, pictures, scales, underlays
from craton.report import stage as stages
from craton.report.style import wave_colours

imageio = pytest.importorskip("imageio.v3")
pytest.importorskip("imageio_ffmpeg")

TEXT = """
title = "Small"
[domain]
origin = [0, 0, -2000]
size = [3000, 2000, 2000]
spacing = 100
[model]
kind = "layers"
layers = [
    { top = 0, vp = 2500, vs = 1400, rho = 2200 },
    { top = -1000, vp = 4000, vs = 2300, rho = 2600 },
]
[time]
duration = 0.7
[boundaries]
top = "free"
sponge = { thickness = 3 }
others = "sponge"
[[source]]
kind = "force"
at = { x = 1000, y = 1000, depth = 600 }
force = [0, 0, 1e12]
wavelet = { kind = "ricker", frequency = 3 }
[[snapshots]]
name = "section"
plane = { y = 1000 }
every = 0.1
film = "gif"
[[snapshots]]
name = "all"
every = 0.2
[run]
device = "cpu"
threads = 1
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A run whose film was made beside it."""
    out = tmp_path_factory.mktemp("films") / "out"
    craton.run(craton.Scenario(**tomllib.loads(TEXT)), out=out, progress=False, warn=False)
    return out


def test_made_while_the_run_goes_on(out):
    """Of all frames at the end; the folder is one that a new run takes away, with a checksum in run.json."""
    frames = imageio.imread(out / "films" / "section.gif", index=None)
    assert len(frames) == 7
    assert json.loads((out / "run.json").read_text())["state"] == "finished"
    assert [p.name for p in (out / "films").iterdir()] == ["section.gif"]


def test_of_the_first_shot_of_a_survey(out, tmp_path):
    """Whose folder lies in that of the survey, beside those of later shots."""
    shutil.copy(out / "scenario.toml", tmp_path)
    for stem, last in (("00000-A", None), ("00001-B", "section")):
        shutil.copytree(out, tmp_path / "shots" / stem)
        if last:
            shutil.rmtree(tmp_path / "shots" / stem / "result.zarr" / "snapshots" / last)
    assert set(pictures.read_snapshots(tmp_path)) == {"section", "all"}
    array, _ = films.plane_over_time(tmp_path, "section", "Z")
    np.testing.assert_array_equal(array, films.plane_over_time(out, "section", "Z")[0])
    with pytest.raises(CratonError, match="surveys with --snapshots"):
        films.plane_over_time(tmp_path / "shots")


def test_mp4_of_a_component(out, tmp_path, capsys):
    path = tmp_path / "waves.mp4"
    assert main(["film", str(out), "-o", str(path), "--component", "Z", "--rate", "5"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    frames = imageio.imread(path, plugin="FFMPEG", index=None)
    array, _ = films.plane_over_time(out, None, "Z")
    assert len(frames) == array.sizes["time"] and frames.shape[2] == 960
    assert [p.name for p in tmp_path.iterdir()] == ["waves.mp4"]
    assert main(["film", str(out), "-o", str(path)]) == 2  # is there already


def test_frames_have_the_colours_of_the_bar_over_the_model(out):
    """Positive red-brown, negative blue, as the norm has it; nothing over the model where nothing moves; a time that changes."""
    array, scene = films.plane_over_time(out, "section", "Z")
    stage = stages.Stage.set_up(array, scene, out)
    top, bottom, left, right = stage.box
    limit = stages.shared_limit(array)
    shape = array.shape[1:]
    still = stage.painted(np.zeros(shape), "t = 0 s")
    inside = still[top + 2 : bottom - 2, left + 2 : right - 2].astype(int)
    upper, lower = inside[: len(inside) // 4], inside[-len(inside) // 4 :]
    assert upper[..., 0].min() > lower[..., 0].max() - 40 and upper.mean() > lower.mean() + 20
    middle = (top + bottom) // 2 - 60, right - 60
    norm, colours = scales.shared_norm(limit), wave_colours()
    below = stage.below[middle[0] - top, middle[1] - left]
    for value in (limit, -limit, 0.1 * limit):
        painted = stage.painted(np.full(shape, value), "t = 0 s")[middle][:3]
        expected = 255 * np.array(colours(norm(value))[:3])
        cover = 1 - expected.min() / 255
        # on white the very colour; on grey what white would add is grey
        assert np.abs(painted - (expected - (1 - cover) * (255 - below))).max() < 3
    empty = stage.painted(np.full(shape, np.nan), "t = 1 s")
    assert np.array_equal(empty[middle], still[middle]) and not np.array_equal(empty, still)


def test_first_frames_are_not_saturated_and_the_last_not_blank(out):
    array, scene = films.plane_over_time(out, "section", "Z")
    stage = stages.Stage.set_up(array, scene, out)
    shares = [np.nanmax(np.abs(array.isel(time=n).values)) / stage.limit for n in range(7)]
    assert 0.9 < max(shares) < 2.5
    last = int(np.flatnonzero(np.array(shares) > 4 / scales.KNEE)[-1])
    moved = stage.frame(array, last).astype(int) - stage.painted(np.zeros(array.shape[1:]), "")
    assert np.abs(moved).max() > 25


def test_relief_is_lit_from_the_north_west():
    along = np.linspace(0, 1000, 21)
    hill = -(((along[:, None] - 500) ** 2 + (along - 500) ** 2) ** 0.5)
    light = underlays.relief(hill, along, along)
    assert light[15, 5] > light[10, 10] - 1e-9 > light[5, 15] + 0.1


def test_films_follow_the_frames(monkeypatch, tmp_path):
    """Begun after an eighth, then when frames have doubled, one at a time, and at the end."""
    begun, ready = [], [None]

    class Process:
        returncode, stderr = 0, None

        def __init__(self, words, **how):
            begun.append(words[-5:-3])

        def poll(self):
            return ready[0]

        def communicate(self):
            return "", ""

    monkeypatch.setattr("craton.driver.films.subprocess.Popen", Process)
    made = Films(tmp_path, {"a": "mp4"}, {"a": 240})
    counts = []
    for count in range(1, 241):
        ready[0] = None if 60 <= count < 70 else 0
        made.taken("a", count)
        counts += [count] * (len(begun) - len(counts))
    made.taken("other", 1)
    made.finish()
    assert counts == [30, 70, 140] and len(begun) == 4


def test_problems(out, tmp_path, capsys):
    for words, said in (
        (["-o", "x.avi"], "a film ends in .mp4, .gif or .webp"),
        (["-o", "x.mp4", "--series", "none"], "there are all, section"),
        (["-o", "x.mp4", "--component", "R"], "there are E, N, Z"),
        (["-o", "x.mp4", "--rate", "0"], "frames per second"),
    ):
        assert main(["film", str(out), *words]) in (1, 2)
        assert said in capsys.readouterr().err
