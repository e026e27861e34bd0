"""The viewer of a result in a notebook: what it sends to the browser, and what the browser does with it."""

import base64
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from browser import PATH, Browser

import craton
from craton import notebook
from craton.errors import CratonError

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
    time = np.linspace(-0.1, 1.1, 121)
    traces = np.arange(1, 4)[:, None, None] * np.sin(7 * time) * np.ones((3, 2, 1))
    dataset = xr.Dataset(
        {"velocity": (("receiver", "component", "time"), traces, {"units": "m/s"})},
        {
            "receiver": ["A", "B", "C"],
            "component": ["E", "Z"],
            "time": time,
            "x": ("receiver", [500.0, 1500, 2500]),
            "y": ("receiver", np.zeros(3)),
            "z": ("receiver", np.zeros(3)),
        },
    )
    snapshots = {"section": series} | snapshots
    return SimpleNamespace(plan=SimpleNamespace(title="A moving spot"), dataset=dataset, snapshots=snapshots)


def test_contents_are_the_snapshots_and_the_traces():
    result = result_with()
    about, frames, traces = notebook.contents(result)
    picture = about["picture"]
    assert picture["shape"] == [6, 21, 61] and picture["label"] == "velocity Z"
    assert picture["x"] == {"name": "x", "unit": "m", "first": 0, "last": 3000}
    values = np.frombuffer(frames, np.int8).reshape(6, 21, 61) * picture["limit"] / 127
    true = result.snapshots["section"].velocity.sel(component="Z").values
    kept = np.abs(true) < picture["limit"]
    assert np.abs(values - true)[kept].max() < picture["limit"] / 127
    middles = [np.average(X, weights=v.sum(axis=0)) for v in values[[0, 5]]]
    assert middles == [pytest.approx(x, abs=5) for x in (500, 2500)]
    receivers = about["receivers"]
    assert receivers["names"] == ["A", "B", "C"] and receivers["x"] == [500, 1500, 2500]
    assert receivers["y"] == [0, 0, 0]  # z in a vertical plane
    sent = np.frombuffer(traces, np.float32).reshape(3, 2, 121)
    np.testing.assert_array_equal(sent, result.dataset.velocity.values.astype(np.float32))
    json.dumps(about, allow_nan=False)


def test_large_series_are_thinned_and_wrong_names_refused(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_POINTS", 30)
    monkeypatch.setattr(notebook, "MOST_BYTES", 1300)
    about, frames, _ = notebook.contents(result_with(), component="E")
    assert about["picture"]["shape"] == [2, 21, 21] and len(frames) == 2 * 21 * 21
    assert about["picture"]["times"] == [0, pytest.approx(0.6)] and set(frames) == {0}
    with pytest.raises(CratonError, match='no series of snapshots "map"\n    there are: section'):
        notebook.contents(result_with(), series="map")
    with pytest.raises(CratonError, match='no component "N"'):
        notebook.contents(result_with(), component="N")
    volume = result_with().snapshots["section"].expand_dims(y=2, axis=2)
    with pytest.raises(CratonError, match='"box" is no plane: y, z, x'):
        notebook.contents(result_with(box=volume), series="box")
    fields = SimpleNamespace(dataset=xr.Dataset({"g_z": (("y", "x"), np.zeros((2, 2)))}))
    with pytest.raises(CratonError, match="has no time"):
        notebook.contents(fields)


def test_widget_of_a_result(monkeypatch):
    """`Result.view` makes it; where anywidget is missing the message says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    notebook.viewer_class.cache_clear()
    with pytest.raises(CratonError, match=r"pip install 'craton\[notebook\]'"):
        craton.Result.view(result_with())
    monkeypatch.undo()
    pytest.importorskip("anywidget")
    widget = craton.Result.view(result_with())
    assert widget.about["title"] == "A moving spot" and len(widget.frames) == 6 * 21 * 61
    state = widget.get_state()
    assert {"about", "frames", "traces", "frame", "receiver", "_esm"} <= set(state)
    assert "export default { render }" in state["_esm"]


def page_of(result):
    """HTML that does for the viewer what a notebook does."""
    about, frames, traces = notebook.contents(result)
    values = {"about": about, "frame": 0, "receiver": 0}
    data = {name: base64.b64encode(part).decode() for name, part in (("frames", frames), ("traces", traces))}
    script = notebook.SCRIPT.read_text(encoding="utf-8").replace("export default { render };", "")
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
    red = (shown[..., 0] - shown[..., 2] > 0.4) & (shown[..., 1] < 0.5)
    row, column = np.nonzero(red)
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
