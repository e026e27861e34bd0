"""The reference of keys and commands: pages made of the classes that read a scenario and of the command line."""

import re
from pathlib import Path

import make_tables

HEAD = """# Keys of `method = "{method}"`

{title}. Numbers are SI, or texts with a unit; [scenario.md]({up}scenario.md) explains the tables with
examples. In Python each table is the class of its heading, `craton.{example}(...)`.

"""
TITLES = {
    "fd": "Elastic and acoustic waves by finite differences",
    "sem": "Elastic and acoustic waves by spectral elements",
    "gravity": "Gravity of prisms",
}
COLUMNS = ("key", "value", "default", "limits", "meaning")


def write(folder):
    """Write the pages `keys_METHOD.md` and `commands.md`, and the table `works.md`.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    documented = set()
    for method, (root, tables) in tables_of_methods().items():
        text = HEAD.format(method=method, title=TITLES[method], example=root, up="../")
        parts = [section(name, tables[name], name not in documented) for name in tables]
        documented |= set(tables)
        write_changed(folder / f"keys_{method}.md", text + "\n".join(parts))
    write_commands(folder)
    write_works(folder)


def write_works(folder):
    """Write the table `works.md`: what craton may ask to cite, and for what.

    Parameters
    ----------
    folder : Path
    """
    from craton.citations import USES, Citation, library

    rows = [
        (used_for, str(Citation(key, used_for, *library()[key])).replace("|", "\\|"))
        for used_for, _, keys in USES
        for key in keys
    ]
    write_changed(folder / "works.md", make_tables.table(("for", "work"), rows) + "\n")


def write_commands(folder):
    """Write the page `commands.md`: every command with its options, as `craton COMMAND --help` has them.

    Parameters
    ----------
    folder : Path
    """
    from craton.cli import app

    group = app.command()
    context = group.make_context("craton", [], resilient_parsing=True)
    parts = ["# Commands\n\n`craton COMMAND --help` prints the same.\n"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        records = filter(None, (each.get_help_record(context) for each in command.params))
        rows = [
            (f"`{words}`".replace("|", "\\|"), meaning.replace("|", "\\|"))
            for words, meaning in records
            if words != "--help"
        ]
        text = " ".join(command.help.split("\f")[0].split())
        options = make_tables.table(("argument", "meaning"), rows) if rows else ""
        parts.append(f"## craton {name}\n\n{text}\n\n{options}\n")
    write_changed(folder / "commands.md", "\n".join(parts))


def write_changed(path, text):
    """Write a page where its text has changed, so that Sphinx reads only what is new.

    Parameters
    ----------
    path : Path
    text : str
    """
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def tables_of_methods():
    """Return the tables of each method: dict of (name of the scenario's class, dict of schema by
    class, the scenario first).
    """
    from craton.cli.scenarios import with_keys
    from craton.scenario import SCENARIOS

    found = {}
    for method, kind in SCENARIOS.items():
        schema = kind.model_json_schema()
        tables = {kind.__name__: schema} | dict(sorted(schema.pop("$defs").items()))
        found[method] = (
            kind.__name__,
            {name: with_keys(name, table) if "properties" in table else table for name, table in tables.items()},
        )
    return found


def section(name, table, first):
    """Return the part of a page on one table.

    Parameters
    ----------
    name : str
        Class.
    table : dict
        JSON Schema.
    first : bool
        Whether this is the place to which references by the name of the class lead.
    """
    about = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"`\1`", table.get("description", "")).strip()
    directive = f"```{{py:class}} craton.{name}" + ("" if first else "\n:no-index:")
    rows = [row(key, spec, table) for key, spec in table.get("properties", {}).items()]
    keys = make_tables.table(COLUMNS, rows) if rows else ""
    return f"## {name}\n\n{directive}\n```\n\n{summary(about)}\n\n{keys}\n"


def summary(text):
    """Return the first paragraph of a docstring, as one line of Markdown."""
    return " ".join(text.split("\n\n")[0].split())


def row(key, spec, table):
    """Return the cells of a key.

    Parameters
    ----------
    key : str
    spec, table : dict
        JSON Schema of the key, and of the class.
    """
    if "const" in spec:
        return f"`{key}`", f'`"{spec["const"]}"`', "needed", "", "kind of this table"
    bare = next((each for each in spec.get("anyOf", ()) if each.get("type") != "null"), spec)
    meaning = spec.get("description") or bare.get("description", "")
    needed = key in table.get("required", ())
    default = "needed" if needed else make_tables.default_of(spec.get("default"))
    return (
        f"`{key}`",
        value(key, bare),
        default,
        make_tables.limits_of(bare),
        meaning.replace("|", "\\|").replace("<", "&lt;"),
    )


def value(key, spec):
    """Return what a key takes, with links to the tables that it may hold.

    Parameters
    ----------
    key : str
    spec : dict
        JSON Schema.
    """
    classes = dict.fromkeys(re.findall(r"#/\$defs/(\w+)", str(spec)))
    links = ", ".join(f"[{name}](#{name.lower()})" for name in classes if name != "Position")
    return make_tables.value_of(key, spec) + (f": {links}" if links else "")


if __name__ == "__main__":
    write(Path(__file__).parent / "generated")
