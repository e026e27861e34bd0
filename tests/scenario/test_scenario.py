"""The scenario: units, limits, round trips, overrides, and messages that name file, line, key, value, limit and remedy."""

import math
import textwrap
from pathlib import Path

import numpy as np
import pytest

from craton.errors import ScenarioError
from craton.methods import METHODS
from craton.scenario import (
    FiniteDifferenceScenario,
    Gaussian,
    Position,
    Scenario,
    dumps,
    format_problems,
    load,
    loads,
    read,
    reads,
    with_overrides,
)
from craton.tables.lines import line_map
from craton.text import listed, nearest, shown
from craton.units import DIMENSIONS, UnitError, si

EXAMPLES = Path(__file__).parents[2] / "examples"
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


def changed(*pairs, more=""):
    text = GOOD
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text + textwrap.dedent(more)


def keys(text, overrides=()):
    return [p.key for p in reads(text, overrides).problems]


def only(text, overrides=()):
    problems = reads(text, overrides).problems
    assert len(problems) == 1, problems
    return problems[0]


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


@pytest.mark.parametrize("name, points", [("two_layers", (181, 161, 121)), ("two_layers_full", (540, 484, 189))])
def test_examples_load_and_round_trip(name, points):
    s = load(EXAMPLES / f"{name}.toml")
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
    for model in (
        'kind = "homogeneous"\nvp = 6000\nvs = 0\nrho = 1000\n'
        'anomalies = [{ shape = "sphere", center = [0,0,-1], radius = 5, dvp = "-10 %" }]',
        'kind = "file"\nfile = "m.nc"\nanomalies = [{ shape = "box", min = [0,0,-2], max = [1,1,-1], vp = 3000, drho = 0.1 }]',
        'kind = "layers"\nlayers = [{ top = 0, vp = 2000, vs = 1000, rho = 2000, vp_gradient = "0.5 km/s/km" }]',
    ):
        start, end = GOOD.index('kind = "layers"'), GOOD.index("[time]")
        s = loads(GOOD[:start] + model + "\n" + GOOD[end:])
        assert loads(dumps(s)) == s
        if s.model.kind == "homogeneous":
            assert s.model.anomalies[0].dvp == -0.1
        if s.model.kind == "layers":
            assert s.model.layers[0].vp_gradient == 0.5


def test_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "s.toml"
    file.write_text(GOOD + RICH)
    s = load(file)
    assert s.receivers[3].file == str(tmp_path / "a" / "stations.csv")
    assert s.source[2].wavelet.file == str(tmp_path / "a" / "wavelet.txt")
    other = tmp_path / "s.toml"
    other.write_text(dumps(s))
    assert load(other) == s


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
    s = loads(
        GOOD,
        [
            "source.0.wavelet.tau=0.2",
            "domain.spacing=200 m",
            "run.device=cpu",
            "run.order = 8",
            'receivers.0.name="A B"',
            "boundaries.top=cpml",
            "source.0.at=[1, 2, -3]",
        ],
    )
    assert s.source[0].wavelet.tau == 0.2 and s.domain.spacing == 200 and s.run.device == "cpu" and s.run.order == 8
    assert s.receivers[0].name == "A B" and s.boundaries.face("top") == "cpml" and s.source[0].at.xyz == (1, 2, -3)
    t = with_overrides(s, ["run.device=cuda"])
    assert t.run.device == "cuda" and with_overrides(t, ["run.device=cpu"]) == s


def test_wrong_overrides_are_shown_as_such():
    reading = reads(GOOD, ["run.order=3", "receivers.4.name=R", "title.x=1", "nonsense", "domain.spacng=4"], "s.toml")
    text = format_problems(reading)
    assert reading.scenario is not None  # 3 is replaced by the default for the checks to come
    assert "--set run.order=3: run.order: 3 is not 2, 4, 6, 8, 10, 12, 14 or 16" in text
    assert "receivers is a list of 1, it has no item 4" in text and "--set nonsense: not key.path=value" in text
    assert 'title is "good", it has no keys' in text and 'unknown key "spacng"' in text
    assert len(reading.problems) == 5 and "s.toml:" not in text.replace("s.toml: --set nonsense", "")


