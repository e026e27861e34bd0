"""A survey of a thousand shots on a local Dask cluster whose workers are killed at random: shots lost, work repeated, overhead."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil
from smallcase import changed

from craton import shots
from craton.comm.workers import local
from craton.output.store import read_run
from craton.scenario import loads
from craton.shots.task import NEEDED

SHOTS, SHARE = 1000, 0.05  # kills: as many as 5 % of the shots
WORKERS, STEPS = 2, 60
LINE = 'name = "S"\nshots = {{ from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = {} }}'


def survey_of(count, steps):
    """A survey of small shots, with no snapshots."""
    short = (("duration = 1.0", f"duration = {steps * 0.0157}"), ("at = [1500, 1500, -1000]", LINE.format(count)))
    return shots.prepare(loads(changed(*short), ("run.threads=1", "snapshots=[]")))


def attack(chosen):
    """Run the survey without kills and with; what was lost, repeated and spent beside the shots."""
    count, results, outcomes = min(SHOTS, chosen.most), {}, {}
    survey = survey_of(count, STEPS)
    with TemporaryDirectory(prefix="survey") as place, local([{"OMP_NUM_THREADS": "1"}] * WORKERS, NEEDED) as client:
        shots.run(survey_of(2 * WORKERS, STEPS), f"{place}/warm", client=client, progress=False)
        killer = Killer(client, Random(chosen.seed), Path(place, "killed"))
        for name in ("calm", "killed"):
            if name == "killed":
                killer.start()
            began, spent = time.monotonic(), cpu_seconds()
            outcomes[name] = shots.run(survey, f"{place}/{name}", client=client, progress=False)
            results[name] = figures(outcomes[name], time.monotonic() - began, cpu_seconds() - spent)
        killer.over.set()
        killer.join()
        repeated = round(100 * killer.lost / results["killed"]["in shots, s"], 2)
        results["killed"] |= {"kills": killer.kills, "repeated, % of the work": repeated}
        calm, killed = (outcome.dataset.velocity.values for outcome in outcomes.values())
        same = bool((killed == calm).all())
    lost = len(outcomes["killed"].failed) + (not same)
    results |= {"kind": "survey", "tried": count, "workers": WORKERS, "steps": STEPS, "bit-equal": same}
    return results | {"failures": {"lost": lost} if lost else {}}


def cpu_seconds():
    """Processor seconds of this process and all that it has begun, those that ended among them."""
    this, total = psutil.Process(), 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def figures(outcome, wall, cpu):
    """Seconds of a survey: of its shots, beside them for each, and attempts that were cut off."""
    noted = read_run(outcome.out)["shots"].values()
    spent, loops, processor = (sum(shot[key] for shot in noted) for key in ("seconds", "loop", "processor"))
    beside = {"shots": wall * WORKERS - spent, "time loops": wall * WORKERS - loops}
    beside["time loops, processors"] = cpu - processor
    measured = {"wall, s": wall, "in shots, s": spent, "in time loops, s": loops, "processors, s": cpu}
    measured |= {"processors in time loops, s": processor, "load of the computer": os.getloadavg()[0]}
    measured |= {f"beside {name}, ms per shot": 1e3 * s / len(noted) for name, s in beside.items()}
    begun_again = sum(shot.get("attempts", 1) - 1 for shot in noted)
    return {name: round(value, 1) for name, value in measured.items()} | {"shots begun again": begun_again}


class Killer(threading.Thread):
    """Kills workers: as many as a share of the shots, at random moments."""

    def __init__(self, client, random, out):
        super().__init__(daemon=True)
        self.client, self.random, self.out = client, random, out
        self.kills, self.lost, self.over = 0, 0.0, threading.Event()

    def run(self):
        """Kill a worker each time that so many more shots have ended, at a random moment."""
        while not self.over.wait(self.random.uniform(0, 0.3)):
            if len(list(self.out.glob("shots/*.json"))) * SHARE < self.kills + 0.5:
                continue
            pids = [pid for pid in self.client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int)]
            if pids:
                pid = self.random.choice(pids)
                os.kill(pid, signal.SIGKILL)
                self.lost += self.begun(pid)
                self.kills += 1

    def begun(self, pid):
        """Seconds since the shot of a worker began; 0 where it was between two."""
        for log in self.out.glob("shots/*.log"):
            with suppress(OSError):
                last = log.read_text().splitlines()[-1:]
                if last and f":{pid} attempt" in last[0]:
                    return max(time.time() - log.stat().st_mtime, 0.0)
        return 0.0
