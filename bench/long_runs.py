"""Whether anything grows in long runs: the largest particle velocity late in a run, over its peak,
for every row of a table.
"""

import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench import long_run_rows as cases
from craton.backends import backend
from craton.comm.halos import connect
from craton.comm.local import Alone, spawn
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.march import Observer, march
from craton.driver.progress import progress_bar
from craton.driver.run import plan_of_rank
from craton.validation.compare import row as told
from craton.validation.spectral import positions

LATE, TRAPPED = 1e-4, 0.01  # limits: late / peak; difference from a wide box
DIVERGED = 1e3  # times the peak of the beginning
# times the largest of the middle half: kept waves beat, to 1.3 in runs of 200,000 steps that do not
# grow (`hills-water`)
GROWTH = 1.5
LAST = 0.05  # of the run: what is late
# times that from the start to the wavelet's centre: sources have acted, and what they did has
# passed
BEGINNING = 4
OFTEN, SELDOM = 10, 100  # steps between looks: in the beginning, and later at most
# looked at together: what of it a plan has
FIELDS = (("vx", "vy", "vz"), ("velocity",), ("pressure",))
TINY = 1e-300
ROWS = cases.ROWS
# Shape (where a row has it) and steps by `length` of a row; in the suite spectral elements without what
# needs a wide box, or long.
FORMS = {
    "quick": ("P-SV", {"fd": 20_000, "bodies": 20_000, "sem": 3000}),
    "standard": ("space", {"fd": 20_000, "bodies": 50_000, "sem": 10_000}),
    "full": ("space", {"fd": 100_000, "bodies": 100_000, "sem": 50_000}),
}
SHORT = ("cubes", "two-layers", "lossy")
QUICK = (
    *(name for name, row in ROWS.items() if row.method == "fd"),
    *(f"sem-{name}-{kind}" for kind in cases.ABSORBING for name in SHORT),
    "sem-sea-floor-pml",
)
WIDE = 4  # widths of the box that trapped waves are compared with


class Diverged(Exception):
    """Ends a run early."""


