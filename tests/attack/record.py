"""What an attack has seen: counts by case, answer and wound; a JSON file to which batches are added."""

import json
import subprocess
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

from craton.integrity import replace_file

EXTREMES = 5  # slowest and largest answers that are named


class Record:
    """Counts of one batch.

    Parameters
    ----------
    kind : str
        ``"inputs"`` or ``"folders"``.
    seed : int
    """

    def __init__(self, kind, seed):
        self.kind, self.seed, self.tried, self.cpu_seconds = kind, seed, 0, 0.0
        self.commit = commit()  # of the start: files may change under a long batch
        self.codes, self.failures, self.accepted = Counter(), Counter(), Counter()
        self.cases, self.changes = defaultdict(Counter), defaultdict(dict)
        self.slowest, self.largest = [], []

    def add(self, trial):
        """Count a trial."""
        answer, case = trial.answer, trial.case
        self.codes[str(answer.code)] += 1
        self.failures.update(trial.failures)
        self.cases[case][str(answer.code)] += 1
        self.cpu_seconds += answer.seconds
        if answer.code == 0 and trial.after:
            kind = "unchanged" if trial.after == trial.before else "+".join(sorted(trial.wounds))
            self.accepted[kind if len(trial.wounds) == 1 else "several"] += 1
            for change in trial.changes:
                self.count_change(change)
        self.slowest = sorted([*self.slowest, [answer.seconds, case, self.tried]])[-EXTREMES:]
        self.largest = sorted([*self.largest, [answer.nbytes >> 20, case, self.tried]])[-EXTREMES:]
        self.tried += 1

    def count_change(self, change):
        """Count a change of an accepted input by part and kind, with the extent of its new numbers."""
        row = self.changes[change.part]
        row[change.how] = row.get(change.how, 0) + 1
        if change.values:
            least, most = row.get("extent", change.values[:1] * 2)
            row["extent"] = [min(least, *change.values), max(most, *change.values)]

    def keep_accepted(self, folder, trial):
        """Append what an accepted input has in other words than the sound one."""
        before, after = (set(text.split(b"\n")) for text in (trial.before, trial.after))
        changed = [b" | ".join(sorted(part))[:200] for part in (before - after, after - before)]
        if b"\0" in changed[0] + changed[1]:
            changed = []
        Path(folder).mkdir(parents=True, exist_ok=True)
        with open(Path(folder) / "accepted.jsonl", "a") as file:
            parts = [[change.part, change.how, *change.values] for change in trial.changes]
            lines = [repr(c)[2:-1] for c in changed]
            line = [trial.case, trial.file, trial.wounds, parts, *lines]
            print(json.dumps(line), file=file)

    def summary(self):
        """Counts of the batch: dict."""
        return {
            "kind": self.kind,
            "commit": self.commit,
            "seed": self.seed,
            "tried": self.tried,
            "codes": dict(self.codes),
            "failures": dict(self.failures),
            "cpu_ms_each": round(1e3 * self.cpu_seconds / max(self.tried, 1), 1),
            "accepted_by_wound": dict(self.accepted.most_common()),
            "slowest_s": self.slowest[::-1],
            "largest_mib": self.largest[::-1],
        }

    def save(self, path):
        """Add the batch to a JSON file: the batches, and the answers of all of them by case."""
        record = json.loads(path.read_text()) if path.exists() else {"batches": [], "cases": {}}
        record["batches"].append(self.summary())
        for case, codes in sorted(self.cases.items()):
            record["cases"][case] = dict(Counter(record["cases"].get(case, {})) + codes)
        merge(record.setdefault("accepted", {}), self.changes)
        record["tried"] = sum(batch["tried"] for batch in record["batches"])
        path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def merge(rows, more):
    """Add counts of changes by part to those of earlier batches."""
    for part, counts in more.items():
        row = rows.setdefault(part, {})
        for how, count in counts.items():
            if how == "extent":
                least, most = row.get(how, count)
                row[how] = [min(least, count[0]), max(most, count[1])]
            else:
                row[how] = row.get(how, 0) + count


def recorder(file):
    """Return a function that writes the counts of this attack, as far as it is, into a JSON file beside those of others.

    Parameters
    ----------
    file : path-like
    """
    path, about = Path(file), {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    record = json.loads(path.read_text()) if path.exists() else {"attacks": []}

    def note(counts):
        attacks = [*record["attacks"], about | counts]
        text = json.dumps(record | {"totals": totals(attacks), "attacks": attacks}, indent=1)
        replace_file(path, text + "\n")

    return note


def totals(attacks):
    """Return the sums over some attacks: what was tried and failed, and what tables of counts they have."""
    failed = sum(sum(row["failures"].values()) for row in attacks)
    summed = {"tried": sum(row["tried"] for row in attacks), "failed": failed}
    for table in ("cases", "victims"):
        counts = sum((Counter(row.get(table, {})) for row in attacks), Counter())
        summed |= {table: dict(sorted(counts.items()))} if counts else {}
    return summed


def commit():
    """Short name of the commit, with a + where files were changed since."""
    words = ["git", "describe", "--always", "--dirty=+"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip() or "unknown"
