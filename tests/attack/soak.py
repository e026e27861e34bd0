"""Thousands of runs in one process: memory, descriptors and threads must not grow; eight runs at once give the bits of one."""

import gc
import os
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

SIDE_BY_SIDE, ROUNDS = 8, 50


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
        craton.run(wave if done % 2 else gravity, progress=False, warn=False)
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
    apart = side_by_side(wave, min(ROUNDS, most))
    failures |= {"runs side by side that differ": apart} if apart else {}
    return {
        "kind": "soak",
        "tried": done,
        "runs side by side": SIDE_BY_SIDE * min(ROUNDS, most),
        "threads in Python": threading.active_count(),
        "history": history,
        "failures": failures,
    }


def side_by_side(scenario, rounds):
    """How many of eight runs at once, in memory and into folders in turn, give other bits than one alone."""
    from smallcase import TEXT

    import craton
    from craton.scenario import loads

    pictured = loads(TEXT.replace("duration = 1.0", "duration = 0.5"), ("run.threads=1",))
    differ = 0
    with TemporaryDirectory(prefix="soak") as place:
        cases = [(scenario, None), (pictured, Path(place))]
        alone = [bits_of(craton, case, place and place / "alone") for case, place in cases]
        for number in range(rounds):
            (case, folder), expected = cases[number % 2], alone[number % 2]
            bits = [None] * SIDE_BY_SIDE

            def run(n, case=case, folder=folder, number=number, bits=bits):
                bits[n] = bits_of(craton, case, folder and folder / f"{number}.{n}")

            threads = [threading.Thread(target=run, args=(n,)) for n in range(SIDE_BY_SIDE)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            differ += sum(value != expected for value in bits)
    return differ


def bits_of(craton, scenario, out):
    """Bytes of the waveforms of a run, and of the chunks of its snapshots where it has a folder."""
    result = craton.run(scenario, progress=False, warn=False, **({"out": out} if out else {}))
    bits = [variable.values.tobytes() for variable in result.dataset.data_vars.values()]
    folder = out / "result.zarr" / "snapshots" if out else None
    # attributes say when they were written
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name[0] != ".") if out else ()
    return bits + [(str(p.relative_to(folder)), p.read_bytes()) for p in files]
