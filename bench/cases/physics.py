"""Physics at sizes for a GPU, against exact solutions and what must not grow.

usage: python3 -m bench physics [PART ...] [--out FILE.json] [--device cuda|cpu]

bar, steps, lamb, far (physics_h200): the thin bar between CPMLs, 100,000 steps of a small grid, Lamb's problem, the full space to 20
wavelengths. layered (fd_h200_checks): two layers at 100 m. quality (rheology_h200): full spaces of constant Q. stability (stability_h200):
every row of bench/long_run_rows.toml; --set form=full|standard|quick method=fd|sem shape=space|slice|P-SV, --only NAME, --steps N.
times, bolivia (earth_*): arrivals in a chunk of the Earth against TauP, --set sigma=5; the Bolivia earthquake, --set period=30.
With --set table=new it makes earth_times.json anew (needs ObsPy).

"times": a moment tensor at 600 km depth, stations to the east, down to the core-mantle boundary, moment rate a Gaussian of sigma seconds;
arrivals by correlation of velocity with its derivative, of P and PcP on the vertical, of S and ScS across the path. earth_times.json has
the travel times, and how far each arrival is from others: those nearer than 4 sigma are left out. The chunk is so wide that what its
sides send back comes after ScS (26 degrees are too few: bench/results/earth_times_cpu.json).
"""

import json
import time

import numpy as np

from bench.harness import HERE, tables
from bench.long_runs import QUICK, ROWS, stability
from craton import validation
from craton.backends import backend
from craton.driver import run as driver
from craton.driver import waves
from craton.errors import CratonError
from craton.scenario import Scenario
from craton.validation import CASES, absorbing
from craton.validation.compare import misfit, row
from craton.validation.exact.fullspace import constant_q

STEPS, GRID = 100_000, 32  # of the small grid: steps, points along each axis
MODELS = {
    "homogeneous": {"kind": "homogeneous", "vp": 5000, "vs": 2600, "rho": 2500},
    "layers": CASES["two-layers"]["scenario"]["model"],
}


def rows(report, part, found_rows):
    """Rows of a validation, without their curves."""
    for found in found_rows:
        kept = {key: value for key, value in found.items() if key != "curves"}
        verdict = "yes" if kept["passed"] else "NO"
        text = f"{kept['what']:<75} {kept['misfit']:.3g}  limit {kept['limit']:.3g}  {verdict}"
        report.add(part, kept, text)


def bar(report, duration=20.0):
    """The bar of 101 x 101 x 641 points, CPML 10 on all faces: energy ratio, and that it never grows."""
    tables = CASES["cpml-slice"]["scenario"]
    faces, source = (
        {"top": "cpml", "others": "cpml", "cpml": {"thickness": 10}},
        tables["source"][0] | {"at": [790, 500, 4270]},
    )
    domain, time = {"origin": [0, 0, 0], "size": [1000, 1000, 6400], "spacing": 10}, {"duration": duration, "start": 0}
    scenario = Scenario(**tables | {"domain": domain, "time": time, "boundaries": faces, "source": [source]})
    times, left = absorbing.energies(scenario, report.options.device, every=0.1)
    rows(report, "bar", absorbing.decay("CPML bar", times, left))
    moments = (2.5, 2.8, 3, 4, 6, 10, 15, 20)
    report.keep("bar, energy / peak", {str(t): float(np.interp(t, times, left)) for t in moments})


def steps(report):
    """A small grid below a free surface with CPML 5: the largest velocity at the end over the largest of all."""
    count = report.options.steps or STEPS
    base, limit = tables("steps"), 1e-6
    for name, model in MODELS.items():
        # Longer than the steps: the series of the sources is read in each.
        scenario = Scenario(**base | {"model": model, "time": {"duration": 0.01 * count, "start": 0}})
        largest = marched(scenario, report.options.device, count)
        what = f"{count} steps, {GRID}^3, {name}, free top, CPML 5: speed at the end / its peak"
        rows(report, "steps", [row(what, largest[-1] / max(largest), limit)])


