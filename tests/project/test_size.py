"""The ratchet: how much of `src` there may be. A commit that makes it smaller lowers the ceilings; none raises them."""

import ast

import pytest
from paths import PACKAGE
from tree import texts, walked

CEILINGS = {  # what is counted: at most so many, and how far below that the ceiling is lowered
    "lines of Python": (47_040, 100),
    "lines of docstrings": (22_622, 100),
    "files": (441, 3),
    "hasattr and getattr with a default": (192, 3),
    "isinstance of craton's own classes": (87, 3),
}


def documented(nodes):
    """Line numbers of the docstrings of a file."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    first = [
        node.body[0] for node in nodes if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None
    ]
    return {line for text in first for line in range(text.lineno, text.end_lineno + 1)}


def lines(text):
    """Numbers of the lines that hold more than a comment."""
    return {n for n, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in ("", "#")}


def asked(nodes, classes):
    """How often a file asks whether an object has an attribute, and whether it is of one of our own classes."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    attributes = sum((call.func.id, len(call.args)) in (("hasattr", 2), ("getattr", 3)) for call in calls)
    kinds = [ast.walk(call.args[1]) for call in calls if call.func.id == "isinstance"]
    return attributes, sum(any(getattr(n, "id", getattr(n, "attr", "")) in classes for n in names) for names in kinds)


@pytest.fixture(scope="module")
def counts():
    """What of `src` is counted, by the names of CEILINGS."""
    python = {path: nodes for path, nodes in walked().items() if path.suffix == ".py"}
    classes = {node.name for nodes in python.values() for node in nodes if isinstance(node, ast.ClassDef)}
    docstrings = {path: documented(nodes) for path, nodes in python.items()}
    questions = [asked(nodes, classes) for nodes in python.values()]
    kernels = [path for suffix in ("h", "cu", "cpp") for path in PACKAGE.rglob(f"*.{suffix}")]
    numbers = (
        sum(len(lines(texts()[path]) - docstrings[path]) for path in python),
        sum(map(len, docstrings.values())),
        len(python) + len(kernels),
        *(sum(column) for column in zip(*questions)),
    )
    return dict(zip(CEILINGS, numbers))


@pytest.mark.parametrize("what", CEILINGS)
def test_it_only_falls(what, counts):
    ceiling, slack = CEILINGS[what]
    assert counts[what] <= ceiling, f"{counts[what]:,} {what}, {ceiling:,} at most: find what this can replace"
    assert counts[what] > ceiling - slack, f"{counts[what]:,} {what}: lower the ceiling of {ceiling:,} to it"


def test_what_is_counted():
    text = 'def f(a):\n    """Say\n    so."""\n    # why\n    return hasattr(a, "b") or isinstance(a, Own | m.Other) or getattr(a, "c")\n'
    nodes = list(ast.walk(ast.parse(text)))
    assert (documented(nodes), lines(text)) == ({2, 3}, {1, 2, 3, 5})
    assert asked(nodes, {"Own"}) == asked(nodes, {"Other"}) == (1, 1) and asked(nodes, {"Third"}) == (1, 0)
