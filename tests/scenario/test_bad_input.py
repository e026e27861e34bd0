"""Wrong scenarios through the real command line: exit code, file, line, key, value, limit or nearest name, remedy; nothing written."""

import os
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import refusals
import smallcase
from attack import corpus
from refusals import AT, MEDIUM
from smallcase import write

import craton
from craton.backends.cuda import available
from craton.cli import main
from craton.errors import ScenarioError
from craton.scenario import format_problems, loads, reads


def listing(folder):
    """Every path in a folder with its content."""
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command line in an own folder: exit code and standard error. What is in the folder must not change."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        before = listing(tmp_path)
        capsys.readouterr()
        code, said = main([str(word) for word in words]), capsys.readouterr()
        assert listing(tmp_path) == before, "something was written"
        assert code != 2 or not said.out, "a refusal on standard output"
        return code, said.err

    return call


def blocks(text):
    """Problems of a message: the lines of each."""
    problems = []
    for line in text.splitlines():
        if line.startswith("    "):
            problems[-1].append(line)
        else:
            problems.append([line])
    return problems


def counted(text):
    """Problems of what the command line says, whose last line counts them."""
    *lines, count = text.splitlines()
    problems = blocks("\n".join(lines))
    assert re.fullmatch(rf"{len(problems)} problems?; nothing was run, nothing was written\.", count), text
    return problems


def about(key, line):
    """True where a line holds the value of a key, or its table where the value is missing."""
    names = [part for part in key.split(".") if not part.isdigit()]
    return not key or any(re.search(rf"\b{name}\b", line) for name in names[-2:])


def wrong(problems, expected, source):
    """What is wrong with problems: each that is expected (key, words) is there, on a line that is about it, in at most three lines
    with a remedy, in the order of the lines; and no other one.
    """
    text, unexpected = "\n".join(line for block in problems for line in block), list(problems)
    for key, *words in expected:
        head = re.compile(r"small\.toml(?::(\d+))?: " + re.escape(f"{key}: " if key else ""))
        block = next((b for b in unexpected if head.match(b[0]) and all(w in "\n".join(b) for w in words)), None)
        if block is None:
            return f"{key} {words} not in\n{text}"
        unexpected.remove(block)
        number, remedy = head.match(block[0])[1], block[-1].removeprefix("    -> ")
        if len(block) > 3 or remedy == block[-1] or len(remedy) < 6:
            return f"a message of more than three lines or without a remedy\n{text}"
        if number is None:  # a table that is missing has no line
            if "is required" not in block[0] or f"[{key}]" not in remedy:
                return f"no line\n{text}"
        elif block[1].strip() != source.splitlines()[int(number) - 1].strip() or not about(key, block[1].strip()):
            return f"line {number} is not that of {key}\n{text}"
    numbers = [int(block[0].split(":")[1]) for block in problems if re.match(r"[^:]*:\d", block[0])]
    if numbers != sorted(numbers):
        return f"not in the order of the lines\n{text}"
    return f"more than expected\n{text}" if unexpected or "Traceback" in text else None


def test_wrong_scenarios(cli, tmp_path):
    failures = []
    for changes, expected in [([row[:2]], [row[2:]]) for row in refusals.SMALL] + refusals.MANY:
        path = write(tmp_path, *changes)
        code, text = cli("run", path.name, "-o", "out")
        failure = wrong(counted(text), expected, path.read_text()) if code == 2 else f"exit code {code}\n{text}"
        failures += [f"{changes}: {failure}"] if failure else []
    assert not failures, "\n\n".join(failures)
    assert len(refusals.SMALL) + len(refusals.MANY) > 100