def marched(scenario, device, count):
    """Largest velocity now and then over `count` steps; whole runs."""
    program, largest = waves.commit(scenario, driver.plan(scenario), backend(device)), []
    for step in range(count):
        program.step(step)
        if (step < 400 and step % 20 == 19) or (step + 1) % max(count // 20, 1) == 0:
            speeds = (abs(program.host(name)).max() for name in ("vx", "vy", "vz"))
            largest.append(max(map(float, speeds)))
    return largest


def lamb(report):
    """Lamb's problem at 10 m."""
    rows(report, "lamb", validation.rows("lamb", report.options.device))


def far(report):
    """Both sources at 5 to 20 wavelengths, orders 4 and 8."""
    for name in ("double-couple-4", "double-couple-8", "force-4", "force-8"):
        rows(report, "far", validation.rows(name, report.options.device, "full"))


def layered(report):
    """The two layers of Michea & Komatitsch (2010) at 100 m, sources of two widths, and at 200 m."""
    rows(report, "layered", validation.rows("two-layers-100", report.options.device))


# --- constant Q -------------------------------------------------------------------------------

DIRECTIONS = ((1, 0, 0), (0, 0, 1), (1, 1, 0), (0.8, 0.5, -0.3), (-0.6, 0.6, 0.55))
WAVELENGTHS = (1, 2, 3)  # distances; of S waves at 5 Hz: 460 m
QUALITIES = ((20, None), (100, None), (20, "coarse"), (20, "paired"), (20, "full"))


def quality(report):
    """Full spaces: amplitude and phase of the strongest component at 3, 5, 8 Hz, and relative L2 of all components."""
    units = [np.array(d) / np.linalg.norm(d) for d in DIRECTIONS]
    places = {f"D{n}W{m}": 460.0 * m * d for n, d in enumerate(units) for m in WAVELENGTHS}
    receivers = [{"name": name, "at": at.round(3).tolist()} for name, at in places.items()]
    base = tables("quality")
    for q, storage in QUALITIES:
        loss = base["model"]["attenuation"] | ({"storage": storage} if storage else {})
        model = base["model"] | {"qp": q, "qs": q, "attenuation": loss}
        scenario = Scenario(**base | {"model": model, "receivers": receivers})
        data = driver.run(scenario, device=report.options.device, progress=False).dataset
        for name, at in places.items():
            found = data.velocity.sel(receiver=name).values.astype(float)
            wanted = constant_q(at.round(3), data.time.values, q)
            about = {"q": q, "storage": storage or "default", "receiver": name}
            report.add("quality", about | errors(found, wanted, data.time.values))


def errors(found, wanted, times):
    """Worst error of amplitude (relative) and phase (rad) at three frequencies, and relative L2."""
    strongest = int(np.argmax((wanted**2).sum(1)))
    waves = np.exp(-2j * np.pi * np.outer([3.0, 5.0, 8.0], times))
    ratio = (waves @ found[strongest]) / (waves @ wanted[strongest])
    amplitude, phase = np.abs(np.abs(ratio) - 1).max(), np.abs(np.angle(ratio)).max()
    return {"amplitude": float(amplitude), "phase": float(phase), "l2": misfit(found, wanted)}


# --- long runs --------------------------------------------------------------------------------


def long_runs(report):
    """Rows of long runs; one that cannot be computed says why."""
    options = report.options
    form, method = report.setting("form", "full"), report.setting("method", "all")
    shape = report.setting("shape", "") or None
    for name in QUICK if form == "quick" else ROWS:
        if not report.wants(name) or method not in ("all", ROWS[name].method):
            continue
        begin = time.perf_counter()
        try:
            case = {"form": form, "names": [name], "steps": options.steps, "shape": shape}
            found = next(stability(case, options.device))
            found |= {"all_seconds": time.perf_counter() - begin}
        except (CratonError, ValueError) as error:
            found = {"name": name, "error": str(error), "passed": False}
        report.add("stability", found, long_run_line(found))


def long_run_line(found):
    """A line of the table."""
    if "error" in found:
        return f"{found['name']:<26} {found['error'].splitlines()[0]}"
    words = [f"{found['half']:.1e} half-way, {found['late']:.1e} late"]
    if found["diverged"]:
        words = [f"diverged at {found['diverged']}"]
    if "difference" in found:
        words.append(f"{found['difference']:.1e} from a wide box until {found['until']:.2f} s")
    if found["where"] and not found["passed"]:
        words.append("at ({:.0f}, {:.0f}, {:.0f}) m".format(*found["where"]))
    verdict = "ok" if found["passed"] else "NO"
    head = f"{found['name']:<26} {found['shape']:<6} {found['steps']:>7} steps  {verdict:<3} "
    return f"{head}{'; '.join(words)}  ({found['seconds']:.1f} s, {found['rate'] / 1e6:.0f} M/s)"


# --- the Earth --------------------------------------------------------------------------------

TOLERANCE, APART = 0.005, 4  # of a travel time; sigma between arrivals
TABLE = HERE / "earth_times.json"
DEPTH, DISTANCES = 600e3, tuple(range(18, 43, 2))  # m, degrees
PICKED = {"P": "Z", "PcP": "Z", "S": "T", "ScS": "T"}


def table(report):
    """Travel times by TauP, and the distance in time to the nearest other arrival on the same component."""
    from craton.model.globe.prem import prem
    from craton.survey.traveltimes import arrivals

    kept, model, phases = [], prem(), tables("phases")
    for distance in DISTANCES:
        for phase, component in PICKED.items():
            others = arrivals(model, DEPTH, distance, tuple(phases[component]))
            times = sorted(a.time for a in others if a.phase == phase)
            if len(times) == 1:  # else it is triplicated, or not there
                gaps = [abs(a.time - times[0]) for a in others]
                gap = min(gap for gap in gaps if gap > 1e-3)
                about = {"phase": phase, "distance": distance, "component": component}
                kept.append(about | {"time": times[0], "gap": gap})
    text = json.dumps({"model": "prem", "depth": DEPTH, "arrivals": kept}, indent=0)
    TABLE.write_text(text + "\n")


def times(report):
    """Picks against the table."""
    from craton.survey.traveltimes import delay

    if report.setting("table", ""):
        return table(report)
    sigma, arrivals = report.setting("sigma", 5.0), json.loads(TABLE.read_text())["arrivals"]
    chosen = [a for a in arrivals if a["gap"] > APART * sigma]
    base, begin, end = tables("times"), time.perf_counter(), max(a["time"] for a in chosen)
    base["domain"]["chunk"]["period"] = 2.8 * sigma
    base["source"][0]["wavelet"]["tau"] = sigma
    places = [{"name": f"D{d}", "at": {"longitude": d, "latitude": 0.0}} for d in DISTANCES]
    span = {"start": -6 * sigma, "duration": end + 6 * sigma}
    step = sigma / 10
    output = {"waveforms": ["velocity"], "sampling": step}
    scenario = Scenario(**base | {"time": span, "output": output, "receivers": places})
    result = driver.run(scenario, device=report.options.device, progress=False)
    data, elements = result.dataset, result.plan.grid.elements
    for a in chosen:
        component = "Z" if a["component"] == "Z" else "N"
        trace = data.velocity.sel(receiver=f"D{a['distance']}", component=component).values
        window = (a["time"] - 2 * sigma, a["time"] + 2 * sigma)
        picked, likeness = delay(
            trace, lambda t: -t * np.exp(-((t / sigma) ** 2) / 2), step, float(data.time[0]), window
        )
        off = picked - a["time"]
        passed = bool(abs(off) <= max(TOLERANCE * a["time"], step))
        report.add("picks", a | {"picked": picked, "likeness": likeness, "off": off, "passed": passed})
    rate = result.report["point_steps_per_second"] * elements / result.plan.points
    about = {"elements": elements, "steps": result.plan.steps, "sigma": sigma}
    return report.keep("times", about | {"seconds": time.perf_counter() - begin, "elements_per_second": rate})


def bolivia(report):
    """Rows of the validation on a finer mesh."""
    finer = {"scenario": {"domain": {"chunk": {"period": report.setting("period", 30.0)}}}}
    rows(report, "bolivia", validation.rows("earth-bolivia", report.options.device, changes=finer))


PARTS = {
    "bar": bar,
    "steps": steps,
    "lamb": lamb,
    "far": far,
    "layered": layered,
    "quality": quality,
    "stability": long_runs,
    "times": times,
    "bolivia": bolivia,
}
