"""Long runs on a GPU: every row of `craton validate stability`, 100,000 steps of finite differences, 50,000 of spectral elements.

    PYTHONPATH=src python bench/stability.py [--out FILE.json] [--only NAME ...] [--method fd|sem] [--steps N] [--shape space|slice|P-SV]
                                             [--device cuda|cpu] [--form full|standard|quick]

Prints a line a row; the JSON has device, versions, commit (that of the file COMMIT where there is one) and all rows, and is written after
each of them.
"""
import argparse
import json
import time
from pathlib import Path

from craton.backends import backend
from craton.benchmark import provenance
from craton.errors import CratonError
from craton.validation.stability import FORMS, QUICK, ROWS, stability

ROOT = Path(__file__).parents[1]


def main():
    """The rows that were asked for; 1 where one is not within its limit."""
    asked = arguments()
    about = provenance(backend(asked.device))
    if (ROOT / "COMMIT").exists():
        about["commit"] = (ROOT / "COMMIT").read_text().strip()
    names = asked.only or [name for name in (QUICK if asked.form == "quick" else ROWS) if asked.method in ("all", ROWS[name].method)]
    print(f"{about['device']}, commit {about['commit']}")
    rows, begin = [], time.perf_counter()
    for name in names:
        rows.append(one(name, asked))
        print(line(rows[-1]), flush=True)
        if asked.out:
            asked.out.write_text(json.dumps({**about, "form": asked.form, "stability": rows}, indent=1) + "\n", encoding="utf-8")
    failed = sum(not row["passed"] for row in rows)
    print(f"{len(rows) - failed} of {len(rows)} within their limits, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


def arguments():
    """The words of the command line."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--out", type=Path)
    words.add_argument("--only", nargs="*", choices=sorted(ROWS), metavar="NAME")
    words.add_argument("--method", choices=("fd", "sem", "all"), default="all")
    words.add_argument("--steps", type=int)
    words.add_argument("--shape", choices=("space", "slice", "P-SV", "SH"))
    words.add_argument("--form", choices=sorted(FORMS), default="full")
    words.add_argument("--device", default="cuda")
    return words.parse_args()


def one(name, asked):
    """The row of a name; one that cannot be computed says why."""
    begin = time.perf_counter()
    try:
        row = next(stability(asked.device, asked.form, [name], asked.steps, asked.shape))
    except (CratonError, ValueError) as error:
        return {"name": name, "error": str(error), "passed": False}
    return row | {"all_seconds": time.perf_counter() - begin}


def line(row):
    """A line of the table."""
    if "error" in row:
        return f"{row['name']:<26} {row['error'].splitlines()[0]}"
    words = f"diverged at {row['diverged']}" if row["diverged"] else f"{row['half']:.1e} half-way, {row['late']:.1e} late"
    wide = f"; {row['difference']:.1e} from a wide box until {row['until']:.2f} s" if "difference" in row else ""
    place = "" if row["passed"] or not row["where"] else " at ({:.0f}, {:.0f}, {:.0f}) m".format(*row["where"])
    return (f"{row['name']:<26} {row['shape']:<6} {row['steps']:>7} steps  {'ok' if row['passed'] else 'NO':<3} {words}{wide}{place}  "
            f"({row['seconds']:.1f} of {row['all_seconds']:.1f} s, {row['rate'] / 1e6:.0f} M/s)")  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
