"""Wrong scenarios through the real command line: exit code, file, line, key, value, limit or nearest name, remedy; nothing written."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from smallcase import write

from craton.backends.cuda import available
from craton.cli import main

GPU = available()
AT = "at = [1500, 1500, -1000]"
MEDIUM = 'kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300'
WAVELET = 'wavelet = { kind = "gaussian", tau = 0.12, delay = 0.6 }'
STATION = "at = [2000, 1500, 0]"
LINE = "line = { from = [1000, 1500, 0], to = [1400, 1500, 0], count = 3 }"
PLANE = "plane = { y = 1500 }"

# id: (changes of the small scenario, [(key, words that the problem must say), ...])
SCENARIOS = {
    "misspelt key": ([("spacing = 100", "spcing = 100")], [("domain.spcing", '"spcing"', 'did you mean "spacing"')]),
    "misspelt table": ([("[output]", "[outputs]")], [("outputs", 'did you mean "output"')]),
    "unknown key": ([("rho = 2300", "rho = 2300\nporosity = 0.1")], [("model.porosity", '"porosity"', "vp, vs, rho")]),
    "wrong type: boolean": ([("spacing = 100", "spacing = true")], [("domain.spacing", "true")]),
    "wrong type: text": ([("origin = [0, 0, -2500]", 'origin = "here"')], [("domain.origin", '"here"')]),
    "too few numbers": ([("size = [3000, 3000, 2500]", "size = [3000]")], [("domain.size", "3")]),
    "another dimension": ([("spacing = 100", 'spacing = "5 s"')], [("domain.spacing", "5 s", "m")]),
    "unknown unit": ([("spacing = 100", 'spacing = "5 parsecs"')], [("domain.spacing", "parsecs")]),
    "negative spacing": ([("spacing = 100", "spacing = -100")], [("domain.spacing", "-100 m", "greater than 0")]),
    "size in km": (
        [("size = [3000, 3000, 2500]", "size = [3, 3, 2.5]")],
        [("domain.size.0", "3 m", "100 m", "8 km"), ("domain.size.1",), ("domain.size.2",)],
    ),
    "spacing twice": (
        [("spacing = 100", "spacing = 100\nmax_frequency = 5")],
        [("domain.max_frequency", "mutually exclusive")],
    ),
    "no resolution": ([("spacing = 100\n", "")], [("domain.spacing", "missing", "max_frequency = 5")]),
    "domain thinner than its layers": (
        [
            ("size = [3000, 3000, 2500]", "size = [3000, 1000, 2500]"),
            ("at = [1500, 1500, -1000]", "at = [1500, 500, -1000]"),
            ("at = [2000, 1500, 0]", "at = [2000, 500, 0]"),
            (LINE, "at = [1000, 500, 0]"),
            (PLANE, "plane = { y = 500 }"),
        ],
        [("domain.size", "11 points along y", "13", "longer along y")],
    ),
    "beyond 32-bit indices": (
        [("size = [3000, 3000, 2500]", 'size = ["3e9 km", 3000, 2500]')],
        [("domain.size", "points along x", "larger spacing")],
    ),
    "no model": ([(f"[model]\n{MEDIUM}\n", "")], [("model", "missing")]),
    "unknown model": (
        [('kind = "homogeneous"', 'kind = "homogenous"')],
        [("model.kind", 'did you mean "homogeneous"')],
    ),
    "no density": ([("rho = 2300\n", "")], [("model.rho", "missing")]),
    "negative density": ([("rho = 2300", "rho = -2300")], [("model.rho", "-2300 kg/m3", "greater than 0")]),
    "nan in the model": ([("vp = 3000", "vp = nan")], [("model.vp", "nan")]),
    "vs too fast": ([("vs = 1700", "vs = 2200")], [("model.vs", "2200 m/s", "2121.32", "vp / sqrt(2)")]),
    "gap above the layers": (
        [(MEDIUM, 'kind = "layers"\nlayers = [ { top = -500, vp = 3000, vs = 1700, rho = 2300 } ]')],
        [("model.layers.0.top", "-500")],
    ),
    "layers upside down": (
        [
            (
                MEDIUM,
                'kind = "layers"\nlayers = [\n{ top = -500, vp = 3000, vs = 1700, rho = 2300 },'
                "\n{ top = 0, vp = 3000, vs = 1700, rho = 2000 },\n]",
            )
        ],
        [("model.layers.1.top", "-500")],
    ),
    "no model file": ([(MEDIUM, 'kind = "file"\nfile = "nowhere.nc"')], [("model.file", "nowhere.nc")]),
    "model file of another kind": (
        [(MEDIUM, 'kind = "file"\nfile = "small.toml"')],
        [("model.file", "small.toml", "netCDF")],
    ),
    "no duration": ([("duration = 1.0\n", "")], [("time.duration", "missing")]),
    "unstable step": (
        [("duration = 1.0", "duration = 1.0\nstep = 0.05")],
        [("time.step", "0.05 s", "unstable", "limit", "leave step out")],
    ),
    "step longer than the run": ([("duration = 1.0", "duration = 1.0\nstep = 5")], [("time.step", "5 s", "1 s")]),
    "start after the end": ([("duration = 1.0", "duration = 1.0\nstart = 2")], [("time.start", "2 s", "1 s")]),
    "free surface below": (
        [('others = "cpml"', 'others = "cpml"\nbottom = "free"')],
        [("boundaries.bottom", "only at the top", '"cpml", "sponge"')],
    ),
    "unknown boundary": (
        [('others = "cpml"', 'others = "cmpl"')],
        [("boundaries.others", '"cmpl"', 'did you mean "cpml"')],
    ),
    "periodic on one side": (
        [('others = "cpml"', 'others = "cpml"\nwest = "periodic"')],
        [("boundaries.west", 'east is "cpml"', "both faces periodic")],
    ),
    "reflection above one": (
        [("thickness = 5", "thickness = 5, reflection = 2")],
        [("boundaries.cpml.reflection", "2", "less than 1")],
    ),
    "no source": ([(f'[[source]]\nkind = "explosion"\n{AT}\nmoment = 1e14\n{WAVELET}\n', "")], [("source", "missing")]),
    "source outside": (
        [(AT, "at = [9500, 1500, -1000]")],
        [("source.0.at", "x = 9500 m", "0 to 3000 m", "move it inside")],
    ),
    "source in the air": ([(AT, "at = [1500, 1500, 1000]")], [("source.0.at", "z = 1000 m", "in the air", "depth")]),
    "unknown source": ([('kind = "explosion"', 'kind = "explosoin"')], [("source.0.kind", 'did you mean "explosion"')]),
    "dip beyond its range": (
        [('kind = "explosion"', 'kind = "moment_tensor"\nstrike = 0\nrake = 0\ndip = 200')],
        [("source.0.dip", "200 deg", "90 deg")],
    ),
    "moment and magnitude": (
        [('kind = "explosion"', 'kind = "moment_tensor"\nstrike = 0\nrake = 0\ndip = 20\nmagnitude = 4')],
        [("source.0.magnitude", "moment")],
    ),
    "empty tensor": (
        [('kind = "explosion"', 'kind = "moment_tensor"'), ("moment = 1e14", "tensor = { xx = 0 }")],
        [("source.0.tensor", "zero", "xy = 1e18")],
    ),
    "unknown wavelet": (
        [(WAVELET, 'wavelet = { kind = "rickr", frequency = 2 }')],
        [("source.0.wavelet.kind", '"rickr"', 'did you mean "ricker"')],
    ),
    "wavelet without frequency": (
        [(WAVELET, 'wavelet = { kind = "ricker" }')],
        [("source.0.wavelet.frequency", "missing")],
    ),
    "no wavelet file": (
        [(WAVELET, 'wavelet = { kind = "samples", file = "nothing.txt" }')],
        [("source.0.wavelet.file", "nothing.txt")],
    ),
    "receiver in the air": ([(STATION, "at = [2000, 1500, 10]")], [("receivers.0.at", "z = 10 m", "in the air")]),
    "receiver outside": ([(STATION, "at = [2000, -1500, 0]")], [("receivers.0.at", "y = -1500 m", "0 to 3000 m")]),
    "line leaves the domain": (
        [("to = [1400, 1500, 0]", "to = [1000, 4500, 0]")],
        [("receivers.1.line", '"L3"', "y = 4500 m")],
    ),
    "name taken": ([('name = "A"', 'name = "L2"')], [("receivers.1.name", '"L2"')]),
    "no station file": ([(f'name = "A"\n{STATION}', 'file = "stations.csv"')], [("receivers.0.file", "stations.csv")]),
    "source file missing": (
        [(f'kind = "explosion"\n{AT}\nmoment = 1e14\n{WAVELET}', 'kind = "srf"\nfile = "none.srf"')],
        [("source.0.file", "cannot read", "none.srf", "relative to the scenario")],
    ),
    "source file of another kind": (
        [(f'kind = "explosion"\n{AT}\nmoment = 1e14\n{WAVELET}', 'kind = "cmtsolution"\nfile = "small.toml"')],
        [("source.0.file", "small.toml:1:", "is not a line of a CMTSOLUTION", "docs/sources.md")],
    ),
    "source kind misspelt": (
        [(f'kind = "explosion"\n{AT}\nmoment = 1e14\n{WAVELET}', 'kind = "cmtsolutions"\nfile = "small.toml"')],
        [("source.0.kind", 'did you mean "cmtsolution"'), ("source.0.file", "small.toml:1:")],
    ),
    "plane wave between absorbing sides": (
        [(f'kind = "explosion"\n{AT}\nmoment = 1e14', 'kind = "plane_wave"\nwave = "P"\ndepth = 1000')],
        [("source.0.wave", "periodic", 'west is "cpml"')],
    ),
    "oblique plane wave": (
        [(f'kind = "explosion"\n{AT}\nmoment = 1e14', 'kind = "plane_wave"\nwave = "P"\ndepth = 1000\nincidence = 30')],
        [("source.0.incidence", "30 deg", "only vertical incidence")],
    ),
    "plane wave below the domain": (
        [
            (f'kind = "explosion"\n{AT}\nmoment = 1e14', 'kind = "plane_wave"\nwave = "P"\ndepth = 9000'),
            ('others = "cpml"', 'others = "periodic"\nbottom = "cpml"'),
        ],
        [("source.0.depth", "z = -9000 m", "-2500 to 0 m")],
    ),
    "fibre shorter than its gauge length": (
        [(LINE, "das = { along = [[0, 0, 0], [5, 0, 0]], spacing = 1, gauge = 10 }")],
        [("receivers.1.das.gauge", "10 m", "5 m")],
    ),
    "reference off the globe": (
        [("spacing = 100", "spacing = 100\ngeographic = { longitude = 400, latitude = 0 }")],
        [("domain.geographic.longitude", "400 deg", "360 deg")],
    ),
    "snapshot of a sum": (
        [('quantity = "velocity"', 'quantity = "displacement"')],
        [("snapshots.0.quantity", '"displacement"', '"velocity"')],
    ),
    "snapshot outside": ([(PLANE, "plane = { y = 9500 }")], [("snapshots.0.plane", "9500", "3000")]),
    "snapshots of nothing": ([("every = 0.25", "")], [("snapshots.0.every", "missing")]),
    "snapshots never": ([("every = 0.25", "every = 0")], [("snapshots.0.every", "0 s", "greater than 0")]),
    "sampling below a microsecond": (
        [('waveforms = ["velocity"]', "sampling = 1e-8")],
        [("output.sampling", "1e-08 s", "microsecond")],
    ),
    "unknown quantity": (
        [('waveforms = ["velocity"]', 'waveforms = ["velocty"]')],
        [("output.waveforms.0", '"velocty"', 'did you mean "velocity"')],
    ),
    "order three": ([('device = "cpu"', "order = 3")], [("run.order", "3", "2, 4, 6, 8, 10, 12, 14 or 16")]),
    "half precision": (
        [('device = "cpu"', 'precision = "float16"')],
        [("run.precision", '"float16"', '"float32" or "float64"')],
    ),
    "another program's device": (
        [('device = "cpu"', 'device = "gpu"')],
        [("run.device", '"gpu"', 'did you mean "cuda"')],
    ),
    "unknown method": ([('method = "fd"', 'method = "fdm"')], [("method", '"fdm"', '"fd"', '"sem"', '"gravity"')]),
    "not TOML": ([("spacing = 100", "spacing = 100 m")], [("", "not valid TOML", '"100 m"')]),
    "same key twice": ([("spacing = 100", "spacing = 100\nspacing = 200")], [("", "not valid TOML", "only once")]),
}


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command line in an own folder: exit code and standard error. What is in the folder must not change."""
    monkeypatch.chdir(tmp_path)

    def call(*words, may_write=False):
        before = listing(tmp_path)
        capsys.readouterr()
        code = main([str(w) for w in words])
        if not may_write:
            assert listing(tmp_path) == before, "something was written"
        return code, capsys.readouterr().err

    return call


