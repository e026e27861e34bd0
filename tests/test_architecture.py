"""The shape of the program, kept by reading it: imports run one way, functions stay small, machines and physics stay apart."""
import ast
import os
import re
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
PACKAGE = SRC / "craton"
FILES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".h", ".cpp", ".cu"))

# Who may import whom (DESIGN section 1). A layer may always import itself.
BASE = {"errors", "conventions", "versions"}
INPUT = BASE | {"scenario"}
PHYSICS = INPUT | {"model", "survey", "core"}
MACHINE = BASE | {"core"}
RUN = INPUT | {"survey", "core", "backends", "comm"}
OUTPUT = RUN | {"model", "driver"}
REPORT = OUTPUT | {"output"}
API = REPORT | {"methods", "report"}
BENCHES = {"gravity_benchmark", "sem_benchmark", "nakata"}
COMMANDS = API | BENCHES | {"api", "shots", "gravity", "gravity_runs", "wave_runs", "benchmark", "validation"}
ALLOWED = {
    "errors": set(), "conventions": {"errors"}, "versions": set(), "scenario": BASE, "model": INPUT, "survey": INPUT | {"model"},
    "core": BASE | {"model"}, "methods": PHYSICS, "backends": MACHINE, "comm": MACHINE | {"backends"}, "driver": RUN, "output": OUTPUT,
    "report": REPORT, "api": API | {"gravity_runs", "wave_runs"}, "wave_runs": API, "gravity_runs": API | {"gravity"},
    "benchmark": API | BENCHES | {"api", "wave_runs"}, "gravity_benchmark": API | {"gravity"}, "sem_benchmark": API, "nakata": set(),
    "validation": API | {"api", "wave_runs"}, "shots": API | {"api"}, "commands": COMMANDS, "cli": COMMANDS | {"commands"},
    "__init__": API | {"api", "shots", "gravity"}, "gravity": API, "__main__": {"cli"},
}  # fmt: skip


def name_of(path):
    """Path in messages."""
    return str(path.relative_to(SRC))


def layer(path):
    """First part of a module's name below craton."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def absolute(path, node):
    """Module that a `from ... import` names, dots resolved."""
    package = [*path.relative_to(SRC).parts[:-1]]
    if not node.level:
        return node.module
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def imported(path, text):
    """(line, layer) of everything that a text imports from craton, wherever in it, also by name in a table."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "craton" else [module]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("craton.") and " " not in node.value:
            names = [node.value.split(":")[0]]  # "craton.methods.finite_difference.build:build", for import_module
        for name in names:
            parts = name.split(".")
            if parts[0] == "craton" and len(parts) > 1:
                yield node.lineno, parts[1]


def test_every_layer_is_known():
    assert {layer(p) for p in FILES} <= set(ALLOWED)


def test_order_of_layers_has_no_circle():
    order = []
    while len(order) < len(ALLOWED):
        free = [name for name, below in ALLOWED.items() if name not in order and below <= set(order)]
        assert free, sorted(set(ALLOWED) - set(order))
        order += free


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_run_one_way(path):
    here = layer(path)
    known = set(ALLOWED) - {"__init__", "__main__"}
    wrong = [f"{name_of(path)}:{line}: {here} imports {other}" for line, other in imported(path, path.read_text())
             if other in known and other != here and other not in ALLOWED[here]]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_the_reader_of_imports_sees_them():
    text = "import craton.driver.march\ndef f():\n    from craton import backends\n    from ..comm import local\n"
    text += "    from . import shared\nT = 'craton.cli:main'\n"
    found = [layer for _, layer in imported(PACKAGE / "methods" / "probe.py", text)]
    assert sorted(found) == ["backends", "cli", "comm", "driver", "methods"]


# --- sizes ------------------------------------------------------------------------------------------------------------------------------


def docstring(node):
    """The docstring's own node, or None."""
    first = node.body[0] if node.body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return first if is_text else None


def length(function):
    """Lines of a function without its docstring, decorators and blank ends."""
    text = docstring(function)
    return function.end_lineno - function.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)


