"""A survey of a thousand shots on a local Dask cluster whose workers are killed at random: shots lost, work repeated, overhead."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

SHOTS, SHARE = 1000, 0.05  # kills: as many as 5 % of the shots
LINE = 'name = "S"\nshots = {{ from = [1200, 1500, -1000], to = [1800, 1500, -1000], count = {} }}'


def survey_of(shots, steps):
    """A survey of small shots, with no snapshots."""
    from smallcase import TEXT

    from craton import shots as surveys
    from craton.scenario import loads

    snapshots = TEXT[TEXT.index("[[snapshots]]") : TEXT.index("[output]")]
    text = TEXT.replace(snapshots, "").replace("duration = 1.0", f"duration = {steps * 0.0157}")
    text = text.replace("at = [1500, 1500, -1000]", LINE.format(shots))
    return surveys.prepare(loads(text, ("run.threads=1",)))


def attack(seconds, most, seed, workers=2, steps=60):
    """Run the survey without kills and with; what was lost, repeated and spent beside the shots."""
    from craton import shots as surveys
    from craton.comm.workers import local
    from craton.shots.task import NEEDED

    shots = min(SHOTS, most)
    survey, random, results = survey_of(shots, steps), Random(seed), {}
    with TemporaryDirectory(prefix="survey") as place, local([{"OMP_NUM_THREADS": "1"}] * workers, NEEDED) as client:
        warm = survey_of(2 * workers, steps)
        surveys.run(warm, f"{place}/warm", client=client, progress=False)
        begun = Clock()
        calm = surveys.run(survey, f"{place}/calm", client=client, progress=False)
        results["calm"] = figures(calm, begun, workers)
        killer = Killer(client, random, f"{place}/killed")
        killer.start()
        begun = Clock()
        outcome = surveys.run(survey, f"{place}/killed", client=client, progress=False)
        results["killed"] = figures(outcome, begun, workers) | {"kills": killer.kills}
        killer.over.set()
        killer.join()
        spent = results["killed"]["in shots, s"]
        results["killed"]["repeated, % of the work"] = round(100 * killer.lost / spent, 2)
        same = bool((outcome.dataset.velocity.values == calm.dataset.velocity.values).all())
    lost = len(outcome.failed) + (0 if same else 1)
    results |= {"kind": "survey", "tried": shots, "workers": workers, "steps": steps}
    return results | {"bit-equal": same, "failures": {"lost": lost} if lost else {}}


class Clock:
    """Seconds since it was made, on the wall and of the processors, in all processes of the survey."""

    def __init__(self):
        self.began, self.spent = time.monotonic(), cpu_seconds()

    def wall(self):
        return time.monotonic() - self.began

    def cpu(self):
        return cpu_seconds() - self.spent


def cpu_seconds():
    """Processor seconds of this process and all that it has begun, those that ended among them."""
    import psutil

    this = psutil.Process()
    total = 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def figures(outcome, clock, workers):
    """Seconds of a survey: of its shots, beside them for each, and attempts that were cut off."""
    from craton.output.store import read_run

    wall, cpu = clock.wall(), clock.cpu()
    noted = read_run(outcome.out)["shots"].values()
    spent, loops, processor = (sum(shot[key] for shot in noted) for key in ("seconds", "loop", "processor"))
    per_shot = 1e3 / len(noted)
    return {
        "wall, s": round(wall, 1),
        "in shots, s": round(spent, 1),
        "in time loops, s": round(loops, 1),
        "processors, s": round(cpu, 1),
        "processors in time loops, s": round(processor, 1),
        "beside shots, ms per shot": round(per_shot * (wall * workers - spent), 1),
        "beside time loops, ms per shot": round(per_shot * (wall * workers - loops), 1),
        "processors beside time loops, ms per shot": round(per_shot * (cpu - processor), 1),
        "shots begun again": sum(shot.get("attempts", 1) - 1 for shot in noted),
        "load of the computer": round(os.getloadavg()[0], 1),
    }


class Killer(threading.Thread):
    """Kills workers: as many as a share of the shots, at random moments."""

    def __init__(self, client, random, out):
        super().__init__(daemon=True)
        self.out, self.lost = Path(out), 0.0
        self.client, self.random = client, random
        self.kills, self.over = 0, threading.Event()

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
