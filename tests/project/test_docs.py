"""The pages say what is: their commands and Python run, their links lead somewhere, their tables and outputs are those of the code.

A page is worked through from top to bottom in a folder of its own, which holds `examples/` with the same scenarios on coarser grids
(`shortened`) and the files that the page has the reader write (`WRITTEN`): commands and Python stay as they are printed.
Commands run in this process; `make` and `pip` are looked at only.
"""

import math
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import benchscript
import numpy as np
import pytest
import xarray
from common import refused, tiers
from paths import ROOT

import craton
from craton.cli import app, main
from craton.cli.plan import one_run, shots_apart
from craton.methods.gravity import options
from craton.report import arrivals, figures
from craton.scenario import FiniteDifferenceScenario, Scenario, dumps, load, loads, with_overrides

DOCS, EXAMPLES_FOLDER = ROOT / "docs", ROOT / "examples"
EXAMPLES = sorted(p for p in EXAMPLES_FOLDER.glob("*.toml") if "fd" in tomllib.loads(p.read_text()).get("method", "fd"))
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.glob("*.md")), ROOT / "CONTRIBUTING.md", *sorted((DOCS / "developer").glob("*.md"))]
# pages that `make test` works through
SHORT = [f"{name}.md" for name in ("README", "run", "python", "gravity", "CONTRIBUTING")]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# what a page has the reader write: the text after a line that ends with the file's name and a colon
WRITTEN = re.compile(r"`([\w.-]+)`[^\n`]*:\n\n```(?:toml|csv|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SEGY = 0.032  # s between samples, at most, which the format takes
# points along the shortest axis of a shortened example: two absorbing layers, or one and a free surface, fit
LEAST = 26
# keys of wavelets and the power of the factor
SCALED = {"tau": 1, "delay": 1, "duration": 1, "frequency": -1, "corner_frequency": -1}
BRIEF = ["time.start=-60", "time.duration=60"]
# coarser meshes and fewer prisms of the examples that are not grids
COARSE = {
    "seven_spheres": ["prisms.shape=[70, 70, 5]", "points.x.2=15", "points.y.2=10"],
    "earth_chunk": ["domain.chunk.period=200", "source.0.wavelet.tau=60", *BRIEF],
    "bolivia_1994": ["domain.chunk.elements=[16, 16]", *BRIEF],
    "globe": ["domain.chunk.elements=[4, 4]", "domain.chunk.growth=[]", *BRIEF],
}
COARSE_BLAST = ["domain.spacing=75", "boundaries.cpml.thickness=6"]
maker = benchscript.load("make_tables", DOCS)


def fenced(page, *languages):
    """(language, text) of the fenced blocks of a page."""
    return [(kind, text) for kind, text in FENCED.findall(page.read_text(encoding="utf-8")) if kind in languages]


def shortened(path, longest=math.inf):
    """Text of a scenario with its spacing, wavelets and step enlarged by one factor: the same domain and times on few points,
    and pictures less often; samples at most `longest` (s) apart.
    """
    scenario = load(path)
    factor = (min(n for n in scenario.domain.points(scenario.domain.spacing) if n > 1) - 1) / (LEAST - 1)
    values = {"domain.spacing": factor * scenario.domain.spacing}
    if scenario.time.step is not None:
        values["time.step"] = factor * scenario.time.step
    for n, source in enumerate(scenario.source):
        for key, power in SCALED.items():
            if value := getattr(getattr(source, "wavelet", None), key, None):
                values[f"source.{n}.wavelet.{key}"] = value * factor**power
    for n, series in enumerate(scenario.snapshots):
        values[f"snapshots.{n}.every"] = factor * series.every
    if scenario.output.sampling is not None:
        values["output.sampling"] = min(factor * scenario.output.sampling, longest)
    return dumps(load(path, [f"{key}={value!r}" for key, value in values.items()]))


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with shortened examples, which is the current one; pictures are coarse, not laid out, and drawn in this process."""
    pytest.importorskip("matplotlib")
    folder = tmp_path / "examples"
    folder.mkdir()
    for path in EXAMPLES:
        (folder / path.name).write_text(shortened(path))
    for name, changes in COARSE.items():
        (folder / f"{name}.toml").write_text(dumps(load(EXAMPLES_FOLDER / f"{name}.toml", changes)))
    survey = folder / "survey_3d.toml"
    survey.write_text(dumps(load(survey, ["source.0.shots.count=3"])))
    monkeypatch.setattr(arrivals, "CURVES", 4)  # distances with travel times by TauP
    monkeypatch.setitem(sys.modules, "pyvista", None)  # a second of harmonica's import, for pictures that no page draws
    monkeypatch.setattr("craton.cli.pictures.processes", lambda: 1)
    monkeypatch.setattr("matplotlib.layout_engine.ConstrainedLayoutEngine.execute", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    with figures.resolution(50):
        yield tmp_path


# --- commands and Python ----------------------------------------------------------------------------------------------------------------


def command(line, folder):
    """Do one line of shell."""
    words = shlex.split(line, comments=True)
    if words[0] == "craton":
        assert main(words[1:]) == 0, line
        if words[1] == "new":
            (folder / f"{words[2]}.toml").write_text(shortened(f"{words[2]}.toml", SEGY))
    elif words[0] == "make":
        assert subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True).returncode == 0, line
    else:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        asked = re.fullmatch(r"pip install '?(?:\.|craton)\[([\w,]+)\]'?", line)
        assert asked and set(asked[1].split(",")) <= set(extras), f"do not know how to check: {line}"


@pytest.mark.costly("the pages that a newcomer reads first")
@pytest.mark.parametrize("name", tiers([page.name for page in PAGES if fenced(page, "sh", "python")], *SHORT))
def test_page_runs(name, workplace, capfd):
    pytest.importorskip("obspy")
    (page,) = (page for page in PAGES if page.name == name)
    names = {"__name__": "__main__"}
    for file, text in WRITTEN.findall(page.read_text(encoding="utf-8")):
        (workplace / file).write_text(text, encoding="utf-8")
    for kind, text in fenced(page, "sh", "python"):
        if kind == "python":
            exec(compile(text, f"{name}, block beginning {text[:40]!r}", "exec"), names)
            if "blast" in names:  # the scenario of python.md
                names["blast"] = with_overrides(names["blast"], COARSE_BLAST)
        else:
            for line in filter(str.strip, text.splitlines()):
                command(line, workplace)
    if page == README:  # at R1, 10 km off, a moment of 1e18 N m moves the ground by centimetres to metres per second
        printed = capfd.readouterr().out
        peaks = re.search(r"R1 +peak velocity +E ([\d.]+) +N ([\d.]+) +Z ([\d.]+) m/s", printed).groups()
        assert all(0.01 < float(peak) < 10 for peak in peaks) and "points per wavelength" in printed


def test_readme_begins_with_two_commands_a_picture_and_a_short_script():
    text = README.read_text()
    (kind, commands), (second, script) = fenced(README, "sh", "python")
    assert (kind, second) == ("sh", "python") and len(script.splitlines()) <= 15
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make demo", "make test"]
    assert text.index("make demo") < text.index("![") < text.index("import craton")
    picture = ROOT / re.search(r"!\[.*?\]\((.*?)\)", text)[1]
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 400_000


def test_commands_in_the_text_are_known():
    """`craton ...` between backticks or on an indented line: commands and options exist; arguments may be left out."""
    known = app.command()
    for page in PAGES:
        text = FENCED.sub("", page.read_text())
        for line in re.findall(r"`craton ([^`]+)`|^    craton (.+)$", text, flags=re.MULTILINE):
            words = shlex.split(line[0] or line[1], comments=True)
            try:
                known.main(words, prog_name="craton", standalone_mode=False)
            except Exception as error:  # typer's own, told apart by what they say
                is_left_out = type(error).__name__ == "MissingParameter" or "requires an argument" in str(error)
                assert is_left_out, f"{page.name}: craton {' '.join(words)}: {error}"


# --- what is made by docs/make_tables.py -------------------------------------------------------------------------------------------------


@pytest.mark.costly("tables of keys and printed outputs go stale with every change of a scenario or a message")
def test_tables_and_outputs_are_those_of_the_code():
    pages = [page for page in PAGES if "<!-- end -->" in page.read_text()]
    assert pages and {page.stem for page in pages} <= set(maker.PAGES)
    stale = [page.name for page in pages if maker.filled(page) != page.read_text()]
    assert not stale, f"{stale} are behind the code: run python docs/make_tables.py"


def tables_on(*pages):
    """Names of the tables of keys on some pages, where every key has a meaning."""
    text = "".join((DOCS / page).read_text() for page in pages)
    blocks = [(m[3], m[4]) for m in maker.BLOCK.finditer(text) if m[2] == "keys"]
    meanings = [(names, key, meaning) for names, rows in blocks for key, meaning in maker.written(rows)]
    assert len(meanings) > 50 and not [row for row in meanings if not row[-1]]
    return {name for names, _ in blocks for name in names.split()}


def test_pages_of_scenarios_and_of_gravity_have_every_table():
    """Those of gradients, Green's functions and injections stand on pages of their own; lists have no keys."""
    described = FiniteDifferenceScenario.model_json_schema()["$defs"]
    tables = {"Scenario", *(name for name, spec in described.items() if spec["type"] == "object")}
    assert tables_on("scenario.md", "gradients.md", "greens.md", "injection.md") == tables
    tables = {
        name
        for name, table in vars(options).items()
        if getattr(table, "__module__", None) == options.__name__ and hasattr(table, "model_fields") and name[0] != "_"
    }
    assert tables_on("gravity.md") == tables - {"GravityScenario"}


def test_limits_on_the_page_are_kept():
    """The limits shown are those that validation enforces: a value just outside is refused, one on the right side is not."""
    text = (EXAMPLES_FOLDER / "two_layers.toml").read_text()
    for key, inside, outside in (("reflection", "0.999", "1"), ("thickness", "1", "0"), ("kappa_max", "1", "0.99")):
        key = f"boundaries.cpml.{key}"
        assert loads(text, [f"{key}={inside}"])
        refused(craton.errors.ScenarioError, key, loads, text, [f"{key}={outside}"])


# --- scenarios --------------------------------------------------------------------------------------------------------------------------


def test_examples_plan():
    for path in EXAMPLES:
        assert one_run(load(path)).steps > 100, path.name


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=attrgetter("name"))
def test_example_runs(path, workplace):
    """Shortened it runs, and something arrives at every receiver."""
    scenario = load(Path("examples") / path.name)
    if shots_apart(scenario):
        result = craton.run_survey(scenario, "out", workers=1, progress=False)
    else:
        result = craton.run(scenario, out="out", progress=False)
    for values in result.dataset.data_vars.values():
        assert np.isfinite(values).all() and (abs(values).max("time") > 0).any(values.dims[1:-1]).all()
    assert (workplace / "out" / "result.zarr").is_dir()