def listing(folder):
    """Every path in a folder with its content."""
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def blocks(text):
    """Problems of a message: lines of each, the last line, which counts them, left out."""
    *lines, count = text.splitlines()
    found = []
    for line in lines:
        if line.startswith("    "):
            found[-1].append(line)
        else:
            found.append([line])
    assert re.fullmatch(rf"{len(found)} problems?; nothing was run, nothing was written\.", count), text
    return found


def check(text, expected, source, name="small.toml"):
    """Each expected problem (key, words) is there, on a line that is about it, in at most three lines; and no other one."""
    assert "Traceback" not in text
    found = blocks(text)
    assert len(found) == len(expected), text
    for key, *words in expected:
        head = re.compile(re.escape(name) + r"(?::(\d+))?: " + re.escape(f"{key}: " if key else ""))
        block = next((b for b in found if head.match(b[0]) and all(w in "\n".join(b) for w in words)), None)
        assert block, f"{key} {words} not in\n{text}"
        found.remove(block)
        assert len(block) <= 3, text
        number = head.match(block[0])[1]
        remedy = block[-1].removeprefix("    -> ")
        assert remedy != block[-1] and len(remedy) > 5, text
        if number is None:  # a table that is missing has no line
            assert "is required" in block[0] and f"[{key}]" in remedy, text
        else:
            quoted = block[1].strip()
            assert quoted == source.splitlines()[int(number) - 1].strip()
            assert about(key, quoted), text


