"""craton validate: runs against solutions from elsewhere."""

import json
from pathlib import Path

from craton.cli.check import known
from craton.errors import ResourceError


def command(name=None, device="auto", out=None):
    """Run the cases of `craton.validation.CASES`, or one, print what came of them and keep it; 4 where one is not within its limit."""
    from craton.validation import CASES, validate

    if name is not None:
        known("NAME", name, CASES, "case")
    rows = validate(name, device=device)
    print(table(rows))
    if out:
        keep(rows, device, out)
    failed = [row for row in rows if not row["passed"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} within their limits")
    return 4 if failed else 0


def keep(rows, device, out):
    """Write the rows as JSON with the machine and versions: docs/make_tables.py makes the tables of docs/validation.md from it."""
    from craton.backends import backend
    from craton.benchmark import provenance

    try:
        Path(out).write_text(json.dumps({"validation": rows, **provenance(backend(device))}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ResourceError(f"cannot write {out}: {error.strerror or error}\n    -> choose another file with -o") from error


def table(rows):
    """Rows, dicts with the same keys, as aligned text."""
    cells = [list(rows[0]), *([shown(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in cells)


def shown(value):
    """A value of a table."""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
