"""What was run, in tables: state, machine, time and its limits, warnings, versions, files."""

from pathlib import Path

from craton.output.inspection import rows_of
from craton.report.page import markup
from craton.text import duration, interactions, megabytes, rate

MOST_FILES = 40


def summary(run, attributes):
    """Return the table of what was run, and on what, by run.json and the attributes of the results."""
    counts = [("points", "points"), ("prisms", "prisms"), ("pairs", "pairs of prisms and points")]
    rows = [
        ("state", ", ".join(str(run[key]) for key in ("state", "reason") if run.get(key))),
        ("method", ": ".join(str(run[key]) for key in ("method", "why") if run.get(key))),
        ("size", ", ".join(f"{run[key]:,} {noun}" for key, noun in counts if run.get(key))),
        ("time steps", f"{run.get('steps_done', run.get('steps', 0)) or '':,}" if run.get("steps") else ""),
        ("device", run.get("device", attributes.get("device", ""))),
        ("precision", run.get("precision", attributes.get("precision", ""))),
        ("memory", megabytes(run["nbytes"]) if run.get("nbytes") else ""),
        ("ranks", len(run["ranks"]) if len(run.get("ranks") or ()) > 1 else ""),
        ("host", run.get("host", "")),
        ("begun, ended", " to ".join(str(run[k]) for k in ("started", "ended") if run.get(k))),
        ("origin time", attributes.get("origin_time", "")),
        ("versions", ", ".join(f"{k} {v}" for k, v in (run.get("versions") or {}).items())),
    ]
    return markup.table([row for row in rows if row[1] != ""])


def warnings(run):
    """Return the warnings of a run, and why it ended early."""
    lines = [f'<div class="warning">{markup.escaped(message)}</div>' for message in run.get("warnings") or ()]
    if run.get("state") not in (None, "finished"):
        words = markup.escaped(f"The run is {run['state']}. {run.get('reason', '')}".strip())
        lines.insert(0, f'<div class="warning failed">{words}</div>')
    return "\n".join(lines)


def timings(run, bandwidth=None):
    """Return where the time went, and how near it is to what the machine's memory allows: its copy bandwidth, bytes/s."""
    seconds = run.get("seconds")
    if isinstance(seconds, (int, float)):
        rows = [("computation", duration(seconds))]
        if run.get("pairs"):
            rows.append(("rate", interactions(run["pairs"], seconds)))
        return markup.table(rows)
    if not isinstance(seconds, dict):
        return ""
    names = {
        "commit": "kernels, material, memory",
        "first step": "first step",
        "steady": "time loop",
        "processor": "processor time of the loop",
    }
    rows = [(names.get(key, key), duration(value)) for key, value in seconds.items()]
    if run.get("point_steps_per_second"):
        rows.append(("rate", rate(run["point_steps_per_second"], 1)))
    rows += _traffic(run, seconds.get("steady"), bandwidth)
    return markup.table(rows)


def _traffic(run, steady, bandwidth):
    """Return rows about the traffic with memory: what must be moved, over the time that it took."""
    least, steps = run.get("least_bytes_per_step"), run.get("steps_done")
    if not least or not steps or not steady:
        return []
    reached = least * steps / steady
    rows = [("least traffic of a step", megabytes(least)), ("traffic over time", f"{reached / 1e9:.3g} GB/s")]
    if bandwidth:
        share = f"{bandwidth / 1e9:.3g} GB/s, of which the run reached {reached / bandwidth:.0%}"
        rows.append(("copy bandwidth measured now", share))
    return rows


def inputs(run):
    """Return the table of the files that the scenario named, with their checksums."""
    entries = [entry for entry in run.get("inputs") or () if isinstance(entry, dict)]
    rows = [(e.get("key"), e.get("file") or e.get("from"), e.get("sha256")) for e in entries]
    return markup.table(rows, ("key", "file", "SHA-256")) if rows else ""


def files(run):
    """Return the table of the files of OUT with their checksums, arrays of stores counted."""
    rows, stores = [], {}
    for name, row in rows_of(run)[0].items():
        if ".zarr/" in name:
            store = name.split(".zarr/")[0] + ".zarr"
            stores[store] = stores.get(store, 0) + 1
        else:
            rows.append((name, f"{row[0]:,}", row[1]))
    hidden = len(rows) - MOST_FILES
    rows = rows[:MOST_FILES] + [(f"and {hidden} more", "", "")] * (hidden > 0)
    chunks = rows_of(run)[1]
    for store, count in stores.items():
        parts = sum(row[0] for array, row in chunks.items() if array.startswith(f"{store}/"))
        words = f"{count} files of metadata with checksums in run.json, {parts:,} chunks with their own"
        rows.append((store, "", words))
    if run.get("checksum"):
        rows.append(("run.json", "", run["checksum"]))
    return markup.table(rows, ("file", "bytes", "SHA-256"), (1,)) if rows else ""


def scenario_text(out_dir):
    """Return the scenario as it was run, folded; several of a survey one after another."""
    names = [Path(out_dir) / "scenario.toml", *sorted(Path(out_dir).glob("scenarios/*.toml"))]
    return "\n".join(
        markup.folded(str(path.relative_to(out_dir)), path.read_text(encoding="utf-8"))
        for path in names[:8]
        if path.exists()
    )