# --- units --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, dimension, value",
    [
        ("8 km", "length", 8000),
        ("8km", "length", 8000),
        ("-2.5e0 km", "length", -2500),
        ("1_000 m", "length", 1000),
        (5, "length", 5),
        ("2.67 g/cm3", "density", 2670),
        ("2.67 g/cm^3", "density", 2670),
        ("2670 kg/m³", "density", 2670),
        ("2670 kg m-3", "density", 2670),
        ("4.2 km/s", "velocity", 4200),
        ("10 s", "time", 10),
        ("45 ms", "time", 0.045),
        ("2 min", "time", 120),
        ("5 Hz", "frequency", 5),
        ("1e18 N m", "moment", 1e18),
        ("1e18 N·m", "moment", 1e18),
        ("1e18 N*m", "moment", 1e18),
        ("1e18 Nm", "moment", 1e18),
        ("1e25 dyn-cm", "moment", 1e18),
        ("1.5 kN", "force", 1500),
        ("90 deg", "angle", 90),
        ("90°", "angle", 90),
        ("10 %", "ratio", 0.1),
        ("0.6 1/s", "velocity gradient", 0.6),
        ("1 km/s/km", "velocity gradient", 1),
        ("0.1 g/cm3/km", "density gradient", 0.1),
        (".5 m", "length", 0.5),
        ("3 mHz", "frequency", 0.003),
        ("2 MHz", "frequency", 2e6),
    ],
)
def test_units(text, dimension, value):
    assert si(text, dimension) == value


def test_radians():
    assert si(f"{math.pi} rad", "angle") == pytest.approx(180, rel=1e-15)


def test_every_dimension_has_its_si_unit():
    for dimension, (unit, _) in DIMENSIONS.items():
        if unit:
            assert si(f"7.25 {unit}", dimension) == 7.25


@pytest.mark.parametrize(
    "value, dimension, message",
    [
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
    ],
)
def test_wrong_units(value, dimension, message):
    with pytest.raises(UnitError, match="(?s).*") as caught:
        si(value, dimension)
    assert message in str(caught.value) and caught.value.remedy


# --- lines --------------------------------------------------------------------------------------------------------------------------


def test_line_map():
    text = textwrap.dedent('''\
        a = 1 # [not.a.table]
        s = """
        b = 2
        [no]\\"""
        """
        "quoted.key" . x = 'it # is' # comment
        [t.u]
        list = [ # comment ]
          1, { k = "]}", l = [2,
          3] },

          "x", ]
        [[many]]
        k = 2
        sub = { one = { two = 1 }, three.four = 2 }
        [many.table]
        deep = 1979-05-27 07:32:00
        [[many]]
        [[many.inner]]
        k = 1
        [[many.inner]]
        k = 2
        last = 3''')
    lines = line_map(text)
    expected = {
        ("a",): 1,
        ("s",): 2,
        ("quoted.key", "x"): 6,
        ("t", "u"): 7,
        ("t", "u", "list"): 8,
        ("t", "u", "list", 0): 9,
        ("t", "u", "list", 1, "k"): 9,
        ("t", "u", "list", 1, "l", 0): 9,
        ("t", "u", "list", 1, "l", 1): 10,
        ("t", "u", "list", 2): 12,
        ("many", 0): 13,
        ("many", 0, "k"): 14,
        ("many", 0, "sub", "one", "two"): 15,
        ("many", 0, "sub", "three", "four"): 15,
        ("many", 0, "table", "deep"): 17,
        ("many", 1): 18,
        ("many", 1, "inner", 0, "k"): 20,
        ("many", 1, "inner", 1, "k"): 22,
        ("many", 1, "inner", 1, "last"): 23,
    }
    assert {k: lines.get(k) for k in expected} == expected
    assert ("b",) not in lines and ("no",) not in lines


