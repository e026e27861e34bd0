"""Methods: each is one object with the verbs of the protocol, and nothing else asks which method it is."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import craton
from craton.errors import ScenarioError
from craton.methods import METHODS
from craton.methods.protocol import Method
from craton.scenario import SCENARIOS, dumps, loads

PACKAGE = Path(__file__).parents[2] / "src" / "craton"
FACTS = {
    "name": str,
    "drive": str,
    "many_ranks": bool,
    "plans_by_rank": bool,
    "tries_operators": bool,
    "benches": tuple,
}
VERBS = [name for name, value in vars(Method).items() if inspect.isfunction(value) and not name.startswith("_")]
# Who may write a method's name: the methods themselves, the command line's choices, and what writes scenarios of its own.
NAMING = {"methods", "cli/commands/machine.py", "validation"}


def test_methods_are_those_of_scenarios():
    assert set(METHODS) == set(SCENARIOS) and all(method.name == name for name, method in METHODS.items())


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_each_has_the_facts_and_verbs_of_the_protocol(method):
    assert {name: type(getattr(method, name)) for name in FACTS} == FACTS and method.drive in ("march", "sweep")
    wrong = [verb for verb in VERBS if signature(getattr(type(method), verb)) != signature(getattr(Method, verb))]
    assert len(VERBS) >= 10 and not wrong


def signature(function):
    """Names of the parameters and which have defaults."""
    return [(p.name, p.default is p.empty) for p in inspect.signature(function).parameters.values()]


def names_methods(path):
    """Lines of a file in which a whole string is the name of a method, but not a title or a key of something else."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and node.value in ("fd", "sem"):
            yield node.lineno


def allowed(path):
    """Whether a file may name methods."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] in NAMING or str(relative) in NAMING


def test_nothing_else_asks_which_method_it_is():
    naming = {
        str(path.relative_to(PACKAGE)): list(names_methods(path)) for path in PACKAGE.rglob("*.py") if not allowed(path)
    }
    assert not {path: lines for path, lines in naming.items() if lines}


def test_the_scenario_of_a_new_method_needs_no_other_edit(monkeypatch):
    """The class of docs/developer/add_a_method.md: its files load, its foreign keys are noted, others are reported with their method."""
    page = (PACKAGE.parents[1] / "docs" / "developer" / "add_a_method.md").read_text()
    space = {"__name__": "acoustic.options"}
    exec(
        next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "AcousticScenario(" in block),
        space,
    )
    monkeypatch.setitem(SCENARIOS, "acoustic-2d", space["AcousticScenario"])
    tables = {
        "method": "acoustic-2d",
        "domain": {"origin": [0, -900], "size": [1200, 900], "spacing": 30},
        "run": {"order": 8},
        "model": {"kind": "homogeneous", "vp": 3000, "vs": 0, "rho": 2200},
        "time": {"duration": 0.1},
        "source": [
            {"kind": "explosion", "at": [500, -500], "moment": 1e12, "wavelet": {"kind": "ricker", "frequency": 3}}
        ],
    }
    scenario = craton.Scenario(**tables)
    assert type(scenario) is space["AcousticScenario"] and loads(dumps(scenario)) == scenario and scenario.domain.planar
    assert scenario.warnings == ["run.order: this key is ignored, the order is always 2"]
    with pytest.raises(ScenarioError) as caught:
        craton.Scenario(**tables | {"method": "acoustic-2D", "boundaries": {"top": "free"}})
    first, second = caught.value.problems
    assert (
        'did you mean "acoustic-2d"' in first.message
        and second.remedy == '"boundaries" belongs to scenarios with method = "fd"'
    )


def test_a_method_is_one_row(monkeypatch, tmp_path):
    """Another object in the row of a method takes all its verbs: here one that plans as before and says another thing."""

    class Other(type(METHODS["fd"])):
        def dataset(self, result):
            return super().dataset(result).assign_attrs(method="other")

    text = """
domain = { origin = [0, 0, -1000], size = [1000, 1000, 1000], spacing = 40 }
model = { kind = "homogeneous", vp = 3000, vs = 1700, rho = 2200 }
time = { duration = 0.1 }
source = [{ kind = "explosion", at = [500, 500, -500], moment = 1e12, wavelet = { kind = "ricker", frequency = 3 } }]
receivers = [{ name = "R", at = [300, 300, -300] }]
"""
    (tmp_path / "small.toml").write_text(text)
    scenario = craton.load(tmp_path / "small.toml")
    monkeypatch.setitem(METHODS, "fd", Other())
    assert craton.run(scenario, device="cpu", progress=False).dataset.attrs["method"] == "other"
