"""craton in a notebook: names and their docstrings, short forms of objects, progress, messages, snapshots in memory, the viewer."""

import base64
import io
import json
import logging
import sys
import types
from contextlib import redirect_stderr

import benchscript
import numpy as np
import pytest
import xarray as xr
from browser import PATH, Browser
from common import manifest, refused

import craton
from craton.driver import progress
from craton.driver.progress import progress_bar, task_bar
from craton.errors import CratonError
from craton.output import notebook as viewer
from craton.scenario import SCENARIOS
from craton.tables.fields import Table

small_runs = benchscript.load("cases.small_runs")
SNAPSHOT = {"name": "map", "quantity": "velocity", "plane": {"z": 0}, "every": 0.1}


@pytest.fixture(scope="module")
def result():
    base = small_runs.scenario("space")
    tables = {name: getattr(base, name) for name in base.model_fields_set}
    return craton.run(craton.Scenario(**tables, snapshots=[SNAPSHOT]), progress=False)


def test_every_table_is_at_hand():
    """Those of all methods, as their schemas name them."""
    parts = [spec for kind in SCENARIOS.values() for spec in kind.model_json_schema()["$defs"].values()]
    tables = {spec["title"]: spec for spec in parts if spec["type"] == "object"}
    assert len(tables) > 60
    for name, spec in tables.items():
        table = getattr(craton, name)
        assert name in dir(craton) and table.__doc__.strip() and issubclass(table, Table), name
        assert table.model_json_schema()["properties"].keys() == spec["properties"].keys(), name
    layers = craton.Layers(layers=[craton.Layer(top=0, vp=3000, vs="1.7 km/s", rho=2300)])
    assert layers.layers[0].vs == 1700 and {"run", "Simulation", "gravity"} <= set(dir(craton))
    with pytest.raises(AttributeError, match="no attribute 'Layerz'"):
        _ = craton.Layerz


def test_short_forms(result):
    plan, scenario = result.plan, result.scenario
    assert "17,576 points" in repr(plan) and len(repr(plan)) < 200
    assert "finished on CPU" in repr(result) and len(repr(result)) < 200
    for thing, word in ((scenario, "source"), (plan, "points per wavelength"), (result, "velocity")):
        html = thing._repr_html_()
        assert word in html and len(html) < 10_000 and html.count("<table>") == html.count("</table>")
    assert "array(" not in scenario._repr_html_()
    gravity = craton.load(benchscript.ROOT / "examples" / "seven_spheres.toml", ["prisms.shape=[10, 10, 5]"])
    plan = craton.plan(gravity)
    assert "g_z" in repr(plan) and "<table>" in plan._repr_html_() and "prisms" in gravity._repr_html_()


def test_snapshots_and_messages_are_those_of_a_run_with_a_folder(result, caplog, tmp_path):
    """Warnings of the plan go to the logger, and stand in run.json."""
    (series,) = result.snapshots.values()
    assert series.velocity.dims == ("time", "component", "y", "x") and series.sizes["time"] == 3
    with caplog.at_level(logging.INFO, "craton"):
        written = craton.run(result.scenario, out=tmp_path / "out", progress=False).snapshots["map"]
    assert series.velocity.equals(written.velocity.load()) and float(abs(series.velocity).max()) > 0
    for name, variable in written.variables.items():
        assert series[name].dims == variable.dims and series[name].attrs == written[name].attrs
    warnings = [record.getMessage() for record in caplog.records if record.name == "craton"]
    assert any("grid under-resolved" in text for text in warnings)
    assert manifest(tmp_path / "out")["warnings"] == warnings
    xr.testing.assert_equal(craton.Simulation(result.scenario).run().snapshots["map"], series)


def test_snapshots_that_do_not_fit_are_not_taken(result, monkeypatch, caplog):
    monkeypatch.setattr("craton.driver.waves.SNAPSHOT_SHARE", 0.0)
    assert craton.run(result.scenario, progress=False).snapshots == {}
    assert "snapshots are not taken: they need" in caplog.text


