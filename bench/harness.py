"""One harness for all measurements.

usage: PYTHONPATH=src python3 -m bench NAME [PART ...] [options]     from the repository's root

NAME is a module of bench/cases, PART one of its parts; by default all of them run. A report prints a line for each row and writes a JSON
that grows with each row: device, versions, commit (of the file COMMIT, else of git), copy bandwidth where rates need it, and the rows.
The exit code is 1 where a row did not pass. `--small` runs a few steps of small cases: alone on a GPU under compute-sanitizer, or
with `--device cpu` to try a script.
"""

import argparse
import json
import sys
import time
import tomllib
import traceback
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np

from craton.backends import backend
from craton.benchmark import provenance
from craton.scenario import Scenario

HERE = Path(__file__).parent
ROOT = HERE.parent
NAMES = sorted({path.stem for path in (HERE / "cases").glob("[a-z]*.py")} - {"builders"})


# --- options and report -----------------------------------------------------------------------


def options_of(words=None):
    """The command line."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=kind)
    parser.add_argument("name", choices=NAMES, help="what is measured: %(choices)s")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--out", type=Path, help="JSON file, by custom in bench/results")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, help="of the CPU")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="cases whose names begin so")
    parser.add_argument("--small", action="store_true", help="a few steps of small cases")
    parser.add_argument("--alone", action="store_true", help="no comparison with the CPU")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--steps", type=int, help="in place of those of the cases")
    parser.add_argument("--size", type=int, nargs="+", help="in place of those of the cases")
    parser.add_argument("--seconds", type=float, default=0.7, help="of a repeat, about")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--gpus", type=int, help="ranks as threads of this process, without MPI")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of a part")
    return parser.parse_args(words)


class Report:
    """Options, the machine, and the rows of a session.

    Parameters
    ----------
    options : argparse.Namespace
    comm : Comm, optional
        Ranks that measure together: the first one prints and writes.
    """

    def __init__(self, options, comm=None):
        self.options, self.comm, self.parts = options, comm, {}
        self.rows = self.failed = 0
        self.leads = comm is None or comm.rank == 0
        self.settings = dict(pair.split("=", 1) for pair in options.set)
        self._machine = self._bandwidth = None

    @property
    def machine(self):
        """The machine of --device, made when it is first asked for."""
        if self._machine is None:
            self._machine = backend(self.options.device, threads=self.options.threads)
        return self._machine

    @property
    def bandwidth(self):
        """Of a copy in this session, bytes per second."""
        if self._bandwidth is None:
            self._bandwidth = self.machine.copy_bandwidth()
            self.say(f"{self.machine.describe()}: copy {self._bandwidth / 1e9:,.0f} GB/s")
        return self._bandwidth

    def wants(self, name):
        """Whether a case was asked for."""
        return not self.options.only or name.startswith(tuple(self.options.only))

    def setting(self, name, default):
        """A value of --set, of the default's type."""
        return type(default)(self.settings.get(name, default))

    def say(self, text):
        """Print a line."""
        if self.leads:
            print(text, flush=True)

    def add(self, part, row, text=None):
        """A row of a part: printed, kept and written; the row again."""
        self.parts.setdefault(part, []).append(row)
        self.rows += 1
        self.failed += not row.get("passed", True)
        self.say(text or words(row))
        self.write()
        return row

    def keep(self, part, values):
        """What a part gives besides rows."""
        self.parts[part] = values
        self.write()

    def write(self):
        """Write the JSON."""
        if self.options.out and self.leads:
            about = {"bench": self.options.name, **provenance(self.machine)}
            if self._bandwidth:
                about["copy_bandwidth"] = self._bandwidth
            self.options.out.write_text(json.dumps(about | self.parts, indent=1) + "\n")

    @contextmanager
    def guarded(self, part, name):
        """A case that fails is told as a row; the others still run."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            why = f"{type(error).__name__}: {error}"
            row = {"case": name, "passed": False, "failed": why}
            self.add(part, row, f"{name:<40} FAILED: {why}")


def words(row):
    """A row in words: its numbers in short."""

    def short(value):
        return f"{value:.4g}" if isinstance(value, float) else value

    plain = {key: value for key, value in row.items() if isinstance(value, (str, int, float))}
    return "  ".join(f"{key} {short(value)}" for key, value in plain.items())


def main(arguments=None):
    """Run the parts that were asked for; 1 where a row did not pass."""
    options = options_of(arguments)
    module = import_module(f"bench.cases.{options.name}")
    unknown = set(options.parts) - set(module.PARTS)
    if unknown:
        sys.exit(f"{options.name} has no part {', '.join(unknown)}; it has {', '.join(module.PARTS)}")
    if hasattr(module, "launch"):
        return module.launch(options)
    return run(Report(options), module)


def run(report, module):
    """All parts of a module."""
    for name in report.options.parts or module.PARTS:
        begin = time.perf_counter()
        module.PARTS[name](report)
        report.say(f"-- {name}: {time.perf_counter() - begin:.1f} s")
    report.say(f"{report.rows - report.failed} of {report.rows} rows passed")
    return int(report.failed > 0)


# --- measures ---------------------------------------------------------------------------------


def difference(values, reference):
    """Largest difference over the largest value, and relative L2; lists of arrays are measured as one."""
    lists = (v if isinstance(v, list) else [v] for v in (values, reference))
    a, b = (np.concatenate([np.ravel(part).astype(float) for part in parts]) for parts in lists)
    largest, norm = np.abs(b).max(), np.linalg.norm(b)
    if not largest:
        return {"largest": float(np.abs(a).max()), "l2": float(np.linalg.norm(a))}
    return {"largest": float(np.abs(a - b).max() / largest), "l2": float(np.linalg.norm(a - b) / norm)}


def median_seconds(work, finish, repeats):
    """Median and all of the seconds of a call, after a first one: (median, list)."""
    seconds = []
    for _ in range(repeats + 1):
        finish()
        begin = time.perf_counter()
        work()
        finish()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[1:])), seconds


def picture(path, lines, scale, **axes):
    """Draw lines (x, y, style, label) on axes of a scale, "loglog" or "semilogx"; measured and fitted ones share a colour by turns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    for x, y, style, label in lines:
        shared = {} if label else {"color": panel.get_lines()[-1].get_color()}
        getattr(panel, scale)(x, y, style, label=label, **shared)
    panel.set(**axes)
    panel.grid(alpha=0.3)
    panel.legend(frameon=False)
    figure.savefig(path, dpi=160)


