"""The patches of docs/developer: each adds something to craton, and shows how few files that takes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from paths import ROOT

FOLDER = ROOT / "docs" / "developer" / "patches"
# Most files of `src` that each may touch.
MOST = {"rheology": 5, "method": None, "format": 2, "backend": 4, "misfit": 1, "receiver_quantity": 2, "source_type": 3}


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
