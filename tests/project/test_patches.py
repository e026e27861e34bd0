"""The patches of docs/developer: each adds something to craton, and shows how few files that takes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from paths import ROOT

FOLDER = ROOT / "docs" / "developer" / "patches"
# Most files of `src` that each may touch.
MOST = {"rheology": 5, "method": None, "format": 2, "backend": 4}


def files(patch):
    """Files of src that a patch touches, and those that it adds."""
    text = patch.read_text(encoding="utf-8")
    touched = [name for name in re.findall(r"^diff --git a/(\S+)", text, re.MULTILINE) if name.startswith("src/")]
    added = [
        name for name in re.findall(r"^diff --git a/(\S+) \S+\nnew file", text, re.MULTILINE) if name.startswith("src/")
    ]
    return touched, added


@pytest.mark.parametrize("patch", sorted(FOLDER.glob("*.patch")), ids=lambda path: path.stem)
def test_patch_applies_and_touches_few_files(patch):
    touched, added = files(patch)
    most = MOST[patch.stem]
    if most is None:  # a method: one folder, and its row
        changed = sorted(set(touched) - set(added))
        assert changed == ["src/craton/methods/__init__.py"] and len({Path(name).parts[:4] for name in added}) == 1
    else:
        assert 0 < len(touched) <= most
    if shutil.which("git"):
        done = subprocess.run(
            ["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
