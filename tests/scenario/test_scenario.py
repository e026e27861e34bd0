"""The scenario: units, limits, round trips, overrides, and messages that name file, line, key, value, limit and remedy."""

import math
import re
import tomllib

import numpy as np
import pytest
import smallcase
from common import refused
from paths import ROOT

from craton import Scenario, load
from craton.errors import ScenarioError
from craton.io.units import DIMENSIONS, UnitError, si
from craton.scenario import Gaussian, Position, dumps, format_problems, loads, reads, with_overrides
from craton.tables.document import line_map
from craton.text import nearest

GOOD = """\
title = "good"
[domain]
origin = [0, 0, -10_000]
size = ["10 km", 10_000, 10_000]
spacing = 100
[model]
kind = "layers"
layers = [
    { top = 0, vp = 4200, vs = 2422, rho = 2300 },
    { top = -1400, vp = 6000, vs = 3460, rho = "2.7 g/cm3" },
]
[time]
duration = 8
[[source]]
kind = "moment_tensor"
at = { x = 2000, y = 4000, depth = "2.5 km" }
strike = 0
dip = 90
rake = 0
moment = 1e18
wavelet = { kind = "gaussian", tau = "45 ms" }
[[receivers]]
name = "R1"
at = [9000, 9000, 0]
"""


def changed(*pairs):
    return smallcase.changed(*pairs, text=GOOD)


# --- what is read -------------------------------------------------------------------------------------------------------------------


def test_values_are_si_floats():
    s = loads(GOOD)
    assert s.domain.size == (10_000.0, 10_000.0, 10_000.0) and type(s.domain.spacing) is float
    assert s.model.layers[1].rho == 2700.0
    assert s.source[0].at.xyz == (2000.0, 4000.0, -2500.0)
    assert s.source[0].wavelet.tau == 0.045  # the nearest float: not 45 * 0.001
    assert s.method == "fd" and s.run.order == 4 and s.source[0].wavelet.delay is None
    assert s.boundaries.face("top") == "free" and s.boundaries.face("west") == "cpml"
    assert s.warnings == []
    for spacing, points in ((100, 101), (300, 35), (0.1, 100_001)):  # which complete the last cell
        assert s.domain.points(spacing) == (points,) * 3


def test_examples_load_and_round_trip():
    for name, points in (("two_layers", (151, 126, 91)), ("two_layers_full", (540, 484, 189))):
        s = load(ROOT / "examples" / f"{name}.toml")
        assert s.domain.points(s.domain.spacing) == points and s.domain.top == 0
        assert s.warnings == []
        assert loads(dumps(s)) == s


RICH = """
[[source]]
kind = "force"
name = 'quoted "name" é'
at = [1, 2, -3.5]
force = [0, "1 kN", 0.1]
wavelet = { kind = "samples", times = [0, 0.1, 0.2, 0.30000000000000004], values = [0, 1, 1e-300, -2], delay = -1e-3 }
[[source]]
kind = "explosion"
at = [1, 2, -3]
moment = "1e20 dyn cm"
wavelet = { kind = "samples", file = "wavelet.txt" }
[[source]]
kind = "moment_tensor"
at = [1, 2, -3]
tensor = { xx = 1e15, yz = -1e15 }
wavelet = { kind = "kuepper", duration = 0.3 }
[[receivers]]
name = "L"
line = { from = [0, 0, 0], to = { x = 9000, y = 0, depth = 10 }, count = 4 }
[[receivers]]
name = "G"
grid = { x = [0, 9000, 3], y = [0, 0, 1], depth = 5 }
[[receivers]]
file = "stations.csv"
[[snapshots]]
name = "section"
quantity = "curl"
plane = { depth = 100 }
every = 0.5
[[snapshots]]
name = "all"
every = 1
stride = 4
[boundaries]
top = "rigid"
others = "sponge"
east = "periodic"
west = "periodic"
cpml = { thickness = 12, frequency = 2 }
[output]
waveforms = ["velocity", "pressure"]
sampling = 0.0100000004
"""


