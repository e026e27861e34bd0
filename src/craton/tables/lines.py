"""Which line of a TOML text each key stands on, also in arrays of tables, inline tables and arrays
over many lines.
"""

import re
from contextlib import suppress

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_VALUE_END = re.compile(r"[,\]}\n#]")
_QUOTES = ('"""', "'''", '"', "'")


def line_map(text):
    """Line numbers of the keys of a TOML text.

    Parameters
    ----------
    text : str
        Text that ``tomllib`` accepts; for other text the map covers what stands before the error.

    Returns
    -------
    dict
        From paths, ``("source", 0, "at", 2)``, to line numbers from 1.
    """
    scanner = _Scanner(text)
    with suppress(IndexError, RecursionError, ValueError):  # not TOML from there on
        scanner.document()
    return scanner.lines


def line_of(lines, path):
    """Return the line of a path, or of the nearest table around it that has one; None where there
    is none.

    Parameters
    ----------
    lines : dict
        From `line_map`.
    path : tuple
        ``("source", 0, "at")``.
    """
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


class _Scanner:
    """One pass over the text; every method starts at ``self.at`` and leaves it behind what it read."""

    def __init__(self, text):
        self.text, self.at = text, 0
        self.lines, self.counts = {}, {}
        self._known, self._known_line = 0, 1

    def document(self):
        table = ()
        self.blanks(newlines=True)
        while self.at < len(self.text):
            if self.peek() == "[":
                table = self.header()
            else:
                self.pair(table)
            self.blanks(newlines=True)

    def header(self):
        line, double = self.line(), self.text.startswith("[[", self.at)
        self.at += 1 + double
        names = self.key("]")
        self.at += 1 + double
        path = self.inside(names[:-1]) + (names[-1],)
        if double:
            count = self.counts[path] = self.counts.get(path, -1) + 1
            self.lines.setdefault(path, line)
            path = (*path, count)
        self.lines[path] = line
        return path

    def inside(self, names):
        """Return the path of a header's parent: arrays of tables on the way stand for their last
        table.
        """
        path = ()
        for name in names:
            path = (*path, name)
            if path in self.counts:
                path = (*path, self.counts[path])
        return path

    def pair(self, table):
        line = self.line()
        path = table
        for name in self.key("="):
            path = (*path, name)
            self.lines.setdefault(path, line)
        self.at += 1
        self.value(path)

    def value(self, path):
        self.blanks(newlines=False)
        self.lines.setdefault(path, self.line())
        if self.peek() == "[":
            self.items(path, "]", self.element)
        elif self.peek() == "{":
            self.items(path, "}", lambda path, i: self.pair(path))
        elif self.peek() in "\"'":
            self.string()
        else:
            end = _VALUE_END.search(self.text, self.at)
            self.at = end.start() if end else len(self.text)

    def items(self, path, closing, read):
        self.at += 1
        index = 0
        self.blanks(newlines=True)
        while self.peek() != closing:
            read(path, index)
            index += 1
            self.blanks(newlines=True)
            if self.peek() == ",":
                self.at += 1
                self.blanks(newlines=True)
            elif self.peek() != closing:
                raise ValueError
        self.at += 1

    def element(self, path, index):
        self.lines[(*path, index)] = self.line()
        self.value((*path, index))

    def key(self, closing):
        names = []
        while True:
            self.blanks(newlines=False)
            if self.peek() in "\"'":
                names.append(self.string())
            else:
                match = _BARE.match(self.text, self.at)
                if not match:
                    raise ValueError
                names.append(match.group())
                self.at = match.end()
            self.blanks(newlines=False)
            if self.peek() == closing:
                return names
            if self.peek() != ".":
                raise ValueError
            self.at += 1

    def string(self):
        quote = next(q for q in _QUOTES if self.text.startswith(q, self.at))
        start = self.at = self.at + len(quote)
        while not self.text.startswith(quote, self.at):
            self.at += 2 if quote[0] == '"' and self.text[self.at] == "\\" else 1
            self.peek()
        content = self.text[start : self.at]
        self.at += len(quote)
        while len(quote) == 3 and self.text.startswith(quote[0], self.at):  # """quoted at the end"""""
            self.at += 1
        return content

    def blanks(self, newlines):
        """Skip blanks, and with ``newlines`` also ends of lines and comments."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t" or (newlines and self.text[self.at] in "\r\n"):
                self.at += 1
            elif newlines and self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def peek(self):
        return self.text[self.at]

    def line(self):
        """Return the line number here; positions only grow, so newlines are counted once."""
        self._known_line += self.text.count("\n", self._known, self.at)
        self._known = self.at
        return self._known_line
