"""A million moment tensors and a million receivers, read and planned: CPU seconds and memory, each in a process of its own.

python -m bench.many_inputs [--count N] > bench/results/many_inputs_cpu.json
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

SCENARIO = """method = "fd"
[domain]
origin = [0, 0, -2500]
size = [3000, 3000, 2500]
spacing = 100
[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2300
[time]
duration = 1.0
[run]
device = "cpu"
"""
EXPLOSION = """[[source]]
kind = "explosion"
at = [1500, 1500, -1000]
moment = 1e14
wavelet = { kind = "gaussian", tau = 0.12 }
"""
TABLE = '[[source]]\nkind = "csv"\nfile = "sources.csv"\n'
BLOCKS = '[[source]]\nkind = "cmtsolution"\nfile = "sources.cmt"\ncoordinates = "metres"\n'
STATIONS = '[[receivers]]\nfile = "stations.csv"\n'
LINE = '[[receivers]]\nname = "L"\nline = {{ from = [600, 650, -55], to = [2400, 650, -55], count = {count} }}\n'
BLOCK = (
    "event {0}\nevent name: {0}\ntime shift: {3:.3f}\nhalf duration: {4:.3f}\nlatorUTM: {2:.2f}\nlongorUTM: {1:.2f}\n"
)
SIX = "depth: {5:.4f}\nMrr: {6:.5e}\nMtt: {7:.5e}\nMpp: {8:.5e}\nMrt: {9:.5e}\nMrp: {10:.5e}\nMtp: {11:.5e}\n"


def places(count):
    """Positions between points, (n, 3) m, and a generator of random numbers."""
    rng = np.random.default_rng(0)
    return rng.uniform([600, 600, 300], [2400, 2400, 1900], (count, 3)), rng


def couples(folder, count):
    """Double couples in a CSV file."""
    xyz, rng = places(count)
    angles = rng.uniform([0, 10, -180], [360, 90, 180], (count, 3))
    times = rng.uniform([0.2, 0.5], [0.4, 0.9], (count, 2))
    columns = np.column_stack([xyz, angles, 10 ** rng.uniform(12, 15, count), times])
    names = "x,y,depth,strike,dip,rake,moment,half_duration,time_shift"
    np.savetxt(folder / "sources.csv", columns, "%.6g", ",", header=names, comments="")
    return TABLE


def tensors(folder, count):
    """Moment tensors in a CMTSOLUTION."""
    (x, y, z), rng = places(count)[0].T, places(0)[1]
    six, times = rng.normal(size=(6, count)) * 1e22, rng.uniform(0.2, 0.9, (2, count))
    with open(folder / "sources.cmt", "w") as file:
        for n, row in enumerate(zip(x, y, *times, z / 1e3, *six)):
            file.write((BLOCK + SIX).format(n, *row))
    return BLOCKS


def stations(folder, count, to=None):
    """Receivers in a CSV file, on points of the grid where these are 10^-`to` m apart."""
    xyz = places(count)[0] * [1, 1, -1]
    xyz = xyz if to is None else xyz.round(to)
    rows = (f"R{n},{x:.2f},{y:.2f},{z:.2f}\n" for n, (x, y, z) in enumerate(xyz))
    (folder / "stations.csv").write_text("name,x,y,z\n" + "".join(rows))
    return EXPLOSION + STATIONS


CASES = {
    "moment tensors, CSV": couples,
    "moment tensors, CMTSOLUTION": tensors,
    "receivers on points": lambda folder, count: stations(folder, count, -2),
    "receivers along a line": lambda folder, count: EXPLOSION + LINE.format(count=count),
    "receivers anywhere": stations,
}


def measure(path):
    """CPU seconds, peak of memory before and after, and memory of the plan of a scenario file."""
    import craton
    from craton.scenario import load, loads

    craton.plan(loads(SCENARIO + EXPLOSION))
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    plan = craton.plan(load(path))
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mib = {"before_mib": before >> 10, "peak_mib": peak >> 10, "planned_mib": plan.nbytes >> 20}
    return {"cpu_s": round(seconds, 2)} | mib


def main():
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--measure", help="a scenario file: in the process of one case")
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure)))
        return
    from craton.versions import source_commit, versions

    results = {
        "commit": source_commit(),
        "versions": versions("numpy", "xarray"),
        "count": chosen.count,
        "load": os.getloadavg()[0],
        "cases": {},
    }
    for name, make in CASES.items():
        with TemporaryDirectory() as folder:
            path = Path(folder) / "case.toml"
            path.write_text(SCENARIO + make(Path(folder), chosen.count))
            words = [sys.executable, "-m", "bench.many_inputs", "--measure", str(path)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            results["cases"][name] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
