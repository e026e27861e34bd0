"""Methods: each is one object with the verbs of the protocol, and nothing else asks which method it is."""

import ast
import inspect
import re

import pytest
from paths import PACKAGE, ROOT

import craton
from craton.errors import ScenarioError
from craton.methods import METHODS
from craton.methods.protocol import Method
from craton.scenario import SCENARIOS, dumps, loads

FACTS = {"name": str, "drive": str, "plans_by_rank": bool, "benches": tuple}
VERBS = [name for name, value in vars(Method).items() if inspect.isfunction(value) and not name.startswith("_")]
# Who may write a method's name: the methods themselves, the command line's choices, and what writes scenarios of its own.
NAMING = {"methods", "cli/installation.py", "validation"}


def test_each_has_the_facts_and_verbs_of_the_protocol():
    assert set(METHODS) == set(SCENARIOS) and len(VERBS) >= 10
    for name, method in METHODS.items():
        assert {fact: type(getattr(method, fact)) for fact in FACTS} == FACTS and method.drive in ("march", "sweep")
        wrong = [verb for verb in VERBS if parameters(type(method), verb) != parameters(Method, verb)]
        assert method.name == name and not wrong


def parameters(kind, verb):
    """Names of a verb's parameters and which have defaults."""
    return [(p.name, p.default is p.empty) for p in inspect.signature(getattr(kind, verb)).parameters.values()]


def test_nothing_else_asks_which_method_it_is():
    """No whole string is the name of a method, but where methods may be named."""
    texts = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}
    others = {path: text for path, text in texts.items() if not NAMING & {path.parts[0], str(path)}}
    trees = {path: ast.walk(ast.parse(text)) for path, text in others.items() if re.search("(fd|sem)[\"']", text)}
    constants = [(path, node) for path, tree in trees.items() for node in tree if isinstance(node, ast.Constant)]
    naming = [(path, node.lineno) for path, node in constants if node.value in ("fd", "sem")]
    assert len(others) > 100 and len(trees) > 5 and not naming


TABLES = {
    "domain": {"origin": [0, -900], "size": [1200, 900], "spacing": 30},
    "model": {"kind": "homogeneous", "vp": 3000, "vs": 0, "rho": 2200},
    "time": {"duration": 0.1},
    "source": [{"kind": "explosion", "at": [500, -500], "moment": 1e12, "wavelet": {"kind": "ricker", "frequency": 3}}],
}


def test_the_scenario_of_a_new_method_needs_no_other_edit(monkeypatch):
    """The class of docs/developer/add_a_method.md: its files load, its foreign keys are noted, others are reported with their method."""
    page = (ROOT / "docs" / "developer" / "add_a_method.md").read_text()
    blocks, space = re.findall(r"```python\n(.*?)```", page, re.DOTALL), {"__name__": "acoustic.options"}
    exec(next(block for block in blocks if "AcousticScenario(" in block), space)
    monkeypatch.setitem(SCENARIOS, "acoustic-2d", space["AcousticScenario"])
    scenario = craton.Scenario(**TABLES, method="acoustic-2d", run={"order": 8})
    assert type(scenario) is space["AcousticScenario"] and loads(dumps(scenario)) == scenario and scenario.domain.planar
    assert scenario.warnings == ["run.order: this key is ignored, the order is always 2"]
    with pytest.raises(ScenarioError) as caught:
        craton.Scenario(**TABLES, method="acoustic-2D", boundaries={"top": "free"})
    first, second = caught.value.problems
    assert 'did you mean "acoustic-2d"' in first.message
    assert second.remedy == '"boundaries" belongs to scenarios with method = "fd"'
