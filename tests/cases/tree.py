"""The files of craton, read and parsed once, when a test first asks."""

import ast
import gc
from functools import cache

from paths import PACKAGE

FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def texts():
    """{path: text} of Python and kernels."""
    kernels = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".h", ".cpp", ".cu"))
    return {path: path.read_text() for path in (*FILES, *kernels)}


@cache
def trees():
    """{path: syntax tree} of Python. Looking for garbage among the new nodes would take three quarters of the time, now and later."""
    gc.disable()
    try:
        return {path: ast.parse(texts()[path]) for path in FILES}
    finally:
        gc.freeze()
        gc.enable()


@cache
def walked():
    """{path: all nodes of its syntax tree}."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}
