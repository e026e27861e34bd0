"""A chunk of the Earth on a GPU: CPU against GPU over 10,000 steps, travel times of P, S, PcP, ScS, the Bolivia earthquake against AxiSEM.

usage: PYTHONPATH=src python3 bench/gpu_earth.py --out FILE.json [--only machines,times,bolivia] [--device cuda] [--sigma 5]
The JSON grows with each part. To try it without a GPU: --device cpu --sigma 25 --steps 300.

"machines": an upward force at 150 km depth in PREM, about 5,000 elements, 10,000 steps; the largest difference of displacement between
CPU and GPU at eight stations over the peak must be below 1/3000 (Komatitsch et al. 2010 amplify the difference by 3000 to see it).
"times": a moment tensor at 600 km depth, stations to the east, down to the core-mantle boundary, moment rate a Gaussian of --sigma seconds;
arrivals by correlation of velocity with its derivative, of P and PcP on the vertical, of S and ScS across the path, against TauP. ObsPy is
not needed: bench/earth_times.json has the travel times, and how far each arrival is from others; `--table` makes it anew, with ObsPy.
Arrivals nearer than 4 sigma to others are left out; a source at 600 km makes next to no surface waves. The chunk is so wide that what its
sides send back comes after ScS (26 degrees are too few: bench/results/earth_times_cpu.json).
"bolivia": craton.validation.earth.bolivia on a finer mesh, --bolivia seconds.
"""
import argparse
import json
import time
from pathlib import Path

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation import earth

PARTS = ("machines", "times", "bolivia")
LIMIT = 1 / 3000  # of the peak
TOLERANCE = 0.005  # of a travel time
TABLE = Path(__file__).with_name("earth_times.json")
DEPTH, DISTANCES = 600e3, tuple(range(18, 43, 2))  # m, degrees
PICKED = {"P": "Z", "PcP": "Z", "S": "T", "ScS": "T"}
# What else arrives on each component; across the path there are SH waves only.
OTHERS = {
    "Z": ("p", "P", "Pn", "pP", "sP", "PP", "PcP", "pPcP", "sPcP", "ScP", "PcS", "s", "S", "sS", "SS", "ScS", "pS", "PcPPcP"),
    "T": ("s", "S", "sS", "SS", "ScS", "sScS"),
}
APART = 4  # sigma


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--sigma", type=float, default=5.0, help="s")
    parser.add_argument("--bolivia", type=float, default=30.0, help="shortest period, s")
    parser.add_argument("--table", action="store_true", help="make earth_times.json")
    return parser.parse_args()


# --- CPU against GPU --------------------------------------------------------------------------------------------------------------------


def machines(options):
    """Displacement of the force at depth on both machines."""
    step, area = 0.2, earth.chunk((0.55, 0.6), 22.0, 1500e3, 44.0)
    source = earth.force((0.0, 0.0), 150e3, 1e15)
    stations = [earth.placed(distance, azimuth) for distance in (2, 4, 6, 8) for azimuth in (20, 110)]
    found, row = {}, {"limit": LIMIT, "steps": options.steps}
    for device in dict.fromkeys((options.device, "cpu")):
        begin = time.perf_counter()
        scenario = Scenario(
            method="sem", domain={"chunk": area}, model={"kind": "prem"}, time={"start": 0, "duration": options.steps * step, "step": step},
            source=[source], receivers=[{"name": f"S{n}", "at": earth.at(one)} for n, one in enumerate(stations)],
            output={"waveforms": ["displacement"]}, run={"device": device},
        )  # fmt: skip
        result = api.run(scenario, progress=False)
        found[device] = result.dataset.displacement.values
        row[device] = {"seconds": time.perf_counter() - begin, "device": result.report["device"],
                       "elements_per_second": rate_of(result), "elements": result.plan.grid.elements}  # fmt: skip
    one, other = found[options.device], found["cpu"]
    row |= {"difference_over_peak": float(np.abs(one - other).max() / np.abs(other).max()), "peak": float(np.abs(other).max())}
    return row | {"passed": bool(row["difference_over_peak"] < LIMIT)}


def rate_of(result):
    """Elements a second of the steady steps."""
    return result.report["point_steps_per_second"] * result.plan.grid.elements / result.plan.points


# --- travel times -----------------------------------------------------------------------------------------------------------------------


