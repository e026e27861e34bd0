"""craton report: the page about a run, what it says, and what it does in a browser; the pieces that its pictures are made of."""

import base64
import io
import json
import re
from functools import partial

import numpy as np
import pytest
import smallcase
from browser import PATH, Browser
from common import manifest, refused
from filecase import bare, run_of
from gravitycase import SMALL
from PIL import Image

from craton.cli.app import main
from craton.errors import CratonError
from craton.model.globe.planet import Frame
from craton.model.prisms import ensembles, from_scenario
from craton.report import arrivals, figures, models, station_maps
from craton.report.page import drawings
from craton.scenario import load

FORBIDDEN = re.compile(r"""(src|href)=["'](?!data:|#)|url\((?!data:)|@import|https?://""")


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Pictures are drawn without their layout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "figure", bare)
        yield


@pytest.fixture(scope="module")
def page(box):
    """The page of a run."""
    assert main(["report", str(box)]) == 0
    return box / "report.html"


def embedded(path):
    """Records that a page embeds, and their samples (receivers, components, samples), -1 to 1."""
    records = json.loads(re.search(r'id="records">(.*?)</script>', path.read_text(), re.DOTALL)[1])
    samples = np.frombuffer(base64.b64decode(records["samples"]), "<i2") / 32767
    return records, samples.reshape(len(records["names"]), len(records["components"]), records["time"]["count"])


# --- the page ---------------------------------------------------------------------------------------------------------------------------


