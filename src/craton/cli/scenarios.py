"""craton new and schema: a small scenario to start from, or one of the examples; the keys of scenarios as JSON Schema, for
editors that complete and check TOML.
"""

import json
from pathlib import Path

from craton.cli.check import known
from craton.cli.command import Force, argument, flag, option, target
from craton.errors import ResourceError, refuse
from craton.integrity import writing

TEMPLATE = Path(__file__).parent / "new.toml"
PACKAGE = Path(__file__).parents[1]
# where examples lie in an installed craton, and beside the sources of a clone
EXAMPLES = (PACKAGE / "examples", PACKAGE.parents[1] / "examples")


def new(
    name: argument("NAME", "Name of the file, .toml is added; or of an example.", show_default=True) = "scenario",
    examples: flag("list", "Print the names of the examples.") = False,
    force: Force = False,
):
    """Write a small scenario to start from.

    It is commented and runs in under a minute. Where NAME is that of an example, such as
    two-layers, the example is written with the files that it needs.
    """
    if examples:
        print(listed_examples())
        return
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not name.strip() or path.name in (".toml", "..toml"):
        refuse("NAME", f'"{name}" is not a name for a file', "write for example: craton new valley")
    example = files_of_examples().get(path.stem.lower().replace("-", "_"))
    if example is None:
        text = TEMPLATE.read_text(encoding="utf-8").replace("FILE", str(path))
        write({path: text.encode()}, force)
    else:
        write(copies(example, path), force)
    print(f"{path} written. Next:\n  craton plan {path}\n  craton run {path}")


def files_of_examples():
    """Return the files of the examples by name: dict of Path."""
    folder = next((folder for folder in EXAMPLES if folder.is_dir()), None)
    files = sorted(folder.glob("*.toml")) if folder else []
    return {path.stem: path for path in files}


def listed_examples():
    """Return names and titles of the examples, a line each, and how to get one."""
    import tomllib

    files = files_of_examples()
    if not files:
        raise ResourceError("the examples are not there: this installation of craton is incomplete")
    titles = {name: tomllib.loads(path.read_text("utf-8"))["title"] for name, path in files.items()}
    width = max(map(len, titles))
    lines = [f"{name.replace('_', '-'):<{width}}  {title}" for name, title in titles.items()]
    return "\n".join([*lines, "craton new NAME writes one of them to NAME.toml"])


def copies(example, path):
    """Return the contents of an example and of the files that it names, by their place beside
    `path`: dict of bytes.

    Parameters
    ----------
    example, path : Path
    """
    import tomllib

    from craton.tables.document import named_files

    text = example.read_bytes()
    named = {table[key] for table, key, _ in named_files(tomllib.loads(text.decode()))}
    return {path: text} | {path.parent / name: (example.parent / name).read_bytes() for name in sorted(named)}


def write(contents, force):
    """Write files, all or none.

    Parameters
    ----------
    contents : dict of bytes
        By path.
    force : bool
        Replace files that are there; without, one of other content is refused.
    """
    for path, content in contents.items():
        if path.exists() and not force and (path.suffix == ".toml" or path.read_bytes() != content):
            refuse("NAME", f"{path} is already there", "choose another name, or add --force to replace it")
    for path, content in contents.items():
        with writing(path, "\n    -> choose another folder"):
            if path.suffix != ".toml":  # a file of an example, in a folder beside it
                path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)


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