# --- cases as data ----------------------------------------------------------------------------


def tables(name):
    """A group of scenarios.toml: dict."""
    text = (HERE / "cases" / "scenarios.toml").read_text("utf-8").replace("ROOT", str(ROOT))
    return tomllib.loads(text)[name]


def merged(base, changes):
    """Tables with others in them; keys that end in "+" add to a list.

    Parameters
    ----------
    base, changes : dict
    """
    out = dict(base)
    for key, value in changes.items():
        if key.endswith("+"):
            out[key[:-1]] = [*out[key[:-1]], *value]
        else:
            both = isinstance(value, dict) and isinstance(out.get(key), dict)
            out[key] = merged(out[key], value) if both else value
    return out


def expanded(group):
    """Scenarios' tables of a group by name.

    Parameters
    ----------
    group : dict
        ``base``: tables; ``cases``: changes by name; ``axes``: list of such dicts, of which all combinations are taken; ``models``: tables
        that a case's ``model`` may name, by itself or with changes as ``like``.
    """
    rows = {name: [changes] for name, changes in group.get("cases", {"": {}}).items()}
    for axis in group.get("axes", ()):
        pairs = product(rows.items(), axis.items())
        rows = {f"{a}, {b}" if a else b: [*changes, more] for (a, changes), (b, more) in pairs}
    models = group.get("models", {})
    return {name: with_model(group["base"], changes, models) for name, changes in rows.items()}


def with_model(base, changes, models):
    """Tables with changes, and the model that they name."""
    out = base
    for more in changes:
        model = more.get("model", {})
        model = {"like": model} if isinstance(model, str) else model
        if "like" in model:
            named = models[model["like"]]
            rest = {key: value for key, value in model.items() if key != "like"}
            out, more = out | {"model": {}}, more | {"model": merged(named, rest)}
        out = merged(out, more)
    return out


def scenarios(group):
    """Functions that make the scenarios of a group, by name."""
    return {name: lambda t=t: Scenario(**t) for name, t in expanded(tables(group)).items()}