def about(key, line):
    """True where a line holds the value of a key, or its table where the value is missing."""
    names = [part for part in key.split(".") if not part.isdigit()]
    return not key or any(re.search(rf"\b{name}\b", line) for name in names[-2:])


@pytest.mark.parametrize("name", SCENARIOS)
def test_wrong_scenario(name, cli, tmp_path):
    changes, expected = SCENARIOS[name]
    path = write(tmp_path, *changes)
    code, text = cli("run", path.name, "-o", "out")
    assert code == 2, text
    check(text, expected, path.read_text())


def test_there_are_enough_wrong_scenarios():
    assert len(SCENARIOS) >= 40


def test_all_problems_at_once(cli, tmp_path):
    """Misspelt keys do not hide what only the model, the survey and the solver can see."""
    path = write(
        tmp_path,
        ("duration = 1.0", "duration = 1.0\nstep = 0.05"),
        ("title = ", "titel = "),
        (AT, "at = [9500, 1500, -1000]"),
        (STATION, "at = [2000, 1500, 10]"),
        (PLANE, "plane = { x = -1 }"),
        ('others = "cpml"', 'others = "cmpl"'),
    )
    code, text = cli("run", path.name, "-o", "out")
    assert code == 2
    check(
        text,
        [
            ("titel", "title"),
            ("time.step", "unstable"),
            ("boundaries.others", "cmpl"),
            ("source.0.at", "9500"),
            ("receivers.0.at", "air"),
            ("snapshots.0.plane", "x = -1 m"),
        ],
        path.read_text(),
    )
    lines = [int(line.split(":")[1]) for line in text.splitlines() if line.startswith("small.toml:")]
    assert lines == sorted(lines)