def functions():
    """(lines, where) of every function."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield length(node), f"{name_of(path)}:{node.lineno} {node.name}"


def test_functions_are_small():
    found = sorted(functions())
    sizes = [lines for lines, _ in found]
    assert statistics.median(sizes) <= 12
    assert sum(lines >= 60 for lines in sizes) <= 0.05 * len(sizes), found[-8:]
    assert sizes[-1] <= 120, found[-1]


@pytest.mark.parametrize("path", [*FILES, *KERNELS], ids=name_of)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) < 400


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_first_line_says_what_lives_here(path):
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), f"{name_of(path)} has no docstring"
    assert text.startswith(('"""', 'r"""')) and len(text.splitlines()[0]) > 12


@pytest.mark.parametrize("path", KERNELS, ids=name_of)
def test_kernel_files_begin_with_a_comment(path):
    assert path.read_text().startswith("// ")


# --- machines and physics apart ---------------------------------------------------------------------------------------------------------


def code_of(path):
    """Text of a file without docstrings and comments (Python), or without comments (C++)."""
    text = path.read_text()
    if path.suffix != ".py":
        return "\n".join(line.split("//")[0] for line in text.splitlines())
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and docstring(node):
            node.body[0].value.value = ""
    return ast.unparse(tree)


PLACES_OF_MACHINES = ("backends", "comm", "scenario", "cli", "commands", "benchmark")


def may_say_cuda(path):
    """The machine's own places, and where a user chooses a device: scenario, command line, its bench command."""
    return layer(path) in PLACES_OF_MACHINES or path.name == "machine.h" or path.suffix == ".cu"


@pytest.mark.parametrize("path", [p for p in (*FILES, *KERNELS) if not may_say_cuda(p)], ids=name_of)
def test_one_machine_is_named_in_few_places(path):
    assert "cuda" not in re.sub(r"cupy-cuda\d+x", "", code_of(path).lower())  # names of wheels, listed with their versions


def test_scenario_names_machines_only_to_choose_one():
    saying = [(p.name, line) for p in FILES if layer(p) == "scenario" for line in code_of(p).splitlines() if "cuda" in line.lower()]
    assert [name for name, _ in saying] == ["schema.py"] and "device" in saying[0][1].lower()


@pytest.mark.parametrize("path", [p for p in FILES if layer(p) in ("backends", "comm", "driver")], ids=name_of)
def test_machines_and_loop_know_no_physics(path):
    words = {w.lower() for node in ast.walk(ast.parse(path.read_text())) for w in identifiers(node)}
    physics = {"vp", "vs", "rho", "lam", "mu", "vx", "vy", "vz", "sxx", "cpml", "psi", "sponge", "stress", "strain"}
    assert not words & physics


def identifiers(node):
    """Names and short strings of a syntax node."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


# --- what an import does ----------------------------------------------------------------------------------------------------------------

WATCH = """
    import pkgutil, sys
    import numpy, pydantic
    happened = []
    sys.addaudithook(lambda event, args: happened.append(event) if event in ("subprocess.Popen", "os.system", "os.exec") else None)
    import craton
    names = [m.name for m in pkgutil.walk_packages(craton.__path__, "craton.") if not m.name.endswith("__main__")]
    for name in names:
        __import__(name)
    heavy = [m for m in ("cupy", "mpi4py", "matplotlib", "obspy", "xarray", "zarr", "scipy", "distributed",
                         "pyproj", "meshlane", "meshio", "cuda.bindings") if m in sys.modules]
    print(len(names), *heavy, *happened)
"""


def test_importing_every_module_does_nothing(tmp_path):
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("")  # so that an import of CuPy would succeed, and show
    path = os.pathsep.join([str(tmp_path), str(SRC), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", textwrap.dedent(WATCH)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    count, *found = done.stdout.split()
    assert int(count) >= len([p for p in FILES if p.name not in ("__init__.py", "__main__.py")])
    assert not found
