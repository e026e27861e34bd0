"""Thousands of runs in one process: memory, descriptors and threads must not grow."""

import gc
import os
import threading
import time


def usage():
    """Resident bytes, descriptors and threads of this process."""
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/status") as file:
        threads = next(int(line.split()[1]) for line in file if line.startswith("Threads"))
    return {"bytes": resident, "descriptors": len(os.listdir("/proc/self/fd")), "threads": threads}


def attack(seconds, most, seed):
    """Run small scenarios of three methods in turn; growth from the 10th part on."""
    import craton
    from attack.survey import survey_of

    wave = survey_of(2, 10).shots[0].scenario
    gravity = craton.Scenario(
        method="gravity",
        gravity={"fields": ["g_z"]},
        prisms={"kind": "grid", "origin": [0, 0, -100], "size": [100, 100, 100], "shape": [4, 4, 4],
                "bodies": [{"shape": "sphere", "center": [50, 50, -50], "radius": 40, "density": 300}]},
        points={"kind": "grid", "x": [0, 100, 4], "y": [0, 100, 4], "z": 10},
        run={"device": "cpu"},
    )  # fmt: skip
    most, end, done, history = min(most, 5000), time.monotonic() + seconds, 0, []
    while done < most and time.monotonic() < end:
        craton.run(wave if done % 2 else gravity, progress=False)
        done += 1
        if done in (most // 10, 100) or done % 500 == 0:
            gc.collect()
            history.append({"runs": done} | usage())
    gc.collect()
    history.append({"runs": done} | usage())
    first, last = history[0], history[-1]
    grown = {key: last[key] - first[key] for key in ("bytes", "descriptors", "threads")}
    limits = {"bytes": 20 << 20, "descriptors": 0, "threads": 0}
    failures = {key: grown[key] for key, limit in limits.items() if grown[key] > limit}
    return {
        "runs": done,
        "threads in Python": threading.active_count(),
        "history": history,
        "failures": failures,
    }