@pytest.mark.parametrize("base, rows", [(refusals.SEM, refusals.OF_SEM), (refusals.MESH, refusals.OF_MESH)])
def test_wrong_scenarios_of_elements(base, rows):
    failures = []
    for old, new, *expected in rows:
        assert base.count(old) == 1, old
        text = base.replace(old, new)
        failure = wrong(blocks(format_problems(reads(text, file="small.toml"))), [expected], text)
        failures += [f"{new}: {failure}"] if failure else []
    assert not failures, "\n\n".join(failures)


def test_huge_and_tiny_numbers_are_refused_before_anything_is_made():
    failures = []
    for old, new, key in refusals.HUGE:
        with warnings.catch_warnings(), pytest.raises(ScenarioError) as refused:
            warnings.simplefilter("error")
            craton.plan(loads(smallcase.changed((old, new))))
        keys = [problem.key for problem in refused.value.problems]
        if "bug" in str(refused.value) or (key not in str(refused.value) if " " in key else keys != [key]):
            failures.append((new[:80], key, keys, str(refused.value)))
    assert not failures


# --- model files ------------------------------------------------------------------------------------------------------------------------


def test_wrong_model_files(cli, tmp_path):
    path = write(tmp_path, (MEDIUM, 'kind = "file"\nfile = "model.nc"'))
    corpus.model(tmp_path / "model.nc")
    assert cli("plan", path.name)[0] == 0
    vp = np.full((4, 4, 4), 3000.0)
    vp[1, 2, 3] = np.nan
    for options, words in (
        ({"vp": vp}, ("nan", "(3000, 2000, -2000)", "1 of 64")),
        ({"rho": None}, ("model.nc", "no variable rho", "vp, vs")),
        ({"side": 2600.0}, ("model.nc", "x", "2600", "3000")),
    ):
        corpus.model(tmp_path / "model.nc", **options)
        code, text = cli("run", path.name, "-o", "out")
        assert code == 2 and all(word in text for word in words) and "Traceback" not in text, text
        assert all(len(b) <= 3 and b[0].startswith("small.toml:11: model.file: ") for b in counted(text)), text


# --- command lines ----------------------------------------------------------------------------------------------------------------------

LISTED = "in this folder: latin.toml, outside.toml, small.toml"
REPLACE = "another directory, or add --force to replace it"
# words of the command line: (exit code, words of the message)
MISUSE = {
    "rnu small.toml": (2, "craton: ", "'rnu'", "mean 'run'", "craton --help"),
    "run": (2, "craton run: ", "FILE.toml", "craton run --help"),
    "run small.toml --frce": (2, "--frce", "--force", "craton run --help"),
    "run small.toml --device gpu": (2, "--device", "gpu", "cuda"),
    "plan small.toml more": (2, "more", "craton plan --help"),
    "kernels velocty": (2, "NAME: ", '"velocty"', 'did you mean "velocity"'),
    "kernels --order 3": (2, "--order: ", "3", "2, 4, 6, 8, 10, 12, 14 or 16"),
    "kernels velocity --arch hopper": (2, "--arch: ", '"hopper"', "sm_90"),
    "plot nowhere": (2, "OUT: ", "nowhere", "craton run"),
    "plot . overviev": (2, "NAME: ", '"overviev"', 'did you mean "overview"'),
    "plot .": (2, "OUT: ", "result.zarr"),
    "bench fdd": (2, "NAME: ", '"fdd"', 'did you mean "fd"'),
    "new small": (2, "NAME: ", "small.toml is already there", "--force"),
    "run smal.toml": (2, 'smal.toml: there is no such file; did you mean "small.toml"?', f"-> scenario files {LISTED}"),
    "plan thesis": (2, "folder"),
    "run latin.toml": (2, "UTF-8"),
    "run small.toml --set run.order=3": (2, ": run.order: 3 is not 2, 4, 6, 8, 10, 12, 14 or 16"),
    "run small.toml --set domain.spcing=50": (2, "domain.spcing", "spacing"),
    "run small.toml --set domain.spacing": (2, "not key.path=value", "--set domain.spacing=200"),
    "run small.toml --set source.3.moment=1e12": (2, "a list of 1", "no item 3", "from 0 to 0"),
    "run small.toml --set title.x=4": (2, "title.x", "Small case", "no keys"),
    "run small.toml --set domain.spacing=5_s": (2, "domain.spacing", "5 s", "length"),
    "run small.toml --set source.0.at=[1500,1500,900]": (2, "source.0.at", "z = 900 m", "in the air"),
    "run small.toml -o done": (2, "-o: done holds a finished run\n", f"    -> choose {REPLACE}\n"),
    "run outside.toml -o thesis": (2, "source.0.at", "-o: thesis holds files that are not from craton"),
    "run small.toml -o small.toml/out": (3, "could not write to small.toml/out", "-o"),
    "run small.toml -o locked/out": (3, "not writable"),
    "run small.toml --device cuda": (3, "CuPy or the driver is missing", "--device cpu"),
}