@pytest.mark.parametrize(
    "key, line, old, new",
    [
        ("domain.size.0", 4, '"10 km"', '"10 s"'),
        ("model.layers.1.vs", 10, "vs = 3460", 'vs = "fast"'),
        ("source.0.at.depth", 16, '"2.5 km"', '"2.5 kg"'),
        ("source.0.wavelet.tau", 21, '"45 ms"', "-1"),
        ("source.0.at.1", 16, '{ x = 2000, y = 4000, depth = "2.5 km" }', '[1, "b", 3]'),
        ("receivers.0.at", 24, "[9000, 9000, 0]", "[9000, 9000]"),
        ("source.0.dip", 14, "dip = 90\n", ""),  # the table's line where the key is missing
        ("title", 1, '"good"', "5"),
    ],
)
def test_problem_is_found_on_its_line(key, line, old, new):
    reading = reads(changed((old, new)), file="bad.toml")
    assert [p.key for p in reading.problems] == [key]
    assert format_problems(reading).startswith(f"bad.toml:{line}: {key}: ")


# --- messages -----------------------------------------------------------------------------------------------------------------------


def test_unknown_key_with_nearest_name_stands_for_the_missing_one():
    problem = only(changed(("duration = 8", "duraton = 8")))
    assert problem.key == "time.duraton" and 'did you mean "duration"?' in problem.message


def test_value_behind_a_misspelt_key_and_kind_is_checked_too():
    text = changed(("duration = 8", 'duraton = "8 km"'), ('"gaussian", tau = "45 ms"', '"gausian", taw = -1'))
    problems = reads(text).problems
    assert sorted(p.key for p in problems) == [
        "source.0.wavelet.kind",
        *["source.0.wavelet.taw"] * 2,
        *["time.duraton"] * 2,
    ]
    messages = " / ".join(p.message for p in problems)
    assert '"8 km" is a length, but a time is required' in messages and "-1 s is out of range" in messages


def test_misspelt_names_leave_a_scenario_for_further_checks():
    reading = reads(
        changed(("duration = 8", "duraton = 8"), ("strike", "striek"), more='[run]\ndevice = "gpu"\norder = "four"')
    )
    assert {p.key for p in reading.problems} == {"time.duraton", "source.0.striek", "run.device", "run.order"}
    assert (
        reading.scenario.time.duration == 8
        and reading.scenario.run.device == "cuda"
        and reading.scenario.run.order == 4
    )
    assert reads(changed(("spacing = 100", "spacing = -100"))).scenario is None


def test_all_problems_at_once_at_most_three_lines_each():
    text = changed(
        ("spacing = 100", "spacing = -100"),
        ('"layers"\n', '"layrs"\n'),
        ("vp = 6000", 'vp = "6 km"'),
        ("dip = 90", "dip = 99"),
        ("[9000, 9000, 0]", '"there"'),
        ('title = "good"', 'titel = "good"'),
        more="""\
        [boundaries]
        others = "free"
        [run]
        order = 5
        [[receivers]]
        name = "X"
        [[snapshots]]
        name = "a/b"
        quantity = "presure"
        every = 0
        plane = { x = 1, y = 2 }
        """,
    )
    reading = reads(text, file="bad.toml")
    assert {p.key for p in reading.problems} == {
        "domain.spacing",
        "model.kind",
        "model.layers.1.vp",
        "source.0.dip",
        "receivers.0.at",
        "titel",
        "boundaries.others",
        "run.order",
        "receivers.1",
        "snapshots.0.name",
        "snapshots.0.quantity",
        "snapshots.0.every",
        "snapshots.0.plane",
    }
    shown = format_problems(reading).split("\n")
    heads = [i for i, row in enumerate(shown) if row.startswith("bad.toml:")]
    assert len(heads) == 13 and heads[0] == 0
    assert all(1 <= b - a <= 3 for a, b in zip(heads, [*heads[1:], len(shown)]))
    numbers = [int(shown[i].split(":")[1]) for i in heads]
    assert numbers == sorted(numbers)
    with pytest.raises(ScenarioError) as caught:
        loads(text, file="bad.toml")
    assert len(caught.value.problems) == 13 and "bad.toml:5: domain.spacing: -100 m is out of range" in str(
        caught.value
    )
    assert format_problems(caught.value, "bad.toml", text) == format_problems(reading)


