"""The shape of the program, kept by reading it: imports run one way, functions stay small, machines and physics stay apart."""

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import fields
from importlib import import_module
from types import SimpleNamespace

import pytest
from paths import PACKAGE, SRC
from tree import FILES, KERNELS, texts, trees

# Who may import whom (docs/developer/architecture.md). A layer may always import itself.
BASE = {"errors", "conventions", "versions", "citations", "text", "units", "lock", "integrity", "memory", "host"}
INPUT = BASE | {"tables", "io"}
MODEL = INPUT | {"model"}
OUTPUT = MODEL | {"survey", "core"}
MACHINE = BASE | {"core"}
METHODS = OUTPUT | {"output"}
SCENARIO = METHODS | {"methods"}
DRIVER = SCENARIO | {"scenario", "backends", "comm"}
PUBLIC = DRIVER | {"driver"}
COMMANDS = PUBLIC | {"report", "api", "shots", "inverse", "greens", "gravity", "benchmark", "validation"}
ALLOWED = {
    "errors": set(),
    "conventions": {"errors"},
    "versions": set(),
    "text": set(),
    "citations": {"text", "versions"},
    "lock": set(),
    "host": {"errors", "lock"},
    "memory": set(),
    "integrity": {"errors"},
    "notebook": {"errors"},
    "units": {"text"},
    "io": BASE,
    "tables": BASE | {"io"},
    "model": INPUT,
    "survey": MODEL,
    "core": BASE | {"model"},
    "output": OUTPUT,
    "methods": METHODS,
    "scenario": SCENARIO,
    "backends": MACHINE,
    "comm": MACHINE | {"backends"},
    "driver": DRIVER | {"report", "notebook"},
    "report": SCENARIO | {"scenario"},
    "api": PUBLIC,
    "gravity": PUBLIC,
    "shots": PUBLIC | {"api"},
    "inverse": PUBLIC | {"shots", "gravity"},
    "greens": PUBLIC | {"shots"},
    "torch": PUBLIC | {"inverse"},
    "benchmark": PUBLIC | {"api", "gravity"},
    "validation": PUBLIC | {"api", "report"},
    "commands": COMMANDS,
    "cli": COMMANDS | {"commands"},
    "__init__": PUBLIC | {"api", "shots", "gravity", "inverse"},
    "__main__": {"cli"},
}


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


def imported(path, tree):
    """(line, layer) of everything that a file imports from craton, wherever in it, also by name in a table."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "craton" else [module]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith("craton.")
            and " " not in node.value
        ):
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


@pytest.mark.costly("whichever test reads the tree first pays for it")
def test_imports_run_one_way():
    known = set(ALLOWED) - {"__init__", "__main__"}
    wrong = [
        f"{name_of(path)}:{line}: {layer(path)} imports {other}"
        for path, tree in trees().items()
        for line, other in imported(path, tree)
        if other in known and other != layer(path) and other not in ALLOWED[layer(path)]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_reader_of_imports_sees_them():
    text = "import craton.driver.march\ndef f():\n    from craton import backends\n    from ..comm import local\n"
    text += "    from . import shared\nT = 'craton.cli:main'\n"
    found = [layer for _, layer in imported(PACKAGE / "methods" / "probe.py", ast.parse(text))]
    assert sorted(found) == ["backends", "cli", "comm", "driver", "methods"]


# --- circles between files --------------------------------------------------------------------------------------------------------------

# Files that import each other inside functions, which Python allows: each circle is a debt, and the list may only get shorter.
CIRCLES_IN_FUNCTIONS = []


def module_of(path):
    """Dotted name of a file."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def files_imported(path, tree, inside):
    """Modules of craton whose files a file imports: when it is itself imported, and with `inside` also when its functions run."""
    waiting, targets = list(ast.iter_child_nodes(tree)), set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not inside:
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            targets |= {name if (name := f"{module}.{alias.name}") in MODULES else module for alias in node.names}
    return targets & set(MODULES) - {module_of(path)}


def circles(graph):
    """Sets of more than one node, each of which reaches all others of its set (strongly connected components)."""

    def reached(start):
        known, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - known
            known |= new
            waiting += new
        return known

    reach = {node: reached(node) for node in graph}
    closed = {
        frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]
    }
    return sorted(closed, key=sorted)


@pytest.mark.parametrize(
    "inside, known", [(False, []), (True, CIRCLES_IN_FUNCTIONS)], ids=["on import", "in functions"]
)
def test_files_import_each_other_in_no_circle(inside, known):
    graph = {name: files_imported(path, trees()[path], inside) for name, path in MODULES.items()}
    assert [set(circle) for circle in circles(graph)] == known


