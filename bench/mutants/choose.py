"""Choose mutants over all packages, as many in each as its share of the code: Python by cosmic-ray, kernels by replacements of text."""

import argparse
import ast
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import parso
from cosmic_ray.operators import binary_operator_replacement as binary
from cosmic_ray.operators import boolean_replacer, comparison_operator_replacement, number_replacer
from cosmic_ray.operators import unary_operator_replacement as unary
from cosmic_ray.operators.operator import Operator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "craton"
LEAST = 2  # mutants of a package
KERNEL_SHARE = 0.25


class DropTerm(Operator):
    """Keep the first operand of a sum or of a product."""

    def mutation_positions(self, node):
        """The place of each sum and product."""
        if node.type in ("arith_expr", "term"):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        """The first operand stands for all."""
        return node.children[0]

    @classmethod
    def examples(cls):
        """None: cosmic-ray's own tests ask for them."""
        return ()


def named(module, *beginnings):
    """Operators of a module of cosmic-ray whose names begin so."""
    return [kind for kind in module.operators() if kind.__name__.split("_", 1)[1].startswith(beginnings)]


OPERATORS = {
    "sign": [*named(binary, "Add_Sub", "Sub_Add"), *named(unary, "Delete_USub")],
    "constant": [number_replacer.NumberReplacer],  # an index where it stands in brackets
    "comparison": [
        *named(comparison_operator_replacement, "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq"),
        *named(comparison_operator_replacement, "Is_IsNot", "IsNot_Is", "In_NotIn", "NotIn_In"),
        boolean_replacer.ReplaceAndWithOr,
        boolean_replacer.ReplaceOrWithAnd,
        *named(unary, "Delete_Not"),
    ],
    "dropped term": [DropTerm],
}


def in_brackets(node):
    """Whether a number is an index or a limit of a slice."""
    while node.parent is not None and node.parent.type in ("subscript", "subscriptlist", "factor", "arith_expr"):
        node = node.parent
    return node.parent is not None and node.parent.type == "trailer" and node.parent.children[0].value == "["


def nodes_of(node):
    """A node and all below it, in the order of the text."""
    yield node
    for child in getattr(node, "children", ()):
        yield from nodes_of(child)


def places_in_python(path):
    """(kind, operator, number of the node, number of the mutation there) of the mutants of a file that lie in functions."""
    text = path.read_text()
    inside = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= set(range(node.body[0].lineno, node.end_lineno + 1))
    for number, node in enumerate(nodes_of(parso.parse(text))):
        if node.start_pos[0] in inside:
            for kind, operators in OPERATORS.items():
                for operator in operators:
                    for index, _ in enumerate(operator().mutation_positions(node)):
                        is_index = kind == "constant" and in_brackets(node)
                        yield "index" if is_index else kind, operator, number, index


def mutated(path, operator, number, index):
    """The text with one mutation."""
    tree = parso.parse(path.read_text())
    node = list(nodes_of(tree))[number]
    changed = operator().mutate(node, index)
    if changed is not node:
        if hasattr(changed, "prefix"):
            changed.prefix = node.get_first_leaf().prefix
        place = node.parent.children
        place[place.index(node)] = changed
    return tree.get_code()


# kind, what stands there, what is put there; the first group stays in front
IN_KERNELS = [
    ("sign", r"( )\+( )", r"\1-\2"),
    ("sign", r"( )-( )", r"\1+\2"),
    ("sign", r"([=(,] ?)-(?=\w)", r"\1"),
    ("index", r"(\[[^\[\]\"]*\w)\]", r"\1 + 1]"),
    ("constant", r"(\b)2(?=\b(?!\.\w))", r"\g<1>3"),
    ("constant", r"(\b0\.)5\b", r"\g<1>25"),
    ("comparison", r"( )<( )", r"\1<=\2"),
    ("comparison", r"( )>=( )", r"\1>\2"),
    ("comparison", r"( )==( )", r"\1!=\2"),
    ("dropped term", r"(\w) \* [\w.]+(?=[;,)\s])(?!\()", r"\1"),
    ("dropped term", r"([\w\])]) \+ [\w.]+(?:\[[^\[\]]*\])?(?=[;,)])", r"\1"),
]


