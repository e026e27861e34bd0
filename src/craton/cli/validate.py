"""craton validate: runs against solutions from elsewhere."""

import json
from pathlib import Path

from craton.cli.check import known
from craton.cli.options import Where, argument, flag, option, target
from craton.errors import ResourceError

LINE = "{:<16}  {:<86}  {:>9}  {:>8}  {}"


def validate(
    name: argument("NAME", "A case, or fd: all of them.", str | None) = None,
    device: Where = None,
    out: target("FILE.json", "Keep the misfits as JSON.") = None,
    figure: option("Draw seismograms and misfits.", "--figure", metavar="FILE.png") = None,
    full: flag("full", "Larger runs, for a GPU.") = False,
):
    """Compare runs with solutions from elsewhere.

    Ends with exit code 4 where a case is not within its limit.
    """
    from craton.validation import CASES, GROUPS
    from craton.validation import validate as computed

    device = device or "auto"
    if name is not None:
        known("NAME", name, [*GROUPS, *CASES], "case")
    print(LINE.format("case", "what", "misfit", "limit", "passed"))
    rows = [printed(row) for row in computed(name, device=device, full=full)]
    if out:
        keep(rows, device, out)
    if figure:
        drawn(rows, figure)
    failed = [row for row in rows if not row["passed"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} within their limits")
    return 4 if failed else 0


def printed(row):
    """Print a row, and hand it on."""
    words = (f"{row['misfit']:.3g}", f"{row['limit']:.3g}", "yes" if row["passed"] else "NO")
    print(LINE.format(row["case"], row["what"], *words), flush=True)
    return row


def keep(rows, device, out):
    """Write the rows as JSON with the machine and versions: docs/make_tables.py makes the tables of
    docs/validation.md from it.
    """
    from craton.backends import backend
    from craton.benchmark import provenance

    rows = [{key: value for key, value in row.items() if key != "curves"} for row in rows]
    text = json.dumps({"validation": rows, **provenance(backend(device))}, indent=1) + "\n"
    written(out, lambda: Path(out).write_text(text, encoding="utf-8"), "-o")


def drawn(rows, path):
    """Write the figure."""
    from craton.validation.figure import save

    written(path, lambda: save(rows, path), "--figure")


def written(path, write, option):
    """Write a file, or say that it cannot be."""
    try:
        write()
    except (OSError, ValueError) as error:  # ValueError: a format that matplotlib does not know
        remedy = f"choose another file with {option}"
        raise ResourceError(
            f"cannot write {path}: {getattr(error, 'strerror', None) or error}\n    -> {remedy}"
        ) from error
