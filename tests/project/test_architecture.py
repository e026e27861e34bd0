"""The shape of the program, kept by reading it: imports run one way, functions stay small, machines and physics stay apart."""

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from dataclasses import fields
from importlib import import_module
from types import SimpleNamespace

import pytest
from paths import PACKAGE, SRC
from tree import FILES, texts, trees, walked
from walk import walked_through

import craton
from craton.backends import BACKENDS, base
from craton.backends.cuda import CUDA

# Who may import whom (docs/developer/architecture.md). A layer may always import itself.
BASE = {"errors", "conventions", "versions", "citations", "text", "misfits", "lock", "integrity", "memory", "host"}
INPUT = BASE | {"tables", "io"}
MODEL = INPUT | {"model"}
OUTPUT = MODEL | {"survey", "core"}
MACHINE = BASE | {"core"}
METHODS = OUTPUT | {"output"}
SCENARIO = METHODS | {"methods"}
DRIVER = SCENARIO | {"scenario", "backends", "comm"}
PUBLIC = DRIVER | {"driver"}
COMMANDS = PUBLIC | {"report", "shots", "inverse", "greens", "gravity", "benchmark", "validation"}
ALLOWED = {
    **dict.fromkeys(("errors", "versions", "text", "lock", "memory"), set()),
    **dict.fromkeys(("conventions", "integrity"), {"errors"}),
    "misfits": {"errors", "text"},
    "citations": {"text", "versions"},
    "host": {"errors", "lock"},
    "io": BASE,
    "tables": BASE | {"io"},
    "model": BASE | {"io"},
    "survey": MODEL,
    "core": BASE | {"model"},
    "output": OUTPUT,
    "methods": METHODS,
    "scenario": SCENARIO,
    "backends": MACHINE,
    "comm": MACHINE | {"backends"},
    "driver": DRIVER,
    "report": SCENARIO | {"scenario"},
    "gravity": PUBLIC,
    "shots": PUBLIC,
    "inverse": PUBLIC | {"shots"},
    "greens": PUBLIC | {"shots"},
    "torch": PUBLIC | {"inverse"},
    "benchmark": PUBLIC,
    "validation": PUBLIC | {"report"},
    "cli": COMMANDS,
    "__init__": PUBLIC | {"shots", "gravity", "inverse"},
    "__main__": {"cli"},
}


def name_of(path):
    """Path in messages."""
    return str(path.relative_to(SRC))


