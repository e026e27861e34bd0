"""One word for one idea: public names hold no word that docs/developer/vocabulary.md forbids, and none that says nothing."""

import ast
import re

from paths import PACKAGE, ROOT
from tree import trees

PAGE = ROOT / "docs" / "developer" / "vocabulary.md"
PRONOUNS = {"found", "one", "own", "some", "what", "there", "near", "wanted", "given", "kept"}

# Names that are still so, by package: when some have gone, write the new number here. None may come.
PRONOUN_NAMES = {"model": 1, "validation": 1}
FORBIDDEN_NAMES = {"methods": 4, "model": 1, "validation": 1}


def rows():
    """Cells of the table: (term, meaning, used for, never say)."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def forbidden():
    """Words in `code` of the last column."""
    return {word for *_, never in rows() for word in re.findall(r"`(\w+)`", never)}


def names_in(tree):
    """Public functions, classes and methods of a file, their arguments, and the fields of classes; nothing within functions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            taken = node.args
            yield from (node.name, *(arg.arg for arg in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            fields = (item.target.id for item in node.body if isinstance(item, ast.AnnAssign))
            yield from (node.name, *fields, *names_in(node))


def words_of(name):
    """["first", "look"] of `first_look` and of `FirstLook`, and the whole name."""
    return {name, *(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name))}


def compare(is_wrong, recorded):
    """Fail with the names of packages that have more than are recorded, and with what to write when they are fewer."""
    wrong = {}
    for path, tree in trees().items():
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        wrong.setdefault(package, []).extend(f"{path.relative_to(PACKAGE)}: {n}" for n in names_in(tree) if is_wrong(n))
    counts = {package: len(names) for package, names in wrong.items() if names}
    risen = [name for package, names in wrong.items() if len(names) > recorded.get(package, 0) for name in names]
    assert counts == recorded, "\n".join([f"today: {counts}", "more than before:" * bool(risen), *risen])


def test_public_names_are_no_pronouns():
    compare(lambda name: name in PRONOUNS, PRONOUN_NAMES)


def test_public_names_hold_no_forbidden_word():
    words = forbidden()
    compare(lambda name: bool(words_of(name) & words), FORBIDDEN_NAMES)
