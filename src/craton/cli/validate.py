"""craton validate: runs against solutions from elsewhere."""

from craton.cli.check import known


def command(name=None, device="auto"):
    """Run the cases of `craton.validation.CASES`, or one, and print what came of them; 4 where one is not within its limit."""
    from craton.validation import CASES, validate

    if name is not None:
        known("NAME", name, CASES, "case")
    rows = validate(name, device=device)
    print(table(rows))
    failed = [row for row in rows if not row["passed"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} within their limits")
    return 4 if failed else 0


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
