"""Whether anything grows in long runs: the largest particle velocity of every row of `stability_cases` late in a run, over its peak."""
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from craton import api, wave_runs
from craton.backends import backend
from craton.comm.halos import exchange
from craton.comm.local import Alone, spawn
from craton.run.march import march
from craton.run.progress import progress_bar
from craton.validation import stability_cases as cases
from craton.validation.compare import row as told

LATE, TRAPPED = 1e-4, 0.01  # limits: late / peak; difference from a wide box
DIVERGED = 1e3  # times the peak of the beginning
LAST = 0.05  # of the run: what is late
BEGINNING = 4  # times that from the start to the wavelet's centre: sources have acted, and what they did has passed
OFTEN, SELDOM = 10, 100  # steps between looks: in the beginning, and later
FIELDS = (("vx", "vy", "vz"), ("velocity",), ("pressure",))  # looked at together: what of it a plan has
TINY = 1e-300
WIDE = 4  # widths of the box that trapped waves are compared with


class Diverged(Exception):
    """Ends a run early."""


@dataclass
class Watch:
    """Looks at the largest particle velocity now and then; stands where a recorder does in `craton.run.march`.

    Parameters
    ----------
    program : Program
    comm : Comm
    region : tuple of slice, optional
        Points of the grid that are looked at; by default all.
    report : callable, optional
        Called with the steps done.
    """

    program: object
    comm: object
    region: tuple = ()
    report: object = None
    steps: list = field(default_factory=list)
    values: list = field(default_factory=list)
    peak: object = 0.0

    def __post_init__(self):
        planned = self.program.plan
        self.beginning = int(BEGINNING * -planned.start / planned.dt) if planned.start < 0 else planned.steps // 10
        names = self.program.plan.arrays
        self.groups = [[name for name in group if name in names] for group in FIELDS]
        self.groups = [group for group in self.groups if group]

    def sample(self, step):
        """Look after `step`, where it is time."""
        done = step + 1
        if done % (OFTEN if done <= self.beginning else SELDOM) == 0:
            self.look(done)

    def look(self, done):
        """Keep the largest values of the groups; raise Diverged where one is not finite or beyond all measure."""
        found = np.max(self.comm.gather([self.largest(group) for group in self.groups]), axis=0)
        self.steps.append(done)
        self.values.append(found)
        if self.report:
            self.report(done)
        if not np.isfinite(found).all() or (done > self.beginning and (found > DIVERGED * self.peak).any()):
            raise Diverged
        if done <= self.beginning:
            self.peak = np.maximum(self.peak, found)

    def largest(self, group):
        """Largest absolute value of some fields, nan if any is."""
        machine = self.program.backend
        with machine.work():
            fields = [self.program.grid(name)[self.region] if self.region else self.program.arrays[name] for name in group]
            return float(np.max([float(machine.xp.abs(f).max()) for f in fields]))


def lasting(scenario, steps):
    """The plan of a scenario that is run for a number of steps, whatever it says of its duration."""
    first = api.plan(scenario)
    duration = first.start + (steps - first.extra + 0.5) * first.dt
    return api.plan(scenario.model_copy(update={"time": scenario.time.model_copy(update={"duration": duration, "step": first.dt})}))


def measure(scenario, steps, device="auto", *, ranks=1, region=(), progress=False, threads=None):
    """Run a scenario for a number of steps and see how its largest particle velocity decays.

    Parameters
    ----------
    scenario : Scenario
        Its duration is not used.
    steps : int
    device : str
    ranks : int
        Threads of this process that share the run.
    region : tuple of slice
        Points of the grid (z, y, x) that are looked at; by default all, absorbing layers included.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    dict
        steps, velocity : where it was looked, and the largest value there (m/s; of several media that of the worst over its peak);
        peak, half, late : in the beginning, about the middle of the run, over its last twentieth; ratio, half_ratio : over the peak;
        diverged : step at which it was seen to diverge, or None; dt (s), seconds, rate (point-steps per second), points.
    """
    planned = lasting(scenario, steps)
    with progress_bar(steps, planned.points, scenario.title, not progress) as report:
        parts = spawn(ranks, lambda comm: ran(scenario, planned, steps, device, comm, region, report, threads)) if ranks > 1 else [
            ran(scenario, planned, steps, device, Alone(), region, report, threads)]  # fmt: skip
    watch, diverged, seconds = parts[0]
    return {**summary(watch, diverged, steps), "dt": planned.dt, "start": planned.start, "points": planned.points, "seconds": seconds,
            "rate": planned.points * watch.steps[-1] / seconds}  # fmt: skip


def ran(scenario, planned, steps, device, comm, region, report, threads):
    """A Watch after the run of one rank, whether it diverged, and how long it took (s)."""
    program = wave_runs.commit(wave_runs.share(scenario, planned, comm), backend(device, threads=threads))
    halos = comm if comm.size == 1 else exchange(program, comm)
    watch, diverged, begin = Watch(program, comm, region, report if comm.rank == 0 else None), False, time.perf_counter()
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            march(program, halos, watch, steps)
    except Diverged:
        diverged = True
    program.backend.finish()
    return watch, diverged, time.perf_counter() - begin