def table():
    """Travel times by TauP, and the distance in time to the nearest other arrival on the same component."""
    from craton.model.globe.prem import prem
    from craton.survey.traveltimes import arrivals

    rows, model = [], prem()
    for distance in DISTANCES:
        for component in ("Z", "T"):
            every = arrivals(model, DEPTH, distance, OTHERS[component])
            for phase in (p for p, c in PICKED.items() if c == component):
                own = sorted(a.time for a in every if a.phase == phase)
                if len(own) != 1:
                    continue  # triplicated, or not there
                gap = min([abs(a.time - own[0]) for a in every if abs(a.time - own[0]) > 1e-3])
                rows.append({"phase": phase, "distance": distance, "time": own[0], "gap": gap, "component": component})
    TABLE.write_text(json.dumps({"model": "prem", "depth": DEPTH, "arrivals": rows}, indent=0) + "\n")


def times(options):
    """Picks against the table; traces are kept in the row."""
    from craton.survey.traveltimes import delay

    kept, sigma = json.loads(TABLE.read_text()), options.sigma
    wanted = [a for a in kept["arrivals"] if a["gap"] > APART * sigma]
    period, end = 2.8 * sigma, max(a["time"] for a in wanted) + 6 * sigma
    begin = time.perf_counter()
    area = {"longitude": 20.0, "latitude": 0.0, "width": (52.0, 38.0), "bottom": "cmb", "period": period, "geographic": False}
    # Up, south, east: P and PcP leave strongly to the east, S and ScS across the path.
    tensor = dict(zip(("rr", "tt", "pp", "rt", "rp", "tp"), (1e20, 0.0, 0.0, 1e20, -1e20, -1e20)))
    scenario = Scenario(
        method="sem", domain={"chunk": area}, model={"kind": "prem"}, time={"start": -6 * sigma, "duration": end},
        source=[{"kind": "moment_tensor", "at": {"longitude": 0.0, "latitude": 0.0, "depth": kept["depth"]}, "tensor": tensor,
                 "wavelet": {"kind": "gaussian", "tau": sigma}}],
        receivers=[{"name": f"D{d}", "at": {"longitude": d, "latitude": 0.0}} for d in DISTANCES],
        output={"waveforms": ["velocity"], "sampling": sigma / 10}, run={"device": options.device},
    )  # fmt: skip
    result = api.run(scenario, progress=False)
    data, step, rows = result.dataset, sigma / 10, []
    for a in wanted:
        trace = data.velocity.sel(receiver=f"D{a['distance']}", component="Z" if a["component"] == "Z" else "N").values
        picked, likeness = delay(trace, lambda t: -t * np.exp(-((t / sigma) ** 2) / 2), step, float(data.time[0]),
                                 (a["time"] - 2 * sigma, a["time"] + 2 * sigma))  # fmt: skip
        off = picked - a["time"]
        rows.append(a | {"picked": picked, "likeness": likeness, "off": off, "passed": bool(abs(off) <= max(TOLERANCE * a["time"], step))})
    return {"elements": result.plan.grid.elements, "steps": result.plan.steps, "period": period, "sigma": sigma,
            "seconds": time.perf_counter() - begin, "elements_per_second": rate_of(result), "picks": rows,
            "phases": sorted({r["phase"] for r in rows}), "passed": all(r["passed"] for r in rows)}  # fmt: skip


def bolivia(options):
    """Rows of the validation."""
    begin = time.perf_counter()
    rows = [{k: v for k, v in row.items() if k != "curves"} for row in earth.bolivia(options.device, options.bolivia)]
    return {"rows": rows, "seconds": time.perf_counter() - begin, "passed": all(row["passed"] for row in rows)}


def main():
    options, found = options_of(), {}
    if options.table:
        return table()
    for part in options.only.split(","):
        found[part] = {"machines": machines, "times": times, "bolivia": bolivia}[part](options)
        print(part, json.dumps({k: v for k, v in found[part].items() if k != "picks"}), flush=True)
        for row in found[part].get("picks", ()):
            print("  {phase:4} {distance} deg: {time:.2f} s, picked {off:+.2f} s, likeness {likeness:.2f}, gap {gap:.0f} s".format(**row))
        if options.out:
            Path(options.out).write_text(json.dumps({"bench": "earth"} | found, indent=1))
    return None


if __name__ == "__main__":
    main()