def test_the_finder_of_circles_finds_them():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
    text = "import craton.errors\ndef f():\n    from craton.core import plan\n"
    assert files_imported(PACKAGE / "core" / "probe.py", ast.parse(text), False) == {"craton.errors"}
    assert files_imported(PACKAGE / "core" / "probe.py", ast.parse(text), True) == {"craton.errors", "craton.core.plan"}


def test_every_module_has_its_own_name():
    """`import craton.a.b as m` gives the module: no function of a package bears the name of one of its files."""
    space = {}
    for name in (name for name in MODULES if not name.endswith("__main__")):
        exec(f"import {name} as m", space)
        assert inspect.ismodule(space["m"]) and space["m"].__name__ == name, name


# --- sizes ------------------------------------------------------------------------------------------------------------------------------


def docstring(node):
    """The docstring's own node, or None."""
    first = node.body[0] if node.body else None
    text = first.value if isinstance(first, ast.Expr) else None
    return first if isinstance(text, ast.Constant) and isinstance(text.value, str) else None


def length(function):
    """Lines of a function without its docstring, decorators and blank ends."""
    text = docstring(function)
    return function.end_lineno - function.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)


def test_functions_are_small():
    functions = sorted(
        (length(node), f"{name_of(path)}:{node.lineno} {node.name}")
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    sizes = [lines for lines, _ in functions]
    assert sum(lines >= 60 for lines in sizes) <= 0.05 * len(sizes), functions[-8:]
    assert sizes[-1] <= 120, functions[-1]


LONG = 600  # lines: a longer file is a question, not a failure


def test_files_that_are_long_are_named_in_a_warning():
    for path, text in texts().items():
        count = len(text.splitlines())
        if count > LONG:
            warnings.warn(f"{name_of(path)} has {count} lines, more than {LONG}: does it hold one thing?", stacklevel=1)


def test_first_line_says_what_lives_here():
    for path, tree in trees().items():
        assert ast.get_docstring(tree), f"{name_of(path)} has no docstring"
        assert texts()[path].startswith(('"""', 'r"""')) and len(texts()[path].splitlines()[0]) > 12, path
    assert not [path for path in KERNELS if not texts()[path].startswith("// ")]


# --- machines and physics apart ---------------------------------------------------------------------------------------------------------


def code_of(path):
    """Text of a file without docstrings and comments (Python), or without comments (C++)."""
    if path.suffix != ".py":
        return "\n".join(line.split("//")[0] for line in texts()[path].splitlines())
    tree = ast.parse(texts()[path])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and docstring(node):
            node.body[0].value.value = ""
    return ast.unparse(tree)


PLACES_OF_MACHINES = ("conventions", "host", "backends", "comm", "tables", "benchmark")


def may_say_cuda(path):
    """The machine's own places, and where a user chooses a device: conventions, and the other names of one in tables."""
    return layer(path) in PLACES_OF_MACHINES or path.name == "machine.h" or path.suffix == ".cu"


def test_one_machine_is_named_in_few_places():
    for path in texts():
        if not may_say_cuda(path) and "cuda" in texts()[path].lower():  # names of wheels are listed with their versions
            assert "cuda" not in re.sub(r"cupy-cuda\d+x", "", code_of(path).lower()), name_of(path)


@pytest.mark.parametrize("place, file", [("tables", "schema.py"), ("conventions", "conventions.py")])
def test_tables_name_machines_only_to_choose_one(place, file):
    mentions = [
        (p.name, line) for p in FILES if layer(p) == place for line in code_of(p).splitlines() if "cuda" in line.lower()
    ]
    assert [name for name, _ in mentions] == [file] and "device" in mentions[0][1].lower()


def test_machines_and_loop_know_no_physics():
    physics = {"vp", "vs", "rho", "lam", "mu", "vx", "vy", "vz", "sxx", "cpml", "psi", "sponge", "stress", "strain"}
    for path in (p for p in FILES if layer(p) in ("backends", "comm", "driver")):
        words = {w.lower() for node in ast.walk(trees()[path]) for w in identifiers(node)}
        assert not words & physics, name_of(path)


def identifiers(node):
    """Names and short strings of a syntax node."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


# --- machines, programs and plans are asked, not probed -----------------------------------------------------------------------------------

PROBED = {"machine", "backend", "program", "plan", "planned"}
# Probes that are still there, by layer: change the number when one goes. None may come.
PROBES = {}


def probes(tree):
    """Nodes that guess what a machine, a program or a plan is: hasattr, getattr with a default, vars; `machine.xp is ...`."""
    for node in ast.walk(tree):
        looked_at = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            guesses = {"hasattr": 2, "getattr": 3, "vars": 1}.get(node.func.id) == len(node.args)
            looked_at = words_of(node.args[0]) if guesses else []
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            looked_at = words_of(node.left) if words_of(node.left)[-1:] == ["xp"] else []
        if PROBED & set(looked_at):
            yield node


def words_of(node):
    """["self", "machine", "xp"] of `self.machine.xp`."""
    if isinstance(node, ast.Attribute):
        return [*words_of(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else []


def test_machines_programs_and_plans_are_not_probed():
    counted = Counter(layer(path) for path, tree in trees().items() for _ in probes(tree))
    assert counted == PROBES


def test_the_finder_of_probes_finds_them():
    guesses = (
        "hasattr(machine, 'stream')",
        "getattr(self.plan.grid, 'x', None)",
        "self.machine.xp is np",
        "vars(program)",
    )
    questions = ("machine.width", "getattr(plan, name)", "xp is None", "hasattr(model, 'file')", "plan.rank is None")
    for expected, lines in ((1, guesses), (0, questions)):
        assert all(len(list(probes(ast.parse(line)))) == expected for line in lines)


# --- what a backend offers ----------------------------------------------------------------------------------------------------------------


def members(protocol):
    """Public methods and properties of a Protocol, its own and inherited; and the names that it only annotates."""
    classes = [kind for kind in protocol.__mro__ if kind.__module__ == "craton.backends.base"]
    public = {name: value for kind in reversed(classes) for name, value in vars(kind).items() if name[0] != "_"}
    return public, {name for kind in classes for name in vars(kind).get("__annotations__", {})}


def arguments(function):
    """Names of the arguments, and whether each can be left out."""
    return [(p.name, p.default is not p.empty) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", ["cpu", "hostile", "cuda"])
def test_backend_satisfies_its_protocol(name):
    from craton.backends import BACKENDS, base

    assert set(BACKENDS) == {"cpu", "hostile", "cuda"}
    module, kind = BACKENDS[name].split(":")
    machine = getattr(import_module(module), kind)
    verbs, noted = members(base.Machine if machine.shares_host_memory else base.DeviceMachine)
    own = {f.name for f in fields(machine)} | {"cupy"} | set(dir(machine))  # cupy: set when a device is opened
    assert not (set(verbs) | noted) - own
    for verb, promised in verbs.items():
        if inspect.isfunction(promised):
            assert arguments(getattr(machine, verb)) == arguments(promised), verb
        else:
            assert not callable(inspect.getattr_static(machine, verb)), f"{verb} is a property of every machine"
    assert machine(threads=1).name == name if name != "cuda" else machine.name == name


def test_every_verb_of_a_machine_says_what_it_takes():
    from craton.backends import base

    for verb, promised in members(base.DeviceMachine)[0].items():
        given = [name for name, _ in arguments(promised)[1:]] if inspect.isfunction(promised) else []
        text = inspect.getdoc(promised)
        assert text or not inspect.isfunction(promised), verb
        assert all(re.search(rf"^ *(\w+, )*{name}(, \w+)* :", text, re.MULTILINE) for name in given), verb


def test_a_region_of_a_device_runs_its_calls_and_lists_them():
    """Without a device: the exchange puts the calls into a graph of its own."""
    from craton.backends.cuda import CUDA
    from craton.comm.device import queue

    launched = []
    region = CUDA.region(
        SimpleNamespace(stream=nullcontext()), [lambda: launched.append(1), lambda: launched.append(2)]
    )
    region(0)
    queue(region)
    assert launched == [1, 2, 1, 2]


def test_both_plans_can_be_committed():
    """What a machine reads of a plan is there in plans of waves and in those of sums."""
    from craton.core.plan import Plan, StepPlan
    from craton.core.sweep import SweepPlan

    assert issubclass(Plan, StepPlan) and issubclass(SweepPlan, StepPlan)


# --- what an import does ----------------------------------------------------------------------------------------------------------------


def test_the_public_api_lists_its_parameters():
    import craton

    functions = [value for name in craton.__all__ if inspect.isfunction(value := getattr(craton, name))]
    lacking = [f.__name__ for f in functions if "Parameters\n---" not in (inspect.getdoc(f) or "")]
    assert lacking == ["load"]  # api.py is being rewritten


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