def test_page_tells_what_was_run(page):
    text, run = page.read_text(), manifest(page.parent)
    words = ["points per wavelength", "Small case", "scenario.toml", "time loop"]
    words += [run["checksum"], run["device"], run["versions"]["numpy"]]
    assert [word for word in words if word in text] == words and words[0] in run["plan"]
    names = re.findall(r'<section id="([\w-]+)"', text)
    assert names == ["run", "map", "model", "records-section", "snapshots", "time", "files"]
    assert re.findall(r"data:image/(\w+);base64", text) == ["png", "png", "webp"] and len(text) < 2_000_000
    with Image.open(io.BytesIO(base64.b64decode(re.search(r"image/webp;base64,([^\"]*)", text)[1]))) as frames:
        assert frames.n_frames == smallcase.opened(page.parent, "snapshots/section").sizes["time"] >= 12
        assert frames.size[0] == 960
    assert not FORBIDDEN.search(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


def test_page_holds_the_samples(page):
    data = smallcase.opened(page.parent)
    records, samples = embedded(page)
    traces = samples * np.array(records["peaks"])[..., None]
    scale = np.abs(data.velocity.values).max(axis=-1, keepdims=True)
    assert (np.abs(traces - data.velocity.values) <= 2e-5 * scale).all()
    assert records["time"]["start"] == pytest.approx(float(data.time[0]))
    assert records["names"] == ["A", "L1", "L2", "L3"]
    # A stands 500 m to the east of the source, 1000 m above it, in 3000 m/s; the pulse has its centre at 0.6 s
    for phase, speed in (("P", 3000), ("S", 1700)):
        assert records["arrivals"][phase][0] == pytest.approx(0.6 + np.hypot(500, 1000) / speed, abs=1e-5)


def test_page_needs_a_run(tmp_path, capsys):
    for folder in (tmp_path / "none", tmp_path):
        assert main(["report", str(folder)]) == 2
    assert "result.zarr is missing" in capsys.readouterr().err
    (tmp_path / "run.json").write_text("{}")
    assert main(["report", str(tmp_path)]) == 2
    assert f"the run in {tmp_path} recorded nothing" in capsys.readouterr().err


# --- in a browser -----------------------------------------------------------------------------------------------------------------------


FIELDS = (12, 24)  # rows and columns of a picture


def ink(png):
    """Share of dark pixels in the fields of a picture: (rows, columns)."""
    dark = np.asarray(Image.open(io.BytesIO(png)).convert("L"), float) < 200
    rows, columns = (n // part for n, part in zip(dark.shape, FIELDS))
    blocks = dark[: rows * FIELDS[0], : columns * FIELDS[1]].reshape(FIELDS[0], rows, FIELDS[1], columns)
    return blocks.mean(axis=(1, 3))


def expected_ink(peaks, traces, width, height):
    """Fields of a station's canvas with a part of its traces, from the samples: the geometry of viewer.js in Python."""
    left, right, top, bottom = 74, 58, 24, 38
    tall, count = (height - bottom - top) / len(traces), traces.shape[1]
    fine = np.linspace(0, count - 1, 20 * count)  # points along the line, a pixel apart and less
    px = left + fine / (count - 1) * (width - left - right)
    hits = np.zeros(FIELDS)
    for n, trace in enumerate(traces):
        y = top + tall * (n + 0.5 - 0.46 * np.interp(fine, np.arange(count), trace) * peaks[n] / max(peaks))
        hits += np.histogram2d(y, px, FIELDS, [[0, height], [0, width]])[0]
    return hits > 0


@pytest.mark.long
@pytest.mark.skipif(PATH is None, reason="no Chromium here: apt-get install chromium")
def test_page_in_a_browser(page):
    records, samples = embedded(page)
    start, step = records["time"]["start"], records["time"]["step"]
    end = start + (records["time"]["count"] - 1) * step
    with Browser() as browser:
        browser.open(page)
        assert browser.value("craton.state.limits") == pytest.approx([start, end])
        assert browser.value("craton.records.names.length") == 4
        assert browser.value("[...document.images].every((i) => i.complete && i.naturalWidth > 300)")

        # what the canvas shows are the samples
        box = browser.box("station")
        whole = ink(browser.screenshot(box))
        lines = expected_ink(records["peaks"][0], samples[0], box["width"], box["height"])
        assert (whole[lines] > 0).mean() > 0.97
        inside = np.zeros(whole.shape, bool)
        inside[1:10, 2:22] = True  # without axes, marks and their words
        assert (whole[inside & ~lines] < 0.06).mean() > 0.9

        # a drag zooms in, a double click shows all again
        left, top, width = box["left"], box["top"], box["width"]
        at = lambda t: left + 74 + (t - start) / (end - start) * (width - 74 - 58)  # noqa: E731
        browser.drag((at(0.3), top + 60), (at(0.8), top + 60))
        assert browser.value("craton.state.limits") == pytest.approx([0.3, 0.8], abs=2 * (end - start) / width)
        assert np.abs(ink(browser.screenshot(box)) - whole).max() > 0.02
        browser.mouse("mouseWheel", at(0.5), top + 60, deltaX=0, deltaY=-200)
        a, b = browser.value("craton.state.limits")
        assert 0.3 < a < b < 0.8
        for count in (1, 2):
            browser.click(at(0.5), top + 60, count)
        assert browser.value("craton.state.limits") == pytest.approx([start, end])
        assert np.abs(ink(browser.screenshot(box)) - whole).max() < 0.01

        # a pick by the button and one by the key; the table compares them with the arrivals
        browser.value("document.getElementById('pick-P').click()")
        browser.click(at(0.92), top + 60)
        browser.mouse("mouseMoved", at(0.96), top + 60)
        browser.value("document.getElementById('station').focus()")
        browser("Input.dispatchKeyEvent", type="keyDown", key="s", text="s")
        picks = browser.value("craton.state.picks")
        assert [pick["phase"] for pick in picks] == ["P", "S"]
        nearest = 0.5 * step + 2 * (end - start) / width  # a pick is at a sample
        assert [pick["time"] for pick in picks] == pytest.approx([0.92, 0.96], abs=nearest)
        cells = browser.value("[...document.querySelectorAll('#picks tr')].map((r) => r.cells[3].textContent)")
        assert float(cells[0]) == pytest.approx(picks[0]["time"] - records["arrivals"]["P"][0], abs=1e-4)

        # a click on the record section chooses a station
        box = browser.box("section")
        browser.click(box["left"] + 400, box["top"] + box["height"] - 66)
        assert browser.value("craton.state.receiver") == int(np.argmax(records["keys"]["distance"]["values"]))

        assert browser.logged == []
        assert [address for address in browser.asked if not address.startswith(("data:", "file:"))] == []
        assert sum(address.startswith("file:") for address in browser.asked) == 1  # the page itself


@pytest.mark.parametrize("processes", [1, 2])
def test_pictures_are_drawn_aside(processes):
    """In their order and with their errors, whoever draws them."""

    def draw(path, what):
        if isinstance(what, Exception):
            raise what
        path.write_text(what)

    with drawings.Drawings(processes) as pictures:
        texts = [f"picture {n}" for n in range(4)]
        works = *texts, CratonError("nothing to see"), ValueError("a mistake")
        numbers = [pictures.add(partial(draw, what=what)) for what in works]
        assert [pictures.picture(n).decode() for n in numbers[:4]] == texts
        refused(CratonError, "nothing to see", pictures.picture, numbers[4])
        refused(ValueError, "a mistake", pictures.picture, numbers[5])


# --- its pieces -------------------------------------------------------------------------------------------------------------------------


def test_arrivals_of_two_layers():
    """Direct and head waves against their closed forms."""
    tops, speeds = np.array([0.0, -1400.0]), np.array([4200.0, 6000.0])
    x = np.array([500.0, 10_000.0])
    times = arrivals.first_arrivals(tops, speeds, -500.0, [0.0, 0.0], x)
    head = x[1] / 6000 + (1400 + 900) * np.sqrt(1 / 4200**2 - 1 / 6000**2)
    assert times == pytest.approx([np.hypot(500, 500) / 4200, head], rel=1e-9)
    # from below: Snell's law is kept, no other path through the interface is faster
    crossings = np.linspace(0, 10_000, 200_001)
    paths = np.hypot(crossings, 1400) / 4200 + np.hypot(10_000 - crossings, 1100) / 6000
    assert arrivals.first_arrivals(tops, speeds, -2500.0, [0.0], [10_000.0])[0] == pytest.approx(paths.min(), rel=1e-8)


def test_arrivals_of_a_gradient_and_of_a_fluid():
    def speeds(z):
        return np.stack([2000 - 0.5 * z, np.where(z > -100, 0.0, 1000.0)])

    tops, (vp, vs) = arrivals.profile(speeds, 0.0, -10_000.0)
    x = np.array([5000.0, 10_000.0])
    times = arrivals.first_arrivals(tops, vp, 0.0, [0.0, 0.0], x)
    assert times == pytest.approx(4 * np.arcsinh(0.5 * x / 4000), rel=5e-4)
    assert tops[np.flatnonzero(np.diff(vs)) + 1] == pytest.approx([-100.0], abs=1e-3)
    assert np.isnan(arrivals.first_arrivals(tops, vs, -500.0, [0.0], [100.0])).all()


MECHANISMS = (
    [0, 0, 0, 0, 0, -1.0],
    [1.0, 1.0, 1.0, 0, 0, 0],
    [-1.0, -1.0, -1.0, 0, 0, 0],
    [0.4, -1.3, 0.6, 0.9, -0.8, 0.3],
)


def test_beachball_is_the_radiation_of_the_full_tensor():
    """Amplitudes are those of ObsPy's far field, and what is filled is where they are positive: of a strike slip, an explosion, an
    implosion, and a tensor with all six.
    """
    farfield = pytest.importorskip("obspy.core.event.source").farfield
    rng = np.random.default_rng(3)
    azimuth, takeoff = rng.uniform(0, 360, 400), rng.uniform(0, 88, 400)
    down, around = rays = np.radians(np.stack([takeoff, azimuth]))  # about north, east, down
    direction = np.stack([np.sin(down) * np.cos(around), np.sin(down) * np.sin(around), np.cos(down)])
    points = np.stack(station_maps.projected(azimuth, takeoff), axis=1)
    for six in MECHANISMS:
        m = station_maps.tensor_of(six)
        motion = farfield([m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]], rays, "P")
        amplitude = station_maps.radiated(m, azimuth, takeoff)
        assert amplitude == pytest.approx((motion * direction).sum(axis=0), abs=1e-12)
        white, *dark, edge = station_maps.patches(six, (2.0, 3.0), 0.5, colour="k")
        assert white.get_facecolor()[:3] == (1, 1, 1) and edge.get_facecolor()[3] == 0 and edge.radius == 0.5
        assert {patch.get_facecolor()[:3] for patch in dark} <= {(0, 0, 0)} and white.center == (2, 3)
        filled = sum(patch.get_path().contains_points(0.5 * points + [2, 3]) for patch in dark) % 2 == 1
        clear = np.abs(amplitude) > 0.03 * np.abs(amplitude).max()
        assert (filled == (amplitude > 0))[clear].all(), six


def test_coastlines():
    """Places on land and at sea, and the shores between."""
    from matplotlib.path import Path

    def on_land(longitude, latitude):
        return sum(Path(ring).contains_point((longitude, latitude)) for ring in station_maps.land()) % 2 == 1

    land = [(12.5, 47.2), (21.0, 39.5), (-60.0, -15.0), (133.0, -25.0), (100.0, 60.0)]
    sea = [(-30.0, 30.0), (160.0, 0.0), (51.0, 42.0), (80.0, -20.0)]  # the Caspian among them
    assert all(on_land(*place) for place in land) and not any(on_land(*place) for place in sea)
    assert np.nanmax(np.abs(np.diff(station_maps.shores(), axis=0))) < 30  # no line across the map


def test_orthographic_projection_and_great_circles():
    with figures.figure(4, 4) as page:
        axis = page.subplots()
        station_maps.draw_visible(axis, Frame(10, 50, geographic=False), [10.0, 10.0, 190.0], [50.0, 80.0, -50.0])
    (x, y), up = axis.lines[0].get_data(), np.sin(np.radians(30))
    assert x[:2] == pytest.approx([0, 0]) and y[:2] == pytest.approx([0, up]) and np.isnan(x[2])
    longitude, latitude = station_maps.great_circle((0.0, 0.0), (90.0, 0.0), 3)
    assert longitude == pytest.approx([0, 45, 90]) and latitude == pytest.approx([0, 0, 0])


def test_page_of_gravity_tells_its_errors(tmp_path):
    """Maps, profiles and the error of each field; the picture of the prisms has their mass."""
    out = run_of(SMALL, tmp_path)
    assert main(["report", str(out)]) == 0
    text, run = (out / "report.html").read_text(), manifest(out)
    assert re.findall(r'<section id="([\w-]+)"', text) == ["run", "model", "fields", "time", "files"]
    assert all(f"{run['error'][name]:.1e}" in text for name in ("g_z", "g_ez"))
    assert "Not drawn" not in text and text.count("data:image/png") == 3
    box = from_scenario.build(load(out / "scenario.toml").prisms)[0]
    for up in (1, 2):
        view = models.mass_per_area(box, "x", "xyz"[up])
        assert float((view * view.area).sum()) == pytest.approx(ensembles.mass(box)[0][0], rel=1e-12)