def test_round_trip_of_everything():
    s = loads(GOOD + RICH)
    again = loads(dumps(s))
    assert again == s
    assert s.source[1].wavelet.values[2] == 1e-300 and s.source[1].name == 'quoted "name" é'
    assert s.source[2].moment == pytest.approx(1e13, rel=1e-15)
    assert s.output.sampling == 0.01  # whole microseconds
    assert s.receivers[1].line.to.xyz == (9000, 0, -10) and s.receivers[2].grid.height == -5
    assert (s.snapshots[0].plane.axis, s.snapshots[0].plane.coordinate) == ("z", -100)
    assert s.boundaries.face("east") == "periodic" and s.boundaries.face("north") == "sponge"
    assert loads(dumps(s), ["time.duration=9"]) != s


def test_models_round_trip():
    rock = 'kind = "homogeneous"\nvp = 6000\nvs = 0\nrho = 1000\n'
    sphere = '{ shape = "sphere", center = [0,0,-1], radius = 5, dvp = "-10 %" }'
    box = '{ shape = "box", min = [0,0,-2], max = [1,1,-1], vp = 3000, drho = 0.1 }'
    layer = '{ top = 0, vp = 2000, vs = 1000, rho = 2000, vp_gradient = "0.5 km/s/km" }'
    start, end = GOOD.index('kind = "layers"'), GOOD.index("[time]")
    for model, read in (
        (f"{rock}anomalies = [{sphere}]", lambda model: model.anomalies[0].dvp == -0.1),
        (f'kind = "file"\nfile = "m.nc"\nanomalies = [{box}]', lambda model: model.anomalies[0].drho == 0.1),
        (f'kind = "layers"\nlayers = [{layer}]', lambda model: model.layers[0].vp_gradient == 0.5),
    ):
        s = loads(f"{GOOD[:start]}{model}\n{GOOD[end:]}")
        assert loads(dumps(s)) == s and read(s.model), model


def test_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "s.toml"
    file.write_text(GOOD + RICH)
    s = load(file)
    assert s.receivers[3].file == str(tmp_path / "a" / "stations.csv")
    assert s.source[2].wavelet.file == str(tmp_path / "a" / "wavelet.txt")
    rewritten = tmp_path / "s.toml"
    rewritten.write_text(dumps(s))
    assert load(rewritten) == s


def test_built_in_python():
    values = loads(GOOD).model_dump(by_alias=True, exclude_none=True)
    assert Scenario(**values) == loads(GOOD)
    values["source"][0]["wavelet"] = Gaussian(tau="45 ms")
    values["source"][0]["at"] = np.array([2000, 4000, -2500], dtype=np.float32)
    values["domain"]["spacing"] = np.int64(100)
    s = Scenario(**values)
    assert s.source[0].at == Position(x=2000, y=4000, z=-2500) and s.source[0].wavelet.tau == 0.045
    with pytest.raises(ScenarioError) as caught:
        Scenario(**(values | {"time": {"duraton": 8, "step": -1}}))
    assert {p.key for p in caught.value.problems} == {"time.duraton", "time.step"}


def test_overrides():
    words = ["source.0.wavelet.tau=0.2", "domain.spacing=200 m", "run.device=cpu", "run.order = 8"]
    words += ['receivers.0.name="A B"', "boundaries.top=cpml", "source.0.at=[1, 2, -3]"]
    s = loads(GOOD, words)
    assert s.source[0].wavelet.tau == 0.2 and s.domain.spacing == 200 and s.run.device == "cpu" and s.run.order == 8
    assert s.receivers[0].name == "A B" and s.boundaries.face("top") == "cpml" and s.source[0].at.xyz == (1, 2, -3)
    t = with_overrides(s, ["run.device=cuda"])
    assert t.run.device == "cuda" and with_overrides(t, ["run.device=cpu"]) == s


# --- units --------------------------------------------------------------------------------------------------------------------------


