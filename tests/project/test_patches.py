"""The patches of docs/developer: each adds something to craton, and shows how few files that takes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

FOLDER = ROOT / "docs" / "developer" / "patches"
# Most files of `src` that each may touch.
MOST = {"rheology": 5, "method": None, "format": 2, "backend": 4, "misfit": 1, "receiver_quantity": 1, "source_type": 3}


@pytest.mark.parametrize("patch", sorted(FOLDER.glob("*.patch")), ids=lambda path: path.stem)
def test_patch_applies_and_touches_few_files(patch):
    text = patch.read_text(encoding="utf-8")
    touched = set(re.findall(r"^diff --git a/(src/\S+)", text, re.MULTILINE))
    added = set(re.findall(r"^diff --git a/(src/\S+) \S+\nnew file", text, re.MULTILINE))
    most = MOST[patch.stem]
    if most is None:  # a method: one folder, and its row
        assert touched - added == {"src/craton/methods/__init__.py"}
        assert len({Path(name).parts[:4] for name in added}) == 1
    else:
        assert 0 < len(touched) <= most
    if shutil.which("git"):
        words = ["git", "apply", "--check", str(patch)]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def files_of_tests(patch):
    """Files of tests that a patch has."""
    return sorted(set(re.findall(r"^diff --git a/(tests/\S+)", patch.read_text(encoding="utf-8"), re.MULTILINE)))


@pytest.mark.long
@pytest.mark.parametrize("patch", filter(files_of_tests, sorted(FOLDER.glob("*.patch"))), ids=lambda path: path.stem)
def test_tests_of_a_patch_are_collected(patch, tmp_path):
    """What they import is there; whoever changes a patch runs them, which takes minutes."""
    for folder in ("src", "tests", "docs", "bench"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "build", "*.png")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", *files_of_tests(patch)]
    for words in (["git", "apply", str(patch)], collect):
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