def test_wrong_model_and_wrong_survey_at_once(cli, tmp_path):
    path = write(
        tmp_path, ("vs = 1700", "vs = 2200"), (AT, "at = [9500, 1500, -1000]"), ("spacing = 100", "max_frequency = 5")
    )
    code, text = cli("plan", path.name)
    assert code == 2
    check(text, [("model.vs", "2200"), ("source.0.at", "9500")], path.read_text())


# --- model files ------------------------------------------------------------------------------------------------------------------------


def model_file(folder, extent=3000.0, nan=False, drop=()):
    """A netCDF model of 4 x 4 x 4 points from (0, 0, -extent) to (extent, extent, 0)."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    x, z = np.linspace(0, extent, 4), np.linspace(-extent, 0, 4)
    values = {name: np.full((4, 4, 4), v) for name, v in (("vp", 3000.0), ("vs", 1700.0), ("rho", 2300.0))}
    if nan:
        values["vp"][1, 2, 3] = np.nan
    fields = {name: (("z", "y", "x"), v) for name, v in values.items() if name not in drop}
    xarray.Dataset(fields, {"x": x, "y": x, "z": z}).to_netcdf(folder / "model.nc", engine="h5netcdf")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"nan": True}, ("nan", "(3000, 2000, -2000)", "1 of 64")),
        ({"drop": ("rho",)}, ("model.nc", "no variable rho", "vp, vs")),
        ({"extent": 2600.0}, ("model.nc", "x", "2600", "3000")),
    ],
    ids=["nan", "variable missing", "smaller than the domain"],
)
def test_wrong_model_file(options, words, cli, tmp_path):
    model_file(tmp_path, **options)
    path = write(tmp_path, (MEDIUM, 'kind = "file"\nfile = "model.nc"'))
    code, text = cli("run", path.name, "-o", "out")
    assert code == 2
    found = blocks(text)
    assert "Traceback" not in text and all(
        len(b) <= 3 and b[0].startswith("small.toml:11: model.file: ") for b in found
    ), text
    assert all(word in text for word in words), text


def test_right_model_file_is_no_problem(cli, tmp_path):
    model_file(tmp_path)
    path = write(tmp_path, (MEDIUM, 'kind = "file"\nfile = "model.nc"'))
    assert cli("plan", path.name)[0] == 0


# --- files and command lines ------------------------------------------------------------------------------------------------------------


def test_no_such_scenario(cli, tmp_path):
    write(tmp_path)
    code, text = cli("run", "smal.toml")
    assert code == 2 and blocks(text) == [
        [
            'smal.toml: there is no such file; did you mean "small.toml"?',
            "    -> scenario files in this folder: small.toml",
        ]
    ]


def test_folder_instead_of_a_scenario(cli, tmp_path):
    (tmp_path / "runs").mkdir()
    code, text = cli("plan", "runs")
    assert code == 2 and "folder" in text and "Traceback" not in text


def test_binary_instead_of_a_scenario(cli, tmp_path):
    (tmp_path / "small.toml").write_bytes(b"title = \xff\xfe")
    code, text = cli("run", "small.toml")
    assert code == 2 and len(blocks(text)) == 1 and "UTF-8" in text


@pytest.mark.parametrize(
    "override, words",
    [
        ("domain.spcing=50", ("domain.spcing", "spacing")),
        ("domain.spacing", ("not key.path=value", "--set domain.spacing=200")),
        ("source.3.moment=1e12", ("a list of 1", "no item 3", "from 0 to 0")),
        ("title.x=4", ("title.x", "Small case", "no keys")),
        ("domain.spacing=5 s", ("domain.spacing", "5 s", "length")),
        ("source.0.at=[1500,1500,900]", ("source.0.at", "z = 900 m", "in the air")),
    ],
)
def test_wrong_override(override, words, cli, tmp_path):
    write(tmp_path)
    code, text = cli("run", "small.toml", "-o", "out", "--set", override)
    assert code == 2, text
    (block,) = blocks(text)
    assert len(block) <= 3 and f"--set {override}" in block[0] and "Traceback" not in text, text
    assert all(word in text for word in words), text


# words of the command line -> (words of the message)
MISUSE = {
    "rnu small.toml": ("craton: ", "'rnu'", "mean 'run'", "craton --help"),
    "run": ("craton run: ", "FILE.toml", "craton run --help"),
    "run small.toml --frce": ("--frce", "--force", "craton run --help"),
    "run small.toml --device gpu": ("--device", "gpu", "cuda"),
    "plan small.toml more": ("more", "craton plan --help"),
    "kernels velocty": ("NAME: ", '"velocty"', 'did you mean "velocity"'),
    "kernels --order 3": ("--order: ", "3", "2, 4, 6, 8, 10, 12, 14 or 16"),
    "kernels velocity --arch hopper": ("--arch: ", '"hopper"', "sm_90"),
    "plot nowhere": ("OUT: ", "nowhere", "craton run"),
    "plot . overviev": ("NAME: ", '"overviev"', 'did you mean "overview"'),
    "plot .": ("OUT: ", "result.zarr"),
    "bench fdd": ("NAME: ", '"fdd"', 'did you mean "fd"'),
    "new small": ("NAME: ", "small.toml is already there", "--force"),
}


@pytest.mark.parametrize("words", MISUSE)
def test_wrong_command_line(words, cli, tmp_path):
    write(tmp_path)
    code, text = cli(*words.split())
    assert code == 2, text
    lines = [line for line in text.splitlines() if not line.endswith("nothing was written.")]
    assert 1 <= len(lines) <= 3 and lines[-1].startswith("    -> ") and "Traceback" not in text, text
    assert all(word in text for word in MISUSE[words]), text


# --- OUT --------------------------------------------------------------------------------------------------------------------------------


def test_a_finished_run_stays(cli, tmp_path):
    path = write(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text('{"state": "finished"}')
    code, text = cli("run", path.name, "-o", "out")
    assert code == 2 and blocks(text) == [
        ["-o: out holds a finished run", "    -> choose another directory, or add --force to replace it"]
    ]


def test_files_of_others_stay(cli, tmp_path):
    path = write(tmp_path, (AT, "at = [9500, 1500, -1000]"))
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("words")
    code, text = cli("run", path.name, "-o", "thesis")
    assert (
        code == 2
        and len(blocks(text)) == 2
        and "source.0.at" in text
        and "-o: thesis holds files that are not from craton" in text
    )


def test_out_below_a_file(cli, tmp_path):
    path = write(tmp_path)
    code, text = cli("run", path.name, "-o", "small.toml/out")
    assert code == 3 and "cannot write to small.toml/out" in text and "-o" in text and len(text.splitlines()) <= 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_out_without_permission(cli, tmp_path):
    path = write(tmp_path)
    (tmp_path / "locked").mkdir(mode=0o555)
    code, text = cli("run", path.name, "-o", "locked/out")
    assert code == 3 and "not writable" in text and len(text.splitlines()) <= 3


# --- what does not fit ------------------------------------------------------------------------------------------------------------------


def test_grid_beyond_memory(cli, tmp_path):
    path = write(tmp_path, ("size = [3000, 3000, 2500]", 'size = ["3000 km", "3000 km", 2500]'))
    code, text = cli("run", path.name, "-o", "out")
    assert code == 3 and "GiB are free" in text and "domain.spacing = " in text, text
    needed, free = (float(n) for n in re.findall(r"([\d.]+) GiB", text))
    # 900,060,001 columns of 26 points, at least 12 reals each: state and material
    assert needed > 900_060_001 * 26 * 12 * 4 / 2**30 > free
    assert len([line for line in text.splitlines() if not line.startswith("warning")]) <= 3


def test_output_beyond_the_disk(cli, tmp_path, monkeypatch):
    path = write(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))
    code, text = cli("run", path.name, "-o", "out")
    assert code == 3 and "GiB are free" in text and "-o" in text, text


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_no_gpu(cli, tmp_path):
    path = write(tmp_path)
    code, text = cli("run", path.name, "-o", "out", "--device", "cuda")
    assert code == 3 and "CuPy or the driver is missing" in text and "--device cpu" in text


def test_no_compiler(tmp_path):
    """A machine without a compiler, in a process of its own: what was found is remembered."""
    path = write(tmp_path)
    environment = {k: v for k, v in os.environ.items() if k != "CXX"} | {"PATH": str(tmp_path)}
    code = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda name, *a: None if name == 'ziglang' else f(name, *a)\n"
    code += "import sys; from craton.cli import main; sys.exit(main(['run', 'small.toml', '-o', 'out']))"
    before = listing(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=path.parent, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 3, done.stderr
    assert (
        "no C++ compiler found" in done.stderr
        and "pip install craton[compiler]" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert listing(tmp_path) == before


def test_real_process(tmp_path):
    """The installed program: exit code, standard error, nothing on standard output."""
    path = write(tmp_path, ("spacing = 100", "spcing = 100"))
    done = subprocess.run(
        [sys.executable, "-m", "craton", "run", path.name, "-o", "out"], cwd=tmp_path, text=True, capture_output=True
    )
    assert done.returncode == 2 and done.stdout == "" and not (tmp_path / "out").exists()
    check(done.stderr, [("domain.spcing", 'did you mean "spacing"')], path.read_text())
