"""Where tests find files."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SRC = ROOT / "src"
PACKAGE = SRC / "craton"
DATA = TESTS / "data"
SHARED = ROOT.parent / "shared"  # papers' figures and references beside the checkout; not in CI