def places_in_kernels(path):
    """Mutants of a kernel file: (kind, line, text of the line before, after)."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.split("//")[0]
        if not code.strip() or code.lstrip().startswith(("#", "*", "KERNEL", "template", "struct")):
            continue
        for kind, pattern, replacement in IN_KERNELS:
            for match in re.finditer(pattern, code):
                after = code[: match.start()] + match.expand(replacement) + code[match.end() :] + line[len(code) :]
                if after != line:
                    yield kind, number, line, after


def package_of(path):
    """Part of craton that a file belongs to, methods apart."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "/".join(parts[:2]) if parts[0] == "methods" and len(parts) > 2 else parts[0]


def shares(sizes, count):
    """How many of `count` each package gets: by its size, LEAST at least."""
    total = sum(sizes.values())
    wanted = {name: max(LEAST, round(count * size / total)) for name, size in sizes.items()}
    while (rest := count - sum(wanted.values())) != 0:
        wanted[max(wanted, key=wanted.get)] += 1 if rest > 0 else -1
    return wanted


def python_mutant(path, rng):
    """One mutant of a file that changes a single line and still compiles, its kind drawn first; None where there is none."""
    by_kind = defaultdict(list)
    for kind, *place in places_in_python(path):
        by_kind[kind].append(place)
    if not by_kind:
        return None
    kind = rng.choice(sorted(by_kind))
    before = path.read_text()
    after = mutated(path, *rng.choice(by_kind[kind]))
    lines = [(n, a, b) for n, (a, b) in enumerate(zip(before.splitlines(), after.splitlines()), 1) if a != b]
    if len(lines) != 1 or before.count("\n") != after.count("\n"):
        return None
    try:
        compile(after, str(path), "exec")
    except SyntaxError:
        return None
    return kind, *lines[0]


def kernel_mutant(path, rng):
    """One mutant of a kernel file, its kind drawn first; None where there is none."""
    by_kind = defaultdict(list)
    for kind, *place in places_in_kernels(path):
        by_kind[kind].append(place)
    if not by_kind:
        return None
    kind = rng.choice(sorted(by_kind))
    return kind, *rng.choice(by_kind[kind])


def draw(files, sizes, make, number, chosen, rng):
    """Add mutants of some files to those that are chosen, {(file, line): mutant}, until they are so many."""
    for _ in range(400):
        if len(chosen) >= number:
            break
        path = rng.choices(files, [sizes[p] for p in files])[0]
        mutant = make(path, rng)
        if mutant:
            kind, line, before, after = mutant
            file = path.relative_to(ROOT).as_posix()
            chosen[file, line] = {"file": file, "line": line, "kind": kind, "before": before, "after": after}
    return chosen


def choose(count, seed):
    """The mutants: list of dict."""
    rng = random.Random(seed)
    made = []
    for suffixes, number, make in (
        ((".py",), round(count * (1 - KERNEL_SHARE)), python_mutant),
        ((".h", ".cu", ".cpp"), round(count * KERNEL_SHARE), kernel_mutant),
    ):
        paths = sorted(p for p in PACKAGE.rglob("*") if p.suffix in suffixes and p.name != "__main__.py")
        sizes = {path: len(path.read_text().splitlines()) for path in paths}
        packages = Counter()
        for path, size in sizes.items():
            packages[package_of(path)] += size
        chosen = {}
        for package, wanted in shares(packages, number).items():
            files = [path for path in paths if package_of(path) == package]
            draw(files, sizes, make, len(chosen) + wanted, chosen, rng)
        made += draw(
            paths, sizes, make, number, chosen, rng
        ).values()  # where a package has fewer places than its share
    return made


def main(words=None):
    """Write the mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=28)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("mutants.json"))
    options = parser.parse_args(words)
    mutants = choose(options.count, options.seed)
    options.out.write_text(json.dumps(mutants, indent=1, ensure_ascii=False) + "\n")
    print(len(mutants), Counter(m["kind"] for m in mutants), Counter(package_of(ROOT / m["file"]) for m in mutants))


if __name__ == "__main__":
    main()