def summary(watch, diverged, steps):
    """What `measure` says of the decay."""
    at, values = np.array(watch.steps), np.array(watch.values)
    worst = int(np.argmax(np.nan_to_num(values[-1] / np.maximum(watch.peak, TINY), nan=np.inf)))
    series, peak = values[:, worst], float(np.maximum(watch.peak, TINY)[worst])
    late = series[at > (1 - LAST) * steps]
    half = series[np.abs(at - steps / 2) <= LAST / 2 * steps]
    found = {"steps": at, "velocity": series, "peak": peak, "diverged": int(at[-1]) if diverged else None}
    found |= {"half": float(half.max()) if half.size else np.nan, "late": np.inf if diverged or not late.size else float(late.max())}
    return found | {"ratio": found["late"] / peak, "half_ratio": found["half"] / peak}


# --- rows -------------------------------------------------------------------------------------------------------------------------------


def stability(device="auto", steps=20_000, shape="space", names=None, progress=False):
    """Rows of the table of long runs.

    Parameters
    ----------
    device : str
    steps : int
    shape : str
        ``"space"``, or ``"slice"`` or ``"P-SV"`` where a row has it.
    names : sequence of str, optional
        Keys of `stability_cases.ROWS`; by default all.

    Yields
    ------
    dict
        As all rows of `craton.validation`; besides half (ratio about the middle of the run), diverged (step, or None), seconds, name.
    """
    for name in names or cases.ROWS:
        yield outcome(name, cases.ROWS[name], device, steps, shape, progress)


def outcome(name, row, device, steps, shape, progress=False):
    """The row of a long run: late over peak; of trapped waves the difference from a wide box, and that it does not grow."""
    shape = shape if shape in row.shapes else row.shapes[0]
    with TemporaryDirectory() as folder:
        scenario = cases.scenario(row, Path(folder), shape)
        found = measure(scenario, steps, device, ranks=row.ranks, progress=progress)
        what, value, limit = f"{name}: {row.what}{'' if shape == 'space' else f' ({shape})'}: late / peak", found["ratio"], LATE
        about = {"name": name, "half": found["half_ratio"], "late": found["ratio"], "diverged": found["diverged"],
                 "seconds": found["seconds"], "steps": steps}  # fmt: skip
        if row.trapped and value > limit and found["ratio"] <= found["half_ratio"]:
            about |= (wide := against_wide(row, Path(folder), shape, device, found["dt"]))
            what, value, limit = f"{what[: -len('late / peak')]}difference from a wide box", wide["difference"], TRAPPED
    return told(what, value if np.isfinite(value) else 1e30, limit) | about


def against_wide(row, folder, shape, device, dt):
    """How the largest velocity between the layers differs from that in a wide box, until waves return from the sides of that one.

    Returns
    -------
    dict
        difference : of the largest values over the last twentieth of that time, over that in the wide box (at least 1 % of the peak, so that
        `LATE` of the peak is nothing here, too); until : that time, s after the start; trapped : the value in the wide box over the peak.
    """
    scenarios = [cases.scenario(row, folder, shape, wide=wide) for wide in (1, WIDE)]
    scenarios = [s.model_copy(update={"time": s.time.model_copy(update={"step": dt})}) for s in scenarios]
    regions = [interior(s, scenarios[0]) for s in scenarios]
    width, half = scenarios[1].domain.extent[0], scenarios[0].domain.extent[0] / 2
    delay = 1.2 / row.frequency  # of the wavelet's main part
    until = (width / 2 - cases.THICKNESS * cases.SPACING + width / 2 - half) / fastest(scenarios[0]) + 2 * delay
    found = [measure(s, int(until / dt), device, region=r) for s, r in zip(scenarios, regions)]
    small, large = (f["late"] for f in found)
    return {"difference": abs(small - large) / max(large, LATE / TRAPPED * found[1]["peak"]), "until": until, "trapped": large / found[1]["peak"]}


def interior(scenario, small):
    """Points (z, y, x) of a box that lie between the layers of a smaller one in its middle."""
    spacing, thickness = scenario.domain.spacing, cases.THICKNESS
    cut = []
    for axis in (2, 1, 0):
        n = scenario.domain.points(spacing)[axis]
        offset = round((small.domain.corner[axis] - scenario.domain.corner[axis]) / spacing)
        cut.append(slice(None) if n <= cases.SLICE else slice(offset + thickness, n - offset - (thickness if axis < 2 else 0)))
    return tuple(cut)


def fastest(scenario):
    """Largest P speed of a model of layers, m/s."""
    media = getattr(scenario.model, "layers", None) or [scenario.model]
    return max(m.vp * np.sqrt(1 + 2 * max(m.epsilon or 0, 0)) for m in media)
