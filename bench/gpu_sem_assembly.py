"""Assembly of spectral elements on one GPU: the same bits twice by colours, atomic adds against colours, and both against the CPU.

usage: PYTHONPATH=src python3 bench/gpu_sem_assembly.py [--out FILE.json] [--device cuda] [--seconds 2]

1,920 irregular elements with material at each node, Stacey faces, a free surface, eight receivers, float32; relative L2 differences of all
recorded velocities, and of displacements summed from them.
"""
import argparse
import json
from pathlib import Path

import numpy as np

from craton import api, benchmark, sem_benchmark
from craton.backends import backend
from craton.scenario import Scenario


def records(device, assembly, seconds):
    """Recorded velocities (steps, channels)."""
    case = sem_benchmark.Case("assembly", (16, 12, 10), sem_benchmark.VARYING)
    tables = sem_benchmark.scenario_of(case).model_dump(by_alias=True, exclude_none=True)
    tables |= {"time": {"duration": seconds}, "run": tables["run"] | {"device": device, "assembly": assembly}}
    tables["receivers"] = [{"name": "R", "line": {"from": [310, 420, -120], "to": [1330, 910, -770], "count": 8}}]
    return api.run(Scenario(**tables), progress=False).samples


def difference(a, b):
    """Relative L2 norms of velocity and of displacement."""
    a, b = a.astype(float), b.astype(float)
    return {"velocity": float(np.linalg.norm(a - b) / np.linalg.norm(b)),
            "displacement": float(np.linalg.norm(np.cumsum(a - b, 0)) / np.linalg.norm(np.cumsum(b, 0)))}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    one, again = (records(options.device, "colour", options.seconds) for _ in range(2))
    fast, host = records(options.device, "fast", options.seconds), records("cpu", "colour", options.seconds)
    found = benchmark.provenance(backend(options.device)) | {
        "steps": len(one), "colour twice: values that differ": int((one != again).sum()), "atomic against colour": difference(fast, one),
        "GPU against CPU, colour": difference(one, host),
    }  # fmt: skip
    print(json.dumps(found, indent=1))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
