"""Style and types, as `make lint` checks them: ruff's rules and format, mypy on the seams."""

import subprocess
import sys

import pytest
from paths import ROOT

COMMANDS = {
    "rules": ("ruff", "check", "src", "tests", "bench", "docs"),
    "format": ("ruff", "format", "--check", "src", "tests", "bench", "docs"),
    "types": ("mypy",),
}


@pytest.mark.parametrize("name", ["rules", "format", pytest.param("types", marks=pytest.mark.long)])
def test_the_tree_is_clean(name):
    module, *words = COMMANDS[name]
    pytest.importorskip(module)
    done = subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
