"""Which line of a TOML text each key stands on, also in arrays of tables, inline tables and arrays over many lines."""

import re
from contextlib import suppress

_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<blank>[ \t\r]+|\#[^\n]*)|(?P<newline>\n)|(?P<mark>[][{}=,.])|(?P<bare>[^][{}=,.\s\#\"']+)|(?P<bad>.)",
    re.DOTALL,
)


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
        found = self.kind == "mark" and self.text == mark
        if found:
            self.step()
        return found

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
