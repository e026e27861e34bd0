"""A survey of a thousand shots on a local Dask cluster whose workers are killed at random: shots lost, begun again, overhead."""

import os
import signal
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Thread

from smallcase import changed

from attack import folders
from craton import shots
from craton.comm.workers import local
from craton.output.store import read_run
from craton.scenario import loads
from craton.shots.task import NEEDED

SHOTS, SHARE = 1000, 0.05  # kills: as many as 5 % of the shots
WORKERS, STEPS = 2, 60


def survey_of(count, steps):
    """A survey of small shots, with no snapshots."""
    text = changed(("duration = 1.0", f"duration = {steps * 0.0157}"), folders.shots(count))
    return shots.prepare(loads(text, ("run.threads=1", "snapshots=[]")))


def attack(chosen):
    """Run the survey without kills and with; what was lost and spent beside the shots."""
    count, killed, over = min(SHOTS, chosen.most), [], Event()
    survey = survey_of(count, STEPS)
    with TemporaryDirectory(prefix="survey") as place, local([{"OMP_NUM_THREADS": "1"}] * WORKERS, NEEDED) as client:
        shots.run(survey_of(2 * WORKERS, STEPS), f"{place}/warm", client=client, progress=False)
        waveforms, calm = measured(survey, f"{place}/calm", client)
        kills = client, Random(chosen.seed), Path(place, "killed"), killed, over
        Thread(target=kill_workers, args=kills, daemon=True).start()
        after_kills, disturbed = measured(survey, f"{place}/killed", client)
        over.set()
        same = bool((after_kills == waveforms).all())
    lost = disturbed["shots lost"] + (not same)
    results = {"calm": calm, "killed": disturbed | {"kills": len(killed)}, "bit-equal": same}
    results |= {"tried": count, "workers": WORKERS, "steps": STEPS}
    return results | {"failures": {"lost": lost} if lost else {}}


def measured(survey, out, client):
    """Waveforms of a survey, and its seconds: of its shots, beside their time loops for each, and attempts that were cut off."""
    began = time.monotonic()
    outcome = shots.run(survey, out, client=client, progress=False)
    wall, notes = time.monotonic() - began, read_run(out)["shots"].values()
    spent, loops = (sum(shot[key] for shot in notes) for key in ("seconds", "loop"))
    beside = 1e3 * (wall * WORKERS - loops) / len(notes)
    seconds = {"wall, s": wall, "in shots, s": spent, "in time loops, s": loops}
    seconds |= {"beside time loops, ms per shot": beside, "load of the computer": os.getloadavg()[0]}
    again = sum(shot.get("attempts", 1) - 1 for shot in notes)
    figures = {name: round(value, 1) for name, value in seconds.items()}
    return outcome.dataset.velocity.values, figures | {"shots begun again": again, "shots lost": len(outcome.failed)}


def kill_workers(client, random, out, killed, over):
    """Kill a worker each time that so many more shots have ended, at a random moment, until it is over."""
    while not over.wait(random.uniform(0, 0.3)):
        if len(list(out.glob("shots/*.json"))) * SHARE < len(killed) + 0.5:
            continue
        pids = [pid for pid in client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int)]
        if pids:
            killed.append(random.choice(pids))
            os.kill(killed[-1], signal.SIGKILL)
