"""craton schema: the keys of a scenario as JSON Schema, for editors that complete and check TOML."""

import json
from pathlib import Path

from craton.cli.check import known
from craton.cli.options import option, target

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NUMBER = {"type": ["number", "string"]}
# What readers take beside what the classes hold, by class or key: positions as lists, all fields.
SHORTER = {
    "Position": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 3},
    "Points": {"type": "array", "items": {"type": ["array", "object"]}, "minItems": 1},
    "fields": {"const": "all"},
}


def schema(
    method: option("One method; by default all.", metavar="NAME") = None,
    out: target("FILE.json", "Write it into a file.") = None,
):
    """Print all keys of a scenario as JSON Schema.

    Editors complete and check scenario files by it: a first line "#:schema scenario.json" does in
    those that use Taplo.
    """
    from craton.scenario import SCENARIOS

    if method is not None:
        known("--method", method, SCENARIOS, "method")
    text = json.dumps(schema_of([method] if method else list(SCENARIOS)), indent=1)
    if out is None:
        print(text)
    else:
        Path(out).write_text(text + "\n", encoding="utf-8")
        print(out)


def schema_of(methods):
    """Return the JSON Schema of the scenarios of some methods: dict.

    Parameters
    ----------
    methods : list of str
        Keys of `craton.methods.METHODS`.
    """
    from craton.scenario import DEFAULT, SCENARIOS

    root = {"$schema": DRAFT, "title": "craton scenario", "$defs": {}, "oneOf": []}
    for name in methods:
        tables = SCENARIOS[name].model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        for table, keys in tables.pop("$defs").items():
            is_table = "properties" in keys  # a list of positions has no keys
            shown = spelled(table, with_keys(table, keys)) if is_table else keys
            root["$defs"][f"{name}.{table}"] = shown
        tables = with_keys(SCENARIOS[name].__name__, tables)
        if name != DEFAULT:  # a file without a method is of the default one
            tables["required"] = ["method", *tables.get("required", ())]
        root["oneOf"].append(tables)
    return root


def with_keys(table, schema):
    """Return the schema of a class with a description and the short forms of each key.

    Parameters
    ----------
    table : str
        Name of the class.
    schema : dict
    """
    from craton.tables.meanings import classes, described

    keys = described(table if table in classes() else "Scenario", schema)["properties"]
    return schema | {"properties": {key: spelled(key, spec) for key, spec in keys.items()}}


def spelled(name, spec):
    """Return what a class or key takes in TOML: also its short form, and one table for a list of tables.

    Parameters
    ----------
    name : str
    spec : dict
    """
    items = spec.get("items", {})
    if "$ref" in items or "oneOf" in items:
        return {"anyOf": [spec, items]}
    return {"anyOf": [spec, SHORTER[name]]} if name in SHORTER else spec
