"""How far one parameter travels: `python tests/project/walk.py` follows `scenario` from `craton.run` through the calls that hand it on.

A stay is a run of calls within one module, in the order of the code; entering another module begins a new stay, and so does the return
to the caller. A room is a module. The parameter goes by its own name and by names that are assigned from it; what is read from it
(`scenario.model`) is another thing. A call is followed where reading tells which function it is: one that is defined or imported there,
a method of the same class, of its bases or of the chosen modules, a class that is made, or a method that only one class of the package
has. Each function is followed once.
"""

import ast
import sys
from pathlib import Path


class Walk:
    """Follow a parameter through modules, {name: syntax tree}; `chosen` ones are taken where several have a method of one name."""

    def __init__(self, modules, chosen=()):
        self.chosen, self.stays, self.passed = chosen, [], set()
        self.functions, self.imports, self.methods, self.bases = {}, {}, {}, {}
        for module, tree in modules.items():
            self.read(module, tree)

    def read(self, module, tree):
        """Note the functions, methods and imports of a module."""
        names = self.imports[module] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("craton"):
                names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                self.bases[f"{module}.{node.name}"] = [
                    names.get(base.id, f"{module}.{base.id}") for base in node.bases if hasattr(base, "id")
                ]
                for item in node.body:
                    if isinstance(item, ast.FunctionDef):
                        self.functions[f"{module}.{node.name}.{item.name}"] = (module, item)
                        self.methods.setdefault(item.name, []).append(f"{module}.{node.name}.{item.name}")
        for item in tree.body:
            if isinstance(item, ast.FunctionDef):
                self.functions[f"{module}.{item.name}"] = (module, item)

    def callee(self, name, module, function):
        """Full name of the function that a call reaches; None where reading does not tell."""
        first, _, rest = name.partition(".")
        known = self.methods.get(rest, [])
        if first in ("self", "super()") and known:
            own = function.rpartition(".")[0]
            chosen = [method for method in known if method.startswith(self.chosen)] if first == "self" else []
            return next(iter(chosen or self.inherited(own, rest, first == "self")), None)
        whole = self.imports[module].get(first, f"{module}.{first}") + (f".{rest}" if rest else "")
        for candidate in (whole, f"{whole}.__init__"):
            if candidate in self.functions:
                return candidate
        known = self.methods.get(name.rpartition(".")[2], []) if rest else []
        chosen = [method for method in known if method.startswith(self.chosen)] if self.chosen else []
        return next(iter(chosen or known), None) if len(chosen or known) == 1 else None

    def inherited(self, name, method, own=True):
        """Full names of a method in a class, unless it is only asked of its bases, and in these."""
        here = [f"{name}.{method}"] if own and f"{name}.{method}" in self.functions else []
        return here + [found for base in self.bases.get(name, []) for found in self.inherited(base, method)]

    def follow(self, function, parameter):
        """Walk through a function to which the parameter came by a name."""
        module, node = self.functions[function]
        self.stay(module)
        if (function, parameter) in self.passed:
            return
        self.passed.add((function, parameter))
        names = {parameter}
        for statement in ordered(node):
            if isinstance(statement, ast.Assign) and getattr(statement.value, "id", None) in names:
                names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if not isinstance(statement, ast.Call):
                continue
            reached = self.callee(ast.unparse(statement.func), module, function)
            inner = reached and received(statement, self.functions[reached][1], names)
            if inner:
                self.follow(reached, inner)
                self.stay(module)

    def stay(self, module):
        """Be in a module."""
        if not self.stays or self.stays[-1] != module:
            self.stays.append(module)


def ordered(node):
    """Nodes of a function, inner calls first, in the order of the code."""
    for child in ast.iter_child_nodes(node):
        yield from ordered(child)
    yield node


def received(call, function, names):
    """Name of the parameter by which a function receives one of some names in a call; None where it receives none."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    parameters = parameters[parameters[:1] in (["self"], ["cls"]) :]
    for place, value in enumerate(call.args):
        if getattr(value, "id", None) in names and place < len(parameters):
            return parameters[place]
    allowed = {*parameters, *(a.arg for a in function.args.kwonlyargs)}
    return next((k.arg for k in call.keywords if getattr(k.value, "id", None) in names and k.arg in allowed), None)


def walked_through(modules, method, start="craton.driver.run.run", parameter="scenario"):
    """Modules in which the parameter stays, one after the other, where a method of waves is taken."""
    walk = Walk(modules, tuple(f"craton.methods.{method}.{part}." for part in ("method", "build")))
    walk.follow(start, parameter)
    return walk.stays


if __name__ == "__main__":
    src = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[2] / "src"
    files = {".".join(path.relative_to(src).with_suffix("").parts): path for path in sorted(src.glob("craton/**/*.py"))}
    modules = {name.removesuffix(".__init__"): ast.parse(path.read_text()) for name, path in files.items()}
    for method in ("finite_difference", "spectral_element"):
        stays = walked_through(modules, method)
        print(f"{method}: {len(stays)} stays in {len(set(stays))} rooms:", *stays, sep="\n    ")