@dataclass
class Watch(Observer):
    """Looks at the largest particle velocity now and then.

    Parameters
    ----------
    program : Program
    comm : Comm
    total : int
        Steps of the run.
    region : dict of str to index, optional
        Points of each field that are looked at; by default all.
    report : callable, optional
        Called with the steps done.
    """

    program: object
    comm: object
    total: int
    region: dict | None = None
    report: object = None
    steps: list = field(default_factory=list)
    values: list = field(default_factory=list)
    peak: object = 0.0

    def __post_init__(self):
        planned = self.program.plan
        self.beginning = int(BEGINNING * -planned.start / planned.dt) if planned.start < 0 else self.total // 10
        self.seldom = max(1, min(SELDOM, self.total // 400))
        present = ([name for name in group if name in planned.arrays] for group in FIELDS)
        self.groups = [group for group in present if group]

    def due(self, done):
        """Return True where it is time."""
        return done % (OFTEN if done <= self.beginning else self.seldom) == 0

    def see(self, done, program):
        """Keep the largest values of the groups; raise Diverged where one is not finite or beyond
        all measure.
        """
        peaks = np.max(self.comm.gather([self.largest(group) for group in self.groups]), axis=0)
        self.steps.append(done)
        self.values.append(peaks)
        if self.report:
            self.report(done)
        if not np.isfinite(peaks).all() or (done > self.beginning and (peaks > DIVERGED * self.peak).any()):
            raise Diverged
        if done <= self.beginning:
            self.peak = np.maximum(self.peak, peaks)

    def largest(self, group):
        """Largest absolute value of some fields, nan if any is."""
        machine = self.program.backend
        with machine.work():
            return float(np.max([float(machine.xp.abs(self.field(name)).max()) for name in group]))

    def field(self, name):
        """Return what is looked at of a field."""
        if self.region is None:
            return self.program.arrays[name]
        whole = self.program.grid(name) if self.program.plan.arrays[name].window else self.program.arrays[name]
        return whole[self.region[name]]


def lasting(scenario, steps):
    """Return the plan of a scenario that lasts for a number of steps at least, whatever it says of
    its duration.
    """
    step, start = scenario.time.step, scenario.time.start or 0.0
    if step is None:
        first = driver.plan(scenario)
        step, start = first.dt, first.start
    span = {"duration": start + (steps + 1) * step if start > 0 else (steps + 1) * step, "step": step}
    return driver.plan(scenario.model_copy(update={"time": scenario.time.model_copy(update=span)}))


def measure(scenario, steps, device="auto", *, ranks=1, region=None, progress=False):
    """Run a scenario for a number of steps and see how its largest particle velocity decays.

    Parameters
    ----------
    scenario : Scenario
        Its duration is not used.
    steps : int
    device : str
    ranks : int
        Threads of this process that share the run.
    region : callable, optional
        Gives the points that are looked at, a dict of a field's name to its index, of the plan; by
        default all, absorbing layers included.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    dict
        steps, velocity : where it was looked, and the largest value there (m/s; of several media
        that of the worst over its peak);
        peak, half, late : in the beginning, about the middle of the run, over its last twentieth;
        ratio, half_ratio : over the peak;
        rise : late over what it was in the half of the run about its middle; grows : whether that
        is more than `GROWTH`;
        diverged : step at which it was seen to diverge, or None; where : x, y, z (m) of the largest
        value at the end, of one rank; dt (s), seconds, rate (point-steps per second).
    """
    planned = lasting(scenario, steps)
    region = region and region(planned)
    with progress_bar(steps, planned.points, scenario.title, not progress) as report:
        one_rank = partial(ran, scenario, planned, steps, device, region, report)
        watch, diverged, seconds = spawn(ranks, one_rank)[0] if ranks > 1 else one_rank(Alone())
    about = {"dt": planned.dt, "seconds": seconds}
    about |= {"rate": planned.points * watch.steps[-1] / seconds, "where": None if ranks > 1 else where(watch)}
    return summary(watch, diverged, steps) | about


def ran(scenario, planned, steps, device, region, report, comm):
    """Return a Watch after the run of one rank, whether it diverged, and how long it took (s)."""
    program = waves.commit(scenario, plan_of_rank(scenario, planned, comm), backend(device))
    connect(program, comm)
    watch = Watch(program, comm, steps, region, report if comm.rank == 0 else None)
    diverged, begin = False, time.perf_counter()
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            march(program, [watch], steps)
    except Diverged:
        diverged = True
    program.backend.finish()
    return watch, diverged, time.perf_counter() - begin


def where(watch):
    """Place (x, y, z), m, of the largest value at the end in the first medium."""
    program, largest = watch.program, (-1.0, None)
    for name in watch.groups[0]:
        values = np.nan_to_num(np.abs(program.host(name)), nan=np.inf)
        at = np.unravel_index(np.argmax(values), values.shape)
        largest = max(largest, (float(values[at]), at), key=lambda pair: pair[0])
    grid, at = program.plan.grid, largest[1]
    if watch.groups[0][0] not in FIELDS[0]:
        return tuple(map(float, grid.position(at[0]))) if watch.groups[0] == ["velocity"] else None
    return tuple(float(grid.bounds(axis)[0] + grid.spacing * n) for axis, n in zip("xyz", reversed(at)))


def summary(watch, diverged, steps):
    """Return what `measure` says of the decay."""
    at, values = np.array(watch.steps), np.array(watch.values)
    worst = int(np.argmax(np.nan_to_num(values[-1] / np.maximum(watch.peak, TINY), nan=np.inf)))
    series, peak = values[:, worst], float(np.maximum(watch.peak, TINY)[worst])
    late = series[at > (1 - LAST) * steps]
    half, middle = (series[np.abs(at - steps / 2) <= part * steps] for part in (LAST / 2, 1 / 4))
    largest = float(max(np.fmax.reduce(series), DIVERGED * peak)) if diverged else float(late.max())
    rise = float(np.inf if diverged else largest / max(middle.max(initial=0), TINY))
    half = float(half.max()) if half.size else largest
    decay = {"steps": at, "velocity": series, "diverged": int(at[-1]) if diverged else None}
    decay |= {"peak": peak, "half": half, "late": largest, "rise": rise, "grows": rise > GROWTH}
    return decay | {"ratio": largest / peak, "half_ratio": half / peak}


# --- rows -----------------------------------------------------------------------------------------


def stability(case, device="auto"):
    """Yield the rows of the table of long runs: as all rows of `craton.validation`, and what `outcome` adds.

    Parameters
    ----------
    case : dict
        form, a key of `FORMS`; perhaps names, keys of `ROWS` (by default all, of the quick form `QUICK`), and steps and shape in place of
        those of the form.
    device : str
    """
    shape, counts = FORMS[case["form"]]
    shape = case.get("shape") or shape
    for name in case.get("names") or (QUICK if case["form"] == "quick" else ROWS):
        shapes, steps = ROWS[name].shapes, case.get("steps") or counts[ROWS[name].length]
        chosen = shape if shape in shapes else shapes[-1 if shape in cases.PLANAR else 0]
        yield outcome(name, device, steps, chosen, progress=sys.stderr.isatty())


def outcome(name, device, steps, shape="space", progress=False):
    """Return the row of a long run: late over peak, of a body over its middle half; of trapped
    waves the difference from a wide box, unless they grow.
    """
    row = ROWS[name]
    with TemporaryDirectory() as folder:
        scenario = row.scenario(Path(folder), shape)
        peaks = measure(scenario, steps, device, ranks=row.ranks, progress=progress)
        kind, value, limit, wide = "late / peak", peaks["ratio"], LATE, {}
        if row.kept:
            kind, value, limit = "late / middle half", peaks["rise"], GROWTH
        if row.trapped and value > limit and not peaks["grows"]:
            wide = against_wide(row, Path(folder), shape, device, peaks["dt"])
            kind, value, limit = "from a wide box", wide["difference"], TRAPPED
    about = {"name": name, "shape": shape, "steps": steps, "half": peaks["half_ratio"], "late": peaks["ratio"]}
    about |= {key: peaks[key] for key in ("diverged", "where", "seconds", "rate")} | wide
    return told(f"{name}: {row.what}{'' if shape == 'space' else f', {shape}'}: {kind}", value, limit) | about


def against_wide(row, folder, shape, device, dt):
    """How the largest velocity between the layers differs from that in a wide box, until waves
    return from the sides of that one.

    Returns
    -------
    dict
        difference : of the largest values over the last twentieth of that time, over that in the
        wide box (at least 1 % of the peak: a difference of `LATE` of the peak is none); until :
        that time, s after the start; trapped : the value in the wide box over the peak.
    """
    scenarios = [row.scenario(folder, shape, wide) for wide in (1, WIDE)]
    scenarios = [s.model_copy(update={"time": s.time.model_copy(update={"step": dt})}) for s in scenarios]
    small, wide = (s.domain.extent[0] / 2 for s in scenarios)  # half widths, m
    delay = 1.2 / row.frequency  # of the wavelet's main part
    until = (2 * wide - row.layer - small) / fastest(row.model) + 2 * delay
    region = partial(inside, half=small - row.layer, of_elements=row.method == "sem")
    runs = [measure(s, int(until / dt), device, region=region) for s in scenarios]
    (small, large), peak = (run["late"] for run in runs), runs[1]["peak"]
    difference = abs(small - large) / max(large, LATE / TRAPPED * peak)
    return {"difference": difference, "until": until, "trapped": large / peak}


def inside(planned, half, of_elements):
    """Index of the points of each field with |x| and |y| at most so many metres: dict."""
    if of_elements:
        d = planned.grid.where.args[0]
        return {
            name: np.flatnonzero(np.abs(positions(d, name == "pressure")[:-1, :2]).max(axis=1) <= half)
            for name in FIELDS[1] + FIELDS[2]
            if name in planned.arrays
        }
    grid = planned.grid
    x, y = (
        slice(near[0], near[-1] + 1)
        for axis, n in zip("xy", grid.shape[:0:-1])
        for near in [np.flatnonzero(np.abs(grid.bounds(axis)[0] + grid.spacing * np.arange(n)) <= half)]
    )
    return dict.fromkeys((name for name in FIELDS[0] if name in planned.arrays), (slice(None), y, x))


def fastest(model: dict) -> float:
    """Largest P speed of a model of layers, m/s."""
    media = model.get("layers", [model])
    return max(m["vp"] * np.sqrt(1 + 2 * max(m.get("epsilon", 0), 0)) for m in media)
