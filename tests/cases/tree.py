"""The files of craton, read and parsed once, when a test first asks."""

import ast
from functools import cache

from paths import PACKAGE

FILES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".h", ".cpp", ".cu"))


@cache
def texts():
    """{path: text} of Python and kernels."""
    return {path: path.read_text() for path in (*FILES, *KERNELS)}


@cache
def trees():
    """{path: syntax tree} of Python."""
    return {path: ast.parse(texts()[path]) for path in FILES}
