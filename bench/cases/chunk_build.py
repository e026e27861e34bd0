"""How long ranks take to build their slices of a chunk of the Earth, and how much memory: time and peak of each phase. No GPU is needed.

usage: PYTHONPATH=src mpirun -n 4 python3 -m bench chunk_build --device cpu [--set surface=256 name=NAME] [--out FILE.json]
       python3 -m bench chunk_build --device cpu --set alone=4 surface=448 [--threads 1] [--out FILE.json]

The chunk is that of examples/bolivia_1994.toml with `surface` elements along each side: 256 has 2,142,208 elements, 448 10,800,384. With
alone=N one process is rank 0 of N, and what the others would send is a copy of what it sends itself: the same work and memory, but
masses at the cuts that are not right; nothing is run. "wall" is the slowest rank's, "cpu" the CPU time of all threads of the busiest
rank, in which it does not wait for others. "peak" is resident memory of the largest rank above what the process had before; "of_target"
what 2.5 M elements take at the same time for each. The JSON grows with each call.
"""

import json
import resource
import time
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path

from craton.comm import Together, ranks
from craton.comm.placement import planner
from craton.methods.spectral_element import build
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.mesh import families, placing
from craton.methods.waves import problem, receivers, sources
from craton.model.media import cells
from craton.scenario import loads

TEXT = Path(__file__).with_suffix(".toml").read_text()
LIMIT, TARGET = 300.0, 2_500_000  # the issue: 10 M elements on 4 ranks in 5 minutes
PHASES = (
    ("mesh", placing, "place_on_earth"),
    ("fluids", build.ranks, "find_fluid_elements"),
    ("numbering, sharing", build, "build_subdomain"),
    ("mesh statistics", build, "scan_elements"),
    ("stable step", build, "stable_step"),
    ("places", placing, "problems"),
    ("element arrays", families, "arrange_families"),
    ("faces", faces, "absorbing_faces"),
    ("sources", sources, "sources"),
    ("receivers", receivers, "recording"),
)


class Copies:
    """One rank of several, alone: the others answer as it does itself."""

    rank = 0

    def __init__(self, size):
        self.size = size

    def every(self, work):
        """What `work()` gives, from all."""
        return [work()] * self.size

    def swap(self, arrays):
        """What goes out comes back."""
        return {rank: array.copy() for rank, array in arrays.items()}


class Phases:
    """Seconds of the clock and of the CPU, and peak memory, of each phase by its name."""

    def __init__(self):
        self.rows, self.before, self.most = {}, peak(), 0

    @contextmanager
    def of(self, name):
        """Measure what is done within; phases do not overlap."""
        self.most = self.so_far()
        reset()
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        row = self.rows.setdefault(name, {"wall": 0.0, "cpu": 0.0, "peak": 0})
        row["wall"] += time.perf_counter() - wall
        row["cpu"] += time.process_time() - cpu
        row["peak"] = max(row["peak"], peak() - self.before)

    def so_far(self):
        """Peak of resident memory up to now above what there was before, bytes."""
        return max([self.most, peak() - self.before, *(row["peak"] for row in self.rows.values())])

    def watch(self, name, module, function):
        """Measure a function whenever it is called."""
        real = getattr(module, function)

        @wraps(real)
        def watched(*given, **named):
            with self.of(name):
                return real(*given, **named)

        setattr(module, function, watched)


def reset():
    """Forget the peak of resident memory, where the system lets it be forgotten."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak():
    """Peak of resident memory since `reset`, bytes."""
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    except OSError:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured(surface, team):
    """What this rank took, to be put together with the others'."""
    reset()
    phases, begin, cpu = Phases(), time.perf_counter(), time.process_time()
    for name, module, function in PHASES:
        phases.watch(name, module, function)
    plan = problem.build(build.MeshDomain(loads(TEXT.replace("SURFACE", str(surface))), team=team, machine=planner()))
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {
        "elements": plan.subdomain.elements,
        "whole": plan.totals.grid.elements,
        "points": plan.subdomain.points,
        "dt": plan.dt,
        "device_bytes": plan.nbytes,
        "wall": wall,
        "cpu": cpu,
        "peak": phases.so_far(),
        "phases": phases.rows,
    }


def together(rows):
    """One row of those of all ranks."""
    elements, first = max(row["elements"] for row in rows), rows[0]

    def largest(name):
        return {k: max(row["phases"][name][k] for row in rows) for k in ("wall", "cpu", "peak")}

    phases = {name: largest(name) for name in first["phases"]} | {"others": {}}
    out = {"whole": first["whole"], "dt": first["dt"], "elements_largest": elements}
    out["elements"] = [row["elements"] for row in rows]
    for key in ("wall", "cpu"):
        out[key] = max(row[key] for row in rows)
        rest = (row[key] - sum(p[key] for p in row["phases"].values()) for row in rows)
        phases["others"][key] = max(rest)
        out[f"{key}_us_per_element"] = 1e6 * out[key] / elements
        out[f"{key}_of_target"] = out[key] / elements * TARGET
    out["peak"] = max(row["peak"] for row in rows)
    out["peak_per_element"] = out["peak"] / elements
    out["device_bytes_per_element"] = max(row["device_bytes"] / row["elements"] for row in rows)
    return out | {"phases": phases, "passed": out["cpu_of_target"] < LIMIT}


def build_chunk(report):
    """Measure, print, keep: a row under its name, beside those of earlier calls."""
    threads = report.options.threads
    if threads:
        cells.cores = lambda: threads
    surface, alone = report.setting("surface", 256), report.setting("alone", 0)
    comm = ranks()
    team = Copies(alone) if alone else Together(comm)
    row = together(comm.gather(measured(surface, team)))
    if comm.rank:
        return
    about = {"ranks": team.size, "alone": bool(alone), "surface": surface, "threads": cells.cores()}
    row, out = about | row, report.options.out
    report.say(json.dumps(row, indent=1))
    kept = json.loads(out.read_text())["rows"] if out and out.exists() else {}
    report.keep("rows", kept | {report.setting("name", "slices"): row})


PARTS = {"chunk": build_chunk}