UNITS = {
    "length": {"8 km": 8000, "8km": 8000, "-2.5e0 km": -2500, "1_000 m": 1000, 5: 5, ".5 m": 0.5},
    "density": {"2.67 g/cm3": 2670, "2.67 g/cm^3": 2670, "2670 kg/m³": 2670, "2670 kg m-3": 2670},
    "velocity": {"4.2 km/s": 4200},
    "time": {"10 s": 10, "45 ms": 0.045, "2 min": 120},
    "frequency": {"5 Hz": 5, "3 mHz": 0.003, "2 MHz": 2e6},
    "moment": dict.fromkeys(("1e18 N m", "1e18 N·m", "1e18 N*m", "1e18 Nm", "1e25 dyn-cm"), 1e18),
    "force": {"1.5 kN": 1500},
    "angle": {"90 deg": 90, "90°": 90},
    "ratio": {"10 %": 0.1},
    "velocity gradient": {"0.6 1/s": 0.6, "1 km/s/km": 1},
    "density gradient": {"0.1 g/cm3/km": 0.1},
}
WRONG_UNITS = [
    ("8 s", "length", '"8 s" is a time, but a length is required'),
    ("8 kms", "length", 'did you mean "km"'),
    ("8", "length", "number without a unit"),
    ("eight km", "length", "not a number with a unit"),
    ("8 g/cm4", "density", 'did you mean "g/cm3"'),
    (True, "length", "true is not a number"),
    (None, "time", "not a number"),
    (float("nan"), "time", "nan is not a finite"),
    ("1e999 km", "length", "not a finite"),
    ([1], "time", "[1] is not a number"),
    ("3,5 km", "length", "unknown unit"),
    ("", "length", "not a number"),
]


def test_units():
    for dimension, values in UNITS.items():
        assert {text: si(text, dimension) for text in values} == values
    for dimension, (unit, _) in DIMENSIONS.items():
        assert not unit or si(f"7.25 {unit}", dimension) == 7.25
    assert si(f"{math.pi} rad", "angle") == pytest.approx(180, rel=1e-15)


def test_wrong_units():
    for value, dimension, words in WRONG_UNITS:
        with pytest.raises(UnitError) as caught:
            si(value, dimension)
        assert words in str(caught.value) and caught.value.remedy


# --- lines --------------------------------------------------------------------------------------------------------------------------


def leaves(tables, path=()):
    """Every value of nested tables by its path."""
    for key, value in tables.items() if isinstance(tables, dict) else enumerate(tables):
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


# each value begins with the number of its line
NUMBERED = '''\
a = 1 # [not.a.table]
s = """2
b = 2
[no]\\"""
"""
"quoted.key" . x = '6 it # is' # comment
[t.u]
list = [ # comment ]
  9, { k = "9 ]}", l = [9,
  10] },

  "12 x", ]
[[many]]
k = 14
sub = { one = { two = 15 }, three.four = 15 }
[many.table]
deep = 0017-05-27 07:32:00
[[many]]
[[many.inner]]
k = 20
[[many.inner]]
k = 22
last = 23'''


def test_line_map():
    lines = line_map(NUMBERED)
    numbers = {path: int(re.match(r"\d+", str(value))[0]) for path, value in leaves(tomllib.loads(NUMBERED))}
    numbers |= {("t", "u"): 7, ("t", "u", "list"): 8, ("many", 0): 13, ("many", 1): 18}
    assert len(numbers) == 19 and {path: lines.get(path) for path in numbers} == numbers
    assert ("b",) not in lines and ("no",) not in lines


LINES = [
    ("domain.size.0", 4, '"10 km"', '"10 s"'),
    ("model.layers.1.vs", 10, "vs = 3460", 'vs = "fast"'),
    ("source.0.at.depth", 16, '"2.5 km"', '"2.5 kg"'),
    ("source.0.wavelet.tau", 21, '"45 ms"', "-1"),
    ("source.0.at.1", 16, '{ x = 2000, y = 4000, depth = "2.5 km" }', '[1, "b", 3]'),
    ("receivers.0.at", 24, "[9000, 9000, 0]", "[9000, 9000]"),
    ("source.0.dip", 14, "dip = 90\n", ""),  # the table's line where the key is missing
    ("title", 1, '"good"', "5"),
]


