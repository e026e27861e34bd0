"""Tables from TOML, with overrides, and a scenario as TOML; the line of each key, and problems with their file and line."""

import os
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import Problem, ScenarioError
from craton.io import regular
from craton.io.contents import FileError
from craton.text import nearest, shown, toml_pairs

LARGEST = 1 << 30  # bytes of a scenario
FILE_KEYS = ("file", "mesh", "observed", "recorded")  # keys whose strings are paths, in whatever table
_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<blank>[ \t\r]+|\#[^\n]*)|(?P<newline>\n)|(?P<mark>[][{}=,.])|(?P<bare>[^][{}=,.\s\#\"']+)|(?P<bad>.)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Reading:
    """The result of reading a scenario: the scenario, its problems, and its source text.

    Parameters
    ----------
    scenario : craton.tables.schema.Document or None
        Present whenever enough is right to check more on it; to be run only when there are no
        problems.
    problems : tuple of craton.errors.Problem
        Everything wrong.
    file, text : str
        Where it was read from, and what stood there, for `format_problems`.
    overrides : tuple of str
        As given.
    """

    scenario: Any
    problems: tuple[Problem, ...]
    file: str
    text: str
    overrides: tuple[str, ...]


def read(path, check, overrides=(), synonyms=None):
    """Return the tables of a TOML file, and what a check makes of them.

    Parameters
    ----------
    path : str or os.PathLike
        The file; relative paths inside it are relative to its folder.
    check : callable
        From a dict of tables to a scenario, or None, and a list of Problem:
        `craton.scenario.diagnose`.
    overrides : sequence of str
        ``"key.path=value"`` each, applied before checking.
    synonyms : dict, optional
        Other names of a key, which an override of it removes: ``{"domain.element_size":
        ["spacing"]}``.

    Returns
    -------
    Reading
    """
    file = os.fspath(path)
    try:
        if Path(path).exists() and not Path(path).is_dir():
            regular.check(path, most=LARGEST)
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("", f"not UTF-8 text (byte {error.start})", "save the scenario as UTF-8 TOML text")
    except OSError as error:
        problem = _unreadable(Path(path), error)
    except FileError as error:
        problem = Problem("", str(error), error.remedy)
    else:
        return reads(text, check, overrides, file, synonyms)
    return Reading(None, (problem,), file, "", tuple(overrides))


def reads(text, check, overrides=(), file="scenario", synonyms=None):
    """Return the tables of TOML text, and what a check makes of them: Reading.

    Parameters
    ----------
    text : str
    check : callable
    overrides : sequence of str
        As of `read`.
    file : str or os.PathLike
        Name in messages; relative paths in the text are relative to its folder.
    synonyms : dict, optional
        As of `read`.
    """
    file, overrides = os.fspath(file), tuple(overrides)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Reading(None, (_not_toml(text, str(error)),), file, text, overrides)
    except (ValueError, RecursionError):  # of Python itself
        message = "a number has thousands of digits, or tables are nested hundreds deep"
        return Reading(None, (Problem("", message, "no key needs that: check the file"),), file, text, overrides)
    long = _long_integers(values)
    if long:
        return Reading(None, long, file, text, overrides)
    problems = _override(values, overrides, synonyms or {})
    _resolve_files(values, os.path.dirname(os.path.abspath(file)))
    scenario, more = check(values)
    return Reading(scenario, (*problems, *more), file, text, overrides)


def _long_integers(values, key=""):
    """Problems of integers that no TOML reader has to take: beyond 64 bits."""
    if isinstance(values, dict | list):
        items = values.items() if isinstance(values, dict) else enumerate(values)
        keyed = ((f"{key}.{name}".lstrip("."), value) for name, value in items)
        return tuple(problem for name, value in keyed for problem in _long_integers(value, name))
    if type(values) is int and not -(2**63) <= values < 2**63:
        digits = len(str(abs(values)))
        remedy = "write it with an exponent, such as 1e20, or correct it"
        return (Problem(key, f"an integer of {digits} digits is beyond 64 bits", remedy),)
    return ()


