"""One rank of four, CPU and real MPI, is killed at a random moment, again and again: how long the job lives on, what is left of it.

usage: python3 -m bench kill_ranks --device cpu [--steps 20] [--set seed=1 resume=3] [--out bench/results/kill_ranks.json]

A time passes where all ended within 10 s with one message, run.json says that the run failed, the store opens, waveforms hold all samples
up to the last checkpoint and no nan, and pictures are whole up to there. Some of the runs are then resumed and compared with one that was
not killed.
"""

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

from craton.driver.saved import latest

LIMIT = 10.0  # s
PATIENCE = 120.0  # s for kernels to compile and for a job to end by itself
SCENARIO = Path(__file__).with_suffix(".toml").read_text()


def craton(folder, *words):
    """`craton` as a process."""
    env = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "craton", *words]
    return subprocess.Popen(command, cwd=folder, env=os.environ | env, **pipes)


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
    (folder / "case.toml").write_text(SCENARIO.replace("DURATION", str(duration)))
    out, words = folder / "out", ("-o", "out", "--ranks", str(ranks), "--oversubscribe", "--quiet")
    job = craton(folder, "run", "case.toml", *words)
    try:
        pid = ranks_of(job, out)[victim]["pid"]
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
        begin = time.perf_counter()
        _, said = job.communicate(timeout=PATIENCE)
        seconds = time.perf_counter() - begin
    finally:
        job.kill()
    row = {"victim": victim, "delay": delay, "seconds": seconds, "code": job.returncode}
    row |= {"said": said.strip()}
    row |= {"state": json.loads((out / "run.json").read_text())["state"], **readable(out)}
    one = said.count("craton: ") == 1 and "signal 9" in said and "Traceback" not in said
    whole = row["waveforms whole"] and row["pictures whole"]
    failed = row["state"] == "failed" and job.returncode == 1
    return row | {"passed": bool(failed and one and seconds < LIMIT and whole)}


def readable(out):
    """What the store holds, and whether that is all up to the last checkpoint."""
    saved = latest(out)
    step = saved.step if saved else 0
    end = saved.about["start"] + step * saved.about["dt"] if saved else 0.0
    section = xarray.open_zarr(out / "result.zarr", group="snapshots/section").velocity
    taken = int((section.time.values < end).sum())
    found = {"checkpoint": step, "pictures": taken}
    found["pictures whole"] = bool(np.isfinite(section[:taken].values).all())
    if not saved:
        return found | {"samples": 0, "waveforms whole": True}
    waves = xarray.open_zarr(out / "result.zarr").velocity
    count, finite = waves.sizes["time"], np.isfinite(waves).all()
    return found | {"samples": count, "waveforms whole": bool(count >= step and finite)}


def resumed(folder, duration):
    """Go on with a job that was killed; what a run that was not killed gives is the same in every bit."""
    for words in (
        ("resume", "out", "--oversubscribe"),
        ("run", "case.toml", "-o", "whole", "--ranks", "4", "--oversubscribe"),
    ):
        job = craton(folder, *words, "--quiet")
        _, said = job.communicate(timeout=600)
        if job.returncode:
            raise RuntimeError(said)
    same = True
    for group in (None, "snapshots/section"):
        stores = (folder / name / "result.zarr" for name in ("whole", "out"))
        a, b = (xarray.open_zarr(store, group=group).velocity.values for store in stores)
        same = same and a.tobytes() == b.tobytes()
    return same


def times(report):
    """Jobs that lose a rank, --steps of them (20); the first --set resume=3 are short, and resumed."""
    rng = np.random.default_rng(report.setting("seed", 1))
    for n in range(report.options.steps or 20):
        goes_on = n < report.setting("resume", 3)
        with TemporaryDirectory() as folder:
            # Short ones last some seconds on two cores, so that they can be done again.
            duration, delay = (15.0, 2.0) if goes_on else (600.0, float(rng.uniform(0, 4)))
            row = killed(Path(folder), int(rng.integers(4)), delay, duration=duration)
            if goes_on:
                row["resumed alike"] = resumed(Path(folder), duration)
                row["passed"] = bool(row["passed"] and row["resumed alike"])
        report.add("rows", row)
    rows = report.parts["rows"]
    seconds = [row["seconds"] for row in rows]
    summary = {"times": len(rows), "longest": max(seconds), "median": float(np.median(seconds))}
    report.keep("summary", summary | {"passed": sum(row["passed"] for row in rows), "limit": LIMIT})


PARTS = {"times": times}
