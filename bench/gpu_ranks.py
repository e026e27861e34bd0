"""Several GPUs of one computer as threads of one process: NCCL sums and exchanges; gravity shared by 1, 2, 4 .. GPUs. JSON with --out.

usage: PYTHONPATH=src python3 bench/gpu_ranks.py [--out FILE.json] [--gpus 4] [--prisms 250000] [--points 60000] [--device cuda]
Needs CuPy with NCCL. With --device cpu the gravity part runs on groups of threads, to try the script. Times are wall clock of whole calls
from NumPy arrays to NumPy arrays, the best of three after one that compiles; exchanges are timed by events, median of twenty.
"""
import argparse
import json
import time

import numpy as np

import craton.gravity
from craton.comm.local import spawn

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out")
parser.add_argument("--device", default="cuda")
parser.add_argument("--gpus", type=int, default=4)
parser.add_argument("--prisms", type=int, default=250_000)
parser.add_argument("--points", type=int, default=60_000)
options = parser.parse_args()


def ensemble():
    """Prisms that do not overlap much, densities of both signs, points above them."""
    rng = np.random.default_rng(5)
    centre = rng.uniform(0, [20e3, 20e3, 4e3], (options.prisms, 3)) - [0, 0, 4200]
    half = rng.uniform(10, 100, (options.prisms, 3))
    points = rng.uniform(0, 20e3, (3, options.points))
    points[2] = 100.0
    return np.stack([centre - half, centre + half], axis=2).reshape(-1, 6), rng.uniform(-300, 500, options.prisms), tuple(points)


def gravity(method, precision, fields, counts):
    """Seconds of a whole call by number of GPUs, and how far the results are from those of one."""
    asked, rows, alone = ensemble(), [], None
    for count in counts:
        seconds = []
        for _ in range(4):
            begin = time.perf_counter()
            found = craton.gravity.forward(*asked, fields, options.device, precision, method, devices=count)
            seconds.append(time.perf_counter() - begin)
        alone = alone or found
        off = max(float(np.abs(found[name] - alone[name]).max() / np.abs(alone[name]).max()) for name in fields)
        best = min(seconds[1:])
        rows.append({"case": f"{method} {precision} {len(fields)} fields", "gpus": count, "seconds": best,
                     "pairs_per_second": options.prisms * options.points / best, "difference": off})  # fmt: skip
        rows[-1]["efficiency"] = rows[0]["seconds"] / (best * count) * counts[0]
        words = "{case:<28} {gpus} GPUs {seconds:8.3f} s {pairs_per_second:9.3g} pairs/s, efficiency {efficiency:.2f}, off {difference:.1e}"
        print(words.format(**rows[-1]), flush=True)
    return rows


def one_rank(comm, nbytes):
    """A sum and an exchange with the neighbours of a ring: right or not, and bytes per second out of each GPU."""
    import cupy

    from craton.comm.nccl import Nccl

    cupy.cuda.Device(comm.rank).use()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        nccl, size = Nccl(comm, stream), comm.size
        whole = nccl.reduce(cupy.full(1000, comm.rank + 1.0))
        last = nccl.reduce(cupy.full(1000, comm.rank + 1.0, cupy.float32), root=size - 1)
        right = bool((whole == size * (size + 1) / 2).all()) and (comm.rank != size - 1 or bool((last == size * (size + 1) / 2).all()))
        out = [cupy.full(nbytes // 4, 10 * comm.rank + side, cupy.float32) for side in (0, 1)]
        into = [cupy.zeros(nbytes // 4, cupy.float32) for _ in (0, 1)]
        peers, sides = ((comm.rank - 1) % size, (comm.rank + 1) % size), (0, 1) if size > 2 else (1,)  # one message to each neighbour
        seconds = []
        for _ in range(25):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record(stream)
            nccl.exchange([(peers[side], out[side], into[side]) for side in sides])
            end.record(stream)
            end.synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        right = right and all(bool((into[side] == 10 * peers[side] + (1 - side if size > 2 else side)).all()) for side in sides)
        nccl.close()
    return right, len(sides) * nbytes / float(np.median(seconds[5:]))


def main():
    counts = [n for n in (1, 2, 4, 8) if n <= options.gpus]
    results = {"gravity": [], "nccl": []}
    for n in counts[1:] if options.device != "cpu" else ():
        for nbytes in (4 << 20, 19 << 20):
            told = spawn(n, lambda comm, nbytes=nbytes: one_rank(comm, nbytes))
            results["nccl"].append({"gpus": n, "bytes": nbytes, "right": all(r for r, _ in told), "out_per_gpu": min(b for _, b in told)})
            print(results["nccl"][-1], flush=True)
    for case in (("direct", "float64", ("g_z",)), ("direct", "float32", ("g_z",)), ("direct", "float64", ("g_z", "g_zz", "g_en")),
                 ("far", "float64", ("g_z",))):  # fmt: skip
        results["gravity"] += gravity(*case, counts)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