def checked(reading):
    """Return the scenario of a Reading.

    Parameters
    ----------
    reading : Reading

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found, and the text of `format_problems` as its own.
    """
    if reading.problems:
        raise ScenarioError(reading.problems, format_problems(reading))
    return reading.scenario


def _unreadable(path, error):
    if path.is_dir():
        names = _tomls(path) or "it has no .toml file"
        return Problem("", "this is a folder, not a scenario file", f"give a file in this folder: {names}")
    if not isinstance(error, FileNotFoundError):
        return Problem("", f"cannot be read: {error.strerror}", "check the path and its permissions")
    folder = path.parent if path.parent.is_dir() else None
    close = nearest(path.name, [p.name for p in folder.iterdir()]) if folder else None
    hint = f'; did you mean "{path.parent / close}"?' if close else ""
    names = _tomls(folder) if folder else ""
    remedy = f"scenario files in this folder: {names}" if names else "run craton new to make one"
    return Problem("", "there is no such file" + hint, remedy)


def _tomls(folder):
    return ", ".join(sorted(p.name for p in folder.glob("*.toml"))[:8])


def _not_toml(text, message):
    """Return the first syntax error; its line stands in the message, where `format_problems` finds
    it.
    """
    if "(at end of document)" in message:
        last = text.rstrip().count("\n") + 1
        message = message.replace("at end of document", f"at line {last}, end of the file")
    match = re.search(r"line (\d+)", message)
    line = text.split("\n")[int(match.group(1)) - 1] if match else ""
    message = message[:1].lower() + message[1:]
    return Problem("", f"not valid TOML: {message}", _toml_remedy(message, line))


def _toml_remedy(message, line):
    """Return what is mostly meant by a line that is not TOML."""
    if "overwrite" in message or "declare" in message or "mutate" in message:
        return "give a key or table only once: leave one out; write lists of tables as [[...]]"
    if "illegal character '\\n'" in message:
        return "a string must end on the line where it begins"
    bare = re.match(r"\s*([\w.-]+)\s*=\s*([^\s\"'\[{#][^#]*?)\s*(#.*)?$", line)
    if not bare:
        return "check brackets, commas and quotes near here; the format is TOML, https://toml.io"
    name, value = bare.group(1), bare.group(2)
    if value in ("True", "False"):
        return f"write {name} = {value.lower()}"
    noun = "number with a unit" if re.match(r"[+-]?[0-9]", value) else "string"
    return f'a {noun} needs quotes: {name} = "{value}"'


def _override(values, overrides, synonyms):
    problems = []
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            remedy = "write for example --set domain.spacing=200"
            problems.append(Problem("", f"--set {text}: not key.path=value", remedy))
            continue
        problem = _assign(values, path.strip(), _override_value(value.strip()), synonyms)
        problems += [problem] if problem else []
    return problems


def _override_value(text):
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (RecursionError, ValueError):
        return text  # --set run.device=cpu, --set domain.spacing=200 m


def _assign(values, path, value, synonyms):
    here, steps = values, _steps(path)
    for i, step in enumerate(steps):
        table, message = ".".join(map(str, steps[:i])), ""
        if isinstance(here, list) and not (isinstance(step, int) and 0 <= step < len(here)):
            message = f"is a list of {len(here)}, it has no item {shown(step)}"
            remedy = f"items are numbered from 0 to {len(here) - 1}" if here else "add it in the file first"
        elif not isinstance(here, (list, dict)):
            message, remedy = f"is {shown(here)}, it has no keys", "set the value itself"
        if message:
            return Problem(path, f"--set: {table} {message}", remedy)
        if i == len(steps) - 1:
            here[step] = value
        else:
            here = here.setdefault(step, {}) if isinstance(here, dict) else here[step]
    for name in synonyms.get(path, ()):  # "--set method=sem domain.element_size=200" of a file with spacing
        here.pop(name, None)
    return None