def layer(path):
    """First part of a module's name below craton."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


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
        if isinstance(node, ast.expr) or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(SRC).parts[: -node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            targets |= {name if (name := f"{module}.{alias.name}") in MODULES else module for alias in node.names}
    return targets & set(MODULES) - {module_of(path)}


def files_named(path):
    """Modules in texts that are for import_module, such as "craton.backends.cpu:CPU"."""
    return set(re.findall(r"""["'](craton\.[\w.]+)[:"']""", texts()[path])) & set(MODULES)


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
    closed = {frozenset(end for end in reach[node] if node in reach[end]) for node in graph if node in reach[node]}
    return sorted(closed, key=sorted)


def test_layers_are_known_and_imports_run_one_way():
    assert {layer(path) for path in FILES} <= set(ALLOWED) and not circles(ALLOWED)
    wrong = [
        f"{name_of(path)} imports {module}"
        for path, tree in trees().items()
        for module in files_imported(path, tree, True) | files_named(path)
        if layer(MODULES[module]) not in {"__init__", "__main__", layer(path)} | ALLOWED[layer(path)]
    ]
    assert not wrong, "\n".join(wrong)


def test_files_import_each_other_in_no_circle():
    """Within functions, too, where Python allows it."""
    assert not circles({name: files_imported(path, trees()[path], True) for name, path in MODULES.items()})


@pytest.mark.parametrize("method", ["finite_difference", "spectral_element"])
def test_the_scenario_stops_early(method):
    """113 stays in 24 rooms before `Space` (900b3e1, elements); today 19 in 6."""
    stays = walked_through({name: trees()[path] for name, path in MODULES.items()}, method)
    assert len(stays) <= 20 and len(set(stays)) <= 8 and f"craton.methods.{method}.build" in stays, stays


def test_readers_of_imports_and_circles_see_them():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
    text = "import craton.errors\nfrom . import waves\ndef f():\n    from craton import backends\n    from ..comm import local\n"
    probe, tree = PACKAGE / "methods" / "probe.py", ast.parse(text)
    on_import = {"craton.errors", "craton.methods.waves"}
    assert files_imported(probe, tree, False) == on_import
    assert files_imported(probe, tree, True) == on_import | {"craton.backends", "craton.comm.local"}
    assert {"craton.backends.cpu", "craton.backends.cuda"} <= files_named(PACKAGE / "backends" / "__init__.py")


# --- sizes ------------------------------------------------------------------------------------------------------------------------------


def docstring(node):
    """The docstring's own node, or None."""
    return node.body[0] if ast.get_docstring(node, clean=False) is not None else None


def test_functions_are_small():
    """Without their docstrings, decorators and blank ends."""
    functions = []
    for path, nodes in walked().items():
        for node in (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            text = docstring(node)
            lines = node.end_lineno - node.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)
            functions.append((lines, f"{name_of(path)}:{node.lineno} {node.name}"))
    assert max(functions)[0] <= 120, max(functions)


def test_first_line_says_what_lives_here():
    """Of kernels, too; that every module of Python has a docstring is a rule of ruff."""
    assert not [name_of(path) for path, text in texts().items() if not re.match(r'r?""".{10}|// ', text)]


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


def test_one_machine_is_named_in_few_places():
    """Its own, and where a user chooses a device: conventions, and the other names of one in tables (once each)."""
    places = ("conventions", "host", "backends", "comm", "tables", "benchmark")
    for path, text in texts().items():
        is_its_place = layer(path) in places or path.name == "machine.h" or path.suffix == ".cu"
        if "cuda" in text.lower() and not is_its_place:  # names of wheels are listed with their versions
            assert "cuda" not in re.sub(r"cupy-cuda\d+x", "", code_of(path).lower()), name_of(path)
    chosen = [path for path in FILES if layer(path) in ("tables", "conventions") and "cuda" in texts()[path].lower()]
    mentions = [(path.name, line) for path in chosen for line in code_of(path).lower().splitlines() if "cuda" in line]
    assert [name for name, _ in mentions] == ["conventions.py", "schema.py"]
    assert all("device" in line for _, line in mentions)


def test_machines_and_loop_know_no_physics():
    """Neither as names nor as short texts."""
    physics = {"vp", "vs", "rho", "lam", "mu", "vx", "vy", "vz", "sxx", "cpml", "psi", "sponge", "stress", "strain"}
    for path in (path for path in FILES if layer(path) in ("backends", "comm", "driver")):
        words = [getattr(node, key, None) for node in walked()[path] for key in ("id", "attr", "arg", "value")]
        assert not physics & {word.lower() for word in words if isinstance(word, str)}, name_of(path)


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
    assert set(BACKENDS) == {"cpu", "hostile", "cuda"}
    module, kind = BACKENDS[name].split(":")
    machine = getattr(import_module(module), kind)
    verbs, noted = members(base.Machine if machine.shares_host_memory else base.DeviceMachine)
    own = {f.name for f in fields(machine)} | {"cupy"} | set(dir(machine))  # cupy: set when a device is opened
    assert (set(verbs) | noted) <= own
    for verb, promised in verbs.items():
        if inspect.isfunction(promised):
            assert arguments(getattr(machine, verb)) == arguments(promised), verb
        else:
            assert not callable(inspect.getattr_static(machine, verb)), f"{verb} is a property of every machine"
    assert machine(threads=1).name == name if name != "cuda" else machine.name == name


def test_every_verb_of_a_machine_says_what_it_takes():
    for verb, promised in members(base.DeviceMachine)[0].items():
        for name, _ in arguments(promised)[1:] if inspect.isfunction(promised) else ():
            assert re.search(rf"^ *(\w+, )*{name}(, \w+)* :", inspect.getdoc(promised), re.MULTILINE), verb


def test_a_region_of_a_device_runs_its_calls_and_lists_them():
    """Without a device: the exchange puts the calls into a graph of its own."""
    launched = []
    calls = [lambda: launched.append(1), lambda: launched.append(2)]
    region = CUDA.region(SimpleNamespace(stream=nullcontext()), calls)
    region(0)
    for call in region.calls:
        call()
    assert launched == [1, 2, 1, 2]


# --- what an import does ----------------------------------------------------------------------------------------------------------------


def test_the_public_api_lists_its_parameters():
    functions = [value for name in craton.__all__ if inspect.isfunction(value := getattr(craton, name))]
    assert not [f.__name__ for f in functions if "Parameters\n---" not in (inspect.getdoc(f) or "")]


# first craton alone, which is light; then all its modules beside the libraries that they need. `import craton.a.b as m` gives the
# module: no function of a package bears the name of one of its files
WATCH = """
    import inspect, pkgutil, sys
    happened = []
    sys.addaudithook(lambda event, args: happened.append(event) if event in ("subprocess.Popen", "os.system", "os.exec") else None)
    import craton
    happened += [m for m in ("pydantic", "xarray", "logging", "scipy") if m in sys.modules]
    before = happened[:]
    import numpy, pydantic
    happened[:] = before
    names = [m.name for m in pkgutil.walk_packages(craton.__path__, "craton.") if not m.name.endswith("__main__")]
    for name in names:
        exec(f"import {name} as module")
        assert inspect.ismodule(module) and module.__name__ == name, name
    heavy = [m for m in ("cupy", "mpi4py", "matplotlib", "obspy", "xarray", "zarr", "scipy", "distributed",
                         "pyproj", "meshlane", "meshio", "cuda.bindings") if m in sys.modules]
    print(len(names), *heavy, *happened)
"""


def test_importing_every_module_does_nothing_and_gives_it(tmp_path):
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("")  # so that an import of CuPy would succeed, and show
    path = os.pathsep.join([str(tmp_path), str(SRC), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", textwrap.dedent(WATCH)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    count, *happened = done.stdout.split()
    assert int(count) >= len([p for p in FILES if p.name not in ("__init__.py", "__main__.py")]) and not happened
