"""craton schema: what it accepts is what craton reads."""

import json
import re
import tomllib

import pytest
from paths import ROOT

from craton import versions
from craton.cli.app import main
from craton.scenario import SCENARIOS

jsonschema = pytest.importorskip("jsonschema")
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.fixture(scope="module")
def validator(tmp_path_factory):
    """Validator of the schema that the command writes."""
    path = tmp_path_factory.mktemp("schema") / "scenario.json"
    assert main(["schema", "-o", str(path)]) == 0
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_examples_fit(validator):
    """And one of each method with a wrong key or another method does not."""
    examples = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in EXAMPLES}
    for name, values in examples.items():
        assert not [error.message for error in validator.iter_errors(values)], name
    for name in ("two_layers", "globe", "seven_spheres"):
        assert not validator.is_valid(examples[name] | {"domian": {}}), name
        assert not validator.is_valid(examples[name] | {"method": "fdtd"}), name


def test_lists_of_positions_fit(validator):
    values = tomllib.loads((EXAMPLES[0].parent / "two_layers.toml").read_text(encoding="utf-8"))
    (source,), line = values["source"], [[0, 0, -100], [100, 0, -100]]
    for at in (line, [{"x": 0, "y": 0, "depth": 100}], [0, 0, -100]):
        assert validator.is_valid(values | {"receivers": [{"name": "A", "at": at}]})
        assert validator.is_valid(values | {"source": [source | {"at": at}]})
    shots = {key: value for key, value in source.items() if key != "at"} | {"name": "S", "shots": line}
    assert validator.is_valid(values | {"source": [shots]})
    for at in ({"positions": [[0, 0, -100]]}, [{"east": 0}]):
        assert not validator.is_valid(values | {"receivers": [{"name": "A", "at": at}]})


def test_every_key_is_there_and_described(validator):
    """In words of at least a few letters, without Markdown."""
    tables = [*validator.schema["$defs"].values(), *validator.schema["oneOf"]]
    texts = {}
    for table in (table["anyOf"][0] if "anyOf" in table else table for table in tables):
        for key, spec in table.get("properties", {}).items():
            texts[table["title"], key] = spec.get("description") or spec.get("anyOf", [{}])[0].get("description", "")
    assert not [name for name, text in texts.items() if len(text) < 4 or "`" in text or "](" in text]
    keys = {key for _, key in texts}
    for scenario in SCENARIOS.values():
        assert set(scenario.model_fields["run"].annotation.model_fields) <= keys
    assert len(keys) > 150 and len(texts) > 400


def test_one_method(capsys):
    assert main(["schema", "--method", "gravity"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert len(schema["oneOf"]) == 1 and all(name.startswith("gravity.") for name in schema["$defs"])
    assert main(["schema", "--method", "gravty"]) == 2
    assert "gravity" in capsys.readouterr().err


def test_version(capsys):
    assert main(["--version"]) == 0
    words = capsys.readouterr().out.split()
    assert words[:3] == ["craton", versions.versions("craton")["craton"] + ",", "commit"]
    assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", words[3])  # this is a clone


def test_commit_of_a_wheel_of_a_copy_and_of_neither(tmp_path, monkeypatch):
    """A file says it; an installed package does not ask the repository that happens to lie around it."""
    package, commit = tmp_path / "site" / "src" / "craton", versions.source_commit.__wrapped__
    package.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(versions, "PACKAGE", package)
    assert commit() is None
    for folder, text in ((tmp_path / "site", "1234567"), (package, "89abcde")):
        (folder / "COMMIT").write_text(text + "\n")
        assert commit() == text
