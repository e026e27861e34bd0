"""Fills what lies between `<!-- ... -->` and `<!-- end -->` in the pages beside it: keys of a scenario, outputs of commands, measurements.

    python docs/make_tables.py          rewrites the pages; tests/project/test_docs.py holds them to it

A key's meaning stands in src/craton/tables/meanings.toml or with the key in its class;
its unit, default and limits come from the classes of `craton.tables`
and of the methods' `options.py`.
Speed and misfits come from bench/results/*.json, as `craton bench -o` and `craton validate -o` write them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "bench" / "results"
BLOCK = re.compile(r"(<!-- (\w+)(?: ([^\n]*))? -->\n)(.*?)(<!-- end -->)", re.DOTALL)
PAGES = (
    "earth",
    "gradients",
    "gravity",
    "greens",
    "injection",
    "run",
    "scenario",
    "spectral_elements",
    "speed",
    "validation",
)


def filled(page):
    """The text of a page with all its blocks made anew."""
    return BLOCK.sub(lambda m: m[1] + FILLERS[m[2]](m[3], m[4]) + "\n" + m[5], page.read_text(encoding="utf-8"))


def table(head, rows):
    """A Markdown table."""
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])


# --- keys -------------------------------------------------------------------------------------------------------------------------------


def keys(names, before):
    """Every key of a class of the scenario, or of the kinds of a table, with its meaning."""
    from craton.tables.meanings import groups

    kinds = {name: properties(name) for name in names.split()}
    meanings, rows = groups().get(names, {}), {}
    for name, kind in kinds.items():
        for key, cells in kind["rows"].items():
            shared = all(other["rows"].get(key) == cells for other in kinds.values())
            label = f"`{key}`" + ("" if shared else f" ({kind['kind'] or name})")
            written_in_class = described_tables()[name]["properties"][key].get("description", "")
            meaning = meanings.get(label.replace("`", ""), meanings.get(key, written_in_class))
            rows[label] = (*cells, meaning)
    rows = {label: rows[label] for label in sorted(rows, key=lambda label: " (" in label)}
    return table(("key", "value", "default", "limits", "meaning"), [(label, *cells) for label, cells in rows.items()])


@cache
def described_tables():
    """Every table of a scenario by the name of its class, as in JSON Schema; where methods differ, that of finite differences."""
    from craton.scenario import SCENARIOS, FiniteDifferenceScenario

    schema = FiniteDifferenceScenario.model_json_schema()
    schema["properties"]["method"]["enum"] = list(SCENARIOS)
    tables = {"Scenario": schema}
    for scenario in SCENARIOS.values():
        tables = scenario.model_json_schema()["$defs"] | tables
    return tables | schema["$defs"]


def properties(name):
    """The kind that a class stands for, and (value, default, limits) of its keys."""
    described = described_tables()[name]
    rows, kind = {}, ""
    for key, spec in described["properties"].items():
        if "const" in spec:
            kind = spec["const"]  # the heading says it
            continue
        value = next((s for s in spec.get("anyOf", ()) if s.get("type") != "null"), spec)
        default = "needed" if key in described.get("required", ()) else default_of(spec.get("default"))
        rows[key] = (value_of(key, value), default, limits_of(value))
    return {"kind": kind, "rows": rows}


def written(text):
    """(key, meaning) of the rows of a table."""
    for line in text.splitlines():
        label, *_, meaning = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if label.startswith("`"):
            yield label, meaning


def value_of(key, spec):
    """Unit, or what one may write."""
    if "oneOf" in spec:
        kinds = {s.get("$ref", "").rpartition(".")[2].rpartition("/")[2] for s in spec["oneOf"]}
        if "Position" in kinds:
            return "position" + " or list of them" * ("Points" in kinds)
        if "Points" in kinds:
            return "table or list: position"
        plain = [value_of(key, s) for s in spec["oneOf"] if s.get("type") not in (None, "object")]
        return " or ".join([*dict.fromkeys(plain), "table"])
    if "enum" in spec:
        return ", ".join(f"`{json.dumps(v)}`" for v in spec["enum"])
    if spec.get("type") == "array":
        if "prefixItems" in spec:
            units = [value_of(key, s) for s in spec["prefixItems"]]
            if len(set(units)) > 1:
                return "[first, last, count]"
            return ("two values, " if len(units) == 2 else "[x, y, z], ") + units[0]
        return {"table": "list of tables", "number": "numbers"}.get(
            item := value_of(key, spec["items"]), f"list: {item}"
        )
    if spec.get("type") == "integer":
        return "whole number"
    if spec.get("type") == "boolean":
        return "`true`, `false`"
    if spec.get("type") == "string":
        if spec.get("format") == "date-time":
            return "date and time"
        return "path" if key == "file" else "text"
    if "type" not in spec or spec["type"] == "object":
        return "position" if spec.get("$ref", "").endswith("Position") else "table"
    dimension, _, unit = spec.get("description", "ratio").partition(", ")
    return unit or "number"


def default_of(value):
    """A default as in TOML."""
    if value in (None, "", []):
        return ""
    return (
        "its own"
        if isinstance(value, dict)
        else f"`{value:g}`"
        if isinstance(value, float)
        else f"`{json.dumps(value)}`"
    )


def limits_of(spec):
    """Limits in signs."""
    spec = spec.get("prefixItems", [spec])[0]
    signs = {"exclusiveMinimum": "&gt;", "minimum": "≥", "exclusiveMaximum": "&lt;", "maximum": "≤"}
    return ", ".join(f"{sign} {spec[word]:g}" for word, sign in signs.items() if word in spec)


def units(_, before):
    """The units that a text may carry."""
    from craton.io.units import _SPELLING, DIMENSIONS

    rows = [
        (name, unit or "none", " ".join(f"`{_SPELLING.get(u, u)}`" for u in known))
        for name, (unit, known) in DIMENSIONS.items()
    ]
    return table(("dimension", "SI", "units understood"), rows)


# --- outputs ----------------------------------------------------------------------------------------------------------------------------


def output(command, before):
    """What a command prints; of a plan without the kernels of a step and the estimate for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(DOCS.parent / "examples", Path(folder) / "examples")
        words = f'craton() {{ "{sys.executable}" -m craton "$@"; }}; {command}'
        done = subprocess.run(
            ["sh", "-c", words], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ
        )
    return f"```text\n{done.stdout.split('Phases of a step')[0].rstrip()}\n```"


