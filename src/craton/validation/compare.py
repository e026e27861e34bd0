"""What the cases share: their tables (cases.toml), misfits, a row of the table of misfits, references beside this file."""

import tomllib
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def merged(tables, changes):
    """Return nested tables with some values replaced; in a list, the key "0" stands for its first item."""
    if not isinstance(changes, dict) or not isinstance(tables, dict | list):
        return changes
    if isinstance(tables, list):
        return [merged(item, changes.get(str(n), item)) for n, item in enumerate(tables)]
    return tables | {key: merged(tables.get(key), value) for key, value in changes.items()}


def load():
    """Names of the cases of each group, and the tables of each case with those that it is `like`."""
    groups, cases = tomllib.loads((HERE / "cases.toml").read_text("utf-8")), {}
    for tables in groups.values():
        for name, table in tables.items():
            cases[name] = merged(cases.get(table.get("like"), {}), table)
    return {group: tuple(tables) for group, tables in groups.items()}, cases


GROUPS, CASES = load()


def runs(case):
    """Tables of the runs of a case: its own, or of the case that a run is `like`, with the changes of each item of `runs`."""
    alone = {key: value for key, value in case.items() if key != "runs"}
    return [merged(CASES[run["like"]] if "like" in run else alone, run) for run in case.get("runs", [{}])]


def misfit(computed, expected):
    """Relative L2 misfit of arrays of the same shape."""
    return float(np.sqrt(((computed - expected) ** 2).sum() / (expected**2).sum()))


def row(label, value, limit, curves=None):
    """Return a row: what was compared, its misfit, the most it may be; `curves`, (t, found, wanted)
    with the last two (nt,), for a figure.
    """
    value = float(value)
    result = {"what": label, "misfit": value, "limit": limit, "passed": bool(value <= limit)}
    return {**result, "curves": curves} if curves is not None else result


def reference(name):
    """Arrays of a reference of this folder: dict."""
    with np.load(HERE / f"{name}.npz") as stored:
        return {key: stored[key] for key in stored.files}


def at_times(t, values, times):
    """Series along the last axis at other times, by cubic splines."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(t, values, axis=-1)(times)