def test_problems_are_found_on_their_lines():
    for key, line, old, new in LINES:
        reading = reads(changed((old, new)), file="bad.toml")
        assert [p.key for p in reading.problems] == [key]
        assert format_problems(reading).startswith(f"bad.toml:{line}: {key}: ")


# --- messages -----------------------------------------------------------------------------------------------------------------------


def test_misspelt_names_leave_a_scenario_for_further_checks():
    pairs = ("duration = 8", "duraton = 8"), ("strike", "striek")
    reading = reads(changed(*pairs) + '[run]\ndevice = "gpu"\norder = "four"')
    assert {p.key for p in reading.problems} == {"time.duraton", "source.0.striek", "run.device", "run.order"}
    s = reading.scenario
    assert s.time.duration == 8 and s.run.device == "cuda" and s.run.order == 4
    assert reads(changed(("spacing = 100", "spacing = -100"))).scenario is None
    overridden = reads(GOOD, ["run.order=3", "title.x=1", "domain.spacng=4"])
    assert overridden.scenario is not None and len(overridden.problems) == 3
    assert [p.key for p in reads("").problems] == ["domain", "model", "time", "source"]


def test_an_error_tells_what_a_reading_finds():
    text = changed(("spacing = 100", "spacing = -100"), ("dip = 90", "dip = 99"), ('title = "good"', 'titel = "good"'))
    with pytest.raises(ScenarioError) as caught:
        loads(text, file="bad.toml")
    assert [p.key for p in caught.value.problems] == ["titel", "domain.spacing", "source.0.dip"]
    assert "bad.toml:5: domain.spacing: -100 m is out of range" in str(caught.value)
    assert format_problems(caught.value, "bad.toml", text) == format_problems(reads(text, file="bad.toml"))


NO_TOML = [
    ("[domain]\nspacing = 8 km\n", 2, 'needs quotes: spacing = "8 km"'),
    ("a = [1,\n2\n", 2, "check brackets"),
    ("a = 1\na = 2\nb = 3", 2, "only once"),
    ("a = gaussian", 1, 'needs quotes: a = "gaussian"'),
    ('x = "a\nb"', 1, "must end on the line"),
    ("x = True # y", 1, "write x = true"),
]


def test_not_toml():
    for text, line, part in NO_TOML:
        message = format_problems(reads(text, file="s.toml"))
        assert message.startswith(f"s.toml:{line}: not valid TOML: ") and part in message, message
        assert len(message.split("\n")) == 3


def test_files_with_a_byte_order_mark_and_without_a_place(tmp_path):
    refused(ScenarioError, "no such file", load, tmp_path / "nowhere" / "s.toml")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(tmp_path / "bom.toml") == loads(GOOD)


def test_nearest_names():
    assert nearest("freq", ["frequency", "delay"]) == "frequency"
    assert nearest("Spacing", ["spacing", "size"]) == "spacing"
    assert nearest("xyz", ["spacing", "size"]) is None


# --- warnings -----------------------------------------------------------------------------------------------------------------------


def test_suspicious_magnitudes_warn_with_the_unit_meant():
    pairs = [("vp = 6000", "vp = 5.8"), ('"2.7 g/cm3"', "2.7"), ("[9000, 9000, 0]", "[9, 9, 0]")]
    warnings = loads(changed(*pairs, ("spacing = 100", "spacing = 300"))).warnings
    keys = ["model.layers.1.vp", "model.layers.1.rho", *["domain.size"] * 3, "receivers.0.at"]
    assert [warning.split(":")[0] for warning in warnings] == keys
    assert "did you mean 5.8 km/s = 5800?" in warnings[0] and "did you mean 2.7 g/cm3 = 2700?" in warnings[1]
    assert "35 points and extends over 10200 m" in warnings[2] and "did you mean km?" in warnings[-1]
