"""Titles and names in any letters: UTF-8 inside, ASCII where a format wants it, no control characters, no mathematics."""

import io as texts
import re
import shutil
import sys

import pytest
from smallcase import write

import craton
from craton import io
from craton.cli import main
from craton.io import fdsn, seismograms
from craton.io.contents import FileError
from craton.report import FIGURES, figures
from craton.text import in_ascii

TITLE = "Ü $\\frac {$ 東京"
STATIONS = "#Network|Station|Latitude|Longitude|Elevation\nGE|{0}|0.01|0.01|1\nÜ|{0}|0.012|0.01|1\n"
ON_EARTH = ("spacing = 100\n\n", "spacing = 100\ngeographic = { longitude = 0, latitude = 0 }\n")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose title, source, stations and networks are not in ASCII."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "stations.txt").write_text(STATIONS.format("ÄÖ"), "utf-8")
    path = write(
        folder,
        ("duration = 1.0", "duration = 0.2"),
        ("every = 0.25", "every = 0.1"),
        ON_EARTH,
        ('"Small case"', f"'{TITLE}'"),
        ('kind = "explosion"', 'kind = "explosion"\nname = "Türkiye 東京"'),
        ('name = "A"\nat = [2000, 1500, 0]', 'file = "stations.txt"'),
        ('waveforms = ["velocity"]', 'waveforms = ["velocity"]\nsampling = 0.02'),
    )
    assert main(["run", str(path), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def test_formats_get_the_letters_that_they_have(run, tmp_path):
    obspy = pytest.importorskip("obspy")
    for name in ("x.sac", "x.sgy", "x.su", "x.mseed", "x.xml", "x.quakeml", "x.vtkhdf"):
        assert main(["convert", str(run), str(tmp_path / name)]) == 0, name
    assert obspy.read(f"{tmp_path}/x.sac/*")[0].stats.sac.kevnm.startswith("Turkiye")
    named = {network.code: {s.site.name for s in network} for network in obspy.read_inventory(tmp_path / "x.xml")}
    assert "GE.ÄÖ" in named["GE"] and named["U"] == {"Ü.ÄÖ"}
    codes = {(t.stats.network, t.stats.station) for t in obspy.read(tmp_path / "x.mseed")}
    assert {("GE", "AO"), ("U", "AO")} <= codes
    event = obspy.read_events(tmp_path / "x.quakeml")[0]
    assert event.event_descriptions[0].text == "Türkiye 東京"


def test_codes_are_different_where_names_are():
    assert in_ascii("Çatalhöyük ß") == "Catalhoyuk ?"
    assert fdsn.network_codes(["Ü", "GE", "Ü"]) == ["U", "GE", "U"]
    assert fdsn.network_codes(["Ü", "U", "東"]) == ["X0", "X1", "X2"]
    assert fdsn.network_codes(["東"]) == ["XX"]


@pytest.fixture
def out(run, tmp_path):
    """A copy of its folder."""
    return shutil.copytree(run, tmp_path / "out")


def test_logarithmic_axes_have_powers(tmp_path):
    """Without mathematics; ticks that are made while a picture is drawn are no mathematics either."""
    with figures.figure(6, 4) as page:
        axis = page.subplots()
        axis.loglog([1e-3, 1e4], [2, 3])
        axis.set_title(TITLE)
    for name in ("a.png", "a.pdf"):
        page.savefig(tmp_path / name)
    assert {"10⁻³", "10⁴"} <= {tick.get_text() for tick in axis.get_xticklabels()}
    minor = "".join(tick.get_text() for tick in axis.get_yticklabels(minor=True))
    assert minor and "$" not in minor


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_picture_that_fails_is_named_and_the_page_takes_a_dollar_as_it_is(out, processes, monkeypatch):
    monkeypatch.setitem(FIGURES, "model", lambda run: {}["no such thing"])
    monkeypatch.setattr("craton.cli.pictures.processes", lambda: processes)
    assert main(["report", str(out)]) == 0
    page = (out / "report.html").read_text("utf-8")
    assert page.count("Not drawn: ") == 1 and "KeyError: &#x27;no such thing&#x27;" in page
    assert TITLE in page and page.count("<img") >= 1


def test_control_characters_are_refused(tmp_path, capsys):
    names = ((f'name = "A{text}"', "receivers.0.name: .*control char") for text in ("\\u0007", "\\nB", "\\u202eB"))
    for change, words in (
        (('"Small case"', '"a\\u001b[31m"'), "title: .*control character"),
        (("[run]", '[run]\n"dev\\u009b" = 1'), "unknown key|control character"),
        *((('name = "A"', name), words) for name, words in names),
    ):
        path = write(tmp_path, change)
        assert main(["plan", str(path)]) == 2
        printed = capsys.readouterr()
        assert re.search(words, printed.err), printed.err
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed.err + printed.out)
        assert main(["run", str(path), "-o", str(tmp_path / "out")]) == 2 and not (tmp_path / "out").exists()


def test_control_characters_of_objects_and_files_are_refused(tmp_path):
    with pytest.raises(craton.errors.ScenarioError, match="control character"):
        craton.Scenario(title="a\x00b")
    for name, text, arguments, words in (
        ("s.txt", STATIONS.format("A\x1b[1m"), ["station"], r"\\x1b.*control character"),
        ("e.csv", "name,x,y,depth,moment\nA\x9bB,1,2,3,1e15\n", ["source", "csv"], "control character"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(FileError, match=words):
            io.read(tmp_path / name, *arguments)


def test_a_title_may_have_lines_and_an_ascii_terminal_gets_replacements(tmp_path, monkeypatch):
    assert main(["plan", str(write(tmp_path, ('"Small case"', '"""two\nlines"""')))]) == 0
    path = write(tmp_path, ('"Small case"', '"Ü"'))
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, texts.TextIOWrapper(texts.BytesIO(), "ascii"))
    assert main(["plan", str(path)]) == 0
    sys.stdout.flush()
    assert sys.stdout.buffer.getvalue().startswith(b"?\n")
    assert main(["plan", str(path), "--set", 'title="Ü\\u0007"']) == 2


@pytest.mark.long
def test_a_failed_conversion_leaves_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(seismograms, "headers_of_trace", lambda *_: 1 / 0)
    for _ in range(2):
        assert main(["convert", str(run), str(tmp_path / "x.sac")]) == 2
        assert not (tmp_path / "x.sac").exists()
    monkeypatch.undo()
    assert main(["convert", str(run), str(tmp_path / "x.sac")]) == 0
