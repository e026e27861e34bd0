"""Peak memory of `craton run` beside what its plan says: resident memory beyond that of a process that has made a small run before.

usage: python3 bench/peak_memory.py FILE OUT [--warm KEY=VALUE ...] [--set KEY=VALUE ...]

Of Linux. `--warm` makes the run short and small that comes first, so that libraries are loaded and kernels compiled. Prints one line of
JSON: bytes planned and measured, and the resident memory of the process before. Under mpiexec every rank prints its own.
"""

import argparse
import ctypes
import gc
import json
from pathlib import Path

from craton.cli import main
from craton.driver import run as driver

MCL_CURRENT, MCL_ONFAULT = 1, 4  # <sys/mman.h>
NEW_PEAK = "5"  # written to clear_refs: VmHWM begins anew


def resident(name):
    """VmRSS or VmHWM of this process, bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--warm", nargs="*", default=[])
    parser.add_argument("--set", nargs="*", default=[])
    return parser.parse_args()


def run(file, out, keys):
    """`craton run` with some keys set."""
    words = [word for key in keys for word in ("--set", key)]
    if main(["run", file, "-o", str(out), "--quiet", *words]):
        raise SystemExit(f"{file} failed")


def settle():
    """Give what is free back, and keep what is resident: a machine that reclaims idle pages meanwhile would show less."""
    gc.collect()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):  # of a heap that is used again nothing would be counted
        library.malloc_trim(0)
    library.mlockall(MCL_CURRENT | MCL_ONFAULT)


def planned_by(work):
    """Bytes of the host that the last plan of this rank says that it takes on a CPU, when `work()` is done."""
    plans, plan_of_rank = [], driver.plan_of_rank

    def seen(*arguments):
        plan = plan_of_rank(*arguments)
        plans.append(plan.host_memory[0])
        return plan

    driver.plan_of_rank = seen
    work()
    return plans[-1]


def measured(asked):
    """Planned and measured bytes of a run."""
    run(asked.file, asked.out / "warm", asked.warm)
    settle()
    before = resident("VmRSS:")
    Path("/proc/self/clear_refs").write_text(NEW_PEAK)
    planned = planned_by(lambda: run(asked.file, asked.out / "run", asked.set))
    return {"planned": planned, "measured": resident("VmHWM:") - before, "before": before}


if __name__ == "__main__":
    print(json.dumps(measured(options())), flush=True)