BAD = [  # what is changed, key, a part of the message or remedy
    ([("spacing = 100", "spacing = 0")], "domain.spacing", "must be greater than 0 m"),
    ([("spacing = 100", "spacing = true")], "domain.spacing", "true is not a number"),
    ([("spacing = 100", "spacing = nan")], "domain.spacing", "nan is not a finite number"),
    ([("spacing = 100", "spacing = 100\nmax_frequency = 2")], "domain.max_frequency", "are mutually exclusive"),
    ([("spacing = 100\n", "")], "domain.spacing", "neither spacing nor max_frequency"),
    ([('["10 km", 10_000,', '["10 m", 10_000,')], "domain.size.0", "10 m, is less than spacing = 100 m"),
    ([('["10 km", 10_000, 10_000]', "10_000")], "domain.size", "10000 is not a list of three numbers"),
    ([("duration = 8", "duration = 0")], "time.duration", "greater than 0 s"),
    ([("duration = 8", "duration = 8\nstep = 9")], "time.step", "longer than the run, 8 s"),
    ([("duration = 8", "duration = 8\nstart = 8")], "time.start", "not before the end"),
    (
        [("duration = 8", 'duration = 8\nfrequency = "2 Hz"')],
        "time.frequency",
        "valid keys here: duration, step, start",
    ),
    ([("top = -1400", "top = 1400")], "model.layers.1.top", "not below the top of the previous layer, 0 m"),
    ([("rho = 2300", "rho = -2300")], "model.layers.0.rho", "-2300 kg/m3 is out of range"),
    ([(", rho = 2300", "")], "model.layers.0.rho", "missing"),
    (
        [('"layers"\n', '"zzz"\n')],
        "model.kind",
        '"homogeneous", "layers", "file", "regions", "prem", "ak135" or "radial"',
    ),
    (
        [('kind = "layers"\n', "")],
        "model.kind",
        'write kind = "homogeneous", "layers", "file", "regions", "prem", "ak135" or "radial"',
    ),
    (
        [('title = "good"', 'method = "fdtd"')],
        "method",
        f'"fdtd" is not {listed(map(shown, METHODS))}; did you mean "fd"?',
    ),
    ([("rake = 0\n", "rake = 0\nmagnitude = 5.9\n")], "source.0.magnitude", "are mutually exclusive"),
    ([("moment = 1e18\n", "")], "source.0.moment", "the size of the source"),
    ([("moment = 1e18", "moment = -1e18")], "source.0.moment", "-1e+18 N m is out of range"),
    (
        [("moment = 1e18", "tensor = { xy = 1e18 }"), ("strike = 0\ndip = 90\n", "")],
        "source.0.rake",
        "rake and tensor are mutually exclusive",
    ),
    (
        [("moment = 1e18", "tensor = { xq = 1e18 }"), ("strike = 0\ndip = 90\nrake = 0\n", "")],
        "source.0.tensor.xq",
        "unknown key",
    ),
    (
        [('{ x = 2000, y = 4000, depth = "2.5 km" }', "{ x = 1, y = 1, z = 1, depth = 1 }")],
        "source.0.at",
        "are mutually exclusive",
    ),
    ([("wavelet = {", "wavelt = {")], "source.0.wavelt", 'did you mean "wavelet"?'),
    ([('wavelet = { kind = "gaussian", tau = "45 ms" }', "wavelet = 5")], "source.0.wavelet", "5 is not a table"),
    ([('"gaussian", tau = "45 ms"', '"ricker"')], "source.0.wavelet.frequency", "write frequency = 5  # Hz"),
    (
        [('"gaussian", tau = "45 ms"', '"samples", times = [0, 1, 1, 2], values = [0, 1, 2, 3]')],
        "source.0.wavelet.times.2",
        "not after",
    ),
    (
        [('"gaussian", tau = "45 ms"', '"samples", times = [0, 1, 2, 3], values = [0, 1, 2]')],
        "source.0.wavelet.values",
        "3 values are given for 4",
    ),
    ([('"gaussian", tau = "45 ms"', '"samples", values = [0, 1, 2]')], "source.0.wavelet", "only values is given"),
    ([("[[source]]", "[source]")], "source", "write [[source]] with double brackets"),
    ([("at = [9000, 9000, 0]", "at = [0, 0, 0]\nfile = 'a.csv'")], "receivers.0", "at and file are mutually exclusive"),
    (
        [("at = [9000, 9000, 0]", "line = { from = [0,0,0], to = [1,1,0], count = 1 }")],
        "receivers.0.line.count",
        "at least 2",
    ),
    (
        [("at = [9000, 9000, 0]", "line = { from = [0,0,0], to = [1,1,0], count = 2.5 }")],
        "receivers.0.line.count",
        "whole number",
    ),
    (
        [("at = [9000, 9000, 0]", "grid = { x = [0, 1, 2], y = [0, 1], z = 0 }")],
        "receivers.0.grid.y",
        "[first, last, count]",
    ),
    ([("at = [9000, 9000, 0]", "grid = { x = [0, 1, 2], y = [0, 1, 2] }")], "receivers.0.grid", "neither z nor depth"),
    ([('name = "R1"', 'name = ""')], "receivers.0.name", "empty"),
]


