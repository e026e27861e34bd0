"""craton beside deepwave and Devito on the CPU, in one run: elastic, 3-D or 2-D, order 4, float32, 10 absorbing points a side.

Each code has a Python of its own (their NumPy pins differ):
    python bench/peers/fd_cpu.py --deepwave VENV/bin/python --devito VENV/bin/python -o bench/results/fd_peers_cpu.json
The codes take turns, so that all of them see the same state of the machine; rates count all points, absorbing ones included.
n^3 (n^2 with --dimensions 2) interior points get 10 more on each side in every code; Devito damps there, deepwave and craton have a CPML.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CRATON = """
import json, sys
from craton.benchmark import bench
from craton.methods.finite_difference.bench import cube, half_space
from craton.scenario import with_overrides
n = int(sys.argv[1]) + 20
plane = sys.argv[3] == "2"
case = with_overrides(half_space(2, n, others="cpml"), ["boundaries.top=cpml"]) if plane else cube(n, "cpml", "cpml")
print(json.dumps(bench("fd", "cpu", threads=int(sys.argv[2]), cases=[case], show=lambda line: None)))
"""


def run(command):
    """The last line that a command prints, as JSON."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def craton(n, threads, dimensions):
    """Mpoint-steps/s of craton, and what it measured."""
    result = run([sys.executable, "-c", CRATON, str(n), str(threads), str(dimensions)])
    return result["cases"][0]["point_steps_per_second"] / 1e6, result


def peer(script, python, n, steps, dimensions, *options):
    """Mpoint-steps/s of another code, and what its script measured."""
    size = ["--shape", *[str(n)] * dimensions, "--nt", str(steps), "--reps", "3"]
    result = run([python, HERE / f"{script}_elastic.py", *size, *options])
    return result["Mpts_s_total"], result


def main():
    """Take turns, print medians and ratios, write everything."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--deepwave", required=True)
    options.add_argument("--devito", required=True)
    options.add_argument("--dimensions", type=int, choices=(2, 3), default=3)
    options.add_argument("--sizes", type=int, nargs="+", default=[150, 220])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--out", required=True)
    given = options.parse_args()
    threads = len(os.sched_getaffinity(0))
    os.environ["OMP_NUM_THREADS"] = str(threads)
    dimensions = given.dimensions
    table = {"threads": threads, "dimensions": dimensions, "sizes": {}}
    for n in given.sizes:
        steps = 50 if n**dimensions > 3.5e6 else 100
        codes = {
            "craton": lambda n=n: craton(n, threads, dimensions),
            "deepwave": lambda n=n, s=steps: peer("deepwave", given.deepwave, n, s, dimensions, "--pml", "10", "--acc", "4"),
            "devito": lambda n=n, s=steps: peer("devito", given.devito, n, s, dimensions, "--nbl", "10", "--so", "4"),
        }
        runs = {name: [] for name in codes}
        for _ in range(given.rounds):
            for name, measure in codes.items():
                rate, details = measure()
                runs[name].append({"Mpoint_steps_per_second": rate, "details": details})
                print(f"{n}^{dimensions} {name}: {rate:.0f}", flush=True)
        medians = {name: statistics.median(r["Mpoint_steps_per_second"] for r in rows) for name, rows in runs.items()}
        ratio = medians["craton"] / max(medians["deepwave"], medians["devito"])
        shown = ", ".join(f"{name} {rate:.0f}" for name, rate in medians.items())
        print(f"{n}^{dimensions}: {shown} Mpoint-steps/s; craton / better peer {ratio:.2f}")
        table["sizes"][n] = {"medians": medians, "craton_over_better_peer": ratio, "runs": runs}
        Path(given.out).write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