def _steps(path):
    return tuple(int(s) if s.isdecimal() else s for s in path.split("."))


def _resolve_files(tables, folder):
    """Make each ``file = "..."`` (and ``mesh``) absolute, so that the scenario means the same
    wherever it is written.
    """
    for table, key, _ in named_files(tables):
        if table[key].strip():
            table[key] = os.path.join(folder, os.path.expanduser(table[key]))


def named_files(tables, path=""):
    """Yield every file that tables name: the table (dict), its key and the dotted key of the file.

    Parameters
    ----------
    tables : dict or list
        Tables of a scenario, as read from TOML.
    path : str
        Dotted key of `tables`.
    """
    items = tables.items() if isinstance(tables, dict) else enumerate(tables)
    for key, child in list(items):
        dotted = f"{path}.{key}" if path else str(key)
        if key in FILE_KEYS and isinstance(child, str):
            yield tables, key, dotted
        elif isinstance(child, (dict, list, tuple)):
            yield from named_files(child, dotted)


def format_problems(error, file=None, text=None, overrides=()):
    """Problems as text for the terminal, at most three lines each, in the order of the file.

    Parameters
    ----------
    error : ScenarioError, Reading, or sequence of craton.errors.Problem
    file, text : str, optional
        The scenario file's name and content; a Reading knows them.
    overrides : sequence of str, optional
        Those the scenario was read with: a problem in one of them is shown there and not in the
        file.

    Returns
    -------
    str
        For each problem ``file:line: key: message``, the offending line, and the remedy.
    """
    problems = getattr(error, "problems", error)
    file = file if file is not None else getattr(error, "file", "scenario")
    text = text if text is not None else getattr(error, "text", "")
    overrides = tuple(overrides) or getattr(error, "overrides", ())
    lines, source = line_map(text), text.splitlines()
    blocks = [_block(problem, file, lines, source, overrides) for problem in problems]
    blocks.sort(key=lambda block: block[0])
    return "\n".join("\n".join(rows) for _, rows in blocks)


def _block(problem, file, lines, source, overrides):
    one_line = " ".join(problem.message.split())
    line = _line(problem, lines)
    head = f"{problem.key}: {one_line}" if problem.key else one_line
    override = _override_of(problem.key, overrides)
    if override:
        line, rows = None, [f"--set {override}: {head.removeprefix(problem.key + ': --set: ')}"]
    else:
        rows = [f"{file}:{line}: {head}" if line else f"{file}: {head}"]
    if line and line <= len(source) and source[line - 1].strip():
        rows.append(f"    {_cut(source[line - 1].strip())}")
    if problem.remedy:
        rows.append(f"    -> {' '.join(problem.remedy.split())}")
    return line or 0, rows


def _line(problem, lines):
    if problem.key:
        return line_of(lines, _steps(problem.key))
    match = re.match(r"not valid TOML.*\bline (\d+)", problem.message)
    return int(match.group(1)) if match else None


def _override_of(key, overrides):
    """Return the last override that set this key or a table around it."""
    for text in reversed(overrides):
        path = text.partition("=")[0].strip()
        if path and (key == path or key.startswith(path + ".")):
            return text
    return None


def _cut(line, most=120):
    return line if len(line) <= most else line[: most - 4] + " ..."


def dumps(scenario, files=None):
    """Return a scenario as TOML text: every value as resolved, SI numbers, absolute paths; `loads`
    makes an equal scenario of it.

    Parameters
    ----------
    scenario : Scenario
    files : dict of str to str, optional
        What is written in place of a file's absolute path.

    Returns
    -------
    str
    """
    tables = tables_of(scenario)
    for table, key, _ in named_files(tables) if files else ():
        table[key] = files.get(table[key], table[key])
    return tables_as_toml(tables)


