"""Keys of other methods in a scenario: read as a key of its own, left out with a note, or refused
with a remedy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from craton.errors import Problem
from craton.tables.fields import Table
from craton.text import shown


@dataclass(frozen=True)
class Foreign:
    """A key, or some values of a key, that a method does not have and others do: one row of the
    method's table.

    A key that is neither renamed nor refused and has no value in its place is left out. In texts,
    ``{value}`` stands for the value, and ``{0}`` for the scenario in a note. Further checks are
    made on a scenario with a refused value only where something takes its place.

    Parameters
    ----------
    key : str
        Path in the scenario; ``a|b`` stands for two names, ``*`` for any name or number, ``**`` for
        any steps.
    values : tuple or callable, optional
        The values that are meant, or whether one is, from it and the dict of its table; None: all.
    refused : tuple of str, optional
        Message and remedy.
    note : str, optional
        Warning, shown after the key.
    becomes : object, optional
        Value that takes its place.
    renamed : str, optional
        The method's own name of the key.
    up : int, optional
        Steps to leave out at the end of the key in messages.
    """

    key: str
    values: tuple | Callable | None = None
    refused: tuple[str, str] | None = None
    note: str = ""
    becomes: Any = None
    renamed: str = ""
    up: int = 0

    def applies(self, value, table):
        """Whether the row is about this value of its key, in a table (dict).

        Parameters
        ----------
        value : object
        table : dict
            The table that has the key.
        """
        if callable(self.values):
            return self.values(value, table)
        return self.values is None or (isinstance(value, str) and value in self.values)


def adopt(values, rows):
    """Change the keys of other methods in the tables of a scenario.

    Parameters
    ----------
    values : dict
        The tables, changed in place; what Python code has built already stays as it is.
    rows : sequence of Foreign
        The first that applies to a key is used.

    Returns
    -------
    problems : list of Problem
        Of what is refused.
    notes : list of (key, note, value)
    renamed : dict
        Key as written, by the key that it has become.
    usable : bool
        Nothing that is refused is left.
    """
    problems, notes, renamed, usable, seen = [], [], {}, True, set()
    for row in rows:
        for path, table, value in list(_matches(values, row.key.split("."))):
            if path in seen or not row.applies(value, dict(_items(table))):
                continue
            seen.add(path)
            key = dotted(path[: len(path) - row.up])
            if row.refused:
                message, remedy = row.refused
                problems.append(Problem(key, message.format(value=shown(value)), remedy))
                if row.becomes is None:
                    usable = False
                    continue
            if row.note:
                notes.append((key, row.note, shown(value)))
            if isinstance(table, dict):
                _replace(table, path[-1], row)
            if row.renamed:
                renamed[dotted((*path[:-1], row.renamed))] = key
    return problems, notes, renamed, usable


def _replace(table, name, row):
    value = table.pop(name)
    if row.renamed:
        table[row.renamed] = value
    elif row.becomes is not None:
        table[name] = row.becomes


def _items(value):
    """(key, value) pairs of a table or list; nothing of anything else."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, Table):
        fields = type(value).model_fields.items()
        return [(field.alias or name, getattr(value, name)) for name, field in fields]
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else []


def _matches(value, steps, path=()):
    """(path, table, value) of everything in nested tables that the steps of a pattern lead to."""
    step, *rest = steps
    if step == "**":
        yield from _matches(value, rest, path)
    for key, child in _items(value):
        if step == "**":
            yield from _matches(child, steps, (*path, key))
        elif step != "*" and key not in step.split("|"):
            continue
        elif rest:
            yield from _matches(child, rest, (*path, key))
        elif child is not None:
            yield (*path, key), value, child


def dotted(path):
    """``("source", 0, "at")`` as ``"source.0.at"``.

    Parameters
    ----------
    path : sequence of str and int
    """
    return ".".join(map(str, path))
