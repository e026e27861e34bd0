"""Films of snapshots: every frame is there, on one scale, over what lies underneath."""

import shutil
from types import SimpleNamespace
from unittest.mock import Mock

import filecase
import numpy as np
import pytest
import smallcase
from common import manifest, refused

from craton.cli import main
from craton.driver.films import Films
from craton.errors import CratonError
from craton.report import films, pictures, scales, underlays
from craton.report import stage as stages
from craton.report.style import wave_colours

imageio = pytest.importorskip("imageio.v3")
pytest.importorskip("imageio_ffmpeg")


@pytest.mark.long
def test_made_while_the_run_goes_on(tmp_path):
    """Of all frames at the end; the folder is one that a new run takes away, with a checksum in run.json."""
    out = filecase.run_of(smallcase.changed(("every = 0.25", 'every = 0.125\nfilm = "gif"')), tmp_path)
    frames = imageio.imread(out / "films" / "section.gif", index=None)
    assert len(frames) == smallcase.opened(out, "snapshots/section").sizes["time"] >= 7
    assert manifest(out)["state"] == "finished" and [p.name for p in (out / "films").iterdir()] == ["section.gif"]


@pytest.mark.long
def test_mp4_of_a_component(box, tmp_path, capsys):
    path = tmp_path / "waves.mp4"
    assert main(["film", str(box), "-o", str(path), "--series", "section", "--component", "Z", "--rate", "5"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    frames = imageio.imread(path, plugin="FFMPEG", index=None)
    assert len(frames) == smallcase.opened(box, "snapshots/section").sizes["time"] and frames.shape[2] == 960
    assert [p.name for p in tmp_path.iterdir()] == ["waves.mp4"]
    assert main(["film", str(box), "-o", str(path)]) == 2  # is there already


def test_of_the_first_shot_of_a_survey(box, tmp_path):
    """Whose folder lies in that of the survey, beside those of later shots."""
    shutil.copy(box / "scenario.toml", tmp_path)
    first, second = (shutil.copytree(box, tmp_path / "shots" / stem) for stem in ("00000-A", "00001-B"))
    shutil.rmtree(second / "result.zarr" / "snapshots" / "section")
    assert set(pictures.read_snapshots(tmp_path)) == {"section", "upper"}
    array, _ = films.plane_over_time(tmp_path, "section", "Z")
    np.testing.assert_array_equal(array, films.plane_over_time(box, "section", "Z")[0])
    refused(CratonError, "surveys with --snapshots", films.plane_over_time, tmp_path / "shots")


def test_frames_have_the_colours_of_the_bar_over_the_model(box):
    """Positive red-brown, negative blue, as the norm has it; nothing over the model where nothing moves; a time that changes."""
    array, scene = films.plane_over_time(box, "section", "Z")
    stage = stages.Stage.set_up(array, scene, box)
    top, bottom, left, right = stage.box
    limit, shape = stages.shared_limit(array), array.shape[1:]
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
        # on white the very colour; on grey what white would add is grey
        assert np.abs(painted - (expected - expected.min() / 255 * (255 - below))).max() < 3
    empty = stage.painted(np.full(shape, np.nan), "t = 1 s")
    assert np.array_equal(empty[middle], still[middle]) and not np.array_equal(empty, still)
    # the first frames are not saturated, the last not blank
    shares = np.nanmax(np.abs(array.values), axis=(1, 2)) / stage.limit
    assert 0.9 < max(shares) < 2.5
    last = int(np.flatnonzero(shares > 4 / scales.KNEE)[-1])
    assert np.abs(stage.frame(array, last).astype(int) - stage.painted(np.zeros(shape), "")).max() > 25


def test_relief_is_lit_from_the_north_west():
    along = np.linspace(0, 1000, 21)
    hill = -(((along[:, None] - 500) ** 2 + (along - 500) ** 2) ** 0.5)
    light = underlays.relief(hill, along, along)
    assert light[15, 5] > light[10, 10] - 1e-9 > light[5, 15] + 0.1


def test_films_follow_the_frames(monkeypatch, tmp_path):
    """Begun after an eighth, then when frames have doubled, one at a time, and at the end."""
    process = SimpleNamespace(returncode=0, stderr=None, communicate=lambda: ("", ""))
    popen = Mock(return_value=process)
    monkeypatch.setattr("craton.driver.films.subprocess.Popen", popen)
    written, counts = Films(tmp_path, {"a": "mp4"}, {"a": 240}), []
    for count in range(1, 241):
        process.poll = lambda count=count: None if 60 <= count < 70 else 0
        written.taken("a", count)
        counts += [count] * (popen.call_count - len(counts))
    written.taken("other", 1)
    written.finish()
    assert counts == [30, 70, 140] and popen.call_count == 4


def test_problems(box, capsys):
    for words, said in (
        (["-o", "x.avi"], "a film ends in .mp4, .gif or .webp"),
        (["-o", "x.mp4", "--series", "none"], "there are section, upper"),
        (["-o", "x.mp4", "--series", "section", "--component", "R"], "there are E, N, Z"),
        (["-o", "x.mp4", "--rate", "0"], "frames per second"),
    ):
        assert main(["film", str(box), *words]) in (1, 2) and said in capsys.readouterr().err
