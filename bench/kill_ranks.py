"""One rank of four, CPU and real MPI, is killed at a random moment, again and again: how long the job lives on, what is left of it.

usage: PYTHONPATH=src python3 bench/kill_ranks.py [--times 20] [--seed 1] [--resume 3] [--out FILE.json]

A time passes where all ended within 10 s with one message, run.json says that the run failed, the store opens, waveforms hold all samples
up to the last checkpoint and no nan, and pictures are whole up to there. Some of the runs are then resumed and compared with one that was
not killed.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray

from craton.driver.checkpoint import latest

LIMIT = 10.0  # s
PATIENCE = 120.0  # s for kernels to compile and for a job to end by itself
SCENARIO = """
[domain]
origin = [0, 0, -3000]
size = [4000, 4000, 3000]
spacing = 100
[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2300
[time]
duration = {duration}
[boundaries]
top = "free"
others = "cpml"
cpml = {{ thickness = 5 }}
[[source]]
kind = "explosion"
at = [1500, 1500, -1000]
moment = 1e14
wavelet = {{ kind = "gaussian", tau = 0.12 }}
[[receivers]]
name = "L"
line = {{ from = [600, 700, 0], to = [3300, 3100, -1500], count = 20 }}
[[snapshots]]
name = "section"
quantity = "velocity"
plane = {{ y = 1500 }}
every = 0.25
[run]
device = "cpu"
checkpoint = "400 ms"
"""


def craton(folder, *words):
    """`craton` as a process."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.Popen([sys.executable, "-m", "craton", *words], cwd=folder, env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def ranks_of(job, out):
    """The ranks that run.json names, as soon as the first picture is there."""
    end = time.perf_counter() + PATIENCE
    while not list(out.glob("result.zarr/snapshots/section/velocity/[0-9]*")):
        if job.poll() is not None or time.perf_counter() > end:
            raise RuntimeError(f"the job did not begin: {job.communicate()[1]}")
        time.sleep(0.05)
    return json.loads((out / "run.json").read_text())["ranks"]


def killed(folder, victim, delay, ranks=4, duration=600.0):
    """Start a job in a folder, kill rank `victim` so many seconds after its first picture: a row of what came of it."""
    (folder / "case.toml").write_text(SCENARIO.format(duration=duration))
    out, job = folder / "out", craton(folder, "run", "case.toml", "-o", "out", "--ranks", str(ranks), "--quiet")
    try:
        pid = ranks_of(job, out)[victim]["pid"]
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        begin = time.perf_counter()
        _, said = job.communicate(timeout=PATIENCE)
        seconds = time.perf_counter() - begin
    finally:
        job.kill()
    row = {"victim": victim, "delay": delay, "seconds": seconds, "code": job.returncode, "said": said.strip()}
    row |= {"state": json.loads((out / "run.json").read_text())["state"], **readable(out)}
    one = said.count("craton: ") == 1 and "signal 9" in said and "Traceback" not in said
    whole = row["waveforms whole"] and row["pictures whole"]
    return row | {"passed": bool(row["state"] == "failed" and job.returncode == 1 and one and seconds < LIMIT and whole)}


def readable(out):
    """What the store holds, and whether that is all up to the last checkpoint."""
    saved = latest(out)
    step, dt, start = (saved.step, saved.about["dt"], saved.about["start"]) if saved else (0, 1.0, 0.0)
    section = xarray.open_zarr(out / "result.zarr", group="snapshots/section").velocity
    taken = int((section.time.values < start + step * dt).sum())
    found = {"checkpoint": step, "pictures": taken, "pictures whole": bool(np.isfinite(section[:taken].values).all())}
    if not saved:
        return found | {"samples": 0, "waveforms whole": True}
    waves = xarray.open_zarr(out / "result.zarr").velocity
    return found | {"samples": waves.sizes["time"], "waveforms whole": bool(waves.sizes["time"] >= step and np.isfinite(waves).all())}


def resumed(folder, duration):
    """Go on with a job that was killed; what a run that was not killed gives is the same in every bit."""
    for words in (("resume", "out"), ("run", "case.toml", "-o", "whole", "--ranks", "4")):
        job = craton(folder, *words, "--quiet")
        _, said = job.communicate(timeout=600)
        if job.returncode:
            raise RuntimeError(said)
    same = True
    for group in (None, "snapshots/section"):
        a, b = (xarray.open_zarr(folder / name / "result.zarr", group=group).velocity.values for name in ("whole", "out"))
        same = same and a.tobytes() == b.tobytes()
    return same


def main(words=None):
    """All times; exit code 1 where one did not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", type=int, default=3, help="short runs among them that are resumed")
    parser.add_argument("--out")
    options = parser.parse_args(words)
    rng, rows = np.random.default_rng(options.seed), []
    for n in range(options.times):
        goes_on = n < options.resume
        with TemporaryDirectory() as folder:
            # Short ones last some seconds on two cores, so that they can be done again.
            duration, delay = (15.0, 2.0) if goes_on else (600.0, float(rng.uniform(0, 4)))
            row = killed(Path(folder), int(rng.integers(4)), delay, duration=duration)
            if goes_on:
                row["resumed alike"] = resumed(Path(folder), duration)
                row["passed"] = bool(row["passed"] and row["resumed alike"])
        rows.append(row)
        print(f"{n + 1:>3}: {line(row)}", flush=True)
        if options.out:
            Path(options.out).write_text(json.dumps(summary(rows), indent=1) + "\n")
    return int(not all(row["passed"] for row in rows))


def line(row):
    """A row in words."""
    more = ", resumed" if "resumed alike" in row else ""
    return (f"rank {row['victim']} after {row['delay']:.2f} s, ended in {row['seconds']:.2f} s, checkpoint at step {row['checkpoint']}, "
            f"{row['samples']} samples, {row['pictures']} pictures{more}: {'ok' if row['passed'] else row}")  # fmt: skip


def summary(rows):
    """What is kept."""
    from craton.backends import backend
    from craton.benchmark import provenance

    seconds = [row["seconds"] for row in rows]
    return {"bench": "kill_ranks", **provenance(backend("cpu")), "times": len(rows), "passed": sum(row["passed"] for row in rows),
            "longest": max(seconds), "median": float(np.median(seconds)), "limit": LIMIT, "rows": rows}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