def test_wrong_command_lines(cli, tmp_path):
    write(tmp_path)
    write(tmp_path, (AT, "at = [9500, 1500, -1000]"), name="outside.toml")
    (tmp_path / "latin.toml").write_bytes(b"title = \xff\xfe")
    for name in ("thesis", "done"):
        (tmp_path / name).mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("words")
    (tmp_path / "done" / "run.json").write_text('{"state": "finished"}')
    (tmp_path / "locked").mkdir(mode=0o555)
    skip = {"run small.toml --device cuda": available()}
    skip["run small.toml -o locked/out"] = not hasattr(os, "geteuid") or os.geteuid() == 0  # root may write everywhere
    failures = []
    for words, (expected, *parts) in MISUSE.items():
        if skip.get(words):
            continue
        command = [word.replace("_", " ") for word in words.split()]
        code, text = cli(*command)
        parts += [f"--set {command[-1]}"] if "--set" in command else []
        problems = blocks("\n".join(line for line in text.splitlines() if not line.endswith("nothing was written.")))
        shaped = all(len(block) <= 3 and (code == 3 or block[-1].startswith("    -> ")) for block in problems)
        right = code == expected and len(problems) == 1 + ("outside" in words) and all(part in text for part in parts)
        if not (shaped and right and "Traceback" not in text):
            failures.append(f"{words}: {code}\n{text}")
    assert not failures, "\n\n".join(failures)


def test_what_does_not_fit_is_told(cli, tmp_path, monkeypatch):
    """A grid beyond memory, output beyond the disk."""
    path = write(tmp_path, ("size = [3000, 3000, 2500]", 'size = ["3000 km", "3000 km", 2500]'))
    code, text = cli("run", path.name, "-o", "out")
    assert code == 3 and "GiB are free" in text and "domain.spacing = " in text, text
    needed, free = (float(n) for n in re.findall(r"([\d.]+) GiB", text))
    # 900,060,001 columns of 26 points, at least 12 reals each: state and material
    assert needed > 900_060_001 * 26 * 12 * 4 / 2**30 > free
    assert len([line for line in text.splitlines() if not line.startswith("warning")]) <= 3
    path = write(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))
    code, text = cli("run", path.name, "-o", "out")
    assert code == 3 and "GiB are free" in text and "-o" in text, text


def test_no_compiler(tmp_path):
    """A machine without a compiler, in a process of its own: what was found is remembered."""
    write(tmp_path)
    environment = {k: v for k, v in os.environ.items() if k != "CXX"} | {"PATH": str(tmp_path)}
    code = "import sys; sys.modules['ziglang'] = None\nfrom craton.cli import main; sys.exit(main(sys.argv[1:]))"
    before, words = listing(tmp_path), [sys.executable, "-c", code, "run", "small.toml", "-o", "out"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, text=True, capture_output=True)
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
    assert "no C++ compiler found" in done.stderr and "pip install craton[compiler]" in done.stderr
    assert listing(tmp_path) == before
