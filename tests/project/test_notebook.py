"""craton in a notebook: names and their docstrings, short forms of objects, progress, messages, snapshots in memory."""

import io
import json
import logging
import subprocess
import sys
import types
from contextlib import redirect_stderr
from typing import get_args

import benchscript
import numpy as np
import pytest
import xarray as xr

import craton
from craton.driver import notebook
from craton.driver.progress import progress_bar, task_bar
from craton.scenario import SCENARIOS
from craton.tables.fields import Table

small_runs = benchscript.load("cases.small_runs")
SNAPSHOT = {"name": "map", "quantity": "velocity", "plane": {"z": 0}, "every": 0.1}


def tables_in(annotation, found):
    """All classes of tables that a type leads to."""
    if isinstance(annotation, type) and issubclass(annotation, Table) and annotation not in found:
        found.add(annotation)
        for field in annotation.model_fields.values():
            tables_in(field.annotation, found)
    for part in get_args(annotation):
        tables_in(part, found)
    return found


@pytest.fixture(scope="module")
def scenario():
    base = small_runs.scenario("space")
    tables = {name: getattr(base, name) for name in base.model_fields_set}
    return craton.Scenario(**tables, snapshots=[SNAPSHOT])


@pytest.fixture(scope="module")
def result(scenario):
    return craton.run(scenario, progress=False)


def test_every_table_is_at_hand():
    tables = {
        name: kind for scenario in SCENARIOS.values() for kind in tables_in(scenario, set()) for name in [kind.__name__]
    }
    assert len(tables) > 60
    for name, kind in tables.items():
        assert getattr(craton, name) is kind and kind.__doc__.strip() and name in dir(craton), name
    layers = craton.Layers(layers=[craton.Layer(top=0, vp=3000, vs="1.7 km/s", rho=2300)])
    assert layers.layers[0].vs == 1700 and {"run", "Simulation", "gravity"} <= set(dir(craton))
    with pytest.raises(AttributeError, match="no attribute 'Layerz'"):
        _ = craton.Layerz


def test_import_stays_light():
    code = "import sys, craton; print([m for m in ('pydantic', 'xarray', 'logging', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_short_forms(scenario, result):
    plan = result.plan
    assert "17,576 points" in repr(plan) and len(repr(plan)) < 200
    assert "finished on CPU" in repr(result) and len(repr(result)) < 200
    for thing, word in ((scenario, "source"), (plan, "points per wavelength"), (result, "velocity")):
        html = thing._repr_html_()
        assert word in html and len(html) < 10_000 and html.count("<table>") == html.count("</table>")
    assert "array(" not in scenario._repr_html_()
    gravity = craton.load(benchscript.ROOT / "examples" / "seven_spheres.toml", ["prisms.shape=[10, 10, 5]"])
    plan = craton.plan(gravity)
    assert "g_z" in repr(plan) and "<table>" in plan._repr_html_() and "prisms" in gravity._repr_html_()


def test_snapshots_without_a_folder(scenario, result, tmp_path):
    """They are those of a run with one."""
    (series,) = result.snapshots.values()
    assert series.velocity.dims == ("time", "component", "y", "x") and series.sizes["time"] == 3
    kept = craton.run(scenario, out=tmp_path / "out", progress=False)
    written = kept.snapshots["map"]
    assert series.velocity.equals(written.velocity.load()) and float(abs(series.velocity).max()) > 0
    for name, variable in written.variables.items():
        assert series[name].dims == variable.dims and series[name].attrs == written[name].attrs
    again = craton.Simulation(scenario).run().snapshots["map"]
    xr.testing.assert_equal(again, series)


def test_snapshots_that_do_not_fit_are_not_taken(scenario, monkeypatch, caplog):
    monkeypatch.setattr("craton.driver.waves.SNAPSHOT_SHARE", 0.0)
    assert craton.run(scenario, progress=False).snapshots == {}
    assert "snapshots are not taken: they need" in caplog.text


def test_messages_go_to_the_logger(scenario, caplog, tmp_path):
    """Warnings of the plan; they stand in run.json, too."""
    with caplog.at_level(logging.INFO, "craton"):
        craton.run(scenario, out=tmp_path / "out", progress=False)
    warnings = [record.getMessage() for record in caplog.records if record.name == "craton"]
    assert any("grid under-resolved" in text for text in warnings)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["warnings"] == warnings


def test_messages_of_the_command_line():
    from craton.cli.log import show

    show(), show()
    logger, heard = logging.getLogger("craton"), io.StringIO()
    with redirect_stderr(heard):
        logger.warning("so %s", "it is")
        logger.info("by the way")
    assert heard.getvalue() == "warning: so it is\nnote: by the way\n"


class Handle:
    """What IPython's display gives."""

    def __init__(self, shown):
        self.shown = shown

    def update(self, bundle, raw):
        self.shown.append(bundle)


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook shows, with a stand-in for IPython, which tests do without."""
    shown = []

    def display(bundle, raw, display_id):
        shown.append(bundle)
        return Handle(shown)

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(notebook, "EVERY", 0.0)
    return shown


def test_progress_in_a_notebook(displayed, capsys):
    with progress_bar(40, 1000, "a < b") as report:
        for done in (10, 40):
            report(done)
    assert [bundle["text/plain"].split("%")[0] for bundle in displayed] == [f"a < b {n} " for n in (0, 25, 100)]
    assert 'value="10" max="40"' in displayed[1]["text/html"] and "a &lt; b" in displayed[1]["text/html"]
    assert "point-steps/s" in displayed[1]["text/plain"] and "s left" in displayed[1]["text/plain"]
    with task_bar(4, 1, "shots") as report:
        report("S2", "finished")
    assert displayed[-1]["text/plain"] == "shots 50 % 2 of 4 shots, S2 finished"
    assert capsys.readouterr() == ("", "")


def test_no_notebook():
    assert notebook.displayer() is None
    assert np.isfinite(notebook.EVERY)