def test_messages_of_the_command_line():
    from craton.cli.command import show_messages

    show_messages(), show_messages()
    logger, heard = logging.getLogger("craton"), io.StringIO()
    with redirect_stderr(heard):
        logger.warning("so %s", "it is")
        logger.info("by the way")
    assert heard.getvalue() == "warning: so it is\nnote: by the way\n"


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook shows, with a stand-in for IPython, which tests do without."""
    shown, ipython = [], types.ModuleType("IPython")

    def display(bundle, raw, display_id):
        shown.append(bundle)
        return types.SimpleNamespace(update=lambda bundle, raw: shown.append(bundle))

    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    return shown


def test_progress_in_a_notebook(displayed, capsys):
    with progress_bar(40, 1000, "a < b") as report:
        report(10)
        report(40)
    assert [bundle["text/plain"].split("%")[0] for bundle in displayed] == [f"a < b {n} " for n in (0, 25, 100)]
    assert 'value="10" max="40"' in displayed[1]["text/html"] and "a &lt; b" in displayed[1]["text/html"]
    assert "point-steps/s" in displayed[1]["text/plain"] and "s left" in displayed[1]["text/plain"]
    with task_bar(4, 1, "shots") as report:
        report("S2", "finished")
    assert displayed[-1]["text/plain"] == "shots 50 % 2 of 4 shots, S2 finished"
    assert capsys.readouterr() == ("", "")


def test_no_notebook():
    assert progress.displayer() is None and np.isfinite(progress.EVERY)


# --- the viewer: what it sends to the browser, and what the browser does with it -----------------------------------------------------

TIMES = np.linspace(0, 1, 6)
X, Z = np.linspace(0, 3000, 61), np.linspace(-1000, 0, 21)


def result_with(**snapshots):
    """A result as the viewer asks one: a spot moves along x in the series, three receivers have sines of their own."""
    spot = np.exp(-(((X - 500 - 2000 * TIMES[:, None, None]) / 150) ** 2) - ((Z[:, None] + 500) / 150) ** 2)
    field = np.stack([0 * spot, 2 * spot], axis=1)
    series = xr.Dataset(
        {"velocity": (("time", "component", "z", "x"), field, {"units": "m/s"})},
        {"time": TIMES, "component": ["E", "Z"], "z": Z, "x": X},
    )
    time, zeros = np.linspace(-0.1, 1.1, 121), ("receiver", np.zeros(3))
    traces = np.arange(1, 4)[:, None, None] * np.sin(7 * time) * np.ones((3, 2, 1))
    dataset = xr.Dataset(
        {"velocity": (("receiver", "component", "time"), traces, {"units": "m/s"})},
        {"receiver": ["A", "B", "C"], "component": ["E", "Z"], "time": time}
        | {"x": ("receiver", [500.0, 1500, 2500]), "y": zeros, "z": zeros},
    )
    plan = types.SimpleNamespace(title="A moving spot")
    return types.SimpleNamespace(plan=plan, dataset=dataset, snapshots={"section": series} | snapshots)


def test_contents_are_the_snapshots_and_the_traces():
    result = result_with()
    about, frames, traces = viewer.contents(result)
    picture = about["picture"]
    assert picture["shape"] == [6, 21, 61] and picture["label"] == "velocity Z"
    assert picture["x"] == {"name": "x", "unit": "m", "first": 0, "last": 3000}
    values = np.frombuffer(frames, np.int8).reshape(6, 21, 61) * picture["limit"] / 127
    exact = result.snapshots["section"].velocity.sel(component="Z").values
    assert np.abs(values - exact)[np.abs(exact) < picture["limit"]].max() < picture["limit"] / 127
    middles = [np.average(X, weights=v.sum(axis=0)) for v in values[[0, 5]]]
    assert middles == [pytest.approx(x, abs=5) for x in (500, 2500)]
    places = {"names": ["A", "B", "C"], "x": [500, 1500, 2500], "y": [0, 0, 0]}  # y: z in a vertical plane
    assert about["receivers"].items() >= places.items()
    assert traces == result.dataset.velocity.values.astype(np.float32).tobytes()
    json.dumps(about, allow_nan=False)


def test_snapshots_are_shown_without_receivers():
    result = result_with()
    result.dataset = result.dataset.isel(receiver=slice(0)).drop_vars("velocity")
    about, frames, traces = viewer.contents(result)
    assert about["receivers"]["names"] == [] and frames == viewer.contents(result_with())[1] and traces == b""
    result.snapshots = {}
    refused(CratonError, "this result has neither", viewer.contents, result)


def test_large_series_are_thinned_and_wrong_names_refused(monkeypatch):
    monkeypatch.setattr(viewer, "MOST_POINTS", 30)
    monkeypatch.setattr(viewer, "MOST_BYTES", 1300)
    about, frames, _ = viewer.contents(result_with(), component="E")
    assert about["picture"]["shape"] == [2, 21, 21] and len(frames) == 2 * 21 * 21
    assert about["picture"]["times"] == [0, pytest.approx(0.6)] and set(frames) == {0}
    there_are = 'no series of snapshots "map"\n    there are: section'
    refused(CratonError, there_are, viewer.contents, result_with(), series="map")
    refused(CratonError, 'no component "N"', viewer.contents, result_with(), component="N")
    volume = result_with().snapshots["section"].expand_dims(y=[0.0, 900.0, 1800.0], axis=3)
    assert viewer.contents(result_with(box=volume), "box")[1] == viewer.contents(result_with())[1]
    fields = types.SimpleNamespace(dataset=xr.Dataset({"g_z": (("y", "x"), np.zeros((2, 2)))}))
    refused(CratonError, "has no time", viewer.contents, fields)


def test_widget_of_a_result(monkeypatch):
    """`Result.view` makes it; where anywidget is missing the message says what to install."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    viewer.viewer_class.cache_clear()
    refused(CratonError, "pip install 'craton[notebook]'", craton.Result.view, result_with())
    monkeypatch.undo()
    pytest.importorskip("anywidget")
    widget = craton.Result.view(result_with())
    assert widget.about["title"] == "A moving spot" and len(widget.frames) == 6 * 21 * 61
    assert {"about", "frames", "traces", "frame", "receiver", "_esm"} <= set(widget.get_state())
    assert "export default { render }" in widget.get_state()["_esm"]