# --- measurements -----------------------------------------------------------------------------------------------------------------------


def results(has):
    """(name, contents) of the files of results that have a key."""
    for path in sorted(RESULTS.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and has in found:
            yield path.name, found


def speed(_, before):
    """A table for each file that `craton bench fd -o` wrote."""
    parts = []
    for name, found in (each for each in results("cases") if each[1].get("bench") == "fd"):
        rows = [speed_row(case) for case in found["cases"] if "skipped" not in case]
        head = ("case", "Mpoint-steps/s", "spread", "of copy bandwidth", "first step")
        copies = f"copies {found['copy_bandwidth'] / 1e9:,.0f} GB/s"
        parts.append(f"**{found['device']}**: {copies}. {origin(name, found)}\n\n{table(head, rows)}")
    return "\n\n".join(parts) or "Nothing measured yet: `craton bench fd -o bench/results/NAME.json` does it."


def rates_of(program, device):
    """What another program reached on a device, by case; of bench/peers/rates.json."""
    rates = json.loads((DOCS.parent / "bench" / "peers" / "rates.json").read_text(encoding="utf-8"))
    return next((rates[program][name] for name in rates[program] if device.startswith(name)), {})


def nakata(_, before):
    """Seconds for 1000 steps beside those of Nakata et al. (2011)."""
    parts, paper = [], rates_of("Nakata et al. 2011", "Tesla C1060")
    for name, found in (each for each in results("cases") if each[1].get("bench") == "nakata"):
        rows = [(case["case"], f"{1000 * case['seconds_per_step']:.3g} s",
                 f"{paper[case['case']]:,.4g} s" if case["case"] in paper else "", f"{case['point_steps_per_second'] / 1e6:,.0f}")
                for case in found["cases"] if "skipped" not in case]  # fmt: skip
        head = ("case", "1000 steps", "Tesla C1060 (2011)", "Mpoint-steps/s")
        parts.append(f"**{found['device']}**. {origin(name, found)}\n\n{table(head, rows)}")
    return "\n\n".join(parts) or "Nothing kept yet: `craton bench nakata -o bench/results/NAME.json` does it."


def speed_row(case):
    """One case: median, half the range over the median, fraction of the copy bandwidth, compiling and first step."""
    rate = case["point_steps_per_second"]
    spread = (case["highest"] - case["lowest"]) / rate / 2
    start = case["commit_seconds"] + case["first_step_seconds"]
    return (
        case["case"],
        f"{rate / 1e6:,.0f}",
        f"± {spread:.0%}",
        f"{case['fraction_of_copy_bandwidth']:.0%}",
        f"{start:.1f} s",
    )


def sem(_, before):
    """A table for each file that `craton bench sem -o` wrote."""
    parts = []
    for name, found in (each for each in results("cases") if each[1].get("bench") == "sem"):
        peer = rates_of("SPECFEM3D 4.1.1", found["device"])
        rows = [sem_row(case, peer.get(case["case"])) for case in found["cases"] if "skipped" not in case]
        head = ("case", "M elements/s", "spread", "of copy bandwidth", "kB an element", "SPECFEM3D 4.1.1", "plan")
        parts.append(f"**{found['device']}**. {origin(name, found)}\n\n{table(head, rows)}")
    return "\n\n".join(parts) or "Nothing kept yet: `craton bench sem -o bench/results/NAME.json` does it."


def sem_row(case, peer):
    """One case: median, half the range over the median, fraction of the copy bandwidth, memory, the other program, time to plan."""
    rate = case["elements_per_second"]
    spread = (case["highest"] - case["lowest"]) / rate / 2
    there = f"{peer / 1e6:.3g}" if peer else ""
    return (case["case"], f"{rate / 1e6:.3g}", f"± {spread:.0%}", f"{case['fraction_of_copy_bandwidth']:.0%}",
            f"{case['bytes_per_element'] / 1e3:.1f}", there, f"{case['build_seconds']:.0f} s")  # fmt: skip


def gravity(_, before):
    """A table for each file that `craton bench gravity -o` wrote."""
    parts = []
    for name, found in (each for each in results("cases") if each[1].get("bench") == "gravity"):
        rows = [gravity_row(case) for case in found["cases"] if "skipped" not in case]
        head = ("case", "Mpairs/s", "spread", "ms", "method")
        parts.append(f"**{found['device']}**. {origin(name, found)}\n\n{table(head, rows)}")
    return "\n\n".join(parts) or "Nothing kept yet: `craton bench gravity -o bench/results/NAME.json` does it."


def gravity_row(case):
    """One case: median, half the range over the median, time of the median."""
    rate = case["pairs_per_second"]
    spread = (case["highest"] - case["lowest"]) / rate / 2
    return (case["case"], f"{rate / 1e6:,.0f}", f"± {spread:.0%}", f"{1e3 * case['seconds']:,.1f}", case["method"])


def norms(_, before):
    """What bench/cases/gravity_l2.py found: every component and method, the L2 norm of the paper's tables and, in brackets, its eq. 12."""
    parts = []
    for name, found in results("gravity_l2"):
        runs = found["gravity_l2"]
        fields = [field for field in next(iter(runs.values()))["against exact"] if field != "potential"]
        rows = [(f"`{field}`", *(both(run["against exact"][field]) for run in runs.values())) for field in fields]
        parts.append(f"{origin(name, found)}\n\n{table(('', *runs), rows)}")
    return "\n\n".join(parts) or "Nothing kept yet: bench/cases/gravity_l2.py does it."


def both(row):
    """The norm without and with 1/N."""
    return f"{row['L2']:.0e} ({row['rms']:.0e})"


def peers(_, before):
    """Beside other programs, from what bench/peers/fd_cpu.py wrote."""
    parts = []
    for name, found in results("sizes"):
        codes = list(next(iter(found["sizes"].values()))["medians"])
        power = "²" if found.get("dimensions") == 2 else "³"
        rows = [
            (
                f"{n}{power}",
                *(f"{size['medians'][code]:,.0f}" for code in codes),
                f"{size['craton_over_better_peer']:.2f}",
            )
            for n, size in found["sizes"].items()
        ]
        head = ("points", *codes, "craton / better peer")
        notes = "".join(f"\n\n{n}{power}: {size['note']}." for n, size in found["sizes"].items() if "note" in size)
        parts.append(f"{found['threads']} CPU threads, Mpoint-steps/s. `{name}`\n\n{table(head, rows)}{notes}")
    return "\n\n".join(parts) or "Nothing measured yet: bench/peers/fd_cpu.py does it."


def misfits(_, before):
    """A table for each file that `craton validate -o` wrote."""
    parts = []
    for name, found in results("validation"):
        rows = [tuple(("yes" if v else "NO") if isinstance(v, bool) else f"{v:.3g}" if isinstance(v, float) else v for v in row.values())
                for row in found["validation"]]  # fmt: skip
        parts.append(f"**{found['device']}**. {origin(name, found)}\n\n{table(list(found['validation'][0]), rows)}")
    return "\n\n".join(parts) or "Nothing kept yet: `craton validate -o bench/results/validation.json` does it."


def origin(name, found):
    """Where figures come from."""
    versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
    return f"`{name}`, {found['date'][:10]}, commit {found['commit']}, {versions}."


FILLERS = {"keys": keys, "units": units, "output": output, "speed": speed, "peers": peers, "misfits": misfits}
FILLERS |= {"sem": sem, "gravity": gravity, "norms": norms, "nakata": nakata}

if __name__ == "__main__":
    for page in (DOCS / f"{name}.md" for name in PAGES):
        page.write_text(filled(page), encoding="utf-8")