def tables_of(scenario):
    """Return the tables of a scenario as they are written: dict.

    Parameters
    ----------
    scenario : Scenario
    """
    return scenario.model_dump(by_alias=True, exclude_none=True)


def tables_as_toml(tables):
    """Return tables of a scenario as TOML text.

    Parameters
    ----------
    tables : dict
    """
    nested = (dict, list, tuple)
    plain = {k: v for k, v in tables.items() if not isinstance(v, nested)}
    parts = ["\n".join(toml_pairs(plain))]
    for name, value in tables.items():
        if isinstance(value, dict):
            parts.append("\n".join([f"[{name}]", *toml_pairs(value, wide=True)]))
        elif name not in plain:
            parts += ["\n".join([f"[[{name}]]", *toml_pairs(item, wide=True)]) for item in value]
    return "\n\n".join(parts) + "\n"


# --- lines of keys, also in arrays of tables, inline tables and arrays over many lines ---------------------------------


def line_map(text: str) -> dict[tuple, int]:
    """Return the line numbers, from 1, of the paths ``("source", 0, "at", 2)`` of a TOML text; for text that is not
    TOML, of what stands before the error.
    """
    reader = _Reader()
    with suppress(StopIteration, RecursionError, ValueError):  # the end, or not TOML from there on
        reader.document(text)
    return reader.lines


def line_of(lines: dict[tuple, int], path: tuple) -> int | None:
    """Return the line of a path, or of the nearest table around it that has one; None where there is none."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def _tokens(text):
    """Yield the kind, text and line of every token; blanks and comments are none."""
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "blank":
            yield match.lastgroup, match.group(), line
        line += match.group().count("\n")
    yield "newline", "\n", line


class _Reader:
    """One pass over the tokens; `kind`, `text` and `line` are those of the token that is read next."""

    def __init__(self):
        self.lines, self.counts = {}, {}

    def document(self, text):
        self.tokens, table = _tokens(text), ()
        self.step()
        while True:
            self.skip_newlines()
            if self.take("["):
                table = self.header()
            else:
                self.pair(table)

    def step(self):
        self.kind, self.text, self.line = next(self.tokens)

    def take(self, mark):
        """Step over a mark, and return whether it stands here."""
        is_here = self.kind == "mark" and self.text == mark
        if is_here:
            self.step()
        return is_here

    def skip_newlines(self):
        while self.kind == "newline":
            self.step()

    def header(self):
        line, double, path = self.line, self.take("["), ()
        *parents, name = self.key()
        for parent in parents:  # arrays of tables on the way stand for their last table
            path = (*path, parent)
            path += (self.counts[path],) if path in self.counts else ()
        path = (*path, name)
        if double:
            self.counts[path] = self.counts.get(path, -1) + 1
            self.lines.setdefault(path, line)
            path = (*path, self.counts[path])
        self.lines[path] = line
        while self.take("]"):
            pass
        return path

    def key(self):
        names = []
        while not names or self.take("."):
            if self.kind not in ("string", "bare"):
                raise ValueError
            names.append(self.text[1:-1] if self.kind == "string" else self.text)
            self.step()
        return names

    def pair(self, table):
        line = self.line
        for name in self.key():
            table = (*table, name)
            self.lines.setdefault(table, line)
        if not self.take("="):
            raise ValueError
        self.value(table)

    def value(self, path):
        self.lines.setdefault(path, self.line)
        if self.take("["):
            self.items(path, "]")
        elif self.take("{"):
            self.items(path, "}")
        else:
            while self.kind != "newline" and not (self.kind == "mark" and self.text in ",]}"):
                self.step()

    def items(self, path, closing):
        index = 0
        self.skip_newlines()
        while not self.take(closing):
            if closing == "}":
                self.pair(path)
            else:
                self.lines[(*path, index)] = self.line
                self.value((*path, index))
                index += 1
            self.skip_newlines()
            if not self.take(",") and self.text != closing:
                raise ValueError
            self.skip_newlines()
