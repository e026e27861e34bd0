"""What each key of a scenario means, by class: for `craton schema` and the tables of the docs."""

import re
import tomllib
from functools import cache
from pathlib import Path

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@cache
def groups():
    """Return the meanings, Markdown, by class or by classes that share a table: dict of dict.

    A label ``key (kind)`` holds for one class of several, that of this kind or name.
    """
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def classes():
    """Return the meanings of a class's table by its name: dict of dict."""
    return {name: rows for names, rows in groups().items() for name in names.split()}


def meaning(name, key, kind=""):
    """Return what a key of a class means, plain text; "" where nobody has said it.

    Parameters
    ----------
    name : str
        Class, ``"Ricker"``.
    key : str
    kind : str
        The class's value of ``kind`` or ``shape``.
    """
    rows = classes().get(name, {})
    text = rows.get(f"{key} ({kind or name})") or rows.get(key, "")
    return LINK.sub(r"\1", text).replace("`", "").replace("&gt;", ">").replace("&lt;", "<")


def described(name, table):
    """Return a class's JSON Schema with a description for each key.

    Parameters
    ----------
    name : str
    table : dict
    """
    specs = table["properties"]
    kind = next((spec["const"] for spec in specs.values() if "const" in spec), "")
    texts = {key: meaning(name, key, kind) for key in specs}
    texts |= {key: f"always {spec['const']}" for key, spec in specs.items() if "const" in spec}
    specs = {key: {"description": text, **spec} if (text := texts[key]) else spec for key, spec in specs.items()}
    return table | {"properties": specs}