@pytest.mark.long
def test_snippets_of_the_scenario_page_plan(tmp_path, monkeypatch):
    """Each snippet in place of the same tables of the example gives a run."""
    pytest.importorskip("h5netcdf")
    monkeypatch.chdir(tmp_path)
    Path("stations.csv").write_text(fenced(DOCS / "scenario.md", "csv")[0][1])
    shutil.copytree(ROOT / "tests" / "data" / "sources", tmp_path, dirs_exist_ok=True)
    np.savetxt("wavelet.txt", np.column_stack([np.linspace(0, 4, 41), np.hanning(41)]))
    # a model that covers the domain of the example
    axes = {"x": [-5000.0, 15000.0], "y": [-3000.0, 15000.0], "z": [-13000.0, 0.0]}
    values = (("vp", 5000.0), ("vs", 2800.0), ("rho", 2500.0))
    fields = {name: (("z", "y", "x"), np.full((2, 2, 2), value)) for name, value in values}
    xarray.Dataset(fields, axes).to_netcdf("model.nc", engine="h5netcdf")
    example = tomllib.loads((EXAMPLES_FOLDER / "two_layers.toml").read_text())
    for _, text in fenced(DOCS / "scenario.md", "toml"):
        planned = craton.plan(Scenario(**example | tomllib.loads(text)))
        assert planned.steps > 1 and planned.nbytes > 0, text


def test_snippets_use_every_kind():
    """Each kind of model, anomaly, source, wavelet and receiver that the page lists stands in a snippet or in an example."""
    pages = (DOCS / f"{name}.md" for name in ("scenario", "meshes", "earth"))
    texts = [t for page in pages for _, t in fenced(page, "toml")] + [p.read_text() for p in EXAMPLES]
    tables = FiniteDifferenceScenario.model_json_schema()["$defs"].values()
    kinds = {spec["const"] for table in tables for spec in table.get("properties", {}).values() if "const" in spec}
    used = {kind for text in texts for kind in re.findall(r'(?:kind|shape) = "(\w+)"', text)}
    assert kinds - used <= {"gaussian_derivative"}


def test_every_name_of_the_reference_can_be_imported():
    text = (DOCS / "reference" / "api.md").read_text()
    blocks = re.findall(r"currentmodule:: (\S+)\n.. autosummary::\n   :toctree: \S+\n\n((?:   \S+\n)+)", text)
    names = [f"{module}.{name}" for module, listed in blocks for name in listed.split()]
    assert len(names) > 50 and len(blocks) == text.count("autosummary::")
    for name in names:
        module, _, last = name.rpartition(".")
        assert getattr(import_module(module), last), name