@pytest.mark.parametrize("pairs, key, part", BAD, ids=[f"{b[1]}-{i}" for i, b in enumerate(BAD)])
def test_one_problem_in_words(pairs, key, part):
    problem = only(changed(*pairs))
    assert problem.key == key and part in f"{problem.message} / {problem.remedy}"
    assert problem.remedy and "\n" not in problem.message


APPENDED = [
    ('[boundaries]\nwest = "periodic"', "boundaries.west", 'west is "periodic" but east is "cpml"'),
    ('[boundaries]\nothers = "periodic"', "boundaries.others", 'bottom is "periodic" (from others) but top is "free"'),
    ('[boundaries]\neast = "free"', "boundaries.east", "only at the top"),
    ('[boundaries]\nothers = "stacey"', "boundaries.others", 'did you mean "a1"'),
    ('[boundaries]\nothers = "pml"', "boundaries.others", 'did you mean "cpml"?'),
    ("[boundaries]\ncpml = 10", "boundaries.cpml", "it has the keys vp, vs, thickness"),
    ("[boundaries]\ncpml = { thickness = 0 }", "boundaries.cpml.thickness", "at least 1"),
    ("[boundaries]\ncpml = { reflection = 1.5 }", "boundaries.cpml.reflection", "less than 1"),
    ("[output]\nwaveforms = ['velocity', 'velocity']", "output.waveforms.1", "listed twice"),
    ("[output]\nwaveforms = 'velocity'", "output.waveforms", 'write ["velocity"]'),
    ("[output]\nsampling = 1e-9", "output.sampling", "shorter than one microsecond"),
    ("[output]\nnetwork = 'far too long'", "output.network", "not a network code"),
    ("[run]\nthreads = 0", "run.threads", "at least 1"),
    ("[run]\nprecision = 'double'", "run.precision", 'did you mean "float64"?'),
    ("[rum]\nthreads = 1", "rum", 'did you mean "run"?'),
    ("[frequency]", "frequency", "valid keys here: title"),
    ("[[snapshots]]\nname = 's'\nevery = 1\n[[snapshots]]\nname = 's'\nevery = 1", "snapshots.1.name", "is used twice"),
    (
        "[[source]]\nkind = 'force'\nat = [0,0,0]\nforce = [0,0,0]\nwavelet = { kind = 'ricker', frequency = 1 }",
        "source.1.force",
        "zero",
    ),
]