def page_of(result):
    """HTML that does for the viewer what a notebook does."""
    about, *parts = viewer.contents(result)
    values = {"about": about, "frame": 0, "receiver": 0}
    data = {name: base64.b64encode(part).decode() for name, part in zip(("frames", "traces"), parts)}
    script = viewer.SCRIPT.read_text(encoding="utf-8").replace("export default { render };", "")
    return f"""<!doctype html><meta charset="utf-8"><body id="body"><script type="module">
{script}
const values = {json.dumps(values)}, data = {json.dumps(data)}, heard = {{}};
for (const name in data) values[name] = new DataView(Uint8Array.from(atob(data[name]), (c) => c.charCodeAt(0)).buffer);
const model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; (heard["change:" + name] || []).forEach((f) => f()); }},
  save_changes: () => {{ window.saved = (window.saved || 0) + 1; }},
  on: (name, f) => {{ (heard[name] = heard[name] || []).push(f); }},
}};
window.model = model;
window.stop = render({{ model, el: document.getElementById("body") }});
[...document.querySelectorAll("canvas")].forEach((canvas, n) => {{ canvas.id = ["picture", "lines"][n]; }});
</script>"""


def colours(browser, name):
    """What a canvas shows, (rows, columns, red green blue), 0 to 1."""
    from matplotlib.image import imread

    return imread(io.BytesIO(browser.screenshot(browser.box(name))), format="png")[..., :3]


def red_place(browser):
    """Mean place of what is red on the picture, as a share of its width and height."""
    shown = colours(browser, "picture")[:, 57:746]
    row, column = np.nonzero((shown[..., 0] - shown[..., 2] > 0.4) & (shown[..., 1] < 0.5))
    return column.mean() / shown.shape[1], row.mean() / shown.shape[0]


@pytest.mark.skipif(PATH is None, reason="no Chromium here: apt-get install chromium")
def test_viewer_in_a_browser(tmp_path):
    (tmp_path / "view.html").write_text(page_of(result_with()), encoding="utf-8")
    with Browser() as browser:
        browser.open(tmp_path / "view.html")
        x, y = red_place(browser)
        assert (x, y) == (pytest.approx(500 / 3000, abs=0.01), pytest.approx(0.46, abs=0.05))
        before = colours(browser, "lines")

        # the slider moves the picture and the mark in the traces
        browser.value(
            "(() => { const s = document.querySelector('input'); s.value = 5; s.dispatchEvent(new Event('input')); })()"
        )
        assert browser.value("model.get('frame')") == 5 and browser.value("saved") == 1
        assert red_place(browser)[0] == pytest.approx(2500 / 3000, abs=0.01)
        assert "1.000 s; velocity Z" in browser.value("document.querySelector('span').textContent")
        assert np.abs(colours(browser, "lines") - before).max() > 0.2

        # a click near a receiver chooses it, wherever it is chosen
        box = browser.box("picture")
        browser.click(box["left"] + 56 + 0.8 * 690, box["top"] + 40)
        assert browser.value("model.get('receiver')") == 2
        of_the_third = colours(browser, "lines")
        browser.value("model.set('receiver', 0)")
        assert np.abs(colours(browser, "lines") - of_the_third).max() > 0.2

        # it plays, from the end to the beginning, and stops
        browser.value("document.querySelector('button').click()")
        browser.value("new Promise((done) => setTimeout(done, 350))")
        browser.value("document.querySelector('button').click()")
        frame = browser.value("model.get('frame')")
        assert 0 <= frame < 5
        browser.value("new Promise((done) => setTimeout(done, 250))")
        assert browser.value("model.get('frame')") == frame
        assert browser.logged == [] and len(browser.asked) == 1