@pytest.mark.parametrize("more, key, part", APPENDED, ids=[f"{b[1]}-{i}" for i, b in enumerate(APPENDED)])
def test_one_problem_in_an_added_table(more, key, part):
    problem = only(GOOD + more)
    assert problem.key == key and part in f"{problem.message} / {problem.remedy}"


def test_sampling_against_step():
    problem = only(changed(("duration = 8", "duration = 8\nstep = 0.01"), more="[output]\nsampling = 0.005"))
    assert problem.key == "output.sampling" and "shorter than the time step, 0.01 s" in problem.message


def test_key_that_belongs_elsewhere():
    problem = only(GOOD.replace("spacing = 100", "spacing = 100\nthreads = 4"))
    assert problem.key == "domain.threads" and problem.remedy == '"threads" belongs in [run]'


@pytest.mark.parametrize(
    "text, line, part",
    [
        ("[domain]\nspacing = 8 km\n", 2, 'needs quotes: spacing = "8 km"'),
        ("a = [1,\n2\n", 2, "check brackets"),
        ("a = 1\na = 2\nb = 3", 2, "only once"),
        ("a = gaussian", 1, 'needs quotes: a = "gaussian"'),
        ('x = "a\nb"', 1, "must end on the line"),
        ("x = True # y", 1, "write x = true"),
    ],
)
def test_not_toml(text, line, part):
    reading = reads(text, file="s.toml")
    message = format_problems(reading)
    assert message.startswith(f"s.toml:{line}: not valid TOML: ") and part in message and len(message.split("\n")) == 3


def test_empty_scenario_names_what_is_needed():
    assert keys("") == ["domain", "model", "time", "source"]


def test_unreadable_files(tmp_path):
    (tmp_path / "scenario.toml").write_text(GOOD)
    (tmp_path / "latin.toml").write_bytes('title = "é"'.encode("latin-1"))
    assert "did you mean" in format_problems(read(tmp_path / "scenaro.toml"))
    assert "this is a folder" in format_problems(read(tmp_path))
    assert "not UTF-8" in format_problems(read(tmp_path / "latin.toml"))
    with pytest.raises(ScenarioError, match="no such file"):
        load(tmp_path / "nowhere" / "s.toml")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(tmp_path / "bom.toml") == loads(GOOD)


def test_nearest_names():
    assert nearest("freq", ["frequency", "delay"]) == "frequency"
    assert nearest("Spacing", ["spacing", "size"]) == "spacing"
    assert nearest("xyz", ["spacing", "size"]) is None


# --- warnings -----------------------------------------------------------------------------------------------------------------------


def test_suspicious_magnitudes_warn_with_the_unit_meant():
    pairs = [
        ("vp = 6000", "vp = 5.8"),
        ('"2.7 g/cm3"', "2.7"),
        ("[9000, 9000, 0]", "[9, 9, 0]"),
        ("spacing = 100", "spacing = 300"),
    ]
    warned = loads(changed(*pairs)).warnings
    assert [w.split(":")[0] for w in warned] == [
        "model.layers.1.vp",
        "model.layers.1.rho",
        *["domain.size"] * 3,
        "receivers.0.at",
    ]
    assert "did you mean 5.8 km/s = 5800?" in warned[0] and "did you mean 2.7 g/cm3 = 2700?" in warned[1]
    assert "35 points and extends over 10200 m" in warned[2] and "did you mean km?" in warned[-1]


def test_points_complete_the_last_cell():
    s = loads(GOOD)
    assert (
        s.domain.points(100) == (101, 101, 101)
        and s.domain.points(300) == (35, 35, 35)
        and s.domain.points(0.1) == (100_001,) * 3
    )


def test_json_schema_for_editors():
    schema = FiniteDifferenceScenario.model_json_schema()
    assert schema["additionalProperties"] is False and "domain" in schema["required"]
